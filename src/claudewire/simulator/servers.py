"""MCP servers that are programs or are reached by HTTP: really started, and really asked.

Everything here blocks, and is called in a thread. It is a client of its own rather than that of the
`mcp` package: three requests are all that is needed, and the simulated CLI has to start fast.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    from http.client import HTTPResponse

__all__ = ["ExternalServer", "ServerError", "connect_external"]

PATIENCE = 60.0
"""Seconds that a server may take for an answer."""

STARTING = 30.0
"""Seconds that it may take to start."""

ENDING = 1.0
"""Seconds that a program may take to end with its input; then it is killed."""


class ServerError(Exception):
    """A server does not work, or has answered with an error."""


class ExternalServer(Protocol):
    """A server that is connected."""

    def request(self, method: str, params: Any, seconds: float = PATIENCE) -> dict[str, Any]:
        """Ask, and return the result.

        Raises:
            ServerError: there is none.
        """

    def notify(self, method: str) -> None:
        """Tell it something."""

    def close(self) -> None:
        """End it."""


def connect_external(
    config: Mapping[str, Any], client: Mapping[str, Any], env: Mapping[str, str], cwd: str
) -> tuple[ExternalServer, dict[str, Any], list[Any]]:
    """Start a server, or reach it: the server, what it says of itself, its tools.

    Args:
        config: how it is started or reached, as in a configuration file.
        client: the parameters of `initialize`.
        env: variables for a program.
        cwd: the working directory of a program.

    Raises:
        ServerError: it cannot be connected.
    """
    kind = config.get("type", "http" if "url" in config else "stdio")
    server: ExternalServer
    if kind == "stdio":
        server = _Program(config, env, cwd)
    elif kind in ("http", "sse"):
        server = _Web(config) if kind == "http" else _EventStream(config)
    else:
        raise ServerError(f"Servers of the type {kind!r} are not simulated")
    try:
        about = server.request("initialize", client, STARTING)
        server.notify("notifications/initialized")
        tools = server.request("tools/list", None, STARTING).get("tools")
    except ServerError:
        server.close()
        raise
    return server, about, tools if isinstance(tools, list) else []


def _result(message: Mapping[str, Any]) -> dict[str, Any]:
    error = message.get("error")
    if error is not None:
        raise ServerError(str(error.get("message") if isinstance(error, dict) else error))
    result = message.get("result")
    return result if isinstance(result, dict) else {}


def _message(method: str, params: Any, id: int | None = None) -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if id is not None:
        message["id"] = id
    if params is not None:
        message["params"] = params
    return json.dumps(message).encode()


class _Program:
    """A server that is a program and reads lines from stdin."""

    def __init__(self, config: Mapping[str, Any], env: Mapping[str, str], cwd: str) -> None:
        command = [str(config.get("command")), *map(str, config.get("args") or ())]
        own = {key: str(value) for key, value in (config.get("env") or {}).items()}
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                command,
                stdin=pipe,
                stdout=pipe,
                stderr=subprocess.DEVNULL,
                env={**env, **own},
                cwd=cwd,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ServerError(f"{error}") from error
        self._lock = threading.Lock()
        self._id = 0
        self._rest = b""

    def request(self, method: str, params: Any, seconds: float = PATIENCE) -> dict[str, Any]:
        with self._lock:
            self._id += 1
            self._write(_message(method, params, self._id))
            for line in self._lines(time.monotonic() + seconds):
                answer = _decoded(line)
                if answer.get("id") == self._id and "method" not in answer:
                    return _result(answer)
        raise ServerError("The server has ended")

    def notify(self, method: str) -> None:
        self._write(_message(method, None))

    def close(self) -> None:
        process = self._process
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):  # the server ended before it had read everything
                    stream.close()
        try:
            process.wait(ENDING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _write(self, message: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(message + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError) as error:
            raise ServerError(f"The server has ended: {error}") from error

    def _lines(self, deadline: float) -> Iterator[bytes]:
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        while True:
            line, found, rest = self._rest.partition(b"\n")
            if found:
                self._rest = rest
                yield line
                continue
            ready, _, _ = select.select([fd], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise ServerError("The server did not answer in time")
            data = os.read(fd, 65536)
            if not data:
                return
            self._rest += data


def _decoded(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


class _Web:
    """A server that is reached by HTTP, as the protocol's "streamable HTTP" says."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._url = str(config.get("url"))
        self._headers = {**_headers(config), "Accept": "application/json, text/event-stream"}
        self._id = 0

    def request(self, method: str, params: Any, seconds: float = PATIENCE) -> dict[str, Any]:
        self._id += 1
        id = self._id
        for line in self._post(_message(method, params, id), seconds):
            answer = _decoded(line)
            if answer.get("id") == id and "method" not in answer:
                result = _result(answer)
                if method == "initialize":
                    version = str(result.get("protocolVersion"))
                    self._headers["MCP-Protocol-Version"] = version
                return result
        raise ServerError("The server has not answered")

    def notify(self, method: str) -> None:
        for _ in self._post(_message(method, None), PATIENCE):
            pass

    def close(self) -> None:
        pass  # each request has a connection of its own

    def _post(self, body: bytes, seconds: float) -> Iterator[bytes]:
        with _asked(self._url, self._headers, body, seconds) as response:
            if session := response.getheader("Mcp-Session-Id"):
                self._headers["Mcp-Session-Id"] = session
            if "event-stream" in (response.getheader("Content-Type") or ""):
                yield from (it[5:] for it in response if it.startswith(b"data:"))
            else:
                yield response.read()


