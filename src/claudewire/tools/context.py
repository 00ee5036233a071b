"""What a tool knows about the call that it serves, and how it tells how far it is."""

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
"""Takes a JSON-RPC message for the CLI. It is called in the event loop and must not wait."""

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

TOOL_USE_ID: Final = "claudecode/toolUseId"

_LEVELS = {"notice": logging.INFO, "alert": logging.CRITICAL, "emergency": logging.CRITICAL}

log: logging.Logger = logging.getLogger("claudewire.tools")


class _Sent:
    """Already done. A coroutine may await it, to let others run; a plain function need not."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, Any, None]:
        return anyio.lowlevel.checkpoint().__await__()


_SENT = _Sent()


class ToolContext:
    """The call that a tool serves.

    A tool gets one if a parameter of it is annotated with this class.

    Attributes:
        session: in which session it was called; None if there is none.
        server: the name of the tool's server.
        tool: the name of the tool.
        request_id: the id of the call in MCP.
        meta: what came with the call as `_meta`.
    """

    __slots__ = (
        "_cancelled",
        "_logs",
        "_send",
        "in_thread",
        "meta",
        "request_id",
        "server",
        "session",
        "tool",
    )

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
        """The id of the tool use in the conversation, if the CLI tells it; all known ones do."""
        found = self.meta.get(TOOL_USE_ID)
        return found if isinstance(found, str) else None

    @property
    def cancelled(self) -> bool:
        """Whether nobody wants the result any more. A plain function has to look for itself."""
        return self._cancelled

    def cancel(self) -> None:
        """Note that nobody wants the result any more."""
        self._cancelled = True

    def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> Awaitable[None]:
        """Tell how far it is. It is done at once; in a coroutine function, await it all the same.

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
        """Log something here; and at the CLI, if the server declares that it does.

        Args:
            level: how important it is.
            data: anything that JSON can say.
            logger: who says so.
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
