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
    Connection,
    Initialize,
    InitializeResult,
    ModelInfo,
    ResultMessage,
    Role,
    StreamEvent,
    Usage,
)


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
