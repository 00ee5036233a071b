"""The programs of each document agree with each other, and detect mistakes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.judges.seeds.documents import DOCUMENTS
from tests.judges.seeds.hosts import command
from tests.judges.seeds.test_clients import FLOWS, PATIENCE

QUICK = {"PEER_WAIT": "2"}
"""Seconds of silence: nothing here is slower."""


def failures(number: str, flow: str, cli: list[str], folder: Path) -> list[Any]:
    drive = [*command(DOCUMENTS[number], "client.py"), flow, "--", *cli]
    env = {**os.environ, **QUICK}
    done = subprocess.run(
        drive, cwd=folder, env=env, capture_output=True, timeout=PATIENCE, check=False
    )
    report = json.loads(done.stdout)
    assert report["checks"]
    return [check for check in report["checks"] if not check["ok"]]


@pytest.mark.parametrize("number", DOCUMENTS)
def test_client_finds_nothing_wrong_with_the_cli(number: str, tmp_path: Path) -> None:
    for flow in FLOWS[number].split():
        assert failures(number, flow, command(DOCUMENTS[number]), tmp_path) == []


@pytest.mark.parametrize("number", DOCUMENTS)
def test_client_sees_a_bad_cli(number: str, tmp_path: Path) -> None:
    assert failures(number, "turns", [sys.executable, "-c", "print('[1]')"], tmp_path) != []
