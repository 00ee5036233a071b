"""A pool of CLIs that are started ahead of time, without async."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


class Pool:
    """A pool of CLIs that are started ahead of time.

        with claudewire.sync.Pool(model="sonnet") as pool:
            with pool.open() as claude:
                reply = claude.ask("Hello")

    Arguments and methods are those of `claudewire.Pool`. Methods that wait take a `timeout` in
    seconds, and raise `TimeoutError` after it.
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
        self._pool = AsyncPool(
            options,
            size=size,
            max_starting=max_starting,
            transport=transport,
            **changes,
        )
        self._portal = portal()

    @property
    def options(self) -> Options:
        """The options of every session."""
        return self._pool.options

    @property
    def stats(self) -> PoolStats:
        """The number of CLIs, and how often one was ready."""
        return self._portal.do(lambda: self._pool.stats)

    def start(self) -> Pool:
        """Start to fill the pool, without waiting; `ready` waits."""
        self._portal.close_at_exit(self._pool)
        self._portal.call(self._pool.start)
        return self

    def close(self) -> None:
        """End all CLIs that are idle or starting. No session can be opened after that."""
        self._portal.call(self._pool.close)

    def __enter__(self) -> Pool:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, *, name: str | None = None, timeout: float | None = None) -> Session[Any]:
        """Open a session."""

        async def take() -> AsyncSession[Any]:
            return await self._pool.open(name=name)

        return Session(self._portal.call_within(timeout, take), self._portal)

    def ready(self, *, timeout: float | None = None) -> None:
        """Wait until the pool is full."""
        self._portal.call_within(timeout, self._pool.ready)
