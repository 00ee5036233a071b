"""Finds the CLI: at the place in the options, or at the usual places."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from glob import escape, glob

from ..errors import CLINotFoundError, OptionsError
from ..wire import parse_version

CLI_VARIABLE = "CLAUDE_CODE_PATH"
"""The environment variable for the place of the CLI."""

_NAME = "claude"
_SCRIPTS = (".js", ".mjs", ".cjs")

_ADVICE = (
    "Install it (npm install -g @anthropic-ai/claude-code), say where it is (cli=…, or the "
    f'environment variable {CLI_VARIABLE}), or try it without a model (cli="simulated").'
)
_HOMES = (
    ".local/bin",
    ".claude/local",
    ".npm-global/bin",
    ".bun/bin",
    ".volta/bin",
    ".yarn/bin",
    "node_modules/.bin",
)
_SYSTEM = (
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/usr/bin",
)


def find_cli(
    cli: str | os.PathLike[str] | Sequence[str] | None, env: Mapping[str, str]
) -> tuple[str, ...]:
    """Find the command that starts the CLI: one word, or several.

    Args:
        cli: a path, a name to look up in PATH, or a whole command such as
            `["ssh", "host", "claude"]`, whose first word is looked up here. None to search
            `CLAUDE_CODE_PATH`, then PATH, then the usual places.
        env: the environment of the CLI.

    Raises:
        CLINotFoundError: the CLI does not exist, or cannot be run. The message lists the places.
        OptionsError: the command is empty.
    """
    if cli is None:
        place = env.get(CLI_VARIABLE)
        found = _found(place, env, f"{CLI_VARIABLE} is {place}: ") if place else _search(env)
        return _command(found, env)
    words = [os.fspath(cli)] if isinstance(cli, str | os.PathLike) else cli
    if not words or not words[0]:
        raise OptionsError("cli is an empty command")
    return (*_command(_found(words[0], env), env), *words[1:])


def _search(env: Mapping[str, str]) -> str:
    """Find the CLI in PATH or at the usual places."""
    usual = [*_usual(env)]
    found = _in_path(_NAME, env) or _which(_NAME, os.pathsep.join(usual))
    if found is None:
        variable = f"the environment variable {CLI_VARIABLE}, which is not set"
        raise _missing("There is no `claude` here", [variable, _described_path(env), *usual])
    return found


def _found(name: str, env: Mapping[str, str], where: str = "") -> str:
    """Find a program by its path, or by its name in PATH."""
    if name[0] == "~" or "/" in name:
        home = env.get("HOME")
        if home and name.startswith("~/"):
            name = f"{home}{name[1:]}"
        path = os.path.abspath(os.path.expanduser(name))  # the CLI may run in another directory
        if not os.path.isfile(path):
            raise CLINotFoundError(f"{where}There is no file {path}", advice=_ADVICE)
        return path
    found = _in_path(name, env)
    if found is None:
        advice = f"If the name has several words, say cli={name.split()}." if " " in name else None
        raise _missing(f"{where}There is no program `{name}`", [_described_path(env)], advice)
    return found


def _in_path(name: str, env: Mapping[str, str]) -> str | None:
    return _which(name, env.get("PATH", ""))


def _which(name: str, path: str) -> str | None:
    found = shutil.which(name, path=path) if path else None  # an empty path would be `os.defpath`
    return found and os.path.abspath(found)


def _usual(env: Mapping[str, str]) -> Iterator[str]:
    if prefix := env.get("NPM_CONFIG_PREFIX") or env.get("npm_config_prefix"):
        yield os.path.join(prefix, "bin")
    if home := env.get("HOME"):
        yield from (os.path.join(home, folder) for folder in _HOMES)
        # The versions of Node.js that nvm has installed, the newest first.
        versions = glob(os.path.join(escape(home), ".nvm/versions/node/*/bin"))
        yield from sorted(versions, key=lambda it: parse_version(it.split("/")[-2]), reverse=True)
    yield from _SYSTEM
    yield os.path.abspath("node_modules/.bin")


def _command(path: str, env: Mapping[str, str]) -> tuple[str, ...]:
    if path.endswith(_SCRIPTS):
        node = _in_path("node", env)
        if node is None:
            advice = "Install Node.js, or give the whole command: cli=[node, script]."
            message = f"{path} needs Node.js, and there is no `node` in PATH"
            raise _missing(message, [_described_path(env)], advice)
        return (node, path)
    if not os.access(path, os.X_OK):
        advice = f"Make it executable: chmod +x {path}"
        raise CLINotFoundError(f"{path} is not executable", advice=advice)
    return (path,)


def _described_path(env: Mapping[str, str]) -> str:
    return f"PATH: {env.get('PATH') or 'empty'}"


def _missing(message: str, searched: Sequence[str], advice: str | None = None) -> CLINotFoundError:
    places = "\n".join(f"  {place}" for place in searched)
    return CLINotFoundError(f"{message}. Searched:\n{places}", advice=advice or _ADVICE)
