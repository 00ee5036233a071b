"""What document 002 demands of the legacy dialect, one behaviour per test."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from tests.conformance.talk import EXAMPLES, Said, Step, Talk

from claudewire.wire import (
    Answer,
    APIMessage,
    AssistantMessage,
    Block,
    CanUseTool,
    Connection,
    ContentBlockDelta,
    ContentBlockStart,
    Event,
    Failure,
    HookMatcher,
    Initialize,
    InitializeResult,
    InitMessage,
    Interrupt,
    InterruptResult,
    LocalProtocolError,
    McpMessage,
    McpResponse,
    PermissionResultAllow,
    PermissionResultDeny,
    Request,
    ResultMessage,
    Role,
    State,
    StreamEvent,
    SystemErrorMessage,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ToolUseBlock,
    Usage,
    UserMessage,
)

RM = CanUseTool("Bash", {"command": "rm -rf /tmp/test"})
PARIS = AssistantMessage(message=APIMessage("assistant", [TextBlock("Paris is...")]))
QUESTION = UserMessage.of("What is the capital of France?")
DONE = ResultMessage(subtype="success", is_error=False, total_cost_usd=0.001, session_id="abc123")


@pytest.fixture
def talk() -> Talk:
    return Talk("legacy")


def rpc(method: str, id: str | None = None, **params: Any) -> McpMessage:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if id is not None:
        message |= {"id": id, "params": params}
    return McpMessage("calculator", message)


def rpc_result(id: str, **result: Any) -> McpResponse:
    return McpResponse({"jsonrpc": "2.0", "id": id, "result": result})


ADD = rpc("tools/call", "msg_1", name="add", arguments={"a": 7, "b": 4})


# --- lines ---------------------------------------------------------------------------------------


@pytest.mark.shows("002-2")
def test_each_line_is_one_message(talk: Talk) -> None:
    messages = [InitMessage(session_id="abc123"), PARIS, DONE]
    lines = [talk.cli.send(message) for message in messages]
    assert [type(json.loads(line)) for line in lines] == [dict] * 3
    assert talk.client.receive_data(b"".join(lines)) == messages


@pytest.mark.shows("002-61", "002-63")
@pytest.mark.parametrize("text", ["one\ntwo", "one\r\ntwo", "one\u2028two\u2029three"])
def test_a_message_is_one_line_whatever_it_says(talk: Talk, text: str) -> None:
    for line in (talk.client.send(UserMessage.of(text)), talk.client.send(QUESTION)):
        assert line.endswith(b"\n")
        assert len(line.decode().splitlines()) == 1
    with_tool = Request(id="1", body=CanUseTool("Bash", {"command": text}))
    assert talk.cli_says(with_tool).heard == with_tool


@pytest.mark.shows("002-12")
@pytest.mark.parametrize(
    ("wire", "kind"),
    [
        ({"subtype": "init", "session_id": "abc123", "type": "system"}, InitMessage),
        ({"message": {"content": "Hi"}, "type": "assistant"}, AssistantMessage),
        ({"message": {"role": "user", "content": "Hi"}, "type": "user"}, UserMessage),
        ({"total_cost_usd": 0.001, "type": "result"}, ResultMessage),
        ({"event": "delta", "delta": "Hi", "type": "stream"}, StreamEvent),
        ({"request": EXAMPLES["002-ex-09"]["request"], "type": "sdk_control_request"}, Request),
    ],
)
def test_the_type_tells_messages_apart_wherever_it_stands(
    talk: Talk, wire: dict[str, Any], kind: type[Event]
) -> None:
    first = {"type": wire["type"], **wire}
    assert type(talk.client_hears(wire)) is kind
    assert type(Talk("legacy").client_hears(first)) is kind


# --- messages ------------------------------------------------------------------------------------


@pytest.mark.shows("002-13")
def test_the_assistant_says_text_thinks_and_uses_tools(talk: Talk) -> None:
    content: list[Block] = [
        ThinkingBlock("Hmm."),
        TextBlock("Let me look."),
        ToolUseBlock("toolu_1", "Read", {"file_path": "/path"}),
    ]
    message = AssistantMessage(message=APIMessage("assistant", content))
    wire = {
        "type": "assistant",
        "message": {
            "content": [
                {"type": "thinking", "thinking": "Hmm."},
                {"type": "text", "text": "Let me look."},
                {
                    "type": "tool_use",
                    "id": "toolu_1",
                    "name": "Read",
                    "input": {"file_path": "/path"},
                },
            ]
        },
    }
    assert talk.cli_says(message) == Said(wire, message)


@pytest.mark.shows("002-14")
def test_an_assistant_message_may_have_nothing_but_its_content(talk: Talk) -> None:
    assert talk.cli_says(PARIS) == Said(EXAMPLES["002-ex-02"], PARIS)
    assert PARIS.text == "Paris is..."


@pytest.mark.shows("002-16")
def test_a_result_completes_the_turn_with_cost_and_tokens(talk: Talk) -> None:
    talk.client_says(QUESTION)
    result = ResultMessage(
        subtype="success",
        is_error=False,
        total_cost_usd=0.001,
        usage=Usage(input_tokens=100, output_tokens=50),
        session_id="abc123",
    )
    wire = {
        "type": "result",
        "total_cost_usd": 0.001,
        "total_input_tokens": 100,
        "total_output_tokens": 50,
        "session_id": "abc123",
    }
    assert talk.cli_says(result) == Said(wire, result)
    assert talk.states == (State.READY, State.IDLE)


@pytest.mark.shows("002-17")
def test_a_result_may_lack_a_subtype_and_the_totals(talk: Talk) -> None:
    said = talk.cli_says(DONE)
    assert said == Said(EXAMPLES["002-ex-03"], DONE)
    assert said.heard.ok
    assert said.heard.usage is None


@pytest.mark.shows("002-17")
def test_a_result_may_also_have_a_subtype(talk: Talk) -> None:
    said = talk.cli_says(ResultMessage(subtype="error_max_turns", is_error=True))
    assert said.wire["subtype"] == said.heard.subtype == "error_max_turns"
    assert not said.heard.ok


@pytest.mark.shows("002-18")
def test_system_messages_confirm_the_start_and_report_errors(talk: Talk) -> None:
    init = InitMessage(session_id="abc123")
    assert talk.cli_says(init) == Said(EXAMPLES["002-ex-01"], init)
    error = SystemErrorMessage(message="Invalid API key")
    wire = {"type": "system", "subtype": "error", "message": "Invalid API key"}
    assert talk.cli_says(error) == Said(wire, error)


@pytest.mark.shows("002-19", "002-20")
def test_a_stream_delta_brings_new_text(talk: Talk) -> None:
    message = StreamEvent(event=ContentBlockDelta(0, TextDelta("Par")))
    said = talk.cli_says(message)
    assert said.wire["type"] == "stream"
    assert said.wire["event"] == "delta"
    assert said.heard == message
    assert said.heard.text == "Par"


@pytest.mark.shows("002-20")
@pytest.mark.parametrize(
    "fields", [{"delta": "Par"}, {"delta": {"text": "Par"}}, {"text": "Par"}], ids=json.dumps
)
def test_the_text_of_a_delta_is_found_wherever_it_stands(
    talk: Talk, fields: dict[str, Any]
) -> None:
    assert talk.client_hears({"type": "stream", "event": "delta", **fields}).text == "Par"


@pytest.mark.shows("002-19", "002-21")
def test_a_stream_says_that_a_tool_use_begins(talk: Talk) -> None:
    message = StreamEvent(event=ContentBlockStart(1, ToolUseBlock("toolu_1", "Bash", {})))
    said = talk.cli_says(message)
    assert said.wire["type"] == "stream"
    assert said.wire["event"] == "tool_use_start"
    assert said.heard == message


@pytest.mark.shows("002-21")
@pytest.mark.parametrize(
    "fields",
    [
        {"id": "toolu_1", "name": "Bash", "input": {}},
        {"tool_use_id": "toolu_1", "tool_name": "Bash"},
        {"tool_use": {"id": "toolu_1", "name": "Bash"}},
    ],
    ids=json.dumps,
)
def test_the_tool_that_begins_is_found_wherever_it_stands(
    talk: Talk, fields: dict[str, Any]
) -> None:
    heard = talk.client_hears({"type": "stream", "event": "tool_use_start", **fields})
    assert heard.event.content_block == ToolUseBlock("toolu_1", "Bash", {})


@pytest.mark.shows("002-22")
def test_a_simple_query_runs_from_init_to_result(talk: Talk) -> None:
    lines = talk.run(
        [
            Step(Role.CLIENT, QUESTION, State.READY, State.BUSY, False),
            Step(Role.CLI, InitMessage(session_id="abc123"), State.READY, State.BUSY, False),
            Step(Role.CLI, PARIS, State.READY, State.BUSY, False),
            Step(Role.CLI, DONE, State.READY, State.IDLE, True),
        ]
    )
    assert lines[1:] == [EXAMPLES[f"002-ex-0{number}"] for number in (1, 2, 3)]


# --- control -------------------------------------------------------------------------------------


@pytest.mark.shows("002-23")
@pytest.mark.parametrize("nested", [False, True])
def test_control_messages_go_both_ways_and_their_subtype_tells_them_apart(
    talk: Talk, nested: bool
) -> None:
    def control(request: dict[str, Any]) -> dict[str, Any]:
        return {"type": "control", **({"request": request} if nested else request)}

    initialize = {"subtype": "initialize", "request_id": "req_1"}
    assert talk.cli_hears(control(initialize)) == Request(id="req_1", body=Initialize())
    permission = EXAMPLES["002-ex-06"]["request"]
    assert talk.client_hears(control(permission)) == Request(id="perm_1", body=RM)


@pytest.mark.shows("002-23")
@pytest.mark.parametrize(
    ("fields", "answer"),
    [
        ({"subtype": "success"}, Answer("ask-1", InterruptResult())),
        (
            {"subtype": "success", "response": {"still_queued": ["1"]}},
            Answer("ask-1", InterruptResult(["1"])),
        ),
        ({"subtype": "error", "error": "no"}, Failure("ask-1", "no")),
    ],
)
def test_a_control_message_may_be_an_answer(
    talk: Talk, fields: dict[str, Any], answer: Answer | Failure
) -> None:
    request = talk.client_asks(Interrupt())
    flat = {"type": "control", "request_id": "ask-1", **fields}
    assert talk.client_hears(flat) == msgspec.structs.replace(answer, request=request)
    talk.client_says(Request(id="ask-2", body=Interrupt()))
    nested = {"type": "control", "response": {"request_id": "ask-2", **fields}}
    assert type(talk.client_hears(nested)) is type(answer)


@pytest.mark.shows("002-24", "002-25", "002-28")
def test_the_host_registers_hooks_and_servers_with_the_id_inside_the_request(talk: Talk) -> None:
    body = Initialize(
        hooks={"PreToolUse": [HookMatcher(["hook_0"], matcher="*")]},
        sdk_mcp_servers=["calculator", "trading"],
    )
    request = Request(id="req_1", body=body)
    assert talk.client_says(request) == Said(EXAMPLES["002-ex-04"], request)
    assert talk.states == (State.OPENING, State.IDLE)


@pytest.mark.shows("002-30")
def test_the_cli_confirms_with_nothing_but_the_id(talk: Talk) -> None:
    request = talk.client_asks(Initialize(), "req_1")
    said = talk.cli_says(Answer("req_1", InitializeResult()))
    assert said == Said(EXAMPLES["002-ex-05"], Answer("req_1", InitializeResult(), request))
    assert talk.states == (State.READY, State.IDLE)


@pytest.mark.shows("002-32", "002-33")
def test_a_permission_is_asked_for_with_the_input_of_the_tool(talk: Talk) -> None:
    request = Request(id="perm_1", body=RM)
    assert talk.cli_says(request) == Said(EXAMPLES["002-ex-06"], request)


@pytest.mark.shows("002-34", "002-35")
@pytest.mark.parametrize(
    ("decision", "example"),
    [
        (PermissionResultAllow(), "002-ex-07"),
        (PermissionResultDeny("Destructive commands are not permitted"), "002-ex-08"),
    ],
    ids=["allow", "deny"],
)
def test_the_host_allows_or_denies(
    talk: Talk, decision: PermissionResultAllow | PermissionResultDeny, example: str
) -> None:
    request = talk.cli_asks(RM, "perm_1")
    said = talk.client_says(Answer("perm_1", decision))
    assert said == Said(EXAMPLES[example], Answer("perm_1", decision, request))
    assert talk.settled


# --- tools in the host ---------------------------------------------------------------------------


@pytest.mark.shows("002-37", "002-38")
def test_a_call_of_a_tool_in_the_host_is_a_json_rpc_request(talk: Talk) -> None:
    request = Request(id="mcp_1", body=ADD)
    assert talk.cli_says(request) == Said(EXAMPLES["002-ex-09"], request)


@pytest.mark.shows("002-40", "002-41", "002-42", "002-57")
@pytest.mark.parametrize(
    ("text", "is_error", "example"),
    [("11", False, "002-ex-10"), ("Division by zero", True, "002-ex-14")],
)
def test_what_a_tool_returns_is_wrapped_and_is_a_success_even_if_it_is_an_error(
    talk: Talk, text: str, is_error: bool, example: str
) -> None:
    request = talk.cli_asks(ADD, "mcp_1")
    response = rpc_result("msg_1", content=[{"type": "text", "text": text}], isError=is_error)
    said = talk.client_says(Answer("mcp_1", response))
    assert said == Said(EXAMPLES[example], Answer("mcp_1", response, request))
    heard = said.heard.body.mcp_response
    assert msgspec.convert(heard["result"]["content"], list[Block]) == [TextBlock(text)]
    assert heard["result"]["isError"] is is_error


@pytest.mark.shows("002-41")
@pytest.mark.parametrize("id", ["msg_1", "msg_2"])
def test_whether_a_json_rpc_response_is_for_its_request_can_be_told(talk: Talk, id: str) -> None:
    talk.cli_asks(ADD)
    answer = talk.client_says(Answer("ask-1", rpc_result(id))).heard
    matches = answer.body.mcp_response["id"] == answer.request.body.message["id"]
    assert matches == (id == "msg_1")


@pytest.mark.shows("002-40")
def test_an_answer_without_the_wrapper_holds_no_json_rpc_response(talk: Talk) -> None:
    talk.cli_asks(ADD)
    bare = {"jsonrpc": "2.0", "id": "msg_1", "result": {}}
    inner = {"subtype": "success", "request_id": "ask-1", "response": bare}
    answer = talk.cli_hears({"type": "control_response", "response": inner})
    assert answer.body == McpResponse(None)


@pytest.mark.shows("002-45", "002-46")
def test_the_handshake_is_an_mcp_message_that_the_host_answers(talk: Talk) -> None:
    request = Request(id="mcp_0", body=rpc("initialize", "init_1"))
    assert talk.cli_says(request) == Said(EXAMPLES["002-ex-11"], request)
    response = rpc_result(
        "init_1",
        protocolVersion="2025-11-25",
        capabilities={"tools": {"listChanged": False}},
        serverInfo={"name": "calculator", "version": "1.0.0"},
    )
    said = talk.client_says(Answer("mcp_0", response))
    assert said == Said(EXAMPLES["002-ex-12"], Answer("mcp_0", response, request))


@pytest.mark.shows("002-48", "002-49")
def test_after_the_handshake_come_a_notification_and_a_list_of_tools(talk: Talk) -> None:
    initialize = Request(id="req_1", body=Initialize(sdk_mcp_servers=["calculator"]))

    def opening(who: Role, event: Event) -> Step:
        return Step(who, event, State.OPENING, State.IDLE, False)

    lines = talk.run(
        [
            opening(Role.CLIENT, initialize),
            opening(Role.CLI, Request(id="mcp_0", body=rpc("initialize", "init_1"))),
            opening(Role.CLIENT, Answer("mcp_0", rpc_result("init_1", capabilities={}))),
            opening(Role.CLI, Request(id="mcp_1", body=rpc("notifications/initialized"))),
            opening(Role.CLIENT, Answer("mcp_1", McpResponse())),
            opening(Role.CLI, Request(id="mcp_2", body=rpc("tools/list", "list_1"))),
            opening(Role.CLIENT, Answer("mcp_2", rpc_result("list_1", tools=[]))),
            Step(Role.CLI, Answer("req_1", InitializeResult()), State.READY, State.IDLE, True),
        ]
    )
    asked = [line["request"] for line in lines[1:] if "request" in line]
    assert [request["subtype"] for request in asked] == ["mcp_message"] * 3
    assert asked[1]["message"] == {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert lines[4]["response"] == {"subtype": "success", "request_id": "mcp_1"}
    assert asked[2]["message"]["method"] == "tools/list"


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.shows("002-56")
def test_a_protocol_error_names_the_request_and_the_reason(talk: Talk) -> None:
    request = talk.client_asks(Initialize(), "req_1")
    said = talk.cli_says(Failure("req_1", "invalid request format"))
    failure = Failure("req_1", "invalid request format", request=request)
    assert said == Said(EXAMPLES["002-ex-13"], failure)
    assert talk.client.asked == {}


# --- ids -----------------------------------------------------------------------------------------


@pytest.mark.shows("002-59")
def test_the_ids_that_a_connection_makes_never_repeat(talk: Talk) -> None:
    ids = []
    for _ in range(100):
        request = talk.client.new_request(Interrupt())
        talk.client_says(request)
        talk.cli_says(Answer(request.id, InterruptResult()))
        ids.append(request.id)
    assert len(set(ids)) == 100


@pytest.mark.shows("002-59")
@pytest.mark.parametrize("answered", [False, True])
def test_an_id_cannot_be_used_twice(talk: Talk, answered: bool) -> None:
    talk.client_asks(Interrupt(), "req_1")
    if answered:
        talk.cli_says(Answer("req_1", InterruptResult()))
    with pytest.raises(LocalProtocolError):
        talk.client.send(Request(id="req_1", body=Interrupt()))
    assert talk.client.new_request(Interrupt()).id != "req_1"


@pytest.mark.shows("002-60")
def test_the_ids_of_host_and_cli_do_not_collide(talk: Talk) -> None:
    ours = {talk.client.new_request(Interrupt()).id for _ in range(100)}
    theirs = {talk.cli.new_request(RM).id for _ in range(100)}
    assert ours.isdisjoint(theirs)


@pytest.mark.shows("002-60")
def test_the_host_makes_no_id_that_the_cli_has_taken() -> None:
    taken = Connection(Role.CLIENT).new_request(Interrupt()).id
    talk = Talk("legacy")
    talk.cli_asks(RM, taken)
    assert talk.client.new_request(Interrupt()).id != taken


@pytest.mark.shows("002-60")
def test_an_id_that_the_cli_takes_although_it_is_ours_leads_to_no_mistake(talk: Talk) -> None:
    request = talk.client.new_request(Interrupt())
    talk.client_says(request)
    theirs = {**EXAMPLES["002-ex-06"]["request"], "request_id": request.id}
    wire = {"type": "sdk_control_request", "request": theirs}
    assert talk.client_hears(wire) == Request(id=request.id, body=RM)
    assert (set(talk.client.asked), set(talk.client.owed)) == ({request.id}, {request.id})
    talk.client.send(Answer(request.id, PermissionResultAllow()))
    assert (set(talk.client.asked), set(talk.client.owed)) == ({request.id}, set())
