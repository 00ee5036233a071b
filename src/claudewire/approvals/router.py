"""Routes the CLI's requests to the policy, a handler or the inbox.

The answer is `policy(request)`, or else the first of the handler's, one through the inbox and no at
the deadline. Without a handler the answer is no.

A policy decides about tools. It denies a question or a plan only by a rule that names them; these
go to `on_question` and `on_plan`, never to `on_permission`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Protocol

import anyio

from ..concurrency import (
    DetachedCall,
    as_exception,
    call_function,
    check_function,
    compute_in_thread,
    ends_the_caller,
    function_name,
    run_soon,
)
from ..errors import OptionsError, describe
from ..policy import Audit, Decision, Policy
from ..wire import (
    CanUseTool,
    Elicitation,
    PermissionResult,
    PermissionResultAllow,
    Request,
    RequestUserDialog,
)
from .elicitation import DialogHandler, DialogRequest, ElicitationHandler, ElicitationRequest
from .inbox import Inbox
from .permissions import (
    PLAN_TOOL,
    PermissionHandler,
    PermissionRequest,
    PlanHandler,
    PlanRequest,
    ToolRequest,
)
from .questions import ASK_TOOL, AnswerForm, QuestionHandler, QuestionRequest
from .records import record_of
from .request import WAITING, ApprovalRequest, ApprovalState

logger: logging.Logger = logging.getLogger("claudewire.approvals")

DENIED_BY_POLICY = "The policy does not allow this."
POLICY_FAILED = "The application's policy raised an exception, so the tool was denied."
FAILED = "The application's handler failed, so the answer is no."
WITHDRAWN = "the request was withdrawn before it was decided"

LARGE = 300
"""Characters in a value of an input above which a worker thread evaluates the policy: a hostile
value of this size takes some milliseconds."""

Handler = Callable[[Any], Any]
"""A function or a coroutine function of one request, which returns an answer to it."""

Approver = Callable[[Any], Any]
"""Answers requests of every kind: a function or a coroutine function of one `ApprovalRequest`."""


def check_handler(handler: object, name: str) -> None:
    """Check that something can be called with a request.

    Args:
        handler: the handler.
        name: the option, for the message.

    Raises:
        OptionsError: it cannot.
    """
    try:
        signature = check_function(handler)
        if signature is not None:
            signature.bind(object())
    except TypeError as error:
        raise OptionsError(
            f"{name} must be a function of one argument, the request, that returns its answer: "
            f"{error}"
        ) from None


class PolicyLike(Protocol):
    """Decides about uses of tools without asking a person: a `Policy`, or one of your own."""

    def decide(
        self, tool_name: str, input: dict[str, Any], /, *, cwd: str | None = None
    ) -> Decision:
        """Decide about one use of a tool."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvers:
    """The handlers of a session, and everything else that takes part in decisions.

    Attributes:
        on_permission: decides whether a tool may run.
        on_question: answers questions of the model.
        on_plan: decides about plans.
        on_elicitation: answers MCP servers.
        on_dialog: shows dialogs.
        approver: answers requests without a handler; `inbox` if the answers come through it.
        policy: decides about tools before a person is asked.
        inbox: the pending requests; one inbox can serve several sessions.
        deadline: the seconds after which the answer is no; None for no deadline.
        tell_errors: whether the model gets the exception of a handler.
        audit: called with a record of each decision. It must not block.
        audit_contents: whether records hold the questions and answers, without secrets.
    """

    on_permission: PermissionHandler | None = None
    on_question: QuestionHandler | None = None
    on_plan: PlanHandler | None = None
    on_elicitation: ElicitationHandler | None = None
    on_dialog: DialogHandler | None = None
    approver: Approver | Literal["inbox"] | None = None
    policy: PolicyLike | None = None
    inbox: Inbox = field(default_factory=Inbox)
    deadline: float | None = None
    tell_errors: bool = False
    audit: Audit | None = None
    audit_contents: bool = False


# --- policies ------------------------------------------------------------------------------------

UNDECIDED = Decision("ask", "")
"""The decision without a policy, and about requests beyond policies."""


def _is_large(request: ApprovalRequest[Any]) -> bool:
    """Whether a policy may need milliseconds for a request."""
    values = getattr(request, "input", {}).values()
    return any(isinstance(value, str) and len(value) > LARGE for value in values)


