"""What `--json` and `--stream-json` print, as types. The schemas in `schemas/` follow from them.

Fields are only ever added, and `version` is counted up if one changes its meaning.
"""

from __future__ import annotations

import inspect
from typing import Any, Literal

import msgspec

__all__ = [
    "SCHEMAS",
    "Activity",
    "Decided",
    "ErrorReport",
    "Notice",
    "Outcome",
    "RunReport",
    "TextPiece",
    "ToolEnded",
    "ToolStarted",
    "schema_of",
]


class _Item(msgspec.Struct, frozen=True):
    """Anything that is printed as JSON."""


class TextPiece(_Item, tag="text", tag_field="type", frozen=True, kw_only=True):
    """Some text of the model.

    Attributes:
        text: the piece; the pieces of a block joined are its text.
        block: names the block that it belongs to; a new one begins a new paragraph.
        agent: the tool call of the subagent that says it; None for the main conversation.
    """

    text: str
    block: str
    agent: str | None = None


class ToolStarted(_Item, tag="tool_started", tag_field="type", frozen=True, kw_only=True):
    """The model calls a tool.

    Attributes:
        id: the id of the call.
        name: the tool.
        subject: what it is about, in one line.
        input: what it is called with.
        agent: the tool call of the subagent that calls it; None for the main conversation.
    """

    id: str
    name: str
    subject: str
    input: dict[str, Any]
    agent: str | None = None


class ToolEnded(_Item, tag="tool_ended", tag_field="type", frozen=True, kw_only=True):
    """A tool has given its result.

    Attributes:
        id: the id of the call.
        name: the tool.
        ok: whether it succeeded.
        denied: whether it was not allowed to run.
        seconds: how long it took, from the call to the result.
        summary: the result in a few words.
        text: the result as the model sees it.
        agent: the tool call of the subagent that called it; None for the main conversation.
    """

    id: str
    name: str
    ok: bool
    denied: bool
    seconds: float
    summary: str
    text: str
    agent: str | None = None


class Decided(_Item, tag="decision", tag_field="type", frozen=True, kw_only=True):
    """A request was decided: a permission, a question, a plan or a form.

    Attributes:
        kind: permission, question, plan, elicitation or dialog.
        tool: the tool, or who asked.
        answer: allow, deny, answered, skipped, approve, accept, decline, cancel, …
        by: who or what decided: `rule`, `person`, `no terminal`, …
        reason: why, in words.
        seconds: how long it took.
    """

    kind: str
    tool: str
    answer: str
    by: str
    reason: str = ""
    seconds: float | None = None


class Notice(_Item, tag="notice", tag_field="type", frozen=True, kw_only=True):
    """Something else that a person may want to know: a retry, a limit, a silence."""

    text: str


class ErrorReport(_Item, frozen=True, kw_only=True):
    """What went wrong.

    Attributes:
        message: what happened, and why.
        cause: the kind of failure, if it is known.
        advice: what to do about it.
        retryable: whether the same may succeed later.
    """

    message: str
    cause: str | None = None
    advice: str = ""
    retryable: bool = False


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


class RunReport(_Item, tag="result", tag_field="type", frozen=True, kw_only=True):
    """How a task ended.

    Attributes:
        version: of this format.
        outcome: how it ended, in a word; there is one for each status.
        exit_code: the status that the command exits with.
        text: the final text of the model.
        output: the structured output, if `--output` asked for one.
        session_id: the conversation, by which it can be resumed.
        model: the model that was used.
        turns: how often the model was called.
        tokens: all tokens that were used.
        cost_usd: what it cost, by estimate; None if that is not known.
        seconds: how long it took.
        decisions: what was decided about requests of the model.
        error: what went wrong; None if nothing did.
    """

    version: Literal[1] = 1
    outcome: Outcome
    exit_code: int
    text: str = ""
    output: Any = None
    session_id: str | None = None
    model: str | None = None
    turns: int = 0
    tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    decisions: list[Decided] = []
    error: ErrorReport | None = None


Activity = TextPiece | ToolStarted | ToolEnded | Decided | Notice
"""Something that happens while a task is worked on."""

SCHEMAS: dict[str, Any] = {"run": RunReport, "run-stream": Activity | RunReport}
"""What each of the files in `schemas/` describes: the output of `--json` and of `--stream-json`."""


def schema_of(printed: Any) -> dict[str, Any]:
    """Return the JSON Schema of what a command prints, by its type."""
    schema: dict[str, Any] = msgspec.json.schema(printed)
    for part in schema["$defs"].values():
        # From a docstring, which Python 3.13 does not indent any more.
        part["description"] = inspect.cleandoc(part["description"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
