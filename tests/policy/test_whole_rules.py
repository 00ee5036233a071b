"""What is said of rules of every form, and of what they let through: see tests/helpers/kept.py."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.kept import Kept, normal

from claudewire.errors import OptionsError
from claudewire.policy import Policy, Rule, explain
from claudewire.policy.policy import MODES

RULES = r"""
Bash
Bash()
Bash(*)
Bash(:*)
Bash(ls)
Bash(ls:*)
Bash(ls *)
Bash(* --force)
Bash(git * main)
Bash(git:* x)
Bash("ls")
Bash(ls; rm)
Bash(a|b)
Bash(^ls)
Bash(ls$)
Bash(timeout: 5)
Bash(description:x)
Bash(echo \(a\))
Bash(ls
Bash ls)
Bash( :*)
Bash(a:*b)
Bash(a​b)
Bash(ls :*)
Bash(ls: *)
Bash(éa:*)
Bash('x' y)
Bash(\ls)
Bash(#x)
Bash(a.)
Bash(a.+)
Bash(a:)
Bash(command: ls)
Bash(run_in_background: true)
Bash(dangerouslyDisableSandbox: true)
Bash(other: true)
Bash(A=1 ls:*)
Bash(a $b:*)
READ(x)
Read(file_path: x)
Read($HOME/x)
Read(${X})
Read(%X%/a)
Read(a\{b,c})
Read("a")
Read(file://x)
Read(path:x)
Read(a, b)
Read(a|b)
Read(a\|b)
Read(^a)
Read(a$)
Read(/home/x)
Read(/etc)
Read(/homes)
Read(/work/x)
Read(/workshop)
Read(a​b)
Read(a/../b)
Read( a )
WebFetch(host:x)
WebFetch(Domain:x)
WebFetch(http://x)
WebFetch(domain:a b)
WebFetch(domain: a.b)
WebFetch(prompt:x)
Skill(/x)
Agent(/x)
Agent(model:opus)
Agent(a b)
TodoWrite(a:b)
mcp__a*
mcp__a__b*
mcp__*__b
bash
Read
Read(a.txt)
Read(/src/**)
Read(//etc/passwd)
Read(~/x)
Read(./a)
Read(../b)
Read(**)
Read(*.{py,ts})
Read(!a)
Read([a)
Read(C:\x)
Read(a:*)
Edit(src/**)
Write(a)
MultiEdit(a)
NotebookEdit(a.ipynb)
Grep(x)
Glob(**/*.py)
LS(/x)
WebFetch
WebFetch(domain:example.com)
WebFetch(domain:*.example.com)
WebFetch(domain:*)
WebFetch(domain:)
WebFetch(https://example.com)
WebSearch(x)
Task
Task(Explore)
Agent(Explore)
Skill(pdf)
mcp__calc
mcp__calc__add
mcp__calc__*
mcp__*
mcp__calc__add(x)
mcp__calc__add(a: 1)
*
Web*
Unheard
Unheard(x: y)
KillShell
TodoWrite(x)
1x
(a)
"""


def said_of(text: str) -> Iterator[str]:
    try:
        rule = Rule.parse(text, root="/root", source="a test")
    except OptionsError as error:
        yield f"OptionsError: {error}"
        return
    yield f"{rule!r} {rule} every use: {rule.for_every_use}"
    parts = (rule.domain, rule.parameter, rule.why_never_allows(), rule.why_never_forbids())
    yield f"{parts}"
    named = [it for it in ("Bash", "Read", "Edit", "Task", "mcp__calc__add") if rule.names(it)]
    surely = [it for it in named if rule.surely_names(it)]
    yield f"names {named}, surely {surely}; elsewhere: {rule.why_elsewhere(['/work'])}"
    for name in ("allow", "ask", "deny"):
        try:
            Policy(**{name: [text]}, cwd="/work")  # type: ignore[arg-type]
        except OptionsError as error:
            yield f"{name}: {error}"


def test_what_is_said_of_each_rule_is_as_it_was(kept: Kept) -> None:
    lines = []
    for text in [*RULES.strip().splitlines(), "Bash(\uff4c\uff53:*)", ""]:
        lines += [f"{text}\n", *(f"    {line}\n" for line in said_of(text))]
    kept("rules.txt", "".join(lines))


EXPLAINED: dict[str, tuple[Policy | None, dict[str, Any]]] = {
    "nothing": (Policy(cwd="/work"), {}),
    "rules": (
        Policy(
            [
                "Bash",
                "Bash(ls:*)",
                "Read(src/**)",
                "Read(src/a)",
                "WebFetch(domain:a.b)",
                "mcp__a__b",
            ],
            ask=["Bash(git push:*)", "Edit"],
            deny=["Bash(rm:*)", "Read(src/**)", "WebSearch", "KillShell"],
            cwd="/work",
        ),
        {"hooks": True},
    ),
    "of the CLI": (
        Policy(["Read", "mcp__a__b"], deny=["Write"], cwd="/work"),
        {"allowed_tools": ["Bash(ls:*)", "Read"], "disallowed_tools": ["WebFetch", "Write"]},
    ),
    **{mode: (Policy(mode=mode, cwd="/work"), {"permission_mode": mode}) for mode in MODES},
    "denies": (Policy(default="deny", cwd="/work"), {"tools": ["Bash", "Unheard"]}),
    "allows": (Policy(default="allow", protect=False, cwd="/work"), {}),
    "without a policy": (None, {"tools": ["Bash", "Read", "Unheard"]}),
    "too late": (
        Policy(["Bash(a)"], ["Bash(a)", "Bash(a:*)", "Edit"], ["Bash(a:*)", "Edit"], cwd="/work"),
        {"tools": [], "allowed_tools": ["Edit", "Bash(ls)"]},
    ),
}


@pytest.mark.parametrize("name", EXPLAINED)
def test_the_explanation_of_a_policy_is_as_it_was(kept: Kept, name: str) -> None:
    policy, options = EXPLAINED[name]
    told = explain(None, **options) if policy is None else policy.explain(**options)
    lines = [str(told), str(told.unreachable), *map(repr, (*told.tools, *told.shadows))]
    kept(f"explained-{name.replace(' ', '-')}.txt", "".join(f"{line}\n" for line in lines))


ABOUT = {
    "Bash": "Bash(ls:*)",
    "Edit": "Edit(src/**)",
    "Read": "Read(src/**)",
    "WebFetch": "WebFetch(domain:a.org)",
    "TodoWrite": "TodoWrite(a:b)",
    "AskUserQuestion": "AskUserQuestion(a:b)",
    "mcp__a__b": "mcp__a__b(c:d)",
}
"""Tools, and a rule about some uses of each."""

SOME = [it for it in ABOUT.values() if Rule.parse(it).why_never_allows() is None]
OPTIONS: list[dict[str, Any]] = [
    {},
    *({name: [*ABOUT]} for name in ("allowed_tools", "disallowed_tools")),
    {"allowed_tools": SOME},
    {"disallowed_tools": [*ABOUT.values()]},
    {"allowed_tools": ["mcp__a", "*"], "disallowed_tools": ["Web*"]},
    *(
        {"permission_mode": mode}
        for mode in ("acceptEdits", "bypassPermissions", "dontAsk", "auto")
    ),
]


def policies() -> Iterator[dict[str, Any]]:
    yield from ({"default": it} for it in ("ask", "allow", "deny"))
    yield from ({"mode": it} for it in ("dontAsk", "bypassPermissions", "acceptEdits"))
    yield {"mode": "bypassPermissions", "default": "deny"}
    for name in ("allow", "ask", "deny"):
        yield {name: [*ABOUT]}
        yield {name: [*ABOUT], "default": "deny"}
    yield {"allow": SOME}
    for name in ("ask", "deny"):
        yield {name: [*ABOUT.values()]}
        yield {name: [*ABOUT.values()], "default": "allow"}
        yield {name: [*ABOUT.values()], "allow": [*ABOUT]}
    yield {"allow": ["Read(!a)", "WebFetch"]}
    yield from ({"ask": ["Read(b)"], "default": it} for it in ("ask", "deny"))
    yield {"allow": ["Read(a)", "mcp__a"], "ask": ["Read(b)"], "mode": "bypassPermissions"}


def test_who_is_asked_about_each_tool_is_as_it_was(kept: Kept) -> None:
    """Each line has a policy and what the CLI is started with; numbers are reasons, at the end."""
    reasons: dict[str, int] = {}
    lines = []
    for given in policies():
        policy = Policy(**given, cwd="/work", home="/home/me")
        lines.append(json.dumps(given))
        for options in OPTIONS:
            found = policy.explain(tools=[*ABOUT], **options).tools
            numbers = [reasons.setdefault(f"{it.reaches}: {it.why}", len(reasons)) for it in found]
            lines.append(f"    {' '.join(map(str, numbers))}  {json.dumps(options)}")
    lines += [f"{number} {why}" for why, number in reasons.items()]
    kept("reach.txt", "".join(f"{line}\n" for line in lines))


COVERING = """
Bash  Bash(ls)  Bash(ls:*)  Bash(ls *)  Bash(ls a)  Bash(ls a:*)  Bash(ls * b)  Bash(ls 'a')
Monitor  Bash($x)  mcp__a  mcp__a__b  mcp__a__*  mcp__b__*  mcp__*  *  W*  WebFetch
WebFetch(domain:a.org)  WebFetch(domain:x.a.org)  WebFetch(domain:*.a.org)  WebFetch(domain:*)
WebFetch(prompt:x)  Read  Read(a)  Read(b)  Edit(a)  Agent(x)  Task(x)  Agent(y)
"""


def test_which_rules_come_too_late_is_as_it_was(kept: Kept) -> None:
    rules = [Rule.parse(it) for it in re.split(r"\s\s+|\n", COVERING.strip())]
    rules += [Rule.parse("Read(a)", root="/elsewhere")]
    lines = []
    for wide in rules:
        late = [it for it in rules if Policy(ask=[it], deny=[wide]).explain(tools=[]).shadows]
        twin = [it for it in rules if len(Policy(deny=[wide, it]).explain(tools=[]).shadows)]
        told = [" ".join(f"{it}{it.root or ''}" for it in found) for found in (late, twin)]
        lines.append(f"{wide}{wide.root or ''}\n    before {told[0]}\n    beside {told[1]}\n")
    kept("covering.txt", "".join(lines))


SETTINGS: list[Any] = [
    {"permissions": {"allow": ["Read", "Bash(ls:*)"], "deny": ["Bash(rm:*)"], "ask": ["Edit(/a)"]}},
    {"permissions": {"defaultMode": "acceptEdits", "additionalDirectories": ["../x", "/y"]}},
    {"permissions": {"defaultMode": "odd", "additionalDirectories": "x"}},
    {"permissions": {"allow": "Read", "deny": [1], "ask": ["Bash("]}},
    {"permissions": {"disableBypassPermissionsMode": "disable", "other": 1}},
    {"permissions": []},
    {"allowManagedPermissionRulesOnly": True, "sandbox": {"enabled": True}},
    [],
    "{",
]


def test_what_settings_mean_is_as_it_was(kept: Kept, tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    lines = []
    for at, settings in enumerate(SETTINGS):
        for scope in ("user", "project", "local"):
            folder = {"user": home}.get(scope, work) / f"{at}-{scope}" / ".claude"
            folder.mkdir(parents=True)
            name = "settings.local.json" if scope == "local" else "settings.json"
            text = settings if isinstance(settings, str) else json.dumps(settings)
            (folder / name).write_text(text, encoding="utf-8")
            for trusted in (True, False):
                lines += [f"{text} {scope} {'trusted' if trusted else 'not trusted'}"]
                lines += [f"    {_read(folder.parent, scope, trusted)}"]
    kept("settings.txt", normal("".join(f"{line}\n" for line in lines), folder=tmp_path))


def _read(folder: Path, scope: str, trusted: bool) -> str:
    cwd = folder if scope != "user" else folder / "nowhere"
    home = folder if scope == "user" else folder / "nowhere"
    try:
        policy = Policy.from_settings(cwd=cwd, home=home, managed=home, trusted=trusted)
    except OptionsError as error:
        return f"OptionsError: {error}"
    rules = {it: [*map(repr, getattr(policy, it))] for it in ("allow", "ask", "deny")}
    places = (policy.cwd, policy.home, policy.directories)
    return f"{rules} {policy.mode} {places} {policy.problems}"
