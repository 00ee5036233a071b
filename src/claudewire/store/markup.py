"""The Markdown that models write, as HTML. What is not known stays text, and no HTML passes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

__all__ = ["markdown_to_html"]

_FENCE = re.compile(r"^\s*(```+|~~~+)\s*([\w+#.-]*)\s*$")
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
_RULE = re.compile(r"^\s*([-*_])(?:\s*\1){2,}\s*$")
_ITEM = re.compile(r"^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$")
_QUOTE = re.compile(r"^\s*>\s?(.*)$")
_ROW = re.compile(r"^\s*\|.*\|\s*$")
_DIVIDER = re.compile(r"^\s*\|[\s:|-]+\|\s*$")
_CODE = re.compile(r"(`+)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"\[([^\]\n]{1,500})\]\((https?://[^\s()<>\"]{1,2000})\)")
_STRONG = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", re.DOTALL)
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]+?)(?<=\S)\*(?![\w*])")


def markdown_to_html(text: str) -> str:
    """Render a text."""
    return "".join(_blocks(text.split("\n")))


def _blocks(lines: list[str]) -> Iterator[str]:
    position = 0
    while position < len(lines):
        line = lines[position]
        fence = _FENCE.match(line)
        if fence is not None:
            end = _end_of_fence(lines, position + 1, fence[1])
            yield _code_block(lines[position + 1 : end], fence[2])
            position = end + 1
        elif not line.strip():
            position += 1
        else:
            end = _end_of_block(lines, position)
            yield _block(lines[position:end])
            position = end


def _end_of_fence(lines: list[str], start: int, fence: str) -> int:
    for position in range(start, len(lines)):
        if lines[position].strip() == fence:
            return position
    return len(lines)


def _code_block(lines: list[str], language: str) -> str:
    name = f' data-language="{escape(language)}"' if language else ""
    return f"<pre{name}><code>{escape(chr(10).join(lines))}</code></pre>\n"


def _end_of_block(lines: list[str], start: int) -> int:
    """Find the line after a block: an empty line, or one that begins something else."""
    kind = _kind(lines[start])
    if kind in ("heading", "rule"):
        return start + 1
    for position in range(start + 1, len(lines)):
        line = lines[position]
        other = _kind(line)
        goes_on = other == kind or (other == "text" and kind in ("item", "quote"))
        if not line.strip() or _FENCE.match(line) or not goes_on:
            return position
    return len(lines)


def _kind(line: str) -> str:
    kinds = (
        ("heading", _HEADING),
        ("rule", _RULE),
        ("item", _ITEM),
        ("quote", _QUOTE),
        ("row", _ROW),
    )
    return next((name for name, pattern in kinds if pattern.match(line)), "text")


def _block(lines: list[str]) -> str:
    kind = _kind(lines[0])
    if kind == "heading":
        found = _HEADING.match(lines[0])
        level = min(6, len(found[1]) + 2) if found else 6
        return f"<h{level}>{_inline(found[2] if found else '')}</h{level}>\n"
    if kind == "rule":
        return "<hr>\n"
    if kind == "item":
        return _list(lines)
    if kind == "quote":
        inside = [found[1] if (found := _QUOTE.match(line)) else line for line in lines]
        return f"<blockquote>{markdown_to_html(chr(10).join(inside))}</blockquote>\n"
    if kind == "row" and len(lines) > 1 and _DIVIDER.match(lines[1]):
        return _table(lines)
    return f"<p>{'<br>'.join(map(_inline, lines))}</p>\n"


def _list(lines: list[str]) -> str:
    """Render a list; lists inside it by how far they are indented."""
    html, open_lists = [], list[tuple[int, str]]()
    for line in lines:
        found = _ITEM.match(line)
        if found is None:
            html.append(f"<br>{_inline(line.strip())}")
            continue
        indent, tag = len(found[1].expandtabs(4)), "ol" if found[2][0].isdigit() else "ul"
        while open_lists and open_lists[-1][0] > indent:
            html.append(f"</li></{open_lists.pop()[1]}>")
        if not open_lists or open_lists[-1][0] < indent:
            open_lists.append((indent, tag))
            html.append(f"<{tag}>")
        else:
            html.append("</li>")
        html.append(f"<li>{_inline(found[3])}")
    html += [f"</li></{tag}>" for _, tag in reversed(open_lists)]
    return "".join(html) + "\n"


def _table(lines: list[str]) -> str:
    head, *rows = [_cells(line) for line in [lines[0], *lines[2:]]]
    top = "".join(f"<th>{_inline(cell)}</th>" for cell in head)
    body = "".join(
        f"<tr>{''.join(f'<td>{_inline(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<div class=wide><table><tr>{top}</tr>{body}</table></div>\n"


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _inline(text: str) -> str:
    """Render what is inside a paragraph. Code is taken out first, as nothing counts in it."""
    pieces, done = [], 0
    for found in _CODE.finditer(text):
        pieces += [_marked(text[done : found.start()]), f"<code>{escape(found[2].strip())}</code>"]
        done = found.end()
    return "".join([*pieces, _marked(text[done:])])


def _marked(text: str) -> str:
    html = escape(text)
    html = _LINK.sub(r'<a href="\2" rel="noreferrer noopener">\1</a>', html)
    html = _STRONG.sub(r"<strong>\1</strong>", html)
    return _EMPHASIS.sub(r"<em>\1</em>", html)
