"""Ready-made handlers that answer requests of every kind: values for `person`.

    People(person=deny_everything("Read only, please."))
    People(person=policy_then(policy, Terminal()))
    People(person=allow_everything_dangerously())        # only in a sandbox

`Remote` serves an inbox over a channel, to a page or a phone.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from typing import Any

import anyio
import msgspec

from ..concurrency import call_function
from .decisions import Person, PolicyLike, decide_by_policy
from .handlers import check_handler
from .inbox import Change, Inbox
from .pending import AnswerError, Pending
from .permissions import PermissionRequest, PermissionResultAllow
from .plans import PlanRequest
from .questions import QuestionRequest

__all__ = ["Remote", "allow_everything_dangerously", "deny_everything", "policy_then"]

logger: logging.Logger = logging.getLogger("claudewire.people")


def allow_everything_dangerously() -> Person:
    """Allow every tool and approve every plan: for a sandbox that nothing can escape from.

    What only a person can know stays open: questions are skipped, forms declined.
    """

    async def allow_everything(request: Pending[Any]) -> Any:
        if isinstance(request, PermissionRequest):
            return request.allow()
        if isinstance(request, PlanRequest):
            return request.approve()
        if isinstance(request, QuestionRequest):
            return request.skip()
        return request._denial("no person can be asked")

    return allow_everything


def deny_everything(reason: str = "Nothing is allowed here.") -> Person:
    """Say no to everything, and tell the model why."""

    async def deny_all(request: Pending[Any]) -> Any:
        return request._denial(reason)

    return deny_all


def policy_then(policy: PolicyLike, person: Person) -> Person:
    """Let a policy decide about tools, and a person about what the policy leaves open.

    Args:
        policy: allows, denies, or says that a person has to be asked.
        person: is asked then, and about everything that is not a use of a tool.
    """
    check_handler(person, "person")
    computing = anyio.CapacityLimiter(1)

    async def decide(request: Pending[Any]) -> Any:
        decision = await decide_by_policy(policy, request, computing)
        if decision.behavior == "deny":
            return request._denial(decision.reason)
        if decision.behavior == "allow":
            return PermissionResultAllow()
        return await call_function(person, request)

    return decide


class Remote:
    """Shows an inbox to a person elsewhere, over any channel, and receives the answers.

    What is sent, as JSON types:

    * `{"type": "request", "id": …, "kind": …, "title": …, "actions": […], …}`: a request waits;
      those that already wait come first, so a peer that reconnects misses nothing;
    * `{"type": "ended", "id": …, "state": …, "how": …}`: it was answered, withdrawn or expired;
    * `{"type": "refused", "id": …, "error": …}`: an answer did not fit or came too late.

    What is received: `{"id": …, "action": "allow", …}`, with the arguments of the action beside it.

    Args:
        inbox: what to show.
        send: writes an object to the channel.
        receive: the objects that come from it, or their JSON; it ends when the channel does.
        name: what to call the person at the other end, in the records.
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
        """Serve until the channel ends. Requests that wait then go on waiting."""
        with self._inbox.changes() as changes:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._show, changes)
                async for message in self._receive:
                    await self._take(message)
                tasks.cancel_scope.cancel()

    async def _show(self, changes: AsyncIterable[Change]) -> None:
        async for change in changes:
            await self._send(_message(change))

    async def _take(self, message: Mapping[str, Any] | str | bytes) -> None:
        id: Any = None
        try:
            answer = _object(message)
            id = answer.pop("id", None)
            if not isinstance(id, str):
                raise AnswerError("An answer has to say which `id` it is for")
            action = answer.pop("action", None)
            if not isinstance(action, str):
                raise AnswerError("An answer has to name its `action`")
            if not self._inbox.act(id, action, answer, by=f"person: {self._name}"):
                raise AnswerError("This request no longer waits for an answer")
        except (AnswerError, TypeError) as error:
            await self._send({"type": "refused", "id": id, "error": str(error)})


def _object(message: Mapping[str, Any] | str | bytes) -> dict[str, Any]:
    if isinstance(message, str | bytes):
        try:
            message = msgspec.json.decode(message, type=dict[str, Any])
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise AnswerError(f"An answer must be a JSON object: {error}") from None
    return dict(message)


def _message(change: Change) -> dict[str, Any]:
    request = change.request
    if change.what == "added":
        return {"type": "request", **request.describe()}
    return {
        "type": "ended",
        "id": request.id,
        "state": request.state.value,
        "how": request.ending,
    }
