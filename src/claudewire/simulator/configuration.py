"""The configuration in files and flags: settings, agents, commands, skills, plugins, MCP servers.

The files are those of the real CLI: in its own folder (`user`) and in the working directory
(`project`, `local`). They are read once, before the engine runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from .flags import EarlyExit, Flags

Object = dict[str, Any]
T = TypeVar("T")

_FILES = {
    "user": ("userSettings", "settings.json"),
    "project": ("projectSettings", ".claude/settings.json"),
    "local": ("localSettings", ".claude/settings.local.json"),
}

HOOK_EVENTS = frozenset(
    {"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "PreCompact"}
    | {"PermissionRequest", "SubagentStart", "SubagentStop"}
)
"""The events whose hooks are called."""

_GRANTS = {"additionalDirectories", "allow", "defaultMode"}
"""The permissions that a project may give only if it is trusted."""


# --- files, as far as they have an effect ---------------------------------------------------------


class HookGroup(Struct):
    """The hooks of an event for some subjects."""

    matcher: str | None = None
    hooks: list[Object] = []


class Permissions(Struct, rename="camel", frozen=True):
    """Permission rules, folders and the mode to start in."""

    additional_directories: list[str] = []
    allow: list[str] = []
    ask: list[str] = []
    default_mode: str | None = None
    deny: list[str] = []


class Settings(Struct, rename={"schema": "$schema", "output_style": "outputStyle"}):
    """The settings that have an effect, and two that need none."""

    description: Any = None
    env: dict[str, str] = {}
    hooks: dict[str, list[HookGroup]] = {}
    model: str | None = None
    output_style: str = "default"
    permissions: Permissions = Permissions()
    schema: Any = None


class _Servers(Struct, rename="camel"):
    mcp_servers: dict[str, Object] = {}


class _Project(_Servers):
    has_trust_dialog_accepted: bool = False


class _Known(_Servers):
    """The file `.claude.json`."""

    projects: dict[str, _Project] = {}


class Instructions(NamedTuple):
    """A Markdown file that describes an agent, a command or a skill."""

    description: str
    text: str
    tools: list[str] | None = None

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
    """The settings of one file, as it has them; the rules in them are relative to `root`."""

    name: str
    root: str
    written: Object


# --- all of them ----------------------------------------------------------------------------------


class Configuration:
    """Everything that files and flags configure. Files that cannot be read become problems.

    Attributes:
        effective: the settings of all sources: later ones win, and lists are joined.
        settings: the part of them that has an effect.

    Raises:
        EarlyExit: a flag is invalid, or names a file that does not exist.
    """

    def __init__(self, flags: Flags, cwd: str, config_dir: str | None) -> None:
        self.sources: list[Source] = []
        self.agents: dict[str, Instructions] = {}
        self.commands: dict[str, Instructions] = {}
        self.skills: dict[str, Instructions] = {}
        self.plugins: list[Plugin] = []
        self.servers: dict[str, Object] = {}
        self.folders: list[str] = []
        self.problems: list[str] = []
        self.effective: Object = {}
        self._cwd = cwd
        self._config_dir = config_dir
        known = self._read(f"{config_dir}/.claude.json", _Known) if config_dir else _Known()
        project = known.projects.get(cwd, _Project())
        for source in flags.setting_sources:
            self._read_source(source, is_trusted=project.has_trust_dialog_accepted)
        if flags.settings:
            self._add("flagSettings", cwd, self._given_settings(flags.settings))
        for path in flags.plugin_dir:
            self._read_plugin(self._full(path))
        self.folders[:0] = map(self._full, flags.add_dir)
        if not flags.strict_mcp_config:
            self.servers |= {**known.mcp_servers, **project.mcp_servers}
        for config in flags.mcp_config:
            self.servers |= self._given_servers(config)
        self.settings: Settings = msgspec.convert(self.effective, Settings)

    def rules(self, behavior: str) -> Iterator[tuple[str, str, str]]:
        """Yield the permission rules for `allow`, `deny` or `ask`, with their root and source."""
        for source in self.sources:
            for rule in source.written.get("permissions", {}).get(behavior, ()):
                yield rule, source.root, source.name

    def hooks(self, event: str) -> Iterator[tuple[str | None, Object]]:
        """Yield the hooks of an event, each with its matcher."""
        for group in self.settings.hooks.get(event, ()):
            yield from ((group.matcher, hook) for hook in group.hooks)

    def unsimulated(self) -> Iterator[str]:
        """Name the settings that have no effect here."""
        for name, _, written in self.sources:
            permissions = written.get("permissions", {})
            for key in sorted(written.keys() - {*Settings.__struct_encode_fields__}):
                yield f"{key} ({name})"
            for key in sorted(permissions.keys() - {*Permissions.__struct_encode_fields__}):
                yield f"permissions.{key} ({name})"
        events = self.settings.hooks
        yield from (f"hooks for {event}" for event in sorted(events.keys() - HOOK_EVENTS))
        kinds = {str(it.get("type")) for event in events for _, it in self.hooks(event)}
        yield from (f"hooks of the type {kind}" for kind in sorted(kinds - {"command"}))

    def slash_commands(self) -> dict[str, Instructions]:
        """The commands that a prompt can call, with the skills."""
        return {**self.skills, **self.commands}

    # --- reading ---------------------------------------------------------------------------------

    def _full(self, path: str) -> str:
        return os.path.abspath(os.path.join(self._cwd, path))

    def _read(self, path: str, kind: type[T]) -> T:
        try:
            with open(path, "rb") as file:
                return msgspec.json.decode(file.read(), type=kind)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except (OSError, msgspec.DecodeError) as error:
            self.problems.append(f"Error: {path} cannot be read: {error}")
        return kind()

    def _read_source(self, source: str, *, is_trusted: bool) -> None:
        name, file = _FILES[source]
        folder = self._config_dir if source == "user" else self._cwd
        if folder is None:
            return
        settings = self._read(os.path.join(folder, file), Object)
        self._add(name, folder, settings, trusted=source == "user" or is_trusted, file=file)
        if source != "local":
            self._read_folders(folder if source == "user" else f"{folder}/.claude")

    def _add(
        self, name: str, root: str, settings: Object, *, trusted: bool = True, file: str = ""
    ) -> None:
        """Add a source, with its folders."""
        try:
            msgspec.convert(settings, Settings)
        except msgspec.ValidationError as error:
            self.problems.append(f"Error: the settings in {root} are invalid: {error}")
            return
        permissions = settings.get("permissions", {})
        if permissions and not trusted:
            self._report_distrust(permissions, file)
            permissions = {key: it for key, it in permissions.items() if key not in _GRANTS}
            settings = {**settings, "permissions": permissions}
        if settings:
            self.sources.append(Source(name, root, settings))
        self.effective = _merged(self.effective, settings)
        self.folders += map(self._full, permissions.get("additionalDirectories", ()))

    def _report_distrust(self, permissions: Object, file: str) -> None:
        """Report the permissions that an untrusted project grants."""
        for key in sorted(permissions.keys() & _GRANTS):
            count = len(permissions[key]) if isinstance(permissions[key], list) else 1
            entries = f"{count} permissions.{key} {'entry' if count == 1 else 'entries'}"
            self.problems.append(
                f"Ignoring {entries} from {file}: this workspace has not been trusted. Run Claude "
                "Code interactively here once and accept the trust dialog, or set "
                f'projects["{self._cwd}"].hasTrustDialogAccepted: true in '
                f"{self._config_dir}/.claude.json."
            )

    def _given_settings(self, value: str) -> Object:
        """Return the settings of the command line, or of a file that it names."""
        text = value.strip()
        if text.startswith("{") and text.endswith("}"):
            try:
                return msgspec.json.decode(text, type=Object)
            except msgspec.DecodeError:
                raise EarlyExit.error("Error: Invalid JSON provided to --settings") from None
        path = self._full(value)
        if not os.path.exists(path):
            raise EarlyExit.error(f"Error: Settings file not found: {path}")
        return self._read(path, Object)

    def _given_servers(self, value: str) -> dict[str, Object]:
        """Return the servers in an MCP configuration on the command line, or in its file."""
        try:
            return msgspec.json.decode(value, type=_Servers).mcp_servers
        except msgspec.DecodeError:
            path = self._full(value)
        if not os.path.exists(path):
            wrong = f"Error: Invalid MCP configuration:\nMCP config file not found: {path}"
            raise EarlyExit.error(wrong)
        return self._read(path, _Servers).mcp_servers

    def _read_plugin(self, path: str) -> None:
        """Read a plugin: its folders, its hooks, its servers."""
        if not os.path.isdir(path):
            self.problems.append(f"Error: there is no plugin in {path}")
            return
        about = self._read(f"{path}/.claude-plugin/plugin.json", Object)
        name = str(about.get("name") or os.path.basename(path))
        self.plugins.append(Plugin(name, path, about.get("version")))
        self._read_folders(path, f"{name}:")
        self._add("plugin", path, self._read(f"{path}/hooks/hooks.json", Object))
        servers = self._read(f"{path}/.mcp.json", _Servers).mcp_servers
        self.servers |= {f"plugin:{name}:{key}": it for key, it in servers.items()}

    def _read_folders(self, root: str, prefix: str = "") -> None:
        """Read the agents, commands and skills in a folder."""
        for path, name in _markdown(f"{root}/agents"):
            self._read_instructions(self.agents, path, prefix, name)
        for path, name in _markdown(f"{root}/commands"):
            self._read_instructions(self.commands, path, prefix, name)
        for path, name in _markdown(f"{root}/skills"):
            if name.endswith(":SKILL"):
                self._read_instructions(self.skills, path, prefix, name.removesuffix(":SKILL"))

    def _read_instructions(
        self, into: dict[str, Instructions], path: Path, prefix: str, name: str
    ) -> None:
        try:
            found = _FRONT_MATTER.fullmatch(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            self.problems.append(f"Error: {path} cannot be read: {error}")
            return
        assert found is not None
        head, body = dict(_FIELD.findall(found["head"] or "")), found["body"].strip()
        own = name if into is self.commands else head.get("name") or name
        first = next((line.lstrip("# ") for line in body.splitlines() if line.strip()), "")
        tools = re.findall(r"[^,\s]+", head["tools"]) if head.get("tools") else None
        into[prefix + own] = Instructions(head.get("description") or first, body, tools)


_FRONT_MATTER = re.compile(r"(---\s*\n(?P<head>.*?)\n---\s*?(?=\n|$))?(?P<body>.*)", re.DOTALL)
_FIELD = re.compile(r"""^([\w-]+):[ \t]*["']?(.*?)["']?[ \t]*$""", re.MULTILINE)
"""Plain fields between two lines of dashes."""


def _markdown(folder: str) -> Iterator[tuple[Path, str]]:
    """Yield the Markdown files below a folder, and their names, such as `folder:file`."""
    for path in sorted(Path(folder).rglob("*.md")):
        yield path, ":".join(path.relative_to(folder).with_suffix("").parts)


def _merged(one: Object, other: Object) -> Object:
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
