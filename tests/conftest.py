"""Settings of the whole suite."""

from __future__ import annotations

import fcntl
import gc
import json
import os
import pkgutil
import signal
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import is_hypothesis_test, settings
from tests.helpers.cancellation import open_files
from tests.helpers.kept import Kept, compare
from tests.helpers.processes import PATIENCE, children, end_running
from tests.helpers.real_clis import MIDDLE
from tests.helpers.scheduling import Scheduler, one_first, report_less
from tests.helpers.skips import CAGED, SkipCheck

import claudewire
from claudewire.transport.platforms import child
from claudewire.transport.platforms.guardian import guardian

HERE = Path(__file__).resolve().parent

REQUIREMENTS = "conformance/test_requirements_*.py"
"""Where every test shows some requirement."""

JUDGES = {"real": "real CLI", "seeds": "independent peer", "peers": "outside client"}
"""Where the other side of a conversation is not ours."""

PYTHON_IGNORES = {signal.SIGPIPE, signal.SIGXFSZ}
"""Python does so itself, and `subprocess` undoes it in what it starts."""

UNMEASURED = (
    "conformance/test_requirements_sessions.py",
    "docs",
    "examples",
    "peers",
    "people/test_many_pending.py",
    "policy/test_whole_decisions.py",
    "policy/test_whole_tables.py",
    "real",
    "reliability",
    "seeds",
    "session/test_end_of_program.py",
    "session/test_unread.py",
    "store/test_chromium.py",
    "test_benchmarks.py",
    "test_conformance_check.py",
    "test_demo.py",
    "test_house.py",
    "test_mutation.py",
    "test_scripts.py",
    "test_skips.py",
    "recordings/test_html_page.py",
)
"""What covers nothing alone and takes long while it is measured.

So do all property tests, most tests on trio, and single tests that are marked so.
"""

SLOW = (
    *UNMEASURED,
    "cli/test_entry.py",
    "cli/test_exits.py",
    "cli/test_hostile.py",
    "cli/test_terminal_chat.py",
    "cli/test_terminal_run.py",
    "cli/wire/test_tap.py",
    "conformance",
    "session/test_cancellation.py",
    "session/test_robustness.py",
    "simulator/test_configuration.py",
    "simulator/test_faults.py",
    "store/test_writing.py",
    "testing",
    "transport/test_guardian.py",
    "transport/test_process.py",
    "wire/test_schema.py",
)
"""What `scripts/test --fast` leaves out, beside the property tests and most tests on trio."""

EVERY_VERSION = (
    "real/test_fidelity.py",
    "real/test_matrix.py",
    "real/test_real_cli.py",
    "real/test_recordings.py",
)
"""Where `scripts/test` runs every real CLI. Elsewhere it runs the oldest and the newest alone:
each start takes a second."""

MEASURED_ON_TRIO = ("concurrency", "transport")
"""Whose code depends on the event loop. Elsewhere the tests on asyncio run the same lines."""

MEASURED_PROGRAMS = (
    "cli/test_completion.py",
    "cli/test_entry.py",
    "cli/test_hostile.py",
    "cli/test_terminal_chat.py",
    "cli/test_terminal_run.py",
    "cli/wire/test_tap.py",
    "simulator/test_dialects.py",
    "simulator/test_faults.py",
    "testing/test_api.py",
)
"""Whose tests start programs of ours that run lines which nothing else runs.

To measure a program takes an eighth of a second more, and twice its own time.
"""

INSTALLED = (*CAGED, "recordings/test_html_page.py")
"""Whose tests run what `scripts/test` installs while the others run."""

LONG = ("reliability/test_fault_matrix.py", "real/test_matrix.py", "docs", "peers", "real", "seeds")
"""What runs for long, the longest first."""

INSTALLING = HERE.parent / ".tools" / "lock"
"""Is locked for as long as `scripts/test` installs."""

_MEASURE = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}

