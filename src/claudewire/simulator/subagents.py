"""Work that an agent starts: subagents, and tasks in the background."""

from __future__ import annotations

import os
import time
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from .. import wire
from .engine import Engine
from .session import new_uuid

HAND_BACK = (
    "[Subagent hand-back] The text below is the final report of a subagent this session delegated "
    "to. It is model output, NOT a message from the user. The report follows:"
)
LAUNCHED = (
    "Async agent launched successfully.\nagentId: {id}\nThe agent is working in the background. "
    "You will be notified automatically when it completes.\noutput_file: {file}"
)
NOTIFICATION = """<task-notification>
<task-id>{agent.id}</task-id>
<tool-use-id>{agent.tool_use_id}</tool-use-id>
<output-file>{file}</output-file>
<status>{status}</status>
<summary>Agent "{agent.description}" finished</summary>
<result>{report}</result>
</task-notification>"""
"""The model's words above a report, about a subagent in the background, and after its end."""


class Subagent:
    """One run of a subagent, which a tool use starts."""

    def __init__(self, engine: Engine, block: wire.ToolUseBlock) -> None:
        given = block.input
        self.id: str = f"a{os.urandom(8).hex()}"
        self.kind: str = given["subagent_type"]
        self.description: str = given["description"]
        self.tool_use_id: str = block.id
        self.in_background: bool = bool(given.get("run_in_background"))
        self.prompt: str = given["prompt"]
        self._tools: list[str] = []
        self._run_id = new_uuid()[:18]
        self._engine = engine
        self._started = engine.clock()
        folder = f"/tmp/claudewire-sim/{engine.session.id}/tasks"
        self._file = f"{folder}/{self.id}.output" if self.in_background else ""

    @property
    def task(self) -> wire.BackgroundTask:
        """The subagent as a task in the background."""
        return wire.BackgroundTask(
            task_id=self.id,
            run_id=self._run_id,
            task_type="local_agent",
            subagent_type=self.kind,
            description=self.description,
        )

    @property
    def origin(self) -> wire.TaskNotificationOrigin:
        """The origin of the turn that follows its end."""
        return wire.TaskNotificationOrigin(run_id=self._run_id)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of its messages, since versions that report its progress."""
        if not self._engine.session.persona.narrates:
            return {}
        about = {"subagent_type": self.kind, "task_description": self.description}
        return {"agent_id": self.id, **about}

    def has_tool(self, name: str) -> bool:
        """Whether its type has a tool."""
        tools = self._engine.session.agent_tools.get(self.kind)
        if tools is None:
            return True
        names = [it.partition("(")[0] for it in tools]
        return any(fnmatchcase(name, it) or name.startswith(f"{it}__") for it in names)

    def start(self) -> None:
        """Announce its start."""
        self._tell(
            wire.TaskStartedMessage,
            tool_use_id=self.tool_use_id,
            description=self.description,
            subagent_type=self.kind,
            is_backgrounded=self.in_background,
            spawn_depth=1,
            task_type="local_agent",
            prompt=self.prompt,
        )

    def progress(self, tool: str, input: dict[str, Any]) -> None:
        """Announce that it uses a tool."""
        self._tools.append(tool)
        subject = input.get("description") or input.get("file_path") or tool
        self._tell(
            wire.TaskProgressMessage,
            tool_use_id=self.tool_use_id,
            description=f"Running {subject}",
            subagent_type=self.kind,
            usage=wire.TaskUsage(0, len(self._tools), self._took),
            last_tool_name=tool,
        )

    def end(self, report: str, usage: wire.Usage, status: str = "completed") -> None:
        """Announce its end."""
        patch = wire.TaskPatch(status=status, end_time=int(time.time() * 1000))
        self._tell(wire.TaskUpdatedMessage, patch=patch)
        self._tell(
            wire.TaskNotificationMessage,
            tool_use_id=self.tool_use_id,
            status=status,
            output_file=self._file,
            summary=report,
            usage=wire.TaskUsage(_tokens(usage), len(self._tools), self._took),
        )

    def _tell(self, kind: Any, **fields: Any) -> None:
        if self._engine.session.persona.narrates:
            self._engine.tell(kind, task_id=self.id, run_id=self._run_id, **fields)

    @property
    def _took(self) -> int:
        return int((self._engine.clock() - self._started) * 1000)

    # --- the result of the tool ------------------------------------------------------------------

    def launched(self) -> tuple[str, dict[str, Any]]:
        """Return the result for work in the background: the model's part, and all of it."""
        about = {"isAsync": True, "status": "async_launched", "agentId": self.id}
        return LAUNCHED.format(id=self.id, file=self._file), about

    def notification(self, report: str, status: str) -> str:
        """Return the prompt for the model after its end."""
        return NOTIFICATION.format(agent=self, file=self._file, status=status, report=report)

    def reported(self, report: str, usage: wire.Usage) -> tuple[str, dict[str, Any] | None]:
        """Return the result of the tool: the model's part, and all of it."""
        if not self._engine.session.persona.narrates:
            return report, None
        used = ", ".join(dict.fromkeys(self._tools))
        note = f"<tools-used-before-summary>{used}</tools-used-before-summary>\n" if used else ""
        head = f"  {note}  \n" if note else ""
        body = "\n".join(f"  {line}" for line in report.split("\n"))
        text = (
            f"{head}{HAND_BACK}\n{body}\n"
            f"agentId: {self.id} (use SendMessage with to: '{self.id}', summary: "
            "'<5-10 word recap>' to continue this agent)\n<usage>"
            f"subagent_tokens: {_tokens(usage)}\ntool_uses: {len(self._tools)}\n"
            f"duration_ms: {self._took}</usage>"
        )
        return text, {
            "status": "completed",
            "prompt": self.prompt,
            "agentId": self.id,
            "agentType": self.kind,
            "content": [{"type": "text", "text": it} for it in (note, report) if it],
            "totalDurationMs": self._took,
            "totalTokens": _tokens(usage),
            "totalToolUseCount": len(self._tools),
            "usage": msgspec.to_builtins(usage),
        }


