"""The abilities of one CLI, by its version or by the form of its answer to `initialize`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import Evidence, UnsupportedRequest
from ..wire import (
    LAST_SILENT,
    MODES,
    NAMES_PROMPTS,
    TAKES_CANCEL,
    TAKES_CONTEXT,
    InitializeResult,
    InitMessage,
    RequestBody,
    SetPermissionMode,
    lacks_request,
    parse_version,
)
from .link import name_of


class Capabilities:
    """The abilities of one CLI.

    Attributes:
        version: its version, as far as it shows; empty otherwise.
        names_prompts: its `init` messages name the prompts of their turn.
        takes_context: it adds messages to the conversation without a turn.
    """

    def __init__(
        self, info: InitializeResult | None = None, init: InitMessage | None = None
    ) -> None:
        versions = (it.claude_code_version for it in (info, init) if it is not None)
        self.version: tuple[int, ...] = parse_version(next(filter(None, versions), None))
        if not self.version and info is not None and _is_silent(info):
            self.version = LAST_SILENT
        self.takes_cancel: bool = self.version >= TAKES_CANCEL
        self.names_prompts: bool = self.version >= NAMES_PROMPTS
        self.takes_context: bool = self.version >= TAKES_CONTEXT

    def knows(self, request: str) -> bool:
        """Return False for a request that the CLI would leave without an answer."""
        return not self.version or not lacks_request(self.version, request)

    def check(self, body: RequestBody[Any], evidence: Callable[[], Evidence]) -> None:
        """Refuse a request that the CLI does not know, if it would not say so."""
        name = name_of(body)
        if not self.knows(name):
            raise UnsupportedRequest(
                f"This CLI does not know {name!r}",
                request=name,
                evidence=evidence(),
                advice="It is too old. CLIs from 2.1.100 on know most requests.",
            )
        mode = body.mode if isinstance(body, SetPermissionMode) else ""
        since = MODES.get(mode)
        if since is not None and self.version and self.version < parse_version(since):
            raise UnsupportedRequest(
                f"This CLI is too old for the permission mode {mode!r}: it would still ask",
                request=name,
                evidence=evidence(),
                advice=f"Use a CLI from {since} on.",
            )


def _is_silent(info: InitializeResult) -> bool:
    """Whether it is the answer of a CLI that ignores unknown requests: it lists no agents."""
    is_real = None not in (info.commands, info.available_output_styles)
    return is_real and info.agents is None and info.pid is None
