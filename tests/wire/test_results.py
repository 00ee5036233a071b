"""The payloads of successful answers."""

from __future__ import annotations

import json
from typing import Any

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
    UNKNOWN,
    AccountInfo,
    Ack,
    AgentInfo,
    BackgroundTasksResult,
    BinaryVersionResult,
    CancelAsyncMessageResult,
    ContextCategory,
    ContextUsageResult,
    DialogCancelled,
    DialogCompleted,
    DialogResult,
    ElicitationResult,
    FeedbackMode,
    FileSuggestion,
    FileSuggestionsResult,
    GenerateSessionTitleResult,
    GetSettingsResult,
    GetUsageResult,
    HookEventInfo,
    HookInfo,
    HooksListingResult,
    InitializeResult,
    InterruptResult,
    ListModelsResult,
    McpCallResult,
    McpResponse,
    McpServerStatus,
    McpSetServersResult,
    McpStaging,
    McpStatusResult,
    McpToolInfo,
    ModelInfo,
    PermissionRuleEntry,
    PermissionRulesResult,
    PermissionRulesState,
    PluginInfo,
    ReadFileResult,
    ReadResourceResult,
    RegisterRepoRootResult,
    ReloadOutputStylesResult,
    ReloadPluginsResult,
    ReloadSkillsResult,
    ResourceContents,
    RewindFilesResult,
    SessionCostResult,
    SetModelResult,
    SetPermissionModeResult,
    SettingsParseError,
    SettingsSource,
    SideQuestionResult,
    SlashCommand,
    TaskOutputResult,
    UnknownDialogResult,
    WorkspaceDirectory,
)
from claudewire.wire.types import results

COMMAND: dict[str, Any] = {
    "name": "compact",
    "description": "Summarise",
    "argumentHint": "<what>",
    "aliases": ["c"],
    "builtin": True,
}
AGENT: dict[str, Any] = {"name": "Explore", "description": "Looks around", "model": "haiku"}
MODEL: dict[str, Any] = {
    "value": "opus",
    "displayName": "Opus",
    "description": "The big one",
    "resolvedModel": "claude-opus-4-5",
    "supportsEffort": True,
    "supportedEffortLevels": ["low", "high"],
    "supportsAdaptiveThinking": True,
    "supportsFastMode": False,
    "supportsAutoMode": True,
    "supportsThinkingOff": False,
}
ACCOUNT: dict[str, Any] = {
    "email": "user@example.com",
    "organization": "Org",
    "subscriptionType": "Claude Max",
    "tokenSource": "t",
    "apiKeySource": "user",
    "apiProvider": "firstParty",
}
TOOL: dict[str, Any] = {
    "name": "add",
    "description": "Adds",
    "annotations": {"readOnly": True},
    "_meta": {"ui": 1},
}
SERVER: dict[str, Any] = {
    "name": "calc",
    "status": "connected",
    "serverInfo": {"name": "calc", "version": "1.0"},
    "error": "e",
    "config": {"type": "sdk", "name": "calc"},
    "scope": "dynamic",
    "source": "sdk",
    "transport": "stdio",
    "tools": [TOOL],
}
PLUGIN: dict[str, Any] = {"name": "p", "path": "/p", "source": "local", "version": "1"}
STAGING: dict[str, Any] = {
    "ok": False,
    "outputs": [{"lane_path": "/o", "etag": "e", "bytes": 1}],
    "inputs_used": [{"lane_path": "/i", "etag": "e"}],
    "error_code": "timeout",
    "detail": "d",
    "retryable": True,
}
RESOURCE: dict[str, Any] = {
    "uri": "ui://a",
    "mimeType": "text/html",
    "text": "<p>",
    "blob": "AA==",
    "_meta": {"a": 1},
}
SUGGESTION: dict[str, Any] = {"path": "a.py", "score": 0.5}
CATEGORY: dict[str, Any] = {
    "id": "messages",
    "name": "Messages",
    "tokens": 10,
    "color": "blue",
    "isDeferred": False,
    "kind": "used",
}
PARSE_ERROR: dict[str, Any] = {"file": "/s.json", "path": "hooks", "message": "no"}
SOURCE: dict[str, Any] = {"source": "userSettings", "settings": {"model": "opus"}}
EVENT: dict[str, Any] = {
    "name": "Stop",
    "summary": "At the end",
    "supportsMatcher": False,
    "hookCount": 1,
}
HOOK: dict[str, Any] = {
    "event": "Stop",
    "matcher": "",
    "source": "userSettings",
    "sourceLabel": "User",
    "pluginName": "p",
    "type": "command",
    "displayText": "make",
    "commandText": "make",
    "contentLabel": "Command",
    "condition": "c",
    "timeout": 60,
    "statusMessage": "Making",
    "runsOnce": False,
    "runsInBackground": False,
    "disabled": True,
    "editable": {"matcher": "", "config": {}},
}
RULE: dict[str, Any] = {
    "behavior": "allow",
    "source": "session",
    "rule": "Bash(ls:*)",
    "description": {"prefix": "Any Bash command starting with", "emphasis": "ls"},
    "editability": "session",
    "notInEffect": False,
}
DIRECTORY: dict[str, Any] = {"path": "/p", "source": "session"}
RULES: dict[str, Any] = {
    "rules": [RULE],
    "workspaceDirectories": [DIRECTORY],
    "originalCwd": "/p",
    "managedOnly": False,
    "errors": [PARSE_ERROR],
    "withheld": False,
}

