"""The demo and the dialects."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.product.cli.terminal import opened

from claudewire.wire import DIALECTS

ROOT = Path(__file__).resolve().parents[3]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        capture_output=True,
        cwd=ROOT,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=120,
    )


def test_demo_runs_to_its_end_without_a_terminal() -> None:
    done = run("examples.demo", "--cli", "simulated")
    assert done.returncode == 0, done.stderr
    for words in (
        "with the agent inside claudewire",
        "There is no terminal here, so nothing is asked.",
        "There are 2 files here",
        "I was not allowed to",
        "(exit status 3)",
        "It is changed.",
        '"outcome":"done"',
        "That was it.",
    ):
        assert words in done.stdout


def test_demo_asks_at_a_terminal() -> None:
    argv = [sys.executable, "-m", "examples.demo"]
    with opened("--cli", "simulated", cwd=ROOT, argv=argv, rows=120) as terminal:
        terminal.wait_for("e = edit ❯")
        terminal.enter("y")
        terminal.wait_for("/help for help. ❯")
        terminal.enter("Look around")
        terminal.wait_for("There are 2 files here")
        terminal.type("\x04")
        assert terminal.wait_end() == 0
        assert "That was it." in terminal.text


def test_dialects_show_the_same_conversation() -> None:
    done = run("examples.dialects")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("the turn is over: success, 2 model calls") == len(DIALECTS)
    for mark in ("session.create", "callback.request", "sdk_control_request", '"message":{"type":'):
        assert mark in done.stdout
