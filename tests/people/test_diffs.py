"""What a tool would change, shown before it does."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from claudewire.people.diffs import BIGGEST, diff_of, read_text

NOTEBOOK = {
    "cells": [
        {"id": "first", "source": ["a = 1\n", "b = 2"]},
        {"cell_type": "code", "source": "c = 3"},
    ]
}


def nothing(path: Path) -> str | None:
    return None


def having(text: str) -> Any:
    return lambda path: text


def edit(old: str, new: str, **more: Any) -> dict[str, Any]:
    return {"file_path": "a.txt", "old_string": old, "new_string": new, **more}


def body(diff: str | None) -> list[str]:
    """The lines of a diff without its head."""
    assert diff is not None
    return diff.splitlines()[2:]


def test_an_edit_is_shown_in_its_place() -> None:
    text = "".join(f"line {number}\n" for number in range(10))
    diff = diff_of("Edit", edit("line 5", "line five"), read=having(text))
    assert diff is not None
    assert diff.splitlines()[:3] == ["--- a/a.txt", "+++ b/a.txt", "@@ -3,7 +3,7 @@"]
    assert "-line 5" in diff
    assert "+line five" in diff
    assert "line 0" not in diff


def test_an_edit_changes_the_first_place_or_all() -> None:
    read = having("a\na\n")
    assert body(diff_of("Edit", edit("a", "b"), read=read)) == ["@@ -1,2 +1,2 @@", "+b", " a", "-a"]
    everywhere = diff_of("Edit", edit("a", "b", replace_all=True), read=read)
    assert body(everywhere) == ["@@ -1,2 +1,2 @@", "-a", "-a", "+b", "+b"]


@pytest.mark.parametrize("read", [None, having("something else\n")])
def test_an_edit_that_has_no_place_is_shown_alone(read: Any) -> None:
    assert body(diff_of("Edit", edit("old", "new"), read=read)) == ["@@ -1 +1 @@", "-old", "+new"]


def test_an_edit_can_make_a_file() -> None:
    diff = diff_of("Edit", edit("", "new\n"), read=nothing)
    assert diff == "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+new"


def test_an_edit_without_an_old_passage_has_no_place_in_a_file() -> None:
    diff = diff_of("Edit", edit("", "new\n"), read=having("full\n"))
    assert body(diff) == ["@@ -0,0 +1 @@", "+new"]


def test_several_edits_are_shown_together() -> None:
    input = {"file_path": "a.txt", "edits": [edit("a", "b"), edit("b\nc", "d")]}
    assert body(diff_of("MultiEdit", input, read=having("a\nc\n"))) == [
        "@@ -1,2 +1 @@",
        "-a",
        "-c",
        "+d",
    ]
    apart = diff_of("MultiEdit", input, read=None)
    assert apart is not None
    assert apart.count("--- a/a.txt") == 2


def test_a_new_file_is_shown_whole() -> None:
    diff = diff_of("Write", {"file_path": "/b.txt", "content": "x\ny"}, read=nothing)
    assert diff == (
        "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file"
    )


def test_a_file_that_is_replaced_is_compared() -> None:
    diff = diff_of("Write", {"file_path": "b.txt", "content": "x\n"}, read=having("y\n"))
    assert body(diff) == ["@@ -1 +1 @@", "-y", "+x"]


def test_a_write_that_changes_nothing_shows_nothing() -> None:
    assert diff_of("Write", {"file_path": "b.txt", "content": "x\n"}, read=having("x\n")) == ""


def test_what_cannot_be_compared_says_why(tmp_path: Path) -> None:
    (tmp_path / "b.bin").write_bytes(b"\0\1")
    diff = diff_of("Write", {"file_path": "b.bin", "content": "x\n"}, cwd=tmp_path)
    assert diff is not None
    assert diff.splitlines()[0] == (
        "# b.bin would be replaced; what is in it now is not shown: it is a binary file"
    )
    assert diff.endswith("+x")


@pytest.mark.parametrize(
    ("input", "lines"),
    [
        ({"cell_id": "first"}, ["@@ -1,2 +1 @@", "-a = 1", "-b = 2", "+new"]),
        ({"cell_number": 1}, ["@@ -1 +1 @@", "-c = 3", "+new"]),
        ({"cell_id": "cell-1"}, ["@@ -1 +1 @@", "-c = 3", "+new"]),
        ({"cell_id": "unknown"}, ["@@ -0,0 +1 @@", "+new"]),
        ({"cell_id": "cell-7"}, ["@@ -0,0 +1 @@", "+new"]),
        ({"cell_number": 7}, ["@@ -0,0 +1 @@", "+new"]),
        ({"cell_number": -1}, ["@@ -0,0 +1 @@", "+new"]),
        ({}, ["@@ -0,0 +1 @@", "+new"]),
        ({"cell_id": "first", "edit_mode": "insert"}, ["@@ -0,0 +1 @@", "+new"]),
        (
            {"cell_id": "first", "edit_mode": "delete"},
            ["@@ -1,2 +0,0 @@", "-a = 1", "-b = 2"],
        ),
    ],
)
def test_a_cell_of_a_notebook_is_compared(input: dict[str, Any], lines: list[str]) -> None:
    whole = {"notebook_path": "n.ipynb", "new_source": "new", **input}
    assert body(diff_of("NotebookEdit", whole, read=having(json.dumps(NOTEBOOK)))) == lines


def test_a_cell_is_named() -> None:
    input = {"notebook_path": "n.ipynb", "new_source": "new", "cell_id": "first"}
    diff = diff_of("NotebookEdit", input, read=having("no notebook"))
    assert diff is not None
    assert "+++ b/n.ipynb#first" in diff


@pytest.mark.parametrize(
    ("tool", "input"),
    [
        ("Bash", {"command": "rm a.txt"}),
        ("Write", {"content": "x"}),
        ("Write", {"file_path": 5, "content": "x"}),
        ("Write", {"file_path": "a.txt"}),
        ("Write", {"file_path": "a.txt", "content": 5}),
        ("Edit", {"file_path": "a.txt", "old_string": "a"}),
        ("Edit", {"file_path": "a.txt", "old_string": 5, "new_string": 6}),
        ("MultiEdit", {"file_path": "a.txt", "edits": 5}),
        ("MultiEdit", {"file_path": "a.txt", "edits": ["a"]}),
        ("NotebookEdit", {"notebook_path": "a.ipynb"}),
    ],
)
def test_what_changes_no_file_or_makes_no_sense_has_no_diff(
    tool: str, input: dict[str, Any]
) -> None:
    assert diff_of(tool, input, read=having("a\n")) is None


# --- reading -------------------------------------------------------------------------------------


def test_a_text_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("é\r\n".encode())
    assert read_text(path) == "é\r\n"


def test_a_file_that_is_not_there_is_no_problem(tmp_path: Path) -> None:
    assert read_text(tmp_path / "a.txt") is None


def test_what_is_no_text_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError):
        read_text(path)


def test_a_folder_is_not_read(tmp_path: Path) -> None:
    diff = diff_of("Write", {"file_path": str(tmp_path), "content": "x\n"})
    assert diff is not None
    assert "is not shown" in diff


def test_nobody_waits_for_a_named_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(ValueError, match="it is not a regular file"):
        read_text(path)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    for size, problem in ((BIGGEST, "it is a binary file"), (BIGGEST + 1, "it is too large")):
        with path.open("wb") as file:
            file.truncate(size)
        with pytest.raises(ValueError, match=problem):
            read_text(path)


def test_very_many_lines_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claudewire.people.diffs.MOST_COMPARED", 3)
    monkeypatch.setattr("difflib.unified_diff", None)
    old, new = "a\nb\nc\nd\ne\nz\n", "a\n1\n2\n3\n4\n5\nz\n"
    input = {"file_path": "x", "old_string": old, "new_string": new}
    assert diff_of("Edit", input, read=None) == "\n".join(
        [
            "--- a/x",
            "+++ b/x",
            "@@ -2,4 +2,5 @@",
            *(["-b", "-c", "-d", "-e", "+1", "+2", "+3", "+4", "+5"]),
        ]
    )
    written = diff_of(
        "Write", {"file_path": "x", "content": "1\n2\n3\n4\n"}, read=lambda path: None
    )
    assert written is not None
    assert "@@ -0,0 +1,4 @@" in written


def test_a_small_change_of_a_large_file_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claudewire.people.diffs.MOST_COMPARED", 3)
    old = "".join(f"{number}\n" for number in range(100))
    input = {"file_path": "x", "old_string": old, "new_string": old.replace("50\n", "fifty\n")}
    diff = diff_of("Edit", input, read=None)
    assert diff is not None
    assert "-50\n+fifty\n" in diff
    assert "\n 49\n" in diff
    for last, is_compared in ((52, True), (53, False)):
        lines = "".join(f"{number}\n" for number in range(50, last + 1))
        changed = diff_of("Edit", {**input, "new_string": old.replace(lines, "x\n")}, read=None)
        assert changed is not None
        assert ("\n 49\n" in changed) is is_compared


def test_a_file_that_a_tool_does_not_change_is_not_read() -> None:
    def read(path: Path) -> str:
        raise AssertionError("it was not to be read")

    assert diff_of("Read", {"file_path": "a.txt"}, read=read) is None
