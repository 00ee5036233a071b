"""A conversation as a page for readers, in HTML or Markdown: prompts, with the answers after them.

`Pages` walks through the conversation and cleans all texts; a writer has the format.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC
from html import escape
from importlib.resources import files
from typing import Any

from msgspec import Struct

from ..errors import Redact, visible
from ..html_page import html_page
from ..wire import (
    Base64Source,
    Block,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from .entries import AssistantEntry, Entry, OtherEntry, SystemEntry, UserEntry
from .facts import SessionInfo, as_time
from .files import StoreError
from .transcript import Transcript

DEEPEST = 8
"""Levels of subagents that are shown."""

_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
"""The escape sequences in which programs write coloured output."""

LABEL = 120
"""Characters of a tool's input that are shown in its line."""

_LABELS = ("description", "command", "file_path", "pattern", "query", "path", "url", "prompt")
"""Fields of a tool's input by how much they tell about it."""

_PICTURES = re.compile(r"image/(?:png|jpeg|gif|webp)")
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")


# --- the conversation ----------------------------------------------------------------------------


class Call(Struct, frozen=True):
    """A call of a tool, with its result; `agent` is the conversation of the subagent."""

    name: str
    input: dict[str, Any]
    output: str | None
    is_error: bool
    pictures: str
    agent: str


class Pages:
    """Walks through a conversation, and gives its parts, without their secrets, to a writer."""

    def __init__(
        self,
        transcript: Transcript,
        writer: HtmlWriter | MarkdownWriter,
        redact: Redact,
        tool_output: bool,
    ) -> None:
        self._transcript = transcript
        self._writer = writer
        self._redact = redact
        self._tool_output = tool_output
        self._agents = {it.tool_use_id: it.id for it in transcript.agents()}

    def pieces(self, branch: str | None) -> Iterator[str]:
        """Yield the pieces of the exported conversation."""
        info = self._transcript.info
        facts = {name: self._clean(it) for name, it in _facts(info).items() if it}
        body = self._sections(self._transcript.conversation(branch), 0)
        return self._writer.page(self._clean(info.title or "A conversation"), facts, body)

    def _clean(self, text: str) -> str:
        # Escapes control characters, and characters that reverse the direction of text.
        return visible(self._redact(_COLOUR.sub("", text)))

    def _clean_input(self, given: dict[str, Any]) -> Any:
        return _seen(json.loads(self._redact(json.dumps(given))))

    def _sections(self, entries: Iterable[Entry], depth: int) -> Iterator[str]:
        """Yield the sections; only one of them is in memory at a time."""
        prompt: UserEntry | None = None
        rest: list[Entry] = []
        for entry in entries:
            if isinstance(entry, UserEntry) and entry.is_prompt:
                yield from self._section(prompt, rest, depth)
                prompt, rest = entry, []
            else:
                rest.append(entry)
        yield from self._section(prompt, rest, depth)

    def _section(self, prompt: UserEntry | None, rest: list[Entry], depth: int) -> Iterator[str]:
        blocks = [it for entry in rest if isinstance(entry, UserEntry) for it in entry.blocks]
        results = {it.tool_use_id: it for it in blocks if isinstance(it, ToolResultBlock)}
        parts = "".join(part for entry in rest for part in self._parts(entry, results, depth))
        if prompt is not None:
            images = self._pictures(prompt.blocks)
            text = self._clean(prompt.text)
            yield self._writer.section(text, prompt.timestamp, images + parts, depth)
        elif parts:
            yield self._writer.section("", None, parts, depth)

    def _parts(
        self, entry: Entry, results: dict[str, ToolResultBlock], depth: int
    ) -> Iterator[str]:
        if not isinstance(entry, AssistantEntry):
            text, detail = _note(entry)
            if text:
                yield self._writer.note(self._clean(text), self._clean(detail))
            return
        for block in entry.blocks:
            if isinstance(block, TextBlock) and block.text.strip():
                yield self._writer.said(self._clean(block.text))
            elif isinstance(block, ThinkingBlock) and block.thinking.strip():
                yield self._writer.thought(self._clean(block.thinking))
            elif isinstance(block, ToolUseBlock):
                yield self._call(block, results.get(block.id), depth)

    def _call(self, block: ToolUseBlock, result: ToolResultBlock | None, depth: int) -> str:
        blocks = result.content if result is not None and isinstance(result.content, list) else []
        agent = self._agents.get(block.id) if depth < DEEPEST else None
        entries = () if agent is None else self._transcript.entries(agent=agent)
        is_shown = result is not None and self._tool_output
        return self._writer.call(
            Call(
                name=self._clean(block.name),
                input=self._clean_input(block.input),
                output=self._clean(result.text) if result and is_shown else None,
                is_error=result is not None and result.is_error is True,
                pictures=self._pictures(blocks),
                agent="".join(self._sections(entries, depth + 1)),
            )
        )

    def _pictures(self, blocks: Iterable[Block]) -> str:
        found = (it.source for it in blocks if isinstance(it, ImageBlock | DocumentBlock))
        images = (it for it in found if isinstance(it, Base64Source))
        return "".join(self._writer.picture(self._clean(it.media_type), it.data) for it in images)


