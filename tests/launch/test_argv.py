"""From options to a command line, private files and the opening request."""

from __future__ import annotations

import gc
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.options.every_option import AGENT, MESSAGE, NAMES, SCHEMA, SESSION, alone, every_option

from claudewire.errors import CLIError, OptionsError
from claudewire.launch import initialize_request
from claudewire.launch.argv import FIXED, LINUX_WORD, arguments, check_length
from claudewire.launch.private_files import PrivateFiles
from claudewire.options import DECLARATIONS, Options, option_of
from claudewire.options.conflicts import FIXED_FLAGS
from claudewire.options.versions import MEASURED
from claudewire.simulator import ARGV
from claudewire.simulator.flags import OPTIONS as SIMULATED
from claudewire.simulator.flags import Flags, parse
from claudewire.wire import Connection, HookMatcher, Role


def words(**given: Any) -> list[str]:
    """The words that options add, without private files."""
    with PrivateFiles() as files:
        said = arguments(Options(**given), files)
        assert files.folder is None
    return list(said[len(FIXED) :])


def value_of(said: tuple[str, ...], flag: str) -> str:
    for word, following in zip(said, (*said[1:], ""), strict=True):
        if word == flag:
            return following
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
    raise AssertionError(f"{flag} is not in {said}")


def opening(**given: Any) -> dict[str, Any]:
    return dict(json.loads(msgspec.json.encode(initialize_request(Options(**given)))))


# --- the command line ----------------------------------------------------------------------------


