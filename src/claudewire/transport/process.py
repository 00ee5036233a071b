"""A CLI as a process: started, talked to, and ended with all that it has started.

    transport = await spawn(Launch(argv=("claude", …), env=env))
    ...
    await transport.aclose()      # takes a limited time, and is complete even if it is cancelled

At its end, its stdin is closed, its process group gets SIGTERM, and after a while SIGKILL. Then the
processes that have left the group are killed, until none is left. Its last output can still be
received.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.lowlevel

from ..concurrency import in_trio
from ..errors import Cause, CLIError, CLINotFoundError, Error, Evidence, OptionsError, redact
from .base import Launch
from .pipes import PipeReader, PipeWriter
from .platforms import Child, start

log: logging.Logger = logging.getLogger("claudewire.transport")

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05
"""Seconds between two checks of a process group that is ending."""


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
        launch: the program to start.
        terminate_after: how many seconds a closed process has, after SIGTERM, before it is killed.
        kill_after: how many seconds to wait for the end of a killed process.
        user: the user that it runs as; this needs privileges.

    Raises:
        OptionsError: the working directory, the user or an argument is invalid.
        CLIError: it cannot be started; `cause` says why.
    """
    cleanup = [*launch.cleanup]
    try:
        check_platform()
        await anyio.lowlevel.checkpoint()
        # In this thread, and nothing is awaited after it: there is no moment at which the process
        # runs without an owner.
        child = start(launch.argv, env=launch.env, cwd=launch.cwd, user=user)
    except (OSError, ValueError, LookupError) as error:
        _clean_up(cleanup)
        raise _explained(error, launch.argv, launch.cwd) from error
    except BaseException:
        _clean_up(cleanup)
        raise
    log.debug("Started %s, pid %d", launch.argv[0], child.pid)
    return ProcessTransport(child, cleanup, terminate_after, kill_after)


def _clean_up(steps: list[Callable[[], object]]) -> None:
    """Call the cleanup functions of a `Launch`, each once."""
    while steps:
        step = steps.pop()
        try:
            step()
        except Exception:
            log.exception("Could not clean up after the CLI")


