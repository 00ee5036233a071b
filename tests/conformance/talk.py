"""Two ends that talk in one dialect, and what the documents show of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from conformance import examples

from claudewire.wire import Body, Connection, Event, Request, Role, State

EXAMPLES = {example.id: example.object for example in examples()}
"""Every JSON object that the documents show, by its id."""


class Said(NamedTuple):
    """What was written, as JSON, and what the other end made of it."""

    wire: dict[str, Any]
    heard: Any


class Step(NamedTuple):
    """One thing that is said, and how things stand afterwards."""

    who: Role
    event: Event
    client: State
    cli: State
    settled: bool


class Talk:
    """A client and a CLI: what one says, the other hears at once."""

    def __init__(self, dialect: str) -> None:
        self.client = Connection(Role.CLIENT, dialect=dialect)
        self.cli = Connection(Role.CLI, dialect=dialect)

    def client_says(self, event: Event) -> Said:
        return _say(event, self.client, self.cli)

    def cli_says(self, event: Event) -> Said:
        return _say(event, self.cli, self.client)

    def client_asks(self, body: Body, id: str = "ask-1") -> Request:
        request = Request(id=id, body=body)
        assert self.client_says(request).heard == request
        return request

    def cli_asks(self, body: Body, id: str = "ask-1") -> Request:
        request = Request(id=id, body=body)
        assert self.cli_says(request).heard == request
        return request

    def client_hears(self, wire: object) -> Any:
        return _hear(self.client, _line(wire))

    def cli_hears(self, wire: object) -> Any:
        return _hear(self.cli, _line(wire))

    @property
    def states(self) -> tuple[State, State]:
        """What the client and the CLI are doing, on which both ends agree."""
        states = self.client.our_state, self.client.their_state
        assert states == (self.cli.their_state, self.cli.our_state)
        return states

    @property
    def settled(self) -> bool:
        """Whether nobody owes anybody anything, on which both ends agree."""
        assert self.client.owed == self.cli.asked
        assert self.client.asked == self.cli.owed
        assert self.client.unanswered_prompts == self.cli.unanswered_prompts
        assert self.client.may_end_input == self.cli.may_end_input
        return self.client.may_end_input

    def run(self, steps: Iterable[Step]) -> list[dict[str, Any]]:
        """Say one thing after the other, hold each step to what it promises; give the lines."""
        lines = []
        for step in steps:
            says = self.client_says if step.who is Role.CLIENT else self.cli_says
            wire, heard = says(step.event)
            assert type(heard) is type(step.event)
            assert (*self.states, self.settled) == step[2:]
            lines.append(wire)
        return lines


def _say(event: Event, speaker: Connection, listener: Connection) -> Said:
    line = speaker.send(event)
    return Said(json.loads(line), _hear(listener, line))


def _hear(listener: Connection, line: bytes) -> Event:
    (heard,) = listener.receive_data(line)
    assert heard.problems == ()
    return heard


def _line(wire: object) -> bytes:
    return json.dumps(wire).encode() + b"\n"
