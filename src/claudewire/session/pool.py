"""A pool of CLIs that are started ahead of time, so that opening a session takes milliseconds.

    async with claudewire.Pool(model="sonnet") as pool:
        async with pool.open() as claude:
            reply = await claude.send("Hello")

Starting a CLI takes a while, and nothing of that depends on the first prompt. A pool keeps a number
of idle CLIs for each set of options: a `SubPool`. Opening a session takes one of them, or waits for
the next one to start, and another is started in its place. A CLI serves one session: it is not put
back.

The pool's own task starts every CLI, so handlers see the context variables of the task that started
the pool, not those of the caller that opens a session.
"""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, overload

import anyio
import anyio.abc
import anyio.lowlevel

from ..concurrency import Signal, ends_the_caller, run_detached
from ..errors import OptionsError, SessionClosed, describe
from ..launch import check_connect
from ..options import Options, check_options, seconds, whole_number
from .events import SessionState
from .log import log
from .reply import OutputT
from .session import Session
from .startup import failure_of

if TYPE_CHECKING:
    from typing import Unpack

    from ..launch import Connect
    from ..options import OptionsDict, OptionsWithoutOutput

__all__ = ["Pool", "PoolStats", "PooledSession", "SubPool"]

MAX_SUB_POOLS = 8
"""For how many sets of options CLIs are kept; the least recently used are dropped."""

FIRST_DELAY, MAX_DELAY = 1.0, 60.0
"""Seconds before the next attempt when a CLI cannot be started. Callers are told at once."""


@dataclass(frozen=True, slots=True)
class PoolStats:
    """Numbers about a pool.

    Attributes:
        warm: how many CLIs are ready.
        starting: how many are being started.
        taken: how many sessions were handed out and are still open.
        hits: how often a CLI was ready when a session was opened.
        misses: how often a caller had to wait for one.
    """

    warm: int
    starting: int
    taken: int
    hits: int
    misses: int


