"""What both ends make of lines in any order: see tests/helpers/kept.py.

`whole/books.txt` has what is heard (`<`), what is sent (`>`), and what is known afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from tests.helpers.kept import Kept
from tests.wire.test_lint import text
from tests.wire.test_whole_findings import SPOKEN, numbers

from claudewire.wire import (
    Answer,
    Cancel,
    CancelAsyncMessage,
    Connection,
    EndOfStream,
    Event,
    Failure,
    GetBinaryVersion,
    Initialize,
    Interrupt,
    LocalProtocolError,
    PermissionResultAllow,
    Request,
    Role,
    Stray,
    UserMessage,
)

LINES = {
    **{name: line for name, (_, line) in SPOKEN.items()},
    "answered": {"type": "control_response", "response": {"subtype": "success", "request_id": "1"}},
    "legacy": {"type": "sdk_control_request", "request_id": "l", "request": {"subtype": "x"}},
    "session": {"type": "control_response", "request_id": "2", "response": {}},
    "error": {"type": "error", "error": {"type": "x", "message": "no"}},
    "idle": {"type": "system", "subtype": "session_state_changed", "state": "idle"},
    "done": {"type": "command_lifecycle", "command_uuid": "u1", "state": "completed"},
    "result u1": {"type": "result", "subtype": "success", "user_message_uuids": ["u1"]},
    "end": "",
}
SENT: dict[str, Event] = {
    "initialize": Request(id="1", body=Initialize()),
    "interrupt": Request(id="2", body=Interrupt()),
    "version": Request(id="3", body=GetBinaryVersion()),
    "take back": Request(id="4", body=CancelAsyncMessage("u1")),
    "prompt": UserMessage.of("hi", uuid="u1"),
    "allow a": Answer("a", PermissionResultAllow()),
    "fail q": Failure("q", "no"),
    "cancel 2": Cancel(id="2"),
    "cancel 3": Cancel(id="3"),
    "end": EndOfStream(),
}


def played(role: Role, steps: Iterator[int]) -> Iterator[str]:
    """Yield what a connection does in some steps."""
    connection = Connection(role)
    for step in steps:
        names = list(LINES if step % 2 else SENT)
        name = names[step // 2 % len(names)]
        try:
            if step % 2:
                line = LINES[name]
                data = text(line).encode() + b"\n" if line else b""
                told = [shown(event) for event in connection.receive_data(data)]
                yield f"< {name}: {', '.join(told)}\n"
            elif name == "cancel 3" and step % 3:
                connection.abandon("3")
                yield "abandon 3\n"
            else:
                yield f"> {name}: {connection.send(SENT[name])!r}\n"
        except LocalProtocolError as error:
            yield f"! {name}: {error}\n"
        yield f"    {state(connection)}\n"


def shown(event: Any) -> str:
    name = type(event).__name__
    if isinstance(event, Stray):
        return f"{name} {type(event.event).__name__} ({event.reason})"
    if isinstance(event, EndOfStream):
        return f"{name} {[it.id for it in event.unanswered]}"
    if isinstance(event, Answer | Failure | Request | Cancel):
        return f"{name} {event.id}"
    return name


def state(it: Connection) -> str:
    waits = f"asked {[*it.asked]} owed {[*it.owed]} prompts {it.unanswered_prompts}"
    states = f"{it.our_state.value} {it.their_state.value} {it.dialect.name}"
    return f"{states} {waits} {'may end' if it.may_end_input else ''}".rstrip()


def test_what_both_ends_know_after_lines_in_any_order_is_as_it_was(kept: Kept) -> None:
    lines = []
    for role in Role:
        chosen = numbers(11)
        for number in range(60):
            lines.append(f"$ {role.value} {number}\n")
            lines += played(role, islice(chosen, 12))
    kept("books.txt", "".join(lines))
