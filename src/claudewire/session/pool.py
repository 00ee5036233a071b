"""A pool of CLIs that are started ahead of time, so that opening a session takes milliseconds.

    async with claudewire.Pool(model="sonnet") as pool:
        async with pool.open() as claude:
            reply = await claude.send("Hello")

A pool keeps idle CLIs with its options. Opening a session takes one of them, or waits for the next
one to start, and another is started in its place. A CLI serves one session and does not return to
the pool.

The pool's own task starts every CLI, so handlers see the context variables of the task that started
the pool, not those of the caller that opens a session.
"""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel

from ..concurrency import Signal, ends_the_caller, run_detached
from ..errors import OptionsError, SessionClosed, describe
from ..launch import check_connect
from ..options import Options, check_options, checked
from .core import failure_of
from .events import SessionState
from .log import log
from .session import Session

if TYPE_CHECKING:
    from typing import Unpack

    from ..launch import Connect
    from ..options import OptionsDict

FIRST_DELAY, MAX_DELAY = 1.0, 60.0
"""Seconds before the next attempt when a CLI cannot be started. Callers get the error at once."""


@dataclass(frozen=True, slots=True)
class PoolStats:
    """Numbers about a pool.

    Attributes:
        warm: CLIs that are ready.
        starting: CLIs that are being started.
        taken: sessions that were handed out and are still open.
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

    The sessions that were handed out belong to the callers that opened them, and outlive the pool.

    Args:
        options: the options of every session.
        size: the number of idle CLIs to keep.
        max_starting: how many CLIs may start at the same time, for waiting callers too.
        transport: a function that makes a transport for each CLI, in place of a process.
        changes: single options, instead of those in `options`.

    Raises:
        OptionsError: an option or argument is invalid, or the options name a conversation.
    """

    def __init__(
        self,
        options: Options | None = None,
        *,
        size: int = 2,
        max_starting: int = 4,
        transport: Connect | None = None,
        **changes: Unpack[OptionsDict],
    ) -> None:
        check_connect(transport, "A pool")
        checked("size", size, int, least=0)
        checked("max_starting", max_starting, int, least=1)
        given = check_options(options).replace(**changes)
        self.options: Options = given
        resumes = given.resume is not None or given.continue_conversation
        if resumes or given.session_id is not None or given.worktree:
            raise OptionsError(
                "CLIs for one conversation, or for a worktree, cannot be started ahead of time"
            )
        self._size = size
        self._max_starting = max_starting
        self._transport = transport
        self._warm: dict[Session, anyio.CancelScope] = {}
        """The ready CLIs, the oldest first. Cancel the scope to end the watch over one."""
        self._owners: set[anyio.CancelScope] = set()
        """Cancel one to end the CLI that its task owns."""
        self._starting = 0
        self._callers: deque[object] = deque()
        """The callers that wait for a CLI, the first to come first."""
        self._errors: deque[Exception] = deque()
        """For callers that have no other CLI to wait for."""
        self._failure: Exception | None = None
        """The reason why the last CLI could not be started, or has ended."""
        self._delay = 0.0
        self._retry_at = -math.inf
        self._taken: weakref.WeakSet[Session] = weakref.WeakSet()
        self._hits = self._misses = 0
        self._changed = Signal()
        self._closing = False
        self._finished: anyio.Event | None = None

    # --- start and end ---------------------------------------------------------------------------

    async def start(self) -> Pool:
        """Start to fill the pool, without waiting; `ready` waits.

        Raises:
            SessionClosed: the pool was started before.
        """
        if self._finished is not None:
            raise SessionClosed("A pool can be started only once")
        self._finished = anyio.Event()
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
        """The number of CLIs, and how often one was ready."""
        taken = sum(session.failure is None for session in self._taken)
        return PoolStats(len(self._warm), self._starting, taken, self._hits, self._misses)

    # --- callers ---------------------------------------------------------------------------------

    def open(self, *, name: str | None = None) -> PooledSession:
        """Open a session. Await the result, or enter it with `async with`.

        Args:
            name: the name of the session, instead of that in the options.

        Raises:
            OptionsError: the name is invalid.
        """
        return PooledSession(self, Options(name=name).name)

    async def ready(self) -> None:
        """Wait until the pool is full.

        Raises:
            CLIError: a CLI cannot be started; its `cause` says why.
            SessionClosed: the pool is not open.
        """
        self._check_open()
        self._failure = None
        self._retry_at = -math.inf
        self._changed.notify()
        await self._changed.until(
            lambda: self._closing or self._failure is not None or len(self._warm) >= self._size
        )
        self._check_open()
        if self._failure is not None:
            raise self._failure.with_traceback(None)

    def _check_open(self) -> None:
        if self._finished is None:
            raise SessionClosed("The pool was not started; call start(), or open it in a block")
        if self._closing:
            raise SessionClosed("The pool is closed")

    async def _take(self) -> Session:
        """Return a session that is ready, or wait for one."""
        await anyio.lowlevel.checkpoint()
        self._check_open()
        session = None if self._callers else self._take_warm()
        if session is None:
            self._misses += 1
            session = await self._wait()
        else:
            self._hits += 1
        self._taken.add(session)
        self._changed.notify()
        return session

    def _take_warm(self) -> Session | None:
        while self._warm:
            session = next(iter(self._warm))
            self._warm.pop(session).cancel()
            if session.state is SessionState.READY:
                self._delay = 0.0
                return session
        return None

    async def _wait(self) -> Session:
        caller = object()

        def is_served() -> bool:
            is_next = self._callers[0] is caller and bool(self._warm or self._errors)
            return is_next or self._closing

        self._callers.append(caller)
        self._changed.notify()
        try:
            while True:
                await self._changed.until(is_served)
                if self._closing:
                    raise SessionClosed("The pool was closed")
                if (session := self._take_warm()) is not None:
                    return session
                if self._errors:
                    raise self._errors.popleft()
        finally:
            self._callers.remove(caller)
            self._changed.notify()

    # --- the pool's own task ---------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            while not self._closing:
                self._end_excess()
                delay = self._start_missing()
                with anyio.move_on_after(delay):
                    await self._changed.wait()
            for scope in self._owners:
                scope.cancel()
            await self._changed.until(lambda: not self._owners)
        except Exception:
            log.exception("The pool failed")
        finally:
            self._finish()

    def _finish(self) -> None:
        self._closing = True
        self._changed.notify()
        assert self._finished is not None
        self._finished.set()

    def _end_excess(self) -> None:
        """End CLIs that callers did not wait for until they were ready."""
        excess = len(self._warm) - self._size - len(self._callers)
        for session in [*self._warm][: max(0, excess)]:
            self._warm[session].cancel()

    def _start_missing(self) -> float | None:
        """Start the missing CLIs; return after how many seconds to look again."""
        wait = self._retry_at - anyio.current_time()
        while self._starting < self._max_starting:
            unserved = len(self._callers) - len(self._warm) - self._starting
            if unserved + self._size <= 0 or (unserved <= 0 < wait):
                return wait if unserved + self._size > 0 else None
            self._starting += 1
            scope = anyio.CancelScope()
            self._owners.add(scope)
            # Not in a task group: on trio, Ctrl-C must not be raised in its tasks.
            run_detached(partial(self._own_one, scope), "claudewire pool")
        return None

    async def _own_one(self, scope: anyio.CancelScope) -> None:
        """Start one CLI, and own it until a caller has it or it has ended."""
        try:
            with scope:
                await self._start_one()
        finally:
            self._owners.discard(scope)
            self._changed.notify()

    async def _start_one(self) -> None:
        session = Session(self.options, transport=self._transport)
        error = None
        try:
            await session.start()
        except BaseException as raised:  # a transport function may raise anything
            if ends_the_caller(raised):
                raise
            error = raised if isinstance(raised, Exception) else failure_of(raised)
        finally:
            self._starting -= 1
            self._changed.notify()
        if error is None:
            await self._keep(session)
        elif not session._core.loop_ended:
            log.warning("The pool could not start a CLI: %s", describe(error))
            self._back_off(error)
            if len(self._callers) > self._starting + len(self._errors):
                self._errors.append(error)

    async def _keep(self, session: Session) -> None:
        """Keep a session until it is taken, or dies."""
        core = session._core
        try:
            with anyio.CancelScope() as self._warm[session]:
                self._changed.notify()
                await core.changed.until(lambda: core.is_dead)
        finally:
            if self._warm.pop(session, None) is not None:
                if session.failure is not None and not core.loop_ended:
                    log.warning("An idle CLI of the pool ended: %s", session.failure)
                    self._back_off(session.failure)
                self._changed.notify()
                await session.close()

    def _back_off(self, error: Exception) -> None:
        self._failure = error
        self._delay = min(2 * self._delay or FIRST_DELAY, MAX_DELAY)
        self._retry_at = anyio.current_time() + self._delay


class PooledSession:
    """A session that a pool is about to open: enter it with `async with`, or await it."""

    def __init__(self, pool: Pool, name: str | None) -> None:
        self._pool = pool
        self._name = name
        self._session: Session | None = None

    async def _take(self) -> Session:
        session = await self._pool._take()
        if self._name is not None:
            session._core.handlers.rename(self._name)
        return session

    async def __aenter__(self) -> Session:
        self._session = await self._take()
        return self._session

    async def __aexit__(self, *_: object) -> None:
        assert self._session is not None
        await self._session.close()

    def __await__(self) -> Generator[Any, None, Session]:
        return self._take().__await__()
