"""The fuzzer of shells: it sees what is run and written, and finds nothing in a short run."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from fuzz.shell import Scratch, commands, fuzz, main, shells


@pytest.fixture
def folder() -> Iterator[Path]:
    """A directory that other users may enter, as those of pytest are not."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def test_the_same_seed_makes_the_same_commands() -> None:
    one, other = (list(itertools.islice(commands(Random(7)), 200)) for _ in range(2))
    assert one == other
    assert len(set(one)) > 150
    assert any("zap" in command for command in one)


def test_what_is_run_and_written_is_seen(folder: Path) -> None:
    scratch = Scratch(folder)
    for shell in shells().values():
        assert set(scratch.run(shell, "zork; zap > out")) == {"zork", "zap", "file out"}
        assert scratch.run(shell, "zork 'zap'") == ("zork",)
        assert scratch.run(shell, ":") == ()


@pytest.mark.unmeasured
def test_nothing_escapes_in_a_short_run(folder: Path) -> None:
    report = fuzz(30, seed=3, seconds=600, folder=folder)
    assert report.ran.total() >= 30
    assert report.made > 0
    assert report.escapes == []


def test_commands_are_run_in_namespaces_or_not_at_all(capfd: pytest.CaptureFixture[str]) -> None:
    status = main(["--commands", "3", "--seed", "3"])
    assert ("0 escapes" if status == 0 else "no namespaces here") in capfd.readouterr().out
