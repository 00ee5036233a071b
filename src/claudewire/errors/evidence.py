"""What an error can show about a CLI: the last lines of both directions, the end of stderr."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ..wire import Event
from .exceptions import Evidence

if TYPE_CHECKING:
    from .redaction import Redact

__all__ = ["EvidenceLog"]

LINES = 20
"""How many lines of each direction are kept."""
LINE = 2000
"""How many characters of each line are shown."""
STDERR = 64 * 1024
"""How many characters of stderr are shown."""
MARGIN = 8 * 1024
"""How much more is kept of stderr: a secret that is cut would no longer be recognised."""
_KEPT = 4 * LINE
"""Bytes of a line that are kept; a character has at most four."""


class EvidenceLog:
    """Keeps the end of all that goes over one link."""

    def __init__(self, argv: tuple[str, ...] = (), pid: int | None = None) -> None:
        self._argv = argv
        self.pid = pid
        self.session: str = ""
        """The name that the session was given, if it was given one."""
        # Lists, because an empty deque takes as much memory as one with sixty lines.
        self._received: list[_Line] = []
        self._uncut: list[Event] = []
        """What was received after these: the end of what arrived at once, if that was much."""
        self._sent: list[_Line] = []
        self._stderr: str = ""
        self._decoder: codecs.IncrementalDecoder | None = None

    def note_received(self, events: list[Event], size: int | None = None) -> None:
        """Note what the CLI wrote.

        Args:
            events: what its lines mean.
            size: how many bytes arrived, if that is known.
        """
        if len(events) == 1 and not self._uncut:  # as with most requests, for whose answer it waits
            line = events[0].line
            self._received.append(line if len(line) <= _KEPT else _cut(line))
            if len(self._received) > LINES:
                del self._received[0]
            return
        if size is not None and size <= LINES * _KEPT and len(events) > LINES:
            # More output follows nearly always, so they are cut when that is needed. Only the first
            # line can be longer than what arrived, and it is not among these.
            self._received, self._uncut = [], events[-LINES:]
            return
        if self._uncut:
            events, self._uncut = self._uncut + events, []
        self._received += [_cut(event.line) for event in events[-LINES:]]
        del self._received[:-LINES]

    def note_sent(self, data: bytes) -> None:
        """Note a line that was sent."""
        self._sent.append(data if len(data) <= _KEPT else _cut(data))
        if len(self._sent) > LINES:
            del self._sent[0]

    def note_stderr(self, data: bytes) -> str:
        """Note what the CLI wrote to stderr; return it as text."""
        if self._decoder is None:  # most CLIs write nothing there
            self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        text = self._decoder.decode(data)
        self._stderr = (self._stderr + text)[-STDERR - MARGIN :]
        return text

    def evidence(self, status: int | None = None) -> Evidence:
        """Return what is known, without secrets. A negative status is a signal."""
        from .redaction import Redactor

        self.note_received([])  # so that all are cut
        redact = Redactor()  # one for all, so that a secret has the same placeholder in each
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


class _Beginning(NamedTuple):
    """The beginning of a long line, and its length: it may hold a whole image."""

    head: bytes
    length: int


_Line = bytes | _Beginning
"""A line as it is, if it is not long: forty pairs for each session would be a ninth of what the
garbage collector counts."""


def _cut(line: bytes) -> _Line:
    return line if len(line) <= _KEPT else _Beginning(line[:_KEPT], len(line))


def _shown(lines: Iterable[_Line], redact: Redact) -> tuple[str, ...]:
    whole = [it if isinstance(it, _Beginning) else _Beginning(it, len(it)) for it in lines]
    return tuple(_short(*line, redact) for line in whole if line.head.strip())


def _short(head: bytes, length: int, redact: Redact) -> str:
    # A little more than is shown: a secret at the end is recognised then.
    given = head.strip().decode("utf-8", "replace")
    text = redact(given[: LINE + LINE // 2])
    if len(text) <= LINE and len(given) <= LINE + LINE // 2 and length <= _KEPT:
        return text
    return f"{text[:LINE]}… (the first characters of {length} bytes or more)"
