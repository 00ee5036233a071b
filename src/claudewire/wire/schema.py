"""The wire as JSON Schema, for readers in other languages.

It describes the standard dialect and is as open as the reader: undeclared fields are allowed, and
members of a union with an undeclared tag.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from .codec import FRAMES
from .types.base import UNKNOWN
from .types.control import REQUESTS, answer_type
from .types.system import SYSTEM

Schema = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schemas() -> Schema:
    """Describe a line: any message or control frame. Its parts are in `$defs`.

    The payload of an answer depends on the request, so a line leaves it open; the answers are
    in `$defs` like everything else.
    """
    lines = (*FRAMES.values(), *SYSTEM.values())
    answers = {answer_type(body): None for body in REQUESTS.values()}
    refs, definitions = _components((*lines, *answers))
    unknown = _open("type", {*FRAMES, "system"})
    unknown_system = _open("subtype", SYSTEM)
    unknown_system["properties"]["type"] = {"enum": ["system"]}
    unknown_system["required"].append("type")
    members = [*refs[: len(lines)], unknown_system, unknown]
    return {"$schema": _DIALECT, "title": "Line", "anyOf": members, "$defs": definitions}


def schema(kind: Any) -> Schema:
    """Describe one class of the wire, or a union of them."""
    (ref,), definitions = _components((kind,))
    return {"$schema": _DIALECT, **ref, "$defs": definitions}


def _components(kinds: Iterable[Any]) -> tuple[list[Schema], dict[str, Schema]]:
    refs, definitions = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    for union in list(_unions([*refs, *definitions.values()])):
        # With an unknown member a discriminator would be false, and the tags say the same.
        tags = union.pop("discriminator")
        unknown = tags["mapping"].pop(UNKNOWN, None)
        if unknown is not None:
            name = unknown.rpartition("/")[2]
            definitions[name].update(_open(tags["propertyName"], tags["mapping"]))
    return list(refs), definitions


def _unions(value: Any) -> Iterator[Schema]:
    """Yield each tagged union, at any depth."""
    if isinstance(value, dict):
        if "discriminator" in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _unions(item)


def _open(tag: str, known: Iterable[str]) -> Schema:
    """Describe an object with a tag that no other member has."""
    properties = {tag: {"type": "string", "not": {"enum": sorted(known)}}}
    return {"type": "object", "properties": properties, "required": [tag]}
