"""Questions to the user, and their answers."""

from __future__ import annotations

from typing import Any

import pytest
from tests.wire.roundtrip import (
    Example,
    assert_complete,
    assert_same_again,
    names,
    structs_of,
    with_minimal,
)

from claudewire.wire import (
    Question,
    QuestionAnnotation,
    QuestionAnswers,
    QuestionInput,
    QuestionOption,
    questions_of,
)
from claudewire.wire.types import questions

OPTION: dict[str, Any] = {"label": "Red", "description": "Choose red", "preview": "**red**"}
QUESTION: dict[str, Any] = {
    "question": "Which color?",
    "header": "Color",
    "options": [OPTION, {"label": "Green"}],
    "multiSelect": False,
}
ANNOTATION: dict[str, Any] = {"preview": "p", "notes": "n", "unanswered": "skipped"}

EXAMPLES: list[Example] = [
    (QuestionOption, OPTION),
    (Question, QUESTION),
    (QuestionAnnotation, ANNOTATION),
    (
        QuestionInput,
        {
            "questions": [QUESTION],
            "answers": {"Which color?": "Red", "Which sizes?": ["S", "L"]},
            "annotations": {"Which color?": ANNOTATION},
            "metadata": {"source": "plan"},
        },
    ),
    (
        QuestionAnswers,
        {
            "answers": {"Which color?": "Red", "Which sizes?": ["S", "L"]},
            "questions": [QUESTION],
            "response": "none of these",
            "annotations": {"Which color?": ANNOTATION},
            "afkTimeoutMs": 60000,
        },
    ),
    (QuestionAnswers, {"answers": {}, "response": "none of these"}),
]


@pytest.mark.parametrize("example", with_minimal(EXAMPLES), ids=names(with_minimal(EXAMPLES)))
def test_it_is_written_as_it_was_read(example: Example) -> None:
    assert_same_again(example)


@pytest.mark.parametrize("example", EXAMPLES[:-1], ids=names(EXAMPLES[:-1]))
def test_an_example_shows_every_field(example: Example) -> None:
    assert_complete(example)


def test_every_class_has_an_example() -> None:
    assert structs_of(questions) == {cls for cls, _ in EXAMPLES}


def test_questions_are_read_out_of_the_input_of_the_tool() -> None:
    found = questions_of({"questions": [QUESTION, {"question": "Sure?"}], "answers": 1})
    assert [(it.question, it.header, it.multi_select) for it in found] == [
        ("Which color?", "Color", False),
        ("Sure?", None, False),
    ]
    assert [it.label for it in found[0].options] == ["Red", "Green"]
    assert found[1].options == []


@pytest.mark.parametrize(
    "input",
    [
        {},
        {"questions": None},
        {"questions": "Which color?"},
        {"questions": [{"header": "Color"}]},
        {"questions": [{"question": "Which?", "options": ["Red"]}]},
        {"command": "ls"},
    ],
)
def test_an_input_that_asks_nothing_gives_no_questions(input: dict[str, Any]) -> None:
    assert questions_of(input) == []
