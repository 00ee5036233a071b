"""A scripted Messages API on loopback, so that a real CLI runs without a network.

Start with `server`.
"""

from __future__ import annotations

from .replies import (
    APIReply,
    APIStatus,
    APIThinking,
    APIToolUse,
    APIUsage,
    LooseReply,
    Part,
    Step,
    as_step,
    structured_output,
)
from .requests import APIRequest
from .script import APIScript, Condition, ScriptSource
from .server import ScriptedAPI

__all__ = [
    "APIReply",
    "APIRequest",
    "APIScript",
    "APIStatus",
    "APIThinking",
    "APIToolUse",
    "APIUsage",
    "Condition",
    "LooseReply",
    "Part",
    "ScriptSource",
    "ScriptedAPI",
    "Step",
    "as_step",
    "structured_output",
]
