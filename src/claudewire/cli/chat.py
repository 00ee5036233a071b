"""`claudewire chat`: a conversation."""

from __future__ import annotations

import sys
from typing import Any

import click

from .errors import CommandError
from .sections import SectionedCommand
from .session_options import session_arguments, session_options, transport_for

__all__ = ["command"]

KEYS = (
    "Enter sends, Alt-Enter begins a new line, Tab completes /commands and @files. Ctrl-C "
    "interrupts, twice ends the session, a third time kills it; Ctrl-D leaves."
)


@click.command(cls=SectionedCommand, epilog=KEYS)
@click.argument("prompt", nargs=-1)
@session_options
def command(prompt: tuple[str, ...], **given: Any) -> int:
    """Talk to the CLI, in the scrollback of this terminal; PROMPT is said first.

    You can go on typing while it works: what you send is queued. It asks you before it does
    anything that no rule allows. Type /help for the commands.
    """
    import anyio

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandError(
            "A conversation needs a terminal, and stdin or stdout is something else.",
            advice="For one task without a terminal there is `claudewire run`.",
        )
    from ..options import Options
    from .chat_session import ChatSession

    arguments = session_arguments(given)
    arguments["include_partial_messages"] = True
    options = Options(**arguments)
    chat = ChatSession(options, transport_for(given["record"], options), " ".join(prompt))
    # The line that is typed into needs asyncio.
    return anyio.run(chat.run, backend="asyncio")
