"""The launcher of a cage: enters an empty network, starts a server there, becomes the program.

It is a program, `python -P -m claudewire.testing.cage.launcher FOLDER PROGRAM ARGUMENTS`, and part
of `Cage.command()`. It becomes the program (same process, same pipes), so signals and the exit
status need no forwarding.

Exit status 125: no cage was possible, and nothing was run. 126, 127: the program cannot be run.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import fnmatch
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

PLAN = "cage.json"
"""The file in the folder of a cage with `keep`, patterns of the names of variables that a program
may see; `env`, the variables that it gets; and `mark`, the variable by which its processes can be
found."""
WORK = "work"
LOG = "server.log"

NO_CAGE = 125
NOT_EXECUTABLE = 126
NOT_FOUND = 127

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_CAP_SYS_ADMIN = 21
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
_INTERFACE = struct.Struct("16sH14x")
"""The head of `struct ifreq`: the name of an interface, and its flags."""


class CageError(Exception):
    """A cage is not possible, or cannot be closed; the message says why."""


def main(arguments: list[str]) -> NoReturn:
    """Confine this process, then become the program that the arguments name."""
    try:
        folder = Path(arguments[0])
        plan = json.loads((folder / PLAN).read_bytes())
        outside = confine()
        url = _start_server(folder, outside, plan["mark"])
    except (CageError, IndexError, OSError, ValueError) as error:
        _leave(NO_CAGE, f"no cage is possible, so nothing was run: {error}")
    _become(arguments[1:], folder / WORK, environment(plan, os.environ, url))


# --- the network ---------------------------------------------------------------------------------


def network() -> int:
    """Return the id of the network namespace of this thread."""
    return os.stat("/proc/thread-self/ns/net").st_ino


def confine() -> int:
    """Enter a new network namespace with loopback only; return the id of the previous one.

    Raises:
        CageError: the new network is not empty.
        OSError: a new network is not possible here.
    """
    outside = network()
    _unshare()
    _bring_up("lo")
    names = sorted(name for _, name in socket.if_nameindex())
    if network() == outside or names != ["lo"]:
        raise CageError(f"the network is not empty: {', '.join(names)}")
    # No program started from here can join another namespace, not even as root.
    _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    with contextlib.suppress(PermissionError):  # without root there is nothing to drop
        _call("prctl", _PR_CAPBSET_DROP, _CAP_SYS_ADMIN, 0, 0, 0)
    return outside


def _unshare() -> None:
    user, group = os.geteuid(), os.getegid()
    try:
        _call("unshare", _CLONE_NEWNET)
    except PermissionError:
        # Without root, a new network needs a new user namespace.
        _call("unshare", _CLONE_NEWUSER | _CLONE_NEWNET)
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")


def _bring_up(interface: str) -> None:
    name = interface.encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        answer = fcntl.ioctl(sock, _SIOCGIFFLAGS, _INTERFACE.pack(name, 0))
        flags = _INTERFACE.unpack(answer)[1]
        fcntl.ioctl(sock, _SIOCSIFFLAGS, _INTERFACE.pack(name, flags | _IFF_UP))


def _call(name: str, *arguments: int) -> None:
    """Call a function of the C library that not every version of Python has."""
    function = getattr(ctypes.CDLL(None, use_errno=True), name)
    if function(*map(ctypes.c_ulong, arguments)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


# --- the server and the program ------------------------------------------------------------------


def _start_server(folder: Path, outside: int, mark: str) -> str:
    """Start the sandbox server of this process; return the URL of its API.

    Its environment has no mark: it is not a process of the program.
    """
    server = [sys.executable, "-P", "-m", "claudewire.testing.cage.cage"]
    with open(folder / LOG, "ab") as log:
        done = subprocess.run(
            [*server, str(folder), str(os.getpid()), str(outside)],
            env={name: value for name, value in os.environ.items() if name != mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            encoding="utf-8",
        )
    verdict, _, text = done.stdout.partition(" ")
    if verdict != "url":
        raise CageError(f"the scripted API did not start: {text or f'see {folder / LOG}'}")
    return text


def environment(plan: Mapping[str, Any], outside: Mapping[str, str], url: str) -> dict[str, str]:
    """Return the environment of the program."""
    kept = {
        name: value
        for name, value in outside.items()
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in plan["keep"])
    }
    return {**kept, **plan["env"], "ANTHROPIC_BASE_URL": url}


def _become(command: list[str], work: Path, environment: dict[str, str]) -> NoReturn:
    # A folder inside the cage is as private as the default one.
    if not Path.cwd().is_relative_to(work):
        os.chdir(work)
    for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored_by_python, signal.SIG_DFL)
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        status = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
        _leave(status, f"{command[0]}: {error.strerror}")


def _leave(status: int, message: str) -> NoReturn:
    sys.stderr.write(f"claudewire cage: {message}\n")
    sys.stderr.flush()
    os._exit(status)  # `sys.exit` could be caught


if __name__ == "__main__":
    main(sys.argv[1:])
