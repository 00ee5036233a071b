"""What a CLI can do, by its version: from which one on."""

from __future__ import annotations

import pytest

from claudewire.session.capabilities import Capabilities
from claudewire.wire import InitializeResult


def of(version: str) -> Capabilities:
    capabilities = Capabilities()
    capabilities.learn(InitializeResult(claude_code_version=version), None)
    return capabilities


@pytest.mark.parametrize(
    ("name", "before", "since"),
    [
        ("takes_cancel", "2.1.99", "2.1.100"),
        ("takes_notes", "2.1.249", "2.1.250"),
        ("names_prompts", "2.1.324", "2.1.325"),
    ],
)
def test_what_a_cli_can_do_it_can_from_one_version_on(name: str, before: str, since: str) -> None:
    assert [getattr(of(it), name) for it in (before, since, "9.0.0")] == [False, True, True]


def test_clis_up_to_one_version_leave_unknown_requests_unanswered() -> None:
    silent = [of(it).is_silent for it in ("1.0.128", "2.1.16", "2.1.17", "2.1.18", "2.1.325")]
    assert silent == [True, True, True, False, False]
    assert of("2.1.17").lacks("get_settings")
    assert of("2.1.18").lacks("get_settings") is False
