"""Policies: the order of rules, modes, defaults, and all tools that are neither shell nor file."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from claudewire.errors import OptionsError
from claudewire.policy import Decision, Policy, Rule
from claudewire.policy.settings import MODES

from .evasions import cases


def plain(path: str) -> str:
    return path


def make(*allow: str | Rule, **options: Any) -> Policy:
    return Policy(allow, **{"cwd": "/srv", "home": "/home/me", "realpath": plain, **options})


def bash(policy: Policy, command: str) -> Decision:
    return policy.decide("Bash", {"command": command})


# --- the order -----------------------------------------------------------------------------------


def test_deny_wins_over_ask_over_allow_over_the_default() -> None:
    policy = make("Read", "Write", "Edit", ask=["Read", "Write"], deny=["Read"])
    behaviors = [policy.decide(tool, {"file_path": "/srv/x"}) for tool in ("Read", "Write", "Edit")]
    assert [found.behavior for found in behaviors] == ["deny", "ask", "allow"]
    assert policy.decide("WebSearch", {}) == Decision("ask", "no rule allows it", None, "WebSearch")


def test_narrow_rule_does_not_win_over_a_wide_one() -> None:
    policy = make("Bash(aws s3 ls)", deny=["Bash(aws *)"])
    assert bash(policy, "aws s3 ls").behavior == "deny"


def test_decision_names_the_rule_the_part_and_the_reason() -> None:
    decision = bash(make("Bash(a:*)", deny=["Bash(rm:*)"]), "a; rm -rf x")
    assert decision == Decision(
        "deny", "`Bash(rm:*)` denies it: `rm -rf x`", Rule.parse("Bash(rm:*)"), "Bash", "rm -rf x"
    )
    assert str(decision) == "deny: `Bash(rm:*)` denies it: `rm -rf x`"
    assert not decision.allows


def test_long_part_is_shortened_in_the_reason_only() -> None:
    command = "rm " + "x" * 500
    decision = bash(make(deny=["Bash(rm:*)"]), command)
    assert decision.part == command
    assert len(decision.reason) < 200


def test_default_that_allows_has_limits() -> None:
    policy = make(default="allow", ask=["Bash(git push:*)"])
    assert bash(policy, "ls").allows
    assert bash(policy, "git push").behavior == "ask"
    assert bash(policy, "$X").behavior == "ask"
    assert bash(policy, "rm -rf ~").behavior == "ask"
    assert policy.decide("Write", {"file_path": "/srv/.git/config"}).behavior == "ask"
    assert policy.decide("AskUserQuestion", {}).behavior == "ask"


def test_policy_is_immutable() -> None:
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
        ({"mode": "yolo"}, f"mode cannot be 'yolo'; it is one of {', '.join(MODES)}"),
        ({"deny": "Read"}, "deny must be a list, not the string 'Read'; write ['Read']"),
        ({"ask": {"Read": 1}}, "ask must be a list, not {'Read': 1}"),
        ({"ask": [5]}, "A rule is a string such as 'Bash(git status:*)', not 5"),
        ({"ask": ["Bash("]}, "'Bash(' is not a rule: its last character must be ')'"),
        ({"directories": "/x"}, "directories must be a list, not the string '/x'; write ['/x']"),
    ],
)
def test_invalid_argument_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(OptionsError) as raised:
        make(**options)
    assert str(raised.value) == problem


def test_directories_are_made_absolute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/usr")
    policy = Policy(["Edit(x)"], cwd="../a/./b/", home="c/../d", realpath=plain)
    assert (policy.cwd, policy.home) == ("/a/b", "/usr/d")
    assert [Policy(cwd=it, home="/h").cwd for it in ("~", "~/x", "~x")] == ["/h", "/h/x", "/usr/~x"]
    edit = {"file_path": "x"}
    assert policy.decide("Edit", edit, cwd="/else/../a/b").allows
    assert not policy.decide("Edit", edit, cwd="~/../x").allows


def test_more_directories_are_relative_to_the_working_directory(tmp_path: Path) -> None:
    policy = Policy(
        cwd="~/p", home=tmp_path, directories=["../q", "~/r", "/s/../t"], mode="acceptEdits"
    )
    assert policy.cwd == f"{tmp_path}/p"
    for place in (f"{tmp_path}/p", f"{tmp_path}/q", f"{tmp_path}/r", "/t"):
        assert policy.decide("Edit", {"file_path": f"{place}/x"}).allows
    assert not policy.decide("Edit", {"file_path": "/s/x"}).allows


def test_rules_are_relative_to_the_directory_of_each_use() -> None:
    policy = Policy(["Edit(src/**)", "Bash(git status:*)"], home="/home/me", realpath=plain)
    edit = {"file_path": "/srv/src/a"}
    assert policy.decide("Edit", edit, cwd="/srv").allows
    assert not policy.decide("Edit", edit, cwd="/elsewhere").allows
    assert policy.decide("Bash", {"command": "git status"}, cwd="/elsewhere").allows


def test_rules_are_relative_to_the_directory_of_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    policy = Policy(["Edit(src/**)"])
    assert policy.cwd is None
    assert policy.decide("Edit", {"file_path": f"{tmp_path}/src/a"}).allows
    assert not policy.decide("Edit", {"file_path": "/srv/src/a"}).allows


# --- questions to a person -----------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["AskUserQuestion", "ExitPlanMode"])
def test_question_to_a_person_is_never_allowed_by_a_rule(tool: str) -> None:
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
def test_mode_allows_like_the_cli(mode: Any, expected: str) -> None:
    policy = make(mode=mode)
    uses = [("Read", INSIDE), ("Read", OUTSIDE), ("Edit", INSIDE), ("Write", OUTSIDE)]
    uses.append(("Write", PROTECTED))
    assert " ".join(policy.decide(*use).behavior for use in uses) == expected
    assert mode is None or mode in MODES


def test_mode_plan_asks_before_every_edit() -> None:
    policy = make("Edit", "Bash(ls:*)", mode="plan")
    assert policy.decide("Edit", INSIDE).behavior == "ask"
    assert bash(policy, "ls").allows


def test_doubt_about_a_rule_counts_in_every_mode() -> None:
    policy = make(deny=["Bash(rm:*)", "Read(.env)"], mode="bypassPermissions")
    assert bash(policy, "$X").behavior == "ask"
    assert policy.decide("Grep", {"pattern": "x"}).behavior == "ask"
    assert bash(make(deny=["Bash(rm:*)"], mode="dontAsk"), "$X").behavior == "deny"


# --- shells --------------------------------------------------------------------------------------


def test_rule_for_the_tool_allows_every_command() -> None:
    for rule in ("Bash", "Bash(*)"):
        policy = make(rule)
        for command in ("ls", "a $(b) > c", "FOO=1 x", "eval x", "[[ a ]]", "x ("):
            assert bash(policy, command).allows


def test_rule_for_the_tool_allows_no_doubtful_command_beside_a_deny() -> None:
    policy = make("Bash", deny=["Bash(rm:*)"])
    assert bash(policy, "ls; make > x").allows
    for command in ("$X y", "[[ a < b ]]", "x (", "eval $X", "sudo $X", "f() { a; }", "a " * 1001):
        decision = bash(policy, command)
        assert decision.behavior == "ask"


@pytest.mark.parametrize(
    ("rule", "command", "behavior"),
    [
        ("rm*", "ls; rmdir x", "deny"),
        ("rm*", "ls; sudo rmdir x", "deny"),
        ("rm*", "ls; /bin/rmdir x", "deny"),
        ("rm*", "ls; ./rm x", "deny"),
        ("rm*", "ls; farm x", "ask"),
        ("ca*", "ls; nocat x", "ask"),
        ("ead*", "ls; head x", "allow"),
        ("*dir", "ls; rmdir", "deny"),
        ("r*r *", "ls; rmdir x", "deny"),
        ("/bin/r*", "ls; rmdir x", "allow"),
        ("/bin/r*", "ls; /bin/rmdir x", "deny"),
        ("/bin/rmdir:*", "ls; rmdir x", "deny"),
    ],
)
def test_wildcard_in_a_program_name_matches_its_end(rule: str, command: str, behavior: str) -> None:
    assert bash(make("Bash", deny=[f"Bash({rule})"]), command).behavior == behavior


def test_deny_rule_looks_behind_many_words() -> None:
    policy = make("Bash", deny=["Bash(rm:*)"])
    assert bash(policy, "sudo " + "-x " * 50 + "rm y").behavior == "deny"
    assert bash(policy, "sudo " + "-x " * 100 + "rm y").behavior == "deny"
    assert bash(policy, "strace " + "-x " * 100 + "rm y").behavior == "ask"
    assert bash(policy, "eval " + "eval " * 8 + "'rm y'").behavior == "deny"


@pytest.mark.parametrize("runner", ["", "command ", "command -p ", "builtin ", "time "])
@pytest.mark.parametrize("program", ["printf -v", "test -v", "[ -v"])
def test_deny_rule_looks_into_the_index_of_an_array(runner: str, program: str) -> None:
    policy = make("Bash", deny=["Bash(rm:*)"])
    assert bash(policy, f"{runner}{program} 'a[$(rm x)]' y ]").behavior == "ask"


@pytest.mark.parametrize(
    ("command", "behavior"),
    cases(
        allow=r"""
            bash -c 'ls' ‖ bash -c "ls" ‖ echo a; bash -c ls ‖ eval 'echo a'
        """,
        ask="bash -c 'ls' x ‖ bash -c 'ls; rm x' ‖ bash -c ‖ eval echo a",
    ),
)
def test_program_that_runs_others_is_allowed_word_for_word(command: str, behavior: str) -> None:
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
def test_doubt_counts_unless_the_rule_has_every_word(rule: str, behavior: str) -> None:
    """The rule has the whole line, but what a variable stands for may be denied."""
    line = rule.replace(":*", " -c x")
    policy = make(f"Bash({rule})", deny=["Bash(rm:*)"])
    assert bash(policy, f" {line}\n").behavior == behavior


@pytest.mark.parametrize("tool", ["Glob", "Grep", "LS", "NotebookEdit", "MultiEdit", "LSP"])
def test_file_rule_of_another_tool_is_not_about_commands(tool: str) -> None:
    policy = make("Bash", deny=[f"{tool}(secret)"])
    assert bash(policy, "cat secret; touch secret").behavior == "allow"


@pytest.mark.parametrize(
    ("command", "behavior"),
    cases(
        allow=r"""
            mv a ~/old "now" ‖ mv 'a b' ~/old now ‖ mv a ~/'old' now ‖ pack src/x 'a b'
            pack src/* 'a b' ‖ pack src/a$X 'a b' ‖ pack src/x "a b" ‖ pack src/'x' a\ b
            ship x "a b"
        """,
        ask=r"""
            mv a '~/old' now ‖ mv a '~/old' "now" ‖ pack src/x a b ‖ ship x a b
        """,
    ),
)
def test_words_after_a_wildcard_match_in_any_quotes(command: str, behavior: str) -> None:
    policy = make("Bash(mv * ~/old now)", "Bash(pack src/* 'a b')", 'Bash(ship * "a b")')
    assert bash(policy, command).behavior == behavior


@pytest.mark.parametrize(
    ("command", "behavior"),
    cases(
        deny=r"""
            git status > out/a ‖ git status >> out/a ‖ git status &> out/a ‖ git status 3<> out/a
        """,
        allow="git status < out/a ‖ git status <<< out/a",
    ),
)
def test_rule_against_edits_is_about_output_only(command: str, behavior: str) -> None:
    policy = make("Bash(git status:*)", "Read", deny=["Edit(out/**)"])
    assert bash(policy, command).behavior == behavior


@pytest.mark.parametrize(
    ("command", "behavior"),
    cases(
        allow=r"""
            rm x ‖ rm -rf build/out ‖ rm -rf ~/x ‖ rm -rf build/* ‖ rm *.o ‖ echo rm -rf /
        """,
        ask=r"""
            rm -rf / ‖ rm -rf /usr ‖ rm -rf /usr/ ‖ rm -rf ~ ‖ rm -rf ~/ ‖ rm -rf . ‖ rm -rf ..
            rm -rf * ‖ rm -rf ./* ‖ rm -rf ~/* ‖ rm -rf /* ‖ rm -rf $X ‖ rm -rf "$X"/*
            rm -rf /work ‖ rm -rf /extra/more ‖ rmdir /work ‖ ls; sudo rm -rf / ‖ ls $(rm -rf ~)
        """,
    ),
)
def test_no_rule_allows_removing_a_home_root_or_project(command: str, behavior: str) -> None:
    programs = ("rm", "rmdir", "ls", "echo", "sudo rm")
    for rules in (["Bash"], [f"Bash({program}:*)" for program in programs]):
        policy = make(*rules, directories=["/extra/more"])
        decision = bash(policy, command)
        assert decision.behavior == behavior
        assert decision.allows or "may remove a whole home" in decision.reason


def test_no_rule_allows_removing_the_target_of_a_link_to_a_project() -> None:
    def followed(path: str) -> str:
        return f"/disk/real{path}" if path.startswith("/work") else path

    policy = make("Bash", cwd="/work", realpath=followed)
    assert not bash(policy, "rm -rf /disk/real").allows
    assert not bash(policy, "rm -rf /disk/real/work").allows
    assert bash(policy, "rm -rf /disk/real/work/x").allows
    assert bash(policy, "rm -rf /disk/other").allows


def test_deny_rule_ignores_case_where_the_system_does() -> None:
    assert bash(make("Bash", deny=["Bash(rm:*)"], case_sensitive=False), "RM x").behavior == "deny"
    assert bash(make("Bash", deny=["Bash(rm:*)"], case_sensitive=True), "RM x").behavior != "deny"


def test_program_with_a_relative_path_differs_elsewhere() -> None:
    policy = make("Bash(./run:*)", "Bash(cd:*)", "Bash(ls:*)")
    run = {"command": "./run x"}
    assert policy.decide("Bash", run).allows
    assert policy.decide("Bash", {"command": "cd x && ./run x"}).behavior == "ask"
    assert policy.decide("Bash", run, cwd="/elsewhere").behavior == "ask"
    assert policy.decide("Bash", {"command": "ls"}, cwd="/elsewhere").allows


@pytest.mark.parametrize(
    ("command", "behavior"),
    cases(
        allow=r"""
            cd /srv && git status ‖ cd . && git status ‖ cd /srv/ && cd . && git status ‖ ls > out
            cd /srv && ls > out
        """,
        ask=r"""
            cd '~' && git status ‖ cd '' && git status ‖ cd - && git status ‖ cd a && git status
            cd /srv x && git status ‖ cd $x && ls > out ‖ cd a && ls > out ‖ ls > a/../out
        """,
    ),
)
def test_cd_to_the_current_directory_is_harmless(command: str, behavior: str) -> None:
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
def test_path_with_a_slash_is_relative_to_the_file_of_its_rule(
    rule: str, path: str, behavior: str
) -> None:
    policy = make("Read", "Bash", deny=[Rule.parse(f"Read({rule})", root="/other")])
    assert policy.decide("Read", {"file_path": path}).behavior == behavior
    assert bash(policy, f"cat {path}").behavior == behavior
    policy = make(Rule.parse(f"Read({rule})", root="/other"))
    allowed = behavior == "deny" and (rule[:4] != "/src" or path.startswith("/other"))
    assert policy.decide("Read", {"file_path": path}).allows is allowed


@pytest.mark.parametrize("error", [OSError("no such link"), ValueError("no such link")])
def test_path_that_cannot_be_followed_is_not_allowed(error: Exception) -> None:
    def realpath(path: str) -> str:
        raise error

    policy = Policy(["Read(//srv/**)"], cwd="/srv", home="/home/me", realpath=realpath)
    decision = policy.decide("Read", {"file_path": "/srv/a"})
    assert decision.behavior == "ask"
    assert decision.reason.endswith("the path leads: it cannot be followed: no such link")


def test_bug_in_realpath_is_not_hidden() -> None:
    def realpath(path: str) -> str:
        raise ZeroDivisionError

    policy = Policy(["Read(//srv/**)"], cwd="/srv", home="/home/me", realpath=realpath)
    with pytest.raises(ZeroDivisionError):
        policy.decide("Read", {"file_path": "/srv/a"})


@pytest.mark.parametrize("program", ["/usr/bin/tool", "~/bin/tool", "tool"])
def test_program_with_an_absolute_path_is_the_same_everywhere(program: str) -> None:
    policy = make(f"Bash({program}:*)", "Bash(cd:*)")
    assert bash(policy, f"cd sub && {program} x").allows


def test_redirections_need_rules_for_their_files() -> None:
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
def test_redirection_to_nowhere_needs_no_rule(operator: str, target: str, behavior: str) -> None:
    assert bash(make("Bash(ls:*)"), f"ls {operator} {target}").behavior == behavior
    everywhere = make("Bash(ls:*)", "Edit(//**)", "Read(//**)")
    is_plain = behavior == "allow" or target == "x"
    assert bash(everywhere, f"ls {operator} {target}").allows is is_plain


def test_command_for_a_monitor_is_a_command() -> None:
    policy = make("Bash(tail:*)", deny=["Bash(rm:*)"])
    assert policy.decide("Monitor", {"command": "tail -f x"}).allows
    assert policy.decide("Monitor", {"command": "tail x; rm y"}).behavior == "deny"
    assert policy.decide("Monitor", {"ws": {"url": "ws://x"}}).behavior == "ask"


@pytest.mark.parametrize("given", [None, [], {}, *({"command": it} for it in (["rm"], 5, b"rm"))])
def test_input_of_an_odd_type_is_asked_about(given: Any) -> None:
    for policy in (make("Bash"), make("Bash", deny=["Bash(rm:*)"])):
        assert policy.decide("Bash", given).behavior == "ask"
    assert make("Read", deny=["Bash"]).decide("Read", None).behavior == "ask"  # type: ignore[arg-type]
    assert make("Bash", deny=["Bash"]).decide("Bash", given).behavior == "deny"


@pytest.mark.parametrize(
    ("command", "behavior"),
    cases(
        allow=r"""
            cd -L src && npm test ‖ cd -- src; npm test ‖ echo a > out/b; cp x y
            cp x y; echo a > /dev/null ‖ NODE_ENV=test npm test ‖ PORT=3000 npm test
            TZ=Europe/Berlin npm test ‖ RUST_LOG=a=debug,b npm test
        """,
        ask=r"""
            cd -P src && npm test ‖ cd -L -P src && npm test ‖ cd link/.. && npm test
            cd a b && npm test ‖ cp -P x y; echo a > out/b ‖ ln -s x out; echo a > out/b
            NODE_ENV=../x npm test ‖ NODE_ENV=$X npm test ‖ DEBIAN_FRONTEND='x; y' npm test
            RAILS_ENV=../../tmp/x npm test ‖ PYTHONPATH=src npm test ‖ FOO=1 npm test
        """,
    ),
)
def test_line_that_changes_what_later_commands_mean_is_asked_about(
    command: str, behavior: str
) -> None:
    rules = (f"Bash({it}:*)" for it in ("cd", "npm", "echo", "cp", "ln"))
    assert bash(make(*rules, "Edit(./out/**)"), command).behavior == behavior


@pytest.mark.parametrize("name", [" deploy", "deploy ", " /deploy", "deploy\n", "/ deploy"])
def test_denied_skill_is_found_behind_blanks(name: str) -> None:
    policy = make("Skill", deny=["Skill(deploy)"])
    assert policy.decide("Skill", {"skill": name}).behavior == "deny"
    assert policy.decide("Skill", {"skill": [name]}).behavior == "ask"


@pytest.mark.parametrize(
    ("command", "behavior"),
    cases(
        allow=r"""
            psql -c 'select 1' ‖ npm test; psql x ‖ python -c 'print(1)' ‖ sudo -u me psql x
        """,
        ask=r"""
            PATH=. psql x ‖ python -c 'print(2)' ‖ psql x | sh ‖ psql rm ‖ psql "$X" secret
            cp x y; ./y ‖ psql secret
        """,
    ),
)
def test_program_with_a_rule_of_its_own_is_known(command: str, behavior: str) -> None:
    rules = ("Bash", "Bash(psql:*)", r"Bash(python -c 'print\(1\)')")
    policy = make(*rules, deny=["Bash(rm:*)", "Read(./secret/x)"])
    assert bash(policy, command).behavior == behavior


def test_files_in_commands_are_denied_or_doubted() -> None:
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
def test_relative_files_follow_the_directory_of_a_command(command: str, behavior: str) -> None:
    policy = make("Bash", deny=["Read(/secrets/**)"])
    assert bash(policy, command).behavior == behavior


# --- the web -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("domain", "url", "behavior"),
    [
        *(
            ("example.com", url, behavior)
            for url, behavior in cases(
                allow=r"""
                    https://example.com/a?b#c ‖ http://EXAMPLE.com ‖ https://example.com:8443/
                """,
                ask=r"""
                    https://sub.example.com/ ‖ https://example.com.evil.org/ ‖ ftp://example.com/
                    https://evil.org/example.com ‖ https://example.com@evil.org/ ‖ example.com
                    https://evil.org@example.com/ ‖ https://evil.org\@example.com/ ‖ https://-1.2/
                    https://example.com\.evil.org/ ‖ https://example.com⏎.evil.org
                    https://example%2ecom/
                """,
            )
        ),
        ("example.com", "", "ask"),
        ("example.com", "https://ex\u0430mple.com/", "ask"),
        ("example.com.", "https://example.com./", "allow"),
        ("*.example.com", "https://a.b.example.com/", "allow"),
        ("*.example.com", "https://example.com/", "ask"),
        ("*.example.com", "https://evilexample.com/", "ask"),
        ("example.*", "https://example.org/", "allow"),
        ("example.*", "https://example.evil.org/", "ask"),
        ("*", "https://any.org/", "allow"),
        ("-1", "https://-1/", "allow"),  # a sign makes a name of a number
    ],
)
def test_unambiguous_host_is_allowed(domain: str, url: str, behavior: str) -> None:
    policy = make(f"WebFetch(domain:{domain})")
    assert policy.decide("WebFetch", {"url": url}).behavior == behavior


@pytest.mark.parametrize(
    ("url", "behavior"),
    cases(
        deny=r"""
            https://evil.org/x ‖ https://EVIL.org./x ‖ evil.org ‖ https://good.org@evil.org/
            https://evil.org\@good.org/ ‖ https://evil%2eorg/ ‖ https:\\evil.org
            https://evil.⏎org/
        """,
        allow="https://good.org/?x=evil.org ‖ https://good.org/ ‖ https://-1/ ‖ https://-1.2/",
        ask="https://[::1 ‖ ftp://good.org/",
    ),
)
def test_denied_host_is_found_in_any_url(url: str, behavior: str) -> None:
    policy = make("WebFetch", deny=["WebFetch(domain:evil.org)", "WebFetch(prompt:x)"])
    assert policy.decide("WebFetch", {"url": url}).behavior == behavior


# --- agents and skills ---------------------------------------------------------------------------


def test_agents_are_decided_by_name() -> None:
    policy = make("Agent(Explore)", deny=["Task(Plan)", "Agent(general-*)"])

    def behavior(**given: Any) -> str:
        return policy.decide("Task", given).behavior

    assert behavior(subagent_type="Explore") == "allow"
    assert behavior(subagent_type="explore") == "ask"
    assert behavior(subagent_type="Plan") == "deny"
    assert behavior() == "deny"


def test_skills_are_decided_by_name_and_arguments() -> None:
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
        ("Skill(Explore)", "Task", {"subagent_type": "Explore"}),
        ("Agent(commit)", "Skill", {"skill": "commit"}),
        ("Write(src/**)", "Edit", {"file_path": "/srv/src/a"}),
        ("Glob(src/**)", "Read", {"file_path": "/srv/src/a"}),
        ("Read(src/**)", "Write", {"file_path": "/srv/src/a"}),
        ("Read(src/**)", "Bash", {"command": "cat src/a"}),
    ],
)
def test_rule_for_one_tool_allows_no_other(rule: str, tool: str, given: dict[str, Any]) -> None:
    assert make(rule).decide(tool, given).behavior == "ask"


@pytest.mark.parametrize("program", ["$X/cd", '"$X"/cd', "`x`/cd", "/tmp/cd", "./cd"])
def test_program_called_cd_needs_a_rule(program: str) -> None:
    policy = Policy(["Bash(ls:*)"], cwd="/work", home="/home/me", realpath=str)
    assert policy.decide("Bash", {"command": "ls; cd ."}).allows
    assert not policy.decide("Bash", {"command": f"ls; {program} ."}).allows


# --- decisions that are remembered ----------------------------------------------------------------


def test_repeated_decision_is_remembered() -> None:
    policy = make("Bash(git status:*)")
    first = policy.decide("Bash", {"command": "git status", "description": "Shows it"})
    assert first.behavior == "allow"
    again = {"command": "git status", "description": "Shows it"}
    assert policy.decide("Bash", again) is first
    assert policy.decide("Bash", {**again, "description": "Hides it"}) is not first
    assert policy.decide("Bash", again, cwd="/elsewhere").behavior == "ask"
    assert policy == make("Bash(git status:*)")


def test_decision_that_follows_links_is_made_again() -> None:
    places = {"/srv/data": "/srv/data"}
    policy = make("Read(data)", realpath=lambda path: places.get(path, path))
    assert policy.decide("Read", {"file_path": "/srv/data"}).behavior == "allow"
    places["/srv/data"] = "/etc/shadow"
    assert policy.decide("Read", {"file_path": "/srv/data"}).behavior == "ask"
