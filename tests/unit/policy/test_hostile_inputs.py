"""Inputs that were made to take long: they are decided without a look at everything in them.

There is no clock here: with a pattern that goes back and forth, these take minutes or years.
"""

from __future__ import annotations

from typing import Any

import pytest

from claudewire.policy import Policy

POLICY = Policy(
    ["Bash", "Read", "Grep", "Glob", "WebFetch", "Skill", "mcp__a"],
    deny=[
        "Bash(*curl*|*sh*-c*)",
        "Bash(rm:*)",
        "Bash(git push:*)",
        "Read(~/.ssh/**)",
        "Read(secrets/**)",
        "Read(**/a/**/a/**/a/**/c*d*e*f)",
        "Read(**/a*/**/a*/**/a*/**/a*/**/a*/**/a*/**/a*/**/z)",
        "WebFetch(domain:*a*a*a*.evil.org)",
        "Skill(a*a*a*b)",
        "mcp__a__x*x*x*x*y",
    ],
    cwd="/project",
    home="/home/me",
)
COMMANDS = {
    "a wildcard again and again": "curlsh-c" * 400,
    "a megabyte": "a " * 500_000,
    "a megabyte of commands": "rm;" * 300_000,
    "words": "a " * 4999,
    "commands": "b;" * 4999,
    "pipes": "a|" * 4999,
    "wrappers": "sudo " + "a " * 4990,
    "runners": "xargs " * 1600,
    "evaluations": "eval " * 1990,
    "substitutions": "$(" * 4990,
    "brackets": "(" * 9990,
    "quotes": "'a' " * 2490,
    "variables": '"$x" ' * 1900,
    "backticks": "`a` " * 2400,
    "a quote in a message": "git commit -m \"$(cat <<'E'\n" + "it's ( " * 1200 + '\nE\n)"',
    "quotes in quotes": "echo $(cat <<'E'\n" + '"$(' * 2400 + "\nE\n)",
    "finds": "find . " + "-exec a " * 1200,
    "a deep path": "cat " + "/a" * 4900,
    "paths": "cat " + " ".join("/".join("abcdefgh") for _ in range(500)),
    "patterns": "cat " + " ".join("*/" * 20 + "x" for _ in range(200)),
    "stars against stars": "cat " + " ".join("/".join(["a*b*"] * 30) for _ in range(60)),
    "a deep pattern": "cat " + "*/" * 4900,
    "directories": "cd a;" * 1600 + "cat x",
    "assignments": "A=rm " * 1900,
    "options": "foo " + "-abcdefghij=k@l:m,n " * 480,
    "a loop": "for f in " + "a " * 1000 + "; do cat " + "$f " * 2000 + "; done",
    "scripts": "bash -c " + "'a b c' " * 1200,
    "attached options": "env " + "-Sabcdefgh " * 900,
    "options before a word": "git " + "-c a " * 2400 + "push",
    "tests": "[[ " + "a && " * 1900 + "b ]]",
    "joiners": "echo " + "\U0001f469\u200d" * 4000,
    "backslashes": "sed 's/" + "\\\\" * 4900 + "'",
}
OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "a long path": ("Read", {"file_path": "/a" * 100_000}),
    "a deep path": ("Read", {"file_path": "/project" + "/a" * 2040}),
    "a long name": ("Read", {"file_path": "/project/" + "cd" * 5000}),
    "a long folder": ("Grep", {"pattern": "x", "path": "/a" * 100_000}),
    "a long pattern": ("Glob", {"pattern": "*/" * 100_000}),
    "a long host": ("WebFetch", {"url": "http://" + "a" * 1_000_000}),
    "many names": ("WebFetch", {"url": "http://" + "a." * 4000}),
    "many slashes": ("WebFetch", {"url": "/@" * 4900}),
    "a skill": ("Skill", {"skill": "a" * 9000, "args": "ab" * 500_000}),
    "a tool": ("mcp__a__" + "x" * 5000, {}),
}


UNDERSTOOD = {"paths"}
"""Commands whose doing is known. All others are asked about."""
DECIDED = {"a deep path": "allow", "many names": "allow", "a skill": "deny", "a tool": "allow"}


@pytest.mark.unmeasured
@pytest.mark.parametrize("name", COMMANDS)
def test_long_command_is_decided(name: str) -> None:
    decision = POLICY.decide("Bash", {"command": COMMANDS[name]})
    assert decision.behavior == ("allow" if name in UNDERSTOOD else "ask")


@pytest.mark.parametrize("name", OTHERS)
def test_long_input_is_decided(name: str) -> None:
    assert POLICY.decide(*OTHERS[name]).behavior == DECIDED.get(name, "ask")
