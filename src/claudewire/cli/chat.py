"""`claudewire chat`: a conversation. Prompts, turns, slash commands, and the end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from time import monotonic
from typing import TYPE_CHECKING, Any

import anyio
import click
from rich.text import Text

from ..approvals import Terminal
from ..errors import Error
from ..options import Options
from ..session import Session, SessionState
from .activity import Progress, doing_of, receipt_words
from .chat_screen import ChatCompleter, ChatScreen
from .errors import CommandError, Exit
from .reports import Activity, View
from .session_options import MODES, connect_for, session_arguments, session_options
from .task import MAY_STOP
from .terminal_view import Drawing
from .text import duration, one_line, safe

if TYPE_CHECKING:
    from ..launch import Connect
    from ..session import Turn

_KEYS = (
    "Enter sends, Alt-Enter begins a new line, Tab completes /commands and @files. Ctrl-C "
    "interrupts, a second one ends the session, a third kills it; Ctrl-D leaves."
)


@click.command(epilog=_KEYS)
@click.argument("prompt", nargs=-1)
@session_options
def command(prompt: tuple[str, ...], **given: Any) -> int:
    """Talk to the CLI in this terminal. PROMPT is sent first.

    You can go on typing during a turn: the command queues your prompts. It asks you before the CLI
    does anything that no rule allows. Type /help for the commands.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandError(
            "A conversation needs a terminal, and stdin or stdout is not one.",
            advice="For one task without a terminal there is `claudewire run`.",
        )
    arguments = session_arguments(given)
    arguments["include_partial_messages"] = True
    options = Options(**arguments)
    chat = ChatSession(options, connect_for(given["record"], options), " ".join(prompt))
    # prompt_toolkit needs asyncio.
    return anyio.run(chat.converse, backend="asyncio")


class ChatSession(View):
    """A conversation at a terminal."""

    def __init__(self, options: Options, connect: Connect | None = None, first: str = "") -> None:
        self._first = first
        self._turns: list[Turn[Any]] = []
        self._more = anyio.Event()
        self._presses = 0
        self._stopped: set[str] = set()
        """The turns that the person has interrupted: why they failed is known."""
        self._exit = Exit.DONE
        self._tasks: Any = None
        self._progress = Progress(self)
        self.screen: ChatScreen = ChatScreen(
            unfinished=lambda: self._drawing.changing(self._doing()),
            status=self._status,
            settle=lambda: self._drawing.end_text(),
            interrupt=self._interrupted,
            completer=ChatCompleter(self._commands, str(options.cwd or os.getcwd())),
        )
        self._drawing = Drawing(self.screen.console)
        approver, audit = Terminal(io=self.screen), self._progress.decided
        options = options.replace(approver=approver, audit=audit)
        self.session: Session[Any] = Session(options, transport=connect)

    async def converse(self) -> int:
        """Hold the conversation until the person leaves; return the exit status."""
        session = self.session
        async with session, anyio.create_task_group() as tasks:
            self._tasks = tasks
            version = getattr(session.cli_info, "claude_code_version", None) or ""
            name = "the simulated CLI" if session.options.cli == "simulated" else "claude"
            self.note(f"Talking to {f'{name} {version}'.strip()}. /help for help.")
            for watch in (self._show_notices, self._show_unsolicited):
                tasks.start_soon(watch, session)
            for work in (self.screen.run, self._show_turns, self._watch_signals):
                tasks.start_soon(work)
            with suppress(EOFError, Leave):
                await self._read()
            await self.screen.flush()
            tasks.cancel_scope.cancel()
        if session.state is SessionState.FAILED and session.failure is not None:
            raise session.failure
        return self._exit

    # --- prompts ---------------------------------------------------------------------------------

    async def _read(self) -> None:
        """Take prompts and commands until the person leaves."""
        if self._first:
            first, self._first = self._first, ""
            self.screen.print(self.screen.echo(first))
            self.send(first)
        while True:
            await self._take((await self.screen.prompt()).strip())

    async def _take(self, text: str) -> None:
        self._presses = 0
        name, _, rest = text.partition(" ")
        if name in COMMANDS:
            try:
                await COMMANDS[name][1](self, rest.strip())
            except Error as error:
                self.note(error.message)
        elif name.startswith("/") and name not in dict(self._commands()):
            self.note(f"There is no command {name}. /help lists them.")
        elif text:
            self.send(text)

    def send(self, text: str) -> None:
        """Send a prompt; the session queues it behind a running turn."""
        try:
            turn = self.session.send(text)
        except Error as error:
            self.note(error.message)
            return
        if self._turns:
            self.note("queued behind the running turn")
        else:
            self._drawing.since = monotonic()
        self._turns.append(turn)
        self._more.set()

    def _commands(self) -> Iterator[tuple[str, str]]:
        """Yield the commands of this program, then those of the CLI."""
        yield from ((name, help) for name, (help, _) in COMMANDS.items())
        for command in getattr(self.session.cli_info, "commands", None) or ():
            if f"/{command.name}" not in COMMANDS and command.name.isprintable():
                yield f"/{command.name}", one_line(command.description or "", 60)

    # --- turns -----------------------------------------------------------------------------------

    def show(self, activity: Activity) -> None:
        """Show an activity above the prompt."""
        self.screen.print(self._drawing.lines(activity))

    def note(self, text: str) -> None:
        """Show a remark."""
        self.screen.print(self._drawing.notice(text))

    async def _show_turns(self) -> None:
        while True:
            while self._turns:
                await self._show_turn(self._turns[0])
                del self._turns[0]
                if self._turns and (prompt := self._turns[0].prompt) is not None:
                    self.screen.print(
                        [Text(), *self.screen.echo(prompt.text)]
                    )  # again: now its turn begins
                    self._drawing.since = monotonic()
            self._more = anyio.Event()
            await self._more.wait()

    async def _show_turn(self, turn: Turn[Any]) -> None:
        started = monotonic()
        try:
            await self._progress.show(turn)
            reply = await turn
        except Error as error:
            self.screen.print(self._drawing.end_text())
            if turn.key not in self._stopped:
                self.note(error.message)
            return
        self.screen.print(self._drawing.end_text())
        if reply.error is not None and turn.key not in self._stopped:
            self.note(f"{reply.error.message} {reply.error.advice}".strip())
        cost = "" if reply.cost_usd is None else f" · ${reply.cost_usd:.4f}"
        words = f"{reply.totals.tokens:,} tokens{cost} · {duration(monotonic() - started)}"
        self.screen.print([Text(), Text(words, "dim")])
        self._drawing.fresh()

    async def _show_unsolicited(self, session: Session[Any]) -> None:
        async for turn in session.unsolicited:
            self.note("A background task ended; the model continues.")
            with suppress(Error):
                await self._progress.show(turn)
            self.screen.print(self._drawing.end_text())

    # --- the end ---------------------------------------------------------------------------------

    async def _show_notices(self, session: Session[Any]) -> None:
        """Show notices, and leave when the CLI ends."""
        await self._progress.show_notices(session)
        self.screen.close()

    async def _watch_signals(self) -> None:
        """Take Ctrl-C also while there is no prompt."""
        with anyio.open_signal_receiver(signal.SIGINT) as signals:
            async for _ in signals:
                await self._interrupted()

    async def _interrupted(self) -> None:
        """Ctrl-C: interrupt; the second time, end the session; the third time, kill it."""
        self._presses += 1
        step = {1: self._interrupt, 2: self._close}.get(self._presses, self._kill)
        self._tasks.start_soon(step)

    async def _interrupt(self) -> None:
        if not self._turns:
            self.note("Press Ctrl-C again to leave.")
            return
        self._stopped.add(self._turns[0].key)
        try:
            receipt = await self.session.interrupt(timeout=MAY_STOP)
        except Error as error:
            self.note(f"Interrupting the turn failed: {error.message}")
        else:
            self.note(receipt_words(receipt))
            if receipt.outcome == "stopped" and self._presses == 1:
                self._presses = 0

    async def _close(self) -> None:
        self.note("Ending the session. Press Ctrl-C again to kill it.")
        self._exit = Exit.INTERRUPTED if self._turns else Exit.DONE
        await self.session.close()
        self.screen.close()

    async def _kill(self) -> None:
        await self.session.close(now=True)
        self.screen.close()

    # --- the status ------------------------------------------------------------------------------

    def _doing(self) -> str:
        return doing_of(self.session) if self._turns else ""

    def _status(self) -> str:
        """Describe the session in one line."""
        session = self.session
        used = session.ledger.session
        init = session.init_message
        parts = [
            f"{len(self._turns) - 1} queued" if len(self._turns) > 1 else "",
            str(getattr(init, "model", None) or session.options.model or ""),
            str(getattr(init, "permission_mode", None) or ""),
            f"{len(session.tasks.running)} in the background" if session.tasks.running else "",
            "" if used.cost_usd is None else f"${used.cost_usd:.4f}",
            "Ctrl-C interrupts" if self._turns else "/help",
        ]
        return " · ".join(safe(part) for part in parts if part)


