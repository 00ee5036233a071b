"""The configuration in files and flags: settings, agents, commands, skills, plugins, MCP servers.

The files are those of the real CLI: in its own folder (`user`) and in the working directory
(`project`, `local`). They are read once, before the engine runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from .flags import Flags

Settings = dict[str, Any]

_FILES = {
    "user": ("userSettings", "settings.json"),
    "project": ("projectSettings", ".claude/settings.json"),
    "local": ("localSettings", ".claude/settings.local.json"),
}

_ACTED_ON = frozenset(
    {"$schema", "description", "env", "hooks", "model", "outputStyle", "permissions"}
)
_PERMISSIONS = frozenset({"additionalDirectories", "allow", "ask", "defaultMode", "deny"})
_EVENTS = frozenset(
    {"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "PreCompact"}
    | {"PermissionRequest", "SubagentStart", "SubagentStop"}
)
"""The settings that have an effect, and the events whose hooks are called."""

_GRANTS = {"additionalDirectories", "allow", "defaultMode"}
"""The permissions that a project may give only if it is trusted."""


class ConfigurationError(Exception):
    """The CLI cannot start with this configuration; the message says why."""


class Instructions(NamedTuple):
    """A Markdown file that describes an agent, a command or a skill."""

    description: str
    text: str

    def filled(self, arguments: str) -> str:
        """Return the text with the arguments of the command."""
        if "$ARGUMENTS" in self.text:
            return self.text.replace("$ARGUMENTS", arguments)
        return f"{self.text}\n\nARGUMENTS: {arguments}" if arguments else self.text


class Plugin(NamedTuple):
    """A plugin from a folder."""

    name: str
    path: str
    version: str | None


class Source(NamedTuple):
    """The settings of one file; the rules in them are relative to `root`."""

    name: str
    root: str
    settings: Settings


class Configuration:
    """Everything that files and flags configure."""

    def __init__(self) -> None:
        self.sources: list[Source] = []
        self.agents: dict[str, Instructions] = {}
        self.commands: dict[str, Instructions] = {}
        self.skills: dict[str, Instructions] = {}
        self.plugins: list[Plugin] = []
        self.servers: dict[str, Settings] = {}
        self.folders: list[str] = []
        self.problems: list[str] = []

    @property
    def effective(self) -> Settings:
        """The settings of all sources: later ones win, and lists are joined."""
        merged: Settings = {}
        for source in self.sources:
            merged = _merged(merged, source.settings)
        return merged

    def rules(self, behavior: str) -> Iterator[tuple[str, str, str]]:
        """Yield the permission rules for `allow`, `deny` or `ask`, with their root and source."""
        for source in self.sources:
            for rule in _list(_object(source.settings.get("permissions")).get(behavior)):
                yield str(rule), source.root, source.name

    def text(self, key: str) -> str | None:
        """A setting that is a string; None if it is missing."""
        value = self.effective.get(key)
        return value if isinstance(value, str) else None

    @property
    def mode(self) -> str | None:
        """The permission mode to start in."""
        mode = _object(self.effective.get("permissions")).get("defaultMode")
        return mode if isinstance(mode, str) else None

    @property
    def style(self) -> str:
        """The output style, which changes only what the model reads."""
        return self.text("outputStyle") or "default"

    @property
    def env(self) -> dict[str, str]:
        """Variables for the programs that the CLI starts."""
        return {key: str(value) for key, value in _object(self.effective.get("env")).items()}

    def hooks(self, event: str) -> Iterator[tuple[str | None, Settings]]:
        """Yield the hooks of an event, each with its matcher."""
        for group in _list(_object(self.effective.get("hooks")).get(event)):
            matcher = _object(group).get("matcher")
            for hook in _list(_object(group).get("hooks")):
                yield matcher if isinstance(matcher, str) else None, _object(hook)

    def unsimulated(self) -> Iterator[str]:
        """Name the settings that have no effect here."""
        for source in self.sources:
            for key in sorted(source.settings.keys() - _ACTED_ON):
                yield f"{key} ({source.name})"
            for key in sorted(_object(source.settings.get("permissions")).keys() - _PERMISSIONS):
                yield f"permissions.{key} ({source.name})"
        events = _object(self.effective.get("hooks"))
        yield from (f"hooks for {event}" for event in sorted(events.keys() - _EVENTS))
        kinds = {str(it.get("type")) for event in events for _, it in self.hooks(event)}
        yield from (f"hooks of the type {kind}" for kind in sorted(kinds - {"command"}))

    def slash_commands(self) -> dict[str, Instructions]:
        """The commands that a prompt can call, with the skills."""
        return {**self.skills, **self.commands}


def _merged(one: Settings, other: Settings) -> Settings:
    merged = dict(one)
    for key, value in other.items():
        before = merged.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            merged[key] = _merged(before, value)
        elif isinstance(before, list) and isinstance(value, list):
            merged[key] = [*before, *(it for it in value if it not in before)]
        else:
            merged[key] = value
    return merged


def _object(value: Any) -> Settings:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# --- reading --------------------------------------------------------------------------------------


def read_configuration(flags: Flags, cwd: str, config_dir: str | None) -> Configuration:
    """Read everything that the flags do not exclude; unreadable files become problems.

    Raises:
        ConfigurationError: a flag is invalid, or names a file that does not exist.
    """
    reader = _Reader(cwd, config_dir)
    for source in flags.setting_sources:
        reader.read_source(source)
    if flags.settings:
        reader.add("flagSettings", cwd, reader.given_settings(flags.settings))
    for path in flags.plugin_dir:
        reader.read_plugin(os.path.abspath(os.path.join(cwd, path)))
    reader.found.folders[:0] = [os.path.abspath(os.path.join(cwd, it)) for it in flags.add_dir]
    if not flags.strict_mcp_config:
        reader.add_servers(reader.known, reader.project)
    for config in flags.mcp_config:
        reader.add_servers(reader.given_servers(config))
    return reader.found


class _Reader:
    """Reads files into a configuration."""

    def __init__(self, cwd: str, config_dir: str | None) -> None:
        self.found = Configuration()
        self._cwd = cwd
        self._config_dir = config_dir
        self.known = self._read_json(os.path.join(config_dir, ".claude.json")) if config_dir else {}
        self.project = _object(_object(self.known.get("projects")).get(cwd))

    def read_source(self, source: str) -> None:
        name, file = _FILES[source]
        folder = self._config_dir if source == "user" else self._cwd
        if folder is None:
            return
        settings = self._read_json(os.path.join(folder, file))
        if source != "user" and self.project.get("hasTrustDialogAccepted") is not True:
            settings = self._distrusted(settings, file)
        self.add(name, folder, settings)
        if source != "local":
            self._read_folders(folder if source == "user" else f"{folder}/.claude")

    def _distrusted(self, settings: Settings, file: str) -> Settings:
        """Drop the permissions that an untrusted project grants, and report that."""
        permissions = _object(settings.get("permissions"))
        for key in permissions.keys() & _GRANTS:
            count = len(_list(permissions[key])) or 1
            entries = "entry" if count == 1 else "entries"
            self.found.problems.append(
                f"Ignoring {count} permissions.{key} {entries} from {file}: this workspace has not "
                "been trusted. Run Claude Code interactively here once and accept the trust "
                f'dialog, or set projects["{self._cwd}"].hasTrustDialogAccepted: true in '
                f"{self._config_dir}/.claude.json."
            )
        kept = {key: value for key, value in permissions.items() if key not in _GRANTS}
        return {**settings, "permissions": kept} if permissions else settings

    def add(self, name: str, root: str, settings: Settings) -> None:
        """Add a source, with its folders."""
        if settings:
            self.found.sources.append(Source(name, root, settings))
        folders = _list(_object(settings.get("permissions")).get("additionalDirectories"))
        paths = (os.path.join(self._cwd, str(it)) for it in folders)
        self.found.folders += map(os.path.abspath, paths)

    def given_settings(self, value: str) -> Settings:
        """Return the settings of the command line, or of a file that it names."""
        text = value.strip()
        if text.startswith("{") and text.endswith("}"):
            try:
                return _object(msgspec.json.decode(text))
            except msgspec.DecodeError:
                raise ConfigurationError("Invalid JSON provided to --settings") from None
        path = os.path.join(self._cwd, value)
        if not os.path.exists(path):
            raise ConfigurationError(f"Settings file not found: {path}")
        return self._read_json(path)

    def given_servers(self, value: str) -> Settings:
        """Return the contents of an MCP configuration on the command line, or of its file."""
        try:
            given = msgspec.json.decode(value)
        except msgspec.DecodeError:
            path = os.path.join(self._cwd, value)
            if not os.path.exists(path):
                wrong = f"Invalid MCP configuration:\nMCP config file not found: {path}"
                raise ConfigurationError(wrong) from None
            given = self._read_json(path)
        return _object(given)

    def add_servers(self, *files: Settings, prefix: str = "") -> None:
        """Add the servers that files describe."""
        for file in files:
            servers = _object(file.get("mcpServers")).items()
            self.found.servers |= {f"{prefix}{name}": _object(it) for name, it in servers}

    def read_plugin(self, path: str) -> None:
        """Read a plugin: its folders, its hooks, its servers."""
        if not os.path.isdir(path):
            self.found.problems.append(f"Error: there is no plugin in {path}")
            return
        about = self._read_json(os.path.join(path, ".claude-plugin", "plugin.json"))
        name = str(about.get("name") or os.path.basename(path))
        version = about.get("version")
        version = version if isinstance(version, str) else None
        self.found.plugins.append(Plugin(name, path, version))
        self._read_folders(path, f"{name}:")
        self.add("plugin", path, self._read_json(os.path.join(path, "hooks", "hooks.json")))
        servers = self._read_json(os.path.join(path, ".mcp.json"))
        self.add_servers(servers, prefix=f"plugin:{name}:")

    def _read_json(self, path: str) -> Settings:
        try:
            with open(path, "rb") as file:
                return _object(msgspec.json.decode(file.read()))
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, msgspec.DecodeError) as error:
            self.found.problems.append(f"Error: {path} cannot be read: {error}")
            return {}

    def _read_folders(self, root: str, prefix: str = "") -> None:
        found = self.found
        for kind, into in (("agents", found.agents), ("commands", found.commands)):
            for name, path in _markdown(os.path.join(root, kind)):
                self._read_instructions(into, path, name, prefix)
        for name, path in _markdown(os.path.join(root, "skills")):
            folder, _, file = name.rpartition(":")
            if file == "SKILL" and folder:
                self._read_instructions(found.skills, path, folder, prefix)

    def _read_instructions(
        self, into: dict[str, Instructions], path: str, name: str, prefix: str
    ) -> None:
        try:
            with open(path, encoding="utf-8") as file:
                head, body = _front_matter(file.read())
        except (OSError, UnicodeDecodeError) as error:
            self.found.problems.append(f"Error: {path} cannot be read: {error}")
            return
        own = prefix + (name if into is self.found.commands else head.get("name") or name)
        first = next((line.lstrip("# ") for line in body.splitlines() if line.strip()), "")
        into[own] = Instructions(head.get("description") or first, body)


def _markdown(folder: str) -> Iterator[tuple[str, str]]:
    """Yield the Markdown files below a folder, named like `folder:file`."""
    for above, folders, files in os.walk(folder):
        folders.sort()
        inside = os.path.relpath(above, folder).split(os.sep)
        for file in sorted(files):
            if file.endswith(".md"):
                names = [*(it for it in inside if it != "."), file.removesuffix(".md")]
                yield ":".join(names), os.path.join(above, file)


def _front_matter(text: str) -> tuple[Mapping[str, str], str]:
    """Return the plain fields between two lines of dashes, and the rest."""
    lines = text.split("\n")
    if lines[0].strip() != "---":
        return {}, text.strip()
    end = next((at for at, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
    fields = (line.partition(":") for line in lines[1:end] if line[:1].strip())
    head = {key.strip(): value.strip().strip("\"'") for key, _, value in fields}
    return head, "\n".join(lines[end + 1 :]).strip()
