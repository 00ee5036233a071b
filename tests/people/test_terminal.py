"""A person at a terminal."""

from __future__ import annotations

import io
import os
import pty
import re
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import anyio
import pytest
from tests.people.asking import COLOUR, SIZES, SOON, ask, dialog, form, permission, plan, use

from claudewire.errors import visible
from claudewire.people import (
    Decider,
    DialogRequest,
    ElicitationRequest,
    Inbox,
    People,
    PermissionRequest,
    PermissionResultAllow,
    PermissionResultDeny,
    PlanRequest,
    QuestionRequest,
    Terminal,
)
from claudewire.people.pending import Pending
from claudewire.people.plans import REJECTED, REVISE
from claudewire.people.terminal import LineReader
from claudewire.wire import (
    AddRules,
    DialogCancelled,
    DialogCompleted,
    ElicitationResult,
    PermissionHint,
    PermissionRule,
    Request,
    SetMode,
)

pytestmark = pytest.mark.anyio

SUGGESTED = [
    PermissionHint("allow", "Safe"),
    AddRules([PermissionRule("Bash", "make:*")], "allow", "session"),
    SetMode("acceptEdits", "session"),
]


async def typed(request: Pending[Any], *lines: str) -> tuple[Any, str]:
    """Ask somebody who types these lines; give the answer, and what was shown."""
    shown = io.StringIO()
    terminal = Terminal(io.StringIO("".join(f"{line}\n" for line in lines)), shown)
    with anyio.fail_after(SOON):
        return await terminal(request), shown.getvalue()


def suggested() -> PermissionRequest:
    input = {"command": "make test", "timeout": 5}
    return PermissionRequest(
        use("Bash", input, permission_suggestions=SUGGESTED, agent_id="a1", blocked_path="/x")
    )


# --- permissions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("line", ["y", "Y", " yes "])
async def test_yes_is_once(line: str) -> None:
    answer, shown = await typed(suggested(), line)
    assert answer == PermissionResultAllow(
        {"command": "make test", "timeout": 5}, tool_use_id="toolu_1"
    )
    assert "== permission (agent a1): Bash: make test" in shown
    assert "  - command: make test\n" in shown
    assert "  - timeout: 5\n" in shown
    assert "  * path: /x\n" in shown
    assert "  a1 = yes, and from now on:\n  | Always allow commands that begin with" in shown
    assert "  a2 = yes, and from now on:\n  | Accept all changes to files" in shown
    assert "y = yes, a = yes and remember, n [reason] = no, x [reason] = no and stop: " in shown
    assert "Safe" not in shown


@pytest.mark.parametrize(("line", "number"), [("a1", 1), ("A2", 2)])
async def test_one_of_several_suggestions_is_remembered(line: str, number: int) -> None:
    answer, shown = await typed(suggested(), "a", line)
    assert answer.updated_permissions == [SUGGESTED[number]]
    assert "  Which of them: a1 to a2?\n" in shown


@pytest.mark.parametrize("line", ["a", "a1"])
async def test_the_only_suggestion_is_remembered(line: str) -> None:
    request = PermissionRequest(use("Bash", {}, permission_suggestions=SUGGESTED[:2]))
    answer, shown = await typed(request, line)
    assert answer.updated_permissions == [SUGGESTED[1]]
    assert "  a = yes, and from now on:\n" in shown


@pytest.mark.parametrize(
    ("line", "message", "stop"),
    [
        ("n", "The user does not want this tool to run.", None),
        ("no", "The user does not want this tool to run.", None),
        ("n  not  now ", "not  now", None),
        ("x", "The user does not want this tool to run.", True),
        ("stop it", "it", True),
    ],
)
async def test_no_can_have_a_reason(line: str, message: str, stop: bool | None) -> None:
    answer, _ = await typed(suggested(), line)
    assert answer == PermissionResultDeny(message, stop, "toolu_1")


async def test_what_makes_no_sense_is_asked_again() -> None:
    answer, shown = await typed(permission(), "", "what?", "a", "a0", "a9", "ax", "allow", "y")
    assert isinstance(answer, PermissionResultAllow)
    assert shown.count("n [reason] = no") == 8
    assert shown.count("  That is not one of the answers.\n") == 6
    assert "remember" not in shown


