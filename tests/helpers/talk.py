"""The smallest application that can drive a CLI: it sends, serves requests, and keeps events."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
from anyio.abc import Process

from claudewire.transport import Transport
from claudewire.wire import (
    Answer,
    AssistantMessage,
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
    PermissionResultAllow,
    Request,
    Role,
    ToolResultBlock,
    UserMessage,
    text_of,
)

SOON = 60.0

E = TypeVar("E")

Handler = Callable[[Any], Any]


class Talk:
    """One conversation.

    Args:
        cli: the CLI at the other end.
        serve: for each kind of request what to answer, a function of the request's body. Without
            one the request is left waiting.
        dialect: how to write.
        patience: how many seconds to wait for anything.
    """

    def __init__(
        self,
        cli: Transport,
        serve: Mapping[type, Handler] | None = None,
        *,
        dialect: str = "modern",
        patience: float = SOON,
    ) -> None:
        self.cli = cli
        self.serve = dict(serve or {})
        self.connection = Connection(Role.CLIENT, dialect=dialect)
        self.heard: list[Any] = []
        self.wrote: list[dict[str, Any]] = []
        self.patience = patience

    async def say(self, event: Event) -> None:
        data = self.connection.send(event)
        self.wrote.append(json.loads(data))
        with anyio.fail_after(self.patience):
            await self.cli.send(data)

    async def write(self, line: bytes) -> None:
        """Write a line that no well-behaved application writes."""
        with anyio.fail_after(self.patience):
            await self.cli.send(line + b"\n")

    async def listen(self) -> None:
        """Receive the next events, and serve requests."""
        with anyio.fail_after(self.patience):
            events = self.connection.receive_data(await self.cli.receive())
        self.heard += events
        for event in events:
            if isinstance(event, Request) and type(event.body) in self.serve:
                await self._serve(event)

    async def _serve(self, request: Request) -> None:
        try:
            body = self.serve[type(request.body)](request.body)
        except Exception as error:
            await self.say(Failure(request.id, str(error)))
        else:
            await self.say(Answer(request.id, body))

    async def until(self, wanted: Callable[[Any], bool], since: int | None = None) -> list[Any]:
        """Listen until an event is wanted; return all events since, this one last."""
        at = start = len(self.heard) if since is None else since
        while True:
            for event in self.heard[at:]:
                at += 1
                if wanted(event):
                    return self.heard[start:at]
                assert not isinstance(event, EndOfStream), self.heard[start:]
            await self.listen()

    async def until_result(self, since: int | None = None) -> list[Any]:
        """Listen until a turn is over, by the rules of the dialect."""
        return await self.until(self.connection.behavior.ends_turn, since)

    async def ask(self, body: Body) -> Answer | Failure:
        """Ask the CLI for something and wait for the answer."""
        request, since = self.connection.new_request(body), len(self.heard)
        await self.say(request)
        events = await self.until(
            lambda it: isinstance(it, Answer | Failure) and it.id == request.id, since
        )
        answer: Answer | Failure = events[-1]
        return answer

    async def initialize(self, **fields: Any) -> Any:
        """Send `initialize`, and return its answer."""
        answer = await self.ask(Initialize(**fields))
        assert isinstance(answer, Answer), answer
        return answer.body

    async def turn(self, text: str, **fields: Any) -> list[Any]:
        """Send a prompt; return all events up to the end of the turn."""
        since = len(self.heard)
        await self.say(UserMessage.of(text, **fields))
        return await self.until_result(since)

    async def request(self, kind: type[E], since: int | None = None) -> tuple[str, E]:
        """Wait for a request without a handler; return its id and its body."""
        events = await self.until(
            lambda it: isinstance(it, Request) and isinstance(it.body, kind), since
        )
        return events[-1].id, events[-1].body

    async def end(self) -> int | None:
        """End the input, receive the rest, and return the exit status."""
        with anyio.fail_after(self.patience):
            await self.cli.send_eof()
        return await self.rest()

    async def rest(self) -> int | None:
        """Receive the rest, and return the exit status."""
        await self.until(lambda it: isinstance(it, EndOfStream))
        with anyio.fail_after(self.patience):
            return await self.cli.wait()

    async def stderr(self) -> str:
        """All of stderr, once the CLI has exited."""
        text = b""
        with anyio.fail_after(self.patience):
            while data := await self.cli.receive_stderr():
                text += data
        return text.decode()


# --- handlers ------------------------------------------------------------------------------------


def allow(body: CanUseTool) -> PermissionResultAllow:
    """Let every tool run as it is."""
    return PermissionResultAllow(body.input)


def hooks_say(**outputs: HookOutput | Exception) -> dict[type, Handler]:
    """Answer the hooks by their ids."""

    def answer(body: HookCallback) -> HookOutput:
        output = outputs[body.callback_id]
        if isinstance(output, Exception):
            raise output
        return output

    return {HookCallback: answer}


def calculator(body: McpMessage) -> McpResponse:
    """An MCP server with one tool, which adds."""
    message = body.message
    result: dict[str, Any] = {}
    if message["method"] == "tools/list":
        result = {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}
    elif message["method"] == "tools/call":
        given = message["params"]["arguments"]
        result = {"content": [{"type": "text", "text": str(given["a"] + given["b"])}]}
    return McpResponse({"jsonrpc": "2.0", "id": message.get("id", 0), "result": result})


# --- events --------------------------------------------------------------------------------------


def only(events: Sequence[Any], kind: type[E]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def bodies(events: Sequence[Any], kind: type[E]) -> list[E]:
    """The requests of a kind among the events."""
    return only([event.body for event in only(events, Request)], kind)


def hook_inputs(events: Sequence[Any]) -> list[Any]:
    """Return the inputs of hooks."""
    return [it.input for it in bodies(events, HookCallback)]


def said(events: Sequence[Any]) -> list[str]:
    """Return the texts of the agent."""
    return [it.text for it in only(events, AssistantMessage) if it.text]


def tool_results(events: Sequence[Any]) -> list[ToolResultBlock]:
    contents = [it.content for it in only(events, UserMessage) if isinstance(it.content, list)]
    return [block for content in contents for block in only(content, ToolResultBlock)]


def told(events: Sequence[Any]) -> list[str]:
    """Return the results of tools as text."""
    return [text_of(block.content or "") for block in tool_results(events)]


def kinds(events: Sequence[Any]) -> list[str]:
    """The events by their `type` and `subtype`, as they were written."""
    names = []
    for event in events:
        kind, subtype = event.raw.get("type", type(event).__name__), event.raw.get("subtype")
        names.append(f"{kind}/{subtype}" if isinstance(subtype, str) else kind)
    return names


# --- the same with a process at the other end -----------------------------------------------------


class Program:
    """A transport to a process."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        await self._process.stdin.send(data)

    async def send_eof(self) -> None:
        assert self._process.stdin is not None
        await self._process.stdin.aclose()

    async def receive(self) -> bytes:
        assert self._process.stdout is not None
        try:
            return await self._process.stdout.receive()
        except anyio.EndOfStream:
            return b""

    async def receive_stderr(self) -> bytes:
        assert self._process.stderr is not None
        try:
            return await self._process.stderr.receive()
        except anyio.EndOfStream:
            return b""

    async def wait(self) -> int | None:
        return await self._process.wait()

    async def aclose(self) -> None:
        await self._process.aclose()


@asynccontextmanager
async def program(
    *argv: str, cwd: str | os.PathLike[str] = ".", env: Mapping[str, str] | None = None
) -> AsyncIterator[Program]:
    """Start the simulated CLI as a program."""
    command = [sys.executable, "-m", "claudewire.simulator", *argv]
    measured = {key: value for key, value in os.environ.items() if key.startswith("COVERAGE_")}
    async with await anyio.open_process(
        command, cwd=cwd, env={**measured, **(env or {})}
    ) as process:
        yield Program(process)
