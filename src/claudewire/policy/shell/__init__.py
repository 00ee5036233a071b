"""Shell commands: what a command line runs, and which commands a rule is about.

It uses the standard library only. Start with `grammar`, which takes a command line apart; then
`programs`, about those that run others, `hidden`, which finds what they run, and `patterns`, which
compares commands with rules.
"""

from __future__ import annotations

from .grammar import LONGEST, parse
from .hidden import Hidden, hidden_commands
from .patterns import CommandPattern, Match, joined_by_wildcards
from .programs import (
    RUNNERS,
    SHELLS,
    UNKNOWN,
    Words,
    basename,
    is_harmless,
    needed_commands,
    unwrapped,
    why_not_set,
    xargs_parts,
)
from .script import Command, Script, Word, fragments, names_in, remembered

__all__ = [
    "LONGEST",
    "RUNNERS",
    "SHELLS",
    "UNKNOWN",
    "Command",
    "CommandPattern",
    "Hidden",
    "Match",
    "Script",
    "Word",
    "Words",
    "basename",
    "fragments",
    "hidden_commands",
    "is_harmless",
    "joined_by_wildcards",
    "names_in",
    "needed_commands",
    "parse",
    "remembered",
    "unwrapped",
    "why_not_set",
    "xargs_parts",
]
