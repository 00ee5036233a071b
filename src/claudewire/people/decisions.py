"""Who decides about a request of the CLI, in which order, and what is recorded about it.

A question goes to `on_question` and a plan to `on_plan`, never to a yes-or-no handler, and a policy
applies to them only if one of its rules denies them by name. For every other tool the policy comes
first: it allows or denies at once, or says that a person has to be asked. Then it is
`on_permission`, then `person`. If no handler is registered, the answer is no.

While a handler decides, the request also waits in the inbox, where it can be answered first.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, cast

import anyio
import msgspec

from ..concurrency import (
    DetachedCall,
    RunSoon,
    StartThread,
    ThreadCall,
    compute_in_thread,
    ends_the_caller,
    function_name,
    is_async_function,
    run_soon,
    thread_starter,
)
from ..errors import OptionsError, Redactor
from ..policy import Audit, Decision, DecisionRecord, digest
from ..wire import (
    CanUseTool,
    DialogResult,
    Elicitation,
    ElicitationResult,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    Request,
    RequestUserDialog,
)
from .elicitation import DialogHandler, DialogRequest, ElicitationHandler, ElicitationRequest
from .handlers import Handler, Outcome, call_plain_handler, check_handler, run_handler
from .inbox import WITHDRAWN, Inbox
from .pending import EXPIRED, WAITING, Pending, PendingKind, PendingState
from .permissions import PermissionHandler, PermissionRequest, ToolPending
from .plans import PLAN_TOOL, PlanHandler, PlanRequest
from .questions import ASK_TOOL, AnswerForm, QuestionHandler, QuestionRequest

__all__ = [
    "Decider",
    "People",
    "Person",
    "PolicyLike",
    "decide_by_policy",
    "no_handler",
    "policy_decision",
]

logger: logging.Logger = logging.getLogger("claudewire.people")

ComputedT = TypeVar("ComputedT")

DENIED_BY_POLICY = "The policy does not allow this."
POLICY_FAILED = "The application's policy raised an exception, so the tool was denied."
POLICY = "policy"
MAX_THREADS = 64
"""How many plain functions may run at once for one session; further ones wait for a thread."""

A_MOMENT = 0.0001
"""Seconds for which the event loop may wait for a plain function that decides at once."""

LARGE_LINE, LARGE_TEXT = 4000, 300
"""How many bytes the line of a request has, or characters a value in it, if it is looked at in a
thread: what is made to take long takes a policy some milliseconds already."""

Person = Callable[[Any], Any]
"""Answers requests of every kind: a function or a coroutine function of one `Pending`."""

_CONSEQUENCES = {
    "permission": "the tool was denied",
    "question": "they were not answered",
    "plan": "the plan was not approved",
}


def no_handler(kind: str) -> str:
    """Say why a request was refused for which no handler is registered."""
    consequence = _CONSEQUENCES.get(kind, "the answer is no")
    return f"No handler is registered for {kind}s, so {consequence}."


_HANDLERS: dict[PendingKind, str] = {
    "permission": "on_permission",
    "question": "on_question",
    "plan": "on_plan",
    "elicitation": "on_elicitation",
    "dialog": "on_dialog",
}


class PolicyLike(Protocol):
    """Decides about the use of tools without asking a person: a `Policy`, or one of your own."""

    def decide(
        self, tool_name: str, input: dict[str, Any], /, *, cwd: str | None = None
    ) -> Decision:
        """Decide about one use of a tool."""
        ...


UNDECIDED = Decision("ask", "")
"""What holds without a policy, and for what a policy does not apply to."""


def policy_decision(policy: PolicyLike, request: Pending[Any]) -> Decision:
    """Ask a policy about a request, as far as policies apply to it."""
    if not isinstance(request, ToolPending):
        return UNDECIDED
    decided = policy.decide(request.tool_name, request.input, cwd=request.cwd)
    behavior = decided.behavior
    if not isinstance(request, PermissionRequest):
        # A question or a plan is denied by a rule that names it, not by a default.
        if behavior != "deny" or decided.rule is None:
            return UNDECIDED
    elif behavior == "allow" and request.body.requires_user_interaction:
        behavior = "ask"
    return Decision(behavior, decided.reason, decided.rule)


async def decide_by_policy(
    policy: PolicyLike, request: Pending[Any], limiter: anyio.CapacityLimiter
) -> Decision:
    """Ask a policy about a request, in a thread if that may take long."""
    if _is_large(request) and _is_own(policy):  # another one may not be made for threads
        return await compute_in_thread(policy_decision, policy, request, limiter=limiter)
    return policy_decision(policy, request)


def _is_own(policy: PolicyLike | None) -> bool:
    from ..policy import Policy

    return type(policy) is Policy


def _is_large(request: Pending[Any]) -> bool:
    """Whether it may take long to look at all of a request."""
    return isinstance(request, ToolPending) and _is_long(request._request, request.input)


def _is_long(request: Request, input: dict[str, Any]) -> bool:
    if len(request.line) > LARGE_LINE:
        return True
    for value in input.values():  # noqa: SIM110 a generator takes three times as long
        if isinstance(value, str) and len(value) > LARGE_TEXT:
            return True
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """The handlers of a session, and what else takes part in decisions.

    Attributes:
        on_permission: decides whether a tool may run.
        on_question: answers questions of the model.
        on_plan: decides about plans.
        on_elicitation: answers MCP servers.
        on_dialog: shows dialogs.
        person: answers everything that has no handler of its own; or `inbox`, if requests are
            answered through the inbox.
        policy: decides about tools before a person is asked.
        inbox: where requests wait; one inbox can serve several sessions.
        deadline: after how many seconds the answer is no; None for never.
        tell_errors: whether the model is told which exception a handler raised.
        audit: called with a record of each decision. It must not block.
        audit_contents: whether records also hold what was asked and answered, without secrets.

    Raises:
        OptionsError: a handler cannot be called with a request, or the deadline is not positive.
    """

    on_permission: PermissionHandler | None = None
    on_question: QuestionHandler | None = None
    on_plan: PlanHandler | None = None
    on_elicitation: ElicitationHandler | None = None
    on_dialog: DialogHandler | None = None
    person: Person | Literal["inbox"] | None = None
    policy: PolicyLike | None = None
    inbox: Inbox = field(default_factory=Inbox)
    deadline: float | None = None
    tell_errors: bool = False
    audit: Audit | None = None
    audit_contents: bool = False

    def __post_init__(self) -> None:
        for kind in ("permission", "question", "plan", "elicitation", "dialog"):
            handler = getattr(self, f"on_{kind}")
            if handler is not None:
                check_handler(handler, f"on_{kind}")
        if self.person is not None and self.person != "inbox":
            if isinstance(self.person, str):
                raise OptionsError(
                    f"person must be a function, Terminal() or 'inbox', not {self.person!r}"
                )
            check_handler(self.person, "person")
        if self.deadline is not None and not self.deadline > 0:
            raise OptionsError(f"A deadline must be more than 0 seconds, not {self.deadline!r}")

    def handler_for(self, kind: PendingKind) -> Handler | None:
        """The handler for requests of one kind; None if there is none, or only the inbox."""
        handler: Handler | None = getattr(self, _HANDLERS[kind])
        if handler is None and self.person != "inbox":
            return self.person
        return handler

    def can_decide(self, kind: PendingKind) -> bool:
        """Whether requests of this kind can be answered at all: by a handler, or in the inbox."""
        return self.person == "inbox" or self.handler_for(kind) is not None


class _Open:
    """A request that is not answered yet, what a policy says about it, and what is recorded.

    Called when it was answered by another than its handler: `soon` then reaches the event loop.
    """

    __slots__ = ("asked", "decider", "decision", "has_thread", "pending", "soon", "subject")

    def __init__(self, asked: Request, pending: Pending[Any], decider: Decider) -> None:
        self.asked = asked
        self.pending = pending
        self.decider = decider
        self.decision = UNDECIDED
        self.subject: _Subject | None = None
        self.has_thread = False
        self.soon: RunSoon | None = None

    def __call__(self) -> None:
        assert self.soon is not None
        self.soon(partial(self.decider._reply_early, self))


_KINDS: dict[type[Any], Callable[..., Pending[Any]]] = {
    Elicitation: ElicitationRequest,
    RequestUserDialog: DialogRequest,
}


class Decider:
    """Answers what the CLI of one session asks of a person.

    Args:
        people: the handlers, and what else takes part.
        session: what to call the session in the inbox.
        conversation: returns the id of its conversation, for the records, as soon as it is known.
        cwd: its working directory.
        capabilities: returns what the CLI says it can do, as far as it is known.
        form: returns how answers to questions are written to this CLI.
        reply: is called, in the event loop, with a request and its answer, if it is answered while
            its handler is still running.
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
        reply: Callable[[Request, Any], object] | None = None,
    ) -> None:
        self.people: People = people or People()
        self.session = session
        self.cwd = cwd
        self._conversation = conversation
        self._capabilities = capabilities
        self._form = form
        self._reply = reply
        self._are_quick = True
        """Whether the plain function that was called last took no longer than a moment."""
        self._open: dict[str, _Open] = {}
        policy, audit = self.people.policy, self.people.audit
        self._deciding_at_once = policy if audit is None and _is_own(policy) else None
        """The policy, if it may decide without a record, and without anything for a person to see.

        Only one of our own, which does not mind to be asked twice."""

    # Most sessions never need them.

    @cached_property
    def _limiter(self) -> anyio.CapacityLimiter:
        return anyio.CapacityLimiter(MAX_THREADS)

    def _threads(self) -> anyio.CapacityLimiter:
        return self._limiter

    @cached_property
    def _start(self) -> StartThread:
        return thread_starter()

    @cached_property
    def _computing(self) -> anyio.CapacityLimiter:
        return anyio.CapacityLimiter(1)

    @property
    def inbox(self) -> Inbox:
        """Where requests wait."""
        return self.people.inbox

    # --- what the CLI asks -----------------------------------------------------------------------

    async def decide(self, request: Request) -> PermissionResult:
        """Answer a request to use a tool."""
        return cast("PermissionResult", await self._answer_alone(request, CanUseTool))

    async def elicit(self, request: Request) -> ElicitationResult:
        """Answer an MCP server that asks the user for something."""
        return cast("ElicitationResult", await self._answer_alone(request, Elicitation))

    async def dialog(self, request: Request) -> DialogResult:
        """Answer the CLI that wants a dialog to be shown."""
        return cast("DialogResult", await self._answer_alone(request, RequestUserDialog))

    async def _answer_alone(self, request: Request, kind: type[Any]) -> object:
        """Return the answer, whatever the handler still has to clean up."""
        if not isinstance(request.body, kind):
            raise TypeError(f"{type(request.body).__name__} is not a {kind.__name__}")
        begun = self.begin(request)
        if not callable(begun):
            return begun
        opened = self._open[request.id]
        async with DetachedCall(begun, "claudewire handler"):
            await opened.pending.wait()
            self._close(opened)
        return opened.pending.result

    def begin(self, request: Request) -> Any:
        """Begin to answer a request of the CLI.

        Returns:
            the answer, if no one has to be waited for, as when a policy decides; otherwise a
            coroutine function that waits and returns it.
        """
        policy = self._deciding_at_once
        if policy is not None and (answer := self._policy_answer(policy, request)) is not None:
            return answer
        return self._answer(request, self._pending(request))

    def _policy_answer(self, policy: PolicyLike, request: Request) -> PermissionResult | None:
        """Return what the policy says about a tool; None if it leaves that to others."""
        body = request.body
        if not isinstance(body, CanUseTool) or body.tool_name in (ASK_TOOL, PLAN_TOOL):
            return None
        if _is_long(request, body.input):
            return None
        try:
            decided = policy.decide(body.tool_name, body.input, cwd=self.cwd)
        except BaseException:
            decided = self._policy_failed(self._pending(request))
        if decided.behavior == "deny":
            return PermissionResultDeny(decided.reason, tool_use_id=body.tool_use_id)
        if decided.behavior == "allow" and not body.requires_user_interaction:
            return PermissionResultAllow(body.input, tool_use_id=body.tool_use_id)
        return None

    def _pending(self, request: Request) -> Pending[Any]:
        body, session, clock = request.body, self.session, self.people.inbox.clock
        if not isinstance(body, CanUseTool):
            kind = _KINDS.get(type(body), PermissionRequest)
            return kind(request, session=session, clock=clock)
        if body.tool_name == ASK_TOOL:
            return QuestionRequest(
                request,
                session=session,
                cwd=self.cwd,
                clock=clock,
                capabilities=self._capabilities(),
                form=self._form(),
            )
        kind = PlanRequest if body.tool_name == PLAN_TOOL else PermissionRequest
        return kind(request, session=session, cwd=self.cwd, clock=clock)

    def withdraw(self, id: str, reason: str) -> object:
        """End a request of the CLI without a decision.

        Returns:
            the answer that counts: no, unless it was decided already; None if it is not open.
        """
        found = self._open.get(id)
        if found is None:
            return None
        if found.pending.withdraw(reason):
            logger.warning("%s: %s, so the answer is no", found.pending.id, reason)
        self._close(found)
        return found.pending.result

    def forget(self, id: str) -> None:
        """End a request that the CLI has withdrawn."""
        found = self._open.get(id)
        if found is not None:
            self._end(found)

    # --- who decides -----------------------------------------------------------------------------

    def _answer(self, asked: Request, request: Pending[Any]) -> Any:
        opened = self._open[asked.id] = _Open(asked, request, self)
        people, policy = self.people, self.people.policy
        if (policy is not None or people.audit is not None) and _is_large(request):
            return partial(self._answer_large, opened)
        if policy is not None:
            try:
                opened.decision = policy_decision(policy, request)
            except BaseException:
                opened.decision = self._policy_failed(request)
            self._apply(opened.decision, request)
        return self._go_on(opened)

    async def _answer_large(self, opened: _Open) -> Any:
        """Look at a large request in a thread, then go on as with every other."""
        people, request = self.people, opened.pending
        try:
            if people.policy is not None:
                opened.decision = await self._decide_large(people.policy, request)
                self._apply(opened.decision, request)
            if people.audit is not None:
                opened.subject = await self._compute(self._subject, request)
            begun = self._go_on(opened)
            return await begun() if callable(begun) else begun
        finally:
            self._end(opened)

    async def _decide_large(self, policy: PolicyLike, request: Pending[Any]) -> Decision:
        try:
            return await decide_by_policy(policy, request, self._computing)
        except BaseException as error:
            if ends_the_caller(error):
                raise
            return self._policy_failed(request)

    async def _compute(self, function: Callable[..., ComputedT], *arguments: Any) -> ComputedT:
        return await compute_in_thread(function, *arguments, limiter=self._computing)

    def _policy_failed(self, request: Pending[Any]) -> Decision:
        logger.exception("The policy raised an exception about %s", request.id)
        is_permission = isinstance(request, PermissionRequest)
        return Decision("deny", POLICY_FAILED) if is_permission else UNDECIDED

    def _apply(self, decision: Decision, request: Pending[Any]) -> None:
        """Let a policy decide, if it does."""
        if decision.behavior == "deny":
            reason = decision.reason or DENIED_BY_POLICY
            request._settle(request._denial(reason), by=POLICY)
        elif decision.behavior == "allow":
            request.resolve(PermissionResultAllow(), by=POLICY)

    def _go_on(self, opened: _Open) -> Any:
        """Return the answer, if there is one; otherwise a function that asks for it."""
        request, people = opened.pending, self.people
        if request.state is WAITING:
            handler = people.handler_for(request.kind)
            if handler is not None or people.person is not None:
                if handler is None:
                    return partial(self._ask, opened, handler)
                is_async = is_async_function(handler)
                if is_async or people.deadline is not None:
                    return partial(self._ask, opened, handler, is_async)
                return self._call_plain(opened, handler)
            why = no_handler(request.kind)
            logger.warning("%s (%s: %s)", why, request.id, request.title)
            request._settle(request._denial(why), by="no handler")
        self._close(opened)
        return request.result

    def _call_plain(self, opened: _Open, handler: Handler) -> Any:
        """Call a handler that is a plain function, in a thread; return as `_go_on` does.

        Most of them decide at once. To return to the event loop and be woken there takes longer
        than that, so such a one is waited for; but not if the one before it took longer, because it
        asked a person, for example.
        """
        try:
            self._limiter.acquire_on_behalf_of_nowait(opened)
        except anyio.WouldBlock:
            return partial(self._ask, opened, handler)
        opened.has_thread = True
        self._let_others_answer(opened)
        request, tell_errors = opened.pending, self.people.tell_errors
        run = partial(call_plain_handler, handler, request)
        call: ThreadCall[Outcome] = ThreadCall(run, self._start, self._run_soon)
        if not call.ends_within(A_MOMENT if self._are_quick else 0) or call.result.is_awaitable:
            return partial(self._await_plain, opened, call, function_name(handler))
        self._are_quick = call.seconds < A_MOMENT
        try:
            call.result.settle(request, function_name(handler), tell_errors=tell_errors)
        finally:
            self._end(opened)
        return request.result

    async def _await_plain(self, opened: _Open, call: ThreadCall[Outcome], name: str) -> Any:
        """Wait for a plain function, and for what it has returned if that can be awaited."""
        request, tell_errors = opened.pending, self.people.tell_errors
        try:
            await call.wait()
            self._are_quick = call.seconds < A_MOMENT
            await run_handler(call.result.get, request, tell_errors=tell_errors, name=name)
        finally:
            self._end(opened)
        return request.result

    async def _ask(self, opened: _Open, handler: Handler | None, is_async: bool = False) -> Any:
        """Wait for the handler, the inbox or the deadline, whichever is first."""
        request, people = opened.pending, self.people
        try:
            if handler is None:
                await people.inbox.ask(request, deadline=people.deadline)
            else:
                self._let_others_answer(opened)
                run = run_handler(
                    handler, request, self._threads, people.tell_errors, is_async=is_async
                )
                await (run if people.deadline is None else self._bounded(run, request))
        finally:
            self._end(opened)
        return request.result

    def _end(self, opened: _Open) -> None:
        """See to it that a request has ended, in whatever way."""
        opened.pending.withdraw(WITHDRAWN)
        self._close(opened)

    def _let_others_answer(self, opened: _Open) -> None:
        """While a handler decides, others may be quicker: then the CLI is told at once."""
        request = opened.pending
        self.people.inbox._add(request, self.people.deadline)
        if self._reply is not None:
            opened.soon = self._run_soon
            request._answered_by_another = opened

    async def _bounded(self, run: Coroutine[Any, Any, None], request: Pending[Any]) -> None:
        assert self.people.deadline is not None
        expire = partial(self.people.inbox._expire_in, self.people.deadline, request)
        async with DetachedCall(expire, "claudewire deadline"):
            await run

    @cached_property
    def _run_soon(self) -> RunSoon:
        return run_soon()

    def _reply_early(self, opened: _Open) -> None:
        assert self._reply is not None
        if self._close(opened):
            self._reply(opened.asked, opened.pending.result)

    def _close(self, opened: _Open) -> bool:
        """Record how a request has ended; say whether it was open."""
        if self._open.get(opened.asked.id) is not opened:
            return False
        del self._open[opened.asked.id]
        if opened.has_thread:
            self._limiter.release_on_behalf_of(opened)
        if opened.pending.state is EXPIRED:
            logger.warning("%s: %s, so the answer is no", opened.pending.id, opened.pending.ending)
        if self.people.audit is not None:
            self._record(opened.pending, opened.decision, opened.subject)
        return True

    # --- records ---------------------------------------------------------------------------------

    @cached_property
    def _redactors(self) -> _Redactors:
        return _Redactors()

    def _record(self, request: Pending[Any], decision: Decision, subject: _Subject | None) -> None:
        assert self.people.audit is not None
        try:
            session = self._conversation() or request.session or None
            subject = subject or self._subject(request)
            reason = getattr(request.result, "message", None) or decision.reason or request.ending
            answered = _answered(request) if self.people.audit_contents else None
            record = DecisionRecord(
                when=datetime.fromtimestamp(self.inbox.clock.time(), UTC),
                request_id=request.id,
                tool=subject.tool,
                input_digest=subject.digest,
                answer=_decision(request),
                decided_by=_decided_by(request, decision),
                reason=self._redactors.reason(reason),
                rule=None if decision.rule is None else str(decision.rule),
                latency=request.waited,
                session_id=session,
                agent_id=request.agent_id,
                kind=request.kind,
                asked=subject.asked,
                answered=None if answered is None else self._redactors.contents(answered),
            )
            self.people.audit(record)
        except BaseException:
            logger.exception("The decision about %s could not be recorded", request.id)

    def _subject(self, request: Pending[Any]) -> _Subject:
        tool, input = _subject(request)
        contents = self._redactors.contents if self.people.audit_contents else None
        return _Subject(tool, digest(input), contents and contents(_asked(request)))


