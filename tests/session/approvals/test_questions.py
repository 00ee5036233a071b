"""Questions of the model: every answer arrives, and invalid ones are refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.session.approvals.asking import COLOUR, SIZES, ask, use

from claudewire.approvals import (
    AnswerError,
    PermissionResultAllow,
    PermissionResultDeny,
    QuestionAnswer,
    QuestionRequest,
)

NEW = frozenset({"ask_user_question_unanswered_v1"})
UNANSWERED = "The user did not answer the questions."


def one(**options: Any) -> QuestionRequest:
    return QuestionRequest(ask(COLOUR), **options)


def two(**options: Any) -> QuestionRequest:
    return QuestionRequest(ask(COLOUR, SIZES), **options)


def given_input(answer: object) -> dict[str, Any]:
    assert isinstance(answer, PermissionResultAllow)
    assert answer.updated_input is not None
    return answer.updated_input


def answers(answer: object) -> Any:
    return given_input(answer)["answers"]


def denial(answer: object) -> str | None:
    assert isinstance(answer, PermissionResultDeny)
    assert answer.interrupt is None
    return answer.message


def test_questions_are_typed() -> None:
    request = two()
    colour, sizes = request.questions
    assert (colour.question, colour.header) == ("Which colour?", "Colour")
    assert [(it.label, it.description, it.preview) for it in colour.options] == [
        ("Red", "warm", "**red**"),
        ("Green", "calm", None),
    ]
    assert (colour.multi_select, sizes.multi_select) == (False, True)
    assert request.title == "Question: Which colour? Which sizes?"
    assert request.describe()["questions"] == [COLOUR, SIZES]


def test_malformed_question_can_still_be_responded_to() -> None:
    request = QuestionRequest(use("AskUserQuestion", {"questions": "?"}))
    assert (request.questions, request.title) == ((), "Question: (it cannot be read)")
    with pytest.raises(AnswerError, match="There are 0 questions"):
        request.answer("Green")
    assert denial(request.respond("What do you mean?")) is not None


# --- answers -------------------------------------------------------------------------------------


def test_answer_goes_along_with_the_questions() -> None:
    asked = {"questions": [COLOUR], "answers": {"Which colour?": "Green"}}
    assert given_input(one().answer("Green")) == asked


@pytest.mark.parametrize("key", ["Colour", "Which colour?", 0, "0"])
@pytest.mark.parametrize("value", ["Green", 1, ["Green"], QuestionAnswer((1,)), {"choose": 1}])
def test_question_and_option_are_named_in_any_way(key: Any, value: Any) -> None:
    assert answers(one().answer({key: value})) == {"Which colour?": "Green"}


def test_several_labels_are_joined() -> None:
    assert answers(two().answer({"Colour": "Red", "Sizes": ["S", "L"]})) == {
        "Which colour?": "Red",
        "Which sizes?": "S, L",
    }
    assert answers(two().answer({0: 0, 1: ["L", 1, "L"]}))["Which sizes?"] == "L"


@pytest.mark.parametrize("form", ["lists", "bare"])
def test_several_labels_are_a_list_for_a_peer_that_wants_one(form: Any) -> None:
    answer = given_input(two(form=form).answer({"Colour": "Red", "Sizes": "S"}))
    assert answer["answers"] == {"Which colour?": "Red", "Which sizes?": ["S"]}
    assert ("questions" in answer) is (form == "lists")


def test_free_text_replaces_or_completes_the_labels() -> None:
    assert answers(one().answer(other="Mauve")) == {"Which colour?": "Mauve"}
    mauve = QuestionAnswer(other="Mauve")
    assert answers(one().answer({"Colour": mauve})) == {"Which colour?": "Mauve"}
    sizes = QuestionRequest(ask(SIZES))
    assert answers(sizes.answer(["S"], other="XXL")) == {"Which sizes?": "S, XXL"}


def test_notes_reach_every_cli() -> None:
    reply = {"Colour": QuestionAnswer(["Red"], notes="light"), "Sizes": [0, 1]}
    assert answers(two().answer(reply)) == {
        "Which colour?": "Red (note: light)",
        "Which sizes?": "S, L",
    }
    newer = given_input(two(capabilities=NEW).answer(reply))
    assert newer["answers"]["Which colour?"] == "Red"
    assert newer["annotations"] == {"Which colour?": {"notes": "light", "preview": "**red**"}}
    only = given_input(one(capabilities=NEW).answer(notes="later"))
    assert only["answers"] == {}
    assert only["annotations"] == {"Which colour?": {"notes": "later", "unanswered": "skipped"}}
    older = one().answer(notes="later")
    assert answers(older) == {"Which colour?": "(no option) (note: later)"}


def test_skipped_question_is_left_out() -> None:
    some = {"Colour": "Red", "Sizes": None}
    assert "annotations" not in given_input(two().answer(some))
    newer = given_input(two(capabilities=NEW).answer(some))
    assert newer["answers"] == {"Which colour?": "Red"}
    assert newer["annotations"]["Which sizes?"] == {"unanswered": "skipped"}


def test_skipping_all_tells_the_model_that_nothing_was_answered() -> None:
    assert denial(two().skip()) == UNANSWERED
    assert denial(two().answer({0: None, 1: None})) == UNANSWERED
    newer = given_input(two(capabilities=NEW).skip())
    skipped = {"unanswered": "skipped"}
    assert newer["answers"] == {}
    assert newer["annotations"] == {"Which colour?": skipped, "Which sizes?": skipped}


def test_response_instead_of_answers_reaches_the_model() -> None:
    words = "The user chose none of the options, and said: Neither."
    assert denial(two().respond("Neither.")) == words
    newer = given_input(two(capabilities=NEW).respond("Neither."))
    assert (newer["answers"], newer["response"]) == ({}, "Neither.")
    assert newer["annotations"]["Which sizes?"] == {"unanswered": "replied_in_chat"}


# --- invalid answers -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "No answer is given"),
        ("Mauve", "'Mauve' is not an option of 'Colour'; the options are 'Red', 'Green'"),
        ("green", "'green' is not an option"),
        (2, "2 is not an option"),
        (-1, "-1 is not an option"),
        (True, "True is not an option"),
        (1.5, "1.5 is not an option"),
        (["Red", "Green"], "Only one answer can be given to 'Colour', not 2"),
        ([], "Nothing is chosen for 'Colour'; pass None to skip it"),
        (QuestionAnswer(["Red"], other="Mauve"), "Only one answer"),
        (QuestionAnswer(other=" "), "`other` must be a string"),
        (QuestionAnswer(["Red"], notes=""), "`notes` must be a string"),
        ({"Color": "Red"}, "There is no question 'Color'; the questions are 'Colour'"),
        ({1: "Red"}, "There is no question 1"),
        ({"1": "Red"}, "There is no question '1'"),
        ({"²": "Red"}, "There is no question '²'"),
        ({True: "Red"}, "There is no question True"),
        ({}, "There is no answer to 'Colour'; pass None to skip a question"),
        ({0: "Red", "Colour": "Green"}, "The same question is answered twice"),
        ({0: {"chose": "Red"}}, "has other fields than choose, other and notes"),
        ({0: {"choose": 1.5}}, "1.5 is not an option"),
    ],
)
def test_invalid_answer_is_refused(value: Any, words: str) -> None:
    with pytest.raises(AnswerError) as caught:
        one().answer(value)
    assert words in str(caught.value)


def test_answers_to_several_questions_need_their_names() -> None:
    request = two()
    with pytest.raises(AnswerError, match="There are 2 questions; answer by 'Colour', 'Sizes'"):
        request.answer("Green")
    with pytest.raises(AnswerError, match="There is no answer to 'Sizes'"):
        request.answer({"Colour": "Green"})
    for extra in ({"notes": "hm"}, {"other": "hm"}):
        with pytest.raises(AnswerError, match="into the `QuestionAnswer`"):
            request.answer({0: 0, 1: 0}, **extra)
    for text in ("", " ", 5, None):
        with pytest.raises(AnswerError, match="The response must be a string"):
            request.respond(text)  # type: ignore[arg-type]


def test_header_of_two_questions_is_ambiguous() -> None:
    request = QuestionRequest(ask(COLOUR, {**SIZES, "header": "Colour"}))
    with pytest.raises(AnswerError, match="'Colour' can mean several questions; use the index"):
        request.answer({"Colour": "Red", 1: 0})
    assert answers(request.answer({0: "Red", 1: "S"}))["Which sizes?"] == "S"


def test_questions_of_the_same_text_need_the_same_answer() -> None:
    request = QuestionRequest(ask(COLOUR, COLOUR))
    with pytest.raises(AnswerError, match="the CLI cannot tell their answers apart"):
        request.answer({0: "Red", 1: "Green"})
    assert answers(request.answer({0: "Red", 1: "Red"})) == {"Which colour?": "Red"}


def test_allow_without_answers_is_no_answer() -> None:
    request = one()
    for wrong in (
        PermissionResultAllow(),
        PermissionResultAllow({"questions": [COLOUR]}),
        PermissionResultAllow({"answers": "Green"}),
        True,
        {"Colour": "Green"},
    ):
        with pytest.raises(TypeError):
            request.resolve(wrong)
    assert request.is_waiting
    assert request.resolve(PermissionResultAllow({"answers": {"Which colour?": "Green"}}))


LABELS = st.lists(st.text(min_size=1, max_size=5), min_size=2, max_size=4, unique=True)


@given(st.lists(LABELS, min_size=1, max_size=4), st.data())
def test_every_choice_arrives_at_its_question(labels: list[list[str]], data: st.DataObject) -> None:
    questions = [
        {"question": f"Question {number}?", "header": f"Q{number}", "multiSelect": True}
        | {"options": [{"label": label} for label in each]}
        for number, each in enumerate(labels)
    ]
    chosen = [
        data.draw(st.lists(st.sampled_from(each), min_size=1, unique=True)) for each in labels
    ]
    answer = QuestionRequest(ask(*questions), form="lists").answer(dict(enumerate(chosen)))
    assert answers(answer) == {f"Question {number}?": each for number, each in enumerate(chosen)}
