"""Commands for what goes over the wire: record, replay, show, diff, lint, schema, sim.

They are thin: what they show is in `claudewire.recordings` and `claudewire.wire`. Each module has
one command. Start with `show`.
"""

from __future__ import annotations

__all__: list[str] = []
