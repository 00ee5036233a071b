"""What the package knows about itself: its version, and how names are loaded on first use."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # type checkers take it for true; to import `typing` for it would be slow
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

__version__ = "0.1.0"


def lazy_exports(
    package: str, homes: Mapping[str, str], hints: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the `__getattr__` and `__dir__` of a package that loads names when they are first used.

    Args:
        package: the name of the package.
        homes: for each module, relative to the package, the names that it holds, separated by
            white space; without names, the module is itself exported.
        hints: advice for names that other packages have.
    """
    modules = {home.rpartition(".")[2]: home for home, names in homes.items() if not names}
    home_of = modules | {name: home for home, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        try:
            home = home_of[name]
        except KeyError:
            hint = f"; {hints[name]}" if hints and name in hints else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}") from None
        from importlib import import_module  # not before it is needed

        module = import_module(home, package)
        value = module if name in modules else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home_of})

    return load, names
