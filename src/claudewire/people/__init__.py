"""Requests that wait for a person: permissions, questions, plans, forms and dialogs.

Each is a typed request in one inbox, answered by a policy, a handler or another thread; without an
answer, the answer is no. It uses `policy`, `errors`, `concurrency` and `wire`. Start with
`decisions`, which says who decides in which order, then `pending`.
"""

from __future__ import annotations

from .decisions import Decider, People, Person, PolicyLike
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
from .handlers import Handler, check_handler
from .inbox import Change, Changes, Inbox
from .pending import AnswerError, Clock, Pending, PendingKind, PendingState
from .permissions import (
    PermissionHandler,
    PermissionRequest,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
)
from .persons import Remote, allow_everything_dangerously, deny_everything, policy_then
from .plans import PLAN_TOOL, PlanHandler, PlanRequest
from .questions import (
    ASK_TOOL,
    AnswerForm,
    QuestionAnswer,
    QuestionHandler,
    QuestionRequest,
    form_for,
)
from .suggestions import Remember, Scope, Suggestion
from .terminal import Terminal

__all__ = [
    "ASK_TOOL",
    "PLAN_TOOL",
    "AnswerError",
    "AnswerForm",
    "Change",
    "Changes",
    "Choice",
    "Clock",
    "Decider",
    "DialogHandler",
    "DialogRequest",
    "ElicitationHandler",
    "ElicitationRequest",
    "Field",
    "FieldType",
    "Form",
    "Handler",
    "Inbox",
    "Pending",
    "PendingKind",
    "PendingState",
    "People",
    "PermissionHandler",
    "PermissionRequest",
    "PermissionResult",
    "PermissionResultAllow",
    "PermissionResultDeny",
    "Person",
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
    "allow_everything_dangerously",
    "check_handler",
    "deny_everything",
    "form_for",
    "policy_then",
]
