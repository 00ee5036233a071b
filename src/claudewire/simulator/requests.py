"""What the simulated CLI does with the requests of the SDK, once the session is open."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from .. import wire
from .chat import end_task
from .checkpoints import NOT_ENABLED, rewind
from .engine import Engine, Refused, StreamClosed, TimedOut
from .mcp import abandon, call_tool, connect, connect_program, read_resource
from .opening import STYLES, give_title, models
from .permissions import rules, set_mode
from .session import ServerState, new_id
from .unsimulated import note

__all__ = ["handle"]

MOST_SUGGESTIONS = 20


class _Declined(Exception):
    """The request is refused, for this reason and with this code."""


def handle(engine: Engine, request: wire.Request) -> None:
    """Answer a request that is not `initialize`, at once or when its work is done."""
    body = request.body
    if isinstance(body, wire.Interrupt):
        _interrupt(engine, request, body)
    else:
        _answer(engine, request)


def _answer(engine: Engine, request: wire.Request) -> None:
    handler = _handler(engine, request.body)
    if handler is None and not engine.session.persona.answers_unknown:
        engine.connection.send(wire.Failure(request.id, ""))  # noted as answered, but not written
        return
    if handler is None:
        error = f"Unsupported control request subtype: {_name(request.body)}"
        engine.send(wire.Failure(request.id, error, "unsupported_request"))
        return
    try:
        result = handler(engine, request.body)
    except _Declined as no:
        engine.send(wire.Failure(request.id, *no.args))
        return
    if isinstance(result, Coroutine):
        engine.spawn(_answer_later(engine, request, result))
        return
    engine.send(wire.Answer(request.id, result))
    if isinstance(request.body, wire.SetPermissionMode):
        set_mode(engine, request.body.mode)
    elif isinstance(request.body, wire.EndSession):
        engine.prompts.clear()
        engine.end_input()


def _name(body: Any) -> Any:
    if isinstance(body, wire.UnknownRequest):
        return body.raw.get("subtype")
    return type(body).__struct_config__.tag


def _handler(engine: Engine, body: Any) -> Callable[[Engine, Any], Any] | None:
    """The function that answers the request, if this version of the CLI knows it."""
    supported = engine.session.persona.supports
    if supported is not None and _name(body) not in supported:
        return None
    return _HANDLERS.get(type(body))


async def _answer_later(
    engine: Engine, request: wire.Request, result: Coroutine[Any, Any, Any]
) -> None:
    answer: wire.Answer | wire.Failure
    try:
        answer = wire.Answer(request.id, await result)
    except _Declined as no:
        answer = wire.Failure(request.id, *no.args)
    if request.id in engine.connection.owed:
        engine.send(answer)


def _interrupt(engine: Engine, request: wire.Request, body: wire.Interrupt) -> None:
    queued = [it.uuid for it in engine.prompts if it is not None and it.uuid is not None]
    if engine.turn_waits_for is not None:
        abandon(engine, engine.turn_waits_for)
    if body.cancel_queued:
        engine.prompts.clear()
        receipt = wire.InterruptResult([], cancelled=queued)
    else:
        receipt = wire.InterruptResult(queued)
    engine.send(wire.Answer(request.id, receipt if engine.session.persona.receipts else None))
    engine.stop_turn()


# --- one function for each request that is answered at once ---------------------------------------


def _set_mode(engine: Engine, body: wire.SetPermissionMode) -> Any:
    flags = engine.session.flags
    may_bypass = flags.dangerously_skip_permissions or flags.allow_dangerously_skip_permissions
    if body.mode == "bypassPermissions" and not may_bypass and engine.session.mode != body.mode:
        text = "Cannot set permission mode to bypassPermissions: it was not launched with it"
        raise _Declined(text, "bypass_not_launched")
    return wire.SetPermissionModeResult(body.mode) if engine.session.persona.receipts else None


def _set_model(engine: Engine, body: wire.SetModel) -> Any:
    chosen = None if body.model == "default" else body.model
    session = engine.session
    full = session.resolve_model(chosen or session.flags.model)
    if full != session.model and session.turns and session.persona.narrates:
        name = full if chosen in (None, full) else f"{body.model} ({full})"
        text = f"<local-command-stdout>Set model to `{name}`</local-command-stdout>"
        engine.send(session.replay_of(wire.UserMessage.of(text)))
    session.model = full
    return wire.SetModelResult(engine.session.model) if engine.session.persona.receipts else None


def _server_states(engine: Engine) -> list[wire.McpServerStatus]:
    """The status of the servers."""
    return [_server_state(name, state) for name, state in engine.session.servers.items()]


def _server_state(name: str, state: ServerState) -> wire.McpServerStatus:
    if state.source == "sdk":
        return wire.McpServerStatus(name=name, status=state.status, error=state.error)
    tools = [wire.McpToolInfo(name=str(tool.get("name"))) for tool in state.tools]
    config = state.config or {}
    return wire.McpServerStatus(
        name=name,
        status=state.status,
        error=state.error,
        server_info=state.about.get("serverInfo"),
        config={"type": "http" if "url" in config else "stdio", **config},
        scope=state.source,
        tools=tools if state.status == "connected" else None,
    )


def _known_server(engine: Engine, body: wire.McpReconnect | wire.McpToggle) -> Any:
    if body.server_name not in engine.session.servers:
        raise _Declined(f"Server not found: {body.server_name}", None)
    return wire.Ack()


async def _set_servers(engine: Engine, body: wire.McpSetServers) -> Any:
    known = engine.session.servers
    added = sorted(set(body.servers) - set(known))
    removed = sorted(set(known) - set(body.servers))
    for name in removed:
        state = known.pop(name)
        if state.server is not None:
            state.server.close()
    for name in added:
        config = body.servers[name]
        if config.get("type") == "sdk":
            await connect(engine, name)
        else:
            known[name] = ServerState("dynamic", config)
            await connect_program(engine, name)
    errors = {name: f"{known[name].error}" for name in added if known[name].status == "failed"}
    return wire.McpSetServersResult(added, removed, errors)


def _stop_task(engine: Engine, body: wire.StopTask) -> Any:
    session = engine.session
    if body.task_id in session.tasks and session.persona.tells_of_stopped:
        end_task(engine, body.task_id, "stopped", "stopped")
    elif not session.persona.tells_of_stopped and session.tasks.pop(body.task_id, None) is None:
        raise _Declined(f"No task found with ID: {body.task_id}", None)
    return wire.Ack()


def _task_output(engine: Engine, body: wire.GetTaskOutput) -> Any:
    if body.task_id not in engine.session.tasks:
        raise _Declined(f"Task not found: {body.task_id}", None)
    return wire.TaskOutputResult("", 0, truncated=False)


def _cancel_message(engine: Engine, body: wire.CancelAsyncMessage) -> Any:
    for prompt in engine.prompts:
        if prompt is not None and prompt.uuid == body.message_uuid:
            engine.prompts.remove(prompt)
            return wire.CancelAsyncMessageResult(cancelled=True)
    return wire.CancelAsyncMessageResult(cancelled=False)


def _done(engine: Engine, body: Any) -> Any:
    return wire.Ack()


def _rewind(engine: Engine, body: wire.RewindFiles) -> Any:
    result = rewind(engine, body.user_message_id, dry_run=bool(body.dry_run))
    if result is None:
        raise _Declined(NOT_ENABLED, None)
    return result


def _rename(engine: Engine, body: wire.RenameSession) -> Any:
    engine.session.title = body.title
    give_title(engine, body.title)


def _context(engine: Engine, body: wire.GetContextUsage) -> Any:
    return wire.ContextUsageResult(
        categories=[], total_tokens=1000, max_tokens=200_000, model=engine.session.model
    )


def _usage(engine: Engine, body: wire.GetUsage) -> Any:
    session = engine.session
    spent = wire.SessionUsage(total_cost_usd=session.cost, model_usage=dict(session.spent))
    return wire.GetUsageResult(spent, rate_limits_available=False)


def _settings(engine: Engine, body: wire.GetSettings) -> Any:
    session = engine.session
    sources = [wire.SettingsSource(*it) for it in session.configuration.sources]
    if session.settings:
        sources.append(wire.SettingsSource("flagSettings", session.settings))
    applied = {"model": session.model, "effort": session.flags.effort}
    effective = {**session.configuration.effective, **session.settings}
    return wire.GetSettingsResult(effective, sources, applied)


def _ignore(engine: Engine, body: Any) -> Any:
    """Accept a request that is not simulated, and say so once; if strict, refuse it."""
    name, session = _name(body), engine.session
    if session.flags.strict:
        raise _Declined(note([name]), None)
    if name not in session.ignored:
        session.ignored.add(name)
        engine.warn(note([name]))
    return wire.Ack()


def _apply_settings(engine: Engine, body: wire.ApplyFlagSettings) -> Any:
    _ignore(engine, body)
    merged = {**engine.session.settings, **body.settings}
    engine.session.settings = {key: value for key, value in merged.items() if value is not None}
    return wire.Ack()


def _rules(engine: Engine, body: wire.ListPermissionRules) -> Any:
    session = engine.session
    allowed = [wire.PermissionRuleEntry(rule, "allow", "session") for rule in rules(session)]
    denied = [wire.PermissionRuleEntry(it, "deny", "cliArg") for it in session.denied()]
    folders = [wire.WorkspaceDirectory(session.cwd, "cwd")]
    state = wire.PermissionRulesState([*allowed, *denied], folders, session.cwd, managed_only=False)
    return wire.PermissionRulesResult(state)


def _hooks(engine: Engine, body: wire.GetHooksListing) -> Any:
    events = [wire.HookEventInfo(name, hook_count=0) for name in wire.HOOK_EVENTS]
    return wire.HooksListingResult(events, [], events, {}, errors=[])


def _suggest_files(engine: Engine, body: wire.FileSuggestions) -> Any:
    from .demo import list_files  # not before it is needed: the program starts fast

    names = [it for it in list_files(engine.session.cwd) if body.query.lower() in it.lower()]
    found = [wire.FileSuggestion(name, score=1) for name in names[:MOST_SUGGESTIONS]]
    return wire.FileSuggestionsResult(found, engine.session.cwd)


def _read_file(engine: Engine, body: wire.ReadFile) -> Any:
    path = os.path.join(engine.session.cwd, body.path)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (OSError, ValueError) as error:  # such as a path with a null byte
        reason = error.strerror if isinstance(error, OSError) else error
        raise _Declined(f"Cannot read {body.path}: {reason}", None) from None
    kept = data if body.max_bytes is None else data[: body.max_bytes]
    truncated = True if len(kept) < len(data) else None
    if body.encoding == "base64":
        encoded = msgspec.to_builtins(kept)  # bytes become base64
        return wire.ReadFileResult(encoded, path, truncated, "base64")
    return wire.ReadFileResult(kept.decode("utf-8", "replace"), path, truncated)


async def _call(engine: Engine, body: wire.McpCall) -> Any:
    _, _, rest = body.tool.partition("mcp__")
    server, _, tool = rest.partition("__")
    if server not in engine.session.mcp_tools:
        raise _Declined(f"Tool not found: {body.tool}", None)
    answer = await call_tool(engine, server, tool, body.arguments or {}, new_id("toolu"))
    if answer.get("isError"):
        raise _Declined(str(answer.get("content")), None)
    return wire.McpCallResult(answer.get("content"), answer.get("structuredContent"))


async def _read_resource(engine: Engine, body: wire.McpReadResource) -> Any:
    try:
        answer = await read_resource(engine, body.server_name, body.uri)
    except (Refused, StreamClosed, TimedOut) as error:
        raise _Declined(f"Cannot read {body.uri}: {error}", None) from None
    contents = [it for it in answer.get("contents", ()) if isinstance(it, dict)]
    return wire.ReadResourceResult(
        [
            wire.ResourceContents(it.get("uri", body.uri), it.get("mimeType"), it.get("text"))
            for it in contents
        ]
    )


_HANDLERS: dict[type, Callable[[Engine, Any], Any]] = {
    wire.SetPermissionMode: _set_mode,
    wire.SetModel: _set_model,
    wire.SetMaxThinkingTokens: _done,
    wire.McpStatus: lambda engine, body: wire.McpStatusResult(_server_states(engine)),
    wire.McpReconnect: _known_server,
    wire.McpToggle: _known_server,
    wire.McpSetServers: _set_servers,
    wire.McpMessage: _done,
    wire.StopTask: _stop_task,
    wire.GetTaskOutput: _task_output,
    wire.BackgroundTasks: lambda engine, body: wire.BackgroundTasksResult(backgrounded=False),
    wire.CancelAsyncMessage: _cancel_message,
    wire.RewindFiles: _rewind,
    wire.EndSession: _done,
    wire.ApplyFlagSettings: _apply_settings,
    wire.FileSuggestions: _suggest_files,
    wire.GenerateSessionTitle: lambda engine, body: wire.GenerateSessionTitleResult(
        body.description[:50]
    ),
    wire.GetBinaryVersion: lambda engine, body: wire.BinaryVersionResult(
        engine.session.persona.version
    ),
    wire.GetContextUsage: _context,
    wire.GetHooksListing: _hooks,
    wire.GetSessionCost: lambda engine, body: wire.SessionCostResult(f"${engine.session.cost:.4f}"),
    wire.GetSettings: _settings,
    wire.GetUsage: _usage,
    wire.ListModels: lambda engine, body: wire.ListModelsResult(models()),
    wire.ListPermissionRules: _rules,
    wire.McpCall: _call,
    wire.McpReadResource: _read_resource,
    wire.ReadFile: _read_file,
    wire.RegisterRepoRoot: lambda engine, body: wire.RegisterRepoRootResult(body.directory),
    wire.ReloadOutputStyles: lambda engine, body: wire.ReloadOutputStylesResult(list(STYLES)),
    wire.ReloadPlugins: lambda engine, body: wire.ReloadPluginsResult(
        [], [], [], _server_states(engine), error_count=0
    ),
    wire.ReloadSkills: lambda engine, body: wire.ReloadSkillsResult([]),
    wire.RenameSession: _rename,
    wire.SeedReadState: _done,
    wire.SetHasSubscribers: _done,
    wire.SideQuestion: lambda engine, body: wire.SideQuestionResult(
        f"(simulation) {body.question}", synthetic=False
    ),
    wire.UpdateSettings: _ignore,
}
"""What answers each request: with a result, or a coroutine that gives it later."""
