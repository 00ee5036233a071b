"""Functions as tools: descriptions for the model, calls, results, failures and contexts."""

from __future__ import annotations

import base64
import datetime
import enum
import functools
import logging
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import anyio
import anyio.lowlevel
import anyio.to_thread
import msgspec
import pydantic
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from tests.helpers.clock import let_pass, simulated_time, time_by_hand
from tests.helpers.peer import SOON

from claudewire.content import document, image
from claudewire.tools import AnyTool, ToolAnnotations, ToolContext, ToolError, ToolResult, tool
from claudewire.wire import FileSource, ImageBlock

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n"
PNG_TEXT = base64.b64encode(PNG).decode()


@dataclass
class Point:
    x: int
    y: int = 0


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class Opaque:
    pass


def giving(value: Any) -> AnyTool:
    def give() -> Any:
        return value

    return tool(give)


async def call(each: AnyTool, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    with anyio.fail_after(SOON):
        return await each.call(arguments or {})


async def text_of(each: AnyTool, arguments: dict[str, Any] | None = None) -> str:
    """Call a tool and return the text of its result, with ! for an error."""
    result = await call(each, arguments)
    text: str = result["content"][0]["text"]
    return f"! {text}" if result["isError"] else text


# --- descriptions --------------------------------------------------------------------------------


def test_name_description_and_schema_come_from_the_function() -> None:
    @tool
    def search(  # noqa: D417
        query: str,
        kind: Literal["all", "new"] = "all",
        limit: Annotated[int, pydantic.Field(ge=1, le=100)] = 10,
        near: Point | None = None,
        folder: Path = Path("."),
    ) -> list[str]:
        """Search for something.

        It takes a while.

        Args:
            query: the words,
                in plain English.
            limit: how many at most.

        Returns:
            The matches.
        """
        return []

    definition = search.definition()
    assert definition == {
        "name": "search",
        "description": "Search for something.\n\nIt takes a while.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "the words, in plain English."},
                "kind": {"type": "string", "enum": ["all", "new"], "default": "all"},
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 100,
                    "description": "how many at most.",
                    "default": 10,
                },
                "near": {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}], "default": None},
                "folder": {"type": "string", "format": "path", "default": "."},
            },
            "required": ["query"],
            "additionalProperties": False,
            "$defs": {
                "Point": {
                    "type": "object",
                    "title": "Point",
                    "properties": {
                        "x": {"type": "integer"},
                        "y": {"type": "integer", "default": 0},
                    },
                    "required": ["x"],
                    "additionalProperties": False,
                }
            },
        },
    }
    Draft202012Validator.check_schema(definition["inputSchema"])


def test_a_tool_is_still_the_function() -> None:
    @tool
    def add(a: float, b: float) -> float:
        """Add two numbers."""
        return a + b

    assert add(1, b=2) == 3
    assert add.__doc__ == "Add two numbers."
    assert repr(add) == "<Tool add>"


def test_settings_replace_the_facts_of_the_function() -> None:
    @tool(
        name="delete-file",
        description="Delete it.",
        annotations=ToolAnnotations(title="Delete a file", read_only=False, destructive=True),
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
        "annotations": {"title": "Delete a file", "readOnlyHint": False, "destructiveHint": True},
        "_meta": {
            "anthropic/searchHint": "rm",
            "anthropic/maxResultSizeChars": 500,
            "anthropic/alwaysLoad": True,
        },
    }


async def test_a_given_schema_leaves_the_arguments_as_they_came() -> None:
    schema = {"type": "object", "properties": {"when": {"type": "string"}}}

    @tool(schema=schema)
    def plan(when: datetime.date, thing: Opaque | None = None) -> str:
        return f"{when!r} {thing}"

    assert plan.input_schema == schema
    assert await text_of(plan, {"when": "2025-01-31", "thing": 5}) == "'2025-01-31' 5"
    assert "missing 1 required positional argument: 'when'" in await text_of(plan)


def test_types_of_the_scope_of_a_function_are_found() -> None:
    @dataclass
    class Local:
        size: int

    @tool
    def take(local: list[Local]) -> None: ...

    assert take.input_schema["$defs"]["Local"]["required"] == ["size"]


def _star(*numbers: int) -> None: ...


def _generator() -> Any:
    yield 1


