"""The events that call hooks, and the check of matchers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, get_args

from ..errors import OptionsError
from ..wire import BaseHookInput, HookInput, HookSpecificOutput

_INPUTS: Final = {kind.__struct_config__.tag: kind for kind in get_args(HookInput)}
_OUTPUTS: Final = {kind.__struct_config__.tag: kind for kind in get_args(HookSpecificOutput)}


# The fields of an output that prevent an event.
PERMISSION: Final = "permissionDecision: deny"
DECISION: Final = "decision: block"
REQUEST: Final = "decision of the request: deny"
ANSWER: Final = "action: decline"


@dataclass(frozen=True, slots=True)
class HookEvent:
    """The facts about an event.

    A matcher is compared with the field `matched` of the input. The field `blocking` of an output
    prevents the event.
    """

    name: str
    matched: str | None = None
    blocking: str | None = None
    can_stop: bool = False

    @property
    def output(self) -> type[Any] | None:
        """The class of the output that only this event has."""
        return _OUTPUTS.get(self.name)

    @property
    def is_about_tool(self) -> bool:
        """Whether it is about one use of a tool."""
        return "tool_name" in _INPUTS[self.name].__struct_fields__

    @property
    def keeps_going(self) -> bool:
        """Whether blocking it makes the model go on, which must not happen forever."""
        return "stop_hook_active" in _INPUTS[self.name].__struct_fields__


# The matched field is as the CLI lists it. The others were measured where the event occurred.
EVENTS: Final[dict[str, HookEvent]] = {
    it.name: it
    for it in (
        HookEvent("PreToolUse", "tool_name", PERMISSION, can_stop=True),
        HookEvent("PostToolUse", "tool_name", DECISION, can_stop=True),
        HookEvent("PostToolUseFailure", "tool_name", DECISION),
        HookEvent("PostToolBatch", None, DECISION, can_stop=True),
        HookEvent("Notification", "notification_type"),
        HookEvent("UserPromptSubmit", None, DECISION, can_stop=True),
        HookEvent("UserPromptExpansion", "command_name", DECISION, can_stop=True),
        HookEvent("SessionStart", "source"),
        HookEvent("SessionEnd", "reason"),
        HookEvent("Stop", None, DECISION, can_stop=True),
        HookEvent("StopFailure", "error"),
        HookEvent("SubagentStart", "agent_type"),
        HookEvent("SubagentStop", "agent_type", DECISION, can_stop=True),
        HookEvent("PreCompact", "trigger", DECISION),
        HookEvent("PostCompact", "trigger"),
        HookEvent("PreModelSwitch", "to_model", PERMISSION),
        HookEvent("PostModelSwitch", "to_model"),
        HookEvent("PermissionRequest", "tool_name", REQUEST, can_stop=True),
        HookEvent("PermissionDenied", "tool_name"),
        HookEvent("Setup", "trigger"),
        HookEvent("TeammateIdle", None, DECISION, can_stop=True),
        HookEvent("TaskCreated", None, DECISION, can_stop=True),
        HookEvent("TaskCompleted", None, DECISION, can_stop=True),
        HookEvent("Elicitation", "mcp_server_name", ANSWER),
        HookEvent("ElicitationResult", "mcp_server_name", ANSWER),
        HookEvent("ConfigChange", "source", DECISION),
        HookEvent("WorktreeCreate", None, DECISION),
        HookEvent("WorktreeRemove"),
        HookEvent("InstructionsLoaded", "load_reason"),
        HookEvent("CwdChanged"),
        HookEvent("FileChanged", "file_path"),
        HookEvent("DirectoryAdded", "source"),
        HookEvent("MessageDisplay"),
    )
}


def event_named(event: str | type[BaseHookInput]) -> HookEvent:
    """Find an event by its name, or by the class of the hook's input."""
    name = event.__struct_config__.tag if isinstance(event, type) else event
    if isinstance(name, str) and name in EVENTS:
        return EVENTS[name]
    plain = {known.lower(): known for known in EVENTS}
    close = get_close_matches(str(name).lower().replace("_", ""), plain, n=1)
    hint = f"did you mean {plain[close[0]]}?" if close else f"there are {', '.join(EVENTS)}"
    raise OptionsError(f"There is no hook event {name!r}; {hint}")


# --- matchers ------------------------------------------------------------------------------------

_NAMES = re.compile(r"\s*[\w-]+(?:\s*[|,]\s*[\w-]+)*\s*", re.ASCII)
_SERVER = re.compile(r"mcp__(?:(?!__)[\w-])+", re.ASCII)
_RULE = re.compile(r"\w+\((?!\?)[^()]*[\s:/][^()]*\)", re.ASCII)
_PYTHON_ONLY = re.compile(r"\(\?(?:[P#(>]|[aiLmsux-])|\\[AZ]")
"""Groups and anchors that mean something else in JavaScript, or nothing."""


def check_matcher(event: HookEvent, matcher: str | None) -> str | None:
    """Check a matcher, and spell it so that all CLIs understand it alike; None matches everything.

    A matcher of names alone, `Bash|Edit`, is for exactly these. Any other is a regular expression
    of JavaScript that the CLI searches for in the name. One that the CLI cannot parse never
    matches, and the CLI reports nothing.
    """
    if matcher is None or matcher in ("", "*"):
        return None
    if not isinstance(matcher, str):
        raise OptionsError(f"A matcher must be a string, not {matcher!r}")
    if event.matched is None:
        raise OptionsError(f"{event.name} takes no matcher: leave out {matcher!r}")
    if event.name == "FileChanged":
        return matcher  # names of files, not an expression
    names = [it.strip() for it in re.split(r"[|,]", matcher)] if _NAMES.fullmatch(matcher) else []
    if event.is_about_tool:
        _check_tool(matcher, names)
    if names:
        joined = "|".join(names)  # 2.1.17 takes a comma or a hyphen for an expression
        return f"^(?:{joined})$" if "-" in joined else joined
    _check_expression(matcher)
    return matcher


def _check_tool(matcher: str, names: list[str]) -> None:
    for name in filter(_SERVER.fullmatch, names):
        raise OptionsError(
            f"{name!r} is for a tool of exactly that name; "
            f"for all tools of the server write {name + '__.*'!r}"
        )
    if _RULE.search(matcher):
        raise OptionsError(
            f"The matcher {matcher!r} looks like a permission rule. It is compared with the name "
            "of the tool only: check the tool's input in the hook"
        )
    if " " in matcher and not names:
        raise OptionsError(f"No tool has a space in its name: {matcher!r} would never match")


def _check_expression(matcher: str) -> None:
    if found := _PYTHON_ONLY.search(matcher):
        raise OptionsError(
            f"The CLI reads the matcher {matcher!r} as a regular expression of JavaScript, "
            f"which does not know `{found[0]}`"
        )
    named = re.sub(r"\(\?<(?![=!])", "(?P<", matcher)
    try:
        re.compile(re.sub(r"\\k<(\w+)>", r"(?P=\1)", named))
    except (re.error, OverflowError, RecursionError) as error:
        raise OptionsError(
            f"The matcher {matcher!r} is not a regular expression: {error}; it would never match"
        ) from None
