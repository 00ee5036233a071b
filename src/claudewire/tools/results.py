"""Results of tools, and their form in MCP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

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

Block = dict[str, Any]
Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A result in full, where a plain value does not say enough.

    Attributes:
        content: the content for the model: a string, an image, a document, or a list of them.
        structured: the same as data, an object. New CLIs show the model only this.
        is_error: whether the call failed.
        meta: more for the CLI, as `_meta`.
    """

    content: Any = ()
    structured: Mapping[str, Any] | None = None
    is_error: bool = False
    meta: Mapping[str, Any] | None = None


class ToolError(Error):
    """Raised or returned by a tool to tell the model that the call cannot succeed.

    Args:
        content: the content for the model: a string, or anything else that a tool can return.
    """

    def __init__(self, *content: Any) -> None:
        super().__init__(" ".join(str(part) for part in content))
        self.content: Sequence[Any] = content


# --- results in the format of MCP ---------------------------------------------------------------

_RAW = {
    "_meta": "_meta",
    "content": "content",
    "isError": "isError",
    "is_error": "isError",
    "structuredContent": "structuredContent",
    "structured_content": "structuredContent",
}
"""The fields of a result in the format of MCP, or of the official SDK, and their names in MCP."""

_BLOCKS = ("audio", "image", "resource", "resource_link", "text")


def to_json(value: Any) -> Any:
    """Return a value as decoded JSON, also dataclasses, models, Structs, dates and paths."""
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        return to_jsonable_python(value, by_alias=True, bytes_mode="base64", fallback=_fallback)
    except PydanticSerializationError as error:
        raise TypeError(str(error)) from error


def _fallback(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return msgspec.to_builtins(value, str_keys=True)


def error_result(text: str) -> Result:
    """Make a result that reports a failure to the model."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


def to_result(value: Any, *, wrap: bool = False) -> Result:
    """Make the result of a returned value; `wrap` puts it into the field `result` of an object."""
    if isinstance(value, ToolError):
        return {"content": _blocks(value.content), "isError": True}
    if isinstance(value, ToolResult):
        result: Result = {"content": _blocks(value.content), "isError": value.is_error}
        for name, data in (("structuredContent", value.structured), ("_meta", value.meta)):
            if data is not None:
                result[name] = to_json(data)
        return result
    if _is_of_mcp(value) and "content" in (dumped := _dumped(value)):
        value = {"isError": False} | {key: it for key, it in dumped.items() if key in _RAW}
    if _is_raw(value):
        result = {"isError": False} | {_RAW[key]: it for key, it in value.items()}
        if not isinstance(result["isError"], bool):
            raise TypeError(f"is_error must be True or False, not {result['isError']!r}")
        return {**result, "content": _blocks(result.get("content", ()))}
    parts = value if isinstance(value, list | tuple) else [value]
    if any(_block(part) is not None for part in parts):
        return {"content": _blocks(value), "isError": False}
    return _data(value, wrap=wrap)


def _data(value: Any, *, wrap: bool) -> Result:
    """Return data as text, and as structured content unless it is a single value."""
    if isinstance(value, bytes | bytearray | memoryview):
        raise TypeError("a tool cannot return bytes; return image() or document()")
    data = to_json(value)
    is_scalar = value is None or isinstance(value, bool | int | float | str)
    if not wrap and (value is None or value == ""):
        return {"content": [], "isError": False}  # the API refuses an empty text block
    text = value if isinstance(value, str) else msgspec.json.encode(data).decode()
    result: Result = {"content": [{"type": "text", "text": text}], "isError": False}
    if wrap or not is_scalar:
        # MCP requires an object here.
        result["structuredContent"] = (
            data if isinstance(data, dict) and not wrap else {"result": data}
        )
    return result


def _blocks(content: Any) -> list[Block]:
    """Return the blocks of content; data in it becomes text."""
    blocks: list[Block] = []
    for part in content if isinstance(content, list | tuple) else [content]:
        if _is_block(part):
            blocks.append(dict(part))
        elif (block := _block(part)) is not None:
            blocks.append(block)
        else:
            blocks += to_result(part)["content"]
    return blocks


def _block(value: Any) -> Block | None:
    """Return content in the format of MCP; None if the value is data."""
    if isinstance(value, TextBlock):
        return {"type": "text", "text": value.text}
    if isinstance(value, ImageBlock):
        return _source_block(value.source, "image", "image")
    if isinstance(value, DocumentBlock):
        return _source_block(value.source, "document", value.title or "document")
    if _is_of_mcp(value) and (dumped := _dumped(value)).get("type") in _BLOCKS:
        return dumped
    return None


def _source_block(source: Source, kind: str, name: str) -> Block | None:
    match source:
        case URLSource(url=url):
            return {"type": "resource_link", "uri": url, "name": name}
        case Base64Source(media_type=media_type, data=data) if kind == "image":
            return {"type": "image", "data": data, "mimeType": media_type}
        case Base64Source(media_type=media_type, data=data):
            content = {"mimeType": media_type, "blob": data}
        case TextSource(media_type=media_type, data=data):
            content = {"mimeType": media_type, "text": data}
        case _:
            return None
    return {"type": "resource", "resource": {"uri": f"file:///{name}", **content}}


def _is_raw(value: Any) -> bool:
    """Whether a dictionary is a result: it has `isError`, or its content is a list of blocks."""
    if not isinstance(value, dict) or not value.keys() <= _RAW.keys():
        return False
    if "isError" in value or "is_error" in value:
        return True
    content = value.get("content")
    return isinstance(content, list) and all(map(_is_block, content))


def _is_block(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("type") in _BLOCKS


def _is_of_mcp(value: Any) -> bool:
    """Whether it is an object of the `mcp` package: a result or content."""
    # Version 2 has its types in the package `mcp_types`.
    package = type(value).__module__.partition(".")[0]
    return package in ("mcp", "mcp_types") and hasattr(value, "model_dump")


def _dumped(value: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped
