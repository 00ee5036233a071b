"""Drive the `claude` CLI over its stream-json protocol.

    reply = await claudewire.run("Summarise README.md", allow=["Read"])

    async with claudewire.open(model="sonnet") as claude:
        reply = await claude.send("Make the failing test pass")

`claudewire.sync` has the same without async. The protocol itself, without any I/O, is in
`claudewire.wire`; doubles for tests are in `claudewire.testing`.

Each name is loaded when it is first used, so that importing this costs next to nothing.
"""

from __future__ import annotations

from ._package import __version__ as __version__
from ._package import lazy_exports

TYPE_CHECKING = False  # type checkers take it for true; to import `typing` for it would be slow
if TYPE_CHECKING:
    from .approvals import AnswerError as AnswerError
    from .approvals import DialogRequest as DialogRequest
    from .approvals import ElicitationRequest as ElicitationRequest
    from .approvals import Inbox as Inbox
    from .approvals import PermissionRequest as PermissionRequest
    from .approvals import PermissionResult as PermissionResult
    from .approvals import PermissionResultAllow as PermissionResultAllow
    from .approvals import PermissionResultDeny as PermissionResultDeny
    from .approvals import PlanRequest as PlanRequest
    from .approvals import QuestionRequest as QuestionRequest
    from .approvals import Terminal as Terminal
    from .approvals import allow_everything_dangerously as allow_everything_dangerously
    from .approvals import deny_everything as deny_everything
    from .content import document as document
    from .content import image as image
    from .errors import BudgetExceeded as BudgetExceeded
    from .errors import Cause as Cause
    from .errors import CLIError as CLIError
    from .errors import CLINotFoundError as CLINotFoundError
    from .errors import Error as Error
    from .errors import Evidence as Evidence
    from .errors import OptionsError as OptionsError
    from .errors import OutputError as OutputError
    from .errors import RequestError as RequestError
    from .errors import RequestTimeout as RequestTimeout
    from .errors import SessionClosed as SessionClosed
    from .errors import TurnCancelled as TurnCancelled
    from .errors import TurnError as TurnError
    from .errors import TurnStalled as TurnStalled
    from .errors import UnsupportedRequest as UnsupportedRequest
    from .hooks import Hook as Hook
    from .hooks import HookContext as HookContext
    from .hooks import HookResult as HookResult
    from .hooks import Hooks as Hooks
    from .options import Agent as Agent
    from .options import Options as Options
    from .options import StallTimeouts as StallTimeouts
    from .options import Timeouts as Timeouts
    from .options import UnreadLimit as UnreadLimit
    from .policy import Policy as Policy
    from .policy import Rule as Rule
    from .session import Pool as Pool
    from .session import Reply as Reply
    from .session import Session as Session
    from .session import SessionState as SessionState
    from .session import Turn as Turn
    from .session import TurnState as TurnState
    from .session import open as open
    from .session import run as run
    from .tools import Tool as Tool
    from .tools import ToolAnnotations as ToolAnnotations
    from .tools import ToolContext as ToolContext
    from .tools import ToolError as ToolError
    from .tools import ToolResult as ToolResult
    from .tools import ToolServer as ToolServer
    from .tools import tool as tool
    from .tracking import BackgroundTask as BackgroundTask
    from .tracking import Budget as Budget
    from .tracking import Price as Price
    from .tracking import SharedBudget as SharedBudget
    from .transcripts import Transcripts as Transcripts
    from .transport import Transport as Transport
    from .wire import AssistantMessage as AssistantMessage
    from .wire import Event as Event
    from .wire import ImageBlock as ImageBlock
    from .wire import InitMessage as InitMessage
    from .wire import Message as Message
    from .wire import RateLimitEvent as RateLimitEvent
    from .wire import ResultMessage as ResultMessage
    from .wire import StreamEvent as StreamEvent
    from .wire import SystemMessage as SystemMessage
    from .wire import TextBlock as TextBlock
    from .wire import ThinkingBlock as ThinkingBlock
    from .wire import ToolResultBlock as ToolResultBlock
    from .wire import ToolUseBlock as ToolUseBlock
    from .wire import UnknownMessage as UnknownMessage
    from .wire import UserMessage as UserMessage
else:  # or type checkers would take any name for one of ours
    _HOMES = {
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
    }
    _HINTS = {
        "query": "use run(), or open() for a conversation",
        "ClaudeSDKClient": "use open(), which returns a Session",
        "ClaudeAgentOptions": "use Options, or keyword arguments of open() and run()",
    }
    __all__ = ["__version__", *" ".join(_HOMES.values()).split()]
    __getattr__, __dir__ = lazy_exports(__name__, {**_HOMES, ".sync": ""}, _HINTS)

if TYPE_CHECKING:  # loaded on first use, like the names above
    from . import sync as sync
