"""What a pool knows about one set of options: who is ready, who is awaited, what went wrong."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import anyio

from ..options import Options
from .events import SessionState
from .session import Session

__all__ = ["Kind", "PoolStats", "Wish"]

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds until the next try when CLIs cannot be started. Whoever opens one is told at once."""


@dataclass(frozen=True, slots=True)
class PoolStats:
    """How a pool is doing.

    Attributes:
        warm: how many CLIs are ready.
        starting: how many are being started.
        taken: how many sessions were handed out and are not over.
        hits: how often there was one that was ready.
        misses: how often somebody had to wait for one.
    """

    warm: int
    starting: int
    taken: int
    hits: int
    misses: int


class Wish:
    """Somebody who waits for a session: gets one, or learns why there is none."""

    __slots__ = ("error", "fulfilled", "session")

    def __init__(self) -> None:
        self.fulfilled: anyio.Event = anyio.Event()
        self.session: Session | None = None
        self.error: Exception | None = None

    def fulfil(self, session: Session) -> None:
        """Here it is."""
        self.session = session
        self.fulfilled.set()

    def refuse(self, error: Exception) -> None:
        """There is none, because of this."""
        self.error = error
        self.fulfilled.set()

    def get(self) -> Session:
        """Give the session, once the wish is fulfilled."""
        if self.error is not None:
            raise self.error
        assert self.session is not None
        return self.session


class Kind:
    """One set of options, and the CLIs that were started with them.

    Attributes:
        size: how many are to be kept ready.
        warm: those that are, the oldest first, each with what watches over it.
        starting: how many are being started.
        wishes: who waits for one.
        failure: why the last could not be started.
        not_before: when to try again, unless somebody waits.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.size: int = 0
        self.warm: dict[Session, anyio.CancelScope] = {}
        self.starting = 0
        self.wishes: deque[Wish] = deque()
        self.failure: Exception | None = None
        self.not_before: float = -math.inf
        self._pause = 0.0
        self._was_wanted = False

    def is_of(self, options: Options) -> bool:
        """Whether these are its options."""
        return options is self.options or options == self.options

    @property
    def may_be_kept(self) -> bool:
        """Whether one CLI is as good as another, and to start it leaves no trace."""
        options = self.options
        goes_on = options.resume is not None or options.continue_conversation
        return not goes_on and options.session_id is None and not options.worktree

    @property
    def lacks(self) -> int:
        """How many more are to be started so that enough are ready when all wishes are met."""
        return self.size - len(self.warm) - max(0, self.starting - len(self.wishes))

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for one that nobody starts yet."""
        return len(self.wishes) > self.starting

    @property
    def is_idle(self) -> bool:
        """Whether it can be forgotten."""
        return not (self.size or self.warm or self.starting or self.wishes)

    @property
    def is_settled(self) -> bool:
        """Whether enough are ready, or cannot be."""
        return self.failure is not None or len(self.warm) >= self.size

    def keep(self, size: int) -> None:
        """Keep so many ready from now on, if that makes sense."""
        self._was_wanted = True
        if self.may_be_kept:
            self.size = size

    def wanted(self, size: int) -> None:
        """Somebody wants one. Who does so twice may do so again."""
        if self._was_wanted:
            self.keep(size)
        self._was_wanted = True

    def try_again(self) -> None:
        """Try without delay, whatever has happened before."""
        self.failure = None
        self.not_before = -math.inf

    def take(self) -> Session | None:
        """Give one that is ready, if there is any."""
        while self.warm:
            session = next(iter(self.warm))
            self.warm.pop(session).cancel()
            if session.state is SessionState.READY:
                self._pause = 0.0
                return session
        return None

    def clear(self) -> list[Session]:
        """Give all that are ready, for them to be ended."""
        sessions = list(self.warm)
        for watch in self.warm.values():
            watch.cancel()
        self.warm.clear()
        return sessions

    def failed(self, error: Exception) -> None:
        """One could not be started, or has died: the next try is some time off."""
        self.failure = error
        self._pause = min(2 * self._pause or FIRST_PAUSE, LONGEST_PAUSE)
        self.not_before = anyio.current_time() + self._pause

    def tell(self, error: Exception) -> None:
        """One could not be started. Tell somebody who waited for it and for no other."""
        if self.is_awaited:
            self.wishes.popleft().refuse(error)

    def disappoint(self, error: Exception) -> None:
        """Nobody who waits will get one."""
        while self.wishes:
            self.wishes.popleft().refuse(error)
