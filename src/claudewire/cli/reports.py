"""The JSON of `run` and `doctor`, as types, and how it is printed.

Fields are only added; `version` changes if one changes its meaning. Without `--json` the same
activities and checks are shown as text.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

import msgspec

from .errors import Exit, advice_of, exit_for, message_of
from .text import duration, safe


class TextPiece(msgspec.Struct, tag="text", tag_field="type", frozen=True, kw_only=True):
    """A piece of text from the model.

    Attributes:
        text: the piece; the pieces of a block joined are its text.
        block: the id of its block; a new one begins a new paragraph.
        agent: the tool call of the subagent that wrote it; None for the main conversation.
    """

    text: str
    block: str
    agent: str | None = None


class ToolStarted(msgspec.Struct, tag="tool_started", tag_field="type", frozen=True, kw_only=True):
    """A call of a tool.

    Attributes:
        id: the id of the call.
        name: the tool.
        subject: the most telling part of the input, in one line.
        input: the input.
        agent: the tool call of the subagent that called it; None for the main conversation.
        depth: the number of subagents around it.
    """

    id: str
    name: str
    subject: str
    input: dict[str, Any]
    agent: str | None = None
    depth: int = 0


class ToolEnded(ToolStarted, tag="tool_ended", tag_field="type", frozen=True, kw_only=True):
    """The result of a tool, with the fields of its call.

    Attributes:
        ok: whether it succeeded.
        denied: whether it was denied.
        seconds: the time from the call to the result.
        summary: the result in a few words.
        text: the result as the model sees it.
    """

    ok: bool
    denied: bool
    seconds: float
    summary: str
    text: str


class Decided(msgspec.Struct, tag="decision", tag_field="type", frozen=True, kw_only=True):
    """A decision about a permission, a question, a plan or a form.

    Attributes:
        kind: permission, question, plan, elicitation or dialog.
        tool: the tool, or the server that asked.
        answer: allow, deny, answered, skipped, approve, accept, decline, cancel, …
        by: `rule`, `approver`, `no terminal`, …
        reason: the reason, in words.
        seconds: the time that it took.
    """

    kind: str
    tool: str
    answer: str
    by: str
    reason: str = ""
    seconds: float | None = None


class Notice(msgspec.Struct, tag="notice", tag_field="type", frozen=True, kw_only=True):
    """Anything else worth a line: a retry, a limit, a silence."""

    text: str


class ErrorReport(msgspec.Struct, frozen=True, kw_only=True):
    """An error.

    Attributes:
        message: the problem.
        cause: the kind of failure, if it is known.
        advice: the remedy.
        retryable: whether the same may succeed later.
    """

    message: str
    cause: str | None = None
    advice: str = ""
    retryable: bool = False

    @classmethod
    def of(cls, error: Any) -> ErrorReport:
        """Report an error with a message."""
        cause = getattr(error, "cause", None)
        return cls(
            message=message_of(error),
            cause=None if cause is None else str(cause),
            advice=advice_of(error),
            retryable=getattr(error, "retryable", False),
        )


Outcome = Literal[
    "done",
    "failed",
    "usage",
    "denied",
    "needs_person",
    "budget",
    "limit",
    "no_cli",
    "stalled",
    "interrupted",
    "broken_pipe",
]


class RunReport(msgspec.Struct, tag="result", tag_field="type", frozen=True, kw_only=True):
    """The end of a task.

    Attributes:
        version: of this format.
        outcome: the end in a word; there is one for each status.
        exit_code: the exit status of the command.
        text: the final text of the model.
        output: the structured output, if `--output` asked for one.
        session_id: the conversation, by which it can be resumed.
        model: the model.
        model_calls: the number of model calls.
        tokens: all tokens.
        cost_usd: the estimated cost; None if it is not known.
        seconds: the time that it took.
        decisions: the decisions about requests of the model.
        error: the error, if there was one.
    """

    version: Literal[1] = 1
    outcome: Outcome
    exit_code: int
    text: str = ""
    output: Any = None
    session_id: str | None = None
    model: str | None = None
    model_calls: int = 0
    tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    decisions: list[Decided] = []
    error: ErrorReport | None = None


def outcome_of(exit: Exit) -> Outcome:
    """Return the word for a status."""
    return cast("Outcome", exit.name.lower())


def failed(error: Exception) -> RunReport:
    """Report an error before the task."""
    exit = exit_for(error)
    return RunReport(outcome=outcome_of(exit), exit_code=int(exit), error=ErrorReport.of(error))


Activity = TextPiece | ToolStarted | ToolEnded | Decided | Notice
"""One step of a task."""


Status = Literal["ok", "info", "warning", "problem", "skipped"]
"""Of a check: `problem` if no session can work, `warning` if sessions may surprise."""


class Check(msgspec.Struct, frozen=True):
    """One check.

    Attributes:
        name: the subject.
        status: ok, info, warning, problem or skipped.
        message: the finding, in plain words.
        advice: the remedy.
        details: more of the finding, line by line.
    """

    name: str
    status: Status
    message: str
    advice: str = ""
    details: Sequence[str] = ()


class DoctorReport(msgspec.Struct, frozen=True, kw_only=True):
    """All checks, and whether there is no problem."""

    version: Literal[1] = 1
    ok: bool
    checks: list[Check]


def print_json(report: Any) -> None:
    """Print a report to stdout, formatted."""
    sys.stdout.write(as_json(report, indent=2) + "\n")


def schema_of(printed: Any) -> dict[str, Any]:
    """Return the JSON Schema of a command's output, by its type."""
    schema: dict[str, Any] = msgspec.json.schema(printed)
    for part in schema["$defs"].values():
        # Python 3.13 removes the indentation of docstrings, older versions do not.
        part["description"] = inspect.cleandoc(part["description"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


# --- views of a task -----------------------------------------------------------------------------

Form = Literal["text", "quiet", "json", "stream-json"]


class View:
    """Shows a task. The base class shows nothing."""

    doing: Callable[[], str] = staticmethod(lambda: "")  # the work of the session, in a word

    def show(self, activity: Activity) -> None:
        """Show an activity."""

    def note(self, text: str) -> None:
        """Show a remark of this command."""

    def finish(self, report: RunReport) -> None:
        """Show the end of the task."""

    async def run(self) -> None:
        """Update the view from time to time, until cancelled."""


class DataView(View):
    """Prints the answer alone, one JSON object, or a line of JSON for each activity."""

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
    return as_json(report.output, indent=2)


def as_json(item: Any, *, indent: int | None = None) -> str:
    """Write JSON, on one line without an indent. It stays valid in any encoding of stdout."""
    encoding = (sys.stdout.encoding or "utf-8").lower().replace("-", "")
    return json.dumps(
        msgspec.to_builtins(item),
        ensure_ascii=encoding != "utf8",
        indent=indent,
        separators=None if indent else (",", ":"),
    )


def summary_of(report: RunReport) -> list[str]:
    """Return the effort of a task, in words."""
    calls = "1 model call" if report.model_calls == 1 else f"{report.model_calls} model calls"
    cost = [] if report.cost_usd is None else [f"${report.cost_usd:.4f}"]
    return [calls, f"{report.tokens:,} tokens", *cost, duration(report.seconds)]
