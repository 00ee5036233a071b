"""Results of hooks, independent of the event, and how they are written for each event.

    return deny("Not on a Friday")
    return allow() & change_input({**event.tool_input, "timeout": 10}) & add_context("Be quick.")

A result that does not suit the event is an error, not a field that the CLI ignores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from os import PathLike, fspath
from typing import Any, Final, Literal

import msgspec

from ..errors import Error
from ..wire import (
    BaseHookInput,
    HookOutput,
    PermissionRequestHookSpecificOutput,
    PermissionResultAllow,
    PermissionResultDeny,
    Unknown,
    UnknownHookInput,
    prepared,
)
from .events import Blocking, EventKind

__all__ = [
    "HookResult",
    "HookResultError",
    "add_context",
    "allow",
    "answer",
    "ask",
    "block",
    "change_input",
    "change_output",
    "defer",
    "deny",
    "retry",
    "set_fields",
    "show",
    "stop",
    "tell_user",
    "to_output",
    "use_worktree",
    "watch",
]

Decision = Literal["allow", "deny", "ask", "defer", "block"]

BLOCKED: Final = "Blocked by a hook."
"""The reason if none is given; without one, some CLIs tell the model nothing."""


class HookResultError(Error, ValueError):
    """A result that makes no sense, or not for this event. The hook has then failed."""


@dataclass(frozen=True, slots=True)
class HookResult:
    """The result of a hook. Several are combined with `&`, unless they contradict each other.

    Make it with functions such as `allow`, `deny` and `add_context`.

    Attributes:
        decision: whether it may happen.
        reason: why.
        stop: why the turn ends here; None if it does not.
        context: what the model is told.
        message: what the user is told.
        fields: fields of the event's own output, by their Python names.
    """

    decision: Decision | None = None
    reason: str | None = None
    stop: str | None = None
    context: str | None = None
    message: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    def __and__(self, other: HookResult) -> HookResult:
        """Combine two results.

        Raises:
            HookResultError: the two contradict each other.
        """
        both = {item.name: self._join(other, item.name) for item in fields(self)}
        return HookResult(**both)

    def _join(self, other: HookResult, name: str) -> Any:
        ours, theirs = getattr(self, name), getattr(other, name)
        if name == "fields":
            return _merged(ours, theirs)
        if ours is None or theirs is None or ours == theirs:
            return theirs if ours is None else ours
        if name == "decision":
            raise HookResultError(f"A hook cannot say both {ours} and {theirs}")
        return f"{ours}\n{theirs}"


def _merged(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    for name in ours.keys() & theirs.keys():
        if ours[name] != theirs[name]:
            raise HookResultError(f"A hook cannot give two values for {name}")
    return {**ours, **theirs}


# --- making results ------------------------------------------------------------------------------


def allow(reason: str | None = None) -> HookResult:
    """Let it happen without asking: PreToolUse, PermissionRequest, PreModelSwitch."""
    return HookResult("allow", reason)


def deny(reason: str) -> HookResult:
    """Do not let it happen, and tell the model why: PreToolUse, PermissionRequest, PreModelSwitch.

    A denial wins over what other hooks say.
    """
    return HookResult("deny", reason)


def ask(reason: str | None = None) -> HookResult:
    """Have a person asked, even if the rules would allow it: PreToolUse, PreModelSwitch."""
    return HookResult("ask", reason)


def defer(reason: str | None = None) -> HookResult:
    """End the turn before the tool is used; its result says which tool waits: PreToolUse.

    CLIs that do not know this (2.1.17 is one) ask for permission as if there were no result.
    """
    return HookResult("defer", reason)


def block(reason: str) -> HookResult:
    """Prevent what the event is about, in the way that suits the event.

    A tool, a permission or a change of model is denied, a prompt does not reach the model, an
    elicitation is declined. After a tool, the model is told the reason as feedback. At a Stop the
    model goes on, with the reason as its next instruction; see `StopHookInput.stop_hook_active`.
    """
    return HookResult("block", reason)


def stop(reason: str) -> HookResult:
    """End the turn here. A tool that is about to be used is denied, too.

    For PreToolUse, PostToolUse, PostToolBatch, UserPromptSubmit, UserPromptExpansion, Stop,
    SubagentStop, PermissionRequest, TeammateIdle, TaskCreated and TaskCompleted.
    """
    return HookResult(stop=reason)


def add_context(text: str) -> HookResult:
    """Tell the model something: at events about tools, prompts, and starts and ends."""
    return HookResult(context=text)


def change_input(tool_input: Mapping[str, Any]) -> HookResult:
    """Run the tool with this input instead, all of it: PreToolUse, PermissionRequest.

    Whether it may be used is still asked unless the hook also says `allow`. A CLI that does not
    know this uses the tool with the input that the model gave: 1.0.128 always, those before 2.1.17
    unless the hook says `allow`.
    """
    return set_fields(updated_input=dict(tool_input))


def change_output(output: Any) -> HookResult:
    """Give the model this in place of the tool's output: PostToolUse.

    It must have the shape of the tool's own output (see `tool_response`), or the CLI uses the
    original. Before 2.1.197 it is heeded for MCP tools only, before 2.0.76 not at all.
    """
    return set_fields(updated_tool_output=output)


def tell_user(message: str) -> HookResult:
    """Say something to the user; it arrives as an informational message."""
    return HookResult(message=message)


def answer(action: str, content: Mapping[str, Any] | None = None) -> HookResult:
    """Answer an MCP server in place of the user: Elicitation, ElicitationResult.

    Args:
        action: accept, decline or cancel.
        content: what is accepted.
    """
    given = {} if content is None else {"content": dict(content)}
    return set_fields(action=action, **given)


def retry() -> HookResult:
    """Let the model try again what was denied: PermissionDenied."""
    return set_fields(retry=True)


def show(text: str) -> HookResult:
    """Show this in place of a piece of the model's text: MessageDisplay."""
    return set_fields(display_content=text)


