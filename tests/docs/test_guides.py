"""The guides for users: what they show runs, prints what they say, and their tables are complete.

A `python` fence with a file name is a whole program. One without is a snippet; the snippets of a
page are run in their order, and what one has defined the next can use. The `text` fence that
follows either of them is all that it prints. Other fences with a file name are files. What has a
folder in its name is a file of this project with tests of its own, or is for another library.
"""

from __future__ import annotations

import inspect
import json
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest
from tests.docs import snippets
from tests.docs.protocol_examples import DOCS, Fence, fences, names, table, text_of

import claudewire
from claudewire import (
    Cause,
    DialogRequest,
    ElicitationRequest,
    Patience,
    PermissionRequest,
    PlanRequest,
    QuestionRequest,
)
from claudewire.options import DECLARATIONS
from claudewire.people.pending import Pending
from claudewire.session import TasksAtEnd

PAGES = (
    "../README.md",
    "quickstart.md",
    "cookbook.md",
    "sessions.md",
    "turns.md",
    "conversations.md",
    "recordings.md",
    "limits.md",
    "errors.md",
    "deployment.md",
    "faq.md",
    "people.md",
    "policies.md",
    "security.md",
    "inbox.md",
    "tools.md",
    "architecture.md",
)
KINDS = (PermissionRequest, QuestionRequest, PlanRequest, ElicitationRequest, DialogRequest)
SOON = 240
"""Seconds: only what hangs takes so long, however busy the machine."""
SOURCE = Path(claudewire.__file__).parent


class Shown(NamedTuple):
    """Some code of a page, and what the page says that it prints."""

    code: Fence
    output: str

    @property
    def name(self) -> str:
        return f"{Path(self.code.page).name}:{self.code.info or self.code.line}"


def shown(page: str) -> Iterator[Shown]:
    for fence, after in pairwise([*fences(page), Fence(page, 0, "", "", "")]):
        if fence.language == "python" and "/" not in fence.info:
            yield Shown(fence, after.code if after.language == "text" else "")


NAMED = [it for page in PAGES for it in shown(page) if it.code.info]
TESTS = [it for it in NAMED if it.code.info.startswith("test_")]
PROGRAMS = [it for it in NAMED if it not in TESTS]
SNIPPETS = [it for page in PAGES for it in shown(page) if not it.code.info]


def run(arguments: list[str], page: str, place: Path, stdin: str = "") -> str:
    """Run Python in a folder with the files of a page, and with nothing of the suite around it."""
    folder = place / "work"
    folder.mkdir(exist_ok=True)  # so each snippet of a page that fails shows why
    for fence in fences(page):
        if "." in fence.info and "/" not in fence.info:
            (folder / fence.info).write_text(fence.code, encoding="utf-8")
    kept = {name: it for name, it in os.environ.items() if not name.startswith("CLAUDE")}
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        input=stdin,
        cwd=folder,
        env={**kept, "HOME": str(place), "XDG_CACHE_HOME": str(place), "PYTHONHASHSEED": "0"},
        capture_output=True,
        encoding="utf-8",
        timeout=SOON,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("it", PROGRAMS, ids=[it.name for it in PROGRAMS])
def test_a_program_prints_what_the_page_says(it: Shown, tmp_path: Path) -> None:
    assert run([it.code.info], it.code.page, tmp_path, "y\n") == it.output


@pytest.mark.parametrize("it", TESTS, ids=[it.name for it in TESTS])
def test_a_test_of_the_page_passes(it: Shown, tmp_path: Path) -> None:
    out = run(
        ["-m", "pytest", "-q", "-p", "no:cacheprovider", it.code.info], it.code.page, tmp_path
    )
    assert " passed" in out
    assert " skipped" not in out


@cache
def printed(page: str, place: Path) -> dict[int, str]:
    """What each snippet of a page prints, by its line."""
    those = [it.code for it in SNIPPETS if it.code.page == page]
    codes = json.dumps([fence.code for fence in those])
    outputs = json.loads(run([snippets.__file__], page, place, codes))
    return dict(zip([fence.line for fence in those], outputs, strict=True))


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {page: tmp_path_factory.mktemp("page") for page in PAGES}


