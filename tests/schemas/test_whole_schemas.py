"""The schema of every type, and what is said of other values: see tests/helpers/kept.py."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tests.helpers.kept import Kept, compact
from tests.schemas.schema_table import TABLE

from claudewire.schemas import SchemaMismatch, TypeAdapter

VALUES: list[Any] = [
    None,
    0,
    2.5,
    "red",
    [1, "a", None],
    {},
    {"x": "a", "y": "b", "z": 1},
    {"kind": "cat", "lives": "many"},
    {"value": 1, "children": [{"value": "a"}]},
    {"1": 2, "a": 3},
]


def test_the_schema_of_every_type_is_as_it_was(kept: Kept) -> None:
    lines = [
        f"{name}: {TypeAdapter(kind).name}\n    {compact(TypeAdapter(kind).schema)}\n"
        for name, kind, _ in TABLE
    ]
    kept("schemas.txt", "".join(lines))


def test_what_is_said_of_values_that_do_not_fit_is_as_it_was(kept: Kept) -> None:
    told: dict[str, list[str]] = defaultdict(list)
    for name, kind, _ in TABLE:
        adapter = TypeAdapter(kind)
        for value in VALUES:
            try:
                text = f"is {adapter.convert(value)!r}"
            except SchemaMismatch as error:
                text = " | ".join(map(str, error.all))
            told[f"{compact(value)[:60]} {text}"].append(name)
    lines = [f"{text}\n    {', '.join(names)}\n" for text, names in told.items()]
    kept("mismatches.txt", "".join(lines))
