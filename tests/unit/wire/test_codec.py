"""One line to one message and back: nothing raises, nothing is lost."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import msgspec
import pytest

from claudewire.wire import (
    APIMessage,
    AssistantMessage,
    CanUseTool,
    Dialect,
    ElicitationResult,
    HookCallback,
    InitMessage,
    InvalidLine,
    KeepAlive,
    LocalProtocolError,
    Malformed,
    Message,
    PermissionHint,
    PermissionResult,
    Request,
    ResultMessage,
    Role,
    StreamEvent,
    TextBlock,
    UnknownBlock,
    UnknownHookInput,
    UnknownMessage,
    UnknownPermissionResult,
    UnknownRequest,
    UnknownSystemMessage,
    UserMessage,
    fit,
)
from claudewire.wire.codec import decode, encode
from claudewire.wire.dialects import MODERN
from claudewire.wire.dialects.base import WriteContext
from claudewire.wire.dialects.envelope import ENVELOPE
from claudewire.wire.dialects.legacy import LEGACY
from claudewire.wire.dialects.session import SESSION
from claudewire.wire.lenient import explain

CLI = WriteContext(Role.CLI)


def read_line(line: bytes) -> Any:
    decoded = decode(line)
    assert decoded is not None
    return decoded[0]


def read(obj: Any) -> Any:
    return read_line(json.dumps(obj).encode())


def write(message: Message, dialect: Dialect = MODERN) -> Any:
    return json.loads(encode(message, dialect, CLI))


def assistant(*content: Any, **fields: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": list(content)}
    return {"type": "assistant", "message": message, **fields}


# --- reading -------------------------------------------------------------------------------------


def test_message_keeps_its_line_its_object_and_undeclared_fields() -> None:
    line = b'{"type":"keep_alive","since":[1,2]}'
    message = read_line(line)
    assert message == KeepAlive()
    assert (message.line, message.problems) == (line, ())
    assert message.raw == {"type": "keep_alive", "since": [1, 2]}
    assert message.extra == {"since": [1, 2]}
    assert read({"type": "system", "subtype": "status", "status": None, "x": 1}).extra == {"x": 1}


def test_message_made_here_has_an_object_but_no_line() -> None:
    message = UserMessage.of("hi", uuid="u")
    assert message.line == b""
    assert message.raw["message"] == {"role": "user", "content": "hi"}
    assert message.extra == {}


def test_keys_may_come_in_any_order() -> None:
    line = b'{"uuid":"u","session_id":"s","tools":["Read"],"subtype":"init","type":"system"}'
    assert read_line(line) == InitMessage(uuid="u", session_id="s", tools=["Read"])


@pytest.mark.parametrize("kind", ["telepathy", None, 5, ["list"]])
def test_unknown_type_keeps_everything(kind: Any) -> None:
    obj = {"type": kind, "uuid": "u", "session_id": 5, "more": {"a": 1}}
    message = read(obj)
    assert isinstance(message, UnknownMessage)
    assert message.kind == (kind if isinstance(kind, str) else None)
    assert (message.uuid, message.session_id) == ("u", None)
    assert message.data == message.raw == write(message) == obj


@pytest.mark.parametrize("subtype", ["weather", None])
def test_unknown_system_message_keeps_everything(subtype: Any) -> None:
    obj = {"type": "system", "subtype": subtype, "sky": "blue"}
    message = read(obj)
    assert isinstance(message, UnknownSystemMessage)
    assert message.data == write(message) == write(message, SESSION) == obj


def test_unknown_request_and_hook_are_kept() -> None:
    frame = {"type": "control_request", "request_id": "1"}
    assert read({**frame, "request": {"subtype": "dance"}}).body == UnknownRequest(
        {"subtype": "dance"}
    )
    hook = {"hook_event_name": "FullMoon", "phase": 1}
    body = {"subtype": "hook_callback", "callback_id": "h", "input": hook}
    request = read({**frame, "request": body})
    assert isinstance(request.body, HookCallback)
    assert request.body.input == UnknownHookInput(hook)


def test_new_values_of_known_fields_are_no_errors() -> None:
    message = read({"type": "system", "subtype": "init", "permissionMode": "yolo"})
    assert message.permission_mode == "yolo"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b'"caf\\u00e9 \\u0000 \\u2028"', "caf\u00e9 \0 \u2028"),
        ('"\u2028"'.encode(), "\u2028"),
        (b'"half \\ud83d, whole \\ud83d\\ude00"', "half \ufffd, whole \U0001f600"),
        (b'"\xff bytes"', "\ufffd bytes"),
        (b'"nul \x00 tab \t"', "nul \0 tab \t"),
    ],
)
def test_strange_characters_survive(line: bytes, text: str) -> None:
    line = (
        b'{"type":"stream_event","event":{"type":"content_block_delta","index":0,'
        b'"delta":{"type":"text_delta","text":' + line + b"}}}"
    )
    message = read_line(line)
    assert isinstance(message, StreamEvent)
    assert (message.text, message.line) == (text, line)
    again = encode(message, MODERN, CLI)
    assert again.count(b"\n") == 1
    assert "\u2028".encode() not in again
    assert read_line(again.rstrip()) == message


@pytest.mark.parametrize("line", [b"hello", b'{"type":', b'{"a":NaN}'])
def test_line_that_is_not_json_is_invalid(line: bytes) -> None:
    event = read_line(line)
    assert isinstance(event, InvalidLine)
    assert (event.length, event.line, event.raw) == (len(line), line, {})
    assert event.reason


@pytest.mark.parametrize(
    ("obj", "path"),
    [
        (5, "$"),
        ({"type": "assistant", "message": {"role": "assistant"}}, "$.message"),
        (assistant() | {"message": 5}, "$.message"),
        ({"type": "control_request", "request_id": "1"}, "$"),
        ({"type": "control_response", "response": {"subtype": "maybe"}}, "$.response.subtype"),
    ],
)
def test_message_without_required_parts_is_malformed(obj: Any, path: str) -> None:
    event = read(obj)
    assert isinstance(event, Malformed)
    assert event.path == path
    assert json.loads(event.line) == obj


@pytest.mark.parametrize("line", [b"[" * 100_000, b'{"type":"user","message":' + b"[" * 50_000])
def test_line_nested_too_deeply_is_malformed(line: bytes) -> None:
    event = read_line(line)
    assert isinstance(event, Malformed)
    assert (event.line, event.raw) == (line, {})


def test_error_that_is_only_a_text_is_an_error_message() -> None:
    message = read({"type": "error", "error": "out of order"})
    assert (message.error.kind, message.error.message) == ("error", "out of order")


def test_hint_may_come_without_an_envelope() -> None:
    body = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}}
    hinted = {**body, "permission_suggestions": [{"behavior": "allow", "message": "Safe"}, 5]}
    line = {"type": "control_request", "request_id": "1", "request": hinted}
    event, dialect = decode(json.dumps(line).encode()) or (None, None)
    assert dialect is ENVELOPE
    assert isinstance(event, Request)
    assert isinstance(event.body, CanUseTool)
    assert event.body.permission_suggestions == [PermissionHint("allow", "Safe")]


# --- misfits -------------------------------------------------------------------------------------


def test_field_of_the_wrong_type_costs_only_itself() -> None:
    message = read({"type": "system", "subtype": "init", "tools": 7, "model": "m"})
    assert isinstance(message, InitMessage)
    assert (message.tools, message.model) == (None, "m")
    assert message.problems == ("$.tools: Expected `array | null`, got `int`",)
    assert message.raw["tools"] == 7


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ({"text": "no type"}, "$.message.content[0]: Object missing required field `type`"),
        ({"type": "text"}, "$.message.content[0]: Object missing required field `text`"),
        ({"type": "text", "text": None}, "$.message.content[0].text: Expected `str`, got `null`"),
    ],
)
def test_malformed_block_is_kept_as_unknown(block: Any, problem: str) -> None:
    before = deepcopy(block)
    message, problems = fit(assistant(block, {"type": "text", "text": "hi"}), AssistantMessage)
    assert message.content == [UnknownBlock(before), TextBlock("hi")]
    assert problems == (problem,)


def test_malformed_request_is_kept_as_unknown() -> None:
    body = {"subtype": "can_use_tool", "input": {}, "type": "question"}
    request = read({"type": "control_request", "request_id": "1", "request": body})
    assert request.body == UnknownRequest(body)
    assert request.problems == ("$.request: Object missing required field `tool_name`",)


def test_item_that_does_not_fit_is_left_out() -> None:
    message, problems = fit(assistant("loose", {"type": "text", "text": "hi"}), AssistantMessage)
    assert message.content == [TextBlock("hi")]
    assert problems == ("$.message.content[0]: Expected `object`, got `str`",)


def test_object_without_a_required_field_is_left_out() -> None:
    servers = [{"name": "a"}, {"title": "b"}]
    init, problems = fit({"subtype": "init", "mcp_servers": servers}, InitMessage)
    assert [server.name for server in init.mcp_servers] == ["a"]
    assert problems == ("$.mcp_servers[1]: Object missing required field `name`",)


def test_mapping_with_a_value_that_does_not_fit_is_left_out() -> None:
    obj = {"type": "result", "subtype": "success", "modelUsage": {"opus": {"costUSD": "much"}}}
    message, problems = fit(obj, ResultMessage)
    assert message.model_usage is None
    assert len(problems) == 1


def test_field_of_the_wrong_type_inside_an_object_is_left_out() -> None:
    obj = {"type": "result", "subtype": "success", "usage": {"input_tokens": "3", "speed": "fast"}}
    message, problems = fit(obj, ResultMessage)
    assert (message.usage.input_tokens, message.usage.speed) == (None, "fast")
    assert problems == ("$.usage.input_tokens: Expected `int | null`, got `str`",)


def test_whole_may_be_of_an_unknown_kind() -> None:
    answer, problems = fit({"behavior": "perhaps"}, PermissionResult)
    assert answer == UnknownPermissionResult({"behavior": "perhaps"})
    assert problems == ()


@pytest.mark.parametrize(
    ("obj", "kind", "path"),
    [
        ({"type": "user"}, AssistantMessage, "$.type"),
        ([], AssistantMessage, "$"),
        ({"action": 5}, ElicitationResult, "$.action"),
    ],
)
def test_fit_raises_the_first_problem_if_nothing_fits(obj: Any, kind: Any, path: str) -> None:
    before = deepcopy(obj)
    with pytest.raises(msgspec.ValidationError) as caught:
        fit(obj, kind)
    assert explain(caught.value)[1] == path
    assert obj == before


# --- writing -------------------------------------------------------------------------------------


def test_value_that_json_cannot_express_is_refused() -> None:
    message = AssistantMessage(message=APIMessage("assistant", [UnknownBlock({"x": object()})]))
    with pytest.raises(LocalProtocolError, match="cannot be written as JSON"):
        encode(message, MODERN, CLI)


def test_half_of_a_surrogate_pair_is_written_as_an_escape() -> None:
    message = AssistantMessage(message=APIMessage("assistant", [TextBlock("half \ud83d")]))
    for dialect in (MODERN, LEGACY):
        assert write(message, dialect)["message"]["content"][0]["text"] == "half \ud83d"


def test_numbers_that_json_does_not_have_become_null() -> None:
    numbers = {"a": [float("nan"), 1.5], "b": float("-inf")}
    written = write(UnknownMessage(data={"type": "x", "numbers": numbers}))
    assert written["numbers"] == {"a": [None, 1.5], "b": None}
