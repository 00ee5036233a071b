"""The cage: its network, its environment, its API, and the end of its programs."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.helpers.processes import PATIENCE, ended

from claudewire.testing import APIScript, APIStatus, Cage, CageError
from claudewire.testing.cage import FAKE_KEY, launcher
from claudewire.testing.cage.cage import REQUESTS, SCRIPT
from claudewire.transport import PROCESS_MARK

NO_CAGE = Cage.unavailable()
pytestmark = pytest.mark.skipif(NO_CAGE is not None, reason=f"No cage: {NO_CAGE}")

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root could try")


@pytest.fixture
def cage() -> Iterator[Cage]:
    with Cage(["Hello from the script"]) as opened:
        yield opened


def run(
    cage: Cage, *command: str, cwd: Path | None = None, input: str | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        cage.command(command),
        cwd=cwd,
        input=input,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
    )


def python(cage: Cage, code: str) -> str:
    """Run some Python in the cage; return its output."""
    done = run(cage, sys.executable, "-I", "-c", code)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def ends(process: int) -> bool:
    """Wait until a process that is not ours has ended, up to a limit."""
    try:
        watch = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watch], [], [], PATIENCE)[0])
    finally:
        os.close(watch)


# --- the network ---------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["192.0.2.1", "2001:db8::1"])
def test_program_reaches_nothing_but_loopback(cage: Cage, address: str) -> None:
    code = f"import socket; socket.create_connection(({address!r}, 53), timeout=5)"
    assert "Network is unreachable" in run(cage, sys.executable, "-I", "-c", code).stderr
    code = "import socket; print([name for _, name in socket.if_nameindex()])"
    assert python(cage, code) == "['lo']"


def test_program_does_not_reach_a_server_outside_on_loopback(cage: Cage) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), timeout=5)"
        done = run(cage, sys.executable, "-I", "-c", code)
    assert "Connection refused" in done.stderr


def test_program_cannot_gain_privileges(cage: Cage) -> None:
    assert "\nNoNewPrivs:\t1\n" in python(cage, "print(open('/proc/self/status').read())")


@only_root
def test_root_cannot_leave_the_network(cage: Cage) -> None:
    code = (
        "import ctypes, os; c = ctypes.CDLL(None, use_errno=True); "
        f"f = os.open('/proc/{os.getpid()}/ns/net', 0); "
        "print(c.setns(f, 0), os.strerror(ctypes.get_errno()))"
    )
    assert python(cage, code) == "-1 Operation not permitted"


# --- the environment -----------------------------------------------------------------------------


def test_environment_is_clean(cage: Cage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "real")
    monkeypatch.setenv("SOME_SECRET", "real")
    monkeypatch.setenv("TERM", "dumb")
    environment = json.loads(python(cage, "import json, os; print(json.dumps(dict(os.environ)))"))
    assert "real" not in environment.values()
    assert environment.pop("ANTHROPIC_BASE_URL").startswith("http://127.0.0.1:")
    for name in ("PATH", "LANG", "LC_CTYPE", "COVERAGE_PROCESS_CONFIG"):
        environment.pop(name, None)
    root = {"IS_SANDBOX": "1"} if os.geteuid() == 0 else {}
    assert environment == {
        **root,
        "ANTHROPIC_API_KEY": FAKE_KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CONFIG_DIR": str(cage.config),
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "HOME": str(cage.home),
        "TERM": "dumb",
        "TMPDIR": str(cage.folder / "tmp"),
    }


def test_variables_can_be_given_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_ONE", "1")
    monkeypatch.setenv("MY_OTHER", "2")
    with Cage(env={"GIVEN": "3", "HOME": "/root"}, keep=["MY_O*"]) as cage:
        code = "import os; print(*map(os.environ.get, ['MY_ONE', 'MY_OTHER', 'GIVEN', 'HOME']))"
        assert python(cage, code) == f"1 2 3 {cage.home}"


def test_working_directory_is_inside_the_cage(cage: Cage) -> None:
    inside = cage.work / "inside"
    inside.mkdir()
    assert run(cage, "pwd", cwd=Path("/")).stdout.strip() == str(cage.work)
    assert run(cage, "pwd", cwd=inside).stdout.strip() == str(inside)


def test_planted_module_is_not_loaded(cage: Cage) -> None:
    (cage.work / "socket.py").write_text("raise SystemExit('planted')", encoding="utf-8")
    assert run(cage, "true", cwd=cage.work).returncode == 0


# --- the API -------------------------------------------------------------------------------------

ASK = """
import json, os, urllib.request
body = {"model": "m", "max_tokens": 100, "tools": [{"name": "x"}],
        "messages": [{"role": "user", "content": "hi"}]}
request = urllib.request.Request(
    os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
    json.dumps(body).encode(), {"x-api-key": os.environ["ANTHROPIC_API_KEY"]})
