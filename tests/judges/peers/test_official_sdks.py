"""The official SDKs, as released, drive the simulated CLI.

`scripts/peers` installs them. They run in a cage. The Python SDK plays all cases in one go, the
TypeScript SDK all usages that its reference names.
"""

from __future__ import annotations

import json
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from conformance.fidelity import read as read_fidelity
from tests.helpers.text_mode import run_text

from claudewire.simulator import Chat
from claudewire.testing.cage import Cage

HERE = Path(__file__).parent
PEERS = HERE.parents[2] / ".tools" / "peers"
SIMULATED = Path(sysconfig.get_path("scripts")) / "claudewire-sim"

DRIVER: list[Any] = [PEERS / "python" / "bin" / "python", HERE / "drive_python.py"]
CASES = (
    "one_shot",
    "turns",
    "partial",
    "allow",
    "deny",
    "question",
    "hooks",
    "kept_going",
    "mcp",
    "interrupt",
    "withdrawn",
    "settings",
    "resume",
)
PATIENCE = 120
"""Seconds for all cases; they take about five."""

Line = dict[str, Any]
Delivered = dict[str, list[Line]]


# The SDK runs once, in whichever process of the test run has these tests.
pytestmark = pytest.mark.xdist_group("official SDK")


def needs(sdk: str) -> None:
    if (reason := Cage.unavailable()) is not None:
        pytest.skip(f"No cage: {reason}")
    if not (PEERS / sdk / ".installed").exists():
        pytest.skip(f"the official SDK ({sdk}) is not installed; scripts/peers does it")


def run(*command: Any) -> str:
    """Run a program in a cage, with the scenario of these tests."""
    with Cage(env={"CLAUDEWIRE_SIM_SCENARIO": f"{HERE / 'scenario.py'}:script"}) as cage:
        done = subprocess.run(
            cage.command([*command]), capture_output=True, encoding="utf-8", timeout=PATIENCE
        )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def delivered() -> Delivered:
    """The deliveries and calls of the Python SDK, line by line, for each case."""
    needs("python")
    return by_case(run(*DRIVER, SIMULATED, *CASES))


def by_case(output: str) -> Delivered:
    cases: Delivered = {}
    for text in output.splitlines():
        line = json.loads(text)
        if line["kind"] == "case":
            lines = cases.setdefault(line["name"], [])
        else:
            assert line["kind"] != "error", line["text"]
            lines.append(line)
    return cases


# --- reading what was delivered ------------------------------------------------------------------


def only(lines: list[Line], kind: str) -> list[Line]:
    return [line for line in lines if line["kind"] == kind]


def conversation(lines: list[Line]) -> list[Line]:
    """Return the blocks of both sides in their order."""
    return [
        block for line in lines if line["kind"] in {"assistant", "user"} for block in line["blocks"]
    ]


def results(lines: list[Line]) -> list[tuple[str, str | None]]:
    return [(line["subtype"], line.get("result")) for line in only(lines, "result")]


def inits(lines: list[Line]) -> list[Line]:
    return [line for line in only(lines, "system") if line["subtype"] == "init"]


# --- the cases -----------------------------------------------------------------------------------


@pytest.mark.shows("000-32", "000-70")
def test_single_prompt_is_answered_and_the_cli_ends(delivered: Delivered) -> None:
    lines = delivered["one_shot"]
    assert [line["kind"] for line in lines] == ["system", "assistant", "result"]
    assert results(lines) == [("success", "Hello to you.")]


@pytest.mark.shows("000-27", "000-29", "000-30")
def test_several_turns_in_one_session(delivered: Delivered) -> None:
    lines = delivered["turns"]
    assert [line["kind"] for line in lines] == ["system", "assistant", "result"] * 3
    assert results(lines) == [("success", "Hello to you.")] * 3
    # Each prompt names another session, which the CLI ignores.
    (session_id,) = {line["session_id"] for line in [*inits(lines), *only(lines, "result")]}
    assert "hello" not in session_id
    costs = [line["total_cost_usd"] for line in only(lines, "result")]
    assert costs == sorted(set(costs))


def test_partial_messages_add_up_to_the_whole_message(delivered: Delivered) -> None:
    lines = delivered["partial"]
    events = [line["event"] for line in only(lines, "stream")]
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(it.get("thinking", "") for it in deltas) == "Let me see."
    assert "".join(it.get("text", "") for it in deltas) == "I have thought about it for a while."
    assert len([it for it in deltas if "text" in it]) > 1
    assert events[0]["type"] == "message_start"
    assert [event["type"] for event in events[-2:]] == ["message_delta", "message_stop"]
    assert conversation(lines) == [
        {"thinking": "Let me see."},
        {"text": "I have thought about it for a while."},
    ]
    assert [line["status"] for line in only(lines, "system") if line["subtype"] == "status"] == [
        "requesting"
    ]


