"""Faults: failures of a CLI, for any scenario and in any combination.

    SimulatedCLI(scenario, faults=[SplitEveryByte(), KilledBy(9, at=5)])

The program reads them from its environment, in the notation of `parse_faults`:

    CLAUDEWIRE_SIM_FAULTS="split-every-byte, kill(9)@5"
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from signal import valid_signals
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from .. import wire
from .actions import (
    Action,
    CloseOutput,
    Exit,
    IgnoreTermination,
    Kill,
    LeaveProcess,
    Pause,
    ReadInput,
    Write,
    WriteError,
)
from .engine import Refused
from .introduction import init_message
from .model_output import api_message, bare_result
from .scheduler import Wait

if TYPE_CHECKING:
    from .engine import Engine


class Fault(msgspec.Struct, kw_only=True, eq=False, dict=True):
    """Something that goes wrong. Derive from it, or from a class in `faults`, to make another.

    A fault receives each action of the CLI and returns its replacements. Faults act one after the
    other in the given order, except that faults which cut up bytes act last. A frame is one line
    that the CLI, or a previous fault, writes; each fault counts frames separately.

    Each engine works on copies, so several engines can share one fault object.

    Attributes:
        at: the frame at which it happens, counted from 1; 0 for the start of the process.
    """

    order: ClassVar[int] = 0
    """When it acts: 0 for faults that need whole frames, 1 for faults that cut them up."""
    at: int = 1

    def attach(self, engine: Engine) -> None:
        """Prepare to act on an engine."""
        self._engine = engine
        self._frames = 0

    def start(self) -> list[Action]:
        """Return the actions at the start of the process."""
        return []

    def change(self, action: Action) -> list[Action]:
        """Count the frames, and return the replacements of an action."""
        if not isinstance(action, Write):
            return [action]
        self._frames += 1
        return self.alter(action.data) if self.applies else [action]

    @property
    def applies(self) -> bool:
        """Whether the last counted frame is affected."""
        return self._frames >= self.at

    def alter(self, frame: bytes) -> list[Action]:
        """Return the actions in place of writing a frame."""
        return [Write(frame)]


class FromFrame(Fault):
    """Something that happens to every frame from one on."""


class AtFrame(Fault):
    """Something that happens once: before a frame, to it, or in its place."""

    @property
    def applies(self) -> bool:
        return self._frames == self.at

    def start(self) -> list[Action]:
        early = self.alter(b"") if self.at == 0 else []
        return [action for action in early if action != Write(b"")]


# --- damaged, slow or missing output --------------------------------------------------------------

GARBAGE = (b"Debugger listening on ws://127.0.0.1:9229", b"\xff\xfe\x00 not UTF-8", b"{not JSON}")
"""Typical garbage on stdout: runtime messages, bytes that are not text, almost JSON."""

FLOOD = b"claudewire-sim: a flood on stderr, because a fault says so\n"


class _Cutter(FromFrame):
    """Writes each frame in several pieces."""

    order = 1

    def alter(self, frame: bytes) -> list[Action]:
        inside = sorted({cut for cut in self.cuts(frame) if 0 < cut < len(frame)})
        return [Write(frame[a:b]) for a, b in pairwise([0, *inside, len(frame)])]

    def cuts(self, frame: bytes) -> Iterable[int]:
        """Return the positions at which to cut a frame."""
        raise NotImplementedError


class Split(_Cutter, tag="split"):
    """Each frame is written in several pieces: finds code that takes a piece for a line.

    In memory each piece is received separately. From a pipe several may be read together; a
    `SlowOutput` after this one keeps them apart.

    Attributes:
        positions: the bytes before which to cut; negative from the end, so -1 splits off the
            newline.
    """

    positions: tuple[int, ...] = (1,)

    def cuts(self, frame: bytes) -> Iterable[int]:
        return (cut % len(frame) for cut in self.positions if abs(cut) < len(frame))


class SplitEveryByte(_Cutter, tag="split-every-byte"):
    """Each byte is written separately: finds wrong assumptions about the size of a read."""

    def cuts(self, frame: bytes) -> Iterable[int]:
        return range(1, len(frame))


class SplitUTF8(_Cutter, tag="split-utf8"):
    """Frames are cut inside multi-byte characters: finds code that decodes pieces."""

    def cuts(self, frame: bytes) -> Iterable[int]:
        return (index for index, byte in enumerate(frame) if byte & 0xC0 == 0x80)


class SlowOutput(FromFrame, tag="slow"):
    """There is a pause before each write: finds timeouts that are too short, or block others.

    After a `Split` it is slow within a line, too.
    """

    order = 1
    seconds: float = 0.1

    def alter(self, frame: bytes) -> list[Action]:
        return [Pause(self.seconds), Write(frame)]


class LongLine(AtFrame, tag="long-line"):
    """A frame is very long, through an unknown field: finds size limits and quadratic time."""

    megabytes: float = 5

    def alter(self, frame: bytes) -> list[Action]:
        return [Write(_with_field(frame, "padding", "x" * int(self.megabytes * 1_000_000)))]


class UnknownField(AtFrame, tag="unknown-field"):
    """A frame has an unknown field: finds code that rejects new fields."""

    def alter(self, frame: bytes) -> list[Action]:
        return [Write(_with_field(frame, "field_from_the_future", "42"))]


def _with_field(frame: bytes, name: str, text: str) -> bytes:
    """Add a field to a frame that is an object, and keep all other bytes."""
    body, end = frame[:-2], frame[-2:]
    return body + f',"{name}":"{text}"}}\n'.encode() if end == b"}\n" else frame


class Garbage(AtFrame, tag="garbage"):
    """Lines that are not JSON come before a frame: finds code that fails on one bad line."""

    lines: tuple[bytes, ...] = GARBAGE

    def alter(self, frame: bytes) -> list[Action]:
        return [*(Write(line + b"\n") for line in self.lines), Write(frame)]


class HalfLine(AtFrame, tag="half-line"):
    """A frame is cut in half: finds code that takes half a line for a whole, or waits for more.

    Attributes:
        status: None if the newline and the next frames follow. Otherwise the CLI dies in the middle
            of the line: the exit status, or the negative number of a signal.
    """

    status: int | None = None

    def alter(self, frame: bytes) -> list[Action]:
        half = frame[: len(frame) // 2]
        if self.status is None:
            return [Write(half + b"\n")]
        return [Write(half), Kill(-self.status) if self.status < 0 else Exit(self.status)]


class Silence(FromFrame, tag="silence"):
    """The CLI writes nothing more, but lives on: finds code that waits without a timeout.

    It still reads its stdin, but does not exit at its end.
    """

    def change(self, action: Action) -> list[Action]:
        done = super().change(action)
        return [] if self.applies and isinstance(action, Write | WriteError | Exit) else done


class StderrFlood(AtFrame, tag="stderr-flood"):
    """The CLI writes a lot to stderr: finds code that does not read it, so that the CLI blocks."""

    size: int = 1_000_000

    def alter(self, frame: bytes) -> list[Action]:
        text = FLOOD * (self.size // len(FLOOD) + 1)
        return [WriteError(text[: self.size - 1] + b"\n"), Write(frame)]


# --- the process ----------------------------------------------------------------------------------


class ExitWith(AtFrame, tag="exit"):
    """The CLI exits in place of a frame: finds code that waits for an answer forever."""

    status: int = 1

    def alter(self, frame: bytes) -> list[Action]:
        return [Exit(self.status)]


class KilledBy(AtFrame, tag="kill"):
    """A signal ends the CLI in place of a frame, as the OOM killer (9) or a crash (11) does."""

    signal: int = 9

    def __post_init__(self) -> None:
        if self.signal not in valid_signals():
            raise ValueError(f"there is no signal {self.signal}")

    def alter(self, frame: bytes) -> list[Action]:
        return [Kill(self.signal)]


class EOFWithoutExit(FromFrame, tag="eof-without-exit"):
    """Stdout closes in place of a frame, but the CLI lives on: finds code that waits for its exit.

    It still reads its stdin, but does not exit at its end.
    """

    def start(self) -> list[Action]:
        return [CloseOutput()] if self.applies else []

    def change(self, action: Action) -> list[Action]:
        done = super().change(action)
        return [] if self.applies and isinstance(action, Exit) else done

    def alter(self, frame: bytes) -> list[Action]:
        return [CloseOutput()] if self._frames == self.at else []


class IgnoreSIGTERM(AtFrame, tag="ignore-sigterm", kw_only=True):
    """SIGTERM has no effect: finds code that never escalates. In memory there are no signals."""

    at: int = 0

    def alter(self, frame: bytes) -> list[Action]:
        return [IgnoreTermination(), Write(frame)]


class Grandchild(AtFrame, tag="grandchild"):
    """A process keeps stdout open after the CLI's exit: finds code that reads on forever.

    Its process id is written to stderr: `claudewire-sim: grandchild 1234`. In memory there is no
    such process, but stdout stays open as long.
    """

    seconds: float = 60

    def alter(self, frame: bytes) -> list[Action]:
        return [LeaveProcess(self.seconds, detached=False), Write(frame)]


class LeftoverShell(AtFrame, tag="leftover-shell"):
    """A tool's shell, in a separate session, outlives the CLI: finds code that ends only its group.

    Real CLIs leave them when they are killed. Its process id is written to stderr:
    `claudewire-sim: shell 1234`. In memory there is no such process.
    """

    seconds: float = 60

    def alter(self, frame: bytes) -> list[Action]:
        return [LeaveProcess(self.seconds, detached=True), Write(frame)]


class NotReading(AtFrame, tag="not-reading"):
    """Stdin is not read, so that the pipe fills up: finds writes that block everything else.

    Attributes:
        seconds: for how long; None for ever.
    """

    seconds: float | None = None

    def alter(self, frame: bytes) -> list[Action]:
        if self.seconds is not None:
            self._engine.spawn(self._go_on(self.seconds))
        return [ReadInput(False), Write(frame)]

    async def _go_on(self, seconds: float) -> None:
        await Wait(seconds=seconds)
        self._engine.act(ReadInput(True), after=self)


class ClockJump(FromFrame, tag="clock-jump"):
    """The CLI's clock jumps ahead or back: finds code that trusts its times and durations."""

    seconds: float = 3600

    def attach(self, engine: Engine) -> None:
        super().attach(engine)
        clock = engine.clock
        engine.clock = lambda: clock() + (self.seconds if self.applies else 0)


