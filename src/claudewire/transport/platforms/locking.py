"""A lock on an open file, which the system takes back when its holder dies."""

from __future__ import annotations

import os
import sys

__all__ = ["lock_exclusively"]

if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    _FAR_OFF = 2**30
    """Which byte is locked: one that nobody writes, because a locked one cannot even be read."""

    def lock_exclusively(file: int) -> bool:
        """Lock a file, unless somebody else has: then say False. Closing it unlocks it."""
        os.lseek(file, _FAR_OFF, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def lock_exclusively(file: int) -> bool:
        """Lock a file, unless somebody else has: then say False. Closing it unlocks it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
