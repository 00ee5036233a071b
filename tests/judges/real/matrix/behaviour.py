"""A behaviour: a sentence, a function that checks it, and the replies of the model.

    @shared("A denied tool does not run, and the model is told why", [touch("denied"), "Then not."])
    async def denied(stage: Stage) -> None:
        stage.on_permission = lambda request: request.deny("Not in this folder")
        reply = await stage.send()
        assert stage.told == ["Not in this folder"]

The model answers the prompts of a behaviour, and no others, with its replies: each prompt begins
with the name of the behaviour. So those that need no options of their own share one CLI, which is
cheap. What ends its CLI, or needs options, is `alone` and opens sessions itself.

A behaviour that some versions do not have says since which one they do, and is tried with the
others nevertheless: there it must end with the error of the library that says so, or with `Lacking`
and what was seen. So every cell of the table was measured.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from claudewire.testing.api import APIScript
from claudewire.testing.api.replies import LooseReply
from claudewire.wire import parse_version

if TYPE_CHECKING:
    from .stage import Stage

Play = Callable[["Stage"], Awaitable[None]]
Replies = Sequence[LooseReply] | Mapping[str, Sequence[LooseReply]]
"""The replies of the model: for the only prompt, or for each prompt by its key."""

VERSIONS = ("2.1.17", "2.1.197", "2.1.250", "2.1.325", "2.1.327")
"""The columns of the table."""


class Lacking(Exception):
    """The CLI does not have something; the message says how that shows."""


class Deviation(Exception):
    """A mistake of the CLI that no SDK can repair; the message describes it."""


@dataclass(frozen=True)
class Behaviour:
    """One row of the table.

    Attributes:
        title: the sentence.
        play: shows whether it holds.
        replies: what the model says.
        since: the first version of the table that has it; the first of all if empty.
        deviates: the versions of the table that are known to do it wrong.
        alone: whether it opens sessions itself.
        options: the function of its module that says with which options the session is opened
            that it shares with others.
        tags: by which it can be chosen, beside its subject.
        shows: the requirements of the protocol that it shows; see conformance.
    """

    title: str
    play: Play
    replies: Mapping[str, Sequence[LooseReply]]
    since: str = ""
    deviates: frozenset[str] = frozenset()
    alone: bool = False
    options: str = "options"
    tags: frozenset[str] = frozenset()
    shows: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        """The name of its function."""
        return str(getattr(self.play, "__name__", ""))

    @property
    def subject(self) -> str:
        """The name of the module that it is in."""
        return self.play.__module__.rpartition(".")[2]

    def prompt(self, key: str = "") -> str:
        """The text by which these replies recognise their prompt."""
        return f"({self.name}.{key})" if key else f"({self.name})"

    def add_to(self, script: APIScript) -> None:
        """Have the model answer its prompts."""
        for key, replies in self.replies.items():
            script.on(self.prompt(key), *replies)

    def may_lack(self, version: str) -> bool:
        """Return whether a version may lack the behaviour, as measured."""
        return bool(self.since) and parse_version(version) < parse_version(self.since)

    def must_lack(self, version: str) -> bool:
        """Return whether a version was measured to lack the behaviour."""
        return self.may_lack(version) and version in VERSIONS


TABLE: dict[str, Behaviour] = {}
"""All behaviours, by name, in the order of the table."""


def shared(
    title: str, replies: Replies = ("Done.",), **fields: object
) -> Callable[[Play], Behaviour]:
    """Add a behaviour that is played in a session with others of its subject."""
    return _adder(title, replies, fields)


def alone(
    title: str, replies: Replies = ("Done.",), **fields: object
) -> Callable[[Play], Behaviour]:
    """Add a behaviour that opens its own sessions."""
    return _adder(title, replies, {**fields, "alone": True})


def _adder(
    title: str, replies: Replies, fields: Mapping[str, object]
) -> Callable[[Play], Behaviour]:
    by_key = replies if isinstance(replies, Mapping) else {"": replies}

    def add(play: Play) -> Behaviour:
        made = Behaviour(title, play, by_key, **fields)  # type: ignore[arg-type]
        assert made.name not in TABLE, made.name
        TABLE[made.name] = made
        return made

    return add
