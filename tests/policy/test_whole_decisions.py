"""Every decision about the commands of the tables, with its reason: none changes unnoticed.

The tables say what must not be allowed, and what must be. `whole/decisions.jsonl` has what is
decided, and why, also by policies that the commands were not written for: see
tests/helpers/kept.py.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from tests.helpers.kept import Kept

from claudewire.policy import Policy

from . import bash_cases, everyday
from .evasions import EVASIONS


def tables() -> Iterator[tuple[Policy, list[str]]]:
    yield from EVASIONS.values()
    yield everyday.POLICY, everyday.COMMANDS
    yield bash_cases.POLICY, [line.command for line in bash_cases.LINES]


def apart(policy: Policy) -> Policy:
    """Return the policy for another machine: no link of this one, and no folder, matters."""
    it = copy.copy(policy)
    object.__setattr__(it, "realpath", str)
    return it


def decided(policy: Policy, command: str) -> list[str]:
    it = policy.decide("Bash", {"command": command})
    return [str(it), str(it.rule or ""), it.part]


def lines() -> Iterator[str]:
    """Decide about each command by its own policy, and by those of the other tables."""
    others = [*map(apart, (EVASIONS["files"][0], everyday.POLICY, bash_cases.POLICY))]
    for policy, commands in tables():
        own = apart(policy)
        for command in commands:
            row: list[Any] = [command, decided(own, command)]
            row += [other.decide("Bash", {"command": command}).behavior for other in others]
            yield json.dumps(row)


def test_every_decision_is_as_it_was(kept: Kept) -> None:
    kept("decisions.jsonl", "".join(f"{line}\n" for line in lines()))
