"""The launcher of a cage: enters an empty network, starts a warden there, becomes the program.

It is a program, `python -P -m claudewire.testing.cage.launcher FOLDER PROGRAM ARGUMENTS`,
and part of what `Cage.command` returns. Since it becomes the program (same process, same pipes),
signals and the exit status need no forwarding. The *warden* is a process beside it: it runs the
scripted API, and when the program has ended it ends what is left in that network.

Exit status 125: no cage was possible, and nothing was run. 126, 127: the program cannot be run.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import fnmatch
import os
import signal
import socket
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, NoReturn

import msgspec

from .warden import CageError, network, post_warden

__all__ = ["Plan", "confine", "main"]

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


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a cage tells its launchers, in a file in its folder."""

    keep: list[str]
    """Patterns of the names of variables that the program may see."""
    env: dict[str, str]
    """Variables that the program gets."""
    mark: str
    """The variable by which all processes of the program can be found."""

    FILE: ClassVar = "cage.json"
    WORK: ClassVar = "work"

    @classmethod
    def load(cls, folder: Path) -> Plan:
        """Read the plan of a cage."""
        return msgspec.json.decode((folder / cls.FILE).read_bytes(), type=cls)

    def environment(self, outside: Mapping[str, str], url: str) -> dict[str, str]:
        """The environment of the program."""
        kept = {
            name: value
            for name, value in outside.items()
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in self.keep)
        }
        return {**kept, **self.env, "ANTHROPIC_BASE_URL": url}


# --- the network ---------------------------------------------------------------------------------


def confine() -> int:
    """Enter a new network namespace with loopback only; return the id of the one left.

    Raises:
        CageError: that is not possible here.
    """
    outside = network()
    _unshare()
    _bring_up("lo")
    names = sorted(name for _, name in socket.if_nameindex())
    if network() == outside or names != ["lo"]:
        raise CageError(f"the network is not empty: {', '.join(names)}")
    _give_up_privileges()
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


def _give_up_privileges() -> None:
    """Make sure that no program started from here can join another namespace, even as root."""
    _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    with contextlib.suppress(PermissionError):  # then there is nothing to drop
        _call("prctl", _PR_CAPBSET_DROP, _CAP_SYS_ADMIN, 0, 0, 0)


def _call(name: str, *arguments: int) -> None:
    """Call a function of the C library that not every version of Python has."""
    function = getattr(ctypes.CDLL(None, use_errno=True), name)
    if function(*map(ctypes.c_ulong, arguments)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


# --- the program ---------------------------------------------------------------------------------


def main(arguments: list[str]) -> NoReturn:
    """Confine this process, then become the program that the arguments name.

    Args:
        arguments: the folder of the cage, the program, and the program's own arguments.
    """
    try:
        folder = Path(arguments[0])
        plan = Plan.load(folder)
        outside = confine()
        url = post_warden(folder, outside, plan.mark)
    except (CageError, IndexError, OSError, ValueError) as error:
        _leave(NO_CAGE, f"no cage is possible, so nothing was run: {error}")
    _become(arguments[1:], folder / Plan.WORK, plan.environment(os.environ, url))


def _become(command: list[str], work: Path, environment: dict[str, str]) -> NoReturn:
    # A folder inside the cage is as private as the default one.
    if not Path.cwd().is_relative_to(work):
        os.chdir(work)
    for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored_by_python, signal.SIG_DFL)
    try:
        os.execvpe(command[0], command, environment)
    except FileNotFoundError as error:
        _leave(NOT_FOUND, f"{command[0]}: {error.strerror}")
    except OSError as error:
        _leave(NOT_EXECUTABLE, f"{command[0]}: {error.strerror}")


def _leave(status: int, message: str) -> NoReturn:
    sys.stderr.write(f"claudewire cage: {message}\n")
    sys.stderr.flush()
    # Not `sys.exit`, which could be caught: this process must not go on.
    os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1:])
