"""A program for the length of a block."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from claudewire.transport import Launch, ProcessTransport, spawn


@asynccontextmanager
async def started(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> AsyncIterator[ProcessTransport]:
    """Start a program and end it, if it has not ended, when the context does."""
    here = None if cwd is None else Path(cwd)
    process = await spawn(Launch(tuple(command), env or dict(os.environ), here))
    try:
        yield process
    finally:
        await process.aclose()
