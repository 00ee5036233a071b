"""The terminal of a conversation: output above, and below it the line that is typed into.

Lines that are finished go into the scrollback. What is still growing, and what the session is
doing, is part of the prompt, which is drawn again whenever it changes.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import anyio
from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style

from .screen import size_of
from .styles import Paint, clip_painted
from .text import safe

__all__ = ["ChatCompleter", "ChatScreen", "Typed", "history_file"]

REFRESH = 0.25
"""Seconds between two looks at what the session is doing."""

SETTLE = 0.5
"""Seconds in which Enter is no answer, if something else was being typed when the question came."""

_GROWING = 4
"""Growing lines that are shown above the prompt."""

_STYLE = Style.from_dict({"bottom-toolbar": "noreverse", "prompt": "bold"})


class Typed(Exception):
    """Ends a prompt from elsewhere: something else is to be typed first."""


class ChatCompleter(Completer):
    """Completes commands at the beginning of the input, and files after an at sign.

    Args:
        commands: returns the commands, each with what it does.
        folder: where files are looked for.
    """

    def __init__(self, commands: Callable[[], Iterable[tuple[str, str]]], folder: str) -> None:
        self._commands = commands
        self._folder = folder

    def get_completions(self, document: Document, complete_event: Any) -> Iterable[Completion]:
        """Yield what the input may become."""
        text = document.text_before_cursor
        if text.startswith("/") and " " not in text:
            for name, meaning in self._commands():
                if name.startswith(text):
                    yield Completion(name, -len(text), display_meta=meaning)
            return
        word = re.split(r"\s", text)[-1]
        if word.startswith("@"):
            for path in self._files(word[1:]):
                yield Completion(f"@{path}", -len(word))

    def _files(self, begun: str) -> list[str]:
        folder, _, name = begun.rpartition("/")
        base = Path(self._folder, folder)
        try:
            found = sorted(os.scandir(base), key=lambda it: it.name)
        except (OSError, ValueError):  # also if no file can have this name
            return []
        names = [f"{it.name}/" if it.is_dir() else it.name for it in found]
        fitting = [it for it in names if it.startswith(name) and (name or it[0] != ".")]
        return [f"{folder}/{it}" if folder else it for it in fitting if it.isprintable()][:50]


def history_file() -> Path | None:
    """Return where prompts are remembered; None if there is no place for them."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    folder = Path(home, "claudewire")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / "history").touch(mode=0o600)
    except OSError:
        return None
    return folder / "history"


