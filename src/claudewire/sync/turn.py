"""One prompt and exactly its own reply, without async; and other things that are read in a loop."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..session import ItemQueue, OutputT, Reply, SessionEvent, TextPieces, TurnState
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


class Reader(Generic[ItemT]):
    """A loop over what comes. Several threads may read; each item goes to one of them."""

    def __init__(
        self,
        portal: Portal,
        queue: ItemQueue[Any],
        note: Callable[[Any], Iterable[ItemT]],
        timeout: float | None = None,
    ) -> None:
        self._portal = portal
        self._queue = queue
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
                return self._queue.take_next()
            except IndexError:
                if not self._portal.call(self._queue.readable, timeout=timeout):
                    raise StopIteration from None


class Turn(Generic[OutputT]):
    """A prompt that was sent, or a turn that the CLI began by itself.

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
        """The message that was sent; None if the CLI began by itself."""
        return self._turn.prompt

    @property
    def uuid(self) -> str | None:
        """The prompt's id on the wire; None if the CLI began by itself."""
        return self._turn.uuid

    @property
    def key(self) -> str:
        """The turn's name in the ledger."""
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
        """How many messages have not been read yet."""
        return self._turn.unread

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages so far, read or not, without the pieces of messages."""
        return self._turn.messages

    # --- reading ---------------------------------------------------------------------------------

    def __iter__(self) -> Reader[Message]:
        return self.read()

    def read(self, *, timeout: float | None = None) -> Reader[Message]:
        """Iterate over the messages as they arrive.

        Args:
            timeout: for how many seconds none may come; a `TimeoutError` then.
        """
        return Reader(self._portal, self._turn._queue, lambda message: (message,), timeout)

    def iter_text(self, *, timeout: float | None = None) -> Reader[str]:
        """Iterate over the text of the main conversation as it arrives, piece by piece.

        Without partial messages the pieces are whole blocks.

        Args:
            timeout: for how many seconds no message may come; a `TimeoutError` then.
        """
        return Reader(self._portal, self._turn._queue, TextPieces().note, timeout)

    def iter_blocks(self, *, timeout: float | None = None) -> Reader[LiveBlock]:
        """Iterate over the blocks, each whenever it has changed: it grows, then it is complete.

        Blocks of subagents come too; `block.agent` tells whose a block is.

        Args:
            timeout: for how many seconds no message may come; a `TimeoutError` then.
        """
        return Reader(self._portal, self._turn._queue, Assembler().note, timeout)

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
            CLIError: the CLI has exited without a result.
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
    """The CLI has begun a turn by itself."""

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
    """An endless loop over everything that happens from now on; it ends with the session.

    Use it as a context manager, or call `close` when you have heard enough. What is not read is
    kept, up to the limit: then the oldest event is dropped, and `dropped` counts it.
    """

    def __init__(self, inner: AsyncSubscription[Event | SessionEvent], portal: Portal) -> None:
        self._inner = inner
        self._portal = portal
        self._reader: Reader[Event | SessionEvent] = Reader(portal, inner._queue, self._note)

    def _note(self, it: Event | SessionEvent) -> tuple[Event | SessionEvent]:
        if isinstance(it, AsyncTurnStarted):
            return (TurnStarted(Turn(it.turn, self._portal)),)
        return (it,)

    @property
    def dropped(self) -> int:
        """How many events were dropped because they were not read."""
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
        """Take the events that are there, without waiting."""
        return [self._note(it)[0] for it in self._portal.do(self._inner.take)]

    def close(self) -> None:
        """Get no more events. Those that are there can still be read."""
        self._portal.do(self._inner.close)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
