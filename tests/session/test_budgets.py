"""A session that has limits of our own keeps to them: what is too much is stopped, or only said."""

from __future__ import annotations

import gc
import weakref
from datetime import datetime, timedelta, tzinfo
from typing import Any, Literal

import anyio
import anyio.to_thread
import pytest
from tests.helpers import messages as saying
from tests.helpers.clock import simulated_time
from tests.helpers.peer import SOON, Peer
from tests.helpers.sessions import SOME_CLI, opened, options

import claudewire
from claudewire import Budget, BudgetExceeded, Pool, Session, SharedBudget, TurnState, sync
from claudewire.errors import CLIError, LocalProtocolError
from claudewire.session import BudgetAlert
from claudewire.simulator.faults import KilledBy
from claudewire.testing import Chat, Scenario, SimulatedCLI
from claudewire.transport import Launch, Transport
from claudewire.wire import Interrupt

pytestmark = pytest.mark.anyio


async def talk(chat: Chat) -> None:
    await chat.say("Hello.")


async def work_on(chat: Chat) -> None:
    for number in range(1000):
        await chat.use("Read", {"file_path": f"{number}.txt"}, result="…", seconds=0.01)


def limited(*budgets: Budget, scenario: Scenario = talk) -> Session:
    cli = SimulatedCLI(scenario, argv=["--allowedTools=Read"])
    return Session(options(budgets=budgets), transport=cli)


async def test_a_session_that_may_use_no_more_sends_no_more() -> None:
    with anyio.fail_after(SOON):
        async with limited(Budget(turns=2)) as claude:
            await claude.send("one")
            await claude.send("two")
            with pytest.raises(BudgetExceeded, match="2 of 2 turns"):
                claude.send("three")
            assert claude.ledger.session.turns == 2
            assert claude.ledger.session.calls == 2


async def test_what_waits_when_the_limit_is_reached_is_never_sent() -> None:
    with anyio.fail_after(SOON):
        async with limited(Budget(turns=1)) as claude:
            first, second, third = (claude.send(text) for text in ("one", "two", "three"))
            assert (await first).ok
            for turn in (second, third):
                with pytest.raises(BudgetExceeded):
                    await turn
                assert turn.messages == ()
            assert claude.ledger.session.calls == 1


async def test_a_turn_that_uses_too_much_is_stopped_and_the_next_one_is_not() -> None:
    with anyio.fail_after(SOON):
        async with limited(Budget(calls=3, per="turn"), scenario=work_on) as claude:
            for _ in range(2):
                turn = claude.send("go on")
                with pytest.raises(BudgetExceeded, match="3 of 3 model calls"):
                    await turn
                assert turn.state is TurnState.FAILED


async def test_a_limit_that_is_reached_with_the_end_of_a_turn_does_not_stop_the_next_one() -> None:
    async def talk_once(chat: Chat) -> None:
        if chat.text == "one":
            await chat.say("Hello.")  # what this has cost is told with the result

    with anyio.fail_after(SOON):
        async with limited(Budget(cost_usd=0.0001, per="turn"), scenario=talk_once) as claude:
            turns = [claude.send(text) for text in ("one", "two")]
            with claude.events() as events:
                assert [(await turn).ok for turn in turns] == [True, True]
                said = [it.alert.turn for it in events.take() if isinstance(it, BudgetAlert)]
    assert said == [turns[0].key]


async def test_a_soft_limit_is_said_and_nothing_else() -> None:
    with anyio.fail_after(SOON):
        async with limited(Budget(turns=2, hard=False, warn_at=(0.5,))) as claude:
            with claude.events() as events:
                for _ in range(3):
                    assert (await claude.send("hi")).ok
                said = [it.alert.level for it in events.take() if isinstance(it, BudgetAlert)]
    assert said == ["warning", "soft"]