async def test_nothing_else_is_taken_for_the_number_of_a_suggestion() -> None:
    lines = ("b1", "1", "a0", "a3", "ax", "always", "aa1", "a-1")
    answer, shown = await typed(suggested(), *lines, "n")
    assert isinstance(answer, PermissionResultDeny)
    assert shown.count("  That is not one of the answers.\n") == len(lines)


@pytest.mark.parametrize(
    ("request_", "lines", "answer"),
    [
        (PlanRequest(plan({})), ["YES"], PermissionResultAllow({}, tool_use_id="toolu_1")),
        (
            PlanRequest(plan({})),
            ["no Slower"],
            PermissionResultDeny(f"{REVISE}Slower", tool_use_id="toolu_1"),
        ),
        (PlanRequest(plan({})), ["stop"], PermissionResultDeny(REJECTED, True, "toolu_1")),
        (ElicitationRequest(form()), ["yes"], ElicitationResult("accept", {})),
        (ElicitationRequest(form()), ["y"], ElicitationResult("accept", {})),
        (ElicitationRequest(form()), ["perhaps", "no"], ElicitationResult("decline")),
    ],
)
async def test_every_word_may_be_written_out(
    request_: PlanRequest | ElicitationRequest, lines: list[str], answer: Any
) -> None:
    asked = type(request_)(Request(id="1", body=request_.body))
    given, _ = await typed(asked, *lines)
    assert given == answer


async def test_how_a_request_has_ended_is_shown_in_what_can_be_seen() -> None:
    request = permission()
    request.withdraw("over\x1b[2K")
    _, shown = await typed(request, "y")
    assert shown.endswith("[over\\x1b[2K]\n")
    assert "\x1b" not in shown


async def test_at_the_end_of_the_input_the_answer_is_no() -> None:
    answer, _ = await typed(permission(), "what?")
    assert answer.message == "The input of the terminal has ended, so the answer is no."


async def test_a_closed_input_is_nobody() -> None:
    stream = io.StringIO()
    stream.close()
    with anyio.fail_after(SOON):
        answer = await Terminal(stream, io.StringIO())(permission())
    assert isinstance(answer, PermissionResultDeny)


@pytest.mark.parametrize("error", [OSError("gone"), ValueError("closed"), SystemExit("bye")])
async def test_an_input_that_fails_is_nobody(error: BaseException) -> None:
    class Failing(io.StringIO):
        def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
            raise error

    with anyio.fail_after(SOON):
        answer = await Terminal(Failing(), io.StringIO())(permission())
    assert isinstance(answer, PermissionResultDeny)
    assert answer.message == "The input of the terminal has ended, so the answer is no."


