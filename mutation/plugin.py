"""A plugin for the pytest that runs in a sandbox.

With `--mutation-tests FILE` only the tests that the file lists are run, in its order; a line is
the id of a test or a file of tests. With `--mutation-server DESCRIPTOR` the other end of a socket
says what is run: see `server`. `--mutation-running FILE` writes the id of the test that was begun
last: in the end, the one that failed or hung. `--mutation-durations FILE` writes how long each test
took that passed. When coverage is measured, what a test runs is noted under its id, also in the
processes that it starts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

from mutation.server import chosen, serve

__all__ = ["CONTEXT"]

CONTEXT = "MUTATION_TEST"
"""The variable that tells a process which test started it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--mutation-tests", metavar="FILE", type=Path)
    parser.addoption("--mutation-server", metavar="DESCRIPTOR", type=int)
    parser.addoption("--mutation-running", metavar="FILE", type=Path)
    parser.addoption("--mutation-durations", metavar="FILE", type=Path)


def pytest_configure(config: pytest.Config) -> None:
    path: Path | None = config.getoption("--mutation-durations")
    # The workers of xdist report to the process that started them.
    if path is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Durations(path))


class Durations:
    """Notes how long tests take."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._durations: dict[str, float] = {}
        self._others: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        before = self._durations.get(report.nodeid, 0.0)
        self._durations[report.nodeid] = before + report.duration
        if report.outcome != "passed":
            self._others.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        passed = {id: it for id, it in self._durations.items() if id not in self._others}
        self._path.write_text(json.dumps(passed, indent=0), encoding="utf-8")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    path: Path | None = config.getoption("--mutation-tests")
    if path is not None:
        items[:] = chosen(items, path.read_text(encoding="utf-8").splitlines())


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    descriptor: int | None = session.config.getoption("--mutation-server")
    if descriptor is None:
        return None
    serve(session, descriptor)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    running: Path | None = item.config.getoption("--mutation-running")
    if running is not None:
        running.write_text(item.nodeid, encoding="utf-8")
    measured = coverage.Coverage.current()
    if measured is None:
        return (yield)
    os.environ[CONTEXT] = item.nodeid
    measured.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        measured.switch_context("")
        del os.environ[CONTEXT]
