"""What the model is told when a question has been answered, by the version that asks."""

from __future__ import annotations

from typing import Any

from .personas import Persona

__all__ = ["verdict"]

UNANSWERED = "The user did not answer the questions."


def verdict(persona: Persona, given: dict[str, Any]) -> str:
    """Judge the input that a person's answer has made of a question.

    Raises:
        ValueError: it is not what this version expects; the tool fails.
    """
    answers = given.get("answers")
    if persona.passes_answers_on:
        return _told(answers) if isinstance(answers, dict) and answers else UNANSWERED
    asked = given.get("questions")
    if not isinstance(asked, list):
        raise ValueError("updatedInput failed schema validation: `questions` is missing")
    questions = [it for it in asked if isinstance(it, dict)]
    if isinstance(given.get("response"), str):
        return f"The user responded: {given['response']}"
    texts = {it.get("question") for it in questions}
    if not isinstance(answers, dict) or not texts & answers.keys():
        return UNANSWERED
    known = {text: answers[text] for text in answers if text in texts}
    if _all_are_options(known, questions):
        return _told(known)
    return f"The user answered: {_pairs(known)}. Read the answers carefully."


def _told(answers: dict[str, Any]) -> str:
    return (
        f"Your questions have been answered: {_pairs(answers)}. "
        "You can now continue with these answers in mind."
    )


def _pairs(answers: dict[str, Any]) -> str:
    return ", ".join(f'"{text}"="{_joined(value)}"' for text, value in answers.items())


def _joined(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _all_are_options(answers: dict[str, Any], questions: list[Any]) -> bool:
    for question in questions:
        labels = {option.get("label") for option in question.get("options") or ()}
        value = answers.get(question.get("question"), [])
        chosen = value if isinstance(value, list) else str(value).split(", ")
        if not set(chosen) <= labels:
            return False
    return True