@pytest.mark.parametrize(
    ("make", "error", "problem"),
    [
        (lambda: tool(_star), TypeError, "it cannot take *numbers"),
        (lambda: tool(_generator), TypeError, "_generator yields"),
        (lambda: tool(cast("Any", 5)), TypeError, "5 is not a function"),
        (lambda: tool(Point), TypeError, "Point is a class, not a function"),
        (lambda: tool(**cast("Any", {"nmae": "a"}))(_star), TypeError, "no setting 'nmae'"),
        (lambda: tool(name="a b")(_star), ValueError, "'a b' cannot be the name of a tool"),
        (lambda: tool(name="a" * 129)(_star), ValueError, "cannot be the name of a tool"),
    ],
)
def test_an_unsuitable_function_is_refused_at_once(
    make: Callable[[], Any], error: type[Exception], problem: str
) -> None:
    with pytest.raises(error) as caught:
        make()
    assert problem in str(caught.value)


# --- calls ---------------------------------------------------------------------------------------


@tool
def describe(point: Point, size: Size = Size.SMALL, *, when: datetime.date | None = None) -> str:
    """Show the arguments."""
    return f"{point} {size} {when}"


async def test_arguments_arrive_converted() -> None:
    given = {"point": {"x": 1}, "size": "large", "when": "2025-01-31"}
    assert await text_of(describe, given) == "Point(x=1, y=0) Size.LARGE 2025-01-31"
    assert await text_of(describe, {"point": {"x": 1}}) == "Point(x=1, y=0) Size.SMALL None"


async def test_the_model_gets_all_problems_of_its_arguments() -> None:
    given = {"point": {"x": "1"}, "siez": "large", "when": "soon"}
    assert await text_of(describe, given) == (
        "! Invalid arguments for describe:\n"
        "$.point.x: Input should be a valid integer, got '1'\n"
        "$.when: Input should be a valid date in the format YYYY-MM-DD, input is too short, "
        "got 'soon'\n"
        "$.siez: There is no such field"
    )
    assert await text_of(describe) == (
        "! Invalid arguments for describe:\n$.point: Required, but missing"
    )


async def test_positions_and_further_names_are_respected() -> None:
    @tool
    def join(first: str, second: str = "-", /, *, last: str = "", **others: int) -> str:
        return f"{first}{second}{last}{others}"

    assert join.input_schema["additionalProperties"] == {"type": "integer"}
    assert await text_of(join, {"first": "a", "last": "z", "n": 1}) == "a-z{'n': 1}"
    assert await text_of(join, {"first": "a", "second": "b"}) == "ab{}"


async def test_untyped_parameters_take_anything() -> None:
    @tool
    def take(what, **others):  # type: ignore[no-untyped-def]
        return f"{what} {others}"

    assert await text_of(take, {"what": [1], "more": None}) == "[1] {'more': None}"


async def test_coroutines_run_in_the_loop_and_functions_in_threads() -> None:
    here = threading.get_ident()

    @tool
    async def loop() -> bool:
        await anyio.lowlevel.checkpoint()
        return threading.get_ident() == here

    @tool
    def thread() -> bool:
        return threading.get_ident() == here

    assert [await text_of(it) for it in (loop, thread)] == ["true", "false"]


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


async def test_methods_and_callable_objects_can_be_tools() -> None:
    three = Multiplier(3)
    assert list(three.times.input_schema["properties"]) == ["number"]
    assert await text_of(three.times, {"number": 2}) == "6"
    assert three.times(2) == 6
    assert await text_of(tool(three.plain), {"number": 2}) == "6"
    assert await text_of(three.half, {"number": 2}) == "1.0"
    assert three.borrowed is describe
    made = tool(name="multiply")(three)
    assert made.description == "Multiply."
    assert await text_of(made, {"number": 2}) == "6"


async def test_a_partial_function_can_be_a_tool() -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    partial = tool(functools.partial(add, 1))
    assert (partial.name, partial.description) == ("add", "Add.")
    assert await text_of(partial, {"b": 2}) == "3"


# --- results -------------------------------------------------------------------------------------