EXAMPLES: list[Example] = [
    (Ack, {}),
    (SlashCommand, COMMAND),
    (AgentInfo, AGENT),
    (ModelInfo, MODEL),
    (AccountInfo, ACCOUNT),
    (
        InitializeResult,
        {
            "commands": [COMMAND],
            "agents": [AGENT],
            "output_style": "default",
            "available_output_styles": ["default", "Learning"],
            "models": [MODEL],
            "account": ACCOUNT,
            "hooks_applied": True,
            "hook_on_failure_supported": True,
            "plugins_applied": False,
            "sdk_mcp_manifests_parked": {"calc": "parked"},
            "claude_code_version": "2.1.325",
            "fast_mode_state": "off",
            "fast_mode_disabled_reason": "r",
            "pid": 4711,
            "current_permission_mode": "default",
            "session_state": "idle",
            "capabilities": ["interrupt_receipt_v1"],
            "analytics_disabled": True,
            "feedback_mode": {"kind": "disabled"},
            "user_output_styles_dir": "/config/output-styles",
            "other_hook_ask_outranks_host": True,
            "hooks_when_unanswered_kept": 0,
            "ide_rc_auto_enable_gate": False,
            "remote_control_available": False,
            "remote_control_auto_enable": False,
            "remote_control_auto_on_by_default": False,
            "remote_control_auto_connect_default": False,
        },
    ),
    (FeedbackMode, {"kind": "disabled"}),
    (InterruptResult, {"still_queued": [], "cancelled": ["u1"]}),
    (SetPermissionModeResult, {"mode": "plan"}),
    (SetModelResult, {"model": "opus"}),
    (McpToolInfo, TOOL),
    (McpServerStatus, SERVER),
    (McpStatusResult, {"mcpServers": [SERVER]}),
    (SessionCostResult, {"text": "$0.05"}),
    (ListModelsResult, {"models": [MODEL]}),
    (BinaryVersionResult, {"version": "2.1.325", "buildTime": "2026-11-01"}),
    (McpStaging, STAGING),
    (
        McpCallResult,
        {
            "content": [{"type": "text", "text": "11"}],
            "structuredContent": {"sum": 11},
            "_meta": {"a": 1},
            "staging": STAGING,
        },
    ),
    (FileSuggestion, SUGGESTION),
    (FileSuggestionsResult, {"suggestions": [SUGGESTION], "cwd": "/p"}),
    (
        RewindFilesResult,
        {
            "canRewind": False,
            "error": "No checkpoint",
            "filesChanged": ["a.py"],
            "insertions": 1,
            "deletions": 2,
            "skippedLinks": ["l"],
        },
    ),
    (CancelAsyncMessageResult, {"cancelled": False}),
    (
        ReadFileResult,
        {
            "contents": "AA==",
            "absPath": "/p/a",
            "truncated": True,
            "encoding": "base64",
            "lossy": False,
        },
    ),
    (McpSetServersResult, {"added": ["a"], "removed": [], "errors": {"b": "refused"}}),
    (RegisterRepoRootResult, {"directory": "/p"}),
    (PluginInfo, PLUGIN),
    (
        ReloadPluginsResult,
        {
            "commands": [COMMAND],
            "agents": [AGENT],
            "plugins": [PLUGIN],
            "mcpServers": [SERVER],
            "error_count": 0,
            "held": True,
            "cache_impact": {"mcp_servers_added": ["a"]},
        },
    ),
    (ReloadSkillsResult, {"skills": [COMMAND]}),
    (ReloadOutputStylesResult, {"available_output_styles": ["default"]}),
    (BackgroundTasksResult, {"backgrounded": True}),
    (TaskOutputResult, {"output": "ok\n", "total_bytes": 3, "truncated": False}),
    (ResourceContents, RESOURCE),
    (ReadResourceResult, {"contents": [RESOURCE]}),
    (
        SideQuestionResult,
        {"response": "Yes.", "synthetic": False, "usage": {"input_tokens": 1}},
    ),
    (GenerateSessionTitleResult, {"title": "Fix the test"}),
    (ContextCategory, CATEGORY),
    (
        ContextUsageResult,
        {
            "categories": [CATEGORY],
            "totalTokens": 10,
            "maxTokens": 180000,
            "rawMaxTokens": 200000,
            "percentage": 0.5,
            "gridRows": [[{"color": "blue", "isFilled": True}]],
            "model": "opus",
            "memoryFiles": [{"path": "/CLAUDE.md", "type": "Project", "tokens": 1}],
            "mcpTools": [{"name": "add", "serverName": "calc", "tokens": 1}],
            "mcpInstructions": [{"serverName": "calc", "tokens": 1}],
            "deferredBuiltinTools": [{"name": "WebFetch", "tokens": 1, "isLoaded": False}],
            "systemTools": [{"name": "Bash", "tokens": 1}],
            "systemPromptSections": [{"name": "intro", "tokens": 1}],
            "agents": [{"agentType": "Explore", "source": "built-in", "tokens": 1}],
            "slashCommands": {"totalCommands": 1, "includedCommands": 1, "tokens": 1},
            "skills": {"totalSkills": 0, "includedSkills": 0, "tokens": 0, "skillFrontmatter": []},
            "autoCompactThreshold": 167000,
            "isAutoCompactEnabled": True,
            "messageBreakdown": {"toolCallTokens": 1},
            "apiUsage": None,
        },
    ),
    (
        GetUsageResult,
        {
            "session": {
                "total_cost_usd": 0.5,
                "total_api_duration_ms": 1.5,
                "total_duration_ms": 2,
                "total_lines_added": 3,
                "total_lines_removed": 4,
                "model_usage": {"opus": {"inputTokens": 1, "costUSD": 0.5}},
            },
            "subscription_type": None,
            "rate_limits_available": True,
            "rate_limits": {"five_hour": {"utilization": 12, "resets_at": None}},
            "behaviors": None,
        },
    ),
    (SettingsParseError, PARSE_ERROR),
    (SettingsSource, SOURCE),
    (
        GetSettingsResult,
        {
            "effective": {"model": "opus"},
            "sources": [SOURCE],
            "applied": {"model": "opus", "effort": None},
            "errors": [PARSE_ERROR],
            "withheld": True,
        },
    ),
    (HookEventInfo, EVENT),
    (HookInfo, HOOK),
    (
        HooksListingResult,
        {
            "events": [EVENT],
            "hooks": [HOOK],
            "eventCatalog": [{"name": "Stop", "summary": "s", "supportsMatcher": False}],
            "policy": {"allDisabled": False},
            "safeMode": {"managedHooksStillApply": True, "exitHint": "h"},
            "bareMode": {"exitHint": "h"},
            "errors": [PARSE_ERROR],
        },
    ),
    (PermissionRuleEntry, RULE),
    (WorkspaceDirectory, DIRECTORY),
    (PermissionRulesState, RULES),
    (PermissionRulesResult, {"state": RULES}),
    (McpResponse, {"mcp_response": {"jsonrpc": "2.0", "id": 0, "result": {}}}),
    (ElicitationResult, {"action": "accept", "content": {"name": "ann"}}),
]
DIALOGS: list[Example] = [
    (DialogCompleted, {"behavior": "completed", "result": {"choice": 1}}),
    (DialogCancelled, {"behavior": "cancelled"}),
    (UnknownDialogResult, {"behavior": UNKNOWN, "raw": {"behavior": "postponed"}}),
]
ALL = EXAMPLES + DIALOGS


