"""Settings, agents, commands, skills, plugins and MCP servers have the effect that they should."""

from __future__ import annotations

import json
import queue
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.talk import Talk, allow, bodies, only, program, said, told
from tests.helpers.text_mode import Outcome, run_text

from claudewire.simulator import ARGV, Chat, Scenario, SimulatedCLI
from claudewire.simulator.configuration import Plugin, is_configured, read_configuration
from claudewire.simulator.flags import Flags
from claudewire.simulator.servers import ServerError, _Program, _Web, connect_external
from claudewire.wire import (
    CanUseTool,
    GetSettings,
    InitMessage,
    McpStatus,
    ResultMessage,
)

pytestmark = pytest.mark.anyio


async def echo(chat: Chat) -> None:
    await chat.say(chat.text)


async def work(chat: Chat) -> None:
    await chat.use("Bash", {"command": "make it"}, result="made")
    await chat.use("Write", {"file_path": "a", "content": "b"})


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def talk(folder: Path, *argv: str, play: Scenario = echo) -> Talk:
    env = {"CLAUDE_CONFIG_DIR": str(folder / "config"), "PATH": "/usr/bin:/bin"}
    cwd = folder / "work"
    cwd.mkdir(exist_ok=True)
    return Talk(SimulatedCLI(play, argv=argv, env=env, cwd=cwd), {CanUseTool: allow})


async def test_settings_of_all_sources_are_joined(tmp_path: Path) -> None:
    write(tmp_path / "config/settings.json", {"model": "haiku", "permissions": {"deny": ["LS"]}})
    write(tmp_path / "work/.claude/settings.json", {"permissions": {"deny": ["WebFetch"]}})
    write(tmp_path / "work/.claude/settings.local.json", {"permissions": {"deny": ["Grep"]}})
    given = write(tmp_path / "given.json", {"permissions": {"allow": ["Bash(make:*)"]}})
    it = talk(tmp_path, "--settings", str(given), play=work)
    answer: Any = await it.ask(GetSettings())
    deny = answer.body.effective["permissions"]["deny"]
    assert deny == ["LS", "WebFetch", "Grep"]
    names = [source.source for source in answer.body.sources]
    assert names == ["userSettings", "projectSettings", "localSettings", "flagSettings"]
    turn = await it.turn("go")
    (init,) = only(turn, InitMessage)
    assert init.model == "claude-haiku-5-5"
    assert not {"LS", "WebFetch", "Grep"} & set(init.tools or ())
    assert [body.tool_name for body in bodies(turn, CanUseTool)] == ["Write"]


@pytest.mark.parametrize(
    ("sources", "denied"), [("user", ["LS"]), ("project,local", ["Grep"]), ("", [])]
)
async def test_sources_can_be_chosen(tmp_path: Path, sources: str, denied: list[str]) -> None:
    write(tmp_path / "config/settings.json", {"permissions": {"deny": ["LS"]}})
    write(tmp_path / "work/.claude/settings.json", {"permissions": {"deny": ["Grep"]}})
    turn = await talk(tmp_path, f"--setting-sources={sources}").turn("go")
    (init,) = only(turn, InitMessage)
    assert {"LS", "Grep"} - set(init.tools or ()) == set(denied)


async def test_a_rule_that_asks_wins_over_one_that_allows(tmp_path: Path) -> None:
    permissions = {"allow": ["Bash"], "ask": ["Bash(make:*)"], "defaultMode": "acceptEdits"}
    settings = json.dumps({"permissions": permissions})
    turn = await talk(tmp_path, "--settings", settings, play=work).turn("go")
    assert only(turn, InitMessage)[0].permission_mode == "acceptEdits"
    assert [body.tool_name for body in bodies(turn, CanUseTool)] == ["Bash"]


