"""Show what the library does."""

from __future__ import annotations

import claudewire


def main() -> None:
    print(f"claudewire {claudewire.__version__}")


if __name__ == "__main__":
    main()
