"""Growth over many turns in one session, and over many sessions at once.

After each tenth of the work it prints what this process holds: memory as the system sees it, blocks
of Python's own allocator, objects that the garbage collector knows, open files and tasks. After
the first tenth, by which all that is bounded is full, nothing may grow beyond the tolerances below.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import anyio
import anyio.abc
import anyio.lowlevel

from claudewire.approvals import PermissionRequest, PermissionResult, QuestionRequest
from claudewire.options import Options, Timeouts
from claudewire.session import Session
from claudewire.testing import Chat, SimulatedCLI
from claudewire.wire import PreToolUseHookInput

TURNS = 10_000
SESSIONS = 500
TENTHS = 10

MORE_BLOCKS = 0.01
"""What the allocator may hold more in the end than after the first tenth: one in a hundred,
which is a fifth of a block for each turn."""
MORE_OBJECTS = 0.01
MORE_MEMORY = 0.15
"""The limit for the memory of the process, whose gaps vary."""

PROCESS = (sys.executable, "-m", "claudewire.simulator")
"""A CLI with a memory of its own: what it remembers of 10,000 turns is not ours."""
AGENT = Path(__file__).with_name("soak_agent.py")
LONG, FAILS = 7, 8
"""The last digit of the turns that have to be interrupted, and of those that fail."""


class Holding(NamedTuple):
    """The resources of a process."""

    memory: int
    blocks: int
    objects: int
    files: int
    tasks: int

    @classmethod
    def now(cls) -> Holding:
        """Look, after everything that can go has gone."""
        for _ in range(3):
            gc.collect()
        return cls(
            _memory(), sys.getallocatedblocks(), len(gc.get_objects()), _open_files(), _tasks()
        )

    def show(self, label: str) -> None:
        print(
            f"{label:>16}  {self.memory / 2**20:8.1f} MiB  {self.blocks:9,} blocks  "
            f"{self.objects:8,} objects  {self.files:4} files  {self.tasks:4} tasks",
            flush=True,
        )

    def grown_since(self, first: Holding) -> list[str]:
        """Say what has grown too much."""
        limits = {"memory": MORE_MEMORY, "blocks": MORE_BLOCKS, "objects": MORE_OBJECTS}
        return [
            f"{name} grew from {getattr(first, name):,} to {getattr(self, name):,}"
            for name, more in limits.items()
            if getattr(self, name) > getattr(first, name) * (1 + more)
        ]


def _memory() -> int:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def _tasks() -> int:
    if "trio" in sys.modules:
        import trio

        if trio.lowlevel.in_trio_task():
            return trio.lowlevel.current_statistics().tasks_living
    import asyncio

    return len(asyncio.all_tasks())


async def echo(chat: Chat) -> None:
    await chat.say(f"You said {chat.text}.")


def double(number: int) -> int:
    return 2 * number


async def on_permission(request: PermissionRequest) -> PermissionResult:
    return request.allow()


async def on_question(request: QuestionRequest) -> PermissionResult:
    return request.answer("Tabs")


async def before_tool(event: PreToolUseHookInput) -> None:
    await anyio.lowlevel.checkpoint()


def busy_options() -> Options:
    return Options(
        cli=PROCESS,
        env={"CLAUDEWIRE_SIM_SCENARIO": f"{AGENT}:work"},
        persist_session=False,
        include_partial_messages=True,
        tools=[double],
        hooks={"PreToolUse": before_tool},
        on_permission=on_permission,
        on_question=on_question,
    )


async def one_turn(claude: Session, number: int) -> None:
    """Have a turn: every other is read message by message, the rest only awaited."""
    turn = claude.send(f"turn {number}")
    if number % 10 == LONG:
        waiting = claude.send("never mind")
        assert await waiting.cancel()
        await turn.started.wait()  # before, one might run that nobody asked for
        assert (await claude.interrupt()).acknowledged
    elif number % 2:
        async for _ in turn:
            pass
    assert (await turn).ok == (number % 10 not in (LONG, FAILS))
    if number % 10 == 0:
        await claude.get_context_usage()
        claude.events(limit=10).close()


async def one_session(turns: int, quiet: bool = False) -> list[Holding]:
    """Have many turns in one session, in which all kinds of things happen."""
    seen = []
    async with Session(busy_options()) as claude, anyio.create_task_group() as tasks:
        unsolicited = await tasks.start(read_unsolicited, claude)
        for tenth in range(TENTHS):
            for number in range(turns // TENTHS):
                await one_turn(claude, number)
            await claude.wait_idle()
            seen.append(Holding.now())
            if not quiet:
                seen[-1].show(f"{(tenth + 1) * (turns // TENTHS):,} turns")
        assert claude.ledger.session.turns == turns + len(unsolicited)
        assert claude.unread == 0
        tasks.cancel_scope.cancel()
    return seen


async def read_unsolicited(
    claude: Session, *, task_status: anyio.abc.TaskStatus[list[None]]
) -> None:
    """Wait for the turns that follow the end of a task."""
    count: list[None] = []
    task_status.started(count)
    async for turn in claude.unsolicited:
        await turn
        del turn  # what nobody holds any more is not unread
        count.append(None)


async def many_sessions(sessions: int, quiet: bool = False) -> list[Holding]:
    """Open many at once, have turns in all of them, close them all; and again."""
    seen = []
    for tenth in range(TENTHS):
        await _wave(sessions)
        seen.append(Holding.now())
        if not quiet:
            seen[-1].show(f"wave {tenth + 1}")
    return seen


async def _wave(count: int) -> None:
    is_open, may_close = anyio.Semaphore(0), anyio.Event()

    async def talk(number: int) -> None:
        timeouts = Timeouts(start=600, request=600, interrupt=600)
        async with Session(Options(timeouts=timeouts), transport=SimulatedCLI(echo)) as claude:
            assert (await claude.send(f"{number}")).text == f"You said {number}."
            is_open.release()
            await may_close.wait()
            assert (await claude.send("again")).ok

    async with anyio.create_task_group() as tasks:
        for number in range(count):
            tasks.start_soon(talk, number)
        for _ in range(count):
            await is_open.acquire()
        may_close.set()  # all are open now


Work = Callable[[int, bool], Awaitable[list[Holding]]]


async def soak(title: str, work: Work, amount: int) -> bool:
    """Do some work; say what is wrong with what it has left behind."""
    print(f"\n{title}")
    await work(TENTHS, True)  # so that all modules are loaded
    await anyio.lowlevel.checkpoint()
    before = Holding.now()
    before.show("before")
    began = time.perf_counter()
    seen = await work(amount, False)
    took = time.perf_counter() - began
    await anyio.lowlevel.checkpoint()
    after = Holding.now()
    after.show("after")
    problems = seen[-1].grown_since(seen[0])
    if (after.files, after.tasks) != (before.files, before.tasks):
        problems.append("files or tasks are left over")
    print(f"{took:.1f} s: " + ("; ".join(problems) or "nothing has grown, nothing is left over"))
    return not problems


async def main(turns: int, sessions: int) -> bool:
    print(
        f"May grow after the first tenth: blocks and objects by {MORE_BLOCKS:.0%}, "
        f"memory by {MORE_MEMORY:.0%}; files and tasks not at all."
    )
    fine = await soak(f"{turns:,} turns in one session", one_session, turns)
    title = f"{sessions} sessions at once, {TENTHS} times"
    return await soak(title, many_sessions, sessions) and fine


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--backend", choices=["asyncio", "trio"], default="asyncio")
    given = parser.parse_args()
    sys.exit(not anyio.run(main, given.turns, given.sessions, backend=given.backend))
