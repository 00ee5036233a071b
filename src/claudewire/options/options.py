"""The options of a session: one table, with the way of each to the CLI."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, TypedDict, Unpack

from msgspec import Struct

from ..errors import OptionsError, redact
from ..tracking import Budget, Price
from ..wire import AUTO, DIALECTS, MAX_LINE, AgentDefinition, PermissionMode
from . import checks
from .agents import Agent, agent_definitions, check_servers
from .checks import Check, absolute, checked, hidden_values, similar
from .types import (
    CLI,
    AutoCompact,
    Effort,
    JSONObject,
    McpServers,
    NamedServer,
    PermissionPrompts,
    Plugin,
    PreviewFormat,
    SettingSource,
    StallTimeouts,
    StrPath,
    Thinking,
    ThinkingDisplay,
    Timeouts,
    UnreadLimit,
)

if TYPE_CHECKING:
    from ..approvals import (
        AnswerForm,
        Approver,
        DialogHandler,
        ElicitationHandler,
        Inbox,
        PermissionHandler,
        PlanHandler,
        PolicyLike,
        QuestionHandler,
    )
    from ..hooks import Hooks
    from ..policy import DecisionRecord
    from ..tools import AnyTool, ToolServer

TOOLS_SERVER = "claudewire"
"""The MCP server of the functions in `tools`: the model sees `mcp__claudewire__NAME`."""

EMPTY: Mapping[Any, Any] = MappingProxyType({})

_SHOWN = 60
"""Characters of a long string in `repr`."""


class Declaration(Struct, frozen=True):
    """One option.

    Attributes:
        default: the value of the option unless it is given.
        flag: the flag of the CLI that is written: once with the value, once for each value of a
            list, or alone if the value is True.
        flags: other flags that mean this option.
        words: the words on the command line, if `flag` does not give them.
        variable: the environment variable that gets the value.
        initialize: True if it is the field of the same name of the `initialize` request.
        check: replaces the check of the type.
        least: the lowest number.
        needs: options of which one must be given too.
        excludes: options that must not be given too.
        place: the target of its paths: a `directory`, a `file`, a `new file` or `any` of them, on
            the machine of the CLI (`cwd` is here); or a `prompt`, where only a `Path` is a path, to
            a file on this machine.
        is_secret: True if it may contain secrets or prompts, so that `repr` and errors hide it.
    """

    default: Any = None
    flag: str | None = None
    flags: tuple[str, ...] = ()
    words: Callable[[Any], Iterable[str]] | None = None
    variable: str | None = None
    initialize: bool = False
    check: Check | None = None
    least: int | None = None
    needs: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    place: str | None = None
    is_secret: bool = False

    @property
    def all_flags(self) -> tuple[str, ...]:
        """All flags that mean this option."""
        return self.flags if self.flag is None else (self.flag, *self.flags)

    def kept(self, name: str, value: Any, *, remote: bool = False) -> Any:
        """Check a value, and return its frozen copy."""
        if value is None and self.default is None:
            return None
        with hidden_values() if self.is_secret else nullcontext():
            if self.check is not None:
                value = self.check(name, value)
            else:
                value = checked(name, value, _type_of(name), least=self.least)
        has_path = self.place not in (None, "prompt")
        return absolute(value) if has_path and (name == "cwd" or not remote) else value

    def arguments(self, value: Any) -> Iterable[str]:
        """Return the words of a value on the command line."""
        if self.words is not None:
            return self.words(value)
        if self.flag is None or value is None or value is False:
            return ()
        if value is True:
            return (self.flag,)
        return [f"{self.flag}={it}" for it in (value if isinstance(value, tuple) else [value])]


def option(default: Any, flag: str | None = None, **how: Any) -> Any:
    """Declare an option: a field of `Options`. The keywords are those of `Declaration`."""
    return Declaration(default, flag, **how)


def _prompt(flag: str) -> Any:
    """Declare a prompt: a string, or a `Path` to a file, for which there is another flag."""
    flags = (f"{flag}-file", flag)
    return option(None, flags=flags, check=checks.prompt, place="prompt", is_secret=True)


def _extra_words(extra: Mapping[str, Any]) -> Iterator[str]:
    for name, value in extra.items():
        values = value if isinstance(value, tuple) else [value]
        yield from (f"--{name}" if it is None else f"--{name}={it}" for it in values)


class Options:
    """The settings of a session. The CLI decides about options that are not given.

    Options are checked when they are made, and cannot be changed afterwards: lists and mappings
    are copied. Paths are relative to the current directory, and `~` is the home directory.

    Raises:
        OptionsError: an option is unknown, invalid, or conflicts with another.
    """

    # --- which CLI, and where --------------------------------------------------------------------

    cli: CLI | None = option(None)
    """The program, or a command that runs it; `"simulated"` for the built-in one."""
    remote: bool = option(False)
    """The CLI runs on another machine or in a container, and sees other files than this process.
    Temporary files are not used then: system prompts are sent in `initialize`, MCP servers and
    settings stand on the command line, visible to everyone on that machine. Paths are passed
    unchanged and unchecked, except `cwd`, the directory of the process here."""
    cwd: StrPath | None = option(None, place="directory")
    """The directory to work in."""
    add_dirs: Sequence[StrPath] = option((), "--add-dir", place="directory")
    """Further directories that tools may work in."""
    worktree: str | bool = option(False, "--worktree")
    """Work in a new git worktree, with this name or any."""
    project_config_root: StrPath | None = option(None, "--project-config-root", place="directory")
    """The directory of the project's configuration, if not `cwd`."""
    env: Mapping[str, str | None] = option(EMPTY, is_secret=True)
    """Variables to set, or with None to remove, in the environment that the CLI inherits."""
    clean_env: bool = option(False)
    """Inherit only variables that every program needs, such as `PATH` and `HOME`, and add `env`.
    `claudewire.launch` has the list."""
    client_app: str | None = option(None, variable="CLAUDE_AGENT_SDK_CLIENT_APP")
    """The name of your program: part of the CLI's User-Agent."""
    extra_args: Mapping[str, str | Sequence[str] | None] = option(
        EMPTY, words=_extra_words, check=checks.extra_arguments, is_secret=True
    )
    """Flags that have no option here, without their dashes: a value, several, or None if the flag
    takes none."""

    # --- the model -------------------------------------------------------------------------------

    model: str | None = option(None, "--model")
    """A name such as `claude-sonnet-4-5`, or an alias such as `sonnet`."""
    fallback_model: str | Sequence[str] | None = option(
        None,
        flags=("--fallback-model",),
        words=lambda it: [f"--fallback-model={it if isinstance(it, str) else ','.join(it)}"],
    )
    """The model to use while the first is overloaded; or several, to try in turn."""
    effort: Effort | None = option(None, "--effort")
    """How hard the model should try."""
    thinking: Thinking | None = option(
        None,
        flags=("--max-thinking-tokens", "--thinking"),
        words=lambda it: [
            f"--thinking={it}" if isinstance(it, str) else f"--max-thinking-tokens={it}"
        ],
        least=1024,
    )
    """`"adaptive"`, `"disabled"`, or the maximum number of tokens to think, 1024 or more."""
    thinking_display: ThinkingDisplay | None = option(None, "--thinking-display")
    """How much of the thinking is shown."""
    max_turns: int | None = option(None, "--max-turns", least=1)
    """The maximum number of model calls for one prompt."""
    max_budget_usd: float | None = option(None, "--max-budget-usd")
    """The CLI stops when its own estimate of the cost reaches this many dollars."""
    task_budget: int | None = option(None, "--task-budget", least=1)
    """The number of tokens that the CLI tells the model to use for the task."""
    autocompact: AutoCompact | None = option(None, "--autocompact", least=100_000)
    """The number of tokens at which the CLI summarises the conversation, or `"auto"`."""
    advisor: str | None = option(None, "--advisor")
    """A second model that the first may ask."""
    betas: Sequence[str] = option((), "--betas")
    """Beta features of the API, by the names in its header."""

    # --- prompts ---------------------------------------------------------------------------------

    system_prompt: str | os.PathLike[str] | Sequence[str] | None = _prompt("--system-prompt")
    """Replaces the CLI's own prompt: a string, a `Path` to a file, or several blocks, which CLIs
    before 2.1.197 ignore. An empty string is an empty prompt."""
    append_system_prompt: str | os.PathLike[str] | None = _prompt("--append-system-prompt")
    """Extends the system prompt: a string, or a `Path` to a file."""
    append_subagent_system_prompt: str | os.PathLike[str] | None = _prompt(
        "--append-subagent-system-prompt"
    )
    """Extends the system prompts of subagents: a string, or a `Path` to a file."""
    exclude_dynamic_sections: bool = option(
        False, "--exclude-dynamic-system-prompt-sections", excludes=("system_prompt",)
    )
    """Keep sections that differ between machines out of the CLI's own prompt, so that it can be
    cached."""
    system_prompt_snapshot: bool | None = option(
        None,
        flags=("--system-prompt-snapshot",),
        words=lambda it: [f"--system-prompt-snapshot={'on' if it else 'off'}"],
    )
    """A resumed conversation keeps its first system prompt; by default it does."""
    plan_mode_instructions: str | None = option(
        None, flags=("--plan-mode-instructions",), initialize=True
    )
    """Instructions for plan mode, in place of the CLI's own."""
    json_schema: JSONObject | None = option(None, flags=("--json-schema",), initialize=True)
    """The model answers with an object of this schema, by calling a tool."""
    verbatim_prompts: bool = option(False)
    """The CLI looks for no commands or mentions in prompts."""

    # --- tools and permissions -------------------------------------------------------------------

    builtin_tools: Sequence[str] | Literal["default"] | None = option(
        None,
        flags=("--tools",),
        words=lambda it: [f"--tools={name}" for name in ([it] if it == "default" else it or [""])],
        check=checks.tool_names,
    )
    """The built-in tools of the CLI that exist; all if not given, none if empty."""
    allowed_tools: Sequence[str] = option(
        (), "--allowedTools", flags=("--allowed-tools",), check=checks.rules
    )
    """The CLI's own rules for tools it allows without asking: `Read`, `Bash(git status:*)`. Other
    tools are not forbidden: the CLI asks. See also `allow`."""
    disallowed_tools: Sequence[str] = option(
        (), "--disallowedTools", flags=("--disallowed-tools",), check=checks.rules
    )
    """The CLI's own rules for tools it refuses. They win over all others."""
    permission_mode: PermissionMode | None = option(
        None,
        flags=("--permission-mode", "--dangerously-skip-permissions"),
        words=lambda it: [f"--permission-mode={'default' if it == 'manual' else it}"],
    )
    """The CLI's decision about tools without a rule. `manual` is a new name for `default`."""
    allow_dangerously_skip_permissions: bool = option(False, "--allow-dangerously-skip-permissions")
    """Make it possible to change to the mode `bypassPermissions` later."""
    permission_prompts: PermissionPrompts | None = option(None, "--permission-prompts")
    """Whom the CLI asks: the host, or no one, and then the answer is no."""
    tool_aliases: Mapping[str, str] = option(EMPTY, initialize=True)
    """Replacements for built-in tools: from a built-in name to the name of another tool."""
    question_preview_format: PreviewFormat | None = option(
        None, variable="CLAUDE_CODE_QUESTION_PREVIEW_FORMAT"
    )
    """The format of the previews that the model writes for the options in its questions."""

    # --- servers, agents, plugins, skills --------------------------------------------------------

    mcp_servers: McpServers = option(
        EMPTY, flags=("--mcp-config",), check=checks.mcp_servers, is_secret=True
    )
    """MCP servers by name: configurations of servers that the CLI starts or connects to, and server
    objects inside this process, `ToolServer`s or servers of the `mcp` package. Configurations may
    hold secrets: they reach the CLI in a file that only it and this user can read."""
    mcp_config: Sequence[StrPath] = option((), "--mcp-config", place="file")
    """Files that define MCP servers."""
    strict_mcp_config: bool = option(False, "--strict-mcp-config")
    """Use no MCP servers beyond those given here."""
    agent: str | None = option(None, "--agent")
    """The agent that acts as the main one."""
    agents: Mapping[str, Agent | AgentDefinition | JSONObject] = option(
        EMPTY, flags=("--agents",), initialize=True, check=agent_definitions, is_secret=True
    )
    """Subagents, by name: see `Agent`."""
    plugins: Sequence[Plugin] = option(
        (),
        flags=("--plugin-dir", "--plugin-dir-no-mcp"),
        words=lambda it: [
            f"--plugin-dir{'-no-mcp' * bool(each.skip_mcp_discovery)}={each.path}" for each in it
        ],
        check=checks.plugins,
        place="any",
    )
    """Directories or `.zip` files of plugins."""
    plugin_urls: Sequence[str] = option((), "--plugin-url")
    """URLs of the `.zip` files of more plugins."""
    skills: Sequence[str] | Literal["all"] | None = option(
        None,
        words=lambda it: [
            f"--allowedTools=Skill{name}"
            for name in ([""] if it == "all" else map("({})".format, it))
        ],
        check=checks.skill_names,
        excludes=("disable_slash_commands",),
    )
    """Skills that may be used without asking. A list also hides the others."""
    disable_slash_commands: bool = option(False, "--disable-slash-commands")
    """Turn off skills and commands."""

    # --- settings --------------------------------------------------------------------------------

    setting_sources: Sequence[SettingSource] | None = option(
        None,
        flags=("--setting-sources",),
        words=lambda it: ["--setting-sources", ",".join(it)],
    )
    """The settings files to read; all if not given, none if empty."""
    settings: JSONObject | StrPath | None = option(
        None, flags=("--settings",), check=checks.settings, place="file", is_secret=True
    )
    """More settings, which win over those in files: an object, a file, or JSON as a string."""
    managed_settings: JSONObject | None = option(
        None,
        flags=("--managed-settings", "--managed-settings-in-initialize", "--await-initialize"),
        words=lambda it: ["--await-initialize", "--managed-settings-in-initialize"],
        initialize=True,
        is_secret=True,
    )
    """Settings that can only restrict, like those of an administrator."""
    sandbox: JSONObject | None = option(None)
    """The sandbox for commands, a part of the settings. If enabled, the CLI refuses to start
    without a sandbox, unless `failIfUnavailable` is False."""
    bare: bool = option(False, "--bare")
    """Leave out hooks, plugins, memory, CLAUDE.md and the keychain."""
    safe_mode: bool = option(False, "--safe-mode")
    """Leave out everything that can be customised."""
    restricted: bool = option(False, "--restricted")
    """Leave out tools that run commands or fetch pages, and settings files."""

    # --- which conversation ----------------------------------------------------------------------

    resume: str | None = option(None, "--resume", excludes=("continue_conversation",))
    """The id of a conversation to continue."""
    continue_conversation: bool = option(False, "--continue")
    """Continue the latest conversation in this directory."""
    fork_session: bool = option(False, "--fork-session", needs=("resume", "continue_conversation"))
    """Begin a new conversation from the continued one, which stays unchanged."""
    session_id: str | None = option(None, "--session-id", check=checks.session_uuid)
    """The id, a UUID, of the new conversation."""
    resume_session_at: str | None = option(None, "--resume-session-at", needs=("resume",))
    """Continue after this message, by its uuid, and forget later ones."""
    resume_drops_turn: str | None = option(
        None, "--resume-drops-turn", needs=("resume_session_at",)
    )
    """The uuid of the prompt whose turn `resume_session_at` forgets."""
    persist_session: bool = option(
        True,
        flags=("--no-session-persistence",),
        words=lambda it: ["--no-session-persistence"],
    )
    """Keep the conversation on disk. If not, it cannot be resumed."""
    session_mirror: bool = option(
        False, "--session-mirror", excludes=("enable_file_checkpointing",)
    )
    """Report everything that is written to disk, in `transcript_mirror` messages."""
    title: str | None = option(None, initialize=True)
    """The title of the conversation in lists."""
    enable_file_checkpointing: bool = option(
        False, variable="CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"
    )
    """Remember the content of files, so that changes to them can be undone."""

    # --- reports of the CLI ----------------------------------------------------------------------

    include_partial_messages: bool = option(False, "--include-partial-messages")
    """Report messages of the model while it writes them."""
    include_hook_events: bool = option(False, "--include-hook-events")
    """Report when hooks run."""
    forward_subagent_text: bool = option(False, "--forward-subagent-text")
    """Report the text and the thinking of subagents, not only their tools."""
    replay_user_messages: bool = option(False, "--replay-user-messages")
    """Report prompts when the CLI takes them up."""
    prompt_suggestions: bool = option(False, "--prompt-suggestions")
    """Suggest a next prompt after each turn."""
    agent_progress_summaries: bool = option(False, initialize=True)
    """Report the progress of subagents in a few words."""
    per_task_stop_affordance: bool = option(False, initialize=True)
    """The application can stop single tasks, so an interrupt spares those in the background."""
    supported_dialog_kinds: Sequence[str] = option((), initialize=True)
    """The kinds of dialogs that the application can show; the CLI asks for no others."""
    enable_auth_status: bool = option(False, "--enable-auth-status")
    """Report the progress of a login."""
    debug: bool | str = option(False, "--debug")
    """Log the work of the CLI; only some categories, if named: `"api,hooks"`."""
    debug_file: StrPath | None = option(None, "--debug-file", place="new file")
    """The file for that log."""

    # --- questions to the application ------------------------------------------------------------

    tools: Sequence[AnyTool | Callable[..., Any] | ToolServer] = option((), check=checks.tools)
    """Python functions that the model may call as tools, and servers that group some."""
    hooks: Hooks | Mapping[str, Any] | None = option(None, check=checks.hooks)
    """Functions that are called at events in the CLI."""
    allow: Sequence[str] = option(())
    """Rules for tools that run without asking a person: `Read`, `Bash(git status:*)`.
    `allow`, `ask` and `deny` are short for `policy=Policy(allow=…, ask=…, deny=…)`."""
    ask: Sequence[str] = option(())
    """Rules for tools that need a person's approval each time."""
    deny: Sequence[str] = option(
        (), words=lambda it: [f"--disallowedTools={rule}" for rule in it], check=checks.rules
    )
    """Rules for forbidden tools. They also go to the CLI, as `disallowed_tools` do: a policy sees
    only the CLI's questions, and the CLI reads the project without asking."""
    on_permission: PermissionHandler | None = option(None, check=checks.handler)
    """Decides whether a tool may run. Without a decision it does not."""
    on_question: QuestionHandler | None = option(None, check=checks.handler)
    """Answers questions of the model."""
    on_plan: PlanHandler | None = option(None, check=checks.handler)
    """Approves plans, or refuses them."""
    on_elicitation: ElicitationHandler | None = option(None, check=checks.handler)
    """Answers questions of MCP servers."""
    on_dialog: DialogHandler | None = option(None, check=checks.handler)
    """Shows dialogs."""
    approver: Approver | Literal["inbox"] | None = option(None, check=checks.approver)
    """Answers all requests without a handler; `"inbox"` if your program reads the inbox."""
    policy: PolicyLike | None = option(None, check=checks.policy, excludes=("allow", "ask", "deny"))
    """Decides whether tools may run, before a person is asked. `allow`, `ask`, `deny` make one."""
    inbox: Inbox | None = option(None)
    """Holds all requests that wait for a person; one inbox can serve several sessions."""
    decide_within: float | None = option(None)
    """The seconds until a request without a decision is denied; None to wait forever."""
    tell_errors: bool = option(False)
    """Tell the model the exception that a handler raised."""
    answer_form: AnswerForm | None = option(None)
    """The form of answers to questions: see `AnswerForm`; None for the dialect's own."""
    audit: Callable[[DecisionRecord], object] | None = option(None)
    """Called with a record of each decision."""
    audit_contents: bool = option(False)
    """Include questions and answers in these records, with secrets redacted."""
    accept_shadowed: bool = option(False)
    """Allow handlers and policies that the CLI would never ask."""

    # --- the answer ------------------------------------------------------------------------------

    output: Any = option(None, check=checks.output, excludes=("json_schema",))
    """The type of the output: a dataclass, TypedDict, msgspec or pydantic type, or a schema."""
    repairs: int = option(0, least=0)
    """How often `ask` and `run` ask again for output that does not match its type."""

    # --- limits and bounds -----------------------------------------------------------------------

    budgets: Sequence[Budget] = option(())
    """Limits that the session itself enforces."""
    prices: Mapping[str, Price] = option(EMPTY)
    """The price of tokens, by model, instead of the CLI's own."""
    patience: StallTimeouts | None = option(StallTimeouts())
    """The length of each kind of silence, and the action after it; None to not watch."""
    timeouts: Timeouts = option(Timeouts())
    """Limits on everything else that takes time."""
    unread: UnreadLimit = option(UnreadLimit())
    """The treatment of messages that the application does not read."""

    # --- the wire --------------------------------------------------------------------------------

    name: str | None = option(None)
    """The name of the session in its inbox, in logs and in errors; `session-1` and so on by
    default. Two sessions may have the same name."""
    on_stderr: Callable[[str], object] | None = option(None)
    """Called with pieces of the CLI's stderr, not lines. Errors have its tail in any case."""
    shared: bool = option(False)
    """Open a conversation although another session of this library has it open."""
    dialect: str = option(AUTO, check=partial(checked, kind=Literal[AUTO, *DIALECTS]))
    """The dialect to write; `auto` for the CLI's own. With a name, the system prompt and MCP
    servers also reach the CLI as the document of that dialect says."""
    handshake: bool = option(True)
    """Begin with `initialize`. Without it the CLI learns of no hooks and no tools."""
    max_line: int = option(MAX_LINE, least=1)
    """Longer lines, in bytes, are not kept: each becomes an `Oversize` event."""

    def __init__(self, **options: Unpack[OptionsDict]) -> None:
        given: dict[str, Any] = {**options}
        for name in given:
            if name not in DECLARATIONS:
                raise _unknown_option(name)
        remote = given.get("remote") is True
        # An object holds only the options that were given: the defaults are on the class.
        for name, declared in DECLARATIONS.items():
            if name in given:
                vars(self)[name] = declared.kept(name, given[name], remote=remote)
        _check_together(self)
        if self.agents:
            check_servers(given["agents"], _server_names(self))
        if _has_rules(self):
            from ..policy import Policy  # slow to import

            vars(self)["policy"] = Policy(allow=self.allow, ask=self.ask, deny=self.deny)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_shown(name, value)}" for name, value in given_options(self))
        return f"{type(self).__name__}({shown})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in DECLARATIONS)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("Options cannot change; make a copy with replace()")

    def replace(self, **changes: Unpack[OptionsDict]) -> Self:
        """Return a copy of the options with some changed.

        Raises:
            OptionsError: an option is unknown, invalid, or conflicts with another.
        """
        return type(self)(**{**_given(self), **changes})

    __replace__ = replace  # for `copy.replace`

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], table: str = "") -> Self:
        """Read options from a TOML file.

        Args:
            path: the file.
            table: the table of the options, such as `tool.claudewire`; the whole file if empty.

        Raises:
            OptionsError: the file cannot be read, has no such table, or has invalid options.
        """
        try:
            return cls(**_load(path, table))
        except OptionsError as error:
            raise OptionsError(f"{os.fspath(path)}: {error}") from error


