"""The scripted Messages API, asked over real sockets by a small client."""

from __future__ import annotations

import json
import re
import runpy
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import anyio.abc
import anyio.lowlevel
import h11
import pytest
from tests.helpers.processes import ended

from claudewire.testing.api import (
    APIReply,
    APIRequest,
    APIScript,
    APIStatus,
    APIThinking,
    APIToolUse,
    APIUsage,
    ScriptedAPI,
    main,
    serve,
    structured_output,
)
from claudewire.testing.api.requests import classify

pytestmark = pytest.mark.anyio

MESSAGES = "/v1/messages?beta=true"
KEY = {"x-api-key": "sk-secret", "host": "test"}


class Response(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[dict[str, Any]]:
        lines = self.body.decode().splitlines()
        return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


class Client:
    """One connection."""

    def __init__(self, stream: anyio.abc.ByteStream) -> None:
        self.stream = stream
        self.http = h11.Connection(h11.CLIENT)
        self.received = b""

    async def request(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> Response:
        if self.http.our_state is h11.DONE:
            self.http.start_next_cycle()
        self.received = b""
        length = {"content-length": str(len(body))} if body else {}
        head = h11.Request(
            method=method, target=path, headers=list({**KEY, **length, **(headers or {})}.items())
        )
        for event in (head, h11.Data(data=body), h11.EndOfMessage()):
            if data := self.http.send(event):
                await self.stream.send(data)
        return await self.response()

    async def response(self) -> Response:
        response: h11.Response | None = None
        while True:
            event = self.http.next_event()
            if event is h11.NEED_DATA:
                self.http.receive_data(await self.receive())
            elif isinstance(event, h11.Response):
                response = event
            elif isinstance(event, h11.Data):
                self.received += event.data
            elif isinstance(event, h11.EndOfMessage):
                assert response is not None
                headers = {name.decode(): value.decode() for name, value in response.headers}
                return Response(response.status_code, headers, self.received)

    async def receive(self) -> bytes:
        try:
            return await self.stream.receive()
        except anyio.EndOfStream:
            return b""

    async def post(self, body: object, path: str = MESSAGES) -> Response:
        return await self.request("POST", path, json.dumps(body).encode())

    async def ask(self, *messages: object, **fields: object) -> Response:
        return await self.post(conversation(*messages, **fields))


def conversation(*messages: object, **fields: object) -> dict[str, Any]:
    """What an agent asks; a string is what the user says."""
    as_messages = [
        {"role": "user", "content": message} if isinstance(message, str) else message
        for message in messages
    ]
    tools = [{"name": "Bash", "input_schema": {}}]
    return {
        "model": "claude-test",
        "max_tokens": 1000,
        "tools": tools,
        "messages": as_messages,
        **fields,
    }


def used(*blocks: object) -> list[object]:
    """An assistant's message and what came of it."""
    result = [{"type": "tool_result", "tool_use_id": "t", "content": "done"}, *blocks]
    return [{"role": "assistant", "content": []}, {"role": "user", "content": result}]


@asynccontextmanager
async def connected(api: ScriptedAPI) -> AsyncIterator[Client]:
    with anyio.fail_after(60):
        port = int(api.url.rpartition(":")[2])
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            yield Client(stream)


def compressed(body: object) -> str:
    return json.dumps(body, separators=(",", ":"))


def text(response: Response) -> str:
    assert response.status == 200
    return "".join(block.get("text", "") for block in response.json["content"])


# --- what it answers -----------------------------------------------------------------------------


async def test_a_plain_request_gets_a_whole_message() -> None:
    reply = APIReply(
        APIThinking("Hm."),
        "Let me see.",
        APIToolUse("Bash", {"command": "ls"}, id="toolu_1"),
        usage=APIUsage(input_tokens=7, output_tokens=8, cache_read_input_tokens=9),
    )
    async with ScriptedAPI([reply]) as api, connected(api) as client:
        message = (await client.ask("hi")).json

    assert re.fullmatch(r"msg_scripted[0-9a-f]{16}", message.pop("id"))
    assert message == {
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": APIThinking("").signature},
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


async def test_a_streamed_message_is_the_same_in_pieces() -> None:
    reply = APIReply(
        APIThinking("I think so."), "Yes, indeed.", structured_output({"ok": True}), chunk=4
    )
    async with ScriptedAPI([reply]) as api, connected(api) as client:
        response = await client.ask("hi", stream=True)

    events = response.events
    assert response.headers["content-type"] == "text/event-stream"
    assert [event["type"] for event in events[:2]] == ["message_start", "content_block_start"]
    assert [event["type"] for event in events[-2:]] == ["message_delta", "message_stop"]
    joined: dict[str, str] = {}
    for event in events:
        if event["type"] == "content_block_delta":
            kind, value = list(event["delta"].values())
            joined[kind] = joined.get(kind, "") + value
    assert joined["thinking_delta"] == "I think so."
    assert joined["text_delta"] == "Yes, indeed."
    assert json.loads(joined["input_json_delta"]) == {"ok": True}
    assert joined["signature_delta"]
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-2]["usage"]["output_tokens"] > 1
    names = [line for line in response.body.decode().splitlines() if line.startswith("event: ")]
    assert names == [f"event: {event['type']}" for event in events]


async def test_every_event_of_a_stream_is_as_the_api_writes_it() -> None:
    reply = APIReply(APIThinking("So"), "Yes", APIToolUse("Bash", {"a": 1}, id="toolu_1"))
    async with ScriptedAPI([reply]) as api, connected(api) as client:
        start, *events = (await client.ask("hi", stream=True)).events

    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "service_tier": "standard",
    }
    message = start.pop("message")
    assert start == {"type": "message_start"}
    assert message.pop("id").startswith("msg_")
    assert message == {
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": 1},
    }

    def begin(index: int, **block: object) -> dict[str, object]:
        return {"type": "content_block_start", "index": index, "content_block": block}

    def delta(index: int, **delta: str) -> dict[str, object]:
        return {"type": "content_block_delta", "index": index, "delta": delta}

    def stop(index: int) -> dict[str, object]:
        return {"type": "content_block_stop", "index": index}

    assert events == [
        begin(0, type="thinking", thinking="", signature=""),
        delta(0, type="thinking_delta", thinking="So"),
        delta(0, type="signature_delta", signature=APIThinking("").signature),
        stop(0),
        begin(1, type="text", text=""),
        delta(1, type="text_delta", text="Yes"),
        stop(1),
        begin(2, type="tool_use", id="toolu_1", name="Bash", input={}),
        delta(2, type="input_json_delta", partial_json='{"a": 1}'),
        stop(2),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {**usage, "output_tokens": events[-2]["usage"]["output_tokens"]},
        },
        {"type": "message_stop"},
    ]


