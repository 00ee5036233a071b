"""Differences between the versions of the CLI that can be played."""

from __future__ import annotations

from typing import Any

import pytest
from tests.helpers.talk import Talk, allow, bodies, calculator, kinds, only, said, told

from claudewire import wire
from claudewire.errors import OptionsError
from claudewire.simulator import LATEST, PERSONAS, Chat, SimulatedCLI
from claudewire.simulator.personas import persona

pytestmark = pytest.mark.anyio

ONE, TWO = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"

every_version = pytest.mark.parametrize("version", PERSONAS)


async def repeat(chat: Chat) -> None:
    await chat.say(f"{chat.text} is done.")


async def make(chat: Chat) -> None:
    await chat.use("Bash", {"command": "make"}, result="made")


@every_version
async def test_version_says_who_it_is_and_does_the_same_work(version: str) -> None:
    talk = Talk(SimulatedCLI(make, version=version), {wire.CanUseTool: allow})
    welcome = await talk.initialize()
    newest = version == LATEST.version
    assert welcome.claude_code_version == (version if newest else None)
    turn = await talk.turn("go")
    assert [it.claude_code_version for it in only(turn, wire.InitMessage)] == [version]
    assert told(turn) == ["made"]
    assert await talk.end() == 0


@pytest.mark.parametrize(
    ("version", "plays"),
    [("2.1.18", "2.1.17"), ("2.1.282", "2.1.250"), ("2.1.327", "2.1.325"), ("3.0", "2.1.325")],
)
def test_version_between_two_plays_the_older_one(version: str, plays: str) -> None:
    assert persona(version) == PERSONAS[plays]._replace(version=version)


@pytest.mark.parametrize("version", ["2.1.16", "newest", ""])
def test_version_before_the_oldest_is_refused(version: str) -> None:
    with pytest.raises(OptionsError, match=r"version must be 2\.1\.17, .* or a version between"):
        SimulatedCLI(version=version)


# --- requests -------------------------------------------------------------------------------------


@every_version
async def test_unknown_request_gets_an_error_or_silence(version: str) -> None:
    talk = Talk(SimulatedCLI(repeat, version=version))
    request = talk.connection.new_request(wire.GetContextUsage())
    await talk.say(request)
    await talk.write(b'{"type":"control_request","request_id":"x","request":{"subtype":"new"}}')
    await talk.turn("one")
    await talk.end()
    refused = [it for it in talk.heard if b"Unsupported control request subtype: new" in it.line]
    answers = [it.id for it in only(talk.heard, wire.Answer)]
    is_silent = version == "2.1.17"
    assert (len(refused), answers) == ((0, []) if is_silent else (1, [request.id]))


@every_version
async def test_interrupt_and_mode_are_acknowledged_with_a_receipt(version: str) -> None:
    talk = Talk(SimulatedCLI(repeat, version=version))
    has_receipts = version != "2.1.17"
    for body in (wire.Interrupt(), wire.SetPermissionMode("plan")):
        answer = await talk.ask(body)
        assert (answer.raw["response"].get("response") is not None) is has_receipts
    await talk.turn("go")
    modes = [it.permission_mode for it in only(talk.heard, wire.StatusMessage)]
    assert modes == (["plan"] if has_receipts else [])


@every_version
async def test_cancellation_ends_the_oldest_version(version: str) -> None:
    talk = Talk(SimulatedCLI(repeat, version=version))
    await talk.write(b'{"type":"control_cancel_request","request_id":"x"}')
    if version == "2.1.17":
        assert await talk.rest() == 1
        assert "got 'control_cancel_request'" in await talk.stderr()
    else:
        await talk.turn("go")
        assert await talk.end() == 0


@every_version
async def test_servers_are_connected_before_or_after_initialize(version: str) -> None:
    talk = Talk(SimulatedCLI(version=version), {wire.McpMessage: calculator})
    await talk.initialize(sdk_mcp_servers=["calc"])
    newer = version in ("2.1.250", "2.1.325")
    assert (kinds(talk.heard)[0] == "control_request") is newer


