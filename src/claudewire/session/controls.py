"""Everything that can be asked of a running CLI, one method for each request.

Each takes a `timeout` in seconds; without one the session's own applies. Each raises
`UnsupportedRequest` if the CLI does not know the request, `RequestError` if it refuses, and
`RequestTimeout` if it does not answer. A caller that is cancelled withdraws its request.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Literal, TypeVar

from msgspec import UNSET, UnsetType

from ..wire import (
    ApplyFlagSettings,
    BackgroundTasks,
    BackgroundTasksResult,
    BinaryVersionResult,
    CancelAsyncMessage,
    CancelAsyncMessageResult,
    ContextUsageResult,
    EndSession,
    FileSuggestions,
    FileSuggestionsResult,
    GenerateSessionTitle,
    GenerateSessionTitleResult,
    GetBinaryVersion,
    GetContextUsage,
    GetHooksListing,
    GetSessionCost,
    GetSettings,
    GetSettingsResult,
    GetTaskOutput,
    GetUsage,
    GetUsageResult,
    HooksListingResult,
    ListModels,
    ListModelsResult,
    ListPermissionRules,
    McpCall,
    McpCallResult,
    McpReadResource,
    McpReconnect,
    McpSetServers,
    McpSetServersResult,
    McpStatus,
    McpStatusResult,
    McpToggle,
    PermissionRulesResult,
    ReadFile,
    ReadFileResult,
    ReadResourceResult,
    RegisterRepoRoot,
    RegisterRepoRootResult,
    ReloadOutputStyles,
    ReloadOutputStylesResult,
    ReloadPlugins,
    ReloadPluginsResult,
    ReloadSkills,
    ReloadSkillsResult,
    RenameSession,
    RequestBody,
    RewindFiles,
    RewindFilesResult,
    SeedReadState,
    SessionCostResult,
    SetColor,
    SetHasSubscribers,
    SetMaxThinkingTokens,
    SetModel,
    SetModelResult,
    SetPermissionMode,
    SetPermissionModeResult,
    SideQuestion,
    SideQuestionResult,
    StopTask,
    TaskOutputResult,
    UpdateSettings,
)

__all__ = ["DEFAULT", "Controls", "Timeout"]

AnswerT = TypeVar("AnswerT")


class _Default(Enum):
    DEFAULT = "default"


DEFAULT: Final = _Default.DEFAULT
"""The timeout that the session was opened with."""

Timeout = float | None | Literal[_Default.DEFAULT]
"""Seconds, None to wait without an end, or `DEFAULT`."""


class Controls(ABC):
    """The requests of a session."""

    @abstractmethod
    async def request(self, body: RequestBody[AnswerT], *, timeout: Timeout = DEFAULT) -> AnswerT:
        """Put any request, also one that is not declared here, and give its answer.

        Raises:
            UnsupportedRequest: the CLI does not know it.
            RequestTimeout: there was no answer in time.
            RequestError: the CLI refused.
            Error: the session is closed or has failed; always the original reason.
        """

    # --- the conversation ------------------------------------------------------------------------

    async def set_model(
        self, model: str | None = None, *, timeout: Timeout = DEFAULT
    ) -> SetModelResult:
        """Change the model; None goes back to the one that the session began with."""
        return await self.request(SetModel(model), timeout=timeout)

    async def set_permission_mode(
        self, mode: str, *, timeout: Timeout = DEFAULT
    ) -> SetPermissionModeResult:
        """Change the permission mode, to `default`, `acceptEdits`, `plan` and so on."""
        return await self.request(SetPermissionMode(mode), timeout=timeout)

    async def set_max_thinking_tokens(
        self,
        max_thinking_tokens: int | UnsetType | None = UNSET,
        thinking_display: str | UnsetType | None = UNSET,
        *,
        timeout: Timeout = DEFAULT,
    ) -> None:
        """Change how much the model may think; None resets."""
        await self.request(
            SetMaxThinkingTokens(max_thinking_tokens, thinking_display), timeout=timeout
        )

    async def rename_session(self, title: str, *, timeout: Timeout = DEFAULT) -> None:
        """Give the session a title."""
        await self.request(RenameSession(title), timeout=timeout)

    async def generate_session_title(
        self, description: str, *, persist: bool | None = None, timeout: Timeout = DEFAULT
    ) -> GenerateSessionTitleResult:
        """Have a title made up from a description."""
        return await self.request(GenerateSessionTitle(description, persist), timeout=timeout)

    async def set_color(self, color: str, *, timeout: Timeout = DEFAULT) -> None:
        """Change the accent colour of a CLI that has a screen."""
        await self.request(SetColor(color), timeout=timeout)

    async def side_question(
        self, question: str, *, timeout: Timeout = DEFAULT
    ) -> SideQuestionResult:
        """Ask the model something beside the conversation, leaving no trace in it."""
        return await self.request(SideQuestion(question), timeout=timeout)

    async def cancel_message(
        self, message_uuid: str, *, timeout: Timeout = DEFAULT
    ) -> CancelAsyncMessageResult:
        """Drop a prompt that waits in the CLI. `Turn.cancel` does it for a turn."""
        return await self.request(CancelAsyncMessage(message_uuid), timeout=timeout)

    async def rewind_files(
        self, user_message_id: str, *, dry_run: bool | None = None, timeout: Timeout = DEFAULT
    ) -> RewindFilesResult:
        """Put files back to what they were at a prompt, or only say what that would change."""
        return await self.request(RewindFiles(user_message_id, dry_run), timeout=timeout)

    async def end_session(self, reason: str | None = None, *, timeout: Timeout = DEFAULT) -> None:
        """Have the CLI finish and exit. `close` is the usual way."""
        await self.request(EndSession(reason), timeout=timeout)

    # --- what there is to know -------------------------------------------------------------------

    async def get_context_usage(
        self, detail: str | None = None, *, timeout: Timeout = DEFAULT
    ) -> ContextUsageResult:
        """Ask what fills the context window."""
        return await self.request(GetContextUsage(detail), timeout=timeout)

    async def get_session_cost(self, *, timeout: Timeout = DEFAULT) -> SessionCostResult:
        """Ask what the session has cost, in words."""
        return await self.request(GetSessionCost(), timeout=timeout)

    async def get_usage(
        self, *, skip_behaviors: bool | None = None, timeout: Timeout = DEFAULT
    ) -> GetUsageResult:
        """Ask what the session has cost, and how much of the subscription is used up."""
        return await self.request(GetUsage(skip_behaviors), timeout=timeout)

    async def list_models(self, *, timeout: Timeout = DEFAULT) -> ListModelsResult:
        """Ask which models may be chosen."""
        return await self.request(ListModels(), timeout=timeout)

    async def get_binary_version(self, *, timeout: Timeout = DEFAULT) -> BinaryVersionResult:
        """Ask which CLI this is."""
        return await self.request(GetBinaryVersion(), timeout=timeout)

    async def get_settings(self, *, timeout: Timeout = DEFAULT) -> GetSettingsResult:
        """Ask which settings are in effect."""
        return await self.request(GetSettings(), timeout=timeout)

    async def get_hooks_listing(self, *, timeout: Timeout = DEFAULT) -> HooksListingResult:
        """Ask which hooks the settings have."""
        return await self.request(GetHooksListing(), timeout=timeout)

    async def list_permission_rules(self, *, timeout: Timeout = DEFAULT) -> PermissionRulesResult:
        """Ask which permission rules are in effect."""
        return await self.request(ListPermissionRules(), timeout=timeout)

    async def apply_flag_settings(
        self, settings: Mapping[str, Any], *, timeout: Timeout = DEFAULT
    ) -> None:
        """Merge settings into those of the command line; None takes one away."""
        await self.request(ApplyFlagSettings(dict(settings)), timeout=timeout)

    async def update_settings(
        self, source: str, settings: Mapping[str, Any], *, timeout: Timeout = DEFAULT
    ) -> None:
        """Write settings to a file: `localSettings` or `userSettings`."""
        await self.request(UpdateSettings(source, dict(settings)), timeout=timeout)

    # --- MCP servers -----------------------------------------------------------------------------

    async def mcp_status(
        self, *, live_reply: bool | None = None, timeout: Timeout = DEFAULT
    ) -> McpStatusResult:
        """Ask how the MCP servers are doing."""
        return await self.request(McpStatus(live_reply), timeout=timeout)

    async def mcp_reconnect(self, server_name: str, *, timeout: Timeout = DEFAULT) -> None:
        """Connect to an MCP server again."""
        await self.request(McpReconnect(server_name), timeout=timeout)

    async def mcp_toggle(
        self, server_name: str, enabled: bool, *, timeout: Timeout = DEFAULT
    ) -> None:
        """Switch an MCP server on or off."""
        await self.request(McpToggle(server_name, enabled), timeout=timeout)

    async def mcp_set_servers(
        self, servers: Mapping[str, Any], *, timeout: Timeout = DEFAULT
    ) -> McpSetServersResult:
        """Replace all MCP servers but those of the command line and of the settings by these.

        Those inside this process too, which are gone then: see `Session.add_server`.
        """
        return await self.request(McpSetServers(dict(servers)), timeout=timeout)

    async def mcp_call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        check_permissions: bool | None = None,
        timeout: Timeout = DEFAULT,
    ) -> McpCallResult:
        """Call an MCP tool without the model."""
        return await self.request(
            McpCall(
                tool,
                None if arguments is None else dict(arguments),
                check_permissions=check_permissions,
            ),
            timeout=timeout,
        )

    async def mcp_read_resource(
        self, server_name: str, uri: str, *, timeout: Timeout = DEFAULT
    ) -> ReadResourceResult:
        """Read a resource of an MCP server."""
        return await self.request(McpReadResource(server_name, uri), timeout=timeout)

    # --- files, plugins and skills ---------------------------------------------------------------

    async def read_file(
        self,
        path: str,
        *,
        max_bytes: int | None = None,
        encoding: str | None = None,
        timeout: Timeout = DEFAULT,
    ) -> ReadFileResult:
        """Read a file that the Read tool may read; `encoding` is `utf-8` or `base64`."""
        return await self.request(ReadFile(path, max_bytes, encoding), timeout=timeout)

    async def seed_read_state(self, path: str, mtime: float, *, timeout: Timeout = DEFAULT) -> None:
        """Take a file as already read by the model."""
        await self.request(SeedReadState(path, mtime), timeout=timeout)

    async def file_suggestions(
        self, query: str, *, timeout: Timeout = DEFAULT
    ) -> FileSuggestionsResult:
        """Ask which files may be meant by what is typed after an @."""
        return await self.request(FileSuggestions(query), timeout=timeout)

    async def register_repo_root(
        self, directory: str, *, timeout: Timeout = DEFAULT
    ) -> RegisterRepoRootResult:
        """Let tools work in one more directory."""
        return await self.request(RegisterRepoRoot(directory), timeout=timeout)

    async def reload_plugins(self, *, timeout: Timeout = DEFAULT) -> ReloadPluginsResult:
        """Load the plugins again."""
        return await self.request(ReloadPlugins(), timeout=timeout)

    async def reload_skills(self, *, timeout: Timeout = DEFAULT) -> ReloadSkillsResult:
        """Load the skills again."""
        return await self.request(ReloadSkills(), timeout=timeout)

    async def reload_output_styles(self, *, timeout: Timeout = DEFAULT) -> ReloadOutputStylesResult:
        """Load the output styles again."""
        return await self.request(ReloadOutputStyles(), timeout=timeout)

    async def set_has_subscribers(
        self, has_subscribers: bool | None, *, timeout: Timeout = DEFAULT
    ) -> None:
        """Say whether anybody is looking, so that output may be coalesced."""
        await self.request(SetHasSubscribers(has_subscribers), timeout=timeout)

    # --- tasks -----------------------------------------------------------------------------------

    async def stop_task(self, task_id: str, *, timeout: Timeout = DEFAULT) -> None:
        """Stop a task. An id that is not known is no error."""
        await self.request(StopTask(task_id), timeout=timeout)

    async def background_tasks(
        self, tool_use_id: str | None = None, *, timeout: Timeout = DEFAULT
    ) -> BackgroundTasksResult:
        """Put the running tool, or all of them, in the background."""
        return await self.request(BackgroundTasks(tool_use_id), timeout=timeout)

    async def get_task_output(
        self, task_id: str, *, timeout: Timeout = DEFAULT
    ) -> TaskOutputResult:
        """Ask what a task has printed last."""
        return await self.request(GetTaskOutput(task_id), timeout=timeout)
