"""Who decides a request, in which order, and the answer without a decision."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.helpers.sessions import soon
from tests.session.approvals.asking import (
    COLOUR,
    MAKE,
    SOON,
    BrokenPolicy,
    Rules,
    ask,
    decide,
    dialog,
    form,
    plan,
    use,
)

from claudewire.approvals import (
    ApprovalRequest,
    ApprovalRouter,
    Approvers,
    Inbox,
    PermissionRequest,
    PermissionResultAllow,
    PermissionResultDeny,
    check_handler,
)
from claudewire.errors import OptionsError
from claudewire.policy import Decision, Policy
from claudewire.wire import DialogCancelled, DialogCompleted, ElicitationResult, Request

pytestmark = pytest.mark.anyio

ALLOWED = PermissionResultAllow({"command": "make"}, tool_use_id="toolu_1")
FAILED = "The application's handler failed, so the answer is no."
NO_HANDLER = {
    "permission": "No handler is registered for permissions, so the tool was denied.",
    "question": "No handler is registered for questions, so they were not answered.",
    "plan": "No handler is registered for plans, so the plan was not approved.",
}


def never(request: ApprovalRequest[Any]) -> Any:
    raise AssertionError("no person was to be asked")


async def allow(request: PermissionRequest) -> Any:
    return request.allow()


async def hang(request: ApprovalRequest[Any]) -> Any:
    await anyio.sleep_forever()


def denied(reason: str) -> PermissionResultDeny:
    return PermissionResultDeny(reason, tool_use_id="toolu_1")


# --- the policy ----------------------------------------------------------------------------------


async def test_policy_decides_before_a_person_is_asked() -> None:
    rules = Rules("allow")
    assert await decide(policy=rules, on_permission=never) == ALLOWED
    assert rules.asked == [("Bash", {"command": "make"}, "/srv")]
    rules = Rules("deny", "Bash", "No shell here")
    assert await decide(policy=rules, on_permission=never) == denied("No shell here")
    assert await decide(policy=Rules("deny")) == denied("The policy does not allow this.")


@pytest.mark.parametrize("behavior", ["ask", "perhaps"])
async def test_undecided_policy_leaves_the_decision_to_people(behavior: str) -> None:
    rules = Rules(behavior)
    assert await decide(policy=rules, on_permission=allow) == ALLOWED
    assert len(rules.asked) == 1
    assert await decide(policy=rules) == denied(NO_HANDLER["permission"])


@pytest.mark.parametrize("policy", [BrokenPolicy(), Rules(None)])
async def test_failing_policy_denies(policy: Any, caplog: pytest.LogCaptureFixture) -> None:
    if isinstance(policy, Rules):
        policy.decision = None  # type: ignore[assignment]
    reason = "The application's policy raised an exception, so the tool was denied."
    assert await decide(policy=policy, on_permission=never) == denied(reason)
    assert "The policy raised an exception about one.1" in caplog.text
    answer = await decide(ask(COLOUR), policy=policy)
    assert answer == denied(NO_HANDLER["question"])


SURVEY = use("Survey", {"a": 1}, requires_user_interaction=True)


@pytest.mark.parametrize("audited", [False, True])
@pytest.mark.parametrize("padding", ["", "x" * 1000])
@pytest.mark.parametrize(
    ("tool", "input", "answer"),
    [
        ("Bash", {"command": "make"}, "allow"),
        ("Bash", {"command": "rm -r a"}, "`Bash(rm:*)` denies it: `rm -r a`"),
        ("Bash", {"command": "pwd"}, NO_HANDLER["permission"]),
        ("Read", {"file_path": "a"}, "allow"),
        ("Read", {"file_path": "/a"}, NO_HANDLER["permission"]),
    ],
)
async def test_policy_decides_alike_at_once_in_a_thread_and_for_the_record(
    tool: str, input: dict[str, Any], answer: str, padding: str, audited: bool
) -> None:
    policy = Policy(
        ["Bash(make:*)", "Read(//srv/**)"], deny=["Bash(rm:*)"], realpath=lambda path: path
    )
    records: list[object] = []
    whole = {**input, "padding": padding}
    audit = records.append if audited else None
    given = await decide(use(tool, whole), policy=policy, audit=audit)
    if answer == "allow":
        assert given == PermissionResultAllow(whole, tool_use_id="toolu_1")
    else:
        assert given == denied(answer)
    assert len(records) == audited
    router = ApprovalRouter(Approvers(policy=policy, audit=audit), cwd="/srv")
    decided = given if answer != NO_HANDLER["permission"] else None
    at_once = not (audited or padding)
    assert router.policy_answer(use(tool, whole)) == (decided if at_once else None)


@pytest.mark.parametrize(
    "request_", [SURVEY, ask(COLOUR), plan({"plan": "# Tidy up"}), form(), dialog()]
)
@pytest.mark.parametrize("policy", [Rules("allow"), Rules("allow", "*"), Policy(default="allow")])
async def test_policy_allows_nothing_that_needs_a_person(request_: Request, policy: Any) -> None:
    answer = await decide(request_, policy=policy, approver=lambda it: it.refusal("by a person"))
    assert answer in (denied("by a person"), ElicitationResult("decline"), DialogCancelled())
    assert ApprovalRouter(Approvers(policy=policy)).policy_answer(request_) is None


@pytest.mark.parametrize("request_", [ask(COLOUR), plan({"plan": "# Tidy up"})])
async def test_only_a_rule_denies_questions_and_plans(request_: Request) -> None:
    policy = Rules("deny", "*", "Do not disturb")
    assert await decide(request_, approver=never, policy=policy) == denied("Do not disturb")
    by_default = await decide(
        request_, approver=lambda it: it.refusal("by a person"), policy=Rules("deny")
    )
    assert by_default == denied("by a person")


async def test_policy_denies_no_forms_and_dialogs(caplog: pytest.LogCaptureFixture) -> None:
    assert await decide(form(), policy=Rules("deny", "*")) == ElicitationResult("decline")
    assert await decide(dialog(), policy=Policy(default="deny")) == DialogCancelled()
    no_handler = "No handler is registered for {}s, so the answer is no. (one.1: {})"
    assert caplog.messages == [
        no_handler.format("elicitation", "crm: Who is it?"),
        no_handler.format("dialog", "Dialog: trust"),
    ]


async def test_large_input_is_evaluated_in_one_worker_thread() -> None:
    threads: list[int] = []

    def realpath(path: str) -> str:
        threads.append(threading.get_ident())
        return path

    policy = Policy(["Read"], deny=["Read(x)"], realpath=realpath)
    for length, in_thread in ((300, False), (301, True)):
        path = "/" + "a" * (length - 1)
        answer = await decide(use("Read", {"limit": 5, "file_path": path}), policy=policy)
        assert isinstance(answer, PermissionResultAllow)
        assert (threading.get_ident() not in threads) is in_thread
        threads.clear()


async def test_policy_of_the_application_stays_in_its_thread() -> None:
    threads: list[int] = []

    class Mine:
        def decide(self, tool: str, input: dict[str, Any], /, *, cwd: str | None = None) -> Any:
            threads.append(threading.get_ident())
            return Decision("allow", "")

    await decide(use("Bash", {"command": "a" * 10_000}), policy=Mine())
    assert threads == [threading.get_ident()]


# --- the handlers --------------------------------------------------------------------------------


async def test_each_kind_has_its_handler() -> None:
    handlers: dict[str, Callable[[Any], Any]] = {
        "on_permission": lambda it: it.deny("a permission"),
        "on_question": lambda it: it.respond("a question"),
        "on_plan": lambda it: it.revise("a plan"),
        "on_elicitation": lambda it: it.accept({}),
        "on_dialog": lambda it: it.complete("a dialog"),
    }
    every: dict[str, Any] = {**handlers, "approver": never}
    assert await decide(MAKE, **every) == denied("a permission")
    assert "a question" in (await decide(ask(COLOUR), **every)).message
    assert "a plan" in (await decide(plan({}), **every)).message
    assert await decide(form(), **every) == ElicitationResult("accept", {})
    assert await decide(dialog(), **every) == DialogCompleted("a dialog")


async def test_approver_decides_requests_without_a_handler() -> None:
    kinds: list[str] = []

    async def approver(request: ApprovalRequest[Any]) -> Any:
        kinds.append(request.kind)
        assert (request.id, request.session, request.cwd) == ("one.1", "one", "/srv")
        return request.refusal("because")

    for request in (MAKE, ask(COLOUR), plan({}), form(), dialog()):
        await decide(request, approver=approver, on_permission=allow)
    assert kinds == ["question", "plan", "elicitation", "dialog"]


@pytest.mark.parametrize(
    ("request_", "kind"), [(MAKE, "permission"), (ask(COLOUR), "question"), (plan({}), "plan")]
)
async def test_request_without_a_handler_is_refused(
    request_: Request, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    others: dict[str, Any] = {"on_permission": never, "on_question": never, "on_plan": never}
    del others[f"on_{kind}"]
    assert await decide(request_, **others) == denied(NO_HANDLER[kind])
    assert f"{NO_HANDLER[kind]} (one.1: " in caplog.text


class Decider:
    async def __call__(self, request: PermissionRequest) -> Any:
        return request.allow()

    def plainly(self, request: PermissionRequest) -> Any:
        return request.allow()

    async def slowly(self, request: PermissionRequest) -> Any:
        await anyio.lowlevel.checkpoint()
        return request.allow()


async def slowly(reason: str, request: PermissionRequest) -> Any:
    return request.allow()


@pytest.mark.parametrize(
    "handler",
    [
        Decider(),
        Decider().plainly,
        Decider().slowly,
        lambda request, extra=1: request.allow(),
        lambda *requests: requests[0].allow(),
        lambda request: slowly("", request),
        functools.partial(slowly, "because"),
        lambda request: PermissionResultAllow(),
    ],
)
async def test_any_function_of_a_request_is_a_handler(handler: Any) -> None:
    check_handler(handler, "on_permission")
    assert await decide(on_permission=handler) == ALLOWED


def two(tool_name: str, input: dict[str, Any]) -> Any: ...


def by_keyword(*, request: Any) -> Any: ...


def yields(request: Any) -> Iterator[Any]:
    yield


async def yields_slowly(request: Any) -> AsyncIterator[Any]:
    yield


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        ("allow", "on_permission must be a function of one argument, the request, that"),
        (two, "missing a required argument: 'input'"),
        (by_keyword, "too many positional arguments"),
        (yields, "that returns its answer: yields yields"),
        (yields_slowly, "yields_slowly yields"),
        (Decider, "Decider is a class, not a function; make an object of it: Decider()"),
    ],
)
def test_other_handlers_are_refused(handler: Any, words: str) -> None:
    with pytest.raises(OptionsError) as caught:
        check_handler(handler, "on_permission")
    assert words in str(caught.value)


async def test_plain_functions_run_in_threads_and_coroutines_in_the_loop() -> None:
    threads: list[threading.Thread] = []
    together = threading.Barrier(2)

    def plain(request: PermissionRequest) -> Any:
        together.wait(SOON)  # only possible if both run at once
        threads.append(threading.current_thread())
        return request.allow()

    async def coroutine(request: PermissionRequest) -> Any:
        threads.append(threading.current_thread())
        return request.allow()

    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(functools.partial(decide, on_permission=plain))
    assert threading.current_thread() not in threads
    await decide(on_permission=coroutine)
    assert threads[2] is threading.current_thread()


async def test_only_the_returned_answer_counts() -> None:
    async def handler(request: PermissionRequest) -> Any:
        request.allow()
        assert request.is_waiting
        return request.deny("too dangerous")

    assert await decide(on_permission=handler) == denied("too dangerous")


# --- failures ------------------------------------------------------------------------------------


class Unreadable:
    def __repr__(self) -> str:
        raise SystemExit("bye")


@pytest.mark.parametrize("in_thread", [True, False])
@pytest.mark.parametrize(
    ("returned", "logged"),
    [
        *(
            (it, "answers no permission: return `request.allow(…)` or")
            for it in (True, None, "allow")
        ),
        ({"behavior": "allow"}, "answers no permission"),
        (Unreadable(), "SystemExit: bye"),
    ],
)
async def test_handler_that_returns_no_answer_denies(
    returned: Any, logged: str, in_thread: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def coroutine(request: PermissionRequest) -> Any:
        return returned

    handler = (lambda request: returned) if in_thread else coroutine
    assert await decide(on_permission=handler) == denied(FAILED)
    assert logged in caplog.text


@pytest.mark.parametrize("in_thread", [True, False])
@pytest.mark.parametrize("error", [RuntimeError("hunter2"), SystemExit("bye")])
async def test_handler_that_raises_denies_and_tells_the_log_only(
    error: BaseException, in_thread: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def plain(request: PermissionRequest) -> Any:
        raise error

    async def coroutine(request: PermissionRequest) -> Any:
        raise error

    handler: Any = plain if in_thread else coroutine
    assert await decide(on_permission=handler) == denied(FAILED)
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert "failed to decide about one.1, so the answer is no" in record.getMessage()
    assert type(error).__name__ in caplog.text


async def test_model_gets_the_exception_with_tell_errors() -> None:
    def fail(request: PermissionRequest) -> Any:
        raise RuntimeError("the disk is full")

    answer = await decide(on_permission=fail, tell_errors=True)
    assert answer == denied(f"{FAILED} (RuntimeError: the disk is full)")


async def test_handler_that_cancels_itself_denies() -> None:
    """Like one that waits for a future of asyncio that something cancels."""

    async def handler(request: PermissionRequest) -> Any:
        raise anyio.get_cancelled_exc_class().__new__(anyio.get_cancelled_exc_class())

    assert await decide(on_permission=handler) == denied(FAILED)


# --- the first answer ----------------------------------------------------------------------------


async def test_answer_through_the_inbox_overtakes_the_handler() -> None:
    inbox, cancelled = Inbox(), list[str]()

    async def wait(request: ApprovalRequest[Any]) -> Any:
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.append(request.id)

    async def look() -> None:
        await anyio.wait_all_tasks_blocked()
        assert inbox.act("one.1", "deny", {"reason": "I was faster"})

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(look)
        assert await decide(on_permission=wait, inbox=inbox) == denied("I was faster")
    assert cancelled == ["one.1"]


async def test_answer_overtakes_a_handler_that_cannot_be_cancelled() -> None:
    inbox, answers, may_go_on = Inbox(), list[Any](), anyio.Event()

    async def stubborn(request: ApprovalRequest[Any]) -> Any:
        with anyio.CancelScope(shield=True):
            await may_go_on.wait()
        return request.refusal("too late")

    router = ApprovalRouter(Approvers(on_permission=stubborn, inbox=inbox))
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(router.decide, MAKE, answers.append)
            await anyio.wait_all_tasks_blocked()
            inbox.act("1", "deny", {"reason": "I was faster"})
            await anyio.wait_all_tasks_blocked()
            assert answers == [denied("I was faster")]
            may_go_on.set()
    assert len(answers) == 1


def blocked(may_go_on: threading.Event) -> Callable[[PermissionRequest], Any]:
    def wait(request: PermissionRequest) -> Any:
        assert may_go_on.wait(SOON)
        return request.allow()

    return wait


async def test_deadline_denies(caplog: pytest.LogCaptureFixture) -> None:
    may_go_on, late = threading.Event(), "no decision was made within 0.01 seconds"
    for who in ({"on_permission": hang}, {"approver": blocked(may_go_on)}, {"approver": "inbox"}):
        assert await decide(deadline=0.01, **who) == denied(late)
    may_go_on.set()
    assert caplog.messages == [f"one.1: {late}, so the answer is no"] * 3
    assert await decide(deadline=SOON, on_permission=allow) == ALLOWED


# --- withdrawals ---------------------------------------------------------------------------------


async def test_withdrawal_ends_the_last_request_of_that_id() -> None:
    """A CLI may withdraw a request and ask again with the same id."""
    router = ApprovalRouter(Approvers(approver="inbox"))
    answers: list[Any] = []

    async def ask_once(scope: anyio.CancelScope) -> None:
        with scope:
            answers.append(await router.decide(MAKE, never))

    async with anyio.create_task_group() as tasks:
        first = anyio.CancelScope()
        for scope in (first, anyio.CancelScope()):
            tasks.start_soon(ask_once, scope)
            await anyio.wait_all_tasks_blocked()
        first.cancel()
        await anyio.wait_all_tasks_blocked()
        assert router.withdraw("1", "the turn is over") == denied("the turn is over")
    assert answers == [denied("the turn is over")]
    assert router.withdraw("1", "too late") is None


async def test_withdrawal_during_the_policy_denies() -> None:
    begun, may_go_on = threading.Event(), threading.Event()

    def realpath(path: str) -> str:
        begun.set()
        assert may_go_on.wait(SOON)
        return path

    policy = Policy(["Read"], deny=["Read(x)"], realpath=realpath)
    router = ApprovalRouter(Approvers(policy=policy))
    answers: list[Any] = []

    async def run() -> None:
        answers.append(await router.decide(use("Read", {"file_path": "/" + "a" * 1000}), never))

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await soon(begun.is_set)
            router.withdraw("1", "the turn is over")
            may_go_on.set()
    assert answers == [denied("the turn is over")]
