"""The page for those who come from the official SDK: our programs run, our names exist.

`tests/peers` runs the programs for the official SDK, and compares its names with the tables.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
import sys
import sysconfig
from pathlib import Path

import pytest
from tests.docs.migration_page import PAGE, RUNNER, outputs, pairs, write
from tests.docs.protocol_examples import names, tables

import claudewire
from claudewire.options import DECLARATIONS

SIMULATED = Path(sysconfig.get_path("scripts")) / "claudewire-sim"
OBJECTS = {
    "claude": claudewire.Session,
    "turn": claudewire.Turn,
    "reply": claudewire.Reply,
    "request": claudewire.PermissionRequest,
}
NAME = re.compile(r"\b(?:claudewire|claude|turn|reply|request)(?:\.\w+)+")
OPTION = re.compile(r"^(\w+)=")


def spans() -> list[str]:
    """What stands between backticks in the second column."""
    return [name for each in tables(PAGE) for row in each.rows for name in names(row[1])]


def exists(path: str) -> bool:
    first, _, attribute = path.partition(".")
    if first in OBJECTS:
        owner = OBJECTS[first]
        bases = [it for it in owner.__mro__ if it.__module__.startswith("claudewire.")]
        source = "".join(map(inspect.getsource, bases))
        return hasattr(owner, attribute) or f"self.{attribute}" in source
    return pkgutil.resolve_name(path) is not None


def test_our_programs_print_what_the_page_says(tmp_path: Path) -> None:
    them = [*pairs()]
    programs = write([pair.ours for pair in them], tmp_path)
    printed = outputs(
        [sys.executable, "-W", "error", RUNNER, SIMULATED, *programs],
        tmp_path,
        CLAUDE_CODE_PATH=str(SIMULATED),
        CLAUDEWIRE_SIM_SCENARIO=str(tmp_path / "scenario.toml"),
    )
    assert printed == [pair.output for pair in them]


@pytest.mark.parametrize("path", sorted({name for span in spans() for name in NAME.findall(span)}))
def test_a_name_exists(path: str) -> None:
    assert exists(path)


def test_every_option_exists() -> None:
    told = {found[1] for span in spans() if (found := OPTION.match(span))}
    assert told - {"reply", "turn"} <= set(DECLARATIONS)
