"""One CLI process, one conversation, without async."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..errors import SessionClosed
from ..options import Options
from ..session import (
    DEFAULT,
    Escalation,
    ItemQueue,
    OutputT,
    Priority,
    Queued,
    SessionState,
    TasksAtEnd,
    Timeout,
)
from ..session import InterruptReceipt as AsyncReceipt
from ..session import Session as AsyncSession
from ..wire import (
    GetContextUsage,
    McpReconnect,
    McpStatus,
    RewindFiles,
    SetModel,
    SetPermissionMode,
    StopTask,
)
from .portal import Portal, portal
from .turn import InterruptReceipt, Reader, Subscription, Turn

if TYPE_CHECKING:
    from ..content import Prompt
    from ..errors import Error
    from ..launch import Connect
    from ..people import Inbox
    from ..policy import Explanation
    from ..session import Reply, Waiting
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

__all__ = ["Session"]

AnswerT = TypeVar("AnswerT")


class Session(Generic[OutputT]):
    """One CLI process and the conversation with it, for code without async.

        with claudewire.sync.open(model="sonnet") as claude:
            reply = claude.ask("Hello")

    or, where a block does not fit, `claude = claudewire.sync.open(…).start()` and later
    `claude.close()`.

    It may be used by several threads at once, and inside of a running event loop, which then waits
    as well. Handlers that are plain functions run in threads of their own, and may use the session.

    Args:
        options: what the CLI is asked for and how the session behaves.
        transport: what to talk over instead of a process of our own, or how to get it.
    """

    def __init__(
        self, options: Options | None = None, *, transport: Transport | Connect | None = None
    ) -> None:
        self._session: AsyncSession[OutputT] = AsyncSession(options, transport=transport)
        self._portal = portal()

    @classmethod
    def of(cls, session: AsyncSession[OutputT], portal: Portal) -> Session[OutputT]:
        """Make one of a session that lives in the event loop behind a portal."""
        self = cls.__new__(cls)
        self._session, self._portal = session, portal
        portal.keep(session)
        return self

    # --- beginning and end -----------------------------------------------------------------------

    def start(self) -> Session[OutputT]:
        """Start the CLI and open the conversation.

        Raises:
            OptionsError: the options make no sense; nothing was started.
            CLIError: the CLI cannot be used; its `cause` says why.
        """
        is_new = self.state is SessionState.NEW
        self._portal.keep(self._session)
        try:
            self._portal.call(self._session.start)
        except BaseException:
            if is_new:
                self.close(now=True)  # it may have been started just before an interrupt
            raise
        return self

    def close(self, *, now: bool = False) -> None:
        """End the session: input is closed, output read to its end, the process ended.

        It never raises for what the CLI did; it is safe to call twice and from any thread. If the
        caller is interrupted, the end takes its course all the same.

        Args:
            now: do not give the CLI time to exit by itself.
        """

        async def close() -> None:
            await self._session.close(now=now)

        try:
            self._portal.call(close)
        except SessionClosed:  # the event loop has gone, and all that was in it
            return

    def restart(self, *, resume: bool = True) -> None:
        """End the CLI and start another, which goes on with the same conversation.

        The turns that the CLI had fail; those that wait here are sent to the new one. A session
        that has failed lives again.

        Args:
            resume: False to begin a new conversation.

        Raises:
            CLIError: the new one cannot be used.
        """

        async def restart() -> None:
            await self._session.restart(resume=resume)

        self._portal.call(restart)

    def __enter__(self) -> Session[OutputT]:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Whoever presses Ctrl-C does not want to wait.
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
        """Why the session is over; every call raises the same."""
        return self._session.failure

    @property
    def session_id(self) -> str | None:
        """The conversation's id, as the CLI says it: known when the first turn has begun."""
        return self._session.session_id

    @property
    def cli_info(self) -> InitializeResult | None:
        """What the CLI said of itself when it was opened: commands, models, agents, account."""
        return self._session.cli_info

    @property
    def init_message(self) -> InitMessage | None:
        """What the CLI said at the beginning of the last turn: tools, servers, mode, version."""
        return self._session.init_message

    @property
    def pid(self) -> int | None:
        """The CLI's process id, if it is a process."""
        return self._session.pid

    @property
    def waiting(self) -> Waiting | None:
        """What the session waits for, and since when on the event loop's clock."""
        return self._portal.do(lambda: self._session.waiting)

    @property
    def inbox(self) -> Inbox:
        """What waits for a person."""
        return self._session.inbox

    @property
    def name(self) -> str:
        """What the session is called in its inbox, as the `session` of what waits there."""
        return self._session.name

    @property
    def tasks(self) -> TaskTable:
        """What runs in the background."""
        return self._session.tasks

    @property
    def ledger(self) -> Ledger:
        """What has been used and what it cost."""
        return self._session.ledger

    @property
    def turns(self) -> tuple[Turn[Any], ...]:
        """The turns that are not over: those that the CLI has, then those that wait here."""
        turns = self._portal.do(lambda: self._session.turns)
        return tuple(Turn(turn, self._portal) for turn in turns)

    @property
    def unread(self) -> int:
        """How many messages nobody has read yet, over all turns."""
        return self._session.unread

    @property
    def notices(self) -> tuple[Event, ...]:
        """The last events that belong to no turn: bad lines, news between turns."""
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
        """Say something. It does not wait: what comes back is read from the turn.

        Prompts wait their turn here, one after the other. With a priority a prompt goes to the CLI
        at once, which takes it up in the middle of the running turn (`now`), after its next step
        (`next`), or when it is over (`later`).

        Args:
            prompt: text, or a list of texts, images and documents.
            priority: see above.
            uuid: the prompt's name on the wire; made up if not given.
            fields: further fields of `UserMessage`.

        Raises:
            Error: the session is closed or has failed; always the original reason.
        """
        turn = self._portal.do(self._session.send, prompt, priority=priority, uuid=uuid, **fields)
        return Turn(turn, self._portal)

    def tell(self, content: Prompt) -> None:
        """Add to the conversation without asking for an answer: the next prompt finds it there.

        Raises:
            Error: the session is closed or has failed; always the original reason.
        """
        self._portal.do(self._session.tell, content)

    def ask(
        self, prompt: Prompt, *, repairs: int | None = None, timeout: float | None = None
    ) -> Reply[OutputT]:
        """Send a prompt and wait for its reply. Output that does not fit is asked for again.

        Args:
            prompt: see `send`.
            repairs: how often to ask again; as the options say if not given.
            timeout: how long to wait at most. The turn goes on then; `interrupt` stops it.

        Raises:
            OutputError: the output is still not of the type that was asked for.
            TimeoutError: there was no reply in time.
            Error: see `Turn.reply`.
        """

        async def ask() -> Reply[OutputT]:
            return await self._session.ask(prompt, repairs=repairs)

        return self._portal.call(ask, timeout=timeout)

    def explain_permissions(self) -> Explanation:
        """Say which tools can ever reach a person with these options, and what shadows what."""
        return self._session.explain_permissions()

    @property
    def unsolicited(self) -> Reader[Turn[Any]]:
        """The turns that nobody asked for, in an endless loop until the session ends."""
        turns = self._session.unsolicited
        assert isinstance(turns, ItemQueue)
        return Reader(self._portal, turns, lambda turn: (Turn(turn, self._portal),))

    def events(self, *, limit: int | None = None) -> Subscription:
        """Listen to everything from now on: each event of the wire, and the session's own news.

        Args:
            limit: how many to keep while nobody reads; all if not given.
        """
        return Subscription(self._portal.do(self._session.events, limit=limit), self._portal)

    # --- control ---------------------------------------------------------------------------------

    def request(self, body: RequestBody[AnswerT], *, timeout: Timeout = DEFAULT) -> AnswerT:
        """Send a request to the CLI and return its answer."""

        async def request() -> AnswerT:
            return await self._session.request(body, timeout=timeout)

        return self._portal.call(request)

    def set_model(self, model: str | None = None, *, timeout: Timeout = DEFAULT) -> SetModelResult:
        """Change the model; None restores the one that the session started with."""
        return self.request(SetModel(model), timeout=timeout)

    def set_permission_mode(
        self, mode: str, *, timeout: Timeout = DEFAULT
    ) -> SetPermissionModeResult:
        """Change the permission mode: `default`, `acceptEdits`, `plan` and so on."""
        return self.request(SetPermissionMode(mode), timeout=timeout)

    def get_context_usage(
        self, detail: str | None = None, *, timeout: Timeout = DEFAULT
    ) -> ContextUsageResult:
        """Ask what fills the context window."""
        return self.request(GetContextUsage(detail), timeout=timeout)

    def rewind_files(
        self, user_message_id: str, *, dry_run: bool | None = None, timeout: Timeout = DEFAULT
    ) -> RewindFilesResult:
        """Restore files to their state at a prompt; `dry_run` only reports what would change."""
        return self.request(RewindFiles(user_message_id, dry_run), timeout=timeout)

    def stop_task(self, task_id: str, *, timeout: Timeout = DEFAULT) -> None:
        """Stop a background task. An unknown id is not an error."""
        self.request(StopTask(task_id), timeout=timeout)

    def mcp_status(
        self, *, live_reply: bool | None = None, timeout: Timeout = DEFAULT
    ) -> McpStatusResult:
        """Ask for the state of the MCP servers."""
        return self.request(McpStatus(live_reply), timeout=timeout)

    def reconnect_server(self, name: str, *, timeout: Timeout = DEFAULT) -> None:
        """Connect to an MCP server again."""
        self.request(McpReconnect(name), timeout=timeout)

    def add_server(self, server: object, name: str | None = None) -> str:
        """Give the CLI one more MCP server, and wait until it has met it.

        Args:
            server: a `ToolServer`, a server object of the `mcp` package, or the configuration of a
                server outside this process.
            name: what it is called; a server inside has a name of its own.

        Returns:
            Its name: the model sees its tools as `mcp__NAME__TOOL`.

        Raises:
            TypeError: it is no server.
            ValueError: there is one of that name, or it has none.
            RequestError: the CLI cannot connect to it, or is too old; it is then not added.
        """
        return self._portal.call(self._session.add_server, server, name)

    def remove_server(self, name: str) -> None:
        """Take an MCP server away that is inside this process, or was added while running.

        What it is still doing is cancelled, and the model told so.

        Raises:
            ValueError: there is no such server.
        """
        self._portal.call(self._session.remove_server, name)

    def toggle_server(self, name: str, enabled: bool) -> None:
        """Switch any MCP server on or off; those inside and added ones also with an old CLI.

        Raises:
            RequestError: the CLI does not know it.
        """
        self._portal.call(self._session.toggle_server, name, enabled)

    def interrupt(
        self,
        *,
        queued: Queued = "keep",
        timeout: Timeout = DEFAULT,
        escalate: Escalation | bool = False,
    ) -> InterruptReceipt:
        """Stop the running turn, and wait until it has stopped.

        It works at any time: before the turn has begun, during a tool, while a permission is
        pending. What was queued stays queued unless it is told otherwise.

        Args:
            queued: `cancel` also drops the prompts that wait, here and in the CLI.
            timeout: for the whole of it. When only the turn's result is late, the receipt has none.
            escalate: what to do with a CLI that does not stop; True for the usual steps.

        Raises:
            RequestTimeout: the CLI did not acknowledge, and was not to be ended.
        """

        async def interrupt() -> AsyncReceipt:
            return await self._session.interrupt(queued=queued, timeout=timeout, escalate=escalate)

        return self._receipt(self._portal.call(interrupt))

    def _receipt(self, receipt: AsyncReceipt) -> InterruptReceipt:
        turn = receipt.turn
        return InterruptReceipt(
            receipt.acknowledged,
            None if turn is None else Turn(turn, self._portal),
            receipt.result,
            tuple(Turn(it, self._portal) for it in receipt.still_queued),
            tuple(Turn(it, self._portal) for it in receipt.cancelled),
            receipt.steps,
        )

    def wait_idle(self, *, tasks: TasksAtEnd = "wait", timeout: float | None = None) -> None:
        """Wait until nothing is to be done: no turn, asked for or not, and no task.

        Args:
            tasks: `wait` for background tasks, `ignore` them, or `cancel` them.
            timeout: how long at most; a `TimeoutError` then.

        Raises:
            Error: the session fails meanwhile.
        """

        async def wait_idle() -> None:
            await self._session.wait_idle(tasks=tasks, timeout=timeout)

        self._portal.call(wait_idle)

    def finish_tasks(self, tasks: TasksAtEnd, seconds: float) -> None:
        """Wait for background tasks as long as this, then stop them; or as `wait_idle` does."""
        self._portal.call(self._session.finish_tasks, tasks, seconds)
