"""Runs the contracts of the official SDK for stores against ours; started by its test."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

import anyio
from claude_agent_sdk.testing import (  # type: ignore[import-not-found]
    run_session_store_conformance,
)

from claudewire.transcripts import SqliteStore

numbers = count()


async def main(folder: Path) -> None:
    await run_session_store_conformance(lambda: SqliteStore(folder / f"db{next(numbers)}"))
    print("kept")


anyio.run(main, Path(sys.argv[1]))
