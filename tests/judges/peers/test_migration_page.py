"""docs/migration.md is true of the installed official SDK."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.judges.peers.test_official_sdks import PEERS, SIMULATED
from tests.product.docs.migration_page import PAGE, RUNNER, outputs, pairs, write
from tests.product.docs.pages import tables, text_of

from claudewire.options import DECLARATIONS
from claudewire.testing.cage import Cage

WORD = re.compile(r"\w+")
PYTHON = PEERS / "python" / "bin" / "python"
FACTS = """\
import dataclasses, inspect, json
import claude_agent_sdk as sdk

def public(thing):
    return [name for name in vars(thing) if not name.startswith("_")]

print(json.dumps({
    "version": sdk.__version__,
    "options": [field.name for field in dataclasses.fields(sdk.ClaudeAgentOptions)],
    "client": public(sdk.ClaudeSDKClient),
    "functions": [name for name in sdk.__all__ if inspect.isfunction(getattr(sdk, name))],
}))
"""

pytestmark = [
    pytest.mark.skipif(Cage.unavailable() is not None, reason=f"No cage: {Cage.unavailable()}"),
    pytest.mark.xdist_group("migration page"),  # so the SDK is asked once
]


@pytest.fixture(autouse=True, scope="module")
def _official_sdk() -> None:
    # Not when the tests are collected: it may still be about to be installed then.
    if not (PEERS / "python" / ".installed").exists():
        pytest.skip("the official SDK (python) is not installed; scripts/peers does it")


@pytest.fixture(scope="module")
def facts() -> Any:
    with Cage() as cage:
        done = subprocess.run(
            cage.command([PYTHON, "-c", FACTS]),
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def told() -> set[str]:
    """All words in the first columns."""
    return {word for each in tables(PAGE) for row in each.rows for word in WORD.findall(row[0])}


def test_official_programs_print_what_the_page_says(tmp_path: Path) -> None:
    them = [*pairs()]
    programs = write([pair.official for pair in them], tmp_path)
    env = {"CLAUDEWIRE_SIM_SCENARIO": str(tmp_path / "scenario.toml")}
    with Cage(env=env) as cage:
        command = cage.command([PYTHON, RUNNER, SIMULATED, *programs])
        printed = outputs(command, tmp_path)
    assert printed == [pair.output for pair in them]


def test_page_is_about_this_version(facts: Any) -> None:
    assert f"`claude-agent-sdk` {facts['version']}" in text_of(PAGE)


def test_every_official_option_has_the_same_name_here_or_a_row(facts: Any) -> None:
    assert {*facts["options"]} - {*DECLARATIONS} - told() == set()


def test_every_method_of_the_official_client_has_a_row(facts: Any) -> None:
    assert {*facts["client"]} - told() == set()


def test_every_official_function_has_a_row(facts: Any) -> None:
    functions = {re.sub("_(from|via)_store$", "", name) for name in facts["functions"]}
    assert functions - told() == set()
