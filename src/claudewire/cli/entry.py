"""What the console script calls. Nothing here is imported that `--version` does not need."""

from __future__ import annotations

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
