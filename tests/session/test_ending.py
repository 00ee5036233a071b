"""A turn ends also where no result comes, and nothing that a CLI says holds a prompt for ever."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anyio
import msgspec
import pytest
from msgspec.structs import replace
from tests.helpers import messages as saying
from tests.helpers.clock import simulated_time
from tests.helpers.peer import Peer
from tests.helpers.sessions import allow, never, opened, session_with, soon

from claudewire.errors import Cause, CLIError, RequestError, TurnError
from claudewire.options import Unread
from claudewire.session import Session, SessionState, Turn
from claudewire.session.ending import AFTER_IDLE, AFTER_INTERRUPT, Ending, interrupted, stopped
from claudewire.session.turn import UnreadCount
from claudewire.wire import (
    Answer,
    AssistantMessage,
    Cancel,
    CanUseTool,
    ErrorInfo,
    ErrorMessage,
    Event,
    HookCallback,
    Initialize,
    Interrupt,
    McpMessage,
    Message,
    PermissionResultDeny,
    Request,
    ResultMessage,
    Stray,
    SystemErrorMessage,
    Usage,
    UserPromptSubmitHookInput,
)

pytestmark = [pytest.mark.anyio, simulated_time]

LONG = 600.0
"""Seconds of simulated time: longer than anything waits here."""

INIT = {"type": "system", "subtype": "init", "session_id": "s-1"}
WORKING = {"type": "assistant", "message": {"role": "assistant", "content": "working"}}
ERROR = {"type": "error", "error": {"code": "BUSY", "message": "Too much to do"}}
PERMISSION = CanUseTool("Bash", {"command": "date"}, "toolu_1")
TOO_LATE = PermissionResultDeny(
    "the turn was over before a decision was made", tool_use_id="toolu_1"
)


def said(words: str, stop_reason: str | None = "end_turn", **fields: Any) -> dict[str, Any]:
    """A message of a model, as the envelope dialect has it."""
    message = {"role": "assistant", "content": [{"type": "text", "text": words}]}
    return {"type": "assistant", "message": {**message, "stop_reason": stop_reason}, **fields}


async def write(peer: Peer, *lines: dict[str, Any]) -> None:
    await peer.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


async def enveloped(peer: Peer, **changes: Any) -> Session:
    """A session with a CLI that knows neither `initialize` nor `result`."""
    session = session_with(peer, dialect="envelope", **changes)
    with anyio.fail_after(LONG):
        await session.start()
    return session


async def works(session: Session, peer: Peer) -> None:
    """The next prompt is sent, and has its own reply."""
    turn = session.send("Are you there?")
    await peer.hear_prompt()
    await write(peer, said("I am."), {"type": "result", "subtype": "success", "num_turns": 1})
    assert (await turn).text == "I am."
    await session.close()


# --- what may come at any time --------------------------------------------------------------------


async def test_an_init_before_the_first_prompt_begins_no_turn() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(LONG):
        await write(peer, INIT)
        await soon(lambda: session.session_id == "s-1")
        assert session.state is SessionState.READY
        assert session.turns == ()
        await works(session, peer)


NOISE: list[Message] = [
    saying.init(),
    saying.status(),
    saying.keep_alive(),
    saying.result(),
    saying.wake_up_result(),
    saying.text(),
    saying.delta(),
    saying.tool_result(),
    saying.text(parent_tool_use_id="toolu_0"),
    ErrorMessage(error=ErrorInfo("overloaded", "Too much to do")),
    SystemErrorMessage(error="Something went wrong"),
]


@pytest.mark.parametrize("first", NOISE, ids=lambda it: type(it).__name__)
@pytest.mark.parametrize("then", NOISE, ids=lambda it: type(it).__name__)
async def test_nothing_that_comes_between_turns_holds_a_prompt_for_ever(
    first: Message, then: Message
) -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(LONG):
        events = session.events()
        await peer.say(first, then)
        heard = 0
        while heard < 2:
            heard += isinstance(await anext(events), Message)
        turn = session.send("hello")
        await anyio.sleep(LONG / 4)
        await peer.hear_prompt()
        await peer.say(saying.text("mine"), saying.result("mine"))
        assert (await turn).text == "mine"
        await session.close()


async def test_an_unsolicited_turn_that_falls_silent_is_set_aside() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(LONG):
        await peer.say(saying.init(), saying.text("The build is done."))
        other = await anext(session.unsolicited)
        await anyio.sleep(LONG / 4)
        assert session.state is SessionState.BUSY  # as long as nobody waits
        turn = session.send("hello")
        assert turn.state == "held"
        await anyio.sleep(LONG / 4)
        await peer.hear_prompt()
        await peer.say(saying.text("mine"), saying.result("mine"))
        assert (await turn).text == "mine"
        assert other.is_over
        await session.close()


async def test_an_init_belongs_to_the_unsolicited_turn_that_follows_it() -> None:
    peer = Peer()
    session = await opened(peer)
    init, words = saying.init(), saying.text()
    with anyio.fail_after(LONG):
        await peer.say(init)
        await soon(lambda: init in session.notices)
        await peer.say(words)
        turn = await anext(session.unsolicited)
        await soon(lambda: turn.messages == (init, words))
        assert init not in session.notices
        await session.close()


async def test_a_result_that_is_repeated_ends_nothing() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(LONG):
        first, second = session.send("one"), session.send("two")
        await peer.hear_prompt()
        ended = saying.result("first")
        await peer.say(ended)
        await first
        await peer.hear_prompt()
        await peer.say(ended, saying.result("second"))
        assert (await second).text == "second"
        await session.close()


async def test_a_repeated_result_that_names_its_prompt_never_ends_another_turn() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(LONG):
        first, second = session.send("one"), session.send("two")
        await peer.hear_prompt()
        ended = saying.result("first", user_message_uuid=first.uuid)
        await peer.say(ended)
        await first
        await peer.hear_prompt()
        await peer.say(ended)
        await anyio.sleep(
            LONG / 4
        )  # a model may think for longer than a repeated result is doubted
        assert not second.is_over
        await peer.say(saying.result("second", user_message_uuid=second.uuid))
        assert (await second).text == "second"
        await session.close()


@pytest.mark.parametrize("words", [(), ("second",)])
async def test_a_turn_ends_although_all_results_have_the_same_uuid(words: tuple[str, ...]) -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(LONG):
        for prompt in ("one", "two", "three"):
            turn = session.send(prompt)
            await peer.hear_prompt()
            ended = msgspec.structs.replace(saying.result(prompt), uuid="always-the-same")
            await peer.say(*map(saying.text, words), ended)
            assert (await turn).result is not None
        await session.close()


# --- a dialect without results --------------------------------------------------------------------


async def test_a_session_of_the_envelope_dialect_opens_without_a_request() -> None:
    peer = Peer()
    session = await enveloped(peer)
    turn = session.send("hello")
    with anyio.fail_after(LONG):
        await peer.hear_prompt()
        assert len(peer.heard) == 1
        await write(peer, said("hi", session_id="s-4"))
        reply = await turn
    assert reply.ok
    assert reply.text == "hi"
    assert reply.result.stop_reason == "end_turn"
    assert reply.result.user_message_uuid == turn.uuid
    assert session.session_id == reply.session_id == "s-4"
    await session.close()


async def test_a_cli_that_answers_initialize_by_an_error_speaks_the_envelope_dialect() -> None:
    peer = Peer()
    session = session_with(peer)
    with anyio.fail_after(LONG):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.start)
            await peer.hear_request(Initialize)
            error = {"type": "invalid_request", "message": "unsupported"}
            await write(peer, {"type": "error", "error": error})
        assert session.cli_info is None
        turn = session.send("hello")
        prompt = await peer.hear_prompt()
        assert prompt.raw["session_id"] == ""
        await write(peer, {"type": "user", "message": prompt.raw["message"]}, said("hi"))
        assert (await turn).text == "hi"
        await session.close()


async def test_an_error_with_a_code_refuses_initialize() -> None:
    peer = Peer()
    session = session_with(peer)

    async def refuse() -> None:
        await peer.hear_request(Initialize)
        await write(peer, ERROR)

    with anyio.fail_after(LONG):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(refuse)
            with pytest.raises(CLIError, match="Too much to do") as caught:
                await session.start()
    assert caught.value.cause is Cause.REFUSED


@pytest.mark.parametrize(
    "reason", ["end_turn", "stop_sequence", "max_tokens", "refusal", "something_new"]
)
async def test_a_model_that_has_stopped_ends_the_turn(reason: str) -> None:
    peer = Peer()
    session = await enveloped(peer)
    turn = session.send("hello")
    with anyio.fail_after(LONG):
        line = said("hi", reason, session_id="s-1")
        line["message"]["usage"] = {"input_tokens": 3, "output_tokens": 4}
        await write(peer, line)
        assert (await turn).result == ResultMessage(
            subtype="success",
            is_error=False,
            user_message_uuid=turn.uuid,
            session_id="s-1",
            stop_reason=reason,
            terminal_reason="completed",
            usage=Usage(input_tokens=3, output_tokens=4),
        )
        await session.close()


@pytest.mark.parametrize("reason", [None, "tool_use", "pause_turn"])
async def test_a_model_that_goes_on_does_not_end_the_turn(reason: str | None) -> None:
    peer = Peer()
    session = await enveloped(peer)
    turn = session.send("hello")
    with anyio.fail_after(LONG):
        subagent = said("I am done.", parent_tool_use_id="toolu_1")
        await write(peer, said("first", reason), subagent)
        await anyio.sleep(LONG / 2)
        assert not turn.is_over
        await write(peer, said("then"))
        assert (await turn).text == "then"
        await session.close()


async def test_a_result_that_does_come_ends_the_turn_once() -> None:
    peer = Peer()
    session = await enveloped(peer)
    turn, after = session.send("one"), session.send("two")
    result = {"type": "result", "subtype": "success", "num_turns": 3}
    with anyio.fail_after(LONG):
        await write(peer, said("first"), result)
        assert (await turn).result.num_turns == 3
        await write(peer, said("second"))
        assert (await after).text == "second"
        await write(peer, result)  # too late
        await soon(lambda: any(isinstance(it, ResultMessage) for it in session.notices))
        await works(session, peer)


async def test_a_permission_after_the_end_belongs_to_the_turn() -> None:
    """The example of the document: the model has stopped, and then it wants to use a tool."""
    peer = Peer()
    session = await enveloped(peer, on_permission=allow)
    turn = session.send("What is 2+2?")
    with anyio.fail_after(LONG):
        await write(peer, said("2 + 2 = 4"))
        await peer.ask(PERMISSION)
        await peer.hear(Answer)
        await anyio.sleep(5)  # the tool runs
        assert not turn.is_over
        await write(peer, said("It is late."))
        assert (await turn).text == "It is late."
        await session.close()


async def test_a_turn_that_ends_with_a_permission_ends_nevertheless() -> None:
    peer = Peer()
    session = await enveloped(peer, on_permission=allow)
    turn = session.send("What is 2+2?")
    with anyio.fail_after(LONG):
        await write(peer, said("2 + 2 = 4"))
        await peer.ask(PERMISSION)
        assert (await turn).text == "2 + 2 = 4"
        await works(session, peer)


async def test_a_permission_long_after_the_end_begins_a_turn_of_its_own() -> None:
    peer = Peer()
    session = await enveloped(peer, on_permission=allow)
    turn = session.send("What is 2+2?")
    with anyio.fail_after(LONG):
        await write(peer, said("2 + 2 = 4"))
        await turn
        await peer.ask(PERMISSION)
        await write(peer, said("It is late."))
        other = await anext(session.unsolicited)
        assert (await other).text == "It is late."
        await session.close()


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [[], [WORKING]])
async def test_an_error_that_nothing_follows_fails_the_turn(before: list[Any]) -> None:
    peer = Peer()
    session = await opened(peer)
    turn = session.send("hello")
    with anyio.fail_after(LONG):
        await peer.hear_prompt()
        await write(peer, *before, ERROR)
        with pytest.raises(TurnError, match=r"Too much to do \(BUSY\)") as caught:
            await turn
        assert caught.value.code == "BUSY"
        assert caught.value.evidence.received
        assert isinstance(turn.messages[-1], ErrorMessage)
        await works(session, peer)


@pytest.mark.parametrize(
    ("error", "text", "code"),
    [
        ({"error": "It broke.", "content": "not this"}, "It broke.", None),
        ({"message": "It broke.", "error": "nor this"}, "It broke.", None),
        ({"content": "It broke."}, "It broke.", None),
        ({"error": {"type": "broken", "message": "It broke."}}, "It broke. (broken)", "broken"),
        ({"error": {"code": "odd", "type": "no", "message": "It"}}, "It (odd)", "odd"),
        ({"error": {"code": 7}}, "{'code': 7}", None),
        ({"error": {"code": 7, "message": "It broke."}}, "It broke.", None),
        ({}, "it does not say which", None),
    ],
)
async def test_a_system_error_that_nothing_follows_fails_the_turn(
    error: dict[str, Any], text: str, code: str | None
) -> None:
    peer = Peer()
    session = await opened(peer)
    turn = session.send("hello")
    with anyio.fail_after(LONG):
        await write(peer, {"type": "system", "subtype": "error", **error})
        with pytest.raises(TurnError) as caught:
            await turn
        assert caught.value.message == f"The CLI reported an error: {text}"
        assert caught.value.code == code
        await session.close()


@pytest.mark.parametrize(
    ("code", "message", "cause"),
    [
        (
            "SESSION_NOT_FOUND",
            "No conversation found with session ID: 1",
            Cause.SESSION_NOT_FOUND,
        ),
        ("overloaded_error", "Overloaded", Cause.OVERLOADED),
    ],
)
async def test_the_cause_of_an_error_is_found(code: str, message: str, cause: Cause) -> None:
    peer = Peer()
    session = await opened(peer)
    turn = session.send("hello")
    with anyio.fail_after(LONG):
        await write(peer, {"type": "error", "error": {"code": code, "message": message}})
        with pytest.raises(TurnError) as caught:
            await turn
        assert caught.value.cause is cause
        await session.close()


async def test_a_turn_may_go_on_after_an_error() -> None:
    peer = Peer()
    session = await opened(peer)
    turn = session.send("hello")
    with anyio.fail_after(LONG):
        await write(peer, ERROR, WORKING)
        await anyio.sleep(LONG / 2)
        assert not turn.is_over
        await peer.say(saying.result("done"))
        assert (await turn).text == "done"
        await session.close()


async def test_a_result_after_an_error_decides() -> None:
    peer = Peer()
    session = await opened(peer)
    turn = session.send("hello")
    with anyio.fail_after(LONG):
        await write(peer, ERROR)
        await peer.say(saying.result(subtype="error_session"))
        assert (await turn).result.subtype == "error_session"
        await session.close()


async def test_a_late_result_is_not_that_of_the_next_turn() -> None:
    peer = Peer()
    session = await opened(peer)
    turn = session.send("hello")
    with anyio.fail_after(LONG):
        await write(peer, ERROR)
        with pytest.raises(TurnError):
            await turn
        after = session.send("again")
        await peer.hear_prompt()
        await peer.say(saying.result("late"), saying.text("mine"), saying.result("mine"))
        assert (await after).text == "mine"
        await session.close()


async def test_a_result_without_output_after_a_turn_without_one_is_taken_in_the_end() -> None:
    peer = Peer()
    session = await opened(peer)
    turn = session.send("hello")
    with anyio.fail_after(LONG):
        await write(peer, ERROR)
        with pytest.raises(TurnError):
            await turn
        after = session.send("again")
        await peer.say(saying.result("mine"))
        assert (await after).text == "mine"
        await session.close()


async def test_late_words_hold_nothing_back() -> None:
    peer = Peer()
    session = await opened(peer)
    turn = session.send("hello")
    with anyio.fail_after(LONG):
        await write(peer, ERROR)
        with pytest.raises(TurnError):
            await turn
        await write(peer, WORKING)
        await soon(lambda: any(isinstance(it, AssistantMessage) for it in session.notices))
        assert session.state is SessionState.READY
        await works(session, peer)


async def test_an_error_answers_the_request_that_waits() -> None:
    peer = Peer()
    session = await opened(peer)
    turn = session.send("hello")
    with anyio.fail_after(LONG):
        async with anyio.create_task_group() as tasks:

            async def change() -> None:
                with pytest.raises(RequestError, match="Too much to do") as caught:
                    await session.set_permission_mode("plan")
                assert caught.value.code == "BUSY"

            tasks.start_soon(change)
            await peer.hear_request(object)
            await write(peer, ERROR)
        await anyio.sleep(LONG / 2)
        assert not turn.is_over
        await peer.say(saying.result("done"))
        assert (await turn).ok
        await session.close()


# --- interrupts -----------------------------------------------------------------------------------


async def in_the_session_dialect(peer: Peer) -> Session:
    session = session_with(peer, dialect="session")
    with anyio.fail_after(LONG):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(peer.welcome)
            await session.start()
    return session


@pytest.mark.parametrize("words", [[], [WORKING, WORKING]])
async def test_an_interrupt_that_is_answered_ends_the_turn_where_no_result_is_promised(
    words: list[Any],
) -> None:
    peer = Peer()
    session = await in_the_session_dialect(peer)
    turn = session.send("hello")
    with anyio.fail_after(LONG):
        await peer.hear_prompt()
        await write(peer, WORKING)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(peer.acknowledge)
            tasks.start_soon(write, peer, *words)
            receipt = await session.interrupt()
        assert receipt.acknowledged
        assert receipt.turn is turn
        reply = await turn
        assert not reply.ok
        assert reply.result == ResultMessage(
            subtype="error_during_execution",
            is_error=True,
            user_message_uuid=turn.uuid,
            errors=["The turn was interrupted"],
            terminal_reason="aborted_streaming",
        )
        await works(session, peer)


async def test_a_result_that_follows_an_interrupt_counts() -> None:
    peer = Peer()
    session = await in_the_session_dialect(peer)
    turn = session.send("hello")
    with anyio.fail_after(LONG):
        await write(peer, WORKING)
        async with anyio.create_task_group() as tasks:

            async def stop() -> None:
                await peer.acknowledge()
                await write(peer, {"type": "result", "subtype": "error_stopped", "turn_count": 1})

            tasks.start_soon(stop)
            await session.interrupt()
        assert (await turn).result.subtype == "error_stopped"
        await works(session, peer)


async def test_an_interrupted_turn_has_not_ended_while_the_cli_says_more_of_it() -> None:
    peer = Peer()
    session = await in_the_session_dialect(peer)
    turn = session.send("hello")

    async def stop_slowly() -> None:
        await peer.acknowledge()
        for _ in range(3):
            await anyio.sleep(0.9 * AFTER_INTERRUPT)
            await write(peer, WORKING)

    with anyio.fail_after(LONG):
        await peer.hear_prompt()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop_slowly)
            await session.interrupt()
        await turn
        assert [type(it) for it in turn.messages[:-1]] == [AssistantMessage] * 3
        await works(session, peer)


async def test_a_cli_that_does_not_even_answer_an_interrupt_has_stopped_when_it_is_silent() -> None:
    peer = Peer()
    session = await enveloped(peer)
    turn = session.send("hello")
    with anyio.fail_after(LONG):
        await write(peer, said("working", None))
        receipt = await session.interrupt()
        assert not receipt.acknowledged
        assert receipt.turn is turn
        assert (receipt.steps, receipt.outcome) == (("interrupt",), "stopped")
        await peer.hear_request(Interrupt)
        await works(session, peer)


async def test_words_with_which_an_interrupted_turn_stops_do_not_make_it_a_success() -> None:
    peer = Peer()
    session = await enveloped(peer)
    turn = session.send("hello")
    with anyio.fail_after(LONG):
        await write(peer, said("working", None))

        async def stop() -> None:
            await peer.hear_request(Interrupt)
            await write(peer, said("I have stopped."))

        start = anyio.current_time()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop)
            await session.interrupt()
        assert anyio.current_time() - start == pytest.approx(0.1)
        reply = await turn
        assert not reply.ok
        assert reply.result.terminal_reason == "aborted_streaming"
        assert reply.text == "I have stopped."
        await works(session, peer)


async def test_where_an_interrupt_is_not_answered_none_is_sent_while_nothing_runs() -> None:
    peer = Peer()
    session = await enveloped(peer)
    with anyio.fail_after(LONG):
        receipt = await session.interrupt()
        assert receipt.turn is None
        assert receipt.steps == ()
        await works(session, peer)


async def test_how_another_turn_ends_does_not_matter_to_one_whose_model_has_stopped() -> None:
    one, other = (
        Turn[Any](saying.prompt(), UnreadCount(Unread(), lambda count: None)) for _ in range(2)
    )
    words = saying.text()
    before = interrupted(one)
    assert stopped(one, words, before).outcome is before.outcome
    for others in (None, interrupted(other), Ending(one, None, 1.0)):
        outcome = stopped(one, words, others).outcome
        assert isinstance(outcome, ResultMessage)
        assert (outcome.subtype, outcome.user_message_uuid) == ("success", one.uuid)


# --- a CLI that is idle ---------------------------------------------------------------------------


async def test_a_turn_without_a_result_fails_when_the_cli_stays_idle() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(LONG):
        turn, after = session.send("hello"), session.send("after")
        await peer.hear_prompt()
        await peer.say(saying.text("I begin."), saying.state("idle"))
        with pytest.raises(TurnError, match="idle without a result"):
            await turn
        assert turn.state == "failed"
        assert (await peer.hear_prompt()).uuid == after.uuid
        await peer.say(saying.state("running"), saying.text(), saying.result())
        assert (await after).ok
        await session.close()


async def test_a_result_may_follow_after_the_cli_is_idle() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(LONG):
        turn = session.send("hello")
        await peer.hear_prompt()
        await peer.say(saying.text(), saying.state("idle"))
        await anyio.sleep(AFTER_IDLE / 2)
        assert turn.state == "running"
        await peer.say(saying.result("late"))
        assert (await turn).text == "late"
        await session.close()


GOES_ON: list[Event] = [
    saying.state("running"),
    saying.text("more"),
    Request(id="p1", body=PERMISSION),
    Request(id="h1", body=HookCallback("hook_0", UserPromptSubmitHookInput(prompt="hello"))),
]


@pytest.mark.parametrize("sign", GOES_ON, ids=["state", "text", "permission", "hook"])
async def test_a_cli_that_goes_on_after_it_was_idle_keeps_its_turn(sign: Event) -> None:
    peer = Peer()
    session = await opened(peer, on_permission=allow)
    with anyio.fail_after(LONG):
        turn = session.send("hello")
        await peer.hear_prompt()
        await peer.say(saying.text(), saying.state("idle"), sign)
        await anyio.sleep(LONG / 4)
        assert turn.state == "running"
        await peer.say(saying.result("done"))
        assert (await turn).text == "done"
        await session.close()


@pytest.mark.parametrize("says", ["message", "server"])
async def test_what_goes_on_in_the_background_keeps_no_turn_open(says: str) -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(LONG):
        turn = session.send("hello")
        await peer.hear_prompt()
        await peer.say(saying.text(), saying.state("idle"))
        if says == "message":
            await peer.say(saying.text(parent_tool_use_id="toolu_0"))
        else:
            await peer.ask(McpMessage("calc", {"jsonrpc": "2.0", "id": 1, "method": "ping"}))
        with pytest.raises(TurnError, match="idle without a result"):
            await turn
        await session.close()


async def test_of_many_that_ask_when_their_turn_is_over_those_that_gave_up_get_no_answer() -> None:
    """They are refused in several rounds of the event loop."""
    peer = Peer()
    session = await opened(peer, on_permission=never)
    with anyio.fail_after(LONG):
        turn = session.send("hello")
        ids = [await peer.ask(PERMISSION) for _ in range(12)]
        agent = await peer.ask(replace(PERMISSION, agent_id="agent-1"))
        await soon(lambda: session._core.link is not None and session._core.link.serving == 13)
        await peer.say(saying.result("done"), Cancel(id=ids[-1]))
        assert (await turn).text == "done"
        answers = [await peer.hear(Answer) for _ in ids[:-1]]
        assert [it.id for it in answers] == ids[:-1]
        assert {it.body for it in answers} == {TOO_LATE}
        assert agent in peer.connection.asked
        await works(session, peer)
    assert not [it for it in peer.heard if getattr(it, "id", None) == ids[-1]]
    assert not [it for it in peer.heard if isinstance(it, Stray)]


async def test_what_is_asked_for_a_turn_that_ends_without_a_result_is_refused() -> None:
    peer = Peer()
    session = await opened(peer, on_permission=never)
    with anyio.fail_after(LONG):
        turn = session.send("hello")
        await peer.say(saying.text())
        id = await peer.ask(PERMISSION)
        await peer.say(saying.state("idle"))
        with pytest.raises(TurnError, match="idle without a result"):
            await turn
        answer = await peer.hear(Answer)
        assert (answer.id, answer.body) == (id, TOO_LATE)
        await session.close()


async def still_works(session: Session, peer: Peer) -> None:
    """The same with a CLI that tells which prompt it works on."""
    turn = session.send("Are you there?")
    await peer.hear_prompt()
    await peer.say(saying.lifecycle(turn.uuid, "started"), saying.text(), saying.result("I am."))
    assert (await turn).text == "I am."
    await session.close()


NAMES: dict[str, Callable[[Any, Any], dict[str, Any]]] = {
    "both": lambda first, second: {"user_message_uuids": [first, second]},
    "the first": lambda first, second: {"user_message_uuid": first},
    "none": lambda first, second: {},
}
"""How a result names two prompts that it answers."""


@pytest.mark.parametrize("is_idle", [True, False], ids=["idle", "silent"])
@pytest.mark.parametrize("completed", ["before", "after", "never"])
@pytest.mark.parametrize("named", NAMES)
async def test_whatever_a_cli_leaves_out_a_prompt_that_it_took_into_a_turn_ends_with_it(
    named: str, completed: str, is_idle: bool
) -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(LONG):
        first = session.send("one")
        await peer.hear_prompt()
        await peer.say(saying.lifecycle(first.uuid, "started"), saying.text())
        await soon(lambda: first.state == "running")
        second = session.send("two", priority="next")
        await peer.hear_prompt()
        over = [saying.lifecycle(second.uuid, "completed")]
        await peer.say(saying.lifecycle(second.uuid, "started"), saying.text("both"))
        await peer.say(
            *(over if completed == "before" else ()),
            saying.result("both", **NAMES[named](first.uuid, second.uuid)),
            *(over if completed == "after" else ()),
            *([saying.state("idle")] if is_idle else ()),
        )
        assert [(await it).text for it in (first, second)] == ["both", "both"]
        assert (first.merged, second.merged) == (False, True)
        await still_works(session, peer)


async def test_a_prompt_that_the_cli_never_began_with_fails_when_the_cli_is_idle() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(LONG):
        first = session.send("one")
        await peer.hear_prompt()
        await peer.say(saying.lifecycle(first.uuid, "started"), saying.text())
        await soon(lambda: first.state == "running")
        second = session.send("two", priority="later")
        await peer.hear_prompt()
        await peer.say(saying.result(user_message_uuids=[first.uuid]), saying.state("idle"))
        assert (await first).ok
        with pytest.raises(TurnError, match="idle without a result"):
            await second
        await still_works(session, peer)


async def test_a_prompt_behind_one_that_has_failed_does_not_stay_open_with_an_idle_cli() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(LONG):
        first = session.send("one")
        await peer.hear_prompt()
        await peer.say(saying.lifecycle(first.uuid, "started"), saying.text())
        await soon(lambda: first.state == "running")
        second = session.send("two", priority="later")
        await peer.hear_prompt()
        await write(peer, ERROR)
        await peer.say(saying.state("idle"))
        with pytest.raises(TurnError, match="Too much to do"):
            await first
        with pytest.raises(TurnError, match="idle without a result"):
            await second
        await still_works(session, peer)


# --- ends that cannot be read ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"result","subtype":"success","total_cost_usd":NaN}',
        b'{"result":"%b","total_cost_usd":NaN,"type":"result"}' % (b"x" * 1500),
        b'{"type": "result", "subtype": "succ',
        b'Debugger attached.{"type":"result","subtype":"success","num_turns":1}',
        b'{"type":"result","subtype":"success","result":"' + 2000 * b"x" + b'"}',
        b'{"type":"error","error":{"message":"out of ord',
    ],
    ids=lambda line: line[:30].decode(),
)
async def test_a_result_that_cannot_be_read_ends_its_turn(line: bytes) -> None:
    peer = Peer()
    session = await opened(peer, max_line=2000)
    with anyio.fail_after(LONG):
        turn = session.send("hello")
        await peer.hear_prompt()
        await write(peer, WORKING)
        await peer.write(line + b"\n")
        with pytest.raises(TurnError, match="cannot be read") as caught:
            await turn
        assert caught.value.evidence.received
        await works(session, peer)


@pytest.mark.parametrize("line", [b"Debugger attached.", b'{"type":"assistant","message":5}', b"{"])
async def test_another_line_that_cannot_be_read_ends_nothing(line: bytes) -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(LONG):
        turn = session.send("hello")
        await peer.hear_prompt()
        await peer.write(line + b"\n")
        await anyio.sleep(LONG / 2)
        await peer.say(saying.text(), saying.result("It goes on."))
        assert (await turn).text == "It goes on."
        await session.close()


async def test_what_cannot_be_read_after_an_error_does_not_hide_it() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(LONG):
        turn = session.send("hello")
        await peer.hear_prompt()
        await write(peer, WORKING, {"type": "error", "error": {"message": "No.", "type": "odd"}})
        await peer.write(b'{"type":"result","subtype":"succ\n')
        with pytest.raises(TurnError, match="The CLI reported an error: No"):
            await turn
        await session.close()


async def test_a_turn_that_goes_on_after_something_like_a_result_is_not_ended() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(LONG):
        turn = session.send("hello")
        await peer.hear_prompt()
        await peer.write(b'[log] {"type":"result"\n')
        await peer.say(saying.text())
        await anyio.sleep(LONG / 2)
        await peer.say(saying.result("It goes on."))
        assert (await turn).text == "It goes on."
        await session.close()
