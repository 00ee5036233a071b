"""The commands that the CLI carries out itself: /clear, /compact, /context, /cost.

Others that it has need a terminal, and it says so.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from ..wire import (
    AssistantMessage,
    BackgroundTasksChangedMessage,
    ConversationResetMessage,
    StatusMessage,
    TextBlock,
    UserMessage,
)
from .chat import Chat
from .compaction import put_boundary
from .engine import Engine
from .model_output import synthetic_message
from .session import new_uuid, timestamp

__all__ = ["BUILT_IN", "command_of"]

Command = Callable[[Engine, Chat, str, Callable[[], None]], Awaitable[None]]


class _LocalOutput(AssistantMessage, tag="assistant", kw_only=True):
    """What a command prints."""

    local_command_source: str | None = None
    local_command_run: Any = None
    local_command_outcome: Any = None


def command_of(chat: Chat) -> tuple[str | None, Command, str] | None:
    """The command that a prompt calls, its name for the result, and what follows it."""
    if chat.prompt is None or not chat.text.startswith("/"):
        return None
    word, _, arguments = chat.text[1:].partition(" ")
    if word in INTERACTIVE:
        return None, _refuse, arguments
    command = BUILT_IN.get(ALIASES.get(word, word))
    return None if command is None else (word, command, arguments.strip())


async def _clear(engine: Engine, chat: Chat, arguments: str, announce: Callable[[], None]) -> None:
    """Begin another conversation in the same process."""
    session, uuid = engine.session, new_uuid()
    prompt = chat.prompt.uuid if chat.prompt is not None else None
    engine.send(
        ConversationResetMessage(
            new_conversation_id=uuid,
            uuid=uuid,
            trigger="clear",
            user_message_uuid=prompt or new_uuid(),
            timestamp=timestamp(),
            session_id=session.id,
        )
    )
    engine.send(BackgroundTasksChangedMessage(tasks=[], **session.stamp()))
    engine.transcript.close()
    session.forget()
    announce()
    engine.transcript.forget()
    engine.transcript.command("clear", arguments, is_new=True)
    _print_to_transcript(engine, "clear", arguments, "")


async def _compact(
    engine: Engine, chat: Chat, arguments: str, announce: Callable[[], None]
) -> None:
    """Replace the conversation by a summary."""
    session = engine.session
    await chat.hook("PreCompact", "manual", trigger="manual", custom_instructions=arguments)
    engine.send(StatusMessage(status="compacting", **session.stamp()))
    engine.send(StatusMessage(status=None, compact_result="success", **session.stamp()))
    announce()
    tokens = sum(len(it["text"]) // 4 + 1 for it in session.history)
    asked = [f"- {it['text']}" for it in session.history if it["type"] == "user"]
    summary = "\n".join(["(simulation) The user has said:", *asked])
    put_boundary(engine, "manual", tokens, summary)
    engine.transcript.command("compact", arguments)
    printed = UserMessage.of("<local-command-stdout>Compacted </local-command-stdout>")
    told = session.replay_of(printed)
    engine.transcript.told(told)
    engine.send(told)


async def _context(
    engine: Engine, chat: Chat, arguments: str, announce: Callable[[], None]
) -> None:
    """Print how full the context is."""
    session = engine.session
    used = sum(len(it["text"]) // 4 + 1 for it in session.history)
    window = 200_000
    text = (
        f"## Context Usage\n\n**Model:** {session.model}  \n**Tokens:** {used} / "
        f"{window // 1000}k ({used * 100 // window}%)\n\n### Estimated usage by category\n\n"
        "| Category | Tokens | Percentage |\n|----------|--------|------------|\n"
        f"| Messages | {used} | {used * 100 / window:.1f}% |\n"
        f"| Free space | {window - used} | {(window - used) * 100 / window:.1f}% |"
    )
    _print(engine, chat, "context", arguments, text, announce)


async def _cost(engine: Engine, chat: Chat, arguments: str, announce: Callable[[], None]) -> None:
    """Print what was spent."""
    session = engine.session
    models = [
        f"{name:>20}:  {it.input_tokens} input, {it.output_tokens} output, 0 cache read, "
        f"0 cache write (${it.cost_usd:.4f})"
        for name, it in session.spent.items()
    ]
    lines = [
        f"Total cost:            ${session.cost:.4f}",
        "Total duration (API):  0s",
        f"Total duration (wall): {int(engine.clock() - engine.started)}s",
        "Total code changes:    0 lines added, 0 lines removed",
        *(["Usage by model:", *models] if models else []),
    ]
    _print(engine, chat, "usage", arguments, "\n".join(lines), announce)


async def _refuse(engine: Engine, chat: Chat, arguments: str, announce: Callable[[], None]) -> None:
    """Say that a command needs a terminal."""
    announce()
    text = f"{chat.text.partition(' ')[0]} isn't available in this environment."
    printed, outcome = f"<local-command-stdout>{text}</local-command-stdout>", {"kind": UNAVAILABLE}
    keep = partial(engine.transcript.system, "local_command", level="info", isMeta=False)
    keep(content=chat.text)
    keep(content=printed, commandOutcome=outcome)
    chat.last_text = text
    engine.send(
        _LocalOutput(
            message=synthetic_message(TextBlock(text), "end_turn", None),
            timestamp=timestamp(),
            local_command_source=printed,
            local_command_outcome=outcome,
            **engine.session.stamp(),
        )
    )


def _print(
    engine: Engine, chat: Chat, name: str, arguments: str, text: str, announce: Callable[[], None]
) -> None:
    announce()
    engine.transcript.command(name, arguments)
    _print_to_transcript(engine, name, arguments, text)
    chat.last_text = text
    engine.send(
        _LocalOutput(
            message=synthetic_message(TextBlock(text), "end_turn", None),
            timestamp=timestamp(),
            local_command_source=f"<local-command-stdout>{text}</local-command-stdout>",
            local_command_run={"command": name, "args": arguments},
            **engine.session.stamp(),
        )
    )


def _print_to_transcript(engine: Engine, name: str, arguments: str, text: str) -> None:
    engine.transcript.system(
        "local_command",
        content=f"<local-command-stdout>{text}</local-command-stdout>",
        level="info",
        isMeta=False,
        commandRun={"command": name, "args": arguments},
    )


ALIASES = {"reset": "clear", "new": "clear", "usage": "cost", "stats": "cost"}

UNAVAILABLE = "unavailable_headless"

_NAMES = """
    add-dir allowed-tools bashes branch btw bug checkpoint chrome continue copy desktop
    diff exit export extra-usage feedback help hooks ide install-github-app
    install-slack-app keybindings login logout memory mobile passes permissions plan
    plugin privacy-settings quit release-notes remote-control resume rewind sandbox skills
    status statusline tasks terminal-setup theme upgrade vim
"""

INTERACTIVE = frozenset(_NAMES.split())
"""What the CLI answers in a terminal only."""

BUILT_IN: dict[str, Command] = {
    "clear": _clear,
    "compact": _compact,
    "context": _context,
    "cost": _cost,
}
"""What each command does; it is given a function that describes the session."""
