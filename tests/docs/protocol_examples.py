"""The examples and tables of the protocol documents, and two ends that replay the examples.

A fence `jsonl <` holds lines of the CLI, `jsonl >` lines of the host; each stands on its own. A
fence `wire` holds one conversation: each line begins with its direction, `EOF` ends a stream, and
`#` begins a remark. The name of a dialect may follow; without one it is the modern one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from claudewire.wire import (
    Answer,
    Connection,
    EndOfStream,
    Event,
    Failure,
    RequestBody,
    Role,
    codec,
)
from claudewire.wire.dialects import DIALECTS, MODERN

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("protocol.md", "protocol-reference.md")

FENCE = re.compile(r"^```(\w*)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SENDERS = {">": Role.CLIENT, "<": Role.CLI}
END = "EOF"


class Fence(NamedTuple):
    page: str
    line: int
    language: str
    info: str
    code: str


class Line(NamedTuple):
    sender: Role
    text: str


class Example(NamedTuple):
    name: str
    dialect: str
    lines: list[Line]


class Said(NamedTuple):
    """A line, what the other end made of it, and what our end would write for that."""

    line: Line
    event: Event
    dialect: str
    written: bytes


@cache
def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def fences(page: str) -> Iterator[Fence]:
    text = text_of(page)
    for match in FENCE.finditer(text):
        yield Fence(page, text.count("\n", 0, match.start(3)) + 1, *match.groups())


def prose(page: str) -> str:
    return FENCE.sub("", text_of(page))


@cache
def examples() -> list[Example]:
    return [
        example
        for page in PAGES
        for fence in fences(page)
        if fence.language in READERS
        for example in READERS[fence.language](fence)
    ]


def _lines_of(fence: Fence) -> Iterator[Example]:
    direction, _, dialect = fence.info.partition(" ")
    for number, text in enumerate(fence.code.splitlines(), fence.line):
        line = Line(SENDERS[direction], text)
        yield Example(f"{fence.page}:{number}", _known(dialect), [line])


def _conversation_of(fence: Fence) -> Iterator[Example]:
    spoken = [text for text in fence.code.splitlines() if not text.startswith("# ")]
    lines = [Line(SENDERS[text[:2].strip()], text[2:]) for text in spoken]
    yield Example(f"{fence.page}:{fence.line}", _known(fence.info), lines)


def _known(dialect: str) -> str:
    return DIALECTS[dialect or MODERN.name].name


READERS = {"jsonl": _lines_of, "wire": _conversation_of}


class Pair:
    """The two ends of a conversation."""

    def __init__(self, dialect: str) -> None:
        self.ends = {role: Connection(role, dialect=dialect) for role in Role}

    def say(self, line: Line) -> Said:
        """Let the other end hear a line as it is written, and this end say what it means."""
        sender, receiver = self.ends[line.sender], self.ends[line.sender.other]
        if line.text == END:
            written = sender.send(EndOfStream())
            (end,) = receiver.receive_data(b"")
            return Said(line, end, MODERN.name, written)
        data = line.text.encode()
        dialect = codec.decode(data, lambda id: _body(receiver, id)).dialect.name
        (event,) = receiver.receive_data(data + b"\n")
        return Said(line, event, dialect, sender.send(_to_send(event)))


def _body(end: Connection, id: str) -> RequestBody[Any] | None:
    request = end.asked.get(id)
    return request.body if request else None


def _to_send(event: Event) -> Event:
    """What was received as an answer knows its request; what is sent does not."""
    if isinstance(event, Answer):
        return Answer(event.id, event.body, pending=event.pending)
    if isinstance(event, Failure):
        return Failure(event.id, event.error, event.code)
    return event


def replay(example: Example) -> tuple[Pair, list[Said]]:
    pair = Pair(example.dialect)
    return pair, [pair.say(line) for line in example.lines]


@cache
def everything_said() -> list[Said]:
    return [said for example in examples() for said in replay(example)[1]]


def parts(value: Any) -> Iterator[Any]:
    """Everything inside an event, at any depth, itself included."""
    yield value
    inner: list[Any] = []
    if isinstance(value, list | tuple):
        inner = list(value)
    elif isinstance(value, dict):
        inner = list(value.values())
    elif hasattr(value, "__struct_fields__"):
        inner = [getattr(value, name) for name in value.__struct_fields__]
    for item in inner:
        yield from parts(item)


def as_json(line: bytes | str) -> Any:
    return json.loads(line)


# --- tables --------------------------------------------------------------------------------------


class Table(NamedTuple):
    heading: str
    header: list[str]
    rows: list[list[str]]


def tables(page: str) -> Iterator[Table]:
    heading = ""
    for block in re.split(r"\n{2,}", prose(page)):
        lines = block.strip().splitlines()
        if lines and lines[0].startswith("#"):
            heading = lines[0].lstrip("# ")
        elif lines and lines[0].startswith("|"):
            header, _, *rows = map(_cells, lines)
            yield Table(heading, header, rows)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table(page: str, header: str) -> list[list[str]]:
    """The rows of all tables with this header."""
    found = [each.rows for each in tables(page) if each.header == _cells(header)]
    assert found, f"no table {header!r} in {page}"
    return [row for rows in found for row in rows]


def names(cell: str) -> list[str]:
    """The names in a cell, each between backticks."""
    return re.findall(r"`([^`]+)`", cell)
