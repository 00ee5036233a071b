"""A cage for real programs: no network but loopback, a private home, a clean environment.

`cage` is for applications, and serves the API inside; `launcher` is the program that enters a cage.
Start with `cage`. Names are loaded when they are first used: the launcher starts through here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._package import lazy_exports

if TYPE_CHECKING:
    from .cage import FAKE_KEY as FAKE_KEY
    from .cage import Cage as Cage
    from .launcher import CageError as CageError
else:  # or type checkers would accept any name
    _HOMES = {
        ".cage": "FAKE_KEY Cage",
        ".launcher": "CageError",
    }
    __all__ = [*" ".join(_HOMES.values()).split()]
    __getattr__, __dir__ = lazy_exports(__name__, _HOMES)
