"""The server of the scripted Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import anyio
import anyio.abc
import h11
import msgspec
from anyio.abc import SocketAttribute

from .replies import APIReply, APIStatus, Step, error_body, message_body, message_events
from .requests import COUNT, SIDE, TURN, APIRequest, classify, redacted
from .script import APIScript, ScriptSource

_LEFT = (anyio.BrokenResourceError, anyio.ClosedResourceError, h11.ProtocolError)
_JSON = {"content-type": "application/json"}
_EVENTS = {"content-type": "text/event-stream", "cache-control": "no-cache"}
_SIDE_ANSWER = APIReply('{"title": "A session", "isNewTopic": false, "summary": "Scripted."}')
"""Fits the side calls of the CLI: JSON with one of these fields, or any text."""


class ScriptedAPI:
    """A Messages API on a free port of 127.0.0.1, as long as its context lasts.

        async with ScriptedAPI(["Hello!"]) as api:
            ...  # run a client with ANTHROPIC_BASE_URL=api.url
        assert api.turns[0].prompt == "hi"

    Args:
        script: an `APIScript`, or replies in their order.
        record: a file that every request is appended to, as a line of JSON.

    Attributes:
        requests: every request, in the order of arrival.
    """

    def __init__(self, script: ScriptSource = (), *, record: Path | None = None) -> None:
        self.script: APIScript = APIScript.of(script)
        self.requests: list[APIRequest] = []
        self._record = record
        self._port = 0
        self._tasks: anyio.abc.TaskGroup | None = None

    @property
    def url(self) -> str:
        """The value for `ANTHROPIC_BASE_URL`."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def turns(self) -> list[APIRequest]:
        """The requests that the script has answered."""
        return [request for request in self.requests if request.kind == TURN]

    @property
    def side_calls(self) -> list[APIRequest]:
        """The requests that a CLI made for its own purposes."""
        return [request for request in self.requests if request.kind == SIDE]

    async def __aenter__(self) -> ScriptedAPI:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        self._port = listener.extra(SocketAttribute.local_port)
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._listen, listener)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        assert self._tasks is not None
        self._tasks.cancel_scope.cancel()
        # The group does not see the caller's exception, which it would wrap.
        await self._tasks.__aexit__(None, None, None)

    async def _listen(self, listener: anyio.abc.Listener[anyio.abc.SocketStream]) -> None:
        async with listener:
            await listener.serve(self._serve)

    async def _serve(self, stream: anyio.abc.SocketStream) -> None:
        http = HTTPConnection(stream)
        try:
            async with stream:
                while (request := await http.receive()) is not None:
                    self._note(request)
                    await _answer(http, request, self._step(request))
        except _LEFT:
            pass  # clients may disconnect at any time

    def _note(self, request: APIRequest) -> None:
        self.requests.append(request)
        if self._record is not None:
            # Unbuffered, so that lines of several servers do not mix.
            with self._record.open("ab", buffering=0) as file:
                file.write(msgspec.json.encode(request) + b"\n")

    def _step(self, request: APIRequest) -> Step | None:
        if request.kind == SIDE:
            return _SIDE_ANSWER
        if request.kind != TURN:
            return None
        try:
            return self.script.answer(request)
        except Exception as error:  # of a user's function
            return APIStatus(400, message=f"The script failed: {error!r}")


async def _answer(http: HTTPConnection, request: APIRequest, step: Step | None) -> None:
    if isinstance(step, APIReply):
        write = _send_events if request.streamed else _send_message
        await write(http, step, request.model)
    elif isinstance(step, APIStatus):
        hint = {} if step.retry_after is None else {"retry-after": f"{step.retry_after:g}"}
        await _send_json(http, step.status, error_body(step), hint)
    elif request.kind == COUNT:
        await _send_json(http, 200, {"input_tokens": len(msgspec.json.encode(request.body)) // 4})
    elif request.method == "HEAD":
        await http.start(200, {"content-length": "0"})
        await http.end()
    else:
        missing = APIStatus(404, message=f"There is no {request.method} {request.path}")
        await _send_json(http, 404, error_body(missing))


async def _send_json(
    http: HTTPConnection, status: int, body: Any, headers: Mapping[str, str] = {}
) -> None:
    data = msgspec.json.encode(body)
    await http.start(status, {**_JSON, "content-length": str(len(data)), **headers})
    await http.send(data)
    await http.end()


async def _send_message(http: HTTPConnection, reply: APIReply, model: str) -> None:
    await anyio.sleep(reply.delay)
    if not reply.fails:
        await _send_json(http, 200, message_body(reply, model))
        return
    data = msgspec.json.encode(message_body(reply, model))
    await http.start(200, {**_JSON, "content-length": str(len(data))})
    await _fail(http, reply, data)


async def _send_events(http: HTTPConnection, reply: APIReply, model: str) -> None:
    await http.start(200, _EVENTS)
    for count, event in enumerate(islice(message_events(reply, model), reply.end_after)):
        await anyio.sleep(reply.delay)
        data = b"event: %s\ndata: %s\n\n" % (event["type"].encode(), msgspec.json.encode(event))
        if count in (reply.stall_after, reply.cut_after):
            await _fail(http, reply, data)
        await http.send(data)
    await http.end()


async def _fail(http: HTTPConnection, reply: APIReply, data: bytes) -> NoReturn:
    """Send nothing more, or half of `data`, and then close the connection."""
    if reply.stall_after is None:
        await http.send(data[: len(data) // 2])
    else:
        await http.until_closed()
    raise anyio.ClosedResourceError


class HTTPConnection:
    """One connection, for any number of requests."""

    def __init__(self, stream: anyio.abc.ByteStream) -> None:
        self._stream = stream
        self._http = h11.Connection(h11.SERVER)

    async def receive(self) -> APIRequest | None:
        """Wait for a request; None when the client has closed the connection.

        Raises:
            h11.RemoteProtocolError: the data is not HTTP.
        """
        if self._http.our_state is h11.DONE:
            self._http.start_next_cycle()
        head = await self._next_event()
        if not isinstance(head, h11.Request):
            return None
        data = b""
        while isinstance(event := await self._next_event(), h11.Data):
            data += event.data
        return _request(head, data)

    async def _next_event(self) -> h11.Event | type[h11.PAUSED]:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                await self._send(h11.InformationalResponse(status_code=100, headers=[]))
            self._http.receive_data(await self._receive())
        return event  # type: ignore[return-value]

    async def _receive(self) -> bytes:
        try:
            return await self._stream.receive()
        except anyio.EndOfStream:
            return b""

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Start a response. Without a length in the headers it is chunked."""
        await self._send(h11.Response(status_code=status, headers=[*headers.items()]))

    async def send(self, data: bytes) -> None:
        """Send some of the body."""
        await self._send(h11.Data(data=data))

    async def end(self) -> None:
        """Complete the response."""
        await self._send(h11.EndOfMessage())

    async def until_closed(self) -> None:
        """Wait until the client closes the connection."""
        while await self._receive():
            pass

    async def _send(self, event: h11.Event) -> None:
        if data := self._http.send(event):
            await self._stream.send(data)


def _request(head: h11.Request, data: bytes) -> APIRequest:
    method, path = head.method.decode("ascii"), head.target.decode("latin-1")
    try:
        body = msgspec.json.decode(data) if data else None
    except ValueError:
        body = data.decode(errors="replace")
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
    kind = classify(method, path, body)
    return APIRequest(method=method, path=path, headers=redacted(headers), body=body, kind=kind)
