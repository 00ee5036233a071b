"""A cage for real programs: no network but loopback, a private home, a clean environment.

`cage` is what applications use; `launcher` and `warden` are programs that run inside. Start with
`cage`. Its names are loaded when they are first used, because the launcher starts through here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._package import lazy_exports

if TYPE_CHECKING:
    from .cage import Cage
    from .warden import CageError

__all__ = ["Cage", "CageError"]

if not TYPE_CHECKING:  # or type checkers would take any name for one of ours
    __getattr__, __dir__ = lazy_exports(__name__, {".cage": "Cage", ".warden": "CageError"})
