"""Replay: a recording plays the CLI.

What the CLI wrote comes in the recorded order, each line as soon as the application has sent all
that it had sent before that line. What the application sends is compared with what was recorded:

* `strict`: the same JSON, line by line in the same order. How it is laid out does not matter, nor
  the order of keys.
* `loose`: fields that only the application sends are ignored, and so are recorded ones that are
  missing now if they were null, false or empty. Lines between which the CLI wrote nothing may come
  in any order.
* `none`: nothing is compared, lines are only counted.

Ids may differ. An id that the application made (of a request, a message, a session, a callback) is
taken for the recorded one in its place, and from then on replaces it in all that the CLI writes. An
id that the CLI made must come back as it was. As long as the application uses the recorded ids, the
CLI's lines are the recorded bytes.

Secrets that were removed from the recording are removed from what the application sends, too,
before the two are compared.
"""

from __future__ import annotations

import difflib
import json
import math
import sys
from bisect import bisect_left
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Literal, NoReturn, cast

import anyio
import anyio.lowlevel

from ..concurrency import Signal
from ..errors import Redact, Redactor, TransportClosed
from ..wire import Error, Lines
from .process import Launch
from .recording import Recording, RecordingEntry
from .replay_compare import WIDEST, Comparison, Ids, excerpts

__all__ = ["Match", "ReplayMismatch", "ReplayTransport", "ReplayUnfinished"]

Match = Literal["strict", "loose", "none"]


class ReplayMismatch(Error):
    """The application sent something else than when the recording was made.

    Attributes:
        number: the line of the recording where it did something else; None if it ended before.
        path: where in that line the first difference is.
        expected: the line that was recorded, with the application's ids.
        got: the line that was sent; None if the application ended its input.
    """

    def __init__(
        self, number: int | None, reason: str, path: str, expected: str | None, got: str | None
    ) -> None:
        where = "The end of the recording" if number is None else f"Line {number} of the recording"
        super().__init__(f"{where}: {reason}{_diff(expected, got)}")
        self.number = number
        self.path = path
        self.expected = expected
        self.got = got


class ReplayUnfinished(Error):
    """The application stopped before it had sent all that was recorded."""

    def __init__(self, unsent: tuple[RecordingEntry, ...]) -> None:
        first = unsent[0]
        super().__init__(
            f"{len(unsent)} recorded lines were not sent; the first is line {first.number} of the "
            f"recording: {first.text[:WIDEST]}"
        )
        self.unsent = unsent


def _diff(expected: str | None, got: str | None) -> str:
    pair = _pretty(expected), _pretty(got)
    lines = list(difflib.unified_diff(*pair, "recorded", "sent", lineterm=""))
    around = zip(["", *lines], lines, [*lines[1:], ""], strict=False)
    return "".join(f"\n{_shown(*three)}" for three in around)


def _shown(before: str, line: str, after: str) -> str:
    """One line of a diff, shortened to where it differs from the one that it replaces."""
    other = after if line[0] == "-" else before
    replaces = {line[0], other[:1]} == {"-", "+"}
    return line[0] + excerpts(line[1:], other[1:] if replaces else "")[0]


def _pretty(line: str | None) -> list[str]:
    if line is None:
        return []
    try:
        value = json.loads(line, strict=False)
    except (ValueError, RecursionError):
        return [line]
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False).split("\n")


