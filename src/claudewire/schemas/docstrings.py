"""Docstrings in Google, NumPy and reST style: the description, and that of each argument."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Docstring"]

_ABOUT_ARGUMENTS = {
    "args",
    "arguments",
    "attributes",
    "keyword args",
    "keyword arguments",
    "other parameters",
    "parameters",
    "params",
}
_ABOUT_OTHERS = {"raises", "return", "returns", "warns", "yield", "yields"}
"""Sections that a caller who cannot see the code has no use for."""

_GOOGLE_ITEM = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)\Z")
_NUMPY_ITEM = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?\Z")
_REST_FIELD = re.compile(r":(\w+)\s*([^:]*):\s*(.*)\Z")
_REST_ARGUMENT = {"arg", "argument", "cvar", "ivar", "key", "keyword", "param", "parameter", "var"}
_REST_OTHERS = {
    "raise",
    "raises",
    "return",
    "returns",
    "rtype",
    "type",
    "vartype",
    "yield",
    "yields",
}


@dataclass(slots=True)
class Docstring:
    """The parts of a docstring.

    Attributes:
        text: everything but the sections about arguments, results and exceptions.
        arguments: the description of each argument or attribute.
    """

    text: str = ""
    arguments: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, docstring: str | None) -> Docstring:
        """Parse a docstring of any of the three styles."""
        lines = inspect.cleandoc(docstring or "").splitlines()
        found = cls()
        prose: list[str] = []
        for title, section in _sections(lines):
            if title is None:
                prose += _without_fields(section, found.arguments)
            elif title in _ABOUT_ARGUMENTS:
                found.arguments.update(_read(_dedent(section), _GOOGLE_ITEM))
            elif title.rstrip("-") in _ABOUT_ARGUMENTS:
                found.arguments.update(_read(section, _NUMPY_ITEM))
        found.text = re.sub(r"\n{3,}", "\n\n", "\n".join(prose)).strip()
        return found


def _sections(lines: list[str]) -> Iterator[tuple[str | None, list[str]]]:
    """Split into sections with a known title, and prose, whose title is None."""
    title: str | None = None
    section: list[str] = []
    at = 0
    while at < len(lines):
        known, length = _heading(lines, at)
        # A section ends where the text is no longer indented, or another title is underlined.
        left = title is not None and section and _is_prose_again(lines, at, section)
        if known is not None or left:
            yield title, section
            title, section = known, []
        if known is None:
            section.append(lines[at])
        at += length
    yield title, section


def _heading(lines: list[str], at: int) -> tuple[str | None, int]:
    """Return the title that begins here and its number of lines; an underlined one has a dash."""
    line = lines[at]
    if line.endswith(":") and _is_title(line[:-1]):
        return line[:-1].lower(), 1
    if _is_title(line) and _is_underlined(lines, at):
        return f"{line.lower()}-", 2
    return None, 1


def _is_underlined(lines: list[str], at: int) -> bool:
    below = lines[at + 1] if at + 1 < len(lines) else ""
    return len(below) > 2 and set(below) == {"-"}


def _is_title(text: str) -> bool:
    return text.lower() in _ABOUT_ARGUMENTS | _ABOUT_OTHERS


def _is_prose_again(lines: list[str], at: int, section: list[str]) -> bool:
    after_a_gap = not lines[at - 1].strip()
    first = next((line for line in section if line.strip()), "")
    dedented = first.startswith(" ") and _indent(lines[at]) == 0
    return after_a_gap and (dedented or _is_underlined(lines, at))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip()) if line.strip() else 1


def _dedent(section: list[str]) -> list[str]:
    return inspect.cleandoc("\n".join(section)).splitlines()


def _read(lines: list[str], item: re.Pattern[str]) -> dict[str, str]:
    about: dict[str, list[str]] = {}
    names: list[str] = []
    for line in lines:
        match = None if line.startswith(" ") else item.match(line)
        if match:
            names = [name.strip().lstrip("*") for name in match[1].split(",")]
            about.update({name: list(match.groups()[1:]) for name in names})
        else:
            for name in names:
                about[name].append(line.strip())
    return {name: " ".join(filter(None, words)) for name, words in about.items() if any(words)}


def _without_fields(lines: list[str], arguments: dict[str, str]) -> Iterator[str]:
    """Yield the prose without reST fields, and collect the fields about arguments."""
    name: str | None = None
    in_field = False
    for line in lines:
        match = _REST_FIELD.match(line)
        if match and match[1] in _REST_ARGUMENT | _REST_OTHERS:
            in_field = True
            words = match[2].split()
            name = words[-1] if words and match[1] in _REST_ARGUMENT else None
            if name and match[3]:
                arguments[name] = match[3]
        elif in_field and line.startswith(" "):
            if name:
                arguments[name] = f"{arguments.get(name, '')} {line.strip()}".strip()
        else:
            in_field = False
            yield line
