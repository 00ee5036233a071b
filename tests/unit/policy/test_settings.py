"""Policies from files: TOML, and the settings of the CLI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from claudewire.errors import OptionsError
from claudewire.policy import Policy, Rule, mode_in_settings

TOML = """# für alle
default = "deny"
mode = "acceptEdits"
allow = ["Read", "Edit(/src/**)"]
ask = ["Bash(git push:*)"]
deny = ["Bash(rm:*)"]
directories = ["../docs"]
case_sensitive = false
protect = false
"""


def texts(rules: tuple[Rule, ...]) -> list[str]:
    return [str(rule) for rule in rules]


# --- TOML ----------------------------------------------------------------------------------------


def test_policy_is_read_from_toml() -> None:
    policy = Policy.from_toml(TOML, cwd="/srv/project", home="/home/me")
    assert policy == Policy(
        ["Read", "Edit(/src/**)"],
        ["Bash(git push:*)"],
        ["Bash(rm:*)"],
        default="deny",
        mode="acceptEdits",
        directories=["../docs"],
        case_sensitive=False,
        protect=False,
        cwd="/srv/project",
        home="/home/me",
    )
    assert Policy.from_toml("\n", cwd="/srv") == Policy(cwd="/srv")
    assert Policy.from_toml("default='deny'").default == "deny"


def test_paths_in_toml_are_relative_to_its_file(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(TOML, encoding="utf-8")
    for source in (file, str(file)):
        policy = Policy.from_toml(source)
        assert (policy.allow[1].root, policy.allow[1].source) == (str(tmp_path), str(file))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("allow = [", "The policy: Invalid value"),
        ("alow = []", "The policy: Object contains unknown field `alow`"),
        ("allow = 'Read'", "The policy: Expected `array`, got `str` - at `$.allow`"),
        ("default = 'no'", "The policy: Invalid enum value 'no' - at `$.default`"),
        ("deny = ['Bash(']", "The policy: 'Bash(' is not a rule: its last character must be ')'"),
        ("ask = ['bash']", "The policy: The rule 'bash' is about the tool bash, which is not"),
        ("allow = ['*']", "The policy: The rule '*' can never allow anything: to allow, name"),
    ],
)
def test_invalid_toml_is_refused(text: str, problem: str) -> None:
    with pytest.raises(OptionsError) as raised:
        Policy.from_toml(text)
    assert str(raised.value).startswith(problem)


def test_unreadable_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "wrong.toml").write_text("x = 1", encoding="utf-8")
    for name, problem in (
        ("none.toml", "The policy {} cannot be read: [Errno 2]"),
        ("bad.toml", "The policy {} cannot be read: 'utf-8' codec"),
        ("", "The policy {} cannot be read: [Errno 21]"),
        ("wrong.toml", "{}: Object contains unknown field `x`"),
    ):
        with pytest.raises(OptionsError) as raised:
            Policy.from_toml(tmp_path / name)
        assert str(raised.value).startswith(problem.format(tmp_path / name))


# --- settings ------------------------------------------------------------------------------------

USER = "home/.claude/settings.json"
PROJECT = "project/.claude/settings.json"
LOCAL = "project/.claude/settings.local.json"
MANAGED = "etc/managed-settings.json"


class Machine:
    """A home, a project and an organisation, each with settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home, self.cwd, self.managed = folder / "home", folder / "project", folder / "etc"
        for place in (self.home / ".claude", self.cwd / ".claude", self.managed):
            place.mkdir(parents=True)

    def write(self, name: str, permissions: Any, **more: Any) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"permissions": permissions, **more}), encoding="utf-8")
        return path

    def load(self, **options: Any) -> Policy:
        given = {"cwd": self.cwd, "home": self.home, "managed": self.managed, **options}
        return Policy.from_settings(**given)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_without_settings_there_are_no_rules(machine: Machine) -> None:
    policy = machine.load()
    assert (policy.allow, policy.ask, policy.deny) == ((), (), ())
    assert (policy.mode, policy.default, policy.problems) == ("default", "ask", ())


