"""The core of the simulated CLI: stdin in, actions out, no I/O.

It is the CLI's end of a connection, with coroutines that are run here, without an event loop:
whatever they await is a `Wait`, and they are resumed when what they wait for has come. So the same
engine serves a process and an in-memory transport on any event loop, and starts quickly. What the
CLI does with its input is added by `simulation`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import suppress
from typing import Any, ClassVar, TypeGuard

from msgspec.structs import replace

from ..wire import (
    AUTO,
    Answer,
    AssistantMessage,
    Body,
    Cancel,
    CommandLifecycleMessage,
    Connection,
    Event,
    Failure,
    Request,
    Role,
    SessionStateChangedMessage,
    TranscriptMirrorMessage,
    UserMessage,
)
from .actions import Action, Append, Exit, Kill, Write, WriteError
from .manners import MANNERS, Manner
from .session import SimulatedSession, new_uuid
from .transcript import ABOUT_AGENT, Entry, Transcript

__all__ = [
    "SCENARIO_FAILED",
    "Died",
    "Engine",
    "Fault",
    "Interrupted",
    "Overtaken",
    "Refused",
    "StreamClosed",
    "Task",
    "TimedOut",
    "Wait",
]

STATE_FOR_ALL = "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"
STATE_FOR_THE_SDK = "CLAUDE_CODE_SDK_READS_SESSION_STATE"
"""The SDK wants to know the session's state, and not to pass it on."""


