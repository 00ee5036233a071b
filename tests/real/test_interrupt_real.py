"""A real CLI whose turns are interrupted: one turn stops, and never the one after it."""

from __future__ import annotations

import pytest
from tests.helpers.real_clis import VERSIONS
from tests.real.sessions import real_session

from claudewire.session import TurnState
from claudewire.testing.api import APIReply, APIScript

pytestmark = [pytest.mark.anyio, pytest.mark.real]


@pytest.mark.parametrize("version", VERSIONS)
async def test_one_turn_is_stopped_and_no_other(version: str) -> None:
    script = APIScript(default="Done.").on("long", APIReply("A reply without end.", stall_after=3))
    async with real_session(version, script, include_partial_messages=True) as (claude, _):
        turns = [claude.send(prompt) for prompt in ("long", "dropped", "short")]
        async for _ in turns[0].iter_text():
            break
        assert (await turns[1].interrupt()).outcome == "withdrawn"
        assert (await turns[0].interrupt()).outcome == "stopped"
        assert (await turns[0].interrupt()).outcome == "was_over"
        assert (await turns[2]).text == "Done."
        async with claude.turn("long") as left:
            async for _ in left.iter_text():
                break
        assert left.state is TurnState.DONE
        assert not (await left).ok
        assert (await claude.send("short")).text == "Done."
