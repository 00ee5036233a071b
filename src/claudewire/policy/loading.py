"""A policy from a TOML file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..errors import OptionsError
from .policy import Policy
from .rules import Rule

__all__ = ["load_toml", "texts"]

_LISTS = ("allow", "ask", "deny")
_KEYS = {"default": str, "mode": str, "case_sensitive": bool, "protect": bool}


def load_toml(
    source: str | os.PathLike[str],
    *,
    cwd: str | os.PathLike[str] | None = None,
    home: str | os.PathLike[str] | None = None,
) -> Policy:
    """Load a policy: see `Policy.from_toml`."""
    import tomllib

    name, root, text = _read(source)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise OptionsError(f"{name} is no TOML: {error}") from error
    _check_keys(name, data)
    allow, ask, deny = (_rules(name, key, data.get(key), root) for key in _LISTS)
    directories = texts(name, "directories", data.get("directories"))
    options: dict[str, Any] = {key: data[key] for key in _KEYS if key in data}
    try:
        return Policy(allow, ask, deny, cwd=cwd, home=home, directories=directories, **options)
    except OptionsError as error:
        raise OptionsError(f"{name}: {error}") from error


def _read(source: str | os.PathLike[str]) -> tuple[str, str | None, str]:
    """Give what a policy is called, where its paths are relative to, and its text."""
    if isinstance(source, str) and ("\n" in source or "=" in source):
        return "The policy", None, source
    path = Path(source)
    try:
        return str(path), str(path.absolute().parent), path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionsError(f"The policy {path} cannot be read: {error}") from error


def _check_keys(name: str, data: dict[str, Any]) -> None:
    known = (*_LISTS, "directories", *_KEYS)
    for key, value in data.items():
        if key not in known:
            raise OptionsError(f"{name}: there is no key {key!r}; those known: {', '.join(known)}")
        if key in _KEYS and not isinstance(value, _KEYS[key]):
            kind = "true or false" if _KEYS[key] is bool else "a text"
            raise OptionsError(f"{name}: {key} must be {kind}, not {value!r}")


def _rules(name: str, key: str, value: object, root: str | None) -> list[Rule]:
    try:
        return [Rule.parse(text, root=root, source=name) for text in texts(name, key, value)]
    except OptionsError as error:
        raise OptionsError(f"{name}: {key}: {error}") from error


def texts(name: str, key: str, value: object) -> list[str]:
    """Give a list of texts that a file holds under a key; none if it has none.

    Raises:
        OptionsError: it holds something else there.
    """
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise OptionsError(f"{name}: {key} must be a list of texts, not {value!r}")
    return value
