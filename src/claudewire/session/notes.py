"""What the application tells the model without asking for an answer.

A CLI that would answer it gets it in front of the next prompt. So does every CLI with what begins
like a command: it would be carried out (measured with 2.1.250 and 2.1.325, where `/clear` forgets
the conversation). What was told is kept until the CLI has answered something after it: if another
CLI is started before, or this one drops it, it is in front of the next prompt, too.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from msgspec.structs import replace

from ..wire import MessageParam, TextBlock, UserMessage

__all__ = ["Notes", "is_command"]

Content = str | list[Any]


class Notes:
    """What was told, in its order."""

    def __init__(self) -> None:
        self._waiting: list[Content] = []
        self._unconfirmed: list[tuple[str | None, Content]] = []
        """What the CLI was given: with its id, or in front of a prompt."""

    def __len__(self) -> int:
        """How much of it no CLI was given yet."""
        return len(self._waiting)

    def hold(self, content: Content) -> None:
        """Keep something for the next prompt."""
        self._waiting.append(content)

    def sent(self, content: Content, uuid: str) -> None:
        """Note that the CLI was given something, with an id."""
        self._unconfirmed.append((uuid, content))

    def put_before(self, prompt: UserMessage) -> UserMessage:
        """Return the prompt with what waits in front of it. Commands stay as they are."""
        if not self._waiting or prompt.text.startswith("/"):
            return prompt
        blocks = [block for each in (*self._waiting, prompt.content) for block in _blocks(each)]
        self._unconfirmed += [(None, each) for each in self._waiting]
        self._waiting = []
        return replace(prompt, message=MessageParam("user", blocks))

    def confirm(self, queued: Container[str | None] = ()) -> None:
        """Note that the CLI has answered a prompt, and so knows what was told before it.

        Args:
            queued: what the CLI has not come to yet.
        """
        self._unconfirmed = [it for it in self._unconfirmed if it[0] in queued]

    def dropped(self, uuid: str | None) -> None:
        """Keep for the next prompt what the CLI has dropped from its queue, if it was told."""
        for told in [it for it in self._unconfirmed if uuid is not None and it[0] == uuid]:
            self._unconfirmed.remove(told)
            self._waiting.append(told[1])

    def take_back(self) -> None:
        """Keep for the next prompt what the CLI may not have read: another one follows."""
        self._waiting = [*(content for _, content in self._unconfirmed), *self._waiting]
        self._unconfirmed = []


def is_command(content: Content) -> bool:
    """Whether a CLI would take it for a command."""
    texts = [block.text for block in _blocks(content) if isinstance(block, TextBlock)]
    return any(text.lstrip().startswith("/") for text in texts)


def _blocks(content: Any) -> list[Any]:
    return [TextBlock(content)] if isinstance(content, str) else list(content)
