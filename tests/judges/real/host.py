"""A small host that drives a CLI, real or simulated, and keeps its lines."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from claudewire.errors import TransportClosed
from claudewire.transport import Transport
from claudewire.wire import (
    Answer,
    Body,
    CanUseTool,
    Connection,
    EndOfStream,
    Event,
    Failure,
    HookCallback,
    HookOutput,
    Initialize,
    McpMessage,
    McpResponse,
    Request,
    ResultMessage,
    Role,
    UserMessage,
)

Reaction = Callable[[Any], Any]
"""Gives the answer to a request; None to leave it waiting."""


class Host:
    """Sends, reads, and answers requests.

    Args:
        transport: leads to the CLI.
        decide: answers permission requests.
        serve: answers for an MCP server. Hooks have no opinion.
        folder: where the CLI works, if it really does.
    """

    def __init__(
        self,
        transport: Transport,
        decide: Reaction,
        serve: Reaction,
        folder: Path | None = None,
    ) -> None:
        self.transport = transport
        self.folder = folder
        self.connection = Connection(Role.CLIENT, dialect="modern")
        self.events: list[Event] = []
        self._looked_at = 0
        self.reactions: dict[type, Reaction] = {
            CanUseTool: decide,
            HookCallback: lambda _: HookOutput(),
            McpMessage: serve,
        }

    async def send(self, event: Event) -> None:
        await self.transport.send(self.connection.send(event))

    async def until(self, happened: Callable[[Event], bool]) -> Event:
        """Go on reading until something has come, or all is over."""
        while True:
            while self._looked_at < len(self.events):
                event = self.events[self._looked_at]
                self._looked_at += 1
                if happened(event) or isinstance(event, EndOfStream):
                    return event
            await self._read()

    async def _read(self) -> None:
        """Take the received lines and answer requests."""
        events = self.connection.receive_data(await self.transport.receive())
        self.events += events
        for event in events:
            await self._react(event)

    async def ask(self, body: Body) -> Event:
        """Put a request and wait for its answer."""
        request = self.connection.new_request(body)
        await self.send(request)
        return await self.until(
            lambda event: isinstance(event, Answer | Failure) and event.id == request.id
        )

    async def turn(self, prompt: str, **fields: Any) -> Event:
        """Say something and wait for the result."""
        await self.send(UserMessage.of(prompt, **fields))
        return await self.until(lambda event: isinstance(event, ResultMessage))

    async def start(self, setup: Initialize) -> None:
        """Open the conversation; a CLI that cannot start may be gone already."""
        with suppress(TransportClosed):
            await self.ask(setup)

    async def end(self) -> int | None:
        """Close the conversation, read the rest, and return the exit status."""
        with suppress(TransportClosed):
            await self.transport.send_eof()
        if not any(isinstance(event, EndOfStream) for event in self.events):
            await self.until(lambda event: False)
        return await self.transport.wait()

    async def _react(self, event: Event) -> None:
        if isinstance(event, Request) and event.id in self.connection.owed:
            answer = self.reactions[type(event.body)](event.body)
            if answer is not None:
                await self.send(Answer(event.id, answer))


def serve_calculator(asked: McpMessage) -> McpResponse:
    """Be an MCP server with one tool, which adds."""
    method = asked.message["method"]
    if "id" not in asked.message:
        return McpResponse({"jsonrpc": "2.0", "result": {}})
    return McpResponse(
        {"jsonrpc": "2.0", "id": asked.message["id"], "result": _served(method, asked.message)}
    )


def _served(method: str, message: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "calc", "version": "1.0.0"},
        }
    if method == "tools/list":
        number = {"type": "number"}
        schema = {"type": "object", "properties": {"a": number, "b": number}}
        return {"tools": [{"name": "add", "description": "Add", "inputSchema": schema}]}
    arguments = message["params"]["arguments"]
    return {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}
