"""Who decides, in which order, and what is written down about it."""

from __future__ import annotations

import functools
import json
import logging
import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.helpers.sessions import soon
from tests.people.asking import COLOUR, SOON, ask, dialog, form, plan, use

from claudewire.errors import OptionsError, Redactor
from claudewire.people import (
    Decider,
    DialogRequest,
    ElicitationRequest,
    Inbox,
    People,
    PermissionRequest,
    PermissionResultAllow,
    PermissionResultDeny,
    PlanRequest,
    QuestionRequest,
    decisions,
    policy_then,
)
from claudewire.people.decisions import POLICY_FAILED, no_handler, policy_decision
from claudewire.people.pending import Clock, Pending, PendingState
from claudewire.policy import Decision, DecisionRecord, Policy, digest
from claudewire.wire import (
    Connection,
    DialogCancelled,
    DialogCompleted,
    ElicitationResult,
    Request,
    Role,
)

pytestmark = pytest.mark.anyio

MAKE = use("Bash", {"command": "make"})


class Rules:
    """A policy that always says the same, and remembers what it was asked."""

    def __init__(self, behavior: Any, rule: Any = None, reason: str = "") -> None:
        self.decision = Decision(behavior, reason, rule)
        self.asked: list[Any] = []

    def decide(self, tool_name: str, input: dict[str, Any], /, *, cwd: str | None = None) -> Any:
        self.asked.append((tool_name, input, cwd))
        return self.decision


class Broken:
    def decide(self, tool_name: str, input: dict[str, Any], /, *, cwd: str | None = None) -> Any:
        raise RuntimeError("the rules are gone")


def never(request: Pending[Any]) -> Any:
    raise AssertionError("nobody was to be asked")


async def allow(request: PermissionRequest) -> Any:
    return request.allow()


async def hang(request: Pending[Any]) -> Any:
    await anyio.sleep_forever()


async def decide(request: Request = MAKE, **options: Any) -> Any:
    with anyio.fail_after(SOON):
        return await Decider(People(**options), session="one", cwd="/srv").decide(request)


def message(answer: object) -> str | None:
    assert isinstance(answer, PermissionResultDeny)
    return answer.message


# --- the order -----------------------------------------------------------------------------------


async def test_a_handler_decides() -> None:
    answer = await decide(on_permission=allow)
    assert answer == PermissionResultAllow({"command": "make"}, tool_use_id="toolu_1")


async def test_a_policy_decides_before_anybody_is_asked() -> None:
    rules = Rules("allow")
    asked: list[object] = []
    answer = await decide(policy=rules, on_permission=asked.append)
    assert answer == PermissionResultAllow({"command": "make"}, tool_use_id="toolu_1")
    assert rules.asked == [("Bash", {"command": "make"}, "/srv")]
    denied = await decide(policy=Rules("deny", "Bash", "No shell here"), on_permission=asked.append)
    assert message(denied) == "No shell here"
    assert asked == []
    assert message(await decide(policy=Rules("deny"))) == "The policy does not allow this."


async def test_a_policy_can_say_that_somebody_is_to_be_asked() -> None:
    assert isinstance(await decide(policy=Rules("ask"), on_permission=allow), PermissionResultAllow)
    assert message(await decide(policy=Rules("ask"))) == no_handler("permission")


async def test_a_policy_that_says_something_unheard_of_has_not_allowed_it() -> None:
    assert message(await decide(policy=Rules("perhaps"))) == no_handler("permission")


async def test_a_policy_that_fails_denies(caplog: pytest.LogCaptureFixture) -> None:
    answer = await decide(policy=Broken(), on_permission=never)
    assert (
        message(answer) == "The application's policy raised an exception, so the tool was denied."
    )
    assert "the rules are gone" in caplog.text


async def test_a_policy_that_returns_no_decision_denies() -> None:
    rules: Any = Rules("allow")
    rules.decision = object()
    answer = await decide(policy=rules, on_permission=never)
    assert message(answer) == POLICY_FAILED


async def test_a_policy_that_has_said_ask_is_not_asked_again() -> None:
    rules = Rules("ask")
    await decide(policy=rules)
    assert rules.asked == [("Bash", {"command": "make"}, "/srv")]


async def test_a_real_policy_whose_application_fails_denies(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def realpath(path: str) -> str:
        raise SystemExit("the links are gone")

    policy = Policy(allow=["Read"], deny=["Read(x)"], realpath=realpath)
    answer = await decide(use("Read", {"file_path": "/a"}), policy=policy, on_permission=never)
    assert answer == PermissionResultDeny(POLICY_FAILED, tool_use_id="toolu_1")
    assert caplog.messages == ["The policy raised an exception about one.1"]
    assert "the links are gone" in caplog.text


@pytest.mark.parametrize(("path", "behavior"), [("/a", "allow"), ("/x", "deny")])
async def test_a_real_policy_that_decides_is_asked_once(path: str, behavior: str) -> None:
    looked: list[str] = []

    def realpath(path: str) -> str:
        looked.append(path)
        return path

    policy = Policy(allow=["Read"], deny=["Read(//x)"], realpath=realpath)
    assert policy.decide("Read", {"file_path": path}, cwd="/srv").behavior == behavior
    once = [*looked]
    answer = await decide(use("Read", {"file_path": path}), policy=policy)
    assert isinstance(answer, PermissionResultAllow) is (behavior == "allow")
    assert looked == [*once, *once]


async def test_a_real_policy_is_told_the_working_directory_of_the_session() -> None:
    policy = Policy(allow=[f"Read(/{os.getcwd()}/**)"], realpath=lambda path: path)
    answer = await decide(use("Read", {"file_path": "a"}), policy=policy)
    assert message(answer) == no_handler("permission")


SURVEY = use("Survey", {"a": 1}, requires_user_interaction=True)


@pytest.mark.parametrize("audited", [False, True])
@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (MAKE, PermissionResultAllow({"command": "make"}, tool_use_id="toolu_1")),
        (
            use("Bash", {"command": "rm -r a"}),
            PermissionResultDeny("`Bash(rm:*)` denies it: `rm -r a`", tool_use_id="toolu_1"),
        ),
        (
            use("Read", {"file_path": "a"}),
            PermissionResultAllow({"file_path": "a"}, None, "toolu_1"),
        ),
        (use("Read", {"file_path": "/a"}), "permission"),
        (use("Bash", {"command": "pwd"}), "permission"),
        (SURVEY, "permission"),
        (ask(COLOUR), "question"),
        (plan({"plan": "# Tidy up"}), "plan"),
    ],
)
async def test_a_real_policy_decides_the_same_with_and_without_a_record(
    asked: Request, answer: Any, audited: bool
) -> None:
    policy = Policy(
        allow=["Bash(make:*)", "Survey", "Read(//srv/**)"],
        deny=["Bash(rm:*)"],
        realpath=lambda path: path,
    )
    records: list[DecisionRecord] = []
    given = await decide(asked, policy=policy, audit=records.append if audited else None)
    if isinstance(answer, str):
        answer = PermissionResultDeny(no_handler(answer), tool_use_id="toolu_1")
    assert given == answer
    assert len(records) == audited


