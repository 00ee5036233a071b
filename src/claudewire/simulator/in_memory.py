"""The simulated CLI in this process, as a transport.

It needs no task and no thread: the engine runs when something is sent or received. So it works on
any event loop, and needs no cleanup.
"""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio
import anyio.lowlevel

from ..concurrency import check_function, function_name, run_soon
from ..errors import OptionsError, TransportClosed
from ..transport import Launch
from ..wire import AUTO, DIALECTS, MODERN
from . import actions
from .actions import Action
from .chat import Scenario
from .engine import Engine, Fault
from .flags import EarlyExit
from .personas import LATEST, persona
from .simulation import Simulation
from .stored import append_entries

__all__ = ["ARGV", "SimulatedCLI"]

ARGV = (
    "--output-format=stream-json",
    "--input-format=stream-json",
    "--verbose",
    "--permission-prompt-tool=stdio",
)
"""The flags with which an SDK starts the CLI."""

PIPE = 65536
"""Bytes that fit into a pipe before the writer has to wait."""


class SimulatedCLI:
    """A simulated `claude` in memory, as a transport.

    A session starts it with the command line that its options make, as it would start the real CLI.
    One object serves one session.

    Args:
        scenario: what the agent does in each turn; the demo agent if not given.
        argv: flags to add to those of the session.
        version: the CLI version to play.
        dialect: the dialect to speak: `modern` is that of the real CLI, `auto` that of the SDK.
        faults: what goes wrong.
        cwd: its working directory, unless the options of the session name one.
        env: its environment, empty unless given; what the options of the session set comes on top.
            Sessions are kept only where `CLAUDE_CONFIG_DIR` or `HOME` says.
        strict: whether it refuses flags and settings that are not simulated; otherwise it names
            them on stderr.

    Raises:
        OptionsError: an argument makes no sense.
    """

    def __init__(
        self,
        scenario: Scenario | None = None,
        *,
        argv: Sequence[str] = (),
        version: str = LATEST.version,
        dialect: str = MODERN.name,
        faults: Sequence[Fault] = (),
        cwd: str | os.PathLike[str] = ".",
        env: Mapping[str, str] | None = None,
        strict: bool = False,
    ) -> None:
        _check(scenario, faults, argv, dialect, cwd, env)
        self._simulation = Simulation(scenario, persona(version).version, dialect, faults, strict)
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
        self._unread: list[bytes] = []
        self._finished: deque[tuple[str, Any]] = deque()
        self._status: int | None = None
        self._changed = anyio.Event()

    @property
    def engine(self) -> Engine | None:
        """The engine; None if the command line was refused."""
        self._start()
        return self._engine

    @property
    def failures(self) -> tuple[Exception, ...]:
        """What the scenario has raised, in the order of its turns. The CLI reports it, too."""
        return () if self._engine is None else tuple(self._engine.failures)

    def configure(self, launch: Launch) -> None:
        """Start as the options of a session say, unless it has been started by hand.

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
        """Write to the CLI's stdin. If the CLI does not read it, this waits as a full pipe does."""
        await self._until(lambda: self._takes(len(data)))
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
        """Wait for what the CLI writes to stdout, one write at a time; `b""` at its end."""
        await self._until(lambda: bool(self._stdout) or not self._has_stdout())
        return self._stdout.popleft() if self._stdout else b""

    async def receive_stderr(self) -> bytes:
        """Wait for what the CLI writes to stderr; `b""` at its end."""
        await self._until(lambda: bool(self._stderr) or self._status is not None)
        data = self._stderr.popleft() if self._stderr else b""
        self._carry_out()  # there is room for more
        return data

    async def wait(self) -> int | None:
        """Wait until the CLI has exited."""
        await self._until(lambda: self._status is not None)
        return self._status

    async def aclose(self) -> None:
        """Kill the CLI, and end what it has left behind."""
        self._closed = True
        self._start()
        self._stdout_open = False
        self._end(-9)

    # --- inside: conditions ----------------------------------------------------------------------

    def _takes(self, size: int) -> bool:
        """Whether data of this size can be sent now, or will be refused."""
        room = PIPE - sum(map(len, self._unread))
        return self._reading or size <= room or self._status is not None

    def _has_stdout(self) -> bool:
        """Whether more output on stdout is possible."""
        held = self._stdout_held_until > anyio.current_time()
        return self._stdout_open and (self._status is None or held)

    def _is_stuck(self) -> bool:
        """Whether the CLI cannot go on now: it pauses, or its stderr is full."""
        full = sum(map(len, self._stderr)) > PIPE
        return full or self._paused_until > anyio.current_time()

    # --- inside: actions -------------------------------------------------------------------------

    def _start(self) -> None:
        if self._engine is not None or self._status is not None:
            return
        started = self._simulation.engine(
            self._argv, cwd=self._cwd, env=self._env, clock=anyio.current_time
        )
        if isinstance(started, EarlyExit):
            self._do(actions.Write(started.stdout.encode()))
            self._do(actions.WriteError(started.stderr.encode()))
            self._end(started.status)
        else:
            self._engine = started
            started.start()
            self._carry_out()

    async def _until(self, done: Callable[[], bool]) -> None:
        """Start the CLI if needed, and run it until a condition is true."""
        self._start()
        await anyio.lowlevel.checkpoint()
        while not done():
            if not self._has_finished():
                with anyio.move_on_after(self._next_event()):
                    await self._changed.wait()
            if self._changed.is_set():  # by a thread
                self._changed = anyio.Event()
            if self._status is None:
                self._go_on()

    def _go_on(self) -> None:
        """Do what has become due."""
        assert self._engine is not None  # it would have exited
        while self._finished:
            self._engine.finish(*self._finished.popleft())
        self._engine.wake()
        self._carry_out()

    def _next_event(self) -> float:
        """In how many seconds the CLI acts by itself."""
        if self._is_due():
            return 0.0
        now = anyio.current_time()
        times = [it - now for it in (self._paused_until, self._stdout_held_until) if it > now]
        if self._engine is not None and self._engine.due_in is not None:
            times.append(self._engine.due_in)
        return min(times, default=math.inf)

    def _is_due(self) -> bool:
        """Whether an action has become possible."""
        return self._status is None and bool(self._to_do) and not self._is_stuck()

    def _feed(self, data: bytes) -> None:
        """Give the CLI input, now or when it reads again."""
        assert self._engine is not None  # it would have exited
        if self._engine.overslept:
            self._engine.wake()  # that comes before this input
        self._unread.append(data)
        self._read_input()
        self._carry_out()
        self._wake()  # even without an action there may be a new deadline

    def _read_input(self) -> None:
        assert self._engine is not None  # it would have exited
        while self._unread and self._reading:
            data = self._unread.pop(0)
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
        elif isinstance(action, actions.Append):
            append_entries(action.path, action.entries)
        elif isinstance(action, actions.Run):
            self._run(action)
        elif isinstance(action, actions.Pause):
            seconds = math.inf if action.seconds is None else action.seconds
            self._paused_until = anyio.current_time() + seconds
        elif isinstance(action, actions.Exit):
            self._end(action.status)
        elif isinstance(action, actions.Kill):
            self._end(-action.signal)
        elif isinstance(action, actions.CloseOutput):
            self._stdout_open = False
        elif isinstance(action, actions.ReadInput):
            self._reading = action.reading
            self._read_input()
        elif isinstance(action, actions.LeaveGrandchild):
            self._stdout_held_until = anyio.current_time() + action.seconds
        # In memory there are no signals to ignore, and no shells to leave.

    def _run(self, job: actions.Run) -> None:
        """Call a function in a thread, and give the CLI its result in this event loop."""
        soon = run_soon()

        def run() -> None:
            self._finished.append((job.key, job()))
            soon(lambda: self._changed.set())

        threading.Thread(target=run, daemon=True).start()

    def _has_finished(self) -> bool:
        """Whether a function has returned, perhaps while nobody waited for a change."""
        return bool(self._finished) and self._status is None

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


