"""The page about the architecture: its packages, modules, contracts and dependencies exist."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from tests.docs.protocol_examples import fences, names, prose, table

import claudewire

PAGE = "architecture.md"
SOURCE = Path(claudewire.__file__).parent
PACKAGES = "| package | what it is for | begin with |"
PLACES = "| I want to … | look at |"
EXCEPTIONS = "| module | imports | why |"
NOT_PACKAGES = {"__init__", "__pycache__", "py"}  # py.typed


@cache
def project() -> dict[str, Any]:
    text = (SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def contract() -> dict[str, Any]:
    first, *_ = project()["tool"]["importlinter"]["contracts"]
    assert first["type"] == "layers"
    return dict(first)


def picture() -> list[str]:
    (drawn,) = [fence.code for fence in fences(PAGE) if fence.code.startswith("cli\n")]
    return drawn.splitlines()


def test_the_picture_shows_the_packages_that_there_are() -> None:
    drawn = [name for row in picture() for name in row.split(" | ")]
    there = {path.name.partition(".")[0] for path in SOURCE.iterdir()}
    assert sorted(drawn) == sorted(there - NOT_PACKAGES)


def test_the_picture_is_the_contract() -> None:
    assert picture() == contract()["layers"]


def test_the_table_has_every_package_from_the_lowest_to_the_highest() -> None:
    told = [names(package)[0] for package, _, _ in table(PAGE, PACKAGES)]
    assert told[0] == "wire"  # the lowest that one would read
    height = {name: -row for row, it in enumerate(picture()) for name in it.split(" | ")}
    assert sorted(told) == sorted(height)
    heights = [height[name] for name in told if name != "_package"]
    assert heights == sorted(heights)


def test_every_file_that_is_named_exists() -> None:
    named = {name for name in names(prose(PAGE)) if re.fullmatch(r"[\w/]+\.py|[a-z]+/[a-z]+", name)}
    assert len(named) > 40
    roots = (SOURCE, SOURCE.parents[1])
    assert [name for name in sorted(named) if not any((it / name).exists() for it in roots)] == []


def test_every_package_says_where_to_begin_and_every_question_has_a_place() -> None:
    cells = [row[-1] for row in table(PAGE, PACKAGES)] + [row[1] for row in table(PAGE, PLACES)]
    assert [
        cell for cell in cells if not [it for it in names(cell) if "/" in it or ".py" in it]
    ] == []


def test_the_exceptions_are_those_of_the_contract() -> None:
    told = [f"{names(row[0])[0]} -> {names(row[1])[0]}" for row in table(PAGE, EXCEPTIONS)]
    assert sorted(told) == sorted(contract()["ignore_imports"])


def test_every_dependency_has_its_reason() -> None:
    told = set(
        re.findall(r"^- \*\*([\w-]+)\*\*(?:,|:)", prose(PAGE).partition("## Why each")[2], re.M)
    )
    meta = project()["project"]
    wanted = [*meta["dependencies"], *project()["build-system"]["requires"]]
    for extra in meta["optional-dependencies"].values():
        wanted += extra
    assert told == {re.split(r"[^\w-]", it)[0] for it in wanted}
