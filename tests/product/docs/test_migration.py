"""The page for users of the official SDK: our programs run, our names exist.

`tests/judges/peers` runs the programs for the official SDK, and compares its names with the tables.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import sys
import sysconfig
from pathlib import Path

from tests.product.docs.migration_page import PAGE, RUNNER, outputs, pairs, write
from tests.product.docs.pages import names, tables

import claudewire
from claudewire.options import DECLARATIONS

SIMULATED = Path(sysconfig.get_path("scripts")) / "claudewire-sim"
OBJECTS = {
    "claude": claudewire.Session,
    "turn": claudewire.Turn,
    "reply": claudewire.Reply,
    "request": claudewire.PermissionRequest,
    "transcripts": claudewire.Transcripts,
}
NAME = re.compile(rf"\b(?:claudewire|{'|'.join(OBJECTS)})(?:\.\w+)+")
SPANS = [name for each in tables(PAGE) for row in each.rows for name in names(row[1])]


def exists(path: str) -> bool:
    first, _, attribute = path.partition(".")
    if first in OBJECTS:
        owner = OBJECTS[first]
        bases = [it for it in owner.__mro__ if it.__module__.startswith("claudewire.")]
        source = "".join(map(inspect.getsource, bases))
        return hasattr(owner, attribute) or f"self.{attribute}" in source
    try:
        return pkgutil.resolve_name(path) is not None
    except AttributeError:
        return False


def test_programs_print_the_output_on_the_page(tmp_path: Path) -> None:
    found = [*pairs()]
    programs = write([pair.ours for pair in found], tmp_path)
    printed = outputs(
        [sys.executable, "-W", "error", RUNNER, SIMULATED, *programs],
        tmp_path,
        CLAUDE_CODE_PATH=str(SIMULATED),
        CLAUDEWIRE_SIM_SCENARIO=str(tmp_path / "scenario.toml"),
    )
    assert printed == [pair.output for pair in found]


def test_names_and_options_of_the_tables_exist() -> None:
    paths = {name for span in SPANS for name in NAME.findall(span)}
    assert [path for path in sorted(paths) if not exists(path)] == []
    options = {found[1] for span in SPANS if (found := re.match(r"^(\w+)=", span))}
    assert options - {"reply", "turn"} <= {*DECLARATIONS}


def test_values_of_the_tables_are_valid_options() -> None:
    values = [re.fullmatch(r'(\w+)=(\[?"[^"]*"\]?|True)', span) for span in SPANS]
    given = {it[1]: ast.literal_eval(it[2]) for it in values if it}
    assert {"thinking", "builtin_tools", "exclude_dynamic_sections"} <= {*given}
    for name, value in given.items():
        claudewire.Options(**{name: value})
