"""Requests and answers, prompts and results, and the end of a conversation."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from claudewire.wire import (
    Answer,
    BinaryVersionResult,
    Cancel,
    CancelAsyncMessage,
    CanUseTool,
    Connection,
    Elicitation,
    EndOfStream,
    Event,
    Failure,
    GetBinaryVersion,
    HumanOrigin,
    Initialize,
    InitializeResult,
    Interrupt,
    InterruptResult,
    InvalidLine,
    KeepAlive,
    LocalProtocolError,
    Malformed,
    McpMessage,
    Oversize,
    PermissionResultAllow,
    Request,
    RequestUserDialog,
    Response,
    ResultMessage,
    Role,
    State,
    SuccessResponse,
    TaskNotificationOrigin,
    UnexpectedMessage,
    UnknownPermissionResult,
    UnknownRequest,
    UserMessage,
)


def hear(connection: Connection, *objs: Any) -> list[Event]:
    return connection.receive_data(b"".join(json.dumps(obj).encode() + b"\n" for obj in objs))


def success(id: str | None, payload: Any = None) -> dict[str, Any]:
    inner = {"subtype": "success", "request_id": id, "response": payload}
    kept = {key: value for key, value in inner.items() if value is not None}
    return {"type": "control_response", "response": kept}


def permission(id: str) -> dict[str, Any]:
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}}
    return {"type": "control_request", "request_id": id, "request": request}


def cancel(id: str) -> dict[str, Any]:
    return {"type": "control_cancel_request", "request_id": id}


def client(*asked: Request) -> Connection:
    connection = Connection(Role.CLIENT)
    for request in asked:
        connection.send(request)
    return connection


ERROR = {"type": "error", "error": {"type": "invalid_request", "message": "What?"}}


# --- our requests --------------------------------------------------------------------------------


def test_answer_is_typed_by_its_request() -> None:
    request = Request(id="v", body=GetBinaryVersion())
    connection = client(request)
    assert dict(connection.asked) == {"v": request}
    (answer,) = hear(connection, success("v", {"version": "2.1.325"}))
    assert answer == Answer("v", BinaryVersionResult("2.1.325"), request)
    assert not connection.asked


@pytest.mark.parametrize(
    ("payload", "body", "problems"),
    [
        (None, InterruptResult(), ()),
        (["odd"], ["odd"], ("$: Expected `object`, got `array`",)),
    ],
)
def test_answer_may_lack_its_payload_or_have_another(
    payload: Any, body: Any, problems: tuple[str, ...]
) -> None:
    (answer,) = hear(client(Request(id="i", body=Interrupt())), success("i", payload))
    assert isinstance(answer, Answer)
    assert (answer.body, answer.problems) == (body, problems)


def test_missing_decision_is_no_decision() -> None:
    cli = Connection(Role.CLI)
    cli.send(Request(id="p", body=CanUseTool("Bash", {})))
    (answer,) = hear(cli, success("p"))
    assert isinstance(answer, Answer)
    assert isinstance(answer.body, UnknownPermissionResult)
    assert answer.problems


def test_refusal_has_its_words_and_its_code() -> None:
    request = Request(id="x", body=UnknownRequest({"subtype": "no_such_thing"}))
    error = {"subtype": "error", "request_id": "x", "error": "no", "error_code": "unsupported"}
    (failure,) = hear(client(request), {"type": "control_response", "response": error})
    assert failure == Failure("x", "no", "unsupported", request)


def test_answer_without_an_id_is_for_the_only_open_request() -> None:
    error = {"type": "control_response", "response": {"subtype": "error", "error": "bad hooks"}}
    connection = client(Request(id="a", body=Initialize()))
    (failure,) = hear(connection, error)
    assert isinstance(failure, Failure)
    assert (failure.id, connection.our_state) == ("a", State.NEW)
    two = client(Request(id="a", body=Interrupt()), Request(id="b", body=GetBinaryVersion()))
    (stray,) = hear(two, error)
    assert isinstance(stray, UnexpectedMessage)
    assert set(two.asked) == {"a", "b"}


@pytest.mark.parametrize("ending", [None, success("i"), Cancel(id="i"), "abandon", ERROR])
def test_late_answer_is_unexpected(ending: Any) -> None:
    connection = client(Request(id="i", body=Interrupt())) if ending else client()
    if isinstance(ending, Cancel):
        assert json.loads(connection.send(ending)) == cancel("i")
    elif isinstance(ending, str):
        connection.abandon("i")
    elif ending:
        hear(connection, ending)
    assert not connection.asked
    (stray,) = hear(connection, success("i", {"still_queued": []}))
    assert isinstance(stray, UnexpectedMessage)
    assert stray.event == Answer("i", {"still_queued": []})
    assert stray.raw["type"] == "control_response"


def test_error_line_answers_the_oldest_request_of_a_host() -> None:
    request = Request(id="i", body=Interrupt())
    (failure,) = hear(client(request), ERROR)
    assert failure == Failure("i", "What?", "invalid_request", request)
    assert failure.raw == ERROR
    cli = Connection(Role.CLI)
    cli.send(Request(id="p", body=CanUseTool("Bash", {})))
    (stray,) = hear(cli, ERROR)
    assert isinstance(stray, UnexpectedMessage)


def test_new_ids_are_free_on_both_sides() -> None:
    connection = client()
    hear(connection, permission("client-1"))
    for id in ("client-2", "client-3"):
        request = connection.new_request(Interrupt())
        assert request.id == id
        connection.send(request)


@pytest.mark.parametrize("id", ["", "mine", "theirs"])
def test_request_with_a_used_id_is_refused(id: str) -> None:
    connection = client(Request(id="mine", body=Interrupt()))
    hear(connection, permission("theirs"))
    with pytest.raises(LocalProtocolError, match="in use"):
        connection.send(Request(id=id, body=GetBinaryVersion()))
    assert set(connection.asked) == {"mine"}


def test_only_an_open_request_can_be_withdrawn_or_abandoned() -> None:
    with pytest.raises(LocalProtocolError, match="No request 'i' of ours"):
        client().send(Cancel(id="i"))
    with pytest.raises(LocalProtocolError, match="No request 'i' of ours"):
        client().abandon("i")


def test_request_can_be_abandoned_after_the_end_of_our_input() -> None:
    connection = client(Request(id="i", body=Initialize()))
    connection.send(EndOfStream())
    connection.abandon("i")
    assert not connection.asked
    assert connection.our_state is State.ENDED


def test_abandoned_opening_can_be_tried_again() -> None:
    connection = client(Request(id="i", body=Initialize()))
    connection.abandon("i")
    assert connection.our_state is State.NEW


# --- their requests ------------------------------------------------------------------------------


def test_request_of_the_peer_is_answered_once() -> None:
    connection = client()
    (request,) = hear(connection, permission("p"))
    assert isinstance(request, Request)
    assert request.body == CanUseTool("Bash", {"command": "ls"})
    assert dict(connection.owed) == {"p": request}
    written = connection.send(Answer("p", PermissionResultAllow({"command": "ls"})))
    assert json.loads(written) == success(
        "p", {"behavior": "allow", "updatedInput": {"command": "ls"}}
    )
    assert not connection.owed
    with pytest.raises(LocalProtocolError, match="No request 'p' is waiting"):
        connection.send(Answer("p", {}))


def test_request_of_the_peer_can_be_refused() -> None:
    connection = client()
    hear(connection, permission("p"))
    written = json.loads(connection.send(Failure("p", "no handler", "unsupported_request")))
    inner = {"subtype": "error", "request_id": "p", "error": "no handler"}
    assert written["response"] == {**inner, "error_code": "unsupported_request"}


def test_repeated_request_is_unexpected_while_the_first_is_open() -> None:
    connection = client()
    _, stray = hear(connection, permission("p"), permission("p"))
    assert isinstance(stray, UnexpectedMessage)
    connection.send(Answer("p", {}))
    (again,) = hear(connection, permission("p"))
    assert isinstance(again, Request)


def test_withdrawn_request_needs_no_answer() -> None:
    connection = client()
    hear(connection, permission("p"))
    event, stray = hear(connection, cancel("p"), cancel("p"))
    assert event == Cancel(id="p")
    assert isinstance(stray, UnexpectedMessage)
    assert not connection.owed


@pytest.mark.parametrize("ends", ["answered", "withdrawn"])
def test_request_without_an_id_gets_one_for_as_long_as_it_is_open(ends: str) -> None:
    connection = client()
    nameless = {key: it for key, it in permission("").items() if key != "request_id"}
    (request,) = hear(connection, nameless)
    assert isinstance(request, Request)
    assert request.id in connection.owed
    assert request.raw == nameless
    if ends == "answered":
        written = json.loads(connection.send(Answer(request.id, PermissionResultAllow())))
        assert "request_id" not in written["response"]
    else:
        hear(connection, cancel(request.id))
    hear(connection, permission(request.id))
    written = json.loads(connection.send(Answer(request.id, PermissionResultAllow())))
    assert written["response"]["request_id"] == request.id


def test_open_requests_come_with_the_answer_to_initialize() -> None:
    cli, connection = Connection(Role.CLI), client()
    hear(connection, permission("p1"))
    cli.receive_data(connection.send(Request(id="i", body=Initialize())))
    pending = (
        Request(id="p1", body=CanUseTool("Bash", {"command": "ls"})),
        Request(id="p2", body=CanUseTool("Write", {})),
        Request(id="d", body=RequestUserDialog("choose", {})),
        Request(id="e", body=Elicitation("server", "Name?")),
    )
    written = cli.send(Answer("i", InitializeResult(), pending=pending))
    answer, *others = connection.receive_data(written)
    inner = json.loads(written)["response"]
    assert [it["request_id"] for it in inner["pending_permission_requests"]] == ["p1", "p2"]
    assert [it["request_id"] for it in inner["pending_user_dialog_requests"]] == ["d"]
    assert [it["request_id"] for it in inner["pending_elicitation_requests"]] == ["e"]
    assert isinstance(answer, Answer)
    assert answer.pending == pending
    assert others == [*pending[1:]]
    assert set(connection.owed) == {"p1", "p2", "d", "e"}


def test_malformed_pending_requests_are_passed_over() -> None:
    answer = success("i", {})
    answer["response"]["pending_permission_requests"] = [{"type": "keep_alive"}, permission("p")]
    events = hear(client(Request(id="i", body=Initialize())), answer)
    assert [type(event) for event in events] == [Answer, Request]


def test_answer_nested_too_deeply_is_still_an_answer() -> None:
    connection = client(Request(id="i", body=Interrupt()))
    deep = b"[" * 900 + b"]" * 900
    inner = b'{"subtype":"success","request_id":"i","response":{"still_queued":%b}}' % deep
    answer, alive = connection.receive_data(
        b'{"type":"control_response","response":%b}\n{"type":"keep_alive"}\n' % inner
    )
    assert isinstance(answer, Answer)
    assert alive == KeepAlive()
    assert not connection.asked


def test_problems_of_a_line_stay_with_each_event_made_of_it() -> None:
    connection = client(Request(id="i", body=Interrupt()))
    refusal = success("i")
    refusal["response"] |= {"subtype": "error", "error": {"text": "not a string"}}
    nameless = permission("p")
    del nameless["request_id"]
    nameless["request"]["title"] = 7
    failed, request, stray = hear(connection, refusal, nameless, refusal)
    assert failed.problems == ("$.response.error: Expected `str`, got `object`",)
    assert request.problems == ("$.request.title: Expected `str | null`, got `int`",)
    assert stray.problems == failed.problems


# --- prompts, results and the end ----------------------------------------------------------------


def result(**fields: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, **fields}


def test_input_may_end_when_nothing_is_open() -> None:
    connection = client()
    steps: list[Any] = [
        (Request(id="i", body=Initialize()), 0, False),
        ([success("i", {})], 0, True),
        (UserMessage.of("hello"), 1, False),
        ([permission("p"), result()], 0, False),
        (Answer("p", {}), 0, True),
    ]
    assert connection.may_end_input
    for step, prompts, may_end in steps:
        if isinstance(step, list):
            hear(connection, *step)
        else:
            connection.send(step)
        assert (connection.unanswered_prompts, connection.may_end_input) == (prompts, may_end)


def test_unsolicited_output_makes_the_cli_busy_until_its_result() -> None:
    connection = client()
    hear(connection, {"type": "assistant", "message": {"role": "assistant", "content": []}})
    assert not connection.may_end_input
    hear(connection, result())
    assert connection.may_end_input


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        ({}, 2),
        ({"user_message_uuid": "b"}, 2),
        ({"user_message_uuids": ["a", "c"]}, 1),
        ({"user_message_uuid": "of somebody else"}, 3),
        ({"origin": {"kind": "task-notification"}}, 3),
        ({"origin": {"kind": "human"}}, 2),
    ],
)
def test_result_answers_the_prompts_it_names_or_the_oldest(
    fields: dict[str, Any], left: int
) -> None:
    connection = client()
    for uuid in "abc":
        connection.send(UserMessage.of("go", uuid=uuid))
    hear(connection, result(**fields))
    assert connection.unanswered_prompts == left


@pytest.mark.parametrize(
    ("body", "payload", "left"),
    [
        (CancelAsyncMessage("b"), {"cancelled": True}, 1),
        (CancelAsyncMessage("b"), {"cancelled": False}, 2),
        (Interrupt(cancel_queued=True), {"still_queued": [], "cancelled": ["b"]}, 1),
        (Interrupt(), {"still_queued": ["b"]}, 2),
    ],
)
def test_dropped_prompt_wants_no_result(body: Any, payload: Any, left: int) -> None:
    connection, cli = client(), Connection(Role.CLI)
    for uuid in "ab":
        cli.receive_data(connection.send(UserMessage.of("go", uuid=uuid)))
    cli.receive_data(connection.send(Request(id="c", body=body)))
    answer = msgspec.convert(payload, type(body).__orig_bases__[0].__args__[0])
    connection.receive_data(cli.send(Answer("c", answer)))
    assert (connection.unanswered_prompts, cli.unanswered_prompts) == (left, left)


@pytest.mark.parametrize(
    ("message", "left", "state"),
    [
        ({"type": "command_lifecycle", "command_uuid": "a", "state": "cancelled"}, 0, State.BUSY),
        ({"type": "command_lifecycle", "command_uuid": "a", "state": "started"}, 1, State.BUSY),
        ({"type": "system", "subtype": "session_state_changed", "state": "idle"}, 1, State.IDLE),
        ({"type": "system", "subtype": "session_state_changed", "state": "running"}, 1, State.BUSY),
        (ERROR, 0, State.IDLE),
    ],
)
def test_other_messages_end_a_turn_too(message: Any, left: int, state: State) -> None:
    connection = client()
    connection.send(UserMessage.of("go", uuid="a"))
    hear(connection, message)
    assert (connection.unanswered_prompts, connection.their_state) == (left, state)


def test_both_ends_count_the_same_prompts() -> None:
    connection, cli = client(), Connection(Role.CLI)
    counts = []
    for prompt in (UserMessage.of("one"), UserMessage.of("no turn", should_query=False)):
        cli.receive_data(connection.send(prompt))
        counts.append((connection.unanswered_prompts, cli.unanswered_prompts))
    for origin in (HumanOrigin(), TaskNotificationOrigin()):
        end = ResultMessage(subtype="success", num_turns=1, origin=origin)
        connection.receive_data(cli.send(end))
        counts.append((connection.unanswered_prompts, cli.unanswered_prompts))
    assert counts == [(1, 1), (1, 1), (0, 0), (0, 0)]
    assert connection.may_end_input
    assert cli.may_end_input


def test_repeated_prompt_is_no_output() -> None:
    connection = client()
    hear(
        connection,
        {"type": "user", "message": {"role": "user", "content": "hi"}, "isReplay": True},
    )
    assert connection.their_state is State.IDLE


def test_end_names_the_open_requests_and_closes_the_books() -> None:
    request = Request(id="i", body=Interrupt())
    connection = client(request)
    connection.send(UserMessage.of("go"))
    hear(connection, permission("p"))
    assert connection.receive_data(b"") == [EndOfStream((request,))]
    assert connection.their_state is State.ENDED
    assert not connection.asked
    assert not connection.owed
    with pytest.raises(LocalProtocolError, match="has ended"):
        connection.receive_data(b"{}\n")


def test_party_that_has_ended_owes_nothing() -> None:
    connection = client()
    hear(connection, permission("p"))
    assert connection.send(EndOfStream()) == b""
    assert not connection.owed


def test_last_line_without_a_newline_comes_before_the_end() -> None:
    connection = client()
    assert connection.receive_data(b'{"type":"keep_alive"}') == []
    assert connection.receive_data(b"") == [KeepAlive(), EndOfStream()]


# --- lines that are no messages ------------------------------------------------------------------


def test_bad_line_is_one_event_and_the_next_line_arrives() -> None:
    connection = Connection(Role.CLIENT, max_line=200)
    malformed = b'{"type":"assistant","message":{"role":"assistant"}}'
    lines = [b"Debugger attached.", b"[1, 2]", malformed, b"", b" \r", b"x" * 201]
    events = connection.receive_data(b"\n".join([*lines, b'{"type":"keep_alive"}\r', b""]))
    assert [type(event) for event in events] == [
        InvalidLine,
        Malformed,
        Malformed,
        Oversize,
        KeepAlive,
    ]
    assert (events[0].line, events[3].length) == (lines[0], 201)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "event",
    [
        InvalidLine(b"", 0, ""),
        Response(response=SuccessResponse()),
        UnexpectedMessage(KeepAlive(), ""),
    ],
)
def test_received_kinds_cannot_be_sent(event: Event) -> None:
    with pytest.raises(LocalProtocolError, match="only ever received"):
        client().send(event)


def test_failed_send_changes_nothing() -> None:
    connection = client()
    with pytest.raises(LocalProtocolError, match="cannot be written"):
        connection.send(Request(id="m", body=McpMessage("s", {"when": object()})))
    assert not connection.asked


def test_session_id_is_written_into_prompts() -> None:
    connection = client()
    assert json.loads(connection.send(UserMessage.of("one")))["session_id"] == ""
    hear(connection, result(session_id="s"))
    assert json.loads(connection.send(UserMessage.of("two")))["session_id"] == "s"
    other = UserMessage.of("three", session_id="other")
    assert json.loads(connection.send(other))["session_id"] == "other"
