"""The exports of `claudewire.testing`: complete, and free until they are used."""

from __future__ import annotations

import re
import subprocess
import sys

import claudewire.testing


def loaded_by(code: str) -> set[str]:
    script = f"{code}\nimport sys; print(*sys.modules)"
    command = [sys.executable, "-c", script]
    return {*subprocess.run(command, stdout=-1, check=True, encoding="utf-8").stdout.split()}


def test_importing_the_package_loads_nothing_else() -> None:
    loaded = loaded_by("import claudewire.testing")
    ours = {name for name in loaded if name.startswith("claudewire")}
    assert ours == {"claudewire", "claudewire._package", "claudewire.testing"}


def test_simulated_program_loads_nothing_heavy() -> None:
    loaded = loaded_by("import claudewire.simulator.__main__")
    assert not {"anyio", "asyncio", "pytest"} & loaded


def test_cage_is_missing_only_where_the_system_forbids_it() -> None:
    """Otherwise all tests with a cage would be skipped, unnoticed."""
    reason = claudewire.testing.Cage.unavailable()
    assert reason is None or re.search("Linux|not permitted|denied|not implemented|space", reason)
