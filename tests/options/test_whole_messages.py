"""What is said of every value of every option: see tests/helpers/kept.py."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.kept import Kept, normal
from tests.options.every_option import NAMES, alone, every_option

from claudewire.errors import OptionsError
from claudewire.options import DECLARATIONS, Agent, Options
from claudewire.options.declaration import Declaration
from claudewire.options.versions import MEASURED, may_ignore, unsupported

VALUES: dict[str, Any] = {
    "none": None,
    "true": True,
    "zero": 0,
    "negative": -1,
    "fraction": 1.5,
    "infinite": float("inf"),
    "empty": "",
    "word": "word",
    "with-a-zero": "a\0b",
    "not-UTF-8": "\udcff",
    "dash": "--x",
    "bytes": b"a",
    "list": ["a", 1],
    "words": ["a", "b c", "d,e"],
    "mapping": {"a": 1},
    "nested": {"a": {"type": "odd"}},
    "number-as-key": {1: "a"},
    "object": object,
}


@pytest.mark.parametrize("name", VALUES)
def test_what_is_said_of_a_value_is_as_it_was(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    told: dict[str, list[str]] = defaultdict(list)
    for option in DECLARATIONS:
        try:
            text = repr(getattr(Options(**{option: VALUES[name]}), option))
        except OptionsError as error:
            text = f"{error} | {error.advice}"
        except TypeError as error:
            text = f"TypeError: {error}"
        told[re.sub(rf"\b{option}\b", "NAME", text)].append(option)
    lines = [f"{text}\n    {' '.join(options)}\n" for text, options in told.items()]
    text = f"{VALUES[name]!r}\n{''.join(lines)}"
    kept(f"{name}.txt", normal(text, folder=tmp_path))


@pytest.mark.parametrize("field", Agent.__dataclass_fields__)
def test_what_is_said_of_a_field_of_an_agent_is_as_it_was(kept: Kept, field: str) -> None:
    lines = []
    for name, value in VALUES.items():
        try:
            text = repr(Agent(**{"description": "d", "prompt": "p", field: value}))
        except OptionsError as error:
            text = f"{error} | {error.advice}"
        lines.append(f"{name}: {text}\n")
    kept(f"agent-{field}.txt", "".join(lines))


def test_how_options_are_shown_is_as_it_was(kept: Kept, tmp_path: Path) -> None:
    examples = every_option(tmp_path)
    lines = [repr(Options())]
    for name in NAMES:
        options = Options(**alone(examples, name))
        is_path = str(tmp_path) in repr(examples[name])  # which is cut
        lines.append(f"{name}: {'…' if is_path else options!r}")
        for version in MEASURED:
            old, ignored = unsupported(options, version), may_ignore(options, version)
            if old or ignored:
                lines.append(f"    {version}: {old} ignored: {ignored}")
    kept("shown.txt", normal("".join(f"{line}\n" for line in lines), folder=tmp_path))


def test_how_options_are_declared_is_as_it_was(kept: Kept) -> None:
    lines = []
    for name, it in DECLARATIONS.items():
        names = (key for key in Declaration.__struct_fields__ if key != "check")
        fields = {key: getattr(it, key) for key in sorted(names)}
        lines.append(f"{name}: {fields}\n")
    kept("declared.txt", "".join(lines))
