"""Settings of the whole suite."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

REQUIREMENTS = "conformance/test_requirements_*.py"
"""Where every test shows some requirement."""

# No deadline: how long one example takes says more about the machine than about the code.
# In CI the same examples every time: a verdict changes with a commit, not with luck.
settings.register_profile("suite", deadline=None, print_blob=True, derandomize="CI" in os.environ)
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--conformance-map", metavar="FILE", help="write which requirement is shown by which tests"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "shows(*ids): the test shows these entries of conformance/requirements.toml"
    )


@pytest.fixture(autouse=True, scope="session")
def _private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep locks, and what simulated CLIs remember, out of the user's own folders."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path_factory.mktemp("config")))
        yield


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


def pytest_collection_finish(session: pytest.Session) -> None:
    path: str | None = session.config.getoption("--conformance-map")
    if path is not None:
        found = conformance_map(session.items)
        Path(path).write_text(json.dumps(found, sort_keys=True), encoding="utf-8")