@pytest.mark.shows("000-35", "000-37", "000-38", "000-39", "000-40", "000-42", "000-45")
def test_tool_is_allowed_with_changed_input(delivered: Delivered) -> None:
    lines = delivered["allow"]
    (asked,) = only(lines, "permission")
    assert (asked["tool"], asked["input"]) == ("Bash", {"command": "rm -rf build"})
    assert asked["named"]
    assert asked["suggestions"] == [
        {
            "type": "addRules",
            "rules": [{"toolName": "Bash", "ruleContent": "rm -rf build"}],
            "behavior": "allow",
            "destination": "localSettings",
        }
    ]
    assert conversation(lines) == [
        {"tool": "Bash", "input": {"command": "rm -rf build"}},
        {"result": "ran: ls build", "failed": False},
        {"text": "The tool said: ran: ls build"},
    ]
    assert only(lines, "result")[0]["permission_denials"] == []


@pytest.mark.shows("000-50", "000-69")
def test_denied_tool_reaches_the_model_with_its_reason(delivered: Delivered) -> None:
    lines = delivered["deny"]
    assert conversation(lines)[1:] == [
        {"result": "That is too dangerous.", "failed": True},
        {"text": "The tool said: That is too dangerous."},
    ]
    (result,) = only(lines, "result")
    assert (result["subtype"], result["is_error"], result["num_turns"]) == ("success", False, 2)
    (denial,) = result["permission_denials"]
    assert (denial["tool_name"], denial["tool_input"]) == ("Bash", {"command": "rm -rf build"})


@pytest.mark.shows("000-52", "000-54", "000-57")
def test_question_is_answered(delivered: Delivered) -> None:
    lines = delivered["question"]
    (asked,) = only(lines, "permission")
    assert asked["tool"] == "AskUserQuestion"
    (question,) = asked["input"]["questions"]
    assert question["question"] == "Which colour?"
    assert [option["label"] for option in question["options"]] == ["Red", "Green"]
    answer = (
        'Your questions have been answered: "Which colour?"="Green". '
        "You can now continue with these answers in mind."
    )
    assert conversation(lines)[1:] == [
        {"result": answer, "failed": False},
        {"text": f"I was told: {answer}"},
    ]


@pytest.mark.shows("002-26")
def test_hooks_get_the_fields_of_their_events(delivered: Delivered) -> None:
    lines = delivered["hooks"]
    hooks = only(lines, "hook")
    names = [hook["input"]["hook_event_name"] for hook in hooks]
    assert names == ["PreToolUse", "PostToolUse", "Stop"]
    assert all(hook["named"] for hook in hooks)
    before, after, stop = (hook["input"] for hook in hooks)
    assert (before["tool_name"], before["tool_input"]) == ("Bash", {"command": "rm -rf build"})
    assert after["tool_input"] == before["tool_input"]
    assert after["tool_response"]["stdout"] == "ran: rm -rf build"
    assert after["tool_use_id"] == before["tool_use_id"]
    assert stop["stop_hook_active"] is False
    assert stop["last_assistant_message"] == "The tool said: ran: rm -rf build"
    (init,) = inits(lines)
    assert {hook["input"]["session_id"] for hook in hooks} == {init["session_id"]}
    assert only(lines, "permission") == []


def test_stop_hook_keeps_the_agent_going(delivered: Delivered) -> None:
    lines = delivered["kept_going"]
    assert [hook["input"]["stop_hook_active"] for hook in only(lines, "hook")] == [False, True]
    feedback = "Stop hook feedback:\nThink again."
    assert conversation(lines)[:2] == [{"text": "Hello to you."}, {"text": feedback}]
    assert [line["num_turns"] for line in only(lines, "result")] == [2]


@pytest.mark.shows("000-26")
def test_tool_of_the_application_is_called(delivered: Delivered) -> None:
    lines = delivered["mcp"]
    (init,) = inits(lines)
    assert [(it["name"], it["status"]) for it in init["mcp_servers"]] == [("calc", "connected")]
    assert "mcp__calc__add" in init["tools"]
    assert [call["arguments"] for call in only(lines, "call")] == [{"a": 2, "b": 3}]
    assert conversation(lines) == [
        {"tool": "mcp__calc__add", "input": {"a": 2, "b": 3}},
        {"result": [{"type": "text", "text": "5"}], "failed": False},
        {"text": "The sum is 5."},
    ]


