"""A request that waits for a person: what is asked, since when, and how it ended.

The first answer counts, whichever task or thread it comes from. A request can also be withdrawn, by
the CLI or because the turn or the session is over, and it can expire; then the answer is no.
"""

from __future__ import annotations

import inspect
import logging
import re
import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from time import monotonic as _monotonic
from time import time as _time
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar, cast

from ..concurrency import Latch
from ..errors import Error

__all__ = [
    "ANSWERED",
    "EXPIRED",
    "USUAL_CLOCK",
    "WAITING",
    "AnswerError",
    "Clock",
    "Keeper",
    "Pending",
    "PendingKind",
    "PendingState",
    "decided_here",
    "require_text",
]

logger: logging.Logger = logging.getLogger("claudewire.people")

AnswerT = TypeVar("AnswerT")

PendingKind = Literal["permission", "question", "plan", "elicitation", "dialog"]


class AnswerError(Error, ValueError):
    """An answer that does not fit the request. The request still waits."""


_UNSAFE = re.compile(r"[^A-Za-z0-9._~-]+")
"""What would have to be quoted in a URL, or would be taken for a part of the path."""


def require_text(what: str, text: object) -> str:
    """Check that something is a string, and not an empty one.

    Raises:
        AnswerError: it is not.
    """
    if not isinstance(text, str) or not text.strip():
        raise AnswerError(f"{what} must be a string that is not empty, not {text!r}")
    return text


class PendingState(StrEnum):
    """Whether a request still waits, or how it ended."""

    WAITING = "waiting"
    ANSWERED = "answered"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


# To look them up in their enumeration takes longer.
WAITING, ANSWERED, EXPIRED = PendingState.WAITING, PendingState.ANSWERED, PendingState.EXPIRED


@dataclass(frozen=True, slots=True)
class Clock:
    """Where the time comes from.

    Attributes:
        time: the time of day, as `time.time` has it.
        monotonic: for durations.
    """

    time: Callable[[], float] = _time
    monotonic: Callable[[], float] = _monotonic


USUAL_CLOCK: Clock = Clock()


decided_here: ContextVar[Pending[Any] | None] = ContextVar("decided_here", default=None)
"""The request whose handler runs here, or in what it was started by: answers to it are made there,
but not given. `set` and `reset` it around the handler."""


class Keeper(Protocol):
    """Keeps requests that wait: an inbox."""

    def _remove(self, request: Pending[Any]) -> None:
        """Note that a request has ended. It may be called more than once."""


