"""What a fault is: something between a simulated CLI and the world that changes what it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from ..actions import Action, Write

if TYPE_CHECKING:
    from ..engine import Engine

__all__ = ["AtFrame", "Fault", "FromFrame", "check_seconds"]


def check_seconds(seconds: float | None) -> None:
    """See that this is a time to wait for; None is for ever.

    Raises:
        ValueError: it is not.
    """
    if seconds is not None and not 0 <= seconds < float("inf"):
        raise ValueError(f"seconds must be a finite number from 0 on, not {seconds}")


class Fault:
    """Something that goes wrong. Derive from it, or from what is below, to make another.

    A fault sees each action of the CLI and says what happens instead. Faults act one after the
    other, in the order given, but those that cut up bytes act last. A frame is one line that the
    CLI writes, or that a fault before this one has written for it; each fault counts for itself.

    Each engine works with copies of its own, so a fault may be given to many.

    Args:
        at: at which frame it happens, counted from 1; 0 for the start of the process.
    """

    order: ClassVar[int] = 0
    """When it acts: 0 for faults that want whole frames, 1 for those that cut them up."""

    def __init__(self, at: int = 1) -> None:
        self.at = at
        self._frames = 0

    def __repr__(self) -> str:
        shown = [f"{key}={value!r}" for key, value in vars(self).items() if key[0] != "_"]
        return f"{type(self).__name__}({', '.join(shown)})"

    def attach(self, engine: Engine) -> None:
        """Learn whose fault it is."""
        self._engine = engine

    def clock(self, clock: Callable[[], float]) -> Callable[[], float]:
        """The clock that the CLI sees instead."""
        return clock

    def start(self) -> list[Action]:
        """What happens when the process starts."""
        return []

    def change(self, action: Action) -> list[Action]:
        """What happens instead of an action."""
        return [action]

    def count(self, action: Action) -> int:
        """The number of the frame that this action writes; 0 if it does something else."""
        if not isinstance(action, Write):
            return 0
        self._frames += 1
        return self._frames


class AtFrame(Fault):
    """Something that happens once: just before a frame, to it, or in its place."""

    def start(self) -> list[Action]:
        """Let it happen now, if it does not wait for a frame."""
        return self.happen() if self.at == 0 else []

    def change(self, action: Action) -> list[Action]:
        """Wait for the frame."""
        if isinstance(action, Write) and self.count(action) == self.at:
            return [*self.happen(), *self.alter(action.data)]
        return [action]

    def happen(self) -> list[Action]:
        """What happens before the frame."""
        return []

    def alter(self, frame: bytes) -> list[Action]:
        """What becomes of the frame."""
        return [Write(frame)]


class FromFrame(Fault):
    """Something that happens to every frame from one on."""

    @property
    def reached(self) -> bool:
        """Whether it has come so far."""
        return self._frames >= self.at

    def change(self, action: Action) -> list[Action]:
        """Count, and change what comes from then on."""
        self.count(action)
        return self.alter(action.data) if isinstance(action, Write) and self.reached else [action]

    def alter(self, frame: bytes) -> list[Action]:
        """What becomes of a frame."""
        return [Write(frame)]
