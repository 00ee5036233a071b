"""What happens in a turn: what its tools give, what ends it, what is told of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.simulator.player import ID, Player

from claudewire.simulator import Chat, Scenario, ToolOutcome
from claudewire.simulator.engine import Wait
from claudewire.simulator.servers import ServerError
from claudewire.wire import (
    AddRules,
    CanUseTool,
    HookCallback,
    HookMatcher,
    HookOutput,
    Initialize,
    Interrupt,
    McpCall,
    McpMessage,
    McpReadResource,
    McpResponse,
    McpServerManifest,
    PermissionResultAllow,
    PermissionRule,
    RenameSession,
    SetPermissionMode,
    StopTask,
)

OTHER = ID.replace("1", "2")


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    """The folder in which a CLI works; its own is beside it."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def heard(player: Player, *types: str) -> list[dict[str, Any]]:
    """Return the messages of these types; all of them if none is named."""
    found = [json.loads(line[2:]) for line in player.lines if line.startswith("< {")]
    return [it for it in found if it["type"] in types or not types]


def results(player: Player) -> list[dict[str, Any]]:
    return heard(player, "result")


def played(work: Scenario, cwd: Path, *prompts: str, **options: Any) -> Player:
    """Return a player after turns for these prompts."""
    player = Player(work, cwd, **options)
    player.ask(Initialize(sdk_mcp_servers=["calc"]))
    player.turn(*prompts)
    return player


# --- what tools give ------------------------------------------------------------------------------

