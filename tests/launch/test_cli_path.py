"""Finding the CLI: what is asked for, what is set, what is usual, what to say if there is none."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from claudewire.errors import Cause, CLINotFoundError, OptionsError
from claudewire.launch import find_cli

LOCATING = sys.modules[find_cli.__module__]


@pytest.fixture(autouse=True)
def nothing_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(LOCATING, "_SYSTEM", [f"{tmp_path}{it}" for it in LOCATING._SYSTEM])
    monkeypatch.chdir(tmp_path)


def program(path: Path, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(mode)
    return path


def env(folder: Path, **more: str) -> dict[str, str]:
    return {"PATH": f"{folder / 'one'}:{folder / 'two'}", "HOME": str(folder / "home"), **more}


def missing(cli: str | Path | list[str] | None, env: Mapping[str, str]) -> CLINotFoundError:
    with pytest.raises(CLINotFoundError) as caught:
        find_cli(cli, env)
    assert caught.value.cause is Cause.NOT_FOUND
    assert caught.value.advice
    return caught.value


# --- what is asked for ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_is_taken_as_it_is(kind: type[str] | type[Path], tmp_path: Path) -> None:
    claude = program(tmp_path / "some where" / "claude")
    assert find_cli(kind(claude), {}) == (str(claude),)


def test_a_relative_path_becomes_absolute_because_the_cli_may_run_elsewhere(
    tmp_path: Path,
) -> None:
    claude = program(tmp_path / "bin" / "claude")
    assert find_cli("bin/claude", {}) == (str(claude),)
    assert find_cli(Path("bin/claude"), {}) == (str(claude),)


def test_a_path_object_without_a_folder_is_a_path_and_no_name(tmp_path: Path) -> None:
    claude = program(tmp_path / "claude")
    assert find_cli(Path("claude"), env(tmp_path)) == (str(claude),)


def test_a_tilde_is_the_home_that_the_cli_will_have(tmp_path: Path) -> None:
    claude = program(tmp_path / "home" / "bin" / "claude")
    assert find_cli("~/bin/claude", env(tmp_path)) == (str(claude),)


def test_without_such_a_home_it_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    claude = program(tmp_path / "claude")
    assert find_cli("~/claude", {}) == (str(claude),)


def test_a_name_is_looked_up_in_the_path_that_the_cli_will_have(tmp_path: Path) -> None:
    program(tmp_path / "one" / "claude-beta", 0o644)
    (tmp_path / "one" / "claude").mkdir()
    second = program(tmp_path / "two" / "claude-beta")
    assert find_cli("claude-beta", env(tmp_path)) == (str(second),)


def test_a_folder_of_the_path_that_may_not_be_looked_into_is_passed_over(tmp_path: Path) -> None:
    """Its name is too long, since root may look into every folder."""
    claude = program(tmp_path / "one" / "claude")
    variables = env(tmp_path, PATH=f"/{'x' * 300}:{tmp_path / 'one'}")
    assert find_cli("claude", variables) == (str(claude),)
    assert find_cli(None, {**variables, "HOME": f"/{'x' * 300}"}) == (str(claude),)


def test_a_folder_of_the_path_may_be_relative(tmp_path: Path) -> None:
    claude = program(tmp_path / "here" / "claude")
    assert find_cli("claude", {"PATH": "here"}) == (str(claude),)


@pytest.mark.parametrize(
    "words", [["ssh", "host", "claude"], ["docker", "exec", "-i", "box", "claude"]]
)
def test_of_a_command_only_the_first_word_is_looked_up(words: list[str], tmp_path: Path) -> None:
    first = program(tmp_path / "two" / words[0])
    assert find_cli(words, env(tmp_path)) == (str(first), *words[1:])
    assert find_cli(tuple(words), env(tmp_path)) == (str(first), *words[1:])


@pytest.mark.parametrize("cli", [[], [""], ""])
def test_nothing_is_not_a_command(cli: str | list[str]) -> None:
    with pytest.raises(OptionsError, match="empty"):
        find_cli(cli, {})


@pytest.mark.parametrize(
    ("cli", "names"),
    [
        (None, False),
        ("", False),
        ("claude", False),
        ("./claude", True),
        ("~/bin/claude", True),
        ("/bin/claude", True),
        (Path("claude"), True),
        ([], False),
        (["ssh", "/bin/claude"], False),
        (["/bin/ssh", "claude"], True),
        ([Path("ssh"), "claude"], True),
    ],
)
def test_a_cli_may_be_named_by_a_path_or_not(cli: Any, names: bool) -> None:
    assert LOCATING.names_path(cli) is names


def test_a_path_that_is_not_there_is_said(tmp_path: Path) -> None:
    assert f"There is no file {tmp_path / 'bin' / 'claude'}" in str(missing("bin/claude", {}))


def test_a_file_that_may_not_be_executed_is_said(tmp_path: Path) -> None:
    claude = program(tmp_path / "claude", 0o644)
    error = missing(claude, {})
    assert f"{claude} is not executable" in str(error)
    assert "chmod +x" in error.advice


def test_a_name_that_is_not_there_is_said_with_the_path(tmp_path: Path) -> None:
    error = missing("claude-beta", env(tmp_path))
    assert "no program `claude-beta`" in str(error)
    assert f"PATH: {tmp_path / 'one'}:{tmp_path / 'two'}" in str(error)


def test_who_writes_a_command_as_one_string_is_told_how_to_write_it(tmp_path: Path) -> None:
    assert "cli=['ssh', 'host', 'claude']" in missing("ssh host claude", env(tmp_path)).advice


# --- what is set, what is usual -------------------------------------------------------------------


def test_the_variable_comes_first(tmp_path: Path) -> None:
    program(tmp_path / "one" / "claude")
    other = program(tmp_path / "other" / "claude")
    found = find_cli(None, env(tmp_path, CLAUDE_CODE_PATH=str(other)))
    assert found == (str(other),)


def test_the_variable_may_be_a_name(tmp_path: Path) -> None:
    beta = program(tmp_path / "one" / "claude-beta")
    assert find_cli(None, env(tmp_path, CLAUDE_CODE_PATH="claude-beta")) == (str(beta),)


@pytest.mark.parametrize("value", ["/no/such/claude", "claude-beta"])
def test_a_variable_that_is_wrong_is_an_error_and_not_another_cli(
    value: str, tmp_path: Path
) -> None:
    program(tmp_path / "one" / "claude")
    error = missing(None, env(tmp_path, CLAUDE_CODE_PATH=value))
    assert f"CLAUDE_CODE_PATH says {value}, but there is no" in str(error)


def test_then_comes_the_path(tmp_path: Path) -> None:
    program(tmp_path / "home" / ".local" / "bin" / "claude")
    claude = program(tmp_path / "two" / "claude")
    assert find_cli(None, env(tmp_path, CLAUDE_CODE_PATH="")) == (str(claude),)


@pytest.mark.parametrize(
    "place",
    [
        "home/.local/bin",
        "home/.claude/local",
        "home/.claude/local/node_modules/.bin",
        "home/.npm-global/bin",
        "home/.npm-packages/bin",
        "home/.bun/bin",
        "home/.volta/bin",
        "home/.yarn/bin",
        "home/.config/yarn/global/node_modules/.bin",
        "home/.nvm/current/bin",
        "home/.nvm/versions/node/v22.1.0/bin",
        "home/node_modules/.bin",
        "prefix/bin",
        "usr/local/bin",
        "opt/homebrew/bin",
        "home/linuxbrew/.linuxbrew/bin",
        "opt/local/bin",
        "usr/bin",
        "snap/bin",
        "node_modules/.bin",
    ],
)
def test_then_come_the_usual_places(place: str, tmp_path: Path) -> None:
    claude = program(tmp_path / place / "claude")
    found = find_cli(None, env(tmp_path, npm_config_prefix=str(tmp_path / "prefix")))
    assert found == (str(claude),)


def test_of_several_nodes_the_newest_counts(tmp_path: Path) -> None:
    nodes = tmp_path / "home" / ".nvm" / "versions" / "node"
    for version in ("v9.0.0", "v22.1.0", "v22.10.0", "v8.5.0", "system"):
        program(nodes / version / "bin" / "claude")
    assert find_cli(None, env(tmp_path)) == (str(nodes / "v22.10.0" / "bin" / "claude"),)


def test_if_it_is_nowhere_all_places_are_named_and_what_to_do(tmp_path: Path) -> None:
    error = missing(None, env(tmp_path))
    for place in (
        "CLAUDE_CODE_PATH",
        f"PATH: {tmp_path / 'one'}",
        str(tmp_path / "home" / ".claude" / "local"),
        str(tmp_path / "usr" / "local" / "bin"),
        str(tmp_path / "node_modules" / ".bin"),
    ):
        assert place in str(error)
    path = f"  PATH: {tmp_path / 'one'}:{tmp_path / 'two'}"
    assert path in str(error).partition("Searched:\n")[2].splitlines()
    assert "npm install -g @anthropic-ai/claude-code" in error.advice


def test_without_path_and_home_there_is_little_to_look_at() -> None:
    assert "PATH: empty" in str(missing(None, {}))


# --- scripts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".js", ".mjs", ".cjs"])
def test_a_script_is_run_by_node(ending: str, tmp_path: Path) -> None:
    script = program(tmp_path / f"cli{ending}", 0o644)
    node = program(tmp_path / "two" / "node")
    assert find_cli(script, env(tmp_path)) == (str(node), str(script))
    assert find_cli([str(script), "x"], env(tmp_path)) == (str(node), str(script), "x")


def test_a_script_without_node_is_an_error(tmp_path: Path) -> None:
    script = program(tmp_path / "cli.js")
    assert "needs Node.js" in str(missing(script, env(tmp_path)))
