"""A recording as a timeline: lines with names and summaries, and pairs of lines with durations."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..wire import (
    Answer,
    AssistantMessage,
    Cancel,
    Event,
    Failure,
    InvalidLine,
    Malformed,
    Request,
    ResultMessage,
    ToolResultBlock,
    ToolUseBlock,
    UnexpectedMessage,
    UnknownRequest,
    UserMessage,
)
from ..wire.lint import Finding, lint
from .recording import Direction, Recording, RecordingEntry

StepKind = Literal[
    "message", "request", "answer", "failure", "cancel", "bad line", "stderr", "end", "exit"
]
"""The kind of a line. An unreadable line is a `bad line`."""

ExchangeKind = Literal["turn", "request", "tool"]

WIDEST = 400
"""Characters of a summary: more than a line of a terminal, and no whole file."""

_KNOWN = frozenset({"type", "subtype", "uuid", "session_id", "request_id"})
"""Fields that tell nothing about the content of a line."""

_ENDS: dict[Direction | None, str] = {
    ">": "the application has ended its input",
    "<": "the CLI has closed its output",
    "!": "the CLI has closed its stderr",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line of a recording, read.

    Attributes:
        index: its place in the timeline, counted from 0.
        entry: the line as it was recorded.
        kind: its kind.
        name: the type of the message or request, such as `system/init` or `can_use_tool`.
        summary: its content in one line. It may have control characters: see `errors.visible`.
        id: the id of the request that it is, answers or cancels.
        event: the event that the line is; None if it is no line of the protocol.
        findings: the linter's findings in it.
    """

    index: int
    entry: RecordingEntry
    kind: StepKind
    name: str
    summary: str
    id: str | None = None
    event: Event | None = field(default=None, repr=False)
    findings: tuple[Finding, ...] = ()

    @property
    def t(self) -> float:
        """The seconds since the start."""
        return self.entry.t

    @property
    def dir(self) -> Direction | None:
        """Its direction: `>` to the CLI, `<` from it, `!` its stderr; None for the exit."""
        return self.entry.dir


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Two lines that belong together: a beginning and its end.

    Attributes:
        kind: a prompt and its result, a control request and its answer, or a tool and its result.
        name: the name of the request or tool; for a turn, `turn`.
        by: the side that began it: `>` the application, `<` the CLI.
        start: the index of its first step.
        end: the index of its last step; None if it has not ended.
        seconds: its duration; None if it has not ended.
    """

    kind: ExchangeKind
    name: str
    by: Direction
    start: int
    end: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Latency:
    """The durations of all exchanges with one name."""

    kind: ExchangeKind
    name: str
    by: Direction
    count: int
    unanswered: int
    median: float | None
    longest: float | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """A recording that can be read by people."""

    recording: Recording
    steps: tuple[Step, ...]
    exchanges: tuple[Exchange, ...]

    @classmethod
    def of(cls, recording: Recording) -> Timeline:
        """Read all lines of a recording. No content raises an error."""
        steps = tuple(_read(recording))
        return cls(recording, steps, tuple(_exchanges(steps)))

    @property
    def seconds(self) -> float:
        """The time from the first line to the last."""
        return self.steps[-1].t - self.steps[0].t if self.steps else 0.0

    @property
    def findings(self) -> list[Finding]:
        """All findings of the linter, with the lines of the file."""
        return [finding for step in self.steps for finding in step.findings]

    def endings(self) -> dict[int, list[Exchange]]:
        """Return the exchanges that each step ends, by the index of the step."""
        found: defaultdict[int, list[Exchange]] = defaultdict(list)
        for exchange in self.exchanges:
            if exchange.end is not None:
                found[exchange.end].append(exchange)
        return dict(found)

    def latencies(self) -> list[Latency]:
        """Return the durations of exchanges by name, the longest first."""
        groups: defaultdict[tuple[ExchangeKind, str, Direction], list[Exchange]] = defaultdict(list)
        for exchange in self.exchanges:
            groups[exchange.kind, exchange.name, exchange.by].append(exchange)
        found = [_latency(*key, exchanges) for key, exchanges in groups.items()]
        return sorted(found, key=lambda it: (-(it.longest or 0.0), it.kind, it.name))


def _latency(kind: ExchangeKind, name: str, by: Direction, exchanges: list[Exchange]) -> Latency:
    times = [it.seconds for it in exchanges if it.seconds is not None]
    median = statistics.median(times) if times else None
    unanswered = len(exchanges) - len(times)
    return Latency(kind, name, by, len(exchanges), unanswered, median, max(times, default=None))


# --- reading -------------------------------------------------------------------------------------


def _read(recording: Recording) -> Iterator[Step]:
    findings: defaultdict[int, list[Finding]] = defaultdict(list)
    # In the dump, the header is line 1, and each entry has a line.
    for finding in lint(recording.dump()):
        findings[finding.line - 2].append(finding)
    for index, (entry, event) in enumerate(recording.events()):
        kind, name, summary = _words(entry, event)
        summary = " ".join(summary.split())
        yield Step(
            index=index,
            entry=entry,
            kind=kind,
            name=name,
            summary=summary if len(summary) <= WIDEST else f"{summary[: WIDEST - 1]}…",
            id=getattr(_inner(event), "id", None),
            event=event,
            findings=tuple(findings[index]),
        )


def _inner(event: Event | None) -> Event | None:
    return event.event if isinstance(event, UnexpectedMessage) else event


def _words(entry: RecordingEntry, event: Event | None) -> tuple[StepKind, str, str]:
    """Return the kind, name and content of an entry."""
    if entry.dir is None:
        status = "unknown" if entry.exit is None else entry.exit
        return "exit", "exit", f"the CLI has exited with status {status}"
    if entry.line is None:
        return "end", "end", _ENDS[entry.dir]
    if entry.dir == "!":
        return "stderr", "stderr", entry.text
    return ("bad line", "empty", "") if event is None else _words_of(event)


def _words_of(event: Event) -> tuple[StepKind, str, str]:
    """Return the kind, name and content of a line of the wire."""
    match event:
        case UnexpectedMessage():
            kind, name, content = _words_of(event.event)
            return kind, name, f"{content} ({event.reason})"
        case InvalidLine() | Malformed():
            name = "not JSON" if isinstance(event, InvalidLine) else "malformed"
            return "bad line", name, f"{event.reason}: {event.head.decode('utf-8', 'replace')}"
        case Cancel():
            return "cancel", "cancel", f"request {event.id}"
        case Failure():
            return "failure", _subtype(event.request), event.error
        case Answer():
            return "answer", _subtype(event.request), _content(event.raw)
        case Request():
            return "request", _subtype(event), _content(event.raw)
    raw = event.raw
    inner = raw.get("event") if raw.get("type") == "stream_event" else None
    subtype = inner.get("type") if isinstance(inner, dict) else raw.get("subtype")
    name = "/".join(it for it in (raw.get("type"), subtype) if isinstance(it, str))
    return "message", name or "unknown", _content(raw)


def _subtype(request: Request | None) -> str:
    if request is None:
        return "unknown"
    body = request.body
    known = body.__struct_config__.tag
    return str(body.raw.get("subtype") if isinstance(body, UnknownRequest) else known)


def _content(raw: dict[str, Any]) -> str:
    match raw:
        case {"type": "control_request", "request": {"subtype": "can_use_tool", "tool_name": name}}:
            return f"{name} {_json(raw['request'].get('input'))}"
        case {"type": "control_request", "request": dict() as request}:
            return _rest(request)
        case {"type": "control_response", "response": dict() as response}:
            return _rest(response.get("response") or {}) or "ok"
        case {"message": {"content": content}}:
            return _blocks(content)
        case {"type": "result"} as result:
            return _result(result)
        case {"subtype": "init", "model": model} as init:
            shown = [model, init.get("permissionMode"), init.get("cwd")]
            tools = f"{len(init['tools'])} tools" if isinstance(init.get("tools"), list) else None
            return ", ".join(str(it) for it in (*shown, tools) if it)
        case {"type": "stream_event", "event": {"delta": dict() as delta}}:
            return " ".join(it for name, it in delta.items() if name != "type" and type(it) is str)
        case {"type": "stream_event"}:
            return ""
    return _rest(raw)


def _blocks(content: Any) -> str:
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return " | ".join(filter(None, map(_block, content)))


def _block(block: Any) -> str:
    match block:
        case {"type": "text", "text": str() as text}:
            return text
        case {"type": "thinking", "thinking": thinking}:
            return f"(thinking) {thinking}"
        case {"type": "tool_use", "name": name}:
            return f"{name} {_json(block.get('input'))}"
        case {"type": "tool_result"}:
            kind = "error" if block.get("is_error") else "result"
            return f"{kind}: {_blocks(block.get('content'))}"
        case {"type": kind}:
            return f"({kind})"
    return ""


def _result(raw: dict[str, Any]) -> str:
    errors = raw.get("errors")
    error = ", ".join(map(str, errors)) if isinstance(errors, list) else ""
    parts = [str(raw.get("result") or error or raw.get("terminal_reason") or "")]
    parts += [f"turns: {raw['num_turns']}"] if raw.get("num_turns") is not None else []
    cost = raw.get("total_cost_usd")
    parts += [f"cost: {cost:.4f} USD"] if isinstance(cost, int | float) else []
    return " · ".join(filter(None, parts))


def _rest(raw: dict[str, Any]) -> str:
    """Show the fields of an object that tell about its content, as JSON."""
    return _json({key: value for key, value in raw.items() if key not in _KNOWN})


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if value else ""


# --- pairing -------------------------------------------------------------------------------------

_Key = tuple[ExchangeKind, Direction, str | None]
"""Names an open exchange: its kind, who began it, and the id of its request, tool or prompt."""


def _exchanges(steps: Sequence[Step]) -> list[Exchange]:
    pending: dict[_Key, Exchange] = {}
    ended: list[Exchange] = []
    for step in steps:
        for key in _ended_by(step, pending):
            if begun := pending.pop(key, None):
                seconds = round(step.t - steps[begun.start].t, 6)
                ended.append(replace(begun, end=step.index, seconds=seconds))
        for key, name in _begun_by(step):
            pending[key] = Exchange(kind=key[0], name=name, by=key[1], start=step.index)
    return sorted([*ended, *pending.values()], key=lambda it: it.start)


def _begun_by(step: Step) -> Iterator[tuple[_Key, str]]:
    """Yield the exchanges that a line begins."""
    if step.dir != ">" and step.dir != "<":
        return
    match step.event:
        case Request(id=id):
            yield ("request", step.dir, id), step.name
        case UserMessage(should_query=should_query, uuid=uuid) if step.dir == ">":
            if should_query is not False:
                yield ("turn", ">", uuid or f"line {step.index}"), "turn"
        case AssistantMessage(content=blocks):
            for block in blocks:
                if isinstance(block, ToolUseBlock):
                    yield ("tool", step.dir, block.id), block.name


def _ended_by(step: Step, pending: Iterable[_Key]) -> list[_Key]:
    """Return the exchanges that a line ends, if they are pending."""
    if step.dir != ">" and step.dir != "<":
        return []
    other: Direction = "<" if step.dir == ">" else ">"
    match _inner(step.event):
        case Answer(id=id) | Failure(id=id):
            return [("request", other, id)]
        case Cancel(id=id):
            return [("request", step.dir, id)]
        case UserMessage(content=list() as blocks):
            results = [it for it in blocks if isinstance(it, ToolResultBlock)]
            return [("tool", step.dir, it.tool_use_id) for it in results]
        case ResultMessage(user_message_uuids=uuids, user_message_uuid=uuid):
            named = [it for it in (*(uuids or ()), uuid) if it is not None]
            turns = [it for it in pending if it[0] == "turn"]
            return [it for it in turns if it[2] in named] if named else turns[:1]
    return []
