"""The notebook works cell by cell, inside an event loop that is running already."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import examples
import pytest

from claudewire.testing import SimulatedProgramFactory

CELLS = (Path(examples.__file__).parent / "notebook.py").read_text(encoding="utf-8").split("# %%\n")
SCENARIO = """
default = "I do not understand."

[[turn]]
match = "crashes"
steps = [{ output = { kind = "bug", summary = "The export crashes." } }]

[[turn]]
match = "add"
steps = [{ output = { kind = "wish", summary = "A dark mode." } }]

[[turn]]
match = "love"
steps = [{ output = { kind = "praise", summary = "The search is good." } }]
"""


async def run_cells() -> None:
    """Run the cells as a notebook does: in one namespace, with its event loop running."""
    names: dict[str, Any] = {"__name__": "notebook"}
    try:
        for cell in CELLS:
            exec(compile(cell, "notebook.py", "exec", dont_inherit=True), names)
    finally:
        names["claude"].close()


def test_cells_print_the_labels_of_the_model(
    claudewire_sim: SimulatedProgramFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_PATH", str(claudewire_sim(SCENARIO)))
    asyncio.run(run_cells())
    printed = capsys.readouterr().out.splitlines()
    assert printed[:3] == [
        "bug      The export crashes.",
        "wish     A dark mode.",
        "praise   The search is good.",
    ]
    assert printed[3] == "[('bug', 1), ('wish', 1), ('praise', 1)]"
    assert printed[4].startswith("3 turns, $0.")
