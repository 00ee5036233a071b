"""Clients that nobody here wrote judge the simulated CLI: an editor's adapter, older SDKs, tools.

`scripts/peers --judges` installs them, and CI does not. They are run in a cage.
"""

from __future__ import annotations

import json
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.text_mode import run_text
from tests.peers.acp_client import ACPClient

from claudewire.simulator import load_scenario
from claudewire.testing.cage import Cage

PEERS = Path(__file__).parents[2] / ".tools" / "peers"
NPM, PIP = PEERS / "npm_judges" / "node_modules", PEERS / "pip_judges" / "bin"
SIMULATED = Path(sysconfig.get_path("scripts")) / "claudewire-sim"
PATIENCE = 60

SCENARIO = """
default = "Hello, you said {prompt}"

[[turn]]
match = "work"
steps = [{ use = "Bash", input = { command = "make" }, result = "made" }, { say = "Done." }]

[[turn]]
match = "wait"
steps = [{ say = "One." }, { sleep = 60 }, { say = "Never." }]
"""


def wanted(folder: Path) -> None:
    if (reason := Cage.unavailable()) is not None:
        pytest.skip(f"No cage: {reason}")
    if not (folder / ".installed").exists():
        pytest.skip("a judge is not installed; scripts/peers --judges does it")


@pytest.fixture
def cage(tmp_path: Path) -> Iterator[Cage]:
    """A cage in which `claude` is the simulated one."""
    wanted(PEERS / "npm_judges")
    wanted(PEERS / "pip_judges")
    (tmp_path / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "claude").symlink_to(SIMULATED)
    env = {
        "CLAUDEWIRE_SIM_SCENARIO": str(tmp_path / "scenario.toml"),
        "CLAUDE_CODE_EXECUTABLE": str(SIMULATED),
        "CLAUDE_CLI_NAME": str(tmp_path / "claude"),
        "PATH": f"{tmp_path}:/usr/local/bin:/usr/bin:/bin",
    }
    with Cage(env=env) as opened:
        yield opened


def run(cage: Cage, *command: Any, text: str = "") -> str:
    done = subprocess.run(
        cage.command(list(command)),
        input=text,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def script(cage: Cage, name: str, text: str) -> Path:
    path = cage.work / name
    path.write_text(text, encoding="utf-8")
    return path


# --- the adapter for editors ----------------------------------------------------------------------


def choose(kind: str) -> Any:
    def decide(params: dict[str, Any]) -> str:
        options = params["options"]
        return str(next(it["optionId"] for it in options if it["kind"] == kind))

    return decide


@pytest.fixture
def editor(cage: Cage) -> Iterator[ACPClient]:
    agent = NPM / "@agentclientprotocol" / "claude-agent-acp" / "dist" / "index.js"
    client = ACPClient(cage.command(["node", agent]), choose("allow_once"))
    files = {"readTextFile": False, "writeTextFile": False}
    client.request("initialize", protocolVersion=1, clientCapabilities={"fs": files})
    yield client
    client.close()


def test_an_editor_opens_asks_lists_loads_and_forks(editor: ACPClient, cage: Cage) -> None:
    where = {"cwd": str(cage.work), "mcpServers": []}
    session = editor.request("session/new", **where)["sessionId"]
    prompt = [{"type": "text", "text": "do some work"}]
    ended = editor.request("session/prompt", sessionId=session, prompt=prompt)
    assert ended["stopReason"] == "end_turn"
    assert editor.said() == "Done."
    assert len(editor.asked) == 1

    listed = editor.request("session/list", cwd=str(cage.work))["sessions"]
    assert [it["sessionId"] for it in listed] == [session]

    editor.updates.clear()
    editor.request("session/load", sessionId=session, **where)
    assert editor.said("user_message_chunk") == "do some work"
    assert editor.said() == "Done."

    forked = editor.request("session/fork", sessionId=session, **where)["sessionId"]
    assert forked != session


def test_an_editor_denies_and_cancels(editor: ACPClient, cage: Cage) -> None:
    editor.decide = choose("reject_once")
    where = {"cwd": str(cage.work), "mcpServers": []}
    session = editor.request("session/new", **where)["sessionId"]
    work = [{"type": "text", "text": "do some work"}]
    editor.request("session/prompt", sessionId=session, prompt=work)
    failed = [it for it in editor.updates if it.get("status") == "failed"]
    assert len(failed) == 1
    waiting = [{"type": "text", "text": "wait"}]
    asked = editor.start("session/prompt", sessionId=session, prompt=waiting)
    editor.result(asked, until=lambda: "One." in editor.said())
    editor.notify("session/cancel", sessionId=session)
    assert editor.result(asked)["stopReason"] == "cancelled"


# --- clients that use text mode, and older SDKs ---------------------------------------------------

OLD_SDK = """
import asyncio
from claude_code_sdk import AssistantMessage, ResultMessage, query

async def main():
    async for message in query(prompt="hi"):
        if isinstance(message, AssistantMessage):
            print(message.content[0].text)
        if isinstance(message, ResultMessage):
            print(message.subtype)

asyncio.run(main())
"""


def test_the_sdk_of_the_year_before_asks(cage: Cage) -> None:
    out = run(cage, PIP / "python", script(cage, "ask.py", OLD_SDK))
    assert out == "Hello, you said hi\nsuccess\n"


def test_a_third_sdk_asks(cage: Cage) -> None:
    sdk = NPM / "@instantlyeasy" / "claude-code-sdk-ts" / "dist" / "index.js"
    text = f"""
import {{ claude }} from "{sdk}";
console.log(await claude().query("hi").asText());
"""
    assert run(cage, "node", script(cage, "ask.mjs", text)) == "Hello, you said hi\n"


def test_a_server_that_offers_claude_as_a_tool_asks(cage: Cage) -> None:
    server = NPM / "@steipete" / "claude-code-mcp" / "dist" / "server.js"
    client = {"name": "test", "version": "1"}
    about = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": client}
    given = {"prompt": "hi", "workFolder": str(cage.work)}
    calls: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "claude_code", "arguments": given}},
    ]
    process = subprocess.Popen(
        cage.command(["node", str(server)]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        for call in calls:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **call}) + "\n")
            process.stdin.flush()
        process.stdout.readline()
        answer = json.loads(process.stdout.readline())
        process.kill()
    assert answer["result"]["content"][0]["text"].strip() == "Hello, you said hi"