JOB = "job:"
"""With this begins what a task waits for that is not the SDK's to give."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

SCENARIO_FAILED = "The scenario failed."
"""What stands on stderr before a traceback."""


class Interrupted(BaseException):
    """The turn was interrupted. It passes through a scenario, which may clean up but not go on."""


class Overtaken(Interrupted):
    """A prompt with the priority `now` has stopped the turn."""


class Died(GeneratorExit):
    """A fault has ended the process: nothing after this point is carried out.

    It is a `GeneratorExit`, so a coroutine that is discarded afterwards may also end with it.
    """


class StreamClosed(Exception):
    """There will be no answer: stdin has ended."""


class TimedOut(Exception):
    """The answer did not come in time."""


class Refused(Exception):
    """The SDK answered with an error, or the request was withdrawn."""


class Wait:
    """What a coroutine of the engine waits for: an answer, a time, or whichever comes first."""

    __slots__ = ("key", "seconds")

    def __init__(self, key: str | None = None, seconds: float | None = None) -> None:
        self.key: str | None = key
        self.seconds: float | None = seconds

    def __await__(self) -> Generator[Wait, Any, Any]:
        return (yield self)


class Task:
    """A running coroutine, and what it waits for."""

    __slots__ = ("coroutine", "deadline", "then", "wait")

    def __init__(self, coroutine: Coroutine[Wait, Any, None], then: Callable[[], None]) -> None:
        self.coroutine: Coroutine[Wait, Any, None] = coroutine
        self.then: Callable[[], None] = then
        self.wait: Wait | None = None
        self.deadline: float | None = None


class Fault:
    """Something that goes wrong. Derive from it, or from those in `faults`, to make another.

    A fault sees each action of the CLI and decides what happens instead. Faults act one after the
    other, in the order given, but those that cut up bytes act last. A frame is one line that the
    CLI writes, or that a fault before this one has written for it; each fault counts for itself.

    Each engine works on its own copies, so one fault can be given to many.

    Args:
        at: at which frame it happens, counted from 1; 0 for the start of the process.
    """

    order: ClassVar[int] = 0
    """When it acts: 0 for faults that want whole frames, 1 for those that cut them up."""

    def __init__(self, at: int = 1) -> None:
        self.at = at
        self._frames = 0

    def __repr__(self) -> str:
        shown = [f"{key}={value!r}" for key, value in vars(self).items() if key[0] != "_"]
        return f"{type(self).__name__}({', '.join(shown)})"

    def attach(self, engine: Engine) -> None:
        """Remember the engine that it acts on."""
        self._engine = engine

    def clock(self, clock: Callable[[], float]) -> Callable[[], float]:
        """The clock that the CLI sees instead."""
        return clock

    def start(self) -> list[Action]:
        """What happens when the process starts."""
        return []

    def change(self, action: Action) -> list[Action]:
        """What happens instead of an action."""
        return [action]

    def alter(self, frame: bytes) -> list[Action]:
        """What is done instead of writing a frame that is affected."""
        return [Write(frame)]

    def count(self, action: Action) -> int:
        """The number of the frame that this action writes; 0 if it does something else."""
        if not isinstance(action, Write):
            return 0
        self._frames += 1
        return self._frames


class Engine(ABC):
    """One simulated CLI process.

    A host calls `start`, then `feed` with what comes on stdin (`b""` for its end) and `wake` when
    the time of `due_in` has passed, and carries out what `take` gives.

    Args:
        session: what the CLI knows: its flags, its persona, its folders.
        dialect: how the CLI writes: `modern` as the real one does, which then understands nothing
            else; another one; or `auto`, the dialect of the SDK.
        clock: gives the time in seconds; only differences matter.
        faults: what goes wrong. They count frames, so another engine needs others.
    """

    def __init__(
        self,
        session: SimulatedSession,
        *,
        dialect: str,
        clock: Callable[[], float],
        faults: Sequence[Fault],
    ) -> None:
        self.session: SimulatedSession = session
        self.transcript: Transcript = Transcript(session, self.record)
        self.dialect: str = dialect
        self.connection: Connection = Connection(Role.CLI, dialect=dialect)
        self.input_ended: bool = False
        self.exited: bool = False
        self._fed = self._dead = False
        self.prompts: deque[UserMessage | None] = deque()
        self._held: deque[UserMessage] = deque()
        self._holds = 0
        self._actions: deque[Action] = deque()
        self._tasks: list[Task] = []
        self._turn: Task | None = None
        self.overtake: Callable[[], None] = lambda: None
        """Stops the running turn for a prompt with the priority `now`."""
        self._last: AssistantMessage | None = None
        self.failures: list[Exception] = []
        """What the scenario has raised."""
        self._deferred: deque[Callable[[], None]] = deque()
        self._timer = clock  # what waiting goes by: no fault makes it jump
        self._faults = sorted(faults, key=lambda fault: fault.order)
        for fault in self._faults:
            clock = fault.clock(clock)
            fault.attach(self)
        self.clock = clock
        self.started: float = clock()

    # --- what the CLI does -----------------------------------------------------------------------

    @abstractmethod
    def begin(self) -> None:
        """Start up, as far as that does not depend on input."""

    @abstractmethod
    def receive(self, event: Event) -> None:
        """Handle something that the SDK has sent, or the end of stdin."""

    @abstractmethod
    def turn(self, prompt: UserMessage | None) -> Coroutine[Wait, Any, None]:
        """Run a turn for a prompt; None for a turn without one."""

    # --- for the host ----------------------------------------------------------------------------

    def start(self) -> None:
        """Start the process."""
        with suppress(Died):
            for fault in self._faults:
                for action in fault.start():
                    self.act(action, after=fault)
            self.begin()

    def feed(self, data: bytes) -> None:
        """Take what came on stdin; `b""` for its end."""
        with suppress(Died):
            if not self._fed:
                data = data.removeprefix(BYTE_ORDER_MARK)
            self._fed = True
            # Line by line: a request is answered before its withdrawal is read.
            for line in data.splitlines(keepends=True) or [data]:
                for event in () if self.exited else self.connection.receive_data(line):
                    if not self.exited:
                        self.receive(event)

    def finish(self, key: str, result: Any) -> None:
        """Take what a function has returned that the host was to run."""
        with suppress(Died):
            if not self.exited:
                self.resume(Answer(key, result))

    def close(self) -> None:
        """End what it has started, when the process is over."""
        for state in self.session.servers.values():
            if state.server is not None:
                state.server.close()
                state.server = None

    @property
    def due_in(self) -> float | None:
        """In how many seconds to call `wake`; None if nothing is due."""
        deadlines = [it.deadline for it in self._tasks if it.deadline is not None]
        return max(0.0, min(deadlines) - self._timer()) if deadlines and not self.exited else None

    @property
    def overslept(self) -> bool:
        """Whether `wake` should have been called before now. Waits of no seconds do not count."""
        slept = (it for it in self._tasks if it.wait is not None and it.wait.seconds)
        return any(it.deadline is not None and it.deadline < self._timer() for it in slept)

    def wake(self) -> None:
        """Resume the tasks whose time has come."""
        now = self._timer()
        due = [it for it in self._tasks if it.deadline is not None and it.deadline <= now]
        with suppress(Died):
            for task in due:  # each may change what the others wait for
                if task.deadline is not None and task.deadline <= now and not self.exited:
                    self._time_is_up(task)

    def take(self) -> list[Action]:
        """The actions to carry out, in order."""
        with suppress(Died):
            while self._deferred:
                self._deferred.popleft()()
            if not self._pauses:
                self.say_last()
        actions = list(self._actions)
        self._actions.clear()
        return actions

    # --- for turns and controls ------------------------------------------------------------------

    def send(self, event: Event) -> None:
        """Send a message to the SDK, if the dialect has such a message."""
        manner = self.manner
        if not manner.says(event):
            return
        self.say_last()
        if manner.stops and _may_be_last(event):
            self._last = event
        else:
            self.act(Write(self.connection.send(event)))

    def say_last(self, stop_reason: str | None = None) -> bool:
        """Send the message that was held back, if there is one, as it may end the turn.

        Args:
            stop_reason: why the model stopped after it; None if it goes on.
        """
        last, self._last = self._last, None
        if last is None:
            return False
        message = replace(last.message, stop_reason=stop_reason)
        self.act(Write(self.connection.send(replace(last, message=message))))
        return True

    def act(self, action: Action, *, after: Fault | None = None) -> None:
        """Carry out an action, as changed by all faults, or by those after one.

        Raises:
            Died: it ended the process.
        """
        if not self._faults:
            self._actions.append(action)
            return
        if self._dead:
            raise Died
        actions = [action]
        for fault in self._faults[0 if after is None else self._faults.index(after) + 1 :]:
            actions = [changed for each in actions for changed in fault.change(each)]
        self._actions += actions
        if not self.exited and any(isinstance(it, Exit | Kill) for it in actions):
            self.exited = self._dead = True
            raise Died

    def record(self, path: str, entries: list[Entry]) -> None:
        """Add entries to a transcript, if any is kept; tell the SDK, if it wants to know."""
        store = self.session.store
        if store is None or not store.enabled:
            return
        self.act(Append(path, entries))
        if not self.session.flags.session_mirror:
            return
        if path.endswith(ABOUT_AGENT):
            entries = [{"type": "agent_metadata", **entry} for entry in entries]
            path = path.replace(ABOUT_AGENT, ".jsonl")
        if path.endswith(".jsonl"):
            self.send(TranscriptMirrorMessage(file_path=path, entries=entries))

    def defer(self, callback: Callable[[], None]) -> None:
        """Call back when all tasks wait, before the host carries out the actions."""
        self._deferred.append(callback)

    def warn(self, text: str) -> None:
        """Write a line to stderr."""
        self.act(WriteError(text.encode() + b"\n"))

    def note_failure(self, error: Exception) -> None:
        """Report what the scenario has raised: on stderr, and to the test that waits for it."""
        from traceback import format_exception  # not before it is needed: the program starts fast

        if isinstance(error, StreamClosed | Refused | TimedOut):  # it was the SDK
            what = "The scenario was given up."
        else:
            what = SCENARIO_FAILED
            self.failures.append(error)
        self.warn(f"{what}\n{''.join(format_exception(error))}".rstrip("\n"))

    def exit(self, status: int) -> None:
        """End the process."""
        if not self.exited:
            self.transcript.close()
            self.exited = True
            self.act(Exit(status))

    async def ask(self, body: Body, *, seconds: float | None = None) -> Any:
        """Send a request to the SDK and wait for the answer.

        Raises:
            Refused: it answered with an error.
            StreamClosed: it has closed stdin.
            TimedOut: it did not answer within `seconds`; the request is withdrawn.
        """
        if self.input_ended:
            raise StreamClosed
        return await self.answer_to(self.put(body), seconds=seconds)

    def put(self, body: Body) -> str:
        """Send a request to the SDK and return its id."""
        request = Request(id=new_uuid(), body=body)
        self.send(request)
        return request.id

    async def answer_to(self, id: str, *, seconds: float | None = None) -> Any:
        """Wait for the answer to a request that was sent. It raises as `ask` does."""
        answer = await Wait(id, seconds)
        if isinstance(answer, Failure):
            raise Refused(answer.error)
        return answer.body

    def withdraw(self, id: str) -> None:
        """Withdraw a request, if it has not been answered."""
        if id in self.connection.asked:
            self.send(Cancel(id=id))

    def take_back(self, id: str) -> None:
        """Withdraw a request; the task that waits for the answer gets `Refused`."""
        self.withdraw(id)
        task = self._waiting_for(id)
        if task is not None:
            self._step(task, error=Refused("The request was withdrawn"))

    def decide(self, id: str, body: Any) -> None:
        """Withdraw a request and answer it with this instead."""
        self.withdraw(id)
        self.resume(Answer(id, body))

    def give_up(self, task: Task) -> None:
        """Withdraw what a task waits for; the task gets `StreamClosed`."""
        if task in self._tasks and task.wait is not None and task.wait.key is not None:
            self.withdraw(task.wait.key)
            self._step(task, error=StreamClosed())

    def spawn(
        self, coroutine: Coroutine[Wait, Any, None], then: Callable[[], None] = lambda: None
    ) -> Task:
        """Run a coroutine concurrently."""
        task = Task(coroutine, then)
        self._tasks.append(task)
        self._step(task, None)
        return task

    def discard(self, task: Task) -> None:
        """End a coroutine that runs beside the turn."""
        self._tasks.remove(task)
        task.coroutine.close()
        self._exit_when_done()

    @property
    def _pauses(self) -> bool:
        """Whether the running turn goes on at once."""
        wait = self._turn.wait if self._turn is not None else None
        return wait is not None and wait.key is None and not wait.seconds

    @property
    def manner(self) -> Manner:
        """How a CLI of this dialect behaves."""
        return MANNERS[self.speaks]

    @property
    def speaks(self) -> str:
        """The name of the dialect in which the CLI writes."""
        auto = self.dialect == AUTO
        return self.connection.their_dialect.name if auto else self.dialect

    def wake_up(self, prompt: UserMessage | None) -> None:
        """Start a turn for a prompt, or queue it; None for a turn without one."""
        if prompt is not None and prompt.priority == "now" and self.session.persona.lifecycle:
            self.prompts.appendleft(prompt)
            self.overtake()
        else:
            self.prompts.append(prompt)
        self._next_turn()

    def hold(self) -> None:
        """Hold prompts back until there were as many calls of `release`."""
        self._holds += 1

    def release(self) -> None:
        """Handle the prompts that came since `hold`."""
        self._holds -= 1
        while self._held and not self._holds:
            self.receive_prompt(self._held.popleft())

    def take_queued(self) -> list[UserMessage]:
        """Take the queued prompts, for the running turn to answer."""
        taken = [it for it in self.prompts if it is not None and it.priority != "later"]
        self.prompts = deque(it for it in self.prompts if it is None or it.priority == "later")
        return taken

    def take_alike(self, prompt: UserMessage | None) -> list[UserMessage]:
        """Take the queued prompts that a turn answers together with its own."""
        priority = None if prompt is None else prompt.priority
        if priority is None or not self.session.persona.lifecycle:
            return []
        alike = [it for it in self.prompts if it is not None and it.priority == priority]
        self.prompts = deque(it for it in self.prompts if it is None or it.priority != priority)
        return alike

    @property
    def turn_waits_for(self) -> str | None:
        """The id of the request whose answer the running turn waits for."""
        task = self._turn
        return task.wait.key if task is not None and task.wait is not None else None

    def stop_turn(self, reason: Interrupted | None = None) -> None:
        """Make the running turn end as interrupted."""
        if self._turn is not None:
            self._step(self._turn, error=reason or Interrupted())

    def set_state(self, state: str) -> None:
        """Set the state (idle, running, requires_action); announce it if the SDK wants that."""
        session = self.session
        if state == session.state:
            return
        session.state = state
        for_all = session.env.get(STATE_FOR_ALL) == "1"
        if for_all or session.env.get(STATE_FOR_THE_SDK) == "1":
            host_only = None if for_all else True
            self.send(
                SessionStateChangedMessage(state=state, sdk_host_only=host_only, **session.stamp())
            )

    def tell_progress(self, prompt: UserMessage | None, state: str) -> None:
        """Announce the progress of a prompt, if it has a uuid."""
        if prompt is not None and prompt.uuid is not None and self.session.persona.lifecycle:
            self.send(
                CommandLifecycleMessage(
                    command_uuid=prompt.uuid, state=state, **self.session.stamp()
                )
            )

    def receive_prompt(self, message: UserMessage) -> None:
        """Start a turn for a message of the user, or queue it, or only remember it."""
        if self._holds:
            self._held.append(message)
        elif message.should_query is False and self.session.persona.notes != "turn":
            self._note(message)
        else:
            self.transcript.queue("enqueue", message)
            if self._turn is None:
                self.set_state("running")
            self.tell_progress(message, "queued")
            self.wake_up(message)

    def _note(self, message: UserMessage) -> None:
        """Remember a message that asks for no answer."""
        self.transcript.queue("enqueue", message)
        self.tell_progress(message, "queued")
        self.tell_progress(message, "started")
        self.echo(message)
        self.session.remember("user", message.text)
        self.transcript.queue("dequeue")
        self.transcript.prompt(message, is_note=True)
        self.tell_progress(message, "completed")
        if self.session.persona.notes == "result":
            self.wake_up(message)

    def echo(self, prompt: UserMessage, uuid: str | None = None) -> None:
        """Repeat a prompt, if the dialect always does so or a flag asks for it."""
        if self.manner.echoes:
            self.send(replace(self.session.replay_of(prompt, uuid), is_replay=None))
        elif self.session.flags.replay_user_messages:
            self.send(self.session.replay_of(prompt, uuid))

    def resume(self, answer: Answer | Failure) -> None:
        """Resume the task that waits for this answer."""
        task = self._waiting_for(answer.id)
        if task is not None:
            self._step(task, answer)

    def end_input(self) -> None:
        """End the input: tasks that wait for an answer get `StreamClosed`. Exit when all end."""
        self.input_ended = True
        for task in list(self._tasks):
            key = task.wait.key if task.wait is not None else None  # the one before may end it
            if key is not None and not key.startswith(JOB):
                self._step(task, error=StreamClosed())
        self._exit_when_done()

    # --- inside ----------------------------------------------------------------------------------

    def _exit_when_done(self) -> None:
        if self.input_ended and not self._tasks and not self.prompts and not self._held:
            self.exit(self.session.exit_status)

    def _next_turn(self) -> None:
        if self._turn is None and self.prompts and not self.exited:
            prompt = self.prompts.popleft()
            task = Task(self.turn(prompt), self._turn_over)
            self._turn = task
            self._tasks.append(task)
            self._step(task, None)

    def _turn_over(self) -> None:
        self._turn, self.overtake = None, lambda: None
        self._next_turn()

    def _waiting_for(self, id: str) -> Task | None:
        waiting = (it for it in self._tasks if it.wait is not None and it.wait.key == id)
        return next(waiting, None)

    def _time_is_up(self, task: Task) -> None:
        wait = task.wait
        if wait is not None and wait.key is not None:
            self.withdraw(wait.key)
            self._step(task, error=TimedOut())
        else:
            self._step(task, None)

    def _step(self, task: Task, value: Any = None, error: BaseException | None = None) -> None:
        """Run a coroutine until it waits again or is done."""
        task.wait = task.deadline = None
        try:
            wait: object = task.coroutine.throw(error) if error else task.coroutine.send(value)
        except StopIteration:
            self._tasks.remove(task)
            task.then()
            self._exit_when_done()
            return
        except Died:
            return
        if not isinstance(wait, Wait):
            words = (
                f"A scenario awaited {wait!r}. It runs without an event loop and can await only "
                "what its chat offers, such as chat.sleep()."
            )
            self._step(task, error=TypeError(words))
            return
        task.wait = wait
        if wait.seconds is not None:
            task.deadline = self._timer() + wait.seconds


def _may_be_last(event: Event) -> TypeGuard[AssistantMessage]:
    """Whether a turn may end with a message: the model says something in the main conversation."""
    return isinstance(event, AssistantMessage) and event.parent_tool_use_id is None
