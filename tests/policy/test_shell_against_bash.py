"""No command that runs another program than the allowed one passes; bash itself is asked."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st
from tests.helpers.examples import examples

from claudewire.policy import Policy

from .oracle import BASH, Oracle
from .shell_strategies import ALLOWED, COMMANDS, FORBIDDEN, PLAIN

pytestmark = pytest.mark.skipif(BASH is None, reason="there is no bash here to be asked")

THOROUGH = settings(examples(12), suppress_health_check=[HealthCheck.too_slow])

ONLY_ZORK = Policy(allow=["Bash(zork:*)"], cwd="/nowhere", home="/nowhere")
ALL_BUT_ZAP = Policy(allow=["Bash"], deny=["Bash(zap:*)"], cwd="/nowhere", home="/nowhere")


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    asked = Oracle(tmp_path_factory.mktemp("oracle"))
    yield asked
    asked.settle()


def allows(policy: Policy, command: str) -> bool:
    return policy.decide("Bash", {"command": command}).allows


@given(COMMANDS)
@THOROUGH
def test_what_a_prefix_rule_allows_runs_that_program_only_and_writes_no_file(
    oracle: Oracle, command: str
) -> None:
    if not allows(ONLY_ZORK, command):
        event("not allowed")
        return
    event("allowed")
    ran = oracle.run(command)
    assert set(ran.programs) <= {ALLOWED}
    assert ran.files == ()


@given(COMMANDS)
@THOROUGH
def test_what_is_forbidden_does_not_run_however_it_is_hidden(oracle: Oracle, command: str) -> None:
    if not allows(ALL_BUT_ZAP, command):
        event("not allowed")
        return
    event("allowed")
    assert FORBIDDEN not in oracle.run(command).programs


@given(st.lists(PLAIN, min_size=1, max_size=4), st.sampled_from(["; ", " && ", " | ", "\n"]))
@example(["zork"], "; ")
def test_a_list_of_allowed_commands_is_allowed_and_runs(
    oracle: Oracle, commands: list[str], join: str
) -> None:
    command = join.join(commands)
    assert allows(ONLY_ZORK, command)
    assert oracle.run(command).programs == (ALLOWED,) * len(commands)


def test_the_oracle_sees_what_is_run_and_written(tmp_path: Path) -> None:
    asked = Oracle(tmp_path)
    assert asked.run("zork; zap > out").programs == ("zork", "zap")
    assert asked.run("zork > out").files == ("out",)
    assert asked.run("zork 'zap'").programs == ("zork",)


def test_the_oracle_ends_a_loop_without_an_end(tmp_path: Path) -> None:
    ran = Oracle(tmp_path).run("zork; until false; do :; done; zap")
    assert (ran.programs, ran.status) == (("zork",), -signal.SIGKILL)
