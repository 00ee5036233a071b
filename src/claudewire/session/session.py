"""One CLI process, one conversation."""

from __future__ import annotations

import logging
import os
import uuid
import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from enum import Enum
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, get_args

import anyio

from ..content import Prompt, to_content
from ..errors import OptionsError, OutputError, SessionClosed, TransportClosed, TurnCancelled
from ..launch import Connect, check_transport, claim_for
from ..options import Options
from ..transport import Transport
from ..wire import (
    CancelAsyncMessage,
    ContextUsageResult,
    Event,
    GetContextUsage,
    McpReconnect,
    McpStatus,
    McpStatusResult,
    RequestBody,
    RewindFiles,
    RewindFilesResult,
    SetModel,
    SetModelResult,
    SetPermissionMode,
    SetPermissionModeResult,
    StopTask,
    UserMessage,
)
from .core import Core
from .events import SessionEvent, SessionState, Subscription
from .facts import Facts
from .idling import until_idle
from .interrupt import Escalation, InterruptReceipt, Queued, interrupt
from .reply import OutputT, Reply
from .requests import Desk
from .startup import Beginner, options_to_resume
from .turn import AnyTurn, Turn, TurnState

if TYPE_CHECKING:
    from ..policy import Explanation
    from ..schemas import OutputSpec

__all__ = ["Session", "check_tasks"]

AnswerT = TypeVar("AnswerT")

Priority = Literal["now", "next", "later"]
TasksAtEnd = Literal["wait", "ignore", "cancel"]


class _Default(Enum):
    DEFAULT = "default"


DEFAULT: Final = _Default.DEFAULT
"""The timeout that the session was opened with."""

Timeout = float | None | Literal[_Default.DEFAULT]
"""Seconds, None to wait without limit, or `DEFAULT`."""

log: logging.Logger = logging.getLogger("claudewire.session")


