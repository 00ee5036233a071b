"""Every JSON example of the four documents, through both ends of a conversation."""

from __future__ import annotations

import json

import pytest
from conformance import Example, examples
from msgspec.structs import replace

from claudewire.wire import (
    AccountInfo,
    AddRules,
    Answer,
    APIMessage,
    AssistantMessage,
    Base64Source,
    Body,
    CanUseTool,
    Connection,
    ContentBlockDelta,
    ErrorInfo,
    ErrorMessage,
    Event,
    Failure,
    HookMatcher,
    ImageBlock,
    Initialize,
    InitializeResult,
    InitMessage,
    InvalidLine,
    Malformed,
    McpMessage,
    McpResponse,
    MessageParam,
    ModelInfo,
    PermissionHint,
    PermissionResultAllow,
    PermissionRule,
    Request,
    ResultMessage,
    Role,
    SlashCommand,
    StreamEvent,
    TextBlock,
    TextDelta,
    ToolResultBlock,
    UnexpectedMessage,
    Unknown,
    Usage,
    UserMessage,
    codec,
)
from claudewire.wire.dialects import DIALECTS, MODERN
from claudewire.wire.dialects.base import WriteContext

ASK = {
    "questions": [
        {"question": "Which color do you prefer?", "options": [{"label": "Green"}]},
        {
            "question": "Which ones?",
            "multiSelect": True,
            "options": [{"label": "Option1"}, {"label": "Option2"}],
        },
    ]
}

# Document 004 shows the same request wrapped and bare. The bare form is the modern one.
BARE = {"004-ex-09", "004-ex-15"}


def asked(example: Example) -> Body | None:
    """The request that an example answers, if it is an answer."""
    if not example.object["type"].endswith("response"):
        return None
    response = example.object["response"]
    payload = response.get("response", {})
    if "mcp_response" in payload:
        return McpMessage("calculator", {"jsonrpc": "2.0", "id": "msg_1", "method": "tools/call"})
    if "answers" in payload.get("updatedInput", {}):
        return CanUseTool("AskUserQuestion", ASK, tool_use_id="toolu_xxx")
    if "behavior" in payload:
        return CanUseTool("Bash", {"command": "ls"}, tool_use_id="toolu_xxx")
    return Initialize()


