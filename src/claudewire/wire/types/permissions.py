"""Permissions: the suggestions of the CLI and the decisions of the host."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .base import UNKNOWN, Record, Unknown

PermissionMode = Literal[
    "default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto", "manual"
]

# Known behaviors of a rule: allow, deny, ask.
# Known destinations: userSettings, projectSettings, localSettings, session, cliArg.


class McpServerProvenance(Record):
    """The MCP server of a tool, and the source of its configuration."""

    name: str
    source: str | None = None


class PermissionRule(Record, rename="camel"):
    """A tool, and perhaps a pattern for its uses: `git status:*` of `Bash`."""

    tool_name: str
    rule_content: str | None = None


class _RuleUpdate(Record, tag_field="type"):
    """A change of the rules of one destination."""

    rules: list[PermissionRule]
    behavior: str | None = None
    destination: str | None = None


class AddRules(_RuleUpdate, tag="addRules"):
    """Add rules to those of the destination."""


class ReplaceRules(_RuleUpdate, tag="replaceRules"):
    """Replace all rules of the destination that have this behavior."""


class RemoveRules(_RuleUpdate, tag="removeRules"):
    """Take rules away from those of the destination."""


class SetMode(Record, tag="setMode", tag_field="type"):
    """Change the permission mode."""

    mode: str
    destination: str | None = None


class _DirectoryUpdate(Record, tag_field="type"):
    """A change of the directories that tools may work in."""

    directories: list[str]
    destination: str | None = None


class AddDirectories(_DirectoryUpdate, tag="addDirectories"):
    """Let tools work in these directories too."""


class RemoveDirectories(_DirectoryUpdate, tag="removeDirectories"):
    """No longer let tools work in these directories."""


class PermissionHint(Record, tag="hint", tag_field="type"):
    """Advice for the decision that changes nothing, in a dialect without rules."""

    behavior: str | None = None
    message: str | None = None


class UnknownPermissionUpdate(Unknown, Record, tag=UNKNOWN, tag_field="type"):
    """A kind of update that this version does not know."""

    raw: dict[str, Any]


PermissionUpdate = (
    AddRules
    | ReplaceRules
    | RemoveRules
    | SetMode
    | AddDirectories
    | RemoveDirectories
    | PermissionHint
    | UnknownPermissionUpdate
)


class PermissionResultAllow(Record, tag="allow", tag_field="behavior", rename="camel"):
    """Allow the tool, with `updated_input` if given.

    Before 2.1.207 the CLI denies the tool if `updated_input` is left out: always give it.
    """

    updated_input: dict[str, Any] | None = None
    updated_permissions: list[PermissionUpdate] | None = None
    tool_use_id: str | None = msgspec.field(name="toolUseID", default=None)
    decision_classification: str | None = None
    """user_temporary, user_permanent or user_reject."""


class PermissionResultDeny(Record, tag="deny", tag_field="behavior", rename="camel"):
    """Deny the tool; the model reads `message`, unless `interrupt` ends the turn."""

    message: str | None = None
    interrupt: bool | None = None
    tool_use_id: str | None = msgspec.field(name="toolUseID", default=None)
    decision_classification: str | None = None
    """user_temporary, user_permanent or user_reject."""


class UnknownPermissionResult(Unknown, Record, tag=UNKNOWN, tag_field="behavior"):
    """A decision that this version does not know. It is not an allow."""

    raw: dict[str, Any]


PermissionResult = PermissionResultAllow | PermissionResultDeny | UnknownPermissionResult
