"""Everything that waits for a person: listed, followed, answered from anywhere, never lost."""

from __future__ import annotations

import gc
import logging
import random
import threading
import weakref
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.people.asking import COLOUR, SOON, ask, dialog, form, permission, plan, use

from claudewire.concurrency import MailboxClosed
from claudewire.people import (
    AnswerError,
    DialogRequest,
    ElicitationRequest,
    Inbox,
    PermissionRequest,
    PlanRequest,
    QuestionRequest,
)
from claudewire.people.inbox import Change
from claudewire.people.pending import Clock, Keeper, Pending, PendingState, decided_here
from claudewire.wire import PermissionResultAllow, PermissionResultDeny, Request

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("kind", "request_", "title"),
    [
        (PermissionRequest, use("Bash", {"command": "make"}), "Bash: make"),
        (QuestionRequest, ask(COLOUR), "Which colour?"),
        (PlanRequest, plan({"plan": "Do."}), "A plan waits for approval: Do."),
        (ElicitationRequest, form(), "crm: Who is it?"),
        (DialogRequest, dialog(), "Dialog: trust"),
    ],
)
def test_every_request_knows_what_it_is_about_who_asks_and_since_when(
    kind: Callable[..., Pending[Any]], request_: Request, title: str
) -> None:
    asked = kind(request_, session="first", clock=Clock(time=lambda: 5.0, monotonic=lambda: 1.0))
    assert (asked.title, asked.session, asked.id) == (title, "first", "first.1")
    assert asked.since == 5.0


def told(answer: Any) -> str | None:
    """What the model is told by a denial."""
    assert isinstance(answer, PermissionResultDeny)
    return answer.message


async def asked(
    inbox: Inbox, request: PermissionRequest, act: Callable[[], object], **options: Any
) -> Any:
    """Put a request, do something while it waits, and give the answer."""
    answers: list[Any] = []

    async def ask() -> None:
        answers.append(await inbox.ask(request, **options))

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            act()
    return answers[0]


# --- answering -----------------------------------------------------------------------------------


async def test_a_request_is_listed_while_it_waits() -> None:
    inbox, request = Inbox(), permission("make")
    seen: list[object] = []

    def act() -> None:
        seen.extend([inbox.pending, inbox.get("1")])
        request.allow()
        assert inbox.pending == ()

    await asked(inbox, request, act)
    assert seen == [(request,), request]
    assert inbox.get("1") is None


async def test_a_request_that_has_ended_is_not_left_to_the_garbage_collector() -> None:
    # With thousands of them, one of its rounds would take very long.
    request = permission()
    inbox, ended = Inbox(), weakref.ref(request)
    inbox._add(request, None)
    request._answered_by_another = request.describe
    gc.disable()
    try:
        request.allow()
        del request
        assert ended() is None
    finally:
        gc.enable()


async def test_it_is_answered_by_its_own_methods() -> None:
    inbox, request = Inbox(), permission()
    answer = await asked(inbox, request, request.allow)
    assert answer is request.result
    assert isinstance(answer, PermissionResultAllow)
    assert request.state is PendingState.ANSWERED
    assert request.ending == "answered"


async def test_it_is_answered_by_its_id() -> None:
    inbox, request = Inbox(), permission()
    results: list[bool] = []
    answer = PermissionResultDeny("no")

    def act() -> None:
        results.append(inbox.answer("1", answer, by="Ada"))
        results.append(inbox.answer("1", answer, by="Bob"))

    assert told(await asked(inbox, request, act)) == "no"
    assert results == [True, False]
    assert (request.by, request.ending) == ("Ada", "answered by Ada")


async def test_it_is_answered_by_the_name_of_an_action() -> None:
    inbox, request = Inbox(), permission()
    results: list[bool] = []

    def act() -> None:
        with pytest.raises(AnswerError, match="it takes allow, deny"):
            inbox.act("1", "resolve", {})
        with pytest.raises(AnswerError, match="does not take these arguments"):
            inbox.act("1", "deny", {"because": "no"})
        assert request.is_waiting
        results.append(inbox.act("1", "deny", {"reason": "not now"}, by="Ada"))
        results.append(inbox.act("1", "allow"))

    assert told(await asked(inbox, request, act)) == "not now"
    assert results == [True, False]
    assert request.by == "Ada"