class Session(Facts, Generic[OutputT]):
    """One CLI process and the conversation with it.

        async with claudewire.open(model="sonnet") as claude:
            reply = await claude.send("Hello")

    or, where a block does not fit, `claude = await claudewire.open(…)` and later
    `await claude.close()`, from the same task or another.

    A session is generic in the type of its output: `claudewire.open(output=T)` gives a
    `Session[T]`, whose replies have an `output` of that type.

    Args:
        options: what the CLI is asked for and how the session behaves.
        transport: what to talk over instead of a process of our own, or how to get it.
    """

    def __init__(
        self, options: Options | None = None, *, transport: Transport | Connect | None = None
    ) -> None:
        check_transport(transport)
        self.options: Options = options or Options()
        self._process = os.getpid()
        self._desk = Desk(self.options, weakref.ref(self))
        output = self.options.output
        if output is None:
            output = self.options.json_schema
        self._output: OutputSpec[OutputT] | None = None
        if output is not None:
            from ..schemas import OutputSpec  # most sessions need none

            self._output = OutputSpec.of(output)
        self._core = Core(
            self._desk,
            unread=self.options.unread,
            budgets=self.options.budgets,
            prices=self.options.prices,
            patience=self.options.timeouts.interrupt,
            on_stderr=self.options.on_stderr,
            claim=claim_for(self.options, transport),
        )
        self._beginner = Beginner(self._core, self._desk, transport, _restarter(self))

    # --- beginning and end -----------------------------------------------------------------------

    async def start(self) -> Session[OutputT]:
        """Start the CLI and open the conversation.

        Raises:
            OptionsError: the options make no sense; nothing was started.
            CLIError: the CLI cannot be used; its `cause` says why.
        """
        if self._core.state is not SessionState.NEW:
            raise SessionClosed(f"The session cannot be started again: it is {self.state}")
        self._core.go(SessionState.STARTING)
        await self._beginner.begin(self._for_cli(self.options))
        return self

    async def close(self, *, now: bool = False) -> None:
        """End the session: input is closed, output read to its end, the process ended.

        It never raises for what the CLI did; it is safe to call twice and from any task. If the
        caller is cancelled, the end takes its course all the same.

        Args:
            now: do not give the CLI time to exit by itself.
        """
        core = self._core
        core.close(now=now)
        with anyio.CancelScope(shield=True):
            await core.changed.until(lambda: core.is_dead)

    async def restart(self, *, resume: bool = True) -> None:
        """End the CLI and start another, which goes on with the same conversation.

        The turns that the CLI had fail; those that wait here are sent to the new one. A session
        that has failed lives again.

        Args:
            resume: False to begin a new conversation.

        Raises:
            CLIError: the new one cannot be used.
        """
        core = self._core
        if core.state is SessionState.STARTING:
            # Somebody is at it already.
            await core.changed.until(lambda: core.state is not SessionState.STARTING)
            core.check()
            return
        options = options_to_resume(self.options, self.session_id) if resume else self.options
        core.begin_restart()
        await self._beginner.begin(self._for_cli(options))

    def _for_cli(self, options: Options) -> Options:
        """Say in the CLI's terms what the output is to be."""
        if self._output is None:
            return options
        return options.replace(output=None, json_schema=self._output.schema)

    async def __aenter__(self) -> Session[OutputT]:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __await__(self) -> Generator[Any, None, Session[OutputT]]:
        return self.start().__await__()

    def __del__(self) -> None:
        core: Core | None = getattr(self, "_core", None)
        link = None if core is None else core.link
        if link is None or link.finished.is_set() or self._process != os.getpid():
            return  # a fork has a copy of the session, which is not its own to end
        warnings.warn(f"{self!r} was never closed", ResourceWarning, stacklevel=1, source=self)
        link.kill_now()

    def __repr__(self) -> str:
        return f"<Session {self.session_id or 'without an id'} {self.state} pid={self.pid}>"

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
            OptionsError: there is no such priority, or the prompt makes no sense.
            ValueError: `should_query=False` asks for no answer; see `tell`.
            Error: the session is closed or has failed; always the original reason.
        """
        if priority is not None and priority not in get_args(Priority):
            raise OptionsError(f"priority is one of now, next, later, not {priority!r}")
        if fields.get("should_query") is False:
            raise ValueError("No turn would follow, and nothing to wait for: use tell() instead")
        if not self._core.is_starting:
            self._core.check()
        if self._core.spent is not None:
            raise self._core.spent
        message = UserMessage.of(
            to_content(prompt),
            uuid=uuid or new_uuid(),
            priority=priority,
            **{**self._fields(), **fields},
        )
        turn: Turn[OutputT] = Turn(
            message,
            self._core.unread,
            read_output=None if self._output is None else self._output.read,
            withdraw=self._withdraw,
        )
        self._core.conversation.hold(turn)
        self._core.settle()
        return turn

    def tell(self, content: Prompt) -> None:
        """Add to the conversation without asking for an answer: the next prompt finds it there.

        Raises:
            Error: the session is closed or has failed; always the original reason.
        """
        message = UserMessage.of(to_content(content), uuid=new_uuid(), should_query=False)
        self._core.check().post(message)

    def _fields(self) -> dict[str, Any]:
        return {"client_composed": True} if self.options.verbatim_prompts else {}

    async def ask(self, prompt: Prompt, *, repairs: int | None = None) -> Reply[OutputT]:
        """Send a prompt and wait for its reply. Output that does not fit is asked for again.

        Args:
            prompt: see `send`.
            repairs: how often to ask again; as the options say if not given.

        Raises:
            OutputError: the output is still not of the type that was asked for.
            Error: see `Turn.reply`.
        """
        left = self.options.repairs if repairs is None else repairs
        while True:
            try:
                return await self.send(prompt)
            except OutputError as error:
                if left <= 0 or self._output is None:
                    raise
                left -= 1
                prompt = self._output.repair_prompt(error.problem)

    async def _withdraw(self, turn: AnyTurn) -> bool:
        cancelled = TurnCancelled("The turn was cancelled before it began")
        if turn.state is TurnState.SENT:
            answer = await self.request(CancelAsyncMessage(str(turn.uuid)))
            if not answer.cancelled:
                return False
        elif turn.state is not TurnState.HELD:
            return False
        self._core.conversation.drop(turn, cancelled)
        self._core.settle()
        return True

    def explain_permissions(self) -> Explanation:
        """Say which tools can ever reach a person with these options, and what shadows what."""
        from .reachability import explain_options

        return explain_options(self.options)

    @property
    def unsolicited(self) -> AsyncIterator[AnyTurn]:
        """The turns that nobody asked for, in an endless loop until the session ends."""
        return self._core.unsolicited

    def events(self, *, limit: int | None = None) -> Subscription[Event | SessionEvent]:
        """Listen to everything from now on: each event of the wire, and the session's own news.

        Args:
            limit: how many to keep while nobody reads; all if not given.
        """
        return self._core.subscriptions.add(limit)

    # --- control ---------------------------------------------------------------------------------

    async def request(self, body: RequestBody[AnswerT], *, timeout: Timeout = DEFAULT) -> AnswerT:
        """Send a request to the CLI and return its answer.

            models = await session.request(claudewire.wire.ListModels())

        If the caller is cancelled, the request is withdrawn.

        Args:
            body: any request of `claudewire.wire`.
            timeout: seconds to wait for the answer; `Timeouts.request` if not given.

        Raises:
            UnsupportedRequest: the CLI does not know this request.
            RequestTimeout: the CLI did not answer in time.
            RequestError: the CLI refused.
            Error: the session is closed or has failed; always the original reason.
        """
        link = self._core.check()
        seconds = self.options.timeouts.request if timeout is DEFAULT else timeout
        self._core.changed.notify()  # the watchdog looks what is waited for now
        try:
            answer = await link.ask(body, timeout=seconds)
        except TransportClosed:
            raise await self._core.reason(link) from None
        if isinstance(answer, ContextUsageResult):
            self._core.ledger.note_context(answer)
        return answer

    async def set_model(
        self, model: str | None = None, *, timeout: Timeout = DEFAULT
    ) -> SetModelResult:
        """Change the model; None restores the one that the session started with."""
        return await self.request(SetModel(model), timeout=timeout)

    async def set_permission_mode(
        self, mode: str, *, timeout: Timeout = DEFAULT
    ) -> SetPermissionModeResult:
        """Change the permission mode: `default`, `acceptEdits`, `plan` and so on."""
        return await self.request(SetPermissionMode(mode), timeout=timeout)

    async def get_context_usage(
        self, detail: str | None = None, *, timeout: Timeout = DEFAULT
    ) -> ContextUsageResult:
        """Ask what fills the context window."""
        return await self.request(GetContextUsage(detail), timeout=timeout)

    async def rewind_files(
        self, user_message_id: str, *, dry_run: bool | None = None, timeout: Timeout = DEFAULT
    ) -> RewindFilesResult:
        """Restore files to their state at a prompt; `dry_run` only reports what would change."""
        return await self.request(RewindFiles(user_message_id, dry_run), timeout=timeout)

    async def stop_task(self, task_id: str, *, timeout: Timeout = DEFAULT) -> None:
        """Stop a background task. An unknown id is not an error."""
        await self.request(StopTask(task_id), timeout=timeout)

    async def mcp_status(
        self, *, live_reply: bool | None = None, timeout: Timeout = DEFAULT
    ) -> McpStatusResult:
        """Ask for the state of the MCP servers."""
        return await self.request(McpStatus(live_reply), timeout=timeout)

    async def reconnect_server(self, name: str, *, timeout: Timeout = DEFAULT) -> None:
        """Connect to an MCP server again."""
        await self.request(McpReconnect(name), timeout=timeout)

    async def add_server(self, server: object, name: str | None = None) -> str:
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
        return await self._desk.servers.add(self, server, name)

    async def remove_server(self, name: str) -> None:
        """Take an MCP server away that is inside this process, or was added while running.

        What it is still doing is cancelled, and the model told so.

        Raises:
            ValueError: there is no such server.
        """
        await self._desk.servers.remove(self, name)

    async def toggle_server(self, name: str, enabled: bool) -> None:
        """Switch any MCP server on or off; those inside and added ones also with an old CLI.

        Raises:
            RequestError: the CLI does not know it.
        """
        await self._desk.servers.toggle(self, name, enabled)

    async def interrupt(
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
        seconds = self.options.timeouts.interrupt if timeout is DEFAULT else timeout
        escalation = Escalation() if escalate is True else escalate or None
        core = self._core
        link = core.check()
        core.keeps_held = escalation is not None and escalation.restart
        try:
            receipt = await interrupt(core, queued=queued, timeout=seconds, escalation=escalation)
            if core.keeps_held and core.is_dead:
                await self.restart()
        except TransportClosed:
            raise await core.reason(link) from None
        finally:
            core.keeps_held = False
            if core.failure is not None and core.is_dead:
                core.conversation.drop_held(core.failure)
        return receipt

    async def wait_idle(self, *, tasks: TasksAtEnd = "wait", timeout: float | None = None) -> None:
        """Wait until nothing is to be done: no turn, asked for or not, and no task.

        Args:
            tasks: `wait` for background tasks, `ignore` them, or `cancel` them.
            timeout: how long at most; a `TimeoutError` then.

        Raises:
            Error: the session fails meanwhile.
        """
        check_tasks(tasks)
        with anyio.fail_after(timeout):
            await until_idle(self._core, with_tasks=False)
            if tasks == "cancel":
                await self._stop_tasks()
            if tasks != "ignore":
                await until_idle(self._core, with_tasks=True)

    async def _stop_tasks(self) -> None:
        for task in self.tasks.running:
            if task.reported:  # the end of others is never told
                await self.stop_task(task.id)

    async def finish_tasks(self, tasks: TasksAtEnd, seconds: float) -> None:
        """Wait for background tasks as long as this, then stop them; or as `wait_idle` does."""
        try:
            await self.wait_idle(tasks=tasks, timeout=seconds)
        except TimeoutError:
            log.warning("Background tasks did not end within %g s and are stopped", seconds)
            await self._stop_tasks()


def check_tasks(tasks: object) -> None:
    """Refuse what cannot be done with background tasks."""
    if tasks not in get_args(TasksAtEnd):
        raise OptionsError(f"tasks is one of wait, ignore, cancel, not {tasks!r}")


def _restarter(session: Session) -> Callable[[], Coroutine[Any, Any, None]]:
    this = weakref.ref(session)  # the watchdog may not keep the session alive

    async def restart() -> None:
        if (session := this()) is not None:
            await session.restart()

    return restart


def new_uuid() -> str:
    """Make a name for a prompt."""
    return str(uuid.uuid4())
