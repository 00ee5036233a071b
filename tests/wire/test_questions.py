"""Questions to the user, and their answers."""

from __future__ import annotations

import json
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
    Answer,
    CanUseTool,
    Connection,
    Question,
    QuestionAnnotation,
    QuestionAnswers,
    QuestionInput,
    QuestionOption,
    Request,
    Role,
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


HALF = "\ud800"  # of a surrogate pair


@pytest.mark.parametrize(
    "odd",
    [
        {HALF: 1},
        {HALF: {HALF: [{HALF: 1}]}, "later": {HALF: 1}},
        {"options": [{"label": HALF, HALF: 2}]},
        {"header": HALF, "é": 1, HALF: HALF},
    ],
    ids=["a key", "keys inside", "a key of an option", "texts"],
)
def test_questions_with_keys_that_are_no_text_are_questions(odd: dict[str, Any]) -> None:
    (question,) = questions_of({"questions": [{"question": "Which?", **odd}], HALF: 1})
    assert (question.question, question.header) == ("Which?", odd.get("header"))
    assert [it.label for it in question.options] == [HALF] * ("options" in odd)


def test_an_answer_to_such_questions_is_read_like_any_other() -> None:
    connection = Connection(Role.CLI)
    body = CanUseTool("AskUserQuestion", {"questions": [{"question": "Which?", HALF: 1}]})
    connection.send(Request(id="q", body=body))
    allowed = {"behavior": "allow", "updatedInput": {"answers": {"0": "This"}}}
    response = {"subtype": "success", "request_id": "q", "response": allowed}
    line = json.dumps({"type": "control_response", "response": response})
    (answer,) = connection.receive_data(line.encode() + b"\n")
    assert isinstance(answer, Answer)
    assert answer.body.updated_input["answers"] == {"Which?": "This"}
