"""A request for a person's decision: its subject, its state, and the answer that counts.

The first answer counts, from any task or thread. A request also ends when the CLI withdraws it,
when its session closes, and at its deadline; the answer is then no.
"""

from __future__ import annotations

import inspect
import re
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Generic, Literal, TypeVar, cast

import anyio
import msgspec

from ..concurrency import run_soon
from ..errors import Error, visible
from ..wire import Request

AnswerT = TypeVar("AnswerT")

RequestT = TypeVar("RequestT")

ApprovalKind = Literal["permission", "question", "plan", "elicitation", "dialog"]

HandlerOf = Callable[[RequestT], AnswerT | Awaitable[AnswerT | None] | None]
"""A handler for one kind of request: a function, which runs in a thread, or a coroutine function.
Without an answer, the answer is no."""

_UNSAFE = re.compile(r"[^A-Za-z0-9._~-]+")
"""Characters that must be quoted in a URL, or would separate parts of its path."""


_LONGEST_TITLE = 200


class AnswerError(Error, ValueError):
    """An answer that does not fit the request. The request stays pending."""


class ApprovalState(StrEnum):
    """The state of a request: waiting, or the way it ended."""

    WAITING = "waiting"
    ANSWERED = "answered"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


WAITING = ApprovalState.WAITING


