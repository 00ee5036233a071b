"""The command line of the simulated CLI: the flags of the real one, and its errors.

A value is the next word or follows `=`. A flag with several values takes every word up to the next
flag.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import msgspec

_SWITCHES = """
allow-dangerously-skip-permissions await-claim await-initialize bare background chrome continue
dangerously-skip-permissions debug-to-stderr disable-slash-commands enable-auth-status
exclude-dynamic-system-prompt-sections fork-session forward-subagent-text help ide
include-hook-events include-partial-messages managed-settings-in-initialize no-chrome
no-session-persistence print replay-user-messages restricted safe-mode session-mirror strict
strict-mcp-config verbose version
"""
_VALUES = """
advisor agent agents append-subagent-system-prompt append-subagent-system-prompt-file
append-system-prompt append-system-prompt-file autocompact cwd debug-file effort fallback-model
input-format json-schema managed-settings max-budget-usd max-thinking-tokens max-turns model name
output-format permission-mode permission-prompt-tool permission-prompts plan-mode-instructions
plugin-dir plugin-dir-no-mcp plugin-url project-config-root resume-drops-turn resume-session-at
sdk-url session-id setting-sources settings system-prompt system-prompt-file
system-prompt-snapshot task-budget thinking thinking-display
"""
_MAY_HAVE_A_VALUE = "debug prompt-suggestions resume worktree"
_LISTS = "add-dir allowed-tools betas disallowed-tools file mcp-config tools"
"""The flags of the newest real CLI that programs use: without a value, with one, with an optional
one, with several. `--cwd` exists in one document only, `--strict` only here."""

_UNSIMULATED = """
advisor agent autocompact await-claim background bare chrome debug-file debug-to-stderr
disable-slash-commands enable-auth-status fallback-model file ide include-hook-events
managed-settings managed-settings-in-initialize permission-prompts plugin-dir-no-mcp plugin-url
project-config-root prompt-suggestions restricted resume-drops-turn safe-mode sdk-url task-budget
worktree
"""
UNSIMULATED = frozenset(_UNSIMULATED.split())
"""The flags that are accepted and named on stderr. The others have their effect, or only change the
input of the model."""

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

_ARITY: dict[str, Sequence[str]] = {
    "none": _SWITCHES.split(),
    "one": _VALUES.split(),
    "optional": _MAY_HAVE_A_VALUE.split(),
    "many": _LISTS.split(),
}
_TAKES = {f"--{name}": arity for arity, names in _ARITY.items() for name in names}

OPTIONS = frozenset({*_TAKES, *_ALIASES})
"""Every flag under each of its spellings."""

HELP = """\
Usage: claude [options] [command] [prompt]

