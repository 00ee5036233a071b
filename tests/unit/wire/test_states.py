"""The state machines: a connection driven through every pair of state and event."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from claudewire.wire import (
    Answer,
    APIMessage,
    AssistantMessage,
    Cancel,
    CanUseTool,
    Connection,
    EndOfStream,
    Event,
    Failure,
    Initialize,
    InitMessage,
    Interrupt,
    KeepAlive,
    Kind,
    LocalProtocolError,
    Request,
    ResultMessage,
    Role,
    State,
    UnexpectedMessage,
    UserMessage,
)
from claudewire.wire.states import EFFECTS, NEEDS_A_LISTENER, TRANSITIONS

OPENING = (Role.CLIENT, Request(id="i", body=Initialize()))
REACH: dict[State, list[tuple[Role, Event]]] = {
    State.NEW: [],
    State.OPENING: [OPENING],
    State.READY: [OPENING, (Role.CLI, Answer("i"))],
    State.IDLE: [],
    State.BUSY: [(Role.CLIENT, UserMessage.of("go"))],
}


class Pair:
    """Both ends of a conversation; each hears what the other says."""

    def __init__(self, role: Role, state: State) -> None:
        self.ends = {role: Connection(role) for role in Role}
        for sender, event in REACH.get(state, [(role, EndOfStream())]):
            self.say(sender, event)
        assert self.states()[role] is state

    def say(self, role: Role, event: Event) -> list[Event]:
        return self.ends[role.other].receive_data(self.ends[role].send(event))

    def states(self) -> dict[Role, State]:
        client, cli = self.ends[Role.CLIENT], self.ends[Role.CLI]
        assert (client.our_state, client.their_state) == (cli.their_state, cli.our_state)
        return {Role.CLIENT: client.our_state, Role.CLI: cli.our_state}


def answer_to(pair: Pair, role: Role) -> Event:
    body = CanUseTool("Bash", {}) if role is Role.CLIENT else Interrupt()
    pair.say(role.other, Request(id="q", body=body))
    return Answer("q", {})


def withdrawal(pair: Pair, role: Role) -> Event:
    pair.say(role, Request(id="mine", body=Interrupt()))
    return Cancel(id="mine")


def opened(pair: Pair, role: Role) -> Event:
    pair.say(role.other, OPENING[1])
    return Answer("i")


def refused(pair: Pair, role: Role) -> Event:
    opened(pair, role)
    return Failure("i", "no")


MAKE: dict[Kind, Callable[[Pair, Role], Event]] = {
    Kind.INITIALIZE: lambda pair, role: Request(id="again", body=Initialize()),
    Kind.OPENED: opened,
    Kind.REFUSED: refused,
    Kind.ABANDONED: lambda pair, role: Cancel(id="i"),
    Kind.REQUEST: lambda pair, role: Request(id="r", body=Interrupt()),
    Kind.ANSWER: answer_to,
    Kind.CANCEL: withdrawal,
    Kind.PROMPT: lambda pair, role: UserMessage.of("more"),
    Kind.OUTPUT: lambda pair, role: AssistantMessage(message=APIMessage("assistant", "hello")),
    Kind.RESULT: lambda pair, role: ResultMessage(subtype="success", num_turns=1),
    Kind.NOTICE: lambda pair, role: KeepAlive(),
    Kind.END: lambda pair, role: EndOfStream(),
}

CASES = [
    (role, state, kind)
    for role in Role
    for state, kind in product(TRANSITIONS[role], Kind)
    if (role, kind) != (Role.CLI, Kind.PROMPT)  # a user message of a CLI is output
]
LEGAL = [case for case in CASES if case[2] in TRANSITIONS[case[0]][case[1]]]
ILLEGAL = [case for case in CASES if case not in LEGAL]


def name(value: object) -> str:
    return str(getattr(value, "name", value))


@pytest.mark.parametrize(("role", "state", "kind"), LEGAL, ids=name)
def test_legal_event_is_sent_and_understood(role: Role, state: State, kind: Kind) -> None:
    pair = Pair(role, state)
    event = MAKE[kind](pair, role)
    before = pair.states()[role.other]
    (heard,) = pair.say(role, event)
    assert not isinstance(heard, UnexpectedMessage)
    assert pair.states() == {
        role: TRANSITIONS[role][state][kind],
        role.other: EFFECTS.get((role, kind), {}).get(before, before),
    }


@pytest.mark.parametrize(("role", "state", "kind"), ILLEGAL, ids=name)
def test_illegal_event_raises_and_changes_nothing(role: Role, state: State, kind: Kind) -> None:
    pair = Pair(role, state)
    end = pair.ends[role]
    before = (pair.states(), dict(end.asked), dict(end.owed), end.unanswered_prompts)
    # Some cannot even be prepared: their request could not be answered.
    with pytest.raises(LocalProtocolError):
        end.send(MAKE[kind](pair, role))
    assert (pair.states(), dict(end.asked), dict(end.owed), end.unanswered_prompts) == before


@pytest.mark.parametrize(
    ("role", "state", "kind"),
    [
        (role, state, kind)
        for role, state, kind in ILLEGAL
        if state is not State.ENDED and kind in (Kind.INITIALIZE, Kind.OUTPUT, Kind.RESULT)
    ],
    ids=name,
)
def test_illegal_event_of_a_peer_is_unexpected(role: Role, state: State, kind: Kind) -> None:
    pair = Pair(role, state)
    before = pair.states()
    is_opening = kind is Kind.INITIALIZE and role is Role.CLIENT
    speaker = Connection(role if is_opening else role.other)  # one that may say so
    (heard,) = pair.ends[role.other].receive_data(speaker.send(MAKE[kind](pair, role)))
    assert isinstance(heard, UnexpectedMessage)
    assert "is not allowed" in heard.reason
    assert pair.states() == before


@pytest.mark.parametrize("kind", sorted(NEEDS_A_LISTENER, key=name), ids=name)
def test_party_that_has_ended_cannot_be_asked(kind: Kind) -> None:
    pair = Pair(Role.CLI, State.ENDED)
    with pytest.raises(LocalProtocolError, match="the peer has ended"):
        pair.ends[Role.CLIENT].send(MAKE[kind](pair, Role.CLIENT))


def test_init_does_not_make_a_cli_busy() -> None:
    pair = Pair(Role.CLI, State.IDLE)
    pair.say(Role.CLI, InitMessage(session_id="s"))
    assert pair.states()[Role.CLI] is State.IDLE
