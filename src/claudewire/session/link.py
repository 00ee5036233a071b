"""A transport with the protocol on it: reads, writes, asks, serves, and knows when it is over.

Everything runs in one task of its own with a task group inside: a reader, an ordered writer, what
reads stderr, and a task for each request of the CLI that is being served. No caller can stop the
reader or the end: a caller puts something down and waits for something to be set.

The reader hands each event to a function that may not wait, so nothing that an application does or
fails to do can delay the next line.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar, cast

import anyio

from ..concurrency import Signal, run_detached
from ..errors import Error, Evidence, EvidenceLog, RequestTimeout, TransportClosed
from ..transport import Transport
from ..wire import (
    Answer,
    Body,
    Cancel,
    Connection,
    EndOfStream,
    Event,
    Failure,
    Request,
    RequestBody,
    State,
)
from .linking import Company, Grace, Owner, Question, body_of

__all__ = ["Link"]

AnswerT = TypeVar("AnswerT")

ENDED = "the session with the CLI ended before anybody decided"

log: logging.Logger = logging.getLogger("claudewire.session")


class Link:
    """One conversation over one transport, from its start to its end.

    Args:
        transport: leads to the CLI. From now on it is the link's to close.
        connection: the protocol.
        owner: who is told what comes, and serves what is asked.
        grace: the bounds of the end.
        argv: how the CLI was started, for evidence.
    """

    def __init__(
        self,
        transport: Transport,
        connection: Connection,
        owner: Owner,
        *,
        grace: Grace | None = None,
        argv: tuple[str, ...] = (),
    ) -> None:
        self.connection = connection
        self.status: int | None = None
        self.failure: BaseException | None = None
        self.finished: anyio.Event = anyio.Event()
        self.may_withdraw: bool = False
        """Whether the CLI can be told that an answer is not wanted any more: old ones exit."""
        self.last_received: float = -math.inf
        self.outstayed: bool = False
        """Set if it did not exit although its output or input had ended: it was us who ended it."""
        self._transport = transport
        self._owner = owner
        self._grace = grace or Grace()
        self._evidence = EvidenceLog(argv, getattr(transport, "pid", None))
        self._outgoing: deque[bytes] = deque()
        self._writing = Signal()
        self._written = Signal()
        self._unwritten = 0
        self._deaf = False
        self._input_ended = False
        self._questions: dict[str, Question] = {}
        self._serving: dict[str, anyio.CancelScope] = {}
        self._tasks: Company | None = None
        self._extra: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self._progress = Signal()
        self._closing = self._hurry = self._exited = self._output_ended = False

    # --- facts -----------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether something can still be said."""
        return not (self._input_ended or self._deaf or self._output_ended)

    @property
    def is_closing(self) -> bool:
        """Whether the end was asked for, rather than happened."""
        return self._closing

    @property
    def is_deaf(self) -> bool:
        """Whether the CLI has closed its input."""
        return self._deaf

    @property
    def pid(self) -> int | None:
        """The process, if it is one."""
        return self._evidence.pid

    @property
    def unwritten(self) -> int:
        """How many bytes the CLI has not taken yet."""
        return self._unwritten

    @property
    def serving(self) -> int:
        """How many requests of the CLI are being served."""
        return len(self._serving)

    def evidence(self) -> Evidence:
        """What is known about the CLI now."""
        return self._evidence.evidence(self.status)

    # --- what callers do -------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to read, write and serve, in a task of its own."""
        run_detached(self._run, "claudewire link", self._never_ran)

    def start_soon(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run something beside the reader for as long as there is one."""
        if self._tasks is None:
            self._extra.append(function)
        else:
            self._tasks.start_soon(function)

    def post(self, event: Event) -> None:
        """Say something. It is written in the order of these calls, as soon as the CLI takes it.

        Raises:
            LocalProtocolError: it may not be said now.
        """
        data = self.connection.send(event)
        if data:
            self._evidence.note_sent(data)
            self._outgoing.append(data)
            self._unwritten += len(data)
        self._writing.notify()

    async def flush(self) -> None:
        """Wait until the CLI has taken all that was posted, or never will."""
        await self._written.until(lambda: not self._unwritten or not self.is_open)

    async def ask(
        self, body: RequestBody[AnswerT], *, timeout: float | None, name: str = ""
    ) -> AnswerT:
        """Put a request and wait for its answer. A caller that is cancelled withdraws it.

        Raises:
            RequestTimeout: there was none in time.
            UnsupportedRequest: the CLI does not know the request.
            RequestError: the CLI refused.
            TransportClosed: the CLI has gone.
        """
        name = name or str(type(body).__struct_config__.tag)
        if not self.is_open:
            raise TransportClosed(f"The CLI has gone and cannot answer {name!r}")
        request = self.connection.new_request(cast("Body", body))
        question = self._questions[request.id] = Question()
        try:
            self.post(request)
            with anyio.fail_after(timeout):
                await question.settled.wait()
        except TimeoutError:
            raise RequestTimeout(
                f"The CLI did not answer {name!r} within {timeout:g} s",
                request=name,
                evidence=self.evidence(),
                advice="It has been withdrawn. Give a longer timeout if the CLI is only slow.",
            ) from None
        finally:
            del self._questions[request.id]
            if request.id in self.connection.asked:
                self._withdraw(request)
        return cast("AnswerT", body_of(question.answer, name, self.evidence))

    def _withdraw(self, request: Request) -> None:
        if self.may_withdraw and self.is_open:
            self.post(Cancel(id=request.id))
        else:
            self.connection.abandon(request.id)

    def refuse(self, which: Callable[[Request], bool], reason: str) -> None:
        """Say no to what the CLI still asks of us, and stop whoever serves it."""
        for request in filter(which, list(self.connection.owed.values())):
            self._stop_serving(request.id)
            self.post(self._owner.refusal(request, reason))

    def close(self, *, now: bool = False) -> None:
        """Begin the end: input is closed, output read to its end, the process ended.

        Args:
            now: do not give it time to exit by itself.
        """
        self._closing = True
        self._hurry = self._hurry or now
        self._progress.notify()

    def send_signal(self, signal: int) -> None:
        """Signal the process, if there is one that takes signals."""
        send: Callable[[int], None] | None = getattr(self._transport, "send_signal", None)
        if send is not None and not self.finished.is_set():
            send(signal)

    # --- the task of its own ---------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            await self._converse()
        except anyio.get_cancelled_exc_class() as cancelled:
            # The event loop is ending under us: there is no time to be polite.
            self.failure = cancelled
            self.kill_now()
            raise
        except BaseException as error:
            log.exception("The link failed")
            self.failure = error
        finally:
            await self._let_go()

    async def _converse(self) -> None:
        async with anyio.create_task_group() as group:
            self._tasks = tasks = Company(group)
            steady = (self._read, self._write, self._read_stderr, self._await_exit)
            for function in (*steady, *self._extra):
                tasks.start_soon(function)
            await self._progress.until(self._is_over)
            await self._end()
            if not await tasks.dismiss(self._grace.rest):
                log.warning("Something that was told to stop goes on; nobody waits for it")
                self._be_over()

    def _is_over(self) -> bool:
        return self._closing or self._deaf or self._exited or self._output_ended

    async def _await_exit(self) -> None:
        self.status = await self._transport.wait()
        self._exited = True
        self._progress.notify()

    async def _end(self) -> None:
        """See the process out, step by step, each bounded."""
        if self._closing and not self._output_ended:
            self._end_input()
        with anyio.move_on_after(self._grace.exit):
            await self._progress.until(lambda: self._exited or self._hurry)
        if not self._exited and not self._hurry:
            log.warning("The CLI did not exit by itself within %g s", self._grace.exit)
            self.outstayed = not self._closing
        if self._exited:  # a child of its own may hold its output open
            await self._drain(self._grace.drain)
        with anyio.CancelScope(shield=True):
            await self._transport.aclose()
        with anyio.move_on_after(self._grace.drain):
            await self._progress.until(lambda: self._exited)
        await self._read_the_rest()

    async def _read_the_rest(self) -> None:
        """Read what was left when it was closed: that has an end, however slow this machine is."""
        heard = math.nan
        while not self._output_ended and heard != self.last_received:
            heard = self.last_received
            await self._drain(self._grace.rest)

    async def _drain(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._progress.until(lambda: self._output_ended)

    def _end_input(self) -> None:
        """Refuse what is still asked of us, and say that nothing more will come."""
        self.refuse(lambda request: True, ENDED)
        self.post(EndOfStream())
        self._input_ended = True

    async def _let_go(self) -> None:
        with anyio.CancelScope(shield=True):
            with suppress(Exception):
                await self._transport.aclose()
        self._be_over()

    def _never_ran(self) -> None:
        """The event loop ended before the task had its first chance."""
        self.kill_now()
        self._be_over()

    def _be_over(self) -> None:
        if self.finished.is_set():
            return
        self._tasks = None
        self._output_ended = True
        for question in self._questions.values():
            question.settle(None)
        try:
            self._owner.ended()
        except Exception:
            log.exception("An owner failed at the end of its link")
        self._written.notify()
        self.finished.set()

    def kill_now(self) -> None:
        """End the process at once, from anywhere, without waiting."""
        getattr(self._transport, "kill_now", lambda: None)()

    # --- writing ---------------------------------------------------------------------------------

    async def _write(self) -> None:
        try:
            while True:
                await self._write_out()
                if self._input_ended:
                    await self._transport.send_eof()
                    return
                await self._writing.wait()
        except TransportClosed as closed:
            # Why will be known when its output has ended, which it does if it has died.
            log.debug("The CLI reads no more: %s", closed)
            self._deaf = True
            self._written.notify()
            self._progress.notify()

    async def _write_out(self) -> None:
        while self._outgoing:
            data = b"".join(self._outgoing)
            self._outgoing.clear()
            await self._transport.send(data)
            self._unwritten -= len(data)
        self._written.notify()

    # --- reading ---------------------------------------------------------------------------------

    async def _read(self) -> None:
        try:
            while data := await self._transport.receive():
                self.last_received = anyio.current_time()
                self._take(self.connection.receive_data(data))
        finally:
            if self.connection.their_state is not State.ENDED:
                self._take(self.connection.receive_data(b""))
            self._output_ended = True
            self._progress.notify()

    def _take(self, events: list[Event]) -> None:
        self._evidence.note_received(events)
        for event in events:
            special = _SPECIAL.get(type(event))
            try:
                if special is None:
                    self._owner.received(event)
                else:
                    special(self, event)
            except Exception:
                log.exception("An event could not be dealt with: %r", event)

    def _take_answer(self, answer: Answer | Failure) -> None:
        question = self._questions.get(answer.id)
        if question is not None:
            question.settle(answer)
        self._owner.received(answer)

    def _take_request(self, request: Request) -> None:
        self._owner.received(request)
        if self._tasks is not None and not self._input_ended:
            scope = self._serving[request.id] = anyio.CancelScope()
            self._tasks.start_soon(self._serve, request, scope)

    def _take_cancel(self, cancel: Cancel) -> None:
        self._stop_serving(cancel.id)
        self._owner.received(cancel)

    def _take_end(self, end: EndOfStream) -> None:
        for id in list(self._serving):
            self._stop_serving(id)
        for question in self._questions.values():
            question.settle(None)
        self._owner.received(end)

    async def _read_stderr(self) -> None:
        with suppress(TransportClosed):
            while data := await self._transport.receive_stderr():
                text = self._evidence.note_stderr(data)
                try:
                    self._owner.heard(text)
                except Exception:
                    log.exception("Whoever reads stderr failed")

    # --- serving ---------------------------------------------------------------------------------

    async def _serve(self, request: Request, scope: anyio.CancelScope) -> None:
        try:
            with scope:
                if scope.cancel_called:
                    return  # it was over before it began
                answer = await self._answer_to(request, scope)
                if not scope.cancel_called:
                    self._reply(request, answer)
        finally:
            # The CLI may have withdrawn it and asked again with the same id.
            if self._serving.get(request.id) is scope:
                del self._serving[request.id]

    async def _answer_to(self, request: Request, scope: anyio.CancelScope) -> Answer | Failure:
        try:
            answer = await self._owner.serve(request)
        except (Exception, anyio.get_cancelled_exc_class()) as error:
            if not isinstance(error, Exception) and self._is_cancelled(scope):
                raise
            # Whoever serves may also have waited for something that somebody else cancelled.
            log.exception("A request of the CLI could not be served: %s", request.id)
            return self._owner.refusal(request)
        return answer if isinstance(answer, Answer | Failure) else Answer(request.id, answer)

    def _is_cancelled(self, scope: anyio.CancelScope) -> bool:
        """Whether it is us who cancelled the task that serves a request."""
        return scope.cancel_called or self._tasks is None or self._tasks.is_dismissed

    def _reply(self, request: Request, answer: Answer | Failure) -> None:
        """Answer, unless the request was withdrawn or all is over meanwhile."""
        if request.id not in self.connection.owed or self._input_ended:
            return
        try:
            self.post(answer)
        except (Error, TypeError, ValueError):
            log.exception("The answer to %s cannot be written", request.id)
            self.post(self._owner.refusal(request))

    def _stop_serving(self, id: str) -> None:
        scope = self._serving.get(id)
        if scope is not None:
            scope.cancel()


_SPECIAL: dict[type[Event], Callable[[Link, Any], None]] = {
    Answer: Link._take_answer,
    Failure: Link._take_answer,
    Request: Link._take_request,
    Cancel: Link._take_cancel,
    EndOfStream: Link._take_end,
}
"""What a link sees to itself, besides telling its owner."""
