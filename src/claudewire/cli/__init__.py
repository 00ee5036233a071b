"""The `claudewire` command: tasks, conversations and recordings, for a person at a terminal.

It is a product on top of the library, and uses what any application can use; what it needs beyond
that is in the extra `claudewire[cli]`. Start with `entry`, which is what the console script calls,
and `commands`, the table of all commands; each is a module that is loaded when it is used.
"""

from __future__ import annotations

from .entry import main
from .exits import Exit

__all__ = ["Exit", "main"]
