"""Plans: approved with a mode, revised, rejected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.session.approvals.asking import plan

from claudewire.approvals import (
    AnswerError,
    PermissionResultAllow,
    PermissionResultDeny,
    PlanRequest,
)
from claudewire.wire import SetMode

PLAN = {"plan": "# Tidy up\n1. Sort."}
IN_FILE = {**PLAN, "planFilePath": "/home/plans/tidy.md"}


def test_plan_is_described() -> None:
    request = PlanRequest(plan(IN_FILE))
    assert request.title == "A plan waits for approval: Tidy up"
    described = request.describe()
    assert (described["plan"], described["file"]) == (PLAN["plan"], "/home/plans/tidy.md")
    assert described["actions"] == ["approve", "revise", "reject"]


def test_plan_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.md"
    path.write_text("# From a file\n", encoding="utf-8")
    assert PlanRequest(plan({"planFilePath": str(path)})).plan == "# From a file\n"


@pytest.mark.parametrize("input", [{}, {"plan": 5}, {"planFilePath": "/nowhere"}, {"plan": ""}])
def test_unknown_plan_is_empty(input: dict[str, Any]) -> None:
    request = PlanRequest(plan(input))
    assert (request.plan, request.title) == ("", "A plan waits for approval")


def test_approval_sets_the_mode_to_continue_in() -> None:
    request = PlanRequest(plan(PLAN))
    mode = SetMode("acceptEdits", "session")
    assert request.approve(mode="acceptEdits") == PermissionResultAllow(PLAN, [mode])
    assert request.approve() == PermissionResultAllow(PLAN)


def test_plan_is_approved_with_changes() -> None:
    answer = PlanRequest(plan(IN_FILE)).approve(plan="# Tidy up\nCarefully.")
    assert isinstance(answer, PermissionResultAllow)
    assert answer.updated_input == {**IN_FILE, "plan": "# Tidy up\nCarefully."}


def test_changed_plan_is_refused_for_a_cli_that_ignores_it() -> None:
    request = PlanRequest(plan(PLAN))
    with pytest.raises(AnswerError, match="This CLI does not accept a changed plan"):
        request.approve(plan="# Something else")
    assert request.approve(plan=PLAN["plan"]) == PermissionResultAllow(PLAN)


@pytest.mark.parametrize("arguments", [{"mode": "plan"}, {"mode": 5}, {"plan": ""}, {"plan": 5}])
def test_invalid_approval_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(AnswerError):
        PlanRequest(plan(IN_FILE)).approve(**arguments)


def test_revision_passes_the_feedback_on() -> None:
    assert PlanRequest(plan(PLAN)).revise("Do it in two steps.") == PermissionResultDeny(
        "The user does not agree with the plan yet. Revise it: Do it in two steps.",
        tool_use_id="toolu_1",
    )
    with pytest.raises(AnswerError):
        PlanRequest(plan(PLAN)).revise(" ")


def test_rejection_ends_the_turn_by_default() -> None:
    answer = PlanRequest(plan(PLAN)).reject()
    assert isinstance(answer, PermissionResultDeny)
    assert answer.interrupt is True
    answer = PlanRequest(plan(PLAN)).reject("Leave it.", stop=False)
    assert answer == PermissionResultDeny("Leave it.", tool_use_id="toolu_1")
