"""Versions: parsed, compared, and the requests that each knows."""

from __future__ import annotations

from itertools import pairwise

import pytest

from claudewire.wire import (
    KNOWN_REQUESTS,
    REQUESTS,
    CLIRequest,
    lacks_request,
    parse_version,
)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2.1.17", (2, 1, 17)),
        ("2.1.17 (Claude Code)", (2, 1, 17)),
        ("v22.1.0-beta.3", (22, 1, 0)),
        ("", ()),
        (None, ()),
    ],
)
def test_version_is_its_first_three_numbers(text: str | None, version: tuple[int, ...]) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize(
    ("version", "request_name", "lacks"),
    [
        ("2.1.17", "mcp_toggle", False),
        ("2.1.17", "get_settings", True),
        ("2.1.18", "of_the_future", False),  # it may answer that it does not know it
    ],
)
def test_only_a_silent_cli_lacks_requests(version: str, request_name: str, lacks: bool) -> None:
    assert lacks_request(parse_version(version), request_name) is lacks


def test_newest_version_knows_every_declared_request() -> None:
    known = list(KNOWN_REQUESTS.values())
    assert all(before <= after for before, after in pairwise(known))
    of_host = {name for name, body in REQUESTS.items() if not issubclass(body, CLIRequest)}
    assert known[-1] == (of_host | {"mcp_message"}) - {"set_color"}