class Pool:
    """A pool of CLIs that are started ahead of time.

    CLIs with the pool's own options are started at once, and so are those that `ready` is called
    for; CLIs with other options are kept from the second time on that they are opened. Options that
    name a conversation are never started ahead of time. The sessions that were handed out belong to
    the callers that opened them, and outlive the pool.

    Args:
        options: the options of every session, unless `open` overrides them.
        size: how many idle CLIs to keep for each set of options.
        max_starting: how many CLIs may start at the same time, for waiting callers too.
        transport: how to get a CLI, instead of starting a process.
        idle_timeout: for how many seconds to keep an idle CLI; None for ever. After that, CLIs with
            these options are started again when one is next opened.
        changes: single options, instead of those in `options`.

    Raises:
        OptionsError: an option or argument is invalid.
    """

    def __init__(
        self,
        options: Options | None = None,
        *,
        size: int = 2,
        max_starting: int = 4,
        transport: Connect | None = None,
        idle_timeout: float | None = None,
        **changes: Unpack[OptionsDict],
    ) -> None:
        check_connect(transport)
        whole_number(0)("size", size)
        whole_number(1)("max_starting", max_starting)
        if idle_timeout is not None:
            seconds("idle_timeout", idle_timeout)
        self.options: Options = check_options(options).replace(**changes)
        self._size = size
        self._max_starting = max_starting
        self._transport = transport
        self._idle_timeout = idle_timeout
        self._sub_pools: list[SubPool] = []
        """The least recently used first."""
        self._taken: weakref.WeakSet[Session] = weakref.WeakSet()
        self._hits = self._misses = 0
        self._changed = Signal()
        self._tasks: anyio.abc.TaskGroup | None = None
        self._closing = False
        self._finished: anyio.Event | None = None

    # --- start and end ---------------------------------------------------------------------------

    async def start(self) -> Pool:
        """Start to fill the pool. It does not wait until CLIs are ready; `ready` does.

        Raises:
            SessionClosed: the pool was started before.
        """
        if self._finished is not None:
            raise SessionClosed("A pool can be started only once")
        self._finished = anyio.Event()
        self._sub_pool(self.options).keep(self._size)
        run_detached(self._run, "claudewire pool", self._finish)
        await anyio.lowlevel.checkpoint()
        return self

    async def close(self) -> None:
        """End all CLIs that are idle or starting. No session can be opened after that.

        It is safe to call twice and from any task. If the caller is cancelled, the CLIs are ended
        all the same.
        """
        self._closing = True
        self._changed.notify()
        if self._finished is not None:
            with anyio.CancelScope(shield=True):
                await self._finished.wait()

    async def __aenter__(self) -> Pool:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<Pool {self.stats}>"

    @property
    def stats(self) -> PoolStats:
        """How many CLIs there are, and how often one was ready."""
        return PoolStats(
            warm=sum(len(it.warm) for it in self._sub_pools),
            starting=sum(it.starting for it in self._sub_pools),
            taken=sum(session.failure is None for session in self._taken),
            hits=self._hits,
            misses=self._misses,
        )

    # --- callers ---------------------------------------------------------------------------------

    @overload
    def open(
        self, *, output: type[OutputT], **changes: Unpack[OptionsWithoutOutput]
    ) -> PooledSession[OutputT]: ...

    @overload
    def open(self, **changes: Unpack[OptionsDict]) -> PooledSession[Any]: ...

    def open(self, **changes: Any) -> PooledSession[Any]:
        """Open a session. Await the result, or enter it with `async with`.

        Args:
            changes: single options, instead of those of the pool.

        Raises:
            OptionsError: an option is invalid.
        """
        # Any CLI can have any name, so it is no reason to start another one.
        named = Options(name=changes.pop("name", None))
        return PooledSession(self, self._options(changes), named.name)

    async def ready(self, **changes: Unpack[OptionsDict]) -> None:
        """Keep CLIs with these options from now on, and wait until they are ready.

        Args:
            changes: single options, instead of those of the pool.

        Raises:
            OptionsError: an option is invalid, or names a conversation.
            CLIError: a CLI cannot be started; its `cause` says why.
            SessionClosed: the pool is not open.
        """
        self._check_open()
        sub_pool = self._sub_pool(self._options(changes))
        if not sub_pool.can_be_kept:
            raise OptionsError(
                "CLIs for one conversation, or for a worktree, cannot be started ahead of time"
            )
        sub_pool.keep(self._size)
        sub_pool.retry_now()
        self._changed.notify()
        await self._changed.until(lambda: self._closing or sub_pool.is_settled)
        self._check_open()
        if sub_pool.failure is not None:
            raise sub_pool.failure.with_traceback(None)

    def _options(self, changes: Mapping[str, Any]) -> Options:
        return self.options.replace(**changes) if changes else self.options

    def _check_open(self) -> None:
        if self._finished is None:
            raise SessionClosed("The pool was not started; call start(), or open it in a block")
        if not self._is_open:
            raise SessionClosed("The pool is closed")

    @property
    def _is_open(self) -> bool:
        return self._finished is not None and not self._closing

    async def _take(self, options: Options) -> Session:
        """Return a session that is ready, or wait for one."""
        await anyio.lowlevel.checkpoint()
        self._check_open()
        sub_pool = self._sub_pool(options)
        sub_pool.note_use(self._size)
        session = sub_pool.take()
        if session is None:
            self._misses += 1
            session = await self._wait(sub_pool)
        else:
            self._hits += 1
        self._taken.add(session)
        self._changed.notify()
        return session

    async def _wait(self, sub_pool: SubPool) -> Session:
        request = _Request()
        sub_pool.requests.append(request)
        self._changed.notify()
        try:
            return await request.result()
        except BaseException:
            if request.session is not None:
                self._put_back(sub_pool, request.session)
            elif request in sub_pool.requests:
                sub_pool.requests.remove(request)
            raise

    def _put_back(self, sub_pool: SubPool, session: Session) -> None:
        """Take back a session whose caller was cancelled before it got it."""
        if self._is_open:
            assert self._tasks is not None
            self._tasks.start_soon(self._assign, sub_pool, session)
        else:
            session._core.close(now=True)

    def _sub_pool(self, options: Options) -> SubPool:
        """Find or make the sub-pool of these options, and make it the most recently used."""
        found = next((it for it in self._sub_pools if it.matches(options)), None)
        if found is None:
            found = SubPool(options)
        else:
            self._sub_pools.remove(found)
        self._sub_pools.append(found)
        return found

    # --- the pool's own task ---------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            async with anyio.create_task_group() as self._tasks:
                while not self._closing:
                    self._drop_unused()
                    delay = self._start_missing(self._tasks)
                    with anyio.move_on_after(delay):
                        await self._changed.wait()
                self._fail_requests()
                self._tasks.cancel_scope.cancel()
        except Exception:
            log.exception("The pool failed")
        finally:
            self._finish()

    def _finish(self) -> None:
        self._closing = True
        self._fail_requests()
        assert self._finished is not None
        self._finished.set()

    def _fail_requests(self) -> None:
        for sub_pool in self._sub_pools:
            sub_pool.fail_requests(SessionClosed("The pool was closed"))

    def _drop_unused(self) -> None:
        """Keep no more sub-pools than the limit allows."""
        kept = [it for it in self._sub_pools if it.size]
        for sub_pool in kept[: max(0, len(kept) - MAX_SUB_POOLS)]:
            sub_pool.drop()
        excess = max(0, len(self._sub_pools) - MAX_SUB_POOLS)
        for sub_pool in [it for it in self._sub_pools if it.is_unused][:excess]:
            self._sub_pools.remove(sub_pool)

    def _start_missing(self, tasks: anyio.abc.TaskGroup) -> float | None:
        """Start the missing CLIs; return after how many seconds to look again."""
        for sub_pool in self._sub_pools:  # waiting callers come first
            while sub_pool.has_unserved_request and self._can_start():
                self._start(sub_pool, tasks)
        now = anyio.current_time()
        for sub_pool in self._sub_pools:
            while sub_pool.missing > 0 and sub_pool.retry_at <= now and self._can_start():
                self._start(sub_pool, tasks)
        delays = [it.retry_at - now for it in self._sub_pools if it.missing > 0]
        return min((delay for delay in delays if delay > 0), default=None)

    def _can_start(self) -> bool:
        return sum(it.starting for it in self._sub_pools) < self._max_starting

    def _start(self, sub_pool: SubPool, tasks: anyio.abc.TaskGroup) -> None:
        sub_pool.starting += 1
        tasks.start_soon(self._serve, sub_pool)

    async def _serve(self, sub_pool: SubPool) -> None:
        """Start one CLI, and own it until a caller has it or it has ended."""
        try:
            session = await self._start_session(sub_pool)
        except BaseException as error:  # a transport function may raise anything
            if ends_the_caller(error):
                raise
            log.warning("The pool could not start a CLI: %s", describe(error))
            sub_pool.start_failed(error if isinstance(error, Exception) else failure_of(error))
        else:
            await self._assign(sub_pool, session)

    async def _start_session(self, sub_pool: SubPool) -> Session:
        try:
            return await Session(sub_pool.options, transport=self._transport).start()
        finally:
            sub_pool.starting -= 1
            self._changed.notify()

    async def _assign(self, sub_pool: SubPool, session: Session) -> None:
        """Give a session to the first waiting caller, or keep it until one comes."""
        if sub_pool.requests:
            sub_pool.requests.popleft().assign(session)
        elif self._closing or len(sub_pool.warm) >= sub_pool.size:
            await session.close()
        else:
            await self._keep(sub_pool, session)

    async def _keep(self, sub_pool: SubPool, session: Session) -> None:
        """Keep a session until it is taken. End it if it dies, gets too old or is dropped."""
        core = session._core
        try:
            with anyio.CancelScope() as watch:
                sub_pool.warm[session] = watch
                self._changed.notify()
                with anyio.move_on_after(self._idle_timeout):
                    await core.changed.until(lambda: core.is_dead)
        finally:
            if session in sub_pool.warm:
                sub_pool.lose(session)
                self._changed.notify()
                await session.close()


