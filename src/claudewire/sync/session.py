"""Sessions without async: `open` for a conversation, `run` for a single answer, and pools."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ..content import Prompt
from ..errors import SessionClosed
from ..options import checked
from ..session import (
    DEFAULT,
    UNREAD_EVENTS,
    Escalation,
    InterruptReceipt,
    ItemQueue,
    OutputT,
    PoolStats,
    Priority,
    Queued,
    Reply,
    SessionFacts,
    TasksAtEnd,
    Timeout,
)
from ..session import Pool as AsyncPool
from ..session import Session as AsyncSession
from ..session import open as async_open
from ..session import run as async_run
from ..wire import (
    ContextUsageResult,
    McpStatus,
    McpStatusResult,
    RequestBody,
    RewindFiles,
    RewindFilesResult,
    SetModelResult,
    SetPermissionModeResult,
)
from .portal import Portal, portal
from .turn import Reader, Subscription, Turn, own_receipt

if TYPE_CHECKING:
    from typing import Unpack

    from ..launch import Connect
    from ..options import Options, OptionsDict, OptionsWithoutOutput
    from ..session import Waiting
    from ..transport import Transport

AnswerT = TypeVar("AnswerT")


class Session(SessionFacts, Generic[OutputT]):
    """One CLI process and the conversation with it, made by `open` or by a pool.

        with claudewire.sync.open(model="sonnet") as claude:
            reply = claude.ask("Hello")

    or, where a block does not fit, `claude = claudewire.sync.open(…)` and later `claude.close()`.

    Methods and properties are those of `claudewire.Session`, which documents them; this class says
    what differs. Several threads may use a session at once, also threads that run an event loop,
    which is then blocked. Handlers that are plain functions run in other threads and may use the
    session too.
    """

    def __init__(self, session: AsyncSession[OutputT], portal: Portal) -> None:
        self._session = session
        self._core = session._core
        self._portal = portal
        portal.close_at_exit(session)

    def _start(self) -> None:
        try:
            self._portal.call(self._session.start)
        except BaseException:
            self.close(now=True)  # an interrupt may come when it has just been started
            raise

    def close(self, *, now: bool = False) -> None:
        """End the session: input is closed, output read to its end, the process ended."""
        try:
            self._portal.call(self._session.close, now=now)
        except SessionClosed:  # the event loop has ended, and every session in it
            return

    def __enter__(self) -> Session[OutputT]:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self.close(now=isinstance(error, KeyboardInterrupt))

    def restart(self, *, resume: bool = True) -> None:
        """End the CLI and start another, which resumes the conversation."""
        self._portal.call(self._session.restart, resume=resume)

    def set_model(self, model: str | None = None, *, timeout: Timeout = DEFAULT) -> SetModelResult:
        """Change the model; None restores the one that the session started with."""
        return self._portal.call(self._session.set_model, model, timeout=timeout)

    def set_permission_mode(
        self, mode: str, *, timeout: Timeout = DEFAULT
    ) -> SetPermissionModeResult:
        """Change the permission mode: `default`, `acceptEdits`, `plan` and so on."""
        return self._portal.call(self._session.set_permission_mode, mode, timeout=timeout)

    def get_context_usage(
        self, detail: str | None = None, *, timeout: Timeout = DEFAULT
    ) -> ContextUsageResult:
        """Return the usage of the context window."""
        return self._portal.call(self._session.get_context_usage, detail, timeout=timeout)

    def rewind_files(
        self, user_message_id: str, *, dry_run: bool | None = None, timeout: Timeout = DEFAULT
    ) -> RewindFilesResult:
        """Restore files to their state at a prompt; `dry_run` only reports what would change."""
        return self.request(RewindFiles(user_message_id, dry_run), timeout=timeout)

    def stop_task(self, task_id: str, *, timeout: Timeout = DEFAULT) -> None:
        """Stop a background task. An unknown id is not an error."""
        self._portal.call(self._session.stop_task, task_id, timeout=timeout)

    def mcp_status(
        self, *, live_reply: bool | None = None, timeout: Timeout = DEFAULT
    ) -> McpStatusResult:
        """Ask for the state of the MCP servers."""
        return self.request(McpStatus(live_reply), timeout=timeout)

    def reconnect_server(self, name: str, *, timeout: Timeout = DEFAULT) -> None:
        """Connect to an MCP server again."""
        self._portal.call(self._session.reconnect_server, name, timeout=timeout)

    def add_server(self, server: object, name: str | None = None) -> str:
        """Add an MCP server, and wait until the CLI has connected to it."""
        return self._portal.call(self._session.add_server, server, name)

    def remove_server(self, name: str) -> None:
        """Remove an MCP server that is in this process, or was added while running."""
        self._portal.call(self._session.remove_server, name)

    def toggle_server(self, name: str, enabled: bool) -> None:
        """Switch an MCP server on or off."""
        self._portal.call(self._session.toggle_server, name, enabled)

    def wait_idle(self, *, tasks: TasksAtEnd = "wait", timeout: float | None = None) -> None:
        """Wait until the session is idle: no turn, asked for or not, and no task."""
        self._portal.call(self._session.wait_idle, tasks=tasks, timeout=timeout)

    def request(self, body: RequestBody[AnswerT], *, timeout: Timeout = DEFAULT) -> AnswerT:
        """Send a request to the CLI and return its answer."""
        return self._portal.call(self._session.request, body, timeout=timeout)

    @property
    def waiting(self) -> Waiting | None:
        """The event that the session waits for, and since when; None without a watchdog."""
        return self._portal.do(lambda: self._session.waiting)

    @property
    def unread(self) -> int:
        """The number of unread messages of all turns."""
        return self._portal.do(lambda: self._session.unread)

    # --- turns -----------------------------------------------------------------------------------

    @property
    def turns(self) -> tuple[Turn[Any], ...]:
        """The unfinished turns: turns in flight, then held turns."""
        turns = self._portal.do(lambda: self._session.turns)
        return tuple(Turn(turn, self._portal) for turn in turns)

    def send(
        self,
        prompt: Prompt,
        *,
        priority: Priority | None = None,
        uuid: str | None = None,
        timeout: float | None = None,
        **fields: Any,
    ) -> Turn[OutputT]:
        """Send a prompt, without waiting: read the answer from the turn."""
        fields |= {"priority": priority, "uuid": uuid, "timeout": timeout}
        return Turn(self._portal.do(self._session.send, prompt, **fields), self._portal)

    @contextmanager
    def turn(self, prompt: Prompt, **fields: Any) -> Iterator[Turn[OutputT]]:
        """Send a prompt for the length of a block: at its end the turn is interrupted.

        with claude.turn("Summarise README.md") as turn:
            for piece in turn.iter_text():
                print(piece, end="")
        """
        turn = self.send(prompt, **fields)
        try:
            yield turn
        finally:
            turn._leave()

    def add_context(self, content: Prompt) -> None:
        """Add to the conversation without asking for an answer: the next prompt finds it there."""
        self._portal.do(self._session.add_context, content)

    def ask(
        self, prompt: Prompt, *, repairs: int | None = None, timeout: float | None = None
    ) -> Reply[OutputT]:
        """Send a prompt and wait for its reply. Output that is not valid is asked for again.

        After `timeout` seconds it raises `TimeoutError`. The turn goes on; `interrupt` stops it.
        """
        return self._portal.call_within(timeout, self._session.ask, prompt, repairs=repairs)

    def interrupt(
        self,
        *,
        queued: Queued = "keep",
        timeout: Timeout = DEFAULT,
        escalate: Escalation | bool = False,
    ) -> InterruptReceipt[Turn[Any]]:
        """Stop the running turn, and wait until it has stopped or the time is over."""
        receipt = self._portal.call(
            self._session.interrupt, queued=queued, timeout=timeout, escalate=escalate
        )
        return own_receipt(receipt, self._portal)

    @property
    def unsolicited(self) -> Reader[Turn[Any]]:
        """The unsolicited turns, in an endless loop until the session ends."""
        turns = self._session.unsolicited
        assert isinstance(turns, ItemQueue)
        return Reader(self._portal, turns, lambda turn: (Turn(turn, self._portal),))

    def events(self, *, limit: int | None = UNREAD_EVENTS) -> Subscription:
        """Subscribe to everything from now on: the events of the wire, and the session's own."""
        return Subscription(self._portal.do(self._session.events, limit=limit), self._portal)


