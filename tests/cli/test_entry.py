"""How the command starts: its version, its help, what it says if something is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.cli.running import Runner

import claudewire
from claudewire.cli.commands import COMMANDS


def test_the_version_is_that_of_the_package(run: Runner) -> None:
    assert run("--version").out == f"claudewire {claudewire.__version__}\n"


def test_the_version_is_also_told_among_other_arguments(run: Runner) -> None:
    assert run("--version", "run").out == f"claudewire {claudewire.__version__}\n"


def test_the_help_lists_every_command_and_what_it_does(run: Runner) -> None:
    done = run("--help")
    assert done.status == 0
    for name, command in COMMANDS.items():
        assert f"  {name} " in done.out
        assert command.help in " ".join(done.out.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help(run: Runner, name: str) -> None:
    done = run(name, "--help")
    assert done.status == 0
    assert done.out.startswith(f"Usage: claudewire {name}")


def test_without_arguments_it_shows_the_help(run: Runner) -> None:
    done = run()
    assert (done.status, done.out) == (2, "")
    assert "Usage: claudewire" in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fly"], "No such command 'fly'"),
        (["run", "--fly"], "No such option '--fly'"),
        (["run", "--timeout", "soon", "x"], "'soon' is not a time"),
        (["run", "--budget", "much", "x"], "'much' is not an amount"),
    ],
)
def test_a_wrong_command_line_says_what_is_wrong_and_where_to_look(
    run: Runner, arguments: list[str], words: str
) -> None:
    done = run(*arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert words in done.err
    assert "--help" in done.err


def loaded(*arguments: str) -> set[str]:
    """Return what is loaded by the time the command ends."""
    script = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        f"from claudewire.cli import main\nmain({arguments!r})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, encoding="utf-8", timeout=60
    )
    return set(done.stderr.split())


def test_the_version_loads_nothing_that_costs_time() -> None:
    heavy = {"anyio", "asyncio", "click", "msgspec", "prompt_toolkit", "rich"}
    assert loaded("--version") & heavy == set()


def test_the_help_loads_no_command() -> None:
    modules = loaded("--help")
    assert {f"claudewire.cli.{it.module}" for it in COMMANDS.values()} & modules == set()
    assert not modules & {"anyio", "asyncio", "msgspec", "prompt_toolkit", "rich"}


@pytest.mark.parametrize("missing", ["click", "rich", "prompt_toolkit"])
def test_without_the_extra_it_says_what_to_install(
    run: Runner, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    for name in [*sys.modules]:
        if name.startswith("claudewire.cli.group"):
            monkeypatch.delitem(sys.modules, name)
    error = ModuleNotFoundError(f"No module named {missing!r}", name=missing)
    monkeypatch.setattr("importlib.import_module", _raise(error))
    monkeypatch.setitem(sys.modules, "click", None)
    done = run("run", "hello")
    assert done.status == 2
    assert "pip install 'claudewire[cli]'" in done.err


def _raise(error: Exception) -> object:
    def function(*_: object) -> object:
        raise error

    return function
