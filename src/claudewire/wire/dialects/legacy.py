"""The legacy dialect: `sdk_control_request`, and ids inside the request.

It differs from the modern form in this:

* the id of a request stands inside the request; a request of the CLI is `sdk_control_request`;
* a permission request has the subtype `permission`, and `tool_input` for the input;
* `initialize` registers `hook_callback_ids` and `sdk_mcp_servers`;
* partial output is `stream`, whose `event` is `delta`, `tool_use_start` or an API event's name,
  with that event's fields beside it;
* a result has `total_input_tokens` and `total_output_tokens`, and no subtype when all went well;
* the message of the assistant has no role, and an answer with nothing to say no payload.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..states import Role
from .base import Dialect, Find, Object, WriteContext, inside, renamed, without_nulls
from .modern import complete
from .rules import RULES

__all__ = ["LEGACY"]

_INITIALIZE = {"sdk_mcp_servers": "sdkMcpServers"}
_MATCHER = {"hook_callback_ids": "hookCallbackIds"}
_EVENT_FIELDS = (
    "index",
    "delta",
    "content_block",
    "message",
    "usage",
    "error",
    "context_management",
)
_TEXTS = ("text", "content", "data")
_OWN_EVENTS = ("delta", "tool_use_start")
_TOTALS = {"total_input_tokens": "input_tokens", "total_output_tokens": "output_tokens"}


# --- recognising ---------------------------------------------------------------------------------


def _recognises(obj: Object, find: Find) -> bool:
    kind = obj.get("type")
    if kind == "control_request":
        request = inside(obj, "request")
        return ("request_id" not in obj and "request_id" in request) or _old_initialize(request)
    if kind == "result":
        return not _TOTALS.keys().isdisjoint(obj)
    return kind in ("sdk_control_request", "stream", "control")


def _old_initialize(request: Object) -> bool:
    # A host that does not know yet to whom it speaks gives both names.
    return ("sdk_mcp_servers" in request and "sdkMcpServers" not in request) or any(
        "hook_callback_ids" in matcher and "hookCallbackIds" not in matcher
        for matchers in inside(request, "hooks").values()
        if isinstance(matchers, list)
        for matcher in matchers
        if isinstance(matcher, dict)
    )


# --- reading -------------------------------------------------------------------------------------


def _read(obj: Object, find: Find) -> Object:
    kind = obj["type"]
    if kind == "stream":
        return _read_stream(obj)
    if kind == "result":
        return complete(_read_result(obj))
    if kind == "control":
        obj = _read_control(obj)
    return complete(_read_request(obj) if "request" in obj else obj)


def _read_control(obj: Object) -> Object:
    """`control` is the name that the dialect gives to requests and answers alike."""
    inner = {key: value for key, value in obj.items() if key != "type"}
    if obj.get("subtype") in ("success", "error"):
        return {"type": "control_response", "response": inner}
    if "response" in obj:
        return {**obj, "type": "control_response"}
    if "request" in obj:
        return {**obj, "type": "control_request"}
    return {"type": "control_request", "request": inner}


def _read_request(obj: Object) -> Object:
    request = renamed(inside(obj, "request"), _INITIALIZE)
    inner = request.pop("request_id", "")
    if request.get("subtype") == "permission":
        request = {**renamed(request, {"tool_input": "input"}), "subtype": "can_use_tool"}
    request = _rename_matchers(request, _MATCHER)
    return {"request_id": inner, **obj, "type": "control_request", "request": request}


def _rename_matchers(request: Object, names: Mapping[str, str]) -> Object:
    if not isinstance(request.get("hooks"), dict):
        return request
    hooks = {
        event: [renamed(it, names) if isinstance(it, dict) else it for it in matchers]
        if isinstance(matchers, list)
        else matchers
        for event, matchers in request["hooks"].items()
    }
    return {**request, "hooks": hooks}


def _read_stream(obj: Object) -> Object:
    name = obj.get("event")
    if isinstance(name, dict) and name.get("type") in _OWN_EVENTS:  # its fields are inside then
        obj = {**obj, **name, "type": "stream"}
        name = name["type"]
    if not isinstance(name, str):
        return {**obj, "type": "stream_event"}
    event = {key: obj[key] for key in _EVENT_FIELDS if key in obj}
    rest = {key: value for key, value in obj.items() if key not in event}
    if name == "delta":
        event = {"index": 0, **event, "delta": _read_delta(event.get("delta"), rest)}
        name = "content_block_delta"
    elif name == "tool_use_start":
        event = {"index": 0, "content_block": _read_tool_use(rest), **event}
        name = "content_block_start"
    return {**rest, "type": "stream_event", "event": {**event, "type": name}}


def _read_delta(delta: Any, rest: Object) -> Any:
    """The document does not say where the text is: take it from wherever it is found."""
    if isinstance(delta, dict) and "type" in delta:
        return delta
    inner = delta if isinstance(delta, dict) else {}
    places = [delta, *(place.get(key) for place in (inner, rest) for key in _TEXTS)]
    places.append(inside(rest, "data").get("text"))
    text = next((it for it in places if isinstance(it, str)), None)
    return {"type": "text_delta", **inner, "text": text}


def _read_tool_use(rest: Object) -> Object:
    tool = inside(rest, "tool_use") or rest
    return {
        "type": "tool_use",
        "id": tool.get("id", tool.get("tool_use_id", "")),
        "name": tool.get("name", tool.get("tool_name", "")),
        "input": tool.get("input", {}),
    }


def _read_result(obj: Object) -> Object:
    totals = {_TOTALS[key]: obj[key] for key in _TOTALS if key in obj}
    rest = {key: value for key, value in obj.items() if key not in _TOTALS}
    return {**rest, "usage": {**inside(obj, "usage"), **totals}}


# --- writing -------------------------------------------------------------------------------------


def _write(obj: Object, context: WriteContext) -> Object:
    writer = _WRITERS.get(obj["type"])
    return writer(without_nulls(obj, "parent_tool_use_id"), context) if writer else obj


def _write_request(obj: Object, context: WriteContext) -> Object:
    rest = dict(obj)
    request = {**renamed(rest.pop("request"), _WIRE), "request_id": rest.pop("request_id")}
    if request.get("subtype") == "can_use_tool":
        request = {**renamed(request, {"input": "tool_input"}), "subtype": "permission"}
    if request.get("subtype") == "initialize":
        request = _rename_matchers(request, {"hookCallbackIds": "hook_callback_ids"})
    kind = "sdk_control_request" if context.sender is Role.CLI else "control_request"
    return {**rest, "type": kind, "request": request}


_WIRE = {"sdkMcpServers": "sdk_mcp_servers"}


def _write_stream(obj: Object, context: WriteContext) -> Object:
    event = dict(obj["event"])
    name = event.pop("type", None)
    if not isinstance(name, str) or name in _OWN_EVENTS or not event.keys() <= set(_EVENT_FIELDS):
        return {**obj, "type": "stream"}
    if name == "content_block_delta":
        name = "delta"
    elif name == "content_block_start" and inside(event, "content_block").get("type") == "tool_use":
        name = "tool_use_start"
    return {**obj, "type": "stream", **event, "event": name}


def _write_assistant(obj: Object, context: WriteContext) -> Object:
    message = without_nulls(obj["message"], "stop_reason", "stop_sequence")
    message.pop("role")
    return {**obj, "message": message}


def _write_result(obj: Object, context: WriteContext) -> Object:
    obj = without_nulls(obj, "stop_reason")
    if obj["subtype"] == "success" and not obj.get("is_error"):
        del obj["subtype"]
        obj.pop("is_error", None)
    usage = dict(obj.get("usage", {}))
    totals = {total: usage.pop(name) for total, name in _TOTALS.items() if name in usage}
    if totals:
        del obj["usage"]
    return {**obj, **({"usage": usage} if usage else {}), **totals}


def _write_response(obj: Object, context: WriteContext) -> Object:
    response = obj["response"]
    if response.get("response") == {}:
        response = {key: value for key, value in response.items() if key != "response"}
    return {**obj, "response": response}


_WRITERS: dict[str, Any] = {
    "control_request": _write_request,
    "control_response": _write_response,
    "stream_event": _write_stream,
    "assistant": _write_assistant,
    "result": _write_result,
    "user": lambda obj, context: obj,
}

LEGACY = Dialect("legacy", _recognises, _read, _write, RULES["legacy"])
