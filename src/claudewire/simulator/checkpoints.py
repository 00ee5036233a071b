"""File checkpoints: what files were like before the agent changed them, so that it can be undone.

The real CLI keeps them if the host asks for it by a variable. It copies a file before a tool that
edits files changes it, and notes the copies in the transcript. What shell commands do is not kept.
"""

from __future__ import annotations

import os
from typing import Any

from ..wire import RewindFilesResult
from .engine import Engine
from .session import new_uuid, timestamp

__all__ = ["NOT_ENABLED", "begin_checkpoint", "keep_file", "rewind"]

ENABLED = "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"
NOT_ENABLED = "File rewinding is not enabled."
NOT_FOUND = "No file checkpoint found for this message."

_PATHS = {"Write": "file_path", "Edit": "file_path", "NotebookEdit": "notebook_path"}
"""The tools that edit files, and what tells which."""

Files = dict[str, bytes | None]
"""The content of files; None for one that does not exist."""


def _is_enabled(engine: Engine) -> bool:
    return engine.session.env.get(ENABLED, "").lower() in ("1", "true", "yes", "on")


def begin_checkpoint(engine: Engine, id: str) -> None:
    """Keep what the files that were changed before are like when a prompt comes."""
    if not _is_enabled(engine):
        return
    points = engine.session.checkpoints
    known = dict.fromkeys(path for files in points.values() for path in files)
    points[id] = {path: _content(path) for path in known}
    backups = {_relative(engine, path): _backup(engine, path, points[id]) for path in known}
    snapshot = {"messageId": id, "trackedFileBackups": backups, "timestamp": timestamp()}
    engine.transcript.loose(
        "file-history-snapshot", messageId=id, snapshot=snapshot, isSnapshotUpdate=False
    )


def keep_file(engine: Engine, tool: str, given: dict[str, Any]) -> None:
    """Keep a file that a tool is about to change, if it has not been kept since the prompt."""
    points, path = engine.session.checkpoints, given.get(_PATHS.get(tool, ""))
    if not points or not isinstance(path, str):
        return
    path = os.path.join(engine.session.cwd, path)
    current = next(reversed(points))
    for files in points.values():  # it has not changed since the prompts before, either
        if path not in files:
            files[path] = _content(path)
            if files is points[current]:
                _note(engine, current, path, files)


def _note(engine: Engine, id: str, path: str, files: Files) -> None:
    engine.transcript.loose(
        "file-history-delta",
        messageId=new_uuid(),
        snapshotMessageId=id,
        trackingPath=_relative(engine, path),
        backup=_backup(engine, path, files),
        timestamp=timestamp(),
    )


def _backup(engine: Engine, path: str, files: Files) -> dict[str, Any]:
    from hashlib import sha256  # not before it is needed: most sessions keep no files

    versions = engine.session.file_versions
    versions[path] = versions.get(path, 0) + 1
    name = f"{sha256(path.encode()).hexdigest()[:16]}@v{versions[path]}"
    return {
        "backupFileName": name if files[path] is not None else None,
        "version": versions[path],
        "backupTime": timestamp(),
        "realParentDir": os.path.dirname(path),
    }


def rewind(engine: Engine, id: str, *, dry_run: bool) -> RewindFilesResult | None:
    """Give files the content that they had when a prompt came; None if nothing is kept at all."""
    if not _is_enabled(engine):
        return None
    files = engine.session.checkpoints.get(id)
    if files is None:
        return RewindFilesResult(can_rewind=False, error=NOT_FOUND)
    if not dry_run:
        for path, content in files.items():
            _restore(path, content)
        return RewindFilesResult(can_rewind=True, skipped_links=0)
    changes = {path: _changes(_content(path), kept) for path, kept in files.items()}
    changed = {path: counts for path, counts in changes.items() if any(counts)}
    return RewindFilesResult(
        can_rewind=True,
        files_changed=list(changed),
        insertions=sum(added for added, _ in changed.values()),
        deletions=sum(removed for _, removed in changed.values()),
    )


def _relative(engine: Engine, path: str) -> str:
    below = engine.session.cwd + os.sep
    return path.removeprefix(below)


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError):  # such as a path with a null byte
        return None


def _restore(path: str, content: bytes | None) -> None:
    if content is not None:
        with open(path, "wb") as file:
            file.write(content)
    elif os.path.exists(path):
        os.remove(path)


def _changes(now: bytes | None, then: bytes | None) -> tuple[int, int]:
    """How many lines are added, and how many are removed."""
    from difflib import SequenceMatcher  # not before it is needed

    before, after = (now or b"").splitlines(), (then or b"").splitlines()
    steps = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    changed = [step for step in steps if step[0] != "equal"]
    return sum(it[4] - it[3] for it in changed), sum(it[2] - it[1] for it in changed)
