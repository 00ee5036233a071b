"""Which options a version of the CLI may not know."""

from __future__ import annotations

from typing import Any

from ..wire import parse_version
from .options import DECLARATIONS, Options, given_options

__all__ = ["MEASURED", "may_ignore", "unsupported"]

MEASURED = ("1.0.128", "2.1.17", "2.1.325")
"""The versions that were measured, from the oldest to the newest."""

_OLD, _MIDDLE, _NEW = MEASURED


def unsupported(options: Options, version: str | None) -> dict[str, str]:
    """Say which of the given options a CLI may not know, and the version that each of them needs.

    A flag that a CLI does not know makes it exit with a message; whatever else it does not know, it
    ignores without a word. A version between two measured ones may know more than is said here.

    Args:
        options: the options.
        version: of the CLI, such as `2.1.17` or `2.1.17 (Claude Code)`.
    """
    needed = {name: _needed(options, name, value) for name, value in given_options(options)}
    has = parse_version(version)
    return {name: since for name, since in needed.items() if parse_version(since) > has}


def may_ignore(options: Options, version: str | None) -> dict[str, str]:
    """Say which of the given options a CLI may ignore without a word, because it is too old.

    Args:
        options: the options.
        version: what the CLI says to be in its answer to `initialize`; None if it says nothing, as
            CLIs do that are older than 2.1.325.
    """
    unknown = unsupported(options, version or _MIDDLE)
    return {name: since for name, since in unknown.items() if not _is_flag(name)}


def _is_flag(name: str) -> bool:
    """Whether an option is on the command line: a CLI that does not know it exits."""
    declared = DECLARATIONS[name]
    return bool(declared.all_flags) and not declared.initialize


def _needed(options: Options, name: str, value: Any) -> str:
    since = DECLARATIONS[name].since
    return max(since, _needed_by_value(options, name, value), key=parse_version)


def _needed_by_value(options: Options, name: str, value: Any) -> str:
    """Say what a value needs beyond what its option does."""
    if name == "system_prompt" and isinstance(value, tuple):
        return _NEW
    if name == "system_prompt" and options.remote:
        return _MIDDLE
    if name == "thinking" and isinstance(value, str):
        return _NEW
    if name == "permission_mode":
        return {"dontAsk": _MIDDLE, "auto": _NEW}.get(value, _OLD)
    if name == "fallback_model" and (not isinstance(value, str) or "," in value):
        return _NEW
    if name == "plugins" and any(plugin.skip_mcp_discovery for plugin in value):
        return _NEW
    return _OLD
