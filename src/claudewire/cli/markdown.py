"""Markdown as it comes: lines are given out as soon as they can no longer change.

A terminal keeps what was printed, so nothing is drawn twice: a paragraph is wrapped word by word,
and only the line that is still growing is shown apart, in `growing`. A table waits for its end.
Everything that is not Markdown stays as it is, and all of it is made safe.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .styles import Paint, painted_cells
from .text import cells, fold, safe

__all__ = ["MarkdownStream", "render_markdown"]

_FENCE = re.compile(r"(\s*)(`{3,}|~{3,})\s*([\w+#.-]*)")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")
_RULE = re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*$")
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,9}[.)])\s+(?:\[([ xX])\]\s+)?(.*)$", re.DOTALL)
_QUOTE = re.compile(r"\s*>\s?(.*)$", re.DOTALL)
_ROW = re.compile(r"\s*\|.*\|\s*$")
_DIVIDER = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
_MAYBE_BLOCK = re.compile(r"\s*(?:[-*+#>|`~]|\d+[.)]?)?\s*$")
"""The beginning of a line that may still turn out to be something else than a paragraph."""
_INLINE = re.compile(
    r"(?P<ticks>`+)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|\*\*(?P<strong>\S(?:.*?\S)?)\*\*"
    r"|(?<!\w)__(?P<strong2>\S(?:.*?\S)?)__(?!\w)"
    r"|(?<![\w*])\*(?P<em>[^\s*](?:[^*]*[^\s*])?)\*(?![\w*])"
    r"|(?<!\w)_(?P<em2>[^\s_](?:[^_]*[^\s_])?)_(?!\w)"
    r"|~~(?P<strike>\S(?:.*?\S)?)~~"
    r"|\[(?P<label>[^\]\n]+)\]\((?P<url>[^)\s]+)\)"
    r"|\\(?P<escaped>[\\`*_{}\[\]()#+.!|~>-])",
    re.DOTALL,
)
_OPENER = re.compile(r"[`*_\[\\~]")
_LONGEST_SPAN = 300
"""Characters after which something that was opened is no longer expected to be closed."""
_MOST_HIGHLIGHTED = 300
"""Lines of code that are highlighted: each new line looks at all before it."""


class _Word(NamedTuple):
    """Something that is not broken, painted; and where it ends in the source, if that is clean."""

    text: str
    size: int
    end: int | None
    gap: str
    """What is before it in a line: nothing if it is the rest of a word that was too long."""


class MarkdownStream:
    """Takes Markdown in pieces, and gives out lines for a terminal.

    Args:
        width: how many columns there are.
        paint: puts the styles around the text.
    """

    def __init__(self, width: int, paint: Paint) -> None:
        self.width: int = max(width, 10)
        self._paint = paint
        self._source = ""
        """The unfinished line, without what was given out of it."""
        self._rest: tuple[str, str] | None = None
        """What the rest of the unfinished line begins with, and its style; None if it is whole."""
        self._code: _Code | None = None
        self._rows: list[str] = []

    def feed(self, text: str) -> list[str]:
        """Take a piece; return the lines that are finished."""
        lines: list[str] = []
        *whole, rest = (self._source + text).split("\n")
        for line in whole:
            lines += self._line(line)
            self._rest = None
        self._source = rest
        if not self._holds():
            lines += self._settled()
        return lines

    @property
    def growing(self) -> list[str]:
        """What is not finished, as it looks now."""
        rows = [safe(row) for row in self._rows]
        if not self._source:
            return rows
        if self._holds():
            return [*rows, safe(self._source)]
        return [*rows, *(line for line, _ in self._wrapped(self._source))]

    def end(self) -> list[str]:
        """Return what is left, after the last piece."""
        lines = self._line(self._source) if self._source else []
        self._source, self._rest = "", None
        lines += self._table()
        self._code = None
        return lines

    def _holds(self) -> bool:
        """Whether the unfinished line is kept back whole."""
        if self._code is not None or _FENCE.match(self._source):
            return True
        if self._rest is not None:
            return False
        return self._source.lstrip().startswith("|") or bool(_MAYBE_BLOCK.match(self._source))

    # --- lines -----------------------------------------------------------------------------------

    def _line(self, line: str) -> list[str]:
        """Render a line that is complete."""
        if self._code is not None:
            return self._in_code(line, self._code)
        if self._rest is not None:
            return [text for text, _ in self._wrapped(line)] if line else []
        if _ROW.match(line):
            self._rows.append(line)
            return []
        before = self._table()
        fence = _FENCE.match(line)
        if fence is not None:
            self._code = _Code(fence[2], fence[3], self._paint)
            return before
        if _RULE.match(line):
            return [*before, self._paint("dim", self._paint.mark("rule") * min(self.width, 40))]
        return [*before, *(text for text, _ in self._wrapped(line))]

    def _in_code(self, line: str, code: _Code) -> list[str]:
        if line.strip().startswith(code.fence) and not line.strip(" `~"):
            self._code = None
            return []
        bar = self._paint("dim", self._paint.mark("bar")) + " "
        return [bar + part for part in code.line(line, self.width - 2)]

    def _settled(self) -> list[str]:
        """Give out the lines of the unfinished one that can no longer change."""
        wrapped = [*self._wrapped(self._source)]
        limit = _open_from(self._source)
        clean = 0
        for number, (_, end) in enumerate(wrapped[:-1], 1):
            if end is not None and end <= limit:
                clean = number
        if not clean:
            return []
        _, end = wrapped[clean - 1]
        _, prefix, style, *_ = self._prefixes(self._source)
        self._rest = (prefix, style)
        self._source = self._source[end:].lstrip(" ")
        return [*self._table(), *(line for line, _ in wrapped[:clean])]

    # --- paragraphs ------------------------------------------------------------------------------

    def _prefixes(self, line: str) -> tuple[str, str, str, int, str]:
        """Return what a line and its continuation begin with, its style, and where its text is."""
        paint = self._paint
        if self._rest is not None:
            prefix, style = self._rest
            return prefix, prefix, style, 0, line
        if (found := _HEADING.match(line)) is not None:
            return "", "", "heading", found.start(2), found[2]
        if (found := _ITEM.match(line)) is not None:
            indent = found[1].replace("\t", "    ")
            mark = paint.mark("bullet") if found[2] in "-*+" else found[2]
            if found[3]:
                mark = paint.mark("open" if found[3] == " " else "checked")
            return (
                f"{indent}{mark} ",
                indent + " " * (cells(mark) + 1),
                "",
                found.start(4),
                found[4],
            )
        if (found := _QUOTE.match(line)) is not None:
            bar = paint("dim", paint.mark("bar")) + " "
            return bar, bar, "dim", found.start(1), found[1]
        indent = line[: len(line) - len(line.lstrip(" "))][:8]
        return indent, indent, "", len(indent), line[len(indent) :]

    def _wrapped(self, line: str) -> Iterator[tuple[str, int | None]]:
        """Wrap a line; yield each part, and up to where it is in the source, if that is clean."""
        first, rest, style, offset, text = self._prefixes(line)
        words = self._words(text, style, offset)
        parts: list[str] = []
        prefix, used, end = first, painted_cells(first), None
        for word in words:
            gap = word.gap if parts else ""
            if parts and used + len(gap) + word.size > self.width:
                yield prefix + "".join(parts), end
                parts, prefix, used, gap = [], rest, painted_cells(rest), ""
            parts.append(gap + word.text)
            used += len(gap) + word.size
            end = word.end
        yield prefix + "".join(parts) if parts else prefix.rstrip(" "), end

    def _words(self, text: str, style: str, offset: int) -> Iterator[_Word]:
        """Cut the text into words, each of which may have parts in several styles."""
        paint, word, size, gap = self._paint, "", 0, " "
        room = max(self.width - 8, 4)
        for part, how, end in _fragments(text, style, offset):
            for index, piece in enumerate(re.split(r"(\s+)", part)):
                if index % 2:
                    if word:
                        yield _Word(word, size, end, gap)
                    word, size, gap = "", 0, " "
                    continue
                for chunk in fold(safe(piece), room) if piece else ():
                    if size + cells(chunk) > room:
                        yield _Word(word, size, None, gap)
                        word, size, gap = "", 0, ""
                    word += paint(how, chunk)
                    size += cells(chunk)
            ended = end
        if word:
            yield _Word(word, size, ended, gap)

    # --- tables ----------------------------------------------------------------------------------

    def _table(self) -> list[str]:
        """Render the rows that were kept back."""
        rows, self._rows = self._rows, []
        body = [row for row in rows if not _DIVIDER.match(row)]
        has_head = len(rows) > 1 and bool(_DIVIDER.match(rows[1]))
        table = [[self._cell(it) for it in _cells_of(row)] for row in body]
        columns = max((len(row) for row in table), default=0)
        sizes = [
            max(painted_cells(row[n]) for row in table if n < len(row)) for n in range(columns)
        ]
        if sum(sizes) + 2 * len(sizes) > self.width:
            return [line for row in body for line in fold(safe(row.strip()), self.width)]
        lines = ["  ".join(map(_padded, row, sizes)).rstrip() for row in table]
        if has_head and lines:
            rule = "  ".join(self._paint.mark("rule") * size for size in sizes)
            lines[:1] = [self._paint("strong", lines[0]), self._paint("dim", rule)]
        return lines

    def _cell(self, text: str) -> str:
        return "".join(word.gap + word.text for word in self._words(text, "", 0)).removeprefix(" ")


def _cells_of(row: str) -> list[str]:
    return [it.strip().replace("\\|", "|") for it in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def _padded(cell: str, size: int) -> str:
    return cell + " " * (size - painted_cells(cell))


def _open_from(text: str) -> int:
    """Return where something begins that may still be closed; behind the text if nothing does."""
    # A link that is complete may be inside of something that is still open.
    outside = _INLINE.sub(lambda found: " " * len(found[0]), text)
    found = _OPENER.search(outside, max(0, len(text) - _LONGEST_SPAN))
    return len(text) if found is None else found.start()


def _fragments(text: str, style: str, offset: int) -> Iterator[tuple[str, str, int | None]]:
    """Yield parts of a text, their styles, and where they end in the source, if that is clean."""
    position = 0
    for found in _INLINE.finditer(text):
        yield from _plain(text[position : found.start()], style, offset + position)
        position = found.end()
        parts = [*_span(found, style)]
        for part, how in parts:
            yield part, how, None
        yield "", style, offset + position
    yield from _plain(text[position:], style, offset + position)


def _plain(text: str, style: str, offset: int) -> Iterator[tuple[str, str, int | None]]:
    """Yield each word of a plain text by itself: it may be broken after each."""
    for found in re.finditer(r"\S+|\s+", text):
        yield found[0], style, offset + found.end()


def _span(found: re.Match[str], style: str) -> Iterator[tuple[str, str]]:
    if found["code"] is not None:
        yield found["code"].strip() or found["code"], f"{style} code"
    elif found["label"] is not None:
        yield found["label"], f"{style} link"
        if found["url"] != found["label"]:
            yield f" ({found['url']})", f"{style} dim"
    elif found["escaped"] is not None:
        yield found["escaped"], style
    else:
        name = {"strong2": "strong", "em2": "em"}.get(str(found.lastgroup), str(found.lastgroup))
        inner = found[str(found.lastgroup)]
        for part, how, _ in _fragments(inner, f"{style} {name}", 0):
            yield part, how


class _Code:
    """A block of code that is being read."""

    def __init__(self, fence: str, language: str, paint: Paint) -> None:
        self.fence = fence
        self._paint = paint
        self._lexer = _lexer_for(language) if language else None
        self._lines: list[str] = []

    def line(self, line: str, width: int) -> list[str]:
        """Render one line of it."""
        self._lines.append(line)
        parts = [*fold(safe(line), width)]
        if self._lexer is None or len(self._lines) > _MOST_HIGHLIGHTED or len(parts) > 1:
            return parts
        shown = _highlighted("\n".join(self._lines), self._lexer, self._paint)
        # A tab behind other characters may be wider there.
        return [shown] if painted_cells(shown) <= width else parts


def _lexer_for(language: str) -> object:
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


_TOKENS = (
    ("Token.Generic.Inserted", "added"),
    ("Token.Generic.Deleted", "removed"),
    ("Token.Generic.Subheading", "hunk"),
    ("Token.Keyword", "keyword"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
    ("Token.Comment", "comment"),
    ("Token.Name.Function", "function"),
    ("Token.Name.Class", "function"),
)


def _highlighted(source: str, lexer: object, paint: Paint) -> str:
    """Highlight the last line of a source: what came before it can change what it means."""
    lines: list[list[str]] = [[]]
    # With the end of the line: without it, the lexer of diffs does not know what a line is.
    for token, text in lexer.get_tokens(f"{source}\n"):  # type: ignore[attr-defined]
        style = next((how for name, how in _TOKENS if str(token).startswith(name)), "")
        first, *more = (paint(style, safe(part.expandtabs(4))) for part in text.split("\n"))
        lines[-1].append(first)
        lines += [[part] for part in more]
    return "".join(lines[-2])


def render_markdown(text: str, width: int, paint: Paint) -> Sequence[str]:
    """Render a whole text at once."""
    stream = MarkdownStream(width, paint)
    return [*stream.feed(text), *stream.end()]
