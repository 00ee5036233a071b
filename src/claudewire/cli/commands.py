"""The commands: a table, the click group that loads one when it is used, and how all of them end.

A command is a module here, with a click command named `command`.
"""

from __future__ import annotations

import logging
import os
import shlex
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem, get_completion_class, shell_complete

from .._package import __version__
from ..errors import Error
from .errors import CommandError, Exit, describe_error, exit_for
from .text import safe

_QUIET = logging.NullHandler()
_COMPLETE = "_CLAUDEWIRE_COMPLETE"
"""The variable by which a shell asks for completions."""
_INSTEAD = {
    "-p": "One task: claudewire run PROMPT; with --quiet it prints only the answer.",
    "--print": "One task: claudewire run PROMPT; with --quiet it prints only the answer.",
    "--dangerously-skip-permissions": "Allow everything: --mode bypassPermissions.",
    "--yes": "Allow a tool: --allow RULE.",
    "-y": "Allow a tool: --allow RULE.",
    "-m": "The model: --model NAME.",
}
"""Advice for options of other programs."""
EPILOG = """\b
Most people begin with: claudewire run "Summarise README.md"
No account yet? Add --cli simulated: an agent inside this command works on your files.
"""


class Command(NamedTuple):
    """A command that is loaded when it is used: `place` is its module and its name there."""

    group: str
    help: str
    place: str


COMMANDS: dict[str, Command] = {
    "run": Command("Work", "Run one task, and show its progress", "run:command"),
    "chat": Command("Work", "Talk to the CLI in this terminal", "chat:command"),
    "sessions": Command("Work", "List, read, search and archive conversations", "sessions:command"),
    "show": Command("The wire", "Show a recording: a timeline, or a page", "recordings:show"),
    "record": Command("The wire", "Record an SDK and its CLI", "recordings:record"),
    "replay": Command("The wire", "Replay a recording to an SDK", "recordings:replay"),
    "diff": Command("The wire", "Compare two recordings", "recordings:diff"),
    "lint": Command("The wire", "Check a recording", "recordings:check"),
    "schema": Command("The wire", "Print the JSON Schema of the wire", "schema:command"),
    "doctor": Command("More", "Check that sessions work on this machine", "doctor:command"),
    "completion": Command("More", "Print the completion script for a shell", "commands:completion"),
}
"""In the order in which the help shows them."""


class LazyGroup(click.Group):
    """A group that loads a command when it is used, not to list it or to complete its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name all commands, in the order of the table."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].place.partition(":")
        loaded: click.Command = getattr(import_module(f".{module}", __package__), name)
        return loaded

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; suggest another one for an unknown name."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = get_close_matches(args[0], COMMANDS, 1)
            words = f"claudewire {close[0]}" if close else f"claudewire run {shlex.join(args)}"
            words = {"help": "claudewire --help", "version": "claudewire --version"}.get(
                args[0], words
            )
            raise click.UsageError(f"{error.message} Did you mean: {words}", ctx) from None

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
    """Drive the claude CLI: run tasks, hold conversations, see what goes over the wire."""


@click.command(
    help="""\
Print the completion script for a SHELL.

\b
bash:  eval "$(claudewire completion bash)"      in ~/.bashrc
zsh:   eval "$(claudewire completion zsh)"       in ~/.zshrc, after compinit
fish:  claudewire completion fish > ~/.config/fish/completions/claudewire.fish
"""
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for a shell."""
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(command, {}, "claudewire", _COMPLETE).source())


# --- how all of them end -------------------------------------------------------------------------


def execute(arguments: Sequence[str]) -> int:
    """Run the command with these arguments, report errors, and return the status."""
    # Notices show the library's warnings; without a handler Python would print them, too.
    logging.getLogger("claudewire").addHandler(_QUIET)
    if logging.lastResort is not None:  # prints on stderr that a recording is incomplete
        logging.getLogger("claudewire.recordings").addHandler(logging.lastResort)
    if instruction := os.environ.get(_COMPLETE):
        return shell_complete(command, {}, "claudewire", _COMPLETE, instruction)
    try:
        with command.make_context("claudewire", [*arguments]) as context:
            status: Any = command.invoke(context)
        sys.stdout.flush()  # at the end of the process it is too late to report an error
    except BrokenPipeError:
        return _pipe_broke()
    except click.exceptions.Exit as exit:
        return exit.exit_code
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except click.ClickException as error:
        return _usage(error)
    except Exception as error:
        return _failed(error)
    return status if isinstance(status, int) else Exit.DONE


def _pipe_broke() -> int:
    """Write nothing more to stdout, not even at the end of the process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Exit.BROKEN_PIPE


def _usage(error: click.ClickException) -> int:
    context = getattr(error, "ctx", None)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return Exit.USAGE
    hint = "" if context is None else f"Try `{context.command_path} --help`."
    report([error.format_message(), _INSTEAD.get(getattr(error, "option_name", ""), hint)])
    return Exit.USAGE


def _failed(error: Exception) -> int:
    """Report an error that has a message for people; any other is a defect, and is raised."""
    if not isinstance(error, CommandError | OSError | Error):
        raise error
    report([*describe_error(error)])
    try:
        sys.stdout.flush()
    except OSError:
        _pipe_broke()  # Python would fail at the end of the process
    return exit_for(error)


def report(lines: Sequence[str]) -> None:
    """Show an error: the problem, then its cause and the remedy."""
    first, *more = [safe(line) for line in lines if line] or ["Failed without a message."]
    mark = click.style("error:", fg="red", bold=True)
    click.echo("\n".join([f"{mark} {first}", *(f"       {line}" for line in more)]), err=True)
