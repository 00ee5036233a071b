"""Rules for the CLI to remember: its own suggestions, and others.

A suggestion goes back to the CLI whole, with fields that this version does not know, and is shown
to a person in words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace

from ..wire import (
    AddDirectories,
    AddRules,
    CanUseTool,
    PermissionHint,
    PermissionRule,
    PermissionUpdate,
    RemoveDirectories,
    RemoveRules,
    ReplaceRules,
    Request,
    SetMode,
    UnknownPermissionUpdate,
)
from .request import AnswerError

Scope = Literal["once", "session", "project", "local", "user"]

SCOPES: Final[Mapping[str, str]] = {
    "session": "session",
    "project": "projectSettings",
    "local": "localSettings",
    "user": "userSettings",
}
"""The destination in the CLI for each scope."""

_PLACES = {
    "session": "in this session",
    "projectSettings": "in this project, for everyone",
    "localSettings": "in this project, for you",
    "userSettings": "in all your projects",
    "cliArg": "as if given on the command line",
}
_MODES = {
    "default": "Ask before anything that may do harm",
    "acceptEdits": "Accept all changes to files without asking",
    "plan": "Only plan, change nothing",
    "bypassPermissions": "Never ask for anything",
    "dontAsk": "Never ask; deny everything without an allow rule",
    "auto": "Let a classifier decide what needs asking",
}
_RULE = re.compile(r"(?P<tool>[^()\s][^()]*?)(?:\((?P<content>.+)\))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A change of the CLI's rules, after which it does not ask again.

    Attributes:
        update: the change, typed.
        raw: the change as the CLI wrote it.
    """

    update: PermissionUpdate
    raw: dict[str, Any]

    @property
    def changes_something(self) -> bool:
        """Whether the CLI can remember it; a hint is only there to be read."""
        return not isinstance(self.update, PermissionHint)

    def describe(self) -> str:
        """Describe it in words, for a person."""
        words, place = _words(self.update), _PLACES.get(str(self.raw.get("destination")))
        return f"{words} ({place})" if place and self.changes_something else words

    def as_update(self, scope: str | None = None) -> PermissionUpdate:
        """Return it for the CLI, with another scope if one is given.

        Raises:
            AnswerError: it is only a hint, or the scope is unknown.
        """
        if isinstance(self.update, PermissionHint):
            raise AnswerError(f"This hint cannot be remembered: {self.describe()}")
        where = None if scope is None else _destination(scope)
        if self.raw != _plain(self.update) or isinstance(self.update, UnknownPermissionUpdate):
            return UnknownPermissionUpdate(self.raw | ({"destination": where} if where else {}))
        return replace(self.update, destination=where) if where else self.update


Remember = Suggestion | str | int
"""A change to remember: a suggestion or its index, or a rule such as `Bash(ls:*)`."""


def _plain(update: PermissionUpdate) -> dict[str, Any]:
    if isinstance(update, UnknownPermissionUpdate):
        return update.raw
    plain: dict[str, Any] = msgspec.to_builtins(update)
    return plain


def suggestions_of(request: Request) -> tuple[Suggestion, ...]:
    """Read the suggestions in a request for a permission."""
    assert isinstance(request.body, CanUseTool)
    typed = request.body.permission_suggestions or []
    plain = [_plain(it) for it in typed]
    if typed and request.line:
        # A request that was translated from another dialect has been written in another form.
        with suppress(KeyError, TypeError):
            written = request.raw["request"]["permission_suggestions"]
            if [it["type"] for it in written] == [it["type"] for it in plain]:
                plain = written
    return tuple(map(Suggestion, typed, plain))


def updates_for(
    remember: Remember | Sequence[Remember] | None,
    scope: str | None,
    suggestions: Sequence[Suggestion],
) -> list[PermissionUpdate] | None:
    """Make the changes that go along with an allow; None for none."""
    if scope is not None and scope != "once":
        _destination(scope)
    several = isinstance(remember, Sequence) and not isinstance(remember, str)
    items: Any = remember if several else [] if remember is None else [remember]
    if items and scope == "once":
        raise AnswerError("The scope `once` remembers nothing; leave out `remember` or `scope`")
    if not items and scope not in (None, "once"):
        raise AnswerError(f"The scope {scope!r} needs a rule: pass `remember` too")
    return [_update(item, scope, suggestions) for item in items] or None


def _update(item: object, scope: str | None, suggestions: Sequence[Suggestion]) -> PermissionUpdate:
    if isinstance(item, int) and not isinstance(item, bool):
        if not 0 <= item < len(suggestions):
            raise AnswerError(f"There is no suggestion {item}, only {len(suggestions)}, from 0 on")
        item = suggestions[item]
    if isinstance(item, str):
        return AddRules([rule_of(item)], "allow", _destination(scope or "session"))
    if isinstance(item, Suggestion):
        return item.as_update(scope)
    raise AnswerError(f"`remember` must be a suggestion or a rule, got {item!r}")


def rule_of(text: str) -> PermissionRule:
    """Parse a rule of the CLI's settings: `Read`, `Bash(git status:*)`."""
    match = _RULE.fullmatch(text.strip())
    if match is None:
        raise AnswerError(f"{text!r} is not a rule; write `Tool` or `Tool(which uses)`")
    return PermissionRule(match["tool"].strip(), match["content"])


def _destination(scope: object) -> str:
    if isinstance(scope, str) and scope in SCOPES:
        return SCOPES[scope]
    raise AnswerError(f"There is no scope {scope!r}, only once, {', '.join(SCOPES)}")


# --- words ---------------------------------------------------------------------------------------


def _words(update: PermissionUpdate) -> str:
    match update:
        case AddRules() | ReplaceRules() | RemoveRules():
            return _rule_words(update)
        case SetMode():
            return _MODES.get(update.mode, f"Change to the permission mode {update.mode}")
        case AddDirectories():
            return f"Let tools work in {', '.join(update.directories)} too"
        case RemoveDirectories():
            return f"Keep tools out of {', '.join(update.directories)} again"
        case PermissionHint():
            return update.message or f"Hint: {update.behavior}"
    return f"A change that this version does not know: {update.raw.get('type')}"


def _rule_words(update: AddRules | ReplaceRules | RemoveRules) -> str:
    uses = ", ".join(map(_use, update.rules)) or "nothing"
    behavior = update.behavior or "allow"
    verb = {"allow": "allow", "deny": "deny", "ask": "ask about"}.get(behavior, f"{behavior}:")
    if isinstance(update, RemoveRules):
        return f"No longer always {verb} {uses}"
    return f"Always {verb} {uses}{', and nothing else' * isinstance(update, ReplaceRules)}"


def _use(rule: PermissionRule) -> str:
    if rule.rule_content is None:
        return f"every use of {rule.tool_name}"
    if rule.tool_name == "Bash":
        prefix = rule.rule_content.removesuffix(":*")
        if prefix != rule.rule_content:
            return f"commands that begin with `{prefix}`"
        return f"the command `{prefix}`"
    return f"{rule.tool_name} of {rule.rule_content}"
