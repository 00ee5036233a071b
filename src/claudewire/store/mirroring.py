"""Between the disk and a store elsewhere: copy, follow while a session runs, and fetch.

What was copied already is not copied again, so each of these can be repeated, and goes on where the
last one ended.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from ..wire import TranscriptMirrorMessage
from .blocking import BlockingSessions
from .entries import BadLine
from .facts import SessionInfo
from .files import (
    SUFFIX,
    StoreError,
    check_inside,
    entries_of,
    is_session_id,
    lines_of,
    open_inside,
    project_folder,
)
from .stores import SessionStore, StoredEntry, StoreKey
from .writing import add_line, encode_line, exclusive, new_file

__all__ = ["Mirror", "fetch_session", "key_of", "push_session", "store_mirrored"]

log: logging.Logger = logging.getLogger("claudewire.store")

AT_ONCE = 500
"""Entries that are given to a store in one call, as the official SDK does."""

LAST = 10.0
"""Seconds for what is still to be copied when a mirror ends."""


def key_of(path: Path, root: Path, project_key: str | None = None) -> StoreKey:
    """Return the key of a transcript: the name of its folder, its session, its subpath.

    Raises:
        StoreError: it is no transcript below this folder.
    """
    try:
        folder, *rest = path.relative_to(root).parts
    except ValueError:
        rest = []
    if not rest or path.suffix != SUFFIX:
        raise StoreError(f"{path} is no transcript in {root}")
    if len(rest) == 1:
        return {"project_key": project_key or folder, "session_id": path.stem}
    subpath = "/".join([*rest[1:-1], path.stem])
    return {"project_key": project_key or folder, "session_id": rest[0], "subpath": subpath}


class Mirror:
    """Copies what is added to the transcripts of a session into a store.

    Args:
        sessions: where the session is.
        id: the session. It need not exist yet.
        store: where it is copied to.
        project_key: the name of the project in the store; that of its folder unless given.
    """

    def __init__(
        self,
        sessions: BlockingSessions,
        id: str,
        store: SessionStore,
        *,
        project_key: str | None = None,
    ) -> None:
        if not is_session_id(id):
            raise StoreError(f"{id!r} cannot be the id of a session")
        self._sessions = sessions
        self._id = id
        self._store = store
        self._project_key = project_key
        self._copied: dict[Path, int] = {}

    async def copy(self) -> int:
        """Copy what is new; return how many entries that were.

        Raises:
            StoreError: the store has other entries than the disk.
        """
        count = 0
        for path in await anyio.to_thread.run_sync(self._paths):
            count += await self._copy_file(path)
        return count

    async def run(self, *, poll: float = 0.5) -> None:
        """Copy what is new, again and again, until it is cancelled; then once more.

        What a store refuses is logged, and given again the next time.

        Args:
            poll: seconds between two looks at the files.
        """
        try:
            while True:
                await self._copy_or_log()
                await anyio.sleep(poll)
        finally:
            with anyio.move_on_after(LAST, shield=True):
                await self._copy_or_log()

    async def _copy_or_log(self) -> None:
        try:
            await self.copy()
        except Exception as error:  # of any kind, as the store is the application's
            log.warning("The session %s could not be copied to the store: %s", self._id, error)

    async def _copy_file(self, path: Path) -> int:
        key = key_of(path, self._sessions.root, self._project_key)
        offset = self._copied.get(path)
        # The first time, what the store has already is compared with what is here.
        there = _There([] if offset is not None else await self._store.load(key) or [], key)
        count, start, end = 0, -1, offset or 0
        while end != start:
            start = end
            entries, end = await anyio.to_thread.run_sync(self._read, path, start)
            new = there.lacks(entries)
            if new:
                await self._store.append(key, new)
                count += len(new)
            if offset is not None:
                self._copied[path] = end
        self._copied[path] = end
        return count

    def _paths(self) -> list[Path]:
        root = self._sessions.root
        mains = sorted(root.glob(f"*/{self._id}{SUFFIX}"))
        agents = sorted(root.glob(f"*/{self._id}/subagents/**/*{SUFFIX}"))
        return [*mains, *agents]

    def _read(self, path: Path, start: int) -> tuple[list[StoredEntry], int]:
        """Read some complete lines; where they end comes back, too."""
        entries: list[StoredEntry] = []
        with open_inside(path, self._sessions.root) as file:
            for line in islice(lines_of(file, start), AT_ONCE):
                if line.is_complete:
                    start = line.offset + line.length + 1
                    entry = line.read()
                    entries += [] if isinstance(entry, BadLine) else [entry.raw]
        return entries, start


class _There:
    """What a store has already, compared with what is on disk.

    Args:
        stored: its entries.
        key: which transcript.
    """

    def __init__(self, stored: list[StoredEntry], key: StoreKey) -> None:
        self._stored = iter(stored)
        self._key = key
        self._seen: set[Any] = set()
        self._ended = not stored

    def lacks(self, entries: list[StoredEntry]) -> list[StoredEntry]:
        """Return those of the next entries on disk that the store lacks.

        Raises:
            StoreError: it has others.
        """
        return entries if self._ended else [entry for entry in entries if self._is_new(entry)]

    def _is_new(self, entry: StoredEntry) -> bool:
        uuid = entry.get("uuid")
        if uuid is not None and uuid in self._seen:
            return False  # stores keep an entry once
        self._seen.add(uuid)
        stored = next(self._stored, None)
        self._ended = stored is None
        if stored is not None and stored != entry:
            raise StoreError(
                f"The store has another session {self._key['session_id']} than the disk",
                advice="Delete it there, or give another project_key.",
            )
        return stored is None


def _once(entries: list[StoredEntry]) -> Iterator[StoredEntry]:
    """Leave out entries whose uuid was there before, as stores do."""
    seen: set[Any] = set()
    for entry in entries:
        uuid = entry.get("uuid")
        if uuid is None or uuid not in seen:
            seen.add(uuid)
            yield entry


async def push_session(
    sessions: BlockingSessions, id: str, store: SessionStore, *, project_key: str | None = None
) -> int:
    """Copy a session with its subagents into a store; return how many entries were new."""
    info = await anyio.to_thread.run_sync(sessions.info, id)
    return await Mirror(sessions, info.id, store, project_key=project_key).copy()


async def store_mirrored(
    message: TranscriptMirrorMessage, store: SessionStore, *, project_key: str | None = None
) -> None:
    """Copy what a CLI says that it has written: with `session_mirror=True` it does.

    For a CLI whose disk cannot be reached from here, in a container for example.

    Raises:
        StoreError: it does not say which transcript that is.
    """
    path = Path(message.file_path or "")
    root = next((it for it in path.parents if it.name == "projects"), path)
    if message.entries:
        await store.append(key_of(path, root, project_key), message.entries)


async def fetch_session(
    sessions: BlockingSessions,
    store: SessionStore,
    id: str,
    *,
    cwd: str | os.PathLike[str],
    project_key: str | None = None,
) -> SessionInfo:
    """Write a session that is in a store to this disk, so that it can be resumed here.

    What is here already is completed.

    Raises:
        StoreError: the store has no such session, or the one here has gone another way.
        CLIError: a process has the session open here.
    """
    if not is_session_id(id):
        raise StoreError(f"{id!r} cannot be the id of a session")
    folder = project_folder(cwd)
    key: StoreKey = {"project_key": project_key or folder, "session_id": id}
    main = await store.load(key)
    if main is None:
        raise StoreError(f"The store has no session {id} in the project {key['project_key']}")
    target = sessions.root / folder / f"{id}{SUFFIX}"
    list_subkeys = getattr(store, "list_subkeys", None)
    for subpath in [] if list_subkeys is None else await list_subkeys(key):
        entries = await store.load({**key, "subpath": subpath}) or []
        path = target.with_suffix("").joinpath(*subpath.split("/"))
        await anyio.to_thread.run_sync(
            _complete, sessions, path.with_name(path.name + SUFFIX), id, entries
        )
    await anyio.to_thread.run_sync(_complete, sessions, target, id, main)
    return await anyio.to_thread.run_sync(sessions.info, id)


def _complete(sessions: BlockingSessions, path: Path, id: str, entries: list[StoredEntry]) -> None:
    """Make a file with these entries, or add those that it lacks."""
    check_inside(path, sessions.root)
    with exclusive(id, sessions.config_dir):
        if not path.exists():
            new_file(path, map(encode_line, entries))
            return
        with open_inside(path, sessions.root) as file:
            here = list(_once([it.raw for it in entries_of(file) if not isinstance(it, BadLine)]))
        if here[: len(entries)] != entries[: len(here)]:
            raise StoreError(
                f"The session {id} here has gone another way than the one in the store",
                advice="Delete or move the one here, then fetch again.",
            )
        rest = entries[len(here) :]
        if rest:
            add_line(path, sessions.root, b"".join(map(encode_line, rest)))
