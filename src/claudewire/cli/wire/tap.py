"""What `record` and `replay --as-cli` share: being a CLI for whoever has started this process."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import anyio
import click

from ...transport import ProcessTransport
from ..errors import CommandError

__all__ = ["die_as", "pass_signals_to", "write_script"]

_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def pass_signals_to(process: ProcessTransport) -> Callable[[], Coroutine[Any, Any, None]]:
    """Make what passes on the signals by which an SDK ends its CLI."""

    async def run() -> None:
        with anyio.open_signal_receiver(*_PASSED_ON) as signals:
            async for number in signals:
                process.send_signal(number)

    return run


def die_as(status: int | None) -> int:
    """Return an exit status; or die by the signal that has killed the CLI."""
    if status is not None and status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return 1 if status is None else status


def write_script(path: str, words: Sequence[str]) -> None:
    """Write a program that runs this command, for SDKs that take a path and no arguments.

    Raises:
        CommandError: it cannot be written, or would replace a file that is no such program.
    """
    mark = "# Made by claudewire."
    target = Path(path)
    if os.path.exists(target) and mark not in target.read_text("utf-8", "replace"):
        raise CommandError(
            f"{path} exists and was not made by this command, so it stays as it is.",
            advice="Name a file that does not exist.",
        )
    run = shlex.join([sys.executable, "-m", "claudewire.cli", *words])
    try:
        target.write_text(f'#!/bin/sh\n{mark}\nexec {run} "$@"\n', encoding="utf-8")
        target.chmod(0o755)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from error
    shown = click.format_filename(target.absolute())
    click.echo(f"Wrote {shown}. Give this path to an SDK as that of its CLI.", err=True)
