"""The base of all objects on the wire.

A *record* is a JSON object with known fields: frozen, compact, and silent about the fields that
were not set. A *message* is a record that is a whole line; a received one keeps the line, so that
nothing is lost that the typed view leaves out.

Two conventions make the typed view faithful in both directions:

* a field that may be absent defaults to `None` and is left out when it is `None`;
* a field that the CLI always writes, if need be as `null`, is declared with `nullable()`.
"""

from __future__ import annotations

import json
import re
from _thread import RLock  # and not from threading, which takes time to load
from typing import Any, Final, TypeVar, cast, dataclass_transform

import msgspec
from msgspec import Struct

Number = int | float
"""A JSON number that is kept as it was written: 5000 stays an int, 0.5 a float."""

UNKNOWN: Final = "\0unknown"
"""The tag under which a union keeps a member that is not declared.

No peer writes it: the codec wraps unknown objects in it, and unwraps them in writing.
"""


_T = TypeVar("_T")


def _none() -> None:
    return None


def nullable(name: str | None = None) -> Any:
    """Declare a field that is written as `null` when it is `None`, instead of being left out."""
    return msgspec.field(default_factory=_none, name=name)


# A subclass is frozen as well; msgspec knows that, and this tells the type checkers.
@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Record(Struct, frozen=True, gc=False, omit_defaults=True, repr_omit_defaults=True):
    """A JSON object with known fields. Fields it does not know are in its message's `raw`."""


class Unknown:
    """The mark of every `Unknown…` class: well-formed, and not known to this version."""

    __slots__ = ()


class _Received:
    """The line that an event came from."""

    __slots__ = ("_line", "_problems", "_raw")

    _line: bytes
    _problems: tuple[str, ...]
    _raw: dict[str, Any]

    @property
    def line(self) -> bytes:
        """The bytes this was read from, without the newline; empty if it was made here."""
        try:
            return self._line
        except AttributeError:
            return b""

    @property
    def problems(self) -> tuple[str, ...]:
        """Fields that did not fit the declared types, each with its path; only `raw` has them."""
        return getattr(self, "_problems", ())

    @property
    def raw(self) -> dict[str, Any]:
        """The whole JSON object, as the peer wrote it, decoded when first asked for.

        Empty if the line is no JSON object.
        """
        try:
            return self._raw
        except AttributeError:
            raw = load_object(self._line) if self.line else msgspec.to_builtins(self)
            _set_raw(self, raw)
            return cast("dict[str, Any]", raw)

    @property
    def extra(self) -> dict[str, Any]:
        """The fields of `raw` that this class does not declare."""
        kind = cast("type[Struct]", type(self))
        known = {*kind.__struct_encode_fields__, kind.__struct_config__.tag_field, "type"}
        return {key: value for key, value in self.raw.items() if key not in known}


# Messages are frozen; these write the three slots that are not part of a message's value.
set_line: Any = cast("Any", _Received.__dict__["_line"]).__set__
set_problems: Any = cast("Any", _Received.__dict__["_problems"]).__set__
_set_raw: Any = cast("Any", _Received.__dict__["_raw"]).__set__


class Event(_Received, Record):
    """An event on the wire."""


class Message(Event, kw_only=True, tag_field="type"):
    """One line of the conversation. `uuid` names the line, `session_id` the conversation."""

    uuid: str | None = None
    session_id: str | None = None


def leaves(kind: type[_T]) -> list[type[_T]]:
    """Return the classes derived from a class that nothing is derived from, in their order."""
    return [leaf for sub in kind.__subclasses__() for leaf in leaves(sub) or [sub]]


_prepared: set[Any] = set()
_preparing = RLock()


def prepared(kind: _T) -> _T:
    """Return a type, or a union of types, that msgspec has prepared. It is never freed.

    msgspec looks up the fields of a type, and of all types in it, on first use. A type that another
    thread uses meanwhile is half done, and the process crashes. So one thread at a time does this.
    """
    if kind not in _prepared:
        with _preparing:
            msgspec.json.Decoder(cast("Any", kind))
        _prepared.add(kind)
    return kind


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LENIENT = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)


def load(line: bytes) -> Any:
    """Decode one line as leniently as possible without guessing.

    Accepted beyond strict JSON: control characters inside strings, bytes that are not UTF-8, and
    halves of surrogate pairs. Each of the latter two becomes U+FFFD; the message's `line` still has
    them.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested deeper than Python's stack.
    """
    obj = _LENIENT.decode(line.decode("utf-8", "replace"))
    if _SURROGATE.search(line):
        text = json.dumps(obj, ensure_ascii=False)
        obj = json.loads(re.sub("[\ud800-\udfff]", "\ufffd", text))
    return obj


def load_object(line: bytes) -> dict[str, Any]:
    """Decode a line that should be a JSON object; return an empty one if it is not."""
    try:
        obj = load(line)
    except (ValueError, RecursionError):
        return {}
    return obj if isinstance(obj, dict) else {}
