"""A pool: ready CLIs for callers, limits on starts, failures, and the end."""

from __future__ import annotations

import asyncio
import contextvars
import uuid
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.helpers.clock import time_by_hand
from tests.helpers.peer import SOON, Peer
from tests.helpers.sessions import SOME_CLI, bounded, echo, meanwhile, options, soon

from claudewire.approvals import PermissionRequest, PermissionResult
from claudewire.errors import CLIError, OptionsError, SessionClosed
from claudewire.session import Pool, PoolStats, Session, SessionState
from claudewire.testing import Chat, SimulatedCLI
from claudewire.transport import Launch, Transport

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claudewire.session.pool.FIRST_DELAY", 0.001)
    monkeypatch.setattr("claudewire.session.pool.MAX_DELAY", 0.004)


class Clis:
    """Starts CLIs for a pool: as many as are allowed; the others wait.

    Attributes:
        made: the CLIs so far.
        starting: the number of CLIs that are being started.
        most: the largest number of these at once.
        broken: the errors of the next starts.
    """

    def __init__(self, allowed: int = 1_000_000) -> None:
        self.made: list[SimulatedCLI] = []
        self.allowed = allowed
        self.starting = self.most = 0
        self.broken: list[Exception] = []

    async def __call__(self, launch: Launch) -> Transport:
        self.starting += 1
        self.most = max(self.most, self.starting)
        try:
            while not self.allowed:
                await anyio.lowlevel.checkpoint()
            self.allowed -= 1
            if self.broken:
                raise self.broken.pop(0)
        finally:
            self.starting -= 1
        self.made.append(SimulatedCLI(self.scenario))
        return self.made[-1]

    async def scenario(self, chat: Chat) -> None:
        if chat.text == "ask":
            await chat.use("Bash", {"command": "make"})
        await echo(chat)


def pool_of(clis: Clis, **changes: Any) -> Pool:
    keywords = ("size", "max_starting")
    given = {name: changes.pop(name) for name in keywords if name in changes}
    return Pool(options(cli=SOME_CLI, **changes), transport=clis, **given)


# --- ready ----------------------------------------------------------------------------------------


async def test_opened_session_was_ready_and_is_replaced() -> None:
    clis = Clis()
    async with bounded(pool_of(clis, size=2)) as pool:
        await pool.ready()
        assert pool.stats == PoolStats(warm=2, starting=0, taken=0, hits=0, misses=0)
        clis.allowed = 0
        async with pool.open() as claude:
            assert pool.stats.hits == pool.stats.taken == 1
            assert (await claude.send("hello")).text == "You said hello."
            assert pool.stats.warm == 1
            clis.allowed = 1
            await soon(lambda: pool.stats.warm == 2)
        assert pool.stats == PoolStats(warm=2, starting=0, taken=0, hits=1, misses=0)
        assert "hits=1" in repr(pool)
    assert claude.state is SessionState.CLOSED
    assert len(clis.made) == 3


async def test_early_caller_gets_the_first_cli_that_is_ready() -> None:
    clis = Clis(allowed=0)
    async with bounded(pool_of(clis, size=2)) as pool:
        await soon(lambda: clis.starting == 2)
        async with meanwhile(pool.open) as got:
            await soon(lambda: pool.stats.misses == 1)
            clis.allowed = 1
        (claude,) = got
        assert len(clis.made) == 1
        assert (await claude.send("hello")).ok
        await claude.close()
        clis.allowed = 10
        await pool.ready()


async def test_starts_are_limited_and_waiting_callers_come_first() -> None:
    clis = Clis(allowed=0)
    got: list[Session] = []
    async with bounded(pool_of(clis, size=3, max_starting=2)) as pool:
        async with anyio.create_task_group() as tasks:

            async def take() -> None:
                got.append(await pool.open())

            for _ in range(4):
                tasks.start_soon(take)
            await soon(lambda: pool.stats.misses == 4)
            await soon(lambda: clis.starting == 2)
            clis.allowed = 2
            await soon(lambda: len(got) == 2 and clis.starting == 2)
            clis.allowed = 2
        assert len(clis.made) == 4
        assert pool.stats.warm == 0
        clis.allowed = 100
        await pool.ready()
        assert clis.most == 2
        assert pool.stats.warm == 3
        for session in got:
            await session.close()


