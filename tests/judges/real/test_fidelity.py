"""The simulated CLI writes the same lines as the real one, in the same order."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import anyio
import pytest
from conformance.fidelity import is_left_out, known, read
from tests.helpers.real_clis import NEWEST, real_cli, why_not

from claudewire.recordings import Recording
from claudewire.simulator import ARGV, SimulatedCLI
from claudewire.testing.cage import Cage
from claudewire.transport import Transport
from claudewire.wire import Event, HookCallback, InvalidLine, Malformed, Unknown

from .cases import CASES, Case
from .host import Host
from .make_recordings import FOLDER, RECORDINGS
from .process import started
from .shapes import differences, shape
from .transcripts import Entry, transcript_differences, transcripts

pytestmark = pytest.mark.anyio


class Conversation(NamedTuple):
    events: list[Event]
    status: int | None
    kept: list[Entry]


async def converse(
    case: Case, transport: Transport, *, config: Path, cwd: str, folder: Path | None = None
) -> Conversation:
    host = Host(transport, case.decide, case.serve, folder)
    host.reactions[HookCallback] = case.hook
    with anyio.fail_after(60):
        await host.start(case.setup)
        await case.drive(host)
        status = await host.end()
    return Conversation(host.events, status, transcripts(config, cwd))


async def with_real_cli(case: Case) -> Conversation:
    with Cage(case.script()) as cage:
        command = cage.command([real_cli(NEWEST), *ARGV, *case.flags])
        async with started(command) as process:
            return await converse(
                case, process, config=cage.config, cwd=str(cage.work), folder=cage.work
            )


async def with_simulated_cli(case: Case, folder: Path, version: str = NEWEST) -> Conversation:
    cwd = str(folder / "work")
    env = {"CLAUDE_CONFIG_DIR": str(folder / "config")}
    cli = SimulatedCLI(case.scenario(), argv=case.flags, env=env, version=version, cwd=cwd)
    return await converse(case, cli, config=folder / "config", cwd=cwd)


def unreadable(events: list[Event]) -> list[Event]:
    kinds = (Malformed, InvalidLine, Unknown)
    return [event for event in events if isinstance(event, kinds) or event.problems]


@pytest.mark.real
@pytest.mark.parametrize("name", CASES)
async def test_simulated_cli_speaks_as_the_real_one_does(name: str, tmp_path: Path) -> None:
    if (reason := why_not(NEWEST)) is not None:
        pytest.skip(reason)
    case = CASES[name]
    simulated = await with_simulated_cli(case, tmp_path)
    # What differs has to differ twice: the words about an interruption while a person was asked
    # were seen to vary, once in more than fifty times.
    for _ in range(2):
        real = await with_real_cli(case)
        found = differences(shape(real.events), shape(simulated.events))
        found |= transcript_differences(real.kept, simulated.kept)
        found = {it for it in found if not is_left_out(it)}
        if found == known(name):
            break
    assert found == known(name)
    assert simulated.status == real.status
    assert unreadable(real.events) == unreadable(simulated.events) == []


@pytest.mark.parametrize("name", RECORDINGS)
async def test_simulated_cli_speaks_as_the_real_one_was_recorded(name: str, tmp_path: Path) -> None:
    # This needs no real CLI, so it holds wherever the suite runs.
    version, case = RECORDINGS[name]
    recording = Recording.load(FOLDER / f"{name}.jsonl")
    simulated = await with_simulated_cli(case, tmp_path, version)
    found = differences(shape(recording.messages()), shape(simulated.events))
    found = {it for it in found if not is_left_out(it)}
    if version != NEWEST:
        found = {(line, side, key) for line, side, key in found if not key}
    assert found == known(name)
    assert simulated.status == recording.entries[-1].exit


def test_every_known_difference_is_one_of_a_case() -> None:
    assert {difference.case for difference in read()["difference"]} <= {*CASES, *RECORDINGS}


def test_clients_have_a_test_or_a_reason() -> None:
    root = Path(__file__).resolve().parents[3]
    for client in read()["client"]:
        file, _, name = client.get("test", "").partition("::")
        assert client.get("why_not") or f"def {name}(" in (root / file).read_text("utf-8")
