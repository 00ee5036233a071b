"""What each option may be: one check per option, in one table."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from ..errors import OptionsError
from ..wire import AgentDefinition, PermissionMode, PluginConfig
from . import types as types
from .agents import Agent
from .frozen import EMPTY, thaw
from .values import (
    Check,
    choice,
    dollars,
    either,
    encodable,
    flag,
    frozen,
    json_object,
    mapping_of,
    path,
    prompt,
    quoted,
    session_uuid,
    struct,
    text,
    texts,
    whole_number,
)

if TYPE_CHECKING:
    from .cli import CLIOptions

__all__ = ["CHECKS", "checked"]

_LEAST_THINKING = 1024
"""The API refuses less."""

_RULE = re.compile(r"[^\s,()]+(\(.*\))?", re.DOTALL)
_SKILL = re.compile(r"[A-Za-z0-9][\w.:-]*", re.ASCII)
_FLAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")


def checked(options: CLIOptions) -> Iterator[tuple[str, Any]]:
    """Check every option by itself, and yield its value as it is to be kept."""
    for field in fields(options):
        value = getattr(options, field.name)
        check = CHECKS.get(field.name)
        if check is None or (value is None and field.default is None):
            continue
        kept = check(field.name, value)
        # What is on the machine that the CLI runs on is none of ours.
        local = field.name in _PATHS and not options.remote
        ours = local or field.name == "cwd" or isinstance(kept, Path)
        yield field.name, _absolute(kept) if ours else kept


def _absolute(value: Any) -> Any:
    """Make paths independent of what the current directory will be later on."""
    if isinstance(value, tuple):
        return tuple(map(_absolute, value))
    if isinstance(value, PluginConfig):
        return msgspec.structs.replace(value, path=_absolute(value.path))
    if isinstance(value, Path):
        return Path(_absolute(str(value)))
    return os.path.abspath(os.path.expanduser(value)) if isinstance(value, str) else value


# --- rules and names -----------------------------------------------------------------------------


def _rules(name: str, value: Any) -> tuple[str, ...]:
    return tuple(_rule(name, rule.strip()) for rule in texts(name, value))


def _rule(name: str, rule: str) -> str:
    """Refuse a rule that the CLI would not read as it is written.

    On a command line it takes a comma or a space for the end of a rule, unless it stands between
    an opening bracket and the *first* closing one. What is left of the rule then allows something
    else than was meant.
    """
    if not _RULE.fullmatch(rule):
        form = "a tool's name, or a name and brackets such as Bash(git status:*)"
        raise OptionsError(f"{name}: the rule {quoted(rule)} is not {form}")
    inside = False
    for character in rule:
        inside = character == "(" or (inside and character != ")")
        if not inside and character in ", \t\n":
            key = "allow" if name == "allowed_tools" else "deny"
            raise OptionsError(
                f"{name}: the CLI would take the rule {quoted(rule)} for several rules, because "
                "of a comma or space behind a closing bracket. "
                f"Give it in settings={{'permissions': {{{key!r}: […]}}}} instead"
            )
    return rule


def _builtin_tools(name: str, value: Any) -> tuple[str, ...] | str:
    if value == "default":
        return "default"
    names = texts(name, value)
    for each in names:
        if not re.fullmatch(r"[^\s,()]+", each):
            advice = "; rules belong into allowed_tools or disallowed_tools" if "(" in each else ""
            raise OptionsError(f"{name}: {quoted(each)} is not the name of a tool{advice}")
    return names


def _skills(name: str, value: Any) -> tuple[str, ...] | str:
    if value == "all":
        return "all"
    names = texts(name, value)
    for each in names:
        if not _SKILL.fullmatch(each):
            form = "letters, digits, and any of . : _ - behind the first"
            raise OptionsError(f"{name}: {quoted(each)} is not the name of a skill ({form})")
    return names


def _names(name: str, value: Any) -> tuple[str, ...]:
    """Take names that are joined with commas on the command line."""
    names = texts(name, value)
    for each in names:
        if re.search(r"[\s,]", each):
            raise OptionsError(f"{name}: there is a space or a comma in {quoted(each)}")
    return names


def _sources(name: str, value: Any) -> tuple[str, ...]:
    check = choice(*get_args(types.SettingSource))
    return tuple(check(f"{name}[{i}]", each) for i, each in enumerate(texts(name, value)))


def _paths(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str | os.PathLike):
        raise OptionsError(f"{name} must be a list of paths; did you mean [{quoted(value)}]?")
    if not isinstance(value, list | tuple):
        raise OptionsError(f"{name} must be a list of paths, not {quoted(value)}")
    return tuple(path(f"{name}[{i}]", each) for i, each in enumerate(value))


# --- objects -------------------------------------------------------------------------------------


def _cli(name: str, value: Any) -> str | tuple[str, ...]:
    if isinstance(value, str | os.PathLike):
        return path(name, value)
    command = texts(name, value)
    if not command:
        raise OptionsError(f"{name} is an empty command; leave it out to have the CLI looked for")
    return command


def _environment(name: str, value: Any) -> Any:
    variables = mapping_of(lambda _, item: item)(name, value)
    for key, item in variables.items():
        if "=" in key:
            raise OptionsError(f"{name}: the name of a variable cannot hold '=': {quoted(key)}")
        if item is not None and not isinstance(item, str):
            raise OptionsError(f"{name}[{key!r}] must be a text, or None to take it away")
        if item is not None and ("\0" in item or not encodable(item)):
            raise OptionsError(f"{name}[{key!r}] contains a NUL or half a character")
    return variables


def _extra_arguments(name: str, value: Any) -> Any:
    extra = mapping_of(_extra_value)(name, value)
    for key in extra:
        if not _FLAG.fullmatch(key):
            form = "written without its dashes and without a value: {'flag': 'value'}"
            raise OptionsError(f"{name}: {quoted(key)} is no flag; it is {form}")
    return extra


def _extra_value(name: str, value: Any) -> str | tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, str):
        return "" if value == "" else text(name, value)
    if isinstance(value, bool | int | float | Mapping):
        raise OptionsError(f"{name} must be a text, a list of texts, or None for no value")
    return texts(name, value)


def _server(name: str, value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        value = msgspec.to_builtins(thaw(frozen(name, value)))
    if not isinstance(value, Mapping) and isinstance(getattr(value, "name", None), str):
        return value  # a server inside this process; the session connects to it
    if isinstance(value, Mapping) and value.get("type") == "sdk":
        raise OptionsError(f"{name} is inside this process: give the server object itself")
    server = json_object(name, value)
    if not isinstance(server.get("command", server.get("url")), str):
        raise OptionsError(f"{name} needs a command that starts the server, or its url")
    for key in ("env", "headers"):
        items = server.get(key, EMPTY)
        if not isinstance(items, Mapping) or not all(isinstance(it, str) for it in items.values()):
            raise OptionsError(f"{name}[{key!r}] must be a mapping from texts to texts")
    return server


def _servers(name: str, value: Any) -> Any:
    if isinstance(value, str | os.PathLike):
        raise OptionsError(f"{name} must be a mapping; a file goes to mcp_config=[{quoted(value)}]")
    if isinstance(value, list | tuple):
        value = _by_name(name, value)
    return mapping_of(_server)(name, value)


def _by_name(name: str, servers: Sequence[Any]) -> dict[str, Any]:
    """Take servers inside this process by the names that they have."""
    found: dict[str, Any] = {}
    for index, server in enumerate(servers):
        called = None if isinstance(server, Mapping) else getattr(server, "name", None)
        if not isinstance(called, str):
            raise OptionsError(
                f"{name}[{index}] is not a ToolServer or a server of the `mcp` package: "
                f"{quoted(server)}. Other servers need a name: {name}={{'name': …}}"
            )
        if called in found:
            raise OptionsError(f"There are two MCP servers called {called}")
        found[called] = server
    return found


def _agent(name: str, value: Any) -> AgentDefinition:
    if isinstance(value, Agent):
        value = value.definition()
    if isinstance(value, AgentDefinition):
        value = msgspec.to_builtins(thaw(frozen(name, value)))  # a record may hold anything
    if not isinstance(value, Mapping):
        raise OptionsError(f"{name} must be an AgentDefinition or a mapping, not {quoted(value)}")
    agent: AgentDefinition = frozen(name, struct(name, value, AgentDefinition))
    if not agent.description or not agent.prompt:
        raise OptionsError(f"{name} needs a description, for when to use it, and a prompt")
    return agent


def _plugin(name: str, value: Any) -> PluginConfig:
    if isinstance(value, str | os.PathLike):
        return PluginConfig(path(name, value))
    plugin = struct(name, value, PluginConfig) if isinstance(value, Mapping) else value
    if not isinstance(plugin, PluginConfig):
        raise OptionsError(f"{name} must be the path of a plugin, not {quoted(value)}")
    if plugin.type != "local":
        raise OptionsError(f"{name}: there are only local plugins, not {quoted(plugin.type)}")
    path(name, plugin.path)
    return plugin


def _plugins(name: str, value: Any) -> tuple[PluginConfig, ...]:
    if not isinstance(value, list | tuple):
        raise OptionsError(f"{name} must be a list of plugins, not {quoted(value)}")
    return tuple(_plugin(f"{name}[{i}]", each) for i, each in enumerate(value))


def _settings(name: str, value: Any) -> Any:
    """Take an object, a path, or JSON, which can be told by its bracket."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return (json_object if isinstance(value, Mapping) else path)(name, value)
    try:
        return json_object(name, msgspec.json.decode(value))
    except msgspec.DecodeError as error:
        raise OptionsError(f"{name} looks like JSON, but is none: {error}") from None