async def test_agents_commands_and_skills_are_listed(tmp_path: Path) -> None:
    work = tmp_path / "work" / ".claude"
    write(work / "agents/tester.md", "---\nname: tester\ndescription: Tests\nmodel: haiku\n---\nx")
    write(work / "commands/git/commit.md", "---\nargument-hint: [text]\n---\n# Commit\nit")
    write(work / "skills/brew/SKILL.md", "---\nname: brew\ndescription: 'Tea'\n---\nBrew.")
    write(tmp_path / "config/agents/mine.md", "No front matter")
    it = talk(tmp_path)
    welcome = await it.initialize()
    agents = {agent.name: agent for agent in welcome.agents}
    assert (agents["tester"].description, agents["tester"].model) == ("Tests", "haiku")
    assert agents["mine"].description == "No front matter"
    commands = {command.name: command for command in welcome.commands}
    assert commands["git:commit"].description == "Commit (project)"
    assert commands["git:commit"].argument_hint == "text"
    (init,) = only(await it.turn("go"), InitMessage)
    assert init.skills == ["brew"]
    assert {"brew", "git:commit"} <= set(init.slash_commands or ())
    assert {"tester", "mine"} <= set(init.agents or ())


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("/say hello you", "Say hello you, please."),
        ("/say", "Say , please."),
        ("/plain", "Plain."),
        ("/plain now", "Plain.\n\nARGUMENTS: now"),
        ("/unknown now", "/unknown now"),
        ("say it", "say it"),
    ],
)
async def test_a_command_is_replaced_by_its_text(
    tmp_path: Path, prompt: str, expected: str
) -> None:
    write(tmp_path / "config/commands/say.md", "Say $ARGUMENTS, please.")
    write(tmp_path / "config/commands/plain.md", "Plain.")
    assert said(await talk(tmp_path).turn(prompt)) == [expected]


async def test_what_is_in_folders_is_listed_by_name_however_the_system_orders_it(
    tmp_path: Path,
) -> None:
    names = [f"{letter}{number}" for number in (2, 0, 3, 1) for letter in "dbfaec"]
    for name in names:
        write(tmp_path / f"work/.claude/commands/{name}/go.md", "Go.")
        write(tmp_path / f"work/.claude/agents/{name}.md", "Help.")
    (init,) = only(await talk(tmp_path).turn("hi"), InitMessage)
    assert [it for it in init.slash_commands or () if ":" in it] == [
        f"{name}:go" for name in sorted(names)
    ]
    assert [it for it in init.agents or () if it in names] == sorted(names)


async def test_a_plugin_is_loaded_from_its_folder(tmp_path: Path) -> None:
    plug = tmp_path / "work" / "plug"
    write(plug / ".claude-plugin/plugin.json", {"name": "plug", "version": "1.2"})
    write(plug / "commands/greet.md", "Greet.")
    write(plug / "agents/helper.md", "---\nname: helper\ndescription: Helps\n---\n")
    write(plug / "hooks/hooks.json", {"hooks": {"Stop": []}})
    (init,) = only(await talk(tmp_path, "--plugin-dir", "plug").turn("go"), InitMessage)
    assert (init.plugins or [])[0].source == "plug@inline"
    assert (init.plugins or [])[0].version == "1.2"
    assert "plug:greet" in (init.slash_commands or ())
    assert "plug:helper" in (init.agents or ())


async def test_folders_are_added(tmp_path: Path) -> None:
    write(
        tmp_path / "work/.claude/settings.json", {"permissions": {"additionalDirectories": ["/p"]}}
    )
    settings = json.dumps({"permissions": {"additionalDirectories": ["/given"]}})
    it = talk(tmp_path, "--settings", settings, "--add-dir", "more")
    (init,) = only(await it.turn("go"), InitMessage)
    assert init.additional_directories == [str(tmp_path / "work" / "more"), "/given"]
    await it.end()
    assert "has not been trusted" in await it.stderr()


SERVERS = "Invalid MCP configuration:\n"
AGENTS = "Invalid --agents configuration:\n"
EXPECTED = "Invalid input: expected record, received"


@pytest.mark.parametrize(
    ("flag", "value", "problem"),
    [
        ("--settings", "broken.json", "broken.json cannot be read"),
        ("--plugin-dir", "nowhere", "there is no plugin in"),
    ],
)
async def test_what_cannot_be_read_is_said(
    tmp_path: Path, flag: str, value: str, problem: str
) -> None:
    write(tmp_path / "work/broken.json", "{")
    it = talk(tmp_path, flag, value)
    await it.turn("go")
    await it.end()
    assert problem in await it.stderr()


