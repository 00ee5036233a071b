"""Drive the `claude` CLI over its stream-json protocol.

    reply = await claudewire.run("Summarise README.md", allow=["Read"])

    async with claudewire.open(model="sonnet") as claude:
        reply = await claude.send("Make the failing test pass")

`claudewire.sync` has the same without async. The protocol itself, without any I/O, is in
`claudewire.wire`; doubles for tests are in `claudewire.testing`.

Each name is loaded when it is first used, so that importing this costs next to nothing.
"""

from __future__ import annotations

from ._package import __version__, lazy_exports

TYPE_CHECKING = False  # type checkers take it for true; to import `typing` for it would be slow
if TYPE_CHECKING:
    from .approvals import (
        AnswerError,
        DialogRequest,
        ElicitationRequest,
        Inbox,
        PermissionRequest,
        PermissionResult,
        PermissionResultAllow,
        PermissionResultDeny,
        PlanRequest,
        QuestionRequest,
        Terminal,
        allow_everything_dangerously,
        deny_everything,
    )
    from .content import document, image
    from .errors import (
        BudgetExceeded,
        Cause,
        CLIError,
        CLINotFoundError,
        Error,
        Evidence,
        OptionsError,
        OutputError,
        RequestError,
        RequestTimeout,
        SessionClosed,
        TurnCancelled,
        TurnError,
        TurnStalled,
        UnsupportedRequest,
    )
    from .hooks import Hook, HookContext, HookResult, Hooks
    from .options import Agent, Options, StallTimeouts, Timeouts, UnreadLimit
    from .policy import Policy, Rule
    from .session import Pool, Reply, Session, SessionState, Turn, TurnState, open, run
    from .tools import Tool, ToolAnnotations, ToolContext, ToolError, ToolResult, ToolServer, tool
    from .tracking import BackgroundTask, Budget, Price, SharedBudget
    from .transcripts import Transcripts
    from .transport import Transport
    from .wire import (
        AssistantMessage,
        Event,
        ImageBlock,
        InitMessage,
        Message,
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
    "AnswerError",
    "AssistantMessage",
    "BackgroundTask",
    "Budget",
    "BudgetExceeded",
    "CLIError",
    "CLINotFoundError",
    "Cause",
    "DialogRequest",
    "ElicitationRequest",
    "Error",
    "Event",
    "Evidence",
    "Hook",
    "HookContext",
    "HookResult",
    "Hooks",
    "ImageBlock",
    "Inbox",
    "InitMessage",
    "Message",
    "Options",
    "OptionsError",
    "OutputError",
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
    "Reply",
    "RequestError",
    "RequestTimeout",
    "ResultMessage",
    "Rule",
    "Session",
    "SessionClosed",
    "SessionState",
    "SharedBudget",
    "StallTimeouts",
    "StreamEvent",
    "SystemMessage",
    "Terminal",
    "TextBlock",
    "ThinkingBlock",
    "Timeouts",
    "Tool",
    "ToolAnnotations",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "ToolResultBlock",
    "ToolServer",
    "ToolUseBlock",
    "Transcripts",
    "Transport",
    "Turn",
    "TurnCancelled",
    "TurnError",
    "TurnStalled",
    "TurnState",
    "UnknownMessage",
    "UnreadLimit",
    "UnsupportedRequest",
    "UserMessage",
    "__version__",
    "allow_everything_dangerously",
    "deny_everything",
    "document",
    "image",
    "open",
    "run",
    "tool",
]

if not TYPE_CHECKING:  # or type checkers would take any name for one of ours
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            ".content": "document image",
            ".errors": """
                BudgetExceeded CLIError CLINotFoundError Cause Error Evidence OptionsError
                OutputError RequestError RequestTimeout SessionClosed TurnCancelled
                TurnError TurnStalled UnsupportedRequest
                """,
            ".hooks": "Hook HookContext HookResult Hooks",
            ".options": "Agent Options StallTimeouts Timeouts UnreadLimit",
            ".approvals": """
                AnswerError DialogRequest ElicitationRequest Inbox PermissionRequest
                PermissionResult PermissionResultAllow PermissionResultDeny PlanRequest
                QuestionRequest Terminal allow_everything_dangerously deny_everything
                """,
            ".policy": "Policy Rule",
            ".session": "Pool Reply Session SessionState Turn TurnState open run",
            ".transcripts": "Transcripts",
            ".tools": "Tool ToolAnnotations ToolContext ToolError ToolResult ToolServer tool",
            ".tracking": "BackgroundTask Budget Price SharedBudget",
            ".transport": "Transport",
            ".wire": """
                AssistantMessage Event ImageBlock InitMessage Message RateLimitEvent ResultMessage
                StreamEvent SystemMessage TextBlock ThinkingBlock ToolResultBlock ToolUseBlock
                UnknownMessage UserMessage
                """,
        },
    )