MEANING: dict[str, Event] = {
    "000-ex-02": Answer(
        id="unique-id",
        body=InitializeResult(
            commands=[
                SlashCommand(name="compact", description="...", argument_hint="..."),
                SlashCommand(name="context", description="...", argument_hint=""),
            ],
            output_style="default",
            available_output_styles=["default", "Explanatory", "Learning"],
            models=[
                ModelInfo(
                    value="default", display_name="Default (recommended)", description="Opus 4.5"
                ),
                ModelInfo(value="sonnet", display_name="Sonnet", description="Sonnet 4.5"),
                ModelInfo(value="haiku", display_name="Haiku", description="Haiku 4.5"),
            ],
            account=AccountInfo(
                email="user@example.com", organization="Org Name", subscription_type="Claude Max"
            ),
        ),
    ),
    "000-ex-05": Request(
        id="uuid",
        body=CanUseTool(
            tool_name="Bash",
            input={
                "command": "ls /tmp/test/",
                "description": "List contents of /tmp/test/ directory",
            },
            tool_use_id="toolu_xxx",
            permission_suggestions=[
                AddRules(
                    rules=[PermissionRule(tool_name="Read", rule_content="//private/tmp/test/**")],
                    behavior="allow",
                    destination="session",
                )
            ],
            blocked_path="/private/tmp/test",
        ),
    ),
    "000-ex-06": Answer(
        id="matching-uuid",
        body=PermissionResultAllow(
            updated_input={
                "command": "ls /tmp/test/",
                "description": "List contents of /tmp/test/ directory",
            },
            updated_permissions=[],
            tool_use_id="toolu_xxx",
        ),
    ),
    "001-ex-01": Request(
        id="uuid",
        body=Initialize(
            hooks={}, mcp_servers={}, system_prompt="optional custom system prompt", agents={}
        ),
    ),
    "001-ex-03": UserMessage(
        message=MessageParam(
            role="user",
            content=[
                TextBlock(text="What is in this image?"),
                ImageBlock(source=Base64Source(media_type="image/png", data="...")),
            ],
        ),
        parent_tool_use_id=None,
    ),
    "001-ex-06": Answer(
        id="original-request-id",
        body=PermissionResultAllow(
            updated_input={}, updated_permissions=[], tool_use_id="tool-use-uuid"
        ),
    ),
    "001-ex-08": Answer(
        id="uuid",
        body=InitializeResult(
            commands=[
                SlashCommand(name="/help", description="..."),
                SlashCommand(name="/clear", description="..."),
            ],
            output_style="markdown",
            available_output_styles=["markdown", "json"],
            models=[
                ModelInfo(value="sonnet", display_name="Sonnet (Fast)"),
                ModelInfo(value="opus", display_name="Opus (Powerful)"),
            ],
            account=AccountInfo(email="user@example.com", subscription_type="pro"),
        ),
    ),
    "001-ex-10": InitMessage(
        session_id="session-uuid",
        tools=["Bash", "Read"],
        tool_descriptions={"Bash": "Execute bash commands", "Read": "Read file contents"},
        mcp_servers=[],
    ),
    "001-ex-11": AssistantMessage(
        uuid="message-uuid",
        session_id="session-uuid",
        message=APIMessage(
            role="assistant",
            content=[TextBlock(text="Hello! How can I help you?")],
            type="message",
            model="sonnet",
            stop_reason=None,
            usage=Usage(
                input_tokens=100,
                output_tokens=50,
                cache_creation_input_tokens=0,
                cache_read_input_tokens=0,
            ),
        ),
        parent_tool_use_id=None,
    ),
    "001-ex-12": UserMessage(
        uuid="message-uuid",
        session_id="session-uuid",
        message=MessageParam(
            role="user",
            content=[ToolResultBlock(tool_use_id="tool-use-uuid", content="Command output...")],
        ),
        parent_tool_use_id=None,
    ),
    "001-ex-13": ResultMessage(
        session_id="session-uuid",
        subtype="success",
        is_error=False,
        num_turns=1,
        usage=Usage(input_tokens=100, output_tokens=50),
        duration_ms=5200.0,
    ),
    "001-ex-14": ResultMessage(
        session_id="session-uuid",
        subtype="error_max_turns",
        is_error=True,
        errors=["Maximum turns exceeded"],
    ),
    "001-ex-15": Request(
        id="callback-uuid",
        body=CanUseTool(
            tool_name="Bash",
            input={"command": "ls -la"},
            tool_use_id="tool-use-uuid",
            permission_suggestions=[
                AddRules(
                    rules=[PermissionRule(tool_name="Bash", rule_content="ls *")],
                    behavior="allow",
                    destination="session",
                )
            ],
        ),
    ),
    "001-ex-16": ErrorMessage(
        error=ErrorInfo(kind="SESSION_NOT_FOUND", message="Session not found")
    ),
    "002-ex-03": ResultMessage(
        session_id="abc123", subtype="success", is_error=False, total_cost_usd=0.001
    ),
    "002-ex-04": Request(
        id="req_1",
        body=Initialize(
            hooks={"PreToolUse": [HookMatcher(hook_callback_ids=["hook_0"], matcher="*")]},
            sdk_mcp_servers=["calculator", "trading"],
        ),
    ),
    "002-ex-06": Request(
        id="perm_1", body=CanUseTool(tool_name="Bash", input={"command": "rm -rf /tmp/test"})
    ),
    "002-ex-10": Answer(
        id="mcp_1",
        body=McpResponse(
            mcp_response={
                "jsonrpc": "2.0",
                "id": "msg_1",
                "result": {"content": [{"type": "text", "text": "11"}], "isError": False},
            }
        ),
    ),
    "002-ex-13": Failure(id="req_1", error="invalid request format"),
    "004-ex-05": Answer(
        id="matching-request-id",
        body=PermissionResultAllow(
            updated_input={
                "questions": [
                    {"question": "Which color do you prefer?", "options": [{"label": "Green"}]},
                    {
                        "question": "Which ones?",
                        "multiSelect": True,
                        "options": [{"label": "Option1"}, {"label": "Option2"}],
                    },
                ],
                "answers": {
                    "Which color do you prefer?": "Yes",
                    "Which ones?": ["Option1", "Option2"],
                },
            },
            tool_use_id="tool-use-id-from-request",
        ),
    ),
    "004-ex-07": StreamEvent(
        event=ContentBlockDelta(index=0, delta=TextDelta(text="partial text")),
        parent_tool_use_id=None,
    ),
    "004-ex-08": Request(
        id="unique-request-id",
        body=CanUseTool(
            tool_name="Bash",
            input={"command": "ls -la"},
            tool_use_id="toolu_xyz",
            permission_suggestions=[PermissionHint(behavior="allow", message="Safe to run")],
        ),
    ),
    "004-ex-11": UserMessage(
        message=MessageParam(
            role="user",
            content=[
                ToolResultBlock(
                    tool_use_id="toolu_xyz", content="Tool output or error message", is_error=False
                )
            ],
        ),
        parent_tool_use_id=None,
        tool_use_result="Success or Error: message",
    ),
}


