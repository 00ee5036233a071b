"""What may be skipped is listed; anything else fails the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.helpers.skips import ALLOWED, Skip, problems

pytest_plugins = ["pytester"]

CAGE = Skip("real/test_real_cli.py", "No cage: user namespaces are not allowed")
CLI = Skip("real/test_real_cli.py", "CLI 2.1.325 is not there; scripts/real-clis installs it")
OLD = Skip("schemas/test_schemas.py", "there is no `type` statement")


def test_skips_for_reasons_that_are_listed_are_no_problem() -> None:
    assert list(problems([CAGE, CAGE, CLI, OLD], in_ci=False)) == []


@pytest.mark.parametrize(
    ("skips", "in_ci", "problem"),
    [
        ([Skip("wire/test_codec.py", CAGE.reason)], False, "wire/test_codec.py must not"),
        ([Skip(CAGE.place, "I do not like it")], False, "reason: I do not like it"),
        ([CLI], True, "CLI 2.1.325 is not there"),
        ([OLD, OLD], False, "2 tests were skipped, and 1 may be: there is no `type` statement"),
    ],
)
def test_other_places_other_reasons_and_more_tests_are_a_problem(
    skips: list[Skip], in_ci: bool, problem: str
) -> None:
    [found] = problems(skips, in_ci=in_ci)
    assert problem in found


def test_every_place_exists(request: pytest.FixtureRequest) -> None:
    tests = request.path.parent
    assert all((tests / place).exists() for it in ALLOWED for place in it.places)


PROJECT = Path(__file__).resolve().parents[1]
CONFTEST = """
from tests.helpers import skips

def pytest_configure(config):
    skips.AT_LEAST = {"": {"": 2}}
    config.pluginmanager.register(skips.SkipCheck(config))
"""


@pytest.mark.parametrize("workers", ["0", "1"])
@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("def test_a(): pass", "1 tests were run, and 2 are at least: all"),
        ("def test_a(): pytest.skip('today')\ndef test_b(): pass", "*skipped for*: today"),
        ("pytest.skip('today', allow_module_level=True)", "*skipped for*: today"),
        ("def test_a(): pytest.xfail('today')\ndef test_b(): pass", None),
    ],
    ids=["missing", "skipped", "skipped file", "known to fail"],
)
def test_a_run_with_a_problem_fails(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    workers: str,
    body: str,
    problem: str | None,
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # importing them takes long
    pytester.makeini(f"[pytest]\ntestpaths = .\npythonpath = {PROJECT}\n")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(f"import pytest\n{body}")
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "xdist", "-n", workers)
    assert (done.ret == 0) is (problem is None)
    done.stdout.fnmatch_lines([problem or "*1 xfailed*"])
