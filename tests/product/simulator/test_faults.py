"""Faults, one by one and combined, in memory and in the program."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.helpers.clock import simulated_time
from tests.helpers.talk import Talk, allow, kinds, only, program, said, told

from claudewire import wire
from claudewire.simulator import ARGV, Chat, SimulatedCLI
from claudewire.simulator.actions import Action, WriteError
from claudewire.simulator.faults import (
    AtFrame,
    ClockJump,
    DuplicateAnswers,
    EOFWithoutExit,
    ExitWith,
    Fault,
    FromFrame,
    Garbage,
    Grandchild,
    HalfLine,
    KilledBy,
    LateAnswers,
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

pytestmark = pytest.mark.anyio


async def greet(chat: Chat) -> None:
    if "tool" in chat.text:
        await chat.use("Bash", {"command": "true"}, result="done")
    await chat.say("Grüße ☃")


async def pieces(*faults: Fault, prompt: str = "hello") -> tuple[list[bytes], int | None, bytes]:
    """One prompt and its answer: the pieces on stdout, the exit status and stderr."""
    cli = SimulatedCLI(greet, faults=faults)
    await cli.send(b'{"type":"user","message":{"role":"user","content":"%b"}}\n' % prompt.encode())
    await cli.send_eof()
    found = []
    while piece := await cli.receive():
        found.append(piece)
    return found, await cli.wait(), await cli.receive_stderr()


def talk_with(*faults: Fault, **more: Any) -> Talk:
    return Talk(SimulatedCLI(greet, faults=faults, **more), {wire.CanUseTool: allow}, patience=3600)


# --- damaged, slow or missing output --------------------------------------------------------------


async def test_each_frame_is_one_write_without_faults() -> None:
    found, status, _ = await pieces()
    assert [json.loads(piece)["type"] for piece in found] == ["system", "assistant", "result"]
    assert status == 0


@pytest.mark.parametrize(
    ("fault", "is_cut"),
    [
        (SplitEveryByte(), lambda found: {len(piece) for piece in found} == {1}),
        (Split((5, -1), at=2), lambda found: [len(found[1]), found[3]] == [5, b"\n"]),
        (SplitUTF8(), lambda found: any(piece[0] & 0xC0 == 0x80 for piece in found)),
    ],
)
async def test_frame_is_cut(fault: Fault, is_cut: Callable[[list[bytes]], bool]) -> None:
    found, status, _ = await pieces(fault)
    assert is_cut(found)
    assert status == 0
    lines = b"".join(found).splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["system", "assistant", "result"]


@pytest.mark.parametrize(
    ("fault", "frame"),
    [
        (LongLine(2, at=2), lambda line: len(line["padding"]) == 2_000_000),
        (UnknownField(at=2), lambda line: line["field_from_the_future"] == "42"),
        (UnknownMessage(at=2), lambda line: line["type"] == "type_from_the_future"),
        (UnknownBlock(), lambda line: line["message"]["content"][-1]["payload"] == 42),
        (UnknownAnswers(at=2), lambda line: line["response"]["request_id"] == "nobody-asked-this"),
        (ResultWithoutTurn(at=2), lambda line: line["errors"] == ["A result without a turn"]),
    ],
)
async def test_second_frame_is_unusual(fault: Fault, frame: Callable[[Any], bool]) -> None:
    found, status, _ = await pieces(fault)
    assert frame(json.loads(found[1]))
    assert status == 0


async def test_garbage_comes_before_a_frame() -> None:
    talk = talk_with(Garbage(at=2))
    turn = await talk.turn("hello")
    assert len(only(turn, wire.InvalidLine)) == 3
    assert said(turn) == ["Grüße ☃"]


@pytest.mark.parametrize(("status", "exit"), [(None, 0), (3, 3), (-9, -9)])
async def test_frame_is_cut_in_half(status: int | None, exit: int) -> None:
    found, ended, _ = await pieces(HalfLine(status, at=2))
    assert ended == exit
    assert found[1].endswith(b"\n") is (status is None)
    with pytest.raises(json.JSONDecodeError):
        json.loads(found[1])
    assert len(found) == (3 if status is None else 2)


@pytest.mark.parametrize("fault", [Silence(at=2), EOFWithoutExit(at=2)])
async def test_cli_lives_on_without_output(fault: Fault) -> None:
    cli = SimulatedCLI(greet, faults=[fault])
    await cli.send(b'{"type":"user","message":{"role":"user","content":"hi"}}\n')
    await cli.send_eof()
    assert b'"init"' in await cli.receive()
    if isinstance(fault, EOFWithoutExit):
        assert await cli.receive() == b""
    with anyio.move_on_after(0.05):
        await cli.wait()
        raise AssertionError("it has exited")
    await cli.aclose()


@simulated_time
async def test_slow_output_pauses_before_each_write() -> None:
    start = anyio.current_time()
    await pieces(SlowOutput(2, at=2))
    assert anyio.current_time() - start == pytest.approx(4, abs=0.1)


async def test_flood_on_stderr_blocks_until_it_is_read() -> None:
    cli = SimulatedCLI(greet, faults=[StderrFlood(200_000)])
    talk = Talk(cli)
    await talk.say(wire.UserMessage.of("hello"))
    with anyio.move_on_after(0.05):
        await cli.receive()
        raise AssertionError("it goes on")
    assert len(await cli.receive_stderr()) == 200_000
    assert said(await talk.until_result()) == ["Grüße ☃"]


@simulated_time
async def test_unread_stdin_blocks_a_large_write() -> None:
    cli = SimulatedCLI(greet, faults=[NotReading(5, at=0)])
    start = anyio.current_time()
    await cli.send(b"\n" * 60_000)  # fits into the pipe
    assert anyio.current_time() == start
    await cli.send(b"\n" * 60_000)
    assert anyio.current_time() - start == pytest.approx(5, abs=0.1)


# --- the process ----------------------------------------------------------------------------------


async def test_nothing_happens_after_death() -> None:
    ran: list[str] = []

    async def play(chat: Chat) -> None:
        await chat.use("TodoWrite", {}, run=lambda _: ran.append("tool"))

    talk = Talk(SimulatedCLI(play, faults=[KilledBy(at=2)]))
    await talk.say(wire.UserMessage.of("go"))
    assert await talk.rest() == -9
    assert ran == []


@simulated_time
async def test_grandchild_holds_stdout_after_the_exit() -> None:
    start = anyio.current_time()
    _, status, _ = await pieces(Grandchild(7))
    assert status == 0
    assert anyio.current_time() - start == pytest.approx(7, abs=0.1)


async def test_clock_jumps_and_timers_do_not() -> None:
    talk = talk_with(ClockJump(3600, at=2))
    result = (await talk.turn("hello"))[-1]
    assert result.duration_ms == pytest.approx(3_600_000, abs=5000)


# --- unusual answers, requests and turns ----------------------------------------------------------


async def test_late_answer_is_overtaken_by_frames() -> None:
    talk = talk_with(LateAnswers(2))
    await talk.say(talk.connection.new_request(wire.GetBinaryVersion()))
    await talk.turn("hello")
    assert kinds(talk.heard) == ["system/init", "assistant", "control_response", "result/success"]


@simulated_time
async def test_late_answer_comes_after_its_seconds() -> None:
    talk = talk_with(LateAnswers(seconds=5))
    start = anyio.current_time()
    assert isinstance(await talk.ask(wire.GetBinaryVersion()), wire.Answer)
    assert anyio.current_time() - start == pytest.approx(5, abs=0.1)


@pytest.mark.parametrize(
    ("fault", "count"), [(DuplicateAnswers(), 2), (MissingAnswers(), 0), (LateAnswers(9), 1)]
)
async def test_answers_are_repeated_missing_or_late(fault: Fault, count: int) -> None:
    talk = talk_with(fault)
    await talk.say(talk.connection.new_request(wire.GetBinaryVersion()))
    await talk.turn("hello")
    assert await talk.end() == 0
    assert kinds(talk.heard[:-1]).count("control_response") == count


async def test_withdrawn_request_counts_as_refused() -> None:
    talk = Talk(SimulatedCLI(greet, faults=[WithdrawnRequest()]))
    turn = await talk.turn("use a tool")
    (cancel,) = only(turn, wire.Cancel)
    assert "The request was withdrawn" in told(turn)[0]
    answer = {"subtype": "success", "request_id": cancel.id, "response": {"behavior": "allow"}}
    await talk.write(json.dumps({"type": "control_response", "response": answer}).encode())
    assert await talk.end() == 0


async def test_unsolicited_turn_is_whole() -> None:
    talk = talk_with(UnsolicitedTurn())
    turn = await talk.turn("hello")
    assert kinds(turn) == ["system/init", "assistant", "result/success"]
    assert said(turn) == ["A background task has ended."]
    assert said(await talk.until_result()) == ["Grüße ☃"]


# --- combinations ---------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["garbage@2", "unknown-message", "long-line(0.001)@2"])
@pytest.mark.parametrize("second", ["split-every-byte", "unsolicited-turn", "split-utf8"])
async def test_faults_combine(first: str, second: str) -> None:
    talk = talk_with(*parse_faults(f"{second}, {first}"))
    await talk.turn("hello")
    assert await talk.end() == 0
    assert "Grüße ☃" in said(talk.heard)


async def test_fault_object_serves_many_processes() -> None:
    fault = ExitWith(3, at=2)
    for _ in range(2):
        found, status, _ = await pieces(fault)
        assert (len(found), status) == (1, 3)


async def test_own_fault_is_a_small_class() -> None:
    class Shout(FromFrame):
        def alter(self, frame: bytes) -> list[Action]:
            return [WriteError(b"!\n"), *super().alter(frame)]

    class Once(AtFrame):
        text: bytes = b"once\n"

        def alter(self, frame: bytes) -> list[Action]:
            return [WriteError(self.text), *super().alter(frame)]

    cli = SimulatedCLI(greet, faults=[Shout(at=2), Once(b"one\n", at=3)])
    talk = Talk(cli)
    await talk.turn("hello")
    await talk.end()
    assert await talk.stderr() == "!\n!\none\n"


# --- the notation ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("", ()),
        ("kill", (KilledBy(),)),
        ("kill(11)@3, slow( 0.5 )", (KilledBy(11, at=3), SlowOutput(0.5))),
        ("late-answers(seconds=2)", (LateAnswers(seconds=2),)),
        ("split(1, -1)@4", (Split((1, -1), at=4),)),
        ("half-line(-9)@0", (HalfLine(-9, at=0),)),
    ],
)
def test_list_of_faults_is_parsed(text: str, faults: Iterable[Fault]) -> None:
    assert list(map(repr, parse_faults(text))) == list(map(repr, faults))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("explode", "Unknown fault 'explode'; the faults are clock-jump, duplicate-answers"),
        ("kill kill", "Cannot read the fault 'kill kill'"),
        ("kill(99)", r"Invalid fault 'kill\(99\)': there is no signal 99"),
        ("kill(x)", "Invalid fault"),
        ("kill(1, 2)", "Invalid fault"),
    ],
)
def test_mistake_in_the_list_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_faults(text)


# --- in the program -------------------------------------------------------------------------------

SCENARIO = 'default = "Hi"\n[[turn]]\nmatch = "tool"\nsteps = [{ use = "Bash", result = "done" }]'


def started(folder: Path, faults: str) -> Any:
    (folder / "scenario.toml").write_text(SCENARIO, "utf-8")
    scenario = str(folder / "scenario.toml")
    env = {"CLAUDEWIRE_SIM_SCENARIO": scenario, "CLAUDEWIRE_SIM_FAULTS": faults}
    return program(*ARGV, cwd=folder, env=env)


only_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"])


@only_asyncio
async def test_program_ignores_sigterm(tmp_path: Path) -> None:
    async with started(tmp_path, "ignore-sigterm") as process:
        talk = Talk(process)
        await talk.turn("hello")
        process._process.send_signal(signal.SIGTERM)
        assert said(await talk.turn("hello")) == ["Hi"]
        assert await talk.end() == 0


@only_asyncio
@pytest.mark.parametrize(
    ("fault", "name"), [("grandchild", "grandchild"), ("leftover-shell", "shell")]
)
async def test_program_leaves_a_process(fault: str, name: str, tmp_path: Path) -> None:
    async with started(tmp_path, f"{fault}(60)") as process:
        talk = Talk(process)
        await talk.turn("hello")
        await process.send_eof()
        assert await process.wait() == 0
        said_on_stderr, pid = (await process.receive_stderr()).decode().rsplit(" ", 1)
        assert said_on_stderr == f"claudewire-sim: {name}"
        is_apart = os.getsid(int(pid)) == int(pid)
        os.kill(int(pid), signal.SIGKILL)
        assert is_apart is (name == "shell")
