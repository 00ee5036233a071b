"""Turns of a session: queued, cancelled, unsolicited; context; `wait_idle`."""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.helpers import messages as saying
from tests.helpers.clock import simulated_time
from tests.helpers.peer import SOON, Peer
from tests.helpers.sessions import (
    SOME_CLI,
    allow,
    bounded,
    connected,
    echo,
    meanwhile,
    options,
    session_with,
    simulated,
    soon,
    start_with,
)

from claudewire.errors import LocalProtocolError, SessionClosed, TurnCancelled
from claudewire.session import Session, TurnStarted, TurnState, core
from claudewire.simulator.faults import ResultWithoutTurn, UnsolicitedTurn
from claudewire.testing import Chat
from claudewire.transport import Launch, Transport
from claudewire.wire import (
    AssistantMessage,
    CancelAsyncMessage,
    CancelAsyncMessageResult,
    InitializeResult,
    InitMessage,
    ResultMessage,
    StopTask,
    TextBlock,
    UnexpectedMessage,
)

pytestmark = pytest.mark.anyio

NARRATORS = ["2.1.250", "2.1.325"]
VERSIONS = ["2.1.17", "2.1.197", *NARRATORS]


# --- one after the other --------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
async def test_each_turn_gets_its_own_reply(version: str) -> None:
    async with bounded(simulated(echo, version=version)) as session:
        turns = [session.send(str(number)) for number in range(10)]
        assert [turn.state for turn in turns] == [TurnState.SENT] + [TurnState.HELD] * 9
        assert session.turns == tuple(turns)
        # It does not matter in which order they are waited for.
        for number, turn in reversed(list(enumerate(turns))):
            assert (await turn).text == f"You said {number}."
        assert session.turns == ()


@pytest.mark.parametrize("version", VERSIONS)
async def test_leaving_a_loop_early_shifts_no_reply(version: str) -> None:
    async def talkative(chat: Chat) -> None:
        for number in range(20):
            await chat.say(f"{chat.text} {number}")

    async with bounded(simulated(talkative, version=version)) as session:
        first = session.send("alpha")
        async for message in first:
            if isinstance(message, AssistantMessage):
                break
        second = session.send("beta")
        async for message in second:
            assert "alpha" not in str(message)
        assert (await second).text == "beta 19"
        assert (await first).text == "alpha 19"
        assert len([it async for it in first]) >= 20  # the rest is still there


async def test_reply_has_text_tools_usage_and_duration() -> None:
    async def work(chat: Chat) -> None:
        await chat.say("I look.")
        await chat.use("Bash", {"command": "ls"}, result="a.txt")
        await chat.say("There is a.txt.")

    async with bounded(simulated(work, on_permission=allow)) as session:
        reply = await session.send("What is there?")
    assert reply.ok
    assert reply.raise_for_error() is reply
    assert str(reply) == reply.text == "There is a.txt."
    assert [block.name for block in reply.tool_uses] == ["Bash"]
    assert len(reply.blocks) == 3
    assert reply.denials == []
    assert reply.duration is not None
    assert reply.usage is not None
    assert reply.model_usage
    assert "success" in repr(reply)


async def test_unwritable_prompt_fails_alone() -> None:
    async with bounded(simulated(echo)) as session:
        bad = session.send("bad", tool_use_result=object())
        good = session.send("good")
        worse = session.send("worse", tool_use_result=object())
        for turn in (bad, worse):
            with pytest.raises(LocalProtocolError, match="JSON"):
                await turn
        assert (await good).text == "You said good."
        assert session.state == "ready"


async def test_uuid_of_an_unfinished_prompt_is_refused() -> None:
    uuid = "11111111-1111-4111-8111-111111111111"
    async with bounded(simulated(echo)) as session:
        turn = session.send("one", uuid=uuid)
        assert turn.uuid == uuid
        with pytest.raises(LocalProtocolError, match=uuid):
            session.send("two", uuid=uuid)
        assert (await turn).ok


# --- into the running turn ------------------------------------------------------------------------