@pytest.mark.shows("000-72")
def test_interrupt_stops_a_running_tool_and_the_session_goes_on(delivered: Delivered) -> None:
    lines = delivered["interrupt"]
    _, result, note, answer = conversation(lines)
    assert result["failed"]
    assert "stopped while running" in result["result"]
    assert note == {"text": "[Request interrupted by user for tool use]"}
    assert answer == {"text": "Hello to you."}
    assert results(lines) == [("error_during_execution", None), ("success", "Hello to you.")]
    first = only(lines, "result")[0]
    assert (first["is_error"], first["terminal_reason"]) == (True, "aborted_tools")
    assert first["permission_denials"] == []


def test_interrupt_withdraws_open_permissions(delivered: Delivered) -> None:
    lines = delivered["withdrawn"]
    assert len(only(lines, "permission")) == len(only(lines, "withdrawn")) == 1
    _, result, note, answer = conversation(lines)
    assert result["failed"]
    assert "stopped while running" not in result["result"]
    assert note == {"text": "[Request interrupted by user for tool use]"}
    assert answer == {"text": "Hello to you."}
    assert results(lines) == [("error_during_execution", None), ("success", "Hello to you.")]
    (denial,) = only(lines, "result")[0]["permission_denials"]
    assert denial["tool_name"] == "Bash"


def test_model_and_permission_mode_change_within_a_session(delivered: Delivered) -> None:
    lines = delivered["settings"]
    assert [(it["model"], it["permissionMode"]) for it in inits(lines)] == [
        ("claude-opus-5-5", "default"),
        ("claude-haiku-5-5", "acceptEdits"),
    ]
    assert [asked["tool"] for asked in only(lines, "permission")] == ["Write"]
    assert results(lines) == [
        ("success", "Written. I am claude-opus-5-5."),
        ("success", "Written. I am claude-haiku-5-5."),
    ]
    status = [line for line in only(lines, "system") if line["subtype"] == "status"]
    assert [line["permissionMode"] for line in status] == ["acceptEdits"]


@pytest.mark.shows("000-13")
def test_session_is_resumed_and_forked(delivered: Delivered) -> None:
    lines = delivered["resume"]
    first, resumed, forked = (line["session_id"] for line in only(lines, "result"))
    assert first == resumed != forked
    assert [line["session_id"] for line in inits(lines)] == [first, resumed, forked]
    assert results(lines) == [
        ("success", "Hello to you."),
        ("success", "hello, I like pears | what did I say?"),
        ("success", "hello, I like pears | what did I say? | what did I say?"),
    ]


# --- all usages of the TypeScript SDK ------------------------------------------------------------


def test_every_usage_of_the_typescript_sdk_works(tmp_path: Path) -> None:
    needs("ts")
    out = run("node", HERE / "usages.mjs", PEERS / "ts", SIMULATED, tmp_path)
    tried = [json.loads(line) for line in out.splitlines()]
    assert [it for it in tried if it["why"]] == []
    (client,) = [it for it in read_fidelity()["client"] if "works" in it]
    assert [it["usage"] for it in tried] == client["works"]


# --- what they read of transcripts ---------------------------------------------------------------

READERS = {
    "python": """
import json, sys
from claude_agent_sdk import get_session_messages, list_sessions
(session,) = list_sessions(directory=sys.argv[1])
messages = get_session_messages(session.session_id, directory=sys.argv[1])
print(json.dumps([session.first_prompt, [it.type for it in messages]]))
""",
    "ts": """
const { listSessions, getSessionMessages } = await import(process.argv[2] + "/sdk.mjs");
const dir = process.argv[3];
const [session] = await listSessions({ dir });
const messages = await getSessionMessages(session.sessionId, { dir });
console.log(JSON.stringify([session.firstPrompt, messages.map((it) => it.type)]));
""",
}


@pytest.mark.parametrize("name", READERS)
def test_sessions_of_the_simulated_cli_are_listed_and_read(name: str) -> None:
    needs(name)
    with Cage() as cage:
        env = {"CLAUDE_CONFIG_DIR": str(cage.config)}
        run_text(work, "-p", "Do it.", "--allowedTools=Bash", env=env, cwd=cage.work)
        script = cage.work / ("read.py" if name == "python" else "read.mjs")
        script.write_text(READERS[name], encoding="utf-8")
        python = [PEERS / "python" / "bin" / "python", script]
        sdk = PEERS / "ts" / "node_modules" / "@anthropic-ai" / "claude-agent-sdk"
        command = python if name == "python" else ["node", script, sdk]
        done = subprocess.run(
            cage.command([*command, cage.work]),
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE,
        )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["Do it.", ["user", "assistant", "user", "assistant"]]


async def work(chat: Chat) -> None:
    await chat.use("Bash", {"command": "make"}, result="made")
    await chat.say("Done.")
