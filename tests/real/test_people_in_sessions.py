"""What a person decides through a session, and what a real CLI and its model make of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.helpers.real_clis import NEWEST
from tests.people.asking import COLOUR, SIZES
from tests.real.sessions import LONG, Said, real_session

from claudewire.people import Inbox, PermissionRequest, PlanRequest, QuestionAnswer, QuestionRequest
from claudewire.people.pending import PendingState
from claudewire.policy import DecisionRecord, Policy
from claudewire.testing.api import APIToolUse
from claudewire.testing.cage import Cage

pytestmark = [pytest.mark.anyio, pytest.mark.real]

VERSIONS = ["2.1.17", NEWEST]


def touch(name: str) -> APIToolUse:
    return APIToolUse("Bash", {"command": f"touch {name}"})


def told(cage: Cage) -> list[str]:
    """What the model was told of its tools."""
    return [str(it.get("content")) for turn in cage.turns for it in turn.tool_results]


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_policy_decides_and_a_person_behind_it_until_an_interrupt(version: str) -> None:
    inbox, records = Inbox(), list[DecisionRecord]()
    asked: list[str] = []

    def answer_one() -> None:
        """A person in another thread."""
        with inbox.changes() as changes:
            request = changes.get(timeout=LONG).request
        assert isinstance(request, PermissionRequest)
        asked.append(request.input["command"])
        request.allow(input={"command": "touch changed"})

    policy = Policy(allow=["Bash(touch allowed)"], deny=["Bash(touch denied)"])
    replies: list[Said] = [
        touch("allowed"),
        touch("denied"),
        touch("asked"),
        "Done.",
        touch("never"),
    ]
    async with real_session(
        version, replies, policy=policy, person="inbox", inbox=inbox, audit=records.append
    ) as (session, cage):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, answer_one)
            reply = await session.send("Go on.")
        assert reply.text == "Done."

        turn = session.send("And now?")
        with inbox.changes() as changes:
            pending = (await anext(changes)).request
        receipt = await session.interrupt()
        assert receipt.acknowledged
        assert receipt.turn is turn
        assert not (await turn).ok
        assert pending.state is PendingState.WITHDRAWN
        assert inbox.pending == ()
        assert files(cage.work) == {"allowed", "changed"}
        assert told(cage)[1] == "`Bash(touch denied)` denies it: `touch denied`"
    assert asked == ["touch asked"]
    assert [(it.answer, it.decided_by, it.rule) for it in records] == [
        ("allow", "rule", "Bash(touch allowed)"),
        ("deny", "rule", "Bash(touch denied)"),
        ("allow", "person", None),
        ("deny", "withdrawn", None),
    ]
    assert {it.session_id for it in records} == {session.session_id}


@pytest.mark.parametrize("version", VERSIONS)
async def test_questions_are_answered_and_an_approved_plan_changes_the_mode(version: str) -> None:
    def on_question(request: QuestionRequest) -> Any:
        return request.answer({"Colour": QuestionAnswer(other="Mauve"), "Sizes": ["S", "L"]})

    def on_plan(request: PlanRequest) -> Any:
        return request.approve(mode="acceptEdits")

    replies: list[Said] = [
        APIToolUse("AskUserQuestion", {"questions": [COLOUR, SIZES]}),
        APIToolUse("ExitPlanMode", {"plan": "# Tidy up"}),
        APIToolUse("Write", {"file_path": "made.txt", "content": "made\n"}),
        "Done.",
    ]
    async with real_session(
        version, replies, permission_mode="plan", on_question=on_question, on_plan=on_plan
    ) as (session, cage):
        assert (await session.send("Go on.")).text == "Done."
        question, plan, written = told(cage)
        assert '"Which colour?"="Mauve", "Which sizes?"="S, L"' in question
        assert "User has approved" in plan
        # Nobody is there to ask, and in no other mode it would be written unasked.
        assert "made.txt" in written
        assert files(cage.work) == {"made.txt"}
        assert session.init_message is not None
        assert session.init_message.permission_mode == "plan"
        assert (await session.send("And now?")).text == "Done."
        assert session.init_message.permission_mode == "acceptEdits"