async def test_priority_prompt_joins_the_running_turn() -> None:
    door = anyio.Event()

    async def wait(request: Any) -> Any:
        await door.wait()
        return await allow(request)

    async def work(chat: Chat) -> None:
        if chat.text == "first":
            await chat.use("Bash", {"command": "make"})
        await chat.say(f"{chat.text} is done")

    async with bounded(simulated(work, on_permission=wait)) as session:
        first = session.send("first")
        await first.started.wait()
        next = session.send("next", priority="next")
        later, usual = session.send("later", priority="later"), session.send("usual")
        assert [it.state for it in (next, later, usual)] == ["sent", "sent", "held"]
        await anyio.wait_all_tasks_blocked()
        door.set()
        replies = [await it for it in (first, next, later, usual)]
    said = [it.text.removesuffix(" is done") for it in replies]
    assert said == ["next", "next", "later", "usual"]
    assert [it.merged for it in (first, next, later, usual)] == [False, True, False, False]
    assert replies[0].result is replies[1].result


async def wait_for_ever(chat: Chat) -> None:
    """A turn with the prompt "wait" has no end."""
    if chat.text == "wait":
        await chat.sleep(10 * SOON)
    await chat.say(f"{chat.text} is done")


@pytest.mark.parametrize("version", NARRATORS)
@pytest.mark.parametrize("is_idle", [True, False], ids=["tells when idle", "does not"])
async def test_prompts_taken_up_together_all_end(version: str, is_idle: bool) -> None:
    env = {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": str(int(is_idle))}
    async with bounded(simulated(wait_for_ever, version=version, env=env)) as session:
        first = session.send("wait")
        await first.started.wait()
        others = [session.send(text, priority="next") for text in ("two", "three")]
        await anyio.wait_all_tasks_blocked()
        await session.interrupt()
        assert not (await first).ok
        assert [(await it).text for it in others] == 2 * ["two\nthree is done"]
        assert [it.merged for it in others] == [False, True]
        assert (await session.send("four")).text == "four is done"


@pytest.mark.parametrize("version", NARRATORS)
async def test_priority_now_withdraws_a_pending_permission(version: str) -> None:
    asked, withdrawn = anyio.Event(), anyio.Event()

    async def wait(request: Any) -> None:
        asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            withdrawn.set()

    async def work(chat: Chat) -> None:
        if chat.text == "first":
            await chat.use("Bash", {"command": "make"})
        await chat.say(f"{chat.text} is done")

    async with bounded(simulated(work, on_permission=wait, version=version)) as session:
        first = session.send("first")
        await asked.wait()
        now = session.send("now", priority="now")
        reply = await first
        assert reply.result.subtype == "success"
        assert not reply.ok
        assert (await now).text == "now is done"
        await withdrawn.wait()


# --- told without a question ----------------------------------------------------------------------


async def test_add_context_is_sent_at_once_without_a_turn() -> None:
    async with connected() as (session, peer):
        session.add_context("The build is green.")
        note = await peer.hear_prompt()
        assert (note.text, note.should_query) == ("The build is green.", False)
        assert note.uuid is not None
        assert session.turns == ()
        assert session.state == "ready"
        turn = session.send("What about the build?")
        prompt = await peer.hear_prompt()
        assert (prompt.uuid, prompt.should_query) == (turn.uuid, None)
        session.add_context("The tests are red.")  # also while a turn runs
        assert (await peer.hear_prompt()).text == "The tests are red."
        await peer.say(saying.result())
        assert (await turn).ok
    with pytest.raises(SessionClosed):
        session.add_context("Too late.")


@pytest.mark.parametrize("version", VERSIONS)
async def test_next_prompt_has_the_context_and_its_own_reply(version: str) -> None:
    """Some CLIs would answer the context, or end it with a result."""
    heard: list[str] = []

    async def listen(chat: Chat) -> None:
        heard[:] = [str(entry["text"]) for entry in chat.session.history if entry["type"] == "user"]
        await chat.say(f"You asked {chat.text[-4:]}")

    async with bounded(simulated(listen, version=version)) as session:
        session.add_context("The build is green.")
        assert (await session.send("One?")).text == "You asked One?"
        assert "".join(heard) == "The build is green.One?"
        session.add_context("The tests are red.")
        session.add_context("The docs are blue.")
        assert (await session.send("Two?")).text == "You asked Two?"
        assert "".join(heard).endswith("The tests are red.The docs are blue.Two?")
        await session.wait_idle()
        assert not session.unread


@pytest.mark.parametrize("is_named", [False, True], ids=["2.1.250", "2.1.325"])
async def test_empty_result_of_a_context_is_a_notice(is_named: bool) -> None:
    async with connected() as (session, peer):
        session.add_context("The build is green.")
        note = await peer.hear_prompt()
        turn = session.send("So?")
        await peer.hear_prompt()
        empty = saying.result("", user_message_uuid=note.uuid if is_named else None)
        init = saying.init(user_message_uuids=[note.uuid] if is_named else None)
        await peer.say(saying.lifecycle(note.uuid, "started"), init, empty)
        await peer.say(saying.lifecycle(note.uuid, "completed"))
        await peer.say(saying.lifecycle(turn.uuid, "started"), saying.text(), saying.result("Yes."))
        assert (await turn).text == "Yes."
        assert empty.uuid in [it.uuid for it in session.notices if isinstance(it, ResultMessage)]
        assert session.turns == ()


async def test_old_cli_gets_context_before_the_next_prompt() -> None:
    peer = Peer()
    session = session_with(peer)
    with anyio.fail_after(SOON):
        await start_with(session, peer, InitializeResult())
        session.add_context("The build is green.")
        session.add_context(["Really."])
        command = session.send("/compact")
        assert (await peer.hear_prompt()).content == "/compact"
        await peer.say(saying.result())
        await command
        turn = session.send("So?")
        prompt = await peer.hear_prompt()
        assert prompt.content == [TextBlock(it) for it in ("The build is green.", "Really.", "So?")]
        assert turn.prompt is not None
        assert turn.prompt.content == prompt.content
        await peer.say(saying.result())
        assert (await turn).ok
        await session.close()


async def test_dropped_context_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with bounded(simulated(version="2.1.17")) as session:
        session.add_context("The build is green.")
    assert "Dropped 1 notes of add_context()" in caplog.text


@pytest.mark.parametrize("state", ["cancelled", "completed"])
async def test_context_dropped_by_the_cli_is_sent_again(state: str) -> None:
    async with connected() as (session, peer):
        running = session.send("Go")
        await peer.say(saying.lifecycle((await peer.hear_prompt()).uuid, "started"))
        session.add_context("The build is green.")
        told = (await peer.hear_prompt()).uuid
        if state == "completed":
            await peer.say(saying.result())
            await running
            await peer.say(saying.lifecycle(told, "started"), saying.result(""))
        await peer.say(saying.lifecycle(told, state))
        if state == "cancelled":
            await peer.say(saying.result())
            await running
        session.send("So?")
        expected = "The build is green.So?" if state == "cancelled" else "So?"
        assert (await peer.hear_prompt()).text == expected


async def test_next_cli_gets_unread_context() -> None:
    peers = [Peer(), Peer()]
    waiting = iter(peers)

    async def connect(launch: Launch) -> Transport:
        return next(waiting).transport

    session = Session(options(cli=SOME_CLI), transport=connect)
    with anyio.fail_after(SOON):
        await start_with(session, peers[0])
        session.add_context("The build is green.")
        await peers[0].hear_prompt()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(peers[1].welcome)
            await session.restart()
        turn = session.send("So?")
        assert (await peers[1].hear_prompt()).text == "The build is green.So?"
        await peers[1].say(saying.result())
        assert (await turn).ok
        session.send("And now?")
        assert (await peers[1].hear_prompt()).content == "And now?"
        await session.close()


# --- taken back -----------------------------------------------------------------------------------


async def test_held_turn_can_be_cancelled() -> None:
    async with bounded(simulated(echo)) as session:
        turns = [session.send(str(number)) for number in range(3)]
        assert await turns[1].cancel() is True
        assert await turns[1].cancel() is True
        assert turns[1].state == "cancelled"
        with pytest.raises(TurnCancelled):
            await turns[1]
        assert (await turns[2]).text == "You said 2."
        assert await turns[2].cancel() is False


async def test_sent_turn_can_be_cancelled_before_it_begins() -> None:
    async with connected() as (session, peer):
        turn, after = session.send("hello"), session.send("after")
        await peer.hear_prompt()
        async with meanwhile(turn.cancel) as outcome:
            request = await peer.hear_request(CancelAsyncMessage)
            assert request.body == CancelAsyncMessage(str(turn.uuid))
            await peer.answer(request, CancelAsyncMessageResult(cancelled=True))
        assert outcome == [True]
        assert turn.state == "cancelled"
        assert (await peer.hear_prompt()).uuid == after.uuid


async def test_old_cli_cannot_give_a_prompt_back() -> None:
    async with bounded(simulated(version="2.1.17")) as session:
        turn = session.send("hello")
        assert turn.state == "sent"
        assert await turn.cancel() is False
        assert (await turn).ok


async def test_prompt_discarded_by_the_cli_ends_its_turn() -> None:
    async with connected() as (session, peer):
        turn, after = session.send("hello"), session.send("after")
        prompt = await peer.hear_prompt()
        await peer.say(saying.lifecycle(prompt.uuid, "discarded"))
        with pytest.raises(TurnCancelled, match="discarded"):
            await turn
        assert (await peer.hear_prompt()).uuid == after.uuid
        await peer.say(saying.result(user_message_uuid=after.uuid))
        assert (await after).ok


# --- not asked for --------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
async def test_unsolicited_turn_shifts_no_reply(version: str) -> None:
    async def work(chat: Chat) -> None:
        if chat.text == "start":
            task = chat.start_task("build")
            await chat.say("started")
            task.finish()
        elif not chat.text:
            await chat.say("The build is done.")
        else:
            await echo(chat)

    async with bounded(simulated(work, version=version)) as session:
        first, second = session.send("start"), session.send("second")
        assert (await first).text == "started"
        assert (await second).text == "You said second."
        turn = await anext(session.unsolicited)
        assert (await turn).text == "The build is done."
        if version in NARRATORS:
            assert isinstance(turn.messages[0], InitMessage)
        assert (await session.send("third")).text == "You said third."


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        *((UnsolicitedTurn, version) for version in VERSIONS),
        # With an older CLI nothing tells such a result from the one that is waited for.
        *((ResultWithoutTurn, version) for version in NARRATORS),
    ],
)
async def test_unsolicited_result_shifts_no_reply(
    kind: type[UnsolicitedTurn | ResultWithoutTurn], version: str
) -> None:
    session = simulated(echo, faults=[kind(at=3)], version=version)
    events = session.events()
    async with bounded(session):
        for number in range(4):
            assert (await session.send(str(number))).text == f"You said {number}."
        strays = [
            type(it) for it in events.take() if isinstance(it, TurnStarted | UnexpectedMessage)
        ]
    assert strays == [TurnStarted]


