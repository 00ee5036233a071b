"""What can be said at which event, and how the CLI reads it: the inventory of the wire as a table.

What is not here cannot be said.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from claudewire.hooks import (
    HookResult,
    add_context,
    allow,
    answer,
    ask,
    block,
    change_input,
    change_output,
    defer,
    deny,
    retry,
    show,
    stop,
    tell_user,
    use_worktree,
    watch,
)

Fields = dict[str, Any]

RESULTS: dict[str, Callable[[], HookResult]] = {
    "allow": lambda: allow("why"),
    "deny": lambda: deny("why"),
    "ask": lambda: ask("why"),
    "defer": lambda: defer("why"),
    "block": lambda: block("why"),
    "stop": lambda: stop("why"),
    "add_context": lambda: add_context("by the way"),
    "change_input": lambda: change_input({"command": "pwd"}),
    "change_output": lambda: change_output({"stdout": "x"}),
    "tell_user": lambda: tell_user("Look!"),
    "answer": lambda: answer("accept", {"name": "ann"}),
    "retry": lambda: retry(),
    "show": lambda: show("hey"),
    "watch": lambda: watch(Path("/a")),
    "use_worktree": lambda: use_worktree(Path("/w")),
}
"""Made in a test, and not when this is imported, so that the test notices how."""

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
"""What stands at the top of the output."""


def _decided(decision: str) -> Fields:
    return {"permissionDecision": decision, "permissionDecisionReason": "why"}


CONTEXT: Fields = {"add_context": {"additionalContext": "by the way"}}
WATCH: Fields = {"watch": {"watchPaths": ["/a"]}}
PERMISSION: Fields = {
    "allow": _decided("allow"),
    "deny": _decided("deny"),
    "ask": _decided("ask"),
    "block": _decided("deny"),
}
DENIED = {"behavior": "deny", "message": "why"}
ELICITATION: Fields = {
    "block": {"action": "decline"},
    "answer": {"action": "accept", "content": {"name": "ann"}},
}

SPECIFIC: dict[str, Fields] = {
    "PreToolUse": PERMISSION
    | CONTEXT
    | {
        "defer": _decided("defer"),
        "change_input": {"updatedInput": {"command": "pwd"}},
        # A CLI that is told to stop still uses the tool, unless that is denied.
        "stop": _decided("deny"),
    },
    "PostToolUse": CONTEXT | {"change_output": {"updatedToolOutput": {"stdout": "x"}}},
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
    "WorktreeCreate": {"use_worktree": {"worktreePath": "/w"}},
    "CwdChanged": WATCH,
    "FileChanged": WATCH,
    "MessageDisplay": {"show": {"displayContent": "hey"}},
}
"""What stands in the event's own part."""


def expected(event: str) -> dict[str, Fields]:
    """Return the output for each result that the event can be answered with."""
    outputs: dict[str, Fields] = {"tell_user": {"systemMessage": "Look!"}}
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
