"""A transport with the protocol on it: it reads, writes, asks, serves, and knows its end."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.helpers import clock
from tests.helpers import messages as saying
from tests.helpers.links import Host, Serve
from tests.helpers.peer import SOON, Peer, Through
from tests.helpers.sessions import soon

from claudewire.concurrency import Signal, run_detached
from claudewire.errors import (
    LocalProtocolError,
    RequestError,
    RequestTimeout,
    TransportClosed,
    UnsupportedRequest,
)
from claudewire.options import Timeouts
from claudewire.session.link import REST_FOLLOWS_WITHIN, Link
from claudewire.simulator import Chat
from claudewire.simulator.faults import KilledBy, NotReading
from claudewire.testing import SimulatedCLI
from claudewire.transport import Transport
from claudewire.wire import (
    Answer,
    AssistantMessage,
    Cancel,
    CanUseTool,
    Connection,
    EndOfStream,
    Event,
    GetSettings,
    Interrupt,
    PermissionResultAllow,
    PermissionResultDeny,
    Request,
    Role,
    SetModel,
    SetModelResult,
    UserMessage,
)

pytestmark = pytest.mark.anyio

QUICK = Timeouts(exit=0.05, drain=0.05)
CAN_I = CanUseTool("Bash", {"command": "ls"}, tool_use_id="toolu_1")
ALLOWED = PermissionResultAllow({"command": "ls"})


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """With simulated time, which is right for a CLI in memory."""
    return request.param, clock.options(request.param)


class Call:
    """A link between a host and a peer."""

    def __init__(
        self,
        serve: Serve | None = None,
        *,
        host: Host | None = None,
        timeouts: Timeouts = QUICK,
        transport: Transport | None = None,
    ) -> None:
        self.peer = Peer()
        self.host = host or Host(serve)
        self.link = Link(
            transport or self.peer.transport,
            Connection(Role.CLIENT),
            self.host,
            self.host,
            timeouts=timeouts,
        )

    async def __aenter__(self) -> Call:
        self.link.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.link.close(now=True)
        await self.finished()
        assert self.host.ends == 1

    async def finished(self) -> None:
        with anyio.fail_after(SOON):
            await self.link.finished.wait()


# --- messages -------------------------------------------------------------------------------------


async def test_what_comes_is_told_in_order() -> None:
    async with Call() as call:
        said = [saying.text("one"), saying.delta("two"), saying.result("three")]
        await anyio.sleep(7)
        await call.peer.say(*said)
        await soon(lambda: len(call.host.got) == 3)
        assert [type(it) for it in call.host.got] == [type(it) for it in said]
        assert call.link.last_received == anyio.current_time()


async def test_what_is_posted_goes_out_in_order_and_flush_waits_for_it() -> None:
    async with Call() as call:
        for number in range(5):
            call.link.post(UserMessage.of(str(number)))
        assert call.link._unwritten > 0
        with anyio.fail_after(SOON):
            await call.link.flush()
        assert call.link._unwritten == 0
        assert [(await call.peer.hear_prompt()).text for _ in range(5)] == list("01234")


@pytest.mark.parametrize("kind", [RuntimeError, SystemExit, KeyboardInterrupt, GeneratorExit])
async def test_an_event_that_cannot_be_handled_is_told_and_the_reader_goes_on(
    kind: type[BaseException],
) -> None:
    class Fails(Host):
        def received(self, event: Event) -> None:
            super().received(event)
            raise kind(len(self.got))

    async with Call(host=Fails()) as call:
        await call.peer.say(saying.text(), saying.text())
        await soon(lambda: len(call.host.failures) == 2)
    assert [(type(it), it.args) for it in call.host.failures[:2]] == [(kind, (1,)), (kind, (2,))]


@pytest.mark.parametrize("kind", [RuntimeError, SystemExit, KeyboardInterrupt, GeneratorExit])
async def test_a_task_beside_the_reader_that_fails_is_told(kind: type[BaseException]) -> None:
    async def fail() -> None:
        await anyio.lowlevel.checkpoint()
        raise kind

    async with Call() as call:
        call.link.start_soon(fail)
        await soon(lambda: bool(call.host.failures))
        call.link.start_soon(fail)
        await soon(lambda: len(call.host.failures) == 2)
        assert call.link.is_open
    assert [type(it) for it in call.host.failures] == [kind, kind]


class Slow(Through):
    """A transport that takes its time to write."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.sending = self.most = 0

    async def send(self, data: bytes) -> None:
        self.sending += 1
        self.most = max(self.most, self.sending)
        await anyio.sleep(1)
        await super().send(data)
        self.sending -= 1


