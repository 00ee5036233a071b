"""Options of a session: made in code, from keyword arguments, or from a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

from ..errors import OptionsError
from ..wire import AUTO, DIALECTS, MAX_LINE, AgentDefinition, PermissionMode
from . import checks
from .checks import boolean, list_of, literal, string, strings, whole_number
from .conflicts import check_together
from .declaration import Declaration, Declared, option
from .frozen import EMPTY, thaw
from .limits import Patience, Timeouts, Unread
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
    SettingSource,
    StrPath,
    Thinking,
    ThinkingDisplay,
)

if TYPE_CHECKING:
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
    from .agents import Agent
    from .keywords import OptionsDict, SandboxSettings

__all__ = [
    "DECLARATIONS",
    "TOOLS_SERVER",
    "Options",
    "check_options",
    "configured_servers",
    "given_options",
    "hosted_servers",
    "option_of",
]

TOOLS_SERVER = "claudewire"
"""The MCP server of the functions in `tools`: the model sees `mcp__claudewire__NAME`."""

_SHOWN = 60
"""Characters of a long string that `repr` shows: enough to recognise it."""


class Options(Declared):
    """What a session can be asked for. What is not given is left to the CLI.

    Options are checked when they are made, and cannot be changed afterwards: lists and mappings
    are copied. A path is taken relative to the current directory, and `~` is the home directory.

    Raises:
        OptionsError: an option does not exist, or one or several together make no sense.
    """

    # --- which CLI, and where --------------------------------------------------------------------

    cli: CLI | None = option(None, checks.command)
    """The program, or a command that runs it; `"simulated"` for the one that is built in."""
    remote: bool = option(False, boolean)
    """The CLI runs on another machine or in a container, and sees other files than this process.
    Nothing is then passed in temporary files: system prompts go through `initialize` (to CLIs up to
    2.0.14 on the command line), MCP servers and settings are on the command line, visible to
    everyone on that machine. Paths are passed as they are and not checked, except `cwd`, which is
    that of the process here."""
    cwd: StrPath | None = option(None, checks.path, place="directory")
    """The directory to work in."""
    add_dirs: Sequence[StrPath] = option((), checks.paths, "--add-dir", place="directory")
    """Further directories that tools may work in."""
    worktree: str | bool = option(False, checks.string_or_boolean, "--worktree", since="2.1.100")
    """Work in a new git worktree, of this name or any."""
    project_config_root: StrPath | None = option(
        None, checks.path, "--project-config-root", since="2.1.325", place="directory"
    )
    """Where the project's configuration is, if not in `cwd`."""
    env: Mapping[str, str | None] = option(EMPTY, checks.environment, is_secret=True)
    """Variables to set, or with None to remove, in the environment that the CLI inherits."""
    clean_env: bool = option(False, boolean)
    """Inherit nothing but what any program needs, such as `PATH` and `HOME`; `env` comes on
    top. `claudewire.launch` has the list."""
    client_app: str | None = option(
        None, string, variable="CLAUDE_AGENT_SDK_CLIENT_APP", since="2.1.100"
    )
    """What your program is called: part of the CLI's User-Agent."""
    extra_args: Mapping[str, str | Sequence[str] | None] = option(
        EMPTY, checks.extra_arguments, is_secret=True
    )
    """Flags that have no option here, without their dashes: a value, several, or None if the flag
    takes none."""

    # --- the model -------------------------------------------------------------------------------

    model: str | None = option(None, string, "--model")
    """A name such as `claude-sonnet-4-5`, or an alias such as `sonnet`."""
    fallback_model: str | Sequence[str] | None = option(
        None, checks.name_or_names, flags=("--fallback-model",)
    )
    """Which model to use while the first is overloaded; or several, to be tried in turn."""
    effort: Effort | None = option(None, literal(Effort), "--effort", since="2.1.100")
    """How hard the model should try."""
    thinking: Thinking | None = option(
        None, checks.thinking, flags=("--max-thinking-tokens", "--thinking"), since="2.0.14"
    )
    """`"adaptive"`, `"disabled"`, or how many tokens to think at most, 1024 at least."""
    thinking_display: ThinkingDisplay | None = option(
        None, literal(ThinkingDisplay), "--thinking-display", since="2.1.100"
    )
    """How much of the thinking is shown."""
    max_turns: int | None = option(None, whole_number(1), "--max-turns")
    """How often the model may be called for one prompt, 1 at least."""
    max_budget_usd: float | None = option(None, checks.dollars, "--max-budget-usd", since="2.0.76")
    """The CLI stops when, by its own estimate, this many dollars have been spent."""
    task_budget: int | None = option(None, whole_number(1), "--task-budget", since="2.1.100")
    """How many tokens the model is told that it has for the task."""
    autocompact: AutoCompact | None = option(
        None, checks.autocompact, "--autocompact", since="2.1.250"
    )
    """At how many tokens the conversation is summarised, 100,000 to 1,000,000, or `"auto"`."""
    advisor: str | None = option(None, string, "--advisor", since="2.1.197")
    """A second model that the first may ask."""
    betas: Sequence[str] = option((), checks.names, "--betas", since="2.0.76")
    """Features of the API that are in beta, by the names that its header takes."""

    # --- what the model is told ------------------------------------------------------------------

    system_prompt: str | os.PathLike[str] | Sequence[str] | None = option(
        None,
        checks.prompt_blocks,
        flags=("--system-prompt-file", "--system-prompt"),
        place="prompt",
        is_secret=True,
    )
    """Replaces the CLI's own prompt: a string, a `Path` to a file, or several blocks, which a CLI
    that does not know blocks gets as one. An empty string is an empty prompt."""
    append_system_prompt: str | os.PathLike[str] | None = option(
        None,
        checks.prompt,
        flags=("--append-system-prompt-file", "--append-system-prompt"),
        place="prompt",
        is_secret=True,
    )
    """Is added to the system prompt: a string, or a `Path` to a file."""
    append_subagent_system_prompt: str | os.PathLike[str] | None = option(
        None,
        checks.prompt,
        flags=("--append-subagent-system-prompt-file", "--append-subagent-system-prompt"),
        since="2.1.325",
        place="prompt",
        is_secret=True,
    )
    """Is added to the system prompts of subagents: a string, or a `Path` to a file."""
    exclude_dynamic_sections: bool = option(
        False, boolean, "--exclude-dynamic-system-prompt-sections", since="2.1.100"
    )
    """Keep what differs between machines out of the CLI's own prompt, so that it can be cached."""
    system_prompt_snapshot: bool | None = option(
        None, boolean, flags=("--system-prompt-snapshot",), since="2.1.325"
    )
    """Whether a resumed conversation keeps the system prompt that it began with; by default yes."""
    plan_mode_instructions: str | None = option(
        None, string, initialize=True, flags=("--plan-mode-instructions",), since="2.1.197"
    )
    """What the model is told in plan mode, instead of the CLI's own instructions."""
    json_schema: JSONObject | None = option(
        None, checks.json_schema, initialize=True, flags=("--json-schema",), since="2.0.76"
    )
    """The model answers with an object of this schema, by calling a tool."""
    verbatim_prompts: bool = option(False, boolean, since="2.1.250")
    """Prompts are passed on as they are: the CLI looks for no commands or mentions in them."""

    # --- tools and permissions -------------------------------------------------------------------

    builtin_tools: Sequence[str] | Literal["default"] | None = option(
        None, checks.builtin_tools, flags=("--tools",)
    )
    """Names of the built-in tools of the CLI that exist; all if not given, none if empty. CLIs up
    to 2.0.14 are told to refuse the others, as far as these are known."""
    allowed_tools: Sequence[str] = option(
        (), checks.rules, flags=("--allowedTools", "--allowed-tools")
    )
    """The CLI's own rules for what it allows without asking: `Read`, `Bash(git status:*)`. What
    no rule covers is not forbidden: the CLI asks. See also `allow`."""
    disallowed_tools: Sequence[str] = option(
        (), checks.rules, "--disallowedTools", flags=("--disallowed-tools",)
    )
    """The CLI's own rules for what it refuses. They win over all others."""
    permission_mode: PermissionMode | None = option(
        None, literal(PermissionMode), flags=("--permission-mode", "--dangerously-skip-permissions")
    )
    """What the CLI does about tools that no rule covers. `manual` is a new name for `default`."""
    allow_dangerously_skip_permissions: bool = option(
        False, boolean, "--allow-dangerously-skip-permissions", since="2.0.76"
    )
    """Make it possible to change to the mode `bypassPermissions` later."""
    permission_prompts: PermissionPrompts | None = option(
        None, literal(PermissionPrompts), "--permission-prompts", since="2.1.325"
    )
    """Whom the CLI asks: the host, or no one, and then the answer is no."""
    tool_aliases: Mapping[str, str] = option(
        EMPTY, checks.mapping_of(string), initialize=True, since="2.1.197"
    )
    """The tools that take the place of others: from a built-in name to another tool's."""
    question_preview_format: PreviewFormat | None = option(
        None,
        literal(PreviewFormat),
        variable="CLAUDE_CODE_QUESTION_PREVIEW_FORMAT",
        since="2.1.100",
    )
    """The format of the previews that the model writes for the options in its questions."""

    # --- servers, agents, plugins, skills --------------------------------------------------------

    mcp_servers: McpServers = option(
        EMPTY, checks.mcp_servers, flags=("--mcp-config",), is_secret=True
    )
    """MCP servers by name: configurations of those that the CLI starts or connects to, and server
    objects inside this process, `ToolServer`s or servers of the `mcp` package. Configurations may
    hold secrets: they reach the CLI in a file that only it and this user can read."""
    mcp_config: Sequence[StrPath] = option((), checks.paths, "--mcp-config", place="file")
    """Files that define MCP servers."""
    strict_mcp_config: bool = option(False, boolean, "--strict-mcp-config")
    """Use only the MCP servers that are given here."""
    agent: str | None = option(None, string, "--agent", since="2.0.76")
    """The agent that is the main one."""
    agents: Mapping[str, Agent | AgentDefinition | JSONObject] = option(
        EMPTY,
        checks.agents,
        initialize=True,
        flags=("--agents",),
        is_secret=True,
    )
    """Subagents, by name: see `Agent`."""
    plugins: Sequence[Plugin] = option(
        (),
        list_of(checks.plugin),
        flags=("--plugin-dir", "--plugin-dir-no-mcp"),
        since="2.0.76",
        place="any",
    )
    """Directories or `.zip` files of plugins."""
    plugin_urls: Sequence[str] = option((), checks.names, "--plugin-url", since="2.1.197")
    """URLs of the `.zip` files of more plugins."""
    plugin_delivery: PluginDelivery = option(
        "flags", literal(PluginDelivery), flags=("--await-initialize",), since="2.1.325"
    )
    """How the CLI is told of `plugins`: by flags, or (since 2.1.261) in `initialize`."""
    skills: Sequence[str] | Literal["all"] | None = option(None, checks.skills, since="2.1.197")
    """Skills that may be used without asking. A list also hides the others."""
    disable_slash_commands: bool = option(
        False, boolean, "--disable-slash-commands", since="2.0.76"
    )
    """Turn off skills and commands."""

    # --- settings --------------------------------------------------------------------------------

    setting_sources: Sequence[SettingSource] | None = option(
        None, list_of(literal(SettingSource)), flags=("--setting-sources",)
    )
    """Which settings files are read; all if not given, none if empty."""
    settings: JSONObject | StrPath | None = option(
        None, checks.settings, flags=("--settings",), place="file", is_secret=True
    )
    """More settings, which win over those in files: an object, a file, or JSON as a string."""
    managed_settings: JSONObject | None = option(
        None,
        checks.json_object,
        flags=("--managed-settings", "--managed-settings-in-initialize"),
        since="2.1.325",
        is_secret=True,
    )
    """Settings that can only restrict, as an administrator would give them."""
    sandbox: SandboxSettings | JSONObject | None = option(None, checks.json_object, since="2.1.100")
    """How commands are confined; part of the settings. If enabled, the CLI refuses to start where
    it cannot have a sandbox, unless `failIfUnavailable` is False."""
    bare: bool = option(False, boolean, "--bare", since="2.1.100")
    """Leave out hooks, plugins, memory, CLAUDE.md and the keychain."""
    safe_mode: bool = option(False, boolean, "--safe-mode", since="2.1.197")
    """Leave out everything that can be customised."""
    restricted: bool = option(False, boolean, "--restricted", since="2.1.250")
    """Leave out tools that run commands or fetch pages, and settings files."""

    # --- which conversation ----------------------------------------------------------------------

    resume: str | None = option(None, string, "--resume")
    """The id of a conversation to continue."""
    continue_conversation: bool = option(False, boolean, "--continue")
    """Continue the latest conversation in this directory."""
    fork_session: bool = option(False, boolean, "--fork-session")
    """Do not add to the conversation that is continued: begin a new one from it."""
    session_id: str | None = option(None, checks.session_uuid, "--session-id")
    """The id, a UUID, of the new conversation."""
    resume_session_at: str | None = option(None, string, "--resume-session-at", since="2.0.76")
    """Continue from this message, by its uuid, and forget what came after it."""
    resume_drops_turn: str | None = option(None, string, "--resume-drops-turn", since="2.1.250")
    """The uuid of the prompt whose turn `resume_session_at` forgets."""
    persist_session: bool = option(
        True, boolean, flags=("--no-session-persistence",), since="2.0.76"
    )
    """Keep the conversation on disk. If not, it cannot be resumed."""
    session_mirror: bool = option(False, boolean, "--session-mirror", since="2.1.100")
    """Report everything that is written to disk, in `transcript_mirror` messages."""
    title: str | None = option(None, string, initialize=True, since="2.1.197")
    """The title of the conversation in lists."""
    enable_file_checkpointing: bool = option(
        False, boolean, variable="CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", since="2.0.76"
    )
    """Remember files as they were, so that changes to them can be undone."""

    # --- what the CLI reports --------------------------------------------------------------------

    include_partial_messages: bool = option(False, boolean, "--include-partial-messages")
    """Report messages of the model while they are being written."""
    include_hook_events: bool = option(False, boolean, "--include-hook-events", since="2.1.100")
    """Report when hooks run."""
    forward_subagent_text: bool = option(False, boolean, "--forward-subagent-text", since="2.1.250")
    """Report what subagents say and think, not only which tools they use."""
    replay_user_messages: bool = option(False, boolean, "--replay-user-messages", since="2.0.14")
    """Report prompts when they have been taken up. 1.0.128 takes the flag and reports nothing."""
    prompt_suggestions: bool = option(False, boolean, "--prompt-suggestions", since="2.1.197")
    """Suggest after each turn what the user may want to say next."""
    agent_progress_summaries: bool = option(False, boolean, initialize=True, since="2.1.100")
    """Report in a few words what subagents are doing."""
    per_task_stop_affordance: bool = option(False, boolean, initialize=True, since="2.1.250")
    """The application can stop single tasks, so an interrupt spares those in the background."""
    supported_dialog_kinds: Sequence[str] = option((), strings, initialize=True, since="2.1.197")
    """Which kinds of dialogs the application can show; the CLI does not ask for others."""
    enable_auth_status: bool = option(False, boolean, "--enable-auth-status", since="2.0.76")
    """Report the progress of a login."""
    debug: bool | str = option(False, checks.string_or_boolean, "--debug")
    """Log what the CLI does; of some categories only, if named: `"api,hooks"`."""
    debug_file: StrPath | None = option(
        None, checks.path, "--debug-file", since="2.1.100", place="new file"
    )
    """The file for that log."""

    # --- what the CLI asks the application -------------------------------------------------------

    tools: Sequence[AnyTool | Callable[..., Any] | ToolServer] = option((), checks.tools)
    """Python functions that the model may call as tools, and servers that group some."""
    hooks: Hooks | Mapping[str, Any] | None = option(None, checks.hooks)
    """Functions that are called when something happens in the CLI."""
    allow: Sequence[str] = option((), strings)
    """Rules for tools that may be used without asking a person: `Read`, `Bash(git status:*)`.
    `allow`, `ask` and `deny` are short for `policy=Policy(allow=…, ask=…, deny=…)`."""
    ask: Sequence[str] = option((), strings)
    """Rules for tools that a person is asked about each time."""
    deny: Sequence[str] = option((), checks.rules)
    """Rules for tools that must not be used. They also go to the CLI, as `disallowed_tools` do:
    a policy sees only what the CLI asks about, and it reads the project without asking."""
    on_permission: PermissionHandler | None = option(None, checks.handler)
    """Decides whether a tool may run. Without a decision it does not."""
    on_question: QuestionHandler | None = option(None, checks.handler)
    """Answers questions of the model."""
    on_plan: PlanHandler | None = option(None, checks.handler)
    """Approves plans, or refuses them."""
    on_elicitation: ElicitationHandler | None = option(None, checks.handler)
    """Answers questions of MCP servers."""
    on_dialog: DialogHandler | None = option(None, checks.handler)
    """Shows dialogs."""
    person: Person | Literal["inbox"] | None = option(None, checks.person)
    """Answers everything that has no handler of its own; `"inbox"` if the inbox is watched."""
    policy: PolicyLike | None = option(None, checks.policy)
    """Decides whether tools may run, before a person is asked. `allow`, `ask`, `deny` make one."""
    inbox: Inbox | None = option(None, checks.inbox)
    """Holds everything that a person has to decide; one inbox can serve several sessions."""
    decide_within: float | None = option(None, checks.seconds)
    """After how many seconds without a decision the answer is no; None to wait forever."""
    tell_errors: bool = option(False, boolean)
    """Whether the model is told which exception a handler raised."""
    answer_form: AnswerForm | None = option(None, checks.answer_form)
    """How answers to questions are written: see `AnswerForm`; None for what suits the dialect."""
    audit: Callable[[DecisionRecord], object] | None = option(None, checks.function)
    """Called with a record of each decision."""
    audit_contents: bool = option(False, boolean)
    """Whether these records also hold what was asked and answered, with secrets redacted."""
    accept_shadowed: bool = option(False, boolean)
    """Allow handlers and policies that the CLI would never ask."""

    # --- the answer ------------------------------------------------------------------------------

    output: Any = option(None, checks.output)
    """The type of the output: a dataclass, TypedDict, msgspec or pydantic type, or a schema."""
    repairs: int = option(0, whole_number(0))
    """How often `ask` and `run` ask again for output that does not match its type."""

    # --- limits and bounds -----------------------------------------------------------------------

    budgets: Sequence[Budget] = option((), checks.budgets)
    """Limits that the session itself enforces."""
    prices: Mapping[str, Price] = option(EMPTY, checks.prices)
    """What tokens cost, by model, instead of what the CLI says."""
    patience: Patience | None = option(Patience(), checks.optional(checks.instance(Patience)))
    """How long each kind of silence may last, and what happens then; None to not watch."""
    timeouts: Timeouts = option(Timeouts(), checks.instance(Timeouts))
    """How long everything else may take."""
    unread: Unread = option(Unread(), checks.instance(Unread))
    """What happens to messages that the application does not read."""

    # --- the wire --------------------------------------------------------------------------------

    name: str | None = option(None, checks.label)
    """What to call the session in its inbox, in logs and in errors; `session-1` and so on, if it is
    not given. Two sessions may have the same name."""
    on_stderr: Callable[[str], object] | None = option(None, checks.function)
    """Called with what the CLI writes to stderr. The last of it is kept for errors in any case."""
    shared: bool = option(False, boolean)
    """Open a conversation although another session of this library has it open."""
    dialect: str = option(AUTO, checks.choice(AUTO, *DIALECTS))
    """The dialect to write; `auto` to write as the CLI does. With a name, the system prompt and MCP
    servers are also given to the CLI as the document of that dialect says."""
    handshake: bool = option(True, boolean)
    """Begin with `initialize`. Without it the CLI learns of no hooks and no tools."""
    max_line: int = option(MAX_LINE, whole_number(1))
    """Lines of more bytes are not kept: each becomes an `Oversize` event."""

    def __init__(self, **options: Unpack[OptionsDict]) -> None:
        given: dict[str, Any] = {**options}
        for name in given:
            if name not in DECLARATIONS:
                from .hints import unknown_option

                raise OptionsError(unknown_option(name, DECLARATIONS))
        remote = given.get("remote") is True
        # Only what is given is kept here: the defaults are attributes of the class.
        for name in filter(given.__contains__, DECLARATIONS):
            value = DECLARATIONS[name].kept(name, given[name], remote=remote)
            object.__setattr__(self, name, value)
        check_together(self)
        if self.agents:
            from .agents import check_servers

            check_servers(given["agents"], _server_names(self))
        if _has_rules(self):
            object.__setattr__(self, "policy", _policy_of_rules(self))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_shown(name, value)}" for name, value in given_options(self))
        return f"{type(self).__name__}({shown})"

    def replace(self, **changes: Unpack[OptionsDict]) -> Self:
        """Return a copy of the options with some changed.

        Raises:
            OptionsError: an option does not exist, or the result makes no sense.
        """
        same: dict[str, Any] = {**vars(self)}
        if _has_rules(self):
            del same["policy"]  # it was made of them
        return type(self)(**{**same, **changes})

    __replace__ = replace  # for `copy.replace`

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Self:
        """Make options from a mapping, such as a table of a file.

        Raises:
            OptionsError: an option does not exist, or the options make no sense.
        """
        return cls(**mapping)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], table: str = "") -> Self:
        """Read options from a TOML file.

        Args:
            path: the file.
            table: the table that holds them, such as `tool.claudewire`; the whole file if empty.

        Raises:
            OptionsError: the file cannot be read, has no such table, or the options make no sense.
        """
        try:
            return cls.from_mapping(_load(path, table))
        except OptionsError as error:
            raise OptionsError(f"{os.fspath(path)}: {error}") from error


