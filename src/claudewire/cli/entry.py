"""The console script. It explains what to install if a package is missing."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from .errors import Exit

_EXTRA = frozenset({"click", "prompt_toolkit", "rich"})
"""The packages of the extra `claudewire[cli]`."""

_INSTALL = """\
claudewire: the command needs the package {!r}, which is not installed.
The library works without it. To install what the command needs:
    pip install 'claudewire[cli]'
"""


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command, and exit with its status.

    Args:
        argv: the arguments; by default those of the process.
    """
    _prepare_standard_streams()
    if sys.stdout is None:  # the answer would be lost
        sys.stderr.write("claudewire: stdout is closed. Send it to a file, or to /dev/null.\n")
        sys.exit(Exit.FAILED)
    arguments = sys.argv[1:] if argv is None else [*argv]
    try:
        from .commands import execute

        status = execute(arguments)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        sys.stderr.write(_INSTALL.format(error.name))
        status = Exit.USAGE
    sys.exit(status)


def _prepare_standard_streams() -> None:
    """Open a missing stdin and stderr, and escape characters outside the encoding of a stream.

    Without stdin, the next pipe to the CLI would get its number, and pass for it.
    """
    for name, mode in (("stdin", "r"), ("stderr", "w")):
        if getattr(sys, name) is None:  # a file gets the lowest free number: this one
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