async def test_one_thing_is_written_after_the_other() -> None:
    peer = Peer()
    transport = Slow(peer.transport)
    async with Call(transport=transport) as call:
        prompts = [saying.prompt(str(number)) for number in range(5)]
        for prompt in prompts:
            call.link.post(prompt)
            await anyio.sleep(0.3)
        heard = [await peer.hear_prompt() for _ in prompts]
    assert [it.text for it in heard] == [it.text for it in prompts]
    assert transport.most == 1


async def test_what_may_not_be_said_is_refused_at_once() -> None:
    async with Call() as call:
        with pytest.raises(LocalProtocolError):
            call.link.post(Answer("nobody asked"))
        assert call.link._unwritten == 0


# --- asking ---------------------------------------------------------------------------------------


async def test_an_answer_comes_back_typed() -> None:
    async with Call() as call, anyio.create_task_group() as tasks:
        got: list[SetModelResult] = []

        async def ask() -> None:
            got.append(await call.link.ask(SetModel("opus"), timeout=SOON))

        tasks.start_soon(ask)
        await call.peer.answer(await call.peer.hear_request(SetModel), SetModelResult("opus"))
        await soon(lambda: bool(got))
        assert got == [SetModelResult("opus")]


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        ("no such model", None, RequestError),
        ("no", "unsupported_request", UnsupportedRequest),
        ("Unsupported control request subtype: set_model", None, UnsupportedRequest),
    ],
)
async def test_a_refusal_is_raised(error: str, code: str | None, kind: type[RequestError]) -> None:
    async with Call() as call, anyio.create_task_group() as tasks:

        async def refuse() -> None:
            request = await call.peer.hear_request(SetModel)
            await call.peer.refuse(request, error, code)

        tasks.start_soon(refuse)
        with pytest.raises(kind, match=error) as caught:
            await call.link.ask(SetModel("opus"), timeout=SOON)
        assert type(caught.value) is kind
        assert caught.value.request == "set_model"
        assert caught.value.code == code
        assert any("set_model" in line for line in caught.value.evidence.sent)


async def test_a_request_without_an_answer_is_withdrawn() -> None:
    async with Call() as call:
        call.link.may_withdraw = True
        with pytest.raises(RequestTimeout, match=r"'set_model' within 0\.01 s"):
            await call.link.ask(SetModel("opus"), timeout=0.01)
        request = await call.peer.hear_request(SetModel)
        assert (await call.peer.hear(Cancel)).id == request.id


async def test_an_old_cli_which_would_exit_is_not_told_that_a_request_is_given_up() -> None:
    async with Call() as call:
        with pytest.raises(RequestTimeout):
            await call.link.ask(SetModel("opus"), timeout=0.01)
        await call.peer.hear_request(SetModel)
        assert not call.link.connection.asked
        call.link.post(UserMessage.of("hello"))
        await call.peer.hear(UserMessage)
        assert not [event for event in call.peer.heard if isinstance(event, Cancel)]


async def test_a_caller_that_is_cancelled_withdraws_its_request() -> None:
    async with Call() as call:
        call.link.may_withdraw = True
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: call.link.ask(SetModel("opus"), timeout=None))
            request = await call.peer.hear_request(SetModel)
            tasks.cancel_scope.cancel()
        assert (await call.peer.hear(Cancel)).id == request.id
        # A late answer is no error.
        await call.peer.write(
            b'{"type":"control_response","response":{"subtype":"success","request_id":"%s"}}\n'
            % request.id.encode()
        )
        await soon(lambda: len(call.host.got) == 1)


