"""Decisions about every program that the policy knows, and every tool: see tests/helpers/kept.py.

Each file has one way to use a program, the decisions, and the programs of which each is made.
"""

from __future__ import annotations

import re
from collections import defaultdict
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest
from tests.helpers.kept import Kept
from tests.policy.test_whole_decisions import apart

from claudewire.policy import Policy, command_use, shell, shell_files
from claudewire.policy.policy import MODES
from claudewire.policy.tools import KNOWN_TOOLS

OPEN = apart(
    Policy(
        allow=["Bash"],
        deny=["Bash(rm:*)", "Read(//work/secret.txt)", "Edit(//work/kept/**)"],
        cwd="/work",
    )
)

WAYS = {
    "a secret": "NAME secret.txt",
    "a protected file": "NAME -o kept/a.txt",
    "a command": "NAME rm x",
    "code": "NAME -c 'rm x'",
    "after options": "NAME -n 5 -u root rm x",
    "run": "NAME run test",
    "exec": "NAME . -exec rm {} +",
    "from a pipe": "echo rm x | NAME",
    "a variable": "NAME=1 ls",
    "recursive": "NAME -r .",
    "a list": "NAME --files-from=secret.txt",
    "in place": "NAME -i s/a/b/w kept/a.txt",
    "of git": "git NAME secret.txt",
    "in a folder": "cd kept && NAME a.txt",
}


def names() -> list[str]:
    """Return all words in the tables of the policy that can be the name of a program."""
    found: set[str] = set()
    modules = [import_module(f"{shell.__name__}.{it.name}") for it in iter_modules(shell.__path__)]
    for module in (*modules, command_use, shell_files):
        for name, value in vars(module).items():
            if isinstance(value, frozenset | dict) and name != "__builtins__":
                found.update(it for it in value if isinstance(it, str))
    return sorted(it for it in found if re.fullmatch(r"[A-Za-z_.:\[][\w.:-]*", it))


@pytest.mark.parametrize("way", WAYS)
def test_each_program_is_decided_on_as_it_was(kept: Kept, way: str) -> None:
    decided: dict[str, list[str]] = defaultdict(list)
    for name in names():
        command = WAYS[way].replace("NAME", name)
        it = OPEN.decide("Bash", {"command": command})
        decided[_hidden(f"{it} | {it.rule or ''} | {it.part}", name)].append(name)
    lines = [f"{told}\n    {' '.join(each)}\n" for told, each in decided.items()]
    kept(f"{way.replace(' ', '-')}.txt", f"$ {WAYS[way]}\n{''.join(sorted(lines))}")


def _hidden(text: str, name: str) -> str:
    """Return the text without the name, if it stands alone in it."""
    return re.sub(rf"(?<![\w.:-]){re.escape(name)}(?![\w.:-])", "NAME", text)


# --- tools ----------------------------------------------------------------------------------------

INPUTS: tuple[dict[str, Any], ...] = (
    {},
    {"file_path": "/work/a.txt"},
    {"file_path": "/work/secret.txt"},
    {"notebook_path": "/work/kept/a.ipynb"},
    {"path": "/work", "pattern": "*.txt"},
    {"path": "../other"},
    {"url": "https://example.com/a"},
    {"url": "https://user@sub.example.com:8080/"},
    {"query": "x", "command": "ls"},
    {"file_path": "/work/.git/config"},
    {"file_path": "/work/.claude/settings.json"},
    {"file_path": 5},
)
POLICIES: dict[str, Policy] = {
    "rules": OPEN,
    "domains": apart(
        Policy(
            allow=["WebFetch(domain:example.com)", "mcp__calc__*", "Read", "Task(Explore)"],
            deny=["WebFetch(domain:*.example.com)", "mcp__calc__drop", "Skill(x)"],
            cwd="/work",
        )
    ),
    **{mode: apart(Policy(mode=mode, cwd="/work")) for mode in MODES},
}


@pytest.mark.parametrize("name", POLICIES)
def test_each_tool_is_decided_on_as_it_was(kept: Kept, name: str) -> None:
    tools = [*KNOWN_TOOLS, "mcp__calc__add", "mcp__calc__drop", "Unheard"]
    decided: dict[str, list[str]] = defaultdict(list)
    for given in INPUTS[:4] if name in MODES else INPUTS:
        for tool in tools:
            it = POLICIES[name].decide(tool, given)
            told = _hidden(f"{it} | {it.rule or ''} | {it.part}", tool)
            decided[f"{given}: {told}"].append(tool)
    lines = [f"{told}\n    {' '.join(each)}\n" for told, each in decided.items()]
    kept(f"tools-{name}.txt", "".join(lines))
