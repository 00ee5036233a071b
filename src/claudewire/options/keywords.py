"""The options, and settings of the CLI, as dictionaries with known keys: for type checkers.

A module of its own, which nothing here loads: to make these classes takes a millisecond.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal

    from ..hooks import Hooks
    from ..people import (
        AnswerForm,
        DialogHandler,
        ElicitationHandler,
        Inbox,
        PermissionHandler,
        Person,
        PlanHandler,
        PolicyLike,
        QuestionHandler,
    )
    from ..policy import DecisionRecord
    from ..tools import AnyTool, ToolServer
    from ..tracking import Budget, Price
    from ..wire import AgentDefinition, PermissionMode
    from .agents import Agent
    from .limits import Patience, Timeouts, Unread
    from .types import (
        CLI,
        AutoCompact,
        Effort,
        JSONObject,
        McpServers,
        PermissionPrompts,
        Plugin,
        PluginDelivery,
        PreviewFormat,
        SettingSource,
        StrPath,
        Thinking,
        ThinkingDisplay,
    )

__all__ = ["OptionsDict", "OptionsWithoutOutput", "SandboxNetworkSettings", "SandboxSettings"]


class OptionsWithoutOutput(TypedDict, total=False):
    """The fields of `Options` but for `output`."""

    cli: CLI | None
    remote: bool
    cwd: StrPath | None
    add_dirs: Sequence[StrPath]
    worktree: str | bool
    project_config_root: StrPath | None
    env: Mapping[str, str | None]
    clean_env: bool
    client_app: str | None
    extra_args: Mapping[str, str | Sequence[str] | None]

    model: str | None
    fallback_model: str | Sequence[str] | None
    effort: Effort | None
    thinking: Thinking | None
    thinking_display: ThinkingDisplay | None
    max_turns: int | None
    max_budget_usd: float | None
    task_budget: int | None
    autocompact: AutoCompact | None
    advisor: str | None
    betas: Sequence[str]

    system_prompt: str | os.PathLike[str] | Sequence[str] | None
    append_system_prompt: str | os.PathLike[str] | None
    append_subagent_system_prompt: str | os.PathLike[str] | None
    exclude_dynamic_sections: bool
    system_prompt_snapshot: bool | None
    plan_mode_instructions: str | None
    json_schema: JSONObject | None
    verbatim_prompts: bool

    builtin_tools: Sequence[str] | Literal["default"] | None
    allowed_tools: Sequence[str]
    disallowed_tools: Sequence[str]
    permission_mode: PermissionMode | None
    allow_dangerously_skip_permissions: bool
    permission_prompts: PermissionPrompts | None
    tool_aliases: Mapping[str, str]
    question_preview_format: PreviewFormat | None

    mcp_servers: McpServers
    mcp_config: Sequence[StrPath]
    strict_mcp_config: bool
    agent: str | None
    agents: Mapping[str, Agent | AgentDefinition | JSONObject]
    plugins: Sequence[Plugin]
    plugin_urls: Sequence[str]
    plugin_delivery: PluginDelivery
    skills: Sequence[str] | Literal["all"] | None
    disable_slash_commands: bool

    setting_sources: Sequence[SettingSource] | None
    settings: JSONObject | StrPath | None
    managed_settings: JSONObject | None
    sandbox: SandboxSettings | JSONObject | None
    bare: bool
    safe_mode: bool
    restricted: bool

    resume: str | None
    continue_conversation: bool
    fork_session: bool
    session_id: str | None
    resume_session_at: str | None
    resume_drops_turn: str | None
    persist_session: bool
    session_mirror: bool
    title: str | None
    enable_file_checkpointing: bool

    include_partial_messages: bool
    include_hook_events: bool
    forward_subagent_text: bool
    replay_user_messages: bool
    prompt_suggestions: bool
    agent_progress_summaries: bool
    per_task_stop_affordance: bool
    supported_dialog_kinds: Sequence[str]
    enable_auth_status: bool
    debug: bool | str
    debug_file: StrPath | None

    tools: Sequence[AnyTool | Callable[..., Any] | ToolServer]
    hooks: Hooks | Mapping[str, Any] | None
    allow: Sequence[str]
    ask: Sequence[str]
    deny: Sequence[str]
    on_permission: PermissionHandler | None
    on_question: QuestionHandler | None
    on_plan: PlanHandler | None
    on_elicitation: ElicitationHandler | None
    on_dialog: DialogHandler | None
    person: Person | Literal["inbox"] | None
    policy: PolicyLike | None
    inbox: Inbox | None
    decide_within: float | None
    tell_errors: bool
    answer_form: AnswerForm | None
    audit: Callable[[DecisionRecord], object] | None
    audit_contents: bool
    accept_shadowed: bool
    repairs: int
    budgets: Sequence[Budget]
    prices: Mapping[str, Price]
    patience: Patience | None
    timeouts: Timeouts
    unread: Unread
    name: str | None
    on_stderr: Callable[[str], object] | None
    shared: bool
    dialect: str
    handshake: bool
    max_line: int


class OptionsDict(OptionsWithoutOutput, total=False):
    """The fields of `Options`, for `**options: Unpack[OptionsDict]`."""

    output: Any


class SandboxNetworkSettings(TypedDict, total=False):
    """What commands in the sandbox may reach."""

    allowedDomains: Sequence[str]
    deniedDomains: Sequence[str]
    allowManagedDomainsOnly: bool
    allowUnixSockets: Sequence[str]
    allowAllUnixSockets: bool
    allowLocalBinding: bool
    allowMachLookup: Sequence[str]
    httpProxyPort: int
    socksProxyPort: int


class SandboxSettings(TypedDict, total=False):
    """How the CLI confines the commands that it runs; the names are those of its settings."""

    enabled: bool
    failIfUnavailable: bool
    autoAllowBashIfSandboxed: bool
    excludedCommands: Sequence[str]
    allowUnsandboxedCommands: bool
    network: SandboxNetworkSettings
    ignoreViolations: Mapping[str, Sequence[str]]
    enableWeakerNestedSandbox: bool
