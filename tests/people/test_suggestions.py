"""What can be remembered, in words that a person understands."""

from __future__ import annotations

from typing import Any

import pytest

from claudewire.people import AnswerError
from claudewire.people.suggestions import Suggestion, rule_of
from claudewire.wire import (
    AddDirectories,
    AddRules,
    PermissionHint,
    PermissionRule,
    PermissionUpdate,
    RemoveDirectories,
    RemoveRules,
    ReplaceRules,
    SetMode,
    UnknownPermissionUpdate,
)

GIT = [PermissionRule("Bash", "git status:*")]


@pytest.mark.parametrize(
    ("update", "words"),
    [
        (
            AddRules(GIT, "allow", "localSettings"),
            "Always allow commands that begin with `git status` (in this project, for you)",
        ),
        (AddRules(GIT, "deny"), "Always deny commands that begin with `git status`"),
        (AddRules(GIT, "ask"), "Always ask about commands that begin with `git status`"),
        (AddRules(GIT, "wave"), "Always wave: commands that begin with `git status`"),
        (
            AddRules([PermissionRule("Bash", "make"), PermissionRule("Read")], "allow", "session"),
            "Always allow the command `make`, every use of Read (in this session)",
        ),
        (AddRules([], "allow"), "Always allow nothing"),
        (
            ReplaceRules([PermissionRule("WebFetch", "domain:a.org")], "allow", "userSettings"),
            "Always allow WebFetch of domain:a.org, and nothing else (in all your projects)",
        ),
        (
            RemoveRules([PermissionRule("Edit", "src/**")], "allow", "projectSettings"),
            "No longer always allow Edit of src/** (in this project, for everyone)",
        ),
        (SetMode("plan", "cliArg"), "Only plan, change nothing (as if given on the command line)"),
        (SetMode("waltz"), "Change to the permission mode waltz"),
        (
            AddDirectories(["/a", "/b"], "session"),
            "Let tools work in /a, /b too (in this session)",
        ),
        (RemoveDirectories(["/a"]), "Keep tools out of /a again"),
        (PermissionHint("allow", "Safe to run"), "Safe to run"),
        (PermissionHint("allow"), "Hint: allow"),
        (
            UnknownPermissionUpdate({"type": "bash"}),
            "A change that this version does not know: bash",
        ),
    ],
)
def test_a_suggestion_is_said_in_words(update: PermissionUpdate, words: str) -> None:
    assert Suggestion(update).describe() == words
    assert repr(Suggestion(update)) == f"<Suggestion: {words}>"


@pytest.mark.parametrize(
    ("raw", "scope"),
    [
        ({"destination": "session"}, "session"),
        ({"destination": "userSettings"}, "user"),
        ({"destination": "cliArg"}, None),
        ({}, None),
    ],
)
def test_a_suggestion_has_a_scope(raw: dict[str, Any], scope: str | None) -> None:
    assert Suggestion(SetMode("plan"), {"type": "setMode", "mode": "plan", **raw}).scope == scope


def test_suggestions_are_compared_by_what_they_say() -> None:
    one, same = Suggestion(SetMode("plan")), Suggestion(SetMode("plan"))
    other = Suggestion(SetMode("plan"), {"type": "setMode", "mode": "plan", "new": 1})
    assert one == same
    assert one != other
    assert one != SetMode("plan")
    assert len({one, same, other}) == 2


def test_a_known_suggestion_goes_back_typed_and_an_unknown_one_as_it_came() -> None:
    assert Suggestion(SetMode("plan")).as_update("user") == SetMode("plan", "userSettings")
    unknown = UnknownPermissionUpdate({"type": "bash"})
    assert Suggestion(unknown).as_update() == unknown
    assert Suggestion(unknown).as_update("session") == UnknownPermissionUpdate(
        {"type": "bash", "destination": "session"}
    )


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Read", PermissionRule("Read")),
        (" Read ", PermissionRule("Read")),
        ("Bash(git status:*)", PermissionRule("Bash", "git status:*")),
        ("Bash(echo (a) b)", PermissionRule("Bash", "echo (a) b")),
        ("Bash(a\nb)", PermissionRule("Bash", "a\nb")),
        ("mcp__calc__add", PermissionRule("mcp__calc__add")),
        ("WebFetch(domain:a.org)", PermissionRule("WebFetch", "domain:a.org")),
    ],
)
def test_a_rule_is_read_as_it_is_written_in_settings(text: str, rule: PermissionRule) -> None:
    assert rule_of(text) == rule


@pytest.mark.parametrize("text", ["", " ", "(ls)", "Bash()", "Bash(ls", "Bash)", "Bash(a) b"])
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(AnswerError, match="is not a rule"):
        rule_of(text)


def test_rules_that_do_not_say_what_for_are_there_to_allow() -> None:
    suggestion = Suggestion(AddRules([PermissionRule("Read")], None, "session"))
    assert suggestion.describe() == "Always allow every use of Read (in this session)"
