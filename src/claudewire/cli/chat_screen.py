"""The terminal of a conversation: output in the scrollback, and below it the prompt.

Finished lines go into the scrollback. Unfinished lines and the status are part of the prompt, which
prompt_toolkit draws again whenever they change. A question suspends the prompt.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import anyio
from prompt_toolkit import PromptSession
from prompt_toolkit.application import in_terminal
from prompt_toolkit.application.current import set_app
from prompt_toolkit.completion import Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style
from rich.text import Text

from .console import clip, painted, put, stdout
from .terminal_view import ConsoleIO, Interrupt
from .text import safe

REFRESH = 0.25
"""Seconds between two drawings of the prompt."""

SETTLE = 0.5
"""Seconds in which Enter is no answer, if the person was typing when the question came."""

_UNFINISHED = 4
"""Unfinished lines above the prompt."""

_STYLE = Style.from_dict({"bottom-toolbar": "noreverse", "prompt": "bold"})


class ChatCompleter(Completer):
    """Completes commands at the beginning of the input, and files after an at sign."""

    def __init__(self, commands: Callable[[], Iterable[tuple[str, str]]], folder: str) -> None:
        self._commands = commands
        self._files = PathCompleter(get_paths=lambda: [folder])

    def get_completions(self, document: Document, complete_event: Any) -> Iterable[Completion]:
        """Yield completions of the input."""
        text = document.text_before_cursor
        if text.startswith("/") and " " not in text:
            for name, help in self._commands():
                if name.startswith(text):
                    yield Completion(name, -len(text), display_meta=help)
            return
        word = re.split(r"\s", text)[-1]
        if word.startswith("@"):
            yield from self._files.get_completions(Document(word[1:]), complete_event)


def _history() -> History:
    """Remember prompts in a file of the user, else in memory."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    file = Path(home, "claudewire", "history")
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(file))


class ChatScreen(ConsoleIO):
    """Prints above the prompt, and reads prompts and answers.

    `settle` returns the unfinished lines in their final form, before a question.
    """

    def __init__(
        self,
        *,
        unfinished: Callable[[], Sequence[Text]],
        status: Callable[[], str],
        settle: Callable[[], Sequence[Text]],
        interrupt: Interrupt,
        completer: Completer,
    ) -> None:
        super().__init__(stdout(), interrupt)
        self._unfinished = unfinished
        self._status = status
        self._settle = settle
        self._waiting: list[Text] = []
        self._written = anyio.Event()
        self._terminal = anyio.Lock()
        """Held by output and by a question."""
        # The echo stays on the screen, not the prompt: it may have unfinished lines above it.
        self._main: PromptSession[str] = PromptSession(
            history=_history(),
            completer=completer,
            complete_while_typing=False,
            multiline=True,
            key_bindings=self._keys(),
            prompt_continuation=lambda width, *_: " " * width,
            style=_STYLE,
            refresh_interval=REFRESH,
            erase_when_done=True,
            bottom_toolbar=self._toolbar,
        )

    # --- output ----------------------------------------------------------------------------------

    def print(self, lines: Sequence[Text]) -> None:
        """Add lines above the prompt."""
        self._waiting += lines
        self._written.set()

    async def run(self) -> None:
        """Write printed lines, until cancelled."""
        while True:
            await self._written.wait()
            self._written = anyio.Event()
            await self.flush()

    async def flush(self) -> None:
        """Write printed lines now, above the prompt.

        `run_in_terminal` would give the keyboard back to the system meanwhile, which then acts on
        Ctrl-C and Ctrl-D.
        """
        async with self._terminal:
            app, renderer = self._main.app, self._main.app.renderer
            if app.is_running and app.output.responds_to_cpr:
                # The terminal's answer would name a position from before this output.
                await renderer.wait_for_cpr_responses()
            lines, self._waiting = self._waiting, []
            if app.is_running:
                renderer.erase()
            put(self.console, *lines)
            if app.is_running:
                renderer.reset()
                renderer.request_absolute_cursor_position()
                app.invalidate()

    # --- the prompt ------------------------------------------------------------------------------

    def _message(self) -> ANSI:
        lines = [*self._unfinished()][-_UNFINISHED:]
        shown = painted(self.console, [clip(line, self.columns - 1) for line in lines])
        return ANSI(f"{shown}❯ ")

    def _toolbar(self) -> ANSI:
        line = clip(Text(self._status(), "dim"), self.columns - 1)
        return ANSI(painted(self.console, [line]).rstrip("\n"))

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("c-c")
        def _(event: KeyPressEvent) -> None:
            event.app.create_background_task(self._interrupt())

        @keys.add("enter")
        @keys.add("c-j")  # Enter that was pressed before the prompt was there
        def _(event: KeyPressEvent) -> None:
            if event.current_buffer.text.strip():
                event.current_buffer.validate_and_handle()

        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.newline()

        return keys

    async def prompt(self) -> str:
        """Read the next prompt; questions come first. EOFError if the person wants to leave."""
        async with self._terminal:
            pass
        text = await self._main.prompt_async(self._message, handle_sigint=False)
        self.print(self.echo(text))
        return text

    def echo(self, text: str) -> list[Text]:
        """Return typed text for the scrollback."""
        shown = safe(text).replace("\n", "\n  ")
        return [Text(line, "strong") for line in f"❯ {shown}".split("\n")]

    # --- questions -------------------------------------------------------------------------------

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[None]:
        """Suspend the prompt, and hold all other output back."""
        self.print(self._settle())
        await self.flush()
        async with self._terminal:
            is_typing = self._main.app.is_running and bool(self._main.default_buffer.text)
            self._is_new = True
            self._answers_from = monotonic() + (SETTLE if is_typing else 0.0)
            with set_app(self._main.app):
                async with in_terminal():
                    yield

    def close(self) -> None:
        """End the prompt and the question: the session is over."""
        for prompts in filter(None, (self._prompts, self._main)):
            with suppress(Exception):  # it may just have ended
                if prompts.app.is_running:
                    prompts.app.exit(exception=EOFError())