async def test_a_token_is_about_four_characters() -> None:
    replies: list[str | APIReply] = ["", "x" * 40, APIReply("x", usage=APIUsage(output_tokens=3))]
    async with ScriptedAPI(replies) as api, connected(api) as client:
        found = [(await client.ask("hi")).json["usage"]["output_tokens"] for _ in replies]
    # As JSON a block is 28 characters longer than its text.
    assert found == [28 // 4, 68 // 4, 3]


async def test_the_same_tool_used_twice_has_two_ids() -> None:
    use = APIToolUse("Bash", {"command": "ls"})
    async with ScriptedAPI([[use, use]]) as api, connected(api) as client:
        ids = [block["id"] for block in (await client.ask("hi")).json["content"]]

    assert len(set(ids)) == 2


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("hi", "end_turn"),
        (APIToolUse("Bash"), "tool_use"),
        (APIReply("hi", stop_reason="refusal"), None),
    ],
)
async def test_the_stop_reason_follows_from_the_parts(reply: Any, reason: str | None) -> None:
    async with ScriptedAPI([reply]) as api, connected(api) as client:
        assert (await client.ask("x")).json["stop_reason"] == (reason or "refusal")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
        (418, "api_error"),
    ],
)
async def test_a_refusal_has_a_status_and_a_kind(status: int, kind: str) -> None:
    async with ScriptedAPI([APIStatus(status, message="No!")]) as api, connected(api) as client:
        response = await client.ask("hi", stream=True)

    assert response.status == status
    assert response.json["error"] == {"type": kind, "message": "No!"}
    assert "retry-after" not in response.headers


