"""What a scenario can do: one method for each thing that an agent does in a turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from ..wire import (
    APIRetryMessage,
    BackgroundTask,
    BackgroundTasksChangedMessage,
    Block,
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
from .checkpoints import keep_file
from .compaction import put_boundary
from .engine import Engine, Overtaken, Refused, StreamClosed, Wait
from .hooks import HookCalls, call_hooks
from .mcp import abandon, call_tool
from .model_output import API_ERRORS, EndTurn, ModelOutput
from .permissions import Decision, decide, told_of_answers
from .session import STRUCTURED_OUTPUT, SimulatedSession, new_id, new_uuid, timestamp
from .subagents import Subagent

__all__ = ["Chat", "Scenario", "SimulatedTask", "ToolCall", "ToolOutcome", "end_task"]

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


class ToolCall(NamedTuple):
    """A tool that the model calls; the fields are the arguments of `Chat.use`."""

    name: str
    input: dict[str, Any]
    run: Run | None = None
    result: Any = "ok"
    seconds: float = 0.0


class Chat:
    """One turn, handed to a scenario.

    A prompt that comes while a tool runs is answered in the same turn: the scenario is then played
    once more, for that prompt. The same happens when a Stop hook does not let the agent stop.
    Prompts with the same priority that waited for the turn are one prompt, a line for each. One
    with the priority `now` ends the turn.

    Attributes:
        text: the user's words, or the hook's; empty in a turn without a prompt.
        session: the session: its mode, model, history, flags.
    """

    def __init__(self, engine: Engine, *prompts: UserMessage | None) -> None:
        self.engine = engine
        self.taken: list[UserMessage] = [it for it in prompts if it is not None]
        self.prompt: UserMessage | None = _joined(self.taken)
        prompt = self.prompt
        self.session: SimulatedSession = engine.session
        self.text: str = prompt.text if prompt is not None else ""
        self.model: ModelOutput = ModelOutput(engine, [it.uuid for it in self.taken if it.uuid])
        self.last_text: str = ""
        self.denials: list[PermissionDenial] = []
        self.structured: Any = None
        self.tool: ToolUseBlock | None = None
        self.tool_runs: bool = False
        self.is_overtaken: bool = False
        self.rounds: int = 1
        self.absorbed: list[UserMessage] = []
        self.api_error_status: int | None = None
        self.command: str | None = None
        self.notice: UserMessage | None = None
        self.captures: dict[str, str] = {}
        """What a pattern of a script has captured, by number and by name."""

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
        (outcome,) = await self.use_all(ToolCall(name, input, run, result, seconds))
        return outcome

    async def use_all(self, *calls: ToolCall) -> list[ToolOutcome]:
        """Use several tools that the model calls in one message. They run one after the other."""
        blocks = [ToolUseBlock(new_id("toolu"), call.name, call.input) for call in calls]
        for block in blocks:
            self._call_tool(block)
        self.model.close("tool_use")
        return [await self._use(block, call) for block, call in zip(blocks, calls, strict=True)]

    async def _use(self, block: ToolUseBlock, call: ToolCall) -> ToolOutcome:
        self.tool = block
        decision, stopped = await self._may_run(block)
        if not decision.allowed:
            return self._denied(block, decision)
        self.tool_runs, started = True, self.engine.clock()
        await self.sleep(call.seconds)
        output, is_error = await self._run(block, decision.input, call)
        took = int((self.engine.clock() - started) * 1000)
        outcome = await self._ran(block, decision, output, is_error, took)
        if stopped:
            self._stop()
        return outcome

    def _call_tool(self, block: ToolUseBlock) -> None:
        if self.model.agent is not None:
            self.model.agent.progress(block.name, block.input)
        self.model.tool_use(block)

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
        agent = self.model.agent.fields if self.model.agent is not None else {}
        decision = await decide(self.engine, name, input, block.id, agent.get("agent_id"))
        return decision, hooks.stopped

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
        self, block: ToolUseBlock, input: dict[str, Any], call: ToolCall
    ) -> tuple[Any, bool]:
        run = call.run
        keep_file(self.engine, block.name, input)
        if run is None and block.name.startswith("mcp__"):
            _, server, tool = block.name.split("__", 2)
            answer = await call_tool(self.engine, server, tool, input, block.id)
            self.model.transcript.used_server(server, tool)
            return answer.get("content", ""), bool(answer.get("isError"))
        if run is None:
            return call.result, False
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
        if decision.known:
            self.deny(block)
        self._tool_result(block, decision.message, True, decision)
        return ToolOutcome(False, decision.input, decision.message, True)

    def _tool_result(
        self, block: ToolUseBlock, output: Any, is_error: bool, decision: Decision
    ) -> None:
        """Tell the model the result of a tool; then take in queued prompts, if limits allow."""
        content = output if isinstance(output, str | list) else _as_text(output)
        if content == "" and block.name == "Bash":
            content = "(Bash completed with no output)"
        whole = _error(output) if is_error else self._whole(block, decision, output)
        kept = _kept(block, decision)
        self.tool_result(block.id, content, is_error, whole, decision.meta, kept)
        self.tool, self.tool_runs = None, False
        if block.name != STRUCTURED_OUTPUT:  # which ends the turn
            self.model.check_limits()
        self._stop_if_overtaken()
        if self.model.parent is None:
            self._absorb()

    def _whole(self, block: ToolUseBlock, decision: Decision, output: Any) -> Any:
        """The complete result of a tool, of which the model sees only a part."""
        if block.name == "Bash" and isinstance(output, str):
            streams = {"stdout": output, "stderr": ""}
            return {**streams, "interrupted": False, "isImage": False, "noOutputExpected": False}
        if block.name == "Write" and "content" in decision.input:
            return _written(decision.input)
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
        kept: dict[str, Any] | None = None,
    ) -> None:
        """Tell the model the result of a tool; `kept` is more that its transcript tells of it."""
        in_shell = self.tool is not None and self.tool.name == "Bash"
        tells = in_shell or is_error or self.engine.manner.stops
        result = ToolResultBlock(id, content, is_error if tells else None)
        metas = [{"id": id, **meta}] if meta and self.session.persona.narrates else None
        message = self._as_user(result, tool_use_result=whole, tool_result_meta=metas)
        self.model.transcript.told(message, id, **(kept or {}))

    def as_user(self, block: TextBlock, kept: dict[str, Any] | None = None, **fields: Any) -> None:
        """Send the model something as a message of the user; `kept` is more for the transcript."""
        message = self._as_user(block, **fields)
        if kept:  # the CLI's own words are kept as a string
            message = replace(message, message=MessageParam("user", block.text))
        self.model.transcript.told(message, **(kept or {}))

    def _as_user(self, block: Block, **fields: Any) -> UserMessage:
        self.rounds += 1
        agent = self.model.agent
        if agent is not None:
            fields = {**fields, "tool_use_result": None, **agent.fields}
        message = UserMessage(
            message=MessageParam("user", [block]),
            parent_tool_use_id=self.model.parent,
            timestamp=timestamp(),
            **self.session.stamp(),
            **fields,
        )
        self.emit(message)
        return message

    def _absorb(self) -> None:
        """Take in queued prompts: the model reads them together with the tool's result."""
        for message in self.engine.take_queued():
            self.session.remember("user", message.text)
            self.engine.transcript.queue("remove", message)
            self.engine.transcript.prompt(message)
            self.engine.echo(message)
            self.engine.tell_progress(message, "started")
            self.absorbed.append(message)
            self.taken.append(message)

    def overtake(self) -> None:
        """Stop for a prompt with the priority `now`: at once, or after the tool that runs."""
        self.is_overtaken = True
        if self.tool_runs:
            return
        if (asked := self.engine.turn_waits_for) is not None:
            abandon(self.engine, asked)
        self.engine.stop_turn(Overtaken())

    def _stop_if_overtaken(self) -> None:
        if self.is_overtaken:
            self._stop("aborted_tools")

    def _stop(self, reason: str = "hook_stopped") -> None:
        self.last_text = ""
        raise EndTurn("success", "", reason)

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

    async def subagent(
        self,
        kind: str,
        prompt: str,
        work: Scenario,
        *,
        description: str | None = None,
        background: bool = False,
    ) -> ToolOutcome:
        """Run a subagent: its messages carry the id of the tool use that started it.

        Args:
            kind: which subagent.
            prompt: what it is asked.
            work: what it does.
            description: what it does, in a few words; the prompt's beginning if not given.
            background: do not wait for it. A turn without a prompt follows its end.
        """
        given: dict[str, Any] = {"description": description or prompt[:30], "prompt": prompt}
        given["subagent_type"] = kind
        name = "Task"
        if self.session.persona.narrates:
            name, given["run_in_background"] = "Agent", background
        block = ToolUseBlock(new_id("toolu"), name, given)
        self._call_tool(block)
        self.model.close("tool_use")
        agent = Subagent(self.engine, block)
        await self.hook("SubagentStart", kind, agent_id=agent.run.id, agent_type=kind)
        child = Chat(self.engine, UserMessage.of(prompt))
        child.model = ModelOutput(self.engine, [], agent)
        if background:
            return self._launch(agent, block, child, work)
        agent.start()
        child.denials = self.denials
        child._as_user_prompt(prompt)
        self.tool, self.tool_runs = block, True
        await child._work_as(agent, work)
        self._hand_back(agent, block, child)
        return ToolOutcome(True, block.input, child.last_text, False)

    async def _work_as(self, agent: Subagent, work: Scenario) -> None:
        """Play what a subagent does."""
        await work(self)
        self.model.close("end_turn")
        path, kind = self.model.transcript.path, agent.run.kind
        about = {"agent_id": agent.run.id, "agent_type": kind, "agent_transcript_path": path}
        await self.hook("SubagentStop", kind, **about, stop_hook_active=False)

    def _launch(
        self, agent: Subagent, block: ToolUseBlock, child: Chat, work: Scenario
    ) -> ToolOutcome:
        """Start a subagent that works in the background."""
        self.session.tasks[agent.run.id] = agent.task
        _list_tasks(self.engine)
        agent.start()
        told, decision = agent.launched(), Decision(True, block.input)
        kept = _kept(block, decision)
        content = [{"type": "text", "text": told}]
        self.tool_result(block.id, content, False, agent.launch(), decision.meta, kept)
        task = self.engine.spawn(child._work_alone(agent, work))
        self.session.stop_work[agent.run.id] = partial(self.engine.discard, task)
        self.model.check_limits()
        return ToolOutcome(True, block.input, told, False)

    async def _work_alone(self, agent: Subagent, work: Scenario) -> None:
        """Play what a subagent does in the background, and let a turn follow its end."""
        message = MessageParam("user", agent.prompt)
        self.model.transcript.told(UserMessage(message=message, **self.session.stamp()))
        status = "completed"
        try:
            await self._work_as(agent, work)
        except Exception as error:
            self.engine.note_failure(error)
            status = "failed"
        if self.session.tasks.pop(agent.run.id, None) is None:
            return  # it was stopped
        agent.end(self.last_text, self.model.usage, status)
        _list_tasks(self.engine)
        told = agent.notification(self.last_text, self.model.usage, status)
        notice = UserMessage.of(told, origin=agent.origin)
        self.engine.transcript.queue("enqueue", notice)
        self.session.notices.append(notice)
        self.engine.wake_up(None)

    def _as_user_prompt(self, prompt: str) -> None:
        """Send the SDK and the transcript the prompt of a subagent."""
        message = self._as_user(TextBlock(prompt))
        self.model.transcript.told(replace(message, message=MessageParam("user", prompt)))

    def _hand_back(self, agent: Subagent, block: ToolUseBlock, child: Chat) -> None:
        usage, report = child.model.usage, child.last_text
        agent.end(report, usage)
        content = [{"type": "text", "text": agent.told(report, usage)}]
        decision = Decision(True, block.input)
        whole = agent.whole(report, usage) if self.session.persona.narrates else None
        kept = _kept(block, decision)
        self.tool_result(block.id, content, False, whole, decision.meta, kept)
        self.tool, self.tool_runs = None, False
        self.model.check_limits()
        self._stop_if_overtaken()

    async def compact(self, *, trigger: str = "auto", before: int = 150_000) -> None:
        """Compact the conversation."""
        await self.hook("PreCompact", trigger, trigger=trigger, custom_instructions="")
        for status in ("compacting", None):
            self.emit(StatusMessage(status=status, **self.session.stamp()))
        put_boundary(self.engine, trigger, before)

    async def retry(
        self,
        *,
        attempt: int = 1,
        status: int = 529,
        seconds: float = 0.0,
        message: str = "Overloaded",
    ) -> None:
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
        self.model.transcript.system(
            "api_error",
            level="error",
            error=_api_error(status, message),
            retryInMs=int(seconds * 1000),
            retryAttempt=attempt,
            maxRetries=10,
            source="request_retry",
        )
        await self.sleep(seconds)

    def output(self, value: Any) -> None:
        """Give the structured output that a JSON Schema has asked for, at the end of the turn."""
        self.structured = value

    async def hand_in(self) -> None:
        """Use the tool for structured output, if there is some."""
        if self.structured is not None:
            await self.use(STRUCTURED_OUTPUT, self.structured, run=self._keep_output)
            self.last_text = ""

    def _keep_output(self, given: dict[str, Any]) -> str:
        assert self.tool is not None  # it runs this
        self.model.transcript.attach("structured_output", data=given, toolUseID=self.tool.id)
        return "Structured output provided successfully"

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


