"""One prompt and its reply.

A turn is a stream of messages and a promise of a reply. Loops over a turn share its messages;
leaving a loop early loses nothing. Further readers begin at the first message. Awaiting the turn
gives its result, whether its messages were read or not.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import anyio

from ..errors import Error, TurnCancelled, TurnError, describe
from ..tracking import Assembler, LiveBlock, Totals
from ..wire import (
    AssistantMessage,
    ContentBlockStart,
    Message,
    MessageStart,
    MessageStop,
    ResultMessage,
    StreamEvent,
    ToolUseBlock,
    UserMessage,
)
from .events import TurnState
from .interrupt import Escalation, InterruptReceipt, interrupt_turn, withdraw
from .link import DEFAULT, Timeout
from .log import log
from .queue import AsyncOnly, Broadcast, ItemQueue

if TYPE_CHECKING:
    import typing_extensions

    from ..options import UnreadLimit
    from ..wire import Block, ModelUsage, PermissionDenial, Usage
    from .core import Core

    # `Session`, `Turn` and `Reply` without brackets stand for any output. `typing.TypeVar` has
    # defaults only from Python 3.13 on; type checkers bring `typing_extensions` with them.
    OutputT = typing_extensions.TypeVar("OutputT", default=Any)
else:
    OutputT = TypeVar("OutputT")

ItemT = TypeVar("ItemT")

_unsolicited = count(1)


class Reply(Generic[OutputT]):
    """The result of one turn, with its messages.

    Attributes:
        result: the CLI's own message at the end of the turn.
        messages: all messages of the turn, without the pieces of messages.
        output: the structured output, if one was asked for.
        totals: the usage of the turn, subagents included: tokens and money, by estimate.
    """

    def __init__(self, result: ResultMessage, messages: tuple[Message, ...] = ()) -> None:
        self.result = result
        self.messages = messages
        self.totals: Totals = Totals()
        self.output: OutputT = cast("OutputT", None)

    def __repr__(self) -> str:
        said = self.text or "; ".join(self.result.errors or ())
        text = said if len(said) <= 60 else f"{said[:60]}…"
        return f"<Reply {self.result.subtype} {text!r}>"

    def __str__(self) -> str:
        return self.text

    @property
    def ok(self) -> bool:
        """Whether the turn succeeded."""
        return self.result.ok

    @property
    def error(self) -> TurnError | None:
        """Why the turn did not succeed, with the cause as far as it is known; None if it did."""
        if self.ok:
            return None
        from ..errors import diagnose_result

        was_silent = not any(isinstance(it, UserMessage | AssistantMessage) for it in self.messages)
        found = diagnose_result(self.result, was_silent=was_silent)
        return TurnError(found.message, result=self.result, cause=found.cause, advice=found.advice)

    @property
    def retryable(self) -> bool:
        """Whether the turn has failed, and the same prompt may succeed later."""
        return self.error is not None and self.error.retryable

    @property
    def text(self) -> str:
        """The final text: the result that the CLI reports, else the last text of the model."""
        if self.result.result is not None:
            return self.result.result
        return next(reversed(self._assembled().message_texts), "")

    @property
    def blocks(self) -> list[Block]:
        """All blocks of the main conversation in this turn."""
        main = [live for live in self._assembled().blocks if live.agent is None]
        return [live.block for live in main if live.block is not None]

    @property
    def tool_uses(self) -> list[ToolUseBlock]:
        """All calls of tools in the main conversation."""
        return [block for block in self.blocks if isinstance(block, ToolUseBlock)]

    def _assembled(self) -> Assembler:
        assembler = Assembler()
        for message in self.messages:
            assembler.note(message)
        return assembler

    @property
    def session_id(self) -> str | None:
        """The conversation, by which it can be resumed."""
        return self.result.session_id

    @property
    def usage(self) -> Usage | None:
        """The usage of the main conversation in this turn."""
        return self.result.usage

    @property
    def model_usage(self) -> dict[str, ModelUsage]:
        """What each model has used since the CLI was started."""
        return self.result.model_usage or {}

    @property
    def cost_usd(self) -> float | None:
        """The cost of this turn, by estimate; None if unknown."""
        return self.totals.cost_usd

    @property
    def session_cost_usd(self) -> float | None:
        """The cost of the session so far, by the CLI's own estimate."""
        return self.result.total_cost_usd

    @property
    def duration(self) -> float | None:
        """How long the turn took, in seconds, as the CLI reports it."""
        return None if self.result.duration_ms is None else self.result.duration_ms / 1000

    @property
    def denials(self) -> list[PermissionDenial]:
        """The tool calls that were denied."""
        return self.result.permission_denials or []

    def raise_for_error(self) -> Reply[OutputT]:
        """Raise an error if the turn did not succeed, otherwise return the reply itself.

        Raises:
            TurnError: with the result and, if it can be found out, the cause.
        """
        if (error := self.error) is not None:
            raise error
        return self


