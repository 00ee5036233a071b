"""`claudewire doctor`: whether a session would work here, and if not, why.

`surroundings` looks at files and changes none of them. `probe` starts the CLI with a configuration
of its own, in an empty folder, against a scripted API on this machine: no model is called, and the
user's configuration is neither used nor changed. Start with `command`.
"""

from __future__ import annotations

__all__: list[str] = []
