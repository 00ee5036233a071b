"""From options to a command line, private files, the opening request and the environment."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import pytest
from tests.helpers.every_option import (
    AGENT,
    NAMES,
    SCHEMA,
    alone,
    every_option,
)

import claudewire
from claudewire.errors import OptionsError
from claudewire.launch import initialize_request
from claudewire.launch.delivery import FIXED, PrivateFiles, arguments, environment
from claudewire.options import DECLARATIONS, Options
from claudewire.simulator.flags import Flags, parse


def words(**given: Any) -> list[str]:
    """Return the words that options add, without private files."""
    with PrivateFiles() as files:
        said = arguments(Options(**given), files)
        assert files.folder is None
    return list(said[len(FIXED) :])


def opening(**given: Any) -> dict[str, Any]:
    return dict(json.loads(msgspec.json.encode(initialize_request(Options(**given)))))


# --- the command line ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": "-x --dangerous"}, ["--model=-x --dangerous"]),
        ({"thinking": 2048}, ["--max-thinking-tokens=2048"]),
        # Joined with a comma they would be one beta with a strange name.
        ({"betas": ["a", "b"]}, ["--betas=a", "--betas=b"]),
        ({"builtin_tools": []}, ["--tools="]),
        ({"builtin_tools": ["Read", "Bash"]}, ["--tools=Read", "--tools=Bash"]),
        (
            {"allowed_tools": ["Bash(a, b)", "Read"]},
            ["--allowedTools=Bash(a, b)", "--allowedTools=Read"],
        ),
        # The CLI must know them too: it asks the policy about some tools only.
        ({"deny": ["Bash(rm:*)"]}, ["--disallowedTools=Bash(rm:*)"]),
        ({"skills": "all"}, ["--allowedTools=Skill"]),
        ({"skills": ["pdf", "a:b"]}, ["--allowedTools=Skill(pdf)", "--allowedTools=Skill(a:b)"]),
        ({"permission_mode": "manual"}, ["--permission-mode=default"]),
        ({"system_prompt_snapshot": False}, ["--system-prompt-snapshot=off"]),
        (
            {"managed_settings": {"a": 1}},
            ["--await-initialize", "--managed-settings-in-initialize"],
        ),
        ({"setting_sources": []}, ["--setting-sources", ""]),
        ({"continue_conversation": True, "fork_session": True}, ["--continue", "--fork-session"]),
        ({"persist_session": False}, ["--no-session-persistence"]),
        ({"worktree": True}, ["--worktree"]),
        ({"worktree": "side"}, ["--worktree=side"]),
        (
            {"extra_args": {"brief": None, "x": "-y", "z": "", "w": ["1", "2"]}},
            ["--brief", "--x=-y", "--z=", "--w=1", "--w=2"],
        ),
        # These go another way.
        ({"title": "T", "agents": {"poet": AGENT}, "json_schema": SCHEMA}, []),
        ({"cli": "simulated", "env": {"A": "b"}, "clean_env": True}, []),
        ({"system_prompt": ["a", "b"]}, []),
    ],
    ids=lambda it: str(it)[:50],
)
def test_option_becomes_words(given: dict[str, Any], said: list[str]) -> None:
    assert words(**given) == said


def test_paths_become_words(tmp_path: Path) -> None:
    example = every_option(tmp_path)
    names = ("add_dirs", "project_config_root", "mcp_config", "settings", "debug_file")
    plugins = [tmp_path / "plugin", {"path": str(tmp_path), "skip_mcp_discovery": True}]
    said = words(**{name: example[name] for name in names}, plugins=plugins)

    assert sorted(said) == sorted(
        [
            f"--add-dir={tmp_path}/more",
            f"--project-config-root={tmp_path}/project",
            f"--mcp-config={tmp_path}/servers.json",
            "--settings",
            f"{tmp_path}/settings.json",
            f"--debug-file={tmp_path}/debug.log",
            f"--plugin-dir={tmp_path}/plugin",
            f"--plugin-dir-no-mcp={tmp_path}",
        ]
    )


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"cwd": "none"}, "cwd: there is no '.*none'"),
        ({"add_dirs": [".", "file"]}, "add_dirs: '.*file' is not a directory"),
        ({"mcp_config": ["."]}, "mcp_config: .* is a directory, not a file"),
        # The CLI would go on without these, and say nothing.
        ({"plugins": ["none"]}, "plugins: there is no"),
        ({"debug_file": "none/log"}, "debug_file: there is no"),
        ({"system_prompt": Path("none")}, "system_prompt: there is no"),
        ({"settings": "file", "sandbox": {}}, "settings: .*file' is not a file of settings"),
        ({"settings": "boxed", "sandbox": {}}, "the sandbox is described twice"),
    ],
)
def test_missing_file_is_refused_before_the_start(
    given: dict[str, Any], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "boxed").write_text('{"sandbox": {}}', encoding="utf-8")
    with pytest.raises(OptionsError, match=complaint):
        words(**given)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "extra_args"])
def test_written_flags_are_declared_and_simulated(name: str, tmp_path: Path) -> None:
    given = alone(every_option(tmp_path), name)
    with PrivateFiles() as files:
        said = arguments(Options(**given), files)
    assert isinstance(parse(said), Flags)
    flags = {word.partition("=")[0] for word in said[len(FIXED) :] if word.startswith("--")}
    also = {
        "skills": {"allowed_tools"},
        "sandbox": {"settings"},
    }
    declared = {*given, *also.get(name, ())}
    assert flags <= {flag for each in declared for flag in DECLARATIONS[each].all_flags}


# --- large and secret values ---------------------------------------------------------------------

SECRET = "hunter2-hunter2"
SERVERS = {"web": {"type": "http", "url": "http://x", "headers": {"Authorization": SECRET}}}


def test_secrets_are_in_private_files_only() -> None:
    options = Options(
        system_prompt=f"System {SECRET}",
        append_system_prompt=f"Append {SECRET}",
        append_subagent_system_prompt=f"Subagents {SECRET}",
        mcp_servers=SERVERS,
        settings={"env": {"TOKEN": SECRET}},
        sandbox={"enabled": True},
        managed_settings={"env": {"TOKEN": SECRET}},
        agents={"poet": {**AGENT, "prompt": SECRET}},
        json_schema={"type": "object", "title": SECRET},
        title=SECRET,
        env={"ANTHROPIC_API_KEY": SECRET},
    )
    with PrivateFiles() as files:
        said = arguments(options, files)
        assert SECRET not in " ".join(said)
        paths = dict(word.split("=", 1) for word in said if "=" in word)
        paths["--settings"] = said[said.index("--settings") + 1]
        read = {
            flag: Path(it).read_text("utf-8") for flag, it in paths.items() if it.startswith("/")
        }
    assert read["--system-prompt-file"] == f"System {SECRET}"
    assert read["--append-system-prompt-file"] == f"Append {SECRET}"
    assert read["--append-subagent-system-prompt-file"] == f"Subagents {SECRET}"
    assert json.loads(read["--mcp-config"]) == {"mcpServers": SERVERS}
    assert json.loads(read["--settings"]) == {
        "env": {"TOKEN": SECRET},
        # An application that asks for a sandbox relies on it.
        "sandbox": {"enabled": True, "failIfUnavailable": True},
    }


def test_remote_cli_gets_no_private_files(tmp_path: Path) -> None:
    path = tmp_path / "prompt.md"
    path.write_text("Be a bot.", encoding="utf-8")
    given: dict[str, Any] = {
        "remote": True,
        "system_prompt": path,
        "append_system_prompt": "Be brief.",
        "append_subagent_system_prompt": "Be there.",
        "mcp_servers": SERVERS,
        "mcp_config": ["~/there.json"],
        "settings": {"model": "opus"},
        "add_dirs": ["/not/here"],
    }
    assert words(**given) == [
        "--add-dir=/not/here",
        "--mcp-config=~/there.json",
        "--append-subagent-system-prompt=Be there.",
        "--mcp-config=" + json.dumps({"mcpServers": SERVERS}, separators=(",", ":")),
        "--settings",
        '{"model":"opus"}',
    ]
    assert opening(**given) == {
        "subtype": "initialize",
        "systemPrompt": "Be a bot.",
        "appendSystemPrompt": "Be brief.",
    }


# --- the opening request -------------------------------------------------------------------------


def test_initialize_carries_large_values() -> None:
    assert opening(
        system_prompt=["One", "Two"],
        agents={"poet": {**AGENT, "disallowed_tools": ["Bash"]}},
        json_schema=SCHEMA,
        plan_mode_instructions="Plan well",
        tool_aliases={"Bash": "mcp__x__y"},
        title="A test",
        skills=["pdf"],
        agent_progress_summaries=True,
        per_task_stop_affordance=True,
        supported_dialog_kinds=["confirm"],
        managed_settings={"permissions": {"deny": ["Bash"]}},
    ) == {
        "subtype": "initialize",
        "systemPrompt": ["One", "Two"],
        "agents": {"poet": {**AGENT, "disallowedTools": ["Bash"]}},
        "jsonSchema": SCHEMA,
        "planModeInstructions": "Plan well",
        "toolAliases": {"Bash": "mcp__x__y"},
        "title": "A test",
        "skills": ["pdf"],
        "agentProgressSummaries": True,
        "perTaskStopAffordance": True,
        "supportedDialogKinds": ["confirm"],
        "managedSettings": {"permissions": {"deny": ["Bash"]}},
    }
    small = opening(skills="all", plugins=["/p"], system_prompt="In a file")
    assert small == {"subtype": "initialize"}


# --- dialects ------------------------------------------------------------------------------------


def told(dialect: str, **given: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the names of the flags, and the prompts and servers in `initialize`."""
    with PrivateFiles() as files:
        said = arguments(Options(dialect=dialect, **given), files)
    flags = [word.partition("=")[0] for word in said[len(FIXED) :]]
    fields = opening(dialect=dialect, **given)
    names = ("systemPrompt", "appendSystemPrompt", "mcpServers")
    return flags, {name: fields[name] for name in names if name in fields}


