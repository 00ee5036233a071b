"""One session at a time has a conversation, and it is the one that was asked for."""

from __future__ import annotations

import fcntl
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
from tests.helpers.cancellation import open_files
from tests.helpers.peer import SOON, Peer
from tests.helpers.processes import ended, killed_in_the_end
from tests.helpers.sessions import SOME_CLI, echo, opened, options

from claudewire.errors import Cause, CLIError, Error, SessionClosed
from claudewire.launch import Claim, claim_for
from claudewire.launch.session_lock import SessionLock, _held, _path, lock_holders, place_of
from claudewire.session import Session, SessionState, TurnState
from claudewire.simulator.faults import ExitWith
from claudewire.testing import SimulatedCLI
from claudewire.transport import Launch, Transport

pytestmark = pytest.mark.usefixtures("no_file_left_open")

PLACE = "/somewhere/.claude"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def new_id() -> str:
    return str(uuid.uuid4())


def locks() -> list[int]:
    """The bytes that this process has locked."""
    return sorted(byte for path, byte in _held if path == _path())


# --- locks ----------------------------------------------------------------------------------------


def test_a_lock_is_held_once_and_leaves_nothing_behind(cache: Path) -> None:
    id = new_id()
    lock = SessionLock(id, PLACE)
    assert [lock.is_held, len(locks())] == [True, 1]
    with pytest.raises(CLIError, match=f"{id} is open already, in process {os.getpid()}") as caught:
        SessionLock(id, PLACE)
    assert caught.value.cause is Cause.SESSION_IN_USE
    assert "fork_session" in caught.value.advice
    lock.release()
    lock.release()
    assert [lock.is_held, len(locks())] == [False, 0]
    SessionLock(id, PLACE).release()


def test_equal_ids_in_other_places_do_not_clash(cache: Path) -> None:
    id = new_id()
    places = (PLACE, "/elsewhere", "/not/\udcff/UTF-8")
    held = [SessionLock(id, place) for place in places]
    assert len(locks()) == 3
    for lock in held:
        lock.release()


def test_the_file_is_empty_and_private(cache: Path) -> None:
    lock = SessionLock(new_id(), PLACE)
    file = Path(_path())
    assert file.is_relative_to(cache)
    assert [it.stat().st_mode & 0o077 for it in (file, file.parent)] == [0, 0]
    assert file.stat().st_size == 0
    lock.release()


def test_the_file_stays_open_as_long_as_something_is_locked(cache: Path) -> None:
    def is_open() -> bool:
        return any(it.endswith(_path()) for it in open_files())

    one, other = SessionLock(new_id(), PLACE), SessionLock(new_id(), PLACE)
    one.release()
    assert is_open()
    other.release()
    assert not is_open()


def test_a_conversation_has_the_same_byte_in_every_version(cache: Path) -> None:
    lock = SessionLock("f81d4fae-7dec-41d0-a765-00a0c91e6bf6", PLACE)
    assert locks() == [3_307_571_667_046_818_836]
    lock.release()


def test_the_file_is_in_the_cache_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in ("", None):
        if folder is None:
            monkeypatch.delenv("XDG_CACHE_HOME")
        else:
            monkeypatch.setenv("XDG_CACHE_HOME", folder)
        lock = SessionLock(new_id(), PLACE)
        file = tmp_path / ".cache" / "claudewire" / "locks" / "conversations"
        assert file.exists()
        lock.release()
        file.unlink()


