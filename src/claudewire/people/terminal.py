"""Asks a person at a terminal, one request after the other.

What a model writes can contain anything, also sequences that make a terminal hide or forge text.
So everything that is not plainly visible is shown as an escape, and every line has a mark:

    *   what the CLI says about the request, after a label of ours
    -   a field of the input, an option of a question
    |   more of it, or text without a label
    :   the rest of a line that is too long for the terminal

So a text of several lines cannot pass for another field, nor a field for what the CLI says.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TextIO

import anyio
import anyio.to_thread

from ..concurrency import Mailbox
from ..errors import visible
from ..wire import Question
from .elicitation import DialogRequest, ElicitationRequest, Field
from .pending import AnswerError, Pending
from .permissions import PermissionRequest
from .plans import PlanRequest
from .questions import QuestionAnswer, QuestionRequest

__all__ = ["Terminal"]

_FACT, _FIELD, _BAR, _GOES_ON = "  * ", "  - ", "  | ", "  : "
_LEAST_COLUMNS = 20
_IN_DIFF = frozenset({"content", "edits", "new_source", "new_string", "old_string"})
"""Fields of an input that its diff shows better."""

ENDED = "The input of the terminal has ended, so the answer is no."


def _fold(line: str, width: int) -> list[str]:
    """Cut a line into parts that a terminal shows in one line each; 0 not to cut it."""
    if not width:
        return [line]
    parts, used = [""], 0
    for character in line.expandtabs(4):
        cells = _cells(character)
        if used + cells > width:
            parts.append("")
            used = 0
        parts[-1] += character
        used += cells
    return parts


def _cells(character: str) -> int:
    """How much room a character takes on a terminal."""
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class LineReader:
    """Reads a stream line by line, on demand, without blocking the event loop.

    Only one task may wait for a line at a time.

    A read cannot be cancelled. So a line that comes when no task waits for it, because the request
    was withdrawn, is dropped: it must not become the answer to another request.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._reading = False
        self._wanted: Mailbox[str] = Mailbox()
        """Where the next line goes; no one may wait there any more."""

    async def next(self) -> str:
        """Wait for the next line, and return it without its newline.

        Raises:
            EOFError: the stream has ended.
        """
        mailbox: Mailbox[str] = Mailbox()
        with self._lock:
            self._wanted = mailbox
            if not self._reading:
                self._reading = True
                # A daemon: nothing can wake a thread that reads from a terminal.
                threading.Thread(target=self._read, name="claudewire terminal", daemon=True).start()
        line = await mailbox.get()
        if not line:
            raise EOFError(ENDED)
        return line.rstrip("\r\n")

    def forget(self) -> None:
        """Drop what was typed at a terminal before the request was shown."""
        with suppress(ImportError, OSError, ValueError):
            if self._stream.isatty():
                import termios

                termios.tcflush(self._stream.fileno(), termios.TCIFLUSH)

    def _read(self) -> None:
        try:
            line = self._stream.readline()
        except BaseException:  # it was closed; a stream of the application may raise anything
            line = ""
        with self._lock:
            self._reading = False
            self._wanted.put(line)


