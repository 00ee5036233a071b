"""Whoever decides is called as it likes to be, and a failure is a no that is logged."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import anyio
import msgspec
import pytest
from tests.people.asking import SOON, permission

from claudewire.errors import OptionsError
from claudewire.people import PermissionRequest, PermissionResultAllow, PermissionResultDeny
from claudewire.people.handlers import Handler, Outcome, check_handler, run_handler
from claudewire.people.pending import decided_here

pytestmark = pytest.mark.anyio

FAILED = "The application's handler failed, so the answer is no."


async def answer_of(handler: Handler, **options: Any) -> Any:
    request = permission()
    with anyio.fail_after(SOON):
        await run_handler(handler, request, **options)
    assert not request.is_waiting
    assert decided_here.get() is None
    return request.result


def allows(answer: object) -> bool:
    return isinstance(answer, PermissionResultAllow)


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
        lambda request: request.allow(),
        lambda request, extra=1: request.allow(),
        lambda *requests: requests[0].allow(),
        lambda request: slowly("", request),
        functools.partial(slowly, "because"),
        lambda request: PermissionResultAllow(),
    ],
)
async def test_any_function_of_a_request_can_decide(handler: Handler) -> None:
    check_handler(handler, "on_permission")
    assert allows(await answer_of(handler))


async def test_a_plain_function_runs_in_a_thread_and_may_wait() -> None:
    threads: list[threading.Thread] = []
    together = threading.Barrier(2)

    def decide(request: PermissionRequest) -> Any:
        together.wait(SOON)
        threads.append(threading.current_thread())
        return request.allow()

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(answer_of, decide)
            tasks.start_soon(answer_of, decide)
    assert threading.current_thread() not in threads
    assert len(threads) == 2


async def test_a_coroutine_function_runs_in_the_event_loop() -> None:
    threads: list[threading.Thread] = []

    async def decide(request: PermissionRequest) -> Any:
        threads.append(threading.current_thread())
        return request.allow()

    await answer_of(decide)
    assert threads == [threading.current_thread()]


# --- what a handler returns ----------------------------------------------------------------------


async def test_what_a_handler_returns_counts_and_not_what_it_has_made() -> None:
    async def decide(request: PermissionRequest) -> Any:
        yes, no = request.allow(), request.deny("too dangerous")
        assert request.is_waiting
        return no if request.input else yes

    assert (await answer_of(decide)).message == "too dangerous"


async def test_what_a_handler_returns_counts_also_if_it_has_made_one_answer() -> None:
    async def decide(request: PermissionRequest) -> Any:
        request.allow()
        return PermissionResultDeny("too dangerous")

    assert (await answer_of(decide)).message == "too dangerous"


@pytest.mark.parametrize("run_in_thread", [True, False])
async def test_a_handler_that_forgets_to_return_has_given_its_only_answer(
    run_in_thread: bool,
) -> None:
    def plainly(request: PermissionRequest) -> None:
        request.allow()

    async def slowly(request: PermissionRequest) -> None:
        request.allow()

    assert allows(await answer_of(plainly if run_in_thread else slowly))


NOT_AN_ANSWER = "is not an answer to a permission; return what `request.allow(…)`"


@dataclass
class OfficialAllow:
    """As the official SDK has it."""

    behavior: str = "allow"
    updated_input: dict[str, Any] | None = None
    updated_permissions: list[Any] | None = None


@dataclass
class OfficialDeny:
    """As the official SDK has it."""

    behavior: str = "deny"
    message: str = ""
    interrupt: bool = False


@pytest.mark.parametrize(
    ("returned", "logged"),
    [
        (True, NOT_AN_ANSWER),
        (False, NOT_AN_ANSWER),
        (None, NOT_AN_ANSWER),
        ("allow", NOT_AN_ANSWER),
        (1, NOT_AN_ANSWER),
        (PermissionRequest, NOT_AN_ANSWER),
        (OfficialAllow, NOT_AN_ANSWER),
        ({}, NOT_AN_ANSWER),
        ({"allow": True}, NOT_AN_ANSWER),
        ({"behavior": True}, NOT_AN_ANSWER),
        ({"behavior": "allowed"}, NOT_AN_ANSWER),
        ({"behaviour": "allow"}, NOT_AN_ANSWER),
        ({"behavior": "allow", "input": {}}, "A decision has no 'input'"),
        ({"behavior": "allow", "updatedInput": 5}, "is not a decision: Expected `object"),
        (OfficialAllow(updated_permissions=[{"rules": []}]), "is not a decision"),
        (OfficialAllow(behavior="maybe"), NOT_AN_ANSWER),
    ],
)
async def test_a_handler_that_returns_nonsense_has_said_no(
    returned: Any, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    def decide(request: PermissionRequest) -> Any:
        return returned

    answer = await answer_of(decide)
    assert answer == PermissionResultDeny(FAILED, tool_use_id="toolu_1")
    assert logged in caplog.text


@pytest.mark.parametrize(
    ("returned", "answer"),
    [
        ({"behavior": "deny", "message": "no"}, PermissionResultDeny("no")),
        (
            {"behavior": "deny", "message": "no", "interrupt": True},
            PermissionResultDeny("no", True),
        ),
        (OfficialDeny(message="no"), PermissionResultDeny("no", False)),
        ({"behavior": "allow"}, PermissionResultAllow({"command": "make"})),
        (
            {"behavior": "allow", "updatedInput": {"command": "pwd"}},
            PermissionResultAllow({"command": "pwd"}),
        ),
        (OfficialAllow(), PermissionResultAllow({"command": "make"})),
        (
            OfficialAllow(updated_input={"command": "pwd"}),
            PermissionResultAllow({"command": "pwd"}),
        ),
    ],
)
async def test_a_handler_may_return_what_the_official_sdk_sends(
    returned: Any, answer: PermissionResultAllow | PermissionResultDeny
) -> None:
    given = await answer_of(lambda request: returned)
    assert given == msgspec.structs.replace(answer, tool_use_id="toolu_1")


async def test_a_handler_that_makes_two_answers_and_returns_none_has_said_no() -> None:
    async def decide(request: PermissionRequest) -> None:
        request.deny("no")
        request.allow()

    assert (await answer_of(decide)).message == FAILED


# --- failing -------------------------------------------------------------------------------------


async def test_a_handler_that_raises_has_said_no_and_the_model_is_not_told_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def decide(request: PermissionRequest) -> Any:
        raise RuntimeError("the password is hunter2")

    with caplog.at_level(logging.ERROR, "claudewire.people.permissions"):
        answer = await answer_of(decide)
    assert answer == PermissionResultDeny(FAILED, tool_use_id="toolu_1")
    (record,) = caplog.records
    assert record.exc_info is not None
    assert "decide failed to decide about 1, so the answer is no" in record.getMessage()
    assert "hunter2" in caplog.text


async def test_the_model_is_told_why_if_that_is_wished() -> None:
    def decide(request: PermissionRequest) -> Any:
        raise RuntimeError("the disk is full")

    answer = await answer_of(decide, tell_errors=True)
    assert answer.message == f"{FAILED} (RuntimeError: the disk is full)"


@pytest.mark.parametrize("tell", [True, False])
@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Outcome(error=ValueError("it broke")), "ValueError: it broke"),
        (Outcome("nonsense"), "TypeError: 'nonsense' is not an answer"),
    ],
)
def test_what_a_plain_function_raises_or_returns_is_settled(
    outcome: Outcome, words: str, tell: bool
) -> None:
    request = permission()
    outcome.settle(request, "mine", tell_errors=tell)
    assert not request.is_waiting
    assert isinstance(request.result, PermissionResultDeny)
    told = request.result.message or ""
    assert told.startswith(FAILED)
    assert (words in told) is tell
    assert request.by == "handler: mine, which failed"


def test_an_answer_of_a_plain_function_is_settled() -> None:
    request = permission()
    Outcome(PermissionResultAllow()).settle(request, "mine", tell_errors=False)
    assert allows(request.result)
    assert request.by == "handler: mine"
    assert not Outcome(PermissionResultAllow()).is_awaitable


async def test_an_answer_that_makes_no_sense_is_a_failure() -> None:
    def decide(request: PermissionRequest) -> Any:
        return request.allow(remember="Bash", scope="once")

    assert (await answer_of(decide)).message == FAILED


async def test_a_handler_that_gives_itself_up_has_said_no() -> None:
    """As one does that waits for a future of asyncio that somebody has cancelled."""

    async def decide(request: PermissionRequest) -> Any:
        raise anyio.get_cancelled_exc_class().__new__(anyio.get_cancelled_exc_class())

    assert (await answer_of(decide)).message == FAILED


async def test_a_handler_that_is_cancelled_with_its_task_decides_nothing() -> None:
    request = permission()

    async def decide(request: PermissionRequest) -> Any:
        await anyio.sleep_forever()

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run_handler, decide, request)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
    assert request.is_waiting


async def test_an_abandoned_thread_changes_nothing_any_more() -> None:
    request, go_on, done = permission(), threading.Event(), threading.Event()

    def decide(request: PermissionRequest) -> Any:
        go_on.wait(SOON)
        try:
            return request.allow()
        finally:
            done.set()

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run_handler, decide, request)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
    request.deny("too late")
    go_on.set()
    assert done.wait(SOON)
    assert isinstance(request.result, PermissionResultDeny)


# --- registering ---------------------------------------------------------------------------------


def three(tool_name: str, input: dict[str, Any], context: Any) -> Any: ...


def two(tool_name: str, input: dict[str, Any]) -> Any: ...


def none() -> Any: ...


def by_keyword(*, request: Any) -> Any: ...


def yields(request: Any) -> Iterator[Any]:
    yield


async def yields_slowly(request: Any) -> AsyncIterator[Any]:
    yield


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        ("allow", "on_permission must be a function that returns its answer: 'allow' is not"),
        (True, "must be a function"),
        (three, "is called with one argument, the request; three(tool_name: 'str', input:"),
        (two, "two(tool_name: 'str', input: 'dict[str, Any]') -> 'Any' cannot be called"),
        (none, "none() -> 'Any' cannot be called that way"),
        (by_keyword, "cannot be called that way"),
        (yields, "must be a function that returns its answer: yields yields"),
        (yields_slowly, "yields_slowly yields"),
        (Decider, "Decider is a class, not a function; make an object of it: Decider()"),
    ],
)
def test_what_cannot_decide_is_refused_when_it_is_registered(handler: Any, words: str) -> None:
    with pytest.raises(OptionsError) as caught:
        check_handler(handler, "on_permission")
    assert words in str(caught.value)


def test_what_hides_its_signature_is_taken_on_trust() -> None:
    class Odd:
        __signature__ = "unknown"

        def __call__(self, request: Any) -> Any: ...

    check_handler(Odd(), "on_permission")
