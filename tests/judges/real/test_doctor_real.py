"""`claudewire doctor` with real CLIs performs the checks that it reports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.helpers.real_clis import VERSIONS, real_cli

from .sessions import LONG, open_cage

pytestmark = pytest.mark.real


def files(folder: Path) -> set[tuple[str, float]]:
    return {(str(path), path.lstat().st_mtime) for path in folder.rglob("*")}


@pytest.mark.parametrize("version", VERSIONS)
def test_doctor_finds_a_healthy_cli_and_leaves_its_files_alone(version: str) -> None:
    with open_cage(version) as cage:
        before = files(cage.config)
        words = [sys.executable, "-m", "claudewire", "doctor", "--json", "--cli"]
        done = subprocess.run(
            cage.command([*words, real_cli(version)]),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=2 * LONG,
            check=False,
        )
        assert files(cage.config) == before
        assert cage.api_requests() == []  # it has an API of its own
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    checks = {check["name"]: check for check in report["checks"]}
    tried = ("version", "handshake", "permission", "application hooks", "application tools")
    assert {name: checks[name]["status"] for name in tried} == dict.fromkeys(tried, "ok")
    assert checks["permission"]["details"][:2] == ["hook Bash", "permission Bash"]
    assert checks["handshake"]["message"].startswith("the CLI was ready after")
