from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claudewire.simulator.flags import (
    COMMANDS,
    OPTIONS,
    VISIBLE,
    EarlyExit,
    Flags,
    parse,
    suggestion,
)

UUID = "11111111-1111-4111-8111-111111111111"
STREAMS = ["--output-format", "stream-json", "--input-format=stream-json", "--verbose"]
AS_STREAMS: dict[str, Any] = {
    "output_format": "stream-json",
    "input_format": "stream-json",
    "verbose": True,
}


def refused(*argv: str) -> str:
    got = parse(argv)
    assert isinstance(got, EarlyExit)
    assert (got.status, got.stdout) == (1, "")
    return got.stderr


def test_nothing_means_the_defaults() -> None:
    assert parse([]) == Flags()


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("-p", {"print_": True}),
        ("--print", {"print_": True}),
        ("hello", {"prompt": "hello"}),
        ("-p hello", {"print_": True, "prompt": "hello"}),
        ("hello -p", {"print_": True, "prompt": "hello"}),
        ("-p hello there", {"print_": True, "prompt": "hello"}),
        ("-p stop", {"print_": True, "prompt": "stop"}),
        ("-", {"prompt": "-"}),
        ("-- --model", {"prompt": "--model"}),
        ("--", {}),
        ("--model opus", {"model": "opus"}),
        ("--model=opus", {"model": "opus"}),
        ("--model=a=b", {"model": "a=b"}),
        ("--model=", {"model": ""}),
        ("--model --verbose", {"model": "--verbose"}),
        ("--model --help", {"model": "--help"}),
        ("--model a --model b", {"model": "b"}),
        ("-c", {"continue_": True}),
        ("--continue", {"continue_": True}),
        ("-cp", {"continue_": True, "print_": True}),
        ("-r", {"resume": ""}),
        ("-r abc", {"resume": "abc"}),
        ("-rabc", {"resume": "abc"}),
        ("--resume", {"resume": ""}),
        ("--resume abc hello", {"resume": "abc", "prompt": "hello"}),
        ("--resume=abc", {"resume": "abc"}),
        ("--resume --verbose", {"resume": "", "verbose": True}),
        ("-d", {"debug": ""}),
        ("-d api", {"debug": "api"}),
        ("--debug=api,hooks", {"debug": "api,hooks"}),
        ("-d2e", {"debug_to_stderr": True}),
        ("--debug-file x", {"debug_file": "x"}),
        ("-n me", {"name": "me"}),
        ("-nme", {"name": "me"}),
        ("-w", {"worktree": ""}),
        ("--effort high", {"effort": "high"}),
        ("--thinking adaptive", {"thinking": "adaptive"}),
        ("--thinking-display omitted", {"thinking_display": "omitted"}),
        ("--permission-mode plan", {"permission_mode": "plan"}),
        ("--permission-mode default", {"permission_mode": "default"}),
        ("--permission-mode manual", {"permission_mode": "default"}),
        ("--permission-prompt-tool stdio", {"permission_prompt_tool": "stdio"}),
        ("--permission-prompts none", {"permission_prompts": "none"}),
        ("--max-turns 3", {"max_turns": 3}),
        ("--max-turns 2.5", {"max_turns": 2.5}),
        ("--max-turns=-1", {"max_turns": -1}),
        ("--max-turns -1", {"max_turns": -1}),
        ("--max-turns 1e1", {"max_turns": 10}),
        ("--max-turns=", {"max_turns": 0}),
        ("--max-thinking-tokens 0", {"max_thinking_tokens": 0}),
        ("--max-budget-usd .5", {"max_budget_usd": 0.5}),
        ("--max-budget-usd 1e999", {"max_budget_usd": float("inf")}),
        ("--task-budget 1000", {"task_budget": 1000}),
        ("--setting-sources user,project", {"setting_sources": ("user", "project")}),
        ("--setting-sources=", {"setting_sources": ()}),
        ("--allowedTools Read", {"allowed_tools": ("Read",)}),
        ("--allowedTools Read Edit", {"allowed_tools": ("Read", "Edit")}),
        ("--allowed-tools Read,Edit", {"allowed_tools": ("Read", "Edit")}),
        ("--allowedTools=Read,Edit hello", {"allowed_tools": ("Read", "Edit"), "prompt": "hello"}),
        ("--allowedTools A --allowed-tools B", {"allowed_tools": ("A", "B")}),
        ("--allowedTools A B -p C", {"allowed_tools": ("A", "B"), "print_": True, "prompt": "C"}),
        ("--allowedTools A -- C", {"allowed_tools": ("A",), "prompt": "C"}),
        ("--disallowedTools A,B", {"disallowed_tools": ("A", "B")}),
        ("--disallowed-tools A B", {"disallowed_tools": ("A", "B")}),
        ("--tools=", {"tools": ()}),
        ("--tools default", {"tools": ("default",)}),
        ("--add-dir a b --add-dir c", {"add_dir": ("a", "b", "c")}),
        ("--add-dir=a,b", {"add_dir": ("a,b",)}),
        ("--mcp-config {} x.json", {"mcp_config": ("{}", "x.json")}),
        ("--betas a,b c", {"betas": ("a", "b", "c")}),
        ("--plugin-dir a --plugin-dir b", {"plugin_dir": ("a", "b")}),
        ("--plugin-dir a b", {"plugin_dir": ("a",), "prompt": "b"}),
        ("--prompt-suggestions false", {"prompt_suggestions": False}),
        ("--json-schema {}", {"json_schema": "{}"}),
        ("--json-schema=", {"json_schema": ""}),
        (f"--session-id {UUID}", {"session_id": UUID}),
        ("--session-id= --continue", {"session_id": "", "continue_": True}),
        (f"--session-id {UUID.replace('1', 'A')}", {"session_id": UUID.replace("1", "A")}),
        (
            f"--session-id {UUID} --resume x --fork-session",
            {"session_id": UUID, "resume": "x", "fork_session": True},
        ),
        ("--resume x --resume-session-at y", {"resume": "x", "resume_session_at": "y"}),
        ("--chrome --teleport x --ide", {"others": {"chrome": None, "teleport": "x", "ide": None}}),
        ("--bg", {"others": {"background": None}}),
        ("--teammate-mode tmux", {"others": {"teammate-mode": "tmux"}}),
    ],
)
def test_a_command_line_means(line: str, fields: dict[str, Any]) -> None:
    assert parse(line.split()) == Flags(**fields)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ([""], ()),
        (["Read Edit"], ("Read", "Edit")),
        (["Read, Edit,"], ("Read", "Edit")),
        (["Bash(git *) Edit"], ("Bash(git *)", "Edit")),
        (["Bash(git log:*, x),Edit"], ("Bash(git log:*, x)", "Edit")),
        (["Bash(git *", "Edit"], ("Bash(git *", "Edit")),
        (["mcp__calc__add", "mcp__calc"], ("mcp__calc__add", "mcp__calc")),
    ],
)
def test_names_of_tools_are_split_outside_brackets(words: list[str], names: Any) -> None:
    assert parse(["--tools", *words]) == Flags(tools=names)


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("", {}),
        ("--include-partial-messages", {"include_partial_messages": True}),
        ("--replay-user-messages", {"replay_user_messages": True}),
        ("--forward-subagent-text", {"forward_subagent_text": True}),
        ("--prompt-suggestions", {"prompt_suggestions": True}),
        ("--prompt-suggestions=yes", {"prompt_suggestions": True}),
        ("--await-initialize", {"await_initialize": True}),
        ("-p", {"print_": True}),
    ],
)
def test_with_streams_in_both_directions(line: str, fields: dict[str, Any]) -> None:
    assert parse([*STREAMS, *line.split()]) == Flags(**AS_STREAMS, **fields)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--cwd /x", "error: unknown option '--cwd'"),
        ("--cwd=/x", "error: unknown option '--cwd=/x'"),
        ("--modl x", "error: unknown option '--modl'\n(Did you mean --model?)"),
        ("--mdoel x", "error: unknown option '--mdoel'\n(Did you mean --model?)"),
        ("--agentx", "error: unknown option '--agentx'\n(Did you mean one of --agent, --agents?)"),
        ("--hel", "error: unknown option '--hel'\n(Did you mean --help?)"),
        ("--ver", "error: unknown option '--ver'"),
        ("--no-verbose", "error: unknown option '--no-verbose'\n(Did you mean --verbose?)"),
        ("--verbose=1", "error: unknown option '--verbose=1'\n(Did you mean --verbose?)"),
        (
            "--allowedTool x",
            "error: unknown option '--allowedTool'\n(Did you mean --allowed-tools?)",
        ),
        ("--max-turn 3", "error: unknown option '--max-turn'"),
        ("-x", "error: unknown option '-x'"),
        ("-pz", "error: unknown option '-z'"),
        ("--verbose -V", "error: unknown option '-V'"),
        ("--first --second", "error: unknown option '--first'"),
        ("--add-dir a --bogus", "error: unknown option '--bogus'"),
        ("--model", "error: option '--model <model>' argument missing"),
        (
            "--allowedTools",
            "error: option '--allowedTools, --allowed-tools <tools...>' argument missing",
        ),
        ("-n", "error: option '-n, --name <name>' argument missing"),
        (
            "--resume-session-at",
            "error: option '--resume-session-at <message id>' argument missing",
        ),
        (
            "--bogus --permission-mode x",
            "error: option '--permission-mode <mode>' argument 'x' is invalid. Allowed choices "
            "are acceptEdits, auto, bypassPermissions, manual, dontAsk, plan.",
        ),
        (
            "--output-format xml",
            "error: option '--output-format <format>' argument 'xml' is invalid. "
            "Allowed choices are text, json, stream-json.",
        ),
        (
            "--teammate-mode x",
            "error: option '--teammate-mode <mode>' argument 'x' is invalid. "
            "Allowed choices are auto, tmux, iterm2, in-process.",
        ),
        (
            "--max-turns x",
            "error: option '--max-turns <turns>' argument 'x' is invalid. must be a number",
        ),
        (
            "--max-turns 1_0",
            "error: option '--max-turns <turns>' argument '1_0' is invalid. must be a number",
        ),
        (
            "--max-budget-usd 0",
            "error: option '--max-budget-usd <amount>' argument '0' is invalid. "
            "--max-budget-usd must be a positive number greater than 0",
        ),
        (
            "--max-budget-usd x",
            "error: option '--max-budget-usd <amount>' argument 'x' is invalid. "
            "--max-budget-usd must be a positive number greater than 0",
        ),
        *(
            (
                f"--task-budget {value}",
                f"error: option '--task-budget <tokens>' argument '{value}' is invalid. "
                "--task-budget must be a positive integer",
            )
            for value in ("x", "0", "2.5")
        ),
        (
            "--setting-sources user,flag",
            "Error processing --setting-sources: Invalid setting source: flag. "
            "Valid options are: user, project, local",
        ),
        ("--session-id abc", "Error: Invalid session ID. Must be a valid UUID."),
        *(
            (
                f"--session-id {UUID} {other}",
                "Error: --session-id can only be used with --continue or --resume "
                "if --fork-session is also specified.",
            )
            for other in ("--resume x", "--resume", "-c")
        ),
        ("--resume-session-at x", "Error: --resume-session-at requires --resume"),
        ("--resume-drops-turn x", "Error: --resume-drops-turn requires --resume-session-at"),
        ("--rewind-files x", "Error: --rewind-files requires --resume"),
        (
            "--input-format stream-json",
            "Error: --input-format=stream-json requires output-format=stream-json.",
        ),
        (
            "-p x --output-format stream-json",
            "Error: When using --print, --output-format=stream-json requires --verbose",
        ),
        (
            "--replay-user-messages --output-format stream-json --verbose",
            "Error: --replay-user-messages requires both --input-format=stream-json "
            "and --output-format=stream-json.",
        ),
        (
            "--include-partial-messages",
            "Error: --include-partial-messages requires --print and --output-format=stream-json.",
        ),
        (
            "--forward-subagent-text",
            "Error: --forward-subagent-text requires --print and --output-format=stream-json.",
        ),
        (
            "--prompt-suggestions",
            "Error: --prompt-suggestions requires --print and --output-format=stream-json "
            "(prompt_suggestion messages are only surfaced in stream-json output).",
        ),
        (
            "--await-initialize",
            "Error: --await-initialize requires --input-format=stream-json.",
        ),
        ("--json-schema []", "Error: --json-schema must be a JSON object"),
        ("mcp list", "error: the command 'mcp' is not simulated"),
    ],
)
def test_the_cli_refuses(line: str, message: str) -> None:
    assert refused(*line.split()) == f"{message}\n"


