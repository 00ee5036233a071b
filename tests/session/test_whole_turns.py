"""Which turn gets what of a conversation, and how it ends: see tests/helpers/kept.py.

The conversations are made up, of few names and many kinds of lines, such as come late, twice, for
other prompts or not at all. Time is simulated.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup
from tests.helpers import messages as saying
from tests.helpers.clock import simulated_time
from tests.helpers.kept import Kept
from tests.helpers.peer import Peer
from tests.helpers.sessions import SOME_CLI, options
from tests.session.test_idle import CLI, MANNERS, Script
from tests.tracking.test_whole_tracking import Dice

from claudewire.errors import Error
from claudewire.session import AnyTurn, InterruptReceipt, Session
from claudewire.transport import Launch, Transport
from claudewire.wire import (
    CancelAsyncMessage,
    CancelAsyncMessageResult,
    CanUseTool,
    ErrorInfo,
    ErrorMessage,
    Event,
    Initialize,
    InitializeResult,
    Interrupt,
    InterruptResult,
    Message,
    Request,
    SystemErrorMessage,
    ToolProgressMessage,
)

pytestmark = pytest.mark.anyio

NAMES = ("user_message_uuid", "user_message_uuids")
PREFIX = "00000000-0000-4000-8000-00000000000"
PAUSES = (0.0131, 0.0131, 0.0131, 0.0131, 0.537, 1.571, 6.113, 70.7)
"""Seconds. No sum of them is one of the limits, or it would not be known what comes first."""
VERSIONS = ("2.1.325", "2.1.250", "2.0.14")


def of_turns(dice: Dice, uuids: list[str]) -> Message:
    uuid = dice(None, None, *uuids)
    names = dice(None, None, [it for it in (uuid,) if it], uuids[:2])
    makers: tuple[Callable[[], Message], ...] = (
        lambda: saying.init(user_message_uuids=names),
        lambda: saying.text("hi", user_message_uuid=uuid),
        lambda: saying.delta("h", user_message_uuid=uuid),
        lambda: saying.tool_use(parent_tool_use_id=dice(None, None, "toolu_9")),
        saying.tool_result,
        lambda: ToolProgressMessage(tool_use_id="toolu_1"),
        lambda: saying.prompt(uuid=uuid or "other", is_replay=True),
        lambda: saying.result("done", user_message_uuid=uuid, user_message_uuids=names),
        lambda: saying.result(None, subtype="error_during_execution", is_error=True),
        lambda: saying.lifecycle(uuid, dice("queued", "started", "completed", "discarded")),
        lambda: saying.state(dice("running", "requires_action", "idle", "idle")),
        saying.status,
        saying.keep_alive,
        saying.wake_up_result,
        lambda: saying.task_started("b1"),
        lambda: saying.task_ended("b1"),
        lambda: ErrorMessage(error=ErrorInfo("overloaded_error", "Overloaded")),
        lambda: SystemErrorMessage(error="It broke"),
    )
    return dice(*makers, *makers[:8], *makers[:4], makers[7], makers[10])()


class Talk:
    """A conversation, and what came of it."""

    def __init__(self, seed: int) -> None:
        self.dice = Dice(seed)
        self.version = VERSIONS[seed % 3]
        self.is_watched = seed % 4 == 3  # or else output is sorted all at once
        self.peer = Peer()
        self.turns: list[AnyTurn] = []
        self.lines = [f"--- {seed} {self.version}"]
        self.session: Session = Session(options(), transport=self.peer.transport)

    async def play(self) -> list[str]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.session.start)
            asked = await self.peer.hear_request(Initialize)
            await self.peer.answer(asked, InitializeResult(claude_code_version=self.version))
        with self.session.events() if self.is_watched else nullcontext():
            for _ in range(14):
                self.lines.append(await self._step())
                await anyio.sleep(self.dice(*PAUSES))
                self.lines.append(f"  {self._state()}")
        await self.session.close(now=True)
        self.lines += [f"  {number}: {await _outcome(it)}" for number, it in enumerate(self.turns)]
        return self.lines

    async def _step(self) -> str:
        what = self.dice(*["say"] * 7, "send", "send", "ask", "write")
        if what == "send" or not self.turns:
            uuid = f"{PREFIX}{len(self.turns)}"
            self.turns.append(self.session.send(f"{len(self.turns)}", uuid=uuid))
            return "send"
        if what == "ask":
            await self.peer.ask(CanUseTool("Bash", {}, tool_use_id="toolu_1"))
        elif what == "write":
            line = self.dice(b'{"type":"result","sub\n', b"Debugger attached.\n")
            await self.peer.write(line)
            return line.decode().strip()
        else:
            uuids = [str(it.uuid) for it in self.turns]
            messages = [of_turns(self.dice, uuids) for _ in range(self.dice(1, 1, 2, 4))]
            await self.peer.say(*messages)
            return "; ".join(map(_shown, messages))
        return what

    def _state(self) -> str:
        unsolicited = [it for it in self.session.turns if it not in self.turns]
        turns = [f"{it.state}/{len(it.messages)}" for it in (*self.turns, *unsolicited)]
        notices = [type(it).__name__ for it in self.session.notices]
        return f"{self.session.state} {' '.join(turns)}; {' '.join(notices[-2:])}"


def _shown(message: Message) -> str:
    told = (getattr(message, it, None) for it in ("state", "command_uuid", *NAMES))
    return " ".join((type(message).__name__, *(str(it) for it in told if it))).replace(PREFIX, "#")


async def _outcome(turn: AnyTurn) -> str:
    try:
        reply = await turn
    except Error as error:
        return f"{type(error).__name__}: {error.message}"
    return f"{reply.result.subtype} {reply.text!r} {[type(it).__name__ for it in turn.messages]}"


@simulated_time
async def test_turns_are_as_they_were(kept: Kept) -> None:
    lines: list[str] = []
    with anyio.fail_after(1_000_000):
        for seed in range(60):
            lines += await Talk(seed).play()
    kept("turns.txt", "\n".join(lines) + "\n")


# --- with a CLI whose lines are lost, doubled or late ---------------------------------------------

ACTIONS = (
    *("prompt", "prompt", "now", "next", "next", "later"),
    *("interrupt", "clear", "stop", "cancel", "tell", "restart"),
)
FATES = ("drop", "double", "late", *["keep"] * 9)
WAITS = (0.00031, 0.0041, 0.0137, 0.0353)
"""Seconds. No sum of them is a multiple of the steps of the CLI."""


QUIET = 1_000.0
"""Seconds after which a CLI has said all that it will say."""


class Careless(CLI):
    """Plays a script, and takes prompts out of its queue if it is asked to."""

    async def serve(self, request: Request) -> None:
        if isinstance(request.body, CancelAsyncMessage):
            found = await self._drop(request.body.message_uuid)
            await self.answer(request, CancelAsyncMessageResult(bool(found)))
        elif isinstance(request.body, Interrupt) and request.body.cancel_queued:
            self.is_interrupted = True
            dropped = [it.uuid for it in self.queue if it.uuid]
            self.queue = []
            await self.answer(request, InterruptResult([], dropped))
        else:
            await super().serve(request)

    async def _drop(self, uuid: str) -> list[str]:
        found = [it for it in self.queue if it.uuid == uuid]
        self.queue = [it for it in self.queue if it.uuid != uuid]
        for it in found:
            await self.tell(it.uuid, "cancelled")
        return [str(it.uuid) for it in found]


class Meeting:
    """A conversation with such a CLI, and what came of it."""

    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        self.manner = MANNERS[seed % 3]
        self.script = Script(
            [],
            [dice(0, 1, 1, 2, 3) for _ in range(6)],
            [dice(*FATES) if seed % 2 else "keep" for _ in range(40)],
        )
        self.turns: list[AnyTurn] = []
        self.unsolicited: list[AnyTurn] = []
        self.lines = [f"--- {seed} {self.manner.version}"]
        self.ends: dict[AnyTurn, float] = {}
        self.began = 0.0

    async def play(self) -> list[str]:
        async with anyio.create_task_group() as self.tasks:
            tasks = self.tasks

            async def connect(_: Launch) -> Transport:
                cli = Careless(self.manner, self.script)
                tasks.start_soon(cli.run)
                return cli.transport

            given = options(cli=SOME_CLI, patience=None)
            async with Session(given, transport=connect) as session:
                tasks.start_soon(self._collect, session)
                self.began = anyio.current_time()
                async with anyio.create_task_group() as inner:
                    await self._act(session, inner)
                await anyio.sleep(QUIET)
                notices = [_kind(it) for it in session.notices]
            self.lines.append(f"  notices: {' '.join(notices)}")
        for turn in (*self.turns, *self.unsolicited):
            how = f"{turn.state}{' merged' * turn.merged}"
            self.lines.append(f"  {self.ends[turn]:.2f} {how} {await _told(turn)}")
        return self.lines

    async def _collect(self, session: Session) -> None:
        async for turn in session.unsolicited:
            self.unsolicited.append(turn)
            self.tasks.start_soon(self._watch, turn)

    async def _watch(self, turn: AnyTurn) -> None:
        await turn.finished.wait()
        self.ends[turn] = anyio.current_time() - self.began

    async def _act(self, session: Session, tasks: TaskGroup) -> None:
        for _ in range(self.dice(2, 4, 6)):
            await anyio.sleep(self.dice(*WAITS))
            what = self.dice(*ACTIONS) if self.turns else "prompt"
            self.lines.append(f"  {what}")
            if what in ("interrupt", "clear"):
                tasks.start_soon(
                    self._interrupt, session, "keep" if what == "interrupt" else "cancel"
                )
            elif what == "stop":
                tasks.start_soon(self._stop, self.dice(*self.turns))
            elif what == "cancel":
                tasks.start_soon(self._cancel, self.dice(*self.turns))
            elif what == "tell":
                session.tell("It rains")
            elif what == "restart":
                await session.restart()
            else:
                priority: Any = None if what == "prompt" else what
                name = f"p{len(self.turns)}"
                self.turns.append(session.send(name, priority=priority, uuid=name))
                self.tasks.start_soon(self._watch, self.turns[-1])

    async def _interrupt(self, session: Session, queued: Any) -> None:
        await self._note("interrupt", session.interrupt(queued=queued))

    async def _stop(self, turn: AnyTurn) -> None:
        await self._note(f"stop {turn.uuid}", turn.interrupt())

    async def _cancel(self, turn: AnyTurn) -> None:
        await self._note(f"cancel {turn.uuid}", turn.cancel())

    async def _note(self, what: str, call: Awaitable[InterruptReceipt | bool]) -> None:
        try:
            done = await call
        except Error as error:
            told = f"{type(error).__name__}: {error.message}"
        else:
            told = str(done) if isinstance(done, bool) else _receipt(done)
        self.lines.append(f"  {anyio.current_time() - self.began:.3f} {what}: {told}")


def _receipt(it: InterruptReceipt) -> str:
    turn = it.turn and (it.turn.uuid or "unsolicited")
    queued, cancelled = ([other.uuid for other in some] for some in (it.still_queued, it.cancelled))
    has_result = it.result is not None
    return f"{it.outcome} {turn} {it.acknowledged} {has_result} {queued} {cancelled} {it.steps}"


def _kind(event: Event) -> str:
    return type(event).__name__.removesuffix("Message")


async def _told(turn: AnyTurn) -> str:
    words = [getattr(it, "text", None) or getattr(it, "state", "") for it in turn.messages]
    said = [f"{_kind(it)}:{word}" for it, word in zip(turn.messages, words, strict=True)]
    try:
        reply = await turn
    except Error as error:
        return f"{type(error).__name__}: {error.message} {' '.join(said)}"
    return f"{reply.result.subtype} {reply.text or reply.result.errors} {' '.join(said)}"


@simulated_time
async def test_turns_with_a_cli_whose_lines_are_lost_are_as_they_were(kept: Kept) -> None:
    lines: list[str] = []
    with anyio.fail_after(10_000_000):
        for seed in range(120):
            lines += await Meeting(seed).play()
    kept("lost_lines.txt", "\n".join(lines) + "\n")
