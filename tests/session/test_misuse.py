"""Mistakes of somebody new: each is refused where it is made, in words that say what to do."""

from __future__ import annotations

import asyncio
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


def everything(*args: int) -> int:
    """Add all numbers."""
    return sum(args)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"budgets": 1.0}, "budgets must be a list, not 1.0"),
    ({"budgets": claudewire.Budget(turns=1)}, r"budgets must be a list; did you mean \[Budget"),
    ({"budgets": [1]}, r"budgets\[0\] must be Budget\(…\), not 1"),
    ({"timeouts": 5}, r"timeouts must be Timeouts\(…\), not 5"),
    ({"timeouts": None}, r"timeouts must be Timeouts\(…\), not None"),
    ({"patience": 5}, r"patience must be Patience\(…\), not 5"),
    ({"unread": "drop"}, r"unread must be Unread\(…\)"),
    ({"prices": 3}, "prices must be a mapping, not 3"),
    ({"prices": {"opus": 3}}, r"prices\['opus'\] must be Price\(…\), not 3"),
    ({"dialect": "klingon"}, "dialect must be one of 'auto', .*not 'klingon'"),
    ({"policy": {"allow": ["Read"]}}, "policy must be a Policy"),
    ({"policy": claudewire.Policy}, "policy must be a Policy"),
    ({"inbox": "x"}, r"inbox must be Inbox\(…\), not 'x'"),
    ({"audit": "x.jsonl"}, "audit must be a function, not 'x.jsonl'"),
    ({"on_stderr": "x"}, "on_stderr must be a function"),
    ({"decide_within": "5"}, "decide_within must be a number of seconds, not '5'"),
    ({"decide_within": -1}, "decide_within must be more than 0 seconds, not -1"),
    ({"repairs": -1}, "repairs must be 0 or more, not -1"),
    ({"tell_errors": "yes"}, "tell_errors must be True or False"),
    ({"person": "terminal"}, r"person must be a function, Terminal\(\) or 'inbox'"),
    ({"person": claudewire.Inbox()}, r"person must be 'inbox'; the Inbox\(\) itself goes into"),
    ({"person": claudewire.Inbox}, "person must be 'inbox'"),
    ({"person": claudewire.Terminal}, r"Terminal is a class, .*: Terminal\(\)"),
    ({"tools": [5]}, "a tool is made of a function, not of 5"),
    ({"tools": [add, add]}, "claudewire has a tool called add already"),
    ({"tools": [everything]}, r"it cannot take \*args; take a list instead"),
    ({"tools": ["Read"]}, "not 'Read'; names of built-in tools go into builtin_tools"),
    ({"tools": "Read"}, "names of built-in tools go into builtin_tools"),
    ({"tools": add}, "tools must be a list; did you mean"),
    ({"tools": claudewire.ToolServer("s", [add])}, r"must be a list; did you mean \[<ToolServer s"),
    (
        {"mcp_servers": claudewire.ToolServer("s")},
        "mcp_servers must be a mapping, not <ToolServer, which",
    ),
    (
        {"mcp_servers": ["s"]},
        "is not a ToolServer or a server of the `mcp` package: <str of length 1",
    ),
    ({"mcp_servers": [{"command": "x"}]}, "Other servers need a name"),
    (
        {"tools": [claudewire.ToolServer("s")], "mcp_servers": [claudewire.ToolServer("s")]},
        "two MCP servers called s",
    ),
    ({"can_use_tool": print}, "here it is on_permission"),
    ({"timeout": 5}, r"here it is timeouts=Timeouts\(…\)"),
    ({"transport": "simulated"}, "transport must be a Transport, or a function that makes one"),
    ({"tasks": "wait"}, r"here it is an argument of run\(…\) and wait_idle"),
    ({"api_key": "x"}, "here it is env={'ANTHROPIC_API_KEY': …}"),
    (
        {"transport": lambda: SimulatedCLI(echo)},
        "called with one argument, the Launch, and returns a Transport; .*lambda> cannot be called",
    ),
    ({"transport": SimulatedCLI}, "transport must be an object, not the class SimulatedCLI"),
]


