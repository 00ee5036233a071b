"""Turns of a session: queued, cancelled, left early, not asked for, and all of them over."""

from __future__ import annotations

import gc
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
    echo,
    opened,
    options,
    session_with,
    simulated,
    soon,
)

from claudewire.content import Image
from claudewire.errors import (
    CLIError,
    LocalProtocolError,
    RequestTimeout,
    SessionClosed,
    TurnCancelled,
)
from claudewire.session import Session, Turn, TurnStarted, TurnState, core
from claudewire.simulator import PERSONAS
from claudewire.simulator.faults import KilledBy, ResultWithoutTurn, UnsolicitedTurn
from claudewire.testing import Chat
from claudewire.transport import Launch, Transport
from claudewire.wire import (
    AssistantMessage,
    CancelAsyncMessage,
    CancelAsyncMessageResult,
    Initialize,
    InitializeResult,
    InitMessage,
    ResultMessage,
    StopTask,
    Stray,
    TextBlock,
)

pytestmark = pytest.mark.anyio

NARRATORS = ["2.1.250", "2.1.325"]
VERSIONS = ["1.0.128", "2.0.76", "2.1.17", "2.1.197", *NARRATORS]


# --- one after the other --------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
async def test_each_turn_gets_its_own_reply(version: str) -> None:
    with anyio.fail_after(SOON):
        async with simulated(echo, version=version) as session:
            turns = [session.send(str(number)) for number in range(10)]
            assert [turn.state for turn in turns] == [TurnState.SENT] + [TurnState.HELD] * 9
            assert session.turns == tuple(turns)
            # It does not matter in which order they are waited for.
            for number, turn in reversed(list(enumerate(turns))):
                assert (await turn).text == f"You said {number}."
            assert session.turns == ()


@pytest.mark.parametrize("version", VERSIONS)
async def test_leaving_a_loop_early_does_not_shift_the_next_turn(version: str) -> None:
    async def talkative(chat: Chat) -> None:
        for number in range(20):
            await chat.say(f"{chat.text} {number}")

    with anyio.fail_after(SOON):
        async with simulated(talkative, version=version) as session:
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


async def test_a_turn_that_was_thrown_away_does_not_shift_the_next() -> None:
    with anyio.fail_after(SOON):
        async with simulated(echo) as session:
            session.send("first")
            gc.collect()
            assert (await session.send("second")).text == "You said second."


async def test_a_reply_has_what_was_said_on_the_way() -> None:
    async def work(chat: Chat) -> None:
        await chat.say("I look.")
        await chat.use("Bash", {"command": "ls"}, result="a.txt")
        await chat.say("There is a.txt.")

    with anyio.fail_after(SOON):
        async with simulated(work, on_permission=allow) as session:
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


async def test_a_prompt_that_cannot_be_written_stops_nobody() -> None:
    with anyio.fail_after(SOON):
        async with simulated(echo) as session:
            bad = session.send("bad", tool_use_result=object())
            good = session.send("good")
            worse = session.send("worse", tool_use_result=object())
            for turn in (bad, worse):
                with pytest.raises(LocalProtocolError, match="JSON"):
                    await turn
            assert (await good).text == "You said good."
            assert session.state == "ready"


async def test_a_name_is_used_for_one_prompt_at_a_time() -> None:
    uuid = "11111111-1111-4111-8111-111111111111"
    with anyio.fail_after(SOON):
        async with simulated(echo) as session:
            turn = session.send("one", uuid=uuid)
            assert turn.uuid == uuid
            with pytest.raises(LocalProtocolError, match=uuid):
                session.send("two", uuid=uuid)
            assert (await turn).ok


async def test_a_prompt_may_be_sent_before_the_start_is_over() -> None:
    session = simulated(echo)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.start)
            await soon(lambda: session.state == "starting")
            turn = session.send("early")
            assert turn.state == "held"
        assert (await turn).text == "You said early."
        await session.close()


# --- into the running turn ------------------------------------------------------------------------


