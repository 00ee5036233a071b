"""The places of the real CLIs that `scripts/real-clis` installs."""

from __future__ import annotations

from pathlib import Path

from claudewire.testing.cage import Cage

ROOT = Path(__file__).resolve().parents[2]

OLDEST = "2.1.17"
"""The version that the first of the four documents describes."""
NEWEST = "2.1.325"
VERSIONS = (OLDEST, NEWEST)


def real_cli(version: str = NEWEST) -> Path:
    """Say where a CLI is, or would be."""
    return ROOT / ".tools" / "cli" / version / "claude"


def why_not(version: str = NEWEST) -> str | None:
    """Say why a CLI cannot be run here; None if it can. Without a cage it is never run."""
    if (reason := Cage.unavailable()) is not None:
        return f"No cage: {reason}"
    if not real_cli(version).exists():
        return f"CLI {version} is not there; scripts/real-clis {version} installs it"
    return None
