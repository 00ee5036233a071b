"""The simulated CLI says what the real one says: the same lines, in the same order, alike."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import anyio
import pytest
from conformance.fidelity import DOCUMENT, known, read, render
from tests.helpers.real_clis import NEWEST, real_cli, why_not

from claudewire.simulator import ARGV, SimulatedCLI
from claudewire.testing.cage import Cage
from claudewire.transport import Recording, Transport
from claudewire.wire import Event, Malformed, Noise, Unknown

from .cases import CASES, Case
from .host import Host
from .make_recordings import FOLDER, RECORDINGS
from .process import started
from .shapes import differences, shape

pytestmark = pytest.mark.anyio


class Conversation(NamedTuple):
    events: list[Event]
    status: int | None


async def converse(case: Case, transport: Transport, folder: Path | None = None) -> Conversation:
    host = Host(transport, case.decide, case.serve, folder)
    with anyio.fail_after(60):
        await host.start(case.setup)
        await case.drive(host)
        return Conversation(host.events, await host.end())


async def with_real_cli(case: Case) -> Conversation:
    with Cage(case.script()) as cage:
        command = cage.command([real_cli(NEWEST), *ARGV, *case.flags])
        async with started(command) as process:
            return await converse(case, process, cage.work)


def unreadable(events: list[Event]) -> list[Event]:
    kinds = (Malformed, Noise, Unknown)
    return [event for event in events if isinstance(event, kinds) or event.problems]


@pytest.mark.real
@pytest.mark.parametrize("name", CASES)
async def test_the_simulated_cli_speaks_as_the_real_one_does(name: str, tmp_path: Path) -> None:
    if (reason := why_not(NEWEST)) is not None:
        pytest.skip(reason)
    case = CASES[name]
    real = await with_real_cli(case)
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    simulated = await converse(case, SimulatedCLI(case.scenario(), argv=case.flags, env=env))

    assert differences(shape(real.events), shape(simulated.events)) == known(name)
    assert simulated.status == real.status
    assert unreadable(real.events) == unreadable(simulated.events) == []


@pytest.mark.parametrize("name", RECORDINGS)
async def test_the_simulated_cli_speaks_as_the_real_one_was_recorded(name: str) -> None:
    # This needs no real CLI, so it holds wherever the suite runs.
    version, case = RECORDINGS[name]
    recording = Recording.load(FOLDER / f"{name}.jsonl")
    cli = SimulatedCLI(case.scenario(), argv=case.flags, version=version)
    simulated = await converse(case, cli)
    found = differences(shape(recording.messages()), shape(simulated.events))
    if version != NEWEST:
        found = {(line, side, key) for line, side, key in found if not key}
    assert found == known(name)
    assert simulated.status == recording.entries[-1].exit


def test_every_known_difference_is_one_of_a_case() -> None:
    assert {difference.case for difference in read()["difference"]} <= {*CASES, *RECORDINGS}


def test_the_document_lists_the_known_differences() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == render(read()), "python -m conformance.fidelity"
