"""Every JSON example of the four documents, through both ends of a conversation."""

from __future__ import annotations

import json

import pytest
from conformance import Example, examples

from claudewire.wire import (
    Answer,
    Body,
    CanUseTool,
    Connection,
    Event,
    Failure,
    Initialize,
    Malformed,
    McpMessage,
    Noise,
    Request,
    Role,
    Stray,
    Unknown,
    UserMessage,
    codec,
)
from claudewire.wire.dialects import DIALECTS, MODERN, WriteContext

ASK = {
    "questions": [
        {"question": "Which color do you prefer?", "options": [{"label": "Green"}]},
        {
            "question": "Which ones?",
            "multiSelect": True,
            "options": [{"label": "Option1"}, {"label": "Option2"}],
        },
    ]
}

# Document 004 shows the same request wrapped and bare. The bare form is the modern one.
BARE = {"004-ex-09", "004-ex-15"}


def asked(example: Example) -> Body | None:
    """The request that an example answers, if it is an answer."""
    if not example.object["type"].endswith("response"):
        return None
    response = example.object["response"]
    payload = response.get("response", {})
    if "mcp_response" in payload:
        return McpMessage("calculator", {"jsonrpc": "2.0", "id": "msg_1", "method": "tools/call"})
    if "answers" in payload.get("updatedInput", {}):
        return CanUseTool("AskUserQuestion", ASK, tool_use_id="toolu_xxx")
    if "behavior" in payload:
        return CanUseTool("Bash", {"command": "ls"}, tool_use_id="toolu_xxx")
    return Initialize()


class Pair:
    """Two ends that speak the dialect of an example, ready for it to be said."""

    def __init__(self, example: Example) -> None:
        name = "modern" if example.id in BARE else example.dialect
        sender = Role.CLIENT if example.direction == ">" else Role.CLI
        self.sender = Connection(sender, dialect=name)
        self.receiver = Connection(sender.other, dialect=name)
        if example.object["type"] == "session.send":
            self.sender.send(UserMessage.of("the prompt before"))
        body = asked(example)
        if body is not None:
            response = example.object["response"]
            id = response.get("request_id") or example.object["request_id"]
            self.sender.receive_data(self.receiver.send(Request(id=id, body=body)))


def receive(pair: Pair, example: Example) -> Event:
    (event,) = pair.receiver.receive_data(json.dumps(example.object).encode() + b"\n")
    return event


def parts(value: object) -> list[object]:
    """Everything inside an event, at any depth."""
    if isinstance(value, list | tuple):
        return [part for item in value for part in parts(item)]
    if hasattr(value, "__struct_fields__"):
        inner = [getattr(value, name) for name in value.__struct_fields__]
        return [value, *parts(inner)]
    return [value]


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.id)
def test_every_example_is_understood_completely(example: Example) -> None:
    event = receive(Pair(example), example)

    assert not isinstance(event, Noise | Malformed | Stray)
    assert not [part for part in parts(event) if isinstance(part, Unknown)]
    assert event.problems == ()
    assert event.raw == example.object
    if isinstance(event, Answer):
        assert hasattr(event.body, "__struct_fields__")


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.id)
def test_every_example_is_written_again_as_it_was(example: Example) -> None:
    pair = Pair(example)
    event = receive(pair, example)
    if example.id == "004-ex-09":  # it has no id, which we would not send
        (message,) = codec.decode(json.dumps(example.object).encode())[:1]
        assert isinstance(message, Request)
        written = codec.encode(message, MODERN, WriteContext(Role.CLI))
    elif isinstance(event, Answer):
        written = pair.sender.send(Answer(event.id, event.body))
    elif isinstance(event, Failure):
        written = pair.sender.send(Failure(event.id, event.error, event.code))
    else:
        written = pair.sender.send(event)

    assert json.loads(written) == example.object


def test_there_are_examples_of_all_four_dialects() -> None:
    assert {example.dialect for example in examples()} == set(DIALECTS)
