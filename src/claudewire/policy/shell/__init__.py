"""Shell commands: what a command line runs, and which commands a rule is about.

It uses the standard library only. Start with `grammar`, which takes a command line apart; then
`programs`, about those that run others, and `patterns`, which compares commands with rules.
"""

from __future__ import annotations

from .grammar import LONGEST, parse
from .patterns import CommandForm, CommandPattern, Match
from .programs import SAFE_VARIABLES, SHELLS, Words, basename, possible_commands
from .script import Assignment, Command, Redirect, Script, Word, fragments

__all__ = [
    "LONGEST",
    "SAFE_VARIABLES",
    "SHELLS",
    "Assignment",
    "Command",
    "CommandForm",
    "CommandPattern",
    "Match",
    "Redirect",
    "Script",
    "Word",
    "Words",
    "basename",
    "fragments",
    "parse",
    "possible_commands",
]
