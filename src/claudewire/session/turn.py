"""One prompt and exactly its own reply.

A turn is a stream of messages and a promise of a reply. Each message is handed out once, however
many loops read it; leaving a loop early loses nothing. A reader of its own begins at the first
message. Awaiting the turn gives its own result, whether its messages were read or not.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Sequence,
)
from enum import StrEnum
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import anyio

from ..concurrency import event_type
from ..errors import Error, TurnCancelled, TurnError, describe
from ..wire import (
    AssistantMessage,
    ContentBlockStart,
    MessageStart,
    MessageStop,
    ResultMessage,
    StreamEvent,
    UserMessage,
)
from .log import log
from .pending_request import DEFAULT, Timeout
from .queue import ItemQueue, check_thread
from .reply import OutputT, Reply

if TYPE_CHECKING:
    from ..options import Unread
    from ..tracking import LiveBlock, Totals
    from ..wire import Message
    from .interrupt import Escalation, InterruptReceipt

__all__ = ["AnyTurn", "TextPieces", "Turn", "TurnReader", "TurnState", "UnreadCount"]

ItemT = TypeVar("ItemT")


class TurnState(StrEnum):
    """How far a turn has come."""

    HELD = "held"
    """It waits here until the turns before it are over."""
    SENT = "sent"
    """The CLI has the prompt, and has not begun with it."""
    RUNNING = "running"
    DONE = "done"
    """It has a result, which may be an error."""
    FAILED = "failed"
    """It will never have a result."""
    CANCELLED = "cancelled"
    """The prompt was taken back."""


PIECES = 60
"""How many messages arrive before the pieces of those that are complete are looked for again."""

_unsolicited = count(1)

_OVER = frozenset({TurnState.DONE, TurnState.FAILED, TurnState.CANCELLED})


class TextPieces:
    """Turns messages into the pieces of text that they add, none of them twice."""

    def __init__(self) -> None:
        self._before = ""
        self._block: list[str] = []

    def note(self, message: Message) -> Sequence[str]:
        """Take a message and return the text that it adds."""
        if isinstance(message, StreamEvent) and message.parent_tool_use_id is None:
            return self._note_piece(message)
        if isinstance(message, AssistantMessage) and message.parent_tool_use_id is None:
            whole = message.text
            missing = self._missing(whole) if whole else ""
            return (missing,) if missing else ()
        return ()

    def _note_piece(self, piece: StreamEvent) -> Sequence[str]:
        text = piece.text
        if text:
            self._block.append(text)
            return (text,)
        if isinstance(piece.event, MessageStart):
            self._before, self._block = "", []
        elif isinstance(piece.event, ContentBlockStart):
            self._before, self._block = self._before + "".join(self._block), []
        return ()

    def _missing(self, whole: str) -> str:
        """Return the part of a whole message that did not come in pieces before."""
        block = "".join(self._block)
        streamed = self._before + block
        self._before, self._block = "", []
        if streamed.startswith(whole):
            self._block = [streamed[len(whole) :]]
            return ""
        return whole.removeprefix(streamed if whole.startswith(streamed) else block)


class _View(Generic[ItemT]):
    """Another way to read a turn. Not a generator: a loop over it may be left at any time."""

    def __init__(
        self, messages: ItemQueue[Message], note: Callable[[Message], Sequence[ItemT]]
    ) -> None:
        self._messages = messages
        self._note = note
        self._items: deque[ItemT] = deque()

    def __aiter__(self) -> _View[ItemT]:
        return self

    async def __anext__(self) -> ItemT:
        while not self._items:
            items = self._note(await self._messages.__anext__())
            if len(items) == 1:
                return items[0]  # as with most messages
            self._items.extend(items)
        return self._items.popleft()


def _blocks(messages: ItemQueue[Message]) -> _View[LiveBlock]:
    from ..tracking import Assembler  # most turns are read in other ways

    return _View(messages, Assembler().note)


class _Reading(ItemQueue["Message"]):
    """What a reader of a turn has not read yet. It counts as unread while it can be read."""

    def __init__(self, unread: UnreadCount, thread: int) -> None:
        super().__init__(check=partial(check_thread, thread))
        unread.include(self)


class UnreadCount:
    """Counts the messages that the turns of one session have not handed out. Works in any thread.

    They are counted when it matters, by a look at the queues: a count that changes with each
    message that is read would take longer than all else that is done to read it.

    Args:
        unread: at how many `on_limit` is called, and whether pieces of messages are then dropped.
        on_limit: is called with the count.
    """

    __slots__ = (
        "_at_most",
        "_limit",
        "_limit_reached",
        "_on_limit",
        "_readings",
        "dropped",
        "may_drop",
    )

    def __init__(self, unread: Unread, on_limit: Callable[[int], None]) -> None:
        self.dropped: int = 0
        self._limit = unread.high_water
        self._limit_reached = False
        self.may_drop: bool = unread.policy == "drop_partial"
        self._on_limit = on_limit
        # Never changed in place: other threads may look at it.
        self._readings: tuple[weakref.ref[_Reading], ...] = ()
        self._at_most = 0

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(map(len, self._live()))

    def _live(self) -> list[_Reading]:
        return [it for it in (reference() for reference in self._readings) if it is not None]

    def include(self, reading: _Reading) -> None:
        """Count what is in this queue, too."""
        live = [weakref.ref(it) for it in self._live() if not it.is_over]
        self._readings = (*live, weakref.ref(reading))

    def expect(self, count: int = 1) -> None:
        """Note that messages are about to be put into one of the queues."""
        self._at_most += count
        if self._at_most < self._limit:
            return
        before = self.count
        self._at_most = before + count
        if before < self._limit // 2:
            self._limit_reached = False
        if self._at_most >= self._limit and not self._limit_reached:
            self._limit_reached = True
            self._on_limit(self._at_most)

    def drops_partial(self, *, has_begun: bool) -> bool:
        """Whether to drop a piece of a message now; if so, count it.

        Args:
            has_begun: an earlier piece of the same message was dropped, so this one is useless.
        """
        if self.may_drop and (has_begun or self._is_full()):
            self.dropped += 1
            return True
        return False

    def _is_full(self) -> bool:
        return self._at_most >= self._limit and self.count >= self._limit


class _History:
    """The messages of a turn, and the pieces of those that are not complete yet.

    From it, a reader that comes late gets what the others have got, but for the pieces of complete
    messages. So it takes little more memory than the messages, which are kept anyway, and the
    pieces of one message for each speaker: the main conversation, and each subagent.
    """

    def __init__(self) -> None:
        self._settled: list[Message] = []
        """What comes before the first piece that may still be needed."""
        self._recent: list[Message] = []
        self._most = PIECES
        self._complete: dict[str | None, int] = {}
        """Up to which index of the recent ones the pieces of a speaker are not needed."""
        self._started: set[str | None] = set()
        """The speakers of which there was a `message_start`, and no `message_stop` since."""

    @property
    def messages(self) -> list[Message]:
        """All of them, in their order."""
        self.tidy_up()
        return self._settled + self._recent

    def add(self, messages: Sequence[Message], notable: Sequence[tuple[int, Message]]) -> None:
        """Add messages; `notable` has all but pieces of text of the main conversation."""
        first = len(self._recent)
        for index, message in notable:
            if isinstance(message, StreamEvent):
                self._note_piece(message, first + index)
            elif isinstance(message, AssistantMessage):
                agent = message.parent_tool_use_id
                if agent not in self._started:  # nothing else will say that it is complete
                    self._complete[agent] = first + index
        complete = self._complete.get(None, -1) - first + 1
        if complete > 0 and len(self._complete) == 1:  # as long as there are no subagents
            # Most messages are pieces that are needed no longer when they are added.
            others = [it for index, it in notable if index < complete]
            messages = [*others, *messages[complete:]]
            self._complete[None] = first + len(others) - 1
        self._recent += messages
        if len(self._recent) > self._most:
            self.tidy_up()

    def _note_piece(self, piece: StreamEvent, index: int) -> None:
        agent, kind = piece.parent_tool_use_id, type(piece.event)
        if kind is MessageStart:
            self._complete[agent] = index - 1
            self._started.add(agent)
        elif kind is MessageStop:
            self._complete[agent] = index
            self._started.discard(agent)

    def tidy_up(self) -> None:
        """Forget the pieces of complete messages."""
        if self._complete:
            last = max(self._complete.values()) + 1
            self._recent = [*self._needed(last), *self._recent[last:]]
            self._complete.clear()
        pieces = (index for index, it in enumerate(self._recent) if type(it) is StreamEvent)
        first = next(pieces, len(self._recent))
        self._settled += self._recent[:first]
        del self._recent[:first]
        self._most = len(self._recent) + max(len(self._recent), PIECES)

    def _needed(self, end: int) -> list[Message]:
        return [
            message
            for index, message in enumerate(self._recent[:end])
            if type(message) is not StreamEvent
            or self._complete.get(message.parent_tool_use_id, -1) < index
        ]


class TurnReader:
    """Reads a turn from its first message on, whatever others have read; see `Turn.reader`.

    Iterate it for the messages, or use `iter_text()` or `iter_blocks()`.
    """

    def __init__(self, reading: _Reading) -> None:
        self._queue = reading

    @property
    def unread(self) -> int:
        """How many messages it has not read yet."""
        return len(self._queue)

    def __aiter__(self) -> TurnReader:
        return self

    async def __anext__(self) -> Message:
        return await anext(self._queue)

    def iter_text(self) -> AsyncIterator[str]:
        """Iterate over the text of the main conversation, piece by piece; see `Turn.iter_text`."""
        return _View(self._queue, TextPieces().note)

    def iter_blocks(self) -> AsyncIterator[LiveBlock]:
        """Iterate over the blocks, each whenever it has changed; see `Turn.iter_blocks`."""
        return _blocks(self._queue)


_Stop = Callable[["Turn[Any]", Timeout, "Escalation | bool"], Awaitable["InterruptReceipt"]]
"""Stops a turn, within a timeout, perhaps by an escalation."""


class Turn(Generic[OutputT]):
    """A prompt that was sent, or a turn that the CLI began by itself.

    Iterate it for its messages, or use `iter_text()` or `iter_blocks()`; await it for its `Reply`.

    Attributes:
        prompt: the message that was sent; None if the CLI began by itself.
        uuid: the prompt's id on the wire; None if the CLI began by itself.
        state: how far it has come.
        key: the turn's name in the ledger.
        merged: the CLI answered it together with another turn, which has the messages.
        started: set when the CLI works on it, or never will.
        finished: set when it is over.
    """

    # The methods with an underscore at the end of the class are the session's: the conversation
    # and the core call them for what the CLI says.

    def __init__(
        self,
        prompt: UserMessage | None,
        unread: UnreadCount,
        *,
        read_output: Callable[[ResultMessage], OutputT] | None = None,
        withdraw: Callable[[Turn[Any]], Awaitable[bool]] | None = None,
        stop: _Stop | None = None,
    ) -> None:
        self.prompt = prompt
        self.uuid: str | None = None if prompt is None else prompt.uuid
        self.state = TurnState.RUNNING if prompt is None else TurnState.HELD
        self.key: str = self.uuid or f"unsolicited-{next(_unsolicited)}"
        self.merged: bool = False
        new_event = event_type()
        self.started: anyio.Event = new_event()
        self.finished: anyio.Event = new_event()
        self._thread = threading.get_ident()
        self._unread = unread
        self._read_output = read_output
        self._withdraw = withdraw
        self._stop = stop
        self._queue = _Reading(unread, self._thread)
        self._readings: weakref.WeakSet[_Reading] | None = None
        """What further readers have not read; most turns have none."""
        self._history = _History()
        self._kept: list[Message] = []
        self._gaps: set[str | None] = set()
        self._reply: Reply[OutputT] | None = None
        self._error: Error | None = None
        self._final_error: Error | None = None
        if prompt is None:
            self.started.set()

    def __repr__(self) -> str:
        who = "unsolicited" if self.prompt is None else self.uuid
        return f"<Turn {who} {self.state} unread={self.unread}>"

    if not TYPE_CHECKING:  # or a turn would have every attribute, to type checkers

        def __getattr__(self, name: str) -> Any:
            hint = "; await the turn for its reply, which has it" if hasattr(Reply, name) else ""
            text = f"{type(self).__name__!r} object has no attribute {name!r}{hint}"
            raise AttributeError(text, name=name, obj=self)

    # --- facts -----------------------------------------------------------------------------------

    @property
    def was_asked_for(self) -> bool:
        """False for a turn that the CLI began by itself: a wake-up, a task that ended."""
        return self.prompt is not None

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self.state in _OVER

    @property
    def unread(self) -> int:
        """How many messages have not been read yet."""
        return len(self._queue)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages so far, read or not, without the pieces of messages."""
        return tuple(self._kept)

    # --- reading ---------------------------------------------------------------------------------

    def __aiter__(self) -> AsyncIterator[Message]:
        return self._queue

    def __anext__(self) -> Coroutine[Any, Any, Message]:
        return self._queue.__anext__()

    def iter_text(self) -> AsyncIterator[str]:
        """Iterate over the text of the main conversation as it arrives, piece by piece.

        Without partial messages the pieces are whole blocks.
        """
        return _View(self._queue, TextPieces().note)

    def iter_blocks(self) -> AsyncIterator[LiveBlock]:
        """Iterate over the blocks, each whenever it has changed: it grows, then it is complete.

        Blocks of subagents are included; `block.agent` names the subagent.
        """
        return _blocks(self._queue)

    def reader(self) -> TurnReader:
        """Return a reader of its own, which begins at the first message, at any time.

            async for piece in turn.reader().iter_text():  # for a browser that was reloaded
                ...

        Any number of them read independently of each other, while the turn runs and after it.
        Messages that are complete come whole, without their pieces; of the one that is being
        written the pieces come, and from then on all that the turn itself yields. What a reader has
        not read yet counts as unread.
        """
        reading = _Reading(self._unread, self._thread)
        messages = self._history.messages
        self._unread.expect(len(messages))
        reading.put_all(messages)
        if self.is_over:
            reading.end(self._error)
        self._readings = self._readings or weakref.WeakSet()
        self._readings.add(reading)
        return TurnReader(reading)

    def __await__(self) -> Generator[Any, None, Reply[OutputT]]:
        return self.reply().__await__()

    async def reply(self) -> Reply[OutputT]:
        """Wait for the end of the turn.

        Raises:
            CLIError: the CLI has exited without a result.
            TurnError: the turn was cancelled, given up, or its output is not what was asked for.
        """
        if not self.is_over:
            check_thread(self._thread)
        await self.finished.wait()
        if self._error is not None:
            raise self._error.with_traceback(None)  # or it would grow with each caller
        assert self._reply is not None
        return self._reply

    async def cancel(self) -> bool:
        """Take the prompt back, if the CLI has not begun with it.

        Returns:
            whether it was taken back. A running turn is stopped by `interrupt`.
        """
        if self.is_over or self._withdraw is None:
            return self.state is TurnState.CANCELLED
        check_thread(self._thread)
        return await self._withdraw(self)

    async def interrupt(
        self, *, timeout: Timeout = DEFAULT, escalate: Escalation | bool = False
    ) -> InterruptReceipt:
        """Stop this turn and no other, and wait until it has stopped or the time is over.

        A turn that the CLI has not begun with is withdrawn. One that is over is left alone, also
        if it ends by itself at that moment: the next prompt is not sent before the CLI has dealt
        with the interrupt. The receipt's `outcome` says which of these it was. Other prompts stay
        queued, and what the turn has said so far can still be read.

        If the caller is cancelled, the turn is interrupted nevertheless.

        Args:
            timeout: for the whole call; it has no effect with `escalate`.
            escalate: see `Session.interrupt`.

        Raises:
            RequestTimeout: the CLI did not acknowledge, and `escalate` was not given.
        """
        if not self.is_over:
            check_thread(self._thread)
        assert self._stop is not None
        return await self._stop(self, timeout, escalate)

    async def _leave(self) -> None:
        """Interrupt it when its block is left, whatever the reason; raise no error."""
        if self.is_over:
            return
        with anyio.CancelScope(shield=True):
            try:
                receipt = await self.interrupt()
                has_stopped = receipt.outcome != "not_stopped"
            except Error as error:
                log.debug("%r could not be interrupted: %s", self, error)
                has_stopped = self.is_over
        if not has_stopped:
            log.warning("%r has not stopped when its block was left, and goes on", self)

    # --- called by the session -------------------------------------------------------------------

    def _begin(self) -> None:
        """Note that the CLI works on it."""
        if not self.is_over:
            self.state = TurnState.RUNNING
            self.started.set()

    def _push(self, message: Message) -> None:
        """Add a message."""
        if not isinstance(message, StreamEvent):
            self._kept.append(message)
            if isinstance(message, AssistantMessage):
                self._gaps.discard(message.parent_tool_use_id)
        elif self._unread.may_drop and self._is_dropped(message):
            return
        self._history.add((message,), ((0, message),))
        for reading in (self._queue, *(self._readings or ())):
            self._unread.expect()
            reading.put(message)

    def _push_all(self, messages: list[Message], notable: list[tuple[int, Message]]) -> None:
        """Add messages; `notable` is what `Conversation.add` returns."""
        if self._readings or self._unread.may_drop:
            for message in messages:
                self._push(message)
            return
        self._kept += [it for _, it in notable if type(it) is not StreamEvent]
        self._history.add(messages, notable)
        self._unread.expect(len(messages))
        self._queue.put_all(messages)

    def _is_dropped(self, piece: StreamEvent) -> bool:
        """Whether to drop a piece, as all that follow a dropped one, until the whole message comes.

        So what is kept is the beginning of each message, without a gap.
        """
        speaker = piece.parent_tool_use_id
        if not self._unread.drops_partial(has_begun=speaker in self._gaps):
            return False
        self._gaps.add(speaker)
        return True

    def _finish(self, result: ResultMessage, *, merged: bool = False) -> None:
        """End it with its result."""
        if self.is_over:
            return
        self._push(result)
        self.merged = merged
        self._reply = Reply(result, tuple(self._kept))
        try:
            if self._read_output is not None:
                self._reply.output = self._read_output(result)
        except Error as error:
            self._error = error
        except BaseException as error:  # a class of the application may raise anything
            self._error = _unreadable(result, error)
        self._error = self._final_error or self._error
        self._end(TurnState.DONE if self._final_error is None else TurnState.FAILED)

    def _set_totals(self, totals: Totals) -> None:
        """Add to the reply what the turn has used."""
        if self._reply is not None:
            self._reply.totals = totals

    def _fail_at_end(self, error: Error) -> None:
        """Make it fail with this error when it ends, whatever its result will be."""
        self._final_error = self._final_error or error

    def _fail(self, error: Error) -> None:
        """End it without a result."""
        if not self.is_over:
            self._error = self._final_error or error
            self._end(TurnState.CANCELLED if isinstance(error, TurnCancelled) else TurnState.FAILED)

    def _end(self, state: TurnState) -> None:
        self.state = state
        self._history.tidy_up()
        self.started.set()
        self.finished.set()
        for reading in (self._queue, *(self._readings or ())):
            reading.end(self._error)


def _unreadable(result: ResultMessage, error: BaseException) -> TurnError:
    text = f"Reading the output of the turn raised {describe(error)}"
    advice = "The output is in the `result` of this error, as the CLI gave it."
    failure = TurnError(text, result=result, advice=advice)
    failure.__cause__ = error
    return failure


AnyTurn = Turn[Any]