@pytest.mark.parametrize(
    ("dialect", "flags", "fields"),
    [
        ("auto", ["--system-prompt-file", "--mcp-config"], []),
        ("modern", ["--system-prompt-file", "--mcp-config"], ["systemPrompt", "mcpServers"]),
        ("session", ["--cwd"], ["systemPrompt", "mcpServers"]),
        ("legacy", ["--system-prompt", "--mcp-config"], []),
        ("envelope", ["--system-prompt-file", "--mcp-config"], []),
    ],
)
def test_dialect_places_prompt_and_servers(
    dialect: str, flags: list[str], fields: list[str]
) -> None:
    said, found = told(dialect, system_prompt="Be brief.", mcp_servers=SERVERS)
    assert (said, list(found)) == (flags, fields)
    assert found.get("systemPrompt", "Be brief.") == "Be brief."
    assert found.get("mcpServers", SERVERS) == SERVERS
    flags, fields_of_appended = told(dialect, append_system_prompt="And kind.")
    assert len([flag for flag in flags if flag.startswith("--append")] + [*fields_of_appended]) == 1


def test_prompt_file_is_read_for_dialects_without_files(tmp_path: Path) -> None:
    file = tmp_path / "prompt"
    file.write_text("Be brief.", encoding="utf-8")
    assert words(dialect="legacy", system_prompt=file) == ["--system-prompt=Be brief."]
    assert opening(dialect="session", system_prompt=file)["systemPrompt"] == "Be brief."


