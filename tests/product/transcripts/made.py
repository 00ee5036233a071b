"""Transcripts that are made for tests, and the samples of real CLIs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).resolve().parent / "samples"
MAIN = "00000000-0000-4000-8000-000000000001"
PLAIN = "00000000-0000-4000-8000-000000000002"

Fields = dict[str, Any]


def sample(version: str, folder: Path) -> Path:
    """Copy what a real CLI wrote into a folder, which is then a configuration folder."""
    config = folder / "config"
    shutil.copytree(SAMPLES / version, config)
    return config


class Writer:
    """Writes a transcript line by line, as a CLI does.

    Args:
        config: the configuration folder.
        id: the session.
        cwd: the working directory.
    """

    def __init__(self, config: Path, id: str = MAIN, cwd: str = "/project") -> None:
        self.id, self.cwd = id, cwd
        folder = "".join(char if char.isalnum() else "-" for char in cwd)
        self.path = config / "projects" / folder / f"{id}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.count = 0
        self.last: str | None = None

    def line(self, **fields: Any) -> str:
        """Add a line of the conversation; its uuid comes back."""
        self.count += 1
        uuid = fields.get("uuid", f"u{self.count}")
        entry = {
            "parentUuid": self.last,
            "isSidechain": False,
            "sessionId": self.id,
            "cwd": self.cwd,
            "gitBranch": "main",
            "version": "2.1.325",
            "uuid": uuid,
            "timestamp": f"2026-11-17T10:{self.count // 60:02}:{self.count % 60:02}.000Z",
            **fields,
        }
        self.raw(entry)
        self.last = uuid
        return str(uuid)

    def raw(self, entry: Fields | bytes) -> None:
        """Add any line."""
        data = entry if isinstance(entry, bytes) else json.dumps(entry).encode() + b"\n"
        with self.path.open("ab") as file:
            file.write(data)

    def user(self, content: Any, **fields: Any) -> str:
        return self.line(type="user", message={"role": "user", "content": content}, **fields)

    def model(
        self, *blocks: Any, id: str | None = None, usage: Fields | None = None, **fields: Any
    ) -> str:
        content = [{"type": "text", "text": it} if isinstance(it, str) else it for it in blocks]
        message = {
            "id": id or f"msg_{self.id[-2:]}_{self.count}",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": content,
            "stop_reason": "end_turn",
            "usage": usage or {"input_tokens": 10, "output_tokens": 5},
        }
        return self.line(type="assistant", message=message, **fields)

    def call(self, name: str, id: str = "toolu_1", **given: Any) -> str:
        return self.model({"type": "tool_use", "id": id, "name": name, "input": given})

    def result(self, text: str, id: str = "toolu_1", **fields: Any) -> str:
        block = {"type": "tool_result", "tool_use_id": id, "content": text}
        return self.user([block], **fields)


def conversation(config: Path, id: str = MAIN, cwd: str = "/project") -> Writer:
    """Write a small conversation."""
    writer = Writer(config, id, cwd)
    writer.user("How do retries work?")
    writer.model("They wait longer each time.")
    writer.user("Show me the dead letter queue")
    writer.call("Bash", command="grep -rn zebra src", description="Search")
    writer.result("src/queue.py: zebrafish")
    writer.model("It is in `queue.py`.")
    return writer
