"""What released CLIs do differently, by the versions in which it was measured.

Measured offline with 1.0.128, 2.0.14, 2.0.76, 2.1.17, 2.1.100, 2.1.197, 2.1.250 and 2.1.325. All
comparisons of versions use this table; a version between two of these may be able to do more than
is said here. Where a CLI says what it can do, that counts instead.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = [
    "EARLIEST",
    "EARLY_TOOLS",
    "KNOWN_REQUESTS",
    "LAST_SILENT",
    "MODES",
    "NAMES_PROMPTS",
    "READS_BLOCKS",
    "READS_PROMPTS",
    "TAKES_CANCEL",
    "TAKES_NOTES",
    "lacks_request",
    "parse_version",
]

EARLIEST = (2, 0, 14)
"""Up to here a CLI never says its version. 1.0.128 and 2.0.14 are the same in all that is here, and
read agents and prompts from the command line only."""

LAST_SILENT = (2, 1, 17)
"""Up to here a CLI does not answer requests that it does not know (measured: not within 6 s). From
2.1.100 on it answers them with an error."""

EARLY_TOOLS = (
    "Bash",
    "BashOutput",
    "Edit",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "KillShell",
    "ListMcpResourcesTool",
    "MultiEdit",
    "NotebookEdit",
    "Read",
    "ReadMcpResourceTool",
    "Skill",
    "SlashCommand",
    "Task",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
)
"""The built-in tools of the CLIs that do not know `--tools`, as `init` lists them in 1.0.128 and
2.0.14."""

READS_PROMPTS = (2, 0, 76)
"""From here on `initialize` can bring the system prompt and what is appended to it."""

READS_BLOCKS = (2, 1, 197)
"""From here on the system prompt in `initialize` can have several blocks. 2.1.100 and older ones
fall back to their own prompt."""

TAKES_CANCEL = (2, 1, 100)
"""From here on `control_cancel_request` is taken. 1.0.128, 2.0.14 and 2.1.17 exit when they get
one."""

NAMES_PROMPTS = (2, 1, 325)
"""The oldest CLI whose `init` messages are known to name the prompts of their turn."""

MODES = {"dontAsk": "2.0.76", "auto": "2.1.100"}
"""The permission modes that not all CLIs know, and the oldest that does. A flag with another mode
is refused by all. But up to 2.1.197 `set_permission_mode` is acknowledged with any mode, which
`init` then reports; and the CLI asks about tools as in `default`."""

TAKES_NOTES = (2, 1, 250)
"""From here on `shouldQuery: false` adds to the conversation, and `command_lifecycle` shows that
the empty `result` which follows belongs to it. Up to 2.1.100 it is not known, and the model
answers; 2.1.197 has the empty `result` alone, which looks like that of a prompt."""

_IN_2_0_14 = frozenset(
    {"initialize", "interrupt", "mcp_status", "set_model", "set_permission_mode"}
)
_IN_2_0_76 = _IN_2_0_14 | {
    "mcp_message",
    "mcp_set_servers",
    "rewind_files",
    "set_max_thinking_tokens",
}
_IN_2_1_17 = _IN_2_0_76 | {"mcp_reconnect", "mcp_toggle"}
_IN_2_1_100 = _IN_2_1_17 | {
    "apply_flag_settings",
    "cancel_async_message",
    "end_session",
    "generate_session_title",
    "get_context_usage",
    "get_settings",
    "reload_plugins",
    "seed_read_state",
    "side_question",
    "stop_task",
}
_IN_2_1_197 = _IN_2_1_100 | {
    "background_tasks",
    "file_suggestions",
    "get_binary_version",
    "get_session_cost",
    "get_usage",
    "mcp_call",
    "read_file",
    "register_repo_root",
    "reload_skills",
    "rename_session",
}
_IN_2_1_250 = _IN_2_1_197 | {"list_models"}
_IN_2_1_325 = _IN_2_1_250 | {
    "get_hooks_listing",
    "get_task_output",
    "list_permission_rules",
    "mcp_read_resource",
    "reload_output_styles",
    "set_has_subscribers",
    "update_settings",
}

KNOWN_REQUESTS: dict[str, frozenset[str]] = {
    "1.0.128": _IN_2_0_14,
    "2.0.14": _IN_2_0_14,
    "2.0.76": _IN_2_0_76,
    "2.1.17": _IN_2_1_17,
    "2.1.100": _IN_2_1_100,
    "2.1.197": _IN_2_1_197,
    "2.1.250": _IN_2_1_250,
    "2.1.325": _IN_2_1_325,
}
"""The requests of the host that each version answers with something else than that it does not know
them. `set_color` was known to none."""


@lru_cache(32)
def parse_version(version: str | None) -> tuple[int, ...]:
    """Return the numbers of a version, which compare: of `2.1.17 (Claude Code)`, of `v22.1.0`.

    An empty version, or None, is older than any other.
    """
    return tuple(map(int, re.findall(r"\d+", version or "")[:3]))


def lacks_request(version: tuple[int, ...], request: str) -> bool:
    """Say whether a CLI of this version would leave a request without an answer.

    A version between two that were measured counts as the newer one: it is asked if in doubt.
    """
    if version > LAST_SILENT:
        return False
    measured = (known for it, known in KNOWN_REQUESTS.items() if parse_version(it) >= version)
    return request not in next(measured)
