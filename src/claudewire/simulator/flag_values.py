"""What the values of flags are turned into, and which of them the real CLI refuses."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .flag_table import Option

__all__ = ["EFFORTS", "SOURCES", "converted", "is_uuid"]

EFFORTS = ("low", "medium", "high", "xhigh", "max")
SOURCES = ("user", "project", "local")

# What a value stands for. These are accepted although no error message lists them as choices.
_MEANS = {
    ("--permission-mode", "default"): "default",
    ("--permission-mode", "manual"): "default",
    ("--prompt-suggestions", ""): True,
}

# Not compiled here: few command lines need any of them, and all wait for what is done on import.
_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_UUID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_TOOL = r"(?:\([^)]*\)?|[^,\s(])+"
"""A name; with `Bash(git *)`, commas and spaces between the brackets do not end it."""


def converted(option: Option, value: str) -> Any:
    """Turn the value of a flag into what `Flags` has for it; a tuple if it may be repeated.

    Raises:
        ValueError: the CLI refuses the value; the text says why.
    """
    if (option.name, value) in _MEANS:
        return _MEANS[option.name, value]
    if option.choices and value not in option.choices:
        raise ValueError(f"Allowed choices are {', '.join(option.choices)}.")
    return _CONVERTERS.get(option.name, _listed if option.repeatable else str)(value)


def is_uuid(text: str) -> bool:
    """Tell whether the real CLI would take this for the id of a session."""
    return re.fullmatch(_UUID, text) is not None


def _listed(value: str) -> tuple[str, ...]:
    return (value,)


def _maybe_number(value: str) -> int | float | None:
    """Read a number as JavaScript does, to which nothing at all is 0."""
    text = value.strip() or "0"
    if re.fullmatch(_NUMBER, text) is None:
        return None
    number = float(text)
    return int(number) if number.is_integer() else number


def _number(value: str) -> float:
    number = _maybe_number(value)
    if number is None:
        raise ValueError("must be a number")
    return number


def _dollars(value: str) -> float:
    number = _maybe_number(value)
    if number is None or number <= 0:
        raise ValueError("--max-budget-usd must be a positive number greater than 0")
    return number


def _tokens(value: str) -> int:
    number = _maybe_number(value)
    if not isinstance(number, int) or number <= 0:
        raise ValueError("--task-budget must be a positive integer")
    return number


def _tool_names(value: str) -> tuple[str, ...]:
    return tuple(re.findall(_TOOL, value))


def _names(value: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in value.split(",")) if value else ()


def _switch(value: str) -> bool:
    return value in {"true", "1", "yes", "on"}


_CONVERTERS: dict[str, Callable[[str], Any]] = {
    "--allowed-tools": _tool_names,
    "--betas": _names,
    "--disallowed-tools": _tool_names,
    "--max-budget-usd": _dollars,
    "--max-thinking-tokens": _number,
    "--max-turns": _number,
    "--prompt-suggestions": _switch,
    "--setting-sources": _names,
    "--task-budget": _tokens,
    "--tools": _tool_names,
}
