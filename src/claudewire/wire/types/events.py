"""Events that are not messages: what a peer should not have sent, and the end."""

from __future__ import annotations

from .base import Event
from .control import Request

__all__ = ["EndOfStream", "Malformed", "Noise", "Stray"]


class Noise(Event):
    """A line that is not JSON."""

    head: bytes
    length: int
    reason: str


class Malformed(Event):
    """JSON that cannot be what it says it is. `path` leads to the first problem."""

    head: bytes
    length: int
    reason: str
    path: str = "$"


class Stray(Event):
    """A well-formed event that has no place here: it answers nothing, or came out of turn."""

    event: Event
    reason: str


class EndOfStream(Event):
    """The peer will send nothing more. `unanswered` are our requests that it leaves open."""

    unanswered: tuple[Request, ...] = ()
