"""The tables, and a connection driven through every pair of state and event."""

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
    Stray,
    UserMessage,
)
from claudewire.wire.states import EFFECTS, INITIAL, NEEDS_A_LISTENER, TRANSITIONS

ASSISTANT = AssistantMessage(message=APIMessage("assistant", "hello"))
RESULT = ResultMessage(subtype="success", num_turns=1)
PERMISSION = CanUseTool("Bash", {"command": "ls"})


class Pair:
    """Both ends of a conversation, with everything that one says told to the other."""

    def __init__(self) -> None:
        self.ends = {role: Connection(role) for role in Role}

    def say(self, role: Role, event: Event) -> list[Event]:
        data = self.ends[role].send(event)
        return self.ends[role.other].receive_data(data)

    def states(self) -> dict[Role, State]:
        """What both ends believe, which is the same."""
        client, cli = self.ends[Role.CLIENT], self.ends[Role.CLI]
        assert (client.our_state, client.their_state) == (cli.their_state, cli.our_state)
        return {Role.CLIENT: client.our_state, Role.CLI: cli.our_state}


REACH: dict[tuple[Role, State], list[tuple[Role, Event]]] = {
    (Role.CLIENT, State.NEW): [],
    (Role.CLIENT, State.OPENING): [(Role.CLIENT, Request(id="i", body=Initialize()))],
    (Role.CLIENT, State.READY): [
        (Role.CLIENT, Request(id="i", body=Initialize())),
        (Role.CLI, Answer("i")),
    ],
    (Role.CLIENT, State.ENDED): [(Role.CLIENT, EndOfStream())],
    (Role.CLI, State.IDLE): [],
    (Role.CLI, State.BUSY): [(Role.CLIENT, UserMessage.of("go"))],
    (Role.CLI, State.ENDED): [(Role.CLI, EndOfStream())],
}


def reach(role: Role, state: State) -> Pair:
    pair = Pair()
    for sender, event in REACH[role, state]:
        if isinstance(event, EndOfStream):
            pair.ends[sender].send(event)
            pair.ends[sender.other].receive_data(b"")
        else:
            pair.say(sender, event)
    assert pair.states()[role] is state
    return pair


def owe(pair: Pair, role: Role, id: str, body: object) -> None:
    """Let the other party ask something, so that `role` has something to answer."""
    pair.say(role.other, Request(id=id, body=body))  # type: ignore[arg-type]


def answer_to(pair: Pair, role: Role) -> Event:
    owe(pair, role, "q", PERMISSION if role is Role.CLIENT else Interrupt())
    return Answer("q", {})


def withdrawal(pair: Pair, role: Role) -> Event:
    owe(pair, role.other, "mine", Interrupt())
    return Cancel(id="mine")


def initialize_answered(pair: Pair, role: Role) -> Event:
    if "i" not in pair.ends[role].owed:
        owe(pair, role, "i", Initialize())
    return Answer("i")


def initialize_refused(pair: Pair, role: Role) -> Event:
    initialize_answered(pair, role)
    return Failure("i", "no")


def initialize_withdrawn(pair: Pair, role: Role) -> Event:
    return Cancel(id="i")


MAKE: dict[Kind, Callable[[Pair, Role], Event]] = {
    Kind.INITIALIZE: lambda pair, role: Request(id="again", body=Initialize()),
    Kind.OPENED: initialize_answered,
    Kind.REFUSED: initialize_refused,
    Kind.ABANDONED: initialize_withdrawn,
    Kind.REQUEST: lambda pair, role: Request(id="r", body=Interrupt()),
    Kind.ANSWER: answer_to,
    Kind.CANCEL: withdrawal,
    Kind.PROMPT: lambda pair, role: UserMessage.of("more"),
    Kind.OUTPUT: lambda pair, role: ASSISTANT,
    Kind.RESULT: lambda pair, role: RESULT,
    Kind.NOTICE: lambda pair, role: KeepAlive(),
    Kind.END: lambda pair, role: EndOfStream(),
}

PAIRS = [
    (role, state, kind)
    for role in Role
    for state, kind in product(TRANSITIONS[role], Kind)
    # What a CLI says as a user message is output: it has no prompts.
    if (role, kind) != (Role.CLI, Kind.PROMPT)
]
LEGAL = [case for case in PAIRS if case[2] in TRANSITIONS[case[0]][case[1]]]
ILLEGAL = [case for case in PAIRS if case not in LEGAL]


def name(value: object) -> str:
    return str(getattr(value, "name", value))


@pytest.mark.parametrize(("role", "state", "kind"), LEGAL, ids=name)
def test_what_the_table_allows_is_sent_and_understood(role: Role, state: State, kind: Kind) -> None:
    pair = reach(role, state)
    event = MAKE[kind](pair, role)
    before = pair.states()[role.other]

    if kind is Kind.END:
        assert pair.ends[role].send(event) == b""
        heard = pair.ends[role.other].receive_data(b"")
    else:
        heard = pair.say(role, event)

    assert len(heard) == 1
    assert not isinstance(heard[0], Stray)
    effect = EFFECTS.get((role, kind), {})
    assert pair.states() == {
        role: TRANSITIONS[role][state][kind],
        role.other: effect.get(before, before),
    }


@pytest.mark.parametrize(("role", "state", "kind"), ILLEGAL, ids=name)
def test_what_the_table_does_not_allow_raises_and_changes_nothing(
    role: Role, state: State, kind: Kind
) -> None:
    pair = reach(role, state)
    end = pair.ends[role]
    before = (pair.states(), dict(end.asked), dict(end.owed), end.unanswered_prompts)

    # Some cannot even be prepared: nobody may ask for what could then not be answered.
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
def test_what_a_peer_may_not_say_comes_as_a_stray_and_changes_nothing(
    role: Role, state: State, kind: Kind
) -> None:
    pair = reach(role, state)
    speaker = Connection(role)
    event = MAKE[kind](pair, role)
    if kind is Kind.INITIALIZE and role is Role.CLIENT:
        data = speaker.send(event)
    else:  # what the other party would say
        data = Connection(role.other).send(event)
    before = pair.states()

    (heard,) = pair.ends[role.other].receive_data(data)

    assert isinstance(heard, Stray)
    assert type(heard.event) is type(event)
    assert "is not allowed" in heard.reason
    assert pair.states() == before


@pytest.mark.parametrize("kind", sorted(NEEDS_A_LISTENER, key=name), ids=name)
def test_nobody_asks_a_party_that_has_ended(kind: Kind) -> None:
    pair = reach(Role.CLI, State.ENDED)
    event = MAKE[kind](pair, Role.CLIENT)
    with pytest.raises(LocalProtocolError, match="the peer has ended"):
        pair.ends[Role.CLIENT].send(event)


def test_every_state_can_be_left_by_ending_and_nothing_follows() -> None:
    for role, states in TRANSITIONS.items():
        assert INITIAL[role] in states
        for state, moves in states.items():
            assert moves == {} if state is State.ENDED else moves[Kind.END] is State.ENDED
            assert set(moves.values()) <= set(states)


def test_the_session_message_at_the_start_of_a_turn_does_not_make_a_cli_busy() -> None:
    pair = Pair()
    pair.say(Role.CLI, InitMessage(session_id="s"))
    assert pair.states()[Role.CLI] is State.IDLE
