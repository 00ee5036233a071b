"""What `claudewire.testing` offers, and that it costs nothing until it is used."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys

import pytest

import claudewire.testing
from claudewire.simulator import faults


def loaded_by(code: str) -> set[str]:
    script = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, encoding="utf-8"
    )
    return set(done.stdout.split())


def test_nothing_is_loaded_before_it_is_used() -> None:
    loaded = loaded_by("import claudewire.testing")
    ours = {name for name in loaded if name.startswith("claudewire")}
    assert ours == {"claudewire", "claudewire._package", "claudewire.testing"}
    assert "msgspec" not in loaded


def test_the_program_does_without_what_is_heavy() -> None:
    loaded = loaded_by("import claudewire.simulator.__main__")
    assert not {"anyio", "asyncio", "h11", "pytest"} & loaded


def test_type_checkers_see_every_name_and_no_other() -> None:
    tree = ast.parse(inspect.getsource(claudewire.testing))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        (alias.name, "." * node.level + str(node.module))
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert {name for name, _ in imported} == set(claudewire.testing.__all__)
    for name, module in imported:
        there = importlib.import_module(module, "claudewire.testing")
        assert getattr(claudewire.testing, name) is getattr(there, name)


def test_every_fault_is_there() -> None:
    assert claudewire.testing.faults is faults
    assert {fault.__name__ for fault in faults.FAULTS.values()} <= set(faults.__all__)


def test_names_can_be_listed_and_others_are_not_there() -> None:
    assert set(claudewire.testing.__all__) <= set(dir(claudewire.testing))
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = getattr(claudewire.testing, "Nonsense")  # noqa: B009


def test_a_cage_is_missing_only_where_the_system_does_not_permit_one() -> None:
    """Else all that needs one would be skipped, and nobody would notice."""
    reason = claudewire.testing.Cage.unavailable()
    assert reason is None or re.search("Linux|not permitted|denied|not implemented|space", reason)
