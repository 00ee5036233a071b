"""The wire as JSON Schema, for those who read it in another language.

It describes the modern form and is as open as the reader is: fields that are not declared may be
there, and so may members of a union with a tag that is not declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from .codec import FRAMES
from .types.base import UNKNOWN
from .types.requests import REQUESTS, answer_type
from .types.system import SYSTEM

__all__ = ["schema", "schemas"]

Schema = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REF = "#/$defs/{name}"


def schemas() -> Schema:
    """Describe a line: any message or control frame. All that lines are made of is in `$defs`.

    The payload of an answer depends on what was asked, so a line leaves it open; the answers are
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
    refs, definitions = msgspec.json.schema_components(kinds, ref_template=_REF)
    for union in list(_unions([*refs, *definitions.values()])):
        _open_up(union, definitions)
    for subtype, kind in SYSTEM.items():
        if kind.__name__ in definitions:
            _fix_subtype(definitions[kind.__name__], subtype)
    return list(refs), definitions


def _unions(value: Any) -> Iterator[Schema]:
    """Every union that is told apart by a tag, at any depth."""
    if isinstance(value, dict):
        if "discriminator" in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _unions(item)


def _open_up(union: Schema, definitions: dict[str, Schema]) -> None:
    """Let a union's unknown member be any object with a tag that no other member has."""
    # With the unknown member a discriminator would be false, and the tags say the same.
    discriminator = union.pop("discriminator")
    members = discriminator["mapping"]
    unknown = members.pop(UNKNOWN, None)
    if unknown is not None:
        definition = definitions[unknown.rpartition("/")[2]]
        definition.update(_open(discriminator["propertyName"], members))


def _open(tag: str, known: Iterable[str]) -> Schema:
    properties = {tag: {"type": "string", "not": {"enum": sorted(known)}}}
    return {"type": "object", "properties": properties, "required": [tag]}


def _fix_subtype(definition: Schema, subtype: str) -> None:
    definition["properties"]["subtype"] = {"enum": [subtype]}
    definition["required"].append("subtype")
