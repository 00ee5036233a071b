"""The two loggers of sessions: events, and lines of the wire.

Each line begins with the name of its session.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, MutableMapping
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

from ..wire import Event

if TYPE_CHECKING:
    from ..errors import StreamRedactor

LINE = 10_000
"""Characters of a line of the wire that are logged: it may hold a whole image."""

session_name: ContextVar[Callable[[], str] | None] = ContextVar("session_name", default=None)
"""Returns the name of the session that the running task belongs to. Each link sets it for its own
tasks, and so for the handlers, hooks and tools that it calls."""


class _SessionLogger(logging.LoggerAdapter[logging.Logger]):
    """Adds the name to the message, and to the record as `session`."""

    def process(
        self, msg: object, kwargs: MutableMapping[str, Any]
    ) -> tuple[object, MutableMapping[str, Any]]:
        get_name = session_name.get()
        if get_name is None:
            return msg, kwargs
        name = get_name()
        kwargs["extra"] = {"session": name}
        return f"{name.replace('%', '%%')}: {msg}", kwargs


log: logging.LoggerAdapter[logging.Logger] = _SessionLogger(logging.getLogger("claudewire.session"))

wire_log: logging.Logger = logging.getLogger("claudewire.wire")

is_wire_logged: Callable[[], bool] = partial(wire_log.isEnabledFor, logging.DEBUG)
"""Whether lines are logged. Ask for each line: the level may change while a session runs."""


class WireLogger:
    """Logs the lines of one link and its stderr at the level DEBUG, without secrets."""

    def __init__(self, session: str) -> None:
        self.session = session
        # For all lines, so that a secret has the same placeholder in each of them.
        self._redact: dict[str, StreamRedactor] | None = None

    def sent(self, data: bytes) -> None:
        """Log a line to the CLI."""
        self._write(">", data.decode("utf-8", "replace"))

    def received(self, events: Iterable[Event]) -> None:
        """Log the lines of events."""
        for event in events:
            self._write("<", event.line.decode("utf-8", "replace"))

    def stderr(self, text: str) -> None:
        """Log output of the CLI on stderr."""
        for line in text.splitlines():
            self._write("!", line)

    def _write(self, direction: str, line: str) -> None:
        from ..errors import Redactor, StreamRedactor  # slow to import, and the log is seldom on

        if line := line.strip():
            if self._redact is None:
                redactor = Redactor()
                self._redact = {direction: StreamRedactor(redactor) for direction in "><!"}
            # A line may have many megabytes: redact little more than is shown.
            text = self._redact[direction](line[: 2 * LINE])
            is_whole = len(text) <= LINE and len(line) <= 2 * LINE
            shown = text if is_whole else f"{text[:LINE]}… ({len(line)} characters)"
            wire_log.debug("%s %s %s", self.session, direction, shown)
