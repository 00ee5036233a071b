"""One prompt and exactly its own reply.

A turn is a stream of messages and a promise of a reply. Each message is handed out once, however
many loops read it; leaving a loop early loses nothing. Awaiting the turn gives its own result,
whether anybody has read its messages or not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Sequence,
)
from enum import StrEnum
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import anyio
import anyio.lowlevel

from ..concurrency import Signal
from ..errors import Error, TurnCancelled
from ..tracking import Assembler, LiveBlock
from ..wire import (
    AssistantMessage,
    ContentBlockStart,
    MessageStart,
    ResultMessage,
    StreamEvent,
    UserMessage,
)
from .reply import OutputT, Reply
from .unread import UnreadCount

if TYPE_CHECKING:
    from ..tracking import Totals
    from ..wire import Message

__all__ = ["Turn", "TurnState"]

ItemT = TypeVar("ItemT")

_FAIRNESS = 256
"""After so many messages without waiting, other tasks get their chance."""


class TurnState(StrEnum):
    """How far a turn has come."""

    HELD = "held"
    """It waits here until those before it are over."""
    SENT = "sent"
    """The CLI has it, and has not begun."""
    RUNNING = "running"
    DONE = "done"
    """It has a result, be it an error."""
    FAILED = "failed"
    """It will never have a result."""
    CANCELLED = "cancelled"
    """It was taken back."""


_unsolicited = count(1)

_OVER = frozenset({TurnState.DONE, TurnState.FAILED, TurnState.CANCELLED})


class TextPieces:
    """Makes out of messages the pieces of text that they add, none of them twice."""

    def __init__(self) -> None:
        self._before = ""
        self._block = ""

    def note(self, message: Message) -> Sequence[str]:
        """Take a message; give what it adds."""
        if isinstance(message, StreamEvent) and message.parent_tool_use_id is None:
            if isinstance(message.event, MessageStart):
                self._before = self._block = ""
            elif isinstance(message.event, ContentBlockStart):
                self._before, self._block = self._before + self._block, ""
            self._block += message.text
            return (message.text,) if message.text else ()
        if isinstance(message, AssistantMessage) and message.parent_tool_use_id is None:
            missing = self._missing(message.text)
            return (missing,) if missing else ()
        return ()

    def _missing(self, whole: str) -> str:
        """Give what has not come in pieces of one block or several, which is whole now."""
        streamed = self._before + self._block
        if streamed.startswith(whole):
            self._before, self._block = "", streamed[len(whole) :]
            return ""
        known = streamed if whole.startswith(streamed) else self._block
        self._before = self._block = ""
        return whole.removeprefix(known)


class _View(Generic[ItemT]):
    """Another way to read a turn. Not a generator: it may be left at any time."""

    def __init__(self, turn: Turn[Any], note: Callable[[Message], Iterable[ItemT]]) -> None:
        self._turn = turn
        self._note = note
        self._items: deque[ItemT] = deque()

    def __aiter__(self) -> _View[ItemT]:
        return self

    async def __anext__(self) -> ItemT:
        while not self._items:
            self._items.extend(self._note(await anext(self._turn)))
        return self._items.popleft()


class Turn(Generic[OutputT]):
    """A prompt that was sent, or a turn that nobody asked for.

    Iterate it for its messages, or use `iter_text()` or `iter_blocks()`; await it for its `Reply`.

    Attributes:
        prompt: what was said; None if nobody asked for this turn.
        uuid: names the prompt on the wire; None likewise.
        state: how far it has come.
        key: names the turn in the ledger, whether it was asked for or not.
        merged: the CLI answered it together with another turn, which has the messages.
    """

    def __init__(
        self,
        prompt: UserMessage | None,
        unread: UnreadCount,
        *,
        read_output: Callable[[ResultMessage], OutputT] | None = None,
        withdraw: Callable[[Turn[Any]], Awaitable[bool]] | None = None,
    ) -> None:
        self.prompt = prompt
        self.uuid: str | None = None if prompt is None else prompt.uuid
        self.state = TurnState.RUNNING if prompt is None else TurnState.HELD
        self.key: str = self.uuid or f"unsolicited-{next(_unsolicited)}"
        self.merged: bool = False
        self.started: anyio.Event = anyio.Event()
        self.finished: anyio.Event = anyio.Event()
        self._unread = unread
        self._read_output = read_output
        self._withdraw = withdraw
        self._buffer: deque[Message] = deque()
        self._kept: list[Message] = []
        self._gaps: set[str | None] = set()
        self._arrived = Signal()
        self._reads = 0
        self._reply: Reply[OutputT] | None = None
        self._error: Error | None = None
        self._doom: Error | None = None
        if prompt is None:
            self.started.set()

    def __repr__(self) -> str:
        who = "unsolicited" if self.prompt is None else self.uuid
        return f"<Turn {who} {self.state} unread={len(self._buffer)}>"

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
        """How many messages nobody has read yet."""
        return len(self._buffer)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All that has come so far, read or not, without the pieces of messages."""
        return tuple(self._kept)

    # --- reading ---------------------------------------------------------------------------------

    def __aiter__(self) -> Turn[OutputT]:
        return self

    async def __anext__(self) -> Message:
        self._reads += 1
        if self._reads % _FAIRNESS == 0:
            await anyio.lowlevel.checkpoint()
        if not await self.readable():
            raise StopAsyncIteration
        return self.take_next()

    def take_next(self) -> Message:
        """Give the next message that has come already. Any thread may ask.

        Raises:
            IndexError: there is none now.
        """
        message = self._buffer.popleft()
        self._unread.remove()
        return message

    async def readable(self) -> bool:
        """Wait until there is a message to be taken; False if none will come any more.

        Raises:
            Error: none will come, because the turn has failed.
        """
        while not self._buffer:
            if self.is_over:
                if self._error is not None:
                    raise self._error.with_traceback(None)
                return False
            await self._arrived.wait()
        return True

    def iter_text(self) -> AsyncIterator[str]:
        """Give the text of the main conversation as it comes, piece by piece.

        Without partial messages the pieces are whole blocks.
        """
        return _View(self, TextPieces().note)

    def iter_blocks(self) -> AsyncIterator[LiveBlock]:
        """Give each block whenever it has changed: it grows, then it is complete.

        Blocks of subagents come too; `block.agent` tells whose a block is.
        """
        return _View(self, Assembler().note)

    def __await__(self) -> Generator[Any, None, Reply[OutputT]]:
        return self.reply().__await__()

    async def reply(self) -> Reply[OutputT]:
        """Wait for the end of the turn.

        Raises:
            CLIError: the CLI is gone, and with it the result.
            TurnError: the turn was cancelled, given up, or its output is not what was asked for.
        """
        await self.finished.wait()
        if self._error is not None:
            raise self._error.with_traceback(None)  # else it would grow with each who asks
        assert self._reply is not None
        return self._reply

    async def cancel(self) -> bool:
        """Take the prompt back, if the CLI has not begun with it.

        Returns:
            whether it was taken back. A running turn is stopped by the session's `interrupt`.
        """
        if self.is_over or self._withdraw is None:
            return self.state is TurnState.CANCELLED
        return await self._withdraw(self)

    # --- what the session does to it -------------------------------------------------------------

    def begin(self) -> None:
        """The CLI works on it."""
        if not self.is_over:
            self.state = TurnState.RUNNING
            self.started.set()

    def push(self, message: Message) -> None:
        """Something came for it."""
        if isinstance(message, StreamEvent):
            if self._is_dropped(message):
                return
        else:
            self._kept.append(message)
            if isinstance(message, AssistantMessage):
                self._gaps.discard(message.parent_tool_use_id)
        self._buffer.append(message)
        self._unread.add()
        self._arrived.notify()

    def _is_dropped(self, piece: StreamEvent) -> bool:
        """Whether a piece goes, as all do after one that went, until the whole message comes.

        So what is kept is the beginning of each message, and nobody puts together what is not.
        """
        speaker = piece.parent_tool_use_id
        if not self._unread.drops_partial(has_begun=speaker in self._gaps):
            return False
        self._gaps.add(speaker)
        return True

    def finish(self, result: ResultMessage, *, merged: bool = False) -> None:
        """It has its result."""
        if self.is_over:
            return
        self.push(result)
        self.merged = merged
        self._reply = Reply(result, tuple(self._kept))
        try:
            if self._read_output is not None:
                self._reply.output = self._read_output(result)
        except Error as error:
            self._error = error
        self._error = self._doom or self._error
        self._end(TurnState.DONE if self._doom is None else TurnState.FAILED)

    def set_totals(self, totals: Totals) -> None:
        """What it has used is known now."""
        if self._reply is not None:
            self._reply.totals = totals

    def doom(self, error: Error) -> None:
        """Whatever its result will be, it has failed for this reason."""
        self._doom = self._doom or error

    def fail(self, error: Error) -> None:
        """It will never have one."""
        if not self.is_over:
            self._error = self._doom or error
            self._end(TurnState.CANCELLED if isinstance(error, TurnCancelled) else TurnState.FAILED)

    def _end(self, state: TurnState) -> None:
        self.state = state
        self.started.set()
        self.finished.set()
        self._arrived.notify()

    def __del__(self) -> None:
        # What nobody will ever read is not unread.
        self._unread.remove(len(self._buffer))
