"""Between an answer and the inside of the frame that carries it."""

from __future__ import annotations

from typing import Any

import msgspec

from . import codec
from .fitting import UNFIT, explain, fit
from .types.base import prepared, set_problems
from .types.cli_requests import Elicitation, RequestUserDialog
from .types.control import Answer, ErrorResponse, Failure, Request, SuccessResponse
from .types.host_requests import CancelAsyncMessage
from .types.requests import answer_type
from .types.results import CancelAsyncMessageResult, InterruptResult

__all__ = ["answer_from", "answer_to", "dropped_prompts"]


def answer_from(
    inner: SuccessResponse | ErrorResponse, id: str, request: Request | None
) -> Answer | Failure:
    """Turn a response into the event for the sender of `request`, with a typed payload."""
    if isinstance(inner, ErrorResponse):
        return Failure(id, inner.error, inner.error_code, request)
    body: Any = inner.response
    problems: tuple[str, ...] = ()
    if request is not None:
        body, problems = _typed(body, request)
    answer = Answer(id, body, request, _pending(inner))
    set_problems(answer, problems)
    return answer


def _typed(payload: Any, request: Request) -> tuple[Any, tuple[str, ...]]:
    into = prepared(answer_type(type(request.body)))
    try:
        # A success may leave out its payload: that is an empty one, where there can be such.
        return fit(payload, into) if payload is not None else (msgspec.convert({}, into), ())
    except UNFIT as error:
        reason, path = explain(error)
        return payload, (f"{path}: {reason}",)


def _pending(inner: SuccessResponse) -> tuple[Request, ...] | None:
    lists = (
        inner.pending_permission_requests,
        inner.pending_user_dialog_requests,
        inner.pending_elicitation_requests,
    )
    if all(each is None for each in lists):
        return None
    messages = (codec.build_request(obj) for each in lists for obj in each or ())
    return tuple(message for message in messages if message is not None)


def dropped_prompts(request: Request, answer: Answer | Failure) -> frozenset[str]:
    """The prompts that an answer takes out of the queue: no result will come for them."""
    asked, given = request.body, getattr(answer, "body", None)
    if isinstance(asked, CancelAsyncMessage) and isinstance(given, CancelAsyncMessageResult):
        return frozenset({asked.message_uuid} if given.cancelled else ())
    if isinstance(given, InterruptResult):
        return frozenset(given.cancelled or ())
    return frozenset()


def answer_to(answer: Answer | Failure, id: str) -> SuccessResponse | ErrorResponse:
    """The inside of the frame that carries an answer to the request `id`."""
    if isinstance(answer, Failure):
        return ErrorResponse(id, answer.error, answer.code)
    if answer.pending is None:
        return SuccessResponse(id, answer.body)
    dialogs = _frames(answer, RequestUserDialog)
    forms = _frames(answer, Elicitation)
    others = [it for it in _frames(answer, object) if it not in dialogs and it not in forms]
    # The CLI writes the first two lists even when they are empty, the third only when it is not.
    return SuccessResponse(id, answer.body, others, dialogs, forms or None)


def _frames(answer: Answer, kind: type) -> list[dict[str, Any]]:
    return [
        msgspec.to_builtins(request)
        for request in answer.pending or ()
        if isinstance(request.body, kind)
    ]
