"""The audit record of a decision."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any, cast

import msgspec

from ..errors import Redactor
from ..policy import Decision, DecisionRecord, digest
from ..wire import ElicitationResult, PermissionResultAllow
from .elicitation import DialogRequest, ElicitationRequest
from .permissions import PlanRequest, ToolRequest
from .questions import QuestionRequest
from .request import ApprovalRequest


def record_of(
    request: ApprovalRequest[Any], decision: Decision, session: str | None, *, contents: bool
) -> DecisionRecord:
    """Make the record of an ended request; `contents` adds question and answer, without secrets."""
    tool, input = _tool_and_input(request)
    reason = getattr(request.result, "message", None) or decision.reason or request.ending
    return DecisionRecord(
        when=datetime.fromtimestamp(time.time(), UTC),
        request_id=request.id,
        tool=tool,
        input_digest=digest(input),
        answer=_answer_word(request),
        decided_by=request.by or "approver",
        reason=Redactor()(reason),
        rule=None if decision.rule is None else str(decision.rule),
        latency=request.waited,
        session_id=session or request.session or None,
        agent_id=request.agent_id,
        kind=request.kind,
        asked=_redacted(_contents(request)) if contents else None,
        answered=_redacted(_answered(request)) if contents else None,
    )


def _redacted(value: dict[str, Any]) -> dict[str, Any]:
    # Paths stay: a tool was asked to work on them.
    plain: dict[str, Any] = Redactor(home="").value(value)
    return plain


def _tool_and_input(request: ApprovalRequest[Any]) -> tuple[str, dict[str, Any]]:
    """Return the tool and its input, or their nearest equivalent."""
    if isinstance(request, ToolRequest):
        return request.tool_name, request.input
    if isinstance(request, ElicitationRequest):
        return f"elicitation: {request.server}", {"message": request.message}
    return request.title, cast("DialogRequest", request).payload


def _contents(request: ApprovalRequest[Any]) -> dict[str, Any]:
    if isinstance(request, ElicitationRequest):
        described = request.describe()
        return {key: described[key] for key in ("message", "url", "fields")}
    return _tool_and_input(request)[1]


def _answer_word(request: ApprovalRequest[Any]) -> str:
    answer: Any = request.result
    if isinstance(answer, ElicitationResult):
        return answer.action
    if isinstance(answer, PermissionResultAllow) and isinstance(request, PlanRequest):
        return "approve"
    if isinstance(answer, PermissionResultAllow) and isinstance(request, QuestionRequest):
        given = answer.updated_input or {}
        return "answered" if given.get("answers") or given.get("response") else "skipped"
    return str(type(answer).__struct_config__.tag)


def _answered(request: ApprovalRequest[Any]) -> dict[str, Any]:
    """Return the answer as the CLI gets it, without an unchanged input."""
    answer: dict[str, Any] = msgspec.to_builtins(request.result)
    answer.pop("toolUseID", None)
    if isinstance(request, ToolRequest) and answer.get("updatedInput") == request.input:
        del answer["updatedInput"]
    return answer
