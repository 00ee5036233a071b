"""Factories of messages of a CLI."""

from __future__ import annotations

from itertools import count
from typing import Any

from claudewire.wire import (
    APIMessage,
    AssistantMessage,
    CommandLifecycleMessage,
    ContentBlockDelta,
    ContentBlockStart,
    InitMessage,
    KeepAlive,
    Message,
    MessageParam,
    ResultMessage,
    SessionStateChangedMessage,
    StatusMessage,
    StreamEvent,
    TaskNotificationMessage,
    TaskNotificationOrigin,
    TaskStartedMessage,
    TextBlock,
    TextDelta,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

_numbers = count()


def unique() -> str:
    """Return a unique name."""
    return f"line-{next(_numbers)}"


def prompt(text: str = "hello", **fields: Any) -> UserMessage:
    return UserMessage.of(text, **{"uuid": unique(), **fields})


def text(words: str = "hi", **fields: Any) -> AssistantMessage:
    message = APIMessage(
        id=unique(), model="m", role="assistant", content=[TextBlock(words)], usage=None
    )
    return AssistantMessage(message=message, uuid=unique(), **fields)


def tool_use(id: str = "toolu_1", **fields: Any) -> AssistantMessage:
    block = ToolUseBlock(id, "Bash", {"command": "ls"})
    message = APIMessage(id=unique(), model="m", role="assistant", content=[block], usage=None)
    return AssistantMessage(message=message, uuid=unique(), **fields)


def tool_result(id: str = "toolu_1", **fields: Any) -> UserMessage:
    return UserMessage(
        message=MessageParam("user", [ToolResultBlock(id, "done")]), uuid=unique(), **fields
    )


def block_start(**fields: Any) -> StreamEvent:
    return StreamEvent(event=ContentBlockStart(0, TextBlock("")), uuid=unique(), **fields)


def delta(words: str = "h", **fields: Any) -> StreamEvent:
    return StreamEvent(event=ContentBlockDelta(0, TextDelta(words)), uuid=unique(), **fields)


def result(words: str | None = "done", **fields: Any) -> ResultMessage:
    return ResultMessage(**{"subtype": "success", "uuid": unique(), "result": words, **fields})


def wake_up_result(**fields: Any) -> ResultMessage:
    """Return the end of an unsolicited turn."""
    return result(origin=TaskNotificationOrigin(), **fields)


def lifecycle(uuid: str | None, state: str) -> CommandLifecycleMessage:
    return CommandLifecycleMessage(command_uuid=uuid, state=state, uuid=unique())


def init(**fields: Any) -> InitMessage:
    return InitMessage(uuid=unique(), **fields)


def status(word: str | None = "compacting") -> StatusMessage:
    return StatusMessage(status=word, uuid=unique())


def state(word: str) -> SessionStateChangedMessage:
    return SessionStateChangedMessage(state=word, uuid=unique())


def keep_alive() -> Message:
    return KeepAlive(uuid=unique())


def task_started(id: str) -> TaskStartedMessage:
    return TaskStartedMessage(task_id=id, description="build", uuid=unique())


def task_ended(id: str) -> TaskNotificationMessage:
    return TaskNotificationMessage(
        task_id=id, status="completed", output_file="", summary="", uuid=unique()
    )
