"""The requirements and examples of the four protocol documents.

`requirements.toml` lists the demands in our own words, `check.py` holds the tests to them, and
`examples/` has every JSON example of the documents, which are known by number and dialect.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["DIALECTS", "FOLDER", "Example", "examples"]

FOLDER = Path(__file__).resolve().parent

DIALECTS = {"000": "modern", "001": "session", "002": "legacy", "004": "envelope"}


@dataclass(frozen=True)
class Example:
    """One JSON object that a document shows, and the side that says it."""

    id: str
    seed: str
    dialect: str
    section: str
    direction: str
    """`>` from the host to the CLI, `<` from the CLI to the host."""
    object: dict[str, Any]


def examples(seed: str | None = None) -> list[Example]:
    """Return the examples of one document, or of all, in the order of the documents."""
    return [
        Example(**json.loads(line))
        for path in sorted((FOLDER / "examples").glob(f"{seed or ''}*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
