"""What the console script calls. Nothing here is imported that `--version` does not need."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from .._package import __version__
from .exits import Exit

__all__ = ["main"]

EXTRA = frozenset({"click", "prompt_toolkit", "rich"})
"""The packages of the extra `claudewire[cli]`."""

INSTALL = """\
claudewire: the package {!r} is not installed, which the command needs.
The library alone works without it. To install what the command needs:
    pip install 'claudewire[cli]'
"""


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command, and exit with its status.

    Args:
        argv: the arguments; those of the process if not given.
    """
    open_standard_streams()
    arguments = sys.argv[1:] if argv is None else [*argv]
    if arguments == ["--version"]:
        sys.stdout.write(f"claudewire {__version__}\n")
        sys.exit(Exit.DONE)
    try:
        from .group import execute

        status = execute(arguments)
    except ModuleNotFoundError as error:
        if error.name not in EXTRA:
            raise
        sys.stderr.write(INSTALL.format(error.name))
        status = Exit.USAGE
    sys.exit(status)


def open_standard_streams() -> None:
    """Open those of stdin, stdout and stderr that the process was started without.

    Otherwise the next pipe to the CLI would get the number of one of them, and pass for it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # a file gets the lowest number that is free: this one
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
