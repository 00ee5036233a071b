"""Policies from files: from TOML, and from the settings of the CLI.

The rules of all settings files hold together: no file can allow what another denies. The files are
those of the organisation (managed), of the call (`--settings`), of the project for one user (local)
and for all (project), and of the user; the mode is that of the first file that names one.

Both files of a project may have come with it, so their grants (allow rules, directories, a mode)
count only if the project is trusted. Their deny rules always count.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from ..errors import OptionsError
from ..wire import PermissionMode
from .decisions import Behavior
from .policy import MODES, Policy, StrPath, check_spelling, checked_rules
from .rules import Rule

_LISTS: tuple[Behavior, ...] = ("allow", "ask", "deny")
_MODE_SWITCHES = {"disableBypassPermissionsMode": "bypassPermissions", "disableAutoMode": "auto"}
_KNOWN = {*_LISTS, "additionalDirectories", "defaultMode", *_MODE_SWITCHES}
_SCOPES = ("user", "project", "local")
_INVALID = (msgspec.MsgspecError, ValueError, RecursionError)


@dataclass(frozen=True, slots=True)
class _Settings:
    """One settings file.

    Attributes:
        name: the file, for messages.
        source: its kind, for its rules.
        root: the directory of paths that begin with a slash.
        data: its permissions.
        managed_only: whether only the organisation's rules count.
    """

    name: str
    source: str
    root: Path
    data: dict[str, Any]
    managed_only: bool

    @classmethod
    def read(cls, path: Path, source: str, root: Path) -> Iterator[_Settings]:
        """Read a file; yield nothing if there is none."""
        try:
            text = path.read_bytes().decode()
        except (FileNotFoundError, NotADirectoryError):
            return
        except (OSError, ValueError) as error:
            raise OptionsError(f"The {source} at {path} cannot be read: {error}") from error
        yield cls.of(text, f"The {source} at {path}", source, root)

    @classmethod
    def of(cls, text: str, name: str, source: str, root: Path) -> _Settings:
        """Parse the text of a file."""
        try:
            data = msgspec.json.decode(text) if text.strip() else {}
        except _INVALID as error:
            raise OptionsError(f"{name}: this is not JSON: {error}") from error
        permissions = data.get("permissions", {}) if isinstance(data, dict) else None
        if not isinstance(permissions, dict):
            raise OptionsError(f"{name}: permissions must be an object")
        only = source == _MANAGED and data.get("allowManagedPermissionRulesOnly") is True
        return cls(name, source, root, permissions, only)

    def strings(self, key: str) -> list[str]:
        """Return a list of strings; empty if there is none."""
        try:
            return msgspec.convert(self.data.get(key) or [], list[str])
        except msgspec.ValidationError as error:
            raise OptionsError(f"{self.name}: {key} must be a list of strings: {error}") from None

    @property
    def grants(self) -> bool:
        """Whether it may allow more than the rules of others do."""
        return any(self.data.get(key) for key in (*_LISTS, "additionalDirectories", "defaultMode"))


_MANAGED = "managed settings"


def load_settings(
    *,
    cwd: Path,
    home: Path,
    config: Path,
    managed: Path | None,
    extra: StrPath | None,
    sources: Sequence[str],
    trusted: bool,
) -> Policy:
    """Load a policy: see `Policy.from_settings`."""
    if unknown := set(sources) - {*_SCOPES}:
        raise OptionsError(f"There are no settings {min(unknown)!r}; only {', '.join(_SCOPES)}")
    files = list(_files(cwd, config, managed or managed_directory(), extra, sources))
    managed_only = any(it.managed_only for it in files)
    disabled = {
        mode
        for key, mode in _MODE_SWITCHES.items()
        if any(it.data.get(key) == "disable" for it in files)
    }
    rules: dict[Behavior, list[Rule]] = {key: [] for key in _LISTS}
    directories: list[str] = []
    modes: list[PermissionMode] = []
    problems: list[str] = []
    for it in files:
        if managed_only and it.source != _MANAGED:
            if it.grants:
                problems.append(f"{it.name}: its rules do not count: only managed rules do")
            continue
        is_trusted = trusted or it.source not in ("project settings", "local settings")
        found = _Reader(it, is_trusted=is_trusted, disabled=disabled)
        for behavior in _LISTS:
            rules[behavior] += found.rules(behavior)
        directories += found.directories()
        modes += found.mode()
        problems += found.problems
    return Policy(
        *rules.values(),
        mode=next(iter(modes), "default"),
        cwd=cwd,
        home=home,
        directories=directories,
        problems=problems,
    )


def _files(
    cwd: Path, config: Path, managed: Path, extra: StrPath | None, scopes: Sequence[str]
) -> Iterator[_Settings]:
    """Yield the existing settings, those with the highest priority first."""
    parts = sorted((managed / "managed-settings.d").glob("[!.]*.json"), reverse=True)
    for path in (*parts, managed / "managed-settings.json"):
        yield from _Settings.read(path, _MANAGED, managed)
    if isinstance(extra, str) and extra.lstrip().startswith("{"):
        yield _Settings.of(extra, "The given settings", "given settings", cwd)
    elif extra is not None:
        path = Path(extra).absolute()
        given = list(_Settings.read(path, "given settings", path.parent))
        if not given:
            raise OptionsError(f"There is no settings file at {path}")
        yield from given
    for scope, path, root in (
        ("local", cwd / ".claude" / "settings.local.json", cwd),
        ("project", cwd / ".claude" / "settings.json", cwd),
        ("user", config / "settings.json", config),
    ):
        if scope in scopes:
            yield from _Settings.read(path, f"{scope} settings", root)


class _Reader:
    """Reads one file, and notes its problems."""

    def __init__(self, settings: _Settings, *, is_trusted: bool, disabled: set[str]) -> None:
        self.settings = settings
        self.is_trusted = is_trusted
        self.disabled = disabled
        self.problems: list[str] = []
        for key in sorted(settings.data.keys() - _KNOWN):
            self._note(f"permissions.{key} is not known, and is ignored")

    def _note(self, problem: str) -> None:
        self.problems.append(f"{self.settings.name}: {problem}")

    def _grants(self, words: str) -> bool:
        if not self.is_trusted:
            self._note(f"{words} not count: the project is not trusted")
        return self.is_trusted

    def rules(self, behavior: Behavior) -> Iterator[Rule]:
        texts = self.settings.strings(behavior)
        if behavior == "allow" and texts and not self._grants("its allow rules do"):
            return
        for text in texts:
            try:
                root, source = str(self.settings.root), self.settings.source
                yield from checked_rules([Rule.parse(text, root=root, source=source)], behavior)
            except OptionsError as error:
                self._note(f"{behavior}: {error}")

    def directories(self) -> list[str]:
        found = self.settings.strings("additionalDirectories")
        return found if found and self._grants("its directories do") else []

    def mode(self) -> list[PermissionMode]:
        named = self.settings.data.get("defaultMode")
        if named is None or not self._grants(f"its mode {named!r} does"):
            return []
        mode = "default" if named == "manual" else named
        if mode in self.disabled:
            self._note(f"the mode {mode} is disabled")
        elif mode not in MODES:
            self._note(f"there is no mode {named!r}; only {', '.join(MODES)}")
        return [known for known in MODES if known == mode and mode not in self.disabled]


def managed_directory() -> Path:
    """Return the directory of the organisation's settings on this system."""
    is_mac = sys.platform == "darwin"
    return Path("/Library/Application Support/ClaudeCode" if is_mac else "/etc/claude-code")


