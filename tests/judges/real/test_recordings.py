"""The replay of a recorded real CLI repeats the recording."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from tests.helpers.real_clis import NEWEST, VERSIONS, real_cli, why_not

from claudewire.recordings import Recording, RecordingTransport, ReplayTransport
from claudewire.simulator import ARGV
from claudewire.testing.cage import Cage
from claudewire.transport import Transport
from claudewire.wire import Event

from .cases import CASES, Case
from .host import Host
from .make_recordings import RECORDINGS, TALK, without_the_machine
from .process import started

pytestmark = [pytest.mark.anyio, pytest.mark.real]

TALKS = [
    *((NEWEST, CASES[name]) for name in ("hooks", "MCP tool", "interrupt while asking")),
    *((version, TALK) for version in VERSIONS),
]


async def events(case: Case, transport: Transport, folder: Path | None = None) -> list[Event]:
    host = Host(transport, case.decide, case.serve, folder)
    with anyio.fail_after(60):
        await host.start(case.setup)
        await case.drive(host)
        await host.end()
    await transport.aclose()
    return host.events


@pytest.fixture
def cage(case: Case, version: str) -> Iterator[Cage]:
    if (reason := why_not(version)) is not None:
        pytest.skip(reason)
    with Cage(case.script()) as cage:
        yield cage


@pytest.mark.parametrize(("version", "case"), TALKS)
async def test_recording_gives_the_same_messages_byte_for_byte(
    version: str, case: Case, cage: Cage, tmp_path: Path
) -> None:
    file = tmp_path / "talk.jsonl"
    async with started(cage.command([real_cli(version), *ARGV, *case.flags])) as process:
        live = await events(case, RecordingTransport(process, file, redactor=False), cage.work)

    replayed = await events(case, ReplayTransport(Recording.load(file)))
    assert replayed == live
    assert [event.line for event in replayed] == [event.line for event in live]
    assert [event.raw for event in replayed] == [event.raw for event in live]
    assert [event.line for event in live] == [*Recording.load(file).lines("<"), b""]


@pytest.mark.parametrize(("version", "case"), [(NEWEST, CASES["hooks"])])
async def test_redacted_recording_gives_messages_of_the_same_kinds(
    version: str, case: Case, cage: Cage, tmp_path: Path
) -> None:
    file = tmp_path / "talk.jsonl"
    redactor = without_the_machine(cage)
    async with started(cage.command([real_cli(version), *ARGV, *case.flags])) as process:
        transport = RecordingTransport(process, file, redactor=redactor)
        live = await events(case, transport, cage.work)

    replayed = await events(case, ReplayTransport(Recording.load(file), redactor=redactor))
    assert [type(event) for event in replayed] == [type(event) for event in live]
    assert [event.line.decode() for event in replayed] == [
        redactor(event.line.decode()) for event in live
    ]


@pytest.mark.parametrize("name", RECORDINGS)
async def test_recording_of_the_suite_can_be_replayed(name: str) -> None:
    _, case = RECORDINGS[name]
    recording = Recording.load(
        Path(__file__).parents[2] / "product" / "recordings" / f"{name}.jsonl"
    )
    replayed = await events(case, ReplayTransport(recording))
    assert [event.line for event in replayed] == [*recording.lines("<"), b""]
