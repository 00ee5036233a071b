"""`record` and `replay`: between an SDK and its CLI, nothing is changed and all is recorded."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from tests.cli.running import Runner
from tests.recordings.test_html_page import talk
from tests.recordings.written import answered, asked, prompt, result, written

import claudewire
from claudewire.cli.errors import CommandError
from claudewire.cli.wire import record, replay
from claudewire.cli.wire.record import Sink
from claudewire.recordings import Timeline, read
from claudewire.testing import LATEST
from claudewire.transport import Launch, Recording, ReplayMismatch, ReplayUnfinished

SOON = 60
COMMAND = [sys.executable, "-m", "claudewire.cli"]
SIM = [sys.executable, "-m", "claudewire.simulator"]

ECHO = """
import os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: (print('{"type":"terminated"}', flush=True), os._exit(9)))
print('{"type":"ready"}', flush=True)
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(line); sys.stdout.buffer.flush()
sys.stderr.write("bye"); sys.stderr.flush()
sys.exit(5)
"""


@contextmanager
def started(*arguments: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(SOON)
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            stream.close()


# --- record --------------------------------------------------------------------------------------


def test_everything_passes_through_unchanged_and_is_recorded(tmp_path: Path) -> None:
    script = tmp_path / "echo.py"
    script.write_text(ECHO, encoding="utf-8")
    words = ["record", "-o", "talk.jsonl", "--", sys.executable, str(script)]
    with started(*words, folder=tmp_path) as process:
        out, err = process.communicate(b'{"a": 1}\nno JSON \xff\nhalf', timeout=SOON)
    assert out == b'{"type":"ready"}\n{"a": 1}\nno JSON \xff\nhalf'
    assert (err, process.returncode) == (b"bye", 5)
    recording = Recording.load(tmp_path / "talk.jsonl")
    assert recording.lines(">") == [b'{"a": 1}', b"no JSON \xff", b"half"]
    assert recording.lines("<") == [b'{"type":"ready"}', b'{"a": 1}', b"no JSON \xff", b"half"]
    assert recording.lines("!") == [b"bye"]
    assert recording.entries[-1].exit == 5
    # The name of the user is redacted, and may be in the path.
    assert [Path(word).name for word in recording.header["argv"][1:]] == ["echo.py"]
    assert stat.S_IMODE((tmp_path / "talk.jsonl").stat().st_mode) == 0o600


def test_a_signal_reaches_the_cli_and_its_exit_status_comes_back(tmp_path: Path) -> None:
    script = tmp_path / "echo.py"
    script.write_text(ECHO, encoding="utf-8")
    words = ["record", "-o", "talk.jsonl", "--", sys.executable, str(script)]
    with started(*words, folder=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b'{"type":"ready"}\n'
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == b'{"type":"terminated"}\n'
        assert process.wait(SOON) == 9


@pytest.mark.unmeasured
def test_a_cli_that_was_killed_looks_killed_from_outside(tmp_path: Path) -> None:
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    with started("record", "--", sys.executable, "-c", kill, folder=tmp_path) as process:
        assert process.wait(SOON) == -signal.SIGKILL
    (file,) = tmp_path.glob("recording-*.jsonl")
    assert Recording.load(file).entries[-1].exit == -signal.SIGKILL


@pytest.mark.anyio
async def test_a_session_of_this_library_is_recorded_by_a_script_in_the_place_of_its_cli(
    run: Runner, tmp_path: Path
) -> None:
    done = run("record", "-o", "talks/", "--script", "claude-recorded", "--", *SIM)
    assert (done.status, done.out) == (0, "")
    assert f"Wrote {tmp_path / 'claude-recorded'}." in done.err
    with anyio.fail_after(SOON):
        for _ in range(2):
            await claudewire.run("hello", cli=str(tmp_path / "claude-recorded"), cwd=str(tmp_path))
    files = sorted((tmp_path / "talks").iterdir())
    assert len(files) == 2
    for file in files:
        timeline = Timeline.of(read(file))
        assert [it.name for it in timeline.exchanges if it.end][:2] == ["initialize", "turn"]
        assert timeline.steps[-1].kind == "exit"


def test_a_recording_that_exists_is_not_overwritten(run: Runner, tmp_path: Path) -> None:
    for _ in range(3):
        words = [*COMMAND, "record", "-o", "x.jsonl", "--", "true"]
        subprocess.run(words, cwd=tmp_path, check=True, stdin=subprocess.DEVNULL)
    assert sorted(it.name for it in tmp_path.iterdir()) == ["x-2.jsonl", "x-3.jsonl", "x.jsonl"]


def test_a_script_that_is_not_ours_is_not_overwritten(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "claude").write_text("#!/bin/sh\n", encoding="utf-8")
    done = run("record", "--script", "claude", "--", "true")
    assert done.status == 2
    assert "claude exists and was not made by this command" in done.err
    assert (tmp_path / "claude").read_text("utf-8") == "#!/bin/sh\n"
    assert run("record", "--script", "new", "--keep-secrets", "--", "true").status == 0
    assert run("record", "--script", "new", "--", "true").status == 0  # ours, so it is replaced
    assert run("record", "--script", "no/new", "--", "true").status == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["record", "--", "no-such-program"], "There is no program 'no-such-program'."),
        (["record", "-o", "file/x.jsonl", "--", "true"], "No recording can be written to file/x"),
        (["record"], "Missing argument 'CMD...'"),
    ],
)
def test_what_cannot_be_recorded_is_an_error_with_advice(
    run: Runner, words: list[str], message: str
) -> None:
    (run.folder / "file").write_text("", encoding="utf-8")
    done = run(*words)
    assert done.status == 2
    assert message in done.err
    assert len(done.err.splitlines()) > 1


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ([], []),
        (["-o", "a.jsonl"], ["-o", "{folder}/a.jsonl"]),
        (["-o", "talks/", "--keep-secrets"], ["-o", "{folder}/talks/", "--keep-secrets"]),
    ],
)
def test_a_program_that_records_says_how(
    run: Runner, tmp_path: Path, words: list[str], made: list[str]
) -> None:
    assert run("record", *words, "--script", "new", "--", "true", "-p").status == 0
    options = [it.format(folder=tmp_path) for it in made]
    command = ["record", *options, "--", str(shutil.which("true")), "-p"]
    line = shlex.join([sys.executable, "-m", "claudewire.cli", *command])
    text = (tmp_path / "new").read_text(encoding="utf-8")
    assert text == f'#!/bin/sh\n# Made by claudewire.\nexec {line} "$@"\n'


def test_a_program_is_found_where_it_is_now(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "tool").chmod(0o755)
    assert run("record", "--script", "new", "--", "./tool").status == 0
    assert f"-- {tmp_path}/tool " in (tmp_path / "new").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("output", "names"),
    [
        (None, ["recording-S.jsonl", "recording-S-2.jsonl"]),
        ("a/b.jsonl", ["a/b.jsonl", "a/b-2.jsonl"]),
        ("new/", ["new/S-77.jsonl", "new/S-77-2.jsonl"]),
        ("old", ["old/S-77.jsonl", "old/S-77-2.jsonl"]),
        ("x/y/z", ["x/y/z", "x/y/z-2"]),
    ],
)
def test_a_recording_has_a_file_of_its_own(
    tmp_path: Path, output: str | None, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(record, "time", SimpleNamespace(strftime=str))
    monkeypatch.setattr(os, "getpid", lambda: 77)
    (tmp_path / "old").mkdir()
    for name in names:
        path, descriptor = record._create(output)
        os.close(descriptor)
        assert str(path) == name.replace("S", "%Y%m%d-%H%M%S")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_recording_that_cannot_be_written_is_an_error_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(CommandError) as error:
        record._create("file/x.jsonl")
    assert error.value.message == "No recording can be written to file/x.jsonl: File exists"
    assert error.value.advice == "Name a file or a folder that you may write, with -o."


@pytest.mark.parametrize("keep", [False, True])
def test_secrets_are_left_out_of_a_recording_unless_they_are_wanted(
    run: Runner, keep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded: list[Any] = []

    async def note(argv: list[str], sink: Sink, redacted: bool) -> int:
        recorded.append((argv, redacted))
        sink.write(b"")
        return 5

    monkeypatch.setattr(record, "_record", note)
    words = ["--keep-secrets"] if keep else []
    assert run("record", "-o", "x.jsonl", *words, "--", "true", "-p").status == 5
    assert recorded == [([shutil.which("true"), "-p"], not keep)]


@pytest.mark.parametrize("redacted", [True, False])
def test_the_cli_is_started_with_this_environment_and_closed_in_the_end(
    redacted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []

    async def start(launch: Launch) -> Any:
        calls.append((launch.argv, dict(launch.env) == dict(os.environ)))
        return "the process"

    async def serve(transport: Any, *, signals: Any) -> int:
        calls.append(signals)
        return 3

    class Tapped:
        def __init__(self, *given: Any, **named: Any) -> None:
            calls.append((given, named))

        async def aclose(self) -> None:
            calls.append("closed")

    sink = Sink((Path("x"), 0))
    monkeypatch.setattr(record, "spawn", start)
    monkeypatch.setattr(record, "relay", serve)
    monkeypatch.setattr(record, "RecordingTransport", Tapped)
    monkeypatch.setattr(record, "pass_signals_to", lambda process: f"signals of {process}")
    assert anyio.run(record._record, ["claude", "-p"], sink, redacted) == 3
    assert calls == [
        (("claude", "-p"), True),
        (("the process", sink), {"header": {"argv": ["claude", "-p"]}, "redactor": redacted}),
        "signals of the process",
        "closed",
    ]


def test_a_line_is_written_whole_also_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pieces: list[bytes] = []

    def write(descriptor: int, data: memoryview) -> int:
        pieces.append(bytes(data))
        if len(pieces) == 4:
            raise OSError(28, "No space left on device")
        return 2

    path = tmp_path / "x.jsonl"
    sink = Sink((path, os.open(path, os.O_WRONLY | os.O_CREAT)))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        assert [sink.write(b"abcd"), sink.write(b"efgh"), sink.write(b"ijkl")] == [4, 4, 4]
    assert pieces == [b"abcd", b"cd", b"efgh", b"gh"]
    sink.report()
    assert "is not whole: No space left on device" in capsys.readouterr().err
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.close(sink._fd)


def test_a_full_disk_ends_the_recording_and_not_the_conversation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.jsonl"
    sink = Sink((path, os.open("/dev/full", os.O_WRONLY)))
    assert sink.write(b"a line\n") == 7
    assert sink.write(b"another\n") == 8
    sink.report()
    words = f"claudewire record: the recording {path} is not whole: No space left on device\n"
    assert capsys.readouterr().err == words


def test_a_person_is_told_where_the_recording_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    Sink((tmp_path / "x.jsonl", os.open(os.devnull, os.O_WRONLY))).report()
    path = tmp_path / "x.jsonl"
    assert screen.getvalue() == f"Recorded {path}. Look at it: claudewire show {path}\n"
    Sink((Path("a\udcff.jsonl"), os.open(os.devnull, os.O_WRONLY))).report()
    assert screen.getvalue().endswith("claudewire show a\ufffd.jsonl\n")
    monkeypatch.setattr(sys, "stderr", file := io.StringIO())
    Sink((path, os.open(os.devnull, os.O_WRONLY))).report()
    assert file.getvalue() == ""


# --- replay --------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "talk.jsonl"
    path.write_bytes(talk().dump())
    return path


def test_replay_waits_as_long_as_it_took_but_not_too_long(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waited: list[float] = []
    given = {"step": False, "longest_wait": 0.5, "grep": None}
    replay._show(read(file), 2.0, given, sleep=waited.append)
    assert waited[:5] == pytest.approx([0.125, 0.025, 0.35, 0.05, 0.5])
    assert len(capsys.readouterr().out.splitlines()) == 12


def test_replay_goes_on_with_enter_and_ends_with_q(run: Runner, file: Path) -> None:
    assert len(run("replay", str(file), "--step", stdin="\n\nq\n").out.splitlines()) == 2
    assert len(run("replay", str(file), "--step", stdin="\n").out.splitlines()) == 1


def test_replay_takes_no_flags_of_a_cli_for_a_person(run: Runner, file: Path) -> None:
    done = run("replay", str(file), "--verbose")
    assert done.status == 2
    assert "No such option or argument: --verbose" in done.err


def conversation(folder: Path) -> Path:
    path = folder / "recorded.jsonl"
    recording = written(
        (0, ">", asked("1", "initialize")),
        (0, "<", answered("1", commands=[])),
        (0, ">", prompt("Hello")),
        (0, "<", result("Hello yourself.")),
    )
    header = {"cli_version": "2.1.99", "argv": ["claude", "--session-id", "old"]}
    path.write_bytes(Recording(recording.entries, header).dump())
    return path


@pytest.mark.anyio
async def test_a_recording_can_be_the_cli_of_a_session(run: Runner, tmp_path: Path) -> None:
    file = conversation(tmp_path)
    words = ["replay", str(file), "--script", "claude", "--speed", "0", "--match", "none"]
    assert run(*words).status == 0
    with anyio.fail_after(SOON):
        async with claudewire.open(cli=str(tmp_path / "claude"), cwd=str(tmp_path)) as session:
            assert (await session.send("Hello")).text == "Hello yourself."


def sent(*lines: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def test_a_recording_serves_an_sdk_over_stdin_and_stdout(tmp_path: Path) -> None:
    file = conversation(tmp_path)
    given = sent(asked("9", "initialize"), prompt("Hello"))
    words = ["replay", str(file), "--as-cli", "--output-format", "stream-json", "--session-id=new"]
    with started(*words, folder=tmp_path) as process:
        out, _ = process.communicate(given, timeout=SOON)
    first, second = (json.loads(line) for line in out.splitlines())
    assert first["response"]["request_id"] == "9"
    assert second["result"] == "Hello yourself."


@pytest.mark.parametrize(("exit", "status"), [(3, 3), (0, 0), (-9, 1), (None, 1)])
def test_a_replay_exits_as_the_recorded_cli_did(
    tmp_path: Path, exit: int | None, status: int
) -> None:
    file = tmp_path / "recorded.jsonl"
    file.write_bytes(written((0, "<", result("Hello.")), exit=exit).dump())
    with started("replay", str(file), "--as-cli", folder=tmp_path) as process:
        out, _ = process.communicate(timeout=SOON)
    assert (len(out.splitlines()), process.returncode) == (1, status)


def test_an_sdk_that_says_something_else_is_told_what_differs(tmp_path: Path) -> None:
    file = conversation(tmp_path)
    given = sent(asked("9", "initialize"), prompt("Goodbye"))
    with started("replay", str(file), "--as-cli", folder=tmp_path) as process:
        _, err = process.communicate(given, timeout=SOON)
    assert process.returncode == 1
    assert b'"Hello" was recorded, "Goodbye" was sent' in err
    assert b"--match loose or --match none" in err


def test_an_sdk_learns_the_recorded_version(run: Runner, tmp_path: Path) -> None:
    file = conversation(tmp_path)
    assert run("replay", str(file), "--as-cli", "--version").out == "2.1.99 (Claude Code)\n"


@pytest.mark.parametrize("flag", ["-v", "--version"])
def test_a_recording_without_a_version_has_the_lowest(run: Runner, file: Path, flag: str) -> None:
    assert run("replay", str(file), "--as-cli", flag).out == "0.0.0 (Claude Code)\n"


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ([], "replay {file} --as-cli --match loose"),
        (["--speed", "0"], "replay {file} --as-cli --match loose --speed 0"),
        (
            ["--speed", "1.50", "--match", "strict"],
            "replay {file} --as-cli --match strict --speed 1.5",
        ),
    ],
)
def test_a_program_that_replays_says_how(
    run: Runner, file: Path, words: list[str], written: str
) -> None:
    assert run("replay", file.name, "--script", "claude", *words).status == 0
    made = file.with_name("claude")
    line = made.read_text(encoding="utf-8").splitlines()[-1]
    assert line.endswith(f' -m claudewire.cli {written.format(file=file)} "$@"')
    assert made.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    ("then", "now", "ids"),
    [
        (["--session-id", "a"], ["--session-id=b"], {"a": "b"}),
        (["--session-id", "a"], [], {}),
        ([], ["--session-id", "b"], {}),
        (["--session-id"], ["--session-id", "b"], {}),
        (None, ["--session-id", "b"], {}),
    ],
)
def test_only_a_session_id_of_both_is_replaced(
    then: list[str] | None, now: list[str], ids: dict[str, str]
) -> None:
    assert replay._session_ids(Recording([], {"argv": then}), now) == ids


@pytest.mark.parametrize(
    ("line", "goes_on"), [("\n", True), ("x\n", True), ("", False), (" Q \n", False)]
)
def test_any_line_but_a_q_goes_on(
    line: str, goes_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(line))
    assert replay._goes_on() is goes_on


@pytest.mark.parametrize(
    ("words", "value"),
    [(["--x", "1"], "1"), (["--x=2"], "2"), (["--y", "--x"], ""), (["--y"], None), ([], None)],
)
def test_the_value_of_a_flag_is_found_however_it_is_written(
    words: list[str], value: str | None
) -> None:
    assert replay._value(words, "--x") == value


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ([], {"speed": None, "match": "loose", "ids": {}}),
        (["--speed", "0"], {"speed": None, "match": "loose", "ids": {}}),
        (["--speed", "2", "--match", "none"], {"speed": 2.0, "match": "none", "ids": {}}),
        (["--session-id", "new"], {"speed": None, "match": "loose", "ids": {"old": "new"}}),
    ],
)
def test_a_recording_is_played_as_it_was_asked_for(
    run: Runner,
    tmp_path: Path,
    words: list[str],
    given: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played: list[Any] = []

    class Noted:
        def __init__(self, recording: Recording, **how: Any) -> None:
            played.append((len(recording.entries), how))

        def finish(self) -> None:
            played.append("finished")

    async def serve(transport: Any) -> int:
        return 4

    monkeypatch.setattr(replay, "ReplayTransport", Noted)
    monkeypatch.setattr(replay, "relay", serve)
    assert run("replay", str(conversation(tmp_path)), "--as-cli", *words).status == 4
    assert played == [(4, given), "finished"]


@pytest.mark.parametrize("kind", [ReplayMismatch, ReplayUnfinished])
def test_a_replay_that_differs_is_a_failure_with_advice(
    run: Runner, tmp_path: Path, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Odd(kind):  # type: ignore[misc]
        def __init__(self) -> None:
            Exception.__init__(self)

        def __str__(self) -> str:
            return "It differs\x1b."

    async def serve(transport: Any) -> int:
        raise Odd

    monkeypatch.setattr(replay, "relay", serve)
    done = run("replay", str(conversation(tmp_path)), "--as-cli")
    assert (done.status, done.out) == (1, "")
    assert done.err == (
        "error: It differs\\x1b.\n"
        "       --match loose or --match none compare less. Or record it again.\n"
    )


def test_replay_at_its_own_pace_waits_at_most_three_seconds(
    run: Runner, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(replay, "_show", lambda _, speed, given: shown.append((speed, given)))
    for words in ([], ["--speed", "0"], ["--step", "--grep", "a", "--longest-wait", "9"]):
        assert run("replay", str(file), *words).status == 0
    usual = {"step": False, "longest_wait": 3.0, "grep": None}
    other = {"step": True, "longest_wait": 9.0, "grep": "a"}
    assert shown == [(1.0, usual), (0.0, usual), (1.0, other)]


def test_a_time_that_goes_back_is_not_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    waited: list[float] = []
    recording = written((5, ">", prompt("a")), (3, "<", result("b")), (4, "<", result("c")))
    given = {"step": False, "longest_wait": 9.0, "grep": None}
    replay._show(recording, 1.0, given, sleep=waited.append)
    assert waited == [0.0, 1.0]
    replay._show(recording, 0.0, given, sleep=waited.append)
    assert len(waited) == 2


# --- sim -----------------------------------------------------------------------------------------


def test_sim_is_the_simulated_cli(tmp_path: Path) -> None:
    with started("sim", "--version", folder=tmp_path) as process:
        out, _ = process.communicate(timeout=SOON)
    assert out == f"{LATEST.version} (Claude Code)\n".encode()
    assert process.returncode == 0
