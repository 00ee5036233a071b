"""A person at a terminal."""

from __future__ import annotations

import io
import os
import pty
import termios
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import anyio
import pytest
from tests.helpers.sessions import soon
from tests.session.approvals.asking import (
    COLOUR,
    SIZES,
    SOON,
    ask,
    dialog,
    form,
    permission,
    plan,
    use,
)

from claudewire.approvals import (
    ApprovalRequest,
    DialogRequest,
    ElicitationRequest,
    PermissionRequest,
    PermissionResultAllow,
    PermissionResultDeny,
    PlanRequest,
    QuestionRequest,
    Terminal,
    TerminalIO,
)
from claudewire.approvals.permissions import REJECTED, REVISE
from claudewire.wire import (
    AddRules,
    DialogCancelled,
    Elicitation,
    ElicitationResult,
    PermissionHint,
    PermissionRule,
    Request,
    SetMode,
)

pytestmark = pytest.mark.anyio

MAKE_RULE = AddRules([PermissionRule("Bash", "make:*")], "allow", "session")
ACCEPT = SetMode("acceptEdits", "session")
ENDED = "No answer from the terminal: denied."


class Wide(TerminalIO):
    def __init__(self, input: TextIO, output: TextIO, width: int) -> None:
        super().__init__(input, output)
        self.width = width

    @property
    def columns(self) -> int:
        return self.width


async def typed(request: ApprovalRequest[Any], *lines: str, width: int = 0) -> tuple[Any, str]:
    """Ask a person who types these lines; return the answer, and everything shown."""
    shown = io.StringIO()
    typing = io.StringIO("".join(f"{line}\n" for line in lines))
    with anyio.fail_after(SOON):
        answer = await Terminal(io=Wide(typing, shown, width))(request)
    return answer, shown.getvalue()


def suggested(*suggestions: Any) -> PermissionRequest:
    input = {"command": "make test", "timeout": 5}
    return PermissionRequest(
        use("Bash", input, permission_suggestions=suggestions, agent_id="a1", blocked_path="/x")
    )


# --- permissions ---------------------------------------------------------------------------------


async def test_permission_is_shown_with_its_facts_and_keys() -> None:
    hint = PermissionHint("allow", "Safe")
    answer, shown = await typed(suggested(hint, MAKE_RULE, ACCEPT), " Yes ")
    assert answer == PermissionResultAllow(
        {"command": "make test", "timeout": 5}, tool_use_id="toolu_1"
    )
    assert shown.splitlines()[1:] == [
        "Allow Bash? (agent a1)",
        "  * tool: Bash",
        "  - command: make test",
        "  - timeout: 5",
        "  * path: /x",
        "  a1 = yes, and from now on:",
        "  | Always allow commands that begin with `make` (in this session)",
        "  a2 = yes, and from now on:",
        "  | Accept all changes to files without asking (in this session)",
        "y = yes, a [session, project, local, user] = always, n [reason] = no, "
        "x [reason] = no, and stop the turn",
        "> ",
    ]


@pytest.mark.parametrize(
    ("lines", "updates", "shown"),
    [
        (["a", "a1"], [MAKE_RULE], "  That is not one of the answers.\n"),
        (["a9", "A2"], [ACCEPT], "  That is not one of the answers.\n"),
        (
            ["a2 always", "a2 user"],
            [SetMode("acceptEdits", "userSettings")],
            "  There is no scope 'always'",
        ),
    ],
)
async def test_suggestion_is_remembered(lines: list[str], updates: list[Any], shown: str) -> None:
    answer, output = await typed(suggested(MAKE_RULE, ACCEPT), *lines)
    assert answer.updated_permissions == updates
    assert shown in output


