"""The answers of a scripted Messages API, and how the Messages API writes them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import msgspec

__all__ = [
    "APIReply",
    "APIStatus",
    "APIThinking",
    "APIToolUse",
    "APIUsage",
    "LooseReply",
    "Part",
    "Step",
    "as_step",
    "error_body",
    "message_body",
    "message_events",
    "structured_output",
]

CHUNK = 24
"""Characters in one delta, so that a sentence takes several."""

SIGNATURE = "c2NyaXB0ZWQ="
"""The signature of a thought, which clients return unread."""

_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}

Fields = dict[str, Any]


@dataclass(frozen=True)
class APIThinking:
    """The model thinks aloud."""

    thinking: str
    signature: str = SIGNATURE


@dataclass(frozen=True)
class APIToolUse:
    """The model uses a tool. Without an id it gets a new one each time it is sent."""

    name: str
    input: Fields = field(default_factory=dict)
    id: str | None = None


Part = str | APIThinking | APIToolUse
"""What a reply consists of; a string is what the model says."""


class APIUsage(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """The usage that a reply reports. Output tokens are estimated from its length if None."""

    input_tokens: int = 10
    output_tokens: int | None = None
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class APIReply:
    """One message of the model, and perhaps how its transmission fails.

    Args:
        parts: what it consists of, in order; a string is text.
        usage: the usage that it reports.
        stop_reason: follows from the parts if None.
        chunk: characters in one delta of a streamed reply.
        delay: seconds before each event of a streamed reply, or before a plain one.
        stall_after: after so many events nothing more is sent until the client disconnects.
        cut_after: after so many events the connection breaks, in the middle of the next one.
        end_after: after so many events a stream ends, as if it were complete; a plain reply breaks
            off.
        times: how often this answer is given before the next one; 0 for ever.
    """

    def __init__(
        self,
        *parts: Part,
        usage: APIUsage | None = None,
        stop_reason: str | None = None,
        chunk: int = CHUNK,
        delay: float = 0,
        stall_after: int | None = None,
        cut_after: int | None = None,
        end_after: int | None = None,
        times: int = 1,
    ) -> None:
        self.parts = parts
        self.usage: APIUsage = usage or APIUsage()
        self.stop_reason = stop_reason
        self.chunk = chunk
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
    """The API answers with an error status.

    Args:
        status: such as 400, 401, 429, 500 or 529.
        error: the kind of error; follows from the status if None.
        message: the error message.
        retry_after: the value of the header of that name, in seconds.
        times: how often this answer is given before the next one; 0 for ever.
    """

    status: int
    _: KW_ONLY
    error: str | None = None
    message: str = "This is a scripted error"
    retry_after: float | None = None
    times: int = 1
    fails: ClassVar[bool] = True


Step = APIReply | APIStatus
LooseReply = Step | Part | Sequence[Part]
"""A step, or what a reply consists of: one part or several."""


def as_step(loose: LooseReply) -> Step:
    """Make a step from what stands for one."""
    if isinstance(loose, APIReply | APIStatus):
        return loose
    if isinstance(loose, str | APIThinking | APIToolUse):
        return APIReply(loose)
    return APIReply(*loose)


def structured_output(output: Fields) -> APIToolUse:
    """The model returns the structured output that `--json-schema` asked for."""
    return APIToolUse("StructuredOutput", output)


def new_id(prefix: str) -> str:
    """Make an id that is unique across processes, since conversations outlive them."""
    return f"{prefix}_scripted{os.urandom(8).hex()}"


# --- as the Messages API writes it -------------------------------------------------------------


def error_body(status: APIStatus) -> Fields:
    """The body of an error response."""
    kind = status.error or _ERRORS.get(status.status, "api_error")
    return {
        "type": "error",
        "error": {"type": kind, "message": status.message},
        "request_id": new_id("req"),
    }


def message_body(reply: APIReply, model: str) -> Fields:
    """The whole message, for a request without streaming."""
    usage = _usage(reply)
    return {
        **_envelope(model),
        "content": [_block(part) for part in reply.parts],
        "stop_reason": _stop_reason(reply),
        "usage": usage,
    }


def message_events(reply: APIReply, model: str) -> Iterator[Fields]:
    """The message as a stream of events."""
    usage = _usage(reply)
    first = {**_envelope(model), "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": first}
    for index, part in enumerate(reply.parts):
        yield from _block_events(index, part, reply.chunk)
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": _stop_reason(reply), "stop_sequence": None},
        "usage": usage,
    }
    yield {"type": "message_stop"}


def _envelope(model: str) -> Fields:
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
    uses_tool = any(isinstance(part, APIToolUse) for part in reply.parts)
    return reply.stop_reason or ("tool_use" if uses_tool else "end_turn")


def _usage(reply: APIReply) -> Fields:
    usage = reply.usage
    output = usage.output_tokens
    if output is None:
        # About four characters make a token.
        output = max(1, sum(len(json.dumps(_block(part))) for part in reply.parts) // 4)
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": output,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        "service_tier": "standard",
    }


def _block(part: Part) -> Fields:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if isinstance(part, APIThinking):
        return {"type": "thinking", "thinking": part.thinking, "signature": part.signature}
    id = part.id or new_id("toolu")
    return {"type": "tool_use", "id": id, "name": part.name, "input": part.input}


def _block_events(index: int, part: Part, chunk: int) -> Iterator[Fields]:
    empty = {"text": "", "thinking": "", "signature": "", "input": {}}
    block = _block(part)
    start = {key: empty.get(key, value) for key, value in block.items()}
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in _deltas(part, chunk):
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _deltas(part: Part, chunk: int) -> Iterator[Fields]:
    if isinstance(part, str):
        for piece in _pieces(part, chunk):
            yield {"type": "text_delta", "text": piece}
    elif isinstance(part, APIThinking):
        for piece in _pieces(part.thinking, chunk):
            yield {"type": "thinking_delta", "thinking": piece}
        yield {"type": "signature_delta", "signature": part.signature}
    else:
        for piece in _pieces(json.dumps(part.input), chunk):
            yield {"type": "input_json_delta", "partial_json": piece}


def _pieces(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]
