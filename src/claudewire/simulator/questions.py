"""What the model is told when a question has been answered, by the version that asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .personas import Persona

__all__ = ["verdict"]

UNANSWERED = "The user did not answer the questions."


def verdict(persona: Persona, given: dict[str, Any]) -> str:
    """Judge the input that a person's answer has made of a question.

    Raises:
        ValueError: it is not what this version expects; the tool fails.
    """
    answers = _object(given.get("answers"))
    if persona.passes_answers_on:
        pairs = ", ".join(f'"{text}"="{_joined(value)}"' for text, value in answers.items())
        return (
            f"User has answered your questions: {pairs}. "
            "You can now continue with the user's answers in mind."
        )
    asked = given.get("questions")
    if not isinstance(asked, list):
        raise ValueError("updatedInput failed schema validation: `questions` is missing")
    if isinstance(given.get("response"), str):
        return f"The user responded: {given['response']}"
    questions = [it for it in asked if isinstance(it, dict)]
    notes = _object(given.get("annotations"))
    pairs = ", ".join(_pairs(questions, answers, notes))
    if not pairs:
        return UNANSWERED
    if all(_is_plain(question, answers, notes) for question in questions):
        return (
            f"Your questions have been answered: {pairs}. "
            "You can now continue with these answers in mind."
        )
    return f"The user answered: {pairs}. Read the answers carefully."


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _pairs(
    questions: list[dict[str, Any]], answers: dict[str, Any], notes: dict[str, Any]
) -> Iterator[str]:
    """What there is to tell of each question; of one that was skipped, nothing."""
    for question in questions:
        text = question.get("question")
        note = _object(notes.get(text)) if isinstance(text, str) else {}
        if text not in answers and "notes" not in note:
            continue
        told = f'"{_joined(answers[text])}"' if text in answers else "(no option selected)"
        preview = f" selected preview:\n{note['preview']}" if "preview" in note else ""
        words = f" notes: {note['notes']}" if "notes" in note else ""
        yield f'"{text}"={told}{preview}{words}'


def _joined(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _is_plain(question: dict[str, Any], answers: dict[str, Any], notes: dict[str, Any]) -> bool:
    """Whether nothing but options was chosen: then there is nothing to read between the lines."""
    text = question.get("question")
    if isinstance(text, str) and "notes" in _object(notes.get(text)):
        return False
    value = answers.get(text, [])  # type: ignore[arg-type]
    if not isinstance(value, list):
        value = str(value).split(", ") if question.get("multiSelect") else [str(value)]
    return set(value) <= {option.get("label") for option in question.get("options") or ()}
