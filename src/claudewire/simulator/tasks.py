"""Work in the background, and the turn that follows when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..wire import BackgroundTask as Live
from ..wire import BackgroundTasksChangedMessage, TaskNotificationMessage, TaskStartedMessage
from .state import new_uuid

if TYPE_CHECKING:
    from .engine import Engine

__all__ = ["BackgroundTask", "start_task"]


class BackgroundTask:
    """Something that the agent has started and not waited for."""

    def __init__(self, engine: Engine, id: str, description: str) -> None:
        self.id = id
        self.description = description
        self._engine = engine

    def finish(self, summary: str = "done", *, status: str = "completed") -> None:
        """End it. The CLI says so, and then starts a turn of its own."""
        session = self._engine.session
        if session.tasks.pop(self.id, None) is None:
            return
        self._engine.send(
            TaskNotificationMessage(
                task_id=self.id,
                status=status,
                output_file="",
                summary=summary,
                uuid=new_uuid(),
                session_id=session.id,
            )
        )
        announce(self._engine)
        if status == "completed":
            self._engine.wake_up(None)


def start_task(
    engine: Engine, description: str, kind: str, tool_use_id: str | None
) -> BackgroundTask:
    """Start a task and say so."""
    task = BackgroundTask(engine, new_uuid()[:8], description)
    engine.session.tasks[task.id] = {"description": description, "type": kind, "task": task}
    engine.send(
        TaskStartedMessage(
            task_id=task.id,
            tool_use_id=tool_use_id,
            description=description,
            task_type=kind,
            is_backgrounded=True,
            uuid=new_uuid(),
            session_id=engine.session.id,
        )
    )
    announce(engine)
    return task


def announce(engine: Engine) -> None:
    """Say which tasks are alive."""
    live = [
        Live(task_id=id, task_type=task["type"], description=task["description"])
        for id, task in engine.session.tasks.items()
    ]
    engine.send(
        BackgroundTasksChangedMessage(tasks=live, uuid=new_uuid(), session_id=engine.session.id)
    )
