"""Lines to break: every kind of line in every dialect, and every example of the documents."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, NamedTuple, get_args

import msgspec
from conformance import examples
from tests.unit.wire.samples import full, minimal

from claudewire.wire import (
    MESSAGES,
    REQUESTS,
    SYSTEM,
    Answer,
    Cancel,
    CanUseTool,
    CLIRequest,
    Connection,
    Event,
    Failure,
    KeepAlive,
    McpMessage,
    PermissionResultAllow,
    Request,
    Role,
    Unknown,
    UserMessage,
    answer_type,
)
from claudewire.wire.dialects import DIALECTS

QUESTIONS = {
    "questions": [
        {"question": "Which colour?", "options": [{"label": "red"}, {"label": "blue"}]},
        {"question": "Which ones?", "options": [{"label": "a"}], "multiSelect": True},
    ]
}
ANSWERS = {**QUESTIONS, "answers": {"Which colour?": "red", "Which ones?": "a"}}


class Line(NamedTuple):
    """A good line, and who is to read it."""

    reader: Role
    data: bytes
    object: dict[str, Any]


def _samples(kind: Any) -> list[Any]:
    """Instances of a class, or of all members of a union."""
    kinds = [it for it in get_args(kind) or (kind,) if not issubclass(it, Unknown)]
    return [msgspec.convert(obj, it) for it in kinds for obj in (full(it), minimal(it))]


@cache
def requests_of(sender: Role) -> list[Request]:
    """One request of each kind that this side puts, with ids that tell them apart."""
    bodies = [
        _samples(body)[0]
        for body in REQUESTS.values()
        if issubclass(body, CLIRequest) == (sender is Role.CLI) or body is McpMessage
    ]
    if sender is Role.CLI:
        bodies.append(CanUseTool("AskUserQuestion", QUESTIONS))
    return [Request(id=f"{sender.value}-{n}", body=body) for n, body in enumerate(bodies)]


def listener(role: Role, **options: Any) -> Connection:
    """One end that has asked the other everything there is to ask."""
    connection = Connection(role, **options)
    for request in requests_of(role):
        connection.send(request)
    return connection


def _said_by(sender: Role) -> list[Event]:
    kinds = (*MESSAGES, *SYSTEM.values()) if sender is Role.CLI else (UserMessage, KeepAlive)
    return [message for kind in kinds for message in _samples(kind)]


def _answers_to(request: Request) -> list[Event]:
    if request.body == CanUseTool("AskUserQuestion", QUESTIONS):
        return [Answer(request.id, PermissionResultAllow(ANSWERS))]
    bodies = _samples(answer_type(type(request.body)))
    return [*(Answer(request.id, body) for body in bodies), Failure(request.id, "no", "code")]


def _written(sender: Role, dialect: str) -> list[bytes]:
    lines = [Connection(sender, dialect=dialect).send(message) for message in _said_by(sender)]
    for request in requests_of(sender):
        connection = Connection(sender, dialect=dialect)
        lines += [connection.send(request), connection.send(Cancel(id=request.id))]
    for request in requests_of(sender.other):
        asked = Connection(sender.other, dialect=dialect).send(request)
        for answer in _answers_to(request):
            connection = Connection(sender, dialect=dialect)
            connection.receive_data(asked)
            lines.append(connection.send(answer))
    return lines


@cache
def corpus() -> list[Line]:
    """All lines that there are to break."""
    lines = {
        (sender.other, data.rstrip(b"\n"))
        for sender in Role
        for dialect in DIALECTS
        for data in _written(sender, dialect)
    }
    for example in examples():
        reader = Role.CLI if example.direction == ">" else Role.CLIENT
        lines.add((reader, json.dumps(example.object).encode()))
    ordered = sorted(lines, key=lambda line: (line[0].value, line[1]))
    return [Line(reader, data, json.loads(data)) for reader, data in ordered]
