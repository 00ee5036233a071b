"""The demo shows what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


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