class Pending(Generic[AnswerT]):
    """Something that a person is asked.

    The methods that answer it (`allow`, `deny`, `answer`, …) return the answer as it goes to the
    CLI, and the first call decides. Inside a handler that was called with this request they only
    make the answer: there, what the handler returns decides.

    Attributes:
        kind: what kind of request it is.
        actions: the names of the methods that answer it.
        id: unique in its inbox. It has letters, digits and `-._~` only, and so can be in a URL.
        session: which session asks.
        agent_id: which subagent asks; None for the main one.
        since: when it came, as `time.time` counts.
        expires: when the answer becomes no, as `time.time` counts; None for never.
        state: whether it waits, or how it ended.
        ending: how it ended, in words; empty while it waits.
        by: who answered, as far as it is known.
        result: the answer that counts; None while it waits.
    """

    kind: ClassVar[PendingKind]
    actions: ClassVar[tuple[str, ...]]

    # What holds until something happens. The CLI waits while a request is made, so it should not
    # take long.
    expires: float | None = None
    state: PendingState = WAITING
    ending: str = ""
    by: str = ""
    result: AnswerT | None = None
    _ended: float | None = None
    _made: tuple[AnswerT, ...] = ()
    _done: Latch | None = None
    _inbox: Keeper | None = None
    _answered_by_another: Callable[[], object] | None = None
    """Called when it has ended while its handler runs, and not because of its handler."""

    _lock: ClassVar[threading.Lock] = threading.Lock()
    """For all of them: it is held for a moment, and nothing else is called meanwhile."""

    def __init__(
        self,
        request_id: str,
        *,
        title: str | None = None,
        session: str = "",
        agent_id: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or USUAL_CLOCK
        self.id: str = _UNSAFE.sub("-", f"{session}.{request_id}" if session else request_id)
        self._title = title
        self.session = session
        self.agent_id = agent_id
        self.since: float = self._clock.time()
        self._began = self._clock.monotonic()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r} {self.state.value}: {self.title}>"

    # --- facts -----------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """What is asked, in one line."""
        if self._title is None:
            self._title = self._make_title()
        return self._title

    def _make_title(self) -> str:
        raise NotImplementedError

    @property
    def is_waiting(self) -> bool:
        """Whether an answer would still count."""
        return self.state is WAITING

    @property
    def waited(self) -> float:
        """How many seconds it has waited so far, or did until it ended."""
        now = self._now() if self._ended is None else self._ended
        return now - self._began

    def _now(self) -> float:
        try:
            return self._clock.monotonic()
        except BaseException:  # a clock of the application; a request must end nevertheless
            logger.exception("The clock of the inbox raised an exception")
            return self._began

    def describe(self) -> dict[str, Any]:
        """Everything there is to show about it, as JSON types."""
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

    def resolve(self, answer: object, *, by: str = "") -> bool:
        """Give an answer, from any thread.

        Returns:
            whether it is the one that counts: the first one does.

        Raises:
            TypeError: this is not an answer to such a request.
        """
        if answer is self.result and answer is not None:
            return True
        return self._settle(self._fitted(answer), by)

    def withdraw(self, reason: str = "withdrawn") -> bool:
        """End it without a decision, from any thread; the answer is then no.

        Returns:
            whether that ended it. It did not if the request had ended already.
        """
        return self.is_waiting and self._end(PendingState.WITHDRAWN, self._denial(reason), reason)

    def _settle(self, answer: AnswerT, by: str) -> bool:
        who = f" by {by}" if by else ""
        return self._end(ANSWERED, answer, f"answered{who}", by)

    def _fitted(self, answer: object) -> AnswerT:
        """Check that something is an answer to this request, and complete it.

        Raises:
            TypeError: it is not.
        """
        raise NotImplementedError

    def _denial(self, reason: str) -> AnswerT:
        """Make the answer that stands for no."""
        raise NotImplementedError

    def _end(self, state: PendingState, result: AnswerT, ending: str, by: str = "") -> bool:
        now = self._now()
        with self._lock:
            if self.state is not WAITING:
                return False
            self.result, self.ending, self.by, self._ended = result, ending, by, now
            self.state = state
            done, inbox, another = self._done, self._inbox, self._answered_by_another
            # It refers to the request, which lets it go, so that it is not left to Python's garbage
            # collector, which takes long when there are thousands.
            self._answered_by_another = None
        if inbox is not None:
            inbox._remove(self)
        if done is not None:
            done.set()
        if another is not None:
            another()
        return True

    def _wait_in(self, inbox: Keeper) -> None:
        """Have an inbox told when it has ended; at once if it has."""
        self._inbox = inbox  # before the look at the state, which `_end` sets before it looks here
        if self.state is not WAITING:
            inbox._remove(self)

    async def wait(self) -> AnswerT:
        """Wait until it has ended, and return the answer that counts."""
        with self._lock:
            self._done = done = self._done or Latch()
            has_ended = self.state is not WAITING
        if has_ended:
            done.set()
        await done.wait()
        return cast("AnswerT", self.result)

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
        if decided_here.get() is self:
            self._made += (answer,)
        else:
            self.resolve(answer)
        return answer

    def _returned(self, value: object) -> AnswerT:
        """Read what a handler returned; None stands for the only answer that it made.

        Raises:
            TypeError: it is not an answer.
        """
        only = value is None and len(self._made) == 1
        return self._fitted(self._made[0] if only else value)
