"""The core of the simulated CLI: stdin in, actions out.

An engine is the CLI's end of a connection, a queue of prompts, and coroutines that a `Scheduler`
runs. `simulation` adds the reactions to input.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from copy import copy
from threading import Thread
from traceback import format_exception
from typing import TYPE_CHECKING, Any, TypeGuard

from msgspec.structs import replace

from .. import wire
from .actions import Action, Exit, Kill, Write, WriteError
from .scheduler import Died, Scheduler, Task, TimedOut, Wait
from .session import SimulatedSession, new_uuid
from .stored import Entry, append_entries
from .transcript import ABOUT_AGENT, Transcript

if TYPE_CHECKING:
    from .chat import Scenario
    from .faults import Fault

STATE_FOR_ALL = "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"
STATE_FOR_THE_SDK = "CLAUDE_CODE_SDK_READS_SESSION_STATE"
"""The variables with which a host asks for the state of the session."""

JOB = "job:"
"""The prefix of keys for functions that run in a thread."""

SCENARIO_FAILED = "The scenario failed."
"""The line on stderr before the traceback of a scenario."""


class Interrupted(BaseException):
    """The turn was interrupted. It passes through a scenario, which may clean up but not go on."""


class Overtaken(Interrupted):
    """A prompt with the priority `now` stopped the turn."""


class StreamClosed(Exception):
    """No answer will come: stdin has ended."""


class Refused(Exception):
    """The SDK answered with an error, or the request was withdrawn."""


class Engine(ABC):
    """One simulated CLI process.

    A host calls `start`, then `feed` with input (`b""` at its end) and `wake` after `due_in`
    seconds, and carries out the actions that `take` returns.

    Args:
        session: the flags, the persona, the folders and everything that lasts longer than a turn.
        scenario: plays the agent in each turn.
        dialect: the dialect to write. Like the real CLI, it understands no other one; with `auto`
            it uses the dialect of the SDK.
        clock: returns the time in seconds; only differences matter.
        faults: what goes wrong.
    """

    def __init__(
        self,
        session: SimulatedSession,
        scenario: Scenario,
        *,
        dialect: str,
        clock: Callable[[], float],
        faults: Sequence[Fault],
    ) -> None:
        self.session: SimulatedSession = session
        self.scenario: Scenario = scenario
        self.dialect: str = dialect
        self.connection: wire.Connection = wire.Connection(wire.Role.CLI, dialect=dialect)
        self.transcript: Transcript = Transcript(session, self.record)
        self.input_ended: bool = False
        self.failures: list[Exception] = []
        """The exceptions of the scenario."""
        self.prompts: deque[wire.UserMessage | None] = deque()
        self.overtake: Callable[[], None] = lambda: None
        """Stops the running turn for a prompt with the priority `now`."""
        self.thread_waker: Callable[[], Callable[[], None]] = lambda: lambda: None
        """Set by the host: returns a function that makes it call `wake`, from any thread."""
        self._scheduler = Scheduler(clock)
        self._turn: Task | None = None
        self._holds = 0
        self._last: wire.AssistantMessage | None = None
        self._deferred: deque[Callable[[], None]] = deque()
        self._finished: deque[tuple[str, Any]] = deque()
        self._actions: deque[Action] = deque()
        self._dead = False
        self.clock = clock
        self._faults = sorted(map(copy, faults), key=lambda fault: fault.order)
        for fault in self._faults:
            fault.attach(self)

    @abstractmethod
    def begin(self) -> None:
        """Start up, as far as that does not depend on input."""

    @abstractmethod
    def receive(self, event: wire.Event) -> None:
        """Handle an event from the SDK, or the end of stdin."""

    @abstractmethod
    def turn(self, prompt: wire.UserMessage | None) -> Coroutine[Wait, Any, None]:
        """Run a turn for a prompt; None for a turn without one."""

    # --- for the host ----------------------------------------------------------------------------

    @property
    def exited(self) -> bool:
        """Whether the process has ended, or will after the queued actions."""
        return self._scheduler.stopped

    def start(self) -> None:
        """Start the process."""
        with suppress(Died):
            for fault in self._faults:
                for action in fault.start():
                    self.act(action, after=fault)
            self.begin()

    def feed(self, data: bytes) -> None:
        """Handle input from stdin; `b""` is its end."""
        with suppress(Died):
            self._scheduler.wake(pauses=False)  # timers that expired before the input came
            # Line by line: a request is answered before its withdrawal is read.
            for line in data.splitlines(keepends=True) or [data]:
                for event in () if self.exited else self.connection.receive_data(line):
                    if not self.exited:
                        self.receive(event)

    @property
    def due_in(self) -> float | None:
        """The seconds until the host has to call `wake`; None if nothing is due."""
        return 0.0 if self._finished and not self.exited else self._scheduler.due_in

    def wake(self) -> None:
        """Resume the coroutines whose time, or whose function in a thread, has come."""
        with suppress(Died):
            while self._finished and not self.exited:
                self.resume(wire.Answer(*self._finished.popleft()))
            self._scheduler.wake()

    def take(self) -> list[Action]:
        """Return the actions to carry out, in order."""
        with suppress(Died):
            while self._deferred:
                self._deferred.popleft()()
            if self._turn is None or not self._turn.pauses:
                self.say_last()
        actions = list(self._actions)
        self._actions.clear()
        return actions

    def close(self) -> None:
        """End the MCP servers that were started."""
        for state in self.session.servers.values():
            state.close()

    # --- output ----------------------------------------------------------------------------------

    @property
    def behavior(self) -> wire.DialectBehavior:
        """The behaviour of a CLI of this dialect."""
        return self.connection.behavior

    def send(self, event: wire.Event) -> None:
        """Send a message to the SDK if the dialect has such a message."""
        behavior = self.behavior
        if not behavior.has(event):
            return
        self.say_last()
        if not behavior.has_results and _may_be_last(event):
            self._last = event
        else:
            self.act(Write(self.connection.send(event)))

    def tell(self, kind: Callable[..., wire.Event], **fields: Any) -> None:
        """Send a message of a kind, with its own uuid and the id of the session."""
        self.send(kind(**{**self.session.stamp(), **fields}))

    def say_last(self, stop_reason: str | None = None) -> bool:
        """Send the message held back because it may end the turn; return whether there was one.

        Args:
            stop_reason: why the model stopped after it; None if the model goes on.
        """
        last, self._last = self._last, None
        if last is None:
            return False
        message = replace(last.message, stop_reason=stop_reason)
        self.act(Write(self.connection.send(replace(last, message=message))))
        return True

    def act(self, action: Action, *, after: Fault | None = None) -> None:
        """Queue an action, as changed by all faults, or by those after one.

        Raises:
            Died: a fault ended the process.
        """
        if self._dead:
            raise Died
        actions = [action]
        for fault in self._faults[0 if after is None else self._faults.index(after) + 1 :]:
            actions = [changed for each in actions for changed in fault.change(each)]
        self._actions += actions
        if not self.exited and any(isinstance(it, Exit | Kill) for it in actions):
            self._scheduler.stopped = self._dead = True
            raise Died

    def record(self, path: str, entries: list[Entry]) -> None:
        """Add entries to a transcript if any is kept; mirror them to an SDK that asked for it.

        Raises:
            Died: a fault ended the process.
        """
        store = self.session.store
        if self._dead:
            raise Died
        if store is None or not store.enabled:
            return
        append_entries(path, entries)
        if not self.session.flags.session_mirror:
            return
        if path.endswith(ABOUT_AGENT):
            path = path.replace(ABOUT_AGENT, ".jsonl")
            entries = [{"type": "agent_metadata", **entry} for entry in entries]
        if path.endswith(".jsonl"):
            self.send(wire.TranscriptMirrorMessage(file_path=path, entries=entries))

    def warn(self, text: str) -> None:
        """Write a line to stderr."""
        self.act(WriteError(text.encode() + b"\n"))

    def warn_once(self, name: str) -> None:
        """Name something that has no effect here, unlike with the real CLI; exit if strict."""
        if name not in self.session.ignored:
            self.session.ignored.add(name)
            self.warn(f"claudewire-sim: accepted, but not simulated: {name}")
            if self.session.flags.strict:
                self.exit(1)

    def note_failure(self, error: Exception) -> None:
        """Report an exception of the scenario on stderr and in `failures`."""
        if isinstance(error, StreamClosed | Refused | TimedOut):  # caused by the SDK
            what = "The scenario was given up."
        else:
            what = SCENARIO_FAILED
            self.failures.append(error)
        self.warn(f"{what}\n{''.join(format_exception(error))}".rstrip("\n"))

    def exit(self, status: int) -> None:
        """End the process."""
        if not self.exited:
            self.transcript.close()
            self._scheduler.stopped = True
            self.act(Exit(status))

    def defer(self, callback: Callable[[], None]) -> None:
        """Call back when all coroutines wait, before the host carries out the actions."""
        self._deferred.append(callback)

    # --- requests to the SDK, and other things to wait for ---------------------------------------

    async def ask(self, body: wire.Body, *, seconds: float | None = None) -> Any:
        """Send a request to the SDK and wait for the answer.

        Raises:
            Refused: it answered with an error.
            StreamClosed: it closed stdin.
            TimedOut: it did not answer within `seconds`; the request is withdrawn.
        """
        if self.input_ended:
            raise StreamClosed
        return await self.answer_to(self.put(body), seconds=seconds)

    def put(self, body: wire.Body) -> str:
        """Send a request to the SDK and return its id."""
        request = wire.Request(id=new_uuid(), body=body)
        self.send(request)
        return request.id

    async def answer_to(self, id: str, *, seconds: float | None = None) -> Any:
        """Wait for the answer to a request that was sent. It raises as `ask` does."""
        try:
            answer = await Wait(id, seconds)
        except TimedOut:
            self.withdraw(id)
            raise
        if isinstance(answer, wire.Failure):
            raise Refused(answer.error)
        return answer.body

    async def run_blocking(self, work: Callable[[], Any], *, seconds: float | None = None) -> Any:
        """Call a function in a thread and wait for its result, or raise its exception.

        Raises:
            TimedOut: it does not end within `seconds`.
        """
        key, wake_host = JOB + new_uuid(), self.thread_waker()

        def run() -> None:
            try:
                result = work()
            except Exception as error:
                result = error
            self._finished.append((key, result))
            wake_host()

        Thread(target=run, daemon=True).start()
        answer: wire.Answer = await Wait(key, seconds)
        if isinstance(answer.body, Exception):
            raise answer.body
        return answer.body

    def resume(self, answer: wire.Answer | wire.Failure) -> None:
        """Resume the coroutine that waits for this answer."""
        if (task := self._scheduler.waiting_for(answer.id)) is not None:
            self._scheduler.step(task, answer)

    def withdraw(self, id: str) -> None:
        """Withdraw a request unless it has been answered."""
        if id in self.connection.asked:
            self.send(wire.Cancel(id=id))

    def settle(self, id: str, outcome: wire.Answer | Exception) -> None:
        """Withdraw a request, and give the coroutine that waits for it an answer or an error."""
        self.withdraw(id)
        if (task := self._scheduler.waiting_for(id)) is not None:
            error = outcome if isinstance(outcome, Exception) else None
            self._scheduler.step(task, outcome, error)

    def spawn(
        self, coroutine: Coroutine[Wait, Any, None], then: Callable[[], None] = lambda: None
    ) -> Task:
        """Run a coroutine concurrently; call `then` after its end."""

        def ended() -> None:
            then()
            self._exit_when_done()

        task = self._scheduler.add(coroutine, ended)
        self._scheduler.step(task)
        return task

    def discard(self, task: Task) -> None:
        """End a coroutine that runs beside the turn."""
        self._scheduler.discard(task)
        self._exit_when_done()

    def end_input(self) -> None:
        """End the input: coroutines that wait for an answer get `StreamClosed`."""
        self.input_ended = True
        for task in list(self._scheduler.tasks):
            if task.key is not None and not task.key.startswith(JOB):
                self._scheduler.step(task, error=StreamClosed())
        self._exit_when_done()

    def _exit_when_done(self) -> None:
        if self.input_ended and not (self._scheduler.tasks or self.prompts):
            self.exit(self.session.exit_status)

    # --- prompts and turns -----------------------------------------------------------------------

    def receive_prompt(self, message: wire.UserMessage) -> None:
        """Start a turn for a message of the user, queue it, or only remember it."""
        if message.should_query is False and self.session.persona.notes != "turn":
            self._note(message)
        else:
            if self._turn is None:
                self.set_state("running")
            self.tell_progress(message, "queued")
            self.wake_up(message)

    def _note(self, message: wire.UserMessage) -> None:
        """Remember a message that asks for no answer."""
        self.tell_progress(message, "queued")
        self.tell_progress(message, "started")
        self.echo(message)
        self.session.remember("user", message.text)
        self.transcript.prompt(message)
        self.tell_progress(message, "completed")
        if self.session.persona.notes == "result":
            self.wake_up(message)

    def wake_up(self, prompt: wire.UserMessage | None) -> None:
        """Start a turn for a prompt, or queue it; None for a turn without one."""
        if prompt is not None and prompt.priority == "now" and self.session.persona.lifecycle:
            self.prompts.appendleft(prompt)
            self.overtake()
        else:
            self.prompts.append(prompt)
        self._next_turn()

    def _next_turn(self) -> None:
        if self._turn is None and self.prompts and not self._holds and not self.exited:
            self._turn = self._scheduler.add(self.turn(self.prompts.popleft()), self._turn_over)
            self._scheduler.step(self._turn)

    def _turn_over(self) -> None:
        self._turn, self.overtake = None, lambda: None
        self._next_turn()
        self._exit_when_done()

    def hold(self) -> None:
        """Begin no turn until `release` has been called as often as `hold`."""
        self._holds += 1

    def release(self) -> None:
        """Answer the prompts that came since `hold`."""
        self._holds -= 1
        self._next_turn()

    def take_queued(self, priority: str | None = None) -> list[wire.UserMessage]:
        """Take the queued prompts for the running turn: of a priority, or all but `later`."""
        taken: list[wire.UserMessage] = []
        for prompt in list(self.prompts):
            given = "later" if prompt is None else prompt.priority
            if prompt is not None and (given == priority if priority else given != "later"):
                taken.append(prompt)
                self.prompts.remove(prompt)
        return taken

    @property
    def turn_waits_for(self) -> str | None:
        """The id of the request whose answer the running turn waits for."""
        return self._turn.key if self._turn is not None else None

    def stop_turn(self, reason: Interrupted | None = None) -> None:
        """Make the running turn end as interrupted."""
        if self._turn is not None:
            self._scheduler.step(self._turn, error=reason or Interrupted())

    def set_state(self, state: str) -> None:
        """Set the state (idle, running, requires_action); announce it if the SDK wants that."""
        session = self.session
        if state == session.state:
            return
        session.state = state
        for_all = session.env.get(STATE_FOR_ALL) == "1"
        if for_all or session.env.get(STATE_FOR_THE_SDK) == "1":
            host_only = None if for_all else True
            self.tell(wire.SessionStateChangedMessage, state=state, sdk_host_only=host_only)

    def tell_progress(self, prompt: wire.UserMessage | None, state: str) -> None:
        """Announce the progress of a prompt that has a uuid."""
        if prompt is not None and prompt.uuid is not None and self.session.persona.lifecycle:
            self.tell(wire.CommandLifecycleMessage, command_uuid=prompt.uuid, state=state)

    def echo(self, prompt: wire.UserMessage, uuid: str | None = None) -> None:
        """Repeat a prompt if the dialect always does so or a flag asks for it."""
        if self.behavior.echoes:
            self.send(replace(self.session.replay_of(prompt, uuid), is_replay=None))
        elif self.session.flags.replay_user_messages:
            self.send(self.session.replay_of(prompt, uuid))


def _may_be_last(event: wire.Event) -> TypeGuard[wire.AssistantMessage]:
    """Whether a turn may end with this message of the model in the main conversation."""
    return isinstance(event, wire.AssistantMessage) and event.parent_tool_use_id is None
