"""The commands beside the conversation that applications call, such as `claude mcp list`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from .flags import EarlyExit

_COMMANDS = """
agents attach auth auto-mode doctor gateway import install kill logs mcp plugin plugins purge
respawn rm setup-token stop ultrareview update upgrade
"""
COMMANDS = frozenset(_COMMANDS.split())
"""Words that the real CLI takes for a command, not a prompt, when they come first."""


def run_subcommand(
    argv: Sequence[str], *, config_dir: str, env: Mapping[str, str], version: str
) -> EarlyExit:
    """Run a command."""
    is_json = "--json" in argv
    match list(argv[:2]):
        case ["mcp", "list"]:
            none = "No MCP servers configured. Use `claude mcp add` to add a server.\n"
            return EarlyExit(0, none)
        case ["auth", "status"]:
            return _auth(config_dir, env)
        case ["plugin" | "plugins", "list"]:
            none = "No plugins installed. Use `claude plugin install` to install a plugin.\n"
            return EarlyExit(0, "[]\n" if is_json else none)
        case ["agents", "--json"]:
            return EarlyExit(0, "[]\n")
        case ["doctor", *_]:
            return EarlyExit(0, f"Claude Code doctor\n\nRunning: simulated ({version})\n")
    return EarlyExit.error(f"error: the command '{argv[0]}' is not simulated")


def _auth(config_dir: str, env: Mapping[str, str]) -> EarlyExit:
    has_key = bool(env.get("ANTHROPIC_API_KEY"))
    status = {
        "loggedIn": has_key,
        "authMethod": "api_key" if has_key else "none",
        "apiProvider": "firstParty",
        "configDirectory": config_dir,
    }
    return EarlyExit(0 if has_key else 1, json.dumps(status, indent=2) + "\n")
