"""Comparing what an application sends with what was recorded, apart from its ids."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import PLACEHOLDER, rewrite
from .recording import RecordingEntry

__all__ = ["WIDEST", "Comparison", "Difference", "Ids", "excerpts"]

WIDEST = 160
"""Characters of a value that are shown: it may be a whole image."""

_ID_NAMES = ("requestid", "uuid", "uuids", "sessionid", "messageid", "callbackid", "callbackids")
_ID_LISTS = {"stillqueued", "cancelled"}
_LONG_ID = re.compile(r"(?<![\w-])[\w-]{16,}", re.ASCII)
"""So long that it can only be an id, wherever it stands: in the name of a file, in an error."""


def _holds_ids(name: str) -> bool:
    letters = name.replace("_", "").lower()
    return letters.endswith(_ID_NAMES) or letters in _ID_LISTS


class Ids:
    """Which id of the application replaces which one of the recording."""

    def __init__(self, live: Mapping[str, str]) -> None:
        self._live = dict(live)
        self._recorded = {now: then for then, now in live.items()}
        self._theirs: set[str] = set()
        self._changed = any(then != now for then, now in live.items())

    def note_received(self, entry: RecordingEntry) -> None:
        """Note the ids that the CLI made."""

        def note(name: str, value: str) -> str:
            if _holds_ids(name) and value not in self._live:
                self._theirs.add(value)
            return value

        rewrite(entry.text, note)

    def stands_for(self, now: str, then: str, new: dict[str, str]) -> bool:
        """Whether one id is the other; a pair that was not seen before is added to `new`."""
        known = self._live.get(then) or new.get(then)
        if known or then in self._theirs or not (now and then):
            return now == (known or then)
        if now in self._recorded or now in self._theirs or now in new.values():
            return False
        new[then] = now
        return True

    def learn(self, new: Mapping[str, str]) -> None:
        """Keep the pairs that `stands_for` found, once the whole line is known to match."""
        for then, now in new.items():
            self._live[then] = now
            self._recorded[now] = then
            self._changed |= then != now

    def current(self, line: str, new: Mapping[str, str] | None = None) -> str:
        """Put the application's ids into a recorded line."""
        if not self._changed and not new:
            return line
        live = {**self._live, **new} if new else self._live

        def change(name: str, value: str) -> str:
            if _holds_ids(name) and value in live:
                return live[value]
            return _LONG_ID.sub(lambda match: live.get(match[0], match[0]), value)

        return rewrite(line, change)

    def in_text(self, text: str) -> str:
        """Put the application's ids into a recorded string, where they can only be ids."""
        return _LONG_ID.sub(lambda match: self._live.get(match[0], match[0]), text)


# --- comparing -----------------------------------------------------------------------------------


class Difference(NamedTuple):
    """Where two lines differ, and how."""

    path: str
    reason: str


class Comparison:
    """A line that was sent, compared with one that was recorded."""

    def __init__(self, expected: str, got: str, ids: Ids, loose: bool) -> None:
        self.new: dict[str, str] = {}
        self._ids = ids
        self._loose = loose
        self.got = got
        try:
            pair = _load(expected), _load(got)
        except (ValueError, RecursionError):
            pair = (expected, got)
        self.differences: list[Difference] = list(self._walk("$", "", *pair))

    def _walk(self, path: str, name: str, then: Any, now: Any) -> Iterator[Difference]:
        if isinstance(then, dict) and isinstance(now, dict):
            yield from self._walk_objects(path, then, now)
        elif isinstance(then, list) and isinstance(now, list):
            for index, (one, other) in enumerate(zip(then, now, strict=False)):
                yield from self._walk(f"{path}[{index}]", name, one, other)
            if len(then) != len(now):
                reason = f"{len(then)} items were recorded, {len(now)} were sent"
                yield Difference(path, reason)
        elif not self._same(name, then, now):
            one, other = excerpts(_json(then), _json(now))
            yield Difference(path, f"{one} was recorded, {other} was sent")

    def _walk_objects(
        self, path: str, then: dict[str, Any], now: dict[str, Any]
    ) -> Iterator[Difference]:
        for name, value in then.items():
            here = f"{path}.{name}"
            if name in now:
                yield from self._walk(here, name, value, now[name])
            elif not self._loose or not (value is None or value is False or value in ("", [], {})):
                yield Difference(here, f"{_short(value)} was recorded, nothing was sent")
        for name, value in now.items():
            if name not in then and not self._loose:
                reason = f"nothing was recorded, {_short(value)} was sent"
                yield Difference(f"{path}.{name}", reason)

    def _same(self, name: str, then: Any, now: Any) -> bool:
        if isinstance(then, str) and isinstance(now, str):
            if _holds_ids(name):
                return self._ids.stands_for(now, then, self.new)
            return then == now or _numberless(self._ids.in_text(then)) == _numberless(now)
        # True is 1 in Python, but not in JSON.
        return isinstance(then, bool) == isinstance(now, bool) and bool(then == now)


def _load(line: str) -> Any:
    return json.loads(line, strict=False, parse_constant=_refuse)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")  # and not even equal to itself


def _numberless(text: str) -> str:
    """Drop the numbers of placeholders: they count secrets, of which not all are sent here."""
    return PLACEHOLDER.sub(r"<\1>", text)


def excerpts(one: str, other: str) -> tuple[str, str]:
    """Shorten two strings to where they begin to differ."""
    pairs = enumerate(zip(one, other, strict=False))
    differ = next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
    start = max(0, differ - WIDEST // 2) if max(len(one), len(other)) > WIDEST else 0
    return _excerpt(one, start), _excerpt(other, start)


def _excerpt(text: str, start: int = 0) -> str:
    end = start + WIDEST
    return f"{'…' if start else ''}{text[start:end]}{'…' if len(text) > end else ''}"


def _short(value: Any) -> str:
    return _excerpt(_json(value))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
