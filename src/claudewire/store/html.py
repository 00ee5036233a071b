"""A conversation as one HTML file: no script, nothing loaded, light and dark."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from html import escape
from typing import Any

from .facts import SessionInfo, as_time
from .markup import markdown_to_html
from .sections import Item, Note, Picture, Said, Section, Thought, ToolCall
from .style import STYLE

__all__ = ["html_pages"]

Change = Callable[[str], str]

LABEL = 120
"""Characters of what a tool was given that are shown in its line."""

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
"""

_PICTURES = re.compile(r"image/(?:png|jpeg|gif|webp)")
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")


def html_pages(
    info: SessionInfo, sections: Iterable[Section], change: Change, *, tool_output: bool
) -> Iterator[str]:
    """Yield the pieces of an HTML file."""
    title = escape(change(info.title or "A conversation"))
    yield _HEAD.format(title=title, style=STYLE)
    yield f"<header>\n<h1>{title}</h1>\n{_facts(info, change)}</header>\n<main>\n"
    writer = _Writer(change, tool_output, info.cwd)
    prompts: list[tuple[str, str]] = []
    for number, section in enumerate(sections, 1):
        anchor = f"s{number}"
        if section.prompt:
            prompts.append((anchor, change(section.prompt)))
        yield writer.section(section, anchor)
    # At the end of the file, as it is known only then; the style puts it beside the conversation.
    yield "</main>\n" + _contents(prompts)
    yield "<footer>Exported by claudewire</footer>\n</body>\n</html>\n"


def _facts(info: SessionInfo, change: Change) -> str:
    totals = info.totals
    tokens = f"{_number(totals.prompt_tokens)} in, {_number(totals.output_tokens)} out"
    facts = {
        "Project": change(info.cwd or ""),
        "Branch": change(info.branch or ""),
        "Model": change(", ".join(info.models)),
        "When": _span(info.begin, info.end),
        "Tokens": "" if not totals.tokens else tokens + (" at least" if totals.estimated else ""),
        "Cost": "" if info.cost_usd is None else f"${info.cost_usd:.2f}",
        "Session": info.id,
    }
    rows = (f"<div><dt>{name}</dt><dd>{escape(it)}</dd></div>" for name, it in facts.items() if it)
    return f"<dl>{''.join(rows)}</dl>\n"


def _number(count: int) -> str:
    for size, unit in ((1_000_000, "M"), (10_000, "k")):
        if count >= size:
            return f"{count / (1000 if unit == 'k' else size):.1f}".removesuffix(".0") + unit
    return f"{count:,}"


def _span(begin: datetime | None, end: datetime | None) -> str:
    if begin is None:
        return ""
    first = f"{begin.astimezone(UTC):%Y-%m-%d %H:%M}"
    last = first if end is None else f"{end.astimezone(UTC):%Y-%m-%d %H:%M}"
    if last[:10] == first[:10]:
        last = last[11:]
    return f"{first} UTC" if first.endswith(last) else f"{first} to {last} UTC"


def _contents(prompts: list[tuple[str, str]]) -> str:
    if len(prompts) < 2:
        return ""
    items = "".join(
        f'<li><a href="#{anchor}">{escape(_short(text, 90))}</a></li>' for anchor, text in prompts
    )
    return f"<nav aria-label=Prompts><h2>Prompts</h2><ol>{items}</ol></nav>\n"


