"""How long a task waits for what does not end, with simulated time."""

from __future__ import annotations

import io
from typing import Any

import anyio
import pytest
from tests.helpers.clock import simulated_time

from claudewire.cli.exits import Exit
from claudewire.cli.task import Nobody, Task, TaskRun
from claudewire.cli.terminal_view import TerminalView
from claudewire.cli.views import PlainView
from claudewire.options import Options
from claudewire.simulator import SimulatedCLI
from claudewire.testing import Chat

pytestmark = [pytest.mark.anyio, simulated_time]


async def build(chat: Chat) -> None:
    chat.start_task("a build without an end")
    await chat.say("It is being built.")


async def think(chat: Chat) -> None:
    await chat.say("Hm.")
    await chat.sleep(100_000)


async def ran(scenario: Any, **given: Any) -> tuple[Any, str, float]:
    """Do a task; return the report, what was said, and how long it took."""
    err = io.StringIO()
    task = Task("x", Options(), transport=SimulatedCLI(scenario), **given)
    began = anyio.current_time()
    report = await TaskRun(task, PlainView(io.StringIO(), err), Nobody()).run()
    return report, err.getvalue(), anyio.current_time() - began


async def test_background_tasks_have_ten_minutes_to_end() -> None:
    report, _, took = await ran(build)
    assert report.exit_code is Exit.DONE.value
    assert report.text == "It is being built."
    assert took == pytest.approx(600, abs=5)


async def test_a_task_has_the_time_that_it_was_given() -> None:
    report, said, took = await ran(think, timeout=45.0)
    assert (report.outcome, report.exit_code) == ("stalled", Exit.STALLED)
    assert said == "The turn was stopped.\n"
    assert took == pytest.approx(45, abs=5)


async def test_a_task_that_was_interrupted_before_its_time_is_over_stays_interrupted() -> None:
    stopped: list[object] = []

    async def stop(session: object, **how: object) -> None:
        stopped.append(how)

    task = Task("x", Options(), transport=SimulatedCLI(think), timeout=45.0)
    work = TaskRun(task, PlainView(io.StringIO(), io.StringIO()), Nobody())
    work._exit = Exit.INTERRUPTED
    work._stop = stop  # type: ignore[method-assign]
    report = await work.run()
    assert (report.outcome, stopped) == ("interrupted", [{"in_time": False}])
    assert report.session_id is not None


async def test_what_changes_is_drawn_four_times_a_second() -> None:
    view = TerminalView(io.StringIO(), io.StringIO())
    drawn: list[object] = []
    view.screen.change = drawn.append  # type: ignore[method-assign, assignment]
    with anyio.move_on_after(1.1):
        await view.run()
    assert (view.drawing.frame, len(drawn)) == (4, 5)
