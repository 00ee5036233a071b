"""What becomes of answers of every kind, right and wrong: see tests/helpers/kept.py."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from tests.helpers.kept import Kept
from tests.people.asking import COLOUR, SIZES, ask, dialog, form, plan, use

from claudewire.people import (
    AnswerError,
    DialogRequest,
    ElicitationRequest,
    Form,
    PermissionRequest,
    PlanRequest,
    QuestionAnswer,
    QuestionRequest,
    Suggestion,
)
from claudewire.people.diffs import diff_of
from claudewire.wire import (
    AddDirectories,
    AddRules,
    PermissionHint,
    PermissionRule,
    RemoveDirectories,
    RemoveRules,
    ReplaceRules,
    SetMode,
    UnknownPermissionUpdate,
)


def told(do: Callable[..., object], *arguments: Any, **named: Any) -> str:
    try:
        return repr(do(*arguments, **named))
    except (AnswerError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


# --- forms ----------------------------------------------------------------------------------------

FIELDS: dict[str, Any] = {
    "string": {"type": "string", "title": "A", "description": "B", "default": "c"},
    "length": {"type": "string", "minLength": 2, "maxLength": 3},
    "email": {"type": "string", "format": "email"},
    "uri": {"type": "string", "format": "uri"},
    "date": {"type": "string", "format": "date"},
    "time": {"type": "string", "format": "date-time"},
    "format": {"type": "string", "format": "odd"},
    "no format": {"type": "string", "format": 5},
    "number": {"type": "number", "minimum": 1, "maximum": 2.5, "format": "email"},
    "integer": {"type": "integer", "minimum": 2, "maximum": 3},
    "boolean": {"type": "boolean", "minLength": 5, "minimum": 0},
    "choice": {"enum": ["a", "b"], "enumNames": ["A", "B"]},
    "few names": {"enum": ["a", "b"], "enumNames": ["A"]},
    "numbers": {"enum": [1, 2]},
    "one of": {"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]},
    "any of": {"anyOf": [{"const": "a"}]},
    "not choices": {"type": "string", "oneOf": [{"const": "a"}, {"type": "null"}]},
    "none": {"enum": []},
    "choices": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 1},
    "array": {"type": "array", "items": {"type": "string"}},
    "array of anything": {"type": "array"},
    "object": {"type": "object", "minLength": 5},
    "odd": "text",
    "wrong": {"type": "string", "title": 5, "description": None, "minLength": "x"},
}
VALUES: list[Any] = [
    *("", "a", "ab", "abc", "abcd", "b", "A", "a@b", "a@", "http://x", "x:y", "x", "2026-11-17"),
    *(
        "2026-11-17T10:00:00",
        "2026-11-17t10:00",
        "2026-13-01",
        "c",
        None,
        True,
        False,
        0,
        1,
        2,
        3,
        4,
    ),
    *(
        2.5,
        2.6,
        2.0,
        float("nan"),
        float("inf"),
        [],
        ["a"],
        ("b",),
        ["a", "b"],
        ["c"],
        {},
        {"a": 1},
    ),
]
TYPED = [
    "",
    "y",
    "YES",
    "n",
    "No",
    "maybe",
    "1",
    "2",
    "3",
    "0",
    "1, 2",
    "1 x",
    "2.5",
    "{}",
    "{",
    "a",
]


CONTENTS: list[Any] = [
    {},
    {"a": "x"},
    {"a": None},
    {"a": 5, "z": 1},
    {"a": "x", "b": None, "c": []},
]


def of_fields() -> Iterator[str]:
    for field in Form({"properties": FIELDS, "required": ["string", "odd"]}).fields:
        yield f"{field.describe()}"
        for value in VALUES:
            if (problem := field.problem(value)) is not None:
                yield f"    {value!r}: {problem}"
        yield f"    typed {[field.parse(it) for it in TYPED]}"


def of_forms() -> Iterator[str]:
    schema = {
        "properties": {"a": {"type": "string"}, "b": {"type": "integer", "default": 5}, "c": {}},
        "required": ["a"],
    }
    schemas: list[Any] = [schema, None, {}, {"properties": []}, {**schema, "required": "a"}]
    for given in schemas:
        for order in (None, ["c", "x", "c", "b"]):
            it = Form(given, order)
            yield f"{[field.name for field in it.fields]} {[field.required for field in it.fields]}"
        for content in CONTENTS:
            yield f"    {content}: {told(it.check, content)}"
    for fields in ({}, {"mode": "url", "url": "https://a.b"}, {"title": "Title"}):
        for content in (*CONTENTS[:2], None, "text", []):
            request = ElicitationRequest(form(schema if not fields else None, **fields))
            yield f"{request.title} {content}: {told(request.accept, content)}"
    for result in (None, {"a": 1}, object(), float("nan"), {1, 2}, Path("x"), b"x"):
        shown = repr(result).partition(" at 0x")[0]
        found = told(DialogRequest(dialog()).complete, result)
        yield f"{shown}: {found.partition(' at 0x')[0]}"


def test_what_becomes_of_forms_is_as_it_was(kept: Kept) -> None:
    kept("forms.txt", "".join(f"{line}\n" for line in (*of_fields(), *of_forms())))


# --- questions ------------------------------------------------------------------------------------

TWICE = {**COLOUR, "header": "Again"}
ANSWERS: list[Any] = [
    *(None, "Red", "red", 0, 1, 2, -1, True, ["Red"], ["Red", "Green"], [], {}, {"choose": "Red"}),
    *({"choose": 0, "notes": "n"}, {"other": "o"}, {"notes": "n"}, {"odd": 1}, {"other": ""}, 5.5),
    *(QuestionAnswer(("Red",)), QuestionAnswer((), "o", "n"), QuestionAnswer(("Red", 0))),
    {"Colour": "Red"},
    {"Which colour?": "Red", "Colour": "Red"},
    {"Colour": "Red", "Sizes": ["S", 1]},
    {"Colour": None, "Sizes": {"choose": ["S"], "other": "o", "notes": "n"}},
    {"0": "Green", "1": {"notes": "n"}},
    {0: 0, 1: "S"},
    {"Colour": "Red", 1: None},
    {"Colour": None, "Sizes": None},
    {2: 0},
    {"x": 0},
]


ASKED = re.compile(r"'questions': \[.*?'multiSelect': (?:True|False)\}\](?=[,}])")


def of_questions() -> Iterator[str]:
    asked = {"one": [COLOUR], "two": [COLOUR, SIZES], "many": [SIZES], "twice": [COLOUR, TWICE]}
    for name, questions in asked.items():
        for how in ("joined", "bare", "list"):
            for capabilities in ((), ("ask_user_question_unanswered_v1",)):

                def new() -> QuestionRequest:
                    return QuestionRequest(
                        ask(*questions),  # noqa: B023
                        form=how,  # type: ignore[arg-type]  # noqa: B023
                        capabilities=capabilities,  # noqa: B023
                    )

                yield f"{name} {how} {new().tells_unanswered} {new().title}"
                yield f"    skip: {told(new().skip)}"
                yield f"    respond: {told(new().respond, 'words')}"
                for answers in ANSWERS:
                    yield f"    {answers}: {told(new().answer, answers)}"
                for more in ({"other": "o"}, {"notes": "n"}, {"notes": {"Colour": "n", "1": "m"}}):
                    for answers in (None, "Red", 1, ["Red"], {0: "Red"}, QuestionAnswer(("Red",))):
                        yield f"    {answers} {more}: {told(new().answer, answers, **more)}"


def test_what_becomes_of_answers_to_questions_is_as_it_was(kept: Kept) -> None:
    lines = [ASKED.sub("'questions': […]", line) for line in of_questions()]
    kept("answers.txt", "".join(f"{line}\n" for line in lines))


# --- suggestions ----------------------------------------------------------------------------------

LS, READ, EDIT = PermissionRule("Bash", "ls:*"), PermissionRule("Read"), PermissionRule("Edit", "a")
UPDATES: list[Any] = [
    AddRules([LS, READ, EDIT, PermissionRule("Bash", "ls")], "allow", "session"),
    AddRules([], "deny", "localSettings"),
    AddRules([READ], "ask", "userSettings"),
    AddRules([READ], "odd", "projectSettings"),
    ReplaceRules([READ], "deny", "cliArg"),
    RemoveRules([READ], "ask", "elsewhere"),
    *(SetMode(it, "session") for it in ("default", "acceptEdits", "plan", "bypassPermissions")),
    *(SetMode(it, "session") for it in ("dontAsk", "auto", "odd")),
    AddDirectories(["/a", "/b"], "session"),
    RemoveDirectories(["/a"], "session"),
    PermissionHint("allow", "Safe"),
    PermissionHint("deny", ""),
    UnknownPermissionUpdate({"type": "odd", "destination": "session"}),
    UnknownPermissionUpdate({"type": "odd"}),
]
REMEMBER: list[Any] = [
    *(
        None,
        0,
        1,
        13,
        99,
        -1,
        True,
        "Bash(ls:*)",
        "Read",
        " Read ( x ) ",
        "Read()",
        "(x)",
        "",
        "a b",
    ),
    *([], [0, "Read"], (1,), {"a": 1}, 5.5, SetMode("plan", "session"), Suggestion(UPDATES[0])),
]


def of_suggestions() -> Iterator[str]:
    for update in UPDATES:
        it = Suggestion(update)
        yield f"{it!r} {it.scope} {it.changes_something} {it.raw}"
        yield f"    {[told(it.as_update, s) for s in (None, 'user', 'once', 'odd', 5)]}"
        more = Suggestion(update, {**it.raw, "extra": 1})
        yield f"    {told(more.as_update, 'local')} {more == it} {it == Suggestion(update)}"
    for remember in REMEMBER:
        for scope in (None, "once", "session", "project", "local", "user", "odd"):
            request = PermissionRequest(
                use("Bash", {"command": "ls"}, permission_suggestions=UPDATES)
            )
            found = told(request.allow, remember=remember, scope=scope)
            yield f"{remember} {scope}: {found}"


def test_what_becomes_of_suggestions_is_as_it_was(kept: Kept) -> None:
    kept("suggestions.txt", "".join(f"{line}\n" for line in of_suggestions()))


# --- permissions and plans ------------------------------------------------------------------------

TITLED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("Bash", {"command": "ls"}, {}),
    ("Bash", {"command": "ls"}, {"title": "T"}),
    ("Bash", {"command": "ls"}, {"display_name": "Shell"}),
    ("Odd", {}, {}),
    ("Odd", {"x": 1, "y": [None]}, {}),
    ("Odd", {"x": "é" * 3000}, {}),
    ("Bash", {"command": "x" * 200}, {}),
    ("Bash", {"command": "x" * 201}, {}),
    ("Bash", {"command": "a\n  b" + " " * 3000 + "c"}, {}),
    ("Bash", {"command": "", "description": "d"}, {}),
    *(
        ("Odd", {name: f"of {name}", "description": "d"}, {})
        for name in ("command", "file_path", "notebook_path", "path", "url", "query", "pattern")
    ),
]
DECISIONS: list[Any] = [
    *({"behavior": "allow"}, {"behavior": "deny"}, {"behavior": "odd"}, {}, None, "allow", True),
    {"behavior": "allow", "updatedInput": {"a": 1}, "toolUseID": "t9"},
    {"behavior": "allow", "updated_input": {"a": 1}, "updated_permissions": None},
    {"behavior": "deny", "message": "no", "interrupt": True},
    {"behavior": "deny", "message": ""},
    {"behavior": "deny", "message": 5},
    {"behavior": "allow", "odd": 1},
]


def of_permissions() -> Iterator[str]:
    for tool, given, more in TITLED:
        title = PermissionRequest(use(tool, given, **more)).title
        yield f"{tool} {len(title)}: {title[:30]} {title[-30:]}"
    for decision in DECISIONS:
        for id in ("toolu_1", None):
            request = PermissionRequest(use("Bash", {"command": "ls"}, tool_use_id=id))
            yield f"{decision} {id}: {told(request._fitted, decision)}"
            asked = QuestionRequest(ask(COLOUR))
            yield f"    of a question: {told(asked._fitted, decision)}"
    for given in (None, {"a": 1}, "text", {"a": object}, {"a": float("inf")}):  # type: ignore[assignment]
        request = PermissionRequest(use("Bash", {"command": "ls"}))
        yield f"{given}: {told(request.allow, input=given)}"
    for reason, stop in (("no", False), ("no", True), (5, False), ("no", 1)):
        request = PermissionRequest(use("Bash", {"command": "ls"}))
        yield f"{reason} {stop}: {told(request.deny, reason, stop=stop)}"


def of_plans() -> Iterator[str]:
    def read(path: Path) -> str | None:
        if path.name == "broken":
            raise OSError("it is broken")
        return {"plan.md": "# From a file\n\nmore"}.get(path.name)

    inputs: list[dict[str, Any]] = [
        {},
        {"plan": "## Plan A\n\n- one"},
        {"plan": "  \n"},
        {"plan": 5},
        {"planFilePath": "/x/plan.md"},
        {"planFilePath": "/x/missing"},
        {"planFilePath": "/x/broken"},
        {"planFilePath": 5},
        {"plan": "Given", "planFilePath": "/x/plan.md"},
    ]
    for given in inputs:
        for reader in (read, None):
            it = PlanRequest(plan(given), read=reader)
            yield f"{given}: {it.title!r} {it.plan!r} {it.file}"

        def new() -> PlanRequest:
            return PlanRequest(plan(given), read=read)  # noqa: B023

        for mode in (None, "default", "acceptEdits", "plan", "odd", 5):
            yield f"    {mode}: {told(new().approve, mode=mode)}"
        for text in ("Other", "Given", "", 5):
            yield f"    {text!r}: {told(new().approve, plan=text)}"
            yield f"    {text!r}: {told(new().revise, text)}"
        yield f"    {told(new().reject)} {told(new().reject, 'no', stop=False)}"


def test_what_becomes_of_permissions_and_plans_is_as_it_was(kept: Kept) -> None:
    kept("decisions.txt", "".join(f"{line}\n" for line in (*of_permissions(), *of_plans())))


# --- diffs ----------------------------------------------------------------------------------------

NOTEBOOK = msgspec.json.encode(
    {"cells": [{"id": "a", "source": ["x\n", "y"]}, {"source": "z"}, {"id": "c"}]}
).decode()
TEXTS = {"empty": "", "one": "a", "two": "a\nb\n", "open": "a\nb", "book": NOTEBOOK, "bad": "{"}
CELLS: list[dict[str, Any]] = [
    {},
    {"cell_id": "a"},
    {"cell_id": "cell-1"},
    {"cell_id": "c"},
    {"cell_id": "odd"},
    {"cell_number": 0},
    {"cell_number": 9},
    {"cell_number": -1},
    {"cell_id": "a", "edit_mode": "insert"},
    {"cell_id": "a", "edit_mode": "delete"},
]
EDITS: list[tuple[str, dict[str, Any]]] = [
    *(("Write", {"content": it}) for it in ("", "a", "a\nb\n", "a\nc", 5)),
    ("Write", {}),
    *(
        ("Edit", {"old_string": old, "new_string": new, "replace_all": all_})
        for old, new, all_ in [
            ("a", "x", False),
            ("a\n", "", True),
            ("", "new\n", False),
            ("zz", "x", False),
            ("b", "b", None),
            (5, "x", False),
        ]
    ),
    ("MultiEdit", {"edits": [{"old_string": "a", "new_string": "a\na"}] * 2}),
    (
        "MultiEdit",
        {
            "edits": [
                {"old_string": "a", "new_string": "c", "replace_all": True},
                {"old_string": "a", "new_string": "d"},
            ]
        },
    ),
    ("MultiEdit", {"edits": []}),
    ("MultiEdit", {"edits": "text"}),
    *(("NotebookEdit", {"new_source": "n", **it}) for it in CELLS),
    ("Read", {}),
]


def test_what_a_tool_would_change_is_as_it_was(kept: Kept) -> None:
    def read(path: Path) -> str | None:
        if path.name == "broken":
            raise ValueError("it is broken")
        return TEXTS.get(path.name)

    lines: list[str] = []
    for tool, given in EDITS:
        key = "notebook_path" if tool == "NotebookEdit" else "file_path"
        for name in (*TEXTS, "/x/two", "missing", "broken", 5):
            for reader in (read, None):
                diff = diff_of(tool, {key: name, **given}, cwd="/work", read=reader)
                if diff not in lines:
                    lines += [f"{tool} {given} {name}", *([] if diff is None else [diff])]
    kept("diffs.txt", "".join(f"{line}\n" for line in lines))


def test_so_many_lines_are_compared_with_each_other() -> None:
    for count, hunks in ((2000, 2), (2001, 1)):
        old = ["same", *(f"a{it}" for it in range(count)), "end", ""]
        new = ["same", "x", *old[2 : count // 2], "y", *old[count // 2 + 1 : count], "z", "end", ""]
        given = {"file_path": "f", "content": "\n".join(new)}
        diff = diff_of("Write", given, read=lambda path: "\n".join(old))  # noqa: B023
        assert diff is not None
        assert min(diff.count("\n@@"), 2) == hunks
        if hunks == 1:
            assert diff.startswith(f"--- a/f\n+++ b/f\n@@ -2,{count} +2,{count} @@\n-a0\n-a1\n")