# --- slash commands ------------------------------------------------------------------------------


class Leave(Exception):
    """The person wants to leave."""


SlashCommand = Callable[[ChatSession, str], Awaitable[None]]
"""Runs a command, with the conversation and the rest of the line."""

COMMANDS: dict[str, tuple[str, SlashCommand]] = {}
"""The commands, each with its effect in one line."""


def _slash(name: str, help: str) -> Callable[[SlashCommand], SlashCommand]:
    def add(run: SlashCommand) -> SlashCommand:
        COMMANDS[name] = (help, run)
        return run

    return add


@_slash("/help", "lists the commands")
async def _help(chat: ChatSession, rest: str) -> None:
    for name, (help, _) in COMMANDS.items():
        chat.note(f"{name:<7} {help}")
    chat.note(_KEYS)


@_slash("/model", "changes the model, or lists the models")
async def _model(chat: ChatSession, name: str) -> None:
    models = getattr(chat.session.cli_info, "models", None) or []
    if name and len(name.split()) == 1:
        close = get_close_matches(name, [model.value for model in models], n=1, cutoff=0.8)
        if close and name.isalpha() and name != close[0]:
            chat.note(f"There is no model {name}. Did you mean {close[0]}?")
            return
        await chat.session.set_model(name)
        chat.note(f"The model is now {name}.")
        return
    for model in () if name else models:
        chat.note(f"{model.value}: {model.description or model.display_name or ''}")
    if name or not models:
        chat.note("Usage: /model NAME")


@_slash("/mode", "changes the permission mode, to plan for example")
async def _mode(chat: ChatSession, mode: str) -> None:
    found = next((it for it in MODES if it == mode), None)
    if found is None:
        chat.note(f"Usage: /mode MODE, one of {', '.join(MODES)}")
        return
    result = await chat.session.set_permission_mode(found)
    chat.note(f"The permission mode is now {getattr(result, 'mode', None) or mode}.")


@_slash("/quit", "leaves")
async def _quit(chat: ChatSession, rest: str) -> None:
    raise Leave