async def test_a_refusal_can_say_when_to_try_again() -> None:
    refusal = APIStatus(429, error="too_fast", retry_after=1.5)
    async with ScriptedAPI([refusal]) as api, connected(api) as client:
        response = await client.ask("hi")

    assert response.headers["retry-after"] == "1.5"
    assert response.json["error"]["type"] == "too_fast"


@pytest.mark.parametrize("stream", [True, False])
async def test_a_cut_reply_ends_in_the_middle(stream: bool) -> None:
    async with ScriptedAPI([APIReply("Hello there", cut_after=2)]) as api, connected(api) as client:
        with pytest.raises(h11.RemoteProtocolError):
            await client.ask("hi", stream=stream)

    assert client.received
    if stream:
        whole, half = client.received.decode().rsplit("\n\n", 1)
        assert whole.count("event: ") == 2
        assert half.startswith("event: content_block_delta\ndata: {")


async def test_a_stream_can_end_too_early_as_if_it_were_complete() -> None:
    reply = APIReply("Hello there", end_after=2)
    async with ScriptedAPI([reply]) as api, connected(api) as client:
        await client.ask("hi", stream=True)
        assert client.received.count(b"event: ") == 2
        assert b"message_stop" not in client.received
        with pytest.raises(h11.RemoteProtocolError):  # as clients do that try again
            await client.ask("hi", stream=False)


@pytest.mark.parametrize("stream", [True, False])
async def test_a_stalled_reply_says_nothing_more(stream: bool) -> None:
    async with ScriptedAPI([APIReply("Hello there", stall_after=2)]) as api:
        async with connected(api) as client:
            events = 2 if stream else 0

            async def ask(client: Client = client) -> None:
                await client.ask("hi", stream=stream)
                raise AssertionError("the reply was complete")

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask)
                while not api.requests or client.received.count(b"event: ") < events:
                    await anyio.lowlevel.checkpoint()
                await anyio.wait_all_tasks_blocked()
                assert client.received.count(b"event: ") == events
                tasks.cancel_scope.cancel()
        async with connected(api) as client:  # others are served all the same
            assert (await client.request("HEAD", "/")).status == 200


@pytest.mark.parametrize("stream", [True, False])
async def test_a_slow_reply_is_complete(stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(anyio, "sleep", sleep)
    async with ScriptedAPI([APIReply("Slow", delay=0.125)]) as api, connected(api) as client:
        response = await client.ask("hi", stream=stream)

    assert b"Slow" in response.body
    assert pauses == [0.125] * (response.body.count(b"event: ") if stream else 1)


async def test_a_client_may_leave_in_the_middle() -> None:
    async with ScriptedAPI([APIReply("x" * 10_000_000, chunk=100)]) as api:
        async with connected(api) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(partial(client.ask, "hi", stream=True))
            while b"event: " not in client.received:
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        async with connected(api) as client:
            assert text(await client.ask("next")) == "I have no script for: next"


async def test_tokens_are_counted() -> None:
    async with ScriptedAPI() as api, connected(api) as client:
        response = await client.post(conversation("hi"), "/v1/messages/count_tokens?beta=true")

    assert response.json == {"input_tokens": len(compressed(conversation("hi"))) // 4}
    assert [request.kind for request in api.requests] == ["count"]
    assert api.turns == []


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("HEAD", "/", b"", 200),
        ("GET", "/v1/models", b"", 404),
        ("POST", "/v1/complete", b"{}", 404),
        ("POST", MESSAGES, b"not json", 404),
    ],
)
async def test_anything_else_is_harmless(method: str, path: str, body: bytes, status: int) -> None:
    async with ScriptedAPI() as api, connected(api) as client:
        response = await client.request(method, path, body)
        again = await client.request("HEAD", "/")

    assert (response.status, again.status) == (status, 200)
    assert api.requests[0].kind == "other"
    assert api.requests[0].messages == []