class ReplayTransport:
    """Plays the CLI's side of a recording.

    After a mismatch every call but `aclose` raises it, so that it cannot go unnoticed.

    Args:
        recording: what to play.
        speed: None for at once; 1.0 for the recorded pace, 2.0 for twice as fast.
        match: how to compare what the application sends; see the top of this module.
        ids: ids that the application gives the CLI in another way, such as `--session-id`: from
            the recorded id to the one that replaces it.
        redactor: what removed the secrets from the recording; True for a `Redactor`, if they were
            removed.
    """

    def __init__(
        self,
        recording: Recording,
        *,
        speed: float | None = None,
        match: Match = "strict",
        ids: Mapping[str, str] | None = None,
        redactor: Redact | bool = True,
    ) -> None:
        if speed is not None and not speed > 0:
            raise ValueError(f"The speed must be more than 0, not {speed}")
        if match not in ("strict", "loose", "none"):
            raise ValueError(f"match must be strict, loose or none, not {match!r}")
        self._entries = recording.entries
        self._speed = speed
        self._match = match
        self._ids = Ids(ids or {})
        self._redact = _redactor(redactor, bool(recording.header.get("redacted")))
        self._unsent = [i for i, entry in enumerate(self._entries) if entry.dir == ">"]
        self._sent_at: dict[int, float] = {}
        self._noted = 0
        self._played = 0
        self._then = 0.0
        self._now: float | None = None
        self._lines = Lines(sys.maxsize)
        self._output = {"<": bytearray(), "!": bytearray()}
        self._ended: set[str] = set()
        self._input_ended = False
        self._closed = False
        self._exited = False
        self._status: int | None = None
        self._failure: ReplayMismatch | None = None
        self._changed = Signal()

    def configure(self, launch: Launch) -> None:
        """Learn how the CLI would be started; it was, with options of its own, when recorded."""

    # --- facts -----------------------------------------------------------------------------------

    @property
    def unplayed(self) -> tuple[RecordingEntry, ...]:
        """The recorded lines that have been neither sent nor received yet."""
        unsent = set(self._unsent)
        return tuple(
            entry
            for index, entry in enumerate(self._entries)
            if entry.line is not None
            and (index in unsent if entry.dir == ">" else index >= self._played)
        )

    def finish(self) -> None:
        """Check that the application has sent all that was recorded.

        Raises:
            ReplayMismatch: it had sent something else.
            ReplayUnfinished: it has not. Never raised with `match="none"`.
        """
        if self._failure is not None:
            raise self._failure
        unsent = tuple(entry for entry in self.unplayed if entry.is_line(">"))
        if unsent and self._match != "none":
            raise ReplayUnfinished(unsent)

    # --- the transport ---------------------------------------------------------------------------

    async def send(self, data: bytes) -> None:
        """Compare what the application sends with the recording.

        Raises:
            ReplayMismatch: something else was recorded here.
            TransportClosed: the transport is closed, or the application has ended its input.
        """
        await self._begin()
        for line in self._lines.feed(data):
            self._take(cast("bytes", line))
        self._play()

    async def send_eof(self) -> None:
        """Compare the end of the application's input with the recording.

        Raises:
            ReplayMismatch: something else was recorded here.
        """
        if self._closed or self._input_ended:
            await anyio.lowlevel.checkpoint()
            return
        await self._begin()
        self._input_ended = True
        self._take_rest()
        self._take_end()
        self._play()

    async def receive(self) -> bytes:
        """Wait for what the CLI wrote; `b""` when there is no more."""
        return await self._read("<")

    async def receive_stderr(self) -> bytes:
        """Wait for what the CLI wrote to stderr; `b""` when there is no more."""
        return await self._read("!")

    async def wait(self) -> int | None:
        """Wait until the recorded CLI has exited; None if its exit status was not recorded."""
        await self._until(lambda: self._exited)
        return self._status

    async def aclose(self) -> None:
        """Stop playing. Calls that wait return with the end. It raises nothing; call `finish`."""
        if self._failure is None:
            with suppress(ReplayMismatch):
                self._take_rest()
        self._closed = True
        self._changed.notify()
        await anyio.lowlevel.checkpoint()

    # --- what the application sends --------------------------------------------------------------

    async def _begin(self) -> None:
        await anyio.lowlevel.checkpoint()
        if self._closed or self._input_ended:
            raise TransportClosed("The replay is closed, or its input has ended")
        if self._failure is not None:
            raise self._failure

    def _take(self, line: bytes) -> None:
        text = line.decode("utf-8", "surrogateescape")
        first: tuple[int, Comparison] | None = None
        for index in self._expected():
            comparison = self._compare(index, text)
            if not comparison.differences or self._match == "none":
                self._ids.learn(comparison.new)
                self._sent(index)
                return
            first = first or (index, comparison)
        if first is not None:
            self._fail_at(*first)
        if self._match != "none":
            number = self._entries[self._unsent[0]].number if self._unsent else None
            got = text if self._redact is None else self._redact(text)
            self._fail(number, "the application had sent nothing more", got=got)

    def _take_rest(self) -> None:
        for line in self._lines.end():
            self._take(cast("bytes", line))

    def _take_end(self) -> None:
        if self._match == "none":
            self._unsent.clear()
        if not self._unsent:
            return
        entry = self._entries[self._unsent[0]]
        if entry.line is not None:
            reason = "the application ended its input instead of sending this"
            self._fail(entry.number, reason, expected=self._ids.current(entry.text))
        self._sent(self._unsent[0])

    def _expected(self) -> list[int]:
        """Which lines can be sent now: the next, or any before the next line of the CLI."""
        end = next(iter(self._unsent), 0)
        while end < len(self._entries) and self._entries[end].is_line(">"):
            end += 1
        run = self._unsent[: bisect_left(self._unsent, end)]
        return run if self._match == "loose" else run[:1]

    def _compare(self, index: int, text: str) -> Comparison:
        while self._noted < index:
            if self._entries[self._noted].dir == "<":
                self._ids.note_received(self._entries[self._noted])
            self._noted += 1
        expected, loose = self._entries[index].text, self._match == "loose"
        comparison = Comparison(expected, text, self._ids, loose)
        if comparison.differences and self._redact is not None:
            comparison = Comparison(expected, self._redact(text), self._ids, loose)
        return comparison

    def _sent(self, index: int) -> None:
        self._unsent.remove(index)
        self._sent_at[index] = self._time()

    def _fail_at(self, index: int, comparison: Comparison) -> NoReturn:
        entry, (path, reason) = self._entries[index], comparison.differences[0]
        expected = self._ids.current(entry.text, comparison.new)
        self._fail(entry.number, f"at {path}: {reason}", path, expected, comparison.got)

    def _fail(
        self,
        number: int | None,
        reason: str,
        path: str = "$",
        expected: str | None = None,
        got: str | None = None,
    ) -> NoReturn:
        self._failure = ReplayMismatch(number, reason, path, expected, got)
        self._changed.notify()
        raise self._failure

    # --- playing the CLI -------------------------------------------------------------------------

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
            due = self._play()
            if ready():
                return
            with anyio.CancelScope(deadline=due):
                await self._changed.wait()

    def _play(self) -> float:
        """Release what is due; return when the next is, or infinity if the application must act."""
        now = self._time()
        self._now = now if self._now is None else self._now
        while self._played < len(self._entries):
            entry = self._entries[self._played]
            if self._unsent and self._unsent[0] <= self._played:
                return math.inf
            due = self._due(entry, self._now)
            if due > now:
                return due
            self._now, self._then = due, entry.t
            self._played += 1
            self._release(entry)
        self._ended |= {"<", "!"}
        self._exited = True
        return now

    def _due(self, entry: RecordingEntry, before: float) -> float:
        if entry.dir == ">":
            return max(before, self._sent_at.get(self._played, before))
        return before + max(0.0, entry.t - self._then) / self._speed if self._speed else before

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

    def _time(self) -> float:
        return 0.0 if self._speed is None else anyio.current_time()


def _redactor(redactor: Redact | bool, redacted: bool) -> Redact | None:
    if callable(redactor):
        return redactor
    return Redactor() if redactor and redacted else None
