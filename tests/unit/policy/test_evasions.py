"""Attacks on policies and everyday commands: tables of commands, hosts, tools and paths."""

from __future__ import annotations

import pytest

from claudewire.policy import Policy

from .bash_cases import CASES
from .bash_cases import POLICY as BASH_POLICY
from .evasions import EVASIONS, NO_REMOVING, lines, make
from .everyday import BESIDE_DENIES, COMMANDS, SEVEN
from .everyday import POLICY as EVERYDAY_POLICY

ROWS = [(kind, command) for kind, (_, commands) in EVASIONS.items() for command in commands]


def bash(policy: Policy, command: str) -> str:
    return policy.decide("Bash", {"command": command}).behavior


def test_tables_have_no_doubles() -> None:
    assert len({*ROWS}) == len(ROWS) >= 870
    assert len({*COMMANDS}) == len(COMMANDS) >= 240
    assert len({command for _, _, command in CASES}) == len(CASES) >= 350


@pytest.mark.parametrize(("kind", "command"), ROWS)
def test_no_evasion_is_allowed(kind: str, command: str) -> None:
    decision = EVASIONS[kind][0].decide("Bash", {"command": command})
    assert not decision.allows, decision.reason


@pytest.mark.parametrize("command", COMMANDS)
def test_everyday_command_is_allowed(command: str) -> None:
    decision = EVERYDAY_POLICY.decide("Bash", {"command": command})
    assert decision.allows, decision.reason


@pytest.mark.parametrize("denied", [SEVEN, ["Bash(rm:*)"], ["Read(.env)"]])
def test_few_everyday_commands_are_asked_about_beside_denies(denied: list[str]) -> None:
    policy = make("Bash", deny=denied)
    for commands in (COMMANDS, BESIDE_DENIES):
        asked = [it for it in commands if bash(policy, it) != "allow"]
        assert len(asked) * 10 <= len(commands), asked


@pytest.mark.parametrize(("behavior", "reason", "command"), CASES)
def test_command_line_is_decided(behavior: str, reason: str, command: str) -> None:
    decision = BASH_POLICY.decide("Bash", {"command": command})
    assert decision.behavior == behavior, decision.reason
    assert reason in decision.reason


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("programs", "ls foo; git pull"),
        ("programs", "source .venv/bin/activate && python -m pytest"),
        ("programs", "nohup node server.js > server.log 2>&1 &"),
        ("programs", "python manage.py migrate; bash run.sh; ./run.sh"),
        ("programs", "docker run --rm image; git stash push; git log --grep rm"),
        ("files", "cat src/app.py; ls ~/.ssh; echo secrets/key"),
        ("files", "git commit -m 'about secrets/key'; tar xzf in.tgz; unzip a"),
        ("edits", "unzip -l a.zip; black --check .; prettier --check src"),
        ("edits", "cat locked/a yarn.lock > x"),
        ("zsh", "LC_ALL=C.UTF-8 git status; cd /project && git status > x"),
    ],
)
def test_policies_of_the_evasions_allow_other_commands(kind: str, command: str) -> None:
    assert bash(EVASIONS[kind][0], command) == "allow"


@pytest.mark.parametrize(
    ("command", "behavior"),
    [
        (r"find . -exec wc {} \; -name x", "allow"),
        (r"find . -exec wc {} + -name rm", "allow"),
        (r"find . -exec wc {} \; -exec rm {} \;", "deny"),
        (r"find . -exec wc {} + -okdir rm {} \;", "deny"),
        (r"find . -exec nice -n 5 rm {} \;", "deny"),
        # A plus is the end only behind braces, and not of -ok. In busybox it is one anywhere.
        (r"find . -exec env -u + rm {} \;", "deny"),
        (r"find . -ok env -u {} + rm x \;", "ask"),
        (r"find . -exec wc {} + rm x \;", "deny"),
        (r"find . -exec env -u \; rm {} \;", "deny"),
        (r"find . -exec rm + -name x", "deny"),
        # No end, no program, or a program that is found.
        *((f"find . {it}", "ask") for it in ("-exec wc {}", "-exec wc +", "-ok wc {} +")),
        *((rf"find . -exec {it}\;", "ask") for it in ("", "{} ", "./{} ")),
        (r"find . -exec wc {} \; -exec {} \;", "ask"),
        # An unknown word that stays one word cannot be more than one of these.
        (r'find "$A" -name x', "allow"),
        (r'find "$A" -name rm', "allow"),
        (r'find "$A" "$B"', "ask"),
        (r"find $A -name x", "ask"),
        # A program may run its input.
        ("make <<X\nrm a\nX", "ask"),
        ("make <<< 'rm a'", "ask"),
        ("cat <<X\nrm a\nX", "allow"),
        ("cat <<X; make\nrm a\nX", "allow"),  # make does not get this
        ("cat <<X; make <<< b\nrm a\nX", "ask"),  # either may get it
        # A line that cannot be parsed.
        *((it, "deny") for it in ("make; rm a; (", "fi; rm a", "make ) rm a", "make `rm a")),
        *((it, "deny") for it in ("echo 'x; rm a", "[[ a && rm a")),
    ],
)
def test_denied_command_is_found_behind_others(command: str, behavior: str) -> None:
    policy = Policy(["Bash"], deny=["Bash(rm:*)"])
    assert bash(policy, command) == behavior


