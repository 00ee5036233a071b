"""The warden of a cage: a process beside the caged program, in the same network.

It runs the scripted API, and when the program has ended it ends what is left in that network. A
locked file, named after its process id, identifies it.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

__all__ = ["REQUESTS", "SCRIPT", "CageError", "dismiss_wardens", "network", "post_warden"]

SCRIPT = "script.json"
"""The file in the folder of a cage that holds the script of the API."""
REQUESTS = "requests.jsonl"
"""The file in it in which the requests to the API are recorded."""

_WARDENS = "wardens"
_LOG = "warden.log"
_TRIES = 3000
_PAUSE = 0.01
"""Half a minute in all for processes to end: much more than they need, even on a busy machine."""


class CageError(Exception):
    """A cage is not possible, or cannot be closed; the message says why."""


def network() -> int:
    """Identify the network namespace of this very thread."""
    return os.stat("/proc/thread-self/ns/net").st_ino


def post_warden(folder: Path, outside: int, mark: str) -> str:
    """Start a warden for this process; return the URL of its API.

    Args:
        folder: the folder of the cage.
        outside: the network that this process has left.
        mark: the variable that the processes of the program have, and the warden must not have.

    Raises:
        CageError: it could not start.
    """
    program = os.getpid()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        # An orphan, not a child, because the program does not expect to have one.
        if os.fork() == 0:
            report = _Report(write)
            let_go_of_files(write, folder / _LOG)
            be_warden(folder, program, outside, mark, report)
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with open(read, encoding="utf-8") as pipe:
        verdict, _, text = pipe.read().partition(" ")
    if verdict != "url":
        raise CageError(f"the scripted API did not start: {text or 'it gave no reason'}")
    return text


def dismiss_wardens(folder: Path) -> None:
    """End every program that still runs in a cage, and wait until it has ended.

    Raises:
        CageError: some did not end.
    """
    told: set[int] = set()
    for _ in range(_TRIES):
        on_duty = _on_duty(folder)
        # Once each: a second signal would kill a warden that is ending its program.
        for process in {*on_duty} - told:
            with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                os.kill(process, signal.SIGTERM)
        told.update(on_duty)
        if not on_duty:
            return
        time.sleep(_PAUSE)
    raise CageError(f"still running: {', '.join(map(str, _on_duty(folder)))}")


def _on_duty(folder: Path) -> list[int]:
    """The process ids of running wardens: those whose files are locked."""
    return [int(file.name) for file in (folder / _WARDENS).iterdir() if _is_locked(file)]


def _is_locked(file: Path) -> bool:
    with file.open("rb") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


# --- the process itself --------------------------------------------------------------------------


class _Report:
    """Reports once, through a pipe, how the start went."""

    def __init__(self, file: int) -> None:
        self.file: int | None = file

    def __call__(self, text: str) -> None:
        if self.file is not None:
            os.write(self.file, text.encode())
            os.close(self.file)
            self.file = None


def be_warden(
    folder: Path, program: int, outside: int, mark: str, report: Callable[[str], None]
) -> NoReturn:
    """Run as the warden of a program until it has ended; then end this process."""
    try:
        os.setsid()
        forget_variable(mark)
        with signed_in(folder), open(os.pidfd_open(program), "rb", buffering=0) as watch:
            stand_watch(folder, watch.fileno(), report)
            end_the_rest(outside)
    except BaseException as error:
        traceback.print_exc()
        report(f"error {error}")
    finally:
        os._exit(0)


def forget_variable(name: str) -> None:
    """Remove a variable from the environment that `/proc` shows of this process.

    By the mark in it the warden would be taken for a process of its program, and be ended with it.
    """
    variables = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")
    for address in iter(variables):
        if address is None:
            return
        if ctypes.string_at(address).startswith(f"{name}=".encode()):
            ctypes.memset(address, ord("_"), len(name))


def let_go_of_files(kept: int, log: Path) -> None:
    """Close all files but one: an open pipe would keep readers of the program's output waiting."""
    standard = (os.open(os.devnull, os.O_RDONLY), *[_open_log(log)] * 2)
    for target, source in enumerate(standard):
        os.dup2(source, target)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != kept:
            with contextlib.suppress(OSError):  # the listing itself used one
                os.close(int(name))


def _open_log(log: Path) -> int:
    return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


@contextlib.contextmanager
def signed_in(folder: Path) -> Iterator[None]:
    """Hold the locked file of a running warden."""
    file = folder / _WARDENS / str(os.getpid())
    with file.open("wb") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield


def stand_watch(folder: Path, watch: int, report: Callable[[str], None]) -> None:
    """Run the API until the watched process has ended, or SIGTERM arrives."""
    # Imported here, so that a missing dependency is reported like any other error.
    import anyio

    from ..api import APIScript, serve

    async def until_it_ends(tasks: anyio.abc.TaskGroup) -> None:
        await anyio.to_thread.run_sync(select.select, [watch], [], [], abandon_on_cancel=True)
        tasks.cancel_scope.cancel()

    async def run() -> None:
        script = APIScript.load(folder / SCRIPT)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(until_it_ends, tasks)
            await serve(script, record=folder / REQUESTS, ready=lambda url: report(f"url {url}"))
            tasks.cancel_scope.cancel()

    anyio.run(run)


def end_the_rest(outside: int) -> None:
    """End all other processes of this network, unless it is the one outside."""
    ours = network()
    for _ in range(_TRIES):
        others = [] if ours == outside else list(_others(ours))
        if not others:
            return
        for process in others:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(_PAUSE)


def _others(ours: int) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            # Processes that have ended, or belong to other users, cannot be examined.
            with contextlib.suppress(OSError):
                if (entry / "ns" / "net").stat().st_ino == ours:
                    yield int(entry.name)
