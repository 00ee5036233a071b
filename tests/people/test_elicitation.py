"""Forms of MCP servers and dialogs of the CLI."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.people.asking import dialog, form, permission

from claudewire.people import AnswerError, DialogRequest, ElicitationRequest, Form
from claudewire.wire import DialogCancelled, DialogCompleted, ElicitationResult, Request

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "description": "Yours", "minLength": 2},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "weight": {"type": "number"},
        "member": {"type": "boolean", "default": False},
        "colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
        "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l"}]},
        "days": {
            "type": "array",
            "items": {"anyOf": [{"const": "mo", "title": "Monday"}, {"const": "tu"}]},
            "minItems": 1,
            "maxItems": 1,
        },
        "more": {"type": "object"},
    },
    "required": ["name"],
}


def asked(**fields: Any) -> ElicitationRequest:
    return ElicitationRequest(form(SCHEMA, **fields))


def test_a_form_is_read_from_its_schema() -> None:
    fields = {field.name: field for field in asked().form.fields}
    assert [(name, field.type) for name, field in fields.items()] == [
        ("name", "string"),
        ("age", "integer"),
        ("weight", "number"),
        ("member", "boolean"),
        ("colour", "choice"),
        ("size", "choice"),
        ("days", "choices"),
        ("more", "other"),
    ]
    assert (fields["name"].title, fields["name"].description) == ("Name", "Yours")
    assert [name for name, field in fields.items() if field.required] == ["name"]
    assert fields["age"].title == "age"
    assert fields["member"].default is False
    assert [(it.value, it.title) for it in fields["colour"].choices] == [
        ("r", "Red"),
        ("g", "Green"),
    ]
    assert [(it.value, it.title) for it in fields["size"].choices] == [("s", "Small"), ("l", "l")]
    assert [it.title for it in fields["days"].choices] == ["Monday", "tu"]


def test_an_elicitation_says_who_asks_for_what() -> None:
    request = ElicitationRequest(form(SCHEMA), session="one")
    assert (request.id, request.server, request.message) == ("one.1", "crm", "Who is it?")
    assert request.title == "crm: Who is it?"
    said = request.describe()
    assert json.loads(json.dumps(said)) == said
    assert said["fields"][4]["choices"] == [
        {"value": "r", "title": "Red"},
        {"value": "g", "title": "Green"},
    ]
    assert asked(title="Please").title == "Please"


def test_the_fields_come_in_the_order_that_was_asked_for() -> None:
    fields = asked(property_order=["size", "name", "unknown", "size"]).form.fields
    assert [field.name for field in fields][:3] == ["size", "name", "age"]
    assert len(fields) == 8


@pytest.mark.parametrize(
    "schema",
    [None, {}, {"properties": 5}, {"properties": {}, "required": 5}],
)
def test_a_schema_that_says_nothing_is_an_empty_form(schema: Any) -> None:
    assert Form(schema).fields == ()


def test_a_field_that_says_nothing_takes_anything() -> None:
    (field,) = Form({"properties": {"a": 5}}).fields
    assert field.type == "other"
    assert field.problem([1]) is None
    assert field.title == "a"


def test_an_answer_is_completed_with_defaults() -> None:
    answer = asked().accept({"name": "Ada", "age": 36, "colour": "r", "days": ["mo"]})
    assert answer == ElicitationResult(
        "accept", {"name": "Ada", "age": 36, "colour": "r", "days": ["mo"], "member": False}
    )


def test_what_is_left_out_is_left_out() -> None:
    answer = asked().accept({"name": "Ada", "age": None, "member": True})
    assert answer.content == {"name": "Ada", "member": True}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "name: it is required"),
        ({"name": None}, "name: it is required"),
        ({"name": "A"}, "name: it must have at least 2 characters"),
        ({"name": 5}, "name: 5 is not a string"),
        ({"name": "Ada", "nose": 1}, "there is no field 'nose'"),
        ({"name": "Ada", "age": 1.5}, "age: 1.5 is not a whole number"),
        ({"name": "Ada", "age": True}, "age: True is not a whole number"),
        ({"name": "Ada", "age": -1}, "age: it must be at least 0"),
        ({"name": "Ada", "age": 151}, "age: it can be at most 150"),
        ({"name": "Ada", "weight": "5"}, "weight: '5' is not a number"),
        ({"name": "Ada", "weight": float("nan")}, "weight: nan is not a number"),
        ({"name": "Ada", "member": 1}, "member: 1 is neither true nor false"),
        ({"name": "Ada", "colour": "Red"}, "colour: 'Red' is none of 'r', 'g'"),
        ({"name": "Ada", "days": "mo"}, "days: 'mo' is not a list"),
        ({"name": "Ada", "days": ["we"]}, "days: 'we' is none of 'mo', 'tu'"),
        ({"name": "Ada", "days": []}, "days: at least 1 must be chosen"),
        ({"name": "Ada", "days": ["mo", "tu"]}, "days: at most 1 can be chosen"),
        (["Ada"], "The answer to a form must be an object"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_loudly(content: Any, words: str) -> None:
    request = asked()
    with pytest.raises(AnswerError) as caught:
        request.accept(content)
    assert words in str(caught.value)
    assert request.is_waiting


def test_all_problems_are_named_at_once() -> None:
    problems = "'x'; name: it is required; age: 'old' is not a whole number"
    with pytest.raises(AnswerError, match=problems):
        asked().accept({"x": 1, "age": "old"})


@pytest.mark.parametrize(
    ("format", "good", "bad"),
    [
        ("email", "a@b.org", "a at b"),
        ("uri", "https://a.org/x", "a.org"),
        ("date", "2026-02-28", "2026-02-30"),
        ("date-time", "2026-02-28T12:00:00+00:00", "2026-02-28"),
        ("date-time", "2026-02-28t12:00:00", "Tomorrow"),
    ],
)
def test_a_format_is_checked(format: str, good: str, bad: str) -> None:
    (field,) = Form({"properties": {"a": {"type": "string", "format": format}}}).fields
    assert field.problem(good) is None
    assert field.problem(bad) == f"{bad!r} is not a valid {format}"


def test_what_a_schema_says_beside_the_point_is_ignored() -> None:
    fields = Form(
        {
            "properties": {
                "a": {"type": "string", "format": "phone", "maxLength": 3, "minimum": 5},
                "b": {"type": "string", "format": 5, "maxLength": "3"},
                "c": {"type": "array", "items": 5},
                "d": {"type": "string", "oneOf": [{"type": "string"}]},
                "e": {"type": "string", "enum": ["x"], "enumNames": ["X", "Y"]},
                "f": {"type": "string", "items": {"enum": ["x"]}},
                "g": {"type": "string", "format": ["email"]},
            }
        }
    ).fields
    assert [field.problem("abc") for field in fields[:2]] == [None, None]
    assert fields[0].problem("abcd") == "it can have at most 3 characters"
    assert [field.type for field in fields[2:4]] == ["other", "string"]
    assert fields[4].choices[0].title == "x"
    assert (fields[5].type, fields[5].choices) == ("string", ())
    assert fields[6].problem("abc") is None


def test_a_page_is_visited_or_not() -> None:
    request = ElicitationRequest(form(None, mode="url", url="https://a.org"))
    assert request.url == "https://a.org"
    assert request.form.fields == ()
    assert request.accept() == ElicitationResult("accept")


def test_an_empty_form_is_accepted_with_an_empty_answer() -> None:
    assert ElicitationRequest(form({})).accept() == ElicitationResult("accept", {})


def test_an_elicitation_is_declined_or_cancelled() -> None:
    assert asked().decline() == ElicitationResult("decline")
    assert asked().cancel() == ElicitationResult("cancel")
    assert asked()._denial("because") == ElicitationResult("decline")


def test_an_answer_that_was_made_by_hand_has_to_fit_too() -> None:
    request = asked()
    with pytest.raises(AnswerError, match="name: it is required"):
        request.resolve(ElicitationResult("accept", {}))
    with pytest.raises(TypeError, match="is not an answer to an elicitation"):
        request.resolve({"name": "Ada"})
    assert request.resolve(ElicitationResult("accept", {"name": "Ada"}))


def test_a_dialog_is_completed() -> None:
    request = DialogRequest(dialog("trust", {"folder": "/a"}), session="one")
    assert (request.id, request.title) == ("one.1", "Dialog: trust")
    assert request.describe()["payload"] == {"folder": "/a"}
    assert request.complete({"trusted": True}) == DialogCompleted({"trusted": True})


def test_a_dialog_is_dismissed() -> None:
    request = DialogRequest(dialog())
    assert request.payload == {}
    with pytest.raises(AnswerError, match="cannot be written as JSON"):
        request.complete(object())
    with pytest.raises(TypeError, match="is not an answer to a dialog"):
        request.resolve("yes")
    assert request.is_waiting
    assert request.dismiss() == DialogCancelled()
    assert request._denial("because") == DialogCancelled()


def test_each_kind_takes_only_its_own_request() -> None:
    other = Request(id="1", body=permission().body)
    with pytest.raises(TypeError, match="CanUseTool is not an elicitation"):
        ElicitationRequest(other)
    with pytest.raises(TypeError, match="CanUseTool is not a dialog"):
        DialogRequest(other)
