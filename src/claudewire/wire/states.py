"""The rules of the conversation: two state machines, as tables.

Theory of operation
-------------------

Two parties talk, the CLIENT (an SDK) and the CLI, each on its own stream. Either may put a request
to the other at any time; every request is owed exactly one answer, unless the asking party
withdraws it. Requests and answers therefore need no states: they need records, which the connection
keeps.

The conversation has states:

* The client is NEW until it has said anything that opens the conversation. Sending `initialize`
  makes it OPENING until the answer comes, and then READY; if the CLI refuses, or the client gives
  up waiting, it is NEW again. `initialize` may be left out: the first prompt opens the
  conversation with defaults. While OPENING, everything but a second `initialize` may be sent:
  the CLI asks for things before it answers, and must get them.
* The CLI is IDLE or BUSY with a turn. A prompt makes it BUSY, and so does unsolicited
  output (a background task that ended, a wake-up). A result makes it IDLE. A result may also come
  without any turn: a failed resume does that.
* Each stream ENDS once. Nothing follows. No request goes to a party that has ended.

`TRANSITIONS` has the legal messages of each party in each state, and its state afterwards.
`EFFECTS` has the changes of the other party. Neither knows which of the two we are, so the same
rules apply to sending and receiving; only the consequence differs.
Sending out of turn raises and changes nothing; receiving it gives a `UnexpectedMessage` event.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from .types.base import Message
from .types.messages import (
    AssistantMessage,
    ErrorMessage,
    KeepAlive,
    ResultMessage,
    StreamEvent,
    ToolProgressMessage,
    UnknownMessage,
    UserMessage,
)
from .types.system import SessionStateChangedMessage

if TYPE_CHECKING:
    from .dialects.behavior import DialectBehavior


class Role(Enum):
    """The two parties."""

    CLIENT = "client"
    CLI = "cli"

    @property
    def other(self) -> Role:
        """The party at the other end."""
        return Role.CLI if self is Role.CLIENT else Role.CLIENT


class State(Enum):
    """The state of a party."""

    NEW = "new"
    OPENING = "opening"
    READY = "ready"
    IDLE = "idle"
    BUSY = "busy"
    ENDED = "ended"


class Kind(Enum):
    """The kinds of messages that the states distinguish."""

    INITIALIZE = "initialize"
    OPENED = "initialize answered"
    REFUSED = "initialize refused"
    ABANDONED = "initialize withdrawn"
    REQUEST = "request"
    ANSWER = "answer"
    CANCEL = "cancel"
    PROMPT = "prompt"
    OUTPUT = "output"
    RESULT = "result"
    NOTICE = "notice"
    END = "end"


ALWAYS = (Kind.REQUEST, Kind.ANSWER, Kind.CANCEL, Kind.NOTICE)
"""Allowed at any time before the end; changes no state."""


def _state(stays: State, *allowed: Kind, **moves: State) -> dict[Kind, State]:
    changes = {Kind[name]: state for name, state in moves.items()}
    return {**dict.fromkeys((*ALWAYS, *allowed), stays), **changes, Kind.END: State.ENDED}


TRANSITIONS: dict[Role, dict[State, dict[Kind, State]]] = {
    Role.CLIENT: {
        State.NEW: _state(State.NEW, INITIALIZE=State.OPENING, PROMPT=State.READY),
        State.OPENING: _state(State.OPENING, Kind.PROMPT, ABANDONED=State.NEW),
        State.READY: _state(State.READY, Kind.PROMPT, INITIALIZE=State.OPENING),
        State.ENDED: {},
    },
    Role.CLI: {
        State.IDLE: _state(State.IDLE, Kind.OPENED, Kind.REFUSED, Kind.RESULT, OUTPUT=State.BUSY),
        State.BUSY: _state(State.BUSY, Kind.OPENED, Kind.REFUSED, Kind.OUTPUT, RESULT=State.IDLE),
        State.ENDED: {},
    },
}

EFFECTS: dict[tuple[Role, Kind], dict[State, State]] = {
    (Role.CLI, Kind.OPENED): {State.OPENING: State.READY},
    (Role.CLI, Kind.REFUSED): {State.OPENING: State.NEW},
    (Role.CLIENT, Kind.PROMPT): {State.IDLE: State.BUSY},
}

INITIAL = {Role.CLIENT: State.NEW, Role.CLI: State.IDLE}

NEEDS_A_LISTENER = frozenset({Kind.INITIALIZE, Kind.REQUEST, Kind.PROMPT})
"""Kinds that must not be sent to a party that has ended: it could not answer."""


# --- the kinds of messages -----------------------------------------------------------------------

_FROM_CLI: dict[type[Message], Kind] = {
    StreamEvent: Kind.OUTPUT,
    ToolProgressMessage: Kind.OUTPUT,
    ResultMessage: Kind.RESULT,
    ErrorMessage: Kind.RESULT,  # a CLI that goes on after an error is busy again with its next line
}


def kind_of(sender: Role, message: Message, behavior: DialectBehavior) -> Kind:
    """Classify a message by its sender and by the behavior of the CLI's dialect."""
    if sender is Role.CLIENT:
        if isinstance(message, UserMessage):
            # `should_query` false only adds to the conversation; no turn follows.
            return Kind.NOTICE if message.should_query is False else Kind.PROMPT
        return Kind.NOTICE if isinstance(message, KeepAlive | UnknownMessage) else Kind.OUTPUT
    kind = _FROM_CLI.get(type(message))
    if kind is not None:
        return kind
    if isinstance(message, AssistantMessage):
        is_last = not behavior.has_results and behavior.ends_turn(message)
        return Kind.RESULT if is_last else Kind.OUTPUT
    if isinstance(message, UserMessage):
        return Kind.NOTICE if message.is_replay else Kind.OUTPUT
    if isinstance(message, SessionStateChangedMessage):
        return Kind.RESULT if message.state == "idle" else Kind.OUTPUT
    return Kind.NOTICE
