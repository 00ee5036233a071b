"""From options to a transport: what has to be done in a thread, and what need not."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from claudewire.launch import cli_path, connect
from claudewire.options import Options
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
