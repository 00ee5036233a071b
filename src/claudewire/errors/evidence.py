"""What an error can show about a CLI: the last lines of both directions, the end of stderr."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Iterable

from ..wire import Event
from .exceptions import Evidence

__all__ = ["EvidenceLog"]

LINES = 20
"""How many lines of each direction are kept."""
LINE = 2000
"""How many characters of each line are kept."""
STDERR = 64 * 1024
"""How many characters of stderr are kept."""


class EvidenceLog:
    """Keeps the end of all that goes over one link."""

    def __init__(self, argv: tuple[str, ...] = (), pid: int | None = None) -> None:
        self._argv = argv
        self.pid = pid
        self.session: str = ""
        """The name that the session was given, if it was given one."""
        self._received: deque[Event] = deque(maxlen=LINES)
        self._sent: deque[bytes] = deque(maxlen=LINES)
        self._stderr: deque[str] = deque()
        self._stderr_size = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def note_received(self, events: list[Event]) -> None:
        """Note what the CLI wrote."""
        self._received.extend(events[-LINES:])

    def note_sent(self, data: bytes) -> None:
        """Note a line that was sent."""
        self._sent.append(data[: 4 * LINE])

    def note_stderr(self, data: bytes) -> str:
        """Note what the CLI wrote to stderr; return it as text."""
        text = self._decoder.decode(data)
        self._stderr.append(text)
        self._stderr_size += len(text)
        while self._stderr_size - len(self._stderr[0]) > STDERR:
            self._stderr_size -= len(self._stderr.popleft())
        return text

    def evidence(self, status: int | None = None) -> Evidence:
        """Return what is known, without secrets. A negative status is a signal."""
        from .redaction import redact

        return Evidence(
            argv=tuple(map(redact, self._argv)),
            session=self.session,
            pid=self.pid,
            exit_code=status if status is not None and status >= 0 else None,
            signal=-status if status is not None and status < 0 else None,
            stderr=redact("".join(self._stderr)[-STDERR:]),
            received=_shown(event.line for event in self._received),
            sent=_shown(self._sent),
        )


def _shown(lines: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(_short(line) for line in map(bytes.strip, lines) if line)


def _short(line: bytes) -> str:
    """Show the beginning of a line, and read no more of it: it may hold a whole image."""
    from .redaction import redact

    text = redact(line[: 4 * LINE].decode("utf-8", "replace"))
    if len(text) <= LINE and len(line) <= 4 * LINE:
        return text
    return f"{text[:LINE]}… (the first characters of {len(line)} bytes or more)"
