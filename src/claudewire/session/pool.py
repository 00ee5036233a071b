"""CLIs that are kept ready, so that opening a session costs milliseconds.

    async with claudewire.Pool(model="sonnet") as pool:
        async with pool.open() as claude:
            reply = await claude.send("Hello")

A CLI takes a while to start, and nothing of that depends on what it will be asked. So a pool starts
some before anybody wants them, for each set of options as many as its size. Whoever opens a session
gets one that is ready, or else the next that will be, and another is started in its place. A CLI
serves one session: it is not put back.

Everything is started by the pool's own task, so whatever a handler finds in context variables is
what the pool was started with.
"""

from __future__ import annotations

import logging
import weakref
from collections import deque
from collections.abc import Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
import anyio.lowlevel

from ..concurrency import Signal, run_detached
from ..errors import OptionsError, SessionClosed
from ..options import Options
from .session import Session
from .warm import Kind, PoolStats, Wish

if TYPE_CHECKING:
    from typing import Unpack

    from ..launch import Connect
    from ..options import OptionsDict

__all__ = ["Pool", "PoolStats", "PooledSession"]

log: logging.Logger = logging.getLogger("claudewire.session")

MOST_KINDS = 8
"""For how many sets of options CLIs are kept ready; then those asked for longest ago go."""


