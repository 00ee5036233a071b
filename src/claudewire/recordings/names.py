"""The name of a line, and its content in a few words."""

from __future__ import annotations

import json
from typing import Any

from ..wire import (
    Answer,
    Cancel,
    Event,
    Failure,
    InvalidLine,
    Malformed,
    Request,
    UnexpectedMessage,
    UnknownRequest,
)

WIDEST = 400
"""Characters of a summary: more than a line of a terminal, and no whole file."""

_KNOWN = frozenset({"type", "subtype", "uuid", "session_id", "request_id"})
"""Fields that tell nothing about the content of a line."""


def name_of(event: Event) -> str:
    """Name the kind of line: `assistant`, `system/init`, `can_use_tool`."""
    match event:
        case UnexpectedMessage():
            return name_of(event.event)
        case Request():
            return _subtype(event)
        case Answer() | Failure():
            return _subtype(event.request) if event.request else "unknown"
        case Cancel():
            return "cancel"
        case InvalidLine():
            return "not JSON"
        case Malformed():
            return "malformed"
    raw = event.raw
    inner = raw.get("event") if raw.get("type") == "stream_event" else None
    subtype = inner.get("type") if isinstance(inner, dict) else raw.get("subtype")
    return "/".join(it for it in (raw.get("type"), subtype) if isinstance(it, str)) or "unknown"


def _subtype(request: Request) -> str:
    body = request.body
    known = body.__struct_config__.tag
    return str(body.raw.get("subtype") if isinstance(body, UnknownRequest) else known)


# --- the content ---------------------------------------------------------------------------------


def shortened(text: str) -> str:
    """Put a text into one line, and shorten it."""
    text = " ".join(text.split())
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def summary_of(event: Event) -> str:
    """Sum up a line of the wire in one line."""
    return shortened(_words(event))


def _words(event: Event) -> str:
    match event:
        case UnexpectedMessage():
            return f"{_words(event.event)} ({event.reason})"
        case InvalidLine() | Malformed():
            return f"{event.reason}: {event.head.decode('utf-8', 'replace')}"
        case Failure():
            return event.error
        case Cancel():
            return f"request {event.id}"
    return _content(event.raw)


def _content(raw: dict[str, Any]) -> str:
    match raw:
        case {"type": "control_request", "request": dict() as request}:
            return _asked(request)
        case {"type": "control_response", "response": dict() as response}:
            return _rest(response.get("response") or {}) or "ok"
        case {"message": {"content": content}}:
            return _blocks(content)
        case {"type": "result"} as result:
            return _result(result)
        case {"subtype": "init", "model": model} as init:
            shown = [model, init.get("permissionMode"), init.get("cwd")]
            tools = f"{len(init['tools'])} tools" if isinstance(init.get("tools"), list) else None
            return ", ".join(str(it) for it in (*shown, tools) if it)
        case {"type": "stream_event", "event": {"delta": dict() as delta}}:
            return " ".join(it for name, it in delta.items() if name != "type" and type(it) is str)
        case {"type": "stream_event"}:
            return ""
    return _rest(raw)


def _asked(request: dict[str, Any]) -> str:
    match request:
        case {"subtype": "can_use_tool", "tool_name": name}:
            return f"{name} {_json(request.get('input'))}"
        case {"subtype": "hook_callback", "callback_id": id, "input": dict() as given}:
            parts = (given.get("hook_event_name"), given.get("tool_name"), id)
            return " ".join(str(it) for it in parts if it)
        case {"subtype": "mcp_message", "server_name": server, "message": dict() as message}:
            params = message.get("params")
            called = params.get("name") if isinstance(params, dict) else None
            return f"{server}: {message.get('method', 'an answer')} {called or ''}"
    return _rest(request)


def _blocks(content: Any) -> str:
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return " | ".join(filter(None, map(_block, content)))


def _block(block: Any) -> str:
    match block:
        case {"type": "text", "text": str() as text}:
            return text
        case {"type": "thinking", "thinking": thinking}:
            return f"(thinking) {thinking}"
        case {"type": "tool_use", "name": name}:
            return f"{name} {_json(block.get('input'))}"
        case {"type": "tool_result"}:
            kind = "error" if block.get("is_error") else "result"
            return f"{kind}: {_blocks(block.get('content'))}"
        case {"type": kind}:
            return f"({kind})"
    return ""


def _result(raw: dict[str, Any]) -> str:
    errors = raw.get("errors")
    error = ", ".join(map(str, errors)) if isinstance(errors, list) else ""
    parts = [str(raw.get("result") or error or raw.get("terminal_reason") or "")]
    parts += [f"turns: {raw['num_turns']}"] if raw.get("num_turns") is not None else []
    cost = raw.get("total_cost_usd")
    parts += [f"cost: {cost:.4f} USD"] if isinstance(cost, int | float) else []
    return " · ".join(filter(None, parts))


def _rest(raw: dict[str, Any]) -> str:
    """Show the fields of an object that tell about its content, as JSON."""
    return _json({key: value for key, value in raw.items() if key not in _KNOWN})


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if value else ""
