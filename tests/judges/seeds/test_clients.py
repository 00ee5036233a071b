"""The clients of the four documents drive the simulated CLI, and judge each of its lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.judges.seeds.documents import DOCUMENTS
from tests.judges.seeds.hosts import command
from tests.judges.seeds.requirements import shown_by_client

HERE = Path(__file__).resolve().parent
SIMULATOR = [sys.executable, "-m", "claudewire.simulator"]
RESUMED = {
    "000": "11111111-2222-4333-8444-555555555555",
    "001": "6f1c0e6e-3f0c-4a55-9d3e-0d6f0c1a2b3c",
}
"""The conversations that the clients resume."""

PATIENCE = 120
"""Seconds for one flow; the slowest takes three, most of which it listens to silence."""

FLOWS = {
    "000": "open turns tool_use permission_allow permission_deny permission_remember "
    "question_single question_multi error unknown_request resume shutdown",
    "001": "open turns tool_use permission_allow permission_deny permission_remember interrupt "
    "unknown_request error image resume resume_create shutdown",
    "002": "open turns streaming thinking tool_use permission_allow permission_deny hook mcp "
    "unknown_request error shutdown",
    "004": "open turns streaming tool_use permission_allow permission_deny permission_remember "
    "question_single question_multi interrupt unknown_request malformed error blocks shutdown",
}
"""The flows of each client; its README lists the others."""


@dataclass(frozen=True)
class Decided:
    """Where a client finds fault with something that is meant to be.

    Attributes:
        document: its number.
        rule: as the client cites it.
        sentence: the document's.
        reason: why the simulated CLI does otherwise.
    """

    document: str
    rule: str
    sentence: str
    reason: str


DECIDED = (
    Decided(
        "000",
        "lines 89-93: account",
        "the answer to initialize has email, organization and subscriptionType",
        "the simulated CLI is not logged in, and a real one tells none of them then",
    ),
    Decided(
        "000",
        "lines 377-382: tool_result",
        "a tool_result has is_error; tool_use_result is an object",
        "real CLIs leave is_error out of some results, and write a string for most tools",
    ),
    Decided(
        "000",
        "lines 385-389: tool_use_result",
        "tool_use_result is an object",
        "real CLIs write a string for errors and for most tools",
    ),
    Decided(
        "002",
        "line 54",
        "a user message is an echo of the prompt",
        "the document does not say how the result of a tool is written; it is as in the others",
    ),
)

# Document 000 has init before the first prompt; real CLIs, which speak this dialect, write it in
# each turn, and so does the simulated one. The client's `mode_flag` judges only that first init.
AS_REAL_CLIS_DO = {"PEER_INIT": "turn"}


def cells() -> Iterator[Any]:
    for number, flows in FLOWS.items():
        for flow in flows.split():
            ids = shown_by_client(number, flow)
            marks = [pytest.mark.shows(*ids)] if ids else []
            yield pytest.param(number, flow, marks=marks, id=f"{number}-{flow}")


def drive(number: str, flow: str, folder: Path, *arguments: str) -> dict[str, Any]:
    document = DOCUMENTS[number]
    env = {
        **os.environ,
        "CLAUDE_CONFIG_DIR": str(folder),
        **AS_REAL_CLIS_DO,
        "CLAUDEWIRE_SIM_DIALECT": document.dialect,
        "CLAUDEWIRE_SIM_SCENARIO": f"{HERE / 'scenario.py'}:script",
    }
    done = subprocess.run(
        [*command(document, "client.py"), flow, "--", *SIMULATOR, *arguments],
        cwd=folder,
        env=env,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.parametrize(("number", "flow"), [*cells()])
def test_client_finds_nothing_wrong_with_the_simulated_cli(
    number: str, flow: str, tmp_path: Path
) -> None:
    more = ["--include-partial-messages"] if flow == "streaming" else []
    if flow == "mcp":
        more.append("--allowedTools=mcp__calc__add")  # the client is not asked for permissions
    if flow.startswith("resume"):
        drive(number, "turns", tmp_path, f"--session-id={RESUMED[number]}")
    report = drive(number, flow, tmp_path, *more)
    decided = {row.rule for row in DECIDED if row.document == number}
    failed = [check for check in report["checks"] if not check["ok"]]
    assert [check for check in failed if check["rule"] not in decided] == []
    assert len(report["checks"]) > len(failed)
