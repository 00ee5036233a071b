"""Permission updates and decisions."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.wire.roundtrip import (
    Example,
    assert_complete,
    assert_same_again,
    names,
    structs_of,
    with_minimal,
)

from claudewire.wire import (
    UNKNOWN,
    AddDirectories,
    AddRules,
    McpServerProvenance,
    PermissionHint,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionRule,
    PermissionUpdate,
    RemoveDirectories,
    RemoveRules,
    ReplaceRules,
    SetMode,
    UnknownPermissionResult,
    UnknownPermissionUpdate,
)
from claudewire.wire.types import permissions

RULE: dict[str, Any] = {"toolName": "Read", "ruleContent": "//private/tmp/test/**"}
RULES: dict[str, Any] = {"rules": [RULE], "behavior": "allow", "destination": "session"}
DIRECTORIES: dict[str, Any] = {"directories": ["/tmp"], "destination": "session"}

UPDATES: list[Example] = [
    (AddRules, {"type": "addRules", **RULES}),
    (ReplaceRules, {"type": "replaceRules", **RULES}),
    (RemoveRules, {"type": "removeRules", **RULES}),
    (SetMode, {"type": "setMode", "mode": "acceptEdits", "destination": "session"}),
    (AddDirectories, {"type": "addDirectories", **DIRECTORIES}),
    (RemoveDirectories, {"type": "removeDirectories", **DIRECTORIES}),
    (PermissionHint, {"type": "hint", "behavior": "allow", "message": "Safe to run"}),
    (UnknownPermissionUpdate, {"type": UNKNOWN, "raw": {"type": "bash", "action": "allow"}}),
]
RESULTS: list[Example] = [
    (
        PermissionResultAllow,
        {
            "behavior": "allow",
            "updatedInput": {"command": "ls"},
            "updatedPermissions": [update for _, update in UPDATES],
            "toolUseID": "toolu_1",
            "decisionClassification": "user_permanent",
        },
    ),
    (
        PermissionResultDeny,
        {
            "behavior": "deny",
            "message": "no",
            "interrupt": True,
            "toolUseID": "toolu_1",
            "decisionClassification": "user_reject",
        },
    ),
    (UnknownPermissionResult, {"behavior": UNKNOWN, "raw": {"behavior": "later"}}),
]
OTHERS: list[Example] = [
    (PermissionRule, RULE),
    (McpServerProvenance, {"name": "calc", "source": "sdk"}),
]
ALL = UPDATES + RESULTS + OTHERS


@pytest.mark.parametrize("example", with_minimal(UPDATES), ids=names(with_minimal(UPDATES)))
def test_an_update_is_told_by_its_type_and_written_as_it_was(example: Example) -> None:
    assert_same_again(example, PermissionUpdate)


@pytest.mark.parametrize("example", with_minimal(RESULTS), ids=names(with_minimal(RESULTS)))
def test_a_decision_is_told_by_its_behavior_and_written_as_it_was(example: Example) -> None:
    assert_same_again(example, PermissionResult)


@pytest.mark.parametrize("example", with_minimal(OTHERS), ids=names(with_minimal(OTHERS)))
def test_a_part_is_written_as_it_was(example: Example) -> None:
    assert_same_again(example)


@pytest.mark.parametrize("example", ALL, ids=names(ALL))
def test_an_example_shows_every_field(example: Example) -> None:
    assert_complete(example)


def test_every_class_has_an_example() -> None:
    assert structs_of(permissions) == {cls for cls, _ in ALL}


def test_an_empty_list_of_updates_and_an_empty_input_are_written() -> None:
    # To give no permission is not the same as to say nothing about permissions.
    allow = PermissionResultAllow(updated_input={}, updated_permissions=[])
    assert msgspec.to_builtins(allow) == {
        "behavior": "allow",
        "updatedInput": {},
        "updatedPermissions": [],
    }
