"""A transport with the protocol on it: reads, writes, asks, serves, and knows when it is over.

Everything runs in one task of its own with a task group inside: a reader, and a writer if a
transport does not take all at once. With asyncio and a process, a task reads only after very much
has arrived at once, neither stderr nor the exit needs one, and a request of the CLI has one of its
own only if its handler waits for something. A caller cannot stop the reader or the end: it leaves
something to be written and waits for an event.

The reader hands each event to a function that must not wait, so nothing that an application does or
fails to do can delay the next line. If very much arrives at once, it is handled in several rounds
of the event loop, and no more is read meanwhile.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import Context, copy_context
from functools import partial
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio
import anyio.abc
import anyio.lowlevel

from ..concurrency import Flag, FunctionExited, Signal, clock, ends_the_caller, run_detached
from ..errors import (
    CLIError,
    Evidence,
    EvidenceLog,
    RequestTimeout,
    TransportClosed,
)
from ..options import Timeouts
from ..transport import ProcessTransport, Transport
from ..wire import (
    Answer,
    AssistantMessage,
    Body,
    Cancel,
    Connection,
    EndOfStream,
    Event,
    Failure,
    Request,
    RequestBody,
    State,
    StreamEvent,
    ToolProgressMessage,
    UserMessage,
)
from .log import log, session_name
from .pending_request import PendingRequest, name_of
from .queue import EMPTY
from .tasks import TaskSet
from .wire_logger import WireLogger, is_wire_logged

if TYPE_CHECKING:
    from .link_owner import LinkOwner, Responder

__all__ = ["Link"]

AnswerT = TypeVar("AnswerT")

ENDED = "the session with the CLI ended before a decision was made"

WITHDRAWN = "The request was withdrawn. Use a longer timeout if the CLI is only slow."
NOT_WITHDRAWN = (
    "The CLI may still carry it out: this one cannot be told that it was withdrawn. Use a longer "
    "timeout if the CLI is only slow, and a newer CLI if it does not know the request."
)

REST_FOLLOWS_WITHIN = 1.0
"""Seconds between two pieces of output that were left when the transport was closed."""

CANCELLED_WITHIN = 1.0
"""Seconds for tasks to end that were cancelled."""


ROUND = 150
"""What is handled in one round of the event loop: so many events, where a request, a withdrawal or
an answer counts as several, and output of a turn, of which a chunk may have hundreds, as little."""
OF_A_REQUEST = 30
"""As how many events a request counts: it starts a task, and all these run in the next round. With
a policy or an audit each takes up to a millisecond."""
OUTPUT: frozenset[type[Event]] = frozenset(
    {AssistantMessage, StreamEvent, ToolProgressMessage, UserMessage}
)
"""Most of what a CLI says in a turn."""
OUTPUT_AT_ONCE = 1000
"""How many of these are handled in one round."""

SERVED_AT_ONCE = 1000
"""Requests of the CLI that are served at the same time; the others wait for their turn. Thousands
of tasks would keep Python's garbage collector busy for too long at a time."""
MOST_OPEN = 50_000
"""Requests of the CLI that may be open. A CLI that has more of them is out of order."""


class _TooMany(Exception):
    """More has arrived than is to be handled in one round of the event loop."""


