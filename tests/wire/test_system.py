"""System messages."""

from __future__ import annotations

import inspect

import msgspec
import pytest
from msgspec import Struct
from tests.wire import samples
from tests.wire.roundtrip import Example, assert_same_again, structs_of

from claudewire.wire import (
    SYSTEM,
    HookEventMessage,
    HookStartedMessage,
    InitMessage,
    McpResourceLink,
    Message,
    StatusMessage,
    SystemMessage,
    TaskPatch,
    TaskUpdatedMessage,
    UnknownSystemMessage,
)
from claudewire.wire.types import messages, system

CLASSES = sorted(structs_of(system), key=lambda kind: kind.__name__)
MESSAGES = sorted(
    (it for it in structs_of(messages, system) if issubclass(it, Message)),
    key=lambda kind: kind.__name__,
)
ABSTRACT = {SystemMessage, HookEventMessage, UnknownSystemMessage}

# Every one has a subtype, a uuid and a session_id as well.
WIRE_NAMES = {
    "init": """agents apiKeySource betas claude_code_version cwd tools mcp_servers model
        permissionMode slash_commands terminal_slash_commands output_style skills plugins
        plugin_errors fast_mode_state fast_mode_disabled_reason effort view_mode capabilities
        tool_descriptions original_cwd additional_directories memory_paths user_message_uuids
        analytics_disabled product_feedback_disabled messaging_socket_path per_turn_effort_active
        ultrathink_available ultrathink_typed_raises""",
    "compact_boundary": "compact_metadata logical_parent_uuid",
    "status": "status permissionMode compact_result compact_error user_message_uuids",
    "api_retry": "attempt max_retries retry_delay_ms error_status error no_response",
    "control_request_progress": """request_id status attempt max_retries retry_delay_ms
        error_status""",
    "model_refusal_fallback": """trigger direction scope original_model fallback_model request_id
        api_refusal_category api_refusal_explanation retracted_message_uuids
        refused_user_message_uuid content""",
    "model_refusal_no_fallback": """original_model request_id api_refusal_category
        api_refusal_explanation refused_user_message_uuid content""",
    "local_command_output": "content",
    "hook_started": "hook_id hook_name hook_event",
    "hook_progress": "hook_id hook_name hook_event stdout stderr output",
    "hook_response": "hook_id hook_name hook_event output stdout stderr exit_code outcome",
    "plugin_install": "status name error",
    "task_notification": """task_id run_id tool_use_id status reason output_file summary usage
        resource_links skip_transcript ambient""",
    "task_started": """task_id run_id tool_use_id description subagent_type is_backgrounded
        spawn_depth parent_task_id task_type workflow_name prompt skip_transcript ambient""",
    "task_updated": "task_id run_id patch",
    "task_progress": """task_id run_id tool_use_id description subagent_type usage last_tool_name
        summary""",
    "background_tasks_changed": "tasks",
    "thinking_tokens": "estimated_tokens estimated_tokens_delta user_message_uuid",
    "session_state_changed": "state sdk_host_only",
    "worker_shutting_down": "reason",
    "commands_changed": "commands",
    "notification": "key text priority color timeout_ms",
    "files_persisted": "files failed processed_at",
    "memory_recall": "mode memories",
    "elicitation_complete": "mcp_server_name elicitation_id",
    "permission_denied": """tool_name tool_use_id agent_id decision_reason_type decision_reason
        message""",
    "mirror_error": "error key",
    "informational": "content level tool_use_id prevent_continuation tag prompt_submit_outcome",
    "session_writes_lost": "error_code lost transcript_session_ids",
    "error": "error message content",
}


@pytest.mark.parametrize("kind", CLASSES)
def test_an_object_is_written_as_it_was_read(kind: type[Struct]) -> None:
    assert_same_again(samples.minimal(kind))
    assert_same_again(samples.full(kind))


def test_every_kind_is_found_by_its_subtype() -> None:
    concrete = {kind for kind in CLASSES if issubclass(kind, SystemMessage)} - ABSTRACT
    assert set(SYSTEM.values()) == concrete
    assert set(SYSTEM) == set(WIRE_NAMES)


@pytest.mark.parametrize("subtype", SYSTEM)
def test_the_fields_have_the_names_that_the_cli_writes(subtype: str) -> None:
    declared = {*WIRE_NAMES[subtype].split(), "subtype", "uuid", "session_id"}
    assert set(SYSTEM[subtype].__struct_encode_fields__) == declared


@pytest.mark.parametrize("subtype", SYSTEM)
def test_the_subtype_need_not_be_given_and_is_written(subtype: str) -> None:
    kind, obj = samples.minimal(SYSTEM[subtype])
    del obj["subtype"]
    message = msgspec.convert(obj, kind)
    assert msgspec.to_builtins(message) == {**obj, "subtype": subtype}


def test_a_short_init_is_enough() -> None:
    line = b'{"type":"system","subtype":"init","session_id":"abc123"}'
    message = msgspec.json.decode(line, type=InitMessage)
    assert (message.session_id, message.tools) == ("abc123", None)


def test_a_status_that_is_over_is_written_as_null() -> None:
    example: Example = (
        StatusMessage,
        {"type": "system", "subtype": "status", "status": None, "permissionMode": "plan"},
    )
    assert_same_again(example)


def test_data_is_the_whole_object() -> None:
    assert StatusMessage(status="compacting").data == {
        "type": "system",
        "subtype": "status",
        "status": "compacting",
    }
    unknown = UnknownSystemMessage(subtype="new", data={"type": "system", "subtype": "new"})
    assert unknown.data["subtype"] == unknown.subtype == "new"


def test_a_message_of_no_kind_in_particular_has_no_subtype() -> None:
    assert SystemMessage().subtype is None


def test_an_updated_task_has_a_status_if_that_was_updated() -> None:
    assert TaskUpdatedMessage(task_id="t", patch=TaskPatch("killed")).status == "killed"
    assert TaskUpdatedMessage(task_id="t", patch=TaskPatch(error="no")).status is None
    assert TaskUpdatedMessage(task_id="t").status is None


def test_a_hook_event_has_a_name_in_any_case() -> None:
    assert HookStartedMessage(hook_name="Stop:x", hook_event="Stop").hook_event_name == "Stop"
    assert HookStartedMessage(hook_name="Stop:x").hook_event_name == "Stop:x"
    assert HookStartedMessage().hook_event_name == ""


def test_links_to_resources_are_in_camel_case() -> None:
    assert "mimeType" in McpResourceLink.__struct_encode_fields__


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda it: it.__name__)
def test_a_message_takes_its_fields_by_name_so_that_there_can_be_more(kind: type[Struct]) -> None:
    kinds = {it.kind for it in inspect.signature(kind).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}
