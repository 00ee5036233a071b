"""A conversation in HTML and in Markdown. All texts that a writer gets are safe to show."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC
from html import escape
from importlib.resources import files
from typing import Any

from msgspec import Struct

from ..html_page import html_page
from .facts import as_time
from .files import StoreError

LABEL = 120
"""Characters of a tool's input that are shown in its line."""

_LABELS = ("description", "command", "file_path", "pattern", "query", "path", "url", "prompt")
"""Fields of a tool's input by how much they tell about it."""

_PICTURES = re.compile(r"image/(?:png|jpeg|gif|webp)")
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")


class Call(Struct, frozen=True):
    """A call of a tool, with its result; `agent` is the conversation of the subagent."""

    name: str
    input: dict[str, Any]
    output: str | None
    is_error: bool
    pictures: str
    agent: str


class HtmlWriter:
    """Writes one HTML file: no script, nothing loaded, light and dark."""

    def __init__(self) -> None:
        self._markdown = _markdown_reader()
        self._prompts: list[str] = []
        self._project = ""

    def page(self, title: str, facts: dict[str, str], body: Iterator[str]) -> Iterator[str]:
        """Write the whole file."""
        self._project = facts.get("Project", "")
        style = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
        return html_page(title, style, self._body(title, facts, body))

    def _body(self, title: str, facts: dict[str, str], body: Iterator[str]) -> Iterator[str]:
        rows = (f"<div><dt>{it}</dt><dd>{escape(facts[it])}</dd></div>" for it in facts)
        yield f"<header>\n<h1>{escape(title)}</h1>\n<dl>{''.join(rows)}</dl>\n</header>\n<main>\n"
        yield from body
        yield "</main>\n"
        if len(self._prompts) > 1:  # known at the end; the style puts it beside the conversation
            items = (
                f'<li><a href="#s{number}">{escape(one_line(text, 90))}</a></li>'
                for number, text in enumerate(self._prompts, 1)
            )
            yield "<nav aria-label=Prompts><h2>Prompts</h2>"
            yield f"<ol>{''.join(items)}</ol></nav>\n"
        yield "<footer>Exported by claudewire</footer>\n"

    def section(self, prompt: str, time: str | None, parts: str, depth: int) -> str:
        """Write a prompt, with the parts after it."""
        if not prompt:
            return f"<section>\n{parts}</section>\n"
        if depth == 0:
            self._prompts.append(prompt)
        id = f' id="s{len(self._prompts)}"' if depth == 0 else ""
        head = f"<h2>{'Task' if depth else 'User'}{_time(time)}</h2>"
        article = f'<article class="user">{head}{self._markdown(prompt)}</article>'
        return f"<section{id}>\n{article}\n{parts}</section>\n"

    def said(self, text: str) -> str:
        """Write a text of the model."""
        return f'<article class="model">{self._markdown(text)}</article>\n'

    def thought(self, text: str) -> str:
        """Write a thought of the model."""
        summary = "<summary>Thinking</summary>"
        return f'<details class="thought">{summary}{self._markdown(text)}</details>\n'

    def note(self, text: str, detail: str) -> str:
        """Write a note of the CLI."""
        if not detail:
            return f'<p class="note"><span>{escape(text)}</span></p>\n'
        inside = f"<summary>{escape(text)}</summary><pre>{escape(detail)}</pre>"
        return f'<details class="note">{inside}</details>\n'

    def picture(self, media_type: str, data: str) -> str:
        """Write an image; name other data."""
        if not _PICTURES.fullmatch(media_type) or not _BASE64.fullmatch(data):
            return self.note(media_type, "")
        source = f"data:{media_type};base64,{''.join(data.split())}"
        return f'<img alt="An image of the conversation" src="{source}">\n'

    def call(self, call: Call) -> str:
        """Write a call of a tool, folded."""
        failed, mark = (" failed", " <i>failed</i>") if call.is_error else ("", "")
        values = [*map(call.input.get, _LABELS), *call.input.values()]
        label = next((it for it in values if isinstance(it, str) and it), "")
        label = label.removeprefix(f"{self._project}/")
        summary = f"<b>{escape(call.name)}</b> <span>{escape(one_line(label, LABEL))}</span>{mark}"
        # The conversation of a subagent begins with its task.
        given = f'<div class="agent">{call.agent}</div>' if call.agent else _given(call.input)
        inside = given + call.pictures + self._output(call.output)
        return f'<details class="tool{failed}"><summary>{summary}</summary>{inside}</details>\n'

    def _output(self, output: str | None) -> str:
        if output is None:
            return ""
        text = escape(output).rstrip()
        return f"<pre class=output>{text}</pre>" if text else self.note("No output", "")