class PooledSession(Generic[OutputT]):
    """A session that a pool is about to open: enter it with `async with`, or await it."""

    def __init__(self, pool: Pool, options: Options, name: str | None = None) -> None:
        self._pool = pool
        self._options = options
        self._name = name
        self._session: Session[OutputT] | None = None

    async def _take(self) -> Session[OutputT]:
        session = await self._pool._take(self._options)
        if self._name is not None:
            session._rename(self._name)
        return session

    async def __aenter__(self) -> Session[OutputT]:
        self._session = await self._take()
        return self._session

    async def __aexit__(self, *_: object) -> None:
        assert self._session is not None
        await self._session.close()

    def __await__(self) -> Generator[Any, None, Session[OutputT]]:
        return self._take().__await__()


class _Request:
    """A caller that waits for a session."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self._error: Exception | None = None
        self._done = anyio.Event()

    def assign(self, session: Session) -> None:
        self.session = session
        self._done.set()

    def fail(self, error: Exception) -> None:
        self._error = error
        self._done.set()

    async def result(self) -> Session:
        await self._done.wait()
        if self._error is not None:
            raise self._error.with_traceback(None)  # or it would grow with each caller
        assert self.session is not None
        return self.session


class SubPool:
    """The CLIs of a pool that have the same options.

    Attributes:
        size: how many idle CLIs to keep.
        warm: the idle ones, the oldest first; cancel the scope to end one.
        starting: how many are being started.
        requests: the callers that wait for one.
        failure: why the last one could not be started.
        retry_at: when to start the next one, unless a caller waits.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.size: int = 0
        self.warm: dict[Session, anyio.CancelScope] = {}
        self.starting = 0
        self.requests: deque[_Request] = deque()
        self.failure: Exception | None = None
        self.retry_at: float = -math.inf
        self._delay = 0.0
        self._was_used = False

    def matches(self, options: Options) -> bool:
        """Whether its CLIs have these options."""
        return options is self.options or options == self.options

    @property
    def can_be_kept(self) -> bool:
        """Whether any of its CLIs can serve any caller, and starting one leaves no trace."""
        options = self.options
        resumes = options.resume is not None or options.continue_conversation
        return not resumes and options.session_id is None and not options.worktree

    @property
    def missing(self) -> int:
        """How many CLIs to start so that enough are idle once every request is served."""
        return self.size - len(self.warm) - max(0, self.starting - len(self.requests))

    @property
    def has_unserved_request(self) -> bool:
        """Whether more callers wait than CLIs are being started."""
        return len(self.requests) > self.starting

    @property
    def is_unused(self) -> bool:
        """Whether the pool can forget it."""
        return not (self.size or self.warm or self.starting or self.requests)

    @property
    def is_settled(self) -> bool:
        """Whether enough CLIs are idle, or cannot be started."""
        return self.failure is not None or len(self.warm) >= self.size

    def keep(self, size: int) -> None:
        """Keep so many CLIs from now on, if that makes sense with these options."""
        self._was_used = True
        if self.can_be_kept:
            self.size = size

    def note_use(self, size: int) -> None:
        """Note that a caller wants one; keep CLIs from the second time on."""
        if self._was_used:
            self.keep(size)
        self._was_used = True

    def take(self) -> Session | None:
        """Take an idle one out, if there is any."""
        while self.warm:
            session = next(iter(self.warm))
            self.warm.pop(session).cancel()
            if session.state is SessionState.READY:
                self._delay = 0.0
                return session
        return None

    def drop(self) -> None:
        """Keep no CLIs, and end the idle ones."""
        self.size = 0
        for watch in self.warm.values():
            watch.cancel()

    def lose(self, session: Session) -> None:
        """Remove an idle session that has died, or that no caller has wanted."""
        del self.warm[session]
        if session.failure is None:
            self.size = 0
        else:
            log.warning("An idle CLI of the pool ended: %s", session.failure)
            self._back_off(session.failure)

    def start_failed(self, error: Exception) -> None:
        """Delay the next start, and tell the caller that has no other CLI to wait for."""
        self._back_off(error)
        if self.has_unserved_request:
            self.requests.popleft().fail(error)

    def _back_off(self, error: Exception) -> None:
        self.failure = error
        self._delay = min(2 * self._delay or FIRST_DELAY, MAX_DELAY)
        self.retry_at = anyio.current_time() + self._delay

    def retry_now(self) -> None:
        """Start the next one without delay, whatever has failed before."""
        self.failure = None
        self.retry_at = -math.inf

    def fail_requests(self, error: Exception) -> None:
        """Tell every waiting caller that it gets none."""
        while self.requests:
            self.requests.popleft().fail(error)
