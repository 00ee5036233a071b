"""Everything that waits for a person, in one place.

    inbox = Inbox()
    for request in inbox.pending:            # what waits now, the oldest first
        print(request.id, request.title)
    inbox.get(id).allow()                    # from any task or thread; the first answer wins

    with inbox.changes() as changes:         # what waits now, and all that happens from now on
        async for change in changes:
            show(change.what, change.request)

One inbox can serve any number of sessions, and it outlives every window that shows it: whoever
comes back finds what still waits.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

import anyio

from ..concurrency import Mailbox, MailboxClosed
from .pending import Clock, Pending

__all__ = ["Change", "Changes", "Inbox"]

logger: logging.Logger = logging.getLogger("claudewire.people")

AnswerT = TypeVar("AnswerT")

WITHDRAWN = "the request was withdrawn before anybody decided"


@dataclass(frozen=True, slots=True)
class Change:
    """Something happened to a request.

    Attributes:
        what: added, answered, withdrawn or expired.
        request: the request.
    """

    what: str
    request: Pending[Any]


@dataclass(slots=True, eq=False)
class _Subscriber:
    """Who is told of changes, until told no more."""

    tell: Callable[[Change], object]
    active: bool = True


class Inbox:
    """The requests that wait for a person. All methods may be called from any thread.

    Args:
        clock: where the time comes from.
    """

    def __init__(self, *, clock: Clock | None = None) -> None:
        self.clock: Clock = clock or Clock()
        self._lock = threading.Lock()
        self._waiting: dict[str, Pending[Any]] = {}
        self._subscribers: list[_Subscriber] = []
        self._undelivered: deque[tuple[tuple[_Subscriber, ...], Change]] = deque()
        self._delivering = threading.Lock()

    # --- looking ---------------------------------------------------------------------------------

    @property
    def pending(self) -> tuple[Pending[Any], ...]:
        """What waits now, the oldest first."""
        with self._lock:
            return tuple(self._waiting.values())

    def get(self, id: str) -> Pending[Any] | None:
        """Find a request that waits; None if it does not wait any more."""
        with self._lock:
            return self._waiting.get(id)

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Pending[Any]]:
        return iter(self.pending)

    def __contains__(self, id: object) -> bool:
        with self._lock:
            return id in self._waiting

    def __bool__(self) -> bool:
        return True  # an empty inbox is an inbox

    # --- deciding --------------------------------------------------------------------------------

    def answer(self, id: str, answer: object, *, by: str = "") -> bool:
        """Answer a request with a finished answer, such as `request.allow()` gives.

        Returns:
            whether this answer is the one that counts. It is not if somebody was faster, or if
            the request does not wait any more.

        Raises:
            TypeError: it is no answer to this request.
        """
        request = self.get(id)
        return request is not None and request.resolve(answer, by=by)

    def act(self, id: str, action: str, arguments: Mapping[str, Any], *, by: str = "") -> bool:
        """Answer a request by the name of an action and its arguments, as a remote peer does.

        Returns:
            whether this answer is the one that counts.

        Raises:
            AnswerError: it does not fit what was asked; the request still waits.
        """
        request = self.get(id)
        if request is None:
            return False
        with request.being_decided():  # so that it is known who has decided
            answer = request.act(action, arguments)
        return request.resolve(answer, by=by)

    def withdraw(self, id: str, reason: str = WITHDRAWN) -> bool:
        """Take a request back: nobody wants the answer any more."""
        request = self.get(id)
        return request is not None and request.withdraw(reason)

    def withdraw_session(self, session: str, reason: str) -> int:
        """Take back all that a session asks, because its turn or the session itself has ended."""
        mine = [request for request in self.pending if request.session == session]
        return sum([request.withdraw(reason) for request in mine])

    async def ask(self, request: Pending[AnswerT], *, deadline: float | None = None) -> AnswerT:
        """Put a request and wait until it has ended.

        Args:
            request: what is asked.
            deadline: after how many seconds the answer is no; None to wait as long as it takes.

        Returns:
            the answer that counts; no, if it was withdrawn or has expired. When the caller is
            cancelled, the request is withdrawn.
        """
        self._add(request, deadline)
        try:
            with anyio.move_on_after(deadline):
                return await request.wait()
            request.expire(f"nobody decided within {deadline:g} seconds")
            return await request.wait()
        finally:
            request.withdraw(WITHDRAWN)  # which has no effect on one that has ended

    def _add(self, request: Pending[Any], deadline: float | None) -> None:
        with self._lock:
            request.id = self._free(request.id)
            request.expires = None if deadline is None else request.since + deadline
            request._told = self._remove
            self._waiting[request.id] = request
            self._note(Change("added", request))
        if not request.is_waiting:
            self._remove(request)
        self._deliver()

    def _free(self, id: str) -> str:
        number, free = 1, id
        while free in self._waiting:
            number += 1
            free = f"{id}~{number}"
        return free

    def _remove(self, request: Pending[Any]) -> None:
        with self._lock:
            if self._waiting.get(request.id) is not request:
                return
            del self._waiting[request.id]
            self._note(Change(request.state.value, request))
        self._deliver()

    # --- telling ---------------------------------------------------------------------------------

    def on_change(self, callback: Callable[[Change], object]) -> Callable[[], None]:
        """Have something called for all that waits now, and at every change from now on.

        It is called in the thread where the change happens, so it may not wait; one call after
        the other, in the order of the changes. What it raises is logged.

        Returns:
            a function that ends this.
        """
        subscriber = _Subscriber(callback)
        with self._lock:
            for request in self._waiting.values():
                self._undelivered.append(((subscriber,), Change("added", request)))
            self._subscribers.append(subscriber)
        self._deliver()

        def stop() -> None:
            subscriber.active = False
            with self._lock, suppress(ValueError):
                self._subscribers.remove(subscriber)

        return stop

    def changes(self) -> Changes:
        """Follow all that waits now and every change from now on, in a task or in a thread."""
        return Changes(self)

    def _note(self, change: Change) -> None:
        """Keep a change for those who are subscribed now. The lock is held."""
        self._undelivered.append((tuple(self._subscribers), change))

    def _deliver(self) -> None:
        """Tell of all changes in their order. If another thread is at it, that one does."""
        while self._undelivered and self._delivering.acquire(blocking=False):
            try:
                while self._undelivered:
                    _tell(*self._undelivered.popleft())
            finally:
                self._delivering.release()


def _tell(subscribers: tuple[_Subscriber, ...], change: Change) -> None:
    for subscriber in subscribers:
        if subscriber.active:
            try:
                subscriber.tell(change)
            except Exception:
                logger.exception("What was to be called at a change of the inbox has failed")


class Changes:
    """The changes of an inbox, for one reader: a task (`async for`) or a thread (`for`).

    Use it as a context manager, or close it: until then it keeps all that nobody has read.
    """

    def __init__(self, inbox: Inbox) -> None:
        self._mailbox: Mailbox[Change] = Mailbox()
        self._stop = inbox.on_change(self._mailbox.put)

    def close(self) -> None:
        """Follow no longer. Whoever waits for the next change is let go."""
        self._stop()
        self._mailbox.close()

    def __enter__(self) -> Changes:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def get(self, timeout: float | None = None) -> Change:
        """Wait for the next change in a thread that may wait.

        Raises:
            TimeoutError: nothing happened in time.
            MailboxClosed: it was closed.
        """
        return self._mailbox.get_blocking(timeout)

    def __aiter__(self) -> Changes:
        return self

    async def __anext__(self) -> Change:
        try:
            return await self._mailbox.get()
        except MailboxClosed:
            raise StopAsyncIteration from None

    def __iter__(self) -> Changes:
        return self

    def __next__(self) -> Change:
        try:
            return self.get()
        except MailboxClosed:
            raise StopIteration from None