def test_it_begins_with_how_we_talk() -> None:
    assert words() == []
    assert FIXED == ARGV


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": "opus"}, ["--model=opus"]),
        ({"model": "-x --dangerous"}, ["--model=-x --dangerous"]),
        ({"fallback_model": "haiku"}, ["--fallback-model=haiku"]),
        ({"fallback_model": ["haiku", "sonnet"]}, ["--fallback-model=haiku,sonnet"]),
        ({"effort": "max"}, ["--effort=max"]),
        ({"thinking": "adaptive"}, ["--thinking=adaptive"]),
        ({"thinking": "disabled"}, ["--thinking=disabled"]),
        ({"thinking": 2048}, ["--max-thinking-tokens=2048"]),
        ({"thinking_display": "omitted"}, ["--thinking-display=omitted"]),
        ({"max_turns": 1}, ["--max-turns=1"]),
        ({"max_budget_usd": 0.25}, ["--max-budget-usd=0.25"]),
        ({"task_budget": 9}, ["--task-budget=9"]),
        ({"autocompact": "auto"}, ["--autocompact=auto"]),
        ({"autocompact": 200_000}, ["--autocompact=200000"]),
        ({"advisor": "opus"}, ["--advisor=opus"]),
        # Joined with a comma they would be one beta with a strange name.
        ({"betas": ["a", "b"]}, ["--betas=a", "--betas=b"]),
        ({"builtin_tools": []}, ["--tools="]),
        ({"builtin_tools": "default"}, ["--tools=default"]),
        ({"builtin_tools": ["Read", "Bash"]}, ["--tools=Read", "--tools=Bash"]),
        (
            {"allowed_tools": ["Bash(a, b)", "Read"]},
            ["--allowedTools=Bash(a, b)", "--allowedTools=Read"],
        ),
        (
            {"disallowed_tools": ["Bash", "Read"]},
            ["--disallowedTools=Bash", "--disallowedTools=Read"],
        ),
        (
            {"deny": ["Bash(rm:*)", "Read"]},
            ["--disallowedTools=Bash(rm:*)", "--disallowedTools=Read"],
        ),
        ({"skills": "all"}, ["--allowedTools=Skill"]),
        ({"skills": ["pdf", "a:b"]}, ["--allowedTools=Skill(pdf)", "--allowedTools=Skill(a:b)"]),
        ({"skills": []}, []),
        ({"permission_mode": "plan"}, ["--permission-mode=plan"]),
        ({"permission_mode": "manual"}, ["--permission-mode=default"]),
        ({"permission_prompts": "none"}, ["--permission-prompts=none"]),
        ({"allow_dangerously_skip_permissions": True}, ["--allow-dangerously-skip-permissions"]),
        ({"exclude_dynamic_sections": True}, ["--exclude-dynamic-system-prompt-sections"]),
        ({"system_prompt_snapshot": True}, ["--system-prompt-snapshot=on"]),
        ({"system_prompt_snapshot": False}, ["--system-prompt-snapshot=off"]),
        ({"strict_mcp_config": True}, ["--strict-mcp-config"]),
        ({"agent": "poet"}, ["--agent=poet"]),
        ({"plugin_urls": ["http://x/y.zip"]}, ["--plugin-url=http://x/y.zip"]),
        ({"plugin_delivery": "initialize"}, ["--await-initialize"]),
        (
            {"managed_settings": {"a": 1}},
            ["--await-initialize", "--managed-settings-in-initialize"],
        ),
        (
            {"managed_settings": {}, "plugin_delivery": "initialize"},
            ["--await-initialize", "--managed-settings-in-initialize"],
        ),
        ({"disable_slash_commands": True}, ["--disable-slash-commands"]),
        # As one word 1.0.128 ignores it.
        ({"setting_sources": ["user", "local"]}, ["--setting-sources", "user,local"]),
        ({"setting_sources": []}, ["--setting-sources", ""]),
        ({"bare": True}, ["--bare"]),
        ({"safe_mode": True}, ["--safe-mode"]),
        ({"restricted": True}, ["--restricted"]),
        ({"resume": SESSION}, [f"--resume={SESSION}"]),
        ({"resume": "--version"}, ["--resume=--version"]),
        ({"continue_conversation": True}, ["--continue"]),
        ({"continue_conversation": True, "fork_session": True}, ["--continue", "--fork-session"]),
        ({"session_id": SESSION}, [f"--session-id={SESSION}"]),
        (
            {"resume": SESSION, "resume_session_at": MESSAGE, "resume_drops_turn": MESSAGE},
            [
                f"--resume={SESSION}",
                f"--resume-session-at={MESSAGE}",
                f"--resume-drops-turn={MESSAGE}",
            ],
        ),
        ({"persist_session": False}, ["--no-session-persistence"]),
        ({"session_mirror": True}, ["--session-mirror"]),
        ({"include_partial_messages": True}, ["--include-partial-messages"]),
        ({"include_hook_events": True}, ["--include-hook-events"]),
        ({"forward_subagent_text": True}, ["--forward-subagent-text"]),
        ({"replay_user_messages": True}, ["--replay-user-messages"]),
        ({"prompt_suggestions": True}, ["--prompt-suggestions"]),
        ({"enable_auth_status": True}, ["--enable-auth-status"]),
        ({"worktree": True}, ["--worktree"]),
        ({"worktree": "side"}, ["--worktree=side"]),
        ({"debug": True}, ["--debug"]),
        ({"debug": "api"}, ["--debug=api"]),
        (
            {"extra_args": {"brief": None, "x": "-y", "z": "", "w": ["1", "2"]}},
            ["--brief", "--x=-y", "--z=", "--w=1", "--w=2"],
        ),
        # These go another way.
        (
            {
                "title": "T",
                "agents": {"poet": AGENT},
                "json_schema": SCHEMA,
                "plan_mode_instructions": "x",
            },
            [],
        ),
        ({"cli": "simulated", "env": {"A": "b"}, "clean_env": True, "verbatim_prompts": True}, []),
        ({"system_prompt": ["a", "b"]}, []),
    ],
    ids=lambda it: str(it)[:50],
)
def test_an_option_becomes_words(given: dict[str, Any], said: list[str]) -> None:
    assert words(**given) == said


