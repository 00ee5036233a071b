"""The simulated CLI as an application meets it: how it starts, takes turns, remembers and ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.helpers.processes import ended
from tests.helpers.talk import SOON, Talk, allow, bodies, kinds, only, program, said, told

from claudewire.errors import OptionsError, TransportClosed
from claudewire.simulator import ARGV, Chat, Fault, SimulatedCLI
from claudewire.simulator.actions import Write
from claudewire.simulator.jobs import run_blocking
from claudewire.transport import Launch
from claudewire.wire import (
    Answer,
    CanUseTool,
    Connection,
    Elicitation,
    ElicitationResult,
    EndOfStream,
    InitMessage,
    Interrupt,
    PermissionDeniedMessage,
    PermissionResultAllow,
    Request,
    ResultMessage,
    Role,
    SessionStateChangedMessage,
    SetModel,
    Stray,
    UserMessage,
)

pytestmark = pytest.mark.anyio

ONE = "11111111-1111-4111-8111-111111111111"
TWO = "22222222-2222-4222-8222-222222222222"


async def echo(chat: Chat) -> None:
    await chat.say(f"You said {chat.text}.")


async def shell(chat: Chat) -> None:
    outcome = await chat.use("Bash", {"command": "make"}, result="made")
    await chat.say(outcome.text)


async def write(chat: Chat) -> None:
    await chat.use("Write", {"file_path": "a.txt", "content": "a"}, result="written")


async def recall(chat: Chat) -> None:
    users = [entry["text"] for entry in chat.session.history if entry["type"] == "user"]
    await chat.say(" | ".join(users))


def home(folder: Path) -> Mapping[str, str]:
    return {"CLAUDE_CONFIG_DIR": str(folder)}


def kept(folder: Path) -> list[Path]:
    """The sessions that are kept somewhere below a folder."""
    return [path.relative_to(folder) for path in folder.rglob("*.jsonl")]


# --- turns ----------------------------------------------------------------------------------------


async def test_a_turn_is_an_init_what_the_agent_does_and_a_result() -> None:
    talk = Talk(SimulatedCLI(echo))
    assert kinds(await talk.turn("hello")) == ["system/init", "assistant", "result/success"]
    result = talk.heard[-1]
    assert result.ok
    assert (result.result, result.num_turns) == ("You said hello.", 1)
    assert await talk.end() == 0


async def test_init_comes_with_each_turn_and_not_with_initialize() -> None:
    talk = Talk(SimulatedCLI(echo))
    await talk.initialize()
    assert only(talk.heard, InitMessage) == []
    for text in ("a", "b"):
        assert len(only(await talk.turn(text), InitMessage)) == 1
    ids = {event.session_id for event in talk.heard if isinstance(event, InitMessage)}
    assert len(ids) == 1


async def test_initialize_may_be_left_out_and_may_come_again() -> None:
    talk = Talk(SimulatedCLI(echo))
    assert said(await talk.turn("a")) == ["You said a."]
    assert (await talk.initialize()).claude_code_version == "2.1.325"
    assert said(await talk.turn("b")) == ["You said b."]


async def test_prompts_that_come_at_once_have_their_turns_in_order() -> None:
    talk = Talk(SimulatedCLI(echo))
    lines = [talk.connection.send(UserMessage.of(text)) for text in ("a", "b", "c")]
    await talk.cli.send(b"".join(lines))
    assert await talk.end() == 0
    assert [it.result for it in only(talk.heard, ResultMessage)] == [
        "You said a.",
        "You said b.",
        "You said c.",
    ]
    assert [it.result_index for it in only(talk.heard, ResultMessage)] == [0, 1, 2]


async def test_a_prompt_that_comes_during_a_tool_is_read_in_the_same_turn() -> None:
    async def play(chat: Chat) -> None:
        await (shell if chat.text == "first" else echo)(chat)

    talk = Talk(SimulatedCLI(play, argv=["--replay-user-messages"]))
    await talk.say(UserMessage.of("first", uuid=ONE))
    id, _ = await talk.request(CanUseTool)
    await talk.say(UserMessage.of("second", uuid=TWO))
    await talk.say(Answer(id, PermissionResultAllow({"command": "make"})))
    turn = await talk.until_result()
    assert [it.uuid for it in only(talk.heard, UserMessage) if it.is_replay] == [ONE, TWO]
    assert said(turn) == ["made", "You said second."]
    assert turn[-1].user_message_uuids == [ONE, TWO]
    assert await talk.end() == 0
    assert len(only(talk.heard, ResultMessage)) == 1


async def test_costs_and_tokens_add_up_over_the_session() -> None:
    talk = Talk(SimulatedCLI(echo))
    first, second = [(await talk.turn(text))[-1] for text in ("a", "b")]
    assert second.total_cost_usd == pytest.approx(2 * first.total_cost_usd)
    (spent,) = second.model_usage.values()
    assert spent.input_tokens == first.usage.input_tokens + second.usage.input_tokens
    assert spent.cost_usd == second.total_cost_usd


# --- the end --------------------------------------------------------------------------------------


async def test_the_end_of_the_input_lets_the_turn_finish() -> None:
    talk = Talk(SimulatedCLI(echo))
    await talk.say(UserMessage.of("hello"))
    assert await talk.end() == 0
    assert said(talk.heard) == ["You said hello."]
    assert talk.heard[-1] == EndOfStream()


async def test_nothing_said_is_no_turn() -> None:
    talk = Talk(SimulatedCLI(echo))
    assert await talk.end() == 0
    assert talk.heard == [EndOfStream()]
    assert await talk.stderr() == ""


async def test_the_end_of_the_input_fails_the_tool_that_waits_and_the_turn_goes_on() -> None:
    talk = Talk(SimulatedCLI(shell))
    await talk.say(UserMessage.of("hello"))
    await talk.request(CanUseTool)
    assert await talk.end() == 0
    words = "Tool permission stream closed before response received"
    assert words in told(talk.heard)[0]
    assert only(talk.heard, ResultMessage)[-1].ok


async def test_after_the_end_of_the_input_nobody_is_asked_any_more() -> None:
    async def twice(chat: Chat) -> None:
        await shell(chat)
        await shell(chat)

    talk = Talk(SimulatedCLI(twice))
    await talk.say(UserMessage.of("hello"))
    await talk.request(CanUseTool)
    assert await talk.end() == 0
    assert len(told(talk.heard)) == 2
    assert len(bodies(talk.heard, CanUseTool)) == 1


async def test_what_follows_a_line_that_is_not_json_is_not_read() -> None:
    talk = Talk(SimulatedCLI(echo))
    await talk.cli.send(b"nonsense\n" + talk.connection.send(UserMessage.of("hello")))
    assert await talk.rest() == 1
    assert talk.heard == [EndOfStream()]


async def test_nothing_may_be_sent_too() -> None:
    talk = Talk(SimulatedCLI(echo))
    await talk.cli.send(b"")
    assert await talk.end() == 0


async def test_a_line_that_is_not_json_ends_the_process() -> None:
    talk = Talk(SimulatedCLI(echo))
    await talk.write(b"{nonsense")
    await talk.rest()
    assert await talk.cli.wait() == 1
    about = "(type=unknown, 9 chars): SyntaxError"
    assert await talk.stderr() == f"Error parsing streaming input line {about}\n"
    with pytest.raises(TransportClosed, match="exited with status 1"):
        await talk.write(b"{}")


async def test_a_result_says_when_the_model_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claudewire.simulator.turns.time", SimpleNamespace(time=lambda: 1234.5678))
    turn = await Talk(SimulatedCLI(echo)).turn("go", uuid="u1")
    assert turn[-1].raw["request_sent_wall_ms"] == 1234567


async def test_an_older_cli_shows_the_beginning_of_a_line_that_is_not_json() -> None:
    talk = Talk(SimulatedCLI(echo, version="2.1.17"))
    await talk.write(b"{" + b"x" * 300)
    await talk.rest()
    shown = "{" + "x" * 199
    assert await talk.stderr() == f"Error parsing streaming input line: {shown}: SyntaxError\n"


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("null", "Error parsing streaming input line (type=unknown, 4 chars): TypeError"),
        (
            '{"type": "user"',
            "Error parsing streaming input line (type=user, 15 chars): SyntaxError",
        ),
        ('{"type": "user"}', "Error: Expected message role 'user', got 'undefined'"),
        (
            '{"type": "user", "message": {"role": "assistant", "content": "x"}}',
            "Error: Expected message role 'user', got 'assistant'",
        ),
        (
            '{"type": "control_request", "request_id": "1"}',
            "Error: Missing request on control_request",
        ),
    ],
)
async def test_a_line_of_the_wrong_shape_ends_the_process(line: str, error: str) -> None:
    talk = Talk(SimulatedCLI(echo))
    await talk.write(line.encode())
    await talk.rest()
    assert await talk.cli.wait() == 1
    assert await talk.stderr() == f"{error}\n"


async def test_an_old_version_repeats_the_line_that_is_not_json() -> None:
    talk = Talk(SimulatedCLI(echo, version="2.1.17"))
    await talk.write(b"{nonsense")
    await talk.rest()
    assert "input line: {nonsense: SyntaxError" in await talk.stderr()


async def test_a_prompt_without_content_and_a_byte_order_mark_are_no_error() -> None:
    talk = Talk(SimulatedCLI(echo))
    await talk.write(b'\xef\xbb\xbf{"type": "user", "message": {"role": "user", "content": null}}')
    assert said(await talk.until_result()) == ["You said ."]


@pytest.mark.parametrize(
    "line",
    [
        {"type": "session.create", "message": {"role": "user", "content": "hello"}},
        {"type": "callback.response", "response": {}},
        {"type": "sdk_control_request", "request": {"subtype": "interrupt", "request_id": "1"}},
        {"subtype": "interrupt"},
        {"type": "brand_new", "x": 1},
        {"type": "keep_alive"},
        {"type": "control_response", "response": {"subtype": "success", "request_id": "nobody"}},
        {"type": "assistant", "message": {"role": "assistant", "content": []}},
        {"type": "control_cancel_request", "request_id": "nobody"},
        [],
        1,
    ],
    ids=str,
)
async def test_what_it_does_not_know_is_ignored_in_silence(line: Any) -> None:
    talk = Talk(SimulatedCLI(echo))
    await talk.write(json.dumps(line).encode())
    assert said(await talk.turn("hello")) == ["You said hello."]
    assert await talk.end() == 0
    assert len(only(talk.heard, ResultMessage)) == 1
    assert await talk.stderr() == ""


async def test_sending_after_the_end_is_an_error_and_closing_twice_is_not() -> None:
    cli = SimulatedCLI(shell)
    talk = Talk(cli)
    await talk.say(UserMessage.of("hello"))
    await talk.request(CanUseTool)
    await cli.send_eof()
    await cli.send_eof()
    with pytest.raises(TransportClosed):
        await cli.send(b"{}\n")
    await cli.aclose()
    await cli.aclose()
    assert await talk.rest() == -9


async def test_closing_ends_a_process_that_waits() -> None:
    cli = SimulatedCLI(shell)
    talk = Talk(cli)
    await talk.say(UserMessage.of("hello"))
    await talk.request(CanUseTool)
    await cli.aclose()
    assert await talk.rest() == -9
    assert await talk.stderr() == ""


async def test_a_reader_that_waits_is_woken_by_what_another_task_sends() -> None:
    talk = Talk(SimulatedCLI(echo))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(talk.listen)
        await anyio.wait_all_tasks_blocked()
        await talk.say(UserMessage.of("hello"))
    await talk.until_result(0)


async def test_a_reader_that_waits_learns_when_the_cli_goes_on_by_itself() -> None:
    async def asks_and_sleeps(chat: Chat) -> None:
        await chat.elicit("calc", "Which?", {})
        await chat.sleep(0.001)

    talk = Talk(SimulatedCLI(asks_and_sleeps))
    await talk.say(UserMessage.of("hello"))
    id, _ = await talk.request(Elicitation)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(talk.until_result)
        await anyio.wait_all_tasks_blocked()
        await talk.say(Answer(id, ElicitationResult("cancel")))


async def test_a_scenario_does_not_go_on_when_the_cli_was_killed() -> None:
    played = []

    async def scenario(chat: Chat) -> None:
        played.append("before")
        await chat.pause()
        played.append("after")

    cli, claude = SimulatedCLI(scenario), Connection(Role.CLIENT)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cli.receive)
        await anyio.wait_all_tasks_blocked()
        await cli.send(claude.send(UserMessage.of("hello")))
        await cli.aclose()
    assert played == ["before"]


# --- what it is made with -------------------------------------------------------------------------


class Scene:
    async def play(self, chat: Chat) -> None:
        pass

    async def too_many(self, chat: Chat, other: int) -> None:
        pass


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"scenario": 5}, "scenario must be an async function of a Chat, but "),
        (
            {"scenario": Scene().too_many},
            "scenario is called with one argument, the Chat; Scene.too_many cannot be called that "
            "way",
        ),
        ({"faults": "exit"}, "faults must be a list; use parse_faults('exit') to make one"),
        ({"faults": 5}, "faults must be a list of faults, not 5"),
        ({"faults": ["exit"]}, "faults must be a list of faults, not ['exit']"),
        ({"argv": "-p hi"}, "argv must be a list; did you mean ['-p', 'hi']?"),
        ({"argv": 5}, "argv must be a list of strings, not 5"),
        ({"argv": ["-p", 5]}, "argv must be a list of strings, not ['-p', 5]"),
        (
            {"dialect": "odd"},
            "dialect must be one of auto, session, legacy, envelope, modern, not 'odd'",
        ),
        ({"cwd": 5}, "cwd must be a path, not 5"),
        ({"cwd": None}, "cwd must be a path, not None"),
        ({"env": ["A"]}, "env must be a mapping, not ['A']"),
        ({"version": "0.1"}, "No persona for CLI '0.1'; the versions are "),
        ({"version": []}, "No persona for CLI []; the versions are "),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(given: dict[str, Any], error: str) -> None:
    with pytest.raises(OptionsError) as raised:
        SimulatedCLI(**given)
    assert str(raised.value).startswith(error)


@pytest.mark.parametrize(
    "given",
    [
        {"scenario": Scene().play, "faults": [Fault()], "argv": ["-p"], "dialect": "auto"},
        {"scenario": None, "faults": (), "argv": (), "cwd": Path("/x"), "env": None},
        {"cwd": "x", "env": {"A": "b"}, "dialect": "legacy"},
    ],
)
async def test_what_makes_sense_is_taken(given: dict[str, Any]) -> None:
    assert SimulatedCLI(**given).engine is not None


# --- as a session starts it -----------------------------------------------------------------------

LAUNCH = Launch(("claude", *ARGV, "--model", "haiku"), {"A": "2", "B": "3"}, cwd=Path("/elsewhere"))


async def test_it_starts_as_the_options_of_a_session_say(tmp_path: Path) -> None:
    cli = SimulatedCLI(echo, argv=["--max-turns", "3"], cwd=tmp_path, env={"A": "1", "C": "4"})
    assert cli.failures == ()
    cli.configure(LAUNCH)
    assert cli._engine is not None  # it has started
    session = cli._engine.session
    assert (session.flags.model, session.flags.max_turns) == ("haiku", 3)
    assert (session.cwd, session.env) == ("/elsewhere", {"A": "2", "B": "3", "C": "4"})
    await cli.aclose()
    with pytest.raises(OptionsError, match="each session needs a SimulatedCLI of its own"):
        cli.configure(LAUNCH)


async def test_its_own_folder_is_used_if_the_options_name_none(tmp_path: Path) -> None:
    cli = SimulatedCLI(echo, cwd=tmp_path)
    cli.configure(Launch(LAUNCH.argv, {}))
    assert cli.engine is not None
    assert cli.engine.session.cwd == str(tmp_path)


async def test_one_that_was_started_by_hand_stays_as_it_is(tmp_path: Path) -> None:
    cli = SimulatedCLI(echo, cwd=tmp_path)
    engine = cli.engine
    cli.configure(LAUNCH)
    assert cli.engine is engine is not None
    assert (engine.session.cwd, cli._cwd, cli._env) == (str(tmp_path), str(tmp_path), {})


async def test_one_that_has_refused_to_start_stays_as_it_is(tmp_path: Path) -> None:
    cli = SimulatedCLI(echo, argv=["--no-such-flag"], cwd=tmp_path)
    assert cli.engine is None
    assert cli.failures == ()
    cli._more_flags = []
    cli.configure(LAUNCH)
    assert (cli.engine, cli._cwd) == (None, str(tmp_path))
    assert await cli.wait() == 1


# --- flags ----------------------------------------------------------------------------------------


async def test_a_command_line_that_is_refused_prints_why_and_exits() -> None:
    cli = SimulatedCLI(echo, argv=["--cwd", "/tmp"])
    assert cli.engine is None
    talk = Talk(cli)
    assert await talk.rest() == 1
    assert await talk.stderr() == "error: unknown option '--cwd'\n"


async def test_the_version_is_that_of_the_persona() -> None:
    cli = SimulatedCLI(echo, argv=["--version"], version="2.0.76")
    assert await cli.receive() == b"2.0.76 (Claude Code)\n"
    assert await cli.wait() == 0


async def test_a_warning_about_a_flag_goes_to_stderr() -> None:
    talk = Talk(SimulatedCLI(echo, argv=["--effort", "enormous"]))
    assert await talk.end() == 0
    assert "Unknown --effort value 'enormous'" in await talk.stderr()


async def test_user_messages_are_replayed_when_asked_for() -> None:
    talk = Talk(SimulatedCLI(echo, argv=["--replay-user-messages"]))
    turn = await talk.turn("hello", uuid=ONE)
    (replay,) = [it for it in only(turn, UserMessage) if it.is_replay]
    assert (replay.text, replay.uuid) == ("hello", ONE)
    talk = Talk(SimulatedCLI(echo))
    assert only(await talk.turn("hello", uuid=ONE), UserMessage) == []


async def test_with_the_replay_the_answers_of_the_host_come_back_too() -> None:
    talk = Talk(SimulatedCLI(shell, argv=["--replay-user-messages"]), {CanUseTool: allow})
    turn = await talk.turn("hello")
    (stray,) = only(turn, Stray)
    assert stray.raw["type"] == "control_response"
    assert stray.raw["response"]["response"]["behavior"] == "allow"


async def test_a_message_that_wants_no_answer_is_only_remembered() -> None:
    talk = Talk(SimulatedCLI(recall, argv=["--replay-user-messages"]))
    await talk.say(UserMessage.of("aside", should_query=False))
    assert said(await talk.turn("question")) == ["aside | question"]
    assert [it.text for it in only(talk.heard, UserMessage)] == ["aside", "question"]


async def test_max_turns_ends_the_turn_before_the_model_is_called_once_too_often() -> None:
    async def many(chat: Chat) -> None:
        while True:
            await chat.use("Read", {"file_path": "x"})

    talk = Talk(SimulatedCLI(many, argv=["--max-turns", "3"]))
    turn = await talk.turn("go")
    result = turn[-1]
    assert (result.subtype, result.is_error) == ("error_max_turns", True)
    assert result.terminal_reason == "max_turns"
    assert result.errors == ["Reached maximum number of turns (3)"]
    assert len(told(turn)) == 3
    assert (await talk.turn("again"))[-1].subtype == "error_max_turns"


async def test_a_turn_that_needs_no_tool_is_within_every_limit() -> None:
    talk = Talk(SimulatedCLI(echo, argv=["--max-turns", "1", "--max-budget-usd", "1"]))
    assert (await talk.turn("go"))[-1].ok


async def test_the_budget_ends_the_turn_when_it_is_spent() -> None:
    talk = Talk(SimulatedCLI(shell, argv=["--max-budget-usd", "0.0001"]), {CanUseTool: allow})
    result = (await talk.turn("go"))[-1]
    assert (result.subtype, result.terminal_reason) == ("error_max_budget_usd", "budget_exhausted")
    assert "$0.0001" in result.errors[0]
    assert result.total_cost_usd >= 0.0001


async def test_the_model_is_the_one_that_was_chosen() -> None:
    for argv, model in (
        ([], "claude-"),
        (["--model", "opus"], "claude-opus"),
        (["--model", "my-own"], "my-own"),
    ):
        talk = Talk(SimulatedCLI(echo, argv=argv))
        turn = await talk.turn("hello")
        assert turn[0].model.startswith(model)
        assert turn[1].model == turn[0].model
        assert list(turn[-1].model_usage) == [turn[0].model]


async def test_a_model_set_back_is_the_one_the_session_began_with() -> None:
    talk = Talk(SimulatedCLI(echo, argv=["--model", "haiku"]))
    for chosen, model in (("opus", "claude-opus"), (None, "claude-haiku"), ("mine", "mine")):
        await talk.ask(SetModel(chosen))
        (init,) = only(await talk.turn("a"), InitMessage)
        assert (init.model or "").startswith(model)
    await talk.ask(SetModel("default"))
    (init,) = only(await talk.turn("b"), InitMessage)
    assert (init.model or "").startswith("claude-haiku")


async def test_setting_sources_are_accepted() -> None:
    talk = Talk(SimulatedCLI(echo, argv=["--setting-sources", "user,project"]))
    assert (await talk.turn("hello"))[-1].ok
    talk = Talk(SimulatedCLI(echo, argv=["--setting-sources", ""]))
    assert (await talk.turn("hello"))[-1].ok


async def test_a_schema_brings_structured_output() -> None:
    async def answer(chat: Chat) -> None:
        chat.output({"n": 1})

    argv = ["--json-schema", '{"type": "object"}']
    talk = Talk(SimulatedCLI(answer, argv=argv))
    assert (await talk.turn("go"))[-1].structured_output == {"n": 1}


async def test_what_is_cancelled_neither_sends_nor_loses_anything() -> None:
    talk = Talk(cli := SimulatedCLI(echo))
    await talk.say(UserMessage.of("hello"))
    for call in (cli.receive, lambda: cli.send(b"no JSON\n"), cli.send_eof):
        with anyio.CancelScope() as scope:
            scope.cancel()
            await call()
        assert scope.cancelled_caught
    assert said(await talk.until_result()) == ["You said hello."]
    assert said(await talk.turn("again")) == ["You said again."]


@pytest.mark.parametrize("argv", [[], ["--tools", "default"]])
async def test_by_default_there_are_these_tools(argv: list[str]) -> None:
    turn = await Talk(SimulatedCLI(echo, argv=argv)).turn("hello")
    files = ["Glob", "Grep", "LS", "Read", "Edit", "Write", "NotebookEdit"]
    others = ["WebFetch", "WebSearch", "TodoWrite", "AskUserQuestion", "ExitPlanMode"]
    assert turn[0].tools == ["Task", "Bash", *files, *others]


async def test_tools_can_be_chosen_and_forbidden() -> None:
    argv = ["--tools", "Read,Bash", "--disallowed-tools", "Bash"]
    talk = Talk(SimulatedCLI(shell, argv=argv))
    turn = await talk.turn("go")
    assert turn[0].tools == ["Read"]
    assert bodies(turn, CanUseTool) == []
    assert "No such tool available: Bash. Bash is disabled for this session" in told(turn)[0]
    assert turn[-1].permission_denials == []


async def test_a_tool_that_exists_in_no_cli_is_not_available() -> None:
    async def play(chat: Chat) -> None:
        await chat.use("Nonsense", {})
        await chat.use("Monitor", {})

    turn = await Talk(SimulatedCLI(play), {CanUseTool: allow}).turn("go")
    missing = "<tool_use_error>Error: No such tool available: Nonsense</tool_use_error>"
    assert told(turn) == [missing, "ok"]
    assert only(turn, UserMessage)[0].tool_use_result == "Error: No such tool available: Nonsense"


async def test_the_session_state_is_told_when_the_environment_asks_for_it() -> None:
    env = {"CLAUDE_CODE_SDK_READS_SESSION_STATE": "1"}
    talk = Talk(SimulatedCLI(shell, env=env), {CanUseTool: allow})
    await talk.turn("go")
    assert await talk.end() == 0
    states = only(talk.heard, SessionStateChangedMessage)
    assert [it.state for it in states] == ["running", "requires_action", "running", "idle"]
    assert all(it.sdk_host_only for it in states)
    env = {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1"}
    talk = Talk(SimulatedCLI(echo, env=env))
    await talk.turn("go")
    assert not any(it.sdk_host_only for it in only(talk.heard, SessionStateChangedMessage))


# --- permissions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "asks"),
    [
        ("default", ["Bash", "Write"]),
        ("plan", ["Bash", "Write"]),
        ("acceptEdits", ["Bash"]),
        ("bypassPermissions", []),
    ],
)
async def test_the_mode_says_who_is_asked(mode: str, asks: list[str]) -> None:
    async def both(chat: Chat) -> None:
        await chat.use("Read", {"file_path": "a.txt"})
        await shell(chat)
        await write(chat)

    talk = Talk(SimulatedCLI(both, argv=["--permission-mode", mode]), {CanUseTool: allow})
    turn = await talk.turn("go")
    assert turn[0].permission_mode == mode
    assert [it.tool_name for it in bodies(turn, CanUseTool)] == asks
    assert told(turn) == ["ok", "made", "written"]


async def test_skipping_permissions_is_a_mode() -> None:
    talk = Talk(SimulatedCLI(shell, argv=["--dangerously-skip-permissions"]))
    turn = await talk.turn("go")
    assert turn[0].permission_mode == "bypassPermissions"
    assert told(turn) == ["made"]


async def test_in_the_mode_that_never_asks_a_tool_is_denied() -> None:
    talk = Talk(SimulatedCLI(shell, argv=["--permission-mode", "dontAsk"]))
    turn = await talk.turn("go")
    assert len(only(turn, PermissionDeniedMessage)) == 1


@pytest.mark.parametrize(
    ("rule", "asks"),
    [("Bash", False), ("Bash(make)", False), ("Bash(make:*)", False), ("Bash(mak:*)", True)],
)
async def test_a_rule_of_the_command_line_lets_a_tool_run(rule: str, asks: bool) -> None:
    talk = Talk(SimulatedCLI(shell, argv=["--allowed-tools", rule]), {CanUseTool: allow})
    turn = await talk.turn("go")
    assert bool(bodies(turn, CanUseTool)) is asks
    assert told(turn) == ["made"]


async def test_without_a_prompt_tool_a_tool_that_would_ask_is_denied() -> None:
    argv = [word for word in ARGV if "permission" not in word]
    async with program(*argv) as process:
        talk = Talk(process)
        turn = await talk.turn("write a.txt: hello")
        (denied,) = only(turn, PermissionDeniedMessage)
        assert denied.tool_name == "Write"
        assert kinds(turn).count("system/permission_denied") == 1
        assert bodies(turn, CanUseTool) == []
        assert (denied.message or "?") in told(turn)[0]
        assert [it.tool_name for it in turn[-1].permission_denials] == ["Write"]
        assert await talk.end() == 0


# --- sessions -------------------------------------------------------------------------------------


async def test_a_session_is_resumed_by_its_id(tmp_path: Path) -> None:
    first = Talk(SimulatedCLI(recall, env=home(tmp_path)))
    turn = await first.turn("apples")
    id, cost = turn[0].session_id, turn[-1].total_cost_usd
    assert await first.end() == 0
    second = Talk(SimulatedCLI(recall, env=home(tmp_path), argv=["--resume", id]))
    turn = await second.turn("pears")
    assert said(turn) == ["apples | pears"]
    assert turn[0].session_id == id
    assert turn[-1].total_cost_usd > cost


async def test_the_latest_session_is_continued(tmp_path: Path) -> None:
    for text in ("old", "new"):
        await Talk(SimulatedCLI(echo, env=home(tmp_path))).turn(text)
    talk = Talk(SimulatedCLI(recall, env=home(tmp_path), argv=["--continue"]))
    assert said(await talk.turn("more")) == ["new | more"]


async def test_with_nothing_to_continue_a_session_begins(tmp_path: Path) -> None:
    for env in (home(tmp_path), {}):
        talk = Talk(SimulatedCLI(recall, env=env, argv=["--continue"]))
        assert said(await talk.turn("hello")) == ["hello"]


async def test_a_fork_leaves_the_session_as_it_was(tmp_path: Path) -> None:
    env = home(tmp_path)
    id = (await Talk(SimulatedCLI(echo, env=env)).turn("apples"))[0].session_id
    for more, forked in (([], None), (["--session-id", ONE], ONE)):
        argv = ["--resume", id, "--fork-session", *more]
        turn = await Talk(SimulatedCLI(recall, env=env, argv=argv)).turn("pears")
        assert said(turn) == ["apples | pears"]
        assert turn[0].session_id != id
        assert forked in (None, turn[0].session_id)
    turn = await Talk(SimulatedCLI(recall, env=env, argv=["--resume", id])).turn("plums")
    assert said(turn) == ["apples | plums"]


async def test_a_session_can_be_given_its_id_but_only_once(tmp_path: Path) -> None:
    env, argv = home(tmp_path), ["--session-id", ONE]
    assert (await Talk(SimulatedCLI(echo, env=env, argv=argv)).turn("a"))[0].session_id == ONE
    talk = Talk(SimulatedCLI(echo, env=env, argv=argv))
    assert await talk.rest() == 1
    assert await talk.stderr() == f"Error: Session ID {ONE} is already in use.\n"


async def test_a_session_is_kept_nowhere_if_that_is_wanted(tmp_path: Path) -> None:
    argv = ["--no-session-persistence", "--session-id", ONE]
    talk = Talk(SimulatedCLI(echo, env=home(tmp_path), argv=argv))
    assert (await talk.turn("a"))[-1].ok
    assert kept(tmp_path) == []
    lost = Talk(SimulatedCLI(echo, env=home(tmp_path), argv=["--resume", ONE]))
    assert await lost.rest() == 1


async def test_the_folder_below_home_is_the_default(tmp_path: Path) -> None:
    await Talk(SimulatedCLI(echo, env={"HOME": str(tmp_path)}, cwd=tmp_path)).turn("a")
    (file,) = kept(tmp_path)
    assert file.parts[:2] == (".claude", "projects")


@pytest.mark.parametrize("wanted", [TWO, "no-such-title", ""])
async def test_a_session_that_is_not_there_is_one_result_and_an_exit(
    tmp_path: Path, wanted: str
) -> None:
    for env in (home(tmp_path), {}) if wanted != TWO else (home(tmp_path),):
        talk = Talk(SimulatedCLI(echo, env=env, argv=[f"--resume={wanted}"]))
        assert await talk.rest() == 1
        result, end = talk.heard
        assert (result.subtype, result.is_error) == ("error_during_execution", True)
        assert wanted in result.errors[0]
        assert isinstance(end, EndOfStream)
        assert result.errors[0] in await talk.stderr()


async def test_one_that_keeps_no_sessions_takes_up_any() -> None:
    cli = SimulatedCLI(echo, argv=[f"--resume={TWO}"])
    turn = await Talk(cli).turn("hello")
    assert turn[-1].session_id == TWO


@pytest.mark.parametrize(
    ("argv", "id"),
    [
        (["--continue"], None),
        ([f"--resume={TWO}", "--fork-session"], None),
        ([f"--resume={TWO}", "--fork-session", f"--session-id={ONE}"], ONE),
        ([f"--session-id={ONE}"], ONE),
    ],
)
async def test_one_that_keeps_no_sessions_begins_one(argv: list[str], id: str | None) -> None:
    turn = await Talk(SimulatedCLI(echo, argv=argv)).turn("hello")
    assert said(turn) == ["You said hello."]
    assert turn[-1].session_id != TWO
    assert id in (None, turn[-1].session_id)


# --- as a program ---------------------------------------------------------------------------------


async def test_the_program_behaves_as_the_one_in_memory(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(
        '[[turn]]\nmatch = "make"\nsteps = ['
        '{ use = "Bash", input = { command = "make" }, result = "made" }, { say = "{result}!" }]\n',
        encoding="utf-8",
    )
    env = {"CLAUDEWIRE_SIM_SCENARIO": "scenario.toml", "CLAUDEWIRE_SIM_VERSION": "2.1.197"}
    async with program(*ARGV, cwd=tmp_path, env=env) as process:
        talk = Talk(process, {CanUseTool: allow})
        assert (await talk.initialize()).agents
        turn = await talk.turn("please make it")
        assert turn[0].claude_code_version == "2.1.197"
        assert said(turn) == ["made!"]
        assert turn[0].cwd == str(tmp_path)
        assert await talk.end() == 0
        assert await talk.stderr() == ""


async def test_the_program_waits_as_long_as_a_scenario_says(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "async def play(chat):\n    await chat.sleep(0.01)\n    await chat.say('done')\n",
        encoding="utf-8",
    )
    env = {"CLAUDEWIRE_SIM_SCENARIO": str(tmp_path / "slow.py:play")}
    async with program(*ARGV, env=env) as process:
        talk = Talk(process)
        assert said(await talk.turn("go")) == ["done"]
        await talk.write(b"nonsense")
        assert await talk.rest() == 1
        assert "Error parsing streaming input line" in await talk.stderr()


@pytest.mark.parametrize(
    ("env", "why"),
    [
        ({"CLAUDEWIRE_SIM_SCENARIO": "missing.toml"}, "missing.toml"),
        ({"CLAUDEWIRE_SIM_VERSION": "9.9"}, "No persona for CLI '9.9'"),
        ({"CLAUDEWIRE_SIM_DIALECT": "klingon"}, "Unknown dialect 'klingon'"),
        ({"CLAUDEWIRE_SIM_FAULTS": "earthquake"}, "earthquake"),
        ({"CLAUDEWIRE_SIM_FAULTS": "slow(-1)"}, "Invalid fault 'slow(-1)'"),
    ],
)
async def test_a_program_that_is_set_up_wrongly_says_so(env: dict[str, str], why: str) -> None:
    async with program(*ARGV, env=env) as process:
        talk = Talk(process)
        assert await talk.rest() == 2
        text = await talk.stderr()
        assert why in text
        assert text.startswith("claudewire-sim: ")
        assert "Traceback" not in text


def test_the_program_ends_with_its_input_also_when_nobody_reads_it() -> None:
    command = [sys.executable, "-m", "claudewire.simulator", *ARGV]
    pipe = subprocess.PIPE
    with ended(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env={})) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.close()
        line = Connection(Role.CLIENT).send(UserMessage.of("hello"))
        process.stdin.write(line)
        process.stdin.close()
        assert process.wait(SOON) == 0  # as the real CLI does
        assert process.stderr is not None
        assert process.stderr.read() == b""


@pytest.mark.parametrize(("argv", "status"), [(["--version"], 0), (["--cwd", "x"], 1)])
async def test_the_program_refuses_before_it_starts(argv: list[str], status: int) -> None:
    async with program(*argv) as process:
        assert (await process.receive() == b"2.1.325 (Claude Code)\n") is (status == 0)
        with anyio.fail_after(SOON):
            assert await process.wait() == status


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_the_program_exits_after_a_signal_as_the_real_cli_does(number: int, status: int) -> None:
    command = [sys.executable, "-m", "claudewire.simulator", *ARGV]
    pipe = subprocess.PIPE
    with ended(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env={})) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(Connection(Role.CLIENT).send(UserMessage.of("hello")))
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(number)
        assert process.wait(SOON) == status
        assert process.stderr is not None
        assert process.stderr.read() == b""


async def test_a_tool_that_has_ended_unseen_is_not_interrupted_any_more() -> None:
    async def scenario(chat: Chat) -> None:
        await chat.use("Read", {"file_path": "a.txt"}, result="read", seconds=0.001)

    cli, claude = SimulatedCLI(scenario), Connection(Role.CLIENT)
    await cli.send(claude.send(UserMessage.of("hello")))
    assert cli.engine is not None
    with anyio.fail_after(SOON):
        while not cli.engine.overslept:
            await anyio.lowlevel.checkpoint()
    await cli.send(claude.send(Request(id="1", body=Interrupt())))
    await cli.send_eof()
    output = b""
    with anyio.fail_after(SOON):
        while data := await cli.receive():
            output += data
    assert b'"read"' in output
    assert b"rejected" not in output


async def test_what_falls_due_while_nobody_looks_is_done_at_once() -> None:
    cli = SimulatedCLI()
    assert cli.engine is not None
    cli._to_do.append(Write(b"late\n"))
    cli._paused_until = anyio.current_time()  # a pause that has just ended

    with anyio.fail_after(SOON):
        assert await cli.receive() == b"late\n"


async def test_what_runs_beside_a_cli_in_memory_does_not_keep_the_process_alive() -> None:
    async def scenario(chat: Chat) -> None:
        daemon = await run_blocking(chat.engine, lambda: threading.current_thread().daemon)
        await chat.say(f"daemon: {daemon}")

    assert said(await Talk(SimulatedCLI(scenario)).turn("go")) == ["daemon: True"]
