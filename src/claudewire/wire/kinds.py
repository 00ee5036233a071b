"""What a message means to the states: a prompt, output of a turn, its result, or just a notice."""

from __future__ import annotations

from .dialects import MODERN, Rules
from .states import Kind, Role
from .types.base import Message
from .types.messages import (
    AssistantMessage,
    ErrorMessage,
    KeepAlive,
    StreamEvent,
    ToolProgressMessage,
    UnknownMessage,
    UserMessage,
)
from .types.system import SessionStateChangedMessage

__all__ = ["PLAIN_OUTPUT", "kind_of"]

PLAIN_OUTPUT: frozenset[type[Message]] = frozenset(
    {AssistantMessage, StreamEvent, ToolProgressMessage, UserMessage}
)
"""What a busy CLI sends most of, and what changes nothing while it is busy."""


def kind_of(sender: Role, message: Message, rules: Rules = MODERN.rules) -> Kind:
    """Classify a message by who sends it, and by the rules of the CLI's dialect."""
    return _from_client(message) if sender is Role.CLIENT else _from_cli(message, rules)


def _from_client(message: Message) -> Kind:
    if isinstance(message, UserMessage):
        # `should_query` false only adds to the conversation; no turn follows.
        return Kind.NOTICE if message.should_query is False else Kind.PROMPT
    return Kind.NOTICE if isinstance(message, KeepAlive | UnknownMessage) else Kind.OUTPUT


def _from_cli(message: Message, rules: Rules) -> Kind:
    if isinstance(message, ErrorMessage) or rules.ends_turn(message):
        return Kind.RESULT  # a CLI that goes on after an error is busy again with its next output
    if isinstance(message, SessionStateChangedMessage):
        return Kind.RESULT if message.state == "idle" else Kind.OUTPUT
    if isinstance(message, UserMessage) and message.is_replay:
        return Kind.NOTICE
    return Kind.OUTPUT if type(message) in PLAIN_OUTPUT else Kind.NOTICE
