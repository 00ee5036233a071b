"""Make text from outside safe to show."""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_BLANK = (
    r"\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0e"
    r"\U000e0100-\U000e01ef"
)
"""Letters, marks and symbols that look like nothing. Emoji have U+FE0F, so it is not listed."""
_SPACES = r"\u00a0\u1680\u2000-\u200a\u202f\u205f"
"""Spaces that a shell takes for letters."""
_UNSEEN = re.compile(f"[{_BLANK}{_SPACES}]")
_MARK = r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]"
_PILE = re.compile(f"(?<={_MARK}{{4}}){_MARK}+")
"""More marks on one letter than any language has; they cover other lines."""


def visible(text: str, keep: str = "\n\t") -> str:
    """Replace everything that a terminal would act upon or hide with an escape.

    Args:
        text: any text.
        keep: control characters to leave as they are.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _PILE.sub(_escaped, _UNSEEN.sub(_escaped, text))
    if text.isprintable():
        return text
    return "".join(
        it if it in keep or unicodedata.category(it) not in _HIDDEN else _escape(it) for it in text
    )


def _escaped(match: re.Match[str]) -> str:
    return _escape(match[0])


def _escape(text: str) -> str:
    return text.encode("unicode_escape").decode()
