"""The four documents, and the library's deviations from them.

`DECIDED` lists deviations on purpose, `CANNOT` what cannot hold, and why.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from claudewire.hooks import HookResult, Hooks
from claudewire.tools import ToolServer

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


@hooks.on("PreToolUse", "Bash")
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
"""Impossible flows: document, flow, how; the sentence of the document, the reason."""
