"""Results of hooks, and the output that each event has for them.

A result that does not suit the event is an error, and so is a misspelt key in a dictionary. The CLI
would ignore both: a guard that denies where no one reads it would let everything pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace

from ..errors import Error
from ..wire import (
    HookOutput,
    PermissionRequestHookSpecificOutput,
    PermissionResultAllow,
    PermissionResultDeny,
    PostToolUseHookSpecificOutput,
    Unknown,
    prepared,
)
from .events import ANSWER, DECISION, PERMISSION, REQUEST, HookEvent

BLOCKED: Final = "Blocked by a hook."
"""The default reason: without one, some CLIs tell the model nothing."""


class HookResultError(Error, ValueError):
    """A result contradicts itself, or does not suit the event. The hook has then failed."""


@dataclass(init=False, slots=True)
class HookResult:
    """The result of a hook.

        return HookResult("deny", "Not on a Friday.")
        return HookResult("allow", updated_input={"command": "ls"}, context="Be quick.")

    Args:
        decision: whether the event may happen. `block` suits every event that can be prevented: a
            tool, a permission or a change of model is denied, a prompt does not reach the model, an
            elicitation is declined. After a tool, the model gets the reason as feedback. At a Stop
            it goes on, with the reason as its next instruction; see
            `StopHookInput.stop_hook_active`.
        reason: the reason of the decision, for the model.
        stop: end the turn here, for this reason. A tool that is about to be used is denied, too.
        context: a text for the model.
        message: a message for the user.
        fields: fields of the event's own output, by their Python names: `updated_input`,
            `session_title`, …
    """

    decision: Literal["allow", "deny", "ask", "defer", "block"] | None
    reason: str | None
    stop: str | None
    context: str | None
    message: str | None
    fields: dict[str, Any]

    def __init__(
        self,
        decision: Literal["allow", "deny", "ask", "defer", "block"] | None = None,
        reason: str | None = None,
        *,
        stop: str | None = None,
        context: str | None = None,
        message: str | None = None,
        **fields: Any,
    ) -> None:
        self.decision = decision
        self.reason = reason
        self.stop = stop
        self.context = context
        self.message = message
        self.fields = fields


def to_output(returned: object, event: HookEvent, input: Any) -> HookOutput:
    """Convert the value that a hook returned, and check that it suits the event."""
    try:
        match returned:
            case None:
                return HookOutput()
            case HookResult():
                output = _from_result(returned, event)
            case HookOutput():
                output = returned
            case Mapping():
                output = _from_dictionary(returned, event)
            case _:
                raise HookResultError(
                    "A hook returns None, a HookResult, a HookOutput, or a dictionary of the "
                    f"official SDK, not {returned!r}"
                )
        _check(output, event)
        return _completed(output, event, input)
    except HookResultError:
        raise
    except Exception as error:  # of a value that cannot be read, and may have meant no
        raise HookResultError(str(error)) from error


def _check(output: HookOutput, event: HookEvent) -> None:
    """Check that the CLI can read an output: it ignores one that it cannot read."""
    own = output.hook_specific_output
    if own is not None and not isinstance(own, Unknown):
        _check_event(type(own).__struct_config__.tag, event)
    permission = getattr(own, "permission_decision", None)
    for value, words in (
        (output.decision, ("approve", "block")),
        (permission, ("allow", "deny", "ask", "defer")),
        (getattr(own, "action", None), ("accept", "decline", "cancel")),
    ):
        if value is not None and value not in words:
            raise HookResultError(f"A decision must be one of {', '.join(words)}, not {value!r}")
    if output.decision == "block" and (event.blocking not in (DECISION, PERMISSION) or permission):
        raise HookResultError(f"{event.name} cannot be answered with `decision: block` like this")
    if output.continue_ is False and not event.can_stop:
        raise HookResultError(f"{event.name} cannot stop the turn")
    if output.async_ and output != HookOutput(async_=True, async_timeout=output.async_timeout):
        raise HookResultError("With `async` the CLI ignores the rest: return one or the other")
    msgspec.convert(msgspec.to_builtins(output), prepared(HookOutput))


def _check_event(name: object, event: HookEvent) -> None:
    if name != event.name:
        raise HookResultError(f"This is the output for {name}, and the event is {event.name}")


def _completed(output: HookOutput, event: HookEvent, input: Any) -> HookOutput:
    """Add fields that only some CLIs need."""
    own: Any = output.hook_specific_output
    if output.continue_ is False and event.blocking == PERMISSION and event.output is not None:
        # A CLI that is only told to stop still runs the tool, and stops after that.
        own = own or event.output()
        if own.permission_decision is None:
            reason = output.stop_reason or BLOCKED
            own = replace(own, permission_decision="deny", permission_decision_reason=reason)
    match own:
        case PermissionRequestHookSpecificOutput(decision=PermissionResultAllow() as allowed):
            # Some CLIs read the absence of the input as a denial.
            changed = input.tool_input if allowed.updated_input is None else allowed.updated_input
            own = replace(own, decision=replace(allowed, updated_input=changed))
        case PostToolUseHookSpecificOutput(updated_tool_output=changed) if changed is not None:
            # Its name in CLIs that know it for MCP tools only.
            if input.tool_name.startswith("mcp__") and own.updated_mcp_tool_output is None:
                own = replace(own, updated_mcp_tool_output=changed)
    return replace(output, hook_specific_output=own)


# --- from a result -------------------------------------------------------------------------------


def _from_result(result: HookResult, event: HookEvent) -> HookOutput:
    own = dict(result.fields)
    if result.context is not None:
        own["additional_context"] = result.context
    stop, blocks = result.stop, result.decision == "block" and event.blocking == DECISION
    if event.blocking == REQUEST:
        own, stop = _request_decision(result, own), None
    elif result.decision is not None and not blocks:
        own |= _decision(result, event)
    for name in own:
        if event.output is None or name not in event.output.__struct_fields__:
            raise HookResultError(f"A hook cannot set {name} at {event.name}")
    return HookOutput(
        continue_=None if stop is None else False,
        stop_reason=stop,
        decision="block" if blocks else None,
        reason=(result.reason or BLOCKED) if blocks else None,
        system_message=result.message,
        hook_specific_output=event.output(**own) if event.output and own else None,
    )


def _decision(result: HookResult, event: HookEvent) -> dict[str, Any]:
    """Return the fields of the event's own output that hold the decision."""
    decision = result.decision
    if event.blocking == PERMISSION and (decision != "defer" or event.is_about_tool):
        if decision in ("deny", "block"):
            reason = result.reason or BLOCKED
            return {"permission_decision": "deny", "permission_decision_reason": reason}
        return {"permission_decision": decision, "permission_decision_reason": result.reason}
    if event.blocking == ANSWER and decision == "block":
        return {"action": "decline"}
    raise HookResultError(f"{event.name} cannot be answered with {decision}")