async def test_what_is_not_http_is_dropped() -> None:
    async with ScriptedAPI() as api, connected(api) as client:
        await client.stream.send(b"\x00\x01 nonsense\r\n\r\n")
        assert await client.receive() == b""

    assert api.requests == []


async def test_a_client_that_waits_for_leave_to_send_its_body_gets_it() -> None:
    async with ScriptedAPI(["ok"]) as api, connected(api) as client:
        body = json.dumps(conversation("hi")).encode()
        head = f"POST {MESSAGES} HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\n"
        await client.stream.send(f"{head}content-length: {len(body)}\r\n\r\n".encode())
        assert (await client.receive()).startswith(b"HTTP/1.1 100 ")
        await client.stream.send(body)
        assert (await client.receive()).startswith(b"HTTP/1.1 200 ")


# --- which reply ---------------------------------------------------------------------------------


async def test_a_rule_is_chosen_by_what_the_user_said() -> None:
    script = APIScript(default="Pardon?")
    script.on("apple", "red").on(re.compile("ban.na", re.I), "yellow")
    script.on(lambda request: len(request.messages) > 2, "long")
    async with ScriptedAPI(script) as api, connected(api) as client:
        said = [
            text(await client.ask(*messages))
            for messages in (["an apple"], ["BANANA"], ["kiwi"], ["kiwi", *used()])
        ]

    assert said == ["red", "yellow", "Pardon?", "long"]


async def test_the_result_of_a_tool_is_the_next_step_of_the_same_turn() -> None:
    script = APIScript().on("list", APIToolUse("Bash"), "Two files.")
    reminder = {"type": "text", "text": "<system-reminder>Mind the list!</system-reminder>"}
    environment = {"role": "system", "content": "Today is list day"}
    async with ScriptedAPI(script) as api, connected(api) as client:
        first = await client.ask("list them", environment)
        second = await client.ask("list them", *used(reminder), environment)
        third = await client.ask("list them", *used(), *used())

    assert first.json["stop_reason"] == "tool_use"
    assert text(second) == "Two files."
    assert text(third) == "My script has ended for: list them"
    assert [request.prompt for request in api.turns] == ["list them"] * 3
    assert api.turns[1].tool_results[0]["content"] == "done"
    assert api.turns[0].tool_results == []


async def test_the_same_prompt_later_begins_anew() -> None:
    script = APIScript().on("go", "one", "two")
    async with ScriptedAPI(script) as api, connected(api) as client:
        first = text(await client.ask("go"))
        other_session = text(await client.ask("go", metadata={"user_id": "other"}))
        later = text(await client.ask("go", *used(), "go"))
        after = text(await client.ask("go", *used(), "go", *used()))

    assert [first, other_session, later, after] == ["one", "one", "one", "two"]


@pytest.mark.parametrize(
    ("failure", "statuses"),
    [(APIStatus(529), [529, 200, 200]), (APIStatus(529, times=2), [529, 529, 200])],
)
async def test_a_failure_can_last_for_some_tries(failure: APIStatus, statuses: list[int]) -> None:
    script = APIScript().on("go", failure, "at last", "and again")
    async with ScriptedAPI(script) as api, connected(api) as client:
        assert [(await client.ask("go")).status for _ in range(3)] == statuses


@pytest.mark.parametrize("times", [1, 0])
async def test_a_failure_that_comes_last_stays(times: int) -> None:
    script = APIScript("fine").on("go", APIStatus(400, times=times))
    async with ScriptedAPI(script) as api, connected(api) as client:
        statuses = [(await client.ask("go")).status for _ in range(4)]
        assert text(await client.ask("stay")) == "fine"

    assert statuses == [400] * 4


async def test_a_reply_can_stay_for_ever() -> None:
    async with ScriptedAPI([APIReply("again", times=0), "never"]) as api, connected(api) as client:
        assert {text(await client.ask("go")) for _ in range(5)} == {"again"}


