"""The simulated CLI as a program: an engine between the pipes of this process."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections import deque
from contextlib import suppress
from time import monotonic
from typing import Any

from . import actions
from .actions import Action
from .engine import Engine
from .flags import EarlyExit
from .simulation import Simulation
from .stored import append_entries

__all__ = ["run"]

STDIN, STDOUT, STDERR = 0, 1, 2

NO_FOLDER = (
    b"The current directory no longer exists (it was deleted or moved). "
    b"Start Claude Code from an existing directory.\n"
)


class Terminated(BaseException):
    """SIGTERM or SIGHUP has come."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status: int = 128 + number


def terminate(number: int, frame: object) -> None:
    """Exit, from wherever the program is."""
    raise Terminated(number)


class Host:
    """Connects an engine to the pipes of this process.

    Args:
        engine: the engine to run.
        log: a file descriptor for a machine-readable log of all traffic.
    """

    def __init__(self, engine: Engine, log: int | None = None) -> None:
        self.engine = engine
        self.log = log
        self.reading: bool = True
        self.input_ended: bool = False
        self.status: int | None = None
        self.jobs: Jobs | None = None

    def run(self) -> int:
        """Serve until the CLI exits, or is told to."""
        signal.signal(signal.SIGTERM, terminate)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as under nohup
            signal.signal(signal.SIGHUP, terminate)
        try:
            return self.serve_until_exit()
        except Terminated as told:
            return self.give_up(told.status)
        except KeyboardInterrupt:
            return self.interrupt()
        finally:
            self.engine.close()

    def interrupt(self) -> int:
        """Report the running turn as interrupted, and exit."""
        self.engine.prompts.clear()
        # A turn that was just being played has seen the signal itself, and is over.
        with suppress(RuntimeError):
            self.engine.stop_turn()
        return self.give_up(0, (actions.Append, actions.Write))

    def give_up(self, status: int, kinds: tuple[type, ...] = (actions.Append,)) -> int:
        """Keep what has to be kept, and exit with this status."""
        self.engine.transcript.close()
        for action in self.engine.take():
            if isinstance(action, kinds):
                self.do(action)
        return status

    def serve_until_exit(self) -> int:
        """Serve until the CLI exits."""
        self.engine.start()
        if self.engine.session.flags.input_format == "text" and os.isatty(STDIN):
            self.engine.feed(b"")  # the CLI does not read a prompt from a terminal
        while True:
            for action in self.engine.take():
                self.do(action)
                if self.status is not None:
                    return self.status
            self.serve()

    def serve(self) -> None:
        """Wait for input, or until the engine is due."""
        ended = self.input_ended or self.engine.input_ended
        inputs = [STDIN] if self.reading and not ended else []
        if self.jobs is not None:
            inputs.append(self.jobs.fd)
        ready, _, _ = select.select(inputs, [], [], self.engine.due_in)
        if self.jobs is not None and self.jobs.fd in ready:
            for key, result in self.jobs.finished():
                self.engine.finish(key, result)
        if STDIN in ready:
            data = os.read(STDIN, 65536)
            self.note(">", data)
            self.input_ended = not data
            self.engine.feed(data)
        self.engine.wake()

    def do(self, action: Action) -> None:
        """Carry out one action."""
        if isinstance(action, actions.Write):
            self.note("<", action.data)
            write(STDOUT, action.data)
        elif isinstance(action, actions.WriteError):
            self.note("!", action.data)
            write(STDERR, action.data)
        elif isinstance(action, actions.Append):
            append_entries(action.path, action.entries)
        elif isinstance(action, actions.Run):
            if self.jobs is None:
                self.jobs = Jobs()
            self.jobs.start(action)
        elif isinstance(action, actions.Exit):
            self.note("=", b"exit %d\n" % action.status)
            self.status = action.status
        elif isinstance(action, actions.ReadInput):
            self.reading = action.reading
        else:
            self.note("=", f"{action}\n".encode())
            misbehave(action)

    def note(self, direction: str, data: bytes) -> None:
        """Write a line to the log, in one write, since other processes share it."""
        if self.log is not None and data:
            write(self.log, f"{os.getpid()} {direction} {data.hex()}\n".encode())


