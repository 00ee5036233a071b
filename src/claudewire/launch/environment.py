"""The environment that the CLI gets.

It is, each step over the one before:

1. what this process has, or with `clean_env` only what any program needs (`NEEDED`);
2. without what a CLI, or an SDK, has set for the programs that it started (`NOT_INHERITED`): this
   process may be one of them, and a CLI that finds these takes itself for a part of the other;
3. with variables that say who started the CLI, and those that some options stand for;
4. with `env`, which wins: a string sets a variable, None removes it.

So `CLAUDE_CONFIG_DIR`, `ANTHROPIC_API_KEY`, `CLAUDE_CODE_OAUTH_TOKEN` and all other variables that
configure the CLI are passed on, but with `clean_env` only if they are in `env`. Without
`CLAUDE_CONFIG_DIR` the CLI uses `~/.claude`. A W3C trace context (`TRACEPARENT`) is passed on like
any other variable. Nothing of this is ever logged.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from .._package import __version__
from ..options import DECLARATIONS, Options, given_options

__all__ = ["NEEDED", "NOT_INHERITED", "environment", "variable"]

NEEDED = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
)
"""What a program needs to find other programs, its user's files and its language."""

NOT_INHERITED = (
    # Set by a CLI (2.1.325 at the most) for the commands that it runs.
    "AI_AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_EFFORT",
    "CLAUDE_PID",
    # Set by an SDK for the CLI that it starts.
    "CLAUDE_AGENT_SDK_DERIVED_CLIENT_APP",
    "CLAUDE_AGENT_SDK_VERSION",
    "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING",
    "CLAUDE_CODE_QUESTION_PREVIEW_FORMAT",
    "CLAUDE_CODE_SDK_READS_SESSION_STATE",
    "CLAUDE_CODE_SDK_READS_STARTUP_MARKS",
    # Meant for other programs: these make Node attach a debugger, or write to stdout.
    "DEBUG",
    "NODE_OPTIONS",
)
"""What is not passed on. To pass one of these all the same, give it in `env`."""


def environment(options: Options, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for the CLI.

    Args:
        options: what the CLI is asked for.
        base: what it would inherit; this process's own environment unless given.
    """
    variables = _inherited(options, base)
    variables |= _set_for_cli(options)
    for name, value in options.env.items():
        if value is None:
            variables.pop(name, None)
        else:
            variables[name] = value
    return variables


def variable(options: Options, name: str) -> str | None:
    """Return one variable of that environment, if it is not one that is set for the CLI."""
    if name in options.env:
        return options.env[name]
    is_inherited = name in NEEDED if options.clean_env else name not in NOT_INHERITED
    return os.environ.get(name) if is_inherited else None


_decoded: tuple[dict[bytes, bytes], dict[str, str]] = ({}, {})
"""The environment of this process as it was last, and what is passed on of it, as strings."""


def _inherited(options: Options, base: Mapping[str, str] | None) -> dict[str, str]:
    if options.clean_env:
        base = os.environ if base is None else base
        return {name: base[name] for name in NEEDED if name in base}
    return _passed_on() if base is None else _without_others(base)


def _passed_on() -> dict[str, str]:
    """Return what is passed on of the environment of this process.

    To decode each variable anew for each of many sessions would take a twentieth of their time.
    """
    global _decoded
    raw: dict[bytes, bytes] | None = getattr(os.environ, "_data", None)  # of CPython's class
    if raw is None:
        return _without_others(os.environ)
    if raw != _decoded[0]:
        _decoded = {**raw}, _without_others(os.environ)
    return {**_decoded[1]}


def _without_others(base: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in base.items() if name not in NOT_INHERITED}


def _set_for_cli(options: Options) -> dict[str, str]:
    variables = {
        "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
        "CLAUDE_AGENT_SDK_VERSION": __version__,
        # Have the CLI say when it is idle: nothing else tells when its input may be closed.
        "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1",
    }
    if options.cwd is not None:
        variables["PWD"] = str(options.cwd)
    for name, value in given_options(options):
        variable = DECLARATIONS[name].variable
        if variable is not None and value:
            variables[variable] = "true" if value is True else str(value)
    return variables
