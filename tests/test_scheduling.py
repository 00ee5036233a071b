"""Our scheduler gives each test to one worker, groups to the same one, and all in their order."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.helpers.scheduling import Scheduler, one_first, report_less


class Worker:
    """Is given tests, by their places in the list of all."""

    gateway = SimpleNamespace(id="gw0")
    shutting_down = False

    def __init__(self) -> None:
        self.given: list[int] = []
        self.done: list[int] = []

    def send_runtest_some(self, places: list[int]) -> None:
        self.given += places

    def shutdown(self) -> None:
        self.shutting_down = True


GROUPED = [f"file.py::test_grouped[{number}]@group" for number in range(5)]
TESTS = [*(f"file.py::test[{number}]" for number in range(20)), *GROUPED, "file.py::test_last"]


@pytest.fixture
def workers(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> list[Worker]:
    """Three workers that have collected the same tests, and have their first ones."""
    monkeypatch.setattr(pytestconfig.option, "tx", ["3*popen"])
    monkeypatch.setattr(pytestconfig.option, "loadscopereorder", False)
    scheduler = Scheduler(pytestconfig)
    found = [Worker() for _ in range(scheduler.numnodes)]
    for worker in found:
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, TESTS)
    scheduler.schedule()
    for worker in found:
        assert 0 < len(worker.given) < len(TESTS) / 2
    while any(worker.given for worker in found):
        for worker in found:
            if worker.given:
                worker.done.append(worker.given.pop(0))
                scheduler.mark_test_complete(worker, worker.done[-1])
    assert not scheduler.has_pending
    return found


def test_every_test_is_run_once_and_each_worker_keeps_the_order(workers: list[Worker]) -> None:
    assert len(workers) == 3
    assert sorted(place for worker in workers for place in worker.done) == [*range(len(TESTS))]
    assert all(worker.done == sorted(worker.done) for worker in workers)
    assert all(worker.shutting_down for worker in workers)


def test_one_worker_has_all_tests_of_a_group(workers: list[Worker]) -> None:
    of_the_group = {TESTS.index(it) for it in GROUPED}
    assert sorted(len(of_the_group.intersection(it.done)) for it in workers) == [0, 0, 5]


def test_what_a_crashed_worker_has_not_done_is_given_to_the_others(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pytestconfig.option, "tx", ["2*popen"])
    monkeypatch.setattr(pytestconfig.option, "loadscopereorder", False)
    scheduler, crashed, other = Scheduler(pytestconfig), Worker(), Worker()
    for worker in (crashed, other):
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, TESTS)
    scheduler.schedule()
    scheduler.mark_test_complete(crashed, crashed.given.pop(0))
    left = crashed.given
    assert scheduler.remove_node(crashed) == TESTS[left[0]]
    while other.given:
        other.done.append(other.given.pop(0))
        scheduler.mark_test_complete(other, other.done[-1])
    assert {*left} <= {*other.done}


def test_while_there_are_many_a_worker_is_given_several_at_once(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pytestconfig.option, "tx", ["popen"])
    scheduler, worker = Scheduler(pytestconfig), Worker()
    scheduler.add_node(worker)
    scheduler.add_node_collection(worker, [f"file.py::test[{number}]" for number in range(3000)])
    scheduler.schedule()
    assert worker.given == [0, 1, 2, 3]
    for place in range(2000):
        scheduler.mark_test_complete(worker, place)
    assert len(worker.given) <= 2003
    assert worker.given == [*range(len(worker.given))]


def test_a_worker_reports_a_test_once_unless_something_is_wrong() -> None:
    sent: list[tuple[str, Any]] = []
    worker = SimpleNamespace(sendevent=lambda name, **event: sent.append((name, event.get("data"))))
    plugins = SimpleNamespace(get_plugins=lambda: [object(), worker])
    report_less(cast("pytest.Config", SimpleNamespace(pluginmanager=plugins)))

    def report(when: str, outcome: str = "passed") -> dict[str, str]:
        worker.sendevent("testreport", data={"when": when, "outcome": outcome})
        return {"when": when, "outcome": outcome}

    worker.sendevent("logstart", nodeid="test")
    report("setup")
    called = report("call")
    report("teardown")
    worker.sendevent("logfinish", nodeid="test")
    skipped, broken = report("setup", "skipped"), report("teardown", "failed")
    reports = [("testreport", it) for it in (called, skipped, broken)]
    assert sent == [reports[0], ("logfinish", None), *reports[1:]]


def test_one_worker_comes_first_and_all_others_at_the_same_time(tmp_path: Path) -> None:
    other = os.open(tmp_path, os.O_RDONLY)
    try:
        with one_first(tmp_path), pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
        with one_first(tmp_path), one_first(tmp_path):  # neither waits
            pass
    finally:
        os.close(other)
