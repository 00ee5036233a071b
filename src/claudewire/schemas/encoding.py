"""Python values as JSON: those that msgspec knows, paths, and pydantic models."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence, Set
from typing import Any

import msgspec

__all__ = ["to_json", "to_text"]


def _encode_foreign(value: Any) -> Any:
    """Return something simpler for a value that msgspec does not know."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", by_alias=True)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence | Set):
        return list(value)
    raise TypeError(f"a `{type(value).__name__}` cannot be written as JSON")


_encoder = msgspec.json.Encoder(enc_hook=_encode_foreign)


def to_json(value: Any) -> Any:
    """Convert a value to what its JSON decodes to.

    Raises:
        TypeError: it cannot be written as JSON.
    """
    return _plain(msgspec.to_builtins(value, str_keys=True, enc_hook=_encode_foreign))


def _plain(value: Any) -> Any:
    """Replace tuples by lists."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def to_text(value: Any) -> str:
    """Write a value as JSON.

    Raises:
        TypeError: it cannot be written as JSON.
    """
    return _encoder.encode(value).decode()