@pytest.mark.parametrize(
    ("flag", "value", "error"),
    [
        ("--settings", "{x}", "Invalid JSON provided to --settings"),
        ("--settings", "missing.json", "Settings file not found: {cwd}/missing.json"),
        ("--settings", "missing}", "Settings file not found: {cwd}/missing}}"),
        ("--mcp-config", "broken.json", f"{SERVERS}MCP config is not a valid JSON"),
        ("--mcp-config", "bytes.json", f"{SERVERS}MCP config is not a valid JSON"),
        ("--mcp-config", "none.json", f"{SERVERS}MCP config file not found: {{cwd}}/none.json"),
        ("--mcp-config", '{"x": 1}', f"{SERVERS}mcpServers: {EXPECTED} undefined"),
        ("--mcp-config", '{"mcpServers": []}', f"{SERVERS}mcpServers: {EXPECTED} array"),
        ("--system-prompt-file", "none", "System prompt file not found: {cwd}/none"),
        ("--append-system-prompt-file", "none", "Append system prompt file not found: {cwd}/none"),
        ("--agents", "[]", f"{AGENTS}{EXPECTED} array"),
        (
            "--agents",
            '{"a": {"prompt": "x"}}',
            f"{AGENTS}a.description: Invalid input: expected string, received undefined",
        ),
    ],
)
def test_what_the_real_cli_refuses_is_refused(
    tmp_path: Path, flag: str, value: str, error: str
) -> None:
    write(tmp_path / "broken.json", "{")
    (tmp_path / "bytes.json").write_bytes(b'{"mcpServers": {"\xff": {}}}')
    done = run_text(echo, "-p", "hi", flag, value, cwd=tmp_path)
    assert done == Outcome(1, "", f"Error: {error.format(cwd=tmp_path)}\n")


@pytest.mark.parametrize(
    ("argv", "outcome"),
    [
        (["-p", "caf\udce9"], Outcome(0, "caf\ufffd\n")),
        (["--caf\udce9"], Outcome(1, "", "error: unknown option '--caf\ufffd'\n")),
        (["-p", "hi", "--settings", '{"model": "\udce9"}'], Outcome(0, "hi\n")),
        (["-p", "hi", "--mcp-config", '{"mcpServers": {}, "\udce9": 1}'], Outcome(0, "hi\n")),
        (["-p", "hi", "--agents", '{"\udce9": {"prompt": "x"}}'], None),
        (["mcp", "get", "\udce9"], None),
    ],
)
def test_what_is_not_utf_8_in_a_word_is_replaced(
    tmp_path: Path, argv: list[str], outcome: Outcome | None
) -> None:
    done = run_text(echo, *argv, cwd=tmp_path)
    assert outcome in (None, done)
    assert ("\ufffd" in done.stderr) == (done.status == 1)


def test_agents_that_are_no_json_are_refused(tmp_path: Path) -> None:
    done = run_text(echo, "-p", "hi", "--agents", "{x", cwd=tmp_path)
    assert done.stderr.startswith(f"Error: {AGENTS}invalid JSON: ")
    good = '{"a": {"prompt": "x", "description": "y"}}'
    assert run_text(echo, "-p", "hi", "--agents", good, cwd=tmp_path).status == 0


def test_files_that_are_odd_are_no_error(tmp_path: Path) -> None:
    write(tmp_path / ".claude/settings.json", {"permissions": [], "hooks": {"Stop": [1, {}]}})
    (tmp_path / ".claude/settings.local.json").write_bytes(b'{"model": "\xff"}')
    write(tmp_path / ".claude/agents/a.md", "---\nnever closed")
    (tmp_path / ".claude/commands").mkdir()
    (tmp_path / ".claude/commands/b.md").write_bytes(b"\xff")
    (tmp_path / ".claude/commands/c.md").symlink_to("nowhere")
    found = read_configuration(Flags(), str(tmp_path), None)
    assert found.rules("allow") == []
    assert list(found.hooks("Stop")) == []
    assert found.agents["a"].description == "never closed"
    names = ("commands/b.md", "commands/c.md", "settings.local.json")
    unread = [it.partition(" cannot be read: ")[0] for it in found.problems]
    assert unread == [f"Error: {tmp_path}/.claude/{name}" for name in names]


