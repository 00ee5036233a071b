"""Plans: approved with a mode, revised, rejected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.people.asking import plan

from claudewire.people import AnswerError, PermissionResultAllow, PermissionResultDeny, PlanRequest
from claudewire.wire import SetMode

PLAN = {"plan": "# Tidy up\n1. Sort."}
IN_FILE = {**PLAN, "planFilePath": "/home/plans/tidy.md"}


def test_a_plan_is_shown() -> None:
    request = PlanRequest(plan(IN_FILE), session="one")
    assert (request.plan, request.file) == ("# Tidy up\n1. Sort.", "/home/plans/tidy.md")
    assert request.title == "A plan waits for approval: Tidy up"
    assert request.id == "one.1"
    said = request.describe()
    assert (said["kind"], said["plan"]) == ("plan", request.plan)
    assert said["actions"] == ["approve", "revise", "reject"]


def test_a_plan_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.md"
    path.write_text("# From a file\n", encoding="utf-8")
    input = {"planFilePath": str(path)}
    assert PlanRequest(plan(input)).plan == "# From a file\n"
    assert PlanRequest(plan(input), read=None).plan == ""


@pytest.mark.parametrize("input", [{}, {"plan": 5}, {"planFilePath": "/nowhere"}, {"plan": ""}])
def test_a_plan_that_is_nowhere_is_empty(input: dict[str, Any]) -> None:
    request = PlanRequest(plan(input))
    assert request.plan == ""
    assert request.title == "A plan waits for approval"


def test_a_plan_that_cannot_be_read_is_empty(tmp_path: Path) -> None:
    assert PlanRequest(plan({"planFilePath": str(tmp_path)})).plan == ""


def test_approving_goes_on_in_a_mode_in_one_step() -> None:
    assert PlanRequest(plan(PLAN)).approve(mode="acceptEdits") == PermissionResultAllow(
        PLAN, [SetMode("acceptEdits", "session")], "toolu_1"
    )


def test_approving_without_a_mode_goes_back_to_the_one_before() -> None:
    assert PlanRequest(plan(PLAN)).approve() == PermissionResultAllow(PLAN, tool_use_id="toolu_1")


def test_a_changed_plan_is_approved() -> None:
    answer = PlanRequest(plan(IN_FILE)).approve(plan="# Tidy up\nCarefully.")
    assert isinstance(answer, PermissionResultAllow)
    assert answer.updated_input == {**IN_FILE, "plan": "# Tidy up\nCarefully."}


def test_a_cli_that_would_ignore_a_changed_plan_does_not_get_one() -> None:
    request = PlanRequest(plan(PLAN))
    with pytest.raises(AnswerError, match="This CLI does not accept a changed plan"):
        request.approve(plan="# Something else")
    assert request.is_waiting
    assert request.approve(plan=PLAN["plan"]) == PermissionResultAllow(PLAN, tool_use_id="toolu_1")


@pytest.mark.parametrize(
    "arguments", [{"mode": "plan"}, {"mode": ""}, {"mode": 5}, {"plan": ""}, {"plan": 5}]
)
def test_an_approval_that_makes_no_sense_is_refused(arguments: dict[str, Any]) -> None:
    request = PlanRequest(plan(IN_FILE))
    with pytest.raises(AnswerError):
        request.approve(**arguments)
    assert request.is_waiting


def test_a_revision_tells_the_model_what_to_change() -> None:
    answer = PlanRequest(plan(PLAN)).revise("Do it in two steps.")
    assert answer == PermissionResultDeny(
        "The user does not agree with the plan yet. Revise it: Do it in two steps.",
        tool_use_id="toolu_1",
    )
    with pytest.raises(AnswerError):
        PlanRequest(plan(PLAN)).revise(" ")


def test_a_rejection_ends_the_turn_unless_it_is_not_to() -> None:
    answer = PlanRequest(plan(PLAN)).reject()
    assert isinstance(answer, PermissionResultDeny)
    assert answer.interrupt is True
    answer = PlanRequest(plan(PLAN)).reject("Leave it.", stop=False)
    assert answer == PermissionResultDeny("Leave it.", tool_use_id="toolu_1")
