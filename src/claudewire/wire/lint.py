"""Explain, line by line, errors, outdated and suspicious parts of a capture of the wire.

A capture is JSON Lines: the output of a CLI, or a recording. Each line of a recording is an object
with a line of the protocol in `line` and its direction in `dir`: `>` from the host to the CLI, `<`
from the CLI to the host, `!` for text on stderr, which is passed over. It may begin with a header
(`claudewire`), and report the end of a stream (`eof`) and the exit of the CLI (`exit`).

Two connections follow the conversation, one for each party: a line that its receiver did not expect
is a finding, and requests that are open at the end have no answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, cast

import msgspec
from msgspec import Struct

from . import codec
from .connection import Connection
from .dialects import STANDARD
from .dialects.base import Dialect, WriteContext
from .errors import LocalProtocolError
from .states import Role, State
from .types.base import UNKNOWN, Event, Message, Record, Unknown, load_object
from .types.cli_requests import (
    CanUseTool,
    HookCallback,
    McpMessage,
    McpResponse,
    questions_of,
)
from .types.control import (
    Answer,
    InvalidLine,
    Malformed,
    Request,
    Response,
    UnexpectedMessage,
)
from .types.hooks import HookOutput
from .types.messages import SessionCreatedMessage, UnknownMessage, UnknownSystemMessage
from .types.permissions import PermissionResultAllow, PermissionResultDeny

Severity = Literal["error", "outdated", "suspicious", "info"]

_IGNORED = "real CLIs ignore it silently: there is no reply, ever"

CHECKS: dict[str, tuple[Severity, str, str]] = {
    "not-a-record": (
        "error",
        "not a record: a recording has objects with `dir` and `line`",
        "Perhaps the recorder was stopped while it was writing.",
    ),
    "not-json": (
        "error",
        "{}",
        "Write one JSON object on each line; a real CLI exits with status 1 at anything else. On "
        "its stdout a hook, a plugin or a shell profile may write.",
    ),
    "malformed": ("error", "{}", "The whole line is lost. Send the declared type."),
    "misfit": (
        "error",
        "{}",
        "Send a value of the declared type. From a CLI it may be newer than this version; the "
        "value is in `raw`.",
    ),
    "no-type": (
        "error",
        f"no `type`: {_IGNORED}",
        "Give every message its `type`; put a request into a `control_request`.",
    ),
    "no-request-id": (
        "error",
        "no request_id: 2.1.197 does not reply to such a request, 2.1.325 with an error that has "
        "no request_id either",
        "Put a unique `request_id` beside the `request`, and copy it into the `response`.",
    ),
    "dialect": ("outdated", "written in the {} dialect: {}", "{}"),
    "unknown": ("info", "unknown {} {}", "It may be newer than this version, or misspelt."),
    "unexpected": ("suspicious", "{}", "It is ignored. Answer each request once, by its id."),
    "unanswered": (
        "suspicious",
        "{} never answers this request",
        "Answer every request, also the notifications of MCP, if need be with an error.",
    ),
    "unfinished-turn": (
        "suspicious",
        "the capture ends while this turn is running: there is no result",
        "Read stdout to its end; if it has ended, see the exit status and stderr.",
    ),
    "no-updated-input": (
        "suspicious",
        "allow without updatedInput: before 2.1.207 a schema error that denies the tool",
        "Always give `updatedInput`: the input of the request, if nothing is to change.",
    ),
    "deny-without-message": (
        "suspicious",
        "deny without a message: the model does not learn the reason",
        "Give a `message`; the model reads it as the tool's error.",
    ),
    "deny-interrupts": (
        "suspicious",
        "deny with interrupt: the turn is aborted and the message does not reach the model",
        "Leave out `interrupt` if the model is to go on and know the reason.",
    ),
    "tool-use-id-mismatch": (
        "suspicious",
        "toolUseID is {}, but {} was asked about",
        "Copy `tool_use_id` of the request, or leave `toolUseID` out.",
    ),
    "question-answers": (
        "suspicious",
        "{}",
        "Give the original input back, plus `answers`: labels, joined with a comma and a space, "
        "keyed by the exact text of each question.",
    ),
    "no-mcp-response": (
        "suspicious",
        "the answer to an MCP message is not in `mcp_response`: the CLI waits for 60 seconds",
        "Put the JSON-RPC answer into `mcp_response`.",
    ),
    "hook-event-mismatch": (
        "suspicious",
        "output for the event {}, but the hook ran for {}",
        "Copy `hook_event_name` of the input into `hookEventName`.",
    ),
}
"""Every check by its code: how bad it is, the finding, the advice. Consequences were measured."""

_QUOTED, _SHOWN = 60, 500  # characters of a value in a message, and of an advice in a text
_PAYLOAD = "$.response.response"
_SENDERS = {">": Role.CLIENT, "<": Role.CLI}
_STDERR = "!"
_NAMES = {Role.CLIENT: "the host", Role.CLI: "the CLI"}


class Finding(Record):
    """A remark about one line of a capture.

    `dialect` is the dialect of the line, if it is not that of real CLIs; `path` leads to the place
    inside the line.
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
            text += f" {_shortened(self.advice, _SHOWN)}"
        # Quoted text comes from a peer: it must neither break the line nor steer a terminal.
        return "".join(it if it.isprintable() else ascii(it)[1:-1] for it in text)