async def test_pool_of_size_zero_only_limits_starts() -> None:
    clis = Clis()
    async with bounded(pool_of(clis, size=0, max_starting=1)) as pool:
        await pool.ready()
        async with pool.open() as one, pool.open() as other:
            assert (await one.send("hello")).ok
            assert (await other.send("hello")).ok
        assert pool.stats == PoolStats(warm=0, starting=0, taken=0, hits=0, misses=2)
    assert len(clis.made) == 2


async def test_pooled_session_works_like_any_other() -> None:
    async with bounded(pool_of(Clis(), size=1)) as pool:
        async with anyio.create_task_group() as tasks:
            session = await pool.open(name="chat-7")
            tasks.start_soon(session.set_model, "opus")
        assert session.name == "chat-7"
        reply = await session.send("hello")
        await session.restart()
        assert (await session.send("again")).session_id == reply.session_id
        async with anyio.create_task_group() as tasks:  # closed in another task
            tasks.start_soon(session.close)
        assert session.state is SessionState.CLOSED


async def test_handlers_see_the_context_of_the_pool() -> None:
    user = contextvars.ContextVar("user", default="nobody")
    seen: list[str] = []

    def decide(request: PermissionRequest) -> PermissionResult:
        seen.append(user.get())
        return request.allow()

    async with bounded(pool_of(Clis(), size=1, on_permission=decide)) as pool:
        user.set("me")
        for _ in range(2):
            async with pool.open() as session:
                await session.send("ask")
    assert seen == ["nobody", "nobody"]


# --- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": -1}, "size must be"),
        ({"max_starting": 0}, "max_starting"),
        ({"transport": SimulatedCLI()}, "one transport"),
        ({"model": 3}, "model"),
        ({"resume": str(uuid.uuid4())}, "for one conversation"),
        ({"continue_conversation": True}, "for one conversation"),
        ({"worktree": True}, "or for a worktree"),
    ],
)
async def test_invalid_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionsError, match=message):
        Pool(**arguments)


# --- failures -------------------------------------------------------------------------------------


async def test_cli_that_dies_while_idle_is_replaced(caplog: pytest.LogCaptureFixture) -> None:
    clis = Clis()
    async with bounded(pool_of(clis, size=2)) as pool:
        await pool.ready()
        await clis.made[0].aclose()
        await soon(lambda: len(clis.made) == 3 and pool.stats.warm == 2)
        async with pool.open() as one, pool.open() as other:
            assert (await one.send("hello")).ok
            assert (await other.send("hello")).ok
            assert pool.stats.hits == 2
    assert "ended" in caplog.text


async def test_caller_gets_the_error_of_a_failed_start() -> None:
    clis = Clis()
    clis.broken = [CLIError("No luck."), CLIError("No luck again.")]
    async with bounded(pool_of(clis, size=0)) as pool:
        with pytest.raises(CLIError, match="No luck"):
            await pool.open()
        with pytest.raises(CLIError, match="again"):
            async with pool.open():
                raise AssertionError
        async with pool.open() as session:
            assert (await session.send("hello")).ok


async def test_failed_start_is_no_error_of_a_caller_with_another_start() -> None:
    clis = Clis(allowed=0)
    async with bounded(pool_of(clis, size=2)) as pool:
        await soon(lambda: clis.starting == 2)
        clis.broken = [CLIError("No luck.")]
        async with meanwhile(pool.open) as got:
            await soon(lambda: pool.stats.misses == 1)
            clis.allowed = 100
        assert (await got[0].send("hello")).ok
        await got[0].close()


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
async def test_any_exception_of_a_transport_function_is_an_error(kind: type[BaseException]) -> None:
    def connect(launch: Launch) -> Transport:
        raise kind

    async with bounded(Pool(options(), size=0, transport=connect)) as pool:
        with pytest.raises(CLIError, match=f"could not be started: {kind.__name__}") as caught:
            await pool.open()
    assert isinstance(caught.value.__cause__, kind)


