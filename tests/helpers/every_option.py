"""One example of each option that the CLI can be given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from claudewire.options import DECLARATIONS

NAMES = [*DECLARATIONS][: [*DECLARATIONS].index("tools")]
"""The options for the CLI; those for the session follow in the declarations."""

SESSION = "f81d4fae-7dec-41d0-a765-00a0c91e6bf6"
MESSAGE = "0a7f3c1e-5b0e-4d7b-9a52-6d1f0a3a7c11"
SCHEMA = {"type": "object", "properties": {"files": {"type": "integer"}}}
AGENT = {"description": "Use it for rhymes", "prompt": "You are a poet.", "tools": ["Read"]}
SERVER = {"command": "/there/is/no/such/server", "env": {"TOKEN": "s3cr3t-token"}}


def every_option(folder: Path) -> dict[str, Any]:
    """Return a value for each option; paths lead to files in the folder, which are made."""
    for name in ("project", "more", "plugin"):
        (folder / name).mkdir(exist_ok=True)
    settings = folder / "settings.json"
    settings.write_text('{"includeCoAuthoredBy": false}', encoding="utf-8")
    servers = folder / "servers.json"
    servers.write_text('{"mcpServers": {}}', encoding="utf-8")
    prompt = folder / "prompt.md"
    prompt.write_text("Subagents are brief.", encoding="utf-8")
    return {
        "cli": ["env", "claude"],
        "remote": True,
        "cwd": folder / "project",
        "add_dirs": [folder / "more"],
        "worktree": "side",
        "project_config_root": folder / "project",
        "env": {"TRACEPARENT": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
        "clean_env": True,
        "client_app": "example/1.0",
        "extra_args": {"brief": None, "workload": "nightly"},
        "model": "sonnet",
        "fallback_model": "haiku",
        "effort": "high",
        "thinking": "adaptive",
        "thinking_display": "summarized",
        "max_turns": 3,
        "max_budget_usd": 1.5,
        "task_budget": 20_000,
        "autocompact": 200_000,
        "advisor": "opus",
        "betas": ["context-1m-2025-08-07"],
        "system_prompt": "You are a bot.",
        "append_system_prompt": "Be brief.",
        "append_subagent_system_prompt": prompt,
        "exclude_dynamic_sections": True,
        "system_prompt_snapshot": False,
        "plan_mode_instructions": "Plan well.",
        "json_schema": SCHEMA,
        "verbatim_prompts": True,
        "builtin_tools": ["Read", "Bash"],
        "allowed_tools": ["Read", "Bash(git log, all:*)"],
        "disallowed_tools": ["WebFetch", "WebSearch"],
        "permission_mode": "acceptEdits",
        "allow_dangerously_skip_permissions": True,
        "permission_prompts": "host",
        "tool_aliases": {"Bash": "mcp__shell__run"},
        "question_preview_format": "markdown",
        "mcp_servers": {"lost": SERVER},
        "mcp_config": [servers],
        "strict_mcp_config": True,
        "agent": "Explore",
        "agents": {"poet": AGENT},
        "plugins": [folder / "plugin"],
        "plugin_urls": ["http://127.0.0.1:9/plugin.zip"],
        "skills": ["pdf"],
        "disable_slash_commands": True,
        "setting_sources": ["user", "project"],
        "settings": settings,
        "managed_settings": {"permissions": {"deny": ["NotebookEdit"]}},
        "sandbox": {"enabled": False},
        "bare": True,
        "safe_mode": True,
        "restricted": True,
        "resume": SESSION,
        "continue_conversation": True,
        "fork_session": True,
        "session_id": SESSION,
        "resume_session_at": MESSAGE,
        "resume_drops_turn": MESSAGE,
        "persist_session": False,
        "session_mirror": True,
        "title": "A test",
        "enable_file_checkpointing": True,
        "include_partial_messages": True,
        "include_hook_events": True,
        "forward_subagent_text": True,
        "replay_user_messages": True,
        "prompt_suggestions": True,
        "agent_progress_summaries": True,
        "per_task_stop_affordance": True,
        "supported_dialog_kinds": ["confirm"],
        "enable_auth_status": True,
        "debug": "api,hooks",
        "debug_file": folder / "debug.log",
    }


_SINCE = {
    "2.1.100": "agent_progress_summaries bare client_app debug_file effort "
    "exclude_dynamic_sections include_hook_events question_preview_format sandbox session_mirror "
    "task_budget thinking thinking_display worktree",
    "2.1.197": "advisor plan_mode_instructions plugin_urls prompt_suggestions safe_mode skills "
    "supported_dialog_kinds title tool_aliases",
    "2.1.250": "autocompact forward_subagent_text per_task_stop_affordance restricted "
    "resume_drops_turn verbatim_prompts",
    "2.1.325": "append_subagent_system_prompt managed_settings permission_prompts "
    "project_config_root system_prompt_snapshot",
}
SINCE = {name: version for version, names in _SINCE.items() for name in names.split()}
"""The measured version from which on a CLI knows the example, if 2.1.17 does not."""

NEEDS: dict[str, tuple[str, ...]] = {
    "fork_session": ("resume",),
    "resume_session_at": ("resume",),
    "resume_drops_turn": ("resume", "resume_session_at"),
}
"""The other options that an option requires."""


def alone(examples: dict[str, Any], name: str) -> dict[str, Any]:
    """Return one option and its required companions."""
    return {each: examples[each] for each in (name, *NEEDS.get(name, ()))}
