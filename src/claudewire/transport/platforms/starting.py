"""Starting a program, on whatever platform this is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from .child import Child

if sys.platform == "win32":  # pragma: no cover
    from .windows import adopt, popen_options
else:
    from .posix import adopt, popen_options

__all__ = ["start"]


def start(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str | os.PathLike[str] | None = None,
    user: str | int | None = None,
    threads: bool | None = None,
) -> Child:
    """Start a program that, with all that it starts, does not outlive this process.

    Args:
        argv: the program and its arguments.
        env: all of its environment.
        cwd: where it runs.
        user: as whom it runs, with the groups of that user. POSIX, and needs privileges.
        threads: whether threads do the waiting; None to do what suits the platform.

    Raises:
        OSError: it cannot be started.
        ValueError: something of this is not possible.
        KeyError: there is no such user.
    """
    # With options in a dictionary a type checker cannot know that it is one of bytes.
    make: Any = subprocess.Popen
    popen: subprocess.Popen[bytes] = make(
        list(argv),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env=dict(env),
        cwd=cwd,
        **popen_options(user),
    )
    try:
        return adopt(popen, threads=threads)
    except BaseException:
        popen.kill()
        with popen:  # closes its pipes and reaps it
            raise
