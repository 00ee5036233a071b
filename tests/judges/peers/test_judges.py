"""Outside clients judge the simulated CLI: an editor's adapter, older SDKs, tools.

`scripts/peers` installs them. They are run in a cage.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.helpers.processes import ended
from tests.helpers.real_clis import NEWEST, real_cli, why_not
from tests.judges.peers.acp_client import ACPClient
from tests.judges.real.cases import AGENT_PROMPT, AGENT_REPLIES, CASES, Case
from tests.judges.real.host import Host
from tests.judges.real.process import started

from claudewire.simulator import ARGV, SimulatedCLI
from claudewire.testing.api import APIReply, APIScript, APIUsage
from claudewire.testing.api.replies import LooseReply, as_step
from claudewire.testing.cage import Cage
from claudewire.transport import Transport

PEERS = Path(__file__).parents[3] / ".tools" / "peers"
NPM, PIP = PEERS / "npm_judges" / "node_modules", PEERS / "pip_judges" / "bin"
SIMULATED = Path(sysconfig.get_path("scripts")) / "claudewire-sim"
PATIENCE = 240
"""Seconds. One of the examples takes fifty, mostly asleep."""

SCENARIO = """
default = "Hello, you said {prompt}"

[[turn]]
match = "work"
steps = [{ use = "Bash", input = { command = "make" }, result = "made" }, { say = "Done." }]

[[turn]]
match = "call it"
steps = [
    { call = "ext", tool = "echo", arguments = { text = "hey" } },
    { say = "It said: {result}" },
]

[[turn]]
match = "wait"
steps = [{ say = "One." }, { sleep = 60 }, { say = "Never." }]
"""


def wanted(folder: Path) -> None:
    if (reason := Cage.unavailable()) is not None:
        pytest.skip(f"No cage: {reason}")
    if not (folder / ".installed").exists():
        pytest.skip("a judge is not installed; scripts/peers does it")


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


def facts(text: str, *wanted: str) -> list[str]:
    """Which of these words are in a text."""
    return [words for words in wanted if words in text]


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


def test_editor_opens_asks_lists_loads_and_forks(editor: ACPClient, cage: Cage) -> None:
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
    editor.updates.clear()
    again = [{"type": "text", "text": "hello"}]
    ended = editor.request("session/prompt", sessionId=forked, prompt=again)
    assert (ended["stopReason"], editor.said()) == ("end_turn", "Hello, you said hello")


def test_editor_denies_and_cancels(editor: ACPClient, cage: Cage) -> None:
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


# --- the official Python SDK's own tests and examples ---------------------------------------------

SOURCE, CHECKOUT = PEERS / "sdk_source", PEERS / "sdk_checkout"
NO_CHECKOUT = "no checkout of the SDK was given to scripts/peers"
SDK_SCENARIO = Path(__file__).with_name("sdk_scenario.py")


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Cage]:
    """A cage with the SDK and its examples, in which `claude` is the simulated one."""
    wanted(SOURCE)
    wanted(PEERS / "pip_judges")
    (tmp_path / "claude").symlink_to(SIMULATED)
    env = {
        "CLAUDEWIRE_SIM_SCENARIO": f"{SDK_SCENARIO}:script",
        "PYTHONPATH": str(SOURCE / "src"),
        "PATH": f"{tmp_path}:/usr/local/bin:/usr/bin:/bin",
    }
    with Cage(env=env) as opened:
        shutil.copytree(SOURCE / "examples", opened.work / "examples")
        yield opened


@pytest.fixture
def checkout(source: Cage) -> Cage:
    """The same cage with the end-to-end tests of the SDK and the settings of its project."""
    for part in ("e2e-tests", ".claude"):
        if not (CHECKOUT / part).exists():
            pytest.skip(NO_CHECKOUT)
        shutil.copytree(CHECKOUT / part, source.work / part)
    return source


def test_end_to_end_tests_of_the_official_sdk_pass(checkout: Cage) -> None:
    # Without the plugins of this project.
    plugins = ["-p", "anyio.pytest_plugin", "-p", "no:cacheprovider"]
    pytest_alone = ["-m", "pytest", "-q", "--disable-plugin-autoload", *plugins, "-c", os.devnull]
    out = run(checkout, PIP / "python", *pytest_alone, checkout.work / "e2e-tests")
    assert "42 passed" in out


EXAMPLES = {
    "agents.py": ["Multiple Agents Example", "DONE"],
    "hooks.py all": [
        "Command contains invalid pattern: foo.sh",
        "It said: 'Hello from hooks example!'",
        "My favorite color is hot pink",
        "Security policy blocks writes",
        "File created successfully at: regular_file.txt",
    ],
    "include_partial_messages.py": ["thinking_delta", "message_stop"],
    "mcp_calculator.py": ["15 + 27 = 42", "14.285714", "= 12.0", "2^8 = 256"],
    "plugin_example.py": ["demo-plugin"],
    "quick_start.py": ["You said: What is 2 + 2?", "Cost: $"],
    "stderr_callback_example.py": ["Captured 0 stderr lines"],
    "streaming_mode.py all": [
        "You said: Never mind, just tell me a quick joke",
        "Hello from bash!",
    ],
    "streaming_mode_trio.py": ["Now multiply that result by 2"],
    "system_prompt.py": ["You said: What is 2 + 2?"],
    "tool_permission_callback.py": ["Tool Permission Request: Write", "Task completed!"],
    "tools_option.py": ["Read", "Glob", "Grep"],
}
"""Parts of the output of each example."""


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_of_the_official_sdk_runs(example: str, source: Cage) -> None:
    name, *words = example.split()
    out = run(source, PIP / "python", source.work / "examples" / name, *words)
    assert facts(out, *EXAMPLES[example]) == EXAMPLES[example]
    assert "Traceback" not in out


def test_example_with_a_budget_ends_as_with_the_real_cli(source: Cage) -> None:
    example = [PIP / "python", source.work / "examples" / "max_budget_usd.py"]
    done = subprocess.run(
        source.command(example), capture_output=True, encoding="utf-8", timeout=PATIENCE
    )
    assert "Status: error_max_budget_usd\n⚠️  Budget limit exceeded!" in done.stdout
    # After such a result the SDK raises, and the example does not expect it.
    assert "ResultError: Claude Code returned an error result: Reached maximum" in done.stderr


@pytest.mark.parametrize("example", ["filesystem_agents.py", "setting_sources.py all"])
def test_example_reads_the_files_of_its_project(example: str, checkout: Cage) -> None:
    name, *words = example.split()
    out = run(checkout, PIP / "python", checkout.work / "examples" / name, *words)
    assert facts(out, "test-agent", "commit") != []


# --- clients that use text mode, and older SDKs ---------------------------------------------------

OLD_CLIENT = """
import asyncio
from claude_code_sdk import (
    ClaudeCodeOptions, ClaudeSDKClient, HookMatcher, ResultMessage, create_sdk_mcp_server, tool,
)