def test_a_schema_that_is_not_json_is_refused() -> None:
    assert refused("--json-schema", "x").startswith("Error: --json-schema is not valid JSON: ")


@pytest.mark.parametrize(
    "line", ["-v", "--version", "-V", "--verbose --version", "-pv", "--bogus -v", "-p hello -v"]
)
def test_it_tells_its_version(line: str) -> None:
    assert parse(line.split(), version="1.2.3") == EarlyExit(0, "1.2.3 (Claude Code)\n")


@pytest.mark.parametrize("line", ["-h", "--help", "--help --bogus", "--bogus --help", "-ph"])
def test_help_lists_the_flags_and_tells_that_this_is_a_simulation(line: str) -> None:
    got = parse(line.split())
    assert isinstance(got, EarlyExit)
    assert (got.status, got.stderr) == (0, "")
    assert got.stdout.startswith("Usage: claude [options] [command] [prompt]\n")
    assert "simulates" in got.stdout
    assert "\n  -r, --resume [value]\n" in got.stdout
    assert "--max-turns" not in got.stdout


def test_an_unknown_effort_is_ignored_with_a_warning() -> None:
    warning = (
        "Warning: Unknown --effort value 'x' — ignoring it and using the default effort. "
        "Valid values: low, medium, high, xhigh, max."
    )
    assert parse(["--effort", "x"]) == Flags(warnings=(warning,))


