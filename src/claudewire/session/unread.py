"""How much of what came nobody has read yet, and what to do when it is too much."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ..options import Unread

__all__ = ["UnreadCount"]


class UnreadCount:
    """Counts what the turns of one session have not handed out. Any thread may hand out."""

    __slots__ = ("_alarm", "_alarmed", "_high_water", "_lock", "_may_drop", "count", "dropped")

    def __init__(self, unread: Unread, alarm: Callable[[int], None]) -> None:
        self.count: int = 0
        self.dropped: int = 0
        self._high_water = unread.high_water
        self._may_drop = unread.policy == "drop_partial"
        self._alarm = alarm
        self._alarmed = False
        # Re-entrant: the garbage collector may drop a turn in the middle of anything.
        self._lock = threading.RLock()

    def add(self) -> None:
        """One more was put down."""
        with self._lock:
            self.count += 1
        if self.count >= self._high_water and not self._alarmed:
            self._alarmed = True
            self._alarm(self.count)

    def remove(self, count: int = 1) -> None:
        """Some were read, or nobody will read them."""
        with self._lock:
            self.count -= count
        if self._alarmed and self.count < self._high_water // 2:
            self._alarmed = False

    def drops_partial(self, *, has_begun: bool = False) -> bool:
        """Whether a piece of a message is to be dropped now; if so it is counted.

        Args:
            has_begun: an earlier piece of the same message was dropped, so this one is no use.
        """
        if self._may_drop and (has_begun or self.count >= self._high_water):
            self.dropped += 1
            return True
        return False
