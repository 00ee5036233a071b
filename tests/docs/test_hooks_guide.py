"""The guides to hooks and agents: their programs run, and their tables say what there is."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import pytest
from tests.docs.protocol_examples import Fence, fences, names, table
from tests.hooks.hook_table import RESULTS, expected

from claudewire import hooks
from claudewire.hooks.events import EVENTS
from claudewire.options import Agent

SOON = 60

PROGRAMS = [
    (program, output)
    for page in ("hooks.md", "agents.md")
    for program, output in pairwise(fences(page))
    if program.language == "python"
]


@pytest.mark.parametrize(
    ("program", "output"), PROGRAMS, ids=[program.info for program, _ in PROGRAMS]
)
def test_a_program_of_the_guide_prints_what_it_says(
    program: Fence, output: Fence, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    file = tmp_path / program.info
    file.write_text(program.code, encoding="utf-8")
    kept = {name: it for name, it in os.environ.items() if not name.startswith("CLAUDE")}
    done = subprocess.run(
        [sys.executable, str(file)],
        cwd=folder,
        env={**kept, "HOME": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        timeout=SOON,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert output.language == "text"
    assert done.stdout == output.code


def test_the_table_of_events_says_what_each_can_be_matched_by_and_answered() -> None:
    rows = table("hooks.md", "| event | when | matched by | blocked | context | called by |")
    said = {event: (matched, blocked, told) for event, _, matched, blocked, told, _ in rows}
    assert said == {
        name: (
            kind.matched or "",
            "yes" if "block" in expected(name) else "",
            "yes" if "add_context" in expected(name) else "",
        )
        for name, kind in EVENTS.items()
    }


def test_the_table_of_results_says_at_which_events_they_can_be_given() -> None:
    rows = table("hooks.md", "| result | events | what it does |")
    said = {names(cell)[0].partition("(")[0]: events for cell, events, _ in rows}
    assert {*said} == {*RESULTS, "set_fields"}
    assert {*said} <= {*hooks.__all__}
    for result, events in said.items():
        listed = {event for event in EVENTS if f" {event}," in f" {events},".replace(" with", ",")}
        if listed:
            assert listed >= {event for event in EVENTS if result in expected(event)}
            assert {event for event in listed if result not in expected(event)} <= (
                {"PermissionRequest"} if result == "change_input" else set()
            )


def test_the_table_of_agents_has_every_field() -> None:
    rows = table("agents.md", "| field | what it is |")
    said = [name for cell, _ in rows for name in names(cell)]
    assert sorted(said) == sorted(field.name for field in fields(Agent))
