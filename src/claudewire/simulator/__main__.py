"""`claudewire-sim`, or `python -m claudewire.simulator`: the simulated CLI as a program."""

from __future__ import annotations

import sys

from .process import run


def main() -> None:
    """Run like `claude`."""
    run(sys.argv[1:])


if __name__ == "__main__":
    main()
