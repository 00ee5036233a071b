"""Finds the CLI: where the options say, or where it usually is.

It looks at a few dozen files at most. Where even those may be slow, as on a network drive, call it
in a thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

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

    def _expanded(self, name: str) -> str | Path:
        # Absolute, because the CLI may run in another directory than this process.
        if name[0] == "/":
            return name  # as nearly always when there are many sessions; a Path would take longer
        if name[0] != "~":
            return Path(name).absolute()
        home = self._home()
        if name[1:2] in ("", "/", os.sep) and home is not None:
            return Path(f"{home}{name[1:]}").absolute()
        return Path(name).expanduser().absolute()

    # --- where it may be -------------------------------------------------------------------------

    def _in_path(self, name: str) -> Path | None:
        entries = [entry for entry in self._env.get("PATH", "").split(os.pathsep) if entry]
        self._looked.append(f"PATH: {os.pathsep.join(entries) or 'empty'}")
        return self._first((Path(entry).absolute() for entry in entries), name, note=False)

    def _first(self, folders: Iterable[Path], name: str, *, note: bool = True) -> Path | None:
        for folder in folders:
            if note:
                self._looked.append(str(folder))
            if _is_program(folder / name):
                return folder / name
        return None

    def _home(self) -> Path | None:
        home = self._env.get("HOME")
        return Path(home) if home else None

    def _usual(self) -> Iterator[Path]:
        for name in ("NPM_CONFIG_PREFIX", "npm_config_prefix"):
            if self._env.get(name):
                yield Path(self._env[name], "bin")
        if (home := self._home()) is not None:
            yield from (home / folder for folder in _HOMES)
            nodes = home.glob(".nvm/versions/node/*/bin")
            yield from sorted(nodes, key=lambda it: parse_version(it.parent.name), reverse=True)
        yield from map(Path, _SYSTEM)
        yield Path("node_modules", ".bin").absolute()

    # --- how it is run ---------------------------------------------------------------------------

    def _command(self, path: str | Path) -> tuple[str, ...]:
        """Return how to run a file."""
        if os.path.splitext(path)[1].lower() in _SCRIPTS:
            return (self._node(path), str(path))
        if not os.access(path, os.X_OK):
            advice = f"Make it executable: chmod +x {path}"
            raise CLINotFoundError(f"{path} is not executable", advice=advice)
        return (str(path),)

    def _node(self, script: str | Path) -> str:
        node = self._in_path("node")
        if node is None:
            raise CLINotFoundError(
                f"{script} needs Node.js, and there is no `node` in PATH",
                advice="Install Node.js, or say the whole command: cli=[node, script].",
            )
        return str(node)

    def _missing(self, message: str, advice: str = _ADVICE) -> CLINotFoundError:
        places = "\n".join(f"  {place}" for place in self._looked)
        return CLINotFoundError(f"{message}. Searched:\n{places}", advice=advice)


def _is_program(path: Path) -> bool:
    # Unlike `Path.is_file`, this is False for a folder in PATH that may not be looked into.
    return os.path.isfile(path) and (path.suffix in _SCRIPTS or os.access(path, os.X_OK))
