"""Strategies for messages on the wire, from the declared types."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from msgspec import NODEFAULT, Struct, inspect
from msgspec.structs import replace

from claudewire.wire import APIMessage, ResultMessage, Unknown

__all__ = ["json_values", "records", "texts"]

DEPTH = 3
"""The depth of nested objects. The deepest have required fields only."""

MOST_OPTIONAL = 5
"""The number of optional fields set in one object: pairs meet, and examples stay small."""

# Characters that broke readers: the end of a C string, of a line, of Unicode's first plane.
_TRICKY = '\0\n\r\t"\\/\x7f\x85\u2028\u2029\ufeff\uffff😀'

# What means something somewhere on the wire.
_WORDS = ["success", "error", "message", "user", "Bash", "session", "type", "0", "request_id", ""]

_characters = st.one_of(
    st.sampled_from("ab1 .,-"), st.sampled_from(_TRICKY), st.characters(codec="utf-8")
)
texts = st.sampled_from(_WORDS) | st.text(_characters, max_size=6)

_integers = st.integers(-(2**63), 2**64)
_floats = st.floats(allow_nan=False, allow_infinity=False)
_scalars = st.one_of(st.none(), st.booleans(), _integers, _floats, texts)

json_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)

_SCALARS: dict[type[inspect.Type], SearchStrategy[Any]] = {
    inspect.AnyType: json_values,
    inspect.BoolType: st.booleans(),
    inspect.FloatType: _floats,
    inspect.IntType: _integers,
    inspect.LiteralType: st.just("system"),
    inspect.NoneType: st.none(),
    inspect.StrType: texts,
}


# Where the type allows more than the wire does.
_FIELDS: dict[tuple[type, str], SearchStrategy[Any]] = {
    (APIMessage, "type"): st.just("message"),
    # One dialect counts in seconds. Another test covers its rounding.
    (ResultMessage, "duration_ms"): st.integers(0, 2**50),
}


@st.composite
def records(draw: DrawFn, /, kind: Any, **fields: SearchStrategy[Any]) -> Any:
    """Instances of a class of the wire, or of a union of them; never an `Unknown…` one.

    `fields` have strategies of their own.
    """
    made = _value(draw, inspect.type_info(kind), DEPTH)
    return replace(made, **{name: draw(fields[name]) for name in fields}) if fields else made


def _value(draw: DrawFn, info: inspect.Type, depth: int) -> Any:
    match info:
        case inspect.StructType():
            return _struct(draw, info, depth)
        case inspect.UnionType(types=types):
            return _value(draw, draw(st.sampled_from([it for it in types if _known(it)])), depth)
        case inspect.ListType(item_type=item):
            return [_value(draw, item, depth - 1) for _ in range(_size(draw, depth))]
        case inspect.DictType(value_type=value):
            keys = [draw(texts) for _ in range(_size(draw, depth))]
            return {key: _value(draw, value, depth - 1) for key in keys}
    return draw(_SCALARS[type(info)])


def _known(info: inspect.Type) -> bool:
    return not (isinstance(info, inspect.StructType) and issubclass(info.cls, Unknown))


def _size(draw: DrawFn, depth: int) -> int:
    return draw(st.integers(0, 2)) if depth > 0 else 0


def _struct(draw: DrawFn, info: inspect.StructType, depth: int) -> Struct:
    required = [field for field in info.fields if field.required]
    optional = [field for field in info.fields if not (field.required or _constant(field))]
    if optional and depth > 0:
        choice = st.lists(st.sampled_from(optional), max_size=MOST_OPTIONAL, unique_by=_name)
        required += draw(choice)
    values = {
        field.name: draw(_FIELDS[info.cls, field.name])
        if (info.cls, field.name) in _FIELDS
        else _value(draw, field.type, depth - 1)
        for field in required
    }
    made: Struct = info.cls(**values)
    return made


def _name(field: inspect.Field) -> str:
    return field.name


def _constant(field: inspect.Field) -> bool:
    """Return whether the default is the only valid value, as with `subtype`."""
    return field.default_factory is not NODEFAULT and isinstance(field.default_factory(), str)
