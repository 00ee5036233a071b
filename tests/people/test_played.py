"""One application and its people, with the simulated CLI in all four dialects and versions."""

from __future__ import annotations

from typing import Any

import pytest
from tests.helpers.talk import told
from tests.people.application import ANSWERS, DECIDED, DIALECTS, HANDLERS, check_told, scenario
from tests.people.driving import Host

from claudewire.people import Inbox, People
from claudewire.people.pending import PendingState
from claudewire.policy import DecisionRecord
from claudewire.simulator import Chat, SimulatedCLI
from claudewire.wire import Cancel

pytestmark = pytest.mark.anyio

VERSIONS = ["2.1.17", "2.1.197", "2.1.325"]


async def play(dialect: str, *, bare: bool = False, **cli: Any) -> tuple[Host, list[Any]]:
    records: list[DecisionRecord] = []
    people = People(**HANDLERS, audit=records.append)
    host = Host(SimulatedCLI(scenario, dialect=dialect, **cli), people, dialect, bare=bare)
    await host.open()
    await host.turn()
    await host.end()
    return host, records


def decisions(host: Host) -> list[dict[str, Any]]:
    """What was answered, without the frames around it."""
    frames = [it["response"] for it in host.wrote if "response" in it]
    return [frame["response"] for frame in frames]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_same_application_works_in_every_dialect(dialect: str) -> None:
    host, records = await play(dialect)
    check_told(told(host.events))
    assert [(it.tool, it.answer, it.decided_by) for it in records] == DECIDED
    assert host.decider.inbox.pending == ()


async def test_the_answers_are_written_as_each_dialect_has_them() -> None:
    forms = {}
    for dialect in DIALECTS:
        host, _ = await play(dialect)
        answer = decisions(host)[2]
        forms[dialect] = answer.get("updatedInput") or answer["updated_input"]
    assert forms == ANSWERS


async def test_the_bare_form_is_written_if_it_is_wished() -> None:
    host, _ = await play("modern", bare=True, version="2.1.17")
    assert decisions(host)[2]["updatedInput"] == {
        "answers": {"Which colour?": "Green", "Which sizes?": ["S", "L"]}
    }
    assert '"Which colour?"="Green"' in told(host.events)[2]


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_same_application_works_with_every_version(version: str) -> None:
    host, records = await play("modern", version=version)
    assert '"Which colour?"="Green", "Which sizes?"="S, L"' in told(host.events)[2]
    assert len(records) == 6


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_interrupt_takes_back_what_waits(dialect: str) -> None:
    async def make(chat: Chat) -> None:
        await chat.use("Bash", {"command": "make"})

    inbox, changes = Inbox(), []
    inbox.on_change(lambda change: changes.append(change))
    host = Host(SimulatedCLI(make, dialect=dialect), People(person="inbox", inbox=inbox), dialect)
    await host.open()
    result = await host.turn(interrupt=True)
    await host.end()
    if dialect == "envelope":  # which has no results
        assert result.text == "[Request interrupted by user for tool use]"
    else:
        assert not result.ok
    assert any(isinstance(event, Cancel) for event in host.events)
    assert [change.what for change in changes] == ["added", "withdrawn"]
    assert changes[0].request.state is PendingState.WITHDRAWN
    assert inbox.pending == ()


async def test_without_people_the_tool_is_denied_and_the_turn_goes_on() -> None:
    async def make(chat: Chat) -> None:
        outcome = await chat.use("Bash", {"command": "make"})
        await chat.say(f"I was told: {outcome.text}")

    host = Host(SimulatedCLI(make), People())
    await host.open()
    result = await host.turn()
    await host.end()
    assert (
        result.text
        == "I was told: No handler is registered for permissions, so the tool was denied."
    )
