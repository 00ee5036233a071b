"""Typed output of `ask`, its repairs, and its static types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

import pytest
from tests.helpers.peer import SOON
from tests.helpers.sessions import bounded, options

import claudewire
from claudewire import sync
from claudewire.errors import OutputError
from claudewire.session import Reply, Session, Turn
from claudewire.testing import Chat, SimulatedCLI

pytestmark = pytest.mark.anyio


@dataclass
class Sum:
    value: int


class Wavering:
    """Gives the right type at the n-th prompt only."""

    def __init__(self, right_at: int) -> None:
        self.prompts: list[str] = []
        self._right_at = right_at

    async def __call__(self, chat: Chat) -> None:
        self.prompts.append(chat.text)
        right = len(self.prompts) >= self._right_at
        chat.output({"value": 3} if right else {"value": "three"})


def asking(scenario: Wavering, repairs: int = 0) -> Session:
    return Session(options(output=Sum, repairs=repairs), transport=SimulatedCLI(scenario))


async def test_type_checkers_know_the_type_of_the_output() -> None:
    cli = SimulatedCLI(Wavering(1))
    async with bounded(claudewire.open(output=Sum, transport=cli)) as session:
        assert_type(session, Session[Sum])
        turn = session.send("1 + 2")
        assert_type(turn, Turn[Sum])
        assert_type(await turn, Reply[Sum])
        assert (await turn).output.value == 3
        assert_type(await session.ask("1 + 2"), Reply[Sum])


def test_blocking_session_is_generic_too() -> None:
    with sync.open(output=Sum, transport=SimulatedCLI(Wavering(1))) as session:
        assert_type(session, sync.Session[Sum])
        turn = session.send("1 + 2")
        assert_type(turn, sync.Turn[Sum])
        assert turn.reply(timeout=SOON).output.value == 3
        assert_type(session.ask("1 + 2"), Reply[Sum])


def test_session_without_brackets_has_any_output() -> None:
    def of_any(session: Session, blocking: sync.Session) -> None:
        assert_type(session, Session[Any])
        assert_type(blocking, sync.Session[Any])

    with sync.open(transport=SimulatedCLI()) as blocking:
        of_any(claudewire.open(output=Sum), blocking)
    assert_type(claudewire.open(options()), Session[Any])
    assert_type(claudewire.open(json_schema={"type": "object"}), Session[Any])


async def test_unfitting_output_is_asked_for_again() -> None:
    scenario = Wavering(3)
    async with bounded(asking(scenario, repairs=2)) as session:
        assert (await session.ask("1 + 2")).output == Sum(3)
    assert scenario.prompts[0] == "1 + 2"
    assert all("value" in prompt for prompt in scenario.prompts[1:])


@pytest.mark.parametrize(("repairs", "given", "times"), [(0, None, 1), (1, None, 2), (5, 0, 1)])
async def test_repairs_are_limited(repairs: int, given: int | None, times: int) -> None:
    scenario = Wavering(99)
    async with bounded(asking(scenario, repairs)) as session:
        with pytest.raises(OutputError) as caught:
            await session.ask("1 + 2", repairs=given)
        assert caught.value.value == {"value": "three"}
    assert len(scenario.prompts) == times