async def test_a_change_of_a_file_is_shown(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    input = {"file_path": "a.txt", "old_string": "two", "new_string": "three"}
    _, shown = await typed(PermissionRequest(use("Edit", input), cwd=str(tmp_path)), "y")
    assert "  * changes:\n  | --- a/a.txt\n" in shown
    assert "  |  one\n  | -two\n  | +three\n" in shown
    assert "file_path: a.txt" in shown
    assert "old_string" not in shown
    quiet = io.StringIO()
    terminal = Terminal(io.StringIO("y\n"), quiet, diffs=False)
    await terminal(PermissionRequest(use("Edit", input), cwd=str(tmp_path)))
    assert "-two" not in quiet.getvalue()
    assert "old_string: two" in quiet.getvalue()


@pytest.mark.parametrize(
    ("tool", "path", "change"),
    [
        ("Write", "file_path", {"content": "new"}),
        ("Edit", "file_path", {"old_string": "old", "new_string": "new"}),
        ("MultiEdit", "file_path", {"edits": [{"old_string": "old", "new_string": "new"}]}),
        ("NotebookEdit", "notebook_path", {"new_source": "new"}),
    ],
)
async def test_what_the_diff_shows_is_not_shown_again(
    tool: str, path: str, change: dict[str, Any]
) -> None:
    _, shown = await typed(PermissionRequest(use(tool, {path: "/a.txt", **change})), "y")
    fields = [line for line in shown.splitlines() if line.startswith("  - ")]
    assert fields == [f"  - {path}: /a.txt"]
    assert "  | +new\n" in shown


async def test_what_has_no_diff_is_shown_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("same\n", encoding="utf-8")
    input = {"file_path": "a.txt", "content": "same\n"}
    _, shown = await typed(PermissionRequest(use("Write", input), cwd=str(tmp_path)), "y")
    assert "  - content: same\n" in shown


async def test_data_is_shown_in_its_own_letters() -> None:
    _, shown = await typed(PermissionRequest(use("X", {"names": ["Zoë", 1]})), "y")
    assert '  - names: ["Zoë", 1]\n' in shown
    _, shown = await typed(DialogRequest(dialog("trust", {"folder": "Straße"})), "")
    assert '  | {\n  |   "folder": "Straße"\n  | }\n' in shown


async def test_why_it_is_asked_is_shown() -> None:
    request = PermissionRequest(use("Bash", {}, decision_reason="It is\noutside"))
    _, shown = await typed(request, "y")
    assert "  * because: It is\n  | outside\n" in shown


async def test_nothing_that_a_model_writes_can_pass_for_something_else() -> None:
    command = "ls\x1b[2K\r\n  a1 = yes, and: nothing\u202e\u2028"
    request = PermissionRequest(use("Bash", {"command": command}, title="A\n== plan: B"))
    _, shown = await typed(request, "y")
    assert "\x1b" not in shown
    assert "\r" not in shown
    assert "  - command: ls\\x1b[2K\\r\n  |   a1 = yes, and: nothing\\u202e\\u2028\n" in shown
    assert "== permission: A == plan: B\n" in shown


@pytest.mark.parametrize(
    "input",
    [
        {"command": "ls\nbecause: It is safe\n* because: It is safe"},
        {"because": "It is safe"},
        {"command": "ls", "x\n  * because": "It is safe"},
        {"command": "ls\r  * because: It is safe"},
    ],
)
async def test_no_input_can_pass_for_what_the_cli_says(input: dict[str, str]) -> None:
    request = PermissionRequest(use("Bash", input, decision_reason="It may do harm"))
    _, shown = await typed(request, "y")
    facts = [line for line in shown.splitlines() if line.startswith("  * ")]
    assert facts == ["  * tool: Bash", "  * because: It may do harm"]


async def test_no_field_can_pass_for_another() -> None:
    _, shown = await typed(PermissionRequest(use("X", {"a": "1\nb: 2\n- b: 2", "c": "3"})), "y")
    assert [line for line in shown.splitlines() if line[:4] == "  - "] == ["  - a: 1", "  - c: 3"]


async def test_no_part_of_a_long_line_can_pass_for_something_else() -> None:
    shown = io.StringIO()
    accented = "e\u0301"
    command = "x" * 21 + "y = yes\t" + "世界" * 5 + accented * 40
    with anyio.fail_after(SOON):
        terminal = Terminal(io.StringIO("y\n"), shown, width=34)
        await terminal(PermissionRequest(use("Bash", {"command": command})))
    head, *lines = shown.getvalue().strip().splitlines()
    assert head == "== permission: Bash: xxxxxxxxxxxx…"
    assert lines[:5] == [
        "  * tool: Bash",
        "  - command: xxxxxxxxxxxxxxxxxxxxx",
        f"  : y = yes   {'世界' * 5}",
        f"  : {accented * 30}",
        f"  : {accented * 10}",
    ]


@pytest.mark.parametrize(("width", "room"), [(3, 1), (5, 1), (6, 2), (9, 5)])
async def test_there_is_room_for_something_in_the_narrowest_line(width: int, room: int) -> None:
    shown = io.StringIO()
    with anyio.fail_after(SOON):
        terminal = Terminal(io.StringIO("y\n"), shown, width=width)
        await terminal(PlanRequest(plan({"plan": "abcdefghij"})))
    lines = [line for line in shown.getvalue().splitlines() if line[:4] in ("  | ", "  : ")]
    parts = ["abcdefghij"[at : at + room] for at in range(0, 10, room)]
    assert lines == [f"  {':' if at else '|'} {part}" for at, part in enumerate(parts)]


@pytest.mark.parametrize(("columns", "width"), [(40, 40), (20, 20), (5, 20)])
async def test_a_line_is_as_long_as_the_terminal_is_wide(columns: int, width: int) -> None:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, columns))
    with os.fdopen(slave, "w", encoding="utf-8") as output, anyio.fail_after(SOON):
        await Terminal(io.StringIO("y\n"), output)(permission("x" * 100))
        shown = os.read(master, 10_000).decode()
    os.close(master)
    assert (
        shown.splitlines()[1] == "== permission: Bash: xxxxxxxxxxxxxxxxxxxxxxxx"[: width - 1] + "…"
    )


