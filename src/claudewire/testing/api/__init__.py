"""A scripted Messages API on loopback, so that a real CLI runs without a network.

Start with `server`.
"""

from __future__ import annotations

from .replies import (
    APIReply,
    APIScript,
    APIStatus,
    APIThinking,
    APIToolUse,
    APIUsage,
    ScriptSource,
    structured_output,
)
from .requests import APIRequest
from .server import ScriptedAPI

__all__ = [
    "APIReply",
    "APIRequest",
    "APIScript",
    "APIStatus",
    "APIThinking",
    "APIToolUse",
    "APIUsage",
    "ScriptSource",
    "ScriptedAPI",
    "structured_output",
]
