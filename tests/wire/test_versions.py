"""What released CLIs are known to do."""

from __future__ import annotations

from itertools import pairwise
from typing import get_args

import pytest

from claudewire.wire import (
    EARLIEST,
    KNOWN_REQUESTS,
    LAST_SILENT,
    MODES,
    NAMES_PROMPTS,
    READS_BLOCKS,
    READS_PROMPTS,
    TAKES_CANCEL,
    TAKES_NOTES,
    lacks_request,
    parse_version,
)
from claudewire.wire.types.host_requests import HostRequest


@pytest.mark.parametrize(
    ("version", "numbers"),
    [
        ("2.1.17 (Claude Code)", (2, 1, 17)),
        ("v22.1.0", (22, 1, 0)),
        ("2.1.17-beta.4+5", (2, 1, 17)),
        ("2.1", (2, 1)),
        ("unknown", ()),
        ("", ()),
        (None, ()),
    ],
)
def test_a_version_is_its_first_three_numbers(
    version: str | None, numbers: tuple[int, ...]
) -> None:
    assert parse_version(version) == numbers


@pytest.mark.parametrize(
    ("version", "request_name", "lacks"),
    [
        ("1.0.128", "set_model", False),
        ("1.0.128", "rewind_files", True),
        ("2.0.14", "rewind_files", True),
        ("2.0.50", "rewind_files", False),  # in doubt it is asked
        ("2.0.76", "mcp_toggle", True),
        ("2.1.17", "mcp_toggle", False),
        ("2.1.17", "get_context_usage", True),
        ("2.1.17", "of_the_future", True),
        ("2.1.18", "of_the_future", False),  # it may answer that it does not know it
        ("2.1.325", "of_the_future", False),
    ],
)
def test_a_silent_cli_lacks_what_no_older_one_knows(
    version: str, request_name: str, lacks: bool
) -> None:
    assert lacks_request(parse_version(version), request_name) is lacks


def test_each_version_knows_what_those_before_it_knew() -> None:
    known = list(KNOWN_REQUESTS.values())
    assert all(before <= after for before, after in pairwise(known))
    versions = [parse_version(version) for version in KNOWN_REQUESTS]
    assert versions == sorted(versions)
    declared = {body.__struct_config__.tag for body in get_args(HostRequest)}
    assert known[-1] == (declared | {"mcp_message"}) - {"set_color"}


def test_what_each_version_does_was_seen_in_that_version() -> None:
    assert {
        "the same as 1.0.128": EARLIEST,
        "answers only requests that it knows": LAST_SILENT,
        "reads prompts": READS_PROMPTS,
        "reads prompts in blocks": READS_BLOCKS,
        "takes a cancel request": TAKES_CANCEL,
        "takes notes": TAKES_NOTES,
        "names prompts": NAMES_PROMPTS,
        **{mode: parse_version(version) for mode, version in MODES.items()},
    } == {
        "the same as 1.0.128": (2, 0, 14),
        "answers only requests that it knows": (2, 1, 17),
        "reads prompts": (2, 0, 76),
        "reads prompts in blocks": (2, 1, 197),
        "takes a cancel request": (2, 1, 100),
        "takes notes": (2, 1, 250),
        "names prompts": (2, 1, 325),
        "dontAsk": (2, 0, 76),
        "auto": (2, 1, 100),
    }
