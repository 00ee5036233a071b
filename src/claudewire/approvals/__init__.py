"""Requests for a person's decision: permissions, questions, plans, forms and dialogs.

Each is a typed request in one inbox. A policy, a handler, or any other task, thread or process
answers it; without an answer, the answer is no. Start with `router`, which has the order of these,
then `request`.
"""

from __future__ import annotations

from ..wire import PermissionResult, PermissionResultAllow, PermissionResultDeny
from .elicitation import (
    Choice,
    DialogHandler,
    DialogRequest,
    ElicitationHandler,
    ElicitationRequest,
    Field,
    FieldType,
    Form,
)
from .inbox import Change, Changes, Inbox, Remote
from .permissions import (
    PLAN_TOOL,
    PermissionHandler,
    PermissionRequest,
    PlanHandler,
    PlanRequest,
    subject_of,
)
from .questions import ASK_TOOL, AnswerForm, QuestionAnswer, QuestionHandler, QuestionRequest
from .request import AnswerError, ApprovalKind, ApprovalRequest, ApprovalState
from .router import (
    ApprovalRouter,
    Approver,
    Approvers,
    Handler,
    PolicyLike,
    allow_everything_dangerously,
    check_handler,
    deny_everything,
)
from .suggestions import Remember, Scope, Suggestion
from .terminal import Terminal, TerminalIO

__all__ = [
    "ASK_TOOL",
    "PLAN_TOOL",
    "AnswerError",
    "AnswerForm",
    "ApprovalKind",
    "ApprovalRequest",
    "ApprovalRouter",
    "ApprovalState",
    "Approver",
    "Approvers",
    "Change",
    "Changes",
    "Choice",
    "DialogHandler",
    "DialogRequest",
    "ElicitationHandler",
    "ElicitationRequest",
    "Field",
    "FieldType",
    "Form",
    "Handler",
    "Inbox",
    "PermissionHandler",
    "PermissionRequest",
    "PermissionResult",
    "PermissionResultAllow",
    "PermissionResultDeny",
    "PlanHandler",
    "PlanRequest",
    "PolicyLike",
    "QuestionAnswer",
    "QuestionHandler",
    "QuestionRequest",
    "Remember",
    "Remote",
    "Scope",
    "Suggestion",
    "Terminal",
    "TerminalIO",
    "allow_everything_dangerously",
    "check_handler",
    "deny_everything",
    "subject_of",
]