DECLARATIONS: dict[str, Declaration] = {
    name: it for name, it in vars(Options).items() if isinstance(it, Declaration)
}
"""Every option, by its name."""

for _name, _declared in DECLARATIONS.items():
    setattr(Options, _name, _declared.default)


def _type_of(name: str) -> Any:
    annotation = Options.__annotations__[name]
    try:
        return eval(annotation, globals())
    except NameError:
        from .. import approvals, policy  # slow to import, and few options need them

        return eval(annotation, {**vars(policy), **vars(approvals), **globals()})


class OptionsWithoutOutput(TypedDict, total=False):
    """The fields of `Options` except `output`."""

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
    skills: Sequence[str] | Literal["all"] | None
    disable_slash_commands: bool

    setting_sources: Sequence[SettingSource] | None
    settings: JSONObject | StrPath | None
    managed_settings: JSONObject | None
    sandbox: JSONObject | None
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
    approver: Approver | Literal["inbox"] | None
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
    patience: StallTimeouts | None
    timeouts: Timeouts
    unread: UnreadLimit
    name: str | None
    on_stderr: Callable[[str], object] | None
    shared: bool
    dialect: str
    handshake: bool
    max_line: int


class OptionsDict(OptionsWithoutOutput, total=False):
    """The fields of `Options`, for `**options: Unpack[OptionsDict]`."""

    output: Any