@pytest.mark.parametrize("policy", [Policy(default="deny"), Rules("deny", "*")])
async def test_what_is_no_use_of_a_tool_does_not_concern_a_policy(
    policy: Any, caplog: pytest.LogCaptureFixture
) -> None:
    decider = Decider(People(policy=policy))
    with anyio.fail_after(SOON):
        assert await decider.elicit(form()) == ElicitationResult("decline")
        assert await decider.dialog(dialog()) == DialogCancelled()
    assert caplog.messages == [
        f"{no_handler('elicitation')} (1: crm: Who is it?)",
        f"{no_handler('dialog')} (1: Dialog: trust)",
    ]


async def test_a_tool_that_wants_a_person_is_not_allowed_by_a_policy() -> None:
    asked = use("Survey", {}, requires_user_interaction=True)
    assert message(await decide(asked, policy=Rules("allow"))) == no_handler("permission")
    assert message(await decide(asked, policy=Rules("deny", None, "No."))) == "No."
    said = policy_decision(Rules("allow", "*", "why"), PermissionRequest(asked))
    assert (said.behavior, said.reason, str(said.rule)) == ("ask", "why", "*")
    assert policy_decision(Rules("deny", "*"), ElicitationRequest(form())) == Decision("ask", "")
    assert isinstance(
        await decide(asked, policy=Rules("allow"), on_permission=allow), PermissionResultAllow
    )


@pytest.mark.parametrize("policy", [None, Rules("allow"), Rules("deny"), Broken()])
async def test_a_question_goes_to_whoever_answers_questions(policy: Any) -> None:
    def answer(request: QuestionRequest) -> Any:
        return request.answer("Green")

    given = await decide(ask(COLOUR), on_question=answer, on_permission=never, policy=policy)
    assert given.updated_input["answers"] == {"Which colour?": "Green"}


@pytest.mark.parametrize("request_", [ask(COLOUR), plan({"plan": "# Tidy up"})])
async def test_a_rule_may_deny_questions_and_plans(request_: Request) -> None:
    denies = Rules("deny", "*", "Nobody is to be disturbed")
    answer = await decide(request_, on_question=never, on_plan=never, policy=denies)
    assert message(answer) == "Nobody is to be disturbed"


@pytest.mark.parametrize("policy", [None, Rules("allow"), Rules("allow", "*")])
async def test_a_question_is_never_allowed_like_a_tool(policy: Any) -> None:
    refused = await decide(ask(COLOUR), on_permission=allow, policy=policy)
    assert message(refused) == no_handler("question")

    async def yes(request: Pending[Any]) -> Any:
        return PermissionResultAllow()

    assert isinstance(await decide(ask(COLOUR), on_question=yes), PermissionResultDeny)


@pytest.mark.parametrize(
    "policy", [None, *(Rules(it, "*") for it in ("allow", "ask")), Rules("allow"), Rules("deny")]
)
async def test_a_plan_goes_to_whoever_decides_over_plans(policy: Any) -> None:
    def approve(request: PlanRequest) -> Any:
        return request.approve(mode="acceptEdits")

    request = plan({"plan": "# Tidy up"})
    answer = await decide(request, on_plan=approve, on_permission=never, policy=policy)
    assert isinstance(answer, PermissionResultAllow)
    refused = await decide(request, on_permission=allow, policy=policy)
    assert message(refused) == no_handler("plan")


async def test_a_question_is_answered_as_the_cli_can_read_it() -> None:
    people = People(on_question=lambda request: request.skip())
    new = Decider(people, capabilities=lambda: ["ask_user_question_unanswered_v1"])
    old = Decider(people)
    bare = Decider(People(on_question=lambda request: request.answer("Red")), form=lambda: "bare")
    with anyio.fail_after(SOON):
        assert isinstance(await new.decide(ask(COLOUR)), PermissionResultAllow)
        assert isinstance(await old.decide(ask(COLOUR)), PermissionResultDeny)
        answer = await bare.decide(ask(COLOUR))
    assert isinstance(answer, PermissionResultAllow)
    assert answer.updated_input == {"answers": {"Which colour?": "Red"}}


async def test_a_person_answers_what_has_no_handler() -> None:
    seen: list[str] = []

    async def person(request: Pending[Any]) -> Any:
        seen.append(request.kind)
        return request._denial("because")

    people = People(person=person, on_permission=allow)
    decider = Decider(people)
    with anyio.fail_after(SOON):
        assert isinstance(await decider.decide(MAKE), PermissionResultAllow)
        assert message(await decider.decide(ask(COLOUR))) == "because"
        assert message(await decider.decide(plan({}))) == "because"
        assert await decider.elicit(form()) == ElicitationResult("decline")
        assert await decider.dialog(dialog()) == DialogCancelled()
    assert seen == ["question", "plan", "elicitation", "dialog"]


