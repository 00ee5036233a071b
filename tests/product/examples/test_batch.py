"""The batch: every job once, with retries, within a budget, and again after Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import anyio
import pytest
from examples import batch
from examples.batch import OPTIONS, Batch, Job, main
from tests.helpers.processes import ended

import claudewire
from claudewire.testing import SimulatedProgramFactory

pytestmark = pytest.mark.anyio

SOON = 60
MODEL = '''\
from pathlib import Path


async def model(chat):
    """Note each prompt; `flaky` fails the first time, `bad` always, `slow` takes for ever."""
    with open("asked.txt", "a", encoding="utf-8") as file:
        print(chat.text, file=file)
    asked = Path("asked.txt").read_text(encoding="utf-8").splitlines()
    if chat.text == "flaky" and asked.count("flaky") < 2:
        await chat.fail("Overloaded", status=529)
    elif chat.text == "bad":
        await chat.fail("invalid x-api-key", status=401)
    elif chat.text == "slow":
        Path("started").write_text("now", encoding="utf-8")
        await chat.sleep(3600)
    else:
        await chat.say(f"You said: {chat.text}")
'''


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # as the program itself


@pytest.fixture(autouse=True)
def claude(
    claudewire_sim: SimulatedProgramFactory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    program = claudewire_sim(f"{tmp_path / 'model.py'}:model")
    monkeypatch.setenv("CLAUDE_CODE_PATH", str(program))
    monkeypatch.chdir(tmp_path)


async def run(*prompts: str, at_once: int = 2, turns: int = 100) -> Batch:
    """Run jobs whose ids are their prompts."""
    budget = claudewire.SharedBudget(turns=turns)
    them = Batch(Path("answers.jsonl"), OPTIONS.replace(budgets=[budget]), pause=0.0)
    with anyio.fail_after(SOON):
        await them.run([Job(prompt, prompt) for prompt in prompts], at_once)
    return them


def answers() -> dict[str, str]:
    lines = Path("answers.jsonl").read_text(encoding="utf-8").splitlines()
    return {answer["id"]: answer["text"] for answer in map(json.loads, lines)}


def asked() -> list[str]:
    return Path("asked.txt").read_text(encoding="utf-8").splitlines()


async def test_every_job_is_answered_once_in_all_runs() -> None:
    await run("one", "two", "three")
    assert answers() == {name: f"You said: {name}" for name in ("one", "two", "three")}
    await run("one", "two", "three", "four")
    assert sorted(asked()) == ["four", "one", "three", "two"]


async def test_retryable_errors_are_retried_and_others_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = await run("flaky", "bad", "one")
    assert {*answers()} == {"flaky", "one"}
    assert (asked().count("flaky"), asked().count("bad")) == (2, 1)
    assert done.failed == 1
    assert capsys.readouterr().err.startswith("bad: ")


def cut_off(answer: str) -> None:
    with Path("answers.jsonl").open("a", encoding="utf-8") as file:
        file.write(answer)


async def test_cut_off_answer_is_asked_for_again() -> None:
    await run("one")
    cut_off('{"id": "two", "te')
    await run("one", "two")
    assert answers() == {"one": "You said: one", "two": "You said: two"}
    assert asked() == ["one", "two"]


async def test_all_runs_share_one_budget() -> None:
    done = await run("one", "two", "three", "four", turns=2)
    assert done.out_of_budget
    assert {*answers()} == {"one", "two"}
    assert sorted(asked()) == ["one", "two"]


def write_jobs(prompts: Iterable[str]) -> None:
    lines = [json.dumps({"id": prompt, "prompt": prompt}) + "\n" for prompt in prompts]
    Path("prompts.jsonl").write_text("".join(lines), encoding="utf-8")


@pytest.mark.parametrize(
    ("prompts", "usd", "ending"),
    [
        (["one"], "5", 0),
        (["bad"], "5", 1),
        (["one", "two"], "0.0001", "The budget is used up. Run the same command again to go on."),
    ],
)
def test_program_reports_its_outcome(
    prompts: list[str], usd: str, ending: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_jobs(prompts)
    arguments = ["batch.py", "prompts.jsonl", "answers.jsonl", "--at-once", "1", "--most-usd", usd]
    monkeypatch.setattr("sys.argv", arguments)
    assert main() == ending


def test_ctrl_c_keeps_answers_and_the_next_run_does_the_rest() -> None:
    write_jobs(["one", "slow"])
    os.mkfifo("started")
    files = ["prompts.jsonl", "answers.jsonl"]
    command = [sys.executable, batch.__file__, *files, "--at-once", "1"]
    with ended(subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8")) as program:
        assert Path("started").read_text(encoding="utf-8") == "now"
        os.kill(program.pid, signal.SIGINT)
        _, told = program.communicate(timeout=SOON)
    assert told == "Interrupted. Run the same command again to go on.\n"
    assert program.returncode == 1
    write_jobs(["one", "quick"])
    subprocess.run(command, check=True, timeout=SOON)
    assert {*answers()} == {"one", "quick"}
    assert asked().count("one") == 1
