"""What a scenario can do: one method for each thing that an agent does in a turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec

from ..wire import (
    APIRetryMessage,
    BackgroundTask,
    BackgroundTasksChangedMessage,
    Block,
    CompactBoundaryMessage,
    CompactMetadata,
    Elicitation,
    ElicitationResult,
    Event,
    MessageParam,
    PermissionDenial,
    StatusMessage,
    TaskNotificationMessage,
    TaskStartedMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from .engine import Engine, Refused, StreamClosed, Wait
from .hooks import HookCalls, call_hooks
from .mcp import call_tool
from .model_output import EndTurn, ModelOutput
from .permissions import Decision, decide, told_of_answers
from .session import STRUCTURED_OUTPUT, SimulatedSession, new_id, new_uuid, timestamp

__all__ = ["Chat", "Scenario", "SimulatedTask", "ToolOutcome", "end_task"]

Run = Callable[[dict[str, Any]], Any]

Scenario = Callable[["Chat"], Awaitable[None]]
"""What the agent does in a turn."""


class ToolOutcome(NamedTuple):
    """The outcome of a tool use.

    Attributes:
        allowed: whether the tool was allowed to run.
        input: what it was called with, as it was allowed.
        text: what the model was told: the result, the error, or why it was denied.
        is_error: whether the model was told that it failed; also if it was denied.
    """

    allowed: bool
    input: dict[str, Any]
    text: str
    is_error: bool


class Chat:
    """One turn, handed to a scenario.

    A prompt that comes while a tool runs is answered in the same turn: the scenario is then played
    once more, for that prompt. The same happens when a Stop hook does not let the agent stop.

    Attributes:
        text: the user's words, or the hook's; empty in a turn without a prompt.
        session: the session: its mode, model, history, flags.
    """

    def __init__(self, engine: Engine, prompt: UserMessage | None) -> None:
        self.engine = engine
        self.prompt = prompt
        self.session: SimulatedSession = engine.session
        self.text: str = prompt.text if prompt is not None else ""
        self.model: ModelOutput = ModelOutput(engine, prompt.uuid if prompt is not None else None)
        self.last_text: str = ""
        self.denials: list[PermissionDenial] = []
        self.structured: Any = None
        self.tool: ToolUseBlock | None = None
        self.tool_runs: bool = False
        self.rounds: int = 1
        self.absorbed: list[UserMessage] = []
        self.taken: list[UserMessage] = [] if prompt is None else [prompt]
        self.api_error_status: int | None = None

    # --- speaking --------------------------------------------------------------------------------

    async def say(self, text: str) -> None:
        """Say something. It is streamed when the SDK has asked for partial messages."""
        self.model.text(text)
        self.last_text = text
        await self.pause()

    async def think(self, text: str) -> None:
        """Think aloud."""
        self.model.thinking(text)
        await self.pause()

    async def pause(self) -> None:
        """Give way, so that what has arrived is handled first, such as an interrupt."""
        await Wait(seconds=0.0)

    async def sleep(self, seconds: float) -> None:
        """Wait, as for a slow model."""
        if seconds:
            await Wait(seconds=seconds)

    def emit(self, event: Event) -> None:
        """Send any message as it is."""
        self.engine.send(event)

    # --- tools -----------------------------------------------------------------------------------

    async def use(
        self,
        name: str,
        input: dict[str, Any],
        *,
        run: Run | None = None,
        result: Any = "ok",
        seconds: float = 0.0,
    ) -> ToolOutcome:
        """Use a tool: hooks are called, permission is asked as the mode and the rules say.

        Args:
            name: the tool.
            input: what it is called with.
            run: does the work, with the input as it was allowed; an exception is a tool error.
            result: what the tool gives, if `run` is not given.
            seconds: how long the tool takes.
        """
        block = self.tool = self._call_tool(name, input)
        decision, stopped = await self._may_run(block)
        if not decision.allowed:
            return self._denied(block, decision)
        self.tool_runs, started = True, self.engine.clock()
        await self.sleep(seconds)
        output, is_error = await self._run(name, block.id, decision.input, run, result)
        took = int((self.engine.clock() - started) * 1000)
        outcome = await self._ran(block, decision, output, is_error, took)
        if stopped:
            self._stop()
        return outcome

    def _call_tool(self, name: str, input: dict[str, Any]) -> ToolUseBlock:
        block = ToolUseBlock(new_id("toolu"), name, input)
        self.model.tool_use(block)
        self.model.close("tool_use")
        return block

    async def _may_run(self, block: ToolUseBlock) -> tuple[Decision, bool]:
        """Ask the hooks, the rules, the SDK; also whether a hook ends the turn after the tool."""
        name, input = block.name, block.input
        hooks = await self.hook(
            "PreToolUse", name, tool_name=name, tool_input=input, tool_use_id=block.id
        )
        if hooks.updated_input is not None:
            input = hooks.updated_input
        if hooks.blocked:
            message = f"PreToolUse:{name} hook error: {hooks.blocked}"
            return Decision(False, input, message, "hook", "hook"), False
        if hooks.approved:
            return Decision(True, input, source="hook", reason="hook"), hooks.stopped
        return await decide(self.engine, name, input, block.id), hooks.stopped

    async def ask(self, questions: list[dict[str, Any]]) -> ToolOutcome:
        """Ask the user. The outcome's text is what the model is told of the answers."""
        return await self.use(
            "AskUserQuestion",
            {"questions": questions},
            run=lambda given: told_of_answers(self.session.persona, given),
        )

    async def plan(self, text: str) -> ToolOutcome:
        """Propose a plan and wait for the answer."""
        words = "User has approved your plan. You can now start coding."
        return await self.use("ExitPlanMode", {"plan": text}, result=words)

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> ToolOutcome:
        """Call a tool of an in-process MCP server."""
        return await self.use(f"mcp__{server}__{tool}", arguments)

    async def _run(
        self, name: str, id: str, input: dict[str, Any], run: Run | None, result: Any
    ) -> tuple[Any, bool]:
        if run is None and name.startswith("mcp__"):
            _, server, tool = name.split("__", 2)
            answer = await call_tool(self.engine, server, tool, input, id)
            return answer.get("content", ""), bool(answer.get("isError"))
        if run is None:
            return result, False
        try:
            outcome = run(input)
            return (await outcome if isinstance(outcome, Awaitable) else outcome), False
        except Exception as error:
            if isinstance(error, AssertionError):
                self.engine.note_failure(error)  # no tool: it is a test that asserts something
            return f"Error: {error}", True

    async def _ran(
        self, block: ToolUseBlock, decision: Decision, output: Any, is_error: bool, took: int
    ) -> ToolOutcome:
        event = "PostToolUseFailure" if is_error else "PostToolUse"
        whole = self._whole(block, decision, output)
        response = {"error": str(output)} if is_error else {"tool_response": whole}
        hooks = await self.hook(
            event,
            block.name,
            tool_name=block.name,
            tool_input=decision.input,
            tool_use_id=block.id,
            duration_ms=took,
            **response,
        )
        self._tool_result(block, output, is_error, decision)
        if hooks.stopped:
            self._stop()
        text = f"{_as_text(output)}\n{hooks.context}".rstrip("\n")
        return ToolOutcome(True, decision.input, text, is_error)

    def _denied(self, block: ToolUseBlock, decision: Decision) -> ToolOutcome:
        self.deny(block)
        self._tool_result(block, decision.message, True, decision)
        return ToolOutcome(False, decision.input, decision.message, True)

    def _tool_result(
        self, block: ToolUseBlock, output: Any, is_error: bool, decision: Decision
    ) -> None:
        """Tell the model the result of a tool; then take in queued prompts, if limits allow."""
        content = output if isinstance(output, str | list) else _as_text(output)
        whole = f"Error: {_as_text(output)}" if is_error else self._whole(block, decision, output)
        self.tool_result(block.id, content, is_error, whole, decision.meta)
        self.tool, self.tool_runs = None, False
        self.model.check_limits()
        if self.model.parent is None:
            self._absorb()

    def _whole(self, block: ToolUseBlock, decision: Decision, output: Any) -> Any:
        """The complete result of a tool, of which the model sees only a part."""
        if block.name == "Bash" and isinstance(output, str):
            streams = {"stdout": output, "stderr": ""}
            return {**streams, "interrupted": False, "isImage": False, "noOutputExpected": False}
        if block.name == "AskUserQuestion":
            return {key: decision.input.get(key) for key in ("questions", "answers")}
        return output

    def deny(self, block: ToolUseBlock) -> None:
        """Remember for the result that the tool was not allowed."""
        self.denials.append(PermissionDenial(block.name, block.id, block.input))

    def tool_result(
        self,
        id: str,
        content: Any,
        is_error: bool,
        whole: Any = None,
        meta: dict[str, Any] | None = None,
    ) -> None:
        """Tell the model the result of a tool."""
        in_shell = self.tool is not None and self.tool.name == "Bash"
        tells = in_shell or is_error or self.engine.manner.stops
        result = ToolResultBlock(id, content, is_error if tells else None)
        metas = [{"id": id, **meta}] if meta and self.session.persona.narrates else None
        self.as_user(result, tool_use_result=whole, tool_result_meta=metas)

    def as_user(self, block: Block, **fields: Any) -> None:
        """Send the model something as a message of the user."""
        self.rounds += 1
        self.emit(
            UserMessage(
                message=MessageParam("user", [block]),
                parent_tool_use_id=self.model.parent,
                timestamp=timestamp(),
                **self.session.stamp(),
                **fields,
            )
        )

    def _absorb(self) -> None:
        """Take in queued prompts: the model reads them together with the tool's result."""
        for message in self.engine.take_queued():
            self.session.remember("user", message.text)
            self.engine.echo(message)
            self.engine.tell_progress(message, "started")
            self.absorbed.append(message)
            self.taken.append(message)

    def _stop(self) -> None:
        self.last_text = ""
        raise EndTurn("success", "", "hook_stopped")

    # --- what else happens in a turn -------------------------------------------------------------

    async def hook(self, event: str, subject: str = "", **fields: Any) -> HookCalls:
        """Call the hooks that the SDK has registered for an event."""
        return await call_hooks(self.engine, event, subject, **fields)

    async def elicit(self, server: str, message: str, schema: dict[str, Any]) -> ElicitationResult:
        """Ask the user for something on behalf of an MCP server."""
        try:
            answer = await self.engine.ask(
                Elicitation(server, message, mode="form", requested_schema=schema)
            )
        except (Refused, StreamClosed):
            answer = None
        return answer if isinstance(answer, ElicitationResult) else ElicitationResult("cancel")

    def start_task(self, description: str, *, kind: str = "local_bash") -> SimulatedTask:
        """Start work in the background. When it ends, a turn without a prompt follows."""
        tool_use_id = self.tool.id if self.tool is not None else None
        return SimulatedTask(self.engine, description, kind, tool_use_id)

    async def subagent(self, kind: str, prompt: str, work: Scenario) -> ToolOutcome:
        """Run a subagent: its messages carry the id of the tool use that started it."""
        given = {"description": prompt[:30], "prompt": prompt, "subagent_type": kind}
        block = self._call_tool("Task", given)
        agent_id = new_uuid()[:8]
        await self.hook("SubagentStart", kind, agent_id=agent_id, agent_type=kind)
        child = Chat(self.engine, UserMessage.of(prompt))
        child.model = ModelOutput(self.engine, None, parent=block.id)
        child.denials = self.denials
        self.tool, self.tool_runs = block, True
        await work(child)
        child.model.close("end_turn")
        await self.hook(
            "SubagentStop",
            kind,
            stop_hook_active=False,
            agent_id=agent_id,
            agent_type=kind,
            agent_transcript_path=f"{self.session.cwd}/agent-{agent_id}.jsonl",
        )
        self.tool_result(block.id, [TextBlock(child.last_text)], False)
        self.tool, self.tool_runs = None, False
        self.model.check_limits()
        return ToolOutcome(True, block.input, child.last_text, False)

    async def compact(self, *, trigger: str = "auto", before: int = 150_000) -> None:
        """Compact the conversation."""
        await self.hook("PreCompact", trigger, trigger=trigger, custom_instructions="")
        for status in ("compacting", None):
            self.emit(StatusMessage(status=status, **self.session.stamp()))
        metadata = CompactMetadata(trigger=trigger, pre_tokens=before)
        stamp = self.session.stamp()
        self.emit(CompactBoundaryMessage(compact_metadata=metadata, **stamp))

    async def retry(self, *, attempt: int = 1, status: int = 529, seconds: float = 0.0) -> None:
        """Report that the API failed and will be tried again."""
        self.emit(
            APIRetryMessage(
                attempt=attempt,
                max_retries=10,
                retry_delay_ms=int(seconds * 1000),
                error_status=status,
                error="overloaded" if status == 529 else "rate_limit",
                **self.session.stamp(),
            )
        )
        await self.sleep(seconds)

    def output(self, value: Any) -> None:
        """Give the structured output that a JSON Schema has asked for, at the end of the turn."""
        self.structured = value

    async def hand_in(self) -> None:
        """Use the tool for structured output, if there is some."""
        if self.structured is not None:
            words = "Structured output provided successfully"
            await self.use(STRUCTURED_OUTPUT, self.structured, result=words)
            self.last_text = ""

    # --- ways to end a turn ----------------------------------------------------------------------

    def reach_max_turns(self) -> None:
        """End the turn, as after too many model calls."""
        raise EndTurn("error_max_turns", "Reached maximum number of turns", "max_turns")

    def exhaust_budget(self) -> None:
        """End the turn, as when the budget is spent."""
        raise EndTurn("error_max_budget_usd", "Reached maximum budget", "budget_exhausted")

    async def fail(self, text: str, *, status: int = 400) -> None:
        """End the turn with an error of the API: subtype `success` with `is_error`."""
        self.api_error_status = status
        self.model.close("end_turn")
        self.last_text = f"API Error: {status} {text}"
        self.model.fail(self.last_text, status)
        raise EndTurn("success", self.last_text, "api_error")


