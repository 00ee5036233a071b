"""What a link, its owner and whoever serves for the owner expect of each other."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

import anyio
import anyio.abc

from ..concurrency import Signal
from ..errors import Evidence, RequestError, TransportClosed, UnsupportedRequest
from ..wire import Answer, Event, Failure, Request

__all__ = ["Company", "Grace", "Owner", "Question", "Services", "body_of"]

UNSUPPORTED = "unsupported_request"
"""The CLI's code for a request that it does not know."""


class Services(Protocol):
    """Whoever answers what the CLI asks."""

    async def serve(self, request: Request) -> Any:
        """Give the body of the answer. Cancelled when the CLI withdraws the request."""

    def refusal(self, request: Request, reason: str | None = None) -> Answer | Failure:
        """Say no, because nobody can be asked any more."""


class Owner(Protocol):
    """Whoever a link belongs to. Only `serve` may wait."""

    def received(self, event: Event) -> None:
        """A message came, or one of the events that are none."""

    async def serve(self, request: Request) -> Any:
        """Answer a request of the CLI. Cancelled when the CLI withdraws it."""

    def refusal(self, request: Request, reason: str | None = None) -> Answer | Failure:
        """Say no to a request that nobody serves any more; or give what was decided just then."""

    def heard(self, stderr: str) -> None:
        """The CLI wrote to stderr."""

    def ended(self) -> None:
        """All has come that will come, and the process is gone."""


@dataclass(frozen=True, slots=True)
class Grace:
    """How long each step of an end may take, in seconds.

    Attributes:
        exit: from the end of our input, or of its output, to the exit of the process.
        drain: from its exit to the end of its output.
        rest: without a byte of what was left when it was closed, which is there already.
    """

    exit: float = 5.0
    drain: float = 2.0
    rest: float = 1.0


class Company:
    """The tasks of a link. What an application does in them may not stop when it is told to.

    Args:
        tasks: the group that they are in.
    """

    def __init__(self, tasks: anyio.abc.TaskGroup) -> None:
        self._tasks = tasks
        self._count = 0
        self._changed = Signal()

    @property
    def is_dismissed(self) -> bool:
        """Whether all of them were told to stop."""
        return self._tasks.cancel_scope.cancel_called

    def start_soon(self, function: Callable[..., Coroutine[Any, Any, None]], *given: Any) -> None:
        """Start one more."""
        self._count += 1
        self._tasks.start_soon(self._run, function, *given)

    async def _run(self, function: Callable[..., Coroutine[Any, Any, None]], *given: Any) -> None:
        try:
            await function(*given)
        finally:
            self._count -= 1
            self._changed.notify()

    async def dismiss(self, patience: float) -> bool:
        """Tell all of them to stop, and wait so many seconds; say whether they have."""
        self._tasks.cancel_scope.cancel()
        with anyio.move_on_after(patience, shield=True):
            await self._changed.until(lambda: not self._count)
        return not self._count


class Question:
    """A request of ours that waits for its answer; None if there will be none."""

    __slots__ = ("answer", "settled")

    def __init__(self) -> None:
        self.settled: anyio.Event = anyio.Event()
        self.answer: Answer | Failure | None = None

    def settle(self, answer: Answer | Failure | None) -> None:
        """Let whoever waits go on."""
        self.answer = answer
        self.settled.set()


def body_of(answer: Answer | Failure | None, name: str, evidence: Callable[[], Evidence]) -> Any:
    """Give what was asked for.

    Raises:
        UnsupportedRequest: the CLI does not know the request.
        RequestError: it refused.
        TransportClosed: it has gone without an answer.
    """
    if isinstance(answer, Answer):
        return answer.body
    if answer is None:
        raise TransportClosed(f"The CLI has gone without an answer to {name!r}")
    is_unknown = answer.code == UNSUPPORTED or answer.error.startswith("Unsupported control")
    kind = UnsupportedRequest if is_unknown else RequestError
    text = f"This CLI does not know {name!r}" if is_unknown else f"The CLI refused {name!r}"
    raise kind(f"{text}: {answer.error}", request=name, code=answer.code, evidence=evidence())
