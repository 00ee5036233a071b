"""Faults of what a CLI says: answers, requests and turns that are not as they should be."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from ...wire import (
    DIALECTS,
    APIMessage,
    AssistantMessage,
    Response,
    ResultMessage,
    Role,
    SuccessResponse,
    TaskNotificationOrigin,
    TextBlock,
    Usage,
    WriteContext,
    codec,
)
from ..actions import Action, Exit, Write
from ..state import new_uuid
from ..turns import init_message
from ..waiting import Wait
from .base import AtFrame, Fault, FromFrame, check_seconds

if TYPE_CHECKING:
    from ...wire import Event

__all__ = [
    "DuplicateAnswers",
    "LateAnswers",
    "MissingAnswers",
    "ResultWithoutTurn",
    "UnknownAnswers",
    "UnknownBlock",
    "UnknownMessage",
    "UnsolicitedTurn",
    "WithdrawnRequest",
]

ANSWERS = frozenset({"control_response"})
REQUESTS = frozenset({"control_request", "sdk_control_request", "callback.request"})
"""What they are called in the dialects."""


class _Line(msgspec.Struct):
    """As much of a line as one has to know."""

    type: str = ""


_lines = msgspec.json.Decoder(_Line)


def _type(frame: bytes) -> str:
    try:
        return _lines.decode(frame).type
    except msgspec.MsgspecError:  # an earlier fault has spoilt it
        return ""


class LateAnswers(FromFrame):
    """Answers come late and are overtaken: shows who takes the next frame for the answer.

    Whatever is still held back when the CLI exits comes just before.

    Args:
        frames: how many other frames go first.
        seconds: how long each waits instead, whatever goes first.
        at: the first frame that may be late.
    """

    def __init__(self, frames: int = 1, seconds: float | None = None, at: int = 1) -> None:
        super().__init__(at)
        self.frames = frames
        check_seconds(seconds)
        self.seconds = seconds
        self._written = 0
        self._held: list[tuple[int, Action]] = []

    def change(self, action: Action) -> list[Action]:
        """Hold back what is to be late."""
        if isinstance(action, Exit):
            return [*self._due(all=True), action]
        return super().change(action)

    def alter(self, frame: bytes) -> list[Action]:
        """Hold an answer back; let others pass, and what was due after them."""
        if _type(frame) not in ANSWERS:
            self._written += 1
            return [Write(frame), *self._due()]
        entry = (self._written + self.frames, Write(frame))
        self._held.append(entry)
        if self.seconds is not None:
            self._engine.spawn(self._wait(entry, self.seconds))
        return []

    def _due(self, *, all: bool = False) -> list[Action]:
        """Take out what need not wait any longer."""
        by_time = self.seconds is not None
        due = [it for it in self._held if all or (not by_time and it[0] <= self._written)]
        self._held = [it for it in self._held if it not in due]
        return [action for _, action in due]

    async def _wait(self, entry: tuple[int, Action], seconds: float) -> None:
        await Wait(seconds=seconds)
        if entry in self._held:
            self._held.remove(entry)
            self._engine.act(entry[1], after=self)


class DuplicateAnswers(FromFrame):
    """Each answer comes twice: shows who trips over one that nobody waits for any more."""

    def alter(self, frame: bytes) -> list[Action]:
        """Write it twice."""
        return [Write(frame)] * (2 if _type(frame) in ANSWERS else 1)


class MissingAnswers(FromFrame):
    """No request is answered: shows who asks without a limit of time."""

    def alter(self, frame: bytes) -> list[Action]:
        """Drop answers."""
        return [] if _type(frame) in ANSWERS else [Write(frame)]


class UnknownAnswers(AtFrame):
    """An answer that nobody asked for comes before a frame: shows who takes it for theirs."""

    def happen(self) -> list[Action]:
        """Write it as the CLI would."""
        connection = self._engine.connection
        dialect = DIALECTS.get(self._engine.dialect, connection.their_dialect)
        answer = Response(response=SuccessResponse("nobody-asked-this", {}))
        return [Write(codec.encode(answer, dialect, WriteContext(Role.CLI)))]


class WithdrawnRequest(Fault):
    """The CLI takes a request back right after putting it: shows who still asks a person.

    What the agent wanted to know counts as refused, and an answer that comes is ignored.

    Args:
        at: which request of the CLI.
    """

    def change(self, action: Action) -> list[Action]:
        """Look out for the request."""
        frame = action.data if isinstance(action, Write) else b""
        if _type(frame) in REQUESTS and self.count(action) == self.at:
            self._engine.defer(partial(self._withdraw, frame))
        return [action]

    def _withdraw(self, frame: bytes) -> None:
        named = [id for id in self._engine.connection.asked if id.encode() in frame]
        for id in named:
            self._engine.take_back(id)


class UnsolicitedTurn(AtFrame):
    """A whole turn that nobody asked for comes before a frame: shows who takes it for their own."""

    def happen(self) -> list[Action]:
        """Write init, a message and a result, as after a background task."""
        session = self._engine.session
        words = "A background task has ended."
        message = APIMessage(
            "assistant",
            [TextBlock(words)],
            id="msg_unsolicited",
            type="message",
            model=session.model,
            stop_sequence=None,
            usage=Usage(input_tokens=1, output_tokens=1),
        )
        said = AssistantMessage(message=message, uuid=new_uuid(), session_id=session.id)
        result = self._result(words)
        return [self._write(event) for event in (init_message(session), said, result)]

    def _write(self, event: Event) -> Write:
        return Write(self._engine.connection.send(event))

    def _result(self, words: str) -> ResultMessage:
        return ResultMessage(
            **_figures(self._engine.session.id),
            subtype="success",
            is_error=False,
            num_turns=1,
            result=words,
            stop_reason="end_turn",
            terminal_reason="completed",
            origin=TaskNotificationOrigin(),
        )


class ResultWithoutTurn(AtFrame):
    """A result of no turn comes before a frame, as when a resume fails: shows who miscounts."""

    def happen(self) -> list[Action]:
        """Write it."""
        result = ResultMessage(
            **_figures(self._engine.session.id),
            subtype="error_during_execution",
            is_error=True,
            num_turns=0,
            stop_reason=None,
            errors=["A result without a turn"],
        )
        return [Write(self._engine.connection.send(result))]


class UnknownMessage(AtFrame):
    """A message of an unknown type comes before a frame: shows who refuses what is new."""

    def happen(self) -> list[Action]:
        """Write it."""
        message = {
            "type": "type_from_the_future",
            "payload": {"deep": [1, "two", None]},
            "uuid": new_uuid(),
            "session_id": self._engine.session.id,
        }
        return [Write(msgspec.json.encode(message) + b"\n")]


class UnknownBlock(FromFrame):
    """A message of the assistant ends with a block that nobody knows: shows who loses the rest.

    Args:
        at: it is the first message of the assistant from this frame on.
    """

    def __init__(self, at: int = 1) -> None:
        super().__init__(at)
        self._done = False

    def alter(self, frame: bytes) -> list[Action]:
        """Add the block, once."""
        if not self._done and _type(frame) == "assistant":
            line = msgspec.json.decode(frame)
            content = line.get("message", {}).get("content")
            if isinstance(content, list):
                content.append({"type": "block_from_the_future", "payload": 42})
                self._done = True
                frame = msgspec.json.encode(line) + b"\n"
        return [Write(frame)]


def _figures(session_id: str) -> dict[str, Any]:
    """What a result must have, and is of no interest."""
    return {
        "duration_ms": 0,
        "duration_api_ms": 0,
        "total_cost_usd": 0.0,
        "usage": Usage(input_tokens=0, output_tokens=0),
        "model_usage": {},
        "permission_denials": [],
        "uuid": new_uuid(),
        "session_id": session_id,
    }
