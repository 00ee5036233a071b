"""Recordings of real CLIs: every line is understood, and written as it was."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from claudewire.recordings import Recording
from claudewire.wire import (
    Connection,
    Event,
    InvalidLine,
    Malformed,
    Role,
    UnexpectedMessage,
    Unknown,
    UserMessage,
)

FOLDER = Path(__file__).resolve().parents[2] / "product" / "recordings"
FILES = sorted(FOLDER.glob("*.jsonl"))
LARGEST = 60_000
PLACES = {"/project", "/cage"}
"""The only folders that a recording may know."""
TWICE = ["no request with this id is waiting"]
STRAYS = {"2.1.17-work": TWICE}
"""This CLI answers `set_permission_mode` twice."""


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    file: Path = request.param
    return file


def spoken(recording: Recording) -> Iterator[tuple[Event, bytes]]:
    """Repeat the conversation with two connections; yield each event and its line, written anew."""
    client, cli = (Connection(role, dialect="modern") for role in (Role.CLIENT, Role.CLI))
    for entry in recording:
        if entry.line is not None:
            hearer, speaker = (client, cli) if entry.dir == "<" else (cli, client)
            (event,) = hearer.receive_data(entry.data)
            yield event, b"" if isinstance(event, UnexpectedMessage) else speaker.send(event)


def unknown_parts(value: Any) -> Iterator[Unknown]:
    if isinstance(value, Unknown):
        yield value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from unknown_parts(getattr(value, name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from unknown_parts(item)


def said(value: Any) -> Any:
    """Leave out nulls and empty objects."""
    if isinstance(value, dict):
        return {key: said(item) for key, item in value.items() if item not in (None, {})}
    return [said(item) for item in value] if isinstance(value, list) else value


def changed(then: Any, now: Any, path: str = "$") -> Iterator[str]:
    """Yield the paths of differences."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*then, *now]):
            yield from changed(then.get(key), now.get(key), f"{path}.{key}")
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for index, (one, other) in enumerate(zip(then, now, strict=True)):
            yield from changed(one, other, f"{path}[{index}]")
    elif then != now:
        yield path


def test_every_recorded_line_is_understood(path: Path) -> None:
    events = [event for event, _ in spoken(Recording.load(path))]
    for event in events:
        assert not isinstance(event, Malformed | InvalidLine)
        assert event.problems == ()
        assert list(unknown_parts(event)) == []
    strays = [event.reason for event in events if isinstance(event, UnexpectedMessage)]
    assert strays == STRAYS.get(path.stem, [])


def test_every_recorded_line_is_written_as_it_was(path: Path) -> None:
    for event, line in spoken(Recording.load(path)):
        if line:
            new = json.loads(line)
            if isinstance(event, UserMessage) and event.session_id is None:
                del new["session_id"]  # the prompts of the recordings have none
            assert list(changed(said(event.raw), said(new))) == []


def test_recordings_reveal_nothing_about_the_machine(path: Path) -> None:
    data = path.read_bytes()
    assert len(data) < LARGEST
    lines = [json.dumps(json.loads(entry.text)) for entry in Recording.load(path) if entry.line]
    text = "\n".join(lines)
    assert set(re.findall(r'(?<=")/[\w.-]+', text)) <= PLACES
    assert re.findall(r"sk-|@\w+\.|/root|/home|/tmp/claude", text) == []
