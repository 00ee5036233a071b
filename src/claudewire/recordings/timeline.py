"""A recording as a timeline: what each line says, what answers what, and how long that took."""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ..transport import Direction, Recording, RecordingEntry
from ..wire import (
    Answer,
    AssistantMessage,
    Cancel,
    Connection,
    Event,
    Failure,
    LocalProtocolError,
    Malformed,
    Noise,
    Request,
    ResultMessage,
    Role,
    Stray,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from ..wire.lint import Finding, lint
from .names import name_of, shortened, summary_of

__all__ = ["Exchange", "ExchangeKind", "Latency", "Step", "StepKind", "Timeline"]

StepKind = Literal[
    "message", "request", "answer", "failure", "cancel", "bad line", "stderr", "end", "exit"
]
"""What kind of line it is. A line that cannot be read is a `bad line`."""

ExchangeKind = Literal["turn", "request", "tool"]

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
        kind: what it is.
        name: the type of the message or request, such as `system/init` or `can_use_tool`.
        summary: what it says in one line. It may have control characters: see `errors.visible`.
        id: that of the request which it is, answers or cancels.
        event: what the line means; None if it is no line of the protocol.
        findings: what the linter says about it.
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
        """Which way it went: `>` to the CLI, `<` from it, `!` its stderr; None for its exit."""
        return self.entry.dir


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Something that began with one line and ended with another.

    Attributes:
        kind: a prompt and its result, a control request and its answer, or a tool and its result.
        name: the name of the request or tool; for a turn, `turn`.
        by: who began it: `>` the application, `<` the CLI.
        start: the index of the step that began it.
        end: that of the step that ended it; None if nothing did.
        seconds: how long it took; None if it has not ended.
        first: for a turn, the seconds until the CLI wrote anything that the model said.
    """

    kind: ExchangeKind
    name: str
    by: Direction
    start: int
    end: int | None = None
    seconds: float | None = None
    first: float | None = None


@dataclass(frozen=True, slots=True)
class Latency:
    """How long all exchanges with one name took."""

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
        """Read all lines of a recording. Nothing that is in them raises an error."""
        steps = tuple(_read(recording))
        return cls(recording, steps, tuple(sorted(_exchanges(steps), key=lambda it: it.start)))

    @property
    def seconds(self) -> float:
        """How long it took from the first line to the last."""
        return self.steps[-1].t - self.steps[0].t if self.steps else 0.0

    @property
    def findings(self) -> list[Finding]:
        """All that the linter says, with the lines of the file."""
        return [finding for step in self.steps for finding in step.findings]

    def endings(self) -> dict[int, list[Exchange]]:
        """Return the exchanges that each step ends, by the index of the step."""
        found: defaultdict[int, list[Exchange]] = defaultdict(list)
        for exchange in self.exchanges:
            if exchange.end is not None:
                found[exchange.end].append(exchange)
        return dict(found)

    def latencies(self) -> list[Latency]:
        """Say how long exchanges took, by name; the longest first."""
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
    findings = _findings(recording)
    reader = _Reader()
    for index, entry in enumerate(recording.entries):
        step = reader.read(index, entry)
        yield step if index not in findings else _with(step, findings[index])


def _with(step: Step, findings: list[Finding]) -> Step:
    fields = {name: getattr(step, name) for name in Step.__slots__}
    return Step(**{**fields, "findings": tuple(findings)})


def _findings(recording: Recording) -> dict[int, list[Finding]]:
    """What the linter says about each entry."""
    found: defaultdict[int, list[Finding]] = defaultdict(list)
    # In what is dumped, the header is line 1, and each entry has a line.
    for finding in lint(recording.dump()):
        found[finding.line - 2].append(finding)
    return found


class _Reader:
    """Reads the lines with both ends of a connection, of which each hears what the other says."""

    def __init__(self) -> None:
        # No line is too long: it is in memory already.
        ends = {"<": Role.CLIENT, ">": Role.CLI}
        self._ends = {it: Connection(role, max_line=sys.maxsize) for it, role in ends.items()}

    def read(self, index: int, entry: RecordingEntry) -> Step:
        if entry.dir is None:
            status = "unknown" if entry.exit is None else entry.exit
            summary = f"the CLI has exited with status {status}"
            return Step(index=index, entry=entry, kind="exit", name="exit", summary=summary)
        if entry.line is None:
            summary = _ENDS[entry.dir]
            return Step(index=index, entry=entry, kind="end", name="end", summary=summary)
        if entry.dir == "!":
            summary = shortened(entry.text)
            return Step(index=index, entry=entry, kind="stderr", name="stderr", summary=summary)
        event = self._event(entry.dir, entry.line)
        if event is None:
            return Step(index=index, entry=entry, kind="bad line", name="empty", summary="")
        return _step(index, entry, event)

    def _event(self, direction: Direction, line: bytes) -> Event | None:
        receiver, sender = self._ends[direction], self._ends["<" if direction == ">" else ">"]
        events = receiver.receive_data(line + b"\n")
        for event in events:
            # An answer can be read only by a connection that knows what it has asked.
            with suppress(LocalProtocolError):
                sender.send(event)
        return events[0] if events else None


def _step(index: int, entry: RecordingEntry, event: Event) -> Step:
    inner = event.event if isinstance(event, Stray) else event
    return Step(
        index=index,
        entry=entry,
        kind=_kind(inner),
        name=name_of(event),
        summary=summary_of(event),
        id=getattr(inner, "id", None),
        event=event,
    )


def _kind(event: Event) -> StepKind:
    match event:
        case Request():
            return "request"
        case Answer():
            return "answer"
        case Failure():
            return "failure"
        case Cancel():
            return "cancel"
        case Noise() | Malformed():
            return "bad line"
    return "message"


# --- pairing -------------------------------------------------------------------------------------


def _exchanges(steps: Iterable[Step]) -> Iterator[Exchange]:
    pairing = _Pairing()
    for step in steps:
        if step.dir == ">" or step.dir == "<":
            yield from pairing.take(step, step.dir)
    yield from pairing.open()


class _Open(NamedTuple):
    """An exchange that has begun."""

    kind: ExchangeKind
    name: str
    by: Direction
    step: Step

    def ended(self, by: Step | None = None, first: float | None = None) -> Exchange:
        return Exchange(
            kind=self.kind,
            name=self.name,
            by=self.by,
            start=self.step.index,
            end=by.index if by else None,
            seconds=round(by.t - self.step.t, 6) if by else None,
            first=round(first - self.step.t, 6) if first is not None else None,
        )


class _Pairing:
    """Finds what ends what has begun."""

    def __init__(self) -> None:
        self._requests: dict[tuple[Direction, str | None], _Open] = {}
        self._tools: dict[str, _Open] = {}
        self._prompts: list[_Open] = []
        self._first: float | None = None

    def take(self, step: Step, direction: Direction) -> Iterator[Exchange]:
        other: Direction = "<" if direction == ">" else ">"
        match step.kind:
            case "request":
                asked = _Open("request", step.name, direction, step)
                self._requests[direction, step.id] = asked
            case "answer" | "failure":
                yield from self._settle((other, step.id), step)
            case "cancel":
                yield from self._settle((direction, step.id), step)
            case "message":
                yield from self._message(step, direction)

    def open(self) -> Iterator[Exchange]:
        for begun in (*self._requests.values(), *self._tools.values(), *self._prompts):
            yield begun.ended()

    def _settle(self, key: tuple[Direction, str | None], step: Step) -> Iterator[Exchange]:
        if begun := self._requests.pop(key, None):
            yield begun.ended(step)

    def _message(self, step: Step, direction: Direction) -> Iterator[Exchange]:
        event = step.event
        if direction == ">" and isinstance(event, UserMessage) and event.should_query is not False:
            self._prompts.append(_Open("turn", "turn", direction, step))
        elif isinstance(event, AssistantMessage):
            self._first = step.t if self._first is None else self._first
            for block in event.content:
                if isinstance(block, ToolUseBlock):
                    self._tools[block.id] = _Open("tool", block.name, direction, step)
        elif isinstance(event, UserMessage) and not isinstance(event.content, str):
            for block in event.content:
                if isinstance(block, ToolResultBlock) and block.tool_use_id in self._tools:
                    yield self._tools.pop(block.tool_use_id).ended(step)
        elif isinstance(event, ResultMessage):
            yield from self._result(step, event)

    def _result(self, step: Step, result: ResultMessage) -> Iterator[Exchange]:
        named = {*(result.user_message_uuids or ()), result.user_message_uuid} - {None}
        prompts = [it for it in self._prompts if getattr(it.step.event, "uuid", None) in named]
        for begun in prompts if named else self._prompts[:1]:
            self._prompts.remove(begun)
            yield begun.ended(step, self._first)
        self._first = None
