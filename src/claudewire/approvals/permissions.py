"""Requests to use a tool, and their answers.

    async def decide(request: PermissionRequest) -> PermissionResult:
        if request.tool_name == "Read":
            return request.allow()
        return request.deny("Only reading is allowed here.")

A handler may also return a `PermissionResultAllow` or `PermissionResultDeny`. True and False are no
answers: they would be too easy to give by accident.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from ..wire import (
    CanUseTool,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    Request,
)
from .diffs import diff_of
from .request import AnswerError, ApprovalKind, ApprovalRequest, HandlerOf
from .suggestions import Remember, Scope, Suggestion, suggestions_of, updates_for

DENIED = "The user does not want this tool to run."

_LONGEST_TITLE = 200
_SUBJECTS = (
    *("command", "file_path", "notebook_path", "path", "url", "query", "pattern"),
    "description",
)
"""The fields of an input that make the best title, best first."""


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
        """Check a decision, and complete it: every CLI needs the input in an allow.

        Raises:
            TypeError: it is not a decision.
        """
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


class PermissionRequest(ToolRequest):
    """A request to run a tool."""

    kind: ClassVar[ApprovalKind] = "permission"
    actions: ClassVar[tuple[str, ...]] = ("allow", "deny")
    _shown = ("tool_name", "input", "reason", "blocked_path")

    @cached_property
    def title(self) -> str:
        """The tool and its subject."""
        body = self.body
        if body.title:
            return body.title
        subject = next((self.input[key] for key in _SUBJECTS if self.input.get(key)), "")
        if not subject and self.input:
            subject = json.dumps(self.input, ensure_ascii=False, default=str)
        line = " ".join(str(subject)[: 10 * _LONGEST_TITLE].split())
        if len(line) > _LONGEST_TITLE:
            line = f"{line[:_LONGEST_TITLE]}…"
        name = body.display_name or body.tool_name
        return f"{name}: {line}" if line else name

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
            remember: what the CLI shall no longer ask about: a suggestion or its index, a rule such
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

    def diff(self, *, read: bool = True) -> str | None:
        """Return the change to a file as a unified diff; None if the tool changes no file.

        Args:
            read: whether to read the file. Reading may block: in a task, call this in a thread.
        """
        return diff_of(self.tool_name, self.input, cwd=self.cwd, read=read)

    def describe(self) -> dict[str, Any]:
        """Return all facts that a user interface shows; the diff is made without the file."""
        return super().describe() | {
            "suggestions": [it.describe() for it in self.suggestions],
            "diff": self.diff(read=False),
        }


def _checked(input: object) -> dict[str, Any]:
    if not isinstance(input, Mapping):
        raise AnswerError(f"The input of a tool must be a mapping, got {input!r}")
    changed: dict[str, Any] = {**input}
    try:
        msgspec.json.encode(changed)
    except (TypeError, ValueError, RecursionError) as error:
        raise AnswerError(f"The input cannot be written as JSON: {error}") from None
    return changed


PermissionHandler = HandlerOf[PermissionRequest, PermissionResult]
"""Decides whether a tool may run."""
