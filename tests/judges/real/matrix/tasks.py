"""Background commands and subagents."""

from __future__ import annotations

import os
from typing import Any

import anyio
import anyio.to_thread

from claudewire.options import Agent
from claudewire.session import Session
from claudewire.testing.api import APIToolUse

from .behaviour import alone, shared
from .common import WAIT, bash, read_pipe
from .stage import SOON, Stage, until

BACKGROUND = bash("tail -f /dev/null", run_in_background=True)


def until_told(pipe: str) -> APIToolUse:
    """A command in the background that ends when something is written to a pipe."""
    return read_pipe(pipe, run_in_background=True)


def hand_over(name: str, **more: Any) -> APIToolUse:
    """Start a subagent, with a prompt of this behaviour."""
    prompt = f"({name}.sub) Look."
    return APIToolUse(
        "Task", {"description": "Look", "prompt": prompt, "subagent_type": "helper", **more}
    )


AGENTS = {
    "helper": Agent(
        description="Helps.",
        prompt="You are the helper of this house.",
        model="haiku",
        disallowed_tools=["Write"],
    )
}


def options(stage: Stage) -> dict[str, Any]:
    """The options of the session that behaviours of subagents share."""
    return {"agents": AGENTS, "allowed_tools": ["Task"], **stage.handlers}


def running(session: Session[Any]) -> list[str]:
    return [it.kind or "" for it in session.tasks.running]


async def started(stage: Stage, session: Session[Any]) -> None:
    """Wait until the command in the background runs."""
    with anyio.fail_after(20):
        await stage.shell()


@alone("A command in the background is a task of the session", [BACKGROUND, "Started."])
async def listed(stage: Stage) -> None:
    async with stage.open(allowed_tools=["Bash"]) as session:
        assert (await stage.ask()).text == "Started."
        await started(stage, session)
        assert running(session) == ["local_bash"]


@alone(
    "The end of a command in the background begins a turn that was not asked for",
    [until_told("pipe-end"), "Started."],
    since="2.1.197",
)
async def unsolicited(stage: Stage) -> None:
    os.mkfifo(stage.cage.work / "pipe-end")
    async with stage.open(allowed_tools=["Bash"]) as session:
        await stage.ask()
        await anyio.to_thread.run_sync((stage.cage.work / "pipe-end").write_text, "go\n", "utf-8")
        with anyio.move_on_after(5):
            async for turn in session.unsolicited:
                assert (await turn).ok
                assert not turn.was_asked_for
                return
        stage.lacks("no turn begins within 5 s")


@alone(
    "A prompt after the end of a command in the background has its own reply",
    {"": [until_told("pipe-after"), "Started."], "b": ["Next."]},
)
async def after_end(stage: Stage) -> None:
    os.mkfifo(stage.cage.work / "pipe-after")
    async with stage.open(allowed_tools=["Bash"]):
        await stage.ask()
        await anyio.to_thread.run_sync((stage.cage.work / "pipe-after").write_text, "go\n", "utf-8")
        await until(lambda: not stage.children())
        await anyio.sleep(0.5)  # the CLI has to notice
        reply = await stage.ask("b")
        if reply.error is not None:
            stage.deviates(f"the turn fails: {reply.error.message}")
        assert reply.text == "Next."


@alone("`stop_task` ends a command in the background", [BACKGROUND, "Started."], since="2.1.197")
async def stopped(stage: Stage) -> None:
    async with stage.open(allowed_tools=["Bash"]) as session:
        await stage.ask()
        await started(stage, session)
        tasks = session.tasks.running
        if not tasks:
            stage.lacks("it reports nothing about the task, so there is no id to stop it by")
        await session.stop_task(tasks[0].id)
        await until(lambda: not (session.tasks.running or stage.children()))
        assert (await session.send("Hello")).ok


@alone(
    '`wait_idle(tasks="cancel")` ends, and the session goes on',
    [BACKGROUND, "Started."],
)
async def cancelled(stage: Stage) -> None:
    async with stage.open(allowed_tools=["Bash"]) as session:
        await stage.ask()
        await started(stage, session)
        await session.wait_idle(tasks="cancel", timeout=20)
        assert (await session.send("Hello")).ok


