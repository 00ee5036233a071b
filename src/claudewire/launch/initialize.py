"""The `initialize` request, which opens a session.

What is large goes this way, and not on the command line. An old CLI ignores fields that it does not
know: measured, 1.0.128 and 2.0.14 read hooks and servers only, 2.0.76 also agents, the schema and
the system prompt, which CLIs before 2.1.197 take as one string only.

Real CLIs read MCP servers, and best also the system prompt, from files that the command line names.
The documents of the dialects know no such files. A dialect that is asked for by name is spoken as
its document says: `session` has both in `initialize`, `legacy` the prompt on the command line.
`modern` does both, since a CLI of that document reads `initialize`, and a real one does not mind.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum, auto
from os import PathLike
from typing import Any

from ..errors import OptionsError
from ..options import DECLARATIONS, Options, configured_servers, given_options, thaw
from ..wire import LEGACY, MODERN, SESSION, HookMatcher, Initialize

__all__ = ["ManagedInitialize", "Place", "initialize_request", "places", "text_of_prompt"]


class Place(Enum):
    """Where a system prompt can be."""

    FILE = auto()
    """A file that the command line names."""
    WORDS = auto()
    """The command line."""
    INITIALIZE = auto()


def places(options: Options) -> frozenset[Place]:
    """Where the CLI looks for the system prompt."""
    if options.dialect == LEGACY.name:
        return frozenset({Place.WORDS})
    if options.remote or options.dialect == SESSION.name:
        return frozenset({Place.INITIALIZE})
    if options.dialect == MODERN.name:
        return frozenset({Place.FILE, Place.INITIALIZE})
    return frozenset({Place.FILE})


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
    older: Collection[str] = (),
) -> Initialize:
    """Make the request that opens a session.

    Args:
        options: what the CLI is asked for.
        hooks: the hooks of the application, by event.
        sdk_mcp_servers: the names of MCP servers inside this process.
        older: the options that the command line has instead; see `arguments`.
    """
    fields: dict[str, Any] = {
        **_prompts(options),
        **_from_options(options),
        "hooks": {event: list(matchers) for event, matchers in (hooks or {}).items()},
        "sdk_mcp_servers": list(sdk_mcp_servers),
        "mcp_servers": _servers(options),
    }
    # An empty system prompt means something; an empty list of hooks does not.
    said = {
        name: it
        for name, it in fields.items()
        if (it or name == "system_prompt") and name not in older
    }
    if options.managed_settings is not None:
        return ManagedInitialize(managed_settings=thaw(options.managed_settings), **said)
    return Initialize(**said)


def _from_options(options: Options) -> dict[str, Any]:
    fields = {
        name: thaw(value) for name, value in given_options(options) if DECLARATIONS[name].initialize
    }
    if options.plugin_delivery == "initialize":
        fields["plugins"] = list(options.plugins)
    if options.skills != "all":
        fields["skills"] = list(options.skills or ())
    return fields


def _prompts(options: Options) -> dict[str, Any]:
    """Return the prompts that the CLI expects here, and those that are nowhere else."""
    prompts: dict[str, Any] = {}
    where = places(options)
    if isinstance(options.system_prompt, tuple):
        prompts["system_prompt"] = list(options.system_prompt)
    if Place.INITIALIZE in where and isinstance(options.system_prompt, str | PathLike):
        prompts["system_prompt"] = text_of_prompt(options.system_prompt)
    # Not in two places, or it would be added twice.
    if where == {Place.INITIALIZE} and isinstance(options.append_system_prompt, str | PathLike):
        prompts["append_system_prompt"] = text_of_prompt(options.append_system_prompt)
    return prompts


def _servers(options: Options) -> dict[str, Any]:
    """Return the servers outside this process, if the CLI expects them here."""
    here = options.dialect in (MODERN.name, SESSION.name)
    return configured_servers(options) if here else {}


def text_of_prompt(prompt: str | PathLike[str]) -> str:
    """Return a prompt as a string.

    Raises:
        OptionsError: its file cannot be read, or is not UTF-8.
    """
    if isinstance(prompt, str):
        return prompt
    try:
        with open(prompt, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise OptionsError(
            f"The system prompt in {str(prompt)!r} cannot be read: {error}"
        ) from error