async def test_the_first_answer_wins() -> None:
    inbox, request = Inbox(), permission()

    def act() -> None:
        first, second = request.allow(), request.deny("no")
        assert request.result is first
        assert inbox.answer("1", second) is False

    assert isinstance(await asked(inbox, request, act), PermissionResultAllow)


async def test_giving_the_answer_that_counts_again_is_no_defeat() -> None:
    inbox, request = Inbox(), permission()

    def act() -> None:
        answer = request.allow()
        assert request.resolve(answer) is True

    await asked(inbox, request, act)


async def test_what_is_no_answer_is_refused_and_the_request_still_waits() -> None:
    inbox, request = Inbox(), permission()

    def act() -> None:
        for nonsense in (True, "allow", None, {"behavior": "allowed"}):
            with pytest.raises(TypeError, match="is not an answer to a permission"):
                inbox.answer("1", nonsense)
        request.deny("no")

    assert told(await asked(inbox, request, act)) == "no"


@pytest.mark.parametrize("rounds", range(5))
async def test_of_many_threads_exactly_one_wins(rounds: int) -> None:
    inbox, request = Inbox(), permission()
    start, won = threading.Barrier(8), []

    def answer(number: int) -> None:
        start.wait(SOON)
        if inbox.answer("1", PermissionResultDeny(str(number))):
            won.append(number)

    def act() -> None:
        threads = [threading.Thread(target=answer, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SOON)

    answer_given = told(await asked(inbox, request, act))
    assert [answer_given] == [str(number) for number in won]


async def test_a_thousand_are_answered_from_another_thread_in_random_order() -> None:
    inbox = Inbox()
    answers: dict[int, Any] = {}
    changes: list[tuple[str, str]] = []
    inbox.on_change(lambda change: changes.append((change.what, change.request.id)))

    async def ask(number: int) -> None:
        answers[number] = await inbox.ask(permission(f"make {number}", f"r{number}"))

    def answer_all() -> None:
        waiting = list(inbox.pending)
        random.Random(5).shuffle(waiting)
        for request in waiting:
            assert isinstance(request, PermissionRequest)
            command = request.input["command"]
            if int(request.id[1:]) % 2:
                request.allow(input={"command": f"{command}!"})
            else:
                assert inbox.answer(request.id, PermissionResultDeny(f"not {command}"))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for number in range(1000):
                tasks.start_soon(ask, number)
            await anyio.wait_all_tasks_blocked()
            assert len(inbox.pending) == 1000
            await anyio.to_thread.run_sync(answer_all)
    for number in range(1000):
        if number % 2:
            assert answers[number].updated_input == {"command": f"make {number}!"}
        else:
            assert answers[number].message == f"not make {number}"
    assert inbox.pending == ()
    assert len(changes) == 2000
    assert len(set(changes)) == 2000


async def test_one_inbox_serves_several_sessions() -> None:
    inbox = Inbox()
    one, two, three = (permission("a", session=name) for name in ("one", "two", "two"))

    def act() -> None:
        assert {request.id for request in inbox.pending} == {"one.1", "two.1", "two.1~2"}
        for request in (two, three):
            assert request.withdraw("the session was closed")
        assert inbox.pending == (one,)
        one.allow()

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            for request in (one, two, three):
                tasks.start_soon(inbox.ask, request)
            await anyio.wait_all_tasks_blocked()
            act()
    assert [it.state.value for it in (one, two, three)] == ["answered", "withdrawn", "withdrawn"]
    assert two.ending == "the session was closed"


READS = ("ask_user_question_unanswered_v1",)


@pytest.mark.parametrize(
    ("make", "action", "arguments"),
    [
        (lambda: permission(), "allow", {}),
        (lambda: permission(), "deny", {}),
        (lambda: QuestionRequest(ask(COLOUR)), "answer", {"answers": "Red"}),
        (lambda: QuestionRequest(ask(COLOUR)), "respond", {"text": "No"}),
        (lambda: QuestionRequest(ask(COLOUR), capabilities=READS), "respond", {"text": "No"}),
        (lambda: QuestionRequest(ask(COLOUR)), "skip", {}),
        (lambda: PlanRequest(plan({})), "approve", {}),
        (lambda: PlanRequest(plan({})), "revise", {"feedback": "More"}),
        (lambda: PlanRequest(plan({})), "reject", {}),
        (lambda: ElicitationRequest(form()), "accept", {}),
        (lambda: ElicitationRequest(form()), "decline", {}),
        (lambda: ElicitationRequest(form()), "cancel", {}),
        (lambda: DialogRequest(dialog()), "complete", {}),
        (lambda: DialogRequest(dialog()), "dismiss", {}),
    ],
)
def test_every_action_answers_the_request(
    make: Callable[[], Pending[Any]], action: str, arguments: dict[str, Any]
) -> None:
    request = make()
    answer = getattr(request, action)(**arguments)
    assert (request.state, request.result) == (PendingState.ANSWERED, answer)
    assert action in request.actions


# --- other ends ----------------------------------------------------------------------------------


async def test_a_request_whose_task_is_cancelled_is_withdrawn() -> None:
    inbox, request = Inbox(), permission()
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(inbox.ask, request)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
    assert request.state is PendingState.WITHDRAWN
    assert inbox.pending == ()
    assert request.allow() is not request.result
    assert told(request.result) == "the request was withdrawn before it was decided"
    assert inbox.answer("1", PermissionResultAllow()) is False
    assert inbox.act("1", "allow", {}) is False


async def test_a_request_is_withdrawn_once() -> None:
    inbox, request = Inbox(), permission()

    def act() -> None:
        assert request.withdraw("the turn has ended") is True
        assert request.withdraw() is False

    assert told(await asked(inbox, request, act)) == "the turn has ended"
    assert request.ending == "the turn has ended"


async def test_at_the_deadline_the_answer_is_no() -> None:
    inbox, request = Inbox(clock=Clock(lambda: 100.0, lambda: 5.0)), permission()
    with anyio.fail_after(SOON):
        answer = await inbox.ask(request, deadline=0.01)
    assert told(answer) == "no decision was made within 0.01 seconds"
    assert request.state is PendingState.EXPIRED
    assert inbox.pending == ()


async def test_an_answer_before_the_deadline_is_in_time() -> None:
    inbox, request = Inbox(), permission()
    answer = await asked(inbox, request, request.allow, deadline=SOON)
    assert isinstance(answer, PermissionResultAllow)


async def test_what_is_answered_before_it_is_put_does_not_wait() -> None:
    inbox, request = Inbox(), permission()
    changes: list[str] = []
    inbox.on_change(lambda change: changes.append(change.what))
    request.allow()
    with anyio.fail_after(SOON):
        assert await inbox.ask(request) is request.result
    assert inbox.pending == ()
    assert changes == ["added", "answered"]


async def test_what_is_answered_at_the_moment_when_it_is_put_ends_once() -> None:
    class Racing(PermissionRequest):
        """Answered by somebody else at that moment."""

        def _wait_in(self, inbox: Keeper) -> None:
            self.deny("no")
            super()._wait_in(inbox)

    inbox, changes = Inbox(), []
    inbox.on_change(lambda change: changes.append(change.what))
    with anyio.fail_after(SOON):
        assert told(await inbox.ask(Racing(use("Bash", {})))) == "no"
    assert changes == ["added", "answered"]
    assert inbox.pending == ()


async def test_a_request_knows_how_long_it_waits() -> None:
    now = [0.0]
    clock = Clock(lambda: 1000.0 + now[0], lambda: now[0])
    request = permission(clock=clock)

    def act() -> None:
        assert request.expires == 1030.0
        now[0] = 5.0
        assert request.waited == 5.0
        request.allow()
        now[0] = 9.0

    await asked(Inbox(), request, act, deadline=30.0)
    assert request.since == 1000.0
    assert request.waited == 5.0


async def test_a_request_tells_what_it_is() -> None:
    inbox, clock = Inbox(), Clock(lambda: 1000.0, lambda: 7.0)
    asked = use("Bash", {"command": "make test"}, agent_id="sub-1", decision_reason="a rule")
    request = PermissionRequest(asked, session="one", clock=clock)
    inbox._add(request, 30.0)
    assert repr(request) == "<PermissionRequest 'one.1' waiting: Bash: make test>"
    assert request.describe() == {
        "id": "one.1",
        "kind": "permission",
        "title": "Bash: make test",
        "session": "one",
        "agent_id": "sub-1",
        "since": 1000.0,
        "expires": 1030.0,
        "actions": ["allow", "deny"],
        "tool_name": "Bash",
        "input": {"command": "make test"},
        "reason": "a rule",
        "blocked_path": None,
        "suggestions": [],
        "diff": None,
    }


@pytest.mark.parametrize(
    ("session", "request_id", "id"),
    [
        ("", "1", "1"),
        ("one", "req-1.2", "one.req-1.2"),
        ("my work/1", "r?1", "my-work-1.r-1"),
        ("größe", "1", "gr-e.1"),
        ("a_b~c", "1", "a_b~c.1"),
    ],
)
def test_an_id_can_be_in_a_url(session: str, request_id: str, id: str) -> None:
    assert permission(id=request_id, session=session).id == id


async def test_everyone_who_waits_is_told_the_answer() -> None:
    request, answers = permission(), []

    async def wait() -> None:
        answers.append(await request.wait())

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(wait)
                await anyio.wait_all_tasks_blocked()
            answer = request.allow()
        await wait()  # also afterwards
    assert answers == [answer] * 3


def test_what_is_withdrawn_without_a_reason_says_so() -> None:
    request = permission()
    assert request.withdraw()
    assert (request.ending, told(request.result)) == ("withdrawn", "withdrawn")
    assert request.by == ""


def test_an_answer_need_not_say_who_gave_it() -> None:
    inbox, requests = Inbox(), [permission(id=id) for id in ("1", "2", "3")]
    for request in requests:
        inbox._add(request, None)
    assert inbox.answer("1", PermissionResultAllow())
    assert inbox.act("2", "allow")
    assert decided_here.get() is None
    assert requests[2].resolve(PermissionResultAllow())
    assert [(it.by, it.ending) for it in requests] == [("", "answered")] * 3


def test_a_clock_that_fails_keeps_no_request_from_ending(
    caplog: pytest.LogCaptureFixture,
) -> None:
    times = iter([7.0])

    def fail() -> float:
        for time in times:
            return time
        raise SystemExit("no time")

    request = permission(clock=Clock(lambda: 1000.0, fail))
    request.allow()
    assert isinstance(request.result, PermissionResultAllow)
    assert request.waited == 0.0
    assert caplog.messages == ["The clock of the inbox raised an exception"]


async def test_a_kind_of_request_has_to_say_what_its_answers_are() -> None:
    request: Pending[object] = Pending("1", title="?")
    with pytest.raises(NotImplementedError):
        request._fitted("yes")
    with pytest.raises(NotImplementedError):
        request._denial("because")
    with pytest.raises(NotImplementedError):
        _ = Pending("1").title


# --- following -----------------------------------------------------------------------------------


async def test_whoever_follows_sees_what_waits_and_all_that_happens() -> None:
    inbox = Inbox()
    old, answered, expired = permission("a", "1"), permission("b", "2"), permission("c", "3")
    seen: list[tuple[str, str]] = []

    async def follow() -> None:
        with inbox.changes() as changes:
            async for change in changes:
                seen.append((change.what, change.request.id))
                if len(seen) == 6:
                    return

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(inbox.ask, old)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(follow)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(inbox.ask, answered)
            await anyio.wait_all_tasks_blocked()
            answered.allow()
            await inbox.ask(expired, deadline=0.001)
            old.withdraw()
    assert seen == [
        ("added", "1"),
        ("added", "2"),
        ("answered", "2"),
        ("added", "3"),
        ("expired", "3"),
        ("withdrawn", "1"),
    ]


async def test_a_thread_can_follow_and_answer() -> None:
    inbox, request = Inbox(), permission()
    seen: list[str] = []
    changes = inbox.changes()

    def follow() -> None:
        for change in changes:
            seen.append(change.what)
            if change.what == "added":
                assert isinstance(change.request, PermissionRequest)
                change.request.deny("not from this thread")

    thread = threading.Thread(target=follow)
    thread.start()
    with anyio.fail_after(SOON):
        answer = await inbox.ask(request)
    changes.close()
    thread.join(SOON)
    assert told(answer) == "not from this thread"
    assert seen == ["added", "answered"]


async def test_a_thread_that_follows_waits_no_longer_than_it_wants() -> None:
    changes = Inbox().changes()
    with pytest.raises(TimeoutError):
        changes.get(0.001)
    changes.close()
    with pytest.raises(MailboxClosed):
        changes.get(SOON)


async def test_a_reader_in_a_task_is_let_go_when_it_is_closed() -> None:
    changes = Inbox().changes()

    async def follow() -> None:
        assert [change async for change in changes] == []

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await anyio.wait_all_tasks_blocked()
            changes.close()


async def test_a_follower_that_is_closed_is_told_no_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    inbox, request = Inbox(), permission()
    with inbox.changes():
        pass
    await asked(inbox, request, request.allow)
    assert inbox._subscribers == []
    assert caplog.messages == []


async def test_a_callback_may_answer_at_once_and_the_order_is_kept() -> None:
    inbox, seen = Inbox(), []

    def decide(change: Change) -> None:
        if change.what == "added":
            assert isinstance(change.request, PermissionRequest)
            change.request.deny("never")

    inbox.on_change(decide)
    inbox.on_change(lambda change: seen.append(change.what))
    with anyio.fail_after(SOON):
        assert told(await inbox.ask(permission())) == "never"
    assert seen == ["added", "answered"]


async def test_a_callback_is_called_for_one_change_after_the_other() -> None:
    """Also if it answers, and if someone else begins to follow meanwhile."""
    inbox, seen = Inbox(), []
    late: list[str] = []

    def decide(change: Change) -> None:
        seen.append(f"{change.what} begins")
        if change.what == "added":
            inbox.on_change(lambda change: late.append(change.what))
            change.request.withdraw()
        seen.append(f"{change.what} ends")

    inbox.on_change(decide)
    with anyio.fail_after(SOON):
        await inbox.ask(permission())
    assert seen == ["added begins", "added ends", "withdrawn begins", "withdrawn ends"]
    assert late == ["added", "withdrawn"]


async def test_a_callback_that_fails_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    inbox, request, seen = Inbox(), permission(), []

    def fail(change: Change) -> None:
        raise RuntimeError("The window is gone")

    inbox.on_change(fail)
    inbox.on_change(lambda change: seen.append(change.what))
    with caplog.at_level(logging.ERROR, "claudewire.people.inbox"):
        await asked(inbox, request, request.allow)
    assert seen == ["added", "answered"]
    assert "The window is gone" in caplog.text


async def test_whoever_has_had_enough_is_told_no_more() -> None:
    inbox, request, seen = Inbox(), permission(), []
    stop = inbox.on_change(lambda change: seen.append(change.what))

    def act() -> None:
        stop()
        stop()
        request.allow()

    await asked(inbox, request, act)
    assert seen == ["added"]


async def test_who_follows_twice_and_stops_once_is_told_once() -> None:
    inbox, request, seen = Inbox(), permission(), []

    def follow(change: Change) -> None:
        seen.append(change.what)

    inbox.on_change(follow)
    stop = inbox.on_change(follow)
    stop()
    await asked(inbox, request, request.allow)
    assert seen == ["added", "answered"]


async def test_whoever_stops_in_the_middle_is_told_no_more() -> None:
    inbox, seen = Inbox(), []

    def first(change: Change) -> None:
        stop()

    inbox.on_change(first)
    stop = inbox.on_change(lambda change: seen.append(change.what))
    with anyio.fail_after(SOON):
        await inbox.ask(permission(), deadline=0.001)
    assert seen == []
