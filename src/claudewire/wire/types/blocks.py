"""Content blocks: what the messages of the model and of the user are made of."""

from __future__ import annotations

from typing import Any

import msgspec

from .base import UNKNOWN, Record, Unknown

__all__ = [
    "Base64Source",
    "BashCodeExecutionToolResultBlock",
    "Block",
    "CodeExecutionToolResultBlock",
    "CompactionBlock",
    "ContainerUploadBlock",
    "Content",
    "ContentSource",
    "DocumentBlock",
    "FallbackBlock",
    "FileSource",
    "ImageBlock",
    "McpToolResultBlock",
    "McpToolUseBlock",
    "RedactedThinkingBlock",
    "SearchResultBlock",
    "ServerToolResultBlock",
    "ServerToolUseBlock",
    "Source",
    "TextBlock",
    "TextEditorCodeExecutionToolResultBlock",
    "TextSource",
    "ThinkingBlock",
    "ToolReferenceBlock",
    "ToolResultBlock",
    "ToolSearchToolResultBlock",
    "ToolUseBlock",
    "URLSource",
    "UnknownBlock",
    "UnknownSource",
    "WebFetchToolResultBlock",
    "WebSearchToolResultBlock",
    "blocks_of",
    "text_of",
]


class Base64Source(Record, tag="base64", tag_field="type"):
    """Bytes written into the message."""

    media_type: str
    data: str


class URLSource(Record, tag="url", tag_field="type"):
    """Bytes that the API fetches."""

    url: str


class TextSource(Record, tag="text", tag_field="type"):
    """Plain text as a document."""

    media_type: str
    data: str


class FileSource(Record, tag="file", tag_field="type"):
    """A file uploaded before."""

    file_id: str


class ContentSource(Record, tag="content", tag_field="type"):
    """A document made of content blocks."""

    content: Content


class UnknownSource(Unknown, Record, tag=UNKNOWN, tag_field="type"):
    """A kind of source that this version does not know."""

    raw: dict[str, Any]


Source = Base64Source | URLSource | TextSource | FileSource | ContentSource | UnknownSource


class TextBlock(Record, tag="text", tag_field="type"):
    """What is said."""

    text: str
    citations: list[Any] | None = None
    cache_control: Any = None


class ThinkingBlock(Record, tag="thinking", tag_field="type"):
    """What the model thought before it answered; empty if the thinking is not shown."""

    thinking: str
    signature: str | None = None


class RedactedThinkingBlock(Record, tag="redacted_thinking", tag_field="type"):
    """Thinking that only the API can read."""

    data: str


class ToolUseBlock(Record, tag="tool_use", tag_field="type"):
    """The model calls a tool, which the CLI runs."""

    id: str
    name: str
    input: dict[str, Any]
    caller: Any = None
    """Who called: absent or `direct` for the model, else the server tool whose code did."""
    cache_control: Any = None


class ToolResultBlock(Record, tag="tool_result", tag_field="type"):
    """What came of a tool call."""

    tool_use_id: str
    content: str | list[Block] | None = None
    is_error: bool | None = None
    cache_control: Any = None

    @property
    def text(self) -> str:
        """The text of the result; empty if there is none."""
        return text_of(self.content or "")


class ImageBlock(Record, tag="image", tag_field="type"):
    """An image."""

    source: Source
    cache_control: Any = None


class DocumentBlock(Record, tag="document", tag_field="type"):
    """A document that the model may read and quote."""

    source: Source
    title: str | None = None
    context: str | None = None
    citations: Any = None
    cache_control: Any = None


class SearchResultBlock(Record, tag="search_result", tag_field="type"):
    """A passage that a search found, given to the model with its source."""

    source: str
    title: str
    content: list[Block]
    citations: Any = None
    cache_control: Any = None


class ServerToolUseBlock(Record, tag="server_tool_use", tag_field="type"):
    """The model calls a tool that the API itself runs."""

    id: str
    name: str
    input: dict[str, Any]
    caller: Any = None
    cache_control: Any = None