@pytest.mark.parametrize(
    ("option", "field", "sent"),
    [(True, {}, True), (True, {"client_composed": False}, False), (False, {}, None)],
)
async def test_verbatim_prompts_are_marked_as_composed(
    option: bool, field: Any, sent: bool | None
) -> None:
    async with connected(verbatim_prompts=option) as (session, peer):
        session.send("/hello", **field)
        assert (await peer.hear_prompt()).client_composed is sent


# --- until nothing is to be done ------------------------------------------------------------------


async def background(chat: Chat) -> None:
    if chat.text == "start":
        chat.start_task("build")
        await chat.say("started")


@simulated_time
async def test_wait_idle_waits_for_tasks_if_wanted() -> None:
    async with bounded(simulated(background)) as session:
        await session.send("start")
        assert not session.tasks.idle
        await session.wait_idle(tasks="ignore")
        with pytest.raises(TimeoutError):
            await session.wait_idle(timeout=0.02)
        await session.wait_idle(tasks="cancel")
        assert session.tasks.idle


@pytest.mark.parametrize("is_refused", [False, True])
async def test_stopped_task_is_over_without_a_report(
    monkeypatch: pytest.MonkeyPatch, is_refused: bool
) -> None:
    """2.1.100 does not tell of the end, and refuses to stop what it no longer has."""
    monkeypatch.setattr(core, "TURN_FOLLOWS_WITHIN", 0.0)
    async with connected() as (session, peer):
        await peer.say(saying.task_started("t1"))
        await soon(lambda: not session.tasks.idle)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(session.wait_idle, tasks="cancel"))
            request = await peer.hear_request(StopTask)
            if is_refused:
                await peer.refuse(request, "No task found with ID: t1")
            else:
                await peer.answer(request)
        (task,) = session.tasks
        assert (task.status, session.tasks.idle) == ("stopped", True)


