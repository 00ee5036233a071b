"""`doctor`: finds what is wrong, says what to do, and changes nothing."""

from __future__ import annotations

import io
import json
import os
import platform
import shutil
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import anyio
import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest
from tests.cli.running import Done, Runner
from tests.cli.wire.printed import SCHEMAS
from tests.people.asking import use

from claudewire import __version__
from claudewire.cli.doctor import leftovers as leaving
from claudewire.cli.doctor import probe as probing
from claudewire.cli.doctor import surroundings
from claudewire.cli.doctor.command import _View as View
from claudewire.cli.doctor.leftovers import leftovers
from claudewire.cli.doctor.probe import Seen, probe, real_turn
from claudewire.cli.doctor.report import Check
from claudewire.cli.doctor.surroundings import Settings, Surroundings
from claudewire.options import Options
from claudewire.people import PermissionRequest
from claudewire.simulator import SimulatedCLI
from claudewire.testing import APIScript, APIToolUse
from claudewire.transport import Launch, RecordingTransport
from claudewire.wire import PermissionResultAllow

SOON = 60
DAY = 86400


@pytest.fixture
def place(tmp_path: Path) -> Surroundings:
    """A home, a project, and no CLI."""
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    env = {"HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "bin")}
    return Surroundings(env, tmp_path / "project")


def write(path: Path, data: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")


def program(path: Path, script: str) -> str:
    write(path, f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def simulated(folder: Path) -> str:
    """Make a program that is the simulated CLI."""
    return program(folder / "claude", f'exec {sys.executable} -m claudewire.simulator "$@"')


# --- the CLI -------------------------------------------------------------------------------------


def test_without_a_cli_it_says_where_it_looked_and_what_to_do(place: Surroundings) -> None:
    (check,) = place.program()
    assert (check.name, check.status) == ("cli", "problem")
    assert check.message.startswith("There is no `claude` here")
    assert any("bin" in it for it in check.details)
    assert "npm install" in check.advice


def test_what_is_wrong_with_the_search_for_a_cli_is_not_taken_for_its_absence(
    place: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(*given: object) -> None:
        raise KeyError("a defect")

    monkeypatch.setattr(surroundings, "find_cli", find)
    with pytest.raises(KeyError):
        [*place.program()]


def test_the_cli_is_named_with_those_that_it_hides(place: Surroundings, tmp_path: Path) -> None:
    used = program(tmp_path / "bin" / "claude", "echo 2.1.325 '(Claude Code)'")
    other = program(tmp_path / "other" / "claude", "echo 1.0.0")
    path = f"{tmp_path / 'bin'}:{tmp_path / 'other'}:/bin:/usr/bin"
    place = replace(place, env={**place.env, "PATH": path})
    cli, version = place.program()
    assert (cli.status, cli.message, cli.facts["others"]) == ("ok", used, [other])
    assert (version.status, version.message) == ("ok", "2.1.325 (Claude Code)")
    place = Surroundings({**place.env, "CLAUDE_CODE_PATH": other}, place.cwd)
    cli, version = place.program()
    assert cli == Check(
        name="cli",
        status="ok",
        message=f"{other} (CLAUDE_CODE_PATH says so)",
        details=[f"there is another one, which is not used: {used}"],
        facts={"command": [other], "others": [used]},
    )
    assert version.status == "warning"
    cli, _ = replace(place, cli=other).program()
    assert cli.message == other


def test_the_simulated_cli_is_not_looked_for(place: Surroundings) -> None:
    words = "the simulated CLI, inside claudewire"
    assert [*replace(place, cli="simulated").program()] == [
        Check(name="cli", status="info", message=words)
    ]


def test_the_version_is_asked_with_a_configuration_of_its_own(
    place: Surroundings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []
    late = subprocess.TimeoutExpired("claude", 20)
    answers: list[bytes | Exception] = [b"2.1.325", late, KeyError("a defect")]

    def run(command: list[str], **how: Any) -> Any:
        asked.append(how)
        assert command == [cli, "--version"]
        assert Path(how["cwd"]).is_dir()
        if isinstance(answer := answers.pop(0), Exception):
            raise answer
        return subprocess.CompletedProcess(command, 0, answer, b"")

    cli = program(tmp_path / "claude", "")
    place = replace(place, cli=cli, env={**place.env, "DISABLE_TELEMETRY": "0"})
    monkeypatch.setattr(subprocess, "run", run)
    times = iter([1.0, 2.23456, 3.0, 4.0])
    monkeypatch.setattr(surroundings, "time", SimpleNamespace(monotonic=lambda: next(times)))
    assert place.version().seconds == 1.235
    folder = asked[0]["cwd"]
    assert Path(folder).name.startswith("claudewire-doctor-")
    assert not Path(folder).exists()
    assert asked[0] == {
        "env": {**place.env, **surroundings.isolated(folder)},
        "cwd": folder,
        "stdin": subprocess.DEVNULL,
        "capture_output": True,
        "timeout": 20.0,
    }
    assert place.version() == Check(
        name="version",
        status="problem",
        message="`--version` failed: Command 'claude' timed out after 20 seconds",
        advice="Try it yourself: it should print its version and exit.",
    )
    with pytest.raises(KeyError):
        place.version()


@pytest.mark.parametrize(
    ("script", "status", "words"),
    [
        ("echo 9.9.9", "info", "newer than what was tried"),
        ("echo 0.2.9", "warning", "older than any that was tried"),
        ("echo no; echo broken >&2; exit 3", "problem", "exits with 3 and prints no version"),
    ],
)
def test_the_version_is_judged(
    place: Surroundings, tmp_path: Path, script: str, status: str, words: str
) -> None:
    place = replace(place, cli=program(tmp_path / "claude", script))
    check = place.version()
    assert check.status == status
    assert words in check.message


def test_a_cli_that_cannot_be_run_is_a_problem(place: Surroundings, tmp_path: Path) -> None:
    place = replace(place, cli=str(tmp_path / "claude"))
    write(tmp_path / "claude", "#!/no/such/interpreter\n")
    (tmp_path / "claude").chmod(0o755)
    assert place.version().status == "problem"


# --- files ---------------------------------------------------------------------------------------


def test_a_configuration_that_can_be_written_is_fine(place: Surroundings, tmp_path: Path) -> None:
    assert place.configuration().status == "ok"
    assert "does not exist yet" in place.configuration().message
    assert place.config == tmp_path / "home" / ".claude"
    assert place.state == tmp_path / "home" / ".claude.json"
    other = Surroundings({**place.env, "CLAUDE_CONFIG_DIR": "/x"}, place.cwd)
    assert (other.config, other.state) == (Path("/x"), Path("/x/.claude.json"))


def test_without_a_home_it_is_that_of_the_user(
    place: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    for env in ({}, {"HOME": ""}):
        assert Surroundings(env, place.cwd).config == Path("/home/ada/.claude")


def refusing(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Let this path be one that cannot be accessed, also for root."""
    real = os.access
    monkeypatch.setattr(os, "access", lambda it, mode: Path(it) != path and real(it, mode))


def test_a_configuration_that_cannot_be_written_is_a_problem(
    place: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(place.state, {})
    refusing(monkeypatch, place.state)
    advice = f"Make it yours (chown, chmod), or set CLAUDE_CONFIG_DIR. It is {place.config}."
    problem = Check(
        name="config",
        status="problem",
        message=f"{place.state} cannot be read and written",
        advice=advice,
        facts={"config": str(place.config), "state": str(place.state)},
    )
    assert place.configuration() == problem
    refusing(monkeypatch, place.home)
    message = f"{place.home} cannot be written, so the CLI fails or hangs without a word"
    assert place.configuration() == msgspec.structs.replace(problem, message=message)
    monkeypatch.undo()
    write(place.config, "a file")
    message = f"{place.config} cannot be written, so the CLI fails or hangs without a word"
    place.config.chmod(0o755)
    assert place.configuration() == msgspec.structs.replace(problem, message=message)


def test_a_configuration_is_written_and_read_and_entered(
    place: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(place.state, {})
    asked: list[tuple[Path, int]] = []

    def access(path: Path, mode: int) -> bool:
        asked.append((path, mode))
        return True

    monkeypatch.setattr(os, "access", access)
    assert place.configuration().status == "ok"
    assert asked == [(place.home, os.W_OK | os.X_OK), (place.state, os.R_OK | os.W_OK)]


def test_a_configuration_that_may_not_be_looked_for_is_no_error(place: Surroundings) -> None:
    """Its name is too long, since root may look into every folder."""
    other = Surroundings({**place.env, "CLAUDE_CONFIG_DIR": f"/{'x' * 300}/y"}, place.cwd)
    assert other.configuration().facts["config"] == f"/{'x' * 300}/y"
    assert other.login().name == "login"


def test_a_disk_that_is_almost_full_is_a_warning(
    place: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage, free = shutil.disk_usage(place.home), 100 * 2**20
    asked: list[Path] = []

    def disk_usage(path: Path) -> Any:
        asked.append(path)
        return usage._replace(free=free)

    monkeypatch.setattr(shutil, "disk_usage", disk_usage)
    facts = place.configuration().facts
    assert place.configuration() == Check(
        name="config",
        status="ok",
        message=f"{place.config}, which does not exist yet, can be written",
        facts=facts,
    )
    free -= 1
    assert place.configuration() == Check(
        name="config",
        status="warning",
        message=f"only 99 MiB are free where {place.config} is",
        advice="Free some space: a transcript that cannot be written is lost.",
        facts=facts,
    )
    assert {*asked} == {place.home}
    place.config.mkdir()
    free += 1
    assert place.configuration().message == f"{place.config}, can be written"
    assert facts == {"config": str(place.config), "state": str(place.state)}


def test_a_login_is_recognised_and_never_read(place: Surroundings, tmp_path: Path) -> None:
    assert place.login().status == "warning"
    secret = "sk-ant-secret"
    given = Surroundings({**place.env, "ANTHROPIC_API_KEY": secret}, place.cwd)
    assert given.login().message == "the variable ANTHROPIC_API_KEY"
    assert secret not in repr(given.login())
    write(place.config / ".credentials.json", secret)
    write(place.config / "settings.json", {"apiKeyHelper": "x"})
    check = Surroundings(place.env, place.cwd).login()
    assert check.message == "apiKeyHelper of the user settings, a login of `claude`"
    assert secret not in repr(check)


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
    ],
)
def test_each_variable_that_logs_in_is_named(place: Surroundings, name: str) -> None:
    assert Surroundings({**place.env, name: "1"}, place.cwd).login() == Check(
        name="login",
        status="ok",
        message=f"the variable {name}",
        facts={"variables": [name], "helpers": []},
    )


def test_no_login_can_be_seen_on_a_mac(
    place: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert place.login() == Check(
        name="login",
        status="info",
        message="none is visible, and the keychain is not looked into",
        facts={"variables": [], "helpers": []},
    )


@pytest.mark.parametrize(
    ("system", "managed"),
    [
        ("linux", "/etc/claude-code/managed-settings.json"),
        ("darwin", "/Library/Application Support/ClaudeCode/managed-settings.json"),
    ],
)
def test_settings_are_looked_for_where_the_cli_looks(
    place: Surroundings, system: str, managed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[tuple[str, Path]] = []
    monkeypatch.setattr(Settings, "read", lambda scope, path: looked.append((scope, path)))
    monkeypatch.setattr(sys, "platform", system)
    assert place.settings == []
    assert looked == [
        ("managed", Path(managed)),
        ("user", place.config / "settings.json"),
        ("project", place.cwd / ".claude" / "settings.json"),
        ("local", place.cwd / ".claude" / "settings.local.json"),
    ]


def test_windows_is_a_problem(place: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    python = platform.python_version()
    words = f"claudewire {__version__}, Python {python}, {platform.system()}"
    assert place.system() == Check(name="system", status="ok", message=words)
    monkeypatch.setattr(sys, "platform", "win32")
    assert place.system() == Check(
        name="system",
        status="problem",
        message=f"{words}: no CLI can be started on Windows",
        advice="Use Linux, macOS or WSL.",
    )


def test_everything_is_looked_at_in_this_order(place: Surroundings) -> None:
    assert [it.name for it in place.checks()] == [
        *("system", "cli", "config", "login", "trust", "settings", "permissions", "hooks"),
        *("sweep", "search"),
    ]


def test_trust_is_read_for_the_folder_and_those_above_it(
    place: Surroundings, tmp_path: Path
) -> None:
    assert place.trust().status == "info"
    write(place.state, {"projects": {str(tmp_path): {"hasTrustDialogAccepted": True}}})
    assert place.trust().message == f"{tmp_path} is trusted"
    for broken in ("{", "[]", '{"projects": []}', '{"projects": {"/": 1}}'):
        write(place.state, broken)
        assert place.trust().status == ("problem" if broken == "{" else "info")


def test_what_the_cli_remembers_may_be_unreadable_in_several_ways(place: Surroundings) -> None:
    write(place.state, "[" * 100_000)
    check = place.trust()
    assert check.status == "problem"
    assert check.message.startswith(f"{place.state} cannot be read: maximum recursion depth")
    place.state.unlink()
    place.state.mkdir()
    assert place.trust() == Check(
        name="trust",
        status="problem",
        message=f"{place.state} cannot be read: [Errno 21] Is a directory: '{place.state}'",
        advice="Repair it, or move it away: the CLI then starts anew, and asks again.",
    )


def test_a_folder_that_brings_hooks_and_is_not_trusted_is_a_warning(place: Surroundings) -> None:
    write(place.cwd / ".claude" / "settings.json", {"hooks": {"Stop": []}})
    check = place.trust()
    assert check.status == "warning"
    assert "setting_sources=[]" in check.advice


def test_settings_that_cannot_be_read_are_problems(place: Surroundings) -> None:
    write(place.config / "settings.json", "{")
    write(place.cwd / ".claude" / "settings.json", "[]")
    write(place.cwd / ".claude" / "settings.local.json", {})
    user, project, rest = place.settings_files()
    assert (user.status, project.status, rest.status) == ("problem", "problem", "ok")
    assert "it is not a JSON object" in project.message
    assert rest.message == "1 settings file"


def test_settings_may_be_unreadable_in_several_ways(place: Surroundings) -> None:
    write(place.config / "settings.json", "[" * 100_000)
    (place.cwd / ".claude" / "settings.json").mkdir(parents=True)
    user, project, rest = place.settings_files()
    assert "cannot be read: maximum recursion depth" in user.message
    assert "cannot be read: [Errno 21] Is a directory" in project.message
    assert rest.message == "there are no settings files"
    shutil.rmtree(place.cwd / ".claude")
    write(place.cwd / ".claude", "a file, so there are no settings in it")
    assert [it.scope for it in Surroundings(place.env, place.cwd).settings] == ["user"]


@pytest.mark.parametrize(
    ("permissions", "status", "words"),
    [
        ({}, "ok", "settings allow nothing without asking"),
        ({"allow": ["Read", 5], "deny": "x"}, "ok", "1 rule of settings allow something"),
        ({"allow": ["Bash"]}, "warning", "settings allow every command: Bash"),
        ({"defaultMode": "bypassPermissions"}, "warning", "which asks nobody"),
    ],
)
def test_what_settings_allow_without_asking_is_said(
    place: Surroundings, permissions: dict[str, Any], status: str, words: str
) -> None:
    write(place.config / "settings.json", {"permissions": permissions})
    check = place.permission_order()
    assert check.status == status
    assert words in check.message
    assert len(check.details) == 5


def test_hooks_of_settings_are_named(place: Surroundings) -> None:
    write(place.config / "settings.json", {"hooks": {"Stop": [], "PreToolUse": []}})
    check = place.hooks()
    assert check.details == ["user: PreToolUse", "user: Stop"]
    write(place.cwd / ".claude" / "settings.json", {"disableAllHooks": True})
    assert Surroundings(place.env, place.cwd).hooks().status == "warning"


def test_the_day_on_which_transcripts_are_deleted_is_named(place: Surroundings) -> None:
    assert place.sweep().status == "ok"
    now = time.time()
    for name, days in {"old": 25, "new": 1}.items():
        path = place.config / "projects" / "-p" / f"{name}.jsonl"
        write(path, "")
        os.utime(path, (now - days * DAY, now - days * DAY))
    check = place.sweep()
    day = time.strftime("%Y-%m-%d", time.localtime(now + 5 * DAY))
    assert check.status == "warning"
    assert f"deletes 1 of 2 transcripts within 7 days, from {day} on" in check.message
    assert "claudewire sessions archive" in check.advice
    (place.config / "projects" / "-p" / "gone.jsonl").symlink_to("nowhere")
    assert "deletes 1 of 3 transcripts" in place.sweep().message
    write(place.config / "settings.json", {"cleanupPeriodDays": 365})
    later = Surroundings(place.env, place.cwd).sweep()
    assert (later.status, later.facts["days"]) == ("ok", 365)


@pytest.mark.parametrize(("seconds", "soon"), [(0, 0), (1, 1)])
def test_a_transcript_is_soon_deleted_if_less_than_seven_days_are_left(
    place: Surroundings, seconds: int, soon: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_800_000_000
    frozen = SimpleNamespace(
        time=lambda: float(now), strftime=time.strftime, localtime=time.localtime
    )
    monkeypatch.setattr(surroundings, "time", frozen)
    path = place.config / "projects" / "-p" / "a.jsonl"
    write(path, "")
    then = now - 23 * DAY - seconds
    os.utime(path, (then, then))
    assert place.sweep().facts.get("soon") == soon


def test_sqlite_without_full_text_search_is_said(
    place: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = sqlite3.sqlite_version
    assert place.search() == Check(
        name="search", status="ok", message=f"SQLite {version} with FTS5"
    )
    calls: list[str] = []
    errors = [sqlite3.OperationalError("no such module: fts5"), sqlite3.DatabaseError()]

    class Old:
        def execute(self, sql: str) -> None:
            calls.append(sql)
            raise errors.pop(0)

        def close(self) -> None:
            calls.append("close")

    def connect(path: str) -> Old:
        calls.append(path)
        return Old()

    monkeypatch.setattr(sqlite3, "connect", connect)
    assert place.search() == Check(
        name="search",
        status="info",
        message="SQLite has no FTS5, so searching in transcripts is slow",
    )
    assert calls == [":memory:", "create virtual table t using fts5(x)", "close"]
    with pytest.raises(sqlite3.DatabaseError):
        place.search()


# --- leftovers -----------------------------------------------------------------------------------


def process(proc: Path, pid: int, parent: int, words: str, marked: bool) -> None:
    environ = "A=1\0CLAUDEWIRE_PROCESS=x\0" if marked else "A=1\0"
    write(proc / str(pid) / "environ", environ)
    write(proc / str(pid) / "cmdline", words.replace(" ", "\0"))
    write(proc / str(pid) / "stat", f"{pid} (a (b) c) S {parent} 1 1")


def test_processes_without_an_owner_and_old_folders_are_named(tmp_path: Path) -> None:
    proc, temporary = tmp_path / "proc", tmp_path / "tmp"
    process(proc, 1, 0, "init", False)
    process(proc, 7, 1, "python app.py", False)
    process(proc, 8, 7, "claude of a living program", True)
    process(proc, 20, 1, "claude of a dead one", True)
    process(proc, 21, 20, "its child", True)
    (proc / "30").mkdir()  # has just ended
    (temporary / "claudewire-old").mkdir(parents=True)
    (temporary / "claudewire-new").mkdir()
    os.utime(temporary / "claudewire-old", (0, 0))
    check = leftovers(proc, temporary)
    assert check.status == "warning"
    assert check.message == "2 processes and 1 folder seem to be left over"
    assert sorted(check.facts["processes"]) == [20, 21]
    assert check.facts["folders"] == [str(temporary / "claudewire-old")]
    # In a container a program may itself be the first process.
    process(proc, 1, 0, "python app.py", False)
    assert leftovers(proc, temporary).facts["processes"] == []


def test_where_there_is_nothing_it_says_so(tmp_path: Path) -> None:
    assert "processes cannot be looked at here" in leftovers(tmp_path, tmp_path).message
    (tmp_path / "self").mkdir()
    assert leftovers(tmp_path, tmp_path).message == "nothing is left of dead sessions"


@pytest.mark.parametrize(("age", "found"), [(3600, False), (3601, True)])
def test_only_old_folders_of_this_user_are_named(
    tmp_path: Path, age: int, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, gone = tmp_path / "claudewire-a", tmp_path / "claudewire-gone"
    for path in (folder, gone):
        path.mkdir()
    (tmp_path / "claudewire-file").touch()
    for path in (folder, tmp_path / "claudewire-file"):
        os.utime(path, (10_000 - age, 10_000 - age))
    lstat = Path.lstat

    def look(path: Path) -> os.stat_result:
        if path == gone:
            raise FileNotFoundError
        return lstat(path)

    monkeypatch.setattr(Path, "lstat", look)
    monkeypatch.setattr(leaving, "time", SimpleNamespace(time=lambda: 10_000.0))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "proc" / "self").mkdir(parents=True)
    nothing = Check(name="leftovers", status="ok", message="nothing is left of dead sessions")
    assert leftovers(tmp_path / "proc") == (
        Check(
            name="leftovers",
            status="warning",
            message="0 processes and 1 folder seem to be left over",
            advice="If you know no program that uses them: "
            "end these processes, delete these folders.",
            details=[f"folder {folder}"],
            facts={"processes": [], "folders": [str(folder)]},
        )
        if found
        else nothing
    )
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "win32")
        assert leftovers(tmp_path / "proc") == nothing
    monkeypatch.setattr(os, "getuid", lambda: -1)
    assert leftovers(tmp_path / "proc") == nothing


def test_folders_are_named_in_order(tmp_path: Path) -> None:
    for name in "dbeacf":
        (tmp_path / f"claudewire-{name}").mkdir()
        os.utime(tmp_path / f"claudewire-{name}", (0, 0))
    folders = leftovers(tmp_path, tmp_path).facts["folders"]
    assert folders == [str(tmp_path / f"claudewire-{name}") for name in "abcdef"]


def test_processes_of_this_system_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Path] = []

    def marked(proc: Path) -> list[Any]:
        looked.append(proc)
        return []

    monkeypatch.setattr(leaving, "_marked", marked)
    leftovers(folder=tmp_path)
    assert looked == [Path("/proc")]


def test_a_process_whose_parent_cannot_be_read_is_left_alone(tmp_path: Path) -> None:
    proc = tmp_path / "proc"
    process(proc, 1, 0, "init", False)
    process(proc, 20, 1, "claude", True)
    for text in ("", "20 (a) S", "20 (1 1 1) S 7 1"):
        write(proc / "20" / "stat", text)
        assert leftovers(proc, tmp_path).status == "ok"
    write(proc / "20" / "stat", "20 (a) S 1")
    (proc / "20" / "cmdline").write_bytes(b"cla\xffude\0")
    assert leftovers(proc, tmp_path).details == ["process 20: cla\ufffdude"]


# --- the trial -----------------------------------------------------------------------------------


def tried(place: Surroundings) -> list[Check]:
    async def bounded() -> list[Check]:
        with anyio.fail_after(SOON):
            return await probe(place)

    return anyio.run(bounded)


def test_the_model_of_the_trial_calls_a_tool_that_there_is(place: Surroundings) -> None:
    (server,) = probing._arguments(place, "", "", Seen())["tools"]
    assert (server.name, [*server.tools]) == (probing.SERVER, [probing.TOOL])


def test_the_handshake_is_timed_step_by_step(place: Surroundings, tmp_path: Path) -> None:
    place = replace(place, env={**os.environ, **place.env, "PATH": os.environ["PATH"]})
    place = replace(place, cli=simulated(tmp_path))
    handshake, trial = tried(place)
    assert handshake.status == "ok"
    assert [*handshake.facts["steps"]] == [
        "the start of the process",
        "until it said something",
        "the answer to initialize",
        "from the prompt to the first words",
        "the whole turn",
        "the end of the process",
    ]
    assert (trial.status, trial.name) == ("skipped", "trial")


SCENARIO = """
async def trial(chat):
    await chat.use("Bash", {"command": "python3 -c 'print(1)'"})
    await chat.use("mcp__doctor__repeat", {"word": "hello"})
    await chat.say("Done.")
"""


def test_the_trial_answers_hooks_permissions_and_calls_of_tools(
    place: Surroundings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "trial.py", SCENARIO)
    monkeypatch.setenv("CLAUDEWIRE_SIM_SCENARIO", f"{tmp_path / 'trial.py'}:trial")
    seen = Seen()
    place = replace(place, cli=simulated(tmp_path))

    async def watched() -> None:
        with anyio.fail_after(SOON):
            await probing._watch(place, str(tmp_path), "http://127.0.0.1:1", seen)

    anyio.run(watched)
    assert seen.error is None
    assert seen.called == "hello"
    assert seen.order[:2] == ["hook Bash", "permission Bash"]
    told = " ".join(it.entry.text for it in seen.timeline().steps if it.kind == "answer")
    assert "Only a trial: nothing is run." in told
    assert '"text":"hello"' in told.replace(": ", ":")


def test_only_a_command_is_denied_in_the_trial(place: Surroundings) -> None:
    decide = probing._arguments(place, "", "", Seen())["on_permission"]
    denied = decide(PermissionRequest(use("Bash", {"command": "ls"})))
    assert denied.message == "Only a trial: nothing is run."
    allowed = decide(PermissionRequest(use("mcp__doctor__repeat", {"word": "hello"})))
    assert isinstance(allowed, PermissionResultAllow)


def test_the_model_of_the_trial_tries_a_command_and_a_tool(
    place: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    class Model(AbstractAsyncContextManager["Model"]):
        url = "http://model"
        turns = (1, 2, 3)

        def __init__(self, script: Any) -> None:
            seen.append(script)

        async def __aexit__(self, *_: object) -> None:
            return None

    async def watch(where: Surroundings, folder: str, url: str, noted: Seen) -> None:
        assert await anyio.Path(folder).is_dir()
        seen.append((where, Path(folder).name[:18], url))
        noted.order, noted.called = ASKED, "hello"
        noted.recording.write(b'{"claudewire": 1}\n')

    monkeypatch.setattr("claudewire.testing.ScriptedAPI", Model)
    monkeypatch.setattr(probing, "_watch", watch)
    names = [(it.name, it.status) for it in tried(place)]
    assert names == [
        ("handshake", "info"),
        *((it, "ok") for it in ("permission", "application hooks", "application tools")),
    ]
    script, watched = seen
    assert watched == (place, "claudewire-doctor-", "http://model")
    trial = {"command": "python3 -c 'print(1)'", "description": "A trial"}
    tool = APIToolUse("mcp__doctor__repeat", {"word": "hello"})
    wanted = APIScript(default="Done.").on("Try it.", APIToolUse("Bash", trial), tool, "Done.")
    assert steps_of(script) == steps_of(wanted)


def steps_of(script: APIScript) -> list[Any]:
    steps: list[Any] = [script._default]
    for rule in script._rules:
        steps += [rule.match, *rule.replies]
    return [it if isinstance(it, str) else vars(it) for it in steps]


def test_a_simulated_cli_is_tried_and_recorded(
    place: Surroundings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([1.0, 2.23456])
    monkeypatch.setattr(probing, "time", SimpleNamespace(monotonic=lambda: next(times)))
    seen = Seen()
    place = replace(place, cli="simulated")
    anyio.run(probing._watch, place, str(tmp_path), "http://127.0.0.1:1", seen)
    assert (seen.error, seen.started, seen.closed) == (None, None, 1.235)
    assert {it.kind for it in seen.timeline().steps} >= {"request", "answer"}


def test_the_start_of_a_process_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([1.0, 1.12345678])
    monkeypatch.setattr(probing, "time", SimpleNamespace(monotonic=lambda: next(times)))

    async def start(launch: Launch) -> SimulatedCLI:
        return SimulatedCLI()

    async def connected(seen: Seen) -> None:
        connect: Any = probing._recorded(Options(cli="/bin/claude"), seen)
        transport = await connect(Launch(("claude",), {}))
        assert isinstance(transport, RecordingTransport)
        await transport.aclose()

    monkeypatch.setattr(probing, "spawn", start)
    seen = Seen()
    anyio.run(connected, seen)
    assert seen.started == 0.123457


def test_a_defect_is_not_taken_for_a_problem_of_the_cli(
    place: Surroundings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("a defect")

    monkeypatch.setattr(probing, "Session", broken)
    with pytest.raises(KeyError):
        turned(place)
    with pytest.raises(KeyError):
        anyio.run(probing._watch, place, str(tmp_path), "http://127.0.0.1:1", Seen())
    monkeypatch.setitem(sys.modules, "claudewire.testing", ModuleType("empty"))
    with pytest.raises(ImportError):
        tried(place)


def test_a_cli_that_dies_is_a_problem_with_its_last_words(
    place: Surroundings, tmp_path: Path
) -> None:
    place = replace(place, cli=program(tmp_path / "claude", "echo I cannot >&2; exit 3"))
    (handshake,) = tried(place)
    assert handshake.status == "problem"
    assert "stderr: I cannot" in handshake.details
    assert handshake.advice


def test_a_cli_that_says_nothing_is_a_problem_after_a_while(
    place: Surroundings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "LONGEST", 0.2)
    place = replace(place, cli=program(tmp_path / "claude", "exec cat >/dev/null"))
    (handshake,) = tried(place)
    assert (handshake.status, handshake.message) == (
        "problem",
        "the trial session failed: it took more than 0.2 s",
    )


def test_without_h11_the_trial_is_skipped(
    place: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "claudewire.testing", None)
    assert tried(place) == [
        Check(
            name="handshake",
            status="skipped",
            message="the scripted API needs h11",
            advice="pip install 'claudewire[api]', and the handshake is tried as well.",
        )
    ]


ASKED = ["hook Bash", "permission Bash", "hook mcp__doctor__repeat"]


@pytest.mark.parametrize(
    ("order", "called", "statuses"),
    [
        (ASKED, "hello", ["ok", "ok", "ok"]),
        (["permission Bash", "hook Bash"], "", ["ok", "info", "problem"]),
        ([], "", ["problem", "problem", "problem"]),
    ],
)
def test_what_was_seen_is_judged(order: list[str], called: str, statuses: list[str]) -> None:
    seen = Seen()
    seen.order, seen.called, seen.api = order, called, 3
    seen.recording.write(b'{"claudewire": 1}\n')
    handshake, *rest = probing._judge(seen)
    assert handshake.status == "info"  # there was no initialize in this recording
    assert [it.status for it in rest] == statuses


def test_a_slow_handshake_is_a_warning() -> None:
    from tests.recordings.written import answered, asked, written

    seen = Seen()
    slow = written((0, ">", asked("1", "initialize")), (11, "<", answered("1")))
    seen.recording.write(slow.dump())
    handshake, _ = probing._judge(seen)
    assert (handshake.status, handshake.seconds) == ("warning", 11)


# --- a real turn ---------------------------------------------------------------------------------


def turned(place: Surroundings, longest: float = SOON) -> Check:
    async def bounded() -> Check:
        return await real_turn(place, longest=longest)

    return anyio.run(bounded)


def test_a_real_turn_says_what_the_model_said_and_what_it_cost(place: Surroundings) -> None:
    place = replace(place, cli="simulated")
    check = turned(place)
    assert check.status == "ok"
    assert check.message.startswith("the model answered '")
    assert "cost_usd" in check.facts


@pytest.mark.parametrize(("cost", "words"), [(0.01234, ", 0.0123 USD"), (None, "")])
def test_a_real_turn_asks_for_one_word_and_leaves_nothing(
    place: Surroundings, cost: float | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    class Model(AbstractAsyncContextManager["Model"]):
        def __init__(self, options: Options) -> None:
            asked.append(options)

        async def __aexit__(self, *_: object) -> None:
            asked.append("closed")

        async def send(self, prompt: str) -> Any:
            asked.append(prompt)
            return SimpleNamespace(text=f"OK \n {'x' * 60}", cost_usd=cost)

    times = iter([1.0, 2.23456])
    monkeypatch.setattr(probing, "Session", Model)
    monkeypatch.setattr(probing, "time", SimpleNamespace(monotonic=lambda: next(times)))
    said = f"OK {'x' * 57}"
    assert turned(replace(place, cli="/bin/claude")) == Check(
        name="real turn",
        status="ok",
        message=f"the model answered '{said}' after 1.24 s{words}",
        seconds=1.235,
        facts={"cost_usd": cost, "text": said},
    )
    options, *rest = asked
    assert rest == ["Answer with the word OK, and nothing else.", "closed"]
    assert (options.cli, options.cwd) == ("/bin/claude", str(place.cwd))
    assert (options.max_turns, options.persist_session) == (1, False)
    assert options.person is not None


def test_a_real_turn_that_takes_too_long_is_a_problem(place: Surroundings, tmp_path: Path) -> None:
    place = replace(place, cli=program(tmp_path / "claude", "exec cat >/dev/null"))
    assert turned(place, 0.01) == Check(
        name="real turn", status="problem", message="it took more than 90 s"
    )


def test_a_real_turn_that_fails_is_a_problem(place: Surroundings, tmp_path: Path) -> None:
    place = replace(place, cli=program(tmp_path / "claude", "echo I cannot >&2; exit 1"))
    check = turned(place)
    assert (check.name, check.status) == ("real turn", "problem")
    assert check.message
    assert check.details == ["stderr: I cannot"]
    missing = turned(replace(place, cli=str(tmp_path / "none")))
    assert (missing.status, missing.details) == ("problem", [])
    assert missing.message.startswith("There is no file")
    assert missing.advice


# --- the command ---------------------------------------------------------------------------------


@pytest.fixture
def doctor(run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    (tmp_path / "home").mkdir()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))

    def call(*arguments: str) -> Done:
        return run("doctor", *arguments)

    return call


def everything(folder: Path) -> dict[str, tuple[int, float, bytes]]:
    """What there is in a folder, with content and times."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        found[str(path)] = (status.st_mode, status.st_mtime, content)
    return found


def test_doctor_shows_every_check_and_changes_nothing(
    doctor: Callable[..., Done], tmp_path: Path
) -> None:
    write(tmp_path / "home" / ".claude.json", {"numStartups": 1})
    write(tmp_path / "home" / ".claude" / "settings.json", {"model": "x"})
    before = everything(tmp_path / "home")
    done = doctor("--cli", simulated(tmp_path / "bin"), "-v")
    assert done.status == 0
    for name in ("cli", "version", "config", "login", "trust", "sweep", "leftovers", "handshake"):
        assert f" {name} " in done.out
    assert "the answer to initialize: " in done.out
    assert done.out.splitlines()[-1].startswith("Sessions work here; ")
    assert everything(tmp_path / "home") == before
    assert [*(tmp_path / "tmp").iterdir()] == []


def test_doctor_without_a_cli_exits_with_7(
    doctor: Callable[..., Done], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done = doctor("--cli", str(tmp_path / "nowhere"))
    assert done.status == 7
    assert "There is no file" in done.out
    assert "handshake" not in done.out


def test_doctor_exits_with_1_if_there_is_a_problem(
    doctor: Callable[..., Done], tmp_path: Path
) -> None:
    write(tmp_path / "home" / ".claude.json", "{")
    done = doctor("--cli", "simulated", "--no-start")
    assert done.status == 1
    assert "1 problem, " in done.out.splitlines()[-1]


VERSION = "echo 2.1.325"


@pytest.mark.parametrize(
    ("script", "state", "words", "tried", "status"),
    [
        (VERSION, "{}", "", ["probe"], 0),
        (VERSION, "{}", "--no-start", [], 0),
        (VERSION, "{}", "--real-turn", ["probe", "real_turn"], 0),
        (VERSION, "{}", "--real-turn --no-start", ["real_turn"], 0),
        (VERSION, "{", "--real-turn", ["probe", "real_turn"], 1),
        ("exit 1", "{}", "--real-turn", [], 1),
        (None, "{}", "--real-turn", [], 7),
    ],
)
def test_only_a_cli_that_can_be_started_is_tried(
    doctor: Callable[..., Done],
    tmp_path: Path,
    script: str | None,
    state: str,
    words: str,
    tried: list[str],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called: list[str] = []

    async def probe(place: Surroundings) -> list[Check]:
        called.append("probe")
        assert place.cwd == tmp_path / "here"
        return []

    async def real_turn(place: Surroundings) -> Check:
        called.append("real_turn")
        assert place.cwd == tmp_path / "here"
        return Check(name="real turn", status="ok", message="OK")

    monkeypatch.setattr("claudewire.cli.doctor.command.probe", probe)
    monkeypatch.setattr("claudewire.cli.doctor.command.real_turn", real_turn)
    write(tmp_path / "home" / ".claude.json", state)
    (tmp_path / "here").mkdir()
    cli = program(tmp_path / "claude", script) if script else str(tmp_path / "nowhere")
    done = doctor("--cli", cli, "--cwd", "here", *words.split())
    assert (called, done.status) == (tried, status)


def test_doctor_json_fits_its_schema(doctor: Callable[..., Done]) -> None:
    done = doctor("--cli", "simulated", "--json", "--real-turn")
    report = json.loads(done.out)
    schema = json.loads((SCHEMAS / "doctor.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(report)
    assert report["ok"] is True
    assert report["checks"][-1]["name"] == "real turn"


@pytest.mark.parametrize("width", [44, 60, 100])
def test_doctor_fits_into_a_narrow_window(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("claudewire.cli.doctor.command.width_of", lambda: width)
    view = View(verbose=True)
    long = "a message with several words, and a/path/" + "x" * 50
    view.show(Check(name="cli", status="problem", message=long, advice=long, details=[long]))
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) < width
    assert "".join(shown.split()).count("x" * 10) >= 3


@pytest.mark.parametrize(("encoding", "marks"), [("ascii", "+-!x-"), ("utf-8", "✓·!✗-")])
def test_marks_are_those_that_can_be_written(
    encoding: str, marks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stdout(io.StringIO):
        @property
        def encoding(self) -> str:  # type: ignore[override]
            return encoding

    stdout = Stdout()
    monkeypatch.setattr("sys.stdout", stdout)
    statuses: tuple[Any, ...] = ("ok", "info", "warning", "problem", "skipped")
    for status in statuses:
        View(verbose=False).show(Check(name="x", status=status, message="m"))
    assert [line[1] for line in stdout.getvalue().splitlines()] == [*marks]


@pytest.mark.parametrize("verbose", [False, True])
def test_details_of_what_is_wrong_are_always_shown(
    verbose: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    statuses: tuple[Any, ...] = ("ok", "info", "warning", "problem", "skipped")
    for status in statuses:
        View(verbose).show(Check(name="x", status=status, message="m", details=[f"a {status}"]))
    shown = capsys.readouterr().out
    assert [it for it in statuses if f"a {it}" in shown] == (
        [*statuses] if verbose else ["warning", "problem"]
    )


def test_doctor_looks_at_files_only_if_told_so(doctor: Callable[..., Done]) -> None:
    done = doctor("--cli", "simulated", "--no-start")
    assert done.out.splitlines()[-1].startswith("No problem was found")
