"""Python types as JSON Schema, and JSON as values of these types.

Tools and structured output are built on it. It uses `errors` and `wire`. Start with `TypeAdapter`.
"""

from __future__ import annotations

from .adapter import TypeAdapter
from .arguments import Arguments
from .docstrings import Docstring
from .encoding import to_json, to_text
from .mismatch import SchemaMismatch, UnsupportedType
from .output import OutputSpec
from .validity import check_schema

__all__ = [
    "Arguments",
    "Docstring",
    "OutputSpec",
    "SchemaMismatch",
    "TypeAdapter",
    "UnsupportedType",
    "check_schema",
    "to_json",
    "to_text",
]
