"""MCP servers that are programs or are reached by HTTP: what they hear, and what is made of it."""

from __future__ import annotations

import http.client
import json
import queue
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.kept import Kept

from claudewire.simulator import servers
from claudewire.simulator.servers import (
    ServerError,
    _EventStream,
    _Program,
    _Web,
    connect_external,
)

CLIENT = {"protocolVersion": "1", "capabilities": {}}
ODD = [
    "no JSON",
    "[1]",
    json.dumps({"id": 1, "method": "ping"}),
    json.dumps({"id": 7, "result": {"wrong": True}}),
]
"""What is no answer, and comes before one."""


def answered(asked: Any) -> dict[str, Any]:
    results = {
        "initialize": {"protocolVersion": "2", "serverInfo": {"name": "it"}},
        "tools/list": {"tools": [{"name": "add"}]},
    }
    return {"id": asked["id"], "result": results.get(asked["method"], {"echo": asked})}


BODIES: dict[str, Callable[[list[str]], str]] = {
    "json": lambda told: "".join(told[-1:]),
    "events": lambda told: "".join(f": x\ndata: {it}\n\n" for it in told),
    "sse": lambda told: "",
}
"""What each kind of server writes in answer to a request."""


@contextmanager
def listening(kind: str, heard: list[str]) -> Iterator[str]:
    """A server of this kind: `json`, `events` or `sse`; notes what it hears."""
    answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.note()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"event: endpoint\ndata: post?s=1 \n\n")
            while (answer := answers.get(timeout=60)) is not None:
                self.wfile.write(f"event: message\ndata:{answer}\n\n".encode())

        def do_POST(self) -> None:
            asked = json.loads(self.note())
            told = [*ODD, json.dumps(answered(asked))] if "id" in asked else []
            self.send_response(200)
            if kind == "events":
                self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            if asked["method"] == "initialize":
                self.send_header("Mcp-Session-Id", "the-session")
            self.end_headers()
            for it in told if kind == "sse" else ():
                answers.put(it)
            self.wfile.write(BODIES[kind](told).encode())

        def note(self) -> str:
            text = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
            dropped = ("Host", "Accept-Encoding", "Content-Length")
            fields = {key: it for key, it in self.headers.items() if key not in dropped}
            heard.append(f"{self.command} {self.path} {json.dumps(fields)}\n    {text}\n")
            return text

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        answers.put(None)
        server.shutdown()
        server.server_close()


def talked(config: dict[str, Any], cwd: str = "/") -> str:
    """Connect a server and call it twice; return what it has answered."""
    server, about, tools = connect_external(config, CLIENT, {"A": "1", "B": "1"}, cwd)
    lines = [f"= {json.dumps([about, tools])}\n"]
    lines += [f"= {json.dumps(server.request('call', {'n': n}))}\n" for n in (1, 2)]
    server.close()
    return "".join(lines)


def test_what_servers_on_the_web_hear_and_answer_is_as_it_was(kept: Kept) -> None:
    lines = []
    for kind, path in (("json", "/mcp?x=1"), ("events", ""), ("sse", "/a/sse?y=2")):
        heard: list[str] = []
        with listening(kind, heard) as url:
            more = {"type": "sse"} if kind == "sse" else {}
            told = talked({"url": url + path, "headers": {"X-Number": 5}, **more})
        lines += [f"$ {kind}\n", *heard, told]
    kept("servers.txt", "".join(lines))


PROGRAM = """
import json, os, sys
print("a warning", file=sys.stderr, flush=True)
with open("heard.txt", "w", encoding="utf-8") as heard:
    print(sys.argv[1:], os.environ["A"], os.environ["B"], os.getsid(0) == os.getpid(), file=heard)
    for line in sys.stdin:
        print(line, end="", file=heard, flush=True)
        asked = json.loads(line)
        results = {"initialize": {"serverInfo": {}}, "tools/list": {"tools": "none"}}
        answer = {"id": asked.get("id"), "result": results.get(asked["method"], [])}
        if asked.get("id"):
            print(*ODD, json.dumps(answer), sep="\\n", flush=True)
    print("end", file=heard)
"""


