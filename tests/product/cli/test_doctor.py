"""`claudewire doctor`: its findings, and its exit statuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from tests.helpers.snapshots import Snapshot
from tests.product.cli.conftest import Runner
from tests.product.cli.terminal import opened

from claudewire.cli.doctor import version_check


@pytest.fixture
def config(run: Runner, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration without problems."""
    config = run.folder / "config"
    config.mkdir()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(config))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-api03-not-a-key")
    monkeypatch.setenv("HOME", str(run.folder))
    projects = {str(run.folder): {"hasTrustDialogAccepted": True}}
    (config / ".claude.json").write_text(json.dumps({"projects": projects}), encoding="utf-8")
    return config


def checks(run: Runner, *options: str) -> dict[str, Any]:
    report = json.loads(run("doctor", "--json", *options).out)
    return {check["name"]: check for check in report["checks"]}


def test_healthy_machine_has_no_problem(run: Runner, config: Path, sim: str) -> None:
    done = run("doctor", "--cli", sim)
    assert done.status == 0
    assert "Sessions work here" in done.out
    assert "the CLI was ready after" in done.out
    report = json.loads(run("doctor", "--json", "--cli", sim).out)
    jsonschema.validate(report, json.loads(run("schema", "doctor --json").out))
    assert "sk-ant" not in json.dumps(report)
    assert {it["status"] for it in report["checks"]} <= {"ok", "info", "skipped"}
    assert "No problems found" in run("doctor", "--no-start", "--cli", sim).out


def test_problems_are_listed_with_their_remedies(
    run: Runner, config: Path, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    (config / ".claude.json").write_text("{", encoding="utf-8")
    settings = {"permissions": {"allow": ["Bash"]}}
    (config / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    own = {"hooks": {"Stop": []}, "permissions": {"allow": ["Read"]}}
    (run.folder / ".claude").mkdir()
    (run.folder / ".claude" / "settings.json").write_text(json.dumps(own), encoding="utf-8")
    done = run("doctor", "--cli", "/no/such/claude")
    assert done.status == 7
    lines = done.out.replace(str(run.folder), "FOLDER").splitlines()[1:]
    snapshot("command-doctor.txt", "".join(f"{line.rstrip()}\n" for line in lines))


def test_mode_that_never_asks_is_a_warning(run: Runner, config: Path) -> None:
    settings = {"permissions": {"defaultMode": "bypassPermissions"}}
    (config / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    found = checks(run, "--no-start", "--cli", "simulated")
    assert found["permissions"]["status"] == "warning"
    assert "bypassPermissions, which never asks" in found["permissions"]["message"]


@pytest.mark.parametrize(
    ("printed", "status", "message"),
    [
        ("2.1.17", "ok", "2.1.17"),
        ("1.0.1", "warning", "older than"),
        ("99.0.0", "info", "newer than"),
        ("hello", "warning", "names no version"),
    ],
)
def test_version_is_compared_with_the_tested_ones(printed: str, status: str, message: str) -> None:
    check = version_check(printed)
    assert check.status == status
    assert message in check.message


def test_cli_that_does_not_start_is_a_problem(run: Runner, config: Path) -> None:
    cli = run.folder / "claude"
    cli.write_text('#!/bin/sh\necho "disk is full" >&2\nexit 3\n', encoding="utf-8")
    cli.chmod(0o755)
    done = run("doctor", "--cli", str(cli))
    assert done.status == 1
    assert "✗ handshake" in done.out
    assert "disk is full" in done.out


def test_findings_fit_into_the_window(run: Runner, config: Path) -> None:
    arguments = ("doctor", "--no-start", "--cli", "simulated")
    with opened(*arguments, cwd=run.folder, columns=50) as terminal:
        assert terminal.wait_end() == 0
        assert len(terminal.text.splitlines()) > 9
        assert "sessions work anyway" in terminal.words or "is trusted" in terminal.words
