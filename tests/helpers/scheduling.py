"""Gives tests to the workers of pytest-xdist."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]


class Scheduler(LoadGroupScheduling):  # type: ignore[misc]
    """Does what `--dist loadgroup` does, in a time that does not grow with the number of tests.

    The original looks for each test in the list of all, and counts all that a worker has ever
    had. With 21,000 tests and three workers that takes 23 seconds, and this a third of one.
    """

    @cached_property
    def _places(self) -> dict[str, int]:
        """Where each test is in the list of all, which is the same for all workers."""
        assert self.collection is not None
        return {nodeid: place for place, nodeid in enumerate(self.collection)}

    def _assign_work_unit(self, node: Any) -> None:
        # Several at once, for a message takes as long as a small test; one by one in the end. A
        # group, which may take long, is not followed by another.
        most = min(10, len(self.workqueue) // 1000 + 1)
        places: list[int] = []
        while self.workqueue and len(places) < most:
            scope, unit = self.workqueue.popitem(last=False)
            self.assigned_work[node][scope] = unit
            places += [self._places[nodeid] for nodeid, done in unit.items() if not done]
        node.send_runtest_some(places)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        nodeid = self.registered_collections[node][item_index]
        scope = self._split_scope(nodeid)
        units = self.assigned_work[node]
        units[scope][nodeid] = True
        if all(units[scope].values()):
            del units[scope]
        self._reschedule(node)


def report_less(config: pytest.Config) -> None:
    """Have a worker report a test once if all is well, and not its start, setup and teardown too.

    Each of these reports takes as long as a small test, here and where it is received.
    """
    workers = [it for it in config.pluginmanager.get_plugins() if hasattr(it, "sendevent")]
    for worker in workers:  # there is one, or none where all runs in one process
        worker.sendevent = _only_what_matters(worker.sendevent)


def _only_what_matters(send: Callable[..., None]) -> Callable[..., None]:
    def sendevent(name: str, **event: Any) -> None:
        report = event.get("data", {})
        around = name == "testreport" and report["when"] != "call" and report["outcome"] == "passed"
        if name != "logstart" and not around:
            send(name, **event)

    return sendevent


@contextmanager
def one_first(folder: Path) -> Iterator[None]:
    """Let the first process be alone in this context; those that come meanwhile wait for it."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(opened, fcntl.LOCK_SH)
        yield
    finally:
        os.close(opened)