# --- mistakes ------------------------------------------------------------------------------------

FIXED_FLAGS = frozenset(
    {
        "--await-claim",
        "--help",
        "--input-format",
        "--output-format",
        "--permission-prompt-tool",
        "--print",
        "--sdk-url",
        "--verbose",
        "--version",
    }
)
"""Flags that the session sets, or that would make one impossible."""


def _check_together(options: Options) -> None:
    """Check options that are valid one by one: some conflict, or need others."""
    given = {name for name, it in vars(options).items() if it != DECLARATIONS[name].default}
    for name in given:
        declared = DECLARATIONS[name]
        if declared.needs and given.isdisjoint(declared.needs):
            raise OptionsError(f"{name} needs {' or '.join(declared.needs)}")
        for other in given.intersection(declared.excludes):
            raise OptionsError(f"{name} and {other} exclude each other; give one of them")
    for problem in _conflicts(options):
        raise OptionsError(problem)
    for name in options.extra_args:
        if f"--{name}" in FIXED_FLAGS:
            raise OptionsError(f"extra_args: the session itself sets --{name}")
        for option, declared in DECLARATIONS.items():
            if f"--{name}" in declared.all_flags:
                raise OptionsError(f"extra_args: for --{name} there is the option {option}")


def _conflicts(it: Options) -> Iterator[str]:
    """Report combinations that the CLI would silently accept."""
    tools: Any = it.builtin_tools
    if it.skills and tools not in (None, "default") and "Skill" not in tools:
        yield "skills need the tool Skill, which builtin_tools does not name"
    if it.session_mirror and not it.persist_session:
        yield "session_mirror reports the conversation on disk; persist_session=False keeps none"
    if isinstance(it.settings, Mapping) and it.sandbox and "sandbox" in it.settings:
        yield "the sandbox is described twice: in sandbox and in settings['sandbox']"
    if isinstance(it.settings, str) and it.sandbox is not None and it.remote:
        yield "sandbox cannot be added to settings in a file on another machine (remote=True)"