def mode_in_settings(given: Mapping[str, Any] | StrPath | None) -> str | None:
    """Return the permission mode in settings: an object, a file, or JSON as a string.

    None if they have none, or cannot be read: the CLI reports that itself.
    """
    try:
        data: Any = given
        if isinstance(given, str | os.PathLike):
            text = os.fspath(given)
            is_json = text.lstrip().startswith("{")
            data = msgspec.json.decode(text if is_json else Path(text).read_bytes())
        mode = data["permissions"]["defaultMode"]
    except (*_INVALID, OSError, TypeError, LookupError):
        return None
    return mode if isinstance(mode, str) else None


# --- TOML ----------------------------------------------------------------------------------------


class _TOML(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    allow: list[str] = []
    ask: list[str] = []
    deny: list[str] = []
    directories: list[str] = []
    default: Behavior = "ask"
    mode: Literal[PermissionMode] | None = None
    case_sensitive: bool | None = None
    protect: bool = True


def load_toml(source: StrPath, *, cwd: StrPath | None, home: StrPath | None) -> Policy:
    """Load a policy: see `Policy.from_toml`."""
    name, root, text = "The policy", None, source
    if isinstance(source, os.PathLike) or not ("\n" in source or "=" in source):
        path = Path(source)
        try:
            name, root, text = str(path), str(path.absolute().parent), path.read_bytes().decode()
        except (OSError, ValueError) as error:
            raise OptionsError(f"The policy {path} cannot be read: {error}") from error
    try:
        options = msgspec.to_builtins(msgspec.toml.decode(str(text), type=_TOML))
    except _INVALID as error:
        raise OptionsError(f"{name}: {error}") from error
    try:
        for key in _LISTS:
            options[key] = [_rule(it, root, name) for it in options.get(key, [])]
        return Policy(cwd=cwd, home=home, **options)
    except OptionsError as error:
        raise OptionsError(f"{name}: {error}") from error


def _rule(text: str, root: str | None, source: str) -> Rule:
    check_spelling(text)
    return Rule.parse(text, root=root, source=source)
