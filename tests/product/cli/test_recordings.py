"""`claudewire record`, `show`, `replay`, `diff`, `lint` and `schema`."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys

import jsonschema  # type: ignore[import-untyped]
import pytest
from tests.helpers.processes import ended
from tests.helpers.snapshots import Snapshot
from tests.product.cli.conftest import SOON, Runner
from tests.product.cli.terminal import opened

FLAGS = ["-p", "--verbose", "--input-format=stream-json", "--output-format=stream-json"]
PROMPT = '{"type":"user","message":{"role":"user","content":"hello"},"uuid":"u-1"}\n'
KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz"


def recorded(t: float, dir: str, line: object) -> str:
    text = line if isinstance(line, str) else json.dumps(line, separators=(",", ":"))
    return json.dumps({"t": t, "dir": dir, "line": text})


ASKED = {"type": "control_request", "request_id": "r1", "request": {"subtype": "initialize"}}
SENT = {"type": "user", "message": {"role": "user", "content": "hi"}, "uuid": "u"}
ANSWER = {"subtype": "success", "request_id": "r1", "response": {}}
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "hi",
    "session_id": "s",
    "num_turns": 1,
    "duration_ms": 1,
}
TALK = "\n".join(
    [
        '{"claudewire": 1, "redacted": true, "cli_version": "2.1.325"}',
        recorded(0.0, ">", ASKED),
        recorded(0.7, "<", {"type": "control_response", "response": ANSWER}),
        recorded(0.8, ">", SENT),
        recorded(0.9, "!", "a warning"),
        recorded(1.0, "<", "not JSON \x1b[31m"),
        recorded(3.0, "<", RESULT),
        '{"t": 3.1, "exit": 0}\n',
    ]
)


@pytest.fixture
def talk(run: Runner) -> str:
    (run.folder / "talk.jsonl").write_text(TALK, encoding="utf-8")
    return "talk.jsonl"


def program(run: Runner, *arguments: str, input: str = PROMPT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments, cwd=run.folder, input=input, capture_output=True, encoding="utf-8", timeout=SOON
    )


# --- record and replay ---------------------------------------------------------------------------


def test_record_passes_everything_through(run: Runner, sim: str) -> None:
    words = ("record", "-o", "a.jsonl", "--", sim, *FLAGS)
    prompt = PROMPT.replace("hello", f"key {KEY}")
    done = run.program(*words, stdin=None, input=prompt)
    assert done.status == 0
    assert f"You said: key {KEY}" in done.out
    text = (run.folder / "a.jsonl").read_text(encoding="utf-8")
    assert "You said: key" in text
    assert KEY not in text
    run.program(*words, stdin=None, input=prompt)
    assert (run.folder / "a-2.jsonl").exists()
    assert run.program("record", "--", sim, "--nonsense").status != 0


def test_signals_reach_the_recorded_cli(run: Runner, sim: str) -> None:
    words = [sys.executable, "-m", "claudewire", "record", "-o", "a.jsonl", "--", sim, *FLAGS]
    with ended(subprocess.Popen(words, cwd=run.folder, stdin=-1, stdout=-1)) as tap:
        assert tap.stdin is not None
        assert tap.stdout is not None
        tap.stdin.write(PROMPT.encode())
        tap.stdin.flush()
        tap.stdout.readline()
        tap.send_signal(signal.SIGTERM)
        assert tap.wait(SOON) == 143
    assert '"exit": 143' in (run.folder / "a.jsonl").read_text(encoding="utf-8")


def test_programs_record_and_replay_for_an_sdk(run: Runner, sim: str) -> None:
    made = run("record", "-o", "talks/", "--script", "claude-recorded", "--", sim)
    assert "Give this path to an SDK as its CLI." in made.err
    recorded = program(run, str(run.folder / "claude-recorded"), *FLAGS)
    (file,) = (run.folder / "talks").iterdir()
    run("replay", str(file), "--script", "claude-replayed")
    replayed = program(run, str(run.folder / "claude-replayed"), *FLAGS)
    assert replayed.returncode == 0
    assert replayed.stdout == recorded.stdout
    other = program(
        run, str(run.folder / "claude-replayed"), *FLAGS, input=PROMPT.replace("hello", "goodbye")
    )
    assert other.returncode == 1
    assert "--match loose" in other.stderr
    version = program(run, str(run.folder / "claude-replayed"), "--version")
    assert version.stdout.endswith("(Claude Code)\n")
    (run.folder / "mine").write_text("mine", encoding="utf-8")
    assert run("replay", str(file), "--script", "mine").status == 2


def test_full_disk_ends_the_recording_alone(run: Runner) -> None:
    talker = "head -c 5000 /dev/zero | tr '\\0' x; echo; echo the end"
    limit = f"ulimit -f 1; exec {sys.executable} -m claudewire record -o a.jsonl -- sh -c"
    done = program(run, "bash", "-c", f"trap '' XFSZ; {limit} {shlex.quote(talker)}")
    assert done.returncode == 0
    assert done.stdout.endswith("x\nthe end\n")
    assert "The recording a.jsonl is incomplete: " in done.stderr


def test_missing_program_is_an_error(run: Runner) -> None:
    done = run("record", "--", "no-such-claude")
    assert done.status == 2
    assert "There is no program 'no-such-claude'." in done.err


# --- show, diff, lint, schema --------------------------------------------------------------------


def test_show_prints_a_timeline(run: Runner, talk: str, snapshot: Snapshot) -> None:
    lines = run("show", talk).out.splitlines()
    snapshot("command-show.txt", "".join(f"{line.rstrip()}\n" for line in lines))
    assert len(run("show", "--only", "message", talk).out) < len("\n".join(lines))
    assert '{"type":"user"' in run("show", "--raw", talk).out
    assert "not JSON \\x1b[31m" in run("show", "--only", "bad line", talk).out


def test_show_fits_into_the_window(run: Runner, talk: str) -> None:
    with opened("show", talk, cwd=run.folder, columns=60) as terminal:
        assert terminal.wait_end() == 0
        assert "→ initialize" in terminal.text
        assert re.search(r"← answer initialize .* 0\.70 s", terminal.text)


def test_show_writes_one_html_page(run: Runner, talk: str) -> None:
    done = run("show", "--html", "page.html", talk)
    assert done.err == "Wrote page.html: open it in a browser.\n"
    page = (run.folder / "page.html").read_text(encoding="utf-8")
    assert "<html" in page
    assert "https://" not in page
    assert run("show", "--html", "-", talk).out == page
    assert "page.html: File exists" in run("show", "--html", "page.html", talk).err
    assert run("show", "--html", "no/such/page.html", talk).status == 2
    assert run("show", "none.jsonl").status == 2


def test_diff_shows_kinds_fields_and_values(run: Runner, talk: str) -> None:
    changed = TALK.replace(r"\"result\":\"hi\"", r"\"result\":\"ho\",\"new\":1")
    (run.folder / "other.jsonl").write_text(changed, encoding="utf-8")
    same = run("diff", talk, talk)
    assert (same.status, same.out) == (0, "No differences except ids and times.\n")
    done = run("diff", "--values", talk, "other.jsonl")
    assert done.status == 1
    assert "    + $.new  number\n" in done.out
    assert '    $.result\n      - "hi"\n      + "ho"\n' in done.out
    assert "Add --values to see them." in run("diff", talk, "other.jsonl").out


def test_lint_explains_findings(run: Runner, talk: str) -> None:
    done = run("lint", talk)
    assert done.status == 1
    assert "error:" in done.out
    assert "1 error" in done.err
    report = json.loads(run("lint", "--json", talk).out)
    jsonschema.validate(report, json.loads(run("schema", "lint --json").out))
    assert "error" in {it["severity"] for it in report["findings"]}
    lines = [it for it in TALK.splitlines() if "not JSON" not in it]
    (run.folder / "good.jsonl").write_text("\n".join(lines), encoding="utf-8")
    good = run("lint", "good.jsonl")
    assert (good.status, good.out, good.err) == (0, "", "No problems found.\n")
    assert run("lint", "none.jsonl").status == 2


def test_schema_describes_lines_of_the_wire(run: Runner) -> None:
    schema = json.loads(run("schema", "result").out)
    jsonschema.validate({"type": "result", "subtype": "success", "is_error": False}, schema)
    assert "$defs" in json.loads(run("schema").out)
    assert {"result", "ResultMessage", "run --json"} <= {*run("schema", "--list").out.splitlines()}
    wrong = run("schema", "reslut")
    assert wrong.status == 2
    assert "Did you mean result" in wrong.err
