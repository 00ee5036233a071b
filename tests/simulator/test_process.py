"""The simulated CLI as a program, here inside the process of the test."""

from __future__ import annotations

import gc
import json
import os
import pty
import resource
import runpy
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

from claudewire.simulator import ARGV, LATEST, Chat, Fault, Scenario, actions, process
from claudewire.simulator.__main__ import _import_msgspec, main
from claudewire.simulator.engine import Engine
from claudewire.simulator.faults import NotReading
from claudewire.simulator.flags import EarlyExit
from claudewire.simulator.jobs import run_blocking
from claudewire.simulator.process import Host, Terminated, misbehave, run
from claudewire.simulator.simulation import SimulatedProcess, Simulation
from claudewire.simulator.text_mode import TextProcess


@pytest.fixture(autouse=True)
def _signals_stay() -> Iterator[None]:
    before = {it: signal.getsignal(it) for it in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What is asked of the system, instead of being done."""
    made: list[tuple[Any, ...]] = []

    def note(name: str) -> Any:
        return lambda *words: made.append((name, *words))

    monkeypatch.setattr(os, "kill", note("kill"))
    monkeypatch.setattr(signal, "pause", note("pause"))
    monkeypatch.setattr(signal, "signal", note("signal"))
    monkeypatch.setattr(resource, "setrlimit", note("setrlimit"))
    monkeypatch.setattr(time, "sleep", note("sleep"))
    return made


NO_CORE = ("setrlimit", resource.RLIMIT_CORE, (0, 0))


@pytest.mark.parametrize(
    ("action", "made"),
    [
        (actions.Pause(None), [("pause",)]),
        (actions.Pause(2.5), [("sleep", 2.5)]),
        (actions.IgnoreTermination(), [("signal", signal.SIGTERM, signal.SIG_IGN)]),
        (actions.Kill(signal.SIGKILL), [NO_CORE, ("kill", os.getpid(), signal.SIGKILL)]),
        (
            actions.Kill(signal.SIGSEGV),
            [
                NO_CORE,
                ("signal", signal.SIGSEGV, signal.SIG_DFL),
                ("kill", os.getpid(), signal.SIGSEGV),
            ],
        ),
    ],
)
def test_a_fault_is_carried_out_by_the_system(
    action: actions.Action, made: list[Any], calls: list[tuple[Any, ...]]
) -> None:
    misbehave(action)
    assert calls == made


@pytest.mark.parametrize(
    ("action", "name", "stdout"),
    [
        (actions.LeaveGrandchild(2.5), "grandchild", None),
        (actions.LeaveShell(2.5), "shell", subprocess.DEVNULL),
    ],
)
def test_what_is_left_behind_holds_stdout_or_has_a_session_of_its_own(
    action: actions.Action,
    name: str,
    stdout: int | None,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    made: list[Any] = []

    def started(argv: list[str], **how: Any) -> SimpleNamespace:
        made.extend([argv, how])
        return SimpleNamespace(pid=7)

    monkeypatch.setattr(subprocess, "Popen", started)
    misbehave(action)
    argv, how = made
    assert argv == [sys.executable, "-I", "-S", "-c", "import time; time.sleep(2.5)"]
    nothing = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    assert how == {**nothing, "stdout": stdout, "start_new_session": stdout is not None}
    assert capfd.readouterr().err == f"claudewire-sim: {name} 7\n"


class Signalled(Host):
    """Is told to end as soon as it serves."""

    error: BaseException = Terminated(signal.SIGTERM)

    def serve_until_exit(self) -> int:
        self.engine.start()
        raise self.error


def engine_in(folder: Path, **more: str) -> Engine:
    env = {"HOME": str(folder), "CLAUDE_CONFIG_DIR": str(folder / ".claude"), **more}
    words = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    made = Simulation.from_env(env).engine(words, cwd=str(folder), env=env, clock=time.monotonic)
    assert isinstance(made, Engine)
    return made


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Terminated(signal.SIGTERM), 143),
        (Terminated(signal.SIGHUP), 129),
        (KeyboardInterrupt(), 0),
    ],
)
def test_a_signal_ends_it_with_the_status_of_the_real_cli(
    tmp_path: Path, error: BaseException, status: int
) -> None:
    host = Signalled(engine_in(tmp_path))
    host.error = error
    assert host.run() == status


PAUSE = """
[[turn]]
steps = [{ use = "Read", input = { file_path = "a" }, seconds = 60, result = "b" }]
"""


def test_sigint_during_a_tool_reports_that_the_turn_was_interrupted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.toml").write_text(PAUSE, encoding="utf-8")
    host = Signalled(engine_in(tmp_path, CLAUDEWIRE_SIM_SCENARIO=str(tmp_path / "s.toml")))
    host.error = KeyboardInterrupt()
    host.engine.feed(b'{"type":"user","message":{"role":"user","content":"go"}}\n')
    assert host.run() == 0
    *_, told, result = map(json.loads, capfd.readouterr().out.splitlines())
    assert "[Request interrupted by user for tool use]" in str(told)
    assert result["subtype"] == "error_during_execution"


def test_a_program_that_nohup_has_started_outlives_its_terminal(tmp_path: Path) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    Signalled(engine_in(tmp_path)).run()
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def test_only_what_the_transcript_still_has_to_say_is_written_after_a_signal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    engine = engine_in(tmp_path)
    kept = tmp_path / "kept.jsonl"
    taken = [actions.Write(b"lost"), actions.Append(str(kept), [{"type": "last"}])]
    engine.take = lambda: iter(taken)  # type: ignore[assignment, return-value]
    assert Host(engine).give_up(7) == 7
    assert '"last"' in kept.read_text(encoding="utf-8")
    assert capfd.readouterr().out == ""


def test_what_runs_beside_the_cli_does_not_keep_it_alive() -> None:
    jobs = process.Jobs()
    for key in "ab":
        jobs.start(actions.Run(key, lambda: threading.current_thread().daemon))
    found: list[tuple[str, Any]] = []
    while len(found) < 2:
        assert select.select([jobs.fd], [], [], PATIENCE)[0]
        found += jobs.finished()
    assert sorted(found) == [("a", True), ("b", True)]
    os.close(jobs.fd)
    os.close(jobs._end)


def test_sigterm_is_an_exception_wherever_the_program_is() -> None:
    with pytest.raises(Terminated):
        process.terminate(signal.SIGTERM, None)


def exit_of(words: list[str]) -> object:
    with pytest.raises(SystemExit) as exit:
        run(words)
    return exit.value.code


def test_a_scenario_that_is_not_there_is_an_error_of_the_simulator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLAUDEWIRE_SIM_SCENARIO", str(tmp_path / "missing.toml"))
    assert exit_of(["-p", "hi"]) == 2
    said = capfd.readouterr()
    assert said.err.startswith("claudewire-sim: ")
    assert "missing.toml" in said.err
    assert not said.out


def test_a_dialect_that_does_not_exist_is_named_with_those_that_do(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLAUDEWIRE_SIM_DIALECT", "klingon")
    assert exit_of(["-p", "hi"]) == 2
    known = "auto, session, legacy, envelope, modern"
    said = f"claudewire-sim: Unknown dialect 'klingon'; the dialects are {known}\n"
    assert capfd.readouterr().err == said


def test_the_environment_says_what_is_simulated(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('[[turn]]\nsteps = [{ say = "hi" }]\n', encoding="utf-8")
    simulation = Simulation.from_env(
        {
            "CLAUDEWIRE_SIM_SCENARIO": str(tmp_path / "s.toml"),
            "CLAUDEWIRE_SIM_VERSION": "2.0.76",
            "CLAUDEWIRE_SIM_DIALECT": "session",
            "CLAUDEWIRE_SIM_FAULTS": "duplicate-answers",
            "CLAUDEWIRE_SIM_STRICT": "1",
        }
    )
    assert simulation.scenario is not None
    assert simulation[1:3] == ("2.0.76", "session")
    assert [type(it).__name__ for it in simulation.faults] == ["DuplicateAnswers"]
    assert simulation.strict
    names = ("SCENARIO", "VERSION", "DIALECT", "FAULTS", "STRICT")
    assert Simulation.from_env({f"CLAUDEWIRE_SIM_{it}": "" for it in names}) == Simulation()
    assert Simulation.from_env({}) == Simulation()


@pytest.mark.parametrize(
    ("env", "default"),
    [
        ({"CLAUDE_CONFIG_DIR": "own"}, "own"),
        ({"HOME": "home"}, "home"),
        ({"HOME": "own"}, None),
        ({"CLAUDE_CONFIG_DIR": "own", "CLAUDEWIRE_SIM_SCENARIO": "given.toml"}, "given"),
        ({}, None),
    ],
)
def test_a_scenario_may_be_in_the_folder_of_the_cli(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, env: dict[str, str], default: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("own/claudewire-sim.toml", "home/.claude/claudewire-sim.toml", "given.toml")
    for name in (*names, "claudewire-sim.toml"):  # where it is not looked for
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        text = f'default = "{name.partition("/")[0].removesuffix(".toml")}"'
        (tmp_path / name).write_text(text, encoding="utf-8")
    scenario: Any = Simulation.from_env(env).scenario
    assert (None if scenario is None else scenario.default) == default


@pytest.mark.parametrize(
    ("head", "branch"),
    [
        (None, "HEAD"),
        (b"ref: refs/heads/main\n", "main"),
        (b"ref: refs/heads/a/b\n", "a/b"),
        (b"ref: refs/tags/a\n", "ref: refs/tags/a"),
        (b"0123456789abcdef\n", "HEAD"),
        (b"\xff", "HEAD"),
    ],
)
def test_the_branch_is_that_of_the_folder_or_of_one_above_it(
    tmp_path: Path, head: bytes | None, branch: str
) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    if head is not None:
        (tmp_path / ".git").mkdir()
        (tmp_path / ".git" / "HEAD").write_bytes(head)
    (tmp_path / "a" / ".git").write_text("gitdir: elsewhere", encoding="utf-8")
    for folder in (tmp_path, below):
        assert engine_in(folder).session.branch == branch
        keeps_nothing = Simulation().engine(ARGV, cwd=str(folder), env={}, clock=time.monotonic)
        assert isinstance(keeps_nothing, Engine)
        assert keeps_nothing.session.branch == "HEAD"


@pytest.mark.parametrize(
    ("dialect", "words", "cwd", "kind"),
    [
        ("modern", [], "/x", TextProcess),
        ("auto", [], "/x", TextProcess),
        ("auto", ["--cwd", "y/../z"], "/x/z", TextProcess),
        ("session", [], "/x", SimulatedProcess),
        ("session", ["--cwd", "/y"], "/y", SimulatedProcess),
        ("legacy", [], "/x", SimulatedProcess),
        ("envelope", [], "/x", SimulatedProcess),
        ("modern", [*ARGV], "/x", SimulatedProcess),
        ("auto", [*ARGV], "/x", SimulatedProcess),
    ],
)
def test_the_dialect_and_the_words_say_what_process_it_is_and_where(
    dialect: str, words: list[str], cwd: str, kind: type[SimulatedProcess]
) -> None:
    made = Simulation(dialect=dialect).engine(words, cwd="/x", env={}, clock=time.monotonic)
    assert type(made) is kind
    assert isinstance(made, SimulatedProcess)
    assert (made.session.cwd, made.dialect) == (cwd, dialect)


@pytest.mark.parametrize(
    ("version", "strict", "words", "error"),
    [
        ("2.1.325", False, ["--agents", "[]"], "Error: Invalid --agents configuration:\n"),
        ("2.0.76", False, ["--agents", "[]"], None),
        ("2.1.325", False, ["--fallback-model", "x"], None),
        ("2.1.325", True, ["--fallback-model", "x"], "claudewire-sim: accepted, but not simul"),
        ("2.1.325", False, ["--strict", "--fallback-model", "x"], "claudewire-sim: accepted, bu"),
        ("2.1.325", True, [], None),
        ("2.1.325", True, ["--settings", '{"theme": "x"}'], "claudewire-sim: accepted, but not"),
    ],
)
def test_what_it_does_not_start_with(
    version: str, strict: bool, words: list[str], error: str | None
) -> None:
    simulation = Simulation(version=version, strict=strict)
    made = simulation.engine([*ARGV, *words], cwd="/x", env={}, clock=time.monotonic)
    if error is None:
        assert isinstance(made, Engine)
        assert made.session.flags.strict is strict
    else:
        assert isinstance(made, EarlyExit)
        assert (made.status, made.stdout) == (1, "")
        assert made.stderr.startswith(error)


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({}, None),
        ({"HOME": ""}, None),
        ({"HOME": "/home/me"}, "/home/me/.claude"),
        ({"HOME": "/home/me", "CLAUDE_CONFIG_DIR": ""}, "/home/me/.claude"),
        ({"HOME": "/home/me", "CLAUDE_CONFIG_DIR": "/there"}, "/there"),
        ({"CLAUDE_CONFIG_DIR": "/there"}, "/there"),
    ],
)
def test_the_environment_says_where_sessions_are_kept(
    env: dict[str, str], folder: str | None
) -> None:
    made = Simulation().engine(ARGV, cwd="/x", env=env, clock=time.monotonic)
    assert isinstance(made, Engine)
    store = made.session.store
    assert (store and store.folder) == (folder and f"{folder}/projects/-x")


def test_words_that_make_a_wrapper_are_checked(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    wrapper, scenario = tmp_path / "claude", tmp_path / "s.toml"
    assert exit_of(["--make-wrapper"]) == 2
    assert capfd.readouterr().err.startswith("Usage: claudewire-sim --make-wrapper")
    assert exit_of(["--make-wrapper", str(scenario), str(wrapper)]) == 2
    assert "s.toml" in capfd.readouterr().err
    scenario.write_text('[[turn]]\nsteps = [{ say = "hi" }]\n', encoding="utf-8")
    assert exit_of(["--make-wrapper", str(scenario), str(wrapper)]) == 0
    assert os.access(wrapper, os.X_OK)


def test_an_option_that_the_cli_does_not_know_ends_it_at_once(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert exit_of(["--no-such-option"]) == 1
    assert "--no-such-option" in capfd.readouterr().err


class Served(NamedTuple):
    """What a program has done in the process of the test."""

    status: int
    out: bytes
    err: bytes
    log: str


def served(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    scenario: Scenario,
    given: bytes,
    *words: str,
    faults: Sequence[Fault] = (),
) -> Served:
    """Run a program whose streams are files."""
    (folder / "in").write_bytes(given)
    names = {"STDIN": "in", "STDOUT": "out", "STDERR": "err", "LOG": "log"}
    files = {key: os.open(folder / name, os.O_RDWR | os.O_CREAT) for key, name in names.items()}
    log = files.pop("LOG")
    for key, fd in files.items():
        monkeypatch.setattr(process, key, fd)
    env = {"CLAUDE_CONFIG_DIR": str(folder / "config")}
    made = Simulation(scenario, faults=faults).engine(
        words or ARGV, cwd=str(folder), env=env, clock=time.monotonic
    )
    assert isinstance(made, Engine)
    host = Host(made, log)
    try:
        status = host.run()
    finally:
        pipe = [host.jobs.fd, host.jobs._end] if host.jobs is not None else []
        for fd in (*files.values(), log, *pipe):
            os.close(fd)
    out, err = ((folder / name).read_bytes() for name in ("out", "err"))
    return Served(status, out, err, (folder / "log").read_text(encoding="ascii"))


PROMPT = b'{"type":"user","message":{"role":"user","content":"Go."}}\n'


async def works(chat: Chat) -> None:
    chat.engine.warn("I work.")
    for number in (1, 2):
        done = await run_blocking(chat.engine, partial(int, number))
        await chat.sleep(0.001)
        await chat.say(f"Done: {done}")


@pytest.mark.parametrize("faults", [[], [NotReading(0.01, at=0)]], ids=["reads", "waits"])
def test_it_serves_its_streams_until_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faults: list[Fault]
) -> None:
    done = served(tmp_path, monkeypatch, works, PROMPT, faults=faults)
    assert (done.status, done.err) == (0, b"I work.\n")
    said = [json.loads(line) for line in done.out.splitlines()]
    assert [it["type"] for it in said] == ["system", "assistant", "assistant", "result"]
    assert said[-1]["result"] == "Done: 2"
    assert len([*tmp_path.glob("config/projects/*/*.jsonl")]) == 1
    noted = [line.split(" ") for line in done.log.splitlines()]
    assert {pid for pid, _, _ in noted} == {str(os.getpid())}
    told = {"<": done.out, "!": done.err, ">": PROMPT, "=": b"exit 0\n"}
    for direction, data in told.items():
        pieces = [bytes.fromhex(it) for _, way, it in noted if way == direction]
        assert b"".join(pieces) == data
    assert noted[-1][1] == "="


def test_it_ends_with_the_status_of_the_cli_and_reads_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = served(tmp_path, monkeypatch, works, b"no JSON\n" + PROMPT)
    assert (done.status, done.out) == (1, b"")
    assert done.err.startswith(b"Error parsing streaming input line")


def test_it_reads_text_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = served(tmp_path, monkeypatch, works, b"hello", "-p")
    assert (done.status, done.out, done.err) == (0, b"Done: 2\n", b"I work.\n")


def test_what_cannot_be_written_for_another_reason_is_an_error() -> None:
    reading, writing = os.pipe()
    os.close(writing)
    with pytest.raises(OSError, match="Bad file descriptor"):
        process.write(reading, b"x")
    os.close(reading)


@pytest.mark.parametrize("words", [["-p", "hi"], ["--make-wrapper", "SCENARIO", "claude"]])
def test_a_scenario_that_fails_when_it_is_loaded_shows_where(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "play.py").write_text("1 / 0", encoding="utf-8")
    scenario = f"{tmp_path}/play.py:play"
    monkeypatch.setenv("CLAUDEWIRE_SIM_SCENARIO", scenario)
    with pytest.raises(ZeroDivisionError):
        run([it.replace("SCENARIO", scenario) for it in words])


def test_a_folder_that_may_not_be_looked_into_is_not_taken_for_one_that_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def forbidden() -> str:
        raise PermissionError

    monkeypatch.setattr(os, "getcwd", forbidden)
    with pytest.raises(PermissionError):
        run(["-p", "hi"])


def test_what_nobody_reads_is_lost_without_an_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process.write(writing, b"one")
    process.write(writing, b"two")
    os.close(writing)


# --- as a process ---------------------------------------------------------------------------------

PROGRAM = [sys.executable, "-m", "claudewire.simulator"]
PATIENCE = 30
ECHO = '[[turn]]\nsteps = [{ say = "You say: {prompt}" }]\n'


def started(
    folder: Path, *argv: str, input: bytes | None = b"", shell: str = "", **env: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the program, started by a shell with these words after the command."""
    (folder / "claudewire-sim.toml").write_text(ECHO, encoding="utf-8")
    return subprocess.run(
        ["/bin/sh", "-c", f'{shell or "exec"} "$@"', "sh", *PROGRAM, *argv],
        input=input,
        capture_output=True,
        env={"CLAUDE_CONFIG_DIR": str(folder), **env},
        cwd=folder,
        timeout=PATIENCE,
    )


def logged(path: Path) -> dict[str, bytes]:
    """Return what the log has, by direction."""
    found: dict[str, bytes] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        pid, direction, data = line.split(" ")
        assert pid.isdigit()
        found[direction] = found.get(direction, b"") + bytes.fromhex(data)
    return found


def test_the_log_has_what_was_read_and_written_and_the_end(tmp_path: Path) -> None:
    hook = {"hooks": [{"type": "command", "command": "echo Quick."}]}
    settings = json.dumps({"hooks": {"UserPromptSubmit": [hook, hook]}, "theme": "dark"})
    words = [*ARGV, "--settings", settings]
    given = b'{"type":"user","message":{"role":"user","content":"hi"}}\n'
    log = tmp_path / "log"
    for _ in range(2):  # it is added to
        done = started(tmp_path, *words, input=given, CLAUDEWIRE_SIM_LOG=str(log))
        assert done.returncode == 0
        assert b"You say: hi\\n\\nQuick." in done.stdout
        assert b"theme" in done.stderr
    found = logged(log)
    assert found[">"] == given * 2
    assert found["<"].endswith(done.stdout)
    assert found["!"] == done.stderr * 2
    assert found["="] == b"exit 0\n" * 2
    assert log.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_stream_that_is_closed_from_the_start_is_not_taken_for_another(
    tmp_path: Path, closed: str
) -> None:
    log = tmp_path / "log"
    words = ["-p", "hi", "--settings", '{"theme": "dark"}']
    done = started(tmp_path, *words, shell=f"exec {closed}; exec", CLAUDEWIRE_SIM_LOG=str(log))
    assert done.returncode == 0
    assert done.stdout == (b"" if closed == ">&-" else b"You say: hi\n")
    assert (b"theme" in done.stderr) == (closed != "2>&-")
    assert logged(log)["<"] == b"You say: hi\n"


@pytest.mark.parametrize(
    ("argv", "env", "handed_on"),
    [
        (["-p", "hi"], "", True),
        (["--version"], "", False),
        (["-v"], "", False),
        (["-V"], "", False),
        (["-v"], "2.0.76", True),
        (["-v", "hi"], "", True),
        ([], "", True),
    ],
)
def test_the_program_hands_its_words_on_unless_it_only_says_its_version(
    argv: list[str],
    env: str,
    handed_on: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    seen: list[Any] = []

    def note(words: list[str]) -> None:
        seen.append((words, gc.isenabled(), gc.get_freeze_count() > 10_000))

    monkeypatch.setattr(process, "run", note)
    monkeypatch.setattr(sys, "argv", ["claude", *argv])
    monkeypatch.setenv("CLAUDEWIRE_SIM_VERSION", env)
    try:
        main()
    finally:
        gc.enable()
        gc.unfreeze()
    assert seen == ([(argv, True, True)] if handed_on else [])
    assert capsys.readouterr().out == ("" if handed_on else f"{LATEST.version} (Claude Code)\n")


@pytest.mark.parametrize(("name", "runs"), [("__main__", True), ("other", False)])
def test_the_package_can_be_run(
    name: str, runs: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["claude", "--version"])
    monkeypatch.delenv("CLAUDEWIRE_SIM_VERSION", raising=False)
    runpy.run_path(str(Path(process.__file__).with_name("__main__.py")), run_name=name)
    assert bool(capsys.readouterr().out) is runs


@pytest.mark.parametrize("loaded", [False, True])
def test_what_is_slow_to_import_is_neither_imported_nor_forbidden(
    loaded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, module = "typing_extensions", ModuleType("typing_extensions")
    monkeypatch.delitem(sys.modules, name, raising=False)
    if loaded:
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "msgspec")
    imports = Imports()
    monkeypatch.setattr(sys, "meta_path", [imports])
    _import_msgspec()
    assert imports.seen == ([] if loaded else [("msgspec", None)])
    assert sys.modules.get(name, "absent") is (module if loaded else "absent")


class Imports(Loader):
    """Imports nothing, and notes what then stands for the slow module."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, object]] = []

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec:
        self.seen.append((name, sys.modules.get("typing_extensions", "absent")))
        return ModuleSpec(name, self)

    def exec_module(self, module: ModuleType) -> None:
        pass


def test_a_folder_that_is_gone_ends_the_program(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def gone() -> str:
        raise FileNotFoundError

    monkeypatch.setattr(os, "getcwd", gone)
    assert exit_of(["-p", "hi"]) == 1
    assert capfd.readouterr().err == (
        "The current directory no longer exists (it was deleted or moved). "
        "Start Claude Code from an existing directory.\n"
    )


def test_a_folder_that_is_gone_is_an_error(tmp_path: Path) -> None:
    done = started(tmp_path, "-p", "hi", shell="mkdir x; cd x; rmdir ../x; exec")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", process.NO_FOLDER)


def test_a_prompt_is_not_read_from_a_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [*PROGRAM, "-p", "hi"],
            stdin=theirs,
            capture_output=True,
            env={"CLAUDE_CONFIG_DIR": str(tmp_path)},
            timeout=PATIENCE,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"(simulation)")


def test_a_log_that_cannot_be_written_is_an_error_of_the_simulator(tmp_path: Path) -> None:
    done = started(tmp_path, "-p", "hi", CLAUDEWIRE_SIM_LOG=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"claudewire-sim: ")
