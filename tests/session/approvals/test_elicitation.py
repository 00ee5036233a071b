"""Forms of MCP servers and dialogs of the CLI."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.session.approvals.asking import dialog, form

from claudewire.approvals import AnswerError, DialogRequest, ElicitationRequest, Form
from claudewire.wire import DialogCancelled, DialogCompleted, ElicitationResult

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


def test_form_is_read_from_its_schema() -> None:
    fields = {field.name: field for field in asked().form.fields}
    assert {name: field.type for name, field in fields.items()} == {
        "name": "string",
        "age": "integer",
        "weight": "number",
        "member": "boolean",
        "colour": "choice",
        "size": "choice",
        "days": "choices",
        "more": "other",
    }
    assert (fields["name"].title, fields["name"].description) == ("Name", "Yours")
    assert [name for name, field in fields.items() if field.required] == ["name"]
    assert (fields["age"].title, fields["member"].default) == ("age", False)
    choices = {
        name: [(it.value, it.title) for it in field.choices] for name, field in fields.items()
    }
    assert choices["colour"] == [("r", "Red"), ("g", "Green")]
    assert choices["size"] == [("s", "Small"), ("l", "l")]
    assert choices["days"] == [("mo", "Monday"), ("tu", "tu")]


def test_elicitation_is_described_in_json() -> None:
    request = asked()
    described = request.describe()
    assert json.loads(json.dumps(described)) == described
    assert (described["server"], described["message"], described["url"]) == (
        *("crm", "Who is it?"),
        None,
    )
    assert described["fields"][3] == {
        "name": "member",
        "type": "boolean",
        "title": "member",
        "description": "",
        "required": False,
        "choices": [],
        "default": False,
    }
    assert (request.title, asked(title="Please").title) == ("crm: Who is it?", "crm: Please")


@pytest.mark.parametrize("schema", [None, {"properties": 5}, {"properties": {}, "required": 5}])
def test_schema_without_properties_is_an_empty_form(schema: Any) -> None:
    assert Form(schema).fields == ()


def test_defaults_are_filled_in() -> None:
    request = asked()
    given = {"name": "Ada", "age": 36, "colour": "r", "days": ["mo"]}
    assert request.accept(given) == ElicitationResult("accept", {**given, "member": False})
    answer = request.accept({"name": "Ada", "age": None, "member": True})
    assert answer.content == {"name": "Ada", "member": True}
    assert ElicitationRequest(form({})).accept() == ElicitationResult("accept", {})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"name": None}, "name: it is required"),
        ({"name": "A"}, "name: it must have at least 2 characters"),
        ({"name": 5}, "name: 5 is not a string"),
        ({"nose": 1}, "there is no field 'nose'"),
        ({"age": 1.5}, "age: 1.5 is not a whole number"),
        ({"age": True}, "age: True is not a whole number"),
        ({"age": -1}, "age: it must be at least 0"),
        ({"age": 151}, "age: it can be at most 150"),
        ({"weight": "5"}, "weight: '5' is not a number"),
        ({"weight": float("nan")}, "weight: nan is not a number"),
        ({"member": 1}, "member: 1 is neither true nor false"),
        ({"colour": "Red"}, "colour: 'Red' is none of 'r', 'g'"),
        ({"days": "mo"}, "days: 'mo' is not a list"),
        ({"days": ["we"]}, "days: 'we' is none of 'mo', 'tu'"),
        ({"days": []}, "days: at least 1 must be chosen"),
        ({"days": ["mo", "tu"]}, "days: at most 1 can be chosen"),
        ({"x": 1, "name": None, "age": "old"}, "'x'; name: it is required; age: 'old' is not"),
        (["Ada"], "The content of a form must be a mapping"),
    ],
)
def test_content_that_does_not_fit_is_refused(content: Any, words: str) -> None:
    given = {"name": "Ada", **content} if isinstance(content, dict) else content
    with pytest.raises(AnswerError) as caught:
        asked().accept(given)
    assert words in str(caught.value)


def test_parts_of_a_schema_beyond_forms_are_ignored() -> None:
    fields = Form(
        {
            "properties": {
                "a": {"type": "string", "format": "phone", "maxLength": 3, "minimum": 5},
                "b": {"type": "string", "format": 5, "maxLength": "3"},
                "c": {"type": "array", "items": 5},
                "d": {"type": "string", "oneOf": [{"type": "string"}]},
                "e": {"type": "string", "enum": ["x"], "enumNames": ["X", "Y"]},
                "f": 5,
                "g": {"type": "string", "format": ["email"]},
            }
        }
    ).fields
    assert [field.type for field in fields[2:6]] == ["other", "string", "choice", "other"]
    assert fields[0].problem("abcd") == "it can have at most 3 characters"
    assert [fields[index].problem("abc") for index in (0, 1, 5, 6)] == [None] * 4


def test_page_is_visited_or_not() -> None:
    request = ElicitationRequest(form(None, mode="url", url="https://a.org"))
    assert (request.url, request.form.fields) == ("https://a.org", ())
    assert request.accept() == ElicitationResult("accept")
    assert request.decline() == request.refusal("no") == ElicitationResult("decline")
    assert request.cancel() == ElicitationResult("cancel")


def test_answer_made_by_hand_must_fit() -> None:
    request = asked()
    with pytest.raises(AnswerError, match="name: it is required"):
        request.resolve(ElicitationResult("accept", {}))
    with pytest.raises(TypeError, match="answers no elicitation"):
        request.resolve({"name": "Ada"})
    assert request.resolve(ElicitationResult("accept", {"name": "Ada"}))


def test_dialog_is_completed_or_dismissed() -> None:
    request = DialogRequest(dialog("trust", {"folder": "/a"}))
    assert (request.title, request.describe()["payload"]) == ("Dialog: trust", {"folder": "/a"})
    assert request.complete({"trusted": True}) == DialogCompleted({"trusted": True})
    assert request.dismiss() == request.refusal("no") == DialogCancelled()
    with pytest.raises(AnswerError, match="cannot be written as JSON"):
        request.complete(object())
    with pytest.raises(TypeError, match="answers no dialog"):
        request.resolve("yes")