PARTS = [{"type": "image"}, 5, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
STREAMS = {"stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
GIVEN: list[tuple[str, dict[str, Any], Any, Any, Any, str]] = [
    ("Bash", {}, "", "(Bash completed with no output)", {"stdout": "", **STREAMS}, ""),
    ("Bash", {}, "X\n", "X\n", {"stdout": "X\n", **STREAMS}, "X"),
    ("Bash", {}, PARTS, PARTS, PARTS, "a\nb"),
    ("Read", {}, "", "", "", ""),
    ("Read", {}, 5, "5", 5, "5"),
    ("Read", {}, None, "null", None, "null"),
    ("Read", {"content": "x"}, "read", "read", "read", "read"),
    (
        "Write",
        {"content": "x"},
        "ok",
        "ok",
        {
            "type": "create",
            "filePath": None,
            "content": "x",
            "structuredPatch": [],
            "originalFile": None,
            "userModified": False,
        },
        "ok",
    ),
    ("mcp__calc__own", {}, "mine", "mine", "mine", "mine"),
]


@pytest.mark.parametrize(("tool", "input", "output", "content", "whole", "text"), GIVEN)
def test_what_a_tool_gives_is_told_in_its_form(
    cwd: Path, tool: str, input: dict[str, Any], output: Any, content: Any, whole: Any, text: str
) -> None:
    outcomes = []

    async def work(chat: Chat) -> None:
        outcomes.append(await chat.use(tool, input, run=lambda given: output))

    player = Player(work, cwd)  # whoever does not initialize may have any server
    player.turn("Go.")
    (told,) = heard(player, "user")
    (block,) = told["message"]["content"]
    assert (block["content"], told.get("tool_use_result")) == (content, whole)
    assert outcomes == [ToolOutcome(True, input, text, False)]


@pytest.mark.parametrize("answer", [{}, {"result": 5}, {"result": {}}, {"result": {"content": ""}}])
def test_a_server_that_gives_nothing_gives_an_empty_result(
    cwd: Path, answer: dict[str, Any]
) -> None:
    outcomes = []

    async def work(chat: Chat) -> None:
        outcomes.append(await chat.call("calc", "add", {}))

    player = Player(work, cwd, serve={McpMessage: lambda body: McpResponse(answer)})
    player.turn("Go.")
    assert outcomes == [ToolOutcome(True, {}, "", False)]


def test_what_a_tool_starts_names_the_tool(cwd: Path) -> None:
    async def work(chat: Chat) -> None:
        await chat.use("Read", {}, run=lambda given: chat.start_task("below").id)
        chat.start_task("apart")

    player = played(work, cwd, "Go.")
    (use,) = heard(player, "assistant")
    below, apart = [it for it in heard(player) if it.get("subtype") == "task_started"]
    assert below["tool_use_id"] == use["message"]["content"][0]["id"]
    assert "tool_use_id" not in apart


# --- what ends a turn -----------------------------------------------------------------------------


async def delegates(chat: Chat) -> None:
    await chat.subagent("Explore", "Look", speaks)
    await chat.say("after")


async def launches(chat: Chat) -> None:
    if chat.text:
        await chat.subagent("Explore", "Look", speaks, background=True)
        await chat.say("after")


async def reads(chat: Chat) -> None:
    await chat.use("Read", {})
    await chat.say("after")


async def outputs(chat: Chat) -> None:
    chat.output({"a": 1})


async def speaks(chat: Chat) -> None:
    await chat.say("X")


@pytest.mark.parametrize(
    ("work", "subtype"),
    [
        (reads, "error_max_turns"),
        (delegates, "error_max_turns"),
        (launches, "error_max_turns"),
        (outputs, "success"),
        (speaks, "success"),
    ],
)
def test_a_limit_ends_a_turn_that_would_need_the_model_again(
    cwd: Path, work: Scenario, subtype: str
) -> None:
    player = played(work, cwd, "Go.", argv=["--max-turns", "1", "--json-schema", "{}"])
    assert results(player)[0]["subtype"] == subtype
    assert "after" not in player.text


@pytest.mark.parametrize(
    ("budget", "subtype"), [("0.000315", "error_max_budget_usd"), ("0.000316", "success")]
)
def test_a_budget_is_spent_to_the_last_cent(cwd: Path, budget: str, subtype: str) -> None:
    (result,) = results(played(speaks, cwd, "Go.", argv=["--max-budget-usd", budget]))
    assert (result["total_cost_usd"], result["subtype"]) == (0.000315, subtype)


@pytest.mark.parametrize("step", ["tool", "subagent"])
def test_a_turn_is_stopped_at_once_after_its_tool_has_ended(cwd: Path, step: str) -> None:
    async def work(chat: Chat) -> None:
        if chat.text == "Go.":
            await (reads if step == "tool" else delegates)(chat)
            await Wait("what never comes")
        await chat.say(chat.text)

    player = played(work, cwd, "Go.")
    assert results(player) == []
    player.turn("now", priority="now")
    first, second = results(player)
    assert first["terminal_reason"] == "aborted_streaming"
    assert second["result"] == "now"


@pytest.mark.parametrize("priority", [None, "now"])
def test_what_comes_while_a_tool_runs_has_to_wait_for_its_end(
    cwd: Path, priority: str | None
) -> None:
    async def work(chat: Chat) -> None:
        if chat.text == "Go.":
            await chat.use("Read", {}, run=lambda given: waits(chat))
        await chat.say(f"You say {chat.text}")

    async def waits(chat: Chat) -> str:
        await Wait("job:go on")
        return "read"

    player = played(work, cwd, "Go.")
    player.turn("Go on.", priority=priority)
    assert results(player) == []
    player.engine.decide("job:go on", None)
    player.catch_up()
    told = [(it["result"], it["terminal_reason"]) for it in results(player)]
    last = ("You say Go on.", "completed")
    assert told == ([last] if priority is None else [("", "aborted_tools"), last])
    assert ("You say Go." in player.text) is (priority is None)


def test_a_tool_that_takes_no_time_is_not_interrupted(cwd: Path) -> None:
    async def work(chat: Chat) -> None:
        await chat.use("Read", {})

    player = Player(work, cwd)
    prompt = {"type": "user", "message": {"role": "user", "content": "Go."}}
    request = {"type": "control_request", "request_id": "1", "request": {"subtype": "interrupt"}}
    player.feed(b"".join(json.dumps(it).encode() + b"\n" for it in (prompt, request)))
    assert [it["subtype"] for it in results(player)] == ["success"]


# --- subagents ------------------------------------------------------------------------------------


def test_a_prompt_that_waits_is_not_for_the_subagent_to_read(cwd: Path) -> None:
    async def work(chat: Chat) -> None:
        if chat.text == "Go.":
            await chat.subagent("Explore", "Look", asks)
        await chat.say(f"You say {chat.text}")

    async def asks(chat: Chat) -> None:
        await chat.use("Bash", {"command": "ls"})

    player = Player(work, cwd)
    del player.serve[CanUseTool]
    player.ask(Initialize())
    player.turn("Go.", "Go on.")
    player.catch_up(PermissionResultAllow({}))
    assert [it["result"] for it in results(player)] == ["You say Go.", "You say Go on."]


@pytest.mark.parametrize("background", [False, True])
def test_a_subagent_that_does_nothing_costs_nothing(cwd: Path, background: bool) -> None:
    async def work(chat: Chat) -> None:
        if chat.text:
            await chat.subagent("Explore", "Look", nothing, background=background)

    async def nothing(chat: Chat) -> None:
        pass

    player = played(work, cwd, "Go.")
    (ended,) = [it for it in heard(player) if it.get("subtype") == "task_notification"]
    assert ended["usage"] == {"total_tokens": 0, "tool_uses": 0, "duration_ms": 0}
    told = "subagent_tokens>0<" if background else "subagent_tokens: 0\\n"
    assert told in "".join(player.lines)


@pytest.mark.parametrize("version", ["2.0.76", "2.1.325"])
def test_what_a_subagent_says_and_is_told_carries_its_name(cwd: Path, version: str) -> None:
    async def work(chat: Chat) -> None:
        await chat.subagent("Explore", "Look", reads, description="Looks")

    player = played(work, cwd, "Go.", version=version)
    names = ("subagent_type", "task_description")
    told = [it for it in heard(player, "assistant", "user") if it.get("parent_tool_use_id")]
    assert {it["type"] for it in told} == {"assistant", "user"}
    narrates = version == "2.1.325"
    assert {tuple(it.get(name) for name in names) for it in told} == {
        ("Explore", "Looks") if narrates else (None, None)
    }
    assert len({it.get("agent_id") for it in told}) == 1
    assert ("agent_id" in told[0]) is narrates


def test_a_subagent_is_neither_announced_nor_streamed(cwd: Path) -> None:
    async def work(chat: Chat) -> None:
        await chat.subagent("Explore", "Look", reads)

    told = heard(played(work, cwd, "Go.", argv=["--include-partial-messages"]))
    assert len([it for it in told if it.get("status") == "requesting"]) == 1
    events = [it["event"] for it in told if it["type"] == "stream_event"]
    assert [it["type"] for it in events].count("message_start") == 1


def test_in_a_dialect_that_streams_a_subagent_is_not_streamed(cwd: Path) -> None:
    async def work(chat: Chat) -> None:
        await chat.subagent("Explore", "Look", reads)

    told = heard(played(work, cwd, "Go.", dialect="legacy"), "stream")
    assert "input_json_delta" in str(told)
    assert "after" not in str(told)


@pytest.mark.parametrize("version", ["2.1.100", "2.1.325"])
def test_a_subagent_that_is_stopped_has_no_end(cwd: Path, version: str) -> None:
    async def work(chat: Chat) -> None:
        if chat.text == "Go.":
            await chat.subagent("Explore", "Look", waits, background=True)

    async def waits(chat: Chat) -> None:
        await Wait("job:go on")

    player = Player(work, cwd, version=version)
    player.turn("Go.")
    (id,) = player.engine.session.tasks
    player.ask(StopTask(id), StopTask("none"), StopTask(id))
    answers = [it["response"]["subtype"] for it in heard(player, "control_response")]
    tells = version == "2.1.325"
    assert answers == (["success"] * 3 if tells else ["success", "error", "error"])
    told = [it["status"] for it in heard(player) if it.get("subtype") == "task_notification"]
    assert told == (["stopped"] if tells else [])
    seen = len(player.lines)
    player.feed(b"")
    if not tells:  # nobody has told it
        assert player.lines[seen:] == []
        player.engine.decide("job:go on", None)
        player.catch_up()
    assert "task_notification" not in "".join(player.lines[seen:])
    assert player.lines[-1] == "= exit 0"


def test_work_that_is_stopped_after_the_session_was_ended_does_not_keep_it_alive(cwd: Path) -> None:
    async def work(chat: Chat) -> None:
        await chat.subagent("Explore", "Look", waits, background=True)

    async def waits(chat: Chat) -> None:
        await Wait("job:what never comes")

    player = Player(work, cwd)
    player.turn("Go.")
    (id,) = player.engine.session.tasks
    requests = {"a": {"subtype": "end_session"}, "b": {"subtype": "stop_task", "task_id": id}}
    lines = [
        {"type": "control_request", "request_id": name, "request": request}
        for name, request in requests.items()
    ]
    player.feed(b"".join(json.dumps(it).encode() + b"\n" for it in lines))
    assert "= exit 0" in player.lines


# --- commands -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "name", "sign"),
    [
        ("/clear", "clear", '"new_conversation_id"'),
        ("/reset", "reset", '"new_conversation_id"'),
        ("/new x", "new", '"new_conversation_id"'),
        ("/cost", "cost", "Total cost:"),
        ("/usage", "usage", "Total cost:"),
        ("/stats  x ", "stats", "Total cost:"),
        ("/context", "context", "## Context Usage"),
        ("/compact", "compact", "compact_boundary"),
        ("/vim", None, "/vim isn't available in this environment."),
        ("/vim x", None, "/vim isn't available in this environment."),
        ("/other", None, "You say /other"),
        ("clear", None, "You say clear"),
    ],
)
def test_a_command_of_the_cli_has_other_names(
    cwd: Path, prompt: str, name: str | None, sign: str
) -> None:
    async def work(chat: Chat) -> None:
        await chat.say(f"You say {chat.text}")

    player = played(work, cwd, prompt)
    (result,) = results(player)
    assert result.get("local_command") == name
    assert sign in player.text


# --- what is told of prompts ----------------------------------------------------------------------


def test_only_the_first_message_of_a_turn_names_its_prompts(cwd: Path) -> None:
    async def work(chat: Chat) -> None:
        await chat.say("One.")
        await chat.use("Read", {})
        await chat.say("Two.")

    player = Player(work, cwd, argv=["--include-partial-messages"])
    player.turn("Go.", uuid=OTHER)
    names = ("user_message_uuid", "user_message_uuids")
    told = [(it.get(names[0]), it.get(names[1])) for it in heard(player, "assistant")]
    assert told == [(OTHER, [OTHER]), (None, None), (None, None)]
    starts = [
        {key: it[key] for key in (*names, "owed_rows") if key in it}
        for it in heard(player, "stream_event")
        if it["event"]["type"] == "message_start"
    ]
    assert starts == [{names[0]: OTHER, names[1]: [OTHER], "owed_rows": []}, {}]


@pytest.mark.parametrize("version", ["2.1.197", "2.1.325"])
def test_prompts_without_a_priority_have_turns_of_their_own(cwd: Path, version: str) -> None:
    async def work(chat: Chat) -> None:
        if chat.text == "first":
            await Wait("job:go on")
        await chat.say(chat.text)

    player = Player(work, cwd, version=version)
    player.turn("first", "second", "third")
    player.turn("fourth", "fifth", priority="later")
    player.engine.decide("job:go on", None)
    player.catch_up()
    last = ["fourth\nfifth"] if version == "2.1.325" else ["fourth", "fifth"]
    assert [it["result"] for it in results(player)] == ["first", "second", "third", *last]


def test_a_title_is_not_mirrored_as_a_transcript(cwd: Path) -> None:
    player = played(speaks, cwd, "Go.", argv=["--session-mirror"])
    player.ask(RenameSession("A title"))
    told = heard(player, "transcript_mirror")
    assert {it["filePath"].rpartition(".")[2] for it in told} == {"jsonl"}
    assert "custom-title" in str(told)


# --- servers that fail ----------------------------------------------------------------------------


async def calls(chat: Chat) -> None:
    await chat.call("calc", "add", {"a": 1, "b": 2})


WAYS: dict[str, Callable[[Player], None]] = {
    "calls": lambda player: player.turn("Go."),
    "is asked to call": lambda player: player.ask(McpCall("mcp__calc__add")),
    "is asked to read": lambda player: player.ask(McpReadResource("calc", "a:b")),
    "connects": lambda player: player.ask(Initialize(sdk_mcp_servers=["calc"])),
}
TOLD = {
    ("calls", "refuses"): "no",
    ("calls", "ends"): "MCP error: StreamClosed",
    ("calls", "is silent"): "MCP error: TimedOut",
    ("is asked to call", "refuses"): "[{'type': 'text', 'text': 'no'}]",
    ("is asked to call", "ends"): None,  # nobody hears the answer
    ("is asked to call", "is silent"): "[{'type': 'text', 'text': 'MCP error: TimedOut'}]",
    ("is asked to read", "refuses"): "Cannot read a:b: no",
    ("is asked to read", "ends"): None,
    ("is asked to read", "is silent"): "Cannot read a:b: ",
    ("connects", "refuses"): "MCP server calc: no",
    ("connects", "ends"): "MCP server calc: StreamClosed",
    ("connects", "is silent"): "MCP server calc: TimedOut",
}


@pytest.mark.parametrize(("does", "how"), TOLD)
def test_a_server_that_does_not_answer_is_told_of(cwd: Path, does: str, how: str) -> None:
    player = Player(calls, cwd)
    if does != "connects":
        player.ask(Initialize(sdk_mcp_servers=["calc"]))
    known, time = len(player.lines), player.engine.clock()

    def serve(body: McpMessage) -> Any:
        if how == "refuses":
            raise ValueError("no")
        if how == "ends":
            player.engine.feed(b"")
        return NotImplemented

    player.serve[McpMessage] = serve
    WAYS[does](player)
    last = player.lines[-2:]
    told = TOLD[does, how]
    assert told is None or f"! {told}" in last or f'"{told}"' in "".join(player.lines[known:])
    assert ("= exit 0" in last) is (how == "ends")
    assert player.engine.clock() - time == (60 if how == "is silent" else 0)


def test_a_server_that_is_a_program_is_started_with_all_variables(
    cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []

    def connect(*given: Any) -> Any:
        started.append(given)
        raise ServerError("not now")

    monkeypatch.setattr("claudewire.simulator.servers.connect_external", connect)
    config = {"command": "x"}
    argv = [
        *("--mcp-config", json.dumps({"mcpServers": {"calc": config, "own": {"type": "sdk"}}})),
        *("--settings", json.dumps({"env": {"B": "3", "C": "4"}})),
    ]
    player = Player(calls, cwd, argv=argv, env={"A": "1", "B": "2"})
    client = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "claude-code", "version": "2.1.325"},
    }
    folder = {"CLAUDE_CONFIG_DIR": str(cwd.parent / "config")}
    env = {"PATH": os.defpath, **folder, "A": "1", "B": "3", "C": "4"}
    assert started == [(config, client, env, str(cwd))]
    state = player.engine.session.servers["calc"]
    assert (state.source, state.status, state.error) == ("dynamic", "failed", "not now")
    assert list(player.engine.session.servers) == ["calc"]


