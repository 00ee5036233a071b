"""Requests that are seldom made: what they ask about the session, and what little they change.

The simulated CLI has no settings, plugins or skills, and says so in the form of the real one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..wire import (
    HOOK_EVENTS,
    Ack,
    ApplyFlagSettings,
    BinaryVersionResult,
    ContextUsageResult,
    FileSuggestion,
    FileSuggestions,
    FileSuggestionsResult,
    GenerateSessionTitle,
    GenerateSessionTitleResult,
    GetBinaryVersion,
    GetContextUsage,
    GetHooksListing,
    GetSessionCost,
    GetSettings,
    GetSettingsResult,
    GetUsage,
    GetUsageResult,
    HookEventInfo,
    HooksListingResult,
    ListModels,
    ListModelsResult,
    ListPermissionRules,
    McpCall,
    McpCallResult,
    McpReadResource,
    PermissionRuleEntry,
    PermissionRulesResult,
    PermissionRulesState,
    ReadFile,
    ReadFileResult,
    ReadResourceResult,
    RegisterRepoRoot,
    RegisterRepoRootResult,
    ReloadOutputStyles,
    ReloadOutputStylesResult,
    ReloadPlugins,
    ReloadPluginsResult,
    ReloadSkills,
    ReloadSkillsResult,
    RenameSession,
    ResourceContents,
    SeedReadState,
    SessionCostResult,
    SessionUsage,
    SetHasSubscribers,
    SettingsSource,
    SideQuestion,
    SideQuestionResult,
    UpdateSettings,
    WorkspaceDirectory,
)
from .files import list_files
from .mcp import call_tool, read_resource
from .permissions import rules
from .requests import STYLES, Declined, models, server_states
from .state import new_uuid
from .waiting import Refused, StreamClosed, TimedOut

if TYPE_CHECKING:
    from .engine import Engine

__all__ = ["REPORTS"]

MOST_SUGGESTIONS = 20


def _done(engine: Engine, body: Any) -> Any:
    return Ack()


def _context(engine: Engine, body: GetContextUsage) -> Any:
    return ContextUsageResult(
        categories=[], total_tokens=1000, max_tokens=200_000, model=engine.session.model
    )


def _usage(engine: Engine, body: GetUsage) -> Any:
    session = engine.session
    spent = SessionUsage(total_cost_usd=session.cost, model_usage=dict(session.spent))
    return GetUsageResult(spent, rate_limits_available=False)


def _settings(engine: Engine, body: GetSettings) -> Any:
    session = engine.session
    sources = [SettingsSource("flagSettings", session.settings)] if session.settings else []
    applied = {"model": session.model, "effort": session.flags.effort}
    return GetSettingsResult(dict(session.settings), sources, applied)


def _apply_settings(engine: Engine, body: ApplyFlagSettings) -> Any:
    merged = {**engine.session.settings, **body.settings}
    engine.session.settings = {key: value for key, value in merged.items() if value is not None}
    return Ack()


def _rules(engine: Engine, body: ListPermissionRules) -> Any:
    session = engine.session
    allowed = [PermissionRuleEntry(rule, "allow", "session") for rule in rules(session)]
    denied = [PermissionRuleEntry(it, "deny", "cliArg") for it in session.flags.disallowed_tools]
    folders = [WorkspaceDirectory(session.cwd, "cwd")]
    state = PermissionRulesState([*allowed, *denied], folders, session.cwd, managed_only=False)
    return PermissionRulesResult(state)


def _hooks(engine: Engine, body: GetHooksListing) -> Any:
    events = [HookEventInfo(name, hook_count=0) for name in HOOK_EVENTS]
    return HooksListingResult(events, [], events, {}, errors=[])


def _suggest_files(engine: Engine, body: FileSuggestions) -> Any:
    names = [it for it in list_files(engine.session.cwd) if body.query.lower() in it.lower()]
    found = [FileSuggestion(name, score=1) for name in names[:MOST_SUGGESTIONS]]
    return FileSuggestionsResult(found, engine.session.cwd)


def _read_file(engine: Engine, body: ReadFile) -> Any:
    path = os.path.join(engine.session.cwd, body.path)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise Declined(f"Cannot read {body.path}: {error.strerror}", None) from None
    kept = data if body.max_bytes is None else data[: body.max_bytes]
    truncated = True if len(kept) < len(data) else None
    if body.encoding == "base64":
        from base64 import b64encode

        return ReadFileResult(b64encode(kept).decode(), path, truncated, "base64")
    return ReadFileResult(kept.decode("utf-8", "replace"), path, truncated)


async def _call(engine: Engine, body: McpCall) -> Any:
    _, _, rest = body.tool.partition("mcp__")
    server, _, tool = rest.partition("__")
    if server not in engine.session.mcp_tools:
        raise Declined(f"Tool not found: {body.tool}", None)
    answer = await call_tool(engine, server, tool, body.arguments or {}, f"toolu_{new_uuid()}")
    if answer.get("isError"):
        raise Declined(str(answer.get("content")), None)
    return McpCallResult(answer.get("content"), answer.get("structuredContent"))


async def _read_resource(engine: Engine, body: McpReadResource) -> Any:
    try:
        answer = await read_resource(engine, body.server_name, body.uri)
    except (Refused, StreamClosed, TimedOut) as error:
        raise Declined(f"Cannot read {body.uri}: {error}", None) from None
    contents = [it for it in answer.get("contents", ()) if isinstance(it, dict)]
    return ReadResourceResult(
        [
            ResourceContents(it.get("uri", body.uri), it.get("mimeType"), it.get("text"))
            for it in contents
        ]
    )


REPORTS: dict[type, Callable[[Engine, Any], Any]] = {
    ApplyFlagSettings: _apply_settings,
    FileSuggestions: _suggest_files,
    GenerateSessionTitle: lambda engine, body: GenerateSessionTitleResult(body.description[:50]),
    GetBinaryVersion: lambda engine, body: BinaryVersionResult(engine.session.persona.version),
    GetContextUsage: _context,
    GetHooksListing: _hooks,
    GetSessionCost: lambda engine, body: SessionCostResult(f"${engine.session.cost:.4f}"),
    GetSettings: _settings,
    GetUsage: _usage,
    ListModels: lambda engine, body: ListModelsResult(models()),
    ListPermissionRules: _rules,
    McpCall: _call,
    McpReadResource: _read_resource,
    ReadFile: _read_file,
    RegisterRepoRoot: lambda engine, body: RegisterRepoRootResult(body.directory),
    ReloadOutputStyles: lambda engine, body: ReloadOutputStylesResult(list(STYLES)),
    ReloadPlugins: lambda engine, body: ReloadPluginsResult(
        [], [], [], server_states(engine), error_count=0
    ),
    ReloadSkills: lambda engine, body: ReloadSkillsResult([]),
    RenameSession: _done,
    SeedReadState: _done,
    SetHasSubscribers: _done,
    SideQuestion: lambda engine, body: SideQuestionResult(
        f"(simulation) {body.question}", synthetic=False
    ),
    UpdateSettings: _done,
}
"""Every such request, and what is answered; what takes its time is a coroutine."""
