"""What is no JSON Schema is refused, with its place and what it should be."""

from __future__ import annotations

from typing import Any

import pytest

from claudewire.errors import OptionsError
from claudewire.schemas import OutputSpec

TYPES = "object, array, string, number, integer, boolean, null"
LENGTHS = ("Length", "Items", "Properties")
NUMBERS = [
    *("exclusiveMinimum", "minimum", "exclusiveMaximum", "maximum", "multipleOf"),
    *(f"{word}{of}" for word in ("min", "max") for of in LENGTHS),
]


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "strin"}, f".type must be one of {TYPES}, not 'strin'; did you mean 'string'?"),
        ({"type": "x"}, f".type must be one of {TYPES}, not 'x'"),
        ({"type": ["null", 5]}, f".type must be one of {TYPES}, not 5"),
        ({"type": ("null", "Any")}, f".type must be one of {TYPES}, not 'Any'"),
        ({"required": "a"}, ".required must be a list of names, not 'a'"),
        ({"required": ["a", 1]}, ".required must be a list of names, not ['a', 1]"),
        ({"enum": "a"}, ".enum must be a list of values, not 'a'"),
        *(
            ({key: []}, f".{key} must be an object, not []")
            for key in ("$defs", "definitions", "patternProperties", "properties")
        ),
        ({"properties": {"a": 5}}, ".properties.a must be a JSON Schema, an object, not 5"),
        *(
            ({key: {}}, f".{key} must be a list of schemas, not {{}}")
            for key in ("allOf", "anyOf", "oneOf")
        ),
        ({"anyOf": [{}, None]}, ".anyOf[1] must be a JSON Schema, an object, not None"),
        *(
            ({key: 5}, f".{key}[0] must be a JSON Schema, an object, not 5")
            for key in ("additionalProperties", "contains", "else", "if", "items", "not", "then")
        ),
        ({"propertyNames": "a"}, ".propertyNames[0] must be a JSON Schema, an object, not 'a'"),
        ({"items": ({}, 5)}, ".items[1] must be a JSON Schema, an object, not 5"),
        ({"not": {"not": {"type": 1}}}, f".not[0].not[0].type must be one of {TYPES}, not 1"),
        ({"pattern": 5}, ".pattern must be a string, not 5"),
        *(({key: "a"}, f".{key} must be a number, not 'a'") for key in NUMBERS),
        ({"minimum": True}, ".minimum must be a number, not True"),
        ({"multipleOf": 0}, ".multipleOf must be more than 0, not 0"),
        ({"multipleOf": -0.5}, ".multipleOf must be more than 0, not -0.5"),
    ],
)
def test_what_is_no_schema_is_refused_with_its_place(schema: Any, problem: str) -> None:
    with pytest.raises(OptionsError) as raised:
        OutputSpec.of(schema)
    assert str(raised.value) == f"output{problem}"


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": ["string", "null"], "required": ("a",), "enum": (1, None)},
        {"properties": {"a": True, "b": False}, "items": [True], "anyOf": ({}, True)},
        {"pattern": "a", "minimum": -1, "maximum": 0.5, "multipleOf": 0.1, "minLength": 0},
        {"unknown": 5, "format": 5},
    ],
)
def test_what_is_a_schema_is_taken(schema: Any) -> None:
    assert OutputSpec.of(schema).name == "JSON"