print(json.load(urllib.request.urlopen(request))["content"][0]["text"])
"""


def test_scripted_api_answers_inside_and_records(cage: Cage) -> None:
    assert python(cage, ASK) == "Hello from the script"
    assert python(cage, ASK) == "Hello from the script"  # each program starts at the beginning
    assert [request.prompt for request in cage.turns] == ["hi", "hi"]
    assert FAKE_KEY not in (cage.folder / REQUESTS).read_text(encoding="utf-8")
    with (cage.folder / REQUESTS).open("a", encoding="utf-8") as file:
        file.write('{"half a')
    assert len(cage.api_requests()) == 2
    cage.close()
    assert len(cage.api_requests()) == 2


def test_script_with_a_function_is_rejected() -> None:
    with pytest.raises(ValueError, match="must not have functions"):
        Cage(APIScript().on(lambda _: True, APIStatus(400)))


# --- running programs ----------------------------------------------------------------------------


def test_pipes_and_exit_status_are_those_of_the_program(cage: Cage) -> None:
    done = run(cage, "sh", "-c", "cat; echo problem >&2; exit 7", input="through")
    assert (done.returncode, done.stdout, done.stderr) == (7, "through", "problem\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_signals_reach_the_program(cage: Cage, number: signal.Signals) -> None:
    command = cage.command(["sh", "-c", "echo started; exec sleep 60"])
    with ended(subprocess.Popen(command, stdout=subprocess.PIPE)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        process.send_signal(number)
        assert process.wait(PATIENCE) == -number


def test_broken_pipe_kills_the_program_as_usual(cage: Cage) -> None:
    with ended(subprocess.Popen(cage.command(["yes"]), stdout=subprocess.PIPE)) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(PATIENCE) == -signal.SIGPIPE


@pytest.mark.parametrize(("program", "status"), [("no-such-program", 127), ("/etc/passwd", 126)])
def test_program_that_cannot_run_is_reported(
    cage: Cage, program: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # in which every folder may be searched
    done = run(cage, program)
    assert done.returncode == status
    assert done.stderr.startswith(f"claudewire cage: {program}: ")


def test_wrapper_stands_for_the_program(cage: Cage) -> None:
    path = cage.wrapper("/bin/echo")
    done = subprocess.run([path, "a b", "$HOME"], stdout=-1, encoding="utf-8", timeout=PATIENCE)
    assert path.is_relative_to(cage.folder)
    assert done.stdout == "a b $HOME\n"


# --- the end -------------------------------------------------------------------------------------


def test_process_that_outlives_the_program_is_ended(cage: Cage) -> None:
    done = run(cage, "sh", "-c", "setsid sleep 60 >/dev/null 2>&1 & echo $!")
    assert ends(int(done.stdout))


def test_closing_ends_running_programs() -> None:
    with Cage() as cage:
        folder = cage.folder
        command = cage.command(["sh", "-c", "echo started; exec sleep 60"])
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
    with ended(process):
        assert process.wait(PATIENCE) == -signal.SIGKILL
    assert not folder.exists()
    with pytest.raises(CageError, match="not open"):
        _ = cage.folder


def test_sandbox_server_is_neither_a_child_nor_marked(cage: Cage) -> None:
    env = {**os.environ, PROCESS_MARK: "m-1"}
    code = "cat /proc/self/environ; echo; cat /proc/$$/task/*/children; echo; read -r _"
    command = cage.command(["sh", "-c", code])
    with ended(subprocess.Popen(command, env=env, stdin=-1, stdout=-1)) as program:
        assert program.stdout is not None
        assert f"{PROCESS_MARK}=m-1".encode() in program.stdout.readline()
        assert len(program.stdout.readline().split()) == 1  # cat itself
        servers = [pid for pid in map(str, all_processes()) if str(cage.folder) in words_of(pid)]
        assert servers
        for pid in {*servers} - {str(program.pid)}:
            assert PROCESS_MARK.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
        program.communicate(timeout=PATIENCE)


def all_processes() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def words_of(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
    except OSError:
        return ""


# --- never without a cage ------------------------------------------------------------------------


def in_thread(task: Callable[[], object]) -> str:
    """Run something in a thread, which may have its own network; return its error."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            task()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return str(raised[0]) if raised else ""


def test_launcher_rejects_the_old_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "_call", lambda *_: None)
    monkeypatch.setattr(launcher, "_bring_up", lambda _: None)
    assert "not empty" in in_thread(launcher.confine)


@only_root
def test_launcher_rejects_another_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "if_nameindex", lambda: [(1, "lo"), (2, "eth0")])
    assert "not empty: eth0, lo" in in_thread(launcher.confine)


@pytest.mark.parametrize("folder", ["", "/no/such/cage"])
def test_nothing_runs_without_a_plan(folder: str) -> None:
    command = [sys.executable, "-m", "claudewire.testing.cage.launcher", folder, "echo", "run"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (125, "")
    assert "nothing was run" in done.stderr


def test_nothing_runs_without_an_api(cage: Cage) -> None:
    (cage.folder / SCRIPT).write_bytes(b"{")
    done = run(cage, "echo", "run")
    assert (done.returncode, done.stdout) == (125, "")
    assert "the scripted API did not start" in done.stderr