def _given(given: dict[str, Any]) -> str:
    match given:
        case {"command": str() as command} if len(given) <= 5:
            return f"<pre class=given>{escape(command)}</pre>"
        case {"old_string": str() as old, "new_string": str() as new}:
            return _diff(old, new)
        case {"content": str() as content, "file_path": _}:
            return _diff("", content)
        case _ if len(given) == 1 and set(given) <= set(_LABELS):
            return ""  # the line above shows it
    text = json.dumps(given, ensure_ascii=False, indent=2)
    return f"<pre class=given>{escape(text)}</pre>"


def _diff(old: str, new: str) -> str:
    if new.endswith("\n") and (not old or old.endswith("\n")):
        old, new = old.removesuffix("\n"), new.removesuffix("\n")
    before, after = old.split("\n") if old else [], new.split("\n")
    # The first two lines name the files; a line of a file can begin with a minus as well.
    lines = [*difflib.unified_diff(before, after, n=3, lineterm="")][2:]
    kinds = {"+": "ins", "-": "del", " ": "span"}
    shown = ((kinds[line[0]], escape(line)) for line in lines if not line.startswith("@@"))
    return f"<pre class=diff>{''.join(f'<{kind}>{it}</{kind}>' for kind, it in shown)}</pre>"


def _time(text: str | None) -> str:
    time = as_time(text)
    if time is None:
        return ""
    time = time.astimezone(UTC)
    return f' <time datetime="{time.isoformat()}">{time:%H:%M}</time>'


def _markdown_reader() -> Callable[[str], str]:
    """Make a renderer of Markdown that passes no HTML and loads nothing."""
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise StoreError(
            "HTML export needs markdown-it-py", advice="pip install 'claudewire[export]'"
        ) from None
    reader = MarkdownIt("js-default", {"html": False, "breaks": True})
    reader.disable(["image", "reference"])

    def render(text: str) -> str:
        tokens = reader.parse(text)
        for token in tokens:
            if token.type in ("heading_open", "heading_close"):  # h1 and h2 are the page's own
                token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
            for part in token.children or ():
                if part.type == "link_open":
                    part.attrSet("rel", "noreferrer noopener")
        return str(reader.renderer.render(tokens, reader.options, {}))

    return render


# --- Markdown ------------------------------------------------------------------------------------


class MarkdownWriter:
    """Writes Markdown. Texts stay as they are: a renderer must not run HTML in them."""

    def page(self, title: str, facts: dict[str, str], body: Iterator[str]) -> Iterator[str]:
        """Write the whole file."""
        yield f"# {one_line(title)}\n\n"
        yield from (f"- **{name}**: {one_line(value)}\n" for name, value in facts.items())
        yield from body

    def section(self, prompt: str, time: str | None, parts: str, depth: int) -> str:
        """Write a prompt, with the parts after it."""
        title = "Before the first prompt" if time is None and not prompt else "User"
        text = f"\n{prompt}\n" if prompt else ""
        return f"\n{'#' * min(depth + 2, 6)} {title}\n{text}{parts}"

    def said(self, text: str) -> str:
        """Write a text of the model."""
        return f"\n**Claude**\n\n{text}\n"

    def thought(self, text: str) -> str:
        """Write a thought of the model."""
        return "\n" + _quoted(f"*Thinking*\n\n{text}")

    def note(self, text: str, detail: str) -> str:
        """Write a note of the CLI."""
        return "\n" + _quoted(f"*{one_line(text)}*" + (f"\n\n{detail}" if detail else ""))

    def picture(self, media_type: str, data: str) -> str:
        """Name an image, and its size."""
        return f"\n*[{one_line(media_type)}, {len(data) * 3 // 4:,} bytes]*\n"

    def call(self, call: Call) -> str:
        """Write a call of a tool."""
        given = _fenced(json.dumps(call.input, ensure_ascii=False, indent=2), "json")
        title = "Error" if call.is_error else "Result"
        output = f"\n{title}:\n\n{_fenced(call.output)}" if call.output else ""
        return f"\n**{one_line(call.name)}**\n\n{given}{call.agent}{output}{call.pictures}"


def _quoted(text: str) -> str:
    return "".join(f"> {line}".rstrip() + "\n" for line in text.split("\n"))


def _fenced(text: str, language: str = "") -> str:
    """Put a text between fences that do not occur in it."""
    runs = re.findall(r"`{3,}", text)
    fence = "`" * max([3, *(len(run) + 1 for run in runs)])
    return f"{fence}{language}\n{text}\n{fence}\n"


def one_line(text: str, most: int | None = None) -> str:
    """Put a text into one line, of a limited length."""
    line = " ".join(text.split())
    return line if most is None or len(line) <= most else line[: most - 1].rstrip() + "…"
