"""Control frames (requests, answers, withdrawals), and the events that are not messages."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Union, cast, get_args, get_origin

import msgspec

from . import host_requests  # noqa: F401  # declares requests
from .base import UNKNOWN, Event, Message, Record, Unknown, leaves
from .cli_requests import RequestBody


class UnknownRequest(Unknown, RequestBody[Any], tag=UNKNOWN):
    """A request that this version does not know."""

    raw: dict[str, Any]


if TYPE_CHECKING:
    Body = RequestBody[Any]
else:
    Body = Union[tuple(leaves(RequestBody))]  # noqa: UP007

REQUESTS: dict[str, type[RequestBody[Any]]] = {
    str(body.__struct_config__.tag): body
    for body in leaves(RequestBody)
    if body is not UnknownRequest
}
"""Every declared request by its subtype."""


@cache
def answer_type(body_type: type[RequestBody[Any]]) -> Any:
    """Return the type of a successful answer's payload: the parameter of the request's base."""
    bases = cast("Any", body_type).__orig_bases__
    return next(get_args(base)[0] for base in bases if get_origin(base) is RequestBody)


class Request(Message, tag="control_request", kw_only=True):
    """A question of one party to the other; the answer has the same id."""

    id: str = msgspec.field(name="request_id")
    body: Body = msgspec.field(name="request")


class Cancel(Message, tag="control_cancel_request", kw_only=True):
    """The withdrawal of the sender's own request. There is no reply to it."""

    id: str = msgspec.field(name="request_id")


class SuccessResponse(Record, tag="success", tag_field="subtype"):
    """The inside of a successful answer, as it is written."""

    request_id: str = ""
    response: Any = None
    # Requests that were open when a client (re)initialized the CLI.
    pending_permission_requests: list[Request] | None = None
    pending_user_dialog_requests: list[Request] | None = None
    pending_elicitation_requests: list[Request] | None = None


class ErrorResponse(Record, tag="error", tag_field="subtype"):
    """The inside of a refusal, as it is written. Some CLIs leave out the id."""

    request_id: str = ""
    error: str = ""
    error_code: str | None = None


class Response(Message, tag="control_response", kw_only=True):
    """An answer as it is written. The connection turns it into an `Answer` or a `Failure`."""

    response: SuccessResponse | ErrorResponse


class Answer(Event):
    """A granted request. The type of `body` depends on the request.

    To send one, give the id of the request and the body. On a received one, `request` is the
    request that it answers. A body that does not fit its type is left as the JSON it was,
    and `problems` says where.
    """

    id: str
    body: Any = None
    request: Request | None = None
    # With the answer to `initialize`: open requests of the CLI; each comes as an event too.
    pending: tuple[Request, ...] | None = None


class Failure(Event):
    """A refused request: the reason in words, and sometimes a code."""

    id: str
    error: str
    code: str | None = None
    request: Request | None = None


class InvalidLine(Event):
    """A line that is not JSON."""

    head: bytes
    length: int
    reason: str


class Malformed(Event):
    """JSON that does not fit the type it names. `path` leads to the first problem."""

    head: bytes
    length: int
    reason: str
    path: str = "$"


class UnexpectedMessage(Event):
    """A well-formed event out of place: it answers nothing, or came out of turn."""

    event: Event
    reason: str


class EndOfStream(Event):
    """The peer will send nothing more. `unanswered` are our requests that it leaves open."""

    unanswered: tuple[Request, ...] = ()
