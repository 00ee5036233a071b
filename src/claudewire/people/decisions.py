"""Who decides what a person has to decide, in which order, and what is written down about it.

A question goes to `on_question` and a plan to `on_plan`, never to a yes-or-no handler, and a policy
has no say in them, unless one of its rules denies them by name. For every other tool the policy
comes first: it allows or denies at once, or says that somebody is to be asked. Then it is
`on_permission`, then `person`, then whoever looks into the inbox. If nobody is there, the answer
is no.

Whatever a handler is busy with also stands in the inbox, where somebody can be faster.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import anyio

from ..errors import OptionsError
from ..policy import Audit, DecisionRecord
from ..wire import (
    CanUseTool,
    DialogResult,
    ElicitationResult,
    PermissionResult,
    PermissionResultAllow,
    Request,
)
from .elicitation import DialogHandler, DialogRequest, ElicitationHandler, ElicitationRequest
from .handlers import Handler, check_handler, run_handler
from .inbox import Inbox
from .pending import Pending, PendingKind, PendingState
from .permissions import PermissionHandler, PermissionRequest, ToolPending
from .plans import PLAN_TOOL, PlanHandler, PlanRequest
from .questions import ASK_TOOL, AnswerForm, QuestionHandler, QuestionRequest

__all__ = [
    "NOBODY",
    "Decider",
    "People",
    "Person",
    "Policy",
    "PolicyDecision",
]

logger: logging.Logger = logging.getLogger("claudewire.people")

AnswerT = TypeVar("AnswerT")

NOBODY = "Nobody was there to decide, so the answer is no."
DENIED_BY_POLICY = "A rule does not allow this."
BROKEN_POLICY = "The policy failed to decide about this, so the answer is no."
POLICY = "policy"
MOST_THREADS = 64
"""How many plain functions may wait for people at once; the others wait for their turn."""

Person = Callable[[Any], Any]
"""Answers requests of every kind: a function or a coroutine function of one `Pending`."""


class PolicyDecision(Protocol):
    """What a policy says about one use of a tool."""

    @property
    def behavior(self) -> str:
        """Allow, deny, or ask a person."""
        ...

    @property
    def rule(self) -> object:
        """The rule that has decided; None if none has."""
        ...

    @property
    def reason(self) -> str:
        """Why, in words."""
        ...


class Policy(Protocol):
    """Decides over the use of tools without asking anybody."""

    def decide(
        self, tool_name: str, input: dict[str, Any], /, *, cwd: str | None = None
    ) -> PolicyDecision:
        """Decide over one use of a tool."""
        ...


class _Said(NamedTuple):
    """What the policy has said, if there is one."""

    behavior: str = "ask"
    rule: str | None = None
    reason: str = ""

    @property
    def denies_by_rule(self) -> bool:
        """Whether it says no, and not merely for want of a rule."""
        return self.behavior == "deny" and self.rule is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Who is to be asked. Whatever cannot be called with a request is refused here.

    Attributes:
        on_permission: decides whether a tool may run.
        on_question: answers questions of the model.
        on_plan: decides over plans.
        on_elicitation: answers MCP servers.
        on_dialog: shows dialogs.
        person: answers everything that has no handler of its own; or `inbox`: somebody looks
            into the inbox.
        policy: decides over tools before anybody is asked.
        inbox: where everything waits; one can serve several sessions.
        deadline: after how many seconds the answer is no; None for never.
        tell_errors: whether the model is told what a handler has raised.
        audit: called with a record of each decision. It may not wait.
    """

    on_permission: PermissionHandler | None = None
    on_question: QuestionHandler | None = None
    on_plan: PlanHandler | None = None
    on_elicitation: ElicitationHandler | None = None
    on_dialog: DialogHandler | None = None
    person: Person | Literal["inbox"] | None = None
    policy: Policy | None = None
    inbox: Inbox = field(default_factory=Inbox)
    deadline: float | None = None
    tell_errors: bool = False
    audit: Audit | None = None

    def __post_init__(self) -> None:
        for kind in ("permission", "question", "plan", "elicitation", "dialog"):
            handler = getattr(self, f"on_{kind}")
            if handler is not None:
                check_handler(handler, f"on_{kind}")
        if self.person is not None and self.person != "inbox":
            if isinstance(self.person, str):
                raise OptionsError(
                    f"person has to be a function, Terminal() or 'inbox', and not {self.person!r}"
                )
            check_handler(self.person, "person")
        if self.deadline is not None and not self.deadline > 0:
            raise OptionsError(f"A deadline has to be more than 0 seconds, not {self.deadline!r}")

    def handler_for(self, kind: PendingKind) -> Handler | None:
        """Who answers requests of one kind; None if nobody does, or only the inbox."""
        handler: Handler | None = getattr(self, f"on_{kind}")
        if handler is None and self.person != "inbox":
            return self.person
        return handler

    def is_anybody_there(self, kind: PendingKind) -> bool:
        """Whether a request of this kind is shown to anybody at all."""
        return self.person == "inbox" or self.handler_for(kind) is not None