def _decide(policy: PolicyLike, request: ApprovalRequest[Any]) -> Decision:
    """Ask a policy about a request, as far as policies apply."""
    if not isinstance(request, ToolRequest):
        return UNDECIDED
    decided = policy.decide(request.tool_name, request.input, cwd=request.cwd)
    behavior = decided.behavior
    if not isinstance(request, PermissionRequest):
        # A default denies no question and no plan.
        if behavior != "deny" or decided.rule is None:
            return UNDECIDED
    elif behavior == "allow" and request.body.requires_user_interaction:
        behavior = "ask"
    return Decision(behavior, decided.reason, decided.rule)


# --- the router ----------------------------------------------------------------------------------


class ApprovalRouter:
    """Routes the requests of one session's CLI.

    Args:
        approvers: the handlers, and everything else that takes part.
        session: the name of the session in the inbox.
        conversation: returns the id of its conversation for the records, if known.
        cwd: its working directory.
        capabilities: returns the known capabilities of the CLI.
        form: returns the form of answers to questions that the CLI reads.
    """

    def __init__(
        self,
        approvers: Approvers | None = None,
        *,
        session: str = "",
        conversation: Callable[[], str | None] = lambda: None,
        cwd: str | None = None,
        capabilities: Callable[[], Collection[str]] = tuple,
        form: Callable[[], AnswerForm] = lambda: "joined",
    ) -> None:
        self.approvers: Approvers = approvers or Approvers()
        self.session = session
        self.cwd = cwd
        self._conversation = conversation
        self._capabilities = capabilities
        self._form = form
        self._in_flight: dict[str, ApprovalRequest[Any]] = {}

    def policy_answer(self, asked: Request) -> PermissionResult | None:
        """Return the answer of the policy to a small request; None to call `decide`."""
        policy = self.approvers.policy
        # `decide` asks the policy again, which is safe only for `Policy`.
        if type(policy) is not Policy or self.approvers.audit is not None:
            return None
        request = self._typed(asked)
        if _is_large(request):
            return None
        self._apply(request, _decide(policy, request))
        return request.result

    async def decide(self, asked: Request, early: Callable[[Any], object]) -> Any:
        """Answer a request of the CLI.

        Args:
            asked: the request.
            early: called in the event loop with an answer that does not come from the handler. It
                answers the CLI and cancels this call.

        Returns:
            the answer that counts; no, if no other was given.
        """
        request = self._in_flight[asked.id] = self._typed(asked)
        decision = UNDECIDED
        try:
            if self.approvers.policy is not None:
                decision = await self._ask_policy(self.approvers.policy, request)
            if request.state is WAITING:
                await self._ask_people(request, early)
        finally:
            if request.state is WAITING:
                request.withdraw(WITHDRAWN)
            if self._in_flight.get(asked.id) is request:
                del self._in_flight[asked.id]
            if self.approvers.audit is not None:
                self._record(self.approvers.audit, request, decision)
        return request.result

    def withdraw(self, id: str, reason: str = WITHDRAWN) -> object:
        """End a request of the CLI without a decision.

        Returns:
            the answer that counts: no, unless it was decided before; None if it is not in flight.
        """
        request = self._in_flight.get(id)
        if request is None:
            return None
        if request.withdraw(reason) and reason != WITHDRAWN:
            logger.warning("%s: %s, so the answer is no", request.id, reason)
        return request.result

    def _typed(self, asked: Request) -> ApprovalRequest[Any]:
        body, session, cwd = asked.body, self.session, self.cwd
        if isinstance(body, Elicitation):
            return ElicitationRequest(asked, session=session, cwd=cwd)
        if isinstance(body, RequestUserDialog):
            return DialogRequest(asked, session=session, cwd=cwd)
        assert isinstance(body, CanUseTool)
        if body.tool_name == ASK_TOOL:
            form, capabilities = self._form(), self._capabilities()
            return QuestionRequest(
                asked, session=session, cwd=cwd, form=form, capabilities=capabilities
            )
        kind = PlanRequest if body.tool_name == PLAN_TOOL else PermissionRequest
        return kind(asked, session=session, cwd=cwd)

    async def _ask_policy(self, policy: PolicyLike, request: ApprovalRequest[Any]) -> Decision:
        try:
            # A policy of the application may not be safe in a thread.
            if type(policy) is Policy and _is_large(request):
                decision = await compute_in_thread(_decide, policy, request)
            else:
                decision = _decide(policy, request)
        except BaseException as error:
            if ends_the_caller(error):
                raise
            logger.exception("The policy raised an exception about %s", request.id)
            is_permission = isinstance(request, PermissionRequest)
            decision = Decision("deny", POLICY_FAILED) if is_permission else UNDECIDED
        self._apply(request, decision)
        return decision

    def _apply(self, request: ApprovalRequest[Any], decision: Decision) -> None:
        by = "default" if decision.rule is None else "rule"
        if decision.behavior == "deny":
            request.resolve(request.refusal(decision.reason or DENIED_BY_POLICY), by=by)
        elif decision.behavior == "allow":
            request.resolve(PermissionResultAllow(), by=by)

    async def _ask_people(
        self, request: ApprovalRequest[Any], early: Callable[[Any], object]
    ) -> None:
        """Wait for the handler, the inbox or the deadline, whichever is first."""
        handler = getattr(self.approvers, f"on_{request.kind}") or self.approvers.approver
        deadline = self.approvers.deadline
        if handler is None:
            reason = f"No handler is registered for {request.kind}s, so {request._refused}."
            logger.warning("%s (%s: %s)", reason, request.id, request.title)
            request.resolve(request.refusal(reason), by="no handler")
            return
        soon = run_soon()

        def answer_early() -> None:
            soon(lambda: early(request.result))

        self.approvers.inbox.add(request, deadline)
        if handler != "inbox":
            request._on_end(answer_early)
        timer = None
        if deadline is not None:
            timer = DetachedCall(partial(_expire, request, deadline), "claudewire deadline")
        try:
            if handler == "inbox":
                await request.wait()
                return
            answer, by = await self._call(handler, request)
        finally:
            if answer_early in request._callbacks:
                request._callbacks.remove(answer_early)
            if timer is not None:
                timer.cancel()
        request._end(ApprovalState.ANSWERED, answer, f"answered by {by}", by)

    async def _call(self, handler: Handler, request: ApprovalRequest[Any]) -> tuple[Any, str]:
        """Return the answer of a handler, and its name: no, if it fails."""
        try:
            returned = await call_function(handler, request)
            answer = request.check(returned) if request.state is WAITING else request.result
            return answer, f"handler: {function_name(handler)}"
        except BaseException as error:
            if ends_the_caller(error):
                raise
            name = function_name(handler)
            logger.exception("%s failed to decide about %s, so the answer is no", name, request.id)
            details = f" ({describe(as_exception(handler, error))})"
            reason = FAILED + details if self.approvers.tell_errors else FAILED
            return request.refusal(reason), f"handler: {name}, which failed"

    def _record(self, audit: Audit, request: ApprovalRequest[Any], decision: Decision) -> None:
        try:
            contents = self.approvers.audit_contents
            audit(record_of(request, decision, self._conversation(), contents=contents))
        except BaseException:
            logger.exception("The decision about %s could not be recorded", request.id)


async def _expire(request: ApprovalRequest[Any], seconds: float) -> None:
    await anyio.sleep(seconds)
    reason = f"no decision was made within {seconds:g} seconds"
    if request._end(ApprovalState.EXPIRED, request.refusal(reason), reason, "deadline"):
        logger.warning("%s: %s, so the answer is no", request.id, reason)


# --- ready-made approvers -------------------------------------------------------------------------


def allow_everything_dangerously() -> Approver:
    """Allow every tool and approve every plan: for a sandbox that nothing can escape from.

    Questions are skipped and forms declined: only a person can answer them.
    """

    async def allow_everything(request: ApprovalRequest[Any]) -> Any:
        if isinstance(request, PermissionRequest):
            return request.allow()
        if isinstance(request, PlanRequest):
            return request.approve()
        if isinstance(request, QuestionRequest):
            return request.skip()
        return request.refusal("no person can be asked")

    return allow_everything


def deny_everything(reason: str = "Nothing is allowed here.") -> Approver:
    """Say no to everything.

    Args:
        reason: for the model.
    """

    async def deny_all(request: ApprovalRequest[Any]) -> Any:
        return request.refusal(reason)

    return deny_all
