"""In text mode the simulated CLI prints what the real one prints."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from conformance.fidelity import is_left_out
from tests.helpers.real_clis import NEWEST, real_cli, why_not
from tests.helpers.text_mode import Outcome, run_text

from claudewire.testing.api.replies import LooseReply
from claudewire.testing.cage import Cage
from claudewire.wire import Connection, Role

from .cases import COMMAND, Case
from .shapes import differences, shape

PATIENCE = 60


class Call(NamedTuple):
    argv: Sequence[str]
    stdin: bytes
    replies: Sequence[LooseReply]


CALLS = {
    "text": Call(["-p", "Hello"], b"and goodbye\n", ["Two\nlines"]),
    "json, too many turns": Call(
        ["--print", "Go on.", "--output-format=json", "--max-turns=1"], b"", [COMMAND]
    ),
    "stream-json": Call(
        ["--output-format=stream-json", "--verbose", "--include-partial-messages"],
        b"Go on.",
        [["I shall.", COMMAND], "Done."],
    ),
}


def with_real_cli(call: Call) -> Outcome:
    with Cage(list(call.replies)) as cage:
        command = cage.command([real_cli(NEWEST), *call.argv])
        done = subprocess.run(command, input=call.stdin, capture_output=True, timeout=PATIENCE)
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.real
@pytest.mark.parametrize("name", CALLS)
def test_simulated_cli_prints_what_the_real_one_prints(name: str) -> None:
    if (reason := why_not(NEWEST)) is not None:
        pytest.skip(reason)
    call = CALLS[name]
    real = with_real_cli(call)
    simulated = run_text(Case(call.replies).scenario(), *call.argv, stdin=call.stdin)
    assert (simulated.status, simulated.stderr) == (real.status, real.stderr)
    if name == "text":
        assert simulated.stdout == real.stdout
        return
    said, expected = (
        shape(Connection(Role.CLIENT).receive_data(one.stdout.encode()))
        for one in (simulated, real)
    )
    assert [it for it in differences(expected, said) if not is_left_out(it)] == []