async def test_failed_start_is_retried_after_growing_delays() -> None:
    clis = Clis()
    clis.broken = [CLIError("No luck."), OSError("No fork."), CLIError("No."), CLIError("No.")]
    async with bounded(pool_of(clis, size=1)) as pool:
        with pytest.raises(CLIError, match="No luck"):
            await pool.ready()
        await soon(lambda: pool.stats.warm == 1)
        assert clis.broken == []


@time_by_hand
async def test_callers_do_not_wait_for_the_next_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claudewire.session.pool.FIRST_DELAY", 50.0)
    clis = Clis()
    clis.broken = [CLIError("No luck.")]
    async with pool_of(clis, size=1) as pool:
        with pytest.raises(CLIError, match="No luck"):
            await pool.ready()
        async with pool.open() as claude:
            assert (await claude.send("hello")).ok
        await pool.ready()
        assert pool.stats.warm == 1


@pytest.mark.parametrize("when", ["before", "after"])
async def test_cancelled_caller_leaves_its_cli_to_others(when: str) -> None:
    clis = Clis(allowed=0)
    async with bounded(pool_of(clis, size=1)) as pool:
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(pool._take)
            await soon(lambda: clis.starting == 3)
            if when == "after":
                clis.allowed = 2
                await soon(lambda: len(clis.made) == 2)
            tasks.cancel_scope.cancel()
        clis.allowed = 100
        await pool.ready()
        await soon(lambda: pool.stats.warm == 1 and not pool.stats.starting)


# --- the end --------------------------------------------------------------------------------------


async def test_close_ends_all_but_the_sessions_that_were_taken() -> None:
    clis = Clis()
    with anyio.fail_after(SOON):
        async with pool_of(clis, size=3) as pool:
            await pool.ready()
            session = await pool.open()
            ready = [*pool._warm]
        assert pool.stats.warm == 0
        assert [it.state for it in ready] == ["closed"] * len(ready)
        assert (await session.send("hello")).ok
        await session.close()
        for call in (pool.open().__aenter__, pool.ready):
            with pytest.raises(SessionClosed, match="pool is closed"):
                await call()
        with pytest.raises(SessionClosed, match="once"):
            await pool.start()
        await pool.close()


async def test_close_ends_starts_and_fails_waiting_callers() -> None:
    clis = Clis(allowed=0)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            pool = await pool_of(clis, size=2).start()

            async def wait(how: Callable[[], Any]) -> None:
                with pytest.raises(SessionClosed):
                    await how()

            tasks.start_soon(wait, pool._take)
            tasks.start_soon(wait, pool.ready)
            await soon(lambda: clis.starting == 3)  # one for the caller
            await pool.close()
        assert clis.starting == 0
        assert pool.stats == PoolStats(0, 0, 0, 0, 1)


async def test_close_ends_a_cli_that_has_not_answered(caplog: pytest.LogCaptureFixture) -> None:
    peer = Peer()

    async def connect(launch: Launch) -> Transport:
        return peer.transport

    with anyio.fail_after(SOON):
        async with Pool(options(cli=SOME_CLI), size=1, transport=connect):
            await peer.hear_request(object)
        await peer.hear_end()
    assert not caplog.records


async def test_pool_can_be_closed_early_and_by_a_cancelled_task() -> None:
    with anyio.fail_after(SOON):
        await Pool().close()
        pool = await pool_of(Clis(), size=1).start()
        await pool.ready()
        (session,) = pool._warm
        with anyio.CancelScope() as scope:
            scope.cancel()
            await pool.close()
        assert session.state is SessionState.CLOSED
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pool.close)
            tasks.start_soon(pool.close)
