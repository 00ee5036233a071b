"""May this tool run? What whoever decides sees, and what the CLI is answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.people.asking import dialog, heard, permission, use, written

from claudewire.people import (
    AnswerError,
    Clock,
    PermissionRequest,
    PermissionResultAllow,
    PermissionResultDeny,
    Suggestion,
)
from claudewire.wire import AddRules, PermissionRule, Request, SetMode

LINE: dict[str, Any] = {
    "type": "control_request",
    "request_id": "uuid",
    "request": {
        "subtype": "can_use_tool",
        "tool_name": "Bash",
        "input": {"command": "ls /tmp/test/", "description": "List"},
        "tool_use_id": "toolu_xxx",
        "permission_suggestions": [
            {
                "type": "addRules",
                "rules": [{"toolName": "Read", "ruleContent": "//tmp/test/**", "note": "new"}],
                "behavior": "allow",
                "destination": "session",
                "since": "3.0",
            },
            {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
            {"type": "addWeekday", "day": "Monday", "destination": "session"},
        ],
        "blocked_path": "/tmp/test",
        "decision_reason": "It is outside of the project",
    },
}


def decided(answer: object) -> PermissionResultAllow:
    assert isinstance(answer, PermissionResultAllow)
    return answer


# --- what is seen --------------------------------------------------------------------------------


def test_a_request_shows_what_the_cli_asks() -> None:
    _, request = heard(LINE)
    asked = PermissionRequest(request, session="one", cwd="/srv")
    assert (asked.tool_name, asked.tool_use_id) == ("Bash", "toolu_xxx")
    assert asked.input == {"command": "ls /tmp/test/", "description": "List"}
    assert asked.blocked_path == "/tmp/test"
    assert asked.reason == "It is outside of the project"
    assert asked.title == "Bash: ls /tmp/test/"
    assert asked.cwd == "/srv"
    assert [it.describe() for it in asked.suggestions] == [
        "Always allow Read of //tmp/test/** (in this session)",
        "Accept all changes to files without asking (in this session)",
        "A change that this version does not know: addWeekday (in this session)",
    ]
    said = asked.describe()
    assert said["tool_name"] == "Bash"
    assert said["suggestions"][1] == asked.suggestions[1].describe()
    assert said["diff"] is None


@pytest.mark.parametrize(
    ("tool", "input", "fields", "title"),
    [
        ("Bash", {"command": "make\n  test"}, {}, "Bash: make test"),
        ("Bash", {"command": "x" * 300}, {}, f"Bash: {'x' * 200}…"),
        ("Edit", {"file_path": "/a.py", "old_string": "a"}, {}, "Edit: /a.py"),
        ("mcp__calc__add", {"a": 1}, {}, 'mcp__calc__add: {"a": 1}'),
        ("mcp__calc__add", {"a": 1}, {"display_name": "Add"}, 'Add: {"a": 1}'),
        ("Stop", {}, {}, "Stop"),
        ("Bash", {"command": "ls"}, {"title": "Claude wants to look"}, "Claude wants to look"),
    ],
)
def test_a_title_says_what_is_asked_in_one_line(
    tool: str, input: dict[str, Any], fields: dict[str, Any], title: str
) -> None:
    assert PermissionRequest(use(tool, input, **fields)).title == title


@pytest.mark.parametrize(("length", "end"), [(199, "x"), (200, "x"), (201, "x…")])
def test_a_title_has_at_most_200_characters_of_what_is_asked(length: int, end: str) -> None:
    title = PermissionRequest(use("Bash", {"command": "x" * length})).title
    assert title == "Bash: " + "x" * (min(length, 200) - 1) + end


def test_a_request_says_which_subagent_asks() -> None:
    assert PermissionRequest(use("Bash", {}, agent_id="a1")).agent_id == "a1"


def test_only_the_use_of_a_tool_is_a_permission() -> None:
    with pytest.raises(TypeError, match="RequestUserDialog does not ask for the use of a tool"):
        PermissionRequest(dialog())


def test_a_diff_shows_what_would_change(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    input = {"file_path": "a.txt", "old_string": "two", "new_string": "three"}
    request = PermissionRequest(use("Edit", input), cwd=str(tmp_path))
    whole = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three"
    assert request.diff() == whole
    assert request.describe()["diff"] == "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-two\n+three"
    assert permission("make").diff() is None


# --- allowing ------------------------------------------------------------------------------------


def test_an_allow_always_says_what_the_tool_runs_with() -> None:
    connection, request = heard(LINE)
    answer = PermissionRequest(request).allow()
    assert written(connection, request, answer) == {
        "type": "control_response",
        "response": {
            "subtype": "success",
            "request_id": "uuid",
            "response": {
                "behavior": "allow",
                "updatedInput": {"command": "ls /tmp/test/", "description": "List"},
                "toolUseID": "toolu_xxx",
            },
        },
    }


def test_the_tool_may_run_with_another_input() -> None:
    request = permission("rm -rf /")
    assert decided(request.allow(input={"command": "ls /"})).updated_input == {"command": "ls /"}
    assert request.input == {"command": "rm -rf /"}


@pytest.mark.parametrize("input", ["ls", ["ls"], {"command": object()}])
def test_an_input_that_no_tool_can_have_is_refused(input: Any) -> None:
    request = permission()
    with pytest.raises(AnswerError):
        request.allow(input=input)
    assert request.is_waiting


def test_a_cli_that_names_no_tool_use_is_told_of_none() -> None:
    answer = PermissionRequest(use("Bash", {"command": "ls"}, tool_use_id=None)).allow()
    assert decided(answer).tool_use_id is None


def test_a_suggestion_goes_back_whole() -> None:
    connection, request = heard(LINE)
    asked = PermissionRequest(request)
    answer = asked.allow(remember=asked.suggestions)
    inner = written(connection, request, answer)["response"]["response"]
    assert inner["updatedPermissions"] == LINE["request"]["permission_suggestions"]


def test_a_suggestion_can_be_given_another_scope() -> None:
    connection, request = heard(LINE)
    asked = PermissionRequest(request)
    answer = asked.allow(remember=[asked.suggestions[0], 1], scope="project")
    inner = written(connection, request, answer)["response"]["response"]
    first, second = inner["updatedPermissions"]
    old = LINE["request"]["permission_suggestions"]
    assert first == {**old[0], "destination": "projectSettings"}
    assert second == {**old[1], "destination": "projectSettings"}
    assert asked.suggestions[0].raw == old[0]


@pytest.mark.parametrize(
    ("scope", "destination"),
    [
        (None, "session"),
        ("session", "session"),
        ("project", "projectSettings"),
        ("local", "localSettings"),
        ("user", "userSettings"),
    ],
)
def test_a_rule_is_remembered(scope: Any, destination: str) -> None:
    answer = permission("git status").allow(remember="Bash(git status:*)", scope=scope)
    rule = PermissionRule("Bash", "git status:*")
    assert decided(answer).updated_permissions == [AddRules([rule], "allow", destination)]


def test_an_update_is_remembered() -> None:
    answer = permission().allow(remember=SetMode("acceptEdits", "session"))
    assert decided(answer).updated_permissions == [SetMode("acceptEdits", "session")]


def test_once_remembers_nothing() -> None:
    assert decided(permission().allow(scope="once")).updated_permissions is None
    assert decided(permission().allow()).updated_permissions is None
    assert decided(permission().allow(remember=[])).updated_permissions is None


@pytest.mark.parametrize(
    ("remember", "scope", "words"),
    [
        ("Bash", "once", "The scope `once` remembers nothing"),
        (None, "session", "The scope 'session' needs"),
        ("Bash", "for ever", "There is no scope 'for ever'; there are once, session, project"),
        (None, "for ever", "There is no scope"),
        ("Bash", 5, "There is no scope 5"),
        ("Bash(", None, "is not a rule"),
        ("Bash()", None, "is not a rule"),
        ("", None, "is not a rule"),
        (0, None, "There is no suggestion 0; there are 0"),
        (-1, None, "There is no suggestion -1"),
        (True, None, "Say what to remember"),
        (object(), None, "cannot be remembered"),
    ],
)
def test_what_makes_no_sense_is_not_remembered(remember: Any, scope: Any, words: str) -> None:
    request = permission()
    with pytest.raises(AnswerError, match=words.replace("(", r"\(")):
        request.allow(remember=remember, scope=scope)
    assert request.is_waiting


# --- denying -------------------------------------------------------------------------------------


def test_a_denial_tells_the_model_why() -> None:
    connection, request = heard(LINE)
    answer = PermissionRequest(request).deny("Not in this folder")
    assert written(connection, request, answer)["response"]["response"] == {
        "behavior": "deny",
        "message": "Not in this folder",
        "toolUseID": "toolu_xxx",
    }


def test_a_denial_can_end_the_turn() -> None:
    assert permission().deny(stop=True) == PermissionResultDeny(
        "The user does not want this tool to run.", True, "toolu_1"
    )


@pytest.mark.parametrize("arguments", [{"reason": 5}, {"reason": "no", "stop": "yes"}])
def test_a_denial_of_the_wrong_shape_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(AnswerError, match="The reason must be a string"):
        permission().deny(**arguments)


# --- answers made by hand ------------------------------------------------------------------------


def test_an_answer_that_was_made_by_hand_is_completed() -> None:
    request = permission("make")
    assert request._fitted(PermissionResultAllow()) == PermissionResultAllow(
        {"command": "make"}, tool_use_id="toolu_1"
    )
    assert request._fitted(PermissionResultDeny()) == PermissionResultDeny(
        "The user does not want this tool to run.", tool_use_id="toolu_1"
    )


def test_a_complete_answer_is_left_alone() -> None:
    request = permission("make")
    for answer in (
        PermissionResultAllow({}, tool_use_id="toolu_9"),
        PermissionResultDeny("no", True, "toolu_9"),
    ):
        assert request._fitted(answer) is answer


# --- the other dialects --------------------------------------------------------------------------


def test_the_short_form_of_a_suggestion_is_understood() -> None:
    line = {
        "type": "callback.request",
        "request_id": "callback-uuid",
        "request": {
            "subtype": "can_use_tool",
            "tool_name": "Bash",
            "input": {"command": "ls -la"},
            "tool_use_id": "tool-use-uuid",
            "permission_suggestions": [
                {"type": "bash", "action": "allow", "pattern": "ls *", "scope": "session"}
            ],
            "blocked_path": None,
        },
    }
    connection, request = heard(line)
    asked = PermissionRequest(request)
    (suggestion,) = asked.suggestions
    assert suggestion.describe() == "Always allow the command `ls *` (in this session)"
    assert suggestion.scope == "session"
    answer = written(connection, request, asked.allow(remember=suggestion))
    assert answer["type"] == "callback.response"
    assert answer["response"]["response"]["updated_input"] == {"command": "ls -la"}
    assert answer["response"]["response"]["tool_use_id"] == "tool-use-uuid"


def test_a_hint_is_shown_and_cannot_be_remembered() -> None:
    line = {
        "type": "control_request",
        "message": {
            "type": "control_request",
            "request_id": "unique-request-id",
            "request": {
                "subtype": "can_use_tool",
                "tool_name": "Bash",
                "input": {"command": "ls -la"},
                "permission_suggestions": [{"behavior": "allow", "message": "Safe to run"}],
                "tool_use_id": "toolu_xyz",
            },
        },
    }
    _, request = heard(line)
    asked = PermissionRequest(request)
    assert asked.suggestions[0].describe() == "Safe to run"
    assert not asked.suggestions[0].changes_something
    with pytest.raises(AnswerError, match="This is a hint"):
        asked.allow(remember=0)
    assert asked.is_waiting


def test_suggestions_that_do_not_fit_are_still_suggestions() -> None:
    request = Request(id="1", body=permission().body)
    assert PermissionRequest(request).suggestions == ()
    _, odd = heard(
        {
            **LINE,
            "request": {
                **LINE["request"],
                "permission_suggestions": ["x", {"type": "setMode", "mode": "plan"}],
            },
        }
    )
    # What is no suggestion at all cannot be typed; the others are.
    assert all(isinstance(it, Suggestion) for it in PermissionRequest(odd).suggestions)


def test_a_clock_that_fails_later_is_logged_and_the_request_can_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    times = [5.0]  # the clock knows one time, and raises an IndexError after that
    request = permission(clock=Clock(monotonic=times.pop))
    assert request.waited == 0.0
    assert request.resolve(request.allow())
    assert "The clock of the inbox raised an exception" in caplog.text
    assert "IndexError" in caplog.text
