"""Replay: a recording plays the CLI.

The CLI's lines come in the recorded order, each as soon as the application has sent all lines that
were recorded before it. The application's lines are compared with the recorded ones:

* `strict`: the same JSON, line by line in the same order. The layout does not matter, nor the order
  of keys.
* `loose`: fields that only the application sends are ignored, as are recorded ones that are missing
  now if they were null, false or empty. Lines between which the CLI wrote nothing may come in any
  order.
* `none`: nothing is compared, lines are only counted.

Ids may differ. An id that the application made (of a request, a message, a session, a callback)
stands for the recorded one in its place, and replaces it in all later lines of the CLI. An id that
the CLI made must come back unchanged.

Secrets that were removed from the recording are removed from the application's lines, too, before
the two are compared.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, NoReturn, get_args

import anyio
import anyio.lowlevel

from ..concurrency import Signal
from ..errors import PLACEHOLDER, Redact, Redactor, TransportClosed
from ..transport import Launch
from ..wire import Error, Lines
from .comparison import MISSING, Ids, ValueChange, differences, ids_in, leaves, load_line
from .recording import Recording, RecordingEntry

Match = Literal["strict", "loose", "none"]

WIDEST = 160
"""Characters of a value that are shown: it may be a whole image."""
MOST_SHOWN = 5
"""Differences that are shown."""


class ReplayMismatch(Error):
    """The application sent a line that differs from the recording.

    Attributes:
        number: the line of the recording; None if it ended before.
        path: the place of the first difference in that line.
        expected: the recorded line, with the application's ids.
        got: the line that was sent; None if the application ended its input.
    """

    def __init__(
        self, number: int | None, reason: str, path: str, expected: str | None, got: str | None
    ) -> None:
        where = "The end of the recording" if number is None else f"Line {number} of the recording"
        super().__init__(f"{where}: {reason}")
        self.number = number
        self.path = path
        self.expected = expected
        self.got = got


class ReplayUnfinished(Error):
    """The application stopped before it had sent all recorded lines."""

    def __init__(self, unsent: tuple[RecordingEntry, ...]) -> None:
        first = unsent[0]
        super().__init__(
            f"{len(unsent)} recorded lines were not sent; the first is line {first.number} of the "
            f"recording: {first.text[:WIDEST]}"
        )
        self.unsent = unsent


class ReplayTransport:
    """Plays the CLI's side of a recording.

    After a mismatch every call except `aclose` raises it, so that it cannot go unnoticed.

    Args:
        recording: the recording to play.
        match: how to compare the application's lines; see the top of this module.
        ids: ids that the application gives the CLI in another way, such as `--session-id`: from
            the recorded id to the one that replaces it.
        redactor: removed the secrets from the recording; True for a `Redactor`, if the recording
            is redacted.
    """

    def __init__(
        self,
        recording: Recording,
        *,
        match: Match = "strict",
        ids: Mapping[str, str] | None = None,
        redactor: Redact | bool = True,
    ) -> None:
        if match not in get_args(Match):
            raise ValueError(f"match must be strict, loose or none, not {match!r}")
        self._entries = recording.entries
        self._match = match
        self._ids = Ids(dict(ids or {}), _made_by_the_cli(recording))
        self._redact: Redact = redactor if callable(redactor) else str
        if redactor is True and recording.header.get("redacted"):
            self._redact = Redactor()
        self._unsent = [i for i, entry in enumerate(self._entries) if entry.dir == ">"]
        self._next = 0
        self._lines = Lines(sys.maxsize)
        self._output = {"<": bytearray(), "!": bytearray()}
        self._ended: set[str] = set()
        self._input_ended = self._closed = self._exited = False
        self._status: int | None = None
        self._failure: ReplayMismatch | None = None
        self._changed = Signal()

    def configure(self, launch: Launch) -> None:
        """Ignore the command line: the recorded CLI had its own."""

    def finish(self) -> None:
        """Check that the application has sent all recorded lines.

        Raises:
            ReplayMismatch: it had sent others.
            ReplayUnfinished: it has not. Never raised with `match="none"`.
        """
        if self._failure is not None:
            raise self._failure
        unsent = [self._entries[index] for index in self._unsent]
        lines = tuple(entry for entry in unsent if entry.line is not None)
        if lines and self._match != "none":
            raise ReplayUnfinished(lines)

    # --- the transport ---------------------------------------------------------------------------

    async def send(self, data: bytes) -> None:
        """Compare the application's lines with the recording.

        Raises:
            ReplayMismatch: another line was recorded here.
            TransportClosed: the transport is closed, or the application has ended its input.
        """
        await anyio.lowlevel.checkpoint()
        if self._closed or self._input_ended:
            raise TransportClosed("The replay is closed, or its input has ended")
        self._take(self._lines.feed(data))
        self._play()

    async def send_eof(self) -> None:
        """Compare the end of the application's input with the recording.

        Raises:
            ReplayMismatch: another line was recorded here.
        """
        await anyio.lowlevel.checkpoint()
        if not (self._closed or self._input_ended):
            self._take(self._lines.end())
            self._input_ended = True
            self._take_end()
            self._play()

    async def receive(self) -> bytes:
        """Wait for output of the CLI; `b""` when there is no more."""
        return await self._read("<")

    async def receive_stderr(self) -> bytes:
        """Wait for output on the CLI's stderr; `b""` when there is no more."""
        return await self._read("!")

    async def wait(self) -> int | None:
        """Wait until the recorded CLI has exited; None if its exit status was not recorded."""
        await self._until(lambda: self._exited)
        return self._status

    async def aclose(self) -> None:
        """Stop playing. Calls that wait return with the end. It raises nothing; call `finish`."""
        with suppress(ReplayMismatch):
            self._take(self._lines.end())
        self._closed = True
        self._changed.notify()
        await anyio.lowlevel.checkpoint()

    # --- lines of the application ----------------------------------------------------------------

    def _take(self, lines: Sequence[Any]) -> None:
        if self._failure is not None:
            raise self._failure
        for line in lines:
            self._take_line(line)

    def _take_line(self, line: bytes) -> None:
        got = self._redact(line.decode("utf-8", "surrogateescape"))
        expected = self._expected()
        if not expected and self._match != "none":
            number = self._entries[self._unsent[0]].number if self._unsent else None
            self._fail(number, "the application had sent nothing more", got=got)
        for index in expected:
            ids = self._ids.copy()
            if not self._differences(index, got, ids) or self._match == "none":
                self._ids = ids
                self._unsent.remove(index)
                return
        if expected:
            ids, entry = self._ids.copy(), self._entries[expected[0]]
            found = self._differences(expected[0], got, ids)
            reason, then = "\n".join(map(_reason, found[:MOST_SHOWN])), ids.current(entry.text)
            self._fail(entry.number, reason, found[0].path, expected=then, got=got)

    def _expected(self) -> list[int]:
        """Return the lines that can be sent now: the next, or any before one of the CLI."""
        end = next(iter(self._unsent), 0)
        while end < len(self._entries) and self._entries[end].is_line(">"):
            end += 1
        run = self._unsent[: bisect_left(self._unsent, end)]
        return run if self._match == "loose" else run[:1]

    def _differences(self, index: int, got: str, ids: Ids) -> list[ValueChange]:
        def same(name: str, before: Any, after: Any) -> bool:
            if MISSING in (before, after) and self._match == "loose":
                return before in (MISSING, None, "", [], {}) or before is False
            if isinstance(before, str) and isinstance(after, str):
                # The numbers of placeholders count secrets, of which not all are sent here.
                before, after = (PLACEHOLDER.sub(r"<\1>", it) for it in (before, after))
            return ids.same(name, before, after)

        then, now = (load_line(it) for it in (self._entries[index].text, got))
        return differences(leaves(then, lengths=True), leaves(now, lengths=True), same)

    def _take_end(self) -> None:
        if self._match == "none":
            self._unsent.clear()
        if self._unsent:
            entry = self._entries[self._unsent.pop(0)]
            if entry.line is not None:
                reason = "the application ended its input instead of sending this"
                self._fail(entry.number, reason, expected=self._ids.current(entry.text))

    def _fail(
        self,
        number: int | None,
        reason: str,
        path: str = "$",
        *,
        expected: str | None = None,
        got: str | None = None,
    ) -> NoReturn:
        self._failure = ReplayMismatch(number, reason, path, expected, got)
        self._changed.notify()
        raise self._failure

    # --- lines of the CLI ------------------------------------------------------------------------

    async def _read(self, direction: str) -> bytes:
        output = self._output[direction]
        await self._until(lambda: bool(output) or direction in self._ended)
        data = b"" if self._closed else bytes(output)
        output.clear()
        return data

    async def _until(self, ready: Callable[[], bool]) -> None:
        await anyio.lowlevel.checkpoint()
        while not self._closed:
            if self._failure is not None:
                raise self._failure
            self._play()
            if ready():
                return
            await self._changed.wait()

    def _play(self) -> None:
        """Release all lines before which the application has nothing to send."""
        while self._next < len(self._entries):
            entry = self._entries[self._next]
            if entry.dir == ">" and self._next in self._unsent:
                return
            self._next += 1
            self._release(entry)
        self._ended |= {"<", "!"}
        self._exited = True
        self._changed.notify()

    def _release(self, entry: RecordingEntry) -> None:
        if entry.dir is None:
            self._exited, self._status = True, entry.exit
        elif entry.line is None:
            self._ended.add(entry.dir)
        elif entry.dir == "<":
            line = self._ids.current(entry.data.decode("utf-8", "surrogateescape"))
            self._output["<"] += line.encode("utf-8", "surrogateescape")
        elif entry.dir == "!":
            self._output["!"] += entry.data
        self._changed.notify()


def _made_by_the_cli(recording: Recording) -> set[str]:
    """Find the ids that occur first in a line of the CLI."""
    made: set[str] = set()
    seen: set[str] = set()
    for entry in recording:
        if entry.line is not None and entry.dir != "!":
            ids = ids_in(load_line(entry.text))
            made |= ids - seen if entry.dir == "<" else set()
            seen |= ids
    return made


def _reason(found: ValueChange) -> str:
    before, after = (it or "nothing" for it in (found.before, found.after))
    # From where they begin to differ.
    pairs = enumerate(zip(before, after, strict=False))
    differ = next((at for at, (one, two) in pairs if one != two), 0)
    start = differ - WIDEST // 2 if differ > WIDEST else 0
    return f"at {found.path}: {_cut(before, start)} was recorded, {_cut(after, start)} was sent"


def _cut(text: str, start: int) -> str:
    end = start + WIDEST
    return f"{'…' if start else ''}{text[start:end]}{'…' if len(text) > end else ''}"
