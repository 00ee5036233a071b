"""What the CLI asks of the host, and the base of every request.

A request's type parameter is the payload of a successful answer to it.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from .base import Record
from .hook_outputs import HookOutput
from .hooks import HookInput
from .permissions import McpServerProvenance, PermissionResult, PermissionUpdate
from .results import DialogResult, ElicitationResult, McpResponse

__all__ = [
    "CLIRequest",
    "CanUseTool",
    "Elicitation",
    "HookCallback",
    "MatchedAskRule",
    "McpMessage",
    "RequestBody",
    "RequestUserDialog",
]

AnswerT = TypeVar("AnswerT", covariant=True)


class RequestBody(Record, Generic[AnswerT], tag_field="subtype"):
    """The body of a request. Derive from it to send a request that is not declared here."""


class MatchedAskRule(Record):
    """The rule that makes the CLI ask."""

    source: str | None = None
    tool_name: str | None = None
    rule_content: str | None = None


class CanUseTool(RequestBody[PermissionResult], tag="can_use_tool"):
    """May this tool run? The CLI waits for the answer as long as it takes."""

    tool_name: str
    input: dict[str, Any]
    tool_use_id: str | None = None
    permission_suggestions: list[PermissionUpdate] | None = None
    """What `updated_permissions` may say so as not to be asked again."""
    blocked_path: str | None = None
    decision_reason: str | None = None
    decision_reason_type: str | None = None
    """rule, mode, subcommandResults, permissionPromptTool, hook, asyncAgent, sandboxOverride,
    workingDir, safetyCheck, classifier or other."""
    classifier_approvable: bool | None = None
    server_policy_ask_only: bool | None = None
    suppress_always_allow_rule: bool | None = None
    default_to_no: bool | None = None
    matched_ask_rule: MatchedAskRule | None = None
    title: str | None = None
    display_name: str | None = None
    description: str | None = None
    agent_id: str | None = None
    mcp_server: McpServerProvenance | None = None
    requires_user_interaction: bool | None = None
    """The tool is itself a question to the user, such as AskUserQuestion."""


class HookCallback(RequestBody[HookOutput], tag="hook_callback"):
    """Something happened that a hook was registered for, under this id."""

    callback_id: str
    input: HookInput
    tool_use_id: str | None = None


class McpMessage(RequestBody[McpResponse], tag="mcp_message"):
    """A JSON-RPC message for an MCP server inside the host; or, sent to the CLI, from it."""

    server_name: str
    message: dict[str, Any]


class Elicitation(RequestBody[ElicitationResult], tag="elicitation"):
    """An MCP server wants to know something from the user."""

    mcp_server_name: str
    message: str
    mode: str | None = None
    """form or url."""
    url: str | None = None
    elicitation_id: str | None = None
    requested_schema: dict[str, Any] | None = None
    property_order: list[str] | None = None
    title: str | None = None
    display_name: str | None = None
    description: str | None = None


class RequestUserDialog(RequestBody[DialogResult], tag="request_user_dialog"):
    """Show the user a dialog of a kind that `initialize` has declared."""

    dialog_kind: str
    payload: dict[str, Any] | None = None
    tool_use_id: str | None = None


CLIRequest = CanUseTool | HookCallback | McpMessage | Elicitation | RequestUserDialog
"""Every request that the CLI sends."""