def lint(capture: bytes) -> list[Finding]:
    """Check every line of a capture; return the findings in the order of the lines."""
    lines = [(number, it) for number, it in enumerate(capture.split(b"\n"), 1) if it.strip()]
    first = load_object(lines[0][1]) if lines else {}
    linter = _Linter(is_recording="claudewire" in first or _is_record(first))
    for number, line in lines:
        if linter.is_recording:
            linter.read_record(number, load_object(line))
        else:
            linter.read(number, line, Role.CLI)
    return linter.end()


def _is_record(obj: dict[str, Any]) -> bool:
    return obj.get("dir") in (*_SENDERS, _STDERR) and isinstance(obj.get("line"), str)


class _Said(NamedTuple):
    """One line: its number, its sender and its content."""

    number: int
    sender: Role
    event: Event
    dialect: Dialect

    def finding(
        self, code: str, *values: Any, path: str | None = None, advice: str = ""
    ) -> Finding:
        severity, message, usual = CHECKS[code]
        dialect = None if self.dialect is STANDARD else self.dialect.name
        code = f"{dialect}-dialect" if code == "dialect" else code
        text = message.format(*values)
        place = None if path == "$" else path
        return Finding(self.number, severity, code, text, advice or usual, dialect, place)


class _Linter:
    """Follows a capture line by line, with the connection of each party."""

    def __init__(self, *, is_recording: bool) -> None:
        self.is_recording = is_recording
        self.findings: list[Finding] = []
        self.ends = {role: Connection(role) for role in Role}
        self.asked: dict[tuple[Role, str], _Said] = {}
        self.decisions: dict[str, Any] = {}
        self.prompts: list[_Said] = []
        self.busy: _Said | None = None

    def read_record(self, number: int, obj: dict[str, Any]) -> None:
        if _is_record(obj):
            if (sender := _SENDERS.get(obj["dir"])) is not None:
                self.read(number, obj["line"].encode("utf-8", "surrogatepass"), sender)
        elif "line" in obj or obj.keys().isdisjoint(("claudewire", "eof", "exit")):
            severity, message, advice = CHECKS["not-a-record"]
            self.findings.append(Finding(number, severity, "not-a-record", message, advice))

    def read(self, number: int, line: bytes, sender: Role) -> None:
        decoded = codec.decode(line, self.ends[sender.other].find)
        if decoded is None:
            return
        said = _Said(number, sender, *decoded)
        if isinstance(said.event, Response) and self._is_echo(said, said.event):
            return
        self.findings += _checks_of_line(said)
        if isinstance(said.event, Message):
            self._follow(said)

    def _is_echo(self, said: _Said, frame: Response) -> bool:
        """Whether the CLI repeats an answer of the host, as --replay-user-messages makes it do."""
        id, payload = frame.response.request_id, frame.raw.get("response")
        if said.sender is Role.CLIENT:
            self.decisions[id] = payload
            return False
        return id in self.decisions and self.decisions[id] == payload

    def _follow(self, said: _Said) -> None:
        """Let one connection receive the line, and the other one send it."""
        sender = said.sender
        for event in self.ends[sender.other].receive_data(said.event.line + b"\n"):
            if isinstance(event, UnexpectedMessage):
                if self.is_recording:  # otherwise half of the conversation is missing
                    self.findings.append(said.finding("unexpected", event.reason))
                continue
            try:
                self.ends[sender].send(event)
            except LocalProtocolError as error:
                self.findings.append(said.finding("unexpected", error.message))
            if isinstance(event, Request):
                self.asked[sender, event.id] = said
            elif isinstance(event, Answer):
                self.findings += _checks_of_answer(said, event)
        host = self.ends[Role.CLIENT]
        if sender is Role.CLIENT and host.unanswered_prompts > len(self.prompts):
            self.prompts.append(said)
        del self.prompts[: len(self.prompts) - host.unanswered_prompts]
        self.busy = (self.busy or said) if host.their_state is State.BUSY else None

    def end(self) -> list[Finding]:
        if self.is_recording:
            for role, end in self.ends.items():
                waiting = (self.asked[role, id] for id in end.asked)
                self.findings += [it.finding("unanswered", _NAMES[role.other]) for it in waiting]
        running = next(iter(self.prompts), self.busy)
        if running:
            self.findings.append(running.finding("unfinished-turn"))
        return sorted(self.findings, key=lambda finding: finding.line)