class Link:
    """One conversation over one transport, from its start to its end.

    Args:
        transport: leads to the CLI. The link closes it.
        connection: the protocol.
        owner: is told what happens.
        responder: answers the requests of the CLI.
        timeouts: of which `exit` and `drain` are for the end of the link.
        argv: how the CLI was started, for evidence.
        name: the name of the session, for the logs.
    """

    # What changes seldom is here: an object with more than 29 attributes of its own takes 1.5 KB.
    status: int | None = None
    failure: BaseException | None = None
    may_withdraw: bool = False
    """Whether the CLI knows `control_cancel_request`. Old ones exit when they get one."""
    is_closing: bool = False
    """Set when the end was asked for."""
    input_broken: bool = False
    """Set if the CLI has closed its input."""
    did_not_exit: bool = False
    """Set if the CLI did not exit by itself although its output or input had ended."""
    loop_ended: bool = False
    """Set if the event loop has ended before the link."""
    _hurry = _exited = _input_ended = _output_ended = _is_beginning = _is_transport_closed = False
    _writing: Signal | None = None  # wakes the writer, if there is one
    _extra: tuple[Callable[[], Coroutine[Any, Any, None]], ...] = ()

    def __init__(
        self,
        transport: Transport,
        connection: Connection,
        owner: LinkOwner,
        responder: Responder,
        *,
        timeouts: Timeouts | None = None,
        argv: tuple[str, ...] = (),
        name: str = "",
    ) -> None:
        self.connection = connection
        self.finished: Flag = Flag()
        self.now: Callable[[], float] = anyio.current_time
        self.last_received: float = -math.inf
        self._transport = transport
        # A class of the application that is derived from it may do all of this in its own way.
        self._process = transport if type(transport) is ProcessTransport else None
        self._owner = owner
        self._responder = responder
        self._timeouts = timeouts or Timeouts()
        self._evidence = EvidenceLog(argv, getattr(transport, "pid", None))
        self._wire_log = WireLogger(name)
        self._outgoing: list[bytes] = []
        self._unwritten = 0
        self._unhandled: list[Event] = []
        self._pending: dict[str, PendingRequest] = {}
        self._serving: dict[str, anyio.CancelScope] = {}
        self._unserved: deque[Request] = EMPTY
        self._served_now = 0
        self._tasks: TaskSet | None = None
        self._context: Context  # of its task
        self._progress = Signal()

    # --- facts -----------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether something can still be sent."""
        return not (self._input_ended or self.input_broken or self._output_ended)

    @property
    def pid(self) -> int | None:
        """The CLI's process id, if it is a process."""
        return self._evidence.pid

    @property
    def serving(self) -> int:
        """How many requests of the CLI are being served, or wait for their turn."""
        return self._served_now + len(self._unserved)

    def evidence(self) -> Evidence:
        """Collect what is known about the CLI now."""
        return self._evidence.evidence(self.status)

    # --- what callers do -------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to read, write and serve, in a task of its own."""
        self.now = clock()
        run_detached(self._run, "claudewire link", self._task_ended)

    def start_soon(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a function beside the reader; it is cancelled at the end of the link."""
        if self._tasks is None:
            self._extra = (*self._extra, function)
        else:
            # Not with the variables of whoever calls this: with the timer of a watchdog, anybody.
            self._context.run(self._tasks.start_soon, self._run_beside, function)

    async def _run_beside(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await function()
        except BaseException as error:
            if ends_the_caller(error) or isinstance(error, anyio.get_cancelled_exc_class()):
                raise
            self._owner.failed(error)

    def post(self, event: Event) -> None:
        """Send something. It is written in the order of these calls, as soon as the CLI takes it.

        Raises:
            LocalProtocolError: the protocol does not allow it now.
        """
        data = self.connection.send(event)
        if data:
            self._send(data)
            self._evidence.note_sent(data)
            if is_wire_logged():
                self._wire_log.sent(data)

    async def flush(self) -> None:
        """Wait until the CLI has taken all that was posted, or never will."""
        await self._progress.until(lambda: not self._unwritten or not self.is_open)

    async def ask(self, body: RequestBody[AnswerT], *, timeout: float | None) -> AnswerT:
        """Send a request and wait for its answer. A caller that is cancelled withdraws it.

        Raises:
            RequestTimeout: there was no answer in time.
            UnsupportedRequest: the CLI does not know the request.
            RequestError: the CLI refused.
            TransportClosed: the CLI has exited without an answer.
        """
        name = name_of(body)
        if not self.is_open:
            raise TransportClosed(f"The CLI has exited and cannot answer {name!r}")
        request = self.connection.new_request(cast("Body", body))
        pending = self._pending[request.id] = PendingRequest()
        try:
            self.post(request)
            self._owner.asked()
            if not await pending.settled.wait(timeout):
                raise RequestTimeout(
                    f"The CLI did not answer {name!r} within {timeout:g} s",
                    request=name,
                    evidence=self.evidence(),
                    advice=WITHDRAWN if self.may_withdraw else NOT_WITHDRAWN,
                )
        finally:
            del self._pending[request.id]
            if request.id in self.connection.asked:
                self._withdraw(request)
        return cast("AnswerT", pending.body(name, self.evidence))

    def _withdraw(self, request: Request) -> None:
        if self.may_withdraw and self.is_open:
            self.post(Cancel(id=request.id))
        else:
            self.connection.abandon(request.id)

    def refuse(self, which: Callable[[Request], bool], reason: str) -> None:
        """Refuse open requests of the CLI, and stop serving them."""
        requests = list(filter(which, self.connection.owed.values()))
        for request in requests[: ROUND // OF_A_REQUEST]:
            self._refuse(request, reason)
        if rest := requests[ROUND // OF_A_REQUEST :]:
            self.start_soon(partial(self._refuse_all, rest, reason))

    async def _refuse_all(self, requests: list[Request], reason: str) -> None:
        """Refuse many requests, in several rounds of the event loop."""
        for number, request in enumerate(requests, 1):
            self._refuse(request, reason)
            if number % (ROUND // OF_A_REQUEST) == 0:
                await anyio.lowlevel.checkpoint()

    def _refuse(self, request: Request, reason: str) -> None:
        if self._owes(request) and not self._input_ended:
            answer = self._responder.refusal(request, reason)
            self._stop_serving(request.id)
            self.post(answer)

    def close(self, *, now: bool = False) -> None:
        """Begin the end: input is closed, output read to its end, the process ended.

        Args:
            now: do not give the CLI time to exit by itself.
        """
        self.is_closing = True
        if now:
            self._hurry = True
        self._progress.notify()

    def rename(self, name: str) -> None:
        """Use the name that the application has given to the session, also in evidence."""
        self._wire_log.session = self._evidence.session = name

    def send_signal(self, signal: int) -> None:
        """Signal the process, if there is one that takes signals."""
        send: Callable[[int], None] | None = getattr(self._transport, "send_signal", None)
        if send is not None and not self.finished.is_set():
            send(signal)

    # --- the task of its own ---------------------------------------------------------------------

    async def _run(self) -> None:
        logger = self._wire_log  # not this: what keeps the context would keep the link
        session_name.set(lambda: logger.session)
        self._context = copy_context()
        try:
            try:
                await self._converse()
            finally:
                if self._tasks is not None:
                    self._tasks.close()
                    self._tasks = None
        except GeneratorExit:  # the event loop has ended, and nothing can be waited for
            self._end_without_loop()
            raise
        except anyio.get_cancelled_exc_class():
            # There is no time to wait for anything.
            self.loop_ended = True
            self.kill_now()
            await self._close_transport()
            raise
        except BaseException as error:
            self.failure = _original(error)
            await self._close_transport()
            log.error("The link failed", exc_info=error)
        else:
            await self._close_transport()

    async def _converse(self) -> None:
        async with anyio.create_task_group() as group:
            self._tasks = tasks = TaskSet(group)
            process = self._process
            if process is None or not process.pump_without_task(
                self._take_data, self._stopped_reading
            ):
                tasks.start_soon(self._read)
            if process is None or not process.watch(
                self._hear, self._note_exit, self._owner.failed
            ):
                tasks.start_soon(self._read_stderr)
                tasks.start_soon(self._await_exit)
            if self._unwritten or self._input_ended:
                self._wake_writer()
            for function in self._extra:
                tasks.start_soon(self._run_beside, function)
            await self._progress.until(self._is_over)
            await self._end()
            self._stop_serving_all()
            if not await tasks.cancel(CANCELLED_WITHIN):
                log.warning("A handler ignored its cancellation; no longer waiting for it")
                self._finish()

    def _is_over(self) -> bool:
        return self.is_closing or self.input_broken or self._exited or self._output_ended

    async def _await_exit(self) -> None:
        self._note_exit(await self._transport.wait())

    def _note_exit(self, status: int | None) -> None:
        self.status = status
        self._exited = True
        self._progress.notify()

    async def _end(self) -> None:
        """End the process step by step, each within a bound."""
        if self.is_closing and not self._output_ended:
            await self._end_input()
        await self._progress.until(lambda: self._exited or self._hurry, self._timeouts.exit)
        if not self._exited and not self._hurry:
            log.warning("The CLI did not exit by itself within %g s", self._timeouts.exit)
            self.did_not_exit = not self.is_closing
        if self._exited:  # a child of the CLI may hold its output open
            await self._drain(self._timeouts.drain)
        await self._aclose()
        await self._progress.until(lambda: self._exited, self._timeouts.drain)
        await self._read_the_rest()

    async def _read_the_rest(self) -> None:
        """Read what was left when the transport was closed, for as long as some more comes."""
        heard = math.nan
        while not self._output_ended and heard != self.last_received:
            heard = self.last_received
            await self._drain(REST_FOLLOWS_WITHIN)

    async def _drain(self, seconds: float) -> None:
        await self._progress.until(lambda: self._output_ended, seconds)

    async def _end_input(self) -> None:
        """Refuse the open requests of the CLI and end our stream."""
        await self._refuse_all(list(self.connection.owed.values()), ENDED)
        self.post(EndOfStream())
        self._input_ended = True
        if self._process is not None and self._writing is None:
            await self._process.send_eof()  # there is nothing to write before it
        else:
            self._wake_writer()

    async def _close_transport(self) -> None:
        try:
            await self._aclose()
        finally:
            self._finish()

    async def _aclose(self) -> None:
        if self._is_transport_closed:
            return
        try:
            if self._process is not None:  # which has limits of its own, and is not cancelled
                await self._process.aclose()
                self._is_transport_closed = True
            else:
                await self._aclose_in_time()
        except BaseException as error:
            if ends_the_caller(error):
                raise
            log.exception("The transport could not be closed")

    async def _aclose_in_time(self) -> None:
        limits = self._timeouts
        seconds = limits.terminate + 2 * limits.kill + limits.drain
        with anyio.move_on_after(seconds, shield=True) as scope:
            await self._transport.aclose()
        self._is_transport_closed = not scope.cancelled_caught
        if scope.cancelled_caught:
            log.warning("The transport did not close within %g s", seconds)

    def _task_ended(self) -> None:
        if not self.finished.is_set():  # the event loop has ended before the task could begin
            self._end_without_loop()

    def _end_without_loop(self) -> None:
        """Clean up when the event loop has ended, and nothing can be waited for."""
        self.loop_ended = True
        self.kill_now()
        self._finish()

    def _finish(self) -> None:
        if self.finished.is_set():
            return
        self._tasks = None
        self._output_ended = True
        self._stop_serving_all()
        self._settle_all()
        try:
            self._owner.ended()
        finally:
            self._progress.notify()
            self.finished.set()

    def _settle_all(self) -> None:
        for pending in self._pending.values():
            pending.settle(None)

    def kill_now(self) -> None:
        """Kill the process at once, from any thread, without waiting."""
        try:
            getattr(self._transport, "kill_now", lambda: None)()
        except BaseException:
            log.exception("The transport could not kill the CLI")

    # --- writing ---------------------------------------------------------------------------------

    def _send(self, data: bytes) -> None:
        """Write at once what the CLI takes, and leave the rest to the writer."""
        if self._process is not None and not self._unwritten:
            try:
                data = data[self._process.send_now(data) :]
            except TransportClosed as closed:
                self._note_broken(closed)
        if data:
            self._outgoing.append(data)
            self._unwritten += len(data)
            self._wake_writer()

    def _wake_writer(self) -> None:
        """Let the writer go on. Many sessions never need it: a process takes all at once."""
        if self._writing is not None:
            self._writing.notify()
        elif self._tasks is not None:
            self._writing = Signal()
            self._tasks.start_soon(self._write, self._writing)

    async def _write(self, more: Signal) -> None:
        try:
            while True:
                await self._write_out()
                if self._input_ended:
                    await self._transport.send_eof()
                    return
                await more.wait()
        except TransportClosed as closed:
            self._note_broken(closed)

    def _note_broken(self, closed: TransportClosed) -> None:
        # The reason will be known when its output has ended.
        log.debug("The CLI reads no more: %s", closed)
        self.input_broken = True
        self._progress.notify()

    async def _write_out(self) -> None:
        while self._outgoing:
            data = b"".join(self._outgoing)
            self._outgoing.clear()
            await self._transport.send(data)
            self._unwritten -= len(data)
        self._progress.notify()

    # --- reading ---------------------------------------------------------------------------------

    def _stopped_reading(self, error: BaseException | None) -> None:
        """Note that what arrives is read no longer, in no task; go on in one if it was too much."""
        if isinstance(error, _TooMany):
            if self._tasks is not None:
                self._tasks.start_soon(self._read)
                return
        elif error is not None:
            self._owner.failed(error)
        try:
            self._end_reading()
        except BaseException as failure:  # no task is there to raise it
            self._owner.failed(failure)

    async def _read(self) -> None:
        try:
            is_over = False
            while not is_over:
                while self._unhandled:
                    await anyio.lowlevel.checkpoint()
                    self._unhandled = self._handle(self._unhandled)
                is_over = await self._read_on()
        finally:
            self._end_reading()

    def _end_reading(self) -> None:
        try:
            if self.connection.their_state is not State.ENDED:
                self._take(self.connection.receive_data(b""), 0)
            while self._unhandled:
                self._unhandled = self._handle(self._unhandled)
        finally:
            self._output_ended = True
            self._progress.notify()

    async def _read_on(self) -> bool:
        """Read until the end; or, and that returns False, until too much arrives at once."""
        try:
            if self._process is not None:
                await self._process.pump(self._take_data)
            else:
                while data := await self._transport.receive():
                    self._take_data(data)
        except _TooMany:
            return False
        return True

    def _take_data(self, data: bytes) -> None:
        self.last_received = self.now()
        self._take(self.connection.receive_data(data), len(data))
        if self._unhandled:
            raise _TooMany

    def _take(self, events: list[Event], size: int) -> None:
        if not events:
            return  # a part of a line
        self._evidence.note_received(events, size)
        if is_wire_logged():
            self._wire_log.received(events)
        if self._unhandled:
            self._unhandled += events
        else:
            self._unhandled = self._handle(events)

    def _handle(self, events: list[Event]) -> list[Event]:
        """Handle as many events as one round of the event loop has time for; return the others."""
        if len(events) == 1 and type(events[0]) not in OUTPUT:  # as with most requests
            self._handle_one(events[0])
            if self._unserved:
                self._serve_next(at_once=True)
            return []
        if len(events) <= OUTPUT_AT_ONCE and self._is_handed_over(events):
            return []
        handled, left = 0, ROUND
        while handled < len(events) and left > 0:
            event = events[handled]
            if type(event) in OUTPUT:
                rest = islice(events, handled, handled + OUTPUT_AT_ONCE)
                output = list(takewhile(lambda it: type(it) in OUTPUT, rest))
                handled += len(output)
                left -= len(output) * ROUND // OUTPUT_AT_ONCE
                self._hand_over(output)
            else:
                handled += 1
                left -= self._handle_one(event)
        # Not before all is read: what follows a request may say that it is over.
        self._serve_next()
        return events[handled:]

    def _handle_one(self, event: Event) -> int:
        """Handle an event; return as how many it counts."""
        special = _SPECIAL.get(type(event))
        try:
            if special is None:
                self._owner.received(event)
            else:
                special(self, event)
        except BaseException as error:
            self._owner.failed(error)
        return 1 if special is None else OF_A_REQUEST

    def _hand_over(self, output: list[Event]) -> None:
        if not self._is_handed_over(output):
            for message in output:
                self._handle_one(message)

    def _is_handed_over(self, events: list[Event]) -> bool:
        """Hand over events all at once, if they are output of the running turn and nothing else."""
        try:
            return self._owner.received_output(events)
        except BaseException as error:
            self._owner.failed(error)
            return True

    def _take_answer(self, answer: Answer | Failure) -> None:
        pending = self._pending.get(answer.id)
        if pending is not None:
            pending.settle(answer)
        self._owner.received(answer)

    def _take_request(self, request: Request) -> None:
        self._owner.received(request)
        if self._tasks is None or self._input_ended:
            return
        if self._served_now + len(self._unserved) >= MOST_OPEN:
            raise CLIError(f"The CLI has more than {MOST_OPEN:,} requests open at the same time")
        if self._unserved is EMPTY:
            self._unserved = deque()
        self._unserved.append(request)

    def _take_cancel(self, cancel: Cancel) -> None:
        self._stop_serving(cancel.id)
        self._owner.received(cancel)

    def _take_end(self, end: EndOfStream) -> None:
        self._stop_serving_all()
        self._settle_all()
        self._owner.received(end)

    async def _read_stderr(self) -> None:
        with suppress(TransportClosed):
            while data := await self._transport.receive_stderr():
                self._hear(data)

    def _hear(self, data: bytes) -> None:
        text = self._evidence.note_stderr(data)
        if is_wire_logged():
            self._wire_log.heard(text)
        self._owner.heard(text)

    # --- serving ---------------------------------------------------------------------------------

    def _serve_next(self, *, at_once: bool = False) -> None:
        """Begin to serve what waits for its turn.

        Args:
            at_once: nothing else has arrived, which the application might have to see before.
        """
        if self._is_beginning:
            return  # what has just begun has ended at once; the loop below goes on
        self._is_beginning = True
        while self._unserved and self._served_now < SERVED_AT_ONCE and self._tasks is not None:
            request = self._unserved.popleft()
            try:
                if self._owes(request) and not self._input_ended:
                    self._begin_to_serve(request, self._tasks, at_once=at_once)
            except BaseException as error:
                self._owner.failed(error)
        self._is_beginning = False

    def _begin_to_serve(self, request: Request, tasks: TaskSet, *, at_once: bool) -> None:
        """Answer a request at once, or start a task for it."""
        try:
            served = self._responder.serve(request)
        except BaseException:
            log.exception("The request %s of the CLI could not be answered", request.id)
            served = self._responder.refusal(request)
        if callable(served):
            scope = self._serving[request.id] = tasks.new_scope(at_once=at_once)
            self._served_now += 1
            tasks.start(scope, self._serve(request, served, scope, tasks))
        else:
            self._reply(request, served)
            self._owner.answered()

    def _owes(self, request: Request) -> bool:
        """Whether a request was neither answered nor withdrawn; its id may have been used again."""
        return self.connection.owed.get(request.id) is request

    async def _serve(
        self,
        request: Request,
        served: Callable[[], Awaitable[Any]],
        scope: anyio.CancelScope,
        tasks: TaskSet,
    ) -> None:
        try:
            if scope.cancel_called:  # the CLI has withdrawn it already
                return
            try:
                answer = await served()
            except BaseException as error:
                if self._is_over_with(error, scope):
                    raise
                # A handler may also have waited for something that was cancelled elsewhere.
                log.exception("The request %s of the CLI could not be answered", request.id)
                answer = self._responder.refusal(request)
            if not scope.cancel_called:
                self._reply(request, answer)
        except BaseException as error:
            if ends_the_caller(error):
                if not (self._is_cancelled(scope) or isinstance(error, GeneratorExit)):
                    # The application has cancelled this task, in which its handler ran.
                    self._reply(request, self._responder.refusal(request))
                raise
            with suppress(BaseException):  # a logging handler may raise anything
                self._owner.failed(error)
        finally:
            # The CLI may have withdrawn it and asked again with the same id.
            if self._serving.get(request.id) is scope:
                del self._serving[request.id]
            tasks.ended(scope)
            self._served_now -= 1
            if self._unserved and not self._is_cancelled():
                self._context.copy().run(self._serve_next)  # not in that of this handler
            self._owner.answered()

    def _is_over_with(self, error: BaseException, scope: anyio.CancelScope) -> bool:
        """Whether serving a request has ended with this, and not only its handler has."""
        is_over = self._is_cancelled(scope) and not isinstance(error, Exception)
        return is_over or ends_the_caller(error)

    def _is_cancelled(self, scope: anyio.CancelScope | None = None) -> bool:
        """Whether the link has cancelled the task that serves a request, or all of them."""
        withdrawn = scope is not None and scope.cancel_called
        return withdrawn or self._tasks is None or self._tasks.is_cancelled

    def reply(self, request: Request, answer: Any) -> None:
        """Answer a request that is being served, and stop serving it."""
        if self._owes(request):
            self._reply(request, answer)
            self._stop_serving(request.id)

    def _reply(self, request: Request, answer: Any) -> None:
        """Answer, unless the request was withdrawn or the link was closed meanwhile."""
        if self._input_ended or not self._owes(request):
            return
        try:
            self.post(answer if isinstance(answer, _ANSWERS) else Answer(request.id, answer))
        except Exception:
            log.exception("The answer to %s cannot be written", request.id)
            self.post(self._responder.refusal(request))

    def _stop_serving_all(self) -> None:
        for id in list(self._serving):
            self._stop_serving(id)

    def _stop_serving(self, id: str) -> None:
        scope = self._serving.pop(id, None)
        if scope is not None:
            self._responder.withdrawn(id)
            scope.cancel()


_ANSWERS = (Answer, Failure)


def _original(error: BaseException) -> BaseException:
    """Return what was raised in one of the tasks of a link, if it was in one only."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return (error.__cause__ or error) if isinstance(error, FunctionExited) else error


_SPECIAL: dict[type[Event], Callable[[Link, Any], None]] = {
    Answer: Link._take_answer,
    Failure: Link._take_answer,
    Request: Link._take_request,
    Cancel: Link._take_cancel,
    EndOfStream: Link._take_end,
}
"""What a link handles itself, besides telling its owner."""