def _facts(info: SessionInfo) -> dict[str, str]:
    totals = info.totals
    tokens = f"{totals.prompt_tokens:,} in, {totals.output_tokens:,} out"
    times = [it.astimezone(UTC) for it in (info.begin, info.end) if it is not None]
    return {
        "Project": info.cwd or "",
        "Branch": info.branch or "",
        "Model": ", ".join(info.models),
        "When": " to ".join(dict.fromkeys(f"{it:%Y-%m-%d %H:%M} UTC" for it in times)),
        "Tokens": "" if not totals.tokens else tokens + (" at least" if totals.estimated else ""),
        "Cost": "" if info.cost_usd is None else f"${info.cost_usd:.2f}",
        "Session": info.id,
    }


def _note(entry: Entry) -> tuple[str, str]:
    """Return a note of the CLI and its details; empty for other lines."""
    match entry:
        case SystemEntry() if entry.is_compaction:
            return "The conversation was compacted here", ""
        case SystemEntry(level="error" | "warning", content=str() as text):
            return text, ""
        case OtherEntry(data={"attachment": {"type": "queued_command", "prompt": str() as prompt}}):
            return "Queued meanwhile", prompt
        case UserEntry(is_compact_summary=True):
            return "Summary of the conversation before", entry.text
        case UserEntry() if entry.text.startswith("[Request interrupted"):
            return "Interrupted by the user", ""
        case UserEntry() if entry.text.startswith("<task-notification>"):
            return "A background task reported", entry.text
    return "", ""


def _seen(value: Any) -> Any:
    """Escape invisible characters in all strings of a value."""
    if isinstance(value, dict):
        return {_seen(name): _seen(it) for name, it in value.items()}
    if isinstance(value, list):
        return [_seen(it) for it in value]
    return visible(_COLOUR.sub("", value)) if isinstance(value, str) else value


# --- HTML ----------------------------------------------------------------------------------------


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
        """Write text from the model."""
        return f'<article class="model">{self._markdown(text)}</article>\n'

    def thought(self, text: str) -> str:
        """Write a thought of the model."""
        summary = "<summary>Thinking</summary>"
        return f'<details class="thought">{summary}{self._markdown(text)}</details>\n'

    def note(self, text: str, detail: str) -> str:
        """Write a note from the CLI."""
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
        """Write text from the model."""
        return f"\n**Claude**\n\n{text}\n"

    def thought(self, text: str) -> str:
        """Write a thought of the model."""
        return "\n" + _quoted(f"*Thinking*\n\n{text}")

    def note(self, text: str, detail: str) -> str:
        """Write a note from the CLI."""
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