async def test_forms_and_dialogs_have_handlers_of_their_own() -> None:
    def fill_in(request: ElicitationRequest) -> Any:
        return request.accept({})

    async def show(request: DialogRequest) -> Any:
        return request.complete(request.payload)

    decider = Decider(People(on_elicitation=fill_in, on_dialog=show))
    with anyio.fail_after(SOON):
        assert await decider.elicit(form()) == ElicitationResult("accept", {})
        assert await decider.dialog(dialog("trust", {"a": 1})) == DialogCompleted({"a": 1})


async def test_what_is_no_use_of_a_tool_is_not_decided() -> None:
    with pytest.raises(TypeError, match="RequestUserDialog is not a CanUseTool"):
        await decide(dialog())


@pytest.mark.parametrize("request_", [MAKE, ask(COLOUR), plan({}), form(), dialog()])
async def test_whoever_decides_is_told_who_asks_and_where_and_since_when(request_: Request) -> None:
    seen: list[Any] = []

    async def person(request: Pending[Any]) -> Any:
        seen.append((request.id, request.session, request.since, getattr(request, "cwd", "/srv")))
        return request._denial("no")

    inbox = Inbox(clock=Clock(lambda: 1000.0, lambda: 7.0))
    decider = Decider(People(person=person, inbox=inbox), session="one", cwd="/srv")
    with anyio.fail_after(SOON):
        begun = decider.begin(request_)
        assert callable(begun)
        await begun()
    assert seen == [("one.1", "one", 1000.0, "/srv")]


# --- nobody, somebody else, too late -------------------------------------------------------------


def test_it_is_said_what_follows_if_there_is_no_handler() -> None:
    kinds = ("permission", "question", "plan", "elicitation", "dialog")
    assert [no_handler(kind) for kind in kinds] == [
        "No handler is registered for permissions, so the tool was denied.",
        "No handler is registered for questions, so they were not answered.",
        "No handler is registered for plans, so the plan was not approved.",
        "No handler is registered for elicitations, so the answer is no.",
        "No handler is registered for dialogs, so the answer is no.",
    ]


async def test_without_anybody_the_answer_is_no(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "claudewire.people.permissions"):
        assert message(await decide()) == no_handler("permission")
        decider = Decider()
        with anyio.fail_after(SOON):
            assert await decider.elicit(form()) == ElicitationResult("decline")
            assert await decider.dialog(dialog()) == DialogCancelled()
    assert f"{no_handler('permission')} (one.1: Bash: make)" in caplog.text


async def test_whoever_looks_into_the_inbox_decides() -> None:
    inbox = Inbox()

    def look() -> None:
        with inbox.changes() as changes:
            change = changes.get(SOON)
            assert isinstance(change.request, PermissionRequest)
            change.request.allow(input={"command": "make test"})

    thread = threading.Thread(target=look)
    thread.start()
    answer = await decide(person="inbox", inbox=inbox)
    thread.join(SOON)
    assert answer.updated_input == {"command": "make test"}


async def test_somebody_at_the_inbox_can_be_faster_than_the_handler() -> None:
    inbox, cancelled = Inbox(), []

    async def wait(request: Pending[Any]) -> Any:
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.append(request.id)

    async def look() -> None:
        await anyio.wait_all_tasks_blocked()
        assert inbox.answer("one.1", PermissionResultDeny("I was faster"))

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(look)
            assert message(await decide(on_permission=wait, inbox=inbox)) == "I was faster"
        await anyio.wait_all_tasks_blocked()
    assert cancelled == ["one.1"]


async def test_a_handler_that_hangs_has_said_no_at_the_deadline(
    caplog: pytest.LogCaptureFixture,
) -> None:
    answer = await decide(on_permission=hang, deadline=0.01)
    assert message(answer) == "no decision was made within 0.01 seconds"
    assert "one.1: no decision was made within 0.01 seconds, so the answer is no" in caplog.text


async def test_a_thread_that_hangs_has_said_no_at_the_deadline() -> None:
    go_on = threading.Event()

    def wait(request: PermissionRequest) -> Any:
        go_on.wait(SOON)
        return request.allow()

    answer = await decide(on_permission=wait, deadline=0.01)
    go_on.set()
    assert message(answer) == "no decision was made within 0.01 seconds"


async def test_whoever_looks_into_the_inbox_has_said_no_at_the_deadline() -> None:
    record = await recorded(person="inbox", deadline=0.01)
    assert (record.answer, record.decided_by) == ("deny", "deadline")
    assert record.reason == "no decision was made within 0.01 seconds"


def plainly(request: PermissionRequest) -> Any:
    return request.deny("not now")


def fails(request: PermissionRequest) -> Any:
    raise RuntimeError("it broke")


def in_a_coroutine(request: PermissionRequest) -> Any:
    async def decide() -> Any:
        return request.deny("not now")

    return decide()


def fails_in_a_coroutine(request: PermissionRequest) -> Any:
    async def decide() -> Any:
        raise RuntimeError("it broke")

    return decide()


FAILED_ = "The application's handler failed, so the answer is no."


