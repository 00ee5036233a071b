"""The context of a tool call: its session and ids, and its progress."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import anyio.from_thread

if TYPE_CHECKING:
    from ..session import Session

Send = Callable[[dict[str, Any]], None]
"""Sends a JSON-RPC message to the CLI. It is called in the event loop and must not block."""

TOOL_USE_ID: Final = "claudecode/toolUseId"


class ToolContext:
    """The context of a tool call. A parameter annotated with this class receives it.

    Attributes:
        session: the session of the call; None without one.
        server: the name of the tool's server.
        tool: the name of the tool.
        request_id: the id of the call in MCP.
        meta: the `_meta` of the call.
        cancelled: whether the result is no longer wanted. A plain function has to check it.
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
    ) -> None:
        self.session: Session | None = session
        self.server: str = server
        self.tool: str = tool
        self.request_id: str | int | None = request_id
        self.meta: Mapping[str, Any] = {} if meta is None else meta
        self._send = send
        self.cancelled: bool = False
        self._thread = threading.get_ident()

    @property
    def tool_use_id(self) -> str | None:
        """The id of the tool use in the conversation, if the CLI sent it; all known CLIs do."""
        found = self.meta.get(TOOL_USE_ID)
        return found if isinstance(found, str) else None

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress to the CLI, in a coroutine or in a thread.

        Args:
            done: how much is done.
            total: how much there is to do, if known.
            message: the current step.
        """
        token = self.meta.get("progressToken")
        if token is None or self._send is None or self.cancelled:
            return
        params = {"progressToken": token, "progress": done, "total": total, "message": message}
        note = {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {key: it for key, it in params.items() if it is not None},
        }
        if threading.get_ident() == self._thread:
            self._send(note)
        else:
            anyio.from_thread.run_sync(self._send, note)
