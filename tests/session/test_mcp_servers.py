"""MCP servers that are added, removed, and switched on and off while a session runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.abc
import pytest
from tests.helpers.clock import simulated_time
from tests.helpers.peer import SOON, Peer
from tests.helpers.sessions import QUICK, SOME_CLI, allow, bounded, opened, options, soon

from claudewire.errors import CLIError, OptionsError, RequestError, RequestTimeout
from claudewire.options import Timeouts
from claudewire.session import Session
from claudewire.testing import Chat, SimulatedCLI
from claudewire.tools import ToolServer
from claudewire.transport import Launch, Transport
from claudewire.wire import (
    Answer,
    EndOfStream,
    Failure,
    Initialize,
    McpMessage,
    McpSetServers,
    McpSetServersResult,
    McpStdioServerConfig,
    McpToggle,
)

pytestmark = pytest.mark.anyio


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def sdk(*names: str) -> dict[str, Any]:
    return {name: {"type": "sdk", "name": name} for name in names}


class CLI(Peer):
    """A CLI that connects to servers, as real ones do after they have answered.

    Attributes:
        told: the servers of each change.
    """

    def __init__(self) -> None:
        super().__init__()
        self.told: list[dict[str, Any]] = []

    async def change(self, *, errors: dict[str, str] | None = None) -> None:
        """Answer a change."""
        request = await self.hear_request(McpSetServers)
        await self.answer(request, McpSetServersResult([], [], errors or {}))
        assert isinstance(request.body, McpSetServers)
        self.told.append(request.body.servers)

    async def meet(self, name: str) -> Any:
        """Shake hands with a server; give its answer."""
        setup = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}
        answer = await self.message(name, setup)
        await self.message(name, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    async def message(self, name: str, message: dict[str, Any]) -> Any:
        id = await self.ask(McpMessage(name, message))
        event = await self.hear(Answer, where=lambda it: it.id == id)
        return event.body.mcp_response

    async def call(self, name: str) -> Any:
        params = {"name": "add", "arguments": {"a": 1, "b": 2}}
        call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
        return (await self.message(name, call))["result"]["content"][0]["text"]


@asynccontextmanager
async def talking(does: Callable[[CLI], Any], **changes: Any) -> AsyncIterator[tuple[Session, CLI]]:
    """A session with a CLI that does something at the same time."""
    cli = CLI()
    session = await opened(cli, **changes)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(does, cli)
            yield session, cli
        await session.close()


# --- adding --------------------------------------------------------------------------------------


async def calculate(chat: Chat) -> None:
    outcome = await chat.call("calc", "add", {"a": 2, "b": 3})
    await chat.say(outcome.text)


@pytest.mark.parametrize(("own", "name"), [("calc", None), ("other", "calc")])
async def test_model_can_use_an_added_server(own: str, name: str | None) -> None:
    server = ToolServer(own, [add])
    session = Session(options(on_permission=allow), transport=SimulatedCLI(calculate))
    async with bounded(session):
        assert await session.add_server(server, name) == "calc"
        assert (await session.ask("add")).text == "5"
        status = await session.mcp_status()
    assert [it.name for it in status.mcp_servers or ()] == ["calc"]


async def test_add_server_waits_until_the_cli_has_connected() -> None:
    has_met: list[bool] = []

    async def connect(cli: CLI) -> None:
        await cli.change()
        has_met.append(False)
        await cli.meet("two")

    async with talking(connect, mcp_servers=[ToolServer("one")], tools=[add]) as (session, cli):
        assert await session.add_server(ToolServer("two", [add])) == "two"
        has_met.append(True)
        await anyio.wait_all_tasks_blocked()  # the CLI has read the answer to its last message
        assert await cli.call("two") == "3"
    assert cli.told == [sdk("one", "claudewire", "two")]
    assert has_met == [False, True]


STDIO = {"command": "calc-server"}


@pytest.mark.parametrize("server", [STDIO, McpStdioServerConfig(command="calc-server")])
async def test_server_outside_the_process_is_added(server: Any) -> None:
    async with talking(CLI.change, mcp_servers=[ToolServer("one")]) as (session, cli):
        assert await session.add_server(server, "calc") == "calc"
    # 2.1.325 trips over a server that has no list of arguments.
    assert cli.told[0].pop("calc")["args"] == []
    assert cli.told == [sdk("one")]


async def test_server_outside_that_does_not_start_is_not_added() -> None:
    async def connect(cli: CLI) -> None:
        await cli.change(errors={"calc": "spawn calc-server ENOENT"})
        await cli.change()

    async with talking(connect) as (session, cli):
        with pytest.raises(RequestError, match="MCP server calc: spawn calc-server ENOENT"):
            await session.add_server(STDIO, "calc")
    assert [[*servers] for servers in cli.told] == [["calc"], []]


class Broken:
    """A server in the form of the `mcp` package that never gets ready."""

    name = "broken"

    def create_initialization_options(self) -> None:
        return None

    async def run(self, *streams: object) -> None:
        raise RuntimeError("no database")


async def test_server_with_a_failed_handshake_is_not_added() -> None:
    async def connect(cli: CLI) -> None:
        await cli.change()
        setup = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}
        await cli.message("broken", setup)
        await cli.change()
        await cli.change()
        await cli.meet("broken")

    async with talking(connect) as (session, cli):
        with pytest.raises(RequestError, match=r"MCP server broken: .* no database"):
            await session.add_server(Broken())
        await session.add_server(ToolServer("broken"))
    assert cli.told == [sdk("broken"), {}, sdk("broken")]


@simulated_time
async def test_server_without_a_handshake_in_time_is_not_added() -> None:
    short = Timeouts(start=SOON, request=0.05, exit=0.05, drain=0.05)
    async with talking(CLI.change, timeouts=short) as (session, cli):
        with pytest.raises(RequestTimeout, match=r"MCP server late within 0\.05 s"):
            await session.add_server(ToolServer("late"))
        id = await cli.ask(McpMessage("late", {"jsonrpc": "2.0", "id": 1, "method": "ping"}))
        refusal = await cli.hear(Failure, where=lambda it: it.id == id)
    assert "not found: late" in refusal.error


async def test_add_server_raises_when_the_cli_exits() -> None:
    async def leave(cli: CLI) -> None:
        await cli.change()
        await cli.message("late", {"jsonrpc": "2.0", "id": 0, "method": "initialize"})
        cli.exit(3)

    async with talking(leave) as (session, _):
        with pytest.raises(CLIError, match="exited"):
            await session.add_server(ToolServer("late"))


async def test_cancelled_add_server_leaves_no_server() -> None:
    scope = anyio.CancelScope()

    async def hesitate(cli: CLI) -> None:
        await cli.change()
        scope.cancel()
        await cli.change()
        await cli.meet("other")

    async with talking(hesitate) as (session, cli):
        with scope:
            await session.add_server(ToolServer("late"))
        assert scope.cancelled_caught
        await session.add_server(ToolServer("other"))
    assert cli.told == [sdk("late"), sdk("other")]


@pytest.mark.filterwarnings("ignore:The CLI at the other end of a transport")
async def test_invalid_changes_are_refused_before_the_cli() -> None:
    servers = {"one": ToolServer("one"), "outside": STDIO}
    given = {"mcp_servers": servers, "cli": SOME_CLI}
    async with talking(CLI.hear_end, **given) as (session, cli):
        for name in ("one", "outside"):
            with pytest.raises(ValueError, match=f"MCP server called {name} already"):
                await session.add_server(ToolServer(name))
        with pytest.raises(ValueError, match="called one already"):
            await session.add_server(STDIO, "one")
        with pytest.raises(ValueError, match="needs a name"):
            await session.add_server(STDIO)
        with pytest.raises(OptionsError, match="needs a command"):
            await session.add_server({}, "calc")
        with pytest.raises(TypeError, match="not a server"):
            await session.add_server(5)
        with pytest.raises(ValueError, match="no MCP server called two that could be removed"):
            await session.remove_server("two")
        with pytest.raises(ValueError, match="can only be switched off"):
            await session.remove_server("outside")
        await session.close()
    asked = [event for event in cli.heard if not isinstance(event, EndOfStream)]
    assert len(asked) == 1


# --- removing ------------------------------------------------------------------------------------


async def test_remove_server_cancels_its_calls() -> None:
    began, ended = anyio.Event(), anyio.Event()

    async def slow() -> None:
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async def call(cli: CLI) -> None:
        params = {"name": "slow", "arguments": {}}
        message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
        await cli.ask(McpMessage("one", message))
        await cli.change()

    servers = [ToolServer("one", [slow]), ToolServer("two")]
    async with talking(call, mcp_servers=servers) as (session, cli):
        await began.wait()
        await session.remove_server("one")
        await ended.wait()
    assert cli.told == [sdk("two")]


# --- on and off ----------------------------------------------------------------------------------


async def test_server_of_the_cli_is_toggled_by_the_cli() -> None:
    asked: list[Any] = []

    async def switch(cli: CLI) -> None:
        for _ in range(2):
            request = await cli.hear_request(McpToggle)
            assert isinstance(request.body, McpToggle)
            asked.append((request.body.server_name, request.body.enabled))
            await cli.answer(request)

    async with talking(switch, mcp_servers=[ToolServer("one")]) as (session, _):
        await session.toggle_server("other", False)
        await session.toggle_server("other", True)
    assert asked == [("other", False), ("other", True)]


async def test_server_of_the_host_is_toggled_by_the_list() -> None:
    async def switch(cli: CLI) -> None:
        for new in ("", "three", ""):
            await cli.change()
            if new:
                await cli.meet(new)

    servers = [ToolServer("one", [add]), ToolServer("two")]
    async with talking(switch, mcp_servers=servers) as (session, cli):
        await session.toggle_server("one", False)
        with pytest.raises(ValueError, match="called one already"):
            await session.add_server(ToolServer("one"))
        await session.add_server(ToolServer("three"))
        await session.toggle_server("one", True)
        assert await cli.call("one") == "3"
    assert cli.told == [sdk("two"), sdk("two", "three"), sdk("one", "two", "three")]


# --- another CLI ---------------------------------------------------------------------------------


async def test_next_cli_gets_the_current_servers() -> None:
    clis = [CLI(), CLI()]
    launches: list[Launch] = []

    async def connect(launch: Launch) -> Transport:
        launches.append(launch)
        return clis[len(launches) - 1].transport

    async def first() -> None:
        cli = clis[0]
        await cli.welcome()
        for name in ("two", "three", "outside"):
            await cli.change()
            if name != "outside":
                await cli.meet(name)
        await cli.change()
        await cli.change()
        await cli.hear_end()
        cli.exit()

    initialized: list[Any] = []

    async def second() -> None:
        cli = clis[1]
        request = await cli.hear_request(Initialize)
        assert isinstance(request.body, Initialize)
        initialized.append(request.body.sdk_mcp_servers)
        await cli.answer(request)
        await cli.change()
        initialized.append([*cli.told[0]])

    session = Session(
        options(cli=SOME_CLI, mcp_servers=[ToolServer("one", [add])], timeouts=QUICK),
        transport=connect,
    )
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first)
            tasks.start_soon(second)
            await session.start()
            await session.add_server(ToolServer("two", [add]))
            await session.add_server(ToolServer("three"))
            await session.add_server(STDIO, "outside")
            await session.toggle_server("three", False)
            await session.remove_server("one")
            await session.restart()
            await soon(lambda: len(initialized) == 2)
            assert await clis[1].call("two") == "3"
            await session.close()
    assert initialized == [["two"], ["two", "outside"]]
