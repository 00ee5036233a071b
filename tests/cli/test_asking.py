"""What a person can answer at a terminal, and what comes of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from tests.people.asking import COLOUR, SIZES, SOON, ask, dialog, form, plan, use

from claudewire.cli.asking import ENDED, AskPerson
from claudewire.cli.styles import Paint
from claudewire.people import (
    DialogRequest,
    ElicitationRequest,
    Pending,
    PermissionRequest,
    PlanRequest,
    QuestionRequest,
)
from claudewire.wire import (
    AddRules,
    DialogCancelled,
    DialogCompleted,
    ElicitationResult,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionRule,
    SetMode,
)

pytestmark = pytest.mark.anyio

MAKE = PermissionRule("Bash", "make:*")
SUGGESTED = [AddRules([MAKE], "allow", "session"), SetMode("plan")]


class Script:
    """A person who types these lines, and then leaves."""

    paint = Paint(attributes=False)
    width = 70

    def __init__(self, *lines: str) -> None:
        self._lines = [*lines]
        self.shown: list[str] = []
        self.offered: list[str] = []

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[None]:
        yield

    def show(self, lines: Sequence[str]) -> None:
        self.shown += lines

    async def type(self, prompt: str, *, text: str = "", several: bool = False) -> str:
        self.offered.append(text)
        if not self._lines:
            raise EOFError
        return self._lines.pop(0)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.shown).split())


async def answered(request: Pending[Any], *lines: str) -> tuple[Any, Script]:
    """Ask somebody who types these lines; return the answer, and what was seen."""
    script = Script(*lines)
    with anyio.fail_after(SOON):
        return await AskPerson(script)(request), script


def make(**fields: Any) -> PermissionRequest:
    return PermissionRequest(use("Bash", {"command": "make", "timeout": 5}, **fields))


async def test_yes_and_no() -> None:
    answer, script = await answered(make(decision_reason="It is new"), "", "maybe", "y")
    assert isinstance(answer, PermissionResultAllow)
    assert "May it use Bash?" in script.words
    assert "│ make │ timeout: 5 │ because: It is new" in script.words
    assert script.words.count("That is not one of the answers.") == 1
    answer, _ = await answered(make(), "n")
    assert isinstance(answer, PermissionResultDeny)
    answer, _ = await answered(make(), "no not now")
    assert answer.message == "not now"
    answer, _ = await answered(make(), "x enough")
    assert (answer.message, answer.interrupt) == ("enough", True)
    answer, _ = await answered(make(), "x")
    assert answer.interrupt


async def test_somebody_who_leaves_has_said_no() -> None:
    answer, script = await answered(make(agent_id="a1"))
    assert answer.message == ENDED
    assert "(subagent a1)" in script.words


async def test_what_the_cli_suggests_is_remembered() -> None:
    request = make(permission_suggestions=SUGGESTED)
    answer, script = await answered(request, "a", "a3", "ax", "a1 forever", "a1 project")
    (update,) = answer.updated_permissions
    assert (update.rules, update.destination) == ([MAKE], "projectSettings")
    assert script.words.count("Which of them: a1 to a2?") == 2
    assert "For how long: session, project, local, user?" in script.words


@pytest.mark.parametrize(
    ("tool", "input", "rule"),
    [
        ("Bash", {"command": "ls"}, PermissionRule("Bash", "ls")),
        ("Read", {"file_path": "x"}, PermissionRule("Read")),
    ],
)
async def test_without_a_suggestion_exactly_this_is_remembered(
    tool: str, input: dict[str, Any], rule: PermissionRule
) -> None:
    answer, _ = await answered(PermissionRequest(use(tool, input)), "a")
    assert answer.updated_permissions[0].rules == [rule]


async def test_some_things_cannot_be_remembered() -> None:
    request = PermissionRequest(use("Bash", {"command": "a\nb"}))
    _, script = await answered(request, "a", "y")
    assert "There is nothing that could be remembered" in script.words


async def test_a_command_and_an_input_can_be_changed() -> None:
    answer, script = await answered(make(), "e", "make all")
    assert answer.updated_input == {"command": "make all", "timeout": 5}
    assert script.offered == ["", "make"]
    request = PermissionRequest(use("Read", {"file_path": "x"}))
    answer, script = await answered(request, "e", "{", "[]", '{"file_path": "y"}')
    assert answer.updated_input == {"file_path": "y"}
    assert "must be a mapping" in script.words
    answer, _ = await answered(make(), "e", " ")
    assert answer.updated_input == {"command": "make", "timeout": 5}


async def test_questions() -> None:
    request = QuestionRequest(ask(COLOUR, SIZES))
    answer, script = await answered(request, "", "1 2", "9", "2", "1, 2")
    assert answer.updated_input["answers"] == {"Which colour?": "Green", "Which sizes?": "S, L"}
    assert "Only one can be chosen." in script.words
    assert "There are 2 to choose from." in script.words
    assert "│ **red**" in script.words
    answer, _ = await answered(QuestionRequest(ask(COLOUR)), "a warm one")
    assert answer.updated_input["answers"] == {"Which colour?": "a warm one"}
    answer, _ = await answered(QuestionRequest(ask(COLOUR)), "s")
    assert isinstance(answer, PermissionResultDeny)


@pytest.mark.parametrize(
    ("line", "allowed"), [("y", True), ("a", True), ("n less", False), ("x", False)]
)
async def test_plans(line: str, allowed: bool) -> None:
    answer, script = await answered(PlanRequest(plan({"plan": "# Do\n\n1. it"})), "n", "?", line)
    assert isinstance(answer, PermissionResultAllow) is allowed
    assert "Say what to change: n …" in script.words
    assert "│ Do │ │ 1. it" in script.words


FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "member": {"type": "boolean", "default": True},
        "sizes": {"type": "array", "items": {"enum": ["s", "l"]}, "description": "which"},
        "more": {"type": "object"},
    },
    "required": ["name"],
}


async def test_forms() -> None:
    request = ElicitationRequest(form(FORM))
    lines = ("y", "", "Ada", "no", "1 9", "1 2", "{}")
    answer, script = await answered(request, *lines)
    wanted = {"name": "Ada", "member": False, "sizes": ["s", "l"], "more": {}}
    assert answer == ElicitationResult("accept", wanted)
    assert "It is required." in script.words
    assert "Enter for true" in script.words
    answer, script = await answered(ElicitationRequest(form(url="https://example.invalid")), "n")
    assert answer == ElicitationResult("decline")
    assert "https://example.invalid" in script.words


async def test_a_form_says_how_each_field_is_filled_in() -> None:
    choice = {"enum": ["s", "l"]}
    properties = {
        "word": {"type": "string"},
        "price": {"type": "number"},
        "count": {"type": "integer"},
        "sure": {"type": "boolean"},
        "size": {"type": "string", **choice},
        "sizes": {"type": "array", "items": choice},
        "more": {"type": "object"},
    }
    request = ElicitationRequest(form({"type": "object", "properties": properties}))
    _, script = await answered(request, "y", *([""] * len(properties)))
    end = " Enter to leave it out"
    assert [it.removesuffix(end) for it in script.shown if it.endswith(end)] == [
        "text",
        "a number",
        "a whole number",
        "y or n",
        "the number of one",
        "the numbers of some",
        "JSON",
    ]


async def test_dialogs() -> None:
    answer, script = await answered(DialogRequest(dialog("trust", {"path": "x"})), "{", "1")
    assert answer == DialogCompleted(1)
    assert "A dialog: trust" in script.words
    answer, _ = await answered(DialogRequest(dialog()), "")
    assert answer == DialogCancelled()


async def test_a_request_that_is_withdrawn_meanwhile_is_said() -> None:
    request = make()

    class Late(Script):
        async def type(self, prompt: str, **_: Any) -> str:
            request.withdraw("the turn is over")
            return "y"

    script = Late()
    await AskPerson(script)(request)
    assert "This is no longer asked: the turn is over." in script.words


async def test_what_is_wrong_with_the_library_is_no_answer() -> None:
    class Broken(PermissionRequest):
        def allow(self, **_: Any) -> Any:
            raise KeyError("a defect")

    with pytest.raises(KeyError):
        await answered(Broken(use("Bash", {"command": "ls"})), "y")
    with pytest.raises(KeyError):
        await answered(Broken(use("Bash", {"command": "ls"})), "e", "ls -a")

    class BrokenDialog(DialogRequest):
        def complete(self, result: object = None) -> Any:
            raise KeyError("a defect")

    with pytest.raises(KeyError):
        await answered(BrokenDialog(dialog()), "1")
