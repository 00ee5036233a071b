"""One line to one message and back."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from claudewire.wire import (
    ENVELOPE,
    LEGACY,
    MODERN,
    SESSION,
    APIMessage,
    AssistantMessage,
    CanUseTool,
    Dialect,
    InitMessage,
    KeepAlive,
    LocalProtocolError,
    Malformed,
    Message,
    Noise,
    PermissionHint,
    Request,
    Role,
    StreamEvent,
    TextBlock,
    UnknownBlock,
    UnknownMessage,
    UnknownSystemMessage,
    UserMessage,
    codec,
    fit,
)
from claudewire.wire.codec import build_request, decode, encode
from claudewire.wire.dialects import WriteContext

CLI = WriteContext(Role.CLI)


def read(obj: Any) -> Any:
    return decode(json.dumps(obj).encode()).event


def write(message: Message, dialect: Dialect = MODERN) -> Any:
    return json.loads(encode(message, dialect, CLI))


def test_a_message_gives_its_line_its_whole_object_and_what_it_does_not_know() -> None:
    line = b'{"type":"keep_alive","since":[1,2]}'
    message = decode(line).event
    assert message == KeepAlive()
    assert message.line == line
    assert message.raw == {"type": "keep_alive", "since": [1, 2]}
    assert message.raw is message.raw
    assert message.extra == {"since": [1, 2]}
    assert message.problems == ()


def test_a_message_made_here_has_no_line_but_an_object() -> None:
    message = UserMessage.of("hi", uuid="u")
    assert message.line == b""
    assert message.raw["message"] == {"role": "user", "content": "hi"}
    assert message.extra == {}


def test_keys_may_come_in_any_order() -> None:
    line = b'{"uuid":"u","session_id":"s","tools":["Read"],"subtype":"init","type":"system"}'
    assert decode(line).event == InitMessage(uuid="u", session_id="s", tools=["Read"])


@pytest.mark.parametrize("kind", ["telepathy", None, 5, ["list"], {}])
def test_an_unknown_type_is_a_message_that_keeps_everything(kind: Any) -> None:
    obj = {"type": kind, "uuid": "u", "session_id": 5, "more": {"a": 1}}
    message = read(obj)
    assert isinstance(message, UnknownMessage)
    assert message.kind == (kind if isinstance(kind, str) else None)
    assert (message.uuid, message.session_id) == ("u", None)
    assert message.data == message.raw == obj
    assert write(message) == obj


@pytest.mark.parametrize("subtype", ["weather", None, 5])
def test_an_unknown_system_message_keeps_everything(subtype: Any) -> None:
    obj = {"type": "system", "subtype": subtype, "sky": "blue"}
    message = read(obj)
    assert isinstance(message, UnknownSystemMessage)
    assert message.data == obj
    assert write(message) == obj
    assert write(message, SESSION) == obj


def test_an_object_without_a_type_is_an_unknown_message() -> None:
    assert read({"subtype": "interrupt"}).kind is None


def test_an_unknown_block_is_written_as_it_was_read() -> None:
    content: list[dict[str, Any]] = [
        {"type": "text", "text": "a"},
        {"type": "hologram", "beam": 1},
    ]
    obj = {"type": "assistant", "message": {"role": "assistant", "content": content}}
    message = read(obj)
    assert message.content == [TextBlock("a"), UnknownBlock(content[1])]
    for dialect in (MODERN, LEGACY):
        assert write(message, dialect)["message"]["content"] == content


def test_new_values_of_known_fields_are_no_errors() -> None:
    message = read(
        {
            "type": "assistant",
            "message": {"role": "assistant", "content": [], "stop_reason": "enlightenment"},
        }
    )
    assert message.stop_reason == "enlightenment"
    init = read({"type": "system", "subtype": "init", "permissionMode": "yolo"})
    assert init.permission_mode == "yolo"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b'"caf\\u00e9 \\u0000 \\u2028"', "caf\u00e9 \0 \u2028"),
        ('"\u2028"'.encode(), "\u2028"),
        (b'"\\ud83d alone"', "\ud83d alone"),
        (b'"\xff bytes"', "\ufffd bytes"),
        (b'"nul \x00 tab \t"', "nul \0 tab \t"),
    ],
)
def test_strange_characters_survive(line: bytes, text: str) -> None:
    line = (
        b'{"type":"stream_event","event":{"type":"content_block_delta","index":0,'
        b'"delta":{"type":"text_delta","text":' + line + b"}}}"
    )
    message = decode(line).event
    assert isinstance(message, StreamEvent)
    assert message.text == text
    assert message.line == line
    again = encode(message, MODERN, CLI)
    assert again.count(b"\n") == 1
    assert "\u2028".encode() not in again
    assert decode(again.rstrip()).event == message


@pytest.mark.parametrize("line", [b"hello", b"", b'{"type":', b'{"a":NaN}', b"[" * 100_000])
def test_what_is_not_json_is_noise(line: bytes) -> None:
    event = decode(line).event
    assert isinstance(event, Noise)
    assert event.length == len(line)
    assert event.line == line
    assert event.reason


@pytest.mark.parametrize(
    ("obj", "path"),
    [
        (5, "$"),
        ({"type": "assistant", "message": {"role": "assistant"}}, "$.message"),
        ({"type": "control_request", "request_id": "1"}, "$"),
        ({"type": "control_response", "response": {"subtype": "maybe"}}, "$.response.subtype"),
    ],
)
def test_what_cannot_be_what_it_says_is_malformed(obj: Any, path: str) -> None:
    event = read(obj)
    assert isinstance(event, Malformed)
    assert event.path == path
    assert json.loads(event.line) == obj


def test_a_field_of_the_wrong_type_costs_only_itself() -> None:
    message = read({"type": "system", "subtype": "init", "tools": 7, "model": "m"})
    assert isinstance(message, InitMessage)
    assert (message.tools, message.model) == (None, "m")
    assert message.problems == ("$.tools: Expected `array | null`, got `int`",)
    assert message.raw["tools"] == 7


def test_an_object_where_text_should_be_is_malformed_however_deep_it_is() -> None:
    deep = b'{"type":"user","message":{"role":"user","content":' * 150
    line = deep + b"1" + b"}}" * 150
    event = decode(line).event
    assert isinstance(event, Malformed)
    assert (event.reason, event.path) == (
        "Expected `str | array`, got `object`",
        "$.message.content",
    )
    assert event.line == line


def test_what_is_nested_too_deep_for_a_json_parser_is_noise() -> None:
    line = b'{"type":"user","message":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    event = decode(line).event
    assert isinstance(event, Noise)
    assert event.line == line


def test_what_json_cannot_say_is_refused() -> None:
    block = UnknownBlock({"x": {1, object()}})
    message = AssistantMessage(message=APIMessage("assistant", [block]))
    with pytest.raises(LocalProtocolError):
        encode(message, MODERN, CLI)


@pytest.mark.parametrize("text", ["plain", "alone \ud800"])
def test_numbers_that_json_does_not_have_become_null(text: str) -> None:
    numbers = {"a": [float("nan"), 1.5], "b": float("-inf")}
    written = write(UnknownMessage(data={"type": "x", "text": text, "numbers": numbers}))
    assert written == {"type": "x", "text": text, "numbers": {"a": [None, 1.5], "b": None}}


def test_an_error_that_is_only_a_text_is_an_error_message() -> None:
    message = read({"type": "error", "error": "out of order"})
    assert (message.error.kind, message.error.message) == ("error", "out of order")


def test_a_request_found_inside_another_message_is_made_or_left() -> None:
    request = {"type": "control_request", "request_id": "1", "request": {"subtype": "interrupt"}}
    assert build_request(request) is not None
    assert build_request({"type": "keep_alive"}) is None
    assert build_request({"type": "control_request"}) is None


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"hooks": {"Stop": [{"hookCallbackIds": ["1"], "timeout": 5}]}, "newField": 1},
        {"hooks": 7, "title": "A title"},
        {"agents": {"a": 5}},
        {"title": "half a pair: \ud800"},
        {"systemPrompt": {"\ud800": 1}},
    ],
)
@pytest.mark.parametrize("names", [{"request_id": "1"}, {"request_id": 1}, {"uuid": "u"}])
def test_initialize_is_read_alone_as_it_is_among_all_requests(body: Any, names: Any) -> None:
    obj = {"type": "control_request", **names, "request": {"subtype": "initialize", **body}}
    event = read(obj)
    try:
        among_all, problems = fit(json.loads(json.dumps({"request_id": "", **obj})), Request)
    except msgspec.ValidationError:
        assert isinstance(event, Malformed)
    else:
        assert (event, event.problems) == (among_all, problems)


def test_a_hint_may_come_without_an_envelope() -> None:
    body = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}}
    hinted = {**body, "permission_suggestions": [{"behavior": "allow", "message": "Safe"}, 5]}
    line = {"type": "control_request", "request_id": "1", "request": hinted}
    decoded = decode(json.dumps(line).encode())
    assert decoded.dialect is ENVELOPE
    assert isinstance(decoded.event, Request)
    assert isinstance(decoded.event.body, CanUseTool)
    assert decoded.event.body.permission_suggestions == [PermissionHint("allow", "Safe")]


def test_the_module_has_no_other_attribute_that_is_made_when_it_is_used() -> None:
    with pytest.raises(AttributeError, match="codec' has no attribute 'x'"):
        getattr(codec, "x")  # noqa: B009


@pytest.mark.parametrize("line", [b"[1]", b"5", b'"text"', b"null", b"oops", b"[" * 100_000])
def test_a_line_that_is_no_object_has_no_fields(line: bytes) -> None:
    event = codec.decode(line).event
    assert (event.raw, event.line) == ({}, line)
