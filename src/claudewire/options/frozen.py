"""Values that nobody can change any more: what JSON can hold, copied and frozen.

Whoever hands over a list or a dict may go on changing it. What is kept here is a copy in which a
list has become a tuple and a dict a `FrozenMap`, at every depth; it can be compared and hashed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

__all__ = ["EMPTY", "FrozenMap", "NotJSON", "freeze", "thaw"]

KeyT = TypeVar("KeyT")
ValueT_co = TypeVar("ValueT_co", covariant=True)


class FrozenMap(Mapping[KeyT, ValueT_co]):
    """A mapping that stays as it is. It equals any mapping with the same items."""

    __slots__ = ("_hash", "_items")

    def __init__(self, items: Mapping[KeyT, ValueT_co]) -> None:
        self._items = dict(items)
        self._hash: int | None = None

    def __getitem__(self, key: KeyT) -> ValueT_co:
        return self._items[key]

    def __iter__(self) -> Iterator[KeyT]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._items.items()))
        return self._hash

    def __repr__(self) -> str:
        return repr(self._items)


EMPTY: FrozenMap[Any, Any] = FrozenMap({})


class NotJSON(ValueError):
    """Something that JSON has no form for; the message says where and what."""


def freeze(value: Any, path: str = "$") -> Any:
    """Copy what JSON can hold, so that it cannot change. Records stay records.

    Args:
        value: the value.
        path: where it is, for the error.

    Raises:
        NotJSON: there is something in it that JSON has no form for.
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _writable(value, path)
    if isinstance(value, float):
        return _finite(value, path)
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        frozen = {name: freeze(item, f"{path}.{name}") for name, item in fields.items()}
        return msgspec.structs.replace(value, **frozen)
    if isinstance(value, Mapping):
        return FrozenMap({_key(key, path): freeze(value[key], f"{path}.{key}") for key in value})
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return tuple(freeze(item, f"{path}[{index}]") for index, item in enumerate(value))
    raise NotJSON(f"{path} is a {type(value).__name__}, which JSON has no form for")


def thaw(value: Any) -> Any:
    """Give a copy that JSON can be written from, with lists and dicts again."""
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **{name: thaw(it) for name, it in fields.items()})
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [thaw(item) for item in value]
    return value


def _key(key: Any, path: str) -> str:
    if not isinstance(key, str):
        raise NotJSON(f"{path} has the key {key!r}; in JSON a key is a text")
    return _writable(key, path)


def _writable(text: str, path: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise NotJSON(f"{path} holds half a character (U+{code:04X}), no valid text") from None
    return str(text)


def _finite(number: float, path: str) -> float:
    if not math.isfinite(number):
        raise NotJSON(f"{path} is {number}, which JSON has no form for")
    return number
