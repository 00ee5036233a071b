"""A prompt on the command line or on stdin. What is expected was measured with CLI 2.1.325."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.text_mode import Outcome, run_text

from claudewire.simulator import Chat, SimulatedTask, Simulation, faults, script_from_toml
from claudewire.simulator.actions import Action, Exit, Write, WriteError
from claudewire.simulator.simulation import SimulatedProcess
from claudewire.simulator.text_mode import MOST

JSON = ("--output-format", "json")
STREAM = ("--output-format", "stream-json", "--verbose")
LOST = "4f2a1b9c-0000-4000-8000-000000000000"
BLANK = (
    "Error: Input contained only whitespace. Provide a prompt with text through stdin or as a "
    "prompt argument when using --print\n"
)
MISSING = (
    "Error: Input must be provided either through stdin or as a prompt argument when using --print"
    "\n"
)
PATIENT = (
    "Warning: no stdin data received in 3s, proceeding without it. If piping from a slow command, "
    "redirect stdin explicitly: < /dev/null to skip, or wait longer.\n"
)


async def echo(chat: Chat) -> None:
    await chat.say(repr(chat.text))


@pytest.mark.parametrize(
    ("argv", "stdin", "expected"),
    [
        (["-p", "hi"], b"", Outcome(0, "'hi'\n")),
        (["hi"], b"", Outcome(0, "'hi'\n")),
        (["-p"], b"hi there\n", Outcome(0, "'hi there\\n'\n")),
        (["-p", "hi"], b"more\n", Outcome(0, "'hi\\nmore\\n'\n")),
        (["-p", "  "], b"hi", Outcome(0, "'  \\nhi'\n")),
        (["-p"], b"caf\xe9", Outcome(0, "'caf\ufffd'\n")),
        (["-p", "--verbose", "hi"], b"", Outcome(0, "'hi'\n")),
        (["-p", "--input-format", "text", "hi"], b"", Outcome(0, "'hi'\n")),
        (["-p"], b"", Outcome(1, "", MISSING)),
        ([], b"", Outcome(1, "", MISSING)),
        (["-p", ""], b"", Outcome(1, "", MISSING)),
        (["-p"], b" \n", Outcome(1, "", BLANK)),
        (["-p", "  "], b"", Outcome(1, "", BLANK)),
        (["-p", "hi"], None, Outcome(0, "'hi'\n", PATIENT)),
        (["-p"], None, Outcome(1, "", PATIENT + MISSING)),
    ],
)
def test_the_prompt_comes_from_the_command_line_and_from_stdin(
    argv: list[str], stdin: bytes | None, expected: Outcome
) -> None:
    assert run_text(echo, *argv, stdin=stdin) == expected


async def answer(chat: Chat) -> None:
    """Play what the prompt asks for."""
    if chat.text == "tool":
        outcome = await chat.use("Bash", {"command": "rm -rf x"})
        await chat.say(outcome.text)
    elif chat.text == "fail":
        await chat.fail("This is a scripted error")
    elif chat.text == "stop":
        chat.exhaust_budget()
    elif chat.text == "crash":
        raise RuntimeError("The scenario is broken")
    elif chat.text == "structure":
        chat.output({"answer": 4})
    else:
        await chat.say(chat.text)


@pytest.mark.parametrize(
    ("argv", "status", "stdout"),
    [
        (["one\ntwo  "], 0, "one\ntwo  \n"),
        (["one\n\n"], 0, "one\n\n"),
        (["fail"], 1, "API Error: 400 This is a scripted error\n"),
        (["tool", "--max-turns", "1"], 1, "Error: Reached max turns (1)"),
        (["stop", "--max-budget-usd", "1e-7"], 1, "Error: Exceeded USD budget (1e-7)"),
        (["stop", "--max-budget-usd", "0.00001"], 1, "Error: Exceeded USD budget (0.00001)"),
        (["stop", "--max-budget-usd", "2"], 1, "Error: Exceeded USD budget (2)"),
        (["stop"], 1, "Error: Exceeded USD budget (undefined)"),
        (["crash"], 1, "Execution error"),
        (["structure", "--json-schema={}"], 0, '{"answer":4}\n'),
    ],
)
def test_the_answer_is_printed_as_text(argv: list[str], status: int, stdout: str) -> None:
    outcome = run_text(answer, "-p", *argv)
    assert (outcome.status, outcome.stdout) == (status, stdout)


def test_nobody_can_be_asked() -> None:
    closed = "Tool permission request failed: AbortError: Stream closed\n"
    assert run_text(answer, "-p", "tool") == Outcome(0, "This command requires approval\n")
    assert run_text(answer, "-p", "tool", "--permission-prompt-tool=stdio") == Outcome(0, closed)
    assert run_text(answer, "-p", "tool", "--allowedTools", "Bash") == Outcome(0, "ok\n")
    denied = run_text(answer, "-p", "tool", "--permission-mode=dontAsk")
    assert "denied because Claude Code is running in don't ask mode" in denied.stdout


def test_what_was_not_allowed_is_told_by_its_path(tmp_path: Path) -> None:
    async def write(chat: Chat) -> None:
        await chat.say((await chat.use("Write", {"file_path": "a.txt", "content": ""})).text)

    told = f"Claude requested permissions to write to {tmp_path}/a.txt, but you haven't granted it"
    assert run_text(write, "-p", "hi", cwd=tmp_path) == Outcome(0, f"{told} yet.\n")


def test_the_result_can_be_printed_as_json() -> None:
    outcome = run_text(answer, "-p", "hi", *JSON)
    assert outcome.status == 0
    assert outcome.stdout.count("\n") == 1
    result = json.loads(outcome.stdout)
    assert (result["type"], result["result"]) == ("result", "hi")
    assert "model_usage_since_last_result" not in result


def test_a_failure_is_printed_as_json_too() -> None:
    outcome = run_text(answer, "-p", "tool", "--max-turns=1", *JSON)
    assert (outcome.status, outcome.stderr) == (1, "")
    result = json.loads(outcome.stdout)
    assert result["subtype"] == "error_max_turns"
    assert result["errors"] == ["Reached maximum number of turns (1)"]


@pytest.mark.parametrize("form", [(*JSON, "--verbose"), STREAM])
def test_all_messages_can_be_printed(form: tuple[str, ...]) -> None:
    outcome = run_text(answer, "-p", *form, stdin=b"hi")
    one_list = form[1] == "json"
    lines = [outcome.stdout] if one_list else outcome.stdout.splitlines()
    found: list[Any] = [json.loads(line) for line in lines]
    messages = found[0] if one_list else found
    assert [message["type"] for message in messages] == ["system", "assistant", "result"]
    assert len({message["session_id"] for message in messages}) == 1
    assert "user_message_uuid" not in messages[1]


def test_with_stream_json_input_the_prompt_of_the_command_line_is_not_read() -> None:
    assert run_text(answer, "-p", "hi", *STREAM, "--input-format=stream-json") == Outcome(0)


@pytest.mark.parametrize("form", [(), JSON, STREAM])
def test_a_session_that_is_not_there_cannot_be_resumed(form: tuple[str, ...]) -> None:
    env = {"HOME": "/nonexistent"}
    outcome = run_text(answer, "-p", "hi", "--resume", LOST, *form, env=env)
    assert (outcome.status, outcome.stderr) == (
        1,
        f"No conversation found with session ID: {LOST}\n",
    )
    assert ("error_during_execution" in outcome.stdout) is (form == STREAM)


def test_conversations_go_on_in_the_next_process(tmp_path: Path) -> None:
    async def count(chat: Chat) -> None:
        await chat.say(str(sum(entry["type"] == "user" for entry in chat.session.history)))

    def ask(*argv: str) -> Outcome:
        return run_text(count, "-p", *argv, env={"CLAUDE_CONFIG_DIR": str(tmp_path)})

    assert ask("hi", "--session-id", LOST) == Outcome(0, "1\n")
    taken = f"Error: Session ID {LOST} is already in use.\n"
    assert ask("hi", "--session-id", LOST) == Outcome(1, "", taken)
    assert ask("hi", "--resume", LOST) == Outcome(0, "2\n")
    assert ask("hi", "--continue") == Outcome(0, "3\n")
    nothing = ask("--resume", LOST)
    assert nothing.status == 1
    assert "Provide a prompt to continue the conversation." in nothing.stderr


def test_the_results_of_several_turns_are_printed_one_after_the_other() -> None:
    async def work(chat: Chat) -> None:
        if chat.text:
            task = SimulatedTask(chat.engine, "in the background", "local_bash", None)
            await chat.say("Started.\n" if chat.text == "hi" else chat.text)
            task.finish()
        else:
            await chat.say("It is done.")

    assert run_text(work, "-p", "hi") == Outcome(0, "Started.\n\nIt is done.\n")
    result = json.loads(run_text(work, "-p", "hi", *JSON).stdout)
    assert (result["result"], result["result_index"]) == ("It is done.", 1)


def test_a_result_after_an_error_is_printed_below_an_empty_line() -> None:
    async def work(chat: Chat) -> None:
        if chat.text:
            SimulatedTask(chat.engine, "in the background", "local_bash", None).finish()
            chat.reach_max_turns()
        await chat.say("It is done.")

    told = "Error: Reached max turns (undefined)\n\nIt is done.\n"
    assert run_text(work, "-p", "hi").stdout == told


@pytest.mark.parametrize(("last", "printed"), [("", "\n"), ("  ", "  \n")])
def test_an_answer_without_words_is_an_empty_line(last: str, printed: str) -> None:
    async def silent(chat: Chat) -> None:
        await chat.say(last)

    assert run_text(silent, "-p", "hi") == Outcome(0, printed)


def test_faults_work_in_text_mode_too() -> None:
    assert run_text(answer, "-p", "hi", faults=[faults.ExitWith(7)]) == Outcome(7)
    closed = run_text(answer, "-p", "hi", faults=[faults.ExitWith(7, at=0)])
    assert closed == Outcome(7)


def test_the_program_works_in_text_mode(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text('default = "You said: {prompt}"', encoding="utf-8")
    script_from_toml(scenario.read_text(encoding="utf-8"))
    env = {**os.environ, "CLAUDEWIRE_SIM_SCENARIO": str(scenario), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "claudewire.simulator", "-p", "Greetings"]
    done = subprocess.run(
        command, input=b"world", env=env, capture_output=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == (b"You said: Greetings\nworld\n", b"")


def test_a_prompt_of_more_than_ten_megabytes_is_refused() -> None:
    most = b"x" * 10 * 1024 * 1024
    assert run_text(answer, "-p", stdin=most).status == 0
    refused = run_text(answer, "-p", stdin=most + b"x")
    assert (refused.status, refused.stdout) == (1, "")
    assert refused.stderr.startswith("Error: piped stdin input exceeds 10MB.")


@pytest.mark.parametrize("late", [[b"more"], [b""], [b"more", b""], [b"x" * 11 * 1024 * 1024]])
def test_what_comes_after_the_prompt_was_taken_is_not_read(late: list[bytes]) -> None:
    now = 0.0
    engine = Simulation(echo).engine(["-p", "hi"], cwd="/", env={}, clock=lambda: now)
    assert isinstance(engine, SimulatedProcess)
    engine.start()
    now = engine.due_in or 0.0
    assert now == 3.0
    engine.wake()  # nothing has come on stdin, and it waits no longer
    for data in late:
        engine.feed(data)
    done: list[Action] = []
    while engine.due_in is not None:
        engine.wake()
        done += engine.take()
    assert [it.data for it in done if isinstance(it, Write)] == [b"'hi'\n"]
    assert [it.status for it in done if isinstance(it, Exit)] == [0]
    assert len([it for it in done if isinstance(it, WriteError)]) == 1


def test_a_prompt_that_is_too_long_is_refused_once() -> None:
    engine = Simulation(echo).engine(["-p"], cwd="/", env={}, clock=lambda: 0.0)
    assert isinstance(engine, SimulatedProcess)
    engine.start()
    engine.feed(b"x" * MOST)
    assert not engine.exited
    for data in (b"x", b"x", b""):
        engine.feed(data)
    refused, end = engine.take()
    assert isinstance(refused, WriteError)
    assert isinstance(end, Exit)
    assert end.status == 1