def shown(*content: dict[str, Any], error: bool = False, **more: Any) -> dict[str, Any]:
    return {"content": list(content), "isError": error, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def resource(uri: str, media_type: str, **content: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": media_type, **content}}


IMAGE = {"type": "image", "data": PNG_TEXT, "mimeType": "image/png"}
LINK = {"type": "resource_link", "uri": "https://a.example/b", "name": "image"}


class Struct(msgspec.Struct):
    x: int


class Model(pydantic.BaseModel):
    when: datetime.date


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("words", shown(text("words"))),
        ("", shown()),
        (None, shown()),
        (True, shown(text("true"))),
        ({"a": 1}, shown(text('{"a":1}'), structuredContent={"a": 1})),
        (Point(1), shown(text('{"x":1,"y":0}'), structuredContent={"x": 1, "y": 0})),
        (Struct(1), shown(text('{"x":1}'), structuredContent={"x": 1})),
        (
            Model(when=datetime.date(2025, 1, 31)),
            shown(text('{"when":"2025-01-31"}'), structuredContent={"when": "2025-01-31"}),
        ),
        ([1, 2], shown(text("[1,2]"), structuredContent={"result": [1, 2]})),
        (Path("a"), shown(text('"a"'), structuredContent={"result": "a"})),
        (
            ["See:", image(PNG), "", {"a": 1}, 5],
            shown(text("See:"), IMAGE, text('{"a":1}'), text("5")),
        ),
        (image(PNG), shown(IMAGE)),
        (image("https://a.example/b"), shown(LINK)),
        (
            document(b"words", title="notes"),
            shown(resource("file:///notes", "text/plain", text="words")),
        ),
        (
            document(b"%PDF-", title="a.pdf"),
            shown(resource("file:///a.pdf", "application/pdf", blob="JVBERi0=")),
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
        ({"content": ["raw", IMAGE], "is_error": True}, shown(text("raw"), IMAGE, error=True)),
        ({"content": "raw", "isError": False}, shown(text("raw"))),
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
    ],
)
async def test_a_returned_value_becomes_a_result_of_mcp(value: Any, result: Any) -> None:
    assert await call(giving(value)) == result


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (b"bytes", "a tool cannot return bytes; return image() or"),
        ({"content": [], "is_error": "no"}, "is_error must be True or False"),
        (Opaque(), "objects of type Opaque is unsupported"),
    ],
)
async def test_a_value_without_a_json_form_is_a_failure(
    value: Any, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert problem in await text_of(giving(value))
    assert "failed" in caplog.text


async def test_results_fit_their_output_schema() -> None:
    @tool(output_schema=True)
    def origin() -> Point:
        return Point(0)

    @tool(output_schema=True)
    def count() -> int:
        return 5

    @tool(output_schema=True)
    def nothing() -> None:
        return None

    @tool(output_schema={"type": "object"})
    def anything() -> Any:
        return {}

    for each in (origin, count, nothing, anything):
        schema = each.definition()["outputSchema"]
        assert schema["type"] == "object"
        Draft202012Validator(schema).validate((await call(each))["structuredContent"])
    assert (await call(count))["structuredContent"] == {"result": 5}


# --- failures ------------------------------------------------------------------------------------


async def test_the_model_gets_the_message_of_an_exception(caplog: pytest.LogCaptureFixture) -> None:
    @tool
    def divide(a: int, b: int) -> float:
        return a / b

    assert await text_of(divide, {"a": 1, "b": 0}) == "! The tool failed: division by zero"
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("claudewire.tools", logging.ERROR)
    assert "return a / b" in caplog.text


async def test_the_message_of_an_exception_can_be_hidden() -> None:
    @tool(show_error=False)
    async def fail() -> None:
        raise RuntimeError("the password is 1234")

    assert await text_of(fail) == "! The tool failed."


async def test_a_tool_that_exits_only_fails() -> None:
    @tool
    def leave() -> None:
        sys.exit("bye")

    assert (await text_of(leave)).endswith("raised SystemExit")


async def test_a_tool_error_reaches_the_model_unlogged(caplog: pytest.LogCaptureFixture) -> None:
    @tool
    async def fail() -> None:
        raise ToolError("There is no such file", image(PNG))

    assert await call(fail) == shown(text("There is no such file"), IMAGE, error=True)
    assert caplog.records == []
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
async def test_a_thread_that_takes_too_long_sees_its_cancellation() -> None:
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


async def test_a_timeout_of_the_function_is_its_failure() -> None:
    @tool(timeout=SOON)
    async def fail() -> None:
        raise TimeoutError("the database did not answer")

    assert await text_of(fail) == "! The tool failed: the database did not answer"


# --- contexts ------------------------------------------------------------------------------------


async def test_progress_is_sent_from_coroutines_and_threads() -> None:
    sent: list[dict[str, Any]] = []
    here = threading.get_ident()

    def send(message: dict[str, Any]) -> None:
        assert threading.get_ident() == here  # in the event loop, wherever it comes from
        sent.append(message)

    @tool
    async def work(step: int, context: ToolContext | None = None) -> None:
        assert context is not None
        context.progress(step, 2, "half")

    @tool
    def labour(context: ToolContext) -> None:
        context.progress(2)

    assert list(work.input_schema["properties"]) == ["step"]
    with anyio.fail_after(SOON):
        await work.call({"step": 1}, ToolContext(meta={"progressToken": 7}, send=send))
        await labour.call({}, ToolContext(meta={"progressToken": 7}, send=send))
        await labour.call({}, ToolContext(send=send))
    assert [message["method"] for message in sent] == ["notifications/progress"] * 2
    assert [message["params"] for message in sent] == [
        {"progressToken": 7, "progress": 1, "total": 2, "message": "half"},
        {"progressToken": 7, "progress": 2},
    ]