def test_a_manifest_without_tools_saves_no_handshake(cwd: Path) -> None:
    player = Player(calls, cwd)
    manifests = {"calc": McpServerManifest({}, tools_list_result=None)}
    player.ask(Initialize(sdk_mcp_servers=["calc"], sdk_mcp_server_manifests=manifests))
    asked = [it["request"]["message"]["method"] for it in heard(player, "control_request")]
    assert asked == ["initialize", "notifications/initialized", "tools/list"]


def test_what_is_asked_of_a_server_has_what_was_not_said(cwd: Path) -> None:
    seen: list[Any] = []

    def serve(body: McpMessage) -> McpResponse:
        seen.append(body.message.get("params"))
        contents = [{"text": "x"}, {"uri": "c:d", "mimeType": "m"}]
        return McpResponse({"result": {"contents": contents, "tools": [{"name": "add"}]}})

    player = Player(calls, cwd, serve={McpMessage: serve})
    player.ask(Initialize(sdk_mcp_servers=["calc"]))
    player.ask(McpCall("mcp__calc__add"), McpReadResource("calc", "a:b"))
    assert seen[-2]["arguments"] == {}
    answer = heard(player, "control_response")[-1]["response"]["response"]
    assert answer["contents"] == [
        {"uri": "a:b", "text": "x"},
        {"uri": "c:d", "mimeType": "m"},
    ]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            {"content": "a", "structuredContent": {"b": 1}},
            {"content": "a", "structuredContent": {"b": 1}},
        ),
        ({"content": [], "isError": False}, {"content": []}),
        ({"content": "a", "isError": True}, "a"),
        ({"isError": True}, "None"),
    ],
)
def test_what_a_tool_gives_that_is_called_without_the_model(
    cwd: Path, answer: dict[str, Any], told: Any
) -> None:
    def serve(body: McpMessage) -> McpResponse:
        listed = {"tools": [{"name": "add"}]}
        return McpResponse({"result": answer if body.message["method"] == "tools/call" else listed})

    player = Player(calls, cwd, serve={McpMessage: serve})
    player.ask(Initialize(sdk_mcp_servers=["calc"]), McpCall("mcp__calc__add", {"a": 1}))
    response = heard(player, "control_response")[-1]["response"]
    assert response.get("response", response.get("error")) == told


