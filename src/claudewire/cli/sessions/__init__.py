"""`claudewire sessions`: the conversations that the CLI keeps on disk.

The work is done by `claudewire.store`; here is what is printed. Start with `command`.
"""

from __future__ import annotations

__all__: list[str] = []
