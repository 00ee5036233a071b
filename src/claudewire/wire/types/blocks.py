"""Content blocks, the parts of messages of the model and of the user."""

from __future__ import annotations

from typing import Any

import msgspec

from .base import UNKNOWN, Record, Unknown


class _Source(Record, tag_field="type"):
    """Something that the message contains or refers to."""


class _Block(Record, tag_field="type", kw_only=True):
    """A part of a message."""

    cache_control: Any = None


class _ServerToolResult(_Block):
    """The result of a tool that the API runs: a value of the tool's own, or an error object."""

    tool_use_id: str
    content: Any
    caller: Any = None


class Base64Source(_Source, tag="base64"):
    """Bytes written into the message."""

    media_type: str
    data: str


class URLSource(_Source, tag="url"):
    """Bytes that the API fetches."""

    url: str


class TextSource(_Source, tag="text"):
    """Plain text as a document."""

    media_type: str
    data: str


class FileSource(_Source, tag="file"):
    """A file uploaded before."""

    file_id: str


class ContentSource(_Source, tag="content"):
    """A document made of content blocks."""

    content: Content


class UnknownSource(Unknown, Record, tag=UNKNOWN, tag_field="type"):
    """A kind of source that this version does not know."""

    raw: dict[str, Any]


Source = Base64Source | URLSource | TextSource | FileSource | ContentSource | UnknownSource


class TextBlock(_Block, tag="text"):
    """Text."""

    text: str
    citations: list[Any] | None = None


class ThinkingBlock(_Block, tag="thinking"):
    """The model's thinking; empty if it is not shown."""

    thinking: str
    signature: str | None = None


class RedactedThinkingBlock(_Block, tag="redacted_thinking"):
    """Thinking that only the API can read."""

    data: str


class ToolUseBlock(_Block, tag="tool_use"):
    """The model calls a tool, which the CLI runs."""

    id: str
    name: str
    input: dict[str, Any]
    caller: Any = None
    """The caller: absent or `direct` for the model, else a server tool whose code called."""


class ToolResultBlock(_Block, tag="tool_result"):
    """The result of a tool call."""

    tool_use_id: str
    content: str | list[Block] | None = None
    is_error: bool | None = None

    @property
    def text(self) -> str:
        """The text of the result; empty if there is none."""
        return text_of(self.content or "")


class ImageBlock(_Block, tag="image"):
    """An image."""

    source: Source


class DocumentBlock(_Block, tag="document"):
    """A document that the model may read and quote."""

    source: Source
    title: str | None = None
    context: str | None = None
    citations: Any = None


class SearchResultBlock(_Block, tag="search_result"):
    """A passage that a search found, given to the model with its source."""

    source: str
    title: str
    content: list[Block]
    citations: Any = None


class ServerToolUseBlock(_Block, tag="server_tool_use"):
    """The model calls a tool that the API itself runs."""

    id: str
    name: str
    input: dict[str, Any]
    caller: Any = None


class McpToolUseBlock(_Block, tag="mcp_tool_use"):
    """The model calls a tool of an MCP server that the API itself is connected to."""

    id: str
    name: str
    input: dict[str, Any]
    server_name: str


class McpToolResultBlock(_Block, tag="mcp_tool_result"):
    """The result of a tool call that the API made to an MCP server."""

    tool_use_id: str
    content: str | list[Block] | None = None
    is_error: bool | None = None


class WebSearchToolResultBlock(_ServerToolResult, tag="web_search_tool_result"):
    """The pages that a web search of the API found, or an error object."""


class WebFetchToolResultBlock(_ServerToolResult, tag="web_fetch_tool_result"):
    """A page that the API fetched, or an error object."""


class CodeExecutionToolResultBlock(_ServerToolResult, tag="code_execution_tool_result"):
    """Output and files of code in the API's container."""


class BashCodeExecutionToolResultBlock(_ServerToolResult, tag="bash_code_execution_tool_result"):
    """Output and files of a shell command in the API's container."""


class TextEditorCodeExecutionToolResultBlock(
    _ServerToolResult, tag="text_editor_code_execution_tool_result"
):
    """The effect of an edit in the API's container."""


class ToolSearchToolResultBlock(_ServerToolResult, tag="tool_search_tool_result"):
    """The tools that a search among deferred tools found."""


class ServerToolResultBlock(_ServerToolResult, tag="advisor_tool_result"):
    """The answer of the advisor, a second model that the API consults."""


class ContainerUploadBlock(_Block, tag="container_upload"):
    """A file put into the API's container."""

    file_id: str


class ToolReferenceBlock(_Block, tag="tool_reference"):
    """A deferred tool that the model may call from now on."""

    tool_name: str


class CompactionBlock(_Block, tag="compaction"):
    """The API's summary of the messages before; without content if summarising failed."""

    content: str | None = None
    encrypted_content: str | None = None


class FallbackBlock(_Block, tag="fallback"):
    """The point where one model declined and another continued."""

    from_: Any = msgspec.field(name="from", default=None)
    to: Any = None
    trigger: Any = None


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