_CALLED_OTHERWISE = {
    "abort_controller": "session.interrupt(), or the end of `async with`",
    "additional_directories": "add_dirs",
    "api_key": "env={'ANTHROPIC_API_KEY': …}, or that variable in your own environment",
    "can_use_tool": "on_permission, a function of one argument, the request",
    "cli_path": "cli",
    "continue": "continue_conversation",
    "debug_stderr": "on_stderr",
    "executable": "cli=['node', 'cli.js']",
    "executable_args": "cli=['node', …, 'cli.js']",
    "max_buffer_size": "max_line",
    "max_thinking_tokens": "thinking",
    "output_format": "output, a type or a JSON schema; or json_schema",
    "path_to_claude_code_executable": "cli",
    "permission_prompt_tool_name": "nothing: the session itself is asked",
    "prompt": "the first argument of run(…), or session.send(…)",
    "spawn_claude_code_process": "transport, an async function that starts a CLI",
    "stderr": "on_stderr",
    "tasks": "an argument of run(…) and wait_idle(…), beside the options",
    "timeout": "timeouts=Timeouts(…), or asyncio.timeout(…) around the call",
    "transport": "an argument of open(…), run(…) and Pool(…), beside the options",
    "user": "transport=functools.partial(claudewire.transport.spawn, user=…), an argument of open",
}
"""Names in the official SDKs and other programs, and their names here."""


