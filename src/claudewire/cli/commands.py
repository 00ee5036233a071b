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
    "sessions": Command("Work", "List, read, search and keep conversations", "sessions.command"),
    "show": Command("The wire", "Show a recording: a timeline, or a page", "wire.show"),
    "record": Command("The wire", "Record what an SDK and its CLI say", "wire.record"),
    "replay": Command("The wire", "Play a recording, to you or to an SDK", "wire.replay"),
    "diff": Command("The wire", "Say how two recordings differ", "wire.diff"),
    "lint": Command("The wire", "Say what is wrong in a recording", "wire.lint"),
    "schema": Command("The wire", "Print the JSON Schema of the wire", "wire.schema"),
    "sim": Command("The wire", "Be a simulated claude", "wire.sim"),
    "doctor": Command("More", "Find out whether sessions work here", "doctor.command"),
    "completion": Command("More", "Print the completion script for a shell", "completion"),
}
"""In the order in which the help shows them."""
