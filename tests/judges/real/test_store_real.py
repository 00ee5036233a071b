"""Real CLIs continue transcripts of claudewire, and claudewire follows theirs."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from tests.helpers.real_clis import NEWEST, VERSIONS

from claudewire.approvals import PermissionRequest, PermissionResult
from claudewire.session import Session
from claudewire.testing.api import APIRequest, APIToolUse
from claudewire.testing.cage import Cage
from claudewire.transcripts import (
    AssistantEntry,
    SqliteStore,
    StoreKey,
    Transcripts,
    store_mirrored,
)
from claudewire.wire import TranscriptMirrorMessage

from .sessions import caged, open_cage

pytestmark = [pytest.mark.anyio, pytest.mark.real]

REPLIES = ("One it is.", "Two it is.", "Three it is.")


def conversations(cage: Cage) -> Transcripts:
    return Transcripts(cage.config, index=cage.folder / "index.db")


def told(request: APIRequest) -> str:
    """Return the texts for the model in a request, without those of the CLI about itself."""
    return str(request.messages)


async def talk(cage: Cage, version: str, *prompts: str, resume: str | None = None) -> str:
    options = caged(cage, version) if resume is None else caged(cage, version, resume=resume)
    async with Session(options) as session:
        for prompt in prompts:
            await session.send(prompt)
        assert session.session_id is not None
        return session.session_id


@pytest.mark.parametrize("version", VERSIONS)
async def test_cli_continues_a_fork_with_its_history(version: str) -> None:
    with open_cage(version, REPLIES) as cage:
        id = await talk(cage, version, "First prompt", "Second prompt")
        with conversations(cage) as sessions:
            transcript = sessions.open(id)
            said = [it for it in transcript.conversation() if isinstance(it, AssistantEntry)]
            fork = sessions.fork(id, at=said[0].uuid)
            assert await talk(cage, version, "Another prompt", resume=fork.id) == fork.id
            last = told(cage.turns[-1])
            assert "First prompt" in last
            assert "Second prompt" not in last
            assert sessions.info(fork.id).prompts == 2
            assert sessions.info(id).prompts == 2


@pytest.mark.parametrize("version", VERSIONS)
async def test_cli_continues_a_session_that_came_out_of_a_store(
    version: str, tmp_path: Path
) -> None:
    store = SqliteStore(tmp_path / "store.db")
    with open_cage(version, REPLIES) as here:
        id = await talk(here, version, "First prompt")
        with conversations(here) as sessions:
            await sessions.push(id, store, project_key="shop")
    with open_cage(version, REPLIES) as there, conversations(there) as sessions:
        await sessions.pull(id, store, cwd=there.work, project_key="shop")
        assert await talk(there, version, "Second prompt", resume=id) == id
        assert "One it is." in told(there.turns[-1])
        assert await sessions.push(id, store, project_key="shop") > 0


async def test_session_runs_while_its_process_does() -> None:
    with open_cage(NEWEST, REPLIES) as cage:
        async with Session(caged(cage, NEWEST)) as session:
            sessions = conversations(cage)
            await session.send("First prompt")
            assert session.session_id is not None
            info = sessions.info(session.session_id)
            assert info.status == "running"
            assert [it.id for it in sessions.list(running=True)] == [session.session_id]
        with conversations(cage) as sessions:
            assert sessions.info(info.id).status == "ended"


async def test_session_that_asks_for_permission_waits_for_a_person() -> None:
    seen: list[str] = []
    command = APIToolUse("Bash", {"command": "touch made.txt", "description": "Make a file"})
    with open_cage(NEWEST, [command, "Done."]) as cage:

        async def decide(request: PermissionRequest) -> PermissionResult:
            with conversations(cage) as sessions:
                with anyio.fail_after(30):
                    while not sessions.list(waiting=True):  # noqa: ASYNC110 - a process
                        await anyio.sleep(0.05)
                seen.extend(info.status for info in sessions.list())
            return request.allow()

        async with Session(caged(cage, NEWEST, on_permission=decide)) as session:
            assert (await session.send("Do it.")).text == "Done."
    assert seen == ["waiting"]


async def test_mirrored_transcript_equals_the_written_one(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    with open_cage(NEWEST, REPLIES) as cage:
        options = caged(cage, NEWEST, session_mirror=True)
        async with Session(options) as session:
            events = session.events()
            await session.send("First prompt")
            assert session.session_id is not None
            key: StoreKey = {"project_key": "shop", "session_id": session.session_id}
        async for event in events:
            if isinstance(event, TranscriptMirrorMessage):
                await store_mirrored(event, store, project_key="shop")
        with conversations(cage) as sessions:
            transcript = sessions.open(key["session_id"])
            written = [entry.raw for entry in transcript.entries()]
            reported = await store.load(key) or []
            # What the CLI notes for itself alone, it does not report.
            assert [it for it in reported if "uuid" in it] == [it for it in written if "uuid" in it]
            assert [it for it in reported if it not in written] == []
