"""The table of all commands. A command is a module here, with a click command named `command`."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["COMMANDS", "Command"]


class Command(NamedTuple):
    """A command that is loaded when it is used.

    Attributes:
        group: the heading above it in the help.
        help: what it does, in one line.
        module: the module of this package that has it.
    """

    group: str
    help: str
    module: str


COMMANDS: dict[str, Command] = {
    "run": Command("Work", "Do one task, and show how it goes", "run"),
    "chat": Command("Work", "Talk to the CLI, in this terminal", "chat"),
    "completion": Command("More", "Print the completion script for a shell", "completion"),
}
"""In the order in which the help shows them."""
