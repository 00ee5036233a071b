"""How long a session waits for things, and what it does with messages that are not read."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from .checks import choice, optional, seconds, whole_number

__all__ = ["Patience", "Timeouts", "Unread", "WaitingFor"]


class Timeouts(Struct, frozen=True):
    """How long things may take, in seconds.

    Every step of starting, stopping and asking the CLI has a limit.

    Attributes:
        start: from the start of the CLI to its first answer.
        request: for the CLI to answer a request, unless the call says otherwise.
        interrupt: for a turn to stop.
        exit: for the CLI to exit by itself, after its input or its output has ended.
        terminate: to exit after SIGTERM, before it is killed.
        kill: for a killed process to disappear.
        drain: for the rest of its output, when it has exited.
    """

    start: float = 60.0
    request: float = 60.0
    interrupt: float = 30.0
    exit: float = 5.0
    terminate: float = 5.0
    kill: float = 5.0
    drain: float = 2.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            seconds(f"timeouts.{name}", getattr(self, name))


class WaitingFor(StrEnum):
    """What a session may be waiting for."""

    NOTHING = "nothing"
    START = "the start"
    FIRST_TOKEN = "the first token"
    NEXT_TOKEN = "the next token"
    TOOL = "a tool"
    PERSON = "a person"
    ANSWER = "an answer"


class Patience(Struct, frozen=True):
    """How long each kind of silence may last before it is a stall, in seconds; None is forever.

    Attributes:
        first_token: from a prompt, or a tool's result, to the first output of the model.
        next_token: between two pieces of output.
        tool: from the call of a tool, or its last progress, to its result.
        person: for a person to decide.
        answer: for the CLI to answer a request, which also has a timeout of its own.
        action: `warn` only reports it. `interrupt` stops the turn, which then fails with
            `TurnStalled`. `restart` also starts another CLI that resumes the session.
        grace: how long after the warning the action is taken.

    Raises:
        OptionsError: there is no such action, or a patience is not more than 0.
    """

    first_token: float | None = 120.0
    next_token: float | None = 120.0
    tool: float | None = 900.0
    person: float | None = None
    answer: float | None = 120.0
    action: Literal["warn", "interrupt", "restart"] = "warn"
    grace: float = 0.0

    def __post_init__(self) -> None:
        choice("warn", "interrupt", "restart")("patience.action", self.action)
        if self.grace != 0 or isinstance(self.grace, bool):
            seconds("patience.grace", self.grace)
        for name in ("first_token", "next_token", "tool", "person", "answer"):
            optional(seconds)(f"patience.{name}", getattr(self, name))

    def limit(self, what: WaitingFor) -> float:
        """Return the limit for one kind of waiting, infinity if there is none."""
        limit: float | None = getattr(self, what.name.lower(), None)
        return math.inf if limit is None else limit


class Unread(Struct, frozen=True):
    """What happens to messages that the application does not read. The reader never waits.

    Attributes:
        high_water: at this many messages an `UnreadLimitReached` event reports it.
        policy: `keep` keeps them all; `drop_partial` then drops pieces of messages, each of which
            comes again as a whole.

    Raises:
        OptionsError: there is no such policy, or the number makes no sense.
    """

    high_water: int = 10_000
    policy: Literal["keep", "drop_partial"] = "keep"

    def __post_init__(self) -> None:
        choice("keep", "drop_partial")("unread.policy", self.policy)
        whole_number(1)("unread.high_water", self.high_water)