def _request_decision(result: HookResult, own: dict[str, Any]) -> dict[str, Any]:
    """Return the decision in place of the person who would be asked."""
    stops = result.stop is not None
    decision = result.decision or ("deny" if stops else None)
    if decision == "allow" and not stops and own.keys() <= {"updated_input", "updated_permissions"}:
        return {"decision": PermissionResultAllow(**own)}
    if decision in ("deny", "block") and not own:
        reason = result.reason or result.stop or BLOCKED
        return {"decision": PermissionResultDeny(reason, interrupt=stops or None)}
    if decision is not None or own:
        raise HookResultError(f"PermissionRequest cannot be answered with {result!r}")
    return {}


# --- from a dictionary of the official SDKs ------------------------------------------------------


def _from_dictionary(given: Mapping[str, Any], event: HookEvent) -> HookOutput:
    values = _known(given, HookOutput, "the result of a hook")
    own = values.pop("hookSpecificOutput", {})
    if not isinstance(own, Mapping):
        raise HookResultError(f"hookSpecificOutput must be a dictionary, not {own!r}")
    _check_event(own.get("hookEventName", event.name), event)
    own = {key: value for key, value in own.items() if key != "hookEventName"}
    if own:
        if event.output is None:
            raise HookResultError(f"{event.name} has no hookSpecificOutput")
        own = _known(own, event.output, f"the hookSpecificOutput of {event.name}")
        if isinstance(decision := own.get("decision"), Mapping):
            allows = decision.get("behavior") == "allow"
            kind = PermissionResultAllow if allows else PermissionResultDeny
            rest = {key: value for key, value in decision.items() if key != "behavior"}
            _known(rest, kind, "the decision of a PermissionRequest")
        values["hookSpecificOutput"] = {"hookEventName": event.name, **own}
    return msgspec.convert(values, prepared(HookOutput))


def _known(given: Mapping[str, Any], kind: type[msgspec.Struct], place: str) -> dict[str, Any]:
    """Return the values that are not None, after a check of their keys."""
    known = kind.__struct_encode_fields__
    values = {str(key).rstrip("_"): value for key, value in given.items() if value is not None}
    for key in values.keys() - set(known):
        close = get_close_matches(key, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"it can have {[*known]}"
        raise HookResultError(f"There is no {key!r} in {place}; {hint}")
    return values
