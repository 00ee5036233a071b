"""Colours and marks, by name. All of them can be read on a light and on a dark background."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TextIO

from .text import cells, fold

__all__ = ["Paint", "clip_painted", "is_rich", "painted_cells"]

_STYLES = {
    "strong": ("1", ""),
    "em": ("3", ""),
    "strike": ("9", ""),
    "dim": ("2", ""),
    "heading": ("1", "36"),
    "code": ("", "36"),
    "link": ("4", ""),
    "ok": ("", "32"),
    "bad": ("", "31"),
    "ask": ("1", "35"),
    "bar": ("", "35"),
    "added": ("", "32"),
    "removed": ("", "31"),
    "hunk": ("", "36"),
    "tool": ("1", ""),
    "keyword": ("", "35"),
    "string": ("", "32"),
    "comment": ("2", ""),
    "number": ("", "36"),
    "function": ("1", ""),
}
"""For each style the attributes, and the colour, which is left out with `NO_COLOR`."""

_MARKS = {
    "done": ("✓", "+"),
    "failed": ("✗", "x"),
    "running": ("▸", ">"),
    "bullet": ("•", "*"),
    "bar": ("│", "|"),
    "rule": ("─", "-"),
    "dot": ("·", "-"),
    "you": ("❯", ">"),
    "open": ("☐", "[ ]"),
    "checked": ("☑", "[x]"),
}
"""For each mark a character, and what stands for it where that cannot be written."""

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def is_rich(stream: TextIO, env: Mapping[str, str] | None = None) -> bool:
    """Whether a stream is a terminal that can move its cursor."""
    env = os.environ if env is None else env
    return stream.isatty() and env.get("TERM", "dumb") != "dumb"


class Paint:
    """Puts styles around text, and knows the marks.

    Args:
        attributes: whether there are styles at all.
        colour: whether there are colours among them.
        unicode: whether marks can be more than ASCII.
    """

    def __init__(
        self, *, attributes: bool = True, colour: bool = True, unicode: bool = True
    ) -> None:
        self._codes = {
            name: ";".join(it for it in (plain, hue if colour else "") if it) if attributes else ""
            for name, (plain, hue) in _STYLES.items()
        }
        self._unicode = unicode

    @classmethod
    def for_stream(cls, stream: TextIO, env: Mapping[str, str] | None = None) -> Paint:
        """Find out what a stream can show."""
        env = os.environ if env is None else env
        encoding = (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "")
        rich = is_rich(stream, env)
        colour = not env.get("NO_COLOR")
        return cls(attributes=rich, colour=colour, unicode=encoding == "utf8")

    def __call__(self, style: str, text: str) -> str:
        """Return the text in a style; several can be given, separated by blanks."""
        codes = ";".join(code for name in style.split() if (code := self._codes[name]))
        return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text

    def mark(self, name: str) -> str:
        """Return a mark."""
        return _MARKS[name][0 if self._unicode else 1]


def painted_cells(line: str) -> int:
    """Return how many columns a line takes that was painted here."""
    return cells(_ESCAPE.sub("", line))


def clip_painted(line: str, width: int) -> str:
    """Cut a painted line so that it fits; it loses its styles if something is missing."""
    if painted_cells(line) <= width:
        return line
    plain = _ESCAPE.sub("", line)
    return next(fold(plain, max(width - 1, 1))) + "…"