# --- single lines --------------------------------------------------------------------------------


def _checks_of_line(said: _Said) -> Iterator[Finding]:
    event = said.event
    if isinstance(event, InvalidLine):
        yield said.finding("not-json", event.reason)
    elif isinstance(event, Malformed):
        yield said.finding("malformed", event.reason, path=event.path)
    elif isinstance(event, UnknownMessage) and event.kind is None:
        yield said.finding("no-type")
    else:
        yield from _misfits(said, event.problems)
        yield from _unknown_parts(said, event, "$")
        if said.dialect is not STANDARD:
            yield _outdated(said)
        if isinstance(event, Request | Response) and said.dialect is STANDARD:
            id = event.id if isinstance(event, Request) else event.response.request_id
            if not id:
                yield said.finding("no-request-id")


def _misfits(said: _Said, problems: Iterable[str], root: str = "$") -> Iterator[Finding]:
    for problem in problems:
        path, _, reason = problem.partition(": ")
        yield said.finding("misfit", reason, path=root + path.removeprefix("$"))


def _outdated(said: _Said) -> Finding:
    """Report a line in the form of another document, with its modern form."""
    name = said.dialect.name
    if said.sender is Role.CLI:
        return said.finding("dialect", name, "no real CLI writes this", advice=_modern(said))
    is_framed = said.event.raw.get("type") in codec.FRAMES
    consequence = "real CLIs do not understand it" if is_framed else _IGNORED
    return said.finding("dialect", name, consequence, advice=_modern(said))


def _modern(said: _Said) -> str:
    if isinstance(said.event, SessionCreatedMessage):
        return "Leave it out: the modern form has no such message."
    line = codec.encode(cast("Message", said.event), STANDARD, WriteContext(said.sender))
    return f"In the modern form: {line.decode().rstrip()}"


