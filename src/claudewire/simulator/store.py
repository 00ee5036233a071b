"""Where a simulated CLI keeps its conversations, so that another process can go on with them.

The layout is that of the real CLI: a folder for each working directory, in it a file of JSON Lines
for each session.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from typing import Any

from ..wire import load

__all__ = ["SessionStore"]

# What may be in a file's name is 255 bytes at most; a longer folder is told apart by a checksum.
_LONGEST_FOLDER = 200

_SUFFIX = ".jsonl"


class SessionStore:
    """The sessions of one working directory.

    Args:
        config_dir: the CLI's own folder. Nothing outside of it is touched.
        cwd: the working directory.
        enabled: whether anything is written. What is there can be read all the same.
    """

    def __init__(self, config_dir: str, cwd: str, enabled: bool) -> None:
        self.enabled = enabled
        self.folder: str = os.path.join(config_dir, "projects", _folder_name(cwd))

    def append(self, session_id: str, entry: dict[str, Any]) -> None:
        """Add an entry to a session, and the session if there is none.

        Raises:
            ValueError: the id cannot be the name of a file.
        """
        path = self._path(session_id)
        if self.enabled:
            self._write(path, "ab", _line(entry))

    def load(self, session_id: str) -> list[dict[str, Any]] | None:
        """Read the entries of a session; None if there is none. A torn line is left out."""
        if not _is_id(session_id):
            return None
        try:
            with open(self._path(session_id), "rb") as file:
                lines = file.read().split(b"\n")
        except FileNotFoundError:
            return None
        return [entry for line in lines if (entry := _entry(line)) is not None]

    def latest(self) -> str | None:
        """Find the session that was last written to."""
        try:
            with os.scandir(self.folder) as files:
                found = [
                    (file.stat().st_mtime_ns, file.name.removesuffix(_SUFFIX))
                    for file in files
                    if file.name.endswith(_SUFFIX)
                ]
        except FileNotFoundError:
            return None
        return max(found)[1] if found else None

    def fork(self, old: str, new: str) -> None:
        """Copy a session, if it is there, under another id; the copies of its entries name that.

        Raises:
            FileExistsError: there is a session with the new id.
            ValueError: an id cannot be the name of a file.
        """
        path = self._path(new)
        self._path(old)
        entries = self.load(old)
        if self.enabled and entries is not None:
            lines = (_line(_renamed(entry, old, new)) for entry in entries)
            self._write(path, "xb", b"".join(lines))

    def _path(self, session_id: str) -> str:
        if not _is_id(session_id):
            raise ValueError(f"{session_id!r} cannot be the id of a session")
        return os.path.join(self.folder, session_id + _SUFFIX)

    def _write(self, path: str, mode: str, data: bytes) -> None:
        os.makedirs(self.folder, exist_ok=True)
        with open(path, mode) as file:
            file.write(data)
            file.flush()
            # The file system's own clock may be too coarse to tell which session is the newest.
            now = time.time_ns()
            os.utime(file.fileno(), ns=(now, now))


def _is_id(text: str) -> bool:
    return text.isascii() and text.replace("-", "").replace("_", "").isalnum() and len(text) <= 128


def _folder_name(cwd: str) -> str:
    name = "".join(char if char.isascii() and char.isalnum() else "-" for char in cwd)
    if len(name) <= _LONGEST_FOLDER:
        return name
    checksum = zlib.crc32(os.fsencode(cwd))
    return f"{name[:_LONGEST_FOLDER]}-{checksum:08x}"


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = load(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _renamed(entry: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """Replace the session's id, in the real CLI's spelling or in that of the wire."""
    names = {key: new for key in ("session_id", "sessionId") if entry.get(key) == old}
    return {**entry, **names}
