"""What the CLI says of its own work: in which state it is, and how far each prompt has come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..wire import CommandLifecycleMessage, SessionStateChangedMessage, UserMessage
from .state import new_uuid

if TYPE_CHECKING:
    from .engine import Engine

__all__ = ["set_state", "tell_progress"]

FOR_ALL = "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"
FOR_THE_SDK = "CLAUDE_CODE_SDK_READS_SESSION_STATE"
"""The SDK wants to know, and not to pass it on."""


def set_state(engine: Engine, state: str) -> None:
    """Be idle, running, or in need of an answer; say so if it is new and was asked for."""
    session = engine.session
    if state == session.state:
        return
    session.state = state
    for_all = session.env.get(FOR_ALL) == "1"
    if for_all or session.env.get(FOR_THE_SDK) == "1":
        engine.send(
            SessionStateChangedMessage(
                state=state,
                sdk_host_only=None if for_all else True,
                uuid=new_uuid(),
                session_id=session.id,
            )
        )


def tell_progress(engine: Engine, prompt: UserMessage | None, state: str) -> None:
    """Say how far a prompt has come, if it has a name."""
    if prompt is not None and prompt.uuid is not None and engine.session.persona.narrates:
        engine.send(
            CommandLifecycleMessage(
                command_uuid=prompt.uuid,
                state=state,
                uuid=new_uuid(),
                session_id=engine.session.id,
            )
        )
