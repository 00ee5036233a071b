"""Evidence for errors: the last lines of both directions and the end of stderr."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Iterable, Sequence

from ..wire import Event, Evidence
from .redaction import Redact, Redactor

LINES = 20
"""Lines of each direction that are kept."""
LINE = 2000
"""Characters of each line that are shown."""
STDERR = 64 * 1024
"""Characters of stderr that are shown."""
MARGIN = 8 * 1024
"""Characters of stderr that are kept beyond that, so that a secret at the cut is recognised."""
_KEPT = 4 * LINE
"""Bytes of a line that are kept; a character has at most four."""


class EvidenceLog:
    """Keeps the end of everything that goes over one link."""

    def __init__(self, argv: tuple[str, ...] = (), pid: int | None = None) -> None:
        self._argv = argv
        self.pid = pid
        self.session: str = ""
        """The name of the session, if it has one."""
        self._received: deque[bytes] = deque(maxlen=LINES)
        self._sent: deque[bytes] = deque(maxlen=LINES)
        self._stderr = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def note_received(self, events: Sequence[Event]) -> None:
        """Note the lines that the CLI wrote."""
        self._received.extend(event.line[:_KEPT] for event in events[-LINES:])

    def note_sent(self, data: bytes) -> None:
        """Note a line that was sent."""
        self._sent.append(data[:_KEPT])

    def note_stderr(self, data: bytes) -> str:
        """Note output on stderr; return it as text."""
        text = self._decoder.decode(data)
        self._stderr = (self._stderr + text)[-STDERR - MARGIN :]
        return text

    def evidence(self, status: int | None = None) -> Evidence:
        """Return everything known, without secrets. A negative status is a signal."""
        redact = Redactor()  # one for all, so that a secret has the same placeholder everywhere
        return Evidence(
            argv=tuple(map(redact, self._argv)),
            session=self.session,
            pid=self.pid,
            exit_code=status if status is not None and status >= 0 else None,
            signal=-status if status is not None and status < 0 else None,
            stderr=redact(self._stderr)[-STDERR:],
            received=_shown(self._received, redact),
            sent=_shown(self._sent, redact),
        )


def _shown(lines: Iterable[bytes], redact: Redact) -> tuple[str, ...]:
    texts = (line.strip().decode("utf-8", "replace") for line in lines)
    return tuple(_shortened(text, redact) for text in texts if text)


def _shortened(text: str, redact: Redact) -> str:
    # Redact more than is shown, so that a secret at the end is recognised.
    shown = redact(text[: LINE + LINE // 2])
    return shown if len(text) <= LINE else f"{shown[:LINE]}…"