class Decider:
    """Answers what the CLI of one session asks of a person.

    Args:
        people: who is to be asked.
        session: what to call the session in the inbox.
        conversation: gives the id of its conversation, for the records, as soon as it is known.
        cwd: its working directory.
        capabilities: gives what the CLI says it can do, as far as it is known.
        form: gives how answers to questions are written to this CLI.
    """

    def __init__(
        self,
        people: People | None = None,
        *,
        session: str = "",
        conversation: Callable[[], str | None] = lambda: None,
        cwd: str | None = None,
        capabilities: Callable[[], Collection[str]] = tuple,
        form: Callable[[], AnswerForm] = lambda: "joined",
    ) -> None:
        self.people: People = people or People()
        self.session = session
        self.cwd = cwd
        self._conversation = conversation
        self._capabilities = capabilities
        self._form = form
        self._asked: dict[str, Pending[Any]] = {}
        self._limiter: anyio.CapacityLimiter | None = None

    @property
    def inbox(self) -> Inbox:
        """Where everything waits."""
        return self.people.inbox

    # --- what the CLI asks -----------------------------------------------------------------------

    async def decide(self, request: Request) -> PermissionResult:
        """Answer a request to use a tool."""
        where: dict[str, Any] = {
            "session": self.session,
            "cwd": self.cwd,
            "clock": self.inbox.clock,
        }
        tool = request.body.tool_name if isinstance(request.body, CanUseTool) else ""
        if tool == ASK_TOOL:
            capabilities, form = self._capabilities(), self._form()
            question = QuestionRequest(request, capabilities=capabilities, form=form, **where)
            return await self._decide(request.id, question)
        if tool == PLAN_TOOL:
            return await self._decide(request.id, PlanRequest(request, **where))
        return await self._decide(request.id, PermissionRequest(request, **where))

    async def elicit(self, request: Request) -> ElicitationResult:
        """Answer an MCP server that wants to know something."""
        form = ElicitationRequest(request, session=self.session, clock=self.inbox.clock)
        return await self._ask(request.id, form)

    async def dialog(self, request: Request) -> DialogResult:
        """Answer the CLI that wants a dialog to be shown."""
        dialog = DialogRequest(request, session=self.session, clock=self.inbox.clock)
        return await self._ask(request.id, dialog)

    def withdraw(self, id: str, reason: str) -> object:
        """Let nobody decide any longer over a request of the CLI.

        Returns:
            the answer that counts: no, unless somebody was faster; None if nobody was asked.
        """
        request = self._asked.get(id)
        if request is None:
            return None
        if request.withdraw(reason):
            logger.warning("%s: %s, so the answer is no", request.id, reason)
        return request.result

    # --- who decides -----------------------------------------------------------------------------

    async def _decide(self, id: str, request: ToolPending) -> PermissionResult:
        said = self._policy_says(request)
        if not request.is_waiting:
            self._write_down(request, said)
            return await request.wait()
        return await self._ask(id, request, said)

    def _policy_says(self, request: ToolPending) -> _Said:
        """Ask the policy; what it decides at once is decided then."""
        said = self._policy(request)
        if not isinstance(request, PermissionRequest) and not said.denies_by_rule:
            return _Said()
        if said.behavior == "deny":
            request.resolve(request.no(said.reason or DENIED_BY_POLICY), by=POLICY)
        elif said.behavior == "allow" and not request.body.requires_user_interaction:
            request.resolve(PermissionResultAllow(), by=POLICY)
        return said

    def _policy(self, request: ToolPending) -> _Said:
        if self.people.policy is None:
            return _Said()
        try:
            decided = self.people.policy.decide(request.tool_name, request.input, cwd=self.cwd)
            rule = None if decided.rule is None else str(decided.rule)
            return _Said(decided.behavior, rule, decided.reason)
        except Exception:
            logger.exception("The policy failed to decide over %s", request.id)
            return _Said("deny", None, BROKEN_POLICY)

    async def _ask(self, id: str, request: Pending[AnswerT], said: _Said | None = None) -> AnswerT:
        self._asked[id] = request
        try:
            return await self._answer(request)
        finally:
            if self._asked.get(id) is request:  # the CLI may have asked again with the same id
                del self._asked[id]
            request.withdraw()  # which has no effect on one that has ended
            self._write_down(request, said or _Said())

    async def _answer(self, request: Pending[AnswerT]) -> AnswerT:
        people = self.people
        if not people.is_anybody_there(request.kind):
            logger.warning("Nobody is there to decide over %s: %s", request.id, request.title)
            request.resolve(request.no(NOBODY), by="nobody")
            return await request.wait()
        handler = people.handler_for(request.kind)
        async with anyio.create_task_group() as tasks:
            if handler is not None:
                tasks.start_soon(self._run, handler, request)
            await people.inbox.ask(request, deadline=people.deadline)
            tasks.cancel_scope.cancel()
        if request.state is PendingState.EXPIRED:
            logger.warning("%s: %s, so the answer is no", request.id, request.ending)
        return await request.wait()

    async def _run(self, handler: Handler, request: Pending[Any]) -> None:
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(MOST_THREADS)
        await run_handler(
            handler, request, limiter=self._limiter, tell_errors=self.people.tell_errors
        )

    # --- writing it down -------------------------------------------------------------------------

    def _write_down(self, request: Pending[Any], said: _Said) -> None:
        if self.people.audit is None:
            return
        try:
            session = self._conversation() or request.session or None
            self.people.audit(_record(request, said, session, self.inbox.clock.time()))
        except Exception:
            logger.exception("The decision over %s could not be written down", request.id)