async def test_a_prompt_with_a_priority_is_taken_up_by_the_running_turn() -> None:
    door = anyio.Event()

    async def wait(request: Any) -> Any:
        await door.wait()
        return await allow(request)

    async def work(chat: Chat) -> None:
        if chat.text == "first":
            await chat.use("Bash", {"command": "make"})
        await chat.say(f"{chat.text} is done")

    with anyio.fail_after(SOON):
        async with simulated(work, on_permission=wait) as session:
            first = session.send("first")
            await first.started.wait()
            next, later, usual = (
                session.send("next", priority="next"),
                session.send("later", priority="later"),
                session.send("usual"),
            )
            assert [it.state for it in (next, later, usual)] == ["sent", "sent", "held"]
            await session._core.link.flush()  # type: ignore[union-attr]
            door.set()
            replies = [await it for it in (first, next, later, usual)]
    assert [it.text for it in replies] == [
        "next is done",
        "next is done",
        "later is done",
        "usual is done",
    ]
    assert [it.merged for it in (first, next, later, usual)] == [False, True, False, False]
    assert replies[0].result is replies[1].result


async def wait_for_ever(chat: Chat) -> None:
    """A turn with the prompt "wait" has no end."""
    if chat.text == "wait":
        await chat.sleep(10 * SOON)
    await chat.say(f"{chat.text} is done")


@pytest.mark.parametrize("version", ["2.1.250", "2.1.325"])
@pytest.mark.parametrize("is_idle", [True, False], ids=["tells when idle", "does not"])
async def test_prompts_that_the_cli_takes_up_together_all_end(version: str, is_idle: bool) -> None:
    env = {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": str(int(is_idle))}
    with anyio.fail_after(SOON):
        async with simulated(wait_for_ever, version=version, env=env) as session:
            first = session.send("wait")
            await first.started.wait()
            others = [session.send(text, priority="next") for text in ("two", "three")]
            await session._core.link.flush()  # type: ignore[union-attr]
            await session.interrupt()
            assert not (await first).ok
            assert [(await it).text for it in others] == 2 * ["two\nthree is done"]
            assert [it.merged for it in others] == [False, True]
            assert (await session.send("four")).text == "four is done"


@pytest.mark.parametrize("version", ["2.1.250", "2.1.325"])
async def test_a_turn_that_a_prompt_with_the_priority_now_stops_is_not_a_success(
    version: str,
) -> None:
    with anyio.fail_after(SOON):
        async with simulated(wait_for_ever, version=version) as session:
            first, second = session.send("wait"), session.send("waits")
            await first.started.wait()
            now = session.send("now", priority="now")
            assert not (await first).ok
            assert (await now).text == "now is done"
            assert (await second).text == "waits is done"


@pytest.mark.parametrize("version", ["2.1.250", "2.1.325"])
async def test_a_prompt_with_the_priority_now_withdraws_the_request_for_a_person(
    version: str,
) -> None:
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

    with anyio.fail_after(SOON):
        async with simulated(work, on_permission=wait, version=version) as session:
            first = session.send("first")
            await asked.wait()
            now = session.send("now", priority="now")
            reply = await first
            assert reply.result.subtype == "success"
            assert not reply.ok
            assert (await now).text == "now is done"
            await withdrawn.wait()


async def test_an_old_cli_gets_one_prompt_at_a_time_whatever_its_priority() -> None:
    with anyio.fail_after(SOON):
        async with simulated(echo, version="2.1.17") as session:
            turns = [session.send("one"), session.send("two", priority="now")]
            assert turns[1].state == "held"
            assert [(await turn).text for turn in turns] == ["You said one.", "You said two."]


# --- told without a question ----------------------------------------------------------------------


async def test_what_is_told_goes_to_the_cli_at_once_and_asks_for_no_turn() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        session.tell("The build is green.")
        note = await peer.hear_prompt()
        assert (note.text, note.should_query) == ("The build is green.", False)
        assert note.uuid is not None
        assert session.turns == ()
        assert session.state == "ready"
        turn = session.send("What about the build?")
        prompt = await peer.hear_prompt()
        assert (prompt.uuid, prompt.should_query) == (turn.uuid, None)
        session.tell("The tests are red.")  # also while a turn runs
        assert (await peer.hear_prompt()).text == "The tests are red."
        await peer.say(saying.result())
        assert (await turn).ok
        await session.close()
    with pytest.raises(SessionClosed):
        session.tell("Too late.")


@pytest.mark.parametrize("version", PERSONAS)
async def test_the_next_prompt_finds_what_was_told_and_has_its_own_reply(version: str) -> None:
    """Also with those CLIs that would answer what is told, or end it with a result."""
    heard: list[str] = []

    async def listen(chat: Chat) -> None:
        heard[:] = [str(entry["text"]) for entry in chat.session.history if entry["type"] == "user"]
        await chat.say(f"You asked {chat.text[-4:]}")

    with anyio.fail_after(SOON):
        async with simulated(listen, version=version) as session:
            session.tell("The build is green.")
            assert (await session.send("One?")).text == "You asked One?"
            assert "".join(heard) == "The build is green.One?"
            session.tell("The tests are red.")
            session.tell("The docs are blue.")
            assert (await session.send("Two?")).text == "You asked Two?"
            assert "".join(heard).endswith("The tests are red.The docs are blue.Two?")
            await session.wait_idle()
            assert len(session._core.unsolicited) == 0


@pytest.mark.parametrize("is_named", [False, True], ids=["2.1.250", "2.1.325"])
async def test_the_empty_result_of_what_was_told_is_a_notice_and_no_turn(is_named: bool) -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        session.tell("The build is green.")
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
        assert len(session._core.unsolicited) == 0
        await session.close()


async def test_what_is_told_is_put_before_the_next_prompt_of_an_old_cli_but_not_a_command() -> None:
    peer = Peer()
    session = session_with(peer)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.start)
            await peer.answer(await peer.hear_request(Initialize), InitializeResult())
        session.tell("The build is green.")
        session.tell(["Really."])
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


