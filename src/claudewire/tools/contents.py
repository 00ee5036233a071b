"""What a tool can give back besides data: files and pictures, links, several of them, errors."""

from __future__ import annotations

import base64
import mimetypes
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..wire import Error

__all__ = ["ResourceLink", "ToolError", "ToolFile", "ToolResult"]

BINARY = "application/octet-stream"

_ALSO_TEXT = {
    "application/javascript",
    "application/json",
    "application/toml",
    "application/x-sh",
    "application/xml",
    "application/yaml",
    "image/svg+xml",
}
"""Media types that are text, though they do not say so."""

Block = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolFile:
    """A file as a result: a picture or a sound is shown as such, anything else with its content.

    Attributes:
        data: the bytes.
        name: what it is called.
        media_type: what it is, `image/png` for example.
        uri: where it is; made from the name if it is nowhere.
    """

    data: bytes
    name: str = "file"
    media_type: str = BINARY
    uri: str = ""

    @classmethod
    def read(cls, path: str | os.PathLike[str], media_type: str | None = None) -> ToolFile:
        """Read a file.

        Args:
            path: where it is.
            media_type: what it is; by default as its name suggests.

        Raises:
            OSError: it cannot be read.
        """
        file = Path(path)
        guessed = media_type or mimetypes.guess_type(file.name)[0]
        data = file.read_bytes()
        return cls(data, file.name, guessed or _guess(data), file.absolute().as_uri())

    def to_block(self) -> Block:
        """Write it as MCP does."""
        kind = self.media_type.partition("/")[0]
        if kind in {"image", "audio"} and self.media_type not in _ALSO_TEXT:
            return {"type": kind, "data": _base64(self.data), "mimeType": self.media_type}
        resource = {"uri": self.uri or f"file:///{self.name}", "mimeType": self.media_type}
        text = _text(self.data) if kind == "text" or self.media_type in _ALSO_TEXT else None
        body = {"blob": _base64(self.data)} if text is None else {"text": text}
        return {"type": "resource", "resource": {**resource, **body}}


def _guess(data: bytes) -> str:
    return BINARY if _text(data) is None else "text/plain"


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@dataclass(frozen=True, slots=True)
class ResourceLink:
    """Something that can be read elsewhere.

    Attributes:
        uri: where it is.
        name: what it is called.
        title: the same, for people.
        description: what it is about.
        media_type: what it is, `text/csv` for example.
        size: how long it is, in bytes.
    """

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    media_type: str | None = None
    size: int | None = None

    def to_block(self) -> Block:
        """Write it as MCP does."""
        fields = {
            "uri": self.uri,
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "mimeType": self.media_type,
            "size": self.size,
        }
        given = {key: value for key, value in fields.items() if value is not None}
        return {"type": "resource_link", **given}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A result in full, where a plain value does not say enough.

    Attributes:
        content: what the model is shown: text, files, links, or one of them.
        structured: the same as data; an object. New CLIs show the model this alone.
        is_error: whether it tells of a failure.
        meta: more for the CLI, as `_meta`.
    """

    content: Any = ()
    structured: Mapping[str, Any] | None = None
    is_error: bool = False
    meta: Mapping[str, Any] | None = None


class ToolError(Error):
    """Raised or returned by a tool that cannot do what it was asked: the model is told so.

    Args:
        content: what the model is shown: text, or whatever else a tool can return.

    Attributes:
        content: the same.
    """

    def __init__(self, *content: Any) -> None:
        super().__init__(" ".join(str(part) for part in content))
        self.content: Sequence[Any] = content
