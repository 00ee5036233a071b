"""Unread messages delay neither the reader nor permissions nor interrupts."""

from __future__ import annotations

import pytest
from tests.helpers import messages as saying
from tests.helpers.sessions import allow, connected, meanwhile

from claudewire.options import UnreadLimit
from claudewire.session import UnreadLimitReached
from claudewire.wire import Answer, CanUseTool, PermissionResultAllow

pytestmark = pytest.mark.anyio

LONG = 300.0
"""For a hundred thousand lines on a slow machine."""


@pytest.mark.parametrize("count", [150, 100_000])
async def test_unread_messages_delay_no_permission_or_interrupt(count: int) -> None:
    async with connected(
        within=LONG, on_permission=allow, unread=UnreadLimit(high_water=count)
    ) as (session, peer):
        events = session.events(limit=10)
        turn = session.send("go")
        await peer.hear_prompt()
        line = peer.connection.send(saying.text("word"))
        await peer.write(line * count)
        await peer.ask(CanUseTool("Bash", {"command": "ls"}, tool_use_id="toolu_1"))
        assert isinstance((await peer.hear(Answer)).body, PermissionResultAllow)
        assert session.unread == turn.unread == count
        assert UnreadLimitReached(count) in events.take()
        async with meanwhile(session.interrupt) as receipts:
            await peer.acknowledge()
            await peer.say(saying.result(subtype="error_during_execution"))
        assert receipts[0].acknowledged
        assert receipts[0].turn is turn
        assert len([message async for message in turn]) == count + 1
        assert session.unread == 0
