"""Consoles with the styles of this command, and Markdown as lines.

A line is a `rich.text.Text`. All text from elsewhere goes through `safe` first.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console
from rich.markdown import Heading, Markdown
from rich.text import Text
from rich.theme import Theme

from .text import safe

_UNLIMITED = 1_000_000
"""Columns of a file or pipe: lines are never cut, so that all of them can be searched."""

_THEME = Theme(
    {
        "strong": "bold",
        "dim": "dim",
        "keys": "dim",
        "heading": "bold cyan",
        "code": "cyan",
        "ok": "green",
        "bad": "red",
        "ask": "bold magenta",
        "added": "green",
        "removed": "red",
        "hunk": "cyan",
        "markdown.code": "cyan",
        "markdown.h1": "bold cyan",
        "markdown.h2": "bold cyan",
    }
)

_LONGEST_UNFINISHED = 4000
"""Characters of an unfinished block to show: more than fit on a screen."""


def console_for(stream: TextIO) -> Console:
    """Make a console that writes to a stream."""
    width = None if stream.isatty() else _UNLIMITED
    return Console(
        file=stream, theme=_THEME, highlight=False, markup=False, emoji=False, width=width
    )


def stdout() -> Console:
    """Make a console that writes to stdout."""
    return console_for(sys.stdout)


def put(console: Console, *lines: Text | str) -> None:
    """Print lines as they are: neither wrapped nor cut."""
    for line in lines:
        console.print(line, soft_wrap=True)


def painted(console: Console, lines: Iterable[Text]) -> str:
    """Return lines as text with escape sequences, each with its newline."""
    with console.capture() as captured:
        put(console, *lines)
    return captured.get()


def is_rich(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def is_pipe(stream: TextIO) -> bool:
    """Return whether output to a stream goes to another program."""
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def clip(line: Text | str, width: int) -> Text:
    """Cut a line to a width; an ellipsis marks the cut."""
    line = line.copy() if isinstance(line, Text) else Text(line)
    line.truncate(max(width, 1), overflow="ellipsis")
    return line


def wrapped(text: str, width: int, style: str = "") -> list[Text]:
    """Make foreign text safe and wrap its lines."""
    return [*Text(safe(text), style=style).wrap(_MEASURE, max(width, 10), tab_size=4)]


_MEASURE = Console(file=io.StringIO(), theme=_THEME, color_system="truecolor", force_terminal=True)


# --- Markdown ------------------------------------------------------------------------------------


class _Heading(Heading):
    """A heading at the left, not in the middle."""

    LEVEL_ALIGN = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class _Markdown(Markdown):
    elements = {**Markdown.elements, "heading_open": _Heading}


def markdown_lines(text: str, width: int) -> list[Text]:
    """Render Markdown as lines that are safe and fit into a width."""
    markdown = _Markdown(safe(text), code_theme="ansi_dark", hyperlinks=False)
    options = _MEASURE.options.update_width(max(width, 10))
    lines = []
    for segments in _MEASURE.render_lines(markdown, options, pad=False):
        # Safe again, because Markdown turns `&#x202e;` into the character itself.
        line = Text.assemble(*((safe(it.text), it.style or "") for it in segments))
        line.rstrip()
        lines.append(line)
    while lines and not lines[0]:
        del lines[0]
    while lines and not lines[-1]:
        del lines[-1]
    return lines


class MarkdownStream:
    """Takes Markdown in pieces, and returns finished blocks as lines.

    A terminal keeps printed lines, so a block is printed when it is complete: a blank line outside
    a code block ends it. Until then its source is in `unfinished`.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._source = ""
        self._gap: list[Text] = []

    def feed(self, text: str) -> list[Text]:
        """Take a piece; return the lines of the blocks that it completes."""
        self._source += text
        done, _, rest = self._source.rpartition("\n\n")
        # An indented line would continue a list.
        if not done or done.count("```") % 2 or not rest.strip() or rest[0].isspace():
            return []
        self._source = rest
        return self._rendered(done)

    def _rendered(self, source: str) -> list[Text]:
        if not source.strip():
            return []
        gap, self._gap = self._gap, [Text()]
        return [*gap, *markdown_lines(source, self._console.width)]

    @property
    def unfinished(self) -> list[Text]:
        """The source of the unfinished block, wrapped."""
        source = self._source[-_LONGEST_UNFINISHED:].strip("\n")
        return [*self._gap, *wrapped(source, self._console.width)] if source.strip() else []

    def end(self) -> list[Text]:
        """Return the rest, after the last piece."""
        rest, self._source = self._source, ""
        return self._rendered(rest)
