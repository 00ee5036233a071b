"""A small client of the Agent Client Protocol: requests, answers, updates."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Callable
from typing import Any

Object = dict[str, Any]

PATIENCE = 60


class ACPClient:
    """Talks to an agent that is a program.

    Args:
        command: the agent.
        decide: chooses from the options of a permission request.
    """

    def __init__(self, command: list[str], decide: Callable[[Object], str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, encoding="utf-8"
        )
        self.decide = decide
        self.updates: list[Object] = []
        self.asked: list[Object] = []
        self._id = 0
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def _send(self, message: Object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def notify(self, method: str, **params: Any) -> None:
        self._send({"method": method, "params": params})

    def start(self, method: str, **params: Any) -> int:
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        return self._id

    def request(self, method: str, **params: Any) -> Object:
        return self.result(self.start(method, **params))

    def result(self, id: int, until: Callable[[], bool] | None = None) -> Object:
        """Serve the agent until it has answered, or until something else is true."""
        while until is None or not until():
            message = json.loads(self._lines.get(timeout=PATIENCE))
            if message.get("id") == id and "method" not in message:
                assert "error" not in message, message
                result: Object = message["result"]
                return result
            self._serve(message)
        return {}

    def _serve(self, message: Object) -> None:
        if message.get("method") == "session/update":
            self.updates.append(message["params"]["update"])
        elif message.get("method") == "session/request_permission":
            self.asked.append(message["params"])
            chosen = {"outcome": "selected", "optionId": self.decide(message["params"])}
            self._send({"id": message["id"], "result": {"outcome": chosen}})
        elif "id" in message and "method" in message:
            error = {"code": -32601, "message": "not here"}
            self._send({"id": message["id"], "error": error})

    def said(self, kind: str = "agent_message_chunk") -> str:
        chunks = [it for it in self.updates if it["sessionUpdate"] == kind]
        return "".join(it["content"].get("text", "") for it in chunks)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
