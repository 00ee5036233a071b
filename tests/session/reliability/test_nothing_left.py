"""No process and no private file outlives a session, even after SIGKILL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from tests.helpers.processes import PATIENCE, death, ended, killed_in_the_end

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks at /proc"),
]

CLI = """#!/bin/sh
(setsid sh -c 'echo $$ >> {pids}; exec sleep 1000' &)
setsid sh -c 'echo $$ >> {pids}; exec sleep 1000' &
(nohup setsid sh -c '(echo $$ >> {pids}; exec sleep 1000)' >/dev/null 2>&1 &)
export CLAUDEWIRE_SIM_FAULTS='leftover-shell(1000)'
exec {python} -m claudewire.simulator "$@" 2>{shell}
"""
HOST = """
import sys, anyio, claudewire

SERVER = {"type": "http", "url": "http://localhost:1", "headers": {"Authorization": "Bearer x1"}}

async def main():
    claude = await claudewire.open(cli=sys.argv[1], mcp_servers={"a": SERVER})
    print("open", flush=True)
    how = sys.stdin.readline().strip()
    await claude.close(now=how == "now")
    print("closed", flush=True)
    sys.stdin.readline()

anyio.run(main)
"""


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def pids_in(*paths: Path) -> list[int]:
    """The process ids with which lines of these files end."""
    lines = [line for it in paths if it.exists() for line in it.read_text("utf-8").splitlines()]
    return [int(line.rpartition(" ")[2]) for line in lines]


def started(cli: Path, private: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", HOST, str(cli)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(private)},
    )


async def until(function: Callable[[], bool]) -> None:
    with anyio.fail_after(PATIENCE):
        while not function():
            await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("how", ["close", "now", "kill"])
async def test_nothing_is_left_of_a_session(how: str, tmp_path: Path) -> None:
    pids, shell = tmp_path / "pids", tmp_path / "shell"
    cli, private = tmp_path / "cli", tmp_path / "private"
    private.mkdir()
    cli.write_text(CLI.format(pids=pids, shell=shell, python=sys.executable), encoding="utf-8")
    cli.chmod(0o700)
    with ended(started(cli, private)) as host, ExitStack() as at_the_end:
        assert host.stdin is not None
        assert host.stdout is not None
        assert host.stdout.readline() == b"open\n"
        await until(lambda: len(pids_in(pids, shell)) == 4)
        for pid in pids_in(pids, shell):
            at_the_end.enter_context(killed_in_the_end(pid))
        assert list(private.glob("claudewire-*/*"))
        if how == "kill":
            host.send_signal(signal.SIGKILL)
        else:
            host.stdin.write(how.encode() + b"\n")
            host.stdin.flush()
            assert host.stdout.readline() == b"closed\n"
        with anyio.fail_after(PATIENCE):
            for pid in pids_in(pids, shell):
                await death(pid)
        await until(lambda: not os.listdir(private))
