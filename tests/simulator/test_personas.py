"""How the versions of the CLI differ: each difference that was measured, shown."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from tests.helpers.talk import Talk, allow, bodies, calculator, kinds, only, told, tool_results

from claudewire.simulator import ARGV, LATEST, PERSONAS, Chat, SimulatedCLI
from claudewire.simulator.permissions import told_of_answers
from claudewire.simulator.personas import persona
from claudewire.wire import (
    AgentDefinition,
    Answer,
    AssistantMessage,
    Cancel,
    CanUseTool,
    CommandLifecycleMessage,
    EndOfStream,
    Failure,
    GetHooksListing,
    Initialize,
    InitMessage,
    Interrupt,
    InterruptResult,
    McpMessage,
    McpStatus,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    SetModel,
    SetPermissionMode,
    StopTask,
    TaskNotificationMessage,
    UserMessage,
)

pytestmark = pytest.mark.anyio

OLDEST = ["1.0.128", "2.0.14"]
LENIENT = ["2.0.76", "2.1.17"]
STRICT = ["2.1.100", "2.1.197", "2.1.250", "2.1.325"]
ASKING = [*LENIENT, *STRICT]
VERSIONS = [*OLDEST, *ASKING]
NEWEST = ["2.1.250", "2.1.325"]

COLOUR = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red"}, {"label": "Green"}],
    "multiSelect": False,
}
SIZES = {
    "question": "Which sizes?",
    "header": "Sizes",
    "options": [{"label": "S"}, {"label": "M"}, {"label": "L"}],
    "multiSelect": True,
}
QUESTIONS = [COLOUR, SIZES]
UNANSWERED = "The user did not answer the questions."


async def make(chat: Chat) -> None:
    await chat.use("Bash", {"command": "make"}, result="made")


async def ask(chat: Chat) -> None:
    await chat.ask(QUESTIONS)


def test_there_is_a_persona_for_each_version_that_was_measured() -> None:
    assert list(PERSONAS) == VERSIONS
    assert persona("2.1.325") is LATEST
    with pytest.raises(ValueError, match=r"for CLI '3\.0'; the versions are 1\.0\.128, "):
        persona("3.0")


@pytest.mark.parametrize("version", VERSIONS)
async def test_each_says_who_it_is_and_does_the_same_work(version: str) -> None:
    talk = Talk(SimulatedCLI(make, version=version), {CanUseTool: allow})
    await talk.initialize()
    turn = await talk.turn("go")
    (init,) = [it for it in turn if kinds([it]) == ["system/init"]]
    assert init.claude_code_version == (None if version in OLDEST else version)
    assert told(turn) == ["made"]
    assert turn[-1].ok
    assert await talk.end() == 0


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_permission_names_the_tool_use_except_in_the_oldest(version: str) -> None:
    talk = Talk(SimulatedCLI(make, version=version), {CanUseTool: allow})
    (asked,) = bodies(await talk.turn("go"), CanUseTool)
    assert (asked.tool_use_id is None) is (version in OLDEST)


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_allow_without_an_input_denies_except_in_the_newest(version: str) -> None:
    talk = Talk(SimulatedCLI(make, version=version))
    talk.serve[CanUseTool] = lambda body: PermissionResultAllow()
    turn = await talk.turn("go")
    allowed = version in NEWEST
    assert bool(tool_results(turn)[0].is_error) is not allowed
    assert (told(turn) == ["made"]) is allowed


@pytest.mark.parametrize("version", VERSIONS)
async def test_servers_are_greeted_in_the_version_of_their_protocol(version: str) -> None:
    talk = Talk(SimulatedCLI(make, version=version), {McpMessage: calculator, CanUseTool: allow})
    await talk.initialize(sdk_mcp_servers=["calc"])
    turn = await talk.turn("go")
    greeting, notice, listing = bodies(talk.heard, McpMessage)
    protocol = "2025-06-18" if version in OLDEST else "2025-11-25"
    assert greeting.message["params"]["protocolVersion"] == protocol
    assert notice.message["method"] == "notifications/initialized"
    assert listing.message["method"] == "tools/list"
    (init,) = [it for it in turn if kinds([it]) == ["system/init"]]
    assert "mcp__calc__add" in init.tools


@pytest.mark.parametrize("version", VERSIONS)
async def test_older_ones_give_no_receipts(version: str) -> None:
    talk = Talk(SimulatedCLI(make, version=version))
    receipts = version in STRICT
    for body in (Interrupt(), SetModel("opus"), SetPermissionMode("plan")):
        answer = await talk.ask(body)
        assert isinstance(answer, Answer)
        assert ("response" in answer.raw["response"]) is receipts
    answer = await talk.ask(Interrupt())
    assert isinstance(answer, Answer)
    assert answer.body == (InterruptResult([]) if receipts else InterruptResult())


@pytest.mark.parametrize("version", VERSIONS)
async def test_older_ones_know_fewer_requests_and_the_oldest_do_not_even_say_so(
    version: str,
) -> None:
    talk = Talk(SimulatedCLI(make, version=version))
    await talk.write(json.dumps(CONTEXT_USAGE).encode())
    assert isinstance(await talk.ask(McpStatus()), Answer)  # it is asked later, and all know it
    assert any(b'"usage"' in it.line for it in talk.heard) is (version in STRICT)
    if version in STRICT:
        answer = await talk.ask(GetHooksListing())
        assert isinstance(answer, Answer) is (version == "2.1.325")
        if isinstance(answer, Failure):
            assert answer.error.startswith("Unsupported control request subtype: ")


CONTEXT_USAGE = {
    "type": "control_request",
    "request_id": "usage",
    "request": {"subtype": "get_context_usage"},
}


@pytest.mark.parametrize(
    ("version", "known"),
    [
        *((version, set[str]()) for version in (*OLDEST, *LENIENT)),
        *((version, {"agents", "pid"}) for version in ("2.1.100", "2.1.197")),
        ("2.1.250", {"agents", "pid", "session_state"}),
        ("2.1.325", {"agents", "pid", "session_state", "claude_code_version"}),
    ],
)
async def test_older_ones_say_less_of_themselves(version: str, known: set[str]) -> None:
    info = await Talk(SimulatedCLI(make, version=version)).initialize()
    names = ("agents", "pid", "session_state", "claude_code_version")
    assert {name for name in names if getattr(info, name) is not None} == known


@pytest.mark.parametrize("version", VERSIONS)
async def test_what_asks_for_no_answer_has_one_with_older_ones(version: str) -> None:
    async def echo(chat: Chat) -> None:
        await chat.say(f"You said {chat.text}.")

    talk = Talk(SimulatedCLI(echo, version=version))
    note = UserMessage.of("It rains", should_query=False)
    since = len(talk.heard)
    await talk.say(note)
    if version not in NEWEST:
        result = (await talk.until_result(since))[-1]
        assert result.result == ("" if version == "2.1.197" else "You said It rains.")
    turn = await talk.turn("So?")
    assert turn[-1].result == "You said So?."


@pytest.mark.parametrize("version", VERSIONS)
async def test_agents_are_read_from_the_flag_and_but_for_the_oldest_from_initialize(
    version: str,
) -> None:
    agents = {"reviewer": AgentDefinition("Reviews.", "You review.")}
    flag = f"--agents={msgspec.json.encode(agents).decode()}"
    for argv, given, is_read in (((flag,), None, True), ((), agents, version not in OLDEST)):
        talk = Talk(SimulatedCLI(make, version=version, argv=[*ARGV, *argv]), {CanUseTool: allow})
        await talk.initialize(agents=given)
        (init,) = only(await talk.turn("go"), InitMessage)
        assert ("reviewer" in (init.agents or [])) is is_read
    if not PERSONAS[version].narrates:
        talk = Talk(SimulatedCLI(make, version=version, argv=[*ARGV, "--agents={"]))
        await talk.initialize()


@pytest.mark.parametrize("version", VERSIONS)
async def test_only_newer_ones_tell_how_far_a_prompt_has_come(version: str) -> None:
    talk = Talk(SimulatedCLI(make, version=version), {CanUseTool: allow})
    await talk.turn("go", uuid="11111111-1111-4111-8111-111111111111")
    await talk.end()
    states = [it.state for it in only(talk.heard, CommandLifecycleMessage)]
    assert states == (["queued", "started", "completed"] if version in NEWEST else [])


@pytest.mark.parametrize("version", NEWEST)
async def test_they_also_tell_it_of_what_asks_for_no_answer(version: str) -> None:
    talk = Talk(SimulatedCLI(make, version=version), {CanUseTool: allow})
    await talk.say(UserMessage.of("It rains", uuid=ONE, should_query=False))
    await talk.end()
    told = only(talk.heard, CommandLifecycleMessage)
    assert [it.state for it in told] == ["queued", "started", "completed"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_result_names_the_prompts_that_were_merged_as_far_as_the_version_does(
    version: str,
) -> None:
    async def work(chat: Chat) -> None:
        if chat.text == "one":
            await make(chat)
        await chat.say("Done.")

    talk = Talk(SimulatedCLI(work, version=version))
    await talk.say(UserMessage.of("one", uuid=ONE))
    asked, _ = await talk.request(CanUseTool)
    await talk.say(UserMessage.of("two", uuid=TWO, priority="next"))
    await talk.say(Answer(asked, PermissionResultAllow({"command": "make"})))
    result = (await talk.until_result())[-1]
    named = {"2.1.250": (ONE, None), "2.1.325": (ONE, [ONE, TWO])}.get(version, (None, None))
    assert (result.user_message_uuid, result.user_message_uuids) == named
    await talk.end()
    assert sum(isinstance(it, ResultMessage) for it in talk.heard) == 1
    told = only(talk.heard, CommandLifecycleMessage)
    ends = [it.command_uuid for it in told if it.state == "completed"]
    assert {*ends} == ({ONE, TWO} if version in NEWEST else set())


ONE, TWO, THREE = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "123")


async def speak(chat: Chat) -> None:
    if chat.text == "one":
        await chat.sleep(3600)
    await chat.say(f"{chat.text} is done.")


@pytest.mark.parametrize("version", NEWEST)
@pytest.mark.parametrize("other", ["next", "later"])
async def test_prompts_that_wait_with_the_same_priority_are_one_turn(
    version: str, other: str
) -> None:
    talk = Talk(SimulatedCLI(speak, version=version))
    await talk.say(UserMessage.of("one", uuid=ONE))
    await talk.say(UserMessage.of("two", uuid=TWO, priority="next"))
    await talk.say(UserMessage.of("three", uuid=THREE, priority=other))
    await talk.ask(Interrupt())
    await talk.end()
    ends = [(it.result, it.user_message_uuid) for it in only(talk.heard, ResultMessage)]
    together = [("two\nthree is done.", THREE)]
    assert ends[1:] == (
        together if other == "next" else [("two is done.", TWO), ("three is done.", THREE)]
    )
    lifecycle = [(it.command_uuid, it.state) for it in only(talk.heard, CommandLifecycleMessage)]
    assert (ONE, "cancelled") in lifecycle
    assert {(TWO, "completed"), (THREE, "completed")} <= {*lifecycle}
    if other == "next":
        names = [TWO, THREE] if version == "2.1.325" else None
        assert only(talk.heard, InitMessage)[-1].user_message_uuids == names
        assert only(talk.heard, AssistantMessage)[-1].user_message_uuids == names
        assert lifecycle[-4:-2] == [(TWO, "started"), (THREE, "started")]


@pytest.mark.parametrize("version", VERSIONS)
async def test_newer_ones_stop_the_turn_for_what_has_to_be_done_now(version: str) -> None:
    talk = Talk(SimulatedCLI(speak, version=version))
    await talk.say(UserMessage.of("one", uuid=ONE))
    await talk.say(UserMessage.of("later", priority="later"))
    await talk.say(UserMessage.of("now", uuid=TWO, priority="now"))
    if version not in NEWEST:
        await talk.ask(Interrupt())
    await talk.end()
    first, *others = only(talk.heard, ResultMessage)
    assert (first.subtype, first.terminal_reason) == ("error_during_execution", "aborted_streaming")
    assert bool(only(talk.heard, UserMessage)) is (version not in NEWEST)  # who interrupted it
    order = ["now is done.", "later is done."]
    assert [it.result for it in others] == (order if version in NEWEST else order[::-1])


@pytest.mark.parametrize("version", NEWEST)
@pytest.mark.parametrize("with_subagent", [False, True], ids=["a tool", "a subagent"])
async def test_a_tool_that_runs_has_its_end_before_what_has_to_be_done_now(
    version: str, with_subagent: bool
) -> None:
    async def work(chat: Chat) -> None:
        if chat.text == "one" and with_subagent:
            await chat.subagent("general-purpose", "Look", look)
        elif chat.text == "one":
            await chat.use("Read", {"file_path": "a"}, seconds=0.1, result="read")
        await chat.say(f"{chat.text} is done.")

    async def look(chat: Chat) -> None:
        await chat.sleep(0.1)
        await chat.say("read")

    talk = Talk(SimulatedCLI(work, version=version))
    await talk.say(UserMessage.of("one", uuid=ONE))
    await talk.say(UserMessage.of("two", uuid=TWO, priority="now"))
    await talk.end()
    (of_tool,) = [it for it in tool_results(talk.heard) if "read" in str(it.content)]
    assert not of_tool.is_error
    first, second = only(talk.heard, ResultMessage)
    assert (first.subtype, first.result, first.terminal_reason) == ("success", "", "aborted_tools")
    assert second.result == "two is done."


@pytest.mark.parametrize("version", NEWEST)
async def test_a_tool_that_is_asked_about_is_given_up_for_what_has_to_be_done_now(
    version: str,
) -> None:
    talk = Talk(SimulatedCLI(make, version=version))
    await talk.say(UserMessage.of("one", uuid=ONE))
    asked, _ = await talk.request(CanUseTool)
    await talk.say(UserMessage.of("/cost", uuid=TWO, priority="now"))
    first = (await talk.until_result())[-1]
    assert (first.subtype, first.result, first.terminal_reason) == ("success", "", "aborted_tools")
    assert told(talk.heard) == ["Tool permission request aborted"]
    assert [it.id for it in talk.heard if isinstance(it, Cancel)] == [asked]
    await talk.end()


@pytest.mark.parametrize("version", VERSIONS)
async def test_what_is_said_names_its_prompt_as_far_as_the_version_does(version: str) -> None:
    talk = Talk(SimulatedCLI(speak, version=version))
    turn = await talk.turn("two", uuid=TWO)
    (said,) = only(turn, AssistantMessage)
    named = {"2.1.250": (TWO, None), "2.1.325": (TWO, [TWO])}.get(version, (None, None))
    assert (said.user_message_uuid, said.user_message_uuids) == named


@pytest.mark.parametrize("version", STRICT)
async def test_the_end_of_a_stopped_task_is_told_by_all_but_one(version: str) -> None:
    ids: list[str] = []

    async def start(chat: Chat) -> None:
        ids.append(chat.start_task("build").id)

    talk = Talk(SimulatedCLI(start, version=version))
    await talk.turn("go")
    assert isinstance(await talk.ask(StopTask(*ids)), Answer)
    await talk.end()
    told = [it.status for it in only(talk.heard, TaskNotificationMessage)]
    assert told == ([] if version == "2.1.100" else ["stopped"])


@pytest.mark.parametrize("version", VERSIONS)
async def test_older_ones_exit_when_a_request_is_withdrawn(version: str) -> None:
    cli = SimulatedCLI(make, version=version)
    talk = Talk(cli)
    await talk.initialize()
    await talk.write(b'{"type":"control_cancel_request","request_id":"1"}')
    if version in STRICT:
        assert isinstance(await talk.ask(McpStatus()), Answer)
    else:
        await talk.until(lambda it: isinstance(it, EndOfStream))
        assert await cli.wait() == 1
        assert b"got 'control_cancel_request'" in await cli.receive_stderr()


@pytest.mark.parametrize("version", STRICT)
async def test_an_id_inside_the_request_is_not_found(version: str) -> None:
    talk = Talk(SimulatedCLI(make, version=version), {CanUseTool: allow})
    request = {"subtype": "initialize", "request_id": "req_1", "hooks": {}}
    await talk.write(json.dumps({"type": "control_request", "request": request}).encode())
    turn = await talk.turn("go")
    answers = [it for it in turn if it.raw.get("type") == "control_response"]
    if version != "2.1.325":
        assert answers == []
    else:
        (answer,) = answers
        assert answer.raw["response"]["subtype"] == "error"
        assert "request_id" not in answer.raw["response"]
    assert (await talk.initialize()).agents


async def test_keys_in_another_spelling_are_ignored_in_silence() -> None:
    talk = Talk(SimulatedCLI(make))
    request = {"subtype": "initialize", "system_prompt": "Be brief.", "mcp_servers": {}}
    line = {"type": "control_request", "request_id": "req_1", "request": request}
    await talk.write(json.dumps(line).encode())
    (answer,) = await talk.until(lambda it: it.raw.get("type") == "control_response")
    assert answer.raw["response"]["request_id"] == "req_1"
    assert answer.raw["response"]["subtype"] == "success"


# --- questions ------------------------------------------------------------------------------------


async def answered(version: str, updated_input: dict[str, Any] | None) -> tuple[str, bool]:
    """What the model is told when a question is answered so, and whether that is an error."""
    talk = Talk(SimulatedCLI(ask, version=version))
    talk.serve[CanUseTool] = lambda body: PermissionResultAllow(updated_input)
    turn = await talk.turn("go")
    return told(turn)[0], bool(tool_results(turn)[0].is_error)


async def test_the_oldest_cannot_ask() -> None:
    talk = Talk(SimulatedCLI(ask, version="1.0.128"))
    turn = await talk.turn("go")
    (init,) = [it for it in turn if kinds([it]) == ["system/init"]]
    assert "AskUserQuestion" not in init.tools
    assert bodies(turn, CanUseTool) == []
    assert "No such tool available: AskUserQuestion" in told(turn)[0]


@pytest.mark.parametrize("version", ASKING)
async def test_answers_by_the_text_of_the_question_are_understood_by_all(version: str) -> None:
    answers = {"Which colour?": "Green", "Which sizes?": "S, L"}
    text, is_error = await answered(version, {"questions": QUESTIONS, "answers": answers})
    assert '"Which colour?"="Green", "Which sizes?"="S, L"' in text
    assert not is_error


@pytest.mark.parametrize("version", ASKING)
async def test_a_list_is_joined(version: str) -> None:
    given = {"questions": QUESTIONS, "answers": {"Which sizes?": ["S", "L"]}}
    text, is_error = await answered(version, given)
    assert '"Which sizes?"="S,L"' in text
    assert not is_error


@pytest.mark.parametrize("keys", [("0", "1"), ("q_0", "q_1"), ("Colour", "Sizes")], ids=str)
@pytest.mark.parametrize("version", ASKING)
async def test_answers_by_other_keys_are_lost_in_newer_ones(
    version: str, keys: tuple[str, str]
) -> None:
    answers = dict(zip(keys, ["Green", ["S", "L"]], strict=True))
    text, is_error = await answered(version, {"questions": QUESTIONS, "answers": answers})
    assert not is_error
    if version in STRICT:
        assert text == UNANSWERED
    else:
        assert f'"{keys[0]}"="Green", "{keys[1]}"="S,L"' in text


@pytest.mark.parametrize("key", ["0", "Which colour?"])
@pytest.mark.parametrize("version", ASKING)
async def test_answers_without_the_questions_are_an_error_in_newer_ones(
    version: str, key: str
) -> None:
    text, is_error = await answered(version, {"answers": {key: "Green"}})
    assert is_error is (version in STRICT)
    assert "questions" in text
    if version in LENIENT:
        assert f'"{key}"="Green"' in text


@pytest.mark.parametrize("version", STRICT)
async def test_no_input_at_all_is_an_error_or_no_answer(version: str) -> None:
    text, is_error = await answered(version, None)
    assert is_error is (version not in NEWEST)
    assert (text == UNANSWERED) is (version in NEWEST)


@pytest.mark.parametrize("version", STRICT)
async def test_an_answer_that_is_no_option_is_accepted(version: str) -> None:
    given = {"questions": QUESTIONS, "answers": {"Which colour?": "Mauve"}}
    text, is_error = await answered(version, given)
    assert text.startswith("The user answered: ")
    assert "Mauve" in text
    assert not is_error


@pytest.mark.parametrize("version", STRICT)
async def test_free_text_is_a_response(version: str) -> None:
    given = {"questions": QUESTIONS, "answers": {}, "response": "whatever you like"}
    assert await answered(version, given) == ("The user responded: whatever you like", False)


@pytest.mark.parametrize("answers", [None, [], "Green", {}])
@pytest.mark.parametrize("version", ASKING)
async def test_no_answers_are_no_answer(version: str, answers: Any) -> None:
    text, is_error = await answered(version, {"questions": QUESTIONS, "answers": answers})
    assert not is_error
    if version in STRICT:
        assert text == UNANSWERED
    else:
        assert text.startswith("User has answered your questions: . You can now continue")


@pytest.mark.parametrize(
    ("answers", "notes", "told"),
    [
        (
            {"Which colour?": "Green"},
            {},
            'Your questions have been answered: "Which colour?"="Green".',
        ),
        ({"Which colour?": "Red, Green"}, {}, 'The user answered: "Which colour?"="Red, Green".'),
        (
            {"Which colour?": "Red", "Which sizes?": "S"},
            {"Which colour?": {"preview": "**red**", "notes": "but light"}},
            'The user answered: "Which colour?"="Red" selected preview:\n**red** '
            'notes: but light, "Which sizes?"="S".',
        ),
        (
            {},
            {"Which sizes?": {"notes": "any", "unanswered": "skipped"}},
            'The user answered: "Which sizes?"=(no option selected) notes: any.',
        ),
    ],
)
async def test_notes_and_previews_are_told(
    answers: dict[str, str], notes: dict[str, Any], told: str
) -> None:
    given = {"questions": QUESTIONS, "answers": answers, "annotations": notes}
    text, is_error = await answered("2.1.325", given)
    assert text.startswith(told)
    assert not is_error


def test_questions_that_are_none_do_no_harm() -> None:
    given = {"questions": [COLOUR, "odd", {"question": 1}], "answers": {"Which colour?": "Red"}}
    assert '"Which colour?"="Red"' in told_of_answers(LATEST, given)


# --- what is in another dialect -------------------------------------------------------------------


ALLOWED = {"behavior": "allow", "updated_input": {"command": "make"}}


@pytest.mark.parametrize("form", ["callback.response", "control_response"])
async def test_an_answer_in_another_dialect_is_not_heard(form: str) -> None:
    talk = Talk(SimulatedCLI(make))
    await talk.say(UserMessage.of("go"))
    id, _ = await talk.request(CanUseTool)
    inner = {"subtype": "success", "request_id": id, "response": ALLOWED}
    flat = {"type": form, "request_id": id, "response": ALLOWED}
    line = {"type": form, "response": inner} if form == "callback.response" else flat
    await talk.write(json.dumps(line).encode())
    assert await talk.end() == 0
    assert "stream closed" in told(talk.heard)[0]


async def test_after_a_line_in_another_dialect_all_else_is_heard_as_before() -> None:
    talk = Talk(SimulatedCLI(make))
    await talk.write(b'{"type":"session.create","message":{"role":"user","content":"go"}}')
    talk.serve[CanUseTool] = allow
    assert told(await talk.turn("go")) == ["made"]
    talk.serve[CanUseTool] = lambda body: PermissionResultDeny("no")
    assert told(await talk.turn("go")) == ["no"]
    assert await talk.end() == 0


async def test_a_request_in_another_dialect_is_not_heard() -> None:
    talk = Talk(SimulatedCLI(make, version="2.1.197"), {CanUseTool: allow})
    for kind in ("sdk_control_request", "control"):
        line = {"type": kind, "request": {"subtype": "interrupt", "request_id": "1"}}
        await talk.write(json.dumps(line).encode())
    turn = await talk.turn("go")
    assert [it for it in turn if it.raw.get("type") == "control_response"] == []
    answer = await talk.ask(Initialize())
    assert isinstance(answer, Answer)
