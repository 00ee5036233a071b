"""The answers of hooks: common fields, and a part for each event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

import msgspec

from .base import UNKNOWN, Number, Record, Unknown, leaves
from .permissions import PermissionResult


class _Output(Record, tag_field="hookEventName", rename="camel"):
    """The part of an answer that belongs to one event."""


class _Context(_Output):
    """Text for the model."""

    additional_context: str | None = None


class PreToolUseHookSpecificOutput(_Context, tag="PreToolUse"):
    """The decision about the tool, and perhaps another input."""

    permission_decision: str | None = None
    """allow, deny, ask or defer."""
    permission_decision_reason: str | None = None
    updated_input: dict[str, Any] | None = None


class PostToolUseHookSpecificOutput(_Context, tag="PostToolUse"):
    """Text for the model in place of, or beside, the tool's output."""

    classifier_context: str | None = None
    updated_tool_output: Any = None
    updated_mcp_tool_output: Any = msgspec.field(name="updatedMCPToolOutput", default=None)


class PostToolUseFailureHookSpecificOutput(_Context, tag="PostToolUseFailure"):
    """Text for the model beside the tool's error."""


class PostToolBatchHookSpecificOutput(_Context, tag="PostToolBatch"):
    """Text for the model beside the outputs of the tools."""


class NotificationHookSpecificOutput(_Context, tag="Notification"):
    """Text for the model about the notification."""


class UserPromptSubmitHookSpecificOutput(_Context, tag="UserPromptSubmit"):
    """Text for the model beside, or in place of, the prompt."""

    session_title: str | None = None
    suppress_original_prompt: bool | None = None


class UserPromptExpansionHookSpecificOutput(_Context, tag="UserPromptExpansion"):
    """Text for the model beside, or in place of, the expanded command."""

    suppress_original_prompt: bool | None = None


class SessionStartHookSpecificOutput(_Context, tag="SessionStart"):
    """Text, title and watched files of a session that starts."""

    initial_user_message: str | None = None
    session_title: str | None = None
    watch_paths: list[str] | None = None
    reload_skills: bool | None = None


class StopHookSpecificOutput(_Context, tag="Stop"):
    """Text for the model at the end of its turn."""


class SubagentStartHookSpecificOutput(_Context, tag="SubagentStart"):
    """Text for the subagent beside its prompt."""


class SubagentStopHookSpecificOutput(_Context, tag="SubagentStop"):
    """Text for the subagent at its end."""


class PreModelSwitchHookSpecificOutput(_Output, tag="PreModelSwitch"):
    """The decision about the change of the model."""

    permission_decision: str | None = None
    """allow, deny or ask."""
    permission_decision_reason: str | None = None


class PostModelSwitchHookSpecificOutput(_Context, tag="PostModelSwitch"):
    """Text for the new model."""


class PermissionRequestHookSpecificOutput(_Output, tag="PermissionRequest"):
    """The decision in place of the user's."""

    decision: PermissionResult


class PermissionDeniedHookSpecificOutput(_Output, tag="PermissionDenied"):
    """Whether the model may try the tool again."""

    retry: bool | None = None


class SetupHookSpecificOutput(_Context, tag="Setup"):
    """Text for the model about the setup."""


class ElicitationHookSpecificOutput(_Output, tag="Elicitation"):
    """The answer to an MCP server in place of the user's."""

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
    """The files to watch from now on."""

    watch_paths: list[str] | None = None


class FileChangedHookSpecificOutput(_Output, tag="FileChanged"):
    """The files to watch from now on."""

    watch_paths: list[str] | None = None


class MessageDisplayHookSpecificOutput(_Output, tag="MessageDisplay"):
    """The text to show instead."""

    display_content: str | None = None


class UnknownHookSpecificOutput(Unknown, _Output, tag=UNKNOWN):
    """The output for an event that this version does not know."""

    raw: dict[str, Any]


if TYPE_CHECKING:
    HookSpecificOutput = _Output
else:
    HookSpecificOutput = Union[tuple(leaves(_Output))]  # noqa: UP007


class HookOutput(Record, rename="camel"):
    """The answer of a hook; an empty one changes nothing.

    With `async_` the CLI goes on at once and ignores the other fields.
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
