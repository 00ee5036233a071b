"""What the CLI can be asked for: its command line, its environment and its `initialize`.

How a session behaves on our side of the pipe is not here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any, Literal

from ..errors import redact
from ..wire import AgentDefinition, PermissionMode
from .checks import checked
from .conflicts import check_together
from .frozen import EMPTY, thaw
from .types import (
    CLI,
    AutoCompact,
    Effort,
    JSONObject,
    McpServers,
    NamedServer,
    PermissionPrompts,
    Plugin,
    PluginDelivery,
    PreviewFormat,
    SandboxSettings,
    SettingSource,
    StrPath,
    Thinking,
    ThinkingDisplay,
)

__all__ = ["CLIOptions", "configured_servers", "default_of", "given", "hosted_servers"]

_HIDDEN = {"agents", "env", "extra_args", "managed_settings", "mcp_servers", "settings"}
"""Options that may hold secrets, or much: of these `repr` shows the names alone."""

_SHOWN = 60
"""Characters of a long text that `repr` shows: enough to tell which one it is."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CLIOptions:
    """What the CLI is asked for. Whatever is not given is left to the CLI.

    Options are checked when they are made, and cannot be changed afterwards: lists and mappings
    are copied. A path is taken relative to the current directory, and `~` is the home directory.

    Raises:
        OptionsError: an option, or several together, make no sense.
    """

    # --- which CLI, and where --------------------------------------------------------------------

    cli: CLI | None = None
    """The program, or a command that runs it; `"simulated"` for the one that is built in."""
    remote: bool = False
    """The CLI sees other files than we do: it runs on another machine or in a container. Nothing
    is then passed in temporary files: system prompts go through `initialize` (known since 2.1.17),
    MCP servers and settings stand on the command line, for all on that machine to see. Paths are
    passed as they are and not looked at, but for `cwd`, which is always the process's own."""
    cwd: StrPath | None = None
    """The directory to work in."""
    add_dirs: Sequence[StrPath] = ()
    """Further directories that tools may work in."""
    worktree: str | bool = False
    """Work in a new git worktree, of this name or any."""
    project_config_root: StrPath | None = None
    """Where the project's configuration is, if not in `cwd`."""
    env: Mapping[str, str | None] = EMPTY
    """Variables to set, or with None to take away, in the environment that the CLI inherits."""
    clean_env: bool = False
    """Inherit nothing but what any program needs, such as `PATH` and `HOME`; `env` comes on
    top. `claudewire.launch` has the list."""
    client_app: str | None = None
    """What your program is called: part of the CLI's User-Agent."""
    extra_args: Mapping[str, str | Sequence[str] | None] = EMPTY
    """Flags that have no option here, without their dashes: a value, several, or None if the flag
    takes none."""

    # --- the model -------------------------------------------------------------------------------

    model: str | None = None
    """A name such as `claude-sonnet-4-5`, or an alias such as `sonnet`."""
    fallback_model: str | Sequence[str] | None = None
    """Which model to use while the first is overloaded; or several, to be tried in turn."""
    effort: Effort | None = None
    """How hard the model is to try."""
    thinking: Thinking | None = None
    """`"adaptive"`, `"disabled"`, or how many tokens to think at most, 1024 at least."""
    thinking_display: ThinkingDisplay | None = None
    """How much of the thinking is shown."""
    max_turns: int | None = None
    """How often the model may be called for one prompt, 1 at least."""
    max_budget_usd: float | None = None
    """The CLI stops when, by its own estimate, so many dollars have been spent."""
    task_budget: int | None = None
    """How many tokens the model is told that it has for the task."""
    autocompact: AutoCompact | None = None
    """At how many tokens the conversation is summarised, 100,000 to 1,000,000, or `"auto"`."""
    advisor: str | None = None
    """A second model that the first may ask."""
    betas: Sequence[str] = ()
    """Features of the API that are in beta, by the names that its header takes."""

    # --- what the model is told ------------------------------------------------------------------

    system_prompt: str | os.PathLike[str] | Sequence[str] | None = None
    """Instead of the CLI's own prompt, which stays if this is not given: a text, a `Path` to one,
    or several blocks, which only CLIs as new as 2.1.325 take. An empty text is an empty prompt."""
    append_system_prompt: str | os.PathLike[str] | None = None
    """What follows the system prompt: a text, or a `Path` to one."""
    append_subagent_system_prompt: str | os.PathLike[str] | None = None
    """What follows the system prompts of subagents: a text, or a `Path` to one."""
    exclude_dynamic_sections: bool = False
    """Keep what differs between machines out of the CLI's own prompt, so that it can be cached."""
    system_prompt_snapshot: bool | None = None
    """Whether a resumed conversation keeps the system prompt that it began with. It does."""
    plan_mode_instructions: str | None = None
    """What the model is told in plan mode, instead of the CLI's own words."""
    json_schema: JSONObject | None = None
    """The model is to answer with an object of this schema, by calling a tool."""
    verbatim_prompts: bool = False
    """Prompts are passed on as they are: no commands, mentions or shortcuts in them."""

    # --- tools and permissions -------------------------------------------------------------------

    builtin_tools: Sequence[str] | Literal["default"] | None = None
    """The only built-in tools of the CLI that there are; none at all if empty."""
    allowed_tools: Sequence[str] = ()
    """Rules for what may be done without asking: `Read`, `Bash(git status:*)`. What no rule
    covers is not forbidden: it is asked for."""
    disallowed_tools: Sequence[str] = ()
    """Rules for what may not be done. They win over all others."""
    permission_mode: PermissionMode | None = None
    """What is done about tools that no rule decides. `manual` is another word for `default`."""
    allow_dangerously_skip_permissions: bool = False
    """Make it possible to change to the mode `bypassPermissions` later."""
    permission_prompts: PermissionPrompts | None = None
    """Who is asked: the host, or nobody, and then the answer is no."""
    tool_aliases: Mapping[str, str] = EMPTY
    """The tools that take the place of others: from a built-in name to another tool's."""
    question_preview_format: PreviewFormat | None = None
    """In which form the model writes previews of the options in its questions."""

    # --- servers, agents, plugins, skills --------------------------------------------------------

    mcp_servers: McpServers = EMPTY
    """MCP servers by name: configurations of those that the CLI starts or connects to, and server
    objects inside this process, `ToolServer`s or servers of the `mcp` package. Configurations may
    hold secrets: they reach the CLI in a file that only it and this user can read."""
    mcp_config: Sequence[StrPath] = ()
    """Files that define MCP servers."""
    strict_mcp_config: bool = False
    """Use no other MCP servers than those given here."""
    agent: str | None = None
    """The agent that takes the part of the main one."""
    agents: Mapping[str, AgentDefinition | JSONObject] = EMPTY
    """Subagents, by name."""
    plugins: Sequence[Plugin] = ()
    """Directories or `.zip` files of plugins."""
    plugin_urls: Sequence[str] = ()
    """Where to fetch the `.zip` files of more plugins."""
    plugin_delivery: PluginDelivery = "flags"
    """How the CLI is told of `plugins`: by flags, or (since 2.1.261) in `initialize`."""
    skills: Sequence[str] | Literal["all"] | None = None
    """Skills that may be used without asking. A list also hides the others."""
    disable_slash_commands: bool = False
    """There are no skills and no commands."""

    # --- settings --------------------------------------------------------------------------------

    setting_sources: Sequence[SettingSource] | None = None
    """Which settings files are read; all if not given, none if empty."""
    settings: JSONObject | StrPath | None = None
    """More settings, which win over those in files: an object, a file, or JSON as a text."""
    managed_settings: JSONObject | None = None
    """Settings that can only restrict, as an administrator would give them."""
    sandbox: SandboxSettings | JSONObject | None = None
    """How commands are confined; part of the settings. If enabled, the CLI refuses to start where
    there can be no sandbox, unless `failIfUnavailable` says otherwise."""
    bare: bool = False
    """Leave out hooks, plugins, memory, CLAUDE.md and the keychain."""
    safe_mode: bool = False
    """Leave out everything that can be customised."""
    restricted: bool = False
    """Leave out tools that run commands or fetch pages, and settings files."""

    # --- which conversation ----------------------------------------------------------------------

    resume: str | None = None
    """The id of a conversation to go on with."""
    continue_conversation: bool = False
    """Go on with the latest conversation in this directory."""
    fork_session: bool = False
    """Do not add to the conversation that is gone on with: begin a new one from it."""
    session_id: str | None = None
    """The id, a UUID, of the new conversation."""
    resume_session_at: str | None = None
    """Go on from this message, by its uuid, and forget what came after."""
    resume_drops_turn: str | None = None
    """The uuid of the prompt whose turn `resume_session_at` forgets."""
    persist_session: bool = True
    """Keep the conversation on disk. If not, it cannot be resumed."""
    session_mirror: bool = False
    """Report everything that is kept on disk, in `transcript_mirror` messages."""
    title: str | None = None
    """What lists of conversations call this one."""
    enable_file_checkpointing: bool = False
    """Remember files as they were, so that changes to them can be taken back."""

    # --- what the CLI reports --------------------------------------------------------------------

    include_partial_messages: bool = False
    """Report messages of the model while they are being written."""
    include_hook_events: bool = False
    """Report when hooks run."""
    forward_subagent_text: bool = False
    """Report what subagents say and think, and not only what tools they use."""
    replay_user_messages: bool = False
    """Report prompts when they have been taken up."""
    prompt_suggestions: bool = False
    """Report after each turn what the user may want to say next."""
    agent_progress_summaries: bool = False
    """Report in a few words what subagents are doing."""
    per_task_stop_affordance: bool = False
    """There is a way to stop single tasks, so an interrupt spares those in the background."""
    supported_dialog_kinds: Sequence[str] = ()
    """Which dialogs the host can show; for the others it is not asked."""
    enable_auth_status: bool = False
    """Report how far a login has come."""
    debug: bool | str = False
    """Log what the CLI does; of some categories only, if named: `"api,hooks"`."""
    debug_file: StrPath | None = None
    """Where that log goes."""

    def __post_init__(self) -> None:
        for name, value in checked(self):
            object.__setattr__(self, name, value)
        check_together(self)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_shown(name, value)}" for name, value in self._given())
        return f"{type(self).__name__}({shown})"

    def _given(self) -> Iterator[tuple[str, Any]]:
        return given(self)