def watch(*paths: str | PathLike[str]) -> HookResult:
    """Say which files to watch from now on: SessionStart, CwdChanged, FileChanged."""
    return set_fields(watch_paths=[fspath(path) for path in paths])


def use_worktree(path: str | PathLike[str]) -> HookResult:
    """Say where the worktree is that the hook has made: WorktreeCreate."""
    return set_fields(worktree_path=fspath(path))


def set_fields(**values: Any) -> HookResult:
    """Set fields of the event's own output by name, `session_title="…"` for example."""
    return HookResult(fields=values)


# --- writing results -----------------------------------------------------------------------------


def to_output(
    returned: object, kind: EventKind, event: BaseHookInput | UnknownHookInput
) -> HookOutput:
    """Convert what a hook returned, and check that it suits the event.

    Raises:
        HookResultError: it does not suit the event.
    """
    if returned is None:
        return HookOutput()
    if isinstance(returned, HookOutput):
        return _checked(returned, kind)
    if isinstance(returned, HookResult):
        return _checked(_written(kind, event, returned), kind)
    if isinstance(returned, Mapping):
        from .dictionaries import read_dictionary  # which imports this module

        result, rest = read_dictionary(returned, kind)
        return _checked(msgspec.structs.replace(_written(kind, event, result), **rest), kind)
    raise HookResultError(
        "A hook returns None, a result such as allow(), a HookOutput, or a dictionary of the "
        f"official SDK, not {returned!r}"
    )


def _checked(output: HookOutput, kind: EventKind) -> HookOutput:
    """Make sure that the CLI can read it: it ignores an output that it cannot read."""
    specific = output.hook_specific_output
    if specific is not None and not isinstance(specific, Unknown):
        told = type(specific).__struct_config__.tag
        if told != kind.name:
            raise HookResultError(f"This is the output for {told}, and the event is {kind.name}")
    for value, words in (
        (output.decision, ("approve", "block")),
        (getattr(specific, "permission_decision", None), ("allow", "deny", "ask", "defer")),
        (getattr(specific, "action", None), ("accept", "decline", "cancel")),
    ):
        if value is not None and value not in words:
            raise HookResultError(f"A decision must be one of {', '.join(words)}, not {value!r}")
    try:
        msgspec.convert(msgspec.to_builtins(output), prepared(HookOutput))
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise HookResultError(f"The result cannot be written: {error}") from error
    return output


