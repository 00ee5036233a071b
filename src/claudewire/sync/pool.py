"""CLIs that are kept ready, without async."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from ..options import Options
from ..session import Pool as AsyncPool
from ..session import PoolStats
from ..session import Session as AsyncSession
from .portal import portal
from .session import Session

if TYPE_CHECKING:
    from typing import Unpack

    from ..launch import Connect
    from ..options import OptionsDict

__all__ = ["Pool", "PooledSession"]


class PooledSession(Session):
    """A session that came out of a pool: it is open already."""

    def __enter__(self) -> Session:
        return self


class Pool:
    """CLIs that are kept ready, so that opening a session costs milliseconds.

        with claudewire.sync.Pool(model="sonnet") as pool:
            with pool.open() as claude:
                reply = claude.ask("Hello")

    See `claudewire.Pool`.

    Args:
        options: what to ask for, unless `open` says otherwise.
        size: how many CLIs of each kind are kept ready.
        max_starting: how many are started at once, those included that somebody waits for.
        transport: how to get a CLI, instead of starting a process.
        idle_timeout: for how many seconds a CLI is kept ready that nobody takes. Then it is ended, and
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
        max_starting: int = 4,
        transport: Connect | None = None,
        idle_timeout: float | None = None,
        **changes: Unpack[OptionsDict],
    ) -> None:
        self._pool = AsyncPool(
            options,
            size=size,
            max_starting=max_starting,
            transport=transport,
            idle_timeout=idle_timeout,
            **changes,
        )
        self._portal = portal()

    @property
    def options(self) -> Options:
        """What is asked for, unless `open` says otherwise."""
        return self._pool.options

    @property
    def stats(self) -> PoolStats:
        """How it is doing."""
        return self._portal.do(lambda: self._pool.stats)

    def start(self) -> Pool:
        """Begin to start CLIs. It does not wait for them; `ready` does.

        Raises:
            SessionClosed: it has been started before.
        """
        self._portal.keep(self._pool)
        self._portal.call(self._pool.start)
        return self

    def close(self) -> None:
        """End the CLIs that are ready, or being started, all at once. No more can be opened.

        It is safe to call twice and from any thread. If the caller is interrupted, the end takes
        its course all the same.
        """
        self._portal.call(self._pool.close)

    def __enter__(self) -> Pool:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def open(self, *, timeout: float | None = None, **changes: Unpack[OptionsDict]) -> Session:
        """Open a session.

        Args:
            timeout: how long to wait for one at most; a `TimeoutError` then.
            changes: single options, instead of those of the pool.

        Raises:
            OptionsError: they make no sense.
            CLIError: there is none that is ready, and none can be started; its `cause` says why.
            SessionClosed: the pool is closed.
        """
        opening = self._pool.open(**changes)

        async def take() -> AsyncSession:
            return await opening

        return PooledSession.of(self._portal.call(take, timeout=timeout), self._portal)

    def ready(self, *, timeout: float | None = None, **changes: Unpack[OptionsDict]) -> None:
        """Have CLIs of this kind kept ready, and wait until they are.

        Args:
            timeout: how long to wait at most; a `TimeoutError` then.
            changes: single options, instead of those of the pool.

        Raises:
            OptionsError: they make no sense, or name a conversation.
            CLIError: one cannot be started; its `cause` says why.
            SessionClosed: the pool is closed.
        """

        async def ready() -> None:
            await self._pool.ready(**changes)

        self._portal.call(ready, timeout=timeout)
