"""Requests of the CLI, each with the host's answer, and the base of every request.

A request's type parameter is the payload of a successful answer to it.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from .base import UNKNOWN, Record, Unknown, nullable, prepared
from .hooks import HookInput, HookOutput
from .permissions import McpServerProvenance, PermissionResult, PermissionUpdate

AnswerT = TypeVar("AnswerT", covariant=True)


class RequestBody(Record, Generic[AnswerT], tag_field="subtype"):
    """The body of a request. Derive from it to send a request that is not declared here."""


class MatchedAskRule(Record):
    """The rule that requires the question."""

    source: str | None = None
    tool_name: str | None = None
    rule_content: str | None = None


class CanUseTool(RequestBody[PermissionResult], tag="can_use_tool"):
    """Ask for the permission to run a tool. The CLI waits without a limit."""

    tool_name: str
    input: dict[str, Any]
    tool_use_id: str | None = None
    permission_suggestions: list[PermissionUpdate] | None = None
    """Values for `updated_permissions` that avoid the same question later."""
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


# --- questions -----------------------------------------------------------------------------------
#
# A question of the AskUserQuestion tool reaches the host as a request to use that tool. The one
# answer that every CLI understands is to allow it with the original input plus `answers`, keyed by
# the exact text of each question, several labels joined with a comma and a space.


class QuestionOption(Record):
    """One of the answers to choose from; `preview` is Markdown or HTML."""

    label: str
    description: str | None = None
    preview: str | None = None


class Question(Record):
    """One question; `header` is a title of a dozen characters at most."""

    question: str
    header: str | None = None
    options: list[QuestionOption] = msgspec.field(default_factory=list)
    # The CLI always writes it; a factory keeps the default from being left out.
    multi_select: bool = msgspec.field(name="multiSelect", default_factory=bool)


def questions_of(input: dict[str, Any]) -> list[Question]:
    """Return the questions in a tool's input; none if there are none, or they are malformed."""
    try:
        return msgspec.convert(input.get("questions"), prepared(list[Question]))
    except msgspec.ValidationError:
        return []


# --- other requests ------------------------------------------------------------------------------


class HookCallback(RequestBody[HookOutput], tag="hook_callback"):
    """Call the hook that was registered under this id."""

    callback_id: str
    input: HookInput
    tool_use_id: str | None = None


class McpResponse(Record):
    """The JSON-RPC answer of an MCP server inside the host. Only the CLI leaves it out."""

    mcp_response: dict[str, Any] | None = None


class McpMessage(RequestBody[McpResponse], tag="mcp_message"):
    """Pass a JSON-RPC message to an MCP server inside the host, or to the CLI from it."""

    server_name: str
    message: dict[str, Any]


class ElicitationResult(Record):
    """The user's answer to an MCP server."""

    action: str
    """accept, decline or cancel."""
    content: dict[str, Any] | None = None


class Elicitation(RequestBody[ElicitationResult], tag="elicitation"):
    """Ask the user a question of an MCP server."""

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


class DialogCompleted(Record, tag="completed", tag_field="behavior"):
    """The user has gone through the dialog."""

    result: Any = nullable()


class DialogCancelled(Record, tag="cancelled", tag_field="behavior"):
    """The user has left the dialog."""


class UnknownDialogResult(Unknown, Record, tag=UNKNOWN, tag_field="behavior"):
    """An end of a dialog that this version does not know."""

    raw: dict[str, Any]


DialogResult = DialogCompleted | DialogCancelled | UnknownDialogResult


class RequestUserDialog(RequestBody[DialogResult], tag="request_user_dialog"):
    """Show the user a dialog of a kind that `initialize` has declared."""

    dialog_kind: str
    payload: dict[str, Any] | None = None
    tool_use_id: str | None = None


CLIRequest = CanUseTool | HookCallback | McpMessage | Elicitation | RequestUserDialog
"""Every request that the CLI sends."""
