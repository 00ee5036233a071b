"""What the documents demand of the CLI itself, as the simulated one shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.helpers.talk import (
    Talk,
    allow,
    bodies,
    calculator,
    only,
    program,
    said,
    told,
    tool_results,
)
from trio.testing import MockClock

from claudewire.simulator import ARGV, Chat, SimulatedCLI
from claudewire.wire import (
    Answer,
    CanUseTool,
    EndOfStream,
    Event,
    Initialize,
    InitMessage,
    Interrupt,
    McpMessage,
    McpStatus,
    PermissionDeniedMessage,
    PermissionResultAllow,
    PermissionResultDeny,
    Request,
    ResultMessage,
    UserMessage,
)

pytestmark = pytest.mark.anyio

MAKE = {"command": "make"}
AN_HOUR = 3600.0

SPIES = """
import sys

seen = []
STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.system"}

def spy(event, args):
    if event in STARTS or event == "open" and args[0] == "/dev/tty":
        seen.append(event)

sys.addaudithook(spy)

async def play(chat):
    if chat.text == "add":
        await chat.call("calc", "add", {"a": 2, "b": 3})
    elif chat.text == "make":
        await chat.use("Bash", {"command": "make"}, result="made")
    elif chat.text == "spawn":
        import subprocess
        subprocess.run([sys.executable, "-S", "-c", ""], check=True)
    elif chat.text == "terminal":
        try:
            open("/dev/tty").close()
        except OSError:
            pass
    await chat.say(" ".join(seen) or "nothing")
"""
"""A scenario that says which programs the CLI has started, and whether it has used a terminal."""

FAILS = """
async def play(chat):
    raise RuntimeError("a bug to be found")