class Pool:
    """CLIs that are kept ready.

    A set of options is kept ready from the second time on that it is opened; that of the pool
    itself, and those that `ready` was called for, from the beginning. Options that name a
    conversation are never kept ready. The sessions that were handed out belong to whoever opened
    them, and outlive the pool.

    Args:
        options: what to ask for, unless `open` says otherwise.
        size: how many CLIs of each kind are kept ready.
        most_starting: how many are started at once, those included that somebody waits for.
        transport: how to get a CLI, instead of starting a process.
        max_idle: for how many seconds a CLI is kept ready that nobody takes. Then it is ended, and
            there will be new ones when its kind is next opened. None to keep it.
        changes: single options, instead of those in `options`.

    Raises:
        OptionsError: they make no sense.
    """

    def __init__(
        self,
        options: Options | None = None,
        *,
        size: int = 2,
        most_starting: int = 4,
        transport: Connect | None = None,
        max_idle: float | None = None,
        **changes: Unpack[OptionsDict],
    ) -> None:
        if transport is not None and not callable(transport):
            raise OptionsError("A pool needs a way to get CLIs, and not a single transport")
        if size < 0 or most_starting < 1 or (max_idle is not None and not max_idle > 0):
            raise OptionsError("size has to be 0 or more, most_starting and max_idle more than 0")
        self.options: Options = (options or Options()).replace(**changes)
        self._size = size
        self._most_starting = most_starting
        self._transport = transport
        self._max_idle = max_idle
        self._kinds: list[Kind] = []
        """Those asked for longest ago first."""
        self._returned: deque[tuple[Kind, Session]] = deque()
        self._starts: set[anyio.CancelScope] = set()
        self._taken: weakref.WeakSet[Session] = weakref.WeakSet()
        self._hits = self._misses = 0
        self._changed = Signal()
        self._is_open = self._closing = False
        self._finished: anyio.Event | None = None

    # --- beginning and end -----------------------------------------------------------------------

    async def start(self) -> Pool:
        """Begin to start CLIs. It does not wait for them; `ready` does.

        Raises:
            SessionClosed: it has been started before.
        """
        if self._finished is not None:
            raise SessionClosed("A pool is started once")
        self._finished = anyio.Event()
        self._is_open = True
        self._kind(self.options).keep(self._size)
        run_detached(self._run, "claudewire pool", self._be_over)
        await anyio.lowlevel.checkpoint()
        return self

    async def close(self) -> None:
        """End the CLIs that are ready, or being started, all at once. No more can be opened.

        It is safe to call twice and from any task. If the caller is cancelled, the end takes its
        course all the same.
        """
        self._is_open = False
        self._closing = True
        self._changed.notify()
        if self._finished is not None:
            with anyio.CancelScope(shield=True):
                await self._finished.wait()

    async def __aenter__(self) -> Pool:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<Pool {self.stats}>"

    @property
    def stats(self) -> PoolStats:
        """How it is doing."""
        return PoolStats(
            warm=sum(len(kind.warm) for kind in self._kinds),
            starting=len(self._starts),
            taken=sum(session.failure is None for session in self._taken),
            hits=self._hits,
            misses=self._misses,
        )

    # --- what others do --------------------------------------------------------------------------

    def open(self, **changes: Unpack[OptionsDict]) -> PooledSession:
        """Open a session. It happens when this is awaited, or entered with `async with`.

        Args:
            changes: single options, instead of those of the pool.

        Raises:
            OptionsError: they make no sense.
        """
        return PooledSession(self, self.options.replace(**changes) if changes else self.options)

    async def ready(self, **changes: Unpack[OptionsDict]) -> None:
        """Have CLIs of this kind kept ready, and wait until they are.

        Raises:
            OptionsError: they make no sense, or name a conversation.
            CLIError: one cannot be started; its `cause` says why.
            SessionClosed: the pool is closed.
        """
        self._check()
        kind = self._kind(self.options.replace(**changes) if changes else self.options)
        if not kind.may_be_kept:
            raise OptionsError("CLIs for one conversation, or for a worktree, are not kept ready")
        kind.keep(self._size)
        kind.try_again()
        self._changed.notify()
        await self._changed.until(lambda: self._closing or kind.is_settled)
        self._check()
        if kind.failure is not None:
            raise kind.failure.with_traceback(None)

    async def take(self, options: Options) -> Session:
        """Give a session that is ready, or wait for one; see `open`."""
        await anyio.lowlevel.checkpoint()
        self._check()
        kind = self._kind(options)
        kind.wanted(self._size)
        session = kind.take()
        if session is None:
            self._misses += 1
            session = await self._wish(kind)
        else:
            self._hits += 1
        self._taken.add(session)
        self._changed.notify()
        return session

    async def _wish(self, kind: Kind) -> Session:
        wish = Wish()
        kind.wishes.append(wish)
        self._changed.notify()
        try:
            await wish.fulfilled.wait()
        except BaseException:
            if wish.session is not None:
                self._give_back(kind, wish.session)
            elif wish in kind.wishes:
                kind.wishes.remove(wish)
            raise
        return wish.get()

    def _give_back(self, kind: Kind, session: Session) -> None:
        """Whoever waited for a session is gone; it was never used."""
        if self._is_open:
            self._returned.append((kind, session))
            self._changed.notify()
        else:
            session._core.close(now=True)

    def _check(self) -> None:
        if not self._is_open:
            raise SessionClosed("The pool is not open")

    def _kind(self, options: Options) -> Kind:
        """Find the kind of these options, or begin one; it is now the last to be forgotten."""
        found = next((it for it in self._kinds if it.is_of(options)), None)
        if found is None:
            found = Kind(options)
        else:
            self._kinds.remove(found)
        self._kinds.append(found)
        return found

    # --- the task of its own ---------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            async with anyio.create_task_group() as tasks:
                while not self._closing:
                    self._forget_some(tasks)
                    seconds = self._start_some(tasks)
                    with anyio.move_on_after(seconds):
                        await self._changed.wait()
                self._end(tasks)
        except Exception:
            log.exception("The pool failed")
        finally:
            self._be_over()

    def _be_over(self) -> None:
        self._is_open = False
        self._closing = True
        for kind in self._kinds:
            kind.disappoint(SessionClosed("The pool was closed"))
        assert self._finished is not None
        self._finished.set()

    def _end(self, tasks: anyio.abc.TaskGroup) -> None:
        for scope in self._starts:
            scope.cancel()
        for kind in self._kinds:
            kind.disappoint(SessionClosed("The pool was closed"))
            for session in kind.clear():
                tasks.start_soon(session.close)
        for _, session in self._returned:
            tasks.start_soon(session.close)

    def _forget_some(self, tasks: anyio.abc.TaskGroup) -> None:
        """Put away what was given back, and end what is too much."""
        while self._returned:
            tasks.start_soon(self._stock, *self._returned.popleft())
        kept = [kind for kind in self._kinds if kind.size]
        for kind in kept[: max(0, len(kept) - MOST_KINDS)]:
            kind.size = 0
            for session in kind.clear():
                tasks.start_soon(session.close)
        spare = len(self._kinds) - MOST_KINDS
        for kind in [kind for kind in self._kinds if kind.is_idle][: max(0, spare)]:
            self._kinds.remove(kind)

    def _start_some(self, tasks: anyio.abc.TaskGroup) -> float | None:
        """Start what is lacking; say after how many seconds there may be more to do."""
        for kind in self._kinds:  # those first that somebody waits for
            while kind.is_awaited and self._may_start():
                self._start(kind, tasks)
        now = anyio.current_time()
        for kind in self._kinds:
            while kind.lacks > 0 and kind.not_before <= now and self._may_start():
                self._start(kind, tasks)
        pauses = [kind.not_before - now for kind in self._kinds if kind.lacks > 0]
        return min((pause for pause in pauses if pause > 0), default=None)

    def _may_start(self) -> bool:
        return len(self._starts) < self._most_starting

    def _start(self, kind: Kind, tasks: anyio.abc.TaskGroup) -> None:
        scope = anyio.CancelScope()
        self._starts.add(scope)
        kind.starting += 1
        tasks.start_soon(self._tend, kind, scope)

    async def _tend(self, kind: Kind, scope: anyio.CancelScope) -> None:
        """See to one CLI, from its start until somebody has it or it has ended."""
        session = Session(kind.options, transport=self._transport)
        failure: Exception | None = None
        try:
            with scope:
                await session.start()
        except Exception as error:
            failure = error
        finally:
            self._starts.discard(scope)
            kind.starting -= 1
            self._changed.notify()
        if failure is not None:
            log.warning("A CLI could not be started for the pool: %s", failure)
            kind.failed(failure)
            kind.tell(failure)
        elif not scope.cancelled_caught:
            kind.failure = None
            await self._stock(kind, session)

    async def _stock(self, kind: Kind, session: Session) -> None:
        """Hand a session out, or keep it until it is."""
        if kind.wishes:
            kind.wishes.popleft().fulfil(session)
            return
        if self._closing or len(kind.warm) >= kind.size:
            await session.close()
            return
        with anyio.CancelScope() as watch:
            kind.warm[session] = watch
            self._changed.notify()
            with anyio.move_on_after(self._max_idle):
                core = session._core
                await core.changed.until(lambda: core.is_dead)
        if session in kind.warm:
            del kind.warm[session]
            await self._lose(kind, session)

    async def _lose(self, kind: Kind, session: Session) -> None:
        """Nobody has taken a session before it died, or got too old."""
        if session.failure is None:
            kind.size = 0  # nobody seems to need so many
        else:
            log.warning("A CLI that was kept ready has ended: %s", session.failure)
            kind.failed(session.failure)
        self._changed.notify()
        await session.close()


class PooledSession:
    """A session that is to be opened from a pool: `async with` it, or await it."""

    def __init__(self, pool: Pool, options: Options) -> None:
        self._pool = pool
        self._options = options
        self._session: Session | None = None

    async def __aenter__(self) -> Session:
        self._session = await self._pool.take(self._options)
        return self._session

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._session is not None
        await self._session.close()

    def __await__(self) -> Generator[Any, None, Session]:
        return self._pool.take(self._options).__await__()