# --- unusual answers, requests and turns ----------------------------------------------------------


class _Line(msgspec.Struct):
    """The part of a line that a fault needs to know."""

    type: str = ""


def _type(frame: bytes) -> str:
    try:
        return msgspec.json.decode(frame, type=_Line).type
    except ValueError:  # a previous fault has damaged it
        return ""


def _is_answer(frame: bytes) -> bool:
    return _type(frame) == "control_response"


class LateAnswers(FromFrame, tag="late-answers"):
    """Answers come late, after newer frames: finds code that takes the next frame for the answer.

    Answers that are still held back when the CLI exits are written just before.

    Attributes:
        frames: how many other frames go first.
        seconds: how long each answer waits instead of counting frames.
    """

    frames: int = 1
    seconds: float | None = None

    def attach(self, engine: Engine) -> None:
        super().attach(engine)
        self._held: list[list[Any]] = []

    def change(self, action: Action) -> list[Action]:
        if isinstance(action, Exit):
            return [*(held for _, held in self._held), action]
        return super().change(action)

    def alter(self, frame: bytes) -> list[Action]:
        if not _is_answer(frame):
            for entry in self._held if self.seconds is None else ():
                entry[0] -= 1
            due = [held for left, held in self._held if left <= 0]
            self._held = [entry for entry in self._held if entry[0] > 0]
            return [Write(frame), *due]
        entry = [self.frames, Write(frame)]
        self._held.append(entry)
        if self.seconds is not None:
            self._engine.spawn(self._wait(entry, self.seconds))
        return []

    async def _wait(self, entry: list[Any], seconds: float) -> None:
        await Wait(seconds=seconds)
        self._held.remove(entry)
        self._engine.act(entry[1], after=self)


