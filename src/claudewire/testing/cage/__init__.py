"""A cage for real programs: no network but loopback, a private home, a clean environment.

`cage` is for applications; `launcher` and `sandbox_server` are programs that run inside. Start with
`cage`. Names are loaded when they are first used: the launcher starts through here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._package import lazy_exports

if TYPE_CHECKING:
    from .cage import FAKE_KEY, Cage
    from .launcher import CageError

__all__ = ["FAKE_KEY", "Cage", "CageError"]

if not TYPE_CHECKING:  # or type checkers would take any name for one of ours
    __getattr__, __dir__ = lazy_exports(
        __name__, {".cage": "FAKE_KEY Cage", ".launcher": "CageError"}
    )
