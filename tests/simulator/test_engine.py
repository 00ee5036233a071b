"""The engine of the simulated CLI, without a host: what it does is taken from it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from claudewire.simulator import ARGV, Chat, Scenario, Simulation
from claudewire.simulator.actions import Action, Exit, Run, Write, WriteError
from claudewire.simulator.engine import JOB, Engine, Refused, StreamClosed, TimedOut, Wait
from claudewire.simulator.jobs import run_blocking
from claudewire.wire import Elicitation

PROMPT = {"type": "user", "message": {"role": "user", "content": "Go."}}


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def started(scenario: Scenario, clock: Callable[[], float] | None = None) -> Engine:
    """Return an engine in a turn."""
    made = Simulation(scenario).engine(ARGV, cwd="/x", env={}, clock=clock or Clock())
    assert isinstance(made, Engine)
    made.start()
    made.feed(line(PROMPT))
    return made


def line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def written(actions: list[Action]) -> list[dict[str, Any]]:
    """Return the messages among these actions."""
    return [json.loads(it.data) for it in actions if isinstance(it, Write)]


def errors(actions: list[Action]) -> str:
    return b"".join(it.data for it in actions if isinstance(it, WriteError)).decode()


# --- the end --------------------------------------------------------------------------------------


async def asks(chat: Chat) -> None:
    await chat.use("Bash", {"command": "make"})
    await chat.sleep(5)


async def sleeps(chat: Chat) -> None:
    await chat.sleep(5)
    await chat.say("awake")


async def works(chat: Chat) -> None:
    await run_blocking(chat.engine, lambda: "result")
    await chat.say("done")


@pytest.mark.parametrize("scenario", [asks, sleeps, works])
def test_after_its_exit_a_cli_does_nothing_whatever_comes(scenario: Scenario) -> None:
    clock = Clock()
    engine = started(scenario, clock)
    before = engine.take()
    engine.feed(b"no JSON")
    engine.feed(b"")
    *_, last = engine.take()
    assert last == Exit(1)
    assert engine.due_in is None
    clock.now += 10
    engine.wake()
    for job in before:
        if isinstance(job, Run):
            engine.finish(job.key, job())
    engine.feed(line(PROMPT))
    engine.exit(5)
    assert engine.take() == []


def test_what_follows_the_line_that_ends_it_is_not_read() -> None:
    engine = started(asks)
    engine.take()
    engine.feed(b"no JSON\n" + line(PROMPT))
    assert [type(it) for it in engine.take()] == [WriteError, Exit]


def test_a_byte_order_mark_is_one_only_at_the_start_of_the_input() -> None:
    mark = b"\xef\xbb\xbf"
    made = Simulation(asks).engine(ARGV, cwd="/x", env={}, clock=Clock())
    assert isinstance(made, Engine)
    made.start()
    made.feed(mark + line(PROMPT))
    assert not errors(made.take())
    made.feed(mark + line(PROMPT))
    assert made.take()[-1] == Exit(1)


def test_prompts_wait_until_all_that_holds_them_has_let_go() -> None:
    made = Simulation(sleeps).engine(ARGV, cwd="/x", env={}, clock=Clock())
    assert isinstance(made, Engine)
    made.start()
    made.hold()
    made.feed(line(PROMPT))
    made.hold()
    made.feed(line(PROMPT))
    made.release()
    made.feed(b"")
    assert made.take() == []
    made.release()
    assert [it["subtype"] for it in written(made.take())] == ["init"]
    assert len(made.prompts) == 1


@pytest.mark.parametrize(
    ("step", "held_back"),
    [
        (lambda chat: chat.pause(), True),
        (lambda chat: chat.sleep(5), False),
        (lambda chat: run_blocking(chat.engine, lambda: None), False),
    ],
    ids=["pause", "sleep", "work"],
)
def test_what_may_be_the_last_message_is_held_back_while_the_model_goes_on(
    step: Callable[[Chat], Any], held_back: bool
) -> None:
    async def speaks(chat: Chat) -> None:
        chat.model.text("One.")
        await step(chat)

    made = Simulation(speaks, dialect="envelope").engine(ARGV, cwd="/x", env={}, clock=Clock())
    assert isinstance(made, Engine)
    made.start()
    made.feed(line(PROMPT))
    told = written(made.take())
    said = [it for it in told if it["type"] == "assistant" and "message" in it]
    assert bool(said) is not held_back


# --- time -----------------------------------------------------------------------------------------


def test_it_says_when_it_is_due_and_whether_it_should_have_been_woken() -> None:
    clock = Clock()
    engine = started(sleeps, clock)
    engine.take()
    for after, due, overslept in ((0, 5, False), (4, 1, False), (5, 0, False), (6, 0, True)):
        clock.now = 100 + after
        assert (engine.due_in, engine.overslept) == (due, overslept)
    engine.wake()
    assert "awake" in str(written(engine.take()))
    assert not engine.overslept  # it only gives way


@pytest.mark.parametrize(("after", "wakes"), [(4.5, False), (5.0, True)])
def test_it_is_woken_when_its_time_has_come(after: float, wakes: bool) -> None:
    clock = Clock()
    engine = started(sleeps, clock)
    engine.take()
    clock.now += after
    engine.wake()
    assert bool(engine.take()) is wakes


def test_of_what_waits_for_different_times_only_what_is_due_goes_on() -> None:
    async def several(chat: Chat) -> None:
        for seconds in (3, 1, 2):
            chat.engine.spawn(after(chat, seconds))
        await chat.sleep(4)

    async def after(chat: Chat, seconds: float) -> None:
        await Wait(seconds=seconds)
        chat.engine.warn(f"{seconds}")

    clock = Clock()
    engine = started(several, clock)
    engine.take()
    for number in (1, 2, 3):
        assert engine.due_in == 1
        clock.now += 1
        engine.wake()
        assert errors(engine.take()) == f"{number}\n"


def test_an_error_of_the_simulation_itself_is_not_hidden() -> None:
    async def fails() -> None:
        raise ZeroDivisionError

    engine = started(sleeps)
    with pytest.raises(ZeroDivisionError):
        engine.spawn(fails())


# --- what it waits for ----------------------------------------------------------------------------

QUESTION = Elicitation("calc", "Which?", mode="form", requested_schema={})


@pytest.mark.parametrize(
    ("how", "error", "told"),
    [
        ("refuse", Refused, "Refused: no"),
        ("end", StreamClosed, "StreamClosed: "),
        ("wait", TimedOut, "TimedOut: "),
        ("take back", Refused, "Refused: The request was withdrawn"),
    ],
)
def test_a_scenario_that_gets_no_answer_is_given_up_and_has_not_failed(
    how: str, error: type[Exception], told: str
) -> None:
    seen: list[Exception] = []

    async def asks(chat: Chat) -> None:
        try:
            await chat.engine.ask(QUESTION, seconds=5)
        except Exception as error:
            seen.append(error)
            raise

    clock = Clock()
    engine = started(asks, clock)
    id = written(engine.take())[-1]["request_id"]
    if how == "refuse":
        no = {"subtype": "error", "request_id": id, "error": "no"}
        engine.feed(line({"type": "control_response", "response": no}))
    elif how == "end":
        engine.feed(b"")
    elif how == "wait":
        clock.now += 5
        engine.wake()
    else:
        engine.take_back(id)
    actions = engine.take()
    assert errors(actions).startswith("The scenario was given up.\nTraceback")
    assert (engine.failures, [type(it) for it in seen]) == ([], [error])
    cancelled = [
        it["request_id"] for it in written(actions) if it["type"].endswith("cancel_request")
    ]
    assert cancelled == ([id] if how in ("wait", "take back") else [])
    (result,) = [it for it in written(actions) if it["type"] == "result"]
    assert result["errors"] == [told]


def test_what_a_scenario_raises_is_told_with_its_place() -> None:
    async def fails(chat: Chat) -> None:
        raise ValueError("no\nX")

    engine = started(fails)
    told = errors(engine.take())
    assert told.startswith("The scenario failed.\nTraceback")
    assert told.endswith('raise ValueError("no\\nX")\nValueError: no\nX\n')
    assert [str(it) for it in engine.failures] == ["no\nX"]


def test_after_the_end_of_the_input_nothing_can_be_asked() -> None:
    async def asks(chat: Chat) -> None:
        await chat.sleep(1)
        await chat.engine.ask(QUESTION)

    clock = Clock()
    engine = started(asks, clock)
    engine.feed(b"")
    engine.take()
    clock.now += 1
    engine.wake()
    actions = engine.take()
    assert [it["type"] for it in written(actions)] == ["result"]
    assert errors(actions).startswith("The scenario was given up.")


def test_what_waits_for_a_thread_is_not_ended_by_the_end_of_the_input() -> None:
    engine = started(works)
    *_, job = engine.take()
    assert isinstance(job, Run)
    assert job.key.startswith(JOB)
    engine.feed(b"")
    assert engine.take() == []
    engine.finish(job.key, job())
    actions = engine.take()
    engine.wake()
    assert "done" in str(written(actions))
    assert engine.take()[-1] == Exit(0)


def test_what_a_function_in_a_thread_raises_is_raised_where_it_is_waited_for() -> None:
    async def divides(chat: Chat) -> None:
        await run_blocking(chat.engine, lambda: 1 // 0)

    engine = started(divides)
    *_, job = engine.take()
    assert isinstance(job, Run)
    engine.finish(job.key, job())
    (result,) = written(engine.take())
    assert result["errors"][0].startswith("ZeroDivisionError: ")
    with pytest.raises(SystemExit):  # which is not the simulation's to handle
        Run("it", sys.exit)()


def test_only_what_was_asked_and_not_answered_can_be_taken_back() -> None:
    engine = started(asks)
    engine.take()
    engine.withdraw("none")
    engine.take_back("none")
    assert engine.take() == []
