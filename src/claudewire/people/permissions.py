"""Requests to run a tool, and their answers.

    async def decide(request: PermissionRequest) -> PermissionResult:
        if request.tool_name == "Read":
            return request.allow()
        return request.deny("Only reading is allowed here.")

An answer is what `allow` or `deny` returns, or a `PermissionResultAllow` or `PermissionResultDeny`
made by hand, also as the dictionary that goes over the wire; never True or False, which would be
too easy to give by accident.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from functools import cached_property
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from ..wire import (
    CanUseTool,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    Request,
    prepared,
)
from .diffs import Reader, diff_of, read_text
from .pending import AnswerError, Clock, Pending, PendingKind
from .suggestions import Remember, Scope, Suggestion, suggestions_of, updates_for

__all__ = [
    "PermissionHandler",
    "PermissionRequest",
    "PermissionResult",
    "PermissionResultAllow",
    "PermissionResultDeny",
    "ToolPending",
]

DENIED = "The user does not want this tool to run."

_SUBJECTS = (
    "command",
    "file_path",
    "notebook_path",
    "path",
    "url",
    "query",
    "pattern",
    "description",
)
_LONGEST_TITLE = 200
_ANSWERS = (PermissionResultAllow, PermissionResultDeny)


class ToolPending(Pending[PermissionResult]):
    """A request about the use of a tool: a permission, a question or a plan.

    Attributes:
        body: the request as it came.
        tool_name: the tool.
        input: what it would be called with.
        tool_use_id: which use of the tool it is; None if the CLI does not say.
        cwd: the working directory of the session, if it is known.
    """

    def __init__(
        self,
        request: Request,
        *,
        title: str | None = None,
        session: str = "",
        cwd: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        body = request.body
        if not isinstance(body, CanUseTool):
            raise TypeError(f"{type(body).__name__} does not ask for the use of a tool")
        super().__init__(
            request.id,
            title=title,
            session=session,
            agent_id=body.agent_id,
            clock=clock,
        )
        self.body = body
        self._request = request
        self.tool_name: str = body.tool_name
        self.input: dict[str, Any] = body.input
        self.tool_use_id: str | None = body.tool_use_id
        self.cwd = cwd

    def _make_title(self) -> str:
        return _title(self.body)

    def _fitted(self, answer: object) -> PermissionResult:
        """Check that something is a decision, and have an allow say what the tool runs with."""
        if is_dataclass(answer) and not isinstance(answer, type):
            answer = asdict(answer)  # the official SDK's answers are dataclasses
        if isinstance(answer, Mapping):
            answer = _from_mapping(answer)
        if not isinstance(answer, _ANSWERS):
            raise TypeError(f"{answer!r} is not an answer to a {self.kind}; {self._advice()}")
        return self._completed(answer)

    def _completed(
        self, answer: PermissionResultAllow | PermissionResultDeny
    ) -> PermissionResultAllow | PermissionResultDeny:
        use = answer.tool_use_id or self.tool_use_id
        if isinstance(answer, PermissionResultDeny):
            if answer.message and use == answer.tool_use_id:
                return answer
            return replace(answer, message=answer.message or DENIED, tool_use_id=use)
        if answer.updated_input is not None and use == answer.tool_use_id:
            return answer
        input = self.input if answer.updated_input is None else answer.updated_input
        return replace(answer, updated_input=input, tool_use_id=use)

    def _advice(self) -> str:
        ways = " or ".join(f"`request.{action}(…)`" for action in self.actions)
        return f"return what {ways} returns"

    def _allow(
        self, input: dict[str, Any], updates: list[PermissionUpdate] | None = None
    ) -> PermissionResultAllow:
        return PermissionResultAllow(input, updates, self.tool_use_id)

    def _denial(self, reason: object, stop: object = False) -> PermissionResultDeny:
        if not isinstance(reason, str) or not isinstance(stop, bool):
            raise AnswerError("The reason must be a string, and `stop` True or False")
        return PermissionResultDeny(reason, stop or None, self.tool_use_id)


class PermissionRequest(ToolPending):
    """A tool wants to run."""

    kind: ClassVar[PendingKind] = "permission"
    actions: ClassVar[tuple[str, ...]] = ("allow", "deny")

    @property
    def reason(self) -> str | None:
        """Why the CLI asks, in its words."""
        return self.body.decision_reason

    @property
    def blocked_path(self) -> str | None:
        """The path that made the CLI ask."""
        return self.body.blocked_path

    @cached_property
    def suggestions(self) -> tuple[Suggestion, ...]:
        """What the CLI offers to remember, so that it does not ask again."""
        return suggestions_of(self._request, self.body)

    def allow(
        self,
        *,
        input: Mapping[str, Any] | None = None,
        remember: Remember | Sequence[Remember] | None = None,
        scope: Scope | None = None,
    ) -> PermissionResult:
        """Let the tool run.

        Args:
            input: what it runs with instead.
            remember: what the CLI should remember, so that it does not ask again: a suggestion or
                its index, a rule such as `Bash(git status:*)`, or several of them.
            scope: for how long and for whom: `session`, `project` (everyone who works in it),
                `local` (the project, but only you) or `user` (all your projects). Left out, a
                suggestion has its own and a rule holds for the session. `once` remembers nothing.

        Raises:
            AnswerError: an argument makes no sense; the request still waits.
        """
        updates = None
        if remember is not None or scope is not None:
            updates = updates_for(remember, scope, self.suggestions)
        return self._give(self._allow(self._changed(input), updates))

    def _changed(self, input: object) -> dict[str, Any]:
        if input is None:
            return self.input
        if not isinstance(input, Mapping):
            raise AnswerError(f"The input of a tool must be a mapping, not {input!r}")
        changed: dict[str, Any] = {**input}
        try:
            msgspec.json.encode(changed)
        except (TypeError, ValueError, RecursionError) as error:
            raise AnswerError(f"This input cannot be written as JSON: {error}") from None
        return changed

    def deny(self, reason: str = DENIED, *, stop: bool = False) -> PermissionResult:
        """Do not let the tool run.

        Args:
            reason: what the model is told.
            stop: also end the turn; the model is then told nothing.
        """
        return self._give(self._denial(reason, stop))

    def diff(self, *, read: Reader | None = read_text) -> str | None:
        """Show what the tool would change in a file, as a unified diff; None if it changes none.

        Args:
            read: reads the file; None to read no file. Reading may block: in a task, call this in
                a thread.
        """
        return diff_of(self.tool_name, self.input, cwd=self.cwd, read=read)

    def describe(self) -> dict[str, Any]:
        """Everything there is to show about it, as JSON types; the diff without the file."""
        return super().describe() | {
            "tool_name": self.tool_name,
            "input": self.input,
            "reason": self.reason,
            "blocked_path": self.blocked_path,
            "suggestions": [it.describe() for it in self.suggestions],
            "diff": self.diff(read=None),
        }


def _title(body: CanUseTool) -> str:
    if body.title:
        return body.title
    subject = next((body.input[key] for key in _SUBJECTS if body.input.get(key)), None)
    if subject is None:
        subject = _beginning(body.input) if body.input else ""
    line = " ".join(str(subject)[: 10 * _LONGEST_TITLE].split())
    if len(line) > _LONGEST_TITLE:
        line = f"{line[:_LONGEST_TITLE]}…"
    name = body.display_name or body.tool_name
    return f"{name}: {line}" if line else name


def _beginning(input: Mapping[str, Any]) -> str:
    """Write the beginning of an input as JSON, and read no more of it: it may be very long."""
    written = ""
    for piece in json.JSONEncoder(ensure_ascii=False, default=str).iterencode(input):
        written += piece
        if len(written) > 10 * _LONGEST_TITLE:
            break
    return written


def _from_mapping(given: Mapping[str, Any]) -> object:
    """Read a decision as it is on the wire, or as the official SDKs have it.

    Raises:
        TypeError: it is not a decision.
    """
    kinds = {"allow": PermissionResultAllow, "deny": PermissionResultDeny}
    kind = kinds.get(str(given.get("behavior")))
    if kind is None:
        return given
    names = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    wire = {names.get(key, key): value for key, value in given.items() if value is not None}
    if unknown := wire.keys() - {"behavior", *names.values()}:
        raise TypeError(f"A decision has no {', '.join(map(repr, unknown))}: {given!r}")
    try:
        return msgspec.convert(wire, prepared(kind))
    except msgspec.ValidationError as error:
        raise TypeError(f"{given!r} is not a decision: {error}") from None


Returned = PermissionResult | Mapping[str, Any] | None

PermissionHandler = Callable[[PermissionRequest], Returned | Awaitable[Returned]]
"""Decides whether a tool may run: a function or a coroutine function.

A plain function is called in a thread, so it may block, on `input()` for example.
"""