def test_places_become_absolute_paths(tmp_path: Path) -> None:
    example = every_option(tmp_path)
    names = ("add_dirs", "project_config_root", "mcp_config", "settings", "debug_file")
    example["plugins"] = [tmp_path / "plugin", {"path": str(tmp_path), "skip_mcp_discovery": True}]
    said = words(**{name: example[name] for name in (*names, "plugins")})

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
        ({"cwd": "file"}, "cwd: '.*file' is not a directory"),
        ({"add_dirs": [".", "none"]}, "add_dirs: there is no"),
        ({"project_config_root": "file"}, "project_config_root: .* is not a directory"),
        ({"mcp_config": ["none"]}, "mcp_config: there is no"),
        ({"mcp_config": ["."]}, "mcp_config: .* is a directory, not a file"),
        ({"settings": "none"}, "settings: there is no"),
        # The CLI would go on without these, and say nothing.
        ({"plugins": ["none"]}, "plugins: there is no"),
        ({"debug_file": "none/log"}, "debug_file: there is no"),
        ({"system_prompt": Path("none")}, "system_prompt: there is no"),
        ({"append_system_prompt": Path()}, "append_system_prompt: .* is a directory"),
        ({"append_subagent_system_prompt": Path("none")}, "append_subagent_system_prompt: there"),
        ({"settings": "file", "sandbox": {}}, "settings: .*file' is not a file of settings"),
        ({"settings": "boxed", "sandbox": {}}, "the sandbox is described twice"),
        ({"settings": "deep", "sandbox": {}}, "settings: .*deep' is not a file of settings"),
        ({"settings": ".", "sandbox": {}}, "settings: .* is a directory, not a file"),
    ],
)
def test_what_is_not_there_is_said_before_the_cli_is_started(
    given: dict[str, Any], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "boxed").write_text('{"sandbox": {}}', encoding="utf-8")
    (tmp_path / "deep").write_text('{"a":' * 100_000, encoding="utf-8")
    with pytest.raises(OptionsError, match=complaint):
        words(**given)


