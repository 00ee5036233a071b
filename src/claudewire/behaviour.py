"""How a session behaves on our side of the pipe: bounds, limits, and who is asked."""

from __future__ import annotations

from dataclasses import dataclass, fields

from .errors import OptionsError

__all__ = ["Timeouts"]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long things may take, in seconds. There is no call without a bound.

    Attributes:
        start: from the start of the CLI to its first answer.
        request: for the CLI to answer a request, unless the call says otherwise.
        interrupt: for a turn to stop.
        exit: for the CLI to exit by itself, after its input or its output has ended.
        terminate: to exit after SIGTERM, before it is killed.
        kill: for a killed process to be gone.
        drain: for the rest of its output, when it has exited.
    """

    start: float = 60.0
    request: float = 60.0
    interrupt: float = 30.0
    exit: float = 5.0
    terminate: float = 5.0
    kill: float = 5.0
    drain: float = 2.0

    def __post_init__(self) -> None:
        for field in fields(self):
            seconds = getattr(self, field.name)
            if not seconds > 0:
                raise OptionsError(f"timeouts.{field.name} has to be more than 0, not {seconds!r}")
