"""The outputs of each event for each result, in the JSON that the CLI reads.

An event refuses every result that is not listed here.
"""

from __future__ import annotations

from typing import Any

from claudewire.hooks import HookResult

Fields = dict[str, Any]

RESULTS: dict[str, HookResult] = {
    "allow": HookResult("allow", "why"),
    "deny": HookResult("deny", "why"),
    "ask": HookResult("ask", "why"),
    "defer": HookResult("defer", "why"),
    "block": HookResult("block", "why"),
    "stop": HookResult(stop="why"),
    "context": HookResult(context="by the way"),
    "message": HookResult(message="Look!"),
    "updated_input": HookResult(updated_input={"command": "pwd"}),
    "updated_tool_output": HookResult(updated_tool_output={"stdout": "x"}),
    "action": HookResult(action="accept", content={"name": "ann"}),
    "retry": HookResult(retry=True),
    "display_content": HookResult(display_content="hey"),
    "watch_paths": HookResult(watch_paths=["/a"]),
    "worktree_path": HookResult(worktree_path="/w"),
}

BLOCK: Fields = {"block": {"decision": "block", "reason": "why"}}
STOP: Fields = {"stop": {"continue": False, "stopReason": "why"}}

WHOLE: dict[str, Fields] = {
    "PreToolUse": STOP,
    "PostToolUse": BLOCK | STOP,
    "PostToolUseFailure": BLOCK,
    "PostToolBatch": BLOCK | STOP,
    "UserPromptSubmit": BLOCK | STOP,
    "UserPromptExpansion": BLOCK | STOP,
    "Stop": BLOCK | STOP,
    "SubagentStop": BLOCK | STOP,
    "PreCompact": BLOCK,
    "TeammateIdle": BLOCK | STOP,
    "TaskCreated": BLOCK | STOP,
    "TaskCompleted": BLOCK | STOP,
    "ConfigChange": BLOCK,
    "WorktreeCreate": BLOCK,
}
"""Fields at the top of the output."""


def _decided(decision: str) -> Fields:
    return {"permissionDecision": decision, "permissionDecisionReason": "why"}


CONTEXT: Fields = {"context": {"additionalContext": "by the way"}}
WATCH: Fields = {"watch_paths": {"watchPaths": ["/a"]}}
PERMISSION: Fields = {
    "allow": _decided("allow"),
    "deny": _decided("deny"),
    "ask": _decided("ask"),
    "block": _decided("deny"),
}
DENIED = {"behavior": "deny", "message": "why"}
ELICITATION: Fields = {
    "block": {"action": "decline"},
    "action": {"action": "accept", "content": {"name": "ann"}},
}

SPECIFIC: dict[str, Fields] = {
    "PreToolUse": PERMISSION
    | CONTEXT
    | {
        "defer": _decided("defer"),
        "updated_input": {"updatedInput": {"command": "pwd"}},
        # A CLI that is told to stop still uses the tool, unless that is denied.
        "stop": _decided("deny"),
    },
    "PostToolUse": CONTEXT | {"updated_tool_output": {"updatedToolOutput": {"stdout": "x"}}},
    "PostToolUseFailure": CONTEXT,
    "PostToolBatch": CONTEXT,
    "Notification": CONTEXT,
    "UserPromptSubmit": CONTEXT,
    "UserPromptExpansion": CONTEXT,
    "SessionStart": CONTEXT | WATCH,
    "Stop": CONTEXT,
    "SubagentStart": CONTEXT,
    "SubagentStop": CONTEXT,
    "PreModelSwitch": PERMISSION,
    "PostModelSwitch": CONTEXT,
    "PermissionRequest": {
        "allow": {"decision": {"behavior": "allow", "updatedInput": {"command": "ls"}}},
        "deny": {"decision": DENIED},
        "block": {"decision": DENIED},
        "stop": {"decision": {**DENIED, "interrupt": True}},
    },
    "PermissionDenied": {"retry": {"retry": True}},
    "Setup": CONTEXT,
    "Elicitation": ELICITATION,
    "ElicitationResult": ELICITATION,
    "WorktreeCreate": {"worktree_path": {"worktreePath": "/w"}},
    "CwdChanged": WATCH,
    "FileChanged": WATCH,
    "MessageDisplay": {"display_content": {"displayContent": "hey"}},
}
"""Fields of the event's own output."""


def expected(event: str) -> dict[str, Fields]:
    """Return the output for each result that the event can be answered with."""
    outputs: dict[str, Fields] = {"message": {"systemMessage": "Look!"}}
    outputs |= WHOLE.get(event, {})
    for result, own in SPECIFIC.get(event, {}).items():
        specific = {"hookSpecificOutput": {"hookEventName": event, **own}}
        outputs[result] = outputs.get(result, {}) | specific
    return outputs


WITHOUT_MATCHER = {
    "PostToolBatch",
    "UserPromptSubmit",
    "Stop",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "WorktreeCreate",
    "WorktreeRemove",
    "CwdChanged",
    "MessageDisplay",
}
"""As the newest CLI lists them."""