@pytest.mark.parametrize("option", ["mcp_config", "system_prompt", "plugins", "add_dirs"])
def test_a_file_that_may_not_be_read_is_refused(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it would be if this were not root, who may read everything."""
    secret = tmp_path / "secret"
    secret.touch()
    given: dict[str, Any] = {
        "mcp_config": [secret],
        "system_prompt": secret,
        "plugins": [secret],
        "add_dirs": [tmp_path],
    }
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.R_OK)
    if option in ("plugins", "add_dirs"):
        assert words(**{option: given[option]})
    else:
        with pytest.raises(OptionsError, match=f"{option}: '.*secret' cannot be read"):
            words(**{option: given[option]})


# --- what is large or secret ---------------------------------------------------------------------

SECRET = "hunter2-hunter2"
SERVERS = {"web": {"type": "http", "url": "http://x", "headers": {"Authorization": SECRET}}}


def secretive() -> Options:
    return Options(
        system_prompt=f"System {SECRET}",
        append_system_prompt=f"Append {SECRET}",
        append_subagent_system_prompt=f"Subagents {SECRET}",
        mcp_servers=SERVERS,
        settings={"env": {"TOKEN": SECRET}},
        sandbox={"enabled": True},
        managed_settings={"env": {"TOKEN": SECRET}},
        agents={"poet": {**AGENT, "prompt": SECRET}},
        json_schema={"type": "object", "title": SECRET},
        plan_mode_instructions=SECRET,
        title=SECRET,
        env={"ANTHROPIC_API_KEY": SECRET},
    )


def test_no_secret_is_on_the_command_line_but_in_private_files() -> None:
    with PrivateFiles() as files:
        said = arguments(secretive(), files)

        assert SECRET not in " ".join(said)
        read = {
            flag: Path(value_of(said, flag)).read_text(encoding="utf-8")
            for flag in (
                "--system-prompt-file",
                "--append-system-prompt-file",
                "--append-subagent-system-prompt-file",
                "--mcp-config",
                "--settings",
            )
        }
    assert read["--system-prompt-file"] == f"System {SECRET}"
    assert read["--append-system-prompt-file"] == f"Append {SECRET}"
    assert read["--append-subagent-system-prompt-file"] == f"Subagents {SECRET}"
    assert json.loads(read["--mcp-config"]) == {"mcpServers": SERVERS}
    assert json.loads(read["--settings"]) == {
        "env": {"TOKEN": SECRET},
        # Whoever asked for a sandbox relies on it.
        "sandbox": {"enabled": True, "failIfUnavailable": True},
    }


def test_a_sandbox_that_may_be_missing_may_be_missing() -> None:
    with PrivateFiles() as files:
        box = {"enabled": True, "failIfUnavailable": False}
        said = arguments(Options(sandbox=box), files)
        assert json.loads(Path(value_of(said, "--settings")).read_bytes()) == {"sandbox": box}


def test_a_sandbox_joins_the_settings_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"model": "opus"}', encoding="utf-8")
    with PrivateFiles() as files:
        said = arguments(Options(settings=path, sandbox={"enabled": False}), files)
        merged = json.loads(Path(value_of(said, "--settings")).read_bytes())
    assert merged == {"model": "opus", "sandbox": {"enabled": False}}
    assert path.read_text(encoding="utf-8") == '{"model": "opus"}'


def test_prompts_in_files_stay_there(tmp_path: Path) -> None:
    path = tmp_path / "prompt.md"
    path.write_text("Be a bot.", encoding="utf-8")
    assert words(system_prompt=path) == [f"--system-prompt-file={path}"]


def test_an_empty_system_prompt_is_one() -> None:
    with PrivateFiles() as files:
        said = arguments(Options(system_prompt=""), files)
        assert Path(value_of(said, "--system-prompt-file")).read_bytes() == b""


def test_nothing_is_in_files_for_a_cli_on_another_machine(tmp_path: Path) -> None:
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
    assert words(remote=True, settings="/etc/there.json") == ["--settings", "/etc/there.json"]
    assert opening(remote=True, system_prompt="")["systemPrompt"] == ""


def test_the_working_directory_is_here_also_for_a_cli_on_another_machine(tmp_path: Path) -> None:
    place = str(tmp_path / "gone")
    with pytest.raises(OptionsError, match=re.escape(f"cwd: there is no {place!r}")):
        words(remote=True, cwd=place)


def test_a_prompt_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "prompt.bin"
    path.write_bytes(b"\xff\xfe\xfd")
    with pytest.raises(OptionsError, match=re.escape("prompt.bin' cannot be read")):
        opening(remote=True, system_prompt=path)
    path.unlink()
    with pytest.raises(OptionsError, match=re.escape("prompt.bin' cannot be read")):
        opening(remote=True, system_prompt=path)


def test_an_early_cli_is_told_which_tools_there_are_not() -> None:
    """It does not know `--tools`."""
    with PrivateFiles() as files:
        said = arguments(Options(builtin_tools=["Read", "Bash"]), files, older=["builtin_tools"])
    prefix = "--disallowedTools="
    names = """
        BashOutput Edit ExitPlanMode Glob Grep KillShell ListMcpResourcesTool MultiEdit NotebookEdit
        ReadMcpResourceTool Skill SlashCommand Task TodoWrite WebFetch WebSearch Write
    """
    assert [it.removeprefix(prefix) for it in said if it.startswith(prefix)] == names.split()


def test_private_files_are_private() -> None:
    with PrivateFiles() as files:
        paths = [Path(files.write("a.json", "1")), Path(files.write("a.json", "ä\n\r\n"))]
        folder = paths[0].parent

        assert files.folder == str(folder)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}
        assert [path.read_bytes().decode() for path in paths] == ["1", "ä\n\r\n"]
    assert not folder.exists()
    files.delete()


def test_private_files_do_not_outlive_their_object() -> None:
    files = PrivateFiles()
    path = Path(files.write("a.json", "1"))
    del files
    gc.collect()
    assert not path.parent.exists()


def test_private_files_do_not_outlive_the_interpreter() -> None:
    code = (
        "from claudewire.launch.private_files import PrivateFiles; "
        "keep = PrivateFiles(); print(keep.write('a', ''))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=60, check=True
    )
    assert not Path(done.stdout.strip()).exists()


def test_a_file_that_cannot_be_written_is_an_error_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with (
        PrivateFiles() as files,
        pytest.raises(CLIError, match=r"settings\.json .* could not be"),
    ):
        arguments(Options(settings={"a": 1}), files)


# --- the opening ---------------------------------------------------------------------------------


def test_by_default_the_opening_says_nothing() -> None:
    assert opening() == {"subtype": "initialize"}


def test_the_opening_brings_what_is_large() -> None:
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
        plugins=["/p"],
        plugin_delivery="initialize",
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
        "plugins": [{"type": "local", "path": "/p"}],
        "managedSettings": {"permissions": {"deny": ["Bash"]}},
    }
    assert opening(skills="all", plugins=["/p"], system_prompt="In a file") == opening()


def test_the_opening_takes_hooks_and_servers_of_the_host() -> None:
    request = initialize_request(
        Options(title="T"),
        hooks={"PreToolUse": [HookMatcher(["hook_0"], "*")]},
        sdk_mcp_servers=["calc"],
    )
    sent = json.loads(msgspec.json.encode(request))

    assert sent["title"] == "T"
    assert sent["hooks"]["PreToolUse"][0]["hookCallbackIds"] == ["hook_0"]
    assert sent["sdkMcpServers"] == ["calc"]


def test_the_wire_takes_every_opening() -> None:
    connection = Connection(Role.CLIENT)
    managed = initialize_request(Options(managed_settings={"a": [1]}, agents={"poet": AGENT}))
    line = json.loads(connection.send(connection.new_request(managed)))
    assert line["request"]["managedSettings"] == {"a": [1]}


# --- which CLI knows what ------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_simulated_cli_knows_every_flag(name: str, tmp_path: Path) -> None:
    with PrivateFiles() as files:
        said = arguments(Options(**alone(every_option(tmp_path), name)), files)
    assert isinstance(parse(said), Flags)


AWAITS = {"plugin_delivery"}
"""The option whose flag `managed_settings` needs as well."""
IN_THE_FIRST_REQUEST = {"agents", "json_schema", "plan_mode_instructions"}
"""Options that have a flag, which is not said."""


@pytest.mark.parametrize("name", [name for name in NAMES if name != "extra_args"])
def test_every_flag_that_is_said_is_in_the_table_and_one_is_said(name: str, tmp_path: Path) -> None:
    given = alone(every_option(tmp_path), name)
    with PrivateFiles() as files:
        said = arguments(Options(**given), files)[len(FIXED) :]
    flags = {word.partition("=")[0] for word in said if word.startswith("--")}
    own = {*DECLARATIONS[name].all_flags}
    assert bool(flags & own) is bool(own and name not in IN_THE_FIRST_REQUEST)
    for flag in flags:
        meant = {name for name, it in DECLARATIONS.items() if flag in it.all_flags}
        also = {"skills": {"allowed_tools"}, "sandbox": {"settings"}, "managed_settings": AWAITS}
        assert meant & {*given, *also.get(name, ())}


def test_options_are_declared_with_flags_and_versions_that_exist() -> None:
    flags = {flag for declared in DECLARATIONS.values() for flag in declared.all_flags}
    assert flags <= set(SIMULATED)
    assert {declared.since for declared in DECLARATIONS.values()} <= set(MEASURED)
    assert {*SIMULATED, "--help"} >= FIXED_FLAGS
    assert option_of("--model") == "model"
    assert option_of("--brief") is None


# --- length --------------------------------------------------------------------------------------


def test_one_word_may_be_so_long_and_no_longer() -> None:
    longest = "--x=" + "y" * (LINUX_WORD - 4)
    check_length([longest], platform="linux", total=2**21)
    with pytest.raises(OptionsError, match=r"^--x is too long .*131,072 bytes.*131,071"):
        check_length([longest + "y"], platform="linux", total=2**21)
    check_length([longest + "y"], platform="darwin", total=2**21)


def test_a_variable_may_be_too_long_as_well() -> None:
    with pytest.raises(OptionsError, match=r"env\['BIG'\] is too long"):
        check_length(["claude"], {"BIG": "x" * LINUX_WORD}, platform="linux")


def test_the_whole_may_be_too_long() -> None:
    rules = [f"--allowedTools=Bash(command-{number}:*)" for number in range(1000)]
    with pytest.raises(OptionsError, match=r"allowed_tools .* with 33,890, '/bin/claude' with 11"):
        check_length(["/bin/claude", *rules], {"A": "b"}, platform="darwin", total=40_000)
    check_length(rules, {"A": "b"}, platform="darwin", total=60_000)


def test_what_is_too_long_is_found_before_the_start() -> None:
    with pytest.raises(OptionsError, match=r"append_subagent_system_prompt \(.*\) is too long"):
        words(remote=True, append_subagent_system_prompt="x" * 200_000)


def test_what_takes_most_of_a_command_line_is_named_the_largest_first() -> None:
    argv = ["claude", "--z=1", f"--b={'x' * 300}", f"--c={'x' * 500}", f"--b={'x' * 300}"]
    with pytest.raises(
        OptionsError,
        match=r"Most of it is --b with 608, --c with 504, env\['A'\] with 402\.",
    ):
        check_length(argv, {"A": "x" * 400}, total=1000)


def test_a_large_prompt_is_not_too_long() -> None:
    with PrivateFiles() as files:
        said = arguments(Options(system_prompt="x" * 10_000_000), files)
    assert sum(map(len, said)) < 2000


# --- dialects ------------------------------------------------------------------------------------

SERVERS = {"files": {"command": "serve-files", "args": ["--read-only"]}}


def told(dialect: str, **given: Any) -> tuple[list[str], dict[str, Any]]:
    """The flags by their names, and what `initialize` says of the prompt and the servers."""
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
def test_the_system_prompt_and_the_servers_are_where_the_dialect_has_them(
    dialect: str, flags: list[str], fields: list[str]
) -> None:
    said, found = told(dialect, system_prompt="Be brief.", mcp_servers=SERVERS)
    assert said == flags
    assert list(found) == fields
    assert found.get("systemPrompt", "Be brief.") == "Be brief."
    assert found.get("mcpServers", SERVERS) == SERVERS


@pytest.mark.parametrize("dialect", ["auto", "modern", "session", "legacy", "envelope"])
def test_what_is_appended_to_the_system_prompt_is_in_one_place(dialect: str) -> None:
    flags, fields = told(dialect, append_system_prompt="And kind.")
    places = [flag for flag in flags if flag.startswith("--append")] + list(fields)
    assert len(places) == 1


def test_a_system_prompt_in_a_file_is_read_for_a_dialect_without_files(tmp_path: Path) -> None:
    file = tmp_path / "prompt"
    file.write_text("Be brief.", encoding="utf-8")
    assert words(dialect="legacy", system_prompt=file) == ["--system-prompt=Be brief."]
    assert opening(dialect="session", system_prompt=file)["systemPrompt"] == "Be brief."


def test_the_session_dialect_names_the_directory(tmp_path: Path) -> None:
    assert words(dialect="session") == [f"--cwd={os.getcwd()}"]
    assert words(dialect="session", cwd=tmp_path) == [f"--cwd={tmp_path}"]
    assert words(dialect="session", remote=True) == []
