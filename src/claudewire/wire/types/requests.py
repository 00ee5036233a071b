"""Every request, in both directions, and the type of its answer."""

from __future__ import annotations

from functools import cache
from typing import Any, cast, get_args, get_origin

from .base import UNKNOWN, Unknown
from .cli_requests import CLIRequest, RequestBody
from .host_requests import HostRequest

__all__ = ["REQUESTS", "Body", "UnknownRequest", "answer_type"]


class UnknownRequest(Unknown, RequestBody[Any], tag=UNKNOWN):
    """A request that this version does not know."""

    raw: dict[str, Any]


Body = CLIRequest | HostRequest | UnknownRequest

REQUESTS: dict[str, type[RequestBody[Any]]] = {
    body.__struct_config__.tag: body for body in get_args(Body) if body is not UnknownRequest
}
"""Every declared request by its subtype."""


@cache
def answer_type(body_type: type[RequestBody[Any]]) -> Any:
    """Return the type of a successful answer's payload: the parameter of the request's base."""
    bases = cast("Any", body_type).__orig_bases__
    return next(get_args(base)[0] for base in bases if get_origin(base) is RequestBody)
