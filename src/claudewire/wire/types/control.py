"""Control frames (requests, answers, withdrawals), and the events that are not messages."""

from __future__ import annotations

from typing import Any

import msgspec

from .base import Event, Message, Record
from .requests import Body

__all__ = [
    "Answer",
    "Cancel",
    "EndOfStream",
    "ErrorResponse",
    "Failure",
    "Malformed",
    "Noise",
    "Request",
    "Response",
    "Stray",
    "SuccessResponse",
]


class Request(Message, tag="control_request", kw_only=True):
    """One party asks the other for something and waits for the answer with the same id."""

    id: str = msgspec.field(name="request_id")
    body: Body = msgspec.field(name="request")


class Cancel(Message, tag="control_cancel_request", kw_only=True):
    """The sender of a request no longer wants the answer. There is no reply to this."""

    id: str = msgspec.field(name="request_id")


class SuccessResponse(Record, tag="success", tag_field="subtype"):
    """The inside of a successful answer, as it is written."""

    request_id: str = ""
    response: Any = None
    # What the CLI was still waiting for when a client (re)initialized it.
    pending_permission_requests: list[dict[str, Any]] | None = None
    pending_user_dialog_requests: list[dict[str, Any]] | None = None
    pending_elicitation_requests: list[dict[str, Any]] | None = None


class ErrorResponse(Record, tag="error", tag_field="subtype"):
    """The inside of a refusal, as it is written. Some CLIs leave out the id."""

    request_id: str = ""
    error: str = ""
    error_code: str | None = None


class Response(Message, tag="control_response", kw_only=True):
    """An answer as it is written. The connection turns it into an `Answer` or a `Failure`."""

    response: SuccessResponse | ErrorResponse


class Answer(Event):
    """A request was granted. `body` is what was asked for, typed by the request.

    To send one, give the id of the request and the body. On a received one, `request` is the
    request that it answers. A body that does not fit its type is left as the JSON it was,
    and `problems` says where.
    """

    id: str
    body: Any = None
    request: Request | None = None
    # With the answer to `initialize`: what the CLI was asking before; each comes as an event too.
    pending: tuple[Request, ...] | None = None


class Failure(Event):
    """A request was refused: why in words, and sometimes a code to tell reasons apart."""

    id: str
    error: str
    code: str | None = None
    request: Request | None = None


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