"""


def playing(folder: Path, text: str, dialect: str) -> dict[str, str]:
    """The environment in which the program plays a scenario."""
    (folder / "scenario.py").write_text(text, encoding="utf-8")
    scenario = str(folder / "scenario.py:play")
    return {"CLAUDEWIRE_SIM_SCENARIO": scenario, "CLAUDEWIRE_SIM_DIALECT": dialect}


def methods(events: list[Any], server: str) -> list[str]:
    """What a server was asked, in order."""
    asked = [it.message for it in bodies(events, McpMessage) if it.server_name == server]
    return [message["method"] for message in asked]


# --- the session ----------------------------------------------------------------------------------


@pytest.mark.shows("000-30")
async def test_the_session_stays_the_same_whatever_a_user_message_names() -> None:
    async def recall(chat: Chat) -> None:
        users = [entry["text"] for entry in chat.session.history if entry["type"] == "user"]
        await chat.say(" | ".join(users))

    names = ["11111111-1111-4111-8111-111111111111", "mine", ""]
    talk = Talk(SimulatedCLI(recall))
    for number, name in enumerate(names):
        await talk.turn(f"prompt {number}", session_id=name)
    assert [line["session_id"] for line in talk.wrote] == names
    ids = {it.raw["session_id"] for it in talk.heard if "session_id" in it.raw}
    assert len(only(talk.heard, InitMessage)) == len(names)
    assert len(ids) == 1
    assert ids.isdisjoint(names)
    assert said(talk.heard)[-1] == "prompt 0 | prompt 1 | prompt 2"


@pytest.mark.shows("004-40")
async def test_each_user_message_is_echoed() -> None:
    async def play(chat: Chat) -> None:
        if chat.text == "first":
            await chat.use("Bash", MAKE)

    talk = Talk(SimulatedCLI(play, dialect="envelope"), dialect="envelope")
    await talk.say(UserMessage.of("first"))
    id, _ = await talk.request(CanUseTool)
    await talk.say(UserMessage.of("meanwhile"))
    await talk.say(Answer(id, PermissionResultAllow(MAKE)))
    await talk.until_result()
    await talk.turn("afterwards")
    assert await talk.end() == 0
    echoes = [it.text for it in only(talk.heard, UserMessage) if not tool_results([it])]
    assert echoes == ["first", "meanwhile", "afterwards"]


# --- stdout and stderr ----------------------------------------------------------------------------


@pytest.mark.shows("001-4")
async def test_what_is_for_debugging_is_on_stderr_and_stdout_has_only_messages(
    tmp_path: Path,
) -> None:
    env = playing(tmp_path, FAILS, "session")
    async with program(*ARGV, "--debug", "--effort", "enormous", env=env) as process:
        talk = Talk(process, dialect="session")
        turn = await talk.turn("go")
        assert await talk.end() == 1
        errors = await talk.stderr()
    assert turn[-1].is_error
    assert "Unknown --effort value 'enormous'" in errors
    assert "Traceback" in errors
    assert 'raise RuntimeError("a bug to be found")' in errors
    *messages, end = talk.heard
    assert isinstance(end, EndOfStream)
    assert {it.raw["type"] for it in messages} == {"session.created", "system", "result"}
    assert not any(b"Traceback" in it.line or b"enormous" in it.line for it in messages)


# --- permissions ----------------------------------------------------------------------------------


@pytest.mark.shows("000-35")
async def test_the_cli_pauses_at_a_permission_and_goes_on_with_the_answer() -> None:
    did: list[str] = []

    def make(input: dict[str, Any]) -> str:
        did.append("ran")
        return "made"

    async def play(chat: Chat) -> None:
        await chat.use("Bash", MAKE, run=make)
        did.append("went on")
        await chat.say("done")

    talk = Talk(SimulatedCLI(play))
    await talk.say(UserMessage.of("go"))
    id, _ = await talk.request(CanUseTool)
    since = len(talk.heard)
    # It hears us, and answers; it has nothing else to say, and nothing is done.
    for _ in range(2):
        assert isinstance(await talk.ask(McpStatus()), Answer)
    assert [type(it) for it in talk.heard[since:]] == [Answer, Answer]
    assert did == []

    await talk.say(Answer(id, PermissionResultAllow(MAKE)))
    turn = await talk.until_result(since)
    assert did == ["ran", "went on"]
    assert (told(turn), said(turn)) == (["made"], ["done"])


@pytest.mark.shows("000-35")
@pytest.mark.parametrize(
    "anyio_backend", [("trio", {"clock": MockClock(autojump_threshold=0)})], ids=["jumping"]
)
async def test_the_cli_pauses_at_a_permission_as_long_as_it_takes() -> None:
    async def play(chat: Chat) -> None:
        await chat.use("Bash", MAKE, result="made")

    talk = Talk(SimulatedCLI(play), patience=AN_HOUR)
    await talk.say(UserMessage.of("go"))
    id, _ = await talk.request(CanUseTool)
    since = len(talk.heard)
    with pytest.raises(TimeoutError):
        await talk.listen()
    assert talk.heard[since:] == []
    await talk.say(Answer(id, PermissionResultAllow(MAKE)))
    assert told(await talk.until_result(since)) == ["made"]


@pytest.mark.shows("000-50")
async def test_the_reason_of_a_denial_reaches_the_model() -> None:
    heard: list[str] = []

    async def play(chat: Chat) -> None:
        heard.append((await chat.use("Bash", MAKE)).text)

    talk = Talk(SimulatedCLI(play), {CanUseTool: lambda _: PermissionResultDeny("not on a Sunday")})
    turn = await talk.turn("go")
    assert heard == ["not on a Sunday"]
    (result,) = tool_results(turn)
    assert (result.content, result.is_error) == ("not on a Sunday", True)


@pytest.mark.shows("004-52")
@pytest.mark.parametrize("allowed", [True, False])
async def test_a_tool_that_was_denied_is_not_run_and_the_user_is_told(
    tmp_path: Path, allowed: bool
) -> None:
    def decide(body: CanUseTool) -> PermissionResultAllow | PermissionResultDeny:
        return allow(body) if allowed else PermissionResultDeny("not in this folder")

    env = {"CLAUDEWIRE_SIM_DIALECT": "envelope"}
    async with program(*ARGV, cwd=tmp_path, env=env) as process:
        talk = Talk(process, {CanUseTool: decide}, dialect="envelope")
        turn = await talk.turn("write notes.txt: hello")
        assert await talk.end() == 0
    assert len(bodies(turn, CanUseTool)) == 1
    assert (tmp_path / "notes.txt").exists() is allowed
    (result,) = tool_results(turn)
    assert bool(result.is_error) is not allowed
    assert (told(turn) == ["not in this folder"]) is not allowed
    told_to_user = "I was not allowed to: not in this folder"
    assert (said(turn)[-1] == told_to_user) is not allowed


@pytest.mark.shows("002-31")
async def test_with_permissions_routed_to_the_host_it_is_asked_and_no_terminal_is(
    tmp_path: Path,
) -> None:
    env = playing(tmp_path, SPIES, "legacy")
    async with program(*ARGV, env=env) as process:
        talk = Talk(process, {CanUseTool: allow}, dialect="legacy")
        turn = await talk.turn("make")
        assert [it.tool_name for it in bodies(turn, CanUseTool)] == ["Bash"]
        assert (told(turn), said(turn)) == (["made"], ["nothing"])
        # The spy would have seen a terminal.
        assert said(await talk.turn("terminal")) == ["open"]
        assert await talk.end() == 0
        assert await talk.stderr() == ""

    unrouted = [word for word in ARGV if "permission" not in word]
    async with program(*unrouted, env=env) as process:
        talk = Talk(process, {CanUseTool: allow}, dialect="legacy")
        turn = await talk.turn("make")
        assert bodies(turn, CanUseTool) == []
        assert len(only(turn, PermissionDeniedMessage)) == 1
        assert await talk.end() == 0


# --- interrupt ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dialect",
    [
        pytest.param("session", marks=pytest.mark.shows("001-28")),
        pytest.param("envelope", marks=pytest.mark.shows("004-14")),
    ],
)
@pytest.mark.parametrize("operation", ["speaks", "runs", "asks"])
async def test_an_interrupt_stops_what_is_being_done(dialect: str, operation: str) -> None:
    did: list[Any] = []

    async def play(chat: Chat) -> None:
        did.append(chat.text)
        if chat.text == "speaks":
            await chat.say("One moment.")
            await chat.sleep(AN_HOUR)
        elif chat.text == "runs":
            await chat.use("Read", {"file_path": "a"}, seconds=AN_HOUR, run=did.append)
        elif chat.text == "asks":
            await chat.use("Bash", MAKE, run=did.append)
        did.append("to the end")

    def begun(event: Event) -> bool:
        asked = isinstance(event, Request) and isinstance(event.body, CanUseTool)
        return asked if operation == "asks" else event.raw.get("type") == "assistant"

    talk = Talk(SimulatedCLI(play, dialect=dialect), dialect=dialect)
    await talk.say(UserMessage.of(operation))
    await talk.until(begun)
    since = len(talk.heard)
    assert isinstance(await talk.ask(Interrupt()), Answer)
    turn = await talk.until_result(since)
    if dialect == "session":
        assert turn[-1].is_error
    else:  # it has no results
        assert "[Request interrupted by user" in turn[-1].text
    assert did == [operation]

    # It is really over, and not only said to be so: the session goes on with something else.
    await talk.turn("other")
    assert did == [operation, "other", "to the end"]
    assert await talk.end() == 0
    assert did == [operation, "other", "to the end"]


# --- servers in the host --------------------------------------------------------------------------


@pytest.mark.shows("002-29")
async def test_a_tool_of_the_host_is_called_over_the_wire_and_no_program_is_started(
    tmp_path: Path,
) -> None:
    env = playing(tmp_path, SPIES, "legacy")
    async with program(*ARGV, "--allowed-tools", "mcp__calc", env=env) as process:
        talk = Talk(process, {McpMessage: calculator}, dialect="legacy")
        await talk.initialize(sdk_mcp_servers=["calc"])
        turn = await talk.turn("add")
        (call,) = [it for it in bodies(turn, McpMessage) if it.message["method"] == "tools/call"]
        assert call.server_name == "calc"
        assert call.message["params"]["name"] == "add"
        assert call.message["params"]["arguments"] == {"a": 2, "b": 3}
        assert (told(turn), said(turn)) == (["5"], ["nothing"])
        # The spy would have seen a program.
        assert "subprocess.Popen" in said(await talk.turn("spawn"))[0]
        assert await talk.end() == 0


@pytest.mark.shows("002-44")
async def test_each_server_is_greeted_before_any_tool_is_called() -> None:
    async def play(chat: Chat) -> None:
        for server in ("two", "one"):
            await chat.call(server, "add", {"a": 2, "b": 3})

    cli = SimulatedCLI(play, argv=["--allowed-tools", "mcp__one,mcp__two"], dialect="legacy")
    talk = Talk(cli, {McpMessage: calculator}, dialect="legacy")
    # The prompt does not wait for anything.
    await talk.say(talk.connection.new_request(Initialize(sdk_mcp_servers=["one", "two"])))
    await talk.say(UserMessage.of("go"))
    await talk.until_result(0)
    for server in ("one", "two"):
        assert methods(talk.heard, server) == [
            "initialize",
            "notifications/initialized",
            "tools/list",
            "tools/call",
        ]
    in_order = [it.message["method"] for it in bodies(talk.heard, McpMessage)]
    assert in_order[-2:] == ["tools/call", "tools/call"]
    assert told(talk.heard) == ["5", "5"]


@pytest.mark.shows("002-43")
@pytest.mark.parametrize(
    "anyio_backend", [("trio", {"clock": MockClock(autojump_threshold=0)})], ids=["jumping"]
)
@pytest.mark.parametrize("wrapped", [True, False])
async def test_an_answer_without_its_wrapper_is_given_up_after_60_seconds(wrapped: bool) -> None:
    async def play(chat: Chat) -> None:
        await chat.call("calc", "add", {"a": 2, "b": 3})

    cli = SimulatedCLI(play, argv=["--allowed-tools", "mcp__calc"], dialect="legacy")
    talk = Talk(cli, {McpMessage: calculator}, dialect="legacy", patience=AN_HOUR)
    await talk.initialize(sdk_mcp_servers=["calc"])
    await talk.until(lambda it: it.raw.get("request", {}).get("message", {}).get("id") == 1, 0)
    del talk.serve[McpMessage]
    await talk.say(UserMessage.of("go"))
    id, call = await talk.request(McpMessage)
    response = calculator(call).mcp_response
    answer = {"mcp_response": response} if wrapped else response
    inner = {"subtype": "success", "request_id": id, "response": answer}
    asked_at = anyio.current_time()
    await talk.write(json.dumps({"type": "control_response", "response": inner}).encode())
    turn = await talk.until_result()
    waited = anyio.current_time() - asked_at
    (result,) = tool_results(turn)
    assert waited == pytest.approx(0 if wrapped else 60, abs=0.01)
    assert bool(result.is_error) is not wrapped
    assert (told(turn) == ["5"]) is wrapped


# --- the end --------------------------------------------------------------------------------------


@pytest.mark.shows("002-65")
async def test_a_cli_whose_stdin_is_closed_finishes_its_work_and_exits() -> None:
    did: list[str] = []

    def read(input: dict[str, Any]) -> str:
        did.append(input["file_path"])
        return "read"

    async def play(chat: Chat) -> None:
        await chat.say("I begin.")
        await chat.use("Read", {"file_path": chat.text}, run=read)
        await chat.say("I have read it.")

    talk = Talk(SimulatedCLI(play, dialect="legacy"), dialect="legacy")
    await talk.say(UserMessage.of("a.txt"))
    assert did == []  # it has begun, and waits to go on
    assert await talk.end() == 0
    assert did == ["a.txt"]
    assert said(talk.heard) == ["I begin.", "I have read it."]
    assert told(talk.heard) == ["read"]
    assert [it.ok for it in only(talk.heard, ResultMessage)] == [True]


@pytest.mark.shows("002-65")
async def test_a_program_whose_stdin_is_closed_goes_on_without_the_permission(
    tmp_path: Path,
) -> None:
    async with program(*ARGV, env=playing(tmp_path, SPIES, "legacy")) as process:
        talk = Talk(process, dialect="legacy")
        await talk.say(UserMessage.of("make"))
        await talk.request(CanUseTool)
        assert only(talk.heard, ResultMessage) == []
        assert await talk.end() == 0
    (result,) = tool_results(talk.heard)
    assert result.is_error
    assert said(talk.heard) == ["nothing"]
    assert len(only(talk.heard, ResultMessage)) == 1
