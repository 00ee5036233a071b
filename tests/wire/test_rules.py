"""What opens a session and what ends a turn, dialect by dialect."""

from __future__ import annotations

import json
from typing import Any

import pytest

from claudewire.wire import (
    DIALECTS,
    APIMessage,
    AssistantMessage,
    Connection,
    Failure,
    Initialize,
    Interrupt,
    Request,
    ResultMessage,
    Role,
    SessionStateChangedMessage,
    State,
    Stray,
    StreamEvent,
    UserMessage,
)

RESULT = ResultMessage(subtype="success", num_turns=1)
ERROR = {"type": "error", "error": {"type": "invalid_request", "message": "What?"}}


def said(stop_reason: str | None, **fields: Any) -> AssistantMessage:
    return AssistantMessage(
        message=APIMessage("assistant", "hi", stop_reason=stop_reason), **fields
    )


def line(obj: dict[str, Any]) -> bytes:
    return json.dumps(obj).encode() + b"\n"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_only_the_envelope_dialect_opens_without_initialize(dialect: str) -> None:
    assert DIALECTS[dialect].rules.opens_with_initialize is (dialect != "envelope")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_result_ends_a_turn_in_every_dialect(dialect: str) -> None:
    rules = DIALECTS[dialect].rules
    assert rules.ends_turn(RESULT)
    assert not rules.ends_turn(UserMessage.of("hello"))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("reason", ["end_turn", "max_tokens", "refusal", "something new"])
def test_a_model_that_has_stopped_ends_a_turn_in_one_of_them(dialect: str, reason: str) -> None:
    rules = DIALECTS[dialect].rules
    assert rules.ends_turn(said(reason)) is (dialect == "envelope")
    assert not rules.ends_turn(said(reason, parent_tool_use_id="toolu_1"))


@pytest.mark.parametrize("reason", [None, "tool_use", "pause_turn"])
def test_a_model_that_goes_on_ends_no_turn(reason: str | None) -> None:
    assert not DIALECTS["envelope"].rules.ends_turn(said(reason))


def test_a_turn_without_a_result_is_over_for_both() -> None:
    client = Connection(Role.CLIENT, dialect="envelope")
    cli = Connection(Role.CLI, dialect="envelope")
    cli.receive_data(client.send(UserMessage.of("hello")))
    assert client.unanswered_prompts == 1
    client.receive_data(cli.send(said(None)))
    assert (client.their_state, cli.our_state) == (State.BUSY, State.BUSY)
    client.receive_data(cli.send(said("end_turn")))
    assert (client.their_state, cli.our_state) == (State.IDLE, State.IDLE)
    assert client.may_end_input
    assert cli.unanswered_prompts == 0
    client.receive_data(cli.send(RESULT))
    assert (client.their_state, cli.our_state) == (State.IDLE, State.IDLE)


def test_a_turn_is_over_also_if_its_end_comes_with_what_was_before() -> None:
    client, cli = (Connection(role, dialect="envelope") for role in (Role.CLIENT, Role.CLI))
    cli.receive_data(client.send(UserMessage.of("hello")))
    client.receive_data(cli.send(said(None)))
    client.receive_data(cli.send(said(None)) + cli.send(said("end_turn")))
    assert client.their_state is State.IDLE


def test_an_error_answers_the_oldest_request() -> None:
    host = Connection(Role.CLIENT)
    first, second = host.new_request(Interrupt()), host.new_request(Interrupt())
    host.send(first)
    host.send(second)
    (failure,) = host.receive_data(line(ERROR))
    assert failure == Failure(first.id, "What?", "invalid_request", first)
    assert failure.raw == ERROR
    assert list(host.asked) == [second.id]
    answer = {"subtype": "success", "request_id": first.id}
    (late,) = host.receive_data(line({"type": "control_response", "response": answer}))
    assert isinstance(late, Stray)
    assert "by an error" in late.reason


def test_only_a_host_is_refused_so() -> None:
    cli = Connection(Role.CLI)
    cli.send(cli.new_request(Interrupt()))
    (event,) = cli.receive_data(line(ERROR))
    assert isinstance(event, Stray)
    assert len(cli.asked) == 1


def test_whoever_answers_initialize_by_an_error_speaks_the_envelope_dialect() -> None:
    host = Connection(Role.CLIENT)
    host.send(Request(id="i", body=Initialize()))
    host.receive_data(line(ERROR))
    assert host.our_state is State.NEW
    assert host.dialect is DIALECTS["envelope"]
    assert json.loads(host.send(UserMessage.of("hello")))["message"]["content"] == [
        {"type": "text", "text": "hello"}
    ]


@pytest.mark.parametrize("dialect", ["modern", "session"])
def test_a_dialect_that_is_known_does_not_change_by_it(dialect: str) -> None:
    host = Connection(Role.CLIENT, dialect=dialect)
    host.send(Request(id="i", body=Initialize()))
    host.receive_data(line(ERROR))
    assert host.dialect is DIALECTS[dialect]


def test_an_error_with_a_code_is_of_the_session_dialect() -> None:
    host = Connection(Role.CLIENT)
    host.send(Request(id="i", body=Initialize()))
    (failure,) = host.receive_data(line({"type": "error", "error": {"code": "X", "message": "No"}}))
    assert isinstance(failure, Failure)
    assert (failure.error, failure.code) == ("No", "X")
    assert host.dialect is DIALECTS["session"]


def test_an_error_ends_a_turn_unless_output_follows() -> None:
    host = Connection(Role.CLIENT)
    host.send(UserMessage.of("hello"))
    host.receive_data(line(ERROR))
    assert (host.their_state, host.unanswered_prompts) == (State.IDLE, 0)
    host.receive_data(Connection(Role.CLI).send(said(None)))
    assert host.their_state is State.BUSY


def test_idle_beside_a_result_answers_no_prompt() -> None:
    host = Connection(Role.CLIENT)
    host.send(UserMessage.of("hello"))
    host.receive_data(Connection(Role.CLI).send(SessionStateChangedMessage(state="idle")))
    assert (host.their_state, host.unanswered_prompts) == (State.IDLE, 1)


@pytest.mark.parametrize(
    ("answer", "next"),
    [
        ([], "session.send"),
        ([ERROR], "session.create"),
        ([{"type": "session.created", "session_id": "s"}, ERROR], "session.send"),
        ([{"type": "result", "subtype": "error_x"}, ERROR], "session.send"),
    ],
)
def test_a_conversation_that_was_not_created_is_created_by_the_next_prompt(
    answer: list[dict[str, Any]], next: str
) -> None:
    host = Connection(Role.CLIENT, dialect="session")
    assert json.loads(host.send(UserMessage.of("one")))["type"] == "session.create"
    for obj in answer:
        host.receive_data(line(obj))
    assert json.loads(host.send(UserMessage.of("two")))["type"] == next


def test_a_piece_of_a_message_ends_nothing() -> None:
    piece = {"type": "assistant", "delta": {"type": "message_stop"}}
    host = Connection(Role.CLIENT, dialect="envelope")
    host.send(UserMessage.of("hello"))
    (event,) = host.receive_data(line(piece))
    assert isinstance(event, StreamEvent)
    assert host.their_state is State.BUSY
