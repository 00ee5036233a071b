"""Sessions without async: `open` for a conversation, `run` for a single answer."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ..content import to_content
from ..errors import SessionClosed
from ..options import seconds
from ..session import (
    DEFAULT,
    TASKS_MAY_TAKE,
    UNREAD_EVENTS,
    Escalation,
    ItemQueue,
    OutputT,
    Priority,
    Queued,
    TasksAtEnd,
    Timeout,
    check_tasks,
)
from ..session import Session as AsyncSession
from ..session import open as async_open
from .portal import Portal, portal
from .turn import InterruptReceipt, Reader, Subscription, Turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Unpack

    from ..content import Prompt
    from ..errors import Error
    from ..launch import Connect
    from ..options import Options, OptionsDict, OptionsWithoutOutput
    from ..people import Inbox
    from ..policy import Explanation
    from ..session import Reply, SessionState, Waiting
    from ..session import Turn as AsyncTurn
    from ..tracking import Ledger, TaskTable
    from ..transport import Transport
    from ..wire import (
        ContextUsageResult,
        Event,
        InitializeResult,
        InitMessage,
        McpStatusResult,
        RequestBody,
        RewindFilesResult,
        SetModelResult,
        SetPermissionModeResult,
    )

__all__ = ["Session", "open", "run"]

AnswerT = TypeVar("AnswerT")


class Session(Generic[OutputT]):
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

    def restart(self, *, resume: bool = True) -> None:
        """End the CLI and start another, which resumes the conversation."""
        self._portal.call(self._session.restart, resume=resume)

    def __enter__(self) -> Session[OutputT]:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self.close(now=isinstance(error, KeyboardInterrupt))

    def __repr__(self) -> str:
        return repr(self._session)

    # --- facts -----------------------------------------------------------------------------------

    @property
    def options(self) -> Options:
        """What the CLI is asked for and how the session behaves."""
        return self._session.options

    @property
    def state(self) -> SessionState:
        """What the session is doing."""
        return self._session.state

    @property
    def failure(self) -> Error | None:
        """Why the session is over. Every call raises it."""
        return self._session.failure

    @property
    def session_id(self) -> str | None:
        """The id of the conversation, as the CLI reports it at the beginning of the first turn."""
        return self._session.session_id

    @property
    def cli_info(self) -> InitializeResult | None:
        """What the CLI reported when it was started: commands, models, agents, account."""
        return self._session.cli_info

    @property
    def init_message(self) -> InitMessage | None:
        """What the CLI reported at the beginning of the last turn: tools, mode, version."""
        return self._session.init_message

    @property
    def pid(self) -> int | None:
        """The CLI's process id, if it is a process."""
        return self._session.pid

    @property
    def waiting(self) -> Waiting | None:
        """What the session waits for, and since when by the event loop's clock."""
        return self._portal.do(lambda: self._session.waiting)

    @property
    def inbox(self) -> Inbox:
        """The requests that wait for a person."""
        return self._session.inbox

    @property
    def name(self) -> str:
        """The name of the session in its inbox and in logs: the option `name`, or a number."""
        return self._session.name

    @property
    def tasks(self) -> TaskTable:
        """The tasks that run in the background."""
        return self._session.tasks

    @property
    def ledger(self) -> Ledger:
        """The tokens that were used, and what they cost."""
        return self._session.ledger

    @property
    def turns(self) -> tuple[Turn[Any], ...]:
        """The turns that are not over: those that the CLI has, then those that are held here."""
        return self._own(self._portal.do(lambda: self._session.turns))

    @property
    def unread(self) -> int:
        """How many messages have not been read yet, over all turns."""
        return self._session.unread

    @property
    def notices(self) -> tuple[Event, ...]:
        """The last events that belong to no turn: bad lines, messages between turns."""
        return self._session.notices

    # --- turns -----------------------------------------------------------------------------------

    def send(
        self,
        prompt: Prompt,
        *,
        priority: Priority | None = None,
        uuid: str | None = None,
        **fields: Any,
    ) -> Turn[OutputT]:
        """Send a prompt. It does not wait: the answer is read from the turn."""
        turn = self._portal.do(self._session.send, prompt, priority=priority, uuid=uuid, **fields)
        return Turn(turn, self._portal)

    @contextmanager
    def turn(
        self,
        prompt: Prompt,
        *,
        priority: Priority | None = None,
        uuid: str | None = None,
        **fields: Any,
    ) -> Iterator[Turn[OutputT]]:
        """Send a prompt for the length of a block: when the block is left, the turn is interrupted.

        with claude.turn("Summarise README.md") as turn:
            for piece in turn.iter_text():
                print(piece, end="")
        """
        turn = self.send(prompt, priority=priority, uuid=uuid, **fields)
        try:
            yield turn
        finally:
            turn._leave()

    def tell(self, content: Prompt) -> None:
        """Add to the conversation without asking for an answer: the next prompt finds it there."""
        self._portal.do(self._session.tell, content)

    def ask(
        self, prompt: Prompt, *, repairs: int | None = None, timeout: float | None = None
    ) -> Reply[OutputT]:
        """Send a prompt and wait for its reply. Output that is not valid is asked for again.

        After `timeout` seconds it raises `TimeoutError`. The turn goes on; `interrupt` stops it.
        """
        return self._portal.call_within(timeout, self._session.ask, prompt, repairs=repairs)

    def explain_permissions(self) -> Explanation:
        """Explain which tools can ever reach a person with these options, and what shadows what."""
        return self._session.explain_permissions()

    @property
    def unsolicited(self) -> Reader[Turn[Any]]:
        """The turns that the CLI begins by itself, in an endless loop until the session ends."""
        turns = self._session.unsolicited
        assert isinstance(turns, ItemQueue)
        return Reader(self._portal, turns, lambda turn: self._own((turn,)))

    def events(self, *, limit: int | None = UNREAD_EVENTS) -> Subscription:
        """Subscribe to everything from now on: the events of the wire, and the session's own."""
        return Subscription(self._portal.do(self._session.events, limit=limit), self._portal)

    def _own(self, turns: Iterable[AsyncTurn[Any]]) -> tuple[Turn[Any], ...]:
        """Make turns of this API out of those of the async one."""
        return tuple(Turn(turn, self._portal) for turn in turns)

    # --- requests --------------------------------------------------------------------------------

    def request(self, body: RequestBody[AnswerT], *, timeout: Timeout = DEFAULT) -> AnswerT:
        """Send a request to the CLI and return its answer."""
        return self._portal.call(self._session.request, body, timeout=timeout)

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
        """Ask what fills the context window."""
        return self._portal.call(self._session.get_context_usage, detail, timeout=timeout)

    def rewind_files(
        self, user_message_id: str, *, dry_run: bool | None = None, timeout: Timeout = DEFAULT
    ) -> RewindFilesResult:
        """Restore files to their state at a prompt; `dry_run` only reports what would change."""
        return self._portal.call(
            self._session.rewind_files, user_message_id, dry_run=dry_run, timeout=timeout
        )

    def stop_task(self, task_id: str, *, timeout: Timeout = DEFAULT) -> None:
        """Stop a background task. An unknown id is not an error."""
        self._portal.call(self._session.stop_task, task_id, timeout=timeout)

    def mcp_status(
        self, *, live_reply: bool | None = None, timeout: Timeout = DEFAULT
    ) -> McpStatusResult:
        """Ask for the state of the MCP servers."""
        return self._portal.call(self._session.mcp_status, live_reply=live_reply, timeout=timeout)

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

    def interrupt(
        self,
        *,
        queued: Queued = "keep",
        timeout: Timeout = DEFAULT,
        escalate: Escalation | bool = False,
    ) -> InterruptReceipt:
        """Stop the running turn, and wait until it has stopped or the time is over."""
        receipt = self._portal.call(
            self._session.interrupt, queued=queued, timeout=timeout, escalate=escalate
        )
        return InterruptReceipt._of(receipt, self._portal)

    def wait_idle(self, *, tasks: TasksAtEnd = "wait", timeout: float | None = None) -> None:
        """Wait until the session is idle: no turn, asked for or not, and no task."""
        self._portal.call(self._session.wait_idle, tasks=tasks, timeout=timeout)

    def finish_tasks(self, tasks: TasksAtEnd, seconds: float) -> None:
        """Wait for background tasks for up to `seconds`, then stop them; see `wait_idle`."""
        self._portal.call(self._session.finish_tasks, tasks, seconds)


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
    """Start a CLI and open a session with it. It is closed by `with`, or by `close`.

        with claudewire.sync.open(model="sonnet", cwd="~/project") as claude:
            reply = claude.ask("Make the failing test pass")

    The arguments are those of `claudewire.open`.

    Raises:
        OptionsError: the options make no sense; nothing was started.
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

    The arguments are those of `claudewire.run`, and `timeout`: how many seconds the reply may take.
    After that the CLI is ended.

    Raises:
        TimeoutError: there was no reply in time.
        Error: see `claudewire.run`.
    """
    check_tasks(tasks)
    to_content(prompt)  # before a CLI is started for it
    if timeout is not None:
        seconds("timeout", timeout)
    with open(options, transport=transport, **changes) as session:
        reply = session.ask(prompt, timeout=timeout)
        session.finish_tasks(tasks, TASKS_MAY_TAKE)
        return reply
