"""Which turn gets what of a conversation, and how it ends: see tests/helpers/kept.py.

The conversations are made up, of few names and many kinds of lines, such as come late, twice, for
other prompts or not at all. Time is simulated.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import anyio
import pytest
from tests.helpers import messages as saying
from tests.helpers.clock import simulated_time
from tests.helpers.kept import Kept
from tests.helpers.peer import Peer
from tests.helpers.sessions import options
from tests.tracking.test_whole_tracking import Dice

from claudewire.errors import Error
from claudewire.session import AnyTurn, Session
from claudewire.wire import (
    CanUseTool,
    ErrorInfo,
    ErrorMessage,
    Initialize,
    InitializeResult,
    Message,
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
