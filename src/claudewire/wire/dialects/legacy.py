"""The legacy dialect: `sdk_control_request`, and ids inside the request.

It differs from the modern form in this:

* the id of a request stands inside the request; a request of the CLI is `sdk_control_request`;
* a permission request has the subtype `permission`, and `tool_input` for the input;
* `initialize` registers `hook_callback_ids` and `sdk_mcp_servers`;
* partial output is `stream`, whose `event` is `delta` or `tool_use_start`, with the fields of the
  API's event beside it;
* a result has `total_input_tokens` and `total_output_tokens`, and no subtype when all went well;
* the message of the assistant has no role, and an answer with nothing to say no payload.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..states import Role
from .base import (
    Dialect,
    Find,
    Object,
    WriteContext,
    always,
    changed,
    inside,
    inverse,
    renamed,
    without,
    without_nulls,
)
from .behavior import BEHAVIORS

_INITIALIZE = {"sdk_mcp_servers": "sdkMcpServers"}
_MATCHER = {"hook_callback_ids": "hookCallbackIds"}
_TOTALS = {"total_input_tokens": "input_tokens", "total_output_tokens": "output_tokens"}
_EVENTS = {"content_block_delta": "delta", "content_block_start": "tool_use_start"}
_EVENT_FIELDS = ("index", "delta", "content_block")


# --- recognising ---------------------------------------------------------------------------------


def _is_request(obj: Object, find: Find) -> bool:
    request = inside(obj, "request")
    if "request_id" not in obj and "request_id" in request:
        return True
    # A host that does not know yet to whom it speaks gives both names.
    return ("sdk_mcp_servers" in request and "sdkMcpServers" not in request) or any(
        "hook_callback_ids" in matcher and "hookCallbackIds" not in matcher
        for matchers in inside(request, "hooks").values()
        if isinstance(matchers, list)
        for matcher in matchers
        if isinstance(matcher, dict)
    )


def _is_result(obj: Object, find: Find) -> bool:
    return not _TOTALS.keys().isdisjoint(obj)


# --- reading -------------------------------------------------------------------------------------


def _read_control(obj: Object, find: Find) -> Object:
    """Read `control`, a name that the dialect gives to requests and answers alike."""
    inner = without(obj, "type")
    if obj.get("subtype") in ("success", "error"):
        return {"type": "control_response", "response": inner}
    if "response" in obj:
        return {**obj, "type": "control_response"}
    return _read_request(obj if "request" in obj else {"request": inner}, find)


def _read_request(obj: Object, find: Find) -> Object:
    request = renamed(inside(obj, "request"), _INITIALIZE)
    id = request.pop("request_id", "")
    if request.get("subtype") == "permission":
        request = {**renamed(request, {"tool_input": "input"}), "subtype": "can_use_tool"}
    request = _rename_matchers(request, _MATCHER)
    return {"request_id": id, **obj, "type": "control_request", "request": request}


def _rename_matchers(request: Object, names: Mapping[str, str]) -> Object:
    def rename(hooks: Object) -> Object:
        for event in hooks:
            hooks = changed(hooks, event, lambda matcher: renamed(matcher, names))
        return hooks

    return changed(request, "hooks", rename)


def _read_stream(obj: Object, find: Find) -> Object:
    event: Any = obj.get("event")
    if isinstance(event, str):
        event = {"type": event, **without(obj, "type", "event")}
    kind = event.get("type") if isinstance(event, dict) else None
    if kind == "delta":
        event = {"index": 0, **event, "type": "content_block_delta", "delta": _read_delta(event)}
    elif kind == "tool_use_start":
        block = {"content_block": _read_tool_use(event)}
        event = {"index": 0, **block, **event, "type": "content_block_start"}
    return {**without(obj, *_EVENT_FIELDS), "type": "stream_event", "event": event}


def _read_delta(event: Object) -> Any:
    """Find the text: the document does not say where it is."""
    delta = event.get("delta")
    if isinstance(delta, dict) and "type" in delta:
        return delta
    holders = (inside(event, "delta"), event, inside(event, "data"))
    texts = (delta, *(it.get(key) for it in holders for key in ("text", "content", "data")))
    return {"type": "text_delta", "text": next((it for it in texts if isinstance(it, str)), None)}


def _read_tool_use(event: Object) -> Object:
    tool = inside(event, "tool_use") or event
    return {
        "type": "tool_use",
        "id": tool.get("id", tool.get("tool_use_id", "")),
        "name": tool.get("name", tool.get("tool_name", "")),
        "input": tool.get("input", {}),
    }


def _read_result(obj: Object, find: Find) -> Object:
    totals = {name: obj[total] for total, name in _TOTALS.items() if total in obj}
    return {**without(obj, *_TOTALS), "usage": {**inside(obj, "usage"), **totals}}


# --- writing -------------------------------------------------------------------------------------


def _write_request(obj: Object, context: WriteContext) -> Object:
    request = {**renamed(obj["request"], inverse(_INITIALIZE)), "request_id": obj["request_id"]}
    if request.get("subtype") == "can_use_tool":
        request = {**renamed(request, {"input": "tool_input"}), "subtype": "permission"}
    request = _rename_matchers(request, inverse(_MATCHER))
    kind = "sdk_control_request" if context.sender is Role.CLI else "control_request"
    return {**without(obj, "request_id"), "type": kind, "request": request}


def _write_response(obj: Object, context: WriteContext) -> Object:
    response = obj["response"]
    is_empty = response.get("response") == {}
    return {**obj, "response": without(response, "response") if is_empty else response}


def _write_stream(obj: Object, context: WriteContext) -> Object:
    obj = {**without_nulls(obj, "parent_tool_use_id"), "type": "stream"}
    event = obj["event"]
    kind = event.get("type")
    name = _EVENTS.get(kind) if isinstance(kind, str) else None
    block = event.get("content_block", {"type": "tool_use"})
    if name is None or block.get("type") != "tool_use":
        return obj
    return {**obj, **without(event, "type"), "event": name}


def _write_assistant(obj: Object, context: WriteContext) -> Object:
    message = without_nulls(without(obj["message"], "role"), "stop_reason", "stop_sequence")
    return {**without_nulls(obj, "parent_tool_use_id"), "message": message}


def _write_user(obj: Object, context: WriteContext) -> Object:
    return without_nulls(obj, "parent_tool_use_id")


def _write_result(obj: Object, context: WriteContext) -> Object:
    obj = without_nulls(obj, "stop_reason")
    if obj["subtype"] == "success" and not obj.get("is_error"):
        obj = without(obj, "subtype", "is_error")
    usage = obj.get("usage", {})
    totals = {total: usage[name] for total, name in _TOTALS.items() if name in usage}
    rest = without(usage, *_TOTALS.values())
    if totals and not rest:
        obj = without(obj, "usage")
    elif totals:
        obj = {**obj, "usage": rest}
    return {**obj, **totals}


LEGACY = Dialect(
    "legacy",
    BEHAVIORS["legacy"],
    marks={
        "control_request": _is_request,
        "result": _is_result,
        "sdk_control_request": always,
        "stream": always,
        "control": always,
    },
    readers={
        "control_request": _read_request,
        "result": _read_result,
        "sdk_control_request": _read_request,
        "stream": _read_stream,
        "control": _read_control,
    },
    writers={
        "control_request": _write_request,
        "control_response": _write_response,
        "stream_event": _write_stream,
        "assistant": _write_assistant,
        "result": _write_result,
        "user": _write_user,
    },
)
