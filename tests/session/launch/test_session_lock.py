"""One session at a time has a conversation, and the CLI opens the one that was named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.helpers import messages as saying
from tests.helpers.peer import SOON, Peer
from tests.helpers.processes import ended, killed_in_the_end
from tests.helpers.sessions import SOME_CLI, opened, options

from claudewire.errors import Cause, CLIError, Error, SessionClosed
from claudewire.launch import ConversationLock, conversation_lock, lock_holders
from claudewire.session import Session, SessionState, TurnState

pytestmark = pytest.mark.usefixtures("no_file_left_open")

PLACE = "/somewhere/.claude"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def new_id() -> str:
    return str(uuid.uuid4())


def locked(id: str, place: str = PLACE) -> ConversationLock:
    lock = ConversationLock(place)
    lock.take(id)
    return lock


def files(cache: Path) -> list[Path]:
    return [*cache.glob("claudewire/locks/*")]


# --- locks ---------------------------------------------------------------------------------------


def test_conversation_is_locked_once_until_released(cache: Path) -> None:
    id = new_id()
    lock = locked(id)
    (file,) = files(cache)
    assert [it.stat().st_mode & 0o077 for it in (file, file.parent)] == [0, 0]
    with pytest.raises(CLIError, match=f"{id} is open already, in process {os.getpid()}") as caught:
        locked(id)
    assert caught.value.cause is Cause.SESSION_IN_USE
    assert "fork_session" in caught.value.advice
    other = locked(id, "/elsewhere")
    assert lock_holders([id], PLACE) == {id: os.getpid()}
    for each in (lock, lock, other):
        each.release()
    assert files(cache) == []
    locked(id).release()


HOLDER = """
import sys
from claudewire.launch import ConversationLock
lock = ConversationLock(sys.argv[2])
lock.take(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held_by_another(id: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds a lock."""
    command = [sys.executable, "-c", HOLDER, id, PLACE]
    with ended(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield holder


def test_lock_of_another_process_holds_until_its_death(cache: Path) -> None:
    ids = [new_id(), new_id()]
    ours = locked(ids[1])
    with held_by_another(ids[0]) as holder:
        with pytest.raises(CLIError, match=f"in process {holder.pid}"):
            locked(ids[0])
        assert lock_holders(ids, PLACE) == {ids[0]: holder.pid, ids[1]: os.getpid()}
        assert lock_holders(ids, "/elsewhere") == {}
        holder.kill()
        holder.wait(SOON)
        assert lock_holders(ids, PLACE) == {ids[1]: os.getpid()}
        lock = locked(ids[0])
    for each in (ours, lock):
        each.release()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_fork_gives_up_the_locks_of_its_parent(cache: Path) -> None:
    id = new_id()
    lock = locked(id)
    ours, theirs = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:  # pragma: no cover
        try:
            lock.release()
            try:
                locked(id)
            except CLIError:
                os.write(ours[1], b"kept out")
            os.read(theirs[0], 1)
        finally:
            os._exit(0)
    with killed_in_the_end(pid):
        assert os.read(ours[0], 8) == b"kept out"
        assert lock_holders([id], PLACE) == {id: os.getpid()}
        lock.release()
        locked(id).release()  # although the fork is alive
        os.write(theirs[1], b"x")
        os.waitpid(pid, 0)
    for end in (*ours, *theirs):
        os.close(end)


# --- the conversation of a session ---------------------------------------------------------------


def test_lock_follows_the_conversation(cache: Path) -> None:
    one, other = new_id(), new_id()
    lock = ConversationLock(PLACE)
    for named in ({"resume": one}, {"session_id": one}):
        lock.expect(options(**named))
        seen = [lock.session_id]
        for id in (one, other, None):  # another one after /clear
            lock.confirm(id)
            seen.append(lock.session_id)
        assert seen == [one, one, other, other]
        assert len(files(cache)) == 1
    lock.expect(options())
    assert (lock.session_id, files(cache)) == (None, [])


def test_missing_cache_folder_is_only_a_warning(
    cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache.write_text("", encoding="utf-8")  # a file and no folder
    id, lock = new_id(), ConversationLock(PLACE)
    lock.expect(options(resume=id))
    assert lock.session_id is None
    assert "cannot be locked" in caplog.text
    assert lock_holders([id], PLACE) == {}


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({}, "/conf"),
        ({"clean_env": True, "env": {"HOME": "/mine"}}, "/mine/.claude"),
        ({"shared": True}, None),
        ({"persist_session": False}, None),
        ({"cli": "simulated", "env": {"HOME": "/x"}}, "/x/.claude"),
    ],
)
def test_lock_is_where_the_cli_keeps_conversations(
    changes: dict[str, Any], place: str | None, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/conf")
    id, lock = new_id(), conversation_lock(options(**{"cli": SOME_CLI, **changes}), None)
    lock.confirm(id)
    assert lock_holders([id], place or "/conf") == ({id: os.getpid()} if place else {})
    lock.release()


# --- sessions ------------------------------------------------------------------------------------

Opener = Callable[..., Session]


@pytest.fixture
def kept(cache: Path, tmp_path: Path) -> Opener:
    """Sessions in memory, whose conversations are kept."""

    def make(**changes: Any) -> Session:
        return Session(
            options(cli="simulated", env={"HOME": str(tmp_path)}, cwd=tmp_path, **changes)
        )

    return make


@pytest.mark.anyio
async def test_second_session_of_a_conversation_is_refused(kept: Opener, cache: Path) -> None:
    with anyio.fail_after(SOON):
        async with kept() as session:
            assert files(cache) == []
            await session.send("hello")
            another = kept(resume=session.session_id)
            with pytest.raises(CLIError) as caught:
                await another.start()
            assert caught.value.cause is Cause.SESSION_IN_USE
            assert another.state is SessionState.FAILED
            async with kept(continue_conversation=True) as third:
                with pytest.raises(CLIError, match="is open already"):
                    await third.send("hello")
            assert (await session.send("again")).ok
        assert files(cache) == []
        await another.restart()
        assert (await another.send("hello")).ok
        assert another.session_id == session.session_id
        await another.close()
    assert files(cache) == []


@pytest.mark.anyio
async def test_fork_and_shared_session_are_accepted(kept: Opener, cache: Path) -> None:
    with anyio.fail_after(SOON):
        async with kept() as session:
            await session.send("hello")
            async with kept(resume=session.session_id, fork_session=True) as fork:
                assert (await fork.send("hello")).ok
                assert fork.session_id != session.session_id
                assert len(files(cache)) == 2
            async with kept(resume=session.session_id, shared=True) as shared:
                assert (await shared.send("hello")).ok
                assert shared.session_id == session.session_id


@pytest.mark.anyio
@pytest.mark.filterwarnings("ignore:The CLI at the other end of a transport")
async def test_wrong_conversation_is_an_error(cache: Path) -> None:
    wanted, given = new_id(), new_id()
    peer = Peer()
    session = await opened(peer, resume=wanted)
    with anyio.fail_after(SOON):
        turn = session.send("hello")
        await peer.hear_prompt()
        # All of it comes at once: the turn would have had its result.
        await peer.say(saying.init(session_id=given), saying.text("hi"), saying.result())
        with pytest.raises(CLIError, match=f"{given} instead of {wanted}") as caught:
            await turn
        assert caught.value.cause is Cause.OTHER_SESSION
        assert json.loads(caught.value.evidence.sent[-1])["type"] == "user"
        assert turn.state is TurnState.FAILED
        peer.exit()
        await session.close()
        with pytest.raises(CLIError) as again:
            session.send("more")
        assert again.value is caught.value


@pytest.mark.anyio
async def test_session_without_a_conversation_locks_nothing(kept: Opener, cache: Path) -> None:
    with anyio.fail_after(SOON):
        closed = kept(resume=new_id())
        await closed.close()
        with pytest.raises(SessionClosed):
            await closed.start()
        with pytest.raises(Error):
            await kept(resume=new_id()).start()  # there is no such conversation
    assert files(cache) == []
