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

from typing import Any

from ..states import Role
from ..types.cli_requests import CanUseTool
from ..types.control import Request
from .base import Dialect, Find, Object, WriteContext, inside, renamed, without_nulls
from .modern import complete
from .rules import RULES

__all__ = ["SESSION"]

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


def _inverse(names: dict[str, str]) -> dict[str, str]:
    return {value: key for key, value in names.items()}


# --- recognising ---------------------------------------------------------------------------------


def _recognises(obj: Object, find: Find) -> bool:
    kind = obj.get("type")
    test = _MARKS.get(kind) if isinstance(kind, str) else None
    return test is not None and test(obj)


def _flat(obj: Object) -> bool:
    return "request_id" in obj and inside(obj, "response").get("subtype") not in (
        "success",
        "error",
    )


def _old_initialize(obj: Object) -> bool:
    request = inside(obj, "request")
    return request.get("subtype") == "initialize" and not _INITIALIZE.keys().isdisjoint(request)


def _tool_objects(obj: Object) -> bool:
    tools = obj.get("tools")
    return (
        obj.get("subtype") == "init"
        and isinstance(tools, list)
        and any(isinstance(tool, dict) for tool in tools)
    )


def _roleless(obj: Object) -> bool:
    message = inside(obj, "message")
    return message.get("type") == "message" and "role" not in message


def _split(obj: Object) -> bool:
    # A message without a role that has its model inside is written in the legacy dialect.
    whole = not inside(obj, "message").keys().isdisjoint(_TOP_OF_ASSISTANT)
    return "model" in obj or (_roleless(obj) and not whole)


def _plain_result(obj: Object) -> bool:
    return "turn_count" in obj or "duration_seconds" in obj or isinstance(obj.get("error"), str)


_MARKS: dict[str, Any] = {
    "session.create": lambda obj: True,
    "session.send": lambda obj: True,
    "session.created": lambda obj: True,
    "callback.request": lambda obj: True,
    "callback.response": lambda obj: True,
    "control_response": _flat,
    "control_request": _old_initialize,
    "system": _tool_objects,
    "assistant": _split,
    "user": _roleless,
    "result": _plain_result,
    "error": lambda obj: "code" in inside(obj, "error"),
}


# --- reading -------------------------------------------------------------------------------------


def _read(obj: Object, find: Find) -> Object:
    kind = obj["type"]
    return complete(_READERS.get(kind, dict)(obj))


def _read_prompt(obj: Object) -> Object:
    return {**obj, "type": "user"}


def _read_callback(obj: Object) -> Object:
    request = inside(obj, "request")
    if suggestions := _suggestions(obj):
        request = {**request, "permission_suggestions": [_read_rule(item) for item in suggestions]}
    return {**obj, "type": "control_request", "request": request}


def _suggestions(obj: Object) -> list[Any]:
    suggestions = inside(obj, "request").get("permission_suggestions")
    return suggestions if isinstance(suggestions, list) else []


def _read_rule(item: Any) -> Any:
    if not isinstance(item, dict) or "pattern" not in item:
        return item
    scope = item.get("scope")
    return {
        "type": "addRules",
        "rules": [{"toolName": str(item.get("type")).title(), "ruleContent": item["pattern"]}],
        "behavior": item.get("action"),
        "destination": _SCOPES.get(scope, scope) if isinstance(scope, str) else None,
    }


def _read_decision(obj: Object) -> Object:
    response = inside(obj, "response")
    if isinstance(response.get("response"), dict):
        decision = renamed(response["response"], _DECISION)
        if isinstance(updates := decision.get("updatedPermissions"), list):
            decision["updatedPermissions"] = [_read_rule(item) for item in updates]
        response = {**response, "response": decision}
    return {**obj, "type": "control_response", "response": response}


def _read_answer(obj: Object) -> Object:
    payload = _rename_payload(obj.get("response"), _PAYLOAD)
    inner = {key: value for key, value in obj.items() if key.startswith("pending_")}
    inner |= {"subtype": "success", "request_id": obj["request_id"], "response": payload}
    return {**obj, "response": inner}


def _rename_payload(payload: Any, names: dict[str, str]) -> Any:
    """Rename fields of the models and of the account."""
    if not isinstance(payload, dict):
        return payload
    payload = dict(payload)
    if isinstance(payload.get("models"), list):
        payload["models"] = [
            renamed(model, names) if isinstance(model, dict) else model
            for model in payload["models"]
        ]
    if isinstance(payload.get("account"), dict):
        payload["account"] = renamed(payload["account"], names)
    return payload


def _read_system(obj: Object) -> Object:
    tools = obj["tools"]
    objects = [tool for tool in tools if isinstance(tool, dict)]
    names = [tool.get("name") if isinstance(tool, dict) else tool for tool in tools]
    words = {
        tool["name"]: tool["description"]
        for tool in objects
        if "description" in tool and isinstance(tool.get("name"), str)
    }
    told = {"tool_descriptions": words} if words else {}
    return {**obj, "tools": names, **told}


def _read_assistant(obj: Object) -> Object:
    moved = {key: obj[key] for key in _TOP_OF_ASSISTANT if key in obj}
    rest = {key: value for key, value in obj.items() if key not in moved}
    return {**rest, "message": {**inside(obj, "message"), **moved}}


def _read_result(obj: Object) -> Object:
    obj = renamed(obj, {"turn_count": "num_turns"})
    seconds, error = obj.pop("duration_seconds", None), obj.pop("error", None)
    if isinstance(seconds, int | float):
        obj["duration_ms"] = _milliseconds(seconds)
    if error is not None:
        obj["errors"] = [error]
    return obj


