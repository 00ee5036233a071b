"""Decisions of people through a session: in every document's form, and without a decision."""

from __future__ import annotations

import random
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.helpers import messages as saying
from tests.helpers.peer import SOON, Peer
from tests.helpers.sessions import connected, opened, options, soon
from tests.session.approvals.asking import COLOUR, SIZES
from tests.session.approvals.spying import make, play

from claudewire.approvals import (
    ApprovalState,
    Inbox,
    PermissionRequest,
    PermissionResultDeny,
    QuestionRequest,
)
from claudewire.errors import Error
from claudewire.policy import DecisionRecord, Policy
from claudewire.session import Session, TurnState
from claudewire.testing import Chat, SimulatedCLI
from claudewire.wire import Answer, CanUseTool

pytestmark = pytest.mark.anyio

DIALECTS = ["modern", "session", "legacy", "envelope"]
ENDED = "the session with the CLI ended before a decision was made"


# --- the same application with every CLI ---------------------------------------------------------


async def scenario(chat: Chat) -> None:
    run = lambda input: f"ran {input['command']}"  # noqa: E731
    for command in ("make", "rm"):
        await chat.use("Bash", {"command": command}, run=run)
    await chat.ask([COLOUR, SIZES])
    await chat.plan("# Tidy up")
    await chat.elicit("crm", "Who?", {"properties": {"name": {"type": "string"}}})
    for _ in range(2):
        await chat.use("Bash", {"command": "git status"}, run=run)


async def on_permission(request: PermissionRequest) -> Any:
    match request.input["command"]:
        case "make":
            return request.allow(input={"command": "make test"})
        case "rm":
            return request.deny("Nothing is to be deleted")
    return request.allow(remember="Bash(git status)")


HANDLERS: dict[str, Any] = {
    "on_permission": on_permission,
    "on_question": lambda it: it.answer({"Colour": "Green", "Sizes": ["S", "L"]}),
    "on_plan": lambda it: it.approve(mode="acceptEdits"),
    "on_elicitation": lambda it: it.accept({"name": "Ada"}),
}


@pytest.mark.parametrize(
    "cli",
    [*({"dialect": it} for it in DIALECTS), *({"version": it} for it in ("2.1.17", "2.1.197"))],
    ids=str,
)
async def test_application_works_with_every_document_and_version(cli: dict[str, str]) -> None:
    records: list[DecisionRecord] = []
    done = await play(scenario, cli, **HANDLERS, audit=records.append)
    assert done.told[:2] == ["ran make test", "Nothing is to be deleted"]
    assert '"Which colour?"="Green"' in done.told[2]
    assert '"Which sizes?"="S' in done.told[2]
    assert done.told[3].startswith("User has approved your plan")
    assert done.told[-2:] == ["ran git status"] * 2
    # The last `git status` is remembered, so the CLI does not ask.
    assert [(it.tool, it.answer) for it in records] == [
        ("Bash", "allow"),
        ("Bash", "deny"),
        ("AskUserQuestion", "answered"),
        ("ExitPlanMode", "approve"),
        ("elicitation: crm", "accept"),
        ("Bash", "allow"),
    ]
    assert {it.session_id for it in records} == {done.session.session_id}
    assert done.session.inbox.pending == ()
    answer = done.spy.decisions[2]
    answers = {"Which colour?": "Green", "Which sizes?": "S, L"}
    by_index = {"0": "Green", "1": ["S", "L"]}
    updated = answer.get("updatedInput") or answer["updated_input"]
    assert updated["answers"] == (by_index if cli.get("dialect") == "envelope" else answers)


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("2.1.17", '"Which colour?"="Red (note: but light)". You can now continue'),
        ("2.1.325", '"Which colour?"="Red" selected preview:\n**red** notes: but light. Read'),
    ],
)
async def test_notes_and_skipped_questions_reach_the_model(version: str, told: str) -> None:
    async def ask(chat: Chat) -> None:
        await chat.say((await chat.ask([COLOUR, SIZES])).text)

    def answer(request: QuestionRequest) -> Any:
        return request.answer({"Colour": {"choose": "Red", "notes": "but light"}, "Sizes": None})

    cli = {"version": version}
    assert told in (await play(ask, cli, on_question=answer)).text
    done = await play(ask, cli, on_question=lambda it: it.skip())
    assert done.text == "The user did not answer the questions."


# --- without a decision --------------------------------------------------------------------------


async def hang(request: PermissionRequest) -> Any:
    await anyio.sleep_forever()


def fail(request: PermissionRequest) -> Any:
    raise RuntimeError("the password is hunter2")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "No handler is registered for permissions, so the tool was denied."),
        ({"on_permission": fail}, "The application's handler failed, so the answer is no."),
        (
            {"on_permission": hang, "decide_within": 0.01},
            "no decision was made within 0.01 seconds",
        ),
    ],
    ids=["no handler", "raises", "hangs"],
)
async def test_tool_is_denied_and_the_turn_goes_on(
    changes: dict[str, Any], reason: str, dialect: str, caplog: pytest.LogCaptureFixture
) -> None:
    done = await play(make, {"dialect": dialect}, **changes)
    assert done.text == f"I was told: {reason}"
    assert "so the " in caplog.text
    assert "hunter2" not in str(done.spy.wrote)


# --- a thousand ----------------------------------------------------------------------------------


