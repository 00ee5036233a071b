"""Everything that waits for a person: permissions, questions, plans, forms and dialogs.

Each is a typed request in one inbox, answered by a handler, a policy or another thread; without an
answer, the answer is no. It uses `policy`, `errors`, `concurrency` and `wire`. Start with `desk`,
which says who decides in which order, then `pending`.
"""

from __future__ import annotations

from .decisions import Decider, People, Person, Policy
from .elicitation import DialogHandler, DialogRequest, ElicitationHandler, ElicitationRequest
from .inbox import Inbox
from .pending import AnswerError
from .permissions import (
    PermissionHandler,
    PermissionRequest,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
)
from .persons import Remote, allow_everything_dangerously, deny_everything, policy_then
from .plans import PLAN_TOOL, PlanHandler, PlanRequest
from .questions import ASK_TOOL, AnswerForm, QuestionHandler, QuestionRequest, form_for
from .terminal import Terminal

__all__ = [
    "ASK_TOOL",
    "PLAN_TOOL",
    "AnswerError",
    "AnswerForm",
    "Decider",
    "DialogHandler",
    "DialogRequest",
    "ElicitationHandler",
    "ElicitationRequest",
    "Inbox",
    "People",
    "PermissionHandler",
    "PermissionRequest",
    "PermissionResult",
    "PermissionResultAllow",
    "PermissionResultDeny",
    "Person",
    "PlanHandler",
    "PlanRequest",
    "Policy",
    "QuestionHandler",
    "QuestionRequest",
    "Remote",
    "Terminal",
    "allow_everything_dangerously",
    "deny_everything",
    "form_for",
    "policy_then",
]
