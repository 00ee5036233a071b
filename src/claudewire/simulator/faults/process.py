"""Faults of a CLI as a process: how it dies or does not, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from signal import valid_signals

from ..actions import (
    Action,
    CloseOutput,
    Exit,
    IgnoreTermination,
    Kill,
    LeaveGrandchild,
    ResumeInput,
    StopInput,
)
from ..waiting import Wait
from .base import AtFrame, Fault, FromFrame, check_seconds

__all__ = [
    "ClockJump",
    "EOFWithoutExit",
    "ExitWith",
    "Grandchild",
    "IgnoreSIGTERM",
    "KilledBy",
    "NotReading",
]


class ExitWith(AtFrame):
    """The CLI exits in place of a frame: shows who waits for what will never come."""

    def __init__(self, status: int = 1, at: int = 1) -> None:
        super().__init__(at)
        self.status = status

    def happen(self) -> list[Action]:
        """Exit."""
        return [Exit(self.status)]

    def alter(self, frame: bytes) -> list[Action]:
        """Write nothing: it is too late."""
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
        """Write nothing: it is too late."""
        return []


class EOFWithoutExit(FromFrame):
    """Stdout is closed in place of a frame and the process lives on: shows who waits for its exit.

    It still reads its stdin, but does not exit at its end.
    """

    def __init__(self, at: int = 1) -> None:
        super().__init__(at)
        self._closed = False

    def start(self) -> list[Action]:
        """Close it at once, if so wished."""
        return self._close() if self.reached else []

    def change(self, action: Action) -> list[Action]:
        """Close it in time, and drop what comes after."""
        done = super().change(action)
        return [] if self.reached and isinstance(action, Exit) else done

    def alter(self, frame: bytes) -> list[Action]:
        """Close it instead of writing."""
        return self._close()

    def _close(self) -> list[Action]:
        closed, self._closed = self._closed, True
        return [] if closed else [CloseOutput()]


class IgnoreSIGTERM(AtFrame):
    """SIGTERM does nothing: shows who has no stronger means. There are no signals in memory."""

    def __init__(self, at: int = 0) -> None:
        super().__init__(at)

    def happen(self) -> list[Action]:
        """Ignore it from now on."""
        return [IgnoreTermination()]


class Grandchild(AtFrame):
    """A process holds stdout when the CLI has gone: shows who reads to the end without a limit.

    Its id is told on stderr: `claudewire-sim: grandchild 1234`. In memory there is no such
    process, but stdout stays open as long.

    Args:
        seconds: how long it lives.
        at: before which frame it is started.
    """

    def __init__(self, seconds: float = 60, at: int = 1) -> None:
        super().__init__(at)
        check_seconds(seconds)
        self.seconds = seconds

    def happen(self) -> list[Action]:
        """Start it."""
        return [LeaveGrandchild(self.seconds)]


class NotReading(AtFrame):
    """Stdin is not read, so that it fills up: shows whose writing blocks everything else.

    Args:
        seconds: for how long; None for ever.
        at: before which frame it begins; 0 for the start of the process.
    """

    def __init__(self, seconds: float | None = None, at: int = 1) -> None:
        super().__init__(at)
        check_seconds(seconds)
        self.seconds = seconds

    def happen(self) -> list[Action]:
        """Stop, and perhaps set an alarm."""
        if self.seconds is not None:
            self._engine.spawn(self._go_on(self.seconds))
        return [StopInput()]

    async def _go_on(self, seconds: float) -> None:
        await Wait(seconds=seconds)
        self._engine.act(ResumeInput(), after=self)


class ClockJump(Fault):
    """The clock of the CLI jumps, ahead or back: shows who trusts its times and durations.

    What the CLI itself waits for is not affected.
    """

    def __init__(self, seconds: float = 3600, at: int = 1) -> None:
        super().__init__(at)
        self.seconds = seconds

    def clock(self, clock: Callable[[], float]) -> Callable[[], float]:
        """The clock with the jump."""
        return lambda: clock() + (self.seconds if self._frames >= self.at else 0)

    def change(self, action: Action) -> list[Action]:
        """Jump in time."""
        self.count(action)
        return [action]
