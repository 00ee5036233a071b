"""Who owes whom an answer."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from claudewire.wire import (
    DIALECTS,
    ENVELOPE,
    LEGACY,
    MODERN,
    SESSION,
    AddRules,
    Answer,
    APIMessage,
    AssistantMessage,
    BinaryVersionResult,
    Cancel,
    CancelAsyncMessage,
    CanUseTool,
    Connection,
    ContentBlockStart,
    Elicitation,
    EndOfStream,
    Event,
    Failure,
    GetBinaryVersion,
    HookMatcher,
    HumanOrigin,
    Initialize,
    InitializeResult,
    Interrupt,
    InterruptResult,
    KeepAlive,
    LocalProtocolError,
    Malformed,
    McpMessage,
    Noise,
    Oversize,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionRule,
    Request,
    RequestUserDialog,
    Response,
    ResultMessage,
    Role,
    State,
    Stray,
    StreamEvent,
    SuccessResponse,
    TaskNotificationOrigin,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownRequest,
    UnknownSystemMessage,
    Usage,
    UserMessage,
    codec,
)
from claudewire.wire.connection import REMEMBERED
from claudewire.wire.dialects import Dialect


def line(obj: Any) -> bytes:
    return json.dumps(obj).encode() + b"\n"


def hear(connection: Connection, *objs: Any) -> list[Event]:
    return connection.receive_data(b"".join(map(line, objs)))


def success(id: str | None, payload: Any = None) -> dict[str, Any]:
    inner = {"subtype": "success", "request_id": id, "response": payload}
    return {
        "type": "control_response",
        "response": {key: value for key, value in inner.items() if value is not None},
    }


def permission(id: str) -> dict[str, Any]:
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}}
    return {"type": "control_request", "request_id": id, "request": request}


def client(*asked: Request) -> Connection:
    connection = Connection(Role.CLIENT)
    for request in asked:
        connection.send(request)
    return connection


# --- our requests --------------------------------------------------------------------------------


def test_an_answer_is_typed_by_the_request_that_it_answers() -> None:
    request = Request(id="v", body=GetBinaryVersion())
    connection = client(request)
    assert dict(connection.asked) == {"v": request}

    (answer,) = hear(connection, success("v", {"version": "2.1.325"}))

    assert answer == Answer("v", BinaryVersionResult("2.1.325"), request)
    assert dict(connection.asked) == {}


def test_an_answer_without_a_payload_is_an_empty_one() -> None:
    (answer,) = hear(client(Request(id="i", body=Interrupt())), success("i"))
    assert isinstance(answer, Answer)
    assert answer.body == InterruptResult()


def test_an_answer_that_does_not_fit_is_kept_as_it_came_with_the_reason() -> None:
    (answer,) = hear(client(Request(id="i", body=Interrupt())), success("i", ["what"]))
    assert isinstance(answer, Answer)
    assert answer.body == ["what"]
    assert answer.problems == ("$: Expected `object`, got `array`",)


def test_a_refusal_carries_its_words_and_its_code() -> None:
    request = Request(id="x", body=UnknownRequest({"subtype": "no_such_thing"}))
    error = {"subtype": "error", "request_id": "x", "error": "no", "error_code": "unsupported"}

    (failure,) = hear(client(request), {"type": "control_response", "response": error})

    assert failure == Failure("x", "no", "unsupported", request)


def test_an_answer_without_an_id_is_for_the_only_request_that_waits() -> None:
    connection = client(Request(id="a", body=Initialize()))
    error = {"type": "control_response", "response": {"subtype": "error", "error": "bad hooks"}}
    (failure,) = hear(connection, error)
    assert isinstance(failure, Failure)
    assert failure.id == "a"
    assert connection.our_state is State.NEW


def test_an_answer_without_an_id_is_a_stray_when_several_wait() -> None:
    connection = client(Request(id="a", body=Interrupt()), Request(id="b", body=GetBinaryVersion()))
    (stray,) = hear(connection, success(None))
    assert isinstance(stray, Stray)
    assert set(connection.asked) == {"a", "b"}


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ([], "no request has"),
        ([success("i")], "answered already"),
        ([Cancel(id="i")], "withdrawn"),
    ],
)
def test_an_answer_that_nobody_waits_for_is_a_stray_that_says_why(
    before: list[Any], reason: str
) -> None:
    connection = client(Request(id="i", body=Interrupt())) if before else client()
    for step in before:
        if isinstance(step, Cancel):
            connection.send(step)
        else:
            hear(connection, step)

    (stray,) = hear(connection, success("i", {"still_queued": []}))

    assert isinstance(stray, Stray)
    assert reason in stray.reason
    assert stray.event == Answer("i", {"still_queued": []})
    assert stray.raw["type"] == "control_response"


def test_only_so_many_settled_ids_are_remembered() -> None:
    connection = client()
    for number in range(REMEMBERED + 1):
        connection.send(Request(id=f"r{number}", body=Interrupt()))
        hear(connection, success(f"r{number}"))
    strays = hear(connection, success("r0"), success("r1"))
    assert [event.reason for event in strays if isinstance(event, Stray)] == [
        "no request has this id",
        "this request has been answered already",
    ]


def test_new_ids_are_never_used_twice_nor_taken_from_the_peer() -> None:
    connection = client()
    hear(connection, permission("client-1"))
    ids = []
    for _ in range(3):
        request = connection.new_request(Interrupt())
        connection.send(request)
        ids.append(request.id)
    assert ids == ["client-2", "client-3", "client-4"]


@pytest.mark.parametrize("id", ["", "mine", "theirs"])
def test_a_request_with_an_id_in_use_is_refused(id: str) -> None:
    connection = client(Request(id="mine", body=Interrupt()))
    hear(connection, permission("theirs"))
    with pytest.raises(LocalProtocolError, match="in use"):
        connection.send(Request(id=id, body=GetBinaryVersion()))
    assert set(connection.asked) == {"mine"}


def test_a_request_can_be_withdrawn_once() -> None:
    connection = client(Request(id="i", body=Interrupt()))
    assert json.loads(connection.send(Cancel(id="i"))) == {
        "type": "control_cancel_request",
        "request_id": "i",
    }
    assert dict(connection.asked) == {}
    with pytest.raises(LocalProtocolError, match="No request 'i' of ours"):
        connection.send(Cancel(id="i"))


# --- their requests ------------------------------------------------------------------------------


def test_a_request_of_the_peer_is_owed_an_answer_once() -> None:
    connection = client()
    (request,) = hear(connection, permission("p"))
    assert isinstance(request, Request)
    assert request.body == CanUseTool("Bash", {"command": "ls"})
    assert dict(connection.owed) == {"p": request}

    written = connection.send(Answer("p", PermissionResultAllow({"command": "ls"})))

    decision = {"behavior": "allow", "updatedInput": {"command": "ls"}}
    assert json.loads(written) == success("p", decision)
    assert dict(connection.owed) == {}
    with pytest.raises(LocalProtocolError, match="No request 'p' is waiting"):
        connection.send(Answer("p", {}))


def test_a_request_of_the_peer_can_be_refused() -> None:
    connection = client()
    hear(connection, permission("p"))
    written = connection.send(Failure("p", "no handler", "unsupported_request"))
    assert json.loads(written)["response"] == {
        "subtype": "error",
        "request_id": "p",
        "error": "no handler",
        "error_code": "unsupported_request",
    }


def test_the_same_request_twice_is_a_stray_as_long_as_the_first_waits() -> None:
    connection = client()
    _, stray = hear(connection, permission("p"), permission("p"))
    assert isinstance(stray, Stray)
    connection.send(Answer("p", {}))
    (again,) = hear(connection, permission("p"))
    assert isinstance(again, Request)


def test_a_request_can_be_given_up_without_a_word() -> None:
    client, cli = Connection(Role.CLIENT), Connection(Role.CLI)
    request = client.new_request(GetBinaryVersion())
    cli.receive_data(client.send(request))
    client.abandon(request.id)
    assert not client.asked
    (late,) = client.receive_data(cli.send(Answer(request.id)))
    assert isinstance(late, Stray)
    assert late.reason == "this request was given up"
    with pytest.raises(LocalProtocolError, match="waiting"):
        client.abandon(request.id)


def test_an_opening_that_is_given_up_can_be_tried_again() -> None:
    client = Connection(Role.CLIENT)
    request = client.new_request(Initialize())
    client.send(request)
    client.abandon(request.id)
    assert client.our_state is State.NEW


def test_a_request_can_be_given_up_after_the_end_of_our_input() -> None:
    client = Connection(Role.CLIENT)
    request = client.new_request(GetBinaryVersion())
    client.send(request)
    client.send(EndOfStream())
    client.abandon(request.id)
    assert not client.asked
    assert client.our_state is State.ENDED


def test_a_withdrawn_request_needs_no_answer() -> None:
    connection = client()
    hear(connection, permission("p"))
    cancel = {"type": "control_cancel_request", "request_id": "p"}

    event, stray = hear(connection, cancel, cancel)

    assert event == Cancel(id="p")
    assert isinstance(stray, Stray)
    assert dict(connection.owed) == {}


def test_a_request_without_an_id_gets_one_and_its_answer_has_none() -> None:
    connection = client()
    request = permission("x")
    del request["request_id"]

    (heard,) = hear(connection, request)

    assert isinstance(heard, Request)
    assert heard.id in connection.owed
    assert heard.raw == request
    written = json.loads(connection.send(Answer(heard.id, PermissionResultAllow({}))))
    assert "request_id" not in written["response"]


@pytest.mark.parametrize("ends", ["answered", "withdrawn"])
def test_how_a_request_was_put_is_forgotten_when_it_has_ended(ends: str) -> None:
    connection = client()
    nameless = permission("")
    del nameless["request_id"]
    (request,) = hear(connection, nameless)
    assert isinstance(request, Request)
    if ends == "answered":
        connection.send(Answer(request.id, PermissionResultAllow()))
    else:
        hear(connection, {"type": "control_cancel_request", "request_id": request.id})
    hear(connection, permission(request.id))
    written = json.loads(connection.send(Answer(request.id, PermissionResultAllow())))
    assert written["response"]["request_id"] == request.id


def test_what_the_cli_was_asking_before_we_came_is_asked_again() -> None:
    cli = Connection(Role.CLI)
    connection = client()
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
    assert [frame["request_id"] for frame in inner["pending_permission_requests"]] == ["p1", "p2"]
    assert [frame["request_id"] for frame in inner["pending_user_dialog_requests"]] == ["d"]
    assert [frame["request_id"] for frame in inner["pending_elicitation_requests"]] == ["e"]
    assert isinstance(answer, Answer)
    assert answer.pending == pending
    assert others == [pending[1], pending[2], pending[3]]
    assert set(connection.owed) == {"p1", "p2", "d", "e"}


def test_pending_things_that_are_no_requests_are_passed_over() -> None:
    connection = client(Request(id="i", body=Initialize()))
    answer = success("i", {})
    answer["response"]["pending_permission_requests"] = [
        {"type": "control_request"},
        {"type": "keep_alive"},
        permission("p"),
    ]
    events = hear(connection, answer)
    assert [type(event) for event in events] == [Answer, Request]


@pytest.mark.parametrize("depth", [600, 800])
@pytest.mark.parametrize(
    "inside",
    [
        b'"response":{"%(odd)s":1,"still_queued":%(deep)s}',
        b'"pending_permission_requests":[{"type":"control_request","request_id":"p","request":'
        b'{"subtype":"can_use_tool","tool_name":"T","%(odd)s":1,"input":{"deep":%(deep)s}}}]',
    ],
    ids=["payload", "pending"],
)
def test_an_answer_that_is_nested_too_deeply_is_still_an_answer(inside: bytes, depth: int) -> None:
    connection = client(Request(id="i", body=Interrupt()))
    # A key that is no text makes the reader look at every part of it.
    inside %= {b"odd": rb"\ud800", b"deep": b"[" * depth + b"]" * depth}
    line = b'{"type":"control_response","response":{"subtype":"success","request_id":"i",%b}}\n'
    answer, *_ = connection.receive_data(line % inside + b'{"type":"keep_alive"}\n')
    assert isinstance(answer, Answer)
    assert dict(connection.asked) == {}


def test_what_did_not_fit_is_told_by_whatever_was_made_of_the_line() -> None:
    connection = client(Request(id="i", body=Interrupt()))
    refusal = success("i")
    refusal["response"] |= {"subtype": "error", "error": {"text": "not a string"}}
    nameless = permission("p")
    del nameless["request_id"]
    nameless["request"]["title"] = 7
    failed, request, stray = hear(connection, refusal, nameless, refusal)
    assert isinstance(failed, Failure)
    assert failed.problems == ("$.response.error: Expected `str`, got `object`",)
    assert isinstance(request, Request)
    assert request.problems == ("$.request.title: Expected `str | null`, got `int`",)
    assert isinstance(stray, Stray)
    assert stray.problems == failed.problems


# --- prompts, results and the end ----------------------------------------------------------------


def result(**fields: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, **fields}


def test_an_opening_and_a_prompt_in_the_usual_form_take_one_typed_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection = client(Request(id="i", body=Initialize()))
    for slow in ("decode_slowly", "_plain"):
        monkeypatch.delattr(codec, slow)
    opened = b'{"type":"control_response","response":{"subtype":"success","request_id":"i"}}\n'
    (answer,) = connection.receive_data(opened)
    assert isinstance(answer, Answer)
    assert answer.line == opened[:-1]
    assert answer.body == InitializeResult()
    assert json.loads(connection.send(UserMessage.of("Hello"))) == {
        "type": "user",
        "session_id": "",
        "message": {"role": "user", "content": "Hello"},
        "parent_tool_use_id": None,
    }


def test_what_opens_a_conversation_needs_no_decoder_for_all_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection, cli = client(), Connection(Role.CLI)

    def never(line: bytes) -> Event:
        raise AssertionError(line)

    monkeypatch.setattr(codec, "first_pass", never)  # which takes long to make
    asked = [Request(id=it, body=body) for it, body in (("i", Initialize()), ("v", Interrupt()))]
    opening = connection.send(asked[0])
    assert [type(it) for it in cli.receive_data(opening)] == [Request]
    connection.send(asked[1])
    cli_says = [codec.encode_directly(Response(response=SuccessResponse(it))) for it in "iv"]
    assert connection.receive_data(b"".join(cli_says)) == [
        Answer("i", InitializeResult(), asked[0]),
        Answer("v", InterruptResult(), asked[1]),
    ]


@pytest.mark.parametrize("text", ["Hello", "half a pair: \ud83d"])
def test_a_prompt_bears_the_id_of_the_session_however_it_is_written(text: str) -> None:
    connection = client()
    assert json.loads(connection.send(UserMessage.of(text)))["session_id"] == ""
    hear(connection, result(session_id="s"))
    assert json.loads(connection.send(UserMessage.of(text)))["session_id"] == "s"
    of_another = UserMessage.of(text, session_id="other")
    assert json.loads(connection.send(of_another))["session_id"] == "other"


def test_a_conversation_may_end_when_nobody_waits() -> None:
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


def test_output_that_nobody_asked_for_makes_the_cli_busy_until_its_result() -> None:
    connection = client()
    assistant = {"type": "assistant", "message": {"role": "assistant", "content": []}}
    hear(connection, assistant)
    assert not connection.may_end_input
    hear(connection, result())
    assert connection.may_end_input


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        ({}, 2),
        ({"user_message_uuid": "b"}, 2),
        ({"user_message_uuids": ["a", "c"]}, 1),
        ({"user_message_uuids": ["a", "b", "c"]}, 0),
        ({"user_message_uuid": "of somebody else"}, 3),
        ({"origin": {"kind": "task-notification"}}, 3),
        ({"origin": {"kind": "human"}}, 2),
    ],
)
def test_a_result_answers_the_prompts_that_it_names_or_the_oldest(
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
def test_a_prompt_that_was_taken_back_wants_no_result(body: Any, payload: Any, left: int) -> None:
    connection, cli = client(), Connection(Role.CLI)
    for uuid in "ab":
        cli.receive_data(connection.send(UserMessage.of("go", uuid=uuid)))
    cli.receive_data(connection.send(Request(id="c", body=body)))
    answer = msgspec.convert(payload, type(body).__orig_bases__[0].__args__[0])

    connection.receive_data(cli.send(Answer("c", answer)))

    assert connection.unanswered_prompts == left
    assert cli.unanswered_prompts == left


@pytest.mark.parametrize(("state", "left"), [("cancelled", 0), ("started", 1)])
def test_a_prompt_whose_life_is_told_to_be_over_wants_no_result(state: str, left: int) -> None:
    connection = client()
    connection.send(UserMessage.of("go", uuid="a"))
    hear(connection, {"type": "command_lifecycle", "command_uuid": "a", "state": state})
    assert connection.unanswered_prompts == left


def test_who_has_ended_owes_nothing_more() -> None:
    connection = client()
    hear(connection, permission("p"))
    connection.send(EndOfStream())
    assert not connection.owed


def test_both_ends_count_the_same_prompts() -> None:
    connection, cli = client(), Connection(Role.CLI)
    cli.receive_data(connection.send(UserMessage.of("one")))
    cli.receive_data(connection.send(UserMessage.of("no turn", should_query=False)))
    assert (connection.unanswered_prompts, cli.unanswered_prompts) == (1, 1)
    connection.receive_data(
        cli.send(ResultMessage(subtype="success", num_turns=1, origin=HumanOrigin()))
    )
    assert (connection.unanswered_prompts, cli.unanswered_prompts) == (0, 0)
    connection.receive_data(
        cli.send(ResultMessage(subtype="success", num_turns=1, origin=TaskNotificationOrigin()))
    )
    assert connection.may_end_input
    assert cli.may_end_input


def test_the_clis_word_that_it_is_idle_ends_a_turn() -> None:
    connection = client()
    state = {"type": "system", "subtype": "session_state_changed"}
    seen = []
    for name in ("running", "idle"):
        hear(connection, {**state, "state": name})
        seen.append(connection.their_state)
    assert seen == [State.BUSY, State.IDLE]


def test_an_echo_of_a_prompt_is_no_output() -> None:
    connection = client()
    echo = {"type": "user", "message": {"role": "user", "content": "hi"}, "isReplay": True}
    hear(connection, echo)
    assert connection.their_state is State.IDLE


def test_the_end_names_what_is_left_open_and_closes_the_books() -> None:
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


def test_a_last_line_without_a_newline_comes_before_the_end() -> None:
    connection = client()
    assert connection.receive_data(b'{"type":"keep_alive"}') == []
    assert connection.receive_data(b"") == [KeepAlive(), EndOfStream()]


# --- lines that are not messages -----------------------------------------------------------------


def test_one_bad_line_is_one_event_and_the_next_line_arrives() -> None:
    connection = Connection(Role.CLIENT, max_line=200)
    lines = [
        b"Debugger attached.",
        b"[1, 2]",
        b'{"type":"assistant","message":{"role":"assistant"}}',
        b"",
        b" \r",
        b"x" * 201,
        b'{"type":"keep_alive"}\r',
        b"[" * 199,
    ]

    noise, array, malformed, oversize, alive, deep = connection.receive_data(
        b"\n".join(lines) + b"\n"
    )

    assert isinstance(noise, Noise)
    assert (noise.head, noise.length) == (lines[0], len(lines[0]))
    assert isinstance(array, Malformed)
    assert array.path == "$"
    assert isinstance(malformed, Malformed)
    assert malformed.path == "$.message"
    assert isinstance(oversize, Oversize)
    assert oversize.length == 201
    assert alive == KeepAlive()
    assert isinstance(deep, Noise)


def test_a_first_line_that_is_too_long_is_one_event_and_the_next_line_arrives() -> None:
    connection = Connection(Role.CLIENT, max_line=200)
    oversize, alive = connection.receive_data(b"x" * 201 + b'\n{"type":"keep_alive"}\n')
    assert isinstance(oversize, Oversize)
    assert alive == KeepAlive()


def test_a_busy_cli_is_read_just_the_same() -> None:
    connection = client()
    connection.send(UserMessage.of("go"))
    assistant = {"type": "assistant", "message": {"role": "assistant", "content": "hi"}, "new": 1}

    message, noise, end = hear(connection, assistant, 5, result())

    assert isinstance(message, AssistantMessage)
    assert message.raw == assistant
    assert message.extra == {"new": 1}
    assert isinstance(noise, Malformed)
    assert isinstance(end, ResultMessage)


@pytest.mark.parametrize(
    "event", [Noise(b"", 0, ""), Response(response=SuccessResponse()), Stray(KeepAlive(), "")]
)
def test_what_is_only_received_cannot_be_sent(event: Event) -> None:
    with pytest.raises(LocalProtocolError, match="only ever received"):
        client().send(event)


def test_what_json_cannot_say_is_refused_and_nothing_changes() -> None:
    connection = client()
    with pytest.raises(LocalProtocolError, match="cannot be written"):
        connection.send(Request(id="m", body=McpMessage("s", {"when": object()})))
    assert dict(connection.asked) == {}


# --- dialects ------------------------------------------------------------------------------------


def test_there_is_no_such_dialect() -> None:
    with pytest.raises(ValueError, match="no dialect 'klingon'; there are auto, session"):
        Connection(Role.CLIENT, dialect="klingon")


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
def test_a_connection_speaks_the_dialect_that_it_is_told_or_the_one_it_hears(
    dialect: Any,
) -> None:
    cli = Connection(Role.CLI, dialect=dialect)
    connection = Connection(Role.CLIENT)
    body = CanUseTool("Bash", {"command": "ls"}, tool_use_id="t")

    (request,) = connection.receive_data(cli.send(Request(id="p", body=body)))

    assert isinstance(request, Request)
    assert request.body == body
    assert connection.their_dialect is dialect
    allow = PermissionResultAllow({"command": "ls -l"}, tool_use_id="t")
    written = connection.send(Answer("p", allow))
    assert (b"callback.response" in written) is (dialect is SESSION)
    (answer,) = cli.receive_data(written)
    assert isinstance(answer, Answer)
    assert answer.body == allow


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
def test_a_dialect_is_not_mistaken_for_another_in_the_course_of_a_turn(dialect: Dialect) -> None:
    cli = Connection(Role.CLI, dialect=dialect)
    connection = client()
    said = APIMessage("assistant", [TextBlock("hi")], type="message", model="m", usage=Usage())
    for event in (
        Request(id="p", body=CanUseTool("Bash", {})),
        AssistantMessage(message=said),
        UserMessage.of([ToolResultBlock("t", "done")]),
        ResultMessage(subtype="success", is_error=False),
    ):
        connection.receive_data(cli.send(event))
        assert connection.their_dialect is dialect


def test_news_about_tools_is_no_sign_of_the_session_dialect() -> None:
    connection = client()
    news = {"type": "system", "subtype": "tools_changed", "tools": [{"name": "Bash"}]}
    (event,) = hear(connection, news)
    assert isinstance(event, UnknownSystemMessage)
    assert event.data == news
    assert connection.their_dialect is MODERN


def test_each_request_is_answered_in_its_own_dialect() -> None:
    connection = client()
    for dialect in (SESSION, LEGACY, ENVELOPE, MODERN):
        cli = Connection(Role.CLI, dialect=dialect)
        connection.receive_data(cli.send(Request(id=dialect.name, body=CanUseTool("Bash", {}))))
    kinds = {
        name: json.loads(connection.send(Answer(name, PermissionResultAllow({}))))["type"]
        for name in ("legacy", "session", "envelope")
    }
    assert kinds == {
        "legacy": "control_response",
        "session": "callback.response",
        "envelope": "control_response",
    }


def test_a_bare_question_of_a_cli_that_wraps_others_is_answered_by_index() -> None:
    connection = client()
    delta = {"type": "content_block_stop", "index": 0}
    hear(connection, {"type": "assistant", "delta": delta})
    asked = permission("q")
    asked["request"] |= {
        "tool_name": "AskUserQuestion",
        "input": {"questions": [{"question": "?"}]},
    }
    (request,) = hear(connection, asked)
    assert isinstance(request, Request)
    assert isinstance(request.body, CanUseTool)
    answers = {**request.body.input, "answers": {"?": "Yes"}}

    written = connection.send(Answer("q", PermissionResultAllow(answers)))

    decision = json.loads(written)["response"]["response"]
    assert decision["updatedInput"] == {"answers": {"0": "Yes"}}


def test_a_modern_request_is_answered_as_such_whatever_was_heard_before() -> None:
    connection = client()
    hear(connection, {"type": "error", "error": {"code": "ODD", "message": "a session's form"}})
    assert connection.their_dialect is SESSION
    hear(connection, permission("p"))
    written = connection.send(Answer("p", PermissionResultAllow({})))
    assert json.loads(written)["type"] == "control_response"


def test_a_cli_answers_a_client_in_the_clients_dialect() -> None:
    cli, connection = Connection(Role.CLI), Connection(Role.CLIENT, dialect="session")
    cli.receive_data(connection.send(UserMessage.of("one")))
    message = AssistantMessage(message=APIMessage("assistant", [], model="m", type="message"))
    assert json.loads(cli.send(message))["model"] == "m"
    assert b"session.send" in connection.send(UserMessage.of("two"))


def test_an_unmarked_request_of_a_session_client_is_answered_in_its_form() -> None:
    cli = Connection(Role.CLI)
    hear(cli, {"type": "session.create", "message": {"role": "user", "content": "hi"}})
    hear(cli, {"type": "control_request", "request_id": "i", "request": {"subtype": "interrupt"}})

    written = json.loads(cli.send(Answer("i", InterruptResult([]))))

    assert written["request_id"] == "i"
    assert "subtype" not in written["response"]


CALLBACKS = {
    "permission": {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}},
    "hook": {
        "subtype": "hook_callback",
        "callback_id": "h",
        "input": {"hook_event_name": "Stop", "session_id": "s", "stop_hook_active": False},
    },
    "unknown": {"subtype": "make_coffee"},
    "malformed": {"subtype": "can_use_tool"},
    "empty": {},
}


@pytest.mark.parametrize("dialect", ["auto", "session"])
@pytest.mark.parametrize("request_", CALLBACKS.values(), ids=list(CALLBACKS))
def test_every_callback_is_answered_by_a_callback_response(
    dialect: str, request_: dict[str, Any]
) -> None:
    for answer in (Answer("c", {"some": "thing"}), Failure("c", "no")):
        connection = Connection(Role.CLIENT, dialect=dialect)
        hear(connection, {"type": "callback.request", "request_id": "c", "request": request_})
        written = json.loads(connection.send(answer))
        assert written["type"] == "callback.response"
        assert written["response"]["request_id"] == "c"


SHORT_RULES: list[Any] = [
    {"type": "bash", "action": "allow", "pattern": "ls *", "scope": "session"},
    {"type": "WebFetch", "action": "deny", "pattern": "evil.org", "scope": "user"},
    {"type": "bash", "action": "allow", "pattern": "make", "scope": "everywhere", "note": "slow"},
    {"type": "setMode", "mode": "plan", "destination": "session"},
]


@pytest.mark.parametrize("dialect", ["auto", "session"])
def test_a_suggestion_of_a_callback_goes_back_as_it_came(dialect: str) -> None:
    connection = Connection(Role.CLIENT, dialect=dialect)
    asked = {**permission("p"), "type": "callback.request"}
    asked["request"]["permission_suggestions"] = SHORT_RULES
    (request,) = hear(connection, asked)
    assert isinstance(request, Request)
    assert isinstance(request.body, CanUseTool)

    allow = PermissionResultAllow({}, updated_permissions=request.body.permission_suggestions)
    written = json.loads(connection.send(Answer("p", allow)))

    assert written["response"]["response"]["updated_permissions"] == SHORT_RULES


@pytest.mark.parametrize(
    ("rule", "short"),
    [
        (
            AddRules([PermissionRule("Bash", "git *")], "allow", "projectSettings"),
            {"type": "bash", "action": "allow", "pattern": "git *", "scope": "project"},
        ),
        (
            AddRules([PermissionRule("Read", "/etc/*")], "deny", "userSettings"),
            {"type": "read", "action": "deny", "pattern": "/etc/*", "scope": "user"},
        ),
        (
            AddRules([PermissionRule("Edit", "src/**")], "ask", "localSettings"),
            {"type": "edit", "action": "ask", "pattern": "src/**", "scope": "local"},
        ),
    ],
)
def test_a_rule_that_nobody_suggested_is_written_in_the_short_form_and_read_from_it(
    rule: AddRules, short: dict[str, str]
) -> None:
    connection, cli = (Connection(role, dialect="session") for role in (Role.CLIENT, Role.CLI))
    asked = Request(id="p", body=CanUseTool("Bash", {}))
    connection.receive_data(cli.send(asked))
    written = connection.send(Answer("p", PermissionResultAllow({}, [rule])))
    assert json.loads(written)["response"]["response"]["updated_permissions"] == [short]
    (answer,) = cli.receive_data(written)
    assert isinstance(answer, Answer)
    assert answer.body.updated_permissions == [rule]


def test_a_request_that_was_never_a_line_is_answered_by_its_kind() -> None:
    connection = Connection(Role.CLIENT, dialect="session")
    opening = connection.new_request(Initialize())
    connection.send(opening)
    pending = {"pending_permission_requests": [permission("p")]}
    hear(
        connection,
        {"type": "control_response", "request_id": opening.id, "response": {}, **pending},
    )
    rule = AddRules([PermissionRule("Bash", "ls")], "allow", "session")
    written = json.loads(connection.send(Answer("p", PermissionResultAllow({}, [rule]))))
    assert written["type"] == "callback.response"
    (update,) = written["response"]["response"]["updated_permissions"]
    assert update == {"type": "bash", "action": "allow", "pattern": "ls", "scope": "session"}


@pytest.mark.parametrize(
    ("dialect", "before", "after"),
    [
        ("modern", "", "s-1"),
        ("envelope", "", "s-1"),
        ("session", None, None),
        ("legacy", None, None),
    ],
)
def test_a_prompt_bears_the_id_of_the_session_where_the_dialect_has_it(
    dialect: str, before: str | None, after: str | None
) -> None:
    connection = Connection(Role.CLIENT, dialect=dialect)
    assert json.loads(connection.send(UserMessage.of("one"))).get("session_id") == before
    hear(connection, {"type": "system", "subtype": "init", "session_id": "s-1", "tools": []})
    hear(connection, {"type": "system", "subtype": "status", "status": None})
    assert json.loads(connection.send(UserMessage.of("two"))).get("session_id") == after
    own = UserMessage.of("three", session_id="mine")
    assert json.loads(connection.send(own)).get("session_id") == "mine"


def test_a_modern_prompt_names_the_tool_use_that_it_is_for_even_if_there_is_none() -> None:
    written = json.loads(client().send(UserMessage.of("hi")))
    assert written["parent_tool_use_id"] is None


def test_the_first_initialize_of_auto_is_understood_by_a_legacy_cli_too() -> None:
    hooks = {"PreToolUse": [HookMatcher(["h"], matcher="Bash")]}
    body = Initialize(hooks=hooks, sdk_mcp_servers=["calc"])
    connection = client()
    request = connection.new_request(body)
    written = json.loads(connection.send(request))

    assert written["type"] == "control_request"
    assert written["request_id"] == written["request"]["request_id"] == request.id
    assert written["request"]["sdkMcpServers"] == written["request"]["sdk_mcp_servers"] == ["calc"]
    (matcher,) = written["request"]["hooks"]["PreToolUse"]
    assert matcher["hookCallbackIds"] == matcher["hook_callback_ids"] == ["h"]

    cli = Connection(Role.CLI)
    (heard,) = hear(cli, written)
    assert isinstance(heard, Request)
    assert heard.body == body
    assert cli.their_dialect is MODERN


@pytest.mark.parametrize("dialect", ["auto", "modern"])
def test_an_initialize_for_a_peer_that_is_known_has_no_second_names(dialect: str) -> None:
    connection = Connection(Role.CLIENT, dialect=dialect)
    if dialect == "auto":
        hear(connection, {"type": "error", "error": {"code": "ODD", "message": "session"}})
    written = json.loads(connection.send(connection.new_request(Initialize(sdk_mcp_servers=["c"]))))
    assert "request_id" not in written["request"]
    assert "sdk_mcp_servers" not in written["request"]


@pytest.mark.parametrize(
    "where",
    [
        {"delta": "hi"},
        {"delta": {"text": "hi"}},
        {"delta": {"content": "hi"}},
        {"text": "hi"},
        {"content": "hi"},
        {"data": "hi"},
        {"data": {"text": "hi"}},
    ],
    ids=json.dumps,
)
def test_the_text_of_a_legacy_delta_is_found_wherever_it_is(where: dict[str, Any]) -> None:
    (event,) = hear(client(), {"type": "stream", "event": "delta", **where})
    assert isinstance(event, StreamEvent)
    assert event.problems == ()
    assert event.text == "hi"


@pytest.mark.parametrize(
    "event",
    [
        {"type": "delta", "text": "hi"},
        {"type": "delta", "delta": {"text": "hi"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}},
    ],
    ids=json.dumps,
)
def test_the_event_of_a_legacy_stream_may_be_an_object(event: dict[str, Any]) -> None:
    (heard,) = hear(client(), {"type": "stream", "event": event, "session_id": "s"})
    assert isinstance(heard, StreamEvent)
    assert heard.problems == ()
    assert heard.text == "hi"
    assert heard.session_id == "s"


def test_a_tool_use_that_starts_may_be_an_object_too() -> None:
    event = {"type": "tool_use_start", "id": "toolu_1", "name": "Bash"}
    (heard,) = hear(client(), {"type": "stream", "event": event})
    assert isinstance(heard, StreamEvent)
    assert heard.event == ContentBlockStart(0, ToolUseBlock("toolu_1", "Bash", {}))


def test_looking_at_what_is_owed_copies_nothing() -> None:
    client, cli = Connection(Role.CLIENT), Connection(Role.CLI)
    owed = client.owed
    asked = cli.new_request(CanUseTool("Bash", {}, tool_use_id="1"))
    client.receive_data(cli.send(asked))
    assert client.owed is owed
    assert (len(owed), list(owed), asked.id in owed) == (1, [asked.id], True)
    assert owed[asked.id].body == asked.body
    client.send(Answer(asked.id, PermissionResultDeny("no")))
    assert not owed
