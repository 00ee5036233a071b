"""Policies from files: from TOML, and from the settings of the CLI.

In settings, the rules of all files hold together: what one denies no other can allow. The files are
those of the organisation (managed), of the call (`--settings`), of the project for one user (local)
and for all (project), and of the user; a mode is taken from the first of them that names one.

Both files of a project may have come with it, so what they allow (rules, directories, a mode)
counts only if the project is trusted; what they deny always counts.
"""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import OptionsError
from ..wire import PermissionMode
from .decisions import Behavior
from .policy import MODES, Policy, check_spelling, checked_rules
from .rules import Rule

__all__ = ["Sources", "load_settings", "load_toml", "mode_in_settings"]

_LISTS: tuple[Behavior, ...] = ("allow", "ask", "deny")
_KNOWN = {
    *_LISTS,
    "additionalDirectories",
    "defaultMode",
    "disableAutoMode",
    "disableBypassPermissionsMode",
}
_SCOPES = ("user", "project", "local")
_OF_PROJECT = ("project settings", "local settings")
_GRANTS = ("additionalDirectories", "defaultMode")
"""What may allow more than the rules do."""

StrPath = str | os.PathLike[str]


class Sources:
    """Where the settings files of the CLI are; see `Policy.from_settings`."""

    def __init__(
        self,
        cwd: StrPath | None = None,
        home: StrPath | None = None,
        config: StrPath | None = None,
        managed: StrPath | None = None,
        extra: StrPath | None = None,
        scopes: Sequence[str] = _SCOPES,
    ) -> None:
        for scope in scopes:
            if scope not in _SCOPES:
                raise OptionsError(f"There are no settings {scope!r}; only {', '.join(_SCOPES)}")
        self.cwd: Path = Path(cwd or ".").absolute()
        self.home: Path = Path.home() if home is None else Path(home)
        self.config: Path = self.home / ".claude" if config is None else Path(config)
        self.managed: Path = _managed_directory() if managed is None else Path(managed)
        self.extra = extra
        self.scopes = scopes

    def read(self) -> Iterator[_Settings]:
        """Yield the settings that exist, those with the highest priority first."""
        for path in self._managed_files():
            yield from _Settings.read(path, "managed settings", self.managed, managed=True)
        if self.extra is not None:
            yield self._read_extra(self.extra)
        files = {
            "local": (self.cwd / ".claude" / "settings.local.json", self.cwd),
            "project": (self.cwd / ".claude" / "settings.json", self.cwd),
            "user": (self.config / "settings.json", self.config),
        }
        for scope, (path, root) in files.items():
            if scope in self.scopes:
                yield from _Settings.read(path, f"{scope} settings", root)

    def _managed_files(self) -> list[Path]:
        parts = sorted((self.managed / "managed-settings.d").glob("*.json"), reverse=True)
        return [part for part in parts if not part.name.startswith(".")] + [
            self.managed / "managed-settings.json"
        ]

    def _read_extra(self, extra: StrPath) -> _Settings:
        if isinstance(extra, str) and extra.lstrip().startswith("{"):
            return _Settings.of(extra, "The given settings", "given settings", self.cwd)
        path = Path(extra).absolute()
        for settings in _Settings.read(path, "given settings", path.parent):
            return settings
        raise OptionsError(f"There is no settings file at {path}")


@dataclass(frozen=True, slots=True)
class _Settings:
    """What one file says about permissions."""

    path: str
    source: str
    root: str
    data: dict[str, Any]
    managed: bool
    managed_only: bool

    @classmethod
    def read(
        cls, path: Path, source: str, root: Path, *, managed: bool = False
    ) -> Iterator[_Settings]:
        """Yield what a file says, if there is such a file."""
        try:
            text = path.read_bytes().decode()
        except (FileNotFoundError, NotADirectoryError):
            return
        except (OSError, ValueError) as error:
            raise OptionsError(f"The {source} at {path} cannot be read: {error}") from error
        yield cls.of(text, f"The {source} at {path}", source, root, managed=managed)

    @classmethod
    def of(
        cls, text: str, name: str, source: str, root: Path, *, managed: bool = False
    ) -> _Settings:
        try:
            data = json.loads(text) if text.strip() else {}
        except (ValueError, RecursionError) as error:
            raise OptionsError(f"{name}: this is not JSON: {error}") from error
        permissions = data.get("permissions", {}) if isinstance(data, dict) else None
        if not isinstance(permissions, dict):
            raise OptionsError(f"{name}: permissions must be an object")
        only = managed and data.get("allowManagedPermissionRulesOnly") is True
        return cls(name, source, str(root), permissions, managed, only)


def load_settings(sources: Sources, *, trusted: bool, strict: bool) -> Policy:
    """Load a policy: see `Policy.from_settings`."""
    files = list(sources.read())
    merged = _Merged(strict=strict)
    managed_only = any(settings.managed_only for settings in files)
    for settings in files:
        if managed_only and not settings.managed:
            if any(settings.data.get(key) for key in (*_LISTS, *_GRANTS)):
                merged.problem(settings, "its rules do not count: only managed rules do")
            continue
        merged.add(settings, grants=trusted or settings.source not in _OF_PROJECT)
    return Policy(
        *(merged.rules[key] for key in _LISTS),
        mode=merged.mode(disabled=_disabled(files)),
        cwd=sources.cwd,
        home=sources.home,
        directories=merged.directories,
        problems=merged.problems,
    )