async def test_replies_without_a_rule_come_in_their_order() -> None:
    def replies() -> Iterator[str]:
        yield "first"
        yield "second"

    async with ScriptedAPI(replies()) as api, connected(api) as client:
        said = [text(await client.ask("x")) for _ in range(3)]

    assert said == ["first", "second", "I have no script for: x"]


async def test_a_function_can_be_the_script() -> None:
    def answer(request: APIRequest) -> str | None:
        if request.prompt == "crash":
            raise RuntimeError("oops")
        return None if request.prompt == "pass" else request.prompt.upper()

    async with ScriptedAPI(answer) as api, connected(api) as client:
        assert text(await client.ask("hello")) == "HELLO"
        assert text(await client.ask("pass")) == "I have no script for: pass"
        crashed = await client.ask("crash")

    assert crashed.status == 400
    assert "RuntimeError('oops')" in crashed.json["error"]["message"]


async def test_a_string_is_one_reply() -> None:
    async with ScriptedAPI("Hello") as api, connected(api) as client:
        assert text(await client.ask("x")) == "Hello"


async def test_side_calls_are_answered_apart() -> None:
    title = {"model": "small", "max_tokens": 512, "messages": [{"role": "user", "content": "go"}]}
    async with ScriptedAPI(["for the turn"]) as api, connected(api) as client:
        assert json.loads(text(await client.post(title)))["title"]
        assert (await client.ask("quota", max_tokens=1)).status == 200
        assert text(await client.ask("go")) == "for the turn"
        assert (await client.ask("go", *used(), tools=[])).status == 200
        assert (await client.ask("go", tools=[], thinking={})).status == 200

    assert [request.kind for request in api.requests] == ["side", "side", "turn", "turn", "turn"]
    assert len(api.side_calls) == 2


LONG = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]


@pytest.mark.parametrize(
    ("method", "path", "body", "kind"),
    [
        ("POST", "/v1/messages", {"max_tokens": 64, "tools": [1]}, "side"),
        ("POST", "/v1/messages", {"max_tokens": 65, "tools": [1]}, "turn"),
        ("POST", "/v1/messages", {"max_tokens": "1", "tools": [1]}, "turn"),
        ("POST", "/v1/messages", {"tools": [1]}, "turn"),
        ("POST", "/v1/messages", {"messages": LONG}, "turn"),
        ("POST", "/v1/messages", {"messages": LONG, "max_tokens": 1}, "side"),
        ("POST", "/v1/messages", {"messages": LONG[:1]}, "side"),
        ("POST", "/v1/messages", {"messages": LONG[:1] * 2}, "side"),
        ("POST", "/v1/messages", {"messages": LONG[:1], "thinking": {}}, "turn"),
        ("POST", "/v1/messages", {"messages": LONG[:1], "context_management": {}}, "turn"),
        ("POST", "/v1/messages?x=/v1/other", {"tools": [1]}, "turn"),
        ("POST", "/v1/messages/count_tokens", {}, "count"),
        ("POST", "/v1/messages/other", {"tools": [1]}, "other"),
        ("POST", "/v1/messages", [1], "other"),
        ("GET", "/v1/messages", {"tools": [1]}, "other"),
    ],
)
def test_what_a_request_is_for_is_seen_from_its_body(
    method: str, path: str, body: Any, kind: str
) -> None:
    assert classify(method, path, body) == kind


def user(*blocks: object) -> dict[str, object]:
    return {"role": "user", "content": list(blocks)}


RESULT = {"type": "tool_result", "content": "done"}
REMINDER = {"type": "text", "text": "  <system-reminder>Hm."}


