"""What either side asks of the other."""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import msgspec
import pytest
from tests.wire.roundtrip import (
    Example,
    assert_complete,
    assert_same_again,
    names,
    structs_of,
    with_minimal,
)

from claudewire.wire import (
    REQUESTS,
    UNKNOWN,
    Ack,
    AgentDefinition,
    Body,
    DialogResult,
    HookOutput,
    Initialize,
    InterruptResult,
    MatchedAskRule,
    McpHttpServerConfig,
    McpSdkServerConfig,
    McpServerManifest,
    McpServerToolPolicy,
    McpSSEServerConfig,
    McpStdioServerConfig,
    PermissionResult,
    PluginConfig,
    RequestBody,
    SdkMcpServerConfig,
    SetHasSubscribers,
    SetMaxThinkingTokens,
    SetModel,
    SetModelResult,
    UnknownRequest,
    answer_type,
)
from claudewire.wire.types import cli_requests, configs, host_requests, requests

POLICY: dict[str, Any] = {
    "name": "add",
    "permission_policy": "always_allow",
    "org_max_permission": "ask",
}
REMOTE: dict[str, Any] = {
    "url": "https://x.test/",
    "headers": {"a": "b"},
    "tools": [POLICY],
    "timeout": 5,
    "alwaysLoad": True,
}
PLUGIN: dict[str, Any] = {"type": "local", "path": "/p", "skipMcpDiscovery": True}
MANIFEST: dict[str, Any] = {
    "initializeResult": {"protocolVersion": "2025-11-25"},
    "toolsListResult": {"tools": []},
}
AGENT: dict[str, Any] = {
    "description": "Looks around",
    "prompt": "Look around.",
    "tools": ["Read"],
    "disallowedTools": ["Bash"],
    "model": "haiku",
    "mcpServers": ["calc", {"own": {"command": "x"}}],
    "criticalSystemReminder_EXPERIMENTAL": "r",
    "skills": ["s"],
    "initialPrompt": "go",
    "maxTurns": 3,
    "autoCompactWindow": 1000,
    "background": True,
    "omitClaudeMd": True,
    "memory": "project",
    "effort": "high",
    "permissionMode": "plan",
    "observer": "o",
    "observerMessage": "m",
}
ASK_RULE: dict[str, Any] = {
    "source": "session",
    "tool_name": "Bash",
    "rule_content": "rm:*",
}
SDK_SERVER: dict[str, Any] = {"timeout": 1.5, "tools": [POLICY]}

PARTS: list[Example] = [
    (McpServerToolPolicy, POLICY),
    (
        McpStdioServerConfig,
        {
            "type": "stdio",
            "command": "x",
            "args": ["-v"],
            "env": {"A": "b"},
            "timeout": 5,
            "alwaysLoad": True,
        },
    ),
    (McpSSEServerConfig, {"type": "sse", **REMOTE}),
    (McpHttpServerConfig, {"type": "http", **REMOTE}),
    (McpSdkServerConfig, {"type": "sdk", "name": "calc", "timeout": 5, "tools": [POLICY]}),
    (SdkMcpServerConfig, SDK_SERVER),
    (McpServerManifest, MANIFEST),
    (PluginConfig, PLUGIN),
    (AgentDefinition, AGENT),
    (MatchedAskRule, ASK_RULE),
]

