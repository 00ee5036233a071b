"""The cage: what a program in it sees, what it cannot do, and what is left of it."""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.helpers.processes import PATIENCE, ended

from claudewire.testing.api import APIScript, APIStatus
from claudewire.testing.cage import cage as cage_module
from claudewire.testing.cage import launcher as caged
from claudewire.testing.cage import warden
from claudewire.testing.cage.cage import FAKE_KEY, Cage, CageError
from claudewire.testing.cage.warden import REQUESTS, SCRIPT
from claudewire.transport import PROCESS_MARK

NO_CAGE = Cage.unavailable()
pytestmark = pytest.mark.skipif(NO_CAGE is not None, reason=f"No cage: {NO_CAGE}")


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
    """Run some Python in the cage; give what it printed."""
    done = run(cage, sys.executable, "-I", "-c", code)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def ends(process: int) -> bool:
    """Wait until a process that is not ours has ended, but not for ever."""
    try:
        watch = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watch], [], [], PATIENCE)[0])
    finally:
        os.close(watch)


# --- what is shut --------------------------------------------------------------------------------


@pytest.mark.unmeasured
@pytest.mark.parametrize("address", ["192.0.2.1", "198.51.100.1", "2001:db8::1"])
def test_nothing_but_loopback_can_be_reached(cage: Cage, address: str) -> None:
    code = f"import socket; socket.create_connection(({address!r}, 53), timeout=5)"
    done = run(cage, sys.executable, "-I", "-c", code)

    assert done.returncode == 1
    assert "Network is unreachable" in done.stderr


@pytest.mark.unmeasured
def test_there_is_no_other_interface(cage: Cage) -> None:
    code = "import socket; print([name for _, name in socket.if_nameindex()])"
    assert python(cage, code) == "['lo']"


@pytest.mark.unmeasured
def test_a_server_outside_on_loopback_cannot_be_reached(cage: Cage) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), timeout=5)"
        done = run(cage, sys.executable, "-I", "-c", code)

    assert "Connection refused" in done.stderr


def test_no_program_in_it_can_gain_privileges(cage: Cage) -> None:
    assert "\nNoNewPrivs:\t1\n" in python(cage, "print(open('/proc/self/status').read())")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root could try")
def test_not_even_root_can_leave(cage: Cage) -> None:
    code = (
        "import ctypes, os; c = ctypes.CDLL(None, use_errno=True); "
        f"f = os.open('/proc/{os.getpid()}/ns/net', 0); "
        "print(c.setns(f, 0), os.strerror(ctypes.get_errno()))"
    )
    assert python(cage, code) == "-1 Operation not permitted"


# --- what is there -------------------------------------------------------------------------------


