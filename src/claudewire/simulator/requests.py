"""The answers of the simulated CLI to the SDK's requests."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import msgspec

from .. import wire
from .checkpoints import is_enabled, rewind
from .configuration import HOOK_EVENTS
from .engine import Engine
from .introduction import announce, models, welcome
from .mcp import abandon, connect, connect_all, connect_program
from .permissions import set_mode
from .servers import ServerState
from .subagents import end_task


class _Declined(Exception):
    """The request is refused, for a reason and with a code."""

    def __init__(self, reason: str, code: str | None = None) -> None:
        super().__init__(reason, code)


def handle(engine: Engine, request: wire.Request) -> None:
    """Answer a request, immediately or when its work is done."""
    body = request.body
    if isinstance(body, wire.Initialize) and not engine.behavior.opens_with_initialize:
        engine.connection.send(wire.Failure(request.id, ""))  # noted as answered, but not written
        info = wire.ErrorInfo("invalid_request", "Unsupported control request: initialize")
        engine.send(wire.ErrorMessage(error=info))
    elif isinstance(body, wire.Initialize):
        _open(engine, request, body)
    elif isinstance(body, wire.Interrupt):
        _interrupt(engine, request, body)
    else:
        _answer(engine, request)


def _answer(engine: Engine, request: wire.Request) -> None:
    body, persona = request.body, engine.session.persona
    name = type(body).__struct_config__.tag
    known = not isinstance(body, wire.UnknownRequest | wire.SetColor)
    if known and persona.supports is not None:
        known = name in persona.supports
    if not known and not persona.acknowledges:
        engine.connection.send(wire.Failure(request.id, ""))  # noted as answered, but not written
        return
    if not known:
        error = f"Unsupported control request subtype: {request.raw['request'].get('subtype')}"
        engine.send(wire.Failure(request.id, error, "unsupported_request"))
        return
    try:
        result = _HANDLERS.get(type(body), _ignore)(engine, body)
    except _Declined as no:
        engine.send(wire.Failure(request.id, *no.args))
        return
    if isinstance(result, Coroutine):
        engine.spawn(_answer_later(engine, request, result))
        return
    engine.send(wire.Answer(request.id, result))
    if isinstance(body, wire.SetPermissionMode):
        set_mode(engine, body.mode)
    elif isinstance(body, wire.EndSession):
        engine.prompts.clear()
        engine.end_input()


async def _answer_later(
    engine: Engine, request: wire.Request, result: Coroutine[Any, Any, Any]
) -> None:
    answer = wire.Answer(request.id, await result)
    if request.id in engine.connection.owed:
        engine.send(answer)


def _interrupt(engine: Engine, request: wire.Request, body: wire.Interrupt) -> None:
    queued = [it.uuid for it in engine.prompts if it is not None and it.uuid is not None]
    if engine.turn_waits_for is not None:
        abandon(engine, engine.turn_waits_for)
    receipt = wire.InterruptResult(queued)
    if body.cancel_queued:
        engine.prompts.clear()
        receipt = wire.InterruptResult([], cancelled=queued)
    acknowledges = engine.session.persona.acknowledges
    engine.send(wire.Answer(request.id, receipt if acknowledges else None))
    engine.stop_turn()


# --- initialize -----------------------------------------------------------------------------------


def _open(engine: Engine, request: wire.Request, body: wire.Initialize) -> None:
    """Answer, and connect to the in-process servers; no turn begins before that."""
    session = engine.session
    session.setup = body
    for event in sorted((body.hooks or {}).keys() - HOOK_EVENTS):
        engine.warn_once(f"hooks for {event}")
    if body.title is not None and session.persona.narrates:
        give_title(engine, body.title)
    engine.hold()
    announces = engine.behavior.describes == "session"

    def ready() -> None:
        if announces:
            announce(engine)
        engine.release()

    # The description comes after the answer, even if there is no server to wait for.
    then = partial(engine.defer, ready) if announces else ready
    if session.persona.meets_servers_first:
        engine.spawn(connect_all(engine), then)
    engine.send(wire.Answer(request.id, welcome(engine), pending=None if announces else ()))
    if not session.persona.meets_servers_first:
        engine.spawn(connect_all(engine), then)


def give_title(engine: Engine, title: str) -> None:
    """Keep the title of the session, and tell the SDK."""
    engine.transcript.rename(title)
    told = {"type": "system", "subtype": "session_title_changed", "title": title}
    engine.send(wire.UnknownSystemMessage(data={**told, **engine.session.stamp()}))


# --- one function for each request ----------------------------------------------------------------


def _set_mode(engine: Engine, body: wire.SetPermissionMode) -> Any:
    flags = engine.session.flags
    may_bypass = flags.dangerously_skip_permissions or flags.allow_dangerously_skip_permissions
    if body.mode == "bypassPermissions" and not may_bypass and engine.session.mode != body.mode:
        text = "Cannot set permission mode to bypassPermissions: it was not launched with it"
        raise _Declined(text, "bypass_not_launched")
    acknowledges = engine.session.persona.acknowledges
    return wire.SetPermissionModeResult(body.mode) if acknowledges else None


def _set_model(engine: Engine, body: wire.SetModel) -> Any:
    chosen = None if body.model == "default" else body.model
    session = engine.session
    full = session.resolve_model(chosen or session.flags.model)
    if full != session.model and session.turns and session.persona.narrates:
        name = full if chosen in (None, full) else f"{body.model} ({full})"
        text = f"<local-command-stdout>Set model to `{name}`</local-command-stdout>"
        engine.send(session.replay_of(wire.UserMessage.of(text)))
    session.model = full
    return wire.SetModelResult(session.model) if session.persona.acknowledges else None


def _status(engine: Engine, body: wire.McpStatus) -> Any:
    return wire.McpStatusResult([_server_status(*it) for it in engine.session.servers.items()])


def _server_status(name: str, state: ServerState) -> wire.McpServerStatus:
    tools = [wire.McpToolInfo(name=str(tool.get("name"))) for tool in state.tools]
    config = state.config
    return wire.McpServerStatus(
        name=name,
        status=state.status,
        error=state.error,
        server_info=state.about.get("serverInfo"),
        config={"type": "http" if "url" in config else "stdio", **config},
        scope=state.source,
        tools=tools if state.status == "connected" else None,
    )


def _reconnect(engine: Engine, body: wire.McpReconnect | wire.McpToggle) -> Any:
    state = engine.session.servers.get(body.server_name)
    if state is None:
        raise _Declined(f"Server not found: {body.server_name}")
    if isinstance(body, wire.McpToggle) and state.error is None:
        state.status = "connected" if body.enabled else "disabled"
    return wire.Ack()


async def _set_servers(engine: Engine, body: wire.McpSetServers) -> Any:
    known = engine.session.servers
    added = sorted(set(body.servers) - set(known))
    removed = sorted(set(known) - set(body.servers))
    for name in removed:
        known.pop(name).close()
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
    if body.task_id in engine.session.tasks:
        end_task(engine, body.task_id, "stopped", "stopped")
    return wire.Ack()


def _cancel_message(engine: Engine, body: wire.CancelAsyncMessage) -> Any:
    for prompt in engine.prompts:
        if prompt is not None and prompt.uuid == body.message_uuid:
            engine.prompts.remove(prompt)
            return wire.CancelAsyncMessageResult(cancelled=True)
    return wire.CancelAsyncMessageResult(cancelled=False)


def _rewind(engine: Engine, body: wire.RewindFiles) -> Any:
    if not is_enabled(engine):
        raise _Declined("File rewinding is not enabled.")
    return rewind(engine, body.user_message_id, dry_run=bool(body.dry_run))


def _context(engine: Engine, body: wire.GetContextUsage) -> Any:
    return wire.ContextUsageResult(
        categories=[], total_tokens=1000, max_tokens=200_000, model=engine.session.model
    )


def _settings(engine: Engine, body: wire.GetSettings) -> Any:
    session = engine.session
    sources = [wire.SettingsSource(it.name, it.written) for it in session.configuration.sources]
    applied = {"model": session.model, "effort": session.flags.effort}
    return wire.GetSettingsResult(session.configuration.effective, sources, applied)


_ENACTED = (wire.SetMaxThinkingTokens, wire.EndSession, wire.McpMessage, wire.SeedReadState)
"""The requests that need no handler: they have their effect elsewhere, or concern the model
only."""


def _ignore(engine: Engine, body: Any) -> Any:
    """Accept a request that is not simulated, and name it once; refuse it if strict."""
    if not isinstance(body, _ENACTED):
        name = str(type(body).__struct_config__.tag)
        if engine.session.flags.strict:
            raise _Declined(f"claudewire-sim: accepted, but not simulated: {name}")
        engine.warn_once(name)
    return wire.Ack()


def _read_file(engine: Engine, body: wire.ReadFile) -> Any:
    path = os.path.join(engine.session.cwd, body.path)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise _Declined(f"Cannot read {body.path}: {error.strerror}") from None
    kept = data if body.max_bytes is None else data[: body.max_bytes]
    truncated = True if len(kept) < len(data) else None
    if body.encoding == "base64":
        encoded = msgspec.to_builtins(kept)  # bytes become base64
        return wire.ReadFileResult(encoded, path, truncated, "base64")
    return wire.ReadFileResult(kept.decode("utf-8", "replace"), path, truncated)


_HANDLERS: dict[type, Callable[[Engine, Any], Any]] = {
    wire.SetPermissionMode: _set_mode,
    wire.SetModel: _set_model,
    wire.McpStatus: _status,
    wire.McpReconnect: _reconnect,
    wire.McpToggle: _reconnect,
    wire.McpSetServers: _set_servers,
    wire.StopTask: _stop_task,
    wire.CancelAsyncMessage: _cancel_message,
    wire.RewindFiles: _rewind,
    wire.GetBinaryVersion: lambda engine, body: wire.BinaryVersionResult(
        engine.session.persona.version
    ),
    wire.GetContextUsage: _context,
    wire.GetSettings: _settings,
    wire.ListModels: lambda engine, body: wire.ListModelsResult(models()),
    wire.ReadFile: _read_file,
    wire.RenameSession: lambda engine, body: give_title(engine, body.title),
}
"""The function for each request; it returns the result, or a coroutine that does."""
