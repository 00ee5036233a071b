"""What a task looks like while it is worked on, and at its end: one class for each form.

`run` picks one: text for a pipe, nothing but the answer, JSON, or the terminal, which is in
`terminal_view`. All of them are told the same activities.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from .reports import Activity, Decided, Notice, RunReport, TextPiece, ToolEnded, ToolStarted
from .text import one_line, safe

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

__all__ = [
    "JsonView",
    "PlainView",
    "ProgressLines",
    "QuietView",
    "StreamJsonView",
    "TextWriter",
    "View",
    "answer_of",
    "seconds_of",
    "summary_of",
]


class View:
    """Shows a task. The base class shows nothing.

    Args:
        out: where the answer goes.
        err: where everything else goes.
    """

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.out: TextIO = sys.stdout if out is None else out
        self.err: TextIO = sys.stderr if err is None else err
        self.doing: Callable[[], str] = lambda: ""
        """Returns what the session is doing, in a word."""

    def show(self, activity: Activity, depth: int = 0) -> None:
        """Show something that happens, at this depth of subagents."""

    def finish(self, report: RunReport) -> None:
        """Show how it ended."""

    def note(self, text: str) -> None:
        """Tell the person something that is not part of the task."""

    def asking(self) -> AbstractAsyncContextManager[None]:
        """Show nothing else while a person is asked."""
        from contextlib import nullcontext

        return nullcontext()

    async def run(self) -> None:
        """Show what changes with time alone, until it is cancelled."""

    def _write(self, text: str) -> None:
        self.out.write(text)
        self.out.flush()


class QuietView(View):
    """Shows the final answer, and errors."""

    def finish(self, report: RunReport) -> None:
        """Write the answer."""
        answer = answer_of(report)
        if answer:
            self._write(answer if answer.endswith("\n") else f"{answer}\n")


class JsonView(View):
    """Prints the report as JSON, in one line."""

    def finish(self, report: RunReport) -> None:
        """Write the report."""
        self._write(as_json(report))


class StreamJsonView(JsonView):
    """Prints each activity as a line of JSON, and the report as the last one."""

    def show(self, activity: Activity, depth: int = 0) -> None:
        """Write the activity."""
        self._write(as_json(activity))


class TextWriter:
    """Writes the text of the model as it is; a blank line stands between two blocks.

    Args:
        out: where to.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._block = ""
        self._ended_with = "\n"

    def write(self, piece: TextPiece) -> None:
        """Write a piece."""
        if piece.block != self._block and self._block:
            self._put("\n" if self._ended_with == "\n" else "\n\n")
        self._block, self._ended_with = piece.block, piece.text[-1:]
        self._put(piece.text)

    def end_line(self) -> None:
        """End the last line: what comes next may be shown in the same place."""
        if self._ended_with != "\n":
            self._ended_with = "\n"
            self._put("\n")

    def _put(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


class ProgressLines:
    """Writes a plain line for each tool and notice.

    Args:
        err: where to.
    """

    def __init__(self, err: TextIO) -> None:
        self._err = err
        self._subjects: dict[str, str] = {}

    def show(self, activity: Activity, depth: int) -> None:
        """Write a line about something that happened, if there is one."""
        if isinstance(activity, ToolStarted):
            self._subjects[activity.id] = activity.subject
        subject = self._subjects.pop(activity.id, "") if isinstance(activity, ToolEnded) else ""
        if (line := line_of(activity, subject)) is not None:
            self.say("  " * depth + line)

    def say(self, line: str) -> None:
        """Write a line."""
        self._err.write(f"{line}\n")
        self._err.flush()


class PlainView(View):
    """Text as it comes to stdout, unchanged; a line for each tool, and the sum, to stderr."""

    def __init__(
        self, out: TextIO | None = None, err: TextIO | None = None, *, structured: bool = False
    ) -> None:
        super().__init__(out, err)
        self._text = TextWriter(self.out)
        self._progress = ProgressLines(self.err)
        self._structured = structured
        self._mixed = is_same_place(self.out, self.err)

    def show(self, activity: Activity, depth: int = 0) -> None:
        """Write text to stdout and all else to stderr."""
        if not isinstance(activity, TextPiece):
            if isinstance(activity, ToolStarted) or (self._mixed and isinstance(activity, Notice)):
                self._text.end_line()
            self._progress.show(activity, depth)
        elif activity.agent is None and not self._structured:
            self._text.write(activity)

    def note(self, text: str) -> None:
        """Tell the person."""
        self._progress.say(safe(text))

    def finish(self, report: RunReport) -> None:
        """End the answer with a newline, and tell what it took."""
        if self._structured and report.output is not None:
            self._write(f"{answer_of(report)}\n")
        self._text.end_line()
        if report.turns:
            self._progress.say(summary_of(report))


def is_same_place(one: TextIO, other: TextIO) -> bool:
    """Whether what is written to two streams is seen in the same terminal, file or pipe."""
    if one is other:
        return True
    try:
        return os.path.sameopenfile(one.fileno(), other.fileno())
    except (OSError, ValueError):
        return False


def line_of(activity: Activity, subject: str = "") -> str | None:
    """Describe an activity in one line of plain text; None if it has none.

    Args:
        activity: what happened.
        subject: what a tool was called with.
    """
    if isinstance(activity, ToolEnded):
        name = one_line(f"{activity.name} {subject}", 100).rstrip()
        denied = ["denied"] if activity.denied else []
        parts = [*denied, activity.summary, seconds_of(activity.seconds)]
        return f"{'+' if activity.ok else 'x'} {name}: {', '.join(part for part in parts if part)}"
    if isinstance(activity, Notice):
        return one_line(activity.text, 200)
    if isinstance(activity, Decided) and activity.kind == "elicitation":
        return one_line(f"{activity.tool}: {activity.answer}", 200)
    return None


def seconds_of(seconds: float) -> str:
    """Write a duration as people read it."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def summary_of(report: RunReport) -> str:
    """Say in one line what a task took."""
    turns = "1 turn" if report.turns == 1 else f"{report.turns} turns"
    cost = [] if report.cost_usd is None else [f"${report.cost_usd:.4f}"]
    return ", ".join([turns, f"{report.tokens:,} tokens", *cost, seconds_of(report.seconds)])


def answer_of(report: RunReport) -> str:
    """Return the answer: the output if there is one, otherwise the text."""
    if report.output is None:
        return report.text
    plain: Any = msgspec.to_builtins(report.output)
    return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode()


def as_json(item: Activity | RunReport) -> str:
    """Write an activity or a report as one line of JSON."""
    return msgspec.json.encode(item).decode() + "\n"
