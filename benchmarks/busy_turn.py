"""A long busy turn with partial messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

SESSION = "0b0e7a34-6c1f-4d0e-9a53-6f0f6f1f8a11"
WORDS = ["the", "wire", "reads", "each", "line", "once", "and", "keeps", "it", "ünïcode", "漢字"]


class _Turn:
    """Writes the lines of one turn."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def line(self, type: str, **fields: Any) -> bytes:
        names = {"session_id": SESSION, "uuid": self.uuid()}
        # The CLI escapes no text that is not ASCII.
        text = json.dumps({"type": type, **fields, **names}, ensure_ascii=False)
        return text.replace('": ', '":').replace(', "', ',"').encode()

    def uuid(self) -> str:
        digits = f"{self.random.getrandbits(128):032x}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def words(self, count: int) -> str:
        return " ".join(self.random.choices(WORDS, k=count))

    def init(self) -> bytes:
        return self.line(
            "system",
            subtype="init",
            cwd="/home/user/project",
            tools=["Task", "Bash", "Glob", "Grep", "Read", "Edit", "Write", "WebFetch"],
            mcp_servers=[{"name": "calculator", "status": "connected"}],
            model="claude-sonnet-4-5-20250929",
            permissionMode="default",
            slash_commands=["compact", "context", "cost", "init", "review"],
            apiKeySource="none",
            claude_code_version="2.1.325",
            output_style="default",
            agents=["general-purpose", "Explore", "Plan"],
            skills=[],
            plugins=[],
        )

    def delta(self) -> bytes:
        delta = {"type": "text_delta", "text": self.words(3)}
        return self.piece({"type": "content_block_delta", "index": 1, "delta": delta})

    def piece(self, event: dict[str, Any]) -> bytes:
        return self.line(
            "stream_event",
            event=event,
            parent_tool_use_id=None,
            api_message_id="msg_01AbCdEfGhIjKlMnOpQrStUv",
        )

    def assistant(self, number: int) -> bytes:
        call = {
            "type": "tool_use",
            "id": f"toolu_{number:024}",
            "name": "Edit",
            "input": {
                "file_path": "/home/user/project/src/main.py",
                "old_string": self.words(10),
                "new_string": self.words(15),
                "replace_all": False,
            },
        }
        message = {
            "model": "claude-sonnet-4-5-20250929",
            "id": f"msg_{number:024}",
            "type": "message",
            "role": "assistant",
            "content": [call],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": self.usage(),
            "context_management": None,
        }
        return self.line(
            "assistant", message=message, parent_tool_use_id=None, request_id=f"req_{number:024}"
        )

    def usage(self) -> dict[str, Any]:
        return {
            "input_tokens": 3,
            "cache_creation_input_tokens": self.random.randrange(5000),
            "cache_read_input_tokens": self.random.randrange(90000),
            "cache_creation": {"ephemeral_5m_input_tokens": 512, "ephemeral_1h_input_tokens": 0},
            "output_tokens": self.random.randrange(900),
            "service_tier": "standard",
        }

    def tool_result(self, number: int) -> bytes:
        id = f"toolu_{number:024}"
        output = "\n".join(self.words(10) for _ in range(5))
        block = {"tool_use_id": id, "type": "tool_result", "content": output, "is_error": False}
        return self.line(
            "user",
            message={"role": "user", "content": [block]},
            parent_tool_use_id=None,
            tool_use_result={
                "stdout": output,
                "stderr": "",
                "interrupted": False,
                "isImage": False,
            },
            timestamp="2026-01-01T12:00:00.000Z",
        )


def busy_turn(deltas: int, calls: int, seed: int = 1) -> list[bytes]:
    """The lines of a turn: deltas evenly between calls of tools and their results."""
    return list(_calls(_Turn(seed), deltas, calls))


def _calls(turn: _Turn, deltas: int, calls: int) -> Iterator[bytes]:
    yield turn.init()
    for number in range(calls):
        for _ in range(deltas // calls):
            yield turn.delta()
        yield turn.assistant(number)
        yield turn.tool_result(number)