class DuplicateAnswers(FromFrame, tag="duplicate-answers"):
    """Each answer comes twice: finds code that trips over an answer without a request."""

    def alter(self, frame: bytes) -> list[Action]:
        return [Write(frame)] * (2 if _is_answer(frame) else 1)


class MissingAnswers(FromFrame, tag="missing-answers"):
    """No request is answered: finds requests without a timeout."""

    def alter(self, frame: bytes) -> list[Action]:
        return [] if _is_answer(frame) else [Write(frame)]


class UnknownAnswers(AtFrame, tag="unknown-answers"):
    """An answer to no request comes before a frame: finds code that accepts it."""

    def alter(self, frame: bytes) -> list[Action]:
        answer = wire.Response(response=wire.SuccessResponse("nobody-asked-this", {}))
        dialect = self._engine.connection.dialect
        return [
            Write(wire.codec.encode(answer, dialect, wire.WriteContext(wire.Role.CLI))),
            Write(frame),
        ]


class WithdrawnRequest(AtFrame, tag="withdrawn-request"):
    """The CLI withdraws a request right after making it: finds code that still asks a person.

    The request counts as refused, and an answer to it is ignored.

    Attributes:
        at: the number of the request.
    """

    def change(self, action: Action) -> list[Action]:
        if isinstance(action, Write) and _type(action.data) not in wire.REQUEST_TYPES:
            return [action]
        return super().change(action)

    def alter(self, frame: bytes) -> list[Action]:
        self._engine.defer(partial(self._withdraw, frame))
        return [Write(frame)]

    def _withdraw(self, frame: bytes) -> None:
        for id in [id for id in self._engine.connection.asked if id.encode() in frame]:
            self._engine.settle(id, Refused("The request was withdrawn"))