class Jobs:
    """Functions that run in threads. `fd` can be read when one has ended."""

    def __init__(self) -> None:
        reading, self._end = os.pipe()
        self.fd: int = reading
        self._finished: deque[tuple[str, Any]] = deque()

    def start(self, job: actions.Run) -> None:
        """Run a function."""
        import threading

        threading.Thread(target=self._run, args=[job], daemon=True).start()

    def _run(self, job: actions.Run) -> None:
        self._finished.append((job.key, job()))
        os.write(self._end, b"!")

    def finished(self) -> list[tuple[str, Any]]:
        """What has ended, by its key, with what it returned."""
        return [self._finished.popleft() for _ in os.read(self.fd, 65536)]


def misbehave(action: Action) -> None:
    """Carry out what only a faulty CLI does."""
    import time

    if isinstance(action, actions.Pause):
        if action.seconds is None:
            signal.pause()
        else:
            time.sleep(action.seconds)
    elif isinstance(action, actions.Kill):
        die(action.signal)
    elif isinstance(action, actions.CloseOutput):
        discard(STDOUT)
    elif isinstance(action, actions.IgnoreTermination):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif isinstance(action, actions.LeaveGrandchild):
        leave_process("grandchild", action.seconds)
    elif isinstance(action, actions.LeaveShell):
        leave_process("shell", action.seconds, detached=True)


def die(number: int) -> None:
    """End this process by a signal, without a core dump."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def leave_process(name: str, seconds: float, *, detached: bool = False) -> None:
    """Start a process and print its id. It inherits only stdout, or has a session of its own."""
    from subprocess import DEVNULL, Popen

    sleep = f"import time; time.sleep({seconds})"
    argv = [sys.executable, "-I", "-S", "-c", sleep]
    stdout = DEVNULL if detached else None
    child = Popen(argv, stdin=DEVNULL, stdout=stdout, stderr=DEVNULL, start_new_session=detached)
    write(STDERR, f"claudewire-sim: {name} {child.pid}\n".encode())


def write(fd: int, data: bytes) -> None:
    """Write everything. If the reader is gone, the CLI goes on, as the real one does."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except BrokenPipeError:
        discard(fd)


def discard(fd: int) -> None:
    """Lose what is written from now on."""
    # Not closed: the next file to be opened would take its place.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, fd)
    os.close(nowhere)


def open_streams() -> None:
    """Open what the parent has closed, or the next file would become stdin, stdout or stderr."""
    for fd in (STDIN, STDOUT, STDERR):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it gets the lowest number that is free


def run(argv: list[str]) -> None:
    """Run as `claude` would, with these words after the program's name."""
    open_streams()
    if argv[:1] == ["--make-wrapper"]:
        sys.exit(_wrap(argv[1:]))
    env = dict(os.environ)
    try:
        simulation = Simulation.from_env(env)
        path = env.get("CLAUDEWIRE_SIM_LOG")
        log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600) if path else None
    except (OSError, ValueError) as error:
        write(STDERR, f"claudewire-sim: {error}\n".encode())
        sys.exit(2)
    try:
        cwd = os.getcwd()
    except FileNotFoundError:
        write(STDERR, NO_FOLDER)
        sys.exit(1)
    engine = simulation.engine(argv, cwd=cwd, env=env, clock=monotonic)
    if isinstance(engine, EarlyExit):
        write(STDOUT, engine.stdout.encode())
        write(STDERR, engine.stderr.encode())
        sys.exit(engine.status)
    sys.exit(Host(engine, log).run())


def _wrap(words: list[str]) -> int:
    from .wrapper import make_wrapper

    if len(words) != 2:
        write(STDERR, b"Usage: claudewire-sim --make-wrapper SCENARIO PATH\n")
        return 2
    try:
        make_wrapper(*words)
    except (OSError, ValueError) as error:
        write(STDERR, f"claudewire-sim: {error}\n".encode())
        return 2
    return 0
