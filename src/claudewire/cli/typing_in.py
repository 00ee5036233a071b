"""Reading lines from a person, where a task is shown on a terminal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from .styles import Paint

if TYPE_CHECKING:
    from .terminal_view import TerminalView

__all__ = ["TerminalDialog"]


class TerminalDialog:
    """Asks in the place where a task is shown.

    Args:
        view: what shows the task.
        interrupt: called when the person presses Ctrl-C instead of answering.
    """

    def __init__(self, view: TerminalView, interrupt: Callable[[], Awaitable[None]]) -> None:
        self.paint: Paint = view.paint
        self._view = view
        self._interrupt = interrupt
        self._prompts: Any = None
        self._is_new = True

    @property
    def width(self) -> int:
        """How many columns there are."""
        return self._view.screen.width

    def asking(self) -> AbstractAsyncContextManager[None]:
        """Stop drawing."""
        self._is_new = True
        return self._view.asking()

    def show(self, lines: Sequence[str]) -> None:
        """Show lines."""
        stream = self._view.screen.stream
        stream.write("".join(f"{line}\n" for line in lines))
        stream.flush()

    async def type(self, prompt: str, *, text: str = "", several: bool = False) -> str:
        """Read a line, or several.

        Raises:
            EOFError: the person has left.
        """
        from prompt_toolkit import PromptSession
        from prompt_toolkit.input import create_input
        from prompt_toolkit.output import create_output

        if self._prompts is None:
            output = create_output(self._view.screen.stream)
            self._prompts = PromptSession(input=create_input(always_prefer_tty=True), output=output)
        if self._is_new:
            self._forget()
        try:
            typed: str = await self._prompts.prompt_async(prompt, default=text, multiline=several)
        except KeyboardInterrupt:
            await self._interrupt()
            raise EOFError("Ctrl-C was pressed") from None
        return typed

    def _forget(self) -> None:
        """Drop what was typed before the question was there: it is no answer to it."""
        self._is_new = False
        self._prompts.input.flush_keys()
        import termios

        termios.tcflush(self._prompts.input.fileno(), termios.TCIFLUSH)
