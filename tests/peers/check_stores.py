"""Runs the contracts of the official SDK for stores against ours; started by its test."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from typing import Any

import anyio
from claude_agent_sdk import fold_session_summary  # type: ignore[import-not-found]
from claude_agent_sdk.testing import (  # type: ignore[import-not-found]
    run_session_store_conformance,
)

from claudewire.store import DirectoryStore, SqliteStore

numbers = count()


async def main(folder: Path) -> None:
    def fresh(name: str) -> Path:
        return folder / f"{name}{next(numbers)}"

    stores: dict[str, Any] = {
        "SqliteStore": lambda: SqliteStore(fresh("db"), fold=fold_session_summary),
        "DirectoryStore": lambda: DirectoryStore(fresh("folder"), fold=fold_session_summary),
        "SqliteStore without summaries": lambda: SqliteStore(fresh("db")),
        "DirectoryStore without summaries": lambda: DirectoryStore(fresh("folder")),
    }
    for name, make in stores.items():
        await run_session_store_conformance(make)
        print(name, hasattr(make(), "list_session_summaries"))


anyio.run(main, Path(sys.argv[1]))
