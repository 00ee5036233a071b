"""`claudewire schema`: the wire as JSON Schema."""

from __future__ import annotations

import json
import sys
from difflib import get_close_matches
from typing import Any

import click
import msgspec

from ... import wire
from ...wire.schema import schema, schemas
from ..errors import CommandError

__all__ = ["command"]


@click.command()
@click.argument("name", required=False)
@click.option("--list", "listed", is_flag=True, help="Print the names that can be given.")
def command(name: str | None, listed: bool) -> None:
    """Print the JSON Schema of a line of the wire, or of NAME alone.

    NAME is a class of claudewire.wire such as ResultMessage, or what stands on the wire: a type
    (result), a system message (system/init), a control request (can_use_tool).
    """
    names = _names()
    if listed:
        sys.stdout.write("".join(f"{it}\n" for it in sorted(names)))
        return
    if name is not None and name not in names:
        close = get_close_matches(name, names)
        advice = f"Did you mean {' or '.join(close)}?" if close else "--list prints all names."
        raise CommandError(f"There is nothing called {name!r} on the wire.", advice=advice)
    found = schemas() if name is None else schema(names[name])
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


def _names() -> dict[str, Any]:
    """Everything that has a schema: classes by their names, and by what stands on the wire."""
    exported = {name: getattr(wire, name) for name in wire.__all__}
    records = {
        name: it
        for name, it in exported.items()
        if isinstance(it, type) and issubclass(it, msgspec.Struct)
    }
    tags = {kind.__struct_config__.tag: kind for kind in wire.MESSAGES}
    systems = {f"system/{subtype}": kind for subtype, kind in wire.SYSTEM.items()}
    found: dict[Any, Any] = {**records, **tags, **systems, **wire.REQUESTS}
    return {name: it for name, it in found.items() if isinstance(name, str) and name.isprintable()}
