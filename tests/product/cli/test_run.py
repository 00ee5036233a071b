"""`claudewire run` without a terminal: output, exit statuses, rules and input."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from tests.helpers.processes import ended
from tests.helpers.snapshots import Snapshot
from tests.product.cli.conftest import COMMAND, SOON, Runner

SIMULATED = ("run", "--cli", "simulated")
PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")


def without_times(text: str) -> str:
    return re.sub(r"\d+(\.\d+)? m?s\b", "N s", text)


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


# --- output --------------------------------------------------------------------------------------


def test_answer_goes_to_stdout_and_progress_to_stderr(run: Runner, snapshot: Snapshot) -> None:
    (run.folder / "list.txt").write_text("frog\n", encoding="utf-8")
    tasks = ("Read notes.md", "Write todo.txt: buy milk", "Replace frog with cat in list.txt")
    shown = []
    for task in tasks:
        done = run(*SIMULATED, "--allow", "Edit", task)
        parts = f"--- stdout\n{done.out}--- stderr\n{done.err}--- status {done.status}\n"
        shown.append(f"$ claudewire run --allow Edit {task!r}\n{parts}")
    snapshot("command-run.txt", without_times("\n".join(shown)))


def test_json_is_one_object_of_its_schema(run: Runner) -> None:
    done = run(*SIMULATED, "--json", "Write todo.txt: buy milk")
    (report,) = objects(done.out)
    schema = json.loads(run("schema", "run --json").out)
    jsonschema.validate(report, schema)
    assert (report["outcome"], report["exit_code"], done.status) == ("denied", 3, 3)
    assert report["text"] == "I was not allowed to: No person can be asked here."
    assert report["model_calls"] == 2
    assert report["tokens"] > 0
    assert [(it["tool"], it["answer"], it["by"]) for it in report["decisions"]] == [
        ("Write", "deny", "no terminal")
    ]
    assert done.err == ""


def test_stream_json_has_a_line_for_everything(run: Runner, sim: str) -> None:
    done = run("run", "--cli", sim, "--stream-json", "--allow", "Bash", "shell ls")
    lines = objects(done.out)
    schema = json.loads(run("schema", "run --stream-json").out)
    for line in lines:
        jsonschema.validate(line, schema)
    kinds = [line["type"] for line in lines]
    assert kinds[-1] == "result"
    assert {"text", "tool_started", "tool_ended", "decision"} <= {*kinds}
    text = "".join(line["text"] for line in lines if line["type"] == "text")
    assert text == "I'll run it.Allowed: True. ran ls."
    (ended,) = [line for line in lines if line["type"] == "tool_ended"]
    assert (ended["name"], ended["ok"], ended["text"]) == ("Bash", True, "ran ls")
    busy = objects(run("run", "--cli", sim, "--stream-json", "busy").out)
    notices = [line["text"] for line in busy if line["type"] == "notice"]
    assert notices[0].startswith("The API request failed (529)")
    assert notices[1] == "The CLI summarised the conversation to make room for more."


def test_structured_output_is_printed_instead_of_text(run: Runner, sim: str) -> None:
    schema = {"type": "object", "properties": {"total": {"type": "integer"}}}
    (run.folder / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    arguments = ("run", "--cli", sim, "--output", "schema.json")
    assert json.loads(run(*arguments, "-q", "output").out) == {"total": 3}
    assert json.loads(run(*arguments, "output").out) == {"total": 3}
    assert objects(run(*arguments, "--json", "output").out)[0]["output"] == {"total": 3}
    (report,) = objects(run(*arguments, "--json", "hello").out)
    assert report["outcome"] == "failed"
    assert report["error"]["message"]


# --- exit statuses -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "options", "status", "outcome"),
    [
        ("hello", (), 0, "done"),
        ("fail", (), 1, "failed"),
        ("shell ls", (), 3, "denied"),
        ("shell ls", ("--deny", "Bash"), 3, "denied"),
        ("shell ls", ("--deny", "Bash(ls:*)"), 3, "denied"),
        ("shell ls", ("--denied", "ok"), 0, "done"),
        ("hello", ("--output", "[]"), 2, "usage"),
        ("hello", ("--image", "none.png"), 2, "usage"),
        ("ask", (), 4, "needs_person"),
        ("plan", (), 4, "needs_person"),
        ("form", (), 4, "needs_person"),
        ("shell ls", ("--ask", "Bash"), 4, "needs_person"),
        ("steps", (), 5, "budget"),
        ("money", (), 5, "budget"),
        ("hello", ("--budget", "0.0000001"), 5, "budget"),
        ("fail 429", (), 6, "limit"),
        ("silent", ("--stall", "1s"), 8, "stalled"),
        ("silent", ("--timeout", "1s"), 8, "stalled"),
    ],
)
def test_status_tells_the_outcome(
    run: Runner, sim: str, prompt: str, options: tuple[str, ...], status: int, outcome: str
) -> None:
    done = run("run", "--cli", sim, "--json", *options, prompt)
    (report,) = objects(done.out)
    assert (done.status, report["exit_code"], report["outcome"]) == (status, status, outcome)


def test_errors_state_the_problem_and_the_remedy(
    run: Runner, sim: str, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run.folder / "page.txt").write_text("text", encoding="utf-8")
    (run.folder / "empty").mkdir()
    commands: dict[str, tuple[str, ...]] = {
        "no prompt": ("run", "--cli", sim, ""),
        "two forms": ("run", "--json", "-q", "hi"),
        "unknown option": ("run", "--dangerously", "hi"),
        "unknown command": ("rnu", "hi"),
        "no command": ("Summarise", "it"),
        "another program's help": ("help",),
        "another program's option": ("-p", "hi"),
        "another program's mode": ("run", "--dangerously-skip-permissions", "hi"),
        "malformed rule": ("run", "--allow", "Bash(", "hi"),
        "unknown tool": ("run", "--allow", "Raed", "hi"),
        "empty rule": ("run", "--deny", "", "hi"),
        "two rules": ("run", "--allow", "Read,Write(a,b)", "hi"),
        "empty model": ("run", "--model", "", "hi"),
        "no model call": ("run", "--max-turns", "0", "hi"),
        "no budget": ("run", "--budget", "nan", "hi"),
        "unknown mode": ("run", "--mode", "yolo", "hi"),
        "bad time": ("run", "--timeout", "soon", "hi"),
        "bad amount": ("run", "--budget", "much", "hi"),
        "bad schema": ("run", "--output", "[]", "hi"),
        "missing schema": ("run", "--output", "none.json", "hi"),
        "missing image": ("run", "--image", "none.png", "hi"),
        "missing policy": ("run", "--policy", "none.toml", "hi"),
        "file in the way": ("run", "--record", "notes.md", "hi"),
        "fork of nothing": ("run", "--fork", "hi"),
        "unknown conversation": ("run", "--cli", sim, "--resume", "nothing", "hi"),
        "missing folder": ("run", "--cli", sim, "--cwd", "none", "hi"),
        "missing CLI": ("run", "--cli", "/no/such/claude", "hi"),
        "no CLI at all": ("run", "--cli", "/bin/true", "hi"),
        "failed request": ("run", "--cli", sim, "fail"),
        "failed login": ("run", "--cli", sim, "fail 401"),
        "limit of the account": ("run", "--cli", sim, "fail 429"),
        "limit of model calls": ("run", "--cli", sim, "steps"),
        "too long": ("run", "--cli", sim, "--timeout", "1s", "silent"),
        "too silent": ("run", "--cli", sim, "--stall", "1s", "silent"),
        "denied": ("run", "--cli", sim, "shell ls"),
        "denied by rule": ("run", "--cli", sim, "--deny", "Bash", "shell ls"),
    }
    shown = []
    for name, arguments in commands.items():
        done = run(*arguments)
        error = done.err.partition("error: ")[2]
        shown.append(f"# {name}: {done.status}\n{error}")
    text = "\n".join(shown).replace(str(run.folder), "FOLDER").replace(sim, "claudewire-sim")
    snapshot("command-errors.txt", without_times(text))


def test_cli_that_dies_is_an_error(run: Runner, sim: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDEWIRE_SIM_FAULTS", "exit(3)@4")
    done = run("run", "--cli", sim, "--json", "hello")
    (report,) = objects(done.out)
    assert (done.status, report["outcome"]) == (7, "no_cli")


def test_ctrl_c_interrupts_and_leaves_no_process(run: Runner, sim: str) -> None:
    words = [*COMMAND, "run", "--cli", sim, "--stream-json", "--allow", "Read", "wait"]
    how: dict[str, Any] = {"stdin": -3, "stdout": -1, "stderr": -1, "encoding": "utf-8"}
    with ended(subprocess.Popen(words, cwd=run.folder, **how)) as program:
        assert program.stdout is not None
        while "tool_started" not in program.stdout.readline():
            pass
        program.send_signal(signal.SIGINT)
        out, _ = program.communicate(timeout=SOON)
    assert program.returncode == 130
    assert objects(out)[-1]["outcome"] == "interrupted"


def test_reader_that_ends_interrupts_the_turn(run: Runner, sim: str) -> None:
    line = f"{' '.join(COMMAND)} run --cli {sim} wait | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=run.folder, capture_output=True, encoding="utf-8", timeout=SOON
    )
    assert done.stdout.endswith("141\n"), done.stderr


def test_output_that_cannot_be_written_fails(run: Runner) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = run.program(*SIMULATED, "-q", "hi", capture_output=False, stdout=full, stderr=-1)
    assert done.status == 1
    assert "No space left on device" in done.err


def test_output_outside_its_encoding_is_escaped(run: Runner) -> None:
    (run.folder / "notes.md").write_text("✓ done\n", encoding="utf-8")
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = run.program(*SIMULATED, "Read notes.md", env=env)
    assert done.status == 0
    assert "- \\u2713 done" in done.out
    (run.folder / "notes.md").write_text("é 😀\n", encoding="utf-8")
    (report,) = objects(run.program(*SIMULATED, "--json", "Read notes.md", env=env).out)
    assert report["text"].endswith("- é 😀")


def test_closed_stdout_is_an_error_before_the_task(run: Runner, sim: str) -> None:
    line = f"{' '.join(COMMAND)} run --cli {sim} --record talk.jsonl hi >&-"
    done = subprocess.run(["bash", "-c", line], cwd=run.folder, capture_output=True, timeout=SOON)
    assert done.returncode == 1
    assert b"stdout is closed" in done.stderr
    assert not (run.folder / "talk.jsonl").exists()


# --- rules and input -----------------------------------------------------------------------------


def test_rules_of_a_file_and_of_the_command_line_decide(run: Runner, sim: str) -> None:
    policy = run.folder / "policy.toml"
    policy.write_text('allow = ["Bash(ls:*)"]\ndeny = ["Bash(ls -l:*)"]\n', encoding="utf-8")
    arguments = ("run", "--cli", sim, "--policy", "policy.toml", "--denied", "ok", "-q")
    assert "Allowed: True" in run(*arguments, "shell ls").out
    assert "Allowed: False" in run(*arguments, "shell ls -l").out
    assert "Allowed: True" in run(*arguments, "--allow", "Bash(pwd)", "shell pwd").out
    assert "Allowed: False" in run(*arguments, "--deny", "Bash", "shell ls").out


def test_mode_of_the_cli_decides(run: Runner) -> None:
    run(*SIMULATED, "--mode", "acceptEdits", "Write todo.txt: buy milk")
    assert (run.folder / "todo.txt").read_text(encoding="utf-8") == "buy milk\n"


@pytest.mark.parametrize(
    ("words", "stdin", "said"),
    [
        (("hello", "you"), "", "hello you"),
        ((), "from stdin\n", "from stdin"),
        (("before", "-", "after"), "it", "before it after"),
    ],
)
def test_prompt_comes_from_words_and_stdin(
    run: Runner, sim: str, words: tuple[str, ...], stdin: str, said: str
) -> None:
    assert run("run", "--cli", sim, "-q", *words, stdin=stdin).out == f"You said: {said}\n"


def test_input_without_an_end_is_refused(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claudewire.cli.run.LONGEST_INPUT", 9)
    done = run(*SIMULATED, "-", stdin="0123456789")
    assert (done.status, done.out) == (2, "")
    assert "stdin has more than 9 characters" in done.err


def test_image_is_added_to_the_prompt(run: Runner, sim: str) -> None:
    (run.folder / "pixel.png").write_bytes(PIXEL)
    run("run", "--cli", sim, "--image", "pixel.png", "--record", "talk.jsonl", "-q", "hello")
    sent = (run.folder / "talk.jsonl").read_text(encoding="utf-8")
    assert "image/png" in sent


def test_conversation_is_continued_and_forked(run: Runner, sim: str) -> None:
    def session(*options: str) -> str:
        done = run("run", "--cli", sim, "--json", *options, "hello")
        return str(objects(done.out)[0]["session_id"])

    first = session()
    assert session("--resume", first) == first
    assert session("--continue") == first
    assert session("--resume", first, "--fork") != first


def test_model_and_folder_reach_the_cli(run: Runner) -> None:
    inner = run.folder / "inner"
    inner.mkdir()
    (inner / "other.md").write_text("x", encoding="utf-8")
    done = run(*SIMULATED, "--json", "--cwd", "inner", "--model", "haiku", "Look around")
    (report,) = objects(done.out)
    assert report["text"] == "There is 1 file here:\n- other.md"
    assert "haiku" in report["model"]


def test_library_answers_to_its_own_help_and_version(run: Runner, snapshot: Snapshot) -> None:
    names = ("", "run", "chat", "sessions", "show", "record", "replay", "diff", "lint", "doctor")
    shown = [run(*name.split(), "--help").out for name in names]
    snapshot("command-help.txt", "\n\n".join(shown))
    assert run("--version").out.startswith("claudewire ")
    assert run().status == 2