def _check_scenario(scenario: object) -> None:
    try:
        signature = check_function(scenario)
    except TypeError as error:
        raise OptionsError(f"scenario must be an async function of a Chat, but {error}") from None
    try:
        if signature is not None:
            signature.bind(object())
    except TypeError:
        raise OptionsError(
            f"scenario is called with one argument, the Chat; {function_name(scenario)} "
            "cannot be called that way"
        ) from None


def _check(
    scenario: object, faults: object, argv: object, dialect: object, cwd: object, env: object
) -> None:
    """Reject now what would fail in the middle of a session."""
    if scenario is not None:
        _check_scenario(scenario)
    if isinstance(faults, str):
        raise OptionsError(f"faults must be a list; use parse_faults({faults!r}) to make one")
    if not isinstance(faults, Sequence) or not all(isinstance(it, Fault) for it in faults):
        raise OptionsError(f"faults must be a list of faults, not {faults!r}")
    if isinstance(argv, str):
        raise OptionsError(f"argv must be a list; did you mean {argv.split()!r}?")
    if not isinstance(argv, Sequence) or not all(isinstance(it, str) for it in argv):
        raise OptionsError(f"argv must be a list of strings, not {argv!r}")
    if dialect not in (AUTO, *DIALECTS):
        known = ", ".join([AUTO, *DIALECTS])
        raise OptionsError(f"dialect must be one of {known}, not {dialect!r}")
    if not isinstance(cwd, str | os.PathLike):
        raise OptionsError(f"cwd must be a path, not {cwd!r}")
    if env is not None and not isinstance(env, Mapping):
        raise OptionsError(f"env must be a mapping, not {env!r}")
