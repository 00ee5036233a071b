"""A transport with the protocol on it: reads, writes, asks, serves, and ends the CLI.

A link reads by a callback where the event loop is asyncio and the transport a process, otherwise in
a task. Each chunk becomes a list of events. The core gets the list first and must not wait. Then
the link serves the requests in it, each in its own task. So nothing that an application does or
fails to do can delay the next line.

All tasks are outside of any task group: a session may be closed in another task than the one that
opened it. A caller cannot stop the reader or the end of a link: it leaves a request and waits for
an event.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import copy_context
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast

import anyio
import anyio.lowlevel

from ..concurrency import Signal, clock, ends_the_caller, is_of_a_signal, run_detached
from ..errors import (
    CLIError,
    Evidence,
    EvidenceLog,
    RequestError,
    RequestTimeout,
    TransportClosed,
    UnsupportedRequest,
)
from ..options import Timeouts
from ..transport import ProcessTransport
from ..wire import (
    Answer,
    Body,
    Cancel,
    Connection,
    EndOfStream,
    Event,
    Failure,
    InvalidLine,
    KeepAlive,
    Malformed,
    Oversize,
    RateLimitEvent,
    Request,
    RequestBody,
    SessionStateChangedMessage,
    State,
    StatusMessage,
    UnknownRequest,
)
from .log import WireLogger, is_wire_logged, log, session_name

if TYPE_CHECKING:
    from ..launch import Connected
    from .core import Core

AnswerT = TypeVar("AnswerT")

Function = Callable[[], Coroutine[Any, Any, None]]


class _Default(Enum):
    DEFAULT = "default"


DEFAULT: Final = _Default.DEFAULT
"""The timeout that the session was opened with."""

Timeout = float | None | Literal[_Default.DEFAULT]
"""Seconds, None to wait without limit, or `DEFAULT`."""

UNSUPPORTED = "unsupported_request"
"""The CLI's code for a request that it does not know."""

ENDED = "the session with the CLI ended before a decision was made"

WITHDRAWN = "The request was withdrawn. Use a longer timeout if the CLI is only slow."
NOT_WITHDRAWN = (
    "The CLI may still carry it out: it does not support withdrawals. Use a longer timeout if the "
    "CLI is only slow, and a newer CLI if it does not know the request."
)

REST_FOLLOWS_WITHIN = 1.0
"""Seconds between two pieces of output that were left when the transport was closed."""
STDERR_FOLLOWS_WITHIN = 0.1
"""Seconds for the end of stderr after that of the output: it may have the reason of the exit."""
CANCELLED_WITHIN = 1.0
"""Seconds for cancelled tasks to end."""

CHUNK = 64 * 1024
"""Bytes that are handled in one round of the event loop."""
MOST_OPEN = 50_000
"""Open requests of the CLI beyond which it is out of order."""


_CONTROL = frozenset({Request, Answer, Failure, Cancel, EndOfStream})
_WITHOUT_PROGRESS = frozenset(
    {KeepAlive, StatusMessage, SessionStateChangedMessage, RateLimitEvent}
    | {Answer, Failure, EndOfStream, InvalidLine, Malformed, Oversize}
)
"""What a CLI may write although nothing goes on."""


def name_of(body: object) -> str:
    """Return the subtype of a request."""
    if isinstance(body, UnknownRequest):
        return str(body.raw.get("subtype"))
    return str(type(cast("Any", body)).__struct_config__.tag)


class _Asked:
    def __init__(self, since: float) -> None:
        self.since = since
        self.settled = anyio.Event()
        self.answer: Answer | Failure | None = None

    def settle(self, answer: Answer | Failure | None) -> None:
        """Wake the caller; None if there will be no answer."""
        self.answer = answer
        self.settled.set()


