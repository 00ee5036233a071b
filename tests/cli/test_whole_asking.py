"""All that a person is shown and asked at a terminal, and what comes of each answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.helpers.kept import Kept
from tests.people.asking import COLOUR, SIZES, SOON, ask, dialog, form, plan, use

from claudewire.cli.asking import AskPerson
from claudewire.cli.styles import Paint
from claudewire.people import (
    DialogRequest,
    ElicitationRequest,
    Pending,
    PermissionRequest,
    PlanRequest,
    QuestionRequest,
)
from claudewire.wire import AddRules, PermissionHint, PermissionRule, SetMode

pytestmark = pytest.mark.anyio

PAINTS = {
    "plain": Paint(attributes=False, unicode=False),
    "coloured": Paint(),
}


class Noted:
    """A person who types these lines, and then leaves. Notes all that is seen."""

    def __init__(self, paint: Paint, width: int, lines: Sequence[str]) -> None:
        self.paint = paint
        self.width = width
        self._lines = [*lines]
        self.seen: list[str] = []

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[None]:
        self.seen.append("(begin)")
        yield
        self.seen.append("(end)")

    def show(self, lines: Sequence[str]) -> None:
        self.seen += [repr(line) for line in lines]

    async def type(self, prompt: str, *, text: str = "", several: bool = False) -> str:
        typed = self._lines.pop(0) if self._lines else None
        self.seen.append(f"<- {typed!r} after {prompt!r}, text={text!r}, several={several}")
        if typed is None:
            raise EOFError
        return typed


def bash(command: Any = "make", **fields: Any) -> Callable[[], Pending[Any]]:
    return used("Bash", {"command": command, "timeout": 5}, **fields)


def used(tool: str, input: dict[str, Any], **fields: Any) -> Callable[[], Pending[Any]]:
    return lambda: PermissionRequest(use(tool, input, **fields))


MAKE = AddRules([PermissionRule("Bash", "make:*")], "allow", "session")
NOTHING = AddRules([], "allow", "session")
HINT = PermissionHint("allow", "Safe")
SUGGESTED = [MAKE, NOTHING, HINT, SetMode("plan")]
LONG = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
CHOICE = {"enum": ["s", "l"]}
FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "description": "in full", "minLength": 2},
        "age": {"type": "integer", "minimum": 0},
        "price": {"type": "number", "default": 2.5},
        "member": {"type": "boolean", "default": True},
        "size": {"type": "string", **CHOICE},
        "sizes": {"type": "array", "items": CHOICE},
        "more": {"type": "object"},
        "word": {"type": "string", "default": "ä ❯"},
    },
    "required": ["name", "member"],
}
PREVIEW = {"label": "Two", "description": "", "preview": "a\nb"}
ODD = {
    "question": "Which\nof them?",
    "header": "H",
    "options": [{"label": "One", "description": LONG}, PREVIEW],
    "multiSelect": False,
}

ASKED: list[tuple[Callable[[], Pending[Any]], list[list[str]]]] = [
    (
        bash(decision_reason="It is new"),
        [
            *(
                [it]
                for it in ("y", "YES", " yes please", "n", "no", "N  not  now ", "x", "stop it")
            ),
            *(
                [it]
                for it in ("a", "a1", "always", "a project", "a1 user", "a1 local", "a session")
            ),
            ["a0", "a2", "a1 forever", "b", "yy", "", "  ", "no"],
            ["e", "make all"],
            ["edit", "make\nall"],
            ["e", " \n"],
            ["e"],
            [],
        ],
    ),
    (
        bash(permission_suggestions=SUGGESTED, agent_id="a\x1b1", display_name="The shell"),
        [["a", "a0", "a3", "ax", "a1 ever", "a1 project"], ["A2"], ["a2 user"]],
    ),
    (bash(permission_suggestions=[HINT]), [["a"]]),
    (bash("a\nb"), [["a", "a1", "y"], ["always"]]),
    (bash(7), [["a", "y"], ["e", "{", "[]", '{"command": "ls"}']]),
    (bash(LONG), [["n"]]),
    (used("Bash", {"timeout": 5}), [["n"]]),
    (
        used("Read", {"file_path": "ä\x1b", "n": [1, "ä"]}),
        [["a"], ["e", "{", '{"file_path": "b"}']],
    ),
    (used("Read", {"command": "ls"}), [["a"], ["e", '{"command": "cat"}']]),
    (
        used("Edit", {"file_path": "notes", "old_string": "old", "new_string": "new"}),
        [["y"], ["a"]],
    ),
    (used("Write", {"file_path": "new", "content": "a\nX\n"}), [["n"]]),
    (used("Grep", {"content": "a", "edits": 1, "new_source": 2}), [["n"]]),
    (lambda: QuestionRequest(ask(COLOUR)), [["s"], ["skip"], ["s x"], ["Skip"], []]),
    (
        lambda: QuestionRequest(ask(COLOUR)),
        [["", "1 2", "1,2", "0", "3", "1"], ["2"], ["2 of them"], ["Both of them"], ["②"]],
    ),
    (
        lambda: QuestionRequest(ask(SIZES, COLOUR)),
        [["1,2", "s"], ["s", "S"], ["2 1", " 2 "], ["1"]],
    ),
    (lambda: QuestionRequest(ask(ODD)), [["2"]]),
    (
        lambda: PlanRequest(plan({"plan": f"# Do\n\n1. it\n2. {LONG}"})),
        [
            ["y"],
            ["yes"],
            ["a"],
            ["ALWAYS"],
            ["n", "no", "no less"],
            ["x"],
            ["reject"],
            ["?", "", "n a"],
        ],
    ),
    (lambda: PlanRequest(plan({})), [["y"], []]),
    (
        lambda: ElicitationRequest(form(FORM)),
        [
            ["maybe", "", "n"],
            ["no"],
            ["y", "", "A", "Ada", "-1", "", "x", "", "", "9", "2", "1 9", "1 2", "x", "{}", ""],
            ["YES", "Ada", "36", "1.5", "n", "", "", "", "w"],
            ["yes", "Ada"],
        ],
    ),
    (lambda: ElicitationRequest(form(url="https://example.invalid")), [["y"], ["n"]]),
    (
        lambda: DialogRequest(dialog("tr\x1bst", {"p": "ä"})),
        [["{", "1"], [' {"a": null} '], [""], []],
    ),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with a file that can be edited."""
    monkeypatch.chdir(tmp_path)
    Path("notes").write_text("an old word\nmore\n", encoding="utf-8")


async def test_the_answers_are_listed_in_as_many_lines_as_they_need(kept: Kept) -> None:
    parts: list[str] = []
    for width in range(10, 80):
        script = Noted(PAINTS["plain"], width, ["y"])
        await AskPerson(script)(bash()())
        listed = [
            it for it in script.seen if it.startswith("'y yes") or "edit" in it or "stop" in it
        ]
        parts += [f"{width} {line}" for line in listed]
    kept("asked-widths.txt", "".join(f"{line}\n" for line in parts))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("name", "width"), [("plain", 40), ("coloured", 90), ("plain", 9)])
async def test_what_is_asked_and_answered_is_as_it_was(kept: Kept, name: str, width: int) -> None:
    parts: list[str] = []
    for make, answers in ASKED:
        for lines in answers if width == 40 else answers[:1]:
            script = Noted(PAINTS[name], width, lines)
            with anyio.fail_after(SOON):
                answer = await AskPerson(script)(make())
            parts += [*script.seen, f"= {answer!r}", ""]
    kept(f"asked-{name}-{width}.txt", "".join(f"{line}\n" for line in parts))
