"""The scripted Messages API, called over real sockets by httpx."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx
import pytest

from claudewire.testing import (
    APIReply,
    APIRequest,
    APIScript,
    APIStatus,
    APIThinking,
    APIToolUse,
    APIUsage,
    ScriptedAPI,
    structured_output,
)
from claudewire.testing.api import ScriptSource

pytestmark = pytest.mark.anyio

SOON = 60


class Client(NamedTuple):
    """A client of an API."""

    api: ScriptedAPI
    http: httpx.AsyncClient

    async def ask(self, *messages: object, **fields: object) -> httpx.Response:
        return await self.http.post("/v1/messages", json=conversation(*messages, **fields))

    async def texts(self, *prompts: str) -> list[str]:
        return [text(await self.ask(prompt)) for prompt in prompts]


@asynccontextmanager
async def serving(script: ScriptSource = (), record: Path | None = None) -> AsyncIterator[Client]:
    api = ScriptedAPI(script, record=record)
    with anyio.fail_after(SOON):
        async with api, httpx.AsyncClient(timeout=SOON, trust_env=False) as http:
            http.base_url = httpx.URL(api.url)
            yield Client(api, http)


def conversation(*messages: object, **fields: object) -> dict[str, Any]:
    """The request of an agent; a string is a prompt of the user."""
    all = [{"role": "user", "content": it} if isinstance(it, str) else it for it in messages]
    tools = [{"name": "Bash", "input_schema": {}}]
    return {"model": "test", "max_tokens": 1000, "tools": tools, "messages": all, **fields}


def used(*blocks: object) -> list[object]:
    """An assistant's message, and the result of its tool."""
    result = [{"type": "tool_result", "tool_use_id": "t", "content": "done"}, *blocks]
    return [{"role": "assistant", "content": []}, {"role": "user", "content": result}]


def text(response: httpx.Response) -> str:
    assert response.status_code == 200
    return "".join(block.get("text", "") for block in response.json()["content"])


def events(response: httpx.Response) -> list[dict[str, Any]]:
    lines = response.text.splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


# --- the form of an answer -----------------------------------------------------------------------


