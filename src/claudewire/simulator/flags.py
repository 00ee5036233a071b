"""Reads the command line of the simulated CLI, and refuses what the real one refuses.

Words are told apart as the real CLI's parser does it: a value may be the next word or follow `=`,
flags of one letter may be joined, and a flag with several values takes every word up to the next
flag. Whether files exist is not looked at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from .flag_table import COMMANDS, OPTIONS, VISIBLE, Option, suggestion
from .flag_values import EFFORTS, SOURCES, converted, is_uuid

__all__ = ["Exit", "Flags", "parse"]


class Exit(NamedTuple):
    """The CLI ends without having started: what it prints, and its exit status."""

    status: int
    stdout: str = ""
    stderr: str = ""


class Flags(msgspec.Struct, frozen=True, kw_only=True):
    """How the CLI was called.

    A text is None if the flag was not given, and empty if it was given without its value
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
    include_hook_events: bool = False
    replay_user_messages: bool = False
    forward_subagent_text: bool = False
    prompt_suggestions: bool = False
    json_schema: str | None = None

    model: str | None = None
    fallback_model: str | None = None
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
    advisor: str | None = None
    autocompact: str | None = None

    session_id: str | None = None
    resume: str | None = None
    continue_: bool = False
    fork_session: bool = False
    resume_session_at: str | None = None
    resume_drops_turn: str | None = None
    rewind_files: str | None = None
    no_session_persistence: bool = False
    session_mirror: bool = False
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
    """The only built-in tools there are; None for all of them."""

    system_prompt: str | None = None
    system_prompt_file: str | None = None
    system_prompt_snapshot: str | None = None
    append_system_prompt: str | None = None
    append_system_prompt_file: str | None = None
    append_subagent_system_prompt: str | None = None
    append_subagent_system_prompt_file: str | None = None
    exclude_dynamic_system_prompt_sections: bool = False
    plan_mode_instructions: str | None = None
    agent: str | None = None
    agents: str | None = None

    settings: str | None = None
    setting_sources: tuple[str, ...] | None = None
    """user, project, local; None if the flag was not given."""
    managed_settings: str | None = None
    managed_settings_in_initialize: bool = False
    project_config_root: str | None = None
    mcp_config: tuple[str, ...] = ()
    strict_mcp_config: bool = False
    plugin_dir: tuple[str, ...] = ()
    plugin_dir_no_mcp: tuple[str, ...] = ()
    plugin_url: tuple[str, ...] = ()
    add_dir: tuple[str, ...] = ()
    file: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()

    bare: bool = False
    safe_mode: bool = False
    restricted: bool = False
    disable_slash_commands: bool = False
    init: bool = False
    init_only: bool = False
    maintenance: bool = False
    await_initialize: bool = False
    await_claim: bool = False
    enable_auth_status: bool = False
    sdk_url: str | None = None
    messaging_socket_path: str | None = None
    workload: str | None = None
    debug: str | None = None
    debug_file: str | None = None
    debug_to_stderr: bool = False

    others: dict[str, str | None] = {}
    """Flags of the real CLI that mean nothing here, without their dashes."""
    warnings: tuple[str, ...] = ()
    """What the CLI complains about on stderr before it goes on."""


def parse(argv: Sequence[str], *, version: str = "2.1.325") -> Flags | Exit:
    """Read the words after the program's name.

    Args:
        argv: the words.
        version: what `--version` answers.
    """
    if argv and argv[0] in COMMANDS:
        return _refusal(f"error: the command '{argv[0]}' is not simulated")
    parser = _Parser()
    try:
        parser.read(["--version"] if list(argv) == ["-V"] else argv)
        flags = parser.flags()
    except _Ended as ended:
        return ended.exit or Exit(0, f"{version} (Claude Code)\n")
    wrong = next(_complaints(flags), None)
    return flags if wrong is None else _refusal(wrong)


def _refusal(text: str) -> Exit:
    # A word that is not UTF-8 has reached us as lone surrogates, which cannot be written.
    return Exit(1, stderr=text.encode("utf-8", "replace").decode() + "\n")


class _Ended(Exception):
    """Reading has come to an early end: with an exit, or (None) because of `--version`."""

    def __init__(self, exit: Exit | None) -> None:
        self.exit = exit


class _Parser:
    """Collects the values of flags. Whatever is unknown counts only when all has been read."""

    def __init__(self) -> None:
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
        """Give the flag back if the words that follow are more of its values."""
        name, equals, value = word.partition("=")
        if option := OPTIONS.get(word):
            self._take(option, _value_of(option, rest))
            return option if option.variadic else None
        if not word.startswith("--") and (option := OPTIONS.get(word[:2])):
            if option.argument:
                self._take(option, word[2:])
            else:
                self._take(option, None)
                rest.appendleft(f"-{word[2:]}")
        elif equals and (option := OPTIONS.get(name)) and option.argument:
            self._take(option, value)
        else:
            self._unknown.append(word)
        return None

    def _take(self, option: Option, value: str | None) -> None:
        if option.name == "--version":
            raise _Ended(None)
        meaning: Any = _converted(option, value or "") if option.argument else True
        field = _FIELDS.get(option.name)
        if field is None:
            self._others[option.name[2:]] = value
        elif option.repeatable:
            self._values[field] = (*self._values.get(field, ()), *meaning)
        else:
            self._values[field] = meaning

    def flags(self) -> Flags:
        if not {"-h", "--help"}.isdisjoint(self._unknown):
            raise _Ended(Exit(0, _help()))
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
    """Take the value from the words that follow. One that is needed may look like a flag."""
    if option.argument.startswith("<"):
        if not rest:
            raise _Ended(_refusal(f"error: option '{option.declared}' argument missing"))
        return rest.popleft()
    if option.argument and rest and not _is_flag(rest[0]):
        return rest.popleft()
    return None


def _converted(option: Option, value: str) -> Any:
    try:
        return converted(option, value)
    except ValueError as wrong:
        message = f"error: option '{option.declared}' argument '{value}' is invalid. {wrong}"
        raise _Ended(_refusal(message)) from None


def _field(name: str) -> str:
    name = name[2:].replace("-", "_")
    return f"{name}_" if name in {"continue", "print"} else name


_FIELDS: dict[str, str] = {
    option.name: _field(option.name)
    for option in OPTIONS.values()
    if _field(option.name) in Flags.__struct_fields__
}


def _complaints(flags: Flags) -> Iterator[str]:
    """Find what is wrong with flags that are right one by one, in the order of the real CLI."""
    for source in flags.setting_sources or ():
        if source not in SOURCES:
            valid = ", ".join(SOURCES)
            yield (
                "Error processing --setting-sources: "
                f"Invalid setting source: {source}. Valid options are: {valid}"
            )
    for check in (_about_session, _about_streams, _about_schema, _about_verbosity):
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