def _short(text: str, length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


class _Writer:
    """Writes sections.

    Args:
        change: takes the secrets out of a text.
        tool_output: whether the output of tools is shown.
        cwd: the directory of the project.
    """

    def __init__(self, change: Change, tool_output: bool, cwd: str | None) -> None:
        self._change = change
        self._tool_output = tool_output
        self._cwd = cwd

    def section(self, section: Section, anchor: str = "", speaker: str = "User") -> str:
        """Write a prompt and what came of it."""
        id = f' id="{anchor}"' if anchor else ""
        parts = [f"<section{id}>\n"]
        if section.prompt or section.pictures:
            time = as_time(section.time)
            when = "" if time is None else _time(time)
            text = markdown_to_html(self._change(section.prompt))
            images = "".join(map(self._picture, section.pictures))
            parts.append(
                f'<article class="user"><h2>{speaker}{when}</h2>{text}{images}</article>\n'
            )
        parts += [self._item(item) for item in section.items]
        return "".join(parts) + "</section>\n"

    def _item(self, item: Item) -> str:
        if isinstance(item, Said):
            return f'<article class="model">{markdown_to_html(self._change(item.text))}</article>\n'
        if isinstance(item, Thought):
            text = markdown_to_html(self._change(item.text))
            return f'<details class="thought"><summary>Thinking</summary>{text}</details>\n'
        if isinstance(item, Note):
            return self._note(item)
        return self._call(item)

    def _note(self, note: Note) -> str:
        text = escape(self._change(note.text))
        if not note.detail:
            return f'<p class="note"><span>{text}</span></p>\n'
        detail = escape(self._change(note.detail))
        return f'<details class="note"><summary>{text}</summary><pre>{detail}</pre></details>\n'

    def _picture(self, picture: Picture) -> str:
        known = _PICTURES.fullmatch(picture.media_type) and _BASE64.fullmatch(picture.data)
        if not known:
            return f'<p class="note"><span>{escape(self._change(picture.media_type))}</span></p>'
        source = f"data:{picture.media_type};base64,{''.join(picture.data.split())}"
        return f'<img alt="An image of the conversation" src="{source}">'

    def _call(self, call: ToolCall) -> str:
        failed = " failed" if call.is_error else ""
        note = " <i>failed</i>" if call.is_error else ""
        label = escape(_short(self._change(self._relative(_label(call.input))), LABEL))
        inside = [self._given(call), *map(self._picture, call.pictures)]
        if call.sections:
            agent = "".join(self.section(it, speaker="Task") for it in call.sections)
            inside.append(f'<div class="agent">{agent}</div>')
        inside.append(self._output(call))
        return (
            f'<details class="tool{failed}"><summary><b>{escape(self._change(call.name))}</b> '
            f"<span>{label}</span>{note}</summary>{''.join(inside)}</details>\n"
        )

    def _given(self, call: ToolCall) -> str:
        given = call.input
        if call.sections:
            return ""  # the subagent's conversation begins with it
        if isinstance(given.get("command"), str) and len(given) <= 5:
            return f"<pre class=given>{escape(self._change(given['command']))}</pre>"
        if isinstance(given.get("old_string"), str) and isinstance(given.get("new_string"), str):
            return self._diff(given["old_string"], given["new_string"])
        if isinstance(given.get("content"), str) and "file_path" in given:
            return self._diff("", given["content"])
        if list(given) in (["file_path"], ["path"], ["pattern"], ["query"], ["url"]):
            return ""  # it is in the line above
        text = self._change(json.dumps(given, ensure_ascii=False, indent=2))
        return f"<pre class=given>{escape(text)}</pre>"

    def _relative(self, path: str) -> str:
        """Shorten a path inside the project."""
        return path.removeprefix(f"{self._cwd}/") if self._cwd else path

    def _diff(self, old: str, new: str) -> str:
        if new.endswith("\n") and (not old or old.endswith("\n")):
            old, new = old.removesuffix("\n"), new.removesuffix("\n")
        before, after = self._change(old).split("\n") if old else [], self._change(new).split("\n")
        # The names of the two files come first; a line of a file can begin with a minus as well.
        lines = [*difflib.unified_diff(before, after, n=3, lineterm="")][2:]
        shown = [line for line in lines if not line.startswith("@@")]
        return f"<pre class=diff>{''.join(map(_diff_line, shown))}</pre>"

    def _output(self, call: ToolCall) -> str:
        if call.output is None or not self._tool_output:
            return ""
        text = self._change(call.output).rstrip()
        if not text:
            return '<p class="note"><span>No output</span></p>'
        return f"<pre class=output>{escape(text)}</pre>"


def _time(time: datetime) -> str:
    time = time.astimezone(UTC)
    return f' <time datetime="{time.isoformat()}">{time:%H:%M}</time>'


def _label(given: dict[str, Any]) -> str:
    """Choose from what a tool was given what tells most about it."""
    for name in (
        "description",
        "command",
        "file_path",
        "pattern",
        "query",
        "path",
        "url",
        "prompt",
    ):
        if isinstance(given.get(name), str) and given[name]:
            return str(given[name])
    return next((value for value in given.values() if isinstance(value, str)), "")


def _diff_line(line: str) -> str:
    kind = {"+": "ins", "-": "del"}.get(line[:1], "span")
    return f"<{kind}>{escape(line)}</{kind}>"
