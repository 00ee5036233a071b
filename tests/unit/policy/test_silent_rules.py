"""Rules that look right and would never match anything are refused, with what to write instead."""

from __future__ import annotations

import pytest

from claudewire.errors import OptionsError
from claudewire.policy import Policy, Rule


def rows(table: str) -> list[tuple[str, str]]:
    """Return the rules in a table of `hint ⇒ rule ‖ rule`, each with its hint."""
    pairs = (row.strip().partition(" ⇒ ") for row in table.strip().splitlines())
    return [(rule, hint) for hint, _, rules in pairs for rule in rules.split(" ‖ ")]


SILENT = [
    *rows(r"""
    Bash ⇒ bash(rm:*) ‖ BASH(rm:*) ‖ Shell(rm:*) ‖ Terminal
    Read ⇒ read(~/.ssh/**) ‖ ReadFile(x)
    Edit ⇒ edit(src/**)
    WebFetch ⇒ webfetch(domain:evil.org) ‖ Webfetch(domain:evil.org) ‖ fetch(domain:evil.org)
    MultiEdit ⇒ multiedit(x)
    mcp__SERVER__TOOL ⇒ mcp_git ‖ MCP__git__push ‖ mcp__ ‖ mcp___git
    one rule for each ⇒ Bash(rm|mv:*) ‖ Bash(rm;mv) ‖ Bash(rm, mv) ‖ Bash(rm,mv:*)
    one rule for each ⇒ Bash((rm|mv):*) ‖ Read(.env, .secret) ‖ Read(secrets|keys)
    write 'npm run test:*' ⇒ Bash(npm run test: *)
    write `domain:` and a host ⇒ WebFetch(https://evil.org)
    write 'rm:*' ⇒ Bash(rm :*) ‖ Bash(rm: *)
    write 'git push:*' ⇒ Bash(git push :*)
    without quotes ⇒ Bash("rm":*) ‖ Bash("rm" -rf:*) ‖ Bash('rm':*) ‖ Bash("rm foo") ‖ Bash(`rm`:*)
    without quotes ⇒ Bash(\rm:*)
    no program has the name 'rm:' ⇒ Bash(rm:) ‖ Bash(rm:**)
    `:*` counts only at the end ⇒ Bash(rm:* -rf) ‖ Bash(rm:*, mv:*)
    there is no command ⇒ Bash(:*)
    regular expressions ⇒ Bash(^rm) ‖ Bash(^rm:*) ‖ Bash(rm$) ‖ Bash(rm.*) ‖ Bash(rm.+)
    no program has the name '|' ⇒ Bash(| sh)
    no program has the name '&&' ⇒ Bash(&& rm:*)
    no program has the name ⇒ Bash(;rm:*) ‖ Bash(> x) ‖ Bash(#rm)
    without quotes, brackets ⇒ Bash(Bash(rm:*))
    cannot be matched by its name ⇒ Bash(command:rm) ‖ WebFetch(url:evil.org)
    brackets are empty ⇒ Bash()
    variables are not expanded ⇒ Read($HOME/.ssh/**) ‖ Read(${HOME}/.ssh/**) ‖ Read($HOME)
    variables are not expanded ⇒ Read(~/${X}/y) ‖ Read(%USERPROFILE%/x)
    braces are not expanded ⇒ Read(~/.{ssh,aws}/**) ‖ Read({a,b}) ‖ Edit(src/*.{js,ts})
    write two ⇒ Read(/home/me/.ssh/**) ‖ Read(/Users/me/.ssh/**) ‖ Read(/root/.ssh/**)
    write two ⇒ Read(/etc/passwd) ‖ Edit(/etc) ‖ Read(/var/log/**) ‖ Read(/proc/**) ‖ Edit(/usr/**)
    quotes are taken literally ⇒ Read("~/.ssh/**") ‖ Read('secrets/**')
    a backslash does not separate ⇒ Read(C:\Users\me) ‖ Read(C:/Users/me) ‖ Read(secrets\key)
    a backslash does not separate ⇒ Read(~\.ssh)
    write the path alone ⇒ Read(file:///etc/passwd) ‖ Read(https://evil.org/x)
    write the path alone ⇒ Read(path:secrets/**)
    no regular expression ⇒ Read(^secrets) ‖ Read(secrets$)
    only at the beginning ⇒ Read(a/../b)
    another user ⇒ Read(~root/x)
    an exception only restricts allow rules ⇒ Read(!secrets/**) ‖ Edit(!.env)
    write `domain:` ⇒ WebFetch(evil.org) ‖ WebFetch(Domain:evil.org) ‖ WebFetch(host:evil.org)
    is not a host ⇒ WebFetch(domain:https://evil.org) ‖ WebFetch(domain:evil.org/path)
    is not a host ⇒ WebFetch(domain:evil.org:443) ‖ WebFetch(domain:.evil.org) ‖ WebFetch(domain:)
    a name has no slash ⇒ Skill(/deploy)
    takes nothing in brackets ⇒ WebSearch(cats)
    """),
    ("Bash(\uff52\uff4d:*)", "only looks like 'rm'"),
    ("Bash(rm\t:*)", "write 'rm:*'"),
    ("Bash(r\u200bm:*)", "invisible character"),
    ("Bash(rm\xad:*)", "invisible character"),
    ("Read(sec\u200brets)", "invisible"),
]


