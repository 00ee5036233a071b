"""Text from elsewhere as text for a terminal, and a few words about numbers.

Text from a model, a file or a server can contain anything, also sequences that move the cursor, set
the title of the window, or turn the direction of writing. `safe` escapes everything that a terminal
would act upon or hide; no such text reaches a terminal without it.
"""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from ..errors import visible

_OURS = "❯"
"""The mark before what a person types: foreign text must not look like that."""


def safe(text: str) -> str:
    """Return text with everything escaped that a terminal would act upon or hide."""
    return visible(text).replace(_OURS, "\\u276f")


def one_line(text: str, width: int) -> str:
    """Return text as one safe line, cut to a width in cells."""
    line = safe(" ".join(text.split()))
    return line if cell_len(line) <= width else f"{set_cell_size(line, max(width - 1, 0))}…"


def counted(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun: `1 line`, `2 lines`."""
    return f"{number} {one if number == 1 else several or f'{one}s'}"


def duration(seconds: float) -> str:
    """Write a duration in a few characters."""
    if seconds < 0.0995:
        return f"{seconds * 1000:.{1 if seconds < 0.00995 else 0}f} ms"
    if seconds < 60:
        return f"{seconds:.{2 if seconds < 10 else 1}f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest:02d} s"
