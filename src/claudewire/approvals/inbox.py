"""All pending requests, in one place.

    inbox = Inbox()
    for request in inbox.pending:            # the pending requests, oldest first
        print(request.id, request.title)
    inbox.act(id, "allow")                   # from any task or thread; the first answer counts

    with inbox.changes() as changes:         # the pending requests, then every change
        async for change in changes:
            show(change.what, change.request)

One inbox can serve any number of sessions. It outlives every window that shows it: a window that is
opened again finds the pending requests. `Remote` serves it over a channel, to a page or a phone.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import msgspec

from ..concurrency import Mailbox, MailboxClosed
from .request import AnswerError, ApprovalRequest


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a request.

    Attributes:
        what: added, answered, withdrawn or expired.
        request: the request.
    """

    what: str
    request: ApprovalRequest[Any]


class Inbox:
    """The pending requests. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending: dict[str, ApprovalRequest[Any]] = {}
        self._readers: list[Mailbox[Change]] = []

    @property
    def pending(self) -> tuple[ApprovalRequest[Any], ...]:
        """The pending requests, oldest first."""
        with self._lock:
            return tuple(self._pending.values())

    def get(self, id: str) -> ApprovalRequest[Any] | None:
        """Find a pending request by its id; None if there is none."""
        with self._lock:
            return self._pending.get(id)

    # --- answering -------------------------------------------------------------------------------

    def act(
        self, id: str, action: str, arguments: Mapping[str, Any] | None = None, *, by: str = ""
    ) -> bool:
        """Answer a request by the name of an action and its arguments, as a remote peer does.

        Args:
            id: the id of the request.
            action: the name of a method that makes an answer.
            arguments: its arguments.
            by: who answers, for the records.

        Returns:
            whether this answer counts. It does not if the request is no longer pending.

        Raises:
            AnswerError: it does not fit the request, which stays pending.
        """
        request = self.get(id)
        return request is not None and request.resolve(request.act(action, arguments), by=by)

    # --- following -------------------------------------------------------------------------------

    def changes(self) -> Changes:
        """Iterate over the pending requests and every later change, in a task or in a thread."""
        return Changes(self)

    def add(self, request: ApprovalRequest[Any], deadline: float | None = None) -> None:
        """Add a request, which leaves the inbox when it ends.

        Args:
            request: the request. Its id gets a suffix if another one has the same.
            deadline: the seconds until it expires; whoever adds it ends it then.
        """
        with self._lock:
            number, id = 1, request.id
            while request.id in self._pending:
                number += 1
                request.id = f"{id}~{number}"
            request.expires = None if deadline is None else request.since + deadline
            self._pending[request.id] = request
            self._publish(Change("added", request))
        request._on_end(partial(self._remove, request))

    def _remove(self, request: ApprovalRequest[Any]) -> None:
        with self._lock:
            del self._pending[request.id]
            self._publish(Change(request.state.value, request))

    def _publish(self, change: Change) -> None:
        """Pass a change to all readers; the lock keeps the order."""
        for reader in self._readers:
            reader.put(change)

    def _follow(self, reader: Mailbox[Change]) -> None:
        """Add a reader of the pending requests and of all changes from now on."""
        with self._lock:
            for request in self._pending.values():
                reader.put(Change("added", request))
            self._readers.append(reader)

    def _unfollow(self, reader: Mailbox[Change]) -> None:
        with self._lock, suppress(ValueError):
            self._readers.remove(reader)


class Changes:
    """The changes of an inbox, for one reader: a task (`async for`) or a thread (`for`).

    Use it as a context manager, or close it: until then it keeps unread changes.
    """

    def __init__(self, inbox: Inbox) -> None:
        self._mailbox: Mailbox[Change] = Mailbox()
        self._inbox = inbox
        inbox._follow(self._mailbox)

    def close(self) -> None:
        """Stop following, and release a waiting reader."""
        self._inbox._unfollow(self._mailbox)
        self._mailbox.close()

    def __enter__(self) -> Changes:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def get(self, timeout: float | None = None) -> Change:
        """Wait for the next change, blocking the thread.

        Raises:
            TimeoutError: nothing changed in time.
            MailboxClosed: the reader is closed.
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


class Remote:
    """Shows an inbox to a person elsewhere, over any channel, and receives the answers.

    It sends these objects of JSON types:

    * `{"type": "request", "id": …, "kind": …, "title": …, "actions": […], …}`: a pending request.
      All of them come first, so a peer that reconnects misses nothing;
    * `{"type": "ended", "id": …, "state": …, "how": …}`: it was answered, withdrawn or expired;
    * `{"type": "refused", "id": …, "error": …}`: an answer did not fit or came too late.

    It receives `{"id": …, "action": "allow", …}`, with the arguments of the action beside it.

    Args:
        inbox: the inbox.
        send: writes an object to the channel.
        receive: the objects that come from it, or their JSON; it ends when the channel does.
        name: the person at the other end, for the records.
    """

    def __init__(
        self,
        inbox: Inbox,
        send: Callable[[dict[str, Any]], Awaitable[object]],
        receive: AsyncIterable[Mapping[str, Any] | str | bytes],
        *,
        name: str = "remote",
    ) -> None:
        self._inbox = inbox
        self._send = send
        self._receive = receive
        self._name = name

    async def run(self) -> None:
        """Serve until the channel ends. Pending requests then stay pending."""
        with self._inbox.changes() as changes:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._show, changes)
                async for message in self._receive:
                    await self._take(message)
                tasks.cancel_scope.cancel()

    async def _show(self, changes: AsyncIterable[Change]) -> None:
        async for change in changes:
            request = change.request
            if change.what == "added":
                described = await anyio.to_thread.run_sync(request.describe)
                await self._send({"type": "request", **described})
            else:
                ended = {"id": request.id, "state": request.state.value, "how": request.ending}
                await self._send({"type": "ended", **ended})

    async def _take(self, message: Mapping[str, Any] | str | bytes) -> None:
        id: Any = None
        try:
            answer = _object(message)
            id, action = answer.pop("id", None), answer.pop("action", None)
            if not isinstance(id, str) or not isinstance(action, str):
                raise AnswerError("An answer needs the `id` of its request and an `action`")
            if not self._inbox.act(id, action, answer, by=f"approver: {self._name}"):
                raise AnswerError("This request is no longer pending")
        except (AnswerError, TypeError) as error:
            await self._send({"type": "refused", "id": id, "error": str(error)})


def _object(message: Mapping[str, Any] | str | bytes) -> dict[str, Any]:
    if isinstance(message, str | bytes):
        try:
            message = msgspec.json.decode(message, type=dict[str, Any])
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise AnswerError(f"An answer must be a JSON object: {error}") from None
    return dict(message)