def _record(
    request: Pending[Any], said: _Said, session_id: str | None, when: float
) -> DecisionRecord:
    tool, input = _subject(request)
    return DecisionRecord.of(
        input,
        when=when,
        request_id=request.id,
        tool=tool,
        answer=_decision(request.result),
        decided_by=_decided_by(request, said),
        reason=getattr(request.result, "message", None) or said.reason or request.ending,
        rule=said.rule,
        latency=request.waited,
        session_id=session_id,
        agent_id=request.agent_id,
    )


def _subject(request: Pending[Any]) -> tuple[str, dict[str, Any]]:
    """What it was about: a tool and its input, or what comes nearest to it."""
    if isinstance(request, ToolPending):
        return request.tool_name, request.input
    if isinstance(request, ElicitationRequest):
        return f"elicitation: {request.server}", {"message": request.message}
    return request.title, getattr(request, "payload", {})


def _decided_by(request: Pending[Any], said: _Said) -> str:
    if request.state is not PendingState.ANSWERED:
        return "deadline" if request.state is PendingState.EXPIRED else "nobody: withdrawn"
    if request.by == POLICY:
        return "default" if said.rule is None else "rule"
    return request.by or "person"


def _decision(answer: Any) -> str:
    if isinstance(answer, ElicitationResult):
        return answer.action
    return str(type(answer).__struct_config__.tag)
