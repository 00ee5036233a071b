"""Rules for files: a table of paths, with links, detours, accents and case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from claudewire.policy import Decision, Policy

from .path_cases import PATH_LINES, PathLine, plant

KEYS = {
    "NotebookEdit": "notebook_path",
    "NotebookRead": "notebook_path",
    "LSP": "filePath",
    "Grep": "path",
    "LS": "path",
    "Glob": "path",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree").resolve()
    plant(folder)
    return folder


def placed(text: str, tree: Path) -> str:
    for name, place in {
        "@cwd": tree / "project",
        "@home": tree / "home",
        "@out": tree / "outside",
        "@way": tree / "way",
    }.items():
        text = text.replace(name, str(place))
    return text


def policy_of(line: PathLine, tree: Path) -> Policy:
    options: dict[str, Any] = {"case_sensitive": True, **line.options}
    return Policy(
        [placed(rule, tree) for rule in line.allow],
        deny=[placed(rule, tree) for rule in line.deny],
        cwd=tree / "project",
        home=tree / "home",
        **options,
    )


def decide(line: PathLine, tree: Path) -> Decision:
    given = {KEYS.get(line.tool, "file_path"): placed(line.path, tree)}
    return policy_of(line, tree).decide(line.tool, given)


@pytest.mark.parametrize(
    "line", PATH_LINES, ids=lambda line: f"{line.behavior}-{line.path!r}-{line.why[:30]}"
)
def test_path_is_decided(line: PathLine, tree: Path) -> None:
    decision = decide(line, tree)
    assert decision.behavior == line.behavior, decision.reason


def test_working_directory_may_be_a_link(tree: Path) -> None:
    policy = Policy(["Edit(src/**)"], cwd=tree / "way", home=tree / "home")
    for path in ("src/app.py", f"{tree}/way/src/app.py", f"{tree}/project/src/app.py"):
        assert policy.decide("Edit", {"file_path": path}).allows
    assert not policy.decide("Edit", {"file_path": "src/link.txt"}).allows


def test_directory_of_a_use_widens_no_allow_rule(tree: Path) -> None:
    policy = Policy(
        ["Edit(sub/**)"], deny=["Read(o.txt)"], cwd=tree / "project", home=tree / "home"
    )
    there = tree / "outside"
    assert policy.decide("Edit", {"file_path": "sub/p.txt"}, cwd=there).behavior == "ask"
    assert policy.decide("Read", {"file_path": "o.txt"}, cwd=there).behavior == "deny"
    assert policy.decide("Read", {"file_path": f"{there}/o.txt"}).behavior == "ask"


def test_reason_names_the_target_of_a_link(tree: Path) -> None:
    policy = Policy(["Edit(src/**)"], cwd=tree / "project", home=tree / "home")
    decision = policy.decide("Edit", {"file_path": "src/link.txt"})
    assert f"it leads out of the allowed paths, to {tree}/outside/o.txt" in decision.reason


def test_links_can_be_followed_on_another_machine() -> None:
    policy = Policy(
        ["Read(/data/**)"],
        deny=["Read(//etc/**)"],
        cwd="/srv",
        home="/home/me",
        realpath=lambda path: path.replace("/srv/data/x", "/etc/x"),
    )
    assert policy.decide("Read", {"file_path": "data/y"}).allows
    assert policy.decide("Read", {"file_path": "data/x"}).behavior == "deny"


@pytest.mark.parametrize(
    ("given", "behavior"),
    [
        ({"pattern": "**/*.py", "path": "@cwd/src"}, "allow"),
        ({"pattern": "src/**/*.py"}, "allow"),
        ({"pattern": "@cwd/src/*.py"}, "allow"),
        ({"pattern": "src/app.py"}, "allow"),
        ({"pattern": "**/*.py"}, "ask"),
        ({"pattern": "/etc/*"}, "ask"),
        ({"pattern": "src/../*"}, "ask"),
        ({"pattern": "src/*/../../*"}, "ask"),
        ({"pattern": "*", "path": "src/linkdir"}, "ask"),
        ({"pattern": 1}, "ask"),
        ({"pattern": "x", "path": 1}, "ask"),
    ],
)
def test_glob_searches_where_its_pattern_leads(
    given: dict[str, Any], behavior: str, tree: Path
) -> None:
    given = {key: placed(v, tree) if isinstance(v, str) else v for key, v in given.items()}
    policy = Policy(["Read(src/**)"], cwd=tree / "project", home=tree / "home")
    assert policy.decide("Glob", given).behavior == behavior


def test_glob_that_goes_up_is_doubtful(tree: Path) -> None:
    policy = Policy(["Glob"], deny=["Read(/secrets/**)"], cwd=tree / "project", home=tree / "home")
    assert policy.decide("Glob", {"pattern": "src/*.py"}).allows
    assert policy.decide("Glob", {"pattern": "src/*/../../*"}).behavior == "ask"


def test_ask_rule_is_about_files_too() -> None:
    policy = Policy(["Edit", "Read"], ask=["Edit(*.lock)", "Read(*.key)"], cwd="/w", home="/h")
    assert policy.decide("Edit", {"file_path": "/w/a.lock"}).behavior == "ask"
    assert policy.decide("Read", {"file_path": "/w/a.lock"}).allows
    assert policy.decide("Read", {"file_path": "/w/a.key"}).behavior == "ask"
    assert policy.decide("Edit", {"file_path": "/w/a.key"}).allows


def test_file_without_a_path_is_doubtful() -> None:
    given: dict[str, Any] = {"old_string": "a"}
    assert Policy(["Edit(**)"]).decide("Edit", given).behavior == "ask"
    assert Policy(["Edit"]).decide("Edit", given).behavior == "ask"
    assert Policy(["Read"]).decide("Read", {}).allows
    assert Policy(["Read"], deny=["Read(x)"]).decide("Read", {}).behavior == "ask"


@pytest.mark.parametrize("rule", ["Read([)", "Read([z-a]x)", "Read(a[b)"])
def test_invalid_character_set_is_literal(rule: str) -> None:
    policy = Policy(deny=[rule], cwd="/w", home="/h", realpath=lambda path: path)
    name = rule[5:-1]
    assert policy.decide("Read", {"file_path": f"/w/{name}"}).behavior == "deny"
    assert policy.decide("Read", {"file_path": "/w/other"}).behavior == "ask"


@pytest.mark.parametrize("place", ["/w\u200bork", "/W\u00d6RK", "/wo\u0308rk", "/wOrk"])
@pytest.mark.parametrize("rule", ["secret/**", "/secret/**", "../x/secret/**", "//{}/x/secret/**"])
def test_rules_hold_in_a_project_of_any_name(place: str, rule: str) -> None:
    policy = Policy(
        ["Bash", "Read", "Grep"],
        deny=["Read({})".format(rule.format(place[1:].replace("\u200b", "")))],
        cwd=f"{place}/x",
        home="/home/me",
        realpath=str,
    )
    assert policy.decide("Read", {"file_path": f"{place}/x/secret/key"}).behavior == "deny"
    assert policy.decide("Grep", {"path": f"{place}/x", "pattern": "a"}).behavior == "ask"
    for command, behavior in (
        ("cat secret/key", "deny"),
        ("cat sec*/key", "ask"),
        ("cat sec?et/key", "ask"),
        ("grep -r key .", "ask"),
        ("grep -r key secre*", "ask"),
        ("cat other/key", "allow"),
        ("cat oth*/key", "allow"),
    ):
        assert policy.decide("Bash", {"command": command}).behavior == behavior, command
