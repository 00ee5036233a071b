"""Asking a person at a terminal: permissions, questions, plans, forms.

What is asked is shown whole, with a bar before every line of it, so that no text can pass for a
question of this command. An answer is a line: a letter, and perhaps more words after it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import anyio.to_thread

from .markdown import render_markdown
from .styles import Paint
from .text import fold, safe

if TYPE_CHECKING:
    from ..people import (
        DialogRequest,
        ElicitationRequest,
        Field,
        Pending,
        PermissionRequest,
        PlanRequest,
        QuestionAnswer,
        QuestionRequest,
        Suggestion,
    )
    from ..wire import Question

__all__ = ["AskPerson", "Dialog"]

_IN_DIFF = frozenset({"content", "edits", "new_source", "new_string", "old_string"})
"""Fields of an input that its diff shows better."""

ENDED = "The person has left the terminal, so the answer is no."
SCOPES = ("session", "project", "local", "user")


class Dialog(Protocol):
    """Where a person is asked: shows lines, and reads what is typed."""

    paint: Paint

    @property
    def width(self) -> int:
        """How many columns there are."""
        ...

    def asking(self) -> AbstractAsyncContextManager[None]:
        """Keep everything else off the screen while this lasts."""
        ...

    def show(self, lines: Sequence[str]) -> None:
        """Show lines."""
        ...

    async def type(self, prompt: str, *, text: str = "", several: bool = False) -> str:
        """Read what a person types.

        Args:
            prompt: what stands before it; never text from elsewhere.
            text: what is there to be changed.
            several: whether it may have several lines.

        Raises:
            EOFError: the person has left.
        """
        ...


class AskPerson:
    """Asks about one request after the other: a session's `person`.

    Args:
        dialog: where to ask.
    """

    def __init__(self, dialog: Dialog) -> None:
        self._dialog = dialog
        self._busy = anyio.Lock()
        self._kinds: dict[str, Callable[[Any], Any]] = {
            "permission": self._permission,
            "question": self._question,
            "plan": self._plan,
            "elicitation": self._elicitation,
            "dialog": self._dialog_request,
        }

    async def __call__(self, request: Pending[Any]) -> Any:
        """Ask, and return the answer. If the person leaves, the answer is no."""
        from ..people import deny_everything

        async with self._busy, self._dialog.asking():
            try:
                return await self._kinds[request.kind](request)
            except EOFError:
                self._say("No answer, so the answer is no.")
                return await deny_everything(ENDED)(request)
            finally:
                if not request.is_waiting:
                    self._say(f"This is no longer asked: {request.ending}.")

    # --- showing ---------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        self._dialog.show([self._paint("dim", f"  {safe(text)}")])

    @property
    def _paint(self) -> Paint:
        return self._dialog.paint

    def _head(self, request: Pending[Any], words: str) -> None:
        agent = f" (subagent {safe(request.agent_id)})" if request.agent_id else ""
        self._dialog.show(["", self._paint("ask", f"{words}{agent}")])

    def _quote(self, text: str, style: Callable[[str], str] | None = None) -> None:
        """Show text from elsewhere, each line behind a bar."""
        bar = self._paint("bar", self._paint.mark("bar"))
        lines: list[str] = []
        for line in safe(text).split("\n"):
            how = "" if style is None else style(line)
            parts = fold(line, max(self._dialog.width - 3, 8))
            lines += [f"{bar} {self._paint(how, part)}" for part in parts]
        self._dialog.show(lines)

    def _keys(self, *keys: tuple[str, str]) -> None:
        """Say which answers there are."""
        paint, width = self._paint, self._dialog.width
        line, used, lines = "", 0, []
        for key, meaning in keys:
            size = len(key) + len(meaning) + 3
            if line and used + size > width - 1:
                lines.append(line)
                line, used = "", 0
            line += f"{'  ' if line else ''}{paint('strong', key)} {paint('dim', meaning)}"
            used += size
        self._dialog.show([*lines, line])

    async def _choose(self, decide: Callable[[str, str], Any]) -> Any:
        """Read lines until one is understood: a word, and perhaps more after it."""
        from ..people import AnswerError

        prompt = f"{self._paint.mark('you')} "
        while True:
            word, _, rest = (await self._dialog.type(prompt)).strip().partition(" ")
            try:
                answer = decide(word.lower(), rest.strip())
            except AnswerError as error:
                self._say(str(error))
                continue
            if answer is not None:
                return await answer if hasattr(answer, "__await__") else answer
            if word:
                self._say("That is not one of the answers.")

    # --- permissions -----------------------------------------------------------------------------

    async def _permission(self, request: PermissionRequest) -> Any:
        self._head(request, f"May it use {safe(request.body.display_name or request.tool_name)}?")
        await self._show_use(request)
        always = [*_remembered(request)]
        for number, suggestion in enumerate(always, 1):
            key = "a" if len(always) == 1 else f"a{number}"
            self._quote(f"{key}: {_describe(suggestion)}")
        self._keys(
            ("y", "yes"),
            ("a", f"always ({', '.join(SCOPES)})"),
            ("n", "no, because …"),
            ("e", "edit"),
            ("x", "no, and stop"),
        )

        def decide(word: str, rest: str) -> Any:
            if word in ("y", "yes"):
                return request.allow()
            if word in ("n", "no"):
                return request.deny(rest) if rest else request.deny()
            if word in ("x", "stop"):
                return request.deny(rest, stop=True) if rest else request.deny(stop=True)
            if word in ("e", "edit"):
                return self._edited(request)
            return _always(request, always, word, rest) if word[:1] == "a" else None

        return await self._choose(decide)

    async def _show_use(self, request: PermissionRequest) -> None:
        diff = await anyio.to_thread.run_sync(request.diff)
        shown = {key: it for key, it in request.input.items() if not (diff and key in _IN_DIFF)}
        if request.tool_name == "Bash" and "command" in shown:
            self._quote(str(shown.pop("command")))
        for key, value in shown.items():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            self._quote(f"{key}: {text}")
        if request.reason:
            self._quote(f"because: {request.reason}")
        if diff:
            self._quote(diff.rstrip("\n"), _diff_style)

    async def _edited(self, request: PermissionRequest) -> Any:
        """Let the person change what the tool is called with."""
        command = request.input.get("command")
        is_command = isinstance(command, str) and request.tool_name == "Bash"
        text = str(command) if is_command else json.dumps(request.input, indent=2)
        while True:
            self._say("Change it, then press Esc and Enter; nothing leaves it as it is.")
            text = await self._dialog.type("", text=text, several=True)
            if not text.strip():
                return request.allow()
            try:
                changed = {**request.input, "command": text} if is_command else json.loads(text)
                return request.allow(input=changed)
            except ValueError as error:  # also if the input does not fit
                self._say(str(error))

    # --- questions -------------------------------------------------------------------------------

    async def _question(self, request: QuestionRequest) -> Any:
        answers: dict[int, Any] = {}
        for number, question in enumerate(request.questions):
            head = "A question" if len(request.questions) == 1 else f"Question {number + 1}"
            self._head(request, head)
            answers[number] = await self._one(question)
        return request.answer(answers)

    async def _one(self, question: Question) -> QuestionAnswer | None:
        from ..people import AnswerError, QuestionAnswer

        self._quote(question.question, lambda _: "strong")
        for number, option in enumerate(question.options, 1):
            more = f": {option.description}" if option.description else ""
            self._quote(f"{number}  {option.label}{more}")
            if option.preview:
                self._quote("\n".join(f"     {line}" for line in option.preview.split("\n")))
        several = question.multi_select
        self._keys(
            ("1 3", "choose several") if several else ("1", "choose one"),
            ("words", "say something else"),
            ("s", "skip"),
        )

        def decide(word: str, rest: str) -> QuestionAnswer | str | None:
            if word in ("s", "skip") and not rest:
                return "skip"
            numbers = f"{word} {rest}".replace(",", " ").split()
            if not numbers:
                return None
            if not all(it.isdecimal() for it in numbers):
                return QuestionAnswer(other=f"{word} {rest}".strip())
            chosen = tuple(int(it) - 1 for it in numbers)
            if len(chosen) > 1 and not several:
                raise AnswerError("Only one can be chosen.")
            if not all(0 <= it < len(question.options) for it in chosen):
                raise AnswerError(f"There are {len(question.options)} to choose from.")
            return QuestionAnswer(chosen)

        answer = await self._choose(decide)
        return None if answer == "skip" else answer

    async def _plan(self, request: PlanRequest) -> Any:
        self._head(request, "Is this plan good?")
        bar = self._paint("bar", self._paint.mark("bar"))
        plan = request.plan or "(the plan is not known here)"
        lines = render_markdown(plan, max(self._dialog.width - 3, 10), self._paint)
        self._dialog.show([f"{bar} {line}" for line in lines])
        self._keys(("y", "yes"), ("a", "yes, and accept edits"), ("n", "change …"), ("x", "reject"))

        def decide(word: str, rest: str) -> Any:
            if word in ("y", "yes"):
                return request.approve()
            if word in ("a", "always"):
                return request.approve(mode="acceptEdits")
            if word in ("n", "no"):
                return request.revise(rest) if rest else self._say("Say what to change: n …")
            if word in ("x", "reject"):
                return request.reject()
            return None

        return await self._choose(decide)

    # --- forms -----------------------------------------------------------------------------------

    async def _elicitation(self, request: ElicitationRequest) -> Any:
        self._head(request, f"The server {safe(request.server)} asks")
        self._quote(request.message)
        if request.url is not None:
            self._quote(f"It wants you to visit: {request.url}")
        self._keys(("y", "answer"), ("n", "decline"))
        words = {"y": True, "yes": True, "n": False, "no": False}
        if not await self._choose(lambda word, _: words.get(word)):
            return request.decline()
        return request.accept({it.name: await self._fill_in(it) for it in request.form.fields})

    async def _fill_in(self, field: Field) -> Any:
        about = f": {field.description}" if field.description else ""
        self._quote(f"{field.title}{about}")
        for number, choice in enumerate(field.choices, 1):
            self._quote(f"{number}  {choice.title}")
        self._keys((_HOW[field.type], _if_left_out(field)))
        while True:
            typed = (await self._dialog.type(f"{self._paint.mark('you')} ")).strip()
            value = field.parse(typed) if typed else field.default
            if value is None and not field.required:
                return None
            problem = "It is required." if value is None else field.problem(value)
            if problem is None:
                return value
            self._say(problem)

    async def _dialog_request(self, request: DialogRequest) -> Any:
        self._head(request, f"A dialog: {safe(request.dialog_kind)}")
        self._quote(json.dumps(request.payload, indent=2, ensure_ascii=False))
        self._keys(("JSON", "the result"), ("Enter", "dismiss it"))
        while True:
            typed = (await self._dialog.type(f"{self._paint.mark('you')} ")).strip()
            if not typed:
                return request.dismiss()
            try:
                return request.complete(json.loads(typed))
            except ValueError as error:
                self._say(str(error))


def _diff_style(line: str) -> str:
    styles = {"+": "added", "-": "removed", "@": "hunk"}
    return styles.get(line[:1], "")


# --- what can be remembered ----------------------------------------------------------------------


def _remembered(request: PermissionRequest) -> Iterator[Suggestion | str]:
    """Yield what can be remembered: what the CLI suggests, otherwise a rule for exactly this."""
    useful = [it for it in request.suggestions if it.changes_something]
    if useful:
        yield from useful
        return
    command = request.input.get("command")
    if request.tool_name != "Bash":
        yield request.tool_name
    elif isinstance(command, str) and "\n" not in command:
        yield f"Bash({command})"


def _describe(remembered: Suggestion | str) -> str:
    return f"always allow {remembered}" if isinstance(remembered, str) else remembered.describe()


def _always(
    request: PermissionRequest, offered: Sequence[Suggestion | str], word: str, rest: str
) -> Any:
    """Allow it from now on; `a2 project` is the second offer, for the project."""
    from ..people import AnswerError

    number = word[1:] or "1"
    if not number.isdecimal():
        return None
    if not offered:
        raise AnswerError("There is nothing that could be remembered; y allows it once.")
    if not 1 <= int(number) <= len(offered) or (word == "a" and len(offered) > 1):
        raise AnswerError(f"Which of them: a1 to a{len(offered)}?")
    if rest and rest not in SCOPES:
        raise AnswerError(f"For how long: {', '.join(SCOPES)}?")
    scope: Any = rest or None
    return request.allow(remember=offered[int(number) - 1], scope=scope)


# --- fields of forms -----------------------------------------------------------------------------

_HOW = {
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "y or n",
    "choice": "the number of one",
    "choices": "the numbers of some",
    "other": "JSON",
}


def _if_left_out(field: Field) -> str:
    """Say what an empty line means."""
    if field.default is not None:
        return f"Enter for {safe(json.dumps(field.default))}"
    return "(required)" if field.required else "Enter to leave it out"
