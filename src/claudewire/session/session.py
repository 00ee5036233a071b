"""Sessions: `open` for a conversation, `run` for a single answer."""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, get_args, overload
from uuid import uuid4

import anyio

from ..concurrency import run_detached
from ..content import Prompt, to_content
from ..errors import Error, OptionsError, OutputError, RequestError, RequestTimeout
from ..launch import Connect, check_transport
from ..options import Options, check_options, checked
from ..tracking import Ledger, TaskTable
from ..transport import Transport
from ..wire import (
    ContextUsageResult,
    Event,
    GetContextUsage,
    InitializeResult,
    InitMessage,
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
from .events import UNREAD_EVENTS, SessionState, Subscription
from .interrupt import Escalation, InterruptReceipt, Queued, interrupt, limit_turn
from .link import DEFAULT, Timeout
from .log import log
from .turn import AnyTurn, OutputT, Reply, Turn

if TYPE_CHECKING:
    from typing import Unpack

    from ..approvals import Inbox
    from ..options import OptionsDict, OptionsWithoutOutput
    from ..policy import ToolReach
    from .watchdog import Waiting

AnswerT = TypeVar("AnswerT")

Priority = Literal["now", "next", "later"]
TasksAtEnd = Literal["wait", "ignore", "cancel"]

TASKS_MAY_TAKE = 600.0
"""Seconds that `run` waits for background tasks before it stops them."""


class SessionFacts:
    """The facts of a session that can be read in any thread."""

    _core: Core

    def __repr__(self) -> str:
        name = f"{self.name!r} " if self._core.handlers.is_named else ""
        return f"<Session {name}{self.session_id or 'without an id'} {self.state} pid={self.pid}>"

    @property
    def options(self) -> Options:
        """The options of the session."""
        return self._core.options

    @property
    def state(self) -> SessionState:
        """The phase of the session's life."""
        return self._core.state

    @property
    def failure(self) -> Error | None:
        """The reason why the session is over. Every call raises it."""
        return self._core.failure

    @property
    def session_id(self) -> str | None:
        """The id of the conversation, from the first turn on."""
        return self._core.session_id

    @property
    def cli_info(self) -> InitializeResult | None:
        """The CLI's answer to `initialize`: commands, models, agents, account."""
        return self._core.cli_info

    @property
    def init_message(self) -> InitMessage | None:
        """The CLI's description of the last turn: tools, servers, mode, version."""
        return self._core.init_message

    @property
    def pid(self) -> int | None:
        """The CLI's process id, if it is a process."""
        return None if self._core.link is None else self._core.link.pid

    @property
    def inbox(self) -> Inbox:
        """The pending requests for a person."""
        return self._core.handlers.inbox

    @property
    def name(self) -> str:
        """The name of the session in its inbox and in logs: the option `name`, or a number."""
        return self._core.handlers.name

    @property
    def tasks(self) -> TaskTable:
        """The background tasks."""
        return self._core.tasks

    @property
    def ledger(self) -> Ledger:
        """The used tokens and their cost."""
        return self._core.ledger

    @property
    def notices(self) -> tuple[Event, ...]:
        """The last events without a turn: bad lines, messages between turns."""
        return tuple(self._core.notices)

    def explain_permissions(self) -> dict[str, ToolReach]:
        """Explain which tools can reach a person."""
        from .reachability import explain_options  # it loads the grammar of rules

        return explain_options(self.options)


class Session(SessionFacts, Generic[OutputT]):
    """One CLI process and the conversation with it.

        async with claudewire.open(model="sonnet") as claude:
            reply = await claude.send("Hello")

    or, where a block does not fit, `claude = await claudewire.open(…)` and later
    `await claude.close()`, from the same task or another.

    A session is generic in the type of its output: `claudewire.open(output=T)` gives a
    `Session[T]`, whose replies have an `output` of that type.

    Args:
        options: the options of the CLI and the session.
        transport: a transport in place of a process, or a function that makes one.
    """

    def __init__(
        self, options: Options | None = None, *, transport: Transport | Connect | None = None
    ) -> None:
        options = check_options(options)
        check_transport(transport, options)
        self._process = os.getpid()
        self._core = Core(options, transport, weakref.ref(self))

    # --- beginning and end -----------------------------------------------------------------------

    async def start(self) -> Session[OutputT]:
        """Start the CLI and open the conversation.

        Raises:
            OptionsError: an option is not valid; nothing was started.
            CLIError: the CLI cannot be used; its `cause` says why.
        """
        await self._core.start()
        return self

    async def close(self, *, now: bool = False) -> None:
        """End the session: input is closed, output read to its end, the process ended.

        Errors of the CLI are not raised. It is safe to call it twice and from any task. If the
        caller is cancelled, the session is still closed.

        Args:
            now: do not give the CLI time to exit by itself.
        """
        core = self._core
        if not core.is_dead:
            core.home.check()
        core.close(now=now)
        await core.until_ended(lambda: core.is_dead)

    async def restart(self, *, resume: bool = True) -> None:
        """End the CLI and start another, which resumes the conversation.

        Turns in flight fail; held turns are sent to the new CLI. A failed session can also be
        restarted.

        Args:
            resume: False to start a new conversation.

        Raises:
            OptionsError: the session was given a transport, which serves one CLI.
            CLIError: the new CLI cannot be used.
        """
        await self._core.restart(resume=resume)

    async def __aenter__(self) -> Session[OutputT]:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    if not TYPE_CHECKING:  # or type checkers would allow it

        def __enter__(self) -> None:
            text = (
                "Open a session with `async with`; programs without async use claudewire.sync.open"
            )
            raise TypeError(text)

        def __exit__(self, *_: object) -> None: ...

    def __await__(self) -> Generator[Any, None, Session[OutputT]]:
        return self.start().__await__()

    def __del__(self) -> None:
        core: Core | None = getattr(self, "_core", None)
        link = None if core is None else core.link
        if core is None or link is None or self._process != os.getpid():
            return  # after a fork, the child has a copy, which must not end the parent's CLI
        if link.finished.is_set():
            core.link = core.watchdog = None  # these two refer to the core
            return
        warnings.warn(f"{self!r} was never closed", ResourceWarning, stacklevel=1, source=self)
        core.is_final = True  # it must not be restarted
        link.kill_now()

    # --- facts -----------------------------------------------------------------------------------

    @property
    def waiting(self) -> Waiting | None:
        """The event that the session waits for, and since when; None without a watchdog."""
        watchdog = self._core.watchdog
        return None if watchdog is None else watchdog.waiting

    @property
    def unread(self) -> int:
        """The number of unread messages of all turns."""
        return self._core.unread.count

    @property
    def turns(self) -> tuple[AnyTurn, ...]:
        """The unfinished turns: turns in flight, then held turns."""
        return tuple(self._core.conversation)

    # --- turns -----------------------------------------------------------------------------------

    def send(
        self,
        prompt: Prompt,
        *,
        priority: Priority | None = None,
        uuid: str | None = None,
        timeout: float | None = None,
        **fields: Any,
    ) -> Turn[OutputT]:
        """Send a prompt, without waiting: read the answer from the turn.

        Prompts are held here until the turns before them are over. A prompt with a priority goes to
        the CLI at once, which stops the running turn for it (`now`), takes it up after the next
        step of that turn (`next`), or when it is over (`later`).

        Args:
            prompt: text, or a list of text, images and documents.
            priority: see above.
            uuid: the prompt's id on the wire; made up if not given.
            timeout: seconds from now after which the turn is interrupted and fails with a
                `TurnError`. A timeout around `await turn` only ends the wait: the turn goes on.
            fields: further fields of `UserMessage`.

        Raises:
            OptionsError: there is no such priority, or the prompt is not valid.
            ValueError: `should_query=False` asks for no answer; see `add_context`.
            Error: the session is closed or has failed; always the original reason.
        """
        if priority is not None and priority not in get_args(Priority):
            raise OptionsError(f"priority is one of now, next, later, not {priority!r}")
        if fields.get("should_query") is False:
            raise ValueError("should_query=False asks for no answer: use add_context() instead")
        if timeout is not None:
            checked("timeout", timeout, float, least=0)
        core = self._core
        core.check_sending()
        if core.options.verbatim_prompts:
            fields = {"client_composed": True, **fields}
        message = UserMessage.of(
            to_content(prompt), uuid=uuid or str(uuid4()), priority=priority, **fields
        )
        read_output = None if core.output is None else core.output.read
        turn: Turn[OutputT] = Turn(message, core, read_output)
        core.conversation.hold(turn)
        if timeout is not None:
            run_detached(partial(limit_turn, core, turn, timeout), "claudewire timeout")
        core.send_queued()
        return turn

    @asynccontextmanager
    async def turn(
        self,
        prompt: Prompt,
        **fields: Any,
    ) -> AsyncIterator[Turn[OutputT]]:
        """Send a prompt for the length of a block: at its end the turn is interrupted.

            async with claude.turn("Summarise README.md") as turn:
                async for piece in turn.iter_text():
                    await response.write(piece)

        A turn that is over by then is left alone. Otherwise it is interrupted however the block is
        left: by `break` or `return`, by an exception, or because its task was cancelled, as a web
        server does when the client disconnects. Leaving waits until the turn has stopped, for up to
        `Timeouts.interrupt`, and raises no error of its own: a turn that does not stop is logged.

        Args:
            prompt: see `send`, also for the errors.
            fields: the other arguments of `send`.
        """
        turn = self.send(prompt, **fields)
        try:
            yield turn
        finally:
            await turn._leave()

    def add_context(self, content: Prompt) -> None:
        """Add to the conversation without asking for an answer: the next prompt finds it there.

        CLIs older than 2.1.250 would answer it. They get it in front of the next prompt. So does a
        CLI that was restarted before it answered a later prompt, or that dropped the addition
        (`interrupt(queued="cancel")`). Text starting with `/` is deferred as well; the CLI would
        run it as a command. If no prompt follows, a warning is logged.

        Raises:
            Error: the session is closed or has failed; always the original reason.
        """
        self._core.add_context(to_content(content))

    async def ask(self, prompt: Prompt, *, repairs: int | None = None) -> Reply[OutputT]:
        """Send a prompt and wait for its reply. Output that is not valid is asked for again.

        Args:
            prompt: see `send`.
            repairs: the most repetitions; the option `repairs` by default.

        Raises:
            OutputError: the output is still not of the type that was asked for.
            Error: see `Turn.reply`.
        """
        left = self.options.repairs if repairs is None else repairs
        while True:
            try:
                return await self.send(prompt)
            except OutputError as error:
                if left <= 0 or self._core.output is None:
                    raise
                left -= 1
                prompt = self._core.output.repair_prompt(error.problem)

    @property
    def unsolicited(self) -> AsyncIterator[AnyTurn]:
        """The unsolicited turns, in an endless loop until the session ends."""
        return self._core.unsolicited

    def events(self, *, limit: int | None = UNREAD_EVENTS) -> Subscription:
        """Subscribe to everything from now on: the events of the wire, and the session's own.

        Args:
            limit: how many unread events to keep, 10,000 by default; None for all.
        """
        return self._core.subscribe(limit)

    # --- control ---------------------------------------------------------------------------------

    async def request(self, body: RequestBody[AnswerT], *, timeout: Timeout = DEFAULT) -> AnswerT:
        """Send a request to the CLI and return its answer.

            models = await session.request(claudewire.wire.ListModels())

        If the caller is cancelled, the request is withdrawn, if the CLI supports that.

        Args:
            body: any request of `claudewire.wire`.
            timeout: seconds to wait for the answer; `Timeouts.request` if not given.

        Raises:
            UnsupportedRequest: the CLI does not know this request.
            RequestTimeout: the CLI did not answer in time.
            RequestError: the CLI refused.
            Error: the session is closed or has failed; always the original reason.
        """
        if not isinstance(body, RequestBody):
            raise OptionsError(
                f"A request is an object of claudewire.wire, such as ListModels(), not {body!r}"
            )
        seconds = self.options.timeouts.request if timeout is DEFAULT else timeout
        return await self._core.request(body, seconds)

    async def set_model(
        self, model: str | None = None, *, timeout: Timeout = DEFAULT
    ) -> SetModelResult:
        """Change the model; None restores the one that the session started with.

        Raises:
            OptionsError: `model` is not a string.
        """
        return await self.request(SetModel(Options(model=model).model), timeout=timeout)

    async def set_permission_mode(
        self, mode: str, *, timeout: Timeout = DEFAULT
    ) -> SetPermissionModeResult:
        """Change the permission mode: `default`, `acceptEdits`, `plan` and so on.

        Raises:
            OptionsError: there is no such mode.
        """
        given: Any = checked("permission_mode", mode, str)
        Options(permission_mode=given)
        return await self.request(SetPermissionMode(mode), timeout=timeout)

    async def get_context_usage(
        self, detail: str | None = None, *, timeout: Timeout = DEFAULT
    ) -> ContextUsageResult:
        """Return the usage of the context window."""
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
        """Add an MCP server, and wait until the CLI has connected to it.

        Args:
            server: a `ToolServer`, a server object of the `mcp` package, or the configuration of a
                server outside this process.
            name: its name; a server in this process has a name of its own.

        Returns:
            its name: the model sees its tools as `mcp__NAME__TOOL`.

        Raises:
            TypeError: it is not a server.
            ValueError: there is a server of that name, or it has no name.
            RequestError: the CLI cannot connect to it, or is too old; it is then not added.
        """
        return await self._core.handlers.servers.add(server, name)

    async def remove_server(self, name: str) -> None:
        """Remove an MCP server that is in this process, or was added while running.

        Its unfinished tool calls are cancelled, and the model gets an error for each.

        Raises:
            ValueError: there is no such server.
        """
        await self._core.handlers.servers.remove(name)

    async def toggle_server(self, name: str, enabled: bool) -> None:
        """Switch an MCP server on or off.

        With an old CLI this works only for servers that are in this process or were added.

        Raises:
            RequestError: the CLI does not know it.
        """
        await self._core.handlers.servers.toggle(name, enabled)

    async def interrupt(
        self,
        *,
        queued: Queued = "keep",
        timeout: Timeout = DEFAULT,
        escalate: Escalation | bool = False,
    ) -> InterruptReceipt:
        """Stop the running turn, and wait until it has stopped or the time is over.

        It works at any time: before the turn has begun, while a tool is running, while a
        permission is pending. Queued prompts stay queued, unless `queued` is `cancel`. Another turn
        may be running by the time of the call: `Turn.interrupt` stops a certain one, and no other.

        If the CLI acknowledges the interrupt but the turn does not end in time, nothing is raised:
        the receipt has `result=None`, and the turn goes on.

        Args:
            queued: `cancel` also drops the queued prompts, here and in the CLI.
            timeout: for the whole call; it has no effect with `escalate`.
            escalate: the steps against a CLI that does not stop; True for the defaults. Each step
                has `Escalation.step_timeout` seconds.

        Raises:
            RequestTimeout: the CLI did not acknowledge, and `escalate` was not given.
        """
        if queued not in get_args(Queued):
            raise OptionsError(f"queued is one of keep, cancel, not {queued!r}")
        return await interrupt(self._core, queued, timeout, escalate)

    async def wait_idle(self, *, tasks: TasksAtEnd = "wait", timeout: float | None = None) -> None:
        """Wait until the session is idle: no turn, asked for or not, and no task.

        CLIs up to 2.1.17 cannot stop a task and do not report its end. With them no task is waited
        for, and commands in the background run until the session is closed.

        Args:
            tasks: `wait` for background tasks, `ignore` them, or `cancel` them.
            timeout: the most seconds; a `TimeoutError` then.

        Raises:
            Error: the session fails meanwhile.
        """
        check_tasks(tasks)
        with anyio.fail_after(timeout):
            await self._core.until_idle(with_tasks=False)
            if tasks == "cancel":
                await self._stop_tasks()
            if tasks != "ignore":
                await self._core.until_idle(with_tasks=True)

    async def _stop_tasks(self) -> None:
        for task in self.tasks.running:
            if task.reported:  # the CLI does not report the end of the others
                try:
                    await self.stop_task(task.id)
                except RequestError as error:
                    if isinstance(error, RequestTimeout):
                        raise
                    log.debug("The CLI has no task %s to stop: %s", task.id, error)
                    self._core.tasks.stopped(task.id)

    async def _finish_tasks(self, tasks: TasksAtEnd, seconds: float) -> None:
        """Wait for background tasks for up to `seconds`, then stop them; see `wait_idle`."""
        try:
            await self.wait_idle(tasks=tasks, timeout=seconds)
        except TimeoutError:
            log.warning("Background tasks did not end within %g s and are stopped", seconds)
            await self._stop_tasks()


def check_tasks(tasks: object) -> None:
    """Refuse an unknown choice for background tasks."""
    if tasks not in get_args(TasksAtEnd):
        raise OptionsError(f"tasks is one of wait, ignore, cancel, not {tasks!r}")


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
    """Create a session; `async with` or `await` starts it.

        async with claudewire.open(model="sonnet", cwd="~/project") as claude:
            reply = await claude.send("Make the failing test pass")

    Args:
        options: the options; the defaults if not given.
        output: the type of the output; the session is then a `Session[output]`.
        transport: a transport in place of a process, or a function that makes one.
        changes: single options, instead of those in `options`.

    Raises:
        OptionsError: an option is not valid.
    """
    given = Options(**changes) if options is None else check_options(options).replace(**changes)
    return Session(given, transport=transport)


@overload
async def run(
    prompt: Prompt,
    options: Options | None = None,
    *,
    output: type[OutputT],
    tasks: TasksAtEnd = "wait",
    transport: Transport | Connect | None = None,
    **changes: Unpack[OptionsWithoutOutput],
) -> Reply[OutputT]: ...


@overload
async def run(
    prompt: Prompt,
    options: Options | None = None,
    *,
    tasks: TasksAtEnd = "wait",
    transport: Transport | Connect | None = None,
    **changes: Unpack[OptionsDict],
) -> Reply[Any]: ...


async def run(
    prompt: Prompt,
    options: Options | None = None,
    *,
    tasks: TasksAtEnd = "wait",
    transport: Transport | Connect | None = None,
    **changes: Any,
) -> Reply[Any]:
    """Start a CLI, send it one prompt, and return the reply.

        reply = await claudewire.run("Summarise README.md", allow=["Read"])
        print(reply.text, reply.cost_usd)

    A turn that did not succeed has a reply too: see `reply.ok` and `reply.raise_for_error()`.

    Args:
        prompt: text, or a list of text, images and documents.
        options: the options; the defaults if not given.
        output: the type of the output; `reply.output` is then of that type.
        tasks: what to do with background tasks that outlast the reply: `wait` for them (up to ten
            minutes, then stop them), `ignore` them, so that they end with the CLI, or `cancel`
            them.
        transport: a transport in place of a process, or a function that makes one.
        changes: single options, instead of those in `options`.

    Raises:
        OptionsError: an option is not valid.
        CLIError: the CLI was not found, or has exited.
        OutputError: the output is not of the requested type.
    """
    check_tasks(tasks)
    to_content(prompt)  # before a CLI is started for it
    async with open(options, transport=transport, **changes) as session:
        reply = await session.ask(prompt)
        await session._finish_tasks(tasks, TASKS_MAY_TAKE)
        return reply