@pytest.mark.parametrize("example", with_minimal(EXAMPLES), ids=names(with_minimal(EXAMPLES)))
def test_a_payload_is_written_as_it_was_read(example: Example) -> None:
    assert_same_again(example)


@pytest.mark.parametrize("example", with_minimal(DIALOGS), ids=names(with_minimal(DIALOGS)))
def test_the_end_of_a_dialog_is_told_by_its_behavior(example: Example) -> None:
    assert_same_again(example, DialogResult)


@pytest.mark.parametrize("example", ALL, ids=names(ALL))
def test_an_example_shows_every_field(example: Example) -> None:
    assert_complete(example)


def test_every_class_has_an_example() -> None:
    assert structs_of(results) | {SlashCommand} == {cls for cls, _ in ALL}


def test_a_dialog_completed_without_a_result_has_the_result_null() -> None:
    read = msgspec.json.decode(b'{"behavior":"completed"}', type=DialogResult)
    assert msgspec.to_builtins(read) == {"behavior": "completed", "result": None}


# The documented answers to `initialize`, the first as the CLI writes it.
DOCUMENTED: dict[str, Any] = {
    "commands": [
        {"name": "compact", "description": "...", "argumentHint": "..."},
        {"name": "context", "description": "...", "argumentHint": ""},
    ],
    "output_style": "default",
    "available_output_styles": ["default", "Explanatory", "Learning"],
    "models": [
        {"value": "default", "displayName": "Default (recommended)", "description": "Opus 4.5"},
        {"value": "sonnet", "displayName": "Sonnet", "description": "Sonnet 4.5"},
    ],
    "account": {
        "email": "user@example.com",
        "organization": "Org Name",
        "subscriptionType": "Claude Max",
    },
}
SPARSE: dict[str, Any] = {
    "commands": [{"name": "/help", "description": "..."}],
    "output_style": "markdown",
    "available_output_styles": ["markdown", "json"],
    "models": [{"value": "sonnet", "display": "Sonnet (Fast)"}],
    "account": {"account_type": "pro", "email": "user@example.com"},
}


def test_the_documented_answer_to_initialize_survives() -> None:
    assert_same_again((InitializeResult, DOCUMENTED))


def test_a_sparser_answer_to_initialize_can_be_read() -> None:
    read = msgspec.json.decode(json.dumps(SPARSE), type=InitializeResult)
    assert read.models == [ModelInfo("sonnet")]
    assert read.account == AccountInfo(email="user@example.com")