class Link:
    """One conversation over one transport, which it closes at its end.

    Attributes:
        status: the exit status of the process, negative for a signal.
        may_withdraw: whether the CLI knows `control_cancel_request`.
        is_closing: set when the application asked for the end.
        input_broken: set if the CLI has closed its input.
        did_not_exit: set if the CLI did not exit although its output or input had ended.
        loop_ended: set if the event loop has ended before the link.
        last_progress: the time of the last output that shows progress, by the event loop's clock.
        last_sent: the time of the last prompt or answer.
    """

    def __init__(
        self, connected: Connected, connection: Connection, core: Core, timeouts: Timeouts
    ) -> None:
        transport, handlers = connected.transport, core.handlers
        self.connection: Connection = connection
        self.status: int | None = None
        self.failure: BaseException | None = None
        self.may_withdraw: bool = False
        self.is_closing: bool = False
        self.input_broken: bool = False
        self.did_not_exit: bool = False
        self.loop_ended: bool = False
        self.finished: anyio.Event = anyio.Event()
        self._now = clock()
        self.last_progress: float = -math.inf
        self.last_sent: float = self._now()
        self._transport = transport
        # A subclass of the application may do all of this in another way.
        self._process = transport if type(transport) is ProcessTransport else None
        self._core = core
        self._handlers = handlers
        self._timeouts = timeouts
        self._evidence = EvidenceLog(connected.argv, getattr(transport, "pid", None))
        self._wire_log = logger = WireLogger(handlers.name)
        if handlers.is_named:
            self.rename(handlers.name)
        self._context = copy_context()  # of all tasks
        self._context.run(session_name.set, lambda: logger.session)
        self._progress = Signal()
        self._hurry = self._exited = self._input_ended = False
        self._output_ended = self._stderr_ended = False
        self._is_transport_closed = self._is_writing = self._are_cancelled = False
        self._received = 0
        self._outgoing: list[bytes] = []
        self._unwritten = 0
        self._asked: dict[str, _Asked] = {}
        self._scopes: dict[object, anyio.CancelScope] = {}
        """The running tasks: those that serve requests by the ids of these."""
        self._tasks = 0

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
    def waits_since(self) -> float | None:
        """The time of the oldest request without an answer; None if there is none."""
        return next((it.since for it in self._asked.values()), None)

    def evidence(self) -> Evidence:
        """Collect the evidence about the CLI up to now."""
        return self._evidence.evidence(self.status)

    # --- called by the core ----------------------------------------------------------------------

    def start(self) -> None:
        """Begin to read, write and serve."""
        run_detached(
            self._run, "claudewire link", self._end_without_loop, context=self._context.copy()
        )

    def start_soon(self, function: Function) -> None:
        """Run a function in a task, which is cancelled at the end of the link."""
        self._start_task(object(), function, "claudewire task")

    def post(self, event: Event) -> None:
        """Send something: it is written in the order of these calls, once the CLI takes it."""
        data = self.connection.send(event)
        if not data:
            return
        self._send(data)
        self._evidence.note_sent(data)
        if not isinstance(event, Request | Cancel):
            self.last_sent = self._now()
        if is_wire_logged():
            self._wire_log.sent(data)

    async def ask(self, body: RequestBody[AnswerT], *, timeout: float | None) -> AnswerT:
        """Send a request and wait for its answer. A caller that is cancelled withdraws it."""
        name = name_of(body)
        if not self.is_open:
            raise TransportClosed(f"The CLI has exited and cannot answer {name!r}")
        request = self.connection.new_request(cast("Body", body))
        asked = self._asked[request.id] = _Asked(self._now())
        try:
            self.post(request)
            with anyio.move_on_after(timeout):
                await asked.settled.wait()
            if not asked.settled.is_set():
                raise RequestTimeout(
                    f"The CLI did not answer {name!r} within {timeout:g} s",
                    request=name,
                    evidence=self.evidence(),
                    advice=WITHDRAWN if self.may_withdraw else NOT_WITHDRAWN,
                )
        finally:
            del self._asked[request.id]
            if request.id in self.connection.asked:
                self._withdraw(request)
        if isinstance(asked.answer, Answer):
            return cast("AnswerT", asked.answer.body)
        raise self._not_answered(name, asked.answer)

    def _withdraw(self, request: Request) -> None:
        if self.may_withdraw and self.is_open:
            self.post(Cancel(id=request.id))
        else:
            self.connection.abandon(request.id)

    def _not_answered(self, name: str, failure: Failure | None) -> Exception:
        if failure is None:
            return TransportClosed(f"The CLI has exited without an answer to {name!r}")
        is_unknown = failure.code == UNSUPPORTED or failure.error.startswith("Unsupported control")
        kind = UnsupportedRequest if is_unknown else RequestError
        text = f"This CLI does not know {name!r}" if is_unknown else f"The CLI refused {name!r}"
        reason = f"{text}: {failure.error}"
        return kind(reason, request=name, code=failure.code, evidence=self.evidence())

    def refuse(self, which: Callable[[Request], bool], reason: str) -> None:
        """Refuse open requests of the CLI, and stop serving them."""
        for request in list(filter(which, self.connection.owed.values())):
            self.reply(request, self._handlers.refusal(request, reason))

    def close(self, *, now: bool = False) -> None:
        """Begin the end: input is closed, output read to its end, the process ended.

        `now` gives the CLI no time to exit by itself.
        """
        self.is_closing = True
        self._hurry = self._hurry or now
        self._progress.notify()

    def rename(self, name: str) -> None:
        """Use the name that the application has given to the session, also in evidence."""
        self._wire_log.session = self._evidence.session = name

    def send_signal(self, signal: int) -> None:
        """Signal the process, if there is one that takes signals."""
        send: Callable[[int], None] | None = getattr(self._transport, "send_signal", None)
        if send is not None and not self.finished.is_set():
            send(signal)

    def kill_now(self) -> None:
        """Kill the process at once, from any thread, without waiting."""
        try:
            getattr(self._transport, "kill_now", lambda: None)()
        except BaseException:
            log.exception("The transport could not kill the CLI")

    # --- tasks -----------------------------------------------------------------------------------

    def _start_task(
        self, key: object, function: Function, name: str, *, eager: bool = False
    ) -> None:
        """Run a function in a task with a cancel scope; the key names it in `_scopes`."""

        async def run() -> None:
            try:
                with anyio.CancelScope() as scope:
                    if not self._are_cancelled:
                        self._scopes[key] = scope
                        await function()
            except BaseException as error:
                if ends_the_caller(error):
                    raise
                if self.is_closing:
                    log.exception("A task of the link failed during the close")
                else:
                    self._core.failed(error)
            finally:
                # The CLI may have withdrawn a request and asked again with the same id.
                if self._scopes.get(key) is scope:
                    del self._scopes[key]
                self._tasks -= 1
                if self._are_cancelled:
                    self._progress.notify()

        self._tasks += 1
        run_detached(run, name, context=self._context.copy(), eager=eager)

    async def _cancel_tasks(self) -> None:
        self._are_cancelled = True
        for key in list(self._scopes):
            self._cancel(key)
        with anyio.CancelScope(shield=True):
            if not await self._progress.until(lambda: not self._tasks, CANCELLED_WITHIN):
                log.warning("A handler ignored its cancellation; no longer waiting for it")

    def _cancel(self, key: object) -> None:
        scope = self._scopes.pop(key, None)
        if scope is not None:
            if isinstance(key, str):
                self._handlers.withdrawn(key)
            scope.cancel()

    # --- from the start to the end ---------------------------------------------------------------

    async def _run(self) -> None:
        try:
            if self._process is None or not self._process.read_by_callback(self._take):
                self.start_soon(self._read)
            self.start_soon(self._read_stderr)
            self.start_soon(self._await_exit)
            await self._progress.until(self._is_over)
            await self._end()
            await self._cancel_tasks()
        except GeneratorExit:  # the event loop has ended, and nothing can be waited for
            self._end_without_loop()
            raise
        except anyio.get_cancelled_exc_class():
            self.loop_ended = True
            self.kill_now()
            await self._close_transport()
            raise
        except BaseException as error:
            if is_of_a_signal(error):
                self._end_without_loop()
                raise
            self.failure = error
            await self._close_transport()
            log.error("The link failed", exc_info=error)
        else:
            await self._close_transport()

    def _is_over(self) -> bool:
        return self.is_closing or self.input_broken or self._exited or self._output_ended

    async def _await_exit(self) -> None:
        self.status = await self._transport.wait()
        self._exited = True
        self._progress.notify()

    async def _end(self) -> None:
        """End the process step by step, each within a bound."""
        if self.is_closing and not self._output_ended:
            self.refuse(lambda request: True, ENDED)
            self.post(EndOfStream())
            self._input_ended = True
            self._wake_writer()
        await self._progress.until(lambda: self._exited or self._hurry, self._timeouts.exit)
        if not self._exited and not self._hurry:
            log.warning("The CLI did not exit by itself within %g s", self._timeouts.exit)
            self.did_not_exit = not self.is_closing
        if self._exited:  # a child of the CLI may hold its output open
            await self._progress.until(lambda: self._output_ended, self._timeouts.drain)
            await self._progress.until(lambda: self._stderr_ended, STDERR_FOLLOWS_WITHIN)
        await self._aclose()
        await self._progress.until(lambda: self._exited, self._timeouts.drain)
        received = -1
        while not self._output_ended and received != self._received:
            received = self._received
            await self._progress.until(lambda: self._output_ended, REST_FOLLOWS_WITHIN)

    async def _close_transport(self) -> None:
        try:
            await self._aclose()
        finally:
            self._finish()

    async def _aclose(self) -> None:
        """Close the transport, if it was not closed before. A process has limits of its own."""
        if self._is_transport_closed:
            return
        limits = self._timeouts
        seconds = limits.terminate + 2 * limits.kill + limits.drain
        try:
            with anyio.move_on_after(None if self._process else seconds, shield=True):
                await self._transport.aclose()
                self._is_transport_closed = True
            if not self._is_transport_closed:
                log.warning("The transport did not close within %g s", seconds)
        except BaseException as error:
            if ends_the_caller(error):
                raise
            log.exception("The transport could not be closed")

    def _end_without_loop(self) -> None:
        """Clean up when the event loop has ended, perhaps before the first task could begin."""
        if not self.finished.is_set():
            self.loop_ended = True
            self.kill_now()
            self._finish()

    def _finish(self) -> None:
        if self.finished.is_set():
            return
        self._output_ended = self._are_cancelled = True
        self._take_end()
        try:
            self._core.ended()
        finally:
            self._progress.notify()
            self.finished.set()

    # --- writing ---------------------------------------------------------------------------------

    def _send(self, data: bytes) -> None:
        """Write at once as much as the CLI takes, and leave the rest to a task."""
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
        if not self._is_writing:
            self._is_writing = True
            self.start_soon(self._write)

    async def _write(self) -> None:
        try:
            while self._outgoing:
                data = b"".join(self._outgoing)
                self._outgoing.clear()
                await self._transport.send(data)
                self._unwritten -= len(data)
                self._progress.notify()
            if self._input_ended:
                await self._transport.send_eof()
        except TransportClosed as closed:
            self._note_broken(closed)
        finally:
            self._is_writing = False

    def _note_broken(self, closed: TransportClosed) -> None:
        # The reason will be known when its output has ended.
        log.debug("The CLI reads no more: %s", closed)
        self.input_broken = True
        self._progress.notify()

    # --- reading ---------------------------------------------------------------------------------

    async def _read(self) -> None:
        try:
            while data := await self._transport.receive():
                for start in range(0, len(data), CHUNK):
                    self._take(data[start : start + CHUNK])
                    await anyio.lowlevel.checkpoint()
        finally:
            if not self._output_ended:
                self._take(b"")

    def _take(self, data: bytes) -> None:
        """Handle some bytes of output; `b""` is its end. It never raises."""
        self._received += len(data)
        try:
            if data or self.connection.their_state is not State.ENDED:
                self._handle(self.connection.receive_data(data))
        except BaseException as error:
            if is_of_a_signal(error):
                raise
            self._core.failed(error)
        if not data:
            self._output_ended = True
            self._progress.notify()

    def _handle(self, events: list[Event]) -> None:
        self._evidence.note_received(events)
        if is_wire_logged():
            self._wire_log.received(events)
        if not _WITHOUT_PROGRESS.issuperset(map(type, events)):
            self.last_progress = self._now()
        self._core.received(events)
        for event in events:
            if type(event) in _CONTROL:
                self._handle_control(event, is_alone=len(events) == 1)

    def _handle_control(self, event: Event, *, is_alone: bool) -> None:
        if isinstance(event, Request):
            # An application sees a message before the handler of a request behind it.
            self._serve_request(event, eager=is_alone)
        elif isinstance(event, Answer | Failure):
            if (asked := self._asked.get(event.id)) is not None:
                asked.settle(event)
        elif isinstance(event, Cancel):
            self._cancel(event.id)
        else:
            self._take_end()

    def _take_end(self) -> None:
        """Cancel the tasks that serve requests, and wake all callers that wait for an answer."""
        for key in [key for key in self._scopes if isinstance(key, str)]:
            self._cancel(key)
        for asked in self._asked.values():
            asked.settle(None)

    async def _read_stderr(self) -> None:
        with suppress(TransportClosed):
            while data := await self._transport.receive_stderr():
                text = self._evidence.note_stderr(data)
                if is_wire_logged():
                    self._wire_log.stderr(text)
                self._core.on_stderr(text)
        self._stderr_ended = True
        self._progress.notify()

    # --- serving ---------------------------------------------------------------------------------

    def _serve_request(self, request: Request, *, eager: bool) -> None:
        """Answer a request at once, or start a task for it."""
        if not (self.is_open and self._owes(request)):
            return
        try:
            answer = self._handlers.at_once(request)
        except BaseException as error:
            if is_of_a_signal(error):
                raise
            log.exception("The request %s of the CLI could not be answered", request.id)
            answer = self._handlers.refusal(request)
        if answer is not None:
            self._reply(request, answer)
        elif self._tasks >= MOST_OPEN:
            text = f"The CLI has more than {MOST_OPEN:,} requests open at the same time"
            self._core.failed(CLIError(text))
        else:
            serve = partial(self._serve, request)
            self._start_task(request.id, serve, "claudewire request", eager=eager)

    def _owes(self, request: Request) -> bool:
        """Whether a request was neither answered nor withdrawn; its id may have been used again."""
        return self.connection.owed.get(request.id) is request

    async def _serve(self, request: Request) -> None:
        """Reply with the answer of the application; no, if it fails."""
        if not self._owes(request):
            return  # withdrawn before it began
        try:
            answer = await self._handlers.answer(request, partial(self.reply, request))
        except BaseException as error:
            if ends_the_caller(error):
                # A handler may have cancelled its own task; others are no longer owed an answer.
                if not isinstance(error, GeneratorExit):
                    self._reply(request, self._handlers.refusal(request))
                raise
            log.exception("The request %s of the CLI could not be answered", request.id)
            answer = self._handlers.refusal(request)
        self._reply(request, answer)

    def reply(self, request: Request, answer: Any) -> None:
        """Answer a request that may be being served, and stop serving it."""
        if self._owes(request):
            self._reply(request, answer)
            self._cancel(request.id)

    def _reply(self, request: Request, answer: Any) -> None:
        """Answer, unless the request was withdrawn or the link was closed meanwhile."""
        if not (self.is_open and self._owes(request)):
            return
        try:
            is_whole = isinstance(answer, Answer | Failure)
            self.post(answer if is_whole else Answer(request.id, answer))
        except Exception:
            log.exception("The answer to %s cannot be written", request.id)
            self.post(self._handlers.refusal(request))