async def test_what_was_told_is_not_lost_when_the_cli_no_longer_reads(
    caplog: pytest.LogCaptureFixture,
) -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        link = session._core.link
        assert link is not None
        link.input_broken = True
        session.tell("The build is green.")
        assert len(session._core.notes) == 1
        await session.close()
    assert "No prompt followed what was told last" in caplog.text


async def test_what_begins_like_a_command_is_told_in_front_of_the_next_prompt() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        session.tell(["/clear"])
        session.tell(" /tmp/log has the errors")
        session.send("So?")
        told = [TextBlock(it) for it in ("/clear", " /tmp/log has the errors", "So?")]
        assert (await peer.hear_prompt()).content == told
        await session.close()


async def test_what_is_told_may_have_more_in_it_than_text() -> None:
    peer = Peer()
    session = await opened(peer)
    picture = Image.of("https://example.com/a.png")
    with anyio.fail_after(SOON):
        session.tell([picture, "See?"])
        assert (await peer.hear_prompt()).content == [picture.block(), TextBlock("See?")]
        session.tell([picture, "/tmp has more"])
        session.send("So?")
        told = [picture.block(), TextBlock("/tmp has more"), TextBlock("So?")]
        assert (await peer.hear_prompt()).content == told
        await session.close()


@pytest.mark.parametrize("state", ["cancelled", "completed"])
async def test_what_was_told_and_dropped_by_the_cli_is_told_in_front_of_the_next_prompt(
    state: str,
) -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        running = session.send("Go")
        await peer.say(saying.lifecycle((await peer.hear_prompt()).uuid, "started"))
        session.tell("The build is green.")
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
        await session.close()


async def test_another_cli_is_told_what_the_one_before_may_not_have_read() -> None:
    peers = [Peer(), Peer()]
    waiting = iter(peers)

    async def connect(launch: Launch) -> Transport:
        return next(waiting).transport

    session = Session(options(cli=SOME_CLI), transport=connect)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(peers[0].welcome)
            await session.start()
        session.tell("The build is green.")
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