@pytest.mark.parametrize("tell_errors", [False, True])
@pytest.mark.parametrize("how", ["waited for", "late", "bounded"])
@pytest.mark.parametrize("function", [plainly, fails, in_a_coroutine, fails_in_a_coroutine])
async def test_a_plain_function_decides_the_same_however_long_it_takes(
    function: Callable[[Any], Any], how: str, tell_errors: bool
) -> None:
    may_go_on = threading.Event()
    records: list[DecisionRecord] = []

    @functools.wraps(function)
    def handler(request: PermissionRequest) -> Any:
        assert request.id in [it.id for it in inbox.pending]
        assert may_go_on.wait(SOON)
        return function(request)

    inbox = Inbox()
    people = People(
        on_permission=handler,
        inbox=inbox,
        tell_errors=tell_errors,
        deadline=SOON if how == "bounded" else None,
        audit=records.append,
    )
    if how == "waited for":
        may_go_on.set()
    with anyio.fail_after(SOON):
        begun = Decider(people).begin(MAKE)
        may_go_on.set()
        answer = await begun() if callable(begun) else begun
    told = f"{FAILED_} (RuntimeError: it broke)" if tell_errors else FAILED_
    does_fail = function.__name__.startswith("fails")
    assert answer == PermissionResultDeny(told if does_fail else "not now", tool_use_id="toolu_1")
    by = f"handler: {function.__name__}" + (", which failed" if does_fail else "")
    assert [(it.decided_by, it.reason) for it in records] == [(by, message(answer))]
    assert inbox.pending == ()


async def test_an_answer_from_elsewhere_is_given_at_once_and_only_once() -> None:
    """While the handler is still running; what is withdrawn is answered by who withdraws it."""
    replies: list[tuple[str, Any]] = []
    inbox = Inbox()
    decider = Decider(
        People(on_permission=hang, inbox=inbox),
        reply=lambda request, answer: replies.append((request.id, answer)),
    )
    no = PermissionResultDeny("no", tool_use_id="toolu_1")
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            for id in ("1", "2", "3"):
                tasks.start_soon(decider.begin(use("Bash", {"command": "make"}, id)))
            await anyio.wait_all_tasks_blocked()
            assert inbox.answer("1", no)
            assert message(decider.withdraw("2", "the turn is over")) == "the turn is over"
            decider.forget("3")
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
    assert replies == [("1", no)]
    assert inbox.pending == ()


async def test_as_many_plain_functions_as_there_may_be_run_at_once() -> None:
    may_go_on, running = threading.Event(), []

    def wait(request: PermissionRequest) -> Any:
        running.append(request.id)
        assert may_go_on.wait(SOON)
        return request.allow()

    decider = Decider(People(on_permission=wait))
    answers: list[Any] = []

    async def run(id: str) -> None:
        answers.append(await decider.decide(use("Bash", {"command": "make"}, id)))

    with anyio.fail_after(SOON):
        for _ in range(2):  # and none of their places is lost
            async with anyio.create_task_group() as tasks:
                for number in range(decisions.MAX_THREADS + 1):
                    tasks.start_soon(run, str(number))
                try:
                    await soon(lambda: len(running) >= decisions.MAX_THREADS)
                    await anyio.wait_all_tasks_blocked()
                    assert len(running) == decisions.MAX_THREADS
                    assert decider._limiter.borrowed_tokens == decisions.MAX_THREADS
                finally:
                    may_go_on.set()
            assert len(running) == len(answers) == decisions.MAX_THREADS + 1
            may_go_on.clear()
            running.clear()
            answers.clear()


async def test_a_handler_that_raises_has_said_no(caplog: pytest.LogCaptureFixture) -> None:
    def fail(request: PermissionRequest) -> Any:
        raise RuntimeError("the secret")

    assert message(await decide(on_permission=fail)) == (
        "The application's handler failed, so the answer is no."
    )
    assert "the secret" in caplog.text
    assert "the secret" in str(await decide(on_permission=fail, tell_errors=True))


class Exits(dict[str, Any]):
    """Something that a handler returns and that cannot be read."""

    def get(self, key: str, default: Any = None) -> Any:
        raise SystemExit("bye")


async def exits(request: PermissionRequest) -> Any:
    return Exits()


@pytest.mark.parametrize("handler", [exits, lambda request: Exits()])
async def test_a_handler_that_returns_what_cannot_be_read_has_said_no(
    handler: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert message(await decide(on_permission=handler)) == FAILED_
    assert "SystemExit: bye" in caplog.text


async def test_what_is_withdrawn_stops_its_handler() -> None:
    inbox, ended = Inbox(), []
    records: list[DecisionRecord] = []

    async def wait(request: Pending[Any]) -> Any:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(request)

    decider = Decider(People(on_permission=wait, inbox=inbox, audit=records.append))
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(decider.decide, MAKE)
            await anyio.wait_all_tasks_blocked()
            (request,) = decider.inbox.pending
            tasks.cancel_scope.cancel()
    assert ended == [request]
    assert request.state is PendingState.WITHDRAWN
    (record,) = records
    assert (record.answer, record.decided_by) == ("deny", "withdrawn")


async def test_a_session_that_closes_takes_back_what_it_asks() -> None:
    inbox = Inbox()
    decider = Decider(People(person="inbox", inbox=inbox), session="one")
    answers: list[Any] = []

    async def ask_decider() -> None:
        answers.append(await decider.decide(MAKE))

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask_decider)
            await anyio.wait_all_tasks_blocked()
            (request,) = inbox.pending
            assert request.withdraw("the session was closed")
    assert message(answers[0]) == "the session was closed"


async def test_many_are_asked_at_once_and_each_gets_its_own_answer() -> None:
    async def echo(request: PermissionRequest) -> Any:
        await anyio.lowlevel.checkpoint()
        return request.deny(request.input["command"])

    decider = Decider(People(on_permission=echo))
    answers: dict[str, Any] = {}

    async def run(number: str) -> None:
        answers[number] = await decider.decide(use("Bash", {"command": number}, number))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for number in range(200):
                tasks.start_soon(run, str(number))
    assert {number: message(answer) for number, answer in answers.items()} == {
        str(number): str(number) for number in range(200)
    }


# --- what is written down ------------------------------------------------------------------------


