"""Shell commands: what a command line runs, and which commands a rule is about.

It uses the standard library only. Start with `grammar`, which takes a command line apart; then
`programs`, about those that run others, and `patterns`, which compares commands with rules.
"""

from __future__ import annotations

from .grammar import parse
from .patterns import CommandForm, CommandPattern, Match
from .programs import SAFE_VARIABLES, SHELLS, Words, basename, possible_commands
from .script import Command, Script, Word, fragments, names_in

__all__ = [
    "SAFE_VARIABLES",
    "SHELLS",
    "Command",
    "CommandForm",
    "CommandPattern",
    "Match",
    "Script",
    "Word",
    "Words",
    "basename",
    "fragments",
    "names_in",
    "parse",
    "possible_commands",
]
