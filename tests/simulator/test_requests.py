"""What the simulated CLI does with the requests of the application."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.helpers.talk import Talk, allow, bodies, calculator, kinds, only, said, told

from claudewire.simulator import Chat, SimulatedCLI
from claudewire.simulator.session import ServerState
from claudewire.wire import (
    AddRules,
    Answer,
    ApplyFlagSettings,
    BackgroundTasks,
    Body,
    Cancel,
    CancelAsyncMessage,
    CanUseTool,
    EndSession,
    Failure,
    FileSuggestions,
    GenerateSessionTitle,
    GetBinaryVersion,
    GetContextUsage,
    GetHooksListing,
    GetSessionCost,
    GetSettings,
    GetTaskOutput,
    GetUsage,
    Initialize,
    Interrupt,
    InterruptResult,
    ListModels,
    ListPermissionRules,
    McpCall,
    McpMessage,
    McpReadResource,
    McpReconnect,
    McpResponse,
    McpServerManifest,
    McpSetServers,
    McpStatus,
    McpToggle,
    PermissionResultAllow,
    PermissionRule,
    ReadFile,
    RegisterRepoRoot,
    ReloadOutputStyles,
    ReloadPlugins,
    ReloadSkills,
    RenameSession,
    ResultMessage,
    SeedReadState,
    SetColor,
    SetHasSubscribers,
    SetMaxThinkingTokens,
    SetModel,
    SetPermissionMode,
    SideQuestion,
    StatusMessage,
    StopTask,
    TaskStartedMessage,
    UnknownRequest,
    UpdateSettings,
    UserMessage,
)

pytestmark = pytest.mark.anyio

ONE = "11111111-1111-4111-8111-111111111111"
TWO = "22222222-2222-4222-8222-222222222222"


async def play(chat: Chat) -> None:
    if chat.text.startswith("make"):
        await chat.use("Bash", {"command": chat.text}, result="made")
    elif chat.text == "sleep":
        await chat.say("I'll take a nap.")
        await chat.sleep(3600)
    elif chat.text == "task":
        chat.start_task("a long build")
    await chat.say(f"You said {chat.text}.")


async def granted(talk: Talk, body: Body) -> Any:
    answer = await talk.ask(body)
    assert isinstance(answer, Answer), answer
    assert answer.problems == ()
    return answer.body


async def refused(talk: Talk, body: Body) -> Failure:
    answer = await talk.ask(body)
    assert isinstance(answer, Failure), answer
    return answer


# --- every one is answered ------------------------------------------------------------------------

ANSWERED: list[Body] = [
    Initialize(),
    Interrupt(),
    SetPermissionMode("plan"),
    SetModel("haiku"),
    SetMaxThinkingTokens(1000),
    RenameSession("title"),
    GenerateSessionTitle("a description that is too long for a title, " * 2),
    GetContextUsage(),
    GetSessionCost(),
    GetUsage(),
    ListModels(),
    GetBinaryVersion(),
    SideQuestion("what is it?"),
    McpStatus(),
    McpSetServers({}),
    FileSuggestions("a"),
    CancelAsyncMessage(ONE),
    SeedReadState("a.txt", 1),
    RegisterRepoRoot("/tmp"),
    ReloadPlugins(),
    ReloadSkills(),
    ReloadOutputStyles(),
    SetHasSubscribers(True),
    StopTask("unknown"),
    BackgroundTasks(),
    ApplyFlagSettings({"a": 1}),
    UpdateSettings("localSettings", {}),
    GetSettings(),
    GetHooksListing(),
    ListPermissionRules(),
    McpMessage("calc", {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
]


@pytest.mark.parametrize("body", ANSWERED, ids=lambda body: type(body).__name__)
async def test_a_request_is_answered_in_the_form_that_is_declared(
    tmp_path: Path, body: Body
) -> None:
    talk = Talk(SimulatedCLI(play, cwd=tmp_path))
    await granted(talk, body)
    assert (await talk.turn("hello"))[-1].ok
    assert await talk.end() == 0


async def test_with_its_welcome_the_cli_says_that_it_is_not_asking_anything() -> None:
    answer = await Talk(SimulatedCLI(play)).ask(Initialize())
    assert isinstance(answer, Answer)
    assert answer.pending == ()


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (SetColor("red"), "set_color"),
        (UnknownRequest({"subtype": "make_coffee"}), "make_coffee"),
        (CanUseTool("Bash", {}), "can_use_tool"),
    ],
    ids=["set_color", "unknown", "can_use_tool"],
)
async def test_what_is_not_supported_is_refused_by_name(body: Body, name: str) -> None:
    failure = await refused(Talk(SimulatedCLI(play)), body)
    assert failure.error == f"Unsupported control request subtype: {name}"
    assert failure.code == "unsupported_request"


# --- interrupt ------------------------------------------------------------------------------------


async def test_an_interrupt_while_a_permission_is_pending_goes_in_this_order() -> None:
    talk = Talk(SimulatedCLI(play))
    await talk.say(UserMessage.of("make"))
    id, _ = await talk.request(CanUseTool)
    since = len(talk.heard)
    assert await granted(talk, Interrupt()) == InterruptResult(still_queued=[])
    await talk.until_result(since)
    events = talk.heard[since:]
    shown = [it for it in events if kinds([it]) not in (["command_lifecycle"],)]
    assert kinds(shown) == [
        "control_cancel_request",
        "control_response",
        "user",
        "user",
        "result/error_during_execution",
    ]
    assert only(events, Cancel)[0].id == id
    rejection, words = only(events, UserMessage)
    assert "The user doesn't want to proceed" in told([rejection])[0]
    assert words.text == "[Request interrupted by user for tool use]"
    result = events[-1]
    assert (result.is_error, result.terminal_reason) == (True, "aborted_tools")
    assert [it.tool_name for it in result.permission_denials] == ["Bash"]
    assert await talk.end() == 1


async def test_an_answer_that_comes_after_the_interrupt_is_ignored() -> None:
    talk = Talk(SimulatedCLI(play))
    await talk.say(UserMessage.of("make"))
    id, _ = await talk.request(CanUseTool)
    await granted(talk, Interrupt())
    await talk.until_result()
    late = b'{"type":"control_response","response":{"subtype":"success","request_id":"%s"}}'
    await talk.write(late % id.encode())
    assert said(await talk.turn("hello")) == ["You said hello."]


async def test_an_interrupt_while_the_model_speaks_stops_it() -> None:
    talk = Talk(SimulatedCLI(play))
    await talk.say(UserMessage.of("sleep"))
    await talk.until(lambda it: kinds([it]) == ["assistant"])
    since = len(talk.heard)
    await granted(talk, Interrupt())
    turn = await talk.until_result(since)
    (words,) = only(turn, UserMessage)
    assert words.text == "[Request interrupted by user]"
    assert turn[-1].terminal_reason == "aborted_streaming"
    assert said(await talk.turn("hello")) == ["You said hello."]
    assert await talk.end() == 0


async def test_an_interrupt_while_a_tool_runs_says_that_it_may_have_run() -> None:
    async def slow(chat: Chat) -> None:
        await chat.use("Read", {"file_path": "a"}, seconds=3600)

    talk = Talk(SimulatedCLI(slow))
    await talk.say(UserMessage.of("go"))
    await talk.until(lambda it: kinds([it]) == ["assistant"])
    await granted(talk, Interrupt())
    turn = await talk.until_result()
    assert "stopped while running" in told(turn)[0]
    assert turn[-1].permission_denials == []


async def test_an_interrupt_while_nothing_happens_succeeds() -> None:
    talk = Talk(SimulatedCLI(play))
    assert await granted(talk, Interrupt()) == InterruptResult(still_queued=[])
    assert await granted(talk, Interrupt(cancel_queued=True)) == InterruptResult([], cancelled=[])
    assert await talk.end() == 0
    assert only(talk.heard, ResultMessage) == []


async def test_prompts_that_are_queued_survive_an_interrupt() -> None:
    talk = Talk(SimulatedCLI(play))
    await talk.say(UserMessage.of("make"))
    await talk.request(CanUseTool)
    await talk.say(UserMessage.of("next", uuid=ONE))
    assert await granted(talk, Interrupt()) == InterruptResult(still_queued=[ONE])
    turn = await talk.until_result()
    assert said(await talk.until_result()) == ["You said next."]
    assert turn[-1].is_error
    assert await talk.end() == 0


async def test_prompts_that_are_queued_can_be_dropped_with_an_interrupt() -> None:
    talk = Talk(SimulatedCLI(play))
    await talk.say(UserMessage.of("make"))
    await talk.request(CanUseTool)
    for text, uuid in (("next", ONE), ("last", TWO)):
        await talk.say(UserMessage.of(text, uuid=uuid))
    receipt = await granted(talk, Interrupt(cancel_queued=True))
    assert receipt == InterruptResult([], cancelled=[ONE, TWO])
    assert await talk.end() == 1
    assert len(only(talk.heard, ResultMessage)) == 1
    assert talk.connection.unanswered_prompts == 0


async def test_a_prompt_that_is_queued_can_be_dropped_alone() -> None:
    talk = Talk(SimulatedCLI(play))
    await talk.say(UserMessage.of("make"))
    id, _ = await talk.request(CanUseTool)
    await talk.say(UserMessage.of("next", uuid=ONE))
    assert (await granted(talk, CancelAsyncMessage(TWO))).cancelled is False
    assert (await granted(talk, CancelAsyncMessage(ONE))).cancelled is True
    await talk.say(Answer(id, PermissionResultAllow({})))
    assert await talk.end() == 0
    assert said(talk.heard) == ["You said make."]


# --- changes --------------------------------------------------------------------------------------


async def test_a_mode_is_set_and_announced_and_holds() -> None:
    talk = Talk(SimulatedCLI(play), {CanUseTool: allow})
    assert (await granted(talk, SetPermissionMode("acceptEdits"))).mode == "acceptEdits"
    turn = await talk.turn("hello")
    (status,) = only(talk.heard, StatusMessage)
    assert status.permission_mode == "acceptEdits"
    assert [it.permission_mode for it in turn if kinds([it]) == ["system/init"]] == ["acceptEdits"]


@pytest.mark.parametrize(
    ("argv", "may"),
    [
        ([], False),
        (["--allow-dangerously-skip-permissions"], True),
        (["--dangerously-skip-permissions"], True),
        (["--permission-mode", "bypassPermissions"], True),
    ],
    ids=str,
)
async def test_permissions_are_bypassed_only_if_it_was_launched_so(
    argv: list[str], may: bool
) -> None:
    talk = Talk(SimulatedCLI(play, argv=argv))
    if may:
        await granted(talk, SetPermissionMode("bypassPermissions"))
        assert bodies(await talk.turn("make"), CanUseTool) == []
    else:
        failure = await refused(talk, SetPermissionMode("bypassPermissions"))
        assert failure.code == "bypass_not_launched"
        assert only(talk.heard, StatusMessage) == []


async def test_the_answer_to_a_new_model_names_it_in_full() -> None:
    talk = Talk(SimulatedCLI(play))
    assert (await granted(talk, SetModel("haiku"))).model.startswith("claude-haiku")


async def test_settings_are_merged_and_a_null_takes_one_away() -> None:
    talk = Talk(SimulatedCLI(play))
    await granted(talk, ApplyFlagSettings({"a": 1, "b": 2}))
    await granted(talk, ApplyFlagSettings({"a": None}))
    settings = await granted(talk, GetSettings())
    assert settings.effective == {"b": 2}
    assert [(it.source, it.settings) for it in settings.sources] == [("flagSettings", {"b": 2})]
    assert settings.applied["model"].startswith("claude-")


async def test_ending_the_session_answers_and_exits() -> None:
    talk = Talk(SimulatedCLI(play))
    await talk.turn("hello")
    await granted(talk, EndSession("enough"))
    assert await talk.rest() == 0


async def test_ending_the_session_fails_what_waits_and_drops_what_is_queued() -> None:
    talk = Talk(SimulatedCLI(play))
    await talk.say(UserMessage.of("make"))
    await talk.request(CanUseTool)
    await talk.say(UserMessage.of("next", priority="later"))
    await granted(talk, EndSession())
    assert await talk.rest() == 0
    assert "stream closed" in told(talk.heard)[0]
    assert len(only(talk.heard, ResultMessage)) == 1


# --- reports --------------------------------------------------------------------------------------


async def test_the_session_tells_what_it_has_cost() -> None:
    talk = Talk(SimulatedCLI(play))
    cost = (await talk.turn("hello"))[-1].total_cost_usd
    assert (await granted(talk, GetSessionCost())).text == f"${cost:.4f}"
    usage = await granted(talk, GetUsage())
    assert usage.session.total_cost_usd == cost


async def test_models_and_the_version_are_told() -> None:
    talk = Talk(SimulatedCLI(play))
    offered = await talk.initialize()
    models = (await granted(talk, ListModels())).models
    assert models == offered.models
    assert {"sonnet", "opus", "haiku"} <= {it.value for it in models}
    assert (await granted(talk, GetBinaryVersion())).version == "2.1.325"


async def test_all_hook_events_are_listed() -> None:
    listing = await granted(Talk(SimulatedCLI(play)), GetHooksListing())
    assert len(listing.events) == 33


async def test_the_rules_in_effect_are_listed() -> None:
    def remember(body: CanUseTool) -> PermissionResultAllow:
        rule = AddRules([PermissionRule("Bash", "make:*")], "allow", "session")
        return PermissionResultAllow(body.input, [rule])

    argv = ["--allowed-tools", "Edit", "--disallowed-tools", "WebFetch"]
    talk = Talk(SimulatedCLI(play, argv=argv), {CanUseTool: remember})
    await talk.turn("make")
    state = (await granted(talk, ListPermissionRules())).state
    rules = [(it.rule, it.behavior) for it in state.rules]
    assert rules == [("Edit", "allow"), ("Bash(make:*)", "allow"), ("WebFetch", "deny")]


async def test_files_are_read_and_suggested(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(b"caf\xc3\xa9")
    talk = Talk(SimulatedCLI(play, cwd=tmp_path))
    whole = await granted(talk, ReadFile("notes.txt"))
    assert (whole.contents, whole.abs_path) == ("café", str(tmp_path / "notes.txt"))
    assert whole.truncated is None
    part = await granted(talk, ReadFile("notes.txt", max_bytes=2, encoding="base64"))
    assert (part.contents, part.truncated, part.encoding) == ("Y2E=", True, "base64")
    assert "No such file" in (await refused(talk, ReadFile("missing"))).error
    suggested = await granted(talk, FileSuggestions("NOTE"))
    assert [it.path for it in suggested.suggestions] == ["notes.txt"]


async def test_the_output_of_a_task_can_be_asked_for() -> None:
    talk = Talk(SimulatedCLI(play))
    (task,) = only(await talk.turn("task"), TaskStartedMessage)
    assert (await granted(talk, GetTaskOutput(task.task_id))).truncated is False
    assert "unknown" in (await refused(talk, GetTaskOutput("unknown"))).error


# --- servers --------------------------------------------------------------------------------------


async def test_servers_are_seen_and_can_be_replaced() -> None:
    talk = Talk(SimulatedCLI(play), {McpMessage: calculator})
    await talk.initialize(sdk_mcp_servers=["calc"])
    await talk.turn("hello")
    (status,) = (await granted(talk, McpStatus())).mcp_servers
    assert (status.name, status.status) == ("calc", "connected")
    await granted(talk, McpReconnect("calc"))
    await granted(talk, McpToggle("calc", enabled=False))
    servers = {"more": {"type": "sdk", "name": "more"}, "web": {"type": "http", "url": "x"}}
    changed = await granted(talk, McpSetServers(servers))
    assert (changed.added, changed.removed) == (["more", "web"], ["calc"])
    assert list(changed.errors) == ["web"]
    turn = await talk.turn("hello")
    tools = next(it.tools for it in turn if kinds([it]) == ["system/init"])
    assert [it for it in tools if it.startswith("mcp")] == ["mcp__more__add"]
    assert "Server not found: calc" in (await refused(talk, McpReconnect("calc"))).error
    assert "Server not found: x" in (await refused(talk, McpToggle("x", enabled=True))).error


class External:
    """A server outside of the application."""

    closed = 0

    def request(self, method: str, params: Any, seconds: float = 0.0) -> dict[str, Any]:
        return {}

    def notify(self, method: str) -> None:
        pass

    def close(self) -> None:
        self.closed += 1


async def test_a_server_that_is_taken_away_is_ended_once() -> None:
    cli = SimulatedCLI(play)
    talk = Talk(cli)
    taken, kept = External(), External()
    for name, server in (("taken", taken), ("kept", kept)):
        state = ServerState("dynamic", {"command": name})
        state.connected([])
        state.server = server
        assert cli.engine is not None
        cli.engine.session.servers[name] = state
    changed = await granted(talk, McpSetServers({"kept": {"command": "kept"}}))
    assert (changed.added, changed.removed, taken.closed, kept.closed) == ([], ["taken"], 1, 0)
    await talk.end()
    assert (taken.closed, kept.closed) == (1, 1)


async def test_a_server_that_cannot_be_reached_is_reported() -> None:
    def broken(body: McpMessage) -> McpResponse:
        raise ValueError("out of order")

    talk = Talk(SimulatedCLI(play), {McpMessage: broken})
    changed = await granted(talk, McpSetServers({"calc": {"type": "sdk", "name": "calc"}}))
    assert list(changed.errors) == ["calc"]
    (status,) = (await granted(talk, McpStatus())).mcp_servers
    assert (status.status, status.error) == ("failed", changed.errors["calc"])


async def test_a_tool_of_a_server_can_be_called_without_the_model() -> None:
    talk = Talk(SimulatedCLI(play), {McpMessage: calculator})
    await talk.initialize(sdk_mcp_servers=["calc"])
    await talk.turn("hello")
    result = await granted(talk, McpCall("mcp__calc__add", {"a": 1, "b": 2}))
    assert result.content == [{"type": "text", "text": "3"}]
    assert "KeyError" not in (await refused(talk, McpCall("mcp__calc__add", {}))).error
    assert "Tool not found" in (await refused(talk, McpCall("mcp__else__add"))).error
    assert "Tool not found" in (await refused(talk, McpCall("nonsense"))).error


async def test_a_resource_of_a_server_can_be_read() -> None:
    def serve(body: McpMessage) -> McpResponse:
        if body.message["method"] != "resources/read":
            return calculator(body)
        uri = body.message["params"]["uri"]
        if uri == "ui://broken":
            return McpResponse({"jsonrpc": "2.0", "id": 3, "error": "broken"})
        contents = [{"uri": uri, "mimeType": "text/html", "text": "<p>"}, "odd"]
        return McpResponse({"jsonrpc": "2.0", "id": 3, "result": {"contents": contents}})

    talk = Talk(SimulatedCLI(play), {McpMessage: serve})
    await talk.initialize(sdk_mcp_servers=["calc"])
    (content,) = (await granted(talk, McpReadResource("calc", "ui://page"))).contents
    assert (content.uri, content.mime_type, content.text) == ("ui://page", "text/html", "<p>")
    assert "broken" in (await refused(talk, McpReadResource("calc", "ui://broken"))).error


async def test_what_is_asked_of_a_server_ends_with_the_input() -> None:
    talk = Talk(SimulatedCLI(play), {McpMessage: calculator})
    await talk.initialize(sdk_mcp_servers=["calc"])
    await talk.turn("hello")
    del talk.serve[McpMessage]
    await talk.say(talk.connection.new_request(McpCall("mcp__calc__add", {})))
    await talk.request(McpMessage)
    assert await talk.end() == 0


async def test_prompts_wait_until_the_servers_are_known() -> None:
    talk = Talk(SimulatedCLI(play))
    await talk.say(talk.connection.new_request(Initialize(sdk_mcp_servers=["calc"])))
    await talk.say(UserMessage.of("hello"))
    id, body = await talk.request(McpMessage)
    assert not any(kinds([it]) == ["system/init"] for it in talk.heard)
    await talk.say(Answer(id, calculator(body)))
    talk.serve[McpMessage] = calculator
    turn = await talk.until_result()
    (init,) = [it for it in turn if kinds([it]) == ["system/init"]]
    assert "mcp__calc__add" in init.tools


async def test_a_manifest_saves_the_handshake() -> None:
    talk = Talk(SimulatedCLI(play))
    listed = {"tools": [{"name": "add"}]}
    manifests = {"calc": McpServerManifest({}, tools_list_result=listed)}
    await talk.initialize(sdk_mcp_servers=["calc"], sdk_mcp_server_manifests=manifests)
    turn = await talk.turn("hello")
    assert bodies(talk.heard, McpMessage) == []
    (init,) = [it for it in turn if kinds([it]) == ["system/init"]]
    assert "mcp__calc__add" in init.tools


@pytest.mark.parametrize(
    ("config", "names"),
    [
        (
            '{"mcpServers": {"calc": {"type": "sdk", "name": "calc"}, "x": {"command": "/x"}}}',
            ["x", "calc"],
        ),
        ('{"mcpServers": {}}', []),
    ],
)
async def test_servers_of_the_command_line_that_live_in_the_host_are_met(
    config: str, names: list[str]
) -> None:
    talk = Talk(SimulatedCLI(play, argv=["--mcp-config", config]), {McpMessage: calculator})
    await talk.initialize()
    turn = await talk.turn("hello")
    (init,) = [it for it in turn if kinds([it]) == ["system/init"]]
    assert [it.name for it in init.mcp_servers] == names


async def test_a_server_that_fails_while_nobody_waits_for_the_cli_is_not_missed() -> None:
    config = '{"mcpServers": {"x": {"command": "/x"}}}'
    cli = SimulatedCLI(play, argv=["--mcp-config", config])
    talk = Talk(cli, {})
    await talk.initialize()
    assert cli._engine is not None
    server = cli._engine.session.servers["x"]
    with anyio.fail_after(60):
        while server.status == "pending" and not cli._finished:
            await anyio.lowlevel.checkpoint()
    turn = await talk.turn("hello")
    (init,) = [it for it in turn if kinds([it]) == ["system/init"]]
    assert [(it.name, it.status) for it in init.mcp_servers] == [("x", "failed")]
