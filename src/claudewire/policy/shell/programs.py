"""Programs that run other programs, and those that only look harmless.

A rule such as `Bash(timeout:*)` would allow everything, because `timeout` runs what it is told to.
So the command inside is what counts: for a few plain ones it is looked for here and must be
allowed itself; behind all the others it is never allowed by a rule with a wildcard. For a rule
that forbids, whatever might be a command behind any of them counts.

What a program does with its own arguments is its own affair: `awk`, `make` or `git -c` can be told
to run others, and a rule that allows them with any argument allows that too.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from .grammar import parse
from .script import Script, Word, fragments, names_in

__all__ = [
    "SAFE_VARIABLES",
    "SHELLS",
    "Words",
    "basename",
    "only_exactly",
    "possible_commands",
    "unwrapped",
]

Words = tuple[Word, ...]


SHELLS = names_in("ash bash dash fish ksh mksh rbash sh yash zsh")

# Behind these stands a command, after their options.
_RUNNERS = names_in("""
    arch builtin caffeinate chroot chronic command coproc doas env eval exec fd find firejail flock
    gdb ionice ltrace nice nocorrect noglob nohup nsenter numactl parallel proot runuser script
    setarch setsid ssh stdbuf strace su sudo systemd-run taskset time timeout toybox trap unbuffer
    unshare watch xargs xvfb-run busybox entr
    """)
# Of these, the first argument that is no option is the command or the script: a rule may pin it.
_PINNABLE = SHELLS | names_in("command doas env exec nice nohup setsid stdbuf sudo xargs busybox")
# Parts of the shell that evaluate text, or change what later commands mean.
_EVALUATORS = names_in("""
    . alias autoload bind compgen complete compopt coproc declare disable emulate enable eval export
    fc float function functions getopts hash history integer jobs let local mapfile print r read
    readarray readonly sched set setopt shopt source trap typeset unalias unfunction unset unsetopt
    vared wait zcompile zle zmodload zparseopts zstyle
    """)
# These evaluate a string as a command line.
_TAKE_TEXT = SHELLS | _EVALUATORS | names_in("entr env flock parallel script ssh su watch")
_TAKE_TEXT -= {"."}
_FIND_ACTS = names_in("-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls")
_TEST_EVALUATES = names_in("-v -R -eq -ne -lt -le -gt -ge -a -o")
_PRINTF_PLAIN = re.compile(r"(?!-)(?:[^%]|%-?\d*(?:\.\d+)?[sbcq%])*", re.DOTALL)

SAFE_VARIABLES = names_in("""
    CARGO_TERM_COLOR CGO_ENABLED CI CLICOLOR CLICOLOR_FORCE COLUMNS DEBIAN_FRONTEND FORCE_COLOR
    GO111MODULE GOARCH GOOS LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_NUMERIC LC_TIME
    LINES NODE_ENV NO_COLOR PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONUNBUFFERED PYTHONUTF8
    RAILS_ENV RUST_BACKTRACE RUST_LOG TZ
    """)
"""Variables that change how a program looks, not what it runs. Any other may change that."""

_MOST_WORDS = 64
"""How many words after a program that runs others are looked at as commands."""
_MOST_COMMANDS = 400
"""How many different commands are looked at; beyond that there may be any command."""
_DEEPEST = 4
"""How many shells inside shells are analysed."""

_ANYTHING = (Word("…", "…", static=False),)
"""Stands for a command that was not looked at, and may be any command."""

_DURATION = re.compile(r"[0-9]+(\.[0-9]+)?[smhd]?")
_PLAIN_WRAPPERS: dict[str, tuple[str, str, int]] = {
    # options, options with an argument of their own, arguments before the command
    "timeout": (
        r"-v|--verbose|--foreground|--preserve-status|--(kill-after|signal)=[A-Z0-9.]+[smhd]?",
        r"-k|-s",
        1,
    ),
    "nice": (r"-[0-9]+|--adjustment=-?[0-9]+", r"-n", 0),
    "nohup": (r"(?!)", r"(?!)", 0),
    "stdbuf": (r"-[ioe](L|[0-9]+[KMG]?)", r"(?!)", 0),
    "command": (r"(?!)", r"(?!)", 0),
}


def basename(word: Word) -> str:
    """Return the name of a program, without its directory."""
    return word.text.rpartition("/")[2]


# --- for rules that allow ------------------------------------------------------------------------


def unwrapped(words: Words) -> Words:
    """Strip plain `timeout 5`, `nice`, `nohup`, `stdbuf` and `command`."""
    while words and (form := _PLAIN_WRAPPERS.get(words[0].text)) is not None:
        inner = _behind(words[1:], *form)
        if not words[0].static or inner is None:
            return words
        words = inner
    return words


def _behind(words: Words, flags: str, valued: str, operands: int) -> Words | None:
    index = 0
    while index < len(words) and words[index].static:
        text = words[index].text
        if re.fullmatch(flags, text):
            index += 1
        elif re.fullmatch(valued, text) and _known(words[index + 1 : index + 2]):
            index += 2
        else:
            break
    rest = words[index + operands :]
    before = words[index : index + operands]
    if not all(word.static and _DURATION.fullmatch(word.text) for word in before):
        return None
    return rest if rest and not rest[0].text.startswith("-") else None


def _known(words: Words) -> bool:
    return bool(words) and words[0].static and re.fullmatch(r"[\w.+-]+", words[0].text) is not None


def only_exactly(words: Words, pinned: Words) -> str | None:
    """Why only an exact rule can allow this; None if one with a wildcard can.

    Args:
        words: the command.
        pinned: the words at its beginning that the rule spells out.
    """
    name = basename(words[0])
    if name in _EVALUATORS:
        return f"{name!r} can run other programs or change what they are"
    if name in SHELLS or name in _RUNNERS:
        return _unpinned(name, words, pinned)
    arguments = words[1:]
    if name in ("test", "[") and any(_may_be(word, _TEST_EVALUATES) for word in arguments):
        return f"{name!r} may evaluate what it compares"
    if name == "printf" and not (arguments and _is_plain_format(arguments[0])):
        return "'printf' may evaluate what it prints"
    return None


def _unpinned(name: str, words: Words, pinned: Words) -> str | None:
    if name in ("find", "fd"):
        acts = any(_may_be(word, _FIND_ACTS) or word.text[:2] in ("-x", "-X") for word in words)
        return f"{name!r} with such arguments can run other programs or delete" if acts else None
    if len(unwrapped(pinned)) < len(pinned):
        return only_exactly(unwrapped(words), unwrapped(pinned))
    inner = pinned[1:]
    if name in _PINNABLE and inner and not re.match(r"-|\+|\w+=", inner[0].text):
        return only_exactly(words[1:], inner)
    return f"{name!r} runs the command that follows it"


def _may_be(word: Word, options: frozenset[str]) -> bool:
    return not word.static or word.text in options


def _is_plain_format(word: Word) -> bool:
    return word.static and _PRINTF_PLAIN.fullmatch(word.text) is not None


# --- for rules that forbid -----------------------------------------------------------------------


def possible_commands(script: Script, text: str) -> list[Words]:
    """List every command that a script runs or might run, also through programs that run others."""
    found: dict[Words, None] = {}
    guesses = () if script.certain else _suspected(text, depth=0)
    for words in itertools.chain(_hidden(script, depth=0), guesses):
        found[words] = None
        if len(found) == _MOST_COMMANDS:
            return [*found, _ANYTHING]
    return list(found)


def _hidden(script: Script, depth: int) -> Iterator[Words]:
    for command in script.commands:
        if command.words:
            yield command.words
            yield from _behind_runner(command.words, depth)
    if any(command.words and _starts_shell(command.words) for command in script.commands):
        yield from _fed_to_shell(script, depth)


def _starts_shell(words: Words) -> bool:
    behind = words if basename(words[0]) in _RUNNERS else words[:1]
    return any(basename(word) in SHELLS for word in behind)


def _suspected(text: str, depth: int) -> Iterator[Words]:
    """Guess the commands in text that cannot be parsed."""
    for fragment in fragments(text):
        words = tuple(Word(part, part) for part in fragment)
        yield words
        yield from _behind_runner(words, depth)


_INDEXING = frozenset({"printf", "test", "["})
"""Programs that evaluate the index of an array, also behind `command` or `builtin`."""


def _behind_runner(words: Words, depth: int) -> Iterator[Words]:
    name = basename(words[0])
    if name in _RUNNERS or name in SHELLS or name in _EVALUATORS:
        if len(words) > _MOST_WORDS:
            yield _ANYTHING
            words = words[:_MOST_WORDS]
        for index in range(1, len(words)):
            yield words[index:]
        if name == "." or any(basename(word) in _TAKE_TEXT for word in words):
            yield from _inside((word.text for word in words[1:]), depth)
            return
    if name in _INDEXING or (name in _RUNNERS and any(basename(it) in _INDEXING for it in words)):
        yield from _inside((word.text for word in words[1:] if "[" in word.text), depth)


def _fed_to_shell(script: Script, depth: int) -> Iterator[Words]:
    """Yield what a shell would run that reads a here-document, a here-string or a pipe."""
    here = (
        redirect.target.text
        for command in script.commands
        for redirect in command.redirects
        if redirect.kind == "here"
    )
    spoken = (
        " ".join(word.text for word in command.words[1:])
        for command in script.commands
        if command.words and basename(command.words[0]) in ("echo", "printf", "print")
    )
    yield from _inside((*here, *script.heredocs, *spoken), depth)


def _inside(texts: Iterable[str], depth: int) -> Iterator[Words]:
    for text in dict.fromkeys(texts):
        if depth >= _DEEPEST:
            yield _ANYTHING
            continue
        script = parse(text)
        yield from _hidden(script, depth + 1)
        if not script.certain:
            yield from _suspected(text, depth + 1)
