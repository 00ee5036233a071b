"""Budgets of one session and of several: warnings, stopped turns, refused prompts."""

from __future__ import annotations

import gc
import weakref
from typing import Any, Literal

import anyio
import anyio.to_thread
import pytest
from tests.helpers import messages as saying
from tests.helpers.clock import simulated_time
from tests.helpers.peer import SOON
from tests.helpers.sessions import bounded, connected, options

import claudewire
from claudewire import Budget, BudgetExceeded, Session, SharedBudget, TurnState, sync
from claudewire.errors import CLIError
from claudewire.session import BudgetAlert
from claudewire.simulator.faults import KilledBy
from claudewire.testing import Chat, Scenario, SimulatedCLI
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


async def test_used_up_budget_refuses_further_prompts() -> None:
    async with bounded(limited(Budget(turns=2))) as claude:
        await claude.send("one")
        await claude.send("two")
        with pytest.raises(BudgetExceeded, match="2 of 2 turns"):
            claude.send("three")
        assert claude.ledger.session.turns == 2
        assert claude.ledger.session.calls == 2


async def test_used_up_budget_fails_held_turns() -> None:
    async with bounded(limited(Budget(turns=1))) as claude:
        first, second, third = (claude.send(text) for text in ("one", "two", "three"))
        assert (await first).ok
        for turn in (second, third):
            with pytest.raises(BudgetExceeded):
                await turn
            assert turn.messages == ()
        assert claude.ledger.session.calls == 1


async def test_turn_over_its_budget_is_stopped_alone() -> None:
    async with bounded(limited(Budget(calls=3, per="turn"), scenario=work_on)) as claude:
        for _ in range(2):
            turn = claude.send("go on")
            with pytest.raises(BudgetExceeded, match="3 of 3 model calls"):
                await turn
            assert turn.state is TurnState.FAILED


async def test_limit_reached_with_a_result_stops_no_turn() -> None:
    async def talk_once(chat: Chat) -> None:
        if chat.text == "one":
            await chat.say("Hello.")  # what this has cost is told with the result

    async with bounded(limited(Budget(cost_usd=0.0001, per="turn"), scenario=talk_once)) as claude:
        turns = [claude.send(text) for text in ("one", "two")]
        with claude.events() as events:
            assert [(await turn).ok for turn in turns] == [True, True]
            said = [it.alert.turn for it in events.take() if isinstance(it, BudgetAlert)]
    assert said == [turns[0].key]


@simulated_time
@pytest.mark.parametrize("per", ["turn", "session"])
async def test_cli_that_ignores_a_used_up_budget_is_ended(per: Any) -> None:
    async with connected(within=10 * SOON, budgets=[Budget(calls=2, per=per)]) as (session, peer):
        turn = session.send("hello")
        await peer.say(saying.text(), saying.text())
        with pytest.raises(BudgetExceeded, match="2 of 2 model calls") as caught:
            await turn
        await peer.hear_request(Interrupt)
        assert session.failure is caught.value
        assert session.state == "failed"


# --- shared budgets -------------------------------------------------------------------------------


async def test_shared_budget_limits_the_sum_of_sessions() -> None:
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


async def test_shared_budget_keeps_no_ended_session_alive() -> None:
    total = SharedBudget(turns=2)
    async with bounded(limited(total)) as claude:
        assert (await claude.send("hi")).ok
    core = weakref.ref(claude._core)
    del claude
    await anyio.wait_all_tasks_blocked()
    gc.collect()
    assert core() is None


async def test_parallel_sessions_begin_no_turn_too_many() -> None:
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


async def test_turn_without_a_result_does_not_count() -> None:
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


async def test_used_up_shared_budget_stops_other_sessions() -> None:
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


async def test_blocking_sessions_share_a_budget_with_others() -> None:
    total = SharedBudget(turns=2)

    def ask_blocking() -> bool:
        with sync.open(options(budgets=[total]), transport=SimulatedCLI(talk)) as claude:
            return claude.ask("hi").ok

    async with bounded(limited(total)) as claude:
        assert await anyio.to_thread.run_sync(ask_blocking)
        assert (await claude.send("hi")).ok
        with pytest.raises(BudgetExceeded):
            await anyio.to_thread.run_sync(ask_blocking)


async def test_warning_of_a_shared_budget_is_given_once() -> None:
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
async def test_limit_just_before_a_result_fails_that_turn_alone(
    per: Literal["turn", "session"],
) -> None:
    async with connected(budgets=[Budget(calls=1, per=per)]) as (claude, peer):
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