def check_options(options: object) -> Options:
    """Return the options, or the defaults for None.

    Raises:
        OptionsError: it is something else.
    """
    given = Options() if options is None else options
    if not isinstance(given, Options):
        kind = type(given).__name__
        raise OptionsError(
            f"options must be Options(…), not {kind}; pass single options as keyword arguments"
        )
    return given


DECLARATIONS: dict[str, Declaration] = Options._declarations
"""Every option, by its name."""

_BY_FLAG = {flag: name for name, it in reversed(DECLARATIONS.items()) for flag in it.all_flags}


def option_of(flag: str) -> str | None:
    """Say which option a flag of the CLI stands for; None if there is none."""
    return _BY_FLAG.get(flag)


def given_options(options: Options) -> Iterator[tuple[str, Any]]:
    """Yield the options that differ from their defaults, in the order of their declarations."""
    for name, value in vars(options).items():
        is_derived = name == "policy" and _has_rules(options)
        if value != DECLARATIONS[name].default and not is_derived:
            yield name, value


def _shown(name: str, value: Any) -> str:
    from ..errors import redact

    if DECLARATIONS[name].is_secret:
        if isinstance(value, Mapping):
            return "{" + ", ".join(f"{key!r}: …" for key in value) + "}"
        if not isinstance(value, os.PathLike):
            return f"<{checks.described(value)}>"
    if isinstance(value, str) and len(value) > _SHOWN:
        return redact(f"{value[:_SHOWN]!r}…", home="")
    return redact(repr(value), home="")


