"""The requests that every application makes, as methods of a session; and how long one may take.

Any other request is an object of `claudewire.wire`, made with `Session.request`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Final, Literal, TypeVar

from ..wire import (
    ContextUsageResult,
    GetContextUsage,
    McpReconnect,
    McpStatus,
    McpStatusResult,
    RequestBody,
    RewindFiles,
    RewindFilesResult,
    SetModel,
    SetModelResult,
    SetPermissionMode,
    SetPermissionModeResult,
    StopTask,
)

__all__ = ["DEFAULT", "Controls", "Timeout"]

AnswerT = TypeVar("AnswerT")


class _Default(Enum):
    DEFAULT = "default"


DEFAULT: Final = _Default.DEFAULT
"""The timeout that the session was opened with."""

Timeout = float | None | Literal[_Default.DEFAULT]
"""Seconds, None to wait without limit, or `DEFAULT`."""


class Controls(ABC):
    """The requests of a session. Each raises what `request` raises."""

    @abstractmethod
    async def request(self, body: RequestBody[AnswerT], *, timeout: Timeout = DEFAULT) -> AnswerT:
        """Send a request to the CLI and return its answer.

            models = await session.request(claudewire.wire.ListModels())

        If the caller is cancelled, the request is withdrawn.

        Args:
            body: any request of `claudewire.wire`.
            timeout: seconds to wait for the answer; `Timeouts.request` if not given.

        Raises:
            UnsupportedRequest: the CLI does not know this request.
            RequestTimeout: the CLI did not answer in time.
            RequestError: the CLI refused.
            Error: the session is closed or has failed; always the original reason.
        """

    async def set_model(
        self, model: str | None = None, *, timeout: Timeout = DEFAULT
    ) -> SetModelResult:
        """Change the model; None restores the one that the session started with."""
        return await self.request(SetModel(model), timeout=timeout)

    async def set_permission_mode(
        self, mode: str, *, timeout: Timeout = DEFAULT
    ) -> SetPermissionModeResult:
        """Change the permission mode: `default`, `acceptEdits`, `plan` and so on."""
        return await self.request(SetPermissionMode(mode), timeout=timeout)

    async def get_context_usage(
        self, detail: str | None = None, *, timeout: Timeout = DEFAULT
    ) -> ContextUsageResult:
        """Ask what fills the context window."""
        return await self.request(GetContextUsage(detail), timeout=timeout)

    async def rewind_files(
        self, user_message_id: str, *, dry_run: bool | None = None, timeout: Timeout = DEFAULT
    ) -> RewindFilesResult:
        """Restore files to their state at a prompt; `dry_run` only reports what would change."""
        return await self.request(RewindFiles(user_message_id, dry_run), timeout=timeout)

    async def stop_task(self, task_id: str, *, timeout: Timeout = DEFAULT) -> None:
        """Stop a background task. An unknown id is not an error."""
        await self.request(StopTask(task_id), timeout=timeout)

    async def mcp_status(
        self, *, live_reply: bool | None = None, timeout: Timeout = DEFAULT
    ) -> McpStatusResult:
        """Ask for the state of the MCP servers."""
        return await self.request(McpStatus(live_reply), timeout=timeout)

    async def reconnect_server(self, name: str, *, timeout: Timeout = DEFAULT) -> None:
        """Connect to an MCP server again."""
        await self.request(McpReconnect(name), timeout=timeout)
