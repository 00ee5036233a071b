"""`claudewire-sim`, or `python -m claudewire.simulator`: the simulated CLI as a program.

It can be used wherever a `claude` is expected. Tests start it by the thousand, so it imports as
little as possible, and nothing at all to say its version.
"""

from __future__ import annotations

import gc
import os
import sys

__all__ = ["main"]

VERSION = "2.1.325"
"""What it plays unless it is told otherwise."""


def main() -> None:
    """Run as `claude` would."""
    argv = sys.argv[1:]
    if argv in (["--version"], ["-v"], ["-V"]) and not os.environ.get("CLAUDEWIRE_SIM_VERSION"):
        sys.stdout.write(f"{VERSION} (Claude Code)\n")
        return
    gc.disable()  # what is imported stays, so there is nothing to collect meanwhile
    _import_msgspec()
    from .process import run

    gc.freeze()
    gc.enable()
    run(argv)


def _import_msgspec() -> None:
    """Import it without `typing_extensions`, which it prefers to `typing` if it is there.

    It has nothing that msgspec needs with these versions of Python, and to import it takes longer
    than msgspec itself. Scenarios may import it all the same.
    """
    name = "typing_extensions"
    if name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules[name]


if __name__ == "__main__":
    main()
