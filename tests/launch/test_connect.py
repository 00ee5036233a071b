"""From options to a transport: what has to be done in a thread, and what need not."""

from __future__ import annotations

import sys
import threading
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.helpers.kept import Kept
from tests.options.every_option import NAMES, alone, every_option

from claudewire.errors import OptionsError
from claudewire.launch import cli_path, connect
from claudewire.options import Options, Timeouts
from claudewire.tools import ToolServer
from claudewire.transport import Launch, memory_pair


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("options", "in_a_thread"),
    [
        ({"cli": sys.executable}, False),
        ({"cli": Path(sys.executable), "cwd": "/", "model": "sonnet"}, False),
        ({"cli": [sys.executable, "-m", "claude"]}, False),
        ({"cli": "python3"}, True),  # it is looked for in PATH
        ({"cli": sys.executable, "add_dirs": ["/"]}, True),
        ({"cli": sys.executable, "settings": {"a": "b"}}, True),  # written into a file
        ({"cli": sys.executable, "mcp_servers": {"a": {"command": "b"}}}, True),
        ({"cli": sys.executable, "sandbox": {}}, True),
        ({"cli": sys.executable, "system_prompt": "a"}, True),
        ({}, True),
    ],
)
async def test_only_files_that_may_be_slow_are_looked_for_in_a_thread(
    options: dict[str, Any], in_a_thread: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []
    find = cli_path.find_cli

    def find_cli(*given: Any) -> tuple[str, ...]:
        threads.append(threading.get_ident())
        return find(*given)

    monkeypatch.setattr(connect, "find_cli", find_cli)

    def start(launch: Launch) -> Any:
        for step in launch.cleanup:
            step()
        return memory_pair()[0]

    await connect.open_transport(Options(**options), start)
    assert [thread != threading.get_ident() for thread in threads] == [in_a_thread]


@pytest.mark.anyio
async def test_a_process_has_the_times_of_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize("wrong", [{"debug_file": "/none/file"}, {"env": {"A": "x" * 200_000}}])
def test_nothing_is_left_of_files_for_a_cli_that_cannot_be_started(
    wrong: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    options = Options(cli=sys.executable, settings={"a": 1}, **wrong)
    with pytest.raises(OptionsError):
        connect.launch_of(options)
    assert not [*tmp_path.iterdir()]
    launch = connect.launch_of(Options(cli=sys.executable, settings={"a": 1}))
    assert len([*tmp_path.iterdir()]) == len(launch.cleanup) == 1
    for step in launch.cleanup:
        step()
    assert not [*tmp_path.iterdir()]


def test_options_that_a_running_cli_does_not_hear_of_are_as_they_were(
    kept: Kept, tmp_path: Path
) -> None:
    examples = every_option(tmp_path)
    lines = []
    for name in NAMES:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            connect.check_transport(memory_pair()[0], Options(**alone(examples, name)))
        named = [str(it.message).partition("reach it: ")[2].partition(". ")[0] for it in warned]
        lines.append(f"{name}: {named}\n")
    kept("unheard.txt", "".join(lines))


def test_only_servers_that_a_cli_starts_have_to_be_known_at_its_start() -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        connect.check_transport(memory_pair()[0], Options(mcp_servers=[ToolServer("calc")]))
    assert not warned


@pytest.mark.parametrize("has", [(), ("send",), ("receive",), ("send", "receive")])
def test_a_transport_can_send_and_receive(has: tuple[str, ...]) -> None:
    given = SimpleNamespace(**dict.fromkeys(has, print), **dict.fromkeys({"send"} - {*has}, 5))
    if len(has) == 2:
        connect.check_transport(given, Options())
    else:
        with pytest.raises(OptionsError, match="transport must be a Transport, or a function"):
            connect.check_transport(given, Options())


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
async def test_a_transport_inside_of_others_is_told_how_its_cli_is_started(tmp_path: Path) -> None:
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
    again = Configured(memory_pair()[0])
    start: Any = lambda launch: again  # noqa: E731
    older = await connect.open_transport(options, start, older=["builtin_tools"])
    assert older.argv == again.launch.argv
    assert "--disallowedTools=Bash" in older.argv
    with pytest.raises(OptionsError, match="was given to a session before"):
        await connect.open_transport(options, outer)
