"""The requests of a client of the Messages API, and what each is for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

TURN = "turn"
"""A request to continue a conversation."""
SIDE = "side"
"""A request of the CLI for its own purposes: for a title, a summary, the quota."""
COUNT = "count"
"""A request for a count of tokens."""
OTHER = "other"
"""Anything else, such as a probe of the connection."""

_FEW_TOKENS = 64
"""A turn of an agent allows more tokens; the probe for quota asks for one."""

_SECRETS = ("key", "auth", "token", "cookie", "secret")
_REMINDER = "<system-reminder>"

Fields = dict[str, Any]


class APIRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request, without its secrets."""

    method: str
    path: str
    headers: dict[str, str] = {}
    body: Any = None
    kind: str = OTHER
    """turn, side, count or other."""

    @property
    def messages(self) -> list[Fields]:
        """The conversation so far."""
        return _dicts(self._field("messages"))

    @property
    def tools(self) -> list[str]:
        """The names of the tools that the model may use."""
        return [str(tool.get("name")) for tool in _dicts(self._field("tools"))]

    @property
    def model(self) -> str:
        """The model."""
        return str(self._field("model"))

    @property
    def streamed(self) -> bool:
        """Whether the client asks for a stream of events."""
        return self._field("stream") is True

    @property
    def prompt(self) -> str:
        """The last prompt of the user, without tool results and reminders of the CLI."""
        return next(reversed(self.prompts), "")

    @property
    def prompts(self) -> list[str]:
        """The prompts of the user, from the first to the last."""
        said = ([*_texts(message)] for message in self._of_user)
        return [texts[-1] for texts in said if texts]

    @property
    def tool_results(self) -> list[Fields]:
        """The tool results in the last message of the user."""
        last = _blocks(self._of_user[-1]) if self._of_user else []
        return [block for block in last if block.get("type") == "tool_result"]

    @property
    def conversation(self) -> str:
        """An id of the client, the same for all requests of one session."""
        metadata = self._field("metadata")
        return str(metadata.get("user_id", "")) if isinstance(metadata, dict) else ""

    @property
    def _of_user(self) -> list[Fields]:
        return [message for message in self.messages if message.get("role") == "user"]

    def _field(self, name: str) -> Any:
        return self.body.get(name) if isinstance(self.body, dict) else None


def classify(method: str, path: str, body: Any) -> str:
    """Return the kind of a request."""
    route = path.partition("?")[0]
    if method != "POST" or not isinstance(body, dict):
        return OTHER
    if route == "/v1/messages/count_tokens":
        return COUNT
    if route != "/v1/messages":
        return OTHER
    few = isinstance(limit := body.get("max_tokens"), int) and limit <= _FEW_TOKENS
    return TURN if not few and (body.get("tools") or _is_conversation(body)) else SIDE


def _is_conversation(body: Fields) -> bool:
    """Return whether this is a turn without tools: side calls are one message without thinking."""
    roles = {message.get("role") for message in _dicts(body.get("messages"))}
    return roles != {"user"} or "thinking" in body or "context_management" in body


def redacted(headers: dict[str, str]) -> dict[str, str]:
    """Redact the values of secret headers."""
    return {
        name: "redacted" if any(word in name.lower() for word in _SECRETS) else value
        for name, value in headers.items()
    }


def _texts(message: Fields) -> Iterator[str]:
    """Yield the user's text in a message, without reminders, which the CLI adds."""
    for block in _blocks(message):
        text = str(block.get("text", "")).lstrip()
        if block.get("type") == "text" and text and not text.startswith(_REMINDER):
            yield block["text"]


def _blocks(message: Fields) -> list[Fields]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else _dicts(content)


def _dicts(value: Any) -> list[Fields]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
