"""Mistakes of new users raise helpful errors at the wrong call."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, cast

import anyio.to_thread
import pytest

import claudewire
import claudewire.sync
from claudewire import wire
from claudewire.testing import Chat, SimulatedCLI
from claudewire.transport import Launch

pytestmark = pytest.mark.anyio


async def echo(chat: Chat) -> None:
    await chat.say(chat.text)


async def wait(chat: Chat) -> None:
    await chat.sleep(3600)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"budgets": claudewire.Budget(turns=1)}, "budgets must be a list"),
    ({"timeouts": 5}, "timeouts must be Timeouts"),
    ({"policy": {"allow": ["Read"]}}, "policy must be a Policy"),
    ({"audit": "x.jsonl"}, "audit must be a function"),
    ({"tools": [add, add]}, "claudewire has two tools called add"),
    ({"tools": add}, "tools must be a list"),
    ({"mcp_servers": [{"command": "x"}]}, "need a name"),
    (
        {"tools": [claudewire.ToolServer("s")], "mcp_servers": [claudewire.ToolServer("s")]},
        "two MCP servers called s",
    ),
    ({"can_use_tool": print}, "on_permission"),
    ({"timeout": 5}, "timeouts="),
    ({"transport": "simulated"}, "transport must be a Transport, or a function that makes one"),
    ({"transport": SimulatedCLI}, "transport must be a Transport, .*got <class"),
]


@pytest.mark.parametrize(
    ("wrong", "words"), REFUSED, ids=lambda it: ", ".join(it) if isinstance(it, dict) else it[:60]
)
def test_invalid_option_is_refused_before_the_start(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(claudewire.OptionsError, match=words):
        claudewire.open(**{"transport": SimulatedCLI(echo), **wrong})


async def test_unopened_session_says_how_to_open_it() -> None:
    with pytest.raises(claudewire.SessionClosed, match="not opened; use `async with` or `await`"):
        claudewire.open(transport=SimulatedCLI(echo)).send("Hello")


async def test_unstarted_pool_says_how_to_start_it() -> None:
    with pytest.raises(claudewire.SessionClosed, match=r"not started; call start\(\), or open it"):
        await claudewire.Pool(cli="simulated").open()
    with pytest.raises(claudewire.SessionClosed, match=r"not started; call start\(\), or open it"):
        claudewire.sync.Pool(cli="simulated").open()
    pool = await claudewire.Pool(cli="simulated", size=0).start()
    await pool.close()
    with pytest.raises(claudewire.SessionClosed, match="The pool is closed"):
        await pool.open()


async def test_unknown_words_are_refused() -> None:
    with pytest.raises(claudewire.OptionsError, match="tasks is one of wait, ignore, cancel"):
        await claudewire.run("Hi", tasks=cast("Any", "kill"), transport=SimulatedCLI(echo))
    async with claudewire.open(transport=SimulatedCLI(echo)) as claude:
        with pytest.raises(claudewire.OptionsError, match="priority is one of now, next, later"):
            claude.send("Hi", priority=cast("Any", "asap"))
        with pytest.raises(claudewire.OptionsError, match="queued is one of keep, cancel"):
            await claude.interrupt(queued=cast("Any", "drop"))


@pytest.mark.parametrize("body", ["list_models", {"subtype": "list_models"}, wire.ListModels])
async def test_request_must_be_an_object_of_the_wire(body: Any) -> None:
    async with claudewire.open(transport=SimulatedCLI(echo)) as claude:
        with pytest.raises(claudewire.OptionsError, match=r"such as ListModels\(\), not "):
            await claude.request(body)


async def test_attribute_of_a_reply_on_a_turn_has_a_hint() -> None:
    async with claudewire.open(transport=SimulatedCLI(echo)) as claude:
        turn: Any = claude.send("Hi")
        with pytest.raises(AttributeError, match="'text'; await the turn for its reply"):
            print(turn.text)
        with pytest.raises(AttributeError, match=r"has no attribute 'txet'$"):
            print(turn.txet)
        await turn


def test_attribute_of_a_reply_on_a_blocking_turn_has_a_hint() -> None:
    with claudewire.sync.open(transport=SimulatedCLI(echo)) as claude:
        turn: Any = claude.send("Hi")
        with pytest.raises(AttributeError, match=r"'text'; call `reply\(\)` for its reply"):
            print(turn.text)


async def test_closed_session_says_to_open_another() -> None:
    async with claudewire.open(transport=SimulatedCLI(echo)) as claude:
        with pytest.raises(claudewire.SessionClosed, match=r"it is ready\nIt can be used now"):
            await claude.start()
    for call in (claude.start, claude.get_context_usage):
        with pytest.raises(claudewire.SessionClosed, match="Open another one"):
            await call()


@pytest.mark.parametrize("prompt", [3, [], None])
async def test_invalid_prompt_starts_no_cli(prompt: Any) -> None:
    def connect(launch: Launch) -> claudewire.Transport:
        raise AssertionError("it was started")

    with pytest.raises(claudewire.OptionsError, match=r"[Pp]rompt"):
        await claudewire.run(prompt, transport=connect)
    with pytest.raises(claudewire.OptionsError, match=r"[Pp]rompt"):
        claudewire.sync.run(prompt, transport=connect)


async def test_event_loop_of_another_thread_is_refused() -> None:
    async with claudewire.open(transport=SimulatedCLI(wait)) as claude:
        turn = claude.send("Hi")

        async def read(messages: AsyncIterator[object]) -> None:
            async for _ in messages:
                pass

        calls: list[Callable[[], Coroutine[Any, Any, object]]] = [
            turn.reply,
            lambda: read(turn),
            lambda: read(turn.iter_text()),
            lambda: read(turn.reader()),
            lambda: claude.ask("Hi"),
            turn.cancel,
            turn.interrupt,
            turn._leave,
            claude.wait_idle,
            lambda: read(claude.unsolicited),
            lambda: read(claude.events()),
            claude.mcp_status,
            claude.interrupt,
            claude.restart,
            claude.close,
        ]
        for call in calls:
            with pytest.raises(RuntimeError, match=r"another thread.* or use claudewire\.sync"):
                await anyio.to_thread.run_sync(asyncio.run, call())
        with pytest.raises(RuntimeError, match="another thread"):
            await anyio.to_thread.run_sync(claude.send, "Hi")
        assert claude.state == "busy"
    await anyio.to_thread.run_sync(asyncio.run, claude.close())  # it is over, wherever that is


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_finished_turn_can_be_used_in_another_thread() -> None:
    def run(call: Coroutine[Any, Any, object]) -> Awaitable[object]:
        return anyio.to_thread.run_sync(asyncio.run, call)

    async def read(turn: AsyncIterator[object]) -> list[object]:
        return [it async for it in turn]

    async with claudewire.open(transport=SimulatedCLI(echo)) as claude:
        turn = claude.send("Hi")
        reply = await turn
        assert await run(turn.reply()) is reply
        assert await run(read(aiter(turn.reader()))) == [*turn.messages]
        assert await run(read(aiter(turn))) == [*turn.messages]
        assert await run(turn.cancel()) is False
        receipt = await turn.interrupt()
        assert await run(turn.interrupt()) == receipt
        await run(turn._leave())


async def test_wrong_kind_of_loop_or_block_names_the_right_one() -> None:
    claude: Any = claudewire.open(transport=SimulatedCLI(echo))
    with pytest.raises(TypeError, match=r"async with.*claudewire\.sync"), claude:
        pass
    async with claude:
        turn = claude.send("Hi")
        for items in (turn, turn.reader(), turn.iter_text(), turn.iter_blocks(), claude.events()):
            with pytest.raises(TypeError, match=r"async for.*claudewire\.sync"):
                iter(items)


def test_wrong_kind_of_loop_over_a_blocking_turn_names_the_right_one() -> None:
    with claudewire.sync.open(transport=SimulatedCLI(echo)) as claude:
        turn: Any = claude.send("Hi")
        for items in (turn, turn.iter_text(), turn.reader()):
            with pytest.raises(TypeError, match="read with `for`"):
                aiter(items)


async def test_invalid_model_and_mode_are_not_sent() -> None:
    async with claudewire.open(transport=SimulatedCLI(echo)) as claude:
        wrong: Any
        for wrong in ("yolo", None, 3):
            with pytest.raises(claudewire.OptionsError, match="permission_mode must be"):
                await claude.set_permission_mode(wrong)
        wrong = 3
        with pytest.raises(claudewire.OptionsError, match="model must be"):
            await claude.set_model(wrong)
        with pytest.raises(claudewire.OptionsError, match="timeout must be"):
            claude.send("Hi", timeout=-1)


@pytest.mark.parametrize("name", ["query", "ClaudeSDKClient", "ClaudeAgentOptions"])
def test_name_of_the_official_sdk_has_a_hint(name: str) -> None:
    with pytest.raises(AttributeError, match=r"; use (run|open|Options)"):
        getattr(claudewire, name)


def test_blocking_api_needs_no_import() -> None:
    program = "import claudewire; print(claudewire.sync.run('Hi', cli='simulated').ok)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True).stdout == b"True\n"


def test_timeout_of_a_blocking_reply_says_that_the_turn_goes_on() -> None:
    with claudewire.sync.open(transport=SimulatedCLI(wait)) as claude:
        turn = claude.send("Hi")
        with pytest.raises(TimeoutError, match="goes on"):
            turn.reply(timeout=0.001)
