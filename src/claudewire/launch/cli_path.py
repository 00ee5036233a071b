"""Finds the CLI: where the options say, or where it usually is.

It looks at a few dozen files at most. Where even those may be slow, as on a network drive, call it
in a thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..errors import CLINotFoundError, OptionsError
from ..wire import parse_version

__all__ = ["CLI_VARIABLE", "find_cli", "names_path"]

CLI_VARIABLE = "CLAUDE_CODE_PATH"
"""The environment variable that says where the CLI is."""

_NAME = "claude"
_SCRIPTS = frozenset([".js", ".mjs", ".cjs"])

_ADVICE = (
    "Install it (npm install -g @anthropic-ai/claude-code), say where it is (cli=…, or the "
    f"environment variable {CLI_VARIABLE}), or use the one that comes with this package "
    '(cli="simulated").'
)
_HOMES = (
    ".local/bin",
    ".claude/local",
    ".claude/local/node_modules/.bin",
    ".npm-global/bin",
    ".npm-packages/bin",
    ".bun/bin",
    ".volta/bin",
    ".yarn/bin",
    ".config/yarn/global/node_modules/.bin",
    ".nvm/current/bin",
    "node_modules/.bin",
)
_SYSTEM = (
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/opt/local/bin",
    "/usr/bin",
    "/snap/bin",
)


def names_path(cli: str | os.PathLike[str] | Sequence[str] | None) -> bool:
    """Whether this says where the CLI is, so that `find_cli` looks at one file only."""
    if isinstance(cli, str):
        return "/" in cli
    if cli is None or isinstance(cli, os.PathLike):
        return cli is not None
    return bool(cli) and names_path(cli[0])


def find_cli(
    cli: str | os.PathLike[str] | Sequence[str] | None, env: Mapping[str, str]
) -> tuple[str, ...]:
    """Find the command that starts the CLI: one word, or several.

    Args:
        cli: a path, a name to be looked up in PATH, or a whole command such as
            `["ssh", "host", "claude"]`, of which only the first word is looked up here. None to
            look into `CLAUDE_CODE_PATH`, then PATH, then the usual places.
        env: the environment that the CLI will have.

    Raises:
        CLINotFoundError: it is not there, or cannot be run. Says where it was looked for.
        OptionsError: the command is empty.
    """
    search = _Search(env)
    if cli is None:
        return search.anywhere()
    if isinstance(cli, os.PathLike):
        return search.at(os.fspath(cli))
    if isinstance(cli, str):
        return search.given(cli)
    words = [os.fspath(word) for word in cli]
    if not words or not words[0]:
        raise OptionsError("The command that starts the CLI is empty")
    return (*search.given(words[0]), *words[1:])


class _Search:
    """Looks for programs, and remembers where."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._looked: list[str] = []

    # --- what was asked for ----------------------------------------------------------------------

    def anywhere(self) -> tuple[str, ...]:
        if place := self._env.get(CLI_VARIABLE):
            # No other CLI will do.
            return self.given(place, f"{CLI_VARIABLE} says {place}, but")
        self._looked.append(f"the environment variable {CLI_VARIABLE}, which is not set")
        found = self._in_path(_NAME) or self._first(self._usual(), _NAME)
        if found is None:
            raise self._missing("There is no `claude` here")
        return self._command(found)

    def given(self, name: str, where: str = "") -> tuple[str, ...]:
        if not name:
            raise OptionsError("The name of the CLI is empty")
        if name[0] != "~" and "/" not in name:
            return self._named(name, where)
        return self.at(name, where)

    def at(self, name: str, where: str = "") -> tuple[str, ...]:
        path = self._expanded(name)
        if os.path.isfile(path):
            return self._command(path)
        if os.path.isdir(path):
            raise CLINotFoundError(f"{where} {path} is a directory".strip(), advice=_ADVICE)
        words = f"{where} there is no file" if where else "There is no file"
        raise CLINotFoundError(f"{words} {path}", advice=_ADVICE)

    def _named(self, name: str, where: str) -> tuple[str, ...]:
        found = self._in_path(name)
        if found is None:
            words = f"{where} there is no program" if where else "There is no program"
            split = f"Was it meant to be several words? Then say cli={name.split()}."
            raise self._missing(f"{words} `{name}`", split if " " in name else _ADVICE)
        return self._command(found)

    def _expanded(self, name: str) -> str:
        # Absolute, because the CLI may run in another directory than this process.
        if name[0] != "~":
            return _absolute(name)
        home = self._env.get("HOME")
        if name[1:2] in ("", "/", os.sep) and home:
            return _absolute(f"{home}{name[1:]}")
        return _absolute(os.path.expanduser(name))

    # --- where it may be -------------------------------------------------------------------------

    def _in_path(self, name: str) -> str | None:
        entries = [entry for entry in self._env.get("PATH", "").split(os.pathsep) if entry]
        self._looked.append(f"PATH: {os.pathsep.join(entries) or 'empty'}")
        return self._first(map(_absolute, entries), name, note=False)

    def _first(self, folders: Iterable[str], name: str, *, note: bool = True) -> str | None:
        for folder in folders:
            if note:
                self._looked.append(folder)
            if _is_program(path := os.path.join(folder, name)):
                return path
        return None

    def _usual(self) -> Iterator[str]:
        for name in ("NPM_CONFIG_PREFIX", "npm_config_prefix"):
            if self._env.get(name):
                yield os.path.join(self._env[name], "bin")
        if home := self._env.get("HOME"):
            yield from (os.path.join(home, folder) for folder in _HOMES)
            yield from _of_nvm(home)
        yield from _SYSTEM
        yield _absolute("node_modules/.bin")

    # --- how it is run ---------------------------------------------------------------------------

    def _command(self, path: str) -> tuple[str, ...]:
        """Return how to run a file."""
        if os.path.splitext(path)[1].lower() in _SCRIPTS:
            return (self._node(path), path)
        if not os.access(path, os.X_OK):
            advice = f"Make it executable: chmod +x {path}"
            raise CLINotFoundError(f"{path} is not executable", advice=advice)
        return (path,)

    def _node(self, script: str) -> str:
        node = self._in_path("node")
        if node is None:
            raise CLINotFoundError(
                f"{script} needs Node.js, and there is no `node` in PATH",
                advice="Install Node.js, or say the whole command: cli=[node, script].",
            )
        return node

    def _missing(self, message: str, advice: str = _ADVICE) -> CLINotFoundError:
        places = "\n".join(f"  {place}" for place in self._looked)
        return CLINotFoundError(f"{message}. Searched:\n{places}", advice=advice)


# Paths are strings here: to load `pathlib` takes 2 ms, and a session whose CLI is given needs none.


def _absolute(path: str) -> str:
    return path if path[0] == "/" else os.path.join(os.getcwd(), path.removeprefix("./"))


def _of_nvm(home: str) -> list[str]:
    """The folders of all versions of Node.js that nvm has installed, the newest first."""
    versions = os.path.join(home, ".nvm", "versions", "node")
    try:
        names = os.listdir(versions)
    except OSError:
        return []
    return [os.path.join(versions, it, "bin") for it in sorted(names, key=parse_version)[::-1]]


def _is_program(path: str) -> bool:
    # Unlike `Path.is_file`, this is False for a folder in PATH that may not be looked into.
    is_script = os.path.splitext(path)[1] in _SCRIPTS
    return os.path.isfile(path) and (is_script or os.access(path, os.X_OK))
