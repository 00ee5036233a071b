"""The commands that the CLI carries out itself: /clear, /compact, /context, /cost.

It also has commands for a terminal, and answers that they are not available.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from .. import wire
from .chat import Chat
from .model_output import synthetic_message
from .session import new_uuid, timestamp

Command = Callable[[Chat, str], Awaitable[None]]
"""Carries out a command with its arguments."""

CONTINUED = (
    "This session is being continued from a previous conversation that ran out of context. The "
    "summary below covers the earlier portion of the conversation.\n\n{summary}"
)

WINDOW = 200_000
"""The tokens that fit into the context."""


class _LocalOutput(wire.AssistantMessage, tag="assistant", kw_only=True):
    """The output of a command."""

    local_command_source: str | None = None
    local_command_run: Any = None
    local_command_outcome: Any = None


def command_of(chat: Chat) -> tuple[str | None, Command, str] | None:
    """Return the command that a prompt calls: its name for the result, and its arguments."""
    if chat.prompt is None or not chat.text.startswith("/"):
        return None
    word, _, arguments = chat.text[1:].partition(" ")
    if word in INTERACTIVE:
        return None, _refuse, arguments
    command = BUILT_IN.get(ALIASES.get(word, word))
    return None if command is None else (word, command, arguments.strip())


async def _clear(chat: Chat, arguments: str) -> None:
    """Begin another conversation in the same process."""
    session, engine, uuid = chat.session, chat.engine, new_uuid()
    prompt = chat.prompt.uuid if chat.prompt is not None else None
    engine.tell(
        wire.ConversationResetMessage,
        new_conversation_id=uuid,
        uuid=uuid,
        trigger="clear",
        user_message_uuid=prompt or new_uuid(),
        timestamp=timestamp(),
    )
    engine.tell(wire.BackgroundTasksChangedMessage, tasks=[])
    engine.transcript.close()
    session.forget()
    chat.announce()
    engine.transcript.forget()
    engine.transcript.command("clear", arguments, is_new=True)
    _keep(chat, _wrapped(""))


async def _compact(chat: Chat, arguments: str) -> None:
    """Replace the conversation by a summary."""
    session = chat.session
    await chat.hook("PreCompact", "manual", trigger="manual", custom_instructions=arguments)
    chat.engine.tell(wire.StatusMessage, status="compacting")
    chat.engine.tell(wire.StatusMessage, status=None, compact_result="success")
    chat.announce()
    asked = [f"- {it['text']}" for it in session.history if it["type"] == "user"]
    summary = "\n".join(["(simulation) The user has said:", *asked])
    chat.put_boundary("manual", _used(chat), len(summary) // 4)
    told = wire.UserMessage(
        message=wire.MessageParam("user", CONTINUED.format(summary=summary)),
        is_replay=False,
        is_synthetic=True,
        timestamp=timestamp(),
        **session.stamp(),
    )
    transcript = chat.engine.transcript
    transcript.told(told, isVisibleInTranscriptOnly=True, isCompactSummary=True)
    chat.emit(told)
    transcript.command("compact", arguments)
    printed = wire.UserMessage.of(_wrapped("Compacted "))
    told = session.replay_of(printed)
    transcript.told(told)
    chat.emit(told)


async def _context(chat: Chat, arguments: str) -> None:
    used = _used(chat)
    share = f"{used} / {WINDOW // 1000}k ({used * 100 // WINDOW}%)"
    text = f"## Context Usage\n\n**Model:** {chat.session.model}  \n**Tokens:** {share}"
    _print(chat, "context", arguments, text)


async def _cost(chat: Chat, arguments: str) -> None:
    lines = [f"Total cost: ${chat.session.cost:.4f}"]
    for name, it in chat.session.spent.items():
        used = f"{it.input_tokens} input, {it.output_tokens} output (${it.cost_usd:.4f})"
        lines.append(f"{name}: {used}")
    _print(chat, "usage", arguments, "\n".join(lines))


async def _refuse(chat: Chat, arguments: str) -> None:
    """Answer that a command needs a terminal."""
    chat.announce()
    text = f"{chat.text.partition(' ')[0]} isn't available in this environment."
    outcome = {"kind": "unavailable_headless"}
    _keep(chat, chat.text)
    _keep(chat, _wrapped(text))
    _say(chat, text, local_command_outcome=outcome)


def _print(chat: Chat, name: str, arguments: str, text: str) -> None:
    chat.announce()
    chat.engine.transcript.command(name, arguments)
    _keep(chat, _wrapped(text))
    _say(chat, text, local_command_run={"command": name, "args": arguments})


def _keep(chat: Chat, text: str) -> None:
    chat.engine.transcript.system("local_command", content=text, level="info", isMeta=False)


def _say(chat: Chat, text: str, **fields: Any) -> None:
    chat.last_text = text
    chat.engine.tell(
        _LocalOutput,
        message=synthetic_message(text, "end_turn"),
        timestamp=timestamp(),
        local_command_source=_wrapped(text),
        **fields,
    )


def _wrapped(text: str) -> str:
    return f"<local-command-stdout>{text}</local-command-stdout>"


def _used(chat: Chat) -> int:
    return sum(len(it["text"]) // 4 + 1 for it in chat.session.history)


ALIASES = {"reset": "clear", "new": "clear", "usage": "cost", "stats": "cost"}

_NAMES = """
    add-dir allowed-tools bashes branch btw bug checkpoint chrome continue copy desktop
    diff exit export extra-usage feedback help hooks ide install-github-app
    install-slack-app keybindings login logout memory mobile passes permissions plan
    plugin privacy-settings quit release-notes remote-control resume rewind sandbox skills
    status statusline tasks terminal-setup theme upgrade vim
"""

INTERACTIVE = frozenset(_NAMES.split())
"""The commands that need a terminal."""

BUILT_IN: dict[str, Command] = {
    "clear": _clear,
    "compact": _compact,
    "context": _context,
    "cost": _cost,
}
"""The function for each command."""