@pytest.mark.unmeasured
def test_the_environment_is_clean(cage: Cage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "real")
    monkeypatch.setenv("SOME_SECRET", "real")
    monkeypatch.setenv("TERM", "dumb")
    environment = json.loads(python(cage, "import json, os; print(json.dumps(dict(os.environ)))"))

    assert "real" not in environment.values()
    assert environment.pop("ANTHROPIC_BASE_URL").startswith("http://127.0.0.1:")
    assert environment["TERM"] == "dumb"
    assert environment["ANTHROPIC_API_KEY"] == FAKE_KEY
    assert environment["HOME"] == str(cage.home)
    assert environment["CLAUDE_CONFIG_DIR"] == str(cage.config)
    for name in ("AUTOUPDATER", "TELEMETRY"):
        assert environment[f"DISABLE_{name}"] == "1"
    assert environment["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == "1"
    assert set(environment) <= {
        "ANTHROPIC_API_KEY",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "CLAUDE_CONFIG_DIR",
        "COVERAGE_PROCESS_CONFIG",  # put there by coverage, when it measures these tests
        "DISABLE_AUTOUPDATER",
        "DISABLE_TELEMETRY",
        "HOME",
        "IS_SANDBOX",
        "LANG",
        "LC_CTYPE",  # Python's own
        "PATH",
        "TERM",
        "TMPDIR",
    }


@pytest.mark.unmeasured
def test_variables_can_be_given_and_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_ONE", "1")
    monkeypatch.setenv("MY_OTHER", "2")
    with Cage(env={"GIVEN": "3", "HOME": "/root"}, keep=["MY_O*"]) as cage:
        code = "import os; print(*map(os.environ.get, ['MY_ONE', 'MY_OTHER', 'GIVEN', 'HOME']))"
        assert python(cage, code) == f"1 2 3 {cage.home}"


@pytest.mark.unmeasured
def test_the_working_directory_is_private(cage: Cage) -> None:
    inside = cage.work / "inside"
    inside.mkdir()

    assert run(cage, "pwd", cwd=Path("/")).stdout.strip() == str(cage.work)
    assert run(cage, "pwd", cwd=inside).stdout.strip() == str(inside)


def test_a_planted_module_is_not_loaded(cage: Cage) -> None:
    (cage.work / "socket.py").write_text("raise SystemExit('planted')", encoding="utf-8")

    assert run(cage, "true", cwd=cage.work).returncode == 0


ASK = """
import json, os, urllib.request
body = {"model": "m", "max_tokens": 100, "tools": [{"name": "x"}],
        "messages": [{"role": "user", "content": "hi"}]}
request = urllib.request.Request(
    os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
    json.dumps(body).encode(), {"x-api-key": os.environ["ANTHROPIC_API_KEY"]})
print(json.load(urllib.request.urlopen(request))["content"][0]["text"])
"""


def test_the_scripted_api_is_inside(cage: Cage) -> None:
    assert python(cage, ASK) == "Hello from the script"
    assert python(cage, ASK) == "Hello from the script"  # each program starts at the beginning
    assert [request.prompt for request in cage.turns] == ["hi", "hi"]
    assert FAKE_KEY not in (cage.folder / REQUESTS).read_text(encoding="utf-8")

    cage.close()
    assert len(cage.api_requests()) == 2


def test_a_request_that_is_just_being_written_down_is_not_among_the_requests_yet(
    cage: Cage,
) -> None:
    python(cage, ASK)
    path = cage.folder / REQUESTS
    line = path.read_bytes()
    path.write_bytes(line + line[:-20])
    assert [request.prompt for request in cage.turns] == ["hi"]
    path.write_bytes(line + line)
    assert [request.prompt for request in cage.turns] == ["hi", "hi"]


@pytest.mark.unmeasured
def test_the_script_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "script.toml"
    path.write_text('default = "From a file"', encoding="utf-8")
    with Cage(path) as cage:
        assert python(cage, ASK) == "From a file"


def test_a_script_that_cannot_be_written_down_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be written to a file"):
        Cage(APIScript().on(lambda _: True, APIStatus(400)))


# --- how a program runs --------------------------------------------------------------------------


@pytest.mark.unmeasured
def test_pipes_and_the_exit_status_are_those_of_the_program(cage: Cage) -> None:
    done = run(cage, "sh", "-c", "cat; echo problem >&2; exit 7", input="through")

    assert (done.returncode, done.stdout, done.stderr) == (7, "through", "problem\n")


@pytest.mark.unmeasured
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_signals_reach_the_program(cage: Cage, number: signal.Signals) -> None:
    command = cage.command(["sh", "-c", "echo started; exec sleep 60"])
    with ended(subprocess.Popen(command, stdout=subprocess.PIPE)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        process.send_signal(number)
        assert process.wait(PATIENCE) == -number


@pytest.mark.unmeasured
def test_a_program_can_handle_a_signal(cage: Cage) -> None:
    command = cage.command(["sh", "-c", "trap 'exit 9' TERM; echo started; read line"])
    with ended(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        process.terminate()
        assert process.wait(PATIENCE) == 9


def test_a_broken_pipe_kills_as_usual(cage: Cage) -> None:
    command = cage.command(["yes"])
    with ended(subprocess.Popen(command, stdout=subprocess.PIPE)) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(PATIENCE) == -signal.SIGPIPE


@pytest.mark.unmeasured
@pytest.mark.parametrize(("program", "status"), [("no-such-program", 127), ("/etc/passwd", 126)])
def test_what_cannot_be_run_is_reported(
    cage: Cage, program: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # in which every folder may be searched
    done = run(cage, program)

    assert done.returncode == status
    assert done.stderr.startswith(f"claudewire cage: {program}: ")


def test_a_wrapper_stands_for_the_program(cage: Cage) -> None:
    path = cage.wrapper("/bin/echo")
    done = subprocess.run(
        [path, "a b", "$HOME"], capture_output=True, encoding="utf-8", timeout=PATIENCE
    )

    assert path.is_relative_to(cage.folder)
    assert done.stdout == "a b $HOME\n"


# --- what is left --------------------------------------------------------------------------------


@pytest.mark.unmeasured
def test_what_a_program_leaves_behind_is_ended(cage: Cage) -> None:
    done = run(cage, "sh", "-c", "setsid sleep 60 >/dev/null 2>&1 & echo $!")
    assert ends(int(done.stdout))


@pytest.mark.unmeasured
def test_a_killed_program_leaves_nothing(cage: Cage) -> None:
    command = cage.command(["sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!; wait"])
    with ended(subprocess.Popen(command, stdout=subprocess.PIPE)) as process:
        assert process.stdout is not None
        grandchild = int(process.stdout.readline())
        process.kill()
    assert ends(grandchild)


def test_closing_ends_what_still_runs() -> None:
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


# --- never without -------------------------------------------------------------------------------


def in_thread(task: Callable[[], object]) -> BaseException | None:
    """Run something in a thread of its own, which may have a network of its own."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            task()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return raised[0] if raised else None


def test_it_refuses_when_the_network_is_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caged, "_call", lambda *_: None)
    monkeypatch.setattr(caged, "_bring_up", lambda _: None)

    assert "not empty" in str(in_thread(caged.confine))


def test_it_refuses_when_there_is_another_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    networks = iter([1, 2])
    monkeypatch.setattr(caged, "_call", lambda *_: None)
    monkeypatch.setattr(caged, "_bring_up", lambda _: None)
    monkeypatch.setattr(caged, "network", lambda: next(networks))
    monkeypatch.setattr(socket, "if_nameindex", lambda: [(1, "lo"), (2, "eth0")])

    assert "not empty: eth0, lo" in str(in_thread(caged.confine))


class Left(Exception):
    """Instead of the end of this process."""


@pytest.fixture
def leaving(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(status: int) -> None:
        raise Left(status)

    monkeypatch.setattr(os, "_exit", leave)


@pytest.mark.usefixtures("leaving")
@pytest.mark.parametrize("error", [PermissionError("not allowed"), CageError("not empty")])
def test_nothing_is_run_without_a_cage(
    cage: Cage,
    error: Exception,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refuse() -> int:
        raise error

    def run(*_: object) -> None:
        pytest.fail("It was run")

    monkeypatch.setattr(caged, "confine", refuse)
    monkeypatch.setattr(os, "execvpe", run)
    with pytest.raises(Left, match="125"):
        caged.main([str(cage.folder), "true"])
    assert str(error) in capsys.readouterr().err


@pytest.mark.usefixtures("leaving")
@pytest.mark.parametrize("arguments", [[], ["/no/such/cage", "true"]])
def test_nothing_is_run_without_a_plan(arguments: list[str]) -> None:
    with pytest.raises(Left, match="125"):
        caged.main(arguments)


def test_nothing_is_run_without_an_api(cage: Cage) -> None:
    (cage.folder / SCRIPT).write_text("{", encoding="utf-8")
    done = run(cage, "echo", "run")

    assert (done.returncode, done.stdout) == (125, "")
    assert "script.json is not a valid script" in done.stderr


def test_it_says_why_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cage_module, "_LAUNCHER", ("sh", "-c", "echo 'no way' >&2; exit 125"))
    assert cage_module._unavailable.__wrapped__() == "no way"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "Linux" in (cage_module._unavailable.__wrapped__() or "")


# --- its parts, in this process ------------------------------------------------------------------


@pytest.mark.parametrize(("user", "root"), [(0, {"IS_SANDBOX": "1"}), (1000, {})])
def test_a_plan_says_what_programs_see(
    user: int, root: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    given = {"GIVEN": "3", "HOME": "/root", "DISABLE_TELEMETRY": "0"}
    with Cage(["Hello"], env=given, keep=["MY_O*"]) as cage:
        plan = caged.Plan.load(cage.folder)
        folders = sorted(it.name for it in cage.folder.iterdir() if it.is_dir())
        script = json.loads((cage.folder / "script.json").read_bytes())
        places = {
            "HOME": cage.home,
            "TMPDIR": cage.folder / "tmp",
            "CLAUDE_CONFIG_DIR": cage.config,
        }
    assert folders == ["config", "home", "tmp", "wardens", "work"]
    assert script == APIScript("Hello").to_data()
    env = {
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "0",
        "DISABLE_AUTOUPDATER": "1",
        **root,
        "GIVEN": "3",
        **{name: str(place) for name, place in places.items()},
        "ANTHROPIC_API_KEY": "sk-ant-api03-this-key-is-fake-and-opens-nothing",
    }
    assert (plan.env, plan.mark) == (env, PROCESS_MARK)
    kept = {"PATH": "p", "LANG": "l", "TERM": "t", PROCESS_MARK: "m", "MY_ONE": "1"}
    outside = {**kept, "LANGUAGE": "x", "my_one": "x", "A_MY_O": "x", "DISABLE_TELEMETRY": "x"}
    seen = plan.environment(outside, "http://here")
    assert seen == {**kept, **env, "ANTHROPIC_BASE_URL": "http://here"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a thread a network of its own")
def test_a_confined_thread_ends_what_it_started() -> None:
    def task() -> None:
        outside = caged.confine()
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname()).close()
        with ended(subprocess.Popen(["sleep", "60"])) as process:
            warden.end_the_rest(outside)
            assert process.wait(PATIENCE) == -signal.SIGKILL

    assert in_thread(task) is None


@pytest.mark.usefixtures("leaving")
@pytest.mark.parametrize(("error", "status"), [(FileNotFoundError, 127), (PermissionError, 126)])
def test_the_launcher_says_what_it_cannot_run(
    cage: Cage,
    error: type[OSError],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def execute(program: str, command: list[str], environment: dict[str, str]) -> None:
        assert (program, command) == ("program", ["program", "argument"])
        assert environment["ANTHROPIC_BASE_URL"] == "http://here"
        raise error(0, "no luck")

    monkeypatch.setattr(caged, "confine", lambda: 0)
    monkeypatch.setattr(caged, "post_warden", lambda *_: "http://here")
    monkeypatch.setattr(os, "execvpe", execute)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.chdir("/")
    with pytest.raises(Left, match=str(status)):
        caged.main([str(cage.folder), "program", "argument"])
    assert Path.cwd() == cage.work
    assert capsys.readouterr().err == "claudewire cage: program: no luck\n"


@pytest.mark.usefixtures("leaving")
@pytest.mark.parametrize("folder", ["", "inside", "inside/deep"])
def test_the_launcher_stays_in_a_folder_of_the_cage(
    cage: Cage, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    handled: list[object] = []

    def execute(*_: object) -> None:
        raise PermissionError(0, "no luck")

    def handle(*given: object) -> None:
        handled.append(given)

    (cage.work / folder).mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(cage.work / folder)
    monkeypatch.setattr(os, "execvpe", execute)
    monkeypatch.setattr(signal, "signal", handle)
    with pytest.raises(Left, match="126"):
        caged._become(["program"], cage.work, {})
    assert Path.cwd() == cage.work / folder
    # Python ignores them, and what it starts would, too.
    assert handled == [(signal.SIGPIPE, signal.SIG_DFL), (signal.SIGXFSZ, signal.SIG_DFL)]


def test_an_interface_is_brought_up_and_stays_as_it_is_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[tuple[int, bytes]] = []

    def ioctl(sock: object, request: int, given: bytes) -> bytes:
        calls.append((request, given))
        return struct.pack("16sH14x", b"lo", 0x48)

    monkeypatch.setattr("fcntl.ioctl", ioctl)
    caged._bring_up("lo")
    # SIOCGIFFLAGS and SIOCSIFFLAGS, of which the second adds IFF_UP
    assert calls == [
        (0x8913, struct.pack("16sH14x", b"lo", 0)),
        (0x8914, struct.pack("16sH14x", b"lo", 0x49)),
    ]


def test_who_cannot_have_a_network_for_another_reason_gets_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[tuple[object, ...]] = []

    def call(*arguments: object) -> None:
        calls.append(arguments)
        raise OSError(errno.ENOSPC, "too many")

    monkeypatch.setattr(caged, "_call", call)
    with pytest.raises(OSError, match="too many"):
        caged._unshare()
    assert calls == [("unshare", 0x40000000)]


def test_who_is_not_root_gets_a_namespace_of_users(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[tuple[object, ...]] = []
    written: dict[str, str] = {}

    def call(*arguments: object) -> None:
        calls.append(arguments)
        if len(calls) == 1:
            raise PermissionError

    def write(path: Path, text: str, encoding: str) -> None:
        written[str(path)] = text

    monkeypatch.setattr(caged, "_call", call)
    monkeypatch.setattr(Path, "write_text", write)
    caged._unshare()

    assert calls == [("unshare", 0x40000000), ("unshare", 0x50000000)]
    # The kernel takes a map of groups only after `setgroups` was given up.
    assert list(written.items()) == [
        ("/proc/self/setgroups", "deny"),
        ("/proc/self/uid_map", f"{os.geteuid()} {os.geteuid()} 1"),
        ("/proc/self/gid_map", f"{os.getegid()} {os.getegid()} 1"),
    ]


def test_a_call_that_fails_says_so() -> None:
    with pytest.raises(OSError, match="prctl"):
        caged._call("prctl", 2**31, 0, 0, 0, 0)


LETTING_GO = """
import os, sys
from pathlib import Path
from claudewire.testing.cage.warden import let_go_of_files
kept, other = os.pipe()
let_go_of_files(other, Path(sys.argv[1]))
still = [it for it in range(3, 256) if os.path.exists(f"/proc/self/fd/{it}")]
print([it == other for it in still], os.readlink("/proc/self/fd/0"), flush=True)
"""


def test_a_warden_closes_all_files_but_one(tmp_path: Path) -> None:
    log = tmp_path / "log"
    subprocess.run([sys.executable, "-c", LETTING_GO, str(log)], check=True, timeout=60)
    assert log.read_text(encoding="utf-8") == "[True] /dev/null\n"


@pytest.fixture
def reports() -> list[str]:
    return []


def watch(cage: Cage, program: subprocess.Popen[bytes], reports: list[str]) -> None:
    """Be the warden of a program that ends when the warden is ready."""

    def report(text: str) -> None:
        reports.append(text)
        program.kill()

    with pytest.raises(Left, match="0"):
        warden.be_warden(cage.folder, program.pid, warden.network(), "MARK", report)


@pytest.mark.usefixtures("leaving")
def test_a_warden_stands_watch_until_the_program_ends(
    cage: Cage, reports: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions: list[bool] = []
    monkeypatch.setattr(os, "setsid", lambda: sessions.append(True))
    with ended(subprocess.Popen(["sleep", "60"])) as program:
        watch(cage, program, reports)

    (report,) = reports
    assert report.startswith("url http://127.0.0.1:")
    assert sessions == [True]


@pytest.mark.usefixtures("leaving")
def test_a_warden_that_cannot_start_says_why(
    cage: Cage, reports: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "setsid", lambda: None)
    (cage.folder / SCRIPT).write_text("[]", encoding="utf-8")
    with ended(subprocess.Popen(["sleep", "60"])) as program:
        watch(cage, program, reports)

    assert "script.json is not a valid script" in reports[0]


@pytest.mark.parametrize(
    ("report", "message"),
    [(b"error bad luck", "did not start: bad luck"), (b"", "gave no reason")],
)
def test_a_report_is_waited_for(
    report: bytes, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, write = os.pipe()
    os.write(write, report)
    monkeypatch.setattr(os, "pipe", lambda: (read, write))
    monkeypatch.setattr(os, "fork", lambda: 1)
    monkeypatch.setattr(os, "waitpid", lambda *_: None)
    with pytest.raises(CageError, match=message):
        warden.post_warden(Path(), 0, "MARK")


def test_a_report_is_made_once() -> None:
    read, write = os.pipe()
    report = warden._Report(write)
    report("first")
    report("second")
    with open(read, encoding="utf-8") as pipe:
        assert pipe.read() == "first"


def test_a_warden_that_does_not_go_is_told_once_and_reported(
    cage: Cage, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(warden, "_TRIES", 2)
    monkeypatch.setattr(os, "kill", lambda *call: told.append(call))
    with warden.signed_in(cage.folder), pytest.raises(CageError, match=f"{os.getpid()}"):
        warden.dismiss_wardens(cage.folder)
    assert told == [(os.getpid(), signal.SIGTERM)]


def test_a_warden_may_end_just_before_it_is_dismissed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    on_duty = iter([[gone.pid], []])
    monkeypatch.setattr(warden, "_on_duty", lambda _: next(on_duty))
    warden.dismiss_wardens(tmp_path)


@pytest.mark.unmeasured
def test_a_warden_is_no_process_of_the_program_which_is_marked(cage: Cage) -> None:
    env = {**os.environ, PROCESS_MARK: "m-1"}
    command = cage.command(["sh", "-c", "cat /proc/self/environ; echo; read -r _"])
    with ended(subprocess.Popen(command, env=env, stdin=-1, stdout=-1)) as program:
        assert program.stdout is not None
        assert f"{PROCESS_MARK}=m-1".encode() in program.stdout.readline()
        (file,) = (cage.folder / "wardens").iterdir()
        assert PROCESS_MARK.encode() not in Path(f"/proc/{file.name}/environ").read_bytes()
        program.communicate(timeout=PATIENCE)
