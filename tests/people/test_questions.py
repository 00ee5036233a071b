"""Questions of the model: every answer arrives, and what is none is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.people.asking import COLOUR, SIZES, ask, dialog, heard, use, written

from claudewire.people import (
    AnswerError,
    PermissionResultAllow,
    PermissionResultDeny,
    QuestionAnswer,
    QuestionRequest,
    form_for,
)
from claudewire.wire import Answer

EXAMPLES = Path(__file__).parents[2] / "conformance" / "examples"
NEW = frozenset({"ask_user_question_unanswered_v1"})
UNANSWERED = "The user did not answer the questions."


def one(**options: Any) -> QuestionRequest:
    return QuestionRequest(ask(COLOUR), **options)


def two(**options: Any) -> QuestionRequest:
    return QuestionRequest(ask(COLOUR, SIZES), **options)


def given_input(answer: object) -> dict[str, Any]:
    assert isinstance(answer, PermissionResultAllow)
    assert answer.updated_input is not None
    assert answer.tool_use_id == "toolu_1"
    return answer.updated_input


def answers(answer: object) -> Any:
    return given_input(answer)["answers"]


def annotated(answer: object) -> Any:
    return given_input(answer).get("annotations")


def denial(answer: object) -> str | None:
    assert isinstance(answer, PermissionResultDeny)
    assert answer.interrupt is None
    return answer.message


# --- what is asked -------------------------------------------------------------------------------


def test_questions_are_typed() -> None:
    request = two()
    colour, sizes = request.questions
    assert (colour.question, colour.header, colour.multi_select) == (
        "Which colour?",
        "Colour",
        False,
    )
    assert [(it.label, it.description, it.preview) for it in colour.options] == [
        ("Red", "warm", "**red**"),
        ("Green", "calm", None),
    ]
    assert sizes.multi_select
    assert request.title == "Which colour? Which sizes?"
    assert request.describe()["questions"] == [COLOUR, SIZES]
    assert request.actions == ("answer", "respond", "skip")


def test_a_question_that_cannot_be_read_can_still_be_responded_to() -> None:
    request = QuestionRequest(use("AskUserQuestion", {"questions": "?"}))
    assert request.questions == ()
    assert request.title == "A question that cannot be read"
    with pytest.raises(AnswerError, match="There are 0 questions"):
        request.answer("Green")
    assert denial(request.respond("What do you mean?")) is not None


def test_a_question_is_the_use_of_a_tool() -> None:
    with pytest.raises(TypeError):
        QuestionRequest(dialog())


# --- answers -------------------------------------------------------------------------------------


def test_the_answer_goes_with_the_original_input() -> None:
    assert given_input(one().answer("Green")) == {
        "questions": [COLOUR],
        "answers": {"Which colour?": "Green"},
    }


@pytest.mark.parametrize("key", ["Colour", "Which colour?", 0, "0"])
@pytest.mark.parametrize(
    "value", ["Green", 1, ["Green"], (1,), QuestionAnswer(("Green",)), {"choose": 1}]
)
def test_an_answer_is_found_by_header_text_or_index(key: Any, value: Any) -> None:
    assert answers(one().answer({key: value})) == {"Which colour?": "Green"}


def test_several_are_joined_where_several_are_allowed() -> None:
    assert answers(two().answer({"Colour": "Red", "Sizes": ["S", "L"]})) == {
        "Which colour?": "Red",
        "Which sizes?": "S, L",
    }
    assert answers(two().answer({0: 0, 1: [1]}))["Which sizes?"] == "L"
    assert answers(two().answer({0: 0, 1: ["L", 1, "L"]}))["Which sizes?"] == "L"


@pytest.mark.parametrize("form", ["lists", "bare"])
def test_several_are_a_list_for_a_peer_that_wants_one(form: Any) -> None:
    assert answers(two(form=form).answer({"Colour": "Red", "Sizes": "S"})) == {
        "Which colour?": "Red",
        "Which sizes?": ["S"],
    }


def test_words_of_ones_own_are_said_explicitly() -> None:
    assert answers(one().answer(other="Mauve")) == {"Which colour?": "Mauve"}
    assert answers(one().answer({"Colour": QuestionAnswer(other="Mauve")})) == {
        "Which colour?": "Mauve"
    }
    request = QuestionRequest(ask(SIZES))
    assert answers(request.answer(["S"], other="XXL")) == {"Which sizes?": "S, XXL"}
    request = QuestionRequest(ask(SIZES))
    assert answers(request.answer("S", other="XXL")) == {"Which sizes?": "S, XXL"}


def test_a_question_that_is_skipped_is_left_out() -> None:
    answer = two().answer({"Colour": "Red", "Sizes": None})
    assert answers(answer) == {"Which colour?": "Red"}
    assert annotated(answer) is None


def test_a_newer_cli_is_told_which_were_skipped() -> None:
    answer = two(capabilities=NEW).answer({"Colour": "Green", "Sizes": None})
    assert answers(answer) == {"Which colour?": "Green"}
    assert annotated(answer) == {"Which sizes?": {"unanswered": "skipped"}}


def test_a_newer_cli_is_told_notes_and_previews_apart() -> None:
    answer = two(capabilities=NEW).answer(
        {"Colour": QuestionAnswer(("Red",), notes="but light"), "Sizes": [0, 1]},
        notes={"Sizes": "or M"},
    )
    assert answers(answer) == {"Which colour?": "Red", "Which sizes?": "S, L"}
    assert annotated(answer) == {
        "Which colour?": {"notes": "but light", "preview": "**red**"},
        "Which sizes?": {"notes": "or M"},
    }


def test_an_older_cli_is_told_notes_with_the_answer() -> None:
    answer = two().answer({"Colour": "Red", "Sizes": [0, 1]}, notes={0: "light", "Sizes": "or M"})
    assert answers(answer) == {
        "Which colour?": "Red (note: light)",
        "Which sizes?": "S, L (note: or M)",
    }
    assert annotated(answer) is None


def test_a_note_can_be_all_there_is_to_say() -> None:
    assert answers(one().answer(notes="later")) == {"Which colour?": "(no option) (note: later)"}
    newer = one(capabilities=NEW).answer(notes="later")
    assert answers(newer) == {}
    assert annotated(newer) == {"Which colour?": {"notes": "later", "unanswered": "skipped"}}
    by_reply = one(capabilities=NEW).answer({0: {"notes": "later"}})
    assert annotated(by_reply) == annotated(newer)


def test_skipping_all_tells_the_model_that_nobody_answered() -> None:
    assert denial(two().skip()) == UNANSWERED
    assert denial(two().answer({0: None, 1: None})) == UNANSWERED
    newer = two(capabilities=NEW).skip()
    assert answers(newer) == {}
    assert annotated(newer) == {
        "Which colour?": {"unanswered": "skipped"},
        "Which sizes?": {"unanswered": "skipped"},
    }


def test_a_response_instead_of_answers_reaches_the_model() -> None:
    assert denial(two().respond("Neither.")) == (
        "The user chose none of the options, and said: Neither."
    )
    newer = given_input(two(capabilities=NEW).respond("Neither."))
    assert newer["questions"] == [COLOUR, SIZES]
    assert (newer["answers"], newer["response"]) == ({}, "Neither.")
    assert newer["annotations"]["Which sizes?"] == {"unanswered": "replied_in_chat"}


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "No answer is given"),
        ("Mauve", "'Mauve' is not an option of 'Colour'; the options are 'Red', 'Green'"),
        ("green", "'green' is not an option"),
        (2, "2 is not an option"),
        (-1, "-1 is not an option"),
        (True, "True is not an option"),
        (1.5, "1.5 is not an answer to 'Colour'"),
        (["Red", "Green"], "Only one answer can be given to 'Colour', not 2"),
        ([], "Nothing is chosen for 'Colour'; give None to skip it"),
        (QuestionAnswer(), "Nothing is chosen"),
        (QuestionAnswer(("Red",), other="Mauve"), "Only one answer"),
        (QuestionAnswer(other=" "), "The answer must be a string"),
        (QuestionAnswer(("Red",), notes=""), "A note must be a string"),
        ({"Color": "Red"}, "There is no question 'Color'; the questions are 'Colour'"),
        ({1: "Red"}, "There is no question 1"),
        ({"1": "Red"}, "There is no question '1'"),
        ({"²": "Red"}, "There is no question '²'"),
        ({None: "Red"}, "There is no question None"),
        ({True: "Red"}, "There is no question True"),
        ({}, "There is no answer to 'Colour'; give None to skip a question"),
        ({0: "Red", "Colour": "Green"}, "The same question is answered twice"),
        ({0: {"chose": "Red"}}, "is not an answer to 'Colour'"),
        ({0: {0: "Red"}}, "is not an answer to 'Colour'"),
    ],
)
def test_what_is_no_answer_is_refused_loudly(value: Any, words: str) -> None:
    request = one()
    with pytest.raises(AnswerError) as caught:
        request.answer(value)
    assert words in str(caught.value)
    assert request.is_waiting


def test_with_several_questions_it_has_to_be_said_which_is_answered() -> None:
    request = two()
    with pytest.raises(AnswerError, match="There are 2 questions"):
        request.answer("Green")
    with pytest.raises(AnswerError, match="There is no answer to 'Sizes'"):
        request.answer({"Colour": "Green"})
    with pytest.raises(AnswerError, match="Say which question each note is for"):
        request.answer({0: 0, 1: 0}, notes="hm")
    with pytest.raises(AnswerError, match="There is no question 'Shape'"):
        request.answer({0: 0, 1: 0}, notes={"Shape": "hm"})
    with pytest.raises(AnswerError, match="into the `QuestionAnswer`"):
        request.answer({0: 0, 1: 0}, other="hm")
    with pytest.raises(AnswerError, match="into the `QuestionAnswer`"):
        one().answer(QuestionAnswer(("Red",)), other="hm")
    for text in ("", " ", 5, None):
        with pytest.raises(AnswerError, match="The response must be a string"):
            request.respond(text)  # type: ignore[arg-type]
    assert request.is_waiting


def test_a_header_that_two_questions_share_is_no_key() -> None:
    other = {**SIZES, "header": "Colour"}
    request = QuestionRequest(ask(COLOUR, other))
    with pytest.raises(AnswerError, match="'Colour' can mean several questions; use the index"):
        request.answer({"Colour": "Red", 1: 0})
    assert answers(request.answer({0: "Red", 1: "S"}))["Which sizes?"] == "S"


def test_two_questions_with_the_same_text_cannot_have_different_answers() -> None:
    request = QuestionRequest(ask(COLOUR, COLOUR))
    with pytest.raises(AnswerError, match="the CLI cannot tell their answers apart"):
        request.answer({0: "Red", 1: "Green"})
    assert answers(request.answer({0: "Red", 1: "Red"})) == {"Which colour?": "Red"}


def test_a_question_is_named_by_its_text_when_it_has_no_header() -> None:
    plain = {"question": "Which?", "options": []}
    request = QuestionRequest(ask(plain))
    with pytest.raises(
        AnswerError, match="'Red' is not an option of 'Which\\?'; the options are none"
    ):
        request.answer("Red")


def test_a_mere_yes_answers_no_question() -> None:
    request = one()
    for nonsense in (
        PermissionResultAllow(),
        PermissionResultAllow({"questions": [COLOUR]}),
        PermissionResultAllow({"answers": "Green"}),
        True,
        {"Colour": "Green"},
    ):
        with pytest.raises(TypeError):
            request.resolve(nonsense)
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


# --- the bytes of the documented forms -----------------------------------------------------------


def example(file: str, id: str) -> dict[str, Any]:
    """An example of a documented form."""
    lines = (EXAMPLES / file).read_text(encoding="utf-8").splitlines()
    objects = [json.loads(line) for line in lines]
    found: dict[str, Any] = next(it["object"] for it in objects if it["id"] == id)
    return found


def compact(obj: dict[str, Any]) -> bytes:
    return json.dumps(obj, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def test_the_bare_form_is_byte_for_byte_as_documented() -> None:
    asked, documented = (example("000-modern.jsonl", f"000-ex-0{number}") for number in (8, 9))
    connection, request = heard(asked)
    answer = QuestionRequest(request, form="bare").answer("Green")
    assert connection.send(Answer(request.id, answer)) == compact(documented)


def test_the_form_by_index_is_as_documented() -> None:
    documented = example("004-envelope.jsonl", "004-ex-05")
    options = [{"label": f"Option{number}"} for number in (1, 2, 3)]
    input = {
        "questions": [
            {"question": "Would you like to proceed?", "header": "Confirm", "multiSelect": False}
            | {"options": [{"label": "Yes"}, {"label": "No"}]},
            {"question": "What?", "header": "What", "multiSelect": True, "options": options},
        ]
    }
    body = {
        "subtype": "can_use_tool",
        "tool_name": "AskUserQuestion",
        "input": input,
        "tool_use_id": "tool-use-id-from-request",
    }
    inner = {"type": "control_request", "request_id": "matching-request-id", "request": body}
    connection, request = heard({"type": "control_request", "message": inner})
    form = form_for(connection.their_dialect.name)
    answer = QuestionRequest(request, form=form).answer({"Confirm": "Yes", "What": [0, "Option2"]})
    assert written(connection, request, answer) == documented


@pytest.mark.parametrize("dialect", ["modern", "session", "legacy"])
def test_the_other_dialects_get_what_every_cli_understands(dialect: str) -> None:
    line = {"type": "control_request", "request_id": "7"}
    body = {"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "tool_use_id": "t"}
    connection, request = heard(
        {**line, "request": {**body, "input": {"questions": [SIZES]}}}, dialect
    )
    answer = QuestionRequest(request, form=form_for(dialect)).answer([["S", "L"]][0])
    said = written(connection, request, answer)["response"]["response"]
    updated = said.get("updatedInput") or said["updated_input"]
    assert updated == {"questions": [SIZES], "answers": {"Which sizes?": "S, L"}}