async def test_a_turn_that_waits_here_can_be_cancelled() -> None:
    with anyio.fail_after(SOON):
        async with simulated(echo) as session:
            turns = [session.send(str(number)) for number in range(3)]
            assert await turns[1].cancel() is True
            assert await turns[1].cancel() is True
            assert turns[1].state == "cancelled"
            with pytest.raises(TurnCancelled):
                await turns[1]
            assert (await turns[2]).text == "You said 2."
            assert await turns[2].cancel() is False


async def test_a_turn_that_the_cli_has_can_be_cancelled_before_it_begins() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        turn, after = session.send("hello"), session.send("after")
        await peer.hear_prompt()
        async with anyio.create_task_group() as tasks:
            outcome: list[bool] = []

            async def cancel() -> None:
                outcome.append(await turn.cancel())

            tasks.start_soon(cancel)
            request = await peer.hear_request(CancelAsyncMessage)
            assert request.body == CancelAsyncMessage(str(turn.uuid))
            await peer.answer(request, CancelAsyncMessageResult(cancelled=True))
        assert outcome == [True]
        assert turn.state == "cancelled"
        assert (await peer.hear_prompt()).uuid == after.uuid
        await session.close()


async def test_a_running_turn_cannot_be_cancelled() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        turn = session.send("hello")
        await peer.hear_prompt()
        async with anyio.create_task_group() as tasks:
            outcome: list[bool] = []

            async def cancel() -> None:
                outcome.append(await turn.cancel())

            tasks.start_soon(cancel)
            request = await peer.hear_request(CancelAsyncMessage)
            # It has begun meanwhile.
            await peer.say(saying.text())
            await peer.answer(request, CancelAsyncMessageResult(cancelled=False))
        assert outcome == [False]
        assert turn.state == "running"
        assert await turn.cancel() is False
        await peer.say(saying.result())
        assert (await turn).ok
        await session.close()


async def test_an_old_cli_cannot_give_a_prompt_back() -> None:
    with anyio.fail_after(SOON):
        async with simulated(version="2.1.17") as session:
            turn = session.send("hello")
            assert turn.state == "sent"
            assert await turn.cancel() is False
            assert (await turn).ok


async def test_a_prompt_that_is_dropped_by_request_ends_its_turn() -> None:
    """However that request came about: the answer tells."""
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        turn = session.send("hello")
        await peer.hear_prompt()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.request, CancelAsyncMessage(str(turn.uuid)))
            request = await peer.hear_request(CancelAsyncMessage)
            await peer.answer(request, CancelAsyncMessageResult(cancelled=True))
        with pytest.raises(TurnCancelled):
            await turn
        await session.close()


async def test_a_prompt_that_the_cli_discards_ends_its_turn() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        turn, after = session.send("hello"), session.send("after")
        prompt = await peer.hear_prompt()
        await peer.say(saying.lifecycle(prompt.uuid, "discarded"))
        with pytest.raises(TurnCancelled, match="discarded"):
            await turn
        assert (await peer.hear_prompt()).uuid == after.uuid
        await peer.say(saying.result(user_message_uuid=after.uuid))
        assert (await after).ok
        await session.close()


# --- not asked for --------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_turn_that_nobody_asked_for_shifts_nothing(version: str) -> None:
    async def work(chat: Chat) -> None:
        if chat.text == "start":
            task = chat.start_task("build")
            await chat.say("started")
            task.finish()
        elif not chat.text:
            await chat.say("The build is done.")
        else:
            await echo(chat)

    with anyio.fail_after(SOON):
        async with simulated(work, version=version) as session:
            first, second = session.send("start"), session.send("second")
            assert (await first).text == "started"
            assert (await second).text == "You said second."
            turn = await anext(session.unsolicited)
            assert (await turn).text == "The build is done."
            if version in NARRATORS:
                assert isinstance(turn.messages[0], InitMessage)
            assert (await session.send("third")).text == "You said third."