def test_rules_of_all_files_hold_together(machine: Machine) -> None:
    machine.write(USER, {"allow": ["Read"], "additionalDirectories": ["../docs"]})
    machine.write(PROJECT, {"deny": ["Bash(rm:*)"], "ask": ["Bash(git push:*)"]})
    machine.write(LOCAL, {"allow": ["Bash(ls:*)"]})
    machine.write(MANAGED, {"deny": ["WebFetch"]})
    policy = machine.load(trusted=True)
    assert texts(policy.allow) == ["Bash(ls:*)", "Read"]
    assert texts(policy.ask) == ["Bash(git push:*)"]
    assert texts(policy.deny) == ["WebFetch", "Bash(rm:*)"]
    assert [rule.source for rule in policy.deny] == ["managed settings", "project settings"]
    assert (policy.directories, policy.problems) == (("../docs",), ())


def test_path_with_a_slash_starts_where_its_file_is_for(machine: Machine) -> None:
    for name in (USER, LOCAL, PROJECT, MANAGED):
        machine.write(name, {"deny": ["Read(/x)"]})
    given = machine.write("given/extra.json", {"deny": ["Read(/x)"]})
    roots = {rule.source: rule.root for rule in machine.load(extra=given).deny}
    assert roots == {
        "managed settings": str(machine.managed),
        "given settings": str(given.parent),
        "local settings": str(machine.cwd),
        "project settings": str(machine.cwd),
        "user settings": str(machine.home / ".claude"),
    }


@pytest.mark.parametrize("name", [PROJECT, LOCAL])
def test_untrusted_project_grants_nothing(machine: Machine, name: str) -> None:
    """Both files of a project can be committed to it."""
    machine.write(USER, {"defaultMode": "plan"})
    grants = {"allow": ["Bash"], "additionalDirectories": ["/"], "defaultMode": "acceptEdits"}
    path = machine.write(name, {**grants, "deny": ["Read"]})
    policy = machine.load()
    assert (policy.allow, policy.directories, policy.mode) == ((), (), "plan")
    assert texts(policy.deny) == ["Read"]
    words = ("its allow rules do", "its directories do", "its mode 'acceptEdits' does")
    kind = "local" if name == LOCAL else "project"
    assert policy.problems == tuple(
        f"The {kind} settings at {path}: {it} not count: the project is not trusted" for it in words
    )
    policy = machine.load(trusted=True)
    assert (texts(policy.allow), policy.mode) == (["Bash"], "acceptEdits")
    assert policy.directories == ("/",)


def test_any_project_can_disable_modes(machine: Machine) -> None:
    machine.write(USER, {"defaultMode": "bypassPermissions"})
    machine.write(PROJECT, {"disableBypassPermissionsMode": "disable"})
    assert machine.load().mode == "default"


def test_only_given_sources_are_read(machine: Machine) -> None:
    machine.write(USER, {"allow": ["Read"]})
    machine.write(LOCAL, {"allow": ["Bash"]})
    assert texts(machine.load(sources=["user"], trusted=True).allow) == ["Read"]
    with pytest.raises(OptionsError, match="no settings 'users'; only user, project, local"):
        machine.load(sources=["user", "users"])


def test_settings_are_given_as_text_or_in_another_folder(machine: Machine) -> None:
    policy = machine.load(extra='\n{"permissions": {"allow": ["Edit(/a)"]}}')
    assert [(str(rule), rule.root) for rule in policy.allow] == [("Edit(/a)", str(machine.cwd))]
    path = machine.write("config/settings.json", {"allow": ["Read"]})
    assert texts(machine.load(config=path.parent).allow) == ["Read"]
    for extra, problem in (
        (machine.folder / "none.json", "There is no settings file at"),
        ("{", "The given settings: this is not JSON"),
    ):
        with pytest.raises(OptionsError, match=problem):
            machine.load(extra=extra)


def test_organisation_may_have_several_files(machine: Machine) -> None:
    machine.write(MANAGED, {"deny": ["A"], "defaultMode": "plan"})
    machine.write("etc/managed-settings.d/10-a.json", {"deny": ["B"], "defaultMode": "dontAsk"})
    machine.write("etc/managed-settings.d/20-b.json", {"deny": ["C"]})
    machine.write("etc/managed-settings.d/.hidden.json", {"deny": ["D"]})
    machine.write("etc/managed-settings.d/notes.txt", {"deny": ["E"]})
    policy = machine.load()
    assert (texts(policy.deny), policy.mode) == (["C", "B", "A"], "dontAsk")


