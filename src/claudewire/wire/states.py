"""Who may say what, and when: the two state machines, as tables.

Theory of operation
-------------------

Two parties talk, the CLIENT (an SDK) and the CLI, each on its own stream. Either may put a request
to the other at any time; every request is owed exactly one answer, unless the asking party
withdraws it. Requests and answers therefore need no states: they need records, which the connection
keeps.

What has states is the conversation:

* The client is NEW until it has said anything that opens the conversation. Sending `initialize`
  makes it OPENING until the answer comes, and then READY; if the CLI refuses, or the client gives
  up waiting, it is NEW again. `initialize` may be left out: the first prompt opens the
  conversation with defaults. While OPENING, everything but a second `initialize` may be sent:
  the CLI asks for things before it answers, and must get them.
* The CLI is IDLE or BUSY with a turn. A prompt makes it BUSY, and so does unsolicited
  output (a background task that ended, a wake-up). A result makes it IDLE. A result may also come
  without any turn: a failed resume does that.
* Each stream ENDS once. Nothing follows. A party that has ended is asked nothing.

`TRANSITIONS` says what each party may say in each state, and its state afterwards: what is not
there is illegal. `EFFECTS` says how it changes the other party. Neither knows which of the two
we are, so the same rules bind what we send and what we receive; only the consequence differs.
Sending out of turn raises and changes nothing; receiving it gives a `Stray` event.
"""

from __future__ import annotations

from enum import Enum

__all__ = [
    "ALWAYS",
    "EFFECTS",
    "INITIAL",
    "NEEDS_A_LISTENER",
    "TRANSITIONS",
    "Kind",
    "Role",
    "State",
]


class Role(Enum):
    """The two parties."""

    CLIENT = "client"
    CLI = "cli"

    @property
    def other(self) -> Role:
        """The party at the other end."""
        return Role.CLI if self is Role.CLIENT else Role.CLIENT


class State(Enum):
    """What a party is doing."""

    NEW = "new"
    OPENING = "opening"
    READY = "ready"
    IDLE = "idle"
    BUSY = "busy"
    ENDED = "ended"


class Kind(Enum):
    """What can be said, as far as the states are concerned."""

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


for _names in (Role, State, Kind):
    # They are looked up for each line, and an enumeration computes its hash in Python.
    _names.__hash__ = object.__hash__  # type: ignore[method-assign]

ALWAYS = frozenset({Kind.REQUEST, Kind.ANSWER, Kind.CANCEL, Kind.NOTICE})
"""What may be said at any time before the end, and changes no state."""


def _state(stays: State, moves: dict[Kind, State]) -> dict[Kind, State]:
    return {**dict.fromkeys(ALWAYS, stays), **moves, Kind.END: State.ENDED}


TRANSITIONS: dict[Role, dict[State, dict[Kind, State]]] = {
    Role.CLIENT: {
        State.NEW: _state(State.NEW, {Kind.INITIALIZE: State.OPENING, Kind.PROMPT: State.READY}),
        State.OPENING: _state(
            State.OPENING, {Kind.PROMPT: State.OPENING, Kind.ABANDONED: State.NEW}
        ),
        State.READY: _state(
            State.READY, {Kind.INITIALIZE: State.OPENING, Kind.PROMPT: State.READY}
        ),
        State.ENDED: {},
    },
    Role.CLI: {
        State.IDLE: _state(
            State.IDLE,
            {
                Kind.OPENED: State.IDLE,
                Kind.REFUSED: State.IDLE,
                Kind.OUTPUT: State.BUSY,
                Kind.RESULT: State.IDLE,
            },
        ),
        State.BUSY: _state(
            State.BUSY,
            {
                Kind.OPENED: State.BUSY,
                Kind.REFUSED: State.BUSY,
                Kind.OUTPUT: State.BUSY,
                Kind.RESULT: State.IDLE,
            },
        ),
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
"""What must not be sent to a party that has ended, because it could not answer."""
