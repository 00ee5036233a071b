"""A session's connection to one MCP server in this process: JSON-RPC in, JSON-RPC out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Final

import anyio

from .context import Send

METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
CANCELLED: Final = -32800

Message = dict[str, Any]

ACKNOWLEDGED: Final[Message] = {"jsonrpc": "2.0", "result": {}, "id": 0}
"""The response to a message that needs none: it comes in a request that has to be answered."""


class RpcError(Exception):
    """The refusal of a request.

    Args:
        code: the code of the error in JSON-RPC.
        message: the reason.
        data: more about it.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        more = {} if data is None else {"data": data}
        self.error: Message = {"code": code, "message": message, **more}


class ServerConnection(ABC):
    """Dispatches the messages of one CLI to a server, and cancels calls.

    Args:
        send: sends the server's notifications to the CLI. It must not block.

    Attributes:
        met: set once the CLI has finished the handshake, or the server has refused it.
        trouble: the reason of a refused handshake.
    """

    def __init__(self, send: Send | None) -> None:
        self._send = send
        self._running: dict[Any, anyio.CancelScope] = {}
        self.met = anyio.Event()
        self.trouble: str | None = None

    @abstractmethod
    async def serve(self, id: Any, method: str, params: Mapping[str, Any]) -> Message:
        """Return the result of a request.

        Raises:
            RpcError: the server refuses the request.
        """

    def take_note(self, method: str, params: Mapping[str, Any]) -> None:  # noqa: B027
        """Take a notification of the CLI; a server need not."""

    async def run(self) -> None:  # noqa: B027
        """Run the server for as long as the session lives, if it needs a task. Never raises."""

    async def aclose(self) -> None:
        """Cancel the calls that are still running, and send nothing more."""
        self._send = None
        for scope in self._running.values():
            scope.cancel()

    def notify(self, message: Message) -> None:
        """Send a notification to the CLI."""
        if self._send is not None:
            self._send(message)

    async def handle(self, message: Mapping[str, Any]) -> Message:
        """Handle a message of the CLI and return the response.

        Never raises. When the calling task is cancelled, so is the request.
        """
        id, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        if method is None:  # a response to a request that was never sent
            return ACKNOWLEDGED
        if id is None:
            self._take_note(method, params)
            return ACKNOWLEDGED
        response: Message = {"error": RpcError(CANCELLED, "Request cancelled").error}
        scope = anyio.CancelScope()
        self._running[id] = scope  # of the newer request, if the CLI uses an id twice
        try:
            with scope:
                response = {"result": await self.serve(id, method, params)}
        except RpcError as error:
            response = {"error": error.error}
            if method == "initialize":
                self.trouble = str(error)
                self.met.set()
        finally:
            if self._running.get(id) is scope:
                del self._running[id]
        return {"jsonrpc": "2.0", "id": id, **response}

    def _take_note(self, method: str, params: Mapping[str, Any]) -> None:
        if method == "notifications/cancelled":
            if (scope := self._running.get(params.get("requestId"))) is not None:
                scope.cancel()
            return
        if method == "notifications/initialized":
            self.trouble = None
            self.met.set()
        self.take_note(method, params)
