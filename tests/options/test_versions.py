"""Which options a version of the CLI knows, and which it would ignore."""

from __future__ import annotations

from typing import Any

import pytest
from tests.options.every_option import AGENT

from claudewire.options import Options, may_ignore, unsupported
from claudewire.options.versions import MEASURED
from claudewire.wire import parse_version


@pytest.mark.parametrize(
    ("given", "version"),
    [
        ({}, "1.0.128"),
        ({"model": "opus", "cwd": "."}, "1.0.128"),
        ({"system_prompt": "x"}, "1.0.128"),
        ({"system_prompt": ["x", "y"], "remote": True}, "1.0.128"),  # written otherwise, if need be
        ({"append_system_prompt": "x"}, "1.0.128"),
        ({"agents": {"poet": AGENT}}, "1.0.128"),
        ({"builtin_tools": ["Read"]}, "1.0.128"),
        ({"replay_user_messages": True}, "2.0.14"),
        ({"thinking": 2048}, "2.0.14"),
        ({"json_schema": {}}, "2.0.76"),
        ({"thinking": "adaptive"}, "2.1.100"),
        ({"permission_mode": "plan"}, "1.0.128"),
        ({"permission_mode": "dontAsk"}, "2.0.76"),
        ({"permission_mode": "auto"}, "2.1.100"),
        ({"fallback_model": "haiku"}, "1.0.128"),
        ({"fallback_model": ["haiku", "opus"]}, "2.1.197"),
        ({"fallback_model": "haiku,opus"}, "2.1.197"),
        ({"plugins": ["p"]}, "2.0.76"),
        ({"plugins": [{"path": "p", "skip_mcp_discovery": True}]}, "2.1.197"),
        ({"title": "x", "model": "opus"}, "2.1.197"),
        ({"restricted": True}, "2.1.250"),
    ],
)
def test_options_need_a_version(given: dict[str, Any], version: str) -> None:
    options = Options(**given)
    assert unsupported(options, version) == {}
    older = MEASURED[: MEASURED.index(version)]
    for each in older:
        assert version in unsupported(options, each).values()


def test_what_a_version_lacks_is_named() -> None:
    given = Options(model="opus", json_schema={}, title="x")

    lacked = {"json_schema": "2.0.76", "title": "2.1.197"}
    assert unsupported(given, "1.0.128 (Claude Code)") == lacked
    assert unsupported(given, "2.1.17") == {"title": "2.1.197"}
    assert unsupported(given, "2.1.325") == unsupported(given, "3.0") == {}


def test_versions_compare_by_their_numbers() -> None:
    assert parse_version("2.1.17 (Claude Code)") == (2, 1, 17)
    assert parse_version("v22.10.0") > parse_version("v22.9.1")
    assert parse_version(None) == () < parse_version("0.1")


def test_what_a_version_would_ignore_without_a_word_is_named() -> None:
    given = Options(effort="high", title="x", plan_mode_instructions="y", json_schema={})

    assert may_ignore(given, "2.1.325") == {}
    assert may_ignore(given, "2.1.17") == {"title": "2.1.197", "plan_mode_instructions": "2.1.197"}
    assert set(may_ignore(given, None)) == {"title", "plan_mode_instructions", "json_schema"}
    # An environment variable that is not known is not an error either.
    assert may_ignore(Options(client_app="mine/1"), None) == {"client_app": "2.1.100"}
    several = Options(fallback_model=["opus", "haiku"])
    assert may_ignore(several, "2.1.100") == {"fallback_model": "2.1.197"}
    assert may_ignore(Options(fallback_model="opus"), None) == {}
    assert may_ignore(Options(model="opus", agents={"poet": AGENT}), None) == {}