@pytest.mark.parametrize(
    ("messages", "prompts", "results"),
    [
        ([], [], []),
        ("hi", [], []),
        ([5, user({"type": "text", "text": "a"}, 5)], ["a"], []),
        ([user({"type": "text", "text": "a"}, {"type": "text", "text": "b"})], ["b"], []),
        ([user({"type": "text", "text": "a"}, REMINDER)], ["a"], []),
        ([user(REMINDER)], [], []),
        ([user({"type": "text", "text": " "}, {"type": "text", "text": 5})], [], []),
        ([user({"type": "other", "text": "a"}, {"type": "text"})], [], []),
        ([{"role": "user", "content": "a"}, {"role": "system", "content": "b"}], ["a"], []),
        ([{"role": "user", "content": 5}, {"role": "user"}], [], []),
        ([user({"type": "text", "text": "a"}), user(RESULT, REMINDER)], ["a"], [RESULT]),
        ([user(RESULT), user({"type": "text", "text": "a"})], ["a"], []),
    ],
)
def test_what_the_user_says_is_told_from_what_else_is_sent(
    messages: Any, prompts: list[str], results: list[object]
) -> None:
    request = APIRequest(method="POST", path=MESSAGES, body={"messages": messages})
    assert (request.prompts, request.tool_results) == (prompts, results)
    assert request.prompt == (prompts[-1] if prompts else "")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            {"model": "m", "stream": True, "tools": [{"name": "a"}, 5, {}]},
            ("m", True, ["a", "None"]),
        ),
        ({"stream": 1, "tools": {"name": "a"}}, ("None", False, [])),
        ([], ("None", False, [])),
        (None, ("None", False, [])),
    ],
)
def test_what_is_missing_in_a_request_has_a_value_all_the_same(
    body: Any, told: tuple[object, ...]
) -> None:
    request = APIRequest(method="POST", path=MESSAGES, body=body)
    assert (request.model, request.streamed, request.tools) == told


@pytest.mark.parametrize(
    ("metadata", "conversation"),
    [({"user_id": "a"}, "a"), ({"user_id": 5}, "5"), ({}, ""), ("a", ""), (None, "")],
)
def test_a_conversation_has_the_id_that_the_client_gives_it(
    metadata: object, conversation: str
) -> None:
    request = APIRequest(method="POST", path=MESSAGES, body={"metadata": metadata})
    assert request.conversation == conversation


@pytest.mark.parametrize(("size", "shown"), [(200, 200), (201, 200)])
def test_a_prompt_without_a_reply_is_quoted_up_to_a_length(size: int, shown: int) -> None:
    request = APIRequest(method="POST", path=MESSAGES, body=conversation("x" * size))
    answers = [APIScript().answer(request), APIScript().on("x").answer(request)]
    assert [it.parts for it in answers if isinstance(it, APIReply)] == [
        (f"I have no script for: {'x' * shown}",),
        (f"My script has ended for: {'x' * shown}",),
    ]


def test_each_reply_is_given_as_often_as_it_says() -> None:
    request = APIRequest(method="POST", path=MESSAGES, body=conversation("go"))
    a, b, c, failed = APIReply("a", times=2), APIReply("b"), APIReply("c", times=3), APIStatus(500)
    script = APIScript(a, b, c, failed, default="never")
    given = [script.answer(request) for _ in range(9)]
    assert given == [a, a, b, c, c, c, failed, failed, failed]
    script = APIScript(a, default=b)
    assert [script.answer(request) for _ in range(4)] == [a, a, b, b]


@pytest.mark.parametrize(
    ("fields", "fails"),
    [({}, False), ({"stall_after": 0}, True), ({"cut_after": 0}, True), ({"end_after": 0}, True)],
)
def test_a_reply_fails_if_its_transmission_ends_early(fields: dict[str, int], fails: bool) -> None:
    assert APIReply("a", **fields).fails is fails  # type: ignore[arg-type]


# --- what it records -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "recorded"), [(b"", None), (b"[1]", [1]), (b"{", "{"), (b"caf\xe9", "caf\ufffd")]
)
async def test_a_body_is_recorded_also_if_it_is_not_json(sent: bytes, recorded: Any) -> None:
    async with ScriptedAPI() as api, connected(api) as client:
        await client.request("POST", "/elsewhere", sent)
    assert [it.body for it in api.requests] == [recorded]


