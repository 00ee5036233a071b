"""One prompt and exactly its own reply, without async; and other things that are read in a loop."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ..session import OutputT, Reply, SessionEvent, TextPieces, TurnState
from ..session import Subscription as AsyncSubscription
from ..session import Turn as AsyncTurn
from ..session import TurnStarted as AsyncTurnStarted
from ..tracking import Assembler, LiveBlock
from ..wire import Event
from .portal import Portal

if TYPE_CHECKING:
    from ..wire import Message, ResultMessage, UserMessage

__all__ = ["InterruptReceipt", "Reader", "Subscription", "Turn", "TurnStarted"]

ItemT = TypeVar("ItemT")
ItemT_co = TypeVar("ItemT_co", covariant=True)


class _Source(Protocol[ItemT_co]):
    """What can be read: waiting happens in the event loop, taking in the thread of the reader.

    So nothing is taken for a reader who has just been interrupted, and all that has come is read
    without a visit to the event loop.
    """

    def take_next(self) -> ItemT_co: ...

    async def readable(self) -> bool: ...


class Reader(Generic[ItemT]):
    """A loop over what comes. Several threads may read; each item goes to one of them."""

    def __init__(
        self,
        portal: Portal,
        source: _Source[Any],
        note: Callable[[Any], Iterable[ItemT]],
        timeout: float | None = None,
    ) -> None:
        self._portal = portal
        self._source = source
        self._note = note
        self._timeout = timeout
        self._items: deque[ItemT] = deque()

    def __iter__(self) -> Reader[ItemT]:
        return self

    def __next__(self) -> ItemT:
        return self.get(self._timeout)

    def get(self, timeout: float | None = None) -> ItemT:
        """Wait for the next.

        Raises:
            TimeoutError: nothing came for so many seconds.
            StopIteration: nothing will come any more.
            Error: nothing will come any more, because of this.
        """
        while True:
            try:
                return self._items.popleft()
            except IndexError:
                self._items.extend(self._note(self._next(timeout)))

    def _next(self, timeout: float | None) -> Any:
        while True:
            try:
                return self._source.take_next()
            except IndexError:
                if not self._portal.call(self._source.readable, timeout=timeout):
                    raise StopIteration from None


class Turn(Generic[OutputT]):
    """A prompt that was sent, or a turn that nobody asked for.

    Iterate it for its messages, or use `iter_text()` or `iter_blocks()`. `reply()` waits for its
    `Reply`.
    """

    def __init__(self, turn: AsyncTurn[OutputT], portal: Portal) -> None:
        self._turn = turn
        self._portal = portal

    def __repr__(self) -> str:
        return repr(self._turn)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Turn) and other._turn is self._turn

    def __hash__(self) -> int:
        return hash(self._turn)

    # --- facts -----------------------------------------------------------------------------------

    @property
    def prompt(self) -> UserMessage | None:
        """What was said; None if nobody asked for this turn."""
        return self._turn.prompt

    @property
    def uuid(self) -> str | None:
        """The name of the prompt on the wire; None if nobody asked for this turn."""
        return self._turn.uuid

    @property
    def key(self) -> str:
        """The name of the turn in the ledger, whether it was asked for or not."""
        return self._turn.key

    @property
    def state(self) -> TurnState:
        """How far it has come."""
        return self._turn.state

    @property
    def merged(self) -> bool:
        """Whether the CLI answered it together with another turn, which has the messages."""
        return self._turn.merged

    @property
    def was_asked_for(self) -> bool:
        """False for a turn that the CLI began by itself: a wake-up, a task that ended."""
        return self._turn.was_asked_for

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self._turn.is_over

    @property
    def unread(self) -> int:
        """How many messages nobody has read yet."""
        return self._turn.unread

    @property
    def messages(self) -> tuple[Message, ...]:
        """All that has come so far, read or not, without the pieces of messages."""
        return self._turn.messages

    # --- reading ---------------------------------------------------------------------------------

    def __iter__(self) -> Reader[Message]:
        return self.read()

    def read(self, *, timeout: float | None = None) -> Reader[Message]:
        """Give the messages as they come.

        Args:
            timeout: for how many seconds none may come; a `TimeoutError` then.
        """
        return Reader(self._portal, self._turn, lambda message: (message,), timeout)

    def iter_text(self, *, timeout: float | None = None) -> Reader[str]:
        """Give the text of the main conversation as it comes, piece by piece.

        Without partial messages the pieces are whole blocks.

        Args:
            timeout: for how many seconds no message may come; a `TimeoutError` then.
        """
        return Reader(self._portal, self._turn, TextPieces().note, timeout)

    def iter_blocks(self, *, timeout: float | None = None) -> Reader[LiveBlock]:
        """Give each block whenever it has changed: it grows, then it is complete.

        Blocks of subagents come too; `block.agent` tells whose a block is.

        Args:
            timeout: for how many seconds no message may come; a `TimeoutError` then.
        """
        return Reader(self._portal, self._turn, Assembler().note, timeout)

    def wait_started(self, timeout: float | None = None) -> None:
        """Wait until the CLI works on it, or never will.

        Raises:
            TimeoutError: it has not begun within so many seconds.
        """
        self._portal.call(self._turn.started.wait, timeout=timeout)

    def reply(self, timeout: float | None = None) -> Reply[OutputT]:
        """Wait for the end of the turn.

        Raises:
            TimeoutError: it has not ended within so many seconds. It goes on.
            CLIError: the CLI is gone, and with it the result.
            TurnError: the turn was cancelled, given up, or its output is not what was asked for.
        """
        return self._portal.call(self._turn.reply, timeout=timeout)

    def cancel(self) -> bool:
        """Take the prompt back, if the CLI has not begun with it.

        Returns:
            whether it was taken back. A running turn is stopped by the session's `interrupt`.
        """
        return self._portal.call(self._turn.cancel)


@dataclass(frozen=True, slots=True)
class TurnStarted(SessionEvent):
    """A turn has begun that nobody asked for."""

    turn: Turn[Any]


@dataclass(frozen=True, slots=True)
class InterruptReceipt:
    """What an interrupt did.

    Attributes:
        acknowledged: whether the CLI said that it got it.
        turn: the turn that was stopped; None if none was running.
        result: that turn's result; None if it has not come.
        still_queued: turns that are still to come, here or in the CLI.
        cancelled: turns that were dropped.
        steps: what had to be done, one word for each step.
    """

    acknowledged: bool
    turn: Turn[Any] | None = None
    result: ResultMessage | None = None
    still_queued: tuple[Turn[Any], ...] = ()
    cancelled: tuple[Turn[Any], ...] = ()
    steps: tuple[str, ...] = ()


class Subscription:
    """An endless loop over what happens from now on; it ends with the session.

    Use it as a context manager, or call `close` when you have heard enough. What is not read is
    kept, up to the limit: then the oldest goes, and `dropped` counts it.
    """

    def __init__(self, inner: AsyncSubscription[Event | SessionEvent], portal: Portal) -> None:
        self._inner = inner
        self._portal = portal
        self._reader: Reader[Event | SessionEvent] = Reader(portal, inner, self._note)

    def _note(self, it: Event | SessionEvent) -> tuple[Event | SessionEvent]:
        if isinstance(it, AsyncTurnStarted):
            return (TurnStarted(Turn(it.turn, self._portal)),)
        return (it,)

    @property
    def dropped(self) -> int:
        """How many have gone because nobody read them."""
        return self._inner.dropped

    def __iter__(self) -> Iterator[Event | SessionEvent]:
        return self._reader

    def get(self, timeout: float | None = None) -> Event | SessionEvent:
        """Wait for the next.

        Raises:
            TimeoutError: nothing came for so many seconds.
            StopIteration: nothing will come any more.
        """
        return self._reader.get(timeout)

    def take(self) -> list[Event | SessionEvent]:
        """Give what has come, without waiting."""
        return [self._note(it)[0] for it in self._portal.do(self._inner.take)]

    def close(self) -> None:
        """Hear no more. What has come can still be read."""
        self._portal.do(self._inner.close)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
