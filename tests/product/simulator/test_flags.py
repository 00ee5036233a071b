"""The command line: meanings and mistakes."""

from __future__ import annotations

from typing import Any

import pytest

from claudewire.simulator.flags import EarlyExit, Flags, parse

STREAMS = ["--output-format=stream-json", "--verbose"]


def parsed(*argv: str) -> Flags:
    return parse(argv)


@pytest.mark.parametrize(
    ("argv", "fields"),
    [
        (["-p", "hi"], {"print_": True, "prompt": "hi"}),
        (["hi", "--print"], {"print_": True, "prompt": "hi"}),
        (["--", "-p"], {"prompt": "-p"}),
        (["--model=opus"], {"model": "opus"}),
        (["--model", "-x"], {"model": "-x"}),
        (["-r"], {"resume": ""}),
        (["--resume", "-c"], {"resume": "", "continue_": True}),
        (["-r", "some id"], {"resume": "some id"}),
        (["--add-dir", "a", "b", "--add-dir", "c"], {"add_dir": ("a", "b", "c")}),
        (["--add-dir=a", "b"], {"add_dir": ("a",), "prompt": "b"}),
        (
            ["--allowedTools", "Bash(git *, x),Read Edit"],
            {"allowed_tools": ("Bash(git *, x)", "Read", "Edit")},
        ),
        (["--tools", ""], {"tools": ()}),
        (["--max-turns", "3"], {"max_turns": 3}),
        (["--max-budget-usd", "0.5"], {"max_budget_usd": 0.5}),
        (["--permission-mode", "manual"], {"permission_mode": "manual"}),
        (["--setting-sources", "user, local"], {"setting_sources": ("user", "local")}),
        (["--plugin-dir", "a", "--plugin-dir", "b"], {"plugin_dir": ("a", "b")}),
        (["--worktree", "--chrome"], {"unsimulated": ("--chrome", "--worktree")}),
        (["--permission-prompts", "host", "--debug", "api"], {"unsimulated": ()}),
    ],
)
def test_command_line_has_its_meaning(argv: list[str], fields: dict[str, Any]) -> None:
    assert parsed(*argv) == Flags(**fields)


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (["--modle", "x"], "error: unknown option '--modle'"),
        (["--print=x"], "error: unknown option '--print=x'"),
        (["-x"], "error: unknown option '-x'"),
        (["--cwd", "x"], "error: unknown option '--cwd'"),
        (["--model"], "error: option '--model' argument missing"),
        (["--resume-drops-turn=x"], "--resume-drops-turn requires --resume-session-at"),
        (
            ["--max-turns", "x"],
            "error: option '--max-turns' argument 'x' is invalid. Expected `int | float | null`",
        ),
        (
            ["--input-format", "x"],
            "argument 'x' is invalid. Invalid enum value 'x'",
        ),
        (["--max-budget-usd", "0"], "argument '0' is invalid"),
        (["--setting-sources", "x"], "error: option '--setting-sources' argument 'x' is invalid"),
        (["--session-id", "x"], "Error: Invalid session ID. Must be a valid UUID."),
        (STREAMS[:1], "Error: When using --print, --output-format=stream-json requires --verbose"),
        (["--input-format=stream-json"], "requires output-format=stream-json"),
        (["--include-partial-messages"], "requires --print and --output-format=stream-json"),
    ],
)
def test_mistake_is_refused_with_its_reason(argv: list[str], error: str) -> None:
    with pytest.raises(EarlyExit) as refused:
        parse(argv)
    assert (refused.value.status, refused.value.stdout) == (1, "")
    assert error in refused.value.stderr


def test_unknown_effort_is_a_warning() -> None:
    flags = parsed("--effort", "huge")
    assert flags.effort is None
    assert "Unknown --effort value 'huge'" in flags.warnings[0]


def test_folder_is_a_flag_of_one_dialect() -> None:
    flags = parse(["--cwd", "/", "--output-format=stream-json"], takes_folder=True)
    assert flags.cwd == "/"
