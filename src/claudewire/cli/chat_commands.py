"""What can be typed after a slash in a conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .text import one_line
from .views import seconds_of
from .wire.lines import counted

if TYPE_CHECKING:
    from .chat_session import ChatSession

__all__ = ["COMMANDS", "ChatCommand", "Leave", "Reopen"]

MODES = "default, acceptEdits, plan, bypassPermissions, dontAsk or auto"


class Leave(Exception):
    """The person wants to leave."""


class Reopen(Exception):
    """Another session takes the place of this one.

    Args:
        changes: what is different in its options.
    """

    def __init__(self, **changes: Any) -> None:
        super().__init__()
        self.changes = changes


class ChatCommand(NamedTuple):
    """A command.

    Attributes:
        help: what it does, in one line.
        run: does it, with the conversation and what was typed after the name.
    """

    help: str
    run: Callable[[ChatSession, str], Awaitable[None]]


async def _help(chat: ChatSession, rest: str) -> None:
    paint = chat.screen.paint
    rows = [(name, it.help) for name, it in COMMANDS.items()]
    rows += [
        ("@file", "names a file; Tab completes it"),
        ("Alt-Enter", "begins a new line"),
        ("Ctrl-C", "interrupts; twice ends the session, thrice kills"),
        ("Ctrl-D", "leaves"),
    ]
    width = chat.screen.width
    lines = [f"  {paint('strong', name.ljust(10))} {one_line(it, width - 15)}" for name, it in rows]
    chat.screen.print(["", *lines])


async def _model(chat: ChatSession, name: str) -> None:
    assert chat.session is not None
    if name:
        await chat.session.set_model(name)
        chat.say(f"The model is now {name}.")
        return
    info = chat.session.cli_info
    models = (info.models or []) if info is not None else []
    for model in models:
        chat.say(f"{model.value}: {model.description or model.display_name or ''}")
    if not models:
        chat.say("Which model? /model NAME")


async def _mode(chat: ChatSession, mode: str) -> None:
    assert chat.session is not None
    if not mode:
        chat.say(f"Which mode? /mode {MODES}")
        return
    result = await chat.session.set_permission_mode(mode)
    chat.say(f"The permission mode is now {getattr(result, 'mode', None) or mode}.")


async def _cost(chat: ChatSession, rest: str) -> None:
    assert chat.session is not None
    ledger = chat.session.ledger
    for model, used in ledger.models.items():
        cost = "" if used.cost_usd is None else f", ${used.cost_usd:.4f}"
        read, written = used.prompt_tokens, used.output_tokens
        chat.say(f"{model}: {read:,} tokens read, {written:,} written{cost}")
    total = ledger.session
    cost = "not known" if total.cost_usd is None else f"${total.cost_usd:.4f}"
    chat.say(f"Together: {total.tokens:,} tokens, {cost}, {counted(total.turns, 'turn')}.")


async def _context(chat: ChatSession, rest: str) -> None:
    assert chat.session is not None
    usage = await chat.session.get_context_usage()
    total, most = usage.total_tokens or 0, usage.max_tokens or 0
    part = f" ({total / most:.0%})" if most else ""
    chat.say(f"{total:,} of {most:,} tokens are in use{part}.")
    for category in usage.categories or ():
        chat.say(f"{category.name}: {category.tokens or 0:,}")


async def _tasks(chat: ChatSession, rest: str) -> None:
    assert chat.session is not None
    for task in chat.session.tasks:
        what = task.description or task.summary or task.kind or ""
        took = task.usage.duration_ms if task.usage is not None else None
        when = "" if took is None else f", {seconds_of(took / 1000)}"
        chat.say(f"{task.id}: {what} ({task.status}{when})")
    if not len(chat.session.tasks):
        chat.say("Nothing has run in the background.")


async def _save(chat: ChatSession, path: str) -> None:
    if not path:
        chat.say("Where to? /save FILE.md")
        return
    parts = [f"## {who}\n\n{text.strip()}\n" for who, text in chat.transcript]
    try:
        _write_new(path, "\n".join(parts))
    except OSError as error:
        chat.say(f"{path} was not written: {error.strerror}.")
        return
    chat.say(f"Written to {path}.")


def _write_new(path: str, text: str) -> None:
    """Write a file that does not exist yet."""
    with Path(path).expanduser().open("x", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)


async def _fork(chat: ChatSession, rest: str) -> None:
    assert chat.session is not None
    id = chat.session.session_id
    if id is None:
        chat.say("There is nothing to fork yet.")
        return
    chat.say(f"This goes on in a copy; the original is {id}.")
    raise Reopen(resume=id, fork_session=True, continue_conversation=False)


async def _quit(chat: ChatSession, rest: str) -> None:
    raise Leave


COMMANDS: dict[str, ChatCommand] = {
    "/help": ChatCommand("lists the commands", _help),
    "/model": ChatCommand("changes the model, or lists them", _model),
    "/mode": ChatCommand("changes the permission mode, to plan for example", _mode),
    "/cost": ChatCommand("says what was used, and what it cost", _cost),
    "/context": ChatCommand("says what fills the context window", _context),
    "/tasks": ChatCommand("lists what runs in the background", _tasks),
    "/save": ChatCommand("writes the conversation to a Markdown file", _save),
    "/fork": ChatCommand("goes on in a copy of the conversation", _fork),
    "/quit": ChatCommand("leaves", _quit),
}