async def test_every_request_is_recorded_without_its_secrets(tmp_path: Path) -> None:
    record = tmp_path / "requests.jsonl"
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
    picture = {"role": "user", "content": [{"type": "text", "text": "What is it?"}, image]}
    async with ScriptedAPI(record=record) as api, connected(api) as client:
        await client.ask(picture)
        hidden = dict.fromkeys(("Authorization", "Cookie", "X-Token", "X-Secret"), "hunter2")
        await client.request("HEAD", "/hello", headers=hidden)

    asked, greeted = api.requests
    assert (asked.method, asked.path) == ("POST", MESSAGES)
    assert asked.prompt == "What is it?"
    assert asked.messages[0]["content"][1] == image
    assert asked.tools == ["Bash"]
    assert asked.headers["x-api-key"] == "redacted"
    assert {greeted.headers[name.lower()] for name in hidden} == {"redacted"}
    assert (greeted.path, greeted.body, greeted.prompt) == ("/hello", None, "")
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert [line["kind"] for line in lines] == ["turn", "other"]
    assert "hunter2" not in record.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_is_to_end_the_program_is_no_answer_of_the_api(kind: type[BaseException]) -> None:
    def interrupted(request: APIRequest) -> str:
        raise kind

    body = {"messages": [{"role": "user", "content": "go"}], "stream": True}
    request = APIRequest(method="POST", path=MESSAGES, headers={}, body=body, kind="turn")
    with pytest.raises(kind):
        ScriptedAPI(interrupted)._step(request)


async def test_an_exception_of_the_caller_is_not_wrapped() -> None:
    with pytest.raises(ZeroDivisionError):
        async with ScriptedAPI():
            raise ZeroDivisionError


# --- as a file, and as a program -----------------------------------------------------------------

FILE = r"""
replies = ["one", { thinking = "Hm.", text = "two", usage = { input_tokens = 5 } }]
default = { text = "Pardon?", stop_reason = "stop_sequence" }

[[rules]]
contains = "list"
replies = [
    { parts = ["2:", { tool = "Bash", input = { command = "ls" } }, { tool = "Read", id = "r" }] },
    { structured = { files = 2 } },
]

[[rules]]
matches = "(?i)retry \\d"
replies = [
    { status = 429, retry_after = 0, times = 2 },
    { text = "cut", cut_after = 3 },
    { text = "ends", end_after = 3 },
    { text = "stalled", stall_after = 3, delay = 0.5, chunk = 1 },
]
"""


def equivalent() -> APIScript:
    script = APIScript(
        "one",
        APIReply(APIThinking("Hm."), "two", usage=APIUsage(input_tokens=5)),
        default=APIReply("Pardon?", stop_reason="stop_sequence"),
    )
    script.on(
        "list",
        ["2:", APIToolUse("Bash", {"command": "ls"}), APIToolUse("Read", id="r")],
        structured_output({"files": 2}),
    )
    return script.on(
        re.compile(r"retry \d", re.IGNORECASE),
        APIStatus(429, retry_after=0, times=2),
        APIReply("cut", cut_after=3),
        APIReply("ends", end_after=3),
        APIReply("stalled", stall_after=3, delay=0.5, chunk=1),
    )


def test_a_script_can_be_written_in_a_file(tmp_path: Path) -> None:
    toml = tmp_path / "script.toml"
    toml.write_text(FILE, encoding="utf-8")
    loaded = APIScript.load(toml).to_data()
    assert loaded == equivalent().to_data()
    assert all(loaded[part] for part in ("rules", "replies", "default"))

    again = tmp_path / "script.json"
    again.write_text(json.dumps(loaded), encoding="utf-8")
    assert APIScript.load(again).to_data() == loaded


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ("rules = 3", r"\$\.rules"),
        ("replies = [{ txt = 'x' }]", "txt"),
        ("[[rules]]\ncontains = 'x'", "replies"),
        ("[[rules]]\nmatches = '('\nreplies = []", r"rules\[0\]"),
        ("= = =", "line 1"),
        ("a = " + "[" * 5000, "nest|recursion"),
    ],
    ids=lambda it: it[:20],
)
def test_a_mistake_in_a_file_is_explained(tmp_path: Path, content: str, where: str) -> None:
    path = tmp_path / "script.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=where) as raised:
        APIScript.load(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    "script",
    [APIScript().on(lambda _: True, "x"), APIScript.of(iter(["x"])), APIScript.of(lambda _: "x")],
)
def test_what_is_a_function_cannot_be_written_down(script: APIScript) -> None:
    with pytest.raises(ValueError, match="cannot be written to a file"):
        script.to_data()