@pytest.mark.parametrize(
    ("request_", "rule"),
    [
        (permission("make"), PermissionRule("Bash", "make")),
        (PermissionRequest(use("WebFetch", {"url": "x"})), PermissionRule("WebFetch")),
        (permission("a\nb"), None),
    ],
)
async def test_exact_rule_is_offered_without_a_suggestion(
    request_: PermissionRequest, rule: PermissionRule | None
) -> None:
    answer, shown = await typed(request_, "always", "y")
    expected = None if rule is None else [AddRules([rule], "allow", "session")]
    assert answer.updated_permissions == expected
    assert ("That is not one of the answers." in shown) is (rule is None)


@pytest.mark.parametrize(
    ("line", "message", "stop"),
    [
        ("n", "The user does not want this tool to run.", None),
        ("n  not  now ", "not  now", None),
        ("x", "The user does not want this tool to run.", True),
        ("stop it", "it", True),
    ],
)
async def test_no_can_have_a_reason(line: str, message: str, stop: bool | None) -> None:
    answer, _ = await typed(permission(), line)
    assert answer == PermissionResultDeny(message, stop, "toolu_1")


async def test_other_words_are_no_answer() -> None:
    lines = ("", "what?", "b1", "1", "ax", "aa1", "a-1", "e", "yess")
    answer, shown = await typed(permission(), *lines, "n")
    assert isinstance(answer, PermissionResultDeny)
    assert shown.count("  That is not one of the answers.\n") == len(lines)


class Failing(io.StringIO):
    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        raise self.error


@pytest.mark.parametrize(
    "stream", [io.StringIO("what?\n"), *map(Failing, (OSError(), ValueError(), SystemExit()))]
)
async def test_end_of_the_input_denies(stream: TextIO) -> None:
    stream.seek(0)
    with anyio.fail_after(SOON):
        answer = await Terminal(stream, io.StringIO())(permission())
    assert answer == PermissionResultDeny(ENDED, tool_use_id="toolu_1")


async def test_request_that_has_ended_is_reported() -> None:
    request = permission()
    request.withdraw("over\x1b[2K")
    _, shown = await typed(request, "y")
    assert shown.endswith("  Request over: over\\x1b[2K.\n")


class Editor(TerminalIO):
    can_edit = True

    def __init__(self, *texts: str) -> None:
        super().__init__(io.StringIO(), io.StringIO())
        self.texts = list(texts)
        self.offered: list[str] = []

    async def read(self, *, text: str = "", multiline: bool = False) -> str:
        if multiline:
            self.offered.append(text)
        return self.texts.pop(0)


@pytest.mark.parametrize(
    ("tool", "input", "texts", "offered", "changed"),
    [
        ("Bash", {"command": "a", "x": 1}, ["b\nc"], ["a"], {"command": "b\nc", "x": 1}),
        ("Bash", {"command": "a"}, [" "], ["a"], {"command": "a"}),
        ("X", {"y": 1}, ["5", "{", '{"y": 2}'], ['{\n  "y": 1\n}', "5", "{"], {"y": 2}),
    ],
)
async def test_input_is_edited(
    tool: str, input: Any, texts: list[str], offered: list[str], changed: Any
) -> None:
    editor = Editor("e", *texts)
    with anyio.fail_after(SOON):
        answer = await Terminal(io=editor)(PermissionRequest(use(tool, input)))
    assert (answer.updated_input, editor.offered) == (changed, offered)


# --- diffs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "path", "change"),
    [
        ("Write", "file_path", {"content": "three\n"}),
        ("Edit", "file_path", {"old_string": "two", "new_string": "three"}),
        ("NotebookEdit", "notebook_path", {"new_source": "three"}),
    ],
)
async def test_diff_replaces_the_fields_that_it_shows(
    tmp_path: Path, tool: str, path: str, change: dict[str, Any]
) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    request = PermissionRequest(use(tool, {path: "a.txt", **change}), cwd=str(tmp_path))
    _, shown = await typed(request, "y")
    assert f"Allow {tool} to a.txt?\n" in shown
    assert "  * changes:\n  | --- a/a.txt\n" in shown
    assert "  | +three\n" in shown
    fields = [line for line in shown.splitlines() if line.startswith("  - ")]
    assert fields == [f"  - {path}: a.txt"]