MEANT = {
    "Bash": "cmd command exec execute sh Shell TERMINAL zsh Baah",
    "Read": "cat readfile view Reader",
    "Write": "create writefile Wriet",
    "Edit": "editfile replace Edti",
    "WebFetch": "curl fetch http web WebFetsh",
    "Grep": "search grepp",
    "Agent": "subagent Agents",
    "mcp__SERVER__TOOL": "mcp_x MCP__x__y",
}
"""The tools, and names that people give them."""


@pytest.mark.parametrize(
    ("tool", "word"), [(it, word) for it in MEANT for word in MEANT[it].split()]
)
def test_misspelt_tool_is_recognised(tool: str, word: str) -> None:
    with pytest.raises(OptionsError) as raised:
        Policy(deny=[word])
    assert str(raised.value) == (
        f"The rule {word!r} is about the tool {word}, which is not known; did you mean {tool}? "
        f"If there is such a tool, give the rule as Rule.parse({word!r})"
    )


@pytest.mark.parametrize("rule", ["Todo", "List", "Ba*h", "mcp__bash", "mcp__x__shell", "Deploy"])
def test_unknown_tool_may_exist(rule: str) -> None:
    assert Policy(deny=[rule]).deny == (Rule.parse(rule),)


@pytest.mark.parametrize(("rule", "hint"), SILENT)
@pytest.mark.parametrize("behavior", ["deny", "ask"])
def test_rule_that_would_never_match_is_refused(rule: str, hint: str, behavior: str) -> None:
    with pytest.raises(OptionsError) as raised:
        Policy(**{behavior: [rule]})  # type: ignore[arg-type]
    assert hint in str(raised.value)


def test_absolute_path_with_one_slash_is_refused() -> None:
    for cwd, home in (("/work/project", "/h"), ("/p", "/work/project")):
        with pytest.raises(OptionsError, match="write two for that of the file system"):
            Policy(deny=["Read(/work/project/x)"], cwd=cwd, home=home)
    assert Policy(deny=["Read(/work/x)"], cwd="/work/project", home="/h").deny


@pytest.mark.parametrize(
    ("rule", "tool", "given"),
    [
        ("Bash(rm  -rf:*)", "Bash", {"command": "rm -rf x"}),
        ("Bash( rm:*)", "Bash", {"command": "rm x"}),
        ("Bash(git 'push':*)", "Bash", {"command": "git push"}),
        ("Bash(git commit -m 'a b')", "Bash", {"command": 'git commit -m "a b"'}),
        ("Bash(./run:*)", "Bash", {"command": "/x/run a"}),
        ("Bash(curl * | sh)", "Bash", {"command": "curl x | sh"}),
        ("Bash(rm*)", "Bash", {"command": "rmdir x"}),
        ("Bash(timeout:5)", "Bash", {"command": "ls", "timeout": 5}),
        ("Read(./etc/**)", "Read", {"file_path": "/p/etc/x"}),
        ("Read(routes/$id.tsx)", "Read", {"file_path": "/p/routes/$id.tsx"}),
        ("Read(a\\{b\\,c\\}d)", "Read", {"file_path": "/p/a{b,c}d"}),
        ("Read([id].tsx)", "Read", {"file_path": "/p/i.tsx"}),
        ("Read(//etc/passwd)", "Read", {"file_path": "/etc/passwd"}),
        ("WebFetch(domain: evil.org)", "WebFetch", {"url": "http://evil.org"}),
    ],
)
def test_odd_looking_rule_matches(rule: str, tool: str, given: dict[str, object]) -> None:
    policy = Policy(deny=[rule], cwd="/p", home="/h", realpath=lambda path: path)
    assert policy.decide(tool, given).behavior == "deny"
