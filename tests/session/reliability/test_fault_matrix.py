"""Every fault in every phase ends in a typed error or a completed turn, without leftovers.

`scripts/faults` plays the rest of the matrix: real processes on the other backends too.
"""

from __future__ import annotations

import functools

import pytest
from tests.session.reliability.batches import Batch, run_batch
from tests.session.reliability.cases import CASES, Case, Phase
from tests.session.reliability.matrix import Carrier, Flavour, Outcome
from tests.session.reliability.table import DOCUMENT, Table, read

from claudewire.simulator.faults import FAULTS

BATCHES: tuple[tuple[Flavour, Carrier], ...] = (
    ("asyncio", "memory"),
    ("trio", "memory"),
    ("sync", "memory"),
    ("asyncio", "process"),
)

# A batch is played once, by whichever process of the test run has its tests.
all_backends = pytest.mark.parametrize(
    ("flavour", "carrier"),
    [
        pytest.param(*batch, marks=pytest.mark.xdist_group("-".join(batch)), id="-".join(batch))
        for batch in BATCHES
    ],
)
all_cases = pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)


@functools.cache
def batch(flavour: Flavour, carrier: Carrier) -> Batch:
    return run_batch(flavour, carrier)


@functools.cache
def documented() -> Table:
    return read(DOCUMENT.read_text(encoding="utf-8"))


def outcomes(case: Case, flavour: Flavour, carrier: Carrier) -> list[Outcome]:
    return [it for it in batch(flavour, carrier).outcomes if it.cell.case is case]


@all_backends
@all_cases
def test_fault_is_survived_or_ends_in_a_typed_error(
    case: Case, flavour: Flavour, carrier: Carrier
) -> None:
    broken = {it.cell.phase: it.problems for it in outcomes(case, flavour, carrier) if it.problems}
    assert broken == {}


@all_backends
@all_cases
def test_outcome_is_the_documented_one(case: Case, flavour: Flavour, carrier: Carrier) -> None:
    found = {it.cell.phase: it.summary for it in outcomes(case, flavour, carrier)}
    assert found == {phase: documented()[case.title][phase] for phase in found}


@all_backends
def test_no_process_task_or_file_descriptor_is_left(flavour: Flavour, carrier: Carrier) -> None:
    assert batch(flavour, carrier).left == ()


def test_every_fault_is_played_in_every_phase() -> None:
    played = {(name, phase) for case in CASES for name in case.names for phase in case.phases}
    assert played == {(name, phase) for name in FAULTS for phase in Phase}
    assert [*documented()] == [case.title for case in CASES]