# --- rules and servers ---------------------------------------------------------------------------


def _has_rules(options: Options) -> bool:
    return bool(options.allow or options.ask or options.deny)


def _policy_of_rules(options: Options) -> PolicyLike:
    if options.policy is not None:
        raise OptionsError(
            "policy and allow, ask or deny both say which tools may be used; "
            "give one: the rules can stand in policy=Policy(allow=…, ask=…, deny=…)"
        )
    # Only when it is asked for: it takes a while to import.
    from ..policy import Policy

    return Policy(allow=options.allow, ask=options.ask, deny=options.deny)


def configured_servers(options: Options) -> dict[str, Any]:
    """Return the MCP servers that the CLI starts or connects to, as it reads them."""
    return {name: thaw(it) for name, it in _servers(options) if isinstance(it, Mapping)}


def hosted_servers(options: Options) -> dict[str, NamedServer]:
    """Return the MCP servers inside this process, but for those in `tools`."""
    return {name: it for name, it in _servers(options) if not isinstance(it, Mapping)}


def _servers(options: Options) -> Sequence[tuple[str, Any]]:
    assert isinstance(options.mcp_servers, Mapping)  # the check has made it one
    return tuple(options.mcp_servers.items())


def _server_names(options: Options) -> list[str]:
    groups: list[Any] = [it for it in options.tools if hasattr(it, "tools")]
    return [*(name for name, _ in _servers(options)), *(it.name for it in groups), TOOLS_SERVER]


# --- files ---------------------------------------------------------------------------------------


def _load(path: StrPath, table: str) -> Mapping[str, Any]:
    import tomllib

    try:
        with open(path, "rb") as file:
            found: Any = tomllib.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise OptionsError(f"cannot be read: {error}") from error
    for part in table.split(".") if table else ():
        found = found.get(part) if isinstance(found, dict) else None
        if not isinstance(found, dict):
            raise OptionsError(f"there is no table [{table}]")
    return found  # type: ignore[no-any-return]
