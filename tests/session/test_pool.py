"""CLIs that are kept ready: who gets which, how many there are, and how all of it ends."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import uuid
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.helpers.clock import simulated_time
from tests.helpers.peer import SOON, Peer
from tests.helpers.sessions import SOME_CLI, echo, options, soon

from claudewire.errors import CLIError, OptionsError, SessionClosed
from claudewire.people import PermissionRequest, PermissionResult
from claudewire.session import Pool, PoolStats, Session, SessionState
from claudewire.session import pool as module
from claudewire.testing import Chat, SimulatedCLI
from claudewire.transport import Launch, Transport

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claudewire.session.pool.FIRST_DELAY", 0.001)
    monkeypatch.setattr("claudewire.session.pool.MAX_DELAY", 0.004)


class Clis:
    """Gives CLIs to a pool: as many as it is allowed to, for which it waits.

    Attributes:
        made: all that there ever were.
        starting: how many are being started.
        most: how many there were of these at once.
        broken: what goes wrong with the next, in turn.
    """

    def __init__(self, allowed: int = 1_000_000) -> None:
        self.made: list[SimulatedCLI] = []
        self.launches: list[Launch] = []
        self.allowed = allowed
        self.starting = self.most = 0
        self.broken: list[Exception] = []
        self.times: list[float] = []
        """When each was asked for."""

    async def __call__(self, launch: Launch) -> Transport:
        self.starting += 1
        self.times.append(anyio.current_time())
        self.most = max(self.most, self.starting)
        try:
            while not self.allowed:
                await anyio.lowlevel.checkpoint()
            self.allowed -= 1
            if self.broken:
                raise self.broken.pop(0)
        finally:
            self.starting -= 1
        self.launches.append(launch)
        self.made.append(SimulatedCLI(self.scenario))
        return self.made[-1]

    async def scenario(self, chat: Chat) -> None:
        if chat.text == "ask":
            await chat.use("Bash", {"command": "make"})
        await echo(chat)


def pool_of(clis: Clis, **changes: Any) -> Pool:
    keywords = ("size", "max_starting", "idle_timeout")
    given = {name: changes.pop(name) for name in keywords if name in changes}
    return Pool(options(cli=SOME_CLI, **changes), transport=clis, **given)


async def gone(sessions: list[Session]) -> None:
    await soon(lambda: all(it.state is SessionState.CLOSED for it in sessions))


# --- ready ----------------------------------------------------------------------------------------


async def test_what_is_opened_was_ready_and_another_takes_its_place() -> None:
    clis = Clis()
    with anyio.fail_after(SOON):
        async with pool_of(clis, size=2) as pool:
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


async def test_a_cancelled_caller_takes_nothing() -> None:
    pool = pool_of(Clis(), size=1)
    with anyio.fail_after(SOON):
        with anyio.CancelScope() as scope:
            scope.cancel()
            await pool.start()
        assert scope.cancelled_caught
        await pool.ready()
        with anyio.CancelScope() as scope:
            scope.cancel()
            async with pool.open():
                raise AssertionError("it was given a session")
        assert scope.cancelled_caught
        assert pool.stats == PoolStats(warm=1, starting=0, taken=0, hits=0, misses=0)
        await pool.close()


async def test_an_early_caller_gets_the_first_cli_that_is_ready() -> None:
    clis = Clis(allowed=0)
    got: list[Session] = []
    with anyio.fail_after(SOON):
        async with pool_of(clis, size=2) as pool:
            await soon(lambda: clis.starting == 2)

            async def take() -> None:
                got.append(await pool.open())

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(take)
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
    with anyio.fail_after(SOON):
        async with pool_of(clis, size=3, max_starting=2) as pool:
            async with anyio.create_task_group() as tasks:

                async def take(**changes: Any) -> None:
                    got.append(await pool.open(**changes))

                for _ in range(3):
                    tasks.start_soon(take)
                tasks.start_soon(lambda: take(model="opus"))
                await soon(lambda: pool.stats.misses == 4)
                await soon(lambda: clis.starting == 2)
                assert pool.stats.starting == 2
                clis.allowed = 2
                await soon(lambda: len(got) == 2 and clis.starting == 2)  # for the other two
                clis.allowed = 2
            assert clis.most == 2
            assert len(clis.made) == 4
            assert pool.stats.warm == 0
            clis.allowed = 100
            await pool.ready()
            assert clis.most == 2
            assert pool.stats.warm == 3
            for session in got:
                await session.close()


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
async def test_whatever_a_transport_function_raises_is_an_error_of_the_caller(
    kind: type[BaseException],
) -> None:
    def connect(launch: Launch) -> Transport:
        raise kind

    with anyio.fail_after(SOON):
        async with Pool(options(), size=0, transport=connect) as pool:
            with pytest.raises(CLIError, match=f"could not be started: {kind.__name__}") as caught:
                await pool.open()
    assert isinstance(caught.value.__cause__, kind)


async def test_a_pool_of_size_zero_only_limits_starts() -> None:
    clis = Clis()
    with anyio.fail_after(SOON):
        async with pool_of(clis, size=0, max_starting=1) as pool:
            await pool.ready()
            async with pool.open() as one, pool.open() as other:
                assert (await one.send("hello")).ok
                assert (await other.send("hello")).ok
            assert pool.stats == PoolStats(warm=0, starting=0, taken=0, hits=0, misses=2)
    assert len(clis.made) == 2


async def test_pooled_sessions_work_like_any_other() -> None:
    clis = Clis()
    with anyio.fail_after(SOON):
        async with pool_of(clis, size=1) as pool:
            async with anyio.create_task_group() as tasks:
                session = await pool.open()
                tasks.start_soon(session.set_model, "opus")
            reply = await session.send("hello")
            await session.restart()
            assert (await session.send("again")).session_id == reply.session_id
            async with anyio.create_task_group() as tasks:  # closed in another task
                tasks.start_soon(session.close)
            assert session.state is SessionState.CLOSED


async def test_handlers_see_the_context_of_the_pool_not_of_its_first_caller() -> None:
    user = contextvars.ContextVar("user", default="nobody")
    seen: list[str] = []

    def decide(request: PermissionRequest) -> PermissionResult:
        seen.append(user.get())
        return request.allow()

    with anyio.fail_after(SOON):
        async with pool_of(Clis(), size=1, on_permission=decide) as pool:
            user.set("me")
            for _ in range(2):
                async with pool.open() as session:
                    await session.send("ask")
    assert seen == ["nobody", "nobody"]


async def test_it_works_with_the_simulated_cli() -> None:
    with anyio.fail_after(SOON):
        async with Pool(cli="simulated", size=1) as pool:
            await pool.ready()
            async with pool.open() as session:
                assert (await session.send("hello")).ok


# --- options --------------------------------------------------------------------------------------


async def test_what_is_opened_twice_is_kept_ready() -> None:
    clis = Clis()
    with anyio.fail_after(SOON):
        async with pool_of(clis, size=2) as pool:
            await pool.ready()
            async with pool.open(model="opus") as session:
                assert "--model=opus" in clis.launches[-1].argv
                assert (await session.send("hello")).ok
            assert pool.stats.warm == 2
            async with pool.open(model="opus"):
                pass
            await soon(lambda: pool.stats.warm == 4)
            async with pool.open(model="opus"):
                pass
            assert pool.stats.hits == 1
            assert pool.stats.misses == 2


async def test_options_can_be_made_ready_before_they_are_opened() -> None:
    with anyio.fail_after(SOON):
        async with pool_of(Clis(), size=1) as pool:
            await pool.ready(model="opus")
            async with pool.open(model="opus"):
                assert pool.stats.hits == 1


async def test_options_that_were_not_asked_for_lately_are_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_SUB_POOLS", 2)
    with anyio.fail_after(SOON):
        async with pool_of(Clis(), size=1) as pool:
            for model in "abcd":
                await pool.ready(model=model)
            await soon(lambda: pool.stats.warm == 2)
            for model in "efgh":  # once only
                await (await pool.open(model=model)).close()
            assert pool.stats.warm == 2
            await soon(lambda: len(pool._sub_pools) <= 3)
            async with pool.open(model="d"):
                assert pool.stats.hits == 1


async def test_nothing_more_is_started_for_options_that_are_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_SUB_POOLS", 1)
    clis = Clis(allowed=0)

    async def make_ready(model: str) -> None:
        await pool.ready(model=model)

    async def is_last(model: str) -> None:
        await soon(lambda: pool._sub_pools[-1].options.model == model)

    with anyio.fail_after(SOON):
        async with pool_of(clis, size=1, max_starting=1) as pool:
            await soon(lambda: clis.starting == 1)
            async with anyio.create_task_group() as tasks:
                for model in "abc":
                    tasks.start_soon(make_ready, model)
                    await is_last(model)
                clis.allowed = 10
            await soon(lambda: pool.stats.warm == 1 and not pool.stats.starting)
    assert len(clis.made) == 2  # one was being started already


@pytest.mark.parametrize(
    "changes",
    [
        {"resume": str(uuid.uuid4())},
        {"resume": str(uuid.uuid4()), "fork_session": True},
        {"continue_conversation": True},
        {"session_id": str(uuid.uuid4())},
        {"worktree": True},
    ],
)
async def test_what_is_for_one_conversation_is_started_when_it_is_opened(
    changes: dict[str, Any],
) -> None:
    clis = Clis()
    with anyio.fail_after(SOON):
        async with pool_of(clis, size=1) as pool:
            await pool.ready()
            for _ in range(2):
                async with pool.open(**changes):
                    pass
            assert pool.stats.misses == 2
            assert len(clis.made) == 3
            with pytest.raises(OptionsError, match="conversation"):
                await pool.ready(**changes)


async def test_options_that_make_no_sense() -> None:
    with pytest.raises(OptionsError, match="size must be"):
        Pool(size=-1)
    with pytest.raises(OptionsError, match="max_starting"):
        Pool(max_starting=0)
    with pytest.raises(OptionsError, match="idle_timeout"):
        Pool(idle_timeout=0)
    with pytest.raises(OptionsError, match="one transport"):
        Pool(transport=SimulatedCLI())  # type: ignore[arg-type]
    with pytest.raises(OptionsError):
        Pool(model=3)  # type: ignore[arg-type]
    with pytest.raises(OptionsError):
        Pool().open(modle="opus")  # type: ignore[call-overload]


# --- what goes wrong ------------------------------------------------------------------------------


async def test_one_that_dies_while_it_waits_is_replaced(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clis = Clis()
    with anyio.fail_after(SOON):
        async with pool_of(clis, size=2) as pool:
            await pool.ready()
            await clis.made[0].aclose()
            await soon(lambda: len(clis.made) == 3 and pool.stats.warm == 2)
            async with pool.open() as one, pool.open() as other:
                assert (await one.send("hello")).ok
                assert (await other.send("hello")).ok
                assert pool.stats.hits == 2
    assert "ended" in caplog.text


async def test_one_that_has_just_died_is_not_handed_out() -> None:
    clis = Clis()
    with anyio.fail_after(SOON):
        async with pool_of(clis, size=1) as pool:
            await pool.ready()
            (sub_pool,) = pool._sub_pools
            (session,) = sub_pool.warm
            session._core.close(now=True)  # the pool has not noticed yet
            async with pool.open() as another:
                assert another is not session
                assert (await another.send("hello")).ok


async def test_a_waiting_caller_is_told_why_it_gets_none() -> None:
    clis = Clis()
    clis.broken = [CLIError("No luck."), CLIError("No luck again.")]
    with anyio.fail_after(SOON):
        async with pool_of(clis, size=0) as pool:
            with pytest.raises(CLIError, match="No luck"):
                await pool.open()
            with pytest.raises(CLIError, match="again"):
                async with pool.open():
                    raise AssertionError
            async with pool.open() as session:
                assert (await session.send("hello")).ok


async def test_a_session_that_cannot_be_made_fails_its_caller_and_not_the_pool() -> None:
    def broken(*_: object, **__: object) -> Session:
        raise OptionsError("No such output.")

    with anyio.fail_after(SOON):
        async with pool_of(Clis(), size=0) as pool:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(module, "Session", broken)
                with pytest.raises(OptionsError, match="No such output"):
                    await pool.open()
            async with pool.open() as session:
                assert (await session.send("hello")).ok


async def test_a_failed_start_is_retried() -> None:
    clis = Clis()
    clis.broken = [CLIError("No luck."), OSError("No fork."), CLIError("No."), CLIError("No.")]
    with anyio.fail_after(SOON):
        async with pool_of(clis, size=1) as pool:
            with pytest.raises(CLIError, match="No luck"):
                await pool.ready()
            await soon(lambda: pool.stats.warm == 1)  # by itself, after some delays
            assert clis.broken == []


async def test_a_waiting_caller_is_not_told_of_a_failure_while_another_cli_starts() -> None:
    clis = Clis(allowed=0)
    with anyio.fail_after(SOON):
        async with pool_of(clis, size=2) as pool:
            await soon(lambda: clis.starting == 2)
            clis.broken = [CLIError("No luck.")]
            async with anyio.create_task_group() as tasks:

                async def take() -> None:
                    async with pool.open() as session:
                        assert (await session.send("hello")).ok

                tasks.start_soon(take)
                await soon(lambda: pool.stats.misses == 1)
                clis.allowed = 100


@simulated_time
async def test_the_delays_grow_up_to_a_limit_until_a_session_is_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "FIRST_DELAY", 1.0)
    monkeypatch.setattr(module, "MAX_DELAY", 60.0)
    clis = Clis()

    def delays() -> list[float]:
        times, clis.times = clis.times, []
        return [round(after - before, 6) for before, after in pairwise(times)]

    with anyio.fail_after(1000 * SOON):
        async with pool_of(clis, size=1) as pool:
            clis.broken = [CLIError("No luck.") for _ in range(8)]
            await anyio.sleep(300)
            assert delays() == [1, 2, 4, 8, 16, 32, 60, 60]
            assert pool.stats == PoolStats(warm=1, starting=0, taken=0, hits=0, misses=0)
            clis.broken = [CLIError("No luck.") for _ in range(2)]
            async with pool.open():
                await anyio.sleep(300)
            assert delays() == [1, 2]
            assert pool.stats.warm == 1
            # Also with other options, beside those that are ready.
            clis.broken = [CLIError("No luck.") for _ in range(3)]
            with pytest.raises(CLIError):
                await pool.ready(model="opus")
            await anyio.sleep(300)
            assert delays() == [1, 2, 4]
            assert pool.stats.warm == 2


@simulated_time
async def test_who_waits_is_served_before_the_next_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_DELAY", 50.0)
    monkeypatch.setattr(module, "MAX_DELAY", 60.0)
    clis = Clis()
    clis.broken = [CLIError("No luck.")]
    with anyio.fail_after(1000 * SOON):
        async with pool_of(clis, size=1, max_starting=1) as pool:
            await anyio.sleep(3)
            assert (pool.stats.starting, len(clis.times)) == (0, 1)
            async with pool.open() as claude:
                assert (await claude.send("hello")).ok
            assert clis.times[1] - clis.times[0] == 3


async def test_a_cancelled_caller_leaves_its_cli_to_others() -> None:
    clis = Clis(allowed=0)
    with anyio.fail_after(SOON):
        async with pool_of(clis, size=1) as pool:
            async with anyio.create_task_group() as tasks:
                for _ in range(2):
                    tasks.start_soon(pool._take, pool.options)
                await soon(lambda: pool.stats.misses == 2)
                tasks.cancel_scope.cancel()
            assert pool.stats.misses == 2
            clis.allowed = 100
            await pool.ready()
            await soon(lambda: pool.stats == PoolStats(1, 0, 0, 0, 2))


@pytest.mark.parametrize("then", ["goes on", "closes", "is closed"])
def test_a_session_that_a_cancelled_caller_was_given_is_closed(then: str) -> None:
    async def main() -> None:
        session = await Session(options(), transport=SimulatedCLI(echo)).start()
        pool = await pool_of(Clis(allowed=0), size=0).start()
        sub_pool = pool._sub_pool(pool.options)
        task = asyncio.create_task(pool._take(pool.options))
        await soon(lambda: sub_pool.requests)
        sub_pool.requests.popleft().assign(session)
        task.cancel()
        if then == "is closed":
            await pool.close()
        await asyncio.wait([task])
        assert task.cancelled()
        if then == "closes":
            await pool.close()
        await gone([session])
        await pool.close()

    asyncio.run(asyncio.wait_for(main(), SOON))


async def test_a_session_that_is_put_back_is_kept_if_there_is_room() -> None:
    with anyio.fail_after(SOON):
        async with pool_of(Clis(), size=1) as pool:
            session = await pool.open()
            (sub_pool,) = pool._sub_pools
            await soon(lambda: len(sub_pool.warm) == 1)
            sub_pool.size = 2
            pool._put_back(sub_pool, session)
            await soon(lambda: len(sub_pool.warm) == 2)
            await session.close()


async def test_a_session_that_is_put_back_after_the_end_is_closed() -> None:
    with anyio.fail_after(SOON):
        async with pool_of(Clis(), size=1) as pool:
            session = await pool.open()
            (sub_pool,) = pool._sub_pools
        pool._put_back(sub_pool, session)
        await gone([session])


@simulated_time
async def test_who_wants_clis_now_does_not_wait_for_the_next_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "FIRST_DELAY", 50.0)
    monkeypatch.setattr(module, "MAX_DELAY", 50.0)
    clis = Clis()
    clis.broken = [CLIError("No luck.")]
    async with pool_of(clis, size=1) as pool:
        with pytest.raises(CLIError, match="No luck"):
            await pool.ready()
        start = anyio.current_time()
        await pool.ready()
        assert anyio.current_time() == start
        assert pool.stats.warm == 1


# --- its end --------------------------------------------------------------------------------------


async def test_closing_ends_all_but_what_was_handed_out() -> None:
    clis = Clis()
    with anyio.fail_after(SOON):
        async with pool_of(clis, size=3) as pool:
            await pool.ready()
            session = await pool.open()
            ready = [it for sub_pool in pool._sub_pools for it in sub_pool.warm]
        assert pool.stats.warm == 0
        assert [it.state for it in ready] == ["closed"] * len(ready)
        assert (await session.send("hello")).ok
        await session.close()
        with pytest.raises(SessionClosed, match="pool is closed"):
            await pool.open()
        with pytest.raises(SessionClosed, match="pool is closed"):
            await pool.ready()
        with pytest.raises(SessionClosed, match="once"):
            await pool.start()
        await pool.close()


async def test_closing_ends_what_is_being_started_and_fails_waiting_callers() -> None:
    clis = Clis(allowed=0)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            pool = await pool_of(clis, size=2).start()

            async def wait(how: Callable[[], Any]) -> None:
                with pytest.raises(SessionClosed):
                    await how()

            tasks.start_soon(wait, lambda: pool._take(pool.options))
            tasks.start_soon(wait, pool.ready)
            await soon(lambda: clis.starting == 3)  # one for who waits
            await pool.close()
        assert clis.starting == 0
        assert pool.stats == PoolStats(0, 0, 0, 0, 1)


async def test_closing_ends_one_that_has_not_answered(caplog: pytest.LogCaptureFixture) -> None:
    peer = Peer()

    async def connect(launch: Launch) -> Transport:
        return peer.transport

    with anyio.fail_after(SOON):
        async with Pool(options(cli=SOME_CLI), size=1, transport=connect):
            await peer.hear_request(object)
        await peer.hear_end()
    assert not caplog.records


async def test_it_can_be_closed_before_its_start_twice_at_once_and_by_a_cancelled_task() -> None:
    with anyio.fail_after(SOON):
        await Pool().close()
        pool = await pool_of(Clis(), size=1).start()
        await pool.ready()
        (session,) = pool._sub_pools[0].warm
        with anyio.CancelScope() as scope:
            scope.cancel()
            await pool.close()
        assert session.state is SessionState.CLOSED
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pool.close)
            tasks.start_soon(pool.close)


@simulated_time
async def test_an_idle_cli_is_ended_after_the_timeout_and_kept_again_when_opened() -> None:
    clis = Clis()
    async with pool_of(clis, size=2, idle_timeout=100) as pool:
        await pool.ready()
        await anyio.sleep(99)
        assert pool.stats.warm == 2
        await anyio.sleep(2)
        assert pool.stats.warm == pool.stats.starting == 0
        assert len(clis.made) == 2
        session = await pool.open()
        assert pool.stats.misses == 1
        await soon(lambda: pool.stats.warm == 2)
        assert len(clis.made) == 5
        await anyio.sleep(101)
        assert (await session.send("hello")).ok  # it is not idle any more
        await session.close()


# anyio does not close the coroutine of a task that asyncio cancels before its first step.
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_event_loop_may_end_with_a_pool_open(caplog: pytest.LogCaptureFixture) -> None:
    pools: list[Pool] = []

    async def main(ticks: int) -> None:
        pools.append(await pool_of(Clis(), size=2).start())
        for _ in range(ticks):
            await asyncio.sleep(0)

    for ticks in range(20):
        asyncio.run(asyncio.wait_for(main(ticks), SOON))
    assert all(not pool._is_open for pool in pools)
    assert "The pool failed" not in caplog.text
    pools.clear()
    gc.collect()  # here, where the warning is expected


async def test_a_bug_ends_the_pool_and_fails_its_callers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(Pool):
        def _can_start(self) -> bool:
            raise ZeroDivisionError

    with anyio.fail_after(SOON):
        pool = await Broken(options(cli=SOME_CLI)).start()
        await soon(lambda: "The pool failed" in caplog.text)
        with pytest.raises(SessionClosed):
            await pool.open()
        await pool.close()
