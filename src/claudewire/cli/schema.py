"""`claudewire schema`: the wire, and the JSON output of commands, as JSON Schema."""

from __future__ import annotations

import json
import sys
from difflib import get_close_matches
from typing import Any

import click
import msgspec

from .. import wire
from ..wire.schema import schema, schemas
from .errors import CommandError
from .recordings import LintReport
from .reports import Activity, DoctorReport, RunReport, schema_of
from .sessions import SearchReport, SessionsReport, TranscriptReport

PRINTED: dict[str, Any] = {
    "run --json": RunReport,
    "run --stream-json": Activity | RunReport,
    "sessions list --json": SessionsReport,
    "sessions show --json": TranscriptReport,
    "sessions search --json": SearchReport,
    "lint --json": LintReport,
    "doctor --json": DoctorReport,
}
"""The JSON output of commands. `sessions archive` prints the same as `sessions list`."""


@click.command()
@click.argument("name", required=False)
@click.option("--list", "listed", is_flag=True, help="Print all names.")
def command(name: str | None, listed: bool) -> None:
    """Print the JSON Schema of a line on the wire, or of NAME alone.

    NAME is a class of claudewire.wire such as ResultMessage, or its name on the wire: a type
    (result), a system message (system/init), a control request (can_use_tool). NAME can also be a
    command with its option, such as "run --json", for the schema of its output.
    """
    names = _names()
    if listed:
        sys.stdout.write("".join(f"{it}\n" for it in sorted([*names, *PRINTED])))
        return
    if name is None:
        found = schemas()
    elif name in PRINTED:
        found = schema_of(PRINTED[name])
    elif name in names:
        found = schema(names[name])
    else:
        close = get_close_matches(name, [*names, *PRINTED])
        advice = f"Did you mean {' or '.join(close)}?" if close else "--list prints all names."
        raise CommandError(f"There is no schema named {name!r}.", advice=advice)
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


def _names() -> dict[str, Any]:
    """Name every type of the wire that has a schema: by its class, and by its name on the wire."""
    records = {
        name: it
        for name, it in vars(wire).items()
        if isinstance(it, type) and issubclass(it, msgspec.Struct) and it is not msgspec.Struct
    }
    tags = {kind.__struct_config__.tag: kind for kind in wire.MESSAGES}
    systems = {f"system/{subtype}": kind for subtype, kind in wire.SYSTEM.items()}
    found: dict[Any, Any] = {**records, **tags, **systems, **wire.REQUESTS}
    return {name: it for name, it in found.items() if isinstance(name, str) and name.isprintable()}
