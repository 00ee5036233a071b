"""What a hook answers: whether to go on, and what only its own event can be told."""

from __future__ import annotations

from typing import Any

import msgspec

from .base import UNKNOWN, Number, Record, Unknown
from .permissions import PermissionResult

__all__ = [
    "CwdChangedHookSpecificOutput",
    "ElicitationHookSpecificOutput",
    "ElicitationResultHookSpecificOutput",
    "FileChangedHookSpecificOutput",
    "HookOutput",
    "HookSpecificOutput",
    "MessageDisplayHookSpecificOutput",
    "NotificationHookSpecificOutput",
    "PermissionDeniedHookSpecificOutput",
    "PermissionRequestHookSpecificOutput",
    "PostModelSwitchHookSpecificOutput",
    "PostToolBatchHookSpecificOutput",
    "PostToolUseFailureHookSpecificOutput",
    "PostToolUseHookSpecificOutput",
    "PreModelSwitchHookSpecificOutput",
    "PreToolUseHookSpecificOutput",
    "SessionStartHookSpecificOutput",
    "SetupHookSpecificOutput",
    "StopHookSpecificOutput",
    "SubagentStartHookSpecificOutput",
    "SubagentStopHookSpecificOutput",
    "UnknownHookSpecificOutput",
    "UserPromptExpansionHookSpecificOutput",
    "UserPromptSubmitHookSpecificOutput",
    "WorktreeCreateHookSpecificOutput",
]


class _Output(Record, tag_field="hookEventName", rename="camel"):
    """What all of them have in common: the name of the event."""


class _Context(_Output):
    """Text that the model is given."""

    additional_context: str | None = None


class PreToolUseHookSpecificOutput(_Context, tag="PreToolUse"):
    """Whether the tool may run, and with what input."""

    permission_decision: str | None = None
    """allow, deny, ask or defer."""
    permission_decision_reason: str | None = None
    updated_input: dict[str, Any] | None = None


class PostToolUseHookSpecificOutput(_Context, tag="PostToolUse"):
    """What the model is told instead of, or besides, the tool's output."""

    classifier_context: str | None = None
    updated_tool_output: Any = None
    updated_mcp_tool_output: Any = msgspec.field(name="updatedMCPToolOutput", default=None)


class PostToolUseFailureHookSpecificOutput(_Context, tag="PostToolUseFailure"):
    """What the model is told besides the tool's error."""


class PostToolBatchHookSpecificOutput(_Context, tag="PostToolBatch"):
    """What the model is told besides the outputs of the tools."""


class NotificationHookSpecificOutput(_Context, tag="Notification"):
    """What the model is told about the notification."""


class UserPromptSubmitHookSpecificOutput(_Context, tag="UserPromptSubmit"):
    """What the model is told besides, or instead of, the prompt."""

    session_title: str | None = None
    suppress_original_prompt: bool | None = None


class UserPromptExpansionHookSpecificOutput(_Context, tag="UserPromptExpansion"):
    """What the model is told besides, or instead of, the expanded command."""

    suppress_original_prompt: bool | None = None


class SessionStartHookSpecificOutput(_Context, tag="SessionStart"):
    """What the session starts with."""

    initial_user_message: str | None = None
    session_title: str | None = None
    watch_paths: list[str] | None = None
    reload_skills: bool | None = None


class StopHookSpecificOutput(_Context, tag="Stop"):
    """What the model is told at the end of its turn."""


class SubagentStartHookSpecificOutput(_Context, tag="SubagentStart"):
    """What the subagent is told besides its prompt."""


class SubagentStopHookSpecificOutput(_Context, tag="SubagentStop"):
    """What the subagent is told at its end."""


class PreModelSwitchHookSpecificOutput(_Output, tag="PreModelSwitch"):
    """Whether the model may be changed."""

    permission_decision: str | None = None
    """allow, deny or ask."""
    permission_decision_reason: str | None = None


class PostModelSwitchHookSpecificOutput(_Context, tag="PostModelSwitch"):
    """What the new model is told."""


class PermissionRequestHookSpecificOutput(_Output, tag="PermissionRequest"):
    """The decision, made instead of asking the user."""

    decision: PermissionResult


class PermissionDeniedHookSpecificOutput(_Output, tag="PermissionDenied"):
    """Whether the model may try the tool again."""

    retry: bool | None = None


class SetupHookSpecificOutput(_Context, tag="Setup"):
    """What the model is told about the setup."""


class ElicitationHookSpecificOutput(_Output, tag="Elicitation"):
    """The answer to an MCP server, made instead of asking the user."""

    action: str | None = None
    """accept, decline or cancel."""
    content: dict[str, Any] | None = None


class ElicitationResultHookSpecificOutput(_Output, tag="ElicitationResult"):
    """The answer to an MCP server, changed before it is sent."""

    action: str | None = None
    """accept, decline or cancel."""
    content: dict[str, Any] | None = None


class WorktreeCreateHookSpecificOutput(_Output, tag="WorktreeCreate"):
    """Where the hook has made the worktree."""

    worktree_path: str


class CwdChangedHookSpecificOutput(_Output, tag="CwdChanged"):
    """What to watch from now on."""

    watch_paths: list[str] | None = None


class FileChangedHookSpecificOutput(_Output, tag="FileChanged"):
    """What to watch from now on."""

    watch_paths: list[str] | None = None


class MessageDisplayHookSpecificOutput(_Output, tag="MessageDisplay"):
    """What is shown instead of the text."""

    display_content: str | None = None


class UnknownHookSpecificOutput(Unknown, Record, tag=UNKNOWN, tag_field="hookEventName"):
    """The output for an event that this version does not know."""

    raw: dict[str, Any]


HookSpecificOutput = (
    PreToolUseHookSpecificOutput
    | PostToolUseHookSpecificOutput
    | PostToolUseFailureHookSpecificOutput
    | PostToolBatchHookSpecificOutput
    | NotificationHookSpecificOutput
    | UserPromptSubmitHookSpecificOutput
    | UserPromptExpansionHookSpecificOutput
    | SessionStartHookSpecificOutput
    | StopHookSpecificOutput
    | SubagentStartHookSpecificOutput
    | SubagentStopHookSpecificOutput
    | PreModelSwitchHookSpecificOutput
    | PostModelSwitchHookSpecificOutput
    | PermissionRequestHookSpecificOutput
    | PermissionDeniedHookSpecificOutput
    | SetupHookSpecificOutput
    | ElicitationHookSpecificOutput
    | ElicitationResultHookSpecificOutput
    | WorktreeCreateHookSpecificOutput
    | CwdChangedHookSpecificOutput
    | FileChangedHookSpecificOutput
    | MessageDisplayHookSpecificOutput
    | UnknownHookSpecificOutput
)


class HookOutput(Record, rename="camel"):
    """What a hook has to say; an empty one has no opinion.

    With `async_` the CLI goes on at once and the other fields are not looked at.
    """

    continue_: bool | None = msgspec.field(name="continue", default=None)
    decision: str | None = None
    """approve or block."""
    reason: str | None = None
    stop_reason: str | None = None
    system_message: str | None = None
    suppress_output: bool | None = None
    terminal_sequence: str | None = None
    hook_specific_output: HookSpecificOutput | None = None
    async_: bool | None = msgspec.field(name="async", default=None)
    async_timeout: Number | None = None
