"""A session that has limits of our own keeps to them: what is too much is stopped, or only said."""

from __future__ import annotations

import anyio
import pytest
from tests.helpers.peer import SOON
from tests.helpers.sessions import options

from claudewire import Budget, BudgetExceeded, Session, TurnState
from claudewire.session import BudgetAlert
from claudewire.testing import Chat, Scenario, SimulatedCLI

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


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