@overload
def open(
    options: Options | None = None,
    *,
    output: type[OutputT],
    transport: Transport | Connect | None = None,
    **changes: Unpack[OptionsWithoutOutput],
) -> Session[OutputT]: ...


@overload
def open(
    options: Options | None = None,
    *,
    transport: Transport | Connect | None = None,
    **changes: Unpack[OptionsDict],
) -> Session[Any]: ...


def open(
    options: Options | None = None,
    *,
    transport: Transport | Connect | None = None,
    **changes: Any,
) -> Session[Any]:
    """Start a CLI and open a session with it. `with` closes it, or `close`.

        with claudewire.sync.open(model="sonnet", cwd="~/project") as claude:
            reply = claude.ask("Make the failing test pass")

    The arguments are those of `claudewire.open`.

    Raises:
        OptionsError: an option is not valid; nothing was started.
        CLIError: the CLI cannot be used; its `cause` says why.
    """
    session: Session[Any] = Session(async_open(options, transport=transport, **changes), portal())
    session._start()
    return session


@overload
def run(
    prompt: Prompt,
    options: Options | None = None,
    *,
    output: type[OutputT],
    tasks: TasksAtEnd = "wait",
    timeout: float | None = None,
    transport: Transport | Connect | None = None,
    **changes: Unpack[OptionsWithoutOutput],
) -> Reply[OutputT]: ...


