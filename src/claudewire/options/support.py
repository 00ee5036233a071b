"""Which options a CLI of some version can be given.

A flag that it does not know makes a CLI exit, with a message; a field of `initialize` that it does
not know it ignores, and an application would never learn that its agents, or its schema, are not
there. So whoever knows the version can ask here.
"""

from __future__ import annotations

import re
from typing import Any

from ..wire import PluginConfig
from .cli import CLIOptions, given
from .versions import MEASURED, TABLE

__all__ = ["needed_version", "needs", "unsupported"]

OLD, MIDDLE, NEW = MEASURED

_SINCE = {way.option: way.since for way in reversed(TABLE)}


def needs(options: CLIOptions) -> dict[str, str]:
    """Say for each option that was given which version of the CLI it needs.

    It is the oldest of the measured versions that has the option. One in between may have it too.
    """
    return {
        name: max(_SINCE.get(name, OLD), _since(options, name, value), key=_order)
        for name, value in given(options)
    }


def needed_version(options: CLIOptions) -> str:
    """Say which version all the options together need."""
    return max(needs(options).values(), key=_order, default=OLD)


def unsupported(options: CLIOptions, version: str) -> dict[str, str]:
    """Say which options a CLI may not know, and which version is known to know each of them.

    Args:
        options: the options.
        version: of the CLI, such as `2.1.17` or `2.1.17 (Claude Code)`.
    """
    return {name: it for name, it in needs(options).items() if _order(it) > _order(version)}


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


def _since(options: CLIOptions, name: str, value: Any) -> str:
    """Say what a value needs beyond what its option does."""
    if name == "system_prompt" and isinstance(value, tuple):
        return NEW
    if name == "system_prompt" and options.remote:
        return MIDDLE
    if name == "thinking":
        return NEW if isinstance(value, str) else MIDDLE
    if name == "permission_mode":
        return {"dontAsk": MIDDLE, "auto": NEW}.get(value, OLD)
    if name == "fallback_model":
        return OLD if isinstance(value, str) and "," not in value else NEW
    if name == "plugins":
        return NEW if any(_skips_servers(each) for each in value) else MIDDLE
    return OLD


def _skips_servers(plugin: PluginConfig) -> bool:
    return bool(plugin.skip_mcp_discovery)
