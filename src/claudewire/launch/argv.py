"""The command line of the CLI.

A value is one word with its flag, `--flag=value`, so that it cannot be taken for a flag. What is
large or secret is not there: it goes through `initialize`, or into a file that only we and the CLI
can read.

Measured on 1.0.128, 2.1.17 and 2.1.325, and the reason for what is done here:

* `--settings=…` and `--setting-sources=…` as one word are ignored by 1.0.128, in silence. As two
  words all understand them, so these two are.
* Several betas, tools or rules are given by repeating the flag. Betas joined with commas count as
  one with a strange name, and a rule may itself hold a comma.
* `--system-prompt-file` is known to all; `initialize` can bring the system prompt since 2.1.17, and
  as several blocks in 2.1.325: 2.1.17 then falls back to its own prompt, file or not. What is
  appended can come in a file, or through `initialize`, since 2.1.17. The file is preferred, for an
  older CLI then refuses to start rather than ignore it.
* Agents and the schema of the output need no flag besides `initialize`, since 2.1.17.
* `--mcp-config` and `--settings` take a file everywhere, `--managed-settings` and `--json-schema`
  nowhere; the former ignores it in silence.
* Where there is a flag and a field of `initialize` for the same small thing, they do the same, and
  the flag is used: an older CLI refuses it, and would ignore the field.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ..errors import OptionsError, Redactor
from ..options import CLIOptions, check_files, configured_servers, thaw
from ..wire import PluginConfig
from .command_length import check_length
from .initialize import text_of_prompt
from .private_files import PrivateFiles

__all__ = ["FIXED", "PrivateFiles", "arguments", "check_length", "redacted"]

FIXED = (
    "--output-format=stream-json",
    "--input-format=stream-json",
    "--verbose",
    "--permission-prompt-tool=stdio",
)
"""How we talk to the CLI, whatever the options are."""

_VALUES = {
    "model": "--model",
    "effort": "--effort",
    "thinking_display": "--thinking-display",
    "max_turns": "--max-turns",
    "max_budget_usd": "--max-budget-usd",
    "task_budget": "--task-budget",
    "autocompact": "--autocompact",
    "advisor": "--advisor",
    "permission_prompts": "--permission-prompts",
    "agent": "--agent",
    "project_config_root": "--project-config-root",
    "resume": "--resume",
    "session_id": "--session-id",
    "resume_session_at": "--resume-session-at",
    "resume_drops_turn": "--resume-drops-turn",
    "debug_file": "--debug-file",
}

_SWITCHES = {
    "allow_dangerously_skip_permissions": "--allow-dangerously-skip-permissions",
    "strict_mcp_config": "--strict-mcp-config",
    "disable_slash_commands": "--disable-slash-commands",
    "bare": "--bare",
    "safe_mode": "--safe-mode",
    "restricted": "--restricted",
    "continue_conversation": "--continue",
    "fork_session": "--fork-session",
    "session_mirror": "--session-mirror",
    "exclude_dynamic_sections": "--exclude-dynamic-system-prompt-sections",
    "include_partial_messages": "--include-partial-messages",
    "include_hook_events": "--include-hook-events",
    "forward_subagent_text": "--forward-subagent-text",
    "replay_user_messages": "--replay-user-messages",
    "prompt_suggestions": "--prompt-suggestions",
    "enable_auth_status": "--enable-auth-status",
}

_LISTS = {
    "add_dirs": "--add-dir",
    "betas": "--betas",
    "mcp_config": "--mcp-config",
    "plugin_urls": "--plugin-url",
    "disallowed_tools": "--disallowedTools",
}

_PROMPTS = {
    "system_prompt": "--system-prompt-file",
    "append_system_prompt": "--append-system-prompt-file",
    "append_subagent_system_prompt": "--append-subagent-system-prompt-file",
}


def arguments(options: CLIOptions, files: PrivateFiles) -> tuple[str, ...]:
    """Give the words that follow the name of the CLI.

    Args:
        options: what the CLI is asked for.
        files: takes what is large or secret. They must stay until the CLI has exited.

    Raises:
        OptionsError: a file that options name is not there, or something is too long.
        CLIError: a file cannot be written.
    """
    check_files(options)
    words = [
        *FIXED,
        *_simple(options),
        *_about_the_model(options),
        *_about_tools(options),
        *_about_plugins(options),
        *_prompts(options, files),
        *_servers(options, files),
        *_settings(options, files),
        *_others(options),
        *_extra(options),
    ]
    check_length(words)
    return tuple(words)


def _simple(options: CLIOptions) -> Iterator[str]:
    for name, flag in _VALUES.items():
        if (value := getattr(options, name)) is not None:
            yield f"{flag}={value}"
    for name, flag in _SWITCHES.items():
        if getattr(options, name):
            yield flag
    for name, flag in _LISTS.items():
        for value in getattr(options, name):
            yield f"{flag}={value}"


def _about_the_model(options: CLIOptions) -> Iterator[str]:
    if (thinking := options.thinking) is not None:
        flag = "--thinking" if isinstance(thinking, str) else "--max-thinking-tokens"
        yield f"{flag}={thinking}"
    if (fallback := options.fallback_model) is not None:
        yield f"--fallback-model={fallback if isinstance(fallback, str) else ','.join(fallback)}"


def _about_tools(options: CLIOptions) -> Iterator[str]:
    if (tools := options.builtin_tools) is not None:
        names = [tools] if isinstance(tools, str) else tools or [""]
        yield from (f"--tools={name}" for name in names)
    yield from (f"--allowedTools={rule}" for rule in [*options.allowed_tools, *_skills(options)])
    if (mode := options.permission_mode) is not None:
        # The newest CLI has a new word for the old mode, and still takes the old one.
        yield f"--permission-mode={'default' if mode == 'manual' else mode}"


def _skills(options: CLIOptions) -> list[str]:
    if options.skills == "all":
        return ["Skill"]
    return [f"Skill({name})" for name in options.skills or ()]


def _about_plugins(options: CLIOptions) -> Iterator[str]:
    if options.plugin_delivery == "initialize" or options.managed_settings is not None:
        yield "--await-initialize"
    if options.managed_settings is not None:
        yield "--managed-settings-in-initialize"
    if options.plugin_delivery == "flags":
        for plugin in options.plugins:
            assert isinstance(plugin, PluginConfig)  # it has become one when it was checked
            flag = "--plugin-dir-no-mcp" if plugin.skip_mcp_discovery else "--plugin-dir"
            yield f"{flag}={plugin.path}"


# --- what is large or secret ---------------------------------------------------------------------


def _prompts(options: CLIOptions, files: PrivateFiles) -> Iterator[str]:
    for name, flag in _PROMPTS.items():
        prompt = getattr(options, name)
        if not isinstance(prompt, str | Path):
            continue  # there is none, or it has several blocks
        if not options.remote:
            place = prompt if isinstance(prompt, Path) else files.write(f"{name}.txt", prompt)
            yield f"{flag}={place}"
        elif name == "append_subagent_system_prompt":  # initialize has no field for it
            yield f"--append-subagent-system-prompt={text_of_prompt(prompt)}"


def _servers(options: CLIOptions, files: PrivateFiles) -> Iterator[str]:
    if servers := configured_servers(options):
        text = _json({"mcpServers": servers})
        yield f"--mcp-config={text if options.remote else files.write('mcp-servers.json', text)}"


def _settings(options: CLIOptions, files: PrivateFiles) -> Iterator[str]:
    if options.setting_sources is not None:
        yield from ("--setting-sources", ",".join(options.setting_sources))
    settings = _with_sandbox(options)
    if isinstance(settings, str):
        yield from ("--settings", settings)
    elif settings is not None:
        text = _json(settings)
        yield from ("--settings", text if options.remote else files.write("settings.json", text))


def _with_sandbox(options: CLIOptions) -> str | dict[str, Any] | None:
    """Give the settings, as a path if they can be left in their file."""
    settings = options.settings
    if options.sandbox is None:
        return settings if isinstance(settings, str) else thaw(settings)
    loaded = _load(settings) if isinstance(settings, str) else thaw(settings or {})
    if "sandbox" in loaded:
        raise OptionsError(f"the sandbox is described twice: in sandbox and in {settings!r}")
    sandbox = thaw(options.sandbox)
    if sandbox.get("enabled"):
        # By itself the CLI would go on without: whoever asked for a sandbox relies on it.
        sandbox.setdefault("failIfUnavailable", True)
    return {**loaded, "sandbox": sandbox}


def _load(path: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError) as error:
        raise OptionsError(f"settings: {path!r} is no file of settings: {error}") from error


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


# --- the rest ------------------------------------------------------------------------------------


def _others(options: CLIOptions) -> Iterator[str]:
    if options.system_prompt_snapshot is not None:
        yield f"--system-prompt-snapshot={'on' if options.system_prompt_snapshot else 'off'}"
    if not options.persist_session:
        yield "--no-session-persistence"
    for flag, value in (("--worktree", options.worktree), ("--debug", options.debug)):
        if value:
            yield flag if value is True else f"{flag}={value}"


def _extra(options: CLIOptions) -> Iterator[str]:
    for name, value in options.extra_args.items():
        if value is None:
            yield f"--{name}"
        else:
            values = [value] if isinstance(value, str) else value
            yield from (f"--{name}={each}" for each in values)


def redacted(argv: Sequence[str]) -> tuple[str, ...]:
    """Give a command line as it may be logged: without JSON, prompts and secrets."""
    clean = Redactor()
    return tuple(_shown(word, clean) for word in argv)


def _shown(word: str, clean: Redactor) -> str:
    flag, equals, value = word.partition("=")
    if word.startswith("{"):
        return "<hidden>"
    if equals and (value.lstrip().startswith("{") or flag.endswith("-prompt")):
        return f"{flag}=<hidden>"
    return clean(word)
