"""What document 000 demands of the modern dialect, one behaviour per test."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.conformance.talk import EXAMPLES, Said, Step, Talk

from claudewire.wire import (
    AccountInfo,
    AddRules,
    Answer,
    APIMessage,
    AssistantMessage,
    CanUseTool,
    Event,
    Failure,
    Initialize,
    InitializeResult,
    InitMcpServer,
    InitMessage,
    InitPlugin,
    McpMessage,
    McpResponse,
    Message,
    ModelInfo,
    ModelUsage,
    PermissionDenial,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionRule,
    PermissionUpdate,
    Question,
    QuestionInput,
    QuestionOption,
    Request,
    ResultMessage,
    Role,
    SlashCommand,
    State,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownMessage,
    Usage,
    UserMessage,
    questions_of,
)

INPUT = {"command": "ls /tmp/test/", "description": "List contents of /tmp/test/ directory"}
RULES = AddRules([PermissionRule("Read", "//private/tmp/test/**")], "allow", "session")
COLOR = "Which color do you prefer?"
SIZES = "Which sizes?"
MODEL = "claude-sonnet-4-5-20250929"


@pytest.fixture
def talk() -> Talk:
    return Talk("modern")


def assistant(*content: TextBlock | ToolUseBlock) -> AssistantMessage:
    return AssistantMessage(message=APIMessage("assistant", list(content)))


def tool_result(id: str = "toolu_xxx") -> UserMessage:
    return UserMessage.of([ToolResultBlock(id, "a.txt", is_error=False)])


# --- initialize ----------------------------------------------------------------------------------


@pytest.mark.shows("000-2")
def test_one_pair_of_messages_serves_the_start_of_a_session_and_permissions(talk: Talk) -> None:
    types = [
        talk.client_says(Request(id="init-1", body=Initialize())).wire["type"],
        talk.cli_says(Answer("init-1", InitializeResult())).wire["type"],
        talk.cli_says(Request(id="perm-1", body=CanUseTool("Bash", INPUT))).wire["type"],
        talk.client_says(Answer("perm-1", PermissionResultAllow(INPUT))).wire["type"],
    ]
    assert types == ["control_request", "control_response"] * 2


@pytest.mark.shows("000-15", "000-74")
def test_the_host_opens_with_initialize_which_may_hold_nothing_else(talk: Talk) -> None:
    request = Request(id="init-1", body=Initialize())
    assert talk.client_says(request) == Said(EXAMPLES["000-ex-13"], request)
    assert talk.states == (State.OPENING, State.IDLE)


@pytest.mark.shows("000-17", "000-18", "000-19", "000-20", "000-21", "000-22")
def test_the_answer_to_initialize_tells_what_the_session_offers(talk: Talk) -> None:
    request = talk.client_asks(Initialize(), "unique-id")
    offer = InitializeResult(
        commands=[
            SlashCommand("compact", "...", argument_hint="..."),
            SlashCommand("context", "...", argument_hint=""),
        ],
        output_style="default",
        available_output_styles=["default", "Explanatory", "Learning"],
        models=[
            ModelInfo("default", "Default (recommended)", "Opus 4.5"),
            ModelInfo("sonnet", "Sonnet", "Sonnet 4.5"),
            ModelInfo("haiku", "Haiku", "Haiku 4.5"),
        ],
        account=AccountInfo("user@example.com", "Org Name", "Claude Max"),
    )
    said = talk.cli_says(Answer("unique-id", offer))
    assert said == Said(EXAMPLES["000-ex-02"], Answer("unique-id", offer, request))


@pytest.mark.shows("000-18")
def test_an_answer_that_leaves_out_what_it_says_says_nothing(talk: Talk) -> None:
    request = talk.client_asks(Initialize())
    inner = {"subtype": "success", "request_id": "ask-1"}
    answer = talk.client_hears({"type": "control_response", "response": inner})
    assert answer == Answer("ask-1", InitializeResult(), request)


@pytest.mark.shows("000-80")
def test_the_host_is_ready_when_initialize_is_answered_and_serves_requests_meanwhile(
    talk: Talk,
) -> None:
    talk.client_says(talk.client.new_request(Initialize()))
    assert talk.states == (State.OPENING, State.IDLE)

    talk.cli_asks(McpMessage("files", {"jsonrpc": "2.0", "id": 0, "method": "initialize"}))
    talk.client_says(Answer("ask-1", McpResponse({"jsonrpc": "2.0", "id": 0, "result": {}})))
    assert talk.states == (State.OPENING, State.IDLE)

    (id,) = talk.cli.owed
    talk.cli_says(Answer(id, InitializeResult()))
    assert talk.states == (State.READY, State.IDLE)


@pytest.mark.shows("000-80")
def test_the_host_is_not_ready_when_initialize_is_refused(talk: Talk) -> None:
    talk.client_asks(Initialize())
    talk.cli_says(Failure("ask-1", "not now"))
    assert talk.states == (State.NEW, State.IDLE)


# --- system init ---------------------------------------------------------------------------------


@pytest.mark.shows("000-24", "000-25", "000-26")
def test_init_describes_the_session(talk: Talk) -> None:
    init = InitMessage(
        uuid="message-uuid",
        session_id="session-uuid",
        cwd="/path/to/working/directory",
        tools=["Task", "Bash", "Read", "Write", "Edit", "..."],
        mcp_servers=[InitMcpServer("flutter-test", "connected")],
        model=MODEL,
        permission_mode="default",
        slash_commands=["compact", "context", "cost", "..."],
        api_key_source="none",
        claude_code_version="2.1.17",
        output_style="default",
        agents=["Bash", "general-purpose", "Explore", "Plan"],
        skills=[],
        plugins=[],
    )
    assert talk.cli_says(init) == Said(EXAMPLES["000-ex-03"], init)


@pytest.mark.shows("000-25")
def test_init_may_have_skills_and_plugins(talk: Talk) -> None:
    init = InitMessage(skills=["pdf"], plugins=[InitPlugin("tidy", "/plugins/tidy")])
    wire = {
        "type": "system",
        "subtype": "init",
        "skills": ["pdf"],
        "plugins": [{"name": "tidy", "path": "/plugins/tidy"}],
    }
    assert talk.cli_says(init) == Said(wire, init)


@pytest.mark.shows("000-84")
def test_the_host_learns_the_session_id_from_init(talk: Talk) -> None:
    talk.client_asks(Initialize())
    answer = talk.cli_says(Answer("ask-1", InitializeResult())).heard
    init = talk.cli_says(InitMessage(session_id="sess-123")).heard
    assert "session_id" not in answer.raw
    assert init.session_id == "sess-123"


# --- user messages of the host -------------------------------------------------------------------


@pytest.mark.shows("000-27")
def test_the_host_speaks_with_a_user_message(talk: Talk) -> None:
    prompt = UserMessage.of("Your message here", session_id="session-uuid")
    assert prompt.parent_tool_use_id is None
    assert talk.client_says(prompt) == Said(EXAMPLES["000-ex-04"], prompt)


@pytest.mark.shows("000-29")
@pytest.mark.parametrize("session_id", ["sess-123", "another", "", "my own \u00e9 \u2028"])
def test_any_session_id_will_do_in_a_user_message(talk: Talk, session_id: str) -> None:
    talk.cli_says(InitMessage(session_id="sess-123"))
    said = talk.client_says(UserMessage.of("Hello", session_id=session_id))
    assert said.wire["session_id"] == said.heard.session_id == session_id
    assert talk.states == (State.READY, State.BUSY)


# --- turns ---------------------------------------------------------------------------------------

INIT = InitMessage(session_id="sess-123", tools=["Bash"])
OPENING = [
    Step(Role.CLIENT, Request(id="init-1", body=Initialize()), State.OPENING, State.IDLE, False),
    Step(Role.CLI, Answer("init-1", InitializeResult()), State.READY, State.IDLE, True),
    Step(Role.CLI, INIT, State.READY, State.IDLE, True),
]
PROMPT = UserMessage.of("List files in /tmp", session_id="sess-123")
USE = assistant(ToolUseBlock("toolu_xxx", "Bash", {"command": "ls /tmp"}))
ASK = Request(id="perm-1", body=CanUseTool("Bash", {"command": "ls /tmp"}, "toolu_xxx"))
FILES = "Here are the files..."
SUCCESS = ResultMessage(subtype="success", is_error=False, num_turns=2, result=FILES)


def busy(who: Role, event: Event) -> Step:
    return Step(who, event, State.READY, State.BUSY, False)


def turn(*middle: Step) -> list[Step]:
    """A prompt, a tool use, what happens about it, its result, and the end of the turn."""
    return [
        busy(Role.CLIENT, PROMPT),
        busy(Role.CLI, USE),
        *middle,
        busy(Role.CLI, tool_result()),
        busy(Role.CLI, assistant(TextBlock(FILES))),
        Step(Role.CLI, SUCCESS, State.READY, State.IDLE, True),
    ]


@pytest.mark.shows("000-32")
def test_a_turn_without_permissions_runs_from_initialize_to_result(talk: Talk) -> None:
    lines = talk.run([*OPENING, *turn()])
    assert [line["type"] for line in lines] == [
        "control_request",
        "control_response",
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "result",
    ]


@pytest.mark.shows("000-33", "000-34")
@pytest.mark.parametrize(
    "decision", [PermissionResultAllow({"command": "ls /tmp"}), PermissionResultDeny("No.")]
)
def test_a_permission_is_asked_and_answered_between_tool_use_and_tool_result(
    talk: Talk, decision: PermissionResult
) -> None:
    steps = turn(busy(Role.CLI, ASK), busy(Role.CLIENT, Answer("perm-1", decision)))
    talk.run(steps[:3])
    assert talk.client.owed == {"perm-1": ASK}
    talk.run(steps[3:4])
    assert talk.client.owed == {}
    talk.run(steps[4:])


# --- permissions ---------------------------------------------------------------------------------


@pytest.mark.shows("000-37", "000-38", "000-39", "000-40", "000-41", "000-42", "000-43")
def test_a_permission_request_tells_what_wants_to_run(talk: Talk) -> None:
    body = CanUseTool(
        tool_name="Bash",
        input=INPUT,
        tool_use_id="toolu_xxx",
        permission_suggestions=[RULES],
        blocked_path="/private/tmp/test",
    )
    request = Request(id="uuid", body=body)
    assert talk.cli_says(request) == Said(EXAMPLES["000-ex-05"], request)


@pytest.mark.shows("000-40")
def test_the_tool_use_id_is_the_one_of_the_tool_use(talk: Talk) -> None:
    use = talk.cli_says(USE).heard
    request = talk.cli_says(ASK).heard
    assert request.body.tool_use_id == use.content[0].id == "toolu_xxx"


@pytest.mark.shows("000-41", "000-43")
def test_suggestions_and_blocked_path_may_be_absent(talk: Talk) -> None:
    said = talk.cli_says(Request(id="uuid", body=CanUseTool("Bash", INPUT, "toolu_xxx")))
    assert said.wire["request"].keys() == {"subtype", "tool_name", "input", "tool_use_id"}
    assert said.heard.body.permission_suggestions is None
    assert said.heard.body.blocked_path is None


@pytest.mark.shows("000-44", "000-46")
def test_the_host_allows_with_the_id_of_the_request(talk: Talk) -> None:
    request = talk.cli_asks(CanUseTool("Bash", INPUT, "toolu_xxx"), "matching-uuid")
    allow = PermissionResultAllow(INPUT, [], "toolu_xxx")
    said = talk.client_says(Answer("matching-uuid", allow))
    assert said == Said(EXAMPLES["000-ex-06"], Answer("matching-uuid", allow, request))


@pytest.mark.shows("000-45")
@pytest.mark.parametrize("updated", [None, INPUT, {"command": "ls /tmp/other/"}])
def test_an_allow_may_leave_out_or_change_the_input(
    talk: Talk, updated: dict[str, Any] | None
) -> None:
    talk.cli_asks(CanUseTool("Bash", INPUT, "toolu_xxx"))
    said = talk.client_says(Answer("ask-1", PermissionResultAllow(updated)))
    changed = {} if updated is None else {"updatedInput": updated}
    assert said.wire["response"]["response"] == {"behavior": "allow", **changed}
    assert said.heard.body.updated_input == updated


@pytest.mark.shows("000-46")
@pytest.mark.parametrize("updates", [[RULES], []])
def test_an_allow_may_hand_suggestions_back(talk: Talk, updates: list[PermissionUpdate]) -> None:
    talk.cli_asks(CanUseTool("Bash", INPUT, permission_suggestions=[RULES]))
    (asked,) = EXAMPLES["000-ex-05"]["request"]["permission_suggestions"]
    said = talk.client_says(Answer("ask-1", PermissionResultAllow(INPUT, updates)))
    assert said.wire["response"]["response"]["updatedPermissions"] == [asked] * len(updates)
    assert said.heard.body.updated_permissions == updates


@pytest.mark.shows("000-48", "000-49")
def test_the_host_denies_with_a_success_that_tells_the_reason(talk: Talk) -> None:
    request = talk.cli_asks(CanUseTool("Bash", INPUT, "toolu_xxx"), "matching-uuid")
    deny = PermissionResultDeny("User declined this operation", tool_use_id="toolu_xxx")
    said = talk.client_says(Answer("matching-uuid", deny))
    assert said == Said(EXAMPLES["000-ex-07"], Answer("matching-uuid", deny, request))


@pytest.mark.shows("000-47", "000-51")
@pytest.mark.parametrize("answered", ["toolu_xxx", "toolu_other"])
@pytest.mark.parametrize("kind", [PermissionResultAllow, PermissionResultDeny])
def test_whether_a_decision_is_about_the_tool_use_of_its_request_can_be_told(
    talk: Talk, kind: type[PermissionResultAllow | PermissionResultDeny], answered: str
) -> None:
    talk.cli_asks(CanUseTool("Bash", INPUT, "toolu_xxx"))
    said = talk.client_says(Answer("ask-1", kind(tool_use_id=answered)))
    assert said.wire["response"]["response"]["toolUseID"] == answered
    matches = said.heard.body.tool_use_id == said.heard.request.body.tool_use_id
    assert matches == (answered == "toolu_xxx")


# --- questions -----------------------------------------------------------------------------------


@pytest.mark.shows("000-52", "000-54", "000-55")
def test_a_question_comes_as_a_permission_request(talk: Talk) -> None:
    request = talk.client_hears(EXAMPLES["000-ex-08"])
    assert isinstance(request.body, CanUseTool)
    assert request.body.tool_name == "AskUserQuestion"
    assert questions_of(request.body.input) == [
        Question(
            question=COLOR,
            header="Color",
            multi_select=False,
            options=[
                QuestionOption("Red", "Choose the color red"),
                QuestionOption("Green", "Choose the color green"),
                QuestionOption("Blue", "Choose the color blue"),
            ],
        )
    ]
    assert talk.cli_says(Request(id="again", body=request.body)).wire == {
        **EXAMPLES["000-ex-08"],
        "request_id": "again",
    }


@pytest.mark.shows("000-56", "000-57")
def test_the_answer_to_a_question_is_in_the_input_of_an_allow(talk: Talk) -> None:
    body = talk.client_hears(EXAMPLES["000-ex-08"]).body
    other = Talk("modern")
    request = other.cli_asks(body, "uuid")
    allow = PermissionResultAllow({"answers": {COLOR: "Green"}}, tool_use_id="toolu_xxx")
    said = other.client_says(Answer("uuid", allow))
    assert said == Said(EXAMPLES["000-ex-09"], Answer("uuid", allow, request))


@pytest.mark.shows("000-57")
def test_answers_go_by_the_text_of_the_question_and_are_a_list_where_several_may_be_chosen(
    talk: Talk,
) -> None:
    questions = [
        Question(COLOR, "Color", [QuestionOption("Red"), QuestionOption("Green")]),
        Question(SIZES, "Size", [QuestionOption("S"), QuestionOption("L")], multi_select=True),
    ]
    input = {"questions": msgspec.to_builtins(questions)}
    answers: dict[str, str | list[str]] = {COLOR: "Green", SIZES: ["S", "L"]}
    talk.cli_asks(CanUseTool("AskUserQuestion", input, "toolu_xxx"))
    said = talk.client_says(Answer("ask-1", PermissionResultAllow({**input, "answers": answers})))
    assert said.wire["response"]["response"]["updatedInput"]["answers"] == answers
    heard = msgspec.convert(said.heard.body.updated_input, QuestionInput)
    assert heard == QuestionInput(questions, answers)


# --- what the CLI says ---------------------------------------------------------------------------


@pytest.mark.shows("000-59", "000-60", "000-61", "000-62")
def test_an_assistant_message_is_an_api_message_with_ids(talk: Talk) -> None:
    message = AssistantMessage(
        uuid="message-uuid",
        session_id="session-uuid",
        parent_tool_use_id=None,
        message=APIMessage(
            model=MODEL,
            id="msg_xxx",
            type="message",
            role="assistant",
            content=[
                TextBlock("I'll help you with that."),
                ToolUseBlock("toolu_xxx", "Read", {"file_path": "/path"}),
            ],
            stop_reason=None,
            usage=Usage(
                input_tokens=100,
                output_tokens=50,
                cache_creation_input_tokens=1000,
                cache_read_input_tokens=500,
            ),
        ),
    )
    assert talk.cli_says(message) == Said(EXAMPLES["000-ex-10"], message)


@pytest.mark.shows("000-59", "000-60")
def test_parent_and_stop_reason_of_an_assistant_message_need_not_be_null(talk: Talk) -> None:
    inner = APIMessage("assistant", [TextBlock("Done.")], stop_reason="end_turn")
    message = AssistantMessage(message=inner, parent_tool_use_id="toolu_task")
    said = talk.cli_says(message)
    assert said.heard == message
    assert said.wire["parent_tool_use_id"] == "toolu_task"
    assert said.wire["message"]["stop_reason"] == "end_turn"


@pytest.mark.shows("000-63", "000-64", "000-65")
def test_tool_results_are_a_user_message_of_the_cli(talk: Talk) -> None:
    result = ToolResultBlock("toolu_xxx", "file contents here...", is_error=False)
    message = UserMessage.of(
        [result],
        uuid="message-uuid",
        session_id="session-uuid",
        tool_use_result={"stdout": "output", "stderr": "", "interrupted": False},
    )
    assert talk.cli_says(message) == Said(EXAMPLES["000-ex-11"], message)


@pytest.mark.shows("000-64", "000-65")
def test_a_tool_result_may_be_blocks_and_have_no_structured_output(talk: Talk) -> None:
    message = UserMessage.of([ToolResultBlock("toolu_xxx", [TextBlock("No.")], is_error=True)])
    said = talk.cli_says(message)
    assert said.heard == message
    assert said.heard.content[0].text == "No."
    assert "tool_use_result" not in said.wire


@pytest.mark.shows("000-66", "000-67", "000-68", "000-69")
def test_a_result_tells_how_the_turn_went_and_what_it_cost(talk: Talk) -> None:
    result = ResultMessage(
        subtype="success",
        uuid="message-uuid",
        session_id="session-uuid",
        is_error=False,
        duration_ms=5000,
        duration_api_ms=4500,
        num_turns=2,
        result="Final text response",
        total_cost_usd=0.05,
        usage=Usage(
            input_tokens=200,
            output_tokens=100,
            cache_creation_input_tokens=1000,
            cache_read_input_tokens=500,
        ),
        model_usage={
            MODEL: ModelUsage(
                input_tokens=200,
                output_tokens=100,
                cache_read_input_tokens=500,
                cache_creation_input_tokens=1000,
                cost_usd=0.05,
                context_window=200000,
            )
        },
        permission_denials=[],
    )
    assert talk.cli_says(result) == Said(EXAMPLES["000-ex-12"], result)


@pytest.mark.shows("000-69")
def test_a_result_lists_the_tool_uses_that_were_denied(talk: Talk) -> None:
    denial = PermissionDenial("Bash", "toolu_xxx", INPUT)
    said = talk.cli_says(
        ResultMessage(subtype="success", is_error=False, num_turns=1, permission_denials=[denial])
    )
    assert said.heard.permission_denials == [denial]
    assert said.wire["permission_denials"] == [
        {"tool_name": "Bash", "tool_use_id": "toolu_xxx", "tool_input": INPUT}
    ]


@pytest.mark.shows("000-32", "000-70", "000-71", "000-72", "000-73")
@pytest.mark.parametrize(
    ("subtype", "ok"),
    [
        ("success", True),
        ("error_max_turns", False),
        ("error_during_execution", False),
        ("error_max_budget_usd", False),
    ],
)
def test_the_subtype_of_a_result_tells_how_the_turn_ended(
    talk: Talk, subtype: str, ok: bool
) -> None:
    talk.client_says(PROMPT)
    assert talk.states == (State.READY, State.BUSY)
    said = talk.cli_says(ResultMessage(subtype=subtype, is_error=not ok, num_turns=1))
    assert said.wire["subtype"] == said.heard.subtype == subtype
    assert said.heard.ok is ok
    assert talk.states == (State.READY, State.IDLE)
    assert talk.settled


# --- the line ------------------------------------------------------------------------------------


@pytest.mark.shows("000-76")
@pytest.mark.parametrize("message", [ASK, USE, tool_result(), SUCCESS, INIT])
def test_a_message_stands_on_the_line_as_it_is(talk: Talk, message: Message) -> None:
    assert talk.cli_says(message) == Said(msgspec.to_builtins(message), message)


@pytest.mark.shows("000-81")
@pytest.mark.parametrize("inner", ["000-ex-05", "000-ex-10", "000-ex-12"])
def test_a_message_wrapped_in_sdk_message_is_not_unwrapped(talk: Talk, inner: str) -> None:
    talk.client_says(PROMPT)
    wrapped = {"type": "sdk.message", "message": EXAMPLES[inner]}
    heard = talk.client_hears(wrapped)
    assert heard == UnknownMessage(kind="sdk.message", data=wrapped)
    assert talk.client.their_state is State.BUSY
    assert talk.client.owed == {}