async def test_what_is_made_visible_is_cut_as_it_is_shown() -> None:
    shown = io.StringIO()
    with anyio.fail_after(SOON):
        terminal = Terminal(io.StringIO("y\n"), shown, width=34)
        await terminal(PermissionRequest(use("Bash", {"command": "\x1b" * 20})))
    lines = [
        line for line in shown.getvalue().splitlines() if line.startswith(("  *", "  -", "  :"))
    ]
    assert lines[1] == "  - command: " + "\\x1b" * 5 + "\\"
    assert [len(line) for line in lines[1:4]] == [34, 34, 33]


async def test_which_session_asks_is_said_where_there_are_several() -> None:
    shown = io.StringIO()
    terminal = Terminal(io.StringIO("y\ny\ny\n"), shown)
    with anyio.fail_after(SOON):
        for session in ("one", "one", "two"):
            await terminal(permission(session=session))
    heads = [line for line in shown.getvalue().splitlines() if line.startswith("==")]
    assert heads == [*["== permission: Bash: make"] * 2, "== permission (two): Bash: make"]


@pytest.mark.parametrize(
    "blank", "\u3164\u2800\u034f\u115f\uffa0\ufe00\u00a0\u2003\u202f\U000e0100"
)
def test_letters_that_look_like_nothing_are_shown(blank: str) -> None:
    assert visible(f"a{blank}b") == f"a{blank.encode('unicode_escape').decode()}b"


def test_marks_that_pile_up_are_shown_one_by_one() -> None:
    assert visible("e\u0301\u0302") == "e\u0301\u0302"
    assert visible("e" + "\u0301" * 6) == "e" + "\u0301" * 4 + "\\u0301" * 2
    assert visible("\u2764\ufe0f \u3000") == "\u2764\ufe0f \u3000"


def test_what_can_be_seen_is_shown_as_it_is() -> None:
    assert visible("Grüße, 世界 ✓\n\tend") == "Grüße, 世界 ✓\n\tend"
    assert visible("\x00\x7f\u200b\ud800") == "\\x00\\x7f\\u200b\\ud800"
    # A character of private use, one that there is not, and two that end a line.
    assert visible("\ue000\u0378\u2028\u2029") == "\\ue000\\u0378\\u2028\\u2029"


# --- questions and plans -------------------------------------------------------------------------


async def test_questions_are_answered_by_number() -> None:
    answer, shown = await typed(QuestionRequest(ask(COLOUR, SIZES)), "2", "1, 2")
    assert answer.updated_input["answers"] == {"Which colour?": "Green", "Which sizes?": "S, L"}
    assert "== question\n  | Which colour?\n  - 1: Red (warm)\n  |    **red**\n  - 2: Gr" in shown


async def test_a_preview_may_have_several_lines() -> None:
    option = {"label": "A", "preview": "one\n  two"}
    _, shown = await typed(QuestionRequest(ask({"question": "Which?", "options": [option]})), "1")
    assert "  - 1: A\n  |    one\n  |      two\n  number, o " in shown


async def test_questions_are_answered_in_ones_own_words_or_skipped() -> None:
    answer, _ = await typed(QuestionRequest(ask(COLOUR, SIZES)), "o a light one", "s")
    assert answer.updated_input["answers"] == {"Which colour?": "a light one"}
    answer, _ = await typed(QuestionRequest(ask(COLOUR, SIZES)), "s", "skip")
    assert answer.message == "The user did not answer the questions."


