"""File checkpoints: the contents of files before the agent changed them.

Like the real CLI, it keeps them if a variable asks for it, and only for tools that edit files.
Copies are in memory: a resumed session cannot be rewound to previous prompts.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from ..wire import RewindFilesResult
from .engine import Engine

ENABLED = "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"
NOT_FOUND = "No file checkpoint found for this message."

_PATHS = {"Write": "file_path", "Edit": "file_path", "NotebookEdit": "notebook_path"}
"""The tools that edit files, and the field with the path."""


def is_enabled(engine: Engine) -> bool:
    """Return whether the host asked for checkpoints."""
    return engine.session.env.get(ENABLED, "").lower() in ("1", "true", "yes", "on")


def begin_checkpoint(engine: Engine, id: str) -> None:
    """Keep the files that were changed before, as they are when a prompt comes."""
    if is_enabled(engine):
        points = engine.session.checkpoints
        points[id] = {path: _content(path) for files in points.values() for path in files}


def keep_file(engine: Engine, tool: str, given: dict[str, Any]) -> None:
    """Keep a file that a tool is about to change, unless it was kept since the prompt."""
    path = given.get(_PATHS.get(tool, ""))
    if isinstance(path, str):
        full = Path(engine.session.cwd, path)
        for files in engine.session.checkpoints.values():
            files.setdefault(full, _content(full))  # it did not change since that prompt


def rewind(engine: Engine, id: str, *, dry_run: bool) -> RewindFilesResult:
    """Restore the files as they were when a prompt came."""
    files = engine.session.checkpoints.get(id)
    if files is None:
        return RewindFilesResult(can_rewind=False, error=NOT_FOUND)
    if not dry_run:
        for path, content in files.items():
            if content is None:
                path.unlink(missing_ok=True)
            else:
                path.write_bytes(content)
        return RewindFilesResult(can_rewind=True, skipped_links=0)
    changes = {path: _changes(_content(path), kept) for path, kept in files.items()}
    changed = {str(path): counts for path, counts in changes.items() if any(counts)}
    return RewindFilesResult(
        can_rewind=True,
        files_changed=list(changed),
        insertions=sum(added for added, _ in changed.values()),
        deletions=sum(removed for _, removed in changed.values()),
    )


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _changes(now: bytes | None, then: bytes | None) -> tuple[int, int]:
    """Count the lines that are added and removed."""
    before, after = (now or b"").splitlines(), (then or b"").splitlines()
    steps = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    changed = [step for step in steps if step[0] != "equal"]
    return sum(it[4] - it[3] for it in changed), sum(it[2] - it[1] for it in changed)