async def test_plain_request_gets_a_whole_message() -> None:
    use = APIToolUse("Bash", {"command": "ls"}, id="toolu_1")
    usage = APIUsage(input_tokens=7, output_tokens=8, cache_read_input_tokens=9)
    async with serving([APIReply(APIThinking("Hm."), "Let me see.", use, usage=usage)]) as client:
        message = (await client.ask("hi")).json()
    assert re.fullmatch(r"msg_scripted[0-9a-f]{16}", message.pop("id"))
    signature = message["content"][0].pop("signature")
    assert signature
    assert message == {
        "type": "message",
        "role": "assistant",
        "model": "test",
        "content": [
            {"type": "thinking", "thinking": "Hm."},
            {"type": "text", "text": "Let me see."},
            {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 7,
            "output_tokens": 8,
            "cache_read_input_tokens": 9,
            "cache_creation_input_tokens": 0,
            "service_tier": "standard",
        },
    }


async def test_stream_has_the_events_of_the_api() -> None:
    reply = APIReply(APIThinking("So"), "Yes, in several pieces.", structured_output({"ok": True}))
    async with serving([reply]) as client:
        response = await client.ask("hi", stream=True)
    assert response.headers["content-type"] == "text/event-stream"
    start, *inner, end, stop = events(response)
    assert start["message"]["content"] == []
    assert start["message"]["usage"]["input_tokens"] == 10
    blocks = [it["content_block"] for it in inner if it["type"] == "content_block_start"]
    assert [it["type"] for it in blocks] == ["thinking", "text", "tool_use"]
    joined: dict[str, str] = {}
    for event in inner:
        if event["type"] == "content_block_delta":
            kind, value = event["delta"].values()
            joined[kind] = joined.get(kind, "") + value
    assert joined.pop("signature_delta")
    assert joined == {
        "thinking_delta": "So",
        "text_delta": "Yes, in several pieces.",
        "input_json_delta": '{"ok": true}',
    }
    assert end["delta"]["stop_reason"] == "tool_use"
    assert end["usage"]["output_tokens"] > 1
    assert stop == {"type": "message_stop"}
    names = re.findall(r"^event: (.*)$", response.text, re.MULTILINE)
    assert names == [event["type"] for event in events(response)]


async def test_tool_used_twice_has_two_ids() -> None:
    use = APIToolUse("Bash", {"command": "ls"})
    async with serving([[use, use]]) as client:
        ids = [block["id"] for block in (await client.ask("hi")).json()["content"]]
    assert len({*ids}) == 2


@pytest.mark.parametrize(
    ("status", "kind"), [(429, "rate_limit_error"), (529, "overloaded_error"), (418, "api_error")]
)
async def test_error_has_a_status_and_a_kind(status: int, kind: str) -> None:
    async with serving([APIStatus(status, message="No!", retry_after=1.5)]) as client:
        response = await client.ask("hi", stream=True)
    assert response.status_code == status
    assert response.json()["error"] == {"type": kind, "message": "No!"}
    assert response.headers["retry-after"] == "1.5"


# --- failing transmissions -----------------------------------------------------------------------


@pytest.mark.parametrize("stream", [True, False])
async def test_cut_reply_ends_in_the_middle(stream: bool) -> None:
    async with serving([APIReply("Hello there", cut_after=2)]) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            await client.ask("hi", stream=stream)


async def test_stream_can_end_early_as_if_it_were_complete() -> None:
    async with serving([APIReply("Hello there", end_after=2)]) as client:
        assert len(events(await client.ask("hi", stream=True))) == 2
        with pytest.raises(httpx.RemoteProtocolError):  # clients retry without a stream
            await client.ask("hi", stream=False)


async def test_stalled_reply_says_nothing_more_and_others_are_served() -> None:
    script = APIScript().on("wait", APIReply("Hello there", stall_after=2)).on("go", "Fine.")
    async with serving(script) as client:
        body = conversation("wait", stream=True)
        async with client.http.stream("POST", "/v1/messages", json=body) as response:
            lines = response.aiter_lines()
            assert [await anext(lines) for _ in range(6)][3] == "event: content_block_start"
            assert await client.texts("go") == ["Fine."]
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(fail_on_next, lines)
                await anyio.wait_all_tasks_blocked()
                tasks.cancel_scope.cancel()


async def fail_on_next(lines: AsyncIterator[str]) -> None:
    raise AssertionError(await anext(lines))


async def test_slow_reply_pauses_before_each_event(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    monkeypatch.setattr("claudewire.testing.api.server.time.sleep", pauses.append)
    async with serving([APIReply("Slow", delay=0.125)]) as client:
        response = await client.ask("hi", stream=True)
    assert pauses == [0.125] * len(events(response))


# --- which reply ---------------------------------------------------------------------------------


async def test_rule_is_chosen_by_the_prompt() -> None:
    script = APIScript(default="Pardon?")
    script.on("apple", "red").on(re.compile("ban.na", re.IGNORECASE), "yellow")
    script.on(lambda request: len(request.messages) > 2, "long")
    async with serving(script) as client:
        assert await client.texts("an apple", "BANANA", "kiwi") == ["red", "yellow", "Pardon?"]
        assert text(await client.ask("kiwi", *used())) == "long"


async def test_tool_result_gets_the_next_reply_of_its_turn() -> None:
    script = APIScript().on("list", APIToolUse("Bash"), "Two files.")
    reminder = {"type": "text", "text": "<system-reminder>Mind the list!</system-reminder>"}
    environment = {"role": "system", "content": "Today is list day"}
    async with serving(script) as client:
        first = await client.ask("list them", environment)
        second = await client.ask("list them", *used(reminder), environment)
        third = await client.ask("list them", *used(), *used())
    assert first.json()["stop_reason"] == "tool_use"
    assert text(second) == "Two files."
    assert text(third) == "My script has ended for: list them"
    assert [request.prompt for request in client.api.turns] == ["list them"] * 3
    assert client.api.turns[1].tool_results[0]["content"] == "done"
    assert client.api.turns[0].tool_results == []


async def test_same_prompt_later_starts_the_rule_again() -> None:
    async with serving(APIScript().on("go", "one", "two")) as client:
        assert await client.texts("go") == ["one"]
        assert text(await client.ask("go", metadata={"user_id": "other"})) == "one"
        assert text(await client.ask("go", *used(), "go")) == "one"
        assert text(await client.ask("go", *used(), "go", *used())) == "two"


async def test_failure_lasts_for_its_number_of_tries() -> None:
    script = APIScript().on("go", APIStatus(529, times=2), "at last").on("end", APIStatus(400))
    async with serving(script) as client:
        assert [(await client.ask("go")).status_code for _ in range(3)] == [529, 529, 200]
        assert [(await client.ask("end")).status_code for _ in range(3)] == [400] * 3


async def test_replies_without_a_rule_come_in_order() -> None:
    async with serving(["first", APIReply("again", times=2)]) as client:
        said = await client.texts("x", "x", "x", "x")
    assert said == ["first", "again", "again", "I have no script for: x"]
    async with serving([APIReply("ever", times=0), "never"]) as client:
        assert {*await client.texts("x", "x", "x")} == {"ever"}


async def test_function_that_raises_is_an_error_of_the_api() -> None:
    def fail(request: APIRequest) -> bool:
        raise RuntimeError("oops")

    async with serving(APIScript().on(fail, "x")) as client:
        response = await client.ask("hello")
    assert response.status_code == 400
    assert "RuntimeError('oops')" in response.json()["error"]["message"]


# --- other requests ------------------------------------------------------------------------------


async def test_side_calls_are_answered_apart() -> None:
    title = {"model": "small", "max_tokens": 512, "messages": [{"role": "user", "content": "go"}]}
    async with serving(["for the turn"]) as client:
        answer = await client.http.post("/v1/messages?beta=true", json=title)
        assert json.loads(text(answer))["title"]
        assert (await client.ask("quota", max_tokens=1)).status_code == 200
        assert await client.texts("go") == ["for the turn"]
        assert (await client.ask("go", *used(), tools=[])).status_code == 200
        assert (await client.ask("go", tools=[], thinking={})).status_code == 200
    kinds = [request.kind for request in client.api.requests]
    assert kinds == ["side", "side", "turn", "turn", "turn"]


async def test_tokens_are_counted() -> None:
    async with serving() as client:
        body = conversation("hi")
        response = await client.http.post("/v1/messages/count_tokens", json=body)
    size = len(json.dumps(body, separators=(",", ":")))
    assert response.json() == {"input_tokens": size // 4}
    assert [request.kind for request in client.api.requests] == ["count"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("HEAD", "/", b"", 200),
        ("GET", "/v1/models", b"", 404),
        ("POST", "/v1/messages", b"not json", 404),
    ],
)
async def test_other_requests_are_harmless(
    method: str, path: str, body: bytes, status: int
) -> None:
    async with serving() as client:
        response = await client.http.request(method, path, content=body)
        assert (await client.http.head("/")).status_code == 200
    assert response.status_code == status
    assert (client.api.requests[0].kind, client.api.requests[0].messages) == ("other", [])


async def test_client_that_does_not_speak_http_is_dropped() -> None:
    async with serving() as client:
        port = int(client.api.url.rpartition(":")[2])
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(b"\x00\x01 nonsense\r\n\r\n")
            said = b"".join([data async for data in stream])
    assert b"400" in said
    assert client.api.requests == []


async def test_requests_are_recorded_without_their_secrets(tmp_path: Path) -> None:
    record = tmp_path / "requests.jsonl"
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
    picture = {"role": "user", "content": [{"type": "text", "text": "Describe it."}, image]}
    hidden = dict.fromkeys(("Authorization", "Cookie", "X-Api-Key", "X-Secret"), "hunter2")
    async with serving(record=record) as client:
        client.http.headers.update(hidden)
        await client.ask(picture)
    (asked,) = client.api.requests
    assert (asked.prompt, asked.tools, asked.model) == ("Describe it.", ["Bash"], "test")
    assert asked.messages[0]["content"][1] == image
    assert {asked.headers[name.lower()] for name in hidden} == {"redacted"}
    (line,) = record.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["kind"] == "turn"
    assert "hunter2" not in line


async def test_exception_of_the_caller_is_not_wrapped() -> None:
    with pytest.raises(ZeroDivisionError):
        async with ScriptedAPI():
            raise ZeroDivisionError
