"""The types: every class, its names on the wire, and the helpers of a few."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest
from msgspec.structs import fields
from tests.unit.wire import samples

from claudewire.wire import (
    HOOK_EVENTS,
    REQUESTS,
    APIMessage,
    AssistantMessage,
    Block,
    Body,
    CanUseTool,
    Content,
    ContentBlockDelta,
    HookInput,
    ImageBlock,
    Initialize,
    InputJsonDelta,
    Message,
    MessageParam,
    Ping,
    RequestBody,
    ResultMessage,
    SetHasSubscribers,
    SetMaxThinkingTokens,
    SetModel,
    SetModelResult,
    StatusMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    TextDelta,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    UnknownMessage,
    UnknownRequest,
    UnknownSource,
    UnknownSystemMessage,
    URLSource,
    Usage,
    UserMessage,
    answer_type,
    questions_of,
)

CAMEL = """
AccountInfo AgentDefinition BinaryVersionResult ContextCategory ContextUsageResult HookEventInfo
HookMatcher HookOutput HooksListingResult Initialize McpCallResult McpHttpServerConfig
McpReadResource McpReconnect McpResourceLink McpSSEServerConfig McpServerManifest McpServerStatus
McpStatus McpStatusResult McpStdioServerConfig McpToggle ModelInfo ModelUsage ObserverOrigin
PeerOrigin PermissionResultAllow PermissionResultDeny PermissionRule PermissionRuleEntry
PermissionRulesState PluginConfig Question RateLimitInfo ReadFileResult ResourceContents
RewindFilesResult SdkMcpServerConfig SessionKey SlashCommand TaskNotificationOrigin
"""
"""Classes with camelCase on the wire, besides those of hook outputs. The others have snake_case."""

SPELT = {
    "criticalSystemReminder_EXPERIMENTAL": "AgentDefinition",
    "isAuthenticating": "AuthStatusMessage",
    "request_id": "Cancel Request",
    "request": "Request",
    "type": "ErrorInfo InitPluginError",
    "from": "FallbackBlock ObserverOrigin PeerOrigin",
    "continue": "HookOutput",
    "async": "HookOutput",
    "permissionMode": "InitMessage StatusMessage",
    "apiKeySource": "InitMessage",
    "_meta": "McpCallResult McpToolInfo ResourceContents",
    "costUSD": "ModelUsage",
    "toolUseID": "PermissionResultAllow PermissionResultDeny",
    "updatedMCPToolOutput": "PostToolUseHookSpecificOutput",
    "mcpServers": "ReloadPluginsResult",
    "modelUsage": "ResultMessage",
    "filePath": "TranscriptMirrorMessage",
    "isReplay": "UserMessage",
    "isSynthetic": "UserMessage",
    "shouldQuery": "UserMessage",
}
"""Names that are neither, and the classes that have them."""


def name(kind: Any) -> str:
    return str(kind.__name__)


@pytest.mark.parametrize("kind", sorted(samples.STRUCTS, key=name), ids=name)
def test_class_writes_exactly_the_fields_it_reads(kind: type[msgspec.Struct]) -> None:
    for obj in (samples.minimal(kind), samples.full(kind)):
        for extra in ({}, {"undeclared": {"by": ["anybody"]}}):
            read = msgspec.json.decode(json.dumps(obj | extra), type=kind)
            assert json.loads(msgspec.json.encode(read)) == obj


def test_fields_are_spelt_as_by_the_cli() -> None:
    for kind in samples.STRUCTS:
        is_camel = kind.__name__ in CAMEL.split() or kind.__name__.endswith("HookSpecificOutput")
        for field in fields(kind):
            if kind.__name__ not in SPELT.get(field.encode_name, "").split():
                camel = re.sub(r"_(\w)", lambda it: it[1].upper(), field.name)
                assert field.encode_name == (camel if is_camel else field.name), kind


def test_messages_take_keywords_only_so_that_fields_can_be_added() -> None:
    for kind in samples.STRUCTS:
        if issubclass(kind, Message):
            with pytest.raises(TypeError, match="positional"):
                kind(*["text"])


def test_requests_and_hooks_are_named_after_their_tags() -> None:
    for subtype, kind in REQUESTS.items():
        assert kind.__name__.lower() == subtype.replace("_", "")
    assert len(REQUESTS) == 44
    assert len(set(HOOK_EVENTS)) == 33
    for event in HOOK_EVENTS:
        example = msgspec.convert(
            {"hook_event_name": event, **samples.full(kind_of_hook(event))}, HookInput
        )
        assert type(example).__name__ == f"{event}HookInput"


def kind_of_hook(event: str) -> type[msgspec.Struct]:
    (kind,) = (it for it in samples.STRUCTS if it.__name__ == f"{event}HookInput")
    return kind


# --- messages ------------------------------------------------------------------------------------


def test_assistant_message_shows_the_parts_of_its_message() -> None:
    blocks: list[Block] = [
        TextBlock("Let me "),
        TextBlock("look."),
        ToolUseBlock("toolu_1", "Read", {}),
    ]
    inner = APIMessage(
        "assistant", blocks, id="msg_1", model="m", stop_reason="tool_use", usage=Usage(1, 2)
    )
    message = AssistantMessage(message=inner)
    assert (message.text, message.content) == ("Let me look.", blocks)
    assert (message.model, message.message_id, message.usage) == ("m", "msg_1", Usage(1, 2))
    assert message.stop_reason == "tool_use"
    assert AssistantMessage(message=APIMessage("assistant", "Hi")).content == [TextBlock("Hi")]


def test_user_message_is_made_of_content() -> None:
    message = UserMessage.of("Hello", session_id="", should_query=False)
    assert message.message == MessageParam("user", "Hello")
    assert (message.content, message.text) == ("Hello", "Hello")
    assert msgspec.to_builtins(message)["shouldQuery"] is False


@pytest.mark.parametrize(
    ("result", "ok"),
    [
        (ResultMessage(subtype="success", is_error=False), True),
        (ResultMessage(subtype="success"), True),
        (ResultMessage(subtype="success", is_error=True), False),
        (ResultMessage(subtype="error_max_turns", is_error=False), False),
        (ResultMessage(subtype="success", terminal_reason="aborted_tools"), False),
    ],
)
def test_result_is_ok_only_as_a_success_without_an_error(result: ResultMessage, ok: bool) -> None:
    assert result.ok is ok
    assert result.text == ""


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (ContentBlockDelta(0, TextDelta("Hi")), "Hi"),
        (ContentBlockDelta(0, InputJsonDelta("{")), ""),
        (Ping(), ""),
    ],
)
def test_stream_event_shows_the_text_it_adds(event: Any, text: str) -> None:
    assert StreamEvent(event=event).text == text


def test_system_message_has_its_subtype_and_its_object() -> None:
    message = StatusMessage(status="compacting")
    assert message.subtype == "status"
    assert message.data == {"type": "system", "subtype": "status", "status": "compacting"}
    for data, subtype in (({"subtype": "new"}, "new"), ({"subtype": 5}, None)):
        unknown = UnknownSystemMessage(data=data)
        assert isinstance(unknown, SystemMessage)
        assert unknown.subtype == subtype
    assert UnknownMessage(data={"type": "new"}).kind == "new"


def test_numbers_stay_as_they_were_written() -> None:
    line = b'{"type":"result","subtype":"success","duration_ms":5000,"ttft_ms":0.5}'
    result = msgspec.json.decode(line, type=ResultMessage)
    assert (repr(result.duration_ms), repr(result.ttft_ms)) == ("5000", "0.5")


def test_text_of_content_leaves_out_other_blocks() -> None:
    pictures = ImageBlock(URLSource("data:,")), ImageBlock(UnknownSource({"type": "hologram"}))
    content: Content = [TextBlock("a"), *pictures, UnknownBlock({"type": "x"}), TextBlock("b")]
    assert UserMessage.of(content).text == ToolResultBlock("t", content).text == "ab"
    assert ToolResultBlock("t").text == ""


# --- requests ------------------------------------------------------------------------------------


def test_users_can_declare_requests() -> None:
    class Dance(RequestBody[SetModelResult], tag="dance"):
        style: str

    assert msgspec.to_builtins(Dance("tango")) == {"subtype": "dance", "style": "tango"}
    assert answer_type(Dance) is SetModelResult
    assert answer_type(UnknownRequest) is Any


@pytest.mark.parametrize(
    ("body", "written"),
    [
        (SetModel(), {"subtype": "set_model", "model": None}),
        (SetHasSubscribers(), {"subtype": "set_has_subscribers", "has_subscribers": None}),
        (SetMaxThinkingTokens(), {"subtype": "set_max_thinking_tokens"}),
        (
            SetMaxThinkingTokens(None),
            {"subtype": "set_max_thinking_tokens", "max_thinking_tokens": None},
        ),
        (
            Initialize(system_prompt="", agents={}),
            {"subtype": "initialize", "systemPrompt": "", "agents": {}},
        ),
        (CanUseTool("Bash", {}), {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}}),
    ],
)
def test_null_and_empty_values_are_written_where_they_matter(
    body: RequestBody[Any], written: dict[str, Any]
) -> None:
    assert msgspec.to_builtins(body) == written
    assert msgspec.convert(written, Body) == body


def test_questions_are_read_from_the_input_of_the_tool() -> None:
    options = [{"label": "Red"}, {"label": "Green", "description": "Like grass"}]
    asked = [{"question": "Which?", "header": "Color", "options": options}, {"question": "Sure?"}]
    first, second = questions_of({"questions": asked, "answers": 1})
    assert (first.question, first.header, first.multi_select) == ("Which?", "Color", False)
    assert [it.label for it in first.options] == ["Red", "Green"]
    assert second.options == []


@pytest.mark.parametrize(
    "input", [{}, {"questions": "Which?"}, {"questions": [{"header": "Color"}]}, {"command": "ls"}]
)
def test_malformed_questions_are_no_questions(input: dict[str, Any]) -> None:
    assert questions_of(input) == []