@every_version
async def test_allow_without_input_is_an_error_in_older_versions(version: str) -> None:
    serve: dict[type, Any] = {wire.CanUseTool: lambda body: wire.PermissionResultAllow()}
    turn = await Talk(SimulatedCLI(make, version=version), serve).turn("go")
    if version in ("2.1.17", "2.1.197"):
        assert "updatedInput is required" in told(turn)[0]
    else:
        assert told(turn) == ["made"]


# --- prompts --------------------------------------------------------------------------------------


@every_version
async def test_note_has_a_turn_a_result_or_nothing(version: str) -> None:
    talk = Talk(SimulatedCLI(repeat, version=version))
    await talk.say(wire.UserMessage.of("note", should_query=False))
    await talk.turn("go")
    await talk.end()
    results = [it.result for it in only(talk.heard, wire.ResultMessage)]
    expected = {"2.1.17": ["note is done.", "go is done."], "2.1.197": ["", "go is done."]}
    assert results == expected.get(version, ["go is done."])


@every_version
async def test_progress_of_a_prompt_is_reported_by_newer_versions(version: str) -> None:
    talk = Talk(SimulatedCLI(repeat, version=version))
    await talk.turn("one", uuid=ONE)
    await talk.end()
    states = [it.state for it in only(talk.heard, wire.CommandLifecycleMessage)]
    reports = version in ("2.1.250", "2.1.325")
    assert states == (["queued", "started", "completed"] if reports else [])


@every_version
async def test_messages_name_their_prompts(version: str) -> None:
    talk = Talk(SimulatedCLI(repeat, version=version))
    turn = await talk.turn("two", uuid=TWO)
    names = {"2.1.250": (TWO, None), "2.1.325": (TWO, [TWO])}.get(version, (None, None))
    for message in (only(turn, wire.AssistantMessage)[0], turn[-1]):
        assert (message.user_message_uuid, message.user_message_uuids) == names


@every_version
async def test_prompts_of_one_priority_share_a_turn_in_newer_versions(version: str) -> None:
    async def work(chat: Chat) -> None:
        await chat.sleep(0.01)
        await repeat(chat)

    talk = Talk(SimulatedCLI(work, version=version))
    for prompt in ("one", "two", "three"):
        await talk.say(wire.UserMessage.of(prompt, priority="later"))
    await talk.end()
    shares = version in ("2.1.250", "2.1.325")
    last = ["two\nthree is done."] if shares else ["two is done.", "three is done."]
    assert said(talk.heard) == ["one is done.", *last]


async def test_urgent_prompt_stops_the_turn_that_asks_for_permission() -> None:
    talk = Talk(SimulatedCLI(make))
    await talk.say(wire.UserMessage.of("one"))
    asked, _ = await talk.request(wire.CanUseTool)
    await talk.say(wire.UserMessage.of("/cost", priority="now"))
    first = (await talk.until_result())[-1]
    assert (first.subtype, first.terminal_reason) == ("success", "aborted_tools")
    assert told(talk.heard) == ["Tool permission request aborted"]
    assert [it.id for it in only(talk.heard, wire.Cancel)] == [asked]
    await talk.end()


async def test_urgent_prompt_waits_for_the_tool_that_runs() -> None:
    async def work(chat: Chat) -> None:
        if chat.text == "one":
            await chat.use("TodoWrite", {}, result="read", seconds=0.01)
        await repeat(chat)

    talk = Talk(SimulatedCLI(work))
    await talk.say(wire.UserMessage.of("one"))
    await talk.say(wire.UserMessage.of("two", priority="now"))
    await talk.end()
    assert told(talk.heard) == ["read"]
    first, second = only(talk.heard, wire.ResultMessage)
    assert (first.terminal_reason, second.result) == ("aborted_tools", "two is done.")
    assert bodies(talk.heard, wire.CanUseTool) == []
    assert isinstance(talk.heard[-1], wire.EndOfStream)
