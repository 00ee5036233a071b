"""The four documents, what each of them lacks, and what is decided otherwise than they say.

`ABSENT` quotes why a flow cannot exist in a document, `DECIDED` lists where the library deviates
from a document on purpose, `CANNOT` what cannot hold, and why, `OPEN` which cells do not hold yet.
A row of `OPEN` is removed together with the defect: the test then holds, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from claudewire.hooks import HookResult, Hooks
from claudewire.tools import ToolServer

__all__ = ["ABSENT", "CANNOT", "DECIDED", "DOCUMENTS", "OPEN", "Decided", "Document", "Open"]

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Document:
    """One document.

    Attributes:
        number: by which it is known.
        dialect: what it describes is called so here.
        options: what every session with its CLI is opened with.
    """

    number: str
    dialect: str
    options: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def folder(self) -> Path:
        return HERE / f"document_{self.number}"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def fail() -> str:
    """Fail."""
    raise ValueError("this tool fails")


hooks = Hooks()


@hooks.pre_tool_use("Bash")
def look(event: object) -> HookResult | None:
    return None


CALC = ToolServer("calc", [add, fail])

DOCUMENTS = {
    "000": Document("000", "modern"),
    "001": Document("001", "session"),
    "002": Document("002", "legacy", {"tools": [CALC], "hooks": hooks}),
    "004": Document("004", "envelope"),
}

_NO_REQUEST_000 = "line 61: initialize is the only request of a host"
_NO_REQUEST_001 = "lines 36, 109: a host's requests are initialize and interrupt"
_NO_REQUEST_002 = "line 92: initialize is the only request of an SDK"
_NO_REQUEST_004 = 'line 61: "Supported subtypes: interrupt"'
_RESULT_002 = "lines 56, 74: a result has cost, tokens and session_id, and no failing form"
_ALLOW_002 = 'line 138: "an allow or deny decision", line 153: "a reason"; nothing else'
_NO_QUESTION_001 = 'line 455: "Permission request (can_use_tool)" is the only callback'
_NO_QUESTION_002 = "no question is described"
_NO_HOOK = "hooks can be registered, but no message that calls one is shown"
_NO_SERVER = "no message to or from an in-process server is described"

ABSENT: dict[str, dict[str, str]] = {
    "streaming": {
        "000": "lines 334-336: assistant, user and result; no partial message",
        "001": "lines 443-456 name no partial message",
    },
    "thinking": {
        "000": "lines 352-353: blocks are text and tool_use",
        "001": "lines 241, 269: blocks are text and tool_result",
        "004": 'lines 171-173: "Content types" are text and tool_use',
    },
    "tool_error": {
        "001": "lines 268-272: a tool_result has tool_use_id and content, nothing marks an error",
        "002": "line 54: a user message is an echo; tool results are not described",
    },
    "permission_change": {"002": _ALLOW_002},
    "permission_remember": {"002": _ALLOW_002},
    "permission_parallel": {
        "004": 'line 341: "synchronous for control requests - wait for response before continuing"'
    },
    "question_single": {"001": _NO_QUESTION_001, "002": _NO_QUESTION_002},
    "question_multi": {"001": _NO_QUESTION_001, "002": _NO_QUESTION_002},
    "question_two": {"001": _NO_QUESTION_001, "002": _NO_QUESTION_002},
    "question_free": {"001": _NO_QUESTION_001, "002": _NO_QUESTION_002},
    "question_skipped": {"001": _NO_QUESTION_001, "002": _NO_QUESTION_002},
    "hooks_registered": {
        "000": f"line 65: {_NO_HOOK}",
        "001": f"line 49: {_NO_HOOK}",
        "004": _NO_REQUEST_004,
    },
    "interrupt": {"000": _NO_REQUEST_000, "002": _NO_REQUEST_002},
    "interrupt_permission": {"000": _NO_REQUEST_000, "002": _NO_REQUEST_002},
    "failed_max_turns": {"002": _RESULT_002, "004": "lines 138-312 have no result message"},
    "failed_execution": {"002": _RESULT_002, "004": "lines 138-312 have no result message"},
    "failed_max_budget": {
        "001": 'line 303: "error_max_turns" is the only named subtype, line 454 "error_*"',
        "002": _RESULT_002,
        "004": "lines 138-312 have no result message",
    },
    "error_message": {"000": "lines 427-431: failing results are the only errors"},
    "error_in_turn": {"000": "lines 427-431: failing results are the only errors"},
    "image": {
        "000": 'line 132: `"content": "Your message here"`, a string',
        "002": 'line 54: a prompt has "text"',
    },
    "late_init": {
        "000": 'line 101: init comes "After `control_response`", once',
        "001": "lines 372-375: init has one place, before session.create",
        "004": "lines 138-312 have no init message",
    },
    "system_prompt": {"004": "line 10: the flags; no flag or message has a system prompt"},
    "mcp_servers": {
        "002": "line 97: sdk_mcp_servers has names of in-process servers; no others are described",
        "004": "line 10: the flags; no flag or message has servers",
    },
    "resume": {
        "002": "lines 26-35: no such flag",
        "004": 'line 10: no such flag; line 42: session_id "can be empty"',
    },
    "linger": {
        "000": "nothing is said about the end of input",
        "001": "nothing is said about the end of input",
        "004": "nothing is said about the end of input",
    },
}
"""Why a flow is not in a document: flow, document, what the document says."""

for _flow in (
    "handshake",
    "list",
    "call",
    "tool_error",
    "bad_arguments",
    "unknown_tool",
    "unknown_server",
):
    ABSENT[f"mcp_{_flow}"] = {
        "000": f"line 63: `mcpServers` is all; {_NO_SERVER}",
        "001": f"line 47: `mcp_servers` is all; {_NO_SERVER}",
        "004": _NO_REQUEST_004,
    }


@dataclass(frozen=True)
class Decided:
    """Where a peer reports a deviation that is meant to be.

    Attributes:
        document: its number.
        how: `named` or `auto`, or `` for both.
        flow: in which it is seen; `opening` is the start of every session.
        what: the beginning of the peer's report.
        sentence: the document's.
        reason: why the library does otherwise.
    """

    document: str
    how: str
    flow: str
    what: str
    sentence: str
    reason: str


_ASKED = "the test sends it on purpose, to see what a refusal does"
_REAL = "a real CLI refuses the flag and does not start; the process itself is started there"
_FIRST = "the first line is written before the CLI has said anything: it is modern"

DECIDED: tuple[Decided, ...] = (
    Decided(
        "001",
        "auto",
        "opening",
        "the required flag --cwd is missing",
        "line 22: `--cwd <working-directory>` is required",
        _REAL,
    ),
    Decided(
        "004",
        "auto",
        "opening",
        "control request of the subtype 'initialize'",
        'line 61: "Supported subtypes: interrupt"',
        _FIRST,
    ),
    Decided(
        "000",
        "",
        "question_multi",
        "answer 'Red, Blue'",
        'line 330: "an array of selected labels"',
        "real CLIs read one string; `answer_form='lists'` writes the array",
    ),
    Decided("000", "", "request_refused", "control_request with subtype", _NO_REQUEST_000, _ASKED),
    Decided("001", "", "request_refused", "a control_request of subtype", _NO_REQUEST_001, _ASKED),
    Decided("002", "", "request_refused", "control request", _NO_REQUEST_002, _ASKED),
    Decided("004", "", "request_refused", "control request", _NO_REQUEST_004, _ASKED),
)


_FLAGS = "flags are chosen before the CLI has said anything: they are those of real CLIs"

CANNOT: dict[tuple[str, str, str], tuple[str, str]] = {
    ("000", "system_prompt", "auto"): ("line 62: `systemPrompt` in initialize", _FLAGS),
    ("001", "system_prompt", "auto"): ("line 46: `system_prompt` in initialize", _FLAGS),
    ("002", "system_prompt", "auto"): ("line 31: `--system-prompt`", _FLAGS),
    ("000", "mcp_servers", "auto"): ("line 63: `mcpServers` in initialize", _FLAGS),
    ("001", "mcp_servers", "auto"): ("line 47: `mcp_servers` in initialize", _FLAGS),
}
"""What cannot be: document, flow, how; the sentence of the document, the reason."""


@dataclass(frozen=True)
class Open:
    """Cells that do not hold yet.

    Attributes:
        document: its number.
        flows: what does not work; `*` for everything, `fresh` for all that open their own session.
        how: `named` or `auto`, or `` for both.
        defect: what happens instead.
        hangs: they would only end after a long time, so they are not tried.
    """

    document: str
    flows: str
    how: str
    defect: str
    hangs: bool = False


OPEN: tuple[Open, ...] = ()