class TextPieces:
    """Turns messages into the pieces of text that they add, none of them twice.

    A blank line separates blocks.
    """

    def __init__(self) -> None:
        self._before = ""
        self._block: list[str] = []
        self._has_text = self._begins = False

    def note(self, message: Message) -> Sequence[str]:
        """Take a message and return the text that it adds."""
        pieces = self._note(message)
        if not pieces:
            return ()
        separator = "\n\n" if self._has_text and self._begins else ""
        self._has_text, self._begins = True, False
        return (separator + pieces[0],)

    def _note(self, message: Message) -> Sequence[str]:
        if isinstance(message, StreamEvent) and message.parent_tool_use_id is None:
            return self._note_piece(message)
        if isinstance(message, AssistantMessage) and message.parent_tool_use_id is None:
            whole = message.text
            was_streamed = bool(self._before) or any(self._block)
            missing = self._missing(whole) if whole else ""
            self._begins = self._begins or not was_streamed
            return (missing,) if missing else ()
        return ()

    def _note_piece(self, piece: StreamEvent) -> Sequence[str]:
        text = piece.text
        if text:
            self._block.append(text)
            return (text,)
        if isinstance(piece.event, MessageStart | ContentBlockStart):
            self._begins = True
        if isinstance(piece.event, MessageStart):
            self._before, self._block = "", []
        elif isinstance(piece.event, ContentBlockStart):
            self._before, self._block = self._before + "".join(self._block), []
        return ()

    def _missing(self, whole: str) -> str:
        """Return the part of a whole message that has not already come in pieces."""
        block = "".join(self._block)
        streamed = self._before + block
        self._before, self._block = "", []
        if streamed.startswith(whole):
            self._block = [streamed[len(whole) :]]
            return ""
        return whole.removeprefix(streamed if whole.startswith(streamed) else block)


class _View(AsyncOnly, Generic[ItemT]):
    """Items made from messages. Not a generator: a loop over it may be left at any time."""

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
            self._items.extend(items)
        return self._items.popleft()


