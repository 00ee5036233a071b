"""How the command starts: its version, its help, what it says if something is missing."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.running import Runner

import claudewire
from claudewire.cli.commands import COMMANDS
from claudewire.cli.entry import open_standard_streams


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


@pytest.mark.unmeasured
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_it_works_without_stdin_stdout_or_stderr(closed: str, tmp_path: Path) -> None:
    start = [
        sys.executable,
        "-m",
        "claudewire.cli",
        "run",
        "--cli",
        "simulated",
        "-q",
        "Look around",
    ]
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *start]
    done = subprocess.run(shell, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert ("files here" in done.stdout) == (">&-" not in closed.split())


def test_a_stream_that_is_missing_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    open_standard_streams()
    with sys.stdin, sys.stdout, sys.stderr:
        assert sys.stdin.read() == ""
        assert sys.stdout.writable()
        assert sys.stderr.writable()


def test_without_stdin_there_is_no_prompt(tmp_path: Path) -> None:
    start = [sys.executable, "-m", "claudewire.cli", "run", "--cli", "simulated"]
    shell = ["sh", "-c", 'exec "$@" <&-', "sh", *start]
    done = subprocess.run(shell, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=60)
    assert (done.returncode, done.stderr) == (2, "error: The prompt is empty.\n")


def test_a_warning_of_the_library_is_not_printed_besides_its_notice(run: Runner) -> None:
    run("schema", "--list")
    handlers = logging.getLogger("claudewire").handlers
    assert len([it for it in handlers if isinstance(it, logging.NullHandler)]) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--cli", "/no/such/claude", "x"], "say where it is (--cli PATH, or"),
        (["run", "--cli", "/no/such/claude", "x"], "this package (--cli simulated)"),
        (["sessions", "--config-dir", ".", "show", "a"], "`claudewire sessions list` shows those"),
    ],
)
def test_advice_names_options_of_the_command(run: Runner, arguments: list[str], words: str) -> None:
    assert words in run(*arguments).err


@pytest.mark.unmeasured
@pytest.mark.parametrize("arguments", [["schema"], ["run", "--cli", "simulated", "-q", "hi"]])
def test_a_reader_that_has_gone_is_told_from_a_failure(
    arguments: list[str], tmp_path: Path
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    start = [sys.executable, "-m", "claudewire.cli", *arguments]
    done = subprocess.run(start, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"]])
def test_a_reader_of_the_help_that_has_gone_is_no_failure(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    start = [sys.executable, "-m", "claudewire.cli", *arguments]
    done = subprocess.run(start, stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("buffered", [False, True])
@pytest.mark.parametrize("quiet", [[], ["-q"]])
def test_output_that_cannot_be_written_is_a_failure(
    quiet: list[str], buffered: bool, tmp_path: Path
) -> None:
    start = [sys.executable, "-m", "claudewire.cli", "run", "--cli", "simulated", *quiet, "hi"]
    env = {**os.environ, "PYTHONUNBUFFERED": "" if buffered else "1"}
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            start,
            cwd=tmp_path,
            env=env,
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=60,
        )
    assert done.returncode == 1
    assert done.stderr.endswith("error: Reading or writing failed: No space left on device\n")
    assert "Traceback" not in done.stderr