class ApprovalRequest(Generic[AnswerT]):
    """A request for a person's decision.

    The methods named in `actions` (`allow`, `deny`, `answer`, …) check their arguments and return
    an answer. Return it from a handler, or pass it to `resolve`.

    Attributes:
        kind: the kind of request.
        actions: the names of the methods that make an answer.
        body: the request of the CLI.
        id: unique in its inbox. Safe in a URL: only letters, digits and `-._~`.
        session: the name of the session.
        cwd: the working directory of the session, if known.
        agent_id: the asking subagent; None for the main agent.
        since: the time of arrival, like `time.time()`.
        expires: the deadline, like `time.time()`; None without one.
        state: waiting, answered, withdrawn or expired.
        ending: how the request ended, in words; empty while it is pending.
        by: who or what ended the request, if known: `rule`, `deadline`, a name.
        result: the answer that counts; None while the request is pending.
    """

    kind: ClassVar[ApprovalKind]
    actions: ClassVar[tuple[str, ...]]
    _answers: ClassVar[tuple[type, ...]]
    _shown: ClassVar[tuple[str, ...]]
    """Attributes that `describe` adds."""
    _refused: ClassVar[str] = "the answer is no"
    """The consequence of a refusal, for the model."""
    body: Any

    expires: float | None = None
    state: ApprovalState = WAITING
    ending: str = ""
    by: str = ""
    result: AnswerT | None = None
    _ended: float | None = None

    _lock: ClassVar[threading.Lock] = threading.Lock()
    """One lock for all requests: held for a moment, and no other code runs under it."""

    def __init__(self, request: Request, *, session: str = "", cwd: str | None = None) -> None:
        self.body = request.body
        self.id: str = _UNSAFE.sub("-", f"{session}.{request.id}" if session else request.id)
        self.session = session
        self.cwd = cwd
        self.agent_id: str | None = getattr(request.body, "agent_id", None)
        self.since: float = time.time()
        self._began = time.monotonic()
        self._request = request
        self._callbacks: list[Callable[[], object]] = []

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r} {self.state.value}: {self.title}>"

    @property
    def title(self) -> str:
        """The request in one line that is safe to show: our words, then those of others."""
        line = " ".join(visible(self._subject[: 10 * _LONGEST_TITLE], keep="\n\r\t").split())
        line = line if len(line) <= _LONGEST_TITLE else f"{line[:_LONGEST_TITLE]}…"
        return f"{self._heading}: {line}" if line else self._heading

    @property
    def _heading(self) -> str:
        """The beginning of the title."""
        raise NotImplementedError

    @property
    def _subject(self) -> str:
        """The rest of the title: text that a model, a server or a file chose."""
        raise NotImplementedError

    @property
    def is_waiting(self) -> bool:
        """Whether an answer would still count."""
        return self.state is WAITING

    @property
    def waited(self) -> float:
        """Seconds from the arrival of the request to its end, or to now."""
        return (self._ended or time.monotonic()) - self._began

    def describe(self) -> dict[str, Any]:
        """Return all facts that a user interface shows, as JSON types."""
        return {
            "id": self.id,
            "kind": self.kind,
            "title": self.title,
            "session": self.session,
            "agent_id": self.agent_id,
            "since": self.since,
            "expires": self.expires,
            "actions": list(self.actions),
            **{name: getattr(self, name) for name in self._shown},
        }

    # --- making an answer ------------------------------------------------------------------------

    def act(self, action: str, arguments: Mapping[str, Any] | None = None) -> AnswerT:
        """Make an answer by the name of an action and its arguments, as a remote peer does.

        Raises:
            AnswerError: the action is unknown, or does not take these arguments.
        """
        if action not in self.actions:
            known = ", ".join(self.actions)
            raise AnswerError(f"A {self.kind} cannot be answered with {action!r}, only {known}")
        method: Callable[..., AnswerT] = getattr(self, action)
        try:
            bound = inspect.signature(method).bind(**(arguments or {}))
        except TypeError as error:
            raise AnswerError(f"{action!r} does not take these arguments: {error}") from None
        return method(*bound.args, **bound.kwargs)

    def refusal(self, reason: str) -> AnswerT:
        """Make the answer that means no, for a request of any kind.

        Args:
            reason: for the model, if the kind of request can pass it on.
        """
        raise NotImplementedError

    def check(self, answer: object) -> AnswerT:
        """Check an answer to this request, and complete it for the CLI.

        Raises:
            TypeError: it does not answer requests of this kind.
        """
        if not isinstance(answer, self._answers):
            ways = " or ".join(f"`request.{action}(…)`" for action in self.actions)
            raise TypeError(f"{answer!r} answers no {self.kind}: return {ways}")
        return cast("AnswerT", answer)

    # --- ending the request ----------------------------------------------------------------------

    def resolve(self, answer: object, *, by: str = "") -> bool:
        """Answer the request, from any thread.

        Args:
            answer: returned by one of the `actions`.
            by: who answers, for the records.

        Returns:
            whether this answer counts. It does not if the request had ended before.

        Raises:
            TypeError: it does not answer requests of this kind.
        """
        how = f"answered by {by}" if by else "answered"
        return self._end(ApprovalState.ANSWERED, self.check(answer), how, by)

    def withdraw(self, reason: str = "withdrawn") -> bool:
        """End the request without a decision, from any thread: the answer is no.

        Returns:
            whether the request was pending.
        """
        return self._end(ApprovalState.WITHDRAWN, self.refusal(reason), reason, "withdrawn")

    def _end(self, state: ApprovalState, answer: AnswerT, ending: str, by: str) -> bool:
        with self._lock:
            if self.state is not WAITING:
                return False
            self.result, self.ending, self.by = answer, ending, by
            self._ended = time.monotonic()
            self.state = state
        for callback in tuple(self._callbacks):  # the router may remove one in another thread
            callback()
        return True

    def _on_end(self, callback: Callable[[], object]) -> None:
        """Call a function when the request ends, in any thread; at once if it has ended."""
        with self._lock:
            if self.state is WAITING:
                self._callbacks.append(callback)
                return
        callback()

    async def wait(self) -> AnswerT:
        """Wait for the end of the request, and return the answer that counts."""
        soon, ended = run_soon(), anyio.Event()
        self._on_end(lambda: soon(ended.set))
        await ended.wait()
        return cast("AnswerT", self.result)


def require_json(name: str, value: object) -> Any:
    """Return a value as JSON types; AnswerError if it has none."""
    try:
        plain = msgspec.to_builtins(value)
        msgspec.json.encode(plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise AnswerError(f"{name} cannot be written as JSON: {error}") from None
    return plain


def require_text(name: str, text: object) -> str:
    """Return a string; AnswerError if it is blank or no string."""
    if not isinstance(text, str) or not text.strip():
        raise AnswerError(f"{name} must be a string that is not empty, got {text!r}")
    return text


_WORD = re.compile(r"[\w./~-]{1,80}", re.ASCII)


def word(text: str, otherwise: str) -> str:
    """Return a name that can stand in our own words: one word, not a sentence."""
    return text if _WORD.fullmatch(text) else otherwise
