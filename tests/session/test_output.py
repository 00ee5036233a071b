"""Structured output: its schema for the CLI, its value in the reply, and errors."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from jsonschema import (  # type: ignore[import-untyped]
    Draft7Validator,
    Draft202012Validator,
)
from tests.helpers.sessions import options
from typing_extensions import TypedDict

from claudewire.errors import OptionsError, OutputError, TurnError
from claudewire.output import OutputSpec, portable
from claudewire.wire import ResultMessage


@dataclass
class Line:
    price: float
    count: int = 1


@dataclass
class Order:
    """A purchase."""

    items: list[Line]


@dataclass
class Tree:
    value: int
    children: list[Tree]


class Opaque:
    pass


class Answer(TypedDict):
    text: str


def result(output: Any = None, text: str | None = None) -> ResultMessage:
    return ResultMessage(subtype="success", structured_output=output, result=text)


def refused(spec: OutputSpec[Any], message: ResultMessage) -> OutputError:
    with pytest.raises(OutputError) as caught:
        spec.read(message)
    assert caught.value.result is message
    return caught.value


# --- schemas -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Order, {"items": [{"price": 2}]}),
        (Answer, {"text": "yes"}),
        (Tree, {"value": 1, "children": []}),
        (int, {"output": 5}),
        (list[Tree], {"output": [{"value": 1, "children": [{"value": 2, "children": []}]}]}),
        (tuple[int, str], {"output": [1, "a"]}),
        (Literal["yes", "no"], {"output": "yes"}),
        (Any, {"output": None}),
    ],
)
def test_every_schema_is_of_an_object_in_known_keywords(kind: Any, value: Any) -> None:
    schema = OutputSpec(kind).schema
    assert schema["type"] == "object"
    Draft7Validator.check_schema(schema)
    Draft202012Validator.check_schema(schema)
    Draft7Validator(schema).validate(value)
    assert not {"prefixItems", '"format"', "discriminator"} & {*json.dumps(schema).split('"')}


@pytest.mark.parametrize(
    ("schema", "plain"),
    [
        (
            {"prefixItems": [{"type": "null"}, {"format": "x"}], "maxItems": 2},
            {"items": {"anyOf": [{"type": "null"}, {"description": "format: x"}]}, "maxItems": 2},
        ),
        (
            {"properties": {"format": {}, "x-y": {"x-y": 1}}},
            {"properties": {"format": {}, "x-y": {}}},
        ),
        ({"allOf": [{"not": {"x-y": 1}}], "items": True}, {"allOf": [{"not": {}}], "items": True}),
        (
            {"type": "string", "format": "date", "description": "the day"},
            {"type": "string", "description": "the day (format: date)"},
        ),
        ({"$schema": "of tomorrow", "type": "object"}, {"type": "object"}),
    ],
)
def test_keywords_that_a_cli_refuses_are_left_out(schema: Any, plain: Any) -> None:
    assert portable(schema) == plain


def test_a_type_without_a_schema_is_refused_before_the_start() -> None:
    with pytest.raises(OptionsError, match="`output` cannot be of this type"):
        options(output=list[Opaque])


# --- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        ' {"items": [{"price": 2}]}\n',
        'Here it is:\n```json\n{"items": [{"price": 2}]}\n```\nThat is all.',
        'First ```\n{"items": 1}\n``` but then\n```\n{"items": [{"price": 2}]}\n```',
    ],
)
def test_json_in_the_text_replaces_missing_output(text: str) -> None:
    assert OutputSpec(Order).read(result(None, text)) == Order([Line(2.0)])


def test_a_wrapped_value_is_unwrapped() -> None:
    assert OutputSpec(int | None).read(result({"output": 5})) == 5
    assert OutputSpec(int | None).read(result({"output": None})) is None
    assert OutputSpec(int).read(result(None, "5")) == 5
    own = {"type": "object", "properties": {"output": {"type": "integer"}}}
    assert OutputSpec(own).read(result({"output": 5})) == {"output": 5}


def test_missing_output_is_an_error_with_the_text() -> None:
    error = refused(OutputSpec(Order), result(None, "I would rather not."))
    assert str(error).startswith("The model replied with text, not the requested Order: ")
    assert (error.text, error.value) == ("I would rather not.", None)
    assert error.problem == "there is no structured output"
    assert isinstance(error, TurnError)
    assert "without the requested Order" in str(refused(OutputSpec(Order), result()))


def test_unfitting_output_is_an_error_with_all_problems() -> None:
    output = {"items": [{"price": "2"}, {"price": 1, "cuont": 1}]}
    error = refused(OutputSpec(Order), result(output, "raw text"))
    assert error.problem == (
        "$.items[0].price: Input should be a valid number, got '2'\n"
        "$.items[1].cuont: There is no such field"
    )
    assert (error.value, error.text) == (output, "raw text")
    assert str(error) == f"The output is not a valid Order. {error.problem}"


def test_a_repair_prompt_has_the_problem_and_the_schema() -> None:
    prompt = OutputSpec(int).repair_prompt("$.output: Required, but missing")
    assert "$.output: Required, but missing" in prompt
    assert json.loads(prompt.splitlines()[-1]) == OutputSpec(int).schema


# --- JSON Schemas --------------------------------------------------------------------------------


def test_a_schema_is_sent_and_its_output_returned() -> None:
    spec: OutputSpec[Any] = OutputSpec(
        {"$schema": "x", "type": "array", "items": {"type": "integer"}}
    )
    assert spec.schema["properties"] == {"output": {"type": "array", "items": {"type": "integer"}}}
    assert spec.read(result({"output": [1]})) == [1]
    # Only the CLI can check output by a schema, and it checks no text.
    assert refused(spec, result(None, "[1]")).text == "[1]"


# --- imports -------------------------------------------------------------------------------------


def test_a_session_without_tools_and_types_imports_no_pydantic() -> None:
    program = """
import sys
import anyio
import claudewire

async def main():
    options = {"json_schema": {"type": "object"}, "hooks": {"Stop": print}}
    async with claudewire.open(cli="simulated", **options) as claude:
        pass

anyio.run(main)
print(*sys.modules)
"""
    fresh = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, encoding="utf-8"
    )
    assert {"mcp", "pydantic", "trio"}.isdisjoint(fresh.stdout.split())
