"""How conversations are shown on a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from ...store import AssistantEntry, BadLine, Entry, Hit, SessionInfo, UserEntry
from ...wire import Block, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ..styles import Paint, clip_painted
from ..text import cells, one_line, safe
from ..wire.lines import counted, wrapped

__all__ = ["SessionView", "when"]

_SHORT_ID = 8
_MARKS = {"running": "*", "waiting": "?", "ended": " "}
_OF_THE_CLI = ("<command-", "<local-command-", "<task-notification", "<system-reminder")
"""How prompts begin that the CLI wrote, and no person."""
_SUMMED_UP = "(what came before was summed up for the model)"
_LEAST_FOR_FACTS = 24
"""Columns for a title, without which a list says when and no more."""
_RESULT = 5
"""Lines of a tool's result that are shown."""


def when(time: datetime | None, now: datetime | None = None) -> str:
    """Say when something was, in at most eleven characters."""
    if time is None:
        return ""
    now = datetime.now(UTC) if now is None else now
    seconds = (now - time).total_seconds()
    if seconds < 60:
        return "just now"
    for unit, size, limit in (("min", 60, 60), ("h", 3600, 24)):
        if seconds < size * limit:
            return f"{int(seconds // size)} {unit} ago"
    days = int(seconds // 86400)
    if days < 14:
        return f"{counted(days, 'day')} ago"
    return f"{time.astimezone():%Y-%m-%d}"


class SessionView:
    """Writes lists and conversations as lines.

    Args:
        paint: how to colour them.
        width: how many columns there are.
    """

    def __init__(self, paint: Paint, width: int) -> None:
        self._paint = paint
        self._width = width

    # --- lists -----------------------------------------------------------------------------------

    def rows(self, infos: Sequence[SessionInfo]) -> Iterator[str]:
        """Yield sessions as lines, with ids as short as they can be told apart."""
        size = _SHORT_ID
        while len({info.id[:size] for info in infos}) < len({info.id for info in infos}):
            size += 4
        yield from (self._row(info, info.id[:size]) for info in infos)

    def _row(self, info: SessionInfo, id: str) -> str:
        """Return a session as one line: id, when, how much, what, where."""
        cost = "" if info.cost_usd is None else f"${info.cost_usd:.2f}"
        head = f"{_MARKS[info.status]} {id}"
        facts = f"{when(info.end):>11} {info.prompts:>4}p {cost:>7}"
        place = _place(info.cwd)
        if self._width - cells(head) - len(facts) < _LEAST_FOR_FACTS:
            facts = f"{when(info.end):>11}"
        room = self._width - cells(head) - len(facts) - 6
        title = one_line(info.title or "(no title)", max(room - min(cells(place), 30) - 2, 10))
        line = f"{self._paint('code', safe(head))}  {self._paint('dim', facts)}  {title}"
        if cells(place) and room - cells(title) > 12:
            line += "  " + self._paint("dim", one_line(place, room - cells(title) - 2))
        return clip_painted(line, self._width)

    def hit(self, hit: Hit) -> Iterator[str]:
        """Yield what a search has found: where, then the text around it."""
        head = f"{hit.session.id[:_SHORT_ID]}  {hit.role}  {hit.session.title or '(no title)'}"
        yield self._paint("strong", one_line(head, self._width))
        yield f"    {clip_painted(self._marked(hit), max(self._width - 4, 20))}"

    def _marked(self, hit: Hit) -> str:
        parts, last = [], 0
        for start, end in hit.spans:
            parts.append(safe(_flat(hit.snippet[last:start])))
            parts.append(self._paint("heading", safe(_flat(hit.snippet[start:end]))))
            last = end
        return "".join([*parts, safe(_flat(hit.snippet[last:]))])

    # --- a conversation --------------------------------------------------------------------------

    def head(self, info: SessionInfo) -> Iterator[str]:
        """Yield what is known about a session."""
        yield self._paint("heading", one_line(info.title or "(no title)", self._width))
        cost = None if info.cost_usd is None else f"${info.cost_usd:.4f}"
        facts = [info.id, info.cwd, info.branch, ", ".join(info.models), when(info.end), cost]
        if info.status != "ended":
            facts.append(f"{info.status} in process {info.pid}")
        for line in self._folded(" · ".join(it for it in facts if it), ""):
            yield self._paint("dim", line)

    def entry(self, entry: Entry) -> Iterator[str]:
        """Yield what a line of the transcript says to a person; nothing for most others."""
        if isinstance(entry, BadLine):
            yield self._paint("bad", "  a line that cannot be read")
        elif isinstance(entry, UserEntry) and entry.is_compact_summary:
            yield from ("", self._paint("dim", one_line(_SUMMED_UP, self._width)))
        elif isinstance(entry, UserEntry) and not entry.is_meta:
            content = entry.message.content
            if isinstance(content, str):
                yield from self._prompt(content)
            else:
                for block in content:
                    yield from self._of_user(block)
        elif isinstance(entry, AssistantEntry):
            for block in entry.blocks:
                yield from self._of_model(block)

    def _prompt(self, text: str) -> Iterator[str]:
        yield ""
        if text.startswith(_OF_THE_CLI):
            yield from (self._paint("dim", line) for line in self._folded(text, "  "))
            return
        mark = f"{self._paint.mark('you')} "
        for number, line in enumerate(self._folded(text, "  ")):
            start = mark if number == 0 else "  "
            yield self._paint("strong", start + line.removeprefix("  "))

    def _of_user(self, block: Block) -> Iterator[str]:
        if isinstance(block, TextBlock):
            yield from self._prompt(block.text)
        elif isinstance(block, ToolResultBlock):
            lines = [*self._folded(block.text, "    ")]
            style = "bad" if block.is_error else "dim"
            for line in lines[:_RESULT]:
                yield self._paint(style, line)
            if len(lines) > _RESULT:
                yield self._paint("dim", f"    … {len(lines) - _RESULT} more lines")

    def _of_model(self, block: Block) -> Iterator[str]:
        if isinstance(block, TextBlock) and block.text.strip():
            yield ""
            yield from self._folded(block.text, "  ")
        elif isinstance(block, ThinkingBlock) and block.thinking.strip():
            for line in self._folded(block.thinking, "  "):
                yield self._paint("dim", line)
        elif isinstance(block, ToolUseBlock):
            said = f"{block.name} {json.dumps(block.input, ensure_ascii=False)}"
            yield f"  {self._paint.mark('running')} {one_line(said, max(self._width - 5, 20))}"

    def _folded(self, text: str, indent: str) -> Iterator[str]:
        room = max(self._width - len(indent) - 1, 20)
        for line in safe(text.strip("\n")).split("\n"):
            for part in wrapped(line.expandtabs(4), room):
                yield f"{indent}{part}"


def _flat(text: str) -> str:
    return text.replace("\n", " ").replace("\t", " ")


def _place(cwd: str | None) -> str:
    """Shorten a folder by the home of the user."""
    if not cwd:
        return ""
    home = str(Path.home())
    return f"~{cwd[len(home) :]}" if cwd == home or cwd.startswith(f"{home}/") else cwd