BODIES: dict[str, dict[str, Any]] = {
    "can_use_tool": {
        "tool_name": "Bash",
        "input": {"command": "ls"},
        "tool_use_id": "toolu_1",
        "permission_suggestions": [{"type": "setMode", "mode": "acceptEdits"}],
        "blocked_path": "/private",
        "decision_reason": "r",
        "decision_reason_type": "rule",
        "classifier_approvable": True,
        "suppress_always_allow_rule": True,
        "server_policy_ask_only": True,
        "default_to_no": True,
        "matched_ask_rule": ASK_RULE,
        "title": "t",
        "display_name": "d",
        "description": "s",
        "agent_id": "a1",
        "mcp_server": {"name": "calc", "source": "sdk"},
        "requires_user_interaction": True,
    },
    "hook_callback": {
        "callback_id": "hook_0",
        "input": {"hook_event_name": "Stop", "session_id": "s"},
        "tool_use_id": "toolu_1",
    },
    "mcp_message": {
        "server_name": "calc",
        "message": {"jsonrpc": "2.0", "method": "notifications/initialized"},
    },
    "elicitation": {
        "mcp_server_name": "calc",
        "message": "Who?",
        "mode": "url",
        "url": "https://x.test/",
        "elicitation_id": "e1",
        "requested_schema": {"type": "object"},
        "property_order": ["name"],
        "title": "t",
        "display_name": "d",
        "description": "s",
    },
    "request_user_dialog": {
        "dialog_kind": "login",
        "payload": {"a": 1},
        "tool_use_id": "toolu_1",
    },
    "initialize": {
        "hooks": {
            "PreToolUse": [{"matcher": "*", "hookCallbackIds": ["hook_0"], "timeout": 5}],
            "Eclipse": [],
        },
        "sdkMcpServers": ["calc"],
        "sdkMcpServerConfigs": {"calc": SDK_SERVER},
        "sdkMcpServerManifests": {"calc": MANIFEST},
        "sdkMcpServerManifestsOrigin": "host_per_send",
        "mcpServers": {"a": {"command": "x"}},
        "jsonSchema": {"type": "object"},
        "systemPrompt": ["You are", "helpful."],
        "appendSystemPrompt": "Be brief.",
        "systemPromptSnapshot": False,
        "planModeInstructions": "p",
        "toolAliases": {"sh": "Bash"},
        "excludeDynamicSections": True,
        "agents": {"look": AGENT, "bare": {}},
        "title": "t",
        "skills": ["s"],
        "promptSuggestions": True,
        "agentProgressSummaries": True,
        "forwardSubagentText": True,
        "supportedDialogKinds": ["login"],
        "perTaskStopAffordance": True,
        "plugins": [PLUGIN],
    },
    "interrupt": {"cancel_queued": True},
    "end_session": {"reason": "done"},
    "set_permission_mode": {"mode": "plan"},
    "set_model": {"model": "opus"},
    "set_max_thinking_tokens": {"max_thinking_tokens": 1000, "thinking_display": "omitted"},
    "rename_session": {"title": "t", "source": "host", "session_id": "s"},
    "generate_session_title": {"description": "d", "persist": False},
    "set_color": {"color": "red"},
    "get_context_usage": {"detail": "full"},
    "get_session_cost": {},
    "get_usage": {"skip_behaviors": True},
    "list_models": {},
    "get_binary_version": {},
    "side_question": {"question": "Why?"},
    "mcp_status": {"liveReply": True},
    "mcp_call": {
        "tool": "mcp__calc__add",
        "arguments": {"a": 7},
        "expires_at": "2026-11-16T00:00:00Z",
        "timeout_ms": 1000,
        "result_not_for_model": True,
        "check_permissions": True,
        "input_files": [{"name": "i", "lane_path": "/i"}],
        "output_files": [{"name": "o", "lane_path": "/o", "if_match": "e"}],
    },
    "mcp_read_resource": {"serverName": "calc", "uri": "ui://a"},
    "mcp_set_servers": {"servers": {"a": {"command": "x"}}},
    "mcp_reconnect": {"serverName": "calc"},
    "mcp_toggle": {"serverName": "calc", "enabled": False},
    "file_suggestions": {"query": "REA"},
    "rewind_files": {"user_message_id": "u1", "dry_run": True},
    "cancel_async_message": {"message_uuid": "u1"},
    "read_file": {"path": "/a", "max_bytes": 10, "encoding": "base64"},
    "seed_read_state": {"path": "/a", "mtime": 1763251200123.5},
    "register_repo_root": {
        "directory": "/p",
        "reload_claude_md": True,
        "reload_plugins": True,
        "reload_skills": True,
    },
    "reload_plugins": {
        "hold_on_cache_impact": True,
        "add_plugins": [PLUGIN],
        "refuse_if_busy": True,
    },
    "reload_skills": {},
    "reload_output_styles": {},
    "set_has_subscribers": {"has_subscribers": None},
    "stop_task": {"task_id": "b1"},
    "background_tasks": {"tool_use_id": "toolu_1"},
    "get_task_output": {"task_id": "b1"},
    "apply_flag_settings": {"settings": {"model": None}},
    "update_settings": {"source": "userSettings", "settings": {"outputStyle": "default"}},
    "get_settings": {},
    "get_hooks_listing": {},
    "list_permission_rules": {},
}
BODY_EXAMPLES: list[Example] = [
    *((REQUESTS[subtype], {"subtype": subtype, **its}) for subtype, its in BODIES.items()),
    (UnknownRequest, {"subtype": UNKNOWN, "raw": {"subtype": "dance"}}),
]
ALL = PARTS + BODY_EXAMPLES

DECODER = msgspec.json.Decoder(Body)


def ids(examples: list[Example]) -> list[str]:
    return names(with_minimal(examples))