@alone(
    '`wait_idle(tasks="cancel")` ends all commands and subagents in the background',
    {
        "": [
            [BACKGROUND, BACKGROUND, hand_over("all_cancelled", run_in_background=True)],
            "Started.",
        ],
        "sub": [WAIT],
    },
    since="2.1.197",
    deviates=frozenset({"2.1.100"}),
)
async def all_cancelled(stage: Stage) -> None:
    async with stage.open(agents=AGENTS, allowed_tools=["Bash", "Task"]) as session:
        turn = stage.send()
        await until(lambda: endless(stage) == 3, 3 * SOON)
        if not any(task.reported for task in session.tasks.running):
            await turn.interrupt()  # it may wait for the subagent
            await session.wait_idle(tasks="cancel", timeout=20)
            assert endless(stage)
            stage.lacks("it cannot stop them: they run until the session is closed")
        with anyio.move_on_after(SOON):
            await turn
        if not turn.is_over:
            stage.deviates("the turn does not end as long as the subagent runs")
        await session.wait_idle(tasks="cancel", timeout=20)
        await until(lambda: not endless(stage))
        assert not session.tasks.running


def endless(stage: Stage) -> int:
    """Count the running commands that never end."""
    return stage.commands()["tail -f /dev/null "]


@alone(
    '`wait_idle(tasks="wait")` waits for a command in the background',
    [until_told("pipe-wait"), "Started."],
    since="2.1.197",
)
async def waited(stage: Stage) -> None:
    os.mkfifo(stage.cage.work / "pipe-wait")
    async with stage.open(allowed_tools=["Bash"]) as session:
        await stage.ask()
        if not any(task.reported for task in session.tasks.running):
            stage.lacks("it does not report the end of the task")
        async with anyio.create_task_group() as group:
            group.start_soon(session.wait_idle)
            await anyio.to_thread.run_sync(
                (stage.cage.work / "pipe-wait").write_text, "go\n", "utf-8"
            )
        assert not running(session)


@alone(
    '`run(…, tasks="cancel")` ends although a command runs in the background',
    [BACKGROUND, "Started."],
)
async def run_cancels(stage: Stage) -> None:
    import claudewire

    reply = await claudewire.run(
        f"{stage.prompt()} Go on.", stage.options(allowed_tools=["Bash"]), tasks="cancel"
    )
    assert reply.ok


@shared(
    "A subagent of ours gets its prompt, model and tools, and its answer reaches the model",
    {"": [hand_over("custom_agent"), "Done."], "sub": ["It is fine."]},
)
async def custom_agent(stage: Stage) -> None:
    assert (await stage.ask()).ok
    await stage.session.wait_idle()
    asked = [turn for turn in stage.turns if "(custom_agent.sub)" in turn.prompt]
    assert "You are the helper of this house." in str(asked[0].body["system"])
    assert "haiku" in asked[0].model
    assert "Bash" in asked[0].tools
    assert "Write" not in asked[0].tools
    assert any("It is fine." in str(turn.messages) for turn in stage.turns)


@shared(
    "A subagent is a task while it runs",
    {"": [hand_over("agent_task"), "Done."], "sub": [read_pipe("pipe-agent"), "Fine."]},
)
async def agent_task(stage: Stage) -> None:
    os.mkfifo(stage.cage.work / "pipe-agent")
    turn = stage.send()
    await started(stage, stage.session)
    assert "local_agent" in {it.kind for it in stage.session.tasks.running}
    await anyio.to_thread.run_sync((stage.cage.work / "pipe-agent").write_text, "go\n", "utf-8")
    await turn
    await stage.session.wait_idle()
    assert not stage.session.tasks.running


@shared(
    "A subagent asks for permission like the main conversation",
    {"": [hand_over("agent_asks"), "Done."], "sub": [bash("touch by-agent"), "Fine."]},
)
async def agent_asks(stage: Stage) -> None:
    asked = stage.note_permissions()
    await stage.ask()
    await stage.session.wait_idle()
    assert asked == ["Bash"]
    assert stage.has("by-agent")