def _unknown_option(key: str) -> OptionsError:
    """Make the error for an option that does not exist, with the name that was probably meant."""
    name = re.sub(r"([a-z])([A-Z])", r"\1_\2", key).replace("-", "_").lower()
    other = name if name in DECLARATIONS else _CALLED_OTHERWISE.get(name)
    if other is not None:
        return OptionsError(f"There is no option {key!r}; here it is {other}")
    close = similar(name, sorted(DECLARATIONS), 3)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    return OptionsError(f"There is no option {key!r}{hint}")


# --- access --------------------------------------------------------------------------------------


def check_options(options: object) -> Options:
    """Return the options, or the defaults for None.

    Raises:
        OptionsError: the object is not `Options`.
    """
    given = Options() if options is None else options
    if not isinstance(given, Options):
        raise OptionsError(
            f"options must be Options(…), got {type(given).__name__}. Pass single options as "
            "keyword arguments"
        )
    return given


def given_options(options: Options) -> Iterator[tuple[str, Any]]:
    """Yield the options that differ from their defaults, in the order of their declarations."""
    for name, value in _given(options).items():
        if value != DECLARATIONS[name].default:
            yield name, value


def _given(options: Options) -> dict[str, Any]:
    """Return the options that were given, without the policy that is made from rules."""
    derived = ("policy",) if _has_rules(options) else ()
    return {name: value for name, value in vars(options).items() if name not in derived}