async def test_who_waits_is_told_when_the_cli_goes() -> None:
    async with Call() as call, anyio.create_task_group() as tasks:

        async def leave() -> None:
            await call.peer.hear_request(SetModel)
            call.peer.exit(0)

        tasks.start_soon(leave)
        with anyio.fail_after(SOON), pytest.raises(TransportClosed, match="set_model"):
            await call.link.ask(SetModel("opus"), timeout=None)
        with pytest.raises(TransportClosed, match="has exited"):
            await call.link.ask(GetSettings(), timeout=None)
        assert not call.link.is_open


async def test_who_waits_is_told_when_the_output_ends_although_the_cli_stays() -> None:
    call = Call(timeouts=Timeouts(exit=SOON / 2))
    call.link.start()
    async with anyio.create_task_group() as tasks:

        async def leave() -> None:
            await call.peer.hear_request(SetModel)
            await call.peer.end.send_eof()

        tasks.start_soon(leave)
        with anyio.fail_after(SOON), pytest.raises(TransportClosed, match="set_model"):
            await call.link.ask(SetModel("opus"), timeout=None)
    assert not call.link.finished.is_set()
    await call.finished()


# --- serving --------------------------------------------------------------------------------------


async def test_requests_are_served_side_by_side() -> None:
    doors = {"first": anyio.Event(), "second": anyio.Event()}

    async def serve(request: Request) -> Any:
        assert isinstance(request.body, CanUseTool)
        await doors[request.body.tool_name].wait()
        return PermissionResultAllow(request.body.input)

    async with Call(serve) as call:
        first = await call.peer.ask(CanUseTool("first", {}, tool_use_id="1"))
        second = await call.peer.ask(CanUseTool("second", {}, tool_use_id="2"))
        await soon(lambda: call.link.serving == 2)
        doors["second"].set()
        assert (await call.peer.hear(Answer)).id == second
        doors["first"].set()
        assert (await call.peer.hear(Answer)).id == first
        await soon(lambda: call.link.serving == 0)


@pytest.mark.parametrize("answer", [ALLOWED, Answer("cli-1", ALLOWED)])
async def test_the_answer_or_its_body_may_be_given(answer: object) -> None:
    async def serve(request: Request) -> Any:
        return answer

    async with Call(serve) as call:
        await call.peer.ask(CAN_I)
        assert (await call.peer.hear(Answer)).body == ALLOWED


async def fails(request: Request) -> Any:
    raise RuntimeError("a bug of the application")


async def is_cancelled_by_somebody_else(request: Request) -> Any:
    """What it waits for is cancelled, as a future of asyncio may be. Trio has no such thing."""
    raise asyncio.CancelledError("not us")


async def gives_what_cannot_be_written(request: Request) -> Any:
    return PermissionResultAllow({"an object": object()})


