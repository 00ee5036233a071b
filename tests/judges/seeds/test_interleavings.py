"""Every prompt gets its own reply or an error, whatever a CLI writes in between.

A conversation of a dialect is written down line by line. What a CLI may say at any time is put
between these lines. Time is simulated: it passes when nothing else can happen, so a prompt that is
still open when much time has passed waits for something that will never come.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import clock
from tests.helpers.examples import examples

import claudewire
from claudewire.session import Session
from claudewire.transport import memory_pair

FOR_EVER = 10_000.0
"""Seconds of simulated time."""

A_WHILE = 200.0
"""Longer than anything in a session waits before it gives up."""

ID = "0b0d4b3e-5f1c-4b62-8d52-5b6e2d1b8f55"

Line = dict[str, Any]


# --- the dialects, as their documents have them --------------------------------------------------


class Modern:
    dialect = "modern"
    opens = True
    results = True

    def answer(self, request: Line) -> list[Line]:
        inner = {"subtype": "success", "request_id": request["request_id"], "response": {}}
        return [{"type": "control_response", "response": inner}]

    def init(self) -> Line:
        more = {"cwd": "/", "tools": ["Bash"], "mcp_servers": [], "model": "sonnet"}
        return {"type": "system", "subtype": "init", "session_id": ID, "uuid": "u", **more}

    def text(self, prompt: Line) -> str:
        content = prompt["message"]["content"]
        return content if isinstance(content, str) else str(content[0]["text"])

    def turn(self, text: str, number: int) -> list[Line]:
        return [self.assistant("so"), self.assistant(f"echo: {text}"), self.result(number)]

    def assistant(self, text: str) -> Line:
        message: Line = {"model": "sonnet", "id": "m", "type": "message", "role": "assistant"}
        message |= {"content": [{"type": "text", "text": text}], "stop_reason": None}
        ids = {"uuid": "a", "session_id": ID, "parent_tool_use_id": None}
        return {"type": "assistant", "message": message, **ids}

    def result(self, number: int) -> Line:
        ids = {"uuid": f"result-{number}", "session_id": ID}
        return {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, **ids}

    def error(self) -> Line | None:
        return None

    def anytime(self) -> list[Line]:
        return [
            self.init(),
            {"type": "system", "subtype": "status", "status": None, "session_id": ID},
            {"type": "system", "subtype": "brand_new", "session_id": ID},
            {"type": "weather", "forecast": "rain"},
        ]


class SessionDialect(Modern):
    dialect = "session"

    def answer(self, request: Line) -> list[Line]:
        models = [{"value": "sonnet", "display": "Sonnet"}]
        answer = {"request_id": request["request_id"], "response": {"models": models}}
        return [{"type": "control_response", **answer}]

    def init(self) -> Line:
        tools = [{"name": "Bash", "description": "Execute"}]
        more = {"session_id": ID, "tools": tools, "mcp_servers": []}
        return {"type": "system", "subtype": "init", **more}

    def turn(self, text: str, number: int) -> list[Line]:
        created = [{"type": "session.created", "session_id": ID}] if number == 0 else []
        return [*created, *super().turn(text, number)]

    def assistant(self, text: str) -> Line:
        message = {"type": "message", "content": [{"type": "text", "text": text}]}
        ids = {"uuid": "a", "session_id": ID}
        return {"type": "assistant", **ids, "message": message, "model": "sonnet"}

    def result(self, number: int) -> Line:
        more = {"turn_count": 1, "duration_seconds": 0.5}
        return {"type": "result", "subtype": "success", "session_id": ID, **more}

    def error(self) -> Line | None:
        return {"type": "error", "error": {"code": "FAILED", "message": "It failed."}}


class Legacy(Modern):
    dialect = "legacy"

    def answer(self, request: Line) -> list[Line]:
        inner = {"subtype": "success", "request_id": request["request"]["request_id"]}
        return [{"type": "control_response", "response": inner}]

    def init(self) -> Line:
        return {"type": "system", "subtype": "init", "session_id": ID}

    def assistant(self, text: str) -> Line:
        return {"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}

    def result(self, number: int) -> Line:
        return {"type": "result", "total_cost_usd": 0.001, "session_id": ID}

    def error(self) -> Line | None:
        return {"type": "system", "subtype": "error", "error": "It failed.", "session_id": ID}


class Envelope(Modern):
    dialect = "envelope"
    opens = False
    results = False

    def turn(self, text: str, number: int) -> list[Line]:
        last = self.assistant(f"echo: {text}")
        last["message"]["stop_reason"] = "end_turn"
        return [self.assistant("so"), last]

    def error(self) -> Line | None:
        return {"type": "error", "error": {"type": "invalid_request", "message": "It failed."}}


DIALECTS = [Modern(), SessionDialect(), Legacy(), Envelope()]


# --- what is put in between ----------------------------------------------------------------------


@dataclass
class Turn:
    """One turn of the CLI.

    Attributes:
        extras: before which line of the turn what comes; a number beyond its end is its end.
        fails_at: before which line an error takes the place of the rest.
        late: what comes when the turn is long over, and nothing is going on.
    """

    extras: list[tuple[int, int]] = field(default_factory=list)
    fails_at: int | None = None
    late: list[int] = field(default_factory=list)


places = st.integers(0, 4)
which = st.integers(0, 5)
turns = st.builds(
    Turn,
    st.lists(st.tuples(places, which), max_size=4),
    st.one_of(st.none(), st.integers(0, 2)),
    st.lists(which, max_size=3),
)


class CLI:
    """A CLI in memory."""

    def __init__(self, speaks: Modern, opening: list[int], script: list[Turn], calm: bool) -> None:
        self.speaks = speaks
        self.opening = opening
        self.script = script
        self.calm = calm
        """Return whether prompts come only to an idle CLI."""
        self.transport, self.end = memory_pair()
        self.idle = anyio.Event()
        self.failed: set[int] = set()

    def extra(self, number: int) -> Line:
        lines = self.speaks.anytime()
        error = self.speaks.error()
        if self.calm and self.speaks.results:
            lines.append(self.speaks.result(1_000 + number))
        if error is not None:
            lines.append(error)
        return lines[number % len(lines)]

    async def say(self, *lines: Line) -> None:
        await self.end.send(b"".join(json.dumps(line).encode() + b"\n" for line in lines))

    async def heard(self) -> AsyncIterator[Line]:
        rest = b""
        while chunk := await self.end.receive():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield json.loads(line)

    async def run(self) -> None:
        number = 0
        if not self.speaks.opens:
            await self.rest(self.opening)
        async for line in self.heard():
            if line["type"] == "control_request":
                await self.say(*self.speaks.answer(line))
                await self.rest(self.opening)
            elif line["type"] in ("user", "session.create", "session.send"):
                await self.play(self.speaks.text(line), number)
                number += 1
        self.end.exit(0)

    async def play(self, text: str, number: int) -> None:
        turn = self.script[number]
        lines = self.speaks.turn(text, number)
        error = self.speaks.error()
        if turn.fails_at is not None and error is not None:
            lines = [*lines[: min(turn.fails_at, len(lines) - 1)], error]
            self.failed.add(number)
        for place, line in enumerate([*lines, None]):
            within = [it for where, it in turn.extras if min(where, len(lines)) == place]
            if line is not None:
                await self.say(*(self.harmless(it) for it in within), line)
        if number < len(self.script) - 1:
            await self.rest(turn.late)

    def harmless(self, number: int) -> Line:
        lines = self.speaks.anytime()
        return lines[number % len(lines)]

    async def rest(self, extras: list[int]) -> None:
        """Say something when the turn is over; then nothing is going on."""
        if self.calm:
            await anyio.sleep(A_WHILE)
            await self.say(*(self.extra(it) for it in extras))
            await anyio.sleep(A_WHILE)
        else:
            await self.say(*(self.harmless(it) for it in extras))
        self.idle.set()


async def converse(cli: CLI) -> None:
    options = claudewire.Options(dialect=cli.speaks.dialect)
    with anyio.fail_after(FOR_EVER):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cli.run)
            async with Session(options, transport=cli.transport) as session:
                ask = one_by_one if cli.calm else all_at_once
                outcomes = await ask(session, cli)
    for number, outcome in enumerate(outcomes):
        if isinstance(outcome, claudewire.Reply):
            assert outcome.text == f"echo: prompt {number}"
            assert number not in cli.failed
        else:
            assert number in cli.failed, outcome


Outcome = claudewire.Reply | claudewire.Error


async def one_by_one(session: Session, cli: CLI) -> list[Outcome]:
    outcomes = []
    for number in range(len(cli.script)):
        await cli.idle.wait()
        cli.idle = anyio.Event()
        outcomes.append(await outcome(session.send(f"prompt {number}")))
    return outcomes


async def all_at_once(session: Session, cli: CLI) -> list[Outcome]:
    sent = [session.send(f"prompt {number}") for number in range(len(cli.script))]
    return [await outcome(turn) for turn in sent]


async def outcome(turn: claudewire.Turn) -> Outcome:
    try:
        return await turn
    except claudewire.Error as error:
        return error


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("speaks", DIALECTS, ids=lambda it: it.dialect)
@examples(0.4)
@given(opening=st.lists(which, max_size=3), script=st.lists(turns, min_size=1, max_size=4))
def test_a_prompt_at_a_time_gets_its_own_reply(
    backend: str, speaks: Modern, opening: list[int], script: list[Turn]
) -> None:
    play(backend, CLI(speaks, opening, script, calm=True))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("speaks", DIALECTS, ids=lambda it: it.dialect)
@examples(0.4)
@given(opening=st.lists(which, max_size=3), script=st.lists(turns, min_size=1, max_size=4))
def test_prompts_in_a_row_get_their_own_replies(
    backend: str, speaks: Modern, opening: list[int], script: list[Turn]
) -> None:
    play(backend, CLI(speaks, opening, script, calm=False))


def play(backend: str, cli: CLI) -> None:
    anyio.run(converse, cli, backend=backend, backend_options=clock.options(backend))