async def test_end_of_a_task_without_a_turn_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """No turn follows, so only the end of the task shows that the CLI is idle."""
    monkeypatch.setattr(core, "TURN_FOLLOWS_WITHIN", 0.0)
    async with connected() as (session, peer):

        async def wait() -> bool:
            await session.wait_idle()
            return session.tasks.idle

        await peer.say(saying.task_started("t1"))
        await soon(lambda: not session.tasks.idle)
        async with meanwhile(wait) as was_idle:
            await anyio.wait_all_tasks_blocked()
            assert was_idle == []
            await peer.say(saying.task_ended("t1"))
        assert was_idle == [True]


async def test_wait_idle_waits_for_the_turn_after_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "TURN_FOLLOWS_WITHIN", SOON)
    async with connected() as (session, peer):

        async def wait() -> int:
            await session.wait_idle()
            return session.unread

        await peer.say(saying.task_started("t1"))
        await soon(lambda: not session.tasks.idle)
        async with meanwhile(wait) as unread:
            await anyio.wait_all_tasks_blocked()
            await peer.say(saying.task_ended("t1"))
            await soon(lambda: session.tasks.idle)
            await peer.say(saying.text("It is built."))
            await soon(lambda: session.state == "busy")
            await anyio.wait_all_tasks_blocked()
            assert unread == []
            monkeypatch.setattr(core, "TURN_FOLLOWS_WITHIN", 0.0)  # no further turn follows
            await peer.say(saying.wake_up_result())
        assert unread == [2]


