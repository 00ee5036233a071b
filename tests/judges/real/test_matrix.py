"""Every behaviour with the oldest CLI and one of the newest.

`scripts/matrix` plays all versions; `tests/judges/real/matrix` has the behaviours. Behaviours of
one subject share a CLI, because starting one takes most of the time. Each is a test.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any

import anyio
import pytest
from tests.helpers.real_clis import VERSIONS as PLAYED
from tests.helpers.real_clis import why_not

from .matrix.behaviour import TABLE, VERSIONS, Behaviour
from .matrix.runner import SUBJECTS, Outcome, Verdict, run
from .matrix.wire_changes import CONVERSATIONS, compare, nearest, place, undeclared

LANES = 2
"""CLIs at work at the same time, in each of pytest's workers."""


def played(subject: str) -> list[Behaviour]:
    return [it for it in TABLE.values() if it.subject == subject]


def cells() -> Iterator[Any]:
    for version, subject in itertools.product(PLAYED, SUBJECTS):
        group = pytest.mark.xdist_group(f"matrix {version} {subject}")
        for it in played(subject):
            shows = [pytest.mark.shows(*it.shows)] if it.shows else []
            yield pytest.param(
                version, subject, it.name, id=f"{version}-{it.name}", marks=[group, *shows]
            )


@cache
def outcomes(version: str, subject: str) -> dict[str, Outcome]:
    """Play all behaviours of a version once."""
    found: dict[str, Outcome] = {}

    def note(_: str, behaviour: Behaviour, outcome: Outcome) -> None:
        if behaviour.name not in found or outcome.verdict is Verdict.FAILS:
            found[behaviour.name] = outcome

    async def play() -> None:
        await run({version: played(subject)}, note, lanes=LANES)

    anyio.run(play)
    return found


@pytest.mark.real
@pytest.mark.parametrize(("version", "subject", "name"), [*cells()])
def test_real_cli_does(version: str, subject: str, name: str) -> None:
    if (reason := why_not(version)) is not None:
        pytest.skip(reason)
    outcome = outcomes(version, subject)[name]
    assert outcome.verdict is not Verdict.FAILS, outcome.evidence


# --- the wire between versions -------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_is_recorded(version: str) -> None:
    for name in CONVERSATIONS:
        assert place(version, name).exists(), "scripts/matrix --record"


def test_changes_between_two_versions_are_listed() -> None:
    assert "+ $.response.response.claude_code_version  string" in compare("2.1.250", "2.1.325")
    assert compare("2.1.17", "2.1.17").count("No differences") == len(CONVERSATIONS)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_recorded_field_is_declared(version: str) -> None:
    assert [*undeclared(version)] == []


def test_version_is_compared_with_the_one_before_it() -> None:
    assert nearest("2.1.222") == "2.1.197"
    assert nearest("3.0.0") == VERSIONS[-1]
    assert nearest("2.1.5") == "2.1.17"