def _milliseconds(seconds: float) -> float:
    exact = seconds * 1000
    # What was a whole number of milliseconds is one again, whatever the division did to it.
    return whole if abs(exact) < 2**63 and (whole := round(exact)) / 1000 == seconds else exact


def _read_error(obj: Object) -> Object:
    return {**obj, "error": renamed(inside(obj, "error"), {"code": "type"})}


_READERS: dict[str, Any] = {
    "session.create": _read_prompt,
    "session.send": _read_prompt,
    "callback.request": _read_callback,
    "callback.response": _read_decision,
    "control_response": _read_answer,
    "control_request": lambda obj: {
        **obj,
        "request": renamed(inside(obj, "request"), _INITIALIZE),
    },
    "system": _read_system,
    "assistant": _read_assistant,
    "result": _read_result,
    "error": _read_error,
}


# --- writing -------------------------------------------------------------------------------------


def _write(obj: Object, context: WriteContext) -> Object:
    writer = _WRITERS.get(obj["type"])
    return writer(without_nulls(obj, "parent_tool_use_id"), context) if writer else obj


def _write_user(obj: Object, context: WriteContext) -> Object:
    if context.sender is Role.CLIENT:
        return {**obj, "type": "session.create" if context.first_prompt else "session.send"}
    message = {key: value for key, value in obj["message"].items() if key != "role"}
    return {**obj, "message": {"type": "message", **message}}


def _write_request(obj: Object, context: WriteContext) -> Object:
    request = obj["request"]
    if request.get("subtype") == "initialize":
        return {**obj, "request": renamed(request, _inverse(_INITIALIZE))}
    if request.get("subtype") != "can_use_tool":
        return obj
    request = {"blocked_path": None, **request}
    if suggestions := _suggestions(obj):
        request["permission_suggestions"] = [_write_rule(item) for item in suggestions]
    return {**obj, "type": "callback.request", "request": request}


def _write_rule(item: Any) -> Any:
    """The short form, where it says the same; a short form that loses something is worse."""
    match item:
        case {
            "type": "addRules",
            "rules": [{"toolName": str(tool), "ruleContent": pattern, **more}],
            "behavior": action,
            "destination": str(destination),
        } if not more and destination in _SCOPES.values() and tool.lower().title() == tool:
            scope = _inverse(_SCOPES)[destination]
            return {"type": tool.lower(), "action": action, "pattern": pattern, "scope": scope}
    return item


def _write_response(obj: Object, context: WriteContext) -> Object:
    if context.request is not None and _is_callback(context.request):
        return _write_decision(obj, context.request)
    response = obj["response"]
    if context.sender is Role.CLI and response["subtype"] == "error":
        return {**obj, "request_id": response["request_id"]}  # the document has only the place
    payload = _rename_payload(response.get("response", {}), _inverse(_PAYLOAD))
    flat = {**obj, **response, "response": payload}
    del flat["subtype"]
    if context.sender is Role.CLIENT or not _flat(flat):
        return obj
    return flat


def _is_callback(request: Request) -> bool:
    """Whether a request was written as one, or is of the kind that always is."""
    if request.line:
        return request.raw.get("type") == "callback.request"
    return isinstance(request.body, CanUseTool)


def _write_decision(obj: Object, request: Request) -> Object:
    response = obj["response"]
    if isinstance(response.get("response"), dict):
        decision = renamed(response["response"], _inverse(_DECISION))
        if isinstance(updates := decision.get("updated_permissions"), list):
            decision["updated_permissions"] = _write_updates(updates, request)
        response = {**response, "response": decision}
    return {**obj, "type": "callback.response", "response": response}


def _write_updates(updates: list[Any], request: Request) -> list[Any]:
    """A suggestion goes back as it came; anything else in the short form, if that will do."""
    suggested = _suggestions(request.raw) if request.line else []
    came = [(_read_rule(item), item) for item in suggested]
    return [
        next((item for read, item in came if read == update), _write_rule(update))
        for update in updates
    ]


def _write_system(obj: Object, context: WriteContext) -> Object:
    names, words = obj.get("tools"), obj.get("tool_descriptions", {})
    # Objects can say it all only if there is one for each description.
    if not names or not words.keys() <= set(names):
        return obj
    tools = [
        {"name": name, "description": words[name]} if name in words else {"name": name}
        for name in names
    ]
    rest = {key: value for key, value in obj.items() if key != "tool_descriptions"}
    return {**rest, "tools": tools}


def _write_assistant(obj: Object, context: WriteContext) -> Object:
    message = {"type": "message", **without_nulls(obj["message"], "stop_reason", "stop_sequence")}
    message.pop("role")
    moved = {key: message.pop(key) for key in _TOP_OF_ASSISTANT if key in message}
    return {**obj, "message": message, **moved}


def _write_result(obj: Object, context: WriteContext) -> Object:
    obj = renamed(without_nulls(obj, "stop_reason"), {"num_turns": "turn_count"})
    if obj.get("is_error") == (obj["subtype"] != "success"):
        del obj["is_error"]
    if "duration_ms" in obj:
        obj["duration_seconds"] = obj.pop("duration_ms") / 1000
    if len(obj.get("errors", ())) == 1:
        (obj["error"],) = obj.pop("errors")
    return obj


def _write_error(obj: Object, context: WriteContext) -> Object:
    return {**obj, "error": renamed(obj["error"], {"type": "code"})}


_WRITERS: dict[str, Any] = {
    "user": _write_user,
    "control_request": _write_request,
    "control_response": _write_response,
    "system": _write_system,
    "assistant": _write_assistant,
    "result": _write_result,
    "error": _write_error,
}

SESSION = Dialect("session", _recognises, _read, _write, RULES["session"])
