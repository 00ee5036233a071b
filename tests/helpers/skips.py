"""Which tests may be skipped, and why. A run that skips anything else, or lacks tests, fails."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

import pytest

AT_LEAST: Mapping[str, Mapping[str, int]] = {
    "": {"": 20_000},
    "not in_between": {
        "": 20_000,
        "unmeasured": 7_000,
        "hypothesis": 600,
        "docs": 850,
        "peers": 60,
        "real": 650,
        "reliability": 500,
        "seeds": 1_250,
    },
    "not slow": {"": 11_500},
}
"""How many tests of a kind are run, at least, with each `-m`; raise it now and then.

A kind is a marker or a folder; "" is all of them. So no step of `scripts/test` can come to nothing
without being noticed.
"""

CAGED = (
    "real",
    "peers",
    "conformance/test_requirements_sessions.py",
    "docs/test_testing_guide.py",
    "store/test_chromium.py",
    "testing/test_cage.py",
    "testing/test_pytest_plugin.py",
)
"""Where programs run in a cage."""


class Allowed(NamedTuple):
    """A reason for which tests may be skipped."""

    reason: str
    """How it begins."""
    places: tuple[str, ...]
    """The folders and files of tests where it counts."""
    most: int | None = None
    """How many tests it may skip."""
    in_ci: bool = True
    """Whether it counts in CI, too, where all that can be installed is installed."""


ALLOWED = (
    Allowed("No cage: ", CAGED),
    Allowed("CLI ", ("real", "conformance/test_requirements_sessions.py"), in_ci=False),
    Allowed("the official SDK ", ("peers",), in_ci=False),
    Allowed("a judge is not installed", ("peers/test_judges.py",), in_ci=False),
    Allowed("no checkout of the SDK ", ("peers/test_judges.py",), most=3),
    Allowed("the older line of mcp ", ("peers",), most=1, in_ci=False),
    Allowed("There is no Chromium", ("store/test_chromium.py",), most=4),
    Allowed("There is no node", ("docs/test_testing_guide.py",), most=1, in_ci=False),
    Allowed("There is no Chromium", ("recordings/test_html_page.py",), most=7, in_ci=False),
    Allowed("There is no node", ("docs/test_your_tool_page.py",), most=1, in_ci=False),
    Allowed("There is no go", ("docs/test_your_tool_page.py",), most=1),
    Allowed("there can be a sandbox here", ("real/test_options_real.py",)),
    # As anybody but root:
    Allowed("only root ", ("real", "transport", "testing/test_cage.py"), most=10),
    Allowed("there is no `type` statement", ("schemas/test_schemas.py",), most=1),
)


class Skip(NamedTuple):
    """A test, or a file of tests, that was skipped."""

    place: str
    """Its file, as a path below `tests`."""
    reason: str


def problems(skips: Iterable[Skip], *, in_ci: bool) -> Iterator[str]:
    """Say which skips are not allowed."""
    counted: Counter[Allowed] = Counter()
    for skip in skips:
        allowed = _allowed(skip, in_ci=in_ci)
        if allowed is None:
            yield f"{skip.place} must not be skipped for this reason: {skip.reason}"
        else:
            counted[allowed] += 1
    for allowed, count in counted.items():
        if allowed.most is not None and count > allowed.most:
            yield f"{count} tests were skipped, and {allowed.most} may be: {allowed.reason}"


def _allowed(skip: Skip, *, in_ci: bool) -> Allowed | None:
    place = PurePosixPath(skip.place)
    for it in ALLOWED:
        is_there = any(place.is_relative_to(where) for where in it.places)
        if is_there and skip.reason.startswith(it.reason) and (it.in_ci or not in_ci):
            return it
    return None


class SkipCheck:
    """A plugin of pytest: counts what is skipped, here and in the workers of xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._skips: list[Skip] = []
        self._run: Counter[str] = Counter()
        self._problems: list[str] = []
        self._least = self._floors()

    def _floors(self) -> Mapping[str, int]:
        """How many tests of each kind this process sees at least: none if it runs some of them."""
        option = self._config.option
        is_whole = self._config.args_source is pytest.Config.ArgsSource.TESTPATHS
        runs_all = is_whole and not (option.keyword or option.collectonly or option.maxfail)
        is_worker = hasattr(self._config, "workerinput")
        return AT_LEAST.get(option.markexpr, {}) if runs_all and not is_worker else {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # There is one for each test: of its call, or of a setup that was not passed.
        if report.when == "call" or (report.when == "setup" and not report.passed):
            self._run.update(kind for kind in self._least if not kind or kind in report.keywords)
        if not hasattr(report, "wasxfail"):
            self._note(report)

    def _note(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        if report.skipped:
            assert isinstance(report.longrepr, tuple)
            file = report.nodeid.partition("::")[0].removeprefix("tests/")
            self._skips.append(Skip(file, report.longrepr[2].removeprefix("Skipped: ")))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        # What has to be skipped on other systems was never tried.
        if sys.platform == "linux":
            self._problems = [*problems(self._skips, in_ci="CI" in os.environ), *self._missing()]
        if self._problems and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _missing(self) -> Iterator[str]:
        for kind, least in self._least.items():
            if self._run[kind] < least:
                yield f"{self._run[kind]} tests were run, and {least} are at least: {kind or 'all'}"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._problems:
            terminalreporter.section("skipped or missing (tests/helpers/skips.py)", red=True)
            for problem in self._problems:
                terminalreporter.line(problem)
