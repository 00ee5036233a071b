"""Which options a version of the CLI knows, and which it would ignore."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from tests.options.every_option import AGENT

import claudewire
from claudewire.options import Options, may_ignore, unsupported
from claudewire.options.versions import MEASURED
from claudewire.testing import Chat, SimulatedCLI
from claudewire.wire import parse_version


@pytest.mark.parametrize(
    ("given", "version"),
    [
        ({}, "1.0.128"),
        ({"model": "opus", "cwd": "."}, "1.0.128"),
        ({"system_prompt": "x"}, "1.0.128"),
        ({"system_prompt": "x", "remote": True}, "2.1.17"),
        ({"system_prompt": ["x", "y"]}, "2.1.325"),
        ({"append_system_prompt": "x"}, "2.1.17"),
        ({"agents": {"poet": AGENT}}, "2.1.17"),
        ({"thinking": 2048}, "2.1.17"),
        ({"thinking": "adaptive"}, "2.1.325"),
        ({"permission_mode": "plan"}, "1.0.128"),
        ({"permission_mode": "dontAsk"}, "2.1.17"),
        ({"permission_mode": "auto"}, "2.1.325"),
        ({"fallback_model": "haiku"}, "1.0.128"),
        ({"fallback_model": ["haiku", "opus"]}, "2.1.325"),
        ({"plugins": ["p"]}, "2.1.17"),
        ({"plugins": [{"path": "p", "skip_mcp_discovery": True}]}, "2.1.325"),
        ({"title": "x", "model": "opus"}, "2.1.325"),
    ],
)
def test_options_need_a_version(given: dict[str, Any], version: str) -> None:
    options = Options(**given)
    assert unsupported(options, version) == {}
    older = MEASURED[: MEASURED.index(version)]
    for each in older:
        assert version in unsupported(options, each).values()


def test_what_a_version_lacks_is_named() -> None:
    given = Options(model="opus", agents={"poet": AGENT}, title="x")

    assert unsupported(given, "1.0.128 (Claude Code)") == {"agents": "2.1.17", "title": "2.1.325"}
    assert unsupported(given, "2.1.17") == {"title": "2.1.325"}
    assert unsupported(given, "2.1.325") == unsupported(given, "3.0") == {}


def test_versions_compare_by_their_numbers() -> None:
    assert parse_version("2.1.17 (Claude Code)") == (2, 1, 17)
    assert parse_version("v22.10.0") > parse_version("v22.9.1")
    assert parse_version(None) == () < parse_version("0.1")


def test_what_a_version_would_ignore_without_a_word_is_named() -> None:
    given = Options(effort="high", title="x", plan_mode_instructions="y", json_schema={})

    assert may_ignore(given, "2.1.325") == {}
    assert may_ignore(given, None) == {"title": "2.1.325", "plan_mode_instructions": "2.1.325"}
    assert set(may_ignore(given, "1.0.128")) == {"title", "plan_mode_instructions", "json_schema"}
    # An environment variable that is not known is not an error either.
    assert may_ignore(Options(client_app="mine/1"), None) == {"client_app": "2.1.325"}


@pytest.mark.anyio
async def test_a_session_says_what_an_old_cli_may_ignore(caplog: pytest.LogCaptureFixture) -> None:
    async def echo(chat: Chat) -> None:
        await chat.say(chat.text)

    with caplog.at_level(logging.WARNING, "claudewire.session"):
        for version in ("2.1.325", "2.1.17"):
            transport = SimulatedCLI(echo, version=version)
            async with claudewire.open(title="A test", transport=transport):
                pass
    assert caplog.messages == ["The CLI may ignore title, which is known to work since 2.1.325"]
