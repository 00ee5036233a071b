"""What document 004 demands of the envelope dialect, one behaviour per test."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from tests.conformance.talk import EXAMPLES, Said, Talk

from claudewire.wire import (
    Answer,
    APIMessage,
    AssistantMessage,
    Block,
    CanUseTool,
    Content,
    ContentBlockDelta,
    Event,
    Interrupt,
    InterruptResult,
    PermissionHint,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    Question,
    QuestionOption,
    Request,
    StreamEvent,
    TextBlock,
    TextDelta,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    UserMessage,
    questions_of,
)

WRITE = CanUseTool(
    "Write", {"file_path": "/path/to/file.txt", "content": "file contents"}, "toolu_xyz"
)
PROCEED = "Would you like to proceed?"
PARTS = "Which parts?"
QUESTIONS = [
    Question(PROCEED, "Confirm", [QuestionOption("Yes"), QuestionOption("No")]),
    Question(
        PARTS, "Parts", [QuestionOption("Option1"), QuestionOption("Option2")], multi_select=True
    ),
]
ASK = CanUseTool(
    "AskUserQuestion", {"questions": msgspec.to_builtins(QUESTIONS)}, "tool-use-id-from-request"
)


@pytest.fixture
def talk() -> Talk:
    return Talk("envelope")


def decision(said: Said) -> dict[str, Any]:
    """What a permission was answered, as it was written."""
    inner: dict[str, Any] = said.wire["response"]["response"]
    return inner


# --- lines ---------------------------------------------------------------------------------------


@pytest.mark.shows("004-6", "004-48", "004-49")
@pytest.mark.parametrize(
    "event",
    [
        UserMessage.of("one\ntwo\r\nthree\u2028four"),
        Request(id="one\ntwo", body=Interrupt()),
    ],
    ids=["user", "request"],
)
def test_a_message_is_one_line_of_json_that_ends_with_a_newline(talk: Talk, event: Event) -> None:
    line = talk.client.send(event)
    assert line[-1:] == b"\n"
    assert len(line.decode().splitlines()) == 1
    assert isinstance(json.loads(line), dict)
    assert len(talk.cli.receive_data(line + line.replace(b"one", b"two"))) == 2


# --- what the host says --------------------------------------------------------------------------


@pytest.mark.shows("004-7", "004-8", "004-9", "004-10", "004-11")
@pytest.mark.parametrize("content", ["Hello, Claude!", [TextBlock("Hello, Claude!")]])
def test_the_host_speaks_in_blocks(talk: Talk, content: Content) -> None:
    said = talk.client_says(UserMessage.of(content))
    blocks = UserMessage.of([TextBlock("Hello, Claude!")], session_id="")
    assert said == Said(EXAMPLES["004-ex-01"], blocks)


@pytest.mark.shows("004-8", "004-11")
def test_a_user_message_may_name_the_session_and_the_tool_use(talk: Talk) -> None:
    said = talk.client_says(
        UserMessage.of("Hello", session_id="session-uuid", parent_tool_use_id="toolu_xyz")
    )
    assert said.wire["session_id"] == said.heard.session_id == "session-uuid"
    assert said.wire["parent_tool_use_id"] == said.heard.parent_tool_use_id == "toolu_xyz"


@pytest.mark.shows("004-11")
def test_a_user_message_may_leave_out_the_tool_use(talk: Talk) -> None:
    wire = {key: EXAMPLES["004-ex-01"][key] for key in ("type", "session_id", "message")}
    assert talk.cli_hears(wire).parent_tool_use_id is None


@pytest.mark.shows("004-12", "004-13")
def test_the_host_can_interrupt(talk: Talk) -> None:
    request = Request(id="unique-request-id", body=Interrupt())
    assert talk.client_says(request) == Said(EXAMPLES["004-ex-02"], request)


@pytest.mark.shows("004-15", "004-16")
@pytest.mark.parametrize(
    ("answer", "example"),
    [
        (
            PermissionResultAllow(WRITE.input, tool_use_id="tool-use-id-from-request"),
            "004-ex-03",
        ),
        (
            PermissionResultDeny(
                "User declined this operation", tool_use_id="tool-use-id-from-request"
            ),
            "004-ex-04",
        ),
    ],
    ids=["allow", "deny"],
)
def test_the_host_allows_or_denies(talk: Talk, answer: PermissionResult, example: str) -> None:
    request = talk.cli_asks(WRITE, "matching-request-id")
    said = talk.client_says(Answer("matching-request-id", answer))
    assert said == Said(EXAMPLES[example], Answer("matching-request-id", answer, request))


@pytest.mark.shows("004-17")
@pytest.mark.parametrize("reason", ["User declined this operation", None])
def test_a_denial_may_tell_its_reason(talk: Talk, reason: str | None) -> None:
    talk.cli_asks(WRITE)
    said = talk.client_says(Answer("ask-1", PermissionResultDeny(reason)))
    assert decision(said).get("message") == said.heard.body.message == reason


@pytest.mark.shows("004-17")
def test_an_allow_has_no_message(talk: Talk) -> None:
    talk.cli_asks(WRITE)
    inner = {"behavior": "allow", "updatedInput": WRITE.input, "message": "Sure."}
    outer = {"subtype": "success", "request_id": "ask-1", "response": inner}
    heard = talk.cli_hears({"type": "control_response", "response": outer})
    assert heard.body == PermissionResultAllow(WRITE.input)
    assert not hasattr(heard.body, "message")


@pytest.mark.shows("004-18")
@pytest.mark.parametrize("updated", [None, WRITE.input, {"file_path": "/elsewhere"}])
def test_an_allow_always_carries_the_input(talk: Talk, updated: dict[str, Any] | None) -> None:
    talk.cli_asks(WRITE)
    said = talk.client_says(Answer("ask-1", PermissionResultAllow(updated)))
    expected = WRITE.input if updated is None else updated
    assert decision(said) == {"behavior": "allow", "updatedInput": expected}
    assert said.heard.body.updated_input == expected


@pytest.mark.shows("004-18")
def test_an_allow_that_lacks_the_input_is_noticed(talk: Talk) -> None:
    talk.cli_asks(WRITE)
    outer = {"subtype": "success", "request_id": "ask-1", "response": {"behavior": "allow"}}
    heard = talk.cli_hears({"type": "control_response", "response": outer})
    assert heard.body == PermissionResultAllow(None)


@pytest.mark.shows("004-19")
@pytest.mark.parametrize("answered", ["toolu_xyz", "toolu_other"])
@pytest.mark.parametrize("kind", [PermissionResultAllow, PermissionResultDeny])
def test_whether_a_decision_is_about_the_tool_use_of_its_request_can_be_told(
    talk: Talk, kind: type[PermissionResultAllow | PermissionResultDeny], answered: str
) -> None:
    talk.cli_asks(WRITE)
    said = talk.client_says(Answer("ask-1", kind(tool_use_id=answered)))
    assert decision(said)["toolUseID"] == answered
    matches = said.heard.body.tool_use_id == said.heard.request.body.tool_use_id
    assert matches == (answered == "toolu_xyz")


@pytest.mark.shows("004-20", "004-21", "004-22", "004-23")
def test_answers_go_by_the_index_of_the_question(talk: Talk) -> None:
    talk.cli_asks(ASK, "matching-request-id")
    answers = {PROCEED: "Yes", PARTS: ["Option1", "Option2"]}
    allow = PermissionResultAllow(
        {**ASK.input, "answers": answers}, tool_use_id="tool-use-id-from-request"
    )
    said = talk.client_says(Answer("matching-request-id", allow))
    assert said.wire == EXAMPLES["004-ex-05"]
    assert said.heard.body == allow


@pytest.mark.shows("004-22", "004-23")
@pytest.mark.parametrize(
    ("given", "written"),
    [
        ({PARTS: ["Option2"]}, {"1": ["Option2"]}),
        ({PARTS: "Option2"}, {"1": ["Option2"]}),
        ({PARTS: "Option1, Option2"}, {"1": ["Option1", "Option2"]}),
        ({PROCEED: "No"}, {"0": "No"}),
    ],
    ids=json.dumps,
)
def test_an_answer_is_a_list_exactly_where_several_may_be_chosen(
    talk: Talk, given: dict[str, Any], written: dict[str, Any]
) -> None:
    talk.cli_asks(ASK)
    allow = PermissionResultAllow({**ASK.input, "answers": given})
    assert decision(talk.client_says(Answer("ask-1", allow)))["updatedInput"]["answers"] == written


# --- what the CLI says ---------------------------------------------------------------------------


@pytest.mark.shows("004-25", "004-26", "004-27")
def test_an_assistant_message_is_an_api_message_with_ids(talk: Talk) -> None:
    message = AssistantMessage(
        message=APIMessage(
            model="claude-sonnet-4-5-20250929",
            id="msg_123abc",
            type="message",
            role="assistant",
            content=[TextBlock("Hello! How can I help you?")],
            stop_reason="end_turn",
            usage=Usage(input_tokens=100, output_tokens=50),
        ),
        session_id="session-uuid",
        uuid="message-uuid",
    )
    assert talk.cli_says(message) == Said(EXAMPLES["004-ex-06"], message)


@pytest.mark.shows("004-27")
def test_the_assistant_may_use_a_tool(talk: Talk) -> None:
    use: Block = ToolUseBlock("toolu_xyz", "Bash", {"command": "ls -la"})
    said = talk.cli_says(AssistantMessage(message=APIMessage("assistant", [use])))
    assert said.wire["message"]["content"] == [
        {"type": "tool_use", "id": "toolu_xyz", "name": "Bash", "input": {"command": "ls -la"}}
    ]
    assert said.heard.content == [use]


@pytest.mark.shows("004-28", "004-29")
def test_a_partial_update_is_an_assistant_message_with_a_delta(talk: Talk) -> None:
    message = StreamEvent(event=ContentBlockDelta(0, TextDelta("partial text")))
    said = talk.cli_says(message)
    assert said == Said(EXAMPLES["004-ex-07"], message)
    assert said.heard.text == "partial text"


@pytest.mark.shows("004-30", "004-31", "004-32", "004-33", "004-34", "004-35")
def test_a_permission_request_comes_in_an_envelope(talk: Talk) -> None:
    body = CanUseTool(
        tool_name="Bash",
        input={"command": "ls -la"},
        permission_suggestions=[PermissionHint("allow", "Safe to run")],
        tool_use_id="toolu_xyz",
    )
    request = Request(id="unique-request-id", body=body)
    assert talk.cli_says(request) == Said(EXAMPLES["004-ex-08"], request)


@pytest.mark.shows("004-34")
def test_a_permission_request_may_suggest_nothing(talk: Talk) -> None:
    said = talk.cli_says(Request(id="ask-1", body=WRITE))
    written = said.wire["message"]["request"]
    assert written.keys() == {"subtype", "tool_name", "input", "tool_use_id"}
    assert said.heard.body.permission_suggestions is None


@pytest.mark.shows("004-36")
@pytest.mark.parametrize("id", ["req123", None])
def test_a_permission_request_may_come_bare_and_even_without_an_id(
    talk: Talk, id: str | None
) -> None:
    wire = {**EXAMPLES["004-ex-15"]}
    del wire["request_id"]
    heard = talk.client_hears(wire if id is None else {**wire, "request_id": id})
    assert heard.body == CanUseTool("Bash", {"command": "date"}, "toolu_1")
    assert talk.client.owed == {heard.id: heard}
    answer = json.loads(talk.client.send(Answer(heard.id, PermissionResultDeny("No."))))
    assert answer["response"].get("request_id") == id
    assert talk.client.owed == {}


@pytest.mark.shows("004-32", "004-33", "004-36", "004-37", "004-38")
def test_a_question_comes_as_a_permission_request(talk: Talk) -> None:
    body = talk.client_hears(EXAMPLES["004-ex-09"]).body
    assert body.tool_name == "AskUserQuestion"
    assert body.tool_use_id == "toolu_abc"
    assert questions_of(body.input) == [
        Question(
            question=PROCEED,
            header="Confirm",
            options=[
                QuestionOption("Yes", "Proceed with the action"),
                QuestionOption("No", "Cancel"),
            ],
            multi_select=False,
        )
    ]
    said = Talk("envelope").cli_says(Request(id="ask-1", body=body))
    assert said.wire["message"]["request"] == EXAMPLES["004-ex-09"]["request"]


@pytest.mark.shows("004-39")
def test_a_user_message_comes_back_without_ids(talk: Talk) -> None:
    prompt = talk.client_says(UserMessage.of("User's message")).heard
    echo = UserMessage.of(prompt.content)
    assert talk.cli_says(echo) == Said(EXAMPLES["004-ex-10"], echo)


@pytest.mark.shows("004-39")
def test_a_user_message_may_come_back_with_ids(talk: Talk) -> None:
    echo = UserMessage.of([TextBlock("Hi")], uuid="message-uuid", session_id="session-uuid")
    said = talk.cli_says(echo)
    assert said.heard == echo
    assert said.wire["uuid"] == "message-uuid"
    assert said.wire["session_id"] == "session-uuid"


@pytest.mark.shows("004-41", "004-42", "004-43")
def test_a_tool_that_has_ended_well_is_reported_in_a_user_message(talk: Talk) -> None:
    block = ToolResultBlock("toolu_xyz", "Tool output or error message", is_error=False)
    message = UserMessage.of([block], tool_use_result="Success or Error: message")
    assert talk.cli_says(message) == Said(EXAMPLES["004-ex-11"], message)


@pytest.mark.shows("004-41", "004-42")
def test_a_tool_that_has_ended_badly_is_reported_in_a_user_message(talk: Talk) -> None:
    block = ToolResultBlock("toolu_xyz", "No such file", is_error=True)
    said = talk.cli_says(UserMessage.of([block]))
    assert said.wire["message"]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "toolu_xyz",
            "content": "No such file",
            "is_error": True,
        }
    ]
    assert said.heard.content == [block]


@pytest.mark.shows("004-47")
def test_an_assistant_message_may_have_no_ids(talk: Talk) -> None:
    message = AssistantMessage(
        message=APIMessage("assistant", [TextBlock("2 + 2 = 4")], stop_reason="end_turn")
    )
    assert talk.cli_says(message) == Said(EXAMPLES["004-ex-14"], message)


# --- flows ---------------------------------------------------------------------------------------


@pytest.mark.shows("004-50")
def test_a_request_of_the_cli_stays_open_until_it_is_answered(talk: Talk) -> None:
    request = talk.cli_asks(WRITE, "req123")
    assert talk.client.owed == {"req123": request}
    assert not talk.settled
    talk.cli_says(AssistantMessage(message=APIMessage("assistant", [TextBlock("Meanwhile")])))
    assert talk.client.owed == {"req123": request}
    talk.client_says(Answer("req123", PermissionResultAllow(WRITE.input)))
    assert talk.client.owed == talk.cli.asked == {}


@pytest.mark.shows("004-50")
def test_a_request_of_the_host_stays_open_until_it_is_answered(talk: Talk) -> None:
    request = talk.client_asks(Interrupt(), "req123")
    assert talk.client.asked == {"req123": request}
    assert not talk.settled
    talk.client_says(UserMessage.of("Meanwhile"))
    assert talk.client.asked == {"req123": request}
    talk.cli_says(Answer("req123", InterruptResult()))
    assert talk.client.asked == talk.cli.owed == {}