ODD = {
    "permissions": {"allow": ["Bash", 5, None], "deny": "Read", "defaultMode": 5},
    "model": 5,
    "outputStyle": ["x"],
    "env": {"NUMBER": 5},
    "hooks": {
        "Stop": [{"matcher": 5, "hooks": [{"type": "command"}, 5]}, {"hooks": {}}, 5],
        "Start": {"hooks": [{"type": "prompt"}]},
        "End": [{"matcher": "x", "hooks": [{"type": "prompt"}, {}]}],
    },
}


def test_settings_of_the_wrong_type_count_as_if_they_were_not_there(tmp_path: Path) -> None:
    write(tmp_path / ".claude/settings.json", ODD)
    found = read_configuration(Flags(), str(tmp_path), None)
    assert (found.rules("allow"), found.rules("deny"), found.rules("ask")) == (["Bash"], [], [])
    assert (found.mode, found.model, found.style) == (None, None, "default")
    assert found.env == {"NUMBER": "5"}
    assert list(found.hooks("Stop")) == [(None, {"type": "command"}), (None, {})]
    assert list(found.hooks("Start")) == []
    assert list(found.hooks("End")) == [("x", {"type": "prompt"}), ("x", {})]
    assert list(found.unsimulated()) == ["hooks of the type None", "hooks of the type prompt"]


def test_of_settings_that_name_the_same_the_later_win_and_lists_have_each_item_once(
    tmp_path: Path,
) -> None:
    one = {"a": 1, "b": [1, 2], "c": {"d": 1, "e": [1]}, "f": [1], "g": {"h": 1}}
    other = {"a": 2, "b": [2, 3], "c": {"d": 2, "e": [1, 2]}, "f": {"x": 1}, "g": [1]}
    write(tmp_path / ".claude/settings.json", one)
    write(tmp_path / ".claude/settings.local.json", other)
    found = read_configuration(Flags(), str(tmp_path), None)
    merged = {"a": 2, "b": [1, 2, 3], "c": {"d": 2, "e": [1, 2]}, "f": {"x": 1}, "g": [1]}
    assert found.effective == merged
    assert found.sources == [("projectSettings", one), ("localSettings", other)]


PLACES = (
    "config/.claude.json",
    *(f"config/{it}" for it in ("settings.json", "agents/a.md", "commands/a.md", "skills/a.md")),
    *(f"work/.claude/{it}" for it in ("settings.json", "agents/a.md", "commands/a.md", "skills/a")),
    "work/.claude/settings.local.json",
)


@pytest.mark.parametrize("place", [*PLACES, "config/other.json", "work/.mcp.json", ""])
def test_each_place_is_looked_at(tmp_path: Path, place: str) -> None:
    if place:
        write(tmp_path / place, {})
    where = (str(tmp_path / "work"), str(tmp_path / "config"))
    assert is_configured(Flags(), *where) is (place in PLACES)
    assert read_configuration(Flags(), *where).sources == []
    from_user = Flags(setting_sources=("user",))
    ours = place.startswith("config") or place.endswith("local.json")
    assert is_configured(from_user, *where) is (place in PLACES and ours)
    assert is_configured(Flags(), where[0], None) is (place in PLACES and place.startswith("work"))


def test_where_nothing_can_be_nothing_is_looked_for(tmp_path: Path) -> None:
    file = write(tmp_path / "file", "")
    env = {"CLAUDE_CONFIG_DIR": str(file)}
    done = run_text(echo, "-p", "hi", "--no-session-persistence", env=env, cwd=tmp_path)
    assert done == Outcome(0, "hi\n")


