"""The pytest plugin: every test double as a fixture, and the wire log of each test that fails.

A test that needs no fixture loads nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .api import ScriptedAPI
    from .fixtures import (
        CageFactory,
        RecordingFactory,
        SimulatedCLIFactory,
        SimulatedProgramFactory,
        WireLog,
    )

_LOG = pytest.StashKey["WireLog"]()
_PASSED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option --wire-record."""
    parser.getgroup("claudewire").addoption(
        "--wire-record",
        action="store_true",
        help="make or refresh the recordings of tests that use `wire_recording`, from the real CLI",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the wire log to the report of a failure."""
    report = yield
    if report.when == "call":
        item.stash[_PASSED] = report.passed
    log = item.stash.get(_LOG, None)
    if report.failed and log is not None:
        report.sections += log.sections()
    return report


@pytest.fixture
def wire_log(request: pytest.FixtureRequest) -> WireLog:
    """Log the wire of this test, to show it if the test fails: `wire_log.watch(transport)`."""
    from .fixtures import WireLog

    log = request.node.stash[_LOG] = WireLog()
    return log


@pytest.fixture
def _claudewire_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder beside `tmp_path`, which belongs to the application."""
    return tmp_path_factory.mktemp("claudewire")


@pytest.fixture
def simulated_cli(
    request: pytest.FixtureRequest, wire_log: WireLog, tmp_path: Path, _claudewire_folder: Path
) -> Iterator[SimulatedCLIFactory]:
    """Make a simulated CLI in this process: `simulated_cli(scenario)` is a transport.

    The test fails if the scenario raises, unless it is made with `may_raise=True`.
    """
    from .fixtures import SimulatedCLIFactory

    made = SimulatedCLIFactory(
        wire_log, base=request.path.parent, folder=tmp_path, config=_claudewire_folder / "config"
    )
    yield made
    made.finish(passed=request.node.stash.get(_PASSED, False))


@pytest.fixture
def claudewire_sim(
    request: pytest.FixtureRequest, wire_log: WireLog, _claudewire_folder: Path
) -> Iterator[SimulatedProgramFactory]:
    """Make a simulated CLI as a program: `claudewire_sim(scenario)` is a path to a `claude`.

    The test fails if the scenario raises, unless it is made with `may_raise=True`.
    """
    from .fixtures import SimulatedProgramFactory

    folder = _claudewire_folder
    made = SimulatedProgramFactory(
        wire_log, base=request.path.parent, folder=folder, config=folder / "config"
    )
    yield made
    made.finish(passed=request.node.stash.get(_PASSED, False))


@pytest.fixture
def scripted_api() -> type[ScriptedAPI]:
    """Serve a Messages API that follows a script, for as long as its context lasts.

    async with scripted_api(["Hello"]) as api: ...
    """
    from .api import ScriptedAPI

    return ScriptedAPI


@pytest.fixture
def cage() -> Iterator[CageFactory]:
    """Open a cage for real programs: `cage(["Hello"]).wrapper("claude")` is a path.

    It skips the test, with the reason, where a cage is not possible.
    """
    from .cage import Cage

    if (reason := Cage.unavailable()) is not None:
        pytest.skip(f"No cage: {reason}")
    with ExitStack() as cages:
        yield lambda *given, **options: cages.enter_context(Cage(*given, **options))


@pytest.fixture
def wire_recording(request: pytest.FixtureRequest, wire_log: WireLog) -> Iterator[RecordingFactory]:
    """Replay the recording of this test, or record it with --wire-record.

    `await wire_recording(live)` is a transport; `live` makes the real one and is called only for
    recording. Recordings are in `recordings`, next to the file of the test.
    """
    from .fixtures import RecordingFactory, recording_path

    recordings = RecordingFactory(
        wire_log,
        path=recording_path(request.path, request.node.nodeid.partition("::")[2]),
        record=request.config.getoption("--wire-record"),
    )
    yield recordings
    recordings.finish(passed=request.node.stash.get(_PASSED, False))
