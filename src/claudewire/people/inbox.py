"""Everything that waits for a person, in one place.

    inbox = Inbox()
    for request in inbox.pending:            # what waits now, the oldest first
        print(request.id, request.title)
    inbox.get(id).allow()                    # from any task or thread; the first answer wins

    with inbox.changes() as changes:         # what waits now, and all that happens from now on
        async for change in changes:
            show(change.what, change.request)

One inbox can serve any number of sessions, and it outlives every window that shows it: a window
that is opened again finds what still waits.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio

from ..concurrency import Mailbox, MailboxClosed
from .pending import EXPIRED, USUAL_CLOCK, Clock, Pending, decided_here

__all__ = ["Change", "Changes", "Inbox"]

logger: logging.Logger = logging.getLogger("claudewire.people")

AnswerT = TypeVar("AnswerT")

WITHDRAWN = "the request was withdrawn before it was decided"


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
    """A callback for changes, and whether it is still wanted."""

    callback: Callable[[Change], object]
    active: bool = True


class Inbox:
    """The requests that wait for a person. All methods may be called from any thread.

    Args:
        clock: where the time comes from.
    """

    def __init__(self, *, clock: Clock | None = None) -> None:
        self.clock: Clock = clock or USUAL_CLOCK
        self._lock = threading.Lock()
        self._waiting: dict[str, Pending[Any]] = {}
        self._subscribers: list[_Subscriber] = []
        self._delivery: _Delivery | None = None
        """What goes to those who follow it; most sessions have an inbox that nobody follows."""

    # --- looking ---------------------------------------------------------------------------------

    @property
    def pending(self) -> tuple[Pending[Any], ...]:
        """What waits now, the oldest first."""
        with self._lock:
            return tuple(self._waiting.values())

    def get(self, id: str) -> Pending[Any] | None:
        """Find a waiting request by its id; None if it does not wait, or no longer does."""
        with self._lock:
            return self._waiting.get(id)

    # --- deciding --------------------------------------------------------------------------------

    def answer(self, id: str, answer: object, *, by: str = "") -> bool:
        """Answer a request with a finished answer, such as `request.allow()` returns.

        Returns:
            whether this answer is the one that counts. It is not if the request no longer waits.

        Raises:
            TypeError: it is not an answer to this request.
        """
        request = self.get(id)
        return request is not None and request.resolve(answer, by=by)

    def act(
        self,
        id: str,
        action: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        by: str = "",
    ) -> bool:
        """Answer a request by the name of an action and its arguments, as a remote peer does.

        Returns:
            whether this answer is the one that counts.

        Raises:
            AnswerError: it does not fit what was asked; the request still waits.
        """
        request = self.get(id)
        if request is None:
            return False
        token = decided_here.set(request)  # so that the answer is given below, with `by`
        try:
            answer = request.act(action, arguments)
        finally:
            decided_here.reset(token)
        return request.resolve(answer, by=by)

    async def ask(self, request: Pending[AnswerT], *, deadline: float | None = None) -> AnswerT:
        """Add a request and wait until it has ended.

        If the caller is cancelled, the request is withdrawn.

        Args:
            request: what is asked.
            deadline: after how many seconds the answer is no; None to wait as long as it takes.

        Returns:
            the answer that counts; no, if it was withdrawn or has expired.
        """
        self._add(request, deadline)
        try:
            with anyio.move_on_after(deadline):
                return await request.wait()
            self._expire(request, deadline)
            return await request.wait()
        finally:
            request.withdraw(WITHDRAWN)

    async def _expire_in(self, seconds: float, request: Pending[Any]) -> None:
        await anyio.sleep(seconds)
        self._expire(request, seconds)

    def _expire(self, request: Pending[Any], deadline: float | None) -> None:
        reason = f"no decision was made within {deadline:g} seconds"
        request._end(EXPIRED, request._denial(reason), reason)

    def _add(self, request: Pending[Any], deadline: float | None) -> None:
        with self._lock:
            request.id = self._free(request.id)
            request.expires = None if deadline is None else request.since + deadline
            self._waiting[request.id] = request
            if self._subscribers:
                self._note("added", request)
        request._wait_in(self)
        if self._delivery is not None:
            self._delivery.deliver()

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
            if self._subscribers:
                self._note(request.state, request)
        if self._delivery is not None:
            self._delivery.deliver()

    # --- following --------------------------------------------------------------------------------

    def on_change(self, callback: Callable[[Change], object]) -> Callable[[], None]:
        """Call a function for everything that waits now, and at every change from now on.

        It is called in the thread where the change happens, so it must not block; one call after
        the other, in the order of the changes. What it raises is logged.

        Returns:
            a function that ends the subscription.
        """
        subscriber = _Subscriber(callback)
        with self._lock:
            self._delivery = delivery = self._delivery or _Delivery()
            for request in self._waiting.values():
                delivery.add((subscriber,), Change("added", request))
            self._subscribers.append(subscriber)
        delivery.deliver()

        def stop() -> None:
            subscriber.active = False
            with self._lock, suppress(ValueError):
                self._subscribers.remove(subscriber)

        return stop

    def changes(self) -> Changes:
        """Iterate over what waits now and every change from now on, in a task or in a thread."""
        return Changes(self)

    def _note(self, what: str, request: Pending[Any]) -> None:
        """Queue a change for the current subscribers. The lock is held."""
        assert self._delivery is not None
        self._delivery.add(tuple(self._subscribers), Change(str(what), request))


class _Delivery:
    """The changes that are not delivered yet."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[tuple[_Subscriber, ...], Change]] = deque()
        self._delivering = threading.Lock()

    def add(self, subscribers: tuple[_Subscriber, ...], change: Change) -> None:
        """Add one, for those who are to be told. The lock of the inbox is held."""
        self._waiting.append((subscribers, change))

    def deliver(self) -> None:
        """Deliver all changes in their order, unless another thread is doing so."""
        while self._waiting and self._delivering.acquire(blocking=False):
            try:
                while self._waiting:
                    _call(*self._waiting.popleft())
            finally:
                self._delivering.release()


def _call(subscribers: tuple[_Subscriber, ...], change: Change) -> None:
    for subscriber in subscribers:
        if subscriber.active:
            try:
                subscriber.callback(change)
            except BaseException:  # the answer must get through, whatever a callback does
                logger.exception("An inbox callback raised an exception")


class Changes:
    """The changes of an inbox, for one reader: a task (`async for`) or a thread (`for`).

    Use it as a context manager, or close it: until then it keeps all changes that are not read.
    """

    def __init__(self, inbox: Inbox) -> None:
        self._mailbox: Mailbox[Change] = Mailbox()
        self._stop = inbox.on_change(self._mailbox.put)

    def close(self) -> None:
        """Stop following. A reader that waits for the next change is released."""
        self._stop()
        self._mailbox.close()

    def __enter__(self) -> Changes:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def get(self, timeout: float | None = None) -> Change:
        """Wait for the next change, blocking the thread.

        Raises:
            TimeoutError: nothing changed in time.
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