@pytest.mark.parametrize(
    ("name", "folders", "told"),
    [
        ("settings.json", ["a"], "1 permissions.additionalDirectories entry from .claude/settings"),
        ("settings.json", ["a", "b"], "2 permissions.additionalDirectories entries from .claude/s"),
        ("settings.local.json", ["a"], "1 permissions.additionalDirectories entry from local set"),
    ],
)
def test_folders_of_a_project_that_nobody_trusts_are_named(
    tmp_path: Path, name: str, folders: list[str], told: str
) -> None:
    write(tmp_path / ".claude" / name, {"permissions": {"additionalDirectories": folders}})
    found = read_configuration(Flags(), str(tmp_path), "/config")
    (problem,) = found.problems
    assert problem.startswith(f"Ignoring {told}")
    trusted = f'projects["{tmp_path}"].hasTrustDialogAccepted: true in /config/.claude.json.'
    assert problem.endswith(trusted)
    assert found.folders == []


def test_what_a_plugin_says_of_itself_may_be_odd(tmp_path: Path) -> None:
    write(tmp_path / "p/.claude-plugin/plugin.json", {"name": 5, "version": 1})
    write(tmp_path / "p/.mcp.json", {"mcpServers": {"odd": 5, "good": {"command": "x"}}})
    found = read_configuration(Flags(plugin_dir=("p",)), str(tmp_path), None)
    assert found.plugins == [Plugin("p", str(tmp_path / "p"), None)]
    assert found.servers == {"plugin:p:odd": {}, "plugin:p:good": {"command": "x"}}
    assert found.problems == []


def test_only_files_with_instructions_are_read(tmp_path: Path) -> None:
    own = tmp_path / ".claude"
    for name in ("a.txt", "b.md", "c/d.md", "c/SKILL.md"):
        write(own / "commands" / name, "---\nname: other\n---\nDo it.")
    for name in ("e/SKILL.md", "e/NOTES.md", "SKILL.md", "f/g/SKILL.md"):
        write(own / "skills" / name, "Do it.")
    (own / "settings.json").mkdir()
    found = read_configuration(Flags(), str(tmp_path), None)
    assert sorted(found.commands) == ["b", "c:SKILL", "c:d"]
    assert sorted(found.skills) == ["e", "f/g"]
    (problem,) = found.problems
    assert problem.startswith(f"Error: {own}/settings.json cannot be read: ")


