"""Mutation testing: change the library at random, and see whether a test fails.

`operators` says what can be changed, `mutations` finds the places and takes a sample,
`coverage_map` knows which tests run which line, `sandbox` is the copy that is changed and tested,
`server` is a pytest in the copy that has imported everything and runs tests in forks of itself,
`judged` reads the judgements, and `run` is the command.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["KEPT", "ROOT", "SOURCE"]

ROOT = Path(__file__).resolve().parent.parent

SOURCE = Path("src", "claudewire")
"""The package, below the root of the project or of a copy."""

KEPT = ROOT / ".mutation"
"""Where the map and the results are kept."""
