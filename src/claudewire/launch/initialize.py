"""The first request of a session: what the CLI is told through `initialize`.

Whatever is large goes this way and not on the command line. An old CLI ignores what it does not
know of it: measured, 1.0.128 looks at hooks and servers alone, and 2.1.17 at agents, schema and
the system prompt as well, but takes that as a text only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import OptionsError
from ..options import CLIOptions, thaw
from ..wire import HookMatcher, Initialize, McpServerManifest, SdkMcpServerConfig

__all__ = ["ManagedInitialize", "initialize_request", "text_of_prompt"]


class ManagedInitialize(Initialize, tag="initialize", rename="camel", kw_only=True):
    """The opening that also brings settings of an administrator.

    It is not among the declared fields: the CLI takes it only if a flag has announced it.
    """

    managed_settings: dict[str, Any]


def initialize_request(
    options: CLIOptions,
    *,
    hooks: Mapping[str, Sequence[HookMatcher]] | None = None,
    sdk_mcp_servers: Sequence[str] = (),
    sdk_mcp_server_configs: Mapping[str, SdkMcpServerConfig] | None = None,
    sdk_mcp_server_manifests: Mapping[str, McpServerManifest] | None = None,
) -> Initialize:
    """Make the request that opens a session.

    Args:
        options: what the CLI is asked for.
        hooks: what the host wants to be told of, by event.
        sdk_mcp_servers: the names of MCP servers inside the host.
        sdk_mcp_server_configs: what else is to be said about those.
        sdk_mcp_server_manifests: what they would say about themselves.
    """
    fields: dict[str, Any] = {
        **_prompts(options),
        **_from_options(options),
        "hooks": {event: list(matchers) for event, matchers in (hooks or {}).items()},
        "sdk_mcp_servers": list(sdk_mcp_servers),
        "sdk_mcp_server_configs": dict(sdk_mcp_server_configs or {}),
        "sdk_mcp_server_manifests": dict(sdk_mcp_server_manifests or {}),
    }
    # An empty system prompt says something; an empty list of hooks does not.
    said = {name: it for name, it in fields.items() if it or name == "system_prompt"}
    if options.managed_settings is not None:
        return ManagedInitialize(managed_settings=thaw(options.managed_settings), **said)
    return Initialize(**said)


def _from_options(options: CLIOptions) -> dict[str, Any]:
    names = (
        "json_schema",
        "plan_mode_instructions",
        "tool_aliases",
        "agents",
        "title",
        "agent_progress_summaries",
        "per_task_stop_affordance",
        "supported_dialog_kinds",
    )
    fields = {name: thaw(getattr(options, name)) for name in names}
    if options.plugin_delivery == "initialize":
        fields["plugins"] = list(options.plugins)
    if options.skills != "all":
        fields["skills"] = list(options.skills or ())
    return fields


def _prompts(options: CLIOptions) -> dict[str, Any]:
    """Give the prompts that cannot be handed over in files."""
    prompts: dict[str, Any] = {}
    if isinstance(options.system_prompt, tuple):
        prompts["system_prompt"] = list(options.system_prompt)
    if options.remote and isinstance(options.system_prompt, str | Path):
        prompts["system_prompt"] = text_of_prompt(options.system_prompt)
    if options.remote and isinstance(options.append_system_prompt, str | Path):
        prompts["append_system_prompt"] = text_of_prompt(options.append_system_prompt)
    return prompts


def text_of_prompt(prompt: str | Path) -> str:
    """Give a prompt as a text.

    Raises:
        OptionsError: it is in a file that is no text.
    """
    if isinstance(prompt, str):
        return prompt
    try:
        return prompt.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise OptionsError(
            f"The system prompt in {str(prompt)!r} cannot be read: {error}"
        ) from error
