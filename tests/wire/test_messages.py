"""What the CLI says, apart from system messages."""

from __future__ import annotations

import inspect
from typing import Any, Union, get_args

import msgspec
import pytest
from msgspec import Struct
from tests.wire import samples
from tests.wire.roundtrip import assert_same_again, structs_of

from claudewire import wire
from claudewire.wire import (
    MESSAGES,
    UNKNOWN,
    APIEvent,
    APIMessage,
    AssistantMessage,
    ContentBlockDelta,
    Delta,
    ErrorMessage,
    ImageBlock,
    InputJsonDelta,
    Message,
    MessageOrigin,
    MessageParam,
    ModelUsage,
    PeerOrigin,
    Ping,
    RateLimitInfo,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    TextDelta,
    ToolUseBlock,
    UnknownMessage,
    UnknownSystemMessage,
    URLSource,
    Usage,
    UserMessage,
)
from claudewire.wire.types import messages, stream, usage

CLASSES = sorted(structs_of(messages, stream, usage), key=lambda kind: kind.__name__)

ASSISTANT = """
    message parent_tool_use_id error uuid session_id request_id user_message_uuid
    user_message_uuids resume_reason resumed_from_incomplete_thinking supersedes aborted agent_id
    subagent_type task_description timestamp context_usage usage_report tool_use_meta
    is_api_error_message api_error api_error_status api_error_type
    local_command_source local_command_run local_command_outcome thinking_duration_ms
    thinking_display
"""
USER = """
    message parent_tool_use_id isSynthetic tool_use_result priority origin shouldQuery timestamp
    client_composed uuid pasted_content inline_pastes session_id agent_id subagent_type
    task_description isReplay file_attachments tool_result_meta
"""
RESULT = """
    subtype duration_ms duration_api_ms ttft_ms ttft_stream_ms time_to_request_ms
    user_message_uuid user_message_uuids resume_reason local_command request_sent_wall_ms
    first_content_frame_ms first_stream_post_ms first_stream_post_ack_ms
    first_stream_post_queue_wait_ms first_stream_post_queued_behind first_stream_post_wall_ms
    first_text_post_ms first_text_post_queue_wait_ms first_text_post_queued_behind
    first_text_post_wall_ms time_to_request_from_spawn_ms warm_spare_claimed time_origin_ms
    is_error api_error api_error_status num_turns result stop_reason total_cost_usd usage modelUsage
    permission_denials queued_turn_count structured_output deferred_tool_use terminal_reason
    result_index credential_expires_at fast_mode_state fast_mode_disabled_reason origin uuid
    session_id errors startup_failure_reason invalid_config_file
    model_usage_since_last_result subagent_stats safety_stops api_error_type
    first_request_input_tokens first_request_cache_read_input_tokens
"""
WIRE_NAMES: dict[str, str] = {
    "assistant": ASSISTANT,
    "user": USER,
    "result": RESULT,
    "stream_event": """event parent_tool_use_id uuid session_id ttft_ms user_message_uuid
        user_message_uuids resume_reason api_message_id thinking_display owed_rows
        abandoned_blocks""",
    "tool_progress": """tool_use_id tool_name parent_tool_use_id elapsed_time_seconds task_id uuid
        session_id heartbeat subagent_type subagent_retry""",
    "tool_use_summary": "summary preceding_tool_use_ids uuid session_id",
    "auth_status": "isAuthenticating output error uuid session_id",
    "rate_limit_event": "rate_limit_info uuid session_id",
    "prompt_suggestion": "suggestion uuid session_id",
    "conversation_reset": """new_conversation_id uuid session_id trigger user_message_uuid
        timestamp""",
    "active_goal": "value uuid session_id",
    "command_lifecycle": "command_uuid state uuid session_id",
    "transcript_mirror": "filePath entries uuid session_id",
    "keep_alive": "uuid session_id",
    "error": "error uuid session_id",
    "session.created": "uuid session_id",
}
CAMEL_NAMES: dict[type[Struct], str] = {
    ModelUsage: """inputTokens outputTokens thinkingTokens cacheReadInputTokens
        cacheCreationInputTokens cacheCreationEphemeral5mInputTokens
        cacheCreationEphemeral1hInputTokens webSearchRequests costUSD contextWindow
        maxOutputTokens canonicalModel provider costBasis""",
    RateLimitInfo: """status resetsAt rateLimitType utilization overageStatus overageResetsAt
        overageDisabledReason isUsingOverage overageInUse overageEnabled surpassedThreshold
        limitScope errorCode canUserPurchaseCredits hasChargeableSavedPaymentMethod""",
    PeerOrigin: "from fromMode name fromSession senderTaskId body verifiedPeerPid",
}


@pytest.mark.parametrize("kind", CLASSES)
def test_an_object_is_written_as_it_was_read(kind: type[Struct]) -> None:
    assert_same_again(samples.minimal(kind))
    assert_same_again(samples.full(kind))


def test_the_types_alone_tell_the_messages_apart() -> None:
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(
        Union[MESSAGES]  # noqa: UP007 - made from a list
    )
    for kind in MESSAGES:
        line = msgspec.json.encode(samples.minimal(kind)[1])
        assert type(decoder.decode(line)) is kind


def test_no_message_is_forgotten() -> None:
    known = {kind for kind in CLASSES if issubclass(kind, Message)} - {
        SystemMessage,
        UnknownMessage,
        UnknownSystemMessage,
    }
    assert known == set(MESSAGES)


