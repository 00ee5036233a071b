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


DIES_WITH_A_CAUSE = cli(
    """
    for prompt in prompts():
        say("assistant", message={"role": "assistant", "content": "I will try."})
        print("fatal: the disk is full", file=sys.stderr, flush=True)
        sys.exit(3)
    """
)
"""Says something, then writes an error to stderr and exits."""

HAS_A_CHILD = cli(
    """
    for prompt in prompts():
        inherit = prompt == "with my output"
        pipe = None if inherit else subprocess.DEVNULL
        command = ["sleep", "1000"]
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)
        result(str(child.pid))
    """
)
"""Starts a child, and leaves it behind at the end of its input."""

TALKS_AT_THE_END = cli(
    """
    def end(*_):
        open(os.environ["DIARY"], "w").write("had to be told")
        os._exit(1)

    signal.signal(signal.SIGTERM, end)
    for prompt in prompts():
        result("ok")
    for number in range(2000):
        say("transcript_mirror", filePath="f", entries=[{"number": number, "text": "x" * 200}])
    open(os.environ["DIARY"], "w").write("went by itself")
    """
)
"""Writes more at the end of its input than fits into a pipe, and notes how it ended."""

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
        asked = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t"}
        say("control_request", request_id="may I?", request=asked)
        result(json.loads(sys.stdin.readline())["response"]["response"]["behavior"])
    """
)
"""Asks for a permission, and returns the answer as its result."""
