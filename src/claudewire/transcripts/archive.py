"""The archive: sessions outside of the CLI's sight, linked or copied there as they are.

<config>/claudewire/archive/projects/<folder>/<session>…
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from .files import Found, contents, find_id, find_sessions, session_files
from .writing import make_folder, new_file, store_errors


def keep(main: Path, target: Path, failed: str) -> None:
    """Link or copy the files of a session, unless they are there and as long.

    Args:
        main: the transcript.
        target: the folder of the project to keep it in.
        failed: the message if it fails.
    """
    with store_errors(failed):
        for place, path in session_files(main).items():
            if not _is_kept(path, target / place):
                make_folder((target / place).parent)
                (target / place).unlink(missing_ok=True)
                try:
                    os.link(path, target / place)
                except OSError:  # another disk, or a file system without links
                    new_file(target / place, contents(path))


def is_archived(main: Path, archive: Path) -> bool:
    """Whether all files of a session are in the archive, as they are now."""
    target = archive / main.parent.name
    return all(_is_kept(path, target / place) for place, path in session_files(main).items())


def _is_kept(path: Path, copy: Path) -> bool:
    """Whether a file has a copy that is as long: transcripts only grow."""
    try:
        return copy.stat().st_size >= path.stat().st_size
    except OSError:
        return False


def remove(main: Path, failed: str) -> None:
    """Delete the files of a session: its transcript first, without which the rest is not found."""
    with store_errors(failed):
        main.unlink()
        with suppress(FileNotFoundError):
            shutil.rmtree(main.with_suffix(""))


def find_archived(id: str, archive: Path) -> list[Found]:
    """Return a session in the archive from each project, the last changed first.

    Raises:
        SessionNotFound: none or several sessions match.
    """
    here = find_sessions(archive)
    advice = "archived() returns the existing ones."
    whole = find_id(id, (it.id for it in here), "in the archive", advice)
    found = [it for it in here if it.id == whole]
    return sorted(found, key=lambda it: it.main.mtime_ns, reverse=True)
