"""The JSON Schema of the wire accepts good lines and refuses bad ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, get_args

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest
from conformance import Example, examples
from tests.unit.wire import samples

from claudewire.wire import (
    REQUESTS,
    SYSTEM,
    UNKNOWN,
    Block,
    HookInput,
    Initialize,
    InitializeResult,
    PermissionResult,
    Response,
    StatusMessage,
    TextBlock,
    Unknown,
    answer_type,
)
from claudewire.wire.codec import FRAMES
from claudewire.wire.schema import schema, schemas

MODERN = [example for example in examples() if example.dialect == "modern"]
KINDS = [
    *(kind for kind in FRAMES.values() if kind is not Response),
    *SYSTEM.values(),
    *REQUESTS.values(),
    *(answer_type(body) for body in REQUESTS.values()),
    HookInput,
    Block,
]


@cache
def validator(kind: Any = None) -> Any:
    return jsonschema.Draft202012Validator(schemas() if kind is None else schema(kind))


def members(kind: Any) -> list[type[msgspec.Struct]]:
    return [it for it in get_args(kind) or (kind,) if not issubclass(it, Unknown)]


def objects(kind: Any) -> Iterator[dict[str, Any]]:
    """Yield the full and the least object of a class, or of each class of a union."""
    for it in members(kind):
        yield from (samples.full(it), samples.minimal(it))


def problems(obj: object, kind: Any = None) -> list[str]:
    return [error.message for error in validator(kind).iter_errors(obj)]


def name(kind: Any) -> str:
    return getattr(kind, "__name__", None) or " or ".join(it.__name__ for it in members(kind)[:3])


@pytest.mark.unmeasured
@pytest.mark.parametrize("wanted", [schemas(), schema(Block), schema(TextBlock)])
def test_result_is_a_schema(wanted: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(wanted)


@pytest.mark.parametrize("example", MODERN, ids=lambda example: example.id)
def test_documented_lines_are_valid(example: Example) -> None:
    assert problems(example.object) == []


def test_documented_answers_are_valid() -> None:
    payloads = [
        example.object["response"]["response"]
        for example in MODERN
        if example.object["type"] == "control_response"
    ]
    assert {bool("behavior" in payload) for payload in payloads} == {True, False}
    for payload in payloads:
        kind = PermissionResult if "behavior" in payload else answer_type(Initialize)
        assert problems(payload, kind) == []


@pytest.mark.parametrize("kind", {name(kind): kind for kind in KINDS}.values(), ids=name)
def test_written_objects_are_valid(kind: Any) -> None:
    for obj in objects(kind):
        assert problems(obj, kind) == []
        assert problems({**obj, "undeclared": {"by": ["anybody"]}}, kind) == []


@pytest.mark.parametrize("kind", [*FRAMES.values(), *SYSTEM.values()], ids=name)
def test_written_lines_are_valid(kind: Any) -> None:
    for obj in objects(kind):
        assert problems(obj) == []


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ([], None),
        ({}, None),
        ({"type": 5}, None),
        ({"type": "user"}, None),
        ({"type": "user", "message": {"role": "user", "content": 5}}, None),
        ({"type": "system", "subtype": "task_started"}, None),
        ({"type": "control_request", "request_id": "1", "request": {"subtype": "set_color"}}, None),
        ({"type": "text"}, Block),
        ({"type": "text", "text": 5}, TextBlock),
        ({"type": "system", "subtype": "init"}, StatusMessage),
        ({"behavior": "allow", "updatedInput": []}, PermissionResult),
        ({"models": [{}]}, InitializeResult),
    ],
)
def test_wrong_objects_are_invalid(wrong: object, kind: Any) -> None:
    assert problems(wrong, kind)


@pytest.mark.parametrize(
    "line",
    [
        {"type": "news"},
        {"type": "system", "subtype": "news"},
        {"type": "control_request", "request_id": "1", "request": {"subtype": "news"}},
        {"type": "user", "message": {"role": "user", "content": [{"type": "news"}]}},
    ],
    ids=json.dumps,
)
def test_unknown_kinds_are_valid(line: dict[str, Any]) -> None:
    assert problems(line) == []


def test_mark_of_unknown_objects_is_not_exported() -> None:
    assert UNKNOWN not in str(schemas()).replace("\\x00", "\0")
    assert "raw" not in schemas()["$defs"]["UnknownBlock"]["properties"]
