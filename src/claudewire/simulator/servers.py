"""MCP servers outside of the application: programs, and servers that are reached by HTTP.

The clients block, and run in a thread. They are independent of the `mcp` package because the CLI
needs three requests only.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

PATIENCE = 60.0
"""The seconds within which a server has to answer."""

STARTING = 30.0
"""The seconds within which a server has to start."""

ENDING = 1.0
"""The seconds in which a program may end after its stdin was closed; then it is killed."""


class ServerError(Exception):
    """A server does not work, or answered with an error."""


class ServerState:
    """An MCP server as the CLI knows it."""

    def __init__(self, source: str = "sdk", config: dict[str, Any] | None = None) -> None:
        self.source = source
        self.config: dict[str, Any] = config or {"type": "sdk"}
        self.status: str = "pending"
        self.error: str | None = None
        self.about: dict[str, Any] = {}
        self.tools: list[dict[str, Any]] = []
        self.server: _Program | _Web | None = None

    def connected(self, tools: Any) -> None:
        """Note that it works and has these tools."""
        self.status, self.tools = "connected", tools if isinstance(tools, list) else []

    def failed(self, error: Exception) -> None:
        """Note that it does not work."""
        self.status, self.error = "failed", str(error) or type(error).__name__

    def open(self, client: Mapping[str, Any], env: Mapping[str, str], cwd: str) -> Any:
        """Start or reach the server, and return its tools. It blocks.

        Raises:
            ServerError: it cannot be connected.
        """
        kind = self.config.get("type", "http" if "url" in self.config else "stdio")
        if kind not in ("stdio", "http"):
            raise ServerError(f"Servers of the type {kind!r} are not simulated")
        self.server = _Web(self.config) if kind == "http" else _Program(self.config, env, cwd)
        self.about = self.server.request("initialize", client)
        self.server.notify("notifications/initialized")
        return self.server.request("tools/list", None).get("tools")

    def close(self) -> None:
        """End the program, if it is one."""
        if isinstance(self.server, _Program):
            self.server.close()
        self.server = None


def _message(method: str, params: Any, id: int | None = None) -> bytes:
    message = {"jsonrpc": "2.0", "method": method, "id": id, "params": params}
    return json.dumps({key: value for key, value in message.items() if value is not None}).encode()


def _result(lines: Iterable[bytes], id: int) -> dict[str, Any]:
    """Read messages up to an answer, and return its result."""
    for line in lines:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if not isinstance(message, dict) or message.get("id") != id or "method" in message:
            continue
        error, result = message.get("error"), message.get("result")
        if error is not None:
            raise ServerError(str(error.get("message") if isinstance(error, dict) else error))
        return result if isinstance(result, dict) else {}
    raise ServerError("The server has ended")


class _Program:
    """A program that reads lines from stdin."""

    def __init__(self, config: Mapping[str, Any], env: Mapping[str, str], cwd: str) -> None:
        command = [str(config.get("command")), *map(str, config.get("args") or ())]
        own = {key: str(value) for key, value in (config.get("env") or {}).items()}
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**env, **own},
                cwd=cwd,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ServerError(f"{error}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._lock = threading.Lock()
        self._id = 0

    def request(self, method: str, params: Any) -> dict[str, Any]:
        with self._lock:
            self._id += 1
            self._write(_message(method, params, self._id))
            return _result(self._stdout, self._id)

    def notify(self, method: str) -> None:
        self._write(_message(method, None))

    def close(self) -> None:
        with suppress(OSError):
            self._stdin.close()
        try:
            self._process.wait(ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._stdout.close()

    def _write(self, message: bytes) -> None:
        try:
            self._stdin.write(message + b"\n")
            self._stdin.flush()
        except (OSError, ValueError) as error:
            raise ServerError(f"The server has ended: {error}") from error


class _Web:
    """A server that speaks "streamable HTTP"."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._url = str(config.get("url"))
        own = {key: str(value) for key, value in (config.get("headers") or {}).items()}
        accepts = "application/json, text/event-stream"
        self._headers = {"Content-Type": "application/json", **own, "Accept": accepts}
        self._id = 0

    def request(self, method: str, params: Any) -> dict[str, Any]:
        self._id += 1
        result = _result(self._post(_message(method, params, self._id)), self._id)
        if method == "initialize":
            self._headers["MCP-Protocol-Version"] = str(result.get("protocolVersion"))
        return result

    def notify(self, method: str) -> None:
        list(self._post(_message(method, None)))

    def _post(self, body: bytes) -> Iterator[bytes]:
        # Slow to load, and few sessions have such servers.
        from http.client import HTTPException
        from urllib.request import ProxyHandler, Request, build_opener

        try:
            request = Request(self._url, body, self._headers)
            with build_opener(ProxyHandler({})).open(request, timeout=PATIENCE) as response:
                if session := response.headers.get("Mcp-Session-Id"):
                    self._headers["Mcp-Session-Id"] = session
                if "event-stream" in (response.headers.get("Content-Type") or ""):
                    yield from (it[5:] for it in response if it.startswith(b"data:"))
                else:
                    yield response.read()
        except (OSError, ValueError, HTTPException) as error:
            raise ServerError(f"{error}") from error
