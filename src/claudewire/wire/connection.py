"""One end of a conversation: bytes in, events out; messages in, bytes out.

Everything revolves around `Connection`. It does no I/O and reads no clock: the owner of the
pipes feeds it what arrived and writes what it returns. Nothing that a peer sends can make it raise.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Set
from itertools import repeat
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
from msgspec.structs import force_setattr

from . import codec
from .answers import answer_from, answer_to, dropped_prompts
from .dialects import AUTO, DIALECTS, ENVELOPE, MODERN, OPENING, Dialect, WriteContext
from .errors import LocalProtocolError
from .framing import MAX_LINE, Lines, Oversize
from .kinds import PLAIN_OUTPUT, kind_of
from .states import ALWAYS, EFFECTS, INITIAL, NEEDS_A_LISTENER, TRANSITIONS, Kind, Role, State
from .types.base import Event, Message, set_line, set_problems
from .types.cli_requests import RequestBody
from .types.control import Answer, Cancel, EndOfStream, Failure, Request, Response, Stray
from .types.host_requests import Initialize
from .types.messages import (
    CommandLifecycleMessage,
    ErrorMessage,
    HumanOrigin,
    ResultMessage,
    SessionCreatedMessage,
    UserMessage,
)
from .types.requests import Body
from .types.system import SessionStateChangedMessage

__all__ = ["Connection"]

_E = TypeVar("_E", bound=Event)
_REFUSED = (*codec.REFUSED, TypeError)  # a TypeError for an `Oversize`, which is no line
_NOTHING: frozenset[type[Message]] = frozenset()
_ANSWERS = (Answer, Failure)
# To look them up in their enumeration takes longer.
_CLIENT, _NEW, _ENDED, _ANSWER = Role.CLIENT, State.NEW, State.ENDED, Kind.ANSWER
REMEMBERED = 1024
"""How many settled ids are kept, so as not to use one again, and to tell a late answer from one
to a request that was never sent."""


_Form = tuple[Dialect, str]
"""How a request of the peer that waits for our answer was written, if not in the usual way: the
dialect, and the id as it was on the wire."""


class Connection:
    """The SDK's end or the CLI's end of one conversation.

    Args:
        role: which end this is.
        dialect: how to write: a dialect, its name, or `AUTO` to write as the peer does.
            All dialects are always understood.
        max_line: longer lines are not kept; each becomes an `Oversize` event.

    Attributes:
        asked: our requests that wait for the peer, by id.
        owed: the peer's requests that wait for us, by id.
    """

    def __init__(
        self, role: Role, *, dialect: Dialect | str = AUTO, max_line: int = MAX_LINE
    ) -> None:
        self.role = role
        self._peer = role.other
        self._speaks = None if dialect == AUTO else _dialect(dialect)
        self._heard = MODERN
        self._lines = Lines(max_line)
        self._state = dict(INITIAL)
        self._asked: dict[str, Request] = {}
        self._owed: dict[str, Request] = {}
        # Views, and no copies: there may be thousands.
        self.asked: Mapping[str, Request] = MappingProxyType(self._asked)
        self.owed: Mapping[str, Request] = MappingProxyType(self._owed)
        self._forms: dict[str, _Form] = {}
        self._settled: dict[str, str] = {}
        self._prompts: list[str | None] = []
        self._prompted = self._created = False
        self._session_id = ""
        self._ids = 0

    # --- facts -----------------------------------------------------------------------------------

    @property
    def our_state(self) -> State:
        """What we are doing."""
        return self._state[self.role]

    @property
    def their_state(self) -> State:
        """What the peer is doing."""
        return self._state[self._peer]

    @property
    def their_dialect(self) -> Dialect:
        """The dialect that the peer was last seen to speak."""
        return self._heard

    @property
    def dialect(self) -> Dialect:
        """The dialect of the conversation: the one that was asked for, or else the peer's."""
        return self._speaks or self._heard

    @property
    def unanswered_prompts(self) -> int:
        """Prompts that no result has answered yet."""
        return len(self._prompts)

    @property
    def may_end_input(self) -> bool:
        """Whether neither side owes an answer, so that ending our stream loses nothing.

        An early end is not harmless: a CLI that waits for a permission then takes it for denied.
        """
        nobody_waits = not (self._asked or self._owed or self._prompts)
        return nobody_waits and self._state[Role.CLI] is not State.BUSY

    # --- receiving -------------------------------------------------------------------------------

    def receive_data(self, data: bytes) -> list[Event]:
        """Take what arrived, `b""` for the end of the stream; give what it means.

        Raises:
            LocalProtocolError: the end was given before.
        """
        if self._state[self._peer] is _ENDED:
            raise LocalProtocolError("The peer's stream has ended; nothing can follow")
        events: list[Event] = []
        lines = self._lines.feed(data) if data else self._lines.end()
        if len(lines) == 1:  # as with most requests, for whose answer the peer waits
            self._receive_line(lines[0], events)
        else:
            self._receive_lines(lines, events)
        if not data:
            self._receive_end(events)
        return events

    def _receive_line(self, line: bytes | Oversize, events: list[Event]) -> None:
        # The first two are looked at here because most of the time neither holds.
        if (self._asked or self._state[_CLIENT] is _NEW) and self._receive_apart(line, events):
            return
        try:
            message = codec.first_pass(line)  # type: ignore[arg-type]
        except _REFUSED:
            self._receive_refused(line, events)
        else:
            self._receive_decoded(message, line, events)  # type: ignore[arg-type]

    def _receive_lines(self, lines: list[bytes | Oversize], events: list[Event]) -> None:
        """Decode as many lines as will go in one run, then see to the one that stopped it."""
        while lines and self._receive_apart(lines[0], events):
            del lines[0]
        rest, start = iter(lines), 0
        while start < len(lines):
            messages: list[Message] = []
            try:  # noqa: SIM105 `suppress` takes as long as decoding a line
                messages.extend(map(codec.first_pass, rest))  # type: ignore[arg-type]
            except _REFUSED:
                pass
            end = start + len(messages)
            self._receive_messages(messages, lines[start:end], events)  # type: ignore[arg-type]
            if end < len(lines):
                self._receive_refused(lines[end], events)
            start = end + 1

    def _receive_apart(self, line: bytes | Oversize, events: list[Event]) -> bool:
        """Receive what opens a conversation, if it is that: it needs no decoder for all lines."""
        if isinstance(line, Oversize):
            return False
        if self._asked and line.startswith(b'{"type":"control_response"'):
            self._receive(codec.decode_answer(line, self._find), events)
        elif self._state[_CLIENT] is _NEW and b'"initialize"' in line:
            self._receive(codec.decode_slowly(line, self._find), events)
        else:
            return False
        return True

    def _receive_messages(
        self, messages: list[Message], lines: list[bytes], events: list[Event]
    ) -> None:
        if len(messages) > 1 and self._plain().issuperset(map(type, messages)):
            # Most lines by far come here, so it is done without a loop of our own.
            deque(map(force_setattr, messages, repeat("_line"), lines), maxlen=0)
            events += messages
            return
        for message, line in zip(messages, lines, strict=True):
            self._receive_decoded(message, line, events)

    def _receive_decoded(self, message: Message, line: bytes, events: list[Event]) -> None:
        if type(message) is Request and type(message.body) is not Initialize:
            set_line(message, line)
            events.append(self._receive_request(message, MODERN))
            return
        try:
            decoded = codec.refine(message, line, self._find)
        except codec.REFUSED:
            decoded = codec.decode_slowly(line, self._find)
        self._receive(decoded, events)

    def _receive_refused(self, line: bytes | Oversize, events: list[Event]) -> None:
        if isinstance(line, Oversize):
            events.append(line)
        elif line.strip():
            self._receive(codec.decode_slowly(line, self._find), events)

    def _plain(self) -> frozenset[type[Message]]:
        """The messages that need no bookkeeping in the present state."""
        busy = self.their_state is State.BUSY  # as only a CLI can be
        return PLAIN_OUTPUT if busy and self.dialect is not ENVELOPE else _NOTHING

    def _find(self, id: str) -> RequestBody[Any] | None:
        request = self._asked.get(id)
        return request.body if request else None

    def _receive(self, decoded: codec.Decoded, events: list[Event]) -> None:
        event, dialect = decoded
        if dialect is not MODERN:
            self._heard = dialect
        if isinstance(event, Request):
            events.append(self._receive_request(event, dialect))
        elif isinstance(event, Response):
            self._receive_response(event, events)
        elif isinstance(event, Cancel):
            events.append(self._receive_cancel(event))
        elif isinstance(event, Message):
            events.append(self._receive_message(event))
        else:  # noise, or malformed
            events.append(event)

    def _receive_request(self, request: Request, dialect: Dialect) -> Event:
        wire_id = request.id
        if not wire_id:
            request = _same_line(msgspec.structs.replace(request, id=self._new_id()), request)
        if request.id in self._owed:
            return _stray(request, "a request with this id is waiting for its answer already")
        if isinstance(request.body, Initialize):  # all others may always be put
            if not self._may(self._peer, Kind.INITIALIZE):
                return _stray(request, f"{Kind.INITIALIZE.value} is not allowed now")
            self._move(self._peer, Kind.INITIALIZE)
        self._owed[request.id] = request
        if dialect is not MODERN or not wire_id:
            self._forms[request.id] = dialect, wire_id
        return request

    def _receive_response(self, frame: Response, events: list[Event]) -> None:
        inner = frame.response
        id = inner.request_id
        if not id and len(self._asked) == 1:
            (id,) = self._asked  # it can be no other
        request = self._asked.pop(id, None)
        answer = _same_line(answer_from(inner, id, request), frame)
        if request is None:
            events.append(_stray(answer, self._settled.get(id, "no request has this id")))
            return
        self._settle(id, "this request has been answered already")
        self._strike(dropped_prompts(request, answer))
        self._move(self._peer, _answering(request, answer))
        events.append(answer)
        if isinstance(answer, Answer) and answer.pending:
            self._receive_pending(answer.pending, events)

    def _receive_pending(self, pending: tuple[Request, ...], events: list[Event]) -> None:
        """Requests that the CLI had put before we were there to hear them."""
        events.extend(
            self._receive_request(request, self._heard)
            for request in pending
            if request.id not in self._owed
        )

    def _receive_cancel(self, cancel: Cancel) -> Event:
        request = self._owed.pop(cancel.id, None)
        self._forms.pop(cancel.id, None)
        if request is None:
            return _stray(cancel, "no request with this id is waiting")
        self._move(self._peer, _withdrawing(request))
        return cancel

    def _receive_message(self, message: Message) -> Event:
        if isinstance(message, ErrorMessage) and self._asked and self.role is Role.CLIENT:
            return self._receive_refusal(message)
        kind = kind_of(self._peer, message, self.dialect.rules)
        if not self._may(self._peer, kind):
            return _stray(message, f"{kind.value} is not allowed from the {self._peer.value}")
        self._move(self._peer, kind)
        self._note(kind, message)
        self._session_id = message.session_id or self._session_id
        return message

    def _receive_refusal(self, error: ErrorMessage) -> Event:
        """Take an `error`, which names no request, for the answer to the oldest that waits."""
        id = next(iter(self._asked))
        request = self._asked.pop(id)
        self._settle(id, "this request has been answered by an error")
        if isinstance(request.body, Initialize) and self._heard is MODERN:
            self._heard = ENVELOPE  # no other knows no `initialize`, and says so in this form
        failure = Failure(id, error.error.message, error.error.kind, request)
        self._move(self._peer, _answering(request, failure))
        return _same_line(failure, error)

    def _receive_end(self, events: list[Event]) -> None:
        end = EndOfStream(tuple(self._asked.values()))
        self._move(self._peer, Kind.END)
        self._asked.clear()
        self._owed.clear()
        self._prompts.clear()
        events.append(end)

    # --- sending ---------------------------------------------------------------------------------

    def new_request(self, body: Body) -> Request:
        """Make a request with an id that is free on both sides. It is not sent yet."""
        return Request(id=self._new_id(), body=body)

    def send(self, event: Event) -> bytes:
        """Say something: a message, a request, an answer, a withdrawal, or the end.

        Returns:
            the bytes to write; none for the end, after which our stream is to be closed.

        Raises:
            LocalProtocolError: it must not be sent now. Nothing has changed then.
        """
        if isinstance(event, _ANSWERS):
            return self._send_answer(event)
        if isinstance(event, Request):
            return self._send_request(event)
        if isinstance(event, Cancel):
            return self._send_cancel(event)
        if isinstance(event, EndOfStream):
            self._check(Kind.END)
            self._owed.clear()
            self._move(self.role, Kind.END)
            return b""
        if isinstance(event, Message) and not isinstance(event, Response):
            return self._send_message(event)
        raise LocalProtocolError(f"{type(event).__name__} is only ever received")

    def _send_request(self, request: Request) -> bytes:
        kind = _asking(request)
        self._check(kind)
        if not request.id or self._is_used(request.id):
            raise LocalProtocolError(f"The id {request.id!r} is empty, in use or used before")
        data = self._encode(request, self._dialect_to_ask(kind))
        self._asked[request.id] = request
        self._move(self.role, kind)
        return data

    def _dialect_to_ask(self, kind: Kind) -> Dialect:
        dialect = self.dialect
        unknown = self._speaks is None and dialect is MODERN
        return OPENING if unknown and kind is Kind.INITIALIZE else dialect

    def _send_answer(self, answer: Answer | Failure) -> bytes:
        request = self._owed.get(answer.id)
        if request is None:
            raise LocalProtocolError(
                f"No request {answer.id!r} is waiting: it was answered, withdrawn or never put"
            )
        kind = _answering(request, answer)
        self._check(kind)
        form = self._forms.get(answer.id)
        dialect, wire_id = form or (MODERN, answer.id)
        if dialect is MODERN:  # a request that bears no mark of a dialect may be of any
            dialect = self._heard
        dialect = self._speaks or dialect
        frame = Response(response=answer_to(answer, wire_id))
        data = codec.encode_directly(frame) if dialect is MODERN else b""  # as most are
        data = data or self._encode(frame, dialect, request)
        del self._owed[answer.id]
        if form is not None:
            del self._forms[answer.id]
        if self.role is not _CLIENT:
            self._strike(dropped_prompts(request, answer))
        if kind is not _ANSWER:
            self._move(self.role, kind)
        return data

    def _send_cancel(self, cancel: Cancel) -> bytes:
        request = self._asked.get(cancel.id)
        if request is None:
            raise LocalProtocolError(f"No request {cancel.id!r} of ours is waiting")
        kind = _withdrawing(request)
        self._check(kind)
        data = self._encode(cancel, self.dialect)
        del self._asked[cancel.id]
        self._settle(cancel.id, "this request was withdrawn")
        self._move(self.role, kind)
        return data

    def abandon(self, id: str) -> None:
        """Wait no longer for an answer, without a word: not every CLI lets a request be withdrawn.

        Raises:
            LocalProtocolError: no request of ours with this id is waiting.
        """
        request = self._asked.pop(id, None)
        if request is None:
            raise LocalProtocolError(f"No request {id!r} of ours is waiting")
        self._settle(id, "this request was given up")
        if self.our_state is not State.ENDED:
            self._move(self.role, _withdrawing(request))

    def _send_message(self, message: Message) -> bytes:
        kind = kind_of(self.role, message, self.dialect.rules)
        self._check(kind)
        data = self._encode(message, self.dialect)
        self._move(self.role, kind)
        self._note(kind, message)
        return data

    def _encode(self, message: Message, dialect: Dialect, request: Request | None = None) -> bytes:
        context = WriteContext(self.role, not self._prompted, request, self._session_id)
        return codec.encode(message, dialect, context)

    # --- records ---------------------------------------------------------------------------------

    def _may(self, sender: Role, kind: Kind) -> bool:
        return kind in TRANSITIONS[sender][self._state[sender]]

    def _check(self, kind: Kind) -> None:
        if kind not in TRANSITIONS[self.role][self._state[self.role]]:
            raise LocalProtocolError(
                f"{kind.value} must not be sent by the {self.role.value} when it is "
                f"{self.our_state.value}"
            )
        if kind in NEEDS_A_LISTENER and self.their_state is State.ENDED:
            raise LocalProtocolError(f"{kind.value} makes no sense now: the peer has ended")

    def _move(self, sender: Role, kind: Kind) -> None:
        if kind in ALWAYS:
            return
        self._state[sender] = TRANSITIONS[sender][self._state[sender]][kind]
        other = self._state[sender.other]
        self._state[sender.other] = EFFECTS.get((sender, kind), {}).get(other, other)

    def _note(self, kind: Kind, message: Message) -> None:
        """Keep count of the prompts that still want a result."""
        if kind is Kind.PROMPT and isinstance(message, UserMessage):
            self._prompts.append(message.uuid)
            self._prompted = True
        elif isinstance(message, ResultMessage):
            self._created = True
            self._answer_prompts(message)
        elif kind is Kind.RESULT:
            self._end_without_result(message)
        elif isinstance(message, SessionCreatedMessage):
            self._created = True
        elif isinstance(message, CommandLifecycleMessage) and message.is_dropped:
            self._strike({message.command_uuid})

    def _answer_prompts(self, result: ResultMessage) -> None:
        """Strike out the prompts that a result answers: several were perhaps taken together."""
        named = set(result.user_message_uuids or ()) | {result.user_message_uuid} - {None}
        if named:
            self._strike(named)
        elif result.origin is None or isinstance(result.origin, HumanOrigin):
            del self._prompts[:1]

    def _end_without_result(self, message: Message) -> None:
        """Strike out the prompt that was answered without a result, by an error for example."""
        if isinstance(message, SessionStateChangedMessage):
            return  # which comes beside a result
        del self._prompts[:1]
        if isinstance(message, ErrorMessage) and not self._created:
            self._prompted = False  # the conversation was not created: the next prompt does it

    def _strike(self, uuids: Set[str | None]) -> None:
        if uuids:
            self._prompts[:] = [uuid for uuid in self._prompts if uuid is None or uuid not in uuids]

    def _settle(self, id: str, how: str) -> None:
        self._settled[id] = how
        if len(self._settled) > REMEMBERED:
            del self._settled[next(iter(self._settled))]

    def _new_id(self) -> str:
        while True:
            self._ids += 1
            id = f"{self.role.value}-{self._ids}"
            if not self._is_used(id):
                return id

    def _is_used(self, id: str) -> bool:
        return id in self._asked or id in self._owed or id in self._settled


def _dialect(name: Dialect | str) -> Dialect:
    if isinstance(name, Dialect):
        return name
    try:
        return DIALECTS[name]
    except KeyError:
        names = ", ".join([AUTO, *DIALECTS])
        raise ValueError(f"There is no dialect {name!r}; there are {names}") from None


def _same_line(event: _E, source: Event) -> _E:
    """Let an event that was made out of another one remember what that one does."""
    set_line(event, source.line)
    if source.problems:
        set_problems(event, source.problems + event.problems)
    return event


def _stray(event: Event, reason: str) -> Stray:
    return _same_line(Stray(event, reason), event)


def _asking(request: Request) -> Kind:
    return Kind.INITIALIZE if isinstance(request.body, Initialize) else Kind.REQUEST


def _withdrawing(request: Request) -> Kind:
    return Kind.ABANDONED if isinstance(request.body, Initialize) else Kind.CANCEL


def _answering(request: Request, answer: Answer | Failure) -> Kind:
    if not isinstance(request.body, Initialize):
        return _ANSWER
    return Kind.OPENED if isinstance(answer, Answer) else Kind.REFUSED
