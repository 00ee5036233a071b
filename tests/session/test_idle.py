"""No turn stays open once the CLI is idle, even if lines are missing, doubled or late.

A CLI in memory takes prompts up alone or together, begins turns by itself, and is interrupted; what
it says of that is left out, doubled or put behind the next line, as hypothesis likes. In the end,
and whenever nothing is left to do, it says that it is idle. Time is simulated: it passes when
nothing else can happen, so what is open for ever is found at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any, NamedTuple

import anyio
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.helpers import clock
from tests.helpers import messages as saying
from tests.helpers.examples import examples
from tests.helpers.peer import Peer
from tests.helpers.sessions import options

from claudewire.errors import Error
from claudewire.session import Reply, Session, Turn
from claudewire.wire import (
    EndOfStream,
    Initialize,
    InitializeResult,
    Interrupt,
    InterruptResult,
    Message,
    Request,
    UserMessage,
)

FOR_EVER = 100_000.0
"""Seconds of simulated time."""

STEP = 0.01
"""Seconds between two lines of a turn, in which something else can happen."""


class Manner(NamedTuple):
    """The facts by which a CLI assigns a turn to prompts."""

    version: str
    reports: bool = False
    names: str = "none"


MANNERS = [
    Manner("2.1.325", reports=True, names="all"),
    Manner("2.1.250", reports=True, names="last"),
    Manner("2.1.197"),
]

What = str
"""keep, drop, double or late: what becomes of a line."""

fates = st.lists(st.sampled_from(["keep", "keep", "drop", "double", "late"]), max_size=40)


@dataclass
class Script:
    """The actions of both sides.

    Attributes:
        actions: of the application, each so many steps after the one before.
        turns: how many prompts each turn of the CLI takes up; 0 for one that nobody asked for.
        fates: what becomes of the lines that the CLI writes.
    """

    actions: list[tuple[int, str]]
    turns: list[int] = field(default_factory=list)
    fates: list[What] = field(default_factory=list)


scripts = st.builds(
    Script,
    st.lists(
        st.tuples(
            st.integers(0, 8),
            st.sampled_from(["prompt", "prompt", "now", "next", "later", "interrupt", "tell"]),
        ),
        min_size=1,
        max_size=7,
    ),
    st.lists(st.sampled_from([0, 1, 1, 2, 3]), max_size=6),
    fates,
)


LOST_RESULT = Script([(0, "prompt"), (3, "now")], [], 5 * ["keep"] + ["drop"])
"""The result of a prompt is left out, and another prompt is in the queue of the CLI."""

LATE_RESULT = Script([(0, "prompt"), (0, "prompt")], [0, 0, 1, 0], 19 * ["keep"] + ["late"])
"""The result of an unsolicited turn arrives after a prompt has begun."""


class CLI(Peer):
    """Plays a script."""

    def __init__(self, manner: Manner, script: Script) -> None:
        super().__init__()
        self.manner = manner
        self.queue: list[UserMessage] = []
        self.fates: Iterator[What] = chain(script.fates, repeat("keep"))
        self.turns: Iterator[int] = chain(script.turns, repeat(1))
        self.late: list[Message] = []
        self.arrived = anyio.Event()
        self.is_interrupted = False

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.work)
            await self.listen()
            tasks.cancel_scope.cancel()
        self.exit()

    async def listen(self) -> None:
        while True:
            for event in self.connection.receive_data(await self.end.receive()):
                if isinstance(event, EndOfStream):
                    return
                if isinstance(event, Request):
                    await self.serve(event)
                elif isinstance(event, UserMessage) and event.should_query is not False:
                    self.queue.append(event)
                    await self.tell(event.uuid, "queued")
                    self.arrived.set()

    async def serve(self, request: Request) -> None:
        if isinstance(request.body, Initialize):
            await self.answer(request, InitializeResult(claude_code_version=self.manner.version))
        elif isinstance(request.body, Interrupt):
            self.is_interrupted = True
            queued = [it.uuid for it in self.queue if it.uuid]
            await self.answer(request, InterruptResult(queued))
        else:
            await self.refuse(request, "no", "unsupported_request")

    async def work(self) -> None:
        while True:
            await self.arrived.wait()
            self.arrived = anyio.Event()
            while self.queue:
                await self.play(next(self.turns))
                await anyio.sleep(STEP)
            await super().say(saying.state("idle"))
            await self.say_late()

    async def play(self, count: int) -> None:
        """Play a turn for so many prompts of the queue."""
        taken, self.queue = self.queue[:count], self.queue[count:]
        uuids = [it.uuid for it in taken if it.uuid]
        texts = "|".join(it.text for it in taken)
        everything = uuids if uuids and self.manner.names == "all" else None
        last = uuids[-1] if uuids and self.manner.names != "none" else None
        for uuid in uuids:
            await self.tell(uuid, "started")
        lines: list[Message] = [saying.init(user_message_uuids=everything)]
        lines += [
            saying.text(words, user_message_uuid=last, user_message_uuids=everything)
            for words in ("so", texts)
        ]
        self.is_interrupted = False
        for line in lines:
            if not self.is_interrupted:
                await self.say(line)
                await anyio.sleep(STEP)
        names = {"user_message_uuid": last, "user_message_uuids": everything}
        if not uuids:
            await self.say(saying.wake_up_result(words="nobody"))
        elif self.is_interrupted:
            failed = {"subtype": "error_during_execution", "is_error": True, "errors": [texts]}
            await self.say(saying.result(None, **failed, **names))
        else:
            await self.say(saying.result(texts, **names))
        for uuid in uuids:
            await self.tell(uuid, "cancelled" if self.is_interrupted else "completed")

    async def tell(self, uuid: str | None, state: str) -> None:
        if self.manner.reports:
            await self.say(saying.lifecycle(uuid, state))

    async def say(self, *events: Any) -> None:
        """Say something as its fate is; answers to requests have none."""
        if not all(isinstance(it, Message) for it in events):
            await super().say(*events)
            return
        for line in events:
            fate = next(self.fates)
            if fate == "late":
                self.late.append(line)
                continue
            await super().say(*{"drop": [], "double": [line, line]}.get(fate, [line]))
            await self.say_late()

    async def say_late(self) -> None:
        late, self.late = self.late, []
        await super().say(*late)


async def act(session: Session, script: Script) -> list[Turn]:
    """Play the script; return the turns."""
    turns: list[Turn] = []
    async with anyio.create_task_group() as tasks:
        for steps, what in script.actions:
            await anyio.sleep(steps * STEP)
            if what == "interrupt":
                tasks.start_soon(interrupt, session)
            elif what == "tell":
                session.add_context("It rains")
            else:
                priority: Any = None if what == "prompt" else what
                turns.append(session.send(f"p{len(turns)}", priority=priority))
    return turns


async def interrupt(session: Session) -> None:
    with suppress(Error):  # the session may be closed by then
        await session.interrupt()


async def outcome(turn: Turn) -> Reply | Error:
    try:
        return await turn
    except Error as error:
        return error


def said(reply: Reply) -> Sequence[str]:
    """The prompts that a result says it answers."""
    words = reply.result.result or "".join(reply.result.errors or ())
    return words.split("|")


async def converse(manner: Manner, script: Script) -> None:
    cli = CLI(manner, script)
    with anyio.fail_after(FOR_EVER):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cli.run)
            async with Session(options(patience=None), transport=cli.transport) as session:
                turns = await act(session, script)
                outcomes = [await outcome(turn) for turn in turns]
                cli.fates = repeat("keep")
                last = await session.send("last")
    for number, came in enumerate(outcomes):
        if isinstance(came, Reply) and manner.names == "all" and came.result.line:
            assert f"p{number}" in said(came), (number, said(came))
    if manner.names == "all":
        assert "last" in said(last)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("manner", MANNERS, ids=lambda it: it.version)
@examples(1)
@given(script=scripts)
@example(LOST_RESULT)
@example(LATE_RESULT)
def test_no_turn_stays_open_or_gets_the_reply_of_another(
    backend: str, manner: Manner, script: Script
) -> None:
    anyio.run(converse, manner, script, backend=backend, backend_options=clock.options(backend))