def test_the_name_of_a_tool_may_have_what_divides_names(cwd: Path) -> None:
    async def work(chat: Chat) -> None:
        await chat.call("calc", "add__two", {})

    player = Player(work, cwd)
    player.turn("Go.")
    asked, called = (it["request"] for it in heard(player, "control_request"))
    assert (asked["display_name"], asked["mcp_server"]["name"]) == ("Add__Two", "calc")
    assert (called["server_name"], called["message"]["params"]["name"]) == ("calc", "add__two")
    (said,) = heard(player, "assistant")
    names = {"display_name": "Add__Two", "server_display_name": "calc", "tool_name": "add__two"}
    assert said["tool_use_meta"] == [{"id": said["message"]["content"][0]["id"], **names}]


# --- permissions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"content": []},
        {"content": [5]},
        {"content": [{}]},
        {"content": [{"text": 5}]},
        {"content": [{"text": "no JSON"}]},
        {"content": [{"text": '{"behavior": "odd"}'}]},
    ],
)
def test_a_tool_that_decides_on_permissions_and_answers_oddly_denies(
    cwd: Path, answer: dict[str, Any]
) -> None:
    outcomes = []

    async def work(chat: Chat) -> None:
        outcomes.append((await chat.use("Bash", {"command": "ls"})).text)

    def serve(body: McpMessage) -> McpResponse:
        listed = {"tools": [{"name": "permit"}]}
        calls = body.message["method"] == "tools/call"
        return McpResponse({"result": answer if calls else listed})

    tool = "--permission-prompt-tool=mcp__calc__permit"
    played(work, cwd, "Go.", argv=[tool], serve={McpMessage: serve})
    assert outcomes == ["The answer of mcp__calc__permit is not valid"]