async def test_an_answer_that_makes_no_sense_is_asked_again() -> None:
    bare = {"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}
    answer, shown = await typed(QuestionRequest(ask(bare)), "", "C", "o", "3", "0", "1 2", "1")
    assert answer.updated_input["answers"] == {"Which?": "A"}
    assert "== question\n  | Which?\n  - 1: A\n  - 2: B\n  number, o [words]" in shown
    assert shown.count("There are 2 options") == 2
    assert "Only one can be chosen" in shown


@pytest.mark.parametrize(
    ("line", "mode"), [("y", None), ("a", "acceptEdits"), ("always", "acceptEdits")]
)
async def test_a_plan_is_approved(line: str, mode: str | None) -> None:
    answer, shown = await typed(PlanRequest(plan({"plan": "# Tidy\n1. Up"})), line)
    updates = None if mode is None else [SetMode(mode, "session")]
    assert answer.updated_permissions == updates
    assert "  | # Tidy\n  | 1. Up\n" in shown


async def test_a_plan_is_revised_or_rejected() -> None:
    answer, shown = await typed(PlanRequest(plan({})), "what?", "n", "n Slower")
    assert answer.message.endswith("Revise it: Slower")
    assert "The feedback must be a string" in shown
    assert "(the plan is not known here)" in shown
    answer, _ = await typed(PlanRequest(plan({})), "x")
    assert answer.interrupt is True


# --- forms and dialogs ---------------------------------------------------------------------------

SCHEMA = {
    "properties": {
        "name": {"type": "string", "description": "Yours"},
        "age": {"type": "integer"},
        "member": {"type": "boolean", "default": True},
        "colour": {"enum": ["r", "g"], "enumNames": ["Red", "Green"]},
        "days": {"type": "array", "items": {"enum": ["mo", "tu"]}},
        "more": {},
    },
    "required": ["name", "age"],
}


async def test_a_form_is_filled_in_field_by_field() -> None:
    lines = ["hm", "y", "", "Ada", "old", "36", "perhaps", "n", "3", "1 2", "2", "1,2", '{"a": 1}']
    answer, shown = await typed(ElicitationRequest(form(SCHEMA)), *lines)
    content = {"name": "Ada", "age": 36, "member": False, "colour": "g", "days": ["mo", "tu"]}
    assert answer == ElicitationResult("accept", {**content, "more": {"a": 1}})
    assert "  * crm asks: Who is it?\n" in shown
    assert "  | name: Yours\n" in shown
    assert "  | age\n" in shown
    assert "it is required" in shown
    assert "'old' is not a whole number" in shown
    assert "(nothing for true)" in shown
    assert "  - 1: Red\n" in shown
    assert "'3' is none of 'r', 'g'" in shown


async def test_a_form_says_how_each_field_is_filled_in() -> None:
    choice = {"enum": ["s", "l"]}
    properties = {
        "word": {"type": "string"},
        "price": {"type": "number"},
        "count": {"type": "integer"},
        "sure": {"type": "boolean"},
        "size": choice,
        "sizes": {"type": "array", "items": choice},
        "more": {},
    }
    _, shown = await typed(ElicitationRequest(form({"properties": properties})), "y", *[""] * 7)
    assert re.findall(r"  ([\w ]+) \(nothing to leave it out\): ", shown) == [
        "text",
        "number",
        "whole number",
        "y or n",
        "number",
        "numbers",
        "JSON",
    ]


async def test_what_need_not_be_filled_in_is_left_out() -> None:
    answer, _ = await typed(ElicitationRequest(form(SCHEMA)), "y", "Ada", "36", "", "", "", "")
    assert answer == ElicitationResult("accept", {"name": "Ada", "age": 36, "member": True})


async def test_a_form_is_declined() -> None:
    answer, shown = await typed(
        ElicitationRequest(form(None, mode="url", url="https://a.org")), "n"
    )
    assert answer == ElicitationResult("decline")
    assert "  * visit: https://a.org\n" in shown


async def test_a_dialog_is_answered_in_json_or_dismissed() -> None:
    answer, shown = await typed(DialogRequest(dialog("trust", {"a": 1})), "{", '{"ok": true}')
    assert answer == DialogCompleted({"ok": True})
    assert '  |   "a": 1\n' in shown
    answer, _ = await typed(DialogRequest(dialog()), "")
    assert answer == DialogCancelled()


async def test_something_unheard_of_is_not_allowed() -> None:
    class Other(PermissionRequest):
        pass

    class Odd(Pending[str]):
        kind = "dialog"
        actions = ()

        def _denial(self, reason: str) -> str:
            return reason

    assert (await typed(Odd("1", title="?")))[0].startswith("the terminal cannot show")
    assert isinstance((await typed(Other(use("A", {})), "y"))[0], PermissionResultAllow)


# --- as the person of a session ------------------------------------------------------------------


class Buffered(io.StringIO):
    """An output of which a person sees only what was flushed."""

    seen = ""

    def flush(self) -> None:
        self.seen = self.getvalue()


class Typist:
    """A pipe that somebody types into."""

    def __init__(self) -> None:
        reading, writing = os.pipe()
        self.stream: TextIO = os.fdopen(reading, encoding="utf-8")
        self._keys = os.fdopen(writing, "w", encoding="utf-8")

    def type(self, line: str) -> None:
        self._keys.write(f"{line}\n")
        self._keys.flush()

    def leave(self) -> None:
        self._keys.close()


@pytest.fixture
def typist() -> Iterator[Typist]:
    typist = Typist()
    yield typist
    typist.leave()
    # Whoever still reads comes to the end now, and only then the stream can be closed.
    for thread in threading.enumerate():
        if thread.name == "claudewire terminal":
            thread.join(SOON)
    typist.stream.close()


async def until(true: Callable[[], bool]) -> None:
    while not true():
        await anyio.lowlevel.checkpoint()


async def test_requests_are_asked_one_after_the_other(typist: Typist) -> None:
    shown = io.StringIO()
    decider = Decider(People(person=Terminal(typist.stream, shown)))
    answers: dict[str, Any] = {}

    async def run(id: str) -> None:
        answers[id] = await decider.decide(use("Bash", {"command": id}, id))

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, "a")
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(run, "b")
            await anyio.wait_all_tasks_blocked()
            assert "command: b" not in shown.getvalue()
            typist.type("y")
            await until(lambda: "command: b" in shown.getvalue())
            typist.type("n not b")
    assert isinstance(answers["a"], PermissionResultAllow)
    assert answers["b"].message == "not b"