class UnsolicitedTurn(AtFrame, tag="unsolicited-turn"):
    """A whole turn without a prompt comes before a frame: finds code that takes it for its own."""

    def alter(self, frame: bytes) -> list[Action]:
        session, behavior = self._engine.session, self._engine.behavior
        words = "A background task has ended."
        stop_reason = None if behavior.has_results else "end_turn"
        message = api_message(session.model, [wire.TextBlock(words)], stop_reason=stop_reason)
        result = {"subtype": "success", "is_error": False, "result": words}
        origin = wire.TaskNotificationOrigin()
        events: list[wire.Event] = [
            init_message(session),
            wire.AssistantMessage(message=message, **session.stamp()),
            bare_result(session, **result, terminal_reason="completed", origin=origin),
        ]
        sent = (self._engine.connection.send(it) for it in events if behavior.has(it))
        return [*map(Write, sent), Write(frame)]


class ResultWithoutTurn(AtFrame, tag="result-without-turn"):
    """A result without a turn comes before a frame, as when a resume fails: finds miscounts."""

    def alter(self, frame: bytes) -> list[Action]:
        result = bare_result(self._engine.session, errors=["A result without a turn"])
        return [Write(self._engine.connection.send(result)), Write(frame)]


class UnknownMessage(AtFrame, tag="unknown-message"):
    """A message of an unknown type comes before a frame: finds code that rejects new types."""

    def alter(self, frame: bytes) -> list[Action]:
        message = {"type": "type_from_the_future", "payload": {"deep": [1, "two", None]}}
        stamp = self._engine.session.stamp()
        return [Write(msgspec.json.encode({**message, **stamp}) + b"\n"), Write(frame)]


class UnknownBlock(FromFrame, tag="unknown-block"):
    """A message of the assistant ends with an unknown block: finds code that loses the rest.

    Attributes:
        at: it is the first message of the assistant from this frame on.
    """

    def attach(self, engine: Engine) -> None:
        super().attach(engine)
        self._done = False

    def alter(self, frame: bytes) -> list[Action]:
        if not self._done and _type(frame) == "assistant":
            line = msgspec.json.decode(frame)
            content = line.get("message", {}).get("content")
            if isinstance(content, list):
                content.append({"type": "block_from_the_future", "payload": 42})
                self._done = True
                frame = msgspec.json.encode(line) + b"\n"
        return [Write(frame)]


# --- by name --------------------------------------------------------------------------------------


def _named(kind: type[Fault]) -> Iterator[tuple[str, type[Fault]]]:
    if (name := kind.__struct_config__.tag) is not None:
        yield str(name), kind
    for child in kind.__subclasses__():
        yield from _named(child)


FAULTS = dict(sorted(_named(Fault)))
"""All faults by the names that `parse_faults` knows."""

_ITEM = re.compile(r"\s*(?P<name>[\w-]+)\s*(?:\((?P<given>[^()]*)\))?\s*(?:@\s*(?P<at>\d+))?\s*")


def parse_faults(text: str) -> tuple[Fault, ...]:
    """Parse a list of faults: `name`, `name(argument)`, `name(key=argument)@frame`.

    The names are those of `FAULTS`; arguments are numbers in the order of the class.

    Raises:
        ValueError: the list is invalid; the message says where, and which faults exist.
    """
    return tuple(map(_make, re.split(r",(?![^(]*\))", text))) if text.strip() else ()


def _make(text: str) -> Fault:
    item = _ITEM.fullmatch(text)
    if item is None:
        raise ValueError(
            f"Cannot read the fault {text!r}: faults look like 'name, name(1)@2, name(key=1)'"
        )
    if item["name"] not in FAULTS:
        raise ValueError(f"Unknown fault {item['name']!r}; the faults are {', '.join(FAULTS)}")
    named: dict[str, Any] = {} if item["at"] is None else {"at": int(item["at"])}
    try:
        call = ast.parse(f"fault({item['given'] or ''})", mode="eval").body
        assert isinstance(call, ast.Call)
        positional = [ast.literal_eval(it) for it in call.args]
        named |= {str(it.arg): ast.literal_eval(it.value) for it in call.keywords}
        if item["name"] == "split" and positional:
            positional = [tuple(positional)]
        return FAULTS[item["name"]](*positional, **named)
    except (SyntaxError, TypeError, ValueError) as error:
        raise ValueError(f"Invalid fault {text.strip()!r}: {error}") from None
