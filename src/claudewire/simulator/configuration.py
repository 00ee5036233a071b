"""What files and flags configure: settings, agents, commands, skills, plugins, MCP servers.

The files are those of the real CLI: in its own folder (`user`), and in the working directory
(`project`, `local`). They are read once, before the engine runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from .flags import SOURCES, Flags

__all__ = [
    "Configuration",
    "Instructions",
    "Plugin",
    "is_configured",
    "read_configuration",
    "wrong_files",
]

Settings = dict[str, Any]

_SETTINGS = {
    "user": ("userSettings", "settings.json"),
    "project": ("projectSettings", ".claude/settings.json"),
    "local": ("localSettings", ".claude/settings.local.json"),
}

_FOLDERS = ("agents", "commands", "skills")


_ACTED_ON = frozenset(
    {"$schema", "description", "env", "hooks", "model", "outputStyle", "permissions"}
)
_PERMISSIONS = frozenset({"additionalDirectories", "allow", "ask", "defaultMode", "deny"})
"""The settings that have an effect."""

_PROMPT_FILES = {
    "system-prompt-file": "System prompt",
    "append-system-prompt-file": "Append system prompt",
}
_INVALID_SERVERS = "Invalid MCP configuration:\n"
_INVALID_AGENTS = "Invalid --agents configuration:\n"

_UNTRUSTED = (
    "Ignoring {count} permissions.additionalDirectories {entries} from {file}: this workspace has "
    "not been trusted. Run Claude Code interactively here once and accept the trust dialog, or set "
    'projects["{cwd}"].hasTrustDialogAccepted: true in {config}/.claude.json.'
)


class Instructions(NamedTuple):
    """A Markdown file that says how to do something: an agent, a command or a skill."""

    name: str
    description: str
    text: str
    source: str
    """`user`, `project`, or the name of a plugin."""
    hint: str = ""
    model: str | None = None
    is_plugin: bool = False

    @property
    def told(self) -> str:
        """The description that an application is shown."""
        if self.is_plugin:
            return f"({self.source}) {self.description}"
        return f"{self.description} ({self.source})"

    def filled(self, arguments: str) -> str:
        """The text with the arguments of the command in it."""
        if "$ARGUMENTS" in self.text:
            return self.text.replace("$ARGUMENTS", arguments)
        return f"{self.text}\n\nARGUMENTS: {arguments}" if arguments else self.text


class Plugin(NamedTuple):
    """A plugin from a folder."""

    name: str
    path: str
    version: str | None


class Configuration:
    """All that is configured."""

    def __init__(self) -> None:
        self.sources: list[tuple[str, Settings]] = []
        self.agents: dict[str, Instructions] = {}
        self.commands: dict[str, Instructions] = {}
        self.skills: dict[str, Instructions] = {}
        self.plugins: list[Plugin] = []
        self.servers: dict[str, Settings] = {}
        self.folders: list[str] = []
        self.problems: list[str] = []
        self.error: str | None = None
        """Why the CLI cannot start."""

    @property
    def effective(self) -> Settings:
        """The settings of all sources: later ones win, and lists are joined."""
        merged: Settings = {}
        for _, settings in self.sources:
            merged = _merged(merged, settings)
        return merged

    def rules(self, behavior: str) -> list[str]:
        """The permission rules for `allow`, `deny` or `ask`."""
        permissions = _object(self.effective.get("permissions"))
        return [it for it in _list(permissions.get(behavior)) if isinstance(it, str)]

    @property
    def mode(self) -> str | None:
        """The permission mode to start in."""
        mode = _object(self.effective.get("permissions")).get("defaultMode")
        return mode if isinstance(mode, str) else None

    @property
    def model(self) -> str | None:
        """The model to use."""
        model = self.effective.get("model")
        return model if isinstance(model, str) else None

    @property
    def style(self) -> str:
        """The output style, which changes only what the model is told."""
        style = self.effective.get("outputStyle")
        return style if isinstance(style, str) else "default"

    @property
    def env(self) -> dict[str, str]:
        """Variables for the programs that it starts."""
        return {key: str(value) for key, value in _object(self.effective.get("env")).items()}

    def hooks(self, event: str) -> Iterator[tuple[str | None, Settings]]:
        """The hooks of an event, each with its matcher."""
        for group in _list(_object(self.effective.get("hooks")).get(event)):
            matcher = _object(group).get("matcher")
            for hook in _list(_object(group).get("hooks")):
                yield matcher if isinstance(matcher, str) else None, _object(hook)

    def unsimulated(self) -> Iterator[str]:
        """Name the settings that have no effect here."""
        for source, settings in self.sources:
            for key in sorted(settings.keys() - _ACTED_ON):
                yield f"{key} ({source})"
            for key in sorted(_object(settings.get("permissions")).keys() - _PERMISSIONS):
                yield f"permissions.{key} ({source})"
        kinds = {str(it.get("type")) for event in self._events() for _, it in self.hooks(event)}
        yield from (f"hooks of the type {kind}" for kind in sorted(kinds - {"command"}))

    def _events(self) -> Iterable[str]:
        return _object(self.effective.get("hooks"))

    def slash_commands(self) -> dict[str, Instructions]:
        """The commands that a prompt can call; skills are among them."""
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


def is_configured(flags: Flags, cwd: str, config_dir: str | None) -> bool:
    """Whether there is anything to read."""
    given = (flags.settings, flags.plugin_dir, flags.add_dir, flags.mcp_config)
    return any(given) or any(os.path.exists(it) for it in _places(flags, cwd, config_dir))


def _places(flags: Flags, cwd: str, config_dir: str | None) -> Iterator[str]:
    if config_dir is not None:
        yield os.path.join(config_dir, ".claude.json")
    for source in _chosen(flags):
        root = _root(source, cwd, config_dir)
        if root is not None:
            yield from (os.path.join(root, name) for name in ("settings.json", *_FOLDERS))
    yield os.path.join(cwd, ".claude", "settings.local.json")


def _chosen(flags: Flags) -> Iterable[str]:
    return SOURCES if flags.setting_sources is None else flags.setting_sources


def _root(source: str, cwd: str, config_dir: str | None) -> str | None:
    """The folder of a source, in which `agents` and the like are."""
    if source == "user":
        return config_dir
    return os.path.join(cwd, ".claude") if source == "project" else None


def read_configuration(flags: Flags, cwd: str, config_dir: str | None) -> Configuration:
    """Read everything that the flags do not exclude. What cannot be read is a problem, no error."""
    found = Configuration()
    for source in _chosen(flags):
        _read_source(found, source, cwd, config_dir)
    if flags.settings:
        _add_settings(found, "flagSettings", _given_settings(found, flags.settings, cwd))
    for path in flags.plugin_dir:
        _read_plugin(found, os.path.abspath(os.path.join(cwd, path)))
    _add_folders(found, flags, cwd, config_dir)
    if "strict-mcp-config" not in flags.others:
        _read_local_servers(found, cwd, config_dir)
    for config in flags.mcp_config:
        servers = _given_servers(found, config, cwd)
        found.servers |= {name: _object(it) for name, it in servers.items()}
    return found


def _add_folders(found: Configuration, flags: Flags, cwd: str, config_dir: str | None) -> None:
    """Folders beside the working directory; not those of a project that nobody has trusted."""
    paths = [*flags.add_dir]
    for source, settings in found.sources:
        folders = _list(_object(settings.get("permissions")).get("additionalDirectories"))
        if folders and source in ("projectSettings", "localSettings"):
            file = ".claude/settings.json" if source == "projectSettings" else "local settings"
            entries = "entry" if len(folders) == 1 else "entries"
            words = {"count": len(folders), "entries": entries, "file": file}
            found.problems.append(_UNTRUSTED.format(**words, cwd=cwd, config=config_dir))
        else:
            paths += [str(it) for it in folders]
    found.folders = [os.path.abspath(os.path.join(cwd, path)) for path in paths]


def _read_source(found: Configuration, source: str, cwd: str, config_dir: str | None) -> None:
    name, file = _SETTINGS[source]
    folder = config_dir if source == "user" else cwd
    if folder is None:
        return
    _add_settings(found, name, _read_json(found, os.path.join(folder, file)))
    root = _root(source, cwd, config_dir)
    if root is not None:
        _read_folders(found, root, source)


def _add_settings(found: Configuration, name: str, settings: Settings) -> None:
    if settings:
        found.sources.append((name, settings))


def _given_settings(found: Configuration, value: str, cwd: str) -> Settings:
    """The settings of the command line, or of a file that is named there."""
    text = value.strip()
    if text.startswith("{") and text.endswith("}"):
        try:
            return _object(msgspec.json.decode(text))
        except msgspec.DecodeError:
            found.error = "Invalid JSON provided to --settings"
            return {}
    path = os.path.join(cwd, value)
    if not os.path.exists(path):
        found.error = f"Settings file not found: {path}"
    return _read_json(found, path)


def _given_servers(found: Configuration, value: str, cwd: str) -> Settings:
    """The MCP servers of the command line, or of a file that is named there."""
    try:
        given = msgspec.json.decode(value)
    except msgspec.DecodeError:
        given = _read_servers(found, os.path.join(cwd, value))
    servers = _object(given).get("mcpServers")
    if not isinstance(servers, dict) and found.error is None:
        received = "undefined" if servers is None else "array"
        wrong = f"mcpServers: Invalid input: expected record, received {received}"
        found.error = f"{_INVALID_SERVERS}{wrong}"
    return _object(servers)


def _read_servers(found: Configuration, path: str) -> Any:
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read())
    except OSError:
        found.error = f"{_INVALID_SERVERS}MCP config file not found: {path}"
    except (msgspec.DecodeError, UnicodeDecodeError):
        found.error = f"{_INVALID_SERVERS}MCP config is not a valid JSON"
    return None


def wrong_files(flags: Flags, cwd: str, *, checks_agents: bool) -> str | None:
    """What is wrong with files and agents that the model alone would be told of.

    Args:
        flags: how the CLI was called.
        cwd: its working directory.
        checks_agents: whether this version looks at `--agents` before it starts.
    """
    for name, what in _PROMPT_FILES.items():
        path = flags.others.get(name)
        if path and not os.path.exists(os.path.join(cwd, path)):
            return f"{what} file not found: {os.path.join(cwd, path)}"
    if checks_agents and flags.agents and flags.agents.lstrip().startswith(("{", "[")):
        return _wrong_agents(flags.agents)
    return None


def _wrong_agents(text: str) -> str | None:
    try:
        agents = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        return f"{_INVALID_AGENTS}invalid JSON: {error}"
    if not isinstance(agents, dict):
        return f"{_INVALID_AGENTS}Invalid input: expected record, received array"
    for name, agent in agents.items():
        for field in ("description", "prompt"):
            if not isinstance(_object(agent).get(field), str):
                wrong = "Invalid input: expected string, received undefined"
                return f"{_INVALID_AGENTS}{name}.{field}: {wrong}"
    return None


def _read_json(found: Configuration, path: str) -> Settings:
    try:
        with open(path, "rb") as file:
            return _object(msgspec.json.decode(file.read()))
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        found.problems.append(f"Error: {path} cannot be read: {error}")
        return {}


def _read_local_servers(found: Configuration, cwd: str, config_dir: str | None) -> None:
    """The servers that `claude mcp add` has added, for the user or for the project."""
    if config_dir is not None:
        kept = _read_json(found, os.path.join(config_dir, ".claude.json"))
        project = _object(_object(kept.get("projects")).get(cwd))
        for servers in (kept.get("mcpServers"), project.get("mcpServers")):
            found.servers |= {name: _object(it) for name, it in _object(servers).items()}


def _read_plugin(found: Configuration, path: str) -> None:
    about = _read_json(found, os.path.join(path, ".claude-plugin", "plugin.json"))
    name = about.get("name")
    if not os.path.isdir(path):
        found.problems.append(f"Error: there is no plugin in {path}")
        return
    if not isinstance(name, str):
        name = os.path.basename(path)
    version = about.get("version")
    found.plugins.append(Plugin(name, path, version if isinstance(version, str) else None))
    _read_folders(found, path, name, is_plugin=True)
    _add_settings(found, "plugin", _read_json(found, os.path.join(path, "hooks", "hooks.json")))
    servers = _object(_read_json(found, os.path.join(path, ".mcp.json")).get("mcpServers"))
    found.servers |= {f"plugin:{name}:{key}": _object(it) for key, it in servers.items()}


def _read_folders(found: Configuration, root: str, source: str, *, is_plugin: bool = False) -> None:
    into = {"agents": found.agents, "commands": found.commands, "skills": found.skills}
    for folder in _FOLDERS:
        for name, path in _markdown(os.path.join(root, folder), folder == "skills"):
            read = _read_instructions(found, path, name, source, is_plugin)
            if read is not None:
                into[folder][read.name] = read


def _markdown(folder: str, in_folders: bool) -> Iterator[tuple[str, str]]:
    """The Markdown files of a folder by name; for skills, those in its subfolders."""
    for above, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            where = os.path.relpath(above, folder)
            if in_folders and file == "SKILL.md" and where != ".":
                yield where, os.path.join(above, file)
            elif not in_folders and file.endswith(".md"):
                inside = [] if where == "." else where.split(os.sep)
                yield ":".join([*inside, file.removesuffix(".md")]), os.path.join(above, file)


def _read_instructions(
    found: Configuration, path: str, name: str, source: str, is_plugin: bool
) -> Instructions | None:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        found.problems.append(f"Error: {path} cannot be read: {error}")
        return None
    head, body = _front_matter(text)
    own = name if "/commands/" in path else head.get("name") or name
    own = f"{source}:{own}" if is_plugin else own
    lines = [line.lstrip("# ") for line in body.splitlines() if line.strip()]
    description = head.get("description") or (lines[0] if lines else "")
    hint = head.get("argument-hint", "").strip("[]")
    return Instructions(own, description, body, source, hint, head.get("model"), is_plugin)


def _front_matter(text: str) -> tuple[Mapping[str, str], str]:
    """The fields between two lines of dashes, and what follows. Only plain fields are read."""
    lines = text.split("\n")
    if lines[0].strip() != "---":
        return {}, text.strip()
    end = next((at for at, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
    fields = (line.partition(":") for line in lines[1:end] if line[:1].strip())
    head = {key.strip(): value.strip().strip("\"'") for key, _, value in fields}
    return head, "\n".join(lines[end + 1 :]).strip()
