"""A program that fails with open sessions prints only its error."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest

PROGRAM = dedent(
    """
    import gc
    import logging
    import sys

    import anyio
    import anyio.lowlevel

    import claudewire
    from claudewire.testing import Chat, SimulatedCLI

    logging.getLogger("asyncio").setLevel(logging.ERROR)  # slow callbacks are the machine's doing


    async def work(chat: Chat) -> None:
        await chat.say("I begin.")
        await chat.use("Bash", {"command": "make"})


    async def wait(*_: object) -> None:
        await anyio.sleep_forever()


    def session(**options):
        return claudewire.open(transport=SimulatedCLI(work), **options)


    async def starting():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session().start)
            await leave()


    async def in_a_handler():
        claude = await session(on_permission=wait)
        claude.send("go")
        await leave()


    async def in_a_hook():
        claude = await session(hooks={"PreToolUse": wait})
        claude.send("go")
        await leave()


    async def with_a_pool():
        await claudewire.Pool(cli="simulated").start()
        await leave()


    async def leave():
        for _ in range(ticks):
            await anyio.lowlevel.checkpoint()
        raise ZeroDivisionError


    for ticks in (0, 1, 2, 3, 5, 8, 13, 21, 34, 55):
        for program in (starting, in_a_handler, in_a_hook, with_a_pool):
            try:
                anyio.run(program, backend=sys.argv[1])
            except* ZeroDivisionError:
                pass
            gc.collect()
    print("done")
    """
)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_program_that_fails_prints_only_its_error(backend: str) -> None:
    options = ("-X", "dev", "-W", "ignore::ResourceWarning")
    ended = subprocess.run(
        [sys.executable, *options, "-c", PROGRAM, backend],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        encoding="utf-8",
        check=False,
    )
    assert ended.stdout == "done\n"
