"""What a line is called, and what it says in a few words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from ..wire import (
    Answer,
    AssistantMessage,
    Cancel,
    CanUseTool,
    ContentBlockDelta,
    ContentBlockStart,
    ElicitationResult,
    Event,
    Failure,
    HookCallback,
    InitMessage,
    Malformed,
    McpMessage,
    Message,
    Noise,
    Request,
    RequestBody,
    ResultMessage,
    Stray,
    StreamEvent,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownMessage,
    UnknownRequest,
    UserMessage,
)

__all__ = ["name_of", "request_name", "shortened", "summary_of"]

WIDEST = 400
"""Characters of a summary: more than a line of a terminal, and no whole file."""

_KNOWN = frozenset({"type", "subtype", "uuid", "session_id", "request_id"})
"""Fields that say nothing about what a line says."""


def name_of(event: Event) -> str:
    """Name the kind of line: `assistant`, `system/init`, `can_use_tool`."""
    if isinstance(event, Stray):
        return name_of(event.event)
    if isinstance(event, Request):
        return request_name(event.body)
    if isinstance(event, Answer | Failure):
        return request_name(event.request.body) if event.request else "unknown"
    if isinstance(event, Cancel):
        return "cancel"
    if isinstance(event, StreamEvent):
        return f"stream_event/{_tag(event.event)}"
    if isinstance(event, UnknownMessage):
        return event.kind or "unknown"
    if isinstance(event, Message):
        subtype = getattr(event, "subtype", None)
        return f"{_tag(event)}/{subtype}" if subtype else _tag(event)
    return type(event).__name__.lower()


def request_name(body: RequestBody[Any]) -> str:
    """Name a request by its subtype."""
    return str(body.raw.get("subtype")) if isinstance(body, UnknownRequest) else _tag(body)


def _tag(record: Any) -> str:
    tag = record.__struct_config__.tag
    return str(record.raw.get("type")) if tag is None or tag.startswith("\0") else str(tag)


# --- what it says --------------------------------------------------------------------------------


def summary_of(event: Event) -> str:
    """Say in one line what a line of the wire says."""
    return shortened(_words(event))


def shortened(text: str) -> str:
    """Put a text into one line, and shorten it to what is shown of a line."""
    text = " ".join(text.split())
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _words(event: Event) -> str:
    match event:
        case Stray():
            return f"{_words(event.event)} ({event.reason})"
        case Noise() | Malformed():
            head = event.head.decode("utf-8", "replace")
            return f"{event.reason}: {head}"
        case Request():
            return _asked(event.body)
        case Answer():
            return _answered(event.body)
        case Failure():
            return event.error
        case Cancel():
            return f"request {event.id}"
    return _message(event)


def _asked(body: RequestBody[Any]) -> str:
    match body:
        case CanUseTool():
            return f"{body.tool_name} {_json(body.input)}"
        case HookCallback():
            tool = getattr(body.input, "tool_name", None)
            return " ".join(filter(None, [_tag(body.input), tool, body.callback_id]))
        case McpMessage():
            return f"{body.server_name}: {_rpc(body.message)}"
        case UnknownRequest():
            return _rest(body.raw)
    return _rest(msgspec.to_builtins(body))


def _rpc(message: dict[str, Any]) -> str:
    params = message.get("params")
    called = params.get("name") if isinstance(params, dict) else None
    return " ".join(str(it) for it in (message.get("method", "an answer"), called) if it)


def _answered(body: Any) -> str:
    if isinstance(body, ElicitationResult):
        return f"{body.action} {_json(body.content) if body.content else ''}"
    return _rest(msgspec.to_builtins(body)) or "ok"


def _message(event: Event) -> str:
    match event:
        case AssistantMessage():
            return _blocks(event.content)
        case UserMessage(content=str() as text):
            return text
        case UserMessage(content=blocks):
            return _blocks(blocks)
        case ResultMessage():
            return _result(event)
        case InitMessage():
            shown = [event.model, event.permission_mode, event.cwd]
            tools = f"{len(event.tools)} tools" if event.tools is not None else None
            return ", ".join(it for it in (*shown, tools) if it)
        case StreamEvent():
            return _streamed(event.event)
    return _rest(event.raw)


def _blocks(blocks: Iterable[Any]) -> str:
    return " | ".join(filter(None, map(_block, blocks)))


def _block(block: Any) -> str:
    match block:
        case TextBlock():
            return block.text
        case ThinkingBlock():
            return f"(thinking) {block.thinking}"
        case ToolUseBlock():
            return f"{block.name} {_json(block.input)}"
        case ToolResultBlock():
            content = block.content
            inner = content if isinstance(content, str) else _blocks(content or ())
            return f"{'error' if block.is_error else 'result'}: {inner}"
    return f"({_tag(block)})"


def _result(event: ResultMessage) -> str:
    parts = [event.result or ", ".join(event.errors or ()) or event.terminal_reason or ""]
    if event.num_turns is not None:
        parts.append(f"turns: {event.num_turns}")
    if event.total_cost_usd is not None:
        parts.append(f"cost: {event.total_cost_usd:.4f} USD")
    return " · ".join(filter(None, parts))


def _streamed(event: Any) -> str:
    if isinstance(event, ContentBlockDelta):
        delta = msgspec.to_builtins(event.delta)
        return " ".join(str(value) for key, value in delta.items() if key != "type")
    if isinstance(event, ContentBlockStart):
        return _tag(event.content_block)
    return ""


def _rest(raw: Any) -> str:
    """Show the fields of an object that tell something, as JSON."""
    if not isinstance(raw, dict):
        return _json(raw)
    return _json({key: value for key, value in raw.items() if key not in _KNOWN})


def _json(value: Any) -> str:
    if value in ({}, None):
        return ""
    return json.dumps(value, ensure_ascii=False, default=str)
