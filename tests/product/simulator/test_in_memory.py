"""The transport in memory: its life, its options, and the CLI's reactions to input."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from tests.helpers.clock import simulated_time
from tests.helpers.talk import Talk, allow, bodies, kinds, only, said, told

from claudewire import wire
from claudewire.errors import OptionsError, TransportClosed
from claudewire.simulator import Chat, SimulatedCLI
from claudewire.transport import Launch

pytestmark = pytest.mark.anyio

SESSION = "11111111-1111-4111-8111-111111111111"


async def echo(chat: Chat) -> None:
    await chat.say(f"{chat.text}!")


async def make(chat: Chat) -> None:
    outcome = await chat.use("Bash", {"command": "make"}, result="made")
    await chat.say(outcome.text)


# --- turns ----------------------------------------------------------------------------------------


async def test_turn_is_init_messages_and_result() -> None:
    talk = Talk(SimulatedCLI(echo))
    for prompt in ("one", "two"):
        assert kinds(await talk.turn(prompt)) == ["system/init", "assistant", "result/success"]
    first, second = only(talk.heard, wire.ResultMessage)
    assert (first.result_index, second.result_index) == (0, 1)
    assert (second.total_cost_usd or 0) > (first.total_cost_usd or 0) > 0
    (usage,) = (second.model_usage or {}).values()
    assert usage.input_tokens == 200
    assert second.usage is not None
    assert second.usage.input_tokens == 100
    assert await talk.end() == 0


async def test_initialize_may_be_missing_or_repeated() -> None:
    talk = Talk(SimulatedCLI(echo))
    await talk.turn("one")
    for _ in range(2):
        assert (await talk.initialize()).output_style == "default"
    assert said(await talk.turn("two")) == ["two!"]


async def test_end_of_input_lets_the_turn_finish() -> None:
    async def slow(chat: Chat) -> None:
        await chat.sleep(0.01)
        await chat.say("Done.")

    talk = Talk(SimulatedCLI(slow))
    await talk.say(wire.UserMessage.of("go"))
    assert await talk.end() == 0
    assert said(talk.heard) == ["Done."]


async def test_end_of_input_denies_pending_and_later_permissions() -> None:
    async def twice(chat: Chat) -> None:
        await make(chat)
        await make(chat)

    talk = Talk(SimulatedCLI(twice))
    await talk.say(wire.UserMessage.of("go"))
    await talk.request(wire.CanUseTool)
    assert await talk.end() == 0
    pending, later = told(talk.heard)
    assert pending == "Tool permission stream closed before response received"
    assert later == "Tool permission request failed: AbortError: Stream closed"
    assert len(bodies(talk.heard, wire.CanUseTool)) == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"not json", "Error parsing streaming input line"),
        (b'{"type":"user","message":5}', "Error: Invalid user message"),
        (b'{"type":"control_request","request_id":"1"}', "Error: Invalid control_request"),
    ],
)
async def test_malformed_line_ends_the_process(line: bytes, words: str) -> None:
    talk = Talk(SimulatedCLI(echo))
    await talk.write(line + b'\n{"type":"user","message":{"role":"user","content":"x"}}')
    assert await talk.rest() == 1
    assert said(talk.heard) == []
    assert words in await talk.stderr()


async def test_unknown_line_is_ignored() -> None:
    talk = Talk(SimulatedCLI(echo))
    await talk.write(b'{"type":"new"}')
    assert said(await talk.turn("hi")) == ["hi!"]


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"session.send","content":"x"}',
        b'{"type":"control_request","request":{"subtype":"initialize","request_id":"x"}}',
    ],
)
async def test_line_of_another_dialect_is_ignored(line: bytes) -> None:
    talk = Talk(SimulatedCLI(echo))
    await talk.write(line)
    assert kinds(await talk.turn("hi")) == ["system/init", "assistant", "result/success"]


async def test_user_messages_are_replayed_on_request() -> None:
    cli = SimulatedCLI(make, argv=["--replay-user-messages"])
    talk = Talk(cli, {wire.CanUseTool: allow})
    turn = await talk.turn("go", uuid=SESSION)
    (prompt,) = [it for it in only(turn, wire.UserMessage) if it.is_replay]
    assert (prompt.text, prompt.uuid) == ("go", SESSION)
    assert "control_response" in kinds(turn)  # the answer to the permission request


async def test_state_is_announced_if_the_environment_asks() -> None:
    env = {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1"}
    talk = Talk(SimulatedCLI(make, env=env), {wire.CanUseTool: allow})
    await talk.turn("go")
    await talk.end()
    states = [it.state for it in only(talk.heard, wire.SessionStateChangedMessage)]
    assert states == ["running", "requires_action", "running", "idle"]


# --- limits ---------------------------------------------------------------------------------------


async def test_max_turns_end_the_turn_before_the_next_model_call() -> None:
    cli = SimulatedCLI(make, argv=["--max-turns", "1"])
    result = (await Talk(cli, {wire.CanUseTool: allow}).turn("go"))[-1]
    assert (result.subtype, result.terminal_reason) == ("error_max_turns", "max_turns")
    assert result.errors == ["Reached maximum number of turns (1)"]


async def test_spent_budget_ends_the_turn() -> None:
    result = (await Talk(SimulatedCLI(echo, argv=["--max-budget-usd=0.0001"])).turn("go"))[-1]
    assert (result.subtype, result.terminal_reason) == ("error_max_budget_usd", "budget_exhausted")


# --- the transport --------------------------------------------------------------------------------


async def test_nothing_can_be_sent_after_the_end() -> None:
    cli = SimulatedCLI(echo)
    await cli.send_eof()
    await cli.send_eof()
    assert await cli.wait() == 0
    with pytest.raises(TransportClosed, match="has exited with status 0"):
        await cli.send(b"x")


async def test_close_ends_a_process_that_waits() -> None:
    async def forever(chat: Chat) -> None:
        await chat.sleep(3600)

    cli = SimulatedCLI(forever)
    talk = Talk(cli)
    await talk.say(wire.UserMessage.of("go"))
    await cli.aclose()
    assert await talk.rest() == -9
    assert isinstance(talk.heard[-1], wire.EndOfStream)


@simulated_time
async def test_timer_that_expired_counts_before_later_input() -> None:
    async def slow(chat: Chat) -> None:
        await chat.sleep(1)
        await chat.say("One.")
        await chat.sleep(1)
        await chat.say("Two.")

    cli = SimulatedCLI(slow)
    talk = Talk(cli, patience=3600)
    await talk.say(wire.UserMessage.of("go"))
    await anyio.sleep(1.5)
    assert await talk.end() == 0
    result = only(talk.heard, wire.ResultMessage)[0]
    assert result.duration_ms == pytest.approx(2500, abs=1)


async def test_cancelled_call_loses_nothing() -> None:
    talk = Talk(SimulatedCLI(echo))
    with anyio.CancelScope() as scope:
        scope.cancel()
        await talk.cli.receive()
    assert said(await talk.turn("go")) == ["go!"]


def launch(*argv: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> Launch:
    return Launch(("claude", *argv), env or {}, cwd=cwd)


STREAMS: Sequence[str] = (
    "--output-format=stream-json",
    "--input-format=stream-json",
    "--verbose",
)


async def test_options_of_a_session_configure_the_start(tmp_path: Path) -> None:
    cli = SimulatedCLI(echo, argv=["--model=haiku"], env={"A": "1"}, cwd="/")
    cli.configure(launch(*STREAMS, f"--session-id={SESSION}", cwd=tmp_path, env={"B": "2"}))
    assert cli.engine is not None
    session = cli.engine.session
    assert (session.id, session.model, session.cwd) == (SESSION, "claude-haiku-5-5", str(tmp_path))
    assert session.env == {"A": "1", "B": "2"}
    cli.configure(launch("--nonsense"))  # it has started already
    assert cli.engine.session is session
    await cli.aclose()
    with pytest.raises(OptionsError, match="has been used before"):
        cli.configure(launch())


async def test_refused_command_line_prints_why_and_exits() -> None:
    talk = Talk(SimulatedCLI(argv=["--permision-mode", "plan"]))
    assert await talk.rest() == 1
    assert (await talk.stderr()).startswith("error: unknown option '--permision-mode'")
    assert talk.cli.engine is None  # type: ignore[attr-defined]


async def test_version_and_help_are_printed() -> None:
    for flag, words in (("--version", b"2.1.17 (Claude Code)"), ("--help", b"claudewire-sim")):
        cli = SimulatedCLI(argv=[flag], version="2.1.17")
        assert words in await cli.receive()
        assert await cli.wait() == 0


async def test_scenario_stops_when_the_cli_is_killed() -> None:
    reached: list[str] = []

    async def play(chat: Chat) -> None:
        await chat.say("One.")
        await chat.sleep(0.01)
        reached.append("after")

    cli = SimulatedCLI(play)
    talk = Talk(cli)
    await talk.say(wire.UserMessage.of("go"))
    await talk.until(lambda it: isinstance(it, wire.AssistantMessage))
    await cli.aclose()
    await talk.rest()
    assert reached == []
    assert only(talk.heard, wire.InitMessage) != []
    assert os.getcwd() == only(talk.heard, wire.InitMessage)[0].cwd