def _unknown_parts(said: _Said, value: Any, root: str) -> Iterator[Finding]:
    """Report the parts of a value that this version does not know."""
    for path, part in _unknown(value, root):
        name = re.sub(r"(?<!^)([A-Z])", r" \1", type(part).__name__.removeprefix("Unknown")).lower()
        found = said.finding("unknown", name, _quoted(_kind(part)), path=path)
        by_host = said.sender is Role.CLIENT  # it should know the words of CLIs
        yield msgspec.structs.replace(found, severity="suspicious") if by_host else found


def _unknown(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Unknown):
        yield path, value
    elif isinstance(value, Struct):
        for name, wire in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
            yield from _unknown(getattr(value, name), f"{path}.{wire}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown(item, f"{path}[{index}]")


def _kind(part: Any) -> Any:
    """Return the name that the peer uses for it."""
    if isinstance(part, UnknownSystemMessage):
        return part.subtype
    config = part.__struct_config__
    return part.raw.get(config.tag_field) if config.tag == UNKNOWN else config.tag


def _quoted(value: Any) -> str:
    return _shortened(json.dumps(value, ensure_ascii=False), _QUOTED)


def _shortened(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"


# --- an answer and its request -------------------------------------------------------------------


def _checks_of_answer(said: _Said, answer: Answer) -> Iterator[Finding]:
    yield from _misfits(said, answer.problems, _PAYLOAD)
    yield from _unknown_parts(said, answer.body, _PAYLOAD)
    if said.sender is Role.CLIENT and answer.request is not None:
        body, asked = answer.body, answer.request.body
        if isinstance(asked, CanUseTool):
            for code, *values in _checks_of_decision(body, asked):
                yield said.finding(code, *values, path=_PAYLOAD)
        elif isinstance(asked, McpMessage) and isinstance(body, McpResponse):
            if body.mcp_response is None and "id" in asked.message:
                yield said.finding("no-mcp-response", path=_PAYLOAD)
        elif isinstance(asked, HookCallback) and isinstance(body, HookOutput):
            specific, event = body.hook_specific_output, _kind(asked.input)
            if specific and not isinstance(specific, Unknown) and _kind(specific) != event:
                events = _quoted(_kind(specific)), _quoted(event)
                yield said.finding("hook-event-mismatch", *events, path=_PAYLOAD)


def _checks_of_decision(decision: Any, asked: CanUseTool) -> Iterator[tuple[str, ...]]:
    if not isinstance(decision, PermissionResultAllow | PermissionResultDeny):
        return
    ids = decision.tool_use_id, asked.tool_use_id
    if None not in ids and ids[0] != ids[1]:
        yield "tool-use-id-mismatch", *map(_quoted, ids)
    if isinstance(decision, PermissionResultDeny):
        if not decision.message:
            yield ("deny-without-message",)
        elif decision.interrupt:
            yield ("deny-interrupts",)
    elif asked.tool_name == "AskUserQuestion":
        for fault in _faults_of_answers(decision.updated_input or {}, asked):
            yield "question-answers", fault
    elif decision.updated_input is None:
        yield ("no-updated-input",)


def _faults_of_answers(given: dict[str, Any], asked: CanUseTool) -> Iterator[str]:
    answers = given.get("answers")
    unread = 'the model reads "The user did not answer the questions."'
    if not isinstance(answers, dict) or not answers:
        if not given.get("response") and not given.get("annotations"):
            yield f"questions without answers: {unread}"
        return
    if "questions" not in given:
        yield "answers without the questions: since 2.1.197 the tool fails"
    texts = {question.question for question in questions_of(asked.input)}
    if wrong := [key for key in answers if key not in texts]:
        keys = ", ".join(map(_quoted, wrong))
        yield f"answers keyed by {keys}, which is no question's text: since 2.1.197 {unread}"
    if any(isinstance(value, list) for value in answers.values()):
        yield 'a list of labels as an answer: the CLI joins them without a space: "S,L"'
