"""Reading lines from a person where a task is shown, with a prompt that notes what it is given."""

from __future__ import annotations

import io
import termios
from types import SimpleNamespace
from typing import Any

import anyio.lowlevel
import prompt_toolkit
import prompt_toolkit.input
import prompt_toolkit.output
import pytest

from claudewire.cli.terminal_view import TerminalView
from claudewire.cli.typing_in import TerminalDialog

pytestmark = pytest.mark.anyio


class Noted:
    """A dialog, and all that is done for it."""

    def __init__(self, patch: pytest.MonkeyPatch, *typed: str | BaseException) -> None:
        self.calls: list[Any] = []
        self._typed = [*typed]
        self.err = io.StringIO()
        keyboard = SimpleNamespace(flush_keys=lambda: self.calls.append("flush"), fileno=lambda: 77)

        def create_input(**how: Any) -> Any:
            self.calls.append(how)
            return keyboard

        def create_output(stream: Any) -> str:
            assert stream is self.err
            return "the output"

        def prompts(**how: Any) -> Any:
            assert how == {"input": keyboard, "output": "the output"}
            return SimpleNamespace(input=keyboard, prompt_async=self._prompt)

        patch.setattr(prompt_toolkit, "PromptSession", prompts)
        patch.setattr(prompt_toolkit.input, "create_input", create_input)
        patch.setattr(prompt_toolkit.output, "create_output", create_output)
        patch.setattr(termios, "tcflush", lambda *given: self.calls.append(given))
        patch.setenv("COLUMNS", "66")
        patch.setenv("TERM", "xterm")
        patch.setattr(self.err, "isatty", lambda: True, raising=False)
        self.view = TerminalView(io.StringIO(), self.err)
        self.dialog = TerminalDialog(self.view, self._interrupt)

    async def _prompt(self, prompt: str, **how: Any) -> str:
        self.calls.append((prompt, how))
        typed = self._typed.pop(0)
        if isinstance(typed, BaseException):
            raise typed
        return typed

    async def _interrupt(self) -> None:
        self.calls.append("interrupt")


ONE_LINE = {"default": "", "multiline": False}
FLUSHED = ["flush", (77, termios.TCIFLUSH)]


async def test_what_was_typed_before_a_question_is_no_answer_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noted = Noted(monkeypatch, "yes", "more", "again")
    dialog = noted.dialog
    async with dialog.asking():
        assert await dialog.type("> ") == "yes"
        assert await dialog.type("", text="some", several=True) == "more"
    async with dialog.asking():
        assert await dialog.type("> ") == "again"
    assert noted.calls == [
        {"always_prefer_tty": True},
        *FLUSHED,
        ("> ", ONE_LINE),
        ("", {"default": "some", "multiline": True}),
        *FLUSHED,
        ("> ", ONE_LINE),
    ]


async def test_ctrl_c_at_a_question_interrupts_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    noted = Noted(monkeypatch, KeyboardInterrupt(), EOFError())
    with pytest.raises(EOFError, match="Ctrl-C was pressed"):
        await noted.dialog.type("> ")
    assert noted.calls[-1] == "interrupt"
    with pytest.raises(EOFError):
        await noted.dialog.type("> ")
    assert noted.calls.count("interrupt") == 1


async def test_lines_are_shown_where_the_task_is(monkeypatch: pytest.MonkeyPatch) -> None:
    noted = Noted(monkeypatch)
    flushed: list[str] = []
    monkeypatch.setattr(noted.err, "flush", lambda: flushed.append(noted.err.getvalue()))
    noted.dialog.show(["one", "two"])
    assert flushed == ["one\ntwo\n"]
    assert noted.dialog.width == 66
    assert noted.dialog.paint is noted.view.paint
    async with noted.dialog.asking():
        noted.view.note("Meanwhile.")
        assert "Meanwhile." not in noted.err.getvalue()
    await anyio.lowlevel.checkpoint()
    assert "Meanwhile." in noted.err.getvalue()
