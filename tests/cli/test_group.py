"""How the command ends: the status for each way, and what is said about it."""

from __future__ import annotations

import os
from typing import Any

import click
import pytest

from claudewire.cli import group
from claudewire.cli.commands import COMMANDS
from claudewire.cli.errors import CommandError
from claudewire.cli.exits import Exit
from claudewire.errors import CLIError


def raising(error: BaseException) -> Any:
    def main(*_: object, **__: object) -> None:
        raise error

    return main


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (click.Abort(), Exit.INTERRUPTED, ""),
        (KeyboardInterrupt(), Exit.INTERRUPTED, ""),
        (click.UsageError("odd words"), Exit.USAGE, "error: odd words\n"),
        (CommandError("No.", advice="Yes."), Exit.USAGE, "error: No.\n       Yes.\n"),
        (FileNotFoundError(2, "No such file", "a"), Exit.USAGE, "error: a: No such file\n"),
        (OSError(5, "Broken"), Exit.FAILED, "error: Reading or writing failed: Broken\n"),
        (CommandError("No.", exit=Exit.FAILED), Exit.FAILED, "error: No.\n"),
        (CLIError("It ended."), Exit.NO_CLI, "error: It ended.\n"),
    ],
)
def test_what_goes_wrong_has_a_status_and_a_message(
    error: BaseException,
    status: Exit,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(group.command, "main", raising(error))
    assert group.execute(["run"]) == status
    assert capsys.readouterr().err == said


def test_a_defect_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group.command, "main", raising(ZeroDivisionError("a defect")))
    with pytest.raises(ZeroDivisionError, match="a defect"):
        group.execute([])


def test_a_broken_pipe_is_silent_also_for_what_is_written_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as stdout:
        monkeypatch.setattr("sys.stdout", stdout)
        assert group.execute(["schema"]) == Exit.BROKEN_PIPE
        stdout.write("more")
        stdout.flush()


def test_nothing_more_is_written_to_a_pipe_that_broke(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(group, "_write_no_more", lambda: calls.append("no more"))
    monkeypatch.setattr(group.command, "main", raising(BrokenPipeError()))
    assert group.execute(["run"]) == Exit.BROKEN_PIPE
    assert calls == ["no more"]


def test_an_error_without_words_still_says_that_it_failed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    group.report(["", ""])
    assert capsys.readouterr().err == "error: It failed.\n"


def test_the_commands_are_those_of_the_table() -> None:
    context = click.Context(group.command)
    assert group.command.list_commands(context) == [*COMMANDS]
    assert group.command.get_command(context, "no-such-command") is None


def test_a_long_line_is_wrapped_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "word " * 30
    assert group._fitted(line) == [line]
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    assert len(group._fitted(line)) > 1
    assert all(len(part) <= 32 for part in group._fitted(line))
    assert group._fitted("short") == ["short"]
    assert group._fitted(f"{'a' * 15}  {'b' * 15}") == [f"{'a' * 15}  {'b' * 15}"]
    assert group._fitted(f"{'a' * 16}  {'b' * 15}") == [f"{'a' * 16} {'b' * 15}"]
    monkeypatch.setenv("COLUMNS", "10")
    assert group._fitted("a" * 21) == ["a" * 20, "a"]


@pytest.mark.parametrize(("returned", "status"), [(0, 0), (3, 3), (None, 0), ("words", 0)])
def test_the_status_is_what_a_command_returns(
    returned: object, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[object] = []

    def main(*arguments: object, **named: object) -> object:
        given.append((arguments, named))
        return returned

    monkeypatch.setattr(group.command, "main", main)
    assert group.execute(("run", "x")) == status
    assert given == [((["run", "x"], "claudewire"), {"standalone_mode": False})]


def test_names_of_commands_are_completed_with_what_they_do() -> None:
    context = click.Context(group.command)
    found = group.command.shell_complete(context, "s")
    assert [(it.value, it.help) for it in found] == [
        (name, COMMANDS[name].help) for name in ("sessions", "show", "schema", "sim")
    ]
    options = [it.value for it in group.command.shell_complete(context, "--")]
    assert options == ["--version", "--help"]


def test_a_command_line_that_makes_no_sense_says_where_to_look(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert group.execute(["run", "--nothing"]) == Exit.USAGE
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == "       Try `claudewire run --help`."
    assert said[0].startswith("error: No such option")