@pytest.mark.parametrize("sessions", [1, 4])
async def test_thousand_requests_get_their_own_answers(sessions: int) -> None:
    """A thread answers them in random order. The sessions share an inbox."""
    inbox, each = Inbox(), 1000 // sessions

    def answer_all() -> None:
        with inbox.changes() as changes:
            waiting = [changes.get(SOON).request for _ in range(1000)]
        random.Random(1).shuffle(waiting)
        for request in waiting:
            inbox.act(request.id, "deny", {"reason": f"{request.session} {request.title}"})

    with anyio.fail_after(SOON):
        peers = [Peer() for _ in range(sessions)]
        open = [await opened(it, approver="inbox", inbox=inbox) for it in peers]
        asked: list[list[str]] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, answer_all)
            for peer in peers:
                bodies = [CanUseTool("Bash", {"command": f"echo {n}"}) for n in range(each)]
                requests = [peer.connection.new_request(body) for body in bodies]
                await peer.say(*requests)
                asked.append([it.id for it in requests])
        for peer, session, ids in zip(peers, open, asked, strict=True):
            answers = [await peer.hear(Answer) for _ in ids]
            assert {it.id: it.body.message for it in answers} == {
                id: f"{session.name} Bash: echo {number}" for number, id in enumerate(ids)
            }
            await session.close()
    assert inbox.pending == ()


# --- withdrawals ---------------------------------------------------------------------------------


class Waiting:
    """A session in the middle of a turn, with a pending request."""

    def __init__(self, peer: Peer, session: Session, id: str) -> None:
        self.peer = peer
        self.session = session
        self.id = id
        self.request = next(it for it in session.inbox.pending if it.session == session.name)

    def check_withdrawn(self, why: str) -> None:
        assert (self.request.state, self.request.ending) == (ApprovalState.WITHDRAWN, why)
        assert self.session.inbox.pending == ()


async def waiting(**changes: Any) -> Waiting:
    peer = Peer()
    session = await opened(peer, **{"approver": "inbox", **changes})
    session.send("Go on.")
    await peer.hear_prompt()
    await peer.say(saying.init(session_id="a-conversation"))
    id = await peer.ask(CanUseTool("Bash", {"command": "make"}, tool_use_id="toolu_1"))
    await soon(lambda: any(it.session == session.name for it in session.inbox.pending))
    return Waiting(peer, session, id)


@pytest.mark.parametrize("handlers", [{}, {"approver": None, "on_permission": hang}])
async def test_end_of_the_turn_withdraws_its_requests(
    handlers: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    why = "the turn was over before a decision was made"
    records: list[DecisionRecord] = []
    with anyio.fail_after(SOON):
        it = await waiting(audit=records.append, **handlers)
        (turn,) = it.session.turns
        await it.peer.say(saying.result("I did it in another way."))
        assert (await turn).text == "I did it in another way."
        it.check_withdrawn(why)
        answer = await it.peer.hear(Answer)
        await it.session.close()
    assert answer.body == PermissionResultDeny(why, tool_use_id="toolu_1")
    assert f"{it.request.id}: {why}, so the answer is no" in caplog.text
    assert [(record.reason, record.session_id) for record in records] == [(why, "a-conversation")]


async def test_closing_session_denies_only_its_own_requests(
    caplog: pytest.LogCaptureFixture,
) -> None:
    inbox, records = Inbox(), list[DecisionRecord]()
    with anyio.fail_after(SOON):
        one = await waiting(inbox=inbox, audit=records.append)
        other = await waiting(inbox=inbox)
        await one.session.close()
        answer = await one.peer.hear(Answer)
        assert answer.body == PermissionResultDeny(ENDED, tool_use_id="toolu_1")
        assert one.request.state is ApprovalState.WITHDRAWN
        assert inbox.pending == (other.request,)
        inbox.act(other.request.id, "deny", {"reason": "No."})
        await other.session.close()  # a decision just before the end counts
        answer = await other.peer.hear(Answer)
        assert answer.body == PermissionResultDeny("No.", tool_use_id="toolu_1")
    assert f"{one.request.id}: {ENDED}, so the answer is no" in caplog.text
    assert [(it.decided_by, it.reason) for it in records] == [("withdrawn", ENDED)]


async def test_death_of_the_cli_withdraws_its_requests() -> None:
    with anyio.fail_after(SOON):
        it = await waiting()
        (turn,) = it.session.turns
        it.peer.exit(1)
        with pytest.raises(Error):
            await turn
        it.check_withdrawn("the request was withdrawn before it was decided")


async def test_request_of_an_ended_turn_is_denied_without_the_policy() -> None:
    """The CLI asks and ends the turn in one write."""
    records = list[DecisionRecord]()
    async with connected(policy=Policy(["Bash(make)"]), audit=records.append) as (session, peer):
        turn = session.send("Go on.")
        await peer.hear_prompt()
        request = peer.connection.new_request(CanUseTool("Bash", {"command": "make"}))
        await peer.say(saying.init(), request, saying.result())
        assert isinstance((await peer.hear(Answer)).body, PermissionResultDeny)
        await turn
    assert records == []


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_interrupt_withdraws_requests(dialect: str) -> None:
    cli = SimulatedCLI(make, dialect=dialect)
    with anyio.fail_after(SOON):
        async with Session(options(approver="inbox"), transport=cli) as session:
            turn = session.send("Go on.")
            await soon(lambda: session.inbox.pending)
            (request,) = session.inbox.pending
            receipt = await session.interrupt()
            assert receipt.acknowledged
            assert turn.state is TurnState.DONE
            assert not (await turn).ok
            assert request.state is ApprovalState.WITHDRAWN
            assert session.inbox.pending == ()