# --- the environment -----------------------------------------------------------------------------

TOLD = {
    "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
    "CLAUDE_AGENT_SDK_VERSION": claudewire.__version__,
    "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1",
}


def made(inherited: dict[str, str], **given: Any) -> dict[str, str]:
    with mock.patch.dict(os.environ, inherited, clear=True):
        return environment(Options(**given))


@pytest.mark.parametrize("name", ["CLAUDE_CONFIG_DIR", "ANTHROPIC_API_KEY", "TRACEPARENT"])
def test_configuration_of_the_cli_is_inherited(name: str) -> None:
    assert made({name: "value"}) == {name: "value", **TOLD}


@pytest.mark.parametrize("name", ["CLAUDECODE", "CLAUDE_CODE_SSE_PORT", "NODE_OPTIONS", *TOLD])
def test_variables_of_another_cli_are_not_inherited(name: str) -> None:
    assert made({name: "left behind", "A": "b"}) == {"A": "b", **TOLD}
    assert made({name: "left behind"}, env={name: "mine"})[name] == "mine"


def test_variable_is_removed_with_none() -> None:
    taken = {"SECRET": None, "CLAUDE_CODE_SDK_READS_SESSION_STATE": None, "NOT_THERE": None}
    left = made({"SECRET": "x", "A": "b"}, env=taken)
    assert left == {name: it for name, it in {"A": "b", **TOLD}.items() if name not in taken}


def test_clean_environment_has_only_needed_variables() -> None:
    inherited = {"PATH": "/bin", "HOME": "/home", "ANTHROPIC_API_KEY": "key", "CLAUDECODE": "1"}
    clean = made(inherited, clean_env=True, env={"A": "b"})
    assert clean == {"PATH": "/bin", "HOME": "/home", "A": "b", **TOLD}


def test_options_become_variables(tmp_path: os.PathLike[str]) -> None:
    variables = made(
        {},
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