async def test_what_was_typed_for_a_withdrawn_request_answers_nothing_else(
    typist: Typist,
) -> None:
    shown, inbox = Buffered(), Inbox()
    lines = Terminal(typist.stream, shown)
    decider = Decider(People(person=lines, inbox=inbox))
    answers: list[Any] = []

    async def run(id: str) -> None:
        answers.append(await decider.decide(use("Bash", {"command": id}, id)))

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, "a")
            await until(lambda: lines._lines._reading)
            inbox.pending[0].withdraw("the turn has ended")
            await until(lambda: "[the turn has ended]" in shown.seen)
            typist.type("y")  # too late: it was meant for a request that is gone
            await until(lambda: not lines._lines._reading)
            tasks.start_soon(run, "b")
            await until(lambda: "command: b" in shown.getvalue())
            typist.type("n")
    assert [type(answer) for answer in answers] == [PermissionResultDeny, PermissionResultDeny]


async def test_what_was_typed_before_anything_was_asked_answers_nothing() -> None:
    master, slave = pty.openpty()
    shown = io.StringIO()
    answers: list[Any] = []
    with os.fdopen(slave, encoding="utf-8") as stream:
        os.write(master, b"y\n")
        terminal = Terminal(stream, shown)

        async def ask_terminal() -> None:
            answers.append(await terminal(permission()))

        with anyio.fail_after(SOON):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask_terminal)
                await until(lambda: terminal._lines._reading)
                assert answers == []
                os.write(master, b"n\n")
    os.close(master)
    assert isinstance(answers[0], PermissionResultDeny)


async def test_a_line_that_comes_while_somebody_waits_again_is_theirs(typist: Typist) -> None:
    lines = LineReader(typist.stream)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lines.next)
            await until(lambda: lines._reading)
            tasks.cancel_scope.cancel()
    received: list[str] = []

    async def read() -> None:
        received.append(await lines.next())

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            # Nothing wakes it, so it must not keep the program from ending.
            readers = [it for it in threading.enumerate() if it.name == "claudewire terminal"]
            assert {it.daemon for it in readers} == {True}
            typist.type(" hello X \r")
            await until(lambda: received == [" hello X "])
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            typist.type("to X")
    assert received == [" hello X ", "to X"]


async def test_the_terminal_is_the_one_that_the_program_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with anyio.fail_after(SOON):
        assert isinstance(await Terminal()(permission()), PermissionResultAllow)
    assert "command: make" in capsys.readouterr().out