async def recorded(request: Request = MAKE, **options: Any) -> DecisionRecord:
    records: list[DecisionRecord] = []
    await decide(request, audit=records.append, **options)
    (record,) = records
    return record


async def test_a_decision_of_a_policy_is_written_down_with_its_rule() -> None:
    inbox = Inbox(clock=Clock(lambda: 1000.0, lambda: 7.0))
    record = await recorded(policy=Rules("deny", "Bash(make:*)", "No making"), inbox=inbox)
    assert record == DecisionRecord(
        when=datetime.fromtimestamp(1000, UTC),
        request_id="one.1",
        tool="Bash",
        input_digest=digest({"command": "make"}),
        answer="deny",
        decided_by="rule",
        reason="No making",
        rule="Bash(make:*)",
        latency=0.0,
        session_id="one",
    )
    asked = use("Bash", {"command": "make"}, agent_id="sub-1")
    by_handler = await recorded(asked, on_permission=allow, inbox=inbox)
    assert by_handler == DecisionRecord(
        when=datetime.fromtimestamp(1000, UTC),
        request_id="one.1",
        tool="Bash",
        input_digest=digest({"command": "make"}),
        answer="allow",
        decided_by="handler: allow",
        reason="answered by handler: allow",
        latency=0.0,
        session_id="one",
        agent_id="sub-1",
    )
    assert (await recorded(policy=Rules("allow"))).reason == "answered by policy"
    allowed = await recorded(policy=Rules("allow", None, "by default"))
    assert (allowed.answer, allowed.decided_by, allowed.reason) == (
        "allow",
        "default",
        "by default",
    )


async def test_a_decision_of_a_handler_is_written_down_with_its_name() -> None:
    record = await recorded(on_permission=allow, policy=Rules("ask", "Bash", "It may do harm"))
    assert (record.answer, record.decided_by, record.rule) == ("allow", "handler: allow", "Bash")
    assert record.reason == "It may do harm"


async def test_it_is_written_down_that_nobody_has_decided() -> None:
    assert (await recorded()).decided_by == "no handler"
    record = await recorded(on_permission=hang, deadline=0.01)
    assert (record.decided_by, record.answer) == ("deadline", "deny")


async def test_a_record_names_the_conversation_as_soon_as_it_is_known() -> None:
    conversation: list[str | None] = [None]
    records: list[DecisionRecord] = []
    people = People(on_permission=allow, audit=records.append)
    named = Decider(people, session="one", conversation=lambda: conversation[-1])
    with anyio.fail_after(SOON):
        await named.decide(MAKE)
        conversation.append("c-1")
        await named.decide(MAKE)
        await Decider(people).decide(MAKE)
    assert [it.session_id for it in records] == ["one", "c-1", None]


async def test_how_long_it_took_is_written_down() -> None:
    now = [5.0]
    inbox = Inbox(clock=Clock(lambda: 1000.0 + now[0], lambda: now[0]))

    async def think(request: PermissionRequest) -> Any:
        now[0] = 8.0
        return request.allow()

    record = await recorded(on_permission=think, inbox=inbox)
    assert (record.latency, record.when) == (3.0, datetime.fromtimestamp(1008, UTC))


KEY = "sk-ant-api03-abcdefghijklmnop"


async def test_secrets_are_not_written_down() -> None:
    policy = Rules("deny", "Bash", f"No {KEY} here")
    record = await recorded(use("Bash", {"command": f"curl -H {KEY}"}), policy=policy)
    assert record.reason == "No <key-1> here"
    assert KEY not in record.to_json()


async def test_secrets_are_written_down_neither_as_asked_nor_as_answered() -> None:
    def change(request: PermissionRequest) -> Any:
        return request.allow(input={"command": f"curl {KEY}"}, remember=f"Bash(curl {KEY})")

    asked = use("Bash", {"command": f"curl -H {KEY}", "password": "hunter2"})
    changed = await recorded(asked, on_permission=change, audit_contents=True)
    assert changed.asked == {"command": "curl -H <key-1>", "password": "<key-2>"}
    rule = {"toolName": "Bash", "ruleContent": "curl <key-1>"}
    remembered = {
        "type": "addRules",
        "rules": [rule],
        "behavior": "allow",
        "destination": "session",
    }
    assert changed.answered == {
        "behavior": "allow",
        "updatedInput": {"command": "curl <key-1>"},
        "updatedPermissions": [remembered],
    }
    denied = await recorded(policy=Rules("deny", None, f"Not {KEY}"), audit_contents=True)
    assert denied.answered == {"behavior": "deny", "message": "Not <key-1>"}


async def test_a_path_stays_as_it_was_asked_for_but_not_in_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/ada.l")
    path = "/home/ada.l/notes"
    record = await recorded(
        use("Read", {"file_path": path}),
        policy=Rules("deny", None, f"Not {path}"),
        audit_contents=True,
    )
    assert record.asked == {"file_path": path}
    assert record.answered == {"behavior": "deny", "message": f"Not {path}"}
    assert record.reason == "Not ~/notes"


async def test_answers_of_every_kind_are_written_down() -> None:
    records: list[DecisionRecord] = []
    decider = Decider(People(audit=records.append))
    with anyio.fail_after(SOON):
        await decider.decide(ask(COLOUR))
        await decider.elicit(form())
        await decider.dialog(dialog("trust", {"folder": "/a"}))
    assert [(it.tool, it.answer) for it in records] == [
        ("AskUserQuestion", "deny"),
        ("elicitation: crm", "decline"),
        ("Dialog: trust", "cancelled"),
    ]
    assert records[1].input_digest == digest({"message": "Who is it?"})
    assert records[2].input_digest == digest({"folder": "/a"})


