"""Settings of the whole suite."""

from __future__ import annotations

import fcntl
import json
import os
import signal
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test, settings
from tests.helpers.cancellation import open_files
from tests.helpers.processes import PATIENCE, children, end_running
from tests.helpers.snapshots import snapshot as snapshot

from claudewire.transport.platforms import child
from claudewire.transport.platforms.guardian import guardian

HERE = Path(__file__).resolve().parent

JUDGES = {"real": "real CLI", "seeds": "independent peer", "peers": "outside client"}
"""Folders of `tests/judges` in which somebody else plays the other side."""

UNMEASURED = ("judges", "product/docs", "product/examples", "session/reliability")
"""Folders whose tests start many programs and cover nothing alone."""

INSTALLING = HERE.parent / ".tools" / "lock"
"""Locked while `scripts/test` installs."""

MAY_SKIP_IN_CI = (
    *("No cage: ", "only root ", "there can be a sandbox here", "there is no ", "There is no go"),
    "no checkout of the SDK ",
)
"""How the reasons begin for which a test may be skipped where everything can be installed."""

# Python itself ignores these, and `subprocess` restores them in its children.
PYTHON_IGNORES = {signal.SIGPIPE, signal.SIGXFSZ}

# No deadline, and in CI always the same examples: a verdict changes with a commit only.
settings.register_profile(
    "suite", deadline=None, print_blob=True, max_examples=50, derandomize="CI" in os.environ
)
settings.register_profile("fast", settings.get_profile("suite"), max_examples=5)
settings.register_profile("thorough", settings.get_profile("suite"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--conformance-map", metavar="FILE", help="write which requirement each test shows"
    )
    parser.addoption(
        "--half",
        choices=["measured", "rest"],
        help="only tests whose coverage `scripts/test` measures, or only the others",
    )
    parser.addoption(
        "--write-snapshots", action="store_true", help="write the files in tests/snapshots anew"
    )


def pytest_configure(config: pytest.Config) -> None:
    _forget_settings()
    _stop_ignoring_signals()
    config.addinivalue_line("markers", "real_cli: starts a real CLI")
    config.addinivalue_line("markers", "unmeasured: slow, and covers nothing alone")
    config.addinivalue_line(
        "markers", "shows(*ids): shows these entries of conformance/requirements.toml"
    )


def _forget_settings() -> None:
    """Remove the user's settings for a real or simulated CLI."""
    for name in [*os.environ]:
        if name.startswith(("ANTHROPIC_", "CLAUDE")):
            del os.environ[name]


def _stop_ignoring_signals() -> None:
    """Undo `nohup` and shell jobs: started processes inherit ignored signals, but no handlers."""
    for number in signal.valid_signals():
        if signal.getsignal(number) == signal.SIG_IGN and number not in PYTHON_IGNORES:
            signal.signal(number, _do_nothing)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _do_nothing(*_: object) -> None:
    pass


# --- fixtures ------------------------------------------------------------------------------------


@pytest.fixture(autouse=True, scope="session")
def _private_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep locks and simulated conversations out of the user's own folders."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.fixture(autouse=True, scope="session")
def _patience() -> Iterator[None]:
    """Wait longer for killed processes: a busy machine may need more than a moment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child, "BRIEFLY", PATIENCE)
        yield


@pytest.fixture(autouse=True)
def _no_process_left_running() -> Iterator[None]:
    """Fail if a test leaves a process running, except the guardian, which serves all tests."""
    before = children()
    yield
    assert end_running(children() - before - {guardian().pid}) == []


@pytest.fixture
def no_file_left_open() -> Iterator[None]:
    """Fail if a test leaves a file open, except databases, which their owner closes."""
    before = open_files()
    yield
    assert [it for it in open_files() - before if ".db" not in it] == []


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Run each async test on both event loops, unless its file says otherwise."""
    return str(request.param)


# --- running -------------------------------------------------------------------------------------


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    half = config.getoption("half")
    if half is not None:
        measured = {it for it in items if _is_measured(it)}
        others = {*items} - measured
        kept, left_out = (measured, others) if half == "measured" else (others, measured)
        items[:] = [it for it in items if it in kept]
        config.hook.pytest_deselected(items=[*left_out])
    items.sort(key=_needs_installation)  # last
    _write_conformance_map(config, items)


def _needs_installation(item: pytest.Item) -> bool:
    """Return whether a test needs a program that `scripts/test` installs while others run."""
    fixtures: Iterable[str] = getattr(item, "fixturenames", ())
    return item.path.is_relative_to(HERE / "judges") or "browser" in fixtures


def _is_measured(item: pytest.Item) -> bool:
    """Return whether the coverage of a test counts: coverage doubles its time."""
    if item.get_closest_marker("unmeasured") or is_hypothesis_test(getattr(item, "obj", None)):
        return False
    slow = any(item.path.is_relative_to(HERE / folder) for folder in UNMEASURED)
    return not (slow or _needs_installation(item) or "trio" in item.name)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # before the time limit of the test begins
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if _needs_installation(item):
        _wait_for_installation()
    return (yield)


@cache
def _wait_for_installation() -> None:
    with suppress(FileNotFoundError), INSTALLING.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that CI skips because something is not installed."""
    report = yield
    if report.skipped and "CI" in os.environ and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else ""
        if not reason.removeprefix("Skipped: ").startswith(MAY_SKIP_IN_CI):
            report.outcome = "failed"
            report.longrepr = f"CI must not skip this test: {reason}"
    return report


def pytest_make_parametrize_id(val: object) -> str | None:
    """Keep the names of tests readable where a value has thousands of characters."""
    return f"{val[:60]}..." if isinstance(val, str) and len(val) > 100 else None


# --- conformance ---------------------------------------------------------------------------------


def _judge(item: pytest.Item) -> str:
    """Say who would notice a fault in this test: see conformance/check.py."""
    if item.get_closest_marker("real_cli") is not None:
        return "real CLI"
    folders = {HERE / "judges" / name: judge for name, judge in JUDGES.items()}
    return next((it for at, it in folders.items() if item.path.is_relative_to(at)), "own double")


def _shown_by(item: pytest.Item) -> set[str]:
    if item.get_closest_marker("skip") or item.get_closest_marker("xfail"):
        return set()
    return {str(id) for mark in item.iter_markers("shows") for id in mark.args}


def _conformance_map(items: Iterable[pytest.Item]) -> dict[str, list[str]]:
    """Map each id to the tests that show it, and "" to tests that should show one and do not."""
    tests = defaultdict(list)
    for item in items:
        must_show = item.path.match("judges/conformance/test_requirements.py")
        for id in _shown_by(item) or ({""} if must_show else ()):
            tests[id].append(item.nodeid)
    return tests


def _write_conformance_map(config: pytest.Config, items: list[pytest.Item]) -> None:
    path: str | None = config.getoption("--conformance-map")
    worker: str = getattr(config, "workerinput", {}).get("workerid", "gw0")
    if path is not None and worker == "gw0":  # all workers collect the same
        shown = _conformance_map(items)
        named = {test for tests in shown.values() for test in tests}
        judges = {it.nodeid: _judge(it) for it in items if it.nodeid in named}
        Path(path).write_text(
            json.dumps({"shown": shown, "judges": judges}, sort_keys=True), encoding="utf-8"
        )
