"""What other dialects write and read, line by line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace
from tests.helpers import messages as saying

from claudewire.wire import (
    AccountInfo,
    Answer,
    CanUseTool,
    Connection,
    Initialize,
    InitializeResult,
    ModelInfo,
    ResultMessage,
    Role,
    StreamEvent,
    Usage,
)
from claudewire.wire.dialects import MODERN, recognise

# --- recognising ---------------------------------------------------------------------------------


def request(**fields: Any) -> dict[str, Any]:
    return {"type": "control_request", "request_id": "1", "request": fields}


def hooks(*matchers: Any) -> dict[str, Any]:
    return request(subtype="initialize", hooks={"Stop": list(matchers)})


def said(**message: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"type": "message", "content": [], **message}}


OLD, NEW = {"hook_callback_ids": ["h"]}, {"hookCallbackIds": ["h"]}
QUESTIONS = CanUseTool("AskUserQuestion", {"questions": [{"question": "?"}, {"question": "1"}]})


def answers(**given: str) -> dict[str, Any]:
    decision = {"behavior": "allow", "updatedInput": {"answers": given}}
    response = {"subtype": "success", "request_id": "q", "response": decision}
    return {"type": "control_response", "response": response}


@pytest.mark.parametrize(
    ("dialect", "line"),
    [
        ("legacy", {"type": "sdk_control_request"}),
        ("legacy", {"type": "stream"}),
        ("legacy", {"type": "control"}),
        ("legacy", {"type": "result", "total_input_tokens": 1}),
        ("legacy", {"type": "result", "total_output_tokens": 1}),
        ("modern", {"type": "result", "usage": {"input_tokens": 1}}),
        ("legacy", {"type": "control_request", "request": {"request_id": "1"}}),
        ("modern", request(request_id="1")),
        ("modern", {"type": "control_request", "request": "odd"}),
        ("legacy", request(sdk_mcp_servers=[])),
        ("modern", request(sdk_mcp_servers=[], sdkMcpServers=[])),
        ("modern", request(sdkMcpServers=[])),
        ("legacy", hooks(OLD)),
        ("legacy", hooks("odd", NEW, OLD)),
        ("modern", hooks(NEW)),
        ("modern", hooks({**OLD, **NEW})),
        ("modern", hooks({"matcher": "Bash"})),
        ("modern", hooks("hook_callback_ids")),
        ("modern", request(hooks={"Stop": 5, "Setup": {"a": OLD}})),
        ("modern", request(hooks="odd")),
        ("session", {"type": "session.create"}),
        ("session", {"type": "session.send"}),
        ("session", {"type": "session.created"}),
        ("session", {"type": "callback.request"}),
        ("session", {"type": "callback.response"}),
        ("session", {"type": "control_response", "request_id": "1"}),
        ("session", {"type": "control_response", "request_id": "1", "response": {"a": 1}}),
        (
            "modern",
            {"type": "control_response", "request_id": "1", "response": {"subtype": "error"}},
        ),
        (
            "modern",
            {"type": "control_response", "request_id": "1", "response": {"subtype": "success"}},
        ),
        ("modern", {"type": "control_response", "response": {"request_id": "1"}}),
        ("session", request(subtype="initialize", system_prompt="Hi")),
        ("session", request(subtype="initialize", mcp_servers=[])),
        ("modern", request(subtype="initialize", systemPrompt="Hi", mcpServers=[])),
        ("modern", request(subtype="another", system_prompt="Hi")),
        ("session", {"type": "system", "subtype": "init", "tools": ["Bash", {"name": "Read"}]}),
        ("modern", {"type": "system", "subtype": "init", "tools": ["Bash"]}),
        ("modern", {"type": "system", "subtype": "init", "tools": {"name": {}}}),
        ("modern", {"type": "system", "subtype": "init", "tools": 5}),
        ("modern", {"type": "system", "subtype": "another", "tools": [{"name": "Read"}]}),
        ("session", {**said(role="assistant"), "model": "m"}),
        ("session", said()),
        ("modern", said(role="assistant")),
        ("modern", said(model="m")),
        ("modern", said(usage={})),
        ("modern", said(type="another")),
        ("session", {**said(), "type": "user"}),
        ("modern", {**said(role="user"), "type": "user"}),
        ("modern", {**said(type="another"), "type": "user"}),
        ("session", {"type": "result", "turn_count": 1}),
        ("session", {"type": "result", "duration_seconds": 1}),
        ("session", {"type": "result", "error": "It failed"}),
        ("modern", {"type": "result", "error": {"message": "It failed"}}),
        ("session", {"type": "error", "error": {"code": "ODD"}}),
        ("modern", {"type": "error", "error": {"message": "ODD"}}),
        ("modern", {"type": "error", "error": "code"}),
        ("envelope", {**request(subtype="can_use_tool"), "message": {}}),
        ("modern", {**request(subtype="can_use_tool"), "message": "odd"}),
        ("envelope", request(permission_suggestions=["odd", {"behavior": "allow"}])),
        ("modern", request(permission_suggestions=[{"type": "addRules", "behavior": "allow"}])),
        ("modern", request(permission_suggestions=["behavior", {"rules": []}])),
        ("modern", request(permission_suggestions={"behavior": "allow"})),
        ("envelope", {"type": "assistant", "delta": {"type": "content_block_stop"}}),
        ("modern", {"type": "assistant", "delta": "odd"}),
        ("modern", {**said(role="assistant"), "delta": {"type": "content_block_stop"}}),
        ("envelope", answers(**{"0": "Yes"})),
        ("modern", answers(**{"1": "Yes"})),  # this is what a question says
        ("modern", answers(**{"?": "Yes"})),
        ("modern", answers(**{"0": "Yes", "?": "Yes"})),
        ("modern", answers(**{"2": "Yes"})),
        ("modern", answers()),
        ("modern", {"type": "control_response", "response": {"request_id": []}}),
        ("modern", {**answers(**{"0": "Yes"}), "type": "another"}),
        ("modern", {"type": "keep_alive"}),
        ("modern", {"type": 5}),
        ("modern", {"type": []}),
        ("modern", {}),
    ],
    ids=str,
)
def test_a_line_is_of_the_dialect_that_alone_writes_so(dialect: str, line: dict[str, Any]) -> None:
    assert recognise(line, {"q": QUESTIONS}.get).name == dialect


@pytest.mark.parametrize("asked", [None, CanUseTool("Bash", QUESTIONS.input)], ids=str)
def test_answers_by_index_are_a_sign_of_a_dialect_only_if_questions_were_asked(asked: Any) -> None:
    assert recognise(answers(**{"0": "Yes"}), lambda id: asked) is MODERN


# --- reading and writing -------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["legacy", "session"])
def test_a_message_is_written_without_what_is_null(dialect: str) -> None:
    said = saying.text("Hi")
    said = replace(said, message=replace(said.message, stop_reason=None, stop_sequence=None))
    message = json.loads(Connection(Role.CLI, dialect=dialect).send(said))["message"]
    assert message.keys().isdisjoint({"role", "stop_reason", "stop_sequence"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("index", 3),
        ("delta", {"type": "text_delta", "text": "Hi"}),
        ("content_block", {"type": "text", "text": ""}),
        ("message", {"id": "m", "role": "assistant", "content": []}),
        ("usage", {"output_tokens": 5}),
        ("error", {"type": "overloaded_error", "message": "Later"}),
        ("context_management", {"applied_edits": []}),
    ],
)
def test_a_field_of_a_stream_event_is_beside_its_name_in_the_legacy_dialect(
    name: str, value: Any
) -> None:
    line = {"type": "stream", "event": "something_new", name: value, "session_id": "s"}
    client = Connection(Role.CLIENT, dialect="legacy")
    (event,) = client.receive_data(json.dumps(line).encode() + b"\n")
    assert isinstance(event, StreamEvent)
    modern = json.loads(Connection(Role.CLI).send(event))
    assert modern["event"] == {"type": "something_new", name: value}
    assert json.loads(Connection(Role.CLI, dialect="legacy").send(event)) == line


@pytest.mark.parametrize("milliseconds", [0, 1, 1.5, 999, 540688026953, 2**52 - 1])
def test_a_duration_in_seconds_is_read_as_the_milliseconds_it_was(milliseconds: float) -> None:
    cli, client = (Connection(role, dialect="session") for role in (Role.CLI, Role.CLIENT))
    sent = ResultMessage(subtype="success", duration_ms=milliseconds)
    (result,) = client.receive_data(cli.send(sent))
    assert isinstance(result, ResultMessage)
    assert result.duration_ms == milliseconds


def test_hooks_of_another_shape_are_kept_as_they_are_in_the_legacy_dialect() -> None:
    hooks = {"Stop": ["odd", {"hook_callback_ids": ["h"]}], "Setup": "odd"}
    request = {"subtype": "initialize", "hooks": hooks}
    line = {"type": "control_request", "request_id": "1", "request": request}
    cli = Connection(Role.CLI, dialect="legacy")
    (event,) = cli.receive_data(json.dumps(line).encode() + b"\n")
    assert event.raw["request"]["hooks"] == hooks


def test_models_and_the_account_have_names_of_their_own_in_the_session_dialect() -> None:
    client, cli = (Connection(role, dialect="session") for role in (Role.CLIENT, Role.CLI))
    opening = client.new_request(Initialize())
    cli.receive_data(client.send(opening))
    offer = InitializeResult(
        models=[ModelInfo("opus", display_name="Opus")],
        account=AccountInfo(subscription_type="max"),
    )
    line = cli.send(Answer(opening.id, offer))
    written = json.loads(line)["response"]
    assert written["models"] == [{"value": "opus", "display": "Opus"}]
    assert written["account"] == {"account_type": "max"}
    (answer,) = client.receive_data(line)
    assert isinstance(answer, Answer)
    assert answer.body == offer


@pytest.mark.parametrize("payload", ["text", None, {"models": ["opus"], "account": "max"}])
def test_an_answer_of_another_shape_is_kept_as_it_is_in_the_session_dialect(payload: Any) -> None:
    client = Connection(Role.CLIENT, dialect="session")
    opening = client.new_request(Initialize())
    client.send(opening)
    line = {"type": "control_response", "request_id": opening.id, "response": payload}
    (event,) = client.receive_data(json.dumps(line).encode() + b"\n")
    assert json.loads(json.dumps(event.raw))["response"] == payload


@pytest.mark.parametrize("usage", [None, Usage(input_tokens=3), Usage(3, 5)])
def test_a_result_has_the_totals_that_there_are_in_the_legacy_dialect(usage: Usage | None) -> None:
    cli, client = (Connection(role, dialect="legacy") for role in (Role.CLI, Role.CLIENT))
    (result,) = client.receive_data(cli.send(ResultMessage(subtype="success", usage=usage)))
    assert isinstance(result, ResultMessage)
    assert result.usage == usage