def test_the_folder_may_be_made_by_another_in_the_same_moment(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = os.makedirs

    def makedirs(path: str, **how: Any) -> None:
        make(path)
        make(path, **how)

    monkeypatch.setattr(os, "makedirs", makedirs)
    SessionLock(new_id(), PLACE).release()


@pytest.mark.parametrize("error", [BlockingIOError, PermissionError])
def test_systems_say_differently_that_a_lock_is_taken(
    cache: Path, monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    def lockf(*given: object) -> None:
        raise error

    monkeypatch.setattr(fcntl, "lockf", lockf)
    with pytest.raises(CLIError, match="is open already, in process unknown"):
        SessionLock(new_id(), PLACE)


def test_locks_in_other_folders_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids, held = [new_id(), new_id()], []
    for folder, id in zip("ab", ids, strict=True):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / folder))
        held.append(SessionLock(id, PLACE))
    found = []
    for folder in "ab":
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / folder))
        found.append(lock_holders(ids, PLACE))
    assert found == [{ids[0]: os.getpid()}, {ids[1]: os.getpid()}]
    for lock in (*held, SessionLock(ids[0], PLACE)):
        lock.release()


def test_a_lock_is_not_made_through_a_link(cache: Path, tmp_path: Path) -> None:
    file, target = Path(_path()), tmp_path / "target"
    file.parent.mkdir(parents=True)
    file.symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        SessionLock(new_id(), PLACE)
    assert not target.exists()


def test_a_lock_that_is_forgotten_is_released(cache: Path) -> None:
    id = new_id()
    lock = SessionLock(id, PLACE)
    del lock
    SessionLock(id, PLACE).release()


