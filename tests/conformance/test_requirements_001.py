"""What document 001 demands of the session dialect, one behaviour per test."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.conformance.talk import EXAMPLES, Said, Step, Talk

from claudewire.wire import (
    AccountInfo,
    AddRules,
    AgentDefinition,
    Answer,
    APIMessage,
    AssistantMessage,
    Base64Source,
    CanUseTool,
    CompactBoundaryMessage,
    Content,
    ErrorInfo,
    ErrorMessage,
    Event,
    HookMatcher,
    ImageBlock,
    Initialize,
    InitializeResult,
    InitMcpServer,
    InitMessage,
    Interrupt,
    InterruptResult,
    ModelInfo,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionRule,
    Request,
    ResultMessage,
    Role,
    SessionCreatedMessage,
    SlashCommand,
    State,
    TextBlock,
    ToolResultBlock,
    Usage,
    UserMessage,
)

LS = {"command": "ls -la"}
BASH = CanUseTool("Bash", LS, "tool-use-uuid")
RULE = AddRules([PermissionRule("Bash", "ls *")], "allow", "session")
HELLO = UserMessage.of("Hello, Claude!")
REPLY = AssistantMessage(message=APIMessage("assistant", [TextBlock("Hi!")], type="message"))
OUTPUT = UserMessage.of([ToolResultBlock("tool-use-uuid", "Command output...")])
SUCCESS = ResultMessage(subtype="success", is_error=False, num_turns=1)


@pytest.fixture
def talk() -> Talk:
    return Talk("session")


# --- transport -----------------------------------------------------------------------------------


@pytest.mark.shows("001-1", "001-5")
def test_each_message_is_one_line_of_json(talk: Talk) -> None:
    lines = [
        talk.client.send(Request(id="1", body=Initialize(system_prompt="Be brief.\nBe kind.\r\n"))),
        talk.client.send(UserMessage.of("one\ntwo\u2028three")),
        talk.client.send(UserMessage.of([TextBlock("one\ntwo")])),
    ]
    for line in lines:
        assert line.endswith(b"\n")
        assert len(line.decode().splitlines()) == 1
        assert isinstance(json.loads(line), dict)
    assert len(talk.cli.receive_data(b"".join(lines))) == len(lines)


@pytest.mark.shows("001-1", "001-5")
def test_a_message_is_complete_at_its_newline(talk: Talk) -> None:
    line = talk.cli.send(SessionCreatedMessage(session_id="session-uuid"))
    assert talk.client.receive_data(line[:-1]) == []
    assert talk.client.receive_data(b"\n") == [SessionCreatedMessage(session_id="session-uuid")]


@pytest.mark.shows("001-3")
def test_text_is_utf_8_however_it_is_cut(talk: Talk) -> None:
    text = "caf\u00e9, \u65e5\u672c\u8a9e, \U0001f600"
    line = talk.client.send(UserMessage.of(text))
    assert text.encode() in line
    events = [event for byte in line for event in talk.cli.receive_data(bytes([byte]))]
    assert events == [UserMessage.of(text)]


# --- initialize and interrupt --------------------------------------------------------------------


@pytest.mark.shows("001-15")
@pytest.mark.parametrize(
    ("body", "wire"),
    [
        (
            Initialize(system_prompt="Be brief.", mcp_servers={}, agents={}, hooks={}),
            {"system_prompt": "Be brief.", "mcp_servers": {}, "agents": {}, "hooks": {}},
        ),
        (
            Initialize(
                mcp_servers={"files": {"command": "serve"}},
                agents={"helper": AgentDefinition("Helps.")},
                hooks={"Stop": [HookMatcher(["hook_0"])]},
            ),
            {
                "mcp_servers": {"files": {"command": "serve"}},
                "agents": {"helper": {"description": "Helps."}},
                "hooks": {"Stop": [{"hookCallbackIds": ["hook_0"]}]},
            },
        ),
    ],
    ids=["empty", "full"],
)
def test_the_host_initializes_in_snake_case(
    talk: Talk, body: Initialize, wire: dict[str, Any]
) -> None:
    request = Request(id="uuid", body=body)
    expected = {
        "type": "control_request",
        "request_id": "uuid",
        "request": {"subtype": "initialize", **wire},
    }
    assert talk.client_says(request) == Said(expected, request)


@pytest.mark.shows("001-17")
@pytest.mark.parametrize("id", ["with", "without"])
def test_the_system_prompt_may_be_left_out(talk: Talk, id: str) -> None:
    wire = {**EXAMPLES["001-ex-01"]["request"]}
    if id == "without":
        del wire["system_prompt"]
    heard = talk.cli_hears({**EXAMPLES["001-ex-01"], "request": wire})
    assert heard.body.system_prompt == wire.get("system_prompt")
    assert heard.body.mcp_servers == {}
    assert talk.client_says(Request(id="uuid", body=heard.body)).wire["request"] == wire


@pytest.mark.shows("001-18", "001-33", "001-34", "001-35", "001-36", "001-37")
def test_the_answer_to_initialize_is_flat_and_tells_what_there_is(talk: Talk) -> None:
    request = talk.client_asks(Initialize(), "uuid")
    offer = InitializeResult(
        commands=[SlashCommand("/help", "..."), SlashCommand("/clear", "...")],
        output_style="markdown",
        available_output_styles=["markdown", "json"],
        models=[ModelInfo("sonnet", "Sonnet (Fast)"), ModelInfo("opus", "Opus (Powerful)")],
        account=AccountInfo(subscription_type="pro", email="user@example.com"),
    )
    said = talk.cli_says(Answer("uuid", offer))
    assert said == Said(EXAMPLES["001-ex-08"], Answer("uuid", offer, request))
    assert talk.settled


@pytest.mark.shows("001-26", "001-27")
def test_an_interrupt_is_asked_for_and_answered(talk: Talk) -> None:
    talk.client_says(HELLO)
    request = Request(id="uuid", body=Interrupt())
    assert talk.client_says(request) == Said(EXAMPLES["001-ex-05"], request)
    wire = {"type": "control_response", "request_id": "uuid", "response": {}}
    answer = Answer("uuid", InterruptResult(), request)
    assert talk.cli_says(Answer("uuid", InterruptResult())) == Said(wire, answer)
    assert talk.client.asked == {}


# --- prompts -------------------------------------------------------------------------------------


@pytest.mark.shows("001-19", "001-20", "001-21", "001-22")
@pytest.mark.parametrize(
    ("content", "example"),
    [
        ("Hello, Claude!", "001-ex-02"),
        (
            [
                TextBlock("What is in this image?"),
                ImageBlock(Base64Source(media_type="image/png", data="...")),
            ],
            "001-ex-03",
        ),
    ],
    ids=["text", "blocks"],
)
def test_the_first_prompt_creates_the_session(talk: Talk, content: Content, example: str) -> None:
    prompt = UserMessage.of(content)
    assert talk.client_says(prompt) == Said(EXAMPLES[example], prompt)
    assert talk.states == (State.READY, State.BUSY)


@pytest.mark.shows("001-24")
def test_every_further_prompt_is_sent_to_the_session(talk: Talk) -> None:
    talk.client_says(HELLO)
    further = UserMessage.of("Follow-up question...")
    for _ in range(2):
        assert talk.client_says(further) == Said(EXAMPLES["001-ex-04"], further)


@pytest.mark.shows("001-38")
def test_the_cli_confirms_the_session_with_its_id(talk: Talk) -> None:
    created = SessionCreatedMessage(session_id="session-uuid")
    assert talk.cli_says(created) == Said(EXAMPLES["001-ex-09"], created)


# --- flows ---------------------------------------------------------------------------------------


def busy(who: Role, event: Event) -> Step:
    return Step(who, event, State.READY, State.BUSY, False)


END = Step(Role.CLI, SUCCESS, State.READY, State.IDLE, True)
FIRST_TURN = [
    busy(Role.CLIENT, HELLO),
    busy(Role.CLI, SessionCreatedMessage(session_id="session-uuid")),
    busy(Role.CLI, REPLY),
    END,
]


@pytest.mark.shows("001-23")
def test_a_session_opens_with_initialize_and_a_first_turn(talk: Talk) -> None:
    initialize = Request(id="init-1", body=Initialize())
    lines = talk.run(
        [
            Step(Role.CLIENT, initialize, State.OPENING, State.IDLE, False),
            Step(Role.CLI, Answer("init-1", InitializeResult()), State.READY, State.IDLE, True),
            Step(Role.CLI, InitMessage(tools=["Bash"]), State.READY, State.IDLE, True),
            *FIRST_TURN,
        ]
    )
    assert [line["type"] for line in lines] == [
        "control_request",
        "control_response",
        "system",
        "session.create",
        "session.created",
        "assistant",
        "result",
    ]


@pytest.mark.shows("001-25", "001-59")
def test_a_further_turn_runs_without_creating_the_session_again(talk: Talk) -> None:
    talk.run(FIRST_TURN)
    lines = talk.run([busy(Role.CLIENT, UserMessage.of("And?")), busy(Role.CLI, REPLY), END])
    assert [line["type"] for line in lines] == ["session.send", "assistant", "result"]


@pytest.mark.shows("001-56")
def test_a_permission_is_answered_before_the_tool_result(talk: Talk) -> None:
    talk.run(FIRST_TURN[:2])
    lines = talk.run(
        [
            busy(Role.CLI, Request(id="cb-123", body=BASH)),
            busy(Role.CLIENT, Answer("cb-123", PermissionResultAllow(LS))),
            busy(Role.CLI, OUTPUT),
        ]
    )
    assert [line["type"] for line in lines] == ["callback.request", "callback.response", "user"]


# --- permissions ---------------------------------------------------------------------------------


@pytest.mark.shows("001-49", "001-50", "001-52")
def test_a_permission_is_asked_for_with_a_callback(talk: Talk) -> None:
    body = CanUseTool(
        tool_name="Bash",
        input=LS,
        tool_use_id="tool-use-uuid",
        permission_suggestions=[RULE],
        blocked_path=None,
    )
    request = Request(id="callback-uuid", body=body)
    assert talk.cli_says(request) == Said(EXAMPLES["001-ex-15"], request)


@pytest.mark.shows("001-52")
@pytest.mark.parametrize("path", [None, "/private/tmp"])
def test_the_blocked_path_is_always_written_and_may_be_null(talk: Talk, path: str | None) -> None:
    said = talk.cli_says(Request(id="cb-1", body=CanUseTool("Bash", LS, blocked_path=path)))
    assert said.wire["request"]["blocked_path"] == path
    assert said.heard.body.blocked_path == path


@pytest.mark.shows("001-29", "001-31", "001-32")
@pytest.mark.parametrize(
    ("decision", "example"),
    [
        (PermissionResultAllow({}, [], "tool-use-uuid"), "001-ex-06"),
        (
            PermissionResultDeny("User denied permission", tool_use_id="tool-use-uuid"),
            "001-ex-07",
        ),
    ],
    ids=["allow", "deny"],
)
def test_the_host_decides_with_a_callback_response(
    talk: Talk, decision: PermissionResultAllow | PermissionResultDeny, example: str
) -> None:
    request = talk.cli_asks(BASH, "original-request-id")
    said = talk.client_says(Answer("original-request-id", decision))
    answer = Answer("original-request-id", decision, request)
    assert said == Said(EXAMPLES[example], answer)
    assert said.heard.body.tool_use_id == said.heard.request.body.tool_use_id


@pytest.mark.shows("001-58")
@pytest.mark.parametrize(
    ("allow", "wire"),
    [
        (PermissionResultAllow(), {}),
        (PermissionResultAllow({"command": "ls"}), {"updated_input": {"command": "ls"}}),
    ],
)
def test_an_allow_may_hold_nothing_but_its_behavior(
    talk: Talk, allow: PermissionResultAllow, wire: dict[str, Any]
) -> None:
    talk.cli_asks(BASH)
    said = talk.client_says(Answer("ask-1", allow))
    assert said.wire["response"]["response"] == {"behavior": "allow", **wire}
    assert said.heard.body == allow


@pytest.mark.shows("001-32")
def test_a_decision_about_another_tool_use_is_noticed(talk: Talk) -> None:
    talk.cli_asks(BASH)
    heard = talk.client_says(Answer("ask-1", PermissionResultAllow(tool_use_id="other"))).heard
    assert heard.body.tool_use_id != heard.request.body.tool_use_id


# --- what the CLI says ---------------------------------------------------------------------------


@pytest.mark.shows("001-39", "001-40")
def test_init_describes_the_tools(talk: Talk) -> None:
    init = InitMessage(
        session_id="session-uuid",
        tools=["Bash", "Read"],
        tool_descriptions={"Bash": "Execute bash commands", "Read": "Read file contents"},
        mcp_servers=[],
    )
    assert talk.cli_says(init) == Said(EXAMPLES["001-ex-10"], init)


@pytest.mark.shows("001-39")
def test_init_lists_mcp_servers(talk: Talk) -> None:
    servers = [InitMcpServer("files", "connected")]
    said = talk.cli_says(InitMessage(session_id="session-uuid", mcp_servers=servers))
    assert said.wire["mcp_servers"] == [{"name": "files", "status": "connected"}]
    assert said.heard.mcp_servers == servers


@pytest.mark.shows("001-41", "001-42", "001-43")
def test_model_and_usage_stand_beside_the_message_of_the_assistant(talk: Talk) -> None:
    message = AssistantMessage(
        uuid="message-uuid",
        session_id="session-uuid",
        message=APIMessage(
            role="assistant",
            type="message",
            content=[TextBlock("Hello! How can I help you?")],
            model="sonnet",
            usage=Usage(
                input_tokens=100,
                output_tokens=50,
                cache_creation_input_tokens=0,
                cache_read_input_tokens=0,
            ),
        ),
    )
    assert talk.cli_says(message) == Said(EXAMPLES["001-ex-11"], message)


@pytest.mark.shows("001-41")
def test_the_message_of_the_assistant_is_always_of_type_message(talk: Talk) -> None:
    said = talk.cli_says(AssistantMessage(message=APIMessage("assistant", [TextBlock("Hi!")])))
    assert said.wire["message"].keys() == {"type", "content"}
    assert said.wire["message"]["type"] == said.heard.message.type == "message"


@pytest.mark.shows("001-44", "001-45")
def test_a_user_message_of_the_cli_holds_tool_results(talk: Talk) -> None:
    message = UserMessage.of(OUTPUT.content, uuid="message-uuid", session_id="session-uuid")
    assert talk.cli_says(message) == Said(EXAMPLES["001-ex-12"], message)


@pytest.mark.shows("001-44")
def test_a_user_message_of_the_cli_may_be_what_the_user_said(talk: Talk) -> None:
    said = talk.cli_says(UserMessage.of([TextBlock("Hello, Claude!")]))
    assert said.wire == {
        "type": "user",
        "message": {"type": "message", "content": [{"type": "text", "text": "Hello, Claude!"}]},
    }
    assert said.heard == UserMessage.of([TextBlock("Hello, Claude!")])


@pytest.mark.shows("001-45")
@pytest.mark.parametrize("is_error", [None, False, True])
def test_a_tool_result_may_say_whether_it_is_an_error(talk: Talk, is_error: bool | None) -> None:
    block = ToolResultBlock("tool-use-uuid", "Command output...", is_error)
    said = talk.cli_says(UserMessage.of([block]))
    assert said.wire["message"]["content"][0].get("is_error", None) is is_error
    assert said.heard.content == [block]


@pytest.mark.shows("001-46", "001-47")
def test_a_result_counts_turns_seconds_and_tokens(talk: Talk) -> None:
    result = ResultMessage(
        subtype="success",
        session_id="session-uuid",
        is_error=False,
        num_turns=1,
        duration_ms=5200,
        usage=Usage(input_tokens=100, output_tokens=50),
    )
    assert talk.cli_says(result) == Said(EXAMPLES["001-ex-13"], result)


@pytest.mark.shows("001-48")
def test_a_failed_turn_ends_with_its_reason(talk: Talk) -> None:
    result = ResultMessage(
        subtype="error_max_turns",
        session_id="session-uuid",
        is_error=True,
        errors=["Maximum turns exceeded"],
    )
    assert talk.cli_says(result) == Said(EXAMPLES["001-ex-14"], result)


@pytest.mark.shows("001-61")
@pytest.mark.parametrize(
    "subtype", ["error_max_turns", "error_during_execution", "error_of_a_kind_yet_to_come"]
)
def test_every_error_subtype_ends_the_turn_with_an_error(talk: Talk, subtype: str) -> None:
    talk.client_says(HELLO)
    wire = {"type": "result", "subtype": subtype, "session_id": "session-uuid"}
    heard = talk.client_hears(wire)
    assert heard.is_error
    assert not heard.ok
    assert talk.client.their_state is State.IDLE
    assert talk.client.may_end_input


@pytest.mark.shows("001-60")
def test_the_cli_says_when_the_context_was_compacted(talk: Talk) -> None:
    boundary = CompactBoundaryMessage(session_id="session-uuid")
    wire = {"type": "system", "subtype": "compact_boundary", "session_id": "session-uuid"}
    assert talk.cli_says(boundary) == Said(wire, boundary)


@pytest.mark.shows("001-62")
def test_the_cli_writes_eight_types_of_message(talk: Talk) -> None:
    talk.client_asks(Initialize())
    talk.client_asks(Interrupt(), "ask-2")
    events = [
        Answer("ask-1", InitializeResult()),
        Answer("ask-2", InterruptResult()),
        SessionCreatedMessage(session_id="session-uuid"),
        InitMessage(),
        CompactBoundaryMessage(),
        REPLY,
        OUTPUT,
        SUCCESS,
        Request(id="cb-1", body=BASH),
        ErrorMessage(error=ErrorInfo("SESSION_NOT_FOUND", "Session not found")),
    ]
    assert {talk.cli_says(event).wire["type"] for event in events} == {
        "control_response",
        "session.created",
        "system",
        "assistant",
        "user",
        "result",
        "callback.request",
        "error",
    }
