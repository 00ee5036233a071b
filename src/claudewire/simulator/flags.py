"""Reads the command line of the simulated CLI, and refuses what the real one refuses.

It parses as the real CLI does: a value may be the next word or follow `=`, flags of one letter may
be joined, and a flag with several values takes every word up to the next flag. Whether files exist
is not checked.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

__all__ = ["EarlyExit", "Flags", "is_uuid", "parse"]

# --- the flags that exist -----------------------------------------------------------------------

# Those that the real CLI declares, in the notation of its own parser: `<x>` is a value that must
# follow, `[x]` one that may, `x...` one or more.
_SHOWN_BY_HELP = """
--add-dir <directories...>
--agent <agent>
--agents <json-or-file>
--allow-dangerously-skip-permissions
--allowedTools, --allowed-tools <tools...>
--append-system-prompt <prompt>
--autocompact <auto|tokens>
--ax-screen-reader
--bg, --background
--bare
--betas <betas...>
--brief
--chrome
--cloud [description|session_id|url]
-c, --continue
--dangerously-skip-permissions
-d, --debug [filter]
--debug-file <path>
--desktop
--disable-slash-commands
--disallowedTools, --disallowed-tools <tools...>
--effort <level>
--environment <environment_id>
--exclude-dynamic-system-prompt-sections
--fallback-model <model>
--file <specs...>
--fork-session
--forward-subagent-text
--from-pr [value]
-h, --help
--ide
--include-hook-events
--include-partial-messages
--input-format <format>
--json-schema <schema>
--max-budget-usd <amount>
--mcp-config <configs...>
--model <model>
-n, --name <name>
--no-chrome
--no-session-persistence
--output-format <format>
--permission-mode <mode>
--permission-prompts <target>
--plugin-dir <path>
--plugin-url <url>
-p, --print
--prompt-suggestions [value]
--remote-control [name]
--remote-control-session-name-prefix <prefix>
--replay-user-messages
--restricted
-r, --resume [value]
--safe-mode
--session-id <uuid>
--setting-sources <sources>
--settings <file-or-json>
--strict-mcp-config
--system-prompt <prompt>
--system-prompt-snapshot <on|off>
--teleport [session]
--tmux
--tools <tools...>
--verbose
-v, --version
-w, --worktree [name]
"""

_HIDDEN = """
--advisor <model>
--agent-color <color>
--agent-id <id>
--agent-name <name>
--agent-type <type>
--append-subagent-system-prompt <prompt>
--append-subagent-system-prompt-file <file>
--append-system-prompt-file <file>
--await-claim
--await-initialize
--channels <servers...>
--dangerously-load-development-channels <servers...>
-d2e, --debug-to-stderr
--deep-link-origin
--enable-auth-status
--enable-auto-mode
--init
--init-only
--maintenance
--managed-settings <json>
--managed-settings-in-initialize
--max-thinking-tokens <tokens>
--max-turns <turns>
--messaging-socket-path <path>
--parent-session-id <id>
--permission-prompt-tool <tool>
--plan-mode-instructions <instructions>
--plan-mode-required
--plugin-dir-no-mcp <path>
--prefill <text>
--project-config-root <dir>
--rc [name]
--remote [description|session_id|url]
--resume-drops-turn <message id>
--resume-session-at <message id>
--rewind-files <user-message-id>
--sdk-url <url>
--session-mirror
--system-prompt-file <file>
--task-budget <tokens>
--team-name <name>
--teammate-mode <mode>
--thinking <mode>
--thinking-display <display>
--workload <tag>
"""

_CHOICES = {
    "--input-format": ("text", "stream-json"),
    "--output-format": ("text", "json", "stream-json"),
    "--permission-mode": ("acceptEdits", "auto", "bypassPermissions", "manual", "dontAsk", "plan"),
    "--permission-prompts": ("host", "none"),
    "--prompt-suggestions": ("true", "false", "1", "0", "yes", "no", "on", "off"),
    "--system-prompt-snapshot": ("on", "off"),
    "--teammate-mode": ("auto", "tmux", "iterm2", "in-process"),
    "--thinking": ("enabled", "adaptive", "disabled"),
    "--thinking-display": ("summarized", "omitted", "highlights"),
}

_REPEATABLE = {"--plugin-dir", "--plugin-dir-no-mcp", "--plugin-url"}

_COMMANDS = """
agents attach auth auto-mode doctor gateway import install kill logs mcp plugin plugins purge
respawn rm setup-token stop ultrareview update upgrade
"""

COMMANDS = frozenset(_COMMANDS.split())
"""Words that the real CLI takes for a command, not a prompt, when they come first."""


class Option(NamedTuple):
    """One flag.

    Attributes:
        declared: its spellings and its value, as error messages quote them.
        name: its long spelling.
        argument: its value, with the brackets; empty if it takes none.
        choices: the values it takes; empty if it takes any.
        repeatable: whether each use of it adds to the ones before.
    """

    declared: str
    name: str
    argument: str
    choices: tuple[str, ...]
    repeatable: bool

    @property
    def variadic(self) -> bool:
        """Whether words that follow the value are more values."""
        return self.argument.endswith("...>")


def _declared(table: str) -> list[Option]:
    options = []
    for line in table.strip().splitlines():
        name, _, argument = line.rpartition(", ")[2].partition(" ")
        repeatable = argument.endswith("...>") or name in _REPEATABLE
        options.append(Option(line, name, argument, _CHOICES.get(name, ()), repeatable))
    return options


VISIBLE = _declared(_SHOWN_BY_HELP)
"""The flags that `--help` shows and that a misspelt flag is compared with."""

OPTIONS = {
    spelling: option
    for option in [*VISIBLE, *_declared(_HIDDEN)]
    for spelling in option.declared.removesuffix(option.argument).strip().split(", ")
    if option.name != "--help"
}
"""Every flag under each of its spellings, except `--help`, which is handled last."""

CWD = _declared("--cwd <path>")[0]
"""A flag that no real CLI has; the document of the session dialect requires it."""

STRICT = _declared("--strict")[0]
"""A flag of the simulated CLI: refuse what is accepted, but not simulated."""

# --- their values ---------------------------------------------------------------------------------

EFFORTS = ("low", "medium", "high", "xhigh", "max")
SOURCES = ("user", "project", "local")

# These values are accepted although no error message lists them as choices.
_MEANS = {
    ("--permission-mode", "default"): "default",
    ("--permission-mode", "manual"): "default",
    ("--prompt-suggestions", ""): True,
}

# Not compiled here: few command lines need any of them, and importing should be fast.
_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_UUID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_TOOL = r"(?:\([^)]*\)?|[^,\s(])+"
"""A name; with `Bash(git *)`, commas and spaces between the brackets do not end it."""


def _converted(option: Option, value: str) -> Any:
    """Turn the value of a flag into what `Flags` has for it; a tuple if it may be repeated.

    Raises:
        ValueError: the CLI refuses the value; the message says why.
    """
    if (option.name, value) in _MEANS:
        return _MEANS[option.name, value]
    if option.choices and value not in option.choices:
        raise ValueError(f"Allowed choices are {', '.join(option.choices)}.")
    return _CONVERTERS.get(option.name, _listed if option.repeatable else str)(value)


def is_uuid(text: str) -> bool:
    """Whether the real CLI would take this for the id of a session."""
    return re.fullmatch(_UUID, text) is not None


def _listed(value: str) -> tuple[str, ...]:
    return (value,)


def _maybe_number(value: str) -> int | float | None:
    """Read a number as JavaScript does, where an empty string is 0."""
    text = value.strip() or "0"
    if re.fullmatch(_NUMBER, text) is None:
        return None
    number = float(text)
    return int(number) if number.is_integer() else number


def _number(value: str) -> float:
    number = _maybe_number(value)
    if number is None:
        raise ValueError("must be a number")
    return number


def _dollars(value: str) -> float:
    number = _maybe_number(value)
    if number is None or number <= 0:
        raise ValueError("--max-budget-usd must be a positive number greater than 0")
    return number


def _tokens(value: str) -> int:
    number = _maybe_number(value)
    if not isinstance(number, int) or number <= 0:
        raise ValueError("--task-budget must be a positive integer")
    return number


def _tool_names(value: str) -> tuple[str, ...]:
    return tuple(re.findall(_TOOL, value))


def _names(value: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in value.split(",")) if value else ()


def _switch(value: str) -> bool:
    return value in {"true", "1", "yes", "on"}


_CONVERTERS: dict[str, Callable[[str], Any]] = {
    "--allowed-tools": _tool_names,
    "--betas": _names,
    "--disallowed-tools": _tool_names,
    "--max-budget-usd": _dollars,
    "--max-thinking-tokens": _number,
    "--max-turns": _number,
    "--prompt-suggestions": _switch,
    "--setting-sources": _names,
    "--task-budget": _tokens,
    "--tools": _tool_names,
}


# --- reading the command line ---------------------------------------------------------------------


class EarlyExit(NamedTuple):
    """The CLI ends without having started: what it prints, and its exit status."""

    status: int
    stdout: str = ""
    stderr: str = ""


class Flags(msgspec.Struct, frozen=True, kw_only=True):
    """How the CLI was called.

    A string is None if the flag was not given, and empty if it was given without a value
    (`--resume`, `--debug`, `--worktree`).
    """

    prompt: str | None = None
    print_: bool = False
    output_format: str = "text"
    """text, json or stream-json."""
    input_format: str = "text"
    """text or stream-json."""
    verbose: bool = False
    include_partial_messages: bool = False
    replay_user_messages: bool = False
    forward_subagent_text: bool = False
    prompt_suggestions: bool = False
    json_schema: str | None = None

    model: str | None = None
    effort: str | None = None
    """low, medium, high, xhigh or max. Another one is ignored, with a warning."""
    thinking: str | None = None
    thinking_display: str | None = None
    # A whole number is an int, but the CLI takes a fraction as well.
    max_thinking_tokens: float | None = None
    max_turns: float | None = None
    max_budget_usd: float | None = None
    task_budget: int | None = None
    betas: tuple[str, ...] = ()

    session_id: str | None = None
    resume: str | None = None
    continue_: bool = False
    fork_session: bool = False
    resume_session_at: str | None = None
    resume_drops_turn: str | None = None
    rewind_files: str | None = None
    session_mirror: bool = False
    no_session_persistence: bool = False
    name: str | None = None
    worktree: str | None = None

    permission_mode: str | None = None
    """acceptEdits, auto, bypassPermissions, default, dontAsk or plan."""
    permission_prompt_tool: str | None = None
    permission_prompts: str = "host"
    dangerously_skip_permissions: bool = False
    allow_dangerously_skip_permissions: bool = False
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    """The built-in tools that exist; None for all of them."""

    agent: str | None = None
    agents: str | None = None

    setting_sources: tuple[str, ...] | None = None
    """user, project, local; None if the flag was not given."""
    settings: str | None = None
    mcp_config: tuple[str, ...] = ()
    plugin_dir: tuple[str, ...] = ()
    add_dir: tuple[str, ...] = ()
    cwd: str | None = None
    file: tuple[str, ...] = ()

    await_initialize: bool = False
    debug: str | None = None
    debug_file: str | None = None
    debug_to_stderr: bool = False
    strict: bool = False

    others: dict[str, str | None] = {}
    """Flags of the real CLI that have no effect here, without their dashes."""
    warnings: tuple[str, ...] = ()
    """What the CLI warns about on stderr."""


def parse(
    argv: Sequence[str], *, version: str = "2.1.325", sessions: bool = False
) -> Flags | EarlyExit:
    """Read the words after the program's name.

    Args:
        argv: the words.
        version: what `--version` answers.
        sessions: whether the CLI may be one of the session dialect, which takes `--cwd` and does
            not demand `--verbose`.
    """
    if argv and argv[0] in COMMANDS:
        return _refusal(f"error: the command '{argv[0]}' is not simulated")
    options = {**OPTIONS, STRICT.name: STRICT}
    parser = _Parser({**options, CWD.name: CWD} if sessions else options)
    try:
        parser.read(["--version"] if list(argv) == ["-V"] else argv)
        flags = parser.flags()
    except _Ended as ended:
        return ended.exit or EarlyExit(0, f"{version} (Claude Code)\n")
    wrong = next(_complaints(flags, sessions=sessions), None)
    return flags if wrong is None else _refusal(wrong)


def _refusal(text: str) -> EarlyExit:
    return EarlyExit(1, stderr=f"{text}\n")


class _Ended(Exception):
    """Parsing ended early: with an exit, or (None) because of `--version`."""

    def __init__(self, exit: EarlyExit | None) -> None:
        self.exit = exit


class _Parser:
    """Collects the values of flags. Unknown flags are reported only at the end."""

    def __init__(self, options: Mapping[str, Option]) -> None:
        self._options = options
        self._values: dict[str, Any] = {}
        self._others: dict[str, str | None] = {}
        self._unknown: list[str] = []
        self._loose: list[str] = []

    def read(self, argv: Sequence[str]) -> None:
        rest = deque(argv)
        variadic: Option | None = None
        while rest:
            word = rest.popleft()
            if word == "--":
                self._loose.extend(rest)
                return
            if _is_flag(word):
                variadic = self._read_flag(word, rest)
            elif variadic is None:
                self._loose.append(word)
            else:
                self._take(variadic, word)

    def _read_flag(self, word: str, rest: deque[str]) -> Option | None:
        """Return the flag if the words that follow are more of its values."""
        name, equals, value = word.partition("=")
        if option := self._options.get(word):
            self._take(option, _value_of(option, rest))
            return option if option.variadic else None
        if not word.startswith("--") and (option := self._options.get(word[:2])):
            if option.argument:
                self._take(option, word[2:])
            else:
                self._take(option, None)
                rest.appendleft(f"-{word[2:]}")
        elif equals and (option := self._options.get(name)) and option.argument:
            self._take(option, value)
        else:
            self._unknown.append(word)
        return None

    def _take(self, option: Option, value: str | None) -> None:
        if option.name == "--version":
            raise _Ended(None)
        meaning: Any = _meaning(option, value or "") if option.argument else True
        field = _FIELDS.get(option.name)
        if field is None:
            self._others[option.name[2:]] = value
        elif option.repeatable:
            self._values[field] = (*self._values.get(field, ()), *meaning)
        else:
            self._values[field] = meaning

    def flags(self) -> Flags:
        if not {"-h", "--help"}.isdisjoint(self._unknown):
            raise _Ended(EarlyExit(0, _help()))
        if self._unknown:
            word = self._unknown[0]
            similar = f"\n{suggestion(word)}".rstrip()
            raise _Ended(_refusal(f"error: unknown option '{word}'{similar}"))
        return Flags(
            prompt=self._loose[0] if self._loose else None,
            others=self._others,
            warnings=tuple(self._warnings()),
            **self._values,
        )

    def _warnings(self) -> Iterator[str]:
        effort = self._values.get("effort", EFFORTS[0])
        if effort not in EFFORTS:
            del self._values["effort"]
            yield (
                f"Warning: Unknown --effort value '{effort}' — ignoring it and using the default "
                f"effort. Valid values: {', '.join(EFFORTS)}."
            )


def _is_flag(word: str) -> bool:
    return len(word) > 1 and word[0] == "-"


def _value_of(option: Option, rest: deque[str]) -> str | None:
    """Take the value from the words that follow. A required one may look like a flag."""
    if option.argument.startswith("<"):
        if not rest:
            raise _Ended(_refusal(f"error: option '{option.declared}' argument missing"))
        return rest.popleft()
    if option.argument and rest and not _is_flag(rest[0]):
        return rest.popleft()
    return None


def _meaning(option: Option, value: str) -> Any:
    try:
        return _converted(option, value)
    except ValueError as wrong:
        message = f"error: option '{option.declared}' argument '{value}' is invalid. {wrong}"
        raise _Ended(_refusal(message)) from None


def _field(name: str) -> str:
    name = name[2:].replace("-", "_")
    return f"{name}_" if name in {"continue", "print"} else name


_FIELDS: dict[str, str] = {
    option.name: _field(option.name)
    for option in (*OPTIONS.values(), CWD, STRICT)
    if _field(option.name) in Flags.__struct_fields__
}


def _complaints(flags: Flags, *, sessions: bool) -> Iterator[str]:
    """Find flags that contradict each other, in the order of the real CLI."""
    for source in flags.setting_sources or ():
        if source not in SOURCES:
            valid = ", ".join(SOURCES)
            yield (
                "Error processing --setting-sources: "
                f"Invalid setting source: {source}. Valid options are: {valid}"
            )
    checks = [_about_session, _about_streams, _about_schema]
    for check in checks if sessions else [*checks, _about_verbosity]:
        yield from (f"Error: {complaint}" for complaint in check(flags))


def _about_session(flags: Flags) -> Iterator[str]:
    resumes = flags.resume is not None
    if flags.session_id:
        if (resumes or flags.continue_) and not flags.fork_session:
            yield (
                "--session-id can only be used with --continue or --resume "
                "if --fork-session is also specified."
            )
        if not is_uuid(flags.session_id):
            yield "Invalid session ID. Must be a valid UUID."
    if flags.resume_session_at is not None and not resumes:
        yield "--resume-session-at requires --resume"
    if flags.resume_drops_turn is not None and flags.resume_session_at is None:
        yield "--resume-drops-turn requires --resume-session-at"
    if flags.rewind_files is not None and not resumes:
        yield "--rewind-files requires --resume"


def _about_streams(flags: Flags) -> Iterator[str]:
    streams_in = flags.input_format == "stream-json"
    streams_out = flags.output_format == "stream-json"
    if streams_in and not streams_out:
        yield "--input-format=stream-json requires output-format=stream-json."
    if flags.replay_user_messages and not streams_in:
        yield (
            "--replay-user-messages requires both --input-format=stream-json "
            "and --output-format=stream-json."
        )
    if flags.await_initialize and not streams_in:
        yield "--await-initialize requires --input-format=stream-json."
    if not streams_out:
        wanted = "requires --print and --output-format=stream-json"
        if flags.include_partial_messages:
            yield f"--include-partial-messages {wanted}."
        if flags.forward_subagent_text:
            yield f"--forward-subagent-text {wanted}."
        if flags.prompt_suggestions:
            why = "prompt_suggestion messages are only surfaced in stream-json output"
            yield f"--prompt-suggestions {wanted} ({why})."


def _about_schema(flags: Flags) -> Iterator[str]:
    if flags.json_schema:
        try:
            if not isinstance(msgspec.json.decode(flags.json_schema), dict):
                yield "--json-schema must be a JSON object"
        except ValueError as wrong:
            yield f"--json-schema is not valid JSON: {wrong}"


def _about_verbosity(flags: Flags) -> Iterator[str]:
    if flags.output_format == "stream-json" and not flags.verbose:
        yield "When using --print, --output-format=stream-json requires --verbose"


def _help() -> str:
    lines = "".join(f"  {option.declared}\n" for option in VISIBLE)
    return (
        "Usage: claude [options] [command] [prompt]\n\n"
        "This is claudewire-sim: it simulates Claude Code for tests and talks to no model.\n\n"
        f"Options:\n{lines}"
    )


# How many edits may separate a misspelt flag from the intended one, and how alike they must be.
_MAX_EDITS = 3
_MIN_SIMILARITY = 0.4


def suggestion(word: str) -> str:
    """The line that asks whether another flag was meant; empty if none is similar."""
    if not word.startswith("--"):
        return ""
    edits = {}
    for option in VISIBLE:
        distance, longest = _edits(word[2:], option.name[2:]), max(len(word), len(option.name)) - 2
        if distance <= _MAX_EDITS and (longest - distance) / longest > _MIN_SIMILARITY:
            edits[option.name] = distance
    if not edits:
        return ""
    fewest = min(edits.values())
    similar = sorted(name for name, distance in edits.items() if distance == fewest)
    return f"(Did you mean {'one of ' if similar[1:] else ''}{', '.join(similar)}?)\n"


def _edits(one: str, other: str) -> int:
    """Count insertions, deletions, replacements and swaps of neighbours."""
    if abs(len(one) - len(other)) > _MAX_EDITS:
        return _MAX_EDITS + 1
    before: list[int] = []
    above = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            cost = min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, above = above, row
    return above[-1]