HEAD = """---
name:  'X it'
description: "X, or 'X'"
argument-hint: [X [y] X]
 indented: no
model: haiku
---

# Do it
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (HEAD, ("X it", "X, or 'X", "# Do it", "X [y] X", "haiku")),
        ("  ---  \nname: b\n --- \nx", ("b", "x", "x", "", None)),
        ("\n# # X\n more", ("a", "X", "# # X\n more", "", None)),
        ("---\nname: b", ("a", "name: b", "name: b", "", None)),
        ("---\n---\n", ("a", "", "", "", None)),
        ("", ("a", "", "", "", None)),
    ],
)
def test_what_is_read_of_a_file_with_instructions(
    tmp_path: Path, text: str, told: tuple[str | None, ...]
) -> None:
    write(tmp_path / ".claude/agents/a.md", text)
    (it,) = read_configuration(Flags(), str(tmp_path), None).agents.values()
    assert (it.name, it.description, it.text, it.hint, it.model) == told
    assert (it.source, it.is_plugin) == ("project", False)


# --- hooks ----------------------------------------------------------------------------------------


def with_hook(event: str, command: str, matcher: str = "") -> str:
    hook = {"type": "command", "command": command, "timeout": 30}
    return json.dumps({"hooks": {event: [{"matcher": matcher, "hooks": [hook]}]}})


async def test_a_command_that_is_a_hook_really_runs(tmp_path: Path) -> None:
    command = "cat > $CLAUDE_PROJECT_DIR/seen.json"
    settings = with_hook("PreToolUse", command, "Bash")
    await talk(tmp_path, "--settings", settings, play=work).turn("go")
    seen = json.loads((tmp_path / "work/seen.json").read_text(encoding="utf-8"))
    assert seen["hook_event_name"] == "PreToolUse"
    assert seen["tool_input"] == {"command": "make it"}


async def test_a_hook_command_blocks_by_its_status(tmp_path: Path) -> None:
    settings = with_hook("PreToolUse", "echo no >&2; exit 2", "Bash")
    turn = await talk(tmp_path, "--settings", settings, play=work).turn("go")
    assert told(turn)[0] == "PreToolUse:Bash hook error: no"


@pytest.mark.parametrize(
    ("command", "heard"),
    [
        ("echo Mind the gap", "go\n\nMind the gap"),
        ("exit 1", "go"),
        ("echo '{'", "go"),
        ("echo '{\"decision\": 7}'", "go"),
        ("sleep 60 & echo fast; kill $!", "go\n\nfast"),
    ],
)
async def test_what_a_hook_command_prints_counts(tmp_path: Path, command: str, heard: str) -> None:
    settings = with_hook("UserPromptSubmit", command)
    assert said(await talk(tmp_path, "--settings", settings).turn("go")) == [heard]


async def test_a_hook_command_decides_in_json(tmp_path: Path) -> None:
    wants = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}
    settings = with_hook("PreToolUse", f"echo '{json.dumps(wants)}'")
    turn = await talk(tmp_path, "--settings", settings, play=work).turn("go")
    assert bodies(turn, CanUseTool) == []
    assert told(turn)[0] == "made"


async def test_a_hook_command_that_takes_too_long_blocks_nothing(tmp_path: Path) -> None:
    hook = {"type": "command", "command": "sleep 60", "timeout": 0.01}
    settings = json.dumps({"hooks": {"PreToolUse": [{"hooks": [hook]}]}})
    turn = await talk(tmp_path, "--settings", settings, play=work).turn("go")
    assert told(turn)[0] == "made"


# --- servers --------------------------------------------------------------------------------------

SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    print("noise")
    params, method = asked.get("params"), asked["method"]
    if method == "tools/list":
        result = {"tools": [{"name": "add"}, {"name": "permit"}, {"name": "die"}]}
    elif method == "tools/call" and params["name"] == "die":
        break
    elif method == "tools/call" and params["name"] == "permit":
        allows = params["arguments"]["tool_name"] == "Write"
        answer = {"behavior": "allow", "updatedInput": {"file_path": "x"}}
        text = json.dumps(answer if allows else {"behavior": "deny", "message": "No."})
        result = {"content": [{"type": "text", "text": text}]}
    elif method == "tools/call":
        total = params["arguments"]["a"] + params["arguments"]["b"]
        result = {"content": [{"type": "text", "text": str(total)}]}
    else:
        result = {"serverInfo": {"name": "s", "version": "1"}, "protocolVersion": "x"}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""

WITH_MCP = """
from mcp.server import MCPServer
server = MCPServer("calc")
@server.tool()
def add(a: int, b: int) -> str:
    return str(a + b)
