"""Results of hooks as dictionaries, in the form that the official SDKs and command hooks use.

    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "Not on a Friday",
        }
    }

A dictionary is read into a `HookResult`, so that it is checked, and written for the CLI, as any
other result is. What the CLI would ignore, a misspelt key for example, is an error: a guard that
says "deny" where no one reads it would let everything pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import msgspec

from ..wire import HookOutput
from .events import Blocking, EventKind
from .results import HookResult, HookResultError

__all__ = ["read_dictionary"]

_EVENT_NAME = "hookEventName"
_NOT_IN_RESULTS = ("async_", "async_timeout", "suppress_output", "terminal_sequence")
"""The fields of a `HookOutput` that a `HookResult` does not have."""


def read_dictionary(given: Mapping[str, Any], kind: EventKind) -> tuple[HookResult, dict[str, Any]]:
    """Read a dictionary.

    Returns:
        the result, and the fields of the `HookOutput` that a result does not have.

    Raises:
        HookResultError: it makes no sense for the event.
    """
    fields = _fields(given, HookOutput, "the result of a hook")
    specific = fields.get("hook_specific_output")
    result = _whole(fields, kind) & (HookResult() if specific is None else _own(specific, kind))
    rest = {name: fields[name] for name in _NOT_IN_RESULTS if fields.get(name) is not None}
    if _flag(fields, "async_") and result != HookResult():
        raise HookResultError(
            "With `async` the CLI goes on at once and reads nothing else: return one or the other"
        )
    return result, rest


def _fields(given: Mapping[str, Any], kind: type[msgspec.Struct], what: str) -> dict[str, Any]:
    """Return what is given by the Python names of the fields, however they are spelled."""
    names = dict(zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True))
    known = {**names, **{name: name for name in kind.__struct_fields__}}
    for key in given:
        if key not in known:
            raise HookResultError(f"There is no {key!r} in {what}{_hint(key, names)}")
    return {known[key]: value for key, value in given.items() if value is not None}


def _hint(key: object, names: Iterable[str]) -> str:
    close = get_close_matches(str(key), names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; it can have {', '.join(names)}"


def _flag(fields: Mapping[str, Any], name: str) -> bool | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, bool):
        raise HookResultError(f"{name.rstrip('_')} must be True or False, not {value!r}")
    return value


def _word(value: Any, name: str, words: Mapping[str, Any]) -> Any:
    if not isinstance(value, str) or value not in words:
        raise HookResultError(f"{name} must be one of {', '.join(words)}, not {value!r}")
    return words[value]


def _whole(fields: Mapping[str, Any], kind: EventKind) -> HookResult:
    """Read what all events have."""
    decision = None
    if "decision" in fields:
        may_deny = kind.blocking in (Blocking.PERMISSION, Blocking.REQUEST)
        # "approve" is an old word for a permission; where none is given, it says nothing.
        words = {"block": "deny" if may_deny else "block", "approve": "allow" if may_deny else None}
        decision = _word(fields["decision"], "decision", words)
    stops = _flag(fields, "continue_") is False
    return HookResult(
        decision,
        fields.get("reason") if decision is not None else None,
        stop=fields.get("stop_reason", "Stopped by a hook.") if stops else None,
        message=fields.get("system_message"),
    )


def _own(given: Any, kind: EventKind) -> HookResult:
    """Read what only this event has: `hookSpecificOutput`."""
    if not isinstance(given, Mapping):
        raise HookResultError(f"hookSpecificOutput must be a dictionary, not {given!r}")
    event = given.get(_EVENT_NAME, given.get("hook_event_name", kind.name))
    if event != kind.name:
        raise HookResultError(f"This is the output for {event}, and the event is {kind.name}")
    values = {key: it for key, it in given.items() if key not in (_EVENT_NAME, "hook_event_name")}
    if kind.output is None:
        if values:
            raise HookResultError(f"{kind.name} has no hookSpecificOutput")
        return HookResult()
    fields = _fields(values, kind.output, f"the hookSpecificOutput of {kind.name}")
    if kind.blocking is Blocking.REQUEST:
        return _request(fields.get("decision"))
    decision, reason = fields.pop("permission_decision", None), None
    if decision is not None:
        words = {it: it for it in ("allow", "deny", "ask", "defer")}
        decision = _word(decision, "permissionDecision", words)
        reason = fields.pop("permission_decision_reason", None)
    context = fields.pop("additional_context", None)
    return HookResult(decision, reason, context=context, fields=fields)


def _request(given: Any) -> HookResult:
    """Read the decision of a PermissionRequest, which is a dictionary, too."""
    if given is None:
        return HookResult()
    if not isinstance(given, Mapping):
        raise HookResultError(f"The decision must be a dictionary, not {given!r}")
    fields = {key: it for key, it in given.items() if it is not None}
    words = {it: it for it in ("allow", "deny")}
    decision = _word(fields.pop("behavior", None), "behavior", words)
    reason = fields.pop("message", None)
    stop = (reason or "Stopped by a hook.") if fields.pop("interrupt", False) else None
    names = {"updatedInput": "updated_input", "updatedPermissions": "updated_permissions"}
    changes = {names.get(key, key): it for key, it in fields.items()}
    return HookResult(decision, reason, stop=stop, fields=changes)
