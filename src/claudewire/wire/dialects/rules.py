"""What opens a session and what ends a turn: where the dialects differ in more than their forms.

The table at the end has one row for each dialect; docs/protocol.md, section 8.4, gives the reasons.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from ..types.base import Message
from ..types.messages import AssistantMessage, ResultMessage

__all__ = ["RULES", "Rules"]

_GOES_ON = frozenset({"tool_use", "pause_turn"})
"""Why a model stops in the middle of a turn: to use a tool, or to be called once more."""


def _is_result(message: Message) -> bool:
    return isinstance(message, ResultMessage)


def _is_result_or_stop(message: Message) -> bool:
    """A result, or a message of the main conversation that says why the model has stopped."""
    if not isinstance(message, AssistantMessage):
        return _is_result(message)
    reason = message.stop_reason
    return message.parent_tool_use_id is None and reason is not None and reason not in _GOES_ON


class Rules(Struct, frozen=True):
    """How a conversation goes in a dialect."""

    opens_with_initialize: bool = True
    """Whether the host sends `initialize` first; otherwise the first prompt opens the session."""
    ends_turn: Callable[[Message], bool] = _is_result
    """Whether a message says that its turn is over."""
    after_interrupt: Literal["result", "answer", "nothing"] = "result"
    """What is sure to follow an interrupt: the turn's result, an answer only, or nothing."""


RULES = {
    "modern": Rules(),
    "session": Rules(after_interrupt="answer"),
    "legacy": Rules(),
    "envelope": Rules(
        opens_with_initialize=False, ends_turn=_is_result_or_stop, after_interrupt="nothing"
    ),
}
