"""Attacks on policies, each of which was tried: tables of commands, rules, hosts and tools."""

from __future__ import annotations

import pytest

from claudewire.policy import Policy

from .evasions import EVASIONS

ROWS = [(kind, command) for kind, (_, commands) in EVASIONS.items() for command in commands]


def test_there_are_many_evasions_and_none_twice() -> None:
    assert len(ROWS) >= 250
    assert len(set(ROWS)) == len(ROWS)


@pytest.mark.parametrize(("kind", "command"), ROWS)
def test_no_evasion_is_allowed(kind: str, command: str) -> None:
    decision = EVASIONS[kind][0].decide("Bash", {"command": command})
    assert not decision.allows, decision.reason


def test_what_the_evasions_are_about_is_allowed_without_them() -> None:
    for policy, command in [
        (EVASIONS["programs"][0], "ls foo; git pull"),
        (EVASIONS["programs"][0], "source .venv/bin/activate && python -m pytest"),
        (EVASIONS["programs"][0], "nohup node server.js > server.log 2>&1 &"),
        (EVASIONS["programs"][0], "python manage.py migrate; bash run.sh; ./run.sh"),
        (EVASIONS["programs"][0], "docker run --rm image; git stash push; git log --grep rm"),
        (EVASIONS["files"][0], "cat src/app.py; ls ~/.ssh; echo secrets/key"),
        (EVASIONS["files"][0], "git commit -m 'about secrets/key'; tar xzf in.tgz; unzip a"),
        (EVASIONS["edits"][0], "unzip -l a.zip; black --check .; prettier --check src"),
        (EVASIONS["edits"][0], "cat locked/a yarn.lock > x"),
        (EVASIONS["zsh"][0], "LC_ALL=C.UTF-8 git status; cd /project && git status > x"),
    ]:
        decision = policy.decide("Bash", {"command": command})
        assert decision.allows, decision.reason


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/",
        "http://2852039166/",
        "http://0xa9fea9fe/",
        "http://0251.0376.0251.0376/",
        "http://169.254.43518/",
        "http://169.16689662/",
        "http://0xa9.254.0251.254/",
        "http://169.254.169.254./",
        "http://[::ffff:169.254.169.254]/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://[0:0:0:0:0:ffff:a9fe:a9fe]/",
        "http://[2002:a9fe:a9fe::]/",
        "http://①⑥⑨.254.169.254/",
        "http://169。254。169。254/",
        "http://user@169.254.169.254/",
        "http://169%2e254%2e169%2e254/",
    ],
)
def test_a_host_is_denied_however_its_number_is_written(url: str) -> None:
    for rule in ("169.254.169.254", "0xa9fea9fe"):
        policy = Policy(["WebFetch"], deny=[f"WebFetch(domain:{rule})"])
        assert policy.decide("WebFetch", {"url": url}).behavior == "deny"


@pytest.mark.parametrize("host", ["127.1", "0x7f.1", "2130706433", "0177.0.0.1", "127.0.1"])
def test_a_host_is_allowed_only_as_it_is_usually_written(host: str) -> None:
    policy = Policy(["WebFetch(domain:127.0.0.1)"])
    assert policy.decide("WebFetch", {"url": "http://127.0.0.1/"}).allows
    assert not policy.decide("WebFetch", {"url": f"http://{host}/"}).allows


@pytest.mark.parametrize("host", ["1.2.3.4.5", "256.1.1.1", "4294967296", "9" * 50, "0x", "1..2"])
def test_a_number_that_is_no_address_is_a_name(host: str) -> None:
    policy = Policy(["WebFetch"], deny=["WebFetch(domain:1.2.3.4)"])
    assert policy.decide("WebFetch", {"url": f"http://{host}/"}).behavior != "deny"


@pytest.mark.parametrize("rule", ["mcp__git__*", "mcp__git"])
@pytest.mark.parametrize(
    ("tool", "behavior"),
    [
        ("mcp__git__log", "allow"),
        ("mcp__git__hub__delete", "ask"),  # of a server `git__hub`, for all we know
        ("mcp__git___log", "ask"),  # of a server `git_`
        ("mcp__github__log", "ask"),
    ],
)
def test_a_rule_for_a_server_allows_no_tool_that_may_be_of_another(
    rule: str, tool: str, behavior: str
) -> None:
    assert Policy([rule]).decide(tool, {}).behavior == behavior
    assert Policy([tool]).decide(tool, {}).behavior == "allow"
    denied = Policy([tool], deny=[rule]).decide(tool, {}).behavior
    assert denied == ("allow" if tool.startswith("mcp__github") else "deny")


@pytest.mark.parametrize(
    ("path", "behavior"),
    [
        ("/proc/self/cwd/secrets/key", "deny"),
        ("/proc/self/root/project/secrets/key", "deny"),
        ("/proc/123/cwd/secrets/key", "deny"),
        ("/proc/self/task/1/cwd/secrets/key", "deny"),
        ("/proc/self/fd/3", "ask"),
        ("/proc/cpuinfo", "allow"),
    ],
)
def test_a_path_through_a_process_leads_where_only_that_process_knows(
    path: str, behavior: str
) -> None:
    policy = Policy(["Read"], deny=["Read(/secrets/**)"], cwd="/project", home="/home/me")
    assert policy.decide("Read", {"file_path": path}).behavior == behavior
    assert not Policy(["Read(//**)"]).decide("Read", {"file_path": "/proc/self/cwd/x"}).allows