async def test_it_serves_until_it_is_told_to_stop() -> None:
    urls: list[str] = []

    def ready(url: str) -> None:
        urls.append(url)
        signal.raise_signal(signal.SIGTERM)

    with anyio.fail_after(60):
        await serve(["x"], ready=ready)
    assert is_free_port(urls[0])


def is_free_port(url: str) -> bool:
    """Whether the system has chosen the port, among those that anybody may use."""
    host, _, port = url.rpartition(":")
    return host == "http://127.0.0.1" and int(port) > 1023


async def test_the_port_is_free_or_the_one_that_was_chosen() -> None:
    async with ScriptedAPI() as first, ScriptedAPI() as second:
        assert is_free_port(first.url)
        assert first.url != second.url
    assert ScriptedAPI(port=5).url == "http://127.0.0.1:5"


@pytest.mark.parametrize(
    ("given", "made"),
    [({}, {"port": 0, "record": None}), ({"port": 5, "record": "r"}, {"port": 5, "record": "r"})],
)
async def test_what_is_served_has_what_was_given(
    given: dict[str, Any], made: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    class API(ScriptedAPI):
        def __init__(self, script: Any, **fields: Any) -> None:
            seen.append((script, fields))
            super().__init__(script)

    monkeypatch.setattr("claudewire.testing.api.server.ScriptedAPI", API)
    with anyio.fail_after(60):
        await serve(["x"], **given, ready=lambda url: signal.raise_signal(signal.SIGTERM))
    assert seen == [(["x"], made)]


async def test_what_is_served_is_recorded_where_that_is_wanted(tmp_path: Path) -> None:
    record = tmp_path / "requests.jsonl"
    urls: list[str] = []
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(serve, ["x"], record=record, ready=urls.append))
            while not urls:
                await anyio.lowlevel.checkpoint()
            async with await anyio.connect_tcp("127.0.0.1", int(urls[0].rpartition(":")[2])) as it:
                assert text(await Client(it).ask("hi")) == "x"
            signal.raise_signal(signal.SIGTERM)
    assert record.read_bytes().count(b"\n") == 1


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ([], {"port": 0, "record": None}),
        (["--port", "5", "--record", "r"], {"port": 5, "record": "r"}),
    ],
)
def test_the_words_of_the_program_say_what_is_served(
    words: list[str], given: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[Any] = []

    async def note(script: APIScript, **fields: Any) -> None:
        fields.pop("ready")
        served.append((script.to_data(), fields))

    monkeypatch.setattr("claudewire.testing.api.server.serve", note)
    main(words)
    script = tmp_path / "script.toml"
    script.write_text('replies = ["a"]', encoding="utf-8")
    main([*words, "--script", str(script)])
    assert served == [(APIScript().to_data(), given), (APIScript("a").to_data(), given)]


def test_it_is_a_program(tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    script.write_text('default = "Hello"', encoding="utf-8")
    command = [sys.executable, "-m", "claudewire.testing.api", "--script", str(script)]
    with ended(subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()

        async def ask() -> str:
            with anyio.fail_after(60):
                host, port = url.removeprefix("http://").split(":")
                async with await anyio.connect_tcp(host, int(port)) as stream:
                    return text(await Client(stream).ask("hi"))

        assert anyio.run(ask) == "Hello"
        process.terminate()
        assert process.wait(60) == 0


def test_the_package_can_be_run(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[bool] = []
    monkeypatch.setattr("claudewire.testing.api.server.main", lambda: called.append(True))
    runpy.run_module("claudewire.testing.api.__main__")
    assert called == [True]


def test_the_program_runs_in_this_process_as_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Stdout:
        def write(self, line: str) -> None:
            assert line.endswith("\n")
            assert is_free_port(line)

        def flush(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(sys, "stdout", Stdout())
    main([])


def test_the_program_refuses_a_script_that_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["--script", str(tmp_path / "missing.toml")])
    assert "missing.toml" in capsys.readouterr().err
