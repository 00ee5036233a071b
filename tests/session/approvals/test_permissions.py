"""Requests to run a tool: the facts that they show, and the answers for the CLI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.session.approvals.asking import permission, received, use, written

from claudewire.approvals import AnswerError, PermissionRequest, Suggestion
from claudewire.approvals.suggestions import rule_of
from claudewire.wire import (
    AddDirectories,
    AddRules,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionRule,
    PermissionUpdate,
    RemoveDirectories,
    RemoveRules,
    ReplaceRules,
    SetMode,
    UnknownPermissionUpdate,
)

SUGGESTIONS: list[dict[str, Any]] = [
    {
        "type": "addRules",
        "rules": [{"toolName": "Read", "ruleContent": "//tmp/test/**", "note": "new"}],
        "behavior": "allow",
        "destination": "session",
        "since": "3.0",
    },
    {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
    {"type": "addWeekday", "day": "Monday", "destination": "session"},
]
LINE: dict[str, Any] = {
    "type": "control_request",
    "request_id": "uuid",
    "request": {
        "subtype": "can_use_tool",
        "tool_name": "Bash",
        "input": {"command": "ls /tmp/test/", "description": "List"},
        "tool_use_id": "toolu_xxx",
        "permission_suggestions": SUGGESTIONS,
        "blocked_path": "/tmp/test",
        "decision_reason": "It is outside of the project",
    },
}


def allowed(answer: object) -> PermissionResultAllow:
    assert isinstance(answer, PermissionResultAllow)
    return answer


def test_request_describes_all_that_the_cli_asks() -> None:
    _, request = received(LINE)
    asked = PermissionRequest(request, session="my work/1", cwd="/srv")
    described = asked.describe()
    assert described.pop("since") == asked.since
    assert described == {
        "id": "my-work-1.uuid",
        "kind": "permission",
        "title": "Bash: ls /tmp/test/",
        "session": "my work/1",
        "agent_id": None,
        "expires": None,
        "actions": ["allow", "deny"],
        "tool_name": "Bash",
        "input": {"command": "ls /tmp/test/", "description": "List"},
        "reason": "It is outside of the project",
        "blocked_path": "/tmp/test",
        "suggestions": [
            "Always allow Read of //tmp/test/** (in this session)",
            "Accept all changes to files without asking (in this session)",
            "A change that this version does not know: addWeekday (in this session)",
        ],
        "diff": None,
    }
    assert (asked.tool_use_id, asked.cwd) == ("toolu_xxx", "/srv")
    assert PermissionRequest(use("Bash", {}, agent_id="a1")).agent_id == "a1"


@pytest.mark.parametrize(
    ("tool", "input", "fields", "title"),
    [
        ("Bash", {"command": "make\n  test"}, {}, "Bash: make test"),
        ("Bash", {"command": "x" * 200}, {}, f"Bash: {'x' * 200}"),
        ("Bash", {"command": "x" * 201}, {}, f"Bash: {'x' * 200}…"),
        ("Edit", {"file_path": "/a.py", "old_string": "a"}, {}, "Edit: /a.py"),
        ("mcp__calc__add", {"a": 1}, {}, 'mcp__calc__add: {"a": 1}'),
        ("mcp__calc__add", {"a": 1}, {"display_name": "Add"}, 'mcp__calc__add: {"a": 1}'),
        ("Stop", {}, {}, "Stop"),
        ("Bash", {"command": "ls"}, {"title": "To\nlook"}, "Bash: To look"),
    ],
)
def test_title_is_one_line(
    tool: str, input: dict[str, Any], fields: dict[str, Any], title: str
) -> None:
    assert PermissionRequest(use(tool, input, **fields)).title == title


def test_diff_shows_the_change_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    input = {"file_path": "a.txt", "old_string": "two", "new_string": "three"}
    request = PermissionRequest(use("Edit", input), cwd=str(tmp_path))
    assert request.diff() == "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three"
    assert request.describe()["diff"] == request.diff()
    assert permission("make").diff() is None


# --- allow and deny ------------------------------------------------------------------------------


def test_allow_carries_the_input() -> None:
    connection, request = received(LINE)
    line = written(connection, request, PermissionRequest(request).allow())
    assert line["response"] == {
        "subtype": "success",
        "request_id": "uuid",
        "response": {
            "behavior": "allow",
            "updatedInput": LINE["request"]["input"],
            "toolUseID": "toolu_xxx",
        },
    }


def test_deny_carries_the_reason() -> None:
    connection, request = received(LINE)
    line = written(connection, request, PermissionRequest(request).deny("Not here", stop=True))
    assert line["response"]["response"] == {
        "behavior": "deny",
        "message": "Not here",
        "interrupt": True,
        "toolUseID": "toolu_xxx",
    }


def test_tool_runs_with_another_input() -> None:
    request = permission("rm -rf /")
    assert allowed(request.allow(input={"command": "ls /"})).updated_input == {"command": "ls /"}
    for input in ("ls", ["ls"], {"command": object()}):
        with pytest.raises(AnswerError):
            request.allow(input=input)  # type: ignore[arg-type]


@pytest.mark.parametrize("arguments", [{"reason": 5}, {"reason": "no", "stop": "yes"}])
def test_deny_refuses_arguments_of_wrong_types(arguments: dict[str, Any]) -> None:
    with pytest.raises(AnswerError, match="`reason` must be a string"):
        permission().deny(**arguments)


def test_answer_made_by_hand_is_completed() -> None:
    request = permission()
    assert request.resolve(PermissionResultAllow())
    assert request.result == PermissionResultAllow({"command": "make"}, tool_use_id="toolu_1")
    request = permission()
    assert request.resolve(PermissionResultDeny())
    reason = "The user does not want this tool to run."
    assert request.result == PermissionResultDeny(reason, tool_use_id="toolu_1")


# --- rules to remember ---------------------------------------------------------------------------


def remembered(remember: Any, scope: Any = None) -> Any:
    connection, request = received(LINE)
    answer = PermissionRequest(request).allow(remember=remember, scope=scope)
    return written(connection, request, answer)["response"]["response"].get("updatedPermissions")


def test_suggestion_goes_back_with_unknown_fields() -> None:
    _, request = received(LINE)
    assert remembered(PermissionRequest(request).suggestions) == SUGGESTIONS
    first, second = remembered([0, 1], "project")
    assert first == {**SUGGESTIONS[0], "destination": "projectSettings"}
    assert second == {**SUGGESTIONS[1], "destination": "projectSettings"}


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
def test_rule_is_remembered_in_a_scope(scope: Any, destination: str) -> None:
    answer = permission("git status").allow(remember="Bash(git status:*)", scope=scope)
    rule = PermissionRule("Bash", "git status:*")
    assert allowed(answer).updated_permissions == [AddRules([rule], "allow", destination)]


@pytest.mark.parametrize(
    ("remember", "scope", "words"),
    [
        ("Bash", "once", "The scope `once` remembers nothing"),
        (None, "session", "The scope 'session' needs a rule"),
        ("Bash", "for ever", "There is no scope 'for ever', only once, session, project"),
        (None, 5, "There is no scope 5"),
        ("Bash(", None, "is not a rule"),
        (0, None, "There is no suggestion 0, only 0"),
        (True, None, "`remember` must be a suggestion or a rule"),
        (object(), None, "`remember` must be a suggestion or a rule"),
    ],
)
def test_invalid_rule_or_scope_is_refused(remember: Any, scope: Any, words: str) -> None:
    with pytest.raises(AnswerError, match=words.replace("(", r"\(")):
        permission().allow(remember=remember, scope=scope)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (" Read ", PermissionRule("Read")),
        ("Bash(git status:*)", PermissionRule("Bash", "git status:*")),
        ("Bash(echo (a) b)", PermissionRule("Bash", "echo (a) b")),
        ("Bash(a\nb)", PermissionRule("Bash", "a\nb")),
        *((text, None) for text in ("", "(ls)", "Bash()", "Bash(ls", "Bash)", "Bash(a) b")),
    ],
)
def test_rule_is_parsed_like_in_settings(text: str, rule: PermissionRule | None) -> None:
    if rule is not None:
        assert rule_of(text) == rule
        return
    with pytest.raises(AnswerError, match="is not a rule"):
        rule_of(text)


GIT = [PermissionRule("Bash", "git status:*")]


@pytest.mark.parametrize(
    ("update", "destination", "words"),
    [
        (
            AddRules(GIT, "allow"),
            "localSettings",
            "Always allow commands that begin with `git status` (in this project, for you)",
        ),
        (AddRules(GIT, "ask"), None, "Always ask about commands that begin with `git status`"),
        (
            AddRules([PermissionRule("Bash", "make"), PermissionRule("Read")]),
            "session",
            "Always allow the command `make`, every use of Read (in this session)",
        ),
        (
            ReplaceRules([PermissionRule("WebFetch", "domain:a.org")], "allow"),
            "userSettings",
            "Always allow WebFetch of domain:a.org, and nothing else (in all your projects)",
        ),
        (RemoveRules([PermissionRule("Read")]), None, "No longer always allow every use of Read"),
        (SetMode("plan"), "cliArg", "Only plan, change nothing (as if given on the command line)"),
        (SetMode("waltz"), None, "Change to the permission mode waltz"),
        (AddDirectories(["/a", "/b"]), None, "Let tools work in /a, /b too"),
        (RemoveDirectories(["/a"]), None, "Keep tools out of /a again"),
        (UnknownPermissionUpdate({"type": "x"}), None, "A change that this version does not know"),
    ],
)
def test_suggestion_is_described_in_words(
    update: PermissionUpdate, destination: str | None, words: str
) -> None:
    described = Suggestion(update, {"destination": destination}).describe()
    assert described.removesuffix(": x") == words


# --- the other documents -------------------------------------------------------------------------


def test_hint_is_shown_and_cannot_be_remembered() -> None:
    inner = {
        **LINE,
        "request": {
            **LINE["request"],
            "permission_suggestions": [{"behavior": "allow", "message": "Safe to run"}],
        },
    }
    _, request = received({"type": "control_request", "message": inner})
    asked = PermissionRequest(request)
    assert asked.suggestions[0].describe() == "Safe to run"
    assert not asked.suggestions[0].changes_something
    with pytest.raises(AnswerError, match="This hint cannot be remembered"):
        asked.allow(remember=0)
