"""Sessions with real CLIs: each in a cage, with a scripted API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from tests.helpers.real_clis import real_cli, why_not

from claudewire.options import Options
from claudewire.session import Session
from claudewire.testing.api import APIReply, APIScript, APIStatus, APIToolUse
from claudewire.testing.cage import Cage

OURS = ("CLAUDE_AGENT_SDK_*", "CLAUDE_CODE_*")
"""The variables that options become; a cage admits no others by default."""

LONG = 60
"""Seconds that a test may take. Most take two."""

Said = str | APIToolUse | APIReply | APIStatus


def open_cage(version: str, replies: Sequence[Said] | APIScript = ()) -> Cage:
    """Make a cage for a CLI, or skip the test. After its replies, the model says "Done."."""
    if (reason := why_not(version)) is not None:
        pytest.skip(reason)
    script = replies if isinstance(replies, APIScript) else APIScript(*replies, default="Done.")
    return Cage(script, keep=OURS)


def caged(cage: Cage, version: str, **changes: Any) -> Options:
    """Return options with which a session runs a real CLI in a cage."""
    return Options(**{"cli": cage.command([real_cli(version)]), **changes})


@asynccontextmanager
async def real_session(
    version: str, replies: Sequence[Said] | APIScript = (), **options: Any
) -> AsyncIterator[tuple[Session, Cage]]:
    """Open a session; `cage.turns` has the requests to the model, also after the end."""
    with open_cage(version, replies) as cage, anyio.fail_after(LONG):
        async with Session(caged(cage, version, **options)) as session:
            yield session, cage
