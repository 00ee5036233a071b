"""The diff of a tool's change, which a person sees before deciding."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from claudewire.approvals.diffs import LARGEST, diff_of

NOTEBOOK = {
    "cells": [
        {"id": "first", "source": ["a = 1\n", "b = 2"]},
        {"cell_type": "code", "source": "c = 3"},
    ]
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edit(old: str, new: str, **more: Any) -> dict[str, Any]:
    return {"file_path": "a.txt", "old_string": old, "new_string": new, **more}


def diff(tool: str, input: dict[str, Any], text: str | None = None) -> str:
    """Return the diff for a file with this text; None for no file."""
    if text is not None:
        Path(input.get("file_path") or input["notebook_path"]).write_text(text, encoding="utf-8")
    found = diff_of(tool, input)
    assert found is not None
    return found


def body(diff: str) -> list[str]:
    """Return the lines of a diff without its head."""
    return diff.splitlines()[2:]


def test_edit_is_shown_in_its_place() -> None:
    text = "".join(f"line {number}\n" for number in range(10))
    shown = diff("Edit", edit("line 5", "line five"), text)
    assert shown.splitlines()[:3] == ["--- a/a.txt", "+++ b/a.txt", "@@ -3,7 +3,7 @@"]
    assert "-line 5\n+line five" in shown
    assert "line 0" not in shown


def test_edit_replaces_the_first_place_or_all() -> None:
    first = ["@@ -1,2 +1,2 @@", "+b", " a", "-a"]
    assert body(diff("Edit", edit("a", "b"), "a\na\n")) == first
    everywhere = diff("Edit", edit("a", "b", replace_all=True), "a\na\n")
    assert body(everywhere) == ["@@ -1,2 +1,2 @@", "-a", "-a", "+b", "+b"]


def test_edit_without_its_place_shows_the_passages() -> None:
    alone = ["@@ -1 +1 @@", "-old", "+new"]
    assert body(diff("Edit", edit("old", "new"), "something else\n")) == alone
    assert body(diff("Edit", edit("old", "new", file_path="."))) == alone
    assert body(diff("Edit", edit("", "new\n"), "full\n")) == ["@@ -0,0 +1 @@", "+new"]


def test_edit_can_make_a_file() -> None:
    assert diff("Edit", edit("", "new\n")) == "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+new"


def test_new_file_is_shown_whole() -> None:
    assert diff("Write", {"file_path": "b.txt", "content": "x\ny"}) == (
        "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file"
    )


def test_replaced_file_is_compared() -> None:
    input = {"file_path": "b.txt", "content": "x\n"}
    assert body(diff("Write", input, "y\n")) == ["@@ -1 +1 @@", "-y", "+x"]
    assert diff("Write", input, "x\n") == ""


def test_file_that_cannot_be_shown_gives_the_reason(folder: Path) -> None:
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")  # reading it would block
    (folder / "binary").write_bytes(b"\0\1")
    (folder / "latin").write_bytes(b"\xff\xfe")
    with (folder / "huge").open("wb") as file:
        file.truncate(LARGEST + 1)
    reasons = {
        "folder": "directory",
        "pipe": "it is not a regular file",
        "binary": "it is a binary file",
        "latin": "can't decode",
        "huge": "it is too large to be shown",
    }
    for name, reason in reasons.items():
        shown = diff("Write", {"file_path": name, "content": "x\n"})
        head = shown.splitlines()[0]
        assert head.startswith(f"# {name} would be replaced; its content is not shown: ")
        assert reason in head
        assert shown.endswith("+x")


@pytest.mark.parametrize(
    ("input", "lines"),
    [
        ({"cell_id": "first"}, ["@@ -1,2 +1 @@", "-a = 1", "-b = 2", "+new"]),
        ({"cell_number": 1}, ["@@ -1 +1 @@", "-c = 3", "+new"]),
        ({"cell_id": "cell-1"}, ["@@ -1 +1 @@", "-c = 3", "+new"]),
        ({"cell_id": "unknown"}, ["@@ -0,0 +1 @@", "+new"]),
        ({"cell_number": 7}, ["@@ -0,0 +1 @@", "+new"]),
        ({"cell_number": -1}, ["@@ -0,0 +1 @@", "+new"]),
        ({}, ["@@ -0,0 +1 @@", "+new"]),
        ({"cell_id": "first", "edit_mode": "insert"}, ["@@ -0,0 +1 @@", "+new"]),
        ({"cell_id": "first", "edit_mode": "delete"}, ["@@ -1,2 +0,0 @@", "-a = 1", "-b = 2"]),
    ],
)
def test_cell_of_a_notebook_is_compared(input: dict[str, Any], lines: list[str]) -> None:
    whole = {"notebook_path": "n.ipynb", "new_source": "new", **input}
    shown = diff("NotebookEdit", whole, json.dumps(NOTEBOOK))
    assert body(shown) == lines
    cell = input.get("cell_id", input.get("cell_number"))
    assert f"+++ b/n.ipynb{'' if cell is None else f'#{cell}'}\n" in shown


@pytest.mark.parametrize(
    ("tool", "input"),
    [
        ("Bash", {"command": "rm a.txt"}),
        ("Write", {"content": "x"}),
        ("Write", {"file_path": 5, "content": "x"}),
        ("Write", {"file_path": "a.txt", "content": 5}),
        ("Edit", {"file_path": "a.txt", "old_string": "a"}),
        ("Edit", {"file_path": "a.txt", "old_string": 5, "new_string": 6}),
        ("NotebookEdit", {"notebook_path": "a.ipynb"}),
    ],
)
def test_invalid_input_has_no_diff(tool: str, input: dict[str, Any]) -> None:
    Path("a.txt").write_text("a\n", encoding="utf-8")
    assert diff_of(tool, input) is None


def test_many_changed_lines_are_replaced_without_comparing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claudewire.approvals.diffs.MOST_COMPARED", 3)
    old, new = "a\nb\nc\nd\ne\nz\n", "a\n1\n2\n3\n4\n5\nz\n"
    replaced = ["-b", "-c", "-d", "-e", "+1", "+2", "+3", "+4", "+5"]
    assert body(diff("Edit", edit(old, new))) == ["@@ -2,4 +2,5 @@", *replaced]
    small = diff("Edit", edit(old, old.replace("c\n", "C\n")))
    assert body(small) == ["@@ -1,6 +1,6 @@", " a", " b", "-c", "+C", " d", " e", " z"]
