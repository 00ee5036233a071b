"""One conversation on the wire, in each dialect: both ends run here, without a process.

    python -m examples.dialects [--dialect NAME]

The application allows one command and answers one question. It is the same in each dialect.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from claudewire.wire import (
    DIALECTS,
    Answer,
    APIMessage,
    AssistantMessage,
    CanUseTool,
    Connection,
    Event,
    Initialize,
    InitializeResult,
    PermissionResultAllow,
    Request,
    ResultMessage,
    Role,
    UserMessage,
    questions_of,
)

QUESTION = {
    "questions": [
        {
            "question": "Which color do you prefer?",
            "header": "Color",
            "options": [{"label": "Red"}, {"label": "Green"}],
            "multiSelect": False,
        }
    ]
}

WIDTH = 110


def application(event: Event) -> Event | None:
    """Answer a request. The application cannot tell which dialect the CLI speaks."""
    if not isinstance(event, Request) or not isinstance(event.body, CanUseTool):
        return None
    asked = event.body
    answers = {question.question: "Green" for question in questions_of(asked.input)}
    changes = {"answers": answers} if answers else {"command": "ls -l"}
    allow = PermissionResultAllow({**asked.input, **changes}, tool_use_id=asked.tool_use_id)
    return Answer(event.id, allow)


def cli() -> Iterator[Event]:
    """Yield the lines of the CLI after a prompt."""
    yield Request(id="p-1", body=CanUseTool("Bash", {"command": "ls"}, tool_use_id="toolu_1"))
    yield Request(id="p-2", body=CanUseTool("AskUserQuestion", QUESTION, tool_use_id="toolu_2"))
    text = APIMessage("assistant", "You prefer green.", model="claude-demo", type="message")
    yield AssistantMessage(message=text, session_id="s-1", uuid="m-1")
    yield ResultMessage(
        subtype="success", num_turns=2, duration_ms=1200, is_error=False, session_id="s-1"
    )


class Wire:
    """Both ends, and a window on the lines between them."""

    def __init__(self, dialect: str) -> None:
        self.client = Connection(Role.CLIENT, dialect=dialect)
        self.cli = Connection(Role.CLI, dialect=dialect)

    def to_cli(self, event: Event) -> list[Event]:
        data = self.client.send(event)
        show(">", data)
        return self.cli.receive_data(data)

    def to_client(self, event: Event) -> list[Event]:
        data = self.cli.send(event)
        show("<", data)
        return self.client.receive_data(data)


def show(arrow: str, data: bytes) -> None:
    text = json.dumps(json.loads(data), separators=(",", ":"), ensure_ascii=False)
    print(arrow, text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…")


def converse(dialect: str) -> None:
    wire = Wire(dialect)
    start = wire.client.new_request(Initialize())
    wire.to_cli(start)
    wire.to_client(Answer(start.id, InitializeResult(output_style="default")))
    wire.to_cli(UserMessage.of("Look around, then ask me something."))
    for step in cli():
        for event in wire.to_client(step):
            reply = application(event)
            if reply is not None:
                wire.to_cli(reply)
            elif isinstance(event, AssistantMessage):
                print(f"  the model says: {event.text}")
            elif isinstance(event, ResultMessage):
                print(f"  the turn is over: {event.subtype}, {event.num_turns} model calls")
    assert wire.client.may_end_input


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--dialect", choices=DIALECTS, action="append", help="only this one")
    for name in parser.parse_args().dialect or DIALECTS:
        print(f"\n{name}")
        converse(name)
