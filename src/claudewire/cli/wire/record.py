"""`claudewire record`: a tap between an SDK and its CLI."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, cast

import anyio
import click

from ...transport import Launch, RecordingTransport, relay, spawn
from ..errors import CommandError
from ..exits import Exit
from .tap import die_as, pass_signals_to, write_script

__all__ = ["command"]

_SETTINGS = {"ignore_unknown_options": True, "allow_interspersed_args": False}


HELP = """\
Run CMD, a claude CLI, and record what it and the program that started this say to each other.

\b
Everything passes through unchanged, also signals and the exit status:
  claudewire record -o talk.jsonl -- claude -p --output-format stream-json ...
An SDK that wants the path of its CLI gets a program that does this:
  claudewire record -o talks/ --script ./claude-recorded -- claude

A file that exists is never overwritten: the next one gets a number.
"""


@click.command(help=HELP, context_settings=_SETTINGS, options_metavar="[OPTIONS] --")
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="CMD...")
@click.option("-o", "--output", metavar="PATH", help="A file, or a folder for a file each time.")
@click.option("--keep-secrets", is_flag=True, help="Do not remove keys and tokens.")
@click.option("--script", metavar="PATH", help="Write a program that does this, and do not run it.")
def command(
    words: tuple[str, ...], output: str | None, keep_secrets: bool, script: str | None
) -> int:
    """Record what an SDK and its CLI say."""
    if script is not None:
        keep = ["--keep-secrets"] if keep_secrets else []
        place = [] if output is None else ["-o", _absolute(output)]
        write_script(script, ["record", *place, *keep, "--", *_found(words)])
        return Exit.DONE
    sink = Sink(_create(output))
    status = anyio.run(_record, _found(words), sink, not keep_secrets)
    sink.report()
    return die_as(status)


async def _record(argv: Sequence[str], sink: Sink, redacted: bool) -> int | None:
    process = await spawn(Launch(tuple(argv), dict(os.environ)))
    file = cast("BinaryIO", sink)  # of which only this much is used
    tapped = RecordingTransport(process, file, header={"argv": [*argv]}, redactor=redacted)
    try:
        return await relay(tapped, signals=pass_signals_to(process))
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


# --- where it is written -------------------------------------------------------------------------


class Sink:
    """A file whose failure does not end the conversation that is recorded.

    Args:
        file: the path, and its file descriptor.
    """

    def __init__(self, file: tuple[Path, int]) -> None:
        self.path: Path = file[0]
        self._fd = file[1]
        self._error: OSError | None = None

    def write(self, data: bytes) -> int:
        """Write a line; none after one that could not be written."""
        view = memoryview(data)
        while view and self._error is None:
            try:
                view = view[os.write(self._fd, view) :]
            except OSError as error:
                self._error = error
        return len(data)

    def flush(self) -> None:
        """Do nothing: every line is written at once."""

    def report(self) -> None:
        """Say where the recording is, if a person reads that; or that it is not whole."""
        os.close(self._fd)
        shown = click.format_filename(self.path)
        if self._error is not None:
            words = f"the recording {shown} is not whole: {self._error.strerror}"
            click.echo(f"claudewire record: {words}", err=True)
        elif sys.stderr.isatty():
            click.echo(f"Recorded {shown}. Look at it: claudewire show {shown}", err=True)


def _absolute(output: str) -> str:
    # Its end says that it is a folder.
    return str(Path(output).absolute()) + ("/" if output.endswith("/") else "")


def _create(output: str | None) -> tuple[Path, int]:
    """Create the file that a recording goes to. Only its owner can read it."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    wanted = Path(output or f"recording-{stamp}.jsonl")
    if os.path.isdir(wanted) or (output or "").endswith("/"):
        wanted = wanted / f"{stamp}-{os.getpid()}.jsonl"
    try:
        wanted.parent.mkdir(parents=True, exist_ok=True)
        return _first_free(wanted)
    except OSError as error:
        raise CommandError(
            f"No recording can be written to {wanted}: {error.strerror}",
            advice="Name a file or a folder that you may write, with -o.",
        ) from error


def _first_free(wanted: Path) -> tuple[Path, int]:
    number, path = 1, wanted
    while True:
        try:
            return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            number += 1
            path = wanted.with_stem(f"{wanted.stem}-{number}")
