"""What a hook is told: one record for each event of a session's life.

Those of a turn are defined beside, and belong here all the same.
"""

from __future__ import annotations

from typing import Any, get_args

from .base import UNKNOWN, Number, Record, Unknown, nullable
from .turn_hooks import (
    BaseHookInput,
    ElicitationHookInput,
    ElicitationResultHookInput,
    MessageDisplayHookInput,
    NotificationHookInput,
    PermissionDeniedHookInput,
    PermissionRequestHookInput,
    PostToolBatchHookInput,
    PostToolUseFailureHookInput,
    PostToolUseHookInput,
    PreToolUseHookInput,
    StopFailureHookInput,
    StopHookInput,
    SubagentStartHookInput,
    SubagentStopHookInput,
    UserPromptExpansionHookInput,
    UserPromptSubmitHookInput,
)

__all__ = [
    "HOOK_EVENTS",
    "ConfigChangeHookInput",
    "CwdChangedHookInput",
    "DirectoryAddedHookInput",
    "FileChangedHookInput",
    "HookInput",
    "HookMatcher",
    "InstructionsLoadedHookInput",
    "PostCompactHookInput",
    "PostModelSwitchHookInput",
    "PreCompactHookInput",
    "PreModelSwitchHookInput",
    "SessionEndHookInput",
    "SessionStartHookInput",
    "SetupHookInput",
    "TaskCompletedHookInput",
    "TaskCreatedHookInput",
    "TeammateIdleHookInput",
    "UnknownHookInput",
    "WorktreeCreateHookInput",
    "WorktreeRemoveHookInput",
]


class HookMatcher(Record, rename="camel"):
    """Which callbacks to call for an event, and for which tools (`*` or none: for all)."""

    hook_callback_ids: list[str]
    matcher: str | None = None
    timeout: Number | None = None
    """In seconds. A hook that takes longer denies the tool."""
    on_failure: str | None = None
    """What becomes of the tool when the hook fails: continue (the default) or block."""


class SessionStartHookInput(BaseHookInput, tag="SessionStart"):
    """A session begins, or goes on after a break."""

    source: str | None = None
    """startup, resume, clear, compact or fork."""
    model: str | None = None
    session_title: str | None = None
    seconds_since_last_response: Number | None = None
    context_tokens: int | None = None
    prompt_cache_likely_expired: bool | None = None
    estimated_cache_write_usd: float | None = None


class SessionEndHookInput(BaseHookInput, tag="SessionEnd"):
    """A session ends."""

    reason: str | None = None
    """clear, resume, logout, prompt_input_exit or other."""


class PreCompactHookInput(BaseHookInput, tag="PreCompact"):
    """The conversation is about to be summarised."""

    trigger: str | None = None
    """manual or auto."""
    custom_instructions: str | None = nullable()


class PostCompactHookInput(BaseHookInput, tag="PostCompact"):
    """The conversation has been summarised."""

    trigger: str | None = None
    """manual or auto."""
    compact_summary: str | None = None


class _ModelSwitchHookInput(BaseHookInput):
    """From which model to which, and what it costs."""

    from_model: str
    to_model: str
    requested_model: str | None = nullable()
    source: str | None = None
    """command, picker, sdk; after the switch also auto and resume."""
    context_tokens: int | None = None
    prompt_cache_warm: bool | None = None
    cache_ttl: str | None = None
    """5m or 1h."""
    estimated_cache_write_usd: float | None = None
    pricing: str | None = None
    """configured, catalog or default."""


class PreModelSwitchHookInput(_ModelSwitchHookInput, tag="PreModelSwitch"):
    """The model is about to change."""


class PostModelSwitchHookInput(_ModelSwitchHookInput, tag="PostModelSwitch"):
    """The model has changed."""


class SetupHookInput(BaseHookInput, tag="Setup"):
    """The project is set up."""

    trigger: str | None = None
    """init or maintenance."""


class TeammateIdleHookInput(BaseHookInput, tag="TeammateIdle"):
    """A teammate has nothing to do."""

    teammate_name: str
    team_name: str | None = None


class _TaskHookInput(BaseHookInput):
    """Which entry of the task list, and whose."""

    task_id: str
    task_subject: str | None = None
    task_description: str | None = None
    teammate_name: str | None = None
    team_name: str | None = None


class TaskCreatedHookInput(_TaskHookInput, tag="TaskCreated"):
    """A task has been put on the list."""


class TaskCompletedHookInput(_TaskHookInput, tag="TaskCompleted"):
    """A task is about to be marked as done."""


class ConfigChangeHookInput(BaseHookInput, tag="ConfigChange"):
    """Settings have changed while the session runs."""

    source: str
    """user_settings, project_settings, local_settings, policy_settings or skills."""
    file_path: str | None = None


class WorktreeCreateHookInput(BaseHookInput, tag="WorktreeCreate"):
    """A worktree of that name is wanted; the hook makes it."""

    name: str


class WorktreeRemoveHookInput(BaseHookInput, tag="WorktreeRemove"):
    """A worktree is no longer wanted."""

    worktree_path: str


class InstructionsLoadedHookInput(BaseHookInput, tag="InstructionsLoaded"):
    """A file of instructions has been read."""

    file_path: str
    memory_type: str | None = None
    """User, Project, Local or Managed."""
    load_reason: str | None = None
    """session_start, nested_traversal, path_glob_match, include or compact."""
    globs: list[str] | None = None
    trigger_file_path: str | None = None
    parent_file_path: str | None = None


class CwdChangedHookInput(BaseHookInput, tag="CwdChanged"):
    """The session works in another directory."""

    old_cwd: str
    new_cwd: str


class FileChangedHookInput(BaseHookInput, tag="FileChanged"):
    """A watched file is not what it was."""

    file_path: str
    event: str | None = None
    """change, add or unlink."""


class DirectoryAddedHookInput(BaseHookInput, tag="DirectoryAdded"):
    """Tools may work in one more directory."""

    directory: str
    source: str | None = None
    """slash_command or register_repo_root."""


class UnknownHookInput(Unknown, Record, tag=UNKNOWN, tag_field="hook_event_name"):
    """An event that this version does not know."""

    raw: dict[str, Any]


HookInput = (
    PreToolUseHookInput
    | PostToolUseHookInput
    | PostToolUseFailureHookInput
    | PostToolBatchHookInput
    | NotificationHookInput
    | UserPromptSubmitHookInput
    | UserPromptExpansionHookInput
    | SessionStartHookInput
    | SessionEndHookInput
    | StopHookInput
    | StopFailureHookInput
    | SubagentStartHookInput
    | SubagentStopHookInput
    | PreCompactHookInput
    | PostCompactHookInput
    | PreModelSwitchHookInput
    | PostModelSwitchHookInput
    | PermissionRequestHookInput
    | PermissionDeniedHookInput
    | SetupHookInput
    | TeammateIdleHookInput
    | TaskCreatedHookInput
    | TaskCompletedHookInput
    | ElicitationHookInput
    | ElicitationResultHookInput
    | ConfigChangeHookInput
    | WorktreeCreateHookInput
    | WorktreeRemoveHookInput
    | InstructionsLoadedHookInput
    | CwdChangedHookInput
    | FileChangedHookInput
    | DirectoryAddedHookInput
    | MessageDisplayHookInput
    | UnknownHookInput
)

HOOK_EVENTS: tuple[str, ...] = tuple(
    event.__struct_config__.tag for event in get_args(HookInput) if not issubclass(event, Unknown)
)
"""The names of all events, in the order in which they are documented."""
