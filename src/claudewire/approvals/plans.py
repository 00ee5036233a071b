"""A plan that waits for approval.

    async def on_plan(request: PlanRequest) -> PermissionResult:
        if "rm -rf" in request.plan:
            return request.revise("Do not delete anything.")
        return request.approve(mode="acceptEdits")

In plan mode the model only reads. To leave the mode it asks with the tool ExitPlanMode; the
approval also says in which mode it continues.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import ClassVar, get_args

from ..wire import (
    PermissionMode,
    PermissionResult,
    PermissionResultAllow,
    PermissionUpdate,
    SetMode,
)
from .diffs import read_text
from .permissions import ToolRequest
from .request import AnswerError, ApprovalKind, HandlerOf, require_text

PLAN_TOOL = "ExitPlanMode"

REVISE = "The user does not agree with the plan yet. Revise it: "
REJECTED = "The user has rejected the plan. Do not carry it out."


class PlanRequest(ToolRequest):
    """A request to carry out a plan."""

    kind: ClassVar[ApprovalKind] = "plan"
    actions: ClassVar[tuple[str, ...]] = ("approve", "revise", "reject")
    _shown = ("plan", "file")

    @cached_property
    def title(self) -> str:
        """The heading of the plan."""
        heading = self.plan.strip().partition("\n")[0].lstrip("# ")
        return f"A plan waits for approval{f': {heading}' if heading else ''}"

    @property
    def file(self) -> str | None:
        """The file with the plan, if the CLI names it."""
        file = self.input.get("planFilePath")
        return file if isinstance(file, str) else None

    @cached_property
    def plan(self) -> str:
        """The plan, in Markdown; empty if it is not known."""
        plan = self.input.get("plan")
        if isinstance(plan, str):
            return plan
        try:
            return "" if self.file is None else read_text(Path(self.file)) or ""
        except (OSError, ValueError):
            return ""

    def approve(self, *, mode: str | None = None, plan: str | None = None) -> PermissionResult:
        """Let the model carry out the plan.

        Args:
            mode: the permission mode to continue in: `default` asks for everything, `acceptEdits`
                lets files be changed. None for the mode before planning. Only a CLI that was
                started for `bypassPermissions` accepts that mode.
            plan: the plan with your changes.

        Raises:
            AnswerError: the mode is unknown, or this CLI accepts no changed plan and would carry
                out the old one. The request stays pending.
        """
        updates: list[PermissionUpdate] | None = None
        if mode is not None:
            if mode == "plan" or mode not in get_args(PermissionMode):
                raise AnswerError(f"A plan cannot be carried out in the mode {mode!r}")
            updates = [SetMode(mode, "session")]
        if plan is None or plan == self.plan:
            return PermissionResultAllow(self.input, updates)
        text = require_text("A changed plan", plan)
        if self.file is None:
            raise AnswerError(
                "This CLI does not accept a changed plan: it would carry out the old one. Say what "
                "to change with `revise`"
            )
        return PermissionResultAllow({**self.input, "plan": text}, updates)

    def revise(self, feedback: str) -> PermissionResult:
        """Let the model continue planning.

        Args:
            feedback: the changes that you want, for the model.
        """
        return self._deny(REVISE + require_text("The feedback", feedback))

    def reject(self, reason: str = REJECTED, *, stop: bool = True) -> PermissionResult:
        """Give up the plan.

        Args:
            reason: for the model, unless the turn ends.
            stop: end the turn; the session stays in plan mode.
        """
        return self._deny(reason, stop)


PlanHandler = HandlerOf[PlanRequest, PermissionResult]
"""Decides about plans."""
