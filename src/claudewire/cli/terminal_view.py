"""What a task looks like on a terminal: Markdown as it comes, a line for each tool, a status."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum, auto
from time import monotonic
from typing import TYPE_CHECKING, TextIO

import anyio

from .markdown import MarkdownStream
from .reports import Activity, Decided, Notice, RunReport, TextPiece, ToolEnded, ToolStarted
from .screen import Screen, is_pipe, size_of
from .styles import Paint, is_rich
from .text import cells, clip, one_line, safe, wrap
from .views import ProgressLines, TextWriter, View, answer_of, seconds_of, summary_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["Drawing", "TerminalView"]

Event = ToolStarted | ToolEnded | Decided | Notice
"""Any activity but text."""

TICK = 0.25
"""Seconds between two looks at the clock: it shows whole seconds."""

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_AGENTS = frozenset({"Agent", "Task"})
_NEEDS_PERSON = frozenset({"AskUserQuestion", "ExitPlanMode"})


@dataclass(frozen=True, slots=True)
class _Running:
    """A tool that has not given its result."""

    name: str
    subject: str
    depth: int
    since: float


class _Last(Enum):
    """What was shown last: text has blank lines around it."""

    NOTHING = auto()
    TEXT = auto()
    ENTRY = auto()


class Drawing:
    """Turns activities into lines: those that are finished, and those that still change.

    Args:
        paint: puts the styles around text.
        width: returns how many columns there are.
        clock: returns the time in seconds.
    """

    def __init__(
        self, paint: Paint, width: Callable[[], int], clock: Callable[[], float] = monotonic
    ) -> None:
        self._paint = paint
        self._width = width
        self._clock = clock
        self._markdown: MarkdownStream | None = None
        self._block: str | None = None
        self._last = _Last.NOTHING
        self._answered = False
        """A person has just answered a question or a plan."""
        self._running: dict[str, _Running] = {}
        self.since: float = clock()
        """When something happened last."""
        self.frame: int = 0

    # --- lines that stay -------------------------------------------------------------------------

    def text(self, piece: TextPiece) -> list[str]:
        """Take a piece of the answer; return the lines of it that are finished."""
        lines: list[str] = []
        self.since = self._clock()
        if piece.block != self._block:
            lines += self.end_text()
            self._block = piece.block
            self._markdown = MarkdownStream(self._width(), self._paint)
            lines += [""] if self._last is not _Last.NOTHING else []
        assert self._markdown is not None
        self._markdown.width = max(self._width(), 10)
        self._last = _Last.TEXT
        return lines + self._markdown.feed(piece.text)

    def end_text(self) -> list[str]:
        """Return what is left of the answer so far."""
        stream, self._markdown, self._block = self._markdown, None, None
        return [] if stream is None else stream.end()

    def fresh(self) -> None:
        """Begin something new: what follows is not part of what was shown before."""
        self._last = _Last.TEXT

    def activity(self, activity: Event, depth: int) -> list[str]:
        """Take anything but text; return the lines that say so."""
        self.since = self._clock()
        if isinstance(activity, ToolStarted):
            running = _Running(activity.name, activity.subject, depth, self._clock())
            self._running[activity.id] = running
            return self._agent(running) if activity.name in _AGENTS else self.end_text()
        if isinstance(activity, ToolEnded):
            return self._tool(activity, depth)
        if isinstance(activity, Notice):
            return self.notice(activity.text)
        if activity.by == "person":
            self._last = _Last.ENTRY  # the question and its answer were shown
            self._answered = activity.kind in ("question", "plan")
        return []

    def _agent(self, running: _Running) -> list[str]:
        """Announce a subagent, whose own tools follow."""
        mark = self._paint("dim", self._paint.mark("running"))
        return self._after_text([self._entry(mark, running.name, running.subject, running.depth)])

    def _tool(self, ended: ToolEnded, depth: int) -> list[str]:
        running = self._running.pop(ended.id, None)
        if ended.name in _NEEDS_PERSON and self._answered:
            self._answered = False
            return []  # what was asked and answered stands there already
        subject = "" if running is None else running.subject
        mark = self._paint("ok", self._paint.mark("done"))
        if not ended.ok:
            mark = self._paint("bad", self._paint.mark("failed"))
        summary = f"denied: {ended.summary}" if ended.denied else ended.summary
        took = seconds_of(ended.seconds)
        return self._after_text([self._entry(mark, ended.name, subject, depth, summary, took)])

    def notice(self, text: str) -> list[str]:
        """Say something beside the task."""
        first, *more = wrap(safe(text), max(self._width() - 5, 10))
        lines = [f"  {self._paint.mark('dot')} {first}", *(f"    {line}" for line in more)]
        return self._after_text([self._paint("dim", line) for line in lines])

    def _after_text(self, lines: list[str]) -> list[str]:
        """Put lines below the text before them, with a blank line between."""
        gap = [""] if self._last is _Last.TEXT else []
        self._last = _Last.ENTRY
        return [*self.end_text(), *gap, *lines]

    def _entry(self, mark: str, name: str, subject: str, depth: int, *more: str) -> str:
        """Write a line that fits: mark, name, subject, and what there is to say about it."""
        paint, width = self._paint, self._width() - 1
        indent = "  " * (depth + 1)
        name = one_line(name, max(width // 2, 8))
        tail = "".join(f" {paint.mark('dot')} {part}" for part in more if part)
        room = width - cells(indent) - 2 - cells(name) - 1
        tail = clip(tail, max(room - min(cells(subject), room // 3), 0))
        subject = clip(subject, max(room - cells(tail), 0)) if room - cells(tail) > 3 else ""
        line = f"{indent}{mark} {paint('tool', name)}"
        return line + (f" {subject}" if subject else "") + paint("dim", tail)

    # --- lines that change -----------------------------------------------------------------------

    def changing(self, status: str) -> list[str]:
        """Return what is under way: the growing line, the tools, and what it waits for."""
        lines = [] if self._markdown is None else self._markdown.growing
        if lines and self._markdown is not None:
            return lines
        now, frame = self._clock(), self._spinner()
        for running in self._running.values():
            if running.name not in _AGENTS:
                took = f"{now - running.since:.0f} s"
                entry = self._entry(frame, running.name, running.subject, running.depth, took)
                lines.append(entry)
        if not lines and status:
            took = f" {now - self.since:.0f} s" if now - self.since >= 1 else ""
            lines.append(f"  {frame} {self._paint('dim', status + took)}")
        return ["", *lines] if lines and self._last is _Last.TEXT else lines

    def _spinner(self) -> str:
        frame = _FRAMES[self.frame % len(_FRAMES)] if self._paint.mark("done") == "✓" else "*"
        return self._paint("ask", frame)

    def summary(self, report: RunReport) -> list[str]:
        """Return the last lines."""
        if not report.turns:
            return self.end_text()
        denied = [it for it in report.decisions if it.answer in ("deny", "decline", "skipped")]
        parts = [summary_of(report).replace(", ", f" {self._paint.mark('dot')} ")]
        if denied:
            parts.append(f"{len(denied)} denied")
        text = f" {self._paint.mark('dot')} ".join(parts)
        return [*self.end_text(), "", self._paint("dim", clip(text, self._width() - 1))]


class TerminalView(View):
    """Shows a task to a person who watches.

    Args:
        out: where the answer goes.
        err: where everything else goes.
        structured: whether the answer is JSON, which is not shown before it is complete.
    """

    def __init__(
        self, out: TextIO | None = None, err: TextIO | None = None, *, structured: bool = False
    ) -> None:
        super().__init__(out, err)
        self._pretty = is_rich(self.out)
        self._watched = self.err if is_rich(self.err) else self.out
        self._structured = structured
        self.paint: Paint = Paint.for_stream(self._watched)
        # What comes out of a pipe may be shown on this terminal, and must not be drawn over.
        self.screen: Screen = Screen(self._watched, live=not is_pipe(self.out))
        self.drawing: Drawing = Drawing(self.paint, lambda: size_of(self._watched)[0])
        self._raw = TextWriter(self.out)
        # If only stdout is a terminal, what is not the answer goes to a file, as plain lines.
        self._plain = None if self._watched is self.err else ProgressLines(self.err)

    def show(self, activity: Activity, depth: int = 0) -> None:
        """Show it."""
        if isinstance(activity, TextPiece):
            if activity.agent is None and not self._structured:
                self._text(activity)
        else:
            self._progress(activity, depth)
        self._refresh()

    def _text(self, piece: TextPiece) -> None:
        if self._pretty:
            self.screen.print(self.drawing.text(piece), self.out)
            return
        self.drawing.since = monotonic()
        self._raw.write(piece)

    def _progress(self, activity: Event, depth: int) -> None:
        if isinstance(activity, ToolStarted):
            self._raw.end_line()
            self.screen.print(self.drawing.end_text(), self.out)
        if self._plain is None:
            self.screen.print(self.drawing.activity(activity, depth))
        else:
            self._plain.show(activity, depth)

    def note(self, text: str) -> None:
        """Tell the person."""
        self.screen.print(self.drawing.notice(text))

    def _refresh(self) -> None:
        self.screen.change(self.drawing.changing(self.doing()))

    async def run(self) -> None:
        """Let the clock go on."""
        while True:
            self._refresh()
            await anyio.sleep(TICK)
            self.drawing.frame += 1

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[None]:
        """Leave the terminal to a question."""
        self.screen.print(self.drawing.end_text(), self.out)
        with self.screen.held():
            yield
        self.drawing.since = monotonic()

    def finish(self, report: RunReport) -> None:
        """Show the rest, and what it took."""
        self.screen.change([])
        if self._structured and report.output is not None:
            self._write(f"{answer_of(report)}\n")
        self._raw.end_line()
        self.screen.print(self.drawing.end_text(), self.out)
        if self._plain is None:
            self.screen.print(self.drawing.summary(report))
        elif report.turns:
            self._plain.say(summary_of(report))