This is claudewire-sim: it simulates Claude Code for tests and talks to no model.
"""

EFFORTS = ("low", "medium", "high", "xhigh", "max")
SOURCES = ("user", "project", "local")

_CHOICES = {
    "--input-format": ("text", "stream-json"),
    "--output-format": ("text", "json", "stream-json"),
    "--permission-mode": ("acceptEdits", "auto", "bypassPermissions", "manual", "dontAsk", "plan"),
}

_UUID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_TOOL = r"(?:\([^)]*\)?|[^,\s(])+"
"""A name; with `Bash(git *)`, commas and spaces between the brackets do not end it."""


def is_uuid(text: str) -> bool:
    """Whether the real CLI would take this for the id of a session."""
    return re.fullmatch(_UUID, text) is not None


def _number(value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        raise ValueError("must be a number") from None
    return int(number) if number.is_integer() else number


def _dollars(value: str) -> float:
    if (number := _number(value)) <= 0:
        raise ValueError("--max-budget-usd must be a positive number greater than 0")
    return number


def _tool_names(value: str) -> tuple[str, ...]:
    return tuple(re.findall(_TOOL, value))


_CONVERTERS: dict[str, Callable[[str], Any]] = {
    "--allowed-tools": _tool_names,
    "--disallowed-tools": _tool_names,
    "--max-budget-usd": _dollars,
    "--max-turns": _number,
    "--permission-mode": lambda mode: "default" if mode == "manual" else mode,
    "--plugin-dir": lambda path: (path,),
    "--setting-sources": lambda names: tuple(filter(None, map(str.strip, names.split(",")))),
    "--tools": _tool_names,
}


class EarlyExit(NamedTuple):
    """The CLI ended without having started: its exit status and its output."""

    status: int
    stdout: str = ""
    stderr: str = ""


class _Ended(Exception):
    """Parsing ended early."""

    def __init__(self, exit: EarlyExit) -> None:
        self.exit = exit


class Flags(msgspec.Struct, frozen=True, kw_only=True):
    """The flags of one call that have an effect.

    A string is None if the flag was not given, and empty if it was given without a value.
    """

    prompt: str | None = None
    print_: bool = False
    output_format: str = "text"
    input_format: str = "text"
    verbose: bool = False
    include_partial_messages: bool = False
    replay_user_messages: bool = False
    forward_subagent_text: bool = False
    model: str | None = None
    effort: str | None = None
    max_turns: float | None = None
    max_budget_usd: float | None = None
    session_id: str | None = None
    resume: str | None = None
    continue_: bool = False
    fork_session: bool = False
    resume_session_at: str | None = None
    session_mirror: bool = False
    no_session_persistence: bool = False
    name: str | None = None
    permission_mode: str | None = None
    permission_prompt_tool: str | None = None
    dangerously_skip_permissions: bool = False
    allow_dangerously_skip_permissions: bool = False
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    """The built-in tools that exist; None for all of them."""
    agents: str | None = None
    setting_sources: tuple[str, ...] = SOURCES
    settings: str | None = None
    mcp_config: tuple[str, ...] = ()
    strict_mcp_config: bool = False
    plugin_dir: tuple[str, ...] = ()
    add_dir: tuple[str, ...] = ()
    cwd: str | None = None
    strict: bool = False
    warnings: tuple[str, ...] = ()
    """The lines that the CLI writes to stderr when it starts."""
    unsimulated: tuple[str, ...] = ()
    """The flags that were accepted and have no effect here."""


def parse(
    argv: Sequence[str], *, version: str = "2.1.325", takes_folder: bool = False
) -> Flags | EarlyExit:
    """Parse the words after the program's name."""
    try:
        flags = _Parser(version, takes_folder).read(argv)
    except _Ended as ended:
        return ended.exit
    wrong = next(_complaints(flags, takes_folder=takes_folder), None)
    return flags if wrong is None else _refusal(wrong)


def _refusal(text: str) -> EarlyExit:
    return EarlyExit(1, stderr=f"{text}\n")


