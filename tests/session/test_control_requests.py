"""Requests to the CLI: all types, their timeouts, and the methods for the common ones."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.helpers.clock import simulated_time
from tests.helpers.sessions import bounded, connected, meanwhile, simulated

from claudewire import wire
from claudewire.errors import RequestTimeout, UnsupportedRequest
from claudewire.session import DEFAULT, Session, Timeout
from claudewire.wire import RequestBody
from claudewire.wire.types.control import answer_type

pytestmark = pytest.mark.anyio


# --- any request ----------------------------------------------------------------------------------


REQUESTS: list[RequestBody[Any]] = [
    wire.SetModel(None),
    wire.GenerateSessionTitle("about", persist=True),
    wire.McpCall("add", {"a": 1}, check_permissions=True),
    wire.ReadFile("a.txt", 1, "base64"),
    wire.GetTaskOutput("t1"),
]


async def test_requests_return_their_typed_answers() -> None:
    async with connected() as (session, peer):

        async def answer_each() -> None:
            for body in REQUESTS:
                request = await peer.hear_request(type(body))
                assert request.body == body
                await peer.answer(request, {})

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(answer_each)
            for body in REQUESTS:
                assert isinstance(await session.request(body), answer_type(type(body)))
        peer.exit()


def test_every_request_type_is_exported() -> None:
    assert {*vars(wire)} >= {kind.__name__ for kind in wire.REQUESTS.values()}


async def test_turn_goes_on_while_a_request_waits() -> None:
    async with connected() as (session, peer):
        async with meanwhile(lambda: session.set_model("opus")) as done:
            request = await peer.hear_request(wire.SetModel)
            turn = session.send("hello")
            await peer.hear_prompt()
            await peer.write(b'{"type":"result","subtype":"success","result":"hi"}\n')
            assert (await turn).text == "hi"
            assert done == []
            await peer.answer(request, wire.SetModelResult("opus"))
        assert done[0].model == "opus"
        peer.exit()


@simulated_time
async def test_request_without_an_answer_times_out() -> None:
    async with connected() as (session, peer):
        with pytest.raises(RequestTimeout, match="get_settings"):
            await session.request(wire.GetSettings(), timeout=0.01)
        peer.exit()


async def test_request_unknown_to_2_1_17_is_refused_at_once() -> None:
    async with bounded(simulated(version="2.1.17")) as session:
        with pytest.raises(UnsupportedRequest, match="get_settings") as caught:
            await session.request(wire.GetSettings())
        assert caught.value.request == "get_settings"
        with pytest.raises(UnsupportedRequest, match=r"(?s)'auto'.*from 2\.1\.100 on"):
            await session.set_permission_mode("auto")
        await session.set_permission_mode("acceptEdits")
        await session.set_model("opus")


# --- methods --------------------------------------------------------------------------------------


class Recorder(Session):
    """Records its requests."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, Timeout]] = []

    async def request(self, body: RequestBody[Any], *, timeout: Timeout = DEFAULT) -> Any:
        self.asked.append((body, timeout))


CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any], Any]] = [
    ("set_model", ("opus",), {}, wire.SetModel("opus")),
    ("set_model", (), {}, wire.SetModel(None)),
    ("set_permission_mode", ("plan",), {}, wire.SetPermissionMode("plan")),
    ("rewind_files", ("uuid",), {"dry_run": True}, wire.RewindFiles("uuid", dry_run=True)),
    ("get_context_usage", ("full",), {}, wire.GetContextUsage("full")),
    ("mcp_status", (), {"live_reply": True}, wire.McpStatus(live_reply=True)),
    ("reconnect_server", ("calc",), {}, wire.McpReconnect("calc")),
    ("stop_task", ("t1",), {}, wire.StopTask("t1")),
]


@pytest.mark.parametrize(("name", "positional", "named", "body"), CALLS)
async def test_method_sends_its_request(
    name: str, positional: tuple[Any, ...], named: dict[str, Any], body: Any
) -> None:
    recorder = Recorder()
    await getattr(recorder, name)(*positional, **named)
    await getattr(recorder, name)(*positional, **named, timeout=1.5)
    assert recorder.asked == [(body, DEFAULT), (body, 1.5)]