class Terminal:
    """Asks a person at a terminal. It can be any session's `person`, or any of its handlers.

    Args:
        input: where the person types; standard input by default.
        output: where requests are shown; standard output by default.
        diffs: whether files may be read to show what would change in them.
        width: how many characters fit into a line; by default the width of the terminal.
    """

    def __init__(
        self,
        input: TextIO | None = None,
        output: TextIO | None = None,
        *,
        diffs: bool = True,
        width: int | None = None,
    ) -> None:
        self._lines = LineReader(input if input is not None else sys.stdin)
        self._output = output if output is not None else sys.stdout
        self._diffs = diffs
        self._width = width
        self._sessions: set[str] = set()
        self._busy = anyio.Lock()

    async def __call__(self, request: Pending[Any]) -> Any:
        """Ask, and return the answer. At the end of the input the answer is no."""
        async with self._busy:
            try:
                self._lines.forget()
                return await self._ask(request)
            except EOFError:
                return request._denial(ENDED)
            finally:
                if not request.is_waiting:
                    self._show(f"[{request.ending}]")

    async def _ask(self, request: Pending[Any]) -> Any:
        self._head(request)
        if isinstance(request, PermissionRequest):
            return await self._permission(request)
        if isinstance(request, QuestionRequest):
            return await self._question(request)
        if isinstance(request, PlanRequest):
            return await self._plan(request)
        if isinstance(request, ElicitationRequest):
            return await self._elicitation(request)
        if isinstance(request, DialogRequest):
            return await self._dialog(request)
        return request._denial("the terminal cannot show requests of this kind")

    def _head(self, request: Pending[Any]) -> None:
        """Show what is asked, in one line, and by which session or agent if there are several."""
        self._sessions.add(request.session)
        who = [request.session] if len(self._sessions) > 1 else []
        who += [f"agent {request.agent_id}"] if request.agent_id else []
        asker = f" ({', '.join(who)})" if who else ""
        # Their text follows as a whole.
        follows = isinstance(request, QuestionRequest | PlanRequest | ElicitationRequest)
        title = "" if follows else f": {' '.join(request.title.split())}"
        line, *more = _fold(visible(f"== {request.kind}{asker}{title}"), self._columns())
        self._show(f"\n{line[:-1]}…" if more else f"\n{line}")

    def _columns(self) -> int:
        """How many characters fit into a line; 0 if there is no limit."""
        if self._width is not None:
            return self._width
        with suppress(OSError, ValueError, AttributeError):
            return max(os.get_terminal_size(self._output.fileno()).columns, _LEAST_COLUMNS)
        return 0

    def _show(self, text: str) -> None:
        self._output.write(visible(text) + "\n")
        self._output.flush()

    def _quote(self, text: str, label: str = "", mark: str = _BAR) -> None:
        """Show text from elsewhere, so that it cannot pass for our own.

        Args:
            text: the text.
            label: what it is, in the same line.
            mark: what stands before the first line.
        """
        columns = self._columns()
        room = max(columns - len(_BAR), 1) if columns else 0
        space = "" if text.startswith("\n") else " "
        before = f"{visible(label, keep='')}:{space}" if label else ""
        for line in (before + visible(text)).split("\n"):
            first, *more = _fold(line, room)
            self._show("\n".join([mark + first, *(_GOES_ON + part for part in more)]))
            mark = _BAR

    async def _type(self, prompt: str) -> str:
        self._output.write(prompt)
        self._output.flush()
        return (await self._lines.next()).strip()

    async def _choose(self, prompt: str, decide: Callable[[str, str], Any]) -> Any:
        """Ask until what is typed is understood: a word, and perhaps more after it."""
        while True:
            word, _, rest = (await self._type(prompt)).partition(" ")
            try:
                answer = decide(word.lower(), rest.strip())
            except AnswerError as error:
                self._show(f"  {error}")
                continue
            if answer is not None:
                return answer
            if word:
                self._show("  That is not one of the answers.")

    # --- permissions -----------------------------------------------------------------------------

    async def _permission(self, request: PermissionRequest) -> Any:
        await self._show_use(request)
        useful = [it for it in request.suggestions if it.changes_something]
        for number, suggestion in enumerate(useful, 1):
            self._show(f"  a{number if len(useful) > 1 else ''} = yes, and from now on:")
            self._quote(suggestion.describe())

        def decide(word: str, rest: str) -> Any:
            if word in ("y", "yes"):
                return request.allow()
            if word in ("n", "no"):
                return request.deny(rest) if rest else request.deny()
            if word in ("x", "stop"):
                return request.deny(rest, stop=True) if rest else request.deny(stop=True)
            number = word[1:] or "1"
            if word[:1] == "a" and number.isdecimal() and 1 <= int(number) <= len(useful):
                if len(useful) > 1 and word == "a":
                    raise AnswerError(f"Which of them: a1 to a{len(useful)}?")
                return request.allow(remember=useful[int(number) - 1])
            return None

        always = "a = yes and remember, " if useful else ""
        prompt = f"y = yes, {always}n [reason] = no, x [reason] = no and stop: "
        return await self._choose(prompt, decide)

    async def _show_use(self, request: PermissionRequest) -> None:
        diff = await anyio.to_thread.run_sync(request.diff) if self._diffs else None
        self._quote(request.tool_name, "tool", _FACT)
        for key, value in request.input.items():
            if not (diff and key in _IN_DIFF):
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                self._quote(text, key, _FIELD)
        for name, why in (("because", request.reason), ("path", request.blocked_path)):
            if why:
                self._quote(why, name, _FACT)
        if diff:
            self._quote(f"\n{diff}", "changes", _FACT)

    # --- questions and plans ---------------------------------------------------------------------

    async def _question(self, request: QuestionRequest) -> Any:
        replies = [await self._one(question) for question in request.questions]
        if not any(replies):
            return request.skip()
        return request.answer(dict(enumerate(replies)))

    async def _one(self, question: Question) -> QuestionAnswer | None:
        self._quote(question.question)
        for number, option in enumerate(question.options, 1):
            more = f" ({option.description})" if option.description else ""
            self._quote(f"{option.label}{more}", str(number), _FIELD)
            if option.preview:
                self._quote("\n".join(f"   {line}" for line in option.preview.split("\n")))

        def decide(word: str, rest: str) -> QuestionAnswer | str | None:
            if word in ("s", "skip"):
                return "skip"
            if word in ("o", "other") and rest:
                return QuestionAnswer(other=rest)
            numbers = f"{word} {rest}".replace(",", " ").split()
            if not numbers or not all(it.isdecimal() for it in numbers):
                return None
            if len(numbers) > 1 and not question.multi_select:
                raise AnswerError("Only one can be chosen")
            chosen = tuple(int(it) - 1 for it in numbers)
            if not all(0 <= it < len(question.options) for it in chosen):
                raise AnswerError(f"There are {len(question.options)} options")
            return QuestionAnswer(chosen)

        several = "numbers" if question.multi_select else "number"
        answer = await self._choose(f"  {several}, o [words] = something else, s = skip: ", decide)
        return answer if isinstance(answer, QuestionAnswer) else None

    async def _plan(self, request: PlanRequest) -> Any:
        self._quote(request.plan or "(the plan is not known here)")

        def decide(word: str, rest: str) -> Any:
            if word in ("y", "yes"):
                return request.approve()
            if word in ("a", "always"):
                return request.approve(mode="acceptEdits")
            if word in ("n", "no"):
                return request.revise(rest)
            if word in ("x", "stop"):
                return request.reject()
            return None

        prompt = "y = yes, a = yes and accept edits, n [what to change] = revise, x = reject: "
        return await self._choose(prompt, decide)

    # --- forms and dialogs -----------------------------------------------------------------------

    async def _elicitation(self, request: ElicitationRequest) -> Any:
        self._quote(request.message, f"{request.server} asks", _FACT)
        if request.url is not None:
            self._quote(request.url, "visit", _FACT)
        words = {"y": "yes", "yes": "yes", "n": "no", "no": "no"}
        if await self._choose("y = answer, n = decline: ", lambda it, _: words.get(it)) == "no":
            return request.decline()
        filled = {field.name: await self._fill_in(field) for field in request.form.fields}
        return request.accept(filled)

    async def _fill_in(self, field: Field) -> Any:
        about = f": {field.description}" if field.description else ""
        self._quote(f"{field.title}{about}")
        for number, choice in enumerate(field.choices, 1):
            self._quote(choice.title, str(number), _FIELD)
        prompt = f"  {_HOW[field.type]}{_if_left_out(field)}: "
        while True:
            typed = await self._type(prompt)
            value = field.parse(typed) if typed else field.default
            if value is None and not field.required:
                return None
            problem = "it is required" if value is None else field.problem(value)
            if problem is None:
                return value
            self._show(f"  {problem}")

    async def _dialog(self, request: DialogRequest) -> Any:
        self._quote(json.dumps(request.payload, indent=2, ensure_ascii=False))
        while True:
            typed = await self._type("the result in JSON, or nothing to dismiss the dialog: ")
            if not typed:
                return request.dismiss()
            try:
                return request.complete(json.loads(typed))
            except ValueError as error:
                self._show(f"  {error}")


_HOW = {
    "string": "text",
    "number": "number",
    "integer": "whole number",
    "boolean": "y or n",
    "choice": "number",
    "choices": "numbers",
    "other": "JSON",
}


def _if_left_out(field: Field) -> str:
    """Say what an empty line means."""
    if field.default is not None:
        return f" (nothing for {visible(json.dumps(field.default))})"
    return "" if field.required else " (nothing to leave it out)"
