"""Recordings that are written by hand, for the tests of what reads them."""

from __future__ import annotations

import json
from typing import Any

from claudewire.recordings import Direction, Recording, RecordingEntry

Line = tuple[float, Direction, Any]


def written(*lines: Line, exit: int | None = None) -> Recording:
    """Make a recording of lines: a time, a direction and JSON, or a string that is none."""
    entries = [
        RecordingEntry(
            t=t,
            dir=direction,
            line=(it if isinstance(it, str) else json.dumps(it)).encode("utf-8", "surrogateescape"),
        )
        for t, direction, it in lines
    ]
    if exit is not None:
        entries.append(RecordingEntry(t=lines[-1][0] if lines else 0.0, exit=exit))
    # As from a file: each entry knows its line.
    return Recording.load(Recording(entries).dump())


def asked(id: str, subtype: str, **fields: Any) -> dict[str, Any]:
    request = {"subtype": subtype, **fields}
    return {"type": "control_request", "request_id": id, "request": request}


def answered(id: str, **response: Any) -> dict[str, Any]:
    inner = {"subtype": "success", "request_id": id, "response": response}
    return {"type": "control_response", "response": inner}


def refused(id: str, error: str) -> dict[str, Any]:
    inner = {"subtype": "error", "request_id": id, "error": error}
    return {"type": "control_response", "response": inner}


def prompt(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}, **fields}


def said(*blocks: dict[str, Any]) -> dict[str, Any]:
    message = {"type": "message", "role": "assistant", "model": "m", "content": [*blocks]}
    return {"type": "assistant", "message": message, "session_id": "s"}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def used(id: str, name: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def returned(id: str, content: Any, **fields: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": id, "content": content, **fields}
    return {"type": "user", "message": {"role": "user", "content": [block]}, "session_id": "s"}


def result(words: str = "Done.", **fields: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "result": words, "session_id": "s", **fields}
