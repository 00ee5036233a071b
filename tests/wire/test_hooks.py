"""What hooks are told and what they answer."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from msgspec import Struct
from tests.wire.roundtrip import (
    Example,
    assert_complete,
    assert_same_again,
    names,
    structs_of,
    with_minimal,
)

from claudewire.wire import (
    HOOK_EVENTS,
    UNKNOWN,
    BackgroundTaskSummary,
    BaseHookInput,
    HookEffort,
    HookInput,
    HookMatcher,
    HookOutput,
    HookSpecificOutput,
    PostToolBatchToolCall,
    PreToolUseHookInput,
    SessionCronSummary,
    UnknownHookInput,
    UnknownHookSpecificOutput,
)
from claudewire.wire.types import hook_outputs, hooks

BASE: dict[str, Any] = {
    "session_id": "s",
    "transcript_path": "/t.jsonl",
    "cwd": "/p",
    "prompt_id": "p1",
    "permission_mode": "default",
    "agent_id": "a1",
    "agent_type": "Explore",
    "effort": {"level": "high"},
}
SERVER: dict[str, Any] = {"mcp_server": {"name": "calc", "source": "sdk"}}
TOOL: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
TOOL_USE: dict[str, Any] = {**TOOL, **SERVER, "tool_use_id": "toolu_1"}
CALL: dict[str, Any] = {**TOOL, "tool_use_id": "toolu_1", "tool_response": {"stdout": ""}}
TASK: dict[str, Any] = {
    "id": "b1",
    "type": "shell",
    "status": "running",
    "description": "tests",
    "command": "make",
    "agent_type": "Explore",
    "server": "calc",
    "tool": "add",
    "name": "n",
}
CRON: dict[str, Any] = {"id": "c1", "schedule": "* * * * *", "recurring": True, "prompt": "go"}
STOP: dict[str, Any] = {
    "stop_hook_active": True,
    "last_assistant_message": "Done.",
    "background_tasks": [TASK],
    "session_crons": [CRON],
}
SWITCH: dict[str, Any] = {
    "from_model": "opus",
    "to_model": "haiku",
    "requested_model": None,
    "source": "sdk",
    "context_tokens": 1000,
    "prompt_cache_warm": True,
    "cache_ttl": "5m",
    "estimated_cache_write_usd": 0.5,
    "pricing": "catalog",
}
LISTED: dict[str, Any] = {
    "task_id": "1",
    "task_subject": "Fix",
    "task_description": "Fix it",
    "teammate_name": "ann",
    "team_name": "blue",
}
ELICITED: dict[str, Any] = {"mcp_server_name": "calc", "mode": "form", "elicitation_id": "e1"}

INPUTS: dict[str, dict[str, Any]] = {
    "PreToolUse": TOOL_USE,
    "PostToolUse": {**TOOL_USE, "tool_response": {"stdout": ""}, "duration_ms": 12.5},
    "PostToolUseFailure": {
        **TOOL_USE,
        "error": "exit 1",
        "is_interrupt": False,
        "duration_ms": 12,
    },
    "PostToolBatch": {"tool_calls": [CALL]},
    "Notification": {"message": "m", "title": "t", "notification_type": "permission_prompt"},
    "UserPromptSubmit": {"prompt": "hi", "source": "sdk", "session_title": "t"},
    "UserPromptExpansion": {
        "expansion_type": "slash_command",
        "command_name": "review",
        "command_args": "1",
        "command_source": "project",
        "prompt": "/review 1",
    },
    "SessionStart": {
        "source": "resume",
        "model": "opus",
        "session_title": "t",
        "seconds_since_last_response": 3.5,
        "context_tokens": 10,
        "prompt_cache_likely_expired": False,
        "estimated_cache_write_usd": 0.1,
    },
    "SessionEnd": {"reason": "other"},
    "Stop": STOP,
    "StopFailure": {"error": "rate_limit", "error_details": "429", "last_assistant_message": "x"},
    "SubagentStart": {},
    "SubagentStop": {**STOP, "agent_transcript_path": "/a.jsonl"},
    "PreCompact": {"trigger": "auto", "custom_instructions": None},
    "PostCompact": {"trigger": "manual", "compact_summary": "s"},
    "PreModelSwitch": SWITCH,
    "PostModelSwitch": {**SWITCH, "requested_model": "haiku", "source": "auto"},
    "PermissionRequest": {
        **TOOL,
        **SERVER,
        "permission_suggestions": [{"type": "setMode", "mode": "acceptEdits"}],
    },
    "PermissionDenied": {**TOOL_USE, "reason": "rule"},
    "Setup": {"trigger": "init"},
    "TeammateIdle": {"teammate_name": "ann", "team_name": "blue"},
    "TaskCreated": LISTED,
    "TaskCompleted": LISTED,
    "Elicitation": {
        **ELICITED,
        "message": "Who?",
        "url": "https://x.test/",
        "requested_schema": {"type": "object"},
    },
    "ElicitationResult": {**ELICITED, "action": "accept", "content": {"name": "ann"}},
    "ConfigChange": {"source": "user_settings", "file_path": "/s.json"},
    "WorktreeCreate": {"name": "w"},
    "WorktreeRemove": {"worktree_path": "/w"},
    "InstructionsLoaded": {
        "file_path": "/CLAUDE.md",
        "memory_type": "Project",
        "load_reason": "include",
        "globs": ["*.py"],
        "trigger_file_path": "/a.py",
        "parent_file_path": "/b.md",
    },
    "CwdChanged": {"old_cwd": "/a", "new_cwd": "/b"},
    "FileChanged": {"file_path": "/a", "event": "unlink"},
    "DirectoryAdded": {"directory": "/a", "source": "slash_command"},
    "MessageDisplay": {
        "turn_id": "t",
        "message_id": "m",
        "index": 0,
        "final": False,
        "delta": "he",
    },
}
CONTEXT = {"additionalContext": "by the way"}
ANSWER: dict[str, Any] = {"action": "accept", "content": {"name": "ann"}}
OUTPUTS: dict[str, dict[str, Any]] = {
    "PreToolUse": {
        **CONTEXT,
        "permissionDecision": "defer",
        "permissionDecisionReason": "r",
        "updatedInput": {"command": "ls"},
    },
    "PostToolUse": {
        **CONTEXT,
        "classifierContext": "c",
        "updatedToolOutput": {"stdout": ""},
        "updatedMCPToolOutput": [1],
    },
    "PostToolUseFailure": CONTEXT,
    "PostToolBatch": CONTEXT,
    "Notification": CONTEXT,
    "UserPromptSubmit": {**CONTEXT, "sessionTitle": "t", "suppressOriginalPrompt": True},
    "UserPromptExpansion": {**CONTEXT, "suppressOriginalPrompt": True},
    "SessionStart": {
        **CONTEXT,
        "initialUserMessage": "go",
        "sessionTitle": "t",
        "watchPaths": ["/a"],
        "reloadSkills": True,
    },
    "Stop": CONTEXT,
    "SubagentStart": CONTEXT,
    "SubagentStop": CONTEXT,
    "PreModelSwitch": {"permissionDecision": "ask", "permissionDecisionReason": "r"},
    "PostModelSwitch": CONTEXT,
    "PermissionRequest": {"decision": {"behavior": "deny", "message": "no", "interrupt": True}},
    "PermissionDenied": {"retry": True},
    "Setup": CONTEXT,
    "Elicitation": ANSWER,
    "ElicitationResult": ANSWER,
    "WorktreeCreate": {"worktreePath": "/w"},
    "CwdChanged": {"watchPaths": ["/a"]},
    "FileChanged": {"watchPaths": []},
    "MessageDisplay": {"displayContent": "hey"},
}


def by_tag(union: Any) -> dict[str, type[Struct]]:
    return {str(cls.__struct_config__.tag): cls for cls in get_args(union)}


INPUT_EXAMPLES: list[Example] = [
    *(
        (by_tag(HookInput)[event], {"hook_event_name": event, **BASE, **its})
        for event, its in INPUTS.items()
    ),
    (UnknownHookInput, {"hook_event_name": UNKNOWN, "raw": {"hook_event_name": "Eclipse"}}),
]
OUTPUT_EXAMPLES: list[Example] = [
    *(
        (by_tag(HookSpecificOutput)[event], {"hookEventName": event, **its})
        for event, its in OUTPUTS.items()
    ),
    (UnknownHookSpecificOutput, {"hookEventName": UNKNOWN, "raw": {"hookEventName": "Eclipse"}}),
]
OTHER_EXAMPLES: list[Example] = [
    (HookEffort, BASE["effort"]),
    (BackgroundTaskSummary, TASK),
    (SessionCronSummary, CRON),
    (PostToolBatchToolCall, CALL),
    (
        HookMatcher,
        {"matcher": "*", "hookCallbackIds": ["hook_0"], "timeout": 5, "onFailure": "block"},
    ),
    (
        HookOutput,
        {
            "continue": False,
            "decision": "block",
            "reason": "r",
            "stopReason": "s",
            "systemMessage": "m",
            "suppressOutput": True,
            "terminalSequence": "\a",
            "hookSpecificOutput": {"hookEventName": "Stop", **CONTEXT},
            "async": True,
            "asyncTimeout": 15000,
        },
    ),
]
ALL = INPUT_EXAMPLES + OUTPUT_EXAMPLES + OTHER_EXAMPLES


def ids(examples: list[Example]) -> list[str]:
    return names(with_minimal(examples))


@pytest.mark.parametrize("example", with_minimal(INPUT_EXAMPLES), ids=ids(INPUT_EXAMPLES))
def test_an_input_is_told_by_its_event_and_written_as_it_was(example: Example) -> None:
    assert_same_again(example, HookInput)


@pytest.mark.parametrize("example", with_minimal(OUTPUT_EXAMPLES), ids=ids(OUTPUT_EXAMPLES))
def test_a_specific_output_is_told_by_its_event_and_written_as_it_was(example: Example) -> None:
    assert_same_again(example, HookSpecificOutput)


@pytest.mark.parametrize("example", with_minimal(OTHER_EXAMPLES), ids=ids(OTHER_EXAMPLES))
def test_it_is_written_as_it_was_read(example: Example) -> None:
    assert_same_again(example)


@pytest.mark.parametrize("example", ALL, ids=names(ALL))
def test_an_example_shows_every_field(example: Example) -> None:
    assert_complete(example)


def test_every_class_has_an_example() -> None:
    classes = structs_of(hooks, hook_outputs)
    assert classes == {BaseHookInput, *(cls for cls, _ in ALL)}


def test_there_are_33_events_each_with_an_input() -> None:
    assert len(HOOK_EVENTS) == 33
    assert set(HOOK_EVENTS) == set(INPUTS)


def test_22_events_have_an_output_of_their_own() -> None:
    assert len(OUTPUTS) == 22
    assert set(by_tag(HookSpecificOutput)) == {*OUTPUTS, UNKNOWN}
    assert set(OUTPUTS) < set(HOOK_EVENTS)


@pytest.mark.parametrize("event", HOOK_EVENTS)
def test_a_class_is_named_after_its_event(event: str) -> None:
    assert by_tag(HookInput)[event].__name__ == f"{event}HookInput"
    if event in OUTPUTS:
        assert by_tag(HookSpecificOutput)[event].__name__ == f"{event}HookSpecificOutput"


def test_what_is_particular_to_an_event_comes_first() -> None:
    assert PreToolUseHookInput("Bash", {}, cwd="/p").tool_name == "Bash"
