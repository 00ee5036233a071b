"""Additions to the conversation that ask for no answer: `Session.add_context`.

A CLI that would answer them gets them in front of the next prompt. So does every CLI with text that
begins like a command, which it would run (measured with 2.1.250 and 2.1.325, where `/clear` forgets
the conversation). An addition is kept until the CLI has answered a later prompt: if the CLI is
restarted before, or drops the addition, the next prompt carries it.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from msgspec.structs import replace

from ..wire import MessageParam, TextBlock, UserMessage

Content = str | list[Any]


class PendingContext:
    """The additions that the CLI may not have read yet, in their order."""

    def __init__(self) -> None:
        self.waiting: list[Content] = []
        """For the next prompt."""
        self._unconfirmed: list[tuple[str | None, Content]] = []
        """Sent, by itself with an id or in front of a prompt."""

    def hold(self, content: Content) -> None:
        """Keep an addition for the next prompt."""
        self.waiting.append(content)

    def sent(self, content: Content, uuid: str) -> None:
        """Note that an addition was sent with an id."""
        self._unconfirmed.append((uuid, content))

    def put_before(self, prompt: UserMessage) -> UserMessage:
        """Return the prompt with the waiting additions in front. Commands stay as they are."""
        if prompt.text.startswith("/"):
            return prompt
        blocks = [block for each in (*self.waiting, prompt.content) for block in _blocks(each)]
        self._unconfirmed += [(None, each) for each in self.waiting]
        self.waiting = []
        return replace(prompt, message=MessageParam("user", blocks))

    def confirm(self, queued: Container[str | None] = ()) -> None:
        """Note that the CLI has answered a prompt, and so knows the additions before it.

        Args:
            queued: the ids that the CLI has not come to yet.
        """
        self._unconfirmed = [it for it in self._unconfirmed if it[0] in queued]

    def dropped(self, uuid: str | None) -> None:
        """Keep an addition for the next prompt if the CLI has dropped it from its queue."""
        for it in [it for it in self._unconfirmed if uuid is not None and it[0] == uuid]:
            self._unconfirmed.remove(it)
            self.waiting.append(it[1])

    def take_back(self) -> None:
        """Keep for the next prompt whatever the CLI may not have read: another one follows."""
        self.waiting = [*(content for _, content in self._unconfirmed), *self.waiting]
        self._unconfirmed = []


def is_command(content: Content) -> bool:
    """Whether a CLI would run it as a command."""
    texts = [block.text for block in _blocks(content) if isinstance(block, TextBlock)]
    return any(text.lstrip().startswith("/") for text in texts)


def _blocks(content: Any) -> list[Any]:
    return [TextBlock(content)] if isinstance(content, str) else list(content)
