"""Line to message and message to line.

Reading takes one typed pass over the bytes. Lines that this pass refuses, and lines that may be
written in another dialect, are read again slowly: decoded leniently, translated into the standard
form, and fitted into their type without losing anything. No line makes it raise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Union

import msgspec

from .dialects import STANDARD, recognise
from .dialects.base import Dialect, Find, WriteContext
from .errors import LocalProtocolError
from .framing import HEAD
from .lenient import UNFIT, explain, fit
from .types.base import UNKNOWN, Event, Message, load, prepared, set_line, set_problems
from .types.cli_requests import CanUseTool, Elicitation, RequestUserDialog
from .types.control import (
    Answer,
    Cancel,
    ErrorResponse,
    Failure,
    InvalidLine,
    Malformed,
    Request,
    Response,
    SuccessResponse,
    answer_type,
)
from .types.host_requests import Initialize
from .types.messages import (
    MESSAGES,
    ResultMessage,
    SessionCreatedMessage,
    UnknownMessage,
    UnknownSystemMessage,
)
from .types.system import SYSTEM

# --- reading -------------------------------------------------------------------------------------


class _AnySystem(Message, tag="system"):
    """A system message before its subtype is known."""

    subtype: str


_KINDS: tuple[type[Message], ...] = (*MESSAGES, Request, Response, Cancel)

FRAMES = {str(kind.__struct_config__.tag): kind for kind in _KINDS}
"""Every kind of line by its `type`, except `system`, whose kinds are in `SYSTEM`."""

Decoded = tuple[Event, Dialect]
"""A line as an event, and the dialect it was written in."""

_REFUSED = (msgspec.MsgspecError, ValueError, RecursionError)
_AMBIGUOUS = frozenset({Request, Response, ResultMessage, SessionCreatedMessage})


# Making a decoder takes 20 ms: msgspec looks up the types of all fields.
@cache
def _decoders() -> tuple[msgspec.json.Decoder[Message], msgspec.json.Decoder[Message]]:
    return (
        msgspec.json.Decoder(prepared(Union[(_AnySystem, *FRAMES.values())])),
        msgspec.json.Decoder(prepared(Union[tuple(SYSTEM.values())])),  # noqa: UP007
    )


def decode(
    line: bytes, find: Find = lambda id: None, *, is_standard: bool = False
) -> Decoded | None:
    """Read one line without its newline; None if it is blank.

    `find` returns our own request with an id, to read answers to it. A line of a peer that is known
    to write the standard dialect, and that fits it, has no marks of others.
    """
    frames, systems = _decoders()
    try:
        message = frames.decode(line)
        if type(message) is _AnySystem:
            message = systems.decode(line)
    except _REFUSED:
        return _decode_slowly(line, find)
    if not is_standard and type(message) in _AMBIGUOUS and _is_ambiguous(message, find):
        return _decode_slowly(line, find)
    set_line(message, line)
    return message, STANDARD


def _is_ambiguous(message: Message, find: Find) -> bool:
    """Say whether a message that fits the standard type may be written in another dialect."""
    if isinstance(message, Request):
        return isinstance(message.body, Initialize)
    if isinstance(message, Response):  # answers to questions may be keyed by their index
        return isinstance(find(message.response.request_id), CanUseTool)
    if isinstance(message, ResultMessage):
        usage = message.usage
        return message.num_turns is None or usage is None or usage.input_tokens is None
    return True


def _decode_slowly(line: bytes, find: Find) -> Decoded | None:
    """Read one line in any form, losing nothing."""
    if not line.strip():
        return None
    event: Event
    dialect = STANDARD
    problems: tuple[str, ...] = ()
    try:
        obj = load(line)
        if isinstance(obj, dict):
            dialect = recognise(obj, find)
            obj = dialect.read(obj, find)
        event, problems = _build(obj)
    except UNFIT as error:
        dialect = STANDARD
        event = Malformed(line[:HEAD], len(line), *explain(error))
    except ValueError as error:
        event = InvalidLine(line[:HEAD], len(line), f"not JSON: {error}")
    set_line(event, line)
    if problems:
        set_problems(event, problems)
    return event, dialect


def _build(obj: Any) -> tuple[Message, tuple[str, ...]]:
    """Make a message of an object in the standard form. Return it and its problems."""
    if not isinstance(obj, dict):
        raise msgspec.ValidationError(f"Expected `object`, got `{type(obj).__name__}`")
    is_system = obj.get("type") == "system"
    kinds: Mapping[str, type[Message]] = SYSTEM if is_system else FRAMES
    kind = _text(obj, "subtype" if is_system else "type")
    if kind is not None and kind in kinds:
        return fit(obj, kinds[kind])
    uuid, session_id = _text(obj, "uuid"), _text(obj, "session_id")
    if is_system:
        return UnknownSystemMessage(data=obj, uuid=uuid, session_id=session_id), ()
    return UnknownMessage(data=obj, uuid=uuid, session_id=session_id), ()


def _text(obj: dict[str, Any], key: str) -> str | None:
    value = obj.get(key)
    return value if isinstance(value, str) else None


# --- writing -------------------------------------------------------------------------------------

_encode = msgspec.json.Encoder().encode


def encode(message: Message, dialect: Dialect, context: WriteContext) -> bytes:
    """Write one message as one line; a LocalProtocolError says that JSON cannot hold it."""
    try:
        if isinstance(message, UnknownMessage | UnknownSystemMessage):
            obj = message.data
        else:
            obj = _unwrapped(msgspec.to_builtins(message))
            if (translate := dialect.writers.get(obj["type"])) is not None:
                obj = translate(obj, context)
        try:
            data = _encode(obj)
        except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can express
            data = json.dumps(obj, separators=(",", ":"), allow_nan=False).encode()
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise LocalProtocolError(f"This message cannot be written as JSON: {error}") from error
    # Other readers end a line at U+2028 and U+2029.
    return data.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029") + b"\n"


def _unwrapped(value: Any) -> Any:
    """Replace unknown members, in place, by the objects that they keep."""
    if isinstance(value, list):
        value[:] = map(_unwrapped, value)
    elif isinstance(value, dict):
        if UNKNOWN in value.values() and "raw" in value:
            return value["raw"]
        for key, item in value.items():
            value[key] = _unwrapped(item)
    return value


# --- answers -------------------------------------------------------------------------------------


def answer_from(
    inner: SuccessResponse | ErrorResponse, id: str, request: Request | None
) -> Answer | Failure:
    """Turn a response into the event for the sender of `request`, with a typed payload."""
    if isinstance(inner, ErrorResponse):
        return Failure(id, inner.error, inner.error_code, request)
    body: Any = inner.response
    problems: tuple[str, ...] = ()
    if request is not None:
        into = answer_type(type(request.body))
        try:
            body, problems = fit({} if body is None else body, into)
        except UNFIT as error:
            reason, path = explain(error)
            problems = () if body is None else (f"{path}: {reason}",)
    lists = (
        inner.pending_permission_requests,
        inner.pending_user_dialog_requests,
        inner.pending_elicitation_requests,
    )
    asked = tuple(it for each in lists for it in each or ())
    answer = Answer(id, body, request, None if lists == (None, None, None) else asked)
    set_problems(answer, problems)
    return answer


def answer_to(answer: Answer | Failure, id: str) -> SuccessResponse | ErrorResponse:
    """Return the inside of the frame that carries an answer to the request `id`."""
    if isinstance(answer, Failure):
        return ErrorResponse(id, answer.error, answer.code)
    if answer.pending is None:
        return SuccessResponse(id, answer.body)
    dialogs = [it for it in answer.pending if isinstance(it.body, RequestUserDialog)]
    forms = [it for it in answer.pending if isinstance(it.body, Elicitation)]
    others = [it for it in answer.pending if it not in dialogs and it not in forms]
    # The CLI writes the first two lists even when they are empty, the third only when it is not.
    return SuccessResponse(id, answer.body, others, dialogs, forms or None)