# --- foreign text --------------------------------------------------------------------------------


async def test_control_characters_are_shown_as_escapes() -> None:
    command = "ls\x1b[2K\r\n  a1 = yes, and: nothing\u202e\u2028"
    request = PermissionRequest(use("Bash", {"command": command}, display_name="A\nB\x1b"))
    _, shown = await typed(request, "y")
    assert "\x1b" not in shown
    assert "\r" not in shown
    assert "  - command: ls\\x1b[2K\\r\n  |   a1 = yes, and: nothing\\u202e\\u2028\n" in shown
    assert "Allow Bash?\n  * tool: Bash\n  * name: A\n  | B\\x1b\n" in shown


@pytest.mark.parametrize(
    "input",
    [
        {"command": "ls\nbecause: It is safe\n* because: It is safe"},
        {"because": "It is safe"},
        {"command": "ls", "x\n  * because": "It is safe"},
        {"command": "ls\r  * because: It is safe"},
    ],
)
async def test_input_cannot_pass_for_a_fact(input: dict[str, str]) -> None:
    request = PermissionRequest(use("Bash", input, decision_reason="It may\ndo harm"))
    _, shown = await typed(request, "y")
    facts = [line for line in shown.splitlines() if line.startswith("  * ")]
    assert facts == ["  * tool: Bash", "  * because: It may"]


HOSTILE = "x?\n\n  y = yes, n = no\r\nAllow Read?\x1b[2K\u2028> Allow Read to README.md? y = yes"
FIELDS = ("display_name", "title", "description", "decision_reason", "blocked_path", "agent_id")
HOSTILE_QUESTION = {
    "question": HOSTILE,
    "header": HOSTILE,
    "options": [{"label": HOSTILE, "description": HOSTILE, "preview": HOSTILE}],
}
HOSTILE_FORM = {
    "properties": {
        HOSTILE: {"title": HOSTILE, "description": HOSTILE, "default": HOSTILE},
        "b": {"enum": [HOSTILE], "enumNames": [HOSTILE]},
    }
}
HOSTILE_RULE = AddRules([PermissionRule(HOSTILE, HOSTILE)], "allow", "session")


@pytest.mark.parametrize("width", [0, 34])
@pytest.mark.parametrize(
    "request_",
    [
        PermissionRequest(
            use(
                HOSTILE,
                {"file_path": HOSTILE, HOSTILE: {"a": HOSTILE}},
                permission_suggestions=[HOSTILE_RULE, HOSTILE_RULE],
                **dict.fromkeys(FIELDS, HOSTILE),
            )
        ),
        QuestionRequest(ask(HOSTILE_QUESTION)),
        PlanRequest(plan({"plan": HOSTILE})),
        ElicitationRequest(
            Request(id="1", body=Elicitation(HOSTILE, HOSTILE, requested_schema=HOSTILE_FORM))
        ),
        DialogRequest(dialog(HOSTILE)),
    ],
    ids=lambda it: it.kind if isinstance(it, ApprovalRequest) else str(it),
)
async def test_foreign_text_cannot_look_like_our_question(
    request_: ApprovalRequest[Any], width: int
) -> None:
    _, shown = await typed(request_, "y", HOSTILE.partition("\n")[0], "9", "", "", width=width)
    lines = [line.removeprefix("> ") for line in shown.splitlines()]  # nobody pressed Enter
    marked = [line for line in lines if line.startswith("  ")]
    assert not [line for line in {*lines} - {*marked} if "Read" in line or "\x1b" in line]
    assert not width or max(map(len, marked), default=0) <= width
    title = request_.title
    assert title.splitlines() == [title]
    assert title.isprintable()
    assert not title.startswith("x?")


