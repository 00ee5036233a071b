"""The tables for those who come from the official SDK: every name of ours exists."""

from __future__ import annotations

import inspect
import pkgutil
import re
from dataclasses import fields

import pytest
from tests.docs.protocol_examples import names, tables

import claudewire

PAGE = "migration.md"
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
        return hasattr(owner, attribute) or f"self.{attribute}" in inspect.getsource(owner)
    return pkgutil.resolve_name(path) is not None


@pytest.mark.parametrize("path", sorted({name for span in spans() for name in NAME.findall(span)}))
def test_a_name_exists(path: str) -> None:
    assert exists(path)


def test_every_option_exists() -> None:
    told = {found[1] for span in spans() if (found := OPTION.match(span))}
    assert told - {"reply", "turn"} <= {field.name for field in fields(claudewire.Options)}
