"""A scripted Messages API on loopback, so that a real CLI runs without a network.

It is also a program: `python -m claudewire.testing.api --script FILE`. It needs the extra `api`.
Start with `server`.
"""

from __future__ import annotations

from .replies import (
    APIReply,
    APIStatus,
    APIThinking,
    APIToolUse,
    APIUsage,
    Fields,
    LooseReply,
    Step,
    structured_output,
)
from .requests import TURN, APIRequest
from .script import APIScript, Condition, ScriptSource
from .server import ScriptedAPI, main, serve

__all__ = [
    "TURN",
    "APIReply",
    "APIRequest",
    "APIScript",
    "APIStatus",
    "APIThinking",
    "APIToolUse",
    "APIUsage",
    "Condition",
    "Fields",
    "LooseReply",
    "ScriptSource",
    "ScriptedAPI",
    "Step",
    "main",
    "serve",
    "structured_output",
]