def test_a_rule_that_denies_is_not_one_that_allows(cwd: Path) -> None:
    async def work(chat: Chat) -> None:
        for _ in range(2):
            await chat.use("Bash", {"command": "ls"})

    rule = AddRules([PermissionRule("Bash")], "deny", "session")
    answer = PermissionResultAllow({}, updated_permissions=[rule])
    player = played(work, cwd, "Go.", serve={CanUseTool: lambda body: answer})
    assert len(heard(player, "control_request")[3:]) == 2


@pytest.mark.parametrize(("command", "rule"), [("ls", {"ruleContent": "ls"}), (5, {}), (None, {})])
def test_a_rule_is_suggested_for_a_command_that_is_one(
    cwd: Path, command: Any, rule: dict[str, str]
) -> None:
    async def work(chat: Chat) -> None:
        await chat.use("Bash", {"command": command})

    (*_, asked) = heard(played(work, cwd, "Go."), "control_request")
    (suggested,) = asked["request"]["permission_suggestions"]
    assert suggested["rules"] == [{"toolName": "Bash", **rule}]


def test_a_server_that_nobody_has_named_is_one_of_the_application(cwd: Path) -> None:
    player = Player(calls, cwd)
    player.turn("Go.")
    asked, *_ = heard(player, "control_request")
    assert asked["request"]["mcp_server"] == {"name": "calc", "source": "sdk"}


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["silent"], "The hook did not respond before its timeout"),
        (["silent", "fails"], "The hook did not respond before its timeout"),
        (["fails"], None),
        (["blocks", "fails"], "A hook failed: no"),
        (["fails", "blocks", "says nothing"], "A hook failed: no"),
    ],
)
def test_a_hook_that_fails_blocks_whatever_those_after_it_say(
    cwd: Path, names: list[str], told: str | None
) -> None:
    outcomes = []

    async def work(chat: Chat) -> None:
        outcomes.append((await chat.use("Read", {})).text)

    def answer(body: HookCallback) -> Any:
        if body.callback_id in ("fails", "blocks"):
            raise ValueError("no")
        return NotImplemented if body.callback_id == "silent" else HookOutput()

    player = Player(work, cwd, serve={HookCallback: answer})
    hooks = [HookMatcher([it], on_failure="block" if it == "blocks" else None) for it in names]
    player.ask(Initialize(hooks={"PreToolUse": hooks}))
    player.turn("Go.")
    assert outcomes == [f"PreToolUse:Read hook error: {told}" if told else "ok"]


