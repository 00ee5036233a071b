"""Text from elsewhere, made safe to show.

What a model, a file or a server says can contain anything, also sequences that move the cursor, set
the title of the window, or turn the direction of writing. `safe` is the one way on which such text
gets to a terminal: what a terminal would act upon or hide is shown as an escape.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["cells", "clip", "fold", "one_line", "safe", "wrap"]

_OURS = "❯"
"""The mark before what a person types: text from elsewhere must not look like that."""
_PLAIN = re.compile(r"[\n\t -~]*")
_MOST_MARKS = 4
"""Combining marks on one character: more than any language writes, and they would cover lines."""


def safe(text: str) -> str:
    """Return text with everything escaped that a terminal would act upon or hide."""
    if _PLAIN.fullmatch(text):
        return text
    from ..errors import visible  # not for the help, which has none of it

    return "".join(_shown(visible(text)))


def _shown(text: str) -> Iterator[str]:
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        hidden = marks > _MOST_MARKS or character == _OURS
        yield character.encode("unicode_escape").decode() if hidden else character


def one_line(text: str, width: int) -> str:
    """Return text as one safe line, cut to a width."""
    return clip(safe(" ".join(text.split())), width)


def clip(line: str, width: int) -> str:
    """Cut a safe line so that it fits into a width, with an ellipsis if something is missing."""
    if cells(line) <= width:
        return line
    first = next(fold(line, max(width - 1, 1)))
    return f"{first}…"


def cells(text: str) -> int:
    """Return how many columns of a terminal a safe text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fold(line: str, width: int) -> Iterator[str]:
    """Cut a safe line, wherever that is, into parts that fit into a width."""
    part, used = "", 0
    for character in line.expandtabs(4):
        size = _cells(character)
        if used + size > width and part:
            yield part
            part, used = "", 0
        part += character
        used += size
    yield part


def wrap(text: str, width: int) -> list[str]:
    """Wrap a safe text at its blanks; there is one line at least."""
    lines, line = [], ""
    for word in text.split():
        for part in fold(word, width):
            if line and cells(line) + 1 + cells(part) > width:
                lines.append(line)
                line = ""
            line = f"{line} {part}" if line else part
    return [*lines, line]
