"""The events that hooks are for: what each is matched by, and how it can be answered.

Which events take a matcher is what the CLI itself lists. How an event is blocked, and where the
CLI heeds `continue: false`, was measured where the event could be produced.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import Final, get_args

from msgspec import Struct

from ..errors import OptionsError
from ..wire import HOOK_EVENTS, BaseHookInput, HookInput, HookSpecificOutput

__all__ = ["EVENTS", "Blocking", "EventKind", "check_matcher", "event_named"]


class Blocking(Enum):
    """The field of an answer that says that something must not happen."""

    PERMISSION = "permissionDecision: deny"
    DECISION = "decision: block"
    REQUEST = "decision of the request: deny"
    ANSWER = "action: decline"


@dataclass(frozen=True, slots=True)
class EventKind:
    """What is known about an event.

    Attributes:
        name: as the CLI writes it.
        input: the class of the hook's input.
        output: the class of the output that only this event has; None if there is none.
        matched: the field of the input that a matcher is compared with; None if it takes none.
        blocking: how it is prevented; None if it cannot be.
        can_stop: whether a hook can end the turn here.
    """

    name: str
    input: type[BaseHookInput]
    output: type[Struct] | None
    matched: str | None
    blocking: Blocking | None
    can_stop: bool

    @property
    def is_about_a_tool(self) -> bool:
        """Whether it is about one use of a tool."""
        return "tool_name" in self.input.__struct_fields__

    @property
    def keeps_going(self) -> bool:
        """Whether blocking it makes the model go on, which it must not do forever."""
        return "stop_hook_active" in self.input.__struct_fields__

    def can_say(self, field: str) -> bool:
        """Whether the event's own output has such a field."""
        return self.output is not None and field in self.output.__struct_fields__


_FACTS: Final[dict[str, tuple[str | None, Blocking | None, bool]]] = {
    # the field that a matcher is compared with, how it is blocked, whether a hook can end the turn
    "PreToolUse": ("tool_name", Blocking.PERMISSION, True),
    "PostToolUse": ("tool_name", Blocking.DECISION, True),
    "PostToolUseFailure": ("tool_name", Blocking.DECISION, False),
    "PostToolBatch": (None, Blocking.DECISION, True),
    "Notification": ("notification_type", None, False),
    "UserPromptSubmit": (None, Blocking.DECISION, True),
    "UserPromptExpansion": ("command_name", Blocking.DECISION, True),
    "SessionStart": ("source", None, False),
    "SessionEnd": ("reason", None, False),
    "Stop": (None, Blocking.DECISION, True),
    "StopFailure": ("error", None, False),
    "SubagentStart": ("agent_type", None, False),
    "SubagentStop": ("agent_type", Blocking.DECISION, True),
    "PreCompact": ("trigger", Blocking.DECISION, False),
    "PostCompact": ("trigger", None, False),
    "PreModelSwitch": ("to_model", Blocking.PERMISSION, False),
    "PostModelSwitch": ("to_model", None, False),
    "PermissionRequest": ("tool_name", Blocking.REQUEST, True),
    "PermissionDenied": ("tool_name", None, False),
    "Setup": ("trigger", None, False),
    "TeammateIdle": (None, Blocking.DECISION, True),
    "TaskCreated": (None, Blocking.DECISION, True),
    "TaskCompleted": (None, Blocking.DECISION, True),
    "Elicitation": ("mcp_server_name", Blocking.ANSWER, False),
    "ElicitationResult": ("mcp_server_name", Blocking.ANSWER, False),
    "ConfigChange": ("source", Blocking.DECISION, False),
    "WorktreeCreate": (None, Blocking.DECISION, False),
    "WorktreeRemove": (None, None, False),
    "InstructionsLoaded": ("load_reason", None, False),
    "CwdChanged": (None, None, False),
    "FileChanged": ("file_path", None, False),
    "DirectoryAdded": ("source", None, False),
    "MessageDisplay": (None, None, False),
}


_INPUTS = {kind.__struct_config__.tag: kind for kind in get_args(HookInput)}
_OUTPUTS = {kind.__struct_config__.tag: kind for kind in get_args(HookSpecificOutput)}

EVENTS: Final[dict[str, EventKind]] = {
    name: EventKind(
        name,
        _INPUTS[name],
        _OUTPUTS.get(name),
        *_FACTS[name],
    )
    for name in HOOK_EVENTS
}
"""All events, by their names."""