async def test_rest_of_a_long_line_is_marked() -> None:
    accented = "e\u0301"
    command = "x" * 21 + "y = yes\t" + "世界" * 5 + accented * 40 + "\x1b" * 8
    _, shown = await typed(permission(command), "y", width=34)
    fields = [line for line in shown.splitlines() if line.startswith(("  - ", "  : "))]
    assert fields[:5] == [
        "  - command: xxxxxxxxxxxxxxxxxxxxx",
        f"  : y = yes   {'世界' * 5}",
        f"  : {accented * 30}",
        "  : " + accented * 10 + r"\x1b" * 5,
        "  : " + r"\x1b" * 3,
    ]


@pytest.mark.parametrize(("columns", "width"), [(40, 40), (5, 20)])
async def test_width_is_that_of_the_terminal(columns: int, width: int) -> None:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, columns))
    with os.fdopen(slave, "w", encoding="utf-8") as output, anyio.fail_after(SOON):
        await Terminal(io.StringIO("y\n"), output)(PermissionRequest(use("x" * 80, {})))
        shown = ""
        while "> " not in shown:  # a terminal passes text on in pieces
            shown += os.read(master, 10_000).decode()
    os.close(master)
    assert shown.splitlines()[1] == f"Allow {'x' * (width - 7)}…"


async def test_session_is_named_if_there_are_several() -> None:
    shown = io.StringIO()
    terminal = Terminal(io.StringIO("y\ny\ny\n"), shown)
    with anyio.fail_after(SOON):
        for session in ("one", "one", "two"):
            await terminal(permission(session=session))
    heads = [line for line in shown.getvalue().splitlines() if line.startswith("Allow")]
    assert heads == ["Allow Bash?", "Allow Bash?", "Allow Bash? (two)"]


# --- questions and plans -------------------------------------------------------------------------


async def test_questions_are_answered_by_number() -> None:
    answer, shown = await typed(QuestionRequest(ask(COLOUR, SIZES)), "2", "1, 2")
    assert answer.updated_input["answers"] == {"Which colour?": "Green", "Which sizes?": "S, L"}
    assert (
        "Question 1\n  | Which colour?\n  - 1: Red (warm)\n  |    **red**\n  - 2: Green (calm)\n"
    ) in shown
    assert "Question 2\n" in shown


async def test_questions_are_answered_in_own_words_or_skipped() -> None:
    answer, _ = await typed(QuestionRequest(ask(COLOUR, SIZES)), "a light one", "s")
    assert answer.updated_input["answers"] == {"Which colour?": "a light one"}
    answer, _ = await typed(QuestionRequest(ask(COLOUR)), "skip")
    assert answer.message == "The user did not answer the questions."


async def test_numbers_of_other_options_are_no_answer() -> None:
    answer, shown = await typed(QuestionRequest(ask(COLOUR)), "3", "0", "1 2", "1")
    assert answer.updated_input["answers"] == {"Which colour?": "Red"}
    assert shown.count("There are 2 options.") == 2
    assert "Only one option can be chosen." in shown


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (["YES"], PermissionResultAllow({"plan": "# Tidy\n1. Up"})),
        (["a"], PermissionResultAllow({"plan": "# Tidy\n1. Up"}, [ACCEPT])),
        (["hm", "n", "no Slower"], PermissionResultDeny(f"{REVISE}Slower", None, "toolu_1")),
        (["x"], PermissionResultDeny(REJECTED, True, "toolu_1")),
    ],
)
async def test_plan_is_approved_revised_or_rejected(lines: list[str], answer: Any) -> None:
    given, shown = await typed(PlanRequest(plan({"plan": "# Tidy\n1. Up"})), *lines)
    assert given == answer
    assert "Approve this plan?\n  | # Tidy\n  | 1. Up\n" in shown
    assert ("The feedback must be a string" in shown) is ("n" in lines)


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


