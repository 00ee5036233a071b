"""What a permission can be remembered as: the CLI's own suggestions, and rules.

A suggestion goes back to the CLI whole, with fields that this version does not know, and is shown
to a person in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

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
    prepared,
)
from .pending import AnswerError

__all__ = ["SCOPES", "Remember", "Scope", "Suggestion", "rule_of", "suggestions_of", "updates_for"]

Scope = Literal["once", "session", "project", "local", "user"]

SCOPES: Final[Mapping[str, str]] = {
    "session": "session",
    "project": "projectSettings",
    "local": "localSettings",
    "user": "userSettings",
}
"""Where the CLI remembers something, by the name of the scope."""

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
    "dontAsk": "Never ask; deny what is not allowed already",
    "auto": "Let a classifier decide what needs asking",
}
_RULE = re.compile(r"(?P<tool>[^()\s][^()]*?)(?:\((?P<content>.*)\))?", re.DOTALL)

_Rules = AddRules | ReplaceRules | RemoveRules
_Directories = AddDirectories | RemoveDirectories


class Suggestion:
    """Something that the CLI can remember, so that it does not ask again.

    Attributes:
        update: what it changes, typed.
        raw: the same as the CLI wrote it.
    """

    __slots__ = ("raw", "update")

    def __init__(self, update: PermissionUpdate, raw: Mapping[str, Any] | None = None) -> None:
        self.update: PermissionUpdate = update
        self.raw: dict[str, Any] = dict(raw if raw is not None else _plain(update))

    def __repr__(self) -> str:
        return f"<Suggestion: {self.describe()}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Suggestion) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(msgspec.json.encode(self.raw, order="deterministic"))

    @property
    def scope(self) -> str | None:
        """For how long and for whom it is meant: session, project, local or user."""
        destination = self.raw.get("destination")
        return next((name for name, it in SCOPES.items() if it == destination), None)

    @property
    def changes_something(self) -> bool:
        """Whether it can be remembered at all; a hint is only there to be read."""
        return not isinstance(self.update, PermissionHint)

    def describe(self) -> str:
        """Describe it in words, for a person."""
        what, place = _words(self.update), _PLACES.get(str(self.raw.get("destination")))
        return f"{what} ({place})" if place and self.changes_something else what

    def as_update(self, scope: str | None = None) -> PermissionUpdate:
        """Return it as it goes back to the CLI, whole, and with another scope if one is given.

        Raises:
            AnswerError: it is only a hint, or there is no such scope.
        """
        if not self.changes_something:
            raise AnswerError(f"This is a hint, which cannot be remembered: {self.describe()}")
        raw = self.raw if scope is None else {**self.raw, "destination": _destination(scope)}
        # The typed form has no place for a field that it does not know.
        known = _plain(self.update) == self.raw
        if known and not isinstance(self.update, UnknownPermissionUpdate):
            return msgspec.convert(raw, prepared(type(self.update)))
        return UnknownPermissionUpdate(raw)


Remember = Suggestion | PermissionUpdate | str | int
"""What can be remembered: a suggestion or its index, an update, or a rule: `Bash(ls:*)`."""


def _plain(update: PermissionUpdate) -> dict[str, Any]:
    if isinstance(update, UnknownPermissionUpdate):
        return update.raw
    plain: dict[str, Any] = msgspec.to_builtins(update)
    return plain


def suggestions_of(request: Request, body: CanUseTool) -> tuple[Suggestion, ...]:
    """Read what the CLI suggests to remember, as it wrote it."""
    typed = body.permission_suggestions or []
    written = _written(request) if typed and request.line else []
    if len(written) != len(typed):
        return tuple(map(Suggestion, typed))
    return tuple(map(_suggestion, typed, written))


def _written(request: Request) -> list[Any]:
    inner = request.raw.get("request")
    found = inner.get("permission_suggestions") if isinstance(inner, dict) else None
    return found if isinstance(found, list) else []


def _suggestion(update: PermissionUpdate, raw: Any) -> Suggestion:
    # What was written in another dialect is of another type there.
    same = isinstance(raw, dict) and raw.get("type") == _plain(update).get("type")
    return Suggestion(update, raw if same else None)


# --- remembering ---------------------------------------------------------------------------------


def rule_of(text: str) -> PermissionRule:
    """Parse a rule as it is written in the CLI's settings: `Read`, `Bash(git status:*)`.

    Raises:
        AnswerError: it is not a rule.
    """
    match = _RULE.fullmatch(text.strip())
    if match is None or match["content"] == "":
        raise AnswerError(f"{text!r} is not a rule; write `Tool` or `Tool(which uses)`")
    return PermissionRule(match["tool"].strip(), match["content"])


def updates_for(
    remember: Remember | Sequence[Remember] | None,
    scope: str | None,
    suggestions: Sequence[Suggestion],
) -> list[PermissionUpdate] | None:
    """Make what an allow tells the CLI to remember; None for nothing.

    Raises:
        AnswerError: this cannot be remembered.
    """
    if scope is not None and scope != "once":
        _destination(scope)
    items = list(_items(remember))
    if not items:
        if scope in (None, "once"):
            return None
        raise AnswerError(f"The scope {scope!r} needs something to remember: give `remember` too")
    if scope == "once":
        raise AnswerError("The scope `once` remembers nothing; leave out `remember` or `scope`")
    return [_update(item, scope, suggestions) for item in items]


def _items(remember: Remember | Sequence[Remember] | None) -> Iterator[Remember]:
    if remember is None:
        return
    if isinstance(remember, Sequence) and not isinstance(remember, str):
        yield from remember
    else:
        yield remember


def _update(item: object, scope: str | None, suggestions: Sequence[Suggestion]) -> PermissionUpdate:
    if isinstance(item, bool):
        raise AnswerError("Say what to remember: a suggestion or a rule")
    if isinstance(item, int):
        item = _numbered(item, suggestions)
    if isinstance(item, str):
        return AddRules([rule_of(item)], "allow", _destination(scope or "session"))
    if isinstance(item, PermissionUpdate):
        item = Suggestion(item)
    if isinstance(item, Suggestion):
        return item.as_update(scope)
    raise AnswerError(f"{item!r} cannot be remembered; give a suggestion or a rule")


def _numbered(index: int, suggestions: Sequence[Suggestion]) -> Suggestion:
    if 0 <= index < len(suggestions):
        return suggestions[index]
    raise AnswerError(f"There is no suggestion {index}; there are {len(suggestions)}, from 0 on")


def _destination(scope: object) -> str:
    if isinstance(scope, str) and scope in SCOPES:
        return SCOPES[scope]
    raise AnswerError(f"There is no scope {scope!r}; there are once, {', '.join(SCOPES)}")


# --- words ---------------------------------------------------------------------------------------


def _words(update: PermissionUpdate) -> str:
    if isinstance(update, _Rules):
        return _rule_words(update)
    if isinstance(update, SetMode):
        return _MODES.get(update.mode, f"Change to the permission mode {update.mode}")
    if isinstance(update, _Directories):
        where = ", ".join(update.directories)
        adding = isinstance(update, AddDirectories)
        return f"Let tools work in {where} too" if adding else f"Keep tools out of {where} again"
    if isinstance(update, PermissionHint):
        return update.message or f"Hint: {update.behavior}"
    return f"A change that this version does not know: {update.raw.get('type')}"


def _rule_words(update: AddRules | ReplaceRules | RemoveRules) -> str:
    what = ", ".join(map(_use, update.rules)) or "nothing"
    verb = {"allow": "allow", "deny": "deny", "ask": "ask about"}.get(
        update.behavior or "allow", f"{update.behavior}:"
    )
    if isinstance(update, AddRules):
        return f"Always {verb} {what}"
    if isinstance(update, RemoveRules):
        return f"No longer always {verb} {what}"
    return f"Always {verb} {what}, and nothing else"


def _use(rule: PermissionRule) -> str:
    if rule.rule_content is None:
        return f"every use of {rule.tool_name}"
    if rule.tool_name == "Bash":
        prefix = rule.rule_content.removesuffix(":*")
        if prefix != rule.rule_content:
            return f"commands that begin with `{prefix}`"
        return f"the command `{prefix}`"
    return f"{rule.tool_name} of {rule.rule_content}"
