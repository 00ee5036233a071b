"""Faults: what can go wrong with a CLI, for any scenario and in any combination.

    SimulatedCLI(scenario, faults=[SplitEveryByte(), KilledBy(9, at=5)])

The program reads them from its environment, in the notation of `parse_faults`:

    CLAUDEWIRE_SIM_FAULTS="split-every-byte, kill(9)@5"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from signal import valid_signals
from typing import Any

import msgspec

from ..wire import (
    DIALECTS,
    APIMessage,
    AssistantMessage,
    Event,
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
from .actions import (
    Action,
    CloseOutput,
    Exit,
    IgnoreTermination,
    Kill,
    LeaveGrandchild,
    LeaveShell,
    Pause,
    ReadInput,
    Write,
    WriteError,
)
from .engine import Fault, Wait
from .session import SimulatedSession
from .turns import init_message

__all__ = [
    "FAULTS",
    "AtFrame",
    "ClockJump",
    "DuplicateAnswers",
    "EOFWithoutExit",
    "ExitWith",
    "Fault",
    "FromFrame",
    "Garbage",
    "Grandchild",
    "HalfLine",
    "IgnoreSIGTERM",
    "KilledBy",
    "LateAnswers",
    "LeftoverShell",
    "LongLine",
    "MissingAnswers",
    "NotReading",
    "ResultWithoutTurn",
    "Silence",
    "SlowOutput",
    "Split",
    "SplitEveryByte",
    "SplitUTF8",
    "StderrFlood",
    "UnknownAnswers",
    "UnknownBlock",
    "UnknownField",
    "UnknownMessage",
    "UnsolicitedTurn",
    "WithdrawnRequest",
    "parse_faults",
]


def _check_seconds(seconds: float | None) -> None:
    """Check a time to wait; None means for ever.

    Raises:
        ValueError: it is negative or not finite.
    """
    if seconds is not None and not 0 <= seconds < float("inf"):
        raise ValueError(f"seconds must be a finite number from 0 on, not {seconds}")


class AtFrame(Fault):
    """Something that happens once: just before a frame, to it, or in its place."""

    def start(self) -> list[Action]:
        """Happen now, unless the fault waits for a frame."""
        return self.happen() if self.at == 0 else []

    def change(self, action: Action) -> list[Action]:
        """Wait for the frame."""
        if isinstance(action, Write) and self.count(action) == self.at:
            return [*self.happen(), *self.alter(action.data)]
        return [action]

    def happen(self) -> list[Action]:
        """What happens before the frame."""
        return []


class FromFrame(Fault):
    """Something that happens to every frame from one on."""

    @property
    def reached(self) -> bool:
        """Whether the first frame that it affects has been written."""
        return self._frames >= self.at

    def change(self, action: Action) -> list[Action]:
        """Count frames, and change those from `at` on."""
        self.count(action)
        return self.alter(action.data) if isinstance(action, Write) and self.reached else [action]


# --- what a CLI writes: cut, long, spoilt, slow or missing ----------------------------------------

GARBAGE = (b"Debugger listening on ws://127.0.0.1:9229", b"\xff\xfe\x00 not UTF-8", b"{not JSON}")
"""What turns up on stdout: runtime messages, bytes that are not text, almost JSON."""

FLOOD = b"claudewire-sim: a flood on stderr, because a fault says so\n"


class Split(FromFrame):
    """Each frame is written in several pieces: finds code that takes a piece for a line.

    In memory each piece is received by itself. From a pipe several may be read together; a
    `SlowOutput` after this one keeps them apart.

    Args:
        positions: before which bytes to cut; negative from the end, so -1 splits off the newline.
        at: the first frame that is cut.
    """

    order = 1

    def __init__(self, *positions: int, at: int = 1) -> None:
        super().__init__(at)
        for position in positions:
            if not isinstance(position, int):
                raise TypeError(f"a position must be a whole number, not {position}")
        self.positions = positions

    def alter(self, frame: bytes) -> list[Action]:
        """Write the pieces."""
        size = len(frame)
        inside = {cut for cut in self.cuts(frame) if 0 < cut < size}
        return [Write(frame[a:b]) for a, b in pairwise([0, *sorted(inside), size])]

    def cuts(self, frame: bytes) -> Iterable[int]:
        """Where to cut a frame."""
        return (cut % len(frame) for cut in self.positions if abs(cut) < len(frame))


class SplitEveryByte(Split):
    """Each byte is written by itself: finds wrong assumptions about what a read returns."""

    def __init__(self, at: int = 1) -> None:
        super().__init__(at=at)

    def cuts(self, frame: bytes) -> Iterable[int]:
        """Cut everywhere."""
        return range(1, len(frame))


class SplitUTF8(Split):
    """Frames are cut inside multi-byte characters: finds code that decodes pieces."""

    def __init__(self, at: int = 1) -> None:
        super().__init__(at=at)

    def cuts(self, frame: bytes) -> Iterable[int]:
        """Cut before each byte that continues a character."""
        return (index for index, byte in enumerate(frame) if byte & 0xC0 == 0x80)


class SlowOutput(Fault):
    """There is a pause before each write: finds timeouts that are too short, or block others.

    With a `Split` before it, it is slow within a line too.
    """

    order = 1

    def __init__(self, seconds: float = 0.1, at: int = 1) -> None:
        super().__init__(at)
        _check_seconds(seconds)
        self.seconds = seconds

    def change(self, action: Action) -> list[Action]:
        """Put a pause before the write."""
        slow = self.count(action) >= self.at and isinstance(action, Write)
        return [Pause(self.seconds), action] if slow else [action]


class LongLine(AtFrame):
    """A frame is very long, through an unknown field: finds size limits and quadratic time."""

    def __init__(self, megabytes: float = 5, at: int = 1) -> None:
        super().__init__(at)
        self.megabytes = megabytes

    def alter(self, frame: bytes) -> list[Action]:
        """Pad it."""
        return [Write(_with_field(frame, "padding", "x" * int(self.megabytes * 1_000_000)))]


class UnknownField(AtFrame):
    """A frame has an unknown field: finds code that rejects what is new."""

    def alter(self, frame: bytes) -> list[Action]:
        """Add the field."""
        return [Write(_with_field(frame, "field_from_the_future", "42"))]


class Garbage(AtFrame):
    """Lines that are not JSON come before a frame: finds code that fails on one bad line."""

    def __init__(self, lines: Sequence[bytes] = GARBAGE, at: int = 1) -> None:
        super().__init__(at)
        self.lines: tuple[bytes, ...] = tuple(lines)

    def happen(self) -> list[Action]:
        """Write the lines."""
        return [Write(line + b"\n") for line in self.lines]


class HalfLine(AtFrame):
    """A frame is cut in half: finds code that takes half a line for a whole, or waits for more.

    Args:
        status: None if the newline and the next frames follow, and only half a frame is lost.
            Else the CLI dies in mid-line: the exit status, or the negative number of a signal.
        at: which frame.
    """

    def __init__(self, status: int | None = None, at: int = 1) -> None:
        super().__init__(at)
        self.status = status

    def alter(self, frame: bytes) -> list[Action]:
        """Write the first half."""
        half = frame[: len(frame) // 2]
        if self.status is None:
            return [Write(half + b"\n")]
        return [Write(half), Kill(-self.status) if self.status < 0 else Exit(self.status)]


class Silence(FromFrame):
    """Nothing more is written, but the process lives on: finds waiting without a timeout.

    It still reads its stdin, but does not exit at its end.
    """

    def change(self, action: Action) -> list[Action]:
        """Drop all output, and the exit."""
        done = super().change(action)
        return [] if self.reached and isinstance(action, Write | WriteError | Exit) else done


class StderrFlood(AtFrame):
    """Much is written to stderr: finds code that does not read it, so that the CLI blocks."""

    def __init__(self, size: int = 1_000_000, at: int = 1) -> None:
        super().__init__(at)
        self.size = size

    def happen(self) -> list[Action]:
        """Write it in one go."""
        text = FLOOD * (self.size // len(FLOOD) + 1)
        return [WriteError(text[: self.size - 1] + b"\n")]


def _with_field(frame: bytes, name: str, text: str) -> bytes:
    """Add a field to a frame, if it is an object; the rest stays as it is, byte for byte."""
    body, end = frame[:-2], frame[-2:]
    return body + f',"{name}":"{text}"}}\n'.encode() if end == b"}\n" else frame


# --- the process: how it dies or does not, and what it leaves behind ------------------------------


class ExitWith(AtFrame):
    """The CLI exits in place of a frame: finds code that waits for what will never come."""

    def __init__(self, status: int = 1, at: int = 1) -> None:
        super().__init__(at)
        self.status = status

    def happen(self) -> list[Action]:
        """Exit."""
        return [Exit(self.status)]

    def alter(self, frame: bytes) -> list[Action]:
        """Do not write the frame."""
        return []


class KilledBy(AtFrame):
    """A signal ends the CLI in place of a frame, as the OOM killer (9) or a crash (11) does."""

    def __init__(self, signal: int = 9, at: int = 1) -> None:
        super().__init__(at)
        if signal not in valid_signals():
            raise ValueError(f"there is no signal {signal}")
        self.signal = signal

    def happen(self) -> list[Action]:
        """Die."""
        return [Kill(self.signal)]

    def alter(self, frame: bytes) -> list[Action]:
        """Do not write the frame."""
        return []


class EOFWithoutExit(FromFrame):
    """Stdout is closed in place of a frame, but the CLI lives on: finds waiting for its exit.

    It still reads its stdin, but does not exit at its end.
    """

    def __init__(self, at: int = 1) -> None:
        super().__init__(at)
        self._closed = False

    def start(self) -> list[Action]:
        """Close it now, unless the fault waits for a frame."""
        return self._close() if self.reached else []

    def change(self, action: Action) -> list[Action]:
        """Close it at the frame, and drop what comes after."""
        done = super().change(action)
        return [] if self.reached and isinstance(action, Exit) else done

    def alter(self, frame: bytes) -> list[Action]:
        """Close it instead of writing."""
        return self._close()

    def _close(self) -> list[Action]:
        closed, self._closed = self._closed, True
        return [] if closed else [CloseOutput()]


class IgnoreSIGTERM(AtFrame):
    """SIGTERM has no effect: finds code that never escalates. In memory there are no signals."""

    def __init__(self, at: int = 0) -> None:
        super().__init__(at)

    def happen(self) -> list[Action]:
        """Ignore it from now on."""
        return [IgnoreTermination()]


class Survivor(AtFrame):
    """A process is left behind.

    Args:
        seconds: how long it lives.
        at: before which frame it is started.
    """

    def __init__(self, seconds: float = 60, at: int = 1) -> None:
        super().__init__(at)
        _check_seconds(seconds)
        self.seconds = seconds


class Grandchild(Survivor):
    """A process keeps stdout open after the CLI's exit: finds reading to the end without a limit.

    Its process id is written to stderr: `claudewire-sim: grandchild 1234`. In memory there is no
    such process, but stdout stays open as long.

    Args:
        seconds: how long it lives.
        at: before which frame it is started.
    """

    def happen(self) -> list[Action]:
        """Start it."""
        return [LeaveGrandchild(self.seconds)]


class LeftoverShell(Survivor):
    """A tool's shell, in a session of its own, outlives the CLI: finds ending its group alone.

    Real CLIs leave them when they are killed, and older ones also when they exit. Its process id is
    written to stderr: `claudewire-sim: shell 1234`. In memory there is no such process.

    Args:
        seconds: how long it lives.
        at: before which frame it is started.
    """

    def happen(self) -> list[Action]:
        """Start it."""
        return [LeaveShell(self.seconds)]


class NotReading(AtFrame):
    """Stdin is not read, so that the pipe fills up: finds writes that block everything else.

    Args:
        seconds: for how long; None for ever.
        at: before which frame it begins; 0 for the start of the process.
    """

    def __init__(self, seconds: float | None = None, at: int = 1) -> None:
        super().__init__(at)
        _check_seconds(seconds)
        self.seconds = seconds

    def happen(self) -> list[Action]:
        """Stop reading, and start a timer if there is an end to it."""
        if self.seconds is not None:
            self._engine.spawn(self._go_on(self.seconds))
        return [ReadInput(False)]

    async def _go_on(self, seconds: float) -> None:
        await Wait(seconds=seconds)
        self._engine.act(ReadInput(True), after=self)


class ClockJump(Fault):
    """The CLI's clock jumps ahead or back: finds code that trusts its times and durations.

    What the CLI itself waits for is not affected.
    """

    def __init__(self, seconds: float = 3600, at: int = 1) -> None:
        super().__init__(at)
        self.seconds = seconds

    def clock(self, clock: Callable[[], float]) -> Callable[[], float]:
        """The clock with the jump."""
        return lambda: clock() + (self.seconds if self._frames >= self.at else 0)

    def change(self, action: Action) -> list[Action]:
        """Count frames until the jump."""
        self.count(action)
        return [action]


# --- what a CLI says: answers, requests and turns that are not as they should be ------------------

ANSWERS = frozenset({"control_response"})
REQUESTS = frozenset({"control_request", "sdk_control_request", "callback.request"})
"""What they are called in the dialects."""


class _Line(msgspec.Struct):
    """The part of a line that a fault needs to know."""

    type: str = ""


_lines = msgspec.json.Decoder(_Line)


def _type(frame: bytes) -> str:
    try:
        return _lines.decode(frame).type
    except ValueError:  # an earlier fault has damaged it
        return ""


class LateAnswers(FromFrame):
    """Answers are late and overtaken: finds code that takes the next frame for the answer.

    Answers that are still held back when the CLI exits are written just before.

    Args:
        frames: how many other frames go first.
        seconds: how long each answer waits instead of counting frames.
        at: the first frame that may be late.
    """

    def __init__(self, frames: int = 1, seconds: float | None = None, at: int = 1) -> None:
        super().__init__(at)
        self.frames = frames
        _check_seconds(seconds)
        self.seconds = seconds
        self._written = 0
        self._held: list[tuple[int, Action]] = []

    def change(self, action: Action) -> list[Action]:
        """Hold answers back; release them before an exit."""
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
        """Remove and return what is due."""
        by_time = self.seconds is not None
        due = [it for it in self._held if all or (not by_time and it[0] <= self._written)]
        self._held = [it for it in self._held if it not in due]
        return [action for _, action in due]

    async def _wait(self, entry: tuple[int, Action], seconds: float) -> None:
        await Wait(seconds=seconds)  # not beyond the exit, at which all were written
        self._held.remove(entry)
        self._engine.act(entry[1], after=self)


class DuplicateAnswers(FromFrame):
    """Each answer comes twice: finds code that trips over an answer without a request."""

    def alter(self, frame: bytes) -> list[Action]:
        """Write it twice."""
        return [Write(frame)] * (2 if _type(frame) in ANSWERS else 1)


class MissingAnswers(FromFrame):
    """No request is answered: finds requests without a timeout."""

    def alter(self, frame: bytes) -> list[Action]:
        """Drop answers."""
        return [] if _type(frame) in ANSWERS else [Write(frame)]


class UnknownAnswers(AtFrame):
    """An answer to no request comes before a frame: finds code that takes it for its own."""

    def happen(self) -> list[Action]:
        """Write it as the CLI would."""
        connection = self._engine.connection
        dialect = DIALECTS.get(self._engine.dialect, connection.their_dialect)
        answer = Response(response=SuccessResponse("nobody-asked-this", {}))
        return [Write(codec.encode(answer, dialect, WriteContext(Role.CLI)))]


class WithdrawnRequest(Fault):
    """The CLI withdraws a request right after making it: finds code that still asks a person.

    The request counts as refused, and an answer to it is ignored.

    Args:
        at: which request of the CLI.
    """

    def change(self, action: Action) -> list[Action]:
        """Find the request."""
        frame = action.data if isinstance(action, Write) else b""
        if _type(frame) in REQUESTS and self.count(action) == self.at:
            self._engine.defer(partial(self._withdraw, frame))
        return [action]

    def _withdraw(self, frame: bytes) -> None:
        named = [id for id in self._engine.connection.asked if id.encode() in frame]
        for id in named:
            self._engine.take_back(id)


class UnsolicitedTurn(AtFrame):
    """A whole turn without a prompt comes before a frame: finds code that takes it for its own."""

    def happen(self) -> list[Action]:
        """Write init, a message and a result, as after a background task."""
        session, manner = self._engine.session, self._engine.manner
        words = "A background task has ended."
        message = APIMessage(
            "assistant",
            [TextBlock(words)],
            id="msg_unsolicited",
            type="message",
            model=session.model,
            stop_reason="end_turn" if manner.stops else None,
            stop_sequence=None,
            usage=Usage(input_tokens=1, output_tokens=1),
        )
        said = AssistantMessage(message=message, **session.stamp())
        events = (init_message(session), said, self._result(words))
        return [self._write(event) for event in events if manner.says(event)]

    def _write(self, event: Event) -> Write:
        return Write(self._engine.connection.send(event))

    def _result(self, words: str) -> ResultMessage:
        return ResultMessage(
            **_figures(self._engine.session),
            subtype="success",
            is_error=False,
            num_turns=1,
            result=words,
            stop_reason="end_turn",
            terminal_reason="completed",
            origin=TaskNotificationOrigin(),
        )


class ResultWithoutTurn(AtFrame):
    """A result without a turn comes before a frame, as when a resume fails: finds miscounting."""

    def happen(self) -> list[Action]:
        """Write it."""
        result = ResultMessage(
            **_figures(self._engine.session),
            subtype="error_during_execution",
            is_error=True,
            num_turns=0,
            stop_reason=None,
            errors=["A result without a turn"],
        )
        return [Write(self._engine.connection.send(result))]


class UnknownMessage(AtFrame):
    """A message of an unknown type comes before a frame: finds code that rejects what is new."""

    def happen(self) -> list[Action]:
        """Write it."""
        message = {
            "type": "type_from_the_future",
            "payload": {"deep": [1, "two", None]},
            **self._engine.session.stamp(),
        }
        return [Write(msgspec.json.encode(message) + b"\n")]


class UnknownBlock(FromFrame):
    """A message of the assistant ends with an unknown block: finds code that loses the rest.

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


