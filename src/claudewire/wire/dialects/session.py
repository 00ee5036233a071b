"""The session dialect: `session.create`, `session.send`, `callback.request`.

It differs from the modern form in this:

* a prompt is `session.create` the first time and `session.send` afterwards, with nothing beside
  the message; the CLI confirms the first with `session.created`;
* a permission request is `callback.request`, its answer `callback.response` in snake_case;
* other answers are flat: the id beside the payload, no subtype;
* tools are objects with a description, models have `display`, the account `account_type`;
* model and usage of the assistant stand beside its message, and messages have no role;
* a result counts in `turn_count` and `duration_seconds`, and has one `error` text;
* an error has a `code`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..states import Role
from ..types.cli_requests import CanUseTool
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

_DECISION = {
    "updated_input": "updatedInput",
    "updated_permissions": "updatedPermissions",
    "tool_use_id": "toolUseID",
    "decision_classification": "decisionClassification",
}
_INITIALIZE = {"system_prompt": "systemPrompt", "mcp_servers": "mcpServers"}
_PAYLOAD = {"display": "displayName", "account_type": "subscriptionType"}
_SCOPES = {
    "session": "session",
    "user": "userSettings",
    "project": "projectSettings",
    "local": "localSettings",
}
_TOP_OF_ASSISTANT = ("model", "usage")


# --- recognising ---------------------------------------------------------------------------------


def _is_flat(obj: Object, find: Find) -> bool:
    subtype = inside(obj, "response").get("subtype")
    return "request_id" in obj and subtype not in ("success", "error")


def _is_initialize(obj: Object, find: Find) -> bool:
    request = inside(obj, "request")
    return request.get("subtype") == "initialize" and not _INITIALIZE.keys().isdisjoint(request)


def _has_tool_objects(obj: Object, find: Find) -> bool:
    tools = obj.get("tools")
    has_objects = isinstance(tools, list) and any(isinstance(tool, dict) for tool in tools)
    return obj.get("subtype") == "init" and has_objects


def _has_no_role(obj: Object, find: Find) -> bool:
    message = inside(obj, "message")
    return message.get("type") == "message" and "role" not in message


def _is_split(obj: Object, find: Find) -> bool:
    # A message without a role that has its model inside is written in the legacy dialect.
    whole = not inside(obj, "message").keys().isdisjoint(_TOP_OF_ASSISTANT)
    return "model" in obj or (_has_no_role(obj, find) and not whole)


def _is_result(obj: Object, find: Find) -> bool:
    return "turn_count" in obj or "duration_seconds" in obj or isinstance(obj.get("error"), str)


def _has_code(obj: Object, find: Find) -> bool:
    return "code" in inside(obj, "error")


# --- reading -------------------------------------------------------------------------------------


def _read_prompt(obj: Object, find: Find) -> Object:
    return {**obj, "type": "user"}


def _read_initialize(obj: Object, find: Find) -> Object:
    return changed(obj, "request", lambda request: renamed(request, _INITIALIZE))


def _read_callback(obj: Object, find: Find) -> Object:
    def read(request: Object) -> Object:
        return changed(request, "permission_suggestions", _read_rule)

    return {**changed(obj, "request", read), "type": "control_request"}


def _read_rule(rule: Object) -> Object:
    if "pattern" not in rule:
        return rule
    scope = rule.get("scope")
    return {
        "type": "addRules",
        "rules": [{"toolName": str(rule.get("type")).title(), "ruleContent": rule["pattern"]}],
        "behavior": rule.get("action"),
        "destination": _SCOPES.get(scope, scope) if isinstance(scope, str) else None,
    }


def _read_decision(obj: Object, find: Find) -> Object:
    def read(decision: Object) -> Object:
        return changed(renamed(decision, _DECISION), "updatedPermissions", _read_rule)

    response = changed(inside(obj, "response"), "response", read)
    return {**obj, "type": "control_response", "response": response}


def _read_answer(obj: Object, find: Find) -> Object:
    payload = _rename_payload(obj, _PAYLOAD).get("response")
    inner = {key: value for key, value in obj.items() if key.startswith("pending_")}
    inner |= {"subtype": "success", "request_id": obj["request_id"], "response": payload}
    return {**obj, "response": inner}


def _rename_payload(obj: Object, names: Mapping[str, str]) -> Object:
    """Rename fields of the models and of the account."""

    def rename(inner: Object) -> Object:
        return renamed(inner, names)

    return changed(
        obj, "response", lambda it: changed(changed(it, "models", rename), "account", rename)
    )


def _read_system(obj: Object, find: Find) -> Object:
    tools = [tool if isinstance(tool, dict) else {"name": tool} for tool in obj["tools"]]
    words = {str(it.get("name")): it["description"] for it in tools if it.get("description")}
    told = {"tool_descriptions": words} if words else {}
    return {**obj, "tools": [it.get("name") for it in tools], **told}


def _read_assistant(obj: Object, find: Find) -> Object:
    moved = {key: obj[key] for key in _TOP_OF_ASSISTANT if key in obj}
    message = {**inside(obj, "message"), **moved}
    return {**without(obj, *moved), "message": message}


def _read_result(obj: Object, find: Find) -> Object:
    obj = renamed(obj, {"turn_count": "num_turns"})
    seconds, error = obj.pop("duration_seconds", None), obj.pop("error", None)
    if isinstance(seconds, int | float):
        obj["duration_ms"] = round(seconds * 1000, 3)
    if error is not None:
        obj["errors"] = [error]
    return obj


def _read_error(obj: Object, find: Find) -> Object:
    return changed(obj, "error", lambda error: renamed(error, {"code": "type"}))


# --- writing -------------------------------------------------------------------------------------


def _write_user(obj: Object, context: WriteContext) -> Object:
    obj = without_nulls(obj, "parent_tool_use_id")
    if context.sender is Role.CLIENT:
        return {**obj, "type": "session.create" if context.first_prompt else "session.send"}
    return {**obj, "message": {"type": "message", **without(obj["message"], "role")}}


def _write_request(obj: Object, context: WriteContext) -> Object:
    request = obj["request"]
    if request.get("subtype") == "initialize":
        return {**obj, "request": renamed(request, inverse(_INITIALIZE))}
    if request.get("subtype") != "can_use_tool":
        return obj
    request = changed({"blocked_path": None, **request}, "permission_suggestions", _write_rule)
    return {**obj, "type": "callback.request", "request": request}


def _write_rule(rule: Object) -> Object:
    """Write the short form, where it says the same."""
    match rule:
        case {
            "type": "addRules",
            "rules": [{"toolName": str(tool), "ruleContent": pattern, **more}],
            "behavior": action,
            "destination": str(destination),
        } if not more and destination in _SCOPES.values() and tool.lower().title() == tool:
            scope = inverse(_SCOPES)[destination]
            return {"type": tool.lower(), "action": action, "pattern": pattern, "scope": scope}
    return rule


def _write_response(obj: Object, context: WriteContext) -> Object:
    request, response = context.request, obj["response"]
    if request is not None and request.line:
        is_callback = request.raw.get("type") == "callback.request"
    else:
        is_callback = request is not None and isinstance(request.body, CanUseTool)
    if is_callback:
        return _write_decision(obj)
    if context.sender is Role.CLIENT:
        return obj
    if response["subtype"] == "error":  # the document has only the place of the id
        return {**obj, "request_id": response["request_id"]}
    payload = _rename_payload({"response": {}, **response}, inverse(_PAYLOAD))
    return {**obj, **without(payload, "subtype")}


def _write_decision(obj: Object) -> Object:
    def write(decision: Object) -> Object:
        decision = renamed(decision, inverse(_DECISION))
        return changed(decision, "updated_permissions", _write_rule)

    return {
        **obj,
        "type": "callback.response",
        "response": changed(obj["response"], "response", write),
    }


def _write_system(obj: Object, context: WriteContext) -> Object:
    words = obj.get("tool_descriptions", {})
    if "tools" not in obj:
        return obj
    tools = [{"name": name, "description": words.get(name, "")} for name in obj["tools"]]
    return {**without(obj, "tool_descriptions"), "tools": tools}


def _write_assistant(obj: Object, context: WriteContext) -> Object:
    message = {"type": "message", **without_nulls(obj["message"], "stop_reason", "stop_sequence")}
    moved = {key: message[key] for key in _TOP_OF_ASSISTANT if key in message}
    message = without(message, "role", *moved)
    return {**without_nulls(obj, "parent_tool_use_id"), "message": message, **moved}


def _write_result(obj: Object, context: WriteContext) -> Object:
    obj = renamed(without_nulls(obj, "stop_reason"), {"num_turns": "turn_count"})
    if obj.pop("is_error", False):
        errors: list[Any] = obj.pop("errors", None) or [obj.pop("result", "")]
        obj["error"] = "\n".join(map(str, errors))
        if obj["subtype"] == "success":
            obj["subtype"] = "error_during_execution"
    if "duration_ms" in obj:
        obj["duration_seconds"] = obj.pop("duration_ms") / 1000
    return obj


def _write_error(obj: Object, context: WriteContext) -> Object:
    return {**obj, "error": renamed(obj["error"], {"type": "code"})}


SESSION = Dialect(
    "session",
    BEHAVIORS["session"],
    marks={
        "session.create": always,
        "session.send": always,
        "session.created": always,
        "callback.request": always,
        "callback.response": always,
        "control_response": _is_flat,
        "control_request": _is_initialize,
        "system": _has_tool_objects,
        "assistant": _is_split,
        "user": _has_no_role,
        "result": _is_result,
        "error": _has_code,
    },
    readers={
        "session.create": _read_prompt,
        "session.send": _read_prompt,
        "callback.request": _read_callback,
        "callback.response": _read_decision,
        "control_response": _read_answer,
        "control_request": _read_initialize,
        "system": _read_system,
        "assistant": _read_assistant,
        "result": _read_result,
        "error": _read_error,
    },
    writers={
        "user": _write_user,
        "control_request": _write_request,
        "control_response": _write_response,
        "system": _write_system,
        "assistant": _write_assistant,
        "result": _write_result,
        "error": _write_error,
    },
)
