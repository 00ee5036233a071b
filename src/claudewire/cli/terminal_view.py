"""Text for a person: finished blocks and tools as lines, and below them lines that change.

There is no alternate screen, and nothing above the changing lines is ever touched: scrolling, tmux
and copying work as usual.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, TextIO, cast

import anyio
from rich.cells import cell_len
from rich.console import Console
from rich.live import Live
from rich.text import Text

from ..approvals import TerminalIO
from .console import (
    MarkdownStream,
    clip,
    console_for,
    is_pipe,
    is_rich,
    markdown_lines,
    painted,
    put,
    wrapped,
)
from .reports import (
    Activity,
    Notice,
    RunReport,
    TextPiece,
    ToolEnded,
    ToolStarted,
    View,
    answer_of,
    summary_of,
    write,
)
from .text import duration, one_line

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Interrupt = Callable[[], Coroutine[Any, Any, None]]
"""Called for Ctrl-C."""

TICK = 0.1
"""Seconds between two drawings of the changing lines."""

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_AGENTS = frozenset({"Agent", "Task"})
_NEEDS_PERSON = frozenset({"AskUserQuestion", "ExitPlanMode"})


class Drawing:
    """Turns activities into lines: finished ones, and changing ones."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._markdown: MarkdownStream | None = None
        self._block: str | None = None
        self._last: Literal["", "text", "entry"] = ""
        """The kind of the last lines: text has blank lines around it."""
        self._answered = False
        """A person has just answered a question or a plan."""
        self._running: dict[str, tuple[ToolStarted, float]] = {}
        self.since: float = monotonic()

    # --- finished lines --------------------------------------------------------------------------

    def lines(self, activity: Activity) -> list[Text]:
        """Take an activity; return the lines that it completes."""
        self.since = monotonic()
        if isinstance(activity, TextPiece):
            return [] if activity.agent else self._text(activity)
        if isinstance(activity, ToolEnded):
            return self._ended(activity)
        if isinstance(activity, ToolStarted):
            self._running[activity.id] = activity, self.since
            if activity.name not in _AGENTS:
                return self.end_text()
            sign = Text("▸", "dim")
            return self._after_text([self._entry(sign, activity)])  # its own tools follow
        if isinstance(activity, Notice):
            return self.notice(activity.text)
        if activity.by == "approver":
            self._last = "entry"  # the question and its answer are on the screen
            self._answered = activity.kind in ("question", "plan")
        return []

    def _text(self, piece: TextPiece) -> list[Text]:
        lines: list[Text] = []
        if piece.block != self._block or self._markdown is None:
            lines += self.end_text()
            self._block = piece.block
            self._markdown = MarkdownStream(self._console)
            lines += [Text()] if self._last else []
        self._last = "text"
        return lines + self._markdown.feed(piece.text)

    def end_text(self) -> list[Text]:
        """Return the rest of the answer so far."""
        stream, self._markdown, self._block = self._markdown, None, None
        return [] if stream is None else stream.end()

    def fresh(self) -> None:
        """Put a blank line before the next lines."""
        self._last = "text"

    def _ended(self, ended: ToolEnded) -> list[Text]:
        self._running.pop(ended.id, None)
        if ended.name in _NEEDS_PERSON and self._answered:
            self._answered = False
            return []  # the question and its answer are on the screen
        sign = Text("✓", "ok") if ended.ok else Text("✗", "bad")
        summary = f"denied: {ended.summary}" if ended.denied else ended.summary
        return self._after_text([self._entry(sign, ended, summary, duration(ended.seconds))])

    def notice(self, text: str) -> list[Text]:
        """Return the lines of a remark beside the task."""
        first, *more = wrapped(text, self._console.width - 5, "dim")
        head = Text.assemble("  · ", first, style="dim")
        return self._after_text([head, *(Text("    ").append_text(line) for line in more)])

    def _after_text(self, lines: list[Text]) -> list[Text]:
        """Put lines below the text before them, with a blank line between."""
        gap = [Text()] if self._last == "text" else []
        self._last = "entry"
        return [*self.end_text(), *gap, *lines]

    def _entry(self, sign: Text, tool: ToolStarted, *more: str) -> Text:
        """Write a line that fits: mark, name, subject, and remarks about it."""
        width, subject = self._console.width - 1, tool.subject
        head = Text("  " * (tool.depth + 1)).append_text(sign).append(" ")
        head.append(one_line(tool.name, max(width // 2, 8)), "strong")
        tail = "".join(f" · {part}" for part in more if part)
        room = width - head.cell_len - 1
        room -= min(cell_len(tail), room - min(cell_len(subject), room // 3))
        if subject and room > 3:
            head.append(f" {one_line(subject, room)}")
        return clip(head.append(tail, "dim"), width)

    # --- changing lines --------------------------------------------------------------------------

    def changing(self, doing: str) -> list[Text]:
        """Return the unfinished text, or the running tools, or the work of the session."""
        if self._markdown is not None and (unfinished := self._markdown.unfinished):
            return unfinished
        now = monotonic()
        spinner = Text(_FRAMES[int(now / TICK) % len(_FRAMES)], "ask")
        lines = [
            self._entry(spinner, tool, f"{now - since:.0f} s")
            for tool, since in self._running.values()
            if tool.name not in _AGENTS
        ]
        if not lines and doing:
            took = f" {now - self.since:.0f} s" if now - self.since >= 1 else ""
            lines = [Text.assemble("  ", spinner, (f" {doing}{took}", "dim"))]
        return [Text(), *lines] if lines and self._last == "text" else lines

    def summary(self, report: RunReport) -> list[Text]:
        """Return the last lines."""
        if not report.model_calls:
            return self.end_text()
        denied = [it for it in report.decisions if it.answer in ("deny", "decline", "skipped")]
        parts = [*summary_of(report), *([f"{len(denied)} denied"] if denied else [])]
        text = " · ".join(parts)
        return [*self.end_text(), Text(), clip(Text(text, "dim"), self._console.width - 1)]


class TextView(View):
    """Prints the answer to stdout and all else to stderr, on terminals and elsewhere."""

    def __init__(self, *, structured: bool = False) -> None:
        self._structured = structured
        out, err = console_for(sys.stdout), console_for(sys.stderr)
        self._pretty = is_rich(sys.stdout)
        """Render the answer as Markdown; else print it unchanged."""
        # One console for both, where both are the same terminal.
        self._answer = out
        self.console: Console = out if self._pretty and is_rich(sys.stderr) else err
        self._drawing = Drawing(self.console)
        self._live = Live(
            console=self.console,
            auto_refresh=False,
            transient=True,
            get_renderable=lambda: Text("\n").join(self._drawing.changing(self.doing())),
            redirect_stdout=False,
            redirect_stderr=False,
        )
        # A program behind a pipe may write to this terminal: changing lines would erase that.
        self._is_live = is_rich(sys.stderr) and not is_pipe(sys.stdout)
        self._held: list[tuple[Console, Sequence[Text]]] | None = None
        self._block: str | None = None
        self._is_at_start = True

    def _print(self, lines: Sequence[Text], console: Console | None = None) -> None:
        if self._held is not None:
            self._held.append((console or self.console, lines))
        else:
            put(console or self.console, *lines)

    def show(self, activity: Activity) -> None:
        """Show an activity."""
        if not isinstance(activity, TextPiece):
            if isinstance(activity, ToolStarted):
                self._end_text()
            self._print(self._drawing.lines(activity))
        elif self._pretty and not self._structured:
            self._print(self._drawing.lines(activity), self._answer)
        elif not (activity.agent or self._structured):
            self._write(activity)

    def _write(self, piece: TextPiece) -> None:
        """Write text as it is, with a blank line between two blocks."""
        self._drawing.since = monotonic()
        if self._block not in (None, piece.block):
            write("\n" if self._is_at_start else "\n\n")
        self._block, self._is_at_start = piece.block, piece.text.endswith("\n")
        write(piece.text)

    def _end_text(self) -> None:
        """End the last line: other output may follow in the same place."""
        if self._pretty:
            self._print(self._drawing.end_text(), self._answer)
        elif not self._is_at_start:
            self._is_at_start = True
            write("\n")

    def note(self, text: str) -> None:
        """Show a remark."""
        self._print(self._drawing.notice(text))

    async def run(self) -> None:
        """Draw the changing lines again and again."""
        try:
            while self._is_live:
                if self._held is None:
                    self._live.start()
                    self._live.refresh()
                await anyio.sleep(TICK)
        finally:
            self._live.stop()

    def finish(self, report: RunReport) -> None:
        """Show the rest, and the effort."""
        if self._structured and report.output is not None:
            write(f"{answer_of(report)}\n")
        self._end_text()
        self._print(self._drawing.summary(report))

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[None]:
        """Leave the terminal to a question."""
        self._end_text()
        self._live.stop()
        held = self._held = []
        try:
            yield
        finally:
            self._held = None
            for console, lines in held:
                put(console, *lines)
            self._drawing.since = monotonic()


class ConsoleIO(TerminalIO):
    """Asks on the terminal of a console, where prompt_toolkit reads."""

    can_edit = True

    def __init__(self, console: Console, interrupt: Interrupt) -> None:
        super().__init__()
        self.console: Console = console
        self._interrupt = interrupt
        self._prompts: Any = None
        self._is_new = True
        self._answers_from = 0.0
        """No Enter counts before: it was meant for other text."""

    @property
    def columns(self) -> int:
        """The number of columns."""
        return self.console.width

    def show(self, line: str, style: str = "") -> None:
        """Show a line in a style."""
        put(self.console, Text.from_ansi(line, style=style))

    def markdown(self, text: str, width: int) -> Sequence[str]:
        """Render Markdown."""
        return painted(self.console, markdown_lines(text, width)).splitlines()

    async def read(self, *, text: str = "", multiline: bool = False) -> str:
        """Read a line, or several."""
        if self._prompts is None:
            self._prompts = self._prompt_session()
        if self._is_new:
            self._forget()
        try:
            typed: str = await self._prompts.prompt_async(
                "" if multiline else "❯ ", default=text, multiline=multiline, handle_sigint=False
            )
        except KeyboardInterrupt:
            await self._interrupt()
            raise EOFError("Ctrl-C was pressed") from None
        return typed

    def _prompt_session(self) -> Any:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.filters import Condition
        from prompt_toolkit.input import create_input
        from prompt_toolkit.key_binding import KeyBindings
        from prompt_toolkit.output import create_output

        keys = KeyBindings()
        is_too_early = Condition(lambda: monotonic() < self._answers_from)
        keys.add("enter", filter=is_too_early)(lambda event: None)
        output = create_output(cast("TextIO", self.console.file))
        reader = create_input(always_prefer_tty=True)
        return PromptSession[str](input=reader, output=output, key_bindings=keys)

    def _forget(self) -> None:
        """Drop everything typed before the question: it is no answer to it."""
        import termios

        self._is_new = False
        self._prompts.input.flush_keys()
        termios.tcflush(self._prompts.input.fileno(), termios.TCIFLUSH)


class ViewIO(ConsoleIO):
    """Asks on the terminal of a view, which holds its output back."""

    def __init__(self, view: TextView, interrupt: Interrupt) -> None:
        super().__init__(view.console, interrupt)
        self._view = view

    def asking(self) -> AbstractAsyncContextManager[None]:
        """Stop drawing."""
        self._is_new = True
        return self._view.asking()