async def test_each_kind_of_answer_has_its_own_word() -> None:
    def answer(request: Any) -> Any:
        return request.answer("Red")

    question = await recorded(ask(COLOUR), on_question=answer)
    assert (question.kind, question.answer) == ("question", "answered")
    none = PermissionResultAllow({"answers": {}})
    skipped = await recorded(ask(COLOUR), on_question=lambda request: none)
    assert skipped.answer == "skipped"
    records: list[DecisionRecord] = []
    people = People(on_question=lambda it: it.respond("Neither"), audit=records.append)
    new = Decider(people, capabilities=lambda: ["ask_user_question_unanswered_v1"])
    with anyio.fail_after(SOON):
        await new.decide(ask(COLOUR))
    assert [it.answer for it in records] == ["answered"]
    approved = await recorded(plan({"plan": "x"}), on_plan=lambda request: request.approve())
    assert (approved.kind, approved.answer) == ("plan", "approve")
    rejected = await recorded(plan({"plan": "x"}), on_plan=lambda request: request.reject("no"))
    assert (rejected.kind, rejected.answer, rejected.reason) == ("plan", "deny", "no")


async def test_what_was_asked_and_answered_is_written_down_only_if_asked_for() -> None:
    plain = await recorded(on_permission=allow)
    assert (plain.asked, plain.answered) == (None, None)
    assert "make" not in plain.to_json()

    key = "sk-ant-api03-abcdefghijklmnop"
    wish = use("Bash", {"command": f"curl -H {key} https://a.example", "password": "hunter2"})
    whole = await recorded(wish, on_permission=allow, audit_contents=True)
    assert whole.asked is not None
    assert str(whole.asked["command"]).endswith("https://a.example")
    assert whole.answered == {"behavior": "allow"}
    assert key not in whole.to_json()
    assert "hunter2" not in whole.to_json()

    def change(request: PermissionRequest) -> Any:
        return request.allow(input={"command": "make -n"}, remember="Bash(make -n)")

    changed = await recorded(on_permission=change, audit_contents=True)
    assert changed.asked == {"command": "make"}
    assert changed.answered is not None
    assert changed.answered["updatedInput"] == {"command": "make -n"}
    assert changed.answered["updatedPermissions"][0]["type"] == "addRules"

    denied = await recorded(policy=Rules("deny", "Bash", "No making"), audit_contents=True)
    assert denied.answered == {"behavior": "deny", "message": "No making"}
    question = await recorded(
        ask(COLOUR), on_question=lambda request: request.answer("Red"), audit_contents=True
    )
    assert question.answered is not None
    assert "Red" in json.dumps(question.answered["updatedInput"]["answers"])


async def test_the_environment_is_read_once_for_the_records_of_a_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Redactor] = []

    class Counted(Redactor):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            made.append(self)

    monkeypatch.setattr(decisions, "Redactor", Counted)
    records: list[DecisionRecord] = []
    options: Any = {"audit": records.append, "audit_contents": True}
    decider = Decider(People(on_permission=allow, **options))
    with anyio.fail_after(SOON):
        for password in ("hunter2-of-mine", "hunter3-of-mine", "hunter2-of-mine"):
            await decider.decide(use("Bash", {"password": password}))
    assert len(made) == 2  # for the reasons, and for the contents
    assert [it.asked for it in records] == [{"password": "<key-1>"}] * 3


async def test_what_an_mcp_server_asked_is_written_down_if_asked_for() -> None:
    records: list[DecisionRecord] = []
    decider = Decider(People(audit=records.append, audit_contents=True))
    with anyio.fail_after(SOON):
        await decider.elicit(form({"properties": {"name": {"type": "string"}}}))
        await decider.elicit(form(mode="url", url="https://a.example"))
        await decider.dialog(dialog("trust", {"folder": "/a"}))
    assert [it.asked for it in records] == [
        {
            "message": "Who is it?",
            "url": None,
            "fields": [
                {
                    "name": "name",
                    "type": "string",
                    "title": "name",
                    "description": "",
                    "required": False,
                    "choices": [],
                    "default": None,
                }
            ],
        },
        {"message": "Who is it?", "url": "https://a.example", "fields": []},
        {"folder": "/a"},
    ]
    assert [it.answered for it in records] == [
        {"action": "decline"},
        {"action": "decline"},
        {"behavior": "cancelled"},
    ]
    assert {it.reason for it in records[:2]} == {"answered by no handler"}


async def test_what_is_answered_in_the_inbox_is_written_down_so() -> None:
    inbox = Inbox()
    records: list[DecisionRecord] = []
    inbox.on_change(
        lambda change: (
            change.request.resolve(PermissionResultDeny("no")) if change.what == "added" else None
        )
    )
    await decide(person="inbox", inbox=inbox, audit=records.append)
    assert records[0].decided_by == "person"


async def test_a_real_policy_decides() -> None:
    policy = Policy(allow=["Bash(make:*)"], deny=["Bash(rm:*)"])
    assert isinstance(await decide(policy=policy), PermissionResultAllow)
    record = await recorded(use("Bash", {"command": "rm -rf /"}), policy=policy)
    assert (record.answer, record.rule) == ("deny", "Bash(rm:*)")


async def test_a_book_that_cannot_be_written_changes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(record: DecisionRecord) -> None:
        raise OSError("the disk is full")

    assert isinstance(await decide(on_permission=allow, audit=fail), PermissionResultAllow)
    assert "The decision about one.1 could not be recorded" in caplog.text