@pytest.mark.parametrize(
    ("serve", "anyio_backend"),
    [
        (fails, "asyncio"),
        (fails, "trio"),
        (gives_what_cannot_be_written, "asyncio"),
        (gives_what_cannot_be_written, "trio"),
        (is_cancelled_by_somebody_else, "asyncio"),
    ],
)
async def test_who_cannot_serve_has_said_no(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    async with Call(serve) as call:
        await call.peer.ask(CAN_I)
        assert isinstance((await call.peer.hear(Answer)).body, PermissionResultDeny)
        await call.peer.say(saying.text())
        await soon(lambda: len(call.host.got) == 2)  # all goes on
    assert "cli-1" in caplog.text


@pytest.mark.parametrize("kind", [RuntimeError, SystemExit])
async def test_who_cannot_even_begin_to_serve_has_said_no(
    kind: type[BaseException], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def serve(request: Request) -> Any:
        raise kind("a bug of the application")

    async with Call() as call:
        monkeypatch.setattr(call.host, "serve", serve)
        await call.peer.ask(CAN_I)
        assert isinstance((await call.peer.hear(Answer)).body, PermissionResultDeny)
        assert not call.host.failures
    assert "The request cli-1 of the CLI could not be answered" in caplog.text


async def test_a_request_that_is_withdrawn_is_served_no_longer() -> None:
    stopped: list[str] = []

    async def serve(request: Request) -> Any:
        try:
            await anyio.sleep_forever()
        finally:
            stopped.append(request.id)

    async with Call(serve) as call:
        id = await call.peer.ask(CAN_I)
        await soon(lambda: call.link.serving == 1)
        await call.peer.say(Cancel(id=id))
        await soon(lambda: stopped == [id])
        assert [type(it) for it in call.host.got] == [Request, Cancel]


async def test_a_withdrawal_of_nothing_is_no_error() -> None:
    async with Call() as call:
        await call.peer.write(b'{"type":"control_cancel_request","request_id":"x"}\n')
        await soon(lambda: len(call.host.got) == 1)
        assert call.link.is_open


async def test_a_request_may_come_again_with_the_same_id() -> None:
    served = 0

    async def serve(request: Request) -> Any:
        nonlocal served
        served += 1
        return ALLOWED

    ask = json.dumps(
        {
            "type": "control_request",
            "request_id": "same",
            "request": {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}},
        }
    ).encode()
    withdraw = b'{"type":"control_cancel_request","request_id":"same"}'
    async with Call(serve) as call:
        await call.peer.write(b"\n".join([ask, withdraw, ask, b""]))
        await soon(lambda: served > 0 and call.link.serving == 0)
        await call.link.flush()
        await call.peer.write(saying_line())
        await soon(lambda: len(call.host.got) == 4)
        written = await call.peer.end.receive()
        assert written.count(b'"same"') == 1


def saying_line() -> bytes:
    return Connection(Role.CLI).send(saying.text())


async def test_the_output_may_end_while_a_request_is_served() -> None:
    async def serve(request: Request) -> Any:
        await anyio.sleep_forever()

    async with Call(serve) as call:
        await call.peer.ask(CAN_I)
        await soon(lambda: call.link.serving == 1)
        await call.peer.end.send_eof()
        await soon(lambda: call.link.serving == 0)
        assert call.link._output_ended


# --- the end --------------------------------------------------------------------------------------


async def test_a_close_ends_the_input_and_hears_the_rest() -> None:
    call = Call(timeouts=Timeouts(exit=SOON, drain=SOON))
    call.link.start()
    call.link.close()
    assert call.link.is_closing
    await call.peer.hear_end()
    await call.peer.say(saying.text("last words"))
    call.peer.exit(0)
    await call.finished()
    assert [type(it) for it in call.host.got] == [AssistantMessage, EndOfStream]
    assert call.link.status == 0
    assert call.link.failure is None


async def test_what_was_posted_before_a_close_still_goes_out() -> None:
    call = Call()
    call.link.start()
    call.link.post(UserMessage.of("one more thing"))
    call.link.close()
    assert (await call.peer.hear_prompt()).text == "one more thing"
    await call.peer.hear_end()
    await call.finished()


async def test_at_the_end_what_is_still_asked_is_refused() -> None:
    async def serve(request: Request) -> Any:
        await anyio.sleep_forever()

    call = Call(serve)
    call.link.start()
    id = await call.peer.ask(CAN_I)
    await soon(lambda: call.link.serving == 1)
    call.link.close()
    answer = await call.peer.hear(Answer)
    assert (answer.id, type(answer.body)) == (id, PermissionResultDeny)
    await call.peer.say(call.peer.connection.new_request(CAN_I))  # too late for anybody to serve
    await call.finished()
    assert call.link.serving == 0


async def test_a_cli_that_does_not_leave_is_ended(caplog: pytest.LogCaptureFixture) -> None:
    call = Call()
    call.link.start()
    call.link.close()
    await call.finished()
    assert "did not exit by itself" in caplog.text
    await call.peer.hear_end()
    with pytest.raises(TransportClosed):
        await call.peer.write(b"nobody reads this")


async def test_in_a_hurry_nobody_waits(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    call = Call(timeouts=Timeouts(exit=600, drain=600))
    call.link.start()
    await anyio.lowlevel.checkpoint()
    call.link.close()
    await call.peer.hear_end()
    call.link.close(now=True)
    await call.finished()
    assert not caplog.records


async def test_the_end_of_its_output_is_an_end() -> None:
    call = Call()
    call.link.start()
    await call.peer.end.send_eof()
    await call.finished()
    assert call.link._output_ended
    assert not call.link.is_closing


class Deaf(Through):
    """A CLI that has closed its stdin."""

    async def send(self, data: bytes) -> None:
        await anyio.lowlevel.checkpoint()
        raise TransportClosed("Broken pipe")


async def test_a_cli_that_reads_no_more_is_given_time_to_exit() -> None:
    peer = Peer()
    call = Call(transport=Deaf(peer.transport), timeouts=Timeouts(exit=SOON, drain=SOON))
    call.link.start()
    call.link.post(UserMessage.of("hello"))
    with anyio.fail_after(SOON):
        await call.link.flush()
    assert call.link.input_broken
    assert not call.link.is_open
    await peer.say(saying.text())
    peer.end.send_stderr(b"I have closed my input")
    peer.exit(3)
    await call.finished()
    assert (call.link.status, call.host.stderr) == (3, "I have closed my input")
    evidence = call.link.evidence()
    assert (evidence.exit_code, evidence.stderr) == (3, "I have closed my input")
    assert len(evidence.sent) == len(evidence.received) == 1


class Grandchild(Through):
    """Somebody else holds its output open."""

    async def receive(self) -> bytes:
        return await super().receive() or await self._wait_for_ever()

    async def _wait_for_ever(self) -> bytes:
        await anyio.sleep_forever()
        raise AssertionError


async def test_an_exit_is_an_end_although_the_output_stays_open() -> None:
    peer = Peer()
    call = Call(transport=Grandchild(peer.transport))
    call.link.start()
    await peer.say(saying.text())
    peer.exit(0)
    await call.finished()
    assert [type(it) for it in call.host.got] == [AssistantMessage, EndOfStream]


class Broken(Through):
    """A transport with a bug."""

    def __init__(self, inner: Transport, kind: type[BaseException]) -> None:
        super().__init__(inner)
        self.kind = kind

    async def receive(self) -> bytes:
        await anyio.lowlevel.checkpoint()
        raise self.kind("a bug of the transport")


@pytest.mark.parametrize("kind", [RuntimeError, SystemExit, KeyboardInterrupt, GeneratorExit])
async def test_a_transport_that_fails_ends_the_link(
    caplog: pytest.LogCaptureFixture, kind: type[BaseException]
) -> None:
    peer = Peer()
    call = Call(transport=Broken(peer.transport, kind))
    call.link.start()
    await call.finished()
    assert type(call.link.failure) is kind
    assert "a bug of the transport" in caplog.text
    assert call.host.ends == 1
    await peer.hear_end()


async def test_a_link_has_what_its_process_has() -> None:
    class Process(Through):
        pid = 42

        def __init__(self, inner: Transport) -> None:
            super().__init__(inner)
            self.signals: list[object] = []

        def send_signal(self, signal: int) -> None:
            self.signals.append(signal)

        def kill_now(self) -> None:
            self.signals.append("kill")

    peer = Peer()
    transport = Process(peer.transport)
    async with Call(transport=transport) as call:
        assert call.link.pid == 42
        assert call.link.evidence().pid == 42
        call.link.send_signal(2)
        call.link.kill_now()
    call.link.send_signal(2)
    assert transport.signals == [2, "kill"]
    async with Call() as call:
        assert call.link.pid is None
        call.link.send_signal(2)  # nobody to signal
        call.link.kill_now()


async def test_a_process_that_cannot_be_killed_is_no_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Undead(Through):
        def kill_now(self) -> None:
            raise PermissionError("not yours")

    async with Call(transport=Undead(Peer().transport)) as call:
        call.link.kill_now()
    (record,) = caplog.records
    assert "could not kill" in record.message
    assert record.exc_info is not None


async def test_what_runs_beside_the_reader_ends_with_it() -> None:
    ran: list[str] = []

    def beside(name: str) -> Callable[[], Coroutine[Any, Any, None]]:
        async def run() -> None:
            ran.append(name)
            try:
                await anyio.sleep_forever()
            finally:
                ran.append(f"{name} is over")

        return run

    call = Call()
    call.link.start_soon(beside("before"))
    async with call:
        await soon(lambda: ran == ["before"])
        call.link.start_soon(beside("after"))
        await soon(lambda: ran == ["before", "after"])
    assert sorted(ran[2:]) == ["after is over", "before is over"]
    call.link.start_soon(beside("too late"))


async def test_nothing_is_started_after_the_end_also_if_a_handler_ignores_it() -> None:
    door = anyio.Event()
    started: list[str] = []

    async def serve(request: Request) -> PermissionResultAllow:
        with anyio.CancelScope(shield=True):
            await door.wait()
        return ALLOWED

    async def late() -> None:
        started.append("late")

    async with Call(serve) as call:
        await call.peer.ask(CAN_I)
        await soon(lambda: call.link.serving == 1)
    call.link.start_soon(late)
    await anyio.wait_all_tasks_blocked()
    door.set()
    await soon(lambda: call.link.serving == 0)
    await anyio.wait_all_tasks_blocked()
    assert started == []


async def test_nothing_is_lost_when_the_cli_is_killed() -> None:
    async def scenario(chat: Chat) -> None:
        for number in range(50):
            await chat.say(str(number))

    call = Call(transport=SimulatedCLI(scenario, faults=[KilledBy(9, at=30)]))
    call.link.start()
    call.link.post(UserMessage.of("go"))
    await call.finished()
    assert call.link.status == -9
    assert call.link.evidence().signal == 9
    spoken = [it.text for it in call.host.got if isinstance(it, AssistantMessage)]
    assert spoken == [str(number) for number in range(len(spoken))]
    assert len(spoken) > 10


async def test_a_cli_that_does_not_read_does_not_stop_the_end() -> None:
    call = Call(transport=SimulatedCLI(faults=[NotReading(at=0)]))
    call.link.start()
    call.link.post(UserMessage.of("x" * 1_000_000))
    with anyio.move_on_after(0.02) as scope:
        await call.link.flush()
    assert scope.cancelled_caught
    call.link.close()
    await call.finished()


async def test_a_flush_that_waits_returns_at_the_end() -> None:
    call = Call(transport=SimulatedCLI(faults=[NotReading(at=0)]))
    call.link.start()
    call.link.post(UserMessage.of("x" * 1_000_000))
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call.link.flush)
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
            call.link.close()
    await call.finished()


class LateOutput(Through):
    """A transport that still has something to read when it is closed, each line after a while."""

    def __init__(self, *lines: bytes) -> None:
        super().__init__(Peer().transport)
        self.left = [*lines, b""]
        self.closed = anyio.Event()

    async def receive(self) -> bytes:
        await self.closed.wait()
        await anyio.sleep(0.8 * REST_FOLLOWS_WITHIN)
        return self.left.pop(0)

    async def wait(self) -> int:
        await self.closed.wait()
        return 0

    async def aclose(self) -> None:
        self.closed.set()


async def test_what_is_left_when_the_transport_is_closed_is_read_as_long_as_more_comes() -> None:
    cli = Connection(Role.CLI)
    late = LateOutput(*(cli.send(saying.text(it)) for it in ("one", "two", "three")))
    call = Call(transport=late)
    call.link.start()
    call.link.close()
    await call.finished()
    spoken = [it.text for it in call.host.got if isinstance(it, AssistantMessage)]
    assert spoken == ["one", "two", "three"]


class OutputAfterExit(Through):
    """A process that has exited, and whose child has something to say."""

    def __init__(self, line: bytes) -> None:
        super().__init__(Peer().transport)
        self.left = [line, b""]
        self.says_it, self.closed = anyio.Event(), anyio.Event()

    async def receive(self) -> bytes:
        async with anyio.create_task_group() as tasks:

            async def wait(event: anyio.Event) -> None:
                await event.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(wait, self.says_it)
            tasks.start_soon(wait, self.closed)
        return b"" if self.closed.is_set() else self.left.pop(0)

    async def wait(self) -> int:
        return 0

    async def aclose(self) -> None:
        self.closed.set()


async def test_what_a_child_of_the_cli_says_after_its_exit_is_heard() -> None:
    late = OutputAfterExit(Connection(Role.CLI).send(saying.text("late")))
    call = Call(transport=late, timeouts=Timeouts(drain=SOON))
    call.link.start()
    await anyio.wait_all_tasks_blocked()
    late.says_it.set()
    await call.finished()
    assert [it.text for it in call.host.got if isinstance(it, AssistantMessage)] == ["late"]


# --- a task of its own ----------------------------------------------------------------------------


def test_an_event_loop_may_end_under_a_link(caplog: pytest.LogCaptureFixture) -> None:
    """Whenever that happens, the process is killed and whoever waits is told."""
    for backend in ("asyncio", "trio"):
        for ticks in range(8):
            call = Call()
            anyio.run(_start_and_leave, call, ticks, backend=backend)
            assert call.host.ends == 1, (backend, ticks)
            assert call.link.finished.is_set()
    assert not caplog.records
    del call
    gc.collect()  # a coroutine that was never awaited would be told here


class SlowToClose(Through):
    """A transport that waits while it is closed."""

    is_closed = False

    async def aclose(self) -> None:
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        await super().aclose()
        self.is_closed = True


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_transport_is_closed_although_the_event_loop_ends(backend: str) -> None:
    transport = SlowToClose(Peer().transport)
    anyio.run(_start_and_leave, Call(transport=transport), 5, backend=backend)
    assert transport.is_closed


async def _start_and_leave(call: Call, ticks: int) -> None:
    call.link.start()
    for _ in range(ticks):
        await anyio.lowlevel.checkpoint()


def test_a_link_that_never_began_is_over() -> None:
    call = Call()

    async def main() -> None:
        call.link.start()
        (task,) = asyncio.all_tasks() - {asyncio.current_task()}
        asked = asyncio.ensure_future(call.link.ask(GetSettings(), timeout=None))
        task.cancel()
        await call.finished()
        assert not call.link.is_open
        with pytest.raises(TransportClosed, match="without an answer to 'get_settings'"):
            await asyncio.wait_for(asked, SOON)

    asyncio.run(main())
    assert call.host.ends == 1
    assert call.link.loop_ended


def test_a_task_that_never_began_is_told_of() -> None:
    told: list[str] = []

    async def never() -> None:
        told.append("it ran")

    async def main() -> None:
        run_detached(never, "never", lambda: told.append("it did not"))
        (task,) = asyncio.all_tasks() - {asyncio.current_task()}
        task.cancel()

    asyncio.run(main())
    assert told == ["it did not"]


async def test_a_signal_wakes_all_who_wait_now() -> None:
    signal, woken = Signal(), 0

    async def wait() -> None:
        nonlocal woken
        await signal.wait()
        woken += 1

    signal.notify()  # for nobody
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            tasks.start_soon(wait)
            await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()
            assert woken == 0
            signal.notify()
    assert woken == 2


async def test_an_interrupt_needs_no_answer_to_be_sent() -> None:
    async with Call() as call:
        call.link.post(call.link.connection.new_request(Interrupt()))
        await call.peer.acknowledge()
        await call.host.until(Answer)