server.run()
"""


def configured(folder: Path, source: str = SERVER) -> Path:
    server = write(folder / "server.py", source)
    config = {"command": sys.executable, "args": [str(server)]}
    servers = {
        "calc": config,
        "broken": {"command": "/nowhere"},
        "old": {"type": "sse", "url": "x"},
    }
    return write(folder / "mcp.json", {"mcpServers": servers})


async def add(chat: Chat) -> None:
    await chat.call("calc", "add", {"a": 2, "b": 3})


async def test_a_server_that_is_a_program_is_really_called(tmp_path: Path) -> None:
    it = talk(tmp_path, "--mcp-config", str(configured(tmp_path)), play=add)
    turn = await it.turn("go")
    (init,) = only(turn, InitMessage)
    states = {server.name: server.status for server in init.mcp_servers or ()}
    assert states == {"calc": "connected", "broken": "failed", "old": "failed"}
    assert "mcp__calc__add" in (init.tools or ())
    assert told(turn) == ["5"]
    answer: Any = await it.ask(McpStatus())
    calc, broken, _ = answer.body.mcp_servers
    assert (calc.server_info["name"], calc.scope) == ("s", "dynamic")
    assert "/nowhere" in broken.error
    await it.end()


async def test_a_server_made_with_the_mcp_package_works(tmp_path: Path) -> None:
    it = talk(tmp_path, "--mcp-config", str(configured(tmp_path, WITH_MCP)), play=add)
    assert told(await it.turn("go")) == ["5"]
    await it.end()


async def test_a_server_that_ends_is_an_error_of_the_tool(tmp_path: Path) -> None:
    async def play(chat: Chat) -> None:
        await chat.call("calc", "die", {})
        await chat.call("calc", "add", {})

    it = talk(tmp_path, "--mcp-config", str(configured(tmp_path)), play=play)
    turn = await it.turn("go")
    await it.end()
    assert all(text.startswith("The server has ended") for text in told(turn))


async def test_the_tool_of_a_server_decides_on_permissions(tmp_path: Path) -> None:
    argv = ["--permission-prompt-tool", "mcp__calc__permit", "--mcp-config"]
    it = talk(tmp_path, *argv, str(configured(tmp_path)), play=work)
    turn = await it.turn("go")
    await it.end()
    assert bodies(turn, CanUseTool) == []
    assert told(turn)[0] == "No."
    assert [it.tool_name for it in only(turn, ResultMessage)[0].permission_denials or ()] == [
        "Bash"
    ]


@pytest.mark.parametrize("tool", ["mcp__calc__none", "mcp__calc__add"])
async def test_a_tool_that_cannot_decide_denies(tmp_path: Path, tool: str) -> None:
    argv = ["--permission-prompt-tool", tool, "--mcp-config", str(configured(tmp_path))]
    it = talk(tmp_path, *argv, play=work)
    turn = await it.turn("go")
    await it.end()
    assert len(only(turn, ResultMessage)[0].permission_denials or ()) == 2


@contextmanager
def web_server(*, streams: bool) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            names = ("X-Key", "MCP-Protocol-Version", "Mcp-Session-Id", "Accept", "Content-Type")
            heard = "; ".join(f"{self.headers[name]}" for name in names)
            results: dict[str, Any] = {
                "initialize": {"protocolVersion": "2025-06-18"},
                "tools/list": {"tools": [{"name": "add"}]},
                "tools/call": {"content": [{"type": "text", "text": heard}]},
            }
            answer = {"jsonrpc": "2.0", "id": asked.get("id")}
            body = json.dumps({**answer, "result": results.get(asked["method"], {})}).encode()
            kind = "text/event-stream" if streams else "application/json"
            self.send_response(202 if "id" not in asked else 200)
            self.send_header("Content-Type", kind)
            self.send_header("Mcp-Session-Id", "s")
            self.end_headers()
            self.wfile.write(b"event: message\ndata: " + body + b"\n\n" if streams else body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp?x=1"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("streams", [False, True])
async def test_a_server_is_reached_by_http(tmp_path: Path, streams: bool) -> None:
    with web_server(streams=streams) as url:
        config = {"type": "http", "url": url, "headers": {"X-Key": "secret"}}
        servers = json.dumps({"mcpServers": {"calc": config}})
        turn = await talk(tmp_path, "--mcp-config", servers, play=add).turn("go")
    both = "application/json, text/event-stream"
    assert told(turn) == [f"secret; 2025-06-18; s; {both}; application/json"]


@contextmanager
def event_server(events: Sequence[str] | None = None) -> Iterator[str]:
    """A server that answers in a stream of events; `events` are all that it sends instead."""
    answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(500 if self.path == "/broken" else 200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for event in ["/post"] if events is None else events:
                self.wfile.write(f"event: endpoint\ndata: {event}\n\n".encode())
            while events is None and (answer := answers.get(timeout=60)) is not None:
                self.wfile.write(b": a comment\nevent: message\ndata: " + answer + b"\n\n")

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            results: dict[str, Any] = {
                "tools/list": {"tools": [{"name": "add"}]},
                "tools/call": {"content": [{"type": "text", "text": self.headers["X-Key"]}]},
            }
            self.send_response(202)
            self.end_headers()
            if "id" in asked:
                result = {"id": asked["id"], "result": results.get(asked["method"], {})}
                answers.put(json.dumps(result).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        answers.put(None)
        server.shutdown()
        server.server_close()


async def test_a_server_answers_in_a_stream_of_events(tmp_path: Path) -> None:
    with event_server() as url:
        config = {"type": "sse", "url": f"{url}/sse", "headers": {"X-Key": "secret"}}
        servers = json.dumps({"mcpServers": {"calc": config}})
        it = talk(tmp_path, "--mcp-config", servers, play=add)
        turn = await it.turn("go")
        await it.end()
    assert told(turn) == ["secret"]


@pytest.mark.parametrize(
    ("path", "events", "error"),
    [
        ("/broken", [], "status 500"),
        ("/sse", [], "has not said where to send requests"),
        ("/sse", ["/post"], "has ended"),
    ],
)
def test_a_stream_of_events_that_is_none_is_an_error(
    path: str, events: list[str], error: str
) -> None:
    with event_server(events) as url, pytest.raises(ServerError, match=error):
        connect_external({"type": "sse", "url": url + path}, {}, {}, "/")


async def test_servers_that_were_added_for_the_project_are_connected(tmp_path: Path) -> None:
    servers = json.loads(configured(tmp_path).read_text(encoding="utf-8"))
    kept = {"projects": {str(tmp_path / "work"): servers}}
    write(tmp_path / "config/.claude.json", kept)
    it = talk(tmp_path, play=add)
    assert told(await it.turn("go")) == ["5"]
    await it.end()
    strict = await talk(tmp_path, "--strict-mcp-config", play=echo).turn("go")
    assert only(strict, InitMessage)[0].mcp_servers == []


async def test_the_program_connects_and_runs_hooks_too(tmp_path: Path) -> None:
    write(
        tmp_path / "play.toml",
        """
