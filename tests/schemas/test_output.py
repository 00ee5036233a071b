"""Structured output: asked for as a type, read as a value of it, or an error that says why not."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import (  # type: ignore[import-untyped]
    Draft7Validator,
    Draft202012Validator,
)
from tests.helpers.examples import examples
from tests.schemas.schema_table import JSON, TABLE, Pair, Tree, schema_of, strategy_of
from tests.schemas.test_schemas import spoilt

from claudewire.errors import Error, OptionsError, OutputError, TurnError
from claudewire.schemas import OutputSpec, SchemaMismatch, to_json
from claudewire.schemas.checker import Checker
from claudewire.schemas.portable import portable
from claudewire.wire import ResultMessage


def check(value: Any, schema: dict[str, Any]) -> None:
    Checker(schema).convert(value)


ROWS = pytest.mark.parametrize(
    ("name", "kind", "schema"), TABLE, ids=[name.replace(" ", "-") for name, _, _ in TABLE]
)


@dataclass
class Line:
    price: float
    count: int = 1


@dataclass
class Order:
    """What is bought."""

    items: list[Line]


class Answer(TypedDict):
    text: str


class Person(msgspec.Struct):
    name: str


def result(output: Any = None, text: str | None = None) -> ResultMessage:
    return ResultMessage(subtype="success", structured_output=output, result=text)


def refused(spec: OutputSpec[Any], message: ResultMessage) -> OutputError:
    with pytest.raises(OutputError) as caught:
        spec.read(message)
    assert caught.value.result is message
    return caught.value


# --- what is asked for ----------------------------------------------------------------------------


def test_an_object_is_asked_for_as_it_is() -> None:
    spec = OutputSpec.of(Order)
    assert spec.name == "Order"
    assert spec.schema == schema_of(Order)


@pytest.mark.parametrize("kind", [int, list[int], str | None, Literal["yes", "no"], Pair, Any])
def test_what_is_no_object_is_asked_for_inside_one(kind: Any) -> None:
    schema = OutputSpec.of(kind).schema
    assert schema["type"] == "object"
    assert schema["required"] == ["output"]
    assert schema["additionalProperties"] is False
    assert schema["properties"] == {"output": portable(schema_of(kind))}


def test_definitions_stay_at_the_top() -> None:
    schema = OutputSpec.of(list[Tree]).schema
    assert schema["properties"] == {"output": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}
    assert set(schema["$defs"]) == {"Tree"}
    Draft202012Validator(schema).validate({"output": [{"value": 1, "children": [{"value": 2}]}]})


def test_a_type_without_a_schema_is_refused_before_anything_starts() -> None:
    with pytest.raises(OptionsError, match=r"`output` cannot be of this type\. There is"):
        OutputSpec.of(object())


def test_an_error_in_the_type_itself_is_not_hidden() -> None:
    class Broken:
        __annotations__ = {"x": "1 / 0"}

    with pytest.raises(ZeroDivisionError):
        OutputSpec.of(dataclass(Broken))


@ROWS
def test_every_schema_is_understood_by_the_old_draft_and_the_new_one(
    name: str, kind: Any, schema: dict[str, Any]
) -> None:
    asked = OutputSpec.of(kind).schema
    Draft7Validator.check_schema(asked)
    Draft202012Validator.check_schema(asked)
    assert "prefixItems" not in json.dumps(asked)
    assert '"format"' not in json.dumps(asked)
    assert "x-order" not in json.dumps(asked)


@ROWS
@examples(0.2)
@given(data=st.data())
def test_what_fits_the_type_fits_what_is_asked_for(
    name: str, kind: Any, schema: dict[str, Any], data: st.DataObject
) -> None:
    wire = to_json(data.draw(strategy_of(name, kind)))
    spec: OutputSpec[Any] = OutputSpec.of(kind)
    output = {"output": wire} if schema.get("type") != "object" else wire
    Draft7Validator(spec.schema).validate(output)
    assert to_json(spec.read(result(output))) == to_json(spec.read(result(None, json.dumps(wire))))


def test_a_format_is_said_in_words() -> None:
    spec = OutputSpec.of(Annotated[datetime.date, "the day"] | datetime.time)
    assert spec.schema["properties"]["output"]["anyOf"] == [
        {"type": "string", "description": "the day (format: date)"},
        {"type": "string", "description": "format: time"},
    ]


@pytest.mark.parametrize(
    ("schema", "plain"),
    [
        ({"prefixItems": [{}], "items": False}, {"items": {}, "maxItems": 1}),
        ({"prefixItems": [{"type": "null"}]}, {"items": {"anyOf": [{"type": "null"}, {}]}}),
        (
            {"items": [{"type": "null"}], "additionalItems": {"format": "x"}},
            {"items": {"anyOf": [{"type": "null"}, {"description": "format: x"}]}},
        ),
        ({"items": [{"type": "null"}], "maxItems": 1}, {"items": {"type": "null"}, "maxItems": 1}),
        (
            {"properties": {"format": {}, "x-y": {"x-y": 1}}},
            {"properties": {"format": {}, "x-y": {}}},
        ),
        ({"allOf": [{"not": {"x-y": 1}}], "items": True}, {"allOf": [{"not": {}}], "items": True}),
        ({"$schema": "of tomorrow", "type": "object"}, {"type": "object"}),
    ],
)
def test_a_schema_is_put_into_words_that_every_cli_knows(schema: Any, plain: Any) -> None:
    assert portable(schema) == plain


@pytest.mark.parametrize(
    "keyword",
    [
        "$comment",
        "$id",
        "$ref",
        "const",
        "contentEncoding",
        "contentMediaType",
        "default",
        "description",
        "enum",
        "examples",
        "readOnly",
        "required",
        "title",
        "type",
        "uniqueItems",
        "writeOnly",
    ],
)
def test_a_keyword_that_every_cli_knows_is_kept(keyword: str) -> None:
    assert portable({keyword: "x"}) == {keyword: "x"}


NEW, OLD = {"type": "null", "x-y": 1}, {"type": "null"}


@pytest.mark.parametrize(
    ("keyword", "value", "plain"),
    [
        *((it, NEW, OLD) for it in ("additionalProperties", "contains", "else", "if", "items")),
        *((it, NEW, OLD) for it in ("not", "propertyNames", "then")),
        *((it, {"a": NEW}, {"a": OLD}) for it in ("$defs", "definitions", "properties")),
        ("patternProperties", {"a": NEW}, {"a": OLD}),
        *((it, [NEW, NEW], [OLD, OLD]) for it in ("allOf", "anyOf", "oneOf")),
        *((it, True, True) for it in ("additionalProperties", "items", "not")),
    ],
)
def test_what_is_inside_of_a_schema_is_put_into_these_words_too(
    keyword: str, value: Any, plain: Any
) -> None:
    assert portable({keyword: value, "minLength": 5}) == {keyword: plain, "minLength": 5}


# --- what is read ---------------------------------------------------------------------------------


def test_the_output_is_a_value_of_the_type() -> None:
    found = OutputSpec.of(Order).read(result({"items": [{"price": 2}]}))
    assert found == Order([Line(2.0)])
    assert OutputSpec.of(Answer).read(result({"text": "yes"})) == {"text": "yes"}
    assert OutputSpec.of(Person).read(result({"name": "Ada"})) == Person("Ada")


def test_a_pydantic_model_is_read() -> None:
    pydantic = pytest.importorskip("pydantic", reason="pydantic is not installed")
    model = pydantic.create_model("Model", size=(Annotated[int, pydantic.Field(gt=0)], ...))
    spec = OutputSpec.of(model)
    assert spec.read(result({"size": 1})).size == 1
    assert refused(spec, result({"size": 0})).problem == "$.size: Input should be greater than 0"


def test_what_was_wrapped_is_unwrapped() -> None:
    spec = OutputSpec.of(int | None)
    assert spec.read(result({"output": 5})) == 5
    assert spec.read(result({"output": None})) is None


def test_an_object_with_a_field_called_output_is_not_unwrapped() -> None:
    spec = OutputSpec.of({"type": "object", "properties": {"output": {"type": "integer"}}})
    assert spec.read(result({"output": 5})) == {"output": 5}


@pytest.mark.parametrize(
    "text",
    [
        '{"items": [{"price": 2}]}',
        ' {"items": [{"price": 2}]}\n',
        'Here it is:\n```json\n{"items": [{"price": 2}]}\n```\nThat is all.',
        'First ```\n{"items": 1}\n``` but then\n```\n{"items": [{"price": 2}]}\n```',
    ],
)
def test_without_structured_output_the_text_is_read_as_json(text: str) -> None:
    assert OutputSpec.of(Order).read(result(None, text)) == Order([Line(2.0)])


def test_text_may_have_the_wrapper_or_not() -> None:
    assert OutputSpec.of(int).read(result(None, "5")) == 5
    assert OutputSpec.of(int).read(result(None, '{"output": 5}')) == 5


def test_no_output_is_an_error_with_the_text() -> None:
    error = refused(OutputSpec.of(Order), result(None, "I would rather not."))
    assert str(error) == "The turn gave text instead of a Order."
    assert error.text == "I would rather not."
    assert error.value is None
    assert error.problem == "there is no structured output"
    assert isinstance(error, TurnError)
    assert isinstance(error, Error)


def test_nothing_at_all_is_an_error_too() -> None:
    assert str(refused(OutputSpec.of(Order), result())) == "The turn gave no Order."


def test_text_that_is_nested_without_end_is_an_error_and_no_crash() -> None:
    assert refused(OutputSpec.of(Order), result(None, "[" * 100_000)).text.startswith("[[")


def test_output_that_does_not_fit_is_an_error_with_its_path_and_all_that_came() -> None:
    output = {"items": [{"price": 1}, {"price": "2"}]}
    error = refused(OutputSpec.of(Order), result(output, "raw text"))
    assert error.problem == "$.items[1].price: expected `float`, got `str`"
    assert error.value == output
    assert error.text == "raw text"
    assert str(error) == f"The output is not a valid Order. {error.problem}"


def test_all_that_does_not_fit_is_told_at_once() -> None:
    output = {"items": [{"price": "1"}, {"count": 1.5, "price": 2}]}
    assert refused(OutputSpec.of(Order), result(output)).problem == (
        "$.items[0].price: expected `float`, got `str`\n"
        "$.items[1].count: expected `int`, got `float`"
    )


def test_a_pattern_that_only_javascript_understands_is_ignored() -> None:
    spec = OutputSpec.of({"type": "object", "properties": {"a": {"pattern": r"^\p{L}+$"}}})
    assert spec.read(result({"a": "é"})) == {"a": "é"}


def test_the_model_is_asked_to_mend_what_was_wrong() -> None:
    prompt = OutputSpec.of(int).repair_prompt("$: expected `int`, got `str`")
    assert "$: expected `int`, got `str`" in prompt
    schema = prompt.splitlines()[-1]
    assert json.loads(schema) == OutputSpec.of(int).schema


# --- a schema instead of a type -------------------------------------------------------------------

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"size": {"type": "integer", "minimum": 1}, "when": {"format": "date"}},
    "required": ["size"],
}


def test_a_schema_gives_json_that_fits_it() -> None:
    spec = OutputSpec.of(SCHEMA)
    assert spec.schema["properties"]["when"] == {"description": "format: date"}
    assert spec.read(result({"size": 1, "more": True})) == {"size": 1, "more": True}
    error = refused(spec, result({"size": 0}))
    assert str(error) == "The output is not a valid JSON. $.size: must be at least 1, got 0"


def test_a_schema_of_no_object_is_wrapped_and_unwrapped() -> None:
    spec = OutputSpec.of({"$schema": "x", "type": "array", "items": {"type": "integer"}})
    assert spec.schema["properties"] == {"output": {"type": "array", "items": {"type": "integer"}}}
    assert spec.read(result({"output": [1]})) == [1]
    assert refused(spec, result({"output": ["a"]})).problem == "$[0]: expected `integer`, got `str`"


@ROWS
@examples(0.2)
@given(data=st.data())
def test_checking_by_schema_is_what_a_validator_does(
    name: str, kind: Any, schema: dict[str, Any], data: st.DataObject
) -> None:
    value = spoilt(to_json(data.draw(strategy_of(name, kind))), data)
    try:
        check(value, schema)
    except SchemaMismatch:
        fits = False
    else:
        fits = True
    assert fits == Draft202012Validator(schema).is_valid(value)


KEYWORDS: list[dict[str, Any]] = [
    {"type": ["integer", "null"]},
    {"const": 1},
    {"const": {"a": [1, True]}},
    {"enum": [[1], {"a": 0}, False]},
    {"oneOf": [{"type": "integer"}, {"type": "number"}]},
    {"allOf": [{"type": "integer"}, {"minimum": 0}]},
    {"not": {"type": "string"}},
    {"type": "array", "prefixItems": [{"type": "null"}], "items": False},
    {"type": "array", "uniqueItems": True},
    {"uniqueItems": True, "items": {"type": "boolean"}},
    {"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": False},
    {"properties": {"a": False}, "additionalProperties": {"type": "null"}},
    {"properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    {"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "string", "pattern": "^a"}}},
    {"minProperties": 1, "maxProperties": 1, "maxItems": 1, "maxLength": 1},
    {"type": "number", "exclusiveMaximum": 1, "maximum": 0, "multipleOf": 0.5},
    {"x-unknown": 1},
]


@pytest.mark.parametrize("schema", KEYWORDS, ids=json.dumps)
@examples(0.6)
@given(value=JSON | st.sampled_from([1, 1.0, True, {"a": [1, True]}, {"a": {"a": {}}}, "ab", [1]]))
def test_each_keyword_is_checked_as_a_validator_does(schema: dict[str, Any], value: Any) -> None:
    try:
        check(value, schema)
    except SchemaMismatch:
        fits = False
    else:
        fits = True
    assert fits == Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    ("value", "schema", "words"),
    [
        (1, {"type": ["string", "null"]}, "$: expected `string | null`, got `int`"),
        (1, False, None),
        (1, {"oneOf": [{}, {}]}, "$: fits more than one of the alternatives"),
        (
            1,
            {"oneOf": [{"type": "string"}, {"type": "null"}]},
            "$: expected `string | null`, got `int`",
        ),
        (
            {"a": 1},
            {"anyOf": [{"type": "string"}, {"properties": {"a": {"type": "null"}}}]},
            "$.a: expected `null`, got `int`",
        ),
        ([1, 1], {"uniqueItems": True}, "$[1]: is the same as an earlier item"),
        ({"b": 1}, {"properties": {"b": False}}, "$.b: must not be here, got 1"),
        (
            {"bb": 1},
            {"properties": {"bbb": {}}, "additionalProperties": False},
            "did you mean `bbb`?",
        ),
        (
            {"bb": 1},
            {"additionalProperties": False},
            "$.bb: unexpected; no fields are expected here",
        ),
        ({}, {"required": ["a"]}, "$.a: required but missing"),
        ("", {"minLength": 1}, "$: must have at least 1 characters, got 0"),
        ([1, 2], {"maxItems": 1}, "$: must have at most 1 items, got 2"),
        ([1], {"items": [{"type": "null"}]}, "$[0]: expected `null`, got `int`"),
        (5, {"not": {"type": "integer"}}, "$: must not be 5"),
        (5, {"const": 6}, "$: expected 6, got 5"),
    ],
)
def test_what_a_schema_refuses_is_named_with_its_place(value: Any, schema: Any, words: Any) -> None:
    if schema is False:
        schema, words = {"allOf": [False]}, "$: must not be here, got 1"
    with pytest.raises(SchemaMismatch) as caught:
        check(value, schema)
    assert str(caught.value).endswith(words)


def test_a_reference_that_leads_elsewhere_allows_anything() -> None:
    check(1, {"$ref": "https://example.org/schema.json"})
    check(1, {"$ref": "#/$defs/nowhere/at/all"})
    check(1, {"type": "of its own"})


def test_a_schema_that_never_ends_is_a_mismatch_and_no_crash() -> None:
    with pytest.raises(SchemaMismatch, match="nested too deeply"):
        check(1, {"$ref": "#"})