def written(body: RequestBody[Any]) -> Any:
    return json.loads(msgspec.json.encode(body))


@pytest.mark.parametrize("example", with_minimal(BODY_EXAMPLES), ids=ids(BODY_EXAMPLES))
def test_a_request_is_told_by_its_subtype_and_written_as_it_was(example: Example) -> None:
    assert_same_again(example, Body)


@pytest.mark.parametrize("example", with_minimal(PARTS), ids=ids(PARTS))
def test_a_part_is_written_as_it_was_read(example: Example) -> None:
    assert_same_again(example)


@pytest.mark.parametrize("example", ALL, ids=names(ALL))
def test_an_example_shows_every_field(example: Example) -> None:
    assert_complete(example)


def test_every_class_has_an_example() -> None:
    classes = structs_of(cli_requests, host_requests, requests, configs)
    assert classes == {RequestBody, *(cls for cls, _ in ALL)}


def test_every_request_of_the_union_is_found_by_its_subtype() -> None:
    assert set(REQUESTS) == set(BODIES)
    assert {*REQUESTS.values(), UnknownRequest} == set(get_args(Body))


@pytest.mark.parametrize("subtype", REQUESTS)
def test_a_class_is_named_after_its_subtype(subtype: str) -> None:
    words = re.sub(r"(?<!^)(?=[A-Z])", "_", REQUESTS[subtype].__name__)
    assert words.lower() == subtype


@pytest.mark.parametrize("subtype", REQUESTS)
def test_the_answer_to_every_request_can_be_decoded(subtype: str) -> None:
    # Building the decoder resolves every annotation below the payload.
    msgspec.json.Decoder(answer_type(REQUESTS[subtype]))


@pytest.mark.parametrize(
    ("subtype", "answer"),
    [
        ("can_use_tool", PermissionResult),
        ("hook_callback", HookOutput),
        ("request_user_dialog", DialogResult),
        ("interrupt", InterruptResult),
        ("set_model", SetModelResult),
        ("stop_task", Ack),
    ],
)
def test_a_request_knows_the_type_of_its_answer(subtype: str, answer: Any) -> None:
    assert answer_type(REQUESTS[subtype]) == answer


def test_the_answer_to_an_unknown_request_may_be_anything() -> None:
    assert answer_type(UnknownRequest) is Any


def test_a_request_of_ones_own_is_written_and_has_a_typed_answer() -> None:
    class Dance(RequestBody[SetModelResult], tag="dance"):
        style: str

    assert written(Dance("tango")) == {"subtype": "dance", "style": "tango"}
    assert answer_type(Dance) is SetModelResult


def test_a_plugin_is_a_local_one_unless_said_otherwise() -> None:
    assert msgspec.to_builtins(PluginConfig("/p")) == {"type": "local", "path": "/p"}


def test_the_empty_parts_of_initialize_are_written() -> None:
    empty = {"subtype": "initialize", "systemPrompt": "", "mcpServers": {}, "agents": {}}
    assert_same_again((Initialize, {**empty, "hooks": {}}), Body)


@pytest.mark.parametrize(
    ("body", "json"),
    [
        (SetModel(), {"subtype": "set_model", "model": None}),
        (SetHasSubscribers(), {"subtype": "set_has_subscribers", "has_subscribers": None}),
        (SetMaxThinkingTokens(), {"subtype": "set_max_thinking_tokens"}),
        (
            SetMaxThinkingTokens(None),
            {"subtype": "set_max_thinking_tokens", "max_thinking_tokens": None},
        ),
    ],
)
def test_a_reset_is_written_as_null(body: RequestBody[Any], json: dict[str, Any]) -> None:
    assert written(body) == json


def test_a_model_that_is_left_out_is_a_reset() -> None:
    assert DECODER.decode(b'{"subtype":"set_model"}') == SetModel(None)


def test_a_thinking_budget_that_is_left_out_is_not_a_reset() -> None:
    left_out = DECODER.decode(b'{"subtype":"set_max_thinking_tokens"}')
    reset = DECODER.decode(b'{"subtype":"set_max_thinking_tokens","max_thinking_tokens":null}')
    assert left_out == SetMaxThinkingTokens()
    assert reset == SetMaxThinkingTokens(None)
    assert left_out != reset


@pytest.mark.parametrize(
    "line",
    [
        b'{"subtype":"dance"}',
        b'{"subtype":"can_use_tool","input":{}}',
        b'{"tool_name":"Bash"}',
    ],
)
def test_what_is_not_declared_or_not_enough_is_refused(line: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        DECODER.decode(line)