@simulated_time
@pytest.mark.parametrize("per", ["turn", "session"])
async def test_a_cli_that_does_not_stop_when_the_budget_is_used_up_is_ended(per: Any) -> None:
    peer = Peer()
    session = await opened(peer, budgets=[Budget(calls=2, per=per)])
    with anyio.fail_after(10 * SOON):
        turn = session.send("hello")
        await peer.say(saying.text(), saying.text())
        with pytest.raises(BudgetExceeded, match="2 of 2 model calls") as caught:
            await turn
        await peer.hear_request(Interrupt)
        assert session.failure is caught.value
        assert session.state == "failed"
        await session.close()


@simulated_time
async def test_a_cli_that_stops_when_the_budget_of_a_turn_is_used_up_goes_on() -> None:
    peer = Peer()
    session = await opened(peer, budgets=[Budget(calls=2, per="turn")])
    with anyio.fail_after(10 * SOON):
        turn = session.send("hello")
        await peer.say(saying.text(), saying.text())
        await peer.acknowledge()
        await peer.say(saying.result())
        with pytest.raises(BudgetExceeded, match="2 of 2 model calls"):
            await turn
        after = session.send("again")
        await peer.say(saying.text(), saying.result("I am here."))
        assert (await after).text == "I am here."
        await session.close()


# --- shared budgets -------------------------------------------------------------------------------


async def test_sessions_that_share_a_budget_use_it_together() -> None:
    total = SharedBudget(turns=2)
    with anyio.fail_after(SOON):
        for _ in range(2):
            async with limited(total) as claude:
                assert (await claude.send("hi")).ok
        assert total.used.turns == 2
        with pytest.raises(BudgetExceeded, match="sessions with this budget have used 2 of 2"):
            await limited(total).start()
        with pytest.raises(BudgetExceeded):
            await claudewire.run("hi", options(budgets=[total]), transport=SimulatedCLI(talk))
    assert total.is_used_up


class Nowhere(tzinfo):
    """A time zone that is out of order."""

    def utcoffset(self, when: datetime | None) -> timedelta:
        raise KeyError("nowhere")

    dst = utcoffset

    def tzname(self, when: datetime | None) -> str:
        return "nowhere"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (object(), "This message cannot be written as JSON: Encoding objects of type object is"),
        (datetime(2026, 1, 1, tzinfo=Nowhere()), "The prompt cannot be sent: KeyError: 'nowhere'"),
    ],
)
async def test_a_prompt_that_cannot_be_sent_takes_nothing_of_a_budget(
    given: object, message: str
) -> None:
    total = SharedBudget(turns=1)
    with anyio.fail_after(SOON):
        async with limited(total) as claude:
            with pytest.raises(LocalProtocolError) as caught:
                await claude.send("hi", tool_use_result=given)
            assert caught.value.message.startswith(message)
            assert caught.value.__cause__ is not None
            assert (await claude.send("hi")).ok
    assert total.used.turns == 1


async def test_a_budget_keeps_no_session_that_has_ended() -> None:
    total = SharedBudget(turns=2)
    with anyio.fail_after(SOON):
        async with limited(total) as claude:
            assert (await claude.send("hi")).ok
    core = weakref.ref(claude._core)
    del claude
    await anyio.wait_all_tasks_blocked()
    gc.collect()
    assert core() is None


async def test_sessions_at_once_begin_no_more_turns_than_they_may() -> None:
    total = SharedBudget(turns=2)
    outcomes: list[bool] = []

    async def ask() -> None:
        try:
            async with limited(total) as claude:
                outcomes.append((await claude.send("hi")).ok)
        except BudgetExceeded:
            outcomes.append(False)

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(ask)
    assert sorted(outcomes) == [False, False, False, True, True]
    assert total.used.turns == 2


