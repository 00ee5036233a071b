"""A request that waits for a person: what is asked, since when, and how it ended.

The first answer wins, whichever task or thread it comes from. A request can also be withdrawn, by
the CLI or because the turn or the session is over, and it can expire; then the answer is no.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from time import monotonic as _monotonic
from time import time as _time
from typing import Any, ClassVar, Generic, Literal, TypeVar, cast

from ..concurrency import Latch
from ..errors import Error

__all__ = ["AnswerError", "Clock", "Pending", "PendingKind", "PendingState", "require_text"]

AnswerT = TypeVar("AnswerT")

PendingKind = Literal["permission", "question", "plan", "elicitation", "dialog"]


class AnswerError(Error, ValueError):
    """An answer that does not fit what was asked. It has not been given; ask again."""


def require_text(what: str, text: object) -> str:
    """Check that something is a text, and not an empty one.

    Raises:
        AnswerError: it is not.
    """
    if not isinstance(text, str) or not text.strip():
        raise AnswerError(f"{what} has to be a text that says something, and not {text!r}")
    return text


class PendingState(StrEnum):
    """What has become of a request."""

    WAITING = "waiting"
    ANSWERED = "answered"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Clock:
    """Where the time comes from.

    Attributes:
        time: the time of day, as `time.time` has it.
        monotonic: for durations.
    """

    time: Callable[[], float] = _time
    monotonic: Callable[[], float] = _monotonic


_decided_here: ContextVar[Pending[Any] | None] = ContextVar("_decided_here", default=None)


class Pending(Generic[AnswerT]):
    """Something that a person is asked.

    The methods that answer it (`allow`, `deny`, `answer`, …) give the answer as it goes to the CLI,
    and the first one of them decides. Inside a handler that was called with this request they only
    make the answer: there, what the handler returns decides.

    Attributes:
        kind: what kind of request it is.
        actions: the names of the methods that answer it.
        id: unique in its inbox.
        title: what is asked, in one line.
        session: which session asks.
        agent_id: which subagent asks; None for the main one.
        since: the time of day when it came.
        expires: the time of day when it is taken for answered with no; None for never.
    """

    kind: ClassVar[PendingKind]
    actions: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        request_id: str,
        *,
        title: str,
        session: str = "",
        agent_id: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or Clock()
        self.id: str = f"{session}/{request_id}" if session else request_id
        self.title = title
        self.session = session
        self.agent_id = agent_id
        self.since: float = self._clock.time()
        self.expires: float | None = None
        self._began = self._clock.monotonic()
        self._ended: float | None = None
        self._state = PendingState.WAITING
        self._ending = ""
        self._by = ""
        self._result: AnswerT | None = None
        self._lock = threading.Lock()
        self._done = Latch()
        self._made: list[AnswerT] = []
        self._told: Callable[[Pending[Any]], None] | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r} {self._state.value}: {self.title}>"

    # --- facts -----------------------------------------------------------------------------------

    @property
    def state(self) -> PendingState:
        """Whether it waits, or how it ended."""
        return self._state

    @property
    def is_waiting(self) -> bool:
        """Whether an answer would still count."""
        return self._state is PendingState.WAITING

    @property
    def ending(self) -> str:
        """How it ended, in words; empty while it waits."""
        return self._ending

    @property
    def by(self) -> str:
        """Who answered, as far as it is known."""
        return self._by

    @property
    def result(self) -> AnswerT | None:
        """The answer that counts; None while it waits."""
        return self._result

    @property
    def waited(self) -> float:
        """For how many seconds it has waited, or did."""
        now = self._clock.monotonic() if self._ended is None else self._ended
        return now - self._began

    def describe(self) -> dict[str, Any]:
        """All that there is to show, as JSON has it."""
        return {
            "id": self.id,
            "kind": self.kind,
            "title": self.title,
            "session": self.session,
            "agent_id": self.agent_id,
            "since": self.since,
            "expires": self.expires,
            "actions": list(self.actions),
        }

    # --- ending it -------------------------------------------------------------------------------

    def fit(self, answer: object) -> AnswerT:
        """Check that something is an answer to this request, and complete it.

        Raises:
            TypeError: it is none.
        """
        raise NotImplementedError

    def no(self, reason: str) -> AnswerT:
        """Make the answer that stands for no, without giving it."""
        raise NotImplementedError

    def resolve(self, answer: object, *, by: str = "") -> bool:
        """Give an answer, from any thread.

        Returns:
            whether it is the one that counts: the first one does.

        Raises:
            TypeError: it is no answer to this request.
        """
        if answer is self._result and answer is not None:
            return True
        fitting = self.fit(answer)
        who = f" by {by}" if by else ""
        return self._end(PendingState.ANSWERED, fitting, f"answered{who}", by)

    def withdraw(self, reason: str = "withdrawn") -> bool:
        """Take it back, from any thread: nobody wants the answer any more."""
        return self._end(PendingState.WITHDRAWN, self.no(reason), reason)

    def expire(self, reason: str = "nobody decided in time") -> bool:
        """Take it for answered with no, because it has waited long enough."""
        return self._end(PendingState.EXPIRED, self.no(reason), reason)

    def _end(self, state: PendingState, result: AnswerT, ending: str, by: str = "") -> bool:
        with self._lock:
            if self._state is not PendingState.WAITING:
                return False
            self._result, self._ending, self._by = result, ending, by
            self._ended = self._clock.monotonic()
            self._state = state
        try:
            if self._told is not None:
                self._told(self)
        finally:
            self._done.set()
        return True

    async def wait(self) -> AnswerT:
        """Wait until it has ended, and give the answer that counts."""
        await self._done.wait()
        return cast("AnswerT", self._result)

    # --- answering -------------------------------------------------------------------------------

    def act(self, action: str, arguments: Mapping[str, Any] | None = None) -> AnswerT:
        """Answer by the name of an action, as a remote peer does.

        Raises:
            AnswerError: there is no such action, or it does not take these arguments.
        """
        if action not in self.actions:
            known = ", ".join(self.actions)
            raise AnswerError(f"A {self.kind} cannot be answered with {action!r}; it takes {known}")
        method: Callable[..., AnswerT] = getattr(self, action)
        try:
            given = inspect.signature(method).bind(**(arguments or {}))
        except TypeError as error:
            raise AnswerError(f"{action!r} does not take these arguments: {error}") from None
        return method(*given.args, **given.kwargs)

    def _give(self, answer: AnswerT) -> AnswerT:
        """Let an answer count; in a handler of this request only remember it."""
        if _decided_here.get() is self:
            self._made.append(answer)
        else:
            self.resolve(answer)
        return answer

    @contextmanager
    def being_decided(self) -> Iterator[None]:
        """While this lasts, and in what is started meanwhile, answers are made but not given."""
        token = _decided_here.set(self)
        try:
            yield
        finally:
            _decided_here.reset(token)

    def returned(self, value: object) -> AnswerT:
        """Read what a handler has returned; nothing stands for the only answer that it made.

        Raises:
            TypeError: it is no answer.
        """
        if value is None and len(self._made) == 1:
            return self._made[0]
        return self.fit(value)