SUBCOMMANDS = """
from pyclaudecli import ClaudeCLI

claude = ClaudeCLI()
print(claude.version())
print(claude.prompt("hi").strip())
print(claude.prompt_json("hi")["subtype"])
print([message["type"] for message in claude.prompt_stream("hi")])
print(claude.auth_status()["apiProvider"], claude.plugin_list(as_json=True), claude.list_agents())
print(claude.mcp_list().strip(), claude.doctor().splitlines()[0])
"""


def test_a_client_that_calls_subcommands_is_answered(cage: Cage) -> None:
    out = run(cage, PIP / "python", script(cage, "ask.py", SUBCOMMANDS)).splitlines()
    assert out[0].startswith("2.1.325")
    assert out[1:4] == ["Hello, you said hi", "success", "['system', 'assistant', 'result']"]
    assert out[4:] == ["firstParty [] []", f"{NO_SERVERS} Claude Code doctor"]


NO_SERVERS = "No MCP servers configured. Use `claude mcp add` to add a server."


# --- readers of transcripts -----------------------------------------------------------------------


def kept(cage: Cage, tmp_path: Path) -> dict[str, Any]:
    """Keep a conversation, and return its result."""
    play = load_scenario(str(tmp_path / "scenario.toml"))
    env = {"CLAUDE_CONFIG_DIR": str(cage.config)}
    flags = ["--output-format=json", "--allowedTools=Bash"]
    done = run_text(play, "-p", "do some work", *flags, env=env, cwd=cage.work)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_ccusage_counts_what_the_result_said(cage: Cage, tmp_path: Path) -> None:
    usage = kept(cage, tmp_path)["usage"]
    out = run(cage, "node", NPM / "ccusage" / "dist" / "index.js", "session", "--json", "--offline")
    totals = json.loads(out)["totals"]
    assert totals["inputTokens"] == usage["input_tokens"]
    assert totals["outputTokens"] == usage["output_tokens"]


def test_claude_code_log_shows_the_conversation(cage: Cage, tmp_path: Path) -> None:
    kept(cage, tmp_path)
    (project,) = (cage.config / "projects").iterdir()
    run(cage, PIP / "claude-code-log", project, "-o", cage.work / "log.html")
    page = (cage.work / "log.html").read_text(encoding="utf-8")
    for words in ("do some work", "make", "made", "Done."):
        assert words in page