seen = []

@tool("echo", "Says it again", {"text": str})
async def echo(given):
    return {"content": [{"type": "text", "text": given["text"]}]}

async def see(input, id, context):
    seen.append(input["tool_name"])
    return {}

async def main():
    options = ClaudeCodeOptions(
        allowed_tools=["Bash", "mcp__ext__echo"],
        hooks={"PostToolUse": [HookMatcher(hooks=[see])]},
        mcp_servers={"ext": create_sdk_mcp_server("ext", tools=[echo])},
    )
    async with ClaudeSDKClient(options) as client:
        for prompt in ("do some work", "call it"):
            await client.query(prompt)
            async for message in client.receive_response():
                if isinstance(message, ResultMessage):
                    seen.append(message.result)
    print(seen)

asyncio.run(main())
"""


def test_sdk_of_the_year_before_is_asked_and_serves(cage: Cage) -> None:
    out = run(cage, PIP / "python", script(cage, "client.py", OLD_CLIENT))
    assert out == f"{['Bash', 'Done.', 'mcp__ext__echo', 'It said: hey']}\n"


def test_third_sdk_asks(cage: Cage) -> None:
    sdk = NPM / "@instantlyeasy" / "claude-code-sdk-ts" / "dist" / "index.js"
    text = f"""
import {{ claude }} from "{sdk}";
console.log(await claude().query("hi").asText());
"""
    assert run(cage, "node", script(cage, "ask.mjs", text)) == "Hello, you said hi\n"


def test_server_that_offers_claude_as_a_tool_asks(cage: Cage) -> None:
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
    with ended(process):
        assert process.stdin is not None
        assert process.stdout is not None
        for call in calls:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **call}) + "\n")
            process.stdin.flush()
        process.stdout.readline()
        answer = json.loads(process.stdout.readline())
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


def test_client_that_calls_subcommands_is_answered(cage: Cage) -> None:
    out = run(cage, PIP / "python", script(cage, "ask.py", SUBCOMMANDS)).splitlines()
    assert out[0].startswith("2.1.325")
    assert out[1:4] == ["Hello, you said hi", "success", "['system', 'assistant', 'result']"]
    assert out[4:] == ["firstParty [] []", f"{NO_SERVERS} Claude Code doctor"]


NO_SERVERS = "No MCP servers configured. Use `claude mcp add` to add a server."


# --- readers of transcripts -----------------------------------------------------------------------

READ = ("three turns", "subagent", "tool, streamed", "thinking", "conversation cleared")
"""The conversations that are held with the real CLI and with the simulated one."""

SHOWN = ("Again.", "Think.", "Let me see.", "Look around.", "I saw it.", "I shall.", "print(1)")
"""Texts in these conversations."""


def counted(cage: Cage) -> Any:
    """Return the counts of ccusage for all transcripts: in total, and for each session."""
    ccusage = NPM / "ccusage" / "dist" / "index.js"
    found = json.loads(run(cage, "node", ccusage, "session", "--json", "--offline"))
    sessions = [{key: it[key] for key in it if "Tokens" in key} for it in found["sessions"]]
    return found["totals"], sorted(sessions, key=str)


def shown(cage: Cage) -> Any:
    """Return the token counts and the known texts that claude-code-log shows."""
    (project,) = (cage.config / "projects").iterdir()
    run(cage, PIP / "claude-code-log", project, "-o", cage.work / "log.html")
    html = (cage.work / "log.html").read_text(encoding="utf-8")
    return sorted(re.findall(r"Input: \d+ \| Output: \d+", html)), facts(html, *SHOWN)


def usages(config: Path, files: str) -> Iterator[APIUsage]:
    """Yield the usage of each model call, from the transcripts of the simulated CLI."""
    lines = [line for file in config.glob(files) for line in file.read_bytes().splitlines()]
    said = [it for it in map(json.loads, lines) if it["type"] == "assistant"]
    said.sort(key=lambda it: it["timestamp"])
    for message in {it["message"]["id"]: it["message"] for it in said}.values():
        usage = message["usage"]
        yield APIUsage(input_tokens=usage["input_tokens"], output_tokens=usage["output_tokens"])


def with_usage(replies: Iterable[LooseReply], used: Iterable[APIUsage]) -> list[LooseReply]:
    steps = zip(map(as_step, replies), used, strict=False)
    return [APIReply(*step.parts, usage=it) for step, it in steps if isinstance(step, APIReply)]


async def converse(case: Case, transport: Transport, folder: Path | None = None) -> None:
    host = Host(transport, case.decide, case.serve, folder)
    with anyio.fail_after(PATIENCE):
        await host.start(case.setup)
        await case.drive(host)
        await host.end()


async def hold(case: Case, cage: Cage, *, real: bool) -> None:
    """Hold a conversation in a cage."""
    if real:
        async with started(cage.command([real_cli(NEWEST), *ARGV, *case.flags])) as process:
            await converse(case, process, cage.work)
    else:
        env = {"CLAUDE_CONFIG_DIR": str(cage.config)}
        cli = SimulatedCLI(case.scenario(), argv=case.flags, env=env, cwd=cage.work)
        await converse(case, cli)


def keep(cage: Cage, folder: Path) -> None:
    """Add the transcripts of a conversation to others."""
    (project,) = (cage.config / "projects").iterdir()
    shutil.copytree(project, folder, dirs_exist_ok=True)


def read(folder: Path) -> Any:
    """Return the findings of both readers."""
    with Cage() as cage:
        shutil.copytree(folder, cage.config / "projects" / "-some-project")
        return counted(cage), shown(cage)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_transcript_readers_find_the_same_as_with_a_real_cli(
    tmp_path: Path,
) -> None:
    wanted(PEERS / "npm_judges")
    wanted(PEERS / "pip_judges")
    if (reason := why_not(NEWEST)) is not None:
        pytest.skip(f"a judge is not installed: {reason}")
    real, simulated = tmp_path / "real", tmp_path / "simulated"
    for case in map(CASES.__getitem__, READ):
        with Cage() as cage:
            await hold(case, cage, real=False)
            keep(cage, simulated)
            replies = with_usage(case.replies, usages(cage.config, "projects/*/*.jsonl"))
            inner = list(usages(cage.config, "projects/*/*/subagents/*.jsonl"))
        # The scripted API reports the usage that the simulated CLI has invented.
        script = APIScript.of(replies).on(AGENT_PROMPT, *with_usage(AGENT_REPLIES, inner))
        with Cage(script) as cage:
            await hold(case, cage, real=True)
            keep(cage, real)
    found = read(real)
    assert found == read(simulated)
    assert found[1][1] == list(SHOWN)
