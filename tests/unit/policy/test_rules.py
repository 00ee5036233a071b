"""Rules: how they are read, written and refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claudewire.errors import OptionsError
from claudewire.policy import Policy, Rule

GOOD = [
    ("Read", "Read", None),
    ("Bash(git status:*)", "Bash", "git status:*"),
    ("Bash(git * main)", "Bash", "git * main"),
    ("Bash(echo \\(a\\))", "Bash", "echo (a)"),
    ("Bash(echo $(date))", "Bash", "echo $(date)"),
    ("Bash(run_in_background:true)", "Bash", "run_in_background:true"),
    ("Edit(src/**)", "Edit", "src/**"),
    ("Read(*)", "Read", None),
    ("mcp__server__*", "mcp__server__*", None),
    ("mcp__my-server__get_*", "mcp__my-server__get_*", None),
    ("WebFetch(domain:*.example.com)", "WebFetch", "domain:*.example.com"),
    ("Skill(name)", "Skill", "name"),
    ("Agent(model:opus)", "Agent", "model:opus"),
    ("mcp__x__y(domain:a b)", "mcp__x__y", "domain:a b"),
    ("mcp__*", "mcp__*", None),
]


@pytest.mark.parametrize(("text", "tool", "content"), GOOD)
def test_rule_survives_parsing_and_printing(text: str, tool: str, content: str | None) -> None:
    rule = Rule.parse(text)
    assert (rule.tool, rule.content) == (tool, content)
    assert str(rule) == text
    assert Rule.parse(str(Rule(tool, content))) == rule


def test_special_characters_of_a_rule_are_escaped() -> None:
    rule = Rule("Bash", r"echo \ (a)")
    assert str(rule) == r"Bash(echo \\ \(a\))"
    assert Rule.parse(str(rule)) == rule


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "An empty string is not a rule"),
        ("(x)", "cannot name a tool"),
        ("Bash(git status", "its last character must be ')'"),
        ("Bash git)", "closes a bracket that is not open"),
        ("git status", "'git status' cannot name a tool"),
        ("Bash( )", "write 'Bash' for every use"),
        ("Read(file_path:x)", "'file_path' cannot be matched by its name"),
        ("WebFetch(domain:a b)", "'a b' is not a host"),
        ("mcp__a__b(x)", "takes nothing in brackets"),
        ("bash(rm:*)", "write 'Bash'"),
        ("webfetch(domain:a.b)", "'WebFetch'"),
        ("Read(!)", "there is no path"),
        ("Read(a\x00b)", "cannot contain control characters"),
        ("Read(a\nb)", "cannot contain control characters"),
    ],
)
def test_invalid_rule_is_refused_with_the_reason(text: str, problem: str) -> None:
    with pytest.raises(OptionsError) as raised:
        Rule.parse(text)
    assert problem in str(raised.value)


@given(st.text(max_size=30))
def test_any_text_is_refused_or_survives_printing(text: str) -> None:
    try:
        rule = Rule.parse(text)
    except OptionsError:
        return
    assert str(rule) == text.strip()
    assert Rule.parse(str(rule)) == rule
    assert Rule.parse(str(Rule(rule.tool, rule.content))) == rule


@pytest.mark.parametrize(
    ("rule", "named", "others"),
    [
        ("Read", "Read", "read ReadX"),
        ("Bash", "Bash Monitor", "Read"),
        ("Monitor", "Monitor", "Bash"),
        ("Task", "Agent", "Read"),
        ("Agent", "Task", "Read"),
        ("mcp__a", "mcp__a__x", "mcp__ab__x"),
        ("mcp__a__*", "mcp__a__x", "mcp__b__x"),
        ("mcp__a__get_*", "mcp__a__get_it", "mcp__a__set_it"),
        ("mcp__a__x", "mcp__a__x", "mcp__a__x2 mcp__a__x__y"),
        ("mcp__*", "mcp__a__x", "Read"),
        ("*", "Read mcp__a__x", ""),
        ("Web*", "WebFetch", "Read"),
    ],
)
def test_rule_names_tools(rule: str, named: str, others: str) -> None:
    for tool in (*named.split(), *others.split()):
        assert Rule.parse(rule).names(tool) is (tool in named.split())
        decision = Policy(deny=[rule]).decide(tool, {})
        assert (decision.behavior == "deny") is (tool in named.split())


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("*", "name each tool"),
        ("B*", "name each tool"),
        ("mcp__*", "name each tool"),
        ("Bash(a && b:*)", "each command is matched alone"),
        ("Bash($X status:*)", "something that the shell expands"),
        ("Bash(FOO=1 npm:*)", "each command is matched alone"),
        ("Bash(git > x *)", "each command is matched alone"),
        ("TodoWrite(a:b)", "not make it safe"),
    ],
)
def test_rule_that_can_never_allow_is_refused(rule: str, why: str) -> None:
    with pytest.raises(OptionsError) as raised:
        Policy(allow=[rule])
    assert rule in str(raised.value)
    assert why in str(raised.value)
    assert Policy(deny=[rule]).deny == (Rule.parse(rule),)


def test_equal_rules_compare_equal() -> None:
    assert Rule.parse("Bash(*)", source="here") == Rule.parse("Bash(*)", source="there")
    assert Rule.parse("Edit(/a)", root="/x") != Rule.parse("Edit(/a)", root="/y")
    assert len({Rule.parse("Read"), Rule.parse(" Read")}) == 1


@pytest.mark.parametrize(
    ("value", "matches"),
    [("opus", True), ("opusx", False), (None, False), (["opus"], False), ({}, False), (5, False)],
)
def test_field_of_the_input_can_be_denied(value: object, matches: bool) -> None:
    policy = Policy(deny=["Agent(model:opus)"])
    assert (policy.decide("Agent", {"model": value}).behavior == "deny") is matches
    assert policy.decide("Agent", {}).behavior == "ask"


def test_field_of_any_type_can_be_denied() -> None:
    policy = Policy(deny=["Bash(run_in_background: true)", "X(n:3)", "X(s:*)", "X(t: false)"])
    assert policy.decide("Bash", {"command": "a", "run_in_background": True}).behavior == "deny"
    assert policy.decide("Bash", {"command": "a", "run_in_background": False}).behavior == "ask"
    assert policy.decide("X", {"n": 3}).behavior == "deny"
    assert policy.decide("X", {"n": 4}).behavior == "ask"
    assert policy.decide("X", {"s": ""}).behavior == "deny"
    assert policy.decide("X", {"s": 2.5}).behavior == "deny"
    values: list[object] = [None, ["a"], {}]
    for value in values:
        assert policy.decide("X", {"s": value}).behavior == "ask"
    assert policy.decide("X", {"t": False}).behavior == "deny"
    assert policy.decide("X", {"t": True}).behavior == "ask"


@pytest.mark.parametrize(
    "name", ["description", "timeout", "run_in_background", "dangerouslyDisableSandbox"]
)
def test_field_of_a_command_can_have_a_pattern(name: str) -> None:
    policy = Policy(deny=[f"Bash({name}: *5*)"])
    assert policy.decide("Bash", {"command": "ls", name: 1500}).behavior == "deny"
    assert policy.decide("Bash", {"command": "ls", name: 1000}).behavior == "ask"
    with pytest.raises(OptionsError, match="a blank before `\\*` is a part of it"):
        Rule.parse(f"Bash({name}s: *)")
