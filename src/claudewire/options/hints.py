"""What an unknown option may have been meant to be."""

from __future__ import annotations

import re
from collections.abc import Collection

__all__ = ["unknown_option"]

_CALLED_OTHERWISE = {
    "abort_controller": "session.interrupt(), or the end of `async with`",
    "additional_directories": "add_dirs",
    "api_key": "env={'ANTHROPIC_API_KEY': …}, or that variable in your own environment",
    "can_use_tool": "on_permission, a function of one argument, the request",
    "cli_path": "cli",
    "continue": "continue_conversation",
    "debug_stderr": "on_stderr",
    "executable": "cli=['node', 'cli.js']",
    "executable_args": "cli=['node', …, 'cli.js']",
    "functions": "tools",
    "max_buffer_size": "max_line",
    "max_thinking_tokens": "thinking",
    "output_format": "output, a type or a JSON schema; or json_schema",
    "path_to_claude_code_executable": "cli",
    "permission_prompt_tool_name": "nothing: the session itself is asked",
    "prompt": "the first argument of run(…), or session.send(…)",
    "servers": "mcp_servers",
    "spawn_claude_code_process": "transport, an async function that starts a CLI",
    "stderr": "on_stderr",
    "tasks": "an argument of run(…) and wait_idle(…), beside the options",
    "timeout": "timeouts=Timeouts(…), or asyncio.timeout(…) around the call",
    "transport": "an argument of open(…), run(…) and Pool(…), beside the options",
    "user": "transport=functools.partial(claudewire.transport.spawn, user=…), an argument of open",
    "working_directory": "cwd",
}
"""What the official SDKs and other programs call what has another name here."""


def unknown_option(key: str, names: Collection[str]) -> str:
    """Say that there is no such option, and what it is called here, or may have been meant."""
    name = re.sub(r"([a-z])([A-Z])", r"\1_\2", key).replace("-", "_").lower()
    other = name if name in names else _CALLED_OTHERWISE.get(name)
    if other is not None:
        return f"There is no option {key!r}; here it is {other}"
    import difflib  # in an error only: loading it takes a while

    similar = difflib.get_close_matches(name, sorted(names), n=3)
    hint = f"; did you mean {' or '.join(similar)}?" if similar else ""
    return f"There is no option {key!r}{hint}"
