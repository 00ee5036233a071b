"""The API reference: what a reader looks up is there, with signatures and defaults."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
from tests.docs.protocol_examples import text_of

import claudewire
from claudewire import sync, testing
from claudewire.options import DECLARATIONS
from claudewire.people import Change

ROOT = Path(__file__).resolve().parents[2]
PAGE = "api.md"
PLACEHOLDERS = {"DEFAULT"}
"""A public constant that may stand as a default: it has a section of its own."""


def section(name: str) -> str:
    """What the page says about a name."""
    _, _, after = text_of(PAGE).partition(f"\n### {name}\n")
    assert after, f"{name} has no section"
    return re.split(r"^##? |^### ", after, maxsplit=1, flags=re.MULTILINE)[0]


def public_methods(thing: type[Any]) -> list[str]:
    return [
        name
        for name, it in vars(thing).items()
        if inspect.isfunction(it) and not name.startswith("_") and it.__doc__
    ]


def test_the_page_is_what_the_source_says() -> None:
    """In a process of its own: what a name stands for must not depend on what was imported."""
    code = "import sys; from scripts.api_reference import reference; sys.stdout.write(reference())"
    made = subprocess.run([sys.executable, "-X", "utf8", "-c", code], cwd=ROOT, stdout=PIPE)
    is_same = made.stdout == text_of(PAGE).encode()  # not asserted: the difference is long
    assert is_same, "scripts/docs --write makes it anew"


def test_every_option_has_its_type_and_its_default() -> None:
    told = section("Options")
    assert "\n| | type | default | |\n" in told
    for name in DECLARATIONS:
        row = rf"^\| `{name}` \| `.+` \| `.+` \| .+ \|$"
        assert re.search(row, told, re.MULTILINE), name


@pytest.mark.parametrize(
    ("name", "thing"),
    [
        ("testing.Chat", testing.Chat),
        ("testing.SimulatedCLI", testing.SimulatedCLI),
        ("sync.Session", sync.Session),
        ("sync.Turn", sync.Turn),
        ("sync.Pool", sync.Pool),
        ("Inbox", claudewire.Inbox),
    ],
)
def test_every_method_has_its_signature(name: str, thing: type[Any]) -> None:
    told = section(name)
    for method in public_methods(thing):
        assert re.search(rf"(`(async )?|def ){method}\(", told), f"{name}.{method}"


@pytest.mark.parametrize(
    "call",
    [
        "SimulatedCLI(",
        "ToolOutcome(allowed: bool, ",
        "Change(what: str, request: Pending[Any])",
        "Budget(",
        "Patience(",
        "Inbox(",
    ],
)
def test_what_users_make_or_read_has_its_fields(call: str) -> None:
    assert f"\n{call}" in text_of(PAGE)
    assert Change.__name__ in text_of(PAGE)


def test_a_factory_is_described_by_what_it_is_called_with() -> None:
    for name in ("SimulatedCLIFactory", "SimulatedProgramFactory", "RecordingFactory"):
        told = section(f"testing.{name}")
        assert "def __call__(" in told
        assert f"{name}(" not in told


def test_a_default_is_a_value_and_not_the_name_of_a_constant() -> None:
    found = {*re.findall(r" = ([A-Z][A-Z_]{2,})\b", text_of(PAGE))}
    assert found <= PLACEHOLDERS
