"""What a person decides, through a session: in every dialect, and when nobody decides."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest
from tests.conformance.talk import EXAMPLES
from tests.helpers.peer import SOON, Peer
from tests.helpers.sessions import opened, options, soon
from tests.people.application import ANSWERS, DECIDED, DIALECTS, HANDLERS, check_told, scenario
from tests.people.asking import COLOUR, SIZES
from tests.people.spying import answer_to, hang, make, play

from claudewire.errors import OptionsError
from claudewire.people import PermissionRequest, PermissionResultDeny, QuestionRequest
from claudewire.people.decisions import no_handler
from claudewire.people.handlers import FAILED
from claudewire.people.pending import PendingState
from claudewire.policy import DecisionRecord
from claudewire.session import Session
from claudewire.testing import Chat
from claudewire.wire import Answer, CanUseTool

pytestmark = pytest.mark.anyio

ENDED = "the session with the CLI ended before a decision was made"


# --- every dialect -------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_same_application_works_in_every_dialect(dialect: str, named: bool) -> None:
    records: list[DecisionRecord] = []
    changes: dict[str, Any] = {"dialect": dialect} if named else {}
    cli = {"dialect": dialect}
    done = await play(scenario, cli, **HANDLERS, **changes, audit=records.append)
    check_told(done.told)
    assert [(it.tool, it.answer, it.decided_by) for it in records] == DECIDED
    assert {it.session_id for it in records} == {done.session.session_id}
    assert done.session.inbox.pending == ()
    answers = done.spy.decisions[2]
    name = "updated_input" if dialect == "session" else "updatedInput"
    assert answers[name] == ANSWERS[dialect]


def shown(id: str, asked: str, **changes: Any) -> dict[str, Any]:
    """An answer as a document shows it, but to this request; with changes to the decision.

    The ids in the documents' examples of answers are not those of their examples of requests.
    """
    example = EXAMPLES[id]
    request = EXAMPLES[asked]
    request = request.get("message", request)
    request_id = request.get("request_id") or request["request"]["request_id"]
    decision = dict(example["response"]["response"])
    for key in decision.keys() & {"toolUseID", "tool_use_id"}:
        decision[key] = request["request"]["tool_use_id"]
    for key in decision.keys() & {"updatedPermissions", "updated_permissions"}:
        assert decision.pop(key) == []  # nothing to remember is not worth a word
    response = {**example["response"], "request_id": request_id, "response": decision | changes}
    return {**example, "response": response}


FILE = {"file_path": "/path/to/file.txt", "content": "file contents"}
RM = EXAMPLES["002-ex-06"]["request"]["tool_input"]


@pytest.mark.parametrize(
    ("asked", "input", "answer"),
    [
        ("000-ex-05", None, shown("000-ex-06", "000-ex-05")),
        ("001-ex-15", {}, shown("001-ex-06", "001-ex-15")),
        # What the tool runs with is always said, since most CLIs deny it else.
        ("002-ex-06", None, shown("002-ex-07", "002-ex-06", updatedInput=RM)),
        ("004-ex-08", FILE, shown("004-ex-03", "004-ex-08")),
        ("004-ex-15", None, EXAMPLES["004-ex-16"]),
    ],
)
async def test_a_session_allows_as_the_documents_show_it(
    asked: str, input: dict[str, Any] | None, answer: dict[str, Any]
) -> None:
    def allow(request: PermissionRequest) -> Any:
        return request.allow(input=input)

    assert await answer_to(EXAMPLES[asked], on_permission=allow) == answer


@pytest.mark.parametrize(
    ("asked", "reason", "answer"),
    [
        ("000-ex-05", "User declined this operation", "000-ex-07"),
        ("001-ex-15", "User denied permission", "001-ex-07"),
        ("002-ex-06", "Destructive commands are not permitted", "002-ex-08"),
        ("004-ex-08", "User declined this operation", "004-ex-04"),
    ],
)
async def test_a_session_denies_as_the_documents_show_it(
    asked: str, reason: str, answer: str
) -> None:
    def deny(request: PermissionRequest) -> Any:
        return request.deny(reason)

    written = await answer_to(EXAMPLES[asked], on_permission=deny)
    assert written == shown(answer, asked)


def green(request: QuestionRequest) -> Any:
    return request.answer({"Color": "Green"})


async def test_a_question_is_answered_as_the_first_document_shows_it_where_that_is_wished() -> None:
    written = await answer_to(EXAMPLES["000-ex-08"], on_question=green, answer_form="bare")
    assert written == EXAMPLES["000-ex-09"]


async def test_a_question_is_answered_as_every_real_cli_understands_it() -> None:
    asked = EXAMPLES["000-ex-08"]
    written = await answer_to(asked, on_question=green)
    answers = {"Which color do you prefer?": "Green"}
    both = {**asked["request"]["input"], "answers": answers}
    assert written == shown("000-ex-09", "000-ex-08", updatedInput=both)


@pytest.mark.parametrize("named", [False, True])
async def test_questions_are_answered_by_index_as_the_last_document_shows_it(named: bool) -> None:
    """It shows the request of a permission in an envelope, and that of a question without one."""
    parts = {
        "question": "Which, parts?",
        "header": "Parts",
        "options": [{"label": "Option1"}, {"label": "Option2"}],
        "multiSelect": True,
    }
    bare = EXAMPLES["004-ex-09"]["request"]
    input = {"questions": [*bare["input"]["questions"], parts]}
    asked = {"request_id": "unique-request-id", "request": {**bare, "input": input}}
    line = {"type": "control_request", **asked}

    def answer(request: QuestionRequest) -> Any:
        return request.answer({"Confirm": "Yes", "Parts": [0, 1]})

    if named:
        written = await answer_to(line, on_question=answer, dialect="envelope")
    else:
        wrapped = {"type": "control_request", "message": line}
        written = await answer_to(wrapped, on_question=answer)
    expected = shown("004-ex-05", "004-ex-08", toolUseID="toolu_abc")
    assert written == expected


@pytest.mark.parametrize("named", [False, True])
async def test_a_free_answer_that_reads_like_two_labels_stays_one(named: bool) -> None:
    async def ask(chat: Chat) -> None:
        await chat.ask([SIZES])

    def answer(request: QuestionRequest) -> Any:
        return request.answer(other="S, L")

    changes: dict[str, Any] = {"dialect": "envelope"} if named else {}
    done = await play(ask, {"dialect": "envelope"}, on_question=answer, **changes)
    assert done.spy.decisions[0]["updatedInput"]["answers"] == {"0": ["S, L"]}


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("2.1.17", '"Which colour?"="Red (note: but light)". You can now continue'),
        ("2.1.325", '"Which colour?"="Red" selected preview:\n**red** notes: but light. Read'),
    ],
)
async def test_a_note_is_said_in_the_way_that_the_cli_reads(version: str, told: str) -> None:
    async def ask(chat: Chat) -> None:
        await chat.say((await chat.ask([COLOUR])).text)

    def answer(request: QuestionRequest) -> Any:
        return request.answer("Red", notes="but light")

    assert told in (await play(ask, {"version": version}, on_question=answer)).text


@pytest.mark.parametrize("version", ["2.1.17", "2.1.325"])
async def test_the_model_is_told_what_was_skipped(version: str) -> None:
    async def ask(chat: Chat) -> None:
        await chat.say((await chat.ask([COLOUR, SIZES])).text)

    def skip_one(request: QuestionRequest) -> Any:
        return request.answer({"Colour": None, "Sizes": "S"})

    done = await play(ask, {"version": version}, on_question=lambda request: request.skip())
    assert done.text == "The user did not answer the questions."
    done = await play(ask, {"version": version}, on_question=skip_one)
    assert ': "Which sizes?"="S".' in done.text


def test_there_is_no_other_form_of_answers() -> None:
    with pytest.raises(OptionsError, match=r"answer_form must be one of 'joined'.*not 'bear'"):
        Session(options(answer_form="bear"))


# --- when nobody decides -------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_with_no_handler_the_tool_is_denied_and_the_turn_goes_on(
    dialect: str, caplog: pytest.LogCaptureFixture
) -> None:
    done = await play(make, {"dialect": dialect})
    told = no_handler("permission")
    assert done.told == [told]
    assert done.text == f"I was told: {told}"
    assert told in caplog.text
    assert "Bash: make" in caplog.text


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_handler_that_raises_denies_and_the_turn_goes_on(
    dialect: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(request: PermissionRequest) -> Any:
        raise RuntimeError("the password is hunter2")

    done = await play(make, {"dialect": dialect}, on_permission=fail)
    assert done.text == f"I was told: {FAILED}"
    assert "fail failed to decide about" in caplog.text
    assert "RuntimeError: the password is hunter2" in caplog.text
    assert "hunter2" not in str(done.spy.wrote)


async def test_the_model_is_told_what_a_handler_has_raised_where_that_is_wished() -> None:
    def fail(request: PermissionRequest) -> Any:
        raise RuntimeError("the rules are gone")

    done = await play(make, on_permission=fail, tell_errors=True)
    assert done.text == f"I was told: {FAILED} (RuntimeError: the rules are gone)"


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_handler_that_hangs_denies_in_the_end_and_the_turn_goes_on(
    dialect: str, caplog: pytest.LogCaptureFixture
) -> None:
    done = await play(make, {"dialect": dialect}, on_permission=hang, decide_within=0.01)
    assert done.text == "I was told: no decision was made within 0.01 seconds"
    assert "no decision was made within 0.01 seconds, so the answer is no" in caplog.text


async def test_a_function_that_hangs_in_its_thread_does_not_hold_up_the_turn() -> None:
    release = threading.Event()

    def hang(request: PermissionRequest) -> Any:
        assert release.wait(SOON)
        return request.allow()

    try:
        done = await play(make, on_permission=hang, decide_within=0.01)
    finally:
        release.set()
    assert done.text == "I was told: no decision was made within 0.01 seconds"


async def test_a_session_that_closes_denies_what_waits(caplog: pytest.LogCaptureFixture) -> None:
    peer = Peer()
    records: list[DecisionRecord] = []
    with anyio.fail_after(SOON):
        session = await opened(peer, on_permission=hang, audit=records.append)
        id = await peer.ask(CanUseTool("Bash", {"command": "make"}, tool_use_id="toolu_1"))
        await soon(lambda: session.inbox.pending)
        (request,) = session.inbox.pending
        await session.close()
        answer = await peer.hear(Answer, where=lambda it: it.id == id)
    assert answer.body == PermissionResultDeny(ENDED, tool_use_id="toolu_1")
    assert (request.state, request.ending) == (PendingState.WITHDRAWN, ENDED)
    assert f"{request.id}: {ENDED}, so the answer is no" in caplog.text
    assert [(it.answer, it.decided_by, it.reason) for it in records] == [
        ("deny", "withdrawn", ENDED)
    ]


async def test_what_was_decided_just_before_the_end_counts() -> None:
    peer = Peer()
    records: list[DecisionRecord] = []
    with anyio.fail_after(SOON):
        session = await opened(peer, person="inbox", audit=records.append)
        id = await peer.ask(CanUseTool("Bash", {"command": "make"}, tool_use_id="toolu_1"))
        await soon(lambda: session.inbox.pending)
        (request,) = session.inbox.pending
        allowed = request.allow()  # type: ignore[attr-defined]
        await session.close()
        answer = await peer.hear(Answer, where=lambda it: it.id == id)
    assert answer.body == allowed
    assert [it.answer for it in records] == ["allow"]
