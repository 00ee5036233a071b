"""An application with people, and what an agent does to it: the same for every CLI."""

from __future__ import annotations

from typing import Any

from tests.people.asking import COLOUR, SIZES

from claudewire.people import ElicitationRequest, PermissionRequest, PlanRequest, QuestionRequest
from claudewire.simulator import Chat

DIALECTS = ["modern", "session", "legacy", "envelope"]

WHOLE = {
    "questions": [COLOUR, SIZES],
    "answers": {"Which colour?": "Green", "Which sizes?": "S, L"},
}

ANSWERS: dict[str, dict[str, Any]] = {
    "modern": WHOLE,
    "session": WHOLE,
    "legacy": WHOLE,
    "envelope": {"answers": {"0": "Green", "1": ["S", "L"]}},
}
"""How each dialect has the answers that the application gives."""


async def scenario(chat: Chat) -> None:
    run = lambda input: f"ran {input['command']}"  # noqa: E731
    await chat.use("Bash", {"command": "make"}, run=run)
    await chat.use("Bash", {"command": "rm"}, run=run)
    await chat.ask([COLOUR, SIZES])
    await chat.plan("# Tidy up")
    await chat.elicit("crm", "Who?", {"properties": {"name": {"type": "string"}}})
    await chat.use("Bash", {"command": "git status"}, run=run)
    await chat.use("Bash", {"command": "git status"}, run=run)


async def on_permission(request: PermissionRequest) -> Any:
    command = request.input["command"]
    if command == "make":
        return request.allow(input={"command": "make test"})
    if command == "rm":
        return request.deny("Nothing is to be deleted")
    return request.allow(remember="Bash(git status)")


def on_question(request: QuestionRequest) -> Any:
    return request.answer({"Colour": "Green", "Sizes": ["S", "L"]})


def on_plan(request: PlanRequest) -> Any:
    return request.approve(mode="acceptEdits")


async def on_elicitation(request: ElicitationRequest) -> Any:
    return request.accept({"name": "Ada"})


HANDLERS: dict[str, Any] = {
    "on_permission": on_permission,
    "on_question": on_question,
    "on_plan": on_plan,
    "on_elicitation": on_elicitation,
}

DECIDED = [
    ("Bash", "allow", "handler: on_permission"),
    ("Bash", "deny", "handler: on_permission"),
    ("AskUserQuestion", "answered", "handler: on_question"),
    ("ExitPlanMode", "approve", "handler: on_plan"),
    ("elicitation: crm", "accept", "handler: on_elicitation"),
    ("Bash", "allow", "handler: on_permission"),
]
"""What is written down about it: the tool, the answer, who decided. The last `git status` is
remembered, and nobody is asked."""


def check_told(told: list[str]) -> None:
    """Look at what the model was told."""
    assert told[:2] == ["ran make test", "Nothing is to be deleted"]
    assert '"Which colour?"="Green"' in told[2]
    assert '"Which sizes?"="S' in told[2]
    assert told[3].startswith("User has approved your plan")
    assert told[-2:] == ["ran git status", "ran git status"]
