"""What the CLI at the other end can do: from what it says of itself, and from a trial.

Not all say which version they are, and none older than 2.1.325 before its first turn. But the
answer to `initialize` shows whether it is one of those that leave a request unanswered which they
do not know: these do not list their agents there. Which of them it is can be tried out, with
requests that change nothing.
"""

from __future__ import annotations

from typing import Any

from ..errors import RequestError, UnsupportedRequest
from ..wire import (
    EARLIEST,
    LAST_SILENT,
    MODES,
    NAMES_PROMPTS,
    TAKES_CANCEL,
    TAKES_NOTES,
    GetBinaryVersion,
    InitializeResult,
    InitMessage,
    McpStatus,
    McpToggle,
    RequestBody,
    RewindFiles,
    SetPermissionMode,
    lacks_request,
    parse_version,
)
from .link import Link
from .pending_request import name_of

__all__ = ["Capabilities"]

NOBODY = "00000000-0000-4000-8000-000000000000"
"""The id of no message, and the name of no server."""

TRIALS: dict[tuple[int, ...], RewindFiles | McpToggle] = {
    (2, 0, 76): RewindFiles(NOBODY, dry_run=True),
    LAST_SILENT: McpToggle(NOBODY, enabled=False),
}
"""Requests that a CLI refuses at once, and the oldest one that does so; others say nothing."""


class Capabilities:
    """What is known of one CLI.

    Attributes:
        info: its answer to `initialize`.
        init: how it described itself in its last turn.
        version: which version it is; empty if it has not said so.
        resembles: which of the measured versions it is most like, or is, once that was tried.
    """

    def __init__(self) -> None:
        self.info: InitializeResult | None = None
        self.init: InitMessage | None = None
        self.version: tuple[int, ...] = ()
        self.resembles: tuple[int, ...] = ()

    def learn(self, info: InitializeResult | None, init: InitMessage | None) -> None:
        """Note what it says of itself."""
        self.info = info or self.info
        self.init = init or self.init
        told = (it.claude_code_version for it in (self.info, self.init) if it is not None)
        self.version = parse_version(next(filter(None, told), None))

    @property
    def is_silent(self) -> bool:
        """Whether it leaves requests unanswered that it does not know."""
        if self.version:
            return self.version <= LAST_SILENT
        info = self.info
        return self.is_real and info is not None and info.agents is None and info.pid is None

    @property
    def is_real(self) -> bool:
        """Whether it opens a conversation as the real CLI does."""
        info = self.info
        return info is not None and None not in (info.commands, info.available_output_styles)

    @property
    def takes_cancel(self) -> bool:
        """Whether a request can be withdrawn."""
        return self.version >= TAKES_CANCEL

    @property
    def names_prompts(self) -> bool:
        """Whether its `init` messages name the prompts of their turn."""
        return self.version >= NAMES_PROMPTS

    @property
    def takes_notes(self) -> bool:
        """Whether something can be added to the conversation without a turn."""
        return self.version >= TAKES_NOTES

    def lacks(self, request: str) -> bool | None:
        """Say whether it would leave a request unanswered; None if only a trial can tell."""
        if not self.is_silent:
            return False
        version = self.version or self.resembles or (EARLIEST if self.init is not None else ())
        if version:
            return lacks_request(version, request)
        at_least, at_most = (lacks_request(it, request) for it in (LAST_SILENT, EARLIEST))
        return at_most if at_least == at_most else None

    async def check_known(self, body: RequestBody[Any], link: Link, timeout: float | None) -> None:
        """Refuse what the CLI does not know, if it would not say so.

        Raises:
            UnsupportedRequest: it does not know it.
        """
        name = name_of(body)
        lacks = self.lacks(name)
        if lacks is None:
            await self.try_out(link, timeout)
            lacks = self.lacks(name)
        if lacks:
            raise UnsupportedRequest(
                f"This CLI does not know {name!r}",
                request=name,
                evidence=link.evidence(),
                advice="It is too old. CLIs from 2.1.100 on know most requests.",
            )
        if isinstance(body, SetPermissionMode) and body.mode in MODES:
            await self._check_mode(body.mode, link, timeout)

    async def _check_mode(self, mode: str, link: Link, timeout: float | None) -> None:
        """Refuse a permission mode that the CLI would accept without effect.

        Raises:
            UnsupportedRequest: it does not know it.
        """
        if not self.is_real:
            return
        version = await self.find_version(link, timeout)
        if version < parse_version(MODES[mode]):
            raise UnsupportedRequest(
                f"This CLI is too old for the permission mode {mode!r}: it would ask nevertheless",
                request="set_permission_mode",
                evidence=link.evidence(),
                advice=f"Use a CLI from {MODES[mode]} on.",
            )

    async def find_version(self, link: Link, timeout: float | None) -> tuple[int, ...]:
        """Return which version it is, or the newest of those that it may be.

        Raises:
            RequestError: it does not answer.
            TransportClosed: it has exited.
        """
        if self.version or self.resembles:
            return self.version or self.resembles
        if self.is_silent:
            await self.try_out(link, timeout)
        else:
            await self._ask_version(link, timeout)
        return self.resembles

    async def _ask_version(self, link: Link, timeout: float | None) -> None:
        try:
            answer = await link.ask(GetBinaryVersion(), timeout=timeout)
        except RequestError:
            self.resembles = TAKES_CANCEL  # newer ones know that request
        else:
            self.resembles = parse_version(answer.version)

    async def try_out(self, link: Link, timeout: float | None) -> None:
        """Find out which of the silent ones it is like.

        Raises:
            RequestError: it does not even answer what all of them know.
            TransportClosed: it has exited.
        """
        connection = link.connection
        trials = {version: connection.new_request(body) for version, body in TRIALS.items()}
        for request in trials.values():
            link.post(request)
        try:
            await link.ask(McpStatus(), timeout=timeout)  # answered after the others
        finally:
            silent = {version for version, it in trials.items() if it.id in connection.asked}
            for version in silent:
                connection.abandon(trials[version].id)
        self.resembles = max({*TRIALS} - silent, default=EARLIEST)