@overload
def run(
    prompt: Prompt,
    options: Options | None = None,
    *,
    tasks: TasksAtEnd = "wait",
    timeout: float | None = None,
    transport: Transport | Connect | None = None,
    **changes: Unpack[OptionsDict],
) -> Reply[Any]: ...


def run(
    prompt: Prompt,
    options: Options | None = None,
    *,
    tasks: TasksAtEnd = "wait",
    timeout: float | None = None,
    transport: Transport | Connect | None = None,
    **changes: Any,
) -> Reply[Any]:
    """Start a CLI, send it one prompt, and return the reply.

        reply = claudewire.sync.run("Summarise README.md", allow=["Read"])
        print(reply.text, reply.cost_usd)

    The arguments are those of `claudewire.run`, and `timeout`: how many seconds everything may
    take. After that the CLI is ended.

    Raises:
        TimeoutError: there was no reply in time.
        Error: see `claudewire.run`.
    """
    if timeout is not None:
        checked("timeout", timeout, float)
    work = partial(async_run, prompt, options, tasks=tasks, transport=transport, **changes)
    return portal().call_within(timeout, work)


class Pool:
    """A pool of CLIs that are started ahead of time.

        with claudewire.sync.Pool(model="sonnet") as pool:
            with pool.open() as claude:
                reply = claude.ask("Hello")

    Arguments and methods are those of `claudewire.Pool`. Methods that wait take a `timeout` in
    seconds, and raise `TimeoutError` after it.
    """

    def __init__(
        self,
        options: Options | None = None,
        *,
        size: int = 2,
        max_starting: int = 4,
        transport: Connect | None = None,
        **changes: Unpack[OptionsDict],
    ) -> None:
        self._pool = AsyncPool(
            options,
            size=size,
            max_starting=max_starting,
            transport=transport,
            **changes,
        )
        self._portal = portal()

    @property
    def options(self) -> Options:
        """The options of every session."""
        return self._pool.options

    @property
    def stats(self) -> PoolStats:
        """The number of CLIs, and how often one was ready."""
        return self._portal.do(lambda: self._pool.stats)

    def start(self) -> Pool:
        """Start to fill the pool, without waiting; `ready` waits."""
        self._portal.close_at_exit(self._pool)
        self._portal.call(self._pool.start)
        return self

    def close(self) -> None:
        """End all CLIs that are idle or starting. No session can be opened after that."""
        self._portal.call(self._pool.close)

    def __enter__(self) -> Pool:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, *, name: str | None = None, timeout: float | None = None) -> Session[Any]:
        """Open a session."""

        async def take() -> AsyncSession[Any]:
            return await self._pool.open(name=name)

        return Session(self._portal.call_within(timeout, take), self._portal)

    def ready(self, *, timeout: float | None = None) -> None:
        """Wait until the pool is full."""
        self._portal.call_within(timeout, self._pool.ready)
