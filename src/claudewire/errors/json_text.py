"""Changing values in JSON, and leaving everything else as it was written.

A line may be many megabytes long, and this may run in a thread beside an event loop. The
interpreter changes between threads only between two steps of Python, so no single step, such as
decoding a string, is given more than a piece of a long line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

__all__ = ["dump_string", "rewrite", "rewrite_values"]

PIECE = 64 * 1024
"""Characters that are decoded or encoded in one step."""

_TOKEN = re.compile(r'["\[\]{}]|-?\d[\d.eE+-]*+')
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_COLON = re.compile(r"\s*+:")


def rewrite(line: str, change: Callable[[str, str], str]) -> str:
    """Change strings in JSON and leave everything else as it was written.

    Args:
        line: the JSON.
        change: takes the key of a string and the string, and returns the new one. A key of an
            object is itself a string under the key "".
    """
    return rewrite_values(line, change, lambda name, number: number, lambda outer, own: own)


def rewrite_values(
    line: str,
    change: Callable[[str, str], str],
    change_number: Callable[[str, str], str],
    inherit: Callable[[str, str], str],
) -> str:
    """Change strings and numbers in JSON.

    Args:
        line: the JSON.
        change: see `rewrite`.
        change_number: takes the key of a number and how it is written, and returns what to write.
        inherit: takes the name of an object and the key of a value in it, and returns the name
            that the value has for `change`.
    """
    return _Rewriter(line, change, change_number, inherit).run()


class _Rewriter:
    """Goes through a line, token by token."""

    def __init__(
        self,
        line: str,
        change: Callable[[str, str], str],
        change_number: Callable[[str, str], str],
        inherit: Callable[[str, str], str],
    ) -> None:
        self._line = line
        self._change = change
        self._change_number = change_number
        self._inherit = inherit
        self._key = self._name = ""
        """The last key, and the name of the value that comes next."""
        self._outer: list[tuple[str, str]] = [("", "")]
        """The key and the name of each list and object that is open."""
        self._pieces: list[str] = []
        self._done = 0

    def run(self) -> str:
        line, place = self._line, 0
        while (token := _TOKEN.search(line, place)) is not None:
            place = self._take(token)
        return "".join([*self._pieces, line[self._done :]])

    def _take(self, token: re.Match[str]) -> int:
        """Look at one token; return where the next may begin."""
        first = token[0][0]
        if first == '"':
            return self._string(token.start())
        if first in "[{":
            self._outer.append((self._key, self._name))
        elif first in "]}":
            self._key, self._name = self._outer[-1]
            if len(self._outer) > 1:
                self._outer.pop()
        else:
            new = self._change_number(self._key, token[0])
            if new != token[0]:
                self._replace(token.start(), token.end(), new)
        return token.end()

    def _string(self, start: int) -> int:
        end = _end_of_string(self._line, start + 1)
        if end is None:
            return len(self._line)  # every quote that follows is escaped, so none begins a string
        token = self._line[start:end]
        value = _value(token)
        colon = _COLON.match(self._line, end)
        new = self._change("" if colon else self._name, value)
        if new != value:
            # A lone surrogate is either an escape, or represents a byte that is not UTF-8.
            self._replace(start, end, dump_string(new, bool(_ESCAPED_SURROGATE.search(token))))
        if colon is None:
            return end
        self._key, self._name = value, self._inherit(self._outer[-1][1], value)
        return colon.end()

    def _replace(self, start: int, end: int, new: str) -> None:
        self._pieces += [self._line[self._done : start], new]
        self._done = end


def _end_of_string(line: str, start: int) -> int | None:
    """Find the place behind the closing quote; None if there is none."""
    begin = start
    while (quote := line.find('"', start)) >= 0:
        before = quote
        while before > begin and line[before - 1] == "\\":
            before -= 1
        if (quote - before) % 2 == 0:
            return quote + 1
        start = quote + 1
    return None


def _value(token: str) -> str:
    if "\\" not in token:
        return token[1:-1]
    return "".join(map(_decoded, _pieces_of(token[1:-1])))


def _decoded(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:  # an escape that JSON does not have
        return text


def _pieces_of(text: str) -> list[str]:
    """Cut a long string, but not within an escape, nor between two that are one character."""
    pieces, start = [], 0
    while len(text) - start > PIECE:
        cut = start + PIECE
        while cut > start and "\\" in text[max(start, cut - 12) : cut]:
            cut -= 12
        if cut <= start:
            break  # there are escapes everywhere
        pieces.append(text[start:cut])
        start = cut
    return [*pieces, text[start:]]


def dump_string(text: str, ensure_ascii: bool = True) -> str:
    """Write a string as JSON, a long one in pieces."""
    if len(text) <= PIECE:
        return json.dumps(text, ensure_ascii=ensure_ascii)
    pieces = (text[start : start + PIECE] for start in range(0, len(text), PIECE))
    written = (json.dumps(piece, ensure_ascii=ensure_ascii)[1:-1] for piece in pieces)
    return f'"{"".join(written)}"'
