"""Whether a command line is short enough for the system, said before it is tried."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from ..errors import OptionsError
from ..options import option_of

__all__ = ["check_length"]

LINUX_WORD = 128 * 1024 - 1
"""Bytes in one argument or variable: 32 pages, of which one byte is for the end."""

POINTER = 8
HEADROOM = 2048
"""What POSIX advises to leave free for changes that a program makes."""

_ADVICE = "What is long can be given in settings, or in files"


def check_length(
    argv: Sequence[str],
    env: Mapping[str, str] | None = None,
    *,
    platform: str = sys.platform,
    total: int | None = None,
) -> None:
    """Check that a command can be started, as far as its length goes.

    Args:
        argv: the command, or the part of it that is known.
        env: its environment, which takes the same space.
        platform: the system.
        total: how many bytes there are for both; what the system says unless given.

    Raises:
        OptionsError: it is too long; the message says what of it is.
    """
    words = [(_name(word), _size(word)) for word in argv]
    variables = [(f"env[{name!r}]", _size(f"{name}={it}")) for name, it in (env or {}).items()]
    if platform == "linux":
        _check_words([*words, *variables])
    _check_total([*words, *variables], _system_total() if total is None else total)


def _check_words(sizes: Sequence[tuple[str, int]]) -> None:
    for name, size in sizes:
        if size > LINUX_WORD:
            raise OptionsError(
                f"{name} is too long for a command line: it has {size:,} bytes, and on Linux one "
                f"argument or variable may have {LINUX_WORD:,}. {_ADVICE}"
            )


def _check_total(sizes: Sequence[tuple[str, int]], total: int) -> None:
    needed = sum(size + 1 + POINTER for _, size in sizes) + HEADROOM
    if needed > total:
        raise OptionsError(
            f"The command line and the environment are too long: {needed:,} bytes, and the system "
            f"takes {total:,}. Most of it is {_largest(sizes)}. {_ADVICE}"
        )


def _system_total() -> int:
    limit = os.sysconf("SC_ARG_MAX")
    return limit if limit > 0 else sys.maxsize


def _size(word: str) -> int:
    return len(os.fsencode(word))


def _name(word: str) -> str:
    """Say what a word is, by its option if it has one."""
    flag = word.partition("=")[0]
    if not flag.startswith("--"):
        return f"{word[:20]!r}…" if len(word) > 20 else repr(word)
    option = option_of(flag)
    return flag if option is None else f"{option} ({flag})"


def _largest(sizes: Sequence[tuple[str, int]]) -> str:
    """Name what takes most of the space; what is given several times counts together."""
    sums: dict[str, int] = {}
    for name, size in sizes:
        sums[name] = sums.get(name, 0) + size
    first = sorted(sums, key=lambda name: sums[name], reverse=True)[:3]
    return ", ".join(f"{name} with {sums[name]:,}" for name in first)
