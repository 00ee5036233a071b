"""What the application tells the model without asking for an answer.

A CLI that would answer it gets it in front of the next prompt. What was told is kept until the CLI
has answered something after it: if another CLI is started before, that one is told.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ..wire import MessageParam, TextBlock, UserMessage

__all__ = ["Notes"]

Content = str | list[Any]


class Notes:
    """What was told, in its order."""

    def __init__(self) -> None:
        self._waiting: list[Content] = []
        self._unconfirmed: list[Content] = []

    def __len__(self) -> int:
        """How much of it no CLI was given yet."""
        return len(self._waiting)

    def hold(self, content: Content) -> None:
        """Keep something for the next prompt."""
        self._waiting.append(content)

    def sent(self, content: Content) -> None:
        """Note that the CLI was given something."""
        self._unconfirmed.append(content)

    def put_before(self, prompt: UserMessage) -> UserMessage:
        """Return the prompt with what waits in front of it. Commands stay as they are."""
        if not self._waiting or prompt.text.startswith("/"):
            return prompt
        blocks = [block for each in (*self._waiting, prompt.content) for block in _blocks(each)]
        self._unconfirmed += self._waiting
        self._waiting = []
        return replace(prompt, message=MessageParam("user", blocks))

    def confirm(self) -> None:
        """Note that the CLI has answered a prompt, and so knows what was told before it."""
        self._unconfirmed = []

    def take_back(self) -> None:
        """Keep for the next prompt what the CLI may not have read: another one follows."""
        self._waiting = [*self._unconfirmed, *self._waiting]
        self._unconfirmed = []


def _blocks(content: Any) -> list[Any]:
    return [TextBlock(content)] if isinstance(content, str) else list(content)
