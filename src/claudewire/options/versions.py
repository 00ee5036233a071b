"""Which options a version of the CLI may not know."""

from __future__ import annotations

from typing import Any

from ..wire import KNOWN_REQUESTS, MODES, parse_version
from .options import DECLARATIONS, Options, given_options

__all__ = ["MEASURED", "may_ignore", "unsupported"]

MEASURED = tuple(KNOWN_REQUESTS)
"""The versions that were measured, from the oldest to the newest."""

_OLD = MEASURED[0]


def unsupported(options: Options, version: str | None) -> dict[str, str]:
    """Say which of the given options a CLI may not know, and the version that each of them needs.

    A flag that a CLI does not know makes it exit with a message; whatever else it does not know, it
    ignores without a word. A version between two measured ones may know more than is said here.

    Args:
        options: the options.
        version: of the CLI, such as `2.1.17` or `2.1.17 (Claude Code)`.
    """
    needed = {name: _needed(name, value) for name, value in given_options(options)}
    has = parse_version(version)
    return {name: since for name, since in needed.items() if parse_version(since) > has}


def may_ignore(options: Options, version: str | None) -> dict[str, str]:
    """Say which of the given options a CLI ignores without a word, because it is too old.

    Args:
        options: the options.
        version: which version the CLI is; None for any.
    """
    unknown = unsupported(options, version)
    return {name: since for name, since in unknown.items() if since != _OLD and not _exits(name)}


def _exits(name: str) -> bool:
    """Whether a CLI exits if it does not know an option, or what it was given."""
    declared = DECLARATIONS[name]
    if name == "fallback_model":
        return False  # 1.0.128 to 2.1.100 take several names for one
    return bool(declared.all_flags) and not declared.initialize


def _needed(name: str, value: Any) -> str:
    since = DECLARATIONS[name].since
    return max(since, _needed_by_value(name, value), key=parse_version)


def _needed_by_value(name: str, value: Any) -> str:
    """Say what a value needs beyond what its option does."""
    if name == "thinking" and isinstance(value, str):
        return "2.1.100"
    if name == "permission_mode":
        return MODES.get(value, _OLD)
    if name == "fallback_model" and (not isinstance(value, str) or "," in value):
        return "2.1.197"
    if name == "plugins" and any(plugin.skip_mcp_discovery for plugin in value):
        return "2.1.197"
    return _OLD