class McpToolUseBlock(Record, tag="mcp_tool_use", tag_field="type"):
    """The model calls a tool of an MCP server that the API itself is connected to."""

    id: str
    name: str
    input: dict[str, Any]
    server_name: str
    cache_control: Any = None


class McpToolResultBlock(Record, tag="mcp_tool_result", tag_field="type"):
    """What came of a tool call that the API made to an MCP server."""

    tool_use_id: str
    content: str | list[Block] | None = None
    is_error: bool | None = None
    cache_control: Any = None


class WebSearchToolResultBlock(Record, tag="web_search_tool_result", tag_field="type"):
    """What a web search by the API found: a list of pages, or an error object."""

    tool_use_id: str
    content: Any
    caller: Any = None
    cache_control: Any = None


class WebFetchToolResultBlock(Record, tag="web_fetch_tool_result", tag_field="type"):
    """A page that the API fetched, or why it could not."""

    tool_use_id: str
    content: Any
    caller: Any = None
    cache_control: Any = None


class CodeExecutionToolResultBlock(Record, tag="code_execution_tool_result", tag_field="type"):
    """What code printed and wrote in the API's container."""

    tool_use_id: str
    content: Any
    cache_control: Any = None


class BashCodeExecutionToolResultBlock(
    Record, tag="bash_code_execution_tool_result", tag_field="type"
):
    """What a shell command printed and wrote in the API's container."""

    tool_use_id: str
    content: Any
    cache_control: Any = None


class TextEditorCodeExecutionToolResultBlock(
    Record, tag="text_editor_code_execution_tool_result", tag_field="type"
):
    """What an edit of a file in the API's container did."""

    tool_use_id: str
    content: Any
    cache_control: Any = None


class ToolSearchToolResultBlock(Record, tag="tool_search_tool_result", tag_field="type"):
    """The tools that a search among deferred tools found."""

    tool_use_id: str
    content: Any
    cache_control: Any = None


class ServerToolResultBlock(Record, tag="advisor_tool_result", tag_field="type"):
    """What the advisor, a second model that the API asks, said."""

    tool_use_id: str
    content: Any
    cache_control: Any = None


class ContainerUploadBlock(Record, tag="container_upload", tag_field="type"):
    """A file put into the API's container."""

    file_id: str
    cache_control: Any = None


class ToolReferenceBlock(Record, tag="tool_reference", tag_field="type"):
    """A deferred tool that the model may call from here on."""

    tool_name: str
    cache_control: Any = None


class CompactionBlock(Record, tag="compaction", tag_field="type"):
    """The API's own summary of what came before; without content if summarising failed."""

    content: str | None = None
    encrypted_content: str | None = None
    cache_control: Any = None


class FallbackBlock(Record, tag="fallback", tag_field="type"):
    """The point where one model declined and another went on."""

    from_: Any = msgspec.field(name="from", default=None)
    to: Any = None
    trigger: Any = None
    cache_control: Any = None


class UnknownBlock(Unknown, Record, tag=UNKNOWN, tag_field="type"):
    """A kind of block that this version does not know."""

    raw: dict[str, Any]


Block = (
    TextBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | ToolUseBlock
    | ToolResultBlock
    | ImageBlock
    | DocumentBlock
    | SearchResultBlock
    | ServerToolUseBlock
    | McpToolUseBlock
    | McpToolResultBlock
    | WebSearchToolResultBlock
    | WebFetchToolResultBlock
    | CodeExecutionToolResultBlock
    | BashCodeExecutionToolResultBlock
    | TextEditorCodeExecutionToolResultBlock
    | ToolSearchToolResultBlock
    | ServerToolResultBlock
    | ContainerUploadBlock
    | ToolReferenceBlock
    | CompactionBlock
    | FallbackBlock
    | UnknownBlock
)

Content = str | list[Block]
"""A string stands for a single block of text."""


def blocks_of(content: Content) -> list[Block]:
    """Return some content as blocks: a string is one of text."""
    return [TextBlock(content)] if isinstance(content, str) else content


def text_of(content: Content) -> str:
    """Join the text blocks of some content, leaving out everything else."""
    if isinstance(content, str):
        return content
    return "".join(block.text for block in content if isinstance(block, TextBlock))
