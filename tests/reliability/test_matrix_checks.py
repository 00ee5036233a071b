"""The checks of the fault matrix notice what they are there for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from tests.helpers.cancellation import living_tasks
from tests.helpers.processes import children, descriptors, group_of, started_with
from tests.reliability.applications import AsyncApplication
from tests.reliability.batches import Batch
from tests.reliability.cases import CASES, Case, Phase
from tests.reliability.driving import Driver, label
from tests.reliability.matrix import Cell, Outcome, alive, idle_faults, lost, positions, run_cell
from tests.reliability.simulations import Gate, Tapped, in_memory, options_for
from tests.reliability.table import BEGIN, END, problems_of, read, replaced, table_of, written

from claudewire.errors import Cause, CLIError, RequestTimeout, TurnError
from claudewire.transport import Launch

PATIENCE = 60.0


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that leads a group, once the kernel shows its environment."""
    argv = [sys.executable, "-I", "-S", "-uc", "print(); import time; time.sleep(60)"]
    env = {"MARK": f"of {os.getpid()}."}
    with subprocess.Popen(argv, start_new_session=True, env=env, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def new_driver() -> Driver:
    gate = Gate()
    return Driver(AsyncApplication(options_for(Case(""), Phase.IDLE, "", gate, None), None), gate)


async def played(case: Case, faults: str = "") -> tuple[Driver, Tapped]:
    """Play a plain conversation to its end."""
    clis: list[Tapped] = []

    async def connect(launch: Launch) -> Tapped:
        clis.append(in_memory(launch))
        return clis[0]

    gate = Gate()
    options = options_for(case, Phase.STARTING, faults, gate, None)
    driver = Driver(AsyncApplication(options, connect), gate)
    with anyio.fail_after(PATIENCE):
        await driver.play(Phase.STARTING)
    return driver, clis[0]


# --- what is lost ---------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_nothing_is_said_to_be_lost_where_nothing_is() -> None:
    driver, cli = await played(Case(""))
    assert [*lost(driver, cli.written), *alive(driver), *driver.problems] == []


@pytest.mark.anyio
async def test_a_line_that_never_came_is_noticed() -> None:
    driver, cli = await played(Case(""))
    told = list(lost(driver, cli.written + b'{"type":"system"}\n'))
    assert told[1:] == ['never delivered: b\'{"type":"system"}\'']
    assert told[0].endswith("events came")


@pytest.mark.anyio
async def test_a_message_that_no_turn_has_is_noticed() -> None:
    driver, cli = await played(Case(""))
    missing = driver.application.read.pop()
    (told,) = lost(driver, cli.written)
    assert told.startswith(f"never delivered: {missing.line[:20]!r}"[:-1])


@pytest.mark.anyio
async def test_a_message_that_comes_twice_is_noticed() -> None:
    driver, cli = await played(Case(""))
    driver.application.read.append(driver.application.read[0])
    (told,) = lost(driver, cli.written)
    assert told.startswith("delivered 1 times too often")


# --- what is left ---------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_session_that_is_not_over_is_noticed() -> None:
    driver = new_driver()
    driver.steps["close"] = "TypeError"
    assert list(alive(driver)) == ["close: TypeError", "the session is new after it was closed"]


def test_a_process_that_is_left_is_noticed(sleeper: subprocess.Popen[bytes]) -> None:
    assert sleeper.pid in children()
    assert group_of(sleeper.pid) == {sleeper.pid}
    assert started_with(f"MARK=of {os.getpid()}.") == {sleeper.pid}
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert group_of(sleeper.pid) == started_with(f"MARK=of {os.getpid()}.") == set()
    assert sleeper.pid in children()


def test_a_file_descriptor_that_is_left_is_noticed() -> None:
    before = len(descriptors())
    with open(os.devnull, "rb"):
        assert len(descriptors()) == before + 1


@pytest.mark.anyio
async def test_a_task_that_is_left_is_noticed() -> None:
    before = living_tasks()
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep_forever)
        assert living_tasks() == before + 1
        group.cancel_scope.cancel()


