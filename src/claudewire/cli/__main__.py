"""`python -m claudewire.cli` is the same as `claudewire`."""

from __future__ import annotations

from .entry import main

if __name__ == "__main__":
    main()
