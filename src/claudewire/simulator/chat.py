"""The scripting API: one method for each thing that an agent does in a turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from .. import wire
from .checkpoints import keep_file
from .engine import Engine, Overtaken, Refused, StreamClosed
from .hooks import HookCalls, call_hooks
from .introduction import announce
from .mcp import abandon, call_tool
from .model_output import PROMPT, EndTurn, ModelOutput, api_error
from .permissions import Decision, decide, set_mode, told_of_answers
from .scheduler import Wait
from .session import STRUCTURED_OUTPUT, SimulatedSession, new_id, new_uuid, timestamp
from .subagents import SimulatedTask, Subagent, list_tasks

Fields = dict[str, Any]
Run = Callable[[Fields], Any]

Scenario = Callable[["Chat"], Awaitable[None]]
"""Plays the agent in one turn."""


class ToolOutcome(NamedTuple):
    """The outcome of a tool use.

    Attributes:
        allowed: whether the tool was allowed to run.
        input: its input as it was allowed.
        text: the words for the model: the result, the error, or why it was denied.
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


class _Output(NamedTuple):
    """The output of a tool: the model's part, all of it if that is more, a subagent's report."""

    content: Any
    is_error: bool = False
    whole: Any = None
    report: str = ""


class Chat:
    """One turn, passed to a scenario.

    A prompt that comes while a tool runs is answered in the same turn: the scenario is played once
    more, for that prompt. The same happens when a Stop hook does not let the agent stop. Prompts
    with the same priority that waited for the turn are one prompt, a line for each. One with the
    priority `now` ends the turn.

    Attributes:
        text: the user's words, or the hook's; empty in a turn without a prompt.
        session: the session: its mode, model, history, flags.
        captures: the groups that the pattern of a script captured, by number and by name.
    """

    def __init__(self, engine: Engine, *prompts: wire.UserMessage | None) -> None:
        self.engine = engine
        self.taken: list[wire.UserMessage] = [it for it in prompts if it is not None]
        self.prompt: wire.UserMessage | None = _joined(self.taken)
        self.session: SimulatedSession = engine.session
        self.text: str = self.prompt.text if self.prompt is not None else ""
        self.model: ModelOutput = ModelOutput(engine, [it.uuid for it in self.taken if it.uuid])
        self.last_text: str = ""
        self.denials: list[wire.PermissionDenial] = []
        self.structured: Any = None
        self.tool: wire.ToolUseBlock | None = None
        self.tool_runs: bool = False
        self.is_overtaken: bool = False
        self.rounds: int = 1
        self.absorbed: list[wire.UserMessage] = []
        self.api_error_status: int | None = None
        self.command: str | None = None
        self.notice: wire.UserMessage | None = None
        self.captures: dict[str, str] = {}

    # --- speaking --------------------------------------------------------------------------------

    async def say(self, text: str) -> None:
        """Say something. It is streamed if the SDK asked for partial messages."""
        self.model.text(text)
        self.last_text = text
        await self.pause()

    async def think(self, text: str) -> None:
        """Think aloud."""
        self.model.thinking(text)
        await self.pause()

    async def pause(self) -> None:
        """Give way to pending input, such as an interrupt."""
        await Wait(seconds=0.0)

    async def sleep(self, seconds: float) -> None:
        """Wait, as for a slow model."""
        if seconds:
            await Wait(seconds=seconds)

    def emit(self, event: wire.Event) -> None:
        """Send any message unchanged."""
        self.engine.send(event)

    def announce(self, uuid: str | None = None) -> None:
        """Send the messages that begin a turn; `uuid` is that of the prompt."""
        engine, session, prompt = self.engine, self.session, self.prompt
        if prompt is not None and prompt.raw.get("type") == engine.behavior.first_prompt:
            engine.send(wire.SessionCreatedMessage(session_id=session.id))
        if engine.behavior.describes == "turn" or not session.announced:
            announce(engine, self.taken)
        session.turns += 1
        if prompt is not None:
            engine.echo(prompt, uuid)

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
        """Use a tool: call its hooks, and ask for permission as the mode and the rules require.

        Args:
            name: the tool.
            input: its input.
            run: does the work with the input as it was allowed; an exception is a tool error.
            result: the result if there is no `run`.
            seconds: how long the tool takes.
        """
        (outcome,) = await self.use_all(ToolCall(name, input, run, result, seconds))
        return outcome

    async def use_all(self, *calls: ToolCall) -> list[ToolOutcome]:
        """Use several tools that the model calls in one message. They run one after the other."""
        blocks = self._call_tools(*((call.name, call.input) for call in calls))
        return [
            await self._use(block, partial(self._run, call), call.seconds)
            for block, call in zip(blocks, calls, strict=True)
        ]

    async def ask(self, questions: list[dict[str, Any]]) -> ToolOutcome:
        """Ask the user. The outcome's text is what the model reads of the answers."""
        return await self.use("AskUserQuestion", {"questions": questions}, run=told_of_answers)

    async def plan(self, text: str) -> ToolOutcome:
        """Propose a plan and wait for the answer. An approved plan ends the mode `plan`."""
        words = "User has approved your plan. You can now start coding."
        return await self.use("ExitPlanMode", {"plan": text}, result=words)

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> ToolOutcome:
        """Call a tool of an MCP server."""
        return await self.use(f"mcp__{server}__{tool}", arguments)

    def _call_tools(self, *calls: tuple[str, dict[str, Any]]) -> list[wire.ToolUseBlock]:
        blocks = [wire.ToolUseBlock(new_id("toolu"), name, input) for name, input in calls]
        for block in blocks:
            self.model.tool_use(block)
        self.model.close("tool_use")
        return blocks

    async def _use(
        self,
        block: wire.ToolUseBlock,
        run: Callable[[wire.ToolUseBlock, Fields], Awaitable[_Output]],
        seconds: float = 0.0,
    ) -> ToolOutcome:
        """Walk one tool use from its hooks and its permission to its result."""
        self.tool = block
        decision, stopped = await self._may_run(block)
        if not decision.allowed:
            if decision.known:
                self.deny(block)
            self._end_tool(block, _Output(decision.message, True), decision)
            return ToolOutcome(False, decision.input, decision.message, True)
        if block.name == "ExitPlanMode" and self.session.mode == "plan":
            set_mode(self.engine, "default")
        self.tool_runs, started = True, self.engine.clock()
        await self.sleep(seconds)
        output = await run(block, decision.input)
        took = int((self.engine.clock() - started) * 1000)
        context = await self._tell_hooks(block, decision, output, took)
        if stopped:
            self._stop()
        text = output.report or f"{_as_text(output.content)}\n{context}".rstrip("\n")
        return ToolOutcome(True, decision.input, text, output.is_error)

    async def _may_run(self, block: wire.ToolUseBlock) -> tuple[Decision, bool]:
        """Ask the hooks, the rules, the SDK; also return whether a hook ends the turn."""
        name, input = block.name, block.input
        agent = self.model.agent
        if agent is not None and not agent.has_tool(name):
            message = f"<tool_use_error>Error: No such tool available: {name}</tool_use_error>"
            return Decision(False, input, message, known=False), False
        about = {"tool_name": name, "tool_input": input, "tool_use_id": block.id}
        hooks = await self.hook("PreToolUse", name, **about)
        if hooks.updated_input is not None:
            input = hooks.updated_input
        if hooks.blocked:
            message = f"PreToolUse:{name} hook error: {hooks.blocked}"
            return Decision(False, input, message), False
        if hooks.permission == "allow":
            return Decision(True, input), hooks.stopped
        agent_id = agent.fields.get("agent_id") if agent is not None else None
        must_ask = hooks.permission == "ask"
        decision = await decide(
            self.engine, name, input, block.id, agent_id=agent_id, must_ask=must_ask
        )
        return decision, hooks.stopped

    async def _run(self, call: ToolCall, block: wire.ToolUseBlock, input: Fields) -> _Output:
        keep_file(self.engine, block.name, input)
        if call.run is None and block.name.startswith("mcp__"):
            answer = await call_tool(self.engine, block.name, input, block.id)
            return _Output(answer.get("content", ""), bool(answer.get("isError")))
        try:
            result = call.result if call.run is None else call.run(input)
            return _Output(await result if isinstance(result, Awaitable) else result)
        except Exception as error:
            if isinstance(error, AssertionError):
                self.engine.note_failure(error)  # an assertion of the test, not of the tool
            return _Output(f"Error: {error}", True)

    async def _tell_hooks(
        self, block: wire.ToolUseBlock, decision: Decision, output: _Output, took: int
    ) -> str:
        """Call the hooks after a tool, report its result, and return the words of the hooks."""
        event, response = "PostToolUse", {"tool_response": _whole(block, decision, output)}
        if output.is_error:
            event, response = "PostToolUseFailure", {"error": str(output.content)}
        hooks = await self.hook(
            event,
            block.name,
            tool_name=block.name,
            tool_input=decision.input,
            tool_use_id=block.id,
            duration_ms=took,
            **response,
        )
        self._end_tool(block, output, decision)
        if hooks.stopped:
            self._stop()
        return hooks.context

    def _end_tool(self, block: wire.ToolUseBlock, output: _Output, decision: Decision) -> None:
        """Tell the model the result of a tool; then take in queued prompts, if limits allow."""
        content = output.content
        if not isinstance(content, str | list):
            content = _as_text(content)
        if content == "" and block.name == "Bash":
            content = "(Bash completed with no output)"
        whole = _whole(block, decision, output)
        self.tool_result(block.id, content, output.is_error, whole)
        self.tool, self.tool_runs = None, False
        if block.name != STRUCTURED_OUTPUT:  # which ends the turn
            self.model.check_limits()
        if self.is_overtaken:
            self._stop("aborted_tools")
        if self.model.parent is None:
            self._absorb()

    def deny(self, block: wire.ToolUseBlock) -> None:
        """Remember for the result that the tool was not allowed."""
        self.denials.append(wire.PermissionDenial(block.name, block.id, block.input))

    def tool_result(self, id: str, content: Any, is_error: bool, whole: Any = None) -> None:
        """Tell the model the result of a tool."""
        in_shell = self.tool is not None and self.tool.name == "Bash"
        tells = in_shell or is_error or not self.engine.behavior.has_results
        result = wire.ToolResultBlock(id, content, is_error if tells else None)
        message = self._as_user(result, tool_use_result=whole)
        self.model.transcript.told(message, id)

    def as_user(self, text: str, *, kept: dict[str, Any] | None = None, **fields: Any) -> None:
        """Send the model a text as a message of the user; `kept` goes to the transcript only."""
        message = self._as_user(wire.TextBlock(text), **fields)
        if kept is not None:  # the CLI keeps its own words as a string
            message = replace(message, message=wire.MessageParam("user", text))
        self.model.transcript.told(message, **(kept or {}))

    def _as_user(self, block: wire.Block, **fields: Any) -> wire.UserMessage:
        self.rounds += 1
        if self.model.agent is not None:
            fields = {**fields, "tool_use_result": None, **self.model.agent.fields}
        message = wire.UserMessage(
            message=wire.MessageParam("user", [block]),
            parent_tool_use_id=self.model.parent,
            timestamp=timestamp(),
            **self.session.stamp(),
            **fields,
        )
        self.emit(message)
        return message

    # --- prompts during the turn -----------------------------------------------------------------

    def _absorb(self) -> None:
        """Take in queued prompts: the model reads them together with the tool's result."""
        for message in self.engine.take_queued():
            self.session.remember("user", message.text)
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

    def _stop(self, reason: str = "hook_stopped") -> None:
        self.last_text = ""
        raise EndTurn("success", "", reason)

    # --- hooks, questions, background work -------------------------------------------------------

    async def hook(self, event: str, subject: str = "", **fields: Any) -> HookCalls:
        """Call the hooks that are registered for an event."""
        return await call_hooks(self.engine, event, subject, **fields)

    async def elicit(
        self, server: str, message: str, schema: dict[str, Any]
    ) -> wire.ElicitationResult:
        """Ask the user for something on behalf of an MCP server."""
        try:
            answer = await self.engine.ask(
                wire.Elicitation(server, message, mode="form", requested_schema=schema)
            )
        except (Refused, StreamClosed):
            answer = None
        given = isinstance(answer, wire.ElicitationResult)
        return answer if given else wire.ElicitationResult("cancel")

    def start_task(self, description: str) -> SimulatedTask:
        """Start work in the background. When it ends, a turn without a prompt follows."""
        tool_use_id = self.tool.id if self.tool is not None else None
        return SimulatedTask(self.engine, description, tool_use_id)

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
            kind: the type of the subagent.
            prompt: its prompt.
            work: plays the subagent.
            description: its task in a few words; by default the beginning of the prompt.
            background: do not wait for it. A turn without a prompt follows its end.
        """
        given: dict[str, Any] = {"description": description or prompt[:30], "prompt": prompt}
        given["subagent_type"] = kind
        name = "Task"
        if self.session.persona.narrates:
            name, given["run_in_background"] = "Agent", background
        (block,) = self._call_tools((name, given))
        start = self._launch if background else self._delegate
        if kind not in self.session.agent_tools:
            start = self._miss
        return await self._use(block, partial(start, work))

    async def _miss(self, work: Scenario, block: wire.ToolUseBlock, input: Fields) -> _Output:
        known = ", ".join(self.session.agent_tools)
        text = f"Agent type '{input['subagent_type']}' not found. Available agents: {known}"
        return _Output(text, True)

    async def _child(self, block: wire.ToolUseBlock) -> tuple[Subagent, Chat]:
        agent = Subagent(self.engine, block)
        await self.hook("SubagentStart", agent.kind, agent_id=agent.id, agent_type=agent.kind)
        child = Chat(self.engine, wire.UserMessage.of(agent.prompt))
        child.model = ModelOutput(self.engine, agent=agent)
        return agent, child

    async def _delegate(self, work: Scenario, block: wire.ToolUseBlock, input: Fields) -> _Output:
        """Run a subagent and wait for its report."""
        agent, child = await self._child(block)
        agent.start()
        child.denials = self.denials
        child.as_user(agent.prompt, kept={})
        try:
            await child._work_as(agent, work)
        except EndTurn:
            if child.api_error_status is None:
                raise
            agent.end(child.last_text, child.model.usage, "failed")
            return _Output(child.last_text, True)
        agent.end(child.last_text, child.model.usage)
        text, whole = agent.reported(child.last_text, child.model.usage)
        return _Output([{"type": "text", "text": text}], whole=whole, report=child.last_text)

    async def _launch(self, work: Scenario, block: wire.ToolUseBlock, input: Fields) -> _Output:
        """Start a subagent that works in the background, once the model knows of it."""
        agent, child = await self._child(block)
        self.session.tasks[agent.id] = agent.task
        list_tasks(self.engine)
        agent.start()

        def begin() -> None:
            task = self.engine.spawn(child._work_alone(agent, work))
            self.session.stop_work[agent.id] = partial(self.engine.discard, task)

        self.engine.defer(begin)
        text, whole = agent.launched()
        return _Output([{"type": "text", "text": text}], whole=whole)

    async def _work_as(self, agent: Subagent, work: Scenario) -> None:
        await work(self)
        self.model.close("end_turn")
        path, kind = self.model.transcript.path, agent.kind
        about = {"agent_id": agent.id, "agent_type": kind, "agent_transcript_path": path}
        await self.hook("SubagentStop", kind, **about, stop_hook_active=False)

    async def _work_alone(self, agent: Subagent, work: Scenario) -> None:
        """Play a subagent in the background; a turn follows its end."""
        message = wire.MessageParam("user", agent.prompt)
        self.model.transcript.told(wire.UserMessage(message=message, **self.session.stamp()))
        status = "completed"
        try:
            await self._work_as(agent, work)
        except Exception as error:
            if not isinstance(error, EndTurn):
                self.engine.note_failure(error)
            status = "failed"
        if self.session.tasks.pop(agent.id, None) is None:
            return  # it was stopped
        agent.end(self.last_text, self.model.usage, status)
        list_tasks(self.engine)
        told = agent.notification(self.last_text, status)
        self.session.notices.append(wire.UserMessage.of(told, origin=agent.origin))
        self.engine.wake_up(None)

    # --- the API and its limits ------------------------------------------------------------------

    async def compact(self, trigger: str = "auto", *, before: int = 150_000) -> None:
        """Compact the conversation."""
        await self.hook("PreCompact", trigger, trigger=trigger, custom_instructions="")
        for status in ("compacting", None):
            self.engine.tell(wire.StatusMessage, status=status)
        self.put_boundary(trigger, before, 0)

    def put_boundary(self, trigger: str, before: int, after: int) -> None:
        """Report, and keep, that a summary of `after` tokens replaces the conversation so far."""
        self.session.spend(PROMPT, after)  # the model writes the summary
        metadata = wire.CompactMetadata(
            trigger=trigger, pre_tokens=before, post_tokens=after, duration_ms=0
        )
        kept = {"trigger": trigger, "preTokens": before, "durationMs": 0, "postTokens": after}
        uuid = new_uuid()
        parent = self.engine.transcript.compact(uuid, kept)
        self.engine.tell(
            wire.CompactBoundaryMessage,
            compact_metadata=metadata,
            logical_parent_uuid=parent,
            uuid=uuid,
        )

    async def retry(
        self, status: int = 529, seconds: float = 0.0, message: str = "Overloaded"
    ) -> None:
        """Report that the API failed and will be called again."""
        delay = int(seconds * 1000)
        kind, error = api_error(status)
        self.engine.tell(
            wire.APIRetryMessage,
            attempt=1,
            max_retries=10,
            retry_delay_ms=delay,
            error_status=status,
            error=error,
        )
        fields: dict[str, Any] = {"retryInMs": delay, "retryAttempt": 1, "maxRetries": 10}
        whole = {"type": "error", "error": {"type": kind, "message": message}}
        written = msgspec.json.encode({**whole, "request_id": new_id("req")}).decode()
        about = {"status": status, "message": f"{status} {written}"}
        self.model.transcript.system("api_error", level="error", error=about, **fields)
        await self.sleep(seconds)

    def output(self, value: Any) -> None:
        """Return the structured output for a JSON Schema at the end of the turn."""
        self.structured = value

    async def hand_in(self) -> None:
        """Use the tool for structured output if there is any."""
        if self.structured is not None:
            words = "Structured output provided successfully"
            await self.use(STRUCTURED_OUTPUT, self.structured, result=words)
            self.last_text = ""

    def reach_max_turns(self) -> None:
        """End the turn, as after too many model calls."""
        raise EndTurn("error_max_turns", "Reached maximum number of turns", "max_turns")

    def exhaust_budget(self) -> None:
        """End the turn, as when the budget is spent."""
        raise EndTurn("error_max_budget_usd", "Reached maximum budget", "budget_exhausted")

    async def fail(self, text: str, status: int = 400) -> None:
        """End the turn with an error of the API: subtype `success` with `is_error`."""
        self.api_error_status = status
        self.model.close("end_turn")
        self.last_text = f"API Error: {status} {text}"
        self.model.fail(self.last_text, status)
        reason = "prompt_too_long" if "prompt is too long" in text.lower() else "api_error"
        raise EndTurn("success", self.last_text, reason)


def _joined(prompts: list[wire.UserMessage]) -> wire.UserMessage | None:
    """Join prompts that are answered together: a line for each, under the name of the last."""
    if len(prompts) < 2:
        return prompts[0] if prompts else None
    text = "\n".join(prompt.text for prompt in prompts)
    return replace(prompts[-1], message=wire.MessageParam("user", text))


def _whole(block: wire.ToolUseBlock, decision: Decision, output: _Output) -> Any:
    """Return the complete result of a tool, of which the model sees only a part."""
    content, input = output.content, decision.input
    if output.is_error:
        text = _as_text(content)
        start, end = "<tool_use_error>", "</tool_use_error>"
        return text.removeprefix(start).removesuffix(end) if start in text else f"Error: {text}"
    if output.whole is not None:
        return output.whole
    if block.name == "Bash" and isinstance(content, str):
        streams = {"stdout": content, "stderr": ""}
        return {**streams, "interrupted": False, "isImage": False, "noOutputExpected": False}
    if block.name == "Write" and "content" in input:
        file = {"filePath": input.get("file_path"), "content": input["content"]}
        rest: dict[str, Any] = {"structuredPatch": [], "originalFile": None, "userModified": False}
        return {"type": "create", **file, **rest}
    if block.name == "AskUserQuestion":
        return {key: input.get(key) for key in ("questions", "answers")}
    return content


def _as_text(output: Any) -> str:
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        texts = [item.get("text", "") for item in output if isinstance(item, dict)]
        return "\n".join(text for text in texts if text)
    return msgspec.json.encode(output).decode()
