"""A scripted Messages API on loopback, so that a real CLI runs without a network.

    async with ScriptedAPI(["Hello!"]) as api:
        ...  # run a client with ANTHROPIC_BASE_URL=api.url
    assert api.turns[0].prompt == "hi"

As a program, for clients in other languages: `python -m claudewire.testing.api --script FILE`.
Its first line on stdout is its URL. It needs the extra `api`.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import anyio
import anyio.abc
import h11
import msgspec
from anyio.abc import SocketAttribute

from .replies import APIReply, APIStatus, Step, error_body, message_body, message_events
from .requests import COUNT, SIDE, TURN, APIRequest, classify, redacted
from .script import APIScript, ScriptSource

__all__ = ["ScriptedAPI", "main", "serve"]

_LEFT = (anyio.BrokenResourceError, anyio.ClosedResourceError, h11.ProtocolError)
_JSON = {"content-type": "application/json"}
_SIDE_ANSWER = '{"title": "A scripted session", "isNewTopic": false, "summary": "Scripted."}'
"""Fits what the CLI asks on the side: JSON with one of these fields, or any text."""


class ScriptedAPI:
    """The server. It listens on a free port of 127.0.0.1 for as long as the context lasts.

    Args:
        script: what the model says: an `APIScript`, replies in their order, or a function.
        port: the port to listen on; 0 for any that is free.
        record: a file that every request is appended to, as a line of JSON.
    """

    def __init__(
        self, script: ScriptSource = (), *, port: int = 0, record: str | Path | None = None
    ) -> None:
        self.script: APIScript = APIScript.of(script)
        self.requests: list[APIRequest] = []
        """Every request, in the order of arrival."""
        self._port = port
        self._record = None if record is None else Path(record)
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
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=self._port)
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
                while (received := await http.receive()) is not None:
                    await _answer(http, *self._take(received))
        except _LEFT:
            pass  # clients may disconnect at any time

    def _take(self, received: HTTPRequest) -> tuple[APIRequest, Step | None]:
        method, path, headers, data = received
        body = _parse(data)
        request = APIRequest(
            method=method,
            path=path,
            headers=redacted(headers),
            body=body,
            kind=classify(method, path, body),
        )
        self.requests.append(request)
        if self._record is not None:
            # Unbuffered, so that lines of several servers do not mix.
            with self._record.open("ab", buffering=0) as file:
                file.write(msgspec.json.encode(request) + b"\n")
        return request, self._step(request)

    def _step(self, request: APIRequest) -> Step | None:
        if request.kind == SIDE:
            return APIReply(_SIDE_ANSWER)
        if request.kind != TURN:
            return None
        try:
            return self.script.answer(request)
        except Exception as error:  # a user's function: its error must be visible
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
        there_is_none = APIStatus(404, message=f"There is no {request.method} {request.path}")
        await _send_json(http, 404, error_body(there_is_none))


async def _send_json(
    http: HTTPConnection, status: int, body: Any, headers: dict[str, str] | None = None
) -> None:
    data = msgspec.json.encode(body)
    await http.start(status, {**_JSON, "content-length": str(len(data)), **(headers or {})})
    await http.send(data)
    await http.end()


async def _send_message(http: HTTPConnection, reply: APIReply, model: str) -> None:
    data = msgspec.json.encode(message_body(reply, model))
    await anyio.sleep(reply.delay)
    await http.start(200, {**_JSON, "content-length": str(len(data))})
    if reply.fails:
        await _fail(http, reply, data)
    await http.send(data)
    await http.end()


async def _send_events(http: HTTPConnection, reply: APIReply, model: str) -> None:
    await http.start(200, {"content-type": "text/event-stream", "cache-control": "no-cache"})
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
        await http.until_they_leave()
    raise anyio.ClosedResourceError


def _parse(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data) if data else None
    except ValueError:
        return data.decode(errors="replace")


# --- one HTTP connection -------------------------------------------------------------------------

_RECEIVED = 65536
"""Bytes that are read at a time."""


class HTTPRequest(NamedTuple):
    """A complete request of a client."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class HTTPConnection:
    """One connection, for any number of requests."""

    def __init__(self, stream: anyio.abc.ByteStream) -> None:
        self._stream = stream
        self._http = h11.Connection(h11.SERVER)

    async def receive(self) -> HTTPRequest | None:
        """Wait for a request; None when the client has closed the connection.

        Raises:
            h11.RemoteProtocolError: this is not HTTP.
        """
        if self._http.our_state is h11.DONE:
            self._http.start_next_cycle()
        head, body = None, b""
        while True:
            event = await self._next_event()
            if isinstance(event, h11.Request):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                assert head is not None
                return _request(head, body)
            else:
                return None

    async def _next_event(self) -> h11.Event | type[h11.PAUSED]:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                await self._send(h11.InformationalResponse(status_code=100, headers=[]))
            self._http.receive_data(await self._receive())
        return event  # type: ignore[return-value]

    async def _receive(self) -> bytes:
        try:
            return await self._stream.receive(_RECEIVED)
        except anyio.EndOfStream:
            return b""

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Start a response. Without a length in the headers it is chunked."""
        await self._send(h11.Response(status_code=status, headers=list(headers.items())))

    async def send(self, data: bytes) -> None:
        """Send some of the body."""
        await self._send(h11.Data(data=data))

    async def end(self) -> None:
        """Complete the response."""
        await self._send(h11.EndOfMessage())

    async def until_they_leave(self) -> None:
        """Wait until the client closes the connection."""
        while await self._receive():
            pass

    async def _send(self, event: h11.Event) -> None:
        if data := self._http.send(event):
            await self._stream.send(data)


def _request(head: h11.Request, body: bytes) -> HTTPRequest:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
    return HTTPRequest(head.method.decode("ascii"), head.target.decode("latin-1"), headers, body)


# --- as a program --------------------------------------------------------------------------------


async def serve(
    script: ScriptSource,
    *,
    port: int = 0,
    record: str | Path | None = None,
    ready: Callable[[str], object],
) -> None:
    """Serve a `ScriptedAPI` until SIGINT or SIGTERM arrives.

    `ready` is called with the URL once the server listens; the others are its arguments.
    """
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with ScriptedAPI(script, port=port, record=record) as api:
            ready(api.url)
            async for _ in signals:
                return


def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(
        prog="python -m claudewire.testing.api",
        description="A Messages API on loopback that follows a script.",
    )
    parser.add_argument("--script", help="a TOML or JSON file; see claudewire.testing.api")
    parser.add_argument("--port", type=int, default=0, help="0, the default, for any that is free")
    parser.add_argument("--record", help="append every request to this file, as a line of JSON")
    options = parser.parse_args(arguments)
    try:
        script = APIScript.load(options.script) if options.script else APIScript()
    except (OSError, ValueError) as error:
        parser.error(str(error))
    run = partial(serve, script, port=options.port, record=options.record, ready=_say)
    anyio.run(run)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
