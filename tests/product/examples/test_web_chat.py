"""The chat over HTTP, with a real web server and a simulated CLI that it starts by itself."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx
import pytest
import uvicorn
from examples.web_chat import app, chats
from tests.helpers.processes import is_alive

from claudewire.testing import SimulatedProgramFactory

pytestmark = pytest.mark.anyio

SOON = 60
SCENARIO = """
default = "You said: {prompt}"

[[turn]]
match = "write"
steps = [
    { say = "I'll write it." },
    { use = "Write", input = { file_path = "notes.txt", content = "milk" }, result = "written" },
    { say = "The tool said: {result}" },
]

[[turn]]
match = "build"
steps = [{ say = "Building." }, { sleep = 3600 }]
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # as uvicorn


@pytest.fixture(autouse=True)
def cli(
    claudewire_sim: SimulatedProgramFactory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Path:
    program = claudewire_sim(SCENARIO)
    monkeypatch.setenv("CLAUDE_CODE_PATH", str(program))
    monkeypatch.chdir(tmp_path)
    return program


class Event(NamedTuple):
    name: str
    data: Any


class Site:
    """A running server, and a browser."""

    def __init__(self, server: uvicorn.Server, client: httpx.AsyncClient) -> None:
        self.server = server
        self.client = client

    @asynccontextmanager
    async def events(self, method: str, path: str, **body: Any) -> AsyncIterator[Any]:
        async with self.client.stream(method, path, json=body) as response:
            assert response.status_code == 200
            yield events_of(response)

    async def ask(self, name: str, prompt: str) -> list[Event]:
        async with self.events("POST", f"/chats/{name}", prompt=prompt) as events:
            return [event async for event in events]

    async def answer(self, id: str, **body: Any) -> httpx.Response:
        return await self.client.post(f"/approvals/{id}", json=body)


async def events_of(response: httpx.Response) -> AsyncIterator[Event]:
    name = ""
    async for line in response.aiter_lines():
        key, _, value = line.partition(": ")
        if key == "event":
            name = value
        elif key == "data":
            yield Event(name, json.loads(value))


def text_of(events: list[Event]) -> list[str]:
    """What was said, in paragraphs."""
    blocks: dict[str, str] = {}
    for event in events:
        if event.name == "text":
            id = event.data["block"]
            blocks[id] = blocks.get(id, "") + event.data["text"]
    return [*blocks.values()]


@asynccontextmanager
async def running(grace: int = SOON) -> AsyncIterator[Site]:
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=grace)
    server = uvicorn.Server(config)
    with anyio.fail_after(SOON), socket.create_server(("127.0.0.1", 0)) as listening:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listening])
            url = f"http://127.0.0.1:{listening.getsockname()[1]}"
            async with httpx.AsyncClient(base_url=url, timeout=SOON, trust_env=False) as client:
                yield Site(server, client)
            server.should_exit = True


async def test_reply_is_streamed_and_a_chat_keeps_its_session() -> None:
    async with running() as site:
        first = await site.ask("1", "Hello")
        pid = (await chats.session("1")).pid
        await site.ask("1", "Hello again")
        assert (await chats.session("1")).pid == pid
        await site.ask("2", "Hello")
        assert (await chats.session("2")).pid != pid
    assert text_of(first) == ["You said: Hello"]
    assert len(first) > 2
    assert first[-1].name == "done"
    assert first[-1].data["ok"]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"action": "allow", "by": "ada"}, "written"),
        ({"action": "deny", "arguments": {"reason": "No milk."}}, "No milk."),
    ],
)
async def test_another_request_answers_an_approval(answer: dict[str, Any], told: str) -> None:
    async with (
        running() as site,
        site.events("POST", "/chats/Ada's chat", prompt="Write it down") as reply,
        site.events("GET", "/approvals") as approvals,
    ):
        added = await anext(approvals)
        assert (added.name, added.data["title"]) == ("added", "Write: notes.txt")
        assert added.data["session"] == "Ada's chat"
        assert (await site.answer(added.data["id"], action="fly")).status_code == 422
        assert (await site.answer(added.data["id"], **answer)).status_code == 204
        assert (await site.answer(added.data["id"], **answer)).status_code == 409
        assert (await anext(approvals)).name == "answered"
        events = [event async for event in reply]
    assert text_of(events) == ["I'll write it.", f"The tool said: {told}"]
    assert [event.data["name"] for event in events if event.name == "tool"] == ["Write"]


async def test_reloaded_browser_sees_pending_approvals() -> None:
    async with running() as site, site.events("POST", "/chats/1", prompt="Write it") as reply:
        for _ in range(2):
            async with site.events("GET", "/approvals") as approvals:
                added = await anext(approvals)
        await site.answer(added.data["id"], action="allow")
        assert [event async for event in reply][-1].name == "done"


async def test_disconnected_client_interrupts_its_turn() -> None:
    async with running() as site:
        async with site.events("POST", "/chats/1", prompt="Build the world") as reply:
            assert (await anext(reply)).data["text"].startswith("Build")
        # The build would take an hour, and this prompt would wait for it.
        assert (await site.ask("1", "Hello"))[-1].data["ok"]


async def test_disconnected_client_withdraws_its_approval() -> None:
    async with running() as site, site.events("GET", "/approvals") as approvals:
        async with site.events("POST", "/chats/1", prompt="Write it"):
            assert (await anext(approvals)).name == "added"
        assert (await anext(approvals)).name == "withdrawn"


async def test_server_stops_during_an_approval_and_ends_the_cli() -> None:
    async with running(grace=0) as site:
        await site.ask("1", "Hello")
        pid = (await chats.session("1")).pid
        assert pid is not None
        async with (
            site.events("GET", "/approvals") as approvals,
            site.events("POST", "/chats/1", prompt="Write it") as reply,
        ):
            await anext(approvals)
            site.server.should_exit = True
            with pytest.raises(httpx.RemoteProtocolError):
                [_ async for _ in reply]
    assert not is_alive(pid)


async def test_error_is_an_event_and_the_next_prompt_restarts(
    cli: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running() as site:
        monkeypatch.setenv("CLAUDE_CODE_PATH", "/nowhere/claude")
        (failed,) = await site.ask("1", "Hello")
        assert failed.name == "error"
        assert "/nowhere/claude" in failed.data["message"]
        monkeypatch.setenv("CLAUDE_CODE_PATH", str(cli))
        assert (await site.ask("1", "Hello"))[-1].name == "done"


async def test_empty_prompt_is_rejected() -> None:
    async with running() as site:
        response = await site.client.post("/chats/1", json={"prompt": ""})
        assert response.status_code == 422
