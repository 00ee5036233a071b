"""What a person is shown, and what comes of the answers: see tests/helpers/kept.py."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from tests.cli.test_asking import Script
from tests.helpers.kept import Kept, compact, normal
from tests.people.asking import COLOUR, SIZES, ask, dialog, form, plan, use

from claudewire.cli.asking import AskPerson
from claudewire.people import (
    DialogRequest,
    ElicitationRequest,
    Pending,
    PermissionRequest,
    PlanRequest,
    QuestionRequest,
    Terminal,
)
from claudewire.wire import AddRules, PermissionHint, PermissionRule, SetMode

pytestmark = pytest.mark.anyio

SUGGESTED = [
    PermissionHint("allow", "Safe"),
    AddRules([PermissionRule("Bash", "make:*")], "allow", "session"),
    AddRules([PermissionRule("Bash")], "deny", "localSettings"),
    SetMode("acceptEdits", "session"),
]
EDIT = {"file_path": "a.py", "old_string": "a = 1\nb = 2\n", "new_string": "a = 1\nb = 3\n"}
PROPERTIES = {
    "name": {"type": "string", "title": "Your name", "description": "In full", "minLength": 2},
    "mail": {"type": "string", "format": "email", "default": "a@b.c"},
    "age": {"type": "integer", "minimum": 0, "maximum": 150},
    "size": {"type": "number"},
    "sure": {"type": "boolean", "default": True},
    "colour": {"type": "string", "enum": ["red", "green"], "enumNames": ["Red", "Green"]},
    "many": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 1},
    "odd": {"type": "object"},
}
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": ["name", "age"]}
FILLED = ("Ann", "", "x", "-1", "7", "1.5", "maybe", "no", "2", "a", "a b", "{", "{}")

NESTED = {"a": [1, {"b": None}], "long": "y" * 400}

Make = Callable[[], Pending[Any]]

REQUESTS: dict[str, Make] = {
    "bash": lambda: PermissionRequest(
        use(
            "Bash",
            {"command": "make test\nmake all", "timeout": 5, "description": "Build"},
            permission_suggestions=SUGGESTED,
            agent_id="a1",
            blocked_path="/x",
            decision_reason="It is new",
            display_name="Shell",
        ),
        cwd="/work",
    ),
    "edit": lambda: PermissionRequest(use("Edit", EDIT), title="A title", session="s"),
    "write": lambda: PermissionRequest(use("Write", {"file_path": "b", "content": "x\n" * 60})),
    "mcp": lambda: PermissionRequest(use("mcp__calc__add", NESTED)),
    "nothing": lambda: PermissionRequest(use("Odd", {})),
    "one question": lambda: QuestionRequest(ask(COLOUR)),
    "questions": lambda: QuestionRequest(ask(COLOUR, SIZES)),
    "plan": lambda: PlanRequest(plan({"plan": "# First\n\n- this"})),
    "form": lambda: ElicitationRequest(form(SCHEMA)),
    "no form": lambda: ElicitationRequest(form()),
    "url": lambda: ElicitationRequest(form(mode="url", url="https://a.b/c", elicitation_id="e")),
    "dialog": lambda: DialogRequest(dialog("trust", {"folder": "/a", "options": ["x", "y"]})),
}
LINES: list[tuple[str, ...]] = [
    (),
    ("?", "y"),
    ("n",),
    ("no not now",),
    ("a",),
    ("always", "1", "y"),
    ("2", "1,2", "y"),
    ("1", "1", "other words"),
    ("e", '{"command": "ls"}', "y"),
    ("x enough",),
    FILLED,
]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("name", REQUESTS)
async def test_what_a_person_is_shown_is_as_it_was(kept: Kept, name: str) -> None:
    text = f"{REQUESTS[name]()!r}\n{compact(REQUESTS[name]().describe())}\n"
    seen: set[str] = set()
    for lines in LINES:
        shown = io.StringIO()
        terminal = Terminal(io.StringIO("".join(f"{line}\n" for line in lines)), shown)
        answer = await terminal(REQUESTS[name]())
        script = Script(*lines)
        answered = await AskPerson(script)(REQUESTS[name]())
        for told, comes in ((shown.getvalue(), answer), ("\n".join(script.shown), answered)):
            news = [it for it in told.splitlines() if it not in seen]
            seen.update(news)
            text += f"> {lines!r}\n" + "".join(f"{line}\n" for line in news) + f"= {comes!r}\n"
    kept(f"{name.replace(' ', '-')}.txt", normal(text))
