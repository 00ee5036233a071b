"""Copies between the disk and a store elsewhere: push, mirror while a session runs, and pull.

Entries are never copied twice, so each of these can be repeated, and continues where the last one
ended.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from pathlib import Path

import anyio
import anyio.to_thread

from ..wire import TranscriptMirrorMessage
from .entries import BadLine
from .files import SUFFIX, Line, StoreError, is_session_id, lines_of, open_file
from .stores import SessionStore, StoredEntry, StoreKey
from .writing import add_line, encode_line, exclusive, new_file

log: logging.Logger = logging.getLogger("claudewire.transcripts")

AT_ONCE = 500
"""Entries that a store gets in one call, as from the official SDK."""

LAST = 10.0
"""Seconds for the last copy when a mirror ends."""

_PART = re.compile(r"[A-Za-z0-9][\w.-]*")
"""A part of a subpath, which becomes the name of a file or folder."""


def key_of(path: Path, root: Path, project_key: str | None = None) -> StoreKey:
    """Return the key of a transcript: the name of its folder, its session, its subpath.

    Raises:
        StoreError: it is no transcript below this folder.
    """
    parts = path.relative_to(root).parts if path.is_relative_to(root) else ()
    if len(parts) < 2 or path.suffix != SUFFIX:
        raise StoreError(f"{path} is no transcript in {root}")
    folder, *rest = parts
    key: StoreKey = {"project_key": project_key or folder, "session_id": path.stem}
    if len(rest) > 1:
        key["session_id"] = rest[0]
        key["subpath"] = "/".join([*rest[1:-1], path.stem])
    return key


class Mirror:
    """Copies new lines of a session into a store.

    Args:
        root: the folder of the projects.
        id: the session. It need not exist yet.
        store: the target.
        project_key: the name of the project in the store; that of its folder by default.
    """

    def __init__(
        self, root: Path, id: str, store: SessionStore, project_key: str | None = None
    ) -> None:
        _check_id(id)
        self._root = root
        self._id = id
        self._store = store
        self._project_key = project_key
        self._copied: dict[Path, int] = {}

    async def copy(self) -> int:
        """Copy new entries; return their number.

        Raises:
            StoreError: the store has other entries than the disk.
        """
        return sum(
            [await self._copy_file(it) for it in await anyio.to_thread.run_sync(self._paths)]
        )

    async def run(self, poll: float) -> None:
        """Copy new entries every `poll` seconds until cancelled, and then once more.

        Failures of the store are logged and retried.
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
        except Exception as error:  # of any kind: the store is the application's
            log.warning("The session %s could not be copied to the store: %s", self._id, error)

    async def _copy_file(self, path: Path) -> int:
        key = key_of(path, self._root, self._project_key)
        start = self._copied.pop(path, None)  # compared again after a failure
        lines = await anyio.to_thread.run_sync(self._read, path, start or 0)
        new = _entries(lines)
        if start is None:  # the first time, the store may have some of them
            new = _missing(new, await self._store.load(key) or [], "store", key["session_id"])
        for place in range(0, len(new), AT_ONCE):
            await self._store.append(key, new[place : place + AT_ONCE])
        self._copied[path] = lines[-1].end if lines else start or 0
        return len(new)

    def _paths(self) -> list[Path]:
        mains = sorted(self._root.glob(f"*/{self._id}{SUFFIX}"))
        return mains + sorted(self._root.glob(f"*/{self._id}/subagents/**/*{SUFFIX}"))

    def _read(self, path: Path, start: int) -> list[Line]:
        with open_file(path) as file:
            return [line for line in lines_of(file, start) if line.is_complete]


def _check_id(id: str) -> None:
    if not is_session_id(id):
        raise StoreError(f"{id!r} cannot be the id of a session")


def _entries(lines: Iterable[Line]) -> list[StoredEntry]:
    """Return the entries of lines; of several with one uuid the first, as in stores."""
    found: dict[object, StoredEntry] = {}
    for line in lines:
        entry = line.read()
        if not isinstance(entry, BadLine):
            found.setdefault(entry.uuid or line.offset, entry.raw)
    return [*found.values()]


def _missing(
    wanted: list[StoredEntry], there: list[StoredEntry], where: str, id: str
) -> list[StoredEntry]:
    """Return the entries that are missing at the end.

    Raises:
        StoreError: other entries are there.
    """
    if there[: len(wanted)] != wanted[: len(there)]:
        raise StoreError(
            f"The session {id} in the {where} has diverged from this one",
            advice=f"Delete it in the {where}, or use another project_key.",
        )
    return wanted[len(there) :]


async def store_mirrored(
    message: TranscriptMirrorMessage, store: SessionStore, *, project_key: str | None = None
) -> None:
    """Copy the lines that a CLI reports with `session_mirror=True`.

    For a CLI whose disk cannot be reached from here, in a container for example.

    Raises:
        StoreError: the message names no transcript.
    """
    path = Path(message.file_path or "")
    root = next((it for it in path.parents if it.name == "projects"), path)
    if message.entries:
        await store.append(key_of(path, root, project_key), message.entries)


async def pull_session(
    config: Path, folder: str, id: str, store: SessionStore, project_key: str | None
) -> None:
    """Write a session from a store to the disk, or add its missing lines there."""
    _check_id(id)
    key: StoreKey = {"project_key": project_key or folder, "session_id": id}
    main = await store.load(key)
    if main is None:
        raise StoreError(f"The store has no session {id} in the project {key['project_key']}")
    project = config / "projects" / folder
    list_subkeys = getattr(store, "list_subkeys", None)
    for subpath in [] if list_subkeys is None else await list_subkeys(key):
        entries = await store.load({**key, "subpath": subpath}) or []
        parts = subpath.split("/")
        if not all(_PART.fullmatch(part) for part in parts):
            raise StoreError(f"{subpath!r} cannot be the subpath of a transcript")
        path = project.joinpath(id, *parts[:-1], f"{parts[-1]}{SUFFIX}")
        await anyio.to_thread.run_sync(_complete, config, path, id, entries)
    await anyio.to_thread.run_sync(_complete, config, project / f"{id}{SUFFIX}", id, main)


def _complete(config: Path, path: Path, id: str, entries: list[StoredEntry]) -> None:
    """Make a file with these entries, or add the missing ones."""
    with exclusive(id, config):
        if not path.exists():
            new_file(path, map(encode_line, entries))
            return
        with open_file(path) as file:
            here = _entries(lines_of(file))
        rest = _missing(entries, here, "folder of this machine", id)
        if rest:
            add_line(path, b"".join(map(encode_line, rest)))
