"""The `initialize` request, which opens a session.

What is large goes this way, and not on the command line. An old CLI ignores fields that it does not
know: measured, 1.0.128 reads hooks and servers only, and 2.1.17 also agents, the schema and the
system prompt, which it takes as one string only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import OptionsError
from ..options import DECLARATIONS, Options, thaw
from ..wire import HookMatcher, Initialize

__all__ = ["ManagedInitialize", "initialize_request", "text_of_prompt"]


class ManagedInitialize(Initialize, tag="initialize", rename="camel", kw_only=True):
    """An `initialize` that also brings the settings of an administrator.

    They are not among the declared fields: the CLI takes them only if a flag has announced them.
    """

    managed_settings: dict[str, Any]


def initialize_request(
    options: Options,
    *,
    hooks: Mapping[str, Sequence[HookMatcher]] | None = None,
    sdk_mcp_servers: Sequence[str] = (),
) -> Initialize:
    """Make the request that opens a session.

    Args:
        options: what the CLI is asked for.
        hooks: the hooks of the application, by event.
        sdk_mcp_servers: the names of MCP servers inside this process.
    """
    fields: dict[str, Any] = {
        **_prompts(options),
        **_from_options(options),
        "hooks": {event: list(matchers) for event, matchers in (hooks or {}).items()},
        "sdk_mcp_servers": list(sdk_mcp_servers),
    }
    # An empty system prompt means something; an empty list of hooks does not.
    said = {name: it for name, it in fields.items() if it or name == "system_prompt"}
    if options.managed_settings is not None:
        return ManagedInitialize(managed_settings=thaw(options.managed_settings), **said)
    return Initialize(**said)


def _from_options(options: Options) -> dict[str, Any]:
    fields = {
        name: thaw(getattr(options, name))
        for name, declared in DECLARATIONS.items()
        if declared.initialize
    }
    if options.plugin_delivery == "initialize":
        fields["plugins"] = list(options.plugins)
    if options.skills != "all":
        fields["skills"] = list(options.skills or ())
    return fields


def _prompts(options: Options) -> dict[str, Any]:
    """Return the prompts that cannot be passed in files."""
    prompts: dict[str, Any] = {}
    if isinstance(options.system_prompt, tuple):
        prompts["system_prompt"] = list(options.system_prompt)
    if options.remote and isinstance(options.system_prompt, str | Path):
        prompts["system_prompt"] = text_of_prompt(options.system_prompt)
    if options.remote and isinstance(options.append_system_prompt, str | Path):
        prompts["append_system_prompt"] = text_of_prompt(options.append_system_prompt)
    return prompts


def text_of_prompt(prompt: str | Path) -> str:
    """Return a prompt as a string.

    Raises:
        OptionsError: its file cannot be read, or is not UTF-8.
    """
    if isinstance(prompt, str):
        return prompt
    try:
        return prompt.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise OptionsError(
            f"The system prompt in {str(prompt)!r} cannot be read: {error}"
        ) from error
