"""The demo shows what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.terminal import opened

ROOT = Path(__file__).resolve().parent.parent


def first_minute(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "examples.first_minute", *arguments],
        capture_output=True,
        cwd=ROOT,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=120,
    )


def test_the_first_minute_runs_to_its_end_without_a_key_pressed() -> None:
    done = first_minute("--cli", "simulated")
    assert done.returncode == 0, done.stderr
    for words in (
        "with the agent that comes with claudewire",
        "There is no terminal here, so nothing is asked.",
        "There are 2 files here",
        "I was not allowed to",
        "(exit status 3)",
        "It is changed.",
        '"outcome":"done"',
        "That was it.",
    ):
        assert words in done.stdout
    assert "Traceback" not in done.stderr


def test_the_first_minute_asks_at_a_terminal() -> None:
    argv = [sys.executable, "-m", "examples.first_minute"]
    with opened("--cli", "simulated", cwd=ROOT, argv=argv, rows=120) as terminal:
        terminal.wait_for("x no, and stop ❯")
        terminal.enter("y")
        terminal.wait_for("/help for help. ❯")
        terminal.enter("Look around")
        terminal.wait_for("There are 2 files here")
        terminal.type("\x04")
        assert terminal.wait_end() == 0
        assert "That was it." in terminal.text


def demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "examples.demo", *arguments],
        capture_output=True,
        cwd=ROOT,
        encoding="utf-8",
        timeout=60,
    )


def test_the_demo_works_on_files_asks_and_shows_every_dialect() -> None:
    done = demo()
    assert (done.returncode, done.stderr) == (0, "")
    for words in (
        "with the simulated CLI that comes with it",
        "There are 2 files here",
        "you  allow Write",
        "Which file do you mean? haiku.txt",
        "- an old silent pond",
        "exited with status 0",
    ):
        assert words in done.stdout
    for mark in ("session.create", "callback.request", "sdk_control_request", '"message":{"type":'):
        assert mark in done.stdout


@pytest.mark.parametrize("dialect", ["legacy", "session"])
def test_the_demo_shows_one_dialect(dialect: str) -> None:
    done = demo(dialect)
    assert f"\n{dialect}\n" in done.stdout
    assert "\nmodern\n" not in done.stdout


def test_the_demo_can_show_every_line() -> None:
    assert '> {"type":"user"' in demo("--wire").stdout


def test_the_demo_says_which_dialects_there_are() -> None:
    done = demo("klingon")
    assert done.returncode == 2
    assert "no such dialect: klingon" in done.stderr
