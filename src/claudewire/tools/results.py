"""From what a function returns to the result of a tool, as MCP writes it."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from ..content import Document, Image, Text
from ..schemas import to_json, to_text
from ..wire import Base64Source, DocumentBlock, ImageBlock, Source, TextBlock, TextSource, URLSource
from .contents import ResourceLink, ToolError, ToolFile, ToolResult

__all__ = ["error_result", "to_result"]

Block = dict[str, Any]
Result = dict[str, Any]

_RAW = {"_meta", "content", "isError", "structuredContent"}
"""The fields of a result that is already written as MCP does."""


def error_result(text: str) -> Result:
    """Tell the model that it did not work."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


def to_result(value: Any, *, wrap: bool = False) -> Result:
    """Write down what a tool returned.

    Args:
        value: what it returned.
        wrap: whether the output schema is of an object with the value in its field `result`.

    Raises:
        TypeError: it is nothing that a tool can return.
    """
    if isinstance(value, str) and not wrap:
        # An empty text is refused by the API.
        return {"content": [{"type": "text", "text": value}] if value else [], "isError": False}
    if isinstance(value, ToolError):
        return {"content": _blocks(value.content), "isError": True}
    if isinstance(value, ToolResult):
        return _full(value)
    if _is_raw(value):
        return {"isError": False, **value}
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
    """Give data as JSON, and once more as data, unless it is a single number or the like."""
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
        # MCP wants an object here.
        result["structuredContent"] = data if is_object else {"result": data}
    return result


def _blocks(content: Any) -> list[Block]:
    parts = content if isinstance(content, list | tuple) else [content]
    return [block for part in parts for block in _to_blocks(part)]


def _to_blocks(part: Any) -> Iterable[Block]:
    if isinstance(part, Mapping) and _is_block(part):
        return [dict(part)]
    block = None if isinstance(part, str | Mapping) else _written(part)
    if block is not None:
        return [block]
    blocks: list[Block] = to_result(part)["content"]
    return blocks


def _has_content(value: Any) -> bool:
    """Say whether it is several contents, and not a list of data."""
    return isinstance(value, list | tuple) and any(_is_content(part) for part in value)


def _is_content(value: Any) -> bool:
    return not isinstance(value, str | Mapping) and _written(value) is not None


def _written(value: Any) -> Block | None:
    """Write a content as MCP does; None if it is none."""
    if callable(getattr(value, "to_block", None)):
        block: Block = value.to_block()
        return block
    if isinstance(value, Text | Image | Document):
        value = value.block()
    if isinstance(value, TextBlock):
        return {"type": "text", "text": value.text}
    if isinstance(value, ImageBlock):
        return _source(value.source, "picture")
    if isinstance(value, DocumentBlock):
        return _source(value.source, value.title or "document")
    return None


def _source(source: Source, name: str) -> Block | None:
    """Write a picture or a document. MCP has links for what is elsewhere."""
    if isinstance(source, URLSource):
        return ResourceLink(source.url, name).to_block()
    if isinstance(source, TextSource):
        return ToolFile(source.data.encode(), name, source.media_type).to_block()
    if isinstance(source, Base64Source):
        return ToolFile(base64.b64decode(source.data), name, source.media_type).to_block()
    return None


def _is_raw(value: Any) -> TypeGuard[Result]:
    """Say whether it is a result as MCP writes it, which needs nothing more."""
    if not isinstance(value, dict) or "content" not in value or not value.keys() <= _RAW:
        return False
    content = value["content"]
    return isinstance(content, list) and all(map(_is_block, content))


def _is_block(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("type") in {
        "audio",
        "image",
        "resource",
        "resource_link",
        "text",
    }
