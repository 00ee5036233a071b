"""Turns without a session: a test plays the conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from tests.helpers import messages as saying

from claudewire.options import UnreadLimit
from claudewire.session import Turn
from claudewire.session.core import Core
from claudewire.session.queue import HomeThread
from claudewire.session.turn import UnreadCounter
from claudewire.wire import Message, ResultMessage


class TurnOwner:
    """The part of a session that its turns need.

    Attributes:
        alarms: the counts of unread messages that were reported.
        unsolicited: the unsolicited turns that were reported.
    """

    def __init__(self, limit: UnreadLimit | None = None) -> None:
        self.home = HomeThread()
        self.alarms: list[int] = []
        self.unread = UnreadCounter(limit or UnreadLimit(), self.alarms.append)
        self.unsolicited: list[Turn[Any]] = []

    @property
    def core(self) -> Core:
        return cast("Core", self)

    def turn_started(self, turn: Turn[Any]) -> None:
        self.unsolicited.append(turn)

    def turn(self, read_output: Callable[[ResultMessage], Any] | None = None) -> Turn[Any]:
        return Turn(saying.prompt(), self.core, read_output)


def feed(turn: Turn[Any], messages: Iterable[Message]) -> Turn[Any]:
    """Give messages to a turn; a result ends it."""
    for message in messages:
        if isinstance(message, ResultMessage):
            turn._finish(message)
        else:
            turn._push(message)
    return turn
