"""The simulated CLI itself: stdin in, actions out, no I/O.

It is the CLI's end of a connection with a scenario behind it. A scenario is an async function; it
is run here, without an event loop: whatever it awaits is a `Wait`, and is resumed when what it
waits for has come. So the same engine serves a process, an in-memory pair and a test on any loop,
and starts in no time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..wire import (
    AUTO,
    MODERN,
    Answer,
    Body,
    Cancel,
    Connection,
    EndOfStream,
    Event,
    Failure,
    Noise,
    Request,
    Role,
    UserMessage,
)
from .actions import Action, Exit, Kill, Write, WriteError
from .state import Session, new_uuid
from .waiting import Died, Interrupted, Refused, StreamClosed, Task, TimedOut, Wait

if TYPE_CHECKING:
    from .chat import Chat
    from .faults import Fault

__all__ = ["Engine", "Scenario"]

Scenario = Callable[["Chat"], Awaitable[None]]
"""What the agent does in a turn."""


class Engine:
    """One simulated CLI process.

    A host calls `start`, then `feed` with what comes on stdin (`b""` for its end) and `wake` when
    the time of `due_in` has passed, and carries out what `take` gives.

    Args:
        session: what the CLI knows: its flags, its persona, its folders.
        scenario: what the agent does in each turn.
        dialect: how the CLI writes: `modern` as the real one does, which then understands nothing
            else; another one; or `auto`, as it is spoken to.
        clock: gives the time in seconds; only differences matter.
        faults: what goes wrong. They are used up: another engine needs others.
    """

    def __init__(
        self,
        session: Session,
        scenario: Scenario,
        *,
        dialect: str = MODERN.name,
        clock: Callable[[], float] = lambda: 0.0,
        faults: Sequence[Fault] = (),
    ) -> None:
        self.session: Session = session
        self.scenario: Scenario = scenario
        self.dialect: str = dialect
        self.connection: Connection = Connection(Role.CLI, dialect=dialect)
        self.input_ended: bool = False
        self.exited: bool = False
        self._dead = False
        self.prompts: deque[UserMessage | None] = deque()
        self._held: deque[UserMessage] | None = None
        self._actions: deque[Action] = deque()
        self._tasks: list[Task] = []
        self._turn: Task | None = None
        self._deferred: deque[Callable[[], None]] = deque()
        self._timer = clock  # what waiting goes by: no fault makes it jump
        self._faults = sorted(faults, key=lambda fault: fault.order)
        for fault in self._faults:
            clock = fault.clock(clock)
            fault.attach(self)
        self.clock = clock

    # --- for the host ----------------------------------------------------------------------------

    def start(self) -> None:
        """Begin, as a process does when it is started."""
        from .startup import begin  # here and below: what is not needed is not loaded

        with suppress(Died):
            for fault in self._faults:
                for action in fault.start():
                    self.act(action, after=fault)
            begin(self)

    def feed(self, data: bytes) -> None:
        """Take what came on stdin; `b""` for its end."""
        with suppress(Died):
            # Line by line: a request is answered before its withdrawal is read.
            for line in data.splitlines(keepends=True) or [data]:
                for event in () if self.exited else self.connection.receive_data(line):
                    if not self.exited:
                        self._hear(event)

    @property
    def due_in(self) -> float | None:
        """In how many seconds to call `wake`; None if nobody waits for a time to come."""
        deadlines = [it.deadline for it in self._tasks if it.deadline is not None]
        return max(0.0, min(deadlines) - self._timer()) if deadlines and not self.exited else None

    @property
    def overslept(self) -> bool:
        """Whether `wake` should have been called before. Who only let others go first can wait."""
        slept = (it for it in self._tasks if it.wait is not None and it.wait.seconds)
        return any(it.deadline is not None and it.deadline < self._timer() for it in slept)

    def wake(self) -> None:
        """Resume what has waited long enough."""
        now = self._timer()
        due = [it for it in self._tasks if it.deadline is not None and it.deadline <= now]
        with suppress(Died):
            for task in due:  # of which each may change what the others wait for
                if task.deadline is not None and task.deadline <= now and not self.exited:
                    self._time_is_up(task)

    def take(self) -> list[Action]:
        """The actions to carry out, in order."""
        with suppress(Died):
            while self._deferred:
                self._deferred.popleft()()
        actions = list(self._actions)
        self._actions.clear()
        return actions

    # --- for turns and controls ------------------------------------------------------------------

    def send(self, event: Event) -> None:
        """Say something to the SDK."""
        self.act(Write(self.connection.send(event)))

    def act(self, action: Action, *, after: Fault | None = None) -> None:
        """Do something, as far as the faults let it happen: all, or those after one.

        Raises:
            Died: it was the end of the process.
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

    def defer(self, callback: Callable[[], None]) -> None:
        """Do something when all that is running has come to a halt, before the host goes on."""
        self._deferred.append(callback)

    def warn(self, text: str) -> None:
        """Write a line to stderr."""
        self.act(WriteError(text.encode() + b"\n"))

    def exit(self, status: int) -> None:
        """End the process."""
        if not self.exited:
            self.exited = True
            self.act(Exit(status))

    async def ask(self, body: Body, *, seconds: float | None = None) -> Any:
        """Put a request to the SDK and wait for the answer.

        Raises:
            Refused: it answered with an error.
            StreamClosed: it cannot answer any more.
            TimedOut: it did not answer within `seconds`; the request is withdrawn.
        """
        if self.input_ended:
            raise StreamClosed
        return await self.answer_to(self.put(body), seconds=seconds)

    def put(self, body: Body) -> str:
        """Put a request to the SDK; its id."""
        request = Request(id=new_uuid(), body=body)
        self.send(request)
        return request.id

    async def answer_to(self, id: str, *, seconds: float | None = None) -> Any:
        """Wait for the answer to a request that was put. It raises as `ask` does."""
        answer = await Wait(id, seconds)
        if isinstance(answer, Failure):
            raise Refused(answer.error)
        return answer.body

    def withdraw(self, id: str) -> None:
        """Take a request back, if it still waits."""
        if id in self.connection.asked:
            self.send(Cancel(id=id))

    def take_back(self, id: str) -> None:
        """Withdraw a request, and tell whoever waits for the answer that there will be none."""
        self.withdraw(id)
        task = self._waiting_for(id)
        if task is not None:
            self._step(task, error=Refused("The request was withdrawn"))

    def decide(self, id: str, body: Any) -> None:
        """Withdraw a request because it is answered from elsewhere."""
        self.withdraw(id)
        self._resume(Answer(id, body))

    def give_up(self, task: Task) -> None:
        """Withdraw what a task waits for, and let it end as if nobody could answer."""
        if task in self._tasks and task.wait is not None and task.wait.key is not None:
            self.withdraw(task.wait.key)
            self._step(task, error=StreamClosed())

    def spawn(
        self, coroutine: Coroutine[Wait, Any, None], then: Callable[[], None] = lambda: None
    ) -> Task:
        """Run a coroutine beside the others."""
        task = Task(coroutine, then)
        self._tasks.append(task)
        self._step(task, None)
        return task

    @property
    def speaks(self) -> str:
        """The name of the dialect in which the CLI writes."""
        auto = self.dialect == AUTO
        return self.connection.their_dialect.name if auto else self.dialect

    @property
    def busy(self) -> bool:
        """Whether a turn is running."""
        return self._turn is not None

    def wake_up(self, prompt: UserMessage | None) -> None:
        """Start a turn for a prompt, or queue it; None for a turn that nobody asked for."""
        self.prompts.append(prompt)
        self._next_turn()

    def hold(self) -> None:
        """Let prompts wait until `release`: there is something to be done before the first."""
        if self._held is None:
            self._held = deque()

    def release(self) -> None:
        """Go on with the prompts that came since `hold`."""
        held, self._held = self._held, None
        for message in held or ():
            self._receive_user(message)

    def take_queued(self) -> list[UserMessage]:
        """Take the prompts that wait, for the turn that is running to deal with."""
        taken = [it for it in self.prompts if it is not None and it.priority != "later"]
        self.prompts = deque(it for it in self.prompts if it is None or it.priority == "later")
        return taken

    def interrupt(self) -> bool:
        """Withdraw what the turn asks and stop it. The answer to the interrupt comes in between."""
        task = self._turn
        if task is not None and task.wait is not None and task.wait.key is not None:
            from .mcp import abandon

            abandon(self, task.wait.key)
        return task is not None

    def stop_turn(self) -> None:
        """Make the running turn end as interrupted."""
        if self._turn is not None:
            self._step(self._turn, error=Interrupted())

    # --- inside ----------------------------------------------------------------------------------

    def _hear(self, event: Event) -> None:
        has_id = not isinstance(event, Answer | Failure) or b"request_id" in event.line
        is_modern = self.connection.their_dialect is MODERN and has_id
        if self.dialect != MODERN.name or is_modern:
            self._receive(event)
            return
        from .foreign import as_heard

        heard = as_heard(self, event)
        if heard is not None:
            self._receive(heard)

    def _receive(self, event: Event) -> None:
        if isinstance(event, Answer | Failure):
            if self.session.flags.replay_user_messages:
                self.act(Write(event.line + b"\n"))
            self._resume(event)
        elif isinstance(event, UserMessage):
            self._receive_user(event)
        elif isinstance(event, Request):
            from .requests import handle

            handle(self, event)
        elif isinstance(event, EndOfStream):
            self.end_input()
        elif isinstance(event, Noise):
            text = event.head.decode("utf-8", "replace")
            self.warn(f"Error parsing streaming input line: {text}: SyntaxError: {event.reason}")
            self.exit(1)
        # All else is ignored in silence, as the real one does.

    def _receive_user(self, message: UserMessage) -> None:
        from .progress import set_state, tell_progress

        if self._held is not None:
            self._held.append(message)
        elif message.should_query is False:
            if self.session.flags.replay_user_messages:
                self.send(self.session.replay_of(message))
            self.session.remember("user", message.text)
        else:
            if not self.busy:
                set_state(self, "running")
            tell_progress(self, message, "queued")
            self.wake_up(message)

    def end_input(self) -> None:
        """Hear nothing more: who waits for an answer gets none. Exit when all is done."""
        self.input_ended = True
        for task in list(self._tasks):
            if task.wait is not None and task.wait.key is not None:  # the one before may end it
                self._step(task, error=StreamClosed())
        self._exit_when_done()

    def _exit_when_done(self) -> None:
        if self.input_ended and not self._tasks and not self.prompts and not self._held:
            self.exit(self.session.exit_status)

    def _next_turn(self) -> None:
        from .turns import run_turn

        if self._turn is None and self.prompts and not self.exited:
            prompt = self.prompts.popleft()
            task = Task(run_turn(self, prompt), self._turn_over)
            self._turn = task
            self._tasks.append(task)
            self._step(task, None)

    def _turn_over(self) -> None:
        self._turn = None
        self._next_turn()

    def _resume(self, answer: Answer | Failure) -> None:
        task = self._waiting_for(answer.id)
        if task is not None:
            self._step(task, answer)

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
        """Let a coroutine run until it waits again or is done."""
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
                f"A scenario awaited {wait!r}. It runs without an event loop and may await only "
                "what its chat offers, such as chat.sleep()."
            )
            self._step(task, error=TypeError(words))
            return
        task.wait = wait
        if wait.seconds is not None:
            task.deadline = self._timer() + wait.seconds
