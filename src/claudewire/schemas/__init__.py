"""Python types as JSON Schema, and JSON as values of these types.

Tools and structured output are built on it. It uses `errors` and `wire`. Start with `shape`.
"""

from __future__ import annotations

from .building import Builder
from .docstrings import Docstring
from .hints import hints_of, unwrap
from .mismatch import missing, unexpected
from .nodes import Node
from .output import OutputSpec
from .records import NO_DEFAULT, Field, RecordNode
from .shape import (
    SchemaMismatch,
    Shape,
    UnsupportedType,
    convert,
    schema_of,
    shape_of,
    to_json,
    to_text,
)

__all__ = [
    "NO_DEFAULT",
    "Builder",
    "Docstring",
    "Field",
    "Node",
    "OutputSpec",
    "RecordNode",
    "SchemaMismatch",
    "Shape",
    "UnsupportedType",
    "convert",
    "hints_of",
    "missing",
    "schema_of",
    "shape_of",
    "to_json",
    "to_text",
    "unexpected",
    "unwrap",
]
