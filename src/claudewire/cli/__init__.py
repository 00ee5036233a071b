"""The `claudewire` command: tasks, conversations and recordings, for a person at a terminal.

It is a product on top of the library and uses its public API alone; its own dependencies are in the
extra `claudewire[cli]`. Start with `entry`, the console script, and `commands`, the table of all
commands, whose modules are loaded when they are used.
"""

from __future__ import annotations

from .entry import main
from .errors import Exit

__all__ = ["Exit", "main"]
