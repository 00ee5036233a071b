"""Policies from files: from TOML, and from the settings of the CLI.

The rules of all settings files hold together: no file can allow what another denies. The files are
those of the organisation (managed), of the call (`--settings`), of the project for one user (local)
and for all (project), and of the user; the mode is that of the first file that names one.

Both files of a project may have come with it, so their grants (allow rules, directories, a mode)
count only if the project is trusted. Their deny rules always count.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from ..errors import OptionsError
from ..wire import PermissionMode
from .rules import Behavior, Rule, check_spelling, checked_rules

StrPath = str | os.PathLike[str]

MODES: tuple[PermissionMode, ...] = get_args(PermissionMode)
"""The permission modes of the CLI."""

_LISTS: tuple[Behavior, ...] = get_args(Behavior)
_MODE_SWITCHES = {"disableBypassPermissionsMode": "bypassPermissions", "disableAutoMode": "auto"}
_KNOWN = {*_LISTS, "additionalDirectories", "defaultMode", *_MODE_SWITCHES}
_SCOPES = ("user", "project", "local")
_MANAGED = "managed settings"
_INVALID = (msgspec.MsgspecError, ValueError, RecursionError)


def _text(path: Path, name: str) -> str:
    try:
        return path.read_bytes().decode()
    except (OSError, ValueError) as error:
        raise OptionsError(f"{name} cannot be read: {error}") from error


@dataclass(frozen=True, slots=True)
class _Settings:
    """The permissions in one settings file.

    Paths that begin with a slash start at `root`. With `managed_only`, only the organisation's
    rules count.
    """

    name: str
    source: str
    root: Path
    data: dict[str, Any]
    managed_only: bool

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

    def add_to(self, found: dict[str, list[Any]], *, trusted: bool, disabled: set[str]) -> None:
        """Add its rules, directories and mode, and its problems."""
        given: dict[str, Any] = {key: self.strings(key) for key in _LISTS}
        given |= {"directories": self.strings("additionalDirectories")}
        mode = self.data.get("defaultMode")
        unknown = sorted(self.data.keys() - _KNOWN)
        problems = [f"permissions.{key} is not known, and is ignored" for key in unknown]
        if not trusted:
            grants = {
                "its allow rules do": given.pop("allow"),
                "its directories do": given.pop("directories"),
                f"its mode {mode!r} does": mode,
            }
            why = "not count: the project is not trusted"
            problems += [f"{words} {why}" for words, granted in grants.items() if granted]
            mode = None
        found["directories"] += given.pop("directories", [])
        for behavior in _LISTS:
            for text in given.get(behavior, []):
                try:
                    rule = Rule.parse(text, root=str(self.root), source=self.source)
                    found[behavior] += checked_rules([rule], behavior)
                except OptionsError as error:
                    problems.append(f"{behavior}: {error}")
        if mode in disabled:
            problems.append(f"the mode {mode} is disabled")
        elif mode in MODES:
            found["mode"].append("default" if mode == "manual" else mode)
        elif mode is not None:
            problems.append(f"there is no mode {mode!r}; only {', '.join(MODES)}")
        found["problems"] += [f"{self.name}: {problem}" for problem in problems]


def load_settings(
    cwd: Path,
    config: Path,
    managed: StrPath | None,
    extra: StrPath | None,
    sources: Sequence[str],
    *,
    trusted: bool,
) -> dict[str, Any]:
    """Load the arguments of a policy: see `Policy.from_settings`."""
    if unknown := set(sources) - {*_SCOPES}:
        raise OptionsError(f"There are no settings {min(unknown)!r}; only {', '.join(_SCOPES)}")
    files = list(_files(cwd, config, Path(managed or managed_directory()), extra, sources))
    managed_only = any(it.managed_only for it in files)
    switched = {key for key in _MODE_SWITCHES for it in files if it.data.get(key) == "disable"}
    disabled = {_MODE_SWITCHES[key] for key in switched}
    found: dict[str, list[Any]] = {key: [] for key in (*_LISTS, "directories", "mode", "problems")}
    for it in files:
        if not managed_only or it.source == _MANAGED:
            is_trusted = trusted or it.source not in ("project settings", "local settings")
            it.add_to(found, trusted=is_trusted, disabled=disabled)
        elif any(it.data.get(key) for key in _KNOWN - {*_MODE_SWITCHES}):
            found["problems"].append(f"{it.name}: its rules do not count: only managed rules do")
    return {**found, "mode": next(iter(found["mode"]), "default")}


def _files(
    cwd: Path, config: Path, managed: Path, extra: StrPath | None, scopes: Sequence[str]
) -> Iterator[_Settings]:
    """Yield the existing settings, those with the highest priority first."""
    parts = sorted((managed / "managed-settings.d").glob("[!.]*.json"), reverse=True)
    for path in (*parts, managed / "managed-settings.json"):
        yield from _read(_MANAGED, path, managed)
    if isinstance(extra, str) and extra.lstrip().startswith("{"):
        yield _Settings.of(extra, "The given settings", "given settings", cwd)
    elif extra is not None:
        path = Path(extra).absolute()
        if not path.exists():
            raise OptionsError(f"There is no settings file at {path}")
        yield from _read("given settings", path, path.parent)
    for scope, path, root in (
        ("local", cwd / ".claude" / "settings.local.json", cwd),
        ("project", cwd / ".claude" / "settings.json", cwd),
        ("user", config / "settings.json", config),
    ):
        if scope in scopes:
            yield from _read(f"{scope} settings", path, root)


def _read(source: str, path: Path, root: Path) -> Iterator[_Settings]:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        path.stat()
        name = f"The {source} at {path}"
        yield _Settings.of(_text(path, name), name, source, root)


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


def load_toml(source: StrPath) -> dict[str, Any]:
    """Load the arguments of a policy: see `Policy.from_toml`."""
    name, root, text = "The policy", None, str(source)
    if isinstance(source, os.PathLike) or not ("\n" in source or "=" in source):
        path = Path(source)
        name, root, text = str(path), str(path.absolute().parent), _text(path, f"The policy {path}")
    try:
        options: dict[str, Any] = msgspec.to_builtins(msgspec.toml.decode(text, type=_TOML))
        for key in _LISTS:
            texts = options.get(key, [])
            for it in texts:
                check_spelling(it)
            rules = [Rule.parse(it, root=root, source=name) for it in texts]
            options[key] = checked_rules(rules, key)
    except (*_INVALID, OptionsError) as error:
        raise OptionsError(f"{name}: {error}") from error
    return options
