"""What the linter reports about a line and its parts, and what it knows about real CLIs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct

from .. import codec
from ..dialects import MODERN, Dialect, Object, WriteContext
from ..errors import LocalProtocolError
from ..states import Role
from ..types.base import Event, Message, Record, Unknown
from ..types.control import Request
from ..types.messages import UnknownMessage, UnknownSystemMessage
from ..types.requests import UnknownRequest

__all__ = [
    "FACTS",
    "Finding",
    "Said",
    "Severity",
    "misfits",
    "modern_line",
    "quoted",
    "send_instead",
    "unknown_parts",
]


Severity = Literal["error", "outdated", "suspicious", "info"]

FACTS: Final = {
    "not-json": 'a real CLI exits with status 1, saying "Error parsing streaming input line"',
    "ignored": "2.1.197 and 2.1.325 ignore it in silence: there is no reply, ever",
    "no-id": "2.1.197 does not reply, 2.1.325 answers with an error that has no request_id",
    "snake-case": "real CLIs ignore these snake_case keys in silence",
    "unsupported": 'a CLI that does not know it answers "Unsupported control request subtype"',
    "no-input": "before 2.1.207 this is a schema error that denies the tool",
    "no-answers": 'the model is told "The user did not answer the questions."; '
    "without updatedInput, 2.1.197 takes it for a schema error",
    "keys": "2.1.17 passes such keys on as given; since 2.1.197 the model is told "
    '"The user did not answer the questions."',
    "no-questions": "since 2.1.197 the tool fails: `questions` is missing",
    "list": 'the CLI joins the labels with a comma and no space: "S,L"',
    "unwrapped": "the CLI does not see the answer and waits for 60 seconds",
    "notification": "MCP calls it a notification, but here it is a request like any other",
    "interrupt": "the turn is aborted and the message does not reach the model",
}
"""What real CLIs were seen to do, and since which version. Measured, not read."""

QUOTED = 60
"""Enough of a text to recognise it by."""

SHOWN = 500
"""How much of a piece of advice fits a line that is meant to be read."""


class Finding(Record):
    """Something to be said about one line of a capture.

    `dialect` is the dialect that the line is written in, if it is not the modern one; `path` leads
    to the place inside the line.
    """

    line: int
    severity: Severity
    code: str
    message: str
    advice: str = ""
    dialect: str | None = None
    path: str | None = None

    def __str__(self) -> str:
        place = f"{self.line}:{self.path}" if self.path else f"{self.line}"
        text = f"{place}: {self.severity}: {self.message} [{self.code}]"
        if self.advice:
            text += f" {_shortened(self.advice, SHOWN)}"
        # What is quoted comes from a peer: it must neither break the line nor steer a terminal.
        return "".join(it if it.isprintable() else ascii(it)[1:-1] for it in text)


class Said(NamedTuple):
    """One line, read: what it was, who said it, and, if it is an answer, to what."""

    number: int
    sender: Role | None
    event: Event
    dialect: Dialect
    raw: Object
    request: Request | None = None

    def finding(
        self, severity: Severity, code: str, message: str, advice: str = "", path: str | None = None
    ) -> Finding:
        """Say something about this line."""
        dialect = None if self.dialect is MODERN else self.dialect.name
        place = None if path == "$" else path
        return Finding(self.number, severity, code, message, advice, dialect, place)


def modern_line(message: Message) -> str | None:
    """Write a message in the modern form; None if that cannot be done."""
    try:
        line = codec.encode(message, MODERN, WriteContext(Role.CLIENT))
    except LocalProtocolError:
        return None
    return line.decode().rstrip("\n")


def send_instead(message: Message | None, otherwise: str) -> str:
    """Advise to send this message, or give other advice if it cannot be written."""
    line = modern_line(message) if message else None
    return f"Send instead: {line}" if line else otherwise


def quoted(value: Any) -> str:
    """Show a value of the capture, or as much of it as is needed to recognise it."""
    return _shortened(json.dumps(value, ensure_ascii=False), QUOTED)


def _shortened(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"


_WORD = re.compile(r"[A-Z][a-z]+")


def misfits(said: Said, problems: Iterable[str], root: str = "$") -> Iterator[Finding]:
    """Report the fields that do not fit. `root` is where their paths begin."""
    for problem in problems:
        path, _, reason = problem.partition(": ")
        if said.sender is Role.CLI:
            advice = "Perhaps the CLI is newer than this version. The value is in `raw`."
        else:
            advice = "Send a value of the declared type, or leave the field out."
        yield said.finding("error", "misfit", reason, advice, root + path.removeprefix("$"))


def unknown_parts(said: Said, value: Any, root: str = "$") -> Iterator[Finding]:
    """Report everything inside a value, or the value itself, that this version does not know."""
    for path, part in _unknown(value, root):
        words = [word.lower() for word in _WORD.findall(type(part).__name__)]
        message = f"{' '.join(words)} {quoted(_kind(part))}"
        if said.sender is Role.CLIENT:
            message += f": {_consequence(part)}"
            advice = "Check the spelling."
        else:
            advice = "Perhaps the CLI is newer than this version. All of it is in `raw`."
        severity: Severity = "suspicious" if said.sender is Role.CLIENT else "info"
        yield said.finding(severity, "-".join(words), message, advice, path)


def _unknown(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    # A stack instead of recursion, because a peer decides how deep this goes.
    waiting = [(path, value)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, Unknown):
            yield path, value
        elif isinstance(value, Struct):
            names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
            waiting += [(f"{path}.{wire}", getattr(value, name)) for name, wire in names][::-1]
        elif isinstance(value, list):
            waiting += [(f"{path}[{index}]", item) for index, item in enumerate(value)][::-1]


def _kind(part: Any) -> Any:
    """The name under which the peer knows it."""
    if isinstance(part, UnknownSystemMessage):
        return part.subtype
    return part.raw.get(part.__struct_config__.tag_field)


def _consequence(part: Any) -> str:
    if isinstance(part, UnknownMessage):
        return FACTS["ignored"]
    if isinstance(part, UnknownRequest):
        return FACTS["unsupported"]
    return "this version knows no CLI that would understand it"