async def test_unsolicited_turns_end_with_the_session() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        await peer.say(saying.text("one"), saying.wake_up_result(), saying.text("two"))
        await soon(lambda: session.unread == 3)
        async with anyio.create_task_group() as tasks:
            got: list[Turn[Any]] = []

            async def listen() -> None:
                async for turn in session.unsolicited:
                    got.append(turn)

            tasks.start_soon(listen)
            await soon(lambda: len(got) == 2)
            await session.close()
    assert [turn.state for turn in got] == [TurnState.DONE, TurnState.FAILED]


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        *((UnsolicitedTurn, version) for version in VERSIONS),
        # With an older CLI nothing tells such a result from the one that is waited for.
        *((ResultWithoutTurn, version) for version in NARRATORS),
    ],
)
async def test_a_result_that_nobody_asked_for_shifts_nothing(
    kind: type[UnsolicitedTurn | ResultWithoutTurn], version: str
) -> None:
    session = simulated(echo, faults=[kind(at=3)], version=version)
    events = session.events()
    with anyio.fail_after(SOON):
        async with session:
            for number in range(4):
                assert (await session.send(str(number))).text == f"You said {number}."
            strays = [type(it) for it in events.take() if isinstance(it, TurnStarted | Stray)]
    assert strays == [TurnStarted]


async def test_while_the_cli_works_by_itself_it_is_busy() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        await peer.say(saying.text())
        await soon(lambda: session._core.conversation.is_busy)
        turn = session.send("hello")
        assert turn.state == "held"
        assert session.state == "busy"
        await peer.say(saying.wake_up_result())
        assert (await peer.hear_prompt()).uuid == turn.uuid
        await session.close()


@pytest.mark.parametrize(
    ("option", "field", "sent"),
    [(True, {}, True), (True, {"client_composed": False}, False), (False, {}, None)],
)
async def test_prompts_are_taken_as_they_are_if_wanted(
    option: bool, field: Any, sent: bool | None
) -> None:
    peer = Peer()
    session = await opened(peer, verbatim_prompts=option)
    with anyio.fail_after(SOON):
        session.send("/hello", **field)
        assert (await peer.hear_prompt()).client_composed is sent
        await session.close()


# --- until nothing is to be done ------------------------------------------------------------------


async def test_to_wait_until_idle_is_to_wait_for_all_turns() -> None:
    with anyio.fail_after(SOON):
        async with simulated(echo) as session:
            await session.wait_idle()
            turns = [session.send("one"), session.send("two")]
            await session.wait_idle()
            assert all(turn.is_over for turn in turns)


async def background(chat: Chat) -> None:
    if chat.text == "start":
        chat.start_task("build")
        await chat.say("started")


@simulated_time
async def test_to_wait_until_idle_is_to_wait_for_tasks_if_wanted() -> None:
    with anyio.fail_after(SOON):
        async with simulated(background) as session:
            await session.send("start")
            assert not session.tasks.idle
            await session.wait_idle(tasks="ignore")
            with pytest.raises(TimeoutError):
                await session.wait_idle(timeout=0.02)
            await session.wait_idle(tasks="cancel")
            assert session.tasks.idle


@pytest.mark.parametrize("is_refused", [False, True])
async def test_a_task_that_was_stopped_is_over_though_the_cli_says_no_more(
    monkeypatch: pytest.MonkeyPatch, is_refused: bool
) -> None:
    """2.1.100 does not tell of the end, and refuses to stop what it no longer has."""
    monkeypatch.setattr(core, "TURN_FOLLOWS_WITHIN", 0.0)
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
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
        await session.close()


@simulated_time
async def test_a_task_that_the_cli_does_not_stop_in_time_goes_on() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(2 * SOON):
        await peer.say(saying.task_started("t1"))
        await soon(lambda: not session.tasks.idle)
        with pytest.raises(RequestTimeout, match="stop_task"):
            await session.wait_idle(tasks="cancel")
        (task,) = session.tasks
        assert (task.status, session.tasks.idle) == ("running", False)
        await session.close()


async def test_tasks_that_take_too_long_are_stopped(caplog: pytest.LogCaptureFixture) -> None:
    with anyio.fail_after(SOON):
        async with simulated(background) as session:
            await session.send("start")
            await session.finish_tasks("wait", 0.02)
            await soon(lambda: session.tasks.idle)
    assert "did not end within 0.02 s and are stopped" in caplog.text


