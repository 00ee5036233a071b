"""What the package knows about itself: its version, and how names are loaded on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["__version__", "lazy_exports"]

__version__ = "0.1.0"


def lazy_exports(package: str, homes: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """Make the `__getattr__` of a package that loads each name when it is first used.

    Args:
        package: the name of the package.
        homes: the modules that hold the names, relative to the package; without names, a module
            that is itself exported.
    """
    modules = {home.rpartition(".")[2]: home for home, names in homes.items() if not names}
    home_of = modules | {name: home for home, names in homes.items() for name in names}

    def load(name: str) -> Any:
        try:
            home = home_of[name]
        except KeyError:
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None
        module = import_module(home, package)
        value = module if name in modules else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return load