def event_named(event: str | type[BaseHookInput]) -> EventKind:
    """Find an event by its name, or by the class of the hook's input.

    Raises:
        OptionsError: there is no such event.
    """
    name = event.__struct_config__.tag if isinstance(event, type) else event
    if isinstance(name, str) and name in EVENTS:
        return EVENTS[name]
    close = _closest(name) if isinstance(name, str) else None
    hint = f"; did you mean {close}?" if close else f"; there are {', '.join(EVENTS)}"
    raise OptionsError(f"There is no hook event {name!r}{hint}")


def _closest(name: str) -> str | None:
    plain = {_plain(known): known for known in EVENTS}
    found = get_close_matches(_plain(name), plain, n=1)
    return plain[found[0]] if found else None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


# --- matchers ------------------------------------------------------------------------------------

_NAMES = re.compile(r"\s*[\w-]+(?:\s*[|,]\s*[\w-]+)*\s*", re.ASCII)
_SERVER = re.compile(r"mcp__(?:(?!__)[\w-])+", re.ASCII)
_RULE = re.compile(r"\w+\((?!\?)[^()]*[\s:/][^()]*\)", re.ASCII)
_FOREIGN = re.compile(
    r"""\\[AZ]                              # anchors that are plain letters in JavaScript
    |   (?P<skipped> \\. | \[(?:\\.|[^\]\\])*\] )
    |   \(\?(?: [P\#(>] | [aiLmsux-] )      # groups that JavaScript does not know
    |   [*+?}]\+                            # quantifiers that give nothing back
    """,
    re.VERBOSE | re.DOTALL,
)


def check_matcher(kind: EventKind, matcher: str | None) -> str | None:
    """Check a matcher, and write it so that CLIs of all versions understand it alike.

    A matcher of names alone, `Bash|Edit`, is for these and no others. Anything else is a regular
    expression of JavaScript that is searched for anywhere in the name. If a CLI cannot parse it,
    it never matches, and the CLI reports nothing.

    Returns:
        The matcher; None for one that matches everything.

    Raises:
        OptionsError: the CLI would not understand it as it is meant.
    """
    if matcher is None or matcher in ("", "*"):
        return None
    if not isinstance(matcher, str):
        raise OptionsError(f"A matcher must be a string, not {matcher!r}")
    if kind.matched is None:
        raise OptionsError(f"{kind.name} takes no matcher: leave out {matcher!r}")
    if kind.name == "FileChanged":
        return matcher  # names of files, not an expression
    if kind.is_about_a_tool:
        _check_tool(matcher)
    if _NAMES.fullmatch(matcher):
        return _names(matcher, kind)
    _check_expression(matcher)
    return matcher


def _names(matcher: str, kind: EventKind) -> str:
    names = [name.strip() for name in re.split(r"[|,]", matcher)]
    for name in names:
        if kind.is_about_a_tool and _SERVER.fullmatch(name):
            raise OptionsError(
                f"{name!r} is for a tool of exactly that name; "
                f"for all tools of the server write {name + '__.*'!r}"
            )
    # Blanks and commas are understood by new CLIs only; to old ones a hyphen makes an expression
    # of it, which is found in longer names too.
    joined = "|".join(names)
    return f"^(?:{joined})$" if "-" in joined else joined


def _check_expression(matcher: str) -> None:
    for found in _FOREIGN.finditer(matcher):
        if found["skipped"] is None:
            raise OptionsError(
                f"The CLI reads the matcher {matcher!r} as a regular expression of JavaScript, "
                f"which does not know `{found[0]}`"
            )
    ours = re.sub(r"\(\?<(?![=!])", "(?P<", matcher)
    ours = re.sub(r"\\k<(\w+)>", r"(?P=\1)", ours)
    try:
        re.compile(ours)
    except (re.error, OverflowError, RecursionError) as error:
        raise OptionsError(
            f"The matcher {matcher!r} is not a regular expression: {error}; it would never match"
        ) from None


def _check_tool(matcher: str) -> None:
    if _RULE.search(matcher):
        raise OptionsError(
            f"The matcher {matcher!r} looks like a permission rule. It is compared with the name "
            "of the tool only: check the tool's input in the hook"
        )
    if " " in matcher and not _NAMES.fullmatch(matcher):
        raise OptionsError(f"No tool has a space in its name: {matcher!r} would never match")
