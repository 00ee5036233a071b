"""A pool of real CLIs: ready CLIs work like newly started ones."""

from __future__ import annotations

import os

import anyio
import pytest
from tests.helpers.real_clis import NEWEST
from tests.judges.real.sessions import LONG, caged, open_cage

from claudewire.session import Pool, SessionState
from claudewire.testing.api import APIScript

pytestmark = [pytest.mark.anyio, pytest.mark.real]


async def test_pooled_sessions_have_turns_and_leave_nothing_behind() -> None:
    script = APIScript().on("hello", "Hello yourself.").on("again", "Once more.")
    with open_cage(NEWEST, script) as cage, anyio.fail_after(2 * LONG):
        async with Pool(caged(cage, NEWEST, cwd=cage.work), size=2) as pool:
            await pool.ready()
            async with pool.open() as one, pool.open() as other:
                assert pool.stats.hits == 2
                assert {one.pid, other.pid}.isdisjoint({None})
                assert (await one.send("hello")).text == "Hello yourself."
                assert (await other.send("hello")).text == "Hello yourself."
                assert one.session_id != other.session_id
                before = one.session_id
                await one.restart()
                assert (await one.send("again")).text == "Once more."
                assert one.session_id == before
                pids = [one.pid, other.pid]
        assert one.state is SessionState.CLOSED
        for pid in pids:
            assert pid is not None
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)
