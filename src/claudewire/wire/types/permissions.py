"""Whether a tool may run: what the CLI proposes, and what it is answered."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .base import UNKNOWN, Record, Unknown

__all__ = [
    "AddDirectories",
    "AddRules",
    "McpServerProvenance",
    "PermissionHint",
    "PermissionMode",
    "PermissionResult",
    "PermissionResultAllow",
    "PermissionResultDeny",
    "PermissionRule",
    "PermissionUpdate",
    "RemoveDirectories",
    "RemoveRules",
    "ReplaceRules",
    "SetMode",
    "UnknownPermissionResult",
    "UnknownPermissionUpdate",
]

PermissionMode = Literal[
    "default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto", "manual"
]

# Known modes: default, acceptEdits, bypassPermissions, plan, dontAsk, auto.
# Known behaviors of a rule: allow, deny, ask.
# Known destinations: userSettings, projectSettings, localSettings, session, cliArg.


class McpServerProvenance(Record):
    """Which MCP server a tool comes from, and who configured that server."""

    name: str
    source: str | None = None


class PermissionRule(Record, rename="camel"):
    """A tool and, if not every use of it is meant, the uses: `git status:*` of `Bash`."""

    tool_name: str
    rule_content: str | None = None


class AddRules(Record, tag="addRules", tag_field="type"):
    """Add rules to those of the destination."""

    rules: list[PermissionRule]
    behavior: str | None = None
    destination: str | None = None


class ReplaceRules(Record, tag="replaceRules", tag_field="type"):
    """Put rules in the place of all that the destination has for this behavior."""

    rules: list[PermissionRule]
    behavior: str | None = None
    destination: str | None = None


class RemoveRules(Record, tag="removeRules", tag_field="type"):
    """Take rules away from those of the destination."""

    rules: list[PermissionRule]
    behavior: str | None = None
    destination: str | None = None


class SetMode(Record, tag="setMode", tag_field="type"):
    """Change the permission mode."""

    mode: str
    destination: str | None = None


class AddDirectories(Record, tag="addDirectories", tag_field="type"):
    """Let tools work in these directories too."""

    directories: list[str]
    destination: str | None = None


class RemoveDirectories(Record, tag="removeDirectories", tag_field="type"):
    """No longer let tools work in these directories."""

    directories: list[str]
    destination: str | None = None


class PermissionHint(Record, tag="hint", tag_field="type"):
    """Advice for the decision that changes nothing: all that the envelope dialect suggests."""

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
    """The tool may run, with `updated_input` if given.

    Before 2.1.207 the CLI denies the tool if `updated_input` is left out: always give it.
    """

    updated_input: dict[str, Any] | None = None
    updated_permissions: list[PermissionUpdate] | None = None
    tool_use_id: str | None = msgspec.field(name="toolUseID", default=None)
    decision_classification: str | None = None
    """user_temporary, user_permanent or user_reject."""


class PermissionResultDeny(Record, tag="deny", tag_field="behavior", rename="camel"):
    """The tool is denied; the model is told `message`, unless `interrupt` ends the turn."""

    message: str | None = None
    interrupt: bool | None = None
    tool_use_id: str | None = msgspec.field(name="toolUseID", default=None)
    decision_classification: str | None = None
    """user_temporary, user_permanent or user_reject."""


class UnknownPermissionResult(Unknown, Record, tag=UNKNOWN, tag_field="behavior"):
    """A decision that this version does not know. It is not an allow."""

    raw: dict[str, Any]


PermissionResult = PermissionResultAllow | PermissionResultDeny | UnknownPermissionResult