@pytest.mark.parametrize(
    ("wrong", "words"), REFUSED, ids=lambda it: ", ".join(it) if isinstance(it, dict) else it[:60]
)
def test_it_is_refused_before_anything_is_started(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(claudewire.OptionsError, match=words):
        claudewire.open(**{"transport": SimulatedCLI(echo), **wrong})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: claudewire.Budget(turns=1, per=cast("Any", "day")), "per must be session or turn"),
        (
            lambda: claudewire.Budget(turns=cast("Any", 1.5)),
            "The limit turns of a budget must be a whole number, not 1.5",
        ),
        (
            lambda: claudewire.Options(**cast("Any", {"transport": SimulatedCLI(echo)})),
            r"no option 'transport'; here it is an argument of open\(…\), run\(…\) and Pool",
        ),
        (
            lambda: claudewire.Pool(transport=cast("Any", lambda: SimulatedCLI(echo))),
            "called with one argument, the Launch",
        ),
        (lambda: claudewire.Patience(action=cast("Any", "kill")), "patience.action must be one of"),
        (lambda: claudewire.Patience(tool=cast("Any", "1")), "patience.tool must be a number of"),
        (lambda: claudewire.Patience(tool=-1), "patience.tool must be more than 0 seconds, not -1"),
        (
            lambda: claudewire.Unread(policy=cast("Any", "drop")),
            "unread.policy must be one of 'keep', 'drop_partial'",
        ),
        (
            lambda: claudewire.open(cast("Any", {"model": "opus"})),
            r"must be Options\(…\), not dict",
        ),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(claudewire.OptionsError, match=words):
        make()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"scenario": "hello"}, "an async function of a Chat, but 'hello' is not a function"),
        ({"faults": "kill@3"}, r"use parse_faults\('kill@3'\) to make one"),
        ({"faults": 5}, "faults must be a list of faults, not 5"),
        ({"faults": ["kill@3"]}, r"faults must be a list of faults, not \['kill@3'\]"),
        ({"version": "9"}, "No persona for CLI '9'; the versions are"),
        ({"version": ["9"]}, r"No persona for CLI \['9'\]; the versions are"),
        ({"scenario": lambda: None}, "scenario is called with one argument, the Chat; .*lambda> "),
        ({"scenario": Chat}, "scenario must be an async function of a Chat, .*Chat is a class"),
        ({"argv": "--foo --bar"}, r"argv must be a list; did you mean \['--foo', '--bar'\]\?"),
        ({"argv": [5]}, r"argv must be a list of strings, not \[5\]"),
        ({"dialect": "klingon"}, "dialect must be one of auto, session, .*, not 'klingon'"),
        ({"dialect": []}, "dialect must be one of auto"),
        ({"cwd": 5}, "cwd must be a path, not 5"),
        ({"env": "A=1"}, "env must be a mapping, not 'A=1'"),
    ],
)
def test_a_simulated_cli_is_refused_where_it_is_made(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(claudewire.OptionsError, match=words):
        SimulatedCLI(**wrong)


async def test_a_session_that_was_not_opened_says_how_to() -> None:
    with pytest.raises(claudewire.SessionClosed, match="not opened; use `async with` or `await`"):
        claudewire.open(transport=SimulatedCLI(echo)).send("Hello")


async def test_a_pool_that_was_not_started_says_how_to() -> None:
    with pytest.raises(claudewire.SessionClosed, match=r"not started; call start\(\), or open it"):
        await claudewire.Pool(cli="simulated").open()
    with pytest.raises(claudewire.SessionClosed, match=r"not started; call start\(\), or open it"):
        claudewire.sync.Pool(cli="simulated").open()
    pool = await claudewire.Pool(cli="simulated", size=0).start()
    await pool.close()
    with pytest.raises(claudewire.SessionClosed, match="The pool is closed"):
        await pool.open()


def test_a_blocking_session_needs_no_block() -> None:
    claude = claudewire.sync.open(transport=SimulatedCLI(echo))
    assert claude.send("hi").reply().text == "hi"
    claude.close()


async def test_a_word_that_means_nothing_is_refused() -> None:
    with pytest.raises(claudewire.OptionsError, match="tasks is one of wait, ignore, cancel"):
        await claudewire.run("Hi", tasks=cast("Any", "kill"), transport=SimulatedCLI(echo))
    async with claudewire.open(transport=SimulatedCLI(echo)) as claude:
        with pytest.raises(claudewire.OptionsError, match="priority is one of now, next, later"):
            claude.send("Hi", priority=cast("Any", "asap"))
        with pytest.raises(claudewire.OptionsError, match="queued is one of keep, cancel"):
            await claude.interrupt(queued=cast("Any", "drop"))


@pytest.mark.parametrize("body", ["list_models", {"subtype": "list_models"}, wire.ListModels])
async def test_a_request_is_an_object_of_the_wire(body: Any) -> None:
    async with claudewire.open(transport=SimulatedCLI(echo)) as claude:
        with pytest.raises(claudewire.OptionsError, match=r"such as ListModels\(\), not "):
            await claude.request(body)


async def test_a_turn_that_was_not_awaited_says_where_the_reply_is() -> None:
    async with claudewire.open(transport=SimulatedCLI(echo)) as claude:
        turn: Any = claude.send("Hi")
        with pytest.raises(AttributeError, match="'text'; await the turn for its reply"):
            print(turn.text)
        with pytest.raises(AttributeError, match=r"has no attribute 'txet'$"):
            print(turn.txet)
        await turn


def test_a_blocking_turn_says_where_the_reply_is() -> None:
    with claudewire.sync.open(transport=SimulatedCLI(echo)) as claude:
        turn: Any = claude.send("Hi")
        with pytest.raises(AttributeError, match=r"'text'; call `reply\(\)` for its reply"):
            print(turn.text)


async def test_a_closed_session_says_to_open_another() -> None:
    async with claudewire.open(transport=SimulatedCLI(echo)) as claude:
        with pytest.raises(claudewire.SessionClosed, match=r"it is ready$"):
            await claude.start()
    for call in (claude.start, claude.get_context_usage):
        with pytest.raises(claudewire.SessionClosed, match="Open another one"):
            await call()


@pytest.mark.parametrize("prompt", [3, [], None])
async def test_no_cli_is_started_for_a_prompt_that_makes_no_sense(prompt: Any) -> None:
    def connect(launch: Launch) -> claudewire.Transport:
        raise AssertionError("it was started")

    with pytest.raises(claudewire.OptionsError, match=r"[Pp]rompt"):
        await claudewire.run(prompt, transport=connect)
    with pytest.raises(claudewire.OptionsError, match=r"[Pp]rompt"):
        claudewire.sync.run(prompt, transport=connect)


async def test_an_event_loop_in_another_thread_cannot_use_the_session() -> None:
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
async def test_a_turn_that_is_over_can_be_used_in_an_event_loop_of_another_thread() -> None:
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


async def test_a_session_that_is_starting_cannot_be_used_from_another_thread() -> None:
    async def connect(launch: Launch) -> claudewire.Transport:
        with pytest.raises(RuntimeError, match="another thread"):
            await anyio.to_thread.run_sync(claude.send, "Hi")
        return SimulatedCLI(echo)

    claude = claudewire.open(transport=connect)
    async with claude:
        assert (await claude.send("Hi")).text == "Hi"


async def test_a_plan_is_not_carried_out_in_a_mode_that_there_is_not() -> None:
    def approve(request: claudewire.PlanRequest) -> claudewire.PermissionResult:
        with pytest.raises(claudewire.AnswerError, match="in the mode 'yolo'"):
            request.approve(mode="yolo")
        return request.approve()

    async def plan(chat: Chat) -> None:
        await chat.say((await chat.plan("# Tidy up")).text)

    reply = await claudewire.run("Go", on_plan=approve, transport=SimulatedCLI(plan))
    assert "approved" in reply.text


def test_a_directory_is_no_cli() -> None:
    from claudewire.launch import find_cli

    with pytest.raises(claudewire.CLINotFoundError, match="/ is a directory"):
        find_cli("/", {})
