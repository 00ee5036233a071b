"""Settings, agents, commands, skills and plugins in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.talk import Talk, only, said
from tests.helpers.text_mode import Outcome, run_text

from claudewire.simulator import Chat, SimulatedCLI
from claudewire.wire import GetSettings, InitMessage

pytestmark = pytest.mark.anyio


async def echo(chat: Chat) -> None:
    await chat.say(chat.text)


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")


def talk_in(folder: Path, *argv: str) -> Talk:
    env = {"CLAUDE_CONFIG_DIR": str(folder / "config")}
    (folder / "work").mkdir(exist_ok=True)
    return Talk(SimulatedCLI(echo, argv=argv, env=env, cwd=folder / "work"))


async def init_of(talk: Talk) -> InitMessage:
    return only(await talk.turn("go"), InitMessage)[0]


async def warnings_of(talk: Talk) -> str:
    await talk.turn("go")
    await talk.end()
    return await talk.stderr()


async def test_settings_of_all_sources_are_merged(tmp_path: Path) -> None:
    write(tmp_path / "config/settings.json", {"model": "opus", "permissions": {"deny": ["LS"]}})
    project = {"model": "haiku", "outputStyle": "Learning", "permissions": {"deny": ["Grep"]}}
    write(tmp_path / "work/.claude/settings.json", project)
    write(tmp_path / "work/.claude/settings.local.json", {"permissions": {"deny": ["LS", "Glob"]}})
    write(tmp_path / "work/given.json", {"permissions": {"defaultMode": "plan"}})
    talk = talk_in(tmp_path, "--settings", "given.json")
    answer: Any = await talk.ask(GetSettings())
    assert answer.body.effective == {
        "model": "haiku",
        "outputStyle": "Learning",
        "permissions": {"deny": ["LS", "Grep", "Glob"], "defaultMode": "plan"},
    }
    names = [source.source for source in answer.body.sources]
    assert names == ["userSettings", "projectSettings", "localSettings", "flagSettings"]
    init = await init_of(talk)
    assert (init.model, init.permission_mode) == ("claude-haiku-5-5", "plan")
    assert init.output_style == "Learning"
    assert not {"LS", "Grep", "Glob"} & set(init.tools or ())


@pytest.mark.parametrize(
    ("sources", "denied"), [("user", {"LS"}), ("project,local", {"Grep"}), ("", set())]
)
async def test_sources_are_chosen_by_a_flag(tmp_path: Path, sources: str, denied: set[str]) -> None:
    write(tmp_path / "config/settings.json", {"permissions": {"deny": ["LS"]}})
    write(tmp_path / "work/.claude/settings.json", {"permissions": {"deny": ["Grep"]}})
    init = await init_of(talk_in(tmp_path, f"--setting-sources={sources}"))
    assert {"LS", "Grep"} - set(init.tools or ()) == denied


async def test_untrusted_project_grants_nothing(tmp_path: Path) -> None:
    grants = {"allow": ["Bash"], "additionalDirectories": ["/srv"], "defaultMode": "acceptEdits"}
    write(tmp_path / "work/.claude/settings.json", {"permissions": grants})
    talk = talk_in(tmp_path, "--add-dir", "more")
    init = await init_of(talk)
    assert init.additional_directories == [str(tmp_path / "work/more")]
    assert init.permission_mode == "default"
    warnings = await warnings_of(talk)
    assert "Ignoring 1 permissions.allow entry from .claude/settings.json: this" in warnings
    projects = {str(tmp_path / "work"): {"hasTrustDialogAccepted": True}}
    write(tmp_path / "config/.claude.json", {"projects": projects})
    init = await init_of(talk_in(tmp_path))
    assert init.additional_directories == ["/srv"]
    assert init.permission_mode == "acceptEdits"


async def test_agents_commands_and_skills_are_listed(tmp_path: Path) -> None:
    own = tmp_path / "work/.claude"
    write(own / "agents/tester.md", "---\nname: tester\ndescription: 'Tests'\n---\nx")
    write(own / "commands/git/commit.md", "# Commit\nit")
    write(own / "skills/brew/SKILL.md", "---\ndescription: Tea\n---\nBrew.")
    write(tmp_path / "config/agents/mine.md", "No front matter")
    talk = talk_in(tmp_path, "--agents", '{"flag": {"description": "F", "prompt": "x"}}')
    welcome = await talk.initialize()
    agents = {agent.name: agent.description for agent in welcome.agents}
    assert (agents["tester"], agents["mine"], agents["flag"]) == ("Tests", "No front matter", "F")
    commands = {command.name: command.description for command in welcome.commands}
    assert (commands["git:commit"], commands["brew"]) == ("Commit", "Tea")
    init = await init_of(talk)
    assert init.skills == ["brew"]
    assert {"brew", "git:commit"} <= set(init.slash_commands or ())
    assert {"tester", "mine", "flag"} <= set(init.agents or ())


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("/say hello you", "Say hello you, please."),
        ("/plain now", "Plain.\n\nARGUMENTS: now"),
        ("/unknown now", "/unknown now"),
        ("say it", "say it"),
    ],
)
async def test_command_is_replaced_by_its_text(tmp_path: Path, prompt: str, expected: str) -> None:
    write(tmp_path / "config/commands/say.md", "Say $ARGUMENTS, please.")
    write(tmp_path / "config/commands/plain.md", "---\nname: x\n---\nPlain.")
    assert said(await talk_in(tmp_path).turn(prompt)) == [expected]


async def test_part_of_a_command_that_has_no_effect_is_named(tmp_path: Path) -> None:
    write(tmp_path / "config/commands/say.md", "Say $0, at !`date`.")
    talk = talk_in(tmp_path)
    assert said(await talk.turn("/say hello")) == ["Say $0, at !`date`.\n\nARGUMENTS: hello"]
    assert "not simulated: a part of /say" in await warnings_of(talk)


async def test_plugin_is_loaded_from_its_folder(tmp_path: Path) -> None:
    plug = tmp_path / "work/plug"
    write(plug / ".claude-plugin/plugin.json", {"name": "plug", "version": "1.2"})
    write(plug / "commands/greet.md", "Greet.")
    write(plug / "hooks/hooks.json", {"hooks": {"SessionStart": []}})
    write(plug / ".mcp.json", {"mcpServers": {"no": {"command": "/no"}}})
    talk = talk_in(tmp_path, "--plugin-dir", "plug")
    init = await init_of(talk)
    assert ("plug", "1.2") in [(it.name, it.version) for it in init.plugins or ()]
    assert "plug:greet" in (init.slash_commands or ())
    assert [it.name for it in init.mcp_servers or ()] == ["plugin:plug:no"]
    assert "not simulated: hooks for SessionStart" in await warnings_of(talk)


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["--settings", "broken.json"], "broken.json cannot be read"),
        (["--plugin-dir", "nowhere"], "there is no plugin in"),
    ],
)
async def test_unreadable_file_is_a_warning(tmp_path: Path, argv: list[str], problem: str) -> None:
    write(tmp_path / "work/broken.json", "{")
    assert problem in await warnings_of(talk_in(tmp_path, *argv))


@pytest.mark.parametrize(
    ("flag", "value", "error"),
    [
        ("--settings", "{x}", "Invalid JSON provided to --settings"),
        ("--settings", "none.json", "Settings file not found: {cwd}/none.json"),
        (
            "--mcp-config",
            "none",
            "Invalid MCP configuration:\nMCP config file not found: {cwd}/none",
        ),
    ],
)
def test_invalid_flag_ends_the_cli(tmp_path: Path, flag: str, value: str, error: str) -> None:
    done = run_text(echo, "-p", "hi", flag, value, cwd=tmp_path)
    assert done == Outcome(1, "", f"Error: {error.format(cwd=tmp_path)}\n")


# --- options without an effect --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "names"),
    [
        (["--fallback-model", "haiku", "--worktree"], "--fallback-model, --worktree"),
        (["--settings", '{"sandbox": {}}'], "sandbox (flagSettings)"),
        (["--settings", '{"hooks": {"Stop": [{"hooks": [{"type": "prompt"}]}]}}'], "hooks of the"),
    ],
)
def test_unsimulated_option_is_named_or_refused(argv: list[str], names: str) -> None:
    done = run_text(echo, "-p", "hi", *argv)
    assert done.stdout == "hi\n"
    assert done.stderr.startswith(f"claudewire-sim: accepted, but not simulated: {names}")
    strict = run_text(echo, "-p", "hi", "--strict", *argv)
    assert (strict.status, strict.stdout, strict.stderr) == (1, "", done.stderr)


def test_option_for_the_model_only_is_not_named(tmp_path: Path) -> None:
    argv = ["--append-system-prompt", "Be brief.", "--max-thinking-tokens=100", "--strict"]
    assert run_text(echo, "-p", "hi", *argv, cwd=tmp_path) == Outcome(0, "hi\n")
    write(tmp_path / ".mcp.json", {})
    assert ".mcp.json" in run_text(echo, "-p", "hi", cwd=tmp_path).stderr
