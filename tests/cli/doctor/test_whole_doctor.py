"""What is found in surroundings of every kind, and how it is shown: see tests/helpers/kept.py."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.helpers.kept import Kept, compact, normal

from claudewire.cli.doctor.command import _View as View
from claudewire.cli.doctor.report import Check, DoctorReport
from claudewire.cli.doctor.surroundings import Surroundings

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
        path.write_text(text.replace("PROJECT", str(folder / "project")), encoding="utf-8")
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


CHECKS = [
    Check(name="cli", status="ok", message="/bin/claude", details=["a", "b"], seconds=0.5),
    Check(name="version", status="info", message="newer " * 30, advice="Wait."),
    Check(name="login", status="warning", message="none", details=["d" * 200], advice="Log in."),
    Check(name="handshake", status="problem", message="It\nfails", facts={"a": 1}),
    Check(name="turn", status="skipped", message="not asked for"),
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