def _has_rules(options: Options) -> bool:
    return bool(options.allow or options.ask or options.deny)


def _shown(name: str, value: Any) -> str:
    if DECLARATIONS[name].is_secret:
        if isinstance(value, Mapping):
            return "{" + ", ".join(f"{key!r}: …" for key in value) + "}"
        if not isinstance(value, os.PathLike):
            return f"<{checks.described(value)}>"
    if isinstance(value, str) and len(value) > _SHOWN:
        return redact(f"{value[:_SHOWN]!r}…", home="")
    return redact(repr({**value} if isinstance(value, Mapping) else value), home="")


def configured_servers(options: Options) -> dict[str, Any]:
    """Return the MCP servers that the CLI starts or connects to, as it reads them."""
    return {name: {**it} for name, it in _servers(options) if isinstance(it, Mapping)}


def hosted_servers(options: Options) -> dict[str, NamedServer]:
    """Return the MCP servers inside this process, except the one of `tools`."""
    return {name: it for name, it in _servers(options) if not isinstance(it, Mapping)}


def _servers(options: Options) -> Iterable[tuple[str, Any]]:
    assert isinstance(options.mcp_servers, Mapping)  # the check has made it one
    return options.mcp_servers.items()


def _server_names(options: Options) -> list[str]:
    groups: list[Any] = [it for it in options.tools if hasattr(it, "tools")]
    return [*(name for name, _ in _servers(options)), *(it.name for it in groups), TOOLS_SERVER]


def _load(path: StrPath, table: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            found: Any = tomllib.load(file)
    except (OSError, ValueError) as error:
        raise OptionsError(f"cannot be read: {error}") from error
    for part in table.split(".") if table else ():
        found = found.get(part) if isinstance(found, dict) else None
    if not isinstance(found, dict):
        raise OptionsError(f"there is no table [{table}]")
    return found
