"""Rules for files: a table of paths, with links, detours, accents and case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from claudewire.errors import OptionsError
from claudewire.policy import Decision, PathPattern, Policy, Rule

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


def test_there_are_many_paths_and_none_twice() -> None:
    assert len(PATH_LINES) >= 100
    keys = [(line.path, *line.allow, *line.deny, line.tool, *line.options) for line in PATH_LINES]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    "line", PATH_LINES, ids=lambda line: f"{line.behavior}-{line.path!r}-{line.why[:30]}"
)
def test_a_path_is(line: PathLine, tree: Path) -> None:
    decision = decide(line, tree)
    assert decision.behavior == line.behavior, decision.reason


def test_the_working_directory_may_itself_be_a_link(tree: Path) -> None:
    policy = Policy(["Edit(src/**)"], cwd=tree / "way", home=tree / "home")
    for path in ("src/app.py", f"{tree}/way/src/app.py", f"{tree}/project/src/app.py"):
        assert policy.decide("Edit", {"file_path": path}).allows
    assert not policy.decide("Edit", {"file_path": "src/link.txt"}).allows


def test_another_working_directory_of_a_use_widens_no_rule_that_allows(tree: Path) -> None:
    policy = Policy(
        ["Edit(sub/**)"], deny=["Read(o.txt)"], cwd=tree / "project", home=tree / "home"
    )
    there = tree / "outside"
    assert policy.decide("Edit", {"file_path": "sub/p.txt"}, cwd=there).behavior == "ask"
    assert policy.decide("Read", {"file_path": "o.txt"}, cwd=there).behavior == "deny"
    assert policy.decide("Read", {"file_path": f"{there}/o.txt"}).behavior == "ask"


def test_where_a_link_leads_is_said(tree: Path) -> None:
    policy = Policy(["Edit(src/**)"], cwd=tree / "project", home=tree / "home")
    decision = policy.decide("Edit", {"file_path": "src/link.txt"})
    assert f"it leads out of what is allowed, to {tree}/outside/o.txt" in decision.reason


def test_the_file_system_can_be_replaced() -> None:
    policy = Policy(
        ["Read(/data/**)"],
        deny=["Read(//etc/**)"],
        cwd="/srv",
        home="/home/me",
        realpath=lambda path: path.replace("/srv/data/x", "/etc/x"),
    )
    assert policy.decide("Read", {"file_path": "data/y"}).allows
    assert policy.decide("Read", {"file_path": "data/x"}).behavior == "deny"


def test_a_path_that_cannot_be_followed_is_not_allowed() -> None:
    def fail(path: str) -> str:
        if path.endswith("bad"):
            raise OSError("too many links")
        return path

    policy = Policy(["Read(**)"], cwd="/srv", home="/home/me", realpath=fail)
    assert policy.decide("Read", {"file_path": "good"}).allows
    decision = policy.decide("Read", {"file_path": "bad"})
    assert decision.behavior == "ask"
    assert "too many links" in decision.reason


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
def test_a_search_for_names_goes_where_its_pattern_leads(
    given: dict[str, Any], behavior: str, tree: Path
) -> None:
    given = {key: placed(v, tree) if isinstance(v, str) else v for key, v in given.items()}
    policy = Policy(["Read(src/**)"], cwd=tree / "project", home=tree / "home")
    assert policy.decide("Glob", given).behavior == behavior


def test_a_search_whose_pattern_goes_up_might_find_what_is_denied(tree: Path) -> None:
    policy = Policy(["Glob"], deny=["Read(/secrets/**)"], cwd=tree / "project", home=tree / "home")
    assert policy.decide("Glob", {"pattern": "src/*.py"}).allows
    assert policy.decide("Glob", {"pattern": "src/*/../../*"}).behavior == "ask"


def test_a_rule_can_want_somebody_to_be_asked_about_a_file() -> None:
    policy = Policy(["Edit", "Read"], ask=["Edit(*.lock)", "Read(*.key)"], cwd="/w", home="/h")
    assert policy.decide("Edit", {"file_path": "/w/a.lock"}).behavior == "ask"
    assert policy.decide("Read", {"file_path": "/w/a.lock"}).allows
    assert policy.decide("Read", {"file_path": "/w/a.key"}).behavior == "ask"
    assert policy.decide("Edit", {"file_path": "/w/a.key"}).allows


def test_a_file_without_a_name_is_not_allowed_and_might_be_denied() -> None:
    given: dict[str, Any] = {"old_string": "a"}
    assert Policy(["Edit(**)"]).decide("Edit", given).behavior == "ask"
    assert Policy(["Edit"]).decide("Edit", given).behavior == "ask"
    assert Policy(["Read"]).decide("Read", {}).allows
    assert Policy(["Read"], deny=["Read(x)"]).decide("Read", {}).behavior == "ask"


def test_a_path_that_starts_with_a_slash_is_relative_to_where_the_rule_was_written() -> None:
    rule = Rule.parse("Edit(/src/**)", root="/elsewhere")
    policy = Policy([rule], cwd="/srv", home="/home/me", realpath=lambda path: path)
    assert policy.decide("Edit", {"file_path": "/elsewhere/src/a"}).allows
    assert not policy.decide("Edit", {"file_path": "/srv/src/a"}).allows


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("Read(a/../b)", "only at the beginning"),
        ("Read(~root/x)", "another user"),
        ("Read(!)", "there is no path"),
        ("Read(a\x00b)", "cannot contain control characters"),
        ("Read(a\nb)", "cannot contain control characters"),
    ],
)
def test_a_path_that_means_nothing_safe_is_no_rule(rule: str, problem: str) -> None:
    with pytest.raises(OptionsError, match=problem):
        Rule.parse(rule)


@pytest.mark.parametrize("rule", ["Read([)", "Read([z-a]x)", "Read(a[b)"])
def test_a_set_of_characters_that_is_none_is_taken_literally(rule: str) -> None:
    policy = Policy(deny=[rule], cwd="/w", home="/h", realpath=lambda path: path)
    name = rule[5:-1]
    assert policy.decide("Read", {"file_path": f"/w/{name}"}).behavior == "deny"
    assert policy.decide("Read", {"file_path": "/w/other"}).behavior == "ask"


def test_a_pattern_is_told_by_its_parts() -> None:
    assert PathPattern("cwd", "a") == PathPattern("cwd", "a", up=0, dotted=False, negated=False)
    assert PathPattern.of("!../a") == PathPattern("cwd", "a", up=1, negated=True)
    assert PathPattern.of("./a") == PathPattern("cwd", "a", dotted=True)


@pytest.mark.parametrize("place", ["/w\u200bork", "/W\u00d6RK", "/wo\u0308rk", "/wOrk"])
@pytest.mark.parametrize("rule", ["secret/**", "/secret/**", "../x/secret/**", "//{}/x/secret/**"])
def test_a_rule_holds_whatever_the_folder_of_the_project_is_called(place: str, rule: str) -> None:
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