# --- registering ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"on_permission": lambda tool, input, context: None},
        {"on_question": "inbox"},
        {"on_plan": 5},
        {"on_elicitation": lambda: None},
        {"on_dialog": []},
        {"person": "somebody"},
        {"person": lambda: None},
        {"deadline": 0},
        {"deadline": -1.0},
        {"deadline": float("nan")},
    ],
)
def test_what_makes_no_sense_is_refused_at_once(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(OptionsError, match=rf"^(?:A )?{name} (?:is called|must be)"):
        People(**options)


def test_it_is_known_whether_anybody_is_there() -> None:
    assert not People().can_decide("permission")
    assert not People(on_permission=allow).can_decide("question")
    assert People(on_permission=allow).can_decide("permission")
    assert People(person="inbox").can_decide("dialog")
    assert People(person=hang).can_decide("plan")
    assert People(person="inbox").handler_for("plan") is None


# --- letting nobody decide any longer ------------------------------------------------------------


async def test_what_is_withdrawn_is_the_last_request_of_that_id() -> None:
    """A CLI may take a request back and ask again with the same id."""
    decider = Decider(People(person="inbox"))
    answers: list[Any] = []

    async def ask_once(scope: anyio.CancelScope) -> None:
        with scope:
            answers.append(await decider.decide(MAKE))

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            first = anyio.CancelScope()
            for scope in (first, anyio.CancelScope()):
                tasks.start_soon(ask_once, scope)
                await anyio.wait_all_tasks_blocked()
            first.cancel()
            await anyio.wait_all_tasks_blocked()
            (left,) = decider.inbox.pending
            assert decider.withdraw("1", "the turn is over") is left.result
    assert [message(answer) for answer in answers] == ["the turn is over"]
    assert decider.withdraw("1", "too late") is None


@pytest.mark.parametrize("how", ["withdraw", "forget"])
async def test_what_is_withdrawn_is_over_and_written_down_at_once(how: str) -> None:
    records: list[DecisionRecord] = []
    decider = Decider(People(on_permission=hang, audit=records.append))
    assert callable(decider.begin(MAKE))  # a function that would wait for the handler
    if how == "withdraw":
        answer = decider.withdraw("1", "the turn is over")
        assert message(answer) == "the turn is over"
    else:
        decider.forget("1")
    assert [(it.decided_by, it.answer, it.session_id) for it in records] == [
        ("withdrawn", "deny", None)
    ]
    assert decider.withdraw("1", "again") is None
    decider.forget("1")
    assert len(records) == 1


async def test_what_was_decided_before_it_is_withdrawn_counts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    inbox = Inbox()
    decider = Decider(People(on_permission=hang, inbox=inbox))
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(decider.begin(MAKE))
            await anyio.wait_all_tasks_blocked()
            assert inbox.answer("1", PermissionResultDeny("no"))
            assert message(decider.withdraw("1", "the turn is over")) == "no"
            tasks.cancel_scope.cancel()
    assert caplog.messages == []


def test_what_waits_has_no_ending_yet() -> None:
    request = PermissionRequest(MAKE)
    assert (request.is_waiting, request.ending, request.by) == (True, "", "")
    assert (request.expires, request.result) == (None, None)
    assert request.withdraw("the turn is over")
    assert (request.is_waiting, request.ending) == (False, "the turn is over")


async def test_a_decider_needs_to_be_told_nothing() -> None:
    decider = Decider()
    assert (decider.session, decider.cwd) == ("", None)
    assert decider.people.handler_for("permission") is None
    with anyio.fail_after(SOON):
        assert message(await decider.decide(MAKE)) == no_handler("permission")
    waiting = Decider(People(person="inbox"))
    begun = waiting.begin(ask(COLOUR))
    assert callable(begun)
    (opened,) = waiting._open.values()
    assert isinstance(opened.pending, QuestionRequest)
    assert (opened.pending.session, opened.pending.cwd) == ("", None)
    assert (opened.pending.form, opened.pending.tells_unanswered) == ("joined", False)
    waiting.forget("1")


# --- what takes long -----------------------------------------------------------------------------


def threads_of_realpath() -> tuple[list[int], Policy]:
    """A policy that notes in which thread it looks at links."""
    threads: list[int] = []

    def realpath(path: str) -> str:
        threads.append(threading.get_ident())
        return path

    return threads, Policy(allow=["Read"], deny=["Read(secret)"], realpath=realpath)


def of_line(length: int, path: int) -> Request:
    """A request that was read from a line of this length, with a path of this length."""
    input = {"limit": 5, "file_path": "/" + "a" * (path - 1)}
    body = {"subtype": "can_use_tool", "tool_name": "Read", "input": input}
    line = json.dumps({"type": "control_request", "request_id": "1", "request": body}).encode()
    line = line[:-1] + b" " * (length - len(line)) + b"}"
    (request,) = Connection(Role.CLIENT).receive_data(line + b"\n")
    assert isinstance(request, Request)
    assert len(request.line) == length
    return request


@pytest.mark.parametrize(
    ("asked", "is_long"),
    [
        (use("Read", {"limit": 5, "file_path": "/" + "a" * 299}), False),
        (use("Read", {"limit": 5, "file_path": "/" + "a" * 300}), True),
        (of_line(200, 20), False),
        (of_line(1000, 300), False),
        (of_line(1000, 301), True),
        (of_line(4000, 20), False),
        (of_line(4001, 20), True),
    ],
)
async def test_a_policy_looks_at_a_long_input_in_a_thread(asked: Request, is_long: bool) -> None:
    threads, policy = threads_of_realpath()
    answer = await decide(asked, policy=policy)
    assert isinstance(answer, PermissionResultAllow)
    assert threads
    assert (threading.get_ident() not in threads) is is_long
    threads.clear()
    await decide(asked, on_permission=policy_then(policy, never))
    assert (threading.get_ident() not in threads) is is_long


@pytest.mark.parametrize("as_person", [False, True])
async def test_long_inputs_of_a_session_take_one_thread_and_not_one_each(as_person: bool) -> None:
    begun, may_go_on = threading.Event(), threading.Event()

    def realpath(path: str) -> str:
        begun.set()
        assert may_go_on.wait(SOON)
        return path

    policy = Policy(allow=["Read"], deny=["Read(x)"], realpath=realpath)
    options: Any = {"person": policy_then(policy, never)} if as_person else {"policy": policy}
    decider = Decider(People(**options))
    before = {*threading.enumerate()}
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            for number in range(5):
                asked = use("Read", {"file_path": "/" + "a" * 1000}, str(number))
                tasks.start_soon(decider.decide, asked)
            await soon(begun.is_set)
            await anyio.wait_all_tasks_blocked()
            assert len({*threading.enumerate()} - before) <= 1
            may_go_on.set()


async def test_a_long_input_that_nobody_looks_at_needs_no_thread() -> None:
    answer = Decider().begin(use("Bash", {"command": "a" * 10_000}))
    assert message(answer) == no_handler("permission")


async def test_a_policy_of_the_application_stays_in_its_thread() -> None:
    threads: list[int] = []

    class Mine:
        def decide(self, tool: str, input: dict[str, Any], /, *, cwd: str | None = None) -> Any:
            threads.append(threading.get_ident())
            return Decision("allow", "")

    await decide(use("Bash", {"command": "a" * 10_000}), policy=Mine())
    assert threads == [threading.get_ident()]


async def test_a_policy_that_fails_in_a_thread_denies() -> None:
    def realpath(path: str) -> str:
        raise SystemExit

    policy = Policy(allow=["Read"], deny=["Read(x)"], realpath=realpath)
    answer = await decide(use("Read", {"file_path": "/" + "a" * 1000}), policy=policy)
    assert message(answer) == POLICY_FAILED


async def test_what_is_withdrawn_while_a_policy_looks_at_it_is_denied() -> None:
    begun, may_go_on = threading.Event(), threading.Event()

    def realpath(path: str) -> str:
        begun.set()
        assert may_go_on.wait(SOON)
        return path

    policy = Policy(allow=["Read"], deny=["Read(x)"], realpath=realpath)
    asked = use("Read", {"file_path": "/" + "a" * 1000})
    decider = Decider(People(policy=policy))
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as group:
            group.start_soon(decider.decide, asked)
            await anyio.to_thread.run_sync(begun.wait)
            withdrawn = decider.withdraw(asked.id, "the turn is over")
            may_go_on.set()
    assert message(withdrawn) == "the turn is over"


async def test_a_long_input_is_digested_and_redacted_in_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[int] = []

    def noted(input: Any) -> str:
        threads.append(threading.get_ident())
        return digest(input)

    monkeypatch.setattr("claudewire.people.decisions.digest", noted)
    records: list[DecisionRecord] = []
    for length in (10, 10_000):
        input = {"content": "a" * length, "api_key": "x"}
        options: Any = {"audit": records.append, "audit_contents": True}
        await decide(use("Write", input), on_permission=allow, **options)
    assert threads[0] == threading.get_ident() != threads[1]
    for record in records:
        assert record.asked is not None
        assert record.asked["api_key"] == "<key-1>"
    assert records[1].input_digest == digest({"content": "a" * 10_000, "api_key": "x"})


@pytest.mark.parametrize("audited", [False, True])
@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ({"policy": Rules("allow")}, "allowed"),
        ({"policy": Rules("deny", None, "no")}, "no"),
        ({"policy": Rules("ask"), "on_permission": allow}, "allowed"),
        ({"policy": Rules("ask"), "on_permission": plainly}, "not now"),
        ({"policy": Rules("ask")}, no_handler("permission")),
        ({"policy": Policy(deny=["Bash"]), "on_permission": never}, "`Bash` denies it"),
        ({"on_permission": allow}, "allowed"),
        ({}, no_handler("permission")),
    ],
)
async def test_a_long_input_is_decided_as_any_other(
    options: dict[str, Any], answer: str, audited: bool
) -> None:
    records: list[DecisionRecord] = []
    input = {"command": "a" * 1000}
    decider = Decider(People(**options, audit=records.append if audited else None))
    with anyio.fail_after(SOON):
        begun = decider.begin(use("Bash", input))
        given = await begun() if callable(begun) else begun
    if answer == "allowed":
        assert given == PermissionResultAllow(input, tool_use_id="toolu_1")
    else:
        assert given == PermissionResultDeny(answer, tool_use_id="toolu_1")
    digests = [digest(input)] if audited else []
    assert [it.input_digest for it in records] == digests
    assert decider.withdraw("1", "too late") is None