class ProcessTransport:
    """A running process as a transport, made by `spawn`.

    Different tasks of one event loop may send, receive, wait and close at the same time. If it is
    never closed, the process is killed, with a ResourceWarning, when this object is
    garbage-collected or when the interpreter ends.
    """

    def __init__(
        self,
        child: Child,
        cleanup: list[Callable[[], object]],
        terminate_after: float,
        kill_after: float,
    ) -> None:
        self._child = child
        self._cleanup = cleanup
        self._terminate_after = terminate_after
        self._kill_after = kill_after
        self._stdin = PipeWriter(child.stdin)
        self._stdout = PipeReader(child.stdout)
        self._stderr = PipeReader(child.stderr)
        self._one_waiter = anyio.Lock()
        self._is_closing = False
        self._closed = anyio.Event()
        self._finalizer = weakref.finalize(self, _kill_unclosed, child, cleanup)

    # --- facts -----------------------------------------------------------------------------------

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
        """Its exit status, negative for a signal; None if it has not exited, or it is not known."""
        self._child.poll()
        return self._child.returncode

    def __repr__(self) -> str:
        state = "running" if self.is_alive else f"exited with {self.returncode}"
        return f"<{type(self).__name__} pid={self.pid} {state}>"

    # --- bytes -----------------------------------------------------------------------------------

    async def send(self, data: bytes) -> None:
        """Write all of `data`.

        If this is cancelled, the rest is written before anything else.

        Raises:
            TransportClosed: the process no longer reads.
        """
        await self._stdin.send(data)

    def send_now(self, data: bytes) -> int:
        """Write as much as possible without waiting, unless something is being sent.

        Returns:
            the number of written bytes. The rest has to be sent before anything else.

        Raises:
            TransportClosed: the process no longer reads.
        """
        return self._stdin.send_now(data)

    async def send_eof(self) -> None:
        """Close its stdin, after all data that was sent before. The other direction stays open."""
        self._child.note_descendants()  # before it exits, and leaves them behind
        await self._stdin.send_eof()

    async def receive(self) -> bytes:
        """Wait for some bytes; `b""` when there will be no more. None are lost if it is cancelled.

        The end comes when the process, and every child that shares its stdout, has closed it. It
        comes with `aclose` at the latest.
        """
        return await self._stdout.receive()

    def read_by_callback(self, take: Callable[[bytes], None]) -> bool:
        """Have the event loop call a function with all output, instead of `receive` in a task.

        Args:
            take: called with the bytes that arrive, and with `b""` at the end. It must neither wait
                nor raise.

        Returns:
            False on trio, which has no callbacks.
        """
        if in_trio():
            return False
        self._stdout.read_by_callback(take)
        return True

    async def receive_stderr(self) -> bytes:
        """Wait for some bytes of stderr; `b""` when there will be no more."""
        return await self._stderr.receive()

    # --- its end ---------------------------------------------------------------------------------

    async def wait(self) -> int | None:
        """Wait until it has exited; return its exit status, negative for a signal.

        None if that is not known, because other code in this process has waited for it.
        """
        async with self._one_waiter:  # an event loop lets only one task wait for a file
            while not self._child.poll() and not self._closed.is_set():
                with suppress(anyio.ClosedResourceError):
                    await anyio.wait_readable(self._child.exited.fileno())
        return self._child.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal to the process alone; do nothing if it has exited."""
        self._child.send_signal(number)

    def kill_now(self) -> None:
        """Kill it with all that it has started, at once and from any thread.

        Use it where there is no event loop, or no time. Its output can still be received, and
        `aclose` still has to be called where that is possible.
        """
        self._child.end_now()
        if self._child.poll():
            _clean_up(self._cleanup)

    async def aclose(self) -> None:
        """End it with all that it has started, and release all resources.

        It takes `terminate_after` and twice `kill_after` seconds at most. Cancelling does not
        shorten it, because then a process could be left behind; if asyncio cancels the task by
        force, the process is killed at once.

        Raises:
            CLIError: a process could not be killed. All else has been done.
        """
        with anyio.CancelScope(shield=True):
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
        if not await self._end_rest():
            message = f"Process {self.pid}, or a process that it has started, cannot be killed"
            if self._child.blind is not None:
                message = f"Processes that {self.pid} has started may be left: {self._child.blind}"
            log.error(message)
            raise CLIError(message, evidence=Evidence(pid=self.pid))

    async def _end_process(self) -> None:
        self._child.note_descendants()
        self._child.terminate()
        with anyio.move_on_after(self._terminate_after):
            await self.wait()
        if self.is_alive:
            log.warning("Process %d did not end after SIGTERM; killing it", self.pid)
            self._child.kill()
            with anyio.move_on_after(self._kill_after):
                await self.wait()

    async def _end_rest(self) -> bool:
        """End all that it has started; say whether that was verified."""
        deadline, pause = time.monotonic() + self._kill_after, _SHORTEST_PAUSE
        while self._child.kill_rest():
            if time.monotonic() >= deadline:
                return False
            await anyio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        return True

    def _release(self) -> None:
        for stream in (self._stdin, self._stdout, self._stderr):
            stream.close()
        self._closed.set()
        with suppress(RuntimeError):  # the event loop has ended
            anyio.notify_closing(self._child.exited.fileno())
        self._child.close()
        _clean_up(self._cleanup)
        self._finalizer.detach()


def _kill_unclosed(child: Child, cleanup: list[Callable[[], object]]) -> None:
    if not child.is_ours:
        return
    was_killed = child.is_released
    child.end_now()
    child.close()
    _clean_up(cleanup)
    if not was_killed:
        message = f"The process {child.pid} was never closed, so it has been killed"
        warnings.warn(message, ResourceWarning, stacklevel=2)


# --- failures to start ----------------------------------------------------------------------------

_LONGEST_ARGUMENT = 200
"""Characters of an argument that are kept as evidence."""

_OTHER_LIBRARY = (
    "Either the program that its first line names is missing (is Node.js installed?), or it is "
    "a binary for another C library: one for glibc does not run on Alpine Linux, nor one for musl "
    "elsewhere."
)
_ADVICE: dict[int, tuple[Cause, str]] = {
    errno.E2BIG: (Cause.TOO_LONG, "Pass long strings in a file."),
    errno.EACCES: (Cause.REFUSED, "Make it executable (chmod +x), on a mount without noexec."),
    errno.EAGAIN: (Cause.REFUSED, "Run fewer at once, or raise the limit (ulimit -u)."),
    errno.EMFILE: (Cause.REFUSED, "Run fewer at once, or raise the limit (ulimit -n)."),
    errno.ENFILE: (Cause.REFUSED, "Run fewer at once."),
    errno.ENOENT: (Cause.REFUSED, _OTHER_LIBRARY),
    errno.ENOEXEC: (Cause.REFUSED, "Install the CLI that was built for this system."),
    errno.ENOMEM: (Cause.OUT_OF_MEMORY, "Run fewer at once."),
    errno.EPERM: (Cause.REFUSED, "Only a privileged process can start one as another user."),
}


def _explained(error: Exception, argv: Sequence[str], cwd: Path | None) -> Error:
    """Turn the system's error into one with advice."""
    if cwd is not None and not os.path.isdir(cwd):
        return OptionsError(f"The working directory {cwd} does not exist, or is not a directory")
    if not isinstance(error, OSError):
        return OptionsError(f"The command cannot be started: {error}")
    if error.errno == errno.ENOENT and not os.path.exists(argv[0]):
        return CLINotFoundError(f"There is no program {argv[0]}")
    cause, advice = _ADVICE.get(error.errno or 0, (Cause.UNKNOWN, ""))
    message = f"{argv[0]} cannot be started: {error.strerror or error}"
    evidence = Evidence(argv=tuple(redact(word[:_LONGEST_ARGUMENT]) for word in argv))
    return CLIError(message, cause=cause, advice=advice, evidence=evidence)
