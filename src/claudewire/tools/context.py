"""The context of a tool call: what is known about it, and how to report progress and log."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

import anyio.from_thread
import anyio.lowlevel

from ..schemas import to_json

if TYPE_CHECKING:
    from ..session import Session

__all__ = ["LogLevel", "Send", "ToolContext"]

Send = Callable[[dict[str, Any]], None]
"""Sends a JSON-RPC message to the CLI. It is called in the event loop and must not block."""

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

TOOL_USE_ID: Final = "claudecode/toolUseId"

_LEVELS = {"notice": logging.INFO, "alert": logging.CRITICAL, "emergency": logging.CRITICAL}

log: logging.Logger = logging.getLogger("claudewire.tools")


class _Sent:
    """Something that is done already. A coroutine may await it, to let other tasks run."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, Any, None]:
        return anyio.lowlevel.checkpoint().__await__()


_SENT = _Sent()


class ToolContext:
    """The context of a tool call. A tool has one if a parameter is annotated with this class.

    Attributes:
        session: the session that the call belongs to; None without one.
        server: the name of the tool's server.
        tool: the name of the tool.
        request_id: the id of the call in MCP.
        meta: the `_meta` of the call.
    """

    def __init__(
        self,
        *,
        session: Session | None = None,
        server: str = "",
        tool: str = "",
        request_id: str | int | None = None,
        meta: Mapping[str, Any] | None = None,
        send: Send | None = None,
        logs: bool = False,
    ) -> None:
        self.session: Session | None = session
        self.server: str = server
        self.tool: str = tool
        self.request_id: str | int | None = request_id
        self.meta: Mapping[str, Any] = {} if meta is None else meta
        self.in_thread: bool = False
        self._send = send
        self._logs = logs
        self._cancelled = False

    @property
    def tool_use_id(self) -> str | None:
        """The id of the tool use in the conversation, if the CLI sent it; all known CLIs do."""
        found = self.meta.get(TOOL_USE_ID)
        return found if isinstance(found, str) else None

    @property
    def cancelled(self) -> bool:
        """Whether the call was cancelled. A plain function has to check this itself."""
        return self._cancelled

    def cancel(self) -> None:
        """Mark the call as cancelled."""
        self._cancelled = True

    def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> Awaitable[None]:
        """Report progress. It is sent at once; a coroutine function should still await this.

        Args:
            done: how much is done.
            total: how much there is to do, if that is known.
            message: what is being done.
        """
        token = self.meta.get("progressToken")
        if token is not None:
            params = {"progressToken": token, "progress": done, "total": total, "message": message}
            self._notify("progress", {key: it for key, it in params.items() if it is not None})
        return _SENT

    def log(self, level: LogLevel, data: Any, logger: str | None = None) -> Awaitable[None]:
        """Log here, and at the CLI if the server was made with `logs=True`.

        Args:
            level: how important it is.
            data: anything that can be written as JSON.
            logger: the name of the logger; by default that of the tool.
        """
        severity = _LEVELS.get(level) or logging.getLevelName(level.upper())
        log.log(severity, "%s.%s: %s", self.server, self.tool, data)
        if self._logs:
            params = {"level": level, "logger": logger or self.tool, "data": to_json(data)}
            self._notify("message", params)
        return _SENT

    def _notify(self, what: str, params: dict[str, Any]) -> None:
        if self._send is None or self._cancelled:
            return
        message = {"jsonrpc": "2.0", "method": f"notifications/{what}", "params": params}
        if self.in_thread:
            anyio.from_thread.run_sync(self._send, message)
        else:
            self._send(message)
