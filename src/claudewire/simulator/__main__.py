"""`claudewire-sim`, or `python -m claudewire.simulator`: the simulated CLI as a program."""

from __future__ import annotations

from .process import main

if __name__ == "__main__":
    main()