class UnreadCounter:
    """Counts the unread messages of all turns of a session; refers to the turns weakly."""

    def __init__(self, limit: UnreadLimit, on_limit: Callable[[int], None]) -> None:
        self.queues: weakref.WeakSet[ItemQueue[Message]] = weakref.WeakSet()
        self._limit = limit.high_water
        self._on_limit = on_limit
        self._is_reported = False
        self.left: int = limit.high_water
        """The messages that may be added before the next look at the queues."""

    @property
    def count(self) -> int:
        """The number of unread messages."""
        self.queues -= {queue for queue in self.queues if queue.is_over}
        return sum(map(len, self.queues))

    def look(self) -> None:
        """Count, after `left` messages were added; report the limit."""
        unread = self.count
        if unread >= self._limit and not self._is_reported:
            self._is_reported = True
            self._on_limit(unread)
        elif unread < self._limit // 2:
            self._is_reported = False
        self.left = max(self._limit - unread, self._limit // 4, 1)


class TurnReader(AsyncOnly):
    """Reads a turn from its first message on, whatever others have read; see `Turn.reader`.

    Iterate it for the messages, or use `iter_text()` or `iter_blocks()`.
    """

    def __init__(self, queue: ItemQueue[Message]) -> None:
        self._queue = queue

    @property
    def unread(self) -> int:
        """The number of unread messages."""
        return len(self._queue)

    def __aiter__(self) -> AsyncIterator[Message]:
        return self._queue

    def __anext__(self) -> Coroutine[Any, Any, Message]:
        return self._queue.__anext__()

    def iter_text(self) -> AsyncIterator[str]:
        """Iterate over the text of the main conversation as it arrives, piece by piece.

        Without partial messages the pieces are whole blocks. A blank line separates blocks.
        """
        return _View(self._queue, TextPieces().note)

    def iter_blocks(self) -> AsyncIterator[LiveBlock]:
        """Iterate over the blocks, each at every change: it grows, then it is complete.

        Blocks of subagents are included; `block.agent` names the subagent.
        """
        return _View(self._queue, Assembler().note)


class _Log:
    """The messages of a turn, without the pieces of complete messages."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._first: int | None = None
        """The index of the first piece, if there is one."""
        self._streaming: set[str | None] = set()
        """The speakers between a `message_start` and its `message_stop`: the main conversation,
        and subagents."""

    def add(self, message: Any) -> None:
        if type(message) is StreamEvent:
            speaker, edge = message.parent_tool_use_id, type(message.event)
            if edge is MessageStop:
                self._streaming.discard(speaker)
                self._forget_pieces(speaker)
                return
            if edge is MessageStart:
                self._streaming.add(speaker)
                self._forget_pieces(speaker)  # its last message was broken off
            if self._first is None:
                self._first = len(self.messages)
        elif (
            type(message) is AssistantMessage and message.parent_tool_use_id not in self._streaming
        ):
            self._forget_pieces(message.parent_tool_use_id)  # no `message_stop` will come
        self.messages.append(message)

    def _forget_pieces(self, speaker: str | None) -> None:
        if self._first is None:
            return
        self.messages[self._first :] = [
            it
            for it in self.messages[self._first :]
            if not isinstance(it, StreamEvent) or it.parent_tool_use_id != speaker
        ]
        recent = enumerate(self.messages[self._first :], self._first)
        self._first = next((index for index, it in recent if isinstance(it, StreamEvent)), None)


class Turn(TurnReader, Generic[OutputT]):
    """A prompt that was sent, or an unsolicited turn, which the CLI began without a prompt.

    Iterate it for its messages, or use `iter_text()` or `iter_blocks()`; await it for its `Reply`.

    Attributes:
        prompt: the message that was sent; None for an unsolicited turn.
        uuid: the prompt's id on the wire; None for an unsolicited turn.
        state: the turn's progress.
        key: the turn's name in the ledger.
        is_over: nothing more will come.
        merged: the CLI answered it together with another turn, which has the messages.
        started: set when the CLI works on it, or never will.
        finished: set when it is over.
    """

    # The session calls the methods with an underscore at the end of the class.

    def __init__(
        self,
        prompt: UserMessage | None,
        core: Core,
        read_output: Callable[[ResultMessage], OutputT] | None = None,
    ) -> None:
        self._queue = ItemQueue(core.home)
        core.unread.queues.add(self._queue)
        self.prompt = prompt
        self.uuid: str | None = None if prompt is None else prompt.uuid
        self.state = TurnState.RUNNING if prompt is None else TurnState.HELD
        self.key: str = self.uuid or f"unsolicited-{next(_unsolicited)}"
        self.is_over: bool = False
        self.merged: bool = False
        self.started: anyio.Event = anyio.Event()
        self.finished: anyio.Event = anyio.Event()
        self._core = core
        self._read_output = read_output
        self._readers: Broadcast[Message] | None = None
        self._log = _Log()
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
        """False for an unsolicited turn: a wake-up, a task that ended."""
        return self.prompt is not None

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages so far, read or not, without the pieces of messages."""
        return tuple(it for it in self._log.messages if type(it) is not StreamEvent)

    # --- reading ---------------------------------------------------------------------------------

    def reader(self) -> TurnReader:
        """Return a further reader, which begins at the first message, at any time.

            async for piece in turn.reader().iter_text():  # for a browser that was reloaded
                ...

        Any number of them read independently of each other, while the turn runs and after it.
        Complete messages come whole, not in pieces; the unfinished message comes with its pieces
        so far, and from then on everything that the turn itself yields. Unread messages of
        a reader count, too.
        """
        queue: ItemQueue[Message] = ItemQueue(self._core.home)
        self._core.unread.queues.add(queue)
        for message in self._log.messages:
            queue.put(message)
        self._core.unread.look()
        if self.is_over:
            queue.end(self._error)
        if self._readers is None:
            self._readers = Broadcast()
        self._readers.add(queue)
        return TurnReader(queue)

    def __await__(self) -> Generator[Any, None, Reply[OutputT]]:
        return self.reply().__await__()

    async def reply(self) -> Reply[OutputT]:
        """Wait for the end of the turn.

        Raises:
            CLIError: the CLI has exited without a result.
            TurnError: the turn was cancelled or stopped, or its output does not fit the type.
        """
        if not self.is_over:
            self._core.home.check()
        await self.finished.wait()
        if self._error is not None:
            raise self._error.with_traceback(None)  # or it would grow with each caller
        assert self._reply is not None
        return self._reply

    async def cancel(self) -> bool:
        """Withdraw the prompt if the CLI has not begun it.

        Returns:
            whether it was withdrawn. `interrupt` stops a running turn.
        """
        if self.is_over or self.prompt is None:
            return self.state is TurnState.CANCELLED
        self._core.home.check()
        return await withdraw(self._core, self)

    async def interrupt(
        self, *, timeout: Timeout = DEFAULT, escalate: Escalation | bool = False
    ) -> InterruptReceipt:
        """Stop this turn and no other, and wait until it has stopped or the time is over.

        A turn that the CLI has not begun with is withdrawn. One that is over is left alone, also
        if it ends at that moment: the next prompt is sent only after the CLI has dealt with the
        interrupt. The receipt's `outcome` says which of these it was. Other prompts stay queued,
        and the messages of the turn can still be read.

        If the caller is cancelled, the turn is still interrupted.

        Args:
            timeout: for the whole call; it has no effect with `escalate`.
            escalate: see `Session.interrupt`.

        Raises:
            RequestTimeout: the CLI did not acknowledge, and `escalate` was not given.
        """
        if not self.is_over:
            self._core.home.check()
        return await interrupt_turn(self._core, self, timeout, escalate)

    async def _leave(self) -> None:
        """Interrupt the turn on exit from `async with`. Never raises."""
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
            log.warning("%r did not stop at the end of its block, and goes on", self)

    # --- called by the session -------------------------------------------------------------------

    def _begin(self) -> None:
        if not self.is_over:
            self.state = TurnState.RUNNING
            self.started.set()

    def _push(self, message: Any) -> None:
        unread = self._core.unread
        self._log.add(message)
        self._queue.put(message)
        unread.left -= 1
        if self._readers is not None:
            self._readers.put(message)
            unread.left -= self._readers.size
        if unread.left <= 0:
            unread.look()

    def _finish(self, result: ResultMessage, *, merged: bool = False) -> None:
        if self.is_over:
            return
        self._push(result)
        self.merged = merged
        self._reply = Reply(result, self.messages)
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
        """Add the turn's usage to the reply."""
        if self._reply is not None:
            self._reply.totals = totals

    def _fail_at_end(self, error: Error) -> None:
        """Let it fail with this error when it ends, whatever its result will be."""
        self._final_error = self._final_error or error

    def _fail(self, error: Error) -> None:
        if not self.is_over:
            self._error = self._final_error or error
            self._end(TurnState.CANCELLED if isinstance(error, TurnCancelled) else TurnState.FAILED)

    def _end(self, state: TurnState) -> None:
        self.state, self.is_over = state, True
        self.started.set()
        self.finished.set()
        self._queue.end(self._error)
        if self._readers is not None:
            self._readers.end(self._error)


def _unreadable(result: ResultMessage, error: BaseException) -> TurnError:
    text = f"Reading the output of the turn raised {describe(error)}"
    advice = "The `result` of this error has the output as the CLI wrote it."
    failure = TurnError(text, result=result, advice=advice)
    failure.__cause__ = error
    return failure


AnyTurn = Turn[Any]