async def test_form_is_filled_in_field_by_field() -> None:
    lines = ["hm", "y", "", "Ada", "old", "36", "perhaps", "n", "3", "1 2", "2", "1,2", '{"a": 1}']
    answer, shown = await typed(ElicitationRequest(form(SCHEMA)), *lines)
    content = {"name": "Ada", "age": 36, "member": False, "colour": "g", "days": ["mo", "tu"]}
    assert answer == ElicitationResult("accept", {**content, "more": {"a": 1}})
    for line in (
        "  * message: Who is it?",
        "  | name: Yours\nText (required)",
        "  | age\nA whole number (required)",
        "  * default: true\ny or n; Enter for the default",
        "  - 1: Red\n  - 2: Green\nThe number of one option; Enter to leave it out",
        "The numbers of some options; Enter to leave it out",
        "JSON; Enter to leave it out",
        "  A value is required.",
        "  'old' is not a whole number",
        "  '3' is none of 'r', 'g'",
    ):
        assert f"{line}\n" in shown


async def test_empty_lines_leave_fields_out() -> None:
    answer, _ = await typed(ElicitationRequest(form(SCHEMA)), "y", "Ada", "36", "", "", "", "")
    assert answer == ElicitationResult("accept", {"name": "Ada", "age": 36, "member": True})


async def test_dialog_is_dismissed() -> None:
    answer, shown = await typed(DialogRequest(dialog("trust", {"a": 1})))
    assert answer == DialogCancelled()
    assert "Dialog: trust\n" in shown


# --- several requests ----------------------------------------------------------------------------


class Typist:
    """A pipe that a person types into."""

    def __init__(self) -> None:
        reading, writing = os.pipe()
        self.stream: TextIO = os.fdopen(reading, encoding="utf-8")
        self._keys = os.fdopen(writing, "w", encoding="utf-8")

    def type(self, line: str) -> None:
        self._keys.write(f"{line}\n")
        self._keys.flush()

    def leave(self) -> None:
        self._keys.close()
        for reader in readers():
            reader.join(SOON)
        self.stream.close()


def readers() -> list[threading.Thread]:
    return [it for it in threading.enumerate() if it.name == "claudewire terminal"]


@pytest.fixture
def typist() -> Iterator[Typist]:
    typist = Typist()
    yield typist
    typist.leave()


async def test_requests_are_asked_one_after_the_other(typist: Typist) -> None:
    shown, answers = io.StringIO(), dict[str, Any]()
    terminal = Terminal(typist.stream, shown)

    async def run(id: str) -> None:
        answers[id] = await terminal(permission(id))

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, "a")
            await soon(readers)
            tasks.start_soon(run, "b")
            await anyio.wait_all_tasks_blocked()
            assert "command: b" not in shown.getvalue()
            # The read cannot be cancelled, so it must not keep the program from ending.
            assert [it.daemon for it in readers()] == [True]
            typist.type("y")
            await soon(lambda: "command: b" in shown.getvalue())
            typist.type("n not b")
    assert isinstance(answers["a"], PermissionResultAllow)
    assert answers["b"].message == "not b"


async def test_typing_for_an_ended_request_answers_no_other(typist: Typist) -> None:
    shown, answers = io.StringIO(), list[Any]()
    terminal = Terminal(typist.stream, shown)

    async def run(id: str) -> None:
        answers.append(await terminal(permission(id)))

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, "a")
            await soon(readers)
            tasks.cancel_scope.cancel()
        typist.type("y")
        await soon(lambda: not readers())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, "b")
            await soon(lambda: "command: b" in shown.getvalue())
            typist.type("n")
    assert [type(answer) for answer in answers] == [PermissionResultDeny]


async def test_typing_before_a_request_answers_nothing() -> None:
    master, slave = pty.openpty()
    answers: list[Any] = []
    with os.fdopen(slave, encoding="utf-8") as stream:
        os.write(master, b"y\n")
        terminal = Terminal(stream, io.StringIO())

        async def run() -> None:
            answers.append(await terminal(permission()))

        with anyio.fail_after(SOON):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
                await soon(readers)
                assert answers == []
                os.write(master, b"n\n")
    os.close(master)
    assert isinstance(answers[0], PermissionResultDeny)


async def test_terminal_uses_the_streams_of_the_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with anyio.fail_after(SOON):
        assert isinstance(await Terminal()(permission()), PermissionResultAllow)
    assert "command: make" in capsys.readouterr().out
