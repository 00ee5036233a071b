"""The environment that the CLI gets."""

from __future__ import annotations

import os
from typing import Any

import pytest

import claudewire
from claudewire.launch.environment import NEEDED, NOT_INHERITED, environment, variable
from claudewire.options import Options

LEFT_BEHIND = """
AI_AGENT CLAUDECODE CLAUDE_CODE_CHILD_SESSION CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_EXECPATH
CLAUDE_CODE_MESSAGING_SOCKET CLAUDE_CODE_MESSAGING_TOKEN CLAUDE_CODE_SESSION_ATTENDED
CLAUDE_CODE_SESSION_ID CLAUDE_CODE_SSE_PORT CLAUDE_EFFORT CLAUDE_PID
CLAUDE_AGENT_SDK_DERIVED_CLIENT_APP CLAUDE_AGENT_SDK_VERSION
CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING CLAUDE_CODE_QUESTION_PREVIEW_FORMAT
CLAUDE_CODE_SDK_READS_SESSION_STATE CLAUDE_CODE_SDK_READS_STARTUP_MARKS DEBUG NODE_OPTIONS
"""

ALWAYS_INHERITED = "HOME LANG LC_ALL LC_CTYPE LOGNAME PATH SHELL TERM TMPDIR TZ USER"

TOLD = {
    "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
    "CLAUDE_AGENT_SDK_VERSION": claudewire.__version__,
    "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1",
}


def made(base: dict[str, str] | None = None, **given: Any) -> dict[str, str]:
    return environment(Options(**given), base if base is not None else {})


def test_the_cli_is_told_who_has_started_it() -> None:
    assert made() == TOLD


def test_it_inherits_what_this_process_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDEWIRE_EXAMPLE", "here")
    assert environment(Options())["CLAUDEWIRE_EXAMPLE"] == "here"


def test_each_cli_inherits_what_this_process_has_by_then(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for value in ("first", "second"):
        monkeypatch.setenv("CLAUDEWIRE_EXAMPLE", value)
        found.append(environment(Options()).pop("CLAUDEWIRE_EXAMPLE"))
    monkeypatch.delenv("CLAUDEWIRE_EXAMPLE")
    assert found == ["first", "second"]
    assert "CLAUDEWIRE_EXAMPLE" not in environment(Options())
    # Also where another program has put something else in its place.
    other = {"ONLY": "this", "CLAUDECODE": "1"}
    monkeypatch.setattr("os.environ", other)
    assert environment(Options()) == {"ONLY": "this", **TOLD}
    assert other == {"ONLY": "this", "CLAUDECODE": "1"}


@pytest.mark.parametrize(
    "name",
    [
        "CLAUDE_CONFIG_DIR",
        "ANTHROPIC_API_KEY",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_USE_BEDROCK",
        "HTTPS_PROXY",
        "TRACEPARENT",
        "TRACESTATE",
        "PATH",
    ],
)
def test_what_configures_the_cli_is_passed_on(name: str) -> None:
    assert made({name: "value"}) == {name: "value", **TOLD}


@pytest.mark.parametrize("name", LEFT_BEHIND.split())
def test_what_another_cli_has_left_is_not_passed_on(name: str) -> None:
    assert made({name: "left behind", "A": "b"}).get(name) == TOLD.get(name)


@pytest.mark.parametrize("name", ["CLAUDECODE", "NODE_OPTIONS", "CLAUDE_CODE_ENTRYPOINT", *TOLD])
def test_what_is_asked_for_wins(name: str) -> None:
    assert made({name: "inherited"}, env={name: "mine"})[name] == "mine"


def test_a_variable_can_be_taken_away() -> None:
    taken = {"SECRET": None, "CLAUDE_CODE_SDK_READS_SESSION_STATE": None, "NOT_THERE": None}
    left = made({"SECRET": "x", "A": "b"}, env=taken)
    assert left == {name: it for name, it in {"A": "b", **TOLD}.items() if name not in taken}


def test_a_clean_environment_holds_what_any_program_needs_and_what_is_asked_for() -> None:
    base = {"PATH": "/bin", "HOME": "/home", "ANTHROPIC_API_KEY": "key", "CLAUDECODE": "1"}
    clean = made(base, clean_env=True, env={"A": "b"})
    assert clean == {"PATH": "/bin", "HOME": "/home", "A": "b", **TOLD}
    assert made({}, clean_env=True) == TOLD


@pytest.mark.parametrize("name", ALWAYS_INHERITED.split())
def test_a_clean_environment_inherits(name: str) -> None:
    assert made({name: "value"}, clean_env=True) == {name: "value", **TOLD}


def test_the_list_of_the_clean_environment_holds_no_secret() -> None:
    assert set(NEEDED).isdisjoint(NOT_INHERITED)
    assert {*NEEDED} == {*ALWAYS_INHERITED.split()}
    assert {*NOT_INHERITED} == {*LEFT_BEHIND.split()}
    assert not [name for name in NEEDED if "KEY" in name or "TOKEN" in name or "CLAUDE" in name]


def test_options_become_variables(tmp_path: os.PathLike[str]) -> None:
    variables = made(
        cwd=tmp_path,
        client_app="example/1.0",
        question_preview_format="html",
        enable_file_checkpointing=True,
    )
    assert variables == {
        **TOLD,
        "PWD": os.fspath(tmp_path),
        "CLAUDE_AGENT_SDK_CLIENT_APP": "example/1.0",
        "CLAUDE_CODE_QUESTION_PREVIEW_FORMAT": "html",
        "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "true",
    }


def test_the_base_is_left_alone() -> None:
    base = {"CLAUDECODE": "1", "A": "b"}
    made(base, env={"A": "c"})
    assert base == {"CLAUDECODE": "1", "A": "b"}


@pytest.mark.parametrize("clean_env", [False, True])
@pytest.mark.parametrize("env", [{}, {"HOME": "/other"}, {"HOME": None, "CLAUDECODE": "1"}])
def test_one_variable_is_what_it_is_in_the_whole_environment(
    env: dict[str, str | None], clean_env: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "CLAUDE_CONFIG_DIR", "CLAUDECODE"):
        monkeypatch.setenv(name, f"/{name}")
    monkeypatch.delenv("LOGNAME", raising=False)
    given = Options(env=env, clean_env=clean_env)
    whole = environment(given)
    for name in ("HOME", "CLAUDE_CONFIG_DIR", "CLAUDECODE", "LOGNAME"):
        assert variable(given, name) == whole.get(name)
