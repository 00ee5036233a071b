"""The wire in `logging`: each line that is sent or received, and stderr, without secrets."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from ..wire import Event

if TYPE_CHECKING:
    from ..errors import StreamRedactor

__all__ = ["WireLogger", "is_wire_logged"]

LINE = 10_000
"""How many characters of a line are logged: a line may hold a whole image."""

log: logging.Logger = logging.getLogger("claudewire.wire")

is_wire_logged: Callable[[], bool] = partial(log.isEnabledFor, logging.DEBUG)
"""Whether a line is to be logged. Ask for each, so that the log can be turned on and off while a
session runs."""


class WireLogger:
    """Logs what goes over one link, at the level DEBUG.

    Args:
        session: the name of the session, which stands before each line.
    """

    def __init__(self, session: str) -> None:
        self.session = session
        # For all lines, so that a secret has the same placeholder in each of them.
        self._redact: dict[str, StreamRedactor] | None = None

    def sent(self, data: bytes) -> None:
        """Log a line to the CLI."""
        self._write(">", data.decode("utf-8", "replace"))

    def received(self, events: Iterable[Event]) -> None:
        """Log the lines that events were made of."""
        for event in events:
            self._write("<", event.line.decode("utf-8", "replace"))

    def heard(self, stderr: str) -> None:
        """Log what the CLI wrote to stderr."""
        for line in stderr.splitlines():
            self._write("!", line)

    def _write(self, direction: str, line: str) -> None:
        from ..errors import Redactor, StreamRedactor

        if line := line.strip():
            if self._redact is None:
                redactor = Redactor()
                self._redact = {direction: StreamRedactor(redactor) for direction in "><!"}
            # Not more than is shown is looked at: a line may have many megabytes.
            text = self._redact[direction](line[: 2 * LINE])
            is_whole = len(text) <= LINE and len(line) <= 2 * LINE
            shown = text if is_whole else f"{text[:LINE]}… ({len(line)} characters)"
            log.debug("%s %s %s", self.session, direction, shown)
