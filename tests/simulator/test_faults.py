"""Every fault is seen to happen on the wire: in memory, and as a process where that matters."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio
from tests.helpers import clock
from tests.helpers.cancellation import open_files
from tests.simulator.fault_peer import (
    PATIENCE,
    Peer,
    as_process,
    bytes_read,
    conversation,
    falls_asleep,
    greet,
    has_to_wait,
    in_memory,
    kind,
)
from trio.testing import MockClock

from claudewire.errors import TransportClosed
from claudewire.simulator import Chat, Engine, Simulation
from claudewire.simulator.actions import Action, Exit, Kill, Pause, Write
from claudewire.simulator.faults import (
    FAULTS,
    ClockJump,
    DuplicateAnswers,
    EOFWithoutExit,
    ExitWith,
    Fault,
    Garbage,
    Grandchild,
    HalfLine,
    IgnoreSIGTERM,
    KilledBy,
    LateAnswers,
    LeftoverShell,
    LongLine,
    MissingAnswers,
    NotReading,
    ResultWithoutTurn,
    Silence,
    SlowOutput,
    Split,
    SplitEveryByte,
    SplitUTF8,
    StderrFlood,
    UnknownAnswers,
    UnknownBlock,
    UnknownField,
    UnknownMessage,
    UnsolicitedTurn,
    WithdrawnRequest,
    parse_faults,
)
from claudewire.simulator.in_memory import ARGV, PIPE
from claudewire.wire import (
    Answer,
    AssistantMessage,
    Cancel,
    EndOfStream,
    InitMessage,
    Noise,
    PermissionResultAllow,
    Request,
    ResultMessage,
    Stray,
    Unknown,
)
from claudewire.wire import UnknownBlock as UnknownBlockRecord
from claudewire.wire import UnknownMessage as UnknownMessageEvent

pytestmark = pytest.mark.anyio

PLAIN = ["init", "assistant", "success"]
"""What a turn looks like when nothing goes wrong."""

only_one_loop = pytest.mark.parametrize("anyio_backend", ["asyncio"])
"""For tests of the process, which does not care who starts it."""


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """With simulated time, which is right for a CLI in memory."""
    return request.param, clock.options(request.param)


# --- pieces --------------------------------------------------------------------------------------


async def test_without_faults_there_is_one_write_for_each_line(tmp_path: Path) -> None:
    peer, status = await conversation(tmp_path)
    assert [kind(piece) for piece in peer.pieces[:-1]] == peer.types == PLAIN
    assert status == 0


async def test_each_byte_comes_alone(tmp_path: Path) -> None:
    peer, status = await conversation(tmp_path, SplitEveryByte())
    assert {len(piece) for piece in peer.pieces[:-1]} == {1}
    assert peer.types == PLAIN
    assert peer.result.result == "Grüße ☃"
    assert status == 0


async def test_a_line_is_cut_where_one_wants_it(tmp_path: Path) -> None:
    peer, _ = await conversation(tmp_path, Split(5, -1, 10**9, at=2))
    init, *cut = peer.pieces[:-1]
    assert kind(init) == "init"
    assert [len(piece) for piece in cut[0::3]] == [5, 5]
    assert cut[2::3] == [b"\n", b"\n"]
    assert peer.types == PLAIN


async def test_a_character_is_cut_in_the_middle(tmp_path: Path) -> None:
    peer, _ = await conversation(tmp_path, SplitUTF8())
    cut = [piece for piece in peer.pieces if piece[:1] and piece[0] & 0xC0 == 0x80]
    assert len(cut) == 2 * (1 + 1 + 2)  # ü, ß and ☃, in the message and in the result
    assert peer.result.result == "Grüße ☃"


# --- lines ---------------------------------------------------------------------------------------


async def test_a_line_is_five_megabytes_long(tmp_path: Path) -> None:
    peer, _ = await conversation(tmp_path, LongLine(at=2))
    short, long, _ = peer.lines
    assert len(short) < 10_000
    assert len(long) > 5_000_000
    assert peer.of(AssistantMessage)[0].text == "Grüße ☃"


async def test_lines_that_are_not_json_come_between(tmp_path: Path) -> None:
    peer, _ = await conversation(tmp_path, Garbage(at=2))
    assert peer.types == ["init", "?", "?", "?", "assistant", "success"]
    assert len(peer.of(Noise)) == 3


async def test_half_a_line_is_lost(tmp_path: Path) -> None:
    peer, status = await conversation(tmp_path, HalfLine(at=2))
    assert peer.types == ["init", "?", "success"]
    assert peer.lines[1].startswith(b'{"type":"assistant"')
    assert status == 0


@pytest.mark.parametrize("status", [0, 3, -signal.SIGSEGV])
async def test_the_cli_dies_in_mid_line(tmp_path: Path, status: int) -> None:
    peer, died_with = await conversation(tmp_path, HalfLine(status, at=2))
    assert peer.types == ["init", "?"]
    assert not peer.lines[1].endswith(b"\n")
    assert died_with == status


async def test_a_spoilt_line_is_left_alone_by_what_adds_a_field(tmp_path: Path) -> None:
    peer, _ = await conversation(tmp_path, Garbage([b"x"]), UnknownField())
    assert peer.lines[0] == b"x\n"


# --- time and quiet ------------------------------------------------------------------------------


async def test_nothing_comes_any_more_and_the_cli_does_not_exit(tmp_path: Path) -> None:
    cli = in_memory(tmp_path, Silence(at=2))
    peer = Peer(cli)
    with anyio.fail_after(PATIENCE):
        await peer.prompt()
        await peer.until(InitMessage)
        assert await has_to_wait(cli.receive)
        await peer.prompt("still read")
        await cli.send_eof()
        assert await has_to_wait(cli.receive)
        assert await has_to_wait(cli.wait)
        await cli.aclose()
        assert await cli.receive() == b""
        assert await cli.wait() == -9


async def test_a_silent_cli_says_nothing_on_stderr_either(tmp_path: Path) -> None:
    cli = in_memory(tmp_path, Silence(at=0))
    with anyio.fail_after(PATIENCE):
        await cli.send(b"not JSON\n")
        await cli.send(b"still read\n")
        assert await has_to_wait(cli.receive_stderr)


def test_output_is_slow(tmp_path: Path) -> None:
    async def main() -> list[float]:
        cli = in_memory(tmp_path, SlowOutput(3600))
        peer = Peer(cli)
        await peer.prompt()
        times = []
        start = anyio.current_time()
        for _ in PLAIN:
            await peer.read()
            times.append(anyio.current_time() - start)
        return times

    times = trio.run(main, clock=MockClock(autojump_threshold=0))
    assert times == pytest.approx([3600, 7200, 10800])


async def test_output_is_slow_on_any_loop(tmp_path: Path) -> None:
    peer, status = await conversation(tmp_path, Split(9), SlowOutput(0.001, at=2))
    assert peer.types == PLAIN
    assert status == 0


def test_output_is_slow_within_a_line_after_a_split_and_between_lines_before(
    tmp_path: Path,
) -> None:
    inside = actions_of(tmp_path, Split(9), SlowOutput(1))
    between = actions_of(tmp_path, SlowOutput(1), Split(9))
    assert [type(it) for it in inside[:4]] == [Pause, Write, Pause, Write]
    assert [type(it) for it in between[:4]] == [Pause, Write, Write, Pause]


@pytest.mark.parametrize("seconds", [3600, -3600])
async def test_the_clock_jumps(tmp_path: Path, seconds: float) -> None:
    async def scenario(chat: Chat) -> None:
        await chat.say("before")
        await chat.sleep(0.001)
        await chat.say("after")

    peer, _ = await conversation(tmp_path, ClockJump(seconds, at=2), scenario=scenario)
    assert peer.result.duration_ms is not None
    assert peer.result.duration_ms // 1_000_000 == seconds * 1000 // 1_000_000


@pytest.mark.parametrize("seconds", [3600, -3600])
async def test_a_clock_that_jumps_changes_no_waiting(tmp_path: Path, seconds: float) -> None:
    faults = [NotReading(0.05, at=1), ClockJump(seconds, at=2)]
    before = anyio.current_time()
    peer, _ = await conversation(tmp_path, *faults)
    assert peer.types == PLAIN
    assert anyio.current_time() - before == pytest.approx(0.05)


async def test_a_clock_that_has_jumped_goes_on(tmp_path: Path) -> None:
    peer, _ = await conversation(tmp_path, ClockJump(at=0))
    assert peer.result.duration_ms is not None
    assert peer.result.duration_ms < 3_600_000


# --- pipes ---------------------------------------------------------------------------------------


async def test_a_flood_on_stderr_stops_the_cli_until_it_is_read(tmp_path: Path) -> None:
    cli = in_memory(tmp_path, StderrFlood(1_000_000, at=2))
    peer = Peer(cli)
    with anyio.fail_after(PATIENCE):
        await peer.prompt()
        await peer.until(InitMessage)
        assert await has_to_wait(cli.receive)
        flood = await cli.receive_stderr()
        await peer.until(ResultMessage)
    assert len(flood) == 1_000_000
    assert peer.types == PLAIN


async def test_who_waits_for_stdout_goes_on_once_stderr_is_read(tmp_path: Path) -> None:
    cli = in_memory(tmp_path, StderrFlood(1_000_000, at=2))
    peer = Peer(cli)
    with anyio.fail_after(PATIENCE):
        await peer.prompt()
        await peer.until(InitMessage)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(peer.until, ResultMessage)
            await anyio.wait_all_tasks_blocked()
            await cli.receive_stderr()
    assert peer.types == PLAIN


@pytest.mark.parametrize(("size", "stops"), [(65536, False), (65537, True)])
async def test_as_much_as_fits_into_a_pipe_stops_nothing(
    tmp_path: Path, size: int, stops: bool
) -> None:
    cli = in_memory(tmp_path, StderrFlood(size, at=2))
    peer = Peer(cli)
    with anyio.fail_after(PATIENCE):
        await peer.prompt()
        await peer.until(InitMessage)
        assert await has_to_wait(cli.receive) == stops


async def test_as_much_as_fits_into_a_pipe_can_be_sent(tmp_path: Path) -> None:
    cli = in_memory(tmp_path, NotReading(at=0))
    with anyio.fail_after(PATIENCE):
        assert not await has_to_wait(lambda: cli.send(b" " * 65535))
        assert await has_to_wait(lambda: cli.send(b"  "))
        assert not await has_to_wait(lambda: cli.send(b" "))
        assert await has_to_wait(lambda: cli.send(b" "))


async def test_stdin_is_not_read(tmp_path: Path) -> None:
    cli = in_memory(tmp_path, NotReading(at=0))
    peer = Peer(cli)
    with anyio.fail_after(PATIENCE):
        await peer.prompt()
        assert await has_to_wait(cli.receive)
        assert await has_to_wait(lambda: cli.send(b" " * PIPE))
        await cli.send_eof()
        assert await has_to_wait(cli.wait)
        await cli.aclose()
        with pytest.raises(TransportClosed, match="exited with status -9"):
            await cli.send(b" " * PIPE)


async def test_stdin_is_not_read_for_a_while(tmp_path: Path) -> None:
    cli = in_memory(tmp_path, NotReading(0.01, at=1))
    peer = Peer(cli)
    with anyio.fail_after(PATIENCE):
        await peer.prompt("first")
        await cli.send(b" " * PIPE)
        await cli.send(b"\n")  # waits until there is room
        await peer.prompt("second")
        await peer.to_the_end()
        assert await cli.wait() == 0
    assert peer.types == PLAIN + PLAIN


async def test_those_who_wait_do_not_keep_each_other_awake(tmp_path: Path) -> None:
    cli = in_memory(tmp_path, Silence())

    async def wait_for_everything() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(cli.receive)
            group.start_soon(cli.receive_stderr)
            group.start_soon(cli.wait)
            await anyio.wait_all_tasks_blocked()
            await Peer(cli).prompt()

    with anyio.fail_after(PATIENCE):
        assert await has_to_wait(wait_for_everything)


async def test_nothing_can_be_sent_after_the_end(tmp_path: Path) -> None:
    cli = in_memory(tmp_path, Silence(at=0))
    with anyio.fail_after(PATIENCE):
        await cli.send_eof()
        await cli.send_eof()
        with pytest.raises(TransportClosed, match="is closed"):
            await cli.send(b"\n")


# --- death ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize(("fault", "status"), [(ExitWith, 3), (KilledBy, 9), (KilledBy, 11)])
async def test_the_cli_dies_in_place_of_a_frame(
    tmp_path: Path, fault: Any, status: int, at: int
) -> None:
    peer, died_with = await conversation(tmp_path, fault(status, at=at))
    assert peer.types == PLAIN[: at - 1]
    assert died_with == (status if fault is ExitWith else -status)


async def test_the_cli_dies_before_it_has_read_anything(tmp_path: Path) -> None:
    cli = in_memory(tmp_path, ExitWith(7, at=0))
    with anyio.fail_after(PATIENCE):
        with pytest.raises(TransportClosed, match="status 7"):
            await cli.send(b"{}\n")
        assert await cli.receive() == b""
        assert await cli.receive_stderr() == b""


async def test_what_would_follow_death_is_not_done(tmp_path: Path) -> None:
    done = []

    async def scenario(chat: Chat) -> None:
        done.append("before")
        try:
            await chat.say("the last words")
        finally:
            await chat.say("never said")
        done.append("after")

    peer, status = await conversation(tmp_path, KilledBy(9, at=2), scenario=scenario)
    assert (done, peer.types, status) == (["before"], ["init"], -9)


async def test_stdout_ends_and_the_cli_lives_on(tmp_path: Path) -> None:
    cli = in_memory(tmp_path, EOFWithoutExit(at=2))
    peer = Peer(cli)
    with anyio.fail_after(PATIENCE):
        await peer.prompt()
        await peer.until(EndOfStream)
        assert peer.types == ["init"]
        await cli.send(b'{"type":"keep_alive"}\n')
        await cli.send_eof()
        assert await has_to_wait(cli.wait)


async def test_stdout_has_ended_from_the_start(tmp_path: Path) -> None:
    cli = in_memory(tmp_path, EOFWithoutExit(at=0))
    with anyio.fail_after(PATIENCE):
        assert await cli.receive() == b""
        assert await has_to_wait(cli.wait)


async def test_something_holds_stdout_after_the_exit(tmp_path: Path) -> None:
    cli = in_memory(tmp_path, Grandchild(3600))
    peer = Peer(cli)
    with anyio.fail_after(PATIENCE):
        await peer.prompt()
        await cli.send_eof()
        assert await cli.wait() == 0
        await peer.until(ResultMessage)
        assert await has_to_wait(cli.receive)
        await cli.aclose()
        assert await cli.receive() == b""


async def test_what_holds_stdout_goes_in_the_end(tmp_path: Path) -> None:
    peer, status = await conversation(tmp_path, Grandchild(0.01))
    assert (peer.types, status) == (PLAIN, 0)


async def test_there_are_no_signals_and_no_shells_in_memory(tmp_path: Path) -> None:
    peer, status = await conversation(tmp_path, IgnoreSIGTERM(), LeftoverShell())
    assert (peer.types, status) == (PLAIN, 0)


# --- answers -------------------------------------------------------------------------------------


async def initialized(tmp_path: Path, fault: Fault, **more: Any) -> Peer:
    """Initialize and one prompt at once, and read to the end."""
    cli = in_memory(tmp_path, fault, **more)
    peer = Peer(cli)
    with anyio.fail_after(PATIENCE):
        await peer.initialize()
        await peer.prompt()
        await peer.to_the_end()
    return peer


@pytest.mark.parametrize(
    ("frames", "order"),
    [
        (1, ["init", "control_response", "assistant", "success"]),
        (2, ["init", "assistant", "control_response", "success"]),
        (99, ["init", "assistant", "success", "control_response"]),
    ],
)
async def test_an_answer_is_overtaken_by_frames(
    tmp_path: Path, frames: int, order: list[str]
) -> None:
    peer = await initialized(tmp_path, LateAnswers(frames))
    assert peer.types == order
    assert len(peer.of(Answer)) == 1


@clock.simulated_time
async def test_an_answer_comes_late_by_the_clock(tmp_path: Path) -> None:
    cli = in_memory(tmp_path, LateAnswers(seconds=1))
    peer = Peer(cli)
    with anyio.fail_after(PATIENCE):
        await peer.initialize()
        await peer.prompt()
        await peer.until(Answer)
    assert peer.types == [*PLAIN, "control_response"]


@clock.simulated_time
async def test_an_answer_that_is_late_still_comes_before_the_exit(tmp_path: Path) -> None:
    cli = in_memory(tmp_path, LateAnswers(seconds=1))
    peer = Peer(cli)
    with anyio.fail_after(PATIENCE):
        await peer.initialize()
        await cli.send(b"not JSON\n")
        await peer.to_the_end()
        assert await cli.wait() == 1
    assert peer.types == ["control_response"]


async def test_answers_are_late_only_from_some_frame_on(tmp_path: Path) -> None:
    peer = await initialized(tmp_path, LateAnswers(at=2))
    assert peer.types == ["control_response", *PLAIN]


async def test_an_answer_comes_twice(tmp_path: Path) -> None:
    peer = await initialized(tmp_path, DuplicateAnswers())
    assert peer.types == ["control_response", "control_response", *PLAIN]
    assert peer.lines[0] == peer.lines[1]
    assert [stray.reason for stray in peer.of(Stray)] == ["this request has been answered already"]


async def test_an_answer_does_not_come(tmp_path: Path) -> None:
    peer = await initialized(tmp_path, MissingAnswers())
    assert peer.types == PLAIN
    (end,) = peer.of(EndOfStream)
    assert len(end.unanswered) == 1


@pytest.mark.parametrize("dialect", ["modern", "session", "legacy", "envelope"])
async def test_there_is_an_answer_that_nobody_asked_for(tmp_path: Path, dialect: str) -> None:
    peer = await initialized(tmp_path, UnknownAnswers(), dialect=dialect)
    (stray,) = peer.of(Stray)
    assert peer.types[0] == "control_response"
    assert (stray.event.id, stray.reason) == ("nobody-asked-this", "no request has this id")


# --- requests ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["modern", "session", "legacy", "envelope"])
async def test_a_request_is_taken_back(tmp_path: Path, dialect: str) -> None:
    cli = in_memory(tmp_path, WithdrawnRequest(), dialect=dialect)
    peer = Peer(cli, answers=False)
    with anyio.fail_after(PATIENCE):
        await peer.prompt("use a tool")
        await peer.to_the_end()
    (request,), (cancel,) = peer.of(Request), peer.of(Cancel)
    assert cancel.id == request.id
    assert peer.events.index(cancel) == peer.events.index(request) + 1
    assert peer.connection.owed == {}


async def test_a_request_that_was_taken_back_counts_as_refused(tmp_path: Path) -> None:
    outcomes = []

    async def scenario(chat: Chat) -> None:
        outcomes.append(await chat.use("Bash", {"command": "one"}))
        outcomes.append(await chat.use("Bash", {"command": "two"}))
        outcomes.append(await chat.use("Bash", {"command": "three"}))

    cli = in_memory(tmp_path, WithdrawnRequest(at=2), scenario=scenario)
    peer = Peer(cli)
    with anyio.fail_after(PATIENCE):
        await peer.prompt()
        await peer.until(ResultMessage)
    assert [it.allowed for it in outcomes] == [True, False, True]
    assert "withdrawn" in outcomes[1].text
    assert [denial.tool_input for denial in peer.result.permission_denials or ()] == [
        {"command": "two"}
    ]


async def test_of_two_requests_that_are_open_one_is_taken_back(tmp_path: Path) -> None:
    async def use(chat: Chat) -> None:
        await chat.use("Bash", {"command": "ls"})

    async def scenario(chat: Chat) -> None:
        await chat.subagent("Explore", "Look around", use, background=True)
        await use(chat)

    peer = Peer(in_memory(tmp_path, WithdrawnRequest(at=2), scenario=scenario), answers=False)
    with anyio.fail_after(PATIENCE):
        await peer.prompt()
        await peer.until(Cancel)
    requests, (cancel,) = peer.of(Request), peer.of(Cancel)
    assert [it.id == cancel.id for it in requests] == [False, True]


async def test_an_answer_to_what_was_taken_back_is_ignored(tmp_path: Path) -> None:
    cli = in_memory(tmp_path, WithdrawnRequest())
    peer, too_late = Peer(cli), Peer(cli)
    with anyio.fail_after(PATIENCE):
        await peer.prompt("use a tool")
        while not (requests := peer.of(Request)):
            await peer.read()
        too_late.connection.receive_data(requests[0].line + b"\n")
        await too_late.send(Answer(requests[0].id, PermissionResultAllow(updated_input={})))
        await peer.until(ResultMessage)
        await peer.prompt("again")
        await peer.until(ResultMessage)
    assert [len(it.permission_denials or ()) for it in peer.of(ResultMessage)] == [1, 0]


# --- turns ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["modern", "session", "legacy", "envelope"])
async def test_a_turn_comes_that_nobody_asked_for(tmp_path: Path, dialect: str) -> None:
    peer = await initialized(tmp_path, UnsolicitedTurn(at=3), dialect=dialect)
    said = [it.text for it in peer.of(AssistantMessage)]
    assert said == ["A background task has ended.", "Grüße ☃"]
    if dialect == "envelope":
        assert [it.stop_reason for it in peer.of(AssistantMessage)] == ["end_turn"] * 2
        assert peer.of(InitMessage) == peer.of(ResultMessage) == []
    else:
        assert [it.result for it in peer.of(ResultMessage)] == said
        assert peer.of(ResultMessage)[0].origin is not None
        assert len(peer.of(InitMessage)) == 2


async def test_a_turn_that_nobody_asked_for_is_whole(tmp_path: Path) -> None:
    peer, _ = await conversation(tmp_path, UnsolicitedTurn())
    assert peer.types == PLAIN + PLAIN
    assert len({init.session_id for init in peer.of(InitMessage)}) == 1


async def test_a_result_comes_without_a_turn(tmp_path: Path) -> None:
    peer, _ = await conversation(tmp_path, ResultWithoutTurn())
    assert peer.types == ["error_during_execution", *PLAIN]
    result = peer.of(ResultMessage)[0]
    assert {name: value for name, value in result.raw.items() if value in (0, {}, [])} == {
        "num_turns": 0,
        "duration_ms": 0,
        "duration_api_ms": 0,
        "total_cost_usd": 0,
        "modelUsage": {},
        "permission_denials": [],
    }
    assert result.raw["usage"] == {"input_tokens": 0, "output_tokens": 0}


# --- what is new ---------------------------------------------------------------------------------


async def test_there_is_a_message_that_nobody_knows(tmp_path: Path) -> None:
    peer, _ = await conversation(tmp_path, UnknownMessage(at=2))
    assert peer.types == ["init", "type_from_the_future", "assistant", "success"]
    (unknown,) = peer.of(UnknownMessageEvent)
    assert unknown.raw["payload"] == {"deep": [1, "two", None]}


async def test_there_is_a_block_that_nobody_knows(tmp_path: Path) -> None:
    peer, _ = await conversation(tmp_path, UnknownBlock())
    text, unknown = peer.of(AssistantMessage)[0].message.content
    assert text.text == "Grüße ☃"
    assert isinstance(unknown, UnknownBlockRecord)
    assert isinstance(unknown, Unknown)
    assert unknown.raw == {"type": "block_from_the_future", "payload": 42}


async def test_only_one_block_is_unknown(tmp_path: Path) -> None:
    async def scenario(chat: Chat) -> None:
        await chat.say("one")
        await chat.say("two")

    peer, _ = await conversation(tmp_path, UnknownBlock(), scenario=scenario)
    assert [len(it.message.content) for it in peer.of(AssistantMessage)] == [2, 1]


async def test_there_is_a_field_that_nobody_knows(tmp_path: Path) -> None:
    peer, _ = await conversation(tmp_path, UnknownField(at=2))
    assert [b'"field_from_the_future":"42"' in line for line in peer.lines] == [False, True, False]
    assert peer.of(AssistantMessage)[0].text == "Grüße ☃"


# --- together ------------------------------------------------------------------------------------

SMALL = {"long-line": LongLine(0.01), "stderr-flood": StderrFlood(1000), "split": Split(7)}
ALL = [SMALL[name] if name in SMALL else made() for name, made in FAULTS.items()]


def actions_of(cwd: Path, *faults: Fault) -> list[Action]:
    """What a CLI does that is asked for a tool, without waiting for anything."""
    simulation = Simulation(greet, faults=faults)
    engine = simulation.engine(list(ARGV), cwd=str(cwd), env={}, clock=lambda: 0.0)
    assert isinstance(engine, Engine)
    engine.start()
    actions = engine.take()
    engine.feed(b'{"type":"control_request","request_id":"1","request":{"subtype":"interrupt"}}\n')
    actions += engine.take()
    engine.feed(b'{"type":"user","message":{"role":"user","content":"use a tool"}}\n')
    actions += engine.take()
    engine.feed(b"")
    while engine.due_in == 0:
        engine.wake()
    return actions + engine.take()


@pytest.mark.parametrize("first", ALL, ids=repr)
def test_any_two_faults_can_be_had_together(tmp_path: Path, first: Fault) -> None:
    def kinds(*faults: Fault) -> list[type[Action]]:
        return [type(it) for it in actions_of(tmp_path, *faults)]

    together = [kinds(first, second) for second in ALL]
    assert together == [kinds(first, second) for second in ALL]
    assert any(it != kinds(first) for it in together)  # the second one counts, too


def test_a_fault_can_be_given_to_many_and_stays_as_it_is(tmp_path: Path) -> None:
    fault = KilledBy(9, at=2)
    for _ in range(3):
        first, last = actions_of(tmp_path, fault)
        assert isinstance(first, Write)
        assert last == Kill(9)
    assert repr(fault) == "KilledBy(at=2, signal=9)"


async def test_each_process_counts_its_own_frames(tmp_path: Path) -> None:
    fault = ExitWith(5, at=3)
    for _ in range(2):
        peer, status = await conversation(tmp_path, fault)
        assert (peer.types, status) == (["init", "assistant"], 5)


async def test_faults_that_cut_bytes_come_last(tmp_path: Path) -> None:
    peer, status = await conversation(
        tmp_path, SplitEveryByte(), UnknownField(), Garbage([b"?"], at=2), ExitWith(4, at=4)
    )
    assert {len(piece) for piece in peer.pieces[:-1]} == {1}
    assert (peer.types, status) == (["init", "?", "assistant"], 4)
    assert b"field_from_the_future" in peer.lines[0]


async def test_a_line_that_is_not_utf_8_is_no_answer(tmp_path: Path) -> None:
    garbage = Garbage([b'{"type":"control_response\xff"}', b'{"type":5}'])
    peer, status = await conversation(tmp_path, garbage, DuplicateAnswers(), UnknownBlock())
    assert (len(peer.lines), status) == (2 + len(PLAIN), 0)


async def test_what_a_fault_does_at_the_start_is_seen_by_those_after_it(tmp_path: Path) -> None:
    garbage = Garbage([b'{"type":"x"}'], at=0)
    before, _ = await conversation(tmp_path, UnknownField(), garbage)
    after, _ = await conversation(tmp_path, garbage, UnknownField())
    for peer, place in ((before, 1), (after, 0)):
        assert peer.types == ["x", *PLAIN]
        added = [b"field_from_the_future" in line for line in peer.lines]
        assert added == [at == place for at in range(4)]


async def test_a_fault_of_ones_own_is_small(tmp_path: Path) -> None:
    class Shout(Fault):
        def change(self, action: Action) -> list[Action]:
            shout = isinstance(action, Write) and self.count(action) == self.at
            return [Write(action.data.upper())] if shout and isinstance(action, Write) else [action]

    peer, _ = await conversation(tmp_path, Shout(at=2))
    assert b"GR" in peer.lines[1]


async def test_a_fault_that_changes_nothing_changes_nothing(tmp_path: Path) -> None:
    peer, status = await conversation(tmp_path, Fault())
    usual, usual_status = await conversation(tmp_path)
    assert (peer.types, status) == (usual.types, usual_status)
    (written,) = Fault().alter(b"x")
    assert isinstance(written, Write)
    assert written.data == b"x"


async def test_a_request_that_is_taken_back_may_be_the_last_thing_a_cli_does(
    tmp_path: Path,
) -> None:
    peer, status = await conversation(
        tmp_path, WithdrawnRequest(), ExitWith(6, at=4), text="use a tool"
    )
    assert (peer.types, status) == (["init", "assistant", "control_request"], 6)


async def test_a_cli_can_die_when_its_patience_ends(tmp_path: Path) -> None:
    async def scenario(chat: Chat) -> None:
        await chat.sleep(0.001)
        await chat.say("too late")

    peer, status = await conversation(tmp_path, KilledBy(9, at=2), scenario=scenario)
    assert (peer.types, status) == (["init"], -9)


# --- the little language -------------------------------------------------------------------------


def test_faults_are_read_from_text() -> None:
    text = "split-every-byte, kill(9)@5, stderr-flood(1000000), exit(3)@2,silence @ 4"
    assert list(map(repr, parse_faults(text))) == [
        "SplitEveryByte(at=1, positions=())",
        "KilledBy(at=5, signal=9)",
        "StderrFlood(at=1, size=1000000)",
        "ExitWith(at=2, status=3)",
        "Silence(at=4)",
    ]


def test_arguments_can_be_several_and_named() -> None:
    late, split, half = parse_faults("late-answers(2, seconds=0.5)@3, split(1, -1), half-line(-9)")
    assert repr(late) == "LateAnswers(at=3, frames=2, seconds=0.5)"
    assert repr(split) == "Split(at=1, positions=(1, -1))"
    assert repr(half) == "HalfLine(at=1, status=-9)"


@pytest.mark.parametrize("text", ["", "  ", "exit,"])
def test_what_is_empty_is_no_fault(text: str) -> None:
    assert len(parse_faults(text)) == text.count("exit")


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_has_a_name_and_says_what_it_shows(name: str) -> None:
    (fault,) = parse_faults(f"{name}@2")
    assert type(fault) is FAULTS[name]
    assert fault.at == 2
    assert type(fault).__doc__


def test_a_fault_happens_at_the_first_frame_unless_another_is_named() -> None:
    # This one is there from the start, before the CLI says that it is ready.
    assert {type(it): it.at for it in parse_faults(", ".join(FAULTS))} == {
        kind: 0 if kind is IgnoreSIGTERM else 1 for kind in FAULTS.values()
    }


@pytest.mark.parametrize(
    "told",
    [
        "ClockJump(at=1, seconds=3600)",
        "ExitWith(at=1, status=1)",
        "Grandchild(at=1, seconds=60)",
        "HalfLine(at=1, status=None)",
        "KilledBy(at=1, signal=9)",
        "LateAnswers(at=1, frames=1, seconds=None)",
        "LeftoverShell(at=1, seconds=60)",
        "LongLine(at=1, megabytes=5)",
        "NotReading(at=1, seconds=None)",
        "SlowOutput(at=1, seconds=0.1)",
        "StderrFlood(at=1, size=1000000)",
    ],
)
def test_a_fault_has_usual_arguments(told: str) -> None:
    kinds = {kind.__name__: kind for kind in FAULTS.values()}
    assert repr(kinds[told.partition("(")[0]]()) == told


def test_an_unknown_fault_is_named_with_all_that_are_known() -> None:
    with pytest.raises(ValueError, match=r"Unknown fault 'explode'; the faults are clock-.*kill"):
        parse_faults("exit, explode(3)")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("exit(3", r"Cannot read the faults 'exit\(3' from"),
        ("exit kill", "from 'exit kill' on"),
        ("exit, , kill", "from ' , kill' on"),
        ("kill@", "from 'kill@' on"),
        ("exit(three)", r"Invalid fault 'exit\(three\)': .*'three'"),
        ("silence(1, 2)", "Invalid fault .*positional"),
        ("silence(volume=2)", "Invalid fault .*volume"),
        ("garbage(3)", "Invalid fault"),
        ("slow(-1)", "Invalid fault .*seconds.*-1"),
        ("slow(nan)", "Invalid fault .*nan"),
        ("late-answers(seconds=inf)", "Invalid fault .*inf"),
        ("not-reading(-1)", "Invalid fault .*-1"),
        ("grandchild(-1)", "Invalid fault .*-1"),
        ("kill(999)", "Invalid fault .*no signal 999"),
        ("split(1.5)", "Invalid fault .*1.5"),
    ],
)
def test_text_that_makes_no_sense_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_faults(text)


# --- as a process --------------------------------------------------------------------------------


@only_one_loop
@pytest.mark.parametrize(
    ("faults", "types", "status"),
    [
        ("split-every-byte", PLAIN, 0),
        ("exit(3)@2", ["init"], 3),
        ("exit(3)@0", [], 3),
        ("kill(9)@2", ["init"], -9),
        ("kill(11)@3", ["init", "assistant"], -11),
        ("kill(15)@2, ignore-sigterm", ["init"], -15),
        ("half-line(-9)@2", ["init", "?"], -9),
        ("late-answers(99), garbage@2, slow(0.001)", ["init", "?", "?", "?", *PLAIN[1:]], 0),
        (
            "not-reading(0.001), unknown-message@3",
            [*PLAIN[:2], "type_from_the_future", *PLAIN[2:]],
            0,
        ),
    ],
)
async def test_a_process_with_faults(
    tmp_path: Path, faults: str, types: list[str], status: int
) -> None:
    async with as_process(tmp_path, faults) as (peer, carrier):
        try:
            await peer.prompt()
        except anyio.BrokenResourceError:
            assert faults == "exit(3)@0"  # it may be gone already
        await peer.to_the_end()
        assert await carrier.process.wait() == status
    assert peer.types == types


@only_one_loop
async def test_a_process_refuses_faults_that_make_no_sense(tmp_path: Path) -> None:
    async with as_process(tmp_path, "explode") as (_, carrier):
        assert (await carrier.error_line()).startswith(b"claudewire-sim: Unknown fault 'explode'")
        assert await carrier.process.wait() == 2


@only_one_loop
async def test_a_process_floods_stderr(tmp_path: Path) -> None:
    async with as_process(tmp_path, "stderr-flood(1000000)@2") as (peer, carrier):
        assert carrier.process.stderr is not None
        await peer.prompt()
        await peer.until(InitMessage)
        size = 0
        while size < 1_000_000:
            size += len(await carrier.process.stderr.receive())
        await peer.until(ResultMessage)
    assert size == 1_000_000


@only_one_loop
async def test_a_silent_process_lives_on_when_its_input_has_ended(tmp_path: Path) -> None:
    async with as_process(tmp_path, "silence@2") as (peer, carrier):
        await peer.prompt()
        await peer.until(InitMessage)
        await carrier.send_eof()
        assert await has_to_wait(carrier.receive)
        assert await falls_asleep(carrier.process.pid)
        carrier.process.terminate()
        assert await carrier.process.wait() == 143


@only_one_loop
async def test_a_process_leaves_its_input_unread(tmp_path: Path) -> None:
    async with as_process(tmp_path, "not-reading@2") as (peer, carrier):
        await peer.prompt()
        await peer.until(ResultMessage)
        assert await falls_asleep(carrier.process.pid)
        before = bytes_read(carrier.process.pid)
        assert await has_to_wait(lambda: carrier.send(b" " * 1_000_000))
        assert await falls_asleep(carrier.process.pid)
        assert bytes_read(carrier.process.pid) == before
        carrier.process.kill()
        assert await carrier.process.wait() == -signal.SIGKILL


@only_one_loop
async def test_a_process_closes_stdout_and_lives_on(tmp_path: Path) -> None:
    async with as_process(tmp_path, "eof-without-exit@2") as (peer, carrier):
        await peer.prompt()
        await peer.until(EndOfStream)
        await carrier.send(b'{"type":"keep_alive"}\n')
        await carrier.send_eof()
        carrier.process.terminate()
        assert await carrier.process.wait() == 143
    assert peer.types == ["init"]


@only_one_loop
async def test_a_process_ignores_sigterm(tmp_path: Path) -> None:
    async with as_process(tmp_path, "ignore-sigterm") as (peer, carrier):
        await peer.prompt()
        await peer.until(ResultMessage)
        carrier.process.terminate()
        await peer.prompt("still there?")
        await peer.until(ResultMessage)
        await peer.to_the_end()
        assert await carrier.process.wait() == 0


@only_one_loop
async def test_a_process_leaves_another_that_holds_stdout(tmp_path: Path) -> None:
    async with as_process(tmp_path, "grandchild(60)") as (peer, carrier):
        await peer.prompt()
        await peer.until(ResultMessage)
        *words, id = (await carrier.error_line()).split()
        assert words == [b"claudewire-sim:", b"grandchild"]
        await carrier.send_eof()
        assert await carrier.process.wait() == 0
        held = os.readlink(f"/proc/{int(id)}/fd/1")
        assert [it for it in open_files() if it.endswith(f" {held}")]
        assert await has_to_wait(peer.read)
        os.kill(int(id), signal.SIGKILL)
        await peer.until(EndOfStream)
    assert peer.types == PLAIN


@only_one_loop
async def test_a_process_leaves_a_shell_in_a_session_of_its_own(tmp_path: Path) -> None:
    async with as_process(tmp_path, "leftover-shell(60)") as (peer, carrier):
        await peer.prompt()
        await peer.until(ResultMessage)
        *words, id = (await carrier.error_line()).split()
        assert words == [b"claudewire-sim:", b"shell"]
        await carrier.send_eof()
        await peer.until(EndOfStream)  # it does not hold stdout
        assert await carrier.process.wait() == 0
        assert os.getsid(int(id)) == os.getpgid(int(id)) == int(id)
        os.kill(int(id), signal.SIGKILL)
    assert peer.types == PLAIN


@only_one_loop
async def test_a_process_takes_a_request_back(tmp_path: Path) -> None:
    async with as_process(tmp_path, "withdrawn-request", answers=False) as (peer, carrier):
        await peer.prompt("use a tool")
        await peer.until(ResultMessage)
        await peer.to_the_end()
        assert await carrier.process.wait() == 0
    assert len(peer.of(Cancel)) == 1
    assert len(peer.result.permission_denials or ()) == 1


@only_one_loop
async def test_the_clock_of_a_process_jumps(tmp_path: Path) -> None:
    async with as_process(tmp_path, "clock-jump(3600)@2") as (peer, _):
        await peer.prompt()
        await peer.to_the_end()
    assert peer.result.duration_ms is not None
    assert peer.result.duration_ms >= 3_600_000


def test_an_exit_is_the_last_action(tmp_path: Path) -> None:
    assert isinstance(actions_of(tmp_path)[-1], Exit)
