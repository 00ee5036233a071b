"""The guide to tools: its tables say what there is. Its programs are run by `test_guides`."""

from __future__ import annotations

from tests.docs.protocol_examples import names, table

from claudewire.tools import ToolContext, ToolSettings


def told(header: str, end: str) -> set[str]:
    """What the first column of a table names."""
    return {name.partition(end)[0] for cell, _ in table("tools.md", header) for name in names(cell)}


def test_the_table_of_settings_has_every_one() -> None:
    assert told("| `tool(…)` | |", "=") == {*ToolSettings.__annotations__}


def test_the_table_of_the_context_has_everything_that_a_tool_needs() -> None:
    public = {name for name in dir(ToolContext()) if not name.startswith("_")}
    for_callers = {"cancel", "in_thread"}
    assert told("| `ToolContext` | |", "(") == public - for_callers
