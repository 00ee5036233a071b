"""The trash: where deleted sessions are until it is emptied.

<config>/claudewire/trash/<time>-<session>/session.json       which session, and when
<config>/claudewire/trash/<time>-<session>/<session>.jsonl    its files, as they were
"""

from __future__ import annotations

import logging
import shutil
import time
from datetime import timedelta
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .facts import SessionInfo
from .files import StoreError, check_inside, find_id, loose_agents
from .writing import steps

__all__ = ["Trash", "Trashed"]

log: logging.Logger = logging.getLogger("claudewire.store")

NOTE = "session.json"


class Trashed(Struct, frozen=True):
    """A session in the trash.

    Attributes:
        id: the session.
        folder: the name of the folder that it was in.
        deleted: when it was deleted, in seconds since 1970.
        path: where it is now.
    """

    id: str
    folder: str
    deleted: float
    path: str


_read = msgspec.json.Decoder(Trashed).decode


class Trash:
    """The trash of a configuration folder.

    Args:
        folder: where it is.
        root: the folder of the projects.
    """

    def __init__(self, folder: Path, root: Path) -> None:
        self._folder = folder
        self._root = root

    def put(self, info: SessionInfo) -> Trashed:
        """Move a session and its subagents here. The caller holds its lock."""
        main = Path(info.path)
        check_inside(main, self._root)
        now = time.time()
        place = self._folder / f"{int(now * 1_000_000)}-{info.id}"
        trashed = Trashed(info.id, info.folder, now, str(place))
        loose = list(loose_agents(main, self._root))
        with steps(f"The session {info.id} cannot be deleted") as step:
            step.make(place / NOTE, [msgspec.json.encode(trashed)])
            # The session itself goes first: without it, what is left is not found.
            step.move(main, place / main.name)
            beside = main.with_suffix("")
            if beside.is_dir() and not beside.is_symlink():
                step.move(beside, place / info.id)
            for path in loose:
                step.move(path, place / path.name)
        return trashed

    def list(self) -> list[Trashed]:
        """Return what is here, the last first."""
        found = []
        for path in sorted(self._folder.glob(f"*/{NOTE}"), reverse=True):
            try:
                it = _read(path.read_bytes())
                # What it says itself may no longer be so, and what is there will be deleted.
                found.append(replace(it, path=str(path.parent)))
            except (OSError, msgspec.MsgspecError) as error:
                log.warning("%s cannot be read: %s", path, error)
        return found

    def find(self, id: str) -> Trashed:
        """Return the last session with this id, or with one that begins like it.

        Raises:
            SessionNotFound: there is none, or several begin like this.
        """
        here = self.list()
        advice = "trash() gives those that there are."
        whole = find_id(id, (it.id for it in here), "in the trash", advice)
        return next(it for it in here if it.id == whole)

    def restore(self, trashed: Trashed) -> None:
        """Move a session back. The caller holds its lock."""
        place, id = Path(trashed.path), trashed.id
        target = self._root / trashed.folder / f"{id}.jsonl"
        check_inside(target.parent, self._root)
        if target.exists():
            raise StoreError(
                f"There is a session {id} again", advice="Delete or rename that one first."
            )
        with steps(f"The session {id} cannot be restored") as step:
            for path in sorted(place.iterdir()):
                # What is in the way was made since, by a CLI that goes on with this session.
                is_other = path.name not in (NOTE, target.name)
                if is_other and not (target.parent / path.name).exists():
                    step.move(path, target.parent / path.name)
            step.keep(place / target.name, target, self._folder)
        try:
            _remove(place)
        except StoreError as error:  # the session is back, and that was asked for
            log.warning("%s", error)

    def empty(self, older_than: timedelta) -> int:
        """Delete for good what has been here for so long; return how many sessions."""
        limit = time.time() - older_than.total_seconds()
        old = [it for it in self.list() if it.deleted <= limit]
        for it in old:
            _remove(Path(it.path))
        return len(old)


def _remove(place: Path) -> None:
    try:
        shutil.rmtree(place)
    except OSError as error:
        raise StoreError(
            f"{place} cannot be deleted: {error.strerror}", advice="Make the folder writable."
        ) from error
