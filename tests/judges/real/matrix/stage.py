"""The stage of a behaviour: a cage with one version of the CLI, and its sessions."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import anyio
from tests.helpers.real_clis import real_cli

from claudewire.options import Options
from claudewire.session import Reply, Session, Turn
from claudewire.testing.api import APIRequest, APIScript
from claudewire.testing.cage import Cage
from claudewire.transport.platforms.process_table import descendants, process_table

from .behaviour import Behaviour, Deviation, Lacking

OURS = ("CLAUDE_AGENT_SDK_*", "CLAUDE_CODE_*", "MATRIX_*")
"""The variables that a session may give to its CLI."""

SOON = 20.0
"""Seconds within which a process of a tool that has ended is gone, on a busy machine."""

REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
"""Text that a CLI sometimes adds to results."""

Handler = Callable[[Any], Any]


class Leftover(AssertionError):
    """Something still runs that should not."""


class Stage:
    """One version of the CLI in a cage, for one behaviour after the other.

    Attributes:
        version: of the CLI.
        session: the one that behaviours share; those that are alone have none.
        on_permission: decides about tools while the current behaviour is played; as are
            `on_question` and `on_plan` for questions and plans, `on_hook` for all hooks, and
            `on_call` for a Python function that the model calls.
    """

    def __init__(self, version: str, behaviours: Iterable[Behaviour]) -> None:
        self.version = version
        script = APIScript(default="Done.")
        for each in behaviours:
            each.add_to(script)
        self.cage = Cage(script, keep=OURS)
        self._session: Session[Any] | None = None
        self._behaviour: Behaviour | None = None
        self._networks: set[int | None] = set()
        self.forget()

    def forget(self) -> None:
        """Reset the settings of the last behaviour."""
        self.on_permission: Handler = lambda request: request.allow()
        self.on_question: Handler = lambda request: request.skip()
        self.on_plan: Handler = lambda request: request.approve()
        self.on_hook: Handler = lambda event: None
        self.on_call: Callable[[], Any] = lambda: None
        self._turns_before = len(self.cage.turns) if self._session is not None else 0

    def note_permissions(self) -> list[str]:
        """Allow every tool from now on; return the list of the requested ones."""
        asked: list[str] = []

        def allow(request: Any) -> Any:
            asked.append(request.tool_name)
            return request.allow()

        self.on_permission = allow
        return asked

    @property
    def handlers(self) -> dict[str, Any]:
        """Options by which a session asks the current behaviour."""
        return {
            "on_permission": lambda request: self.on_permission(request),
            "on_question": lambda request: self.on_question(request),
            "on_plan": lambda request: self.on_plan(request),
        }

    # --- sessions --------------------------------------------------------------------------------

    @property
    def session(self) -> Session[Any]:
        assert self._session is not None, "This behaviour is alone and opens sessions itself"
        return self._session

    def options(self, **changes: Any) -> Options:
        """Return options with which a session runs this CLI in the cage."""
        return Options(**{"cli": self.cage.command([real_cli(self.version)]), **changes})

    @asynccontextmanager
    async def open(self, **options: Any) -> AsyncIterator[Session[Any]]:
        """Open a session. When it has been closed, nothing of it is left."""
        session: Session[Any] = Session(self.options(**options))
        try:
            async with session:
                self._session = session
                yield session
                with self.without_servers():
                    await session.close()
                    self.check_nothing_left()
        finally:
            self._session = None

    # --- the current behaviour -------------------------------------------------------------------

    def begin(self, behaviour: Behaviour) -> None:
        """Play another behaviour from now on."""
        self._behaviour = behaviour
        self.forget()

    def prompt(self, key: str = "") -> str:
        """Return the beginning of the prompt with this key."""
        assert self._behaviour is not None
        return self._behaviour.prompt(key)

    def send(self, key: str = "", **fields: Any) -> Turn[Any]:
        """Send the prompt with this key."""
        return self.session.send(f"{self.prompt(key)} Go on.", **fields)

    async def ask(self, key: str = "") -> Reply[Any]:
        """Send the prompt with this key and return its reply."""
        return await self.send(key)

    @property
    def turns(self) -> list[APIRequest]:
        """Return the requests to the model since the behaviour began."""
        return self.cage.turns[self._turns_before :]

    @property
    def results(self) -> list[dict[str, Any]]:
        """Return the tool results that the model got, each once.

        The first request may have results of a turn before, which was interrupted.
        """
        found = [result for turn in self.turns[1:] for result in turn.tool_results]
        return [*{result["tool_use_id"]: result for result in found}.values()]

    @property
    def told(self) -> list[str]:
        """The text of that."""
        return [_text(result.get("content")) for result in self.results]

    def has(self, name: str) -> bool:
        """Return whether a file of this name exists."""
        return (self.cage.work / name).exists()

    def transcript(self, id: str | None) -> str:
        """Return the transcript of a conversation so far."""
        files = self.cage.config.glob(f"projects/*/{id}.jsonl")
        return "".join(it.read_text(encoding="utf-8", errors="replace") for it in files)

    def lacks(self, evidence: str) -> NoReturn:
        """Report that this version lacks the behaviour, with the evidence."""
        raise Lacking(evidence)

    def deviates(self, evidence: str) -> NoReturn:
        """Report that this version deviates, and how."""
        raise Deviation(evidence)

    # --- processes -------------------------------------------------------------------------------

    @property
    def servers(self) -> list[int]:
        """The processes that serve the API, and end the others when a CLI has ended."""
        wanted = f"cage.cage\0{self.cage.folder}\0".encode()
        return [pid for pid in process_table() if wanted in _words(pid)]

    @contextmanager
    def without_servers(self) -> Iterator[None]:
        """Pause the servers of the cage during a block: only the library ends processes."""
        stopped = [pid for pid in self.servers if _signal(pid, signal.SIGSTOP)]
        before, self._networks = self._networks, {network_of(pid) for pid in stopped}
        try:
            yield
        finally:
            self._networks = before
            for pid in stopped:
                _signal(pid, signal.SIGCONT)

    def check_nothing_left(self) -> None:
        """Look in /proc for processes in the networks of the stopped servers.

        Raises:
            Leftover: there are some.
        """
        servers, networks = {*self.servers}, self._networks - {None}
        table = process_table()
        left = [
            pid
            for pid, process in table.items()
            if not process.is_dead and pid not in servers and network_of(pid) in networks
        ]
        if left:
            raise Leftover(f"left: {', '.join(map(_command, left))}")

    def children(self) -> set[int]:
        """The processes that descend from the CLI of the shared session."""
        assert self.session.pid is not None
        found = descendants(self.session.pid, process_table())
        return {process.pid for process in found if not process.is_dead}

    def commands(self) -> Counter[str]:
        """Return the commands. A restarted server is another process."""
        return Counter(map(_command, self.children()))

    async def until_gone(self, before: Counter[str]) -> None:
        """Wait until the CLI has only such children as it had before.

        Raises:
            Leftover: it takes too long.
        """
        try:
            await until(lambda: not self.commands() - before)
        except TimeoutError:
            left = self.commands() - before
            raise Leftover(f"left below the CLI: {', '.join(left)}") from None

    async def shell(self) -> int:
        """Wait until the CLI has started a shell for a tool, and that has started something.

        Raises:
            TimeoutError: it takes too long.
        """
        found: list[int] = []

        def look() -> bool:
            table = process_table()
            found.extend(
                process.pid
                for process in descendants(self.session.pid or 0, table)
                if process.group == process.pid and descendants(process.pid, table)
            )
            return bool(found)

        await until(look, 3 * SOON)
        return found[0]


async def until(condition: Callable[[], object], seconds: float = SOON) -> None:
    """Poll for a condition, such as the end of another process.

    Raises:
        TimeoutError: it takes too long.
    """
    with anyio.fail_after(seconds):
        while not condition():  # noqa: ASYNC110
            await anyio.sleep(0.02)


def is_running(pid: int) -> bool:
    """Return whether a process is running."""
    process = process_table().get(pid)
    return process is not None and not process.is_dead


def network_of(pid: int) -> int | None:
    """Identify the network that a process is in; None if it has ended."""
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except OSError:
        return None


def _command(pid: int) -> str:
    return _words(pid).replace(b"\0", b" ").decode(errors="replace")[:80] or str(pid)


def _words(pid: int) -> bytes:
    """Return the command line of a process; empty if it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _signal(pid: int, number: signal.Signals) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _text(content: Any) -> str:
    """The text of the content of a tool result, in either of its forms, without reminders."""
    if not isinstance(content, str):
        content = "\n".join(str(block.get("text", block.get("type"))) for block in content or ())
    return REMINDER.sub("", content).strip()
