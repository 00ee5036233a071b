"""A CLI as a process: started, talked to, and ended with all that it has started.

    transport = await spawn(Launch(argv=("claude", …), env=env))
    ...
    await transport.aclose()      # takes a limited time, and is complete even if it is cancelled

How it ends: its stdin is closed, its process group gets SIGTERM, and after a while SIGKILL. Then it
is verified that nothing is left of the group, nor of what has left it. What the process wrote can
still be received.
"""

from __future__ import annotations

import logging
import sys
import time
import warnings
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import anyio
import anyio.lowlevel

from ..concurrency import Flag, in_trio, scope_type, sleep
from ..errors import Cause, CLIError, Evidence
from .pipes import PipeReader, PipeWriter, Readiness
from .platforms import Child, start

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Configurable", "Launch", "ProcessTransport", "check_platform", "spawn"]

log: logging.Logger = logging.getLogger("claudewire.transport")

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05
"""Seconds between two checks of a process group that is ending."""
_FOR_OTHERS = 0.5
"""Seconds that a process waits at most to share a table with others: it has its own time limits."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a CLI.

    Attributes:
        argv: the program, with its path, and its arguments.
        env: all of its environment.
        cwd: its working directory; None for that of this process.
        cleanup: functions to call when it has ended or could not be started, such as one that
            deletes its private files.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    cwd: Path | None = None
    cleanup: tuple[Callable[[], object], ...] = ()


@runtime_checkable
class Configurable(Protocol):
    """A transport whose CLI is not started yet, and starts as the options of the session say."""

    def configure(self, launch: Launch) -> None:
        """Learn how the CLI would be started, before anything is sent.

        Args:
            launch: its command line, the variables that the options set, and its working directory.
                Files that the command line names exist during this call only.

        Raises:
            OptionsError: the CLI has been used before.
        """


def check_platform() -> None:
    """Refuse to start a process where that is not supported.

    Raises:
        CLIError: this is Windows.
    """
    if sys.platform == "win32":
        raise CLIError(
            "claudewire cannot start a CLI on Windows, which it does not support",
            cause=Cause.REFUSED,
            advice="Use Linux, macOS or WSL, or reach a CLI there with a transport of your own.",
        )


async def spawn(
    launch: Launch,
    *,
    terminate_after: float = 5.0,
    kill_after: float = 5.0,
    user: str | int | None = None,
) -> ProcessTransport:
    """Start a CLI.

    Args:
        launch: what to start.
        terminate_after: how many seconds a closed process has, after SIGTERM, before it is killed.
        kill_after: how many seconds to wait for the end of a killed process.
        user: as whom it runs; this needs privileges.

    Raises:
        OptionsError: the working directory, the user or an argument is not possible.
        CLIError: it cannot be started; `cause` says why.
    """
    cleanup = _CleanUp(launch.cleanup)
    try:
        check_platform()
        await sleep(0)
        # In this thread, and nothing is awaited after it: there is no moment at which the process
        # runs without an owner.
        child = start(launch.argv, env=launch.env, cwd=launch.cwd, user=user)
    except (OSError, ValueError, LookupError) as error:
        from .spawn_errors import explained

        cleanup()
        raise explained(error, launch.argv, launch.env, launch.cwd) from error
    except BaseException:
        cleanup()
        raise
    log.debug("Started %s, pid %d", launch.argv[0], child.pid)
    return ProcessTransport(child, cleanup, terminate_after, kill_after)


class _CleanUp:
    """Calls the cleanup functions of a `Launch`, once."""

    def __init__(self, steps: tuple[Callable[[], object], ...]) -> None:
        self._steps = list(steps)

    def __call__(self) -> None:
        while self._steps:
            step = self._steps.pop()
            try:
                step()
            except Exception:
                log.exception("Could not clean up after the CLI")


class ProcessTransport:
    """A running process as a transport. Made by `spawn`.

    Different tasks of one event loop may send, receive, wait and close at the same time. If it is
    never closed, the process is killed, with a ResourceWarning, when this object is
    garbage-collected or when the interpreter ends.
    """

    def __init__(
        self, child: Child, cleanup: Callable[[], None], terminate_after: float, kill_after: float
    ) -> None:
        self._child = child
        self._cleanup = cleanup
        self._terminate_after = terminate_after
        self._kill_after = kill_after
        self._stdin = PipeWriter(child.stdin)
        self._stdout = PipeReader(child.stdout)
        self._stderr = PipeReader(child.stderr)
        self._exited = Readiness(child.exited, anyio.wait_readable)
        self._note_exit: Callable[[int | None], None] | None = None
        self._note_failure: Callable[[BaseException], object] | None = None
        self._is_closing = False
        self._closed = Flag()
        self._finalizer = weakref.finalize(self, _kill_unclosed, child, cleanup)

    # --- what it is ------------------------------------------------------------------------------

    @property
    def pid(self) -> int:
        """The process id, which is also that of its process group."""
        return self._child.pid

    @property
    def is_alive(self) -> bool:
        """Whether it has not exited."""
        return not self._child.poll()

    @property
    def returncode(self) -> int | None:
        """How it exited, negative for a signal; None if it has not, or that is not known."""
        self._child.poll()
        return self._child.returncode

    def __repr__(self) -> str:
        state = "running" if self.is_alive else f"exited with {self.returncode}"
        return f"<{type(self).__name__} pid={self.pid} {state}>"

    # --- bytes -----------------------------------------------------------------------------------

    async def send(self, data: bytes) -> None:
        """Write all of `data`.

        If this is cancelled, either nothing of it was written or the rest will be, before
        anything else.

        Raises:
            TransportClosed: the process no longer reads.
        """
        await self._stdin.send(data)

    def send_now(self, data: bytes) -> int:
        """Write what can be written without waiting, unless something is being sent.

        Returns:
            how many bytes that was. The rest has to be sent before anything else.

        Raises:
            TransportClosed: the process no longer reads.
        """
        return self._stdin.send_now(data)

    async def send_eof(self) -> None:
        """Close its stdin, after all that was sent before. The other direction stays open."""
        await self._note_descendants()  # for it may exit then, and leave them behind
        await self._stdin.send_eof()

    async def _note_descendants(self) -> None:
        since = time.monotonic()
        await _pause(min(self._child.look_in(since), _FOR_OTHERS))
        self._child.note_descendants(since)

    async def receive(self) -> bytes:
        """Wait for some bytes; `b""` when there will be no more. None are lost if it is cancelled.

        The end comes when the process, and every child that shares its stdout, has closed it. It
        comes with `aclose` at the latest.
        """
        return await self._stdout.receive()

    async def pump(self, take: Callable[[bytes], None]) -> None:
        """Hand all that arrives to a function, until the end: as `receive` in a loop, but faster.

        Args:
            take: is called in the event loop and must not wait. What it raises ends this.
        """
        await self._stdout.pump(take)

    def pump_without_task(
        self, take: Callable[[bytes], None], ended: Callable[[BaseException | None], object]
    ) -> bool:
        """Do the same without a task that waits.

        Args:
            take: see `pump`.
            ended: is called at the end, with what `take` has raised; then `pump` can go on.

        Returns:
            False in trio, which needs the task.
        """
        if in_trio():
            return False
        self._stdout.pump_without_task(take, ended)
        return True

    async def receive_stderr(self) -> bytes:
        """Wait for some bytes of stderr; `b""` when there will be no more."""
        return await self._stderr.receive()

    def watch(
        self,
        hear: Callable[[bytes], None],
        exited: Callable[[int | None], None],
        failed: Callable[[BaseException], object],
    ) -> bool:
        """Have functions called in the event loop, instead of `receive_stderr` and `wait` in tasks.

        Args:
            hear: is called with what the process writes to stderr.
            exited: is called once, when it has exited, with its exit status.
            failed: is called with what one of the others has raised.

        Returns:
            False in trio, which needs the tasks.
        """
        if in_trio():
            return False
        self._note_exit, self._note_failure = exited, failed
        self._stderr.pump_without_task(hear, self._stopped_watching)
        self._exited.watch_without_task(self._is_running, self._stopped_watching)
        return True

    def _is_running(self) -> bool:
        """Look whether it has exited, and tell whoever watches it."""
        if not self._child.poll():
            return True
        assert self._note_exit is not None
        self._note_exit(self._child.returncode)
        return False

    def _stopped_watching(self, error: BaseException | None) -> None:
        if error is not None:
            assert self._note_failure is not None
            self._note_failure(error)

    # --- its end ---------------------------------------------------------------------------------

    async def wait(self) -> int | None:
        """Wait until it has exited; return its exit status, negative for a signal.

        None if that is not known, because other code in this process has waited for it.
        """
        await anyio.lowlevel.checkpoint()
        while not self._child.poll() and not self._closed.is_set():
            await self._exited.wait()
        return self._child.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal to the process alone; do nothing if it has exited."""
        self._child.send_signal(number)

    def kill_now(self) -> None:
        """Kill it with all that it has started, at once and from any thread.

        Use it where there is no event loop, or no time. What it has written can still be received,
        and `aclose` still has to be called where that is possible.
        """
        self._child.end_now()
        if self._child.poll():
            self._cleanup()

    async def aclose(self) -> None:
        """End it with all that it has started, and release all resources.

        It takes `terminate_after` and twice `kill_after` seconds at most. Cancelling does not
        shorten it, because then a process could be left behind; if asyncio cancels the task by
        force, the process is killed at once.

        Raises:
            CLIError: a process could not be killed. All else has been done.
        """
        with scope_type()(shield=True):
            if self._is_closing:
                await self._closed.wait()
                return
            self._is_closing = True
            try:
                await self._end()
            except BaseException:
                self.kill_now()
                raise
            finally:
                self._release()

    async def _end(self) -> None:
        self._stdin.close()
        if self.is_alive:
            async with anyio.create_task_group() as tasks:
                # A process that cannot write the rest of its output cannot end.
                tasks.start_soon(self._stdout.drain)
                tasks.start_soon(self._stderr.drain)
                await self._end_process()
                tasks.cancel_scope.cancel()
        if not await self._end_group():
            raise self._not_killed()

    async def _end_process(self) -> None:
        await self._note_descendants()
        self._child.terminate()
        with anyio.move_on_after(self._terminate_after):
            await self.wait()
        if self.is_alive:
            log.warning("Process %d did not end after SIGTERM; killing it", self.pid)
            self._child.kill()
            with anyio.move_on_after(self._kill_after):
                await self.wait()

    async def _end_group(self) -> bool:
        """End all that it has started; say whether that was seen."""
        self._child.kill_group()
        self._child.release()
        since, pause = time.monotonic(), _SHORTEST_PAUSE
        deadline = since + self._kill_after
        # Not for all of the time: what is left is killed only after the first look.
        await _pause(min(self._child.look_in(since), _FOR_OTHERS, self._kill_after / 2))
        while self._child.is_left(since):
            if time.monotonic() >= deadline:
                return False
            self._child.kill()
            await sleep(pause)
            since, pause = time.monotonic(), min(2 * pause, _LONGEST_PAUSE)
        return True

    def _not_killed(self) -> CLIError:
        message = f"Process {self.pid}, or a process that it has started, cannot be killed"
        log.error(message)
        return CLIError(message, evidence=Evidence(pid=self.pid))

    def _release(self) -> None:
        for stream in (self._stdin, self._stdout, self._stderr):
            stream.close()
        self._exited.close()
        self._note_exit = self._note_failure = None
        self._child.close()
        self._cleanup()
        self._finalizer.detach()
        self._closed.set()


async def _pause(seconds: float) -> None:
    if seconds > 0:
        await sleep(seconds)


def _kill_unclosed(child: Child, cleanup: Callable[[], None]) -> None:
    if not child.is_ours:
        return
    was_killed = child.is_released
    child.end_now()
    child.close()
    cleanup()
    if not was_killed:
        message = f"The process {child.pid} was never closed, so it has been killed"
        warnings.warn(message, ResourceWarning, stacklevel=2)
