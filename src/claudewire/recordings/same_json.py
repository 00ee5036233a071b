"""Compares JSON of two recordings of the same conversation, in which the ids are others."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

_ID_NAME = re.compile(r"(?:^|_)(?:uuids?|ids?)$|(?:Uuid|Id|ID)s?$")
_ID = re.compile(
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?:toolu|msg|req|srvtoolu|client|hook|cli)[_-]\w+"
)
_WORD = re.compile(r'(?<=")[\w-]+(?=")|[\w-]{16,}', re.ASCII)
"""A string of JSON that is one word, or a word so long that it may be an id inside of a text."""

Same = Callable[[str, Any, Any], bool]
"""Says whether two values with a name are the same; one may be `MISSING`."""

MISSING: Any = ...


class Leaf(NamedTuple):
    """A value in JSON that has no others in it, and the name of the field that it is in."""

    path: str
    name: str
    value: Any


def leaves(
    value: Any,
    label: Callable[[int, Any], object] = lambda index, item: index,
    *,
    lengths: bool = False,
    path: str = "$",
    name: str = "",
) -> Iterator[Leaf]:
    """Yield all values that have no others in them.

    Args:
        value: JSON.
        label: names an item of a list in its path, by its index and its value.
        lengths: yield the lengths of lists that are not empty, too.
        path: the path of the value.
        name: the name of the field that it is in.
    """
    inner: list[tuple[str, str, Any]] = []
    if isinstance(value, dict):
        inner = [(f"{path}.{key}", key, it) for key, it in value.items()]
    elif isinstance(value, list):
        inner = [(f"{path}[{label(at, it)}]", name, it) for at, it in enumerate(value)]
        if lengths and value:
            yield Leaf(f"{path}.length", "length", len(value))
    for below, field, it in inner:
        yield from leaves(it, label, lengths=lengths, path=below, name=field)
    if not inner:
        yield Leaf(path, name, value)


class Difference(NamedTuple):
    """A value that differs; `MISSING` if there is none."""

    path: str
    before: Any
    after: Any


def differences(before: Iterable[Leaf], after: Iterable[Leaf], same: Same) -> list[Difference]:
    """Compare the values at the same paths."""
    then, now = ({leaf.path: leaf for leaf in it} for it in (before, after))
    found = []
    for path, leaf in {**then, **now}.items():
        one, two = (it[path].value if path in it else MISSING for it in (then, now))
        if not same(leaf.name, one, two):
            found.append(Difference(path, one, two))
    return found


def load_line(text: str) -> Any:
    """Read a line; one that is no JSON is a string."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text


class Ids:
    """Which id stands for which: those of one conversation, and those of another.

    Args:
        pairs: known pairs.
        fixed: ids that are the same in both.
    """

    def __init__(self, pairs: dict[str, str] | None = None, fixed: Iterable[str] = ()) -> None:
        self._now = dict(pairs or {})
        self._then = {now: then for then, now in self._now.items()}
        self._fixed = {*fixed}

    def copy(self) -> Ids:
        """Return a copy, to try something out."""
        return Ids(self._now, self._fixed)

    def same(self, name: str, then: Any, now: Any) -> bool:
        """Compare two values. Two ids that were not seen before stand for each other from then on.

        Args:
            name: the name of the field that they are in.
            then: the value of one conversation.
            now: that of the other.
        """
        if not (isinstance(then, str) and isinstance(now, str)):
            # True is 1 in Python, but not in JSON.
            return isinstance(then, bool) == isinstance(now, bool) and bool(then == now)
        if _ID_NAME.search(name) or (is_id(then) and is_id(now)):
            return self._is_pair(then, now)
        return then == now or self.current(then) == now

    def _is_pair(self, then: str, now: str) -> bool:
        is_known = then in self._now or then in self._fixed
        if is_known or now in self._then or now in self._fixed or not (then and now):
            return now == self._now.get(then, then)
        self._now[then], self._then[now] = now, then
        return True

    def current(self, text: str) -> str:
        """Put the ids of the other conversation into a text or a line of one."""
        return _WORD.sub(lambda found: self._now.get(found[0], found[0]), text)


def is_id(text: str) -> bool:
    """Whether a text has the form of an id, whatever the name of its field."""
    return _ID.fullmatch(text) is not None


def ids_in(value: Any) -> set[str]:
    """Find the ids in JSON."""
    return {
        it.value for it in leaves(value) if isinstance(it.value, str) and _ID_NAME.search(it.name)
    }