def test_a_flag_is_found_under_each_of_its_spellings() -> None:
    assert OPTIONS["--allowedTools"] is OPTIONS["--allowed-tools"]
    assert OPTIONS["-r"] is OPTIONS["--resume"]
    assert {option.name for option in VISIBLE} - OPTIONS.keys() == {"--help"}


def test_every_field_is_a_flag() -> None:
    fields = {option.name[2:].replace("-", "_") for option in OPTIONS.values()}
    # No real CLI has `--cwd` and `--strict`.
    made_here = {"cwd", "strict", "others", "prompt", "warnings"}
    assert {name.rstrip("_") for name in Flags.__struct_fields__} - made_here <= fields


VALUES = {
    "--effort": "max",
    "--json-schema": "{}",
    "--prompt-suggestions": "on",
    "--session-id": UUID,
    "--setting-sources": "user",
}
KEPT: dict[str, Any] = {
    "--add-dir": ("3",),
    "--allowed-tools": ("3",),
    "--betas": ("3",),
    "--disallowed-tools": ("3",),
    "--file": ("3",),
    "--max-budget-usd": 3,
    "--max-thinking-tokens": 3,
    "--max-turns": 3,
    "--mcp-config": ("3",),
    "--plugin-dir": ("3",),
    "--prompt-suggestions": True,
    "--setting-sources": ("user",),
    "--task-budget": 3,
    "--tools": ("3",),
}
"""What is not kept as it was given."""


