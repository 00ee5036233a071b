"""Small programs that play a CLI as a process."""

from __future__ import annotations

import sys
from textwrap import dedent

SPEAKING = """
    import json, os, signal, subprocess, sys

    def say(type, **fields):
        print(json.dumps({"type": type, **fields}), flush=True)

    def answer(request):
        success = {"subtype": "success", "request_id": request["request_id"], "response": {}}
        say("control_response", response=success)

    def result(text, **fields):
        say("result", subtype="success", is_error=False, result=text, session_id="s", **fields)

    def prompts():
        for line in sys.stdin:
            message = json.loads(line)
            if message["type"] == "control_request":
                answer(message)
            elif message["type"] == "user":
                yield message["message"]["content"]
"""


def cli(code: str) -> list[str]:
    """Return a command that plays a CLI: `prompts()` answers requests and yields prompts."""
    return [sys.executable, "-I", "-S", "-c", dedent(SPEAKING) + dedent(code)]


NEVER_ENDS = cli(
    """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for prompt in prompts():
        result("ok")
    while True:
        signal.pause()
    """
)
"""Ignores the end of its input and SIGTERM."""

ASKS = cli(
    """
    for prompt in prompts():
        use = {"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t"}
        asked = {"subtype": "can_use_tool", **use}
        say("control_request", request_id="may I?", request=asked)
        result(json.loads(sys.stdin.readline())["response"]["response"]["behavior"])
    """
)
"""Asks for a permission, and returns the answer as its result."""
