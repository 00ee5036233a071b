"""Differences between released CLIs, by the versions in which they were measured.

All comparisons of versions use this table; a version between two measured ones may be able to do
more than the table says. Where a CLI reports its capabilities, they count instead.
"""

from __future__ import annotations

import re

TESTED = ("2.1.17", "2.1.197", "2.1.250", "2.1.325", "2.1.327")
"""The versions that the test suite drives. Older ones are not supported."""

LAST_SILENT = (2, 1, 17)
"""Up to here a CLI does not answer unknown requests (measured: not within 6 s). From 2.1.100 on it
answers them with an error."""

TAKES_CANCEL = (2, 1, 100)
"""From here on `control_cancel_request` is understood. 2.1.17 exits when it gets one."""

NAMES_PROMPTS = (2, 1, 325)
"""The oldest CLI whose `init` messages are known to name the prompts of their turn."""

MODES = {"auto": "2.1.100"}
"""The permission modes that not all CLIs know, and the oldest that does. All refuse a flag with
another mode. But up to 2.1.197 `set_permission_mode` is acknowledged with any mode, which `init`
then reports; and the CLI asks about tools as in `default`."""

TAKES_CONTEXT = (2, 1, 250)
"""From here on `shouldQuery: false` adds to the conversation, and `command_lifecycle` shows that
the empty `result` which follows belongs to it. Up to 2.1.100 it is not known, and the model
answers; 2.1.197 has the empty `result` alone, which looks like that of a prompt."""

_ADDED = {
    "2.1.17": "initialize interrupt mcp_message mcp_reconnect mcp_set_servers mcp_status "
    "mcp_toggle rewind_files set_max_thinking_tokens set_model set_permission_mode",
    "2.1.100": "apply_flag_settings cancel_async_message end_session generate_session_title "
    "get_context_usage get_settings reload_plugins seed_read_state side_question stop_task",
    "2.1.197": "background_tasks file_suggestions get_binary_version get_session_cost get_usage "
    "mcp_call read_file register_repo_root reload_skills rename_session",
    "2.1.250": "list_models",
    "2.1.325": "get_hooks_listing get_task_output list_permission_rules mcp_read_resource "
    "reload_output_styles set_has_subscribers update_settings",
}

KNOWN_REQUESTS: dict[str, frozenset[str]] = {}
"""The requests of the host that each version answers other than by not knowing them. None knows
`set_color`."""
for _version, _names in _ADDED.items():
    _before = next(reversed(KNOWN_REQUESTS.values()), frozenset())
    KNOWN_REQUESTS[_version] = _before | {*_names.split()}


def parse_version(version: str | None) -> tuple[int, ...]:
    """Return the numbers of a version, which compare: of `2.1.17 (Claude Code)`, of `v22.1.0`.

    An empty version, or None, is older than any other.
    """
    return tuple(map(int, re.findall(r"\d+", version or "")[:3]))


def lacks_request(version: tuple[int, ...], request: str) -> bool:
    """Say whether a CLI of this version would leave a request without an answer."""
    return version <= LAST_SILENT and request not in KNOWN_REQUESTS["2.1.17"]
