"""Finding the CLI: by the option, the variable, PATH and the usual places."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from claudewire.errors import Cause, CLINotFoundError
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


def missing(cli: str | Path | list[str] | None, env: Mapping[str, str]) -> str:
    with pytest.raises(CLINotFoundError) as caught:
        find_cli(cli, env)
    assert caught.value.cause is Cause.NOT_FOUND
    return str(caught.value)


# --- the option ----------------------------------------------------------------------------------


def test_path_becomes_absolute(tmp_path: Path) -> None:
    claude = program(tmp_path / "home" / "some where" / "claude")
    for given in (claude, "home/some where/claude", "~/some where/claude"):
        assert find_cli(given, env(tmp_path)) == (str(claude),)


def test_name_is_found_in_the_path_of_the_cli(tmp_path: Path) -> None:
    program(tmp_path / "one" / "claude-beta", 0o644)
    (tmp_path / "one" / "claude").mkdir()
    second = program(tmp_path / "two" / "claude-beta")
    assert find_cli("claude-beta", env(tmp_path)) == (str(second),)


@pytest.mark.parametrize(
    ("cli", "words"),
    [
        ("./text", ["text is not executable", "chmod +x"]),
        ("ssh host claude", ["There is no program", "cli=['ssh', 'host', 'claude']"]),
        ("./cli.js", ["needs Node.js"]),
    ],
)
def test_unusable_cli_is_an_error_with_advice(cli: str, words: list[str], tmp_path: Path) -> None:
    program(tmp_path / "text", 0o644)
    program(tmp_path / "cli.js")
    error = missing(cli, env(tmp_path))
    assert all(word in error for word in words)


# --- the variable, PATH, usual places ------------------------------------------------------------


def test_variable_comes_first(tmp_path: Path) -> None:
    program(tmp_path / "one" / "claude")
    other = program(tmp_path / "other" / "claude")
    found = find_cli(None, env(tmp_path, CLAUDE_CODE_PATH=str(other)))
    assert found == (str(other),)


@pytest.mark.parametrize("value", ["/no/such/claude", "claude-beta"])
def test_wrong_variable_is_an_error(value: str, tmp_path: Path) -> None:
    program(tmp_path / "one" / "claude")
    error = missing(None, env(tmp_path, CLAUDE_CODE_PATH=value))
    assert f"CLAUDE_CODE_PATH is {value}: There is no" in error


@pytest.mark.parametrize(
    "place",
    [
        "home/.claude/local",
        "home/.nvm/versions/node/v22.1.0/bin",
        "prefix/bin",
        "opt/homebrew/bin",
        "node_modules/.bin",
    ],
)
def test_usual_places_come_third(place: str, tmp_path: Path) -> None:
    claude = program(tmp_path / place / "claude")
    found = find_cli(None, env(tmp_path, npm_config_prefix=str(tmp_path / "prefix")))
    assert found == (str(claude),)


def test_newest_node_wins(tmp_path: Path) -> None:
    nodes = tmp_path / "home" / ".nvm" / "versions" / "node"
    for version in ("v9.0.0", "v22.1.0", "v22.10.0", "v8.5.0", "system"):
        program(nodes / version / "bin" / "claude")
    assert find_cli(None, env(tmp_path)) == (str(nodes / "v22.10.0" / "bin" / "claude"),)


def test_missing_cli_is_an_error_with_all_places(tmp_path: Path) -> None:
    error = missing(None, env(tmp_path))
    places = [line.strip() for line in error.partition("Searched:\n")[2].splitlines()]
    assert "CLAUDE_CODE_PATH" in places[0]
    assert places[1] == f"PATH: {tmp_path / 'one'}:{tmp_path / 'two'}"
    for place in ("home/.claude/local", "usr/local/bin", "node_modules/.bin"):
        assert str(tmp_path / place) in places
    assert "npm install -g @anthropic-ai/claude-code" in error


def test_script_is_run_by_node(tmp_path: Path) -> None:
    script = program(tmp_path / "cli.js", 0o644)
    node = program(tmp_path / "two" / "node")
    assert find_cli([str(script), "x"], env(tmp_path)) == (str(node), str(script), "x")
