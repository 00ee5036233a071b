"""One end of a conversation: bytes in, events out; messages in, bytes out.

Everything revolves around `Connection`. It does no I/O and reads no clock: the owner of the
pipes passes in received bytes and writes returned ones. Nothing that a peer sends makes it raise.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from . import codec
from .dialects import AUTO, OPENING, STANDARD, named_dialect, recognise_answer, recognise_refusal
from .dialects.base import Dialect, WriteContext
from .dialects.behavior import DialectBehavior
from .errors import LocalProtocolError
from .framing import MAX_LINE, Lines, Oversize
from .states import EFFECTS, INITIAL, NEEDS_A_LISTENER, TRANSITIONS, Kind, Role, State, kind_of
from .types.base import Event, Message, set_line, set_problems
from .types.cli_requests import RequestBody
from .types.control import (
    Answer,
    Body,
    Cancel,
    EndOfStream,
    Failure,
    Request,
    Response,
    UnexpectedMessage,
)
from .types.host_requests import (
    CancelAsyncMessage,
    CancelAsyncMessageResult,
    Initialize,
    InterruptResult,
)
from .types.messages import (
    CommandLifecycleMessage,
    ErrorMessage,
    HumanOrigin,
    ResultMessage,
    SessionCreatedMessage,
    UserMessage,
)
from .types.system import InitMessage, SessionStateChangedMessage

_E = TypeVar("_E", bound=Event)

_NOT_WAITING = "no request with this id is waiting"


class Connection:
    """The SDK's end or the CLI's end of one conversation.

    Args:
        role: which end this is.
        dialect: how to write: a dialect, its name, or `AUTO` to write as the peer does. That is
            decided once: by the answer to `initialize`, or without one by the first line with a
            mark or a version. All dialects are always understood.
        max_line: longer lines are not kept; each becomes an `Oversize` event.

    Attributes:
        asked: our requests that wait for the peer, by id.
        owed: the peer's requests that wait for us, by id.
        dialect: the dialect we write: the given one, or else the peer's.
    """

    def __init__(
        self, role: Role, *, dialect: Dialect | str = AUTO, max_line: int = MAX_LINE
    ) -> None:
        self.role = role
        self._peer = role.other
        self._is_decided = dialect != AUTO
        self.dialect: Dialect = STANDARD
        if self._is_decided:
            self.dialect = dialect if isinstance(dialect, Dialect) else named_dialect(dialect)
        self._lines = Lines(max_line)
        self._state = dict(INITIAL)
        self._asked: dict[str, Request] = {}
        self._owed: dict[str, Request] = {}
        # Views instead of copies: there may be thousands.
        self.asked: Mapping[str, Request] = MappingProxyType(self._asked)
        self.owed: Mapping[str, Request] = MappingProxyType(self._owed)
        # The dialect of an owed request, which counts while ours is not decided, and its id on the
        # wire, where they are unusual.
        self._forms: dict[str, tuple[Dialect, str]] = {}
        self._prompts: list[str | None] = []
        self._prompted = self._created = False
        self._session_id = ""
        self._ids = 0

    # --- facts -----------------------------------------------------------------------------------

    @property
    def our_state(self) -> State:
        """Our own state."""
        return self._state[self.role]

    @property
    def their_state(self) -> State:
        """The peer's state."""
        return self._state[self._peer]

    @property
    def behavior(self) -> DialectBehavior:
        """How the peers of this dialect behave."""
        return self.dialect.behavior

    @property
    def unanswered_prompts(self) -> int:
        """Prompts that no result has answered yet."""
        return len(self._prompts)

    @property
    def may_end_input(self) -> bool:
        """Whether neither side owes an answer, so that ending our stream loses nothing.

        A CLI that waits for a permission takes an early end for a denial.
        """
        pending = self._asked or self._owed or self._prompts
        return not pending and self._state[Role.CLI] is not State.BUSY

    # --- receiving -------------------------------------------------------------------------------

    def receive_data(self, data: bytes) -> list[Event]:
        """Take received bytes, `b""` for the end of the stream; return the events in them.

        Raises:
            LocalProtocolError: the end was given before.
        """
        if self._state[self._peer] is State.ENDED:
            raise LocalProtocolError("The peer's stream has ended; nothing can follow")
        events: list[Event] = []
        find = self.find
        for line in self._lines.feed(data) if data else self._lines.end():
            if isinstance(line, Oversize):
                events.append(line)
            elif decoded := codec.decode(
                line, find, is_standard=self._is_decided and self.dialect is STANDARD
            ):
                event, dialect = decoded
                if dialect is not STANDARD and self.our_state is not State.OPENING:
                    self._decide(dialect)
                if type(event) is Request:
                    events.append(self._receive_request(event, dialect))
                elif type(event) is Response:
                    events += self._receive_response(event, dialect)
                elif isinstance(event, Message):
                    events.append(self._receive_message(event, dialect))
                else:
                    events.append(event)
        if not data:
            events.append(self._receive_end())
        return events

    def find(self, id: str) -> RequestBody[Any] | None:
        """Return the body of our own request with this id, if it waits for an answer."""
        request = self._asked.get(id)
        return request.body if request else None

    def _decide(self, dialect: Dialect) -> None:
        """Decide the dialect to write, unless that has happened."""
        if not self._is_decided:
            self.dialect, self._is_decided = dialect, True

    def _receive_request(self, request: Request, dialect: Dialect) -> Event:
        wire_id = request.id
        if not wire_id:
            request = _same_line(msgspec.structs.replace(request, id=self._new_id()), request)
        if request.id in self._owed:
            return _unexpected(request, "a request with this id is waiting for its answer already")
        if isinstance(request.body, Initialize) and not self._move(self._peer, Kind.INITIALIZE):
            return _unexpected(request, f"{Kind.INITIALIZE.value} is not allowed now")
        self._owed[request.id] = request
        if dialect is not STANDARD or not wire_id:
            self._forms[request.id] = dialect, wire_id
        return request

    def _receive_response(self, frame: Response, dialect: Dialect) -> list[Event]:
        id = frame.response.request_id
        if not id and len(self._asked) == 1:
            (id,) = self._asked  # it can be no other
        request = self._asked.pop(id, None)
        answer = _same_line(codec.answer_from(frame.response, id, request), frame)
        if request is None:
            return [_unexpected(answer, _NOT_WAITING)]
        if isinstance(request.body, Initialize) and isinstance(answer, Answer):
            self._decide(recognise_answer(answer, dialect))
        self._strike(dropped_prompts(request, answer))
        self._move(self._peer, _kind_of_answer(request, answer))
        # Requests that the CLI had put before we were there to hear them.
        pending = [it for it in getattr(answer, "pending", None) or () if it.id not in self._owed]
        return [answer, *(self._receive_request(it, dialect) for it in pending)]

    def _receive_message(self, message: Message, dialect: Dialect) -> Event:
        if type(message) is Cancel:
            return self._receive_cancel(message)
        if isinstance(message, InitMessage) and message.claude_code_version:
            self._decide(dialect)
        if isinstance(message, ErrorMessage | SessionCreatedMessage):
            if self._is_decided and not self.behavior.has(message):
                return _unexpected(message, "this CLI speaks a dialect without such a message")
            if self._asked and isinstance(message, ErrorMessage) and self.role is Role.CLIENT:
                return self._receive_refusal(message, dialect)
        kind = kind_of(self._peer, message, self.dialect.behavior)
        if not self._move(self._peer, kind):
            reason = f"{kind.value} is not allowed from the {self._peer.value}"
            return _unexpected(message, reason)
        if kind is not Kind.OUTPUT:
            self._note(kind, message)
        self._session_id = message.session_id or self._session_id
        return message

    def _receive_cancel(self, cancel: Cancel) -> Event:
        request = self._owed.pop(cancel.id, None)
        self._forms.pop(cancel.id, None)
        if request is None:
            return _unexpected(cancel, _NOT_WAITING)
        self._move(self._peer, _kind_of_cancel(request))
        return cancel

    def _receive_refusal(self, error: ErrorMessage, dialect: Dialect) -> Event:
        """Take an `error`, which names no request, for the answer to the oldest that waits."""
        id = next(iter(self._asked))
        request = self._asked.pop(id)
        if isinstance(request.body, Initialize):
            self._decide(recognise_refusal(dialect))
        failure = Failure(id, error.error.message, error.error.kind, request)
        self._move(self._peer, _kind_of_answer(request, failure))
        return _same_line(failure, error)

    def _receive_end(self) -> EndOfStream:
        end = EndOfStream(tuple(self._asked.values()))
        self._move(self._peer, Kind.END)
        self._asked.clear()
        self._owed.clear()
        self._prompts.clear()
        return end

    # --- sending ---------------------------------------------------------------------------------

    def new_request(self, body: Body) -> Request:
        """Make a request with an id that is free on both sides. It is not sent yet."""
        return Request(id=self._new_id(), body=body)

    def send(self, event: Event) -> bytes:
        """Send a message, a request, an answer, a withdrawal, or the end.

        Returns:
            the bytes to write; none for the end, after which our stream is to be closed.

        Raises:
            LocalProtocolError: it must not be sent now. Nothing has changed then.
        """
        kind, state = self._kind_of(event), self._state[self.role]
        if kind not in TRANSITIONS[self.role][state]:
            raise LocalProtocolError(
                f"{kind.value} must not be sent by the {self.role.value} when it is {state.value}"
            )
        if kind in NEEDS_A_LISTENER and self._state[self._peer] is State.ENDED:
            raise LocalProtocolError(f"{kind.value} has no receiver: the peer has ended")
        if isinstance(event, Answer | Failure):
            data = self._send_answer(event)
        elif isinstance(event, Request):
            data = self._send_request(event)
        elif isinstance(event, Message):
            data = self._encode(event, self.dialect)
            if isinstance(event, Cancel):
                del self._asked[event.id]
        else:
            data = b""
            self._owed.clear()
        self._move(self.role, kind)
        if isinstance(event, Message):
            self._note(kind, event)
        return data

    def abandon(self, id: str) -> None:
        """Stop waiting for an answer without a withdrawal, which some CLIs do not support.

        Raises:
            LocalProtocolError: no request of ours with this id is waiting.
        """
        kind = self._kind_of(Cancel(id=id))
        del self._asked[id]
        self._move(self.role, kind)

    def _kind_of(self, event: Event) -> Kind:
        if isinstance(event, Answer | Failure):
            if event.id not in self._owed:
                raise LocalProtocolError(
                    f"No request {event.id!r} is waiting: it was answered, withdrawn or never put"
                )
            return _kind_of_answer(self._owed[event.id], event)
        if isinstance(event, Request):
            if not event.id or self._is_open(event.id):
                raise LocalProtocolError(f"The id {event.id!r} is empty or in use")
            return Kind.INITIALIZE if isinstance(event.body, Initialize) else Kind.REQUEST
        if isinstance(event, Cancel):
            if event.id not in self._asked:
                raise LocalProtocolError(f"No request {event.id!r} of ours is waiting")
            return _kind_of_cancel(self._asked[event.id])
        if isinstance(event, Message) and not isinstance(event, Response):
            return kind_of(self.role, event, self.dialect.behavior)
        if isinstance(event, EndOfStream):
            return Kind.END
        raise LocalProtocolError(f"{type(event).__name__} is only ever received")

    def _send_request(self, request: Request) -> bytes:
        opens = not self._is_decided and isinstance(request.body, Initialize)
        data = self._encode(request, OPENING if opens else self.dialect)
        self._asked[request.id] = request
        return data

    def _send_answer(self, answer: Answer | Failure) -> bytes:
        request = self._owed[answer.id]
        dialect, wire_id = self._forms.get(answer.id, (self.dialect, answer.id))
        if self._is_decided:
            dialect = self.dialect
        frame = Response(response=codec.answer_to(answer, wire_id))
        data = self._encode(frame, dialect, request)
        del self._owed[answer.id]
        self._forms.pop(answer.id, None)
        if self.role is Role.CLI:
            self._strike(dropped_prompts(request, answer))
        return data

    def _encode(self, message: Message, dialect: Dialect, request: Request | None = None) -> bytes:
        context = WriteContext(self.role, not self._prompted, request, self._session_id)
        return codec.encode(message, dialect, context)

    # --- records ---------------------------------------------------------------------------------

    def _move(self, sender: Role, kind: Kind) -> bool:
        """Change both states. Return False, and change nothing, if `kind` is illegal now."""
        after = TRANSITIONS[sender][self._state[sender]].get(kind)
        if after is None:
            return False
        self._state[sender] = after
        if effects := EFFECTS.get((sender, kind)):
            receiver = self._peer if sender is self.role else self.role
            self._state[receiver] = effects.get(self._state[receiver], self._state[receiver])
        return True

    def _note(self, kind: Kind, message: Message) -> None:
        """Keep count of the prompts that still want a result."""
        if kind is Kind.PROMPT and isinstance(message, UserMessage):
            self._prompts.append(message.uuid)
            self._prompted = True
        elif isinstance(message, ResultMessage):
            self._created = True
            self._answer_prompts(message)
        elif isinstance(message, SessionCreatedMessage):
            self._created = True
        elif isinstance(message, CommandLifecycleMessage) and message.is_dropped:
            self._strike({message.command_uuid})
        elif kind is Kind.RESULT and not isinstance(message, SessionStateChangedMessage):
            del self._prompts[:1]  # answered without a result, by an error for example
            if isinstance(message, ErrorMessage) and not self._created:
                self._prompted = False  # the next prompt creates the conversation

    def _answer_prompts(self, result: ResultMessage) -> None:
        """Strike out the prompts that a result answers: the CLI may merge several."""
        named = set(result.user_message_uuids or ()) | {result.user_message_uuid} - {None}
        if named:
            self._strike(named)
        elif result.origin is None or isinstance(result.origin, HumanOrigin):
            del self._prompts[:1]

    def _strike(self, uuids: Set[str | None]) -> None:
        if uuids:
            self._prompts[:] = [uuid for uuid in self._prompts if uuid is None or uuid not in uuids]

    def _new_id(self) -> str:
        while True:
            self._ids += 1
            id = f"{self.role.value}-{self._ids}"
            if not self._is_open(id):
                return id

    def _is_open(self, id: str) -> bool:
        return id in self._asked or id in self._owed


def dropped_prompts(request: Request, answer: Answer | Failure) -> frozenset[str]:
    """Return the prompts that an answer takes out of the queue: no result will come for them."""
    asked, given = request.body, getattr(answer, "body", None)
    if isinstance(asked, CancelAsyncMessage) and isinstance(given, CancelAsyncMessageResult):
        return frozenset({asked.message_uuid} if given.cancelled else ())
    if isinstance(given, InterruptResult):
        return frozenset(given.cancelled or ())
    return frozenset()


def _same_line(event: _E, source: Event) -> _E:
    """Copy line and problems from `source`."""
    set_line(event, source.line)
    if source.problems:
        set_problems(event, source.problems + event.problems)
    return event


def _unexpected(event: Event, reason: str) -> UnexpectedMessage:
    return _same_line(UnexpectedMessage(event, reason), event)


def _kind_of_cancel(request: Request) -> Kind:
    return Kind.ABANDONED if isinstance(request.body, Initialize) else Kind.CANCEL


def _kind_of_answer(request: Request, answer: Answer | Failure) -> Kind:
    if not isinstance(request.body, Initialize):
        return Kind.ANSWER
    return Kind.OPENED if isinstance(answer, Answer) else Kind.REFUSED