def _figures(session: SimulatedSession) -> dict[str, Any]:
    """Fields that every result must have and that do not matter here."""
    return {
        "duration_ms": 0,
        "duration_api_ms": 0,
        "total_cost_usd": 0.0,
        "usage": Usage(input_tokens=0, output_tokens=0),
        "model_usage": {},
        "permission_denials": [],
        **session.stamp(),
    }


# --- by their names -------------------------------------------------------------------------------

FAULTS: dict[str, type[Fault]] = {
    "clock-jump": ClockJump,
    "duplicate-answers": DuplicateAnswers,
    "eof-without-exit": EOFWithoutExit,
    "exit": ExitWith,
    "garbage": Garbage,
    "grandchild": Grandchild,
    "half-line": HalfLine,
    "ignore-sigterm": IgnoreSIGTERM,
    "kill": KilledBy,
    "late-answers": LateAnswers,
    "leftover-shell": LeftoverShell,
    "long-line": LongLine,
    "missing-answers": MissingAnswers,
    "not-reading": NotReading,
    "result-without-turn": ResultWithoutTurn,
    "silence": Silence,
    "slow": SlowOutput,
    "split": Split,
    "split-every-byte": SplitEveryByte,
    "split-utf8": SplitUTF8,
    "stderr-flood": StderrFlood,
    "unknown-answers": UnknownAnswers,
    "unknown-block": UnknownBlock,
    "unknown-field": UnknownField,
    "unknown-message": UnknownMessage,
    "unsolicited-turn": UnsolicitedTurn,
    "withdrawn-request": WithdrawnRequest,
}
"""All faults, by their names in the notation of `parse_faults`."""

