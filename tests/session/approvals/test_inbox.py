"""All pending requests: listed, followed, answered from anywhere, never lost."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.session.approvals.asking import COLOUR, SOON, ask, dialog, form, permission, plan

from claudewire.approvals import (
    ApprovalRequest,
    ApprovalState,
    DialogRequest,
    ElicitationRequest,
    Inbox,
    PermissionResultDeny,
    PlanRequest,
    QuestionRequest,
)
from claudewire.concurrency import MailboxClosed

pytestmark = pytest.mark.anyio

NO = PermissionResultDeny("no")


def pending(inbox: Inbox, command: str = "make", id: str = "1", session: str = "") -> Any:
    request = permission(command, id, session)
    inbox.add(request)
    return request


# --- answering -----------------------------------------------------------------------------------


def test_request_is_listed_while_it_is_pending() -> None:
    inbox = Inbox()
    request = pending(inbox)
    assert (inbox.pending, inbox.get("1")) == ((request,), request)
    assert request.resolve(request.allow())
    assert (inbox.pending, inbox.get("1")) == ((), None)


async def test_first_answer_counts() -> None:
    inbox = Inbox()
    request = pending(inbox)
    assert request.resolve(NO, by="Ada")
    assert not request.resolve(NO, by="Bob")
    assert not request.resolve(request.allow())
    assert not request.withdraw()
    assert not inbox.act("1", "allow")
    assert request.state is ApprovalState.ANSWERED
    assert (request.by, request.ending) == ("Ada", "answered by Ada")
    assert await request.wait() is request.result


@pytest.mark.parametrize(
    "request_",
    [
        permission(),
        QuestionRequest(ask(COLOUR)),
        PlanRequest(plan({})),
        ElicitationRequest(form()),
        DialogRequest(dialog()),
    ],
    ids=lambda it: it.kind,
)
def test_every_action_makes_an_answer(request_: ApprovalRequest[Any]) -> None:
    arguments = {
        "answer": {"answers": "Red"},
        "respond": {"text": "No"},
        "revise": {"feedback": "?"},
    }
    for action in request_.actions:
        answer = request_.act(action, arguments.get(action, {}))
        assert request_.is_waiting
        assert type(request_.check(answer)) is type(answer)
    assert request_.resolve(request_.refusal("no"))


@pytest.mark.parametrize("_round", range(5))
def test_exactly_one_of_many_threads_wins(_round: int) -> None:
    inbox, start, won = Inbox(), threading.Barrier(8), list[str]()
    request = pending(inbox)

    def answer(number: str) -> None:
        start.wait(SOON)
        if request.resolve(PermissionResultDeny(number)):
            won.append(number)

    threads = [threading.Thread(target=answer, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    assert [request.result.message] == won


def test_request_that_ends_before_it_is_added_is_not_pending() -> None:
    inbox, request = Inbox(), permission()
    with inbox.changes() as changes:
        request.withdraw()
        inbox.add(request)
        assert inbox.pending == ()
        assert [changes.get(SOON).what for _ in range(2)] == ["added", "withdrawn"]


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
def test_id_is_safe_in_a_url(session: str, request_id: str, id: str) -> None:
    assert permission(id=request_id, session=session).id == id


# --- following -----------------------------------------------------------------------------------


async def test_task_follows_pending_requests_and_changes() -> None:
    inbox, seen = Inbox(), list[str]()
    old = pending(inbox, id="1")

    async def follow() -> None:
        with inbox.changes() as changes:
            async for change in changes:
                seen.append(f"{change.what} {change.request.id}")
                if len(seen) == 4:
                    return

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await anyio.wait_all_tasks_blocked()
            pending(inbox, id="2").resolve(NO)
            old.withdraw()
    assert seen == ["added 1", "added 2", "answered 2", "withdrawn 1"]


async def test_thread_follows_and_answers() -> None:
    inbox, seen = Inbox(), list[str]()
    changes = inbox.changes()

    def follow() -> None:
        for change in changes:
            seen.append(change.what)
            if change.what == "added":
                inbox.act(change.request.id, "deny", {"reason": "not from this thread"})

    thread = threading.Thread(target=follow)
    thread.start()
    with anyio.fail_after(SOON):
        answer = await pending(inbox).wait()
    changes.close()
    thread.join(SOON)
    assert answer.message == "not from this thread"
    assert seen == ["added", "answered"]


async def test_closed_reader_is_released() -> None:
    changes = Inbox().changes()
    with pytest.raises(TimeoutError):
        changes.get(0.001)

    async def follow() -> None:
        assert [change async for change in changes] == []

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await anyio.wait_all_tasks_blocked()
            changes.close()
    with pytest.raises(MailboxClosed):
        changes.get(SOON)
