"""Line to message and message to line.

Reading takes one typed pass over the bytes. What that pass refuses, or what a speaker of another
dialect may have meant differently, is read again slowly: decoded leniently, translated into the
modern form, and fitted into its type with nothing thrown away. No line makes it raise.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from math import isfinite
from typing import Any, NamedTuple, TypeVar, Union, cast

import msgspec

from .dialects import MODERN, Dialect, Find, Object, WriteContext, recognise
from .errors import LocalProtocolError
from .fitting import UNFIT, explain, fit
from .framing import HEAD
from .states import Role
from .types.base import UNKNOWN, Event, Message, Unknown, load, prepared, set_line, set_problems
from .types.cli_requests import CanUseTool
from .types.control import Cancel, Malformed, Noise, Request, Response
from .types.host_requests import Initialize
from .types.messages import (
    MESSAGES,
    ResultMessage,
    SessionCreatedMessage,
    SystemMessage,
    UnknownMessage,
    UnknownSystemMessage,
    UserMessage,
)
from .types.system import SYSTEM

__all__ = [
    "FRAMES",
    "REFUSED",
    "Decoded",
    "decode",
    "decode_answer",
    "decode_slowly",
    "encode",
    "encode_directly",
    "first_pass",
    "refine",
]


_M = TypeVar("_M", bound=Message)


class _AnySystem(Message, tag="system"):
    """The first look at a system message: which one is it?"""

    subtype: str


class _Opening(Message, tag="control_request"):
    """A request that is `initialize`."""

    id: str = msgspec.field(name="request_id")
    body: Initialize = msgspec.field(name="request")


_KINDS: tuple[type[Message], ...] = (*MESSAGES, Request, Response, Cancel)

FRAMES: dict[str, type[Message]] = {
    cast("str", kind.__struct_config__.tag): kind for kind in _KINDS
}
"""Every kind of line, by its `type`; `system` has kinds of its own."""

REFUSED = (msgspec.MsgspecError, ValueError, RecursionError)
"""What a decoder may raise over bytes that it does not like."""

first_pass: Callable[[bytes], Message]
"""One typed pass over a line in the modern form. Raises one of `REFUSED` for anything else."""


def __getattr__(name: str) -> Any:
    if name != "first_pass":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = _decoder()
    return _decoder()


# Making a decoder takes a while, as the types of all fields are looked up: 20 ms for the first.
@cache
def _decoder() -> Callable[[bytes], Message]:
    return msgspec.json.Decoder(prepared(Union[(_AnySystem, *FRAMES.values())])).decode


@cache
def _decoder_of(message: type[_M]) -> Callable[[bytes], _M]:
    return msgspec.json.Decoder(prepared(message)).decode


class Decoded(NamedTuple):
    """What a line was, and the dialect it was written in."""

    event: Event
    dialect: Dialect


def _nothing(id: str) -> None:
    return None


def decode(line: bytes, find: Find = _nothing) -> Decoded:
    """Read one line, whatever it is. `find` gives our own request with an id, to read answers."""
    try:
        return refine(_decoder()(line), line, find)
    except REFUSED:
        return decode_slowly(line, find)


def decode_answer(line: bytes, find: Find) -> Decoded:
    """Read a line that looks like an answer, without the decoder for all kinds of lines."""
    try:
        return refine(_decoder_of(Response)(line), line, find)
    except REFUSED:
        return decode_slowly(line, find)


def refine(message: Message, line: bytes, find: Find = _nothing) -> Decoded:
    """Finish what the first pass began. May raise what the first pass may raise."""
    if isinstance(message, _AnySystem):
        kind = SYSTEM.get(message.subtype)
        if kind is None:
            return decode_slowly(line, find)
        message = _decoder_of(kind)(line)
    elif may_mean_otherwise(message, find):
        return decode_slowly(line, find)
    set_line(message, line)
    return Decoded(message, MODERN)


def may_mean_otherwise(message: Message, find: Find) -> bool:
    """Whether a line that fits the modern types may still have been written in another dialect."""
    if isinstance(message, ResultMessage):
        usage = message.usage
        return message.num_turns is None or usage is None or usage.input_tokens is None
    if isinstance(message, Request):
        return isinstance(message.body, Initialize)
    if isinstance(message, Response):  # the answers to questions may be keyed by their index
        return isinstance(find(message.response.request_id), CanUseTool)
    return isinstance(message, SessionCreatedMessage)


def decode_slowly(line: bytes, find: Find = _nothing) -> Decoded:
    """Read one line in whatever form, losing nothing."""
    try:
        obj = load(line)
    except (ValueError, RecursionError) as error:
        return _unusable(Noise(line[:HEAD], len(line), f"not JSON: {error}"), line)
    if not isinstance(obj, dict):
        reason = f"Expected `object`, got `{type(obj).__name__}`"
        return _unusable(Malformed(line[:HEAD], len(line), reason), line)
    dialect = recognise(obj, find)
    try:
        event, problems = build(dialect.read(obj, find))
    except UNFIT as error:
        reason, path = explain(error)
        return _unusable(Malformed(line[:HEAD], len(line), reason, path), line)
    set_line(event, line)
    if problems:
        set_problems(event, problems)
    return Decoded(event, dialect)


def _unusable(event: Event, line: bytes) -> Decoded:
    set_line(event, line)
    return Decoded(event, MODERN)


def build(obj: Object) -> tuple[Message, tuple[str, ...]]:
    """Make the message that a modern object stands for, and say what did not fit.

    Raises:
        msgspec.ValidationError: it is not what it says it is.
        RecursionError: it is nested too deeply.
    """
    kind, subtype = obj.get("type"), obj.get("subtype")
    if kind == "system":
        message = SYSTEM.get(subtype) if isinstance(subtype, str) else None
        return fit(obj, message) if message else (_unknown_system(obj), ())
    frame = FRAMES.get(kind) if isinstance(kind, str) else None
    if frame is Request and (opening := _opening(obj)):
        return opening, ()
    return fit(obj, frame) if frame else (_unknown(obj), ())


def _opening(obj: Object) -> Request | None:
    """Make `initialize` by itself, if that is what it is.

    It is the first line of most conversations. To look at all other requests as well, as for any
    request, takes ten times as long when it is done for the first time.
    """
    body = obj.get("request")
    if not isinstance(body, dict) or body.get("subtype") != "initialize":
        return None
    try:
        it = msgspec.convert(obj, prepared(_Opening))
    except (msgspec.ValidationError, UnicodeEncodeError):
        return None  # it has to be made to fit
    return Request(id=it.id, body=it.body, uuid=it.uuid, session_id=it.session_id)


def build_request(obj: Object) -> Request | None:
    """Make a request out of an object that was found inside another message."""
    try:
        message, problems = build(obj)
    except UNFIT:
        return None
    set_problems(message, problems)
    return message if isinstance(message, Request) else None


def _unknown(obj: Object) -> UnknownMessage:
    return UnknownMessage(kind=_text(obj, "type"), data=obj, **_names(obj))


def _unknown_system(obj: Object) -> SystemMessage:
    return UnknownSystemMessage(subtype=_text(obj, "subtype"), data=obj, **_names(obj))


def _names(obj: Object) -> dict[str, Any]:
    return {"uuid": _text(obj, "uuid"), "session_id": _text(obj, "session_id")}


def _text(obj: Object, key: str) -> str | None:
    value = obj.get(key)
    return value if isinstance(value, str) else None


# --- writing -------------------------------------------------------------------------------------

_encode = msgspec.json.Encoder().encode
_WRAPPED = _encode(UNKNOWN)
_UNWRITABLE = (msgspec.MsgspecError, TypeError, ValueError, RecursionError)
_BACKSLASH = ord("\\")
_ESCAPES = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


def encode(message: Message, dialect: Dialect, context: WriteContext) -> bytes:
    """Write one message as one line, newline included.

    A number that JSON does not have (NaN, infinity) becomes `null`, as JavaScript writes it.

    Raises:
        LocalProtocolError: it holds something that JSON cannot say.
    """
    try:
        if dialect is MODERN:
            message = _complete(message, context)
            if not _needs_a_look(message) and (data := encode_directly(message)):
                return data
        obj = _plain(message)
        data = _dump(obj if isinstance(message, Unknown) else dialect.write(obj, context))
    except _UNWRITABLE as error:
        raise LocalProtocolError(f"This message cannot be written as JSON: {error}") from error
    return _one_line(data)


def _needs_a_look(message: Message) -> bool:
    """Whether a message is not written in the modern form just as it is."""
    return isinstance(message, Unknown) or (isinstance(message, Request) and not message.id)


def _complete(message: Message, context: WriteContext) -> Message:
    """Fill in what the modern form of a prompt always has: the id of the session."""
    if context.sender is not Role.CLIENT or not isinstance(message, UserMessage):
        return message
    if message.session_id is not None:
        return message
    return msgspec.structs.replace(message, session_id=context.session_id)


def encode_directly(message: Message) -> bytes:
    """Write a message in the modern form, in one typed pass; nothing if that is not possible."""
    try:
        data = _encode(message)
    except _UNWRITABLE:  # or a lone surrogate, which only an escape can express
        return b""
    # One byte is found much faster than several, and most lines have no backslash. As a number: for
    # one that is given as bytes, Python makes and drops an exception first.
    return b"" if _BACKSLASH in data and _WRAPPED in data else _one_line(data)


def _plain(message: Message) -> Object:
    """The message as a JSON object in the modern form, with what was wrapped laid open."""
    if isinstance(message, UnknownMessage | UnknownSystemMessage):
        return message.data
    return cast("Object", _unwrapped(msgspec.to_builtins(message)))


def _unwrapped(value: Any) -> Any:
    if isinstance(value, list):
        return [_unwrapped(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 2 and "raw" in value and UNKNOWN in value.values():
        return value["raw"]
    return {key: _unwrapped(item) for key, item in value.items()}


def _dump(obj: Object) -> bytes:
    try:
        return msgspec.json.encode(obj)
    except UnicodeEncodeError:
        return json.dumps(_finite(obj), separators=(",", ":")).encode()


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _one_line(data: bytes) -> bytes:
    """End the line; escape what other readers take for the end of one."""
    if not data.isascii() and b"\xe2\x80" in data:
        for separator, escape in _ESCAPES:
            data = data.replace(separator, escape)
    return data + b"\n"