@pytest.mark.parametrize(
    ("commands", "has_output"),
    [
        (["true"], False),
        (["echo a"], True),
        (["echo a", "true"], True),
        (["true", "echo a >&2"], True),
    ],
)
def test_what_is_kept_of_commands_at_the_end_says_whether_one_has_printed_anything(
    cwd: Path, commands: list[str], has_output: bool
) -> None:
    hooks = [{"type": "command", "command": it} for it in commands]
    settings = json.dumps({"hooks": {"Stop": [{"hooks": hooks}]}})
    player = played(speaks, cwd, "Go.", argv=["--settings", settings])
    (kept,) = [it for it in player.lines if "stop_hook_summary" in it]
    assert f'"hasOutput": {json.dumps(has_output)}' in kept
    assert f'"hookCount": {len(commands)}' in kept


@pytest.mark.parametrize("dialect", ["session", "legacy", "envelope"])
def test_an_interrupt_ends_the_turn_in_every_dialect(cwd: Path, dialect: str) -> None:
    async def work(chat: Chat) -> None:
        await chat.say("One.")
        await Wait("what never comes")

    player = Player(work, cwd, dialect=dialect)
    player.ask(Initialize())
    player.turn("Go.")
    known = len(heard(player))
    player.ask(Interrupt())
    _, *told = heard(player)[known:]
    assert [it["type"] for it in told] == {
        "session": ["result"],
        "legacy": ["user", "system", "result"],
        "envelope": ["assistant"] * 4,
    }[dialect]
    last = told[-1]
    assert last.get("message", last)["stop_reason"] == "end_turn"
    assert last.get("terminal_reason", "aborted_streaming") == "aborted_streaming"


