"""Each limit of the analysis: what is just below it is decided on, what is above is asked."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import pytest

from claudewire.policy import Policy

OPEN = Policy(
    ["Bash", "Read"],
    deny=["Bash(rm:*)", "Read(//work/secret/**)"],
    cwd="/work",
    home="/home/me",
    realpath=str,
)

INSIDE = Policy(["Read(in/**)"], cwd="/work", realpath=str)


def in_shells(depth: int) -> str:
    command = "ls"
    for _ in range(depth):
        command = f"bash -c {shlex.quote(command)}"
    return command


def numbered(count: int, text: str, between: str = "; ") -> str:
    return between.join(text.format(number) for number in range(count))


@pytest.mark.parametrize(
    ("make", "most"),
    [
        pytest.param(lambda n: "ls " + "a" * (n - 3), 10_000, id="characters"),
        pytest.param(lambda n: "ls" + " a" * (n - 1), 1000, id="words"),
        pytest.param(lambda n: "echo" + " $(echo)" * n, 399, id="words in substitutions"),
        pytest.param(lambda n: "( " * n + "ls" + " )" * n, 29, id="groups"),
        pytest.param(lambda n: "echo " + "$(echo " * n + ")" * n, 29, id="substitutions"),
        pytest.param(lambda n: "echo " + "${x:-" * n + "}" * n, 29, id="braces"),
        pytest.param(lambda n: "! " * n + "ls", 29, id="negations"),
        pytest.param(lambda n: numbered(n, "ls -{}"), 400, id="commands"),
        pytest.param(in_shells, 4, id="shells in shells"),
        pytest.param(lambda n: "cat " + numbered(n, "f{}", " "), 200, id="files"),
        pytest.param(lambda n: "cd a; cat " + numbered(n, "f{}", " "), 100, id="in two folders"),
        pytest.param(lambda n: numbered(n, "cd /d{}") + "; cat x", 8, id="folders"),
    ],
)
def test_limit_of_the_analysis_is_exact(make: Callable[[int], str], most: int) -> None:
    found = {}
    for count in (most, most + 1):
        decision = OPEN.decide("Bash", {"command": make(count)})
        found[count] = decision.behavior
    assert found == {most: "allow", most + 1: "ask"}


def test_fragments_are_analysed_up_to_a_limit() -> None:
    for count, behavior in ((399, "deny"), (400, "ask")):
        command = f"'; {numbered(count, 'a{}')}; rm b"
        assert OPEN.decide("Bash", {"command": command}).behavior == behavior


def test_commands_behind_find_are_allowed_up_to_a_limit() -> None:
    policy = Policy(["Bash(find:*)", "Bash(grep:*)"], cwd="/work", realpath=str)
    for count, behavior in ((20, "allow"), (21, "ask")):
        command = "find ." + r" -exec grep a {} \;" * count
        assert policy.decide("Bash", {"command": command}).behavior == behavior


@pytest.mark.parametrize(
    ("make", "most"),
    [
        (lambda n: "/work/in" + "/" * (n - 9) + "a", 4096),
        (lambda n: "/work/in/" + "a" * n, 255),
        (lambda n: "/work/in/" + "a" * n + "/b", 255),
    ],
)
def test_longer_path_is_asked_about(make: Callable[[int], str], most: int) -> None:
    for count, behavior in ((most, "allow"), (most + 1, "ask")):
        path = make(count)
        decision = INSIDE.decide("Read", {"file_path": path})
        assert decision.behavior == behavior, decision.reason


def test_pattern_of_many_folders_is_asked_about() -> None:
    for count, behavior in ((38, "allow"), (39, "ask")):
        command = "cat /other/" + "*/" * count + "x"
        decision = OPEN.decide("Bash", {"command": command})
        assert decision.behavior == behavior, decision.reason