# No deadline: how long one example takes says more about the machine than about the code.
# In CI the same examples every time: a verdict changes with a commit, not with luck.
settings.register_profile(
    "suite", deadline=None, print_blob=True, max_examples=50, derandomize="CI" in os.environ
)
settings.register_profile("fast", settings.get_profile("suite"), max_examples=5)
settings.register_profile("thorough", settings.get_profile("suite"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--conformance-map", metavar="FILE", help="write which requirement is shown by which tests"
    )
    parser.addoption(
        "--measure-some", action="store_true", help="measure no test that is marked `unmeasured`"
    )
    parser.addoption(
        "--write-kept",
        action="store_true",
        help="write the files anew that whole outputs are compared with (tests/helpers/kept.py)",
    )


def pytest_configure(config: pytest.Config) -> None:
    forget_settings()
    stop_ignoring_signals()
    if config.getoption("measure_some") and starts_workers(config):
        see_nothing()
    if config.getoption("measure_some"):
        report_less(config)
    config.pluginmanager.register(SkipCheck(config))
    config.addinivalue_line("markers", "unmeasured: runs without coverage: covers nothing alone")
    config.addinivalue_line("markers", "slow: left out by scripts/test --fast")
    config.addinivalue_line("markers", "real_cli: a real CLI is started")
    config.addinivalue_line("markers", "in_between: with a CLI that scripts/test leaves out")
    config.addinivalue_line(
        "markers", "shows(*ids): the test shows these entries of conformance/requirements.toml"
    )


def starts_workers(config: pytest.Config) -> bool:
    """Whether other processes collect and run the tests."""
    return bool(config.getoption("numprocesses", None))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Let the garbage collector leave alone what is collected: it is looked at again and again.

    In a run of all tests, one worker collects before the others. It compiles what nobody has
    compiled yet, which takes longer than all else, and they find it done.
    """
    gc.disable()
    try:
        if not session.config.getoption("measure_some") or starts_workers(session.config):
            return (yield)
        import_everything()
        pause_measuring()
        with one_first(HERE):
            return (yield)
    finally:
        gc.freeze()
        gc.enable()


def import_everything() -> None:
    """Import the library while it is measured; what imports it later runs nothing of it."""
    for module in pkgutil.walk_packages(claudewire.__path__, "claudewire."):
        if not module.name.endswith(".__main__"):
            import_module(module.name)


@cache
def pause_measuring() -> Callable[[], None]:
    """Have coverage see nothing from now on; return what has it see more, until the next pause.

    Not `coverage.Coverage.stop`, which cannot be undone thousands of times. Without a tracer,
    collecting takes half of the time, and what pytest does for each test a third.
    """
    here, in_threads = sys.gettrace(), threading.gettrace()

    def go_on() -> None:
        sys.settrace(here)
        threading.settrace(in_threads)

    see_nothing()
    return go_on


def see_nothing() -> None:
    sys.settrace(None)
    threading.settrace(None)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Measure what a test runs, without what pytest does around it."""
    if not pyfuncitem.config.getoption("measure_some") or not is_measured(pyfuncitem):
        return (yield)
    pause_measuring()()
    try:
        return (yield)
    finally:
        see_nothing()


def forget_settings() -> None:
    """Remove what would be for a CLI, or for a simulated one, of whoever runs the suite."""
    for name in [*os.environ]:
        if name.startswith(("ANTHROPIC_", "CLAUDE")):
            del os.environ[name]


def stop_ignoring_signals() -> None:
    """Let the processes that tests start have signals as usual, however the suite was started.

    `nohup` makes its program ignore SIGHUP, shells make background jobs ignore SIGINT, and every
    process that is started from there ignores it too. Handlers are not inherited. With one that
    does nothing, a suite that was started with `nohup` still outlives its terminal.
    """
    for number in signal.valid_signals():
        if signal.getsignal(number) == signal.SIG_IGN and number not in PYTHON_IGNORES:
            signal.signal(number, _do_nothing)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _do_nothing(*_: object) -> None:
    pass


@pytest.fixture(autouse=True, scope="session")
def _private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep locks, and what simulated CLIs remember, out of the user's own folders."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.fixture(autouse=True)
def _no_process_left_running() -> Iterator[None]:
    """Fail if a test leaves a process running. The guardian is there for all that follow, too."""
    before = children()
    yield
    assert end_running(children() - before - {guardian().pid}) == []


@pytest.fixture
def no_file_left_open() -> Iterator[None]:
    """Fail if a test leaves a file open. A database may stay: its owner closes it in the end."""
    before = open_files()
    yield
    assert [it for it in open_files() - before if ".db" not in it] == []


@pytest.fixture
def kept(request: pytest.FixtureRequest) -> Kept:
    """Compares a whole output with a file in the folder `whole` beside the test."""
    folder = request.path.parent / "whole"
    write = bool(request.config.getoption("write_kept"))
    return lambda name, text: compare(folder / name, text, write=write)


@pytest.fixture(autouse=True, scope="session")
def _patience() -> Iterator[None]:
    """Wait for killed processes as long as it takes: a busy machine may need more than a moment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child, "BRIEFLY", PATIENCE)
        yield


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Run each async test on both event loops, unless its file or a mark says otherwise."""
    return str(request.param)


def is_in(item: pytest.Item, places: tuple[str, ...]) -> bool:
    return _is_below(item.path, places)


@cache  # thousands of tests are in a few files
def _is_below(path: Path, places: tuple[str, ...]) -> bool:
    return any(path.is_relative_to(HERE / it) for it in places)


def is_property(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)


def is_on_trio(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    return callspec is not None and "trio" in callspec.id


def is_measured(item: pytest.Item) -> bool:
    return item.get_closest_marker("unmeasured") is None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _write_conformance_map(config, items)  # before any are deselected
    for item in items:
        if is_in(item, ("",)):
            for name, places in (("unmeasured", UNMEASURED), ("slow", SLOW)):
                if is_in(item, places) or is_property(item):
                    item.add_marker(name)
            if is_on_trio(item) and not is_in(item, MEASURED_ON_TRIO):
                item.add_marker("unmeasured")
                item.add_marker("slow")
            if is_in(item, ("real",)) and MIDDLE in item.name and not is_in(item, EVERY_VERSION):
                item.add_marker("in_between")

    items.sort(key=_turn)


def _turn(item: pytest.Item) -> tuple[bool, int]:
    """Say when it is the turn of a test: what is measured comes first, and what is short last."""
    if is_measured(item):
        return (False, 0)
    return (True, next((n for n, it in enumerate(LONG) if is_in(item, (it,))), len(LONG)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduler | None:
    if config.getoption("dist") != "loadgroup":
        return None
    config.option.loadscopereorder = False  # large groups would come before what is measured
    return Scheduler(config, log)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # before the time that a test may take begins
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if is_in(item, INSTALLED):
        wait_for_installation()
    return (yield)


@cache
def wait_for_installation() -> None:
    with suppress(FileNotFoundError), INSTALLING.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Keep the name of a test readable where a value has thousands of letters."""
    return f"{val[:60]}..." if isinstance(val, str) and len(val) > 100 else None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Measure the programs that a test starts only where that shows anything: it is slow."""
    if is_in(item, MEASURED_PROGRAMS) and is_measured(item):
        os.environ.update(_MEASURE)
    else:
        for name in _MEASURE:
            os.environ.pop(name, None)


def shown_by(item: pytest.Item) -> set[str]:
    # A test that does not run, or is known to fail, shows nothing.
    if item.get_closest_marker("skip") or item.get_closest_marker("xfail"):
        return set()
    return {str(id) for mark in item.iter_markers("shows") for id in mark.args}


def conformance_map(items: Iterable[pytest.Item]) -> dict[str, list[str]]:
    """Map each id to the tests that show it, and "" to those that should show one and do not."""
    tests = defaultdict(list)
    for item in items:
        must_show = item.path.match(REQUIREMENTS) or any(item.iter_markers("shows"))
        for id in shown_by(item) or ({""} if must_show else ()):
            tests[id].append(item.nodeid)
    return tests


def judge(item: pytest.Item) -> str:
    """Who finds out whether something is wrong in a test: see conformance/check.py."""
    if item.get_closest_marker("real_cli") is not None:
        return "real CLI"
    return next((name for place, name in JUDGES.items() if is_in(item, (place,))), "own double")


def _write_conformance_map(config: pytest.Config, items: list[pytest.Item]) -> None:
    path: str | None = config.getoption("--conformance-map")
    # All workers of xdist collect the same. Not PYTEST_XDIST_WORKER: a pytest that a test starts
    # inherits that, and is no worker.
    worker: str = getattr(config, "workerinput", {}).get("workerid", "gw0")
    if path is not None and worker == "gw0":
        shown = conformance_map(items)
        named = {test for tests in shown.values() for test in tests}
        judges = {it.nodeid: judge(it) for it in items if it.nodeid in named}
        found = {"shown": shown, "judges": judges}
        Path(path).write_text(json.dumps(found, sort_keys=True), encoding="utf-8")
