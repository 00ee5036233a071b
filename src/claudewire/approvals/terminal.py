"""Ask a person at a terminal, one request after the other.

Text from a model may contain sequences that make a terminal hide or forge text. So invisible
characters are shown as escapes, and every line of foreign text has a mark:

    *   a fact from the CLI, after a label of ours
    -   a field of the input, an option of a question
    |   more of it, or text without a label
    :   the rest of a line that is too long for the terminal

So a text of several lines cannot pass for another field, nor a field for a fact.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import textwrap
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from functools import partial
from typing import Any, TextIO

import anyio
import anyio.to_thread

from ..concurrency import Mailbox
from ..errors import visible
from ..wire import Question
from .elicitation import ElicitationRequest, Field
from .permissions import DENIED, PermissionRequest, PlanRequest
from .questions import QuestionAnswer, QuestionRequest
from .request import AnswerError, ApprovalRequest, word
from .suggestions import SCOPES, Suggestion

_FACT, _FIELD, _BAR, _REST = "  * ", "  - ", "  | ", "  : "
_LEAST_COLUMNS = 20
_IN_DIFF = frozenset({"content", "edits", "new_source", "new_string", "old_string"})
"""Fields of an input that its diff shows better."""
_DIFF_STYLES = {"+": "added", "-": "removed", "@": "hunk"}

_WORDS = {"yes": "y", "no": "n", "always": "a", "edit": "e", "stop": "x"}

ENDED = "No answer from the terminal: denied."


class TerminalIO:
    """Shows lines and reads answers for `Terminal`. Subclass it to change how.

    Args:
        input: where the person types; standard input by default.
        output: where requests are shown; standard output by default.

    Attributes:
        can_edit: whether `read` lets the person change a text.
    """

    can_edit: bool = False

    def __init__(self, input: TextIO | None = None, output: TextIO | None = None) -> None:
        self._input = input if input is not None else sys.stdin
        self._output = output if output is not None else sys.stdout
        self._lock = threading.Lock()
        self._is_reading = False
        self._line: Mailbox[str] = Mailbox()
        """Takes the next line."""

    @property
    def columns(self) -> int:
        """The number of columns; 0 if lines have no limit."""
        with suppress(OSError, ValueError, AttributeError):
            return max(os.get_terminal_size(self._output.fileno()).columns, _LEAST_COLUMNS)
        return 0

    def asking(self) -> AbstractAsyncContextManager[None]:
        """Hold the terminal for one request, and drop earlier typing."""
        with suppress(ImportError, OSError, ValueError):
            if self._input.isatty():
                import termios

                termios.tcflush(self._input.fileno(), termios.TCIFLUSH)
        return nullcontext()

    def show(self, line: str, style: str = "") -> None:
        """Show a line, which has no control characters.

        Args:
            line: the line.
            style: ask, keys, dim, strong, added, removed or hunk; empty for plain text.
        """
        self._output.write(f"{line}\n")
        self._output.flush()

    def markdown(self, text: str, width: int) -> Sequence[str]:
        """Return foreign Markdown as lines that are safe to show and fit into a width."""
        return [part for line in visible(text).split("\n") for part in _fold(line, width)]

    async def read(self, *, text: str = "", multiline: bool = False) -> str:
        """Read a line, without blocking the event loop.

        Reading cannot be cancelled. So a line that arrives after its request has ended is dropped:
        it must not become the answer to another request.

        Args:
            text: the text to change, if `can_edit`.
            multiline: whether the answer may have several lines, if `can_edit`.

        Raises:
            EOFError: the person has left.
        """
        self._output.write("> ")
        self._output.flush()
        with self._lock:
            mailbox = self._line = Mailbox()
            if not self._is_reading:
                self._is_reading = True
                # A daemon: a worker of anyio would keep the process alive while it reads.
                threading.Thread(target=self._read, name="claudewire terminal", daemon=True).start()
        line = await mailbox.get()
        if not line:
            raise EOFError(ENDED)
        return line.rstrip("\r\n")

    def _read(self) -> None:
        try:
            line = self._input.readline()
        except BaseException:  # a closed stream; a stream of the application may raise anything
            line = ""
        with self._lock:
            self._is_reading = False
            self._line.put(line)


class Terminal:
    """Asks a person at a terminal. Use it as the `approver` of a session, or as any handler.

    Args:
        input: where the person types; standard input by default.
        output: where requests are shown; standard output by default.
        io: shows and reads, instead of these streams.
    """

    def __init__(
        self,
        input: TextIO | None = None,
        output: TextIO | None = None,
        *,
        io: TerminalIO | None = None,
    ) -> None:
        self._io = TerminalIO(input, output) if io is None else io
        self._sessions: set[str] = set()
        self._busy = anyio.Lock()

    async def __call__(self, request: ApprovalRequest[Any]) -> Any:
        """Ask, and return the answer. At the end of the input the answer is no."""
        async with self._busy, self._io.asking():
            try:
                return await self._ask(request)
            except EOFError:
                self._say("No answer: denied.")
                return request.refusal(ENDED)
            finally:
                if not request.is_waiting:
                    self._say(f"Request over: {request.ending}.")

    async def _ask(self, request: ApprovalRequest[Any]) -> Any:
        match request:
            case PermissionRequest():
                return await self._permission(request)
            case QuestionRequest():
                return await self._question(request)
            case PlanRequest():
                return await self._plan(request)
            case ElicitationRequest():
                return await self._elicitation(request)
        self._head(request, "A dialog")
        self._quote(request.title)
        self._say("This cannot be shown at a terminal: dismissed.")
        return request.refusal("the terminal cannot show requests of this kind")

    # --- showing and reading ---------------------------------------------------------------------

    def _say(self, text: str) -> None:
        mark = "  "
        for part in _fold(visible(text, keep=""), self._room):
            self._io.show(mark + part, "dim")
            mark = _REST

    def _head(self, request: ApprovalRequest[Any], words: str) -> None:
        """Show one line about the request, with its session or agent if there are several."""
        self._sessions.add(request.session)
        who = [request.session] if len(self._sessions) > 1 else []
        who += [f"agent {word(request.agent_id, '?')}"] if request.agent_id else []
        asker = f" ({', '.join(who)})" if who else ""
        line, *more = _fold(visible(f"{words}{asker}", keep=""), self._io.columns)
        self._io.show("")
        self._io.show(f"{line[:-1]}…" if more else line, "ask")

    @property
    def _room(self) -> int:
        """The number of columns behind a mark; 0 if there is no limit."""
        columns = self._io.columns
        return max(columns - len(_BAR), 1) if columns else 0

    def _quote(self, text: str, label: str = "", mark: str = _BAR, style: str = "") -> None:
        """Show foreign text, so that it cannot pass for our own."""
        before = f"{visible(label, keep='')}: " if label else ""
        for line in (before + visible(text)).split("\n"):
            for part in _fold(line, self._room):
                self._io.show(mark + part, style)
                mark = _REST
            mark = _BAR

    def _keys(self, *keys: str) -> None:
        for line in textwrap.wrap(", ".join(keys), self._io.columns or 1000):
            self._io.show(line, "keys")

    async def _until(self, read: Callable[[str], Any]) -> Any:
        """Return what `read` makes of the first line that it accepts."""
        while True:
            try:
                return read((await self._io.read()).strip())
            except AnswerError as error:
                self._say(str(error))

    async def _choose(self, answers: Mapping[str, Callable[[str], Any]]) -> Any:
        """Read a key or its word, and let its function make an answer of the rest of the line."""

        def read(typed: str) -> Any:
            word, _, rest = typed.partition(" ")
            answer = answers.get(_WORDS.get(word.lower(), word.lower()))
            if answer is None:
                raise AnswerError("That is not one of the answers.")
            return answer(rest.strip())

        return await self._until(read)

    # --- permissions -----------------------------------------------------------------------------

    async def _permission(self, request: PermissionRequest) -> Any:
        path = request.input.get("file_path") or request.input.get("notebook_path")
        place = word(path, "") if isinstance(path, str) else ""
        name = word(request.tool_name, "this tool")
        self._head(request, f"Allow {name}{f' to {place}' if place else ''}?")
        await self._show_use(request)
        answers: dict[str, Callable[[str], Any]] = {
            "y": lambda _: request.allow(),
            "n": lambda reason: request.deny(reason or DENIED),
            "x": lambda reason: request.deny(reason or DENIED, stop=True),
            **({"e": lambda _: self._edited(request)} if self._io.can_edit else {}),
        }
        offers = [*_offers(request)]
        for number, offer in enumerate(offers, 1):
            key = f"a{number}" if len(offers) > 1 else "a"
            self._say(f"{key} = yes, and from now on:")
            self._quote(offer if isinstance(offer, str) else offer.describe())
            answers[key] = partial(_remember, request, offer)
        always = [f"a [{', '.join(SCOPES)}] = always"] if offers else []
        edit = ["e = edit"] if self._io.can_edit else []
        no = ("n [reason] = no", "x [reason] = no, and stop the turn")
        self._keys("y = yes", *always, *no, *edit)
        answer = await self._choose(answers)
        return await answer if inspect.isawaitable(answer) else answer

    async def _show_use(self, request: PermissionRequest) -> None:
        diff = await anyio.to_thread.run_sync(request.diff)
        self._quote(request.tool_name, "tool", _FACT)
        for label, text in (("name", request.body.display_name), ("title", request.body.title)):
            if text and text != request.tool_name:
                self._quote(text, label, _FACT)
        for key, value in request.input.items():
            if not (diff and key in _IN_DIFF):
                shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                self._quote(shown, key, _FIELD)
        for label, why in (("because", request.reason), ("path", request.blocked_path)):
            if why:
                self._quote(why, label, _FACT)
        if diff:
            self._io.show(f"{_FACT}changes:")
            for number, line in enumerate(diff.rstrip("\n").split("\n")):
                style = _DIFF_STYLES.get(line[:1], "") if number > 1 else "dim"
                self._quote(line, style=style)

    async def _edited(self, request: PermissionRequest) -> Any:
        """Let the person change the input of the tool."""
        command = request.input.get("command")
        is_command = isinstance(command, str) and request.tool_name == "Bash"
        text = str(command) if is_command else json.dumps(request.input, indent=2)
        while True:
            self._say("Change it, then press Esc and Enter. An empty text keeps the input.")
            text = await self._io.read(text=text, multiline=True)
            if not text.strip():
                return request.allow()
            try:
                changed = {**request.input, "command": text} if is_command else json.loads(text)
                return request.allow(input=changed)
            except ValueError as error:  # also an input that does not fit
                self._say(str(error))

    # --- questions and plans ---------------------------------------------------------------------

    async def _question(self, request: QuestionRequest) -> Any:
        replies = []
        for number, question in enumerate(request.questions, 1):
            several = len(request.questions) > 1
            self._head(request, f"Question {number}" if several else "Question")
            replies.append(await self._reply_to(question))
        return request.answer(dict(enumerate(replies))) if any(replies) else request.skip()

    async def _reply_to(self, question: Question) -> QuestionAnswer | None:
        self._quote(question.question, style="strong")
        for number, option in enumerate(question.options, 1):
            more = f" ({option.description})" if option.description else ""
            self._quote(f"{option.label}{more}", str(number), _FIELD)
            if option.preview:
                self._quote("\n".join(f"   {line}" for line in option.preview.split("\n")))

        def read(typed: str) -> QuestionAnswer | None:
            if typed.lower() in ("s", "skip"):
                return None
            numbers = typed.replace(",", " ").split()
            if not all(it.isdecimal() for it in numbers):
                return QuestionAnswer(other=typed)
            if len(numbers) > 1 and not question.multi_select:
                raise AnswerError("Only one option can be chosen.")
            if not numbers or not all(0 < int(it) <= len(question.options) for it in numbers):
                raise AnswerError(f"There are {len(question.options)} options.")
            return QuestionAnswer([int(it) - 1 for it in numbers])

        which = "1 3 = choose several" if question.multi_select else "1 = choose one"
        self._keys(which, "any words = answer in your own words", "s = skip")
        answer: QuestionAnswer | None = await self._until(read)
        return answer

    async def _plan(self, request: PlanRequest) -> Any:
        self._head(request, "Approve this plan?")
        for line in self._io.markdown(request.plan or "(plan not known)", self._room):
            self._io.show(_BAR + line)
        self._keys(
            *("y = yes", "a = yes, and accept edits"), "n [what to change] = revise", "x = reject"
        )

        return await self._choose(
            {
                "y": lambda _: request.approve(),
                "a": lambda _: request.approve(mode="acceptEdits"),
                "n": request.revise,
                "x": lambda _: request.reject(),
            }
        )

    # --- forms -----------------------------------------------------------------------------------

    async def _elicitation(self, request: ElicitationRequest) -> Any:
        self._head(request, f"Answer {word(request.server, 'this server')}?")
        self._quote(request.server, "server", _FACT)
        self._quote(request.message, "message", _FACT)
        if request.url is not None:
            self._quote(request.url, "visit", _FACT)
        self._keys("y = answer", "n = decline")
        if not await self._choose({"y": lambda _: True, "n": lambda _: False}):
            return request.decline()
        return request.accept({it.name: await self._fill_in(it) for it in request.form.fields})

    async def _fill_in(self, field: Field) -> Any:
        about = f": {field.description}" if field.description else ""
        self._quote(f"{field.title}{about}")
        for number, choice in enumerate(field.choices, 1):
            self._quote(choice.title, str(number), _FIELD)
        empty = " (required)" if field.required else "; Enter to leave it out"
        if field.default is not None:
            self._quote(json.dumps(field.default, ensure_ascii=False), "default", _FACT)
            empty = "; Enter for the default"
        self._io.show(f"{_HOW[field.type]}{empty}", "keys")

        def read(typed: str) -> Any:
            value = field.parse(typed) if typed else field.default
            problem = "A value is required." if value is None else field.problem(value)
            if problem is not None and (field.required or value is not None):
                raise AnswerError(problem)
            return value

        return await self._until(read)


_HOW = {
    "string": "Text",
    "number": "A number",
    "integer": "A whole number",
    "boolean": "y or n",
    "choice": "The number of one option",
    "choices": "The numbers of some options",
    "other": "JSON",
}


def _fold(line: str, width: int) -> list[str]:
    """Cut a line into parts that fit into a width; 0 keeps it whole."""
    if not width:
        return [line]
    parts, used = [""], 0
    for character in line.expandtabs(4):
        wide = unicodedata.east_asian_width(character) in "WF"
        cells = 0 if unicodedata.category(character) in ("Mn", "Me") else 1 + wide
        if used + cells > width:
            parts.append("")
            used = 0
        parts[-1] += character
        used += cells
    return parts


def _offers(request: PermissionRequest) -> Iterator[Suggestion | str]:
    """Yield the suggestions of the CLI, or else a rule for exactly this use."""
    useful = [it for it in request.suggestions if it.changes_something]
    if useful:
        yield from useful
        return
    command = request.input.get("command")
    if request.tool_name != "Bash":
        yield request.tool_name
    elif isinstance(command, str) and "\n" not in command:
        yield f"Bash({command})"


def _remember(request: PermissionRequest, offer: Suggestion | str, scope: Any) -> Any:
    return request.allow(remember=offer, scope=scope or None)
