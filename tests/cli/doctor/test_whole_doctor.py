"""What is found in surroundings of every kind, and how it is shown: see tests/helpers/kept.py."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.running import Shown
from tests.helpers.kept import Kept, compact, normal
from tests.recordings.written import answered, asked, prompt, result, said, text, written

from claudewire.cli.doctor.command import _View as View
from claudewire.cli.doctor.leftovers import leftovers
from claudewire.cli.doctor.probe import Seen, _arguments, _judge
from claudewire.cli.doctor.report import Check, DoctorReport
from claudewire.cli.doctor.surroundings import Surroundings, _judged
from claudewire.errors import CLIError, Evidence
from claudewire.options import MEASURED
from claudewire.transport import PROCESS_MARK

Files = dict[str, Any]

DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b")

HOOKS = {"PreToolUse": [{"hooks": [{"type": "command", "command": "x"}]}], "Stop": []}
PLACES: dict[str, Files] = {
    "nothing": {},
    "broken files": {"home/.claude/settings.json": "{", "project/.claude/settings.json": "[]"},
    "settings": {
        "home/.claude/settings.json": {
            "permissions": {"allow": ["Read", "Bash(ls:*)"], "deny": ["Bash(rm:*)"]},
            "hooks": HOOKS,
            "env": {"A": "b"},
            "cleanupPeriodDays": 3,
        },
        "project/.claude/settings.json": {
            "permissions": {"allow": ["Write"], "ask": ["Edit"], "defaultMode": "plan"},
            "disableAllHooks": True,
        },
        "project/.claude/settings.local.json": {"apiKeyHelper": "x", "model": "opus"},
    },
    "logged in": {
        "home/.claude/.credentials.json": {"claudeAiOauth": {"accessToken": "x", "expiresAt": 1}},
        "home/.claude.json": {"projects": {}, "oauthAccount": {"emailAddress": "a@b.c"}},
    },
    "trusted": {"home/.claude.json": {"projects": {"PROJECT": {"hasTrustDialogAccepted": True}}}},
    "transcripts": {
        f"home/.claude/projects/-p/{name}.jsonl": "{}\n" for name in ("old", "new", "older")
    },
}
VARIABLES: dict[str, dict[str, str]] = {
    "": {},
    "key": {"ANTHROPIC_API_KEY": "k", "CLAUDECODE": "1", "CLAUDE_CODE_USE_BEDROCK": "1"},
    "config": {"CLAUDE_CONFIG_DIR": "CONFIG"},
}


def put(folder: Path, files: Files) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(
            text.replace("PROJECT", str(folder / "project")).replace("PARENT", str(folder)),
            encoding="utf-8",
        )
        if path.suffix == ".jsonl" and "old" in path.name:
            then = time.time() - 40 * 86400
            os.utime(path, (then, then))


def looked_at(place: Surroundings) -> list[Check]:
    """Return the checks that do not depend on this machine."""
    checks = [*place.program(), place.configuration(), place.login(), place.trust()]
    checks += [*place.settings_files(), place.permission_order(), place.hooks(), place.sweep()]
    return checks


@pytest.mark.parametrize("variables", VARIABLES)
@pytest.mark.parametrize("name", PLACES)
def test_what_is_found_is_as_it_was(kept: Kept, tmp_path: Path, name: str, variables: str) -> None:
    for folder in ("home", "project"):
        (tmp_path / folder).mkdir()
    put(tmp_path, PLACES[name])
    more = {
        key: it.replace("CONFIG", str(tmp_path / "c")) for key, it in VARIABLES[variables].items()
    }
    env = {"HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "bin"), **more}
    place = Surroundings(env, tmp_path / "project", cli=str(tmp_path / "none"))
    lines = [compact(msgspec.to_builtins(it)) for it in looked_at(place)]
    text = DATE.sub("<date>", normal("".join(f"{line}\n" for line in lines), folder=tmp_path))
    kept(f"{name.replace(' ', '-')}{variables and f'-{variables}'}.txt", text)


def permitted(**permissions: Any) -> Files:
    return {"project/.claude/settings.json": {"permissions": permissions}}


ACCEPTED = {"hasTrustDialogAccepted": True}
STATE = "home/.claude.json"
USER, PROJECT = "home/.claude/settings.json", "project/.claude/settings.json"
LOCAL = "project/.claude/settings.local.json"
MORE: dict[str, Files] = {
    **{f"the mode {it}": permitted(defaultMode=it) for it in ("plan", "bypassPermissions", "auto")},
    **{f"the mode {it}": permitted(defaultMode=it) for it in ("dontAsk", "acceptEdits", "", 5)},
    **{
        f"allows {it}": permitted(allow=["Read", it]) for it in ("Bash", "Bash(*)", "*", "Bash(:*)")
    },
    "rules of odd types": permitted(allow="Bash", deny=[1, "Read"], ask=None),
    "permissions of an odd type": {PROJECT: {"permissions": ["Bash"]}},
    "settings of two scopes": {
        USER: {"permissions": {"allow": ["Read"], "defaultMode": "plan"}, "hooks": {"Stop": []}},
        LOCAL: {"permissions": {"deny": ["a", "b"], "defaultMode": "auto"}, "hooks": {"Stop": []}},
    },
    "hooks of an odd type": {USER: {"hooks": ["x"], "disableAllHooks": "yes"}},
    "hooks of a folder that is not trusted": {LOCAL: {"hooks": HOOKS}},
    "rules of a folder that is not trusted": {PROJECT: {"permissions": {"allow": ["Read"]}}},
    "hooks of the user": {USER: {"hooks": HOOKS, "permissions": {"allow": ["Read"]}}},
    "a parent that is trusted": {STATE: {"projects": {"PARENT": ACCEPTED}}},
    "a folder that is not trusted": {STATE: {"projects": {"PROJECT": {}}}},
    "trust of an odd type": {STATE: {"projects": {"PROJECT": {"hasTrustDialogAccepted": 1}}}},
    "projects of an odd type": {STATE: {"projects": ["PROJECT"]}},
    "a project of an odd type": {STATE: {"projects": {"PROJECT": []}}},
    "a state of an odd type": {STATE: []},
    "a state that is broken": {STATE: "{"},
    "empty settings": {USER: ""},
    "a helper": {USER: {"apiKeyHelper": "x"}, LOCAL: {"apiKeyHelper": ""}},
    "no days": {USER: {"cleanupPeriodDays": True}},
    "half a day": {LOCAL: {"cleanupPeriodDays": 0.5}},
    "two numbers of days": {USER: {"cleanupPeriodDays": 7}, PROJECT: {"cleanupPeriodDays": 8}},
    "many days": {**PLACES["transcripts"], USER: {"cleanupPeriodDays": 1000}},
}


def test_what_is_found_in_odd_places_is_as_it_was(kept: Kept, tmp_path: Path) -> None:
    text = ""
    for number, (name, files) in enumerate(MORE.items()):
        folder = tmp_path / str(number)
        for it in ("home", "project"):
            (folder / it).mkdir(parents=True)
        put(folder, files)
        env = {"HOME": str(folder / "home"), "PATH": str(folder / "bin")}
        place = Surroundings(env, folder / "project", cli=str(folder / "none"))
        checks = [it for it in looked_at(place) if it.name not in ("cli", "config")]
        lines = [compact(msgspec.to_builtins(it)) for it in checks]
        told = normal("".join(f"{line}\n" for line in lines), folder=folder)
        text += f"# {name}\n{DATE.sub('<date>', told)}"
    kept("odd-places.txt", text)


PRINTED = [
    (0, "2.1.325 (Claude Code)\n", ""),
    (0, MEASURED[0], "x"),
    (0, MEASURED[-1], ""),
    (0, "0.1.0", ""),
    (0, "99.0.0", ""),
    (1, "2.1.325", "1\n2\n3\n4\n5\n6\n"),
    (0, "hello", ""),
    (0, "", "no \udcff"),
    (0, "2.1.325 \udcff", ""),
]


def test_what_is_said_of_versions_is_as_it_was(kept: Kept) -> None:
    lines = []
    for status, out, err in PRINTED:
        printed = (it.encode("utf-8", "surrogateescape") for it in (out, err))
        done = subprocess.CompletedProcess(["claude"], status, *printed)
        lines.append(compact(msgspec.to_builtins(_judged(done, 1.5))))
    kept("versions.txt", "".join(f"{line}\n" for line in lines))


def test_other_clis_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("used", "other", "more", "folder/claude", "data", "here"):
        (tmp_path / name).mkdir(parents=True)
        if name != "folder/claude":
            path = tmp_path / name / "claude"
            path.write_text("#!/bin/sh\necho 2.1.325\n", encoding="utf-8")
            path.chmod(0o644 if name == "data" else 0o755)
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "claude").symlink_to(tmp_path / "used" / "claude")
    monkeypatch.chdir(tmp_path / "here")  # which no part of the path names
    places = ["", *(str(tmp_path / it) for it in ("other", "used", "link", "more", "other"))]
    places += [str(tmp_path / it) for it in ("folder", "data", "none")]
    place = Surroundings({"PATH": os.pathsep.join(places)}, tmp_path)
    others = [*place._others(tmp_path / "used" / "claude")]
    assert others == [tmp_path / "other" / "claude", tmp_path / "more" / "claude"]
    assert [*Surroundings({}, tmp_path)._others(tmp_path)] == []


CHECKS = [
    Check(name="cli", status="ok", message="/bin/claude", details=["a", "b"], seconds=0.5),
    Check(name="version", status="info", message="newer " * 30, advice="Wait."),
    Check(name="login", status="warning", message="none", details=["d" * 200], advice="Log in."),
    Check(name="handshake", status="problem", message="It\nfails", facts={"a": 1}),
    Check(name="turn", status="skipped", message="not asked for"),
    Check(name="odd", status="problem", message="a\x1b", details=["b\x1b"], advice="c\x1b" * 9),
]


def test_how_checks_are_shown_is_as_it_was(
    kept: Kept, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for verbose in (True, False):
        view = View(verbose)
        for check in CHECKS:
            view.show(check)
        for checks in (CHECKS, CHECKS[:1], CHECKS[:3]):
            problems = any(it.status == "problem" for it in checks)
            view.end(DoctorReport(ok=not problems, checks=checks))
    kept("shown.txt", capsys.readouterr().out)


def test_how_checks_are_shown_on_a_terminal_is_as_it_was(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    text = ""
    for columns in (30, 61):
        monkeypatch.setenv("COLUMNS", str(columns))
        screen = Shown()
        monkeypatch.setattr("sys.stdout", screen)
        view = View(verbose=columns == 30)
        for check in CHECKS:
            view.show(check)
        ready = Check(name="handshake", status="ok", message="ready")
        slow = Check(name="handshake", status="warning", message="slow")
        for checks in ([ready], [slow], [ready, CHECKS[2]], [ready, *CHECKS[2:4]], CHECKS[:2]):
            problems = any(it.status == "problem" for it in checks)
            view.end(DoctorReport(ok=not problems, checks=checks))
        text += screen.getvalue()
    kept("shown-on-a-terminal.txt", text.replace("\x1b", "\\e"))


ANSWERED = (3, "<", answered("1"))
RECORDED: dict[str, list[Any]] = {
    "nothing": [],
    "only asked": [(0, ">", asked("1", "initialize"))],
    "no initialize": [(0, ">", prompt("x")), (2, "<", said(text("y"))), (4, "<", result("y"))],
    "no words": [(0, ">", prompt("x")), (4, "<", result("y"))],
    "ready": [(0, ">", asked("1", "initialize")), ANSWERED],
    "twice": [
        (0, ">", asked("1", "initialize")),
        ANSWERED,
        (4, ">", asked("2", "initialize")),
        (4.5, "<", answered("2")),
    ],
    "just in time": [(0, ">", asked("1", "initialize")), (10, "<", answered("1"))],
    "slow": [(0, ">", asked("1", "initialize")), (10.5, "<", answered("1"))],
    "whole": [
        (0, ">", asked("1", "initialize")),
        ANSWERED,
        (4, ">", prompt("x")),
        (5, "<", said(text("y"))),
        (6, "<", result("y")),
        (7, ">", prompt("x")),
        (9, "<", result("y")),
    ],
}
STDERR = Evidence(stderr="1\n2\n3\n4\n5\n6\n")
ERRORS: list[Exception | None] = [
    None,
    CLIError("It ended.", evidence=STDERR, advice="Look at it."),
    CLIError("It ended."),
    TimeoutError(),
    OSError(2, "No such file"),
]
ORDERS: list[tuple[list[str], str, int]] = [
    (["hook Bash", "permission Bash", "hook mcp__doctor__repeat"], "hello", 3),
    (["permission Bash", "hook Bash"], "hell", 3),
    (["permission Read", "hook Read", "permission Bash"], "", 1),
    (["hook Read", "hook Bash", "permission Bash"], "hello", 2),
    (["hook Bash"], "hello", 2),
    ([], "", 1),
    (["hook Bash"], "hello", 0),
]


def test_what_is_said_of_a_trial_is_as_it_was(kept: Kept) -> None:
    lines: list[str] = []

    def judge(name: str, entries: list[Any] | None, **fields: Any) -> None:
        seen = Seen()
        if entries is not None:
            seen.recording.write(written(*entries).dump())
        for key, value in fields.items():
            setattr(seen, key, value)
        lines.append(f"# {name}")
        lines.extend(compact(msgspec.to_builtins(it)) for it in _judge(seen))

    for name, entries in RECORDED.items():
        judge(name, entries, started=0.25, closed=0.125)
    judge("no times", RECORDED["whole"])
    for error in ERRORS:
        judge(repr(error), RECORDED["ready"], error=error, api=3)
    judge("no recording", None)
    judge("no recording, and an error", None, error=ERRORS[1])
    for order, called, api in ORDERS:
        judge(f"{order}, {called}, {api}", RECORDED["ready"], order=order, called=called, api=api)
    kept("judged.txt", "".join(f"{line}\n" for line in lines))


def test_a_trial_uses_nothing_of_the_user(kept: Kept, tmp_path: Path) -> None:
    place = Surroundings({"HOME": "/home"}, tmp_path, cli="/bin/claude")
    given = _arguments(place, "/folder", "http://api", Seen())
    shown = {name: given[name] for name in ("cli", "cwd", "env", "setting_sources", "shared")}
    lines = [f"{name}: {compact(it)}" for name, it in shown.items()]
    lines += [f"timeouts: {given['timeouts']}", f"tools: {[it.name for it in given['tools']]}"]
    kept("trial.txt", "".join(f"{line}\n" for line in lines))


def process(proc: Path, pid: int, parent: int, *, mark: bytes = b"", words: bytes = b"a") -> None:
    folder = proc / str(pid)
    folder.mkdir(parents=True)
    (folder / "environ").write_bytes(mark)
    (folder / "cmdline").write_bytes(words)
    (folder / "stat").write_bytes(f"{pid} (a) b) S {parent} 9 9".encode())


MARK = f"{PROCESS_MARK}=1".encode()


@pytest.mark.parametrize(("first", "found"), [(b"/sbin/init", [20, 21, 22, 40]), (b"python", [])])
def test_processes_without_an_owner_are_found(
    tmp_path: Path, first: bytes, found: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 4321)
    proc = tmp_path / "proc"
    process(proc, 1, 0, words=first)
    process(proc, 20, 1, mark=MARK, words=b"claude\0-p\0")
    process(proc, 21, 20, mark=b"A=1\0" + MARK)
    process(proc, 22, 21, mark=MARK + b"\0B=2", words=b"x" * 201)
    process(proc, 30, 5, mark=MARK)  # it belongs to a program
    process(proc, 31, 30, mark=MARK)
    process(proc, 40, 1, mark=MARK)
    process(proc, 50, 1, mark=b"X" + MARK)
    process(proc, 60, 1)
    (proc / "70").mkdir()
    check = leftovers(proc, tmp_path / "none")
    assert sorted(check.facts.get("processes", [])) == found
    if found:
        assert "process 20: claude -p" in check.details
        assert f"process 22: {'x' * 200}" in check.details
        assert check.message == "4 processes and 0 folders seem to be left over"
        monkeypatch.setattr(os, "getpid", lambda: 1)
        assert leftovers(proc, tmp_path / "none").status == "ok"