def test_the_progress_of_prompts_is_told(cwd: Path) -> None:
    async def work(chat: Chat) -> None:
        if chat.text == "first":
            await Wait("what never comes")

    player = Player(work, cwd)
    ids = [ID[:-1] + str(at) for at in range(3)]
    player.turn("first", uuid=ids[0])
    for id in ids[1:]:
        player.turn("next", uuid=id, priority="next")
    player.ask(Interrupt())
    told = [it for it in heard(player) if "command_uuid" in it]
    assert [(ids.index(it["command_uuid"]), it["state"]) for it in told] == [
        (0, "queued"),
        (0, "started"),
        (1, "queued"),
        (2, "queued"),
        (0, "cancelled"),
        (1, "started"),
        (2, "started"),
        (1, "completed"),
        (2, "completed"),
    ]


@pytest.mark.parametrize(
    ("argv", "again"),
    [
        (["--allow-dangerously-skip-permissions"], True),
        (["--dangerously-skip-permissions"], True),
        (["--permission-mode", "bypassPermissions"], False),
    ],
    ids=str,
)
def test_who_has_left_the_mode_that_bypasses_permissions_may_have_to_stay_out(
    cwd: Path, argv: list[str], again: bool
) -> None:
    player = Player(speaks, cwd, argv=argv)
    for mode in ("bypassPermissions", "default", "bypassPermissions"):
        player.ask(SetPermissionMode(mode))
    told = [it["response"]["subtype"] for it in heard(player, "control_response")]
    assert told == ["success", "success", "success" if again else "error"]
    assert player.engine.session.mode == ("bypassPermissions" if again else "default")


def test_an_interrupt_names_only_what_waits_and_has_a_name(cwd: Path) -> None:
    async def work(chat: Chat) -> None:
        await Wait("what never comes")

    player = Player(work, cwd)
    player.turn("first", "nameless")
    player.engine.wake_up(None)
    player.turn("third", uuid=OTHER)
    player.ask(Interrupt())
    (answer,) = heard(player, "control_response")
    assert answer["response"]["response"]["still_queued"] == [OTHER]