async def test_a_long_input_may_be_given_up_while_it_is_looked_at() -> None:
    begun, may_go_on = threading.Event(), threading.Event()

    def realpath(path: str) -> str:
        begun.set()
        assert may_go_on.wait(SOON)
        return path

    records: list[DecisionRecord] = []
    policy = Policy(allow=["Read"], deny=["Read(x)"], realpath=realpath)
    decider = Decider(People(policy=policy, audit=records.append))
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            answer = decider.begin(use("Read", {"file_path": "/" + "a" * 1000}))
            tasks.start_soon(answer)
            await soon(begun.is_set)
            tasks.cancel_scope.cancel()
    may_go_on.set()
    assert [(it.answer, it.decided_by) for it in records] == [("deny", "withdrawn")]
    assert decider.withdraw("1", "too late") is None


async def test_a_long_input_of_which_no_record_is_kept_is_not_digested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("claudewire.people.decisions.digest", never)
    asked = use("Read", {"file_path": "/" + "a" * 1000})
    assert isinstance(await decide(asked, policy=Policy(allow=["Read"])), PermissionResultAllow)


class NotToBeRead:
    def __str__(self) -> str:
        raise AssertionError("it is far behind the beginning")


def test_the_title_of_a_long_request_is_made_of_its_beginning() -> None:
    pieces = [
        PermissionRequest(use("Bash", {"command": "word " * 100_000})).title,
        PermissionRequest(use("Other", {"list": ["word"] * 100_000 + [NotToBeRead()]})).title,
    ]
    assert pieces[0].startswith("Bash: word word")
    assert pieces[1].startswith('Other: {"list": ["word", "word"')
    assert all(len(title) < 250 for title in pieces)