def _tokens(usage: wire.Usage) -> int:
    return (usage.input_tokens or 0) + (usage.output_tokens or 0)


# --- tasks ----------------------------------------------------------------------------------------


class SimulatedTask:
    """Work in the background, which the agent started and does not wait for."""

    def __init__(self, engine: Engine, description: str, tool_use_id: str | None) -> None:
        self.id: str = new_uuid()[:8]
        self.description = description
        self._engine = engine
        about: dict[str, Any] = {"task_id": self.id, "task_type": "local_bash"}
        about["description"] = description
        engine.session.tasks[self.id] = wire.BackgroundTask(**about)
        about |= {"tool_use_id": tool_use_id, "is_backgrounded": True}
        engine.tell(wire.TaskStartedMessage, **about)
        list_tasks(engine)

    def finish(self, summary: str = "done", *, status: str = "completed") -> None:
        """End the task. The CLI announces that, and starts a turn without a prompt."""
        if self.id in self._engine.session.tasks:
            end_task(self._engine, self.id, summary, status)
            if status == "completed":
                self._engine.wake_up(None)


def end_task(engine: Engine, id: str, summary: str, status: str) -> None:
    """End a task, and announce that."""
    session = engine.session
    del session.tasks[id]
    if (stop := session.stop_work.pop(id, None)) is not None:
        stop()
    about = {"task_id": id, "status": status, "summary": summary}
    engine.tell(wire.TaskNotificationMessage, **about, output_file="")
    list_tasks(engine)


def list_tasks(engine: Engine) -> None:
    """Announce which tasks run."""
    engine.tell(wire.BackgroundTasksChangedMessage, tasks=list(engine.session.tasks.values()))
