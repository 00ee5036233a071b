"""Explains, line by line, what is wrong, outdated or suspicious in a capture of the wire.

A capture is JSON Lines. Either its lines are the protocol's own, of one direction or of both; or
it is a recording, where each line is an object that has the protocol's line in `line` and its
direction in `dir`: `>` from the host to the CLI, `<` from the CLI to the host, and `!` for what the
CLI wrote to stderr, which is passed over. A recording may begin with a header, and say where a
stream ended (`eof`) and how the CLI did (`exit`).

What needs both directions to be known (an answer that never came, an answer to nothing) is only
looked for where both are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import codec
from ..answers import answer_from
from ..connection import Connection
from ..dialects import Find, Object
from ..kinds import kind_of
from ..states import Kind, Role, State
from ..types.base import Event, Message, load_object
from ..types.cli_requests import CanUseTool, McpMessage, RequestBody
from ..types.control import Answer, Cancel, Request, Response
from ..types.host_requests import Initialize
from ..types.messages import KeepAlive, UserMessage
from .answers import lint_answer
from .findings import FACTS, Finding, Said, Severity, quoted
from .lines import NAME, lint_line, sender_of

__all__ = ["Finding", "Severity", "lint"]

Capture = bytes | str | Iterable[bytes | str]

_SENDERS = {">": Role.CLIENT, "<": Role.CLI}
_STDERR = "!"
_ENDS = ("eof", "exit")
_ANSWERED, _WITHDRAWN = "answered", "withdrawn"


def lint(capture: Capture, *, direction: str | None = None) -> list[Finding]:
    """Look at every line of a capture; give what there is to say, in the order of the lines.

    Args:
        capture: the bytes of a file, or its lines.
        direction: of lines that are not a recording: `>`, `<`, or None to infer it line by line.

    Raises:
        ValueError: there is no such direction.
    """
    if direction is not None and direction not in _SENDERS:
        raise ValueError(f"There is no direction {direction!r}; there are '>' and '<'")
    lines = [(number, line) for number, line in enumerate(_lines(capture), 1) if line.strip()]
    recording, lines = _open(lines)
    linter = _Linter(recording)
    for number, line in lines:
        if recording:
            linter.read_record(number, line)
        else:
            linter.read(number, line, _SENDERS.get(direction or ""))
    return linter.end()


# --- captures ------------------------------------------------------------------------------------


class _Record(NamedTuple):
    """One line of a recording."""

    direction: str
    line: bytes


def _lines(capture: Capture) -> Iterator[bytes]:
    whole = isinstance(capture, bytes | str)
    for line in _bytes(capture).split(b"\n") if whole else capture:
        yield _bytes(line)


def _bytes(text: Any) -> bytes:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return data.removesuffix(b"\n")


def _open(lines: list[tuple[int, bytes]]) -> tuple[bool, list[tuple[int, bytes]]]:
    """Tell whether it is a recording, and leave out the header."""
    heads = [load_object(line) for _, line in lines[:2]]
    if not heads:
        return False, lines
    followed = len(heads) > 1 and _record(heads[1]) is not None
    bare = heads[0].keys().isdisjoint(("dir", "line", "type"))
    if bare and heads[0] and (followed or "claudewire" in heads[0]):
        return True, lines[1:]
    return _record(heads[0]) is not None, lines


def _record(obj: Object) -> _Record | None:
    direction, line = obj.get("dir"), obj.get("line")
    if direction not in (*_SENDERS, _STDERR) or not isinstance(line, str):
        return None
    return _Record(direction, _bytes(line))


# --- books ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Asked:
    """A request, and what became of it."""

    said: Said
    request: Request
    settled: str | None = None


class _Linter:
    """Reads a capture line by line and keeps the books of both sides."""

    def __init__(self, recording: bool) -> None:
        self.recording = recording
        self.findings: list[Finding] = []
        # True only if the other direction has been heard as well.
        self.conditional: list[Finding] = []
        self.heard: set[Role] = set()
        self.asked: dict[Role, dict[str, _Asked]] = {role: {} for role in Role}
        self.answers_of_host: dict[str, Any] = {}
        self.opened = False
        # Counts the prompts and the turns, and nothing else.
        self.turns = Connection(Role.CLIENT)
        self.prompts: list[Said] = []
        self.busy: Said | None = None

    def read_record(self, number: int, line: bytes) -> None:
        obj = load_object(line)
        record = _record(obj)
        if "line" not in obj and not obj.keys().isdisjoint(_ENDS):
            return
        if record is None:
            message = "not a record: a recording has objects with `dir` and `line`"
            advice = "Perhaps the recorder was stopped while it was writing."
            self.findings.append(Finding(number, "error", "not-a-record", message, advice))
        elif record.direction != _STDERR and record.line.strip():
            self.read(number, record.line, _SENDERS[record.direction])

    def read(self, number: int, line: bytes, sender: Role | None) -> None:
        event, dialect = codec.decode(line, self._finder(sender))
        said = Said(number, sender, event, dialect, event.raw)
        if sender is None:
            said = said._replace(sender=self._guess(said))
        if said.sender is None:
            self.findings += lint_line(said)
        elif isinstance(event, Response):
            self._answer(said, event, said.sender)
        else:
            self.findings += lint_line(said)
            self._note(said, event, said.sender)
        if said.sender and not isinstance(event, KeepAlive):
            self.heard.add(said.sender)

    def _finder(self, sender: Role | None) -> Find:
        """Gives the request that an answer of this sender may answer."""
        askers = [sender.other] if sender else [Role.CLI, Role.CLIENT]

        def find(id: str) -> RequestBody[Any] | None:
            found = (self.asked[role].get(id) for role in askers)
            return next((it.request.body for it in found if it), None)

        return find

    def _guess(self, said: Said) -> Role | None:
        event = said.event
        if isinstance(event, Cancel):
            return next((role for role in Role if event.id in self.asked[role]), None)
        if isinstance(event, Response):
            id = event.response.request_id
            settled = {role: asked[id].settled for role, asked in self.asked.items() if id in asked}
            open = [role for role in settled if not settled[role]]
            if settled and len(open) < 2:  # once answered, it may be an echo as well
                return open[0].other if open else None
        return sender_of(said)

    def _note(self, said: Said, event: Event, sender: Role) -> None:
        if isinstance(event, Request):
            self._request(said, event, self.asked[sender])
        elif isinstance(event, Cancel):
            self._cancel(said, event, self.asked[sender])
        elif isinstance(event, Message):
            self._message(said, event)

    def _request(self, said: Said, request: Request, asked: dict[str, _Asked]) -> None:
        if isinstance(request.body, Initialize):
            self._initialize(said)
        if not request.id:
            return
        if request.id in asked:
            message = f"the id {quoted(request.id)} was used before"
            first = f"It was used in line {asked[request.id].said.number}."
            advice = f"{first} Use each id once in a session."
            self.findings.append(said.finding("suspicious", "duplicate-id", message, advice))
        asked[request.id] = _Asked(said, request)

    def _initialize(self, said: Said) -> None:
        if not self.opened and Role.CLIENT in self.heard:
            message = "initialize is not the first thing that the host says"
            advice = "Send it first: it sets up the hooks and tools of what follows."
            self.findings.append(
                said.finding("suspicious", "initialize-not-first", message, advice)
            )
        self.opened = True
        for earlier in self.asked[Role.CLIENT].values():
            if isinstance(earlier.request.body, Initialize) and not earlier.settled:
                message = "a second initialize while the first waits for its answer"
                advice = f"Wait for the answer to line {earlier.said.number}."
                self.conditional.append(
                    said.finding("suspicious", "initialize-pending", message, advice)
                )

    def _answer(self, said: Said, frame: Response, sender: Role) -> None:
        inner, asked = frame.response, self.asked[sender.other]
        id = inner.request_id or self._unnamed(said, sender)
        entry = asked.get(id)
        if sender is Role.CLI and self._is_echo(said, id, entry):
            return
        said = said._replace(request=entry.request if entry else None)
        self.findings += lint_line(said)
        self.findings += lint_answer(said, inner)
        if sender is Role.CLIENT:
            self.answers_of_host[id] = said.raw.get("response")
        else:
            self._note_pending(said, frame)
        if id:
            self._settle(said, id, entry)

    def _unnamed(self, said: Said, sender: Role) -> str:
        """The one request that an answer without an id can be for, if there is just one."""
        open = [id for id, it in self.asked[sender.other].items() if not it.settled]
        message = "an answer without a request_id: it cannot be matched to a request"
        advice = "A CLI does that if the request had its id in the wrong place, or none."
        if sender is Role.CLIENT:
            advice = "Copy the `request_id` of the request into `response`."
        self.findings.append(said.finding("suspicious", "answer-without-id", message, advice))
        return open[0] if len(open) == 1 else ""

    def _is_echo(self, said: Said, id: str, entry: _Asked | None) -> bool:
        """Whether the CLI repeats an answer of the host, as --replay-user-messages makes it do."""
        if not id or id not in self.answers_of_host:
            return False
        waiting = entry is not None and not entry.settled
        return not waiting or said.raw.get("response") == self.answers_of_host[id]

    def _settle(self, said: Said, id: str, entry: _Asked | None) -> None:
        if entry is None:
            message = f"an answer to {quoted(id)}, but no request has that id"
            advice = "It is ignored. Answer with the `request_id` of the request."
            self.conditional.append(said.finding("suspicious", "unknown-answer", message, advice))
        elif entry.settled:
            when = f"the request in line {entry.said.number} was {entry.settled} before"
            code = "late-answer" if entry.settled == _WITHDRAWN else "duplicate-answer"
            advice = "It is ignored. Answer each request once, and not after it was withdrawn."
            self.findings.append(said.finding("suspicious", code, when, advice))
        else:
            entry.settled = _ANSWERED

    def _note_pending(self, said: Said, frame: Response) -> None:
        """Requests that a CLI had put before the capture began come with its first answer."""
        answer = answer_from(frame.response, "", None)
        for request in (answer.pending or ()) if isinstance(answer, Answer) else ():
            self.asked[Role.CLI].setdefault(request.id, _Asked(said, request))

    def _cancel(self, said: Said, cancel: Cancel, asked: dict[str, _Asked]) -> None:
        entry = asked.get(cancel.id)
        if entry is None:
            message = f"withdraws {quoted(cancel.id)}, which was never asked"
            advice = "Withdraw a request of one's own, by its `request_id`."
            self.findings.append(said.finding("suspicious", "unknown-cancel", message, advice))
        elif not entry.settled:
            entry.settled = _WITHDRAWN

    def _message(self, said: Said, message: Message) -> None:
        if said.sender is Role.CLI:
            self.turns.receive_data(message.line + b"\n")
        elif isinstance(message, UserMessage) and kind_of(Role.CLIENT, message) is Kind.PROMPT:
            self.turns.send(UserMessage.of("", uuid=message.uuid))
            self.prompts.append(said)
        del self.prompts[: len(self.prompts) - self.turns.unanswered_prompts]
        busy = self.turns.their_state is State.BUSY
        self.busy = (self.busy or said) if busy else None

    # --- the end ---------------------------------------------------------------------------------

    def end(self) -> list[Finding]:
        both = self.recording or len(self.heard) == len(Role)
        if both:
            self.findings += self.conditional
            for role, asked in self.asked.items():
                open = [it for it in asked.values() if not it.settled]
                self.findings += [_unanswered(it, role) for it in open]
        running = next(iter(self.prompts), self.busy)
        if running and (both or Role.CLI in self.heard):
            message = "the capture ends while this turn is running: there is no result"
            advice = "Read stdout to its end; if it has ended, see the exit status and stderr."
            self.findings.append(running.finding("suspicious", "unfinished-turn", message, advice))
        return sorted(self.findings, key=lambda finding: finding.line)


def _unanswered(asked: _Asked, asker: Role) -> Finding:
    said, body = asked.said, asked.request.body
    message = f"{NAME[asker.other]} never answers this request"
    code, advice = "unanswered", "Answer every request, if need be with an error."
    if isinstance(body, McpMessage) and "id" not in body.message:
        code = "unanswered-notification"
        message += f": {FACTS['notification']}"
    elif isinstance(body, CanUseTool):
        advice = "The tool waits for as long as it takes; if stdin is closed instead, it fails."
    elif asker is Role.CLIENT:
        advice = "A CLI refuses what it does not know: did this reach it? See its exit status."
    return said.finding("suspicious", code, message, advice)