def test_organisation_may_have_the_only_rules(machine: Machine) -> None:
    machine.write(MANAGED, {"allow": ["Read"]}, allowManagedPermissionRulesOnly=True)
    machine.write(USER, {"deny": ["Bash"], "defaultMode": "plan"})
    machine.write(LOCAL, {"additionalDirectories": ["/x"]})
    machine.write(PROJECT, {})
    policy = machine.load(trusted=True)
    assert (texts(policy.allow), policy.deny) == (["Read"], ())
    assert (policy.mode, policy.directories) == ("default", ())
    assert policy.problems == tuple(
        f"The {kind} settings at {machine.folder / name}: its rules do not count: only managed "
        "rules do"
        for kind, name in (("local", LOCAL), ("user", USER))
    )


def test_only_the_organisation_can_have_the_only_rules(machine: Machine) -> None:
    machine.write(USER, {"allow": ["Read"]}, allowManagedPermissionRulesOnly=True)
    machine.write(LOCAL, {"allow": ["Bash"]})
    assert texts(machine.load(trusted=True).allow) == ["Bash", "Read"]


def test_mode_is_that_of_the_first_file_with_a_usable_one(machine: Machine) -> None:
    machine.write(USER, {"defaultMode": "manual"})
    assert machine.load().mode == "default"
    machine.write(LOCAL, {"defaultMode": "acceptEdits"})
    assert machine.load(trusted=True).mode == "acceptEdits"
    machine.write(LOCAL, {"defaultMode": "auto"})
    machine.write(PROJECT, {"defaultMode": "yolo", "disableAutoMode": "disable"})
    policy = machine.load(trusted=True)
    assert policy.mode == "default"
    assert policy.problems == (
        f"The local settings at {machine.folder / LOCAL}: the mode auto is disabled",
        f"The project settings at {machine.folder / PROJECT}: there is no mode 'yolo'; only "
        "default, acceptEdits, plan, bypassPermissions, dontAsk, auto, manual",
    )


def test_unknown_keys_and_invalid_rules_are_reported(machine: Machine) -> None:
    path = machine.write(USER, {"allow": ["Read", "Bash(", "*"], "future": 1})
    policy = machine.load()
    assert texts(policy.allow) == ["Read"]
    name = f"The user settings at {path}"
    assert policy.problems == (
        f"{name}: permissions.future is not known, and is ignored",
        f"{name}: allow: 'Bash(' is not a rule: its last character must be ')'",
        f"{name}: allow: The rule '*' can never allow anything: to allow, name each tool; "
        "a pattern may only follow `mcp__server__`",
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", ": this is not JSON: "),
        ("[]", ": permissions must be an object"),
        ('{"permissions": []}', ": permissions must be an object"),
        ('{"permissions": {"allow": "Read"}}', ": allow must be a list of strings"),
        ('{"permissions": {"additionalDirectories": [1]}}', ": additionalDirectories must be a"),
        ("\xff", " cannot be read: 'utf-8'"),
    ],
)
def test_file_that_is_no_settings_file_is_an_error(
    text: str, problem: str, machine: Machine
) -> None:
    (machine.folder / USER).write_text(text, encoding="latin-1")
    with pytest.raises(OptionsError) as raised:
        machine.load()
    assert str(raised.value).startswith(f"The user settings at {machine.folder / USER}{problem}")


def test_empty_file_and_missing_folder_have_no_settings(machine: Machine) -> None:
    (machine.folder / USER).write_text(" \n", encoding="utf-8")
    (machine.cwd / ".claude").rmdir()
    (machine.cwd / ".claude").write_text("", encoding="utf-8")
    assert machine.load().problems == ()


def test_settings_are_where_the_cli_has_them(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.write(USER, {"allow": ["Read"]})
    monkeypatch.setenv("HOME", str(machine.home))
    monkeypatch.chdir(machine.cwd)
    policy = Policy.from_settings(managed=machine.managed)
    assert (texts(policy.allow), policy.cwd) == (["Read"], str(machine.cwd))


BYPASS = {"permissions": {"defaultMode": "bypassPermissions"}}


def test_mode_is_found_in_an_object_a_text_and_a_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(BYPASS), encoding="utf-8")
    for given in (BYPASS, " " + json.dumps(BYPASS, indent=1), file, str(file)):
        assert mode_in_settings(given) == "bypassPermissions"


@pytest.mark.parametrize(
    "given",
    [None, {}, {"permissions": []}, {"permissions": {"defaultMode": 1}}, "{", "{}", "no file"],
)
def test_settings_without_a_mode_have_none(given: Any) -> None:
    assert mode_in_settings(given) is None
