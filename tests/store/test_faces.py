"""The async face of the store asks the blocking one for the same, and gives what it gives."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import anyio
import pytest

from claudewire.store import BlockingSessions, BlockingTranscript, Sessions, SqliteStore, Transcript
from claudewire.tracking import Price

from .made import MAIN, Writer, conversation

pytestmark = pytest.mark.anyio

ASKED = [
    name
    for name in vars(Sessions)
    if name[0] != "_" and name != "open" and callable(getattr(BlockingSessions, name, None))
]
READ = [name for name in vars(Transcript) if inspect.isfunction(getattr(Transcript, name))]
PAIRS = [
    *((Sessions, BlockingSessions, name) for name in ("__init__", "open", *ASKED)),
    *((Transcript, BlockingTranscript, name) for name in READ if name[0] != "_"),
]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "config"


class Noting:
    """Takes the place of the blocking sessions, and notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        signature = inspect.signature(getattr(BlockingSessions, name))

        def call(*args: Any, **options: Any) -> str:
            given = signature.bind(self, *args, **options).arguments
            self.asked.append((name, {key: it for key, it in given.items() if key != "self"}))
            return f"what {name} gives"

        return call


def parameters(function: Any) -> list[tuple[str, object, object]]:
    found = inspect.signature(function).parameters.values()
    return [(it.name, it.kind, it.default) for it in found]


@pytest.mark.parametrize(("face", "blocking", "name"), PAIRS)
def test_both_faces_take_the_same_arguments(face: type, blocking: type, name: str) -> None:
    assert parameters(getattr(face, name)) == parameters(getattr(blocking, name))


@pytest.mark.parametrize("name", ASKED)
async def test_what_the_async_face_is_given_is_passed_on(config: Path, name: str) -> None:
    sessions, noting = Sessions(config), Noting()
    sessions._blocking = noting  # type: ignore[assignment]
    method = getattr(sessions, name)
    given = {key: f"the {key}" for key in inspect.signature(method).parameters}
    named = inspect.signature(method).bind(**given)
    result = await method(*named.args, **named.kwargs)
    assert noting.asked == [(name, given)]
    nothing = name in ("rename", "tag", "close")
    assert result == (None if nothing else f"what {name} gives")


async def test_the_async_face_is_made_as_the_blocking_one(config: Path, tmp_path: Path) -> None:
    writer = conversation(config)
    writer.model("Done", usage={"input_tokens": 1_000_000})
    index = tmp_path / "deep" / "index.db"
    prices = {"claude": Price(4, 20, 0.4, 5)}
    async with Sessions(config, index=index, prices=prices, tool_output=True) as sessions:
        assert len(await sessions.search("zebrafish")) == 1
        assert (await sessions.info(MAIN)).cost_usd == pytest.approx(4 + 0.00042)
    assert index.is_file()
    assert sessions._blocking._index._database is None
    async with Sessions(config) as sessions:
        assert await sessions.search("zebrafish") == []
        assert (await sessions.info(MAIN)).cost_usd is None


async def test_an_open_transcript_is_read_as_the_blocking_one_is(config: Path) -> None:
    writer = conversation(config)
    agent = Writer(config, f"{MAIN}/subagents/agent-a")
    agent.user("Look", uuid="a1")
    writer.user("Other way", parentUuid="u2")
    writer.raw(b"broken\n")
    blocking = BlockingSessions(config).open(MAIN)
    async with Sessions(config) as sessions:
        transcript = await sessions.open(MAIN)
        assert [it async for it in transcript.entries()] == list(blocking.entries())
        assert [it.uuid async for it in transcript.entries(agent="a")] == ["a1"]
        assert [it.uuid async for it in transcript.conversation()] == ["u1", "u2", "u7"]
        assert [it.uuid async for it in transcript.conversation("u4")] == [
            it.uuid for it in blocking.conversation("u4")
        ]
        assert [it async for it in transcript.blocks()] == list(blocking.blocks())
        assert await transcript.branches() == blocking.branches()
        assert await transcript.agents() == blocking.agents()
        assert await transcript.findings() == list(blocking.findings())
        assert (transcript.id, transcript.path) == (blocking.id, blocking.path)
        assert transcript.info == blocking.info


async def test_a_store_has_a_session_under_the_name_that_was_given(
    config: Path, tmp_path: Path
) -> None:
    conversation(config)
    store = SqliteStore(":memory:")
    async with Sessions(config) as sessions, Sessions(tmp_path / "there") as there:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await sessions.mirror(MAIN, store, project_key="mirrored")
        assert await sessions.push(MAIN, store, project_key="pushed") == 6
        for name in ("mirrored", "pushed"):
            info = await there.pull(MAIN, store, cwd="/project", project_key=name)
            assert (info.prompts, info.folder) == (2, "-project")
    store.close()
