"""Mistakes of somebody new: each is refused where it is made, in words that say what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

import claudewire
import claudewire.sync
from claudewire.testing import Chat, SimulatedCLI

pytestmark = pytest.mark.anyio


async def echo(chat: Chat) -> None:
    await chat.say(chat.text)


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
    ({"tools": [5]}, "a tool is made of a function, not of 5"),
    ({"tools": [add, add]}, "claudewire has a tool called add already"),
    ({"tools": [everything]}, r"it cannot take \*args; take a list instead"),
    ({"tools": ["Read"]}, "not 'Read'; names of built-in tools go into builtin_tools"),
    ({"tools": "Read"}, "names of built-in tools go into builtin_tools"),
    ({"tools": add}, "tools must be a list; did you mean"),
    ({"tools": claudewire.ToolServer("s", [add])}, r"must be a list; did you mean \[<ToolServer s"),
    ({"mcp_servers": claudewire.ToolServer("s")}, "mcp_servers must be a mapping, not <ToolServer"),
    ({"mcp_servers": ["s"]}, "is not a ToolServer or a server of the `mcp` package: 's'"),
    ({"mcp_servers": [{"command": "x"}]}, "Other servers need a name"),
    (
        {"tools": [claudewire.ToolServer("s")], "mcp_servers": [claudewire.ToolServer("s")]},
        "two MCP servers called s",
    ),
    ({"can_use_tool": print}, "here it is on_permission"),
    ({"timeout": 5}, r"here it is timeouts=Timeouts\(…\)"),
    ({"transport": "simulated"}, "transport must be a Transport, or a function that makes one"),
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
        ({"scenario": "hello"}, "an async function of a Chat, not 'hello'"),
        ({"faults": "kill@3"}, r"use parse_faults\('kill@3'\) to make one"),
        ({"faults": 5}, "faults must be a list of faults, not 5"),
        ({"faults": ["kill@3"]}, r"faults must be a list of faults, not \['kill@3'\]"),
        ({"version": "9"}, "No persona for CLI '9'; the versions are"),
        ({"version": ["9"]}, r"No persona for CLI \['9'\]; the versions are"),
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
    from claudewire.launch.find_cli import find_cli

    with pytest.raises(claudewire.CLINotFoundError, match="/ is a directory"):
        find_cli("/", {})
