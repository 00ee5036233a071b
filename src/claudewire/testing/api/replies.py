r"""The script of a Messages API: its replies, the prompts they go with, and their form on the wire.

script = APIScript(default="I do not know.")
script.on("list", APIToolUse("Bash", {"command": "ls"}), "There are two files.")
script.on(re.compile(r"retry \d"), APIStatus(429, retry_after=0, times=2), "At last.")
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, NamedTuple

from .requests import APIRequest

SIGNATURE = "c2NyaXB0ZWQ="
"""The signature of a thought; clients return it unread."""

_CHUNK = 24
"""Characters in one delta, so that a sentence takes several."""

_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}

Fields = dict[str, Any]


@dataclass(frozen=True)
class APIThinking:
    """A thought of the model."""

    thinking: str


@dataclass(frozen=True)
class APIToolUse:
    """A tool use. Without an id it gets a new one each time it is sent."""

    name: str
    input: Fields = field(default_factory=dict)
    id: str | None = None


Part = str | APIThinking | APIToolUse
"""A part of a reply; a string is text."""


@dataclass(frozen=True, kw_only=True)
class APIUsage:
    """The usage that a reply reports. Output tokens are estimated from its length if None."""

    input_tokens: int = 10
    output_tokens: int | None = None
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class APIReply:
    """One message of the model, and perhaps how its transmission fails.

    Args:
        parts: its content, in order; a string is text.
        usage: the usage that it reports.
        delay: seconds before each event of a streamed reply, or before a plain one.
        stall_after: the number of events after which the server falls silent until the client
            disconnects.
        cut_after: the number of events after which the connection breaks, in the middle of the
            next one.
        end_after: the number of events after which a stream ends as if it were complete; a plain
            reply breaks off.
        times: how often to give this answer before the next one; 0 for no limit.
    """

    def __init__(
        self,
        *parts: Part,
        usage: APIUsage | None = None,
        delay: float = 0,
        stall_after: int | None = None,
        cut_after: int | None = None,
        end_after: int | None = None,
        times: int = 1,
    ) -> None:
        self.parts = parts
        self.usage: APIUsage = usage or APIUsage()
        self.delay = delay
        self.stall_after = stall_after
        self.cut_after = cut_after
        self.end_after = end_after
        self.times = times

    @property
    def fails(self) -> bool:
        """Whether its transmission fails."""
        return (self.stall_after, self.cut_after, self.end_after) != (None, None, None)


@dataclass
class APIStatus:
    """An error of the API.

    Args:
        status: such as 400, 401, 429, 500 or 529.
        message: the error message.
        retry_after: the value of the header of that name, in seconds.
        times: how often to give this answer before the next one; 0 for no limit.
    """

    status: int
    _: KW_ONLY
    message: str = "This is a scripted error"
    retry_after: float | None = None
    times: int = 1
    fails: ClassVar[bool] = True


Step = APIReply | APIStatus
LooseReply = Step | Part | Sequence[Part]
"""A step, or the content of a reply: one part or several."""


def as_step(loose: LooseReply) -> Step:
    """Make a step of the content of a reply."""
    if isinstance(loose, APIReply | APIStatus):
        return loose
    if isinstance(loose, str | APIThinking | APIToolUse):
        return APIReply(loose)
    return APIReply(*loose)


def structured_output(output: Fields) -> APIToolUse:
    """Make the structured output that `--json-schema` asked for."""
    return APIToolUse("StructuredOutput", output)


def new_id(prefix: str) -> str:
    """Make an id that is unique across processes: conversations outlive them."""
    return f"{prefix}_scripted{os.urandom(8).hex()}"


# --- the script ----------------------------------------------------------------------------------

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


# --- as the Messages API writes it ---------------------------------------------------------------


def error_body(status: APIStatus) -> Fields:
    """Return the body of an error response."""
    error = {"type": _ERRORS.get(status.status, "api_error"), "message": status.message}
    return {"type": "error", "error": error, "request_id": new_id("req")}


def message_body(reply: APIReply, model: str) -> Fields:
    """Return the whole message, for a request without streaming."""
    content = [_block(part) for part in reply.parts]
    end = {"stop_reason": _stop_reason(reply), "usage": _usage(reply)}
    return {**_head(model), "content": content, **end}


def message_events(reply: APIReply, model: str) -> Iterator[Fields]:
    """Yield the message as a stream of events."""
    usage = _usage(reply)
    first = {**_head(model), "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": first}
    for index, part in enumerate(reply.parts):
        yield from _block_events(index, part)
    delta = {"stop_reason": _stop_reason(reply), "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": usage}
    yield {"type": "message_stop"}


def _head(model: str) -> Fields:
    return {
        "id": new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _stop_reason(reply: APIReply) -> str:
    return "tool_use" if any(isinstance(it, APIToolUse) for it in reply.parts) else "end_turn"


def _usage(reply: APIReply) -> Fields:
    usage = {**vars(reply.usage), "service_tier": "standard"}
    if usage["output_tokens"] is None:
        size = sum(len(json.dumps(_block(part))) for part in reply.parts)
        usage["output_tokens"] = max(1, size // 4)  # about four characters make a token
    return usage


def _block(part: Part) -> Fields:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if isinstance(part, APIThinking):
        return {"type": "thinking", "thinking": part.thinking, "signature": SIGNATURE}
    id = part.id or new_id("toolu")
    return {"type": "tool_use", "id": id, "name": part.name, "input": part.input}


def _block_events(index: int, part: Part) -> Iterator[Fields]:
    empty: Fields = {"text": "", "thinking": "", "signature": "", "input": {}}
    start = {key: empty.get(key, value) for key, value in _block(part).items()}
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in _deltas(part):
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _deltas(part: Part) -> Iterator[Fields]:
    if isinstance(part, str):
        kind, name, text = "text_delta", "text", part
    elif isinstance(part, APIThinking):
        kind, name, text = "thinking_delta", "thinking", part.thinking
    else:
        kind, name, text = "input_json_delta", "partial_json", json.dumps(part.input)
    for start in range(0, len(text), _CHUNK):
        yield {"type": kind, name: text[start : start + _CHUNK]}
    if isinstance(part, APIThinking):
        yield {"type": "signature_delta", "signature": SIGNATURE}