def test_what_a_server_that_is_a_program_hears_and_answers(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.py").write_text(f"ODD = {ODD!r}\n{PROGRAM}", encoding="utf-8")
    config = {"command": sys.executable, "args": ["-IS", "s.py", 5], "env": {"B": 2}}
    told = talked(config, str(tmp_path))
    assert told == '= [{"serverInfo": {}}, []]\n= {}\n= {}\n'
    assert capfd.readouterr().err == ""
    assert (tmp_path / "heard.txt").read_text(encoding="utf-8").splitlines() == [
        "['5'] 1 2 True",
        f'{{"jsonrpc": "2.0", "method": "initialize", "id": 1, "params": {json.dumps(CLIENT)}}}',
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        '{"jsonrpc": "2.0", "method": "tools/list", "id": 2}',
        '{"jsonrpc": "2.0", "method": "call", "id": 3, "params": {"n": 1}}',
        '{"jsonrpc": "2.0", "method": "call", "id": 4, "params": {"n": 2}}',
        "end",
    ]


@pytest.mark.parametrize(
    ("error", "told"),
    [({"message": "not so"}, "not so"), ("not so", "not so"), ({"code": 1}, "None"), ({}, "None")],
)
def test_an_error_of_a_server_is_told_and_the_server_ends(
    tmp_path: Path, error: Any, told: str
) -> None:
    script = f"print({json.dumps({'id': 1, 'error': error})!r}, flush=True); input(); input()"
    config = {"command": sys.executable, "args": ["-ISc", script]}
    with pytest.raises(ServerError) as caught:
        connect_external(config, CLIENT, {}, str(tmp_path))
    assert str(caught.value) == told


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"type": "ws", "url": "ws://x"}, "Servers of the type 'ws' are not simulated"),
        ({"command": "no-such-program"}, "No such file or directory: 'no-such-program'"),
        ({"command": "a\0b"}, "null byte"),
        ({}, "No such file or directory: 'None'"),
    ],
)
def test_a_server_that_cannot_be_started_says_why(config: dict[str, Any], told: str) -> None:
    with pytest.raises(ServerError, match=told) as caught:
        connect_external(config, CLIENT, {}, "/")
    if "type" not in config:
        assert isinstance(caught.value.__cause__, OSError | ValueError)


@pytest.mark.parametrize(
    ("url", "kind", "host", "port", "path"),
    [
        ("http://h:5/p?q=1", "HTTPConnection", "h", 5, "/p?q=1"),
        ("https://h", "HTTPSConnection", "h", None, "/"),
        ("http://h/", "HTTPConnection", "h", None, "/"),
        ("nowhere", "HTTPConnection", "", None, "nowhere"),
    ],
)
def test_a_server_on_the_web_has_its_time(
    url: str,
    kind: str,
    host: str,
    port: int | None,
    path: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Any] = []

    class Connection:
        def __init__(self, *where: Any, timeout: float) -> None:
            made.append((type(self).__name__, *where, timeout))

        def request(self, method: str, path: str, body: bytes | None, headers: Any) -> None:
            made.append((method, path))
            raise OSError("not there")

        def close(self) -> None:
            made.append("closed")

    for name in ("HTTPConnection", "HTTPSConnection"):
        monkeypatch.setattr(http.client, name, type(name, (Connection,), {}))
    server = _Web({"url": url})
    for ask in (
        lambda: server.request("call", {}),
        lambda: server.request("initialize", {}, 7.0),
        lambda: server.notify("hello"),
        lambda: _EventStream({"url": url}),
    ):
        with pytest.raises(ServerError, match="not there"):
            ask()
    assert made == [
        it
        for method, seconds in (("POST", 60.0), ("POST", 7.0), ("POST", 60.0), ("GET", 60.0))
        for it in ((kind, host, port, seconds), (method, path), "closed")
    ]


def test_a_server_has_more_time_to_answer_than_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    class Server:
        def __init__(self, *given: Any) -> None:
            asked.append(given)

        def request(self, *given: Any) -> dict[str, Any]:
            asked.append(given)
            return {}

        def notify(self, method: str) -> None:
            asked.append(method)

    monkeypatch.setattr(servers, "_Program", Server)
    _, about, tools = connect_external({"command": "x"}, CLIENT, {"A": "1"}, "/there")
    assert (about, tools) == ({}, [])
    assert asked == [
        ({"command": "x"}, {"A": "1"}, "/there"),
        ("initialize", CLIENT, 30.0),
        "notifications/initialized",
        ("tools/list", None, 30.0),
    ]


def test_a_program_has_a_second_to_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server = _Program({"command": "true"}, {"PATH": "/usr/bin:/bin"}, str(tmp_path))
    server._process.wait(30)
    waits: list[Any] = []
    monkeypatch.setattr(server._process, "wait", lambda *seconds: waits.append(seconds))
    server.close()
    assert waits == [(1.0,)]


def test_a_program_that_stays_when_its_input_ends_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "ENDING", 0.0)
    config = {"command": "sleep", "args": ["1000"]}
    server = _Program(config, {"PATH": "/usr/bin:/bin"}, str(tmp_path))
    server.close()
    assert server._process.returncode == -9


def test_a_program_that_has_ended_can_neither_be_asked_nor_told(tmp_path: Path) -> None:
    server = _Program({"command": "true"}, {"PATH": "/usr/bin:/bin"}, str(tmp_path))
    server._process.wait(30)
    with pytest.raises(ServerError, match=r"The server has ended: .*Broken pipe") as caught:
        server.notify("hello")
    assert isinstance(caught.value.__cause__, OSError)
    server.close()
    with pytest.raises(ServerError, match=r"The server has ended: .*closed"):
        server.notify("hello")


def test_a_stream_of_events_that_breaks_is_an_error_that_says_why() -> None:
    """The server resets the connection where its next event should be."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)

        def serve() -> None:
            stream, _ = listener.accept()
            stream.recv(65536)
            stream.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            stream.close()

        thread = threading.Thread(target=serve)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(ServerError, match="has not said where to send requests"):
            connect_external({"type": "sse", "url": url}, CLIENT, {}, "/")
        thread.join(30)