class _Parser:
    """Collects the values of flags."""

    def __init__(self, version: str, takes_folder: bool) -> None:
        self._early = {
            "--version": EarlyExit(0, f"{version} (Claude Code)\n"),
            "--help": EarlyExit(0, HELP),
        }
        self._known = _TAKES.keys() - (set() if takes_folder else {"--cwd"})
        self._values: dict[str, Any] = {}
        self._unsimulated: set[str] = set()

    def read(self, argv: Sequence[str]) -> Flags:
        rest = deque(argv)
        loose: list[str] = []
        while rest:
            word = rest.popleft()
            if word == "--":
                loose.extend(rest)
                break
            if _is_flag(word):
                self._read_flag(word, rest)
            else:
                loose.append(word)
        effort = self._values.get("effort", EFFORTS[0])
        warnings: tuple[str, ...] = ()
        if effort not in EFFORTS:
            del self._values["effort"]
            warnings = (
                f"Warning: Unknown --effort value '{effort}' — ignoring it and using the default "
                f"effort. Valid values: {', '.join(EFFORTS)}.",
            )
        return Flags(
            prompt=loose[0] if loose else None,
            warnings=warnings,
            unsimulated=tuple(sorted(self._unsimulated)),
            **self._values,
        )

    def _read_flag(self, word: str, rest: deque[str]) -> None:
        spelling, equals, given = word.partition("=")
        name = _ALIASES.get(spelling, spelling)
        if name not in self._known or (equals and _TAKES[name] == "none"):
            similar = get_close_matches(word, OPTIONS, n=1) if word.startswith("--") else []
            hint = "".join(f"\n(Did you mean {it}?)" for it in similar)
            raise _Ended(_refusal(f"error: unknown option '{word}'{hint}"))
        if name in self._early:
            raise _Ended(self._early[name])
        takes, values = _TAKES[name], [given] if equals else []
        if not equals and takes in ("one", "many"):
            if not rest:
                raise _Ended(_refusal(f"error: option '{name}' argument missing"))
            values.append(rest.popleft())  # which may look like a flag
        elif not equals and takes == "optional" and rest and not _is_flag(rest[0]):
            values.append(rest.popleft())
        while takes == "many" and not equals and rest and not _is_flag(rest[0]):
            values.append(rest.popleft())
        self._take(name, values)

    def _take(self, name: str, values: list[str]) -> None:
        field = name[2:].replace("-", "_")
        field = f"{field}_" if field in ("continue", "print") else field
        if name[2:] in UNSIMULATED and values != ["host"]:
            self._unsimulated.add(name)
        if field not in Flags.__struct_fields__:
            return
        takes = _TAKES[name]
        if takes == "none":
            self._values[field] = True
        for value in values or ([""] if takes == "optional" else []):
            meaning = _meaning(name, value)
            if isinstance(meaning, tuple) and name != "--setting-sources":
                meaning = (*self._values.get(field, ()), *meaning)
            self._values[field] = meaning


def _is_flag(word: str) -> bool:
    return len(word) > 1 and word[0] == "-"


def _meaning(name: str, value: str) -> Any:
    """Return the value of a flag as `Flags` has it; a tuple if the flag can be repeated."""
    choices = _CHOICES.get(name, (value,))
    try:
        # The CLI accepts the mode `default` without listing it.
        if value not in choices and (name, value) != ("--permission-mode", "default"):
            raise ValueError(f"Allowed choices are {', '.join(choices)}.")
        if name in _CONVERTERS:
            return _CONVERTERS[name](value)
        return (value,) if _TAKES[name] == "many" else value
    except ValueError as wrong:
        message = f"error: option '{name}' argument '{value}' is invalid. {wrong}"
        raise _Ended(_refusal(message)) from None


def _complaints(flags: Flags, *, takes_folder: bool) -> Iterator[str]:
    """Find flags that contradict each other, in the order of the real CLI."""
    for source in flags.setting_sources:
        if source not in SOURCES:
            yield (
                "Error processing --setting-sources: "
                f"Invalid setting source: {source}. Valid options are: {', '.join(SOURCES)}"
            )
    resumes = flags.resume is not None or flags.continue_
    if flags.session_id and resumes and not flags.fork_session:
        yield (
            "Error: --session-id can only be used with --continue or --resume "
            "if --fork-session is also specified."
        )
    if flags.session_id and not is_uuid(flags.session_id):
        yield "Error: Invalid session ID. Must be a valid UUID."
    streams_in = flags.input_format == "stream-json"
    streams_out = flags.output_format == "stream-json"
    if streams_in and not streams_out:
        yield "Error: --input-format=stream-json requires output-format=stream-json."
    if flags.include_partial_messages and not streams_out:
        wanted = "requires --print and --output-format=stream-json"
        yield f"Error: --include-partial-messages {wanted}."
    if streams_out and not (flags.verbose or takes_folder):
        yield "Error: When using --print, --output-format=stream-json requires --verbose"
