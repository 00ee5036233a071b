"""Interrupts: one turn stops, and the next one has its own reply."""

from __future__ import annotations

from typing import Any

import anyio

from claudewire.session import TurnState
from claudewire.testing.api import APIStatus, APIToolUse

from .behaviour import shared
from .common import ENDLESS, WAIT, called, touch
from .stage import Stage, is_running, until
from .tools import Slow

TAG = {"tags": frozenset({"interrupt"})}


def options(stage: Stage) -> dict[str, Any]:
    """The options of the session that these behaviours share."""

    async def sleep() -> None:
        """Sleep for ever."""
        await stage.on_call()

    return {
        **stage.handlers,
        "hooks": {"PreToolUse": lambda event: stage.on_hook(event)},
        "tools": [sleep],
        "allowed_tools": ["mcp__claudewire__sleep"],
        "include_partial_messages": True,
    }


async def first_piece(turn: Any) -> None:
    """Wait until the model has said something."""
    async for _ in turn.iter_text():
        return


@shared(
    "A turn is interrupted while the model speaks",
    {"a": [ENDLESS], "b": ["Next."]},
    **TAG,
)
async def while_speaking(stage: Stage) -> None:
    turn = stage.send("a")
    await first_piece(turn)
    receipt = await stage.session.interrupt()
    assert receipt.turn is turn
    assert not (await turn).ok
    assert (await stage.ask("b")).text == "Next."


@shared(
    "A turn is interrupted during a command, which is ended",
    {"a": [WAIT], "b": ["Next."]},
    **TAG,
)
async def during_command(stage: Stage) -> None:
    turn = stage.send("a")
    shell = await stage.shell()
    await stage.session.interrupt()
    assert not (await turn).ok
    assert (await stage.ask("b")).text == "Next."
    await until(lambda: not is_running(shell))


@shared(
    "A turn is interrupted while a person is asked", {"a": [touch("asked")], "b": ["Next."]}, **TAG
)
async def during_permission(stage: Stage) -> None:
    asked = anyio.Event()

    async def wait(request: Any) -> None:
        asked.set()
        await anyio.sleep_forever()

    stage.on_permission = wait
    turn = stage.send("a")
    await asked.wait()
    await stage.session.interrupt()
    assert not (await turn).ok
    assert not stage.has("asked")
    assert (await stage.ask("b")).text == "Next."


@shared(
    "A turn is interrupted during a Python function, which is cancelled",
    {"a": [called("sleep")], "b": ["Next."]},
    **TAG,
)
async def during_function(stage: Stage) -> None:
    slow = Slow()
    stage.on_call = slow.sleep
    turn = stage.send("a")
    await slow.began.wait()
    await stage.session.interrupt()
    await slow.ended.wait()
    assert not (await turn).ok
    assert (await stage.ask("b")).text == "Next."


@shared("A turn is interrupted during a hook", {"a": [touch("hooked")], "b": ["Next."]}, **TAG)
async def during_hook(stage: Stage) -> None:
    began = anyio.Event()

    async def wait(event: Any) -> None:
        began.set()
        await anyio.sleep(3)

    stage.on_hook = wait
    turn = stage.send("a")
    await began.wait()
    await stage.session.interrupt()
    assert not (await turn).ok
    assert not stage.has("hooked")
    assert (await stage.ask("b")).text == "Next."


@shared("A turn is interrupted as soon as it was sent", {"a": [ENDLESS], "b": ["Next."]}, **TAG)
async def at_once(stage: Stage) -> None:
    turn = stage.send("a")
    await stage.session.interrupt()
    assert turn.is_over
    assert (await stage.ask("b")).text == "Next."


@shared(
    "A turn is interrupted while the CLI waits before it tries again",
    {"a": [APIStatus(529, times=0)], "b": ["Next."]},
    **TAG,
)
async def while_retrying(stage: Stage) -> None:
    turn = stage.send("a")
    await until(lambda: stage.turns)
    await stage.session.interrupt()
    assert not (await turn).ok
    assert (await stage.ask("b")).text == "Next."


@shared(
    "`turn.interrupt()` stops that turn; those behind it go on",
    {"a": [ENDLESS], "b": ["Second."], "c": ["Third."]},
    **TAG,
)
async def one_turn(stage: Stage) -> None:
    turns = [stage.send(key) for key in "abc"]
    await first_piece(turns[0])
    assert (await turns[0].interrupt()).outcome == "stopped"
    assert (await turns[0].interrupt()).outcome == "was_over"
    assert [(await turn).text for turn in turns[1:]] == ["Second.", "Third."]


@shared(
    "`turn.interrupt()` withdraws a turn that has not begun",
    {"a": [ENDLESS], "b": ["Never."], "c": ["Third."]},
    **TAG,
)
async def waiting_turn(stage: Stage) -> None:
    turns = [stage.send(key) for key in "abc"]
    await first_piece(turns[0])
    assert (await turns[1].interrupt()).outcome == "withdrawn"
    await turns[0].interrupt()
    assert (await turns[2]).text == "Third."


@shared(
    '`interrupt(queued="cancel")` drops the prompts behind it',
    {"a": [ENDLESS], "b": ["Never."], "c": ["Third."]},
    **TAG,
)
async def with_queue(stage: Stage) -> None:
    first, second = stage.send("a"), stage.send("b")
    await first_piece(first)
    await stage.session.interrupt(queued="cancel")
    assert not (await first).ok
    assert second.state is TurnState.CANCELLED
    assert (await stage.ask("c")).text == "Third."


@shared(
    "Leaving `async with claude.turn(…)` interrupts the turn",
    {"a": [ENDLESS], "b": ["Next."]},
    **TAG,
)
async def left_block(stage: Stage) -> None:
    async with stage.session.turn(f"{stage.prompt('a')} Go on.") as turn:
        await first_piece(turn)
    assert turn.is_over
    assert (await stage.ask("b")).text == "Next."


@shared("An interrupt when nothing runs does no harm", ["Next."], **TAG)
async def when_idle(stage: Stage) -> None:
    await stage.session.interrupt()
    assert (await stage.ask()).text == "Next."


@shared("Two interrupts at once are one", {"a": [ENDLESS], "b": ["Next."]}, **TAG)
async def twice(stage: Stage) -> None:
    turn = stage.send("a")
    await first_piece(turn)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.session.interrupt)
        tasks.start_soon(stage.session.interrupt)
    assert not (await turn).ok
    assert (await stage.ask("b")).text == "Next."


@shared(
    "A caller who is cancelled while it waits ends nothing else",
    {"a": [ENDLESS], "b": ["Next."]},
    **TAG,
)
async def caller_cancelled(stage: Stage) -> None:
    turn = stage.send("a")
    await first_piece(turn)
    with anyio.move_on_after(0.05):
        await turn
    assert not turn.is_over
    await turn.interrupt()
    assert (await stage.ask("b")).text == "Next."


@shared(
    "A subagent is interrupted with its turn",
    {
        "a": [
            APIToolUse(
                "Task",
                {
                    "description": "Look",
                    "prompt": "(subagent.sub) Look.",
                    "subagent_type": "general-purpose",
                    "run_in_background": False,
                },
            )
        ],
        "sub": [WAIT],
        "b": ["Next."],
    },
    **TAG,
)
async def subagent(stage: Stage) -> None:
    turn = stage.send("a")
    shell = await stage.shell()
    await stage.session.interrupt()
    assert not (await turn).ok
    assert (await stage.ask("b")).text == "Next."
    await until(lambda: not is_running(shell))
