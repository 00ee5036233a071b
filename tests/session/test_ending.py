"""Turns that end without a result, and messages between turns."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import msgspec
import pytest
from tests.helpers import messages as saying
from tests.helpers import sessions
from tests.helpers.clock import simulated_time
from tests.helpers.peer import Peer
from tests.helpers.sessions import allow, meanwhile, never, session_with, soon

from claudewire.errors import Cause, RequestError, TurnError
from claudewire.session import Session, SessionState
from claudewire.session.inferred_end import AFTER_IDLE, AFTER_INTERRUPT
from claudewire.wire import (
    Answer,
    AssistantMessage,
    CanUseTool,
    ErrorInfo,
    ErrorMessage,
    Event,
    HookCallback,
    Initialize,
    Interrupt,
    Message,
    PermissionResultDeny,
    Request,
    ResultMessage,
    SystemErrorMessage,
    UnexpectedMessage,
    Usage,
    UserPromptSubmitHookInput,
)

pytestmark = [pytest.mark.anyio, simulated_time]

LONG = 600.0
"""Seconds of simulated time: longer than anything waits here."""

WORKING = {"type": "assistant", "message": {"role": "assistant", "content": "working"}}
ERROR = {"type": "error", "error": {"code": "overloaded_error", "message": "Too much to do"}}
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


connected = partial(sessions.connected, within=LONG)


@asynccontextmanager
async def enveloped(**changes: Any) -> AsyncIterator[tuple[Session, Peer]]:
    """Open a session with a CLI that knows neither `initialize` nor `result`."""
    peer = Peer()
    with anyio.fail_after(LONG):
        async with session_with(peer, dialect="envelope", **changes) as session:
            yield session, peer


async def works(session: Session, peer: Peer) -> None:
    """The next prompt is sent, and has its own reply."""
    turn = session.send("Are you there?")
    await peer.hear_prompt()
    await write(peer, said("I am."), {"type": "result", "subtype": "success", "num_turns": 1})
    assert (await turn).text == "I am."


# --- what may come at any time --------------------------------------------------------------------


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
@pytest.mark.parametrize("then", [saying.text(), saying.result()], ids=["text", "result"])
async def test_no_message_between_turns_blocks_a_prompt(first: Message, then: Message) -> None:
    async with connected() as (session, peer):
        events = session.events()
        await peer.say(first, then)
        heard = 0
        while heard < 2:
            heard += isinstance(await anext(events), Message | UnexpectedMessage)
        turn = session.send("hello")
        await anyio.sleep(LONG / 4)
        await peer.hear_prompt()
        await peer.say(saying.text("mine"), saying.result("mine"))
        assert (await turn).text == "mine"


async def test_silent_unsolicited_turn_is_set_aside() -> None:
    async with connected() as (session, peer):
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


async def test_init_belongs_to_the_unsolicited_turn_after_it() -> None:
    async with connected() as (session, peer):
        init, words = saying.init(), saying.text()
        await peer.say(init)
        await soon(lambda: init in session.notices)
        await peer.say(words)
        turn = await anext(session.unsolicited)
        await soon(lambda: turn.messages == (init, words))
        assert init not in session.notices


async def test_repeated_result_ends_nothing() -> None:
    async with connected() as (session, peer):
        first, second = session.send("one"), session.send("two")
        await peer.hear_prompt()
        ended = saying.result("first")
        await peer.say(ended)
        await first
        await peer.hear_prompt()
        await peer.say(ended, saying.result("second"))
        assert (await second).text == "second"


@pytest.mark.parametrize("words", [(), ("second",)])
async def test_results_with_the_same_uuid_end_their_turns(words: tuple[str, ...]) -> None:
    async with connected() as (session, peer):
        for prompt in ("one", "two", "three"):
            turn = session.send(prompt)
            await peer.hear_prompt()
            ended = msgspec.structs.replace(saying.result(prompt), uuid="always-the-same")
            await peer.say(*map(saying.text, words), ended)
            assert (await turn).result is not None


async def test_idle_in_a_later_chunk_than_the_result_is_noticed() -> None:
    async with connected() as (session, peer), anyio.create_task_group() as tasks:
        turn = session.send("hello")
        await peer.hear_prompt()
        await peer.say(saying.state("running"), saying.text(), saying.result())
        await turn
        tasks.start_soon(session.wait_idle)
        await anyio.wait_all_tasks_blocked()
        await peer.say(saying.state("idle"))


# --- a dialect without results --------------------------------------------------------------------


async def test_envelope_session_opens_without_a_request() -> None:
    async with enveloped() as (session, peer):
        turn = session.send("hello")
        await peer.hear_prompt()
        assert len(peer.heard) == 1
        await write(peer, said("hi", session_id="s-4"))
        reply = await turn
    assert reply.ok
    assert reply.text == "hi"
    assert reply.result.stop_reason == "end_turn"
    assert reply.result.user_message_uuid == turn.uuid
    assert session.session_id == reply.session_id == "s-4"


async def test_error_for_initialize_shows_the_envelope_dialect() -> None:
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


@pytest.mark.parametrize("reason", ["end_turn", "something_new"])
async def test_stop_reason_ends_a_turn_without_results(reason: str) -> None:
    async with enveloped() as (session, peer):
        turn = session.send("hello")
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


@pytest.mark.parametrize("reason", [None, "tool_use", "pause_turn"])
async def test_tool_use_does_not_end_a_turn_without_results(reason: str | None) -> None:
    async with enveloped() as (session, peer):
        turn = session.send("hello")
        subagent = said("I am done.", parent_tool_use_id="toolu_1")
        await write(peer, said("first", reason), subagent)
        await anyio.sleep(LONG / 2)
        assert not turn.is_over
        await write(peer, said("then"))
        assert (await turn).text == "then"


async def test_permission_after_the_stop_delays_the_end() -> None:
    """The example of the document: the model has stopped, and then it wants to use a tool."""
    async with enveloped(on_permission=allow) as (session, peer):
        turn = session.send("What is 2+2?")
        await write(peer, said("2 + 2 = 4"))
        await peer.ask(PERMISSION)
        await peer.hear(Answer)
        await anyio.sleep(5)  # the tool runs
        assert not turn.is_over
        await write(peer, said("It is late."))
        assert (await turn).text == "It is late."


async def test_permission_long_after_the_end_begins_a_turn() -> None:
    async with enveloped(on_permission=allow) as (session, peer):
        turn = session.send("What is 2+2?")
        await write(peer, said("2 + 2 = 4"))
        await turn
        await peer.ask(PERMISSION)
        await write(peer, said("It is late."))
        other = await anext(session.unsolicited)
        assert (await other).text == "It is late."


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [[], [WORKING]])
async def test_error_followed_by_silence_fails_the_turn(before: list[Any]) -> None:
    async with connected(dialect="session") as (session, peer):
        turn = session.send("hello")
        await peer.hear_prompt()
        await write(peer, *before, ERROR)
        with pytest.raises(TurnError, match=r"Too much to do \(overloaded_error\)") as caught:
            await turn
        assert caught.value.code == "overloaded_error"
        assert caught.value.cause is Cause.OVERLOADED
        assert caught.value.evidence.received
        assert isinstance(turn.messages[-1], ErrorMessage)
        await works(session, peer)


@pytest.mark.parametrize(
    ("error", "text", "code"),
    [
        ({"message": "It broke.", "error": "not this"}, "It broke.", None),
        ({"error": {"type": "broken", "message": "It broke."}}, "It broke. (broken)", "broken"),
        ({"error": {"code": "odd", "type": "no", "message": "It"}}, "It (odd)", "odd"),
        ({}, "it does not say which", None),
    ],
)
async def test_system_error_followed_by_silence_fails_the_turn(
    error: dict[str, Any], text: str, code: str | None
) -> None:
    async with connected() as (session, peer):
        turn = session.send("hello")
        await write(peer, {"type": "system", "subtype": "error", **error})
        with pytest.raises(TurnError) as caught:
            await turn
        assert caught.value.message == f"The CLI reported an error: {text}"
        assert caught.value.code == code


async def test_turn_may_go_on_after_an_error() -> None:
    async with connected() as (session, peer):
        turn = session.send("hello")
        await write(peer, ERROR, WORKING)
        await anyio.sleep(LONG / 2)
        assert not turn.is_over
        await peer.say(saying.result("done"))
        assert (await turn).text == "done"


async def test_late_result_does_not_end_the_next_turn() -> None:
    async with connected(dialect="session") as (session, peer):
        turn = session.send("hello")
        await write(peer, ERROR)
        with pytest.raises(TurnError):
            await turn
        after = session.send("again")
        await peer.hear_prompt()
        await peer.say(saying.result("late"), saying.text("mine"), saying.result("mine"))
        assert (await after).text == "mine"


async def test_late_output_holds_nothing_back() -> None:
    async with connected(dialect="session") as (session, peer):
        turn = session.send("hello")
        await write(peer, ERROR)
        with pytest.raises(TurnError):
            await turn
        await write(peer, WORKING)
        await soon(lambda: any(isinstance(it, AssistantMessage) for it in session.notices))
        assert session.state is SessionState.READY
        await works(session, peer)


async def test_error_answers_the_request_in_flight() -> None:
    async with connected(dialect="session") as (session, peer):
        turn = session.send("hello")
        async with anyio.create_task_group() as tasks:

            async def change() -> None:
                with pytest.raises(RequestError, match="Too much to do") as caught:
                    await session.set_permission_mode("plan")
                assert caught.value.code == "overloaded_error"

            tasks.start_soon(change)
            await peer.hear_request(object)
            await write(peer, ERROR)
        await anyio.sleep(LONG / 2)
        assert not turn.is_over
        await peer.say(saying.result("done"))
        assert (await turn).ok


# --- interrupts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [[], [WORKING, WORKING]])
async def test_answered_interrupt_ends_a_turn_without_a_result(words: list[Any]) -> None:
    async with connected(dialect="session") as (session, peer):
        turn = session.send("hello")
        await peer.hear_prompt()
        await write(peer, WORKING)
        async with meanwhile(session.interrupt) as receipts:
            await peer.acknowledge()
            await write(peer, *words)
        (receipt,) = receipts
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


async def test_output_delays_the_end_of_an_interrupted_turn() -> None:
    async with connected(dialect="session") as (session, peer):
        turn = session.send("hello")
        await peer.hear_prompt()
        async with meanwhile(session.interrupt):
            await peer.acknowledge()
            for _ in range(3):
                await anyio.sleep(0.9 * AFTER_INTERRUPT)
                await write(peer, WORKING)
        await turn
        assert [type(it) for it in turn.messages[:-1]] == [AssistantMessage] * 3
        await works(session, peer)


async def test_silence_after_an_unanswered_interrupt_is_a_stop() -> None:
    async with enveloped() as (session, peer):
        turn = session.send("hello")
        await write(peer, said("working", None))
        receipt = await session.interrupt()
        assert not receipt.acknowledged
        assert receipt.turn is turn
        assert (receipt.steps, receipt.outcome) == (("interrupt",), "stopped")
        await peer.hear_request(Interrupt)
        await works(session, peer)


async def test_last_words_of_an_interrupted_turn_are_no_success() -> None:
    async with enveloped() as (session, peer):
        turn = session.send("hello")
        await write(peer, said("working", None))
        start = anyio.current_time()
        async with meanwhile(session.interrupt):
            await peer.hear_request(Interrupt)
            await write(peer, said("I have stopped."))
        assert anyio.current_time() - start == pytest.approx(0.1)
        reply = await turn
        assert not reply.ok
        assert reply.result.terminal_reason == "aborted_streaming"
        assert reply.text == "I have stopped."
        await works(session, peer)


# --- a CLI that is idle ---------------------------------------------------------------------------


async def test_idle_cli_fails_a_turn_without_a_result() -> None:
    async with connected() as (session, peer):
        turn, after = session.send("hello"), session.send("after")
        await peer.hear_prompt()
        await peer.say(saying.text("I begin."), saying.state("idle"))
        with pytest.raises(TurnError, match="idle without a result"):
            await turn
        assert turn.state == "failed"
        assert (await peer.hear_prompt()).uuid == after.uuid
        await peer.say(saying.state("running"), saying.text(), saying.result())
        assert (await after).ok


async def test_result_may_follow_the_idle_state() -> None:
    async with connected() as (session, peer):
        turn = session.send("hello")
        await peer.hear_prompt()
        await peer.say(saying.text(), saying.state("idle"))
        await anyio.sleep(AFTER_IDLE / 2)
        assert turn.state == "running"
        await peer.say(saying.result("late"))
        assert (await turn).text == "late"


GOES_ON: list[Event] = [
    saying.state("running"),
    saying.text("more"),
    Request(id="p1", body=PERMISSION),
    Request(id="h1", body=HookCallback("hook_0", UserPromptSubmitHookInput(prompt="hello"))),
]


@pytest.mark.parametrize("sign", GOES_ON, ids=["state", "text", "permission", "hook"])
async def test_turn_goes_on_with_the_cli_after_idle(sign: Event) -> None:
    async with connected(on_permission=allow) as (session, peer):
        turn = session.send("hello")
        await peer.hear_prompt()
        await peer.say(saying.text(), saying.state("idle"), sign)
        await anyio.sleep(LONG / 4)
        assert turn.state == "running"
        await peer.say(saying.result("done"))
        assert (await turn).text == "done"


async def test_permission_of_an_inferred_end_is_denied() -> None:
    async with connected(on_permission=never) as (session, peer):
        turn = session.send("hello")
        await peer.say(saying.text())
        id = await peer.ask(PERMISSION)
        await peer.say(saying.state("idle"))
        with pytest.raises(TurnError, match="idle without a result"):
            await turn
        answer = await peer.hear(Answer)
        assert (answer.id, answer.body) == (id, TOO_LATE)


async def still_works(session: Session, peer: Peer) -> None:
    """Check the next prompt, with a CLI that reports the progress of prompts."""
    turn = session.send("Are you there?")
    await peer.hear_prompt()
    await peer.say(saying.lifecycle(turn.uuid, "started"), saying.text(), saying.result("I am."))
    assert (await turn).text == "I am."


NAMES: dict[str, Callable[[Any, Any], dict[str, Any]]] = {
    "both": lambda first, second: {"user_message_uuids": [first, second]},
    "the first": lambda first, second: {"user_message_uuid": first},
    "none": lambda first, second: {},
}
"""The ways in which a result names two prompts."""


@pytest.mark.parametrize("is_idle", [True, False], ids=["idle", "silent"])
@pytest.mark.parametrize("completed", ["before", "after", "never"])
@pytest.mark.parametrize("named", NAMES)
async def test_merged_prompt_ends_whatever_the_cli_leaves_out(
    named: str, completed: str, is_idle: bool
) -> None:
    async with connected() as (session, peer):
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


async def test_idle_cli_fails_a_prompt_that_never_began() -> None:
    async with connected() as (session, peer):
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
async def test_unreadable_result_fails_its_turn(line: bytes) -> None:
    async with connected(max_line=2000) as (session, peer):
        turn = session.send("hello")
        await peer.hear_prompt()
        await write(peer, WORKING)
        await peer.write(line + b"\n")
        with pytest.raises(TurnError, match="cannot be read") as caught:
            await turn
        assert caught.value.evidence.received
        await works(session, peer)


@pytest.mark.parametrize("line", [b"Debugger attached.", b'{"type":"assistant","message":5}', b"{"])
async def test_other_unreadable_line_ends_nothing(line: bytes) -> None:
    async with connected() as (session, peer):
        turn = session.send("hello")
        await peer.hear_prompt()
        await peer.write(line + b"\n")
        await anyio.sleep(LONG / 2)
        await peer.say(saying.text(), saying.result("It goes on."))
        assert (await turn).text == "It goes on."
