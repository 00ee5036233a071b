"""Every behaviour with the oldest and the newest CLI, and some with all others.

`scripts/matrix` plays everything with all versions; `tests/real/matrix` has the behaviours. Those
of one subject are played together, for they share a CLI; then each is a test. With the other
versions `scripts/test` plays what can share a single CLI: to start one takes most of the time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import anyio
import pytest
from tests.helpers.real_clis import why_not

from .matrix.behaviour import TABLE, VERSIONS, Behaviour
from .matrix.document import DOCUMENT
from .matrix.runner import COMPANY, SUBJECTS, Outcome, Verdict, expected, groups, run
from .matrix.wire_changes import CONVERSATIONS, compare, nearest, place

ALL_WITH = (VERSIONS[0], VERSIONS[-1])
"""The versions with which everything is played."""
SOME = "some"
"""What is played with the others, with one CLI."""
MORE = "more"
"""What `scripts/test -m in_between` plays with them, too: it takes seven CLIs."""
LANES = 2
"""How many CLIs work at the same time, in each of pytest's workers."""


def played(subject: str) -> list[Behaviour]:
    """What is played: of one subject, or of all."""
    if subject in (SOME, MORE):
        chosen = [it for it in TABLE.values() if it.everywhere]
        return [it for it in chosen if shares_one(it) is (subject == SOME)]
    return [it for it in TABLE.values() if it.subject == subject]


def shares_one(behaviour: Behaviour) -> bool:
    """Whether it can be played in the session that most subjects share."""
    return not behaviour.alone and behaviour.subject in {*COMPANY, *COMPANY.values()}


def cells() -> Iterator[Any]:
    for version in VERSIONS:
        for subject in SUBJECTS if version in ALL_WITH else (SOME, MORE):
            marks = [pytest.mark.xdist_group(f"matrix {version} {subject}")]
            if subject == MORE:
                marks.append(pytest.mark.in_between)
            for it in played(subject):
                shows = [pytest.mark.shows(*it.shows)] if it.shows else []
                yield pytest.param(
                    version, subject, it.name, id=f"{version}-{it.name}", marks=[*marks, *shows]
                )


@cache
def outcomes(version: str, subject: str) -> dict[str, Outcome]:
    """Play what is played with a version, once."""
    found: dict[str, Outcome] = {}

    def note(_: str, behaviour: Behaviour, outcome: Outcome) -> None:
        if behaviour.name not in found or outcome.verdict is Verdict.FAILS:
            found[behaviour.name] = outcome

    async def play() -> None:
        company = COMPANY if subject == SOME else None
        await run({version: played(subject)}, note, lanes=LANES, company=company)

    anyio.run(play)
    return found


@pytest.mark.real
@pytest.mark.parametrize(("version", "subject", "name"), [*cells()])
def test_a_real_cli_does(version: str, subject: str, name: str) -> None:
    if (reason := why_not(version)) is not None:
        pytest.skip(reason)
    outcome = outcomes(version, subject)[name]
    assert outcome.verdict is not Verdict.FAILS, outcome.evidence


# --- the table -----------------------------------------------------------------------------------


def test_there_are_a_hundred_behaviours_and_each_is_a_sentence() -> None:
    assert len(TABLE) >= 100
    titles = [it.title for it in TABLE.values()]
    assert len({*titles}) == len(titles)
    assert not [title for title in titles if title.endswith(".")]


def test_the_document_has_every_behaviour_and_no_empty_cell() -> None:
    rows = [
        [cell.strip() for cell in line.replace("\\|", "").strip("|").split("|")]
        for line in DOCUMENT.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ")
    ]
    for row in rows:
        assert len(row) == len(VERSIONS) + 1
        assert all(row[1:])
    titles = {row[0] for row in rows}
    missing = [it.title for it in TABLE.values() if it.title.replace("<", "&lt;") not in titles]
    assert missing == [], "scripts/matrix --write"


def one(**fields: Any) -> Behaviour:
    async def play(stage: Any) -> None:
        raise NotImplementedError

    return Behaviour("It holds", play, {}, **fields)


HOLDS, LACKS, DEVIATES, FAILS = (Outcome(it, "so") for it in Verdict)


@pytest.mark.parametrize(
    ("behaviour", "version", "outcome", "counts"),
    [
        (one(), "2.1.17", HOLDS, True),
        (one(), "2.1.17", FAILS, False),
        (one(), "2.1.17", LACKS, False),
        (one(since="2.1.17"), "2.0.76", LACKS, True),
        (one(since="2.1.17"), "2.0.76", HOLDS, False),  # the table is wrong
        (one(since="2.1.17"), "2.1.5", HOLDS, True),  # nobody knows since when exactly
        (one(since="2.1.17"), "2.1.5", LACKS, True),
        (one(since="2.1.17"), "2.1.18", LACKS, False),
        (one(), "2.1.17", DEVIATES, False),
        (one(), "2.1.18", DEVIATES, True),
        (one(deviates=frozenset({"2.1.17"})), "2.1.17", DEVIATES, True),
        (one(deviates=frozenset({"2.1.17"})), "2.1.17", HOLDS, False),  # it is gone
    ],
)
def test_a_version_may_lack_or_do_wrong_only_what_is_known(
    behaviour: Behaviour, version: str, outcome: Outcome, counts: bool
) -> None:
    assert (expected(behaviour, version, outcome) == outcome) is (counts or outcome is FAILS)


def test_what_shares_a_session_is_played_together_and_the_rest_alone() -> None:
    found = list(groups(list(TABLE.values())))
    assert sum(map(len, found)) == len(TABLE)
    assert all(len(group) == 1 for group in found if group[0].alone)
    assert len([group for group in found if not group[0].alone]) <= len(SUBJECTS)


def test_what_is_played_with_most_versions_needs_one_session() -> None:
    (together,) = groups(played(SOME), COMPANY)
    assert {it.subject for it in together} == {*COMPANY, "tools"}
    assert len(played(SOME) + played(MORE)) == sum(it.everywhere for it in TABLE.values())


# --- the wire between versions -------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_is_recorded(version: str) -> None:
    for name in CONVERSATIONS:
        assert place(version, name).exists(), "scripts/matrix --record"


def test_what_changed_between_two_versions_is_listed() -> None:
    report = compare("2.1.250", "2.1.325").splitlines()
    assert "+ field answer/initialize: claude_code_version" in report
    assert not [line for line in report if line.startswith("- message")]
    assert any(line.startswith("~ order") for line in compare("1.0.128", "2.1.325").splitlines())
    assert compare("2.1.17", "2.1.17").count("Nothing has changed.") == len(CONVERSATIONS)


def test_no_field_of_the_recordings_is_undeclared() -> None:
    changes: Sequence[str] = [
        line for old, new in itertools.pairwise(VERSIONS) for line in compare(old, new).splitlines()
    ]
    assert [line for line in changes if "not declared" in line] == []


def test_a_version_is_compared_with_the_one_before_it() -> None:
    assert nearest("2.1.222") == "2.1.197"
    assert nearest("3.0.0") == "2.1.325"
    assert nearest("0.2.9") == "1.0.128"
