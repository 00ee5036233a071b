"""Runs the command in this process, as the console script does."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from claudewire.cli import main

__all__ = ["Done", "Runner"]


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    status: int
    out: str
    err: str


class Shown(io.StringIO):
    """A terminal in memory."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Runner:
    """Runs the command without a terminal.

    Args:
        patch: undoes what is changed for it.
        folder: where it works.
    """

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self.patch = patch
        self.folder = folder

    def __call__(self, *arguments: str, stdin: str = "", terminal: bool = False) -> Done:
        """Run it with these arguments; with a terminal, what it prints is shown there."""
        out, err = (Shown() if terminal else io.StringIO() for _ in range(2))
        with self.patch.context() as patch:
            patch.chdir(self.folder)
            patch.setattr(sys, "stdin", io.StringIO(stdin))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            with pytest.raises(SystemExit) as exited:
                main(arguments)
        assert isinstance(exited.value.code, int)
        return Done(exited.value.code, out.getvalue(), err.getvalue())