class Pair:
    """Two ends that speak the dialect of an example, ready for it to be said."""

    def __init__(self, example: Example) -> None:
        name = "modern" if example.id in BARE else example.dialect
        sender = Role.CLIENT if example.direction == ">" else Role.CLI
        self.sender = Connection(sender, dialect=name)
        self.receiver = Connection(sender.other, dialect=name)
        if example.object["type"] == "session.send":
            self.sender.send(UserMessage.of("the prompt before"))
        body = asked(example)
        if body is not None:
            response = example.object["response"]
            id = response.get("request_id") or example.object["request_id"]
            self.sender.receive_data(self.receiver.send(Request(id=id, body=body)))


def receive(pair: Pair, example: Example) -> Event:
    (event,) = pair.receiver.receive_data(json.dumps(example.object).encode() + b"\n")
    return event


def parts(value: object) -> list[object]:
    """Everything inside an event, at any depth."""
    if isinstance(value, list | tuple):
        return [part for item in value for part in parts(item)]
    if hasattr(value, "__struct_fields__"):
        inner = [getattr(value, name) for name in value.__struct_fields__]
        return [value, *parts(inner)]
    return [value]


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.id)
def test_every_example_is_understood_completely(example: Example) -> None:
    event = receive(Pair(example), example)

    assert not isinstance(event, InvalidLine | Malformed | UnexpectedMessage)
    assert not [part for part in parts(event) if isinstance(part, Unknown)]
    assert event.problems == ()
    assert event.raw == example.object
    if isinstance(event, Answer):
        assert hasattr(event.body, "__struct_fields__")


@pytest.mark.parametrize(
    "example", [it for it in examples() if it.id in MEANING], ids=lambda example: example.id
)
def test_example_has_this_meaning(example: Example) -> None:
    event = receive(Pair(example), example)
    if isinstance(event, Answer | Failure):
        event = replace(event, request=None)
    assert event == MEANING[example.id]


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.id)
def test_every_example_is_written_as_it_was(example: Example) -> None:
    pair = Pair(example)
    event = receive(pair, example)
    if example.id == "004-ex-09":  # it has no id, which we would not send
        message, _ = codec.decode(json.dumps(example.object).encode()) or (None, None)
        assert isinstance(message, Request)
        written = codec.encode(message, MODERN, WriteContext(Role.CLI))
    elif isinstance(event, Answer):
        written = pair.sender.send(Answer(event.id, event.body))
    elif isinstance(event, Failure):
        written = pair.sender.send(Failure(event.id, event.error, event.code))
    else:
        written = pair.sender.send(event)

    assert json.loads(written) == example.object


def test_examples_are_of_all_four_dialects() -> None:
    assert {example.dialect for example in examples()} == set(DIALECTS)
