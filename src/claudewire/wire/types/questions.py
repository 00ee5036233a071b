"""The questions of the AskUserQuestion tool.

A question reaches the host as a request to use that tool. The one answer that every CLI
understands is to allow it with the original input plus `answers`, keyed by the exact text of each
question, several labels joined with a comma and a space.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .base import Record, prepared


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


def questions_of(input: dict[str, Any]) -> list[Question]:
    """Return the questions in a tool's input; none if there are none, or they are malformed."""
    try:
        return msgspec.convert(input.get("questions"), prepared(list[Question]))
    except msgspec.ValidationError:
        return []