async def test_the_end_of_a_task_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """No turn follows, so nothing else tells that there is nothing more to do."""
    monkeypatch.setattr(core, "TURN_FOLLOWS_WITHIN", 0.0)
    peer = Peer()
    session = await opened(peer)
    was_idle: list[bool] = []

    async def wait() -> None:
        await session.wait_idle()
        was_idle.append(session.tasks.idle)

    with anyio.fail_after(SOON):
        await peer.say(saying.task_started("t1"))
        await soon(lambda: not session.tasks.idle)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            assert was_idle == []
            await peer.say(saying.task_ended("t1"))
        assert was_idle == [True]
        await session.close()


async def test_a_turn_that_the_end_of_a_task_sets_off_is_waited_for_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(core, "TURN_FOLLOWS_WITHIN", SOON)
    peer = Peer()
    session = await opened(peer)
    unread: list[int] = []

    async def wait() -> None:
        await session.wait_idle()
        unread.append(session.unread)

    with anyio.fail_after(SOON):
        await peer.say(saying.task_started("t1"))
        await soon(lambda: not session.tasks.idle)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
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
        await session.close()


async def test_a_session_that_fails_is_never_idle() -> None:
    async def start(chat: Chat) -> None:
        chat.start_task("build")

    with anyio.fail_after(SOON):
        async with simulated(start, faults=[KilledBy(9, at=8)]) as session:
            session.send("start")
            with pytest.raises(CLIError):
                await session.wait_idle()


# --- what came before the end is there ------------------------------------------------------------


async def test_nothing_that_came_before_the_end_is_missing() -> None:
    async def talkative(chat: Chat) -> None:
        for number in range(50):
            await chat.say(str(number))

    with anyio.fail_after(SOON):
        async with simulated(talkative, faults=[KilledBy(9, at=40)]) as session:
            turn = session.send("go")
            said = []

            async def read() -> None:
                async for message in turn:
                    if isinstance(message, AssistantMessage):
                        said.append(message.text)

            with pytest.raises(CLIError) as caught:
                await read()
            assert said == [str(number) for number in range(len(said))]
            assert len(said) > 20
            assert caught.value.evidence.signal == 9
            assert not any(isinstance(it, ResultMessage) for it in turn.messages)


# --- an unsolicited turn in the middle of another -------------------------------------------------


@pytest.mark.parametrize("at", range(3, 13))
@pytest.mark.parametrize("pieces", [False, True])
async def test_an_unsolicited_turn_does_not_leak_into_another(at: int, pieces: bool) -> None:
    argv = ["--include-partial-messages"] if pieces else []
    with anyio.fail_after(SOON):
        async with simulated(echo, argv=argv, faults=[UnsolicitedTurn(at)]) as claude:
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


async def test_what_was_put_aside_belongs_to_the_turn_if_no_other_ends() -> None:
    """An `init` that names no prompt need not be the beginning of another turn."""
    peer = Peer()
    session = await opened(peer)
    turn = session.send("hello")
    with anyio.fail_after(SOON):
        await peer.hear_prompt()
        said = [saying.text("one"), saying.init(), saying.text("two"), saying.result("done")]
        await peer.say(saying.lifecycle(turn.uuid, "started"), *said)
        reply = await turn
        assert [type(it) for it in reply.messages[1:]] == [type(it) for it in said]
        assert session.notices == ()
        await session.close()


async def test_what_a_subagent_does_is_not_put_aside() -> None:
    """It belongs to the turn that runs, whichever turn the messages around it belong to."""
    peer = Peer()
    session = await opened(peer)
    turn = session.send("hello")
    with anyio.fail_after(SOON):
        await peer.hear_prompt()
        started, init = saying.lifecycle(turn.uuid, "started"), saying.init()
        deep = [
            saying.text("deep", parent_tool_use_id="t"),
            saying.tool_result(parent_tool_use_id="t"),
        ]
        end = [saying.text("two"), saying.result("done")]
        await peer.say(started, init, *deep, *end)
        reply = await turn
        order = [it.uuid for it in (started, *deep, init, *end)]
        assert [it.uuid for it in reply.messages] == order
        await session.close()
