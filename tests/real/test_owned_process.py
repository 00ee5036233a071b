"""Real CLIs as processes of ours: what their last words are taken for, and what they leave.

Most of the last words are in `matrix/failures.py` and `matrix/conversations.py`.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest
from tests.helpers.real_clis import NEWEST, VERSIONS, real_cli, why_not

from claudewire.errors import Cause, Evidence
from claudewire.errors.diagnosis import diagnose_evidence
from claudewire.testing.api import APIToolUse
from claudewire.testing.cage import Cage
from claudewire.transport import Launch, ProcessTransport, spawn
from claudewire.transport.platforms.process_table import descendants, process_table
from claudewire.wire import Connection, ResultMessage, Role, UserMessage

pytestmark = [pytest.mark.anyio, pytest.mark.real]

FLAGS = ("--output-format=stream-json", "--input-format=stream-json", "--verbose")
HELLO = Connection(Role.CLIENT).send(UserMessage.of("Hello"))


@asynccontextmanager
async def running(
    cage: Cage, *words: str, version: str = NEWEST, before: tuple[str, ...] = ()
) -> AsyncIterator[ProcessTransport]:
    command = cage.command([*before, real_cli(version), *FLAGS, *words])
    with anyio.fail_after(90):
        process = await spawn(Launch(tuple(command), dict(os.environ)))
        try:
            yield process
        finally:
            await process.aclose()


async def last_words(process: ProcessTransport) -> tuple[Evidence, ResultMessage | None]:
    """Say hello, and listen to the end."""
    connection, results = Connection(Role.CLIENT), []
    await process.send(HELLO)
    await process.send_eof()
    while data := await process.receive():
        events = connection.receive_data(data)
        results += [event for event in events if isinstance(event, ResultMessage)]
    stderr = b""
    while data := await process.receive_stderr():
        stderr += data
    evidence = Evidence(exit_code=await process.wait(), stderr=stderr.decode())
    return evidence, results[-1] if results else None


def needs(version: str) -> None:
    if (reason := why_not(version)) is not None:
        pytest.skip(reason)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (("--permission-mode=nope",), Cause.BAD_FLAG),
        (("--resume=nope",), Cause.SESSION_NOT_FOUND),
    ],
)
async def test_an_option_that_is_refused(
    words: tuple[str, ...], cause: Cause, version: str
) -> None:
    needs(version)
    with Cage(["Hello!"]) as cage:
        async with running(cage, *words, version=version) as process:
            evidence, result = await last_words(process)
    assert evidence.exit_code == 1
    assert diagnose_evidence(evidence, result).cause is cause


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused this")
@pytest.mark.parametrize("version", VERSIONS)
async def test_root_may_not_skip_permissions(version: str) -> None:
    needs(version)
    with Cage(["Hello!"]) as cage:
        flag, without = "--dangerously-skip-permissions", ("env", "-u", "IS_SANDBOX")
        async with running(cage, flag, version=version, before=without) as process:
            found = diagnose_evidence(*await last_words(process))
    assert found.cause is Cause.REFUSED
    assert "IS_SANDBOX" in found.advice


@pytest.mark.parametrize("by_force", [False, True])
async def test_the_shell_of_a_tool_does_not_outlive_the_cli(by_force: bool) -> None:
    needs(NEWEST)
    command = APIToolUse("Bash", {"command": "tail -f /dev/null", "description": "Wait"})
    with Cage([command, "Done."]) as cage:
        async with running(cage, "--allowedTools=Bash") as process:
            await process.send(HELLO)
            shell = await shell_of(process)
            # It is in a session of its own: the group of the CLI does not include it.
            assert os.getpgid(shell) == shell != process.pid
            if by_force:
                process.kill_now()
            await process.aclose()
            assert is_dead(shell)
            assert process.returncode == (-9 if by_force else 143)


async def shell_of(process: ProcessTransport) -> int:
    """Wait until the CLI has started a shell for its tool, and that has started something."""
    while True:
        await anyio.lowlevel.checkpoint()
        relatives = descendants(process.pid, process_table())
        for relative in relatives:
            if relative.group == relative.pid and descendants(relative.pid, process_table()):
                return relative.pid


def is_dead(pid: int) -> bool:
    relative = process_table().get(pid)
    return relative is None or relative.is_dead