async def test_a_turn_without_a_result_does_not_count_as_a_turn() -> None:
    total = SharedBudget(turns=1)
    dying = SimulatedCLI(talk, faults=[KilledBy(9, at=4)])
    with anyio.fail_after(SOON):
        async with Session(options(budgets=[total]), transport=dying) as claude:
            with pytest.raises(CLIError):
                await claude.send("hi")
        async with limited(total) as claude:
            waiting, withdrawn = claude.send("hi"), claude.send("hi")
            assert await withdrawn.cancel()
            assert (await waiting).ok


async def test_when_one_session_uses_it_up_the_turns_of_the_others_are_stopped() -> None:
    async def wait(chat: Chat) -> None:
        await chat.say("I wait.")
        await chat.sleep(3600)

    total = SharedBudget(calls=5)
    with anyio.fail_after(SOON):
        async with limited(total, scenario=wait) as other, limited(total, scenario=work_on) as one:
            waiting, held = other.send("wait"), other.send("then this")
            await waiting.started.wait()
            with pytest.raises(BudgetExceeded, match="5 of 5 model calls"):
                await one.send("go on")
            for turn in (waiting, held):
                with pytest.raises(BudgetExceeded, match="5 of 5 model calls"):
                    await turn
            with pytest.raises(BudgetExceeded, match="larger SharedBudget"):
                other.send("more")
            assert other.state == "ready"


async def test_a_session_that_has_not_used_any_of_it_is_refused_too() -> None:
    total = SharedBudget(turns=1)
    with anyio.fail_after(SOON):
        async with limited(total) as idle:
            async with limited(total) as claude:
                await claude.send("hi")
            with pytest.raises(BudgetExceeded):
                idle.send("hi")


async def test_the_sessions_of_a_pool_share_a_budget() -> None:
    total = SharedBudget(turns=2)

    async def connect(launch: Launch) -> Transport:
        return SimulatedCLI(talk)

    with anyio.fail_after(SOON):
        async with Pool(options(cli=SOME_CLI, budgets=[total]), size=1, transport=connect) as pool:
            for _ in range(2):
                async with pool.open() as claude:
                    assert (await claude.send("hi")).ok
            with pytest.raises(BudgetExceeded):
                async with pool.open() as claude:
                    claude.send("hi")


async def test_blocking_sessions_share_a_budget_with_the_others() -> None:
    total = SharedBudget(turns=2)

    def ask_blocking() -> bool:
        with sync.open(options(budgets=[total]), transport=SimulatedCLI(talk)) as claude:
            return claude.ask("hi").ok

    with anyio.fail_after(SOON):
        async with limited(total) as claude:
            assert await anyio.to_thread.run_sync(ask_blocking)
            assert (await claude.send("hi")).ok
            with pytest.raises(BudgetExceeded):
                await anyio.to_thread.run_sync(ask_blocking)


async def test_a_warning_is_given_once_for_all_sessions() -> None:
    total = SharedBudget(turns=4, warn_at=(0.5,))
    said: list[str] = []
    with anyio.fail_after(SOON):
        for _ in range(4):
            async with limited(total) as claude:
                with claude.events() as events:
                    await claude.send("hi")
                said += [it.alert.level for it in events.take() if isinstance(it, BudgetAlert)]
    assert said == ["warning", "hard"]


@pytest.mark.parametrize("per", ["turn", "session"])
async def test_a_limit_that_is_reached_just_before_the_result_fails_this_turn_and_no_other(
    per: Literal["turn", "session"],
) -> None:
    peer = Peer()
    claude = await opened(peer, budgets=[Budget(calls=1, per=per)])
    with anyio.fail_after(SOON):
        turn, after = claude.send("one"), claude.send("two")
        await peer.hear_prompt()
        await peer.say(saying.text(), saying.result())  # at once, so that both are read together
        with pytest.raises(BudgetExceeded, match="1 of 1 model calls"):
            await turn
        if per == "turn":
            await peer.hear_prompt()
            await peer.say(saying.result("fine"))
            assert (await after).text == "fine"
        else:
            with pytest.raises(BudgetExceeded):
                await after
        await claude.close()
