"""Drive the `claude` CLI over its stream-json protocol.

The protocol itself, without any I/O, is in `claudewire.wire`.
"""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