class ChatScreen:
    """Prints above the prompt, and reads what is typed into it.

    Args:
        growing: returns the lines that are not finished.
        status: returns what the session is doing.
        settle: returns the growing lines as they will stay, before a question is asked.
        interrupted: called when Ctrl-C is pressed.
        completer: completes what is typed.
    """

    def __init__(
        self,
        *,
        growing: Callable[[], Sequence[str]],
        status: Callable[[], str],
        settle: Callable[[], Sequence[str]],
        interrupted: Callable[[], None],
        completer: Completer | None = None,
    ) -> None:
        self.paint: Paint = Paint.for_stream(sys.stdout)
        self._growing = growing
        self._status = status
        self._settle = settle
        self._interrupted = interrupted
        self._waiting: list[str] = []
        self._written = anyio.Event()
        self._writing = anyio.Lock()
        self._is_asking = False
        self._question: _Question | None = None
        self._draft = ""
        path = history_file()
        history: History = InMemoryHistory() if path is None else FileHistory(str(path))
        # What was typed is printed again: of a prompt that is left for a question nothing stays.
        common: dict[str, Any] = {
            "style": _STYLE,
            "refresh_interval": REFRESH,
            "erase_when_done": True,
            "bottom_toolbar": self._toolbar,
        }
        self._main: PromptSession[str] = PromptSession(
            history=history,
            completer=completer,
            complete_while_typing=False,
            multiline=True,
            key_bindings=self._keys(),
            prompt_continuation=lambda width, *_: " " * width,
            **common,
        )
        self._answers: PromptSession[str] = PromptSession(
            key_bindings=self._keys(asking=True), **common
        )

    # --- output ----------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """How many columns there are."""
        return size_of(sys.stdout)[0]

    def print(self, lines: Sequence[str]) -> None:
        """Add lines above the prompt."""
        self._waiting += lines
        self._written.set()

    def show(self, lines: Sequence[str]) -> None:
        """Show what is asked, also while everything else waits."""
        assert self._question is None
        self._asked += lines

    async def run(self) -> None:
        """Write what was printed, until this is cancelled."""
        while True:
            await self._written.wait()
            self._written = anyio.Event()
            if not self._is_asking:
                await self.flush()

    async def flush(self) -> None:
        """Write what was printed."""
        async with self._writing:
            lines, self._waiting = self._waiting, []
            await self._write_now(lines)

    async def _write(self, lines: Sequence[str]) -> None:
        async with self._writing:  # what was taken before is written before
            await self._write_now(lines)

    async def _write_now(self, lines: Sequence[str]) -> None:
        if not lines:
            return
        app = self._running()
        if app is not None and app.output.responds_to_cpr:
            # Where the cursor was before this would be wrong afterwards.
            await app.renderer.wait_for_cpr_responses()
        self._put("".join(f"{line}\n" for line in lines))

    def _running(self) -> Application[str] | None:
        """Return the prompt that is being typed into."""
        return next((it.app for it in (self._main, self._answers) if it.app.is_running), None)

    def _put(self, text: str) -> None:
        """Write above the prompt that is being typed into, if there is one.

        `run_in_terminal` would do that too, but for its time it gives the keyboard back to the
        system, which then takes Ctrl-C and Ctrl-D for itself.
        """
        app = self._running()
        if app is None:
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        app.renderer.erase()
        app.output.write_raw(text)
        app.output.flush()
        app.renderer.reset()
        app.renderer.request_absolute_cursor_position()
        app.invalidate()

    # --- the prompt ------------------------------------------------------------------------------

    def _message(self) -> ANSI:
        width = self.width - 1
        lines = [] if self._is_asking else [*self._growing()][-_GROWING:]
        shown = [clip_painted(line, width) for line in lines]
        return ANSI("\n".join([*shown, f"{self.paint.mark('you')} "]))

    def _toolbar(self) -> ANSI:
        return ANSI(self.paint("dim", clip_painted(self._status(), self.width - 1)))

    def _keys(self, *, asking: bool = False) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("c-c")
        def _(event: KeyPressEvent) -> None:
            self._interrupted()
            if asking:
                event.app.exit(exception=EOFError())

        @keys.add("enter")
        @keys.add("c-j")  # Enter that was pressed before the prompt was there
        def _(event: KeyPressEvent) -> None:
            question = self._question
            if question is not None and monotonic() < question.counts_from:
                pass
            elif question is not None and question.several:
                event.current_buffer.newline()
            elif question is not None or event.current_buffer.text.strip():
                event.current_buffer.validate_and_handle()

        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            question = self._question
            if question is not None and question.several:
                event.current_buffer.validate_and_handle()
            else:
                event.current_buffer.newline()

        return keys

    async def read(self) -> str:
        """Read the next prompt; questions are asked and answered meanwhile.

        Raises:
            EOFError: the person wants to leave.
        """
        while True:
            if self._question is not None:
                await self._answer(self._question)
                continue
            try:
                text = await self._main.prompt_async(
                    self._message, default=self._draft, handle_sigint=False
                )
            except Typed:
                self._draft = self._main.default_buffer.text
                continue
            self._draft = ""
            await self._echo(text)
            return text

    async def _echo(self, text: str) -> None:
        """Leave in the scrollback what was typed."""
        first, *more = safe(text).split("\n")
        lines = [f"{self.paint.mark('you')} {first}", *(f"  {line}" for line in more)]
        await self._write([self.paint("strong", line) for line in lines])

    async def _answer(self, question: _Question) -> None:
        """Ask in the place of the prompt."""
        question.counts_from = monotonic() + (SETTLE if self._draft else 0.0)
        try:
            question.answer = await self._answers.prompt_async(
                self._message,
                default=question.text,
                multiline=question.several,
                handle_sigint=False,
            )
            await self._echo(question.answer)
        except (EOFError, Typed):
            question.answer = None
        finally:
            self._question = None
            question.done.set()

    # --- questions -------------------------------------------------------------------------------

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[None]:
        """Hold back everything else while this lasts."""
        self.print(self._settle())
        await self.flush()
        self._is_asking = True
        self._asked: list[str] = []
        try:
            yield
        finally:
            # A question that was withdrawn must not stay on the screen.
            if self._question is not None:
                self._leave(self._answers)
            with anyio.CancelScope(shield=True):
                await self._write(self._asked)
            self._is_asking = False
            self._written.set()

    async def type(self, prompt: str, *, text: str = "", several: bool = False) -> str:
        """Read an answer.

        Raises:
            EOFError: the person has left, or has pressed Ctrl-C.
        """
        asked, self._asked = self._asked, []
        await self._write(asked)
        question = self._question = _Question(text, several)
        self._leave(self._main)
        await question.done.wait()
        if question.answer is None:
            raise EOFError
        return question.answer

    def _leave(self, prompts: PromptSession[str]) -> None:
        """End a prompt that is being typed into."""
        with suppress(Exception):  # it may just have ended
            if prompts.app.is_running:
                prompts.app.exit(exception=Typed())

    def close(self) -> None:
        """End whatever is being typed into."""
        for prompts in (self._main, self._answers):
            with suppress(Exception):
                if prompts.app.is_running:
                    prompts.app.exit(exception=EOFError())


class _Question:
    """Something that a person has to type before anything else."""

    def __init__(self, text: str, several: bool) -> None:
        self.text = text
        self.several = several
        self.counts_from = 0.0
        self.done = anyio.Event()
        self.answer: str | None = None