class _EventStream:
    """A server that takes requests by HTTP and answers in a stream of events ("HTTP with SSE")."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        url = str(config.get("url"))
        self._headers = _headers(config)
        self._open = ExitStack()
        wanted = {**self._headers, "Accept": "text/event-stream"}
        self._response = self._open.enter_context(_asked(url, wanted, None, PATIENCE))
        self._id = 0
        try:
            # The first event says where to send requests.
            self._endpoint = urljoin(url, next(self._data()).decode("utf-8", "replace").strip())
        except (StopIteration, ServerError):
            self.close()
            raise ServerError("The server has not said where to send requests") from None

    def request(self, method: str, params: Any, seconds: float = PATIENCE) -> dict[str, Any]:
        self._id += 1
        self._post(_message(method, params, self._id), seconds)
        for data in self._data():
            answer = _decoded(data)
            if answer.get("id") == self._id and "method" not in answer:
                return _result(answer)
        raise ServerError("The server has ended")

    def notify(self, method: str) -> None:
        self._post(_message(method, None), PATIENCE)

    def close(self) -> None:
        self._open.close()

    def _post(self, body: bytes, seconds: float) -> None:
        with _asked(self._endpoint, self._headers, body, seconds) as response:
            response.read()

    def _data(self) -> Iterator[bytes]:
        """What its next events carry."""
        try:
            while line := self._response.readline():
                if line.startswith(b"data:"):
                    yield line[5:]
        except OSError as error:
            raise ServerError(f"{error}") from error


def _headers(config: Mapping[str, Any]) -> dict[str, str]:
    own = {key: str(value) for key, value in (config.get("headers") or {}).items()}
    return {"Content-Type": "application/json", **own}


@contextmanager
def _asked(
    url: str, headers: Mapping[str, str], body: bytes | None, seconds: float
) -> Iterator[HTTPResponse]:
    """Send a request, a GET if it has no body; the connection is closed afterwards."""
    from http.client import HTTPConnection, HTTPException, HTTPSConnection

    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=seconds)
    query = f"?{parts.query}" if parts.query else ""
    try:
        method = "GET" if body is None else "POST"
        connection.request(method, (parts.path or "/") + query, body, dict(headers))
        with connection.getresponse() as response:
            if response.status >= 400:
                raise ServerError(f"The server has answered with status {response.status}")
            yield response
    except (OSError, HTTPException) as error:
        raise ServerError(f"{error}") from error
    finally:
        connection.close()
