"""Makes text of unknown origin safe to show: what a terminal would act upon or hide is escaped."""

from __future__ import annotations

import unicodedata

__all__ = ["visible"]

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def visible(text: str, keep: str = "\n\t") -> str:
    """Replace everything that a terminal would act upon or hide with an escape.

    Args:
        text: any text.
        keep: control characters to leave as they are.
    """
    if text.isprintable():
        return text  # which most is, and this is much faster
    return "".join(it if it in keep else _visible(it) for it in text)


def _visible(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape").decode()
