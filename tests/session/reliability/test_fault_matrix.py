"""Every fault in every phase ends in a typed error or a completed turn, without leftovers.

`scripts/faults` plays the rest of the matrix: real processes on the other backends too.
"""

from __future__ import annotations

import functools

import pytest
from tests.session.reliability.batches import Batch, run_batch
from tests.session.reliability.cases import CASES, Case, Phase
from tests.session.reliability.matrix import Carrier, Flavour, Outcome, positions, rehearsals
from tests.session.reliability.table import DOCUMENT, Table, problems_of, read

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


@all_backends
def test_one_worker_has_all_tests_of_a_batch(
    flavour: Flavour, carrier: Carrier, request: pytest.FixtureRequest
) -> None:
    """Otherwise each worker would play it; pytest-xdist groups tests by the end of their ids."""
    if request.config.getoption("loadgroup", False):
        assert request.node.nodeid.endswith(f"@{flavour}-{carrier}")


def test_every_fault_is_played_in_every_phase() -> None:
    played = {(name, phase) for case in CASES for name in case.names for phase in case.phases}
    assert played == {(name, phase) for name in FAULTS for phase in Phase}


def test_document_has_every_fault_and_every_phase() -> None:
    assert problems_of(DOCUMENT.read_text(encoding="utf-8")) == []


def kind(phase: Phase, number: int) -> str:
    frame = rehearsals()[phase][number - 1]
    inner = frame.get("event") or frame.get("request") or {}
    return str(inner.get("subtype") or inner.get("type") or frame.get("subtype") or frame["type"])


@pytest.mark.parametrize(
    ("phase", "moment"),
    [
        (Phase.STARTING, "control_response"),
        (Phase.IDLE, "notification"),
        (Phase.STREAMING, "content_block_delta"),
        (Phase.PERMISSION, "control_response"),
        (Phase.HOOK, "control_response"),
        (Phase.CLOSING, "control_response"),
    ],
)
def test_fault_hits_the_frame_of_its_phase(phase: Phase, moment: str) -> None:
    assert kind(phase, positions()[phase].moment) == moment


@pytest.mark.parametrize(
    ("phase", "request_put"),
    [(Phase.PERMISSION, "can_use_tool"), (Phase.HOOK, "hook_callback"), (Phase.CLOSING, "")],
)
def test_phase_is_pending_while_its_request_is_open(phase: Phase, request_put: str) -> None:
    before = [kind(phase, number) for number in range(1, positions()[phase].moment)]
    assert not request_put or request_put in before
    assert "success" not in before
