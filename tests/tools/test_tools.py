"""Functions as tools: what the model is told about them, and what comes of a call."""

from __future__ import annotations

import base64
import datetime
import enum
import functools
import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, cast, get_args

import anyio
import anyio.lowlevel
import anyio.to_thread
import msgspec
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from tests.helpers.clock import let_pass, simulated_time, time_by_hand

from claudewire.content import Document, Image, Text
from claudewire.schemas import Docstring, UnsupportedType
from claudewire.tools import (
    ResourceLink,
    Tool,
    ToolAnnotations,
    ToolContext,
    ToolError,
    ToolFile,
    ToolResult,
    tool,
)
from claudewire.tools.context import LogLevel
from claudewire.wire import Base64Source, Error, FileSource, ImageBlock, TextBlock

pytestmark = pytest.mark.anyio

AnyTool = Tool[..., Any]

SOON = 60.0
PNG = b"\x89PNG\r\n\x1a\n"
PNG_TEXT = base64.b64encode(PNG).decode()


@dataclass
class Point:
    x: int
    y: int = 0


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


async def call(each: AnyTool, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    with anyio.fail_after(SOON):
        return await each.call(arguments or {})


async def text_of(each: AnyTool, arguments: dict[str, Any] | None = None) -> str:
    """Call a tool and give the text of its result, with ! for an error."""
    result = await call(each, arguments)
    text: str = result["content"][0]["text"]
    return f"! {text}" if result["isError"] else text


async def result_of(value: Any) -> dict[str, Any]:
    """Return what becomes of a value that a tool returns."""
    return await call(_returns(value))


def _returns(value: Any) -> AnyTool:
    @tool(inline=True)
    def returns() -> Any:
        return value

    return returns


# --- what the model is told -----------------------------------------------------------------------


def test_name_description_and_schema_come_from_the_function() -> None:
    @tool
    def search(  # noqa: D417 as people write them
        query: str,
        kind: Literal["all", "new"] = "all",
        size: Size | None = None,
        limit: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10,
        near: Point | None = None,
        since: datetime.date | None = None,
        folder: Path = Path("."),
    ) -> list[str]:
        """Search for something.

        It takes a while.

        Args:
            query: what to search for,
                in plain words.
            limit: how many at most.

        Returns:
            What was found.
        """
        return []

    assert search.name == "search"
    assert search.description == "Search for something.\n\nIt takes a while."
    definition = search.definition()
    assert definition == {
        "name": "search",
        "description": "Search for something.\n\nIt takes a while.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "what to search for, in plain words."},
                "kind": {"type": "string", "enum": ["all", "new"], "default": "all"},
                "size": {
                    "anyOf": [{"type": "string", "enum": ["small", "large"]}, {"type": "null"}],
                    "default": None,
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 100,
                    "description": "how many at most.",
                    "default": 10,
                },
                "near": {
                    "anyOf": [
                        {
                            "type": "object",
                            "properties": {
                                "x": {"type": "integer"},
                                "y": {"type": "integer", "default": 0},
                            },
                            "required": ["x"],
                            "additionalProperties": False,
                        },
                        {"type": "null"},
                    ],
                    "default": None,
                },
                "since": {
                    "anyOf": [{"type": "string", "format": "date"}, {"type": "null"}],
                    "default": None,
                },
                "folder": {"type": "string", "format": "path", "default": "."},
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    }
    Draft202012Validator.check_schema(definition["inputSchema"])


def test_a_tool_is_still_the_function() -> None:
    @tool
    def add(a: float, b: float) -> float:
        """Add two numbers."""
        return a + b

    assert add(1, b=2) == 3
    assert getattr(add, "__name__", None) == "add"
    assert add.__doc__ == "Add two numbers."
    assert repr(add) == "<Tool add>"


async def test_what_is_attached_to_a_function_does_not_stand_in_for_the_tool() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    vars(add).update(_prepare=5, call=5, definition=5)
    made = tool(add)
    assert made.definition()["name"] == "add"
    assert await text_of(made, {"a": 1, "b": 2}) == "3"


def test_a_name_has_at_most_128_characters() -> None:
    def add() -> None: ...

    assert tool(name="a" * 128)(add).name == "a" * 128
    for name in ("a" * 129, "add\n"):
        with pytest.raises(ValueError, match="cannot be the name of a tool"):
            tool(name=name)(add)


def test_a_function_without_arguments_or_words_has_a_schema_all_the_same() -> None:
    @tool
    def now() -> str:
        return ""

    assert now.definition() == {
        "name": "now",
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
    }


def test_what_the_function_does_not_say_can_be_said() -> None:
    @tool(
        name="delete-file",
        description="Delete it.",
        annotations=ToolAnnotations(
            title="Delete a file",
            read_only=False,
            destructive=True,
            idempotent=True,
            open_world=False,
        ),
        max_result_chars=500,
        always_load=True,
        meta={"anthropic/searchHint": "rm"},
    )
    def delete(path: str) -> None:
        """Not this."""

    assert delete.definition() == {
        "name": "delete-file",
        "title": "Delete a file",
        "description": "Delete it.",
        "inputSchema": delete.input_schema,
        "annotations": {
            "title": "Delete a file",
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": True,
            "openWorldHint": False,
        },
        "_meta": {
            "anthropic/searchHint": "rm",
            "anthropic/maxResultSizeChars": 500,
            "anthropic/alwaysLoad": True,
        },
    }


async def test_an_explicit_schema_is_told_and_the_hints_still_convert() -> None:
    schema = {"type": "object", "properties": {"when": {"type": "string"}}}

    class Opaque:
        pass

    @tool(schema=schema)
    def plan(when: datetime.date, thing: Opaque | None = None) -> str:
        return f"{when.year} {thing}"

    assert plan.input_schema == schema
    assert await text_of(plan, {"when": "2025-01-31", "thing": 5}) == "2025 5"


def test_types_that_are_known_only_where_the_function_is_written_are_found() -> None:
    @dataclass
    class Local:
        size: int

    @tool
    def one(local: Local) -> None:
        pass

    Locals = list[Local]
    Age = NewType("Age", int)

    @tool(name="two")
    def other(local: Locals, age: Age) -> None:
        pass

    assert other.input_schema["properties"]["age"] == {"type": "integer"}
    assert one.input_schema["properties"]["local"]["required"] == ["size"]
    assert other.input_schema["properties"]["local"]["items"]["required"] == ["size"]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: tool(_star), TypeError, "it cannot take *numbers"),
        (lambda: tool(_opaque), UnsupportedType, "There is no JSON Schema for OpaqueThing"),
        (lambda: tool(_unknown), UnsupportedType, "A type hint of _unknown cannot be understood"),
        (lambda: tool(_generator), TypeError, "_generator yields"),
        (lambda: tool(_async_generator), TypeError, "_async_generator yields"),
        (lambda: tool(cast("Any", 5)), TypeError, "not of 5"),
        (lambda: tool(Point), TypeError, "A tool is made of a function"),
        (lambda: tool(**cast("Any", {"nmae": "a"}))(_star), TypeError, "no setting 'nmae'"),
        (lambda: tool(name="a b")(_star), ValueError, "'a b' cannot be the name of a tool"),
        (lambda: tool(lambda: None), ValueError, "'<lambda>' cannot be the name of a tool"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_when_it_is_made(
    make: Callable[[], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error) as caught:
        make()
    assert words in str(caught.value)


class OpaqueThing:
    pass


def _star(*numbers: int) -> None: ...


def _opaque(thing: OpaqueThing) -> None: ...


def _unknown(thing: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def _generator() -> Any:
    yield 1


async def _async_generator() -> Any:
    yield 1


GOOGLE = """Do it.

Second paragraph:
    indented, and not about arguments.

Args:
    one: the first.
    two (int, optional): the second,
        on two lines.
    *rest: and others.
    three:

Returns:
    Nothing: at all.

Raises:
    ValueError: never.

Note:
    Kept.
"""
NUMPY = """Do it.

Parameters
----------
one : str
    the first.
two, three : int, optional
    the second
    or third.
four

Returns
-------
None
    Nothing.

Notes
-----
Kept.
"""
REST = """Do it.

:param one: the first.
:param int two: the second,
    on two lines.
:type two: int
:param three:
    the third.
:param:
:returns: nothing
    at all
:raises ValueError: never
:kept: this is nothing that is known

The end.
"""


@pytest.mark.parametrize(
    ("docstring", "text", "arguments"),
    [
        (
            GOOGLE,
            "Do it. Second paragraph: indented, and not about arguments. Note: Kept.",
            {"one": "the first.", "two": "the second, on two lines.", "rest": "and others."},
        ),
        (
            NUMPY,
            "Do it. Notes ----- Kept.",
            {"one": "the first.", "two": "the second or third.", "three": "the second or third."},
        ),
        (
            REST,
            "Do it.\n\n:kept: this is nothing that is known\n\nThe end.",
            {"one": "the first.", "two": "the second, on two lines.", "three": "the third."},
        ),
        (None, "", {}),
        ("Only this.", "Only this.", {}),
        ("Args:\n    a: b", "", {"a": "b"}),
        ("Args:\n  a: b\n\nMore.\n\nArgs:\n  c: d", "More.", {"a": "b", "c": "d"}),
        ("Parameters\n--\nnot a heading", "Parameters\n--\nnot a heading", {}),
    ],
    ids=["google", "numpy", "rest", "none", "summary", "arguments", "twice", "no-heading"],
)
def test_docstrings_are_read_in_three_styles(
    docstring: str | None, text: str, arguments: dict[str, str]
) -> None:
    found = Docstring.parse(docstring)
    assert found.arguments == arguments
    assert found.text.split() == text.split()


# --- calls ----------------------------------------------------------------------------------------


@tool
def describe(point: Point, size: Size = Size.SMALL, *, when: datetime.date | None = None) -> str:
    """Show what arrived."""
    return f"{point} {size} {when}"


async def test_arguments_arrive_converted() -> None:
    given = {"point": {"x": 1}, "size": "large", "when": "2025-01-31"}
    assert await text_of(describe, given) == "Point(x=1, y=0) Size.LARGE 2025-01-31"
    assert await text_of(describe, {"point": {"x": 1}}) == "Point(x=1, y=0) Size.SMALL None"


async def test_all_mistakes_are_told_to_the_model_with_their_places() -> None:
    given = {"point": {"x": "1"}, "siez": "large", "when": "soon"}
    assert await text_of(describe, given) == (
        "! Invalid arguments for describe:\n"
        "$.point.x: expected `int`, got `str`\n"
        "$.siez: unexpected; did you mean `size`?\n"
        "$.when: expected `date` as in '2025-01-31', got 'soon'"
    )
    assert await text_of(describe) == (
        "! Invalid arguments for describe:\n$.point: required but missing"
    )
    assert await text_of(describe, {"point": {"x": 1}, "colour": "red"}) == (
        "! Invalid arguments for describe:\n"
        "$.colour: unexpected; the known fields are `point`, `size`, `when`"
    )


async def test_arguments_nested_without_end_are_a_mistake() -> None:
    deep: Any = {}
    for _ in range(sys.getrecursionlimit()):
        deep = {"next": deep}

    @tool
    def take(chain: Chain) -> None:
        pass

    assert "nested too deeply" in await text_of(take, {"chain": deep})


@dataclass
class Chain:
    next: Chain | None = None


async def test_positions_and_further_names_are_respected() -> None:
    @tool
    def join(first: str, second: str = "-", /, *, last: str = "", **others: int) -> str:
        return f"{first}{second}{last}{others}"

    assert join.input_schema["additionalProperties"] == {"type": "integer"}
    assert await text_of(join, {"first": "a", "last": "z", "n": 1}) == "a-z{'n': 1}"
    assert await text_of(join, {"first": "a", "second": "b"}) == "ab{}"
    assert await text_of(join, {"first": "a", "n": "1"}) == (
        "! Invalid arguments for join:\n$.n: expected `int`, got `str`"
    )


async def test_anything_may_be_asked_for() -> None:
    @tool
    def take(what, **others):  # type: ignore[no-untyped-def]
        return f"{what} {others}"

    assert take.input_schema["additionalProperties"] is True
    assert await text_of(take, {"what": [1], "more": None}) == "[1] {'more': None}"


async def test_a_coroutine_function_runs_in_the_event_loop_and_a_plain_one_in_a_thread() -> None:
    here = threading.get_ident()

    @tool
    async def loop() -> str:
        await anyio.lowlevel.checkpoint()
        return str(threading.get_ident() == here)

    @tool
    def thread() -> str:
        return str(threading.get_ident() == here)

    @tool(inline=True)
    def inline() -> str:
        return str(threading.get_ident() == here)

    assert await text_of(loop) == "True"
    assert await text_of(thread) == "False"
    assert await text_of(inline) == "True"


class Multiplier:
    """Multiply."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    @tool
    def times(self, number: int) -> int:
        """Multiply a number."""
        return self.factor * number

    @tool
    @staticmethod
    def half(number: int) -> float:
        return number / 2

    async def __call__(self, number: int) -> int:
        return self.factor * number

    def plain(self, number: int) -> int:
        return self.factor * number

    borrowed = describe


async def test_methods_can_be_tools() -> None:
    three = Multiplier(3)
    assert three.times.name == "times"
    assert list(three.times.input_schema["properties"]) == ["number"]
    assert await text_of(three.times, {"number": 2}) == "6"
    assert three.times(2) == 6
    assert await text_of(tool(three.plain), {"number": 2}) == "6"
    assert await text_of(three.half, {"number": 2}) == "1.0"
    assert three.borrowed is describe
    assert Multiplier.times is Multiplier.__dict__["times"]
    assert "point" in describe.input_schema["properties"]


async def test_a_tool_is_a_method_only_of_the_class_that_it_is_written_in() -> None:
    @tool
    def plain(first: int, second: int) -> int:
        return first - second

    class Owner:
        @tool
        def own(self, first: int) -> int:
            return first

        @tool
        @staticmethod
        def static(first: int, second: int) -> int:
            return first - second

        borrowed = plain

    owner = Owner()
    tools: list[AnyTool] = [owner.own, owner.static, owner.borrowed]
    assert [list(it.input_schema["properties"]) for it in tools] == [
        ["first"],
        ["first", "second"],
        ["first", "second"],
    ]
    assert [await text_of(it, {"first": 3, "second": 1}) for it in tools[1:]] == ["2", "2"]
    assert await text_of(owner.own, {"first": 3}) == "3"
    assert Owner.own is vars(Owner)["own"]


async def test_objects_and_partial_functions_can_be_tools() -> None:
    made = tool(name="multiply")(Multiplier(3))
    assert made.description == "Multiply."
    assert await text_of(made, {"number": 2}) == "6"

    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    partial = tool(functools.partial(add, 1))
    assert partial.name == "add"
    assert partial.description == "Add."
    assert await text_of(partial, {"b": 2}) == "3"
    assert tool(partial).function is partial.function


async def test_a_plain_function_that_gives_something_to_await_is_awaited() -> None:
    async def inner() -> str:
        return "waited"

    @tool
    def outer() -> Any:
        return inner()

    @tool(inline=True)
    def quick() -> Any:
        return inner()

    assert await text_of(outer) == "waited"
    assert await text_of(quick) == "waited"


# --- results --------------------------------------------------------------------------------------


def shown(*content: dict[str, Any], error: bool = False, **more: Any) -> dict[str, Any]:
    return {"content": list(content), "isError": error, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


IMAGE = {"type": "image", "data": PNG_TEXT, "mimeType": "image/png"}
LINK = {"type": "resource_link", "uri": "https://a.example/b", "name": "b"}


class Struct(msgspec.Struct):
    x: int


class OfMcp:
    """Content of the newer line of the `mcp` package."""

    __module__ = "mcp_types.content"

    def model_dump(self, *, mode: str, by_alias: bool, exclude_none: bool) -> dict[str, Any]:
        return text(f"{mode} {by_alias} {exclude_none}")


@dataclass
class ErrorOfMcp:
    """Something else of the package."""

    code: int


ErrorOfMcp.__module__ = "mcp.errors"


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("words", shown(text("words"))),
        ("", shown()),
        (None, shown()),
        (5, shown(text("5"))),
        (1.5, shown(text("1.5"))),
        (True, shown(text("true"))),
        (2**70, shown(text(str(2**70)))),
        ({"a": 1}, shown(text('{"a":1}'), structuredContent={"a": 1})),
        (Point(1), shown(text('{"x":1,"y":0}'), structuredContent={"x": 1, "y": 0})),
        (Struct(1), shown(text('{"x":1}'), structuredContent={"x": 1})),
        ([1, 2], shown(text("[1,2]"), structuredContent={"result": [1, 2]})),
        ((), shown(text("[]"), structuredContent={"result": []})),
        (Path("a"), shown(text('"a"'), structuredContent={"result": "a"})),
        (ToolFile(PNG, "a.png", "image/png"), shown(IMAGE)),
        (
            ToolFile(b"RIFF", "a.wav", "audio/wav"),
            shown({"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}),
        ),
        (
            ToolFile(b"a,b", "a.csv", "text/csv"),
            shown(
                {
                    "type": "resource",
                    "resource": {"uri": "file:///a.csv", "mimeType": "text/csv", "text": "a,b"},
                }
            ),
        ),
        (
            ToolFile(b"\xff", "a.csv", "text/csv", "data://a"),
            shown(
                {
                    "type": "resource",
                    "resource": {"uri": "data://a", "mimeType": "text/csv", "blob": "/w=="},
                }
            ),
        ),
        (
            ToolFile(b"<svg/>", "a.svg", "image/svg+xml"),
            shown(
                {
                    "type": "resource",
                    "resource": {
                        "uri": "file:///a.svg",
                        "mimeType": "image/svg+xml",
                        "text": "<svg/>",
                    },
                }
            ),
        ),
        *(
            (
                ToolFile(b"text", "a", media_type),
                shown(
                    {
                        "type": "resource",
                        "resource": {"uri": "file:///a", "mimeType": media_type, "text": "text"},
                    }
                ),
            )
            for media_type in (
                "application/javascript",
                "application/json",
                "application/toml",
                "application/x-sh",
                "application/xml",
                "application/yaml",
            )
        ),
        (ResourceLink("https://a.example/b", "b"), shown(LINK)),
        (
            ResourceLink("https://a.example/b", "b", "B", "letter", "text/plain", 1),
            shown(
                {
                    **LINK,
                    "title": "B",
                    "description": "letter",
                    "mimeType": "text/plain",
                    "size": 1,
                }
            ),
        ),
        (
            ["See:", ToolFile(PNG, media_type="image/png"), "", {"a": 1}, 5],
            shown(text("See:"), IMAGE, text('{"a":1}'), text("5")),
        ),
        (
            [TextBlock("a"), ImageBlock(Base64Source("image/png", PNG_TEXT))],
            shown(text("a"), IMAGE),
        ),
        (Image.of(PNG), shown(IMAGE)),
        (
            Image.of("https://a.example/b"),
            shown({"type": "resource_link", "uri": "https://a.example/b", "name": "image"}),
        ),
        ([Text("a"), Text("b")], shown(text("a"), text("b"))),
        (
            Document.from_text("words", title="notes"),
            shown(
                {
                    "type": "resource",
                    "resource": {
                        "uri": "file:///notes",
                        "mimeType": "text/plain",
                        "text": "words",
                    },
                }
            ),
        ),
        (
            Document.of(b"%PDF-1.7"),
            shown(
                {
                    "type": "resource",
                    "resource": {
                        "uri": "file:///document",
                        "mimeType": "application/pdf",
                        "blob": base64.b64encode(b"%PDF-1.7").decode(),
                    },
                }
            ),
        ),
        (
            ImageBlock(FileSource("file_1")),
            shown(
                text('{"type":"image","source":{"type":"file","file_id":"file_1"}}'),
                structuredContent={
                    "type": "image",
                    "source": {"type": "file", "file_id": "file_1"},
                },
            ),
        ),
        (ToolError("No such thing"), shown(text("No such thing"), error=True)),
        (ToolResult("a"), shown(text("a"))),
        (ToolResult(), shown()),
        (
            ToolResult(["a", IMAGE], {"p": Point(1)}, is_error=True, meta={"m": 1}),
            shown(
                text("a"),
                IMAGE,
                error=True,
                structuredContent={"p": {"x": 1, "y": 0}},
                _meta={"m": 1},
            ),
        ),
        ({"content": [text("raw")]}, shown(text("raw"))),
        ({"content": [text("raw")], "isError": True}, shown(text("raw"), error=True)),
        ({"content": [text("raw")], "is_error": True}, shown(text("raw"), error=True)),
        ({"content": [text("raw")], "is_error": False}, shown(text("raw"))),
        ({"content": "raw", "is_error": True}, shown(text("raw"), error=True)),
        ({"content": "raw", "isError": True}, shown(text("raw"), error=True)),
        ({"content": "raw", "isError": False}, shown(text("raw"))),
        (
            {
                "content": [],
                "isError": True,
                "is_error": True,
                "structuredContent": {"a": 1},
                "structured_content": {"a": 1},
                "_meta": {"b": 2},
            },
            shown(error=True, structuredContent={"a": 1}, _meta={"b": 2}),
        ),
        ({}, shown(text("{}"), structuredContent={})),
        (
            ToolFile(b"\xff"),
            shown(
                {
                    "type": "resource",
                    "resource": {
                        "uri": "file:///file",
                        "mimeType": "application/octet-stream",
                        "blob": "/w==",
                    },
                }
            ),
        ),
        ([], shown(text("[]"), structuredContent={"result": []})),
        (ToolResult(meta={"p": Point(1)}), shown(_meta={"p": {"x": 1, "y": 0}})),
        (OfMcp(), shown(text("json True True"))),
        ([OfMcp(), "b"], shown(text("json True True"), text("b"))),
        (ErrorOfMcp(5), shown(text('{"code":5}'), structuredContent={"code": 5})),
        ({"content": ["raw", IMAGE], "is_error": True}, shown(text("raw"), IMAGE, error=True)),
        ({"is_error": True}, shown(error=True)),
        (
            {"content": [], "structured_content": {"a": 1}, "is_error": True, "_meta": {"b": 2}},
            shown(error=True, structuredContent={"a": 1}, _meta={"b": 2}),
        ),
        (
            {"is_error": True, "code": 5},
            shown(
                text('{"is_error":true,"code":5}'), structuredContent={"is_error": True, "code": 5}
            ),
        ),
        ({"content": "x"}, shown(text('{"content":"x"}'), structuredContent={"content": "x"})),
        ({"content": [1]}, shown(text('{"content":[1]}'), structuredContent={"content": [1]})),
    ],
)
async def test_what_is_returned_is_written_as_mcp_does(value: Any, result: Any) -> None:
    assert await result_of(value) == result


async def test_a_file_is_read_and_its_kind_guessed(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "a.json").write_bytes(b"{}")
    (tmp_path / "notes").write_bytes(b"hello")
    (tmp_path / "blob").write_bytes(b"\xff\x00")
    assert await result_of(ToolFile.read(tmp_path / "a.png")) == shown(IMAGE)
    assert ToolFile.read(str(tmp_path / "a.json")).to_block()["resource"] == {
        "uri": (tmp_path / "a.json").as_uri(),
        "mimeType": "application/json",
        "text": "{}",
    }
    assert ToolFile.read(tmp_path / "notes").media_type == "text/plain"
    assert ToolFile.read(tmp_path / "blob").media_type == "application/octet-stream"
    assert ToolFile.read(tmp_path / "notes", "text/markdown").media_type == "text/markdown"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"bytes", "The tool failed: a tool cannot return bytes; return a ToolFile"),
        ({"content": [], "is_error": "no"}, "The tool failed: is_error must be True or False"),
        (OpaqueThing(), "The tool failed: a `OpaqueThing` cannot be written as JSON"),
    ],
)
async def test_what_cannot_be_said_is_a_failure(
    value: Any, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    result = await result_of(value)
    assert result["isError"]
    assert result["content"][0]["text"].startswith(words)
    assert "The tool returns failed" in caplog.text


async def test_a_model_of_pydantic_is_data() -> None:
    pydantic = pytest.importorskip("pydantic", reason="pydantic is not installed")
    model = pydantic.create_model("Model", when=(datetime.date, ...))
    value = model(when=datetime.date(2025, 1, 31))
    data = {"when": "2025-01-31"}
    assert await result_of(value) == shown(text('{"when":"2025-01-31"}'), structuredContent=data)

    limits = pydantic.Field(gt=0, description="how many")

    def take(item, count=limits):  # type: ignore[no-untyped-def]
        return f"{item.when} {count}"

    take.__annotations__ = {"item": model, "count": int}
    made = tool(take)
    assert made.input_schema["required"] == ["item", "count"]
    assert made.input_schema["properties"]["count"] == {
        "type": "integer",
        "exclusiveMinimum": 0,
        "description": "how many",
    }
    assert await text_of(made, {"item": data, "count": 1}) == "2025-01-31 1"
    assert "$.item.when" in await text_of(made, {"item": {"when": "soon"}, "count": 1})

    empty = pydantic.Field(default_factory=list)

    def default(items=empty):  # type: ignore[no-untyped-def]
        return str(items)

    assert await text_of(tool(default)) == "[]"


async def test_an_output_schema_is_told_and_kept() -> None:
    @tool(output_schema=True)
    def origin() -> Point:
        return Point(0)

    @tool(output_schema=True)
    def count() -> int:
        return 5

    @tool(output_schema=True)
    def chains() -> list[Chain]:
        return [Chain()]

    @tool(output_schema={"type": "object"})
    def anything() -> Any:
        return {}

    for each in (origin, count, chains, anything):
        schema = each.definition()["outputSchema"]
        result = await call(each)
        Draft202012Validator(schema).validate(result["structuredContent"])
    assert count.definition()["outputSchema"] == {
        "type": "object",
        "properties": {"result": {"type": "integer"}},
        "required": ["result"],
    }
    assert (await call(count))["structuredContent"] == {"result": 5}
    assert (await call(chains))["structuredContent"] == {"result": [{"next": None}]}


async def test_an_output_schema_of_text_or_nothing_is_kept_too() -> None:
    @tool(output_schema=True)
    def say() -> str:
        return "a"

    @tool(output_schema=True)
    def nothing() -> None:
        return None

    assert await call(say) == shown(text("a"), structuredContent={"result": "a"})
    assert await call(nothing) == shown(text("null"), structuredContent={"result": None})


@pytest.mark.parametrize("kind", ["audio", "image", "resource", "resource_link", "text"])
async def test_content_of_every_kind_that_is_written_as_a_dictionary_is_taken_as_it_is(
    kind: str,
) -> None:
    block = {"type": kind, "data": "…"}

    @tool
    def show() -> Any:
        return {"content": [block]}

    assert await call(show) == shown(block)


# --- failures -------------------------------------------------------------------------------------


async def test_an_exception_is_told_without_its_traceback_and_logged_with_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @tool
    def divide(a: int, b: int) -> float:
        return a / b

    assert await call(divide, {"a": 1, "b": 0}) == shown(
        text("The tool failed: division by zero"), error=True
    )
    (record,) = caplog.records
    assert record.name == "claudewire.tools"
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
    assert "ZeroDivisionError" in caplog.text
    assert "return a / b" in caplog.text


async def test_the_message_of_an_exception_can_be_kept_from_the_model() -> None:
    @tool(show_error=False)
    async def fail() -> None:
        raise RuntimeError("the password is 1234")

    assert await text_of(fail) == "! The tool failed."


async def test_an_exception_without_a_message_is_told_by_its_name() -> None:
    @tool
    async def fail() -> None:
        raise KeyboardError

    assert await text_of(fail) == "! The tool failed: KeyboardError"


class KeyboardError(Exception):
    pass


@pytest.mark.parametrize("inline", [True, False])
async def test_a_tool_that_exits_does_not_end_the_session(inline: bool) -> None:
    @tool(inline=inline)
    def leave() -> None:
        sys.exit("bye")

    assert await text_of(leave) == "! The tool failed: bye"


async def test_an_error_of_its_own_is_told_as_it_is_and_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @tool
    async def fail() -> None:
        raise ToolError("There is no such file", ToolFile(PNG, "a.png", "image/png"))

    assert await call(fail) == shown(text("There is no such file"), IMAGE, error=True)
    assert caplog.records == []
    assert isinstance(ToolError("a"), Error)
    assert str(ToolError("a", "b")) == "a b"


@simulated_time
async def test_a_tool_that_takes_too_long_is_stopped() -> None:
    contexts: list[ToolContext] = []

    @tool(timeout=0.01)
    async def sleep(context: ToolContext) -> None:
        contexts.append(context)
        await anyio.sleep_forever()

    assert await text_of(sleep) == "! The tool took longer than 0.01 s and was stopped."
    assert contexts[0].cancelled


@time_by_hand
async def test_a_plain_function_that_takes_too_long_is_left_alone_and_can_see_it() -> None:
    began, released, seen = threading.Event(), threading.Event(), threading.Event()

    @tool(timeout=5)
    def sleep(context: ToolContext) -> None:
        began.set()
        assert released.wait(SOON)
        if context.cancelled:
            context.progress(1)  # goes nowhere
            seen.set()

    async def wait() -> None:
        assert await anyio.to_thread.run_sync(began.wait, SOON)
        let_pass(5)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        assert await text_of(sleep) == "! The tool took longer than 5 s and was stopped."
    released.set()
    assert await anyio.to_thread.run_sync(seen.wait, SOON)


async def test_a_tool_in_time_is_not_stopped() -> None:
    @tool(timeout=SOON)
    async def quick(context: ToolContext) -> str:
        return str(context.cancelled)

    @tool(timeout=SOON, inline=True)
    def inline() -> str:
        return "done"

    assert await text_of(quick) == "False"
    assert await text_of(inline) == "done"


async def test_a_timeout_of_the_function_itself_is_its_failure() -> None:
    @tool(timeout=SOON)
    async def fail() -> None:
        raise TimeoutError("the database did not answer")

    assert await text_of(fail) == "! The tool failed: the database did not answer"


async def test_a_call_that_is_cancelled_is_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    started, contexts = anyio.Event(), []

    @tool
    async def sleep(context: ToolContext) -> None:
        contexts.append(context)
        started.set()
        await anyio.sleep_forever()

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sleep.call, {})
            await started.wait()
            assert not contexts[0].cancelled
            tasks.cancel_scope.cancel()
    assert contexts[0].cancelled
    assert caplog.messages == []


# --- context --------------------------------------------------------------------------------------


async def test_a_tool_can_tell_how_far_it_is_from_a_coroutine_and_from_a_thread() -> None:
    sent: list[dict[str, Any]] = []
    here = threading.get_ident()

    def send(message: dict[str, Any]) -> None:
        assert threading.get_ident() == here  # in the event loop, wherever it comes from
        sent.append(message)

    def context() -> ToolContext:
        return ToolContext(meta={"progressToken": 7}, send=send, tool="work")

    @tool
    async def work(step: int, context: ToolContext) -> None:
        await context.progress(step, 2, "half")

    @tool
    def labour(context: ToolContext) -> None:
        context.progress(2)

    @tool
    async def waste(context: ToolContext) -> None:
        context.cancel()
        await context.progress(1)

    assert list(work.input_schema["properties"]) == ["step"]
    with anyio.fail_after(SOON):
        results = [
            await work.call({"step": 1}, context()),
            await labour.call({}, context()),
            await waste.call({}, context()),
            await work.call({"step": 1}, ToolContext(send=sent.append)),
            await work.call({"step": 1}, ToolContext(meta={"progressToken": 7})),
        ]
    assert results == [shown()] * 5
    method = "notifications/progress"
    assert sent == [
        {
            "jsonrpc": "2.0",
            "method": method,
            "params": {"progressToken": 7, "progress": 1, "total": 2, "message": "half"},
        },
        {"jsonrpc": "2.0", "method": method, "params": {"progressToken": 7, "progress": 2}},
    ]


async def test_a_tool_logs_here_and_if_declared_at_the_cli(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "claudewire.tools")
    sent: list[dict[str, Any]] = []
    quiet = ToolContext(send=sent.append, server="s", tool="t")
    loud = ToolContext(send=sent.append, server="s", tool="t", logs=True)
    await quiet.log("debug", "here")
    await loud.log("notice", Point(1))
    await loud.log("emergency", "fire", "alarm")
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("DEBUG", "s.t: here"),
        ("INFO", "s.t: Point(x=1, y=0)"),
        ("CRITICAL", "s.t: fire"),
    ]
    assert [message["params"] for message in sent] == [
        {"level": "notice", "logger": "t", "data": {"x": 1, "y": 0}},
        {"level": "emergency", "logger": "alarm", "data": "fire"},
    ]
    assert sent[0]["method"] == "notifications/message"


async def test_a_plain_function_may_report_from_what_it_has_returned() -> None:
    sent: list[dict[str, Any]] = []

    @tool
    def outer(context: ToolContext) -> Any:
        async def inner() -> None:
            await context.progress(1)

        return inner()

    with anyio.fail_after(SOON):
        context = ToolContext(meta={"progressToken": 7}, send=sent.append)
        assert await outer.call({}, context) == shown()
    assert [it["params"]["progress"] for it in sent] == [1]


async def test_every_level_of_mcp_is_logged_here(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "claudewire.tools")
    for level in get_args(LogLevel):
        await ToolContext().log(level, level)
    assert [(record.getMessage(), record.levelname) for record in caplog.records] == [
        (".: debug", "DEBUG"),
        (".: info", "INFO"),
        (".: notice", "INFO"),
        (".: warning", "WARNING"),
        (".: error", "ERROR"),
        (".: critical", "CRITICAL"),
        (".: alert", "CRITICAL"),
        (".: emergency", "CRITICAL"),
    ]


async def test_a_context_knows_its_tool_use() -> None:
    assert ToolContext(meta={"claudecode/toolUseId": 5}).tool_use_id is None
    assert ToolContext(meta={"claudecode/toolUseId": "toolu_1"}).tool_use_id == "toolu_1"
    assert ToolContext().tool_use_id is None
    assert ToolContext().session is None


# --- imports --------------------------------------------------------------------------------------


def test_defining_a_tool_imports_neither_mcp_nor_pydantic() -> None:
    script = """
import sys
from dataclasses import dataclass
import claudewire
from claudewire.schemas import OutputSpec
from claudewire.tools import ServerHost, ToolServer, tool

@dataclass
class Point:
    x: int

@tool
def where(point: Point) -> Point:
    return point

ToolServer("s", [where]).tools_list_result()
OutputSpec.of(Point)
print(*sys.modules)
"""
    fresh = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, encoding="utf-8"
    )
    assert {"mcp", "pydantic", "asyncio", "trio"}.isdisjoint(fresh.stdout.split())
