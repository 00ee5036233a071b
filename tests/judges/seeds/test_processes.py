"""Each session starts its own program, as the logs of the CLIs show."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.judges.seeds.documents import DOCUMENTS
from tests.judges.seeds.hosts import BOUND, TIMEOUTS, Json, command

import claudewire

pytestmark = pytest.mark.anyio

CLI = command(DOCUMENTS["000"])


def opened(log: Path, **options: Any) -> claudewire.Session:
    return claudewire.open(timeouts=TIMEOUTS, env={"PEER_LOG": str(log)}, **options)


def logged(log: Path, kind: str) -> list[Json]:
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line["kind"] == kind]


def prompts(log: Path) -> list[str]:
    read = [line["line"] for line in logged(log, "rx")]
    return [line["message"]["content"] for line in read if line["type"] == "user"]


@pytest.mark.shows("000-78", "000-85")
async def test_several_sessions_are_several_processes(tmp_path: Path) -> None:
    logs = [tmp_path / "one", tmp_path / "other"]
    flows = ["flow:text", "flow:usage"]
    with anyio.fail_after(BOUND):
        async with opened(logs[0], cli=CLI) as one, opened(logs[1], cli=CLI) as other:
            turns = [session.send(flow) for flow in flows for session in (one, other)]
            replies = [await turn for turn in turns]
            assert len({one.pid, other.pid, os.getpid()}) == 3
    assert all(reply.ok for reply in replies)
    assert {reply.session_id for reply in replies} == {one.session_id, other.session_id}
    assert one.session_id != other.session_id
    for log in logs:
        assert len(logged(log, "argv")) == 1
        assert prompts(log) == flows
        assert logged(log, "deviation") == []


def program(path: Path, *words: str) -> Path:
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.shows("000-14")
@pytest.mark.parametrize("is_named", [True, False])
async def test_environment_can_name_another_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_named: bool
) -> None:
    found = program(tmp_path / "found" / "claude", *CLI, "--model=found")
    named = program(tmp_path / "named" / "another", *CLI, "--model=named")
    monkeypatch.setenv("PATH", f"{found.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CLAUDE_CODE_PATH", raising=False)
    if is_named:
        monkeypatch.setenv("CLAUDE_CODE_PATH", str(named))
    log = tmp_path / "log"
    with anyio.fail_after(BOUND):
        async with opened(log) as session:
            assert (await session.send("flow:text")).ok
    (started,) = logged(log, "argv")
    assert started["argv"][0] == ("--model=named" if is_named else "--model=found")