# --- an unsolicited turn in the middle of another -------------------------------------------------


@pytest.mark.parametrize("at", range(3, 13, 3))
async def test_unsolicited_turn_does_not_leak_into_another(at: int) -> None:
    argv = ["--include-partial-messages"]
    async with bounded(simulated(echo, argv=argv, faults=[UnsolicitedTurn(at=at)])) as claude:
        for words in ("one", "two"):
            turn = claude.send(words)
            assert "".join([piece async for piece in turn.iter_text()]) == f"You said {words}."
            reply = await turn
            assert [it.text for it in reply.blocks if isinstance(it, TextBlock)] == [
                f"You said {words}."
            ]
        other = await anext(claude.unsolicited)
        kinds = [type(it) for it in other.messages]
        assert kinds == [InitMessage, AssistantMessage, ResultMessage]
        assert not {id(it) for it in other.messages} & {id(it) for it in claude.notices}


async def test_deferred_messages_return_to_the_running_turn() -> None:
    """An `init` that names no prompt need not be the beginning of another turn."""
    async with connected() as (session, peer):
        turn = session.send("hello")
        await peer.hear_prompt()
        said = [saying.text("one"), saying.init(), saying.text("two"), saying.result("done")]
        await peer.say(saying.lifecycle(turn.uuid, "started"), *said)
        reply = await turn
        assert [type(it) for it in reply.messages[1:]] == [type(it) for it in said]
        assert session.notices == ()
