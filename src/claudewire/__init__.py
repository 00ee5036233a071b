"""Drive the `claude` CLI over its stream-json protocol.

    reply = await claudewire.run("Summarise README.md", allow=["Read"])

    async with claudewire.open(model="sonnet") as claude:
        reply = await claude.send("Make the failing test pass")

`claudewire.sync` has the same without async. The protocol itself, without any I/O, is in
`claudewire.wire`; doubles for tests are in `claudewire.testing`.

Each name is loaded when it is first used, so that importing this costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agents import Agent
    from .background import BackgroundTask, TaskTable
    from .behaviour import Timeouts
    from .budgets import Alert, Budget
    from .content import Document, Image, Text
    from .deciders import Remote, allow_everything_dangerously, deny_everything, policy_then
    from .elicitation import DialogRequest, ElicitationRequest
    from .errors import (
        BudgetExceeded,
        Cause,
        CLIError,
        CLINotFoundError,
        Error,
        Evidence,
        LocalProtocolError,
        OptionsError,
        OutputError,
        RequestError,
        RequestTimeout,
        SessionClosed,
        Stalled,
        TransportClosed,
        TurnCancelled,
        TurnError,
        Unsupported,
    )
    from .hooks import Hook, HookContext, HookResult, HookResultError, Hooks
    from .inbox import Inbox
    from .interrupting import Escalation, InterruptReceipt
    from .ledger import Ledger, Price, Totals
    from .listening import Subscription
    from .liveblocks import LiveBlock
    from .news import HighWater, News, OverBudget, SessionState, StateChanged, Stderr, TurnBegan
    from .options import Options
    from .pending import AnswerError
    from .permissions import (
        PermissionRequest,
        PermissionResult,
        PermissionResultAllow,
        PermissionResultDeny,
    )
    from .plans import PlanRequest
    from .policy import JsonLinesAudit, Policy, Rule
    from .pool import Pool
    from .questions import QuestionRequest
    from .reply import Reply
    from .running import open, run
    from .session import Session
    from .terminal import Terminal
    from .tool_servers import ToolServer
    from .tools import (
        ResourceLink,
        Tool,
        ToolAnnotations,
        ToolContext,
        ToolError,
        ToolFile,
        ToolResult,
        tool,
    )
    from .transport import Transport
    from .turn import Turn, TurnState
    from .unread import Unread
    from .watchdog import Patience, Stall, Waiting, WaitingFor
    from .wire import (
        AssistantMessage,
        Event,
        ImageBlock,
        InitMessage,
        Malformed,
        Message,
        Noise,
        RateLimitEvent,
        ResultMessage,
        StreamEvent,
        SystemMessage,
        TextBlock,
        ThinkingBlock,
        ToolResultBlock,
        ToolUseBlock,
        UnknownMessage,
        UserMessage,
    )

__all__ = [
    "Agent",
    "Alert",
    "AnswerError",
    "AssistantMessage",
    "BackgroundTask",
    "Budget",
    "BudgetExceeded",
    "CLIError",
    "CLINotFoundError",
    "Cause",
    "DialogRequest",
    "Document",
    "ElicitationRequest",
    "Error",
    "Escalation",
    "Event",
    "Evidence",
    "HighWater",
    "Hook",
    "HookContext",
    "HookResult",
    "HookResultError",
    "Hooks",
    "Image",
    "ImageBlock",
    "Inbox",
    "InitMessage",
    "InterruptReceipt",
    "JsonLinesAudit",
    "Ledger",
    "LiveBlock",
    "LocalProtocolError",
    "Malformed",
    "Message",
    "News",
    "Noise",
    "Options",
    "OptionsError",
    "OutputError",
    "OverBudget",
    "Patience",
    "PermissionRequest",
    "PermissionResult",
    "PermissionResultAllow",
    "PermissionResultDeny",
    "PlanRequest",
    "Policy",
    "Pool",
    "Price",
    "QuestionRequest",
    "RateLimitEvent",
    "Remote",
    "Reply",
    "RequestError",
    "RequestTimeout",
    "ResourceLink",
    "ResultMessage",
    "Rule",
    "Session",
    "SessionClosed",
    "SessionState",
    "Stall",
    "Stalled",
    "StateChanged",
    "Stderr",
    "StreamEvent",
    "Subscription",
    "SystemMessage",
    "TaskTable",
    "Terminal",
    "Text",
    "TextBlock",
    "ThinkingBlock",
    "Timeouts",
    "Tool",
    "ToolAnnotations",
    "ToolContext",
    "ToolError",
    "ToolFile",
    "ToolResult",
    "ToolResultBlock",
    "ToolServer",
    "ToolUseBlock",
    "Totals",
    "Transport",
    "TransportClosed",
    "Turn",
    "TurnBegan",
    "TurnCancelled",
    "TurnError",
    "TurnState",
    "UnknownMessage",
    "Unread",
    "Unsupported",
    "UserMessage",
    "Waiting",
    "WaitingFor",
    "__version__",
    "allow_everything_dangerously",
    "deny_everything",
    "open",
    "policy_then",
    "run",
    "tool",
]

__version__ = "0.1.0"

_MODULES = {
    "agents": ("Agent",),
    "background": (
        "BackgroundTask",
        "TaskTable",
    ),
    "behaviour": ("Timeouts",),
    "budgets": (
        "Alert",
        "Budget",
    ),
    "content": (
        "Document",
        "Image",
        "Text",
    ),
    "deciders": (
        "Remote",
        "allow_everything_dangerously",
        "deny_everything",
        "policy_then",
    ),
    "elicitation": (
        "DialogRequest",
        "ElicitationRequest",
    ),
    "errors": (
        "BudgetExceeded",
        "CLIError",
        "CLINotFoundError",
        "Cause",
        "Error",
        "Evidence",
        "LocalProtocolError",
        "OptionsError",
        "OutputError",
        "RequestError",
        "RequestTimeout",
        "SessionClosed",
        "Stalled",
        "TransportClosed",
        "TurnCancelled",
        "TurnError",
        "Unsupported",
    ),
    "hooks": (
        "Hook",
        "HookContext",
        "HookResult",
        "HookResultError",
        "Hooks",
    ),
    "inbox": ("Inbox",),
    "interrupting": (
        "Escalation",
        "InterruptReceipt",
    ),
    "ledger": (
        "Ledger",
        "Price",
        "Totals",
    ),
    "listening": ("Subscription",),
    "liveblocks": ("LiveBlock",),
    "news": (
        "HighWater",
        "News",
        "OverBudget",
        "SessionState",
        "StateChanged",
        "Stderr",
        "TurnBegan",
    ),
    "options": ("Options",),
    "pending": ("AnswerError",),
    "permissions": (
        "PermissionRequest",
        "PermissionResult",
        "PermissionResultAllow",
        "PermissionResultDeny",
    ),
    "plans": ("PlanRequest",),
    "policy": (
        "JsonLinesAudit",
        "Policy",
        "Rule",
    ),
    "pool": ("Pool",),
    "questions": ("QuestionRequest",),
    "reply": ("Reply",),
    "running": (
        "open",
        "run",
    ),
    "session": ("Session",),
    "terminal": ("Terminal",),
    "tool_servers": ("ToolServer",),
    "tools": (
        "ResourceLink",
        "Tool",
        "ToolAnnotations",
        "ToolContext",
        "ToolError",
        "ToolFile",
        "ToolResult",
        "tool",
    ),
    "transport": ("Transport",),
    "turn": (
        "Turn",
        "TurnState",
    ),
    "unread": ("Unread",),
    "watchdog": (
        "Patience",
        "Stall",
        "Waiting",
        "WaitingFor",
    ),
    "wire": (
        "AssistantMessage",
        "Event",
        "ImageBlock",
        "InitMessage",
        "Malformed",
        "Message",
        "Noise",
        "RateLimitEvent",
        "ResultMessage",
        "StreamEvent",
        "SystemMessage",
        "TextBlock",
        "ThinkingBlock",
        "ToolResultBlock",
        "ToolUseBlock",
        "UnknownMessage",
        "UserMessage",
    ),
}
"""Where each name is to be found."""
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
