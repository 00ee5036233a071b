"""Lines that are read in several threads at the same time, for the first time in the process."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys, threading
from claudewire.wire import Connection, Role

LINES = [
    b'{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"x"}]}}',
    b'{"type":"system","subtype":"init","cwd":"/","tools":["Bash"],"mcp_servers":[]}',
    b'{"type":"control_request","request_id":"1","request":{"subtype":"can_use_tool",'
    b'"tool_name":"Bash","input":{},"permission_suggestions":[{"type":"addRules","rules":[],'
    b'"behavior":"allow","destination":"session"}]}}',
    b'{"type":"result","subtype":"success","is_error":"no","usage":{"input_tokens":1}}',
]
sys.setswitchinterval(1e-6)  # often: between any two steps
all_ready = threading.Barrier(6)
kinds = []

def read(number):
    all_ready.wait()
    for line in LINES[number % 4 :] + LINES[: number % 4]:
        events = Connection(Role.CLIENT).receive_data(line + b"\\n")
        kinds.extend(type(event).__name__ for event in events)

threads = [threading.Thread(target=read, args=(number,)) for number in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*sorted(set(kinds)), len(kinds))
"""


def test_threads_may_decode_their_first_line_at_once() -> None:
    """Msgspec crashes if a type is used by one thread while another looks up its fields."""
    command = [sys.executable, "-c", PROGRAM]
    ended = subprocess.run(command, capture_output=True, timeout=60, check=False)
    kinds = b"AssistantMessage InitMessage Request ResultMessage 24\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, kinds, b"")
