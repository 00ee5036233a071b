"""The output of `run`: one class for data, for programs; one for text, in `terminal_view`.

Both take the same activities.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from .reports import Activity, RunReport
from .text import duration, safe

Form = Literal["text", "quiet", "json", "stream-json"]


class View:
    """Shows a task. The base class shows nothing.

    Attributes:
        doing: returns the work of the session, in a word.
    """

    doing: Callable[[], str] = staticmethod(lambda: "")

    def show(self, activity: Activity) -> None:
        """Show an activity."""

    def note(self, text: str) -> None:
        """Show a remark of this command."""

    def finish(self, report: RunReport) -> None:
        """Show the end of the task."""

    async def run(self) -> None:
        """Update the view from time to time, until cancelled."""


class DataView(View):
    """Prints the answer alone, one JSON object, or a line of JSON for each activity.

    Args:
        form: the form of the output.
    """

    def __init__(self, form: Form) -> None:
        self._form = form

    def show(self, activity: Activity) -> None:
        """Print an activity, if the form has them."""
        if self._form == "stream-json":
            write(f"{as_json(activity)}\n")

    def finish(self, report: RunReport) -> None:
        """Print the answer or the report."""
        text = answer_of(report) if self._form == "quiet" else as_json(report)
        if text:
            write(text if text.endswith("\n") else f"{text}\n")


def write(text: str) -> None:
    """Write to stdout: unchanged, except control characters on a terminal."""
    sys.stdout.write(safe(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def answer_of(report: RunReport) -> str:
    """Return the answer: the output if there is one, otherwise the text."""
    if report.output is None:
        return report.text
    plain: Any = msgspec.to_builtins(report.output)
    return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode()


def as_json(item: Activity | RunReport) -> str:
    """Write an activity or a report as one line of JSON."""
    return msgspec.json.encode(item).decode()


def summary_of(report: RunReport) -> list[str]:
    """Return the effort of a task, in words."""
    calls = "1 model call" if report.model_calls == 1 else f"{report.model_calls} model calls"
    cost = [] if report.cost_usd is None else [f"${report.cost_usd:.4f}"]
    return [calls, f"{report.tokens:,} tokens", *cost, duration(report.seconds)]