@pytest.mark.parametrize("kind", MESSAGES)
def test_the_fields_of_a_message_have_the_names_that_the_cli_writes(kind: type[Message]) -> None:
    declared = WIRE_NAMES[str(kind.__struct_config__.tag)].split()
    assert set(kind.__struct_encode_fields__) == set(declared)


@pytest.mark.parametrize("kind", CAMEL_NAMES)
def test_camel_case_is_spelt_as_the_cli_does(kind: type[Struct]) -> None:
    assert set(kind.__struct_encode_fields__) == set(CAMEL_NAMES[kind].split())


@pytest.mark.parametrize(
    ("union", "tags"),
    [
        (
            MessageOrigin,
            """human channel peer task-notification coordinator unclassified observer
            auto-continuation observer-activity""",
        ),
        (
            APIEvent,
            """message_start content_block_start content_block_delta content_block_stop
            message_delta message_stop ping error""",
        ),
        (
            Delta,
            """text_delta input_json_delta thinking_delta signature_delta citations_delta
            compaction_delta""",
        ),
    ],
)
def test_a_union_has_every_known_member_and_one_for_the_rest(union: Any, tags: str) -> None:
    members = get_args(union)
    assert {kind.__struct_config__.tag for kind in members} == {*tags.split(), UNKNOWN}
    for kind in members:
        assert_same_again(samples.full(kind), into=union)


def test_an_assistant_message_gives_what_its_message_holds() -> None:
    line = b"""{"type":"assistant","parent_tool_use_id":null,"uuid":"u","session_id":"s",
        "message":{"model":"sonnet","id":"msg_1","type":"message","role":"assistant","content":[
            {"type":"text","text":"Let me "},{"type":"text","text":"look."},
            {"type":"tool_use","id":"toolu_1","name":"Read","input":{}}],
        "stop_reason":"tool_use","usage":{"input_tokens":100,"output_tokens":50}}}"""
    message = msgspec.json.decode(line, type=AssistantMessage)
    assert message.text == "Let me look."
    assert message.content[2] == ToolUseBlock("toolu_1", "Read", {})
    assert message.model == "sonnet"
    assert message.message_id == "msg_1"
    assert message.usage == Usage(100, 50)
    assert message.stop_reason == "tool_use"
    assert message.parent_tool_use_id is None


def test_the_content_of_an_assistant_message_is_always_blocks() -> None:
    assert AssistantMessage(message=APIMessage("assistant", "Hi")).content == [TextBlock("Hi")]


def test_a_user_message_is_made_of_content_alone() -> None:
    message = UserMessage.of("Hello", session_id="", should_query=False)
    assert message.message == MessageParam("user", "Hello")
    assert (message.content, message.text) == ("Hello", "Hello")
    assert msgspec.to_builtins(message) == {
        "type": "user",
        "session_id": "",
        "message": {"role": "user", "content": "Hello"},
        "parent_tool_use_id": None,
        "shouldQuery": False,
    }
    picture = ImageBlock(URLSource("data:,"))
    assert UserMessage.of([TextBlock("See "), picture, TextBlock("this")]).text == "See this"


@pytest.mark.parametrize(
    ("subtype", "is_error", "ok"),
    [
        ("success", False, True),
        ("success", None, True),
        ("success", True, False),
        ("error_max_turns", False, False),
        ("error_during_execution", True, False),
    ],
)
def test_a_result_is_good_only_if_it_is_a_success_without_an_error(
    subtype: str, is_error: bool | None, ok: bool
) -> None:
    assert ResultMessage(subtype=subtype, is_error=is_error).ok is ok


@pytest.mark.parametrize("reason", ["aborted_tools", "aborted_streaming"])
def test_a_turn_that_was_stopped_is_no_success_though_the_cli_calls_it_one(reason: str) -> None:
    result = ResultMessage(subtype="success", is_error=False, terminal_reason=reason)
    assert result.was_aborted
    assert not result.ok


def test_a_result_has_a_text_even_if_it_says_nothing() -> None:
    assert ResultMessage(subtype="success", result="Done").text == "Done"
    assert ResultMessage(subtype="error_max_turns").text == ""


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (ContentBlockDelta(0, TextDelta("Hi")), "Hi"),
        (ContentBlockDelta(0, InputJsonDelta("{")), ""),
        (Ping(), ""),
    ],
)
def test_a_stream_event_gives_the_text_that_it_adds(event: APIEvent, text: str) -> None:
    assert StreamEvent(event=event).text == text


def test_an_error_says_what_kind_it_is() -> None:
    line = b'{"type":"error","error":{"type":"invalid_request","message":"What?"}}'
    error = msgspec.json.decode(line, type=ErrorMessage).error
    assert (error.kind, error.message) == ("invalid_request", "What?")


def test_a_number_stays_as_it_was_written() -> None:
    line = b'{"type":"result","subtype":"success","duration_ms":5000,"ttft_ms":0.5}'
    result = msgspec.json.decode(line, type=ResultMessage)
    assert (result.duration_ms, result.ttft_ms) == (5000, 0.5)
    assert isinstance(result.duration_ms, int)


def test_every_message_is_made_with_keywords_alone() -> None:
    """New fields may come anywhere."""
    public = (getattr(wire, name) for name in wire.__all__)
    kinds = [it for it in public if isinstance(it, type) and issubclass(it, Message)]
    assert len(kinds) > 50
    for kind in kinds:
        how = {it.kind for it in inspect.signature(kind).parameters.values()}
        assert how == {inspect.Parameter.KEYWORD_ONLY}, kind
