"""A plan that waits for approval.

    async def on_plan(request: PlanRequest) -> PermissionResult:
        if "rm -rf" in request.plan:
            return request.revise("Do not delete anything.")
        return request.approve(mode="acceptEdits")

In plan mode the model only reads. When it has a plan, it asks to leave the mode with the tool
ExitPlanMode; approving says at the same time in which mode it goes on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar, get_args

from ..wire import PermissionMode, PermissionResult, PermissionUpdate, Request, SetMode
from .diffs import Reader, read_text
from .pending import AnswerError, Clock, PendingKind, require_text
from .permissions import ToolPending

__all__ = ["PLAN_TOOL", "PlanHandler", "PlanRequest"]

PLAN_TOOL = "ExitPlanMode"

REVISE = "The user does not agree with the plan yet. Revise it: "
REJECTED = "The user has rejected the plan. Do not carry it out."


class PlanRequest(ToolPending):
    """The model has a plan and wants to carry it out.

    Attributes:
        plan: the plan, in Markdown; empty if the CLI does not say where it is.
        file: the file that the plan is in, if the CLI says so.
    """

    kind: ClassVar[PendingKind] = "plan"
    actions: ClassVar[tuple[str, ...]] = ("approve", "revise", "reject")

    def __init__(
        self,
        request: Request,
        *,
        session: str = "",
        cwd: str | None = None,
        clock: Clock | None = None,
        read: Reader | None = read_text,
    ) -> None:
        super().__init__(
            request, title="A plan waits for approval", session=session, cwd=cwd, clock=clock
        )
        file, plan = self.input.get("planFilePath"), self.input.get("plan")
        self.file: str | None = file if isinstance(file, str) else None
        self.plan: str = plan if isinstance(plan, str) else _read(self.file, read)
        if heading := self.plan.strip().partition("\n")[0].lstrip("# "):
            self._title = f"A plan waits for approval: {heading}"

    def approve(self, *, mode: str | None = None, plan: str | None = None) -> PermissionResult:
        """Let the model carry out the plan.

        Args:
            mode: the permission mode to continue in: `default` asks for everything, `acceptEdits`
                lets files be changed. None for the mode before planning. A CLI that was not
                started for `bypassPermissions` does not accept that one.
            plan: the plan as you have changed it.

        Raises:
            AnswerError: the mode makes no sense, or the CLI is too old to accept a changed plan
                and would carry out the old one. The request still waits.
        """
        updates: list[PermissionUpdate] | None = None
        if mode is not None:
            updates = [SetMode(_mode(mode), "session")]
        return self._give(self._allow(self._changed(plan), updates))

    def _changed(self, plan: object) -> dict[str, Any]:
        if plan is None or plan == self.plan:
            return self.input
        text = require_text("A changed plan", plan)
        if self.file is None:
            raise AnswerError(
                "This CLI does not accept a changed plan: it would carry out the old one. Say what "
                "to change with `revise`"
            )
        return {**self.input, "plan": text}

    def revise(self, feedback: str) -> PermissionResult:
        """Have the model think again, still in plan mode.

        Args:
            feedback: what to change; the model is told.
        """
        text = require_text("The feedback", feedback)
        return self._give(self._denial(f"{REVISE}{text}"))

    def reject(self, reason: str = REJECTED, *, stop: bool = True) -> PermissionResult:
        """Give up the plan.

        Args:
            reason: why; the model is told if it does not stop.
            stop: end the turn; the session stays in plan mode.
        """
        return self._give(self._denial(reason, stop))

    def describe(self) -> dict[str, Any]:
        """Everything there is to show about it, as JSON types."""
        return super().describe() | {"plan": self.plan, "file": self.file}


def _mode(mode: object) -> str:
    if mode == "plan" or mode not in get_args(PermissionMode):
        raise AnswerError(f"A plan cannot be carried out in the mode {mode!r}")
    return str(mode)


def _read(file: str | None, read: Reader | None) -> str:
    if file is None or read is None:
        return ""
    try:
        return read(Path(file)) or ""
    except (OSError, ValueError):
        return ""


PlanHandler = Callable[[PlanRequest], PermissionResult | Awaitable[PermissionResult | None] | None]
"""Decides about plans: a function or a coroutine function. A plain function runs in a thread."""
