"""The command line of the simulated CLI: the flags of the real one, and its errors.

A value is the next word or follows `=`. A flag with several values takes every word up to the next
flag.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from ..wire import PermissionMode
from .personas import LATEST

EFFORTS = ("low", "medium", "high", "xhigh", "max")


class EarlyExit(Exception):
    """The CLI ends without having started: its exit status and its output."""

    def __init__(self, status: int, stdout: str = "", stderr: str = "") -> None:
        super().__init__(status, stdout, stderr)
        self.status = status
        self.stdout = stdout
        self.stderr = stderr

    @classmethod
    def error(cls, text: str) -> EarlyExit:
        """Make the exit with an error message."""
        return cls(1, stderr=f"{text}\n")


class Flags(msgspec.Struct, frozen=True, kw_only=True):
    """The flags of one call that have an effect.

    A string is None if the flag was not given, and empty if it was given without a value.
    """

    prompt: str | None = None
    print_: bool = False
    output_format: Literal["text", "json", "stream-json"] = "text"
    input_format: Literal["text", "stream-json"] = "text"
    verbose: bool = False
    include_partial_messages: bool = False
    replay_user_messages: bool = False
    forward_subagent_text: bool = False
    model: str | None = None
    effort: str | None = None
    max_turns: int | float | None = None
    max_budget_usd: Annotated[float, msgspec.Meta(gt=0)] | None = None
    session_id: str | None = None
    resume: str | None = None
    continue_: bool = False
    fork_session: bool = False
    resume_session_at: str | None = None
    resume_drops_turn: str | None = None
    session_mirror: bool = False
    no_session_persistence: bool = False
    name: str | None = None
    permission_mode: PermissionMode | None = None
    permission_prompt_tool: str | None = None
    dangerously_skip_permissions: bool = False
    allow_dangerously_skip_permissions: bool = False
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    """The built-in tools that exist; None for all of them."""
    agents: str | None = None
    setting_sources: tuple[Literal["user", "project", "local"], ...] = ("user", "project", "local")
    settings: str | None = None
    mcp_config: tuple[str, ...] = ()
    strict_mcp_config: bool = False
    plugin_dir: tuple[str, ...] = ()
    add_dir: tuple[str, ...] = ()
    cwd: str | None = None
    """Exists in one document only."""
    strict: bool = False
    """Exists only here."""
    warnings: tuple[str, ...] = ()
    """The lines that the CLI writes to stderr when it starts."""
    unsimulated: tuple[str, ...] = ()
    """The flags that were accepted and have no effect here."""


_OTHERS = {
    "none": (
        """
        await-claim background bare chrome debug-to-stderr disable-slash-commands
        enable-auth-status ide include-hook-events managed-settings-in-initialize restricted
        safe-mode
        """,
        "await-initialize exclude-dynamic-system-prompt-sections help no-chrome version",
    ),
    "one": (
        """
        advisor agent autocompact debug-file fallback-model managed-settings permission-prompts
        plugin-dir-no-mcp plugin-url project-config-root sdk-url task-budget
        """,
        """
        append-subagent-system-prompt append-subagent-system-prompt-file append-system-prompt
        append-system-prompt-file json-schema max-thinking-tokens plan-mode-instructions
        system-prompt system-prompt-file system-prompt-snapshot thinking thinking-display
        """,
    ),
    "optional": ("prompt-suggestions worktree", "debug"),
    "many": ("file", "betas"),
}
"""The other flags of the newest real CLI, by their number of values: those that are named on stderr
as not simulated, and those that only change the input of the model."""

_UNSIMULATED = {f"--{it}" for named, _ in _OTHERS.values() for it in named.split()}

_ALIASES = {
    "-c": "--continue",
    "-d": "--debug",
    "-h": "--help",
    "-n": "--name",
    "-p": "--print",
    "-r": "--resume",
    "-v": "--version",
    "-V": "--version",
    "-w": "--worktree",
    "--allowedTools": "--allowed-tools",
    "--bg": "--background",
    "--disallowedTools": "--disallowed-tools",
}


_FIELDS = {
    f"--{it.name.rstrip('_').replace('_', '-')}": it
    for it in msgspec.structs.fields(Flags)
    if it.name not in ("prompt", "warnings", "unsimulated")
}


def _is_list(field: msgspec.structs.FieldInfo) -> bool:
    return "tuple" in str(field.type)


_TAKES = {
    **{
        name: "none" if it.type is bool else "many" if _is_list(it) else "one"
        for name, it in _FIELDS.items()
    },
    **{f"--{it}": takes for takes, names in _OTHERS.items() for it in " ".join(names).split()},
    "--plugin-dir": "one",
    "--resume": "optional",
    "--setting-sources": "one",
}
"""Every flag, and how many values it takes."""

HELP = "This is claudewire-sim: it simulates Claude Code for tests and talks to no model.\n"

_UUID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_TOOL = r"(?:\([^)]*\)?|[^,\s(])+"
"""A name; with `Bash(git *)`, commas and spaces between the brackets do not end it."""


def is_uuid(text: str) -> bool:
    """Whether the real CLI would take this for the id of a session."""
    return re.fullmatch(_UUID, text) is not None


_SEPARATED = {
    "allowed_tools": _TOOL,
    "disallowed_tools": _TOOL,
    "setting_sources": r"[^,\s]+",
    "tools": _TOOL,
}
"""The lists that can be one word, and the pattern of an item."""


def parse(
    argv: Sequence[str], *, version: str = LATEST.version, takes_folder: bool = False
) -> Flags:
    """Parse the words after the program's name.

    Raises:
        EarlyExit: a flag is invalid, or asks for the version or help.
    """
    values: dict[str, Any] = {}
    unsimulated: set[str] = set()
    rest = deque(argv)
    while rest:
        word = rest.popleft()
        if not _is_flag(word) or word == "--":
            values.setdefault("prompt", word if word != "--" else next(iter(rest), None))
            if word == "--":
                break
            continue
        name, given = _read_flag(word, rest, takes_folder=takes_folder)
        if name in ("--version", "--help"):
            raise EarlyExit(0, HELP if name == "--help" else f"{version} (Claude Code)\n")
        if name in _UNSIMULATED and given != ["host"]:
            unsimulated.add(name)
        if name in _FIELDS:
            _take(values, name, given)
    warnings: tuple[str, ...] = ()
    if values.get("effort", EFFORTS[0]) not in EFFORTS:
        warnings = (
            f"Warning: Unknown --effort value '{values.pop('effort')}' — ignoring it and using the "
            f"default effort. Valid values: {', '.join(EFFORTS)}.",
        )
    flags = Flags(**values, unsimulated=tuple(sorted(unsimulated)), warnings=warnings)
    for complaint in _complaints(flags, takes_folder=takes_folder):
        raise EarlyExit.error(complaint)
    return flags


def _is_flag(word: str) -> bool:
    return len(word) > 1 and word[0] == "-"


def _read_flag(word: str, rest: deque[str], *, takes_folder: bool) -> tuple[str, list[str]]:
    """Return the name of a flag and its values, which are taken from the next words."""
    spelling, equals, given = word.partition("=")
    name = _ALIASES.get(spelling, spelling)
    takes = _TAKES.get(name)
    if takes is None or (equals and takes == "none") or (name == "--cwd" and not takes_folder):
        raise EarlyExit.error(f"error: unknown option '{word}'")
    if equals:
        return name, [given]
    values: list[str] = []
    if takes in ("one", "many"):
        if not rest:
            raise EarlyExit.error(f"error: option '{name}' argument missing")
        values.append(rest.popleft())  # which may look like a flag
    most = {"many": len(rest) + 1, "optional": 1}.get(takes, 0)
    while rest and not _is_flag(rest[0]) and len(values) < most:
        values.append(rest.popleft())
    return name, values


def _take(values: dict[str, Any], name: str, given: list[str]) -> None:
    """Note the values of a flag as `Flags` has them; those of a repeated list are joined."""
    field = _FIELDS[name]
    if _TAKES[name] == "none":
        values[field.name] = True
    for value in given or ([""] if _TAKES[name] == "optional" else []):
        meaning: Any = value
        if _is_list(field):
            pattern = _SEPARATED.get(field.name)
            items = [value] if pattern is None else re.findall(pattern, value)
            meaning = [*values.get(field.name, ()), *items]
        try:
            values[field.name] = msgspec.convert(meaning, field.type, strict=False)
        except msgspec.ValidationError as error:
            wrong = f"error: option '{name}' argument '{value}' is invalid. {error}"
            raise EarlyExit.error(wrong) from None


def _complaints(flags: Flags, *, takes_folder: bool) -> Iterator[str]:
    """Find flags that contradict each other, in the order of the real CLI."""
    resumes = flags.resume is not None or flags.continue_
    if flags.session_id and resumes and not flags.fork_session:
        yield (
            "Error: --session-id can only be used with --continue or --resume "
            "if --fork-session is also specified."
        )
    if flags.session_id and not is_uuid(flags.session_id):
        yield "Error: Invalid session ID. Must be a valid UUID."
    if flags.resume_drops_turn is not None and flags.resume_session_at is None:
        yield "--resume-drops-turn requires --resume-session-at"
    streams_in = flags.input_format == "stream-json"
    streams_out = flags.output_format == "stream-json"
    if streams_in and not streams_out:
        yield "Error: --input-format=stream-json requires output-format=stream-json."
    if flags.include_partial_messages and not streams_out:
        wanted = "requires --print and --output-format=stream-json"
        yield f"Error: --include-partial-messages {wanted}."
    if streams_out and not (flags.verbose or takes_folder):
        yield "Error: When using --print, --output-format=stream-json requires --verbose"


# --- the commands beside the conversation that applications call --------------------------------

_COMMANDS = """
agents attach auth auto-mode doctor gateway import install kill logs mcp plugin plugins purge
respawn rm setup-token stop ultrareview update upgrade
"""
SUBCOMMANDS = frozenset(_COMMANDS.split())
"""Words that the real CLI takes for a command, not a prompt, when they come first."""


def run_subcommand(
    argv: Sequence[str], *, config_dir: str, env: Mapping[str, str], version: str
) -> EarlyExit:
    """Run a command."""
    is_json = "--json" in argv
    match list(argv[:2]):
        case ["mcp", "list"]:
            none = "No MCP servers configured. Use `claude mcp add` to add a server.\n"
            return EarlyExit(0, none)
        case ["auth", "status"]:
            return _auth(config_dir, env)
        case ["plugin" | "plugins", "list"]:
            none = "No plugins installed. Use `claude plugin install` to install a plugin.\n"
            return EarlyExit(0, "[]\n" if is_json else none)
        case ["agents", "--json"]:
            return EarlyExit(0, "[]\n")
        case ["doctor", *_]:
            return EarlyExit(0, f"Claude Code doctor\n\nRunning: simulated ({version})\n")
    return EarlyExit.error(f"error: the command '{argv[0]}' is not simulated")


def _auth(config_dir: str, env: Mapping[str, str]) -> EarlyExit:
    has_key = bool(env.get("ANTHROPIC_API_KEY"))
    status = {
        "loggedIn": has_key,
        "authMethod": "api_key" if has_key else "none",
        "apiProvider": "firstParty",
        "configDirectory": config_dir,
    }
    return EarlyExit(0 if has_key else 1, json.dumps(status, indent=2) + "\n")
