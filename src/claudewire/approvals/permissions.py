"""Requests to use a tool or to carry out a plan, and their answers.

    async def decide(request: PermissionRequest) -> PermissionResult:
        if request.tool_name == "Read":
            return request.allow()
        return request.deny("Only reading is allowed here.")

A handler may also return a `PermissionResultAllow` or `PermissionResultDeny`. True and False are no
answers: they would be too easy to give by accident.

In plan mode the model only reads. To leave the mode it asks with the tool ExitPlanMode; the
approval also says in which mode it continues.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, get_args

from msgspec.structs import replace

from ..wire import (
    CanUseTool,
    PermissionMode,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    Request,
    SetMode,
)
from .diffs import diff_of, read_text
from .request import (
    AnswerError,
    ApprovalKind,
    ApprovalRequest,
    HandlerOf,
    require_json,
    require_text,
    word,
)
from .suggestions import Remember, Scope, Suggestion, suggestions_of, updates_for

PLAN_TOOL = "ExitPlanMode"

DENIED = "The user does not want this tool to run."
REVISE = "The user does not agree with the plan yet. Revise it: "
REJECTED = "The user has rejected the plan. Do not carry it out."

_SUBJECTS = (
    *("command", "file_path", "notebook_path", "pattern", "url", "query"),
    *("path", "description", "prompt", "skill"),
)
"""The fields of an input that describe it best, best first."""


class ToolRequest(ApprovalRequest[PermissionResult]):
    """A request about a use of a tool: a permission, a question or a plan.

    Attributes:
        tool_name: the tool.
        input: the input of the tool.
        tool_use_id: the id of this use of the tool; None if the CLI does not tell it.
    """

    body: CanUseTool
    _answers = (PermissionResultAllow, PermissionResultDeny)

    def __init__(self, request: Request, *, session: str = "", cwd: str | None = None) -> None:
        super().__init__(request, session=session, cwd=cwd)
        self.tool_name: str = self.body.tool_name
        self.input: dict[str, Any] = self.body.input
        self.tool_use_id: str | None = self.body.tool_use_id

    def check(self, answer: object) -> PermissionResult:
        """Check a decision, and complete it: every CLI needs the input in an allow."""
        if not isinstance(answer, PermissionResultAllow | PermissionResultDeny):
            return super().check(answer)  # raises
        id = answer.tool_use_id or self.tool_use_id
        if isinstance(answer, PermissionResultDeny):
            return replace(answer, message=answer.message or DENIED, tool_use_id=id)
        input = self.input if answer.updated_input is None else answer.updated_input
        return replace(answer, updated_input=input, tool_use_id=id)

    def refusal(self, reason: str) -> PermissionResult:
        """Make a denial with a reason for the model."""
        return self._deny(reason)

    def _deny(self, reason: object, stop: object = False) -> PermissionResult:
        # Both may come from a remote peer, through `act`.
        if not isinstance(reason, str) or not isinstance(stop, bool):
            raise AnswerError("`reason` must be a string, and `stop` True or False")
        return PermissionResultDeny(reason, stop or None, self.tool_use_id)


def subject_of(input: Mapping[str, Any]) -> str:
    """Return the most telling part of the input of a tool."""
    found = next((input[key] for key in _SUBJECTS if input.get(key)), None)
    if found is None and input:
        found = json.dumps(input, ensure_ascii=False, default=str)
    return str(found or "")


class PermissionRequest(ToolRequest):
    """A request to run a tool."""

    kind: ClassVar[ApprovalKind] = "permission"
    actions: ClassVar[tuple[str, ...]] = ("allow", "deny")
    _shown = ("tool_name", "input", "reason", "blocked_path")
    _refused = "the tool was denied"

    @property
    def _heading(self) -> str:
        return word(self.tool_name, "A tool")

    @property
    def _subject(self) -> str:
        return self.body.title or subject_of(self.input)

    @property
    def reason(self) -> str | None:
        """The reason why the CLI asks."""
        return self.body.decision_reason

    @property
    def blocked_path(self) -> str | None:
        """The path that made the CLI ask."""
        return self.body.blocked_path

    @cached_property
    def suggestions(self) -> tuple[Suggestion, ...]:
        """Rules that the CLI offers to remember, so that it does not ask again."""
        return suggestions_of(self._request)

    def allow(
        self,
        *,
        input: Mapping[str, Any] | None = None,
        remember: Remember | Sequence[Remember] | None = None,
        scope: Scope | None = None,
    ) -> PermissionResult:
        """Let the tool run.

        Args:
            input: the input to run it with instead.
            remember: uses that the CLI allows from now on: a suggestion or its index, a rule such
                as `Bash(git status:*)`, or several of them.
            scope: where to remember it: `session`, `project` (all users of the project), `local`
                (this project, only you) or `user` (all your projects). By default the scope of the
                suggestion, and `session` for a rule. `once` remembers nothing.

        Raises:
            AnswerError: an argument is invalid; the request stays pending.
        """
        updates = None
        if remember is not None or scope is not None:
            updates = updates_for(remember, scope, self.suggestions)
        changed = self.input if input is None else _checked(input)
        return PermissionResultAllow(changed, updates, self.tool_use_id)

    def deny(self, reason: str = DENIED, *, stop: bool = False) -> PermissionResult:
        """Do not let the tool run.

        Args:
            reason: for the model.
            stop: also end the turn; the model then gets no reason.
        """
        return self._deny(reason, stop)

    def diff(self) -> str | None:
        """Return the change to a file as a unified diff; None if the tool changes no file.

        Reads the file, which may block: in a task, call this in a thread.
        """
        return diff_of(self.tool_name, self.input, cwd=self.cwd)

    def describe(self) -> dict[str, Any]:
        """Return all facts that a user interface shows; reads the file for the diff."""
        return super().describe() | {
            "suggestions": [it.describe() for it in self.suggestions],
            "diff": self.diff(),
        }


def _checked(input: object) -> dict[str, Any]:
    if not isinstance(input, Mapping):
        raise AnswerError(f"The input of a tool must be a mapping, got {input!r}")
    require_json("The input", {**input})
    return {**input}


PermissionHandler = HandlerOf[PermissionRequest, PermissionResult]
"""Decides whether a tool may run."""


# --- plans ---------------------------------------------------------------------------------------


class PlanRequest(ToolRequest):
    """A request to carry out a plan."""

    kind: ClassVar[ApprovalKind] = "plan"
    actions: ClassVar[tuple[str, ...]] = ("approve", "revise", "reject")
    _shown = ("plan", "file")
    _refused = "the plan was not approved"

    _heading = "A plan waits for approval"

    @property
    def _subject(self) -> str:
        return self.plan.strip().partition("\n")[0].lstrip("# ")

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
