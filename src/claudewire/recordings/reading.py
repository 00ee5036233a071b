"""Reads recordings and plain captures from files, with errors that say what to do."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import OptionsError
from ..transport import Recording, RecordingEntry, RecordingError
from ..wire import load

__all__ = ["read"]

_ADVICE = "A recording is made by `claudewire record`, by `claudewire run --record`, or in Python."


def read(path: str | os.PathLike[str]) -> Recording:
    """Read a recording; or a plain capture, such as what `claude -p` has written to a file.

    The lines of a plain capture have no direction and no time: they are taken for the CLI's.

    Raises:
        OptionsError: it cannot be read, or is neither.
    """
    name = os.fspath(path)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise OptionsError(f"{name} cannot be read: {error.strerror or error}") from error
    if _is_capture(data):
        return _captured(data)
    try:
        return Recording.load(data)
    except RecordingError as error:
        message = f"{name} is not a recording, or is damaged. {error}"
        raise OptionsError(message, advice=_ADVICE) from error


def _is_capture(data: bytes) -> bool:
    """Whether it begins with a line of the protocol itself."""
    try:
        first = load(data.lstrip().partition(b"\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "type" in first and "claudewire" not in first


def _captured(data: bytes) -> Recording:
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    entries = [RecordingEntry(dir="<", line=line, number=number) for number, line in lines]
    return Recording(tuple(entries), {"captured": True})
