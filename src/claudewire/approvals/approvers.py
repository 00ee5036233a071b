"""Ready-made handlers that answer requests of every kind: values for `approver`.

    approver=deny_everything("Read only, please.")
    approver=Terminal()
    approver=allow_everything_dangerously()        # only in a sandbox

`Remote` serves an inbox over a channel, to a page or a phone.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from typing import Any

import anyio
import msgspec

from .inbox import Change, Inbox
from .permissions import PermissionRequest, PlanRequest
from .questions import QuestionRequest
from .request import AnswerError, ApprovalRequest
from .router import Approver


def allow_everything_dangerously() -> Approver:
    """Allow every tool and approve every plan: for a sandbox that nothing can escape from.

    Questions are skipped and forms declined: only a person can answer them.
    """

    async def allow_everything(request: ApprovalRequest[Any]) -> Any:
        if isinstance(request, PermissionRequest):
            return request.allow()
        if isinstance(request, PlanRequest):
            return request.approve()
        if isinstance(request, QuestionRequest):
            return request.skip()
        return request.refusal("no person can be asked")

    return allow_everything


def deny_everything(reason: str = "Nothing is allowed here.") -> Approver:
    """Say no to everything.

    Args:
        reason: for the model.
    """

    async def deny_all(request: ApprovalRequest[Any]) -> Any:
        return request.refusal(reason)

    return deny_all


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
                await self._send({"type": "request", **request.describe()})
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
