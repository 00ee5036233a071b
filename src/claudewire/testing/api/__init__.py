"""A Messages API on loopback that follows a script, so that a real CLI runs without a network.

As a program: `python -m claudewire.testing.api --script FILE`. It needs the extra `api`. Start with
`server`.
"""

from __future__ import annotations

from .replies import Reply, Status, Text, Thinking, ToolUse, Usage, structured
from .requests import TURN, APIRequest
from .script import APIScript, Source
from .server import ScriptedAPI, main, serve

__all__ = [
    "TURN",
    "APIRequest",
    "APIScript",
    "Reply",
    "ScriptedAPI",
    "Source",
    "Status",
    "Text",
    "Thinking",
    "ToolUse",
    "Usage",
    "main",
    "serve",
    "structured",
]
