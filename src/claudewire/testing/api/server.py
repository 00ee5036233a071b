"""The server of the scripted Messages API."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from itertools import islice
from pathlib import Path
from socketserver import ThreadingTCPServer
from threading import Lock, Thread
from typing import Any, NoReturn
from weakref import WeakSet

import anyio
import anyio.to_thread
import msgspec

from .replies import (
    APIReply,
    APIScript,
    APIStatus,
    ScriptSource,
    Step,
    error_body,
    message_body,
    message_events,
)
from .requests import COUNT, SIDE, TURN, APIRequest, classify, redacted

_JSON = "application/json"
_POLLS = 0.05
"""Seconds within which the server notices that it should end."""

_SIDE_ANSWER = APIReply('{"title": "A session", "isNewTopic": false, "summary": "Scripted."}')
"""Fits the side calls of the CLI: JSON with one of these fields, or any text."""


class ScriptedAPI:
    """A Messages API on a free port of 127.0.0.1, as long as its context lasts.

        async with ScriptedAPI(["Hello!"]) as api:
            ...  # run a client with ANTHROPIC_BASE_URL=api.url
        assert api.turns[0].prompt == "hi"

    It runs in threads, and `with` works, too.

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
        self._lock = Lock()
        self._server: _Server | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """The value for `ANTHROPIC_BASE_URL`."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def turns(self) -> list[APIRequest]:
        """The requests that the script has answered."""
        return [request for request in self.requests if request.kind == TURN]

    def __enter__(self) -> ScriptedAPI:
        self._server = _Server(self)
        self._port = self._server.server_address[1]
        Thread(target=self._server.serve_forever, args=(_POLLS,), daemon=True).start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        assert self._server is not None
        self._server.close()

    async def __aenter__(self) -> ScriptedAPI:
        return self.__enter__()

    async def __aexit__(self, *exc_info: object) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self.__exit__)

    def step(self, request: APIRequest) -> Step | None:
        """Note a request, and choose its answer; None if the script has none."""
        with self._lock:
            self.requests.append(request)
            if self._record is not None:
                # Unbuffered, so that lines of several servers do not mix.
                with self._record.open("ab", buffering=0) as file:
                    file.write(msgspec.json.encode(request) + b"\n")
            if request.kind == SIDE:
                return _SIDE_ANSWER
            if request.kind != TURN:
                return None
            try:
                return self.script.answer(request)
            except Exception as error:  # of a user's function
                return APIStatus(400, message=f"The script failed: {error!r}")


class _Server(ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 100

    def __init__(self, api: ScriptedAPI) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.api = api
        self._connections: WeakSet[socket.socket] = WeakSet()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):  # clients may disconnect at any time
            super().handle_error(request, client_address)

    def finish_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().finish_request(request, client_address)

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        for connection in list(self._connections):
            with suppress(OSError):  # it was closed
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    """One connection, for any number of requests."""

    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def do_POST(self) -> None:
        """Answer a request with any method."""
        data = self.rfile.read(int(self.headers["Content-Length"] or 0))
        request = _request(self.command, self.path, dict(self.headers), data)
        step = self.server.api.step(request)
        if isinstance(step, APIReply):
            write = self._send_events if request.streamed else self._send_message
            write(step, request.model)
        elif isinstance(step, APIStatus):
            hint = {} if step.retry_after is None else {"retry-after": f"{step.retry_after:g}"}
            self._send_json(step.status, error_body(step), hint)
        elif request.kind == COUNT:
            self._send_json(200, {"input_tokens": len(msgspec.json.encode(request.body)) // 4})
        elif request.method == "HEAD":
            self._start(200, {"content-length": "0"})
        else:
            missing = APIStatus(404, message=f"There is no {request.method} {request.path}")
            self._send_json(404, error_body(missing))

    do_GET = do_HEAD = do_POST

    def _start(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _send_json(self, status: int, body: Any, headers: Mapping[str, str] = {}) -> None:
        data = msgspec.json.encode(body)
        self._start(status, {"content-type": _JSON, "content-length": str(len(data)), **headers})
        self.wfile.write(data)

    def _send_message(self, reply: APIReply, model: str) -> None:
        time.sleep(reply.delay)
        body = message_body(reply, model)
        if not reply.fails:
            self._send_json(200, body)
            return
        data = msgspec.json.encode(body)
        self._start(200, {"content-type": _JSON, "content-length": str(len(data))})
        self._fail(reply, data[: len(data) // 2])

    def _send_events(self, reply: APIReply, model: str) -> None:
        stream = {"content-type": "text/event-stream", "cache-control": "no-cache"}
        self._start(200, {**stream, "transfer-encoding": "chunked"})
        for count, event in enumerate(islice(message_events(reply, model), reply.end_after)):
            time.sleep(reply.delay)
            data = b"event: %s\ndata: %s\n\n" % (event["type"].encode(), msgspec.json.encode(event))
            if count in (reply.stall_after, reply.cut_after):
                self._fail(reply, _chunk(data[: len(data) // 2]))
            self.wfile.write(_chunk(data))
        self.wfile.write(_chunk(b""))

    def _fail(self, reply: APIReply, half: bytes) -> NoReturn:
        """Send nothing more, or the half of something, and then close the connection."""
        if reply.stall_after is None:
            self.wfile.write(half)
        else:
            self.rfile.read(1)  # until the client disconnects
        raise ConnectionAbortedError


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _request(method: str, path: str, headers: dict[str, str], data: bytes) -> APIRequest:
    try:
        body = msgspec.json.decode(data) if data else None
    except ValueError:
        body = data.decode(errors="replace")
    headers = redacted({name.lower(): value for name, value in headers.items()})
    kind = classify(method, path, body)
    return APIRequest(method=method, path=path, headers=headers, body=body, kind=kind)
