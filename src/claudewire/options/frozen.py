"""Values that cannot change: what JSON can hold, copied and frozen.

A caller may go on changing a list or a dict after passing it. What is kept is a copy in which a
list has become a tuple and a dict a `FrozenMap`, at every depth; it can be compared and hashed.
"""

from __future__ import annotations

import math
from collections.abc import ItemsView, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from ..errors import OptionsError

__all__ = ["EMPTY", "FrozenMap", "freeze", "thaw"]

KeyT = TypeVar("KeyT")
ValueT_co = TypeVar("ValueT_co", covariant=True)


class FrozenMap(Mapping[KeyT, ValueT_co]):
    """A mapping that cannot change. It equals any mapping with the same items."""

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

    # What `Mapping` has for these two takes ten times as long, and each session uses them often.

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def items(self) -> ItemsView[KeyT, ValueT_co]:
        """What it holds."""
        return self._items.items()

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._items.items()))
        return self._hash

    def __repr__(self) -> str:
        return repr(self._items)


EMPTY: FrozenMap[Any, Any] = FrozenMap({})

MOST_LEVELS = 200
"""How deeply a value may be nested. At Python's own limit, whatever the garbage collector finalizes
would fail."""


def freeze(value: Any, path: str = "$") -> Any:
    """Copy what JSON can hold, so that it cannot change. Structs stay structs.

    Args:
        value: the value.
        path: where it is, for the error.

    Raises:
        OptionsError: it holds something that JSON cannot express; the message says where and what.
    """
    try:
        return _freeze(value, path, MOST_LEVELS)
    except RecursionError:
        raise OptionsError(f"{path} is nested too deeply, or holds itself") from None


def _freeze(value: Any, path: str, levels: int) -> Any:
    if not levels:
        raise RecursionError
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _writable(value, path)
    if isinstance(value, float):
        return _finite(value, path)
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        frozen = {
            name: _freeze(item, f"{path}.{name}", levels - 1) for name, item in fields.items()
        }
        return msgspec.structs.replace(value, **frozen)
    if isinstance(value, Mapping):
        return FrozenMap(
            {_key(key, path): _freeze(value[key], f"{path}.{key}", levels - 1) for key in value}
        )
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return tuple(
            _freeze(item, f"{path}[{index}]", levels - 1) for index, item in enumerate(value)
        )
    raise OptionsError(f"{path} is a {type(value).__name__}, which JSON cannot express")


def thaw(value: Any) -> Any:
    """Return a copy that JSON can be written from, with lists and dicts again."""
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
        raise OptionsError(f"{path} has the key {key!r}; in JSON a key is a string")
    return _writable(key, path)


def _writable(text: str, path: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise OptionsError(f"{path} holds half a character (U+{code:04X})") from None
    return str(text)


def _finite(number: float, path: str) -> float:
    if not math.isfinite(number):
        raise OptionsError(f"{path} is {number}, which JSON cannot express")
    return number
