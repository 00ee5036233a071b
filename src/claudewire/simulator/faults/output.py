"""Faults of what a CLI writes: cut, long, spoilt, slow or missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from ..actions import Action, Exit, Kill, Pause, Write, WriteError
from .base import AtFrame, Fault, FromFrame, check_seconds

__all__ = [
    "Garbage",
    "HalfLine",
    "LongLine",
    "Silence",
    "SlowOutput",
    "Split",
    "SplitEveryByte",
    "SplitUTF8",
    "StderrFlood",
    "UnknownField",
    "with_field",
]

GARBAGE = (b"Debugger listening on ws://127.0.0.1:9229", b"\xff\xfe\x00 not UTF-8", b"{not JSON}")
"""What is found on stdouts: what a runtime says, what is no text, what only looks like JSON."""

FLOOD = b"claudewire-sim: a flood on stderr, because a fault says so\n"


class Split(FromFrame):
    """Each frame is written in several pieces: shows who takes a piece for a line.

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
    """Each byte is written by itself: shows any wrong assumption about what a read gives."""

    def __init__(self, at: int = 1) -> None:
        super().__init__(at=at)

    def cuts(self, frame: bytes) -> Iterable[int]:
        """Cut everywhere."""
        return range(1, len(frame))


class SplitUTF8(Split):
    """Frames are cut inside each character that takes several bytes: shows who decodes pieces."""

    def __init__(self, at: int = 1) -> None:
        super().__init__(at=at)

    def cuts(self, frame: bytes) -> Iterable[int]:
        """Cut before each byte that continues a character."""
        return (index for index, byte in enumerate(frame) if byte & 0xC0 == 0x80)


class SlowOutput(Fault):
    """There is a pause before each write: shows waiting that is too short, or blocks others.

    With a `Split` before it, it is slow within a line too.
    """

    order = 1

    def __init__(self, seconds: float = 0.1, at: int = 1) -> None:
        super().__init__(at)
        check_seconds(seconds)
        self.seconds = seconds

    def change(self, action: Action) -> list[Action]:
        """Put a pause before the write."""
        slow = self.count(action) >= self.at and isinstance(action, Write)
        return [Pause(self.seconds), action] if slow else [action]


class LongLine(AtFrame):
    """A frame is very long, by an unknown field: shows limits, and time that grows too fast."""

    def __init__(self, megabytes: float = 5, at: int = 1) -> None:
        super().__init__(at)
        self.megabytes = megabytes

    def alter(self, frame: bytes) -> list[Action]:
        """Pad it."""
        return [Write(with_field(frame, "padding", "x" * int(self.megabytes * 1_000_000)))]


class UnknownField(AtFrame):
    """A frame has a field that nobody knows: shows who refuses what is new."""

    def alter(self, frame: bytes) -> list[Action]:
        """Add the field."""
        return [Write(with_field(frame, "field_from_the_future", "42"))]


class Garbage(AtFrame):
    """Lines that are not JSON come before a frame: shows who dies of one bad line."""

    def __init__(self, lines: Sequence[bytes] = GARBAGE, at: int = 1) -> None:
        super().__init__(at)
        self.lines: tuple[bytes, ...] = tuple(lines)

    def happen(self) -> list[Action]:
        """Write the lines."""
        return [Write(line + b"\n") for line in self.lines]


class HalfLine(AtFrame):
    """A frame is cut in half: shows who takes a half for a whole, or waits for the rest.

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
    """Nothing is written any more, and the process lives on: shows who waits without a limit.

    It still reads its stdin, but does not exit at its end.
    """

    def change(self, action: Action) -> list[Action]:
        """Drop all signs of life."""
        done = super().change(action)
        return [] if self.reached and isinstance(action, Write | WriteError | Exit) else done


class StderrFlood(AtFrame):
    """Much is written to stderr: who does not read it has a CLI that hangs on a full pipe."""

    def __init__(self, size: int = 1_000_000, at: int = 1) -> None:
        super().__init__(at)
        self.size = size

    def happen(self) -> list[Action]:
        """Write it in one go."""
        text = FLOOD * (self.size // len(FLOOD) + 1)
        return [WriteError(text[: self.size - 1] + b"\n")]


def with_field(frame: bytes, name: str, text: str) -> bytes:
    """Add a field to a frame, if it is an object; the rest stays as it is, byte for byte."""
    body, end = frame[:-2], frame[-2:]
    return body + f',"{name}":"{text}"}}\n'.encode() if end == b"}\n" else frame