class _Subject(NamedTuple):
    """What a record says about what was asked."""

    tool: str
    digest: str
    asked: dict[str, Any] | None


class _Redactors:
    """Remove the secrets from the records of a session, from each for itself.

    There may be very many records, so the environment is read once for all of them.
    """

    def __init__(self) -> None:
        self._of_reasons = Redactor()
        self._of_contents = Redactor(home="")  # paths are what a tool was asked to work on

    def reason(self, text: str) -> str:
        return self._of_reasons._fresh()(text)

    def contents(self, value: Mapping[str, Any]) -> dict[str, Any]:
        plain: dict[str, Any] = self._of_contents._fresh().value(value)
        return plain


def _subject(request: Pending[Any]) -> tuple[str, dict[str, Any]]:
    """What it was about: a tool and its input, or what comes nearest to it."""
    if isinstance(request, ToolPending):
        return request.tool_name, request.input
    if isinstance(request, ElicitationRequest):
        return f"elicitation: {request.server}", {"message": request.message}
    return request.title, cast("DialogRequest", request).payload


def _decided_by(request: Pending[Any], decision: Decision) -> str:
    if request.state is EXPIRED:
        return "deadline"
    if request.state is PendingState.WITHDRAWN:
        return "withdrawn"
    if request.by == POLICY:
        return "default" if decision.rule is None else "rule"
    return request.by or "person"


def _decision(request: Pending[Any]) -> str:
    answer: Any = request.result
    if isinstance(answer, ElicitationResult):
        return answer.action
    if isinstance(answer, PermissionResultAllow) and isinstance(request, PlanRequest):
        return "approve"
    if isinstance(answer, PermissionResultAllow) and isinstance(request, QuestionRequest):
        given = answer.updated_input or {}
        return "answered" if given.get("answers") or given.get("response") else "skipped"
    return str(type(answer).__struct_config__.tag)


def _asked(request: Pending[Any]) -> dict[str, Any]:
    if isinstance(request, ElicitationRequest):
        fields = [field.describe() for field in request.form.fields]
        return {"message": request.message, "url": request.url, "fields": fields}
    return _subject(request)[1]


def _answered(request: Pending[Any]) -> dict[str, Any]:
    """What was answered, as the CLI is told it, without what is as it was asked for."""
    told = dict(msgspec.to_builtins(request.result))
    told.pop("toolUseID", None)
    if isinstance(request, ToolPending) and told.get("updatedInput") == request.input:
        del told["updatedInput"]
    return told
