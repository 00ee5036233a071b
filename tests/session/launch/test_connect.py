"""From options to a transport."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from claudewire.errors import OptionsError
from claudewire.launch import connect
from claudewire.options import Options, Timeouts
from claudewire.tools import ToolServer
from claudewire.transport import Launch, memory_pair


@pytest.mark.anyio
async def test_process_has_the_timeouts_of_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    launches: list[tuple[Launch, dict[str, Any]]] = []

    async def spawn(launch: Launch, **times: float) -> Any:
        launches.append((launch, times))
        return memory_pair()[0]

    monkeypatch.setattr(connect, "spawn", spawn)
    times = Timeouts(terminate=1.5, kill=2.5)
    found = await connect.open_transport(Options(cli=sys.executable, timeouts=times, cwd="/"))
    [(launch, given)] = launches
    assert given == {"terminate_after": 1.5, "kill_after": 2.5}
    assert (launch.cwd, launch.cleanup, launch.argv) == (Path("/"), (), found.argv)


def test_private_files_are_deleted_without_a_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    wrong = Options(cli=sys.executable, system_prompt="a", settings="/", sandbox={})
    with pytest.raises(OptionsError):
        connect.launch_of(wrong)
    assert not [*tmp_path.iterdir()]
    launch = connect.launch_of(Options(cli=sys.executable, settings={"a": 1}))
    assert len([*tmp_path.iterdir()]) == len(launch.cleanup) == 1
    for step in launch.cleanup:
        step()
    assert not [*tmp_path.iterdir()]


def test_hosted_servers_reach_a_running_cli() -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        connect.check_transport(memory_pair()[0], Options(mcp_servers=[ToolServer("calc")]))
    assert not warned


class Around:
    """A transport that has another one inside."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class Configured(Around):
    """A transport that is told how its CLI is started."""

    def configure(self, launch: Launch) -> None:
        self.launch = launch


@pytest.mark.anyio
async def test_wrapped_transport_gets_the_command_line(tmp_path: Path) -> None:
    told = Configured(memory_pair()[0])
    options = Options(model="opus", cwd=tmp_path, env={"A": "b", "C": None}, builtin_tools=["Read"])
    outer: Any = Around(Around(told))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        connect.check_transport(outer, options)
    found = await connect.open_transport(options, outer)
    assert found.transport is outer
    assert found.argv == told.launch.argv
    assert told.launch.argv[0] == "claude"
    assert {"--model=opus", "--tools=Read"} <= {*told.launch.argv}
    assert (told.launch.env, told.launch.cwd) == ({"A": "b"}, tmp_path)