@pytest.mark.anyio
async def test_a_fault_that_never_happens_is_noticed() -> None:
    _, cli = await played(Case("exit(1)@1000"), "exit(1)@1000")
    assert list(idle_faults([cli])) == ["ExitWith(at=1000, status=1) has not happened"]


# --- what is told ---------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_what_is_not_an_error_of_ours_is_a_broken_promise() -> None:
    async def fail() -> None:
        raise ValueError("not ours")

    driver = Driver(
        AsyncApplication(options_for(Case(""), Phase.IDLE, "", Gate(), None), None), Gate()
    )
    assert not await driver.step("turn", fail)
    assert driver.problems == ["turn raises ValueError('not ours')"]


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (CLIError("gone", cause=Cause.KILLED), "CLIError: killed"),
        (TurnError("failed"), "TurnError"),
        (RequestTimeout("late", request="set_model"), "RequestTimeout"),
    ],
)
def test_an_error_is_named_with_its_cause(error: Exception, name: str) -> None:
    assert label(error) == name


def outcome(**steps: str) -> Outcome:
    return Outcome(Cell(CASES[0], Phase.IDLE, "trio", "memory"), steps, ())


@pytest.mark.parametrize(
    ("steps", "summary"),
    [
        ({"open": "completed", "next": "completed", "close": "completed"}, "completed"),
        ({"open": "CLIError: killed", "close": "completed"}, "CLIError: killed"),
        ({"request": "RequestTimeout", "next": "completed"}, "RequestTimeout, then completed"),
        ({"turn": "TurnStalled", "next": "TurnStalled"}, "TurnStalled"),
        ({"request": "RequestTimeout", "turn": "TurnStalled"}, "RequestTimeout, then TurnStalled"),
    ],
)
def test_an_outcome_in_a_word(steps: dict[str, str], summary: str) -> None:
    assert outcome(**steps).summary == summary


# --- the table ------------------------------------------------------------------------------------


def test_a_table_is_read_as_it_was_written() -> None:
    table = table_of([outcome(open="SessionClosed")])
    text = replaced(f"before\n{BEGIN}\nold\n{END}\nafter\n", table)
    assert read(text) == table
    assert text.startswith(f"before\n{BEGIN}\n| fault | starting |")
    assert text.endswith(f"{END}\nafter\n")
    assert table[CASES[0].title][Phase.IDLE] == "SessionClosed"


def test_backends_that_do_not_agree_are_all_told() -> None:
    table = table_of([outcome(open="SessionClosed"), outcome(next="completed")])
    assert table[CASES[0].title][Phase.IDLE] == "SessionClosed or completed"


def test_a_table_that_lacks_something_is_noticed() -> None:
    table = table_of([])
    whole = f"{BEGIN}\n{written(table)}\n{END}"
    assert problems_of(whole) == []
    del table[CASES[0].title]
    assert problems_of(f"{BEGIN}\n{written(table)}\n{END}") != []
    assert problems_of(whole.replace("closing", "opening")) != []


def test_a_cell_can_be_played_alone(tmp_path: Path) -> None:
    positions()
    cell = Cell(Case("garbage@{moment}"), Phase.HOOK, "asyncio", "memory")
    played = anyio.run(run_cell, cell, tmp_path)
    assert (played.summary, played.problems) == ("completed", ())
    assert Batch((played,), ()).outcomes[0].cell is cell


def test_a_cell_that_was_over_before_its_fault_is_played_with_longer_bounds() -> None:
    assert replace(outcome(), problems=("NotReading(at=20) has not happened",)).fault_did_not_happen
    assert not replace(outcome(), problems=("close: hangs",)).fault_did_not_happen
    case = Case("garbage@{moment}", (("exit", (Phase.IDLE,)),))
    assert replace(case, slower=5).timeouts(Phase.IDLE).exit == 5 * case.timeouts(Phase.IDLE).exit