class _Merged:
    """What several files say together."""

    def __init__(self, *, strict: bool) -> None:
        self._strict = strict
        self.rules: dict[Behavior, list[Rule]] = {key: [] for key in _LISTS}
        self.directories: list[str] = []
        self.problems: list[str] = []
        self._modes: list[tuple[_Settings, Any]] = []

    def problem(self, settings: _Settings, text: str) -> None:
        self.problems.append(f"{settings.path}: {text}")

    def add(self, settings: _Settings, *, grants: bool) -> None:
        for key in sorted(settings.data.keys() - _KNOWN):
            self.problem(settings, f"permissions.{key} is not known, and is ignored")
        for behavior in _LISTS:
            given = _strings(settings.path, behavior, settings.data.get(behavior))
            if behavior == "allow" and given and not grants:
                self.problem(settings, "what it allows does not count: the project is not trusted")
                continue
            for text in given:
                self._add_rule(settings, behavior, text)
        directories = _strings(
            settings.path, "additionalDirectories", settings.data.get("additionalDirectories")
        )
        mode = settings.data.get("defaultMode")
        if grants:
            self.directories += directories
            self._modes += [] if mode is None else [(settings, mode)]
        elif directories:
            self.problem(settings, "its directories do not count: the project is not trusted")
        if mode is not None and not grants:
            self.problem(settings, f"its mode {mode!r} does not count: the project is not trusted")

    def _add_rule(self, settings: _Settings, behavior: Behavior, text: str) -> None:
        try:
            rule = Rule.parse(text, root=settings.root, source=settings.source)
            self.rules[behavior] += checked_rules([rule], behavior)
        except OptionsError as error:
            if self._strict:
                raise OptionsError(f"{settings.path}: {behavior}: {error}") from error
            self.problem(settings, f"{behavior}: {error}")

    def mode(self, *, disabled: set[str]) -> PermissionMode:
        """Return the mode that a session starts in; a disabled one is skipped."""
        for settings, named in self._modes:
            mode = "default" if named == "manual" else named
            if mode in disabled:
                self.problem(settings, f"the mode {mode} is disabled")
            elif mode in MODES:
                return next(known for known in MODES if known == mode)
            else:
                self.problem(settings, f"there is no mode {named!r}; only {', '.join(MODES)}")
        return "default"


def _disabled(files: Sequence[_Settings]) -> set[str]:
    """Return the modes that some file takes away: every file may."""
    keys = {"disableBypassPermissionsMode": "bypassPermissions", "disableAutoMode": "auto"}
    return {
        mode
        for key, mode in keys.items()
        if any(settings.data.get(key) == "disable" for settings in files)
    }


def mode_in_settings(given: Mapping[str, Any] | StrPath | None) -> str | None:
    """Return the permission mode that settings name: an object, a file, or JSON as a string.

    None if they name none, or cannot be read: the CLI reports that itself.
    """
    if given is None:
        return None
    try:
        data: Any = given
        if not isinstance(given, Mapping):
            text = os.fspath(given)
            is_json = text.lstrip().startswith("{")
            data = json.loads(text if is_json else Path(text).read_bytes().decode())
        mode = data["permissions"]["defaultMode"]
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return None
    return mode if isinstance(mode, str) else None


def _managed_directory() -> Path:
    is_mac = sys.platform == "darwin"
    return Path("/Library/Application Support/ClaudeCode" if is_mac else "/etc/claude-code")


# --- TOML ----------------------------------------------------------------------------------------

_TOML_KEYS = {"default": str, "mode": str, "case_sensitive": bool, "protect": bool}


def load_toml(
    source: StrPath, *, cwd: StrPath | None = None, home: StrPath | None = None
) -> Policy:
    """Load a policy: see `Policy.from_toml`."""
    name, root, text = _read_toml(source)
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise OptionsError(f"{name} is not TOML: {error}") from error
    _check_keys(name, data)
    allow, ask, deny = (_toml_rules(name, key, data.get(key), root) for key in _LISTS)
    directories = _strings(name, "directories", data.get("directories"))
    options: dict[str, Any] = {key: data[key] for key in _TOML_KEYS if key in data}
    try:
        return Policy(allow, ask, deny, cwd=cwd, home=home, directories=directories, **options)
    except OptionsError as error:
        raise OptionsError(f"{name}: {error}") from error


def _read_toml(source: StrPath) -> tuple[str, str | None, str]:
    """Return what to call a policy, what its paths are relative to, and its text."""
    if isinstance(source, str) and ("\n" in source or "=" in source):
        return "The policy", None, source
    path = Path(source)
    try:
        return str(path), str(path.absolute().parent), path.read_bytes().decode()
    except (OSError, ValueError) as error:
        raise OptionsError(f"The policy {path} cannot be read: {error}") from error


def _check_keys(name: str, data: dict[str, Any]) -> None:
    known = (*_LISTS, "directories", *_TOML_KEYS)
    for key, value in data.items():
        if key not in known:
            raise OptionsError(f"{name}: there is no key {key!r}; those known: {', '.join(known)}")
        if key in _TOML_KEYS and not isinstance(value, _TOML_KEYS[key]):
            kind = "true or false" if _TOML_KEYS[key] is bool else "a string"
            raise OptionsError(f"{name}: {key} must be {kind}, not {value!r}")


def _toml_rules(name: str, key: str, value: object, root: str | None) -> list[Rule]:
    texts = _strings(name, key, value)
    try:
        for text in texts:
            check_spelling(text)
        return [Rule.parse(text, root=root, source=name) for text in texts]
    except OptionsError as error:
        raise OptionsError(f"{name}: {key}: {error}") from error


def _strings(name: str, key: str, value: object) -> list[str]:
    """Return the list of strings under a key of a file; empty if there is none.

    Raises:
        OptionsError: there is something else.
    """
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise OptionsError(f"{name}: {key} must be a list of strings, not {value!r}")
    return value