_ITEM = re.compile(r"\s*(?P<name>[\w-]+)\s*(?:\((?P<given>[^()]*)\))?\s*(?:@\s*(?P<at>\d+))?\s*")


def parse_faults(text: str) -> tuple[Fault, ...]:
    """Read a list of faults: `name`, `name(argument)`, `name(key=argument)@frame`.

    Names are those of `FAULTS`, arguments are numbers, in the order in which the class takes them.

    Raises:
        ValueError: the list cannot be read; the message says where, and which faults exist.
    """
    return tuple(_make(item) for item in _items(text.strip()))


def _items(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(text):
        item = _ITEM.match(text, at)
        if item is None or text[item.end() : item.end() + 1] not in ("", ","):
            raise ValueError(
                f"Cannot read the faults {text!r} from {text[at:]!r} on: "
                "they look like 'name, name(1)@2, name(key=1)'"
            )
        yield item
        at = item.end() + 1


def _make(item: re.Match[str]) -> Fault:
    name = item["name"]
    if name not in FAULTS:
        raise ValueError(f"Unknown fault {name!r}; the faults are {', '.join(FAULTS)}")
    positional: list[Any] = []
    named: dict[str, Any] = {} if item["at"] is None else {"at": int(item["at"])}
    try:
        for given in filter(None, map(str.strip, (item["given"] or "").split(","))):
            key, equals, value = given.partition("=")
            if equals:
                named[key.strip()] = _number(value)
            else:
                positional.append(_number(given))
        return FAULTS[name](*positional, **named)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Invalid fault {item[0].strip()!r}: {error}") from None


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)