# A page is run once, by whichever process of the test run has its snippets.
@pytest.mark.parametrize(
    "it",
    [pytest.param(it, marks=pytest.mark.xdist_group(it.code.page), id=it.name) for it in SNIPPETS],
)
def test_a_snippet_prints_what_the_page_says(it: Shown, places: dict[str, Path]) -> None:
    assert printed(it.code.page, places[it.code.page])[it.code.line] == it.output


def test_the_table_of_errors_is_complete() -> None:
    told = {names(name)[0] for name, _ in table("errors.md", "| error | when |")}
    public = {name: getattr(claudewire, name) for name in claudewire.__all__}
    assert {name for name in told if "." not in name} == {
        name
        for name, it in public.items()
        if inspect.isclass(it) and issubclass(it, claudewire.Error) and it is not claudewire.Error
    }
    elsewhere = [pkgutil.resolve_name(f"claudewire.{name}") for name in told if "." in name]
    assert all(issubclass(it, claudewire.Error) for it in elsewhere)


def test_the_table_of_causes_is_complete() -> None:
    rows = table("errors.md", "| cause | what it means | what to do |")
    marks = {True: " ↻", False: ""}
    assert [cause for cause, _, _ in rows] == [
        f"*{cause.value}*{marks[cause.retryable]}" for cause in Cause
    ]


def test_the_table_of_patience_says_what_there_is() -> None:
    rows = table("limits.md", "| `Patience` | seconds | limits the time |")
    limits = {names(name)[0]: seconds for name, seconds, _ in rows}
    usual = Patience()
    assert limits == {
        name: "no limit" if getattr(usual, name) is None else f"{getattr(usual, name):g}"
        for name in ("first_token", "next_token", "tool", "person", "answer")
    }


def test_the_table_of_ends_has_every_choice() -> None:
    rows = table("turns.md", "| `run(…, tasks=…)` | what happens after the reply |")
    assert {names(choice)[0].strip('"') for choice, _ in rows} == {*get_args(TasksAtEnd)}


def test_every_option_that_a_table_names_is_one() -> None:
    known = set(DECLARATIONS)
    rows = table("sessions.md", "| option | |")
    assert {names(option)[0].partition("=")[0] for option, _ in rows} <= known


@pytest.mark.parametrize(
    ("header", "kinds"),
    [
        ("| answer | what happens | what the model is told |", (PermissionRequest, PlanRequest)),
        ("| answer | what the model is told |", (QuestionRequest,)),
    ],
)
def test_the_tables_of_answers_have_every_way_to_answer(
    header: str, kinds: tuple[type[Pending[Any]], ...]
) -> None:
    told = {call.partition("(")[0] for row in table("people.md", header) for call in names(row[0])}
    assert told == {action for kind in kinds for action in kind.actions}


def test_the_table_for_user_interfaces_has_every_field_and_argument() -> None:
    rows = table("inbox.md", "| kind | also described | actions, with their arguments |")
    told = {names(kind)[0]: (names(described), names(calls)) for kind, described, calls in rows}
    assert told == {
        kind.kind: (
            re.findall(r'"(\w+)":', inspect.getsource(kind.describe)),
            [call_of(kind, action) for action in kind.actions],
        )
        for kind in KINDS
    }


def call_of(kind: type[Pending[Any]], action: str) -> str:
    _, *parameters = inspect.signature(getattr(kind, action)).parameters
    return f"{action}({', '.join(parameters)})"


def test_the_table_of_loggers_is_complete() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    told = {names(name)[0] for name, _ in table("deployment.md", "| logger | what it logs |")}
    # The parent of all of them logs nothing itself.
    assert told == {*re.findall(r'getLogger\("([\w.]+)"\)', source)} - {"claudewire"}


def test_the_readme_links_every_document() -> None:
    linked = {*re.findall(r"\(docs/([\w-]+\.md)\)", text_of("../README.md"))}
    assert linked == {page.name for page in DOCS.glob("*.md")}