def _joined(prompts: list[UserMessage]) -> UserMessage | None:
    """One prompt for several that are taken up together: a line for each, named as the last."""
    if len(prompts) < 2:
        return prompts[0] if prompts else None
    text = "\n".join(prompt.text for prompt in prompts)
    return replace(prompts[-1], message=MessageParam("user", text))


def _api_error(status: int, message: str) -> dict[str, Any]:
    """An error of the API as a transcript tells of it."""
    error = {"type": API_ERRORS.get(status, "api_error"), "message": message}
    whole = {"type": "error", "error": error, "request_id": new_id("req")}
    return {
        "message": f"{status} {msgspec.json.encode(whole).decode()}",
        "status": status,
        "formatted": f"{status} {message}",
        "connection": None,
        "isNetworkDown": False,
        "rateLimits": None,
        "noResponse": None,
    }


def _written(given: dict[str, Any]) -> dict[str, Any]:
    """What the result of Write says of a new file."""
    file = {"filePath": given.get("file_path"), "content": given["content"]}
    rest: dict[str, Any] = {"structuredPatch": [], "originalFile": None, "userModified": False}
    return {"type": "create", **file, **rest}


def _error(output: Any) -> str:
    text = _as_text(output)
    start, end = "<tool_use_error>", "</tool_use_error>"
    return text.removeprefix(start).removesuffix(end) if start in text else f"Error: {text}"


def _kept(block: ToolUseBlock, decision: Decision) -> dict[str, Any]:
    """What a transcript tells of the use of a tool, besides its result."""
    kept: dict[str, Any] = {}
    if not decision.known:
        return kept
    if not decision.allowed:
        kept["toolDenialKind"] = "permission-rule"
        if decision.source == "user_reject":
            kept["holdsPersonsWords"] = True
    elif block.name == "Bash":
        kept["sandboxed"] = False
    elif block.name.startswith("mcp__"):
        kept["mcpCallNotReadOnly"] = "no_hint"
    elif block.name == STRUCTURED_OUTPUT:
        kept["toolEndsTurn"] = True
    return {**kept, "permissionDecision": decision.kept(block.name)}


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
    if (stop := engine.session.stop_work.pop(id, None)) is not None:
        stop()
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
