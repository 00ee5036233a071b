"""What a tool can return, and the result in the format of MCP that is made of it."""

from __future__ import annotations

import base64
import mimetypes
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from ..content import Document, Image, Text
from ..schemas import to_json, to_text
from ..wire import (
    Base64Source,
    DocumentBlock,
    Error,
    ImageBlock,
    Source,
    TextBlock,
    TextSource,
    URLSource,
)

__all__ = ["ResourceLink", "ToolError", "ToolFile", "ToolResult", "error_result", "to_result"]

Block = dict[str, Any]
Result = dict[str, Any]

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
"""Media types of text that do not begin with `text/`."""


@dataclass(frozen=True, slots=True)
class ToolFile:
    """A file as a result: an image or a sound is shown as such, anything else by its content.

    Attributes:
        data: the bytes.
        name: its name.
        media_type: what it is, `image/png` for example.
        uri: where it is; made from the name by default.
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
        """Return it in the format of MCP."""
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
    """A link to something that can be read elsewhere.

    Attributes:
        uri: where it is.
        name: its name.
        title: its name, for people.
        description: what it is about.
        media_type: what it is, `text/csv` for example.
        size: its size in bytes.
    """

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    media_type: str | None = None
    size: int | None = None

    def to_block(self) -> Block:
        """Return it in the format of MCP."""
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
        content: what the model sees: a string, a file, a link, or a list of them.
        structured: the same as data, an object. New CLIs show the model only this.
        is_error: whether the call failed.
        meta: more for the CLI, as `_meta`.
    """

    content: Any = ()
    structured: Mapping[str, Any] | None = None
    is_error: bool = False
    meta: Mapping[str, Any] | None = None


class ToolError(Error):
    """Raised or returned by a tool to tell the model that it cannot do what it was asked.

    Args:
        content: what the model sees: a string, or anything else that a tool can return.

    Attributes:
        content: what the model sees.
    """

    def __init__(self, *content: Any) -> None:
        super().__init__(" ".join(str(part) for part in content))
        self.content: Sequence[Any] = content


_RAW = {
    "_meta": "_meta",
    "content": "content",
    "isError": "isError",
    "is_error": "isError",
    "structuredContent": "structuredContent",
    "structured_content": "structuredContent",
}
"""The fields of a result that is in the format of MCP, or of the official SDK, and their names."""


def error_result(text: str) -> Result:
    """Make a result that tells the model what went wrong."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


def to_result(value: Any, *, wrap: bool = False) -> Result:
    """Make the result of what a tool returned.

    Args:
        value: what it returned.
        wrap: whether the output schema is of an object with the value in its field `result`.

    Raises:
        TypeError: a tool cannot return this.
    """
    if isinstance(value, str) and not wrap:
        # The API refuses an empty text block.
        return {"content": [{"type": "text", "text": value}] if value else [], "isError": False}
    if isinstance(value, ToolError):
        return {"content": _blocks(value.content), "isError": True}
    if isinstance(value, ToolResult):
        return _full(value)
    value = _from_mcp(value)
    if _is_raw(value):
        return _raw(value)
    if _is_content(value) or _has_content(value):
        return {"content": _blocks(value), "isError": False}
    return _data(value, wrap=wrap)


def _full(value: ToolResult) -> Result:
    result: Result = {"content": _blocks(value.content), "isError": value.is_error}
    if value.structured is not None:
        result["structuredContent"] = to_json(value.structured)
    if value.meta is not None:
        result["_meta"] = to_json(value.meta)
    return result


def _data(value: Any, *, wrap: bool) -> Result:
    """Return data as text, and as structured content unless it is a single value."""
    if isinstance(value, bytes | bytearray | memoryview):
        raise TypeError("a tool cannot return bytes; return a ToolFile, which says what they are")
    is_scalar = value is None or isinstance(value, bool | int | float | str)
    if value is None and not wrap:
        return {"content": [], "isError": False}
    text = value if isinstance(value, str) else to_text(value)
    result: Result = {"content": [{"type": "text", "text": text}], "isError": False}
    if wrap or not is_scalar:
        data = to_json(value)
        is_object = isinstance(data, dict) and not wrap
        # MCP requires an object here.
        result["structuredContent"] = data if is_object else {"result": data}
    return result


def _blocks(content: Any) -> list[Block]:
    parts = content if isinstance(content, list | tuple) else [content]
    return [block for part in parts for block in _to_blocks(part)]


def _to_blocks(part: Any) -> list[Block]:
    if _is_block(part):
        return [dict(part)]
    block = _written(part)
    if block is not None:
        return [block]
    blocks: list[Block] = to_result(part)["content"]
    return blocks


def _has_content(value: Any) -> bool:
    """Whether it is a list of content, and not of data."""
    return isinstance(value, list | tuple) and any(_is_content(part) for part in value)


def _is_content(value: Any) -> bool:
    return _written(value) is not None


def _written(value: Any) -> Block | None:
    """Return content in the format of MCP; None if the value is not content."""
    if callable(getattr(value, "to_block", None)):
        block: Block = value.to_block()
        return block
    if isinstance(value, Text | Image | Document):
        value = value.block()
    if isinstance(value, TextBlock):
        return {"type": "text", "text": value.text}
    if isinstance(value, ImageBlock):
        return _source(value.source, "image")
    if isinstance(value, DocumentBlock):
        return _source(value.source, value.title or "document")
    return None


def _source(source: Source, name: str) -> Block | None:
    """Return an image or a document in the format of MCP, which has links for what is elsewhere."""
    if isinstance(source, URLSource):
        return ResourceLink(source.url, name).to_block()
    if isinstance(source, TextSource):
        return ToolFile(source.data.encode(), name, source.media_type).to_block()
    if isinstance(source, Base64Source):
        return ToolFile(base64.b64decode(source.data), name, source.media_type).to_block()
    return None


def _from_mcp(value: Any) -> Any:
    """Write an object of the `mcp` package, a result or content, as the dict that it stands for."""
    parts = value if isinstance(value, list | tuple) else [value]
    if not any(map(_is_of_mcp, parts)):
        return value
    written = [_dumped(part) if _is_of_mcp(part) else part for part in parts]
    if isinstance(value, list | tuple) or _is_block(written[0]):
        return {"content": written, "isError": False}
    return {key: it for key, it in written[0].items() if key in _RAW}


def _is_of_mcp(value: Any) -> bool:
    # The newer line of the package has its types in a package of their own.
    package = type(value).__module__.partition(".")[0]
    return package in ("mcp", "mcp_types") and hasattr(value, "model_dump")


def _dumped(value: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped


def _is_raw(value: Any) -> TypeGuard[Result]:
    """Whether it is a result already: it says whether it is an error, or all of it is content."""
    if not isinstance(value, dict) or not value.keys() <= _RAW.keys():
        return False
    if "isError" in value or "is_error" in value:
        return True
    content = value.get("content")
    return isinstance(content, list) and all(map(_is_block, content))


def _raw(value: Result) -> Result:
    result = {_RAW[key]: it for key, it in value.items()}
    if not isinstance(result.setdefault("isError", False), bool):
        raise TypeError(f"is_error must be True or False, not {result['isError']!r}")
    return {**result, "content": _blocks(result.get("content", ()))}


def _is_block(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("type") in {
        "audio",
        "image",
        "resource",
        "resource_link",
        "text",
    }
