from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.text_mode import Outcome, run_text

from claudewire.simulator import Chat

SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {}}), flush=True)
"""


async def greet(chat: Chat) -> None:
    await chat.say(chat.text)


class Shell:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {"CLAUDE_CONFIG_DIR": str(folder / "config")}

    def __call__(self, *argv: str, **env: str) -> Outcome:
        return run_text(greet, *argv, env={**self.env, **env}, cwd=self.folder)


@pytest.fixture
def claude(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_servers_are_added_listed_shown_and_removed(claude: Shell) -> None:
    server = claude.folder / "server.py"
    server.write_text(SERVER, encoding="utf-8")
    nothing = "No MCP servers configured. Use `claude mcp add` to add a server.\n"
    assert claude("mcp", "list") == Outcome(0, nothing)
    added = claude("mcp", "add", "calc", sys.executable, str(server))
    command = f"{sys.executable} {server}"
    file = f"{claude.folder}/config/.claude.json"
    modified = f"File modified: {file} [project: {claude.folder}]\n"
    first = f"Added stdio MCP server calc with command: {command} to local config\n"
    assert added == Outcome(0, first + modified)
    again = claude("mcp", "add", "calc", "x")
    assert again == Outcome(1, "", "MCP server calc already exists in local config\n")
    listed = claude("mcp", "list").stdout
    assert listed == f"Checking MCP server health…\n\ncalc: {command} - ✔ Connected\n"
    shown = claude("mcp", "get", "calc").stdout
    assert "Scope: Local config (private to you in this project)\n  Status: ✔ Connected" in shown
    assert "To remove this server, run: claude mcp remove calc -s local" in shown
    removed = claude("mcp", "remove", "calc")
    assert removed == Outcome(0, f'Removed MCP server "calc" from local config\n{modified}')
    missing = 'No MCP server named "calc". No MCP servers are configured.\n'
    assert claude("mcp", "remove", "calc") == Outcome(1, "", missing)
    assert claude("mcp", "get", "calc").status == 1


def test_a_server_is_tried_with_the_variables_of_the_cli(
    claude: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []

    class Server:
        def close(self) -> None:
            started.append("closed")

    def connect(*given: Any) -> Any:
        started.append(given)
        return Server(), {}, []

    monkeypatch.setattr("claudewire.simulator.servers.connect_external", connect)
    claude("mcp", "add", "calc", "x")
    assert "Status: ✔ Connected" in claude("mcp", "get", "calc", A="1").stdout
    client = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "claude-code", "version": "2.1.325"},
    }
    config = {"type": "stdio", "command": "x", "args": [], "env": {}}
    env = {"PATH": os.defpath, **claude.env, "A": "1"}
    assert started == [(config, client, env, str(claude.folder)), "closed"]


def test_a_server_can_be_reached_by_http_and_belong_to_the_user(claude: Shell) -> None:
    url = "http://127.0.0.1:9/mcp"
    words = ["-t", "http", "-s", "user", "-H", "X-Key: a", "web", url]
    added = claude("mcp", "add", *words).stdout
    assert added.startswith(f"Added HTTP MCP server web with URL: {url} to user config\n")
    kept = json.loads((claude.folder / "config/.claude.json").read_text(encoding="utf-8"))
    assert kept["mcpServers"]["web"] == {"type": "http", "url": url, "headers": {"X-Key": "a"}}
    assert f"web: {url} (HTTP) - ✗ Failed to connect" in claude("mcp", "list").stdout
    assert f"URL: {url}" in claude("mcp", "get", "web").stdout


def test_a_server_can_be_given_as_json(claude: Shell) -> None:
    added = claude("mcp", "add-json", "j", '{"command": "/x", "env": {"A": "b"}}')
    assert added == Outcome(0, "Added stdio MCP server j to local config\n")
    assert "A=b" in claude("mcp", "get", "j").stdout
    assert claude("mcp", "add-json", "k", "{").status == 1


@pytest.mark.parametrize(
    "words", [[], ["x"], ["x", "{"], ["x", "5"], ["x", "[]"], ["x", "{}", "y"]]
)
def test_json_that_describes_no_server_is_refused(claude: Shell, words: list[str]) -> None:
    refused = Outcome(1, "", "Invalid configuration: Invalid input\n")
    assert claude("mcp", "add-json", *words) == refused


@pytest.mark.parametrize("kept", [b"{", b"[]", b"\xff", b"5"])
def test_a_file_that_cannot_be_read_has_no_servers(claude: Shell, kept: bytes) -> None:
    file = claude.folder / "config/.claude.json"
    file.parent.mkdir()
    file.write_bytes(kept)
    nothing = 'No MCP server named "". No MCP servers are configured.\n'
    for verb in ("get", "remove"):
        assert claude("mcp", verb) == Outcome(1, "", nothing)
    assert claude("mcp", "list").stdout.startswith("No MCP servers configured.")


def test_what_servers_are_is_told_also_if_little_is_known_of_them(claude: Shell) -> None:
    file = claude.folder / "config/.claude.json"
    file.parent.mkdir()
    servers = {"web": {"url": "http://127.0.0.1:9"}, "own": {"command": "/none", "args": [5]}}
    file.write_text(json.dumps({"mcpServers": {**servers, "odd": {}}}), encoding="utf-8")
    failed = "- ✗ Failed to connect\n"
    assert claude("mcp", "list").stdout == (
        "Checking MCP server health…\n\n"
        f"web: http://127.0.0.1:9 (HTTP) {failed}own: /none 5 {failed}odd: None {failed}"
    )
    assert "\n  Command: /none\n  Args: 5\n  Environment:\n\n" in claude("mcp", "get", "own").stdout
    names = "Configured servers: web, own, odd\n"
    missing = claude("mcp", "get", "no")
    assert missing == Outcome(1, "", f'No MCP server named "no". {names}')


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["add"], "missing required argument 'name'"),
        (["add", "x"], "missing required argument 'commandOrUrl'"),
        (["add", "-s", "moon", "x", "y"], "Invalid scope: moon"),
    ],
)
def test_a_server_that_cannot_be_added_is_refused(
    claude: Shell, words: list[str], error: str
) -> None:
    assert error in claude("mcp", *words).stderr


def test_the_command_of_a_server_keeps_its_own_options(claude: Shell) -> None:
    claude("mcp", "add", "-e", "K=v", "x", "--", "run", "-s", "y")
    shown = claude("mcp", "get", "x").stdout
    assert "Command: run\n  Args: -s y\n" in shown
    assert "    K=v" in shown


def test_the_login_is_reported(claude: Shell) -> None:
    out = claude("auth", "status", "--json")
    assert (out.status, json.loads(out.stdout)["loggedIn"]) == (1, False)
    status = json.loads(claude("auth", "status", ANTHROPIC_API_KEY="x").stdout)
    assert (status["loggedIn"], status["apiKeySource"]) == (True, "ANTHROPIC_API_KEY")
    assert claude("auth", "status", "--text").stdout == "Not logged in\n"


def test_other_commands_answer(claude: Shell) -> None:
    assert claude("plugin", "list", "--json") == Outcome(0, "[]\n")
    assert claude("plugin", "list").stdout.startswith("No plugins installed.")
    assert claude("agents", "--json") == Outcome(0, "[]\n")
    assert claude("doctor").stdout.startswith("Claude Code doctor\n\nRunning: simulated (2.1.325)")
    assert claude("mcp", "serve") == Outcome(1, "", "error: the command 'mcp' is not simulated\n")
    assert claude("config", "list").stdout == "config\n"