def _written(kind: EventKind, event: Any, result: HookResult) -> HookOutput:
    if result.stop is not None and not kind.can_stop:
        raise HookResultError(f"{kind.name} cannot stop the turn")
    if kind.blocking is Blocking.REQUEST:
        return HookOutput(
            system_message=result.message, hook_specific_output=_request(kind, event, result)
        )
    result = _denied_if_stopped(kind, result)
    blocks = result.decision == "block" and kind.blocking is Blocking.DECISION
    return HookOutput(
        continue_=None if result.stop is None else False,
        stop_reason=result.stop,
        decision="block" if blocks else None,
        reason=result.reason or BLOCKED if blocks else None,
        system_message=result.message,
        hook_specific_output=_specific(kind, event, result),
    )


def _denied_if_stopped(kind: EventKind, result: HookResult) -> HookResult:
    if result.stop is None or result.decision or kind.blocking is not Blocking.PERMISSION:
        return result
    # If it is only told to stop, a CLI still runs the tool, and stops after that.
    return replace(result, decision="deny", reason=result.stop)


def _specific(kind: EventKind, event: Any, result: HookResult) -> Any:
    values = {**_decided(kind, result), **result.fields}
    if result.context is not None:
        values["additional_context"] = result.context
    for name in values:
        if not kind.can_say(name):
            raise HookResultError(_no(kind, name))
    if "updated_tool_output" in values and event.tool_name.startswith("mcp__"):
        # The name of it in CLIs that know it for MCP tools only.
        values.setdefault("updated_mcp_tool_output", values["updated_tool_output"])
    if not values:
        return None
    assert kind.output is not None  # which has all of these fields
    return kind.output(**values)


def _decided(kind: EventKind, result: HookResult) -> dict[str, Any]:
    """Return the fields of the event's own output that hold the decision."""
    decision, blocking = result.decision, kind.blocking
    if decision is None:
        return {}
    if blocking is Blocking.PERMISSION and (decision != "defer" or kind.is_about_a_tool):
        denied = decision in ("deny", "block")
        reason = result.reason or (BLOCKED if denied else None)
        given = {} if reason is None else {"permission_decision_reason": reason}
        return {"permission_decision": "deny" if denied else decision, **given}
    if decision == "block" and blocking is Blocking.DECISION:
        return {}
    if decision == "block" and blocking is Blocking.ANSWER:
        return {"action": "decline"}
    raise HookResultError(f"{kind.name} cannot be answered with {decision}")


def _request(kind: EventKind, event: Any, result: HookResult) -> Any:
    """Write the decision that is made in place of the person who would be asked."""
    if result.context is not None:
        raise HookResultError(_no(kind, "additional_context"))
    decision = result.decision or (None if result.stop is None else "deny")
    if decision in ("deny", "block") and not result.fields:
        reason = result.reason or result.stop or BLOCKED
        interrupt = None if result.stop is None else True
        return PermissionRequestHookSpecificOutput(PermissionResultDeny(reason, interrupt))
    if decision == "allow" and result.stop is None:
        return PermissionRequestHookSpecificOutput(_allowed(kind, event, result))
    if decision is not None or result.fields:
        said = decision or ", ".join(result.fields)
        raise HookResultError(f"{kind.name} cannot be answered with {said} as it is given here")
    return None


def _allowed(kind: EventKind, event: Any, result: HookResult) -> PermissionResultAllow:
    for name in result.fields:
        if name not in ("updated_input", "updated_permissions"):
            raise HookResultError(_no(kind, name))
    # The input is always given: some CLIs read its absence as a denial.
    return PermissionResultAllow(**{"updated_input": event.tool_input, **result.fields})


def _no(kind: EventKind, name: str) -> str:
    what = "give the model context" if name == "additional_context" else f"set {name}"
    return f"A hook cannot {what} at {kind.name}"
