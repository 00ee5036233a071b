"""The Messages API's own message, and the events that it is streamed as."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from .base import UNKNOWN, Record, Unknown, nullable
from .blocks import Block, Content
from .usage import Usage


class MessageParam(Record):
    """A message as it is given to the API."""

    role: str
    content: Content


class APIMessage(Record):
    """A message of the API, as far as it is complete."""

    role: str
    content: Content
    id: str | None = None
    type: str | None = None
    """`message`, where it is written at all."""
    model: str | None = None
    stop_reason: str | None = nullable()
    """`end_turn`, `tool_use`, `max_tokens`, `stop_sequence`, `pause_turn`, `refusal`, …

    None as long as the message is not complete.
    """
    stop_sequence: str | UnsetType | None = UNSET
    stop_details: Any = None
    usage: Usage | None = None
    container: Any = None
    context_management: Any = None
    diagnostics: Any = None


class ErrorInfo(Record):
    """An error."""

    kind: str = msgspec.field(name="type")
    """`invalid_request`, `overloaded_error`, …"""
    message: str
    details: Any = None


class TextDelta(Record, tag="text_delta", tag_field="type"):
    """More text."""

    text: str


class InputJsonDelta(Record, tag="input_json_delta", tag_field="type"):
    """More of the JSON that will be a tool's input."""

    partial_json: str


class ThinkingDelta(Record, tag="thinking_delta", tag_field="type"):
    """More thinking, or an estimate where it is not shown."""

    thinking: str
    estimated_tokens: int | None = None


class SignatureDelta(Record, tag="signature_delta", tag_field="type"):
    """The proof that the thinking is the model's."""

    signature: str


class CitationsDelta(Record, tag="citations_delta", tag_field="type"):
    """One more citation of the text."""

    citation: Any


class CompactionDelta(Record, tag="compaction_delta", tag_field="type"):
    """The complete summary, in place of the block's content."""

    content: str | None = None
    encrypted_content: str | None = None


class UnknownDelta(Unknown, Record, tag=UNKNOWN, tag_field="type"):
    """A kind of delta that this version does not know."""

    raw: dict[str, Any]


Delta = (
    TextDelta
    | InputJsonDelta
    | ThinkingDelta
    | SignatureDelta
    | CitationsDelta
    | CompactionDelta
    | UnknownDelta
)


class MessageStart(Record, tag="message_start", tag_field="type"):
    """A message begins. It has no content yet."""

    message: APIMessage


class ContentBlockStart(Record, tag="content_block_start", tag_field="type"):
    """A block begins, empty."""

    index: int
    content_block: Block


class ContentBlockDelta(Record, tag="content_block_delta", tag_field="type"):
    """A block grows."""

    index: int
    delta: Delta


class ContentBlockStop(Record, tag="content_block_stop", tag_field="type"):
    """A block is complete."""

    index: int


class MessageChange(Record):
    """The changed fields of a message."""

    stop_reason: str | None = nullable()
    stop_sequence: str | None = nullable()
    stop_details: Any = None
    container: Any = None


class MessageDelta(Record, tag="message_delta", tag_field="type"):
    """The reason why the message stopped, and its total usage."""

    delta: MessageChange
    usage: Usage | None = None
    context_management: Any = None


class MessageStop(Record, tag="message_stop", tag_field="type"):
    """The message is complete."""


class Ping(Record, tag="ping", tag_field="type"):
    """The API is still there."""


class StreamError(Record, tag="error", tag_field="type"):
    """The API gave up in the middle of a message."""

    error: ErrorInfo
    request_id: str | None = None


class UnknownStreamEvent(Unknown, Record, tag=UNKNOWN, tag_field="type"):
    """A kind of stream event that this version does not know."""

    raw: dict[str, Any]


APIEvent = (
    MessageStart
    | ContentBlockStart
    | ContentBlockDelta
    | ContentBlockStop
    | MessageDelta
    | MessageStop
    | Ping
    | StreamError
    | UnknownStreamEvent
)
