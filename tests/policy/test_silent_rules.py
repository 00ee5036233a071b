"""Rules that look right and would never match anything are refused, with what to write instead."""

from __future__ import annotations

import pytest

from claudewire.errors import OptionsError
from claudewire.policy import Policy, Rule

SILENT = [
    # names of tools
    ("bash(rm:*)", "Bash"),
    ("BASH(rm:*)", "Bash"),
    ("read(~/.ssh/**)", "Read"),
    ("edit(src/**)", "Edit"),
    ("webfetch(domain:evil.org)", "WebFetch"),
    ("Webfetch(domain:evil.org)", "WebFetch"),
    ("multiedit(x)", "MultiEdit"),
    ("Shell(rm:*)", "Bash"),
    ("Terminal", "Bash"),
    ("fetch(domain:evil.org)", "WebFetch"),
    ("ReadFile(x)", "Read"),
    ("mcp_git", "mcp__SERVER__TOOL"),
    ("MCP__git__push", "mcp__SERVER__TOOL"),
    ("mcp__", "mcp__SERVER__TOOL"),
    ("mcp___git", "mcp__SERVER__TOOL"),
    # commands
    ("Bash(rm|mv:*)", "one rule for each"),
    ("Bash(rm;mv)", "one rule for each"),
    ("Bash(\uff52\uff4d:*)", "only looks like 'rm'"),
    ("Bash(npm run test: *)", "write 'npm run test:*'"),
    ("WebFetch(https://evil.org)", "write `domain:` and a host"),
    ("Bash(rm :*)", "write 'rm:*'"),
    ("Bash(git push :*)", "write 'git push:*'"),
    ("Bash(rm\t:*)", "write 'rm:*'"),
    ('Bash("rm":*)', "without quotes"),
    ('Bash("rm" -rf:*)', "without quotes"),
    ("Bash('rm':*)", "without quotes"),
    ('Bash("rm foo")', "without quotes"),
    ("Bash(`rm`:*)", "without quotes"),
    ("Bash(\\rm:*)", "without quotes"),
    ("Bash(rm: *)", "write 'rm:*'"),
    ("Bash(rm:)", "no program has the name 'rm:'"),
    ("Bash(rm:**)", "no program has the name 'rm:'"),
    ("Bash(rm:* -rf)", "`:*` counts only at the end"),
    ("Bash(rm:*, mv:*)", "`:*` counts only at the end"),
    ("Bash(:*)", "there is no command"),
    ("Bash(rm, mv)", "one rule for each"),
    ("Bash(rm,mv:*)", "one rule for each"),
    ("Bash((rm|mv):*)", "one rule for each"),
    ("Bash(^rm)", "regular expressions"),
    ("Bash(^rm:*)", "regular expressions"),
    ("Bash(rm$)", "regular expressions"),
    ("Bash(rm.*)", "regular expressions"),
    ("Bash(rm.+)", "regular expressions"),
    ("Bash(| sh)", "no program has the name '|'"),
    ("Bash(&& rm:*)", "no program has the name '&&'"),
    ("Bash(;rm:*)", "no program has the name"),
    ("Bash(> x)", "no program has the name"),
    ("Bash(#rm)", "no program has the name"),
    ("Bash(Bash(rm:*))", "without quotes, brackets"),
    ("Bash(r\u200bm:*)", "invisible character"),
    ("Bash(rm\u00ad:*)", "invisible character"),
    ("Bash(command:rm)", "cannot be matched by its name"),
    ("Bash()", "brackets are empty"),
    # paths
    ("Read($HOME/.ssh/**)", "variables are not expanded"),
    ("Read(${HOME}/.ssh/**)", "variables are not expanded"),
    ("Read($HOME)", "variables are not expanded"),
    ("Read(~/${X}/y)", "variables are not expanded"),
    ("Read(%USERPROFILE%/x)", "variables are not expanded"),
    ("Read(~/.{ssh,aws}/**)", "braces are not expanded"),
    ("Read({a,b})", "braces are not expanded"),
    ("Edit(src/*.{js,ts})", "braces are not expanded"),
    ("Read(/home/me/.ssh/**)", "write two"),
    ("Read(/Users/me/.ssh/**)", "write two"),
    ("Read(/root/.ssh/**)", "write two"),
    ("Read(/etc/passwd)", "write two"),
    ("Edit(/etc)", "write two"),
    ("Read(/var/log/**)", "write two"),
    ("Read(/proc/**)", "write two"),
    ("Edit(/usr/**)", "write two"),
    ('Read("~/.ssh/**")', "quotes are taken literally"),
    ("Read('secrets/**')", "quotes are taken literally"),
    ("Read(C:\\Users\\me)", "a backslash does not separate"),
    ("Read(C:/Users/me)", "a backslash does not separate"),
    ("Read(secrets\\key)", "a backslash does not separate"),
    ("Read(~\\.ssh)", "a backslash does not separate"),
    ("Read(file:///etc/passwd)", "write the path alone"),
    ("Read(https://evil.org/x)", "write the path alone"),
    ("Read(path:secrets/**)", "write the path alone"),
    ("Read(.env, .secret)", "one rule for each"),
    ("Read(secrets|keys)", "one rule for each"),
    ("Read(^secrets)", "no regular expression"),
    ("Read(secrets$)", "no regular expression"),
    ("Read(a/../b)", "only at the beginning"),
    ("Read(~root/x)", "another user"),
    ("Read(sec\u200brets)", "invisible"),
    ("Read(!secrets/**)", "an exception only restricts what is allowed"),
    ("Edit(!.env)", "an exception only restricts what is allowed"),
    # hosts, skills
    ("WebFetch(evil.org)", "write `domain:`"),
    ("WebFetch(Domain:evil.org)", "write `domain:`"),
    ("WebFetch(host:evil.org)", "write `domain:`"),
    ("WebFetch(url:evil.org)", "cannot be matched by its name"),
    ("WebFetch(domain:https://evil.org)", "is not a host"),
    ("WebFetch(domain:evil.org/path)", "is not a host"),
    ("WebFetch(domain:evil.org:443)", "is not a host"),
    ("WebFetch(domain:.evil.org)", "is not a host"),
    ("WebFetch(domain:)", "is not a host"),
    ("Skill(/deploy)", "a name has no slash"),
    ("WebSearch(cats)", "takes nothing in brackets"),
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
def test_a_tool_with_another_name_is_recognised(tool: str, word: str) -> None:
    with pytest.raises(OptionsError) as raised:
        Policy(deny=[word])
    assert str(raised.value) == (
        f"The rule {word!r} is about the tool {word}, which is not known; did you mean {tool}? "
        f"If there is such a tool, give the rule as Rule.parse({word!r})"
    )


@pytest.mark.parametrize("rule", ["Todo", "List", "Ba*h", "mcp__bash", "mcp__x__shell", "Deploy"])
def test_a_tool_of_which_nothing_is_known_may_exist(rule: str) -> None:
    assert Policy(deny=[rule]).deny == (Rule.parse(rule),)


def test_there_are_many_rules_and_none_twice() -> None:
    assert len(SILENT) >= 60
    assert len({rule for rule, _ in SILENT}) == len(SILENT)


@pytest.mark.parametrize(("rule", "hint"), SILENT)
@pytest.mark.parametrize("behavior", ["deny", "ask"])
def test_a_rule_that_would_never_match_is_refused(rule: str, hint: str, behavior: str) -> None:
    with pytest.raises(OptionsError) as raised:
        Policy(**{behavior: [rule]})  # type: ignore[arg-type]
    assert hint in str(raised.value)


@pytest.mark.parametrize(
    ("rule", "problem"), [("bash(rm:*)", "write 'Bash'"), ("webfetch(domain:a.b)", "'WebFetch'")]
)
def test_a_rule_from_a_file_names_its_tool_as_the_cli_does(rule: str, problem: str) -> None:
    with pytest.raises(OptionsError, match=problem):
        Rule.parse(rule)


def test_the_directories_of_a_policy_are_not_written_with_one_slash() -> None:
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
def test_a_rule_that_only_looks_odd_matches(rule: str, tool: str, given: dict[str, object]) -> None:
    policy = Policy(deny=[rule], cwd="/p", home="/h", realpath=lambda path: path)
    assert policy.decide(tool, given).behavior == "deny"
