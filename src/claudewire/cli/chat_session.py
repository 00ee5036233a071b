"""A conversation: prompts, turns, commands, questions, and the end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

import anyio

from ..errors import Error
from .activity import ActivityLog, notice_of
from .asking import AskPerson
from .chat_commands import COMMANDS, ChatCommand, Leave, Reopen
from .chat_screen import ChatCompleter, ChatScreen
from .errors import describe_error, exit_for
from .exits import Exit
from .reports import TextPiece
from .task import DOING, decided_of, receipt_words
from .terminal_view import Drawing
from .text import one_line, safe
from .views import seconds_of

if TYPE_CHECKING:
    from ..launch import Connect
    from ..options import Options
    from ..policy import DecisionRecord
    from ..session import AnyTurn, Session
    from ..transport import Transport

__all__ = ["ChatSession"]

MAY_STOP = 10.0
"""Seconds that a turn has to stop after an interrupt."""


class ChatSession:
    """A conversation at a terminal.

    Args:
        options: how sessions are opened.
        transport: what to talk over instead of a process of the CLI.
        prompt: what is said first, if anything.

    Attributes:
        session: the session that is open now.
        screen: the terminal.
        transcript: what was said: by whom, and what.
    """

    def __init__(
        self, options: Options, transport: Transport | Connect | None = None, prompt: str = ""
    ) -> None:
        self._transport = transport
        self._first = prompt
        self._turns: list[AnyTurn] = []
        self._more = anyio.Event()
        self._log = ActivityLog()
        self._presses = 0
        self._stopped: set[str] = set()
        """The turns that the person has interrupted: why they failed is known."""
        self._exit = Exit.DONE
        self._tasks: Any = None
        folder = str(options.cwd or os.getcwd())
        self.screen: ChatScreen = ChatScreen(
            growing=self._growing,
            status=self._status,
            settle=lambda: self._drawing.end_text(),
            interrupted=self._interrupted,
            completer=ChatCompleter(self._commands, folder),
        )
        self._drawing = Drawing(self.screen.paint, lambda: self.screen.width)
        self._options: Options = options.replace(person=AskPerson(self.screen), audit=self._decided)
        self.session: Session[Any] | None = None
        self.transcript: list[tuple[str, str]] = []

    async def run(self) -> int:
        """Hold the conversation; return the status to exit with."""
        options: Options | None = self._options
        while options is not None:
            options = await self._converse(options)
        return self._exit

    async def _converse(self, options: Options) -> Options | None:
        """Open a session and talk; return the options of the next one, if there is to be one."""
        from ..session import Session

        again: Options | None = None
        session = self.session = Session(options, transport=self._transport)
        try:
            async with session, anyio.create_task_group() as tasks:
                self._tasks = tasks
                self._greet(session)
                tasks.start_soon(self.screen.run)
                tasks.start_soon(self._show_notices, session)
                tasks.start_soon(self._show_unsolicited, session)
                tasks.start_soon(self._show_turns)
                tasks.start_soon(self._watch, session)
                tasks.start_soon(self._watch_signals)
                try:
                    await self._read(session)
                except Reopen as reopen:
                    again = options.replace(**reopen.changes)
                await self.screen.flush()
                tasks.cancel_scope.cancel()
        except Error as error:
            await self._failed(error)
        return again

    async def _failed(self, error: Error) -> None:
        self._exit = exit_for(error)
        first, *more = [safe(line) for line in describe_error(error)]
        mark = self.screen.paint("bad", "error:")
        self.screen.print([f"{mark} {first}", *(f"       {line}" for line in more)])
        await self.screen.flush()

    def _greet(self, session: Session[Any]) -> None:
        info = session.cli_info
        version = getattr(info, "claude_code_version", None)
        name = "the simulated CLI" if session.options.cli == "simulated" else "claude"
        about = " ".join(it for it in (name, version) if it)
        self.screen.print(self._drawing.notice(f"Talking to {about}. /help for help."))

    # --- prompts ---------------------------------------------------------------------------------

    async def _read(self, session: Session[Any]) -> None:
        """Take prompts and commands until the person leaves."""
        if self._first:
            first, self._first = self._first, ""
            self.screen.print([f"{self.screen.paint.mark('you')} {safe(first)}"])
            self.send(first)
        while True:
            try:
                text = (await self.screen.read()).strip()
                await self._take(text, session)
            except (EOFError, Leave):
                return

    async def _take(self, text: str, session: Session[Any]) -> None:
        self._presses = 0
        name, _, rest = text.partition(" ")
        command = COMMANDS.get(name)
        if command is not None:
            await self._run(command, rest.strip())
        elif name.startswith("/") and name not in dict(self._commands()):
            self.say(f"There is no command {name}. /help lists them.")
        elif text:
            self.send(text)

    async def _run(self, command: ChatCommand, rest: str) -> None:
        try:
            await command.run(self, rest)
        except Error as error:
            self.say(error.message)

    def send(self, text: str) -> None:
        """Send a prompt, which is queued if a turn is under way."""
        assert self.session is not None
        try:
            turn = self.session.send(text)
        except Error as error:
            self.say(error.message)
            return
        if len(self._turns):
            self.say("queued, until this is done")
        else:
            self._drawing.since = monotonic()
        self.transcript.append(("you", text))
        self._turns.append(turn)
        self._more.set()

    def say(self, text: str) -> None:
        """Tell the person something."""
        self.screen.print(self._drawing.notice(text))

    def _commands(self) -> Iterator[tuple[str, str]]:
        """Yield the commands of this program, then those of the CLI."""
        yield from ((name, it.help) for name, it in COMMANDS.items())
        info = None if self.session is None else self.session.cli_info
        for command in (info.commands or ()) if info is not None else ():
            if f"/{command.name}" not in COMMANDS and command.name.isprintable():
                yield f"/{command.name}", one_line(command.description or "", 60)

    # --- turns -----------------------------------------------------------------------------------

    async def _show_turns(self) -> None:
        while True:
            while self._turns:
                await self._show_turn(self._turns[0])
                del self._turns[0]
                if self._turns:
                    self._echo(self._turns[0])
            self._more = anyio.Event()
            await self._more.wait()

    def _echo(self, turn: AnyTurn) -> None:
        """Show a prompt again that was queued, now that it begins."""
        assert turn.prompt is not None
        text = one_line(turn.prompt.text, self.screen.width - 4)
        self.screen.print(["", f"{self.screen.paint.mark('you')} {text}"])
        self._drawing.since = monotonic()

    async def _show_turn(self, turn: AnyTurn) -> None:
        started = monotonic()
        try:
            await self._show_blocks(turn)
            reply = await turn
        except Error as error:
            self.screen.print(self._drawing.end_text())
            if turn.key not in self._stopped:
                self.say(error.message)
            return
        self.screen.print(self._drawing.end_text())
        self.transcript.append(("claude", reply.text))
        if reply.error is not None and turn.key not in self._stopped:
            self.say(f"{reply.error.message} {reply.error.advice}".strip())
        cost = "" if reply.cost_usd is None else f" · ${reply.cost_usd:.4f}"
        took = seconds_of(monotonic() - started)
        words = f"{reply.totals.tokens:,} tokens{cost} · {took}"
        self.screen.print(["", self.screen.paint("dim", words)])
        self._drawing.fresh()

    async def _show_blocks(self, turn: AnyTurn) -> None:
        async for block in turn.iter_blocks():
            for activity in self._log.note(block):
                if not isinstance(activity, TextPiece):
                    depth = self._log.depth(block.agent)
                    self.screen.print(self._drawing.activity(activity, depth))
                elif activity.agent is None:
                    self.screen.print(self._drawing.text(activity))

    async def _show_unsolicited(self, session: Session[Any]) -> None:
        async for turn in session.unsolicited:
            self.say("Something in the background has ended, and it goes on by itself.")
            with suppress(Error):
                await self._show_blocks(turn)
            self.screen.print(self._drawing.end_text())

    async def _show_notices(self, session: Session[Any]) -> None:
        with session.events() as events:
            async for event in events:
                if (notice := notice_of(event)) is not None:
                    self.say(notice.text)

    def _decided(self, record: DecisionRecord) -> None:
        decision = decided_of(record)
        self._log.decided(decision)
        self._drawing.activity(decision, 0)

    # --- the end ---------------------------------------------------------------------------------

    async def _watch(self, session: Session[Any]) -> None:
        """Leave when the CLI ends by itself."""
        from ..session import SessionState

        with session.events() as events:
            async for _ in events:
                pass
        if session.state is SessionState.FAILED and session.failure is not None:
            await self._failed(session.failure)
        self.screen.close()

    async def _watch_signals(self) -> None:
        """Take Ctrl-C also while nothing is being typed into."""
        with anyio.open_signal_receiver(signal.SIGINT) as signals:
            async for _ in signals:
                self._interrupted()

    def _interrupted(self) -> None:
        """Ctrl-C was pressed: interrupt; the second time, end the session; then, kill it."""
        self._presses += 1
        steps: dict[int, Callable[[], Any]] = {1: self._interrupt, 2: self._close}
        self._tasks.start_soon(steps.get(self._presses, self._kill))

    async def _interrupt(self) -> None:
        assert self.session is not None
        if not self._turns:
            self.say("Press Ctrl-C again to leave.")
            return
        self._stopped.add(self._turns[0].key)
        try:
            receipt = await self.session.interrupt(timeout=MAY_STOP)
        except Error as error:
            self.say(f"It could not be interrupted: {error.message}")
        else:
            self.say(receipt_words(receipt))
            if receipt.outcome == "stopped" and self._presses == 1:
                self._presses = 0

    async def _close(self) -> None:
        assert self.session is not None
        self.say("Ending the session. Press Ctrl-C again to kill it.")
        self._exit = Exit.INTERRUPTED if self._turns else Exit.DONE
        await self.session.close()
        self.screen.close()

    async def _kill(self) -> None:
        assert self.session is not None
        await self.session.close(now=True)
        self.screen.close()

    # --- what it is doing ------------------------------------------------------------------------

    def _growing(self) -> Sequence[str]:
        self._drawing.frame += 1
        return self._drawing.changing(self._doing())

    def _doing(self) -> str:
        if not self._turns:
            return ""
        assert self.session is not None
        waiting = self.session.waiting
        return "Working" if waiting is None else DOING.get(waiting.what.name, "Working")

    def _status(self) -> str:
        """Say in one line how the session is doing."""
        session = self.session
        if session is None:
            return ""
        init = session.init_message
        used = session.ledger.session
        parts = [
            f"{len(self._turns) - 1} queued" if len(self._turns) > 1 else "",
            safe(str(getattr(init, "model", None) or session.options.model or "")),
            safe(str(getattr(init, "permission_mode", None) or "")),
            f"{len(session.tasks.running)} in the background" if session.tasks.running else "",
            "" if used.cost_usd is None else f"${used.cost_usd:.4f}",
            "Ctrl-C interrupts" if self._turns else "/help",
        ]
        return " · ".join(part for part in parts if part)
