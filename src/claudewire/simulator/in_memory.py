"""The simulated CLI in this process, as a transport.

It needs no task: the engine runs when something is sent or received. It therefore works on any
event loop and needs no cleanup.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

from ..concurrency import run_soon
from ..errors import OptionsError, TransportClosed
from ..transport import Launch
from ..wire import RELEASED
from . import actions
from .actions import Action
from .chat import Scenario
from .engine import Engine
from .flags import EarlyExit
from .personas import LATEST
from .simulation import Simulation

if TYPE_CHECKING:
    from .faults import Fault

ARGV = (
    "--output-format=stream-json",
    "--input-format=stream-json",
    "--verbose",
    "--permission-prompt-tool=stdio",
)
"""The flags with which an SDK starts the CLI."""

PIPE = 65536
"""The bytes that fit into a pipe before the writer has to wait."""


class SimulatedCLI:
    """A simulated `claude` in memory, as a transport.

    A session starts it with the command line of its options, like the real CLI. One object serves
    one session.

    Args:
        scenario: plays the agent in each turn; by default the demo agent.
        argv: more flags for the command line of the session.
        version: the CLI version to play.
        dialect: the dialect to speak: that of the real CLI, another one by name, or `auto` for
            that of the SDK.
        faults: what goes wrong.
        cwd: the working directory, unless the options of the session name one.
        env: the environment, by default empty; the options of the session add to it. Conversations
            are kept only if `CLAUDE_CONFIG_DIR` or `HOME` is set.
        strict: whether it refuses flags and settings that are not simulated; otherwise it names
            them on stderr.

    Raises:
        OptionsError: an argument is invalid.
    """

    def __init__(
        self,
        scenario: Scenario | None = None,
        *,
        argv: Sequence[str] = (),
        version: str = LATEST.version,
        dialect: str = RELEASED,
        faults: Sequence[Fault] = (),
        cwd: str | os.PathLike[str] = ".",
        env: Mapping[str, str] | None = None,
        strict: bool = False,
    ) -> None:
        self._simulation = Simulation(scenario, version, dialect, faults, strict)
        self._more_flags = [*argv]
        self._argv = [*ARGV, *argv]
        self._cwd = os.path.abspath(cwd)
        self._env = dict(env or {})
        self._engine: Engine | None = None
        self._to_do: deque[Action] = deque()
        self._paused_until = self._stdout_held_until = -math.inf
        self._stdout: deque[bytes] = deque()
        self._stderr: deque[bytes] = deque()
        self._stdout_open = self._reading = True
        self._input_ended = self._closed = False
        self._unread: deque[bytes] = deque()
        self._status: int | None = None
        self._changed = anyio.Event()

    @property
    def engine(self) -> Engine | None:
        """The engine; None if the command line was refused."""
        self._start()
        return self._engine

    @property
    def failures(self) -> tuple[Exception, ...]:
        """The exceptions of the scenario, in the order of its turns."""
        return () if self._engine is None else tuple(self._engine.failures)

    def configure(self, launch: Launch) -> None:
        """Start with the options of a session, unless it was started by hand.

        Raises:
            OptionsError: it has been closed, by another session for example.
        """
        if self._closed:
            raise OptionsError(
                "This simulated CLI has been used before, and is over: each session needs a "
                "SimulatedCLI of its own"
            )
        if self._engine is not None or self._status is not None:
            return
        self._argv = [*launch.argv[1:], *self._more_flags]
        self._cwd = str(launch.cwd or self._cwd)
        self._env |= launch.env
        self._start()

    async def send(self, data: bytes) -> None:
        """Write to the CLI's stdin. If the CLI does not read it, wait as with a full pipe."""
        room = PIPE - len(data)
        await self._until(
            lambda: self._reading or sum(map(len, self._unread)) <= room or self._status is not None
        )
        if self._status is not None:
            raise TransportClosed(f"The simulated CLI has exited with status {self._status}")
        if self._input_ended:
            raise TransportClosed("The stdin of the simulated CLI is closed")
        if data:
            self._feed(data)

    async def send_eof(self) -> None:
        """Close the CLI's stdin."""
        await self._until(lambda: True)
        if not self._input_ended and self._status is None:
            self._input_ended = True
            self._feed(b"")

    async def receive(self) -> bytes:
        """Wait for output on stdout, one write at a time; `b""` is its end."""
        await self._until(lambda: bool(self._stdout) or not self._stdout_open or self._is_over())
        return self._stdout.popleft() if self._stdout else b""

    async def receive_stderr(self) -> bytes:
        """Wait for output on stderr; `b""` is its end."""
        await self._until(lambda: bool(self._stderr) or self._status is not None)
        data = self._stderr.popleft() if self._stderr else b""
        self._carry_out()  # there is room for more
        return data

    async def wait(self) -> int | None:
        """Wait until the CLI has exited."""
        await self._until(lambda: self._status is not None)
        return self._status

    async def aclose(self) -> None:
        """Kill the CLI, and end the processes that it left behind."""
        self._closed = True
        self._start()
        self._stdout_open = False
        self._end(-9)

    # --- waiting ---------------------------------------------------------------------------------

    async def _until(self, done: Callable[[], bool]) -> None:
        """Start the CLI if needed, and run it until a condition is true."""
        self._start()
        await anyio.lowlevel.checkpoint()
        while not done():
            changed = self._changed
            with anyio.move_on_after(self._next_event()):
                await changed.wait()
            if self._status is None and self._engine is not None:
                self._engine.wake()
                self._carry_out()

    def _next_event(self) -> float:
        """Return in how many seconds the CLI acts without input."""
        if self._to_do and self._status is None and not self._is_stuck():
            return 0.0
        now = anyio.current_time()
        times = [it - now for it in (self._paused_until, self._stdout_held_until) if it > now]
        if self._engine is not None and self._status is None:
            times += [] if self._engine.due_in is None else [self._engine.due_in]
        return min(times, default=math.inf)

    def _is_over(self) -> bool:
        """Whether the CLI, and each process that holds its stdout, has ended."""
        return self._status is not None and self._stdout_held_until <= anyio.current_time()

    def _is_stuck(self) -> bool:
        """Whether the CLI cannot go on now: it pauses, or its stderr is full."""
        full = sum(map(len, self._stderr)) > PIPE
        return full or self._paused_until > anyio.current_time()

    # --- running ---------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._engine is not None or self._status is not None:
            return
        try:
            self._engine = self._simulation.engine(
                self._argv, cwd=self._cwd, env=self._env, clock=anyio.current_time
            )
        except EarlyExit as exit:
            self._write(actions.Write(exit.stdout.encode()))
            self._write(actions.WriteError(exit.stderr.encode()))
            self._end(exit.status)
            return
        self._engine.thread_waker = lambda: partial(run_soon(), self._wake)
        self._engine.start()
        self._carry_out()

    def _feed(self, data: bytes) -> None:
        """Give the CLI input, now or when it reads again."""
        self._unread.append(data)
        self._read_input()
        self._carry_out()
        self._wake()  # even without an action there may be a new deadline

    def _read_input(self) -> None:
        while self._unread and self._reading and self._engine is not None:
            data = self._unread.popleft()
            if not self._engine.input_ended:
                self._engine.feed(data)

    def _carry_out(self) -> None:
        if self._engine is None:
            return
        self._to_do += self._engine.take()
        acted = False
        while self._to_do and self._status is None and not self._is_stuck():
            self._do(self._to_do.popleft())
            self._to_do += self._engine.take()
            acted = True
        if acted:  # otherwise waiting callers would keep waking each other
            self._wake()

    def _do(self, action: Action) -> None:
        if isinstance(action, actions.Write | actions.WriteError):
            self._write(action)
        elif isinstance(action, actions.Pause):
            self._paused_until = anyio.current_time() + action.seconds
        elif isinstance(action, actions.Exit):
            self._end(action.status)
        elif isinstance(action, actions.Kill):
            self._end(-action.signal)
        elif isinstance(action, actions.CloseOutput):
            self._stdout_open = False
        elif isinstance(action, actions.ReadInput):
            self._reading = action.reading
            self._read_input()
        elif isinstance(action, actions.LeaveProcess) and not action.detached:
            self._stdout_held_until = anyio.current_time() + action.seconds
        # In memory there are no signals to ignore, and no shells to leave.

    def _write(self, action: actions.Write | actions.WriteError) -> None:
        chunks = self._stderr if isinstance(action, actions.WriteError) else self._stdout
        if action.data and (self._stdout_open or chunks is self._stderr):
            chunks.append(action.data)

    def _end(self, status: int) -> None:
        if self._status is None:
            self._status = status
            if self._engine is not None:
                self._engine.close()
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