@pytest.mark.parametrize(
    "name", sorted({option.name for option in OPTIONS.values()} - {"--version"})
)
def test_every_flag_is_known_and_kept(name: str) -> None:
    option = OPTIONS[name]
    value = VALUES.get(name, option.choices[-1] if option.choices else "3")
    words = [f"{name}={value}"] if option.argument else [name]
    # Some flags are refused without these.
    company = [*STREAMS, "--resume=x", "--resume-session-at=y", "--fork-session"]
    flags = parse([*company, *words])
    assert isinstance(flags, Flags)
    field = name[2:].replace("-", "_")
    field = {"continue": "continue_", "print": "print_"}.get(field, field)
    if name[2:] in flags.others:
        assert flags.others[name[2:]] == (value if option.argument else None)
    else:
        assert getattr(flags, field) == KEPT.get(name, value if option.argument else True)


@pytest.mark.parametrize("word", ["model", "-m", "--", "--" + "x" * 50, "--x"])
def test_nothing_is_suggested_for(word: str) -> None:
    assert suggestion(word) == ""


WORDS = st.sampled_from([*OPTIONS, *COMMANDS, "x", "1", "-", "--", "--x=1", "-pz", "--tools=a"])


@given(st.lists(WORDS | st.text(max_size=5), max_size=6))
def test_any_words_are_understood_or_refused_in_one_way(argv: list[str]) -> None:
    got = parse(argv)
    if isinstance(got, EarlyExit):
        assert got.stdout.endswith("\n") == (got.status == 0)
        assert got.stderr.endswith("\n") == (got.status == 1)
        got.stderr.encode()


def test_reading_flags_loads_nothing_heavy() -> None:
    script = (
        "import sys; from claudewire.simulator import flags, session;"
        "print(*{'anyio', 'argparse', 'asyncio', 'dataclasses', 'pathlib'} & {*sys.modules})"
    )
    unmeasured = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
    fresh = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        check=True,
        encoding="utf-8",
        env=unmeasured,
    )
    assert fresh.stdout.split() == []


# --- the session dialect -------------------------------------------------------------------------

SESSION_FLAGS = ["--output-format", "stream-json", "--input-format", "stream-json"]


def test_a_cli_of_the_session_dialect_takes_the_flags_of_its_document() -> None:
    flags = parse([*SESSION_FLAGS, "--cwd", "/there"], sessions=True)
    assert isinstance(flags, Flags)
    assert flags.cwd == "/there"
    assert not flags.verbose


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([*SESSION_FLAGS, "--verbose", "--cwd", "/there"], "unknown option '--cwd'"),
        (SESSION_FLAGS, "requires --verbose"),
    ],
)
def test_other_clis_do_not(words: list[str], why: str) -> None:
    refused = parse(words)
    assert isinstance(refused, EarlyExit)
    assert why in refused.stderr