_thinking = either(
    str,
    choice("adaptive", "disabled"),
    whole_number(_LEAST_THINKING, why="the API refuses less; 'disabled' turns thinking off"),
)

_one_prompt = (str, os.PathLike, Mapping, bool, int, float, bytes)


def _prompt_blocks(name: str, value: Any) -> Any:
    return (prompt if isinstance(value, _one_prompt) else texts)(name, value)


CHECKS: dict[str, Check] = {
    "cli": _cli,
    "cwd": path,
    "add_dirs": _paths,
    "worktree": either(str, text, flag),
    "project_config_root": path,
    "env": _environment,
    "client_app": text,
    "extra_args": _extra_arguments,
    "model": text,
    "fallback_model": either(str, text, _names),
    "effort": choice(*get_args(types.Effort)),
    "thinking": _thinking,
    "thinking_display": choice(*get_args(types.ThinkingDisplay)),
    "max_turns": whole_number(1),
    "max_budget_usd": dollars,
    "task_budget": whole_number(1),
    "autocompact": either(str, choice("auto"), whole_number(100_000, 1_000_000)),
    "advisor": text,
    "betas": _names,
    "system_prompt": _prompt_blocks,
    "append_system_prompt": prompt,
    "append_subagent_system_prompt": prompt,
    "plan_mode_instructions": text,
    "json_schema": json_object,
    "builtin_tools": _builtin_tools,
    "allowed_tools": _rules,
    "disallowed_tools": _rules,
    "permission_mode": choice(*get_args(PermissionMode)),
    "permission_prompts": choice(*get_args(types.PermissionPrompts)),
    "tool_aliases": mapping_of(text),
    "question_preview_format": choice(*get_args(types.PreviewFormat)),
    "mcp_servers": _servers,
    "mcp_config": _paths,
    "agent": text,
    "agents": mapping_of(_agent),
    "plugins": _plugins,
    "plugin_urls": _names,
    "plugin_delivery": choice(*get_args(types.PluginDelivery)),
    "skills": _skills,
    "setting_sources": _sources,
    "settings": _settings,
    "managed_settings": json_object,
    "sandbox": json_object,
    "resume": text,
    "session_id": session_uuid,
    "resume_session_at": text,
    "resume_drops_turn": text,
    "title": text,
    "supported_dialog_kinds": texts,
    "debug": either(str, text, flag),
    "debug_file": path,
    **dict.fromkeys(
        (
            "remote",
            "clean_env",
            "exclude_dynamic_sections",
            "system_prompt_snapshot",
            "verbatim_prompts",
            "allow_dangerously_skip_permissions",
            "strict_mcp_config",
            "disable_slash_commands",
            "bare",
            "safe_mode",
            "restricted",
            "continue_conversation",
            "fork_session",
            "persist_session",
            "session_mirror",
            "enable_file_checkpointing",
            "include_partial_messages",
            "include_hook_events",
            "forward_subagent_text",
            "replay_user_messages",
            "prompt_suggestions",
            "agent_progress_summaries",
            "per_task_stop_affordance",
            "enable_auth_status",
        ),
        flag,
    ),
}

_PATHS = {
    "add_dirs",
    "project_config_root",
    "mcp_config",
    "plugins",
    "settings",
    "debug_file",
}
