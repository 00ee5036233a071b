r"""The script of a scripted Messages API: which reply goes with which prompt.

script = APIScript(default="I do not know.")
script.on("list", APIToolUse("Bash", {"command": "ls"}), "There are two files.")
script.on(re.compile(r"retry \d"), APIStatus(429, retry_after=0, times=2), "At last.")
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .replies import APIReply, LooseReply, Step, as_step
from .requests import APIRequest

Condition = str | re.Pattern[str] | Callable[[APIRequest], bool]
"""When a rule applies: the prompt contains a string, matches a pattern, or a function decides."""

_SHOWN = 200
"""Characters of a prompt to quote: enough to recognise it."""


class _Rule(NamedTuple):
    match: Condition
    replies: Sequence[Step]

    def holds(self, request: APIRequest) -> bool:
        if isinstance(self.match, str):
            return self.match in request.prompt
        if isinstance(self.match, re.Pattern):
            return self.match.search(request.prompt) is not None
        return self.match(request)


class APIScript:
    """The replies of the model.

        script = APIScript(default="I do not know.")
        script.on("list", APIToolUse("Bash", {"command": "ls"}), "There are two files.")

    A rule applies to a turn of the conversation: its first reply answers the prompt, and the
    others answer its continuation (the results of tools, or the same request after an error). A
    prompt without a rule gets the next of the script's own replies; when there are none left, the
    default. A failure that comes last is repeated: clients retry.

    Args:
        replies: the answers to prompts without a rule, in order.
        default: the answer when there is no other; None for a reply that says so.
    """

    def __init__(self, *replies: LooseReply, default: LooseReply | None = None) -> None:
        self._replies = [as_step(reply) for reply in replies]
        self._default = None if default is None else as_step(default)
        self._rules: list[_Rule] = []
        self._given: dict[tuple[object, ...], int] = {}
        """The number of answers in each turn with a rule; of all others, by an empty key."""

    @classmethod
    def of(cls, source: ScriptSource) -> APIScript:
        """Make a script of replies."""
        if isinstance(source, APIScript):
            return source
        return cls(source) if isinstance(source, str) else cls(*source)

    def on(self, match: Condition, *replies: LooseReply) -> APIScript:
        """Add a rule with the replies for a turn. The first rule that matches applies."""
        self._rules.append(_Rule(match, [as_step(reply) for reply in replies]))
        return self

    def answer(self, request: APIRequest) -> Step:
        """Choose the answer to a request, and remember it."""
        for index, rule in enumerate(self._rules):
            if rule.holds(request):
                prompts = request.prompts
                turn = (index, request.conversation, *prompts[:1], *prompts[-1:], len(prompts))
                return self._next(turn, rule.replies) or _nothing(
                    "My script has ended for", request
                )
        found = self._next((), self._replies) or self._default
        return found or _nothing("I have no script for", request)

    def _next(self, turn: tuple[object, ...], steps: Sequence[Step]) -> Step | None:
        number = self._given[turn] = self._given.get(turn, -1) + 1
        for step in steps:
            if not step.times or number < step.times:
                return step
            number -= step.times
        return steps[-1] if steps and steps[-1].fails else None


ScriptSource = APIScript | str | Sequence[LooseReply]
"""A script, or replies in their order."""


def _nothing(why: str, request: APIRequest) -> APIReply:
    return APIReply(f"{why}: {request.prompt[:_SHOWN]}")
