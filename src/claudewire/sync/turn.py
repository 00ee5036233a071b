"""One prompt and its reply, without async; and everything else that is read in a loop."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec.structs import replace

from ..errors import SessionClosed
from ..session import (
    DEFAULT,
    Escalation,
    InterruptReceipt,
    ItemQueue,
    OutputT,
    Reply,
    SessionEvent,
    TextPieces,
    Timeout,
    TurnStarted,
    TurnState,
)
from ..session import Subscription as AsyncSubscription
from ..session import Turn as AsyncTurn
from ..session import TurnReader as AsyncTurnReader
from ..tracking import Assembler, LiveBlock
from ..wire import Event
from .portal import Portal

if TYPE_CHECKING:
    from ..wire import Message, UserMessage

ItemT = TypeVar("ItemT")


class BlockingOnly:
    """Refuses a loop with async, and names the way."""

    if not TYPE_CHECKING:  # or type checkers would allow it

        def __aiter__(self) -> None:
            raise TypeError("It is read with `for`; programs with async use claudewire.open")


class Reader(BlockingOnly, Generic[ItemT]):
    """An iterator over items as they arrive. Several threads may read; each item goes to one."""

    def __init__(
        self,
        portal: Portal,
        queue: ItemQueue[Any],
        convert: Callable[[Any], Iterable[ItemT]],
        timeout: float | None = None,
    ) -> None:
        self._portal = portal
        self._queue = queue
        self._convert = convert
        self._timeout = timeout
        self._items: deque[ItemT] = deque()

    def __iter__(self) -> Reader[ItemT]:
        return self

    def __next__(self) -> ItemT:
        return self.get(self._timeout)

    def get(self, timeout: float | None = None) -> ItemT:
        """Wait for the next item.

        Raises:
            TimeoutError: none arrived within `timeout` seconds.
            StopIteration: there will be no more.
            Error: there will be no more, for this reason.
        """
        while True:
            with suppress(IndexError):
                return self._items.popleft()
            try:
                item = self._queue.take_next()
            except IndexError:
                if not self._portal.call_within(timeout, self._queue.readable):
                    raise StopIteration from None
            else:
                self._items.extend(self._convert(item))


class TurnReader(BlockingOnly):
    """Reads a turn from its first message on, whatever others have read; see `Turn.reader`.

    Iterate it for the messages, or use `iter_text()` or `iter_blocks()`.
    """

    def __init__(self, reader: AsyncTurnReader, portal: Portal) -> None:
        self._reader = reader
        self._portal = portal

    @property
    def unread(self) -> int:
        """The number of unread messages."""
        return self._reader.unread

    def __iter__(self) -> Reader[Message]:
        return self.read()

    def read(self, *, timeout: float | None = None) -> Reader[Message]:
        """Iterate over the messages as they arrive; the timeout applies to each."""
        return Reader(self._portal, self._reader._queue, lambda message: (message,), timeout)

    def iter_text(self, *, timeout: float | None = None) -> Reader[str]:
        """Iterate over the text of the main conversation as it arrives, piece by piece."""
        return Reader(self._portal, self._reader._queue, TextPieces().note, timeout)

    def iter_blocks(self, *, timeout: float | None = None) -> Reader[LiveBlock]:
        """Iterate over the blocks, each at every change: it grows, then it is complete."""
        return Reader(self._portal, self._reader._queue, Assembler().note, timeout)


class Turn(TurnReader, Generic[OutputT]):
    """A prompt that was sent, or an unsolicited turn; see `claudewire.Turn`.

    Iterate it for its messages, or use `iter_text()` or `iter_blocks()`; `reply()` returns its
    `Reply`. A `timeout` is in seconds; a `TimeoutError` ends the wait, not the turn.

    Attributes:
        prompt: the message that was sent; None for an unsolicited turn.
        uuid: the prompt's id on the wire; None for an unsolicited turn.
        key: the turn's name in the ledger.
    """

    def __init__(self, turn: AsyncTurn[OutputT], portal: Portal) -> None:
        super().__init__(turn, portal)
        self.prompt: UserMessage | None = turn.prompt
        self.uuid: str | None = turn.uuid
        self.key: str = turn.key
        self._turn = turn

    def __repr__(self) -> str:
        return repr(self._turn)

    if not TYPE_CHECKING:  # or a turn would have every attribute, to type checkers

        def __getattr__(self, name: str) -> Any:
            hint = "; call `reply()` for its reply, which has it" if hasattr(Reply, name) else ""
            text = f"{type(self).__name__!r} object has no attribute {name!r}{hint}"
            raise AttributeError(text, name=name, obj=self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Turn) and other._turn is self._turn

    def __hash__(self) -> int:
        return hash(self._turn)

    @property
    def state(self) -> TurnState:
        """The turn's progress."""
        return self._turn.state

    @property
    def merged(self) -> bool:
        """Whether the CLI answered it together with another turn, which has the messages."""
        return self._turn.merged

    @property
    def was_asked_for(self) -> bool:
        """False for an unsolicited turn: a wake-up, a task that ended."""
        return self._turn.was_asked_for

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self._turn.is_over

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages so far, read or not, without the pieces of messages."""
        return self._turn.messages

    def reader(self) -> TurnReader:
        """Return a further reader, which begins at the first message, at any time."""
        return TurnReader(self._portal.do(self._turn.reader), self._portal)

    def wait_started(self, timeout: float | None = None) -> None:
        """Wait until the CLI works on it, or never will."""
        self._portal.call_within(timeout, self._turn.started.wait)

    def reply(self, timeout: float | None = None) -> Reply[OutputT]:
        """Wait for the end of the turn."""
        try:
            return self._portal.call_within(timeout, self._turn.reply)
        except TimeoutError as error:
            text = f"The turn has not ended within {timeout:g} s, and goes on; interrupt() stops it"
            raise TimeoutError(text) from error

    def cancel(self) -> bool:
        """Withdraw the prompt if the CLI has not begun it."""
        return self._portal.call(self._turn.cancel)

    def interrupt(
        self, *, timeout: Timeout = DEFAULT, escalate: Escalation | bool = False
    ) -> InterruptReceipt[Turn[Any]]:
        """Stop this turn and no other, and wait until it has stopped or the time is over."""
        receipt = self._portal.call(self._turn.interrupt, timeout=timeout, escalate=escalate)
        return own_receipt(receipt, self._portal)

    def _leave(self) -> None:
        """Interrupt the turn at the end of its block."""
        with suppress(SessionClosed):  # the event loop has ended, and the session with it
            self._portal.call(self._turn._leave)


def own_receipt(
    receipt: InterruptReceipt[AsyncTurn[Any]], portal: Portal
) -> InterruptReceipt[Turn[Any]]:
    """Return a receipt with turns of this API."""
    own = partial(Turn, portal=portal)
    generic: InterruptReceipt[Any] = receipt
    return replace(
        generic,
        turn=None if receipt.turn is None else own(receipt.turn),
        still_queued=tuple(map(own, receipt.still_queued)),
        cancelled=tuple(map(own, receipt.cancelled)),
    )


class Subscription(Reader[Event | SessionEvent]):
    """An iterator over everything that happens from now on; it ends with the session.

    Close it, or use it as a context manager. Unread events are kept, up to the limit: then the
    oldest are dropped, and `dropped` counts them.
    """

    def __init__(self, inner: AsyncSubscription, portal: Portal) -> None:
        super().__init__(portal, inner, self._own)
        self._inner = inner

    def _own(self, event: Event | SessionEvent) -> tuple[Event | SessionEvent]:
        """Replace a turn of the async API by one of this."""
        if isinstance(event, TurnStarted):
            return (TurnStarted(Turn(event.turn, self._portal)),)
        return (event,)

    @property
    def dropped(self) -> int:
        """The number of unread events that were dropped."""
        return self._inner.dropped

    def take(self) -> list[Event | SessionEvent]:
        """Take the events that are there, without waiting."""
        return [self._own(event)[0] for event in self._portal.do(self._inner.take)]

    def close(self) -> None:
        """Get no more events. Those that are there can still be read."""
        self._portal.do(self._inner.close)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