HOLDER = """
import sys
from claudewire.launch.session_lock import SessionLock
lock = SessionLock(sys.argv[1], sys.argv[2])
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


def test_another_process_is_kept_out_until_the_first_dies(cache: Path) -> None:
    id = new_id()
    with held_by_another(id) as holder:
        with pytest.raises(CLIError, match=f"in process {holder.pid}"):
            SessionLock(id, PLACE)
        holder.kill()
        holder.wait(SOON)
        lock = SessionLock(id, PLACE)
    lock.release()
    assert locks() == []


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_holds_nothing(cache: Path) -> None:
    id = new_id()
    lock = SessionLock(id, PLACE)
    ours, theirs = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:  # pragma: no cover
        try:
            assert not lock.is_held
            lock.release()
            try:
                SessionLock(id, PLACE)
            except CLIError:
                os.write(ours[1], b"kept out")
            os.read(theirs[0], 1)
        finally:
            os._exit(0)
    with killed_in_the_end(pid):
        assert os.read(ours[0], 8) == b"kept out"
        assert len(locks()) == 1
        lock.release()
        SessionLock(id, PLACE).release()  # although the fork lives on
        os.write(theirs[1], b"x")
        os.waitpid(pid, 0)
    for end in (*ours, *theirs):
        os.close(end)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_keeps_what_it_locks_when_it_drops_the_lock_of_its_parent(cache: Path) -> None:
    id, theirs = new_id(), new_id()
    lock = SessionLock(id, PLACE)
    told, go_on = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:  # pragma: no cover
        try:
            of_the_fork = SessionLock(theirs, PLACE)
            lock.release()
            del lock
            os.write(told[1], b"x" * of_the_fork.is_held)
            os.read(go_on[0], 1)
        finally:
            os._exit(0)
    with killed_in_the_end(pid):
        assert os.read(told[0], 1) == b"x"
        with pytest.raises(CLIError, match=f"in process {pid}"):
            SessionLock(theirs, PLACE)
        with pytest.raises(CLIError, match=f"in process {os.getpid()}"):
            SessionLock(id, PLACE)
        os.write(go_on[1], b"x")
        os.waitpid(pid, 0)
    lock.release()
    for end in (*told, *go_on):
        os.close(end)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_that_drops_the_lock_of_its_parent_keeps_its_own_on_the_same(cache: Path) -> None:
    id = new_id()
    lock = SessionLock(id, PLACE)
    told, go_on = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:  # pragma: no cover
        try:
            os.read(go_on[0], 1)
            of_the_fork = SessionLock(id, PLACE)
            lock.release()
            os.write(told[1], b"x" * of_the_fork.is_held)
            os.read(go_on[0], 1)
        finally:
            os._exit(0)
    os.close(told[1])
    with killed_in_the_end(pid):
        lock.release()
        os.write(go_on[1], b"x")
        assert os.read(told[0], 1) == b"x"
        assert lock_holders([id], PLACE) == {id: pid}
        os.write(go_on[1], b"x")
        os.waitpid(pid, 0)
    for end in (told[0], *go_on):
        os.close(end)


def test_a_file_that_was_deleted_is_made_again_and_the_locks_on_it_stay(cache: Path) -> None:
    ours, theirs = new_id(), new_id()
    lock = SessionLock(ours, PLACE)
    os.unlink(_path())
    with held_by_another(theirs) as holder:
        with pytest.raises(CLIError, match=f"in process {holder.pid}"):
            SessionLock(theirs, PLACE)
        with pytest.raises(CLIError, match=f"in process {os.getpid()}"):
            SessionLock(ours, PLACE)
        assert lock_holders([ours, theirs], PLACE) == {ours: os.getpid(), theirs: holder.pid}
    lock.release()


def test_a_file_that_nobody_has_made_again_is_made_for_the_next_lock(cache: Path) -> None:
    one, other = new_id(), new_id()
    first = SessionLock(one, PLACE)
    os.unlink(_path())
    assert lock_holders([one, other], PLACE) == {}
    second = SessionLock(other, PLACE)
    assert Path(_path()).exists()
    assert lock_holders([one, other], PLACE) == dict.fromkeys([one, other], os.getpid())
    for lock in (first, second, SessionLock(new_id(), PLACE)):
        lock.release()
    SessionLock(one, PLACE).release()


def test_a_lock_that_is_released_while_another_is_made_leaves_the_file_open(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = SessionLock(new_id(), PLACE)

    def stat(path: str) -> os.stat_result:
        before.release()  # as the garbage collector may, in the same thread
        return os.lstat(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", stat)
        lock = SessionLock(new_id(), PLACE)
    assert [before.is_held, lock.is_held, len(locks())] == [False, True, 1]
    lock.release()


# --- claims ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "place"),
    [
        ({"CLAUDE_CONFIG_DIR": "/a/b", "HOME": "/c"}, "/a/b"),
        ({"HOME": "/c"}, "/c/.claude"),
        ({"CLAUDE_CONFIG_DIR": ""}, None),
        ({"CLAUDE_CONFIG_DIR": "", "HOME": "/c"}, "/c/.claude"),
        ({"CLAUDE_CONFIG_DIR": None, "HOME": ""}, None),
        ({}, None),
    ],
)
def test_where_conversations_are_kept(env: dict[str, str | None], place: str | None) -> None:
    assert place_of(env) == place


def test_links_to_the_same_place_are_the_same_place(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    for env in ({"HOME": f"{tmp_path}/link"}, {"CLAUDE_CONFIG_DIR": f"{tmp_path}/link/.claude"}):
        assert place_of(env) == str((tmp_path / ".claude").resolve())


def test_a_claim_goes_over_to_another_conversation(cache: Path) -> None:
    one, other = new_id(), new_id()
    claim = Claim(PLACE)
    claim.expect(options(resume=one))
    seen = [claim.session_id]
    for id in (one, one, other, None):  # another one after /clear
        claim.confirm(id)
        seen.append(claim.session_id)
    assert seen == [one, one, one, other, other]
    assert len(locks()) == 1
    claim.expect(options())
    assert claim.session_id is None
    assert locks() == []
    claim.release()


def test_only_an_id_is_expected_to_come_back(cache: Path) -> None:
    for changes in ({"resume": "a title"}, {"resume": new_id(), "fork_session": True}):
        claim = Claim(PLACE)
        claim.expect(options(**changes))
        before = claim.session_id
        claim.confirm("session-1")
        assert [before, claim.session_id] == [None, "session-1"]
        claim.release()


def test_an_id_for_a_new_conversation_is_locked_before_it_begins(cache: Path) -> None:
    id = new_id()
    claim = Claim(PLACE)
    claim.expect(options(session_id=id))
    assert claim.session_id == id
    with pytest.raises(CLIError) as caught:
        claim.confirm(new_id())
    assert caught.value.cause is Cause.OTHER_SESSION
    assert "Say fork_session=True" in caught.value.advice
    claim.release()


def test_where_no_file_can_be_made_there_is_no_lock_but_a_warning(
    cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache.write_text("", encoding="utf-8")  # a file and no folder
    claim = Claim(PLACE)
    claim.expect(options(resume=new_id()))
    assert claim.session_id is None
    assert "cannot be locked" in caplog.text


def test_without_a_home_directory_there_is_no_lock_but_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "~there-is-no-such-user")
    id, claim = new_id(), Claim(PLACE)
    claim.expect(options(resume=id))
    assert claim.session_id is None
    assert "cannot be locked: There is no home directory" in caplog.text
    assert lock_holders([id], PLACE) == {}


async def no_transport(launch: Launch) -> Transport:
    raise AssertionError


@pytest.mark.parametrize(
    ("changes", "transport", "locked"),
    [
        ({"cli": SOME_CLI}, None, True),
        ({"cli": SOME_CLI}, no_transport, True),
        ({"cli": SOME_CLI, "shared": True}, None, False),
        ({"cli": SOME_CLI, "persist_session": False}, None, False),
        ({"cli": SOME_CLI}, SimulatedCLI, False),
        ({"cli": "simulated"}, None, False),
        ({"cli": "simulated", "env": {"HOME": "/x"}}, None, True),
        ({"cli": "simulated"}, no_transport, True),
    ],
)
def test_what_is_locked(
    changes: dict[str, Any],
    transport: Any,
    locked: bool,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/nowhere")
    given = SimulatedCLI() if transport is SimulatedCLI else transport
    claim = claim_for(options(**changes), given)
    claim.confirm(new_id())
    assert (claim.session_id is not None) == locked
    claim.release()


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({}, "/conf"),
        ({"env": {"CLAUDE_CONFIG_DIR": "/other"}}, "/other"),
        ({"env": {"CLAUDE_CONFIG_DIR": None}}, "/home/.claude"),
        ({"clean_env": True}, "/home/.claude"),
        ({"clean_env": True, "env": {"HOME": "/mine"}}, "/mine/.claude"),
    ],
)
def test_it_is_locked_where_its_cli_keeps_it(
    changes: dict[str, Any], place: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/conf")
    id, claim = new_id(), claim_for(options(cli=SOME_CLI, **changes), None)
    claim.confirm(id)
    assert lock_holders([id], place) == {id: os.getpid()}
    claim.release()


# --- sessions -------------------------------------------------------------------------------------

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
async def test_a_conversation_is_locked_when_its_id_is_known_and_until_it_is_closed(
    kept: Opener,
) -> None:
    with anyio.fail_after(SOON):
        async with kept() as session:
            assert locks() == []
            await session.send("hello")
            assert len(locks()) == 1
            another = kept(resume=session.session_id)
            with pytest.raises(CLIError) as caught:
                await another.start()
            assert caught.value.cause is Cause.SESSION_IN_USE
            assert another.state is SessionState.FAILED
            assert another.failure is caught.value
        assert locks() == []
        await another.restart()
        assert (await another.send("hello")).ok
        assert another.session_id == session.session_id
        await another.close()
    assert locks() == []


@pytest.mark.anyio
async def test_a_conversation_that_is_gone_on_with_is_locked_too(kept: Opener) -> None:
    with anyio.fail_after(SOON):
        async with kept() as session:
            await session.send("hello")
            async with kept(continue_conversation=True) as another:
                with pytest.raises(CLIError) as caught:
                    await another.send("hello")
                assert caught.value.cause is Cause.SESSION_IN_USE
                assert caught.value.evidence.sent
            assert (await session.send("again")).ok


@pytest.mark.anyio
async def test_a_fork_and_a_shared_session_are_let_in(kept: Opener) -> None:
    with anyio.fail_after(SOON):
        async with kept() as session:
            await session.send("hello")
            async with kept(resume=session.session_id, fork_session=True) as fork:
                assert (await fork.send("hello")).ok
                assert fork.session_id != session.session_id
                assert len(locks()) == 2
            async with kept(resume=session.session_id, shared=True) as shared:
                assert (await shared.send("hello")).ok
                assert shared.session_id == session.session_id


@pytest.mark.anyio
async def test_a_restart_keeps_the_lock(kept: Opener) -> None:
    with anyio.fail_after(SOON):
        async with kept() as session:
            await session.send("hello")
            id, before = session.session_id, locks()
            await session.restart()
            assert locks() == before
            await session.send("again")
            assert session.session_id == id
            await session.restart(resume=False)
            assert locks() == []
            await session.send("anew")
            assert session.session_id != id


@pytest.mark.anyio
async def test_a_session_that_fails_lets_go(cache: Path) -> None:
    async def connect(launch: Launch) -> Transport:
        return SimulatedCLI(echo, faults=[ExitWith(3, at=6)])

    with anyio.fail_after(SOON):
        session = await Session(options(cli=SOME_CLI), transport=connect).start()
        with pytest.raises(CLIError):
            await session.send("hello")
        assert session.state is SessionState.FAILED
    assert locks() == []


@pytest.mark.anyio
@pytest.mark.filterwarnings("ignore:The CLI at the other end of a transport")
async def test_another_conversation_than_the_one_to_resume_is_an_error(cache: Path) -> None:
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
        assert session.state is SessionState.FAILED
        assert session.session_id is None
        with pytest.raises(CLIError) as again:
            session.send("more")
        assert again.value is caught.value


@pytest.mark.anyio
@pytest.mark.filterwarnings("ignore:The CLI at the other end of a transport")
async def test_what_is_resumed_is_confirmed_once_and_may_change_later(cache: Path) -> None:
    wanted, cleared = new_id(), new_id()
    peer = Peer()
    session = await opened(peer, resume=wanted)
    with anyio.fail_after(SOON):
        for id in (wanted, cleared):
            turn = session.send("hello")
            await peer.hear_prompt()
            await peer.say(saying.init(session_id=id), saying.result())
            assert (await turn).ok
            assert session.session_id == id
        peer.exit()
        await session.close()


@pytest.mark.anyio
async def test_a_session_that_is_closed_before_it_began_holds_nothing(kept: Opener) -> None:
    with anyio.fail_after(SOON):
        session = kept(resume=new_id())
        await session.close()
        with pytest.raises(SessionClosed):
            await session.start()
        failing = kept(resume=new_id())
        with pytest.raises(Error):
            await failing.start()  # there is no such conversation
    assert locks() == []


def test_only_locks_that_are_held_have_a_holder(cache: Path) -> None:
    ids = [new_id() for _ in range(4)]
    nothing: dict[str, int] = {}
    assert lock_holders(ids, PLACE) == nothing
    assert not cache.exists()
    held, released = SessionLock(ids[0], PLACE), SessionLock(ids[1], PLACE)
    released.release()
    assert lock_holders(ids, PLACE) == {ids[0]: os.getpid()}
    with held_by_another(ids[2]) as holder:
        assert lock_holders(ids, PLACE) == {ids[0]: os.getpid(), ids[2]: holder.pid}
        held.release()
        assert lock_holders(ids, PLACE) == {ids[2]: holder.pid}
        assert lock_holders(ids, "/elsewhere") == nothing
    assert lock_holders(ids, PLACE) == nothing
