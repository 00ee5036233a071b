"""What the AskUserQuestion tool asks, and what it is answered.

A question reaches the host as a request to use that tool. The one answer that every CLI
understands is to allow it with the original input plus `answers`, keyed by the exact text of each
question, several labels joined with a comma and a space.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .base import Number, Record, prepared

__all__ = [
    "Question",
    "QuestionAnnotation",
    "QuestionAnswers",
    "QuestionInput",
    "QuestionOption",
    "questions_of",
]


class QuestionOption(Record):
    """One of the answers to choose from; `preview` is Markdown or HTML."""

    label: str
    description: str | None = None
    preview: str | None = None


class Question(Record):
    """One question; `header` is a title of a dozen characters at most."""

    question: str
    header: str | None = None
    options: list[QuestionOption] = msgspec.field(default_factory=list)
    # The CLI always writes it; a factory keeps the default from being left out.
    multi_select: bool = msgspec.field(name="multiSelect", default_factory=bool)


class QuestionAnnotation(Record):
    """What belongs to an answer besides its label, or why there is none."""

    preview: str | None = None
    notes: str | None = None
    unanswered: str | None = None
    """skipped, replied_in_chat or dismissed."""


class QuestionInput(Record):
    """The input of the tool. A host that allows it adds the answers."""

    questions: list[Question]
    answers: dict[str, str | list[str]] | None = None
    annotations: dict[str, QuestionAnnotation] | None = None
    metadata: dict[str, Any] | None = None


class QuestionAnswers(Record):
    """The output of the tool; `response` is free text given instead of any option."""

    answers: dict[str, str | list[str]]
    questions: list[Question] | None = None
    response: str | None = None
    annotations: dict[str, QuestionAnnotation] | None = None
    afk_timeout_ms: Number | None = msgspec.field(name="afkTimeoutMs", default=None)


def questions_of(input: dict[str, Any]) -> list[Question]:
    """Read the questions out of a tool's input; an input that asks nothing gives none."""
    given = input.get("questions")
    try:
        return _converted(given)
    except UnicodeEncodeError:  # a key has half of a surrogate pair, and no field is called so
        return _converted(_with_plain_keys(given))


def _converted(given: Any) -> list[Question]:
    try:
        return msgspec.convert(given, prepared(list[Question]))
    except msgspec.ValidationError:
        return []


def _with_plain_keys(value: Any, depth: int = 4) -> Any:
    """Leave out the keys that are not ASCII, as deep as questions go."""
    if isinstance(value, dict) and depth:
        return {key: _with_plain_keys(it, depth - 1) for key, it in value.items() if key.isascii()}
    if isinstance(value, list) and depth:
        return [_with_plain_keys(it, depth - 1) for it in value]
    return value
