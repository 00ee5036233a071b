"""Every status that `claudewire run` exits with, and what it prints then, also as JSON."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from tests.cli.running import Runner
from tests.helpers.processes import ended

from claudewire.cli import Exit
from claudewire.cli.reports import SCHEMAS, schema_of

COMMITTED = Path(__file__).resolve().parents[2] / "src/claudewire/cli/schemas"
SOON = 60


def check(name: str, value: Any) -> Any:
    """Check a value against the committed schema."""
    schema = json.loads((COMMITTED / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.validate(value, schema)
    return value


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_committed_schemas_are_those_of_the_types(name: str) -> None:
    """`python -m scripts.cli_schemas` writes them."""
    committed = (COMMITTED / f"{name}.json").read_text(encoding="utf-8")
    assert json.loads(committed) == schema_of(SCHEMAS[name])


CASES: list[tuple[list[str], Exit, str]] = [
    (["hello"], Exit.DONE, ""),
    (["fail"], Exit.FAILED, "The request is not valid"),
    (["shell ls"], Exit.DENIED, "No person can be asked"),
    (["--denied", "ok", "shell ls"], Exit.DONE, "No person can be asked"),
    (["--deny", "Bash(ls:*)", "shell ls"], Exit.DENIED, ""),
    (["ask"], Exit.NEEDS_PERSON, "No person can be asked"),
    (["plan"], Exit.NEEDS_PERSON, "No person can be asked"),
    (["form"], Exit.NEEDS_PERSON, ""),
    (["--ask", "Bash", "shell ls"], Exit.NEEDS_PERSON, "No person can be asked"),
    (["turns"], Exit.BUDGET, "max_turns"),
    (["budget"], Exit.BUDGET, "max_budget"),
    (["--budget", "0.00001", "hello"], Exit.BUDGET, "of $0.00001"),
    (["--budget", "10", "hello"], Exit.DONE, ""),
    (["limit"], Exit.LIMIT, "limit"),
    (["--stall", "0.2s", "silent"], Exit.STALLED, "Nothing happened"),
    (["--timeout", "0.5s", "silent"], Exit.STALLED, ""),
    (["--resume", "nothing", "hello"], Exit.USAGE, "resume"),
]


@pytest.mark.parametrize(("arguments", "exit", "words"), CASES, ids=lambda it: str(it)[:40])
def test_the_status_says_how_it_ended(
    run: Runner, sim: str, arguments: list[str], exit: Exit, words: str
) -> None:
    done = run("run", "--cli", sim, "--json", *arguments)
    report = check("run", json.loads(done.out))
    assert (done.status, report["exit_code"]) == (exit, exit)
    assert report["outcome"] == exit.name.lower()
    assert words in done.out


def test_a_failure_is_told_on_stderr_with_what_to_do(run: Runner, sim: str) -> None:
    done = run("run", "--cli", sim, "limit")
    assert done.status == Exit.LIMIT
    assert "error: " in done.err


def test_a_cli_that_is_missing(run: Runner) -> None:
    done = run("run", "--cli", "/no/such/claude", "--json", "hello")
    assert done.status == Exit.NO_CLI
    assert check("run", json.loads(done.out))["error"]["cause"] == "not found"


def test_a_cli_that_ends_too_early(run: Runner, sim: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDEWIRE_SIM_FAULTS", "exit_with(3)@2")
    done = run("run", "--cli", sim, "hello")
    assert done.status == Exit.NO_CLI
    assert "error: " in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run"], "The prompt is empty."),
        (["run", "--fork", "x"], "--fork needs a conversation"),
        (["run", "--resume", "a", "--continue", "x"], "give one of them"),
        (["run", "--policy", "no.toml", "x"], "cannot be read"),
        (["run", "--allow", "Bash(", "x"], "is not a rule"),
        (["run", "--output", "no.json", "x"], "No such file"),
        (["run", "--output", "{", "x"], "not a JSON Schema"),
        (["run", "--output", "[1]", "x"], "No such file"),
        (["run", "--image", "no.png", "x"], "no.png"),
        (["run", "--record", "/no/such/file", "x"], "No such file"),
        (["run", "--max-turns", "0", "x"], "error: --max-turns must be 1 or more"),
        (["run", "--cli", "simulated", "--cwd", "no", "x"], "error: --cwd: there is no "),
        (["run", "--output", '{"type": "x"}', "x"], "error: --output: type must be one of"),
        (["run", "--json", "--stream-json", "x"], "--json and --stream-json"),
        (["run", "-q", "--json", "x"], "--json and --quiet"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_is_started(
    run: Runner, arguments: list[str], words: str
) -> None:
    done = run(*arguments)
    assert done.status == Exit.USAGE, done.err
    assert words in done.err
    assert done.err.startswith("error: ")


def started(sim: str, folder: Path, *arguments: str, **how: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "claudewire.cli", "run", "--cli", sim, *arguments]
    return subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **how
    )


def test_an_interrupt_without_a_terminal(sim: str, tmp_path: Path) -> None:
    with ended(started(sim, tmp_path, "--allow", "Read", "--stream-json", "wait")) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line)["type"] == "tool_started":
                break
        process.send_signal(signal.SIGINT)
        rest = [json.loads(line) for line in process.stdout]
        assert process.wait(SOON) == Exit.INTERRUPTED
    assert rest[-1]["outcome"] == "interrupted"


@pytest.mark.unmeasured
def test_a_reader_that_goes_away_interrupts_the_turn(sim: str, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "claudewire.cli", "run", "--cli", sim, "markdown"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=writing, stderr=subprocess.PIPE
    )
    os.close(writing)
    os.close(reading)
    with ended(process):
        _, errors = process.communicate(timeout=SOON)
    assert process.returncode == Exit.BROKEN_PIPE
    assert b"Traceback" not in errors


# --- what is printed -----------------------------------------------------------------------------


def test_every_line_of_the_stream_fits_the_schema(run: Runner, sim: str) -> None:
    lines = [
        check("run-stream", json.loads(line))
        for prompt in ("shell ls", "busy")
        for line in run("run", "--cli", sim, "--stream-json", prompt).out.splitlines()
    ]
    kinds = {line["type"] for line in lines}
    assert kinds == {"text", "tool_started", "tool_ended", "decision", "notice", "result"}


def test_structured_output_is_the_answer(run: Runner, sim: str, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"total": {"type": "integer"}}}
    (tmp_path / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    done = run("run", "--cli", sim, "--output", "schema.json", "output")
    assert done.status == Exit.DONE, done.err
    assert json.loads(done.out) == {"total": 3}
    inline = run("run", "--cli", sim, "--output", json.dumps(schema), "--json", "output")
    assert json.loads(inline.out)["output"] == {"total": 3}


def test_quiet_prints_the_final_answer_alone(run: Runner, sim: str) -> None:
    done = run("run", "--cli", sim, "--allow", "Bash", "-q", "shell ls")
    assert (done.out, done.err) == ("Allowed: True. ran ls.\n", "")


@pytest.mark.unmeasured
def test_the_prompt_can_come_from_stdin(run: Runner, sim: str) -> None:
    assert run("run", "--cli", sim, stdin="hello").out == "You said: hello\n"
    done = run("run", "--cli", sim, "Read this:", "-", stdin="some text\n")
    assert done.out == "You said: Read this: some text\n"


def test_an_image_goes_with_the_prompt(run: Runner, tmp_path: Path) -> None:
    png = b"\x89PNG\r\n\x1a\n" + bytes(40)
    (tmp_path / "a.png").write_bytes(png)
    log = "wire.jsonl"
    done = run("run", "--cli", "simulated", "--image", "a.png", "--record", log, "Look around")
    assert done.status == Exit.DONE, done.err
    assert "image/png" in (tmp_path / log).read_text(encoding="utf-8")


def test_a_conversation_is_recorded(run: Runner, sim: str, tmp_path: Path) -> None:
    done = run("run", "--cli", sim, "--record", "wire.jsonl", "hello")
    assert done.status == Exit.DONE, done.err
    first, *_, last = (tmp_path / "wire.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(first)["argv"]
    assert json.loads(last) == {"t": json.loads(last)["t"], "exit": 0}


def test_a_policy_file_and_rules_count_together(run: Runner, sim: str, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text('allow = ["Bash(ls:*)"]\n', encoding="utf-8")
    policy = ("run", "--cli", sim, "--policy", "policy.toml")
    assert run(*policy, "shell ls").status == Exit.DONE
    assert run(*policy, "shell rm x").status == Exit.DENIED
    assert run(*policy, "--allow", "Bash(rm:*)", "shell rm x").status == Exit.DONE
    assert run(*policy, "--deny", "Bash(ls:*)", "shell ls").status == Exit.DENIED


@pytest.mark.unmeasured
def test_a_conversation_is_resumed_and_forked(run: Runner, sim: str) -> None:
    first = json.loads(run("run", "--cli", sim, "--json", "hello").out)
    again = run("run", "--cli", sim, "--json", "--resume", first["session_id"], "hello")
    assert json.loads(again.out)["session_id"] == first["session_id"]
    forked = run("run", "--cli", sim, "--json", "--continue", "--fork", "hello")
    assert json.loads(forked.out)["session_id"] not in (None, first["session_id"])


@pytest.mark.parametrize("dialect", ["legacy", "modern"])
def test_a_dialect_can_be_chosen(run: Runner, dialect: str) -> None:
    done = run("run", "--cli", "simulated", "--dialect", dialect, "-q", "Look around")
    assert done.status == Exit.DONE, done.err
    assert "files here" in done.out


def test_a_recording_that_exists_is_not_replaced(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "wire.jsonl").write_text("a recording\n", encoding="utf-8")
    (tmp_path / "empty.jsonl").touch()
    record = ("run", "--cli", "simulated", "--record")
    done = run(*record, "wire.jsonl", "Look around")
    assert (done.status, done.out) == (Exit.USAGE, "")
    assert done.err.startswith("error: --record wire.jsonl: there is such a file already.")
    assert (tmp_path / "wire.jsonl").read_text(encoding="utf-8") == "a recording\n"
    assert run(*record, "empty.jsonl", "Look around").status == Exit.DONE
