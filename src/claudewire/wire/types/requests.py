"""Every request, in both directions, and what kind of answer it brings."""

from __future__ import annotations

from functools import cache
from typing import Any, cast, get_args, get_origin

from .base import UNKNOWN, Unknown
from .cli_requests import (
    CanUseTool,
    Elicitation,
    HookCallback,
    McpMessage,
    RequestBody,
    RequestUserDialog,
)
from .host_requests import (
    ApplyFlagSettings,
    BackgroundTasks,
    CancelAsyncMessage,
    EndSession,
    FileSuggestions,
    GenerateSessionTitle,
    GetBinaryVersion,
    GetContextUsage,
    GetHooksListing,
    GetSessionCost,
    GetSettings,
    GetTaskOutput,
    GetUsage,
    Initialize,
    Interrupt,
    ListModels,
    ListPermissionRules,
    McpCall,
    McpReadResource,
    McpReconnect,
    McpSetServers,
    McpStatus,
    McpToggle,
    ReadFile,
    RegisterRepoRoot,
    ReloadOutputStyles,
    ReloadPlugins,
    ReloadSkills,
    RenameSession,
    RewindFiles,
    SeedReadState,
    SetColor,
    SetHasSubscribers,
    SetMaxThinkingTokens,
    SetModel,
    SetPermissionMode,
    SideQuestion,
    StopTask,
    UpdateSettings,
)

__all__ = ["REQUESTS", "Body", "UnknownRequest", "answer_type"]


class UnknownRequest(Unknown, RequestBody[Any], tag=UNKNOWN):
    """A request that this version does not know."""

    raw: dict[str, Any]


Body = (
    CanUseTool
    | HookCallback
    | McpMessage
    | Elicitation
    | RequestUserDialog
    | Initialize
    | Interrupt
    | EndSession
    | SetPermissionMode
    | SetModel
    | SetMaxThinkingTokens
    | RenameSession
    | GenerateSessionTitle
    | SetColor
    | GetContextUsage
    | GetSessionCost
    | GetUsage
    | ListModels
    | GetBinaryVersion
    | SideQuestion
    | McpStatus
    | McpCall
    | McpReadResource
    | McpSetServers
    | McpReconnect
    | McpToggle
    | FileSuggestions
    | RewindFiles
    | CancelAsyncMessage
    | ReadFile
    | SeedReadState
    | RegisterRepoRoot
    | ReloadPlugins
    | ReloadSkills
    | ReloadOutputStyles
    | SetHasSubscribers
    | StopTask
    | BackgroundTasks
    | GetTaskOutput
    | ApplyFlagSettings
    | UpdateSettings
    | GetSettings
    | GetHooksListing
    | ListPermissionRules
    | UnknownRequest
)

REQUESTS: dict[str, type[RequestBody[Any]]] = {
    body.__struct_config__.tag: body for body in get_args(Body) if body is not UnknownRequest
}
"""Every declared request by its subtype."""


@cache
def answer_type(body_type: type[RequestBody[Any]]) -> Any:
    """Give the type of a successful answer's payload: the parameter of the request's base."""
    bases = cast("Any", body_type).__orig_bases__
    return next(get_args(base)[0] for base in bases if get_origin(base) is RequestBody)
