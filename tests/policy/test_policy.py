"""Policies: the order of rules, modes, defaults, and all tools that are neither shell nor file."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import Any

import pytest

from claudewire.errors import OptionsError
from claudewire.policy import MODES, Decision, Policy, Rule
from claudewire.policy.policy import LONGEST_REMEMBERED, MOST_REMEMBERED


def plain(path: str) -> str:
    return path


def make(*allow: str | Rule, **options: Any) -> Policy:
    return Policy(allow, **{"cwd": "/srv", "home": "/home/me", "realpath": plain, **options})


def bash(policy: Policy, command: str) -> Decision:
    return policy.decide("Bash", {"command": command})


# --- the order -----------------------------------------------------------------------------------


def test_deny_comes_before_ask_before_allow_before_the_default() -> None:
    policy = make("Read", "Write", "Edit", ask=["Read", "Write"], deny=["Read"])
    behaviors = [policy.decide(tool, {"file_path": "/srv/x"}) for tool in ("Read", "Write", "Edit")]
    assert [found.behavior for found in behaviors] == ["deny", "ask", "allow"]
    assert policy.decide("WebSearch", {}) == Decision("ask", "no rule allows it", None, "WebSearch")


def test_a_narrow_rule_does_not_come_before_a_wide_one() -> None:
    policy = make("Bash(aws s3 ls)", deny=["Bash(aws *)"])
    assert bash(policy, "aws s3 ls").behavior == "deny"


def test_a_decision_names_the_rule_the_part_and_the_reason() -> None:
    decision = bash(make("Bash(a:*)", deny=["Bash(rm:*)"]), "a; rm -rf x")
    assert decision == Decision(
        "deny", "`Bash(rm:*)` denies it: `rm -rf x`", Rule.parse("Bash(rm:*)"), "Bash", "rm -rf x"
    )
    assert str(decision) == "deny: `Bash(rm:*)` denies it: `rm -rf x`"
    assert not decision.allows


def test_a_long_part_is_shortened_in_the_reason_and_whole_in_the_decision() -> None:
    command = "rm " + "x" * 500
    decision = bash(make(deny=["Bash(rm:*)"]), command)
    assert decision.part == command
    assert len(decision.reason) < 200


@pytest.mark.parametrize("default", ["allow", "ask", "deny"])
def test_where_there_is_no_rule_the_default_holds(default: Any) -> None:
    assert make(default=default).decide("WebSearch", {}).behavior == default


def test_a_default_that_allows_does_not_allow_everything() -> None:
    policy = make(default="allow", ask=["Bash(git push:*)"])
    assert bash(policy, "ls").allows
    assert bash(policy, "git push").behavior == "ask"
    assert bash(policy, "$X").behavior == "ask"
    assert bash(policy, "rm -rf ~").behavior == "ask"
    assert policy.decide("Write", {"file_path": "/srv/.git/config"}).behavior == "ask"
    assert policy.decide("AskUserQuestion", {}).behavior == "ask"


def test_a_policy_never_changes() -> None:
    policy = make("Read")
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy.default = "allow"  # type: ignore[misc]
    assert policy == make("Read")
    assert hash(policy) == hash(make("Read"))
    assert dataclasses.replace(policy, default="deny").default == "deny"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"default": "maybe"}, "default cannot be 'maybe'; it is one of allow, ask, deny"),
        ({"default": None}, "default cannot be None; it is one of allow, ask, deny"),
        (
            {"default": "Allow"},
            "default cannot be 'Allow'; it is one of allow, ask, deny; did you mean 'allow'?",
        ),
        ({"mode": "yolo"}, f"mode cannot be 'yolo'; it is one of {', '.join(MODES)}"),
        (
            {"mode": "acceptedits"},
            f"mode cannot be 'acceptedits'; it is one of {', '.join(MODES)}; "
            "did you mean 'acceptEdits'?",
        ),
        ({"deny": "Read"}, "deny must be a list, not the string 'Read'; write ['Read']"),
        ({"ask": {"Read": 1}}, "ask must be a list, not {'Read': 1}"),
        ({"ask": b"Read"}, "ask must be a list, not b'Read'"),
        ({"ask": 5}, "ask must be a list, not 5"),
        ({"ask": [5]}, "A rule is a string such as 'Bash(git status:*)', not 5"),
        ({"ask": ["Bash("]}, "'Bash(' is not a rule: its last character must be ')'"),
        ({"home": 5}, "home must be a path, not 5"),
        ({"home": ""}, "home must be a path, not ''"),
        ({"cwd": ""}, "cwd must be a path, not ''"),
        ({"directories": "/x"}, "directories must be a list, not the string '/x'; write ['/x']"),
        ({"directories": [5]}, "directories must be a path, not 5"),
        ({"problems": "odd"}, "problems must be a list, not the string 'odd'; write ['odd']"),
        ({"realpath": "/x"}, "realpath must be a function, not '/x'"),
        ({"case_sensitive": "no"}, "case_sensitive cannot be 'no'; it is one of True, False"),
        ({"protect": 0}, "protect cannot be 0; it is one of True, False"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(OptionsError) as raised:
        make(**options)
    assert str(raised.value) == problem


def test_a_policy_shows_its_rules_and_is_the_same_as_another_with_these() -> None:
    policy = make("Read", problems=["the file was odd"], directories=["/more"])
    assert repr(policy) == (
        "Policy(allow=(Rule(tool='Read', content=None, root=None, source=''),), ask=(), deny=(), "
        "default='ask', cwd='/srv', home='/home/me', directories=('/more',), mode=None, "
        f"case_sensitive={policy.case_sensitive}, protect=True, problems=('the file was odd',))"
    )
    assert policy == make("Read", directories=["/more"], realpath=str)
    assert policy != make("Read", directories=["/more"], protect=False)


def test_places_are_absolute_and_without_detours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/usr")
    policy = Policy(["Edit(x)"], cwd="../a/./b/", home="c/../d", realpath=plain)
    assert (policy.cwd, policy.home) == ("/a/b", "/usr/d")
    assert [Policy(cwd=it, home="/h").cwd for it in ("~", "~/x", "~x")] == ["/h", "/h/x", "/usr/~x"]
    edit = {"file_path": "x"}
    assert policy.decide("Edit", edit, cwd="/else/../a/b").allows
    assert not policy.decide("Edit", edit, cwd="~/../x").allows


def test_directories_are_relative_to_the_working_directory(tmp_path: Path) -> None:
    policy = Policy(
        cwd="~/p", home=tmp_path, directories=["../q", "~/r", "/s/../t"], mode="acceptEdits"
    )
    assert policy.cwd == f"{tmp_path}/p"
    for place in (f"{tmp_path}/p", f"{tmp_path}/q", f"{tmp_path}/r", "/t"):
        assert policy.decide("Edit", {"file_path": f"{place}/x"}).allows
    assert not policy.decide("Edit", {"file_path": "/s/x"}).allows


def test_without_one_of_its_own_a_policy_takes_the_working_directory_of_each_use() -> None:
    policy = Policy(["Edit(src/**)", "Bash(git status:*)"], home="/home/me", realpath=plain)
    edit = {"file_path": "/srv/src/a"}
    assert policy.decide("Edit", edit, cwd="/srv").allows
    assert not policy.decide("Edit", edit, cwd="/elsewhere").allows
    assert policy.decide("Bash", {"command": "git status"}, cwd="/elsewhere").allows


def test_or_else_that_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    policy = Policy(["Edit(src/**)"])
    assert policy.cwd is None
    assert policy.decide("Edit", {"file_path": f"{tmp_path}/src/a"}).allows
    assert not policy.decide("Edit", {"file_path": "/srv/src/a"}).allows


# --- questions to a person -----------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["AskUserQuestion", "ExitPlanMode"])
def test_a_question_to_a_person_is_never_answered_by_a_rule(tool: str) -> None:
    assert make(tool).decide(tool, {}).behavior == "ask"
    assert make(default="allow").decide(tool, {}).behavior == "ask"
    assert make(mode="bypassPermissions").decide(tool, {}).behavior == "ask"
    assert make(tool, deny=[tool]).decide(tool, {}).behavior == "deny"
    assert make(default="deny").decide(tool, {}).behavior == "deny"
    assert make(tool, mode="dontAsk").decide(tool, {}).behavior == "deny"


# --- modes ---------------------------------------------------------------------------------------

INSIDE = {"file_path": "/srv/a.py"}
OUTSIDE = {"file_path": "/etc/a.py"}
PROTECTED = {"file_path": "/srv/.git/config"}


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (None, "ask ask ask ask ask"),
        ("default", "allow ask ask ask ask"),
        ("auto", "allow ask ask ask ask"),
        ("plan", "allow ask ask ask ask"),
        ("acceptEdits", "allow ask allow ask ask"),
        ("bypassPermissions", "allow allow allow allow ask"),
        ("dontAsk", "allow deny deny deny deny"),
    ],
)
def test_a_mode_allows_what_the_cli_would(mode: Any, expected: str) -> None:
    policy = make(mode=mode)
    uses = [("Read", INSIDE), ("Read", OUTSIDE), ("Edit", INSIDE), ("Write", OUTSIDE)]
    uses.append(("Write", PROTECTED))
    assert " ".join(policy.decide(*use).behavior for use in uses) == expected
    assert mode is None or mode in MODES


def test_what_may_be_worked_in_besides_counts_as_inside() -> None:
    policy = make(mode="acceptEdits", directories=["/etc"])
    assert policy.decide("Edit", OUTSIDE).allows
    assert policy.decide("Read", {}).behavior == "ask"


def test_in_the_mode_plan_nothing_is_edited_unasked() -> None:
    policy = make("Edit", "Bash(ls:*)", mode="plan")
    assert policy.decide("Edit", INSIDE).behavior == "ask"
    assert bash(policy, "ls").allows


def test_a_doubt_about_a_rule_counts_in_every_mode() -> None:
    policy = make(deny=["Bash(rm:*)", "Read(.env)"], mode="bypassPermissions")
    assert bash(policy, "$X").behavior == "ask"
    assert policy.decide("Grep", {"pattern": "x"}).behavior == "ask"
    assert bash(make(deny=["Bash(rm:*)"], mode="dontAsk"), "$X").behavior == "deny"


# --- shells --------------------------------------------------------------------------------------


def test_every_command_is_allowed_by_a_rule_for_the_tool() -> None:
    for rule in ("Bash", "Bash(*)"):
        policy = make(rule)
        for command in ("ls", "a $(b) > c", "FOO=1 x", "eval x", "[[ a ]]", "x ("):
            assert bash(policy, command).allows


def test_but_not_what_a_rule_that_denies_may_be_about() -> None:
    policy = make("Bash", deny=["Bash(rm:*)"])
    assert bash(policy, "ls; make > x").allows
    for command in ("$X y", "[[ a < b ]]", "x (", "eval $X", "sudo $X", "f() { a; }", "a " * 1001):
        decision = bash(policy, command)
        assert decision.behavior == "ask"
        assert "not certain whether" in decision.reason


@pytest.mark.parametrize(
    ("rule", "command", "behavior"),
    [
        ("rm*", "ls; rmdir x", "deny"),
        ("rm*", "ls; sudo rmdir x", "deny"),
        ("rm*", "ls; /bin/rmdir x", "deny"),
        ("rm*", "ls; ./rm x", "deny"),
        ("rm*", "ls; farm x", "allow"),
        ("*dir", "ls; rmdir", "deny"),
        ("r*r *", "ls; rmdir x", "deny"),
        ("/bin/r*", "ls; rmdir x", "allow"),
        ("/bin/r*", "ls; /bin/rmdir x", "deny"),
        ("/bin/rmdir:*", "ls; rmdir x", "deny"),
    ],
)
def test_a_wildcard_in_the_name_of_a_program_stands_for_its_end(
    rule: str, command: str, behavior: str
) -> None:
    assert bash(make("Bash", deny=[f"Bash({rule})"]), command).behavior == behavior


def test_a_rule_that_denies_looks_behind_many_words() -> None:
    policy = make("Bash", deny=["Bash(rm:*)"])
    assert bash(policy, "sudo " + "-x " * 50 + "rm y").behavior == "deny"
    assert bash(policy, "sudo " + "-x " * 100 + "rm y").behavior == "ask"
    assert bash(policy, "eval " + "eval " * 8 + "'rm y'").behavior == "deny"


def test_a_rule_that_denies_looks_into_a_few_shells_inside_shells() -> None:
    policy = make("Bash", deny=["Bash(rm:*)"])
    command, behaviors = "rm x", []
    for _ in range(8):
        command = f"bash -c {shlex.quote(command)}"
        behaviors.append(bash(policy, command).behavior)
    assert behaviors == [*["deny"] * 4, *["ask"] * 4]


@pytest.mark.parametrize("runner", ["", "command ", "command -p ", "builtin ", "time "])
@pytest.mark.parametrize("program", ["printf -v", "test -v", "[ -v"])
def test_a_rule_that_denies_looks_into_the_index_of_an_array(runner: str, program: str) -> None:
    policy = make("Bash", deny=["Bash(rm:*)"])
    assert bash(policy, f"{runner}{program} 'a[$(rm x)]' y ]").behavior == "deny"


@pytest.mark.parametrize(
    ("command", "behavior"),
    [
        ("bash -c 'ls'", "allow"),
        ('bash -c "ls"', "allow"),  # the same words, written otherwise
        ("echo a; bash -c ls", "allow"),
        ("bash -c 'ls' x", "ask"),
        ("bash -c 'ls; rm x'", "ask"),
        ("bash -c", "ask"),
        ("eval 'echo a'", "allow"),
        ("eval echo a", "ask"),
    ],
)
def test_what_runs_other_programs_is_allowed_word_for_word(command: str, behavior: str) -> None:
    policy = make("Bash(bash -c 'ls')", 'Bash(eval "echo a")', "Bash(echo:*)")
    assert bash(policy, command).behavior == behavior


@pytest.mark.parametrize(
    ("rule", "behavior"),
    [
        ("python -c 'x; y'", "allow"),
        ("echo a; python -c 'x'", "allow"),
        ("echo a; python -c $x", "ask"),
        ("python -c $x", "ask"),
        ("python -c x *", "ask"),
        ("echo a; python -c x (", "ask"),
        ("python:*", "ask"),
    ],
)
def test_a_doubt_counts_unless_every_word_is_in_the_rule(rule: str, behavior: str) -> None:
    """The rule has the whole line, but what a variable stands for may be denied."""
    line = rule.replace(":*", " -c x")
    policy = make(f"Bash({rule})", deny=["Bash(rm:*)"])
    assert bash(policy, f" {line}\n").behavior == behavior


@pytest.mark.parametrize("tool", ["Glob", "Grep", "LS", "NotebookEdit", "MultiEdit", "LSP"])
def test_a_rule_for_files_of_another_tool_is_not_about_commands(tool: str) -> None:
    policy = make("Bash", deny=[f"{tool}(secret)"])
    assert bash(policy, "cat secret; touch secret").behavior == "allow"


@pytest.mark.parametrize(
    ("command", "behavior"),
    [
        ('mv a ~/old "now"', "allow"),
        ("mv 'a b' ~/old now", "allow"),
        ("mv a '~/old' now", "ask"),  # a file of that name, and not in the home directory
        ("mv a '~/old' \"now\"", "ask"),
        ("mv a ~/'old' now", "allow"),
        ("pack src/x 'a b'", "allow"),
        ("pack src/* 'a b'", "allow"),  # the names begin so, whatever they are
        ("pack src/a$X 'a b'", "allow"),
        ('pack src/x "a b"', "allow"),
        ("pack src/'x' a\\ b", "allow"),
        ("pack src/x a b", "ask"),
        ('ship x "a b"', "allow"),  # as the rule itself has it
        ("ship x a b", "ask"),
    ],
)
def test_words_after_a_wildcard_may_be_quoted_in_any_way(command: str, behavior: str) -> None:
    policy = make("Bash(mv * ~/old now)", "Bash(pack src/* 'a b')", 'Bash(ship * "a b")')
    assert bash(policy, command).behavior == behavior


@pytest.mark.parametrize(
    ("command", "behavior"),
    [
        ("git status > out/a", "deny"),
        ("git status >> out/a", "deny"),
        ("git status &> out/a", "deny"),
        ("git status 3<> out/a", "deny"),
        ("git status < out/a", "allow"),
        ("git status <<< out/a", "allow"),
    ],
)
def test_a_rule_against_edits_is_about_output_and_not_about_input(
    command: str, behavior: str
) -> None:
    policy = make("Bash(git status:*)", "Read", deny=["Edit(out/**)"])
    assert bash(policy, command).behavior == behavior


@pytest.mark.parametrize(("files", "behavior"), [(200, "allow"), (201, "ask")])
def test_a_person_is_asked_if_there_are_too_many_files_to_look_at(
    files: int, behavior: str
) -> None:
    policy = make("Bash", deny=["Read(secrets/**)"])
    names = " ".join(f"file-{number}" for number in range(files))
    assert bash(policy, f"cat {names}").behavior == behavior
    assert bash(policy, f"cat secrets/key {names}").behavior == "deny"


@pytest.mark.parametrize(("moves", "behavior"), [(8, "allow"), (9, "ask")])
def test_a_person_is_asked_if_there_are_too_many_directories_to_be_in(
    moves: int, behavior: str
) -> None:
    policy = make("Bash", deny=["Read(secrets/**)"])
    moving = "; ".join(f"cd /directory-{number}" for number in range(moves))
    assert bash(policy, f"{moving}; cat file").behavior == behavior


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ("rm x", True),
        ("rm -rf build/out", True),
        ("rm -rf /", False),
        ("rm -rf /usr", False),
        ("rm -rf /usr/", False),
        ("rm -rf ~", False),
        ("rm -rf ~/", False),
        ("rm -rf ~/x", True),
        ("rm -rf .", False),
        ("rm -rf ..", False),
        ("rm -rf *", False),
        ("rm -rf ./*", False),
        ("rm -rf ~/*", False),
        ("rm -rf /*", False),
        ("rm -rf build/*", True),
        ("rm *.o", True),
        ("rm -rf $X", False),
        ('rm -rf "$X"/*', False),
        ("rm -rf /work", False),
        ("rm -rf /extra/more", False),
        ("rmdir /work", False),
        ("ls; sudo rm -rf /", False),
        ("ls $(rm -rf ~)", False),
        ("echo rm -rf /", True),
    ],
)
def test_no_rule_allows_to_remove_a_home_a_root_or_a_project(command: str, allowed: bool) -> None:
    programs = ("rm", "rmdir", "ls", "echo", "sudo rm")
    for rules in (["Bash"], [f"Bash({program}:*)" for program in programs]):
        policy = make(*rules, directories=["/extra/more"])
        decision = bash(policy, command)
        assert decision.allows is allowed
        assert allowed or "may remove a whole home" in decision.reason


def test_nor_where_a_link_to_one_of_them_leads() -> None:
    def followed(path: str) -> str:
        return f"/disk/real{path}" if path.startswith("/work") else path

    policy = make("Bash", cwd="/work", realpath=followed)
    assert not bash(policy, "rm -rf /disk/real").allows
    assert not bash(policy, "rm -rf /disk/real/work").allows
    assert bash(policy, "rm -rf /disk/real/work/x").allows
    assert bash(policy, "rm -rf /disk/other").allows


def test_a_rule_may_be_about_upper_case_where_case_does_not_matter() -> None:
    assert bash(make("Bash", deny=["Bash(rm:*)"], case_sensitive=False), "RM x").behavior == "deny"
    assert bash(make("Bash", deny=["Bash(rm:*)"], case_sensitive=True), "RM x").allows


def test_a_program_of_the_directory_is_another_one_elsewhere() -> None:
    policy = make("Bash(./run:*)", "Bash(cd:*)", "Bash(ls:*)")
    run = {"command": "./run x"}
    assert policy.decide("Bash", run).allows
    assert policy.decide("Bash", {"command": "cd x && ./run x"}).behavior == "ask"
    assert policy.decide("Bash", run, cwd="/elsewhere").behavior == "ask"
    assert policy.decide("Bash", {"command": "ls"}, cwd="/elsewhere").allows


@pytest.mark.parametrize(
    ("command", "behavior"),
    [
        ("cd /srv && git status", "allow"),  # where it is anyway
        ("cd . && git status", "allow"),
        ("cd /srv/ && cd . && git status", "allow"),
        ("cd '~' && git status", "ask"),
        ("cd '' && git status", "ask"),
        ("cd - && git status", "ask"),
        ("cd a && git status", "ask"),
        ("cd /srv x && git status", "ask"),
        ("cd $x && ls > out", "ask"),
        ("cd a && ls > out", "ask"),
        ("ls > out", "allow"),
        ("ls > a/../out", "ask"),
        ("cd /srv && ls > out", "allow"),
    ],
)
def test_a_command_may_go_to_where_it_is(command: str, behavior: str) -> None:
    policy = make("Bash(git status:*)", "Bash(ls:*)", "Edit(/out)")
    assert bash(policy, command).behavior == behavior
    assert bash(policy, "cd a/.. && ls").behavior == "ask"  # `a` may be a link
    # A rule for `cd` changes nothing of where the rest is run.
    policy = make("Bash(git status:*)", "Bash(ls:*)", "Bash(cd:*)", "Edit(/out)")
    assert bash(policy, command).behavior == behavior


@pytest.mark.parametrize(
    ("rule", "path", "behavior"),
    [
        ("src/**", "/srv/src/a", "deny"),
        ("src/**", "/other/src/a", "allow"),
        ("/src/**", "/other/src/a", "deny"),
        ("/src/**", "/srv/src/a", "deny"),  # also where the command is run, to be sure
        ("/src/**", "/third/src/a", "allow"),
        ("~/src/**", "/home/me/src/a", "deny"),
        ("//src/**", "/src/a", "deny"),
    ],
)
def test_a_rule_of_a_file_is_relative_to_it_if_it_begins_with_a_slash(
    rule: str, path: str, behavior: str
) -> None:
    policy = make("Read", "Bash", deny=[Rule.parse(f"Read({rule})", root="/other")])
    assert policy.decide("Read", {"file_path": path}).behavior == behavior
    assert bash(policy, f"cat {path}").behavior == behavior
    policy = make(Rule.parse(f"Read({rule})", root="/other"))
    allowed = behavior == "deny" and (rule[:4] != "/src" or path.startswith("/other"))
    assert policy.decide("Read", {"file_path": path}).allows is allowed


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError("too many links"), "it cannot be followed: too many links"),
        (ValueError("no path"), "it cannot be followed: no path"),
    ],
)
def test_a_path_that_cannot_be_followed_is_not_allowed(error: Exception, reason: str) -> None:
    def realpath(path: str) -> str:
        raise error

    policy = Policy(["Read(//srv/**)"], cwd="/srv", home="/home/me", realpath=realpath)
    decision = policy.decide("Read", {"file_path": "/srv/a"})
    assert decision.behavior == "ask"
    assert decision.reason == f"it is not clear where the path leads: {reason}"


def test_an_error_of_what_follows_links_is_not_hidden() -> None:
    def realpath(path: str) -> str:
        raise ZeroDivisionError

    policy = Policy(["Read(//srv/**)"], cwd="/srv", home="/home/me", realpath=realpath)
    with pytest.raises(ZeroDivisionError):
        policy.decide("Read", {"file_path": "/srv/a"})


@pytest.mark.parametrize("program", ["/usr/bin/tool", "~/bin/tool", "tool"])
def test_a_program_with_an_absolute_path_is_the_same_everywhere(program: str) -> None:
    policy = make(f"Bash({program}:*)", "Bash(cd:*)")
    assert bash(policy, f"cd sub && {program} x").allows


def test_redirections_go_where_files_may_be_written_and_read() -> None:
    policy = make("Bash(ls:*)", "Write", "Read")
    assert bash(policy, "ls > x < y").allows
    assert bash(policy, "ls > .git/config").behavior == "ask"
    assert bash(make("Bash(ls:*)", "Write", protect=False), "ls > .git/config").allows
    assert bash(make("Bash(ls:*)", "Edit"), "ls > x").behavior == "ask"
    assert bash(make("Bash(ls:*)", "Edit(//**)"), "ls > /dev/sda").behavior == "ask"
    assert bash(policy, "ls > 'x '").behavior == "ask"


@pytest.mark.parametrize(
    ("target", "behavior"),
    [
        *((it, "allow") for it in ("/dev/null", "/dev/stdout", "/dev/stderr", "'/dev/null'")),
        *((it, "ask") for it in ("/dev/tty", "/dev/null/x", "/dev/../dev/null", "/dev/nul?")),
        *((it, "ask") for it in ("/proc/self/fd/1", "/sys/power/state", "x", "$x")),
    ],
)
@pytest.mark.parametrize("operator", [">", ">>", "2>", "<"])
def test_what_is_redirected_to_nowhere_needs_no_rule(
    operator: str, target: str, behavior: str
) -> None:
    assert bash(make("Bash(ls:*)"), f"ls {operator} {target}").behavior == behavior
    everywhere = make("Bash(ls:*)", "Edit(//**)", "Read(//**)")
    is_plain = behavior == "allow" or target == "x"
    assert bash(everywhere, f"ls {operator} {target}").allows is is_plain


def test_a_command_for_a_monitor_is_a_command() -> None:
    policy = make("Bash(tail:*)", deny=["Bash(rm:*)"])
    assert policy.decide("Monitor", {"command": "tail -f x"}).allows
    assert policy.decide("Monitor", {"command": "tail x; rm y"}).behavior == "deny"
    assert policy.decide("Monitor", {"ws": {"url": "ws://x"}}).behavior == "ask"


def test_a_command_that_is_no_text_is_not_allowed() -> None:
    assert make("Bash(ls:*)").decide("Bash", {"command": ["ls"]}).behavior == "ask"
    assert make("Bash(ls:*)").decide("Bash", {}).behavior == "ask"


def test_files_in_commands_are_denied_and_doubted() -> None:
    policy = make("Bash", deny=["Read(.env)", "Edit(locked)", "Read(y)"])
    assert bash(policy, "cat .env").behavior == "deny"
    assert bash(policy, "touch locked").behavior == "deny"
    assert bash(policy, "cat locked").allows
    assert bash(policy, "echo > .env").behavior == "deny"
    assert bash(policy, "cat .e*").behavior == "ask"
    assert bash(policy, "cat $X").behavior == "ask"
    assert bash(policy, "make .env").behavior == "deny"
    assert bash(policy, "ls .env").allows
    assert bash(policy, "select a").behavior == "ask"


@pytest.mark.parametrize(
    ("command", "behavior"),
    [
        ("cd secrets; cat key", "deny"),
        ("cd src && cd ../secrets && cat key", "deny"),
        ("cd src; cat key", "allow"),
        ("cd; cat srv/secrets/key", "allow"),
        ("cd /; cat srv/secrets/key", "deny"),
        ("cd ~/x; cat /srv/secrets/key", "deny"),
        ("cd $X; cat key", "ask"),
        ("cd -; cat key", "ask"),
        ("cd $X; cat /etc/hosts", "allow"),
        ("cd a; cd b; cd c; cd d; cd e; cat key", "ask"),
        ("cat " + " ".join(f"f{n}" for n in range(300)), "ask"),
        ("; ".join(f"p{n}" for n in range(500)), "ask"),
    ],
)
def test_files_are_looked_for_where_a_command_goes(command: str, behavior: str) -> None:
    policy = make("Bash", deny=["Read(/secrets/**)"])
    assert bash(policy, command).behavior == behavior


def test_of_very_many_commands_some_may_be_denied() -> None:
    policy = make("Bash", deny=["Bash(rm:*)"])
    assert bash(policy, "; ".join(f"p{n}" for n in range(300))).allows
    assert bash(policy, "; ".join(f"p{n}" for n in range(500))).behavior == "ask"


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "command",
    [
        "a;" * 5000,
        "sudo " + "a " * 4900,
        "eval " * 2000,
        "find " + "-exec a " * 1200,
        "cd a;" * 2000,
    ],
)
def test_a_long_command_is_not_looked_at_again_for_every_rule(command: str) -> None:
    rules = [f"Bash(bad{n}:*)" for n in range(200)] + [f"Read(bad{n})" for n in range(200)]
    asked: list[str] = []

    def realpath(path: str) -> str:
        asked.append(path)
        return path

    make("Bash", deny=rules, realpath=realpath).decide("Bash", {"command": command})
    assert len(asked) < 5000


def test_powershell_is_allowed_by_the_letter_and_denied_by_a_piece() -> None:
    policy = make("PowerShell(Get-ChildItem)", deny=["PowerShell(Remove-Item *)"])

    def behavior(command: str) -> str:
        return policy.decide("PowerShell", {"command": command}).behavior

    assert behavior("Get-ChildItem -Force") == "ask"
    assert behavior("dir; remove-item x") == "deny"
    assert behavior("Get-ChildItem") == "ask"  # It is not taken apart, so it may be about both.
    assert make("PowerShell(dir)").decide("PowerShell", {"command": "dir"}).allows
    assert not make("PowerShell(dir *)").decide("PowerShell", {"command": "dir x"}).allows


# --- the web -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("domain", "url", "behavior"),
    [
        ("example.com", "https://example.com/a?b#c", "allow"),
        ("example.com", "http://EXAMPLE.com", "allow"),
        ("example.com", "https://example.com:8443/", "allow"),
        ("example.com.", "https://example.com./", "allow"),
        ("example.com", "https://sub.example.com/", "ask"),
        ("example.com", "https://example.com.evil.org/", "ask"),
        ("example.com", "https://evil.org/example.com", "ask"),
        ("example.com", "https://example.com@evil.org/", "ask"),
        ("example.com", "https://evil.org@example.com/", "ask"),
        ("example.com", "https://evil.org\\@example.com/", "ask"),
        ("example.com", "https://example.com\\.evil.org/", "ask"),
        ("example.com", "https://ex\u0430mple.com/", "ask"),
        ("example.com", "https://example.com\n.evil.org", "ask"),
        ("example.com", "https://example%2ecom/", "ask"),
        ("example.com", "ftp://example.com/", "ask"),
        ("example.com", "example.com", "ask"),
        ("example.com", "", "ask"),
        ("*.example.com", "https://a.b.example.com/", "allow"),
        ("*.example.com", "https://example.com/", "ask"),
        ("*.example.com", "https://evilexample.com/", "ask"),
        ("example.*", "https://example.org/", "allow"),
        ("example.*", "https://example.evil.org/", "ask"),
        ("*", "https://any.org/", "allow"),
        ("-1", "https://-1/", "allow"),  # a sign makes a name of a number
        ("example.com", "https://-1.2/", "ask"),
    ],
)
def test_a_host_is_allowed_if_it_is_clear(domain: str, url: str, behavior: str) -> None:
    policy = make(f"WebFetch(domain:{domain})")
    assert policy.decide("WebFetch", {"url": url}).behavior == behavior


@pytest.mark.parametrize(
    ("url", "behavior"),
    [
        ("https://evil.org/x", "deny"),
        ("https://EVIL.org./x", "deny"),
        ("evil.org", "deny"),
        ("https://good.org@evil.org/", "deny"),
        ("https://evil.org\\@good.org/", "deny"),
        ("https://evil%2eorg/", "deny"),
        ("https:\\\\evil.org", "deny"),
        ("https://\uff45vil.org/", "deny"),
        ("https://evil.\norg/", "deny"),
        ("https://good.org/?x=evil.org", "allow"),
        ("https://good.org/", "allow"),
        ("https://[::1", "ask"),
        ("ftp://good.org/", "ask"),
        ("https://-1/", "allow"),
        ("https://-1.2/", "allow"),
    ],
)
def test_a_host_is_denied_however_it_is_written(url: str, behavior: str) -> None:
    policy = make("WebFetch", deny=["WebFetch(domain:evil.org)", "WebFetch(prompt:x)"])
    assert policy.decide("WebFetch", {"url": url}).behavior == behavior


# --- agents and skills ---------------------------------------------------------------------------


def test_agents_are_allowed_and_denied_by_name() -> None:
    policy = make("Agent(Explore)", deny=["Task(Plan)", "Agent(general-*)"])

    def behavior(**given: Any) -> str:
        return policy.decide("Task", given).behavior

    assert behavior(subagent_type="Explore") == "allow"
    assert behavior(subagent_type="explore") == "ask"
    assert behavior(subagent_type="Plan") == "deny"
    assert behavior() == "deny"


def test_skills_are_allowed_and_denied_by_name_and_arguments() -> None:
    policy = make("Skill(commit)", "Skill(review *)", "Skill(old:*)", deny=["Skill(deploy *)"])

    def behavior(skill: str, args: str | None = None, key: str = "skill") -> str:
        return policy.decide("Skill", {key: skill, "args": args}).behavior

    assert behavior("commit") == "allow"
    assert behavior("/commit", key="command") == "allow"
    assert behavior("commit", "now") == "ask"
    assert behavior("review") == "allow"
    assert behavior("review", "12") == "allow"
    assert behavior("reviewer") == "ask"
    assert behavior("old", "x") == "allow"
    assert behavior("deploy") == "deny"
    assert behavior("deploy", "prod") == "deny"
    assert behavior("other") == "ask"


@pytest.mark.parametrize(
    ("rule", "tool", "given"),
    [
        ("Monitor(ls:*)", "Bash", {"command": "ls"}),
        ("Monitor(ls)", "Bash", {"command": "ls"}),
        ("Agent(dir)", "PowerShell", {"command": "dir"}),
        ("PowerShell(Explore)", "Agent", {"subagent_type": "Explore"}),
        ("Skill(Explore)", "Task", {"subagent_type": "Explore"}),
        ("Agent(commit)", "Skill", {"skill": "commit"}),
        ("PowerShell(commit)", "Skill", {"skill": "commit"}),
        ("Write(src/**)", "Edit", {"file_path": "/srv/src/a"}),
        ("Glob(src/**)", "Read", {"file_path": "/srv/src/a"}),
        ("Read(src/**)", "Write", {"file_path": "/srv/src/a"}),
        ("Read(src/**)", "Bash", {"command": "cat src/a"}),
    ],
)
def test_what_is_allowed_for_one_tool_is_not_for_another(
    rule: str, tool: str, given: dict[str, Any]
) -> None:
    assert make(rule).decide(tool, given).behavior == "ask"


# --- decisions that are remembered ----------------------------------------------------------------


def test_a_decision_that_follows_from_the_use_alone_is_remembered() -> None:
    policy = make("Bash(git status:*)")
    first = policy.decide("Bash", {"command": "git status", "description": "Shows it"})
    assert first.behavior == "allow"
    again = {"command": "git status", "description": "Shows it"}
    assert policy.decide("Bash", again) is first
    assert policy.decide("Bash", {**again, "description": "Hides it"}) is not first
    assert policy.decide("Bash", again, cwd="/elsewhere").behavior == "ask"
    assert policy == make("Bash(git status:*)")


def test_a_decision_that_follows_links_is_made_again() -> None:
    places = {"/srv/data": "/srv/data"}
    policy = make("Read(data)", realpath=lambda path: places.get(path, path))
    assert policy.decide("Read", {"file_path": "/srv/data"}).behavior == "allow"
    places["/srv/data"] = "/etc/shadow"
    assert policy.decide("Read", {"file_path": "/srv/data"}).behavior == "ask"


def test_only_some_decisions_about_short_inputs_of_text_are_remembered() -> None:
    policy = make("Bash(echo:*)")
    for number in range(2 * MOST_REMEMBERED):
        policy.decide("Bash", {"command": f"echo {number}"})
        assert len(policy._decided) == number % MOST_REMEMBERED + 1
    remembered = {*policy._decided}
    for input in (
        {"command": "echo " + "x" * (LONGEST_REMEMBERED - len("Bash/srvcommandecho ") + 1)},
        {"command": "echo 1", "timeout": 5},
        {"command": ["echo"]},
    ):
        policy.decide("Bash", input)
    assert {*policy._decided} == remembered
    longest = "echo " + "x" * (LONGEST_REMEMBERED - len("Bash/srvcommandecho "))
    policy.decide("Bash", {"command": longest})
    assert ("Bash", "/srv", "command", longest) in policy._decided