# --- hosts, servers and processes ----------------------------------------------------------------


HOSTS = lines("""
    169.254.169.254 ‖ 2852039166 ‖ 0xa9fea9fe ‖ 0251.0376.0251.0376 ‖ 169.254.43518 ‖ 169.16689662
    0xa9.254.0251.254 ‖ 169.254.169.254. ‖ [::ffff:169.254.169.254] ‖ [::ffff:a9fe:a9fe]
    [0:0:0:0:0:ffff:a9fe:a9fe] ‖ [2002:a9fe:a9fe::] ‖ ①⑥⑨.254.169.254 ‖ 169。254。169。254
    user@169.254.169.254 ‖ 169%2e254%2e169%2e254
""")


@pytest.mark.parametrize("host", HOSTS)
def test_host_is_denied_in_every_notation(host: str) -> None:
    for rule in ("169.254.169.254", "0xa9fea9fe"):
        policy = Policy(["WebFetch"], deny=[f"WebFetch(domain:{rule})"])
        assert policy.decide("WebFetch", {"url": f"http://{host}/"}).behavior == "deny"


@pytest.mark.parametrize("host", ["127.1", "0x7f.1", "2130706433", "0177.0.0.1", "127.0.1"])
def test_host_is_allowed_only_in_its_usual_notation(host: str) -> None:
    policy = Policy(["WebFetch(domain:127.0.0.1)"])
    assert policy.decide("WebFetch", {"url": "http://127.0.0.1/"}).allows
    assert not policy.decide("WebFetch", {"url": f"http://{host}/"}).allows


@pytest.mark.parametrize("host", ["1.2.3.4.5", "256.1.1.1", "4294967296", "9" * 50, "0x", "1..2"])
def test_number_that_is_no_address_is_a_name(host: str) -> None:
    policy = Policy(["WebFetch"], deny=["WebFetch(domain:1.2.3.4)"])
    assert policy.decide("WebFetch", {"url": f"http://{host}/"}).behavior != "deny"


@pytest.mark.parametrize("rule", ["mcp__git__*", "mcp__git"])
@pytest.mark.parametrize(
    ("tool", "behavior"),
    [
        ("mcp__git__log", "allow"),
        ("mcp__git__hub__delete", "ask"),  # maybe of a server `git__hub`
        ("mcp__git___log", "ask"),  # maybe of a server `git_`
        ("mcp__github__log", "ask"),
    ],
)
def test_rule_for_a_server_allows_no_tool_of_another(rule: str, tool: str, behavior: str) -> None:
    assert Policy([rule]).decide(tool, {}).behavior == behavior
    assert Policy([tool]).decide(tool, {}).behavior == "allow"
    denied = Policy([tool], deny=[rule]).decide(tool, {}).behavior
    assert denied == ("allow" if tool.startswith("mcp__github") else "deny")


@pytest.mark.parametrize(
    ("path", "behavior"),
    [
        *((f"/proc/{it}/cwd/secrets/key", "deny") for it in ("self", "123", "self/task/1")),
        ("/proc/self/root/project/secrets/key", "deny"),
        ("/proc/self/fd/3", "ask"),
        ("/proc/cpuinfo", "allow"),
    ],
)
def test_path_through_a_process_is_doubtful(path: str, behavior: str) -> None:
    policy = Policy(["Read"], deny=["Read(/secrets/**)"], cwd="/project", home="/home/me")
    assert policy.decide("Read", {"file_path": path}).behavior == behavior
    assert not Policy(["Read(//**)"]).decide("Read", {"file_path": "/proc/self/cwd/x"}).allows


def test_denied_words_in_a_name_are_no_evasion() -> None:
    assert bash(NO_REMOVING, "ls rm; echo git push") == "allow"
