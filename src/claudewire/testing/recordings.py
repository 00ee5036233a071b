"""Recordings of tests: made from a real CLI when asked for, replayed otherwise."""

from __future__ import annotations

import inspect
import re
import zlib
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..errors import Redact
from ..transport import Match, Recording, RecordingTransport, ReplayTransport, Transport
from ..wire import Error
from .wirelog import Watched, WireLog

__all__ = ["NoRecording", "WireRecordings", "recording_path"]

LONGEST_NAME = 120
"""Characters of a test's name in the name of a file: systems take 255 bytes."""


class NoRecording(Error):
    """The test should be replayed, but was never recorded."""


class WireRecordings:
    """Gives a test its recordings, one after the other.

    Args:
        log: what watches the wire.
        path: where the first recording is, or is to be.
        scratch: a folder for recordings that are under way.
        record: whether to record; else what was recorded is replayed.
    """

    def __init__(self, log: WireLog, *, path: Path, scratch: Path, record: bool) -> None:
        self._log = log
        self._path = path
        self._scratch = scratch
        self._record = record
        self._count = 0
        self._files = ExitStack()
        self._made: dict[Path, Path] = {}
        self._replays: list[ReplayTransport] = []

    async def __call__(
        self,
        live: Callable[[], Transport | Awaitable[Transport]],
        *,
        match: Match = "strict",
        speed: float | None = None,
        ids: Mapping[str, str] | None = None,
        redactor: Redact | bool = True,
        header: Mapping[str, Any] | None = None,
    ) -> Watched[RecordingTransport] | Watched[ReplayTransport]:
        """Give a transport: the live one, recorded, or a replay of what was recorded.

        A recording is kept if the test passes. A replay must have been played to its end then.

        Args:
            live: makes the real transport; called only to record. It may be an async function.
            match: how exactly the application has to send what it had sent, for a replay.
            speed: how fast to replay, as `ReplayTransport` takes it.
            ids: ids that are not the recorded ones, as `ReplayTransport` takes them.
            redactor: what takes out the secrets.
            header: what else to write at the beginning of a recording.

        Raises:
            NoRecording: there is none to be replayed.
        """
        path = self._next_path()
        if not self._record:
            replay = ReplayTransport(
                _load(path), speed=speed, match=match, ids=ids, redactor=redactor
            )
            self._replays.append(replay)
            return self._log.watch(replay)
        made = live()
        inner = await made if inspect.isawaitable(made) else made
        self._made[path] = self._scratch / path.name
        # Opened here and not by its path: the test may forget to close the transport.
        sink = self._files.enter_context(self._made[path].open("wb"))
        return self._log.watch(RecordingTransport(inner, sink, header=header, redactor=redactor))

    def finish(self, *, passed: bool) -> None:
        """Keep what was recorded, or check that all was replayed; nothing if the test failed.

        Raises:
            ReplayUnfinished: the application had sent more when it was recorded.
        """
        self._files.close()
        if not passed:
            return
        for path, made in self._made.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(made.read_bytes())
        for replay in self._replays:
            replay.finish()

    def _next_path(self) -> Path:
        self._count += 1
        if self._count == 1:
            return self._path
        return self._path.with_name(f"{self._path.stem}-{self._count}.jsonl")


def _load(path: Path) -> Recording:
    try:
        return Recording.load(path)
    except FileNotFoundError:
        advice = "Run `pytest --wire-record` with this test to make it."
        raise NoRecording(f"There is no recording {path}", advice=advice) from None


def recording_path(file: Path, test: str) -> Path:
    """Say where the recording of a test is: in `recordings`, next to the file of the test."""
    name = test.replace("::", ".").replace("[", "-").removesuffix("]")
    plain = re.sub(r"[^\w.,=+-]", "_", name)[:LONGEST_NAME]
    if plain != name:
        plain += f"-{zlib.crc32(name.encode()):08x}"  # others may look the same by now
    return file.parent / "recordings" / file.stem / f"{plain}.jsonl"
