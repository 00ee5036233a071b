"""What the simulated CLI does with the requests of the SDK."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from ..wire import (
    AccountInfo,
    Ack,
    AgentInfo,
    Answer,
    BackgroundTasks,
    BackgroundTasksResult,
    CancelAsyncMessage,
    CancelAsyncMessageResult,
    EndSession,
    Failure,
    GetTaskOutput,
    Initialize,
    InitializeResult,
    Interrupt,
    InterruptResult,
    McpMessage,
    McpReconnect,
    McpServerStatus,
    McpSetServers,
    McpSetServersResult,
    McpStatus,
    McpStatusResult,
    McpToggle,
    ModelInfo,
    Request,
    RewindFiles,
    RewindFilesResult,
    SetMaxThinkingTokens,
    SetModel,
    SetModelResult,
    SetPermissionMode,
    SetPermissionModeResult,
    SlashCommand,
    StopTask,
    TaskOutputResult,
    UnknownRequest,
    UserMessage,
)
from .mcp import connect, connect_all
from .permissions import set_mode
from .state import MODELS
from .turns import AGENTS, ALIASES, COMMANDS

if TYPE_CHECKING:
    from .engine import Engine

__all__ = ["STYLES", "Declined", "handle", "models", "server_states"]

STYLES = ("default", "Explanatory", "Learning")


class Declined(Exception):
    """The request is refused, for this reason and with this code."""


def handle(engine: Engine, request: Request) -> None:
    """Answer a request, now or when what it needs has been done."""
    body = request.body
    if isinstance(body, Initialize):
        _initialize(engine, request, body)
    elif isinstance(body, Interrupt):
        _interrupt(engine, request, body)
    else:
        _answer(engine, request)


def _answer(engine: Engine, request: Request) -> None:
    handler = _handler(engine, request.body)
    if handler is None:
        error = f"Unsupported control request subtype: {_name(request.body)}"
        engine.send(Failure(request.id, error, "unsupported_request"))
        return
    try:
        result = handler(engine, request.body)
    except Declined as no:
        engine.send(Failure(request.id, *no.args))
        return
    if isinstance(result, Coroutine):
        engine.spawn(_answer_later(engine, request, result))
        return
    engine.send(Answer(request.id, result))
    if isinstance(request.body, SetPermissionMode):
        set_mode(engine, request.body.mode)
    elif isinstance(request.body, EndSession):
        engine.prompts.clear()
        engine.end_input()


def _name(body: Any) -> Any:
    if isinstance(body, UnknownRequest):
        return body.raw.get("subtype")
    return type(body).__struct_config__.tag


def _handler(engine: Engine, body: Any) -> Callable[[Engine, Any], Any] | None:
    """What answers the request, if this version of the CLI knows it."""
    supported = engine.session.persona.supports
    if supported is not None and _name(body) not in supported:
        return None
    if type(body) in _HANDLERS:
        return _HANDLERS[type(body)]
    from .reports import REPORTS

    return REPORTS.get(type(body))


async def _answer_later(engine: Engine, request: Request, result: Coroutine[Any, Any, Any]) -> None:
    answer: Answer | Failure
    try:
        answer = Answer(request.id, await result)
    except Declined as no:
        answer = Failure(request.id, *no.args)
    if request.id in engine.connection.owed:
        engine.send(answer)


def _initialize(engine: Engine, request: Request, body: Initialize) -> None:
    """Answer, and meet the in-process servers; no turn begins before they have been met."""
    engine.session.setup = body
    engine.hold()
    first = engine.session.persona.meets_servers_first
    if first:
        connect_all(engine, engine.release)
    engine.send(Answer(request.id, _welcome(engine), pending=()))
    if not first:
        connect_all(engine, engine.release)


def _welcome(engine: Engine) -> InitializeResult:
    session = engine.session
    return InitializeResult(
        commands=[
            SlashCommand(name, "", argument_hint="", aliases=ALIASES.get(name), builtin=True)
            for name in COMMANDS
        ],
        agents=[
            *(AgentInfo(name, "A simulated agent", "inherit") for name in AGENTS),
            *(AgentInfo(name, it.description) for name, it in (session.setup.agents or {}).items()),
        ],
        output_style="default",
        available_output_styles=list(STYLES),
        models=models(),
        account=AccountInfo(token_source="none", api_key_source="none", api_provider="firstParty"),
        hooks_applied=True if session.setup.hooks else None,
        hook_on_failure_supported=True,
        claude_code_version=session.persona.version,
        fast_mode_state="off",
        fast_mode_disabled_reason="sdk_opt_in_required",
        pid=os.getpid(),
        current_permission_mode=session.mode,
        session_state=session.state,
        capabilities=list(session.persona.capabilities),
    )


def models() -> list[ModelInfo]:
    """The models that may be chosen."""
    return [
        ModelInfo(
            name,
            resolved_model=full,
            display_name=name.title(),
            description=full,
            supports_effort=True,
            supported_effort_levels=["low", "medium", "high", "xhigh", "max"],
            supports_adaptive_thinking=True,
            supports_fast_mode=True if "opus" in full else None,
            supports_auto_mode=True,
            supports_thinking_off=False,
        )
        for name, full in MODELS.items()
    ]


def _interrupt(engine: Engine, request: Request, body: Interrupt) -> None:
    queued = [it.uuid for it in engine.prompts if it is not None and it.uuid is not None]
    engine.interrupt()
    if body.cancel_queued:
        engine.prompts.clear()
        receipt = InterruptResult([], cancelled=queued)
    else:
        receipt = InterruptResult(queued)
    engine.send(Answer(request.id, receipt if engine.session.persona.receipts else None))
    engine.stop_turn()


# --- one function for each request that is answered at once ---------------------------------------


def _set_mode(engine: Engine, body: SetPermissionMode) -> Any:
    flags = engine.session.flags
    may_bypass = flags.dangerously_skip_permissions or flags.allow_dangerously_skip_permissions
    if body.mode == "bypassPermissions" and not may_bypass and engine.session.mode != body.mode:
        text = "Cannot set permission mode to bypassPermissions: it was not launched with it"
        raise Declined(text, "bypass_not_launched")
    return SetPermissionModeResult(body.mode) if engine.session.persona.receipts else None


def _set_model(engine: Engine, body: SetModel) -> Any:
    chosen = None if body.model == "default" else body.model
    session = engine.session
    full = session.resolve_model(chosen or session.flags.model)
    if full != session.model and session.turns and session.persona.narrates:
        name = full if chosen in (None, full) else f"{body.model} ({full})"
        text = f"<local-command-stdout>Set model to `{name}`</local-command-stdout>"
        engine.send(session.replay_of(UserMessage.of(text)))
    session.model = full
    return SetModelResult(engine.session.model) if engine.session.persona.receipts else None


def server_states(engine: Engine) -> list[McpServerStatus]:
    """How the servers are doing."""
    return [McpServerStatus(name=name, status="connected") for name in engine.session.mcp_tools]


def _known_server(engine: Engine, body: McpReconnect | McpToggle) -> Any:
    if body.server_name not in engine.session.mcp_tools:
        raise Declined(f"Server not found: {body.server_name}", None)
    return Ack()


async def _set_servers(engine: Engine, body: McpSetServers) -> Any:
    known = engine.session.mcp_tools
    added = sorted(set(body.servers) - set(known))
    removed = sorted(set(known) - set(body.servers))
    for name in removed:
        del known[name]
    for name in added:
        if body.servers[name].get("type") == "sdk":
            await connect(engine, name)
        else:
            known[name] = []
    errors = {name: "Connection failed" for name in added if name not in known}
    return McpSetServersResult(added, removed, errors)


def _stop_task(engine: Engine, body: StopTask) -> Any:
    task = engine.session.tasks.get(body.task_id)
    if task is not None:
        task["task"].finish("stopped", status="stopped")
    return Ack()


def _task_output(engine: Engine, body: GetTaskOutput) -> Any:
    if body.task_id not in engine.session.tasks:
        raise Declined(f"Task not found: {body.task_id}", None)
    return TaskOutputResult("", 0, truncated=False)


def _cancel_message(engine: Engine, body: CancelAsyncMessage) -> Any:
    for prompt in engine.prompts:
        if prompt is not None and prompt.uuid == body.message_uuid:
            engine.prompts.remove(prompt)
            return CancelAsyncMessageResult(cancelled=True)
    return CancelAsyncMessageResult(cancelled=False)


_HANDLERS: dict[type, Callable[[Engine, Any], Any]] = {
    SetPermissionMode: _set_mode,
    SetModel: _set_model,
    SetMaxThinkingTokens: lambda engine, body: Ack(),
    McpStatus: lambda engine, body: McpStatusResult(server_states(engine)),
    McpReconnect: _known_server,
    McpToggle: _known_server,
    McpSetServers: _set_servers,
    McpMessage: lambda engine, body: Ack(),
    StopTask: _stop_task,
    GetTaskOutput: _task_output,
    BackgroundTasks: lambda engine, body: BackgroundTasksResult(backgrounded=False),
    CancelAsyncMessage: _cancel_message,
    RewindFiles: lambda engine, body: RewindFilesResult(
        can_rewind=False, error="File rewinding is not enabled."
    ),
    EndSession: lambda engine, body: Ack(),
}
