"""The judgements: mutations that no test can notice, because they change nothing that matters."""

from __future__ import annotations

import tomllib
from pathlib import Path

from mutation.mutations import Identity

__all__ = ["JUDGED", "read", "written"]

JUDGED = Path(__file__).with_name("judged.toml")

_KEYS = (*Identity._fields, "equivalent")


def read(text: str) -> dict[Identity, str]:
    """Return the reason for each mutation that was judged equivalent.

    Raises:
        ValueError: an entry has other keys than those of an identity and `equivalent`.
    """
    judged = {}
    for entry in tomllib.loads(text).get("mutation", []):
        if sorted(entry) != sorted(_KEYS) or not all(map(str.strip, entry.values())):
            raise ValueError(f"A judgement needs {', '.join(_KEYS)}, each with a text: {entry}")
        judged[Identity(*(entry[key] for key in Identity._fields))] = entry["equivalent"]
    return judged


def written(identity: Identity) -> str:
    """Return an entry of the file, without its reason."""
    lines = [f"{name} = {_quoted(value)}" for name, value in identity._asdict().items()]
    return "\n".join(["[[mutation]]", *lines, 'equivalent = ""'])


def _quoted(text: str) -> str:
    if "'" not in text:
        return f"'{text}'"
    if "'''" not in text and not text.endswith("'"):
        return f"'''{text}'''"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