[[turn]]
steps = [{ call = "calc", tool = "add", arguments = { a = 2, b = 3 } }, { say = "{result}" }]
""",
    )
    settings = with_hook("UserPromptSubmit", "cat > seen.json")
    argv = [*ARGV, "--settings", settings, "--mcp-config", str(configured(tmp_path))]
    env = {"CLAUDEWIRE_SIM_SCENARIO": str(tmp_path / "play.toml"), "PATH": "/usr/bin:/bin"}
    async with program(*argv, env=env, cwd=tmp_path) as process:
        it = Talk(process, {CanUseTool: allow})
        assert said(await it.turn("go")) == ["5"]
        assert await it.end() == 0
    assert (tmp_path / "seen.json").exists()


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("pass", "The server has ended"),
        (
            "import json\nprint(json.dumps({'id': 1, 'error': {'message': 'no'}}), flush=True)\n"
            "input()\ninput()",
            "no",
        ),
    ],
)
async def test_a_server_that_does_not_begin_is_failed(
    tmp_path: Path, source: str, error: str
) -> None:
    it = talk(tmp_path, "--mcp-config", str(configured(tmp_path, source)))
    await it.turn("go")
    answer: Any = await it.ask(McpStatus())
    assert error in answer.body.mcp_servers[0].error


def test_a_server_that_says_nothing_is_given_up(tmp_path: Path) -> None:
    server = _Program(
        {"command": "sleep", "args": ["60"]}, {"PATH": "/usr/bin:/bin"}, str(tmp_path)
    )
    with pytest.raises(ServerError, match="did not answer in time"):
        server.request("initialize", {}, 0.01)
    server._process.kill()
    server.close()


def test_a_web_server_that_refuses_is_an_error() -> None:
    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/odd":
                self.wfile.write(b"This is no HTTP.\r\n\r\n")
                return
            self.send_response(500 if self.path == "/broken" else 200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        for path, error in (
            ("/broken", "status 500"),
            ("/empty", "has not answered"),
            ("/odd", "This is no HTTP"),
        ):
            with pytest.raises(ServerError, match=error):
                _Web({"url": url + path}).request("initialize", {})
    finally:
        server.shutdown()
        server.server_close()
