"""Tools and replies that several behaviours share."""

from __future__ import annotations

from typing import Any

from claudewire.testing.api import APIReply, APIToolUse

PNG = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDAT"
    b"x\x9cc\xf8\xff\xff?\0\x05\xfe\x02\xfe\r\xefF\xb8\0\0\0\0IEND\xaeB`\x82"
)


def bash(command: str, **more: Any) -> APIToolUse:
    """Run a command."""
    return APIToolUse("Bash", {"command": command, "description": "Run it", **more})


def touch(name: str) -> APIToolUse:
    """Make a file, which a CLI asks about."""
    return bash(f"touch {name}")


def called(name: str, server: str = "claudewire", **input: Any) -> APIToolUse:
    """Call a tool of an MCP server."""
    return APIToolUse(f"mcp__{server}__{name}", input)


def read_pipe(name: str, **more: Any) -> APIToolUse:
    """Run a command that ends when something is written to a pipe.

    A CLI may itself look into files that a command names as `cat` does, and so empty the pipe.
    """
    return bash(f"python3 -c 'open(\"{name}\").read()'", **more)


WAIT = bash("tail -f /dev/null")
"""A command that never ends."""

ENDLESS = APIReply("A reply that never comes to its end.", stall_after=3)
