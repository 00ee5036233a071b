"""The simulated CLI as a program: an engine between the pipes of this process."""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
from contextlib import suppress
from subprocess import DEVNULL, Popen
from time import monotonic, sleep

from . import actions
from .actions import Action
from .engine import Engine
from .flags import EarlyExit
from .simulation import MARK, Simulation, write_program

STDIN, STDOUT, STDERR = 0, 1, 2


def terminate(number: int, frame: object) -> None:
    """Exit, wherever the program is."""
    sys.exit(128 + number)


class Host:
    """Connects an engine to the pipes of this process."""

    def __init__(self, engine: Engine, log: int | None = None) -> None:
        self.engine = engine
        self.log = log
        self.reading: bool = True
        self.input_ended: bool = False
        self.status: int | None = None
        wakes, waker = os.pipe()
        self.wakes: int = wakes
        engine.thread_waker = lambda: lambda: _write(waker, b"!")

    def run(self) -> int:
        """Serve until the CLI exits or a signal ends it; return the exit status."""
        signal.signal(signal.SIGTERM, terminate)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as under nohup
            signal.signal(signal.SIGHUP, terminate)
        try:
            return self.serve_until_exit()
        except SystemExit:
            self.engine.transcript.close()
            raise
        except KeyboardInterrupt:
            return self.interrupt()
        finally:
            self.engine.close()

    def interrupt(self) -> int:
        """Report the running turn as interrupted, and exit."""
        self.engine.prompts.clear()
        # A turn that was running right now received the signal itself, and is over.
        with suppress(RuntimeError):
            self.engine.stop_turn()
        self.engine.transcript.close()
        for action in self.engine.take():
            if isinstance(action, actions.Write):
                self.do(action)
        return 0

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
        inputs = [self.wakes, *([STDIN] if self.reading and not ended else [])]
        ready, _, _ = select.select(inputs, [], [], self.engine.due_in)
        if self.wakes in ready:
            os.read(self.wakes, 65536)
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
            _write(STDOUT, action.data)
        elif isinstance(action, actions.WriteError):
            self.note("!", action.data)
            _write(STDERR, action.data)
        elif isinstance(action, actions.ReadInput):
            self.reading = action.reading
        elif isinstance(action, actions.Exit):
            self.note("=", b"exit %d\n" % action.status)
            self.status = action.status
        else:
            self.note("=", f"{action}\n".encode())
            _misbehave(action)

    def note(self, direction: str, data: bytes) -> None:
        """Write a line to the log, in one write because several processes may share it."""
        if self.log is not None and data:
            _write(self.log, f"{os.getpid()} {direction} {data.hex()}\n".encode())


def _misbehave(action: Action) -> None:
    """Carry out an action of a faulty CLI."""
    if isinstance(action, actions.Pause):
        sleep(action.seconds)
    elif isinstance(action, actions.Kill):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no core dump
        if action.signal != signal.SIGKILL:
            signal.signal(action.signal, signal.SIG_DFL)
        os.kill(os.getpid(), action.signal)
    elif isinstance(action, actions.CloseOutput):
        _discard(STDOUT)
    elif isinstance(action, actions.IgnoreTermination):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif isinstance(action, actions.LeaveProcess):
        _leave_process(action.seconds, detached=action.detached)


def _leave_process(seconds: float, *, detached: bool) -> None:
    """Start a process and print its id."""
    argv = [sys.executable, "-I", "-S", "-c", f"import time; time.sleep({seconds})"]
    stdout = DEVNULL if detached else None
    child = Popen(argv, stdin=DEVNULL, stdout=stdout, stderr=DEVNULL, start_new_session=detached)
    name = "shell" if detached else "grandchild"
    _write(STDERR, f"claudewire-sim: {name} {child.pid}\n".encode())


def _write(fd: int, data: bytes) -> None:
    """Write everything. If the reader is gone, the CLI goes on, like the real one."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except BrokenPipeError:
        _discard(fd)


def _discard(fd: int) -> None:
    """Lose all further output."""
    # Not closed: the next file to be opened would take its place.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, fd)
    os.close(nowhere)


def main() -> None:
    """Run like `claude`."""
    argv, env = sys.argv[1:], dict(os.environ)
    try:
        if argv[:1] == ["--make-wrapper"]:
            make_wrapper(argv[1:])
            sys.exit(0)
        simulation = Simulation.from_env(env)
        path = env.get("CLAUDEWIRE_SIM_LOG")
        log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600) if path else None
    except (OSError, ValueError) as error:
        _write(STDERR, f"claudewire-sim: {error}\n".encode())
        sys.exit(2)
    try:
        engine = simulation.engine(argv, cwd=os.getcwd(), env=env, clock=monotonic)
    except EarlyExit as exit:
        _write(STDOUT, exit.stdout.encode())
        _write(STDERR, exit.stderr.encode())
        sys.exit(exit.status)
    sys.exit(Host(engine, log).run())


def make_wrapper(words: list[str]) -> None:
    """Write a shell script that runs the simulated CLI with a scenario.

    Raises:
        ValueError: the scenario is invalid, or the number of words is wrong.
        OSError: a file cannot be read or written, or the path is taken.
    """
    if len(words) != 2:
        raise ValueError("usage: claudewire-sim --make-wrapper SCENARIO PATH")
    scenario, path = words
    Simulation.from_env({"CLAUDEWIRE_SIM_SCENARIO": scenario})
    if os.path.exists(path):
        with open(path, "rb") as file:
            if MARK.encode() not in file.read(200):
                raise FileExistsError(f"{path} exists, and is no wrapper that can be replaced")
    write_program(path, {"CLAUDEWIRE_SIM_SCENARIO": os.path.abspath(scenario)})
