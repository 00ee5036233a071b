"""What a coroutine of the simulated CLI can wait for, and what can come of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any

__all__ = ["Died", "Interrupted", "Refused", "StreamClosed", "Task", "TimedOut", "Wait"]


class Interrupted(BaseException):
    """The turn was interrupted. It passes through a scenario, which may clean up but not go on."""


class Died(GeneratorExit):
    """A fault has ended the process: nothing that comes after this point is done any more.

    A coroutine that is thrown away after that may end with it too, and nobody need hear of it.
    """


class StreamClosed(Exception):
    """Nobody will answer: stdin has ended."""


class TimedOut(Exception):
    """The answer did not come in time."""


class Refused(Exception):
    """The SDK answered with an error, or cannot answer because the request was taken back."""


class Wait:
    """Something that a coroutine of the engine waits for: an answer, and perhaps only so long."""

    __slots__ = ("key", "seconds")

    def __init__(self, key: str | None = None, seconds: float | None = None) -> None:
        self.key: str | None = key
        self.seconds: float | None = seconds

    def __await__(self) -> Generator[Wait, Any, Any]:
        return (yield self)


class Task:
    """A coroutine that is under way, and what it waits for."""

    __slots__ = ("coroutine", "deadline", "then", "wait")

    def __init__(self, coroutine: Coroutine[Wait, Any, None], then: Callable[[], None]) -> None:
        self.coroutine: Coroutine[Wait, Any, None] = coroutine
        self.then: Callable[[], None] = then
        self.wait: Wait | None = None
        self.deadline: float | None = None
