"""`claudewire record`: a tap between an SDK and its CLI."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, cast

import anyio
import click

from ..recordings import RecordingTransport
from ..transport import Launch, relay, spawn
from .errors import CommandError, Exit

_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

HELP = """\
Run CMD, a claude CLI, and record it and the program that started this command.

\b
Everything passes through unchanged, also signals and the exit status:
  claudewire record -o talk.jsonl -- claude -p --output-format stream-json ...
For an SDK that takes the path of its CLI, write a program:
  claudewire record -o talks/ --script ./claude-recorded -- claude

The command overwrites no file: the next recording gets a number.
"""


@click.command(
    help=HELP,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    options_metavar="[OPTIONS] --",
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="CMD...")
@click.option("-o", "--output", metavar="PATH", help="A file, or a folder for one file each time.")
@click.option("--keep-secrets", is_flag=True, help="Keep keys and tokens.")
@click.option("--script", metavar="PATH", help="Write a program that records; run nothing.")
def command(
    words: tuple[str, ...], output: str | None, keep_secrets: bool, script: str | None
) -> int:
    """Record an SDK and its CLI."""
    argv = _found(words)
    if script is not None:
        keep = ["--keep-secrets"] if keep_secrets else []
        place = [] if output is None else ["-o", _absolute(output)]
        write_script(script, ["record", *place, *keep, "--", *argv])
        return Exit.DONE
    sink = Sink(*_create(output))
    status = anyio.run(_record, argv, sink, not keep_secrets)
    sink.report()
    return _die_as(status)


async def _record(argv: Sequence[str], sink: Sink, redacted: bool) -> int | None:
    process = await spawn(Launch(tuple(argv), dict(os.environ)))

    async def pass_signals_on() -> None:
        with anyio.open_signal_receiver(*_PASSED_ON) as signals:
            async for number in signals:
                process.send_signal(number)

    file = cast("BinaryIO", sink)  # the transport only writes and flushes
    tapped = RecordingTransport(process, file, header={"argv": [*argv]}, redactor=redacted)
    try:
        return await relay(tapped, signals=pass_signals_on)
    finally:
        await tapped.aclose()


def _found(words: Sequence[str]) -> list[str]:
    program = shutil.which(words[0])
    if program is None:
        raise CommandError(
            f"There is no program {words[0]!r}.",
            advice="Name the CLI after --, as in: claudewire record -o talk.jsonl -- claude",
        )
    return [str(Path(program).absolute()), *words[1:]]


class Sink:
    """A file whose failure does not end the recorded conversation.

    Args:
        path: the path.
        fd: its file descriptor.
    """

    def __init__(self, path: Path, fd: int) -> None:
        self.path: Path = path
        self._fd = fd
        self._error: OSError | None = None

    def write(self, data: bytes) -> int:
        """Write a line; nothing after a failure."""
        view = memoryview(data)
        while view and self._error is None:
            try:
                view = view[os.write(self._fd, view) :]
            except OSError as error:
                self._error = error
        return len(data)

    def flush(self) -> None:
        """Do nothing: `write` writes at once."""

    def report(self) -> None:
        """Print the path of the recording on a terminal; print it everywhere if it failed."""
        os.close(self._fd)
        shown = click.format_filename(self.path)
        if self._error is not None:
            words = f"the recording {shown} is incomplete: {self._error.strerror}"
            click.echo(f"claudewire record: {words}", err=True)
        elif sys.stderr.isatty():
            click.echo(f"Recorded {shown}. Look at it: claudewire show {shown}", err=True)


def _absolute(output: str) -> str:
    # A slash at the end means a folder.
    return str(Path(output).absolute()) + ("/" if output.endswith("/") else "")


def _create(output: str | None) -> tuple[Path, int]:
    """Create the file of a recording, which only its owner can read."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    wanted = Path(output or f"recording-{stamp}.jsonl")
    if os.path.isdir(wanted) or (output or "").endswith("/"):
        wanted = wanted / f"{stamp}-{os.getpid()}.jsonl"
    try:
        wanted.parent.mkdir(parents=True, exist_ok=True)
        number, path = 1, wanted
        while os.path.lexists(path):
            number += 1
            path = wanted.with_stem(f"{wanted.stem}-{number}")
        return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise CommandError(
            f"{wanted} cannot be written: {error.strerror}",
            advice="Name a file or a folder that you may write, with -o.",
        ) from error


def _die_as(status: int | None) -> int:
    """Return an exit status, or die by the signal that killed the CLI."""
    if status is not None and status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return 1 if status is None else status


def write_script(path: str, words: Sequence[str]) -> None:
    """Write a program that runs this command, for SDKs that take a path and no arguments.

    Raises:
        CommandError: it cannot be written, or would replace a file of another origin.
    """
    sign = "# Made by claudewire."
    target = Path(path)
    run = shlex.join([sys.executable, "-m", "claudewire.cli", *words])
    try:
        if os.path.exists(target) and sign not in target.read_text("utf-8", "replace"):
            raise CommandError(
                f"{path} exists, and this command did not write it.",
                advice="Name a file that does not exist.",
            )
        target.write_text(f'#!/bin/sh\n{sign}\nexec {run} "$@"\n', encoding="utf-8")
        target.chmod(0o755)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from error
    shown = click.format_filename(target.absolute())
    click.echo(f"Wrote {shown}. Give this path to an SDK as its CLI.", err=True)
