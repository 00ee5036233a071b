"""The name of a session appears in requests, logs and errors."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.helpers import messages as saying
from tests.helpers.peer import Peer
from tests.helpers.sessions import SOME_CLI, bounded, connected, echo, options

import claudewire
from claudewire.approvals import Inbox, PermissionRequest, PermissionResult
from claudewire.errors import CLIError, OptionsError
from claudewire.session import Pool, Session
from claudewire.simulator.faults import KilledBy
from claudewire.testing import SimulatedCLI
from claudewire.transport import Launch, Transport
from claudewire.wire import Answer, CanUseTool

pytestmark = pytest.mark.anyio


async def test_inbox_has_the_name_and_ids_for_urls() -> None:
    inbox = Inbox()
    async with connected(name="Ada's chat / 7", approver="inbox", inbox=inbox) as (session, peer):
        with inbox.changes() as changes:
            await peer.write(
                b'{"type":"control_request","request_id":"a/b?c d","request":{"subtype":'
                b'"can_use_tool","tool_name":"Bash","input":{"command":"make"}}}\n'
            )
            change = await anext(changes)
        assert change.request.session == session.name == "Ada's chat / 7"
        assert change.request.id == "Ada-s-chat-7.a-b-c-d"
        assert inbox.get("Ada-s-chat-7.a-b-c-d") is change.request


async def test_session_without_a_name_has_a_number() -> None:
    async with Session(options(), transport=SimulatedCLI(echo)) as session:
        assert re.fullmatch(r"session-\d+", session.name)
        assert session.name not in repr(session)


async def test_log_lines_begin_with_the_name(caplog: pytest.LogCaptureFixture) -> None:
    unread = claudewire.UnreadLimit(high_water=1)
    async with connected(name="100% Ada", unread=unread) as (session, peer):
        session.send("hello")
        await peer.say(saying.text(), saying.result())
        await session.wait_idle()
    (record,) = (it for it in caplog.records if "unread" in it.getMessage())
    assert record.getMessage() == "100% Ada: 1 messages are unread"
    assert vars(record)["session"] == "100% Ada"


async def test_errors_have_the_name() -> None:
    dying = SimulatedCLI(echo, faults=[KilledBy(9, at=4)])
    async with bounded(Session(options(name="ada"), transport=dying)) as session:
        assert repr(session).startswith("<Session 'ada' ")
        with pytest.raises(CLIError) as caught:
            await session.send("hello")
    assert caught.value.evidence.session == "ada"
    assert "The CLI was killed by SIGKILL (session ada)" in str(caught.value)


async def test_pooled_session_has_its_new_name_in_requests() -> None:
    names: list[str] = []

    async def decide(request: PermissionRequest) -> PermissionResult:
        names.append(request.session)
        return request.allow()

    clis: list[Peer] = []

    async def connect(launch: Launch) -> Transport:
        clis.append(Peer())
        return clis[-1].transport

    given = options(cli=SOME_CLI, on_permission=decide, handshake=False)
    async with bounded(Pool(given, size=1, transport=connect)) as pool:
        await pool.ready()
        await clis[0].ask(CanUseTool("Bash", {"command": "make"}))
        await clis[0].hear(Answer)
        async with pool.open(name="ada"):
            await clis[0].ask(CanUseTool("Bash", {"command": "make"}))
            await clis[0].hear(Answer)
    assert names[0].startswith("session-")
    assert names[1:] == ["ada"]


@pytest.mark.parametrize("name", ["", "  ", 7])
def test_name_must_not_be_empty(name: Any) -> None:
    with pytest.raises(OptionsError, match="name"):
        claudewire.open(name=name)