def configured_servers(options: CLIOptions) -> dict[str, Any]:
    """Give the MCP servers that the CLI starts or connects to, as it reads them."""
    return {name: thaw(it) for name, it in _servers(options) if isinstance(it, Mapping)}


def hosted_servers(options: CLIOptions) -> dict[str, NamedServer]:
    """Give the MCP servers inside this process."""
    return {name: it for name, it in _servers(options) if not isinstance(it, Mapping)}


def _servers(options: CLIOptions) -> Iterable[tuple[str, Any]]:
    assert isinstance(options.mcp_servers, Mapping)  # it has become one when it was checked
    return options.mcp_servers.items()


def given(options: CLIOptions) -> Iterator[tuple[str, Any]]:
    """Yield the options that are not as they are by default."""
    for field in fields(options):
        value = getattr(options, field.name)
        if value != default_of(field):
            yield field.name, value


def default_of(field: Field[Any]) -> Any:
    """Give the value of an option that is not given."""
    return field.default if field.default_factory is MISSING else field.default_factory()


def _shown(name: str, value: Any) -> str:
    if name in _HIDDEN and isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: …" for key in value) + "}"
    if isinstance(value, str) and len(value) > _SHOWN:
        return redact(f"{value[:_SHOWN]!r}…", home="")
    return redact(repr(value), home="")
