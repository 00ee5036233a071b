"""Which files a command reads and writes, as far as it shows: redirections and known programs."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterable, Iterator

from .paths import Places, ResolvedPath, normal
from .programs import Words, basename
from .shell import Command, Script, Word

__all__ = [
    "HARMLESS_TARGETS",
    "UNKNOWN_FILE",
    "changes_directory",
    "critical_removal",
    "directories_of",
    "touched",
]

HARMLESS_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_READS = _names(
    """
    awk base32 base64 bat cat cmp comm cp csplit curl cut dd diff egrep fgrep file fmt fold gawk
    grep gzip head hexdump install jq less ln mawk md5sum more mv nl od paste pr rev rg scp sed
    sha1sum sha256sum shuf sort source split strings tac tail tar tee tr uniq vim vi wc xxd
    yq zcat zip .
    """
)
_WRITES = _names(
    """
    chmod chown cp dd install ln mkdir mv rm rmdir sed shred tee touch truncate unlink vi vim
    """
)
# How many are looked at. Beyond that it cannot be told what a command does, and somebody is asked.
_MOST_FILES = 200
_MOST_DIRECTORIES = 8

UNKNOWN_FILE = Word("…", "…", static=False)
"""Stands for a file that was not looked at, and may be any."""

_MOVERS = _names("cd pushd popd chdir")
_REMOVERS = _names("rm rmdir")
_EVERYTHING = re.compile(r"\*+|\?\*|\.\*|\.\[!\.\]\*|\{.*\}")


def touched(script: Script, commands: Iterable[Words]) -> list[tuple[bool, Word]]:
    """Give the files that show, each with whether it is written. It may be no file at all."""
    found = dict.fromkeys(itertools.chain(_redirected(script), _named(commands)))
    if len(found) <= _MOST_FILES:
        return list(found)
    some = itertools.islice(found, _MOST_FILES)
    return [*some, (False, UNKNOWN_FILE), (True, UNKNOWN_FILE)]


def _redirected(script: Script) -> Iterator[tuple[bool, Word]]:
    for command in script.commands:
        for redirect in command.redirects:
            if redirect.kind in ("in", "out"):
                yield redirect.kind == "out", redirect.target


def _named(commands: Iterable[Words]) -> Iterator[tuple[bool, Word]]:
    for words in commands:
        name = basename(words[0])
        for word in words[1:]:
            file = _behind_option(word)
            if name in _READS:
                yield False, file
            if name in _WRITES:
                yield True, file


def _behind_option(word: Word) -> Word:
    found = re.match(r"-{0,2}\w[\w-]*=", word.text)
    return Word(word.raw, word.text[found.end() :], word.static) if found else word


def directories_of(script: Script, cwd: str, home: str) -> list[str] | None:
    """Give the directories that relative paths may be meant in; None if that cannot be told.

    Which `cd` is really done is not known, so that each of them may add to each other.
    """
    found = {cwd: None}
    for command in script.commands:
        if not command.words or basename(command.words[0]) not in _MOVERS:
            continue
        target = command.words[-1] if len(command.words) > 1 else Word(home, home)
        if not target.static or target.text == "-" or len(found) > _MOST_DIRECTORIES:
            return None
        folder = home + target.text[1:] if target.tilde else target.text
        found |= {normal(posixpath.join(directory, folder)): None for directory in found}
    return list(found)


def changes_directory(commands: tuple[Command, ...]) -> bool:
    """Whether a later command may run in another directory than an earlier one."""
    return any(command.words and basename(command.words[0]) in _MOVERS for command in commands)


def critical_removal(
    commands: Iterable[Words], places: Places, directories: tuple[str, ...], cwd: str
) -> str | None:
    """Give the removal of something nobody should remove by the way: a home, a root, a project."""
    removals = [words for words in commands if basename(words[0]) in _REMOVERS]
    if not removals:
        return None
    kept = {"/", places.home, places.cwd, cwd, *directories}
    kept |= {normal(places.realpath(path)) for path in kept}
    for words in removals:
        targets = (_removed(word, places, cwd) for word in words[1:] if word.raw[:1] != "-")
        if any(target is None or _is_critical(target, kept) for target in targets):
            return " ".join(word.raw for word in words)
    return None


def _removed(word: Word, places: Places, cwd: str) -> ResolvedPath | None:
    """Find what is removed; None if that cannot be known."""
    folder, _, name = word.text.rpartition("/")
    if re.match(r"[$`]", folder or word.text):
        return None  # If the variable is empty, this is the root.
    target = word.text
    if not word.static and _EVERYTHING.fullmatch(name):
        target = folder or ("/" if target.startswith("/") else ".")
    return places.resolve(target, cwd=cwd)


def _is_critical(path: ResolvedPath, kept: set[str]) -> bool:
    return any(
        form.count("/") < 2 or any(f"{directory}/".startswith(f"{form}/") for directory in kept)
        for form in path.forms
    )