def _as_text(output: Any) -> str:
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        texts = [item.get("text", "") for item in output if isinstance(item, dict)]
        return "\n".join(text for text in texts if text)
    return msgspec.json.encode(output).decode()


# --- work in the background ----------------------------------------------------------------------


class SimulatedTask:
    """Work in the background, which the agent has started and does not wait for."""

    def __init__(
        self, engine: Engine, description: str, kind: str, tool_use_id: str | None
    ) -> None:
        self.id: str = new_uuid()[:8]
        self.description = description
        self._engine = engine
        live = BackgroundTask(task_id=self.id, task_type=kind, description=description)
        engine.session.tasks[self.id] = live
        engine.send(
            TaskStartedMessage(
                task_id=self.id,
                tool_use_id=tool_use_id,
                description=description,
                task_type=kind,
                is_backgrounded=True,
                **engine.session.stamp(),
            )
        )
        _list_tasks(engine)

    def finish(self, summary: str = "done", *, status: str = "completed") -> None:
        """End the task. The CLI announces that, and then starts a turn without a prompt."""
        if self.id in self._engine.session.tasks:
            end_task(self._engine, self.id, summary, status)
            if status == "completed":
                self._engine.wake_up(None)


def end_task(engine: Engine, id: str, summary: str, status: str) -> None:
    """Announce that a task has ended."""
    del engine.session.tasks[id]
    engine.send(
        TaskNotificationMessage(
            task_id=id,
            status=status,
            output_file="",
            summary=summary,
            **engine.session.stamp(),
        )
    )
    _list_tasks(engine)


def _list_tasks(engine: Engine) -> None:
    live = list(engine.session.tasks.values())
    engine.send(BackgroundTasksChangedMessage(tasks=live, **engine.session.stamp()))
