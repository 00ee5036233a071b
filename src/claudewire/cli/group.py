"""The click group: commands that are loaded when they are used, and how all of them end."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from .._package import __version__
from .commands import COMMANDS
from .errors import CommandError, describe_error, exit_for
from .exits import Exit
from .text import cells, safe, wrap

__all__ = ["command", "execute"]

QUIET = logging.NullHandler()
EPILOG = """\b
Most people begin with: claudewire run "Summarise README.md"
No account yet? Add --cli simulated: an agent inside this command works on your files.
"""


class LazyGroup(click.Group):
    """A group that loads a command when it is used, and not to list it or to complete its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name all commands, in the order of the table."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f".{COMMANDS[cmd_name].module}", __package__)
        loaded: click.Command = module.command
        return loaded

    def make_context(self, *arguments: Any, **given: Any) -> click.Context:
        """Read the command line; the help is printed meanwhile."""
        try:
            return super().make_context(*arguments, **given)
        except BrokenPipeError:
            raise click.exceptions.Exit(pipe_broke()) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; of a broken pipe click would make the status 1."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            return pipe_broke()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the table, without loading anything."""
        for heading in dict.fromkeys(it.group for it in COMMANDS.values()):
            with formatter.section(heading):
                rows = [(name, it.help) for name, it in COMMANDS.items() if it.group == heading]
                formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command from the table."""
        names = [name for name in COMMANDS if name.startswith(incomplete)]
        found = [CompletionItem(name, help=COMMANDS[name].help) for name in names]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EPILOG,
)
@click.version_option(__version__, message="claudewire %(version)s")
def command() -> None:
    """Drive the claude CLI: give it tasks, talk to it, look at what went over the wire."""


def execute(arguments: Sequence[str]) -> int:
    """Run the command with these arguments, report what goes wrong, and return the status."""
    # What the library warns of is shown as a notice; without a handler it would be printed twice.
    logging.getLogger("claudewire").addHandler(QUIET)
    try:
        status: Any = command.main([*arguments], "claudewire", standalone_mode=False)
        sys.stdout.flush()  # at the end of the process it is too late to say what is wrong
    except BrokenPipeError:
        return pipe_broke()
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except click.ClickException as error:
        return _usage(error)
    except Exception as error:
        return _failed(error)
    return status if isinstance(status, int) else Exit.DONE


def pipe_broke() -> int:
    """Write nothing more to stdout, also not at the end of the process."""
    _write_no_more()
    return Exit.BROKEN_PIPE


def _drop_unwritable() -> None:
    """Drop what stdout cannot be given: Python would fail with it at the end of the process."""
    try:
        sys.stdout.flush()
    except OSError:
        _write_no_more()


def _write_no_more() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: click.ClickException) -> int:
    context = getattr(error, "ctx", None)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return Exit.USAGE
    hint = "" if context is None else f"Try `{context.command_path} --help`."
    report([error.format_message(), hint])
    return Exit.USAGE


def _failed(error: Exception) -> int:
    """Report an error that has a message for people; another one is a defect, and is raised."""
    from ..errors import Error

    if isinstance(error, CommandError):
        report([*describe_error(error)])
        return error.exit
    if isinstance(error, OSError):
        report([*describe_error(error)])
        _drop_unwritable()
        # One without a file's name is about a stream, and not about what the command line names.
        return Exit.USAGE if error.filename else Exit.FAILED
    if isinstance(error, Error):
        report([*describe_error(error)])
        return exit_for(error)
    raise error


def report(lines: Sequence[str]) -> None:
    """Show an error: what happened, then why and what to do about it."""
    first, *more = [part for line in lines if line for part in _fitted(safe(line))] or [
        "It failed."
    ]
    mark = click.style("error:", fg="red", bold=True)
    click.echo("\n".join([f"{mark} {first}", *(f"       {line}" for line in more)]), err=True)


def _fitted(line: str) -> list[str]:
    """Wrap a line that is too long for the terminal."""
    if not sys.stderr.isatty():
        return [line]
    room = shutil.get_terminal_size().columns - 8
    return wrap(line, max(room, 20)) if cells(line) > room else [line]
